/* Places in the job that processes have left, given up so that others may have them. Whatever is mapped here of theirs, tables, what lies
 * behind them and line records, would stand where a new process's belongs; and line records name launches by their places (layout.h). So the
 * supervisor gives a place to another process only when none that runs has anything of it (launcher/supervisor/places.c), and
 * says when places are short. Then each that can clears its history and unmaps what is of those who left, but for memory which the program still has. */
#include "ipc/ipc.h"
#include "vmm/handle.h"
#include "vmm/inside.h"

uint32_t spans_forget(struct spans *mapped, uint32_t gone, uint64_t base, uint64_t slice)
{
	for (size_t i = 0; i < mapped->count;) {
		const struct span at = *(const struct span *)spans_at(mapped, i);
		const uint32_t owner = (uint32_t)((at.base - base) / slice);
		if (!(gone >> owner & 1)) {
			i++;
		} else if (real.cuMemUnmap(at.base, at.size)) {
			gone &= ~(1u << owner);
		} else {
			spans_remove(mapped, i);
		}
	}
	return gone;
}

/* Those that left, of which it has something. */
static uint32_t forget_gone(const struct participant *p)
{
	uint32_t gone = 0, names = atomic_load_explicit(&p->job->rank[p->index].names, memory_order_acquire);
	for (uint32_t left = names; left; left &= left - 1) {
		const uint32_t q = (uint32_t)__builtin_ctz(left);
		gone |= atomic_load_explicit(&p->job->rank[q].state, memory_order_acquire) == JOB_LEFT ? 1u << q : 0;
	}
	return gone;
}

int vmm_may_forget(const struct participant *p)
{
	return atomic_load_explicit(&p->job->wanted, memory_order_relaxed) && forget_gone(p);
}

/* As one of the process's participants had it. */
static void forget_one(struct participant *p, uint32_t gone)
{
	struct ipc_msg msg = {.type = IPC_FORGET, .participant = p->index, .base = gone};
	atomic_fetch_and_explicit(&p->mapped, ~gone, memory_order_relaxed);
	atomic_fetch_and_explicit(&p->refused, ~gone, memory_order_relaxed);
	atomic_store_explicit(&p->looked, 0, memory_order_relaxed);
	for (uint32_t left = gone; left; left &= left - 1)
		atomic_store_explicit(&p->job->rank[p->index].detail_of[__builtin_ctz(left)], 0, memory_order_relaxed);
	ipc_call(p->socket, &msg, -1, NULL);
}

static uint32_t forget_all(struct participant *p, uint32_t gone)
{
	struct participant *one;
	gone = shadow_forget(tables_forget(gone));
	if (!gone || shadow_renew(p, 0))
		return 0;
	for (int place = 0; (one = participant_at_place(place)); place++)
		forget_one(one, gone);
	return gone;
}

int vmm_forget(struct participant *p)
{
	struct participant *one;
	struct vmm_section s;
	uint32_t gone = 0;
	if (vmm_enter(p, &s))
		return 0;
	for (int place = 0; (one = participant_at_place(place)); place++)
		gone |= forget_gone(one);
	gone &= ~handle_owners();
	if (gone)
		gone = forget_all(p, gone);
	vmm_leave(&s);
	return gone != 0;
}
