#include "construct.h"

#include "forms.h"
#include "mutate.h"
#include "player.h"
#include "random/build.h"

#include <stdlib.h>
#include <string.h>

#define SPIN_TRIES (1u << 24) /* of a wait that must end */
#define CONTROL(c) ((uint16_t)(forms_count() + (c)))
enum { ARRAYS = 3, PHASES = 4, MOST_BYTES = 2 << 20 };

/* What orders a phase before the next. The first four end the launch. */
enum border { BY_STREAM, BY_EVENT, BY_HOST, BY_COUNTER, BY_GRID, BY_LAST, BY_CHAIN, BORDERS };

struct array {
	uint32_t size, rows;            /* bytes of a slot; slots of a thread */
	int rank;
	uint64_t at, bytes;
	uint32_t first, tid_stride, cta_stride, step; /* of the current launch: where slots lie */
	uint16_t tid_mul, tid_add;      /* of the current phase: which thread has which */
	uint32_t tid_mask;
	int quiet;                      /* nobody has written to it since work was last waited for by host or stream */
	int read;                       /* in the phase before, all might read all of it */
};

struct make {
	struct build b; /* a source of chances */
	const struct construct_options *o;
	struct native *p;
	struct native_launch *l;
	int phases, phase, breaks;      /* the border that is broken; -1: none */
	const char *how;                /* it is broken */
	enum border border[PHASES];
	uint32_t grid[PHASES], block[PHASES];
	struct array array[ARRAYS];
	int arrays, sync;               /* sync: kernel PLAYER_SYNC */
	uint32_t far;                   /* scopes have to be sys */
	uint32_t cta_first;             /* of this phase, by a chain: CTAs before it have nobody to read from */
	int single;                     /* the launch has no other phase */
	int running;                    /* a launch that a counter came from may run still */
};

static uint32_t below(struct make *m, uint32_t n) { return build_below(&m->b, n); }
static int chance(struct make *m, uint32_t percent) { return build_chance(&m->b, percent); }

static uint64_t room(struct make *m, int rank, uint64_t bytes)
{
	uint64_t at = m->p->bytes[rank];

	m->p->bytes[rank] = (at + bytes + 255) / 256 * 256;
	return at;
}

/* ---- strong accesses ------------------------------------------------------------------------------------------- */
static enum lit_scope scope(struct make *m) { return m->far || chance(m, 30) ? LIT_SYS : LIT_GPU; }

static struct native_op *add(struct make *m, const struct lit_instr *i, int rank, uint64_t at, uint32_t value)
{
	int code = forms_find(i);
	struct native_op op = native_op((uint16_t)code);

	if (code < 0)
		abort();
	op.address = at;
	op.rank = (uint16_t)rank;
	op.value = value;
	m->sync |= !player_has(PLAYER_REDS, (size_t)code);
	return native_add(m->l, op);
}

static struct native_op *control(struct make *m, enum native_control what)
{
	return native_add(m->l, native_op(CONTROL(what)));
}

static void fence(struct make *m, enum lit_sem sem, enum lit_scope reach, int all)
{
	struct lit_instr i = {.op = LIT_FENCE, .sem = sem, .scope = reach, .bytes = 4, .vector = 1};
	struct native_op *op;

	i.membar = sem == LIT_SC && chance(m, 40);
	op = add(m, &i, 0, 0, 0);
	op->tid_end = all ? NATIVE_ALL : 1;
}

static int broken(const struct make *m, const char *how) { return m->breaks == m->phase && m->how && !strcmp(m->how, how); }

static enum lit_scope reach(struct make *m) { return broken(m, "scope") ? LIT_CTA : scope(m); }

