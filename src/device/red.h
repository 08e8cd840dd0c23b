/* Relaxed operations that need no entry (gsan_red): all of a kernel of such alone, and RMWs whose result nobody reads. Histograms, hash tables,
 * graph algorithms are made of them. Nearly all RMWs only look. */
#ifndef GSAN_DEVICE_RED_H
#define GSAN_DEVICE_RED_H

#include "device/caller.h"
#include "device/calls.h"
#include "device/desc.h"
#include "device/entry.h"
#include "device/foreign.h"
#include "device/shadow.h"
#include "device/strong.h"
#include "device/swap.h"
#include "device/sync.h"

NEVER void red_foreign(const struct who *w, u64 address, u32 desc)
{
	gpu_count(&own_spread(w->launch, w->self)->checked, -1ull);
	if (foreign_access(w->launch, address, desc))
		count(w->launch, GSAN_N_FOREIGN, 1);
}

/* Did an operation of this very instruction make it? */
ALWAYS int red_same_site(const struct gsan_launch *l, u64 rec, u32 desc)
{
	return rec_site(rec) == (desc & 0xffff) && gpu_load32(&tag_launch(l, rec_tag(rec))->kernel) == l->kernel;
}

/* For words: of a flag that is read without an edge, where neither side keeps a clock, seen by the one or the other. */
NEVER void red_hint(const struct who *w, u64 canonical, u32 desc)
{
	const struct gsan_launch *l = w->launch;
	struct sampled s;
	u64 me = rec_of(w->base, desc_op(desc), desc & 0xffff, granule_mask(canonical, desc_bytes(desc)));
	if (gsan_is_hosts(canonical)) /* what is read there may be a host's */
		return;
	for (u32 i = 0, n = sampled_at(canonical, &s) ? SAMPLED : 0; i < n; i++) {
		u64 rec = s.r[i];
		if (!rec_live(l, rec) || who_made(w, rec) || !tag_mapped(l, rec_tag(rec)))
			continue;
		tag_await(l, rec_tag(rec));
		if (rec_tag(rec) != l->tag && !coarse_made(l, rec_tag(rec), canonical))
			continue;
		u32 reads = sync_reads(desc) && op_is_strong(rec_op(rec)) && op_writes(rec_op(rec));
		if (reads)
			hint_unsaid(w, rec, me, 0);
		int blind = !sync_learns(desc) && red_same_site(l, rec, desc); /* a histogram's: nobody sees what it reads */
		if (op_writes(desc_op(desc)) && op_observes(rec_op(rec)) && !blind) /* who polls by an RMW does not say so again */
			hint_unsaid(w, me, rec, reads ? HINT_EITHER : 0);
	}
}

ALWAYS struct access red_access(u64 canonical, u32 desc)
{
	return (struct access){.address = canonical & ~(u64)(GSAN_GRANULE - 1), .op = desc_op(desc), .site = desc & 0xffff,
			       .bytes = desc_bytes(desc), .mask = granule_mask(canonical, desc_bytes(desc))};
}

/* Its record, by each lane for itself; *racing: of a CAS (swap.h). */
NEVER void red_record(struct who *w, u64 canonical, u32 desc, struct dev_racing *racing)
{
	struct access a = red_access(canonical, desc);
	a.racing = racing;
	granule_bytes(w, &a);
	report_reasons(w);
	if (keeps_no_clock(w))
		red_hint(w, canonical, desc);
}

/* Does it read what has no shadow, or what is out of reach, for the first time in its launch, or since others began? */
ALWAYS int red_learns_foreign(const struct who *w, u64 address, u64 canonical, u32 desc)
{
	return keeps_no_clock(w) && sync_reads(desc) && !sync_reachable(w, canonical) && !gpu_is_own(address) &&
	       !learner_met(w->launch, own_tables(w->launch)->coarse.foreign);
}

/* The general case: takes its place in the shadow, where who makes an entry meanwhile finds it (sync_grace); then looks for its location's entry.
 * What takes locks is left to gsan_take, where lanes come in turns: until it is said that its launch has such operations, that is all of them. */
