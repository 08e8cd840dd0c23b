/* Coherence order (8.9.6): partial over overlapping writes. It holds what causality orders (8.10.1) and what an atomic read;
 * each pair of morally strong writes that is still open is taken both ways, until one order is found that the axioms permit
 * and that has the outcome. Races do not depend on it. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct coherence { struct graph *g; bool found; uint8_t *colour; };

static bool earlier(const struct order *co, uint32_t source, uint32_t write)
{
	return source == SOURCE_INIT || order_has(co, source, write);
}

/* ---- axioms ---------------------------------------------------------------------------------------------------------- */
/* Causality: the read knows no write that its source is older than. */
static bool causal(const struct graph *g, const struct order *co, size_t slot)
{
	uint32_t read = g->slot_event[slot], source = g->source[slot];
	const struct event *r = &g->event[read];

	for (size_t i = 0; i < r->nears; i++) {
		uint32_t w = r->near[i];

		if (w != source && covers(&g->event[w], g->slot_cell[slot]) && earlier(co, source, w) && causes_read(g, w, read))
			return false;
	}
	return true;
}

static bool reads_from(const struct graph *g, const struct event *r, uint32_t write)
{
	for (uint32_t c = 0; c < r->cells; c++)
		if (g->source[r->slot + c] == write)
			return true;
	return false;
}

/* (Where all is as the text has it, SC Per Location implies this; it stands here because it is an axiom, and saves steps.)
 * Single-copy atomicity: not some bytes from a morally strong write and others from before it. Atomicity of RMW: no
 * morally strong write between what it reads and itself. */
static bool atomic(const struct graph *g, const struct order *co, size_t slot)
{
	uint32_t self = g->slot_event[slot], source = g->source[slot];
	const struct event *r = &g->event[self];

	for (size_t i = 0; i < r->nears; i++) {
		uint32_t w = r->near[i];

		if (w == source || !g->event[w].writes || !morally_strong(g, r, &g->event[w]) || !earlier(co, source, w))
			continue;
		if (reads_from(g, r, w) || (r->writes && order_has(co, w, self)))
			return false;
	}
	return true;
}

/* 8.9.7: reads from, is overwritten by, or reads what was there before. */
static bool communicates(const struct graph *g, const struct order *co, uint32_t a, uint32_t b)
{
	const struct event *x = &g->event[a], *y = &g->event[b];

	if (x->writes && y->writes && order_has(co, a, b))
		return true;
	if (x->writes && y->reads && y->needed && reads_from(g, y, a))
		return true;
	if (!x->reads || !x->needed || !y->writes)
		return false;
	for (uint32_t c = 0; c < x->cells; c++)
		if (covers(y, x->cell + c) && g->source[x->slot + c] != b && earlier(co, g->source[x->slot + c], b))
			return true;
	return false;
}

/* SC Per Location: program order between overlapping operations and morally strong communication make no cycle. */
static bool acyclic_from(const struct coherence *c, const struct order *co, uint32_t at)
{
	const struct graph *g = c->g;
	const struct event *e = &g->event[at];

	c->colour[at] = 1;
	for (size_t i = 0; i < e->nears; i++) {
		uint32_t to = e->near[i];
		const struct event *f = &g->event[to];

		if (c->colour[to] == 2 || (!f->writes && !f->needed))
			continue;
		if (!program_ordered(e, f) && !(morally_strong(g, e, f) && communicates(g, co, at, to)))
			continue;
		if (c->colour[to] == 1 || !acyclic_from(c, co, to))
			return false;
	}
	c->colour[at] = 2;
	return true;
}

static bool axioms_hold(const struct coherence *c, const struct order *co)
{
	const struct graph *g = c->g;

	for (size_t slot = 0; slot < g->slots; slot++)
		if (!causal(g, co, slot) || !atomic(g, co, slot))
			return false;
	memset(c->colour, 0, g->events);
	for (uint32_t e = 0; e < g->events; e++)
		if (g->event[e].memory && (g->event[e].writes || g->event[e].needed) && !c->colour[e] && !acyclic_from(c, co, e))
			return false;
	return true;
}

/* ---- search ------------------------------------------------------------------------------------------------------------ */
static bool pair_open(const struct graph *g, const struct order *co, struct edge *pair)
{
	for (uint32_t a = 0; a < g->events; a++)
		for (size_t i = 0; g->event[a].writes && i < g->event[a].nears; i++) {
			uint32_t b = g->event[a].near[i];

			if (b > a && g->event[b].writes && morally_strong(g, &g->event[a], &g->event[b]) && !order_has(co, a, b) &&
			    !order_has(co, b, a)) {
				*pair = (struct edge){a, b};
				return true;
			}
		}
	return false;
}

static bool choose(struct coherence *c, const struct order *co)
{
	struct graph *g = c->g;
	struct edge pair;
	bool on = true;

	if (!step_counted(g))
		return false;
	if (!axioms_hold(c, co))
		return true;
	if (!pair_open(g, co, &pair)) {
		c->found = outcome_holds(g, co);
		return true;
	}
	for (int turned = 0; turned < 2 && on && !c->found; turned++) {
		struct order next;

		if (order_open(&next, g->events)) {
			g->failed = -ENOMEM;
			return false;
		}
		order_copy(&next, co);
		order_add(&next, turned ? pair.to : pair.from, turned ? pair.from : pair.to);
		on = choose(c, &next);
		order_close(&next);
	}
	return on;
}

/* What causality and the sources of atomics settle. False: they contradict each other. */
static bool settle(const struct graph *g, struct order *co)
{
	for (uint32_t a = 0; a < g->events; a++) {
		const struct event *e = &g->event[a];

		for (size_t i = 0; e->writes && i < e->nears; i++) {
			uint32_t b = e->near[i];
			const struct event *f = &g->event[b];
			bool read = f->rmw && morally_strong(g, e, f) && reads_from(g, f, a);

			if (f->writes && (read || causes(g, a, b)) && !order_add(co, a, b))
				return false;
		}
	}
	return true;
}

bool coherence_find(struct graph *g, bool *found)
{
	struct coherence c = {.g = g};
	struct order co = {0};
	bool on = true;

	c.colour = malloc(g->events + 1);
	if (!c.colour || order_open(&co, g->events)) {
		g->failed = -ENOMEM;
		on = false;
	} else if (settle(g, &co)) {
		on = choose(&c, &co);
	}
	order_close(&co);
	free(c.colour);
	*found = c.found;
	return on;
}
