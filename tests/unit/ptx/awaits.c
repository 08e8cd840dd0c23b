/* src/ptx/awaits, describe, info: which reads of a kernel wait for what they read, and what comes behind them. */
#include "ptx/awaits.h"

#include "described.h"

#define REGS ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>; .shared .b32 box; .local .b32 own;\n"
#define READ ".loc 1 1 1\nld.global.b32 %r1, [%rd1];\n"
#define LOOP(body) "mov.b32 %r2, 0;\nmov.b32 %r3, 5;\nL:" body "@%p1 bra L;\n"
#define ATOM(what, by) LOOP("atom.global." what ".u32 %r1, [%rd1], " by ";\nsetp.ne.u32 %p1, %r1, 0;\n")

static const struct { const char *body; int awaits; } rows[] = {
	{READ "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nadd.u32 %r3, %r3, 1;\nL: ", 0},
	{LOOP(READ "setp.eq.u32 %p1, %r1, 0;\n"), 1},
	{LOOP(READ "setp.ne.u32 %p1, %r3, %r1;\n"), 1},
	{LOOP(READ "add.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 9;\n"), 0},
	/* how often something else is done */
	{LOOP(READ "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n"), 0},
	/* a time limit beside it; a round's number from a loop around */
	{LOOP(READ "add.u32 %r2, %r2, 1;\nsetp.eq.u32 %p2, %r1, 0;\nsetp.lt.u32 %p3, %r2, 99;\nand.pred %p1, %p2, %p3;\n"), 1},
	{LOOP("add.u32 %r2, %r2, 1;\nM:" READ "setp.lt.u32 %p2, %r1, %r2;\n@%p2 bra M;\nsetp.lt.u32 %p1, %r2, 9;\n"), 1},
	{"bra.uni M;\nL: add.u32 %r2, %r2, 1;\nM:" READ "setp.eq.u32 %p1, %r1, 7;\n@!%p1 bra L;\n", 1},
	{"L:" READ "sub.u32 %r4, %r3, %r1;\nsetp.lt.s32 %p1, %r4, 2;\n@%p1 bra M;\nbra.uni L;\nM: ", 1},
	/* one thread reads, the others have it from where it puts that */
	{LOOP(READ "st.shared.b32 [box], %r1;\nbar.sync 0;\nld.shared.b32 %r4, [box];\nsetp.eq.u32 %p1, %r4, 0;\n"), 1},
	{LOOP(READ "st.local.b32 [own], %r1;\nld.local.b32 %r4, [own];\nsetp.eq.u32 %p1, %r4, 0;\n"), 1},
	{LOOP(READ "st.shared.b32 [box], %r2;\nld.local.b32 %r4, [own];\nsetp.eq.u32 %p1, %r4, 0;\n"), 0},
	/* another word in each round */
	{LOOP(READ "add.u64 %rd1, %rd1, 4;\nsetp.eq.u32 %p1, %r1, 0;\n"), 0},
	{ATOM("exch", "1"), 1},
	{ATOM("cas", "0, 1"), 1},
	{ATOM("add", "0"), 1},
	{ATOM("add", "%r2"), 1},
	{ATOM("add", "1"), 0},
	{ATOM("add", "%r3"), 0},
	{ATOM("inc", "0"), 0},
	/* tries again with what it found */
	{LOOP("mov.b32 %r2, %r1;\nadd.u32 %r4, %r2, 1;\natom.global.cas.b32 %r1, [%rd1], %r2, %r4;\nsetp.ne.u32 %p1, %r1, %r2;\n"), 0},
	{READ "L: brx.idx %r1, list;\nN: ret;\nlist: .branchtargets L, N;", 1},
};

#define BARRIER "bar.sync 0;\n"
#define POLL ".loc 1 7 1\nL: ld.acquire.gpu.global.b32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n"
#define TAKE(what) ".loc 1 7 1\nL: atom.global." what ";\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra L;\n"
#define DATA ".loc 1 2 1\nld.global.b32 %r2, [%rd2];\n"
#define FLAG ".loc 1 3 1\nst.relaxed.gpu.global.b32 [%rd1], 1;\n"

/* Does each thread come to line 2 behind the wait of line 7, is that a lock that is taken, does line 2 stand there again, and only a barrier lead from it to
 * line 3? */
