/* The kernels of these tests, as PTX text. */
#ifndef GSAN_TESTS_EMU_KERNELS_H
#define GSAN_TESTS_EMU_KERNELS_H

/* vadd(a, b, c, n); set(p, value): one thread stores; variable: a module's own memory; wild(p): stores where told. */
static const char kernels_ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .global .align 4 .u32 variable = 7;\n"
	".visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %d<12>; .reg .f32 %f<4>;\n"
	"  ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u32 %r1, [n];\n"
	"  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"  setp.ge.u32 %p1, %r5, %r1;\n"
	"  @%p1 bra DONE;\n"
	"  mul.wide.u32 %d4, %r5, 4;\n"
	"  add.s64 %d5, %d1, %d4; add.s64 %d6, %d2, %d4; add.s64 %d7, %d3, %d4;\n"
	"  ld.global.f32 %f1, [%d5]; ld.global.f32 %f2, [%d6];\n"
	"  add.f32 %f3, %f1, %f2;\n"
	"  st.global.f32 [%d7], %f3;\n"
	"DONE:\n  ret;\n}\n"
	".visible .entry set(.param .u64 p, .param .u32 value)\n{\n"
	"  .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
	"  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [value];\n"
	"  st.global.u32 [%d1], %r1;\n  ret;\n}\n";

/* The job's kernels.
 * turns(counter, log, mark, n): n times: take a ticket, write the mark there: so log holds the interleaving.
 * relay(flags, mine, n): n rounds of a game for two: rank `mine` waits for the flag to reach 2·i + mine, then adds one.
 * spin(flag): until the flag is not 0. */
static const char job_ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry turns(.param .u64 counter, .param .u64 log, .param .u32 mark, .param .u32 n)\n{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n"
	"  ld.param.u64 %d1, [counter]; ld.param.u64 %d2, [log]; ld.param.u32 %r1, [mark]; ld.param.u32 %r2, [n];\n"
	"  mov.u32 %r3, %ctaid.x; add.s32 %r1, %r1, %r3;\n"
	"LOOP:\n"
	"  atom.add.relaxed.sys.global.u32 %r4, [%d1], 1;\n"
	"  mul.wide.u32 %d3, %r4, 4; add.s64 %d4, %d2, %d3;\n"
	"  st.global.u32 [%d4], %r1;\n"
	"  add.s32 %r2, %r2, -1;\n"
	"  setp.ne.s32 %p1, %r2, 0;\n"
	"  @%p1 bra LOOP;\n"
	"  ret;\n}\n"
	".visible .entry relay(.param .u64 flag, .param .u32 mine, .param .u32 n)\n{\n"
	"  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
	"  ld.param.u64 %d1, [flag]; ld.param.u32 %r1, [mine]; ld.param.u32 %r2, [n];\n"
	"WAIT:\n"
	"  ld.acquire.sys.global.u32 %r3, [%d1];\n"
	"  setp.ne.u32 %p1, %r3, %r1;\n"
	"  @%p1 bra WAIT;\n"
	"  add.s32 %r4, %r1, 1;\n"
	"  st.release.sys.global.u32 [%d1], %r4;\n"
	"  add.s32 %r1, %r1, 2;\n"
	"  add.s32 %r2, %r2, -1;\n"
	"  setp.ne.s32 %p2, %r2, 0;\n"
	"  @%p2 bra WAIT;\n"
	"  ret;\n}\n"
	".visible .entry spin(.param .u64 flag)\n{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
	"  ld.param.u64 %d1, [flag];\n"
	"WAIT:\n"
	"  ld.acquire.sys.global.u32 %r1, [%d1];\n"
	"  setp.eq.u32 %p1, %r1, 0;\n"
	"  @%p1 bra WAIT;\n"
	"  ret;\n}\n";

#endif
