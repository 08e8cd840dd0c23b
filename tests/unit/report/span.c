/* Where a list of the root stands, in what is JSON and in what is not: nothing is read beyond the end of the text. */
#include "report/span.h"

#include <string.h>

#include "../check.h"

int main(void)
{
	static const struct { const char *json, *want; } row[] = {
		{"{\"list\": [1, 2], \"more\": 3}", "[1, 2]"},
		{"{\"more\": 3, \"list\" :\n[]}", "[]"},
		{"{\"more\": {\"list\": [1]}, \"list\": [2]}", "[2]"}, /* of the root */
		{"{\"more\": [{\"list\": [1]}], \"list\": [{\"list\": [3]}]}", "[{\"list\": [3]}]"},
		{"{\"more\": \"list\", \"list\": [\"]\", \"\\\"]\", {\"}\": \"\\\\\"}]}", "[\"]\", \"\\\"]\", {\"}\": \"\\\\\"}]"},
		{"{\"list\": [1], \"list\": [2]}", "[1]"},
		{"{\"lists\": [1], \"lis\": [2]}", NULL},
		{"{\"list\": {\"list\": [1]}}", NULL},
		{"{\"list\": \"[1]\"}", NULL},
		{"{}", NULL}, {"", NULL}, {"{", NULL}, {"{\"", NULL}, {"{\"list", NULL}, {"{\"list\":", NULL}, {"{\"li\\", NULL},
		{"{\"list\": [1, [2]", "[1, [2]"}, /* cut off: the parser will say so */
		{"{\"list\": [\"a", "[\"a"}, {"{\"list\": [\"a\\", "[\"a\\"},
		{"]}{\"list\": [1]}", "[1]"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char *json = strdup(row[i].json); /* so that a sanitizer sees its end */
		const struct span got = span_find(json, "list");
		const size_t n = row[i].want ? strlen(row[i].want) : 0;
		if (!got.from != !row[i].want || (got.from && ((size_t)(got.to - got.from) != n || memcmp(got.from, row[i].want, n))))
			fprintf(stderr, "span %zu: %.*s\n", i, got.from ? (int)(got.to - got.from) : 4, got.from ? got.from : "none");
		CHECK(!got.from == !row[i].want);
		CHECK(!got.from || ((size_t)(got.to - got.from) == n && !memcmp(got.from, row[i].want, n)));
		free(json);
	}
	return 0;
}
