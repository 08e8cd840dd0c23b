#include "vmm/block.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "ipc/ipc.h"
#include "vmm/pool.h"

#define LARGE (1u << 20)         /* from here on a block has pages of its own */
#define CHUNK (32ull << 20)
#define SMALL_ALIGN 512u
#define LINGER (1ull << 30)      /* so many bytes stay mapped at most that streams gave back */
#define LIMBO_MS 10000 /* who frees may wait for what the program does next: then memory is short after all; */
#define CHECKS_MS 1000 /* and its kernels may leave checks no room */

static struct spans blocks = SPANS(struct block);
static struct { uint64_t first, last; int asked; } limbo; /* by base, in the order of their frees; a thread asks about them */
struct chunk { struct span at; CUmemGenericAllocationHandle handle; };
static struct spans chunks = SPANS(struct chunk);
static struct spans kept = SPANS(struct block); /* freed, while checks are of them, other processes have them open, or they linger */
static size_t checked;      /* of these, when that was looked at last, so many have checks */
static uint64_t lingering;  /* bytes that do */
static _Atomic uint64_t given, waited; /* of large ones: the newest free in stream order; and up to that the host has waited for everything */
static uint64_t given_back; /* how often pages, or addresses, became free */

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

/* Without the lock: it may wait for kernels, which may wait for a thread that wants it. */
static int block_unback(uint64_t base, uint64_t size, CUmemGenericAllocationHandle handle)
{
	pthread_mutex_unlock(&vmm_lock);
	int rc = vmm_unback(base, size, handle);
	pthread_mutex_lock(&vmm_lock);
	return rc;
}

