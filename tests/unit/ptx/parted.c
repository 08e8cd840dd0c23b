/* Parted: at which barriers all lanes of a warp come together. */
#include "ptx/parted.h"

#include "check.h"

#define REGS ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;\nmov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p];\n"
#define LANE "setp.lt.u32 %p1, %r1, 7;\n"                               /* depends on the lane */
#define ALIKE "mov.u32 %r2, %ctaid.x; setp.lt.u32 %p2, %r2, 7;\n"       /* does not */
#define BARRIER "barrier.sync 0;\n"

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
	{LANE "@%p1 bra L; " BARRIER "L:", 0},
	{ALIKE "@%p2 bra L; " BARRIER "L:", 1},
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1; bra M;\nL: " BARRIER "M:", 0},
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1; bra M;\nL: add.s32 %r3, %r1, 2;\nM: " BARRIER, 1},
	{LANE "@%p1 bra L; add.s32 %r3, %r1, 1; ret;\nL: " BARRIER, 1}, /* who has left is waited for by nobody */
	{LANE "@%p1 ret; " BARRIER, 1},
	/* what was set in an arm may differ behind it, and what was loaded, and rows of a block */
	{LANE "mov.u32 %r3, 1; @%p1 bra L; mov.u32 %r3, 2;\nL: setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M:", 0},
	{LANE "mov.u32 %r3, 1; @%p1 mov.u32 %r3, 2; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M:", 0},
	{"ld.global.u32 %r3, [%rd1]; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M:", 0},
	{"mov.u32 %r3, %tid.y; setp.eq.u32 %p3, %r3, 1; @%p3 bra M; " BARRIER "M:", 0},
	/* loops: so many rounds for all, as a reduction has; for some more, with the barrier within and behind */
	{"mov.u32 %r3, %ntid.x;\nL: setp.lt.u32 %p1, %r1, %r3; @%p1 bra M; add.s32 %r4, %r1, 1;\nM: " BARRIER "shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;", 1},
	{"mov.u32 %r3, %r1;\nL: " BARRIER "add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 90; @%p2 bra L;", 0},
	{"mov.u32 %r3, %r1;\nL: add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 90; @%p2 bra L; " BARRIER, 1},
	/* rounds by a stride that doubles: 64 numbers with other bits set; whether lanes go on by one of their own */
	{"mov.u32 %r2, %ctaid.x; mov.u32 %r3, 1;\nL: " BARRIER "shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r2; @%p2 bra L;", 1},
	{"mov.u32 %r2, %ctaid.x; add.s32 %r3, %r1, 1;\nL: " BARRIER "shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r2; @%p2 bra L;", 0},
	/* some leave a loop: those that stay come alone; some go on to the next round */
	{ALIKE LANE "L: @%p1 bra M; " BARRIER "@%p2 bra L;\nM:", 0},
	{ALIKE LANE "L: " BARRIER "@%p1 bra M; @%p2 bra L;\nM:", 0},
	{ALIKE LANE "L: @%p2 bra M; " BARRIER "@%p1 bra L;\nM:", 0},
	{ALIKE LANE "L: @%p1 bra N; bra M;\nN: bra L;\nM: " BARRIER "@%p2 bra L;", 1}, /* behind it */
	{ALIKE LANE "L: @%p1 bra N; " BARRIER "bra M;\nN: bra L;\nM: @%p2 bra L;", 0},
	{LANE "L: brx.idx %r1, T;\n" BARRIER, 0},
};

int main(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[2048];
		snprintf(text, sizeof text, HEAD ".visible .entry k(.param .u64 p)\n{\n%s%s\nret;\n}\n", REGS, rows[i].body);
		struct ptx_module *m = parse_ok(text);
		if (ptx_parted_gathers(m) == rows[i].together)
			fprintf(stderr, "%s\n", rows[i].body);
		CHECK(ptx_parted_gathers(m) != rows[i].together);
		ptx_free(m);
	}
	struct ptx_module *m = parse_ok(HEAD ".func f()\n{\n" BARRIER "ret;\n}\n"); /* who calls it? */
	CHECK(ptx_parted_gathers(m));
	ptx_free(m);
	return 0;
}
