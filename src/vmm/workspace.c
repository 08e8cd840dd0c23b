/* The words by which cooperative grids synchronise. The driver's own (%envreg1, %envreg2) lie in memory without shadow, so that
 * nothing would be known of who waited for whom; a clone gets others, in a block of ours. */
#include "vmm/block.h"

#define WORKSPACE 128u /* bytes: whole granules of one slot's alone */

static uint64_t base; /* 0: none yet, or none to be had: the driver's own serve */
static int tried;

uint64_t vmm_workspace(struct participant *p, uint32_t slot)
{
	CUcontext now;
	struct vmm_section s;
	if (real.cuCtxGetCurrent(&now) || now != p->context) /* the slots' streams are that one's: others would share */
		return 0;
	if (!__atomic_exchange_n(&tried, 1, __ATOMIC_RELAXED) && !vmm_enter(p, &s)) {
		uint64_t at, size = GSAN_STREAMS * WORKSPACE;
		if (!block_alloc(p, size, NULL, "words of cooperative grids", &at) && !vmm_zero(p, at, size))
			__atomic_store_n(&base, at, __ATOMIC_RELEASE);
		vmm_leave(&s);
	}
	uint64_t from = __atomic_load_n(&base, __ATOMIC_ACQUIRE);
	return from ? from + slot * WORKSPACE : 0;
}
