/* From a program's graph to a plan of its replays. */
#include "driver/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/real.h"
#include "driver/reach.h"

#define NOWHERE UINT32_MAX
#define NO_MEMORY "out of memory"

/* ---- plans ----------------------------------------------------------------------------------------------------- */

static void node_free(struct graph_node *n)
{
	if (n->copy)
		free(n->copy->more);
	free(n->copy);
}

void graph_plan_free(struct graph_plan *p)
{
	for (uint32_t i = 0; i < p->nodes; i++)
		node_free(&p->node[i]);
	free(p->node);
	free(p->before);
	free(p->handle);
	*p = (struct graph_plan){.node = NULL};
}

/* Room for one more, doubled. */
static int grow(void *list, uint32_t *room, uint32_t used, size_t size)
{
	void **at = list;

	if (used < *room)
		return 0;
	uint32_t more = *room ? 2 * *room : 64;
	void *grown = realloc(*at, more * size);
	if (!grown)
		return -1;
	*at = grown;
	*room = more;
	return 0;
}

/* A node behind all others; NOWHERE: no memory. */
static uint32_t plan_add(struct graph_plan *p, enum graph_kind kind)
{
	if (grow(&p->node, &p->room, p->nodes, sizeof(*p->node)))
		return NOWHERE;
	p->node[p->nodes] = (struct graph_node){.kind = kind, .first = p->befores};
	return p->nodes++;
}

/* The newest node waits for that one. */
static int plan_waits(struct graph_plan *p, uint32_t for_)
{
	if (grow(&p->before, &p->before_room, p->befores, sizeof(*p->before)))
		return -1;
	p->before[p->befores++] = for_;
	p->node[p->nodes - 1].count++;
	return 0;
}

/* A node goes on where something it waits for ended, or begins a chain. */
static void plan_chain(struct graph_plan *p, uint32_t at)
{
	struct graph_node *n = &p->node[at];
	uint32_t best = NOWHERE;

	for (uint32_t i = n->first; i < n->first + n->count; i++) {
		uint32_t chain = p->node[p->before[i]].chain;
		if (p->tail[chain] == p->before[i] && chain < best)
			best = chain;
	}
	n->chain = best != NOWHERE ? best : p->chains < GRAPH_CHAINS ? p->chains++ : GRAPH_CHAINS - 1;
	p->tail[n->chain] = at;
}

static void plan_keep(struct graph_plan *p, uint32_t at)
{
	if (!p->node[at].kept)
		p->node[at].kept = ++p->kept;
}

/* What other chains wait for, and the ends, for which the stream does. */
static void plan_chains(struct graph_plan *p)
{
	for (uint32_t at = 0; at < p->nodes; at++)
		plan_chain(p, at);
	for (uint32_t at = 0; at < p->nodes; at++)
		for (uint32_t i = p->node[at].first; i < p->node[at].first + p->node[at].count; i++)
			if (p->node[p->before[i]].chain != p->node[at].chain)
				plan_keep(p, p->before[i]);
	for (uint32_t chain = 1; chain < p->chains; chain++)
		plan_keep(p, p->tail[chain]);
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

/* A graph's node as a form of launch. */
struct graph_launch {
	struct launch launch;
	const struct graph_set *to;
	CUlaunchConfig config;
	CUlaunchAttribute attribute[2];
};

static CUresult launch_call_node(const struct launch *l, CUfunction f, void **params, void **extra)
{
	const struct graph_launch *own = (const struct graph_launch *)l;

	return own->to->set(own->to, &(CUDA_KERNEL_NODE_PARAMS){.func = f, .gridDimX = l->grid[0], .gridDimY = l->grid[1], .gridDimZ = l->grid[2],
			.blockDimX = l->block[0], .blockDimY = l->block[1], .blockDimZ = l->block[2], .sharedMemBytes = l->shared,
			.kernelParams = params, .extra = extra});
}

static void launch_of_node(struct graph_launch *own, const struct graph_set *to, const CUDA_KERNEL_NODE_PARAMS *p)
{
	static const CUlaunchAttributeID asked[] = {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE};

	*own = (struct graph_launch){.to = to, .launch = {.f = p->func ? p->func : (CUfunction)p->kern,
			.grid = {p->gridDimX, p->gridDimY, p->gridDimZ}, .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
			.shared = p->sharedMemBytes, .params = p->kernelParams, .extra = p->extra, .call = launch_call_node}};
	for (unsigned i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		CUlaunchAttribute *a = &own->attribute[own->config.numAttrs];
		a->id = asked[i];
		own->config.numAttrs += real.cuGraphKernelNodeGetAttribute(to->node, asked[i], &a->value) == CUDA_SUCCESS;
	}
	own->config.attrs = own->attribute;
	own->launch.config = &own->config;
}

/* Where parameter i lies, as the program gave it. */
static const void *param_from(const struct launch *l, size_t i, size_t offset)
{
	if (!l->extra)
		return l->params[i];
	for (void **e = l->extra; *e != CU_LAUNCH_PARAM_END; e += 2)
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			return (const char *)e[1] + offset;
	return NULL;
}

/* With copies of the parameters, which may be the node's own, that is about to change. */
static CUresult launch_copied(struct launch *l, const struct function *fn, struct gsan_launch *record)
{
	char *buffer = calloc(1, fn->record + 1);
	void *params[FUNCTION_PARAMS_MAX];
	CUresult rc = buffer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0, offset, size; i < fn->params && rc == CUDA_SUCCESS; i++) {
		rc = real.cuFuncGetParamInfo(fn->clone, i, &offset, &size);
		const void *from = rc == CUDA_SUCCESS ? param_from(l, i, offset) : NULL;
		if (!from || offset + size > fn->record) {
			rc = CUDA_ERROR_INVALID_VALUE;
			break;
		}
		params[i] = memcpy(buffer + offset, from, size);
	}
	l->params = params;
	l->extra = NULL;
	rc = rc == CUDA_SUCCESS ? launch_clone(l, fn, record) : rc;
	free(buffer);
	return rc;
}

