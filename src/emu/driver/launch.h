/* Kernel launches: parameters are copied at the call, the grid is made then and runs in turns. */
#ifndef GSAN_EMU_DRIVER_LAUNCH_H
#define GSAN_EMU_DRIVER_LAUNCH_H

#include "emu/driver/module.h"

/* Blocks of so many threads and bytes of dynamic shared memory that fit one SM. */
unsigned emu_function_blocks_per_sm(const struct CUfunc_st *function, unsigned threads, unsigned dynamic_shared);

/* The parameters as the kernel has them, param_bytes of them, from the two ways of cuLaunchKernel. */
CUresult emu_kernel_pack(const struct CUfunc_st *f, void **params, void **extra, char *to);

#endif
