/* What a sequentially consistent machine shows, the axioms must permit: random small programs are interpreted under random
 * schedules, barriers included, and each outcome so seen (all registers, all of memory) is asked for. Finds what the enumerator forbids or
 * prunes wrongly.  usage: interleave_test [PROGRAMS [FIRST-SEED]] */
#include "axioms.h"
#include "litmus/litmus.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, MEMORY = 16, SCHEDULES = 6 };
static uint64_t state;

static unsigned dice(unsigned sides)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % sides;
}

/* ---- programs ------------------------------------------------------------------------------------------------------- */
static const char *const forms[] = { /* %1$u: register, %2$s: place, %3$u: value */
	"st.b32 %2$s %3$u", "ld.b32 r%1$u %2$s", "st.relaxed.gpu.b32 %2$s %3$u", "ld.relaxed.gpu.b32 r%1$u %2$s", "st.release.gpu.b32 %2$s %3$u",
	"ld.acquire.gpu.b32 r%1$u %2$s", "st.release.cta.b32 %2$s %3$u", "ld.acquire.cta.b32 r%1$u %2$s", "fence.sc.gpu", "fence.acq_rel.gpu",
	"atom.relaxed.gpu.add.u32 r%1$u %2$s %3$u", "red.release.gpu.add.u32 %2$s %3$u", "atom.acq_rel.gpu.exch.b32 r%1$u %2$s %3$u",
	"atom.relaxed.cta.or.b32 r%1$u %2$s %3$u", "atom.acquire.gpu.cas.b32 r%1$u %2$s %3$u 3", "st.b16 %2$s %3$u", "ld.relaxed.gpu.b16 r%1$u %2$s",
	"st.relaxed.gpu.b32 %2$s r0", "ld.v2.b32 r%1$u w", "st.volatile.b8 %2$s %3$u", "atom.relaxed.sys.max.u64 r%1$u w %3$u", "ld.global.nc.b32 r%1$u %2$s",
	"ld.b32 r%1$u %2$s\n if r%1$u == %3$u\n st.b32 x 2\n ld.relaxed.gpu.b32 r9 y\n end",
};

static FILE *thread_text[THREADS];
static unsigned thread_cta[THREADS], regs[THREADS];

static void write_form(unsigned t)
{
	static const char *const places[] = {"x", "y", "w", "x", "y"};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fputc(' ', thread_text[t]);
	fprintf(thread_text[t], forms[dice(sizeof(forms) / sizeof(forms[0]))], regs[t], places[dice(5)], dice(3));
	fputc('\n', thread_text[t]);
	regs[t] += 2;
#pragma GCC diagnostic pop
}

/* Two warps of one CTA, if there are, meet. */
static void write_meeting(unsigned threads)
{
	static const char *const kinds[][2] = { /* %u: a number */
		{"bar.sync %u 64", "bar.sync %u 64"}, {"bar.arrive %u 64", "bar.sync %u 64"}, {"bar.red %u 64", "bar.red %u 64"},
		{"mbarrier.arrive %u 1", "mbarrier.wait %u 0"}, {"mbarrier.arrive %u 2", "mbarrier.arrive %u 2\n mbarrier.wait %u token"}};
	unsigned a = dice(threads), b = dice(threads), kind = dice(5), number = 1 + dice(3);

	if (a == b || thread_cta[a] != thread_cta[b])
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	fprintf(thread_text[a], kinds[kind][0], number);
	fprintf(thread_text[b], kinds[kind][1], number, number);
#pragma GCC diagnostic pop
	fputc('\n', thread_text[a]);
	fputc('\n', thread_text[b]);
}

static void write_program(FILE *to, unsigned seed)
{
	unsigned threads = 2 + dice(3), together = dice(3) ? 5 : 2;
	char *text[THREADS];
	size_t length[THREADS];

	fprintf(to, "litmus p%u\nlocation x\nlocation y\nlocation w bytes 8\nlaunch P grid 4 block 128\n", seed);
	for (unsigned t = 0; t < threads; t++) {
		thread_text[t] = open_memstream(&text[t], &length[t]);
		thread_cta[t] = t ? thread_cta[t - 1] + (dice(together) != 0) : 0;
		regs[t] = 0;
	}
	for (unsigned n = threads * (2 + dice(threads == 4 ? 2 : 4)); n; n--) {
		write_form(n % threads);
		if (!dice(3))
			write_meeting(threads);
	}
	for (unsigned t = 0; t < threads; t++) {
		fclose(thread_text[t]);
		fprintf(to, "cta %u thread %u\n%s", thread_cta[t], 32 * t, text[t]);
		free(text[t]);
	}
}

