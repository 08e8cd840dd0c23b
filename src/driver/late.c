#include "driver/late.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/settings.h"
#include "cuda/own.h"
#include "cuda/real.h"
#include "device/abi.h"
#include "device/runtime.h"
#include "driver/compile.h"
#include "driver/records.h"
#include "driver/room.h"
#include "driver/values.h"
#include "vmm/vmm.h"

#define LATE_CTAS 256u
#define LATE_RUNNING 256u /* kernels of ours that the driver holds at once: far below what makes a launch wait */
#define LATE_MOST 2048u    /* copies under way, with tags and memory of ours: who brings more waits, if any of them moves in LATE_LOOKS; else twice as many may be */
#define LATE_HEARS 16u     /* looks: our event passes some microseconds behind a copy */

struct late {
	struct late *next, **at; /* at: where the list leads to it, until it is started */
	struct flow *flow;
	uint32_t slot, seq;
	uint64_t number; /* once it is started: vmm_checks */
	int enqueued;  /* the driver has answered */
	CUevent event; /* NULL: it is over */
	CUstream stream;   /* and the event's */
	CUcontext context;
	int alone;     /* clock_alone() */
	int untold;    /* counts as unchecked, or not at all */
	struct gsan_look *look[2]; /* what GPUs know of the words that it reads and writes until it was checked; or NULL */
	uint32_t unlooked[2];      /* of how many such they do not */
	struct clock_vec *heard;   /* what a host that polls what it writes has seen the end of; NULL: no host does, or it is known to know */
	unsigned hears;            /* looks that are left until who launches something waits for it no longer */
	struct gsan_launch record;
	size_t count;
	struct gsan_boxes boxes[];
};

static _Atomic uint32_t late_telling; /* copies of all GPUs that are not over as far as is known, and that hosts may poll */

/* ---- the kernel ------------------------------------------------------------------------------------------------ */

static CUresult late_launch(struct late_kernel *k, unsigned ctas, struct gsan_boxes *boxes, struct gsan_launch *record)
{
	void *params[] = {boxes, record};

	return real.cuLaunchKernel(k->function, ctas, 1, 1, DEVICE_RANGE_THREADS, 1, 1, 0, k->stream, params, NULL);
}

/* In the current context, once. */
static int late_kernel(struct late_kernel *k)
{
	struct gsan_boxes nothing = {.written.rows = 0};
	struct gsan_launch record = {.abi = 0};
	CUmodule module;
	char *made = compile_ptx("the kernel that checks copies", device_range_ptx);
	CUresult rc = real.cuModuleLoadData(&module, made ? made : device_range_ptx);

	free(made);
	if (rc != CUDA_SUCCESS || real.cuModuleGetFunction(&k->function, module, GSAN_RANGE_KERNEL) != CUDA_SUCCESS)
		return -1;
	/* Of another priority than the program's mostly are: those share no queue of the GPU, in which one waits for what comes before it. */
	if (own_stream(&k->stream, -1) != CUDA_SUCCESS)
		return -1;
	for (unsigned i = 0; i < LATE_RANS; i++)
		if (own_event(&k->ran[i].event) != CUDA_SUCCESS)
			return -1;
	if (late_launch(k, 1, &nothing, &record) != CUDA_SUCCESS)
		return -1;
	if (real.cuModuleGetFunction(&k->nodes, module, GSAN_NODES_KERNEL) != CUDA_SUCCESS || records_warm(k->nodes, k->stream) != CUDA_SUCCESS)
		k->nodes = NULL;
	return 0;
}

static void late_load(struct flow *f)
{
	CUstreamCaptureMode mode;
	int relaxed = flow_relax(&mode);

	room_make(f, ROOM_BYTES);
	real.cuCtxGetCurrent(&f->late.context);
	__atomic_store_n(&f->participant->job->writers.looks[f->clock.participant], 0, __ATOMIC_RELAXED); /* another's, that is gone */
	values_start(f);
	f->late.reason = "copies are not to be checked";
	if (setting_number(SETTING_COPIES, 1))
		f->late.reason = late_kernel(&f->late) ? "the kernel that checks copies could not be loaded" : NULL;
	flow_unrelax(mode, relaxed);
}

static void late_look(struct vmm_checks *checks, int wait);
static const char late_gone[] = "the context ended in which the kernel was that checks copies";

