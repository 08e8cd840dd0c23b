/* Who meets whom at the barriers of a CTA. All sections go as far as they can without any phase becoming complete; then those
 * phases that all have come to become complete, and so on. What has arrived by then would have arrived in any order of execution,
 * as long as no phase has more to come than it takes, even if it became complete after all others that can, and no wait for an
 * mbarrier can miss its phase. */
#include "litmus.h"

#include <stdlib.h>
#include <string.h>

struct barrier {
	uint32_t expected, arrived, phase; /* threads; how many phases are complete */
	uint32_t came;                     /* warps, as bits, to the phase that is not */
};

struct meeting {
	const struct lit_program *p;
	const struct lit_thread *of;       /* any section of the CTA */
	struct lit_use (*use)[LIT_USES];
	const uint32_t *uses;
	uint32_t *done;                    /* of each section: those that it is through with */
	uint8_t *waits;                    /* at the next one, where it has arrived */
	struct barrier barrier[LIT_BARRIERS];
	const char *wrong;
	uint32_t line;
};

static int same_cta(const struct lit_thread *a, const struct lit_thread *b) { return a->launch == b->launch && a->cta == b->cta; }

static void wrong(struct meeting *m, const struct lit_instr *i, const char *what)
{
	if (m->wrong)
		return;
	m->wrong = what;
	m->line = i->line;
}

int lit_has_barriers(const struct lit_program *p)
{
	for (size_t t = 0; t < p->threads; t++)
		for (size_t n = 0; n < p->thread[t].instrs; n++)
			if (p->thread[t].instr[n].op == LIT_BAR && p->thread[t].instr[n].meet != LIT_ALL)
				return 1;
	return 0;
}

/* ---- loops unrolled */

static size_t end_of(const struct lit_thread *t, size_t from)
{
	size_t n = from;

	for (int depth = 1; depth && ++n < t->instrs;)
		depth += t->instr[n].op == LIT_IF || t->instr[n].op == LIT_REPEAT ? 1 : t->instr[n].op == LIT_END ? -1 : 0;
	return n;
}

static int is_wait(const struct lit_instr *i) { return i->meet == LIT_MWAIT || i->meet == LIT_MTOKEN; }

static uint8_t number_of(const struct lit_thread *t, const struct lit_instr *i)
{
	if (i->meet == LIT_WARP)
		return (uint8_t)(LIT_NAMED + LIT_MBARRIERS + t->first / 32);
	return i->meet == LIT_MARRIVE || is_wait(i) ? (uint8_t)(LIT_NAMED + i->barrier) : i->barrier;
}

/* False: too many. */
static int unroll(const struct lit_thread *t, size_t from, size_t to, struct lit_use *use, uint32_t *uses)
{
	for (size_t at = from; at < to; at++) {
		const struct lit_instr *i = &t->instr[at];
		size_t end = i->op == LIT_IF || i->op == LIT_REPEAT ? end_of(t, at) : at;
		uint32_t before = *uses;

		for (uint32_t n = 0; n < (i->op == LIT_REPEAT ? i->count : end > at) && (!n || *uses > before); n++)
			if (!unroll(t, at + 1, end, use, uses))
				return 0;
		if (i->op == LIT_BAR && *uses == LIT_USES)
			return 0;
		if (i->op == LIT_BAR)
			use[(*uses)++] = (struct lit_use){.instr = i, .barrier = number_of(t, i)};
		at = end;
	}
	return 1;
}

/* ---- a CTA */

/* Threads of the CTA that have a section; with `warp`, of that warp. */
static uint32_t threads_of(const struct meeting *m, int warp)
{
	uint32_t sum = 0;

	for (size_t s = 0; s < m->p->threads; s++) {
		const struct lit_thread *t = &m->p->thread[s];

		if (same_cta(t, m->of) && (warp < 0 || t->first / 32 == (uint32_t)warp))
			sum += t->threads;
	}
	return sum;
}

