/* PTX kernels of the executor's tests. Every kernel has one pointer parameter, `out`. */
#ifndef TESTS_EMU_EXEC_KERNELS_H
#define TESTS_EMU_EXEC_KERNELS_H

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY(name) ".visible .entry " name "(.param .u64 out)\n{\n" \
	".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<32>;\n.reg .b64 %d<16>;\n" \
	"ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d1, %d0, %d1;\n"
#define END "ret;\n}\n"

/* Odd lanes go round a loop tid times, even ones not; both then add 1000. */
#define DIVERGE ENTRY("diverge") \
	"and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n@%p0 bra JOIN;\n" \
	"LOOP:\nadd.u32 %r2, %r2, %r3;\nadd.u32 %r3, %r3, 1;\nsetp.le.u32 %p1, %r3, %r0;\n@%p1 bra LOOP;\n" \
	"JOIN:\nadd.u32 %r2, %r2, 1000;\nactivemask.b32 %r4;\nst.global.u32 [%d1], %r2;\nst.global.u32 [%d1+128], %r4;\n" END

/* fib by recursion, and two levels of calls; the address-taken function is called indirectly. */
#define CALLS \
	".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %a<2>;\nld.param.b32 %a0, [x];\nadd.u32 %a1, %a0, %a0;\nst.param.b32 [r], %a1;\nret;\n}\n" \
	".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .b32 %a<6>;\n.reg .pred %q;\n" \
	"ld.param.b32 %a0, [n];\nsetp.lt.u32 %q, %a0, 2;\n@%q bra SMALL;\nsub.u32 %a1, %a0, 1;\nsub.u32 %a2, %a0, 2;\n" \
	"{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0], %a1;\ncall.uni (q0), fib, (p0);\nld.param.b32 %a3, [q0];\n}\n" \
	"{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0], %a2;\ncall.uni (q0), fib, (p0);\nld.param.b32 %a4, [q0];\n}\n" \
	"add.u32 %a0, %a3, %a4;\nSMALL:\nst.param.b32 [r], %a0;\nret;\n}\n" \
	ENTRY("calls") \
	"and.b32 %r1, %r0, 7;\n{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0], %r1;\ncall.uni (q0), fib, (p0);\nld.param.b32 %r2, [q0];\n}\n" \
	"mov.u64 %d2, twice;\n{\n.param .b32 p0;\n.param .b32 q0;\nst.param.b32 [p0], %r2;\n" \
	"PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (q0), %d2, (p0), PROTO;\nld.param.b32 %r3, [q0];\n}\n" \
	"st.global.u32 [%d1], %r3;\n" END

/* Every thread takes one spin lock and adds to a plain counter: lanes of a warp, warps, CTAs. */
#define LOCK ".global .u32 lock;\n.global .u32 counter;\n" ENTRY("lock_add") \
	"SPIN:\natom.global.acquire.gpu.cas.b32 %r1, [lock], 0, 1;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra SPIN;\n" \
	"ld.global.u32 %r2, [counter];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [counter], %r2;\n" \
	"atom.global.release.gpu.exch.b32 %r1, [lock], 0;\n" END

/* 40 of 48 threads meet at barriers after the others left; sums of shared memory. */
#define BARRIER ENTRY("barrier") \
	".shared .align 4 .b8 cells[192];\nsetp.ge.u32 %p0, %r0, 40;\n@%p0 exit;\nmov.u32 %r1, cells;\nshl.b32 %r2, %r0, 2;\n" \
	"add.u32 %r2, %r1, %r2;\nst.shared.u32 [%r2], %r0;\nbar.sync 0;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\n" \
	"SUM:\nld.shared.u32 %r5, [%r1];\nadd.u32 %r3, %r3, %r5;\nadd.u32 %r1, %r1, 4;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 40;\n@%p1 bra SUM;\n" \
	"setp.lt.u32 %p2, %r0, 10;\nbar.red.popc.u32 %r6, 1, %p2;\nst.global.u32 [%d1], %r3;\nst.global.u32 [%d1+192], %r6;\n" END

/* Three warps store, each later than the one before, arrive and end; the first waits for them and adds up. */
#define ARRIVES ENTRY("arrives") \
	".shared .align 4 .b8 posts[512];\nmov.u32 %r1, posts;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r1, %r1, %r2;\nsetp.lt.u32 %p0, %r0, 32;\n" \
	"@%p0 bra WAIT;\nshl.b32 %r3, %r0, 4;\nLATE:\nadd.u32 %r3, %r3, -1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra LATE;\n" \
	"st.shared.u32 [%r1], %r0;\nbar.arrive 1, 128;\nret;\n" \
	"WAIT:\nbar.sync 1, 128;\nld.shared.u32 %r4, [%r1+128];\nld.shared.u32 %r5, [%r1+256];\nld.shared.u32 %r6, [%r1+384];\n" \
	"add.u32 %r4, %r4, %r5;\nadd.u32 %r4, %r4, %r6;\nst.global.u32 [%d1], %r4;\n" END

