/* Batches: weak accesses of one straight-line run, checked by one call. The call stands behind the last of them, or in
 * front of an instruction that overwrites a register which one of their addresses or predicates needs. */
#ifndef GSAN_PTX_BATCH_H
#define GSAN_PTX_BATCH_H

#include "ptx/call.h"
#include "ptx/lanes.h"
#include "ptx/plan.h"

struct ptx_batch {
	const struct ptx_module *m;
	const struct ptx_place *place[GSAN_BATCH_MAX];
	uint32_t count, number; /* number: its own, in its module */
	int in_parameter;
	const struct ptx_lanes *lanes;
};

uint32_t ptx_batch_desc(const struct ptx_place *p); /* GSAN_DESC_* without value and use */
int ptx_batch_clobbered(const struct ptx_batch *b, const struct ptx_instr *i); /* i writes what the batch needs */
uint32_t ptx_batch_emit(const struct ptx_batch *b, struct text *t);

#endif
