/* A map from handles (pointers, numbers) to pointers, with a lock of its own. Values are never freed by the map. */
#ifndef GSAN_DRIVER_MAP_H
#define GSAN_DRIVER_MAP_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry { uint64_t key; void *value; }; /* value NULL = empty, MAP_GONE = removed */
struct map {
	pthread_mutex_t lock;
	struct map_entry *entry;
	size_t room, used; /* room: a power of two or 0; used counts removed entries too */
};
#define MAP_INIT {.lock = PTHREAD_MUTEX_INITIALIZER}

void *map_get(struct map *m, uint64_t key);              /* NULL: absent */
int map_put(struct map *m, uint64_t key, void *value);   /* replaces; 0 or -ENOMEM */
void *map_remove(struct map *m, uint64_t key);           /* what was there, or NULL */
/* Removes every entry for which drop() answers 1; drop may free the value, but not use the map. */
void map_sweep(struct map *m, int (*drop)(uint64_t key, void *value, void *context), void *context);

#endif
