#include "report/formats/escape.h"

#include <ctype.h>
#include <string.h>

struct escape { char byte; const char *as; }; /* lists end with byte 0 */

static void escape_add(struct text *out, const char *string, const struct escape *list)
{
	for (; *string; string++) {
		const struct escape *e = list;
		while (e->byte && e->byte != *string)
			e++;
		if (e->byte)
			text_puts(out, e->as);
		else
			text_add(out, string, 1);
	}
}

void escape_xml(struct text *out, const char *string)
{
	static const struct escape list[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"},
					     {'\t', "&#9;"}, {0, NULL}};
	escape_add(out, string, list);
}

void escape_label(struct text *out, const char *string)
{
	static const struct escape list[] = {{'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}, {0, 0}};
	escape_add(out, string, list);
}

void escape_uri(struct text *out, const char *path)
{
	for (; *path; path++)
		if (isalnum((unsigned char)*path) || strchr("/-._~", *path))
			text_add(out, path, 1);
		else
			text_printf(out, "%%%02X", (unsigned char)*path);
}
