/* For tests of the runtime, native: CTAs of two participants on two GPUs are played one after the other. The arena's
 * regions are mapped at their real addresses, sparsely. */
#ifndef TEST_DEVICE_PLAY_H
#define TEST_DEVICE_PLAY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/abi.h"
#include "device/calls.h"
#include "device/runtime.h"
#include "device/tables.h"

#define TAG_BITS 14u /* of each */
#define DATA(p) (GSAN_DATA_BASE + (u64)(p) * GSAN_SLICE)
static struct gsan_ring ring[2];
static struct gsan_launch launches[1024];
static u32 launch_count;
static int failures;

static inline void map(u64 at, u64 size)
{
	void *p = mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
	if (p != (void *)(uintptr_t)at) {
		perror("mmap of the arena");
		exit(1);
	}
}

static inline void map_arena(void)
{
	for (u32 p = 0; p < 2; p++) {
		map(GSAN_TABLE_BASE + p * GSAN_TABLE_SLICE, gsan_tables_bytes());
		map(gsan_shadow(DATA(p)), 4 << 20);
	}
}

static inline void reset(void)
{
	for (u32 p = 0; p < 2; p++) {
		madvise((void *)(uintptr_t)(GSAN_TABLE_BASE + p * GSAN_TABLE_SLICE), gsan_tables_bytes(), MADV_DONTNEED);
		madvise((void *)(uintptr_t)gsan_shadow(DATA(p)), 4 << 20, MADV_DONTNEED);
	}
	memset(ring, 0, sizeof ring);
	launch_count = 0;
}

/* Launch `seq` of participant p in stream s: everything of its own stream is before it, of the peer what `peer` says. */
static inline struct gsan_launch *launch(u32 p, u32 s, u32 seq, u32 own_floor, u32 peer_floor)
{
	struct gsan_launch *l = &launches[launch_count++];
	memset(l, 0, sizeof *l);
	l->abi = GSAN_ABI;
	l->seq = seq;
	l->tag_bits = l->rank_bits = TAG_BITS;
	l->tag = (uint16_t)(p << TAG_BITS | (seq & ((1u << TAG_BITS) - 1)));
	l->participant = (uint8_t)p;
	l->stream = (uint8_t)s;
	l->kernel = seq;
	l->mapped = 3;
	l->gpu = (uint8_t)p;
	l->ring = (u64)(uintptr_t)&ring[p];
	for (u32 i = 0; i < GSAN_PARTICIPANTS; i++)
		l->order.floor[i] = 1;
	l->order.floor[p] = own_floor;
	l->order.floor[1 - p] = peer_floor;
	l->quick = gsan_quick(l);
	return l;
}

