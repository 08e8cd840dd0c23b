/* Reads-from, then Fence-SC order. After every choice the causality that follows so far is closed and the axioms that can
 * already be judged are: causality, values and dependencies only grow, so what is wrong now stays wrong. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct level { struct order cause, flow; }; /* as they were before the choice of this depth */
struct solver { struct graph *g; struct level *level; uint32_t levels; struct order *flow; };

/* A step's work grows with the square of what there is to order. */
bool step_counted(struct graph *g)
{
	g->verdict->steps += 1 + (uint64_t)(g->nodes / 20) * (g->nodes / 20);
	if (g->verdict->steps <= g->o->limit)
		return true;
	g->stopped = "more executions than the limit";
	return false;
}

/* ---- 8.9.2, 8.9.4 ------------------------------------------------------------------------------------------------- */
/* Of two heads in program order that are alike, the later releases all that the earlier does. */
static void end_add(const struct graph *g, struct ends *ends, uint32_t event, bool latest)
{
	const struct event *e = &g->event[event];

	for (uint32_t i = 0; i < ends->number; i++) {
		const struct event *other = &g->event[ends->event[i]];

		if (other->scope != e->scope || other->fence != e->fence)
			continue;
		if (latest ? other->seq < e->seq : other->seq > e->seq)
			ends->event[i] = event;
		return;
	}
	ends->event[ends->number++] = event;
}

static void patterns(struct graph *g)
{
	for (uint32_t at = 0; at < g->events; at++) {
		g->heads[at].number = g->tails[at].number = 0;
		if (!g->event[at].memory)
			continue;
		for (uint32_t end = 0; end < g->nodes; end++) {
			if (release_begins(&g->event[end], &g->event[at]))
				end_add(g, &g->heads[at], end, true);
			if (acquire_ends(&g->event[at], &g->event[end]))
				end_add(g, &g->tails[at], end, false);
		}
	}
}

/* By warps, what races within a CTA is not looked for: there, the same location is enough, as in program order. */
static bool linked(const struct graph *g, const struct event *write, const struct event *read)
{
	return morally_strong(g, write, read) || (g->o->unit == AX_WARP && write->launch == read->launch && write->cta == read->cta &&
						  same_location(write, read) && !read->nc);
}

static void observe(struct graph *g, uint32_t read)
{
	uint32_t at = read, write = source_of(g, &g->event[read]);

	while (write != SOURCE_OPEN && write != SOURCE_INIT && linked(g, &g->event[write], &g->event[at])) {
		g->observed[g->observations] = (struct observation){write, read, g->observed_first[write]};
		g->observed_first[write] = (uint32_t)g->observations++;
		if (!g->event[write].rmw)
			return;
		at = write;
		write = source_of(g, &g->event[at]);
	}
}

static bool synchronize(struct graph *g, const struct ends *heads, const struct ends *tails)
{
	for (uint32_t h = 0; h < heads->number; h++)
		for (uint32_t t = 0; t < tails->number; t++) {
			uint32_t head = heads->event[h], tail = tails->event[t];

			if (morally_strong(g, &g->event[head], &g->event[tail]) && !order_add(&g->cause, head, tail))
				return false;
		}
	return true;
}

static bool propagate(struct graph *g)
{
	g->observations = 0;
	memset(g->observed_first, 0xff, g->nodes * sizeof(*g->observed_first));
	for (size_t slot = 0; slot < g->slots; slot++)
		if (g->slot_cell[slot] == g->event[g->slot_event[slot]].cell)
			observe(g, g->slot_event[slot]);
	for (size_t i = 0; i < g->observations; i++)
		if (!synchronize(g, &g->heads[g->observed[i].write], &g->tails[g->observed[i].read]))
			return false;
	return true;
}

/* ---- what can be judged before all is chosen ----------------------------------------------------------------------- */
/* 8.10.6, with the coherence order that causality alone gives. */
static bool slot_causal(const struct graph *g, size_t slot)
{
	uint32_t read = g->slot_event[slot], source = g->source[slot];
	const struct event *r = &g->event[read];

	if (source != SOURCE_INIT && causes(g, read, source))
		return false;
	for (size_t i = 0; i < r->nears; i++) {
		uint32_t w = r->near[i];

		if (w == source || !covers(&g->event[w], g->slot_cell[slot]))
			continue;
		if ((source == SOURCE_INIT || causes(g, source, w)) && causes_read(g, w, read))
			return false;
	}
	return true;
}

/* 8.10.3: of two morally strong atomics that read one write, the later would skip the other. */
static bool slot_atomic(const struct graph *g, size_t slot)
{
	const struct event *a = &g->event[g->slot_event[slot]];
	uint32_t source = g->source[slot];

	if (!a->rmw || (source != SOURCE_INIT && !morally_strong(g, &g->event[source], a)))
		return true;
	for (size_t i = 0; i < a->nears; i++) {
		const struct event *b = &g->event[a->near[i]];

		if (b->rmw && morally_strong(g, a, b) && g->source[b->slot + (g->slot_cell[slot] - b->cell)] == source &&
		    (source == SOURCE_INIT || morally_strong(g, &g->event[source], b)))
			return false;
	}
	return true;
}

static bool sources_possible(const struct graph *g)
{
	for (size_t slot = 0; slot < g->slots; slot++)
		if (g->source[slot] != SOURCE_OPEN && (!slot_causal(g, slot) || !slot_atomic(g, slot)))
			return false;
	return true;
}

