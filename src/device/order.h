/* Happens-before, asked one record at a time: is the CTA that made it, at its epoch, ordered before this access?
 * Launch order (floors and pairs of the launch record) answers nearly all without a memory access; then the CTA's own
 * clock; then what earlier launches of ordered streams acquired while they ran. Whatever cannot be read counts as
 * ordered (DESIGN §5). */
#ifndef GSAN_DEVICE_ORDER_H
#define GSAN_DEVICE_ORDER_H

#include "device/elem_order.h"
#include "device/launch.h"

/* Has this warp acquired element `i` of its CTA's clock, or another one before a barrier of both? Does that cover the record? */
ALWAYS int clock_serves_all(const struct who *w, enum asked asked) { return !w->launch->warp_bits || asked == ASKED_CTA; }
ALWAYS int clock_serves(const struct who *w, u32 i, enum asked asked)
{
	u64 known = clock_serves_all(w, asked) ? KNOWN_TO_ALL : gpu_load64(&w->state->clock_known[i]);
	return known & who_warps(w) && (asked == ASKED_FORMAL || !(known & KNOWN_FORMALLY));
}
/* How this warp hands element `i` on: as what all know, or know formally; 0: it has not acquired it. */
ALWAYS u64 clock_known(const struct who *w, u32 i)
{
	if (clock_serves(w, i, ASKED_LETTER))
		return KNOWN_TO_ALL;
	return gpu_load64(&w->state->clock_known[i]) & who_warps(w) ? KNOWN_TO_ALL_FORMALLY : 0;
}
ALWAYS int clock_has(const struct who *w, u32 i, u64 elem, u64 rec, u64 point, enum asked asked)
{
	return elem_may_cover(w->launch, elem, rec) && elem_covers(w->launch, elem, rec, point, asked == ASKED_CTA) &&
	       clock_serves(w, i, asked);
}

/* ---- the slow half: the closure of launches that are ordered before, over what their streams acquired ---------- */
/* What the walk has found lies on the stack, of which the driver keeps as much for each thread that a GPU can hold: so only the first few items
 * do, more than nearly any walk finds. Who finds more takes a place in the tables for them. */
#define CLOSURE_OWN 6u
struct closure {
	const struct gsan_launch *l; /* the record that holds: closure_depended */
	u64 rec, point; /* the record and its rec_point() */
	int one; /* as if a CTA were one thread */
	u32 count;
	struct dev_closure *more; /* NULL: they are in `own` */
	u64 own[CLOSURE_OWN]; /* elements: what is before each one's launch, if of many all that it did, too; or all launches of a prefix with theirs */
};
ALWAYS u64 *closure_item(struct closure *c, u32 i) { return c->more ? &c->more->item[i] : &c->own[i]; }

/* A place for more of them, taken for this walk. All places in use: then it waits for one, for no walk waits for anything. 0: none was given back. */
#define CLOSURE_WAITS (1u << 16) /* some milliseconds; then it is one more that is too long to follow */
NEVER int closure_takes(struct closure *c)
{
	struct dev_tables *t = own_tables(c->l);
	u32 first = sample_hash(c->rec, (u64)gpu_thread() << 8, gpu_ctaid_x());
	for (u32 i = 0; i < DEV_CLOSURES + CLOSURE_WAITS; i++) {
		struct dev_closure *to = &t->closure[(first + i) % DEV_CLOSURES];
		if (!gpu_load32(&to->taken) && !gpu_cas32(&to->taken, 0, 1)) {
			gpu_fence_sys(); /* who had it has read all of it */
			for (u32 k = 0; k < CLOSURE_OWN; k++)
				to->item[k] = c->own[k];
			c->more = to;
			return 1;
		}
		if (i >= DEV_CLOSURES)
			gpu_pause();
	}
	return 0;
}
ALWAYS void closure_gives(const struct closure *c)
{
	if (c->more)
		gpu_release32(&c->more->taken, 0);
}

