/* The launch record of a graph's node, in a replay whose launches have numbers in one row. What does not change from replay to replay is told once, as a
 * record, too: there `seq` counts from the first launch of the replay, `stream` is the chain, `writers` is 0 or not, of the order there is the floor of the
 * own participant, counted likewise, as if nothing else were under way, and pairs of what is before in each chain, the greatest first. `base` is a record
 * of the replay's first launch, whose order holds what is before all of it. */
#ifndef GSAN_DEVICE_NODE_H
#define GSAN_DEVICE_NODE_H

#include "device/layout.h"

#define GSAN_CHAINS 24u /* of a graph, with slots of their own; further ones count as one */

struct gsan_replay {
	struct gsan_launch base;
	uint8_t slot[GSAN_CHAINS]; /* by chain */
};
_Static_assert(sizeof(struct gsan_replay) == 504, "range.ptx declares this many parameter bytes");

/* What is before node and all of the replay's other launches is below the base's number, or told in pairs: if everything below is before, so is what
 * is below the node's own floor. Otherwise the floor stands, and the pairs say all. */
static inline void gsan_node_order(const struct gsan_replay *r, const struct gsan_launch *node, struct gsan_order *to)
{
	const struct gsan_launch *base = &r->base;
	uint32_t p = base->participant, all = base->order.floor[p] >= base->seq, least = all ? node->order.floor[p] : 0, pairs = 0;

	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		to->floor[q] = base->order.floor[q];
	to->floor[p] += least;
	to->flags = base->order.flags;
	for (; pairs < node->order.pairs && node->order.pair[pairs].seq >= least; pairs++) {
		const struct gsan_pair *pair = &node->order.pair[pairs];
		to->pair[pairs] = (struct gsan_pair){.participant = (uint8_t)p, .stream = r->slot[pair->stream], .seq = base->seq + pair->seq};
	}
	for (uint32_t i = 0; i < base->order.pairs; i++) /* the driver has seen to it that there is room */
		to->pair[pairs++] = base->order.pair[i];
	to->pairs = pairs;
}

static inline void gsan_node_record(const struct gsan_replay *r, const struct gsan_launch *node, struct gsan_launch *to)
{
	const struct gsan_launch *base = &r->base;

	to->abi = base->abi;
	to->seq = base->seq + node->seq;
	to->tag = (uint16_t)(base->tag + node->seq);
	to->participant = base->participant;
	to->stream = r->slot[node->stream];
	to->kernel = node->kernel;
	to->mapped = base->mapped;
	to->tag_bits = base->tag_bits;
	to->warp_bits = node->warp_bits;
	to->gpu = base->gpu;
	to->rank_bits = base->rank_bits;
	to->seed = base->seed;
	to->view_table = base->view_table;
	to->ring = base->ring;
	to->writers = node->writers ? base->writers : 0;
	to->workspace = 0;
	to->swept = base->swept;
	to->first_epoch = base->first_epoch;
	to->lifted = base->lifted;
	to->at = 0;
	to->held = base->held;
	gsan_node_order(r, node, &to->order);
	to->quick = gsan_quick(to);
}

#endif
