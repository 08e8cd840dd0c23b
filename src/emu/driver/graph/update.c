/* Changes of executable graphs: of one node, and of all by another graph of the same shape. Launches that were made keep what they
 * had. */
#include <stdlib.h>

#include "emu/driver/graph/exec.h"
#include "emu/driver/graph/kind.h"
#include "emu/driver/graph/live.h"
#include "emu/driver/graph/node.h"

/* ---- pairs of nodes: those that nothing waits for in the order of creation, and what each pair waits for in the order of its edges */

struct pairing {
	CUgraph mine, other;
	CUgraphNode *with;         /* of each node of mine, by its place: the other's, or NULL */
	CUgraphNode *queue;        /* of mine: to be looked at, and looked at */
	size_t queued;
	CUgraphExecUpdateResultInfo *info;
};

static int differs(struct pairing *p, CUgraphExecUpdateResult why, CUgraphNode node, CUgraphNode from)
{
	*p->info = (CUgraphExecUpdateResultInfo){why, node, from};
	return -1;
}

static void number(CUgraph g)
{
	for (size_t i = 0; i < g->nodes; i++)
		g->node[i]->place = i;
}

/* Returns -1 if one of them is another's already. */
static int pair(struct pairing *p, CUgraphNode mine, CUgraphNode other, char *taken)
{
	if (p->with[mine->place] || taken[other->place])
		return p->with[mine->place] == other ? 0 : -1;
	p->with[mine->place] = other;
	taken[other->place] = 1;
	p->queue[p->queued++] = mine;
	return 0;
}

static size_t next_exit(CUgraph g, size_t from)
{
	while (from < g->nodes && g->node[from]->after.count)
		from++;
	return from;
}

/* Returns one that the other has more, or NULL. */
static CUgraphNode pair_exits(struct pairing *p, char *taken)
{
	size_t a = next_exit(p->mine, 0), b = next_exit(p->other, 0);
	for (; a < p->mine->nodes && b < p->other->nodes; a = next_exit(p->mine, a + 1), b = next_exit(p->other, b + 1))
		pair(p, p->mine->node[a], p->other->node[b], taken);
	return b < p->other->nodes ? p->other->node[b] : NULL;
}

static int pair_before(struct pairing *p, CUgraphNode mine, char *taken)
{
	CUgraphNode other = p->with[mine->place];
	if (mine->before.count != other->before.count)
		return differs(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, other, NULL);
	for (size_t k = 0; k < mine->before.count; k++)
		if (pair(p, mine->before.at[k].node, other->before.at[k].node, taken))
			return differs(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, other, other->before.at[k].node);
	return 0;
}

