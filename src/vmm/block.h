/* Memory of cuMemAlloc and its forms: large blocks have a handle and pages of their own, small ones share chunks. */
#ifndef GSAN_VMM_BLOCK_H
#define GSAN_VMM_BLOCK_H

#include "vmm/inside.h"
#include "vmm/span.h"

struct block {
	struct span taken;
	uint64_t size; /* as asked */
	CUmemGenericAllocationHandle handle; /* large only */
	uint8_t large, limbo, lingers; /* limbo: freed in stream order, waiting for `event`; then it may linger: freed, with its pages */
	CUevent event; /* NULL: over */
	uint64_t stream, next; /* in limbo: whose order it is, and the one that was freed next, or 0 */
	uint64_t given; /* number of its free in stream order, or 0 */
	struct freed freed;
	CUcontext context; /* with which it goes, or its event; NULL: with none */
	CUmemoryPool pool; /* of whose memory it takes the place, or NULL */
	uint32_t lent; /* its number with the supervisor, or 0 */
};

/* All with vmm_lock held; those marked * let it go meanwhile, so that pointers to blocks are no longer good. */
/* context: with which it goes; stream: in whose order it is allocated, of a pool. */
struct block_want { uint64_t size, stream; CUmemoryPool pool; CUcontext context; };
int block_alloc(struct participant *p, const struct block_want *want, const char *label, uint64_t *base); /* *; 0 or -ENOMEM */
int block_short(void); /* *; memory is: 1: some was given back that lingered */
struct block *block_find(uint64_t at);       /* the block that holds an address, or NULL */
struct block *block_at(uint64_t base);       /* the block that starts there and was not freed, or NULL */
/* Freed, but in use until then; the event, of that context and in the order of that stream, is the block's now. */
void block_defer(struct block *b, CUevent event, CUcontext of, uint64_t stream);
void block_context_ended(CUcontext context); /* frees what goes with it, at the next allocation */
void block_free(struct block *b); /* *; nothing uses it any more */
/* Lets other processes open the memory that it lies in, at that offset, as b->lent. 0 or -errno. */
int block_lend(struct participant *p, struct block *b, uint64_t *offset);
void block_leave_pool(CUmemoryPool pool);    /* which is destroyed */
void block_share(CUdevice device);           /* for vmm_share() */

#endif