/* Constants, local memory, parameters by generic address, address tables, address windows. */
#define SPACES ".const .align 4 .b32 table[4] = {10, 20, 30, 40};\n.global .align 4 .b32 word = 77;\n" \
	".global .align 8 .u64 pointer = generic(word);\n" ENTRY("spaces") \
	".local .align 8 .b8 depot[16];\nmov.u64 %d2, depot;\ncvta.local.u64 %d3, %d2;\nst.local.u32 [%d2+4], %r0;\nld.u32 %r1, [%d3+4];\n" \
	"ld.const.u32 %r2, [table+8];\nld.global.u64 %d4, [pointer];\nld.u32 %r3, [%d4];\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\n" \
	"mov.b64 %d5, out;\ncvta.param.u64 %d5, %d5;\nld.u64 %d6, [%d5];\nsetp.eq.u64 %p0, %d6, %d0;\n@!%p0 mov.u32 %r1, 0;\n" \
	"isspacep.local %p1, %d3;\nselp.u32 %r4, 1, 0, %p1;\nisspacep.global %p2, %d0;\nselp.u32 %r5, 2, 0, %p2;\nor.b32 %r4, %r4, %r5;\n" \
	"st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+128], %r4;\n" END

#define CONSTANT ENTRY("constant") "mov.u32 %r1, WARP_SZ;\nadd.u32 %r1, %r1, WARP_SZ;\nadd.u32 %r1, %r1, %r0;\nst.global.u32 [%d1], %r1;\n" END

/* As PTX 1.x has it, whose special registers had 16 bits. */
#define NARROW ENTRY("narrow") "cvt.u32.u16 %r1, %tid.x;\ncvt.u32.u16 %r2, %ntid.x;\nadd.u32 %r1, %r1, %r2;\nst.global.u32 [%d1], %r1;\n" END

#define ATOMICS ".global .u32 most;\n.global .f32 sum;\n.global .u32 ring;\n" ENTRY("atomics") \
	"atom.global.max.u32 %r1, [most], %r0;\nred.global.add.f32 [sum], 0f3F800000;\natom.global.inc.u32 %r2, [ring], 4;\n" \
	"atom.global.add.u32 %r3, [%d0+256], 3;\n" END

#define SHUFFLES ENTRY("shuffles") \
	"shfl.sync.bfly.b32 %r1|%p0, %r0, 1, 31, -1;\nshfl.sync.up.b32 %r2|%p1, %r0, 1, 0, -1;\nand.b32 %r3, %r0, 1;\n" \
	"setp.eq.u32 %p2, %r3, 0;\nvote.sync.ballot.b32 %r4, %p2, -1;\nselp.u32 %r5, 1, 0, %p1;\nredux.sync.add.u32 %r6, %r0, -1;\n" \
	"match.any.sync.b32 %r7, %r3, -1;\nelect.sync %r9|%p3, -1;\nselp.u32 %r8, 1, 0, %p3;\n" \
	"st.global.u32 [%d1], %r1;\nst.global.u32 [%d1+128], %r2;\nst.global.u32 [%d1+256], %r4;\nst.global.u32 [%d1+384], %r5;\n" \
	"st.global.u32 [%d1+512], %r6;\nst.global.u32 [%d1+640], %r7;\nst.global.u32 [%d1+768], %r8;\n" END

#define VECTORS ENTRY("vectors") \
	"st.global.v4.u8 [%d0], {%h0, %h0, %h0, %h0};\nmov.u32 %r1, 0x04030281;\nst.global.u32 [%d0], %r1;\n" \
	"ld.global.v4.s8 {%h1, %h2, %h3, %h4}, [%d0];\ncvt.s32.s16 %r2, %h1;\nld.global.v2.u16 {%h5, _}, [%d0];\n" \
	"cvt.u32.u16 %r3, %h5;\nld.global.s8 %r4, [%d0];\nmov.b32 {%h6, %h7}, %r1;\nmov.b32 %r5, {%h7, %h6};\n" \
	"st.global.v4.b32 [%d0+16], {%r2, %r3, %r4, %r5};\n" END

/* Which thread came in which place: the interleaving itself. */
#define ORDER ".global .u32 ticket;\n" ENTRY("order") \
	"mov.u32 %r1, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.u32 %r1, %r1, %r4, %r0;\natom.global.add.u32 %r2, [ticket], 1;\n" \
	"mul.wide.u32 %d2, %r2, 4;\nadd.s64 %d2, %d0, %d2;\nst.global.u32 [%d2], %r1;\n" END

