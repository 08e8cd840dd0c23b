/* Program order and launch order. The sections of a CTA, or of a warp, that counts as one thread are woven into one program order
 * in every way that its barriers leave; two neighbouring steps that nothing could tell apart are taken in one order only.
 * Otherwise each thread keeps its own. Phases of barriers become nodes. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct weave {
	struct graph *g;
	bool (*each)(struct graph *g);
	size_t done;
	uint32_t *taken;       /* steps in the order chosen */
	uint32_t *next, *end;  /* per section: its steps that are left */
};

/* ---- nodes --------------------------------------------------------------------------------------------------------- */
struct tail { uint32_t thread, seq, nodes, node[4]; }; /* of a thread: what came last */

static uint32_t node_add(struct graph *g)
{
	if (g->nodes == AX_NODES) {
		g->stopped = "too many threads";
		return g->nodes - 1;
	}
	memset(&g->event[g->nodes], 0, sizeof(g->event[0]));
	g->event[g->nodes].thread = AX_NOBODY;
	return g->nodes++;
}

static void append(struct graph *g, struct tail *t, const uint32_t *node, uint32_t nodes)
{
	for (uint32_t n = 0; n < nodes; n++)
		for (uint32_t before = 0; before < t->nodes; before++)
			order_add(&g->base, t->node[before], node[n]);
	memcpy(t->node, node, nodes * sizeof(*node));
	t->nodes = nodes;
}

static void append_own(struct graph *g, struct tail *t, uint32_t first, uint32_t nodes)
{
	uint32_t node[4];

	t->seq++;
	for (uint32_t n = 0; n < nodes; n++) {
		node[n] = first + n;
		g->event[first + n].thread = t->thread;
		g->event[first + n].seq = t->seq;
	}
	append(g, t, node, nodes);
}

static void append_kernel_fence(struct graph *g, struct tail *t, const struct lit_thread *of)
{
	uint32_t node;
	struct event *e;

	if (!g->o->kernel_fences)
		return;
	node = node_add(g);
	e = &g->event[node];
	e->launch = of->launch;
	e->cta = of->cta;
	e->fence = e->strong = e->acquires = e->releases = 1;
	e->scope = LIT_SYS;
	append_own(g, t, node, 1);
}

/* The elements of a vector are in no order among themselves (8.2.4). Returns how many of them begin at `event`. */
static uint32_t elements(const struct graph *g, const struct step *s, uint32_t event)
{
	uint32_t n = 1;

	while (event + n < s->first + s->events && g->event[event + n].tid == g->event[event].tid)
		n++;
	return n;
}

static void append_step(struct graph *g, struct tail *t, const struct step *s, uint32_t tid)
{
	for (uint32_t e = s->first, n; e < s->first + s->events; e += n) {
		n = elements(g, s, e);
		if (tid == AX_NOBODY || g->event[e].tid == tid)
			append_own(g, t, e, n);
	}
}

static void thread_begin(struct graph *g, struct tail *t, uint32_t thread, const struct lit_thread *of)
{
	*t = (struct tail){.thread = thread, .nodes = 1, .node = {g->start[of->launch]}};
	append_kernel_fence(g, t, of);
}

static void thread_end(struct graph *g, struct tail *t, const struct lit_thread *of)
{
	append_kernel_fence(g, t, of);
	append(g, t, &(uint32_t){g->start[of->launch] + 1}, 1);
}

/* Of one unit that counts as a thread. */
static bool same_unit(const struct graph *g, const struct lit_thread *a, const struct lit_thread *b)
{
	return a->launch == b->launch && a->cta == b->cta && (g->o->unit == AX_CTA || a->first / 32 == b->first / 32);
}

/* ---- barriers ------------------------------------------------------------------------------------------------------- */
static void order(struct graph *g, uint32_t before, uint32_t after)
{
	g->impossible |= !order_add(&g->base, before, after);
}

/* Phases of an mbarrier need no more (its arrivals continue each other, so that a later phase has what earlier ones had): that
 * nobody comes to a phase early, which the text sees to, takes as much. */
