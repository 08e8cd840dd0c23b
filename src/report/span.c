#include "report/span.h"

#include <string.h>

#define SPAN_BETWEEN " \t\r\n:" /* a key and its value */

/* Behind the quote that closes it. */
static const char *span_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\' && at[1];
	return at + (*at != 0);
}

/* Behind the bracket that closes it. */
static const char *span_value(const char *at)
{
	int depth = 0;
	do {
		depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
		at = *at == '"' ? span_string(at) : at + 1;
	} while (*at && depth);
	return at;
}

struct span span_find(const char *json, const char *key)
{
	const size_t n = strlen(key);
	const char *at = strchr(json, '{'), *start;
	for (at = at ? at + 1 : ""; *at;) {
		start = at;
		if (*at == '[' || *at == '{') {
			at = span_value(at);
			continue;
		}
		at = *at == '"' ? span_string(at) : at + 1;
		if (*start != '"' || (size_t)(at - start) != n + 2 || strncmp(start + 1, key, n))
			continue;
		at += strspn(at, SPAN_BETWEEN);
		if (*at == '[')
			return (struct span){at, span_value(at)};
	}
	return (struct span){NULL, NULL};
}
