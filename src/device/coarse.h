/* The coarse path: strong operations whose location has no entry, which kernels that keep no clock make, and any once the table of entries is
 * full. They release into a clock of their launch as a whole; who reads there may have observed any of them. */
#ifndef GSAN_DEVICE_COARSE_H
#define GSAN_DEVICE_COARSE_H

#include "device/acquire.h"
#include "device/clock.h"
#include "device/desc.h"
#include "device/elem_order.h"
#include "device/hint.h"
#include "device/launch.h"
#include "device/learnt.h"
#include "device/lock.h"
#include "device/observed.h"
#include "device/release.h"
#include "device/state.h"

/* In its place stands another: of another stream, which has put it out, or a newer one of the streams that share a slot (coarse_stands). */
NEVER int coarse_stood_for(const struct who *w, const struct dev_tables *t, u64 slot)
{
	const struct gsan_launch *l = w->launch;
	if (!learner_noted(l, gpu_load64(&own_tables(l)->coarse.learner[l->stream]), w->reds & GSAN_REDS_LEARN))
		return 0;
	if (gpu_load64(&t->coarse.older[l->participant]) >= l->seq)
		return 1;
	tag_await(l, rec_tag(slot));
	return tag_in_stream(l, rec_tag(slot), l->participant, l->stream) && elem_seq(l, slot) > l->seq;
}

/* Is this launch in the coarse clock of the owner's tables `t`? Then its relaxed RMWs have nothing to add. */
ALWAYS int coarse_noted(const struct who *w, const struct dev_tables *t)
{
	const struct gsan_launch *l = w->launch;
	u64 slot = gpu_load64(&t->coarse.slot[coarse_slot(l->participant, l->stream)]);
	u32 tag = rec_tag(slot);
	int shares = l->stream == GSAN_STREAMS - 1 || tag_participant(l, tag) != l->participant;
	return slot && (tag == l->tag || (shares && coarse_stood_for(w, t, slot)));
}

/* Before `elem` takes the place of `old`, of another stream: that goes to `older` first, so that who asks in between finds it. 1: `old`
 * says as much already, or its launch is behind this one in a stream that several share (layout.h). */
ALWAYS int coarse_stands(struct dev_tables *t, const struct gsan_launch *l, u64 old, u64 elem)
{
	if (!old)
		return 0;
	if (rec_tag(old) == rec_tag(elem))
		return rec_epoch(old) >= rec_epoch(elem);
	tag_await(l, rec_tag(old));
	if (tag_in_stream(l, rec_tag(old), l->participant, l->stream))
		return elem_seq(l, old) > l->seq;
	gpu_max64(&t->coarse.older[tag_participant(l, rec_tag(old))], elem_seq(l, old));
	gpu_fence_sys();
	return 0;
}

/* `elem`: elem_all() of its launch. */
NEVER void coarse_add(struct dev_tables *t, const struct gsan_launch *l, u64 elem)
{
	u32 at = coarse_slot(l->participant, l->stream);
	u64 *slot = &t->coarse.slot[at], old = gpu_load64(slot), now;
	gpu_or32(&t->coarse.used[at / 32], 1u << at % 32);
	do {
		if (coarse_stands(t, l, old, elem))
			return;
		if (old && rec_tag(old) != rec_tag(elem)) /* while it is known, who observed it may be behind it */
			learnt_going(l, old);
		now = gpu_cas64(slot, old, elem);
	} while (now != old && (old = now, 1));
	if (!gpu_load32(&t->coarse_used))
		gpu_max32(&t->coarse_used, 1);
}

/* Around each change of a slot or of `older`: what learners may have observed is asked for again (learnt.h). */
ALWAYS void coarse_changes(struct dev_tables *t) { gpu_add32(&t->coarse.begun, 1); }
ALWAYS void coarse_changed(struct dev_tables *t)
{
	gpu_fence_sys();
	gpu_add32(&t->coarse.ended, 1);
}

