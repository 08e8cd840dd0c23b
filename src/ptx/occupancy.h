/* CTAs per SM that a plain kernel's registers allow, and the directive that makes ptxas keep them for its clone. Source:
 * CUDA occupancy rules: 65,536 registers per SM in units of 256 per warp, warps in fours (FACTS A, D). */
#ifndef GSAN_PTX_OCCUPANCY_H
#define GSAN_PTX_OCCUPANCY_H

#include "ptx/ptx.h"

uint32_t ptx_occupancy_ctas(uint32_t sm, uint32_t threads, uint32_t regs); /* at least 1 */
/* Writes ".minnctapersm 4" or ".maxnreg 64". Returns 0 if nothing is to be added or raised. */
int ptx_occupancy_limit(uint32_t sm, const struct ptx_function *f, uint32_t regs, char *directive, size_t size);

#endif
