/* Module variables: memory that the driver places outside the arena. Each gets canonical addresses with line records and
 * no memory behind them; the device translates by a short table of ranges (layout.h). Units of 512 bytes, so that whole
 * lines stay whole. Peers do not share them. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "vmm/inside.h"

#define UNIT 512ull
#define CHUNK (32ull << 20)

static struct gsan_range ranges[GSAN_RANGES]; /* as the device has them; size 0: free */
static const void *owners[GSAN_RANGES];       /* module or library */
static struct gsan_ranges_head head;

static uint64_t range_at(const struct participant *p, uint32_t i)
{
	return p->view_table + GSAN_RANGES_OFFSET + sizeof head + i * sizeof *ranges;
}

/* What another variable's units leave of [*base, *end): variables of a module may share one at each end. */
static void range_trim(uint64_t *base, uint64_t *end)
{
	for (uint32_t i = 0; i < head.count; i++) {
		const struct gsan_range *r = &ranges[i];
		if (!r->size || r->base >= *end || r->base + r->size <= *base)
			continue;
		if (r->base <= *base)
			*base = r->base + r->size;
		else
			*end = r->base;
	}
}

static int range_room(struct participant *p, uint64_t size, uint64_t *canonical)
{
	uint64_t chunk, bytes = vmm_round(size, CHUNK);
	if (!arena_take(&p->variables, size, UNIT, canonical))
		return 0;
	if (arena_take(&p->slice, bytes, GSAN_PAGE, &chunk))
		return -ENOMEM;
	if (shadow_cover(p, chunk, bytes)) {
		arena_give(&p->slice, chunk, bytes);
		return -ENOMEM;
	}
	return arena_give(&p->variables, chunk, bytes) ? -ENOMEM : arena_take(&p->variables, size, UNIT, canonical);
}

/* The device may look meanwhile: a range counts once its size is there, a new place once the head has it. */
static int range_write(struct participant *p, uint32_t i, const struct gsan_range *r)
{
	struct gsan_range empty = *r;
	empty.size = 0;
	if (vmm_upload(p, range_at(p, i), &empty, sizeof empty) || vmm_upload(p, range_at(p, i), r, sizeof *r))
		return -EIO;
	if (!head.count || r->base < head.low)
		head.low = r->base;
	if (r->base + r->size > head.high)
		head.high = r->base + r->size;
	if (i == head.count)
		head.count++;
	return vmm_upload(p, p->view_table + GSAN_RANGES_OFFSET, &head, sizeof head);
}

static int range_add(struct participant *p, uint64_t at, uint64_t size, const char *name, const void *owner)
{
	uint64_t base = at / UNIT * UNIT, end = vmm_round(at + size, UNIT);
	struct gsan_range r;
	uint32_t i = 0;
	range_trim(&base, &end);
	if (base >= end)
		return 0;
	while (i < head.count && ranges[i].size)
		i++;
	if (i == GSAN_RANGES || range_room(p, end - base, &r.canonical))
		return -ENOMEM;
	r.base = base;
	r.size = end - base;
	if (range_write(p, i, &r))
		return -EIO; /* the addresses stay taken: who knows what the device saw */
	ranges[i] = r;
	owners[i] = owner;
	vmm_announce(p, r.canonical + (at > base ? at - base : 0), size, name);
	return 0;
}

uint64_t variable_canonical(uint64_t at)
{
	for (uint32_t i = 0; i < head.count; i++)
		if (at >= ranges[i].base && at - ranges[i].base < ranges[i].size)
			return ranges[i].canonical + (at - ranges[i].base);
	return 0;
}

int vmm_is_checked(uint64_t at)
{
	if (at - GSAN_ARENA_BASE < GSAN_ARENA_SIZE)
		return 1;
	uint64_t low = __atomic_load_n(&head.low, __ATOMIC_RELAXED), high = __atomic_load_n(&head.high, __ATOMIC_RELAXED);
	if (at < low || at >= high)
		return 0;
	pthread_mutex_lock(&vmm_lock);
	int there = variable_canonical(at) != 0;
	pthread_mutex_unlock(&vmm_lock);
	return there;
}

void vmm_variable(struct participant *p, uint64_t at, uint64_t size, const char *name, const void *owner)
{
	struct vmm_section s;
	if (!size || at >> GSAN_DATA_SHIFT == GSAN_DATA_TOP || vmm_enter(p, &s))
		return;
	int rc = range_add(p, at, size, name, owner);
	vmm_leave(&s);
	if (rc)
		vmm_note(p, "foreign", name, "a module variable: no shadow could be mapped for it");
}

void vmm_variables_drop(struct participant *p, const void *owner)
{
	struct vmm_section s;
	if (!head.count || vmm_enter(p, &s))
		return;
	for (uint32_t i = 0; i < head.count; i++) {
		struct gsan_range gone = ranges[i];
		if (owners[i] != owner || !gone.size)
			continue;
		struct participant *of = participant_of(gone.canonical);
		owners[i] = NULL;
		ranges[i].size = 0;
		if (!vmm_upload(p, range_at(p, i), &ranges[i], sizeof ranges[i]) && !shadow_clear(of, gone.canonical, gone.size))
			arena_give(&of->variables, gone.canonical, gone.size);
	}
	vmm_leave(&s);
}