void late_start(struct flow *f)
{
	pthread_mutex_init(&f->late.lock, NULL);
	f->late.last = &f->late.first;
	f->late.most = LATE_MOST;
	late_load(f);
	vmm_look = late_look;
}

void late_resume(struct flow *f)
{
	CUcontext gone;

	if (!f || f->late.reason != late_gone)
		return;
	pthread_mutex_lock(&f->late.lock);
	if (f->late.reason == late_gone && !participant_push(f->participant)) {
		late_load(f);
		real.cuCtxPopCurrent_v2(&gone);
	}
	pthread_mutex_unlock(&f->late.lock);
}

const char *late_refuses(struct flow *f) { return f->late.reason; }

/* ---- one copy -------------------------------------------------------------------------------------------------- */

/* Of several boxes there is no place for each. Who waits for a value comes behind everything where that is not told. */
static void late_tell_box(struct late *l, const struct copy *c, const struct gsan_box *box, int written)
{
	struct gsan_look word = {.value = c->value, .bytes = (uint32_t)box->width, .condition = written ? GSAN_WORD_WRITTEN : c->condition, .record = l->record};

	word.at = gsan_box_is_word(box) ? vmm_value(l->flow->participant, box->at, 0) : 0;
	if (!word.at)
		return;
	if (!c->mores)
		l->look[written] = values_look(l->flow, &word);
	if (!l->look[written] && word.condition >= GSAN_WAIT_NOTHING) {
		l->unlooked[written]++;
		values_unlooked(l->flow, written, 1);
	}
}

/* Before it is enqueued. */
static void late_tell(struct late *l, const struct copy *c)
{
	for (size_t i = 0; i < l->count; i++) {
		late_tell_box(l, c, &l->boxes[i].read, 0);
		if (!c->valued)
			late_tell_box(l, c, &l->boxes[i].written, 1);
	}
}

/* A word that it writes where hosts read one may poll, until it is there. (What is longer comes in pieces: who polls one has no right to the others.) */
static void late_tell_host(struct late *l, const struct copy *c)
{
	for (size_t i = 0; i < l->count && !c->valued && !l->heard; i++)
		if (gsan_box_is_word(&l->boxes[i].written) && vmm_checked(l->boxes[i].written.at) == VMM_HOSTS)
			l->heard = malloc(sizeof(*l->heard));
	if (!l->heard)
		return;
	clock_mark(&l->flow->clock, l->slot, l->heard);
	l->hears = LATE_HEARS;
	atomic_fetch_add_explicit(&late_telling, 1, memory_order_relaxed);
}

static void late_unhear(struct late *l)
{
	if (l->heard)
		atomic_fetch_sub_explicit(&late_telling, 1, memory_order_release); /* behind flow_host_join(); partner: late_tells() */
	free(l->heard);
	l->heard = NULL;
}

/* A host may have seen that it is over: whatever is launched from now on may be behind it. */
static void late_heard(struct late *l)
{
	if (l->heard)
		flow_host_join(l->flow, l->heard);
	late_unhear(l);
}

static void late_untell(struct late *l)
{
	for (int written = 0; written < 2; written++) {
		if (l->look[written])
			values_looked(l->flow, l->look[written]);
		if (l->unlooked[written])
			values_unlooked(l->flow, written, -l->unlooked[written]);
	}
}

/* From its first byte to its last; as copies touch a word nothing is kept aside for them. What lies outside the arena may be anywhere in it. */
static uint64_t late_box_held(const struct gsan_box *b)
{
	uint64_t row = b->rows - 1, last;

	if (!b->rows || !b->width || gsan_box_is_word(b))
		return 0;
	last = b->at + (b->height ? row / b->height * b->slice + row % b->height * b->pitch : 0) + b->width - 1;
	if (b->at >> GSAN_DATA_SHIFT != GSAN_DATA_TOP || last >> GSAN_DATA_SHIFT != GSAN_DATA_TOP)
		return gsan_held(GSAN_DATA_BASE, GSAN_VIEW_BASE - 1);
	return gsan_held(b->at, last);
}