static uint32_t expected(const struct meeting *m, const struct lit_use *u)
{
	if (u->instr->meet == LIT_ALL)
		return threads_of(m, -1);
	return u->instr->meet == LIT_WARP ? threads_of(m, u->barrier - LIT_NAMED - LIT_MBARRIERS) : u->instr->count;
}

/* Lanes that have no section have left: a counted barrier takes them for come with their warp. */
static uint32_t left(const struct meeting *m, const struct lit_thread *t, struct barrier *b)
{
	uint32_t sum = 0;

	for (uint32_t w = t->first / 32; w <= (t->first + t->threads - 1) / 32; w++) {
		for (uint32_t tid = 32 * w; !(b->came >> w & 1) && tid < 32 * w + 32; tid++) {
			int has = 0;

			for (size_t s = 0; s < m->p->threads; s++)
				has |= same_cta(&m->p->thread[s], t) && tid - m->p->thread[s].first < m->p->thread[s].threads;
			sum += !has;
		}
		b->came |= 1u << w;
	}
	return sum;
}

static void arrive(struct meeting *m, uint32_t section, struct lit_use *u)
{
	struct barrier *b = &m->barrier[u->barrier];
	uint32_t of = expected(m, u);

	if (u->instr->meet == LIT_WARP && (m->p->thread[section].first % 32 + m->p->thread[section].threads > 32))
		wrong(m, u->instr, "bar.warp.sync in a section of several warps; write a section for each");
	if (b->expected && b->expected != of && (b->arrived || u->instr->meet == LIT_MARRIVE))
		wrong(m, u->instr, "another count than others have at this barrier; write the same");
	b->expected = of;
	b->arrived += m->p->thread[section].threads;
	if (u->barrier && u->barrier < LIT_NAMED)
		b->arrived += left(m, &m->p->thread[section], b);
	u->phase = b->phase;
	if (b->arrived > b->expected)
		wrong(m, u->instr, "more threads come than the phase has room for: who meets whom depends on who comes first; write another number");
}

/* The parity of the phase that the section waits for. */
static unsigned awaited(struct meeting *m, uint32_t section, const struct lit_use *u)
{
	const struct lit_use *last = NULL;

	for (const struct lit_use *v = m->use[section]; v < u; v++)
		last = v->barrier == u->barrier && v->instr->meet == LIT_MARRIVE ? v : last;
	if (u->instr->meet == LIT_MTOKEN && !last)
		wrong(m, u->instr, "a token of no arrival; write mbarrier.arrive before it");
	return u->instr->meet == LIT_MTOKEN && last ? last->phase % 2 : (unsigned)u->instr->value;
}

/* As far as it goes without a phase becoming complete. */
static void advance(struct meeting *m, uint32_t section)
{
	for (; m->done[section] < m->uses[section] && !m->waits[section] && !m->wrong; m->done[section]++) {
		struct lit_use *u = &m->use[section][m->done[section]];
		const struct barrier *b = &m->barrier[u->barrier];

		if (is_wait(u->instr) && b->phase % 2 == awaited(m, section, u))
			break;
		if (is_wait(u->instr)) {
			u->phase = b->phase;
			continue;
		}
		arrive(m, section, u);
		if (u->instr->meet != LIT_ARRIVE && u->instr->meet != LIT_MARRIVE) {
			m->waits[section] = 1;
			break;
		}
	}
}

/* A wait for an mbarrier goes on as long as the phase behind its own is not complete: that must need the waiter. */
static void check_missed(struct meeting *m, uint32_t section, unsigned barrier)
{
	const struct barrier *b = &m->barrier[barrier];
	const struct lit_instr *wait = NULL;

	for (uint32_t n = 0; n < m->done[section]; n++) {
		const struct lit_use *u = &m->use[section][n];

		if (u->barrier != barrier || u->phase != b->phase)
			continue;
		wait = is_wait(u->instr) ? u->instr : NULL;
		if (u->instr->meet == LIT_MARRIVE)
			return; /* no wait for this phase comes behind: it would be for the next */
	}
	if (wait)
		wrong(m, wait, "a wait that may come when the next phase is complete, too; arrive behind it");
}

