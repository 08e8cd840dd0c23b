/* Graphs of checked kernels alone: what of their replays stays the same. Their launches get numbers in one row, so that all records follow from one, and
 * from what each node is told once (device/node.h), found by numbering the nodes in a clock of their own. Any other graph's nodes are numbered one by one
 * (replay.c). */
#ifndef GSAN_DRIVER_STEADY_H
#define GSAN_DRIVER_STEADY_H

#include "device/node.h"
#include "driver/flow.h"

struct graph;
struct graph_node;

struct steady {
	int known;                  /* of the plan as it is */
	struct clock_block block;   /* no launches: the graph has other nodes, too */
	struct clock_chain chain[GSAN_CHAINS];
	uint32_t writes[GSAN_CHAINS]; /* of each chain the last with unchecked instructions, counted from 1; 0: there is none */
	uint8_t *slot;              /* of each launch, */
	int slots_known;            /* in the streams of the newest replay */
	struct gsan_launch *node;   /* by record */
	int told;                   /* the device was (records.h) */
};

/* For a replay in these slots; g->lock is held. NULL: its nodes are to be numbered one by one. */
struct steady *steady_of(struct graph *g, const uint32_t *slot);
void steady_forget(struct steady *s); /* the plan changes */

/* The slot of the node's chain waits for what the node waits for of other chains, in a clock where these are the chains' slots. */
void graph_waits(const struct graph *g, const struct graph_node *n, struct clock *c, const uint32_t *slot);

#endif