static CUresult kernel_clone(struct graph *g, struct graph_kernel *k, struct function *fn, struct graph_launch *own)
{
	struct gsan_launch record[2] = {{.abi = GSAN_ABI, .at = records_at(g->records, k->record)}};

	k->shape = launch_shape(g->flow, fn, &own->launch);
	return launch_copied(&own->launch, fn, record);
}

struct function *graph_kernel(struct graph *g, struct graph_kernel *k, const struct graph_set *to, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct graph_launch own;

	launch_of_node(&own, to, p);
	struct function *fn = function_find(g->flow, own.launch.f);
	k->model = fn ? fn->model : MODEL_NONE;
	k->left_out = fn && fn->left_out;
	k->reason = launch_refuse(fn, &own.launch);
	if (!k->reason && !g->records)
		k->reason = NO_MEMORY;
	if (!k->reason && kernel_clone(g, k, fn, &own) != CUDA_SUCCESS)
		k->reason = "the driver refused its clone in a graph";
	return fn;
}

static CUresult set_in_graph(const struct graph_set *to, const CUDA_KERNEL_NODE_PARAMS *p)
{
	return real.cuGraphKernelNodeSetParams_v2(to->node, p);
}

/* ---- copies and sets ------------------------------------------------------------------------------------------- */

const char *const graph_copy_name[GRAPH_COPIES] = {"cuGraphMemcpyNode", "cuGraphMemsetNode"};

/* It touches nothing, so far. */
static int copy_again(struct graph_node *n, enum graph_copy which)
{
	if (!n->copy)
		n->copy = calloc(1, sizeof(*n->copy));
	else
		free(n->copy->more);
	if (!n->copy)
		return -ENOMEM;
	n->copies = which;
	copy_open(n->copy, graph_copy_name[which]);
	return 0;
}

int graph_copies(struct graph_node *n, const CUDA_MEMCPY3D *m)
{
	int rc = copy_again(n, GRAPH_MEMCPY);

	if (!rc)
		n->copy->way = reach_box(n->copy, m);
	return rc;
}

