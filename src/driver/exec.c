/* Executable graphs: made, changed, launched. */
#include <stdlib.h>
#include <string.h>

#include "cuda/hooks.h"
#include "driver/annotate.h"
#include "driver/event.h"
#include "driver/graph.h"
#include "vmm/vmm.h"

static struct map graphs = MAP_INIT; /* CUgraphExec → struct graph */

static struct graph *graph_of(CUgraphExec exec) { return map_get(&graphs, (uintptr_t)exec); }

static void graph_free(struct graph *g)
{
	graph_plan_free(&g->plan);
	steady_forget(&g->steady);
	if (g->records)
		records_drop(g->records);
	pthread_mutex_destroy(&g->lock);
	free(g->kept);
	free(g->seq);
	free(g);
}

/* ---- made ------------------------------------------------------------------------------------------------------ */

/* The executable graph's kernels are the program's: clones come in their places. NULL, or why not. */
static const char *graph_put(struct graph *g, CUgraphExec exec, CUgraph program)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph copy;

	if (!real.cuGraphClone || !real.cuGraphExecUpdate_v2 || !real.cuGraphGetEdges_v2 || !real.cuGraphKernelNodeGetParams_v2)
		return "the driver is too old";
	if (real.cuGraphClone(&copy, program) != CUDA_SUCCESS)
		return "it has nodes that the driver does not clone";
	const char *reason = participant_uses_several() ? "its process uses several GPUs" : graph_read(g, program, copy); /* what it holds stays on its GPU */
	if (!reason && g->plan.kernels && real.cuGraphExecUpdate_v2(exec, copy, &info) != CUDA_SUCCESS)
		reason = "the driver did not take clones in it";
	real.cuGraphDestroy(copy);
	return reason;
}

static void graph_add(CUgraphExec exec, CUgraph program, int for_device)
{
	struct flow *f = flow_current();
	struct graph *g = f ? calloc(1, sizeof(*g)) : NULL;
	CUstreamCaptureMode mode;

	if (!g)
		return;
	g->flow = f;
	pthread_mutex_init(&g->lock, NULL);
	real.cuCtxGetCurrent(&g->context);
	if (map_put(&graphs, (uintptr_t)exec, g)) { /* before it gets clones, which need records */
		graph_free(g);
		return;
	}
	int relaxed = flow_relax(&mode);
	g->opaque = for_device ? "it may be launched by kernels" : graph_put(g, exec, program);
	flow_unrelax(mode, relaxed);
}

static CUresult graph_made(const CUgraphExec *exec, CUgraph program, unsigned long long flags, CUresult rc)
{
	if (rc == CUDA_SUCCESS)
		graph_add(*exec, program, (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0);
	return rc;
}

CUresult hook_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *wrong, char *log, size_t size)
{
	return graph_made(exec, graph, 0, real.cuGraphInstantiate(exec, graph, wrong, log, size));
}

CUresult hook_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *wrong, char *log, size_t size)
{
	return graph_made(exec, graph, 0, real.cuGraphInstantiate_v2(exec, graph, wrong, log, size));
}

CUresult hook_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return graph_made(exec, graph, flags, real.cuGraphInstantiateWithFlags(exec, graph, flags));
}

CUresult hook_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return graph_made(exec, graph, params ? params->flags : 0, real.cuGraphInstantiateWithParams(exec, graph, params));
}

CUresult hook_cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return graph_made(exec, graph, params ? params->flags : 0, real.cuGraphInstantiateWithParams_ptsz(exec, graph, params));
}

CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
	struct graph *g = map_remove(&graphs, (uintptr_t)exec); /* before the call: afterwards another thread may get the same handle */

	if (g)
		graph_free(g);
	return real.cuGraphExecDestroy(exec);
}

static int graph_ended(uint64_t exec, void *g, void *context)
{
	(void)exec;
	if (((struct graph *)g)->context != context)
		return 0;
	graph_free(g);
	return 1;
}

