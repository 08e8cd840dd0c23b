/* Weak accesses as lines that the clone recognised (gsan_lines): the hot path (docs/hot-path.md). */
#ifndef GSAN_DEVICE_LINES_H
#define GSAN_DEVICE_LINES_H

#include "device/abi.h"
#include "device/caller.h"
#include "device/calls.h"
#include "device/desc.h"
#include "device/foreign.h"
#include "device/report.h"
#include "device/shadow.h"
#include "device/state.h"

/* The general case of one line, and a record that an exchange took out of it unseen. */
NEVER void line_general(u64 launch, u64 self, u64 line, u32 desc, u32 mask, u64 replaced)
{
	struct who w = who_of(launch, self | GSAN_SELF_BEHIND_RED, 1); /* one of the lanes whose line it is may be */
	struct access a = {.address = line, .mask = mask, .op = desc_op(desc), .site = desc & 0xffff,
			   .bytes = desc_bytes(desc), .whole = 1};
	const struct gsan_line *shadow = (const struct gsan_line *)(uintptr_t)gsan_shadow(line);
	check(&w, replaced, rec_mask(replaced), &a, &shadow->write);
	line_access(&w, &a);
	report_reasons(&w);
}

/* May `me` be put over this read at once? Empty, or ordered before, or of the same CTA, with no more bytes. */
ALWAYS int is_free(u32 quick, u64 rec, u64 me)
{
	return ((rec_mask(rec) & ~(u32)me) == 0) & is_quiet(quick, me, rec);
}

/* Is it of another warp of this CTA? Whether this one is behind that, the general case asks (rec_of_others). */
ALWAYS int is_of_others(const struct gsan_launch *l, u64 rec, u64 me)
{
	return quick_is_own(me, rec) & !stamp_same_warp(rec, me, l->warp_bits);
}

/* A load: itself among the sampled reads, in the place of *gone. 1: it is there now, and has to look at the last write once more. */
ALWAYS int line_load(const struct gsan_launch *l, u32 quick, struct gsan_line *at, u64 me, u64 tail, u64 r0, u64 r1, u64 line, u64 *gone)
{
	if (r0 == me || r1 == me)
		return 0;
	line_mark(at, tail, GSAN_LINE_READ);
	int free0 = is_free(quick, r0, me), place;
	if (free0 || is_free(quick, r1, me)) {
		gpu_store64(&at->read[free0 ? 0 : 1], me);
		*gone = free0 ? r0 : r1;
		return 1;
	}
	place = place_drawn(l, me, r0, r1, line, 1);
	if (place >= 0)
		gpu_store64(&at->read[place], me);
	*gone = place ? r1 : r0;
	return place >= 0;
}

/* `line`: as abi.h says of gsan_lines, canonical. Two waits: for the record, and for a second look
 * once ours stands there, because somebody may have come between and seen nothing of us. `held`: what gives way may be kept aside. */
ALWAYS void line_fast(u64 launch, u64 self, u32 quick, u64 line, u32 desc, int held)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u64 base = (self & REC_WHO) | 1ull << GSAN_REC_EPOCH_SHIFT, last, r0, r1, tail;
	u32 op = desc_op(desc), mask = line & GSAN_LINES_WHOLE ? 0xff : line & (GSAN_LINE / 2) ? 0xf0 : 0x0f;
	if ((u32)self)
		base = state_base(caller_state(l, self), launch_warp(l), 1);
	line &= ~(u64)(GSAN_LINE - 1);
	u64 me = rec_of(base, op, desc & 0xffff, mask);
	struct gsan_line *at = (struct gsan_line *)(uintptr_t)gsan_shadow(line);
	gpu_load128(at, &last, &tail);
	gpu_load128(at->read, &r0, &r1);
	int store = op & 1; /* of the weak ones */
	int quiet = !(u32)tail && is_quiet(quick, self, last) && op != GSAN_OP_LD_NC && !(self & SELF_STATELESS);
	if (store) /* nothing of another CTA may lie there, and the record may take the last one's place */
		quiet = quiet && is_quiet(quick, self, r0) && is_quiet(quick, self, r1) && !(rec_mask(last) & ~mask);
	else if ((u32)self && r0 != me && r1 != me)
		quiet = quiet && !(is_of_others(l, r0, me) | is_of_others(l, r1, me));
	u64 replaced = last, again0 = r0, again1 = r1, gone;
	if (quiet && (store ? last != me : line_load(l, quick, at, me, tail, r0, r1, line, &gone))) {
		u64 now;
		if (store)
			replaced = gone = gpu_exch64(&at->write, me);
		if (held)
			aside_replaced(l, line, gone, me, 1);
		gpu_load128(at, &now, &tail); /* one sector: behind our record */
		if (store)
			gpu_load128(at->read, &again0, &again1);
		else
			replaced = now;
	}
	if (!quiet || replaced != last || again0 != r0 || again1 != r1 || (u32)tail)
		line_general(launch, self, line, desc, mask, store && replaced != last ? replaced : 0);
}

/* While copies are still to be checked. Apart: a call in the middle of the quick way makes it keep more on the stack. */
NEVER void line_held(u64 launch, u64 self, u32 quick, u64 line, u32 desc) { line_fast(launch, self, quick, line, desc, 1); }

/* A group's access outside the arena: a view of it, a range, or what has no shadow. */
NEVER void lines_elsewhere(u64 launch, u64 self, u32 quick, u64 line, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u64 canonical = shadow_accessed(l, line, desc);
	if (canonical != NO_ADDRESS) {
		line_fast(launch, self, quick, canonical, desc, 1);
		return;
	}
	u64 lanes = (line & GSAN_LINES_WHOLE ? GSAN_LINE : GSAN_LINE / 2) / desc_bytes(desc);
	gpu_count(&own_spread(l, self)->checked, -lanes);
	if (foreign_access(l, line, desc))
		count(l, GSAN_N_FOREIGN, lanes);
}

void gsan_lines(u64 launch, u64 self, u32 quick, u32 n, u64 line, u32 desc)
{
	quick = quick_of(launch, quick);
	if (gpu_lane() == 0)
		gpu_count(&spread_of(quick_participant(quick, self), self)->checked, 32 * n);
	if (line >> GSAN_DATA_SHIFT == GSAN_DATA_TOP && quick & GSAN_QUICK_UNHELD)
		line_fast(launch, self, quick, line, desc, 0);
	else if (line >> GSAN_DATA_SHIFT == GSAN_DATA_TOP)
		line_held(launch, self, quick, line, desc);
	else if (line)
		lines_elsewhere(launch, self, quick, line, desc);
	gpu_warp_sync(); /* lanes that had none go on with the others: apart, they would go alone in all that follows */
}

#endif