/* Thread 0 of each CTA says that its CTA has come so far: an RMW that adds 1, or a store of `value`. */
static void raise_flag(struct make *m, int rank, uint64_t at, uint32_t stride, int adds, uint32_t value)
{
	static const enum lit_sem fences[] = {LIT_RELEASE, LIT_ACQ_REL, LIT_SC};
	int fenced = chance(m, 50), everybody = chance(m, 40);
	enum lit_scope far = reach(m);
	struct lit_instr i = {.bytes = 4, .vector = 1, .reg = -1, .value_reg = -1, .scope = far, .rmw = LIT_ADD};
	struct native_op *op;

	if (fenced && everybody && !broken(m, "release"))
		fence(m, fences[below(m, 3)], far, 1);
	control(m, NATIVE_BARRIER);
	if (fenced && !everybody && !broken(m, "release"))
		fence(m, fences[below(m, 3)], far, 0);
	i.op = !adds ? LIT_ST : chance(m, 50) ? LIT_RED : LIT_ATOM;
	i.sem = fenced || broken(m, "release") ? LIT_RELAXED : i.op == LIT_ATOM && chance(m, 40) ? LIT_ACQ_REL : LIT_RELEASE;
	i.reg = i.op == LIT_ATOM && (far == LIT_CTA || chance(m, 50)) ? 0 : -1;
	op = add(m, &i, rank, at, adds ? 1 : value);
	op->cta_stride = stride;
	op->tid_end = 1;
}

/* Thread 0 of each CTA waits until the flag holds the value; what it acquires serves the CTA. */
static void await_flag(struct make *m, int rank, uint64_t at, uint32_t stride, uint32_t rotate, uint32_t value)
{
	static const struct { enum lit_op op; enum lit_sem sem, after; } looks[] = {
		{LIT_LD, LIT_ACQUIRE, LIT_WEAK}, {LIT_LD, LIT_ACQUIRE, LIT_WEAK}, {LIT_LD, LIT_RELAXED, LIT_ACQUIRE}, {LIT_LD, LIT_RELAXED, LIT_ACQ_REL},
		{LIT_LD, LIT_RELAXED, LIT_SC}, {LIT_LD, LIT_VOLATILE, LIT_SC}, {LIT_ATOM, LIT_ACQUIRE, LIT_WEAK}, {LIT_ATOM, LIT_RELAXED, LIT_ACQ_REL},
	};
	size_t which = below(m, sizeof(looks) / sizeof(*looks));
	enum lit_scope far = scope(m); /* never .cta: a GPU might not see the flag at all */
	struct lit_instr i = {.op = looks[which].op, .sem = looks[which].sem, .bytes = 4, .vector = 1, .scope = far, .rmw = LIT_ADD, .value_reg = -1};
	enum lit_sem after = looks[which].after;
	struct native_op *op = control(m, NATIVE_SET);
	uint32_t first;

	if (broken(m, "acquire")) {
		i.sem = i.sem == LIT_ACQUIRE ? LIT_RELAXED : i.sem;
		after = LIT_WEAK;
	}
	if (i.sem == LIT_VOLATILE)
		i.scope = LIT_NO_SCOPE;
	op->value = SPIN_TRIES;
	first = m->l->list.ops;
	op = add(m, &i, rank, at, 0);
	op->flags = NATIVE_TO_REG;
	op->cta_stride = stride;
	op->rotate = rotate;
	op->tid_end = 1;
	op->cta_first = (uint16_t)m->cta_first;
	op = control(m, NATIVE_AGAIN);
	op->target = first;
	op->value = value;
	op->tid_end = 1;
	op->cta_first = (uint16_t)m->cta_first;
	op = control(m, NATIVE_AWAITED);
	op->value = value;
	op->tid_end = 1;
	op->cta_first = (uint16_t)m->cta_first;
	if (after != LIT_WEAK)
		fence(m, after, far, !m->o->broken && chance(m, 40)); /* others' fences, while thread 0 waits, may release: CTAs are threads */
	control(m, NATIVE_BARRIER);
}

/* ---- weak accesses --------------------------------------------------------------------------------------------- */
static void some_lanes(struct make *m, struct native_op *op)
{
	if (chance(m, 30))
		op->lanes = chance(m, 50) ? ~0u << below(m, 31) : (uint32_t)build_random(&m->b);
	if (chance(m, 15))
		op->tid_first = (uint16_t)below(m, m->l->block);
	if (chance(m, 15))
		op->tid_end = (uint16_t)(1 + below(m, m->l->block));
	if (chance(m, 10))
		op->cta_end = (uint16_t)(1 + below(m, m->l->grid));
}

static void slot_place(struct array *a, struct native_op *op, uint32_t row)
{
	op->rank = (uint16_t)a->rank;
	op->address = a->at + a->first + (uint64_t)row * a->step;
	op->cta_stride = a->cta_stride;
	op->tid_stride = a->tid_stride;
	op->tid_mul = a->tid_mul;
	op->tid_add = a->tid_add;
	op->tid_mask = a->tid_mask;
}

