/* The clock of a CTA: what it joins, what counts once an operation is over, and what goes to the launches behind. */
#ifndef GSAN_DEVICE_CLOCK_H
#define GSAN_DEVICE_CLOCK_H

#include "device/elem_order.h"
#include "device/elems.h"
#include "device/inherit.h"
#include "device/state.h"
#include "device/warps.h"

ALWAYS struct elems clock_elems(const struct who *w)
{
	struct dev_state *s = w->state;
	return (struct elems){.word = s->clock.elem, .count = &s->clock.count, .changing = &s->clock.changing, .state = s, .room = DEV_CLOCK,
			      .known = w->launch->warp_bits ? s->clock_known : 0, .whose = who_warps(w)};
}

/* The CTA's time that an element of its own has. */
ALWAYS u32 elem_time(const struct who *w, u64 elem)
{
	u32 bits = w->launch->warp_bits;
	if (!tag_private(w->launch, rec_tag(elem)))
		return rec_epoch(elem) >> bits;
	return gpu_load32(&tag_launch(w->launch, rec_tag(elem))->first) + (rec_value(elem) >> bits);
}

/* An element of this CTA. Of another warp: what came before it, of any warp, is before what this one does next, for it may be a flag
 * among the CTA's own. Later than this warp is, it is another CTA's, whose hash is the same: from here on this one counts as later, so
 * that what it releases has that, too. */
NEVER void clock_join_own(const struct who *w, u64 elem)
{
	u32 bits = w->launch->warp_bits, time = elem_time(w, elem);
	int other = bits && elem_warp(elem, bits) != w->warp;
	if (!time || elem_of_many(elem))
		return;
	if (other || time > gpu_own32(&own_warp(w)->time)) {
		warp_reach(w, w->warp, bits ? time + 1 : time);
		if (!bits)
			gpu_or64(&own_warp(w)->base, DEV_BASE_USED);
	}
	if (other)
		warps_tell(w->state, WARPS_ALL, who_warps(w), 0);
}

/* Is it of what this warp itself did by now? By its words alone. Under the launch's tag all is, once a private one was drawn. */
ALWAYS u32 elem_is_mine(const struct who *w, u64 elem)
{
	u32 private = (w->base ^ w->self) >> GSAN_REC_TAG_SHIFT != 0;
	u64 from = private ? w->base & ~0ull << GSAN_REC_TAG_SHIFT : w->base & REC_WHO;
	u32 by_now = (elem & REC_STAMP) - from <= w->base - from, first = private & !((elem ^ w->self) & REC_WHO);
	return (by_now | first) & (u32)stamp_same_warp(elem, w->base, w->launch->warp_bits) & (u32)!elem_of_many(elem);
}
/* Or of launches before this one? Then it is before all that this warp does next anyway: most of what a location has is so, where few
 * threads use it. */
ALWAYS u32 elem_is_nothing(const struct who *w, u64 elem) { return elem_is_mine(w, elem) | (u32)elem_below_floor(w->launch, elem); }

/* Joins one element into the CTA's clock, for those whom `whose` says; what its launch's base clock already has is not kept. Returns where it
 * is, as elems_add(). */
NEVER u32 clock_join_for(const struct who *w, u64 elem, u64 whose)
{
	const struct gsan_launch *l = w->launch;
	struct elems s = clock_elems(w);
	s.whose = whose;
	if (elem_below_floor(l, elem))
		return ELEMS_NOWHERE;
	if (elem_is_own(w, elem)) {
		if (!(whose & KNOWN_FORMALLY))
			clock_join_own(w, elem);
		return ELEMS_NOWHERE;
	}
	if (l->mapped >> elem_owner(l, elem) & 1) {
		warps_part(w);
		return elems_add(l, &s, elem_bare(elem), 0);
	}
	gpu_or32(&w->state->clock.flags, DEV_CLOCK_EVERYTHING);
	acquired_add(l, elem_prefix(elem_owner(l, elem), ~0u)); /* a launch behind this one may be able to ask about it */
	return ELEMS_NOWHERE;
}

ALWAYS u32 clock_join(const struct who *w, u64 elem) { return clock_join_for(w, elem, who_warps(w)); }

/* After the check of the strong operation that observed them: fresh elements count for what follows. */
NEVER void clock_settle(const struct who *w)
{
	struct elems s = clock_elems(w);
	for (u32 i = 0; i < gpu_own32(s.count);) {
		u32 n = gpu_own32(s.count);
		u64 e = elems_at(&s, i), settled = elem_settled(e);
		if (settled != e) {
			elems_put(&s, i, settled, 0);
			elems_only(w->launch, &s, i);
		}
		i = gpu_own32(s.count) == n ? i + 1 : 0; /* where some were taken out, one not seen yet may stand before */
	}
	gpu_store32(&w->state->fresh, 0);
}

/* What this CTA has acquired by now, and had not when this was called last, goes to the launches behind its own. */
NEVER void acquired_clock(const struct who *w)
{
	const struct dev_clock *c = &w->state->clock;
	u32 n = gpu_own32(&c->count);
	u64 passed = gpu_own64(&w->state->passed);
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 elem = elem_settled(gpu_own64(&c->elem[i]));
		if (!(passed >> i & 1) && !elem_inherited(w->launch, elem))
			acquired_add(w->launch, elem);
	}
	gpu_store64(&w->state->passed, n < 64 ? (1ull << n) - 1 : ~0ull);
	if (gpu_load32(&c->flags) & DEV_CLOCK_EVERYTHING)
		acquired_everything(w->launch);
}

#endif
