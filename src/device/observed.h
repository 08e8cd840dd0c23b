/* What an RMW observed where nothing keeps it: of RMWs without an entry (coarse.h), and by CTAs without a clock. Said too often
 * rather than too seldom: then a race is missed, and never made up. */
#ifndef GSAN_DEVICE_OBSERVED_H
#define GSAN_DEVICE_OBSERVED_H

#include "device/launch.h"
#include "device/order.h"

/* Did RMWs of launch `tag` leave no version at the address, or perhaps? */
NEVER int coarse_made(const struct gsan_launch *l, u32 tag, u64 address)
{
	const struct dev_tables *t = dev_tables(gsan_owner(address));
	u32 p = tag_participant(l, tag);
	u64 slot = gpu_load64(&t->coarse.slot[coarse_slot(p, launch_stream(tag_launch(l, tag)))]);
	if (slot)
		tag_await(l, rec_tag(slot));
	return gpu_load64(&t->coarse.older[p]) >= gpu_load32(&tag_launch(l, tag)->seq) || (slot && launch_follows(l, rec_tag(slot), tag));
}

/* What observed an RMW without an entry is not known: perhaps another of the GPU whose launch is before this one and not before the
 * RMW's. */
NEVER int coarse_observed(const struct who *w, u64 rec, const struct access *a)
{
	const struct gsan_launch *l = w->launch;
	const struct dev_tables *t = dev_tables(gsan_owner(a->address));
	const struct dev_launch *of = tag_launch(l, rec_tag(rec));
	if (!coarse_made(l, rec_tag(rec), a->address))
		return 0;
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) { /* those that lost their slot */
		u32 p = gpu_first(mapped), older = (u32)gpu_load64(&t->coarse.older[p]);
		if (older && !order_has(&of->order, p, GSAN_STREAMS, older))
			return 1;
	}
	for (u32 i = 0; i < DEV_COARSE; i++) {
		u64 slot = gpu_load64(&t->coarse.slot[i]);
		u32 tag = rec_tag(slot);
		if (!slot || tag == l->tag || !tag_mapped(l, tag))
			continue;
		tag_await(l, tag);
		if (launch_gpu(tag_launch(l, tag)) == launch_gpu(of) && !launch_follows(l, tag, rec_tag(rec)) && order_before(l, &l->order, tag) &&
		    !order_before(l, &of->order, tag))
			return 1;
	}
	return 0;
}

/* The sampled records of the granule at an address; 0: it has none. */
struct sampled { u64 r[GSAN_DETAIL_READS]; };
ALWAYS int sampled_at(u64 canonical, struct sampled *s)
{
	const struct gsan_line *line = (const struct gsan_line *)(uintptr_t)gsan_shadow(canonical);
	u32 detail = gpu_load32(&line->detail);
	if (!detail)
		return 0;
	const struct gsan_granule *g = &detail_at(canonical, detail)->granule[canonical % GSAN_LINE / GSAN_GRANULE];
	gpu_load128(&g->read[0], &s->r[0], &s->r[1]);
	return 1;
}

/* Of the reds of a launch that find both places taken only those draw for one whose hash is small, of some eight CTAs for each place
 * that all come to: the first ones of a histogram would keep storing otherwise. */
#define RED_DRAWERS 8u
ALWAYS int red_draws(u32 hash, u32 ctas) { return ctas <= RED_DRAWERS || hash <= ~0u >> (29 - __builtin_clz(ctas)); }

/* Did the CTA of `who` make an RMW of the bytes `mask`, perhaps, that may observe others and be observed? Its record is there, or
 * it did not draw, or lost its place to those of RMWs that are: they have the least hashes. What is ordered before a launch keeps no
 * place from its reds; what that is for another launch than this one is not known. Nor is, once a launch with a higher floor has
 * begun, whose hash was too large: records of that one took places whatever their hashes, perhaps, of such as had kept them here. */
NEVER int red_made(const struct who *w, u64 who, const struct sampled *s, u32 mask, u64 key)
{
	const struct gsan_launch *l = w->launch;
	u32 most = 0, taken = 0, rmws = 0;
	int ours = rec_tag(who) == l->tag;
	for (u32 i = 0; i < GSAN_DETAIL_READS; i++) {
		u64 rec = s->r[i];
		u32 hash = sample_hash(rec, key, l->seed);
		if (!((rec ^ who) & REC_WHO) && op_is_rmw(rec_op(rec)) && op_scope(rec_op(rec)) != GSAN_CTA && rec_mask(rec) == mask)
			return 1;
		taken += ours ? rec_live(l, rec) : rec != 0;
		rmws += rec_is_rmw(rec);
		most = rec_is_rmw(rec) && hash > most ? hash : most;
	}
	for (u32 left = taken == GSAN_DETAIL_READS && rmws ? w->reds & ~(1u << GSAN_CTA) : 0; left; left &= left - 1) {
		u64 me = rec_of(who & REC_WHO, GSAN_OP_RMW + gpu_first(left), 0, mask);
		u32 hash = sample_hash(me, key, l->seed);
		if (!ours || hash >= most || !red_draws(hash, gpu_ctas()) || floor_passed(l))
			return 1;
	}
	return 0;
}

/* Has this CTA made such an RMW of all bytes that the access shares (`mask`) with the write `rec`? Of the same alone, if that is
 * strong. The access may be one itself, in the place of those that were before. */
NEVER int red_covers(const struct who *w, u64 rec, u32 mask, const struct access *a, const struct sampled *s)
{
	for (u32 bytes = 2; bytes <= GSAN_GRANULE; bytes *= 2) {
		u32 all = granule_mask(gpu_first(mask) & ~(bytes - 1), bytes);
		if (!(mask & ~all) && (!op_is_strong(rec_op(rec)) || all == rec_mask(rec)) &&
		    (op_is_strong(a->op) && all == a->mask ? a->again != 0 : red_made(w, w->self, s, all, a->address)))
			return 1;
	}
	return 0;
}

/* Was `rec` observed by an RMW that this CTA, which keeps no clock, made before the access, perhaps? Not if the thread comes behind
 * none. Of locations with an entry, what its launch observed is known, for all its CTAs together. Else it may be any write that can be
 * observed, itself or by what its CTA did later; against the RMW that write is checked as against any access. */
NEVER int red_observed(const struct who *w, u64 rec, u32 mask, const struct access *a, u64 point)
{
	const struct gsan_launch *l = w->launch;
	struct sampled s;
	int strong = op_is_strong(rec_op(rec));
	if (!w->behind_red || a->whole || !sampled_at(a->address, &s) || !red_covers(w, rec, mask, a, &s))
		return 0;
	if (strong && rec_tag(rec) != l->tag && !coarse_made(l, rec_tag(rec), a->address))
		return order_closure(w, rec, point, 0, 1);
	return !op_is_strong(a->op) || red_made(w, rec, &s, a->mask, a->address);
}

#endif