static const struct { const char *body; int waited, takes, again, meets; } waits[] = {
	{POLL DATA, 1, 0, 0, 0},
	{DATA POLL, 0, 0, 0, 0},
	{"@%p2 bra N;\n" POLL "N: " DATA, 0, 0, 0, 0},
	{"@%p2 bra N;\n" POLL "N: " BARRIER DATA, 1, 0, 0, 0},
	{"@%p2 bra N;\n" POLL "N: @%p3 " BARRIER DATA, 0, 0, 0, 0},
	{"@%p2 bra N;\n" POLL "N: bar.warp.sync -1;\n" DATA, 0, 0, 0, 0},
	{"@%p2 bra N;\n" POLL "N: bar.sync 1, 64;\n" DATA, 0, 0, 0, 0},
	{BARRIER "@%p2 bra N;\n" POLL "N: " DATA, 0, 0, 0, 0},
	{"@%p2 bra N;\n" POLL "N: " DATA BARRIER, 0, 0, 0, 0},
	{"M: @%p2 bra N;\n" POLL "N: " BARRIER DATA BARRIER "@%p3 bra M;\n", 1, 0, 1, 0},
	{TAKE("exch.b32 %r1, [%rd1], 1") DATA, 1, 1, 0, 0},
	{TAKE("cas.b32 %r1, [%rd1], 0, 1") DATA, 1, 1, 0, 0},
	{TAKE("cas.b32 %r1, [%rd1], 1, 1") DATA, 1, 0, 0, 0},
	{TAKE("add.u32 %r1, [%rd1], 0") DATA, 1, 0, 0, 0},
	{DATA DATA FLAG, 0, 0, 0, 0},
	{"M: " DATA FLAG "@%p3 bra M;\n", 0, 0, 1, 0},
	{DATA BARRIER FLAG DATA BARRIER FLAG, 0, 0, 1, 1},
	{DATA "@%p2 bra N;\n" BARRIER "N: " FLAG, 0, 0, 0, 0},
	{DATA BARRIER "@%p2 bra N;\n" FLAG "N: ", 0, 0, 0, 1},
	{BARRIER DATA FLAG, 0, 0, 0, 0},
};

static int awaits(const char *source)
{
	struct ptx_info info;
	int some = 0;

	describe(source, 1, &info);
	for (uint32_t i = 0; i < info.sites; i++)
		some |= info.site[i].awaits;
	ptx_info_free(&info);
	return some;
}

static void test_waits(void)
{
	for (size_t k = 0; k < sizeof(waits) / sizeof(*waits); k++) {
		struct ptx_info info;
		const struct ptx_site *at[DESCRIBED_LINES];
		char source[2048];

		snprintf(source, sizeof(source), "%s%sret;\n}\n.file 1 \"a.cu\"\n", HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS, waits[k].body);
		describe(source, 1, &info);
		described_lines(&info, at);
		int waited = at[7] && ptx_info_waited(&info, at[7], at[2]), meets = at[3] && ptx_info_meets(&info, at[2], at[3]);
		int good = waited == waits[k].waited && meets == waits[k].meets && at[2]->again == waits[k].again &&
			   (at[7] && at[7]->takes) == waits[k].takes;
		if (!good)
			fprintf(stderr, "wait %zu: %d %d %d:\n%s\n", k, waited, at[2]->again, meets, waits[k].body);
		CHECK(good);
		ptx_info_free(&info);
	}
}

/* Registers that are parameters are declared nowhere else; and what a function returns may be awaited where it is called. */
static void test_functions(void)
{
	static const char source[] = HEAD ".func (.reg .b32 %out) f(.reg .b64 %at)\n{\n.reg .pred %p<2>;\nL: ld.global.b32 %out, [%at];\n"
		"setp.eq.u32 %p1, %out, 0;\n@%p1 bra L;\nret;\n}\n"
		".func (.param .b32 out) g(.param .b64 at)\n{\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\nld.param.b64 %rd1, [at];\nld.global.b32 %r1, [%rd1];\n"
		"st.param.b32 [out], %r1;\nret;\n}\n";
	struct ptx_module *m = parse_ok(source);
	uint8_t awaits[8];

	CHECK(m->functions == 2 && !ptx_awaits(m, &m->function[0], awaits));
	CHECK(!ptx_awaits(m, &m->function[1], awaits) && !awaits[0] && awaits[1]);
	ptx_free(m);
}

/* An address that is the same in each round, but in more ways than anybody looks at. */
static void test_many_ways(void)
{
	struct text source = {0};

	text_puts(&source, HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS "L:");
	for (unsigned made = 1; made < 8; made++)
		for (unsigned way = 0; way < 12; way++)
			text_printf(&source, "add.u64 %%rd%u, %%rd%u, %%rd%u;\n", made, made + 1, made + 1);
	text_puts(&source, READ "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nret;\n}\n.file 1 \"a.cu\"\n");
	CHECK(!awaits(source.data));
	text_free(&source);
}

int main(void)
{
	test_functions();
	test_waits();
	test_many_ways();
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		char source[2048];

		snprintf(source, sizeof(source), "%s%sret;\n}\n.file 1 \"a.cu\"\n", HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS, rows[k].body);
		if (awaits(source) != rows[k].awaits)
			fprintf(stderr, "row %zu: not %d:\n%s\n", k, rows[k].awaits, rows[k].body);
		CHECK(awaits(source) == rows[k].awaits);
	}
	return 0;
}
