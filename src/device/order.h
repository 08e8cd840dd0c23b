/* Happens-before, asked one record at a time: is the CTA that made it, at its epoch, ordered before this access?
 * Launch order (floors and pairs of the launch record) answers nearly all without a memory access; then the CTA's own
 * clock; then what earlier launches of ordered streams acquired while they ran. Whatever cannot be read counts as
 * ordered (DESIGN §5). */
#ifndef GSAN_DEVICE_ORDER_H
#define GSAN_DEVICE_ORDER_H

#include "device/record.h"
#include "device/tables.h"

/* Who makes the access under check, as every level below needs it. */
struct who {
	const struct gsan_launch *launch;
	struct dev_state *state; /* NULL: a kernel without synchronisation, or no state was left */
	u64 base;                /* tag, cta, epoch */
	u64 self;                /* tag of the launch, cta: what `base` starts from, unless a private tag was drawn */
	u32 stateless;           /* should have a state and has none: is ordered after everything */
	u32 reds;                /* scopes, as bits, of its kernel's relaxed RMWs of which nobody reads the result */
	u32 behind_red;          /* its thread made one of these, or waited for one that did, perhaps */
};
ALWAYS int keeps_no_clock(const struct who *w) { return w->reds && !w->state; }

/* The access under check, exactly known. */
struct access {
	u64 address; /* canonical: of the granule, or of the line if `whole` */
	u32 mask, op, site, bytes, whole;
	u32 element; /* bytes of one strong operation; 0: weak */
	u32 again;   /* an RMW that its CTA, which keeps no clock, made here before, perhaps (observed.h) */
};

ALWAYS struct gsan_detail *detail_at(u64 canonical, u32 index)
{
	return &dev_tables(gsan_owner(canonical))->detail[index - 1];
}

ALWAYS struct dev_tables *own_tables(const struct gsan_launch *l) { return dev_tables(l->participant); }
ALWAYS struct dev_spread *spread_of(u32 participant, u64 who)
{
	return &dev_tables(participant)->spread[who >> GSAN_REC_CTA_SHIFT & (DEV_SPREAD - 1)];
}
ALWAYS struct dev_spread *own_spread(const struct gsan_launch *l, u64 who) { return spread_of(l->participant, who); }
ALWAYS void count(const struct gsan_launch *l, enum gsan_counter c, u64 n) { gpu_count(&own_tables(l)->head.counter[c], n); }

/* Somebody died between two steps that belong together: nothing that this may concern is known any more. */
NEVER void order_broken(const struct gsan_launch *l)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1)
		gpu_store32(&dev_tables(gpu_first(mapped))->broken, 1);
	count(l, GSAN_N_LOCKS, 1);
}

/* Waits for its turn at the lock of a shared structure; those far behind look less often. 0: the holder, or one before it, does not
 * come any more, its process died. Nobody takes its place, for what it left there may be half of something: what was to be done is
 * left undone, and from here on no participant whose order that may concern takes a turn or reports anything. */
#define LOCK_TRIES (1u << 25) /* half a minute; whoever was preempted comes again */
#define LOCK_NS 100u
#define LOCK_NS_MOST 2000u
NEVER int lock_take(const struct gsan_launch *l, u32 *lock)
{
	u32 taken = turn_take(lock), ahead = turn_ahead(taken, taken);
	if (!ahead)
		return 1;
	for (u32 tries = 0; tries < LOCK_TRIES && (tries % 256 || !gpu_load32(&own_tables(l)->broken)); tries++) {
		u32 ns = ahead * LOCK_NS;
		gpu_sleep(ns < LOCK_NS_MOST ? ns : LOCK_NS_MOST);
		ahead = turn_ahead(taken, gpu_load32(lock));
		if (ahead)
			continue;
		gpu_acquire32(lock); /* what was released is before what follows */
		return 1;
	}
	order_broken(l);
	return 0;
}

ALWAYS u32 tag_participant(const struct gsan_launch *l, u32 tag) { return tag >> l->tag_bits; }
ALWAYS const struct dev_launch *tag_launch(const struct gsan_launch *l, u32 tag) /* participant's tables must be mapped */
{
	return &dev_tables(tag_participant(l, tag))->launch[tag & ((1u << l->tag_bits) - 1) & (DEV_LAUNCHES - 1)];
}
ALWAYS u32 launch_stream(const struct dev_launch *e) { return gpu_load32(&e->where) & 0xff; }
ALWAYS u32 launch_gpu(const struct dev_launch *e) { return gpu_load32(&e->where) >> 8; }
ALWAYS int tag_in_stream(const struct gsan_launch *l, u32 tag, u32 participant, u32 stream)
{
	return tag_participant(l, tag) == participant && launch_stream(tag_launch(l, tag)) == stream;
}
/* Is launch `tag` behind `other` in the stream of both? Their participants' tables are mapped. */
ALWAYS int launch_follows(const struct gsan_launch *l, u32 tag, u32 other)
{
	const struct dev_launch *e = tag_launch(l, tag);
	return tag_in_stream(l, other, tag_participant(l, tag), launch_stream(e)) && gpu_load32(&tag_launch(l, other)->seq) <= gpu_load32(&e->seq);
}
ALWAYS int tag_mapped(const struct gsan_launch *l, u32 tag) { return l->mapped >> tag_participant(l, tag) & 1; }

