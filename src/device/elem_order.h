/* What clock elements say about order: whether one covers a record or includes another, and what stands for two. */
#ifndef GSAN_DEVICE_ELEM_ORDER_H
#define GSAN_DEVICE_ELEM_ORDER_H

#include "device/elem.h"
#include "device/launch.h"

ALWAYS u32 elem_owner(const struct gsan_launch *l, u64 elem)
{
	return elem_is_prefix(elem) ? prefix_owner(elem) : tag_participant(l, rec_tag(elem));
}
ALWAYS u32 elem_seq(const struct gsan_launch *l, u64 elem)
{
	return elem_is_prefix(elem) ? prefix_seq(elem) : tag_mapped(l, rec_tag(elem)) ? gpu_load32(&tag_launch(l, rec_tag(elem))->seq) : ~0u;
}

/* ---- of whom -------------------------------------------------------------------------------------------------------------- */
/* Is the element's launch, or are all of its launches, ordered before `l` by the floor? Then so is all that was before. */
ALWAYS int elem_below_floor(const struct gsan_launch *l, u64 elem)
{
	if (elem_is_prefix(elem))
		return prefix_seq(elem) < l->order.floor[prefix_owner(elem)];
	return tag_below_floor(l, rec_tag(elem));
}
ALWAYS int elem_is_own(const struct who *w, u64 elem)
{
	return !elem_of_many(elem) && (who_made(w, elem) || (tag_private(w->launch, rec_tag(elem)) && private_own(w, rec_tag(elem))));
}
/* Is the element of a launch that is before all that is behind this one anyway: its own, or one below its floor? */
ALWAYS int elem_inherited(const struct gsan_launch *l, u64 elem)
{
	return elem_below_floor(l, elem) ||
	       (!elem_is_prefix(elem) && elem_owner(l, elem) == l->participant && elem_seq(l, elem) == l->seq);
}

/* Is its launch behind the end of `l`, as far as that was known when it was enqueued? Then nothing of it was there before. */
NEVER int elem_is_later(const struct gsan_launch *l, u64 elem)
{
	const struct gsan_order *o = elem_is_prefix(elem) || !tag_mapped(l, rec_tag(elem)) ? 0 : &tag_launch(l, rec_tag(elem))->order;
	return o && !(gpu_load32(&o->flags) & GSAN_ORDER_UNKNOWN) && order_has(o, l->participant, l->stream, l->seq);
}

/* ---- its gate ------------------------------------------------------------------------------------------------------------- */
ALWAYS u64 elem_by_us(const struct gsan_launch *l, u32 scope, u32 site) { return elem_by(l->gpu, scope, site); }
/* Does the release that brought `elem` reach this GPU, and `scope` of this CTA the releasing one? */
ALWAYS int elem_same_gpu(const struct gsan_launch *l, u64 elem) { return elem_gpu(elem) == l->gpu; }
ALWAYS int elem_reaches(const struct gsan_launch *l, u64 elem)
{
	return elem_is_open(elem) || scope_reaches(elem_scope(elem), elem_same_gpu(l, elem));
}
ALWAYS int elem_reached(const struct gsan_launch *l, u64 elem, u32 scope)
{
	return (elem_is_open(elem) && scope != GSAN_CTA) || scope_reaches(scope, elem_same_gpu(l, elem));
}

/* ---- what it covers ------------------------------------------------------------------------------------------------------- */
/* What an element says of its CTA's warps (launch.h). Of what was observed, no warp is told apart. `one`: if a CTA were one thread. */
ALWAYS enum stamp_of elem_stamp(u64 elem, int one)
{
	return elem_of_many(elem) ? one ? STAMP_ALL_CTAS : STAMP_ALL : one || elem_is_point(elem) ? STAMP_CTA : elem_is_warp(elem) ? STAMP_WARP : STAMP_WARPS;
}
ALWAYS int elem_same_warp(const struct gsan_launch *l, u64 a, u64 b) /* one of a CTA's private tags, the other one of its CTA */
{
	return stamp_same_warp(a, b, tag_warp_bits(l, rec_tag(a)));
}

/* Is it of the record's CTA, or of more than one, or of a private tag? What a clock has is mostly of others. */
ALWAYS int elem_may_cover(const struct gsan_launch *l, u64 elem, u64 rec)
{
	return !((elem ^ rec) & REC_WHO) || elem_of_many(elem) || tag_private(l, rec_tag(elem));
}

/* Does an element, taken by itself, cover the record? (The order before its launch is asked separately.) `one`: if a CTA were one
 * thread. */
ALWAYS int elem_covers(const struct gsan_launch *l, u64 elem, u64 rec, u64 point, int one)
{
	if (elem_is_prefix(elem))
		return prefix_owner(elem) == tag_participant(l, rec_tag(rec)) && gpu_load32(&tag_launch(l, rec_tag(rec))->seq) <= prefix_seq(elem);
	if (elem_is_fresh(elem) || (elem_is_point(elem) && (point == NO_POINT || !point_within(point, elem))))
		return 0;
	if (rec_tag(elem) == rec_tag(rec))
		return stamp_within(l, rec, elem, elem_stamp(elem, one));
	if (elem_is_seen(elem) && elem_of_many(elem)) /* of RMWs without an entry, the newest launch of a stream stands for all */
		return launch_follows(l, rec_tag(elem), rec_tag(rec));
	return !elem_is_point(elem) && tag_private(l, rec_tag(elem)) && private_follows(l, rec_tag(elem), rec) &&
	       (one || !elem_is_warp(elem) || elem_same_warp(l, elem, rec));
}

