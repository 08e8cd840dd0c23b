/* What the launches of a stream acquired while they ran: order for the launches behind them (order.h walks through it). */
#ifndef GSAN_DEVICE_INHERIT_H
#define GSAN_DEVICE_INHERIT_H

#include "device/elem_order.h"
#include "device/elems.h"
#include "device/lock.h"

ALWAYS struct elems acquired_elems(struct dev_acquired *a)
{
	return (struct elems){.word = &a->item[0].elem, .count = &a->count, .changing = &a->changing, .room = DEV_ACQUIRED, .kind = ELEMS_BY, .whose = KNOWN_TO_ALL};
}

/* Items that l's floor includes become one: what is before l. The rest is as it was. */
NEVER void acquired_sweep(const struct gsan_launch *l, const struct elems *s)
{
	u32 n = gpu_load32(s->count), by = ~0u, kept = 0;
	elems_change(s);
	for (u32 i = 0; i < n; i++) {
		u64 elem = elems_at(s, i), with = elems_with(s, i);
		if (elem_below_floor(l, elem))
			by = (u32)with < by ? (u32)with : by;
		else
			elems_put(s, kept++, elem, with);
	}
	if (by != ~0u)
		elems_put(s, kept++, elem_start(l->tag), (u64)l->seq << 32 | by);
	gpu_store32(s->count, kept);
	elems_change(s);
}

/* Is it there, or one that includes it? Without the lock, for all CTAs of a launch come with the same: an item goes only where another
 * includes it. */
ALWAYS int acquired_has(const struct gsan_launch *l, const struct elems *s, u64 elem, u64 with)
{
	u32 n = gpu_load32(s->count);
	for (u32 i = 0; i < n && i < DEV_ACQUIRED; i++) {
		u64 old, its;
		gpu_load128(&s->word[2 * i], &old, &its);
		if (elem_within(l, elem, old, 0) && with_within(s, with, its))
			return 1;
	}
	return 0;
}

/* Takes the lock for it, unless it is there: all threads of a launch may come with the same at once, and only the first has something to add. So they do
 * not queue, at first. 0: it is there, or the lock was given up. */
#define ACQUIRED_TRIES 65536u
NEVER int acquired_take(const struct gsan_launch *l, u32 *lock, const struct elems *s, u64 elem, u64 with)
{
	for (u32 tries = 0; tries < ACQUIRED_TRIES; tries++) {
		if (acquired_has(l, s, elem, with))
			return 0;
		if (lock_try(lock))
			return 1;
		lock_pause(tries);
	}
	return lock_take(l, lock);
}

/* Launches of that stream from number `by` on acquired it, and those behind inherit it. 1: that was not known. */
NEVER int acquired_by(const struct gsan_launch *l, u32 participant, u32 stream, u32 by, u64 elem)
{
	struct dev_tables *t = dev_tables(participant);
	struct dev_acquired *a = &t->acquired[stream];
	struct elems s = acquired_elems(a);
	u64 with = (u64)elem_seq(l, elem) << 32 | by;
	elem = elem_bare(elem);
	if (!acquired_take(l, &a->lock, &s, elem, with))
		return 0;
	if (gpu_load32(s.count) == s.room && participant == l->participant && stream == l->stream)
		acquired_sweep(l, &s);
	gpu_or32(&t->streams_acquired[stream / 32], 1u << stream % 32); /* first: who finds the item there (acquired_has) asks for order at once */
	gpu_fence_sys();
	elems_add(l, &s, elem, with);
	lock_give(&a->lock);
	return 1;
}

/* Launches behind this one in its stream inherit what it acquires. */
ALWAYS void acquired_add(const struct gsan_launch *l, u64 elem) { acquired_by(l, l->participant, l->stream, l->seq, elem); }

/* Launches behind this one inherit that it is ordered after everything: all that has begun by now. */
NEVER void acquired_everything(const struct gsan_launch *l)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped), newest = (u32)gpu_load64(&dev_tables(p)->newest);
		if (newest)
			acquired_add(l, elem_prefix(p, newest));
	}
}

#endif
