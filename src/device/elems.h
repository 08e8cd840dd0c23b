/* Bounded lists of clock elements: a clock, a version, what was set aside, what is inherited. One that is full widens: it says
 * "ordered" too often, never too seldom, and that is counted. */
#ifndef GSAN_DEVICE_ELEMS_H
#define GSAN_DEVICE_ELEMS_H

#include "device/elem_order.h"
#include "device/launch.h"

/* A list of elements, changed under its owner's lock. In some each element has a second word: of what a launch inherits
 * (ELEMS_BY) the launch that acquired it and the element's own launch number; of what was set aside (ELEMS_AT) its
 * location's key, 0 = any. */
struct elems {
	u64 *word;
	u32 *count;
	u32 *changing; /* for who reads without the lock: odd while elements are taken out or change places; NULL: nobody does */
	u32 *changed;  /* of the newest version: where each element's generation is put, which is `generation` */
	u64 *known;    /* by whom each one is known (dev_state, warps.h); NULL: by all ... */
	u64 *formal;   /* ... but for those whose bits are here: they are known formally */
	struct dev_state *state; /* whose clock it is: `told`, `kept` and `passed` lose the bit of each element that changes */
	u64 whose;     /* who is to know what is added: KNOWN_TO_ALL, if not told apart */
	u32 room, kind, generation;
};
#define ELEMS_GATED 1u /* elements of other gates are others */
#define ELEMS_BY 2u
#define ELEMS_AT 4u
#define ELEMS_SITES 8u /* for words: a CTA's writes at other sites are others */
ALWAYS u32 elems_stride(const struct elems *s) { return s->kind & (ELEMS_BY | ELEMS_AT) ? 2 : 1; }
ALWAYS u64 elems_at(const struct elems *s, u32 i) { return gpu_own64(&s->word[i * elems_stride(s)]); }
ALWAYS u64 elems_with(const struct elems *s, u32 i) { return elems_stride(s) > 1 ? gpu_own64(&s->word[2 * i + 1]) : 0; }
/* Four from `at` on. What lies behind the last one is read, too, and of no meaning. */
#define ELEMS_ROW 4u
_Static_assert(!(DEV_CLOCK % ELEMS_ROW | DEV_PENDING % ELEMS_ROW | DEV_VERSION % ELEMS_ROW | DEV_ACQUIRED % ELEMS_ROW), "whole rows");
ALWAYS void elems_row(const u64 *at, u32 stride, u64 elem[ELEMS_ROW])
{
	u64 with;
	if (stride == 1) {
		gpu_own128(at, &elem[0], &elem[1]);
		gpu_own128(at + 2, &elem[2], &elem[3]);
		return;
	}
	for (u32 k = 0; k < ELEMS_ROW; k++)
		gpu_own128(at + 2 * k, &elem[k], &with);
}
ALWAYS void elems_put(const struct elems *s, u32 i, u64 elem, u64 with)
{
	if (elems_stride(s) > 1)
		gpu_store64(&s->word[2 * i + 1], with);
	gpu_store64(&s->word[i * elems_stride(s)], elem);
	if (s->changed)
		gpu_store32(&s->changed[i], s->generation);
	if (s->state) {
		gpu_store64(&s->state->told, gpu_own64(&s->state->told) & ~(1ull << i));
		gpu_store64(&s->state->kept, gpu_own64(&s->state->kept) & ~(1ull << i));
		gpu_store64(&s->state->passed, gpu_own64(&s->state->passed) & ~(1ull << i));
	}
}
/* The last element, or another one, in a place that is free. */
ALWAYS u64 elems_known(const struct elems *s, u32 i)
{
	if (s->known)
		return gpu_own64(&s->known[i]);
	return s->formal ? known_to_all(gpu_own64(s->formal), i) : KNOWN_TO_ALL;
}
ALWAYS void elems_tell(const struct elems *s, u32 i, u64 known)
{
	if (s->known)
		gpu_store64(&s->known[i], known);
	else if (s->formal)
		gpu_store64(s->formal, (gpu_own64(s->formal) & ~(1ull << i)) | known >> 63 << i);
}
ALWAYS void elems_move(const struct elems *s, u32 to, u32 from)
{
	elems_put(s, to, elems_at(s, from), elems_with(s, from));
	elems_tell(s, to, elems_known(s, from));
}
ALWAYS void elems_fence(const struct elems *s) /* what was written comes first for who reads without the lock */
{
	if (s->state) /* they are of its CTA */
		gpu_fence_cta();
	else if (s->changing)
		gpu_fence_sys();
}
ALWAYS void elems_change(const struct elems *s) /* before, and after */
{
	if (!s->changing)
		return;
	elems_fence(s);
	gpu_add32(s->changing, 1);
	elems_fence(s);
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

/* What an element must have in common with another one, unless one of them is of many, for one to include the other: whose it is;
 * if either is a point, what tells writes from seen ones; of two seen ones the place. Nothing, if `elem` is of many. */
struct elem_near { u64 elem, identity; u32 kind, place; };
ALWAYS struct elem_near elem_near(const struct gsan_launch *l, u64 elem)
{
	struct elem_near n = {.elem = elem};
	if (elem_of_many(elem))
		return n;
	n.identity = tag_private(l, rec_tag(elem)) ? ~0ull << GSAN_REC_TAG_SHIFT : REC_WHO;
	n.kind = (u32)ELEM_RELAXED;
	n.place = elem_is_seen(elem) ? (u32)(POINT_ANY_PLACE & ~point_wild(elem)) : 0;
	return n;
}
_Static_assert(POINT_ANY_PLACE >> 32 == 0 && ELEM_POINT == ELEM_RELAXED << 3, "as elems_near() has them");
ALWAYS u32 elems_near(const struct elem_near *n, u64 old)
{
	u32 apart = (u32)(n->elem ^ old), either = (u32)(n->elem | old), point = (u32)old & (u32)ELEM_POINT;
	int place = !!(apart & n->place) & !!(~(u32)old & (u32)POINT_ANY_IN_LINE) & !!point; /* or of any place of some line */
	return (u32)(!((n->elem ^ old) & n->identity) & !(either >> 3 & apart & n->kind) & !place) | (u32)elem_of_many(old);
}

/* Is it whose it must be? Most are not: this is asked first, of their upper halves. */
ALWAYS int elems_whose(const struct elem_near *n, u64 old)
{
	return !((u32)((n->elem ^ old) >> 32) & (u32)(n->identity >> 32)) || elem_of_many(old);
}
_Static_assert((u32)REC_WHO == 0, "identities lie in the upper half");

/* Those of four elements, as bits, that are near. */
ALWAYS u32 elems_row_near(const u64 *at, u32 stride, const struct elem_near *n)
{
	u64 old[ELEMS_ROW];
	elems_row(at, stride, old);
	if (!(elems_whose(n, old[0]) | elems_whose(n, old[1]) | elems_whose(n, old[2]) | elems_whose(n, old[3])))
		return 0;
	return elems_near(n, old[0]) | elems_near(n, old[1]) << 1 | elems_near(n, old[2]) << 2 | elems_near(n, old[3]) << 3;
}

/* Does the list keep the two apart, though one may include the other? */
ALWAYS int elems_apart(const struct elems *s, u64 a, u64 b)
{
	return s->kind & ELEMS_SITES && elem_is_write(a) && elem_is_write(b) && elem_site(a) != elem_site(b);
}

/* Takes out what element `i` says, too; others may change their places. */
NEVER void elems_only(const struct gsan_launch *l, const struct elems *s, u32 i)
{
	u64 elem = elems_at(s, i), with = elems_with(s, i);
	struct elem_near like = elem_near(l, elem);
	u32 n = gpu_own32(s->count), stride = elems_stride(s), gated = s->kind & ELEMS_GATED;
	for (u32 j = 0; j < n;) {
		u32 row = j - j % ELEMS_ROW, near = elems_row_near(&s->word[row * stride], stride, &like) & ~0u << j % ELEMS_ROW;
		j = near ? row + gpu_first(near) : row + ELEMS_ROW;
		if (j >= n)
			continue;
		u64 other = elems_at(s, j);
		if (j == i || elems_apart(s, other, elem) || !known_within(elems_known(s, j), elems_known(s, i)) ||
		    !elem_within(l, other, elem, gated) || !with_within(s, elems_with(s, j), with)) {
			j++;
			continue;
		}
		elems_change(s);
		elems_move(s, j, --n); /* which is looked at in its new place */
		gpu_store32(s->count, n);
		elems_change(s);
		i = i == n ? j : i;
	}
}

/* What others of them say, too, goes. */
ALWAYS void elems_prune(const struct gsan_launch *l, const struct elems *s)
{
	for (u32 i = gpu_own32(s->count); i--;) /* what takes another's place comes from behind, and was looked at */
		if (i < gpu_own32(s->count))
			elems_only(l, s, i);
}

/* How far a list that is full goes, step by step, until there is room: each gives up more of what its elements tell apart. What it
 * then says is "ordered" too often, never too seldom, and is counted. Nothing is dropped: the last step leaves one element per
 * participant, for which every list has room. */
enum elems_step { STEP_LINE_POINTS, STEP_CTA_POINTS, STEP_LAUNCH_POINTS, STEP_LAUNCH, STEP_PARTICIPANT, ELEMS_STEPS };

/* All launches of a participant up to the later one; who reads it observes it, if that is so of one of them. */
NEVER u64 elem_union_prefix(const struct gsan_launch *l, u64 a, u64 b, u64 with_a, u64 with_b)
{
	u32 seq_a = with_a ? (u32)(with_a >> 32) : elem_seq(l, a), seq_b = with_b ? (u32)(with_b >> 32) : elem_seq(l, b);
	u64 both = elem_prefix(elem_owner(l, a), seq_a > seq_b ? seq_a : seq_b);
	return elem_is_observed(a) || elem_is_observed(b) ? elem_observed(both) : both;
}

/* May a step unite this element with another? Is there one that says what both say, and no more than the step allows? */
ALWAYS int elems_may_meet(u64 a, enum elems_step step)
{
	return step == STEP_PARTICIPANT || (step == STEP_LINE_POINTS ? elem_is_seen(a) : !elem_is_prefix(a) && elem_is_point(a) == (step < STEP_LAUNCH));
}
ALWAYS int elems_meet(const struct gsan_launch *l, u64 a, u64 b, enum elems_step step)
{
	if (step == STEP_PARTICIPANT)
		return elem_owner(l, a) == elem_owner(l, b);
	if (rec_tag(a) != rec_tag(b) || elem_is_prefix(b) || !elem_alike(a, b))
		return 0;
	if (step == STEP_LINE_POINTS && !point_same_line(a, b))
		return 0;
	return step > STEP_CTA_POINTS || (!elem_of_many(a) && !elem_of_many(b) && (tag_private(l, rec_tag(a)) || rec_cta(a) == rec_cta(b)));
}

/* Puts it in the place of the first, and the list's last one in that of the second. Returns it. */
NEVER u64 elems_unite(const struct gsan_launch *l, const struct elems *s, u32 i, u32 j, u32 last, enum elems_step step)
{
	u64 a = elems_at(s, i), b = elems_at(s, j), with_a = elems_with(s, i), with_b = elems_with(s, j);
	int numbers = s->kind & ELEMS_BY;
	u64 both = step < STEP_PARTICIPANT ? elem_both(l, a, b) : elem_union_prefix(l, a, b, numbers ? with_a : 0, numbers ? with_b : 0);
	elems_put(s, i, both, with_union(s, with_a, with_b));
	elems_tell(s, i, known_both(elems_known(s, i), elems_known(s, j)));
	elems_move(s, j, last);
	return both;
}

/* Makes room in a full list: at least an eighth, so that it is not asked for at once again. Returns how many there are now. */
NEVER u32 elems_widen(const struct gsan_launch *l, const struct elems *s)
{
	u32 n = gpu_own32(s->count), enough = s->room - s->room / 8;
	count(l, GSAN_N_CLOCK_FULL, 1);
	elems_change(s);
	for (u32 step = 0; n > enough && step < ELEMS_STEPS; step++)
		for (u32 i = 0; i < n; i++) {
			u64 a = elems_at(s, i);
			for (u32 j = i + 1; elems_may_meet(a, (enum elems_step)step) && j < n;)
				if (elems_meet(l, a, elems_at(s, j), (enum elems_step)step))
					a = elems_unite(l, s, i, j, --n, (enum elems_step)step);
				else
					j++;
		}
	gpu_store32(s->count, n);
	elems_change(s);
	return n;
}

/* Where in a list an element stands that includes this one, or that this one includes: index * 2 + 1 of the former, index * 2 of the
 * latter. */
#define ELEMS_NOWHERE (~0u)
NEVER u32 elems_find(const struct gsan_launch *l, const struct elems *s, u64 elem, u64 with)
{
	u32 n = gpu_own32(s->count), gated = s->kind & ELEMS_GATED, stride = elems_stride(s);
	struct elem_near like = elem_near(l, elem);
	const u64 *row = s->word;
	for (u32 i = 0; i < n; i += ELEMS_ROW, row += ELEMS_ROW * stride)
		for (u32 near = elems_row_near(row, stride, &like); near; near &= near - 1) {
			u32 at = i + gpu_first(near);
			u64 old = elems_at(s, at), its = elems_with(s, at);
			if (at >= n || elems_apart(s, elem, old))
				continue;
			u64 known = elems_known(s, at);
			int in = elem_within(l, elem, old, gated) && with_within(s, with, its);
			if (in && known_within(s->whose, known))
				return at << 1 | 1;
			int one = in && !((s->whose ^ known) & KNOWN_FORMALLY); /* both say the same, perhaps to others */
			int has = (one || known_within(known, s->whose)) && elem_within(l, old, elem, gated) && with_within(s, its, with);
			if (has)
				return at << 1 | (u32)one;
		}
	return ELEMS_NOWHERE;
}

/* Puts an element into a list: over one that it includes, or at the end. Returns where it is, as index * 2, with 1 if it was there. */
NEVER u32 elems_add(const struct gsan_launch *l, const struct elems *s, u64 elem, u64 with)
{
	u32 found = elems_find(l, s, elem, with), n;
	if (found != ELEMS_NOWHERE) {
		if (!(found & 1))
			elems_put(s, found >> 1, elem, with); /* its second word alone may be seen first: it includes the old one's, too */
		u64 known = elems_known(s, found >> 1);
		if (!known_within(s->whose, known))
			elems_tell(s, found >> 1, known_both(known, s->whose));
		return found;
	}
	n = gpu_own32(s->count);
	if (n == s->room)
		n = elems_widen(l, s);
	elems_put(s, n, elem, with);
	elems_tell(s, n, s->whose);
	elems_fence(s);
	gpu_store32(s->count, n + 1);
	return n << 1;
}

#endif
