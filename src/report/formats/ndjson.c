/* Newline-delimited JSON: each finding one line, with what is said of the job, as databases load it. A report without findings is empty. */
#include <stdlib.h>

#include "report/formats/format.h"
#include "report/json.h"

void format_ndjson(struct text *out, const struct format_view *view)
{
	const struct report *r = view->report;
	for (uint32_t i = 0; i < r->findings; i++) {
		cJSON *line = json_begin();
		uint32_t pairs;
		json_number(line, "schema_version", REPORT_SCHEMA_VERSION);
		json_string(line, "tool", "gsan " GSAN_VERSION);
		if (r->job.start)
			json_job(line, &r->job);
		json_finding(line, r, &r->finding[i], report_pairs(r, &r->finding[i], &pairs));
		char *text = json_end(line, 0);
		if (text)
			text_puts(out, text);
		else
			out->failed = 1;
		free(text);
	}
}
