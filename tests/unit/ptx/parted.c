/* Parted: at which barriers all lanes of a warp come together. */
#include "ptx/parted.h"

#include "check.h"

#define REGS ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;\nmov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p];\n"
#define LANE "setp.lt.u32 %p1, %r1, 7;\n"                               /* depends on the lane */
#define ALIKE "mov.u32 %r2, %ctaid.x; setp.lt.u32 %p2, %r2, 7;\n"       /* does not */
#define BARRIER "barrier.sync 0;\n"
#define ON "add.s32 %r8, %r8, 1;\n"                                    /* it goes on */

/* together: in a clone it can be .aligned. */
static const struct { const char *body; int together; } rows[] = {
	{BARRIER, 1},
	{"barrier.cta.sync \t1;", 1},
	{"barrier.sync 0, 64;", 0},
	{"barrier.sync %r1;", 0},
	{"barrier.arrive 0, 64;", 0},
	{ALIKE "@%p2 " BARRIER, 0}, /* not looked at */
	/* behind what parted lanes, in an arm of theirs, and in one that all take */
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1;\nL: " BARRIER, 1},
	{LANE "@%p1 bra L; " BARRIER "L: " ON, 0},
	{ALIKE "@%p2 bra L; " BARRIER "L: " ON, 1},
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1; bra M;\nL: " BARRIER "M: " ON, 0},
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1; bra M;\nL: add.s32 %r3, %r1, 2;\nM: " BARRIER, 1},
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1; ret;\nL: " BARRIER, 1}, /* who has left is waited for by nobody */
	{LANE "@%p1 ret; " BARRIER, 1},
	{LANE "@%p1 bra L; " BARRIER "L:", 1}, /* nor who goes where everybody leaves */
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1;\nM: " BARRIER ALIKE "@%p2 bra M;\nL:", 1},
	/* what was set in an arm may differ behind it, and what was loaded, and rows of a block */
	{LANE "mov.u32 %r3, 1; @%p1 bra L; mov.u32 %r3, 2;\nL: setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 0},
	{LANE "mov.u32 %r3, 1; @%p1 mov.u32 %r3, 2; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 0},
	/* one place for all is one value; not each lane's own, nor what parted lanes read, each when it comes */
	{"ld.shared.u32 %r3, [s]; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 1},
	{"ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 1},
	{"mov.u32 %r2, s; ld.shared.u32 %r3, [%r2+4]; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 1},
	{"cvt.u64.u32 %rd2, %r1; add.s64 %rd2, %rd1, %rd2; ld.global.u32 %r3, [%rd2]; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 0},
	{"ld.u32 %r3, [%rd1]; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 0}, /* in local memory, perhaps */
	{"atom.shared.add.u32 %r3, [s], 1; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 0},
	{LANE "@%p1 bra L; ld.shared.u32 %r3, [s];\nL: setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 0},
	{"mov.u32 %r3, %tid.y; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M: " ON, 0},
	/* loops: so many rounds for all, as a reduction has; for some more, with the barrier within and behind */
	{"mov.u32 %r3, %ntid.x;\nL: setp.lt.u32 %p1, %r1, %r3; @%p1 bra M; add.s32 %r4, %r1, 1;\nM: " BARRIER "shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;", 1},
	{"mov.u32 %r3, %r1;\nL: " BARRIER "add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 90; @%p2 bra L;", 0},
	{"mov.u32 %r3, %r1;\nL: add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 90; @%p2 bra L; " BARRIER, 1},
	/* rounds by a stride that doubles: 64 numbers with other bits set; whether lanes go on by one of their own */
	{"mov.u32 %r2, %ctaid.x; mov.u32 %r3, 1;\nL: " BARRIER "shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r2; @%p2 bra L;", 1},
	{"mov.u32 %r2, %ctaid.x; add.s32 %r3, %r1, 1;\nL: " BARRIER "shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r2; @%p2 bra L;", 0},
	/* some leave a loop: those that stay come alone; some go on to the next round */
	{ALIKE LANE "L: @%p1 bra M; " BARRIER "@%p2 bra L;\nM: " ON, 0},
	{ALIKE LANE "L: " BARRIER "@%p1 bra M; @%p2 bra L;\nM: " ON, 0},
	{ALIKE LANE "L: @%p2 bra M; " BARRIER "@%p1 bra L;\nM: " ON, 0},
	{ALIKE LANE "L: @%p1 bra N; bra M;\nN: bra L;\nM: " BARRIER "@%p2 bra L;", 1}, /* behind it */
	{ALIKE LANE "L: @%p1 bra N; " BARRIER "bra M;\nN: bra L;\nM: @%p2 bra L;", 0},
	{LANE "L: brx.idx %r1, T;\n" BARRIER, 0},
};

/* A function g that is called, and a kernel that calls it, of which these are parts. */
static const struct { const char *function, *call; int together; } called[] = {
	{BARRIER, "call g, (%r1);", 1},
	{BARRIER, LANE "@%p1 bra L; call g, (%r1);\nL: " ON, 0},
	{BARRIER, LANE "@%p1 call g, (%r1);", 0},
	{BARRIER, ALIKE "@%p2 bra L; call g, (%r1);\nL: call g, (%r1);", 1},
	{BARRIER, LANE "@%p1 bra L; call g, (%r1);\nL: call g, (%r1);", 0},
	{BARRIER, "", 1}, /* by nobody */
	{BARRIER, "mov.u64 %rd2, g;", 0},
	{BARRIER "call g, (%q1);", "call g, (%r1);", 0},
	/* what it is given may differ; who returns comes to what lies behind the call, perhaps to a barrier */
	{"ld.param.u32 %q1, [x]; setp.eq.u32 %p, %q1, 1; @%p bra L; " BARRIER "L: add.s32 %q1, %q1, 1;", "call g, (%r1);", 0},
	{"ld.param.u32 %q1, [x]; setp.eq.u32 %p, %q1, 1; @%p bra L; add.s32 %q1, %q1, 1;\nL: " BARRIER, "call g, (%r1);", 1},
	{"ld.param.u32 %q1, [x]; setp.eq.u32 %p, %q1, 1; @%p ret; " BARRIER, "call g, (%r1);", 0},
	{"ld.param.u32 %q1, [x]; setp.eq.u32 %p, %q1, 1; @%p bra L; " BARRIER "L:", "call g, (%r1);", 0},
};

static void check(const char *text, int together)
{
	struct ptx_module *m = parse_ok(text);

	if (ptx_parted_gathers(m) == together)
		fprintf(stderr, "%s\n", text);
	CHECK(ptx_parted_gathers(m) != together);
	ptx_free(m);
}

int main(void)
{
	char text[4096];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(text, sizeof text, HEAD ".visible .entry k(.param .u64 p)\n{\n.shared .b32 s[8];\n%s%s\nret;\n}\n", REGS, rows[i].body);
		check(text, rows[i].together);
	}
	for (size_t i = 0; i < sizeof called / sizeof *called; i++) {
		snprintf(text, sizeof text, HEAD ".visible .func g(.param .b32 x)\n{\n.reg .b32 %%q<9>; .reg .pred %%p;\n%s\nret;\n}\n"
			 ".visible .entry k(.param .u64 p)\n{\n%s%s\nret;\n}\n", called[i].function, REGS, called[i].call);
		check(text, called[i].together);
	}
	return 0;
}
