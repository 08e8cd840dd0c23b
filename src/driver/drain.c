/* The device adds up its counters in its own table; from time to time, and at the end, they are copied to the job's
 * memory, where the supervisor reads them whatever becomes of this process. (Findings need no copy: kernels write them
 * there themselves.) The copies run on a stream of our own, and while the program goes on, never while something of its
 * may run; at the end that is waited for, not for long, and how many launches were counted is told. */
#include <errno.h>
#include <time.h>

#include "clock/vec.h"
#include "cuda/real.h"
#include "device/runtime.h"
#include "driver/late.h"
#include "driver/room.h"
#include "driver/state.h"
#include "vmm/vmm.h"

#define DRAIN_BYTES 16384 /* holds gsan_counters_bytes() */
#define DRAIN_SOON_NS 2000000ull     /* a program may synchronise thousands of times a second: so long after the last time, ... */
#define DRAIN_PERIOD_NS 100000000ull /* ... twice as long each time to this, until much of the history was used: soon again, but ... */
#define DRAIN_SHARE 20               /* ... not so soon that emptying it takes more than this part of the time */
#define DRAIN_LATE 200u              /* so many looks for the end of checks of copies, */
#define DRAIN_LATE_LAST 20000u       /* and at the end */
#define DRAIN_WAIT_NS 2000000000ull  /* what runs when the process or a context ends is given so long */

int flow_read(struct flow *f, void *to, CUdeviceptr from, size_t size)
{
	CUstream stream = f->participant->stream;
	CUstreamCaptureMode mode;
	int rc = -EIO, relaxed = flow_relax(&mode);

	if (real.cuMemcpyDtoHAsync_v2(to, from, size, stream) == CUDA_SUCCESS &&
	    real.cuStreamSynchronize(stream) == CUDA_SUCCESS)
		rc = 0;
	flow_unrelax(mode, relaxed);
	return rc;
}

uint64_t flow_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* `all`: everything that was launched before this call is known to be complete. Returns what of the history is much used. */
static struct gsan_history drain_copy(struct flow *f, uint64_t launches, int all)
{
	char copy[DRAIN_BYTES];
	uint64_t sum[GSAN_N_COUNTERS] = {0};
	CUdeviceptr table = GSAN_TABLE_BASE + f->clock.participant * GSAN_TABLE_SLICE;

	if (gsan_counters_bytes() > sizeof(copy) || flow_read(f, copy, table, gsan_counters_bytes()))
		return (struct gsan_history){0};
	gsan_counters_add(copy, sum);
	for (unsigned i = 0; i < GSAN_N_COUNTERS; i++)
		if (!(GSAN_HOST_COUNTERS >> i & 1))
			atomic_store_explicit(&f->rank->counter[i], sum[i], memory_order_relaxed);
	if (all)
		atomic_store_explicit(&f->rank->launches_counted, launches, memory_order_relaxed);
	return gsan_history_used(copy);
}

struct drain_poll { struct flow *flow; struct clock_vec done; int busy; };

/* A stream that has nothing left to do is known to be so far. What its handle cannot tell stays open: the default streams
 * of other threads, and streams that were destroyed with work in them. */
static int drain_ask(uint64_t key, void *slot, void *context)
{
	struct drain_poll *poll = context;
	CUstream stream = key >> 63 ? CU_STREAM_PER_THREAD : (CUstream)(uintptr_t)key;
	struct clock_vec mark;

	if ((uint32_t)(uintptr_t)slot - 1 == FLOW_ELSEWHERE)
		return 0;
	if ((key >> 63 && key != flow_stream_key(CU_STREAM_PER_THREAD)) || flow_capturing(stream) || !real.cuStreamQuery)
		return 0;
	clock_mark(&poll->flow->clock, (uint32_t)(uintptr_t)slot - 1, &mark);
	CUresult rc = real.cuStreamQuery(stream);
	if (rc == CUDA_SUCCESS)
		clock_join(&poll->done, &mark, GSAN_STREAMS);
	poll->busy |= rc == CUDA_ERROR_NOT_READY;
	return 0;
}

/* What the host's clock says to be over may still run where streams share a slot, or the program works in several contexts. */
static int drain_knows(const struct flow *f) { return !f->clock.shared && !vmm_several_contexts(f->participant); }

/* While a stream is being captured, nothing may be asked of the driver; and the default streams are those of the context that is current. */
static int drain_certain(const struct flow *f) { return flow_current() == f && drain_knows(f) && !flow_captures(); }

