/* Graphs as nodes and edges: making, cloning, asking. Cycles are found when a graph is instantiated, as by NVIDIA's driver. */
#include "emu/driver/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/kind.h"
#include "emu/driver/graph/live.h"
#include "emu/driver/graph/object.h"

static unsigned graphs;
static uint64_t serials;

/* ---- edges */

int emu_edges_add(struct emu_edges *e, CUgraphNode node, const CUgraphEdgeData *data)
{
	if (e->count == e->room) {
		const size_t room = e->room ? 2 * e->room : 4;
		struct emu_edge *grown = realloc(e->at, room * sizeof *grown);
		if (!grown)
			return -1;
		e->at = grown;
		e->room = room;
	}
	e->at[e->count++] = (struct emu_edge){node, data ? *data : (CUgraphEdgeData){0}};
	return 0;
}

static size_t edge_to(const struct emu_edges *e, CUgraphNode node)
{
	size_t i = 0;
	while (i < e->count && e->at[i].node != node)
		i++;
	return i;
}

int emu_edges_hold(const struct emu_edges *e, CUgraphNode node) { return edge_to(e, node) < e->count; }

static void edges_remove(struct emu_edges *e, CUgraphNode node)
{
	const size_t i = edge_to(e, node);
	if (i < e->count)
		memmove(&e->at[i], &e->at[i + 1], (--e->count - i) * sizeof *e->at);
}

static int is_default(const CUgraphEdgeData *d) { return !d->from_port && !d->to_port && !d->type; }

/* A launch that may start early starts late here: such an edge orders as any other. */
static int edge_allowed(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *d)
{
	static const unsigned char none[sizeof d->reserved];
	if (!d || (is_default(d) && !memcmp(d->reserved, none, sizeof none)))
		return 1;
	return from->params.type == CU_GRAPH_NODE_TYPE_KERNEL && to->params.type == CU_GRAPH_NODE_TYPE_KERNEL &&
	       d->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER && !d->to_port && d->type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
	       !memcmp(d->reserved, none, sizeof none);
}

static CUresult connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *d)
{
	if (from == to || !edge_allowed(from, to, d) || emu_edges_hold(&to->before, from))
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_edges_add(&to->before, from, d))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!emu_edges_add(&from->after, to, d))
		return CUDA_SUCCESS;
	to->before.count--;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static void disconnect(CUgraphNode from, CUgraphNode to)
{
	edges_remove(&from->after, to);
	edges_remove(&to->before, from);
}

/* ---- nodes */

static CUresult keep_attributes(CUgraphNode n, const struct emu_node_work *w)
{
	if (!w->attributes)
		return CUDA_SUCCESS;
	n->attribute = malloc(w->attributes * sizeof *n->attribute);
	if (!n->attribute)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(n->attribute, w->attribute, w->attributes * sizeof *n->attribute);
	n->attributes = w->attributes;
	return CUDA_SUCCESS;
}

/* The work, checked as a node of the graph would do it, and kept in n. */
static CUresult fill(CUgraphNode n, const struct emu_node_work *w)
{
	const struct emu_kind *k = emu_kind(w->params->type);
	if (!k)
		return emu_not_supported("a node of this type in a graph");
	struct CUgraphNode_st draft = {.graph = n->graph, .params = *w->params, .context = w->context, .attributes = w->attributes};
	CUresult result = keep_attributes(&draft, w);
	if (!result && k->check)
		result = k->check(&draft);
	if (!result && k->keep)
		result = k->keep(&draft.params);
	if (result) {
		free(draft.attribute);
		return result;
	}
	n->params = draft.params;
	n->context = draft.context;
	n->attribute = draft.attribute;
	n->attributes = draft.attributes;
	if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		n->params.graph.graph->parent = n;
	return CUDA_SUCCESS;
}

static void forget(const struct CUgraphNode_st *n)
{
	const struct emu_kind *k = emu_kind(n->params.type);
	CUgraphNodeParams params = n->params;
	if (k && k->forget)
		k->forget(&params);
	free(n->attribute);
}

