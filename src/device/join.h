/* Clock elements (tables.h) and joining them: into the short list of a CTA's clock or of a location's version, and into
 * what the launches behind this one inherit. A list that is full widens: it says "ordered" too often, never too seldom, and
 * that is counted. */
#ifndef GSAN_DEVICE_JOIN_H
#define GSAN_DEVICE_JOIN_H

#include "device/state.h"

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

/* ---- bounded lists of elements ---------------------------------------------------------------------------------- */

/* A list of elements, changed under its owner's lock. In some each element has a second word: of what a launch inherits
 * (ELEMS_BY) the launch that acquired it and the element's own launch number; of what was set aside (ELEMS_AT) its
 * location's key, 0 = any. */
struct elems {
	u64 *word;
	u32 *count;
	u32 *changing; /* for who reads without the lock: odd while elements are taken out or change places; NULL: nobody does */
	u32 room, kind;
};
#define ELEMS_GATED 1u /* elements of other gates are others */
#define ELEMS_BY 2u
#define ELEMS_AT 4u
ALWAYS u32 elems_stride(const struct elems *s) { return s->kind & (ELEMS_BY | ELEMS_AT) ? 2 : 1; }
ALWAYS u64 elems_at(const struct elems *s, u32 i) { return gpu_load64(&s->word[i * elems_stride(s)]); }
ALWAYS u64 elems_with(const struct elems *s, u32 i) { return elems_stride(s) > 1 ? gpu_load64(&s->word[2 * i + 1]) : 0; }
/* Four from `i` on, and their second words: on the way at once, for such a list is walked at the latency of L2. What lies behind the
 * last one is read, too, and of no meaning. */
#define ELEMS_ROW 4u
ALWAYS void elems_row(const struct elems *s, u32 i, u64 elem[ELEMS_ROW], u64 with[ELEMS_ROW])
{
	const u64 *at = s->word + i * elems_stride(s);
	if (elems_stride(s) == 1) {
		with[0] = with[1] = with[2] = with[3] = 0;
		gpu_load128(at, &elem[0], &elem[1]);
		gpu_load128(at + 2, &elem[2], &elem[3]);
	} else {
		for (u32 k = 0; k < ELEMS_ROW; k++)
			gpu_load128(at + 2 * k, &elem[k], &with[k]);
	}
}
ALWAYS void elems_put(const struct elems *s, u32 i, u64 elem, u64 with)
{
	if (elems_stride(s) > 1)
		gpu_store64(&s->word[2 * i + 1], with);
	gpu_store64(&s->word[i * elems_stride(s)], elem);
}
ALWAYS void elems_change(const struct elems *s) /* before, and after */
{
	if (!s->changing)
		return;
	gpu_fence_sys();
	gpu_add32(s->changing, 1);
	gpu_fence_sys();
}

ALWAYS int with_within(const struct elems *s, u64 a, u64 b)
{
	return s->kind & ELEMS_BY ? (u32)b <= (u32)a : !(s->kind & ELEMS_AT) || !b || a == b;
}
ALWAYS u64 with_union(const struct elems *s, u64 a, u64 b)
{
	if (s->kind & ELEMS_BY)
		return (a >> 32 > b >> 32 ? a : b) >> 32 << 32 | (u32)((u32)a < (u32)b ? a : b);
	return a == b ? a : 0;
}

/* How far a list that is full goes, step by step, until there is room: each gives up more of what its elements tell apart. What it
 * then says is "ordered" too often, never too seldom, and is counted. Nothing is dropped: the last step leaves one element per
 * participant, for which every list has room. */
enum elems_step { STEP_CTA_POINTS, STEP_LAUNCH_POINTS, STEP_LAUNCH, STEP_PARTICIPANT, ELEMS_STEPS };

/* All launches of a participant up to the later one; who reads it observes it, if that is so of one of them. */
NEVER u64 elem_union_prefix(const struct gsan_launch *l, u64 a, u64 b, u64 with_a, u64 with_b)
{
	u32 seq_a = with_a ? (u32)(with_a >> 32) : elem_seq(l, a), seq_b = with_b ? (u32)(with_b >> 32) : elem_seq(l, b);
	u64 observed = elem_is_observed(a) || elem_is_observed(b) ? ELEM_PREFIX_OBSERVED : 0;
	return elem_prefix(elem_owner(l, a), seq_a > seq_b ? seq_a : seq_b) | observed;
}

