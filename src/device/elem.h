/* Clock elements (tables.h): what one says, whether one includes another or a record, and what stands for two. */
#ifndef GSAN_DEVICE_ELEM_H
#define GSAN_DEVICE_ELEM_H

#include "device/launch.h"

/* Where a write lies that may be observed: 13 bits of where its record lies and of its bytes there, never all ones, a bit for weak
 * ones, and a scope, of which these have the widest. */
#define POINT_WEAK 0x100u
#define POINT_LINE 0x200u /* its record is the line's */
ALWAYS u64 point_of(u64 address, u32 mask, u32 scope)
{
	u64 place = ((address / GSAN_GRANULE << 10 | mask) * 0x9e3779b97f4a7c15ull >> 51) % 0x1fff;
	return (place << 2 | scope) << ELEM_SITE_SHIFT | (mask & POINT_WEAK ? ELEM_OF_WEAK : 0);
}
/* Of a record, in the granule at `address` or in its line; what only reads, nobody observes. */
#define NO_POINT (~0ull)
ALWAYS u64 rec_point(u64 rec, u64 address, int in_line)
{
	u32 op = rec_op(rec);
	if (op_is_strong_write(op))
		return point_of(address, rec_mask(rec), op_scope(op));
	if (!op_writes(op))
		return NO_POINT;
	return in_line ? point_of(address & ~(u64)(GSAN_LINE - 1), POINT_LINE | POINT_WEAK | rec_mask(rec), GSAN_SYS) :
			 point_of(address, POINT_WEAK | rec_mask(rec), GSAN_SYS);
}
/* Do the place and scope of point `b` include that of `a`? */
ALWAYS u32 point_scope(u64 a) { return (u32)(a >> ELEM_SITE_SHIFT) & 3; }
ALWAYS int point_same(u64 a, u64 b) { return !((a ^ b) & (ELEM_ANY_PLACE | ELEM_OF_WEAK)); }
ALWAYS int point_within(u64 a, u64 b)
{
	if (!(~b & ELEM_ANYWHERE))
		return 1;
	return (point_same(a, b) || (!(~b & ELEM_ANY_PLACE) && !((a | b) & ELEM_OF_WEAK))) && point_scope(a) >= point_scope(b);
}
ALWAYS int elem_is_point(u64 elem) { return elem & ELEM_POINT && !(elem & ELEM_PREFIX); }

ALWAYS u32 elem_owner(const struct gsan_launch *l, u64 elem)
{
	return elem & ELEM_PREFIX ? (u32)(elem >> ELEM_PREFIX_OWNER_SHIFT) & 31 : tag_participant(l, rec_tag(elem));
}

/* Does an element, taken by itself, cover the record? (The order before its launch is asked separately.) */
ALWAYS int elem_covers(const struct gsan_launch *l, u64 elem, u64 rec, u64 point)
{
	if (elem_is_point(elem) && elem & ELEM_FRESH)
		return 0;
	if (elem_is_point(elem) && (point == NO_POINT || !point_within(point, elem)))
		return 0;
	if (elem & ELEM_PREFIX)
		return ((elem >> ELEM_PREFIX_OWNER_SHIFT & 31) == tag_participant(l, rec_tag(rec)) &&
			gpu_load32(&tag_launch(l, rec_tag(rec))->seq) <= (u32)(elem >> ELEM_PREFIX_SEQ_SHIFT));
	if (rec_tag(elem) == rec_tag(rec))
		return stamp_within(l, rec, elem, elem & ELEM_ALL);
	if (elem_is_point(elem) && elem & ELEM_ALL) /* of RMWs without an entry, the newest launch of a stream stands for all */
		return launch_follows(l, rec_tag(elem), rec_tag(rec));
	return !elem_is_point(elem) && tag_private(l, rec_tag(elem)) && private_follows(l, rec_tag(elem), rec);
}

ALWAYS u64 elem_gate(u64 elem) { return elem & (((1ull << ELEM_SITE_SHIFT) - 4) | ELEM_OPEN); }

/* Without what says how it came to a location. */
ALWAYS u64 elem_bare(u64 elem) { return elem & ~(elem_gate(elem) | (elem & ELEM_PREFIX ? ELEM_PREFIX_OBSERVED : 0)); }

/* Does the release that brought `elem` reach this GPU, and `scope` of this CTA the releasing one? */
ALWAYS int elem_same_gpu(const struct gsan_launch *l, u64 elem) { return (elem >> ELEM_GPU_SHIFT & 31) == l->gpu; }
ALWAYS int elem_reaches(const struct gsan_launch *l, u64 elem)
{
	return (elem & ELEM_OPEN) || scope_reaches((u32)(elem >> ELEM_SCOPE_SHIFT) & 3, elem_same_gpu(l, elem));
}
ALWAYS int elem_reached(const struct gsan_launch *l, u64 elem, u32 scope)
{
	return (elem & ELEM_OPEN && scope != GSAN_CTA) || scope_reaches(scope, elem_same_gpu(l, elem));
}

ALWAYS u32 elem_seq(const struct gsan_launch *l, u64 elem)
{
	return elem & ELEM_PREFIX ? (u32)(elem >> ELEM_PREFIX_SEQ_SHIFT)  :
	       tag_mapped(l, rec_tag(elem)) ? gpu_load32(&tag_launch(l, rec_tag(elem))->seq) : ~0u;
}