/* A scalar or vector in a slot. whole: all of it, by all threads. */
static struct native_op *slot_access(struct make *m, struct array *a, enum lit_op what, int whole, int nc)
{
	struct lit_instr i = {.op = what, .sem = nc ? LIT_NC : LIT_WEAK, .bytes = 4, .vector = 1, .reg = what == LIT_LD ? 0 : -1, .value_reg = -1};
	uint32_t size = whole ? a->size : 1u << below(m, 5), row = below(m, a->rows), offset;
	struct native_op op, *added;

	while (size > a->size)
		size /= 2;
	i.bytes = (uint8_t)(size < 4 || (size == 4 && !nc) ? size : size == 8 || chance(m, 30) ? 8 : 4);
	if (nc)
		i.bytes = 4;
	if (!nc && i.sem == LIT_WEAK && size >= 2 && size <= 4 && chance(m, 20))
		i.bytes = (uint8_t)(size / 2);
	if (!nc && size == 8 && chance(m, 40))
		i.bytes = chance(m, 50) ? 4 : 2;
	i.vector = (uint8_t)(size / i.bytes ? size / i.bytes : 1);
	if (!nc && m->sync && size == i.bytes && size >= 4 && chance(m, 12)) {
		i.sem = chance(m, 50) ? LIT_RELAXED : LIT_VOLATILE;
		i.scope = i.sem == LIT_RELAXED ? scope(m) : LIT_NO_SCOPE;
	}
	i.generic = i.sem == LIT_WEAK && i.bytes == 4 && i.vector != 2 && chance(m, 15);
	if (forms_find(&i) < 0 || (nc && size < 4))
		return slot_access(m, a, what, whole, 0);
	offset = below(m, a->size / size) * size;
	op = native_op((uint16_t)forms_find(&i));
	slot_place(a, &op, row);
	op.address += offset;
	op.value = below(m, 1000);
	op.flags = what == LIT_LD ? NATIVE_KEEP : chance(m, 70) ? NATIVE_MIX : 0;
	added = native_add(m->l, op);
	if (!whole)
		some_lanes(m, added);
	return added;
}

/* Straight-line code over several slots of the thread; NULL: no batch fits. With loads and stores, the second half of the slots
 * gets what is stored. */
static struct native_op *slots_batch(struct make *m, struct array *a, int stores)
{
	static const struct form_batch all[] = {{4, 0, 4, 4}, {8, 0, 4, 1}, {0, 4, 4, 4}, {0, 8, 4, 1}, {2, 2, 4, 4}, {3, 3, 1, 1}, {4, 0, 8, 2},
						{0, 4, 2, 1}, {2, 2, 8, 1}};
	const struct form_batch *f = &all[below(m, sizeof(all) / sizeof(*all))];
	uint32_t n = f->loads > f->stores ? f->loads : f->stores, both = f->loads && f->stores;
	struct native_op op;

	if ((uint32_t)f->bytes * f->vector > a->size || n * (1 + both) > a->rows || (f->stores && !stores))
		return NULL;
	op = native_op((uint16_t)forms_batch(*f));
	slot_place(a, &op, 0);
	op.step = a->step;
	op.behind = (int32_t)(n * a->step);
	op.value = below(m, 1000);
	op.flags = (uint8_t)((f->loads ? NATIVE_KEEP : 0) | NATIVE_MIX);
	struct native_op *added = native_add(m->l, op);
	some_lanes(m, added);
	return added;
}

/* ---- phases ---------------------------------------------------------------------------------------------------- */
static void phase_threads(struct make *m, struct array *a) /* which thread has which slot, in this phase */
{
	uint32_t n = m->l->block;

	a->tid_mul = 1;
	a->tid_add = 0;
	a->tid_mask = ~0u;
	if (n & (n - 1) || chance(m, 60))
		return;
	a->tid_mul = (uint16_t)(2 * below(m, n) + 1);
	a->tid_add = (uint16_t)below(m, n);
	a->tid_mask = n - 1;
}

