/* A program for gsan-launch: `e2e_said FORM [racy]`. Block 0 writes and raises a flag, block 1 waits for it and reads, as nvcc compiles that for one
 * thread or for several warps. What the form is without its sentence has to name, by the line that stands with it. */
#include <stdio.h>
#include <string.h>

#include <cuda.h>

#define AT(line) ".loc 1 " #line " 3\n"
/* %rd2: this thread's element; %p1: it is not thread 0. */
#define KERNEL(name, writes, reads) \
	".visible .entry " name "(.param .u64 at)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<8>;\n.reg .pred %p<4>;\n" \
	"ld.param.u64 %rd1, [at];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd2, %rd1, %rd2;\n" \
	"setp.ne.u32 %p1, %r2, 0;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra READS;\n" writes "ret;\nREADS:\n" reads "ret;\n}\n"
/* A pair of kernels: FORM and FORM_racy. */
#define PAIR(name, writes, reads, racy_writes, racy_reads) KERNEL(name, writes, reads) KERNEL(name "_racy", racy_writes, racy_reads)

#define PUT AT(1) "st.global.u32 [%rd2], 7;\n"
#define FENCE(line, scope) AT(line) "fence.acq_rel." scope ";\n"
#define RAISE AT(3) "st.relaxed.gpu.global.u32 [%rd1+4096], 1;\n"
#define WAIT(how) "POLL:\n" AT(11) "ld." how ".global.u32 %r3, [%rd1+4096];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra POLL;\n"
#define GET AT(13) "ld.global.u32 %r4, [%rd2];\nst.global.u32 [%rd2+8192], %r4;\n"
#define BARRIER "bar.sync 0;\n"
#define ONE(what) "@%p1 bra OTHERS;\n" what "OTHERS:\n"
#define ONE_WAITS(what) "@%p1 bra MET;\n" what "MET:\n" BARRIER

/* Each block adds one, under a lock that is taken and given back by exchanges. */
#define TAKE "TAKE:\n" AT(21) "atom.relaxed.gpu.global.exch.b32 %r3, [%rd1+4096], 1;\nsetp.ne.u32 %p3, %r3, 0;\n@%p3 bra TAKE;\nfence.acq_rel.gpu;\n"
#define ADD AT(22) "ld.global.u32 %r4, [%rd1];\nadd.u32 %r4, %r4, 1;\n" AT(23) "st.global.u32 [%rd1], %r4;\n"
#define GIVE AT(25) "atom.relaxed.gpu.global.exch.b32 %r5, [%rd1+4096], 0;\n"
#define GIVE_RELEASE AT(25) "atom.release.gpu.global.exch.b32 %r5, [%rd1+4096], 0;\n"
#define ROUNDS(what) "mov.u32 %r6, 0;\nROUND:\n" what "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, %r6, 4;\n@%p3 bra ROUND;\n"
/* Sixteen items go through two slots. Who writes waits until so many of them are given back, or does not; who reads gives each back. */
#define SLOT(item) "and.b32 %r7, " item ", 1;\nmul.wide.u32 %rd3, %r7, 512;\nadd.u64 %rd3, %rd2, %rd3;\n"
#define ITEMS(label, what) "mov.u32 %r6, 0;\n" label ":\n" what "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, %r6, 16;\n@%p3 bra " label ";\n"
#define CREDIT(most) "CREDIT:\n" AT(31) "ld.acquire.gpu.global.u32 %r3, [%rd1+4100];\nsub.u32 %r4, %r6, %r3;\nsetp.ge.s32 %p3, %r4, " most ";\n@%p3 bra CREDIT;\n"
#define FILL SLOT("%r6") AT(32) "st.global.u32 [%rd3], %r6;\nadd.u32 %r4, %r6, 1;\n"
#define FILLED AT(33) "st.release.gpu.global.u32 [%rd1+4096], %r4;\n"
#define FULL "FULL:\n" AT(41) "ld.acquire.gpu.global.u32 %r3, [%rd1+4096];\nsetp.le.u32 %p3, %r3, %r6;\n@%p3 bra FULL;\n"
#define EMPTY SLOT("%r6") AT(42) "ld.global.u32 %r4, [%rd3];\nst.global.u32 [%rd2+8192], %r4;\nadd.u32 %r4, %r6, 1;\n"
#define EMPTIED AT(43) "st.release.gpu.global.u32 [%rd1+4100], %r4;\n"
#define ONE_OF(label, what) BARRIER "@%p1 bra " label ";\n" what label ":\n"
#define RESET AT(14) "st.relaxed.gpu.global.u32 [%rd1+4096], 0;\n"
#define LOCKED(give) "LOCK:\n" TAKE ADD give

