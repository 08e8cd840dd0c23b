/* EMU_MEMORY=weak: outcomes that PTX allows appear, those that it forbids never do. Each program is some CTAs of a few threads on
 * x and y, which are 0 at first. */
#include "emu/exec/exec.h"

#include "heap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LD(order, r, at) "ld." order ".global.u32 " r ", [" at "];\n"
#define ST(order, at, v) "st." order ".global.u32 [" at "], " v ";\n"
#define RLX "relaxed.gpu"
#define WEAK "weak"
#define ACQ "acquire.gpu"
#define REL "release.gpu"
#define A "%a" /* what a CTA read first, and then */
#define B "%b"
#define FENCE "fence.acq_rel.gpu;\n"
#define SC "fence.sc.gpu;\n"
#define ANY 99

static const struct program {
	const char *name;
	int allowed;               /* else forbidden */
	uint32_t threads;
	const char *cta[4];
	uint32_t read[8];          /* by CTA: a, b */
	uint32_t x, y;             /* at last */
} programs[] = {
	{ "SB", 1, 1, { ST(RLX, "x", "1") LD(RLX, A, "y"), ST(RLX, "y", "1") LD(RLX, A, "x") }, { 0, ANY, 0, ANY }, ANY, ANY },
	{ "SB+acq_rel", 1, 1, { ST(RLX, "x", "1") FENCE LD(RLX, A, "y"), ST(RLX, "y", "1") FENCE LD(RLX, A, "x") },
	  { 0, ANY, 0, ANY }, ANY, ANY },
	{ "SB+rel+acq", 1, 1, { ST(REL, "x", "1") LD(ACQ, A, "y"), ST(REL, "y", "1") LD(ACQ, A, "x") }, { 0, ANY, 0, ANY }, ANY, ANY },
	{ "SB+sc", 0, 1, { ST(RLX, "x", "1") SC LD(RLX, A, "y"), ST(RLX, "y", "1") SC LD(RLX, A, "x") }, { 0, ANY, 0, ANY }, ANY, ANY },
	{ "MP", 1, 1, { ST(RLX, "x", "1") ST(RLX, "y", "1"), LD(RLX, A, "y") LD(RLX, B, "x") }, { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+rel", 1, 1, { ST(WEAK, "x", "1") ST(REL, "y", "1"), LD(RLX, A, "y") LD(WEAK, B, "x") }, { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+acq", 1, 1, { ST(WEAK, "x", "1") ST(RLX, "y", "1"), LD(ACQ, A, "y") LD(WEAK, B, "x") }, { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+rel+acq", 0, 1, { ST(WEAK, "x", "1") ST(REL, "y", "1"), LD(ACQ, A, "y") LD(WEAK, B, "x") }, { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+fences", 0, 1, { ST(WEAK, "x", "1") FENCE ST(RLX, "y", "1"), LD(RLX, A, "y") FENCE LD(WEAK, B, "x") },
	  { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+membar", 0, 1, { ST(WEAK, "x", "1") "membar.gl;\n" ST("volatile", "y", "1"), LD("volatile", A, "y") "membar.gl;\n" LD(WEAK, B, "x") },
	  { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+early fences", 1, 1, { FENCE ST(WEAK, "x", "1") ST(RLX, "y", "1"), FENCE LD(RLX, A, "y") LD(WEAK, B, "x") },
	  { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+red", 0, 1, { ST(WEAK, "x", "1") "red.release.gpu.global.add.u32 [y], 1;\n",
	  "atom.acquire.gpu.global.add.u32 %a, [y], 0;\n" LD(WEAK, B, "x") }, { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+fence+red", 0, 1, { ST(WEAK, "x", "1") FENCE "red.relaxed.gpu.global.add.u32 [y], 1;\n",
	  LD(RLX, A, "y") FENCE LD(WEAK, B, "x") }, { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+relaxed red", 1, 1, { ST(WEAK, "x", "1") "red.relaxed.gpu.global.add.u32 [y], 1;\n", LD(ACQ, A, "y") LD(WEAK, B, "x") },
	  { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "MP+red chain", 0, 1, { ST(WEAK, "x", "1") ST(REL, "y", "1"), "atom.relaxed.gpu.global.add.u32 %a, [y], 1;\n",
	  LD(ACQ, A, "y") LD(WEAK, B, "x") }, { ANY, ANY, 1, ANY, 2, 0 }, ANY, ANY },
	{ "CoRR", 0, 1, { ST(RLX, "x", "1"), LD(RLX, A, "x") LD(RLX, B, "x") }, { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "CoRR bytes", 0, 1, { ST(RLX, "x", "257"), "ld.relaxed.gpu.global.u8 %a, [x];\nld.relaxed.gpu.global.u32 %b, [x];\n" },
	  { ANY, ANY, 1, 0 }, ANY, ANY },
	{ "CoWR", 0, 1, { ST(RLX, "x", "1") LD(RLX, A, "x") LD(RLX, B, "x"), ST(RLX, "y", "1") }, { 0, ANY, ANY, ANY }, ANY, ANY },
	{ "CoWR later", 0, 1, { ST(RLX, "x", "1") LD(RLX, A, "x") LD(RLX, B, "x"), ST(RLX, "x", "2") }, { 2, 1, ANY, ANY }, ANY, ANY },
	{ "CoRW", 0, 1, { LD(RLX, A, "x") ST(RLX, "x", "1"), ST(RLX, "y", "1") }, { 1, ANY, ANY, ANY }, ANY, ANY },
	{ "CoWW", 0, 1, { ST(RLX, "x", "1") ST(RLX, "x", "2"), ST(RLX, "y", "1") }, { ANY, ANY, ANY, ANY }, 1, ANY },
	{ "2+2W", 1, 1, { ST(RLX, "x", "1") ST(RLX, "y", "2"), ST(RLX, "y", "1") ST(RLX, "x", "2") }, { ANY, ANY, ANY, ANY }, 1, 1 },
	{ "2+2W+rel", 0, 1, { ST(REL, "x", "1") ST(REL, "y", "2"), ST(REL, "y", "1") ST(REL, "x", "2") }, { ANY, ANY, ANY, ANY }, 1, 1 },
	{ "R", 1, 1, { ST(RLX, "x", "1") ST(RLX, "y", "1"), ST(RLX, "y", "2") LD(RLX, A, "x") }, { ANY, ANY, 0, ANY }, ANY, 2 },
	{ "R+sc", 0, 1, { ST(RLX, "x", "1") SC ST(RLX, "y", "1"), ST(RLX, "y", "2") SC LD(RLX, A, "x") }, { ANY, ANY, 0, ANY }, ANY, 2 },
	{ "IRIW", 1, 1, { ST(RLX, "x", "1"), ST(RLX, "y", "1"), LD(RLX, A, "x") LD(RLX, B, "y"), LD(RLX, A, "y") LD(RLX, B, "x") },
	  { ANY, ANY, ANY, ANY, 1, 0, 1, 0 }, ANY, ANY },
	{ "IRIW+sc", 0, 1, { ST(RLX, "x", "1"), ST(RLX, "y", "1"), LD(RLX, A, "x") SC LD(RLX, B, "y"), LD(RLX, A, "y") SC LD(RLX, B, "x") },
	  { ANY, ANY, ANY, ANY, 1, 0, 1, 0 }, ANY, ANY },
	{ "ISA2", 0, 1, { ST(WEAK, "x", "1") ST(REL, "y", "1"), LD(ACQ, A, "y") ST(REL, "y", "2"), LD(ACQ, A, "y") LD(WEAK, B, "x") },
	  { ANY, ANY, 1, ANY, 2, 0 }, ANY, 2 },
	/* Two threads of one warp, or CTA: thread 1 looks. */
	{ "lanes", 1, 2, { "@!%p1 st.weak.global.u32 [x], 1;\nvote.sync.ballot.b32 %r9, %p1, 3;\n@%p1 ld.weak.global.u32 %a, [x];\n" },
	  { 0 }, ANY, ANY },
	{ "lanes+sync", 0, 2, { "@!%p1 st.weak.global.u32 [x], 1;\nbar.warp.sync 3;\n@%p1 ld.weak.global.u32 %a, [x];\n" }, { 0, ANY }, ANY, ANY },
	{ "warps+bar", 0, 64, { "@!%p1 st.weak.global.u32 [x], 1;\nbar.sync 0;\n@%p1 ld.weak.global.u32 %a, [x];\n" }, { 0, ANY }, ANY, ANY },
	{ "shared flag", 0, 64, { "@!%p1 st.weak.global.u32 [x], 1;\nfence.acq_rel.cta;\n@!%p1 st.volatile.shared.u32 [flag], 1;\n"
	  "mov.u32 %b, 1;\n@%p1 ld.volatile.shared.u32 %b, [flag];\nfence.acq_rel.cta;\n@%p1 ld.weak.global.u32 %a, [x];\n" }, { 0, 1 }, ANY, ANY },
};

static const char prologue[] = ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 256 .u32 x;\n.global .align 256 .u32 y;\n"
	".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<10>, %a, %b;\n.reg .b64 %d<4>;\n.shared .u32 flag;\n"
	"ld.param.u64 %d0, [out];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nmov.u32 %r4, %ntid.x;\nsub.u32 %r4, %r4, 1;\n"
	"setp.eq.u32 %p1, %r1, %r4;\nmul.wide.u32 %d1, %r0, 8;\nadd.s64 %d0, %d0, %d1;\nmov.u32 %a, 0;\nmov.u32 %b, 0;\n";
static const char epilogue[] = "END:\n@%p1 st.global.u32 [%d0], %a;\n@%p1 st.global.u32 [%d0+4], %b;\nret;\n}\n";

static uint32_t out[8];
static struct emu_error error;

static void text_of(const struct program *p, char *text, size_t room)
{
	size_t n = (size_t)snprintf(text, room, "%s", prologue);
	for (unsigned c = 0; c < 4 && p->cta[c]; c++)
		n += (size_t)snprintf(text + n, room - n, "setp.ne.u32 %%p0, %%r0, %u;\n@%%p0 bra N%u;\n%sbra END;\nN%u:\n", c, c, p->cta[c], c);
	snprintf(text + n, room - n, "%s", epilogue);
}

static uint32_t *global(const struct emu_module *m, const char *name)
{
	void *at = NULL;
	size_t size;
	if (emu_module_global(m, name, &at, &size))
		exit(1);
	return at;
}

static enum emu_state run(struct emu_module *m, const struct program *p, uint64_t seed, uint64_t weak)
{
	uint32_t ctas = 0, *at = out;
	while (ctas < 4 && p->cta[ctas])
		ctas++;
	const struct emu_launch launch = { .grid = { ctas, 1, 1 }, .block = { p->threads, 1, 1 }, .params = &at, .sms = 4, .resident = 8,
					   .weak = weak };
	struct emu_grid *g;
	enum emu_state state = EMU_RUNNING;
	memset(out, 0, sizeof out);
	*global(m, "x") = *global(m, "y") = 0;
	if (emu_grid_new(emu_module_find(m, "k"), &launch, &g, &error))
		return EMU_FAULT;
	for (unsigned n = 0; state == EMU_RUNNING && n < 100; n++)
		state = emu_grid_run(g, 10000, &seed, &error);
	emu_grid_free(g);
	return state;
}

static int shows(const struct emu_module *m, const struct program *p)
{
	int all = (p->x == ANY || p->x == *global(m, "x")) && (p->y == ANY || p->y == *global(m, "y"));
	for (unsigned c = 0; c < 4 && p->cta[c]; c++)
		for (unsigned k = 2 * c; k < 2 * c + 2; k++)
			all &= p->read[k] == ANY || p->read[k] == out[k];
	return all;
}

/* Returns how often the outcome appeared in so many runs; -1: a run did not end. */
static int count(const struct program *p, uint64_t runs, int weak)
{
	char text[4096];
	struct emu_module *m = NULL;
	int seen = 0;
	text_of(p, text, sizeof text);
	if (emu_module_load(text, strlen(text), &heap, &m, &error))
		return -1;
	for (uint64_t seed = 1; seed <= runs && seen >= 0; seed++) {
		if (run(m, p, seed, weak ? seed << 8 | 1 : 0) != EMU_DONE)
			seen = -1;
		else
			seen += shows(m, p);
	}
	emu_module_unload(m);
	return seen;
}

int main(void)
{
	int failures = 0;
	for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
		const struct program *p = &programs[k];
		const int seen = count(p, 3000, 1), again = count(p, 200, 1), first = count(p, 200, 1), strong = count(p, 500, 0);
		if (seen >= 0 && (seen > 0) == p->allowed && again == first && !strong)
			continue;
		printf("%s: %s, but seen %d times (200 runs: %d, and %d), %d times in strong memory; %s\n", p->name,
		       p->allowed ? "allowed" : "forbidden", seen, first, again, strong, error.text);
		failures++;
	}
	return failures != 0;
}
