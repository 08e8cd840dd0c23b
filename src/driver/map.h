/* A map from handles (pointers, numbers) to pointers, with a lock of its own. Values are never freed by the map. Who only looks up
 * what a launch needs takes no lock (map_peek): a place of the table has one key for good, and where somebody peeks, a table that grew
 * out of use is kept. */
#ifndef GSAN_DRIVER_MAP_H
#define GSAN_DRIVER_MAP_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry { uint64_t key; void *value; }; /* value NULL = empty, MAP_GONE = removed */
struct map_table { struct map_table *older; size_t room; struct map_entry entry[]; }; /* room: a power of two */
struct map {
	pthread_mutex_t lock;
	struct map_table *table; /* stored with release; NULL: nothing was ever put */
	size_t used;             /* counts removed entries too */
	int peeked;              /* map_peek() is used */
};
#define MAP_INIT {.lock = PTHREAD_MUTEX_INITIALIZER}

/* The same as map_get() without a lock: what is put or removed meanwhile may be seen or not. NULL: look again with map_get(). */
void *map_peek(struct map *m, uint64_t key);

void *map_get(struct map *m, uint64_t key);              /* NULL: absent */
int map_put(struct map *m, uint64_t key, void *value);   /* replaces; 0 or -ENOMEM */
void *map_remove(struct map *m, uint64_t key);           /* what was there, or NULL */
/* Removes every entry for which drop() answers 1; drop may free the value, but not use the map. */
void map_sweep(struct map *m, int (*drop)(uint64_t key, void *value, void *context), void *context);

#endif