/* ---- a sequentially consistent machine ---------------------------------------------------------------------------- */
struct machine {
	const struct lit_program *p;
	uint8_t memory[3][MEMORY];
	uint64_t reg[THREADS][LIT_REGS];
	uint64_t written[THREADS]; /* bits of registers */
	size_t pc[THREADS];
	struct lit_use use[THREADS][LIT_USES];
	uint32_t uses[THREADS], met[THREADS]; /* barriers of each, and those that it is through with, */
	bool arrived[THREADS];                /* or waits at, having arrived */
};

static uint64_t mask(const struct lit_instr *i)
{
	return i->bytes == 8 ? UINT64_MAX : (1ull << 8 * i->bytes) - 1;
}

static uint64_t combine(const struct lit_instr *i, uint64_t old, uint64_t operand)
{
	switch (i->rmw) {
	case LIT_ADD: return old + operand;
	case LIT_OR: return old | operand;
	case LIT_MAX: return old > operand ? old : operand;
	case LIT_CAS: return old == i->compare ? operand : old;
	case LIT_EXCH: return operand;
	case LIT_AND: case LIT_XOR: case LIT_MIN: case LIT_INC: break;
	}
	abort();
}

static void access_memory(struct machine *m, size_t t, const struct lit_instr *i)
{
	uint64_t operand = (i->value_reg < 0 ? i->value : m->reg[t][i->value_reg]) & mask(i);

	for (int n = 0; n < i->vector; n++) {
		uint8_t *at = m->memory[i->location] + i->offset + n * i->bytes;
		uint64_t old = 0, new = operand;

		memcpy(&old, at, i->bytes);
		if (i->op == LIT_ATOM || i->op == LIT_RED)
			new = combine(i, old, operand);
		if (i->op != LIT_LD)
			memcpy(at, &new, i->bytes);
		if (i->op == LIT_ST || i->op == LIT_RED || i->reg < 0)
			continue;
		m->reg[t][i->reg + n] = old;
		m->written[t] |= 1ull << (i->reg + n);
	}
}

static bool waits_for_mbarrier(const struct lit_instr *i)
{
	return i->meet == LIT_MWAIT || i->meet == LIT_MTOKEN;
}

/* Have all arrived whom the barrier needs? */
static bool complete(const struct machine *m, size_t t, const struct lit_use *u)
{
	for (size_t o = 0; o < m->p->threads; o++)
		for (uint32_t n = m->met[o] + m->arrived[o]; n < m->uses[o] && m->p->thread[o].cta == m->p->thread[t].cta; n++) {
			const struct lit_use *v = &m->use[o][n];

			if (v->barrier == u->barrier && !waits_for_mbarrier(v->instr) &&
			    (waits_for_mbarrier(u->instr) ? v->phase < u->phase : v->phase == u->phase))
				return false;
		}
	return true;
}

static void meet(struct machine *m, size_t t)
{
	const struct lit_use *u = &m->use[t][m->met[t]];

	m->arrived[t] = !waits_for_mbarrier(u->instr);
	if (u->instr->meet != LIT_ARRIVE && u->instr->meet != LIT_MARRIVE && !complete(m, t, u))
		return;
	m->arrived[t] = false;
	m->met[t]++;
	m->pc[t]++;
}

static void advance(struct machine *m, size_t t)
{
	const struct lit_thread *thread = &m->p->thread[t];
	const struct lit_instr *i = &thread->instr[m->pc[t]];

	if (i->op == LIT_BAR) {
		meet(m, t);
		return;
	}
	m->pc[t]++;
	if (i->op == LIT_IF && m->reg[t][i->reg] != i->value)
		while (thread->instr[m->pc[t]++].op != LIT_END)
			;
	else if (i->location >= 0)
		access_memory(m, t, i);
}

