/* One path of the program as events. Where the path depends on a value (an `if`, a cas that may fail) a guess is taken and
 * becomes a constraint on that value; all guesses are tried. Loops are unrolled; a poll is one load that finds its value. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct section { /* while it is unrolled */
	struct graph *g;
	uint32_t index, phase, meets; /* plain barriers so far; all of them */
	const struct lit_thread *t;
	struct value *reg;          /* [lane][register] */
	size_t controls;
	struct { uint32_t lane, event; bool over; } control[AX_EVENTS]; /* reads that decided that we are here */
	bool skip;                  /* stop unrolling: too large, or the guesses contradict themselves */
};

static void give_up(struct section *s, const char *why)
{
	s->g->stopped = why;
	s->skip = true;
}

static bool guess_take(struct section *s)
{
	struct graph *g = s->g;

	if (g->guessed == AX_GUESSES) {
		give_up(s, "more conditions and cas than are tried");
		return false;
	}
	if (g->guessed == g->guesses)
		g->guess[g->guesses++] = 0;
	return g->guess[g->guessed++];
}

bool build_next_guess(struct graph *g)
{
	g->guesses = g->guessed < g->guesses ? g->guessed : g->guesses;
	while (g->guesses && g->guess[g->guesses - 1])
		g->guesses--;
	if (!g->guesses)
		return false;
	g->guess[g->guesses - 1] = 1;
	return true;
}

static void demand(struct section *s, struct value v, uint64_t is, bool negated)
{
	struct graph *g = s->g;

	if (v.event == AX_NOBODY) {
		g->feasible &= (v.constant == is) != negated;
		s->skip |= !g->feasible;
	} else if (g->constraints == AX_EVENTS) {
		give_up(s, "more conditions than are tried");
	} else {
		g->event[v.event].needed = 1;
		g->constraint[g->constraints++] = (struct constraint){v, is, negated};
	}
}

static void depend(struct section *s, uint32_t from, uint32_t to)
{
	struct graph *g = s->g;
	struct edge *more;

	if (!(g->edges & (g->edges + 1)) && !s->skip) {
		more = realloc(g->edge, (2 * g->edges + 2) * sizeof(*more));
		if (!more) {
			g->failed = -ENOMEM;
			s->skip = true;
			return;
		}
		g->edge = more;
	}
	if (!s->skip)
		g->edge[g->edges++] = (struct edge){from, to};
}

