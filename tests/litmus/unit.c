/* Litmus text: what is printed parses to the same program, and line numbers hold; what is wrong is refused with file and
 * line; the PTX of a program is PTX, with a line of the program at each instruction. */
#include "litmus/litmus.h"

#include "check.h"
#include "ptx/ptx.h"

#include <string.h>

static const char every[] =
	"# comment\nlitmus every-thing.1\nranks 2\ndevices 1 1\n\nlocation x bytes 64\nlocation y rank 1 bytes 8 # more\n"
	"location z at x + 4 bytes 2\nlaunch P rank 0 stream 1\ncta 0\nld.global.v2.b32 r4 x+8 tid*8\nst.release.gpu.b16 z r3\n"
	"atom.global.sys.add.u32\n";
static const char program[] =
	"# comment\nlitmus every-thing.1\nranks 2\ndevices 1 1\n\nlocation x bytes 512\nlocation y rank 1 bytes 8 # more\n"
	"location z at x + 4 bytes 2\nlaunch P rank 0 stream 1 block 64\ncta 2\n ld.global.v2.b32 r4 x+8\n st.release.gpu.b16 z r3\n"
	" atom.sys.global.cas.b32 _ x 0 -1\n atom.acq_rel.gpu.add.u64 r0 y r4\n red.relaxed.cta.global.inc.u32 x 7\n fence.sc.sys\n"
	" membar.gl\n poll ld.acquire.sys.global.b32 r7 x 1 50\n if r7 != 1\n repeat 3\n st.mmio.relaxed.sys.global.b8 x+1 200\n"
	" end\n end\n bar\ncta 2 threads 32..63\n ld.volatile.b64 r1 x tid*8\n bar\nlaunch Q rank 1\ncta 0 thread 5\n"
	" st.global.b32 y 0x10\nrecord 3 rank 0 stream 1\nwait 3 rank 0 stream 0\nsync event 3\nsync all rank 1\nsync stream 2\n"
	"exists P.2:r4 = 1 & P.2.32:r1=2 | y = 16\nexpect race read-after-write write-after-read\ncites \"8.9.5 a\"\n";

static char *printed(struct lit_program *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	CHECK(to);
	lit_print(p, to);
	fclose(to);
	return text;
}

static struct lit_program *parsed(const char *text)
{
	struct lit_program *p = NULL;
	char error[300];

