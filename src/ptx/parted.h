/* Parted: where the lanes of a warp may be apart, because a branch depends on the lane: between it and where its ways join. There, a barrier is not
 * for whole warps. nvcc has barrier.sync for cooperative groups' sync() and bar.sync (barrier.sync.aligned) for __syncthreads(); linked to the
 * runtime, a clone may have the second only (launcher/ptxas), and has it where lanes come together. */
#ifndef GSAN_PTX_PARTED_H
#define GSAN_PTX_PARTED_H

#include "ptx/ptx.h"

/* Of each instruction of a function with a barrier that is not .aligned, 1: its lanes may be apart; of others nobody asks. Of one that is called it
 * counts on all calls being in the module. malloc'ed; NULL: out of memory. */
uint8_t *ptx_parted(const struct ptx_module *m, const struct ptx_function *f);
/* Is it a barrier of all threads that has .aligned in a clone? */
int ptx_parted_joins(const struct ptx_module *m, const struct ptx_instr *i, int parted);
/* Has a clone of the module's functions a barrier to which lanes may come one by one? */
int ptx_parted_gathers(const struct ptx_module *m);

#endif