static void interleave(struct machine *m)
{
	size_t threads = m->p->threads, left = threads;

	while (left) {
		size_t t = dice((unsigned)threads);

		if (m->pc[t] < m->p->thread[t].instrs)
			advance(m, t);
		left = 0;
		for (size_t other = 0; other < threads; other++)
			left += m->pc[other] < m->p->thread[other].instrs;
	}
}

/* ---- what it showed --------------------------------------------------------------------------------------------------- */
static void ask_for(struct lit_program *p, const struct machine *m)
{
	p->terms = 0;
	for (int t = 0; t < (int)p->threads; t++)
		for (int r = 0; r < LIT_REGS; r++)
			if (m->written[t] >> r & 1)
				p->term[p->terms++] = (struct lit_term){.location = -1, .thread = t, .reg = r, .value = m->reg[t][r]};
	for (int l = 0; l < (int)p->locations; l++) {
		struct lit_term *term = &p->term[p->terms++];

		*term = (struct lit_term){.location = l};
		memcpy(&term->value, m->memory[l], p->location[l].bytes);
	}
}

static const struct ax_options models[] = {
	{.unit = AX_CTA, .kernel_fences = 1, .cluster_gpu = 1, .fence_sc = 1, .observe = 1, .until = AX_PERMITTED, .limit = 1u << 20},
	{.unit = AX_WARP, .kernel_fences = 1, .cluster_gpu = 1, .fence_sc = 1, .observe = 1, .until = AX_PERMITTED, .limit = 1u << 20},
	{.unit = AX_THREAD, .kernel_fences = 0, .cluster_gpu = 0, .fence_sc = 1, .observe = 1, .until = AX_PERMITTED, .limit = 1u << 20}};

static int permitted(struct lit_program *p, const char *text, uint64_t *unknown)
{
	static struct machine m;
	uint32_t line;
	int wrong = 0;

	memset(&m, 0, sizeof(m));
	m.p = p;
	if (lit_barriers(p, m.use, m.uses, &line))
		return 1;

	interleave(&m);
	ask_for(p, &m);
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		struct ax_verdict v;

		if (ax_judge(p, &models[i], NULL, &v))
			return 1;
		*unknown += v.answer == AX_UNKNOWN;
		if (v.answer == AX_FORBIDDEN) {
			printf("%smodel %zu forbids what a sequentially consistent machine showed:\n", text, i);
			for (size_t n = 0; n < p->terms; n++)
				printf("  %s%d %s%d = %llu\n", p->term[n].location < 0 ? "thread " : "location ",
				       p->term[n].location < 0 ? p->term[n].thread : p->term[n].location, p->term[n].location < 0 ? "r" : "",
				       p->term[n].reg, (unsigned long long)p->term[n].value);
			wrong++;
		}
		ax_forget(&v);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	unsigned programs = argc > 1 ? (unsigned)atoi(argv[1]) : 250, first = argc > 2 ? (unsigned)atoi(argv[2]) : 1, wrong = 0;
	unsigned refused = 0, meetings = 0;
	uint64_t unknown = 0;

	for (unsigned seed = first; seed < first + programs; seed++) {
		char *text = NULL, error[512];
		size_t length;
		FILE *to = open_memstream(&text, &length);
		struct lit_program *p;

		state = seed * 0x9e3779b97f4a7c15u;
		write_program(to, seed);
		fclose(to);
		if (lit_parse(text, "random", &p, error, sizeof(error))) {
			if (!strstr(error, "depends on") && !strstr(error, "for ever") && !strstr(error, "may come") && !strstr(error, "another count")) {
				printf("%s\n%s", error, text);
				return 1;
			}
			refused++; /* who meets whom is not settled */
			free(text);
			continue;
		}
		meetings += (unsigned)lit_has_barriers(p);
		p->term = calloc(THREADS * LIT_REGS + 3, sizeof(*p->term));
		for (int n = 0; p->term && n < SCHEDULES; n++)
			wrong += (unsigned)permitted(p, text, &unknown);
		lit_free(p);
		free(text);
	}
	printf("%u programs, %u of them refused, %u with barriers, %u wrong, %llu too large\n", programs, refused, meetings, wrong,
	       (unsigned long long)unknown);
	return wrong || meetings * 20 < programs || unknown * 50 > (uint64_t)programs * SCHEDULES;
}
