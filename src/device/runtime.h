/* device: the runtime that checked clones call. It is C11, compiled twice: by clang to PTX, which the rewriter appends
 * to a module, and natively for tests. This header is the host's view of it. */
#ifndef GSAN_DEVICE_RUNTIME_H
#define GSAN_DEVICE_RUNTIME_H

#include <stdint.h>

extern const char device_runtime_ptx[]; /* NUL-terminated; target gsan_device_ptx */
extern const unsigned long device_runtime_ptx_size; /* without the NUL */

/* A module with the kernel GSAN_RANGE_KERNEL(struct gsan_boxes, struct gsan_launch), of at most 256 threads and one dimension (range.h), and
 * GSAN_NODES_KERNEL(struct gsan_replay, nodes, records, count), of 64 threads (nodes.h). */
extern const char device_range_ptx[];
extern const unsigned long device_range_ptx_size;
#define DEVICE_RANGE_THREADS 256u
#define DEVICE_NODES_THREADS 64u

/* Bytes of a participant's block of the node-wide tables, a multiple of GSAN_PAGE; they start as zeros. */
uint64_t gsan_tables_bytes(void);

/* The counters live in the first gsan_counters_bytes() of the block. Adds those of a copy of them to sum[GSAN_N_COUNTERS]. */
uint64_t gsan_counters_bytes(void);
void gsan_counters_add(const void *copy, uint64_t *sum);

/* What of the block's history a copy of them shows to be much used, and so is to be emptied when all of it is over: where it lies in
 * the block, and what counts it. Zeros there are none; of 0 bytes: it need not be. */
struct gsan_used { uint64_t at, bytes, count, count_bytes; };
struct gsan_history {
	struct gsan_used entries; /* of locations that were strongly written */
	struct gsan_used detail;  /* named by line records, which have to be emptied before it */
	int detail_short;         /* it is about to be full, or was */
};
struct gsan_history gsan_history_used(const void *copy);

/* With `bytes` of memory mapped behind the block there are so many blocks of detail more, which counts a u32 at that offset of the block. */
uint32_t gsan_detail_blocks(uint64_t bytes);
/* Of what is kept aside of records that gave way (aside.h), all that may be of these bytes: where in the tables, and how many bytes of them. */
struct gsan_part { uint64_t at, bytes; };
struct gsan_part gsan_aside(uint64_t base, uint64_t size);
uint64_t gsan_detail_more_at(void);

/* A u32 at that offset of the block is 1 if kernels write where hosts may read, as far as the host knows. */
uint64_t gsan_tells_at(void);

#endif
