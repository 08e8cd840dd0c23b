/* cuda: the real driver. libgsan exports the driver's names itself, so it must never call one of them directly: every
 * call goes through `real`, filled from the libcuda.so.1 that the program uses. A function that the driver lacks is
 * NULL there, and its hook is not offered to the program. */
#ifndef GSAN_CUDA_REAL_H
#define GSAN_CUDA_REAL_H

#include <cuda.h>

/* cuda.h declares only the newest form of cuGetProcAddress, under a macro that hides the older one. */
#undef cuGetProcAddress
#undef cuGetProcAddress_v2
typedef CUresult real_get_proc_address_11030(const char *symbol, void **function, int version, cuuint64_t flags);
typedef CUresult real_get_proc_address_12000(const char *symbol, void **function, int version, cuuint64_t flags,
		CUdriverProcAddressQueryResult *status);
/* Batches of copies: their first forms, before CUDA 13 took a parameter away. */
#if CUDA_VERSION >= 13000
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
typedef CUresult real_memcpy_batch_12080(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
		CUmemcpyAttributes *attribute, size_t *first, size_t attributes, size_t *failed, CUstream stream);
typedef CUresult real_memcpy_3d_batch_12080(size_t count, CUDA_MEMCPY3D_BATCH_OP *copy, size_t *failed,
		unsigned long long flags, CUstream stream);
#endif
/* Two forms of one prototype, of which cuda.h declares one, under a macro or not. */
#undef cuEventElapsedTime
typedef CUresult real_event_elapsed_time(float *milliseconds, CUevent start, CUevent end);
#undef cuGraphAddNode
#undef cuGraphAddNode_v2
typedef CUresult real_graph_add_node_12020(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
		CUgraphNodeParams *params);
typedef CUresult real_graph_add_node_12030(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, const CUgraphEdgeData *edge,
		size_t count, CUgraphNodeParams *params);
#undef cuIpcOpenMemHandle
typedef CUresult real_ipc_open_mem_handle(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags);
/* Newer than the oldest cuda.h that this builds with. */
typedef CUresult real_ctx_synchronize_13000(CUcontext context);

struct real {
#define REAL(name) __typeof__(name) *name;
#define REAL_PTSZ(name) __typeof__(name) *name, *name##_ptsz;
#define REAL_PTDS(name) __typeof__(name) *name, *name##_ptds;
#define REAL_AS(name, prototype) prototype *name;
#include "cuda/real.def"
#undef REAL
#undef REAL_PTSZ
#undef REAL_PTDS
#undef REAL_AS
};
extern struct real real;

/* Fills `real`. With load = 0 only if the process has loaded the driver already. Returns 0, or -ENOENT: no driver.
 * Cheap when done; safe from several threads. */
int real_load(int load);

/* The C library's own dlsym, whoever hooks it (libgsan does). */
void *real_dlsym(void *handle, const char *name);
void *real_dlsym_function(void); /* its address */

#endif
