/* order: how the parts of a report compare, so that it is the same whatever came first; and hashes of them, equal for what compares equal. */
#ifndef GSAN_REPORT_ORDER_H
#define GSAN_REPORT_ORDER_H

#include "report/report.h"

/* Returns from a comparison that this decides. */
#define ORDER(comparison) \
	do { \
		int order_ = (comparison); \
		if (order_) \
			return order_; \
	} while (0)

int report_text_order(const char *a, const char *b); /* NULL first */
int report_number_order(uint64_t a, uint64_t b);
int report_place_order(const struct report_place *a, const struct report_place *b);
int report_side_order(const struct report_side *a, const struct report_side *b);
int report_site_order(const struct report_side *a, const struct report_side *b); /* that, whatever its rank */
int report_sites_order(const struct report_finding *a, const struct report_finding *b); /* of both, whichever is first */
int report_op_order(const struct report_op *a, const struct report_op *b);
int report_finding_order(const struct report_finding *a, const struct report_finding *b);
int report_edge_order(const struct report_finding *a, const struct report_finding *b); /* of one pair of lines, by what is missing */
int report_reason_order(const struct report_finding *a, const struct report_finding *b);
int report_instance_order(const struct report_finding *a, const struct report_finding *b);
int report_note_order(const struct report_note *a, const struct report_note *b);
int report_wait_order(const struct report_wait *a, const struct report_wait *b);
int report_left_order(const struct report_left *a, const struct report_left *b);

uint64_t report_place_hash(const struct report_place *at);
uint64_t report_side_hash(const struct report_side *side);
uint64_t report_op_hash(const struct report_op *op);
uint64_t report_sides_hash(const struct report_finding *f);   /* whichever of the two is first */
uint64_t report_kernels_hash(const struct report_finding *f); /* likewise */
uint64_t report_reason_hash(const struct report_finding *f);
uint64_t report_note_hash(const struct report_note *note);
uint64_t report_left_hash(const struct report_left *left);

#endif
