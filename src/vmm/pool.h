/* Memory pools of whose memory blocks take the place: a device's default pool, and what the program makes like it. A pool that
 * other processes can open, or that has its memory elsewhere, keeps its own. */
#ifndef GSAN_VMM_POOL_H
#define GSAN_VMM_POOL_H

#include "vmm/inside.h"

/* With vmm_lock held. */
int pool_is_plain(const struct participant *p, CUmemoryPool pool);
void pool_count(CUmemoryPool pool, uint64_t bytes, int given); /* to the program, or back */

#endif
