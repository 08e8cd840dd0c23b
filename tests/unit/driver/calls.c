/* A program for gsan-launch: `calls FORM racy|correct`. How kernels end, and what they call. A kernel stores a payload and raises a flag; one
 * of another stream awaits that flag and ends so:
 *   falls      its last instruction is a predicated `ret`, which none of its threads takes
 *   jumps      a branch behind its last instruction
 * and the kernel behind it loads the payload; in the racy program the one before it does. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL(name, body) \
	".visible .entry " name "(.param .u64 p)\n{\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<4>;\n\t.reg .pred %p<2>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n" body "}\n"
#define AWAIT "again:\n\tld.acquire.gpu.global.u32 %r1, [%rd1+128];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	KERNEL("raise", "\tst.global.u32 [%rd1], 7;\n\tst.release.gpu.global.u32 [%rd1+128], 1;\n\tret;\n")
	KERNEL("load", "\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1+256], %r1;\n\tret;\n")
	KERNEL("falls", AWAIT "\t@%p1 ret;\n")
	KERNEL("jumps", AWAIT "\t@!%p1 bra over;\n\tret;\nover:\n");

/* What the host launches: `r`aise, `l`oad or the `f`orm's kernel, and the letter of its stream. */
static const struct form { const char *name, *correct, *racy; } forms[] = {
	{"falls", "rbfala", "rblafa"}, {"jumps", "rbfala", "rblafa"},
};

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "calls: %s: error %d\n", what, (int)rc);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct form *form = forms, *end = forms + sizeof(forms) / sizeof(*forms);
	CUcontext context;
	CUmodule module;
	CUstream stream[2];
	CUdeviceptr memory;

	while (argc == 3 && form < end && strcmp(form->name, argv[1]))
		form++;
	if (argc != 3 || form == end) {
		fprintf(stderr, "usage: calls FORM racy|correct\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	for (int i = 0; i < 2; i++)
		must(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemsetD32(memory, 0, 1024), "cuMemsetD32");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	for (const char *step = strcmp(argv[2], "racy") ? form->correct : form->racy; *step; step += 2) {
		CUfunction kernel;
		const char *name = *step == 'r' ? "raise" : *step == 'l' ? "load" : form->name;

		must(cuModuleGetFunction(&kernel, module, name), name);
		must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream[step[1] - 'a'], (void *[]){&memory}, NULL), name);
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
