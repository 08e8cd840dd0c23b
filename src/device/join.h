/* Clock elements (tables.h) and joining them: into the short list of a CTA's clock or of a location's version, and into
 * what the launches behind this one inherit. A list that is full merges; merging says "ordered" too often, never too
 * seldom, and is counted. */
#ifndef GSAN_DEVICE_JOIN_H
#define GSAN_DEVICE_JOIN_H

#include "device/state.h"

ALWAYS u64 elem_gate(u64 elem) { return elem & (((1ull << ELEM_SITE_SHIFT) - 4) | ELEM_OPEN); }

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
	if (gated && elem_gate(a) != elem_gate(b))
		return 0;
	if ((a ^ b) & ELEM_PREFIX)
		return 0;
	if (a & ELEM_PREFIX)
		return !((a ^ b) >> ELEM_PREFIX_OWNER_SHIFT & 31) && a >> ELEM_PREFIX_SEQ_SHIFT <= b >> ELEM_PREFIX_SEQ_SHIFT;
	if (rec_tag(a) != rec_tag(b) || (a & ELEM_ALL && !(b & ELEM_ALL)))
		return 0;
	if (b & ~a & ELEM_POINT || (a & ELEM_POINT && (a ^ b) & ELEM_RELAXED)) /* what is observed here stays by itself */
		return 0;
	if (a & ELEM_POINT && !(a & ELEM_RELAXED) && !point_kept(a, b, gated))
		return 0;
	return stamp_within(l, a, b, b & ELEM_ALL);
}

/* Both CTAs' launch, up to the later epoch; of a private tag, the later time. An open gate unless they agree. */
ALWAYS u64 elem_all(const struct gsan_launch *l, u64 a, u64 b)
{
	u64 flags = a & b & (ELEM_POINT | ELEM_RELAXED), gate = elem_gate(a) == elem_gate(b) ? elem_gate(a) : ELEM_OPEN;
	flags |= gate | ((a ^ b) & ELEM_ANYWHERE ? ELEM_ANYWHERE : a & ELEM_ANYWHERE);
	if (tag_private(l, rec_tag(a)))
		return ((rec_value(a) > rec_value(b) ? a : b) & ~0ull << GSAN_REC_EPOCH_SHIFT) | flags;
	u64 epoch = (u64)(rec_epoch(a) > rec_epoch(b) ? rec_epoch(a) : rec_epoch(b)) << GSAN_REC_EPOCH_SHIFT;
	return (a & (~0ull << GSAN_REC_TAG_SHIFT)) | epoch | flags | ELEM_ALL;
}

ALWAYS u32 elem_seq(const struct gsan_launch *l, u64 elem)
{
	return elem & ELEM_PREFIX ? (u32)(elem >> ELEM_PREFIX_SEQ_SHIFT)  :
	       tag_mapped(l, rec_tag(elem)) ? gpu_load32(&tag_launch(l, rec_tag(elem))->seq) : ~0u;
}

ALWAYS u64 elem_prefix(u32 participant, u32 seq)
{
	return ELEM_PREFIX | (u64)participant << ELEM_PREFIX_OWNER_SHIFT | (u64)seq << ELEM_PREFIX_SEQ_SHIFT | ELEM_OPEN;
}

/* A full list: the element and one of its launch become that launch's; failing that, all of its participant's become
 * its launches up to the newest. 0: the list has nothing of that participant. */
NEVER int elems_merge(const struct gsan_launch *l, u64 *list, u32 n, u64 elem)
{
	u32 place = n, newest = elem_seq(l, elem);
	count(l, GSAN_N_CLOCK_FULL, 1);
	for (u32 i = 0; i < n; i++) {
		u64 old = gpu_load64(&list[i]);
		if (!(old & ELEM_PREFIX) && !(elem & ELEM_PREFIX) && rec_tag(old) == rec_tag(elem)) {
			gpu_store64(&list[i], elem_all(l, old, elem));
			return 1;
		}
		if (elem_owner(l, old) == elem_owner(l, elem)) {
			place = i;
			newest = elem_seq(l, old) > newest ? elem_seq(l, old) : newest;
		}
	}
	if (place < n)
		gpu_store64(&list[place], elem_prefix(elem_owner(l, elem), newest));
	return place < n;
}

