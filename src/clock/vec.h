/* Joins of vectors: the one operation everything here is made of. */
#ifndef GSAN_CLOCK_VEC_H
#define GSAN_CLOCK_VEC_H

#include <string.h>

#include "clock/clock.h"

static inline void clock_raise(uint32_t *a, uint32_t b)
{
	if (*a < b)
		*a = b;
}

/* The least number of a launch of participant q. */
static inline uint32_t clock_first(const struct clock *c, uint32_t q)
{
	uint32_t first = c->first;

	if (c->job)
		clock_raise(&first, atomic_load_explicit(&c->job->rank[q].first, memory_order_relaxed));
	return first;
}

static inline void clock_join_seen(uint32_t *a, const uint32_t *b, uint32_t slots)
{
	for (uint32_t s = 0; s < slots; s++)
		clock_raise(&a[s], b[s]);
}

/* What is before of another place. Each of the two, floor and pairs, says of some launches that they are: so does the greatest of both. */
static inline void clock_join_sight(struct clock_vec *a, uint32_t place, uint32_t floor, const uint32_t *seen)
{
	struct clock_sight *sight = &a->sight[place];

	if (!(a->beside >> place & 1))
		*sight = (struct clock_sight){0};
	a->beside |= 1u << place;
	clock_raise(&sight->floor, floor);
	clock_join_seen(sight->seen, seen, GSAN_STREAMS);
}

static inline void clock_join(struct clock_vec *a, const struct clock_vec *b, uint32_t slots)
{
	clock_join_seen(a->seen, b->seen, slots);
	for (uint32_t left = b->beside; left; left &= left - 1) {
		uint32_t place = (uint32_t)__builtin_ctz(left);
		clock_join_sight(a, place, b->sight[place].floor, b->sight[place].seen);
	}
}

/* The rest of `sight` means nothing. */
static inline void clock_copy(struct clock_vec *to, const struct clock_vec *from)
{
	memcpy(to->seen, from->seen, sizeof(to->seen));
	to->beside = from->beside;
	for (uint32_t left = from->beside; left; left &= left - 1)
		to->sight[__builtin_ctz(left)] = from->sight[__builtin_ctz(left)];
}

/* What is over: the host has seen it, or `also` says so. */
static inline void clock_over(const struct clock *c, const struct clock_vec *also, struct clock_vec *over)
{
	clock_copy(over, &c->host);
	if (also)
		clock_join_seen(over->seen, also->seen, GSAN_STREAMS);
}

/* The least seq that a launch of slot s may have that is not before v; 0 = every launch of the slot is before. */
static inline uint32_t clock_open_seq(const struct clock *c, const struct clock_vec *v, uint32_t s)
{
	const struct clock_slot *slot = &c->slot[s];

	if (slot->last <= v->seen[s])
		return 0;
	return v->seen[s] + 1 > slot->pending ? v->seen[s] + 1 : slot->pending;
}

/* Is something before v that waits, perhaps still, for what is not modelled? */
static inline int clock_unknown(const struct clock *c, const struct clock_vec *v)
{
	int unknown = 0;

	for (uint32_t s = 0; s < c->slots; s++)
		unknown |= c->slot[s].unknown_first && v->seen[s] >= c->slot[s].unknown_first;
	return unknown;
}

static inline uint32_t clock_floor(const struct clock *c, const struct clock_vec *v, uint32_t limit)
{
	for (uint32_t s = 0; s < c->slots; s++) {
		uint32_t open = clock_open_seq(c, v, s);
		if (open && open < limit)
			limit = open;
	}
	return limit;
}

/* order.c; called with the lock held. */
void clock_order(struct clock *c, uint32_t slot, uint32_t seq, struct gsan_order *order); /* its vector is up to now */
void clock_order_early(struct clock *c, uint32_t slot, struct gsan_order *order); /* of its newest launch, behind that */
void clock_publish(struct clock *c);
/* tags.c; called with the lock held. */
int clock_tag(struct clock *c, uint32_t slot, enum clock_use use, uint32_t *half);
int clock_tag_block(struct clock *c, const struct clock_block *b, uint32_t *half);
void clock_tags_short(struct clock *c, uint32_t from, uint32_t newest); /* before these numbers are given out */

/* What the host of participant q has seen orders nothing here; that of another GPU of this process is this one's. */
static inline int clock_is_silent(const struct clock *c, uint32_t q)
{
	return c->job->host_order_modelled && !(c->siblings >> q & 1);
}

#endif