/* ---- private tags: a CTA whose epochs were used up goes on under a tag of its own, with 19 bits of time -------------- */
#define PRIVATE_VALUES ((1u << (GSAN_REC_TAG_SHIFT - GSAN_REC_EPOCH_SHIFT)) - 1)
ALWAYS u32 rec_value(u64 r) { return (u32)(r >> GSAN_REC_EPOCH_SHIFT) & PRIVATE_VALUES; }
ALWAYS int tag_private(const struct gsan_launch *l, u32 tag) { return gsan_tag_private(tag, l->tag_bits); }

/* Did this CTA make the record? The answers that need no memory access; older private tags are asked in order_slow(). */
ALWAYS int who_made(const struct who *w, u64 rec)
{
	return !((rec ^ w->base) & REC_WHO) || !((rec ^ w->self) & REC_WHO) ||
	       ((w->base ^ w->self) >> GSAN_REC_TAG_SHIFT && rec_tag(rec) == rec_tag(w->base));
}

/* Is `rec` of what its CTA did before it drew `tag`? */
NEVER int private_follows(const struct gsan_launch *l, u32 tag, u64 rec)
{
	const struct dev_launch *e = tag_launch(l, tag);
	if (!((gpu_load64(&e->origin) ^ rec) & REC_WHO))
		return 1;
	for (u32 i = gpu_load32(&e->previous); i; i = gpu_load32(&tag_launch(l, i - 1)->previous))
		if (rec_tag(rec) == i - 1)
			return 1;
	return 0;
}

/* Does the private tag belong to this CTA? */
ALWAYS int private_own(const struct who *w, u32 tag)
{
	return w->state && tag_participant(w->launch, tag) == w->launch->participant &&
	       gpu_load64(&tag_launch(w->launch, tag)->cta) == gpu_load64(&w->state->key);
}

/* The fast half: below the floor, by numbers modulo the tag space. */
ALWAYS int tag_below_floor(const struct gsan_launch *l, u32 tag)
{
	u32 behind = (l->order.floor[tag_participant(l, tag)] - 1 - tag) << (32 - l->tag_bits);
	return (int)behind >= 0; /* tag ≤ floor - 1 */
}

/* A record that says something to this launch: not ordered before it by the floor. */
ALWAYS int rec_live(const struct gsan_launch *l, u64 rec) { return rec && !tag_below_floor(l, rec_tag(rec)); }

/* Is launch (participant, stream, seq) in `o`? `o` lies in a launch record or in the launch table. */
ALWAYS int order_has(const struct gsan_order *o, u32 participant, u32 stream, u32 seq)
{
	if (gpu_peek32(&o->flags) & GSAN_ORDER_UNKNOWN || seq < gpu_peek32(&o->floor[participant]))
		return 1;
	u32 pairs = gpu_peek32(&o->pairs);
	for (u32 i = 0; i < pairs && i < GSAN_ORDER_PAIRS; i++) {
		u64 both = gpu_peek64(&o->pair[i]);
		if ((both & 0xff) == participant && (both >> 8 & 0xff) == stream && seq <= (u32)(both >> 32))
			return 1;
	}
	return 0;
}

/* Is the launch of `tag` before the launch whose order is `o`? */
ALWAYS int order_before(const struct gsan_launch *l, const struct gsan_order *o, u32 tag)
{
	const struct dev_launch *e = tag_launch(l, tag);
	return order_has(o, tag_participant(l, tag), launch_stream(e), gpu_load32(&e->seq));
}

/* Of two elements, or an element and a record, of one tag: is `a` not after `b`? */
ALWAYS int stamp_within(const struct gsan_launch *l, u64 a, u64 b, int all)
{
	if (tag_private(l, rec_tag(a)))
		return rec_value(a) <= rec_value(b);
	return (all || rec_cta(a) == rec_cta(b)) && rec_epoch(a) <= rec_epoch(b);
}

/* Until the entry of a launch stands in the table. Each warp makes its records once the entry is claimed, notes its launch among
 * those of the coarse path then, too, and releases anything else once it is written: who meets a record or such a note waits
 * here before it asks what the entry says, if it can be asked. */
