/* OS threads as warps: the arena where ThreadSanitizer allows memory, launches of one to three participants, and the program's
 * operations as a checked clone makes them: the runtime's call, the operation itself on real memory, the runtime's call. The
 * program's atomics are the runtime's own (gpu.h), whose fences the sanitizer knows: weak data that only a program's
 * synchronisation orders is plain memory here, so a test program that is wrong itself is reported, too. */
#ifndef TEST_DEVICE_THREADS_H
#define TEST_DEVICE_THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "device/abi.h"
#include "device/calls.h"
#include "device/runtime.h"
#include "device/tables.h"

#define MEMBERS 3u  /* participants */
#define TAG_BITS 13u /* of each */
#define WARPS 12u   /* at once */
#define DATA(p) (GSAN_DATA_BASE + (u64)(p) * GSAN_SLICE)
#define DATA_BYTES (1u << 20)

static struct gsan_ring ring[MEMBERS];
static int failures;

static inline void map(u64 at, u64 size)
{
	void *p = mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
	if (p != (void *)(uintptr_t)at) {
		perror("mmap of the arena");
		exit(1);
	}
}

static inline void map_arena(void)
{
	for (u32 p = 0; p < MEMBERS; p++) {
		map(GSAN_TABLE_BASE + p * GSAN_TABLE_SLICE, gsan_tables_bytes());
		map(gsan_shadow(DATA(p)), DATA_BYTES / 4);
		map(DATA(p), DATA_BYTES);
	}
}

