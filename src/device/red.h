/* Relaxed RMWs whose result nobody reads (gsan_red): histograms. Nearly all only look. */
#ifndef GSAN_DEVICE_RED_H
#define GSAN_DEVICE_RED_H

#include "device/caller.h"
#include "device/calls.h"
#include "device/desc.h"
#include "device/entry.h"
#include "device/foreign.h"
#include "device/shadow.h"
#include "device/strong.h"
#include "device/sync.h"

NEVER void red_foreign(const struct gsan_launch *l, u64 self, u64 address, u32 desc)
{
	gpu_count(&own_spread(l, self)->checked, -1ull);
	if (foreign_access(l, address, desc))
		count(l, GSAN_N_FOREIGN, 1);
}

/* The general case: takes its place in the shadow, where who makes an entry meanwhile finds it (sync_grace); then the lock of
 * its location's entry, if there is anybody to tell what it releases. */
void gsan_hold(u64 launch, u64 self, u32 todo, u64 address, u32 desc)
{
	int whole = todo & GSAN_RED_WHOLE, mine = todo & GSAN_RED_GENERAL;
	struct who w = who_of(launch, self, mine);
	u64 canonical = mine ? shadow_canonical(w.launch, address) : NO_ADDRESS;
	int there = canonical != NO_ADDRESS;
	if (mine && !there)
		red_foreign(w.launch, self, address, desc);
	struct dev_sync *e = 0;
	struct access a = {.address = canonical & ~(u64)(GSAN_GRANULE - 1), .op = desc_op(desc), .site = desc & 0xffff,
			   .bytes = desc_bytes(desc), .mask = granule_mask(canonical, desc_bytes(desc))};
	sync_publishes(&w, canonical, desc, whole); /* until it is said that there are such, all of them come here */
	if (there)
		granule_bytes(&w, &a);
	gpu_meet(whole);
	int publishes = sync_publishes(&w, canonical, desc, whole);
	EACH_OF(whole, publishes)
		e = sync_entry(&w, canonical, desc);
	gpu_meet(whole);
	sync_hold(w.launch, e, whole);
}

void gsan_reduced(u64 launch, u64 self, u32 todo, u64 address, u32 desc)
{
	int whole = todo & GSAN_RED_WHOLE;
	struct who w = who_of(launch, self, 0);
	u64 canonical = todo & GSAN_RED_GENERAL ? shadow_canonical(w.launch, address) : NO_ADDRESS;
	struct dev_sync *e = sync_reachable(&w, canonical) ? sync_find(canonical, desc_bytes(desc), 0, 0) : 0, *held = 0;
	EACH_OF(whole, e != 0)
		held = sync_after(&w, e, canonical, desc, 0, 0, whole).held; /* nothing is put down: nobody reads the result */
	sync_release(held, whole);
	gpu_meet(whole);
	settle(&w, whole);
}

/* Does this record of a granule, of the same participant, say nothing to an RMW that makes `me`: quiet, of other bytes, or morally
 * strong with it? */
ALWAYS int red_agrees(u32 quick, u64 rec, u64 me)
{
	u32 a = rec_op(rec), b = rec_op(me);
	return is_quiet(quick, me, rec) |
	       ((u32)(quick_participant(quick, rec ^ me) == 0) & /* the same GPU */
		(((rec_mask(rec) & rec_mask(me)) == 0) |
		 ((a >= GSAN_OP_STRONG_LD) & ((a & b & 2) != 0) & (((u32)(rec ^ me) & 0xff) == 0)))); /* .gpu or .sys, the same bytes */
}

/* May a red take the place of this one at once? It is of what is ordered before, or the same. */
ALWAYS int red_free(u32 quick, u64 rec, u64 me)
{
	return (rec == 0) | quick_below(quick, me, rec) |
	       (quick_is_own(me, rec) & (((u32)(rec ^ me) & (31u << GSAN_REC_OP_SHIFT | 0xff)) == 0));
}

/* What is left to do: look closer; nothing; or all once more, for its record has to go in, or somebody else came between. */
enum red { RED_GENERAL, RED_DONE, RED_AGAIN };

/* Its record goes among the sampled reads of its granule, if `in`. Then `last` and `tail` are of the line behind it: somebody may have
 * come between, and have seen nothing of us. Both are on the way at once. */
