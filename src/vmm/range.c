/* Memory outside the arena: module variables, and what hosts use, too (managed, pinned and registered memory). Each piece gets canonical
 * addresses with line records and no memory behind them; the device translates by a sorted table of ranges (layout.h). Units of 512 bytes,
 * so that whole lines stay whole. Peers do not share them. Records of what hosts use lie with the process's first participant, which all
 * its GPUs reach as they reach the table. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"
#include "vmm/inside.h"

#define UNIT 512ull
#define CHUNK (32ull << 20)
#define HOSTS_SHARE 8u /* of the GPU's memory at most this part is for records of what hosts use */

struct range {
	struct span at;
	uint64_t canonical;
	uint64_t start;    /* where the program says that it begins */
	const void *owner; /* module or library; NULL: it is freed by `start` */
	CUcontext of;      /* with which it goes */
	uint64_t number;   /* others have others */
};
static struct spans ranges = SPANS(struct range);
static uint64_t numbers;
static _Atomic uint64_t low = UINT64_MAX, high; /* all ranges that ever were lie within */

/* The device's tables: both have the first `same` ranges as they are; -1: the one in use is to be written anew. */
static struct gsan_range *written; /* as the device has them, for one upload */
static size_t same[2];
static uint32_t now;
static int behind;

static struct range *range_number(size_t i) { return spans_at(&ranges, i); }

static uint64_t range_table(const struct participant *p, unsigned which)
{
	return p->view_table + GSAN_RANGES_OFFSET + offsetof(struct gsan_ranges_both, table) + which * sizeof(struct gsan_ranges);
}

/* All that differs of the table that is not in use. */
static int range_write(struct participant *p, unsigned which)
{
	size_t first = same[which] < ranges.count ? same[which] : ranges.count;
	struct gsan_ranges head = {.count = (uint32_t)ranges.count};
	uint64_t to = range_table(p, which);
	if (!written)
		written = malloc(GSAN_RANGES * sizeof *written);
	if (!written)
		return -ENOMEM;
	for (size_t i = first; i < ranges.count; i++)
		written[i - first] = (struct gsan_range){range_number(i)->at.base, range_number(i)->at.size, range_number(i)->canonical};
	if (ranges.count) {
		const struct span *last = &range_number(ranges.count - 1)->at;
		head.low = range_number(0)->at.base;
		head.high = last->base + last->size;
	}
	if (first < ranges.count && vmm_upload(p, to + offsetof(struct gsan_ranges, range) + first * sizeof *written, written,
					       (ranges.count - first) * sizeof *written))
		return -EIO;
	return vmm_upload(p, to, &head, offsetof(struct gsan_ranges, range));
}

/* From the i-th on they have changed. The device may look meanwhile (layout.h). */
static int range_changed(struct participant *p, size_t i)
{
	const uint32_t next = now + 1;
	for (unsigned t = 0; t < 2; t++)
		same[t] = same[t] < i ? same[t] : i;
	behind = 1;
	if (range_write(p, next & 1) || vmm_upload(p, p->view_table + GSAN_RANGES_OFFSET, &next, sizeof next))
		return -EIO;
	same[next & 1] = ranges.count;
	now = next;
	behind = 0;
	return 0;
}

void ranges_renew(struct participant *p)
{
	if (behind)
		range_changed(p, ranges.count);
}

/* What another range's units leave of [*base, *end): variables of a module may share one at each end. */
static void range_trim(uint64_t *base, uint64_t *end)
{
	for (size_t i = spans_behind(&ranges, *base); i < ranges.count && range_number(i)->at.base < *end; i++) {
		const struct span *r = &range_number(i)->at;
		if (r->base <= *base)
			*base = r->base + r->size;
		else
			*end = r->base;
	}
}

/* ---- canonical addresses, and records ------------------------------------------------------------------------------ */

static int variable_room(struct participant *p, uint64_t size, uint64_t *canonical)
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