int graph_sets(struct graph_node *n, CUdeviceptr to, size_t pitch, size_t width, size_t height)
{
	int rc = copy_again(n, GRAPH_MEMSET);

	if (!rc)
		n->copy->way = reach_rows(n->copy, to, pitch, width, height);
	return rc;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Edges by the node at one of their ends: those of node i from first[i] on. */
struct edge { uint32_t at, other; };
struct edges { struct edge *edge; uint32_t *first; };

/* One graph, the program's or a child of it. */
struct level {
	size_t nodes, count; /* count: of edges */
	CUgraphNode *node;
	struct graph_handle *handle;  /* sorted: where each is in `node` */
	struct edges before, after;   /* what each node waits for, and what waits for it */
	uint32_t *waits, *queue;      /* for how many it waits still; those that wait for none, in the order of the plan */
	uint32_t *in, *out;           /* its places in the plan: the same but for child graphs */
};

struct reading {
	struct graph *g;
	CUgraphNode *made; /* by place in the plan, of kernels */
	uint32_t room;
};

static int handle_order(const void *a_, const void *b_)
{
	const struct graph_handle *a = a_, *b = b_;
	return a->node < b->node ? -1 : a->node > b->node;
}

static uint32_t handle_find(const struct graph_handle *handle, size_t count, CUgraphNode node)
{
	const struct graph_handle key = {.node = node}, *found = bsearch(&key, handle, count, sizeof(key), handle_order);
	return found ? found->at : NOWHERE;
}

uint32_t graph_place(const struct graph_plan *p, CUgraphNode node)
{
	return handle_find(p->handle, p->handles, node);
}

static int edge_order(const void *a_, const void *b_)
{
	const struct edge *a = a_, *b = b_;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void edges_sort(struct edges *e, size_t count, size_t nodes)
{
	qsort(e->edge, count, sizeof(*e->edge), edge_order);
	for (uint32_t i = 0, at = 0; i <= nodes; i++) {
		while (at < count && e->edge[at].at < i)
			at++;
		e->first[i] = at;
	}
}

static void level_free(struct level *l)
{
	void *const lists[] = {l->node, l->handle, l->before.edge, l->before.first, l->after.edge, l->after.first, l->waits, l->queue, l->in, l->out};

	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]);
}

static int level_room(struct level *l)
{
	size_t nodes = l->nodes + 1, edges = l->count + 1;

	l->node = calloc(nodes, sizeof(*l->node));
	l->handle = calloc(nodes, sizeof(*l->handle));
	l->before.edge = calloc(edges, sizeof(struct edge));
	l->before.first = calloc(nodes, sizeof(uint32_t));
	l->after.edge = calloc(edges, sizeof(struct edge));
	l->after.first = calloc(nodes, sizeof(uint32_t));
	l->waits = calloc(nodes, sizeof(uint32_t));
	l->queue = calloc(nodes, sizeof(uint32_t));
	l->in = calloc(nodes, sizeof(uint32_t));
	l->out = calloc(nodes, sizeof(uint32_t));
	return l->node && l->handle && l->before.edge && l->before.first && l->after.edge && l->after.first && l->waits && l->queue && l->in && l->out;
}

/* Programmatic edges count as whole ones. */
static int level_edges(struct level *l, CUgraph graph)
{
	CUgraphNode *from = calloc(2 * l->count + 1, sizeof(*from)), *to = from ? from + l->count : NULL;
	CUgraphEdgeData *data = calloc(l->count + 1, sizeof(*data));
	int told = from && data && (!l->count /* the driver refuses to tell none */ || real.cuGraphGetEdges_v2(graph, from, to, data, &l->count) == CUDA_SUCCESS);

	for (size_t i = 0; told && i < l->count; i++) {
		uint32_t a = handle_find(l->handle, l->nodes, from[i]), b = handle_find(l->handle, l->nodes, to[i]);
		l->after.edge[i] = (struct edge){a, b};
		l->before.edge[i] = (struct edge){b, a};
		told = a != NOWHERE && b != NOWHERE;
	}
	free(from);
	free(data);
	if (!told)
		return -1;
	edges_sort(&l->before, l->count, l->nodes);
	edges_sort(&l->after, l->count, l->nodes);
	return 0;
}

static const char *level_ask(struct level *l, CUgraph graph)
{
	static const char untold[] = "the driver does not tell its nodes";

	if (real.cuGraphGetNodes(graph, NULL, &l->nodes) != CUDA_SUCCESS ||
	    real.cuGraphGetEdges_v2(graph, NULL, NULL, NULL, &l->count) != CUDA_SUCCESS)
		return untold;
	if (!level_room(l))
		return NO_MEMORY;
	if (l->nodes && real.cuGraphGetNodes(graph, l->node, &l->nodes) != CUDA_SUCCESS)
		return untold;
	for (uint32_t i = 0; i < l->nodes; i++)
		l->handle[i] = (struct graph_handle){l->node[i], i};
	qsort(l->handle, l->nodes, sizeof(*l->handle), handle_order);
	return level_edges(l, graph) ? untold : NULL;
}