/* What is before an item's launch. */
ALWAYS const struct gsan_order *item_order(const struct gsan_launch *l, u64 item)
{
	return rec_tag(item) == l->tag ? &l->order : &tag_launch(l, rec_tag(item))->order;
}

/* Is launch (participant, stream, seq) before that of the item, or among those of a prefix? */
ALWAYS int closure_before(const struct gsan_launch *l, u64 item, u32 participant, u32 stream, u32 seq)
{
	u32 owner = elem_owner(l, item);
	if (elem_is_prefix(item))
		return seq <= (participant == owner ? prefix_seq(item) : gpu_load32(&dev_tables(owner)->base[participant]));
	return order_has(item_order(l, item), participant, stream, seq);
}

/* Does the item include it: what it acquired, too? */
ALWAYS int closure_has(const struct gsan_launch *l, u64 item, u32 participant, u32 stream, u32 seq)
{
	return (elem_of_many(item) && !elem_is_prefix(item) && elem_owner(l, item) == participant && elem_seq(l, item) == seq) ||
	       closure_before(l, item, participant, stream, seq);
}

/* Is item `b` enough for `a`? */
ALWAYS int closure_within(u64 a, u64 b)
{
	if (elem_is_prefix(a) || elem_is_prefix(b))
		return elem_is_prefix(a) && elem_is_prefix(b) && prefix_owner(a) == prefix_owner(b) && prefix_seq(a) <= prefix_seq(b);
	return rec_tag(a) == rec_tag(b) && elem_of_many(b) >= elem_of_many(a);
}

/* Is the element's launch before that of item 0 anyway? Then so is all that is before it, and item 0 leads there. */
ALWAYS int closure_known(struct closure *c, u64 elem, u32 participant)
{
	const struct gsan_order *o = item_order(c->l, c->own[0]);
	if (elem_is_prefix(elem))
		return prefix_seq(elem) < gpu_peek32(&o->floor[participant]);
	const struct dev_launch *e = tag_launch(c->l, rec_tag(elem));
	return order_has(o, participant, launch_stream(e), gpu_load32(&e->seq));
}

/* An element of this very launch, or of a private tag of it, adds what is before the launch, which is there anyway; unless that may begin early, and
 * the CTA that wrote what was acquired has waited for the launch before it (cta_depended): then what is before the launch as a whole is before this
 * access, too. Whether it waited before it wrote is not known, nor of an element of many whether any did: both count as such, which misses. */
ALWAYS int elem_of_launch(const struct gsan_launch *l, u64 elem) { return !elem_is_prefix(elem) && rec_tag(elem_origin(l, elem)) == l->tag; }
NEVER int closure_depended(struct closure *c, u64 elem)
{
	const struct gsan_launch *l = c->l;
	if (elem_is_point(elem) || !(elem_of_many(elem) || cta_depended(l, elem_origin(l, elem))))
		return 0;
	c->l = launch_whole(l);
	return rec_tag(c->rec) != l->tag && order_before(l, &c->l->order, rec_tag(c->rec));
}

/* Adds an element's launch to the closure. 1: it covers the record, or its base clock does. */
NEVER int closure_add(struct closure *c, u64 elem)
{
	const struct gsan_launch *l = c->l;
	u32 owner = elem_owner(l, elem);
	if (!(l->mapped >> owner & 1) || elem_covers(l, elem, c->rec, c->point, c->one))
		return 1;
	if (l->order.flags & GSAN_ORDER_WAITS && elem_of_launch(l, elem))
		return closure_depended(c, elem);
	if (elem_is_point(elem) || closure_known(c, elem, owner))
		return 0; /* nothing but the writes themselves; nothing that the launch's base clock lacks */
	for (u32 i = 0; i < c->count; i++)
		if (closure_within(elem, *closure_item(c, i)))
			return 0;
	const struct dev_launch *e = tag_launch(l, rec_tag(c->rec));
	if (closure_before(l, elem, tag_participant(l, rec_tag(c->rec)), launch_stream(e), gpu_load32(&e->seq)))
		return 1;
	if (c->count == DEV_CLOSURE || (c->count == CLOSURE_OWN && !closure_takes(c))) {
		count(l, GSAN_N_CLOCK_FULL, 1);
		return 1; /* too long to follow: counts as ordered */
	}
	*closure_item(c, c->count++) = elem;
	return 0;
}

