/* CTA states: what a CTA of a synchronising kernel keeps between its operations. The first warp of the CTA makes it, in
 * one of the 16 places of its bucket, the last thread to leave frees it. And a CTA's time: its epochs, and what happens
 * when they are used up: the CTA draws a private tag, whose 19 bits of CTA and epoch are its own alone. */
#ifndef GSAN_DEVICE_STATE_H
#define GSAN_DEVICE_STATE_H

#include "device/launch.h"
#include "device/lock.h"

/* A CTA's number mixed to 10 bits; the first 1024 CTAs differ, and which of the further ones look alike is the seed's choice. Of each 1024 one
 * has a given hash. */
ALWAYS u32 cta_mix(u64 cta, u32 seed) { return (u32)(cta >> GSAN_CTA_BITS) * (seed * 0x9e3779b0u + 0x78e38e4du) >> (32 - GSAN_CTA_BITS); }
ALWAYS u32 cta_hash(u64 cta, u32 seed) { return ((u32)cta ^ cta_mix(cta, seed)) & ((1u << GSAN_CTA_BITS) - 1); }
ALWAYS u64 cta_of_hash(u64 block, u32 hash, u32 seed) { return block << GSAN_CTA_BITS | (hash ^ cta_mix(block << GSAN_CTA_BITS, seed)); }

/* Index + 1 of a CTA's state, by its key; 0: it has none. */
ALWAYS u64 state_key(u32 seq, u64 cta) { return (u64)seq << 32 | (u32)(cta + 1); }
ALWAYS u32 state_bucket(u64 key) { return (u32)mix64(key) & (DEV_BUCKETS - 1); }
NEVER u32 state_find(struct dev_tables *t, u64 key, u32 bucket)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < DEV_BUCKET; i++)
		if (gpu_load64(&t->state[bucket * DEV_BUCKET + i].key) == key)
			return bucket * DEV_BUCKET + i + 1;
	return 0;
}

/* Lists are empty by their counts. */
ALWAYS u32 time_first(const struct gsan_launch *l) { return l->first_epoch >> l->warp_bits ? l->first_epoch >> l->warp_bits : 1; }
ALWAYS u64 time_epoch(const struct gsan_launch *l, u32 time, u32 warp) { return (u64)(time << l->warp_bits | warp) << GSAN_REC_EPOCH_SHIFT; }
ALWAYS void state_reset(struct dev_state *s, const struct gsan_launch *l, u64 self)
{
	u64 *word = (u64 *)s;
	u32 first = time_first(l);
	for (u32 i = 1; i < __builtin_offsetof(struct dev_state, clock.elem) / 8; i++)
		gpu_store64(word + i, 0);
	gpu_store64(&s->fenced.count, 0);
	for (u32 i = 0; i < 1u << l->warp_bits; i++) {
		gpu_store64(&s->warp[i].base, (self & REC_WHO) | time_epoch(l, first, i));
		gpu_store32(&s->warp[i].time, first);
		gpu_store32(&s->warp[i].synced, l->warp_bits ? first : 0);
		gpu_store64(s->warp[i].fence, 0);
		gpu_store64(s->warp[i].fence_all, 0);
		gpu_store64(s->warp[i].fence_met, 0);
		gpu_store64(&s->warp[i].spun, 0);
	}
}

/* Index + 1 of the state of this CTA; the first warp makes it. 0: its bucket is full, or was: then other warps of the CTA may be
 * without it, and what they acquire would be missing in a state that comes later. */
NEVER u32 state_enter(const struct gsan_launch *l, u64 cta, u64 self)
{
	struct dev_tables *t = own_tables(l);
	u64 key = state_key(l->seq, cta);
	u32 bucket = state_bucket(key);
	u32 found = state_find(t, key, bucket);
	if (found) {
		gpu_fence_sys(); /* its key was written last */
		return found;
	}
	if (!lock_take(l, &t->bucket_lock[bucket]))
		return 0;
	found = state_find(t, key, bucket);
	if (!found && gpu_load32(&t->bucket_full[bucket]) < l->seq)
		found = state_find(t, 0, bucket);
	if (!found)
		gpu_max32(&t->bucket_full[bucket], l->seq);
	if (found && gpu_load64(&t->state[found - 1].key) != key) {
		gpu_fence_sys(); /* after all that its last CTA did there */
		state_reset(&t->state[found - 1], l, self);
		gpu_fence_sys();
		gpu_store64(&t->state[found - 1].key, key);
	}
	lock_give(&t->bucket_lock[bucket]);
	if (!found)
		count(l, GSAN_N_STATE_FULL, 1);
	return found;
}

