/* The words by which cooperative grids synchronise. The driver's own (%envreg1, %envreg2) lie in memory without shadow, so that
 * nothing would be known of who waited for whom; a clone gets others, in a block of ours. */
#include "vmm/block.h"

#define WORKSPACE 128u /* bytes: whole granules of one slot's alone */

uint64_t vmm_workspace(struct participant *p, uint32_t slot)
{
	CUcontext now;
	struct vmm_section s;
	if (real.cuCtxGetCurrent(&now) || now != p->context) /* the slots' streams are that one's: others would share */
		return 0;
	if (!atomic_exchange_explicit(&p->workspace_tried, 1, memory_order_relaxed) && !vmm_enter(p, &s)) {
		uint64_t at, size = GSAN_STREAMS * WORKSPACE;
		if (!block_alloc(p, &(struct block_want){.size = size}, "words of cooperative grids", &at) && !vmm_zero(p, at, size))
			atomic_store_explicit(&p->workspace, at, memory_order_release);
		vmm_leave(&s);
	}
	uint64_t from = atomic_load_explicit(&p->workspace, memory_order_acquire); /* 0: the driver's own words serve */
	return from ? from + slot * WORKSPACE : 0;
}
