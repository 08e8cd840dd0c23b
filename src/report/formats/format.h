/* format: in what a report can be printed. One row of format.c names a format and its writer, which has a file of its own here. Equal reports
 * give equal bytes in each. */
#ifndef GSAN_REPORT_FORMAT_H
#define GSAN_REPORT_FORMAT_H

#include "report/report.h"

struct format_view {
	const struct report *report;
	const char *folder;               /* where it lies, or NULL */
	const struct report_style *style; /* of text for people */
};
typedef void (*format_write)(struct text *out, const struct format_view *view); /* out->failed: out of memory */

format_write format_find(const char *name); /* NULL: there is none of this name */

void format_ndjson(struct text *out, const struct format_view *view);
void format_sarif(struct text *out, const struct format_view *view);
void format_junit(struct text *out, const struct format_view *view);
void format_prometheus(struct text *out, const struct format_view *view);
void format_html(struct text *out, const struct format_view *view);

void timeline_add(struct text *out, const struct report *r); /* a section of the page: when there is something to show */

#endif
