/* cause: what report_finish does before it sorts and words. Each 0 or -ENOMEM. */
#ifndef GSAN_REPORT_CAUSE_H
#define GSAN_REPORT_CAUSE_H

#include "report/report.h"

/* The instances of one pair of lines may give several reasons. Those that are certain all stay, each as its earliest instance has it, for each is a
 * missing edge. Of guesses, for a flag read in another order hides the one that matters, the best is taken, and instead of it that of a finding that is
 * certain and concerns it. Two launches and the CTAs of one are asked apart. */
int report_elect(struct report *r);
int report_merge_causes(struct report *r); /* findings that have one cause become one */
int report_same_sides(const struct report_finding *a, const struct report_finding *b); /* whichever is first */
void report_join(struct report_finding *into, const struct report_finding *other);
int report_sure(const struct report_finding *f);          /* is it certain what its reason says, and that it is this race's? */
uint32_t report_within(const struct report_finding *f); /* the bit of its `within` that is of the instance that stands for all */
void report_sum(struct report_finding *to, const struct report_finding *a, const struct report_finding *b); /* of counts, weights ... */

#endif