	if (lit_parse(text, "t.litmus", &p, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	return p;
}

static void check_program(const struct lit_program *p)
{
	const struct lit_instr *i = p->thread[0].instr;

	CHECK(!strcmp(p->name, "every-thing.1") && p->ranks == 2 && p->device[0] == 1 && p->device[1] == 1);
	CHECK(p->locations == 3 && p->location[0].bytes == 512 && p->location[1].rank == 1 && p->location[2].base == 0 &&
	      p->location[2].offset == 4 && p->location[2].bytes == 2);
	CHECK(p->launches == 2 && p->launch[0].grid == 3 && p->launch[0].block == 64 && p->launch[0].stream == 1 && p->launch[1].rank == 1);
	CHECK(p->threads == 3 && p->thread[0].cta == 2 && p->thread[1].first == 32 && p->thread[1].threads == 32 && p->thread[2].first == 5);
	CHECK(i[0].op == LIT_LD && i[0].vector == 2 && i[0].bytes == 4 && i[0].reg == 4 && i[0].offset == 8 && !i[0].generic && i[0].sem == LIT_WEAK);
	CHECK(i[1].op == LIT_ST && i[1].sem == LIT_RELEASE && i[1].scope == LIT_GPU && i[1].generic && i[1].location == 2 && i[1].value_reg == 3);
	CHECK(i[2].op == LIT_ATOM && i[2].rmw == LIT_CAS && i[2].reg == -1 && i[2].compare == 0 && i[2].value == UINT64_MAX &&
	      i[2].sem == LIT_RELAXED && i[2].scope == LIT_SYS);
	CHECK(i[3].sem == LIT_ACQ_REL && i[3].reg == 0 && i[3].value_reg == 4 && i[3].bytes == 8);
	CHECK(i[4].op == LIT_RED && i[4].rmw == LIT_INC && i[4].scope == LIT_CTA && i[4].value == 7);
	CHECK(i[5].op == LIT_FENCE && i[5].sem == LIT_SC && !i[5].membar && i[6].membar && i[6].scope == LIT_GPU);
	CHECK(i[7].op == LIT_POLL && i[7].count == 50 && i[7].value == 1 && i[7].reg == 7 && i[7].sem == LIT_ACQUIRE);
	CHECK(i[8].op == LIT_IF && i[8].negated && i[9].op == LIT_REPEAT && i[9].count == 3 && i[10].sem == LIT_MMIO && i[10].value == 200);
	CHECK(p->thread[1].instr[0].stride == 8 && p->thread[1].instr[0].sem == LIT_VOLATILE);
	CHECK(p->steps == 7 && p->step[2].op == LIT_DO_RECORD && p->step[2].stream == 1 && p->step[2].event == 3 && p->step[5].rank == 1);
	CHECK(p->terms == 3 && p->term[1].thread == 1 && p->term[1].clause == 0 && p->term[2].clause == 1 && p->term[2].location == 1);
	CHECK(p->expect == LIT_RACE && !strcmp(p->kinds, "read-after-write write-after-read") && !strcmp(p->cites, "8.9.5 a"));
}

/* `line` of every instruction is where its text stands. */
static void check_lines(const struct lit_program *p, const char *text)
{
	for (size_t t = 0; t < p->threads; t++)
		for (size_t n = 0; n < p->thread[t].instrs; n++) {
			const struct lit_instr *i = &p->thread[t].instr[n];
			const char *at = text;
			char opcode[LIT_OPCODE] = "bar";

			for (uint32_t line = 1; line < i->line; line++)
				at = strchr(at, '\n') + 1;
			at += strspn(at, " ");
			if (i->op != LIT_BAR && i->op < LIT_IF && i->op != LIT_POLL)
				lit_opcode_write(i, opcode);
			if (i->op == LIT_BAR || i->op < LIT_BAR)
				CHECK(!strncmp(at, opcode, strlen(opcode)));
		}
}

static void round_trip(void)
{
	struct lit_program *p = parsed(program), *again;
	char *text, *twice;

	check_program(p);
	CHECK(p->thread[0].instr[0].line == 11);
	text = printed(p);
	check_lines(p, text);
	again = parsed(text);
	check_program(again);
	check_lines(again, text);
	twice = printed(again);
	CHECK(!strcmp(text, twice));
	free(text);
	free(twice);
	lit_free(p);
	lit_free(again);
}

/* Which phase of which barrier each barrier of a section is part of. */
static void barriers(void)
{
	static const char text[] =
		"litmus a\nlaunch P grid 2 block 96\ncta 1 threads 0..31\n repeat 2\n mbarrier.arrive 5 32\n mbarrier.wait 5 0\n"
		" bar.arrive 1 64\n bar\n bar.sync 9 32\n mbarrier.arrive 5 32\n mbarrier.wait 5 token\n end\ncta 1 threads 32..47\n repeat 2\n"
		" bar.warp.sync\n bar.red 1 64\n bar\n end\ncta 1 threads 48..63\n bar.warp.sync\n bar.sync 1 64\n bar\n bar.warp.sync\n"
		" bar.sync 1 64\n bar\n";
	static const struct { uint8_t barrier; uint32_t phase; } want[3][14] = {
		{{21, 0}, {21, 1}, {1, 0}, {0, 0}, {9, 0}, {21, 1}, {21, 2}, {21, 2}, {21, 3}, {1, 1}, {0, 1}, {9, 1}, {21, 3}, {21, 4}},
		{{25, 0}, {1, 0}, {0, 0}, {25, 1}, {1, 1}, {0, 1}}, {{25, 0}, {1, 0}, {0, 0}, {25, 1}, {1, 1}, {0, 1}}};
	static struct lit_use use[3][LIT_USES];
	struct lit_program *p = parsed(text), *again;
	uint32_t uses[3], line;
	char *once = printed(p), *twice;

	CHECK(!lit_barriers(p, use, uses, &line) && uses[0] == 14 && uses[1] == 6 && uses[2] == 6);
	for (int s = 0; s < 3; s++)
		for (uint32_t n = 0; n < uses[s]; n++)
			CHECK(use[s][n].barrier == want[s][n].barrier && use[s][n].phase == want[s][n].phase);
	again = parsed(once);
	twice = printed(again);
	CHECK(!strcmp(once, twice));
	free(once);
	free(twice);
	lit_free(p);
	lit_free(again);
}

static void refused(const char *text, const char *words)
{
	struct lit_program *p = NULL;
	char error[300] = "";

	if (!lit_parse(text, "t.litmus", &p, error, sizeof(error)) || strncmp(error, "t.litmus:", 9) || !strstr(error, words)) {
		fprintf(stderr, "%s\n-> '%s', and not '%s'\n", text, error, words);
		exit(1);
	}
	CHECK(!p);
}

#define HEAD "litmus a\nlocation x bytes 8\nlaunch P\ncta 0\n"
#define BLOCK "litmus a\nlocation x bytes 8\nlaunch P block 64\ncta 0 threads 0..31\n"
#define SECOND "cta 0 threads 32..63\n"
static void bad_texts(void)
{
	static const char *const texts[][2] = {
		{"", "t.litmus:0: the text ends without a program"},
		{"launch P\n", ":1: 'launch' before the program's name"},
		{"litmus a\n", "without a launch"},
		{every, ":13: atom.global.sys.add.u32: a qualifier that is unknown"},
		{HEAD "ld.b32 r0 y\n", ":5: no location 'y'"}, {HEAD "ld.b32 r64 x\n", ":5: 'r64' is not a register"},
		{HEAD "ld.b32 _ x\n", ":5: '_' is not a register"}, {HEAD "ld.b32 r0\n", ":5: the line ends early"},
		{HEAD "ld.b32 r0 x 1\n", ":5: '1' is too much"}, {HEAD "ld.acquire.b32 r0 x\n", "no scope"},
		{HEAD "ld.weak.gpu.b32 r0 x\n", "a scope without"}, {HEAD "ld.release.gpu.b32 r0 x\n", "does not have"},
		{HEAD "st.acquire.gpu.b32 x 1\n", "does not have"}, {HEAD "red.acquire.gpu.add.u32 x 1\n", "does not have"},
		{HEAD "red.cas.b32 x 1 1\n", "does not have"}, {HEAD "atom.add.b32 r0 x 1\n", ".u32"}, {HEAD "atom.b32 r0 x 1\n", "no operation"},
		{HEAD "atom.exch.b16 r0 x 1\n", "only cas"}, {HEAD "ld.v4.b64 r0 x\n", "more than 16"}, {HEAD "ld.relaxed.gpu r0 x\n", "no type"},
		{HEAD "ld.mmio.b32 r0 x\n", "mmio.relaxed.sys"}, {HEAD "ld.nc.b32 r0 x\n", ".nc needs"}, {HEAD "fence.acq_rel\n", "needs a scope"},
		{HEAD "mov.b32 r0 x\n", "no such instruction"}, {HEAD "st.b32 x y\n", "neither"}, {HEAD "st.b32 x+8 1\n", ":5: reaches outside of 'x'"},
		{HEAD "st.b32 x+2 1\n", "aligned"}, {HEAD "st.b64 x tid*8x 1\n", "stride"}, {HEAD "poll st.b32 r0 x 1 1\n", "poll loads"},
		{HEAD "poll ld.b32 r0 x 1 0\n", "never looks"}, {HEAD "if r0 < 1\nend\n", "compares nothing"}, {HEAD "if r0 == 1\n", "still open"},
		{HEAD "end\n", "ends nothing"}, {HEAD "if r0 == 0\nbar\nend\n", "under a condition"}, {HEAD "bar\ncta 0 thread 1\nbar\nbar\n", "2 barriers"},
		{HEAD "bar\ncta 0 thread 0\nbar\n", "have a section"}, {HEAD "cta 0 thread 40\nbar\n", "32 threads"},
		{HEAD "cta 0 threads 5..2\n", "no range"}, {HEAD "ld.v4.b16 r62 x\n", "fills registers"},
		{"litmus a\nld.b32 r0 x\n", ":2: 'ld.b32' outside of any thread"}, {"litmus a\ncta 0\n", "before any launch"},
		{"litmus a\nranks 9\n", "from 0 to 8"}, {"litmus a\nranks 0\n", "no rank"}, {"litmus a\nlaunch P rank 1\n", "'1' is not a rank"},
		{"litmus a\nlitmus b\n", "second program"}, {"litmus a,b\n", "not the program's name"}, {HEAD "location x\n", "second location"},
		{HEAD "location r1\n", "is a register"}, {HEAD "launch P\n", "second launch"}, {HEAD "wait 0\n", "not recorded"},
		{HEAD "sync none\n", "sync stream"}, {HEAD "exists x 1\n", "no ="}, {HEAD "exists P.1:r0 = 1\n", "no register of a thread"},
		{HEAD "exists P.0r0 = 1\n", "no location"}, {HEAD "expect maybe\n", "expect race"}, {HEAD "cites \"a\n", "partner"},
		{HEAD "bar.sync 0 32\n", ":5: barrier 0 is that of 'bar'"}, {HEAD "bar.sync 1 33\n", ":5: a barrier of 33 threads"},
		{HEAD "bar.sync 1 64\n", ":5: waits for ever"}, {HEAD "bar.warp.sync 1\n", "too much"},
		{HEAD "mbarrier.wait 0 2\n", "from 0 to 1"}, {HEAD "mbarrier.wait 0 token\n", "a token of no arrival"}, {HEAD "mbarrier.wait 0 0\n", ":5: waits for ever"},
		{BLOCK "bar.arrive 1 64\nbar.sync 1 64\n" SECOND "bar.sync 1 64\n", ":8: more threads come"},
		{BLOCK "bar.arrive 1 64\nbar.arrive 1 96\n" SECOND, ":6: another count"},
		{BLOCK "mbarrier.arrive 0 32\n" SECOND "mbarrier.wait 0 1\n", ":7: a wait that may come when the next phase"},
		{"litmus a\nlaunch P block 96\ncta 0\nmbarrier.arrive 0 1\nmbarrier.wait 0 0\nbar.sync 1 64\ncta 0 thread 32\nbar.sync 1 64\n"
		 "cta 0 thread 64\nbar.sync 1 64\nbar.sync 1 64\n", ":6: more threads come"},
		{BLOCK "mbarrier.arrive 0 32\nmbarrier.wait 0 0\nmbarrier.arrive 0 32\n" SECOND "mbarrier.wait 0 0\n", ":9: a wait that may come"},
		{BLOCK "mbarrier.arrive 0 32\nmbarrier.arrive 0 64\n" SECOND, ":6: another count"},
		{"litmus a\nlaunch P block 64\ncta 0 threads 0..63\nbar.warp.sync\n", ":4: bar.warp.sync in a section of several"},
		{HEAD "launch Q block 0\n", "without threads"}, {HEAD "location z bytes 0\n", "is empty"}, {HEAD "launch Q.1\n", "letters"}};

	for (size_t n = 0; n < sizeof(texts) / sizeof(texts[0]); n++)
		refused(texts[n][0], texts[n][1]);
}

static void ptx(void)
{
	struct lit_program *p = parsed(program);
	struct ptx_module *m = NULL;
	struct ptx_error error;
	unsigned found = 0;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	CHECK(to);
	lit_emit(p, "k", to);
	fclose(to);
	if (ptx_parse(text, size, &m, &error)) {
		fprintf(stderr, "%u:%u: %s\n%s", error.line, error.column, error.text, text);
		exit(1);
	}
	CHECK(m->functions == 2 && m->function[0].is_entry && m->function[0].param_count == 4);
	CHECK(!strncmp(text + m->function[1].name.off, "k_Q", 3) && !strcmp(m->file[0].path, "every-thing.1.litmus"));
	for (uint32_t n = 0; n < m->function[0].instrs; n++) {
		const struct ptx_instr *i = &m->function[0].instr[n];

		if (i->op.len == 4 && !strncmp(text + i->op.off, "atom", 4))
			CHECK(i->loc && m->loc[i->loc - 1].line == 13 + found++);
	}
	CHECK(found == 2);
	ptx_free(m);
	free(text);
	lit_free(p);
}

int main(void)
{
	round_trip();
	barriers();
	bad_texts();
	ptx();
	return 0;
}
