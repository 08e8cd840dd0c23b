/* The host's view of the tables (runtime.h). */
#include "device/runtime.h"

#include <stddef.h>

#include "device/tables.h"

uint64_t gsan_tables_bytes(void)
{
	return (sizeof(struct dev_tables) + GSAN_PAGE - 1) / GSAN_PAGE * GSAN_PAGE;
}

uint64_t gsan_counters_bytes(void) { return offsetof(struct dev_tables, coarse); }

int gsan_entries_many(const void *copy)
{
	const struct dev_tables *t = copy;
	return t->syncs > DEV_SYNCS / 4 || t->sync_full;
}

void gsan_entries(struct gsan_entries *at)
{
	*at = (struct gsan_entries){.counts = offsetof(struct dev_tables, syncs), .entries = offsetof(struct dev_tables, sync)};
	at->counts_bytes = offsetof(struct dev_tables, coarse) + sizeof(struct dev_coarse) - at->counts;
	at->entries_bytes = sizeof(((struct dev_tables *)0)->sync);
}

void gsan_counters_add(const void *copy, uint64_t *sum)
{
	const struct dev_tables *t = copy;
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		sum[i] += t->head.counter[i];
	for (unsigned i = 0; i < DEV_SPREAD; i++) {
		sum[GSAN_N_CHECKED] += t->spread[i].checked;
		sum[GSAN_N_LOST] += t->spread[i].lost;
	}
	sum[GSAN_N_ACCESSES] = sum[GSAN_N_CHECKED] + sum[GSAN_N_FOREIGN]; /* every access is one or the other */
}