/* ---- Fence-SC ------------------------------------------------------------------------------------------------------- */
static struct level *level_save(struct solver *s, uint32_t depth)
{
	struct graph *g = s->g;

	if (depth >= s->levels) {
		struct level *more = realloc(s->level, (depth + 16) * sizeof(*more));

		if (!more) {
			g->failed = -ENOMEM;
			return NULL;
		}
		memset(more + s->levels, 0, (depth + 16 - s->levels) * sizeof(*more));
		s->level = more;
		s->levels = depth + 16;
	}
	if (!s->level[depth].cause.row &&
	    (order_open(&s->level[depth].cause, g->cause.n) || order_open(&s->level[depth].flow, g->flow.n))) {
		g->failed = -ENOMEM;
		return NULL;
	}
	order_copy(&s->level[depth].cause, &g->cause);
	order_copy(&s->level[depth].flow, &g->flow);
	return &s->level[depth];
}

static void level_restore(struct solver *s, uint32_t depth)
{
	order_copy(&s->g->cause, &s->level[depth].cause);
	order_copy(&s->g->flow, &s->level[depth].flow);
}

/* False: all that was asked is known. */
static bool executed(struct graph *g)
{
	const struct ax_verdict *v = g->verdict;
	bool found = false;

	if (!coherence_find(g, &found))
		return false;
	if (!found)
		return true;
	race_judge(g);
	if (g->failed || g->o->until == AX_PERMITTED)
		return false;
	return g->o->until == AX_ALL || !v->racy || v->racy == v->executions;
}

static bool sc_pair_open(const struct graph *g, struct edge *pair)
{
	for (uint32_t a = 0; a < g->events; a++)
		for (uint32_t b = a + 1; g->event[a].sc && b < g->events; b++)
			if (g->event[b].sc && morally_strong(g, &g->event[a], &g->event[b]) && !order_has(&g->cause, a, b) &&
			    !order_has(&g->cause, b, a)) {
				*pair = (struct edge){a, b};
				return true;
			}
	return false;
}

/* A fence.sc synchronizes with those behind it in Fence-SC order, so that base causality must hold that order (8.10.2). */
static bool choose_sc(struct solver *s, uint32_t depth)
{
	struct graph *g = s->g;
	struct edge pair;

	if (!sc_pair_open(g, &pair))
		return executed(g);
	for (int turned = 0; turned < 2; turned++) {
		if (!step_counted(g) || !level_save(s, depth))
			return false;
		order_add(&g->cause, turned ? pair.to : pair.from, turned ? pair.from : pair.to);
		if (sources_possible(g) && !choose_sc(s, depth + 1))
			return false;
		level_restore(s, depth);
	}
	return true;
}

/* ---- reads-from ------------------------------------------------------------------------------------------------------ */
static bool choose_source(struct solver *s, uint32_t slot);

/* The slot reads `source`. False: stop the search. */
static bool try_source(struct solver *s, uint32_t slot, uint32_t source)
{
	struct graph *g = s->g;
	uint32_t read = g->slot_event[slot];
	bool on = true;

	if (!step_counted(g) || !level_save(s, slot))
		return false;
	g->source[slot] = source;
	if ((source == SOURCE_INIT || order_add(&g->flow, source, read)) && /* 8.10.4 */
	    propagate(g) && sources_possible(g) && constraints_hold(g) && outcome_possible(g))
		on = choose_source(s, slot + 1);
	g->source[slot] = SOURCE_OPEN;
	level_restore(s, slot);
	return on;
}

static bool choose_source(struct solver *s, uint32_t slot)
{
	struct graph *g = s->g;
	const struct event *read;

	if (slot == g->slots)
		return choose_sc(s, slot);
	read = &g->event[g->slot_event[slot]];
	if (!try_source(s, slot, SOURCE_INIT))
		return false;
	for (size_t i = 0; i < read->nears; i++)
		if (covers(&g->event[read->near[i]], g->slot_cell[slot]) && !try_source(s, slot, read->near[i]))
			return false;
	return true;
}

static int open_execution(struct graph *g)
{
	size_t reads = g->slots + 1;

	g->source = malloc(reads * sizeof(*g->source));
	g->observed = malloc(reads * reads * sizeof(*g->observed));
	g->observed_first = malloc((g->nodes + 1) * sizeof(*g->observed_first));
	g->heads = malloc((g->events + 1) * sizeof(*g->heads));
	g->tails = malloc((g->events + 1) * sizeof(*g->tails));
	if (!g->source || !g->observed || !g->observed_first || !g->heads || !g->tails || order_open(&g->cause, g->base.n))
		return g->failed = -ENOMEM;
	order_copy(&g->cause, &g->base);
	memset(g->source, 0xff, reads * sizeof(*g->source));
	patterns(g);
	return 0;
}

static void close_execution(struct graph *g)
{
	order_close(&g->cause);
	free(g->source);
	free(g->observed);
	free(g->observed_first);
	free(g->heads);
	free(g->tails);
}

/* The observations that stand when an execution is complete are those of its last choice: `propagate` ran there. */
bool solve(struct graph *g)
{
	struct solver s = {.g = g};
	bool on = !open_execution(g) && propagate(g) && choose_source(&s, 0);

	for (uint32_t l = 0; l < s.levels; l++) {
		order_close(&s.level[l].cause);
		order_close(&s.level[l].flow);
	}
	free(s.level);
	close_execution(g);
	return on;
}