/* Launches are told from now on, until nothing is under way any more: with the lock held. */
static void late_holds(const struct late *l)
{
	struct job *job = l->flow->participant->job;
	uint64_t held = atomic_load_explicit(&l->flow->rank->held, memory_order_relaxed), had = held;

	for (size_t i = 0; i < l->count; i++)
		held = gsan_held_both(held, gsan_held_both(late_box_held(&l->boxes[i].written), late_box_held(&l->boxes[i].read)));
	if (held == had)
		return;
	atomic_store_explicit(&job->held, 1, memory_order_release);
	atomic_store_explicit(&l->flow->rank->held, held, memory_order_release);
}

struct late *late_new(struct flow *f, const struct copy *c, uint32_t kernel)
{
	struct late *l = malloc(sizeof(*l) + (1 + c->mores) * sizeof(*l->boxes));

	if (!l)
		return NULL;
	*l = (struct late){.flow = f, .slot = c->slot, .seq = c->seq, .alone = clock_alone(&f->clock, c->slot), .untold = c->untold || c->frees,
			.count = 1 + c->mores};
	l->record = *flow_record(f, c->slot, c->seq, kernel);
	l->record.warp_bits = 0;
	l->record.writers = vmm_writers(f->participant);
	l->boxes[0] = c->boxes;
	if (c->mores)
		memcpy(l->boxes + 1, c->more, c->mores * sizeof(*l->boxes));
	late_tell(l, c);
	late_tell_host(l, c);
	pthread_mutex_lock(&f->late.lock); /* from now on its tag is taken, whatever renews tags meanwhile */
	l->at = f->late.last;
	*l->at = l;
	f->late.last = &l->next;
	atomic_fetch_add_explicit(&f->late.under_way, 1, memory_order_relaxed);
	late_holds(l);
	pthread_mutex_unlock(&f->late.lock);
	return l;
}

const struct gsan_launch *late_record(const struct late *l) { return &l->record; }
int late_looks(const struct late *l) { return l->look[0] != NULL; }

/* Behind what the stream was given, by which another context than the current one may be named. */
static CUevent late_event(CUstream stream, CUcontext *context)
{
	CUstreamCaptureMode mode;
	CUevent event = NULL;
	CUcontext here = NULL;
	int named = stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD && real.cuStreamGetCtx, relaxed = flow_relax(&mode);

	real.cuCtxGetCurrent(&here);
	if (!named || real.cuStreamGetCtx(stream, context) != CUDA_SUCCESS)
		*context = here;
	int pushed = *context != here && real.cuCtxPushCurrent_v2(*context) == CUDA_SUCCESS;
	int made = own_event(&event) == CUDA_SUCCESS;
	int recorded = made && real.cuEventRecord(event, stream) == CUDA_SUCCESS;
	if (made && !recorded)
		real.cuEventDestroy_v2(event);
	if (pushed)
		real.cuCtxPopCurrent_v2(&here);
	flow_unrelax(mode, relaxed);
	return recorded ? event : NULL;
}

static void late_free(struct late *l)
{
	if (l->event)
		real.cuEventDestroy_v2(l->event);
	late_unhear(l);
	free(l);
}

static void late_end(struct late_kernel *k, struct late *l)
{
	late_untell(l);
	if (atomic_fetch_sub_explicit(&k->under_way, 1, memory_order_relaxed) == 1)
		atomic_store_explicit(&l->flow->rank->held, 0, memory_order_relaxed);
	late_free(l);
	atomic_fetch_add_explicit(&k->ended, 1, memory_order_relaxed);
}

/* Out of those that are not started. */
static void late_take(struct late_kernel *k, struct late *l)
{
	*l->at = l->next;
	if (l->next)
		l->next->at = l->at;
	else
		k->last = l->at;
}