u32 gsan_hold(u64 launch, u64 self, u32 todo, u64 address, u32 desc)
{
	int whole = todo & GSAN_RED_WHOLE, mine = todo & GSAN_RED_GENERAL, left = 0;
	struct dev_racing racing;
	racing.count = 0;
	struct who w = who_of(launch, self, mine);
	u64 canonical = mine ? shadow_accessed(w.launch, address, desc) : NO_ADDRESS;
	if (mine && canonical == NO_ADDRESS)
		red_foreign(&w, address, desc);
	if (canonical != NO_ADDRESS)
		red_record(&w, canonical, desc, &racing);
	if (mine && sync_reachable(&w, canonical))
		left = sync_makes(&w) || sync_find(canonical, desc_bytes(desc), 0, 0) ||
		       (desc_scope(desc) != GSAN_CTA && !coarse_noted(&w, dev_tables(gsan_owner(canonical))));
	else if (mine)
		left = red_learns_foreign(&w, address, canonical, desc);
	gpu_meet(whole);
	if (racing.count)
		swap_keep(&w, &racing);
	u32 is = (left ? GSAN_RED_GENERAL : 0) | (racing.count ? GSAN_RED_RACING : 0);
	return whole && gpu_ballot(left) ? is | GSAN_RED_WHOLE : is;
}

/* The lock of its location's entry, if there is anybody to tell what it releases. */
void gsan_take(u64 launch, u64 self, u32 todo, u64 address, u32 desc)
{
	int whole = todo & GSAN_RED_WHOLE;
	struct who w = who_of(launch, self, 0);
	u64 canonical = todo & GSAN_RED_GENERAL ? shadow_canonical(w.launch, address) : NO_ADDRESS;
	struct dev_sync *e = 0;
	int foreign = todo & GSAN_RED_GENERAL && red_learns_foreign(&w, address, canonical, desc);
	EACH_OF(whole, todo & GSAN_RED_GENERAL && keeps_no_clock(&w)) {
		learner_note(w.launch, w.reds & GSAN_REDS_LEARN);
		if (foreign)
			learner_meets(w.launch, own_tables(w.launch)->coarse.foreign);
	}
	int publishes = sync_publishes(&w, canonical, desc, whole) && op_may_write(desc_op(desc));
	if (canonical != NO_ADDRESS && keeps_no_clock(&w)) /* once more, now that its launch is known: of two that come at once one sees the other */
		red_hint(&w, canonical, desc);
	EACH_OF(whole, publishes)
		e = sync_entry(&w, canonical, desc);
	gpu_meet(whole);
	sync_hold(w.launch, e, whole);
}

/* A CAS wrote, or failed and races as the read that it is. Takes no locks: lanes are here side by side. */
void gsan_tried(u64 launch, u64 self, u32 todo, u64 address, u32 desc)
{
	struct who w = who_of(launch, self, 1);
	u64 canonical = shadow_canonical(w.launch, address);
	if (canonical == NO_ADDRESS)
		return;
	struct access a = red_access(canonical, desc);
	if (op_writes(a.op) && swap_record(&w, &a))
		red_hint(&w, canonical, desc);
	if (todo & GSAN_RED_RACING)
		swap_check(&w, &a);
	report_reasons(&w);
}

void gsan_reduced(u64 launch, u64 self, u32 todo, u64 address, u32 desc)
{
	int whole = todo & GSAN_RED_WHOLE;
	struct who w = who_of(launch, self, 0);
	u64 canonical = todo & GSAN_RED_GENERAL ? shadow_canonical(w.launch, address) : NO_ADDRESS;
	if (keeps_no_clock(&w) && sync_reads(desc))
		gpu_fence_sys(); /* whoever's write we read has its entry's lock, or has published (strong.h) */
	struct dev_sync *e = sync_reachable(&w, canonical) ? sync_find(canonical, desc_bytes(desc), 0, 0) : 0, *held = 0;
	EACH_OF(whole, e != 0)
		held = sync_after(&w, e, canonical, desc, 0, 0, whole).held; /* nothing is put down: it has no clock, or nobody reads the result */
	sync_release(held, whole);
	gpu_meet(whole);
	settle(&w, whole);
}

/* A value that no known write left: who wrote it has made an entry meanwhile, and checks it under its lock, perhaps; or something unseen did
 * (which.h, sync_unseen). Takes no locks: lanes are here side by side. */
#define LEARNED_TRIES (1u << 20)
void gsan_learned(u64 launch, u64 self, u64 address, u32 desc)
{
	struct who w = who_of(launch, self, 0);
	u64 canonical = shadow_canonical(w.launch, address);
	struct dev_coarse *c = &own_tables(w.launch)->coarse;
	gpu_fence_sys();
	struct dev_sync *e = sync_reachable(&w, canonical) ? sync_find(canonical, desc_bytes(desc), 0, 0) : 0;
	for (u32 tries = 0; e && tries < LEARNED_TRIES && !lock_is_free(&e->lock); tries++)
		gpu_pause();
	gpu_fence_sys();
	if (gsan_is_hosts(canonical))
		return;
	if (e && !version_is_learnt(&w, e)) /* by now: everything may be before who is behind this launch */
		learner_meets(w.launch, c->foreign);
	if (learner_met(w.launch, c->unseen) || w.launch->lifted & GSAN_LIFT_UNSEEN || sync_stored(w.launch, canonical, desc_bytes(desc), 0) ||
	    sync_written_otherwise(w.launch, canonical, desc_bytes(desc)))
		return;
	gpu_store32(&c->unseen_site[w.launch->stream], desc & 0xffff);
	learner_meets(w.launch, c->unseen);
}

