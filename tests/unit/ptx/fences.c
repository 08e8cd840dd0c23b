/* src/ptx/fences, describe, info: which fences stand between two sites, on whatever way a thread comes from the one to the other; and which flags are raised
 * before the data of their round, though with a fence behind that. */
#include "ptx/fences.h"

#include "described.h"

#define REGS ".reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<4>;\n"
#define AT(line) ".loc 1 " #line " 1\n"
#define DATA AT(1) "st.global.b32 [%rd1], 1;\n"
#define FLAG AT(2) "st.relaxed.gpu.global.b32 [%rd1], 1;\n"
#define POLL AT(1) "ld.relaxed.gpu.global.b32 %r1, [%rd1];\n"
#define LOAD(more) AT(2) "ld.global.b32 %r2, [%rd2+" more "];\n"
#define FENCE(line) AT(line) "membar.cta;\n"

/* The lines of the fences from the data to the flag. */
static const struct { const char *body, *between; } rows[] = {
	{DATA FENCE(5) FLAG, "5"},
	{DATA FENCE(5) FENCE(6) FLAG, "56"},
	{FENCE(5) DATA FLAG, ""},
	{DATA FLAG FENCE(5), ""},
	{DATA "@%p1 bra L;\n" FENCE(5) "L:" FLAG, ""},
	{DATA "@%p1 bra L;\n" FENCE(5) FLAG "L:", "5"},
	{"@%p1 bra L;\n" DATA FENCE(5) "L:" FLAG, ""},
	{DATA "@%p1 bra L;\n" FENCE(5) "bra.uni M;\nL:" FENCE(6) "M:" FLAG, ""},
	{DATA "@%p1 " "membar.cta;\n" FLAG, ""},
	{DATA FENCE(5) "bar.sync 0;\n@%p1 bra L;\n" FLAG "L:", "5"},
	{DATA "@%p1 ret;\n" FENCE(5) FLAG, "5"},
	{"L:" DATA FENCE(5) FLAG "@%p1 bra L;", "5"},
	{DATA FENCE(5) "L:" FLAG "@%p1 bra L;", "5"},
	{"@%p1 bra M;\nL:" FLAG "M:" DATA FENCE(5) "@%p1 bra L;", ""}, /* the flag stands before it */
	{DATA FENCE(5) FLAG DATA, "5"},
	{DATA "L: brx.idx %r1, list;\nM:" FENCE(5) FLAG "N: ret;\nlist: .branchtargets M, N;", ""},
	{"bra.uni M;\nL:" DATA FLAG "ret;\nM:" FENCE(5) "bra.uni L;\n", ""}, /* before both */
	/* one site of two */
	{POLL FENCE(5) LOAD("0") LOAD("8"), "5"},
	{POLL "@%p1 bra L;\n" FENCE(5) LOAD("0") "L:" LOAD("8"), ""},
	{POLL "@%p1 bra L;\n" LOAD("0") FENCE(5) "L:" LOAD("8"), ""},
};

#define WIDE AT(5) "membar.gl;\n"
#define WAIT AT(7) "M: atom.global.cas.b32 %r1, [%rd2], 0, 1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra M;\n"
#define GIVE(how) AT(2) "atom." how "gpu.global.exch.b32 %r2, [%rd2], 0;\n"
#define ROUND(body) "L:" body "@%p1 bra L;\n"
/* Is the flag early for the data? */
static const struct { const char *body; int early; } rounds[] = {
	{ROUND(FLAG DATA WIDE), 1},
	{ROUND(FLAG DATA), 0},
	{ROUND(FLAG DATA FENCE(5)), 0},
	{ROUND(FLAG DATA AT(5) "fence.acquire.sync_restrict::shared::cluster.cluster;\n"), 0},
	{ROUND(FLAG WIDE DATA), 0},
	{ROUND(WIDE FLAG DATA), 1}, /* on its way round it comes to that fence */
	{ROUND(DATA WIDE FLAG), 0},
	{ROUND(DATA FLAG WIDE), 0},
	{ROUND(FLAG DATA "@%p2 bra N;\n" WIDE "N: "), 0},
	{ROUND("@%p2 bra N;\n" FLAG "N: " DATA WIDE), 0},
	{ROUND(FLAG DATA AT(5) "@%p2 membar.gl;\n"), 0},
	{FLAG ROUND(DATA WIDE), 0}, /* it is raised once: the text tells it */
	{FLAG DATA WIDE FLAG DATA WIDE, 1},
	{FLAG DATA FLAG DATA WIDE, 0},
	{DATA WIDE FLAG DATA WIDE FLAG, 0},
	{ROUND(WAIT GIVE("relaxed.") DATA WIDE), 1},
	{ROUND(WAIT GIVE("release.") DATA), 1},
	{ROUND(WAIT GIVE("relaxed.") DATA), 0},
	{ROUND("M: atom.global.cas.b32 %r1, [%rd2], 0, 1;\n" AT(2) "atom.global.cas.b32 %r1, [%rd2], 0, 1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra M;\n" DATA WIDE), 0},
};

static void test_rounds(void)
{
	for (size_t k = 0; k < sizeof(rounds) / sizeof(*rounds); k++) {
		struct ptx_info info;
		const struct ptx_site *at[DESCRIBED_LINES];
		char source[2048];

		snprintf(source, sizeof(source), "%s%sret;\n}\n.file 1 \"a.cu\"\n", HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS, rounds[k].body);
		describe(source, 1, &info);
		described_lines(&info, at);
		int early = ptx_info_early(&info, at[2], at[1]);
		if (early != rounds[k].early)
			fprintf(stderr, "round %zu: not %d:\n%s\n", k, rounds[k].early, rounds[k].body);
		CHECK(early == rounds[k].early);
		ptx_info_free(&info);
	}
}

int main(void)
{
	test_rounds();
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		struct ptx_info info;
		const struct ptx_site *at[DESCRIBED_LINES];
		char source[2048], found[16];
		size_t n = 0;

		snprintf(source, sizeof(source), "%s%sret;\n}\n.file 1 \"a.cu\"\n", HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS, rows[k].body);
		describe(source, 1, &info);
		described_lines(&info, at);
		for (const struct ptx_fence *f = NULL; n < sizeof(found) - 1 && (f = ptx_info_fence(&info, at[1], at[2], f));)
			found[n++] = (char)('0' + f->at.line % 10);
		found[n] = 0;
		if (strcmp(found, rows[k].between))
			fprintf(stderr, "row %zu: %s, not %s:\n%s\n", k, found, rows[k].between, rows[k].body);
		CHECK(!strcmp(found, rows[k].between));
		for (uint32_t i = 0; i < info.fences; i++)
			CHECK(!strcmp(info.fence[i].at.scope, "cta") && !strcmp(info.fence[i].at.semantics, "sc"));
		ptx_info_free(&info);
	}
	return 0;
}
