#include "report/formats/format.h"

#include <stdlib.h>
#include <string.h>

static void format_text(struct text *out, const struct format_view *view)
{
	report_text(out, view->report, view->folder, view->style);
}

static void format_json(struct text *out, const struct format_view *view)
{
	char *json = report_json(view->report, -1);
	if (json)
		text_puts(out, json);
	else
		out->failed = 1;
	free(json);
}

static const struct { const char *name; format_write write; } formats[] = {
	{"text", format_text},
	{"json", format_json},
	{"ndjson", format_ndjson},
	{"sarif", format_sarif},
	{"junit", format_junit},
	{"prometheus", format_prometheus},
	{"html", format_html},
};

format_write format_find(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(formats[i].name, name))
			return formats[i].write;
	return NULL;
}