/* Is nothing under way? The clock knows more than was waited for where another thread launches while an event is recorded: so the streams
 * are asked. */
static int drain_over(struct flow *f)
{
	struct drain_poll poll = {.flow = f};

	if (!drain_certain(f) || !clock_idle(&f->clock, NULL) || late_under_way(f))
		return 0;
	drain_ask((uintptr_t)CU_STREAM_LEGACY, (void *)(uintptr_t)(CLOCK_LEGACY + 1), &poll);
	map_sweep(&f->stream, drain_ask, &poll);
	return !poll.busy;
}

/* Every queue, so that no thread launches meanwhile. */
struct drain_held { unsigned queues; CUstreamCaptureMode mode; int relaxed; };

/* 1: nothing runs, and nobody launches until the release, which has to follow in any case. */
static int drain_hold(struct flow *f, struct drain_held *held)
{
	held->queues = 0;
	held->relaxed = flow_relax(&held->mode);
	while (held->queues < GSAN_STREAMS && !pthread_mutex_trylock(&f->queue[held->queues].lock))
		held->queues++;
	return held->queues == GSAN_STREAMS && drain_over(f);
}

static void drain_release(struct flow *f, const struct drain_held *held)
{
	for (unsigned q = held->queues; q; q--)
		pthread_mutex_unlock(&f->queue[q - 1].lock);
	flow_unrelax(held->mode, held->relaxed);
}

/* What the host has seen complete is before all that it launches from here on: no record and no location's entry has anything to say
 * any more. Not while another thread is launching; there will be other occasions. 1: it was emptied. */
static int drain_history(struct flow *f)
{
	struct drain_held held;
	int ended = 0;

	if (drain_hold(f, &held)) {
		struct gsan_history used = drain_copy(f, 0, 0); /* as it is now */
		ended = vmm_history_end(f->participant, &used);
	}
	drain_release(f, &held);
	return ended;
}

void flow_room(struct flow *f, int bytes)
{
	struct drain_held held;

	if (room_is_made(f, bytes))
		return;
	if (drain_hold(f, &held))
		room_make(f, bytes);
	drain_release(f, &held);
}

/* Tags come round soon, and records are to be cleared before that (flow_renew). A launch would wait for copies of zeros to all of the
 * shadow: now nothing runs, and a kernel writes them much faster. */
static void drain_renew(struct flow *f, uint32_t half)
{
	struct clock_sweep sweep;
	struct drain_held held;

	if (!drain_certain(f) || pthread_mutex_trylock(&f->renew))
		return;
	if (f->renew_refused != half) {
		if (drain_hold(f, &held) && f->clock.tags.renewed < half) {
			clock_renewing(&f->clock, NULL, &sweep);
			late_lowers(f, &sweep);
			if (!vmm_renew_idle(f->participant)) {
				clock_renewed(&f->clock, half, &sweep);
				atomic_fetch_add_explicit(&f->rank->counter[GSAN_N_RENEWED], 1, memory_order_relaxed);
			} else {
				f->renew_refused = half;
			}
		}
		drain_release(f, &held);
	}
	pthread_mutex_unlock(&f->renew);
}

/* Places that others want (vmm/forget.c). No GPU of the process may be at work: where there are several, they are held one after the other. */
static int drain_forget_from(struct flow *f, int place)
{
	struct participant *p = participant_at_place(place);
	struct flow *one = p ? flow_on(p->device) : NULL;
	struct drain_held held;
	CUcontext gone;

	if (!p)
		return vmm_forget(f->participant);
	if (!one || participant_push(p))
		return 0;
	int forgot = 0, late = !pthread_mutex_trylock(&one->late.lock);
	if (late) {
		forgot = drain_hold(one, &held) && drain_forget_from(f, place + 1);
		drain_release(one, &held);
		pthread_mutex_unlock(&one->late.lock);
	}
	real.cuCtxPopCurrent_v2(&gone);
	return forgot;
}

static void drain_forget(struct flow *f)
{
	if (drain_certain(f) && drain_forget_from(f, 0))
		atomic_fetch_add_explicit(&f->rank->counter[GSAN_N_RENEWED], 1, memory_order_relaxed);
}

static void drain_again(struct flow *f, uint64_t period)
{
	atomic_store_explicit(&f->drain_period, period < DRAIN_PERIOD_NS ? period : DRAIN_PERIOD_NS, memory_order_relaxed);
	atomic_store_explicit(&f->drain_due, flow_now() + period, memory_order_relaxed);
}

