/* What a strong read observed where nothing keeps it: of writes without an entry (coarse.h), and by CTAs without a clock. Said too often
 * rather than too seldom: then a race is missed, and never made up. */
#ifndef GSAN_DEVICE_OBSERVED_H
#define GSAN_DEVICE_OBSERVED_H

#include "device/abi.h"
#include "device/launch.h"
#include "device/order.h"

/* Did strong writes of launch `tag` leave no version at the address, or perhaps? */
NEVER int coarse_made(const struct gsan_launch *l, u32 tag, u64 address)
{
	const struct dev_tables *t = dev_tables(gsan_owner(address));
	u32 p = tag_participant(l, tag);
	u64 slot = gpu_load64(&t->coarse.slot[coarse_slot(p, launch_stream(tag_launch(l, tag)))]);
	if (slot)
		tag_await(l, rec_tag(slot));
	return gpu_load64(&t->coarse.older[p]) >= gpu_load32(&tag_launch(l, tag)->seq) || (slot && launch_follows(l, rec_tag(slot), tag));
}

/* The records of the granule at an address, its sampled reads first; 0: it has none. */
#define SAMPLED (GSAN_DETAIL_READS + GSAN_DETAIL_WRITES)
struct sampled { u64 r[SAMPLED]; };
ALWAYS struct gsan_granule *granule_at(u64 canonical) /* NULL: its line has no detail */
{
	u32 detail = gpu_load32(&((const struct gsan_line *)(uintptr_t)gsan_shadow(canonical))->detail);
	return detail ? &detail_at(canonical, detail)->granule[canonical % GSAN_LINE / GSAN_GRANULE] : 0;
}
ALWAYS int sampled_at(u64 canonical, struct sampled *s)
{
	const struct gsan_granule *g = granule_at(canonical);
	if (!g)
		return 0;
	gpu_load128(&g->read[0], &s->r[0], &s->r[1]);
	gpu_load128(&g->write[0], &s->r[GSAN_DETAIL_READS], &s->r[GSAN_DETAIL_READS + 1]);
	return 1;
}

/* Of the reds of a launch that find both places taken only those draw for one whose hash is small, of some eight CTAs for each place
 * that all come to: the first ones of a histogram would keep storing otherwise. */
#define RED_DRAWERS 8u
ALWAYS int red_draws(u32 hash, u32 ctas) { return ctas <= RED_DRAWERS || hash <= ~0u >> (29 - __builtin_clz(ctas)); }

/* An operation of the CTA of `who` that may observe others. */
ALWAYS int is_observer(u64 rec, u64 who, u32 mask)
{
	return !((rec ^ who) & REC_WHO) && op_observes(rec_op(rec)) && op_scope(rec_op(rec)) != GSAN_CTA && rec_mask(rec) == mask;
}

/* May a record of the CTA of `who`, of operation `op`, be one of its kind that found no place here, or lost it? Those that are have the least
 * hashes, `most` is the largest. What is ordered before a launch keeps no place from its reds; what that is for another launch than this one
 * is not known. Nor is, once a launch with a higher floor has begun, whose hash was too large: records of that one took places whatever
 * their hashes, perhaps, of such as had kept them here. */
ALWAYS int turned_away(const struct gsan_launch *l, u64 who, u32 op, u32 mask, u64 key, u32 most)
{
	u32 hash = sample_hash(rec_of(who & REC_WHO, op, 0, mask), key, l->seed);
	return rec_tag(who) != l->tag || hash >= most || (op_is_rmw(op) && !red_draws(hash, gpu_ctas())) || floor_passed(l);
}

/* Did the CTA of `who` make an RMW of the bytes `mask`, perhaps, or if `loads` any strong read? Its record is there, or it found no place: RMWs
 * and reads each have one, if there are both. A weak read, or one of another launch, may have come to its place otherwise than by its hash; a weak one
 * takes no place from an RMW that is over, and so, perhaps, from one that is not. */
NEVER int red_made(const struct who *w, u64 who, const struct sampled *s, u32 mask, u64 key, int loads)
{
	const struct gsan_launch *l = w->launch;
	u32 most[2] = {0, 0}, taken = 0, held = 0, weak = 0, kinds = 0; /* of reads, of RMWs */
	int ours = rec_tag(who) == l->tag;
	for (u32 i = 0; i < GSAN_DETAIL_READS; i++) {
		u64 rec = s->r[i];
		u32 rmw = rec_is_rmw(rec), hash = rmw || (rec_tag(rec) == l->tag && op_is_strong(rec_op(rec))) ? sample_hash(rec, key, l->seed) : 0;
		if (is_observer(rec, who, mask) && (rmw || loads))
			return 1;
		u32 live = ours ? (u32)rec_live(l, rec) : rec != 0;
		taken += live;
		held += rec != 0;
		weak |= live && !op_is_strong(rec_op(rec));
		kinds |= rec ? 1u << rmw : 0;
		most[rmw] = hash > most[rmw] ? hash : most[rmw];
	}
	for (u32 left = taken == GSAN_DETAIL_READS || (weak && held == GSAN_DETAIL_READS) ? w->reds & GSAN_REDS_SCOPES : 0; left; left &= left - 1) {
		u32 scope = gpu_first(left);
		if (kinds & 2 && turned_away(l, who, GSAN_OP_RMW + scope, mask, key, most[1]))
			return 1;
		if (loads && kinds & 1 && w->reds & GSAN_REDS_LOAD && turned_away(l, who, GSAN_OP_STRONG_LD + scope, mask, key, most[0]))
			return 1;
	}
	return 0;
}

/* Which bytes did a strong read have, perhaps, that this CTA made before the access: all that it shares (`mask`) with the write `rec`, or the same
 * alone, if that is strong? 0: there was none. */
NEVER u32 red_covers(const struct who *w, u64 rec, u32 mask, const struct access *a, const struct sampled *now)
{
	struct sampled before = *now;
	for (u32 i = 0; a->asks_before && i < GSAN_DETAIL_READS; i++)
		before.r[i] = a->before[i];
	for (u32 bytes = 2; bytes <= GSAN_GRANULE; bytes *= 2) {
		u32 all = granule_mask(gpu_first(mask) & ~(bytes - 1), bytes);
		if (!(mask & ~all) && (!op_is_strong(rec_op(rec)) || all == rec_mask(rec)) && red_made(w, w->self, &before, all, a->address, 1))
			return all;
	}
	return 0;
}

/* Was `rec` observed by a strong read that this CTA, which keeps no clock, made before the access, perhaps? Not if the thread comes behind
 * none. A weak write is observed with an RMW of its own CTA. Of locations with an entry, what its launch observed is known, for all its CTAs
 * together. */
NEVER int red_observed(const struct who *w, u64 rec, u32 mask, const struct access *a, u64 point)
{
	const struct gsan_launch *l = w->launch;
	struct sampled now;
	u32 all = w->behind_red && !a->whole && sampled_at(a->address, &now) ? red_covers(w, rec, mask, a, &now) : 0;
	if (!all)
		return 0;
	int unknown = op_is_strong(rec_op(rec)) ? rec_tag(rec) == l->tag || coarse_made(l, rec_tag(rec), a->address) :
						  red_made(w, rec, &now, all, a->address, 0);
	unknown |= gpu_load32(&own_tables(l)->coarse.foreign[l->stream]) >= l->seq; /* something could not be looked up (gsan_learned) */
	return unknown || order_closure(w, rec, point, 0, ASKED_LETTER, 1);
}

#endif
