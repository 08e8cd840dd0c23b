/* Acquire: what a strong read sets aside of a version's elements, and what of it goes into its CTA's clock: at once, by a
 * later fence, or by a later operation on the location (PTX ISA, acquire patterns; observation). */
#ifndef GSAN_DEVICE_ACQUIRE_H
#define GSAN_DEVICE_ACQUIRE_H

#include "device/abi.h"
#include "device/clock.h"
#include "device/desc.h"
#include "device/elem_order.h"
#include "device/elems.h"
#include "device/entry.h"
#include "device/hint.h"
#include "device/inherit.h"
#include "device/known.h"
#include "device/launch.h"

/* Does this operation learn what it reads? A red, or an atom whose result nobody reads, does not, be it a CAS that failed. */
ALWAYS int sync_learns(u32 desc) { return desc & GSAN_DESC_USED || !(desc_is_rmw(desc) || desc_is_cas(desc)); }
ALWAYS int sync_acquires(u32 desc) { return desc_acquires(desc) && sync_learns(desc); }

/* Is a strong operation checked before it executes? Whoever saw what it wrote may be there otherwise, and would seem to
 * race with it. Not what acquires, which goes for itself, too, nor a CAS, which may write nothing: these keep their entry's
 * lock meanwhile. */
ALWAYS int looks_early(u32 desc) { return op_writes(desc_op(desc)) && !desc_acquires(desc) && !desc_is_cas(desc); }

/* As whom this warp looks at a location (known.h). */
ALWAYS u32 looks_as(const struct who *w, u32 desc)
{
	return w->warp | (!w->launch->warp_bits || desc_is_rmw(desc) || sync_acquires(desc) ? LOOKED_FORMALLY : 0);
}

/* This CTA read a flag, and an element of its version gives no edge. An element that was handed on came by the version's last write
 * (`writer`), which is then what there is to mend; an RMW that continues such a version is taken for one. Where nothing releases, nor
 * acquires, no wider scope would mend anything. */
ALWAYS void hint_set(const struct who *w, u64 elem, u64 writer, u32 reason, u32 desc)
{
	int fenced = elem_is_fenced(elem), scope = reason == GSAN_WHY_RELEASE_SCOPE || reason == GSAN_WHY_ACQUIRE_SCOPE;
	if (scope && elem_is_relaxed(elem) && !fenced && !sync_acquires(desc))
		reason = GSAN_WHY_RELAXED_WRITE;
	int early = reason == GSAN_WHY_RELAXED_WRITE && fenced;
	if (!reason || elem_of_many(elem) || elem_is_seen(elem) || tag_below_floor(w->launch, rec_tag(elem)) ||
	    elem_is_own(w, elem))
		return; /* a seen one has no site */
	u64 by = fenced && !elem_is_write(elem) && (elem ^ writer) & REC_WHO ? writer : elem;
	by = (by & REC_WHO) | (u64)elem_site(by) << GSAN_REC_SITE_SHIFT;
	u32 more = (sync_acquires(desc) ? HINT_ACQUIRES : 0) | (desc_releases(desc) ? HINT_RELEASES : 0) | (early ? HINT_EARLY : 0);
	hint_add(w, elem, by, desc & 0xffff, reason | more, !early);
}

ALWAYS void order_lost(const struct who *w, int acquire) /* from here on, or from the next acquire fence on */
{
	gpu_or32(acquire ? &w->state->clock.flags : &w->state->pending_flags, DEV_CLOCK_EVERYTHING);
}

ALWAYS struct elems pending_elems(const struct who *w)
{
	struct dev_state *s = w->state;
	return (struct elems){.word = &s->pending[0].elem, .count = &s->pendings, .room = DEV_PENDING, .kind = ELEMS_GATED | ELEMS_AT,
			      .known = w->launch->warp_bits ? s->pending_known : 0, .whose = who_warps(w)};
}

/* Sets aside what a strong read of `key` observed. */
NEVER void pending_add(const struct who *w, u64 elem, u64 key, u64 known)
{
	struct elems list = pending_elems(w);
	list.whose = known;
	warps_part(w);
	elems_add(w->launch, &list, elem, key);
}

/* Joins earlier strong reads of this warp: of any location by an acquire fence (key 0), of one by a strong read that acquires there; those
 * from before a barrier for all warps, whichever comes first. What `scope` does not reach waits for a wider one. */
NEVER void pending_join(const struct who *w, u64 key, u32 scope)
{
	struct dev_state *s = w->state;
	struct elems list = pending_elems(w);
	u32 n = gpu_own32(&s->pendings), kept = 0;
	if (!key && gpu_load32(&s->pending_flags))
		gpu_or32(&s->clock.flags, DEV_CLOCK_EVERYTHING);
	for (u32 i = 0; i < n && i < DEV_PENDING; i++) {
		struct dev_pending p = s->pending[i];
		u64 known = elems_known(&list, i), warps = known & WARPS_ALL, mine = warps == WARPS_ALL ? warps : warps & list.whose;
		int reached = elem_reached(w->launch, p.elem, scope), here = (!key || !p.key || p.key == key) && mine;
		if (here && reached)
			clock_join_for(w, p.elem, mine | (known & KNOWN_FORMALLY));
		else if (here)
			hint_unreached(w, p.elem);
		if (here && reached && warps == mine)
			continue;
		elems_move(&list, kept, i);
		if (here && reached)
			gpu_store64(&list.known[kept], known & ~mine);
		kept++;
	}
	gpu_store32(&s->pendings, kept);
}

