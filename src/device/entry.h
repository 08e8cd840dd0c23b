/* Entries: one for each location that is strongly written. A strong write holds its location's entry while it executes, so
 * that versions are in the order of the writes. */
#ifndef GSAN_DEVICE_ENTRY_H
#define GSAN_DEVICE_ENTRY_H

#include "device/lock.h"

/* A location is its address and its size: strong operations of different sizes are not morally strong with each other. */
ALWAYS u64 sync_key(u64 canonical, u32 bytes) { return canonical << 3 | (u64)__builtin_ctz(bytes); }

/* The entry of a location, made if `make`. NULL: none, or the table is full around it. */
NEVER struct dev_sync *sync_find(u64 canonical, u32 bytes, int make, u32 quota)
{
	struct dev_tables *t = dev_tables(gsan_owner(canonical));
	u64 key = sync_key(canonical, bytes);
	u32 at = (u32)mix64(key);
#pragma clang loop unroll(disable) /* nearly always the first */
	for (u32 i = 0; i < DEV_SYNC_PROBES; i++) {
		struct dev_sync *s = &t->sync[(at + i) & (DEV_SYNCS - 1)];
		u64 found = gpu_load64(&s->key);
		if (!found) {
			if (!make || gpu_load32(&t->syncs) >= quota)
				return 0;
			found = gpu_cas64(&s->key, 0, key);
			if (!found) {
				gpu_add32(&t->syncs, 1);
				return s;
			}
		}
		if (found == key)
			return s;
	}
	return 0;
}

/* RMWs that find no mark in their line do not look for an entry (red.h). Returns the mark, which is set. */
NEVER u32 line_mark_sync(struct dev_tables *t, u64 canonical)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(canonical);
	u32 flags = gpu_load32(&line->flags), number = 0;
	while (!(flags & GSAN_LINE_SYNC)) {
		number = number ? number : gpu_add32(&t->marks, 1);
		u32 marked = flags | GSAN_LINE_SYNC | (number << 4 & GSAN_LINE_MARK), now = gpu_cas32(&line->flags, flags, marked);
		flags = now == flags ? marked : now;
	}
	return flags & GSAN_LINE_MARK;
}

/* Its line lost its mark since the entry was made: memory was freed, or the host emptied the records. RMWs may have passed the entry by
 * since, to the coarse path; and will again, when that happens again. */
ALWAYS int entry_passed(const struct dev_sync *e, u64 canonical)
{
	u32 flags = gpu_load32(&((const struct gsan_line *)(uintptr_t)gsan_shadow(canonical))->flags);
	return (flags & GSAN_LINE_MARK) != gpu_load32(&e->mark);
}

/* The warp, among all that run: launch, CTA, number in it. */
ALWAYS u64 warp_id(const struct gsan_launch *l)
{
	return (u64)l->tag << GSAN_REC_TAG_SHIFT | gpu_cta() << 6 | (1 + gpu_thread() / 32);
}

/* Does this lane hold the lock of the entry, over the operation that it is about to end? */
ALWAYS int sync_held(const struct gsan_launch *l, const struct dev_sync *e)
{
	return gpu_load64(&e->holder) == warp_id(l) && gpu_load32(&e->lanes) >> gpu_lane() & 1;
}

/* From here on it is held over the operation of these lanes. */
ALWAYS void sync_holds(const struct gsan_launch *l, struct dev_sync *e, u32 lanes)
{
	gpu_store32(&e->lanes, lanes);
	gpu_store32(&e->time, 0);
	gpu_store32(&e->ended, gpu_popc(lanes) > 1 ? DEV_MANY : 0);
	gpu_store64(&e->holder, warp_id(l));
}

/* For a CAS of one lane, which may fail: it does not stand in the queue, where whoever ends what it spins for would wait behind it, and behind
 * all that spin with it. For some milliseconds. */
#define HOLD_TRIES 4096u
ALWAYS void sync_try(const struct gsan_launch *l, struct dev_sync *e)
{
	for (u32 tries = 0; tries < HOLD_TRIES && (tries % 256 || !gpu_load32(&own_tables(l)->broken)); tries++) {
		if (lock_try(&e->lock)) {
			sync_holds(l, e, 1u << gpu_lane());
			return;
		}
		lock_pause(tries);
	}
}

/* Locks the entries of the lanes that have one, each once, in the order of their addresses: two warps with several of
 * the same cannot wait for each other. A lane that has the lock waits for nothing but the program's instruction. */
NEVER void sync_hold(const struct gsan_launch *l, struct dev_sync *e, int whole)
{
	u64 mine = (u64)(uintptr_t)e;
	u32 group = gpu_same(whole, mine), before = 0, ranks = 0;
	for (u32 rest = gpu_which(whole, e && gpu_leads(group)); rest; rest &= rest - 1) {
		before += gpu_from64(whole, mine, gpu_first(rest)) < mine;
		ranks++;
	}
	for (u32 rank = 0; rank < ranks; rank++) {
		if (e && before == rank && gpu_leads(group) && (whole || !sync_held(l, e)) && lock_take(l, &e->lock))
			sync_holds(l, e, group);
		gpu_meet(whole);
	}
	if (ranks)
		gpu_fence_sys(); /* whoever sees what the program writes finds the lock taken, or the publication */
}

/* The operations are over, of each lane on its entry, if it has one; the last of a warp's gives the lock back. */
ALWAYS void sync_release(struct dev_sync *e, int whole)
{
	if (!gpu_which(whole, e != 0)) /* loads, mostly */
		return;
	u32 group = gpu_same(whole, (u64)(uintptr_t)e);
	if (!e || !gpu_leads(group))
		return;
	if (!(gpu_and32(&e->lanes, ~group) & ~group)) { /* of a CAS lanes that failed come before those that wrote */
		gpu_store64(&e->holder, 0);
		lock_give(&e->lock);
	}
}

#endif
