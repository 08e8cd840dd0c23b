/* The locks of shared structures: given out in turn, given up if the holder is gone. That of a CTA's state is among its threads, who
 * share an L1: what is theirs stays there. */
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

/* Who looks again at a lock waits so many times LOCK_NS, LOCK_NS_MOST at most. */
#define LOCK_NS 100u
#define LOCK_NS_MOST 2000u
ALWAYS void lock_pause(u32 times)
{
	u32 ns = times * LOCK_NS;
	gpu_sleep(ns < LOCK_NS_MOST ? ns : LOCK_NS_MOST);
}

/* Waits for the turn `taken`; those far behind look less often. 0: the holder, or one before it, does not come any more, its process
 * died: for so long no turn has ended. Nobody takes its place, for what it left there may be half of something: what was to be done is left undone, and from here on
 * no participant whose order that may concern takes a turn or reports anything. */
#define LOCK_TRIES (1u << 25) /* half a minute; whoever was preempted comes again */
NEVER int lock_wait(const struct gsan_launch *l, const u32 *lock, u32 taken)
{
	u32 ahead = turn_ahead(taken, taken);
	for (u32 tries = 0; tries < LOCK_TRIES && (tries % 256 || !gpu_load32(&own_tables(l)->broken)); tries++) {
		lock_pause(ahead);
		u32 before = ahead;
		ahead = turn_ahead(taken, gpu_load32(lock));
		if (!ahead)
			return 1;
		tries = ahead == before ? tries : 0;
	}
	order_broken(l);
	return 0;
}

/* 0: it was given up. Inline: at the head of a function of its own, ptxas 12.8 leaves this atomic the address descriptor of its callers, in
 * uniform registers that the warp's other lanes write meanwhile (CUDA error 715; tests/unit/ptxas/uniform.py). */
ALWAYS int lock_take(const struct gsan_launch *l, u32 *lock)
{
	u32 taken = gpu_add32_acquire(lock, TURN_NEXT);
	if (!turn_ahead(taken, taken))
		return 1;
	if (!lock_wait(l, lock, taken))
		return 0;
	gpu_acquire32(lock); /* what was released is before what follows */
	return 1;
}
/* Has nobody it, nor waits? What was released with it is before what follows. */
ALWAYS int lock_is_free(const u32 *lock)
{
	u32 turns = gpu_acquire32(lock);
	return !turn_ahead(turns, turns);
}
/* Takes it if nobody has it, nor waits: whoever queues comes first. */
ALWAYS int lock_try(u32 *lock)
{
	u32 turns = gpu_load32(lock);
	if (turn_ahead(turns, turns) || gpu_cas32(lock, turns, turns + TURN_NEXT) != turns)
		return 0;
	gpu_acquire32(lock);
	return 1;
}
/* So many have it, or wait for it. */
ALWAYS u32 lock_queue(const u32 *lock)
{
	u32 turns = gpu_load32(lock);
	return turn_ahead(turns, turns);
}
/* By its holder: do others wait for it? */
ALWAYS int lock_wanted(const u32 *lock) { return lock_queue(lock) > 1 || gpu_crowded(); }
ALWAYS void lock_give(u32 *lock) { gpu_add32_release(lock, turn_over(lock)); }

/* Of this CTA's state. */
NEVER int state_take(const struct who *w)
{
	u32 *lock = &w->state->lock, taken = gpu_add32_acquire_cta(lock, TURN_NEXT);
	if (!turn_ahead(taken, taken))
		return 1;
	if (!lock_wait(w->launch, lock, taken))
		return 0;
	gpu_acquire32_cta(lock);
	return 1;
}
ALWAYS void state_give(const struct who *w) { gpu_add32_release_cta(&w->state->lock, turn_over(&w->state->lock)); }

#endif