static void own(struct make *m, struct array *a)
{
	for (uint32_t n = 1 + below(m, 3); n--;)
		if (!chance(m, 40) || !slots_batch(m, a, 1))
			slot_access(m, a, chance(m, 50) ? LIT_LD : LIT_ST, 0, 0);
	a->quiet = 0;
}

static void from(struct make *m, struct native_op *op) /* slots of another CTA */
{
	uint32_t grid = m->l->grid, back = m->cta_first ? m->cta_first : grid > 1 ? 1 + below(m, grid - 1) : 0;

	op->rotate = grid - back;
	op->cta_first = (uint16_t)m->cta_first;
	op->cta_end = NATIVE_ALL;
}

static void read_all(struct make *m, struct array *a)
{
	for (uint32_t n = 1 + below(m, 3); n--;) {
		struct native_op *op = chance(m, 40) ? slots_batch(m, a, 0) : NULL;

		op = op ? op : slot_access(m, a, LIT_LD, 0, m->single && a->quiet && !m->running && chance(m, 50));
		from(m, op);
	}
}

/* Counted by everybody; nothing else touches them. */
static void count(struct make *m)
{
	struct lit_instr i = {.op = chance(m, 70) ? LIT_RED : LIT_ATOM, .sem = LIT_RELAXED, .bytes = 4, .vector = 1, .rmw = LIT_ADD, .value_reg = -1};
	uint32_t bins = 1u << below(m, 8);
	int rank = m->l->rank;
	struct native_op *op;

	i.scope = scope(m);
	i.reg = i.op == LIT_ATOM && chance(m, 50) ? 0 : -1;
	op = add(m, &i, rank, room(m, rank, bins * 4), 1 + below(m, 5));
	op->tid_stride = 4;
	op->tid_mul = (uint16_t)(1 + 2 * below(m, 20));
	op->tid_mask = bins - 1;
	some_lanes(m, op);
}

static void lock_take(struct make *m, int rank, uint64_t lock, uint32_t locks)
{
	struct lit_instr i = {.op = LIT_ATOM, .rmw = LIT_CAS, .sem = chance(m, 60) ? LIT_ACQUIRE : LIT_ACQ_REL, .scope = reach(m), .bytes = 4, .vector = 1,
			      .value_reg = -1};
	int fenced = chance(m, 30);
	struct native_op *op = control(m, NATIVE_SET);
	uint32_t first;

	op->value = SPIN_TRIES;
	first = m->l->list.ops;
	i.sem = fenced || broken(m, "acquire") ? LIT_RELAXED : i.sem;
	op = add(m, &i, rank, lock, 1);
	op->cta_stride = 128;
	op->group = locks;
	op->flags = NATIVE_TO_REG;
	op->tid_end = 1;
	op = control(m, NATIVE_AGAIN);
	op->target = first;
	op->tid_end = 1;
	control(m, NATIVE_AWAITED)->tid_end = 1;
	if (fenced && !broken(m, "acquire"))
		fence(m, LIT_ACQ_REL, i.scope, 0);
	control(m, NATIVE_BARRIER);
}

static void lock_give(struct make *m, int rank, uint64_t lock, uint32_t locks)
{
	int fenced = chance(m, 40);
	struct lit_instr i = {.op = chance(m, 50) ? LIT_ST : LIT_ATOM, .rmw = LIT_EXCH, .scope = reach(m), .bytes = 4, .vector = 1, .value_reg = -1};
	struct native_op *op;

	control(m, NATIVE_BARRIER);
	if (fenced && !broken(m, "release"))
		fence(m, LIT_ACQ_REL, i.scope, 0);
	i.sem = fenced || broken(m, "release") ? LIT_RELAXED : LIT_RELEASE;
	i.reg = i.op == LIT_ATOM ? 0 : -1;
	op = add(m, &i, rank, lock, 0);
	op->cta_stride = 128;
	op->group = locks;
	op->tid_end = 1;
}