static int due(const struct meeting *m, unsigned barrier)
{
	return m->barrier[barrier].arrived && m->barrier[barrier].arrived >= m->barrier[barrier].expected;
}

static void complete(struct meeting *m, unsigned barrier)
{
	struct barrier *b = &m->barrier[barrier];

	for (uint32_t s = 0; s < m->p->threads; s++) {
		if (!same_cta(&m->p->thread[s], m->of))
			continue;
		if (barrier >= LIT_NAMED && barrier < LIT_NAMED + LIT_MBARRIERS)
			check_missed(m, s, barrier);
		if (m->waits[s] && m->use[s][m->done[s]].barrier == barrier) {
			m->waits[s] = 0;
			m->done[s]++;
		}
	}
	b->arrived = b->came = 0;
	b->phase++;
}

static void advance_all(struct meeting *m)
{
	for (uint32_t s = 0; s < m->p->threads && !m->wrong; s++)
		if (same_cta(&m->p->thread[s], m->of))
			advance(m, s);
}

/* All but one, as far as they get. */
static void run_without(struct meeting *m, unsigned barrier)
{
	for (int on = 1; on && !m->wrong;) {
		on = 0;
		for (unsigned b = 0; b < LIT_BARRIERS && !m->wrong; b++)
			if (b != barrier && due(m, b)) {
				complete(m, b);
				on = 1;
			}
		advance_all(m);
	}
}

/* May others come to a phase that is due, before it is complete? Leaves all as it was, unless something is wrong. */
static void check_late(const struct meeting *m, unsigned barrier, struct meeting *copy)
{
	*copy = *m;
	copy->done = m->done + m->p->threads;
	copy->waits = m->waits + m->p->threads;
	memcpy(copy->done, m->done, m->p->threads * sizeof(*m->done));
	memcpy(copy->waits, m->waits, m->p->threads);
	run_without(copy, barrier);
}

static void run(struct meeting *m)
{
	struct meeting copy;

	for (int on = 1; on && !m->wrong;) {
		uint8_t ready[LIT_BARRIERS];

		on = 0;
		advance_all(m);
		for (unsigned b = 0; b < LIT_BARRIERS && !m->wrong; b++) {
			ready[b] = (uint8_t)due(m, b);
			on |= ready[b];
			if (!ready[b])
				continue;
			check_late(m, b, &copy);
			m->wrong = copy.wrong;
			m->line = copy.line;
		}
		for (unsigned b = 0; b < LIT_BARRIERS && !m->wrong; b++)
			if (ready[b])
				complete(m, b);
	}
	for (uint32_t s = 0; s < m->p->threads && !m->wrong; s++)
		if (same_cta(&m->p->thread[s], m->of) && m->done[s] < m->uses[s])
			wrong(m, m->use[s][m->done[s]].instr, "waits for ever: too few come; write a smaller count, or who else arrives");
}

const char *lit_barriers(const struct lit_program *p, struct lit_use (*use)[LIT_USES], uint32_t *uses, uint32_t *line)
{
	struct meeting m = {.p = p, .use = use, .uses = uses};

	m.done = calloc(2 * p->threads + 1, sizeof(*m.done)); /* and a copy */
	m.waits = calloc(2 * p->threads + 1, 1);
	if (!m.done || !m.waits)
		m.wrong = "no memory";
	for (size_t s = 0; s < p->threads && !m.wrong; s++) {
		uses[s] = 0;
		if (!unroll(&p->thread[s], 0, p->thread[s].instrs, use[s], &uses[s]))
			wrong(&m, &p->thread[s].instr[0], "more than 128 barriers in a section; write fewer");
	}
	for (size_t s = 0; s < p->threads && !m.wrong; s++) {
		size_t first = 0;

		while (!same_cta(&p->thread[first], &p->thread[s]))
			first++;
		m.of = &p->thread[s];
		memset(m.barrier, 0, sizeof(m.barrier));
		if (first == s)
			run(&m);
	}
	free(m.done);
	free(m.waits);
	*line = m.line;
	return m.wrong;
}
