/* A launch becomes operations in streams, now: each chain of nodes that depend on each other is put into a stream of the executable
 * graph's own, and recordings stand where one chain waits for another. A recording of the launch's stream is before all of them, and
 * behind the launch before; the stream then waits for the ends of all chains. */
#include "emu/driver/graph/exec.h"

#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/capture.h"
#include "emu/driver/graph/kind.h"
#include "emu/driver/graph/live.h"
#include "emu/driver/graph/node.h"
#include "emu/driver/graph/object.h"
#include "emu/driver/queue.h"

#define NONE SIZE_MAX

/* ---- steps */

static CUresult add_step(CUgraphExec x, CUgraphNode n, const size_t *before, size_t befores, size_t *step)
{
	if (x->steps == x->step_room) {
		const size_t room = x->step_room ? 2 * x->step_room : 16;
		struct emu_step *grown = realloc(x->step, room * sizeof *grown);
		if (!grown)
			return CUDA_ERROR_OUT_OF_MEMORY;
		x->step = grown;
		x->step_room = room;
	}
	struct emu_step s = {.node = n, .before = malloc((befores + 1) * sizeof *s.before), .befores = befores};
	if (!s.before)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (befores)
		memcpy(s.before, before, befores * sizeof *before);
	*step = x->steps;
	x->step[x->steps++] = s;
	return CUDA_SUCCESS;
}

static CUresult add_steps(CUgraphExec x, CUgraph g, size_t begin, size_t *end);

/* The step behind which the node's dependents stand is its place. */
static CUresult add_node(CUgraphExec x, CUgraphNode n, size_t begin)
{
	size_t *before = malloc((n->before.count + 1) * sizeof *before), count = 0, step;
	if (!before)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t k = 0; k < n->before.count; k++)
		before[count++] = n->before.at[k].node->place;
	if (!count && begin != NONE)
		before[count++] = begin;
	const int child = n->params.type == CU_GRAPH_NODE_TYPE_GRAPH;
	CUresult result = add_step(x, child ? NULL : n, before, count, &step);
	free(before);
	if (!result && child)
		result = add_steps(x, n->params.graph.graph, step, &step);
	n->place = step;
	return result;
}

/* All nodes of a graph, and of a child graph its end, too. */
static CUresult add_steps(CUgraphExec x, CUgraph g, size_t begin, size_t *end)
{
	CUgraphNode *order = malloc((g->nodes + 1) * sizeof(CUgraphNode));
	size_t *last = malloc((g->nodes + 1) * sizeof *last), lasts = 0;
	CUresult result = order && last ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	if (!result)
		emu_graph_order(g, order);
	for (size_t i = 0; i < g->nodes && !result; i++) {
		result = add_node(x, order[i], begin);
		if (!order[i]->after.count)
			last[lasts++] = order[i]->place;
	}
	if (!result && end)
		result = add_step(x, NULL, lasts ? last : &begin, lasts ? lasts : 1, end);
	free(order);
	free(last);
	return result;
}

/* ---- streams */

static CUcontext context_of(const struct emu_step *s, CUcontext otherwise)
{
	return s->node && s->node->context ? s->node->context : otherwise;
}

/* A step goes on in the stream of one that it waits for, if that is the last there yet, and of the same context; else it begins one. */
static CUresult choose_stream(CUgraphExec x, size_t step, size_t *last, CUcontext otherwise)
{
	struct emu_step *s = &x->step[step];
	for (size_t k = 0; k < s->befores; k++) {
		const size_t before = s->before[k], stream = x->step[before].stream;
		if (last[stream] != before || x->stream[stream]->context != context_of(s, x->stream[stream]->context))
			continue;
		s->before[k] = s->before[0];
		s->before[0] = before;
		s->continues = 1;
		s->stream = stream;
		last[stream] = step;
		return CUDA_SUCCESS;
	}
	CUstream c = emu_stream_new(context_of(s, otherwise), CU_STREAM_NON_BLOCKING);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->stream = x->streams;
	x->stream[x->streams++] = c;
	last[s->stream] = step;
	return CUDA_SUCCESS;
}

static CUresult choose_streams(CUgraphExec x)
{
	CUcontext otherwise = emu_context_current();
	CUresult result = otherwise ? CUDA_SUCCESS : emu_context_primary(0, &otherwise);
	size_t *last = malloc((x->steps + 1) * sizeof *last);
	x->stream = malloc((x->steps + 1) * sizeof(CUstream));
	if (!last || !x->stream)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < x->steps && !result; i++)
		result = choose_stream(x, i, last, otherwise);
	for (size_t i = 0; i < x->steps && !result; i++)
		for (size_t k = x->step[i].continues != 0; k < x->step[i].befores; k++)
			x->step[x->step[i].before[k]].told = 1;
	for (size_t i = 0; i < x->streams && !result; i++)
		if (!x->step[last[i]].told)
			x->step[last[i]].told = x->step[last[i]].ends = 1;
	free(last);
	return result;
}