/* Puts an element into a list: over one it includes, at the end, or, when full, merged. Every merge says "ordered" too
 * often, never too seldom. Returns 1 if the list grew or changed, 0 if it was there, -1 if it could not be kept. */
NEVER int elems_add(const struct gsan_launch *l, u64 *list, u32 *length, u32 room, u64 elem, int gated)
{
	u32 n = gpu_load32(length);
	for (u32 i = 0; i < n; i++) {
		u64 old = gpu_load64(&list[i]);
		if (elem_within(l, elem, old, gated))
			return 0;
		if (elem_within(l, old, elem, gated)) {
			gpu_store64(&list[i], elem);
			return 1;
		}
	}
	if (n == room)
		return elems_merge(l, list, n, elem) ? 1 : -1;
	gpu_store64(&list[n], elem);
	gpu_fence_sys();
	gpu_store32(length, n + 1);
	return 1;
}

/* Is the element's launch, or are all of its launches, ordered before `l` by the floor? Then so is all that was before. */
ALWAYS int elem_below_floor(const struct gsan_launch *l, u64 elem)
{
	if (elem & ELEM_PREFIX)
		return elem_seq(l, elem) < l->order.floor[elem_owner(l, elem)];
	return tag_below_floor(l, rec_tag(elem));
}

/* Items that l's floor includes become one: what is before l. The rest is as it was. 1: there is room now. (Whoever reads
 * meanwhile finds an item or what replaced it.) */
NEVER int acquired_sweep(const struct gsan_launch *l, struct dev_acquired *a)
{
	u32 by = ~0u, first = DEV_ACQUIRED, more = 0;
	for (u32 i = 0; i < DEV_ACQUIRED; i++) {
		if (!a->item[i].elem || !elem_below_floor(l, a->item[i].elem))
			continue;
		by = a->item[i].by < by ? a->item[i].by : by;
		more += first < DEV_ACQUIRED;
		first = first < DEV_ACQUIRED ? first : i;
	}
	if (!more)
		return 0;
	a->item[first].by = by;
	a->item[first].seq = l->seq;
	gpu_fence_sys();
	gpu_store64(&a->item[first].elem, (u64)l->tag << GSAN_REC_TAG_SHIFT | ELEM_RELAXED);
	gpu_fence_sys();
	for (u32 i = first + 1; i < DEV_ACQUIRED; i++)
		if (a->item[i].elem && elem_below_floor(l, a->item[i].elem))
			gpu_store64(&a->item[i].elem, 0);
	return 1;
}

/* What a stream acquired from participant p, but for its newest launch there, becomes one prefix item. */
NEVER void acquired_age(const struct gsan_launch *l, struct dev_acquired *a, u32 p)
{
	u32 last = 0, by = ~0u, seq = 0, place = DEV_ACQUIRED;
	for (u32 i = 0; i < DEV_ACQUIRED; i++)
		if (a->item[i].elem && elem_owner(l, a->item[i].elem) == p && a->item[i].seq > last)
			last = a->item[i].seq;
	for (u32 i = 0; i < DEV_ACQUIRED; i++) {
		struct dev_acquired_item *item = &a->item[i];
		if (!item->elem || elem_owner(l, item->elem) != p || item->seq == last)
			continue;
		by = item->by < by ? item->by : by;
		seq = item->seq > seq ? item->seq : seq;
		place = place < DEV_ACQUIRED ? place : i;
	}
	if (place == DEV_ACQUIRED)
		return;
	a->item[place].by = by;
	a->item[place].seq = seq;
	gpu_fence_sys();
	gpu_store64(&a->item[place].elem, elem_prefix(p, seq));
	gpu_fence_sys();
	for (u32 i = place + 1; i < DEV_ACQUIRED; i++)
		if (a->item[i].elem && elem_owner(l, a->item[i].elem) == p && a->item[i].seq != last)
			gpu_store64(&a->item[i].elem, 0);
}