#define AWAIT_TRIES (1u << 22)
NEVER void tag_await(const struct gsan_launch *l, u32 tag)
{
	const struct dev_launch *e = tag_launch(l, tag);
	for (u32 tries = 0; tag_mapped(l, tag) && tries < AWAIT_TRIES; tries++) {
		u64 both = gpu_load64(&e->seq); /* and the claim */
		if ((u32)both == both >> 32) {
			gpu_acquire32(&e->seq); /* what was released with it is read behind it */
			return;
		}
		gpu_pause();
	}
	if (tag_mapped(l, tag)) /* who claimed it does not come any more */
		order_broken(l);
}

/* A launch's entry of the launch table, claimed by the caller; `e->seq` is written last. */
NEVER void launch_fill(const struct gsan_launch *l, struct dev_launch *e)
{
	const u32 *from = (const u32 *)&l->order;
	u32 *to = (u32 *)&e->order;
	gpu_store32(&e->kernel, l->kernel);
	gpu_store32(&e->where, l->stream | (u32)l->gpu << 8);
	gpu_store32(&e->grid[0], gpu_nctaid_x());
	gpu_store32(&e->grid[1], gpu_nctaid_y());
	gpu_store32(&e->grid[2], gpu_nctaid_z());
	for (u32 i = 0; i < sizeof e->order / 4; i++)
		gpu_store32(to + i, from[i]);
}

/* Raises what the launches of this participant may have before them. */
NEVER void launch_base(const struct gsan_launch *l)
{
	struct dev_tables *t = own_tables(l);
	for (u32 left = l->mapped; left; left &= left - 1) { /* of others nothing is asked */
		u32 p = gpu_first(left), last = l->order.flags & GSAN_ORDER_UNKNOWN ? ~0u : l->order.floor[p] - 1;
		if (last > gpu_load32(&t->base[p]))
			gpu_max32(&t->base[p], last);
	}
	for (u32 i = 0; i < l->order.pairs && i < GSAN_ORDER_PAIRS; i++)
		gpu_max32(&t->base[l->order.pair[i].participant], l->order.pair[i].seq);
	gpu_max64(&t->newest, l->seq);
}

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

/* ---- the slow half: the closure of launches that are ordered before, over what their streams acquired ---------- */
#define ORDER_CLOSURE 40u
struct closure_item { /* launches of `participant`: one with its base clock, or all up to `seq` */
	const struct gsan_order *order; /* NULL: all up to `seq` with theirs */
	u32 participant;
	u32 seq; /* with `order`: what this launch's own CTAs observed counts, too; 0 = not */
};
struct closure {
	const struct gsan_launch *l;
	u64 rec, point; /* the record and its rec_point() */
	u32 count;
	struct closure_item item[ORDER_CLOSURE];
};

/* Does the item include launch (participant, stream, seq)? */
ALWAYS int closure_has(const struct closure_item *i, u32 participant, u32 stream, u32 seq)
{
	if (i->order)
		return (participant == i->participant && i->seq == seq) || order_has(i->order, participant, stream, seq);
	return seq <= (participant == i->participant ? i->seq : gpu_load32(&dev_tables(i->participant)->base[participant]));
}

/* Is the element's launch before this one anyway? Then so is all that is before it, and item 0 leads there. */
ALWAYS int closure_known(const struct gsan_launch *l, u64 elem, u32 participant)
{
	if (elem & ELEM_PREFIX)
		return (u32)(elem >> ELEM_PREFIX_SEQ_SHIFT) < l->order.floor[participant];
	const struct dev_launch *e = tag_launch(l, rec_tag(elem));
	return order_has(&l->order, participant, launch_stream(e), gpu_load32(&e->seq));
}

/* Adds an element's launch to the closure. 1: it covers the record, or its base clock does. */
NEVER int closure_add(struct closure *c, u64 elem)
{
	const struct gsan_launch *l = c->l;
	struct closure_item new = {.participant = elem_owner(l, elem), .seq = (u32)(elem >> ELEM_PREFIX_SEQ_SHIFT)};
	if (!(l->mapped >> new.participant & 1) || elem_covers(l, elem, c->rec, c->point))
		return 1;
	if (elem_is_point(elem) || closure_known(l, elem, new.participant))
		return 0; /* nothing but the writes themselves; nothing that the launch's base clock lacks */
	if (!(elem & ELEM_PREFIX)) {
		const struct dev_launch *launch = tag_launch(l, rec_tag(elem));
		new.order = &launch->order;
		new.seq = elem & ELEM_ALL ? gpu_load32(&launch->seq) : 0;
	}
	for (u32 i = 0; i < c->count; i++)
		if (c->item[i].order == new.order && c->item[i].participant == new.participant && c->item[i].seq >= new.seq)
			return 0;
	const struct dev_launch *e = tag_launch(l, rec_tag(c->rec));
	u32 seq = gpu_load32(&e->seq);
	if ((!new.order || seq != new.seq) && closure_has(&new, tag_participant(l, rec_tag(c->rec)), launch_stream(e), seq))
		return 1;
	if (c->count == ORDER_CLOSURE) {
		count(l, GSAN_N_CLOCK_FULL, 1);
		return 1; /* too long to follow: counts as ordered */
	}
	c->item[c->count++] = new;
	return 0;
}

