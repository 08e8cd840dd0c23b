#include "emu/driver/graph/kind.h"

#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/live.h"
#include "emu/driver/launch.h"
#include "emu/driver/range.h"
#include "emu/driver/work.h"

/* ---- kernels */

static CUlaunchConfig config_of(CUgraphNode n)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *k = &n->params.kernel;
	return (CUlaunchConfig){.gridDimX = k->gridDimX, .gridDimY = k->gridDimY, .gridDimZ = k->gridDimZ, .blockDimX = k->blockDimX,
				.blockDimY = k->blockDimY, .blockDimZ = k->blockDimZ, .sharedMemBytes = k->sharedMemBytes,
				.attrs = n->attribute, .numAttrs = n->attributes};
}

/* An H200 refuses a launch that cannot be when the node is added, always with this error. */
static CUresult check_kernel(CUgraphNode n)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *k = &n->params.kernel;
	const CUlaunchConfig config = config_of(n);
	const CUfunction f = emu_function_known(k->func ? (const void *)k->func : (const void *)k->kern);
	if (!f || (k->kernelParams && k->extra))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = emu_kernel_check(n->context, &(struct emu_kernel_work){f, &config, k->kernelParams, k->extra});
	return result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? CUDA_ERROR_INVALID_VALUE : result;
}

/* One block: the pointers, and behind them what they point to. */
static CUresult keep_kernel(CUgraphNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS_v3 *k = &p->kernel;
	const CUfunction f = emu_function_known(k->func ? (const void *)k->func : (const void *)k->kern);
	void **block = malloc((f->info.params + 1) * sizeof *block + f->info.param_bytes);
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *bytes = (char *)(block + f->info.params + 1);
	CUresult result = emu_kernel_pack(f, k->kernelParams, k->extra, bytes);
	for (uint32_t i = 0; i < f->info.params && !result; i++) {
		uint32_t offset, size;
		if (emu_kernel_param(f->kernel, i, &offset, &size))
			result = CUDA_ERROR_INVALID_VALUE;
		block[i] = bytes + offset;
	}
	if (result) {
		free(block);
		return result;
	}
	k->func = f;
	k->kern = NULL;
	k->kernelParams = block;
	k->extra = NULL;
	return CUDA_SUCCESS;
}

static void forget_kernel(CUgraphNodeParams *p) { free(p->kernel.kernelParams); }

static CUresult push_kernel(CUstream s, CUgraphNode n)
{
	const CUlaunchConfig config = config_of(n);
	return emu_kernel_push(s, &(struct emu_kernel_work){n->params.kernel.func, &config, n->params.kernel.kernelParams, NULL});
}