/* `threads` more have left. LEFT_LAST: they are the last of the CTA, whose state is to be freed; LEFT_OTHERS_WAIT: all others wait at a
 * barrier, which opens when these are gone. */
#define STATE_WAITING_SHIFT 16u
enum left { LEFT, LEFT_LAST, LEFT_OTHERS_WAIT };
ALWAYS u32 state_waiting(u32 threads) { return threads >> STATE_WAITING_SHIFT; }
ALWAYS u32 state_left(u32 threads) { return threads & ((1u << STATE_WAITING_SHIFT) - 1); }
ALWAYS int state_all(u32 threads) { return state_waiting(threads) + state_left(threads) == gpu_threads(); }
ALWAYS enum left state_leaves(struct dev_state *s, u32 threads)
{
	gpu_fence_sys(); /* what this warp stored there is before what the next CTA does */
	u32 now = gpu_add32(&s->threads, threads) + threads;
	if (!state_all(now))
		return LEFT;
	gpu_fence_sys();
	return state_waiting(now) ? LEFT_OTHERS_WAIT : LEFT_LAST;
}

ALWAYS void state_free(const struct gsan_launch *l, struct dev_state *s)
{
	u32 meeting = gpu_load32(&s->meeting);
	gpu_fence_sys();
	if (meeting && meeting != MEETING_NONE)
		gpu_store64(&own_tables(l)->meeting[meeting - 1].key, 0);
	gpu_store64(&s->key, 0);
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

/* Upper bits of the records and elements of a warp of this CTA at `time`. */
ALWAYS struct dev_warp *own_warp(const struct who *w) { return &w->state->warp[w->warp]; }
ALWAYS u32 time_most(const struct gsan_launch *l) { return GSAN_EPOCH_MAX >> l->warp_bits; } /* under the launch's tag */
NEVER u64 state_stamp_of(const struct who *w, u32 time, u32 warp)
{
	u32 tag = gpu_own32(&w->state->private_tag);
	if (time <= time_most(w->launch))
		return (w->self & REC_WHO) | time_epoch(w->launch, time, warp);
	const struct dev_launch *e = tag_launch(w->launch, tag - 1);
	u32 first = gpu_load32(&e->first);
	while (time <= first) {
		tag = gpu_load32(&e->previous);
		e = tag_launch(w->launch, tag - 1);
		first = gpu_load32(&e->first);
	}
	return (u64)(tag - 1) << GSAN_REC_TAG_SHIFT | time_epoch(w->launch, time - first, warp);
}
ALWAYS u64 state_stamp(const struct who *w, u32 time) { return state_stamp_of(w, time, w->warp); }

/* Makes the launch table's entry of a private tag, claimed by this CTA: its launch's, and what makes it private. */
NEVER void private_publish(const struct who *w, struct dev_launch *e, u32 first)
{
	const struct gsan_launch *l = w->launch;
	gpu_store32(&e->seq, 0);
	launch_fill(launch_whole(l), e);
	gpu_store64(&e->cta, gpu_load64(&w->state->key));
	gpu_store64(&e->origin, w->self & REC_WHO);
	gpu_store32(&e->first, first);
	gpu_store32(&e->previous, gpu_load32(&w->state->private_tag));
	gpu_fence_sys();
	gpu_release32(&e->seq, l->seq);
	gpu_fence_sys();
}

/* A tag for this CTA alone, from behind the launches of its half: one never used, or one whose last owner's records were
 * swept away before this launch. 1: time goes on under it. */
#define PRIVATE_TRIES 64u
NEVER int private_draw(const struct who *w, u32 time)
{
	const struct gsan_launch *l = w->launch;
	u32 half = 1u << (l->tag_bits - 1), room = half / 8, base = (l->seq & half) + half - room;
	for (u32 i = 0; i < PRIVATE_TRIES && i < room; i++) {
		u32 tag = base + gpu_add32(&own_tables(l)->privates, 1) % room;
		struct dev_launch *e = &own_tables(l)->launch[tag & (DEV_LAUNCHES - 1)];
		u32 claim = gpu_load32(&e->claim);
		if ((claim && claim >= l->swept) || gpu_cas32(&e->claim, claim, l->seq) != claim)
			continue;
		private_publish(w, e, time);
		gpu_store32(&w->state->private_tag, (gsan_tag_head(l->rank_bits, l->participant) << l->tag_bits | tag) + 1);
		return 1;
	}
	return 0;
}

/* The upper bits of the records that this warp makes now; with `records`, some follow, and the epoch does not count as empty. If another
 * lane's fence has ended it meanwhile, its successor does not, which harms nobody. */
ALWAYS u64 state_base(struct dev_state *s, u32 warp, int records)
{
	u64 base = gpu_load64(&s->warp[warp].base);
	if (records && !(base & DEV_BASE_USED))
		gpu_or64(&s->warp[warp].base, DEV_BASE_USED);
	return base & REC_STAMP;
}

/* Which records of its own CTA, of the tag that it has now, a warp is behind: its own, and those of other warps below this time, as an
 * epoch has it. One word may be older than another: then of two records the wrong one stays, perhaps. */
ALWAYS int state_synced(const struct dev_state *s, u32 warp, u64 base, u32 bits)
{
	const struct dev_warp *own = &s->warp[warp];
	return (int)(rec_epoch(base) >> bits) - (int)(gpu_load32(&own->time) - gpu_load32(&own->synced));
}
ALWAYS int rec_behind(u64 base, u64 rec, u32 bits, int synced)
{
	return stamp_same_warp(base, rec, bits) | ((int)(rec_epoch(rec) >> bits) < synced);
}

/* May a warp's time be `time`? Under the state's lock. 0: it stands still, for no private tag was free; from here on too much counts as
 * released. */
NEVER int time_reaches(const struct who *w, u32 time)
{
	u32 tag = gpu_own32(&w->state->private_tag), last = time_most(w->launch), more = PRIVATE_VALUES >> w->launch->warp_bits;
	if (tag)
		last = gpu_load32(&tag_launch(w->launch, tag - 1)->first) + more;
	if (time <= last || (time - last <= more && private_draw(w, last))) /* other warps may need the times between */
		return 1;
	count(w->launch, GSAN_N_EPOCH_FULL, 1);
	gpu_store32(&w->state->saturated, 1);
	return 0;
}
NEVER void time_set(const struct who *w, u32 warp, u32 time)
{
	gpu_store32(&w->state->warp[warp].time, time);
	gpu_store64(&w->state->warp[warp].base, state_stamp_of(w, time, warp));
}

/* Ends the warp's epoch if anything was recorded in it, or if it is the first behind a barrier: then what comes before it, of other warps,
 * and what comes later, of this one, are told apart. Under the state's lock. Returns the last time that is complete. */
NEVER u32 epoch_end(const struct who *w)
{
	struct dev_warp *own = own_warp(w);
	u32 time = gpu_own32(&own->time);
	if (!(gpu_load64(&own->base) & DEV_BASE_USED) && time != gpu_own32(&own->synced))
		return time - 1;
	if (time_reaches(w, time + 1))
		time_set(w, w->warp, time + 1);
	return time;
}

/* Behind a strong write: one that follows must differ from it, which may be observed by itself. While epochs are plenty. */
ALWAYS int epochs_plenty(const struct who *w) { return gpu_load32(&own_warp(w)->time) < time_most(w->launch) / 2; }
ALWAYS void epoch_part(const struct who *w)
{
	if (epochs_plenty(w))
		epoch_end(w);
}

#endif