/* One element that says what both say, and no more than `step` allows; 0: there is none. */
NEVER u64 elem_union(const struct gsan_launch *l, const struct elems *s, u32 i, u32 j, enum elems_step step)
{
	u64 a = elems_at(s, i), b = elems_at(s, j), of = ELEM_POINT | (a & ELEM_POINT ? ELEM_RELAXED | (a & ELEM_RELAXED ? 0 : ELEM_FRESH) : 0);
	int numbers = s->kind & ELEMS_BY;
	if (step == STEP_PARTICIPANT)
		return elem_owner(l, a) != elem_owner(l, b) ? 0 :
		       elem_union_prefix(l, a, b, numbers ? elems_with(s, i) : 0, numbers ? elems_with(s, j) : 0);
	if ((a | b) & ELEM_PREFIX || rec_tag(a) != rec_tag(b) || (a ^ b) & of)
		return 0;
	if (elem_is_point(a) ? step > STEP_LAUNCH_POINTS : step != STEP_LAUNCH)
		return 0;
	if (step == STEP_CTA_POINTS && ((a | b) & ELEM_ALL || (!tag_private(l, rec_tag(a)) && rec_cta(a) != rec_cta(b))))
		return 0;
	return elem_both(l, a, b);
}

/* Makes room in a full list: at least an eighth, so that it is not asked for at once again. Returns how many there are now. */
NEVER u32 elems_widen(const struct gsan_launch *l, const struct elems *s)
{
	u32 n = gpu_load32(s->count), enough = s->room - s->room / 8;
	count(l, GSAN_N_CLOCK_FULL, 1);
	elems_change(s);
	for (u32 step = 0; n > enough && step < ELEMS_STEPS; step++)
		for (u32 i = 0; i < n; i++)
			for (u32 j = i + 1; j < n;) {
				u64 both = elem_union(l, s, i, j, (enum elems_step)step);
				if (!both) {
					j++;
					continue;
				}
				elems_put(s, i, both, with_union(s, elems_with(s, i), elems_with(s, j)));
				elems_put(s, j, elems_at(s, n - 1), elems_with(s, n - 1));
				n--;
			}
	gpu_store32(s->count, n);
	elems_change(s);
	return n;
}

/* Puts an element into a list: over one that it includes, or at the end. 0: it was there. */
NEVER int elems_add(const struct gsan_launch *l, const struct elems *s, u64 elem, u64 with)
{
	u32 n = gpu_load32(s->count), gated = s->kind & ELEMS_GATED;
	u64 old[ELEMS_ROW], its[ELEMS_ROW];
	for (u32 i = 0; i < n; i++) {
		u32 k = i % ELEMS_ROW;
		if (!k)
			elems_row(s, i, old, its);
		if (elem_within(l, elem, old[k], gated) && with_within(s, with, its[k]))
			return 0;
		if (elem_within(l, old[k], elem, gated) && with_within(s, its[k], with)) {
			elems_put(s, i, elem, with); /* its second word alone may be seen first: it includes the old one's, too */
			return 1;
		}
	}
	if (n == s->room)
		n = elems_widen(l, s);
	elems_put(s, n, elem, with);
	gpu_fence_sys();
	gpu_store32(s->count, n + 1);
	return 1;
}

ALWAYS struct elems clock_elems(struct dev_clock *c)
{
	return (struct elems){.word = c->elem, .count = &c->count, .changing = &c->changing, .room = DEV_CLOCK};
}

/* Is the element's launch, or are all of its launches, ordered before `l` by the floor? Then so is all that was before. */
ALWAYS int elem_below_floor(const struct gsan_launch *l, u64 elem)
{
	if (elem & ELEM_PREFIX)
		return elem_seq(l, elem) < l->order.floor[elem_owner(l, elem)];
	return tag_below_floor(l, rec_tag(elem));
}

/* ---- what launches inherit --------------------------------------------------------------------------------------- */

ALWAYS struct elems acquired_elems(struct dev_acquired *a)
{
	return (struct elems){.word = &a->item[0].elem, .count = &a->count, .changing = &a->changing, .room = DEV_ACQUIRED, .kind = ELEMS_BY};
}

/* Items that l's floor includes become one: what is before l. The rest is as it was. */
NEVER void acquired_sweep(const struct gsan_launch *l, const struct elems *s)
{
	u32 n = gpu_load32(s->count), by = ~0u, kept = 0;
	elems_change(s);
	for (u32 i = 0; i < n; i++) {
		u64 elem = elems_at(s, i), with = elems_with(s, i);
		if (elem_below_floor(l, elem))
			by = (u32)with < by ? (u32)with : by;
		else
			elems_put(s, kept++, elem, with);
	}
	if (by != ~0u)
		elems_put(s, kept++, (u64)l->tag << GSAN_REC_TAG_SHIFT | ELEM_RELAXED, (u64)l->seq << 32 | by);
	gpu_store32(s->count, kept);
	elems_change(s);
}