/* Makes room in a full list, under its lock: by what is certainly behind all, else by saying "ordered" too often for old
 * launches, which is counted. */
NEVER void acquired_shrink(const struct gsan_launch *l, struct dev_acquired *a)
{
	if (acquired_sweep(l, a))
		return;
	count(l, GSAN_N_CLOCK_FULL, 1);
	for (u32 p = 0; p < GSAN_PARTICIPANTS; p++)
		acquired_age(l, a, p);
}

/* Where an item goes: over an older epoch of the same, to a free place, to DEV_ACQUIRED if there is none. */
ALWAYS u32 acquired_place(const struct gsan_launch *l, const struct dev_acquired *a, u64 elem)
{
	u32 place = DEV_ACQUIRED;
	for (u32 i = 0; i < DEV_ACQUIRED; i++) {
		u64 old = a->item[i].elem;
		if (old && a->item[i].by == l->seq && elem_within(l, old, elem, 0))
			return i;
		place = old || place < DEV_ACQUIRED ? place : i;
	}
	return place;
}

/* Launches behind this one in its stream inherit what it acquires. */
NEVER void acquired_add(const struct gsan_launch *l, u64 elem)
{
	struct dev_tables *t = own_tables(l);
	struct dev_acquired *a = &t->acquired[l->stream];
	u32 seq = elem_seq(l, elem), place;
	gpu_lock(&a->lock);
	place = acquired_place(l, a, elem);
	if (place == DEV_ACQUIRED) {
		acquired_shrink(l, a);
		place = acquired_place(l, a, elem);
	}
	if (place < DEV_ACQUIRED) {
		a->item[place].by = l->seq;
		a->item[place].seq = seq;
		gpu_fence_sys();
		gpu_store64(&a->item[place].elem, elem);
		if (place >= a->count)
			gpu_store32(&a->count, place + 1);
	}
	gpu_unlock(&a->lock);
	gpu_or32(&t->streams_acquired[l->stream / 32], 1u << l->stream % 32);
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

ALWAYS int elem_is_own(const struct who *w, u64 elem)
{
	return !(elem & (ELEM_ALL | ELEM_PREFIX)) &&
	       (who_made(w, elem) || (tag_private(w->launch, rec_tag(elem)) && private_own(w, rec_tag(elem))));
}

/* As it is once the operation that observed it is over. */
ALWAYS u64 elem_settled(u64 elem) { return elem_is_point(elem) ? elem & ~ELEM_FRESH : elem; }

/* Joins one element into the CTA's clock; what its launch's base clock already has is not kept. */
NEVER void clock_join(const struct who *w, u64 elem)
{
	const struct gsan_launch *l = w->launch;
	struct dev_clock *c = &w->state->clock;
	if (!(elem & ELEM_PREFIX)) {
		if (tag_below_floor(l, rec_tag(elem)))
			return;
		if (!tag_mapped(l, rec_tag(elem))) {
			gpu_or32(&c->flags, DEV_CLOCK_EVERYTHING);
			return;
		}
		if (elem_is_own(w, elem))
			return;
	}
	int kept = elems_add(l, c->elem, &c->count, DEV_CLOCK, elem & ~elem_gate(elem), 0);
	if (kept < 0)
		gpu_or32(&c->flags, DEV_CLOCK_EVERYTHING);
	if (kept)
		acquired_add(l, elem_settled(elem));
}

/* After the check of the strong operation that observed them: fresh elements count for what follows. */
NEVER void clock_settle(const struct who *w)
{
	struct dev_clock *c = &w->state->clock;
	for (u32 i = gpu_load32(&c->count); i--;) {
		u64 e = gpu_load64(&c->elem[i]);
		u32 last = gpu_load32(&c->count) - 1;
		if (elem_settled(e) == e)
			continue;
		gpu_store64(&c->elem[i], gpu_load64(&c->elem[last]));
		gpu_store32(&c->count, last);
		elems_add(w->launch, c->elem, &c->count, DEV_CLOCK, elem_settled(e), 0);
	}
	gpu_store32(&w->state->fresh, 0);
}

#endif
