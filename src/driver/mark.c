/* A host that never waits learns of no launch that it is complete, and a tag that may still be in use is not given out again. So every so
 * many launches of a slot an event of ours follows them, that nobody waits for; when tags run short, the events are asked. They say nothing
 * about order: the program's host does not know. An event behind a copy (late.h) tells as much. */
#include <stdlib.h>

#include "cuda/own.h"
#include "cuda/real.h"
#include "driver/flow.h"

#define MARK_EVERY 256u /* numbers: times FLOW_MARKS it is more than a stream has under way on a GPU, so the oldest event has passed by then; */
#define MARK_LEAST 32u  /* and launches of the slot, lest many streams make as many events as launches */

void flow_mark(struct flow *f, uint32_t slot, CUstream stream, uint32_t seq)
{
	struct flow_mark *m = &f->queue[slot].mark;

	if (++m->launches < MARK_LEAST || (int32_t)(seq - m->next) < 0)
		return;
	m->launches = 0;
	m->next = seq + MARK_EVERY;
	if (slot == CLOCK_SHARED || flow_captures())
		return;
	struct flow_mark_event *e = &m->mark[m->used % FLOW_MARKS];
	atomic_store_explicit(&e->seq, 0, memory_order_seq_cst); /* partner: flow_passed() */
	if (!e->event && own_event(&e->event) != CUDA_SUCCESS) {
		e->event = NULL;
		return;
	}
	if (real.cuEventRecord(e->event, stream) == CUDA_SUCCESS)
		atomic_store_explicit(&e->seq, seq, memory_order_seq_cst);
	m->used++;
}

void flow_over(struct flow *f, uint32_t slot, uint32_t seq)
{
	_Atomic uint32_t *over = &f->queue[slot].mark.over;

	for (uint32_t was = atomic_load(over); slot != CLOCK_SHARED && was < seq && !atomic_compare_exchange_weak(over, &was, seq);)
		;
}

/* Which events went with it is not known. */
void flow_forget_marks(struct flow *f)
{
	for (uint32_t slot = 0; slot < GSAN_STREAMS; slot++) {
		struct flow_mark_event *e = f->queue[slot].mark.mark;
		pthread_mutex_lock(&f->queue[slot].lock);
		for (unsigned i = 0; i < FLOW_MARKS; i++) {
			atomic_store_explicit(&e[i].seq, 0, memory_order_seq_cst);
			e[i].event = NULL;
		}
		pthread_mutex_unlock(&f->queue[slot].lock);
	}
}

/* An event that is recorded again meanwhile has another number before its answer can be of that record. */
static uint32_t mark_passed(struct flow_mark *m)
{
	uint32_t passed = atomic_load(&m->over);

	for (unsigned i = 0; i < FLOW_MARKS; i++) {
		uint32_t seq = atomic_load_explicit(&m->mark[i].seq, memory_order_seq_cst);
		if (seq > passed && real.cuEventQuery(m->mark[i].event) == CUDA_SUCCESS &&
		    atomic_load_explicit(&m->mark[i].seq, memory_order_seq_cst) == seq)
			passed = seq;
	}
	return passed;
}

void flow_passed(struct flow *f, struct clock_vec *over)
{
	CUstreamCaptureMode mode;
	int relaxed = flow_relax(&mode);
	uint32_t slots = clock_slots(&f->clock);

	for (uint32_t slot = 0; slot < slots; slot++) {
		uint32_t passed = mark_passed(&f->queue[slot].mark);
		if (over->seen[slot] < passed)
			over->seen[slot] = passed;
	}
	flow_unrelax(mode, relaxed);
}
