/* pairs: what a finding explains beside its root, in few words. */
#ifndef GSAN_REPORT_PAIRS_H
#define GSAN_REPORT_PAIRS_H

#include "report/page.h"
#include "report/report.h"

struct pairs { const struct report_finding *pair; uint32_t pairs; uint64_t count; uint32_t next; }; /* of equal lines; all 0: begin */

int pairs_next(const struct report *r, const struct report_finding *f, struct pairs *lines); /* 0: there are no more */
void pairs_add_sides(struct text *out, const struct report_finding *pair); /* "store at a.py:45, load at b.py:67" */
void pairs_add(struct text *out, const struct pairs *lines); /* "...; ranks 0 and 1; in 3 pairs of launches" */
void pairs_text(const struct page *p, const struct report *r, const struct report_finding *f); /* a line each, and how many more */
void pairs_hide(struct text *out, const struct report *r, const struct report_finding *f);     /* the lines that suppress them all */

#endif
