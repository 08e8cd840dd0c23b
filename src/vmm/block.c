#include "vmm/block.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "ipc/ipc.h"
#include "vmm/pool.h"

#define LARGE (1u << 20)         /* from here on a block has pages of its own */
#define CHUNK (32ull << 20)
#define SMALL_ALIGN 512u
#define LIMBO_MS 10000 /* who frees may wait for what the program does next: then memory is short after all */

static struct spans blocks = SPANS(struct block);
static size_t in_limbo;
struct chunk { struct span at; CUmemGenericAllocationHandle handle; };
static struct spans chunks = SPANS(struct chunk);
static struct spans kept = SPANS(struct block); /* freed, while other processes have them open */

struct block *block_find(uint64_t at)
{
	struct block *b = spans_find(&blocks, at);
	return b && at < b->taken.base + b->size ? b : NULL;
}

struct block *block_at(uint64_t base)
{
	struct block *b = block_find(base);
	return b && b->taken.base == base && !b->limbo ? b : NULL;
}

/* Pages with their shadow, from the slice. */
static int block_pages(struct participant *p, uint64_t size, uint64_t *base, CUmemGenericAllocationHandle *handle)
{
	if (arena_take(&p->slice, size, GSAN_PAGE, base))
		return -ENOMEM;
	if (!vmm_back(p, *base, size, handle)) {
		if (!shadow_cover(p, *base, size))
			return 0;
		vmm_unback(*base, size, *handle);
	}
	arena_give(&p->slice, *base, size);
	return -ENOMEM;
}

static int block_chunk(struct participant *p)
{
	struct chunk chunk = {.at.size = CHUNK};
	if (block_pages(p, CHUNK, &chunk.at.base, &chunk.handle))
		return -ENOMEM;
	if (!spans_insert(&chunks, &chunk)) /* it stays */
		return arena_give(&p->small, chunk.at.base, CHUNK);
	vmm_unback(chunk.at.base, CHUNK, chunk.handle);
	arena_give(&p->slice, chunk.at.base, CHUNK);
	return -ENOMEM;
}

static int block_small(struct participant *p, struct span *taken)
{
	taken->size = vmm_round(taken->size, SMALL_ALIGN);
	if (!arena_take(&p->small, taken->size, SMALL_ALIGN, &taken->base))
		return 0;
	return block_chunk(p) ? -ENOMEM : arena_take(&p->small, taken->size, SMALL_ALIGN, &taken->base);
}

static void block_give_back(struct block *b)
{
	pool_count(b->pool, b->size, 0);
	b->pool = NULL;
}

void block_leave_pool(CUmemoryPool pool)
{
	for (size_t i = 0; i < blocks.count; i++) {
		struct block *b = spans_at(&blocks, i);
		if (b->pool == pool)
			b->pool = NULL;
	}
}

void block_defer(struct block *b, CUevent event, CUcontext of)
{
	block_give_back(b);
	b->limbo = 1;
	b->event = event;
	b->context = of;
	in_limbo++;
}

void block_context_ended(CUcontext context)
{
	for (size_t i = 0; context && i < blocks.count; i++) {
		struct block *b = spans_at(&blocks, i);
		if (b->context == context && b->limbo)
			b->event = NULL;
		else if (b->context == context)
			block_defer(b, NULL, NULL);
	}
}

/* Neither old pages nor old records may meet a new owner: if they cannot be cleared, the addresses are given up. */
static void block_vacate(const struct block *b)
{
	struct participant *p = participant_of(b->taken.base);
	if (!shadow_clear(p, b->taken.base, b->taken.size))
		arena_give(b->large ? &p->slice : &p->small, b->taken.base, b->taken.size);
}

/* A block that is freed: may another process have it open? */
static int block_is_open(const struct block *b)
{
	const struct participant *p = participant_of(b->taken.base);
	struct ipc_msg msg = {.type = IPC_RECLAIM, .participant = p->index, .alloc = b->lent};
	return b->lent && ipc_call(p->socket, &msg, -1, NULL);
}

