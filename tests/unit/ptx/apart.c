/* src/ptx/apart, plan: what the text tells of the order of two sites, and of when they are checked. */
#include "ptx/apart.h"

#include "described.h"

#define REGS ".reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<4>;\n"
#define AT(line) ".loc 1 " #line " 1\n"
#define FLAG AT(1) "st.relaxed.gpu.global.b32 [%rd1], 1;\n"
#define DATA AT(2) "st.global.b32 [%rd1], 1;\n"
#define BARRIER "bar.sync 0;"
#define WARP "bar.warp.sync -1;"
#define ARMS(one, other) "@%p1 bra L;\n" one "bra.uni M;\nL:" other "M:"

/* Is the flag raised before the data is written, as far as the text tells? */
static const struct { const char *body; int before; } rows[] = {
	{FLAG DATA, 1},
	{DATA FLAG, 0},
	/* loops */
	{"L:" FLAG DATA "@%p1 bra L;", 0},
	{"L:" FLAG "@%p1 bra L;" DATA, 1},
	{FLAG "L:" DATA "@%p1 bra L;", 1},
	{"L:" FLAG "@%p1 bra L;\nM:" DATA "@%p1 bra M;", 1},
	{FLAG "L: @%p1 bra L;" DATA, 1},
	{FLAG "@%p1 bra L;" DATA "L:", 1}, /* only onwards */
	{"L:" FLAG "M: @%p1 bra M;" DATA "@%p2 bra L;", 0}, /* the outermost */
	{"L:" FLAG "M: @%p1 bra L;" DATA "@%p2 bra M;", 0}, /* that overlap */
	{"L:" "M: @%p1 bra L;" FLAG "@%p2 bra M;" DATA, 1},
	{"L: @%p1 bra M;" FLAG "bra.uni L;\nM:" DATA, 1}, /* left in front */
	/* what is unrolled */
	{FLAG DATA FLAG DATA, 0},
	{DATA FLAG DATA, 0},
	{FLAG FLAG DATA DATA, 1},
	/* either of two arms */
	{ARMS(FLAG, DATA), 0},
	{ARMS(FLAG, "") DATA, 1},
	{ARMS("", FLAG) DATA, 1},
	{ARMS(FLAG DATA, ""), 1},
	{ARMS("", FLAG DATA), 1},
	{"@%p1 bra L;\n" FLAG "ret;\nL:" DATA, 0},
	{"@%p1 bra L;\n" FLAG "@%p2 ret;\nL:" DATA, 1},
	{"@%p1 bra L;\n" FLAG "L:" DATA, 1},
	/* who waits for all, and who comes past and waits later */
	{BARRIER FLAG DATA BARRIER, 1},
	{BARRIER "barrier.sync.aligned 0;" FLAG DATA, 1},
	{"@%p1 bra L;\n" BARRIER FLAG "L:" DATA, 1},
	{"@%p1 bra L;\n" BARRIER FLAG "L:" DATA BARRIER, 0},
	{"@%p1 bra L;\n" FLAG BARRIER "L:" DATA BARRIER, 1},
	{"@%p1 bra L;\n" WARP FLAG "L:" DATA WARP, 0},
	{"@%p1 bra L;\n" "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;" FLAG "L:" DATA "vote.sync.any.pred %p2, %p1, -1;", 0},
	{"@%p1 bra L;\n" WARP FLAG DATA "L:" WARP, 1},
	{"@%p1 bra L;\n" WARP "L:" FLAG DATA WARP, 1},
	{"@%p1 bra L;\n" "@%p2 bra M;\n" WARP FLAG "M:" DATA WARP "L:", 0},
	{"@%p1 bra L;\n" WARP "@%p2 bra M;\n" WARP FLAG "M:" DATA WARP "L:", 0},
	{"@%p1 bra L;\n" "M:" FLAG WARP "@%p2 bra M;\nL:" DATA WARP, 0},
	{"@%p1 bra L;\n" WARP FLAG "L: M:" DATA "@%p3 bra N;" WARP "N: @%p2 bra M;", 0},
	{"@%p1 bra L;\n" WARP FLAG "L: M:" WARP DATA "@%p2 bra M;", 0},
	{"@%p1 bar.warp.sync -1;" FLAG DATA "@%p2 bar.warp.sync -1;", 0},
	{"@%p1 bar.warp.sync -1;" FLAG DATA, 1},
	/* for some, and nobody knows for what */
	{"bar.sync 1, 64;" FLAG DATA, 0},
	{FLAG "bar.sync 1, 64;" DATA, 1},
	{"L:" FLAG "bar.sync 1, 64;" "@%p1 bra L;" DATA, 0},
	{"mbarrier.try_wait.shared.b64 %p1, [%r1], %rd2;" FLAG DATA, 0},
	{"ld.volatile.shared.b32 %r1, [%r2];" FLAG DATA, 0},
	{"call f;" FLAG DATA, 0},
	{"call vprintf;" FLAG DATA, 1},
	{FLAG "call f;" DATA, 1},
	{"brx.idx %r1, list;\nL:" FLAG DATA "M: ret;\nlist: .branchtargets L, M;", 0},
};