/* A sum per lock, to which each CTA adds under it. */
static void locked(struct make *m)
{
	uint32_t locks = m->l->grid / 64 + 1 + below(m, 4), stride = (m->l->block * 4 + 127) / 128 * 128;
	int rank = m->l->rank;
	uint64_t lock = room(m, rank, locks * 128), sums = room(m, rank, (uint64_t)locks * stride);
	struct lit_instr i = {.op = LIT_LD, .sem = LIT_WEAK, .bytes = 4, .vector = 1, .value_reg = -1};
	struct native_op *op;

	lock_take(m, rank, lock, locks);
	op = add(m, &i, rank, sums, 0);
	op->flags = NATIVE_TO_REG;
	op->reg = 1;
	op->tid_stride = 4;
	op->cta_stride = stride;
	op->group = locks;
	i.op = LIT_ST;
	i.reg = -1;
	op = add(m, &i, rank, sums, 1 + below(m, 9));
	op->flags = NATIVE_FROM_REG;
	op->value_reg = 1;
	op->tid_stride = 4;
	op->cta_stride = stride;
	op->group = locks;
	lock_give(m, rank, lock, locks);
}

/* ---- borders --------------------------------------------------------------------------------------------------- */
static int ends_launch(enum border b) { return b <= BY_COUNTER; }

static void shape(struct make *m, int phase, int waits)
{
	static const uint16_t blocks[] = {1, 7, 31, 32, 33, 64, 64, 96, 100, 128, 128, 200, 256, 256, 512, 1000, 1024};
	static const uint16_t grids[] = {1, 2, 2, 3, 4, 5, 8, 8, 13, 16, 16, 24, 33, 64, 132, 200, 300, 1024, 2048, 4096};
	uint32_t block = blocks[below(m, m->o->small ? 10 : sizeof(blocks) / sizeof(*blocks))];
	uint32_t grid = grids[below(m, m->o->small ? 7 : waits ? 11 : sizeof(grids) / sizeof(*grids))];

	if (waits && block > 256)
		block = 256;
	/* Most are small: 20,000 of them, 20 times each, are to take minutes. */
	uint32_t most = 1u << (chance(m, 90) ? 12 : chance(m, 80) ? 15 : 18);

	while (grid > 2 && grid * block > most)
		grid /= 2;
	if (m->o->broken && grid < 2)
		grid = 2;
	m->grid[phase] = grid;
	m->block[phase] = block;
}

static enum border border_any(struct make *m)
{
	static const uint8_t weights[BORDERS] = {20, 15, 6, 20, 20, 10, 12};
	uint32_t at = below(m, 103);

	for (unsigned b = 0; b < BORDERS; b++) {
		if (at < weights[b])
			return (enum border)b;
		at -= weights[b];
	}
	return BY_STREAM;
}

static int waits_in(const struct make *m, int phase) /* the launch that phase begins: does it need others to run beside it? */
{
	if (phase && m->border[phase - 1] == BY_COUNTER)
		return 1;
	for (int p = phase; p < m->phases - 1 && !ends_launch(m->border[p]); p++)
		if (m->border[p] == BY_GRID)
			return 1;
	return 0;
}

static void borders(struct make *m)
{
	m->phases = 2 + (int)below(m, PHASES - 1);
	for (int p = 0; p < m->phases - 1; p++) {
		m->border[p] = border_any(m);
		if (p && m->border[p - 1] == BY_LAST && !ends_launch(m->border[p]))
			m->border[p] = BY_STREAM; /* the others have gone */
		if (p && m->border[p - 1] == BY_CHAIN && !ends_launch(m->border[p]))
			m->border[p] = BY_GRID;
		if (m->o->broken && m->border[p] == BY_CHAIN && p % 2)
			m->border[p] = BY_GRID; /* array 0 would not be written in the phase behind it */
	}
}

static void shapes(struct make *m)
{
	for (int p = 0; p < m->phases; p++) {
		int waits = 0;

		if (p && (m->o->broken || !ends_launch(m->border[p - 1]))) { /* broken: all meet in the same bytes */
			m->grid[p] = m->grid[p - 1];
			m->block[p] = m->block[p - 1];
		} else {
			for (int q = p; q < (m->o->broken ? m->phases : p + 1); q++)
				waits |= waits_in(m, q);
			shape(m, p, waits);
		}
	}
}

/* Where the slots of CTAs and threads lie in this launch. */
static void layout(struct make *m, struct array *a, uint32_t grid, uint32_t block)
{
	uint32_t gap = a->size * (chance(m, 60) ? 0 : 1 + below(m, 3));

	a->first = a->size * (chance(m, 50) ? 0 : below(m, 32));
	if (chance(m, 70)) {
		a->tid_stride = a->size;
		a->step = a->size * block + gap;
		a->cta_stride = a->step * a->rows + gap;
	} else {
		a->step = a->size;
		a->tid_stride = a->size * a->rows + gap;
		a->cta_stride = a->tid_stride * block;
	}
	if (a->first + (uint64_t)a->cta_stride * grid > a->bytes)
		abort();
}

