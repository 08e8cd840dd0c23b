#include "sync.h"

#include "slots.h"

#include <string.h>

static void fence(struct make *m, enum lit_sem sem, enum lit_scope far, int all)
{
	struct lit_instr i = {.op = LIT_FENCE, .sem = sem, .scope = far, .bytes = 4, .vector = 1};
	struct native_op *op;

	i.membar = sem == LIT_SC && make_chance(m, 40);
	op = make_add(m, &i, 0, 0, 0);
	op->tid_end = all ? NATIVE_ALL : 1;
}

static int broken(const struct make *m, const char *how) { return m->breaks == m->phase && m->how && !strcmp(m->how, how); }

static enum lit_scope reach(struct make *m) { return broken(m, "scope") ? LIT_CTA : make_scope(m); }

/* Thread 0 of each CTA says that its CTA has come so far: an RMW that adds 1, or a store of `value`. */
void sync_raise(struct make *m, int rank, uint64_t at, uint32_t stride, int adds, uint32_t value)
{
	static const enum lit_sem fences[] = {LIT_RELEASE, LIT_ACQ_REL, LIT_SC};
	int fenced = make_chance(m, 50), everybody = make_chance(m, 40);
	enum lit_scope far = reach(m);
	struct lit_instr i = {.bytes = 4, .vector = 1, .reg = -1, .value_reg = -1, .scope = far, .rmw = LIT_ADD};
	struct native_op *op;

	if (fenced && everybody && !broken(m, "release"))
		fence(m, fences[make_below(m, 3)], far, 1);
	make_control(m, NATIVE_BARRIER);
	if (fenced && !everybody && !broken(m, "release"))
		fence(m, fences[make_below(m, 3)], far, 0);
	i.op = !adds ? LIT_ST : make_chance(m, 50) ? LIT_RED : LIT_ATOM;
	i.sem = fenced || broken(m, "release") ? LIT_RELAXED : i.op == LIT_ATOM && make_chance(m, 40) ? LIT_ACQ_REL : LIT_RELEASE;
	i.reg = i.op == LIT_ATOM && (far == LIT_CTA || make_chance(m, 50)) ? 0 : -1;
	op = make_add(m, &i, rank, at, adds ? 1 : value);
	op->cta_stride = stride;
	op->tid_end = 1;
}

/* Thread 0 of each CTA waits until the flag holds the value; what it acquires serves the CTA. */
void sync_await(struct make *m, int rank, uint64_t at, uint32_t stride, uint32_t rotate, uint32_t value)
{
	static const struct { enum lit_op op; enum lit_sem sem, after; } looks[] = {
		{LIT_LD, LIT_ACQUIRE, LIT_WEAK}, {LIT_LD, LIT_ACQUIRE, LIT_WEAK}, {LIT_LD, LIT_RELAXED, LIT_ACQUIRE},
		{LIT_LD, LIT_RELAXED, LIT_ACQ_REL},
		{LIT_LD, LIT_RELAXED, LIT_SC}, {LIT_LD, LIT_VOLATILE, LIT_SC}, {LIT_ATOM, LIT_ACQUIRE, LIT_WEAK},
		{LIT_ATOM, LIT_RELAXED, LIT_ACQ_REL},
	};
	size_t which = make_below(m, sizeof(looks) / sizeof(*looks));
	enum lit_scope far = make_scope(m); /* never .cta: a GPU might not see the flag at all */
	struct lit_instr i = {.op = looks[which].op, .sem = looks[which].sem, .bytes = 4, .vector = 1, .scope = far,
			      .rmw = LIT_ADD, .value_reg = -1};
	enum lit_sem after = looks[which].after;
	struct native_op *op = make_control(m, NATIVE_SET);
	uint32_t first;

	if (broken(m, "acquire")) {
		i.sem = i.sem == LIT_ACQUIRE ? LIT_RELAXED : i.sem;
		after = LIT_WEAK;
	}
	if (i.sem == LIT_VOLATILE)
		i.scope = LIT_NO_SCOPE;
	op->value = SPIN_TRIES;
	first = m->l->list.ops;
	op = make_add(m, &i, rank, at, 0);
	op->flags = NATIVE_TO_REG;
	op->cta_stride = stride;
	op->rotate = rotate;
	op->tid_end = 1;
	op->cta_first = (uint16_t)m->cta_first;
	op = make_control(m, NATIVE_AGAIN);
	op->target = first;
	op->value = value;
	op->tid_end = 1;
	op->cta_first = (uint16_t)m->cta_first;
	op = make_control(m, NATIVE_AWAITED);
	op->value = value;
	op->tid_end = 1;
	op->cta_first = (uint16_t)m->cta_first;
	if (after != LIT_WEAK)
		fence(m, after, far, !m->o->broken && make_chance(m, 40)); /* what others fence before its RMW, a CTA releases */
	make_control(m, NATIVE_BARRIER);
}