static int is_before(const char *source)
{
	struct ptx_info info;
	const struct ptx_site *at[DESCRIBED_LINES];

	describe(source, 4, &info);
	described_lines(&info, at);
	int before = ptx_info_before(&info, at[1], at[2]);
	CHECK(!ptx_info_before(&info, at[1], at[1]));
	ptx_info_free(&info);
	return before;
}

#define START HEAD ".extern .func vprintf();\n.func f()\n{\nret;\n}\n"
static void order(void)
{
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		char source[2048];

		snprintf(source, sizeof(source), "%s%sret;\n}\n.file 1 \"a.cu\"\n", START ".visible .entry k(.param .u64 p)\n{\n" REGS, rows[k].body);
		int before = is_before(source);
		if (before != rows[k].before)
			fprintf(stderr, "row %zu: expected %d:\n%s\n", k, rows[k].before, rows[k].body);
		CHECK(before == rows[k].before);
	}
	CHECK(!is_before(HEAD ".func f()\n{\n" REGS FLAG DATA "ret;\n}\n.visible .entry k()\n{\ncall f;\ncall f;\nret;\n}\n.file 1 \"a.cu\"\n")); /* once more */
}

/* Which lines are checked when a store behind them has been executed. */
static void late(void)
{
#define READ "ld.global.b32 %r1, [%rd1];\n"
#define WRITE "st.global.b32 [%rd1], 1;\n"
	static const struct { const char *body, *lines; } late_rows[] = {
		{AT(1) READ AT(2) WRITE, "1"},
		{AT(1) WRITE AT(2) READ, ""},
		{AT(1) READ AT(2) READ AT(3) WRITE AT(4) READ, "12"},
		{AT(1) WRITE AT(1) WRITE, "1"}, /* one site */
		{AT(1) WRITE "fence.acq_rel.gpu;\n" AT(2) WRITE, ""},
		{AT(1) WRITE "@%p1 bra L;\nL:" AT(2) WRITE, ""},
		{AT(1) WRITE AT(2) "st.relaxed.gpu.global.b32 [%rd1], 1;\n" AT(3) WRITE, ""},
		{AT(1) READ AT(2) "ld.relaxed.gpu.global.b32 %r1, [%rd1];\n" AT(3) READ AT(4) WRITE, "3"},
	};

	for (size_t k = 0; k < sizeof(late_rows) / sizeof(*late_rows); k++) {
		char source[2048], lines[8] = "";
		struct ptx_info info;

		snprintf(source, sizeof(source), "%s%sret;\n}\n.file 1 \"a.cu\"\n", HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS, late_rows[k].body);
		describe(source, 4, &info);
		for (uint32_t i = 0, n = 0; i < info.sites; i++)
			if (info.site[i].late)
				lines[n++] = (char)('0' + info.site[i].line);
		ptx_info_free(&info);
		if (strcmp(lines, late_rows[k].lines))
			fprintf(stderr, "row %zu: late are \"%s\"\n", k, lines);
		CHECK(!strcmp(lines, late_rows[k].lines));
	}
}

/* A function that has no lines: it is where it is called, as long as one call alone leads there. */
static void called(void)
{
#define FUNCTION(name) ".func " name "(.param .b64 a)\n{\n" REGS "ld.param.u64 %rd1, [a];\n"
#define END "ret;\n}\n"
#define CALL(name) "{\n.param .b64 x;\nst.param.b64 [x], %rd1;\ncall " name ", (x);\n}\n"
#define ATOMIC "atom.global.exch.b32 %r1, [%rd1], 1;\n"
	static const struct { const char *within, *between, *calls, *file, *inlined_at; uint32_t line; } row[] = {
		{ATOMIC, AT(5) CALL("f"), ".loc 2 9 1\n" CALL("g"), "a.h", "k.cu:9", 5},
		{ATOMIC, AT(5) CALL("f"), ".loc 2 9 1\n" CALL("g") ".loc 2 10 1\n" CALL("g"), "a.h", "-", 5},
		{ATOMIC, CALL("f"), ".loc 2 9 1\n" CALL("g"), "k.cu", "-", 9},
		{ATOMIC, CALL("f"), ".loc 2 9 1\n" CALL("g") CALL("g"), "-", "-", 0},
		{AT(3) ATOMIC, AT(5) CALL("f"), ".loc 2 9 1\n" CALL("g"), "a.h", "-", 3},
	};

	for (size_t k = 0; k < sizeof(row) / sizeof(*row); k++) {
		char source[4096];
		struct ptx_info info;

		snprintf(source, sizeof(source), "%s%s%s%s%s%s", HEAD FUNCTION("f"), row[k].within, END FUNCTION("g"), row[k].between,
			 END ".visible .entry k(.param .u64 p)\n{\n" REGS, row[k].calls);
		strcat(source, END ".file 1 \"a.h\"\n.file 2 \"k.cu\"\n");
		describe(source, 4, &info);
		CHECK(info.sites == 1 && !strcmp(info.site[0].file, row[k].file) && !strcmp(info.site[0].inlined_at, row[k].inlined_at));
		CHECK(!row[k].line || info.site[0].line == row[k].line);
		ptx_info_free(&info);
	}
}

int main(void)
{
	order();
	called();
	late();
	return 0;
}
