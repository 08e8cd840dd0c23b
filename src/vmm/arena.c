#include "vmm/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int arena_grow(struct arena *a)
{
	if (a->count < a->room)
		return 0;
	size_t room = a->room ? a->room * 2 : 64;
	struct arena_range *r = realloc(a->free, room * sizeof *r);
	if (!r)
		return -ENOMEM;
	a->free = r;
	a->room = room;
	return 0;
}

static int arena_insert(struct arena *a, size_t at, uint64_t base, uint64_t size)
{
	if (arena_grow(a))
		return -ENOMEM;
	memmove(a->free + at + 1, a->free + at, (a->count - at) * sizeof *a->free);
	a->free[at] = (struct arena_range){base, size};
	a->count++;
	return 0;
}

static void arena_remove(struct arena *a, size_t at)
{
	a->count--;
	memmove(a->free + at, a->free + at + 1, (a->count - at) * sizeof *a->free);
}

int arena_give(struct arena *a, uint64_t base, uint64_t size)
{
	size_t lo = 0, hi = a->count;
	while (lo < hi) { /* the first free range behind `base` */
		size_t mid = (lo + hi) / 2;
		if (a->free[mid].base < base)
			lo = mid + 1;
		else
			hi = mid;
	}
	int before = lo > 0 && a->free[lo - 1].base + a->free[lo - 1].size == base;
	int behind = lo < a->count && base + size == a->free[lo].base;
	if (before && behind) {
		a->free[lo - 1].size += size + a->free[lo].size;
		arena_remove(a, lo);
	} else if (before) {
		a->free[lo - 1].size += size;
	} else if (behind) {
		a->free[lo].base = base;
		a->free[lo].size += size;
	} else {
		return arena_insert(a, lo, base, size);
	}
	return 0;
}

int arena_take(struct arena *a, uint64_t size, uint64_t align, uint64_t *base)
{
	for (size_t i = 0; i < a->count; i++) {
		struct arena_range *r = &a->free[i], whole = *r;
		uint64_t at = (r->base + align - 1) & ~(align - 1), skip = at - r->base;
		if (skip > r->size || size > r->size - skip)
			continue;
		uint64_t behind = whole.size - skip - size;
		if (skip && behind) {
			if (arena_insert(a, i + 1, at + size, behind))
				return -ENOMEM;
			a->free[i].size = skip;
		} else if (skip) {
			r->size = skip;
		} else if (behind) {
			*r = (struct arena_range){at + size, behind};
		} else {
			arena_remove(a, i);
		}
		*base = at;
		return 0;
	}
	return -ENOMEM;
}

void arena_drop(struct arena *a)
{
	free(a->free);
	*a = (struct arena){0};
}