static int cooperative(const CUlaunchAttribute *at, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (at[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			return at[i].value.cooperative != 0;
	return 0;
}

static CUgraphExecUpdateResult change_kernel(CUgraphNode from, const struct emu_node_work *to)
{
	if (from->context != to->context)
		return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
	return cooperative(from->attribute, from->attributes) == cooperative(to->attribute, to->attributes)
		       ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
}

/* ---- copies and sets */

static CUdevice device_of(CUdeviceptr at)
{
	const struct emu_range *r = emu_range_find(&emu_known, at);
	return r ? r->device : -1;
}

static CUresult check_copy(CUgraphNode n) { return emu_copy_check(n->context, &n->params.memcpy.copyParams); }
static CUresult push_copy(CUstream s, CUgraphNode n) { return emu_copy_push(s, &n->params.memcpy.copyParams); }

static CUdeviceptr address_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
}

static int rows(const CUDA_MEMCPY3D *c) { return c->Height > 1 || c->Depth > 1; }

static int same_box(const CUDA_MEMCPY3D *a, const CUDA_MEMCPY3D *b)
{
	return a->WidthInBytes == b->WidthInBytes && a->Height == b->Height && a->Depth == b->Depth && a->srcPitch == b->srcPitch &&
	       a->dstPitch == b->dstPitch && a->srcHeight == b->srcHeight && a->dstHeight == b->dstHeight;
}

static CUgraphExecUpdateResult change_copy(CUgraphNode from, const struct emu_node_work *to)
{
	const CUDA_MEMCPY3D *a = &from->params.memcpy.copyParams, *b = &to->params->memcpy.copyParams;
	const int same_places =
		a->srcMemoryType == b->srcMemoryType && a->dstMemoryType == b->dstMemoryType &&
		device_of(address_of(a->srcMemoryType, a->srcHost, a->srcDevice)) == device_of(address_of(b->srcMemoryType, b->srcHost, b->srcDevice)) &&
		device_of(address_of(a->dstMemoryType, a->dstHost, a->dstDevice)) == device_of(address_of(b->dstMemoryType, b->dstHost, b->dstDevice));
	const int fits = rows(a) || rows(b) ? same_box(a, b) : 1;
	return from->context == to->context && same_places && fits ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static CUresult check_set(CUgraphNode n) { return emu_set_check(n->context, &n->params.memset); }
static CUresult push_set(CUstream s, CUgraphNode n) { return emu_set_push(s, &n->params.memset); }

/* Width and element of one row may change, as on an H200. */
static CUgraphExecUpdateResult change_set(CUgraphNode from, const struct emu_node_work *to)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *a = &from->params.memset, *b = &to->params->memset;
	const int fits = a->height == b->height && (a->height == 1 || (a->width == b->width && a->pitch == b->pitch && a->elementSize == b->elementSize));
	return from->context == to->context && fits && device_of(a->dst) == device_of(b->dst) ? CU_GRAPH_EXEC_UPDATE_SUCCESS
											      : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

/* ---- host functions, events, memory operations */

static CUresult check_host(CUgraphNode n) { return n->params.host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
static CUresult push_host(CUstream s, CUgraphNode n) { return emu_host_push(s, n->params.host.fn, n->params.host.userData); }

static CUresult check_event(CUgraphNode n)
{
	return emu_event_known(n->params.eventRecord.event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* both structs begin with it */
}

/* As on an H200: from the launch on, who asks about the event or waits for it means this recording; a node waits for the event's latest
 * recording at the launch. */
static CUresult push_record(CUstream s, CUgraphNode n)
{
	CUresult result = check_event(n);
	return result ? result : emu_event_record_push(s, n->params.eventRecord.event);
}

static CUresult push_wait(CUstream s, CUgraphNode n)
{
	CUresult result = check_event(n);
	return result ? result : emu_event_wait_push(s, n->params.eventWait.event);
}

static CUresult check_values(CUgraphNode n)
{
	const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *v = &n->params.memOp;
	if (!v->count || !v->paramArray || v->flags)
		return CUDA_ERROR_INVALID_VALUE;
	return emu_values_check(v->count, v->paramArray);
}

static CUresult keep_values(CUgraphNodeParams *p)
{
	CUstreamBatchMemOpParams *copy = malloc(p->memOp.count * sizeof *copy);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy, p->memOp.paramArray, p->memOp.count * sizeof *copy);
	p->memOp.paramArray = copy;
	return CUDA_SUCCESS;
}

static void forget_values(CUgraphNodeParams *p) { free(p->memOp.paramArray); }
static CUresult push_values(CUstream s, CUgraphNode n) { return emu_values_push(s, n->params.memOp.count, n->params.memOp.paramArray); }

static int waits(CUstreamBatchMemOpType type)
{
	return type == CU_STREAM_MEM_OP_WAIT_VALUE_32 || type == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

/* "Addresses, values, and operation type for wait operations". */
static CUgraphExecUpdateResult change_values(CUgraphNode from, const struct emu_node_work *to)
{
	const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *a = &from->params.memOp, *b = &to->params->memOp;
	int same = from->context == to->context && a->count == b->count;
	for (unsigned i = 0; same && i < a->count; i++) {
		const CUstreamBatchMemOpType x = a->paramArray[i].operation, y = b->paramArray[i].operation;
		same = x == y || (waits(x) && waits(y));
	}
	return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

/* ---- child graphs: a clone, which exec.c puts in the node's place */

static CUresult check_child(CUgraphNode n)
{
	const CUDA_CHILD_GRAPH_NODE_PARAMS *c = &n->params.graph;
	if (c->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
		return emu_not_supported("a child graph that moves into its parent");
	return emu_live(c->graph, EMU_LIVE_GRAPH) && c->graph != n->graph && !c->graph->capture ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult keep_child(CUgraphNodeParams *p) { return emu_graph_clone(p->graph.graph, &p->graph.graph); }
static void forget_child(CUgraphNodeParams *p) { emu_graph_free(p->graph.graph); }

/* ---- all of them */

const struct emu_kind *emu_kind(CUgraphNodeType type)
{
	static const struct emu_kind kinds[] = {
		[CU_GRAPH_NODE_TYPE_KERNEL] = {"KERNEL", 1, check_kernel, keep_kernel, forget_kernel, push_kernel, change_kernel},
		[CU_GRAPH_NODE_TYPE_MEMCPY] = {"MEMCPY", 1, check_copy, NULL, NULL, push_copy, change_copy},
		[CU_GRAPH_NODE_TYPE_MEMSET] = {"MEMSET", 1, check_set, NULL, NULL, push_set, change_set},
		[CU_GRAPH_NODE_TYPE_HOST] = {"HOST", 0, check_host, NULL, NULL, push_host, NULL},
		[CU_GRAPH_NODE_TYPE_GRAPH] = {"CHILD GRAPH", 0, check_child, keep_child, forget_child, NULL, NULL},
		[CU_GRAPH_NODE_TYPE_EMPTY] = {"EMPTY", 0, NULL, NULL, NULL, NULL, NULL},
		[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = {"EVENT WAIT", 0, check_event, NULL, NULL, push_wait, NULL},
		[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = {"EVENT RECORD", 0, check_event, NULL, NULL, push_record, NULL},
		[CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = {"BATCH MEM OP", 0, check_values, keep_values, forget_values, push_values, change_values}};
	return (unsigned)type < sizeof kinds / sizeof *kinds && kinds[type].name ? &kinds[type] : NULL;
}
