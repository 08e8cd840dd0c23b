/* Barriers of a CTA whose warps are told apart (warp_bits): behind one, each of them is behind all that the others did and acquired. The
 * last thread to come sees to that for all, before the barrier opens; where that is one that leaves its kernel, as it leaves. So a
 * barrier costs each warp one addition. */
#ifndef GSAN_DEVICE_BARRIER_H
#define GSAN_DEVICE_BARRIER_H

#include "device/abi.h"
#include "device/caller.h"
#include "device/calls.h"
#include "device/clock.h"
#include "device/lock.h"
#include "device/state.h"

/* Has any warp recorded something, or fenced, since the last one? `open`: is any of them not behind all that was done? */
struct barrier_found { u32 time, others, open, fence[2], fences; }; /* others: the time of all but `own` */
ALWAYS struct barrier_found barrier_find(const struct dev_state *s, u32 warps, u32 own)
{
	struct barrier_found f = {0};
	u32 synced = ~0u;
	for (u32 i = 0; i < warps; i++) {
		const struct dev_warp *warp = &s->warp[i];
		u32 time = gpu_own32(&warp->time), used = gpu_load64(&warp->base) & DEV_BASE_USED, next = time + used;
		u32 its = gpu_own32(&warp->synced);
		synced = its < synced ? its : synced;
		f.time = next > f.time ? next : f.time;
		f.others = i != own && next > f.others ? next : f.others;
		for (u32 k = 0; k < 2; k++) {
			u32 fence = gpu_own32(&warp->fence[k]);
			f.fences |= gpu_own32(&warp->fence_all[k]) < fence;
			f.fence[k] = fence > f.fence[k] ? fence : f.fence[k];
		}
	}
	f.open = synced < f.time; /* or one of them is behind others by itself, and not all are */
	return f;
}

/* The warp has fenced what any did before its time `fence`, and there is nothing of that time: as a fence of its own leaves less of the
 * others (fence_all < fence), such a one is told apart. */
ALWAYS void warp_fenced(struct dev_warp *warp, u32 k, u32 fence)
{
	gpu_store32(&warp->fence[k], fence + 1);
	gpu_store32(&warp->fence_all[k], fence + 1);
}

/* What one of them fenced goes with a relaxed write of any, as if it had fenced what all of them did by then. (PTX has the fence in the
 * thread of the write.) */
ALWAYS void barrier_fences(struct dev_state *s, u32 warps, struct barrier_found *f)
{
	for (u32 k = 0; k < 2; k++)
		for (u32 i = 0; f->fence[k] && i < warps; i++)
			warp_fenced(&s->warp[i], k, f->fence[k]);
	for (u32 k = 0; k < 2; k++) /* what comes behind the barrier is not among it */
		f->time = f->fence[k] + 1 > f->time ? f->fence[k] + 1 : f->time;
}

/* All threads of the CTA have come, or left. Under the state's lock. */
NEVER void barrier_opens(const struct who *w)
{
	struct dev_state *s = w->state;
	u32 warps = (gpu_threads() + 31) / 32;
	struct barrier_found f = barrier_find(s, warps, w->warp);
	if (f.fences)
		barrier_fences(s, warps, &f);
	if ((f.open || f.fences) && time_reaches(w, f.time))
		for (u32 i = 0; i < warps; i++) {
			time_set(w, i, f.time);
			gpu_store32(&s->warp[i].synced, f.time);
		}
	if (!gpu_own32(&s->parted))
		return;
	for (u32 i = 0; i < gpu_own32(&s->clock.count) && i < DEV_CLOCK; i++)
		gpu_store32(&s->clock_warps[i], ~0u);
	for (u32 i = 0; i < gpu_own32(&s->pendings) && i < DEV_PENDING; i++)
		gpu_store32(&s->pending_warps[i], ~0u);
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

/* This warp may have waited for any other of its CTA, by means that are not followed: it counts as behind all that they have done. */
NEVER void barrier_behind(const struct who *w)
{
	struct dev_state *s = w->state;
	struct dev_warp *own = own_warp(w);
	if (!state_take(w))
		return;
	struct barrier_found f = barrier_find(s, (gpu_threads() + 31) / 32, w->warp);
	u32 time = 0;
	for (u32 k = 0; k < 2; k++)
		if (f.fence[k] > gpu_own32(&own->fence[k])) {
			warp_fenced(own, k, f.fence[k]);
			time = f.fence[k] + 1 > time ? f.fence[k] + 1 : time;
		}
	if (time || f.others > gpu_own32(&own->synced))
		warp_reach(w, f.time > time ? f.time : time);
	warp_learn(w);
	state_give(w);
}

/* For the lanes that are active: one for all of a whole warp. */
#define BARRIER_EACH(launch, self, w, call) \
	struct who w = who_of(launch, self, 0); \
	u32 active = gpu_active(); \
	int whole = active == GPU_WARP; \
	if (!w.state || !w.launch->warp_bits) \
		return; \
	gpu_meet(whole); /* one says for all that they have come */ \
	EACH_TURN(active) \
		call; \
	gpu_meet(whole)

void gsan_behind(u64 launch, u64 self)
{
	BARRIER_EACH(launch, self, w, barrier_behind(&w));
}

void gsan_barrier(u64 launch, u64 self)
{
	BARRIER_EACH(launch, self, w, barrier_arrive(&w, whole ? gpu_popc(active) : 1));
}

#endif