/* Few, but in some programs: threads that come to one word go one by one, and each takes tens of microseconds. */
#define COUNTING 32u
static void count_by_few(struct make *m, struct native_op *op)
{
	uint32_t ctas = m->l->grid < SYNC_CTAS ? m->l->grid : SYNC_CTAS, threads = COUNTING / ctas;

	if (make_chance(m, SYNC_MORE))
		return;
	if (op->tid_end > op->tid_first + threads)
		op->tid_end = (uint16_t)(op->tid_first + threads);
	if (op->cta_end > op->cta_first + ctas)
		op->cta_end = (uint16_t)(op->cta_first + ctas);
}

/* Counted by many; nothing else touches them. */
void sync_count(struct make *m)
{
	struct lit_instr i = {.op = make_chance(m, 70) ? LIT_RED : LIT_ATOM, .sem = LIT_RELAXED, .bytes = 4, .vector = 1,
			      .rmw = LIT_ADD, .value_reg = -1};
	uint32_t bins = 1u << make_below(m, 8);
	int rank = m->l->rank;
	struct native_op *op;

	i.scope = make_scope(m);
	i.reg = i.op == LIT_ATOM && make_chance(m, 50) ? 0 : -1;
	op = make_add(m, &i, rank, make_room(m, rank, bins * 4), 1 + make_below(m, 5));
	op->tid_stride = 4;
	op->tid_mul = (uint16_t)(1 + 2 * make_below(m, 20));
	op->tid_mask = bins - 1;
	slots_some_lanes(m, op);
	count_by_few(m, op);
}

static void lock_take(struct make *m, int rank, uint64_t lock, uint32_t locks)
{
	struct lit_instr i = {.op = LIT_ATOM, .rmw = LIT_CAS, .sem = make_chance(m, 60) ? LIT_ACQUIRE : LIT_ACQ_REL,
			      .scope = reach(m), .bytes = 4, .vector = 1, .value_reg = -1};
	int fenced = make_chance(m, 30);
	struct native_op *op = make_control(m, NATIVE_SET);
	uint32_t first;

	op->value = SPIN_TRIES;
	first = m->l->list.ops;
	i.sem = fenced || broken(m, "acquire") ? LIT_RELAXED : i.sem;
	op = make_add(m, &i, rank, lock, 1);
	op->cta_stride = 128;
	op->group = locks;
	op->flags = NATIVE_TO_REG;
	op->tid_end = 1;
	op = make_control(m, NATIVE_AGAIN);
	op->target = first;
	op->tid_end = 1;
	make_control(m, NATIVE_AWAITED)->tid_end = 1;
	if (fenced && !broken(m, "acquire"))
		fence(m, LIT_ACQ_REL, i.scope, 0);
	make_control(m, NATIVE_BARRIER);
}

static void lock_give(struct make *m, int rank, uint64_t lock, uint32_t locks)
{
	int fenced = make_chance(m, 40);
	struct lit_instr i = {.op = make_chance(m, 50) ? LIT_ST : LIT_ATOM, .rmw = LIT_EXCH, .scope = reach(m), .bytes = 4,
			      .vector = 1, .value_reg = -1};
	struct native_op *op;

	make_control(m, NATIVE_BARRIER);
	if (fenced && !broken(m, "release"))
		fence(m, LIT_ACQ_REL, i.scope, 0);
	i.sem = fenced || broken(m, "release") ? LIT_RELAXED : LIT_RELEASE;
	i.reg = i.op == LIT_ATOM ? 0 : -1;
	op = make_add(m, &i, rank, lock, 0);
	op->cta_stride = 128;
	op->group = locks;
	op->tid_end = 1;
}