static void node_free(CUgraphNode n)
{
	forget(n);
	emu_live_remove(n);
	free(n->before.at);
	free(n->after.at);
	free(n);
}

static int append(CUgraph g, CUgraphNode n)
{
	if (g->nodes == g->room) {
		const size_t room = g->room ? 2 * g->room : 8;
		CUgraphNode *grown = realloc(g->node, room * sizeof(CUgraphNode));
		if (!grown)
			return -1;
		g->node = grown;
		g->room = room;
	}
	g->node[g->nodes++] = n;
	return 0;
}

static void remove_node(CUgraphNode n)
{
	CUgraph g = n->graph;
	while (n->before.count)
		disconnect(n->before.at[0].node, n);
	while (n->after.count)
		disconnect(n, n->after.at[0].node);
	size_t i = 0;
	while (g->node[i] != n)
		i++;
	memmove(&g->node[i], &g->node[i + 1], (--g->nodes - i) * sizeof(CUgraphNode));
	node_free(n);
}

static CUresult connect_all(CUgraphNode n, const struct emu_edges *before)
{
	CUresult result = CUDA_SUCCESS;
	for (size_t i = 0; before && i < before->count && !result; i++) {
		CUgraphNode from = before->at[i].node;
		result = emu_live(from, EMU_LIVE_NODE) && from->graph == n->graph ? connect(from, n, &before->at[i].data)
										  : CUDA_ERROR_INVALID_VALUE;
	}
	return result;
}

CUresult emu_node_add(CUgraph g, const struct emu_edges *before, const struct emu_node_work *w, CUgraphNode *node)
{
	CUgraphNode n = calloc(1, sizeof *n);
	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n->graph = g;
	n->serial = ++serials;
	CUresult result = fill(n, w);
	if (result) {
		free(n);
		return result;
	}
	if (append(g, n)) {
		node_free(n);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (emu_live_add(n, EMU_LIVE_NODE))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!result)
		result = connect_all(n, before);
	if (result)
		remove_node(n);
	else
		*node = n;
	return result;
}

CUresult emu_node_change(CUgraphNode n, const struct emu_node_work *w)
{
	const struct CUgraphNode_st before = *n;
	if (w->params->type != n->params.type)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = fill(n, w);
	if (!result)
		forget(&before);
	return result;
}

CUresult emu_node_attributes(CUgraphNode n, const CUlaunchAttribute *attribute, unsigned count)
{
	const struct emu_node_work w = {&n->params, n->context, attribute, count};
	struct CUgraphNode_st draft = {.graph = n->graph, .params = n->params, .context = n->context};
	CUresult result = keep_attributes(&draft, &w);
	if (!result)
		result = emu_kind(n->params.type)->check(&draft);
	if (result) {
		free(draft.attribute);
		return result;
	}
	free(n->attribute);
	n->attribute = draft.attribute;
	n->attributes = draft.attributes;
	return CUDA_SUCCESS;
}

/* ---- graphs */

CUgraph emu_graph_new(void)
{
	CUgraph g = calloc(1, sizeof *g);
	if (!g || emu_live_add(g, EMU_LIVE_GRAPH)) {
		free(g);
		return NULL;
	}
	g->id = ++graphs;
	return g;
}

void emu_graph_free(CUgraph g)
{
	for (size_t i = 0; i < g->nodes; i++)
		node_free(g->node[i]);
	emu_objects_drop(g);
	emu_live_remove(g);
	free(g->node);
	free(g);
}