#define WILD ENTRY("wild") "setp.ne.u32 %p0, %r0, 5;\nmov.u64 %d2, 24;\n@!%p0 st.global.u32 [%d2], %r0;\n" END
#define SKEWED ENTRY("skewed") "ld.global.u32 %r1, [%d1+2];\n" END
#define STUCK ENTRY("stuck") "setp.eq.u32 %p0, %r0, 0;\n@%p0 bar.sync 1, 64;\n@!%p0 bar.sync 2, 64;\n" END
#define LACKING ".file 2 \"dir/lacks.py\"\n" ENTRY("lacking") ".loc 2 31 4\ntcgen05.fence::before_thread_sync;\n" END
#define LACKING_BELOW ".file 3 \"lib/deep.h\"\n" ENTRY("_Z5belowPj__copy") ".loc 2 40 4\n.loc 2 8 1, function_name $L, inlined_at 2 40 4\n" \
	".loc 3 115 9, function_name $L, inlined_at 2 8 1\ntcgen05.fence::before_thread_sync;\n" END
#define TRAP ENTRY("traps") "trap;\n" END

/* vprintf of values that lie in local memory, stored by 32-bit addresses, and an assertion; the texts `format` and `text` are the test's. */
#define SYSTEM_FUNCTIONS \
	".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n" \
	".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
#define SYSTEM ENTRY("prints") \
	".local .align 8 .b8 depot[64];\nmov.u64 %d2, depot;\ncvt.u32.u64 %r1, %d2;\ncvta.local.u64 %d2, %d2;\n" \
	"add.s32 %r2, %r0, -3;\nst.local.u32 [%r1], %r2;\nmov.f64 %d3, 0d3FF8000000000000;\nst.local.f64 [%r1+8], %d3;\n" \
	"mov.u64 %d4, 123456789012;\nst.local.u64 [%r1+16], %d4;\nmov.u64 %d5, text;\nst.local.u64 [%r1+24], %d5;\n" \
	"mov.u32 %r3, 99;\nst.local.u32 [%r1+32], %r3;\nmov.u32 %r4, 0xffffff00;\nst.local.u32 [%r1+36], %r4;\nmov.u32 %r5, 5;\n" \
	"st.local.v2.u32 [%r1+40], {%r5, %r3};\nst.local.u32 [%r1+48], %r4;\nmov.u64 %d6, format;\n" \
	"{\n.param .b64 f;\n.param .b64 v;\n.param .b32 r;\nst.param.b64 [f], %d6;\nst.param.b64 [v], %d2;\n" \
	"call.uni (r), vprintf, (f, v);\nld.param.b32 %r6, [r];\n}\nst.global.u32 [%d1], %r6;\n" END \
	ENTRY("asserts") ".reg .b64 %t;\nmov.u64 %t, text;\n" \
	"{\n.param .b64 m;\n.param .b64 f;\n.param .b32 l;\n.param .b64 n;\n.param .b64 s;\nst.param.b64 [m], %t;\nst.param.b64 [f], %t;\n" \
	"st.param.b32 [l], 12;\nst.param.b64 [n], %t;\nst.param.b64 [s], 1;\ncall.uni __assertfail, (m, f, l, n, s);\n}\n" END

/* Groups of match.any side by side, each lane with its own mask; then lanes that meet as a pair before they come to the others;
 * then lanes at copies of one instruction, after some have exited. */
#define MASKS ENTRY("masks") \
	"rem.u32 %r1, %r0, 3;\nmatch.any.sync.b32 %r2, %r1, -1;\nshfl.sync.idx.b32 %r3, %r0, %r1, 31, %r2;\n" \
	"vote.sync.ballot.b32 %r4, %p0, %r2;\nbar.warp.sync %r2;\nsetp.lt.u32 %p1, %r0, 2;\n@%p1 bar.warp.sync 3;\nbar.warp.sync -1;\n" \
	"setp.ge.u32 %p2, %r0, 24;\n@%p2 exit;\nsetp.lt.u32 %p3, %r0, 12;\n@%p3 bra COPY;\nshfl.sync.bfly.b32 %r5, %r0, 12, 31, -1;\nbra JOIN;\n" \
	"COPY:\nshfl.sync.bfly.b32 %r5, %r0, 12, 31, -1;\nJOIN:\nredux.sync.max.u32 %r6, %r0, -1;\n" \
	"st.global.u32 [%d1], %r2;\nst.global.u32 [%d1+128], %r3;\nst.global.u32 [%d1+256], %r5;\nst.global.u32 [%d1+384], %r6;\n" END
