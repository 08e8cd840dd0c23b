/* A strict partial order over the events 0 … n-1 that is kept transitively closed: one row of bits an event. */
#ifndef AXIOMS_ORDER_H
#define AXIOMS_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct order { uint32_t n, words; uint64_t *row; };

int order_open(struct order *o, uint32_t n); /* empty; 0 or -ENOMEM */
void order_close(struct order *o);
void order_copy(struct order *to, const struct order *from); /* of equal n */
void order_clear(struct order *o);
static inline bool order_has(const struct order *o, uint32_t a, uint32_t b)
{
	return o->row[(uint64_t)a * o->words + b / 64] >> b % 64 & 1;
}
/* a before b, and what follows from it. False: b is a, or before a; nothing changed. */
bool order_add(struct order *o, uint32_t a, uint32_t b);

#endif
