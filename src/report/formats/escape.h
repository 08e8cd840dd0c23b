/* How texts stand in formats that give some characters a meaning. The texts of a report hold UTF-8 without controls but for tabs
 * (report_copy): only those characters are left to do. */
#ifndef GSAN_REPORT_ESCAPE_H
#define GSAN_REPORT_ESCAPE_H

#include "base/text.h"

void escape_xml(struct text *out, const char *string);   /* XML and HTML, as text and within quotes */
void escape_label(struct text *out, const char *string); /* Prometheus, between quotes */
void escape_uri(struct text *out, const char *path);     /* a path, whose slashes stay (RFC 3986) */

#endif
