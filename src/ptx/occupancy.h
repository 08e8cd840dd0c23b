/* CTAs per SM that a plain kernel's registers allow, and the directive that makes ptxas keep them for its clone. Source:
 * CUDA occupancy rules, and the driver's answers on an H200 (tests/unit/ptx/rewrite.c): 65,536 registers per SM in units of 256 per
 * warp, and as many warps in each quarter of an SM. */
#ifndef GSAN_PTX_OCCUPANCY_H
#define GSAN_PTX_OCCUPANCY_H

#include "ptx/ptx.h"

/* 0: an SM cannot hold one. */
uint32_t ptx_occupancy_ctas(uint32_t sm, uint32_t threads, uint32_t regs);
/* The most registers with which CTAs of every size up to `threads` are as many as with `regs`. */
uint32_t ptx_occupancy_regs(uint32_t sm, uint32_t threads, uint32_t regs);

/* `.minnctapersm 4`, where the size of a CTA is given; else `.maxnreg 64`, for a launch may have fewer threads than
 * .maxntid. `was`: what the kernel has of it, or 0. */
struct ptx_limit { const char *word; uint32_t value, was; };
/* 0: nothing is to be added or changed. */
int ptx_occupancy_limit(uint32_t sm, const struct ptx_function *f, uint32_t regs, struct ptx_limit *limit);

#endif
