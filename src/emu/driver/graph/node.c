/* The parameters of nodes: adding a node of each type, and asking for, and changing, what it does. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/graph.h"
#include "emu/driver/graph/kind.h"
#include "emu/driver/graph/live.h"
#include "emu/driver/graph/node.h"

/* ---- adding */

/* The context that the parameters name, or else the current one. */
static CUcontext context_of(const CUgraphNodeParams *p)
{
	CUcontext named = NULL;
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: named = p->kernel.ctx; break;
	case CU_GRAPH_NODE_TYPE_MEMCPY: named = p->memcpy.copyCtx; break;
	case CU_GRAPH_NODE_TYPE_MEMSET: named = p->memset.ctx; break;
	case CU_GRAPH_NODE_TYPE_HOST: named = p->host.ctx; break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: named = p->eventRecord.ctx; break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: named = p->memOp.ctx; break;
	default: break;
	}
	return named ? named : emu_context_current();
}

static int needs_context(CUgraphNodeType type)
{
	return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET ||
	       type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

CUresult emu_node_work(const CUgraphNodeParams *p, struct emu_node_work *w)
{
	*w = (struct emu_node_work){.params = p, .context = context_of(p)};
	if (w->context && !emu_context_known(w->context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!w->context && needs_context(p->type))
		return CUDA_ERROR_INVALID_CONTEXT;
	return w->context ? w->context->error : CUDA_SUCCESS;
}

static CUresult gather(struct emu_edges *edges, const CUgraphNode *before, const CUgraphEdgeData *data, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (emu_edges_add(edges, before[i], data ? &data[i] : NULL))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *node, CUgraph g, const CUgraphNode *before, const CUgraphEdgeData *data, size_t count,
				   CUgraphNodeParams *params)
{
	struct emu_edges edges = {NULL, 0, 0};
	struct emu_node_work w;
	CUresult result = node && params && (before || !count) ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = emu_live(g, EMU_LIVE_GRAPH) ? emu_node_work(params, &w) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = gather(&edges, before, data, count);
	if (!result)
		result = emu_node_add(g, &edges, &w, node);
	free(edges.at);
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode *node, CUgraph g, const CUgraphNode *before, size_t count, CUgraphNodeParams *params)
{
	return cuGraphAddNode_v2(node, g, before, NULL, count, params);
}

/* ---- asking and changing */

static CUresult enter_node(CUgraphNode n, CUgraphNodeType type, const void *out)
{
	CUresult result = out ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	return emu_live(n, EMU_LIVE_NODE) && n->params.type == type ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphNodeGetParams(CUgraphNode n, CUgraphNodeParams *params)
{
	CUresult result = params ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (!emu_live(n, EMU_LIVE_NODE))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	*params = n->params;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode n, CUgraphNodeParams *params)
{
	struct emu_node_work w;
	CUresult result = params ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = emu_live(n, EMU_LIVE_NODE) ? emu_node_work(params, &w) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return emu_leave(result);
	w.attribute = n->attribute;
	w.attributes = n->attributes;
	return emu_leave(emu_node_change(n, &w));
}

/* The calls of each type: NODE(Name, TYPE, member, its structure). What they add, ask for and set is what the calls of all types do. */
#define PARAMS(type_, member, value) (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_##type_, .member = value}
#define ADD(name, type_, member, given, value) \
	CUresult CUDAAPI cuGraphAdd##name(CUgraphNode *node, CUgraph g, const CUgraphNode *before, size_t count, given) \
	{ \
		return p ? cuGraphAddNode(node, g, before, count, &PARAMS(type_, member, value)) : CUDA_ERROR_INVALID_VALUE; \
	}
#define SET(name, type_, member, given, value) \
	CUresult CUDAAPI cuGraph##name(CUgraphNode n, given) \
	{ \
		return p ? cuGraphNodeSetParams(n, &PARAMS(type_, member, value)) : CUDA_ERROR_INVALID_VALUE; \
	}
#define GET(name, type_, given, value) \
	CUresult CUDAAPI cuGraph##name(CUgraphNode n, given) \
	{ \
		CUresult result = enter_node(n, CU_GRAPH_NODE_TYPE_##type_, p); \
		if (result) \
			return result; \
		*p = value; \
		return emu_leave(CUDA_SUCCESS); \
	}

/* Of one event, whose structure begins with it. */
ADD(EventRecordNode, EVENT_RECORD, eventRecord.event, CUevent p, p)
GET(EventRecordNodeGetEvent, EVENT_RECORD, CUevent *p, n->params.eventRecord.event)
SET(EventRecordNodeSetEvent, EVENT_RECORD, eventRecord.event, CUevent p, p)
ADD(EventWaitNode, WAIT_EVENT, eventWait.event, CUevent p, p)
GET(EventWaitNodeGetEvent, WAIT_EVENT, CUevent *p, n->params.eventWait.event)
SET(EventWaitNodeSetEvent, WAIT_EVENT, eventWait.event, CUevent p, p)

ADD(ChildGraphNode, GRAPH, graph.graph, CUgraph p, p)
GET(ChildGraphNodeGetGraph, GRAPH, CUgraph *p, n->params.graph.graph)

ADD(BatchMemOpNode, BATCH_MEM_OP, memOp, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *p, emu_values_v2(p))
GET(BatchMemOpNodeGetParams, BATCH_MEM_OP, CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *p,
    ((CUDA_BATCH_MEM_OP_NODE_PARAMS_v1){n->context, n->params.memOp.count, n->params.memOp.paramArray, n->params.memOp.flags}))
SET(BatchMemOpNodeSetParams, BATCH_MEM_OP, memOp, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *p, emu_values_v2(p))

ADD(HostNode, HOST, host, const CUDA_HOST_NODE_PARAMS_v1 *p, emu_host_v2(p))
GET(HostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS_v1 *p, ((CUDA_HOST_NODE_PARAMS_v1){n->params.host.fn, n->params.host.userData}))
SET(HostNodeSetParams, HOST, host, const CUDA_HOST_NODE_PARAMS_v1 *p, emu_host_v2(p))

ADD(KernelNode_v2, KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS_v2 *p, emu_kernel_v3(p))
GET(KernelNodeGetParams_v2, KERNEL, CUDA_KERNEL_NODE_PARAMS_v2 *p, emu_kernel_v2(&n->params.kernel))
SET(KernelNodeSetParams_v2, KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS_v2 *p, emu_kernel_v3(p))
ADD(KernelNode, KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS_v1 *p, emu_kernel_of_v1(p))
GET(KernelNodeGetParams, KERNEL, CUDA_KERNEL_NODE_PARAMS_v1 *p, emu_kernel_v1(&n->params.kernel))
SET(KernelNodeSetParams, KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS_v1 *p, emu_kernel_of_v1(p))

GET(MemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D *p, n->params.memcpy.copyParams)
GET(MemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS_v1 *p,
    ((CUDA_MEMSET_NODE_PARAMS_v1){n->params.memset.dst, n->params.memset.pitch, n->params.memset.value, n->params.memset.elementSize,
				  n->params.memset.width, n->params.memset.height}))

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph g, const CUgraphNode *before, size_t count, const CUDA_MEMCPY3D *p, CUcontext c)
{
	return p ? cuGraphAddNode(node, g, before, count, &PARAMS(MEMCPY, memcpy, emu_copy_in(p, c))) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *node, CUgraph g, const CUgraphNode *before, size_t count,
				      const CUDA_MEMSET_NODE_PARAMS_v1 *p, CUcontext c)
{
	return p ? cuGraphAddNode(node, g, before, count, &PARAMS(MEMSET, memset, emu_set_in(p, c))) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *node, CUgraph g, const CUgraphNode *before, size_t count)
{
	return cuGraphAddNode(node, g, before, count, &(CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EMPTY});
}

/* These keep their context. */
static CUcontext kept_context(CUgraphNode n)
{
	if (emu_enter())
		return NULL;
	CUcontext c = emu_live(n, EMU_LIVE_NODE) ? n->context : NULL;
	emu_leave(CUDA_SUCCESS);
	return c;
}

SET(MemcpyNodeSetParams, MEMCPY, memcpy, const CUDA_MEMCPY3D *p, emu_copy_in(p, kept_context(n)))
SET(MemsetNodeSetParams, MEMSET, memset, const CUDA_MEMSET_NODE_PARAMS_v1 *p, emu_set_in(p, kept_context(n)))

/* ---- attributes of kernels */

static CUlaunchAttribute *attribute_of(CUgraphNode n, CUlaunchAttributeID id)
{
	for (unsigned i = 0; i < n->attributes; i++)
		if (n->attribute[i].id == id)
			return &n->attribute[i];
	return NULL;
}

CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode n, CUkernelNodeAttrID id, CUkernelNodeAttrValue *value)
{
	CUresult result = enter_node(n, CU_GRAPH_NODE_TYPE_KERNEL, value);
	if (result)
		return result;
	const CUlaunchAttribute *a = attribute_of(n, id);
	*value = a ? a->value : (CUkernelNodeAttrValue){.pad = {0}};
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode n, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
	CUresult result = enter_node(n, CU_GRAPH_NODE_TYPE_KERNEL, value);
	if (result)
		return result;
	CUlaunchAttribute *all = malloc((n->attributes + 1) * sizeof *all), *a = attribute_of(n, id);
	if (!all)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	if (n->attributes)
		memcpy(all, n->attribute, n->attributes * sizeof *all);
	const unsigned at = a ? (unsigned)(a - n->attribute) : n->attributes;
	all[at] = (CUlaunchAttribute){.id = id, .value = *value};
	result = emu_node_attributes(n, all, n->attributes + !a);
	free(all);
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	CUresult result = enter_node(from, CU_GRAPH_NODE_TYPE_KERNEL, from);
	if (result)
		return result;
	if (!emu_live(to, EMU_LIVE_NODE) || to->params.type != CU_GRAPH_NODE_TYPE_KERNEL || to->context != from->context)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	return emu_leave(to == from ? CUDA_SUCCESS : emu_node_attributes(to, from->attribute, from->attributes));
}

/* ---- refused */

CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph g, CUcontext c, unsigned value, unsigned flags)
{
	(void)handle, (void)g, (void)c, (void)value, (void)flags;
	return emu_not_supported("conditional nodes of graphs");
}
