#include "emu/driver/graph/live.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"

/* An open hash table; what is removed leaves DEAD, so that searches go on behind it. */
struct entry { const void *handle; enum emu_live what; };
#define DEAD ((const void *)1)
static struct entry *table;
static size_t room, used; /* used: DEAD ones count */

static size_t begin(const void *handle, size_t of) { return (size_t)(hash_spread((uintptr_t)handle) >> 32) & (of - 1); }

static struct entry *find(const void *handle)
{
	for (size_t i = room ? begin(handle, room) : 0; room && table[i].handle; i = (i + 1) & (room - 1))
		if (table[i].handle == handle)
			return &table[i];
	return NULL;
}

static void put(struct entry *into, size_t of, const struct entry *e)
{
	size_t i = begin(e->handle, of);
	while (into[i].handle)
		i = (i + 1) & (of - 1);
	into[i] = *e;
}

static int grow(void)
{
	size_t alive = 0, bigger = 64;
	for (size_t i = 0; i < room; i++)
		alive += table[i].handle && table[i].handle != DEAD;
	while (bigger < 4 * (alive + 1))
		bigger *= 2;
	struct entry *grown = calloc(bigger, sizeof *grown);
	if (!grown)
		return -1;
	for (size_t i = 0; i < room; i++)
		if (table[i].handle && table[i].handle != DEAD)
			put(grown, bigger, &table[i]);
	free(table);
	table = grown;
	room = bigger;
	used = alive;
	return 0;
}

int emu_live_add(const void *handle, enum emu_live what)
{
	if (2 * (used + 1) > room && grow())
		return -1;
	put(table, room, &(struct entry){handle, what});
	used++;
	return 0;
}

void emu_live_remove(const void *handle)
{
	struct entry *e = find(handle);
	if (e)
		e->handle = DEAD;
}

int emu_live(const void *handle, enum emu_live what)
{
	const struct entry *e = handle && handle != DEAD ? find(handle) : NULL;
	return e && e->what == what;
}