static void control_add(struct section *s, uint32_t lane, uint32_t event)
{
	if (event == AX_NOBODY)
		return;
	if (s->controls == AX_EVENTS) {
		give_up(s, "more conditions than are tried");
		return;
	}
	s->control[s->controls].lane = lane;
	s->control[s->controls].over = false;
	s->control[s->controls++].event = event;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */
static void semantics(struct event *e, const struct lit_instr *i, const struct ax_options *o)
{
	enum lit_sem sem = i->membar ? LIT_SC : i->sem;

	e->nc = sem == LIT_NC;
	e->strong = e->rmw || e->fence || (sem != LIT_WEAK && sem != LIT_NC);
	e->scope = i->scope;
	if (sem == LIT_VOLATILE || sem == LIT_MMIO)
		e->scope = LIT_SYS;
	else if (e->strong && e->scope == LIT_NO_SCOPE)
		e->scope = LIT_GPU;
	e->acquires = sem == LIT_ACQUIRE || sem == LIT_ACQ_REL || sem == LIT_SC;
	e->releases = sem == LIT_RELEASE || sem == LIT_ACQ_REL || sem == LIT_SC;
	e->sc = e->fence && sem == LIT_SC && o->fence_sc;
}

static void place(struct event *e, const struct lit_program *p, const struct lit_instr *i, unsigned element)
{
	e->root = i->location;
	e->at = i->offset + (int64_t)i->stride * e->tid + (int64_t)element * i->bytes;
	e->bytes = i->bytes;
	for (; p->location[e->root].base >= 0; e->root = p->location[e->root].base)
		e->at += p->location[e->root].offset;
}

static struct event *event_add(struct section *s, const struct lit_instr *i, uint32_t lane, unsigned element)
{
	struct graph *g = s->g;
	struct event *e = &g->event[g->events];
	uint32_t self = g->events;

	if (g->events == AX_EVENTS) {
		give_up(s, "more than 512 operations");
		return NULL;
	}
	memset(e, 0, sizeof(*e));
	e->instr = i;
	e->launch = s->t->launch;
	e->cta = s->t->cta;
	e->tid = s->t->first + lane;
	e->step = (uint32_t)g->steps;
	e->operand = (struct value){AX_NOBODY, i->value};
	e->fence = i->op == LIT_FENCE;
	e->memory = !e->fence;
	e->rmw = i->op == LIT_ATOM || i->op == LIT_RED;
	e->reads = e->memory && i->op != LIT_ST;
	e->writes = i->op == LIT_ST || e->rmw;
	e->reduces = i->op == LIT_RED || (i->op == LIT_ATOM && i->reg < 0);
	semantics(e, i, g->o);
	if (e->memory)
		place(e, g->p, i, element);
	e->needed = e->reads && e->strong;
	g->events++;
	for (size_t c = 0; c < s->controls; c++)
		if (s->control[c].lane == lane && !s->control[c].over)
			depend(s, s->control[c].event, self);
	return e;
}

static void write_operand(struct section *s, const struct lit_instr *i, struct value *reg, struct event *e)
{
	if (i->value_reg < 0)
		return;
	e->operand = reg[i->value_reg];
	if (e->operand.event == AX_NOBODY)
		return;
	s->g->event[e->operand.event].needed = 1;
	depend(s, e->operand.event, (uint32_t)(e - s->g->event));
}

/* Whether the cas found its value is a guess; one that did not is a read. */
static void cas(struct section *s, const struct lit_instr *i, struct event *e)
{
	bool fails = guess_take(s);

	if (fails)
		e->writes = e->rmw = 0;
	demand(s, (struct value){(uint32_t)(e - s->g->event), 0}, i->compare & mask_of(i->bytes), fails);
}

static void execute_lane(struct section *s, const struct lit_instr *i, uint32_t lane)
{
	struct value *reg = s->reg + (size_t)lane * LIT_REGS;

	for (unsigned element = 0; element < (i->vector ? i->vector : 1) && !s->skip; element++) {
		struct event *e = event_add(s, i, lane, element);
		uint32_t self = s->g->events - 1;

		if (!e)
			return;
		if (e->writes)
			write_operand(s, i, reg, e);
		if (e->rmw && i->rmw == LIT_CAS)
			cas(s, i, e);
		if (e->reads && i->op != LIT_RED && i->reg >= 0)
			reg[(unsigned)i->reg + element] = (struct value){self, 0};
		if (i->op == LIT_POLL) {
			demand(s, (struct value){self, 0}, i->value & mask_of(i->bytes), false);
			control_add(s, lane, self);
		}
	}
}

static void execute(struct section *s, const struct lit_instr *i)
{
	struct graph *g = s->g;
	uint32_t first = g->events;

	if (g->steps == AX_EVENTS) {
		give_up(s, "more than 512 operations");
		return;
	}
	for (uint32_t lane = 0; lane < s->t->threads && !s->skip; lane++)
		execute_lane(s, i, lane);
	g->step[g->steps++] = (struct step){.section = s->index, .phase = s->phase, .first = first, .events = g->events - first};
}

/* ---- barriers ----------------------------------------------------------------------------------------------------- */
static uint32_t meet_of(struct section *s, uint32_t barrier, uint32_t phase)
{
	struct graph *g = s->g;
	size_t n = 0;

	while (n < g->meets && (g->meet[n].launch != s->t->launch || g->meet[n].cta != s->t->cta || g->meet[n].barrier != barrier ||
				g->meet[n].phase != phase))
		n++;
	if (n == AX_EVENTS)
		give_up(s, "more than 512 barriers");
	else if (n == g->meets)
		g->meet[g->meets++] = (struct meet){s->t->launch, s->t->cta, barrier, phase, AX_NOBODY};
	return (uint32_t)n;
}

static void part_add(struct section *s, int part, uint32_t barrier, uint32_t phase)
{
	struct graph *g = s->g;

	if (g->steps == AX_EVENTS)
		give_up(s, "more than 512 operations");
	else
		g->step[g->steps++] = (struct step){.section = s->index, .phase = s->phase, .first = g->events, .part = part,
						    .meet = meet_of(s, barrier, phase)};
}

/* A barrier of all threads of a CTA that is one thread only says which ways there are to weave them. */
static void meet(struct section *s, const struct lit_instr *i)
{
	const struct lit_use *use = &s->g->use[s->index][s->meets++];

	if (i->meet == LIT_ALL && s->g->o->unit == AX_CTA) {
		s->phase++;
		return;
	}
	if (i->meet == LIT_MWAIT || i->meet == LIT_MTOKEN) {
		if (use->phase)
			part_add(s, AX_PASS, use->barrier, use->phase - 1);
		return;
	}
	part_add(s, AX_ARRIVE, use->barrier, use->phase);
	s->phase += i->meet == LIT_ALL;
	if (i->meet != LIT_ARRIVE && i->meet != LIT_MARRIVE && !s->skip)
		part_add(s, AX_PASS, use->barrier, use->phase);
}

/* ---- control flow ------------------------------------------------------------------------------------------------- */
static size_t end_of(const struct lit_thread *t, size_t from)
{
	int depth = 1;

	for (size_t n = from + 1; n < t->instrs; n++) {
		depth += t->instr[n].op == LIT_IF || t->instr[n].op == LIT_REPEAT;
		depth -= t->instr[n].op == LIT_END;
		if (!depth)
			return n;
	}
	return t->instrs;
}

static void walk(struct section *s, size_t from, size_t to);

static void walk_if(struct section *s, size_t at, size_t end)
{
	const struct lit_instr *i = &s->t->instr[at];
	bool taken = guess_take(s);
	size_t from = s->controls, to;

	for (uint32_t lane = 0; lane < s->t->threads && !s->skip; lane++) {
		struct value v = s->reg[(size_t)lane * LIT_REGS + (size_t)i->reg];

		demand(s, v, i->value, taken == (bool)i->negated);
		control_add(s, lane, v.event);
	}
	to = s->controls;
	if (taken)
		walk(s, at + 1, end);
	for (size_t c = from; c < to; c++)
		s->control[c].over = true;
}

static void walk(struct section *s, size_t from, size_t to)
{
	for (size_t at = from; at < to && !s->skip; at++) {
		const struct lit_instr *i = &s->t->instr[at];
		size_t end = i->op == LIT_IF || i->op == LIT_REPEAT ? end_of(s->t, at) : at;

		if (i->op == LIT_IF)
			walk_if(s, at, end);
		for (uint32_t n = 0; i->op == LIT_REPEAT && n < i->count && end > at + 1 && !s->skip; n++)
			walk(s, at + 1, end);
		if (i->op == LIT_BAR)
			meet(s, i);
		else if (i->op != LIT_IF && i->op != LIT_REPEAT && i->op != LIT_END)
			execute(s, i);
		at = end;
	}
}

static void build_section(struct graph *g, struct section *s, uint32_t index)
{
	const struct lit_thread *t = &g->p->thread[index];
	size_t regs = (size_t)t->threads * LIT_REGS;

	s->g = g;
	s->index = index;
	s->t = t;
	s->controls = s->phase = s->meets = 0;
	s->skip = false;
	s->reg = malloc(regs * sizeof(*s->reg));
	if (!s->reg) {
		g->failed = -ENOMEM;
		return;
	}
	for (size_t r = 0; r < regs; r++)
		s->reg[r] = (struct value){AX_NOBODY, 0};
	walk(s, 0, t->instrs);
	memcpy(g->final + (size_t)index * LIT_REGS, s->reg, LIT_REGS * sizeof(*s->reg));
	free(s->reg);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */
static int cell_compare(const void *left, const void *right)
{
	const struct cell *a = left, *b = right;

	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* Every end of an access, and of a location whose last value is asked for, ends a cell. */
static size_t boundaries(struct graph *g, struct cell *to)
{
	size_t n = 0;

	for (uint32_t e = 0; e < g->events; e++)
		if (g->event[e].memory) {
			to[n++] = (struct cell){g->event[e].root, g->event[e].at, 0};
			to[n++] = (struct cell){g->event[e].root, g->event[e].at + g->event[e].bytes, 0};
		}
	for (size_t i = 0; i < g->p->terms; i++) {
		int root = g->p->term[i].location;
		int64_t at = 0, bytes = root < 0 ? 0 : g->p->location[root].bytes;

		if (root < 0)
			continue;
		for (; g->p->location[root].base >= 0; root = g->p->location[root].base)
			at += g->p->location[root].offset;
		to[n++] = (struct cell){root, at, 0};
		to[n++] = (struct cell){root, at + (bytes < 8 ? bytes : 8), 0};
	}
	return n;
}

static bool accessed(const struct graph *g, const struct cell *c)
{
	for (uint32_t e = 0; e < g->events; e++)
		if (g->event[e].memory && g->event[e].root == c->root && g->event[e].at <= c->at &&
		    c->at < g->event[e].at + g->event[e].bytes)
			return true;
	return false;
}

static int build_cells(struct graph *g)
{
	size_t n;

	free(g->cell);
	g->cells = 0;
	g->cell = malloc((2 * (size_t)g->events + 2 * g->p->terms + 2) * sizeof(*g->cell));
	if (!g->cell)
		return g->failed = -ENOMEM;
	n = boundaries(g, g->cell);
	qsort(g->cell, n, sizeof(*g->cell), cell_compare);
	for (size_t i = 0; i + 1 < n; i++) {
		struct cell c = g->cell[i];

		c.bytes = (uint32_t)(g->cell[i + 1].at - c.at);
		if (g->cell[i + 1].root == c.root && g->cell[i + 1].at > c.at && accessed(g, &c))
			g->cell[g->cells++] = c;
	}
	return 0;
}

static void build_slots(struct graph *g, uint32_t event)
{
	struct event *e = &g->event[event];

	e->cells = 0;
	for (uint32_t c = 0; c < g->cells; c++)
		if (g->cell[c].root == e->root && g->cell[c].at >= e->at && g->cell[c].at < e->at + e->bytes && !e->cells++)
			e->cell = c;
	e->slot = (uint32_t)g->slots;
	for (uint32_t c = 0; e->needed && c < e->cells; c++) {
		g->slot_event[g->slots] = event;
		g->slot_cell[g->slots++] = e->cell + c;
	}
}

static int build_near(struct graph *g)
{
	for (uint32_t e = 0; e < g->events; e++) {
		struct event *self = &g->event[e];

		for (uint32_t other = 0; other < g->events; other++)
			self->nears += other != e && overlapping(self, &g->event[other]);
		self->near = malloc((self->nears + 1) * sizeof(*self->near));
		self->nears = 0;
		if (!self->near)
			return g->failed = -ENOMEM;
		for (uint32_t other = 0; other < g->events; other++)
			if (other != e && overlapping(self, &g->event[other]))
				self->near[self->nears++] = other;
	}
	return 0;
}

static int build_memory(struct graph *g)
{
	if (build_cells(g))
		return -1;
	g->slots = 0;
	for (uint32_t e = 0; e < g->events; e++) {
		if (g->slots + 8 > sizeof(g->slot_event) / sizeof(g->slot_event[0])) {
			g->stopped = "too many pieces of memory";
			return -1;
		}
		if (g->event[e].memory)
			build_slots(g, e);
	}
	return build_near(g) ? -1 : 0;
}

/* ---- the host's steps -------------------------------------------------------------------------------------------- */
enum { STREAMS = LIT_RANKS * 64 };
typedef bool launch_set[AX_LAUNCHES];

static void join(launch_set to, const launch_set from)
{
	for (int l = 0; l < AX_LAUNCHES; l++)
		to[l] |= from[l];
}

struct host { launch_set known, stream[STREAMS], event[STREAMS]; };

static void host_step(struct graph *g, struct host *h, const struct lit_step *s)
{
	bool *stream = h->stream[s->rank * 64 + (s->stream & 63)], *event = h->event[s->rank * 64 + (s->event & 63)];

	switch (s->op) {
	case LIT_DO_LAUNCH:
		join(g->before[s->launch], stream);
		join(g->before[s->launch], h->known);
		join(stream, g->before[s->launch]);
		stream[s->launch] = true;
		return;
	case LIT_DO_RECORD: memcpy(event, stream, sizeof(launch_set)); return;
	case LIT_DO_WAIT: join(stream, event); return;
	case LIT_DO_COPY:
	case LIT_DO_SET: g->failed = -ENOTSUP; return; /* these are no part of the model */
	case LIT_DO_SYNC_STREAM: join(h->known, stream); return;
	case LIT_DO_SYNC_EVENT: join(h->known, event); return;
	case LIT_DO_SYNC_ALL:
		for (int n = 0; n < 64; n++)
			join(h->known, h->stream[s->rank * 64 + n]);
	}
}

/* g->before[l] = the launches that l follows (8.9.4, API synchronization). What one host was told is known to all: a step
 * begins when the one before has returned. */
int build_launches(struct graph *g)
{
	struct host *h = calloc(1, sizeof(*h));

	if (!h)
		return g->failed = -ENOMEM;
	memset(g->before, 0, sizeof(g->before));
	for (size_t s = 0; s < g->p->steps; s++)
		host_step(g, h, &g->p->step[s]);
	free(h);
	return 0;
}

static void build_forget(struct graph *g)
{
	for (uint32_t e = 0; e < g->events; e++)
		free(g->event[e].near);
	g->events = g->nodes = g->guessed = 0;
	g->steps = g->constraints = g->edges = g->meets = 0;
	g->feasible = true;
}

int build_path(struct graph *g)
{
	struct section *s = malloc(sizeof(*s));

	build_forget(g);
	if (!s) {
		g->failed = -ENOMEM;
		return -1;
	}
	for (uint32_t t = 0; t < g->p->threads && g->feasible && !g->stopped && !g->failed; t++)
		build_section(g, s, t);
	free(s);
	if (g->stopped || g->failed)
		return -1;
	if (!g->feasible)
		return 1;
	for (size_t i = 0; i < g->p->terms; i++) {
		const struct lit_term *term = &g->p->term[i];
		uint32_t event = term->location >= 0 ? AX_NOBODY : g->final[(size_t)term->thread * LIT_REGS + (size_t)term->reg].event;

		if (event != AX_NOBODY)
			g->event[event].needed = 1;
	}
	return build_memory(g);
}

void build_close(struct graph *g)
{
	build_forget(g);
	free(g->cell);
	free(g->edge);
	free(g->final);
	free(g->use);
	free(g->uses);
}