/* Does this record of a granule, of the same participant, say nothing to an operation that makes `me`: quiet, of other bytes, both reads, or
 * morally strong with it? */
ALWAYS int red_agrees(u32 quick, u64 rec, u64 me)
{
	u32 a = rec_op(rec), b = rec_op(me);
	return is_quiet(quick, me, rec) |
	       ((u32)(quick_head(quick, rec ^ me) == 0) & /* the same GPU */
		(((rec_mask(rec) & rec_mask(me)) == 0) | (u32)!(op_may_write(a) | op_may_write(b)) |
		 ((a >= GSAN_OP_STRONG_LD) & ((a & b & 2) != 0) & (((u32)(rec ^ me) & 0xff) == 0)))); /* .gpu or .sys, the same bytes */
}

/* Is it a write to some of these bytes that may have left what is read there now, and no earlier launch's? */
ALWAYS int red_leaves(u32 quick, u64 rec, u64 me) { return op_may_write(rec_op(rec)) & ((rec_mask(rec) & rec_mask(me)) != 0) & !quick_below(quick, me, rec); }

/* May a red take the place of this one at once? It is of what is ordered before, or the same. */
ALWAYS int red_free(u32 quick, u64 rec, u64 me)
{
	return (rec == 0) | quick_below(quick, me, rec) |
	       (quick_is_own(me, rec) & (((u32)(rec ^ me) & REC_DID) == 0));
}

/* What is left to do: look closer; nothing; or all once more, for its record has to go in, or somebody else came between. */
enum red { RED_GENERAL, RED_DONE, RED_AGAIN };

/* Its record goes among the sampled reads of its granule, if `in`. Then `last` and `tail` are of the line behind it: somebody may have
 * come between, and have seen nothing of us. Both are on the way at once. */
ALWAYS enum red red_granule(const struct gsan_launch *l, u32 quick, struct gsan_granule *g, u64 me, u64 key, int in,
			    const struct gsan_line *at, u64 *last, u64 *tail, int *went, int any, int *left)
{
	u64 r0, r1;
	gpu_load128(&g->read[0], &r0, &r1);
	*left |= any ? red_leaves(quick, r0, me) | red_leaves(quick, r1, me) : 0;
	if (!(red_agrees(quick, r0, me) & red_agrees(quick, r1, me)))
		return RED_GENERAL;
	if (r0 == me || r1 == me || (any && (!op_observes(rec_op(me)) || rec_has_written(r0, me) || rec_has_written(r1, me))))
		return RED_DONE;
	int free1 = red_free(quick, r1, me), odd = (int)(me >> GSAN_REC_CTA_SHIFT & 1); /* who come at once take both places */
	int place = red_free(quick, r0, me) && !(free1 && odd) ? 0 : free1 ? 1 : -1;
	if ((any && !rec_is_rmw(me)) || (place < 0 && (quick_is_own(me, r0) || quick_is_own(me, r1))))
		return RED_GENERAL; /* the first load; other operations of this CTA */
	if (place < 0)
		place = place_drawn(l, me, r0, r1, key, gpu_ctas());
	if (place < 0)
		return RED_DONE;
	if (!in)
		return RED_AGAIN;
	u64 was = place ? r1 : r0;
	if (!(quick & GSAN_QUICK_UNHELD) && aside_holds(l, was, me))
		return RED_GENERAL;
	u64 now = gpu_cas64(&g->read[place], was, me);
	gpu_load128(at, last, tail);
	*went = 1;
	return now == was ? RED_DONE : RED_AGAIN;
}

/* Quiet, all that may lie there of weak accesses, and of strong stores? Lines of counters have none, and say so: the loads are the cost.
 * *stored: `me` is among the stores; *left: one is that may have left what is read there. */
