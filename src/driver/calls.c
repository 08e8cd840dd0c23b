/* Calls of the program's own functions by its streams, as the supervisor holds them against findings (job.h, struct job_call). What is behind such a call
 * was enqueued before it returned, and may be behind whatever the function waited for: so that is told when it has returned. */
#include "driver/flow.h"
#include "driver/late.h"
#include "vmm/vmm.h"

static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t calls_given(const struct job *job, uint32_t q)
{
	return atomic_load_explicit(&job->rank[q].next, memory_order_acquire);
}

/* Of all that gave up their places: what any of them has. */
static void call_merge(struct job_call *to, const struct job_call *call)
{
	int first = !atomic_load_explicit(&to->over, memory_order_relaxed);
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++) {
		if (first || to->from[q] > call->from[q])
			atomic_store_explicit(&to->from[q], call->from[q], memory_order_relaxed);
		if (to->given[q] < call->given[q])
			atomic_store_explicit(&to->given[q], call->given[q], memory_order_relaxed);
	}
	if (to->floor < call->floor)
		atomic_store_explicit(&to->floor, call->floor, memory_order_relaxed);
	for (uint32_t s = 0; s < GSAN_STREAMS; s++)
		if (to->seen[s] < call->seen[s])
			atomic_store_explicit(&to->seen[s], call->seen[s], memory_order_relaxed);
	atomic_store_explicit(&to->over, 1, memory_order_release);
}

int flow_call(struct flow *f, uint32_t seq)
{
	struct job *job = f->participant->job;

	pthread_mutex_lock(&calls_lock);
	uint32_t place = f->calls % JOB_CALLS;
	struct job_call *call = &f->rank->call[place];
	int open = f->call_open[place];
	if (!open) {
		if (atomic_load_explicit(&call->over, memory_order_relaxed))
			call_merge(&f->rank->call[JOB_CALLS], call);
		atomic_store_explicit(&call->over, 0, memory_order_relaxed);
		atomic_thread_fence(memory_order_release); /* partner: belief_call() */
		for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
			atomic_store_explicit(&call->from[q], q == f->clock.participant ? seq : calls_given(job, q), memory_order_relaxed);
		f->call_open[place] = 1;
		f->calls++;
	}
	pthread_mutex_unlock(&calls_lock);
	return open ? -1 : (int)place;
}

void flow_call_end(struct flow *f, int place)
{
	pthread_mutex_lock(&calls_lock);
	f->call_open[place] = 0;
	pthread_mutex_unlock(&calls_lock);
}

/* The driver must not be asked here for anything: a word that a copy writes, and that a host may have polled, is not known to be there. Then all may be. */
void flow_call_returned(struct flow *f, int place)
{
	struct job_call *call = &f->rank->call[place];
	struct job *job = f->participant->job;
	uint32_t seen[GSAN_STREAMS], polled = (uint32_t)late_tells(), floor = clock_host_seen(&f->clock, seen);

	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		atomic_store_explicit(&call->given[q], calls_given(job, q), memory_order_relaxed);
	for (uint32_t s = 0; s < GSAN_STREAMS; s++)
		atomic_store_explicit(&call->seen[s], seen[s], memory_order_relaxed);
	atomic_store_explicit(&call->floor, polled ? call->given[f->clock.participant] : floor, memory_order_relaxed);
	atomic_store_explicit(&call->over, 1, memory_order_release); /* partner: belief_call(), of a finding by what came behind */
	flow_call_end(f, place);
}