static int pair_all(struct pairing *p)
{
	char *taken = calloc(p->other->nodes + 1, 1);
	if (!taken)
		return differs(p, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
	number(p->mine);
	number(p->other);
	int differ = p->mine->nodes != p->other->nodes;
	CUgraphNode more = differ ? NULL : pair_exits(p, taken);
	if (differ)
		differs(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
	for (size_t i = 0; i < p->queued && !differ; i++)
		differ = pair_before(p, p->queue[i], taken);
	if (!differ && (more || p->queued < p->mine->nodes))
		differ = differs(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, more, NULL);
	free(taken);
	return differ;
}

/* ---- what they may become */

static struct emu_node_work work_of(CUgraphNode n)
{
	return (struct emu_node_work){&n->params, n->context, n->attribute, n->attributes};
}

static int update(CUgraph mine, CUgraph other, CUgraphExecUpdateResultInfo *info, int apply);

static int allowed(struct pairing *p, CUgraphNode mine, CUgraphNode other)
{
	if (mine->params.type != other->params.type)
		return differs(p, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, other, NULL);
	const struct emu_node_work w = work_of(other);
	const struct emu_kind *kind = emu_kind(mine->params.type);
	const CUgraphExecUpdateResult why = kind->change ? kind->change(mine, &w) : CU_GRAPH_EXEC_UPDATE_SUCCESS;
	if (why)
		return differs(p, why, other, NULL);
	if (mine->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return update(mine->params.graph.graph, other->params.graph.graph, p->info, 0);
	return 0;
}

static int change(struct pairing *p, CUgraphNode mine, CUgraphNode other)
{
	const struct emu_node_work w = work_of(other);
	if (mine->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return update(mine->params.graph.graph, other->params.graph.graph, p->info, 1);
	return emu_node_change(mine, &w) ? differs(p, CU_GRAPH_EXEC_UPDATE_ERROR, other, NULL) : 0;
}

/* All or nothing: what may be is found out first. */
static int update(CUgraph mine, CUgraph other, CUgraphExecUpdateResultInfo *info, int apply)
{
	struct pairing p = {mine, other, calloc(mine->nodes + 1, sizeof(CUgraphNode)), calloc(mine->nodes + 1, sizeof(CUgraphNode)), 0, info};
	int differ = p.with && p.queue ? pair_all(&p) : differs(&p, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
	for (size_t i = 0; i < mine->nodes && !differ; i++)
		differ = allowed(&p, mine->node[i], p.with[i]);
	for (size_t i = 0; i < mine->nodes && apply && !differ; i++)
		differ = change(&p, mine->node[i], p.with[i]);
	free(p.with);
	free(p.queue);
	return differ;
}

static CUresult enter_exec(CUgraphExec x)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	return emu_live(x, EMU_LIVE_EXEC) ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec x, CUgraph g, CUgraphExecUpdateResultInfo *info)
{
	CUresult result = info ? enter_exec(x) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*info = (CUgraphExecUpdateResultInfo){CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL};
	if (!emu_live(g, EMU_LIVE_GRAPH) || g->capture)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	if (update(x->graph, g, info, 1))
		return emu_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec x, CUgraph g, CUgraphNode *node, CUgraphExecUpdateResult *why)
{
	CUgraphExecUpdateResultInfo info = {CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL};
	CUresult result = node && why ? cuGraphExecUpdate_v2(x, g, &info) : CUDA_ERROR_INVALID_VALUE;
	if (node && why) {
		*node = info.errorNode;
		*why = info.result;
	}
	return result;
}

/* ---- one node */

static int flat(const CUDA_MEMCPY3D *c) { return c->Height <= 1 && c->Depth <= 1; }

/* By itself a copy changes only if it has one row before and after; a set and others as by cuGraphExecUpdate. */
static CUresult set(CUgraphNode n, const struct emu_node_work *w)
{
	CUgraphExecUpdateResultInfo info;
	if (n->params.type == CU_GRAPH_NODE_TYPE_MEMCPY && !(flat(&n->params.memcpy.copyParams) && flat(&w->params->memcpy.copyParams)))
		return CUDA_ERROR_INVALID_VALUE;
	if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
		CUgraph other = w->params->graph.graph;
		return emu_live(other, EMU_LIVE_GRAPH) && !update(n->params.graph.graph, other, &info, 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	const struct emu_kind *kind = emu_kind(n->params.type);
	return kind->change && kind->change(n, w) ? CUDA_ERROR_INVALID_VALUE : emu_node_change(n, w);
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec x, CUgraphNode original, CUgraphNodeParams *params)
{
	struct emu_node_work w;
	CUresult result = params ? enter_exec(x) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUgraphNode n = emu_exec_node(x, original);
	result = n && n->params.type == params->type ? emu_node_work(params, &w) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return emu_leave(result);
	w.attribute = n->attribute;
	w.attributes = n->attributes;
	return emu_leave(set(n, &w));
}

#define SET(name, type_, member, given, value) \
	CUresult CUDAAPI cuGraphExec##name(CUgraphExec x, CUgraphNode n, given) \
	{ \
		return p ? cuGraphExecNodeSetParams(x, n, &(CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_##type_, .member = value}) \
			 : CUDA_ERROR_INVALID_VALUE; \
	}

SET(KernelNodeSetParams, KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS_v1 *p, emu_kernel_of_v1(p))
SET(KernelNodeSetParams_v2, KERNEL, kernel, const CUDA_KERNEL_NODE_PARAMS_v2 *p, emu_kernel_v3(p))
SET(HostNodeSetParams, HOST, host, const CUDA_HOST_NODE_PARAMS_v1 *p, emu_host_v2(p))
SET(ChildGraphNodeSetParams, GRAPH, graph.graph, CUgraph p, p)
SET(EventRecordNodeSetEvent, EVENT_RECORD, eventRecord.event, CUevent p, p)
SET(EventWaitNodeSetEvent, WAIT_EVENT, eventWait.event, CUevent p, p)
SET(BatchMemOpNodeSetParams, BATCH_MEM_OP, memOp, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 *p, emu_values_v2(p))

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_MEMCPY3D *p, CUcontext c)
{
	return p ? cuGraphExecNodeSetParams(x, n, &(CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = emu_copy_in(p, c)})
		 : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS_v1 *p, CUcontext c)
{
	return p ? cuGraphExecNodeSetParams(x, n, &(CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = emu_set_in(p, c)})
		 : CUDA_ERROR_INVALID_VALUE;
}
