/* One flow per participant of this process, made when its first hook needs it; handles to slots; numbering. */
#include "driver/late.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "config/settings.h"
#include "cuda/real.h"
#include "ipc/ipc.h"
#include "ipc/proto.h"
#include "vmm/vmm.h"

static struct flow *flows[GSAN_PARTICIPANTS]; /* published with release; never freed: kernels refer to them */
static pthread_mutex_t flow_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int flow_captured; /* a capture began once */
static struct map captures = MAP_INIT; /* streams that captures began on, and of which no end was seen */
static _Atomic int captures_known;
static _Atomic int graph_waits; /* flow_graph_waits() */

/* What no launch of the slot changes. */
static void flow_queue_init(struct flow *f, uint32_t slot)
{
	struct participant *p = f->participant;
	struct flow_queue *q = &f->queue[slot];

	pthread_mutex_init(&q->lock, NULL);
	q->record[0] = (struct gsan_launch){.abi = GSAN_ABI, .participant = (uint8_t)f->clock.participant, .stream = (uint8_t)slot,
			.tag_bits = (uint8_t)f->clock.tags.bits, .rank_bits = (uint8_t)p->job->rank_bits, .gpu = (uint8_t)f->rank->gpu,
			.seed = setting_number(SETTING_SAMPLE_SEED, p->job->seed),
			.first_epoch = (uint16_t)setting_number(SETTING_TEST_FIRST_EPOCH, 1),
			.lifted = (uint16_t)setting_number(SETTING_TEST_LIFT, 0), .view_table = vmm_view_table(p), .ring = vmm_ring(p)};
}

static struct flow *flow_create(struct participant *p)
{
	struct flow *f = aligned_alloc(_Alignof(struct flow), sizeof(*f));

	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	if (clock_init(&f->clock, p->job, (uint32_t)p->index, gsan_participant_bits(p->job->rank_bits, (uint32_t)p->index))) {
		free(f);
		return NULL;
	}
	clock_start_at(&f->clock, setting_number(SETTING_TEST_FIRST_LAUNCH, 1));
	f->warps = (int)setting_number(SETTING_WARPS, 1);
	f->participant = p;
	f->rank = &p->job->rank[p->index];
	for (uint32_t s = 0; s < GSAN_STREAMS; s++)
		flow_queue_init(f, s);
	pthread_mutex_init(&f->renew, NULL);
	pthread_mutex_init(&f->stream.lock, NULL);
	pthread_mutex_init(&f->holder.lock, NULL);
	pthread_mutex_init(&f->branch.lock, NULL);
	pthread_mutex_init(&f->function.lock, NULL);
	f->stream.peeked = f->function.peeked = 1;
	pthread_mutex_init(&f->callers.lock, NULL);
	pthread_mutex_init(&f->variables.lock, NULL);
	pthread_mutex_init(&f->noted.lock, NULL);
	return f;
}

/* Those of the other GPUs of the process. */
static void flow_meet(struct flow *f)
{
	for (unsigned i = 0; i < GSAN_PARTICIPANTS; i++)
		if (flows[i])
			clock_meet(&f->clock, (uint32_t)f->participant->place, &flows[i]->clock, (uint32_t)flows[i]->participant->place);
}

static struct map acquired = MAP_INIT; /* words: under flow_lock */

static void flow_release_in(struct flow *f, void *word) { clock_release(&f->clock, *(const uint64_t *)word); }
static void flow_acquire_in(struct flow *f, void *word) { clock_acquire(&f->clock, *(const uint64_t *)word); }

static int flow_take_word(uint64_t word, void *value, void *f)
{
	(void)value;
	flow_acquire_in(f, &word);
	return 0;
}

static struct flow *flow_of(struct participant *p)
{
	if (!p)
		return NULL;
	struct flow *f = __atomic_load_n(&flows[p->index], __ATOMIC_ACQUIRE);
	if (f)
		return f;
	pthread_mutex_lock(&flow_lock);
	f = flows[p->index];
	if (!f) {
		f = flow_create(p);
		if (f) {
			flow_meet(f);
			map_sweep(&acquired, flow_take_word, f);
			late_start(f);
		}
		__atomic_store_n(&flows[p->index], f, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&flow_lock);
	return f;
}

struct flow *flow_current(void) { return flow_of(participant_current()); }
struct flow *flow_launching(void) { return flow_of(participant_launching()); }

struct flow *flow_on(CUdevice device) { return flow_of(participant_on(device)); }
struct flow *flow_at(uint64_t at) { return flow_of(participant_of(at)); }

struct flow *flow_elsewhere(void)
{
	return participant_current() /* with a stream of another one */ || participant_elsewhere() ? flow_here() : NULL;
}

struct flow *flow_here(void)
{
	return flow_of(participant_at_place(0));
}

struct flow *flow_of_context(CUcontext context)
{
	CUcontext gone;

