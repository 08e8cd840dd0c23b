/* A program for gsan-launch: `epochs FORM`. All threads of a CTA store and fence; behind a barrier the first of them fences once more and
 * raises a flag, relaxed, by which another CTA reads what they stored. Each fence ends an epoch of the CTA if anything was recorded in
 * it, while other warps are about to make records.
 *   fenced     as said      unfenced   without any of these fences: a race */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 60, THREADS = 128, BYTES = 1 << 20 };

#define KERNEL(name, fence) \
	".visible .entry " name "(.param .u64 p, .param .u32 value)\n{\n" \
	"\t.reg .b64 %rd<5>;\n\t.reg .b32 %r<6>;\n\t.reg .pred %p<4>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tld.param.u32 %r1, [value];\n" \
	"\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %tid.x;\n\tmul.wide.u32 %rd2, %r3, 4;\n\tadd.u64 %rd3, %rd1, %rd2;\n" \
	"\tsetp.ne.u32 %p1, %r2, 0;\n\tsetp.ne.u32 %p2, %r3, 0;\n\t@%p1 bra reader;\n" \
	"\tst.global.u32 [%rd3+4096], %r1;\n" fence "\tbar.sync 0;\n\t@%p2 ret;\n" fence \
	"\tst.relaxed.gpu.global.u32 [%rd1], %r1;\n\tret;\n" \
	"reader:\n\t@%p2 bra come;\n" \
	"poll:\n\tld.relaxed.gpu.global.u32 %r4, [%rd1];\n\tsetp.ne.u32 %p3, %r4, %r1;\n\t@%p3 bra poll;\n\tfence.acq_rel.gpu;\n" \
	"come:\n\tbar.sync 0;\n\tld.global.u32 %r5, [%rd3+4096];\n\tst.global.u32 [%rd3+8192], %r5;\n\tret;\n}\n"
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
	KERNEL("fenced", "\tfence.acq_rel.gpu;\n") KERNEL("unfenced", "");

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "epochs: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUfunction f;
	CUdeviceptr at;
	unsigned got[THREADS];

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&f, module, argc > 1 ? argv[1] : ""));
	TRY(cuMemAlloc(&at, BYTES));
	TRY(cuMemsetD8(at, 0, BYTES));
	for (unsigned value = 1; value <= LAUNCHES; value++)
		TRY(cuLaunchKernel(f, 2, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){&at, &value}, NULL));
	TRY(cuMemcpyDtoH(got, at + 8192, sizeof(got)));
	return !strcmp(argv[1], "fenced") && got[THREADS - 1] != LAUNCHES;
}
