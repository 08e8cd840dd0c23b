/* Values, as far as the sources that are chosen already tell them; and the outcome. */
#include "model.h"

#include <stdlib.h>

uint64_t mask_of(uint32_t bytes)
{
	return bytes >= 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
}

bool value_known(const struct graph *g, struct value v, uint64_t *value)
{
	*value = v.constant;
	return v.event == AX_NOBODY || value_read(g, v.event, value);
}

/* What the write left in the cell, moved to where the cell lies in the reader. */
static bool piece(const struct graph *g, uint32_t write, uint32_t cell, int64_t reader_at, uint64_t *value)
{
	const struct cell *c = &g->cell[cell];
	uint64_t all = 0;

	if (write != SOURCE_INIT && !value_written(g, write, &all))
		return false;
	if (write != SOURCE_INIT)
		all >>= 8 * (c->at - g->event[write].at);
	*value |= (all & mask_of(c->bytes)) << 8 * (c->at - reader_at);
	return true;
}

bool value_read(const struct graph *g, uint32_t event, uint64_t *value)
{
	const struct event *e = &g->event[event];

	*value = 0;
	for (uint32_t c = 0; c < e->cells; c++) {
		uint32_t source = g->source[e->slot + c];

		if (source == SOURCE_OPEN || !piece(g, source, e->cell + c, e->at, value))
			return false;
	}
	return true;
}

static uint64_t combined(enum lit_rmw rmw, uint64_t old, uint64_t operand)
{
	switch (rmw) {
	case LIT_ADD: return old + operand;
	case LIT_EXCH:
	case LIT_CAS: return operand;
	case LIT_AND: return old & operand;
	case LIT_OR: return old | operand;
	case LIT_XOR: return old ^ operand;
	case LIT_MIN: return old < operand ? old : operand;
	case LIT_MAX: return old > operand ? old : operand;
	case LIT_INC: return old >= operand ? 0 : old + 1;
	}
	return 0;
}

bool value_written(const struct graph *g, uint32_t event, uint64_t *value)
{
	const struct event *e = &g->event[event];
	uint64_t old = 0, operand;

	if (!value_known(g, e->operand, &operand))
		return false;
	operand &= mask_of(e->bytes);
	if (e->rmw && e->instr->rmw != LIT_EXCH && e->instr->rmw != LIT_CAS && !value_read(g, event, &old))
		return false;
	*value = (e->rmw ? combined(e->instr->rmw, old, operand) : operand) & mask_of(e->bytes);
	return true;
}

bool constraints_hold(const struct graph *g)
{
	for (size_t i = 0; i < g->constraints; i++) {
		const struct constraint *c = &g->constraint[i];
		uint64_t value;

		if (value_known(g, c->value, &value) && (value == c->is) == c->negated)
			return false;
	}
	return true;
}

static bool register_term_possible(const struct graph *g, const struct lit_term *t)
{
	uint64_t value;

	return !value_known(g, g->final[(size_t)t->thread * LIT_REGS + (size_t)t->reg], &value) || value == t->value;
}

bool outcome_possible(const struct graph *g)
{
	const struct lit_program *p = g->p;
	int clause = -1;
	bool holds = true;

	if (!p->terms)
		return true;
	for (size_t i = 0; i < p->terms; i++) {
		const struct lit_term *t = &p->term[i];

		if (t->clause != clause && clause >= 0 && holds)
			return true;
		if (t->clause != clause)
			holds = true;
		clause = t->clause;
		holds &= t->location >= 0 || register_term_possible(g, t);
	}
	return holds;
}

/* ---- final values: of each cell, what a write left that no other follows in coherence order ---------------------- */
static bool last_write(const struct graph *g, const struct order *co, uint32_t write, uint32_t cell)
{
	const struct event *w = &g->event[write];

	for (size_t i = 0; i < w->nears; i++)
		if (covers(&g->event[w->near[i]], cell) && order_has(co, write, w->near[i]))
			return false;
	return true;
}

static bool cell_ends_as(const struct graph *g, const struct order *co, uint32_t cell, uint64_t wanted)
{
	bool written = false;

	for (uint32_t w = 0; w < g->events; w++) {
		uint64_t value = 0;

		if (!covers(&g->event[w], cell))
			continue;
		written = true;
		if (last_write(g, co, w, cell) && piece(g, w, cell, g->cell[cell].at, &value) && value == wanted)
			return true;
	}
	return !written && !wanted;
}

/* Bytes that nobody accesses are in no cell, and 0. */
static bool location_ends_as(const struct graph *g, const struct order *co, int location, uint64_t wanted)
{
	const struct lit_location *l = &g->p->location[location];
	uint32_t bytes = l->bytes < 8 ? l->bytes : 8;
	uint64_t untouched = mask_of(bytes);
	int64_t at = 0;
	int root = location;

	for (; g->p->location[root].base >= 0; root = g->p->location[root].base)
		at += g->p->location[root].offset;
	for (uint32_t c = 0; c < g->cells; c++) {
		const struct cell *cell = &g->cell[c];
		unsigned shift = (unsigned)(cell->at - at) * 8;

		if (cell->root != root || cell->at < at || cell->at >= at + bytes)
			continue;
		if (!cell_ends_as(g, co, c, wanted >> shift & mask_of(cell->bytes)))
			return false;
		untouched &= ~(mask_of(cell->bytes) << shift);
	}
	return !(wanted & untouched);
}

static bool term_holds(const struct graph *g, const struct order *co, const struct lit_term *t)
{
	return t->location >= 0 ? location_ends_as(g, co, t->location, t->value) : register_term_possible(g, t);
}

bool outcome_holds(const struct graph *g, const struct order *co)
{
	const struct lit_program *p = g->p;
	bool holds = true;

	for (size_t i = 0; i < p->terms; i++) {
		bool first = !i || p->term[i].clause != p->term[i - 1].clause;

		if (first && i && holds)
			return true;
		holds = (first || holds) && term_holds(g, co, &p->term[i]);
	}
	return holds;
}