/* Is it something that who reads the version observes? */
ALWAYS int elem_is_observed(u64 e)
{
	return e & ELEM_PREFIX ? (e & ELEM_PREFIX_OBSERVED) != 0 : elem_is_point(e) && e & (ELEM_RELAXED | ELEM_FRESH);
}

/* As it is once the operation that observed it is over. */
ALWAYS u64 elem_settled(u64 elem) { return elem_is_point(elem) ? elem & ~ELEM_FRESH : elem; }

/* Is keeping `b`, a point or not, enough for the point `a`? In a version, what is observed with it stays apart from what it
 * released. */
ALWAYS int point_kept(u64 a, u64 b, int version)
{
	u64 fresh = b & ELEM_POINT ? b & ELEM_FRESH : 0;
	return (!(b & ELEM_POINT) || point_within(a, b)) && (version ? (a & ELEM_FRESH) == fresh : !(fresh & ~a));
}

/* Is `b` as strong as `a`, so that keeping `b` alone is enough? `gated`: the gates must be equal. */
ALWAYS int elem_within(const struct gsan_launch *l, u64 a, u64 b, int gated)
{
	if (gated && elem_gate(a) != elem_gate(b) && !(b & ELEM_OPEN))
		return 0;
	if (b & ELEM_PREFIX)
		return elem_owner(l, a) == elem_owner(l, b) && elem_seq(l, a) <= elem_seq(l, b) &&
		       (!gated || !elem_is_observed(a) || elem_is_observed(b));
	if (a & ELEM_PREFIX)
		return 0;
	if (rec_tag(a) != rec_tag(b) || (a & ELEM_ALL && !(b & ELEM_ALL)))
		return 0;
	if (b & ~a & ELEM_POINT || (a & ELEM_POINT && (a ^ b) & ELEM_RELAXED)) /* what is observed here stays by itself */
		return 0;
	if (a & ELEM_POINT && !(a & ELEM_RELAXED) && !point_kept(a, b, gated))
		return 0;
	return stamp_within(l, a, b, b & ELEM_ALL);
}

/* The place of either of two points. */
ALWAYS u64 point_union(u64 a, u64 b)
{
	u64 scope = point_scope(a) < point_scope(b) ? point_scope(a) : point_scope(b);
	if (!point_same(a, b) && (a | b) & ELEM_OF_WEAK)
		return ELEM_ANYWHERE;
	return ((point_same(a, b) ? a : ELEM_ANY_PLACE) & ~(3ull << ELEM_SITE_SHIFT) & ELEM_ANYWHERE) | scope << ELEM_SITE_SHIFT;
}

/* What two elements of one tag say, and of one kind: of one CTA, its later epoch (of a private tag, the later time), of several all
 * CTAs of the launch. An open gate, and any place, unless they agree. */
ALWAYS u64 elem_both(const struct gsan_launch *l, u64 a, u64 b)
{
	u64 flags = a & b & (ELEM_POINT | ELEM_RELAXED | ELEM_FRESH), gate = elem_gate(a) == elem_gate(b) ? elem_gate(a) : ELEM_OPEN;
	u64 all = (a | b) & ELEM_ALL, who = a & REC_WHO;
	u64 site = (a ^ b) & ELEM_ANYWHERE ? ELEM_ANYWHERE : a & ELEM_ANYWHERE;
	flags |= gate | (elem_is_point(a & b) && !(flags & ELEM_RELAXED) ? point_union(a, b) : site);
	if (tag_private(l, rec_tag(a)))
		return ((rec_value(a) > rec_value(b) ? a : b) & REC_STAMP) | flags;
	if ((a ^ b) & REC_WHO || all) {
		who = a & ~0ull << GSAN_REC_TAG_SHIFT;
		all = ELEM_ALL;
	}
	return who | (u64)(rec_epoch(a) > rec_epoch(b) ? rec_epoch(a) : rec_epoch(b)) << GSAN_REC_EPOCH_SHIFT | flags | all;
}

ALWAYS u64 elem_prefix(u32 participant, u32 seq)
{
	return ELEM_PREFIX | (u64)participant << ELEM_PREFIX_OWNER_SHIFT | (u64)seq << ELEM_PREFIX_SEQ_SHIFT | ELEM_OPEN;
}

/* Is the element's launch, or are all of its launches, ordered before `l` by the floor? Then so is all that was before. */
ALWAYS int elem_below_floor(const struct gsan_launch *l, u64 elem)
{
	if (elem & ELEM_PREFIX)
		return elem_seq(l, elem) < l->order.floor[elem_owner(l, elem)];
	return tag_below_floor(l, rec_tag(elem));
}

ALWAYS int elem_is_own(const struct who *w, u64 elem)
{
	return !(elem & (ELEM_ALL | ELEM_PREFIX)) &&
	       (who_made(w, elem) || (tag_private(w->launch, rec_tag(elem)) && private_own(w, rec_tag(elem))));
}

/* Is the element of a launch that is before all that is behind this one anyway: its own, or one below its floor? */
ALWAYS int elem_inherited(const struct gsan_launch *l, u64 elem)
{
	return elem_below_floor(l, elem) ||
	       (!(elem & ELEM_PREFIX) && elem_owner(l, elem) == l->participant && elem_seq(l, elem) == l->seq);
}

#endif