int late_enqueued(struct late *l, CUstream stream, int done, int over)
{
	struct late_kernel *k = &l->flow->late;
	CUcontext context = NULL;
	CUevent event = done && !over ? late_event(stream, &context) : NULL;
	int lost = done && !over && !event;

	pthread_mutex_lock(&k->lock);
	l->stream = stream;
	l->context = context;
	l->enqueued = 1;
	l->event = event;
	if (!done || lost) {
		late_take(k, l);
		late_end(k, l);
	}
	pthread_mutex_unlock(&k->lock);
	return lost ? -EIO : 0;
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

static void late_ran(struct late_kernel *k)
{
	struct late *l = k->running;

	k->running = l->next;
	k->runs -= (uint32_t)l->count;
	late_end(k, l);
}

/* This and the following ones: with the lock held, in the kernel's context. */
static void late_reap(struct late_kernel *k)
{
	for (; k->rans && real.cuEventQuery(k->ran[k->oldest].event) != CUDA_ERROR_NOT_READY; k->rans--) {
		for (int last = 0; !last;) {
			last = k->running == k->ran[k->oldest].last;
			late_ran(k);
		}
		k->oldest = (k->oldest + 1) % LATE_RANS;
	}
}

/* An event behind what was started, if none is under way; or behind enough. */
static void late_mark(struct late_kernel *k)
{
	struct late_ran *r = &k->ran[(k->oldest + k->rans) % LATE_RANS];

	if (!k->bare || k->rans == LATE_RANS || (k->rans && k->bare < LATE_RUNNING / LATE_RANS))
		return;
	if (real.cuEventRecord(r->event, k->stream) != CUDA_SUCCESS) /* the next turn tries again */
		return;
	r->last = k->newest;
	k->rans++;
	k->bare = 0;
}

static unsigned late_ctas(const struct gsan_boxes *b)
{
	uint64_t lines = 0;

	for (const struct gsan_box *box = &b->written; box <= &b->read; box++)
		lines += (box->width / GSAN_LINE + 2) * box->rows;
	lines = (lines + DEVICE_RANGE_THREADS - 1) / DEVICE_RANGE_THREADS;
	return lines < LATE_CTAS ? (unsigned)lines : LATE_CTAS;
}

static _Atomic uint64_t late_begun = 1; /* of all GPUs; the first is nobody's */

static void late_run(struct late_kernel *k, struct late *l, uint32_t mapped)
{
	uint32_t *looks = &l->flow->participant->job->writers.looks[l->flow->clock.participant];
	int failed = 0;

	l->record.mapped = mapped & atomic_load_explicit(&l->flow->participant->mapped, memory_order_relaxed); /* less, if some were given up (drain.c) */
	for (size_t i = 0; i < l->count; i++) {
		unsigned ctas = late_ctas(&l->boxes[i]), warps = ctas * DEVICE_RANGE_THREADS / 32;
		__atomic_fetch_add(looks, warps, __ATOMIC_RELEASE);
		if (late_launch(k, ctas, &l->boxes[i], &l->record) == CUDA_SUCCESS)
			continue;
		__atomic_fetch_sub(looks, warps, __ATOMIC_RELEASE);
		failed = 1;
	}
	if (failed) {
		l->look[0] = l->look[1] = NULL; /* they stay, for those who ask themselves */
		l->unlooked[0] = l->unlooked[1] = 0;
		atomic_fetch_sub_explicit(&l->flow->rank->copies_checked, !l->untold, memory_order_relaxed);
		atomic_fetch_add_explicit(&l->flow->rank->copies_unchecked, !l->untold, memory_order_relaxed);
		flow_note(l->flow, "copy", "(some)", "the driver did not start the kernel that checks them");
	}
	l->number = atomic_fetch_add_explicit(&late_begun, 1, memory_order_relaxed) + 1;
	k->runs += (uint32_t)l->count;
	k->bare += (uint32_t)l->count;
	atomic_fetch_add_explicit(&k->started, 1, memory_order_relaxed);
	l->next = NULL;
	if (k->running)
		k->newest->next = l;
	else
		k->running = l;
	k->newest = l;
}

/* Copies that are not over: of each slot the first, and of those that are several streams' the first of further ones. */
struct late_waits { const struct late *first[GSAN_STREAMS], *more[16]; unsigned mores; };

static int late_follows(const struct late *l, const struct late *before)
{
	return before && before->enqueued && before->stream == l->stream && before->context == l->context;
}

/* It is not over before one of them is. */
static int late_behind(const struct late *l, const struct late_waits *w)
{
	int behind = late_follows(l, w->first[l->slot]);

	for (unsigned i = 0; i < w->mores && !behind; i++)
		behind = late_follows(l, w->more[i]);
	return behind;
}

static void late_waits_for(struct late_waits *w, const struct late *l)
{
	if (!w->first[l->slot])
		w->first[l->slot] = l;
	else if (w->mores < sizeof(w->more) / sizeof(*w->more) && !late_behind(l, w))
		w->more[w->mores++] = l;
}

static int late_is_over(const struct late *l)
{
	return l->enqueued && (!l->event || real.cuEventQuery(l->event) != CUDA_ERROR_NOT_READY);
}

/* 1: there was room for all that may be started. */
static int late_start_all(struct late_kernel *k, uint32_t mapped)
{
	struct late_waits waits = {.mores = 0};
	struct late *l, *next;

	late_reap(k);
	for (l = k->first; l && k->runs < LATE_RUNNING; l = next) {
		next = l->next;
		if (late_behind(l, &waits) || !late_is_over(l)) {
			late_waits_for(&waits, l);
			continue;
		}
		late_take(k, l);
		late_heard(l);
		if (!waits.first[l->slot])
			flow_over(l->flow, l->slot, l->seq);
		if (l->alone && clock_alone_still(&l->flow->clock, l->slot, l->seq))
			late_end(k, l);
		else
			late_run(k, l, mapped);
	}
	late_mark(k);
	return !l;
}

/* Are some of those that hosts may poll waited for yet? */
static int late_listen(struct late_kernel *k, uint32_t unused)
{
	int waits = 0;

	(void)unused;
	for (struct late *l = k->first; l; l = l->next) {
		if (!l->heard)
			continue;
		if (late_is_over(l)) {
			late_heard(l);
		} else if (l->hears) {
			l->hears--;
			waits = 1;
		}
	}
	return waits;
}

/* With the lock held. */
static int late_within(struct late_kernel *k, int (*call)(struct late_kernel *k, uint32_t mapped), uint32_t mapped)
{
	CUstreamCaptureMode mode;
	CUcontext gone;

	if (!k->context || real.cuCtxPushCurrent_v2(k->context) != CUDA_SUCCESS)
		return 0;
	int relaxed = flow_relax(&mode), answer = call(k, mapped);
	flow_unrelax(mode, relaxed);
	real.cuCtxPopCurrent_v2(&gone);
	return answer;
}

/* What its participant may use by now if that is not to be looked up. 1: all that may be started is; `oldest`: of what runs, UINT64_MAX: nothing.
 * NULL: nobody asks. */
static int late_turn(struct flow *f, uint32_t mapped, uint64_t *oldest)
{
	if (pthread_mutex_trylock(&f->late.lock)) /* another thread does */
		return 0;
	int all = late_within(&f->late, late_start_all, mapped);
	if (oldest)
		*oldest = f->late.running ? f->late.running->number : UINT64_MAX;
	pthread_mutex_unlock(&f->late.lock);
	return all;
}

static void late_hear_in(struct flow *f, void *unused)
{
	(void)unused;
	for (int waits = 1; waits && atomic_load_explicit(&late_telling, memory_order_relaxed);) {
		pthread_mutex_lock(&f->late.lock);
		waits = late_within(&f->late, late_listen, 0);
		pthread_mutex_unlock(&f->late.lock);
	}
}

void late_hear(void)
{
	if (atomic_load_explicit(&late_telling, memory_order_relaxed))
		flow_each(late_hear_in, NULL);
}

int late_tells(void) { return atomic_load_explicit(&late_telling, memory_order_acquire) > 0; }

int late_under_way(struct flow *f) { return atomic_load_explicit(&f->late.under_way, memory_order_relaxed) > 0; }

/* Somebody waits for what runs. On the emulated device our events say how far it is, a stream that is asked lets it go on. */
static void late_wait(struct late_kernel *k)
{
	CUstreamCaptureMode mode;
	int relaxed = flow_relax(&mode);

	real.cuStreamQuery(k->stream);
	flow_unrelax(mode, relaxed);
	nanosleep(&(struct timespec){0, LATE_LOOK_NS}, NULL);
}

/* Until at most so many are under way of those that are now, others being added meanwhile; or in so many looks none was started or ended. 1: at
 * most so many are. */
static int late_fewer(struct flow *f, uint32_t most, unsigned looks)
{
	struct late_kernel *k = &f->late;
	uint32_t mapped = vmm_mapped(f->participant), first = atomic_load_explicit(&k->ended, memory_order_relaxed), moves = 0, before;
	uint32_t last = first + atomic_load_explicit(&k->under_way, memory_order_relaxed) - most;

	for (unsigned left = looks;; late_wait(k)) {
		before = moves;
		late_turn(f, mapped, NULL);
		uint32_t ended = atomic_load_explicit(&k->ended, memory_order_relaxed);
		int few = atomic_load_explicit(&k->under_way, memory_order_relaxed) <= most;
		if (few || (int32_t)(ended - last) >= 0 || !left)
			return few;
		moves = atomic_load_explicit(&k->started, memory_order_relaxed) + ended;
		left = moves != before ? looks : left - 1;
	}
}

int late_over(struct flow *f, unsigned looks) { return !late_under_way(f) || late_fewer(f, 0, looks); }

void late_go_on(struct flow *f)
{
	struct late_kernel *k = &f->late;

	if (!late_under_way(f))
		return;
	late_turn(f, vmm_mapped(f->participant), NULL);
	uint32_t count = atomic_load_explicit(&k->under_way, memory_order_relaxed), most = atomic_load_explicit(&k->most, memory_order_relaxed);
	uint32_t ended = atomic_load_explicit(&k->ended, memory_order_relaxed);
	if (count > most && !late_fewer(f, most, LATE_LOOKS) && ended == atomic_load_explicit(&k->ended, memory_order_relaxed))
		atomic_store_explicit(&k->most, 2 * count, memory_order_relaxed);
}

void late_lowers(struct flow *f, struct clock_sweep *sweep)
{
	const struct late *lists[2];

	pthread_mutex_lock(&f->late.lock);
	lists[0] = f->late.first;
	lists[1] = f->late.running;
	for (unsigned i = 0; i < 2; i++)
		for (const struct late *l = lists[i]; l; l = l->next) {
			if (sweep->seen[l->slot] >= l->seq)
				sweep->seen[l->slot] = l->seq - 1;
			if (sweep->floor > l->seq)
				sweep->floor = l->seq;
		}
	pthread_mutex_unlock(&f->late.lock);
}

/* ---- what is given to somebody else when its checks are over ---------------------------------------------------- */

struct late_looks { struct vmm_checks now; int all, wait; };

/* Copies that are not over are of other memory than what is freed. */
static void late_look_at(struct flow *f, void *context)
{
	struct late_looks *s = context;
	uint64_t oldest = 0;

	if (!late_under_way(f))
		return;
	s->all &= late_turn(f, atomic_load_explicit(&f->participant->mapped, memory_order_relaxed), &oldest);
	if (oldest <= s->now.over)
		s->now.over = oldest - (oldest > 0);
	if (s->wait && oldest != UINT64_MAX)
		late_wait(&f->late);
}

static void late_look(struct vmm_checks *checks, int wait)
{
	static _Atomic uint64_t known = 1; /* to be over */
	struct late_looks s = {.now.over = atomic_load(&late_begun), .all = 1, .wait = wait};
	uint64_t over = atomic_load(&known);

	flow_each(late_look_at, &s);
	while (over < s.now.over && !atomic_compare_exchange_weak(&known, &over, s.now.over))
		;
	*checks = (struct vmm_checks){.begun = s.all ? atomic_load(&late_begun) : 0, .over = atomic_load(&known)};
}

/* ---- a context ends -------------------------------------------------------------------------------------------- */

/* Their events went with the context, or stay. */
static void late_drop(struct late_kernel *k)
{
	for (struct late *l = k->first, *next; l; l = next) {
		next = l->next;
		if (l->enqueued) { /* else another thread has it */
			l->event = NULL;
			late_take(k, l);
			late_end(k, l);
		}
	}
	while (k->running) {
		k->running->event = NULL;
		late_ran(k);
	}
	k->rans = k->bare = 0;
}

/* Its copies are over. */
static void late_passed(struct late_kernel *k, const void *context)
{
	for (struct late *l = k->first; l; l = l->next)
		if (l->event && l->context == context)
			l->event = NULL;
}

static void late_forget(struct flow *f, void *context)
{
	int gone = f->late.context == context;

	pthread_mutex_lock(&f->late.lock);
	late_passed(&f->late, context);
	if (gone) {
		late_drop(&f->late);
		f->late.reason = late_gone;
		f->late.context = NULL;
		f->late.nodes = NULL;
	}
	pthread_mutex_unlock(&f->late.lock);
	if (gone && f->participant->context != context)
		late_resume(f);
}

void late_forget_context(CUcontext context)
{
	if (context)
		flow_each(late_forget, context);
}
