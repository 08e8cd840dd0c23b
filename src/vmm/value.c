/* Locations that a stream writes a value to. The mark lies in their line records, so a peer's memory has it, too; it goes
 * with the history of the memory, and is made anew with each value. */
#include "vmm/block.h"
#include "vmm/handle.h"

uint64_t vmm_canonical(uint64_t at)
{
	if (at >> GSAN_DATA_SHIFT == GSAN_DATA_TOP)
		return block_find(at) ? at : 0;
	return at >> GSAN_VIEW_SHIFT == GSAN_VIEW_TOP ? view_canonical(at) : range_canonical(at);
}

uint64_t vmm_value(struct participant *p, uint64_t at, int written)
{
	struct vmm_section s;
	if (vmm_enter(p, &s))
		return 0;
	uint64_t canonical = vmm_canonical(at);
	if (gsan_is_hosts(canonical))
		canonical = 0;
	if (canonical && written && shadow_value(p, canonical))
		canonical = 0;
	vmm_leave(&s);
	return canonical;
}