	if (!context || real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
		return flow_current();
	struct flow *f = flow_current();
	real.cuCtxPopCurrent_v2(&gone);
	return f;
}

/* ---- streams ------------------------------------------------------------------------------------------------- */

static void flow_threads_begin(void);
static __thread uint64_t thread_stream __attribute__((tls_model("initial-exec"))); /* 0: unused; a fork's child is not checked */
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

uint64_t flow_stream_key(CUstream stream)
{
	if (stream != CU_STREAM_PER_THREAD) /* handles are pointers: no thread's key is one */
		return (uintptr_t)stream;
	if (!thread_stream) {
		thread_stream = 1ull << 63 | (uint64_t)syscall(SYS_gettid);
		pthread_once(&thread_once, flow_threads_begin);
		pthread_setspecific(thread_key, &thread_stream); /* if that fails, its slot stays taken */
	}
	return thread_stream;
}

/* Two threads may see a stream first at once. */
static uintptr_t flow_slot_open(struct flow *f, CUstream stream, uint64_t key)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	CUcontext context = NULL;
	unsigned flags = 0;

	if (stream != CU_STREAM_PER_THREAD && real.cuStreamGetFlags)
		real.cuStreamGetFlags(stream, &flags); /* on failure: blocking, which orders more */
	if (stream != CU_STREAM_PER_THREAD && real.cuStreamGetCtx)
		real.cuStreamGetCtx(stream, &context);
	int own = flow_of_context(context) == f;
	if (!own && !context) /* perhaps another time */
		return FLOW_ELSEWHERE + 1;
	pthread_mutex_lock(&lock);
	uintptr_t slot = (uintptr_t)map_get(&f->stream, key);
	if (!slot) {
		slot = (own ? clock_slot_open(&f->clock, !(flags & CU_STREAM_NON_BLOCKING)) : FLOW_ELSEWHERE) + 1;
		if (context)
			map_put(&f->holder, key, context);
		map_put(&f->stream, key, (void *)slot);
	}
	pthread_mutex_unlock(&lock);
	if (slot - 1 == CLOCK_SHARED)
		flow_note(f, "order", "streams", "more streams than slots: the rest count as one stream");
	return slot;
}

uint32_t flow_slot(struct flow *f, CUstream stream)
{
	if (!stream || stream == CU_STREAM_LEGACY)
		return CLOCK_LEGACY;
	uint64_t key = flow_stream_key(stream);
	uintptr_t slot = (uintptr_t)map_peek(&f->stream, key);
	if (!slot)
		slot = (uintptr_t)map_get(&f->stream, key);
	if (!slot)
		slot = flow_slot_open(f, stream, key);
	return (uint32_t)slot - 1;
}

/* What a report calls a stream it is not. */
static void flow_branch_open(struct flow *f, uint8_t *slot)
{
	*slot = (uint8_t)clock_slot_open(&f->clock, 0);
	atomic_fetch_or_explicit(&f->rank->branches, 1ull << *slot, memory_order_relaxed);
}

uint32_t flow_branch(struct flow *f, uint32_t slot, uint32_t chain)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const uint64_t key = (uint64_t)slot << 32 | chain;

	pthread_mutex_lock(&lock);
	uintptr_t branch = (uintptr_t)map_get(&f->branch, key);
	if (!branch) {
		uint8_t *again = &f->branch_slot[f->branches % FLOW_BRANCHES];
		if (f->branches++ < FLOW_BRANCHES)
			flow_branch_open(f, again);
		else
			flow_note(f, "order", "graphs", "more parallel chains than slots: some count as one");
		branch = *again + 1u;
		map_put(&f->branch, key, (void *)branch);
	}
	pthread_mutex_unlock(&lock);
	return (uint32_t)branch - 1;
}

/* The default streams are the current context's; of any other, flow_slot() knows whether it is of that GPU. */
struct flow *flow_of_stream(CUstream stream, uint32_t *slot)
{
	struct flow *f = flow_current();
	int named = stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;

	for (int place = 0; f || named; f = flow_of(participant_at_place(place++))) {
		*slot = f ? flow_slot(f, stream) : FLOW_ELSEWHERE;
		if (*slot < GSAN_STREAMS)
			return f;
		if (!named || !participant_at_place(place))
			break;
	}
	return NULL;
}

