/* A CTA enters and leaves: its launch in the launch table, its hash, its state. */
#ifndef GSAN_DEVICE_ENTER_H
#define GSAN_DEVICE_ENTER_H

#include "device/abi.h"
#include "device/caller.h"
#include "device/calls.h"
#include "device/coarse.h"
#include "device/publish.h"
#include "device/state.h"
#include "device/sync.h"

/* CTAs that start late need not look whether their launch's entry is written. */
#define SM_THREADS 2048ull
ALWAYS int comes_early(u64 cta) { return cta * gpu_threads() < gpu_nsmid() * SM_THREADS; } /* the GPU holds no more at once */

/* Where its stream took the coarse path before, a kernel of relaxed operations says so before its first: all CTAs' first would come to
 * gsan_hold at once otherwise. */
NEVER void note_reds(const struct gsan_launch *l, u64 self)
{
	struct dev_tables *t = own_tables(l);
	struct who w = {.launch = l, .self = self & REC_WHO, .reds = self_reds(self)};
	if (gpu_cached64(&t->coarse.slot[coarse_slot(l->participant, l->stream)]))
		coarse_note(&w, t, 0);
}

u64 gsan_enter(u64 launch, u32 flags)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u32 active = gpu_active(), state = 0;
	u64 cta = gpu_cta();
	if (!l->seq) /* nobody's: layout.h */
		return (u64)l->tag << GSAN_REC_TAG_SHIFT | SELF_STATELESS;
	u64 self = (u64)l->tag << GSAN_REC_TAG_SHIFT | (u64)cta_hash(cta, l->seed) << GSAN_REC_CTA_SHIFT |
		   (u64)((flags & GSAN_ENTER_REDS) >> GSAN_ENTER_REDS_SHIFT) << SELF_REDS_SHIFT |
		   (flags & GSAN_ENTER_SYNC ? GSAN_SELF_BEHIND_RED : 0);
	EACH_TURN(active) {
		if (comes_early(cta))
			launch_publish(l);
		if (flags & GSAN_ENTER_REDS && !(flags & GSAN_ENTER_SYNC) && comes_early(cta) && gpu_thread() < 32)
			note_reds(l, self);
		if (flags & GSAN_ENTER_SYNC) { /* whose releases name their launch */
			tag_await(l, l->tag);
			state = state_enter(l, cta, self);
		}
	}
	gpu_meet(active == GPU_WARP); /* now all see the state that one of them made or found; and apart they would go alone from here on */
	if (!(flags & GSAN_ENTER_SYNC))
		return self;
	state = gpu_from(active == GPU_WARP, state, 0);
	return self | (state ? state : SELF_STATELESS);
}

/* The floor rises before the first record that is made behind it (launch_floor). */
u64 gsan_depended(u64 launch, u64 self)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u32 active = gpu_active();
	if (!(l->order.flags & GSAN_ORDER_WAITS))
		return launch;
	EACH_TURN(active) {
		if (!cta_depended(l, self)) {
			launch_floor(l + 1);
			gpu_max32(depended_at(l, self), l->seq);
		}
	}
	gpu_meet(active == GPU_WARP);
	return (u64)(uintptr_t)(l + 1);
}

void gsan_leave(u64 launch, u64 self)
{
	u32 active = gpu_active();
	int whole = active == GPU_WARP;
	struct who w = who_of(launch, self, 0);
	gpu_meet(whole); /* one says for all that they have left the state */
	EACH_TURN(active)
		sync_leave(&w, whole ? gpu_popc(active) : 1);
	gpu_meet(whole);
}

#endif