/* Pages with their shadow, from the slice. */
static int block_pages(struct participant *p, uint64_t size, uint64_t *base, CUmemGenericAllocationHandle *handle)
{
	if (arena_take(&p->slice, size, GSAN_PAGE, base))
		return -ENOMEM;
	if (!vmm_back(p, *base, size, handle)) {
		if (!shadow_cover(p, *base, size))
			return 0;
		block_unback(*base, size, *handle);
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
	block_unback(chunk.at.base, CHUNK, chunk.handle);
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

static struct block *limbo_block(uint64_t base) { return spans_find(&blocks, base); }

void block_defer(struct block *b, CUevent event, CUcontext of, uint64_t stream)
{
	block_give_back(b);
	freed_since(&b->freed);
	b->given = event ? b->freed.number : 0;
	if (b->large && event)
		atomic_store_explicit(&given, b->given, memory_order_release); /* with vmm_lingers() */
	b->limbo = 1;
	b->event = event;
	b->context = of;
	b->stream = stream;
	*(limbo.last ? &limbo_block(limbo.last)->next : &limbo.first) = b->taken.base;
	limbo.last = b->taken.base;
}

/* Behind the one at `before`, or the first. */
static void limbo_remove(const struct block *b, uint64_t before)
{
	*(before ? &limbo_block(before)->next : &limbo.first) = b->next;
	if (limbo.last == b->taken.base)
		limbo.last = before;
}

void block_context_ended(CUcontext context)
{
	for (size_t i = 0; context && i < blocks.count; i++) {
		struct block *b = spans_at(&blocks, i);
		if (b->context == context && b->limbo)
			b->event = NULL;
		else if (b->context == context)
			block_defer(b, NULL, NULL, 0);
	}
}

/* Neither old pages nor old records may meet a new owner: if they cannot be cleared, the addresses are given up. */
static void block_vacate(const struct block *b)
{
	struct participant *p = participant_of(b->taken.base);
	if (!shadow_clear(p, b->taken.base, b->taken.size))
		given_back += !arena_give(b->large ? &p->slice : &p->small, b->taken.base, b->taken.size);
}

/* A block that is freed: may another process have it open? */
static int block_is_open(const struct block *b)
{
	const struct participant *p = participant_of(b->taken.base);
	struct ipc_msg msg = {.type = IPC_RECLAIM, .participant = p->index, .alloc = b->lent};
	return b->lent && ipc_call(p->socket, &msg, -1, NULL);
}

/* The i-th of those kept ends, if it may. again: others were asked about a moment ago. */
static void kept_end(size_t i, const struct freed_look *l, int again)
{
	struct block *b = spans_at(&kept, i), gone;
	int over = freed_over(&b->freed, l);
	checked += !over;
	if (b->lingers || !over || (b->lent && again) || block_is_open(b))
		return;
	gone = *b;
	spans_remove(&kept, i);
	block_vacate(&gone);
}

/* ---- memory that a stream gave back stays mapped, as a pool's does, while something may still use it, rightly or not: who does is told of, and ends in
 * no illegal address ---- */

uint64_t vmm_lingers(void)
{
	uint64_t newest = atomic_load_explicit(&given, memory_order_acquire);
	return newest > atomic_load_explicit(&waited, memory_order_relaxed) ? newest : 0;
}

void vmm_waited(uint64_t newest)
{
	uint64_t known = atomic_load_explicit(&waited, memory_order_relaxed);
	while (known < newest && !atomic_compare_exchange_weak_explicit(&waited, &known, newest, memory_order_relaxed, memory_order_relaxed))
		;
}

static int linger_waited(const struct block *b) { return b->given <= atomic_load_explicit(&waited, memory_order_relaxed); }

/* all: memory is short. Else one that the host has waited for, or the oldest of too much. kept.count: none. */
static size_t linger_due(int all)
{
	size_t oldest = kept.count;
	for (size_t i = 0; i < kept.count; i++) {
		const struct block *b = spans_at(&kept, i);
		if (!b->lingers)
			continue;
		if (all || linger_waited(b))
			return i;
		if (oldest == kept.count || b->given < ((const struct block *)spans_at(&kept, oldest))->given)
			oldest = i;
	}
	return lingering > LINGER ? oldest : kept.count;
}

/* Its pages are given back, its addresses when nothing is of them any more. */
static void block_end(struct block *gone)
{
	int rc = gone->large ? block_unback(gone->taken.base, gone->taken.size, gone->handle) : 0;
	given_back += gone->large;
	if (!rc)
		spans_insert(&kept, gone);
}

static struct block linger_remove(size_t i)
{
	struct block b = *(const struct block *)spans_at(&kept, i);
	spans_remove(&kept, i);
	lingering -= b.taken.size;
	b.lingers = 0;
	return b;
}

static void linger_end(int all)
{
	for (size_t i; lingering && (i = linger_due(all)) < kept.count;) {
		struct block gone = linger_remove(i);
		block_end(&gone);
	}
}

int block_short(void)
{
	const uint64_t before = given_back;
	linger_end(1);
	return given_back != before;
}

/* What was freed in the order of its stream, or is known to be over, and no check is of: the oldest of just that size. 0: it is b's again. */
static int linger_take(struct participant *p, struct block *b, const struct freed_look *l)
{
	size_t found = kept.count;
	for (size_t i = 0; i < kept.count; i++) {
		struct block *k = spans_at(&kept, i);
		int fits = k->lingers && !k->lent && k->taken.size == b->taken.size && participant_of(k->taken.base) == p;
		if (!fits || !((b->pool && k->stream == b->stream) || linger_waited(k)) || !freed_over(&k->freed, l))
			continue;
		if (found == kept.count || k->given < ((const struct block *)spans_at(&kept, found))->given)
			found = i;
	}
	if (found == kept.count)
		return -ENOENT;
	const struct span at = *(const struct span *)spans_at(&kept, found);
	if (shadow_clear(p, at.base, at.size))
		return -EIO;
	b->taken = at;
	b->handle = linger_remove(found).handle;
	return 0;
}

/* again: somebody waits for checks. b: wants memory; 0: it has it. */
static int block_reclaim_kept(struct participant *p, struct block *b, int again)
{
	struct freed_look l;
	if (!kept.count)
		return -ENOENT;
	freed_look(&l, again);
	int rc = b && b->large ? linger_take(p, b, &l) : -ENOENT;
	linger_end(0);
	checked = 0;
	for (size_t i = kept.count; i-- > 0;)
		kept_end(i, &l, again);
	return rc;
}

static void block_go(struct block *b)
{
	block_give_back(b);
	struct block gone = *b;
	spans_remove(&blocks, spans_behind(&blocks, gone.taken.base));
	gone.lingers = gone.large && gone.limbo && !linger_waited(&gone);
	gone.limbo = 0;
	freed_since(&gone.freed);
	if (gone.lingers && !spans_insert(&kept, &gone)) {
		lingering += gone.taken.size;
		return;
	}
	gone.lingers = 0;
	block_end(&gone);
}

void block_free(struct block *b)
{
	const uint64_t base = b->taken.base;
	struct freed_look l;
	block_go(b);
	freed_look(&l, 0);
	size_t i = spans_behind(&kept, base);
	if (i < kept.count && ((const struct block *)spans_at(&kept, i))->taken.base == base)
		kept_end(i, &l, 0);
}

/* Where the oldest free of a stream is not over, nor are those behind it. */
struct busy { unsigned count; struct { uint64_t stream; CUcontext context; } of[16]; };

static int busy_has(const struct busy *s, const struct block *b)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->of[i].stream == b->stream && s->of[i].context == b->context)
			return 1;
	return 0;
}