ALWAYS enum red red_granule(const struct gsan_launch *l, u32 quick, struct gsan_granule *g, u64 me, u64 key, int in,
			    const struct gsan_line *at, u64 *last, u64 *tail, int *went)
{
	u64 r0, r1;
	gpu_load128(&g->read[0], &r0, &r1);
	if (!(red_agrees(quick, r0, me) & red_agrees(quick, r1, me)))
		return RED_GENERAL;
	if (r0 == me || r1 == me)
		return RED_DONE;
	int free1 = red_free(quick, r1, me), odd = (int)(me >> GSAN_REC_CTA_SHIFT & 1); /* who come at once take both places */
	int place = red_free(quick, r0, me) && !(free1 && odd) ? 0 : free1 ? 1 : -1;
	if (place < 0 && (quick_is_own(me, r0) || quick_is_own(me, r1)))
		return RED_GENERAL; /* other operations of this CTA */
	if (place < 0)
		place = place_drawn(l, me, r0, r1, key, gpu_ctas());
	if (place < 0)
		return RED_DONE;
	if (!in)
		return RED_AGAIN;
	u64 was = place ? r1 : r0, now = gpu_cas64(&g->read[place], was, me);
	gpu_load128(at, last, tail);
	*went = 1;
	return now == was ? RED_DONE : RED_AGAIN;
}

/* Quiet, all that may lie there of weak accesses? Lines of counters have none, and say so: the loads are the cost. */
ALWAYS int red_alone(u32 quick, const struct gsan_line *at, const struct gsan_granule *g, u64 me, u64 last, u64 tail)
{
	u64 r0 = 0, r1 = 0, w0 = 0, w1 = 0;
	if (tail >> 32 & GSAN_LINE_READ)
		gpu_load128(at->read, &r0, &r1);
	if (tail >> 32 & GSAN_LINE_WROTE)
		gpu_load128(g->write, &w0, &w1);
	return is_quiet(quick, me, last) &&
	       (!(tail >> 32 & (GSAN_LINE_READ | GSAN_LINE_WROTE)) || (is_quiet(quick, me, r0) && is_quiet(quick, me, r1) &&
								       is_quiet(quick, me, w0) && is_quiet(quick, me, w1)));
}

/* Is this launch in the coarse clock of the owner's tables? Once it is it stays covered, so that a yes may come from the L1:
 * all ask of one place, and L2 serves one after the other. */
ALWAYS int red_noted(const struct gsan_launch *l, u64 self, u32 quick, u64 address)
{
	const u64 *at = &dev_tables(gsan_owner(address))->coarse.slot[coarse_slot(quick_participant(quick, self), l->stream)];
	u64 slot = gpu_cached64(at);
	if (!slot || rec_tag(slot ^ self))
		slot = gpu_load64(at);
	return slot && !rec_tag(slot ^ self);
}

/* in: 0 looks only, and leaves to others what takes registers: nearly all find that nothing is left to do. */
ALWAYS enum red red_fast(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc, int in)
{
	u64 last, tail, granule = address & ~(u64)(GSAN_GRANULE - 1);
	u64 me = rec_of((self & REC_WHO) | 1ull << GSAN_REC_EPOCH_SHIFT, desc_op(desc), desc & 0xffff,
			granule_mask(address, desc_bytes(desc)));
	struct gsan_line *at = (struct gsan_line *)(uintptr_t)gsan_shadow(address);
	if (address >> GSAN_DATA_SHIFT != GSAN_DATA_TOP || (u32)self || self & SELF_STATELESS || desc_op(desc) == GSAN_OP_RMW + GSAN_SYS ||
	    !(gsan_owner(address) == quick_participant(quick, self) || l->mapped >> gsan_owner(address) & 1))
		return RED_GENERAL;
	gpu_load128(at, &last, &tail);
	if (!(u32)tail || tail >> 32 & GSAN_LINE_SYNC)
		return RED_GENERAL;
	if (desc_scope(desc) != GSAN_CTA && !red_noted(l, self, quick, address))
		return RED_AGAIN; /* its launch is about to be noted */
	struct gsan_granule *g = &detail_at(address, (u32)tail)->granule[granule % GSAN_LINE / GSAN_GRANULE];
	if (!red_alone(quick, at, g, me, last, tail))
		return RED_GENERAL;
	int went = 0;
	enum red is = red_granule(l, quick, g, me, granule, in, at, &last, &tail, &went);
	return !went || is == RED_AGAIN || red_alone(quick, at, g, me, last, tail) ? is : RED_GENERAL;
}

/* When a kernel begins many come to few places. */
#define RED_TRIES 4u
NEVER enum red red_again(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc)
{
	enum red is = RED_AGAIN;
	for (u32 i = 0; i < RED_TRIES && is == RED_AGAIN; i++)
		is = red_fast(l, self, quick, address, desc, 1);
	return is;
}

u32 gsan_red(u64 launch, u64 self, u32 quick, u64 address, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u32 active = gpu_active();
	if (gpu_leads(active))
		gpu_count(&spread_of(quick_participant(quick, self), self)->checked, gpu_popc(active));
	enum red is = red_fast(l, self, quick, address, desc, 0);
	if (is == RED_AGAIN)
		is = red_again(l, self, quick, address, desc);
	u32 mine = is == RED_DONE ? 0 : GSAN_RED_GENERAL;
	return active == GPU_WARP && gpu_ballot((int)mine) ? mine | GSAN_RED_WHOLE : mine;
}

#endif
