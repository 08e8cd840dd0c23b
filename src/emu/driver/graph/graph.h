/* graph: CUDA graphs and stream capture.
 *
 *   graph.c     graphs, their nodes and edges          kind.c    what a node of each type checks, keeps and puts into a stream
 *   node.c      nodes' parameters and attributes       exec.c    executable graphs, and their launches
 *   update.c    changes of executable graphs           capture.c streams whose work becomes nodes
 *   live.c      which handles are alive                dot.c     a graph as text       object.c  user objects
 *
 * A node keeps the driver's own structure of its parameters; what that points to is the node's. A launch puts the nodes into streams of
 * the executable graph's own, one for each chain of them, which recordings join as events would (exec.c): so the scheduler, the trace
 * and errors need to know nothing of graphs. Conditional nodes, launches by devices, external semaphores, and nodes that allocate or
 * free memory are refused with CUDA_ERROR_NOT_SUPPORTED. What cuda.h leaves open is done as an H200 did it (driver 580.159, 2026-11-27)
 * where a comment says so.
 *
 * All of it is under the driver's lock. */
#ifndef GSAN_EMU_DRIVER_GRAPH_GRAPH_H
#define GSAN_EMU_DRIVER_GRAPH_GRAPH_H

#include "emu/driver/process.h"

struct emu_capture;
struct emu_object_use;

struct emu_edge { CUgraphNode node; CUgraphEdgeData data; };
struct emu_edges { struct emu_edge *at; size_t count, room; };

struct CUgraphNode_st {
	CUgraph graph;
	uint64_t serial, original;      /* number in the process; of the node that it was cloned from, or 0 */
	CUgraphNodeParams params;
	CUcontext context;              /* NULL: it was added without one, and needs none */
	CUlaunchAttribute *attribute;   /* of a kernel */
	unsigned attributes;
	struct emu_edges before, after; /* in the order in which they were added */
	int disabled;                   /* in an executable graph */
	size_t place;                   /* scratch of whoever walks over the graph */
};
struct CUgraph_st {
	unsigned id;
	CUgraphNode *node;              /* in the order of creation */
	size_t nodes, room;
	CUgraphNode parent;             /* whose child graph it is, or NULL */
	struct emu_capture *capture;    /* that adds to it, or NULL */
	struct emu_object_use *objects;
};

/* Edges as a list that grows; -1: out of memory. */
int emu_edges_add(struct emu_edges *e, CUgraphNode node, const CUgraphEdgeData *data); /* data: or NULL */
int emu_edges_hold(const struct emu_edges *e, CUgraphNode node);

CUgraph emu_graph_new(void); /* NULL: out of memory */
void emu_graph_free(CUgraph g);
CUresult emu_graph_clone(CUgraph g, CUgraph *clone);
/* All nodes so that each stands behind those it depends on; there is room for g->nodes. Returns how many: fewer than all, the rest is
 * in cycles or behind them. */
size_t emu_graph_order(CUgraph g, CUgraphNode *order);

/* What a node is made of: it is checked, and what it points to copied. */
struct emu_node_work {
	const CUgraphNodeParams *params;
	CUcontext context;
	const CUlaunchAttribute *attribute;
	unsigned attributes;
};
CUresult emu_node_add(CUgraph g, const struct emu_edges *before, const struct emu_node_work *w, CUgraphNode *node);
CUresult emu_node_change(CUgraphNode n, const struct emu_node_work *w); /* to parameters of its type */
CUresult emu_node_attributes(CUgraphNode n, const CUlaunchAttribute *attribute, unsigned count); /* of a kernel, instead of its own */

#endif
