/* A program for gsan-launch: `scattered FORM`. A kernel stores a word into each of so many lines that the detail of the tables does not suffice.
 * When the host has waited for the first one there is more. Then one stream runs it again, and another one a kernel that stores into the last lines:
 *   racy       nothing orders the two
 *   correct    the second stream waits for an event behind the first kernel */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES (9u << 15) /* an eighth more than there are blocks of detail */
#define LAST 1024u

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<5>;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
	"\tmad.lo.u32 %r4, %r1, %r2, %r3;\n\tmul.wide.u32 %rd2, %r4, 128;\n\tadd.u64 %rd1, %rd1, %rd2;\n"
	"\tst.global.u32 [%rd1], %r4;\n\tret;\n}\n";

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "scattered: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

static CUfunction store;

static void launch(CUstream stream, CUdeviceptr at, unsigned lines)
{
	TRY(cuLaunchKernel(store, lines / 128, 1, 1, 128, 1, 1, 0, stream, (void *[]){&at}, NULL));
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUstream stream[2];
	CUevent event;
	CUdeviceptr at;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&store, module, "store"));
	TRY(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 2; i++)
		TRY(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
	TRY(cuMemAlloc(&at, LINES * 128ull));
	launch(stream[0], at, LINES);
	TRY(cuCtxSynchronize());
	launch(stream[0], at, LINES);
	TRY(cuEventRecord(event, stream[0]));
	if (argc > 1 && !strcmp(argv[1], "correct"))
		TRY(cuStreamWaitEvent(stream[1], event, 0));
	launch(stream[1], at + (LINES - LAST) * 128ull, LAST);
	TRY(cuCtxSynchronize());
	return 0;
}