/* Adds what the streams of `participant` acquired in or before any launch that item `at` includes. */
NEVER int closure_streams(struct closure *c, u32 at, u32 participant)
{
	struct dev_tables *t = dev_tables(participant);
	u64 streams = gpu_load64(t->streams_acquired);
	for (; streams; streams &= streams - 1) {
		u32 s = (u32)__builtin_ctzll(streams);
		const struct dev_acquired *a = &t->acquired[s];
		u32 n = gpu_load32(&a->count);
		for (u32 i = 0; i < n && i < DEV_ACQUIRED; i++) {
			u64 elem, meta;
			gpu_load128(&a->item[i], &elem, &meta);
			if (elem && closure_has(&c->item[at], participant, s, (u32)meta) && closure_add(c, elem))
				return 1;
		}
	}
	return 0;
}

/* A number that changes whenever elements change their places in what the closure walks through; odd: they do so now. */
NEVER u64 closure_changes(const struct who *w)
{
	u64 sum = w->state ? gpu_load32(&w->state->clock.changing) : 0, odd = sum & 1;
	for (u32 mapped = w->launch->mapped; mapped; mapped &= mapped - 1) {
		const struct dev_tables *t = dev_tables(gpu_first(mapped));
		for (u64 streams = gpu_load64(t->streams_acquired); streams; streams &= streams - 1) {
			u32 changing = gpu_load32(&t->acquired[__builtin_ctzll(streams)].changing);
			sum += changing;
			odd |= changing & 1;
		}
	}
	return sum << 1 | odd;
}

/* Over the launch's base clock, and the CTA's own clock if `clock`, or what RMWs of its launch observed, if that keeps none. */
NEVER int closure_walk(const struct who *w, u64 rec, u64 point, int clock, int launch)
{
	struct closure c = {.l = w->launch, .rec = rec, .point = point, .count = 1,
			    .item = {{&w->launch->order, w->launch->participant, launch ? w->launch->seq : 0}}};
	if (clock && w->state) {
		u32 n = gpu_load32(&w->state->clock.count);
		for (u32 i = 0; i < n && i < DEV_CLOCK; i++)
			if (closure_add(&c, gpu_load64(&w->state->clock.elem[i])))
				return 1;
	}
	for (u32 done = 0; done < c.count; done++)
		for (u32 mapped = w->launch->mapped; mapped; mapped &= mapped - 1)
			if (closure_streams(&c, done, gpu_first(mapped)))
				return 1;
	return 0;
}

/* The same; who found nothing looks again if something changed meanwhile. */
#define CLOSURE_TRIES 64u
NEVER int order_closure(const struct who *w, u64 rec, u64 point, int clock, int launch)
{
	for (u32 tries = 0; tries < CLOSURE_TRIES; tries++) {
		u64 before = closure_changes(w);
		gpu_fence_sys();
		if (closure_walk(w, rec, point, clock, launch))
			return 1;
		gpu_fence_sys();
		if (!(before & 1) && before == closure_changes(w))
			return 0;
		gpu_pause();
	}
	count(w->launch, GSAN_N_CLOCK_FULL, 1);
	return 1;
}

/* Is the record ordered before the launch as a whole? */
NEVER int order_base(const struct who *w, u64 rec, u64 point)
{
	const struct gsan_launch *l = w->launch;
	if (!tag_mapped(l, rec_tag(rec))) {
		count(l, GSAN_N_UNMAPPED, 1);
		return 1;
	}
	return (rec_tag(rec) != l->tag && order_before(l, &l->order, rec_tag(rec))) || order_closure(w, rec, point, 0, 0);
}

/* Is the record ordered before this access? Everything but the floor, which the caller asked. */
NEVER int order_slow(const struct who *w, u64 rec, u64 point)
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
	if (w->state) { /* the CTA's own clock, before anything transitive */
		u32 n = gpu_load32(&w->state->clock.count);
		for (u32 i = 0; i < n && i < DEV_CLOCK; i += 2) {
			u64 a, b;
			gpu_load128(&w->state->clock.elem[i], &a, &b);
			if (elem_covers(l, a, rec, point) || (i + 1 < n && elem_covers(l, b, rec, point)))
				return 1;
		}
	}
	return order_closure(w, rec, point, 1, 0);
}

#endif
