/* Launches by their tags: the launch table, private tags, and what is ordered before a launch as its record says (layout.h): floors
 * and pairs. Whatever cannot be read counts as ordered (DESIGN §5). */
#ifndef GSAN_DEVICE_LAUNCH_H
#define GSAN_DEVICE_LAUNCH_H

#include "device/lock.h"

ALWAYS u32 tag_bits(const struct gsan_launch *l, u32 tag) { return gsan_tag_bits(l->rank_bits, tag); }
ALWAYS u32 tag_participant(const struct gsan_launch *l, u32 tag) { return gsan_tag_participant(l->rank_bits, tag); }
ALWAYS const struct dev_launch *tag_launch(const struct gsan_launch *l, u32 tag) /* participant's tables must be mapped */
{
	return &dev_tables(tag_participant(l, tag))->launch[tag & ((1u << tag_bits(l, tag)) - 1) & (DEV_LAUNCHES - 1)];
}
ALWAYS struct dev_launch *own_launch(const struct gsan_launch *l)
{
	return &own_tables(l)->launch[l->tag & ((1u << l->tag_bits) - 1) & (DEV_LAUNCHES - 1)];
}
ALWAYS u32 launch_stream(const struct dev_launch *e) { return gpu_load32(&e->where) & 0xff; }
ALWAYS u32 launch_gpu(const struct dev_launch *e) { return gpu_load32(&e->where) >> 8 & 0xff; }
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
ALWAYS int tag_private(const struct gsan_launch *l, u32 tag) { return gsan_tag_private(tag, tag_bits(l, tag)); }

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

/* The fast half: below the floor, by numbers modulo the tag space. Of a tag that is further below than half of it, it says no. */
ALWAYS int tag_below_floor(const struct gsan_launch *l, u32 tag)
{
	u32 behind = (l->order.floor[tag_participant(l, tag)] - 1 - tag) << (32 - tag_bits(l, tag));
	return (int)behind >= 0; /* tag ≤ floor - 1 */
}