static inline void need(int condition, const char *what)
{
	if (condition)
		return;
	printf("FAIL %s\n", what);
	__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

static inline double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- launches and warps --------------------------------------------------------------------------------------------- */

struct launched {
	struct gsan_launch record;
	u32 ctas, warps; /* of a CTA */
	u32 flags;       /* of gsan_enter */
};

/* The first of `n` launch numbers, of all participants; the last eighth of each half is never a launch's (layout.h). Before the next
 * half, all records are cleared, as the host does (src/clock/tags.c). No warp plays. */
static inline u32 numbers(u32 n)
{
	static u32 next = 1, half;
	while (gsan_tag_private(next, TAG_BITS) || gsan_tag_private(next + n, TAG_BITS))
		next++;
	if ((next + n) >> (TAG_BITS - 1) != half)
		for (u32 p = 0; p < MEMBERS; p++)
			madvise((void *)(uintptr_t)gsan_shadow(DATA(p)), DATA_BYTES / 4, MADV_DONTNEED);
	half = (next + n) >> (TAG_BITS - 1);
	next += n;
	return next - n;
}

/* Launch `seq` of participant p in stream s, behind all launches below `floor`, whoever's. */
static inline struct launched launched(u32 p, u32 s, u32 seq, u32 floor, u32 gpu)
{
	struct launched l = {.ctas = 1, .warps = 1, .flags = GSAN_ENTER_SYNC};
	l.record = (struct gsan_launch){.abi = GSAN_ABI, .seq = seq, .tag_bits = TAG_BITS, .rank_bits = TAG_BITS, .participant = (uint8_t)p, .stream = (uint8_t)s,
					.tag = (uint16_t)(p << TAG_BITS | (seq & ((1u << TAG_BITS) - 1))), .kernel = seq,
					.mapped = (1u << MEMBERS) - 1, .gpu = (uint8_t)gpu, .ring = (u64)(uintptr_t)&ring[p], .seed = seq * 77};
	for (u32 i = 0; i < GSAN_PARTICIPANTS; i++)
		l.record.order.floor[i] = floor;
	l.record.quick = gsan_quick(&l.record);
	return l;
}

struct warp {
	const struct launched *of;
	u32 cta, number;       /* of the CTA; in it */
	u32 rank, ranks;       /* among all warps of its program */
	u32 random;
	u32 scope;             /* that reaches all of them */
	u64 launch, self;
	pthread_barrier_t *bar; /* of its CTA */
};

static inline u32 draw(struct warp *w, u32 below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 17;
	w->random ^= w->random << 5;
	return w->random % below;
}

/* One lane is the warp, of a CTA with 32 threads per warp. */
static inline void stand(const struct warp *w)
{
	gpu_host = (struct gpu_host){.nsmid = 132, .tid = {w->number * 32, 0, 0}, .ntid = {w->of->warps * 32, 1, 1},
				     .ctaid = {w->cta, 0, 0}, .nctaid = {w->of->ctas, 1, 1}};
}
static inline void warp_enter(struct warp *w, const struct launched *of)
{
	w->of = of;
	w->launch = (u64)(uintptr_t)&of->record;
	stand(w);
	w->self = gsan_enter(w->launch, of->flags);
}
static inline void warp_leave(const struct warp *w) /* lane by lane, as lanes that part do */
{
	for (u32 lane = 0; lane < 32 && w->of->flags & GSAN_ENTER_SYNC; lane++)
		gsan_leave(w->launch, w->self);
}
static inline void warp_bar(const struct warp *w)
{
	for (u32 lane = 0; lane < 32; lane++)
		gsan_barrier(w->launch, w->self);
	pthread_barrier_wait(w->bar);
}

/* ---- the threads ---------------------------------------------------------------------------------------------------- */

static struct crew {
	pthread_t thread[WARPS];
	pthread_barrier_t begin, end;
	void (*play)(struct warp *); /* NULL: go home */
	struct warp *warps;
	u32 count;
} crew;

static inline void *crew_member(void *number)
{
	u32 i = (u32)(uintptr_t)number;
	gpu_host_begin(i + 1);
	for (;;) {
		pthread_barrier_wait(&crew.begin);
		if (!crew.play)
			break;
		if (i < crew.count)
			crew.play(&crew.warps[i]);
		gpu_host_flush();
		pthread_barrier_wait(&crew.end);
	}
	gpu_host_end();
	return NULL;
}
static inline void crew_begin(void)
{
	pthread_barrier_init(&crew.begin, NULL, WARPS + 1);
	pthread_barrier_init(&crew.end, NULL, WARPS + 1);
	for (u32 i = 0; i < WARPS; i++)
		if (pthread_create(&crew.thread[i], NULL, crew_member, (void *)(uintptr_t)i))
			exit(1);
}
/* Each of `n` warps by a thread; what was before is before them, and they are before what follows, as a host orders launches. */
static inline void all_play(void (*play)(struct warp *), struct warp *warps, u32 n)
{
	crew.play = play;
	crew.warps = warps;
	crew.count = n;
	pthread_barrier_wait(&crew.begin);
	if (play)
		pthread_barrier_wait(&crew.end);
}
static inline void crew_end(void)
{
	all_play(NULL, NULL, 0);
	for (u32 i = 0; i < WARPS; i++)
		pthread_join(crew.thread[i], NULL);
}

/* ---- operations of a program ---------------------------------------------------------------------------------------- */

static inline u32 desc(u32 op, u32 bytes, u32 sem, u32 site) { return site | bytes << 16 | op << 22 | sem << 27; }
static inline u32 *word(u64 at) { return (u32 *)(uintptr_t)at; }

/* The check of a weak access, which stands behind it (abi.h). */
static inline void weak(const struct warp *w, u32 op, u64 at, u32 bytes, u32 site)
{
	gsan_access1(w->launch, w->self, 1, at, desc(op, bytes, 0, site));
}
static inline void lines(const struct warp *w, u32 op, u64 line, u32 site)
{
	gsan_lines(w->launch, w->self, w->of->record.quick, 1, line | GSAN_LINES_WHOLE, desc(op, 4, 0, site));
}
static inline u32 p_load(const struct warp *w, u64 at, u32 sem, u32 site)
{
	u32 d = desc(GSAN_OP_STRONG_LD + w->scope, 4, sem, site), looked = gsan_look(w->launch, w->self, at, d);
	u32 v = gpu_load32(word(at));
	if (sem & GSAN_SEM_ACQUIRE)
		gpu_fence_sys();
	gsan_after(w->launch, w->self, 1, at, d | GSAN_DESC_VALUE, v, looked);
	return v;
}
static inline void p_store(const struct warp *w, u64 at, u32 sem, u32 v, u32 site)
{
	u32 d = desc(GSAN_OP_STRONG_ST + w->scope, 4, sem, site) | GSAN_DESC_VALUE;
	gsan_before(w->launch, w->self, 1, at, d, v);
	if (sem & GSAN_SEM_RELEASE)
		gpu_fence_sys();
	gpu_store32(word(at), v);
	gsan_after(w->launch, w->self, 1, at, d, v, 0);
}
/* Two words at once, one operation each: published before they execute. */
static inline void p_store2(const struct warp *w, u64 at, u32 sem, u32 v, u32 site)
{
	u32 d = desc(GSAN_OP_STRONG_ST + w->scope, 8 + 1, sem, site) | GSAN_DESC_VALUE;
	u64 both = (u64)v << 32 | v;
	gsan_before(w->launch, w->self, 1, at, d, both);
	if (sem & GSAN_SEM_RELEASE)
		gpu_fence_sys();
	gpu_store32(word(at), v);
	gpu_store32(word(at + 4), v);
	gsan_after(w->launch, w->self, 1, at, d, both, 0);
}
/* used: GSAN_DESC_USED, or 0: nobody reads the result. */
static inline u32 p_add(const struct warp *w, u64 at, u32 sem, u32 v, u32 used, u32 site)
{
	u32 d = desc(GSAN_OP_RMW + w->scope, 4, sem, site) | used;
	gsan_before(w->launch, w->self, 1, at, d, 0);
	if (sem & GSAN_SEM_RELEASE)
		gpu_fence_sys();
	u32 old = gpu_add32(word(at), v);
	if (sem & GSAN_SEM_ACQUIRE)
		gpu_fence_sys();
	gsan_after(w->launch, w->self, 1, at, d | (used ? GSAN_DESC_VALUE : 0), old, 0);
	return old;
}
static inline u32 p_cas(const struct warp *w, u64 at, u32 sem, u32 old, u32 v, u32 site)
{
	u32 d = desc(GSAN_OP_RMW + w->scope, 4, sem | GSAN_SEM_CAS, site) | GSAN_DESC_USED;
	gsan_before(w->launch, w->self, 1, at, d, 0);
	if (sem & GSAN_SEM_RELEASE)
		gpu_fence_sys();
	u32 was = gpu_cas32(word(at), old, v);
	if (sem & GSAN_SEM_ACQUIRE)
		gpu_fence_sys();
	if (was != old)
		d = desc(GSAN_OP_STRONG_LD + w->scope, 4, sem | GSAN_SEM_CAS, site) | GSAN_DESC_USED;
	gsan_after(w->launch, w->self, 1, at, d | GSAN_DESC_VALUE, was, 0);
	return was;
}
static inline void p_red(struct warp *w, u64 at, u32 site)
{
	u32 d = desc(GSAN_OP_RMW + w->scope, 4, GSAN_SEM_NONE, site);
	u32 todo = gsan_red(w->launch, w->self, w->of->record.quick, at, d);
	if (todo)
		todo = gsan_hold(w->launch, w->self, todo, at, d);
	if (todo)
		gsan_take(w->launch, w->self, todo, at, d);
	gpu_add32(word(at), 1);
	if (todo)
		gsan_reduced(w->launch, w->self, todo, at, d);
	w->self |= GSAN_SELF_BEHIND_RED;
}
static inline void p_fence(const struct warp *w, u32 sem)
{
	gsan_fence(w->launch, w->self, desc(GSAN_OP_STRONG_LD + w->scope, 0, sem, 0));
	gpu_fence_sys();
}

/* ---- findings ------------------------------------------------------------------------------------------------------- */

/* Since they were dropped; who waits long, for its turn among so many threads, is none. */
static inline u64 found(void)
{
	u64 n = 0;
	for (u32 p = 0; p < MEMBERS; p++)
		for (u64 i = ring[p].tail; i < dev_tables(p)->ring_head; i++)
			n += ring[p].slot[i % GSAN_RING_SLOTS].kind != GSAN_WAITS;
	return n;
}
static inline u64 counted(enum gsan_counter c)
{
	u64 n = 0;
	for (u32 p = 0; p < MEMBERS; p++)
		n += dev_tables(p)->head.counter[c];
	return n;
}
/* All of them, once no warp runs; the rings are empty afterwards. */
static inline void findings_print(const char *of)
{
	for (u32 p = 0; p < MEMBERS; p++)
		for (u64 n = ring[p].tail; n < dev_tables(p)->ring_head && n < ring[p].tail + 8; n++) {
			const struct gsan_finding *f = &ring[p].slot[n % GSAN_RING_SLOTS];
			printf("  %s: kind %u reason %u at %#llx: %u/%u of launch %u:%u, then %u of launch %u:%u cta %u\n", of, f->kind,
			       f->reason, (unsigned long long)(f->address - GSAN_DATA_BASE), f->first.site, f->first.cta,
			       f->first.participant, f->first.seq, f->second.site, f->second.participant, f->second.seq, f->second.cta);
		}
}
static inline void findings_drop(void)
{
	for (u32 p = 0; p < MEMBERS; p++)
		__atomic_store_n(&ring[p].tail, dev_tables(p)->ring_head, __ATOMIC_RELAXED);
}

#endif
