/* cuda.h with its final ABI names: the renaming macros are off, every version and per-thread form is declared, so the
 * compiler compares each definition with the header. What it declares is exported (the version script, made from
 * api.def, says what else is not). */
#ifndef GSAN_EMU_DRIVER_CUDA_ABI_H
#define GSAN_EMU_DRIVER_CUDA_ABI_H

#pragma GCC visibility push(default)
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#pragma GCC visibility pop

#endif
