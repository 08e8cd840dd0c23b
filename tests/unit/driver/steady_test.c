/* Graphs that are numbered at once have the order that they have node by node: random ones, replayed beside random launches, waits and waits of the host in two
 * clocks, one for each way, in which every launch is asked of every launch before it. `steady_test [GRAPHS]`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/vec.h"
#include "driver/graph.h"

enum { STREAMS = 6, NODES = 24, REPLAYS = 12, LAUNCHES = 600 };

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: graph %u: %s\n", __FILE__, __LINE__, seed, #condition); \
			exit(1); \
		} \
	} while (0)

static uint32_t seed;
static uint64_t state;
static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

/* Two clocks, of which the second takes graphs at once, and all launches. */
static struct clock *of[2];
static uint32_t slot[STREAMS + GRAPH_CHAINS];
static struct launched { uint32_t slot, seq; struct gsan_order order[2]; } launched[LAUNCHES];
static uint32_t launches;

static int has(const struct gsan_order *o, const struct launched *l)
{
	int is = o->flags & GSAN_ORDER_UNKNOWN || l->seq < o->floor[0];

	for (uint32_t i = 0; i < o->pairs; i++)
		is |= o->pair[i].participant == 0 && o->pair[i].stream == l->slot && l->seq <= o->pair[i].seq;
	return is;
}

static void judge(uint32_t from)
{
	for (uint32_t i = from; i < launches; i++)
		for (uint32_t j = 0; j < launches; j++)
			CHECK(has(&launched[i].order[0], &launched[j]) == has(&launched[i].order[1], &launched[j]));
}

static void launch(uint32_t in)
{
	struct launched *l = &launched[launches++];
	uint32_t half, seq;

	*l = (struct launched){.slot = in};
	CHECK(!clock_launch(of[0], in, CLOCK_CHECKED, &l->seq, &l->order[0], &half));
	CHECK(!clock_launch(of[1], in, CLOCK_CHECKED, &seq, &l->order[1], &half) && seq == l->seq);
	judge(launches - 1);
}

/* As in a plan (graph.c): a node goes on in the chain of one that it waits for, if that was its end. */
static void plan(struct graph *g)
{
	struct graph_plan *p = &g->plan;

	p->nodes = 1 + below(NODES);
	p->node = calloc(p->nodes, sizeof(*p->node));
	p->before = calloc((size_t)p->nodes * p->nodes, sizeof(*p->before));
	for (uint32_t at = 0; at < p->nodes; at++) {
		struct graph_node *n = &p->node[at];
		*n = (struct graph_node){.kind = below(6) ? GRAPH_KERNEL : GRAPH_NOTHING, .off = !below(8), .first = p->befores, .chain = UINT32_MAX};
		n->kernel.shape.unseen = !below(4);
		n->kernel.record = n->kind == GRAPH_KERNEL ? p->kernels++ : 0;
		for (uint32_t before = at > 5 ? at - 5 : 0; before < at; before++)
			if (!below(3)) {
				p->before[p->befores++] = before;
				n->count++;
				uint32_t chain = p->node[before].chain;
				n->chain = p->tail[chain] == before && chain < n->chain ? chain : n->chain;
			}
		n->chain = n->chain != UINT32_MAX ? n->chain : p->chains < GRAPH_CHAINS ? p->chains++ : GRAPH_CHAINS - 1;
		p->tail[n->chain] = at;
		n->kept = ++p->kept;
	}
	g->kept = calloc(p->kept + 1, sizeof(*g->kept));
}

static void replay_each(struct graph *g, const uint32_t *in, struct clock_vec *end)
{
	const struct graph_plan *p = &g->plan;
	uint32_t half;

	clock_wait(of[0], in[0], end);
	clock_record(of[0], in[0], &g->kept[0]);
	for (uint32_t at = 0; at < p->nodes; at++) {
		const struct graph_node *n = &p->node[at];
		struct launched *l = &launched[launches];
		graph_waits(g, n, of[0], in);
		if (graph_does(n)) {
			l->slot = in[n->chain];
			CHECK(!clock_launch(of[0], l->slot, CLOCK_CHECKED, &l->seq, &l->order[0], &half));
			launches++;
		}
		clock_record(of[0], in[n->chain], &g->kept[n->kept]);
	}
	for (uint32_t chain = 1; chain < p->chains; chain++)
		clock_wait(of[0], in[0], &g->kept[p->node[p->tail[chain]].kept]);
	clock_record(of[0], in[0], end);
}

