#include "emu/driver/range.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ull
#define ALLOC_BASE 0x500000000000ull   /* plain allocations */
#define ALLOC_END 0x580000000000ull
#define RESERVE_BASE 0x600000000000ull /* reservations without a hint */
#define RESERVE_END 0x680000000000ull

struct emu_ranges emu_known, emu_reserved;

static uint64_t next_alloc = ALLOC_BASE, next_reserve = RESERVE_BASE;

/* Index of the first range whose base lies above the address. */
static size_t above(const struct emu_ranges *in, uint64_t address)
{
	size_t low = 0, high = in->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (in->range[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct emu_range *emu_range_find(const struct emu_ranges *in, uint64_t address)
{
	size_t i = above(in, address);
	if (!i || address - in->range[i - 1].base >= in->range[i - 1].size)
		return NULL;
	return &in->range[i - 1];
}

struct emu_range *emu_range_add(struct emu_ranges *to, const struct emu_range *range)
{
	if (to->count == to->room) {
		size_t room = to->room ? to->room * 2 : 64;
		struct emu_range *grown = realloc(to->range, room * sizeof *grown);
		if (!grown)
			return NULL;
		to->range = grown;
		to->room = room;
	}
	size_t i = above(to, range->base);
	memmove(to->range + i + 1, to->range + i, (to->count - i) * sizeof *range);
	to->range[i] = *range;
	to->range[i].id = ++emu.ids;
	to->count++;
	return &to->range[i];
}

void emu_range_remove(struct emu_ranges *from, struct emu_range *range)
{
	size_t i = (size_t)(range - from->range);
	memmove(range, range + 1, (--from->count - i) * sizeof *range);
}

static int accessible(const struct emu_range *r)
{
	if (r->kind != EMU_MAPPED)
		return 1;
	for (int d = 0; d < emu.devices; d++)
		if (r->access[d])
			return 1;
	return 0;
}

int emu_range_covers(uint64_t address, uint64_t size)
{
	while (size) {
		const struct emu_range *r = emu_range_find(&emu_known, address);
		if (!r || !accessible(r))
			return 0;
		uint64_t part = r->base + r->size - address;
		if (part >= size)
			return 1;
		address += part;
		size -= part;
	}
	return 1;
}

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/* Addresses are not reused: a stale pointer stays a fault. The window is tried from *next on; if something else sits
 * there, the kernel chooses. */
static void *map_next(uint64_t *next, uint64_t end, uint64_t size, uint64_t align, int protection)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	for (int tries = 0; tries < 64; tries++) {
		uint64_t at = round_up(*next, align);
		if (at + size > end)
			break;
		*next = at + round_up(size, PAGE) + PAGE;
		void *p = mmap((void *)(uintptr_t)at, size, protection, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (p != MAP_FAILED)
			return p;
	}
	return align <= PAGE ? mmap(NULL, size, protection, flags, -1, 0) : MAP_FAILED;
}

CUresult emu_range_alloc(CUcontext context, enum emu_range_kind kind, uint64_t size, struct emu_range **range)
{
	uint64_t pages = round_up(size, PAGE), *used = &emu.device[context->device].used;
	int on_device = kind == EMU_DEVICE || kind == EMU_VARIABLE;
	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > EMU_DEVICE_BYTES || (on_device && *used + pages > EMU_DEVICE_BYTES))
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *p = map_next(&next_alloc, ALLOC_END, pages, PAGE, PROT_READ | PROT_WRITE);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct emu_range r = {.base = (uintptr_t)p, .size = size, .kind = kind, .device = context->device, .context = context};
	struct emu_range *added = emu_range_add(&emu_known, &r);
	if (!added) {
		munmap(p, pages);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (on_device)
		*used += pages;
	*range = added;
	return CUDA_SUCCESS;
}

void emu_range_free(struct emu_range *range)
{
	uint64_t pages = round_up(range->size, PAGE);
	if (range->kind == EMU_DEVICE || range->kind == EMU_VARIABLE)
		emu.device[range->device].used -= pages;
	munmap((void *)(uintptr_t)range->base, pages);
	if (range->shared)
		close(range->fd);
	emu_range_remove(&emu_known, range);
}

void emu_range_end(CUcontext context)
{
	const unsigned owned = 1u << EMU_DEVICE | 1u << EMU_MANAGED | 1u << EMU_HOST;
	for (size_t i = emu_known.count; i-- > 0;) {
		struct emu_range *r = &emu_known.range[i];
		if (r->context != context || r->pool)
			continue;
		if (owned >> r->kind & 1)
			emu_range_free(r);
		else if (r->kind == EMU_REGISTERED)
			emu_range_remove(&emu_known, r);
	}
}

int emu_range_map(struct emu_range *range)
{
	uint64_t pages = round_up(range->size, PAGE);
	void *p = map_next(&next_alloc, ALLOC_END, pages, PAGE, PROT_NONE);
	if (p == MAP_FAILED)
		return -1;
	range->base = (uintptr_t)p;
	if (mmap(p, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, range->fd, 0) != MAP_FAILED && emu_range_add(&emu_known, range))
		return 0;
	munmap(p, pages);
	return -1;
}

int emu_range_ipc_capable(const struct emu_range *range) { return range->kind == EMU_DEVICE && !range->pool; }

uint64_t emu_range_reserve(uint64_t hint, uint64_t size, uint64_t align)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	if (hint && hint % align == 0) {
		void *p = mmap((void *)(uintptr_t)hint, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == (void *)(uintptr_t)hint)
			return hint;
		if (p != MAP_FAILED) /* a kernel that does not know the flag */
			munmap(p, size);
	}
	void *p = map_next(&next_reserve, RESERVE_END, size, align, PROT_NONE);
	return p == MAP_FAILED ? 0 : (uintptr_t)p;
}

int emu_range_clear(uint64_t address, uint64_t size)
{
	const struct emu_range *r = emu_range_find(&emu_known, address);
	const uint64_t first = round_up(address, PAGE), last = (address + size) / PAGE * PAGE;
	const int paged = r && (r->kind == EMU_DEVICE || r->kind == EMU_MAPPED || r->kind == EMU_OPENED);
	if (!paged || r->base + r->size - address < size || last <= first)
		return 0;
	if (madvise((void *)(uintptr_t)first, last - first, r->kind == EMU_MAPPED || r->shared ? MADV_REMOVE : MADV_DONTNEED))
		return 0;
	memset((void *)(uintptr_t)address, 0, first - address);
	memset((void *)(uintptr_t)last, 0, address + size - last);
	return 1;
}