/* What relaxed RMWs of `from` observed before a barrier, `to` know formally behind it. */
NEVER void pending_formally(const struct who *w, u64 from, u64 to)
{
	struct dev_state *s = w->state;
	u32 n = gpu_own32(&s->parted) ? gpu_own32(&s->pendings) : 0;
	for (u32 i = 0; i < n && i < DEV_PENDING; i++) {
		u64 known = gpu_own64(&s->pending_known[i]);
		if (known & KNOWN_BY_RMW && known & from)
			clock_join_for(w, s->pending[i].elem, KNOWN_FORMALLY | to);
	}
}

/* A write that was observed, as a point of its place: itself is before what follows (clock_settle). */
NEVER void point_keep(const struct who *w, u64 e)
{
	if (!(clock_join(w, elem_fresh(e)) & 1))
		gpu_store32(&w->state->fresh, 1);
}

/* The same of a version's element: of its last writes the place is that of the read. A kernel without states keeps what it
 * observes for the launches behind it. */
ALWAYS void point_join(const struct who *w, u64 e, u64 canonical, u32 desc)
{
	e = elem_kept(e, point_of(canonical, desc_mask(desc, canonical), elem_scope(e)));
	if (w->state && looks_early(desc)) /* it was checked: all that follows is behind what it observed */
		clock_join(w, e);
	else if (w->state)
		point_keep(w, e);
	else if (rec_tag(e) != w->launch->tag && !tag_below_floor(w->launch, rec_tag(e)))
		acquired_add(w->launch, e);
}

/* What of a version is observed, whatever the reader acquires. */
ALWAYS void observe(const struct who *w, u64 e, u64 canonical, u32 desc)
{
	if (!elem_is_prefix(e))
		point_join(w, e, canonical, desc);
	else if (w->state) /* which of it, is not known any more */
		clock_join(w, e);
	else
		acquired_add(w->launch, e);
}

/* Why an element that was released for this read gives no edge at once. A relaxed write behind a fence may have come too late for it. */
ALWAYS u32 why_no_edge(u64 e, u64 writer, u32 desc, int reached)
{
	if (!reached)
		return GSAN_WHY_ACQUIRE_SCOPE;
	if (elem_is_relaxed(e) && (!elem_is_fenced(e) || !((e ^ writer) & REC_WHO || writer_releases(writer))))
		return GSAN_WHY_RELAXED_WRITE;
	return !sync_acquires(desc) && elem_is_did(e) ? GSAN_WHY_NO_ACQUIRE : GSAN_WHY_NONE;
}

/* What is before this very launch is before all that it does: who learns of its start learns nothing, unless it has begun early (closure_depended). */
ALWAYS int elem_is_our_start(const struct gsan_launch *l, u64 e)
{
	return elem_is_relaxed(e) && !elem_is_point(e) && !elem_of_many(e) && rec_tag(e) == l->tag && !(l->order.flags & GSAN_ORDER_WAITS);
}

/* One release that this read may have observed; `newest`: the entry whose newest version has it and was read, or NULL; `linked`: it is
 * morally strong with what was read; `formal`: it is there formally. Then the write itself is before what follows (observation order, link by link); what it released
 * only if release and acquire include each other. 1: another read of it would have nothing to add, not even a hint. */
NEVER int elem_read(const struct who *w, const struct dev_sync *newest, u64 elem, u64 canonical, u32 desc, u64 writer, int linked, int formal)
{
	u64 e = elem;
	int observed = elem_is_observed(e), write = elem_is_write(e);
	if (observed && linked)
		observe(w, e, canonical, desc);
	if (observed && !write)
		return 1;
	if (write && linked)
		e = elem_widened(e, GSAN_SYS); /* the kernel's start is a fence.sys */
	int reached = elem_reached(w->launch, e, desc_scope(desc)), reaches = elem_reaches(w->launch, e);
	u32 why = reaches ? why_no_edge(e, writer, desc, reached) : GSAN_WHY_RELEASE_SCOPE;
	if (!formal)
		hint_set(w, e, writer, why, desc);
	if (!reaches)
		return 0;
	e = write ? elem_started(w->launch, e) : e;
	if (elem_is_our_start(w->launch, e))
		return why == GSAN_WHY_NONE;
	if (sync_acquires(desc) && reached) {
		u32 at = clock_join_for(w, e, formal ? KNOWN_FORMALLY | who_warps(w) : who_warps(w));
		if (newest && at != ELEMS_NOWHERE && !formal)
			told_by(w, newest, at >> 1, elem);
	} else {
		u64 known = who_warps(w) | (formal ? KNOWN_FORMALLY : 0) | (reached && desc_is_rmw(desc) ? KNOWN_BY_RMW : 0);
		pending_add(w, e, sync_key(canonical, desc_bytes(desc)), known); /* a fence of a wider scope, behind the read, may reach it */
	}
	return why == GSAN_WHY_NONE;
}

#endif