/* A sum per lock, to which each CTA adds under it. */
void sync_locked(struct make *m)
{
	uint32_t locks = m->l->grid / 64 + 1 + make_below(m, 4), stride = (m->l->block * 4 + 127) / 128 * 128;
	int rank = m->l->rank;
	uint64_t lock = make_room(m, rank, locks * 128), sums = make_room(m, rank, (uint64_t)locks * stride);
	struct lit_instr i = {.op = LIT_LD, .sem = LIT_WEAK, .bytes = 4, .vector = 1, .value_reg = -1};
	struct native_op *op;

	lock_take(m, rank, lock, locks);
	op = make_add(m, &i, rank, sums, 0);
	op->flags = NATIVE_TO_REG;
	op->reg = 1;
	op->tid_stride = 4;
	op->cta_stride = stride;
	op->group = locks;
	i.op = LIT_ST;
	i.reg = -1;
	op = make_add(m, &i, rank, sums, 1 + make_below(m, 9));
	op->flags = NATIVE_FROM_REG;
	op->value_reg = 1;
	op->tid_stride = 4;
	op->cta_stride = stride;
	op->group = locks;
	lock_give(m, rank, lock, locks);
}

/* The last to arrive goes on alone, the others leave. Thread 0 tells its CTA by a word that only the CTA uses. */
void sync_last(struct make *m)
{
	enum lit_scope far = reach(m);
	struct lit_instr i = {.op = LIT_ATOM, .rmw = LIT_ADD, .sem = LIT_ACQ_REL, .scope = far, .bytes = 4, .vector = 1,
			      .value_reg = -1};
	int rank = m->l->rank, fenced = make_chance(m, 50);
	uint64_t counter = make_room(m, rank, 4), told = make_room(m, rank, 128 * (uint64_t)m->l->grid);
	struct native_op *op;

	make_control(m, NATIVE_BARRIER);
	if (fenced && !broken(m, "release"))
		fence(m, LIT_ACQ_REL, far, 0);
	i.sem = broken(m, "release") ? LIT_ACQUIRE : broken(m, "acquire") ? LIT_RELEASE : fenced ? LIT_RELAXED : LIT_ACQ_REL;
	op = make_add(m, &i, rank, counter, 1);
	op->flags = NATIVE_TO_REG;
	op->tid_end = 1;
	if (fenced && !broken(m, "acquire"))
		fence(m, LIT_ACQ_REL, far, 0);
	i = (struct lit_instr){.op = LIT_ST, .sem = LIT_WEAK, .bytes = 4, .vector = 1, .reg = -1, .value_reg = -1};
	op = make_add(m, &i, rank, told, 0);
	op->cta_stride = 128;
	op->flags = NATIVE_FROM_REG;
	op->tid_end = 1;
	make_control(m, NATIVE_BARRIER);
	i.op = LIT_LD;
	i.reg = 0;
	op = make_add(m, &i, rank, told, 0);
	op->cta_stride = 128;
	op->flags = NATIVE_TO_REG;
	make_control(m, NATIVE_BARRIER);
	i.op = LIT_ST; /* memory does not keep which was the last */
	i.reg = -1;
	op = make_add(m, &i, rank, told, 0);
	op->cta_stride = 128;
	op->tid_end = 1;
	op = make_control(m, NATIVE_IF);
	op->value = m->l->grid - 1;
	op->target = ~0u; /* the end of the phase */
}

void sync_last_ends(struct make *m)
{
	for (uint32_t n = 0; n < m->l->list.ops; n++)
		if (m->l->list.op[n].code == CONTROL(NATIVE_IF) && m->l->list.op[n].target == ~0u)
			m->l->list.op[n].target = m->l->list.ops;
}