#define POLLS WAIT("relaxed.gpu") FENCE(12, "gpu") GET
#define RAISES PUT FENCE(2, "gpu") RAISE
static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	/* a fence between the data and the flag whose scope is too narrow; on the other side; on both; on the one, and none on the other */
	PAIR("fence_release", RAISES, POLLS, PUT FENCE(2, "cta") RAISE, POLLS)
	PAIR("fence_acquire", RAISES, POLLS, RAISES, WAIT("relaxed.gpu") FENCE(12, "cta") GET)
	PAIR("fence_both", RAISES, POLLS, PUT FENCE(2, "cta") RAISE, WAIT("relaxed.gpu") FENCE(12, "cta") GET)
	PAIR("fence_and_none", RAISES, POLLS, PUT FENCE(2, "cta") RAISE, WAIT("relaxed.gpu") GET)
	/* behind a barrier, for all warps */
	PAIR("fence_of_one", PUT BARRIER ONE(FENCE(2, "gpu") RAISE), ONE_WAITS(WAIT("relaxed.gpu") FENCE(12, "gpu")) GET,
	     PUT BARRIER ONE(FENCE(2, "cta") RAISE), ONE_WAITS(WAIT("relaxed.gpu") FENCE(12, "gpu")) GET)
	/* fences that do not stand between: before the data, past which one may come */
	PAIR("fence_too_early", RAISES, POLLS, FENCE(2, "cta") PUT RAISE, POLLS)
	PAIR("fence_passed", RAISES, POLLS, PUT "setp.eq.u32 %p3, %r1, 9;\n@!%p3 bra PAST;\n" FENCE(2, "cta") "PAST:\n" RAISE, POLLS)
	/* by the letter of PTX alone: the fence of the thread that raises the flag stands before the barrier */
	PAIR("fence_before_barrier", PUT BARRIER ONE(FENCE(2, "gpu") RAISE), ONE_WAITS(WAIT("acquire.gpu")) GET,
	     PUT FENCE(2, "gpu") BARRIER ONE(RAISE), ONE_WAITS(WAIT("acquire.gpu")) GET)
	PAIR("fence_beside_wide", PUT FENCE(2, "gpu") BARRIER ONE(FENCE(4, "gpu") RAISE), ONE_WAITS(WAIT("acquire.gpu")) GET,
	     PUT FENCE(2, "gpu") BARRIER ONE(FENCE(4, "cta") RAISE), ONE_WAITS(WAIT("acquire.gpu")) GET)
	/* no barrier behind the thread that waits */
	PAIR("barrier_of_reader", PUT BARRIER ONE(FENCE(2, "gpu") RAISE), ONE_WAITS(WAIT("relaxed.gpu") FENCE(12, "gpu")) GET,
	     PUT BARRIER ONE(FENCE(2, "gpu") RAISE), "@%p1 bra MET;\n" WAIT("relaxed.gpu") FENCE(12, "gpu") "MET:\n" GET)
	/* the flag itself, of too narrow a scope on both sides */
	PAIR("scope_of_both", PUT "st.release.gpu.global.u32 [%rd1+4096], 1;\n", WAIT("acquire.gpu") GET,
	     PUT AT(3) "st.release.cta.global.u32 [%rd1+4096], 1;\n", WAIT("acquire.cta") GET)
	/* a lock that is given back without a fence, while others try to take it */
	PAIR("lock_exchanged", LOCKED(FENCE(24, "gpu") GIVE), "bra.uni LOCK;\n", LOCKED(GIVE), "bra.uni LOCK;\n")
	/* a lock that is given back before the sum is written, in each round, with a fence behind that; or by a release */
	PAIR("lock_early", "LOCK:\n" ROUNDS(TAKE ADD FENCE(24, "gpu") GIVE), "bra.uni LOCK;\n",
	     "LOCK:\n" ROUNDS(TAKE GIVE ADD FENCE(24, "gpu")), "bra.uni LOCK;\n")
	PAIR("lock_early_release", "LOCK:\n" ROUNDS(TAKE ADD GIVE_RELEASE), "bra.uni LOCK;\n", "LOCK:\n" ROUNDS(TAKE GIVE_RELEASE ADD), "bra.uni LOCK;\n")
	/* the same without a fence, but for the way that a thread of another block takes */
	PAIR("lock_bare", "LOCK:\n" ROUNDS(TAKE ADD FENCE(24, "gpu") GIVE), "bra.uni LOCK;\n", "LOCK:\n" ROUNDS(TAKE ADD GIVE FENCE(24, "gpu")), "bra.uni LOCK;\n")
	/* who reads before its CTA waits */
	PAIR("read_before_wait", PUT BARRIER ONE(FENCE(2, "gpu") RAISE), ONE_WAITS(WAIT("relaxed.gpu") FENCE(12, "gpu")) GET,
	     PUT BARRIER ONE(FENCE(2, "gpu") RAISE), GET ONE_WAITS(WAIT("relaxed.gpu") FENCE(12, "gpu")))
	/* a flag that is as the launch before left it */
	PAIR("flag_left", PUT "st.release.gpu.global.u32 [%rd1+4096], 1;\n", WAIT("acquire.gpu") GET RESET,
	     PUT AT(3) "st.release.gpu.global.u32 [%rd1+4096], 1;\n", WAIT("acquire.gpu") GET)
	/* a ring whose slots are filled again too soon; one that waits for nothing, of all warps */
	PAIR("ring", ITEMS("PUTS", CREDIT("2") FILL FILLED), ITEMS("GETS", FULL EMPTY EMPTIED),
	     ITEMS("PUTS", CREDIT("16") FILL FILLED), ITEMS("GETS", FULL EMPTY EMPTIED))
	PAIR("buffers", ITEMS("PUTS", CREDIT("2") FILL ONE_OF("NEXT", FILLED)), ITEMS("GETS", FULL EMPTY ONE_OF("GOT", EMPTIED)),
	     ITEMS("PUTS", FILL ONE_OF("NEXT", FILLED)), ITEMS("GETS", FULL EMPTY ONE_OF("GOT", EMPTIED)))
	/* one way does not take the lock */
	PAIR("lock_forgotten", LOCKED(FENCE(24, "gpu") GIVE), "bra.uni LOCK;\n", AT(27) "ld.global.u32 %r4, [%rd1];\nadd.u32 %r4, %r4, 1;\n" AT(28) "st.global.u32 [%rd1], %r4;\n",
	     LOCKED(FENCE(24, "gpu") GIVE))
	".file 1 \"said.cu\"\n";

