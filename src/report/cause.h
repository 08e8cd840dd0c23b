/* cause: what report_finish does before it sorts and words. Each 0 or -ENOMEM. */
#ifndef GSAN_REPORT_CAUSE_H
#define GSAN_REPORT_CAUSE_H

#include "report/report.h"

/* The instances of one finding may give several reasons, for a flag read in another order hides the one that matters: the best is
 * taken, as its earliest instance has it; and where it is a guess, that of a finding that is certain. */
int report_elect(struct report *r);
int report_merge_causes(struct report *r); /* findings that have one cause become one */
int report_same_sides(const struct report_finding *a, const struct report_finding *b); /* whichever is first */
void report_join(struct report_finding *into, const struct report_finding *other);
void report_sum(struct report_finding *to, const struct report_finding *a, const struct report_finding *b); /* of counts, weights ... */

#endif
