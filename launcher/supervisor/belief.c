/* What the device cannot see may order two accesses: a kernel of a library that synchronises (BARRIER, from the table of
 * models) or may (OPAQUE), or a value that a stream writes, where such a kernel or a host reads it. Each participant lists
 * these (job.h); here they are held against a pair of accesses, launch `a` of participant p first and launch `b` of
 * participant q second, before anyone calls it a race. */
#include "supervisor/state.h"

static uint32_t belief_events(const struct job_rank *rank)
{
	uint32_t n = atomic_load_explicit(&rank->events, memory_order_acquire); /* pairs with the owner's release store */
	return n < JOB_EVENTS ? n : JOB_EVENTS;
}

static int belief_lost(const struct job_rank *rank)
{
	return atomic_load_explicit(&rank->events_lost, memory_order_relaxed) != 0;
}

/* A stream of p wrote a value after p's access: a host may have read it before it launched b; or else nobody has whose
 * reading goes unseen, but for kernels of unknown effect: that is told by *written. */
static int belief_signal(const struct job_rank *p, uint32_t a, uint32_t q, uint32_t b, int *written)
{
	uint32_t n = atomic_load_explicit(&p->signals, memory_order_acquire); /* pairs with the owner's release store */
	for (uint32_t i = 0; i < n && i < JOB_SIGNALS; i++) {
		const struct job_signal *s = &p->signal[i];
		if (atomic_load_explicit(&s->seq, memory_order_relaxed) <= a)
			continue;
		*written = 1;
		if (atomic_load_explicit(&s->seen[q], memory_order_relaxed) <= b)
			return 1;
	}
	return 0;
}

/* Something unknown ran after p's access, or a stream wrote a value (`written`), and something unknown ran before q's: together
 * they may be a handshake, unless the one was over, as a host has seen, before the other was told to run. */
static int belief_opaque(const struct job_rank *p, uint32_t a, const struct job_rank *q, uint32_t b, int written)
{
	uint64_t begun = written || belief_lost(p) ? 0 : UINT64_MAX;
	for (uint32_t i = 0, n = belief_events(p); i < n; i++) {
		const struct job_event *e = &p->event[i];
		if (e->kind == JOB_EVENT_OPAQUE && e->seq >= a && e->begun < begun)
			begun = e->begun;
	}
	if (begun == UINT64_MAX || belief_lost(q))
		return begun != UINT64_MAX;
	for (uint32_t i = 0, n = belief_events(q); i < n; i++) {
		const struct job_event *e = &q->event[i];
		uint64_t ended = atomic_load_explicit(&e->ended, memory_order_relaxed);
		if ((e->kind == JOB_EVENT_OPAQUE || written) && e->seq <= b && (!ended || ended > begun))
			return 1;
	}
	return 0;
}

/* All participants run the same barriers in the same order. p's first barrier after a is its k-th; q cannot have passed
 * its own k-th before p reached that one. So q having k barriers before b means: a is before b. */
static int belief_barrier(const struct job_rank *p, uint32_t a, const struct job_rank *q, uint32_t b)
{
	uint32_t k = 0, j = 0, n = belief_events(p);
	int found = 0;
	for (uint32_t i = 0; i < n && !found; i++)
		if (p->event[i].kind == JOB_EVENT_BARRIER) {
			k++;
			found = p->event[i].seq > a;
		}
	n = belief_events(q);
	for (uint32_t i = 0; i < n; i++)
		j += q->event[i].kind == JOB_EVENT_BARRIER && q->event[i].seq < b;
	return found && j >= k;
}

enum belief supervisor_believe(const struct job *job, const struct gsan_finding *f)
{
	const struct gsan_side *a = &f->first, *b = &f->second;
	const struct job_rank *p = &job->rank[a->participant], *q = &job->rank[b->participant];
	if (p == q && (a->stream == b->stream || a->seq == b->seq))
		return BELIEF_RACE;
	if (p != q && belief_barrier(p, a->seq, q, b->seq))
		return BELIEF_ORDERED;
	int written = 0, host = belief_signal(p, a->seq, b->participant, b->seq, &written);
	return host || belief_opaque(p, a->seq, q, b->seq, written) ? BELIEF_WITHHELD : BELIEF_RACE;
}
