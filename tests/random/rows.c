#include "rows.h"

#include <string.h>

struct place { const struct lit_program *p; const struct lit_thread *t; size_t at; };

static const struct lit_instr *here(const struct place *w) { return &w->t->instr[w->at]; }

static int reads(const struct lit_instr *i) { return i->op == LIT_LD || i->op == LIT_POLL || i->op == LIT_ATOM || i->op == LIT_RED; }
static int writes(const struct lit_instr *i) { return i->op == LIT_ST || i->op == LIT_ATOM || i->op == LIT_RED; }
static int accesses(const struct lit_instr *i) { return i->op <= LIT_RED || i->op == LIT_POLL; }
static int strong(const struct lit_instr *i) { return accesses(i) && i->sem != LIT_WEAK && i->sem != LIT_NC; }
static int rmw(const struct lit_instr *i) { return i->op == LIT_ATOM || i->op == LIT_RED; }

static int fence_then_write(const struct place *w)
{
	if (!strong(here(w)) || !writes(here(w)))
		return 0;
	for (size_t i = w->at; i-- > 0;)
		if (w->t->instr[i].op == LIT_FENCE && w->t->instr[i].sem != LIT_ACQUIRE)
			return 1;
	return 0;
}

static int read_then_fence(const struct place *w)
{
	if (here(w)->op != LIT_FENCE || here(w)->sem == LIT_RELEASE)
		return 0;
	for (size_t i = w->at; i-- > 0;)
		if (strong(&w->t->instr[i]) && reads(&w->t->instr[i]) && w->t->instr[i].op != LIT_RED)
			return 1;
	return 0;
}

/* An earlier operation on the same location, of the given semantics. */
static int earlier(const struct place *w, enum lit_sem sem, int (*is)(const struct lit_instr *))
{
	for (size_t i = w->at; i-- > 0;)
		if (w->t->instr[i].location == here(w)->location && w->t->instr[i].sem == sem && is(&w->t->instr[i]))
			return 1;
	return 0;
}

static int release_then_relaxed(const struct place *w)
{
	return here(w)->op == LIT_ST && here(w)->sem == LIT_RELAXED && earlier(w, LIT_RELEASE, writes);
}

static int relaxed_then_acquire(const struct place *w)
{
	return reads(here(w)) && (here(w)->sem == LIT_ACQUIRE || here(w)->sem == LIT_ACQ_REL) && earlier(w, LIT_RELAXED, reads);
}

static int overlapping_location(const struct place *w)
{
	for (size_t l = 0; accesses(here(w)) && l < w->p->locations; l++)
		if (w->p->location[l].base >= 0 && ((int)l == here(w)->location || w->p->location[l].base == here(w)->location))
			return 1;
	return 0;
}

/* An RMW on a location on which another CTA has one too. */
static int rmw_chain(const struct place *w)
{
	if (!rmw(here(w)))
		return 0;
	for (const struct lit_thread *t = w->p->thread; t < w->p->thread + w->p->threads; t++)
		for (size_t i = 0; i < t->instrs; i++)
			if ((t->launch != w->t->launch || t->cta != w->t->cta) && rmw(&t->instr[i]) &&
			    t->instr[i].location == here(w)->location)
				return 1;
	return 0;
}

/* The first thing that a thread does: the start of its kernel is the fence. */
static int start_then_write(const struct place *w)
{
	return w->at == 0 && strong(here(w)) && writes(here(w)) && here(w)->sem != LIT_RELEASE && here(w)->sem != LIT_ACQ_REL;
}

static int accesses_peer(const struct place *w)
{
	return accesses(here(w)) && w->p->location[here(w)->location].rank != w->p->launch[w->t->launch].rank;
}

static int vector(const struct place *w) { return accesses(here(w)) && here(w)->vector > 1; }
static int sub_word(const struct place *w) { return accesses(here(w)) && here(w)->bytes < 4; }
static int generic(const struct place *w) { return accesses(here(w)) && here(w)->generic; }
static int warp(const struct place *w) { return accesses(here(w)) && w->t->threads == 32 && here(w)->stride; }
static int cas(const struct place *w) { return here(w)->op == LIT_ATOM && here(w)->rmw == LIT_CAS; }

