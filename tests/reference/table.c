#include "reference/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
	if (!memory) {
		fputs("gsan-reference: out of memory; give it a shorter trace\n", stderr);
		exit(2);
	}
	return memory;
}

void *table_alloc(size_t bytes) { return checked(calloc(1, bytes ? bytes : 1)); }

void *table_grow(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	const size_t more = *room ? *room * 2 : 4;
	char *grown = checked(realloc(array, more * size));
	memset(grown + *room * size, 0, (more - *room) * size);
	*room = more;
	return grown;
}

static size_t place(const struct table *t, uint64_t a, uint64_t b)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	h ^= h >> 32;
	size_t at = (size_t)h & (t->slots - 1);
	while (t->slot[at].value && (t->slot[at].a != a || t->slot[at].b != b))
		at = (at + 1) & (t->slots - 1);
	return at;
}

uint32_t table_get(const struct table *t, uint64_t a, uint64_t b)
{
	return t->slots ? t->slot[place(t, a, b)].value - 1 : TABLE_NONE;
}

static void rehash(struct table *t)
{
	struct table old = *t;
	t->slots = old.slots ? old.slots * 2 : 64;
	t->slot = table_alloc(t->slots * sizeof *t->slot);
	for (size_t i = 0; i < old.slots; i++)
		if (old.slot[i].value)
			t->slot[place(t, old.slot[i].a, old.slot[i].b)] = old.slot[i];
	free(old.slot);
}

void table_put(struct table *t, uint64_t a, uint64_t b, uint32_t value)
{
	if (t->used * 2 >= t->slots)
		rehash(t);
	t->slot[place(t, a, b)] = (struct table_slot){ a, b, value + 1 };
	t->used++;
}

void table_free(struct table *t) { free(t->slot); }

const char *names_get(struct names *n, const char *name)
{
	uint64_t h = 14695981039346656037u;
	for (const char *c = name; *c; c++)
		h = (h ^ (unsigned char)*c) * 1099511628211u;
	for (uint64_t twin = 0;; twin++) { /* of different names with one hash */
		const uint32_t at = table_get(&n->by_hash, h, twin);
		if (at != TABLE_NONE && !strcmp(n->name[at], name))
			return n->name[at];
		if (at != TABLE_NONE)
			continue;
		n->name = table_grow(n->name, n->count, &n->room, sizeof *n->name);
		n->name[n->count] = checked(strdup(name));
		table_put(&n->by_hash, h, twin, (uint32_t)n->count);
		return n->name[n->count++];
	}
}

void names_free(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->name[i]);
	free(n->name);
	table_free(&n->by_hash);
}
