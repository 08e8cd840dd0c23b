#include "vmm/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define LARGE (1u << 20)         /* from here on a block has pages of its own */
#define CHUNK (32ull << 20)
#define SMALL_ALIGN 512u

static struct block *blocks; /* sorted by base */
static size_t block_count, block_room;
static struct arena small_room; /* free parts of chunks */
static struct arena_range *chunks;
static size_t chunk_count;

static size_t block_index(uint64_t at) /* the first block that ends behind `at` */
{
	size_t lo = 0, hi = block_count;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (blocks[mid].base + blocks[mid].room <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int block_insert(const struct block *b)
{
	if (block_count == block_room) {
		size_t room = block_room ? block_room * 2 : 256;
		struct block *grown = realloc(blocks, room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		blocks = grown;
		block_room = room;
	}
	size_t at = block_index(b->base);
	memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof *blocks);
	blocks[at] = *b;
	block_count++;
	return 0;
}

struct block *block_find(uint64_t at)
{
	size_t i = block_index(at);
	return i < block_count && blocks[i].base <= at && at < blocks[i].base + blocks[i].size ? &blocks[i] : NULL;
}

struct block *block_at(uint64_t base)
{
	struct block *b = block_find(base);
	return b && b->base == base && !b->limbo ? b : NULL;
}

/* Pages with their shadow, from the slice. */
static int block_pages(struct participant *p, uint64_t size, uint64_t *base, CUmemGenericAllocationHandle *handle)
{
	if (arena_take(&vmm_slice, size, GSAN_PAGE, base))
		return -ENOMEM;
	if (!vmm_back(p, *base, size, handle)) {
		if (!shadow_cover(p, *base, size))
			return 0;
		vmm_unback(*base, size, *handle);
	}
	arena_give(&vmm_slice, *base, size);
	return -ENOMEM;
}

static int block_chunk(struct participant *p)
{
	struct arena_range *grown = realloc(chunks, (chunk_count + 1) * sizeof *chunks);
	CUmemGenericAllocationHandle handle;
	uint64_t base;
	if (!grown)
		return -ENOMEM;
	chunks = grown;
	if (block_pages(p, CHUNK, &base, &handle))
		return -ENOMEM;
	chunks[chunk_count++] = (struct arena_range){base, CHUNK};
	return arena_give(&small_room, base, CHUNK);
}

static int block_small(struct participant *p, struct block *b)
{
	b->room = vmm_round(b->size, SMALL_ALIGN);
	if (!arena_take(&small_room, b->room, SMALL_ALIGN, &b->base))
		return 0;
	return block_chunk(p) ? -ENOMEM : arena_take(&small_room, b->room, SMALL_ALIGN, &b->base);
}

int block_alloc(struct participant *p, uint64_t size, const char *label, uint64_t *base)
{
	struct block b = {.size = size, .large = size >= LARGE};
	block_reclaim(p);
	b.room = vmm_round(size, GSAN_PAGE);
	int rc = b.large ? block_pages(p, b.room, &b.base, &b.handle) : block_small(p, &b);
	if (rc)
		return rc;
	if (block_insert(&b)) {
		if (b.large)
			vmm_unback(b.base, b.room, b.handle);
		arena_give(b.large ? &vmm_slice : &small_room, b.base, b.room);
		return -ENOMEM;
	}
	vmm_announce(p, b.base, size, label);
	*base = b.base;
	return 0;
}

void block_free(struct participant *p, struct block *b)
{
	struct block gone = *b;
	size_t at = (size_t)(b - blocks);
	block_count--;
	memmove(blocks + at, blocks + at + 1, (block_count - at) * sizeof *blocks);
	if (gone.large)
		vmm_unback(gone.base, gone.room, gone.handle);
	if (shadow_clear(p, gone.base, gone.room))
		return; /* its old records must not meet a new owner: the addresses are given up */
	arena_give(gone.large ? &vmm_slice : &small_room, gone.base, gone.room);
}

void block_reclaim(struct participant *p)
{
	for (size_t i = block_count; i-- > 0;) {
		if (!blocks[i].limbo || real.cuEventQuery(blocks[i].event) != CUDA_SUCCESS)
			continue;
		real.cuEventDestroy_v2(blocks[i].event);
		block_free(p, &blocks[i]);
	}
}

void block_share(struct participant *p)
{
	CUmemAccessDesc access[32];
	size_t n = 0;
	for (int device = 0; device < 32; device++)
		if (p->peers >> device & 1)
			access[n++] = (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
							.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	for (size_t i = 0; i < chunk_count; i++)
		real.cuMemSetAccess(chunks[i].base, chunks[i].size, access, n);
	for (size_t i = 0; i < block_count; i++)
		if (blocks[i].large)
			real.cuMemSetAccess(blocks[i].base, blocks[i].room, access, n);
}