/* Before the first operation of a launch that keeps no clock. */
NEVER void coarse_begin(const struct who *w, struct dev_tables *t)
{
	if (w->reds >> GSAN_SYS & 1 && gpu_load32(&t->coarse_used) < 2)
		gpu_max32(&t->coarse_used, 2);
	learner_note(w->launch, w->reds & GSAN_REDS_LEARN);
	coarse_changes(t);
	gpu_fence_sys();
	coarse_add(t, w->launch, elem_all(rec_tag(w->self), 0));
	coarse_changed(t);
}

/* An RMW of this CTA that has no entry; `time`: what it releases, 0 = only what its kernel's start does. */
ALWAYS void coarse_note(const struct who *w, struct dev_tables *t, u32 time)
{
	if (!time) {
		if (!coarse_noted(w, t))
			coarse_begin(w, t);
		return;
	}
	u32 most = time_most(w->launch), bits = w->launch->warp_bits;
	coarse_changes(t);
	coarse_add(t, w->launch, elem_all(rec_tag(w->self), time > most ? GSAN_EPOCH_MAX : ((time + 1) << bits) - 1));
	if (time > most) /* under a private tag, of which nobody would know */
		gpu_max64(&t->coarse.older[w->launch->participant], w->launch->seq);
	coarse_changed(t);
}

ALWAYS void coarse_everything(struct dev_tables *t, const struct gsan_launch *l)
{
	coarse_changes(t);
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1)
		gpu_max64(&t->coarse.older[gpu_first(mapped)], gpu_load64(&dev_tables(gpu_first(mapped))->newest));
	coarse_changed(t);
	gpu_max32(&t->coarse_used, 1);
}

/* What a strong write of this CTA releases when no location can keep it. */
NEVER u32 coarse_time(const struct who *w, u32 desc)
{
	struct dev_state *s = w->state;
	u32 at, gpu, sys;
	if (!s)
		return 0;
	if (!state_take(w))
		return 0;
	acquired_clock(w); /* which goes with what the launch releases as a whole (closure_add) */
	gpu = fence_latest(w, 0);
	sys = fence_latest(w, 1);
	at = sys > gpu ? sys : gpu;
	at = desc_releases(desc) ? epoch_end(w) : at ? at - 1 : 0;
	state_give(w);
	return at;
}

/* ---- who reads there ------------------------------------------------------------------------------------------------- */

/* Is it a launch of that GPU, or of any, and not before this one by the floor? */
NEVER int coarse_counts(const struct gsan_launch *l, u32 tag, u32 gpu)
{
	if (tag_below_floor(l, tag) || !tag_mapped(l, tag))
		return 0;
	tag_await(l, tag);
	return gpu == ANY_GPU || launch_gpu(tag_launch(l, tag)) == gpu;
}

/* A weak write there of a launch that made such RMWs, one of which may have continued it. */
ALWAYS void coarse_head(const struct who *w, u64 canonical, u64 rec, u64 point, u32 gpu)
{
	if (coarse_counts(w->launch, rec_tag(rec), gpu) && coarse_made(w->launch, rec_tag(rec), canonical))
		point_keep(w, elem_seen(rec & REC_STAMP, point));
}

/* Whoever wrote what it read, and keeps no clock, released nothing. */
NEVER void coarse_hint(const struct who *w, u64 canonical, u32 desc)
{
	const struct gsan_launch *l = w->launch;
	struct sampled s;
	u64 me = rec_of(w->base & REC_STAMP, desc_op(desc), desc & 0xffff, 0);
	for (u32 i = 0, n = sampled_at(canonical, &s) ? SAMPLED : 0; i < n; i++) {
		u64 rec = s.r[i];
		if (op_is_strong(rec_op(rec)) && op_writes(rec_op(rec)) && rec_live(l, rec) && !who_made(w, rec) && tag_mapped(l, rec_tag(rec)) && rec_mask(rec) & desc_mask(desc, canonical))
			hint_unsaid(w, rec, me, sync_acquires(desc) ? HINT_ACQUIRES : 0);
	}
}

