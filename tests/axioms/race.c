/* Races of one execution (8.7.1), added to the verdict; and the description of the first racy one. */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum race { RACE_NONE, RACE_DATA, RACE_STALE_NC };

/* b loads through .nc: a write that is not before its launch may be missed for ever. */
static enum race nc_race(const struct graph *g, uint32_t write, uint32_t read)
{
	bool before = order_has(&g->cause, write, g->start[g->event[read].launch]);

	return before || order_has(&g->cause, read, write) ? RACE_NONE : RACE_STALE_NC;
}

static bool related(const struct graph *g, uint32_t a, uint32_t b)
{
	if (order_has(&g->cause, a, b) || order_has(&g->cause, b, a))
		return true;
	return g->o->observe && (causes(g, a, b) || causes(g, b, a));
}

static enum race race_of(const struct graph *g, uint32_t a, uint32_t b)
{
	const struct event *x = &g->event[a], *y = &g->event[b];

	if (!x->writes && !y->writes)
		return RACE_NONE;
	if (x->nc || y->nc)
		return nc_race(g, x->nc ? b : a, x->nc ? a : b);
	if (g->o->unit == AX_WARP && x->launch == y->launch && x->cta == y->cta)
		return RACE_NONE;
	return morally_strong(g, x, y) || related(g, a, b) ? RACE_NONE : RACE_DATA;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------------ */
static struct ax_pair *pair_of(struct graph *g, uint32_t low, uint32_t high, int stale_nc)
{
	struct ax_verdict *v = g->verdict;
	struct ax_pair *more;
	size_t at = 0;

	while (at < v->pairs && (v->pair[at].line[0] < low || (v->pair[at].line[0] == low && v->pair[at].line[1] < high)))
		at++;
	if (at < v->pairs && v->pair[at].line[0] == low && v->pair[at].line[1] == high)
		return &v->pair[at];
	more = realloc(v->pair, (v->pairs + 1) * sizeof(*more));
	if (!more) {
		g->failed = -ENOMEM;
		return NULL;
	}
	v->pair = more;
	memmove(more + at + 1, more + at, (v->pairs++ - at) * sizeof(*more));
	more[at] = (struct ax_pair){.line = {low, high}, .stale_nc = stale_nc};
	return &more[at];
}

/* Each pair of lines once an execution: `seen` marks those of this one. */
static void pair_count(struct graph *g, uint32_t a, uint32_t b, enum race race, uint64_t *seen)
{
	uint32_t x = g->event[a].instr->line, y = g->event[b].instr->line;
	struct ax_pair *p = pair_of(g, x < y ? x : y, x < y ? y : x, race == RACE_STALE_NC);
	uint64_t mark = (uint64_t)(x < y ? x : y) << 32 | (x < y ? y : x);
	size_t n = 0;

	for (; n < seen[0]; n++)
		if (seen[n + 1] == mark)
			return;
	if (!p)
		return;
	p->executions++;
	if (seen[0] < AX_EVENTS)
		seen[++seen[0]] = mark;
}

/* ---- the witness ------------------------------------------------------------------------------------------------------- */
static void event_describe(const struct graph *g, uint32_t event)
{
	const struct event *e = &g->event[event];
	char opcode[LIT_OPCODE] = "";

	if (!e->instr) {
		fprintf(g->witness, "the %s of %s cta %u", e->seq == 1 ? "start" : "end", g->p->launch[e->launch].name, e->cta);
		return;
	}
	lit_opcode_write(e->instr, opcode);
	fprintf(g->witness, "line %u (%s.%u.%u %s", e->instr->line, g->p->launch[e->launch].name, e->cta, e->tid, opcode);
	if (e->memory)
		fprintf(g->witness, " %s+%" PRId64 " %u bytes", g->p->location[e->root].name, e->at, e->bytes);
	fprintf(g->witness, "%s)", e->instr->op == LIT_ATOM && !e->writes ? ", failed" : "");
}

static void source_describe(const struct graph *g, size_t slot)
{
	uint32_t read = g->slot_event[slot], source = g->source[slot];
	uint64_t value = 0;

	value_read(g, read, &value);
	fprintf(g->witness, "  ");
	event_describe(g, read);
	fprintf(g->witness, " reads %#" PRIx64 ", from ", value);
	if (source == SOURCE_INIT)
		fprintf(g->witness, "the start");
	else
		event_describe(g, source);
	fprintf(g->witness, "\n");
}

static uint32_t first_pattern(const struct graph *g, uint32_t write, uint32_t read, bool release)
{
	for (uint32_t e = 0; e < g->nodes; e++)
		if (release ? release_begins(&g->event[e], &g->event[write]) : acquire_ends(&g->event[read], &g->event[e]))
			return e;
	return AX_NOBODY;
}

/* Why what was read makes no order, or which: by the first of the patterns that end there. */
static void link_describe(const struct graph *g, uint32_t write, uint32_t read)
{
	uint32_t head = first_pattern(g, write, read, true), tail = first_pattern(g, write, read, false);
	const struct event *w = &g->event[write], *r = &g->event[read];
	const char *why = NULL;

	if (!w->strong || !r->strong)
		why = "not both are strong";
	else if (!same_location(w, r))
		why = "they overlap in part";
	else if (!morally_strong(g, w, r))
		why = "a scope does not include the other side";
	else if (head == AX_NOBODY)
		why = "no release pattern ends with the write";
	else if (tail == AX_NOBODY)
		why = "no acquire pattern begins with the read";
	else if (!order_has(&g->cause, head, tail))
		why = "the scopes of the patterns' ends do not include each other";
	fprintf(g->witness, "    %s", why ? why : "synchronizes ");
	if (!why) {
		event_describe(g, head);
		fprintf(g->witness, " with ");
		event_describe(g, tail);
	}
	fputc('\n', g->witness);
}

static void witness(struct graph *g, uint32_t a, uint32_t b, enum race race)
{
	fprintf(g->witness, "%s: %s between ", g->p->name, race == RACE_STALE_NC ? "stale-nc" : "a race");
	event_describe(g, a);
	fprintf(g->witness, " and ");
	event_describe(g, b);
	fprintf(g->witness, ", when\n");
	for (size_t slot = 0; slot < g->slots; slot++) {
		uint32_t read = g->slot_event[slot], write = g->source[slot];

		source_describe(g, slot);
		if (write != SOURCE_INIT && g->event[write].thread != g->event[read].thread)
			link_describe(g, write, read);
	}
	fprintf(g->witness, "  and they are neither morally strong nor in causality order\n");
	g->witness = NULL;
}

void race_judge(struct graph *g)
{
	uint64_t seen[AX_EVENTS + 1] = {0};
	bool data = false, stale = false;

	for (uint32_t a = 0; a < g->events; a++)
		for (size_t i = 0; i < g->event[a].nears; i++) {
			uint32_t b = g->event[a].near[i];
			enum race race = b > a ? race_of(g, a, b) : RACE_NONE;

			if (race == RACE_NONE)
				continue;
			data |= race == RACE_DATA;
			stale |= race == RACE_STALE_NC;
			pair_count(g, a, b, race, seen);
			if (g->witness)
				witness(g, a, b, race);
		}
	g->verdict->executions++;
	g->verdict->racy += data || stale;
	g->verdict->stale_nc += stale;
}
