/* cuda: the real driver. libgsan exports the driver's names itself, so it must never call one of them directly: every
 * call goes through `real`, filled from the libcuda.so.1 that the program uses. A function that the driver lacks is
 * NULL there, and its hook is not offered to the program. */
#ifndef GSAN_CUDA_REAL_H
#define GSAN_CUDA_REAL_H

#include <cuda.h>

/* Functions of which cuda.h declares only the newest form, under a macro that hides an older one. */
#undef cuCtxDestroy
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuEventDestroy
#undef cuStreamDestroy
#undef cuGetProcAddress
#undef cuEventElapsedTime
#undef cuGraphAddNode
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphExecUpdate
#undef cuGraphInstantiate
#undef cuGraphInstantiateWithParams
#undef cuIpcOpenMemHandle
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync

struct real {
#define REAL(name, prototype) __typeof__(prototype) *name;
#include "cuda/real.def"
};
extern struct real real;

/* Fills `real`. With load = 0 only if the process has loaded the driver already. Returns 0, or -ENOENT: no driver.
 * Cheap when done; safe from several threads. */
int real_load(int load);

/* The C library's own dlsym, whoever hooks it (libgsan does). */
void *real_dlsym(void *handle, const char *name);
void *real_dlsym_function(void); /* its address */

#endif