CUresult emu_graph_clone(CUgraph g, CUgraph *out)
{
	CUgraph clone = emu_graph_new();
	CUresult result = clone ? emu_objects_share(g, clone) : CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < g->nodes && !result; i++) {
		CUgraphNode from = g->node[i], to;
		const struct emu_node_work w = {&from->params, from->context, from->attribute, from->attributes};
		result = emu_node_add(clone, NULL, &w, &to);
		if (result)
			break;
		from->place = i;
		to->original = from->serial;
	}
	for (size_t i = 0; i < g->nodes && !result; i++)
		for (size_t k = 0; k < g->node[i]->before.count && !result; k++) {
			const struct emu_edge *e = &g->node[i]->before.at[k];
			result = connect(clone->node[e->node->place], clone->node[i], &e->data);
		}
	if (!result)
		*out = clone;
	else if (clone)
		emu_graph_free(clone);
	return result;
}

size_t emu_graph_order(CUgraph g, CUgraphNode *order)
{
	size_t n = 0;
	for (size_t i = 0; i < g->nodes; i++) {
		g->node[i]->place = g->node[i]->before.count; /* those that are still to come */
		if (!g->node[i]->place)
			order[n++] = g->node[i];
	}
	for (size_t at = 0; at < n; at++)
		for (size_t k = 0; k < order[at]->after.count; k++) {
			CUgraphNode next = order[at]->after.at[k].node;
			if (!--next->place)
				order[n++] = next;
		}
	return n;
}

/* ---- calls */

static CUresult enter_graph(CUgraph g)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	return emu_live(g, EMU_LIVE_GRAPH) ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