/* The program wants the GPU's memory, too: half of what is free is left to it, and of all of it a part may be taken. */
static int hosts_fit(const struct participant *p, uint64_t size)
{
	size_t free = 0, total = 0;
	uint64_t records = size / 4;
	return !real.cuMemGetInfo_v2(&free, &total) && records <= free / 2 && p->hosts_bytes / 4 + records <= total / HOSTS_SHARE;
}

static int hosts_room(struct participant *p, uint64_t size, uint64_t *canonical)
{
	if (!hosts_fit(p, size) || arena_take(&p->hosts, size, UNIT, canonical))
		return -ENOMEM;
	if (!shadow_cover(p, *canonical, size)) {
		p->hosts_bytes += size;
		return 0;
	}
	arena_give(&p->hosts, *canonical, size);
	return -ENOMEM;
}

/* Nobody finds it any more: its records are emptied. If they cannot be, the addresses stay taken. */
static void range_vacate(const struct range *r)
{
	struct participant *p = participant_of(r->canonical);
	int hosts = gsan_is_hosts(r->canonical);
	if (!p || shadow_clear(p, r->canonical, r->at.size))
		return;
	p->hosts_bytes -= hosts ? r->at.size : 0;
	arena_give(hosts ? &p->hosts : &p->variables, r->canonical, r->at.size);
}

/* Checks of copies that are over find it before it goes: who drops it has waited for them (freed_wait), if not in vain. */
static void range_drop(struct participant *p, size_t i, int waited)
{
	const struct range gone = *range_number(i);
	spans_remove(&ranges, i);
	if (!range_changed(p, i) && waited)
		range_vacate(&gone);
}

/* ---- ranges come and go -------------------------------------------------------------------------------------------- */

static int range_add(struct participant *p, struct range *r, uint64_t size, int hosts, const char *name)
{
	uint64_t base = r->start / UNIT * UNIT, end = vmm_round(r->start + size, UNIT), start = r->start;
	range_trim(&base, &end);
	if (base >= end)
		return 0;
	if (ranges.count == GSAN_RANGES || (hosts ? hosts_room : variable_room)(p, end - base, &r->canonical))
		return -ENOMEM;
	r->at = (struct span){base, end - base};
	r->number = ++numbers;
	size_t i = spans_behind(&ranges, base);
	if (spans_insert(&ranges, r)) {
		range_vacate(r);
		return -ENOMEM;
	}
	if (range_changed(p, i)) {
		spans_remove(&ranges, i); /* its addresses stay taken: who knows what the device saw */
		return -EIO;
	}
	low = base < low ? base : low;
	high = end > high ? end : high;
	vmm_announce(p, r->canonical + (start > base ? start - base : 0), size, name);
	return 0;
}

static struct range *range_find(uint64_t at) { return spans_find(&ranges, at); }

uint64_t range_canonical(uint64_t at)
{
	const struct range *r = range_find(at);
	return r ? r->canonical + (at - r->at.base) : 0;
}

enum vmm_checked vmm_checked(uint64_t at)
{
	if (at - GSAN_ARENA_BASE < GSAN_ARENA_SIZE)
		return VMM_OURS;
	if (at < low || at >= high)
		return VMM_UNCHECKED;
	pthread_mutex_lock(&vmm_lock);
	uint64_t canonical = range_canonical(at);
	pthread_mutex_unlock(&vmm_lock);
	return !canonical ? VMM_UNCHECKED : gsan_is_hosts(canonical) ? VMM_HOSTS : VMM_OURS;
}

void vmm_variable(struct participant *p, uint64_t at, uint64_t size, const char *name, const void *owner)
{
	struct range r = {.start = at, .owner = owner};
	struct vmm_section s;
	if (!size || at >> GSAN_DATA_SHIFT == GSAN_DATA_TOP || vmm_enter(p, &s))
		return;
	int rc = range_add(p, &r, size, 0, name);
	vmm_leave(&s);
	if (rc)
		vmm_note(p, "foreign", name, "a module variable: no shadow could be mapped for it");
}

/* The last one that an owner has, or -1. */
static ptrdiff_t owned(const void *owner)
{
	ptrdiff_t i = (ptrdiff_t)ranges.count;
	while (i-- > 0 && range_number((size_t)i)->owner != owner)
		;
	return i;
}

