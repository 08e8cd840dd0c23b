/* suppress: findings that somebody knows of and does not want to decide anything. A file of them has one on each line (base/lines.h), as
 * parts and what they are, all of which must be so: `kind GLOB`, `ranks A,B`, `label GLOB` (of the allocation), and of one of the two
 * accesses `kernel GLOB`, `function GLOB`, `at GLOB[:LINE]`, where the instruction itself is written, and `file GLOB[:LINE]`, there or where that was
 * inlined; of the other one what stands behind a word `and`. Which access came first does not matter. */
#ifndef GSAN_REPORT_SUPPRESS_H
#define GSAN_REPORT_SUPPRESS_H

#include "report/report.h"

struct suppression;
struct suppressions { const char *file; char *text; struct suppression *row; uint32_t rows, room; }; /* all 0: none */

/* 0, or -errno with a sentence in `error`. *s is valid for suppressions_free whatever comes back. */
int suppressions_read(struct suppressions *s, const char *file, char *error, size_t error_size);
void suppressions_free(struct suppressions *s);

/* Gives each pair, before report_regroup makes findings of them, that has none yet the first suppression that it matches, and the report all of them, with what they
 * matched. 0 or -ENOMEM. */
int report_suppress(struct report *r, const struct suppressions *s);
/* The line that suppresses the pair; a comment that says why there is none, where it would say nothing that others do not have. */
void report_suggest_one(struct text *out, const struct report *r, const struct report_finding *f);
void report_suggest(struct text *out, const struct report *r); /* a file: of all that are not suppressed, each line once */

#endif
