#include "emu/driver/queue.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random.h"
#include "emu/driver/skip.h"
#include "emu/driver/trace.h"

#define READY_MAX 4096   /* streams that are considered for one turn */
#define QUEUE_MOST 1024  /* kernels, copies and sets of one stream: who gives it more waits, as on a GPU */
#define RELEASED_MAX 64  /* waits that one turn can end; more are found by the next */

struct wait {
	struct wait *next;
	int (*done)(const void *subject);
	const void *subject;
	int32_t tid;
	int over;
};
static struct wait *waits;
static uint64_t sequence;
static struct emu_runnable published; /* what the scheduler was told of us */
static pthread_t worker;
static int worker_started;

/* ---- order */

void *emu_op_new(size_t size, int (*run)(struct emu_op *, struct emu_turn *))
{
	struct emu_op *op = calloc(1, size);
	if (op)
		op->run = run;
	return op;
}

static int blocking(const struct CUstream_st *s) { return !(s->flags & CU_STREAM_NON_BLOCKING); }

/* Nothing enqueued before `seq` is left in the streams that the legacy default stream waits for. */
static int blocking_streams_passed(CUcontext context, uint64_t seq)
{
	for (const struct CUstream_st *s = context->streams; s; s = s->next)
		if (blocking(s) && s->head && s->head->seq < seq)
			return 0;
	return 1;
}

static int in_order(const struct CUstream_st *s, uint64_t seq)
{
	CUcontext c = s->context;
	if (s == &c->legacy)
		return blocking_streams_passed(c, seq);
	return !blocking(s) || !c->legacy.head || c->legacy.head->seq > seq;
}

static struct emu_op *barriers; /* that have `devices` */

static int enqueued_before(const struct CUstream_st *s, const struct emu_op *barrier)
{
	return blocking(s) && barrier->devices >> s->context->device & 1 && s->head && s->head->seq < barrier->seq;
}

static int devices_passed(const struct emu_op *barrier)
{
	for (CUcontext c = emu.contexts; c; c = c->next) {
		int left = enqueued_before(&c->legacy, barrier);
		for (const struct CUstream_st *s = c->streams; s && !left; s = s->next)
			left = enqueued_before(s, barrier);
		if (left)
			return 0;
	}
	return 1;
}

static int barriers_allow(const struct emu_op *op)
{
	const uint32_t devices = op->devices | 1u << op->stream->context->device;
	for (const struct emu_op *b = barriers; b && blocking(op->stream); b = b->next_barrier)
		if (b->devices & devices && b->seq < op->seq)
			return 0;
	return !op->devices || devices_passed(op);
}

static int stream_ready(const struct CUstream_st *s)
{
	const struct emu_op *op = s->head;
	return op && !s->busy && in_order(s, op->seq) && barriers_allow(op) && (!op->ready || op->ready(op));
}

int emu_stream_idle(CUstream stream) { return !stream->head && in_order(stream, UINT64_MAX); }

int emu_context_idle(CUcontext context)
{
	if (context->legacy.head)
		return 0;
	for (const struct CUstream_st *s = context->streams; s; s = s->next)
		if (s->head)
			return 0;
	return 1;
}

static void drop_barrier(const struct emu_op *op)
{
	struct emu_op **at = &barriers;
	while (*at && *at != op)
		at = &(*at)->next_barrier;
	if (*at)
		*at = op->next_barrier;
}

/* It is in its stream's list no more. */
static void drop_op(struct emu_op *op)
{
	op->stream->queued -= (uint32_t)op->counts;
	drop_barrier(op);
	if (op->drop)
		op->drop(op);
	free(op);
}

static void drop_head(CUstream s)
{
	struct emu_op *op = s->head;
	s->head = op->next;
	if (!s->head)
		s->tail = &s->head;
	drop_op(op);
}

void emu_stream_discard(CUstream stream)
{
	while (stream->head)
		drop_head(stream);
}

/* Of the rows of a box each begins when the one before it is done: they are launches of one stream. */
void emu_op_begin(struct emu_op *op)
{
	for (uint64_t k = 0; !op->begun && k < op->traces; k++) {
		if (k)
			emu_trace_done(op->traced + k - 1);
		emu_trace_begin(op->traced + k);
	}
	op->begun = 1;
}

void emu_op_end(struct emu_op *op)
{
	if (op->traces)
		emu_trace_done(op->traced + op->traces - 1);
}