static CUresult enter_node(CUgraphNode n)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	return emu_live(n, EMU_LIVE_NODE) ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphCreate(CUgraph *graph, unsigned flags)
{
	CUresult result = graph && !flags ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUgraph g = emu_graph_new();
	if (g)
		*graph = g;
	return emu_leave(g ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Child graphs belong to their nodes, and graphs that are captured into to the capture. */
CUresult CUDAAPI cuGraphDestroy(CUgraph g)
{
	CUresult result = enter_graph(g);
	if (result)
		return result;
	if (g->parent || g->capture)
		return emu_leave(g->parent ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_ILLEGAL_STATE);
	emu_graph_free(g);
	emu_leave(CUDA_SUCCESS);
	emu_objects_destroy();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphClone(CUgraph *clone, CUgraph g)
{
	CUresult result = clone ? enter_graph(g) : CUDA_ERROR_INVALID_VALUE;
	return result ? result : emu_leave(emu_graph_clone(g, clone));
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone)
{
	CUresult result = node ? enter_graph(clone) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; emu_live(original, EMU_LIVE_NODE) && i < clone->nodes && result; i++)
		if (clone->node[i]->original == original->serial) {
			*node = clone->node[i];
			result = CUDA_SUCCESS;
		}
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode n)
{
	CUresult result = enter_node(n);
	if (result)
		return result;
	if (n->graph->capture)
		return emu_leave(CUDA_ERROR_ILLEGAL_STATE);
	remove_node(n);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode n, CUgraphNodeType *type)
{
	CUresult result = type ? enter_node(n) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*type = n->params.type;
	return emu_leave(CUDA_SUCCESS);
}

/* A list as the calls return it: all of `count`, or so many as there is room for; what is left of the room is emptied. Without `out`,
 * the count alone. */
struct list { CUgraphNode *out, *also; CUgraphEdgeData *data; size_t *count, at; };

static CUresult list_begin(struct list *l, size_t there)
{
	const size_t room = *l->count;
	*l->count = !l->out || there < room ? there : room;
	for (size_t i = there; l->out && i < room; i++) {
		l->out[i] = NULL;
		if (l->also)
			l->also[i] = NULL;
	}
	return CUDA_SUCCESS;
}

static CUresult list_add(struct list *l, CUgraphNode n, CUgraphNode also, const CUgraphEdgeData *data)
{
	if (!l->out || l->at == *l->count)
		return CUDA_SUCCESS;
	if (data && !l->data && !is_default(data))
		return CUDA_ERROR_LOSSY_QUERY;
	l->out[l->at] = n;
	if (l->also)
		l->also[l->at] = also;
	if (l->data && data)
		l->data[l->at] = *data;
	l->at++;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *count)
{
	struct list l = {.out = nodes, .count = count};
	CUresult result = count ? enter_graph(g) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = list_begin(&l, g->nodes);
	for (size_t i = 0; i < g->nodes; i++)
		list_add(&l, g->node[i], NULL, NULL);
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph g, CUgraphNode *nodes, size_t *count)
{
	struct list l = {.out = nodes, .count = count};
	size_t roots = 0;
	CUresult result = count ? enter_graph(g) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	for (size_t i = 0; i < g->nodes; i++)
		roots += !g->node[i]->before.count;
	result = list_begin(&l, roots);
	for (size_t i = 0; i < g->nodes; i++)
		if (!g->node[i]->before.count)
			list_add(&l, g->node[i], NULL, NULL);
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	struct list l = {.out = from, .also = to, .data = data, .count = count};
	size_t edges = 0;
	CUresult result = count && !from == !to && (from || !data) ? enter_graph(g) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	for (size_t i = 0; i < g->nodes; i++)
		edges += g->node[i]->before.count;
	result = list_begin(&l, edges);
	for (size_t i = 0; i < g->nodes; i++)
		for (size_t k = 0; k < g->node[i]->before.count && !result; k++) {
			const struct emu_edge *e = &g->node[i]->before.at[k];
			result = list_add(&l, e->node, g->node[i], &e->data);
		}
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return cuGraphGetEdges_v2(g, from, to, NULL, count);
}

/* Those before a node, or after it. */
static CUresult around(CUgraphNode n, int after, struct list *l)
{
	CUresult result = l->count && (l->out || !l->data) ? enter_node(n) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_edges *e = after ? &n->after : &n->before;
	result = list_begin(l, e->count);
	for (size_t i = 0; i < e->count && !result; i++) {
		const struct emu_edges *b = &e->at[i].node->before;
		result = list_add(l, e->at[i].node, NULL, after ? &b->at[edge_to(b, n)].data : &e->at[i].data);
	}
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode n, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
	return around(n, 0, &(struct list){.out = nodes, .data = data, .count = count});
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *nodes, size_t *count)
{
	return cuGraphNodeGetDependencies_v2(n, nodes, NULL, count);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode n, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
	return around(n, 1, &(struct list){.out = nodes, .data = data, .count = count});
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *nodes, size_t *count)
{
	return cuGraphNodeGetDependentNodes_v2(n, nodes, NULL, count);
}

static int both_in(CUgraph g, CUgraphNode from, CUgraphNode to)
{
	return emu_live(from, EMU_LIVE_NODE) && emu_live(to, EMU_LIVE_NODE) && from->graph == g && to->graph == g;
}

/* Of many edges, those before one that is refused stay. */
CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t count)
{
	CUresult result = !count || (from && to) ? enter_graph(g) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	for (size_t i = 0; i < count && !result; i++)
		result = both_in(g, from[i], to[i]) ? connect(from[i], to[i], data ? &data[i] : NULL) : CUDA_ERROR_INVALID_VALUE;
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return cuGraphAddDependencies_v2(g, from, to, NULL, count);
}

static CUresult remove_edge(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
	const size_t i = edge_to(&to->before, from);
	const CUgraphEdgeData none = {0};
	if (i == to->before.count || memcmp(&to->before.at[i].data, data ? data : &none, sizeof none))
		return CUDA_ERROR_INVALID_VALUE;
	disconnect(from, to);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
					      size_t count)
{
	CUresult result = !count || (from && to) ? enter_graph(g) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	for (size_t i = 0; i < count && !result; i++)
		result = both_in(g, from[i], to[i]) ? remove_edge(from[i], to[i], data ? &data[i] : NULL) : CUDA_ERROR_INVALID_VALUE;
	return emu_leave(result);
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return cuGraphRemoveDependencies_v2(g, from, to, NULL, count);
}