static void busy_add(struct busy *s, const struct block *b)
{
	if (s->count == sizeof s->of / sizeof *s->of)
		return;
	s->of[s->count].stream = b->stream;
	s->of[s->count++].context = b->context;
}

/* 1: nobody uses it any more. The lock is let go while the device is asked, which may take long. */
static int limbo_over(uint64_t base, struct busy *busy)
{
	struct block *b = limbo_block(base);
	CUevent event = b->event;
	if (!event || busy_has(busy, b))
		return !event;
	pthread_mutex_unlock(&vmm_lock);
	CUresult rc = real.cuEventQuery(event);
	pthread_mutex_lock(&vmm_lock);
	b = limbo_block(base);
	if (!b->event) /* it went with its context meanwhile */
		return 1;
	if (rc == CUDA_SUCCESS)
		real.cuEventDestroy_v2(event);
	else
		busy_add(busy, b);
	return rc == CUDA_SUCCESS;
}

/* Frees what is in limbo and done. Others come meanwhile, but none goes: one thread does this. */
static void block_reclaim(void)
{
	struct busy busy = {0};
	uint64_t before = 0, next;
	if (limbo.asked)
		return;
	limbo.asked = 1;
	for (uint64_t at = limbo.first; at; at = next) {
		int over = limbo_over(at, &busy);
		struct block *b = limbo_block(at);
		next = b->next;
		if (!over) {
			before = at;
			continue;
		}
		limbo_remove(b, before);
		block_go(b);
	}
	limbo.asked = 0;
}

/* Waits until something of it is free, as the driver does for its pools. 1: it is. */
static int block_await(void)
{
	const uint64_t before = given_back;
	linger_end(1);
	for (int ms = 0; given_back == before && ms < (limbo.first ? LIMBO_MS : checked ? CHECKS_MS : 0); ms++) {
		pthread_mutex_unlock(&vmm_lock);
		usleep(1000);
		pthread_mutex_lock(&vmm_lock);
		block_reclaim();
		linger_end(1);
		block_reclaim_kept(NULL, NULL, 1);
	}
	return given_back != before;
}

int block_alloc(struct participant *p, const struct block_want *want, const char *label, uint64_t *base)
{
	const uint64_t size = want->size;
	struct block b = {.taken.size = size, .size = size, .large = size >= LARGE, .pool = want->pool, .context = want->context, .stream = want->stream};
	if (size > GSAN_SLICE) /* nor would the rounded size fit into 64 bits */
		return -ENOMEM;
	if (b.large)
		b.taken.size = vmm_round(size, GSAN_PAGE);
	block_reclaim();
	int rc = block_reclaim_kept(p, &b, 0);
	while (rc) {
		rc = b.large ? block_pages(p, b.taken.size, &b.taken.base, &b.handle) : block_small(p, &b.taken);
		if (rc && !block_await())
			return rc;
	}
	if (spans_insert(&blocks, &b)) {
		if (b.large)
			block_unback(b.taken.base, b.taken.size, b.handle);
		arena_give(b.large ? &p->slice : &p->small, b.taken.base, b.taken.size);
		return -ENOMEM;
	}
	pool_count(b.pool, size, 1);
	vmm_announce(p, b.taken.base, size, label);
	*base = b.taken.base;
	return 0;
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
	for (size_t i = 0; i < blocks.count + kept.count; i++) {
		const struct block *b = i < blocks.count ? spans_at(&blocks, i) : spans_at(&kept, i - blocks.count);
		if (i < blocks.count ? b->large : b->lingers)
			vmm_access(device, b->taken.base, b->taken.size);
	}
}