void flow_drain(struct flow *f)
{
	uint64_t launches = atomic_load_explicit(&f->rank->launches_checked, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&f->drain_period, memory_order_relaxed), begun = flow_now();

	if (!clock_idle(&f->clock, NULL) || late_under_way(f)) /* asked of nobody: when this is due is a matter of time, not of the program */
		return;
	struct gsan_history used = drain_copy(f, launches, 1);
	int much = used.entries.bytes || used.detail.bytes;
	if (used.detail_short && !flow_captures())
		vmm_detail_grow(f->participant);
	if (much && drain_history(f))
		drain_again(f, DRAIN_SOON_NS + (flow_now() - begun) * DRAIN_SHARE);
	else
		drain_again(f, last < DRAIN_SOON_NS ? DRAIN_SOON_NS : last < DRAIN_PERIOD_NS / 2 ? 2 * last : DRAIN_PERIOD_NS);
}

static void drain_idle(struct flow *f, void *idle)
{
	*(int *)idle &= clock_idle(&f->clock, NULL) && drain_knows(f);
}

/* What streams gave back before it is asked about nothing uses any more, if nothing is under way then. */
static void drain_lingers(void)
{
	const uint64_t newest = vmm_lingers();
	int idle = newest != 0;

	if (newest)
		flow_each(drain_idle, &idle);
	if (idle)
		vmm_waited(newest);
}

void flow_host_saw(struct flow *f, const struct clock_vec *mark)
{
	uint32_t half;

	flow_host_join(f, mark);
	flow_events_end(f);
	drain_lingers();
	late_go_on(f);
	if (clock_renews_soon(&f->clock, &half) && clock_idle(&f->clock, NULL) && late_over(f, DRAIN_LATE))
		drain_renew(f, half);
	if (vmm_may_forget(f->participant) && clock_idle(&f->clock, NULL) && late_over(f, DRAIN_LATE))
		drain_forget(f);
	if (flow_now() > atomic_load_explicit(&f->drain_due, memory_order_relaxed))
		flow_drain(f);
}

/* ---- the last time: what runs is waited for, not for long ---------------------------------------------------- */

static _Atomic uint64_t wait_left = DRAIN_WAIT_NS; /* once in a process */
static _Atomic int handles_gone;                   /* a context ended: a stream's handle may be no more */

void flow_context_ended(void)
{
	atomic_store_explicit(&handles_gone, 1, memory_order_relaxed);
}

/* The host of the program is not told: it did not wait, and what it launches later is not ordered by this. */
static int drain_wait(struct flow *f)
{
	struct drain_poll poll = {.flow = f};
	uint64_t begun = flow_now();

	do {
		nanosleep(&(struct timespec){0, poll.busy ? 100000 : 0}, NULL);
		poll.busy = 0;
		drain_ask((uintptr_t)CU_STREAM_LEGACY, (void *)(uintptr_t)(CLOCK_LEGACY + 1), &poll);
		if (!atomic_load_explicit(&handles_gone, memory_order_relaxed))
			map_sweep(&f->stream, drain_ask, &poll);
		if (clock_idle(&f->clock, &poll.done))
			return 1;
	} while (poll.busy && flow_now() - begun < atomic_load_explicit(&wait_left, memory_order_relaxed));
	if (poll.busy)
		atomic_store_explicit(&wait_left, 0, memory_order_relaxed);
	return 0;
}

/* The calling thread may have another context or none. A driver that is shutting down refuses, which is fine. */
static void drain_last(struct flow *f, void *unused)
{
	uint64_t launches = atomic_load_explicit(&f->rank->launches_checked, memory_order_relaxed);
	CUstreamCaptureMode mode;
	CUcontext gone;

	(void)unused;
	if (participant_push(f->participant))
		return;
	int relaxed = flow_relax(&mode);
	int all = launches == atomic_load_explicit(&f->rank->launches_counted, memory_order_relaxed);
	if (!all || late_under_way(f))
		all |= drain_wait(f);
	late_over(f, DRAIN_LATE_LAST);
	drain_copy(f, launches, all);
	flow_unrelax(mode, relaxed);
	real.cuCtxPopCurrent_v2(&gone);
}

void flow_drain_everywhere(void)
{
	flow_each(drain_last, NULL);
}

void flow_drain_at_exit(void)
{
	if (driver_enter()) {
		flow_drain_everywhere();
		driver_leave();
	}
}