#define SEM(name, ops, value) {name, 1u << (ops), -1, value, -1, NULL}
static const struct row {
	const char *name;
	unsigned ops; /* 1 << lit_op; 0: `is` alone decides */
	int step, sem, scope;
	int (*is)(const struct place *);
} rows[] = {
	{"ld weak", 1u << LIT_LD, -1, LIT_WEAK, -1, NULL}, {"st weak", 1u << LIT_ST, -1, LIT_WEAK, -1, NULL},
	{"ld nc", 1u << LIT_LD, -1, LIT_NC, -1, NULL},
	{"ld relaxed", 1u << LIT_LD | 1u << LIT_POLL, -1, LIT_RELAXED, -1, NULL}, {"st relaxed", 1u << LIT_ST, -1, LIT_RELAXED, -1, NULL},
	{"ld acquire", 1u << LIT_LD | 1u << LIT_POLL, -1, LIT_ACQUIRE, -1, NULL}, {"st release", 1u << LIT_ST, -1, LIT_RELEASE, -1, NULL},
	{"volatile", ~0u, -1, LIT_VOLATILE, -1, NULL}, {"mmio", ~0u, -1, LIT_MMIO, -1, NULL},
	SEM("atom relaxed", LIT_ATOM, LIT_RELAXED), SEM("atom acquire", LIT_ATOM, LIT_ACQUIRE),
	SEM("atom release", LIT_ATOM, LIT_RELEASE), SEM("atom acq_rel", LIT_ATOM, LIT_ACQ_REL),
	SEM("red relaxed", LIT_RED, LIT_RELAXED), SEM("red release", LIT_RED, LIT_RELEASE),
	SEM("fence acquire", LIT_FENCE, LIT_ACQUIRE), SEM("fence release", LIT_FENCE, LIT_RELEASE),
	SEM("fence acq_rel", LIT_FENCE, LIT_ACQ_REL), SEM("fence sc, membar", LIT_FENCE, LIT_SC),
	{"scope cta", ~0u, -1, -1, LIT_CTA, NULL}, {"scope cluster", ~0u, -1, -1, LIT_CLUSTER, NULL},
	{"scope gpu", ~0u, -1, -1, LIT_GPU, NULL}, {"scope sys", ~0u, -1, -1, LIT_SYS, NULL},
	{"fence, then strong write", 0, -1, -1, -1, fence_then_write}, {"strong read, then fence", 0, -1, -1, -1, read_then_fence},
	{"st.release M, then st.relaxed M", 0, -1, -1, -1, release_then_relaxed},
	{"ld.relaxed M, then ld.acquire M", 0, -1, -1, -1, relaxed_then_acquire},
	{"kernel start, then strong write", 0, -1, -1, -1, start_then_write},
	{"RMWs of several CTAs on one location", 0, -1, -1, -1, rmw_chain},
	{"vector", 0, -1, -1, -1, vector}, {"bytes and halves", 0, -1, -1, -1, sub_word},
	{"generic address", 0, -1, -1, -1, generic}, {"a warp side by side", 0, -1, -1, -1, warp}, {"cas", 0, -1, -1, -1, cas},
	{"bar", 1u << LIT_BAR, -1, -1, -1, NULL}, {"if", 1u << LIT_IF, -1, -1, -1, NULL},
	{"repeat", 1u << LIT_REPEAT, -1, -1, -1, NULL}, {"poll", 1u << LIT_POLL, -1, -1, -1, NULL},
	{"partly overlapping locations", 0, -1, -1, -1, overlapping_location}, {"access to a peer's memory", 0, -1, -1, -1, accesses_peer},
	{"event record", 0, LIT_DO_RECORD, -1, -1, NULL}, {"event wait", 0, LIT_DO_WAIT, -1, -1, NULL},
	{"event sync", 0, LIT_DO_SYNC_EVENT, -1, -1, NULL}, {"stream sync", 0, LIT_DO_SYNC_STREAM, -1, -1, NULL},
	{"context sync", 0, LIT_DO_SYNC_ALL, -1, -1, NULL},
	{"copy", 0, LIT_DO_COPY, -1, -1, NULL}, {"set", 0, LIT_DO_SET, -1, -1, NULL},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)
_Static_assert(ROW_COUNT <= ROWS, "room for all rows");

const char *rows_name(size_t row) { return row < ROW_COUNT ? rows[row].name : NULL; }

static int matches(const struct row *r, const struct place *w)
{
	const struct lit_instr *i = here(w);
	if (r->is)
		return r->is(w);
	return r->step < 0 && r->ops >> i->op & 1 && (r->sem < 0 || (int)i->sem == r->sem) && (r->scope < 0 || (int)i->scope == r->scope);
}

void rows_count(const struct lit_program *p, uint32_t has[ROWS])
{
	memset(has, 0, ROWS * sizeof *has);
	for (size_t r = 0; r < ROW_COUNT; r++) {
		for (const struct lit_thread *t = p->thread; t < p->thread + p->threads; t++)
			for (size_t at = 0; at < t->instrs; at++)
				has[r] += (uint32_t)matches(&rows[r], &(struct place){p, t, at});
		for (size_t s = 0; s < p->steps; s++)
			has[r] += rows[r].step >= 0 && p->step[s].op == (enum lit_step_op)rows[r].step;
	}
}
