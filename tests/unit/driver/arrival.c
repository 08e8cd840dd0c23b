/* A program for gsan-launch: `arrival FORM`. A thread copies a word asynchronously, lets its copy arrive at an mbarrier and works on.
 * Another warp waits there and raises a flag, by which another CTA writes the word.
 *   copied     as said      relaxed   the flag is raised relaxed: a race */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 20, BYTES = 1024 };

#define FOUR(text) text text text text
#define WORK FOUR(FOUR(FOUR(FOUR("\tmad.lo.u32 %r3, %r3, %r3, %r3;\n"))))
#define KERNEL(name, semantics) \
	".visible .entry " name "(.param .u64 p)\n{\n" \
	"\t.shared .align 8 .b64 bar;\n\t.shared .align 16 .b32 to[4];\n" \
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<7>;\n\t.reg .pred %p<4>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n" \
	"\tmov.u32 %r3, %r2;\n\tmov.u32 %r4, bar;\n\tmov.u32 %r5, to;\n" \
	"\tsetp.ne.u32 %p1, %r1, 0;\n\tsetp.ne.u32 %p2, %r2, 0;\n\tsetp.ne.u32 %p3, %r2, 32;\n\t@%p1 bra other;\n" \
	"\t@%p2 bra made;\n\tmbarrier.init.shared.b64 [%r4], 1;\nmade:\n\tbar.sync 0;\n\t@!%p3 bra wait;\n\t@%p2 ret;\n" \
	"\tcp.async.ca.shared.global [%r5], [%rd1], 4;\n\tcp.async.mbarrier.arrive.noinc.shared.b64 [%r4];\n" \
	WORK "\tst.global.u32 [%rd1+512], %r3;\n\tret;\n" \
	"wait:\n\tmbarrier.test_wait.parity.shared.b64 %p1, [%r4], 0;\n\t@!%p1 bra wait;\n" \
	"\tst." semantics ".gpu.global.u32 [%rd1+256], 1;\n\tret;\n" \
	"other:\n\t@%p2 ret;\n" \
	"poll:\n\tld.acquire.gpu.global.u32 %r6, [%rd1+256];\n\tsetp.ne.u32 %p1, %r6, 1;\n\t@%p1 bra poll;\n" \
	"\tst.global.u32 [%rd1], 7;\n\tret;\n}\n"
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n" KERNEL("copied", "release") KERNEL("relaxed", "relaxed");

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "arrival: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUfunction f;
	CUdeviceptr at;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&f, module, argc > 1 ? argv[1] : ""));
	TRY(cuMemAlloc(&at, BYTES));
	for (int i = 0; i < LAUNCHES; i++) {
		TRY(cuMemsetD8(at, 0, BYTES));
		TRY(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&at}, NULL));
		TRY(cuCtxSynchronize());
	}
	return 0;
}