/* The failed operation itself stays: who runs it drops it. */
void emu_op_fail(struct emu_op *op, CUresult error)
{
	CUcontext c = op->stream->context;
	c->error = error;
	for (struct CUstream_st *s = c->streams; ; s = s->next) {
		if (!s)
			s = &c->legacy;
		if (s->head && s->head != op && !s->busy)
			emu_stream_discard(s);
		else
			while (s->head && s->head->next) { /* behind the running one */
				struct emu_op *later = s->head->next;
				s->head->next = later->next;
				drop_op(later);
			}
		if (s->head)
			s->tail = &s->head->next;
		if (s == &c->legacy)
			break;
	}
}

/* ---- running */

/* Calls visit for each stream of the process, in the order of contexts and streams, until it returns nonzero. */
static int each_stream(int (*visit)(CUstream s, void *context), void *context)
{
	for (CUcontext c = emu.contexts; c; c = c->next) {
		if (visit(&c->legacy, context))
			return 1;
		for (CUstream s = c->streams, next; s; s = next) {
			next = s->next;
			if (visit(s, context))
				return 1;
		}
	}
	return 0;
}

static int run_markers(CUstream s, void *changed)
{
	while (s->head && s->head->marker && stream_ready(s)) {
		s->head->run(s->head, NULL);
		drop_head(s);
		*(int *)changed = 1;
	}
	return 0;
}

static void settle(void)
{
	int changed;
	do {
		changed = 0;
		each_stream(run_markers, &changed);
	} while (changed);
}

/* Its number in the job decides, until it was found to wait for others: then it goes below all that were so before. */
uint64_t emu_op_priority(const struct emu_op *op)
{
	if (op->demoted)
		return (1ull << 62) - op->demoted;
	return emu_priority(emu_sched_seed(), emu_sched_rank() << 40 | op->seq);
}

static uint64_t priority(const struct emu_op *op) { return op->priority ? op->priority(op) : emu_op_priority(op); }

static int add_priority(CUstream s, void *runnable)
{
	struct emu_runnable *r = runnable;
	if (!stream_ready(s))
		return 0;
	uint64_t p = s->head->own ? 0 : emu_sched_seed() ? priority(s->head) : 1;
	if (p > r->priority)
		r->priority = p;
	r->own |= s->head->own;
	return 0;
}

/* What emu_sched_runnable wants to know. */
static struct emu_runnable runnable(void)
{
	struct emu_runnable r = {.priority = 0};
	each_stream(add_priority, &r);
	return r;
}

struct ready { CUstream stream[READY_MAX]; uint32_t count; int own; };

static int collect_ready(CUstream s, void *list)
{
	struct ready *r = list;
	if (stream_ready(s) && s->head->own == r->own)
		r->stream[r->count++] = s;
	return r->count == READY_MAX;
}

static CUstream choose(const struct ready *r, struct emu_turn *turn)
{
	CUstream best = r->stream[0];
	if (turn->own)
		return best;
	if (turn->schedule != EMU_PCT)
		return r->stream[random_next(&turn->random) % r->count];
	for (uint32_t i = 1; i < r->count; i++)
		if (priority(r->stream[i]->head) > priority(best->head))
			best = r->stream[i];
	return best;
}

static void run_turn(struct emu_turn *turn)
{
	struct ready ready = {.count = 0, .own = turn->own};
	each_stream(collect_ready, &ready);
	if (!ready.count)
		return;
	CUstream s = choose(&ready, turn);
	struct emu_op *op = s->head;
	s->busy = 1;
	emu_op_begin(op);
	turn->made = !turn->own;
	int finished = op->run(op, turn);
	s->busy = 0;
	op->own = 0; /* it may wait for what others do */
	if (!finished && !op->priority)
		op->demoted = turn->start + turn->made;
	if (finished) {
		emu_op_end(op);
		drop_head(s);
	}
	settle();
}

/* Ends the waits that are over, lists their threads, returns how many. */
static size_t end_waits(int32_t tids[RELEASED_MAX])
{
	size_t n = 0;
	for (struct wait **at = &waits; *at;) {
		struct wait *w = *at;
		if (n < RELEASED_MAX && w->done(w->subject)) {
			*at = w->next;
			w->over = 1;
			tids[n++] = w->tid;
		} else {
			at = &w->next;
		}
	}
	if (n)
		pthread_cond_broadcast(&emu.work_done);
	return n;
}