static void replay_at_once(struct graph *g, const struct steady *s, const uint32_t *in, struct clock_vec *end)
{
	const struct launched *first = &launched[launches - s->block.count], *l = first;
	struct gsan_replay all = {.base = {.writers = 1, .tag_bits = 15}};
	struct gsan_launch record;
	uint32_t half;

	for (uint32_t chain = 0; chain < g->plan.chains; chain++)
		all.slot[chain] = (uint8_t)in[chain];
	clock_wait(of[1], in[0], end);
	CHECK(!clock_launch_block(of[1], &s->block, &all.base.seq, &all.base.order, &half) && all.base.seq == first->seq);
	for (uint32_t at = 0; at < g->plan.nodes; at++) {
		const struct graph_node *n = &g->plan.node[at];
		if (!graph_does(n))
			continue;
		gsan_node_record(&all, &s->node[n->kernel.record], &record);
		CHECK(record.seq == l->seq && record.stream == l->slot && record.quick == gsan_quick(&record));
		CHECK(record.writers == !n->kernel.shape.unseen);
		launched[l++ - launched].order[1] = record.order;
	}
	clock_record(of[1], in[0], end);
}

static void host(uint32_t in, uint32_t in_all)
{
	struct clock_vec mark;

	for (int i = 0; i < 2; i++) {
		if (in_all)
			clock_mark_all(of[i], &mark);
		else
			clock_mark(of[i], in, &mark);
		clock_host_join(of[i], &mark);
	}
}

static void edge(uint32_t from, uint32_t to)
{
	struct clock_vec event;

	for (int i = 0; i < 2; i++) {
		clock_record(of[i], from, &event);
		clock_wait(of[i], to, &event);
	}
}

static void unknown(uint32_t in)
{
	launch(in);
	for (int i = 0; i < 2; i++)
		clock_wait_unknown(of[i], in, launched[launches - 1].seq);
}

static void something(void)
{
	uint32_t in = slot[below(STREAMS)], other = slot[below(STREAMS)];

	switch (below(12)) {
	case 0: host(in, 0); break;
	case 1: host(in, !below(3)); break;
	case 2: below(8) ? launch(other) : unknown(in); break;
	case 3: case 4: case 5: edge(in, other); break;
	default: launch(in);
	}
}

static void test(void)
{
	struct graph g = {.flow = aligned_alloc(_Alignof(struct flow), sizeof(struct flow))};
	struct clock_vec end[2] = {{.beside = 0}};
	uint32_t branch[STREAMS][GRAPH_CHAINS];

	launches = 0;
	g.flow->clock.participant = 0;
	g.flow->clock.tags.bits = 15;
	plan(&g);
	for (int i = 0; i < 2; i++)
		clock_init(of[i], NULL, 0, 15);
	for (uint32_t s = 0; s < STREAMS; s++)
		for (int i = 0; i < 2 && s; i++) /* the first is the legacy default stream */
			slot[s] = clock_slot_open(of[i], s % 2);
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t chain = 0; chain < g.plan.chains; chain++)
			for (int i = 0; i < 2; i++)
				branch[s][chain] = chain ? clock_slot_open(of[i], 0) : slot[s + (seed & 1)];
	for (uint32_t r = 0; r < REPLAYS && launches + 2 * NODES < LAUNCHES; r++) {
		for (uint32_t more = below(10); more; more--)
			something();
		const uint32_t *in = branch[below(2)], from = launches;
		const struct steady *s = steady_of(&g, in);
		if (!s)
			break;
		replay_each(&g, in, &end[0]);
		CHECK(launches - from == s->block.count);
		replay_at_once(&g, s, in, &end[1]);
		judge(from);
	}
	for (int i = 0; i < 2; i++)
		clock_destroy(of[i]);
	steady_forget(&g.steady);
	free(g.flow);
	free(g.kept);
	free(g.plan.node);
	free(g.plan.before);
}

int main(int argc, char **argv)
{
	uint32_t graphs = argc > 1 ? (uint32_t)atoi(argv[1]) : 400;

	for (int i = 0; i < 2; i++)
		of[i] = malloc(sizeof(*of[i]));
	for (seed = 0; seed < graphs; seed++) {
		state = seed;
		test();
	}
	for (int i = 0; i < 2; i++)
		free(of[i]);
	return 0;
}
