/* Joins of vectors: the one operation everything here is made of. */
#ifndef GSAN_CLOCK_VEC_H
#define GSAN_CLOCK_VEC_H

#include "clock/clock.h"

static inline void clock_raise(uint32_t *a, uint32_t b)
{
	if (*a < b)
		*a = b;
}

static inline void clock_join(struct clock_vec *a, const struct clock_vec *b, uint32_t slots)
{
	for (uint32_t s = 0; s < slots; s++)
		clock_raise(&a->seen[s], b->seen[s]);
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
void clock_publish(struct clock *c);
/* tags.c; called with the lock held. */
int clock_tag(struct clock *c, uint32_t slot, enum clock_use use, uint32_t *half);
void clock_tags_short(struct clock *c); /* before a number is given out */

#endif