static void append_meet(struct graph *g, struct tail *t, const struct step *s)
{
	uint32_t node = g->meet[s->meet].node, self;
	bool behind = true;

	for (uint32_t before = 0; before < t->nodes; before++) {
		if (s->part == AX_ARRIVE)
			order(g, t->node[before], node);
		behind &= order_has(&g->base, t->node[before], node);
	}
	if (s->part == AX_ARRIVE)
		return;
	if (!behind) { /* something came between its arrival and this */
		self = node_add(g);
		append(g, t, &self, 1);
		order(g, node, self);
		return;
	}
	t->node[0] = node;
	t->nodes = 1;
}

/* ---- one unit, one thread ------------------------------------------------------------------------------------------ */
static void order_units(struct weave *w)
{
	struct graph *g = w->g;
	const struct lit_thread *section = g->p->thread, *of = NULL;
	struct tail t = {0};

	for (size_t n = 0; n < g->steps; n++) {
		const struct step *s = &g->step[w->taken[n]];

		if (!of || !same_unit(g, of, &section[s->section])) {
			if (of)
				thread_end(g, &t, of);
			of = &section[s->section];
			thread_begin(g, &t, t.thread + 1, of);
		}
		if (s->part)
			append_meet(g, &t, s);
		else
			append_step(g, &t, s, AX_NOBODY);
	}
	if (of)
		thread_end(g, &t, of);
}

/* ---- every thread for itself ------------------------------------------------------------------------------------- */
static void order_thread(struct weave *w, uint32_t section, uint32_t tid, uint32_t thread)
{
	struct graph *g = w->g;
	const struct lit_thread *of = &g->p->thread[section];
	struct tail t;

	thread_begin(g, &t, thread, of);
	for (uint32_t n = w->next[section]; n < w->end[section]; n++) {
		if (g->step[n].part)
			append_meet(g, &t, &g->step[n]);
		else
			append_step(g, &t, &g->step[n], tid);
	}
	thread_end(g, &t, of);
}

static void order_threads(struct weave *w)
{
	struct graph *g = w->g;
	uint32_t thread = 1;

	for (uint32_t s = 0; s < g->p->threads; s++)
		for (uint32_t lane = 0; lane < g->p->thread[s].threads && !g->stopped; lane++)
			order_thread(w, s, g->p->thread[s].first + lane, thread++);
}

/* ---- one weave ------------------------------------------------------------------------------------------------------ */
static uint32_t nodes_needed(const struct graph *g)
{
	size_t n = g->events + 2 * g->p->launches;

	n += g->meets;
	for (size_t s = 0; s < g->p->threads; s++)
		n += 2 * (size_t)g->p->thread[s].threads;
	for (size_t s = 0; s < g->steps; s++)
		n += g->step[s].part == AX_PASS ? g->p->thread[g->step[s].section].threads : 0;
	return n < AX_NODES ? (uint32_t)n : AX_NODES;
}

static void order_launches(struct graph *g)
{
	for (size_t l = 0; l < g->p->launches; l++) {
		g->start[l] = node_add(g);
		order_add(&g->base, g->start[l], node_add(g));
	}
	for (size_t l = 0; l < g->p->launches; l++)
		for (size_t before = 0; before < g->p->launches; before++)
			if (g->before[l][before])
				order_add(&g->base, g->start[before] + 1, g->start[l]);
}

static bool finish(struct weave *w)
{
	struct graph *g = w->g;
	bool on;

	g->nodes = g->events;
	g->impossible = false;
	on = step_counted(g);
	if (order_open(&g->base, nodes_needed(g)) || order_open(&g->flow, g->events)) {
		g->failed = -ENOMEM;
	} else {
		order_launches(g);
		for (size_t n = 0; n < g->meets; n++)
			g->meet[n].node = node_add(g);
		if (g->o->unit == AX_THREAD)
			order_threads(w);
		else
			order_units(w);
		for (size_t n = 0; n < g->edges; n++)
			order_add(&g->flow, g->edge[n].from, g->edge[n].to);
		on = on && !g->failed && !g->stopped && (g->impossible || w->each(g));
	}
	order_close(&g->base);
	order_close(&g->flow);
	return on && !g->failed && !g->stopped;
}