/* Node i's place, which is the newest: behind what it waits for; of a child graph's first ones, behind `entry`. */
static int level_waits(const struct level *l, struct graph_plan *p, uint32_t i, uint32_t entry)
{
	uint32_t from = l->before.first[i], to = l->before.first[i + 1];
	int failed = from == to && entry != NOWHERE && plan_waits(p, entry);

	for (uint32_t e = from; e < to && !failed; e++)
		failed = plan_waits(p, l->out[l->before.edge[e].other]);
	return failed;
}

static const char *read_level(struct reading *r, CUgraph graph, struct level *l, uint32_t entry);

/* Its place is the newest: it waits for what the child graph waits for. Behind it come the child's, and one that waits for their ends. */
static const char *read_child(struct reading *r, struct level *l, uint32_t i)
{
	struct graph_plan *p = &r->g->plan;
	struct level child = {.nodes = 0};
	CUgraph graph;

	if (real.cuGraphChildGraphNodeGetGraph(l->node[i], &graph) != CUDA_SUCCESS)
		return "the driver does not tell what its child graph is";
	const char *reason = read_level(r, graph, &child, l->in[i]);
	if (!reason) {
		l->out[i] = plan_add(p, GRAPH_NOTHING);
		int failed = l->out[i] == NOWHERE || (!child.nodes && plan_waits(p, l->in[i]));
		for (uint32_t c = 0; c < child.nodes && !failed; c++)
			if (child.after.first[c] == child.after.first[c + 1])
				failed = plan_waits(p, child.out[c]);
		reason = failed ? NO_MEMORY : NULL;
	}
	level_free(&child);
	return reason;
}

static const char *read_kernel(struct reading *r, struct level *l, uint32_t i)
{
	struct graph_plan *p = &r->g->plan;
	uint32_t at = l->in[i];

	while (r->room <= at)
		if (grow(&r->made, &r->room, r->room, sizeof(*r->made)))
			return NO_MEMORY;
	r->made[at] = l->node[i];
	p->node[at].kernel.record = p->kernels++;
	return NULL;
}

static const char *read_copy(struct reading *r, struct level *l, uint32_t i)
{
	CUDA_MEMCPY3D m;

	if (real.cuGraphMemcpyNodeGetParams(l->node[i], &m) != CUDA_SUCCESS)
		return "the driver does not tell what it copies";
	return graph_copies(&r->g->plan.node[l->in[i]], &m) ? NO_MEMORY : NULL;
}

static const char *read_set(struct reading *r, struct level *l, uint32_t i)
{
	CUDA_MEMSET_NODE_PARAMS m;

	if (real.cuGraphMemsetNodeGetParams(l->node[i], &m) != CUDA_SUCCESS)
		return "the driver does not tell what it sets";
	return graph_sets(&r->g->plan.node[l->in[i]], m.dst, m.pitch, m.width * m.elementSize, m.height) ? NO_MEMORY : NULL;
}

/* By type; those that are not here are GRAPH_OTHER. */
static const struct kind { CUgraphNodeType type; enum graph_kind kind; const char *(*read)(struct reading *r, struct level *l, uint32_t i); } kinds[] = {
	{CU_GRAPH_NODE_TYPE_KERNEL, GRAPH_KERNEL, read_kernel},
	{CU_GRAPH_NODE_TYPE_MEMCPY, GRAPH_COPY, read_copy},
	{CU_GRAPH_NODE_TYPE_MEMSET, GRAPH_COPY, read_set},
	{CU_GRAPH_NODE_TYPE_GRAPH, GRAPH_NOTHING, read_child},
	{CU_GRAPH_NODE_TYPE_EMPTY, GRAPH_NOTHING, NULL},
	{CU_GRAPH_NODE_TYPE_EVENT_RECORD, GRAPH_NOTHING, NULL},
};

static struct kind kind_of(CUgraphNodeType type)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == type)
			return kinds[i];
	return (struct kind){type, GRAPH_OTHER, NULL};
}