/* The same for one of a list: most have nothing to add, being of one launch with `*last`, which was added, or of writes to other places. */
ALWAYS int closure_add_next(struct closure *c, u64 elem, u64 *last)
{
	u32 tag = rec_tag(elem);
	int one = !elem_of_many(elem) && tag != rec_tag(c->rec) && tag_mapped(c->l, tag) && !tag_private(c->l, tag) &&
		  !(tag == c->l->tag && c->l->order.flags & GSAN_ORDER_WAITS);
	if (one && (elem_is_point(elem) || (*last && rec_tag(*last) == tag)))
		return 0;
	*last = one ? elem : *last;
	return closure_add(c, elem);
}

/* Adds what the streams of `participant` acquired in or before any launch that item `at` includes. */
ALWAYS int closure_streams(struct closure *c, u32 at, u32 participant)
{
	struct dev_tables *t = dev_tables(participant);
	u64 streams = gpu_load64(t->streams_acquired), last = 0, item = *closure_item(c, at);
	for (; streams; streams &= streams - 1) {
		u32 s = (u32)__builtin_ctzll(streams), by = 0;
		const struct dev_acquired *a = &t->acquired[s];
		u32 n = gpu_load32(&a->count);
		int has = 0;
		for (u32 i = 0; i < n && i < DEV_ACQUIRED; i++) {
			u64 elem, meta;
			gpu_load128(&a->item[i], &elem, &meta);
			has = (u32)meta == by ? has : closure_has(c->l, item, participant, s, (u32)meta);
			by = (u32)meta; /* many come from one launch */
			if (elem && has && closure_add_next(c, elem, &last))
				return 1;
		}
	}
	return 0;
}

/* Has a launch of that order, or that launch itself, acquired anything? */
NEVER int order_inherits_as(const struct gsan_launch *l, const struct gsan_order *o, u32 participant, u32 stream, u32 seq)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped);
		const struct dev_tables *t = dev_tables(p);
		for (u64 streams = gpu_load64(t->streams_acquired); streams; streams &= streams - 1) {
			u32 s = (u32)__builtin_ctzll(streams), n = gpu_load32(&t->acquired[s].count);
			for (u32 i = 0; i < n && i < DEV_ACQUIRED; i++) {
				u32 by = gpu_load32(&t->acquired[s].item[i].by);
				if ((p == participant && s == stream && by == seq) || order_has(o, p, s, by))
					return 1;
			}
		}
	}
	return 0;
}
ALWAYS int order_inherits(const struct gsan_launch *l) { return order_inherits_as(l, &l->order, l->participant, GSAN_STREAMS, 0); }

/* A number that changes whenever elements change their places in what the closure walks through; odd: they do so now. */
NEVER u64 closure_changes(const struct gsan_launch *l, const struct dev_state *clock)
{
	u64 sum = clock ? gpu_load32(&clock->clock.changing) : 0, odd = sum & 1;
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		const struct dev_tables *t = dev_tables(gpu_first(mapped));
		for (u64 streams = gpu_load64(t->streams_acquired); streams; streams &= streams - 1) {
			u32 changing = gpu_load32(&t->acquired[__builtin_ctzll(streams)].changing);
			sum += changing;
			odd |= changing & 1;
		}
	}
	return sum << 1 | odd;
}

ALWAYS int closure_walk(struct closure *c, const struct who *w, const struct dev_state *clock, enum asked asked)
{
	u64 last = 0;
	u32 n = clock ? gpu_load32(&clock->clock.count) : 0;
	c->count = 1;
	c->more = 0;
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++)
		if (clock_serves(w, i, asked) && closure_add_next(c, gpu_load64(&clock->clock.elem[i]), &last))
			return 1;
	for (u32 done = 0; done < c->count; done++)
		for (u32 mapped = c->l->mapped; mapped; mapped &= mapped - 1)
			if (closure_streams(c, done, gpu_first(mapped)))
				return 1;
	return 0;
}

