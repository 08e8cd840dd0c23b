/* Graphs: the runtime's parameters of nodes as the driver's, and back. */
#include "emu/runtime/runtime.h"

#include <string.h>

#define SAME(runtime, driver) _Static_assert(sizeof(runtime) == sizeof(driver), "one layout (driver_types.h)")
SAME(struct cudaMemsetParams, CUDA_MEMSET_NODE_PARAMS_v1);
SAME(struct cudaHostNodeParams, CUDA_HOST_NODE_PARAMS_v1);
SAME(cudaGraphEdgeData, CUgraphEdgeData);
SAME(cudaGraphInstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME(cudaGraphExecUpdateResultInfo, CUgraphExecUpdateResultInfo);
SAME(cudaKernelNodeAttrValue, CUkernelNodeAttrValue);

/* ---- to the driver's */

static int kernel_node(const void *function, dim3 grid, dim3 block, unsigned shared, void **params, void **extra, CUgraphNodeParams *out)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	if (!result)
		*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL,
					   .kernel = {f, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, params, extra, NULL, NULL}};
	return result;
}

int runtime_node_kernel(const struct cudaKernelNodeParams *p, CUgraphNodeParams *out)
{
	return p ? kernel_node(p->func, p->gridDim, p->blockDim, p->sharedMemBytes, p->kernelParams, p->extra, out) : (int)cudaErrorInvalidValue;
}

int runtime_node_copy(const struct cudaMemcpy3DParms *p, CUgraphNodeParams *out)
{
	*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	return runtime_describe(p, &out->memcpy.copyParams);
}

int runtime_node_copy_flat(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, CUgraphNodeParams *out)
{
	const struct cudaMemcpy3DParms p = {.srcPtr = {*(void **)(uintptr_t)&from, size, size, 1}, .dstPtr = {to, size, size, 1},
					    .extent = {size, 1, 1}, .kind = kind};
	return runtime_node_copy(&p, out);
}

int runtime_node_copy_to(const void *variable, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, CUgraphNodeParams *out)
{
	char *at;
	int result = runtime_part(variable, size, offset, &at);
	return result ? result : runtime_node_copy_flat(at, from, size, kind, out);
}

int runtime_node_copy_from(void *to, const void *variable, size_t size, size_t offset, enum cudaMemcpyKind kind, CUgraphNodeParams *out)
{
	char *at;
	int result = runtime_part(variable, size, offset, &at);
	return result ? result : runtime_node_copy_flat(to, at, size, kind, out);
}

int runtime_node_set(const struct cudaMemsetParams *p, CUgraphNodeParams *out)
{
	if (!p)
		return cudaErrorInvalidValue;
	*out = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET,
				   .memset = {(CUdeviceptr)p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, NULL}};
	return cudaSuccess;
}

int runtime_node(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out)
{
	if (!p)
		return cudaErrorInvalidValue;
	switch ((int)p->type) {
	case cudaGraphNodeTypeKernel:
		return kernel_node(p->kernel.func, p->kernel.gridDim, p->kernel.blockDim, p->kernel.sharedMemBytes, p->kernel.kernelParams,
				   p->kernel.extra, out);
	case cudaGraphNodeTypeMemcpy: return runtime_node_copy(&p->memcpy.copyParams, out);
	default: /* the same otherwise */
		*out = (CUgraphNodeParams){.type = (CUgraphNodeType)p->type};
		memcpy(out->asBytes, p->reserved1, sizeof out->asBytes);
		return cudaSuccess;
	}
}

/* ---- and back */

int runtime_node_kernel_get(cudaGraphNode_t node, struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 k;
	int result = p ? (int)cuGraphKernelNodeGetParams_v2(node, &k) : (int)cudaErrorInvalidValue;
	if (!result)
		*p = (struct cudaKernelNodeParams){.func = runtime_symbol(k.func), .gridDim = {k.gridDimX, k.gridDimY, k.gridDimZ},
						   .blockDim = {k.blockDimX, k.blockDimY, k.blockDimZ}, .sharedMemBytes = k.sharedMemBytes,
						   .kernelParams = k.kernelParams, .extra = k.extra};
	return result;
}

static enum cudaMemcpyKind kind_of(CUmemorytype to, CUmemorytype from)
{
	if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	return to == CU_MEMORYTYPE_HOST ? from == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost
					: from == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

static struct cudaPitchedPtr pointer_of(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t width, size_t height)
{
	const CUdeviceptr at = type == CU_MEMORYTYPE_HOST ? (CUdeviceptr)host : device;
	return (struct cudaPitchedPtr){(void *)at, pitch ? pitch : width, width, height};
}

int runtime_node_copy_get(cudaGraphNode_t node, struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	int result = p ? (int)cuGraphMemcpyNodeGetParams(node, &c) : (int)cudaErrorInvalidValue;
	if (!result)
		*p = (struct cudaMemcpy3DParms){
			.srcPos = {c.srcXInBytes, c.srcY, c.srcZ}, .dstPos = {c.dstXInBytes, c.dstY, c.dstZ},
			.srcPtr = pointer_of(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcPitch, c.WidthInBytes, c.srcHeight),
			.dstPtr = pointer_of(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch, c.WidthInBytes, c.dstHeight),
			.extent = {c.WidthInBytes, c.Height, c.Depth}, .kind = kind_of(c.dstMemoryType, c.srcMemoryType)};
	return result;
}

/* ---- a node of such parameters: added, changed, changed in an executable graph; described: what came of putting them together */

int runtime_node_add(int described, cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *before, const cudaGraphEdgeData *data,
		     size_t count, CUgraphNodeParams *p)
{
	return described ? described : (int)cuGraphAddNode_v2(node, g, before, (const CUgraphEdgeData *)data, count, p);
}

int runtime_node_change(int described, cudaGraphNode_t node, CUgraphNodeParams *p)
{
	return described ? described : (int)cuGraphNodeSetParams(node, p);
}

int runtime_node_update(int described, cudaGraphExec_t x, cudaGraphNode_t node, CUgraphNodeParams *p)
{
	return described ? described : (int)cuGraphExecNodeSetParams(x, node, p);
}