void graph_forget_context(CUcontext context)
{
	if (!context)
		return;
	map_sweep(&graphs, graph_ended, context);
	records_forget_context(context);
}

/* ---- changed as a whole ---------------------------------------------------------------------------------------- */

static int plans_alike(const struct graph_plan *a, const struct graph_plan *b)
{
	int alike = a->nodes == b->nodes && a->befores == b->befores && !memcmp(a->before, b->before, a->befores * sizeof(*a->before));

	for (uint32_t i = 0; alike && i < a->nodes; i++)
		alike = a->node[i].kind == b->node[i].kind && a->node[i].first == b->node[i].first && a->node[i].count == b->node[i].count;
	return alike;
}

/* The program goes on to use the nodes of the graph that it was made of. How the driver pairs them with the new one's is not told: where both
 * list the same in the same order, they are those. */
static void graph_again(struct graph *g, CUgraphExec exec, CUgraph program)
{
	struct graph_plan old = g->plan;

	steady_forget(&g->steady);
	g->plan = (struct graph_plan){.node = NULL};
	g->opaque = graph_put(g, exec, program);
	free(g->plan.handle);
	g->plan.handle = NULL;
	g->plan.handles = 0;
	if (!g->opaque && plans_alike(&old, &g->plan)) {
		g->plan.handle = old.handle;
		g->plan.handles = old.handles;
		old.handle = NULL;
	}
	graph_plan_free(&old);
}

/* Does what was switched off stay so? The driver is asked: nothing says that it must. */
static void graph_ask_off(struct graph *g, CUgraphExec exec)
{
	unsigned on;

	for (uint32_t i = 0; i < g->plan.handles && real.cuGraphNodeGetEnabled; i++) {
		struct graph_node *n = &g->plan.node[g->plan.handle[i].at];
		if ((n->kind == GRAPH_KERNEL || n->kind == GRAPH_COPY) &&
		    real.cuGraphNodeGetEnabled(exec, g->plan.handle[i].node, &on) == CUDA_SUCCESS)
			n->off = !on;
	}
}

static CUresult graph_updated(CUgraphExec exec, CUgraph program, CUresult rc)
{
	struct graph *g = rc == CUDA_SUCCESS ? graph_of(exec) : NULL;
	CUstreamCaptureMode mode;

	if (!g)
		return rc;
	pthread_mutex_lock(&g->lock);
	int relaxed = flow_relax(&mode);
	graph_again(g, exec, program);
	graph_ask_off(g, exec);
	flow_unrelax(mode, relaxed);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

CUresult hook_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *why)
{
	return graph_updated(exec, graph, real.cuGraphExecUpdate(exec, graph, node, why));
}

CUresult hook_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	return graph_updated(exec, graph, real.cuGraphExecUpdate_v2(exec, graph, info));
}

/* ---- one node is changed --------------------------------------------------------------------------------------- */

/* The graph of an executable one, locked, and its node; NULL: what becomes of the node need not be known. */
struct change { struct graph *g; struct graph_node *node; };

static struct change change_begin(CUgraphExec exec, CUgraphNode node)
{
	struct change c = {.g = graph_of(exec)};

	if (!c.g)
		return c;
	pthread_mutex_lock(&c.g->lock);
	steady_forget(&c.g->steady);
	uint32_t at = c.g->opaque ? UINT32_MAX : graph_place(&c.g->plan, node);
	c.node = at != UINT32_MAX ? &c.g->plan.node[at] : NULL;
	return c;
}

static CUresult change_end(const struct change *c, CUresult rc, const char *opaque)
{
	if (!c->g)
		return rc;
	if (rc == CUDA_SUCCESS && !c->g->opaque)
		c->g->opaque = opaque;
	pthread_mutex_unlock(&c->g->lock);
	return rc;
}