#define EVEN "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 0;\n"
#define FILE_LINE ".file 1 \"masks.cu\"\n"
#define NOT_SELF ENTRY("not_self") ".loc 1 7 0\nvote.sync.ballot.b32 %r1, %p0, 0x0000fffe;\n" END
#define OTHER_INSTRUCTION ENTRY("other_instruction") EVEN "@%p0 bar.warp.sync -1;\n@!%p0 vote.sync.ballot.b32 %r2, %p0, -1;\n" END
#define OTHER_MASK ENTRY("other_mask") EVEN "mov.u32 %r2, -1;\n@%p0 mov.u32 %r2, 0x7fffffff;\nmatch.any.sync.b32 %r3, %r1, %r2;\n" END
#define AT_BARRIER ENTRY("at_barrier") EVEN "@%p0 bar.sync 0;\nbar.warp.sync -1;\n" END
#define REDUX_MASKS ENTRY("redux_masks") EVEN "match.any.sync.b32 %r2, %r1, -1;\nredux.sync.or.b32 %r3, %r0, %r2;\n" END
/* One warp's lanes wait wrongly; the other's would spin for ever on what they would do. */
#define SPINNER ".global .u32 never;\n" ENTRY("spinner") \
	"setp.ge.u32 %p1, %r0, 32;\n@%p1 bra SPIN;\n" EVEN "@%p0 bar.warp.sync -1;\n@!%p0 vote.sync.ballot.b32 %r2, %p0, -1;\n" \
	"st.global.u32 [never], 1;\nret;\nSPIN:\nld.volatile.global.u32 %r3, [never];\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra SPIN;\n" END

/* A lane calls what a checker inserts as often as its number says, then, with all others, 200 times: some hundred instructions of
 * those who come together. */
#define STRIDES \
	".func checks(.param .b32 x)\n{\n.reg .b32 %a<6>;\n.reg .pred %q<3>;\nld.param.b32 %a0, [x];\nactivemask.b32 %a1;\nmov.u32 %a2, 0;\n" \
	"ROUND:\nadd.u32 %a2, %a2, 1;\nand.b32 %a3, %a0, 1;\nsetp.eq.u32 %q1, %a3, 0;\n@%q1 bra SKIP;\nxor.b32 %a0, %a0, %a2;\nadd.u32 %a0, %a0, 3;\n" \
	"SKIP:\nshr.u32 %a0, %a0, 1;\nsetp.lt.u32 %q0, %a2, 40;\n@%q0 bra ROUND;\nbar.warp.sync %a1;\nret;\n}\n" \
	ENTRY("strides") "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n" \
	"FIRST:\nsetp.ge.u32 %p0, %r2, %r0;\n@%p0 bra NEXT;\n{\n.param .b32 p0;\nst.param.b32 [p0], %r2;\ncall.uni checks, (p0);\n}\n" \
	"add.u32 %r2, %r2, 1;\nbra FIRST;\n" \
	"NEXT:\n{\n.param .b32 p0;\nst.param.b32 [p0], %r1;\ncall.uni checks, (p0);\n}\nadd.u32 %r1, %r1, 1;\n" \
	"setp.lt.u32 %p1, %r1, 200;\n@%p1 bra NEXT;\nst.global.u32 [%d1], %r2;\n" END

/* Lane 5 spins, without a pause, until lane 9 has told it; lane 9 has 3,000 instructions to do first. */
#define LANES_WAIT ".global .u32 told;\n" ENTRY("lanes_wait") \
	"mov.u32 %r1, 0;\nsetp.eq.u32 %p0, %r0, 5;\n@!%p0 bra WORK;\n" \
	"SPIN:\nld.relaxed.gpu.global.u32 %r2, [told];\nadd.u32 %r1, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra SPIN;\nbra DONE;\n" \
	"WORK:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 1000;\n@%p2 bra WORK;\nsetp.eq.u32 %p3, %r0, 9;\n@%p3 st.relaxed.gpu.global.u32 [told], 1;\n" \
	"DONE:\nst.global.u32 [%d1], 1;\n" END

/* Even lanes write first what odd ones read first: all four outcomes need lanes that part. */
#define APART ".global .u32 a;\n.global .u32 b;\n" ENTRY("apart") \
	"setp.ne.u32 %p0, %r0, 0;\n@%p0 bra ODD;\nst.relaxed.gpu.global.u32 [a], 1;\nmov.u32 %r3, %r0;\nld.relaxed.gpu.global.u32 %r1, [b];\nbra BOTH;\n" \
	"ODD:\nst.relaxed.gpu.global.u32 [b], 1;\nmov.u32 %r3, %r0;\nld.relaxed.gpu.global.u32 %r1, [a];\nBOTH:\nst.global.u32 [%d1], %r1;\n" END

#endif
