/* Executable graphs: a clone of a graph, laid out as chains of nodes, each of which has a stream of its own. */
#ifndef GSAN_EMU_DRIVER_GRAPH_EXEC_H
#define GSAN_EMU_DRIVER_GRAPH_EXEC_H

#include "emu/driver/graph/graph.h"
#include "emu/driver/work.h"

/* One node, or the begin or the end of a child graph's nodes. */
struct emu_step {
	CUgraphNode node;                   /* NULL: begin or end */
	size_t *before, befores;            /* steps that it waits for */
	size_t stream;
	int continues;                      /* it is behind the first of `before` in the same stream */
	int told;                           /* somebody in another stream waits for it, */
	int ends;                           /* who is behind the launch, if nobody else */
	struct emu_recording *recording;    /* while a launch is put together */
};
struct CUgraphExec_st {
	CUgraphExec next;                   /* of those that wait for their last launch to end, to be freed */
	CUgraph graph;
	unsigned long long flags;
	struct emu_step *step;
	size_t steps, step_room;
	CUstream *stream;
	size_t streams;
	struct emu_recording *last;         /* the end of the latest launch; NULL: none */
};

/* The clone of a node of the graph, or of its child graphs, that the executable graph was made of; NULL: there is none. */
CUgraphNode emu_exec_node(CUgraphExec x, CUgraphNode original);

#endif
