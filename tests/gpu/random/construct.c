#include "construct.h"

#include "mutate.h"
#include "player.h"
#include "slots.h"
#include "sync.h"

#include <stdlib.h>
#include <string.h>

static int ends_launch(enum border b) { return b <= BY_COUNTER; }

static void shape(struct make *m, int phase, int waits)
{
	int by_words = m->border[phase] >= BY_COUNTER && phase < m->phases - 1 && !make_chance(m, SYNC_MORE);
	static const uint16_t blocks[] = {1, 7, 31, 32, 33, 64, 64, 96, 100, 128, 128, 200, 256, 256, 512, 1000, 1024};
	static const uint16_t grids[] = {1, 2, 2, 3, 4, 5, 8, 8, 13, 16, 16, 24, 33, 64, 132, 200, 300, 1024, 2048, 4096};
	uint32_t block = blocks[make_below(m, m->o->small ? 10 : sizeof(blocks) / sizeof(*blocks))];
	uint32_t grid = grids[make_below(m, m->o->small ? 7 : waits ? 11 : sizeof(grids) / sizeof(*grids))];

	if (waits && block > 256)
		block = 256;
	/* Most are small: 20,000 of them, 20 times each, are to take minutes. */
	uint32_t most = 1u << (make_chance(m, 90) ? 12 : make_chance(m, 80) ? 15 : 18);

	while (grid > 2 && (grid * block > most || (by_words && grid > SYNC_CTAS)))
		grid /= 2;
	if (m->o->broken && grid < 2)
		grid = 2;
	m->grid[phase] = grid;
	m->block[phase] = block;
}

static enum border border_any(struct make *m)
{
	static const uint8_t weights[BORDERS] = {20, 15, 6, 20, 20, 10, 12};
	uint32_t at = make_below(m, 103);

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
	m->phases = 2 + (int)make_below(m, PHASES - 1);
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

static void step(struct make *m, enum native_step_op op, int what, int rank, int stream)
{
	m->p->step[m->p->steps++] = (struct native_step){op, what, rank, stream};
}

static void launch_begin(struct make *m)
{
	enum border before = m->phase ? m->border[m->phase - 1] : BY_HOST;
	struct native_launch *last = m->l;
	int rank = last ? last->rank : (int)make_below(m, (uint32_t)m->o->ranks), stream = last ? last->stream : (int)make_below(m, 3);

	m->running = before == BY_COUNTER || (m->running && before != BY_HOST);
	if (before == BY_EVENT || before == BY_COUNTER)
		stream = (stream + 1 + (int)make_below(m, 2)) % 3;
	if (m->o->ranks > 1 && (before == BY_COUNTER || before == BY_HOST) && make_chance(m, 70))
		rank = (rank + 1 + (m->o->ranks > 2 ? (int)make_below(m, (uint32_t)m->o->ranks - 1) : 0)) % m->o->ranks;
	if (before == BY_EVENT && !(m->breaks == m->phase - 1))
		step(m, NATIVE_DO_EVENT, last->stream, rank, stream);
	if (before == BY_HOST && m->phase)
		step(m, NATIVE_DO_WAIT, 0, 0, 0);
	m->l = &m->p->launch[m->p->launches];
	m->l->rank = rank;
	m->l->stream = stream;
	m->l->grid = m->grid[m->phase];
	m->l->block = m->block[m->phase];
	m->sync = make_chance(m, 20);
	step(m, NATIVE_DO_LAUNCH, m->p->launches++, rank, stream);
	for (int i = 0; i < m->arrays; i++) {
		if (!m->phase || !m->o->broken)
			slots_layout(m, &m->array[i], m->l->grid, m->l->block);
		m->array[i].quiet |= before != BY_COUNTER;
	}
}

/* What a thread has read goes to a word of its own; who is done early may leave early. */
static void launch_end(struct make *m)
{
	struct lit_instr i = {.op = LIT_ST, .sem = LIT_WEAK, .bytes = 4, .vector = 1, .reg = -1, .value_reg = -1};
	uint32_t line = (m->l->block * 4 + 127) / 128 * 128;
	struct native_op *op;

	if (make_chance(m, 20)) {
		op = make_control(m, NATIVE_EXIT);
		op->lanes = (uint32_t)build_random(&m->b);
	}
	op = make_add(m, &i, m->l->rank, make_room(m, m->l->rank, (uint64_t)line * m->l->grid), 0);
	op->tid_stride = 4;
	op->cta_stride = line;
	op->flags = NATIVE_MIX;
	make_control(m, NATIVE_END);
	m->l->kernel = m->sync ? PLAYER_SYNC : PLAYER_REDS;
	if (!m->sync) {
		m->l->kernel = PLAYER_WEAK;
		for (uint32_t n = 0; n < m->l->list.ops; n++)
			if (!player_has(PLAYER_WEAK, m->l->list.op[n].code))
				m->l->kernel = PLAYER_REDS;
	}
	if (make_chance(m, 5))
		m->l->kernel = PLAYER_SYNC;
}

/* Behind the phase, in its launch. Returns where the next launch finds the counter to wait for. */
static uint64_t border_leave(struct make *m, enum border b, uint64_t *flags, int *rank)
{
	*rank = (int)make_below(m, (uint32_t)m->o->ranks);
	m->far = b == BY_COUNTER && m->o->ranks > 1;
	m->cta_first = 0;
	if (b == BY_COUNTER || b == BY_GRID) {
		*flags = make_room(m, *rank, 4);
		sync_raise(m, *rank, *flags, 0, 1, 0);
	} else if (b == BY_LAST) {
		sync_last(m);
	} else if (b == BY_CHAIN) {
		*flags = make_room(m, *rank, 128ull * m->l->grid);
		m->cta_first = 1;
		if (!m->o->broken && make_chance(m, 50)) { /* in turn: each waits for the one before it, which has all those before */
			sync_await(m, *rank, *flags, 128, m->l->grid - 1, 1);
			m->cta_first = 0;
			sync_raise(m, *rank, *flags, 128, 0, 1);
			m->cta_first = 1;
		} else {
			m->cta_first = 0;
			sync_raise(m, *rank, *flags, 128, 0, 1);
			m->cta_first = 1;
			sync_await(m, *rank, *flags, 128, m->l->grid - 1, 1);
		}
	}
	if (b == BY_GRID)
		sync_await(m, *rank, *flags, 0, 0, m->l->grid);
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
		if (o->cta_stride && (forms_is_batch(o->code) || (forms_get(o->code) && forms_get(o->code)->like.op <= LIT_ST)))
			o->address += (uint64_t)make_below(m, m->l->grid) * o->cta_stride;
	}
}

