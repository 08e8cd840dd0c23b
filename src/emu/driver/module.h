/* Modules, libraries and functions. A library is a module, a CUkernel is a function: one struct serves each pair of
 * handles, since every device of the process runs the same code; but the handles differ, as a real driver's do. */
#ifndef GSAN_EMU_DRIVER_MODULE_H
#define GSAN_EMU_DRIVER_MODULE_H

#include "emu/driver/process.h"
#include "emu/exec/exec.h"

struct CUfunc_st {
	CUmodule module;
	struct emu_kernel *kernel;
	struct emu_kernel_info info;
	unsigned dynamic_shared_max; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
	int carveout, cluster_nonportable;
	unsigned refused; /* launches, for what the device lacks */
};
struct CUmod_st {
	struct CUmod_st *next;
	CUcontext context;
	struct emu_module *code;
	size_t functions;
	struct CUfunc_st *function;
};

/* The CUlibrary of a CUmodule, the CUkernel of a CUfunction. */
static inline void *emu_of_library(void *handle) { return (char *)handle + 1; }
static inline int emu_is_kernel(const void *handle) { return (uintptr_t)handle & 1; }

/* The function behind a CUfunction or a CUkernel, NULL if it is neither. */
CUfunction emu_function_known(const void *handle);

#endif