static void flow_forget_slot(struct flow *f, uint64_t stream)
{
	uintptr_t slot = (uintptr_t)map_remove(&f->stream, stream);

	if (slot && slot - 1 < GSAN_STREAMS)
		clock_slot_close(&f->clock, (uint32_t)slot - 1);
}

static void flow_forget_in(struct flow *f, void *stream)
{
	map_remove(&f->holder, (uintptr_t)stream);
	flow_forget_slot(f, (uintptr_t)stream);
}

/* The thread's default stream ends with it. What else is called while it ends may use it again, and this is called again then. */
static void flow_thread_ended(void *stream)
{
	uint64_t key = thread_stream;

	(void)stream;
	flow_capture_ends(CU_STREAM_PER_THREAD);
	flow_each(flow_forget_in, (void *)(uintptr_t)key);
	thread_stream = 0;
}

static void flow_threads_begin(void)
{
	pthread_key_create(&thread_key, flow_thread_ended);
}

void flow_forget(CUstream stream)
{
	if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return;
	flow_capture_ends(stream);
	flow_each(flow_forget_in, stream);
}

struct flow_ended { struct flow *flow; const void *context; };

static int flow_end(uint64_t stream, void *context, void *ended_)
{
	const struct flow_ended *ended = ended_;

	if (context != ended->context)
		return 0;
	flow_capture_ends((CUstream)(uintptr_t)stream);
	flow_forget_slot(ended->flow, stream);
	return 1;
}

static void flow_forget_context_in(struct flow *f, void *context)
{
	struct flow_ended ended = {.flow = f, .context = context};

	map_sweep(&f->holder, flow_end, &ended);
	flow_forget_marks(f);
}

void flow_forget_context(CUcontext context)
{
	if (context)
		flow_each(flow_forget_context_in, context);
}

struct flow_others { struct flow *flow; const void *context; uint64_t slots; };

static int flow_other(uint64_t stream, void *context, void *others_)
{
	struct flow_others *others = others_;
	uintptr_t slot = (uintptr_t)map_get(&others->flow->stream, stream);

	if (context != others->context && slot && slot - 1 < CLOCK_SHARED)
		others->slots |= 1ull << (slot - 1);
	return 0;
}

void flow_mark_context(struct flow *f, CUcontext context, struct clock_vec *mark)
{
	struct flow_others others = {.flow = f, .context = context};

	map_sweep(&f->holder, flow_other, &others);
	clock_mark_but(&f->clock, others.slots, mark);
}

/* Before: whoever launches meanwhile must know. */
void flow_capture_begins(CUstream stream)
{
	uint64_t key = flow_stream_key(stream);

	atomic_store_explicit(&flow_captured, 1, memory_order_relaxed);
	if (!map_get(&captures, key) && !map_put(&captures, key, &captures))
		atomic_fetch_add_explicit(&captures_known, 1, memory_order_seq_cst);
}

void flow_capture_ends(CUstream stream)
{
	if (map_remove(&captures, flow_stream_key(stream)))
		atomic_fetch_sub_explicit(&captures_known, 1, memory_order_relaxed);
}

int flow_captures(void)
{
	return atomic_load_explicit(&captures_known, memory_order_seq_cst) > 0;
}

int flow_relax(CUstreamCaptureMode *mode)
{
	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	return real.cuThreadExchangeStreamCaptureMode && real.cuThreadExchangeStreamCaptureMode(mode) == CUDA_SUCCESS;
}

void flow_unrelax(CUstreamCaptureMode mode, int relaxed)
{
	if (relaxed)
		real.cuThreadExchangeStreamCaptureMode(&mode);
}

int flow_capturing(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!atomic_load_explicit(&flow_captured, memory_order_relaxed) || !real.cuStreamIsCapturing)
		return 0;
	/* The legacy stream cannot be captured; asking about it while another stream is answers with an error. */
	if (!stream || stream == CU_STREAM_LEGACY)
		return 0;
	return real.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* Tags come round: whatever records they left must be gone first (src/clock/tags.c). No enqueue lock is held. */