/* Launches behind this one in its stream inherit what it acquires. */
NEVER void acquired_add(const struct gsan_launch *l, u64 elem)
{
	struct dev_tables *t = own_tables(l);
	struct dev_acquired *a = &t->acquired[l->stream];
	struct elems s = acquired_elems(a);
	if (!lock_take(l, &a->lock))
		return;
	if (gpu_load32(s.count) == s.room)
		acquired_sweep(l, &s);
	elems_add(l, &s, elem_bare(elem), (u64)elem_seq(l, elem) << 32 | l->seq);
	gpu_or32(&t->streams_acquired[l->stream / 32], 1u << l->stream % 32);
	gpu_unlock(&a->lock);
}

/* Launches behind this one inherit that it is ordered after everything: all that has begun by now. */
NEVER void acquired_everything(const struct gsan_launch *l)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped), newest = (u32)gpu_load64(&dev_tables(p)->newest);
		if (newest)
			acquired_add(l, elem_prefix(p, newest));
	}
}

/* Is the element of a launch that is before all that is behind this one anyway: its own, or one below its floor? */
ALWAYS int elem_inherited(const struct gsan_launch *l, u64 elem)
{
	return elem_below_floor(l, elem) ||
	       (!(elem & ELEM_PREFIX) && elem_owner(l, elem) == l->participant && elem_seq(l, elem) == l->seq);
}

/* What this CTA has acquired by now goes to the launches behind its own. */
NEVER void acquired_clock(const struct who *w)
{
	const struct dev_clock *c = &w->state->clock;
	u32 n = gpu_load32(&c->count);
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 elem = elem_settled(gpu_load64(&c->elem[i]));
		if (!elem_inherited(w->launch, elem))
			acquired_add(w->launch, elem);
	}
	if (gpu_load32(&c->flags) & DEV_CLOCK_EVERYTHING)
		acquired_everything(w->launch);
}

/* ---- a CTA's clock ------------------------------------------------------------------------------------------------ */

ALWAYS int elem_is_own(const struct who *w, u64 elem)
{
	return !(elem & (ELEM_ALL | ELEM_PREFIX)) &&
	       (who_made(w, elem) || (tag_private(w->launch, rec_tag(elem)) && private_own(w, rec_tag(elem))));
}

/* Joins one element into the CTA's clock; what its launch's base clock already has is not kept. 1: it is news. */
NEVER int clock_join(const struct who *w, u64 elem)
{
	const struct gsan_launch *l = w->launch;
	struct elems s = clock_elems(&w->state->clock);
	if (elem_below_floor(l, elem) || elem_is_own(w, elem))
		return 0;
	if (l->mapped >> elem_owner(l, elem) & 1)
		return elems_add(l, &s, elem_bare(elem), 0);
	gpu_or32(&w->state->clock.flags, DEV_CLOCK_EVERYTHING);
	acquired_add(l, elem_prefix(elem_owner(l, elem), ~0u)); /* a launch behind this one may be able to ask about it */
	return 1;
}

/* Takes out what element `i` says, too. Returns where that is now. */
NEVER u32 clock_only(const struct who *w, const struct elems *s, u32 i)
{
	for (u32 j = gpu_load32(s->count); j--;) {
		u32 last = gpu_load32(s->count) - 1;
		if (j == i || !elem_within(w->launch, elems_at(s, j), elems_at(s, i), 0))
			continue;
		elems_change(s);
		elems_put(s, j, elems_at(s, last), 0);
		gpu_store32(s->count, last);
		elems_change(s);
		i = i == last ? j : i;
	}
	return i;
}

/* After the check of the strong operation that observed them: fresh elements count for what follows. */
NEVER void clock_settle(const struct who *w)
{
	struct elems s = clock_elems(&w->state->clock);
	for (u32 i = 0; i < gpu_load32(s.count); i++) {
		u64 e = elems_at(&s, i);
		if (elem_settled(e) == e)
			continue;
		elems_put(&s, i, elem_settled(e), 0);
		i = clock_only(w, &s, i);
	}
	gpu_store32(&w->state->fresh, 0);
}

#endif