static const char node_unknown[] = "a node of it was changed of which it is not known which that is";

static CUresult set_in_exec(const struct graph_set *to, const CUDA_KERNEL_NODE_PARAMS *p)
{
	return real.cuGraphExecKernelNodeSetParams_v2(to->exec, to->node, p);
}

CUresult hook_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct graph_set to = {.set = set_in_exec, .exec = exec, .node = node};
	struct change c = change_begin(exec, node);

	if (!c.node || !p)
		return change_end(&c, real.cuGraphExecKernelNodeSetParams_v2(exec, node, p), node_unknown);
	struct graph_kernel k = {.record = c.node->kernel.record};
	struct function *fn = graph_kernel(c.g, &k, &to, p);
	CUresult rc = k.reason ? real.cuGraphExecKernelNodeSetParams_v2(exec, node, p) : CUDA_SUCCESS;
	if (rc == CUDA_SUCCESS && k.reason)
		launch_say(c.g->flow, fn, k.reason);
	if (rc == CUDA_SUCCESS)
		c.node->kernel = k;
	return change_end(&c, rc, NULL);
}

/* What all versions of the structure have. */
#define KERNEL_NODE(p) \
	.func = (p)->func, .gridDimX = (p)->gridDimX, .gridDimY = (p)->gridDimY, .gridDimZ = (p)->gridDimZ, .blockDimX = (p)->blockDimX, \
	.blockDimY = (p)->blockDimY, .blockDimZ = (p)->blockDimZ, .sharedMemBytes = (p)->sharedMemBytes, .kernelParams = (p)->kernelParams, \
	.extra = (p)->extra

CUresult hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	if (!p || !real.cuGraphExecKernelNodeSetParams_v2)
		return real.cuGraphExecKernelNodeSetParams(exec, node, p);
	const CUDA_KERNEL_NODE_PARAMS v2 = {KERNEL_NODE(p)};
	return hook_cuGraphExecKernelNodeSetParams_v2(exec, node, &v2);
}

CUresult hook_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *m, CUcontext context)
{
	struct change c = change_begin(exec, node);
	CUresult rc = real.cuGraphExecMemcpyNodeSetParams(exec, node, m, context);

	if (rc == CUDA_SUCCESS && c.node)
		graph_copies(c.node, m);
	return change_end(&c, rc, c.node ? NULL : node_unknown);
}

CUresult hook_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS_v1 *m, CUcontext context)
{
	struct change c = change_begin(exec, node);
	CUresult rc = real.cuGraphExecMemsetNodeSetParams(exec, node, m, context);

	if (rc == CUDA_SUCCESS && c.node)
		graph_sets(c.node, m->dst, m->pitch, m->width * m->elementSize, m->height);
	return change_end(&c, rc, c.node ? NULL : node_unknown);
}

CUresult hook_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	struct change c = change_begin(exec, node);
	return change_end(&c, real.cuGraphExecChildGraphNodeSetParams(exec, node, child), "a child graph of it was changed");
}

/* The form that takes any node. */
CUresult hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	event_node(p);
	if (p && p->type == CU_GRAPH_NODE_TYPE_KERNEL && real.cuGraphExecKernelNodeSetParams_v2 && graph_of(exec)) {
		const CUDA_KERNEL_NODE_PARAMS_v3 *k = &p->kernel;
		const CUDA_KERNEL_NODE_PARAMS v2 = {KERNEL_NODE(k), .kern = k->kern, .ctx = k->ctx};
		return hook_cuGraphExecKernelNodeSetParams_v2(exec, node, &v2);
	}
	struct change c = change_begin(exec, node);
	CUresult rc = real.cuGraphExecNodeSetParams(exec, node, p);
	int child = p && p->type == CU_GRAPH_NODE_TYPE_GRAPH;
	if (rc == CUDA_SUCCESS && c.node && p->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		graph_copies(c.node, &p->memcpy.copyParams);
	else if (rc == CUDA_SUCCESS && c.node && p->type == CU_GRAPH_NODE_TYPE_MEMSET)
		graph_sets(c.node, p->memset.dst, p->memset.pitch, p->memset.width * p->memset.elementSize, p->memset.height);
	return change_end(&c, rc, c.node && !child ? NULL : node_unknown);
}