void flow_renew(struct flow *f, uint32_t half)
{
	struct clock_sweep sweep;
	struct clock_vec over = {0};

	late_over(f, LATE_LOOKS); /* checks of copies keep tags; of those that are left, more may be over at the next time */
	pthread_mutex_lock(&f->renew);
	if (f->clock.tags.renewed < half) {
		flow_passed(f, &over);
		clock_renewing(&f->clock, &over, &sweep);
		late_lowers(f, &sweep);
		if (vmm_renew(f->participant))
			__atomic_store_n(&f->unclean, 1, __ATOMIC_RELAXED);
		else
			atomic_fetch_add_explicit(&f->rank->counter[GSAN_N_RENEWED], 1, memory_order_relaxed);
		clock_renewed(&f->clock, half, &sweep);
	}
	pthread_mutex_unlock(&f->renew);
}

void flow_enter(struct flow *f, uint32_t slot)
{
	pthread_mutex_lock(&f->queue[slot].lock);
}

static int flow_unclean(const struct flow *f) { return __atomic_load_n(&f->unclean, __ATOMIC_RELAXED); }

int flow_number_in(struct flow *f, uint32_t slot, enum clock_use use, uint32_t *seq, uint32_t *half)
{
	struct gsan_order *order = use == CLOCK_CHECKED ? &f->queue[slot].record->order : NULL;

	if (order && flow_unclean(f))
		return -EBUSY;
	int noted = flow_moment(f, 0); /* until here it was not launched, ... */
	int rc = clock_launch(&f->clock, slot, use, seq, order, half);
	if (!rc && noted)
		flow_moment(f, 1); /* ... and now it is */
	return rc;
}

int flow_number_block(struct flow *f, const struct clock_block *b, uint32_t *seq, uint32_t *half)
{
	if (flow_unclean(f))
		return -EBUSY;
	int noted = flow_moment(f, 0);
	int rc = clock_launch_block(&f->clock, b, seq, &f->queue[b->chain[0].slot].record->order, half);
	if (!rc && noted)
		flow_moment(f, 1);
	return rc;
}

int flow_number(struct flow *f, uint32_t slot, enum clock_use use, uint32_t *seq)
{
	uint32_t half;

	late_hear();
	for (;;) {
		flow_enter(f, slot);
		int rc = flow_number_in(f, slot, use, seq, &half);
		if (!rc)
			return 0;
		flow_enqueued(f, slot);
		if (rc != -EAGAIN)
			return rc;
		flow_renew(f, half);
	}
}

/* Where copies of any participant touch memory that are not checked yet, if only they are known by now: later ones come behind this launch, or beside it. */
static uint64_t flow_held(const struct job *job)
{
	uint32_t participants = job->participants;
	uint64_t held = 0;

	for (uint32_t q = 0; q < participants && q < GSAN_PARTICIPANTS; q++)
		held = gsan_held_both(held, atomic_load_explicit(&job->rank[q].held, memory_order_relaxed));
	return held;
}

struct gsan_launch *flow_record(struct flow *f, uint32_t slot, uint32_t seq, uint32_t kernel)
{
	struct participant *p = f->participant;
	struct gsan_launch *r = f->queue[slot].record;

	r->seq = seq;
	r->tag = (uint16_t)(gsan_tag_head(r->rank_bits, f->clock.participant) << r->tag_bits | (seq & ((1u << r->tag_bits) - 1)));
	r->kernel = kernel;
	r->mapped = vmm_mapped(p);
	r->held = flow_held(p->job);
	r->quick = gsan_quick(r);
	r->swept = clock_swept(&f->clock);
	r->ring = vmm_ring(p);
	return r;
}

int flow_refusal(CUresult rc)
{
	static const CUresult refusals[] = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED,
			CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_HANDLE,
			CUDA_ERROR_INVALID_SOURCE, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NOT_FOUND,
			CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
			CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_NOT_PERMITTED,
			CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
			CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD};

	for (unsigned i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (rc == refusals[i])
			return 1;
	return 0;
}

void flow_refused(struct flow *f, uint32_t slot, uint32_t seq)
{
	flow_writes_take_back(f, slot, seq);
	flow_copies_out_take_back(f, slot, seq);
	clock_refused(&f->clock, slot, seq);
}

void flow_refused_late(struct flow *f, uint32_t slot, uint32_t seq)
{
	pthread_mutex_lock(&f->queue[slot].lock);
	flow_refused(f, slot, seq);
	flow_enqueued(f, slot);
}

void flow_enqueued(struct flow *f, uint32_t slot)
{
	pthread_mutex_unlock(&f->queue[slot].lock);
}

void flow_wait_unknown(struct flow *f, uint32_t slot)
{
	uint32_t seq;

	flow_number(f, slot, CLOCK_PLAIN, &seq);
	clock_wait_unknown(&f->clock, slot, seq);
	flow_enqueued(f, slot);
}