ALWAYS int red_alone(u32 quick, const struct gsan_line *at, const struct gsan_granule *g, u64 me, u64 last, u64 tail, int any, int *stored, int *left)
{
	u64 r0 = 0, r1 = 0, w0 = 0, w1 = 0;
	if (tail >> 32 & GSAN_LINE_READ)
		gpu_load128(at->read, &r0, &r1);
	if (tail >> 32 & GSAN_LINE_WROTE)
		gpu_load128(g->write, &w0, &w1);
	*stored = any && (w0 == me || w1 == me);
	*left = any ? red_leaves(quick, w0, me) | red_leaves(quick, w1, me) : 0;
	return is_quiet(quick, me, last) &&
	       (!(tail >> 32 & (GSAN_LINE_READ | GSAN_LINE_WROTE)) ||
		(is_quiet(quick, me, r0) && is_quiet(quick, me, r1) && (any ? red_agrees(quick, w0, me) && red_agrees(quick, w1, me) :
									      is_quiet(quick, me, w0) && is_quiet(quick, me, w1))));
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

/* in: 0 looks only, and leaves to others what takes registers: nearly all find that nothing is left to do. any: 0 of RMWs whose result nobody
 * reads. *left: a write is known that may have left what is read there. */
ALWAYS enum red red_fast(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc, int in, int any, int *left)
{
	u64 last, tail, granule = address & ~(u64)(GSAN_GRANULE - 1);
	u64 me = rec_of((self & REC_WHO) | 1ull << GSAN_REC_EPOCH_SHIFT, desc_op(desc), desc & 0xffff,
			granule_mask(address, desc_bytes(desc)));
	struct gsan_line *at = (struct gsan_line *)(uintptr_t)gsan_shadow(address);
	if (address >> GSAN_DATA_SHIFT != GSAN_DATA_TOP || (u32)self || self & SELF_STATELESS ||
	    !(gsan_owner(address) == quick_participant(quick, self) || l->mapped >> gsan_owner(address) & 1))
		return RED_GENERAL;
	gpu_load128(at, &last, &tail);
	if (!(u32)tail || tail >> 32 & GSAN_LINE_SYNC || (rec_is_rmw(me) && !(tail >> 32 & GSAN_LINE_ATOMIC)))
		return RED_GENERAL;
	if (desc_scope(desc) != GSAN_CTA && !red_noted(l, self, quick, address))
		return RED_AGAIN; /* its launch is about to be noted */
	struct gsan_granule *g = &detail_at(address, (u32)tail)->granule[granule % GSAN_LINE / GSAN_GRANULE];
	int stored, by_store, went = 0;
	if (!red_alone(quick, at, g, me, last, tail, any, &stored, &by_store) || (any && !stored && !op_observes(desc_op(desc))))
		return RED_GENERAL;
	*left = by_store;
	enum red is = red_granule(l, quick, g, me, granule, in, at, &last, &tail, &went, any, left);
	if (is == RED_AGAIN && by_store)
		return RED_GENERAL; /* who reads a flag first says so (red_hint) */
	return !went || is == RED_AGAIN || red_alone(quick, at, g, me, last, tail, any, &stored, &by_store) ? is : RED_GENERAL;
}

/* When a kernel begins many come to few places. */
#define RED_TRIES 4u
ALWAYS enum red red_tries(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc, int any)
{
	enum red is = RED_AGAIN;
	int left;
	for (u32 i = 0; i < RED_TRIES && is == RED_AGAIN; i++)
		is = red_fast(l, self, quick, address, desc, 1, any, &left);
	return is;
}
NEVER enum red red_again(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc) { return red_tries(l, self, quick, address, desc, 0); }
NEVER enum red relaxed_again(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc) { return red_tries(l, self, quick, address, desc, 1); }

ALWAYS u32 red_todo(u64 launch, u64 self, u32 quick, u64 address, u32 desc, int any)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u32 active = gpu_active();
	quick = quick_of(launch, quick);
	if (gpu_leads(active))
		gpu_count(&spread_of(quick_participant(quick, self), self)->checked, gpu_popc(active));
	int left = 0;
	enum red is = red_fast(l, self, quick, address, desc, 0, any, &left);
	if (is == RED_AGAIN)
		is = any ? relaxed_again(l, self, quick, address, desc) : red_again(l, self, quick, address, desc);
	u32 mine = is == RED_DONE ? 0 : GSAN_RED_GENERAL, unseen = any && !left ? GSAN_RED_UNSEEN : 0;
	int whole = active == GPU_WARP && gpu_ballot((int)mine) && warp_agrees(desc);
	return unseen | (whole ? mine | GSAN_RED_WHOLE : mine);
}
u32 gsan_red(u64 launch, u64 self, u32 quick, u64 address, u32 desc) { return red_todo(launch, self, quick, address, desc, 0); }
u32 gsan_relaxed(u64 launch, u64 self, u32 quick, u64 address, u32 desc) { return red_todo(launch, self, quick, address, desc, 1); }

#endif