/* ---- two of them ---------------------------------------------------------------------------------------------------------- */
/* Is keeping `b`, seen or not a point at all, enough for the seen one `a`? In a version, what is observed with it stays apart from
 * what it released. */
ALWAYS int seen_kept(u64 a, u64 b, int version)
{
	if (elem_is_seen(b) && !point_within(a, b))
		return 0;
	return version ? elem_is_fresh(a) == elem_is_fresh(b) : elem_is_fresh(a) || !elem_is_fresh(b);
}

/* Is `b` as strong as `a`, so that keeping `b` alone is enough? `gated`: the gates must be equal. */
ALWAYS int elem_within(const struct gsan_launch *l, u64 a, u64 b, int gated)
{
	if (gated && elem_gate(a) != elem_gate(b) && !elem_is_open(b))
		return 0;
	if (elem_is_prefix(b))
		return elem_owner(l, a) == prefix_owner(b) && elem_seq(l, a) <= prefix_seq(b) &&
		       (!gated || !elem_is_observed(a) || elem_is_observed(b));
	if (elem_is_prefix(a) || rec_tag(a) != rec_tag(b) || (elem_of_many(a) && !elem_of_many(b)))
		return 0;
	if (elem_is_point(a) ? elem_is_relaxed(a) != elem_is_relaxed(b) : elem_is_point(b)) /* what is observed here stays by itself */
		return 0;
	if (elem_is_seen(a) && !seen_kept(a, b, gated))
		return 0;
	if (elem_is_warp(b) && !elem_is_warp(a) && !elem_is_relaxed(a)) /* which has what other warps did, too */
		return 0;
	return stamp_within(l, a, b, elem_is_point(a) && !elem_is_point(b) && !elem_of_many(b) ? STAMP_BEFORE : elem_stamp(b, 0));
}

/* Of one tag: are they of one kind, so that one may stand for both? What is no point may: less is then said of a start. */
ALWAYS int elem_alike(u64 a, u64 b)
{
	if (!elem_is_point(a) || !elem_is_point(b))
		return !elem_is_point(a) && !elem_is_point(b);
	return elem_is_seen(a) == elem_is_seen(b) && elem_is_fresh(a) == elem_is_fresh(b);
}

/* `later`, the later stamp of the two, made one that has both, of one CTA: of two warps at one time the next time, if there is one. */
ALWAYS u64 elem_with_warps(const struct gsan_launch *l, u64 a, u64 b, u64 later, u64 how, u32 most)
{
	u32 x = (u32)(a >> GSAN_REC_EPOCH_SHIFT) & most, y = (u32)(b >> GSAN_REC_EPOCH_SHIFT) & most, bits = x && y ? tag_warp_bits(l, rec_tag(a)) : 0;
	if (how & ELEM_POINT || !((x ^ y) & ((1u << bits) - 1)))
		return later | how;
	how &= ~ELEM_RELAXED;
	if (x >> bits != y >> bits)
		return later | how;
	if (((x >> bits) + 1) << bits > most)
		return elem_all_of(later) | ELEM_OPEN | (u64)most << GSAN_REC_EPOCH_SHIFT | how;
	return (later + (1ull << bits << GSAN_REC_EPOCH_SHIFT)) | how;
}

/* What two say that are alike: of one CTA, its later epoch (of a private tag, the later time), of several all CTAs of the launch. An
 * open gate, and any place, unless they agree. */
ALWAYS u64 elem_both(const struct gsan_launch *l, u64 a, u64 b)
{
	u64 how = a & b & (ELEM_POINT | ELEM_RELAXED | ELEM_FRESH), gate = elem_gate(a) == elem_gate(b) ? elem_gate(a) : ELEM_OPEN;
	u64 site = (a ^ b) & ELEM_SITE ? ELEM_SITE : a & ELEM_SITE;
	how |= gate | (elem_is_seen(a) && elem_is_seen(b) ? point_union(a, b) : site);
	if (tag_private(l, rec_tag(a)))
		return elem_with_warps(l, a, b, (rec_value(a) > rec_value(b) ? a : b) & REC_STAMP, how, PRIVATE_VALUES);
	u64 epoch = (u64)(rec_epoch(a) > rec_epoch(b) ? rec_epoch(a) : rec_epoch(b)) << GSAN_REC_EPOCH_SHIFT;
	if (elem_of_many(a) || elem_of_many(b) || (a ^ b) & REC_WHO)
		return elem_all_of(a) | epoch | (epoch && !(how & ELEM_POINT) ? how & ~ELEM_RELAXED : how); /* of many, no warp's */
	return elem_with_warps(l, a, b, (a & REC_WHO) | epoch, how, GSAN_EPOCH_MAX);
}

/* With the tag and the CTA that its launch knows it by: of a private tag it is told who drew that. */
ALWAYS u64 elem_origin(const struct gsan_launch *l, u64 elem)
{
	u32 tag = rec_tag(elem);
	return tag_private(l, tag) ? gpu_load64(&tag_launch(l, tag)->origin) : elem;
}

/* What the start of a write's launch released; behind a fence, for words, there is more than that. Under a private tag that would have what
 * its CTA did before it drew it: the launch's own is named. */
ALWAYS u64 elem_started(const struct gsan_launch *l, u64 write)
{
	return (elem_origin(l, write) & REC_WHO) | (write & ~(REC_STAMP | (elem_is_fenced(write) ? ELEM_RELAXED : 0) | ELEM_POINT));
}

#endif
