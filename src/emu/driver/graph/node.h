/* Between the structures of calls and those of nodes, by the versions in their names, and to work. */
#ifndef GSAN_EMU_DRIVER_GRAPH_NODE_H
#define GSAN_EMU_DRIVER_GRAPH_NODE_H

#include "emu/driver/graph/graph.h"

CUresult emu_node_work(const CUgraphNodeParams *p, struct emu_node_work *w); /* in the context that they name, or in the current one */

static inline CUDA_KERNEL_NODE_PARAMS_v3 emu_kernel_of_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v3){p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ,
					    p->sharedMemBytes, p->kernelParams, p->extra, NULL, NULL};
}

static inline CUDA_KERNEL_NODE_PARAMS_v3 emu_kernel_v3(const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v3){p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ,
					    p->sharedMemBytes, p->kernelParams, p->extra, p->kern, p->ctx};
}

static inline CUDA_KERNEL_NODE_PARAMS_v2 emu_kernel_v2(const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2){p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ,
					    p->sharedMemBytes, p->kernelParams, p->extra, p->kern, p->ctx};
}

static inline CUDA_KERNEL_NODE_PARAMS_v1 emu_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v1){p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ,
					    p->sharedMemBytes, p->kernelParams, p->extra};
}

static inline CUDA_HOST_NODE_PARAMS_v2 emu_host_v2(const CUDA_HOST_NODE_PARAMS_v1 *p)
{
	return (CUDA_HOST_NODE_PARAMS_v2){.fn = p->fn, .userData = p->userData};
}

static inline CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 emu_values_v2(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *p)
{
	return (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){p->ctx, p->count, p->paramArray, p->flags};
}

static inline CUDA_MEMCPY_NODE_PARAMS emu_copy_in(const CUDA_MEMCPY3D *p, CUcontext c)
{
	return (CUDA_MEMCPY_NODE_PARAMS){.copyCtx = c, .copyParams = *p};
}

static inline CUDA_MEMSET_NODE_PARAMS_v2 emu_set_in(const CUDA_MEMSET_NODE_PARAMS_v1 *p, CUcontext c)
{
	return (CUDA_MEMSET_NODE_PARAMS_v2){p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, c};
}

#endif