#define REDS(scope) (1u << (GSAN_ENTER_REDS_SHIFT + (scope))) /* a kernel that has such */
static u32 grid = 8; /* CTAs */
struct cta { u64 launch, self; u32 index; };
static inline u32 quick(const struct cta *c) { return gsan_quick((const struct gsan_launch *)(uintptr_t)c->launch); }
static inline void be(const struct cta *c)
{
	gpu_host = (struct gpu_host){.nsmid = 1, .ntid = {1, 1, 1}, .nctaid = {grid, 1, 1}, .ctaid = {c->index, 0, 0}};
}
static inline struct cta enter(struct gsan_launch *l, u32 index, u32 flags)
{
	struct cta c = {(u64)(uintptr_t)l, 0, index};
	be(&c);
	c.self = gsan_enter(c.launch, flags);
	return c;
}
static inline void leave(const struct cta *c)
{
	be(c);
	gsan_leave(c->launch, c->self);
}
static inline u32 desc(u32 op, u32 bytes, u32 sem, u32 site) { return site | bytes << 16 | op << 22 | sem << 27; }
static inline void weak(const struct cta *c, u32 op, u64 at, u32 bytes, u32 site)
{
	be(c);
	gsan_access1(c->launch, c->self, 1, at, desc(op, bytes, 0, site));
}
static inline void flag_store(const struct cta *c, u64 at, u32 sem, u32 scope, u64 value, u32 site)
{
	u32 d = desc(GSAN_OP_STRONG_ST + scope, 4, sem, site) | GSAN_DESC_VALUE;
	be(c);
	gsan_before(c->launch, c->self, 1, at, d, value);
	gsan_after(c->launch, c->self, 1, at, d, value, 0);
}
/* A load in two steps, between which others may write: 0 of `looked` is a location without an entry. */
static inline u32 flag_look(const struct cta *c, u64 at)
{
	be(c);
	return gsan_look(c->launch, c->self, at, desc(GSAN_OP_STRONG_LD, 4, 0, 0));
}
static inline void flag_loaded(const struct cta *c, u64 at, u32 sem, u32 scope, u64 value, u32 site, u32 looked)
{
	be(c);
	gsan_after(c->launch, c->self, 1, at, desc(GSAN_OP_STRONG_LD + scope, 4, sem, site) | GSAN_DESC_VALUE, value, looked);
}
static inline void flag_load(const struct cta *c, u64 at, u32 sem, u32 scope, u64 value, u32 site)
{
	flag_loaded(c, at, sem, scope, value, site, flag_look(c, at));
}
static inline void rmw(const struct cta *c, u64 at, u32 sem, u32 scope, u64 old, u32 site)
{
	u32 d = desc(GSAN_OP_RMW + scope, 4, sem, site) | GSAN_DESC_VALUE | GSAN_DESC_USED;
	be(c);
	gsan_before(c->launch, c->self, 1, at, d & ~GSAN_DESC_VALUE, 0);
	gsan_after(c->launch, c->self, 1, at, d, old, 0);
}
/* As the clone goes on behind gsan_red or gsan_relaxed. */
static inline void relaxed_on(struct cta *c, u32 todo, u64 at, u32 d)
{
	if (todo)
		todo = gsan_hold(c->launch, c->self, todo, at, d);
	c->self |= GSAN_SELF_BEHIND_RED;
	if (todo) {
		gsan_take(c->launch, c->self, todo, at, d);
		gsan_reduced(c->launch, c->self, todo, at, d);
	}
}
static inline void red_at(struct cta *c, u32 scope, u64 at, u32 site)
{
	u32 d = desc(GSAN_OP_RMW + scope, 4, GSAN_SEM_NONE, site);
	be(c);
	relaxed_on(c, gsan_red(c->launch, c->self, quick(c), at, d), at, d);
}
static inline void fence(const struct cta *c, u32 sem, u32 scope)
{
	be(c);
	gsan_fence(c->launch, c->self, desc(GSAN_OP_STRONG_LD + scope, 0, sem, 0));
}

static inline u64 found(void) /* and sent, with its words */
{
	return ring[0].head + ring[1].head;
}
/* Finding number `n` of both participants' rings, NULL behind the last. */
static inline const struct gsan_finding *finding(u64 n)
{
	u64 first = dev_tables(0)->ring_head;
	return n < first ? &ring[0].slot[n] : n < found() ? &ring[1].slot[n - first] : NULL;
}
#define EACH_FINDING(f) \
	for (u64 n_ = 0; n_ < found(); n_++) \
		for (const struct gsan_finding *f = finding(n_); f; f = NULL)

static inline int has(u32 kind, u32 reason)
{
	EACH_FINDING(f)
		if (f->kind == kind && f->reason == reason)
			return 1;
	return 0;
}
static inline void need(int condition, const char *what)
{
	if (condition)
		return;
	printf("FAIL %s\n", what);
	failures++;
}
static inline void expect(const char *name, u64 races, u32 kind, u32 reason)
{
	if (found() != races || (races && !has(kind, reason))) {
		printf("FAIL %s: %llu findings, expected %llu, of kind %u and reason %u\n", name, (unsigned long long)found(),
		       (unsigned long long)races, kind, reason);
		EACH_FINDING(f)
			printf("  kind %u reason %u sites %u %u\n", f->kind, f->reason, f->first.site, f->second.site);
		failures++;
	}
	reset();
}

#endif
