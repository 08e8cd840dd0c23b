/* Barriers of a CTA whose warps are told apart (warp_bits): behind one, each of them is behind all that the others did and acquired. The
 * last thread to come sees to that for all, before the barrier opens; where that is one that leaves its kernel, as it leaves. So a
 * barrier costs each warp one addition. */
#ifndef GSAN_DEVICE_BARRIER_H
#define GSAN_DEVICE_BARRIER_H

#include "device/acquire.h"
#include "device/lock.h"
#include "device/state.h"
#include "device/warps.h"

/* The time behind all that any warp did, but for `own`; and behind what it fenced, too, so that nothing behind the barrier seems to be
 * among that. `open`: is any of them not behind all that was done? */
struct barrier_found { u32 time, others, open; };
ALWAYS struct barrier_found barrier_find(const struct dev_state *s, u32 warps, u32 own)
{
	struct barrier_found f = {0};
	u32 synced = ~0u;
	for (u32 i = 0; i < warps; i++) {
		const struct dev_warp *warp = &s->warp[i];
		u32 time = gpu_own32(&warp->time), used = gpu_load64(&warp->base) & DEV_BASE_USED, next = time + used, its = gpu_own32(&warp->synced);
		f.others = i != own && next > f.others ? next : f.others;
		for (u32 k = 0; k < 2; k++)
			next = gpu_own32(&warp->fence[k]) >= next ? gpu_own32(&warp->fence[k]) + 1 : next;
		f.time = next > f.time ? next : f.time;
		synced = its < synced ? its : synced;
	}
	f.open = synced < f.time; /* or one of them is behind others by itself, and not all are */
	return f;
}

/* All threads of the CTA have come, or left. Under the state's lock. */
NEVER void barrier_opens(const struct who *w)
{
	struct dev_state *s = w->state;
	u32 warps = cta_warps();
	struct barrier_found f = barrier_find(s, warps, w->warp);
	if (f.open && time_reaches(w, f.time))
		for (u32 i = 0; i < warps; i++) {
			time_set(w, i, f.time);
			gpu_store32(&s->warp[i].synced, f.time);
		}
	for (u32 i = 0; i < warps && gpu_own32(&s->kept_scope); i++) /* any has fenced */
		gpu_store64(s->warp[i].fence_met, gpu_own64((const u64 *)s->warp[i].fence));
	pending_formally(w, WARPS_ALL, WARPS_ALL);
	int news = warps_tell(s, WARPS_ALL, WARPS_ALL, ~(WARPS_ALL | KNOWN_FORMALLY)); /* places know nothing that all do not */
	struct elems clock = clock_elems(w);
	if (news) /* what all knew of a CTA before is among what one warp has acquired since */
		elems_prune(w->launch, &clock);
	gpu_store32(&s->parted, 0);
}

/* Those that wait go on: from here the count is of the next barrier. */
ALWAYS void barrier_open(const struct who *w, u32 waiting)
{
	gpu_fence_cta(); /* all that the others did there */
	if (state_take(w)) {
		barrier_opens(w);
		state_give(w);
	}
	gpu_add32(&w->state->threads, 0u - (waiting << STATE_WAITING_SHIFT));
	gpu_fence_cta();
}

/* `threads` more of the CTA have come. */
NEVER void barrier_arrive(const struct who *w, u32 threads)
{
	gpu_fence_cta();
	u32 come = threads << STATE_WAITING_SHIFT, now = gpu_add32(&w->state->threads, come) + come;
	if (state_all(now))
		barrier_open(w, state_waiting(now));
}

/* This warp may have waited for any other of its CTA, by means that are not followed: it counts as behind all that they have done, and
 * where it did wait, formally as behind a barrier. */
NEVER void barrier_behind(const struct who *w, int formally)
{
	struct dev_state *s = w->state;
	if (!state_take(w))
		return;
	struct barrier_found f = barrier_find(s, cta_warps(), w->warp);
	if (formally)
		pending_formally(w, WARPS_ALL, who_warps(w));
	if (f.others > gpu_own32(&own_warp(w)->synced))
		warp_reach(w, w->warp, f.others);
	warps_tell(s, WARPS_ALL, who_warps(w), 0);
	state_give(w);
}

#endif