/* All of it, by the launch's entry; as long as somebody writes that: no. */
NEVER int tag_far_below_floor(const struct gsan_launch *l, u32 tag)
{
	u64 both = tag_mapped(l, tag) ? gpu_load64(&tag_launch(l, tag)->seq) : 0; /* and the claim */
	return both && (u32)both == both >> 32 && (u32)both < l->order.floor[tag_participant(l, tag)];
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

/* The same of a tag whose entry may be of a launch that begins now: that is not before. */
NEVER int tag_before(const struct gsan_launch *l, u32 tag)
{
	const struct dev_launch *e = tag_launch(l, tag);
	u64 both = tag != l->tag && tag_mapped(l, tag) ? gpu_load64(&e->seq) : 0; /* and the claim */
	return both && (u32)both == both >> 32 && order_has(&l->order, tag_participant(l, tag), launch_stream(e), (u32)both);
}

/* An epoch is a time of its CTA and below it, in `warp_bits` of the launch, the warp. Of a tag that cannot be looked up the most that
 * there may be: then only what is surely included counts as that. */
#define WARP_BITS_MOST 5u
_Static_assert(GSAN_WARPS == 1u << WARP_BITS_MOST, "");
NEVER u32 tag_warp_bits_of(const struct gsan_launch *l, u32 tag)
{
	return tag_mapped(l, tag) ? gpu_load32(&tag_launch(l, tag)->where) >> 16 : WARP_BITS_MOST;
}
ALWAYS u32 tag_warp_bits(const struct gsan_launch *l, u32 tag) { return tag == l->tag ? l->warp_bits : tag_warp_bits_of(l, tag); }

ALWAYS int stamp_same_warp(u64 a, u64 b, u32 bits) { return !((a ^ b) >> GSAN_REC_EPOCH_SHIFT & ((1u << bits) - 1)); } /* of one tag and CTA */

/* Of two elements, or a record and an element, of one tag: is `a` not after `b`? By what `b` says of its CTA: what all its warps did at
 * earlier times, and its own did by then; what its own did alone; what any of its warps did by then, or, if they are told apart, before.
 * Of all CTAs: what any did; were each one thread, at those times by any of its warps. */
enum stamp_of { STAMP_WARPS, STAMP_WARP, STAMP_CTA, STAMP_BEFORE, STAMP_ALL, STAMP_ALL_CTAS };
ALWAYS int stamp_within(const struct gsan_launch *l, u64 a, u64 b, enum stamp_of of)
{
	int private = tag_private(l, rec_tag(a));
	u32 value = private ? rec_value(a) : rec_epoch(a), than = private ? rec_value(b) : rec_epoch(b);
	if (of == STAMP_ALL_CTAS)
		than |= (1u << tag_warp_bits(l, rec_tag(a))) - 1;
	if (of >= STAMP_ALL || (!private && rec_cta(a) != rec_cta(b)))
		return of >= STAMP_ALL && value <= than;
	if (!value || (value == than && of != STAMP_BEFORE)) /* only what its launch's start released; the same */
		return 1;
	if ((value ^ than) >> WARP_BITS_MOST && (of != STAMP_WARP || value > than)) /* of different times, however many warps there are */
		return value < than;
	u32 bits = tag_warp_bits(l, rec_tag(a)), time = value >> bits, by = than >> bits, same = !((value ^ than) & ((1u << bits) - 1));
	return of == STAMP_WARP ? time <= by && same : time < by || (time == by && (of == STAMP_WARPS ? same : of == STAMP_CTA || !bits));
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

/* ---- programmatic dependent launch: two orders (layout.h, GSAN_ORDER_WAITS) ------------------------------------------ */
/* The record of a launch as a whole: what those behind it come behind, too. */
ALWAYS const struct gsan_launch *launch_whole(const struct gsan_launch *l) { return l->order.flags & GSAN_ORDER_WAITS ? l + 1 : l; }

/* Has a thread of this CTA waited for the launch before? Who comes behind that thread is behind that launch, too, and which threads do is not followed:
 * all count as such, which misses. A place has the newest launch of which a CTA of that hash waited; one that was put out by a newer one counts as there. */
ALWAYS u32 *depended_at(const struct gsan_launch *l, u64 self) { return &own_tables(l)->depended[rec_cta(self)]; }
ALWAYS int cta_depended(const struct gsan_launch *l, u64 self)
{
	return l->order.flags & GSAN_ORDER_WAITS && gpu_load32(depended_at(l, self)) >= l->seq;
}

/* A launch's entry of the launch table, claimed by the caller; `e->seq` is written last. Of the pairs those that are in use: the
 * next launch of the stream waits for all this. */
NEVER void launch_fill(const struct gsan_launch *l, struct dev_launch *e)
{
	const u64 *from = (const u64 *)&l->order;
	u64 *to = (u64 *)&e->order;
	u32 all = sizeof e->order / 8, words = __builtin_offsetof(struct gsan_order, pair) / 8 + l->order.pairs;
	gpu_store32(&e->kernel, l->kernel);
	gpu_store32(&e->where, l->stream | (u32)l->gpu << 8 | (u32)l->warp_bits << 16);
	gpu_store32(&e->grid[0], gpu_nctaid_x());
	gpu_store32(&e->grid[1], gpu_nctaid_y());
	gpu_store32(&e->grid[2], gpu_nctaid_z());
#pragma unroll 1 /* rows of four would be faster here, and cost each thread that enters the registers of them (add: 1.81 times, not 1.70) */
	for (u32 i = 0; i < words && i < all; i++)
		gpu_store64(to + i, from[i]);
}

/* Before the launch makes a record, which may take the place of what is below its floor: whoever meets that finds the floor. */
NEVER void launch_floor(const struct gsan_launch *l)
{
	struct dev_tables *t = own_tables(l);
	int rises = 0;
	for (u32 left = l->mapped; left; left &= left - 1) {
		u32 p = gpu_first(left);
		if (l->order.floor[p] > gpu_load32(&t->floor[p])) {
			gpu_max32(&t->floor[p], l->order.floor[p]);
			rises = 1;
		}
	}
	if (rises) /* the first warps; all others find the floor raised */
		gpu_fence_sys();
}

/* Has any launch begun with a higher floor than this one's? */
NEVER int floor_passed(const struct gsan_launch *l)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		const struct dev_tables *t = dev_tables(gpu_first(mapped));
		for (u32 left = l->mapped; left; left &= left - 1) {
			u32 p = gpu_first(left);
			if (gpu_load32(&t->floor[p]) > l->order.floor[p])
				return 1;
		}
	}
	return 0;
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

#endif
