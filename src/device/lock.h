/* The locks of shared structures: given out in turn, given up if the holder is gone. */
#ifndef GSAN_DEVICE_LOCK_H
#define GSAN_DEVICE_LOCK_H

#include "device/who.h"

/* Somebody died between two steps that belong together: nothing that this may concern is known any more. */
NEVER void order_broken(const struct gsan_launch *l)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1)
		gpu_store32(&dev_tables(gpu_first(mapped))->broken, 1);
	count(l, GSAN_N_LOCKS, 1);
}

/* Waits for its turn at the lock of a shared structure; those far behind look less often. 0: the holder, or one before it, does not
 * come any more, its process died. Nobody takes its place, for what it left there may be half of something: what was to be done is
 * left undone, and from here on no participant whose order that may concern takes a turn or reports anything. */
#define LOCK_TRIES (1u << 25) /* half a minute; whoever was preempted comes again */
#define LOCK_NS 100u
#define LOCK_NS_MOST 2000u
NEVER int lock_take(const struct gsan_launch *l, u32 *lock)
{
	u32 taken = turn_take(lock), ahead = turn_ahead(taken, taken);
	if (!ahead)
		return 1;
	for (u32 tries = 0; tries < LOCK_TRIES && (tries % 256 || !gpu_load32(&own_tables(l)->broken)); tries++) {
		u32 ns = ahead * LOCK_NS;
		gpu_sleep(ns < LOCK_NS_MOST ? ns : LOCK_NS_MOST);
		ahead = turn_ahead(taken, gpu_load32(lock));
		if (ahead)
			continue;
		gpu_acquire32(lock); /* what was released is before what follows */
		return 1;
	}
	order_broken(l);
	return 0;
}

#endif