static void block_reclaim_kept(void)
{
	for (size_t i = kept.count; i-- > 0;) {
		struct block b = *(struct block *)spans_at(&kept, i);
		if (block_is_open(&b))
			continue;
		spans_remove(&kept, i);
		block_vacate(&b);
	}
}

/* Frees what is in limbo and done. Other threads' blocks come and go meanwhile: one may be missed until next time. */
static void block_reclaim(void)
{
	for (size_t i = in_limbo ? blocks.count : 0; i-- > 0;) {
		struct block *b = i < blocks.count ? spans_at(&blocks, i) : NULL;
		if (!b || !b->limbo || (b->event && real.cuEventQuery(b->event) != CUDA_SUCCESS))
			continue;
		if (b->event)
			real.cuEventDestroy_v2(b->event);
		in_limbo--;
		block_free(b);
	}
}

/* Waits until something of it is free, as the driver does for its pools. 1: it is. */
static int block_await(void)
{
	size_t before = in_limbo;
	for (int ms = 0; before && in_limbo >= before && ms < LIMBO_MS; ms++) {
		pthread_mutex_unlock(&vmm_lock);
		usleep(1000);
		pthread_mutex_lock(&vmm_lock);
		block_reclaim();
	}
	return in_limbo < before;
}

int block_alloc(struct participant *p, uint64_t size, CUmemoryPool pool, CUcontext of, const char *label, uint64_t *base)
{
	struct block b = {.taken.size = size, .size = size, .large = size >= LARGE, .pool = pool, .context = of};
	if (size > GSAN_SLICE) /* nor would the rounded size fit into 64 bits */
		return -ENOMEM;
	block_reclaim();
	block_reclaim_kept();
	if (b.large)
		b.taken.size = vmm_round(size, GSAN_PAGE);
	int rc;
	do
		rc = b.large ? block_pages(p, b.taken.size, &b.taken.base, &b.handle) : block_small(p, &b.taken);
	while (rc && block_await());
	if (rc)
		return rc;
	if (spans_insert(&blocks, &b)) {
		if (b.large)
			vmm_unback(b.taken.base, b.taken.size, b.handle);
		arena_give(b.large ? &p->slice : &p->small, b.taken.base, b.taken.size);
		return -ENOMEM;
	}
	pool_count(pool, size, 1);
	vmm_announce(p, b.taken.base, size, label);
	*base = b.taken.base;
	return 0;
}

void block_free(struct block *b)
{
	block_give_back(b);
	struct block gone = *b;
	int rc = 0;
	spans_remove(&blocks, spans_behind(&blocks, gone.taken.base));
	if (gone.large) { /* to unmap may wait for kernels, which may wait for a thread that wants the lock */
		pthread_mutex_unlock(&vmm_lock);
		rc = vmm_unback(gone.taken.base, gone.taken.size, gone.handle);
		pthread_mutex_lock(&vmm_lock);
	}
	int open = block_is_open(&gone);
	if (!rc && !open)
		block_vacate(&gone);
	else if (!rc)
		spans_insert(&kept, &gone);
}

int block_lend(struct participant *p, struct block *b, uint64_t *offset)
{
	struct chunk piece = {b->taken, b->handle};
	int fd;
	if (!b->large)
		piece = *(struct chunk *)spans_find(&chunks, b->taken.base);
	*offset = b->taken.base - piece.at.base;
	if (b->lent)
		return 0;
	struct ipc_msg msg = {.type = IPC_LEND, .participant = p->index, .base = piece.at.base, .size = piece.at.size};
	if (shadow_publish(p, piece.at.base, piece.at.size) || vmm_export(piece.handle, &fd))
		return -EIO;
	p->exported = 1;
	int rc = ipc_call(p->socket, &msg, fd, NULL);
	close(fd);
	if (!rc)
		b->lent = msg.alloc;
	return rc;
}

void block_share(CUdevice device)
{
	for (size_t i = 0; i < chunks.count; i++) {
		const struct chunk *chunk = spans_at(&chunks, i);
		vmm_access(device, chunk->at.base, chunk->at.size);
	}
	for (size_t i = 0; i < blocks.count; i++) {
		const struct block *b = spans_at(&blocks, i);
		if (b->large)
			vmm_access(device, b->taken.base, b->taken.size);
	}
}
