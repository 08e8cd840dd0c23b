/* What launches without clocks learn. A kernel of relaxed operations alone acquires nothing; but what it observed is before the launches behind
 * it, and, for its end is a fence, what was before that. Where locations have entries that is known (version_learnt); else it is asked for when a race
 * would be reported: then whoever is on the coarse path may have been observed, and what leaves no record. */
#ifndef GSAN_DEVICE_LEARNT_H
#define GSAN_DEVICE_LEARNT_H

#include "device/inherit.h"
#include "device/launch.h"

/* Has something that leaves no record been enqueued that is not ordered before a launch of that order (layout.h, struct gsan_writers)? */
NEVER int writers_unordered(const struct gsan_launch *l, const struct gsan_order *o, u32 participant, u32 stream)
{
	const struct gsan_writers *all = (const struct gsan_writers *)(uintptr_t)l->writers;
	for (u64 left = all ? gpu_peek64(&all->participants) : 0; left; left &= left - 1) { /* each is a read of the host's memory */
		u32 p = (u32)__builtin_ctzll(left);
		for (u64 streams = gpu_peek64(&all->streams[p]); streams; streams &= streams - 1) {
			u32 s = (u32)__builtin_ctzll(streams);
			int own = p == participant && s == stream && s != GSAN_STREAMS - 1; /* ahead, or behind this one's end */
			if (!own && !order_has(o, p, s, gpu_peek32(&all->newest[p][s])))
				return 1;
		}
	}
	return !all;
}

/* A launch that keeps no clock, by which all that it observed is kept. */
struct learner { u32 tag, seq, participant, stream, learns; };
ALWAYS struct learner learner_of(u64 pending, u32 participant, u32 stream)
{
	return (struct learner){(u32)(pending >> 32) & 0xffff, (u32)pending, participant, stream, (u32)(pending >> 63)};
}
ALWAYS int learner_keeps(const struct gsan_launch *l, const struct learner *b, u64 elem) { return acquired_by(l, b->participant, b->stream, b->seq, elem); }

ALWAYS int learner_known(const struct gsan_launch *l, const struct learner *b) { return gpu_load32(&tag_launch(l, b->tag)->seq) == b->seq; }

/* Of a launch that the coarse path knows, not of what is before it anyway, nor of what is behind its end: any strong write that its scope lets
 * it observe; and what is before that launch, if it learns. */
ALWAYS void learnt_of(const struct gsan_launch *l, const struct learner *b, u64 elem)
{
	u32 tag = rec_tag(elem);
	if (!elem || !tag_mapped(l, tag) || tag_in_stream(l, tag, b->participant, b->stream))
		return;
	tag_await(l, tag);
	if (order_before(l, &tag_launch(l, b->tag)->order, tag) || order_before(l, &tag_launch(l, tag)->order, b->tag))
		return;
	u64 scope = launch_gpu(tag_launch(l, tag)) == launch_gpu(tag_launch(l, b->tag)) ? GSAN_CLUSTER : GSAN_SYS;
	learner_keeps(l, b, elem_all_seen(tag, (POINT_ANY_PLACE & ~POINT_OF_WEAK) | scope << ELEM_SITE_SHIFT));
	if (b->learns)
		learner_keeps(l, b, elem);
}

/* Of all that the tables of `owner` name. */
ALWAYS void learnt_in(const struct gsan_launch *l, const struct learner *b, u32 owner)
{
	const struct dev_coarse *c = &dev_tables(owner)->coarse;
	for (u64 used = gpu_load64(c->used); used; used &= used - 1)
		learnt_of(l, b, gpu_load64(&c->slot[__builtin_ctzll(used)]));
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped), older = (u32)gpu_load64(&c->older[p]);
		if (older && !order_has(&tag_launch(l, b->tag)->order, p, GSAN_STREAMS, older))
			learner_keeps(l, b, elem_prefix(p, older));
	}
}

/* May it have read a value of a copy, of the host, of memory without a shadow? */
ALWAYS int learnt_unseen(const struct gsan_launch *l, const struct learner *b)
{
	const struct dev_coarse *c = &dev_tables(b->participant)->coarse;
	return gpu_load32(&c->foreign[b->stream]) >= b->seq ||
	       (gpu_load32(&c->unseen[b->stream]) >= b->seq && writers_unordered(l, &tag_launch(l, b->tag)->order, b->participant, b->stream));
}

/* How often what the coarse path knows has changed: 0: it does just now. */
ALWAYS u32 coarse_state(const struct gsan_launch *l)
{
	u32 begun = 1, ended = 1;
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		u64 both = gpu_load64(&dev_tables(gpu_first(mapped))->coarse.begun);
		begun += (u32)both;
		ended += (u32)(both >> 32);
	}
	return begun == ended ? begun : 0;
}

/* Of all that the coarse path knows, if it has changed since this was asked last. */
ALWAYS void learnt_coarsely(const struct gsan_launch *l, const struct learner *b)
{
	u64 *asked = &own_tables(l)->asked[b->participant][b->stream];
	u32 state = coarse_state(l);
	u64 now = (u64)b->seq << 32 | state;
	if (state && gpu_load64(asked) == now)
		return;
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1)
		learnt_in(l, b, gpu_first(mapped));
	gpu_store64(asked, state ? now : 0);
}