/* Over what is before the launch of `first`, and, if `clock`, what is in that: of our CTA, or of another one, which is asked as ASKED_CTA. Who found
 * nothing looks again if something changed meanwhile, or if the launch turned out to come behind more than it seemed to. */
#define CLOSURE_TRIES 64u
NEVER int closure_covers(const struct who *w, u64 rec, u64 point, const struct dev_state *clock, enum asked asked, u64 first)
{
	struct closure c; /* word by word: the other items stay as they are */
	c.l = w->launch;
	c.rec = rec;
	c.point = point;
	c.one = asked == ASKED_CTA;
	c.own[0] = first;
	for (u32 tries = 0; tries < CLOSURE_TRIES; tries++) {
		const struct gsan_launch *l = c.l;
		u64 before = closure_changes(l, clock);
		gpu_fence_sys();
		int found = closure_walk(&c, w, clock, asked);
		closure_gives(&c);
		if (found)
			return 1;
		gpu_fence_sys();
		if (c.l == l && !(before & 1) && before == closure_changes(l, clock))
			return 0;
		gpu_pause();
	}
	count(w->launch, GSAN_N_CLOCK_FULL, 1);
	return 1;
}

/* Over the launch's base clock, and the CTA's own if `clock`, or what RMWs of its launch observed, if that keeps none. */
ALWAYS int order_closure(const struct who *w, u64 rec, u64 point, const struct dev_state *clock, enum asked asked, int launch)
{
	return closure_covers(w, rec, point, clock, asked, (u64)w->launch->tag << GSAN_REC_TAG_SHIFT | (launch ? ELEM_ALL : 0));
}

/* Is the record ordered before the launch as a whole? */
NEVER int order_base(const struct who *w, u64 rec, u64 point)
{
	const struct gsan_launch *l = w->launch;
	if (!tag_mapped(l, rec_tag(rec))) {
		count(l, GSAN_N_UNMAPPED, 1);
		return 1;
	}
	return (rec_tag(rec) != l->tag && order_before(l, &l->order, rec_tag(rec))) || order_closure(w, rec, point, 0, ASKED_LETTER, 0);
}

/* Is it by the CTA's own clock? */
ALWAYS int order_clock(const struct who *w, u64 rec, u64 point, enum asked asked)
{
	u32 n = gpu_load32(&w->state->clock.count);
	for (u32 i = 0; i < n && i < DEV_CLOCK; i += 2) {
		u64 a, b;
		gpu_load128(&w->state->clock.elem[i], &a, &b);
		if (clock_has(w, i, a, rec, point, asked) || (i + 1 < n && clock_has(w, i + 1, b, rec, point, asked)))
			return 1;
	}
	return 0;
}

/* Is the record ordered before this access, by what is seen without a walk? */
NEVER int order_near(const struct who *w, u64 rec, u64 point, enum asked asked)
{
	const struct gsan_launch *l = w->launch;
	if (w->stateless || (w->state && gpu_load32(&w->state->clock.flags) & DEV_CLOCK_EVERYTHING))
		return 1;
	if (!tag_mapped(l, rec_tag(rec))) {
		count(l, GSAN_N_UNMAPPED, 1);
		return 1;
	}
	if (tag_private(l, rec_tag(rec)) && private_own(w, rec_tag(rec)))
		return 1;
	if (rec_tag(rec) != l->tag && order_before(l, &l->order, rec_tag(rec)))
		return 1;
	return w->state && order_clock(w, rec, point, asked);
}

/* By anything? Everything but the floor, which the caller asked. */
NEVER int order_slow_as(const struct who *w, u64 rec, u64 point, enum asked asked)
{
	return order_near(w, rec, point, asked) || order_closure(w, rec, point, w->state, asked, 0); /* what is transitive comes last */
}
ALWAYS int order_slow(const struct who *w, u64 rec, u64 point) { return order_slow_as(w, rec, point, ASKED_LETTER); }

#endif