static void arrays(struct make *m)
{
	static const uint8_t sizes[] = {1, 2, 4, 4, 4, 8, 16, 16};
	static const uint8_t rows[] = {1, 1, 2, 4, 8};
	uint32_t most = 0;

	for (int p = 0; p < m->phases; p++)
		most = m->grid[p] * m->block[p] > most ? m->grid[p] * m->block[p] : most;
	m->arrays = 1 + (int)below(m, ARRAYS);
	for (int i = 0; i < m->arrays; i++) {
		struct array *a = &m->array[i];

		*a = (struct array){.size = sizes[below(m, 8)], .rows = m->o->broken && !i ? 1 : rows[below(m, 5)], .quiet = 1, .rank = (int)below(m, (uint32_t)m->o->ranks)};
		while ((uint64_t)most * a->rows * a->size > MOST_BYTES / 4 && a->rows > 1)
			a->rows /= 2;
		while ((uint64_t)most * a->rows * a->size > MOST_BYTES / 4 && a->size > 1)
			a->size /= 2;
		a->bytes = ((uint64_t)most + 64) * (a->rows + 4u) * a->size + (uint64_t)m->grid[0] * a->size * 16; /* with any gaps */
		for (int p = 0; p < m->phases; p++) {
			uint64_t with = ((uint64_t)m->block[p] * (a->rows + 4u) + 16 + 4u * a->rows) * a->size * m->grid[p] + 64 * a->size;

			a->bytes = with > a->bytes ? with : a->bytes;
		}
		a->at = room(m, a->rank, a->bytes);
	}
}

static void step(struct make *m, enum native_step_op op, int what, int rank, int stream)
{
	m->p->step[m->p->steps++] = (struct native_step){op, what, rank, stream};
}

static void launch_begin(struct make *m)
{
	enum border before = m->phase ? m->border[m->phase - 1] : BY_HOST;
	struct native_launch *last = m->l;
	int rank = last ? last->rank : (int)below(m, (uint32_t)m->o->ranks), stream = last ? last->stream : (int)below(m, 3);

	m->running = before == BY_COUNTER || (m->running && before != BY_HOST);
	if (before == BY_EVENT || before == BY_COUNTER)
		stream = (stream + 1 + (int)below(m, 2)) % 3;
	if (m->o->ranks > 1 && (before == BY_COUNTER || before == BY_HOST) && chance(m, 70))
		rank = 1 - rank;
	if (before == BY_EVENT && !(m->breaks == m->phase - 1))
		step(m, NATIVE_DO_EVENT, last->stream, rank, stream);
	if (before == BY_HOST && m->phase)
		step(m, NATIVE_DO_WAIT, 0, 0, 0);
	m->l = &m->p->launch[m->p->launches];
	m->l->rank = rank;
	m->l->stream = stream;
	m->l->grid = m->grid[m->phase];
	m->l->block = m->block[m->phase];
	m->sync = chance(m, 25);
	step(m, NATIVE_DO_LAUNCH, m->p->launches++, rank, stream);
	for (int i = 0; i < m->arrays; i++) {
		if (!m->phase || !m->o->broken)
			layout(m, &m->array[i], m->l->grid, m->l->block);
		m->array[i].quiet |= before != BY_COUNTER;
	}
}

/* What a thread has read goes to a word of its own; who is done early may leave early. */
static void launch_end(struct make *m)
{
	struct lit_instr i = {.op = LIT_ST, .sem = LIT_WEAK, .bytes = 4, .vector = 1, .reg = -1, .value_reg = -1};
	uint32_t line = (m->l->block * 4 + 127) / 128 * 128;
	struct native_op *op;

	if (chance(m, 20)) {
		op = control(m, NATIVE_EXIT);
		op->lanes = (uint32_t)build_random(&m->b);
	}
	op = add(m, &i, m->l->rank, room(m, m->l->rank, (uint64_t)line * m->l->grid), 0);
	op->tid_stride = 4;
	op->cta_stride = line;
	op->flags = NATIVE_MIX;
	control(m, NATIVE_END);
	m->l->kernel = m->sync ? PLAYER_SYNC : PLAYER_REDS;
	if (!m->sync) {
		m->l->kernel = PLAYER_WEAK;
		for (uint32_t n = 0; n < m->l->list.ops; n++)
			if (!player_has(PLAYER_WEAK, m->l->list.op[n].code))
				m->l->kernel = PLAYER_REDS;
	}
	if (chance(m, 10))
		m->l->kernel = PLAYER_SYNC;
}