void flow_wait_everywhere(struct flow *f)
{
	uint32_t slots = clock_slots(&f->clock);

	for (uint32_t slot = 0; slot < slots; slot++)
		flow_wait_unknown(f, slot);
	clock_host_unknown(&f->clock);
}

CUresult flow_awaits(CUstream stream, const char *name, const char *reason, CUresult rc)
{
	uint32_t slot;

	if (rc != CUDA_SUCCESS)
		return rc;
	if (flow_capturing(stream)) {
		flow_graph_waits();
		return rc;
	}
	struct flow *f = flow_of_stream(stream, &slot);
	if (f) {
		flow_wait_unknown(f, slot);
		flow_note(f, "order", name, reason);
	} else {
		flow_elsewhere_waits();
	}
	return rc;
}

void flow_host_join(struct flow *f, const struct clock_vec *mark)
{
	clock_host_join(&f->clock, mark);
	for (uint32_t left = mark->beside; left; left &= left - 1) {
		int place = __builtin_ctz(left);
		struct flow *other = flow_of(participant_at_place(place));
		struct clock_vec theirs = {0};
		memcpy(theirs.seen, mark->sight[place].seen, sizeof(theirs.seen));
		clock_host_join(&other->clock, &theirs);
		flow_events_end(other);
	}
}

static void flow_host_unknown_in(struct flow *f, void *unused)
{
	(void)unused;
	clock_host_unknown(&f->clock);
}

void flow_host_unknown(void) { flow_each(flow_host_unknown_in, NULL); }

void flow_follows(struct flow *f, uint32_t slot, struct flow *other, const struct clock_vec *event)
{
	if (f == other)
		clock_wait(&f->clock, slot, event);
	else if (clock_wait_beside(&f->clock, slot, &other->clock, event))
		flow_wait_unknown(f, slot);
}

void flow_joins(struct flow *f, struct flow *other)
{
	struct clock_vec event;

	clock_record(&other->clock, CLOCK_LEGACY, &event);
	flow_follows(f, CLOCK_LEGACY, other, &event);
}

void flow_graph_waits(void)
{
	struct flow *f = flow_here();

	atomic_store_explicit(&graph_waits, 1, memory_order_relaxed);
	if (f) /* it may write values, too */
		__atomic_store_n(&f->participant->job->writers.lost, 1, __ATOMIC_RELAXED);
}

int flow_graphs_wait(void)
{
	return atomic_load_explicit(&graph_waits, memory_order_relaxed);
}

/* A memfd with what has no room in a message, or -1. */
static int flow_note_memory(const char *key, const char *name, const char *reason)
{
	int fd = memfd_create("gsan-note", MFD_CLOEXEC);

	if (fd >= 0 && dprintf(fd, "%s\t%s\t%s", key, name, reason) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void flow_note(struct flow *f, const char *key, const char *name, const char *reason)
{
	struct ipc_msg msg = {.type = IPC_NOTE};
	uint64_t hash = HASH_START; /* two texts with one hash: one is not said */
	size_t size = strlen(key) + strlen(name) + strlen(reason) + 3;

	hash = hash_bytes(hash, key, strlen(key) + 1);
	hash = hash_bytes(hash, name, strlen(name) + 1);
	hash = hash_bytes(hash, reason, strlen(reason));
	if (map_get(&f->noted, hash) || map_put(&f->noted, hash, f))
		return;
	log_info("%s: %s: %s", key, name, reason);
	int fd = size > sizeof(msg.text) ? flow_note_memory(key, name, reason) : -1;
	ipc_text(&msg, "%s\t%s\t%s", key, name, reason);
	msg.participant = f->participant->index;
	ipc_call(f->participant->socket, &msg, fd, NULL);
	if (fd >= 0)
		close(fd);
}

void flow_each(void (*call)(struct flow *f, void *context), void *context)
{
	for (unsigned i = 0; i < GSAN_PARTICIPANTS; i++) {
		struct flow *f = __atomic_load_n(&flows[i], __ATOMIC_ACQUIRE);
		if (f)
			call(f, context);
	}
}

void flow_release(uint64_t word) { flow_each(flow_release_in, &word); }

void flow_acquire(uint64_t word)
{
	pthread_mutex_lock(&flow_lock);
	map_put(&acquired, word, &acquired);
	flow_each(flow_acquire_in, &word);
	pthread_mutex_unlock(&flow_lock);
}