CUresult hook_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	struct change c = change_begin(exec, node);
	CUresult rc = real.cuGraphNodeSetEnabled(exec, node, enabled);

	if (rc == CUDA_SUCCESS && c.node)
		c.node->off = !enabled;
	return change_end(&c, rc, c.node ? NULL : node_unknown);
}

/* ---- launched -------------------------------------------------------------------------------------------------- */

static CUresult exec_launch(const struct graph *g, CUgraphExec exec, CUstream stream)
{
	CUresult rc = g && g->records ? records_bring_nobody(g->records, stream) : CUDA_SUCCESS;

	if (rc == CUDA_SUCCESS)
		rc = real.cuGraphLaunch(exec, stream);
	if (rc == CUDA_SUCCESS && g && g->records)
		records_used(g->records, CLOCK_SHARED, stream);
	return rc;
}

/* In a stream of another GPU. */
static CUresult exec_elsewhere(const struct graph *g, CUgraphExec exec, CUstream stream)
{
	struct flow *f = launch_elsewhere_begin();
	int waits = flow_graphs_wait();

	if (waits)
		flow_elsewhere_waits();
	CUresult rc = launch_elsewhere_end(f, exec_launch(g, exec, stream));
	if (waits && flow_refusal(rc))
		flow_elsewhere_waits_not();
	return rc;
}

void graph_say(struct flow *f, const char *reason)
{
	if (atomic_exchange_explicit(&f->graphs_noted, reason, memory_order_relaxed) != reason)
		flow_note(f, "unchecked", "(CUDA graph)", reason);
}

/* Its kernels are nobody's, or run plain, and its topology is not known: one launch that may order anything. */
static CUresult exec_opaque(const struct graph *g, CUgraphExec exec, struct flow *f, uint32_t slot, CUstream stream, const char *reason)
{
	uint32_t seq;

	flow_number(f, slot, CLOCK_PLAIN, &seq);
	flow_event(f, JOB_EVENT_OPAQUE, slot, seq);
	flow_copies_out(f, slot, seq);
	flow_writes(f, slot, seq);
	CUresult rc = exec_launch(g, exec, stream);
	flow_copied_out(f, flow_refusal(rc));
	if (flow_refusal(rc)) {
		flow_event_take_back(f, seq);
		flow_refused(f, slot, seq);
	}
	flow_enqueued(f, slot);
	if (rc == CUDA_SUCCESS && flow_graphs_wait())
		flow_wait_unknown(f, slot);
	if (rc == CUDA_SUCCESS) {
		graph_say(f, reason);
		launch_count(f, 0);
	}
	return rc;
}

static const char *exec_reason(const struct graph *g, const struct flow *f)
{
	return !g ? "it was not seen when it was made" : annotate_ignores() ? "the program asked not to check it (gsan_ignore)" :
	       g->flow != f ? "it was made for another GPU" : g->opaque;
}

CUresult hook_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct graph *g = graph_of(exec);
	uint32_t slot;

	if (flow_capturing(stream))
		return real.cuGraphLaunch(exec, stream); /* refuses */
	struct flow *f = flow_of_stream(stream, &slot);
	if (g)
		pthread_mutex_lock(&g->lock);
	const char *reason = f ? exec_reason(g, f) : NULL;
	CUresult rc = !f ? exec_elsewhere(g, exec, stream) : reason ? exec_opaque(g, exec, f, slot, stream, reason) : graph_replay(g, exec, slot, stream);
	if (g)
		pthread_mutex_unlock(&g->lock);
	return rc;
}
