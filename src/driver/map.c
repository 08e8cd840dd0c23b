/* Open addressing with linear probing; doubled when two thirds are used. */
#include "driver/map.h"

#include <errno.h>
#include <stdlib.h>

static char map_gone;
#define MAP_GONE ((void *)&map_gone)

static uint64_t map_hash(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdull;
	return key ^ key >> 33;
}

/* The entry of the key, or the first empty one. room > used, so the walk ends. */
static struct map_entry *map_find(const struct map *m, uint64_t key)
{
	for (uint64_t i = map_hash(key);; i++) {
		struct map_entry *e = &m->entry[i & (m->room - 1)];
		if (!e->value || (e->key == key && e->value != MAP_GONE))
			return e;
	}
}

static int map_grow(struct map *m)
{
	struct map old = *m;
	size_t room = m->room ? m->room * 2 : 64;
	struct map_entry *entry = calloc(room, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	m->entry = entry;
	m->room = room;
	m->used = 0;
	for (size_t i = 0; i < old.room; i++) {
		if (!old.entry[i].value || old.entry[i].value == MAP_GONE)
			continue;
		*map_find(m, old.entry[i].key) = old.entry[i];
		m->used++;
	}
	free(old.entry);
	return 0;
}

void *map_get(struct map *m, uint64_t key)
{
	void *value = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->room)
		value = map_find(m, key)->value;
	pthread_mutex_unlock(&m->lock);
	return value;
}

int map_put(struct map *m, uint64_t key, void *value)
{
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	if (m->used * 3 >= m->room * 2)
		rc = map_grow(m);
	if (!rc) {
		struct map_entry *e = map_find(m, key);
		m->used += !e->value;
		*e = (struct map_entry){key, value};
	}
	pthread_mutex_unlock(&m->lock);
	return rc;
}

void *map_remove(struct map *m, uint64_t key)
{
	void *value = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->room) {
		struct map_entry *e = map_find(m, key);
		value = e->value;
		if (value)
			e->value = MAP_GONE;
	}
	pthread_mutex_unlock(&m->lock);
	return value;
}

void map_sweep(struct map *m, int (*drop)(uint64_t key, void *value, void *context), void *context)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->room; i++) {
		struct map_entry *e = &m->entry[i];
		if (e->value && e->value != MAP_GONE && drop(e->key, e->value, context))
			e->value = MAP_GONE;
	}
	pthread_mutex_unlock(&m->lock);
}