/* All that it may have learnt. */
ALWAYS void learnt(const struct gsan_launch *l, const struct learner *b)
{
	int known = learner_known(l, b), unseen = !known || learnt_unseen(l, b), added = 0;
	if (known)
		learnt_coarsely(l, b);
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped), met = unseen ? gpu_load32(&dev_tables(b->participant)->met[b->stream][p]) : 0;
		added |= met && learner_keeps(l, b, elem_prefix(p, met));
	}
	count(l, GSAN_N_AMBIGUOUS, (u64)added);
}

/* Those of all streams that nothing is kept of yet. 0: there is none of that stream, or it is of this launch. */
ALWAYS u64 learners_of(u32 participant) { return gpu_load64(dev_tables(participant)->coarse.learners); }
ALWAYS int learner_other(const struct gsan_launch *l, u32 participant, u32 stream, struct learner *b)
{
	u64 pending = gpu_load64(&dev_tables(participant)->coarse.learner[stream]);
	*b = learner_of(pending, participant, stream);
	return pending && b->tag != l->tag;
}
#define EACH_LEARNER(l, b) \
	for (u32 mapped_ = (l)->mapped; mapped_; mapped_ &= mapped_ - 1) \
		for (u64 streams_ = learners_of(gpu_first(mapped_)); streams_; streams_ &= streams_ - 1) \
			if (learner_other(l, gpu_first(mapped_), (u32)__builtin_ctzll(streams_), b))

NEVER void learnt_by_all(const struct gsan_launch *l)
{
	struct learner b;
	EACH_LEARNER(l, &b)
		learnt(l, &b);
}

/* Before an element goes from where the coarse path knows it: who may have observed it has learnt it. Of what stays there that is asked for later. */
NEVER void learnt_going(const struct gsan_launch *l, u64 elem)
{
	struct learner b;
	EACH_LEARNER(l, &b)
		if (learner_known(l, &b))
			learnt_of(l, &b, elem);
}

/* A launch begins: what the one before it in its stream learnt, that is over now, is kept. It may not be over where streams share a
 * slot, unless the host has seen its end, and where this one began early: then what it learns yet is asked for as before. */
NEVER void learnt_before(const struct gsan_launch *l)
{
	u64 *at = &own_tables(l)->coarse.learner[l->stream], pending = gpu_load64(at);
	struct learner b = learner_of(pending, l->participant, l->stream);
	if (!pending || b.tag == l->tag)
		return;
	learnt(l, &b);
	if (l->stream == GSAN_STREAMS - 1 ? order_has(&l->order, l->participant, GSAN_STREAMS, b.seq) : !(l->order.flags & GSAN_ORDER_EARLY))
		gpu_cas64(at, pending, 0);
}

/* What stands there of this launch: itself. */
ALWAYS u64 learner_own(const struct gsan_launch *l, int learns) { return (u64)l->tag << 32 | l->seq | (learns ? DEV_LEARNS : 0); }

/* Of streams that share a slot, and so count as one, the oldest stands for all, which are behind it, until one begins that knows it to be over. Were
 * each of them to put the others out, whichever runs would ask again and again what they learnt. */
ALWAYS int learner_stands(const struct gsan_launch *l, u64 pending)
{
	return pending && l->stream == GSAN_STREAMS - 1 && (u32)pending <= l->seq;
}
ALWAYS int learner_noted(const struct gsan_launch *l, u64 pending, int learns)
{
	return pending == learner_own(l, learns) || (learner_stands(l, pending) && (!learns || pending & DEV_LEARNS));
}

NEVER void learner_put(const struct gsan_launch *l, int learns)
{
	struct dev_coarse *c = &own_tables(l)->coarse;
	u64 *at = &c->learner[l->stream], pending;
	while (!learner_noted(l, pending = gpu_load64(at), learns)) {
		tag_await(l, l->tag);
		learnt_before(l);
		gpu_cas64(at, pending, learner_stands(l, pending) ? pending | DEV_LEARNS : learner_own(l, learns));
		gpu_or32(&c->learners[l->stream / 32], 1u << l->stream % 32);
	}
}

/* Before the first operation of a launch that keeps no clock; lanes in turns. Most of them come behind one that has put it there, so that is asked first. */
NEVER void learner_note(const struct gsan_launch *l, int learns)
{
	if (gpu_load64(&own_tables(l)->coarse.learner[l->stream]) != learner_own(l, learns))
		learner_put(l, learns);
}

/* Has it read what has no shadow, or what no known write left, and has nothing begun since? `of_stream`: foreign, or unseen. */
ALWAYS int learner_met(const struct gsan_launch *l, const u32 *of_stream)
{
	int all = gpu_load32(&of_stream[l->stream]) >= l->seq;
	for (u32 mapped = l->mapped; mapped && all; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped);
		all = gpu_load32(&own_tables(l)->met[l->stream][p]) >= (u32)gpu_load64(&dev_tables(p)->newest);
	}
	return all;
}
/* It does. */
NEVER void learner_meets(const struct gsan_launch *l, u32 *of_stream)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped);
		gpu_max32(&own_tables(l)->met[l->stream][p], (u32)gpu_load64(&dev_tables(p)->newest));
	}
	gpu_fence_sys();
	gpu_max32(&of_stream[l->stream], l->seq);
}

#endif
