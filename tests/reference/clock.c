#include "reference/clock.h"

#include "reference/table.h"

#include <stdlib.h>
#include <string.h>

static struct clock *make(uint32_t room)
{
	struct clock *c = table_alloc(sizeof *c + room * sizeof c->elem[0]);
	c->holders = 1;
	c->room = room;
	return c;
}

struct clock *clock_hold(struct clock *c)
{
	if (c)
		c->holders++;
	return c;
}

void clock_drop(struct clock *c)
{
	if (c && !--c->holders)
		free(c);
}

/* The first element whose key is not smaller. */
static uint32_t find(const struct clock *c, uint64_t key)
{
	uint32_t low = 0, high = c->count;
	while (low < high) {
		const uint32_t middle = (low + high) / 2;
		if (c->elem[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t clock_at(const struct clock *c, uint64_t key)
{
	const uint32_t at = c ? find(c, key) : 0;
	return c && at < c->count && c->elem[at].key == key ? c->elem[at].value : 0;
}

int clock_covers(const struct clock *a, const struct clock *b)
{
	uint32_t i = 0;
	if (!b || a == b)
		return 1;
	for (uint32_t k = 0; k < b->count; k++) {
		while (a && i < a->count && a->elem[i].key < b->elem[k].key)
			i++;
		if (!a || i == a->count || a->elem[i].key != b->elem[k].key || a->elem[i].value < b->elem[k].value)
			return 0;
	}
	return 1;
}

/* One that nobody else holds, with room for another element. */
static struct clock *own(struct clock *a)
{
	const uint32_t count = a ? a->count : 0;
	if (a && a->holders == 1 && count < a->room)
		return a;
	struct clock *c = make(count + 4 + count / 4);
	if (a)
		memcpy(c->elem, a->elem, count * sizeof a->elem[0]);
	c->count = count;
	clock_drop(a);
	return c;
}

struct clock *clock_with(struct clock *a, uint64_t key, uint64_t value)
{
	if (clock_at(a, key) >= value)
		return a;
	a = own(a);
	const uint32_t at = find(a, key);
	if (at == a->count || a->elem[at].key != key) {
		memmove(a->elem + at + 1, a->elem + at, (a->count - at) * sizeof a->elem[0]);
		a->count++;
	}
	a->elem[at] = (struct clock_elem){ key, value };
	return a;
}

struct clock *clock_join(struct clock *a, struct clock *b)
{
	if (clock_covers(a, b))
		return a;
	if (clock_covers(b, a)) {
		clock_drop(a);
		return clock_hold(b);
	}
	struct clock *c = make(a->count + b->count + 1);
	for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
		const struct clock_elem *x = i < a->count ? &a->elem[i] : NULL, *y = k < b->count ? &b->elem[k] : NULL;
		const int left = x && (!y || x->key <= y->key), right = y && (!x || y->key <= x->key);
		c->elem[c->count++] = left && (!right || x->value >= y->value) ? *x : *y;
		i += (uint32_t)left;
		k += (uint32_t)right;
	}
	clock_drop(a);
	return c;
}

struct clock *clock_meet(struct clock *a, const struct clock *b)
{
	struct clock *c = a && b ? make(a->count) : NULL;
	for (uint32_t i = 0; c && i < a->count; i++) {
		const uint64_t other = clock_at(b, a->elem[i].key), value = a->elem[i].value < other ? a->elem[i].value : other;
		if (value)
			c->elem[c->count++] = (struct clock_elem){ a->elem[i].key, value };
	}
	clock_drop(a);
	return c;
}

struct clock *clock_prune(struct clock *a, int (*implied)(const void *, const struct clock *, const struct clock_elem *), const void *with)
{
	struct clock *c = a ? make(a->count) : NULL;
	for (uint32_t i = 0; c && i < a->count; i++)
		if (!implied(with, a, &a->elem[i]))
			c->elem[c->count++] = a->elem[i];
	clock_drop(a);
	return c;
}
