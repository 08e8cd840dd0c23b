/* The host's view of the tables (runtime.h). */
#include "device/runtime.h"

#include <stddef.h>

#include "device/tables.h"

uint64_t gsan_tables_bytes(void)
{
	return (sizeof(struct dev_tables) + GSAN_PAGE - 1) / GSAN_PAGE * GSAN_PAGE;
}

uint64_t gsan_counters_bytes(void) { return offsetof(struct dev_tables, coarse); }

struct gsan_history gsan_history_used(const void *copy)
{
	const struct dev_tables *t = copy;
	const size_t after_counts = offsetof(struct dev_tables, coarse) + sizeof(struct dev_coarse);
	struct gsan_history h = {.entries = {.at = offsetof(struct dev_tables, sync), .count = offsetof(struct dev_tables, syncs)},
				 .detail = {.at = offsetof(struct dev_tables, detail), .count = offsetof(struct dev_tables, detail_next)}};
	h.entries.count_bytes = after_counts - h.entries.count;
	uint32_t blocks = DEV_DETAILS + t->detail_more;
	h.detail.count_bytes = sizeof(t->detail_next);
	h.detail_short = t->detail_next > blocks / 4 * 3;
	if (t->syncs > DEV_SYNCS / 4 || t->sync_full)
		h.entries.bytes = sizeof(t->sync);
	if (t->detail_next > DEV_DETAILS / 4)
		h.detail.bytes = (uint64_t)(t->detail_next < blocks ? t->detail_next : blocks) * sizeof(t->detail[0]);
	return h;
}

struct gsan_part gsan_aside(uint64_t base, uint64_t size)
{
	const uint64_t first = base / GSAN_LINE, lines = (base + size - 1) / GSAN_LINE - first + 1, slot = first % DEV_ASIDE;
	const int all = lines >= DEV_ASIDE || slot + lines > DEV_ASIDE;

	return (struct gsan_part){.at = offsetof(struct dev_tables, aside) + (all ? 0 : slot * sizeof(struct dev_aside)),
				  .bytes = (all ? DEV_ASIDE : lines) * sizeof(struct dev_aside)};
}
uint64_t gsan_detail_more_at(void) { return offsetof(struct dev_tables, detail_more); }
uint64_t gsan_tells_at(void) { return offsetof(struct dev_tables, tells); }

uint32_t gsan_detail_blocks(uint64_t bytes)
{
	return (uint32_t)((gsan_tables_bytes() + bytes - sizeof(struct dev_tables)) / sizeof(struct gsan_detail));
}

void gsan_counters_add(const void *copy, uint64_t *sum)
{
	const struct dev_tables *t = copy;
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		sum[i] += t->head.counter[i];
	for (unsigned i = 0; i < DEV_SPREAD; i++) {
		sum[GSAN_N_CHECKED] += t->spread[i].checked;
		sum[GSAN_N_LOST] += t->spread[i].lost;
		sum[GSAN_N_UNRECORDED] += t->spread[i].unrecorded;
	}
	sum[GSAN_N_ACCESSES] = sum[GSAN_N_CHECKED] + sum[GSAN_N_FOREIGN]; /* every access is one or the other */
}
