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
static struct map_entry *map_find(struct map_table *t, uint64_t key)
{
	for (uint64_t i = map_hash(key);; i++) {
		struct map_entry *e = &t->entry[i & (t->room - 1)];
		if (!e->value || (e->key == key && e->value != MAP_GONE))
			return e;
	}
}

void *map_peek(struct map *m, uint64_t key)
{
	struct map_table *t = __atomic_load_n(&m->table, __ATOMIC_ACQUIRE);

	for (uint64_t i = map_hash(key); t; i++) {
		struct map_entry *e = &t->entry[i & (t->room - 1)];
		void *value = __atomic_load_n(&e->value, __ATOMIC_ACQUIRE); /* partner: map_put(), which wrote the key before it */
		if (!value || (e->key == key && value != MAP_GONE))
			return value;
	}
	return NULL;
}

static int map_grow(struct map *m)
{
	struct map_table *old = m->table;
	size_t room = old ? old->room * 2 : 64, used = 0;
	struct map_table *t = calloc(1, sizeof(*t) + room * sizeof(*t->entry));

	if (!t)
		return -ENOMEM;
	t->room = room;
	for (size_t i = 0; old && i < old->room; i++) {
		if (!old->entry[i].value || old->entry[i].value == MAP_GONE)
			continue;
		*map_find(t, old->entry[i].key) = old->entry[i];
		used++;
	}
	t->older = m->peeked ? old : NULL;
	m->used = used;
	__atomic_store_n(&m->table, t, __ATOMIC_RELEASE);
	if (!m->peeked)
		free(old);
	return 0;
}

void *map_get(struct map *m, uint64_t key)
{
	void *value = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->table)
		value = map_find(m->table, key)->value;
	pthread_mutex_unlock(&m->lock);
	return value;
}

int map_put(struct map *m, uint64_t key, void *value)
{
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	if (!m->table || m->used * 3 >= m->table->room * 2)
		rc = map_grow(m);
	if (!rc) {
		struct map_entry *e = map_find(m->table, key);
		if (!e->value) {
			m->used++;
			e->key = key;
		}
		__atomic_store_n(&e->value, value, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&m->lock);
	return rc;
}

void *map_remove(struct map *m, uint64_t key)
{
	void *value = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->table) {
		struct map_entry *e = map_find(m->table, key);
		value = e->value;
		if (value)
			__atomic_store_n(&e->value, MAP_GONE, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&m->lock);
	return value;
}

void map_sweep(struct map *m, int (*drop)(uint64_t key, void *value, void *context), void *context)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; m->table && i < m->table->room; i++) {
		struct map_entry *e = &m->table->entry[i];
		if (e->value && e->value != MAP_GONE && drop(e->key, e->value, context))
			__atomic_store_n(&e->value, MAP_GONE, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&m->lock);
}
