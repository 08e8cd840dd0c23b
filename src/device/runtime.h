/* device: the runtime that checked clones call. It is C11, compiled twice: by clang to PTX, which the rewriter appends
 * to a module, and natively for tests. This header is the host's view of it. */
#ifndef GSAN_DEVICE_RUNTIME_H
#define GSAN_DEVICE_RUNTIME_H

#include <stdint.h>

extern const char device_runtime_ptx[]; /* NUL-terminated; target gsan_device_ptx */
extern const unsigned long device_runtime_ptx_size; /* without the NUL */

/* Bytes of a participant's block of the node-wide tables, a multiple of GSAN_PAGE; they start as zeros. */
uint64_t gsan_tables_bytes(void);

/* The counters live in the first gsan_counters_bytes() of the block. Adds those of a copy of them to sum[GSAN_N_COUNTERS]. */
uint64_t gsan_counters_bytes(void);
void gsan_counters_add(const void *copy, uint64_t *sum);

/* Does a copy of them say that locations with synchronisation entries are many? And where in the block the entries lie, and what
 * counts them; zeros there are none. */
int gsan_entries_many(const void *copy);
struct gsan_entries { uint64_t counts, counts_bytes, entries, entries_bytes; };
void gsan_entries(struct gsan_entries *at);

#endif
