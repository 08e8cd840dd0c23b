/* What each call of a clone (abi.h) begins with: who calls, and which lanes go together. */
#ifndef GSAN_DEVICE_CALLER_H
#define GSAN_DEVICE_CALLER_H

#include "device/abi.h"
#include "device/calls.h"
#include "device/shadow.h"
#include "device/state.h"

#define SELF_STATELESS (1ull << 32)
#define SELF_REDS_SHIFT 33u /* 4 bits, of GSAN_ENTER_REDS */

ALWAYS u32 self_reds(u64 self) { return (u32)(self >> SELF_REDS_SHIFT) & 15; }

/* Calls that bring `quick` take it from the clone's parameter, which costs nothing: 0 if the record lies elsewhere (layout.h). */
ALWAYS u32 quick_of(u64 launch, u32 quick) { return quick ? quick : ((const struct gsan_launch *)(uintptr_t)launch)->quick; }

ALWAYS struct dev_state *caller_state(const struct gsan_launch *l, u64 self) { return (u32)self ? &own_tables(l)->state[(u32)self - 1] : 0; }

/* Who calls; with `records`, records of this CTA follow. */
ALWAYS struct who who_of(u64 launch, u64 self, int records)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)launch, .self = self & REC_WHO};
	w.base = w.self | (self & SELF_STATELESS ? 0 : 1ull << GSAN_REC_EPOCH_SHIFT);
	if ((u32)self) {
		w.state = caller_state(w.launch, self);
		w.warp = launch_warp(w.launch);
		w.base = state_base(w.state, w.warp, records);
	}
	w.stateless = (self & SELF_STATELESS) != 0;
	w.reds = self_reds(self);
	w.behind_red = (self & GSAN_SELF_BEHIND_RED) != 0;
	return w;
}

/* Do all lanes of a whole warp bring the same? Those that came here from other instructions may run along. */
ALWAYS int warp_agrees(u32 word) { return gpu_ballot(word == gpu_shfl(word, 0)) == GPU_WARP; }

ALWAYS void count_accesses(const struct who *w, u32 made, u32 checked)
{
	if (checked)
		gpu_count(&own_spread(w->launch, w->self)->checked, checked);
	if (made != checked)
		count(w->launch, GSAN_N_FOREIGN, made - checked);
}

#endif
