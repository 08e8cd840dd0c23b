/* Bounded lists of clock elements: a clock, a version, what was set aside, what is inherited. One that is full widens: it says
 * "ordered" too often, never too seldom, and that is counted. */
#ifndef GSAN_DEVICE_ELEMS_H
#define GSAN_DEVICE_ELEMS_H

#include "device/elem.h"
#include "device/launch.h"

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
	if (s->changing) /* others read without the lock */
		gpu_fence_sys();
	gpu_store32(s->count, n + 1);
	return 1;
}

#endif
