/* More detail behind a participant's tables, when what they have is taken. A kernel of any process that has mapped the tables may meet a line
 * with such a block, so it is used only once each of them has said that it is mapped there, which it does at a launch of its own. */
#include "ipc/ipc.h"
#include "vmm/inside.h"

#define FIRST (128ull << 20) /* as much as the tables have; then twice as much each time */
#define SHARE 4              /* of the memory that is free not more than this part */

static uint64_t detail_base(uint32_t q) { return vmm_tables_base(q) + gsan_tables_bytes(); }

/* ---- of others --------------------------------------------------------------------------------------------------- */

int detail_adopt(struct participant *p, uint32_t q)
{
	uint64_t there = atomic_load_explicit(&p->job->rank[q].detail_bytes, memory_order_acquire); /* partner: detail_add() */
	_Atomic uint64_t *have = &p->job->rank[p->index].detail_of[q];
	uint64_t mapped = atomic_load_explicit(have, memory_order_relaxed);
	int rc = 0;
	while (mapped < there && !rc) { /* in the pieces that it came in */
		uint64_t piece = mapped ? mapped : FIRST;
		rc = tables_map(p, q, detail_base(q) + mapped, piece);
		mapped += rc ? 0 : piece;
	}
	atomic_store_explicit(have, mapped, memory_order_release); /* partner: detail_is_mapped() */
	return rc;
}

/* ---- its own ----------------------------------------------------------------------------------------------------- */

/* By all that may use it. */
static int detail_is_mapped(const struct participant *p, uint64_t bytes)
{
	for (uint32_t q = 0; q < p->job->participants && q < GSAN_PARTICIPANTS; q++) {
		const struct job_rank *rank = &p->job->rank[q];
		if (q != (uint32_t)p->index && atomic_load_explicit(&rank->state, memory_order_acquire) == JOB_RUNNING &&
		    atomic_load_explicit(&rank->detail_of[p->index], memory_order_acquire) < bytes)
			return 0;
	}
	return 1;
}

/* Four bytes for each of the program's, for it to have touched all of its lines in parts; and it may want what is free itself. */
static int detail_affords(const struct participant *p, uint64_t bytes, uint64_t more)
{
	uint64_t memory = atomic_load_explicit(&p->job->rank[p->index].memory_bytes, memory_order_relaxed);
	size_t free, total;
	return bytes + more <= vmm_round(memory * sizeof(struct gsan_detail) / GSAN_LINE, FIRST) && !real.cuMemGetInfo_v2(&free, &total) &&
	       more <= free / SHARE;
}

static uint64_t detail_add(struct participant *p, uint64_t bytes)
{
	struct job_rank *rank = &p->job->rank[p->index];
	uint64_t more = bytes ? bytes : FIRST, at = detail_base((uint32_t)p->index) + bytes;
	CUmemGenericAllocationHandle handle;
	if (!detail_affords(p, bytes, more) || vmm_back(p, at, more, &handle))
		return bytes;
	if (vmm_zero(p, at, more) || vmm_offer(p, IPC_TABLES, at, more, handle)) {
		vmm_unback(at, more, handle);
		return bytes;
	}
	atomic_fetch_add_explicit(&rank->tables_bytes, more, memory_order_relaxed);
	atomic_store_explicit(&rank->detail_bytes, bytes + more, memory_order_release);
	job_changed(p->job);
	return bytes + more;
}

void vmm_detail_grow(struct participant *p)
{
	struct vmm_section s;
	if (vmm_enter(p, &s))
		return;
	uint64_t bytes = atomic_load_explicit(&p->job->rank[p->index].detail_bytes, memory_order_relaxed);
	if (bytes == p->detail_open)
		bytes = detail_add(p, bytes);
	const uint32_t blocks = gsan_detail_blocks(bytes);
	if (bytes > p->detail_open && detail_is_mapped(p, bytes) &&
	    !vmm_upload(p, vmm_tables_base((uint32_t)p->index) + gsan_detail_more_at(), &blocks, sizeof blocks))
		p->detail_open = bytes;
	vmm_leave(&s);
}
