/* CUDA IPC: memory of blocks that the program gives to other processes, and what it has opened of theirs. Its handles are ours:
 * each names the job, the owner, and a number by which the supervisor knows the memory. What is opened is mapped as a view, so
 * that its records are the owner's; small blocks lie in a chunk, which is mapped whole, once. */
#ifndef GSAN_VMM_LENT_H
#define GSAN_VMM_LENT_H

#include "vmm/inside.h"
#include "vmm/span.h"

/* What the program has opened there; 0: nothing. Takes vmm_lock. */
int lent_holding(uint64_t at, struct span *opened);
void lent_share(CUdevice device); /* for vmm_share(), with vmm_lock held */

#endif