/* Array 0 is written and read in turns, so that every border has something to order. A chain orders less: what all could read
 * before, nobody may write, and only what the CTA before has written may be read. */
static void phase_array(struct make *m, struct array *a, int turn)
{
	int chained = m->cta_first > 0, reads = turn ? m->phase % 2 : m->phase && make_chance(m, 40);

	slots_threads(m, a);
	if (chained && a->read && !reads)
		return;
	if (reads) {
		slots_from(m, slots_access(m, a, LIT_LD, 1, 0));
		slots_read(m, a);
	} else {
		slots_access(m, a, LIT_ST, 1, 0);
		slots_own(m, a);
	}
	a->read = reads;
}

static void phase_body(struct make *m)
{
	int last = m->phase && m->border[m->phase - 1] == BY_LAST;
	uint32_t first = m->l->list.ops;

	if (make_chance(m, 15)) {
		struct native_op *op = make_control(m, NATIVE_SLEEP);

		op->value = 1 + make_below(m, 2000);
		op->cta_first = (uint16_t)make_below(m, m->l->grid);
	}
	for (int i = 0; i < m->arrays; i++)
		phase_array(m, &m->array[i], i == 0);
	if (last) {
		if (m->phase % 2)
			phase_array(m, &m->array[0], 1); /* of two CTAs' slots, perhaps: one of them is another's */
		elected(m, first);
		sync_last_ends(m);
		return;
	}
	if (make_chance(m, 25))
		sync_count(m);
	if (!m->o->broken && m->l->grid <= (make_chance(m, SYNC_MORE) ? 1024 : SYNC_CTAS) && make_chance(m, 12))
		sync_locked(m);
}

static void choose_break(struct make *m)
{
	static const char *const ways[] = {"release", "acquire", "scope"};

	m->breaks = -1;
	if (!m->o->broken)
		return;
	m->breaks = (int)make_below(m, (uint32_t)m->phases - 1);
	enum border b = m->border[m->breaks];
	if (b == BY_STREAM || b == BY_HOST) /* an event is left out */
		b = m->border[m->breaks] = BY_EVENT;
	m->how = b == BY_EVENT ? "event" : ways[make_below(m, 3)];
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
		make_room(&m, r, 4);
	borders(&m);
	choose_break(&m);
	shapes(&m);
	slots_arrays(&m);
	for (m.phase = 0; m.phase < m.phases; m.phase++) {
		int begins = !m.phase || ends_launch(m.border[m.phase - 1]);

		if (begins) {
			launch_begin(&m);
			m.cta_first = 0;
		}
		if (m.phase && m.border[m.phase - 1] == BY_COUNTER) {
			m.phase--; /* the border that may be broken */
			sync_await(&m, rank, flags, 0, 0, m.grid[m.phase]);
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
