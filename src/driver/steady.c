#include "driver/steady.h"

#include <stdlib.h>
#include <string.h>

#include "driver/graph.h"

void steady_forget(struct steady *s)
{
	free(s->slot);
	free(s->node);
	*s = (struct steady){.known = 0};
}

void graph_waits(const struct graph *g, const struct graph_node *n, struct clock *c, const uint32_t *slot)
{
	const struct graph_plan *p = &g->plan;

	if (!n->count && n->chain)
		clock_wait(c, slot[n->chain], &g->kept[0]);
	for (uint32_t i = n->first; i < n->first + n->count; i++) {
		const struct graph_node *before = &p->node[p->before[i]];
		if (before->chain != n->chain)
			clock_wait(c, slot[n->chain], &g->kept[before->kept]);
	}
}

static int node_fits(const struct graph_node *n)
{
	return !graph_does(n) || (n->kind == GRAPH_KERNEL && !n->kernel.reason && !n->kernel.shape.cooperative);
}

static uint32_t launches_of(const struct graph_plan *p)
{
	uint32_t launches = 0;

	for (uint32_t at = 0; at < p->nodes; at++) {
		if (!node_fits(&p->node[at]))
			return 0;
		launches += graph_does(&p->node[at]) != 0;
	}
	return launches;
}

/* What is before in each chain, for which slots of that clock stand: the greatest number first. */
static void node_pairs(struct gsan_order *order, const struct clock_vec *before, const uint32_t *slot, uint32_t chains)
{
	order->pairs = 0;
	for (uint32_t chain = 0; chain < chains; chain++) {
		uint32_t seq = before->seen[slot[chain]], i = order->pairs;
		if (!seq)
			continue;
		for (; i && order->pair[i - 1].seq < seq - 1; i--)
			order->pair[i] = order->pair[i - 1];
		order->pair[i] = (struct gsan_pair){.stream = (uint8_t)chain, .seq = seq - 1};
		order->pairs++;
	}
}

static void node_launched(struct graph *g, const struct graph_node *n, struct clock *c, const uint32_t *slot)
{
	struct steady *s = &g->steady;
	struct clock_chain *chain = &s->chain[n->chain];
	const struct launch_shape *shape = &n->kernel.shape;
	struct gsan_launch *node = &s->node[n->kernel.record];
	struct clock_vec before;
	struct gsan_order order;
	uint32_t seq, half, p = g->flow->clock.participant;

	clock_record(c, slot[n->chain], &before);
	clock_launch(c, slot[n->chain], CLOCK_CHECKED, &seq, &order, &half);
	*node = (struct gsan_launch){.seq = seq - 1, .stream = (uint8_t)n->chain, .kernel = shape->kernel, .warp_bits = shape->warp_bits,
			.writers = !shape->unseen};
	node_pairs(&node->order, &before, slot, g->plan.chains);
	node->order.floor[p] = order.floor[p] - 1;
	if (s->block.pairs < node->order.pairs)
		s->block.pairs = node->order.pairs;
	if (!chain->first)
		chain->first = seq;
	chain->previous = chain->last;
	chain->last = seq;
	if (shape->unseen)
		s->writes[n->chain] = seq;
}

static void steady_number(struct graph *g, struct clock *c)
{
	const struct graph_plan *p = &g->plan;
	uint32_t slot[GRAPH_CHAINS];

	for (uint32_t chain = 0; chain < p->chains; chain++)
		slot[chain] = clock_slot_open(c, 0);
	clock_record(c, slot[0], &g->kept[0]);
	for (uint32_t at = 0; at < p->nodes; at++) {
		const struct graph_node *n = &p->node[at];
		graph_waits(g, n, c, slot);
		if (graph_does(n))
			node_launched(g, n, c, slot);
		if (n->kept)
			clock_record(c, slot[n->chain], &g->kept[n->kept]);
	}
}

static void steady_find(struct graph *g)
{
	struct steady *s = &g->steady;
	uint32_t launches = launches_of(&g->plan);
	struct clock *c = launches ? calloc(1, sizeof(*c)) : NULL;

	s->known = 1;
	s->slot = c ? malloc(launches) : NULL;
	s->node = c ? calloc(g->plan.kernels, sizeof(*s->node)) : NULL;
	if (s->slot && s->node && !clock_init(c, NULL, g->flow->clock.participant, g->flow->clock.tags.bits)) {
		steady_number(g, c);
		clock_destroy(c);
		s->block.count = launches;
	}
	free(c);
}

static void steady_place(struct steady *s, const struct graph_plan *p, const uint32_t *slot)
{
	uint32_t launch = 0;

	for (uint32_t at = 0; at < p->nodes; at++)
		if (graph_does(&p->node[at]))
			s->slot[launch++] = (uint8_t)slot[p->node[at].chain];
	for (uint32_t chain = 0; chain < p->chains; chain++)
		s->chain[chain].slot = slot[chain];
	s->block.chains = p->chains;
	s->block.chain = s->chain;
	s->block.slot = s->slot;
	s->slots_known = 1;
}

/* Each chain has a slot of its own, whose launches are in the order of their numbers. */
static int slots_differ(const uint32_t *slot, uint32_t chains)
{
	uint64_t used = 1ull << CLOCK_SHARED;

	for (uint32_t chain = 0; chain < chains; chain++) {
		if (used >> slot[chain] & 1)
			return 0;
		used |= 1ull << slot[chain];
	}
	return 1;
}

struct steady *steady_of(struct graph *g, const uint32_t *slot)
{
	struct steady *s = &g->steady;

	if (!s->known)
		steady_find(g);
	if (!s->block.count || !slots_differ(slot, g->plan.chains))
		return NULL;
	if (!s->slots_known || s->chain[0].slot != slot[0])
		steady_place(s, &g->plan, slot);
	return s;
}