/* ---- all weaves ----------------------------------------------------------------------------------------------------- */
/* Nothing tells in which order two neighbours came: neither begins or ends a pattern, so that no base causality passes
 * between them but program order; and where they overlap, both are weak reads. */
static bool commute(const struct event *x, const struct event *y)
{
	if (x->acquires || x->releases || y->acquires || y->releases)
		return false;
	return !overlapping(x, y) || !(x->strong || y->strong || x->writes || y->writes);
}

/* Before or behind an arrival tells what it releases, of a warp; within a CTA that is a thread, arrivals only come first. */
static bool steps_commute(const struct graph *g, const struct step *a, const struct step *b)
{
	if (a->part || b->part)
		return g->o->unit == AX_CTA && !(a->part == AX_ARRIVE && b->part == AX_PASS);
	for (uint32_t i = a->first; i < a->first + a->events; i++)
		for (uint32_t j = b->first; j < b->first + b->events; j++)
			if (!commute(&g->event[i], &g->event[j]))
				return false;
	return true;
}

static bool weave_unit(struct weave *w, const struct lit_thread *unit);

static bool weave_next_unit(struct weave *w)
{
	for (size_t s = 0; s < w->g->p->threads; s++)
		if (w->next[s] < w->end[s])
			return weave_unit(w, &w->g->p->thread[s]);
	return finish(w);
}

static bool redundant(const struct weave *w, uint32_t section)
{
	const struct graph *g = w->g;
	const struct step *s = &g->step[w->next[section]], *before = w->done ? &g->step[w->taken[w->done - 1]] : NULL;

	return before && before->section > section && same_unit(g, &g->p->thread[before->section], &g->p->thread[section]) &&
	       before->phase == s->phase && steps_commute(g, before, s);
}

/* Nobody goes on while others of the unit have not arrived. */
static bool ready(const struct weave *w, const struct lit_thread *unit, const struct step *s)
{
	const struct graph *g = w->g;

	for (size_t other = 0; s->part == AX_PASS && other < g->p->threads; other++)
		for (uint32_t n = w->next[other]; n < w->end[other] && same_unit(g, &g->p->thread[other], unit); n++)
			if (g->step[n].part == AX_ARRIVE && g->step[n].meet == s->meet)
				return false;
	return true;
}

static bool weave_unit(struct weave *w, const struct lit_thread *unit)
{
	const struct graph *g = w->g;
	uint32_t phase = UINT32_MAX;

	for (size_t s = 0; s < g->p->threads; s++)
		if (same_unit(g, &g->p->thread[s], unit) && w->next[s] < w->end[s] && g->step[w->next[s]].phase < phase)
			phase = g->step[w->next[s]].phase;
	if (phase == UINT32_MAX)
		return weave_next_unit(w);
	for (uint32_t s = 0; s < g->p->threads; s++) {
		bool on;

		if (!same_unit(g, &g->p->thread[s], unit) || w->next[s] == w->end[s] || g->step[w->next[s]].phase != phase || redundant(w, s) ||
		    !ready(w, unit, &g->step[w->next[s]]))
			continue;
		w->taken[w->done++] = w->next[s]++;
		on = weave_unit(w, unit);
		w->done--;
		w->next[s]--;
		if (!on)
			return false;
	}
	return true;
}

bool weave_all(struct graph *g, bool (*each)(struct graph *g))
{
	size_t sections = g->p->threads;
	struct weave w = {.g = g, .each = each};
	bool on = false;

	w.taken = calloc(g->steps + 1, sizeof(*w.taken));
	w.next = calloc(2 * sections + 1, sizeof(*w.next));
	if (!w.taken || !w.next) {
		g->failed = -ENOMEM;
	} else {
		w.end = w.next + sections;
		for (uint32_t n = 0; n < g->steps; n++) { /* a section's steps stand together */
			if (w.next[g->step[n].section] == w.end[g->step[n].section])
				w.next[g->step[n].section] = n;
			w.end[g->step[n].section] = n + 1;
		}
		on = g->o->unit == AX_THREAD ? finish(&w) : weave_next_unit(&w);
	}
	free(w.taken);
	free(w.next);
	return on;
}