/* The last to arrive goes on alone, the others leave. Thread 0 tells its CTA by a word that only the CTA uses. */
static void by_last(struct make *m)
{
	enum lit_scope far = reach(m);
	struct lit_instr i = {.op = LIT_ATOM, .rmw = LIT_ADD, .sem = LIT_ACQ_REL, .scope = far, .bytes = 4, .vector = 1, .value_reg = -1};
	int rank = m->l->rank, fenced = chance(m, 50);
	uint64_t counter = room(m, rank, 4), told = room(m, rank, 128 * (uint64_t)m->l->grid);
	struct native_op *op;

	control(m, NATIVE_BARRIER);
	if (fenced && !broken(m, "release"))
		fence(m, LIT_ACQ_REL, far, 0);
	i.sem = broken(m, "release") ? LIT_ACQUIRE : broken(m, "acquire") ? LIT_RELEASE : fenced ? LIT_RELAXED : LIT_ACQ_REL;
	op = add(m, &i, rank, counter, 1);
	op->flags = NATIVE_TO_REG;
	op->tid_end = 1;
	if (fenced && !broken(m, "acquire"))
		fence(m, LIT_ACQ_REL, far, 0);
	i = (struct lit_instr){.op = LIT_ST, .sem = LIT_WEAK, .bytes = 4, .vector = 1, .reg = -1, .value_reg = -1};
	op = add(m, &i, rank, told, 0);
	op->cta_stride = 128;
	op->flags = NATIVE_FROM_REG;
	op->tid_end = 1;
	control(m, NATIVE_BARRIER);
	i.op = LIT_LD;
	i.reg = 0;
	op = add(m, &i, rank, told, 0);
	op->cta_stride = 128;
	op->flags = NATIVE_TO_REG;
	control(m, NATIVE_BARRIER);
	i.op = LIT_ST; /* memory does not keep which was the last */
	i.reg = -1;
	op = add(m, &i, rank, told, 0);
	op->cta_stride = 128;
	op->tid_end = 1;
	op = control(m, NATIVE_IF);
	op->value = m->l->grid - 1;
	op->target = ~0u; /* the end of the phase */
}

static void last_ends(struct make *m)
{
	for (uint32_t n = 0; n < m->l->list.ops; n++)
		if (m->l->list.op[n].code == CONTROL(NATIVE_IF) && m->l->list.op[n].target == ~0u)
			m->l->list.op[n].target = m->l->list.ops;
}

/* Behind the phase, in its launch. Returns where the next launch finds the counter to wait for. */
static uint64_t border_leave(struct make *m, enum border b, uint64_t *flags, int *rank)
{
	*rank = (int)below(m, (uint32_t)m->o->ranks);
	m->far = b == BY_COUNTER && m->o->ranks > 1;
	m->cta_first = 0;
	if (b == BY_COUNTER || b == BY_GRID) {
		*flags = room(m, *rank, 4);
		raise_flag(m, *rank, *flags, 0, 1, 0);
	} else if (b == BY_LAST) {
		by_last(m);
	} else if (b == BY_CHAIN) {
		*flags = room(m, *rank, 128ull * m->l->grid);
		m->cta_first = 1;
		if (!m->o->broken && chance(m, 50)) { /* in turn: each waits for the one before it, which has all those before */
			await_flag(m, *rank, *flags, 128, m->l->grid - 1, 1);
			m->cta_first = 0;
			raise_flag(m, *rank, *flags, 128, 0, 1);
			m->cta_first = 1;
		} else {
			m->cta_first = 0;
			raise_flag(m, *rank, *flags, 128, 0, 1);
			m->cta_first = 1;
			await_flag(m, *rank, *flags, 128, m->l->grid - 1, 1);
		}
	}
	if (b == BY_GRID)
		await_flag(m, *rank, *flags, 0, 0, m->l->grid);
	return *flags;
}