static const char *read_node(struct reading *r, struct level *l, uint32_t i, uint32_t entry)
{
	CUgraphNodeType type;

	if (real.cuGraphNodeGetType(l->node[i], &type) != CUDA_SUCCESS)
		return "the driver does not tell what its nodes are";
	struct kind kind = kind_of(type);
	uint32_t at = l->in[i] = l->out[i] = plan_add(&r->g->plan, kind.kind);
	if (at == NOWHERE || level_waits(l, &r->g->plan, i, entry))
		return NO_MEMORY;
	return kind.read ? kind.read(r, l, i) : NULL;
}

static const char *read_level(struct reading *r, CUgraph graph, struct level *l, uint32_t entry)
{
	const char *reason = level_ask(l, graph);
	size_t queued = 0;

	if (reason)
		return reason;
	for (uint32_t i = 0; i < l->nodes; i++) {
		l->waits[i] = l->before.first[i + 1] - l->before.first[i];
		if (!l->waits[i])
			l->queue[queued++] = i;
	}
	for (size_t done = 0; done < queued && !reason; done++) {
		uint32_t i = l->queue[done];
		reason = read_node(r, l, i, entry);
		for (uint32_t e = l->after.first[i]; e < l->after.first[i + 1]; e++)
			if (!--l->waits[l->after.edge[e].other])
				l->queue[queued++] = l->after.edge[e].other;
	}
	return reason;
}

/* The handles by which the program knows the nodes of its own graph. */
static const char *read_handles(struct graph_plan *p, CUgraph program, CUgraph copy, const struct level *l)
{
	CUgraphNode *node = calloc(l->nodes + 1, sizeof(*node)), made;
	size_t count = l->nodes;

	p->handle = calloc(l->nodes + 1, sizeof(*p->handle));
	int told = node && p->handle && (!count || real.cuGraphGetNodes(program, node, &count) == CUDA_SUCCESS);
	for (size_t i = 0; told && i < count; i++) {
		uint32_t at = real.cuGraphNodeFindInClone(&made, node[i], copy) == CUDA_SUCCESS ? handle_find(l->handle, l->nodes, made) : NOWHERE;
		if (at != NOWHERE)
			p->handle[p->handles++] = (struct graph_handle){node[i], l->in[at]};
	}
	qsort(p->handle, p->handles, sizeof(*p->handle), handle_order);
	free(node);
	return told ? NULL : NO_MEMORY;
}

/* What it takes to replay it. */
static const char *graph_room(struct graph *g)
{
	struct graph_plan *p = &g->plan;

	for (uint32_t i = 0; i < p->nodes; i++)
		p->takes_tags += p->node[i].kind == GRAPH_KERNEL || p->node[i].kind == GRAPH_COPY;
	if (p->takes_tags > 1u << (g->flow->clock.tags.bits - 2))
		return "it has more kernels and copies than a quarter of the launch tags";
	free(g->kept);
	free(g->seq);
	g->kept = calloc(p->kept + 2, sizeof(*g->kept));
	g->seq = calloc(p->nodes + 1, sizeof(*g->seq));
	if (!g->kept || !g->seq)
		return NO_MEMORY;
	if (p->kernels && !g->records)
		g->records = records_new(g->flow, p->kernels);
	return NULL;
}

static void read_kernels(struct reading *r)
{
	struct graph_plan *p = &r->g->plan;
	CUDA_KERNEL_NODE_PARAMS params;

	for (uint32_t at = 0; at < p->nodes; at++) {
		struct graph_kernel *k = &p->node[at].kernel;
		if (p->node[at].kind != GRAPH_KERNEL)
			continue;
		const struct graph_set to = {.set = set_in_graph, .node = r->made[at]};
		struct function *fn = NULL;
		if (real.cuGraphKernelNodeGetParams_v2(r->made[at], &params) == CUDA_SUCCESS)
			fn = graph_kernel(r->g, k, &to, &params);
		else
			k->reason = "the driver does not tell its parameters";
		if (k->reason)
			launch_say(r->g->flow, fn, k->reason);
	}
}

const char *graph_read(struct graph *g, CUgraph program, CUgraph copy)
{
	struct reading r = {.g = g};
	struct level top = {.nodes = 0};
	const char *reason = read_level(&r, copy, &top, NOWHERE);

	if (!reason)
		reason = read_handles(&g->plan, program, copy, &top);
	if (!reason) {
		plan_chains(&g->plan);
		reason = graph_room(g);
	}
	if (!reason)
		read_kernels(&r);
	level_free(&top);
	free(r.made);
	return reason;
}
