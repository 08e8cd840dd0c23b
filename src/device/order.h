/* Happens-before, asked one record at a time: is the CTA that made it, at its epoch, ordered before this access?
 * Launch order (floors and pairs of the launch record) answers nearly all without a memory access; then the CTA's own
 * clock; then what earlier launches of ordered streams acquired while they ran. Whatever cannot be read counts as
 * ordered (DESIGN §5). */
#ifndef GSAN_DEVICE_ORDER_H
#define GSAN_DEVICE_ORDER_H

#include "device/record.h"
#include "device/tables.h"

/* The access under check, as every level below needs it. */
struct who {
	const struct gsan_launch *launch;
	struct dev_state *state; /* NULL: a kernel without synchronisation, or no state was left */
	u64 base;                /* tag, cta, epoch */
	u32 stateless;           /* should have a state and has none: is ordered after everything */
};

ALWAYS struct dev_tables *own_tables(const struct gsan_launch *l) { return dev_tables(l->participant); }
ALWAYS struct dev_spread *own_spread(const struct gsan_launch *l)
{
	return &own_tables(l)->spread[gpu_smid() & (DEV_SPREAD - 1)];
}
ALWAYS void count(const struct gsan_launch *l, enum gsan_counter c, u64 n) { gpu_count(&own_tables(l)->head.counter[c], n); }

ALWAYS u32 tag_participant(const struct gsan_launch *l, u32 tag) { return tag >> l->tag_bits; }
ALWAYS const struct dev_launch *tag_launch(const struct gsan_launch *l, u32 tag) /* participant's tables must be mapped */
{
	return &dev_tables(tag_participant(l, tag))->launch[tag & ((1u << l->tag_bits) - 1) & (DEV_LAUNCHES - 1)];
}
ALWAYS int tag_mapped(const struct gsan_launch *l, u32 tag) { return l->mapped >> tag_participant(l, tag) & 1; }

/* The fast half: below the floor, by numbers modulo the tag space. */
ALWAYS int tag_below_floor(const struct gsan_launch *l, u32 tag)
{
	u32 behind = (l->order.floor[tag_participant(l, tag)] - 1 - tag) << (32 - l->tag_bits);
	return (int)behind >= 0; /* tag ≤ floor - 1 */
}

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
	return order_has(o, tag_participant(l, tag), e->stream, gpu_load32(&e->seq));
}

/* Does an element, taken by itself, cover the record? (The order before its launch is asked separately.) */
ALWAYS int elem_covers(const struct gsan_launch *l, u64 elem, u64 rec)
{
	if (elem & ELEM_PREFIX)
		return ((elem >> ELEM_PREFIX_OWNER_SHIFT & 31) == tag_participant(l, rec_tag(rec)) &&
			gpu_load32(&tag_launch(l, rec_tag(rec))->seq) <= (u32)(elem >> ELEM_PREFIX_SEQ_SHIFT));
	return rec_tag(elem) == rec_tag(rec) && (elem & ELEM_ALL || rec_cta(elem) == rec_cta(rec)) &&
	       rec_epoch(rec) <= rec_epoch(elem);
}

/* ---- the slow half: the closure of launches that are ordered before, over what their streams acquired ---------- */
#define ORDER_CLOSURE 32u
struct closure {
	const struct gsan_launch *l;
	u64 rec;
	u32 count;
	u32 overflow;
	const struct gsan_order *order[ORDER_CLOSURE]; /* whose base clocks are included */
};

/* Adds an element's launch to the closure. 1: it covers the record, or its base clock does. */
NEVER int closure_add(struct closure *c, u64 elem)
{
	if (elem_covers(c->l, elem, c->rec))
		return 1;
	if (elem & ELEM_PREFIX)
		return 0;
	if (!tag_mapped(c->l, rec_tag(elem)))
		return 1;
	const struct gsan_order *o = &tag_launch(c->l, rec_tag(elem))->order;
	for (u32 i = 0; i < c->count; i++)
		if (c->order[i] == o)
			return 0;
	if (order_before(c->l, o, rec_tag(c->rec)))
		return 1;
	if (c->count == ORDER_CLOSURE)
		return 1; /* too long to follow: counts as ordered */
	c->order[c->count++] = o;
	return 0;
}

/* Adds what the streams of `participant` acquired before any launch that `o` includes. */
NEVER int closure_streams(struct closure *c, const struct gsan_order *o, u32 participant)
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
			if (elem && order_has(o, participant, s, (u32)meta) && closure_add(c, elem))
				return 1;
		}
	}
	return 0;
}

NEVER int order_closure(const struct who *w, u64 rec)
{
	struct closure c = {.l = w->launch, .rec = rec, .count = 1, .order = {&w->launch->order}};
	if (w->state) {
		u32 n = gpu_load32(&w->state->clock.count);
		for (u32 i = 0; i < n && i < DEV_CLOCK; i++)
			if (closure_add(&c, gpu_load64(&w->state->clock.elem[i])))
				return 1;
	}
	for (u32 done = 0; done < c.count; done++)
		for (u32 mapped = w->launch->mapped; mapped; mapped &= mapped - 1)
			if (closure_streams(&c, c.order[done], gpu_first(mapped)))
				return 1;
	return 0;
}

/* Is the record ordered before this access? Everything but the floor, which the caller asked. */
NEVER int order_slow(const struct who *w, u64 rec)
{
	const struct gsan_launch *l = w->launch;
	if (w->stateless || (w->state && gpu_load32(&w->state->clock.flags) & DEV_CLOCK_EVERYTHING))
		return 1;
	if (!tag_mapped(l, rec_tag(rec))) {
		count(l, GSAN_N_UNMAPPED, 1);
		return 1;
	}
	if (rec_tag(rec) != l->tag && order_before(l, &l->order, rec_tag(rec)))
		return 1;
	if (w->state) { /* the CTA's own clock, before anything transitive */
		u32 n = gpu_load32(&w->state->clock.count);
		for (u32 i = 0; i < n && i < DEV_CLOCK; i++)
			if (elem_covers(l, gpu_load64(&w->state->clock.elem[i]), rec))
				return 1;
	}
	return order_closure(w, rec);
}

#endif