/* Which CTA is the last differs from run to run: what it does then must not tell. */
static void elected(struct make *m, uint32_t first)
{
	for (struct native_op *o = m->l->list.op + first; o < m->l->list.op + m->l->list.ops; o++) {
		o->flags = 0;
		o->cta_first = 0;
		o->cta_end = NATIVE_ALL;
		o->rotate = 0;
		o->group = 1;
		if (o->cta_stride && (o->code >= forms_count() - 9 || forms_get(o->code)->like.op == LIT_LD))
			o->address += (uint64_t)below(m, m->l->grid) * o->cta_stride;
	}
}

/* Array 0 is written and read in turns, so that every border has something to order. A chain orders less: what all could read
 * before, nobody may write, and only what the CTA before has written may be read. */
static void phase_array(struct make *m, struct array *a, int turn)
{
	int chained = m->cta_first > 0, reads = turn ? m->phase % 2 : m->phase && chance(m, 40);

	phase_threads(m, a);
	if (chained && a->read && !reads)
		return;
	if (reads) {
		from(m, slot_access(m, a, LIT_LD, 1, 0));
		read_all(m, a);
	} else {
		slot_access(m, a, LIT_ST, 1, 0);
		own(m, a);
	}
	a->read = reads;
}

static void phase_body(struct make *m)
{
	int last = m->phase && m->border[m->phase - 1] == BY_LAST;
	uint32_t first = m->l->list.ops;

	if (chance(m, 15)) {
		struct native_op *op = control(m, NATIVE_SLEEP);

		op->value = 1 + below(m, 2000);
		op->cta_first = (uint16_t)below(m, m->l->grid);
	}
	for (int i = 0; i < m->arrays; i++)
		phase_array(m, &m->array[i], i == 0);
	if (last) {
		if (m->phase % 2)
			phase_array(m, &m->array[0], 1); /* of two CTAs' slots, perhaps: one of them is another's */
		elected(m, first);
		last_ends(m);
		return;
	}
	if (chance(m, 25))
		count(m);
	if (!m->o->broken && m->l->grid <= 1024 && chance(m, 12))
		locked(m);
}

static void choose_break(struct make *m)
{
	static const char *const ways[] = {"release", "acquire", "scope"};

	m->breaks = -1;
	if (!m->o->broken)
		return;
	m->breaks = (int)below(m, (uint32_t)m->phases - 1);
	enum border b = m->border[m->breaks];
	if (b == BY_STREAM || b == BY_HOST) /* an event is left out */
		b = m->border[m->breaks] = BY_EVENT;
	m->how = b == BY_EVENT ? "event" : ways[below(m, 3)];
	m->p->broken = m->how;
}

void construct(uint64_t seed, const struct construct_options *given, struct native *p)
{
	struct construct_options options = {.ranks = given->ranks, .small = given->small, .broken = given->broken == 1};
	struct make m = {.b = {.state = seed * 0xd6e8feb86659fd93ull}, .o = &options, .p = p};
	uint64_t flags = 0;
	int rank = 0;

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->ranks = options.ranks;
	m.b.state = build_random(&m.b);
	for (int r = 0; r < p->ranks; r++)
		room(&m, r, 4);
	borders(&m);
	choose_break(&m);
	shapes(&m);
	arrays(&m);
	for (m.phase = 0; m.phase < m.phases; m.phase++) {
		int begins = !m.phase || ends_launch(m.border[m.phase - 1]);

		if (begins) {
			launch_begin(&m);
			m.cta_first = 0;
		}
		if (m.phase && m.border[m.phase - 1] == BY_COUNTER) {
			m.phase--; /* the border that may be broken */
			await_flag(&m, rank, flags, 0, 0, m.grid[m.phase]);
			m.phase++;
		}
		m.single = begins && (m.phase == m.phases - 1 || ends_launch(m.border[m.phase]));
		phase_body(&m);
		if (m.phase < m.phases - 1)
			border_leave(&m, m.border[m.phase], &flags, &rank);
		if (m.phase == m.phases - 1 || ends_launch(m.border[m.phase]))
			launch_end(&m);
	}
	if (given->broken == 2)
		mutate(p, seed);
}