void vmm_variables_drop(struct participant *p, const void *owner)
{
	struct vmm_section s;
	ptrdiff_t i;
	if (!ranges.count || vmm_enter(p, &s))
		return;
	int has = owned(owner) >= 0;
	vmm_leave(&s);
	int waited = has && freed_wait();
	if (!has || vmm_enter(p, &s))
		return;
	while ((i = owned(owner)) >= 0)
		range_drop(p, (size_t)i, waited);
	vmm_leave(&s);
}

/* What was there before, and went unseen: another thread freed it, and has not come to say so. The first of it, or count. */
static size_t hosts_stale(uint64_t at, uint64_t size)
{
	for (size_t i = spans_behind(&ranges, at); i < ranges.count && range_number(i)->at.base < at + size; i++)
		if (gsan_is_hosts(range_number(i)->canonical) && range_number(i)->start >= at && range_number(i)->start < at + size)
			return i;
	return ranges.count;
}

/* In a section, which it leaves for as long as it waits. */
static void hosts_evict(struct participant *p, uint64_t at, uint64_t size)
{
	size_t i = hosts_stale(at, size);
	if (i == ranges.count)
		return;
	pthread_mutex_unlock(&vmm_lock);
	int waited = freed_wait();
	pthread_mutex_lock(&vmm_lock);
	while ((i = hosts_stale(at, size)) < ranges.count)
		range_drop(p, i, waited);
}

/* The current GPU's kernels write to it, as a rule. */
static void hosts_managed(void)
{
	struct participant *p = participant_current();
	const uint32_t one = 1;
	struct vmm_section s;
	if (!p || p->tells || vmm_enter(p, &s))
		return;
	p->tells = !vmm_upload(p, vmm_tables_base((uint32_t)p->index) + gsan_tells_at(), &one, sizeof one);
	vmm_leave(&s);
}

int vmm_hosts(uint64_t at, uint64_t size, const char *name, const void *owner, int managed)
{
	struct participant *p = participant_started();
	struct range r = {.start = at, .owner = owner};
	struct vmm_section s;
	real.cuCtxGetCurrent(&r.of);
	if (managed)
		hosts_managed();
	if (!p || !size || at + size < at || at - GSAN_ARENA_BASE < GSAN_ARENA_SIZE || vmm_enter(p, &s))
		return -ENODEV;
	hosts_evict(p, at, size);
	int rc = range_add(p, &r, size, 1, name);
	vmm_leave(&s);
	return rc;
}

uint64_t vmm_hosts_number(uint64_t start)
{
	uint64_t number = 0;
	if (start < low || start >= high || !participant_started()) /* nobody in a child: others may have the lock */
		return 0;
	pthread_mutex_lock(&vmm_lock);
	for (size_t i = spans_behind(&ranges, start); i < ranges.count && !number; i++) {
		const struct range *r = range_number(i);
		if (r->at.base > vmm_round(start + 1, UNIT))
			break;
		number = r->start == start && !r->owner ? r->number : 0;
	}
	pthread_mutex_unlock(&vmm_lock);
	return number;
}

void vmm_hosts_drop(uint64_t start, uint64_t number)
{
	struct participant *p = participant_started();
	struct vmm_section s;
	int waited = number && p && freed_wait();
	if (!number || !p || vmm_enter(p, &s))
		return;
	for (size_t i = spans_behind(&ranges, start); i < ranges.count && range_number(i)->at.base <= vmm_round(start + 1, UNIT); i++)
		if (range_number(i)->number == number) {
			range_drop(p, i, waited);
			break;
		}
	vmm_leave(&s);
}

/* What lay in it is freed. The device is told when calls of ours work again, at the latest by the next range. */
void ranges_context_ended(CUcontext context)
{
	for (size_t i = ranges.count; context && i-- > 0;)
		if (range_number(i)->of == context) {
			spans_remove(&ranges, i); /* the canonical addresses stay taken */
			for (unsigned t = 0; t < 2; t++)
				same[t] = same[t] < i ? same[t] : i;
			behind = 1;
		}
}
