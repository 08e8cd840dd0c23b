#include "order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int order_open(struct order *o, uint32_t n)
{
	o->n = n;
	o->words = n / 64 + 1;
	o->row = calloc((size_t)n + 1, o->words * sizeof(uint64_t));
	return o->row ? 0 : -ENOMEM;
}

void order_close(struct order *o)
{
	free(o->row);
	o->row = NULL;
}

void order_copy(struct order *to, const struct order *from)
{
	memcpy(to->row, from->row, (size_t)from->n * from->words * sizeof(uint64_t));
}

void order_clear(struct order *o)
{
	memset(o->row, 0, (size_t)o->n * o->words * sizeof(uint64_t));
}

bool order_add(struct order *o, uint32_t a, uint32_t b)
{
	const uint64_t *after = o->row + (size_t)b * o->words;

	if (a == b || order_has(o, b, a))
		return false;
	if (order_has(o, a, b))
		return true;
	for (uint32_t x = 0; x < o->n; x++) {
		uint64_t *row = o->row + (size_t)x * o->words;

		if (x != a && !order_has(o, x, a))
			continue;
		row[b / 64] |= 1ull << b % 64;
		for (uint32_t w = 0; w < o->words; w++)
			row[w] |= after[w];
	}
	return true;
}