static void *work(void *unused)
{
	(void)unused;
	struct emu_turn turn;
	emu_thread_set_worker();
	emu_sched_worker(gettid());
	while (!emu_sched_turn(&turn)) {
		int32_t tids[RELEASED_MAX];
		pthread_mutex_lock(&emu.lock);
		run_turn(&turn);
		size_t released = end_waits(tids);
		published = runnable();
		emu_trace_flush();
		emu_sched_finish(&turn, tids, released, published);
		pthread_mutex_unlock(&emu.lock);
	}
	return NULL;
}

/* A kernel that waits for another rank must go on while its own host waits for that rank's message outside the driver:
 * so turns need a thread of ours. It takes no signals but those of its own faults. */
static int start_worker(void)
{
	sigset_t all, before;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&worker, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		log_error("emulated device: cannot start its thread: %s", strerror(rc));
	else
		worker_started = 1;
	return rc;
}

void emu_op_push(CUstream stream, struct emu_op *op)
{
	op->stream = stream;
	op->seq = ++sequence;
	op->own &= emu_sched_schedule() != EMU_RANDOM; /* there all code is interrupted alike, whoever inserted it */
	if (op->devices) {
		op->next_barrier = barriers;
		barriers = op;
	}
	*stream->tail = op;
	stream->tail = &op->next;
	stream->queued += (uint32_t)op->counts;
	settle();
	const struct emu_runnable ready = runnable();
	if ((ready.priority || ready.own) && !worker_started)
		start_worker();
	if (ready.priority != published.priority || ready.own != published.own) {
		published = ready;
		emu_sched_runnable(ready);
	}
}

void emu_queue_stop(void)
{
	emu_sched_stop();
	if (worker_started && !emu_thread_is_worker())
		pthread_join(worker, NULL);
	pthread_cond_broadcast(&emu.work_done);
}

/* ---- waiting */

CUresult emu_wait(int (*done)(const void *subject), const void *subject)
{
	if (done(subject))
		return CUDA_SUCCESS;
	if (emu_thread_is_worker())
		return CUDA_ERROR_NOT_PERMITTED; /* a host function must not wait for the device */
	struct wait w = {.next = waits, .done = done, .subject = subject, .tid = gettid()};
	waits = &w;
	emu_sched_block(w.tid);
	while (!w.over && !emu.leaving)
		pthread_cond_wait(&emu.work_done, &emu.lock);
	return w.over ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
}

/* Of what tells the host that its work is complete. */
static CUresult wait_to_learn(int (*done)(const void *subject), const void *subject)
{
	if (!done(subject))
		return emu_wait(done, subject);
	emu_learn();
	return CUDA_SUCCESS;
}

static int has_room(const void *stream) { return ((const struct CUstream_st *)stream)->queued < QUEUE_MOST; }

CUresult emu_wait_room(CUstream stream)
{
	CUresult result = emu_wait(has_room, stream);
	return result ? result : stream->context->error;
}

struct stream_point { CUstream stream; uint64_t seq; };

static int stream_point_passed(const void *subject)
{
	const struct stream_point *p = subject;
	const struct CUstream_st *s = p->stream;
	if (s->head && s->head->seq <= p->seq)
		return 0;
	return s != &s->context->legacy || blocking_streams_passed(s->context, p->seq + 1);
}

CUresult emu_wait_stream(CUstream stream)
{
	struct stream_point point = {stream, sequence};
	CUresult result = emu_skipped_flags(stream->flags) ? emu_wait(stream_point_passed, &point) : wait_to_learn(stream_point_passed, &point);
	if (!result)
		emu_trace_told_stream(stream);
	return result ? result : stream->context->error;
}

static int context_idle(const void *subject)
{
	const CUcontext *context = subject;
	return emu_context_idle(*context);
}

CUresult emu_wait_context(CUcontext context)
{
	CUresult result = wait_to_learn(context_idle, &context);
	if (!result)
		emu_trace_told_context(context);
	return result ? result : context->error;
}

void emu_poll(void)
{
	int32_t tid = gettid();
	if (emu_thread_is_worker())
		return;
	pthread_mutex_unlock(&emu.lock);
	emu_sched_poll(tid);
	pthread_mutex_lock(&emu.lock);
}

void emu_learn(void)
{
	int32_t tid = gettid();
	if (emu_thread_is_worker() || !emu_sched_shared())
		return;
	pthread_mutex_unlock(&emu.lock);
	emu_sched_learn(tid);
	pthread_mutex_lock(&emu.lock);
}