/* Are there such of this GPU? They may continue wide ones of other GPUs, link by link. */
NEVER int coarse_has(const struct gsan_launch *l, const struct dev_tables *t, u32 gpu)
{
	u64 any = 0;
	for (u32 p = 0; p < GSAN_PARTICIPANTS && !any; p++)
		any = gpu_load64(&t->coarse.older[p]); /* whose GPU is not told */
	for (u64 used = any ? 0 : gpu_load64(t->coarse.used); used && !any; used &= used - 1)
		any = (u64)coarse_counts(l, rec_tag(gpu_load64(&t->coarse.slot[__builtin_ctzll(used)])), gpu);
	return any != 0;
}

/* RMWs of one GPU that left no version were observed, perhaps, and with them those of .cta that their CTAs made before: the newest
 * launch that made such stands for its stream's. */
NEVER void coarse_join(const struct who *w, u64 canonical, u32 desc, u32 gpu)
{
	const struct gsan_launch *l = w->launch;
	const struct dev_tables *t = dev_tables(gsan_owner(canonical));
	u64 place = point_of(canonical, desc_mask(desc, canonical), GSAN_CTA);
	if (desc_scope(desc) == GSAN_CTA || !gpu_load32(&t->coarse_used))
		return;
	coarse_hint(w, canonical, desc);
	if (coarse_wide(t) && (desc_scope(desc) == GSAN_SYS || gpu == ANY_GPU || coarse_has(l, t, gpu))) { /* writes of .sys, too */
		gpu = ANY_GPU;
		for (u32 p = 0; p < GSAN_PARTICIPANTS; p++) { /* those that lost their slot */
			u32 older = (u32)gpu_load64(&t->coarse.older[p]);
			if (older && !order_has(&l->order, p, GSAN_STREAMS, older))
				clock_join(w, elem_prefix(p, older));
		}
	}
	for (u32 i = 0; i < DEV_COARSE; i++) {
		u32 tag = rec_tag(gpu_load64(&t->coarse.slot[i]));
		if (tag && coarse_counts(l, tag, gpu))
			point_keep(w, elem_all_seen(tag, place));
	}
	EACH_WRITE(canonical, desc, rec, point)
		coarse_head(w, canonical, rec, point, gpu);
}

/* What RMWs without an entry released here, perhaps: all launches that make such, unless ordered already. 0: none. */
NEVER int coarse_read(const struct who *w, u64 canonical, u32 desc)
{
	const struct dev_tables *t = dev_tables(gsan_owner(canonical));
	const struct gsan_launch *l = w->launch;
	int any = 0;
	if (!gpu_load32(&t->coarse_used))
		return 0;
	for (u32 i = 0; i < DEV_COARSE + GSAN_PARTICIPANTS; i++) {
		u64 e = gpu_load64(i < DEV_COARSE ? &t->coarse.slot[i] : &t->coarse.older[i - DEV_COARSE]);
		if (!e)
			continue;
		if (i >= DEV_COARSE && order_has(&l->order, i - DEV_COARSE, GSAN_STREAMS, (u32)e))
			continue;
		if (i < DEV_COARSE && tag_below_floor(l, rec_tag(e)))
			continue;
		if (i < DEV_COARSE)
			tag_await(l, rec_tag(e));
		any = 1;
		if (desc_scope(desc) == GSAN_CTA || (i < DEV_COARSE && rec_tag(e) == l->tag && !rec_epoch(e)))
			continue; /* reaches none of them; its own launch's start, which it has */
		elem_read(w, 0, i < DEV_COARSE ? e : elem_prefix(i - DEV_COARSE, (u32)e), canonical, desc, 0, 0, 0);
	}
	return any;
}

#endif
