/* Maps from pairs of numbers, and from strings, to small indices. Nothing is ever taken out. */
#ifndef REFERENCE_TABLE_H
#define REFERENCE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_NONE UINT32_MAX

struct table_slot {
	uint64_t a, b;
	uint32_t value; /* + 1; 0: free */
};

struct table {
	struct table_slot *slot;
	size_t slots, used;
};

uint32_t table_get(const struct table *t, uint64_t a, uint64_t b); /* TABLE_NONE: not there */
void table_put(struct table *t, uint64_t a, uint64_t b, uint32_t value); /* the pair is not there yet */
void table_free(struct table *t);

/* The one copy of a string, which lives as long as the set: equal strings have equal addresses. */
struct names {
	char **name;
	size_t count, room;
	struct table by_hash;
};
const char *names_get(struct names *n, const char *name);
void names_free(struct names *n);

/* Memory, zeroed. A test tool that runs out of it says so and ends. */
void *table_alloc(size_t bytes);
/* Makes room for one more element of `size` bytes after the `count` there are; what is new is zeroed. */
void *table_grow(void *array, size_t count, size_t *room, size_t size);

#endif