static const struct form { const char *name; unsigned threads, blocks, launches; } forms[] = {
	{"fence_release", 1, 2, 1}, {"fence_acquire", 1, 2, 1}, {"fence_both", 1, 2, 1}, {"fence_and_none", 1, 2, 1}, {"fence_of_one", 128, 2, 1}, {"fence_too_early", 1, 2, 1},
	{"fence_passed", 1, 2, 1}, {"fence_before_barrier", 128, 2, 1}, {"fence_beside_wide", 128, 2, 1}, {"scope_of_both", 1, 2, 1}, {"barrier_of_reader", 128, 2, 1}, {"lock_exchanged", 1, 6, 1},
	{"lock_early", 1, 4, 1}, {"lock_early_release", 1, 4, 1}, {"lock_bare", 1, 4, 1}, {"read_before_wait", 128, 2, 1},
	{"flag_left", 1, 2, 4}, {"ring", 1, 2, 1}, {"buffers", 128, 2, 1}, {"lock_forgotten", 1, 4, 1},
};
enum { FORMS = sizeof(forms) / sizeof(*forms) };

#define TRY(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_) { \
			fprintf(stderr, "%s: %d\n", #call, (int)rc_); \
			return 1; \
		} \
	} while (0)

static int run(const struct form *form, const char *kernel)
{
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr at;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&function, module, kernel));
	TRY(cuMemAlloc(&at, 16384));
	TRY(cuMemsetD8(at, 0, 16384));
	for (unsigned launch = 0; launch < form->launches; launch++)
		TRY(cuLaunchKernel(function, form->blocks, 1, 1, form->threads, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	TRY(cuCtxSynchronize());
	return 0;
}

int main(int argc, char **argv)
{
	const struct form *form = forms;
	char kernel[64];

	while (form < forms + FORMS && (argc < 2 || strcmp(form->name, argv[1])))
		form++;
	snprintf(kernel, sizeof(kernel), "%s%s", form < forms + FORMS ? form->name : "", argc > 2 ? "_racy" : "");
	return form < forms + FORMS ? run(form, kernel) : 2;
}