/* ---- executable graphs */

static CUgraphExec condemned;

static void exec_free(CUgraphExec x)
{
	for (size_t i = 0; i < x->streams; i++)
		emu_stream_free(x->stream[i]);
	for (size_t i = 0; i < x->steps; i++)
		free(x->step[i].before);
	emu_recording_drop(x->last);
	if (x->graph)
		emu_graph_free(x->graph);
	free(x->stream);
	free(x->step);
	free(x);
}

static int at_rest(CUgraphExec x)
{
	for (size_t i = 0; i < x->streams; i++)
		if (x->stream[i]->head)
			return 0;
	return 1;
}

/* Those that have come to their end since. */
static void free_condemned(void)
{
	for (CUgraphExec *at = &condemned; *at;) {
		CUgraphExec x = *at;
		if (!at_rest(x)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		exec_free(x);
	}
}

/* Of the graph or its child graphs: a node that waits for itself, or for such a one. NULL: there is none. */
static CUresult find_cycle(CUgraph g, CUgraphNode *wrong)
{
	CUgraphNode *order = malloc((g->nodes + 1) * sizeof(CUgraphNode));
	if (!order)
		return CUDA_ERROR_OUT_OF_MEMORY;
	const int whole = emu_graph_order(g, order) == g->nodes;
	CUresult result = CUDA_SUCCESS;
	for (size_t i = 0; i < g->nodes && !*wrong && !result; i++)
		if (!whole && g->node[i]->place)
			*wrong = g->node[i];
		else if (g->node[i]->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
			result = find_cycle(g->node[i]->params.graph.graph, wrong);
	free(order);
	return result || !*wrong ? result : CUDA_ERROR_INVALID_VALUE;
}

static CUresult exec_new(CUgraph g, unsigned long long flags, CUgraphExec *exec, CUgraphNode *wrong)
{
	CUresult result = find_cycle(g, wrong);
	if (result)
		return result;
	CUgraphExec x = calloc(1, sizeof *x);
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->flags = flags & ~(unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	result = emu_graph_clone(g, &x->graph);
	if (!result)
		result = add_steps(x, x->graph, NONE, NULL);
	if (!result)
		result = choose_streams(x);
	if (!result && emu_live_add(x, EMU_LIVE_EXEC))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result)
		exec_free(x);
	else
		*exec = x;
	return result;
}

static CUgraphNode find(CUgraph g, uint64_t original)
{
	CUgraphNode found = NULL;
	for (size_t i = 0; i < g->nodes && !found; i++) {
		CUgraphNode n = g->node[i];
		if (n->original == original)
			found = n;
		else if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
			found = find(n->params.graph.graph, original);
	}
	return found;
}

CUgraphNode emu_exec_node(CUgraphExec x, CUgraphNode original)
{
	return emu_live(original, EMU_LIVE_NODE) ? find(x->graph, original->serial) : NULL;
}

/* ---- launches */

static void note(CUresult *first, CUresult result)
{
	if (!*first)
		*first = result;
}

static CUresult push_step(CUgraphExec x, struct emu_step *s, struct emu_recording *begin)
{
	CUstream c = x->stream[s->stream];
	CUresult result = s->befores ? CUDA_SUCCESS : emu_wait_push(c, begin);
	for (size_t k = s->continues != 0; k < s->befores; k++)
		note(&result, emu_wait_push(c, x->step[s->before[k]].recording));
	const struct emu_kind *kind = s->node && !s->node->disabled ? emu_kind(s->node->params.type) : NULL;
	if (kind && kind->push)
		note(&result, kind->push(c, s->node));
	if (s->told)
		note(&result, emu_record_push(c, &s->recording));
	return result;
}

/* Behind what was in the stream and behind the launch before. */
static CUresult follow(CUgraphExec x, CUstream s) { return x->last ? emu_wait_push(s, x->last) : CUDA_SUCCESS; }

static CUresult lead(CUgraphExec x, CUstream s)
{
	struct emu_recording *end = NULL;
	CUresult result = emu_record_push(s, &end);
	if (result)
		return result;
	emu_recording_drop(x->last);
	x->last = end;
	return CUDA_SUCCESS;
}

/* What cannot be put into a stream any more (its event was destroyed, say) is left out; the rest keeps its order, and the first error
 * is returned. */
static CUresult launch(CUgraphExec x, CUstream s)
{
	struct emu_recording *begin = NULL;
	CUresult result = follow(x, s);
	note(&result, emu_record_push(s, &begin));
	for (size_t i = 0; i < x->steps && begin; i++)
		note(&result, push_step(x, &x->step[i], begin));
	for (size_t i = 0; i < x->steps; i++)
		if (x->step[i].ends && x->step[i].recording)
			note(&result, emu_wait_push(s, x->step[i].recording));
	for (size_t i = 0; i < x->steps; i++) {
		emu_recording_drop(x->step[i].recording);
		x->step[i].recording = NULL;
	}
	emu_recording_drop(begin);
	note(&result, lead(x, s));
	return result;
}

/* ---- calls */

static CUresult enter_exec(CUgraphExec x)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	free_condemned();
	return emu_live(x, EMU_LIVE_EXEC) ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

/* Opens a call about an executable graph and a stream. */
static CUresult enter_both(CUgraphExec x, CUstream handle, CUstream *s)
{
	CUresult result = enter_exec(x);
	if (result)
		return result;
	CUcontext c = emu_context_current();
	result = !c ? CUDA_ERROR_INVALID_CONTEXT : c->error ? c->error : emu_stream_use(c, handle, s);
	return result ? emu_leave(result) : CUDA_SUCCESS;
}

EMU_STREAM_API(cuGraphLaunch, _ptsz, (CUgraphExec x, CUstream handle), (x, handle))
{
	CUstream s;
	CUresult result = enter_both(x, handle, &s);
	if (result)
		return result;
	return emu_leave(s->captured ? emu_capture_refuse(s) : launch(x, s));
}

/* Nothing has to go anywhere before a launch: this only orders. */
EMU_STREAM_API(cuGraphUpload, _ptsz, (CUgraphExec x, CUstream handle), (x, handle))
{
	CUstream s;
	CUresult result = enter_both(x, handle, &s);
	if (result)
		return result;
	if (s->captured)
		return emu_leave(emu_capture_refuse(s));
	result = follow(x, s);
	return emu_leave(result ? result : lead(x, s));
}

#define FLAGS \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | \
	 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

static CUresult instantiate(CUgraphExec *exec, CUgraph g, unsigned long long flags, CUgraphNode *wrong)
{
	*wrong = NULL;
	CUresult result = exec && !(flags & ~(unsigned long long)FLAGS) ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	free_condemned();
	if (!emu_live(g, EMU_LIVE_GRAPH) || g->parent)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	if (g->capture)
		return emu_leave(emu_capture_refuse_graph(g));
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return emu_leave(emu_not_supported("a graph that a device launches"));
	return emu_leave(exec_new(g, flags, exec, wrong));
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph g, unsigned long long flags)
{
	CUgraphNode wrong;
	return flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD ? CUDA_ERROR_INVALID_VALUE : instantiate(exec, g, flags, &wrong);
}

EMU_STREAM_API(cuGraphInstantiateWithParams, _ptsz, (CUgraphExec *exec, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p), (exec, g, p))
{
	CUgraphNode wrong;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = instantiate(exec, g, p->flags, &wrong);
	p->hErrNode_out = wrong;
	p->result_out = !result ? CUDA_GRAPH_INSTANTIATE_SUCCESS : wrong ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE : CUDA_GRAPH_INSTANTIATE_ERROR;
	if (!result && p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		result = cuGraphUpload_body(*exec, p->hUploadStream);
	return result;
}

static CUresult instantiate_logged(CUgraphExec *exec, CUgraph g, CUgraphNode *wrong, char *log, size_t size)
{
	CUgraphNode found;
	CUresult result = instantiate(exec, g, 0, &found);
	if (wrong)
		*wrong = found;
	if (log && size)
		*log = 0;
	return result;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph g, CUgraphNode *wrong, char *log, size_t size)
{
	return instantiate_logged(exec, g, wrong, log, size);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph g, CUgraphNode *wrong, char *log, size_t size)
{
	return instantiate_logged(exec, g, wrong, log, size);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec x)
{
	CUresult result = enter_exec(x);
	if (result)
		return result;
	emu_live_remove(x);
	x->next = condemned;
	condemned = x;
	free_condemned();
	emu_leave(CUDA_SUCCESS);
	emu_objects_destroy();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec x, cuuint64_t *flags)
{
	CUresult result = flags ? enter_exec(x) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*flags = x->flags;
	return emu_leave(CUDA_SUCCESS);
}

/* Opens a call about a node that can be switched off. */
static CUresult enter_switch(CUgraphExec x, CUgraphNode original, CUgraphNode *node)
{
	CUresult result = enter_exec(x);
	if (result)
		return result;
	*node = emu_exec_node(x, original);
	return *node && emu_kind((*node)->params.type)->switches ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec x, CUgraphNode original, unsigned enabled)
{
	CUgraphNode n;
	CUresult result = enter_switch(x, original, &n);
	if (result)
		return result;
	n->disabled = !enabled;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec x, CUgraphNode original, unsigned *enabled)
{
	CUgraphNode n;
	CUresult result = enabled ? enter_switch(x, original, &n) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*enabled = !n->disabled;
	return emu_leave(CUDA_SUCCESS);
}
