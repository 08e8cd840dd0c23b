#include "report/index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define INDEX_FIRST 64 /* slots; a power of two, as all later numbers are */

struct index_slot { uint64_t hash; uint32_t element, used; };

static uint32_t index_home(const struct index *x, uint64_t hash) { return (uint32_t)(hash_spread(hash) >> 32) & (x->room - 1); }

static void index_put(struct index *x, uint64_t hash, uint32_t element)
{
	uint32_t i = index_home(x, hash);
	while (x->slot[i].used)
		i = (i + 1) & (x->room - 1);
	x->slot[i] = (struct index_slot){hash, element, 1};
	x->used++;
}

/* Elements of one hash stay in their order: from a slot that is free on, once around, none comes before one that was there first. */
static int index_grow(struct index *x)
{
	struct index grown = {calloc(x->room ? x->room * 2 : INDEX_FIRST, sizeof *grown.slot), x->room ? x->room * 2 : INDEX_FIRST, 0};
	uint32_t start = 0;
	if (!grown.slot)
		return -ENOMEM;
	while (x->room && x->slot[start].used)
		start++;
	for (uint32_t i = 0; i < x->room; i++) {
		const struct index_slot *slot = &x->slot[(start + i) & (x->room - 1)];
		if (slot->used)
			index_put(&grown, slot->hash, slot->element);
	}
	free(x->slot);
	*x = grown;
	return 0;
}

int index_add(struct index *x, uint64_t hash, uint32_t element)
{
	if (x->used >= x->room / 2 && index_grow(x))
		return -ENOMEM;
	index_put(x, hash, element);
	return 0;
}

uint32_t *index_next(const struct index *x, uint64_t hash, uint32_t *at)
{
	for (; x->room; ++*at) {
		struct index_slot *slot = &x->slot[(index_home(x, hash) + *at) & (x->room - 1)];
		if (!slot->used)
			return NULL;
		if (slot->hash != hash)
			continue;
		++*at;
		return &slot->element;
	}
	return NULL;
}

void index_free(struct index *x)
{
	free(x->slot);
	*x = (struct index){0};
}
