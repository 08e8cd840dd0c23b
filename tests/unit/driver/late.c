/* A program for gsan-launch: `late racy|correct VARIABLE|MEMORY LAUNCHES`. Two CTAs store to one word, of a module variable
 * or of an allocation (racy), or each to its own (correct), after LAUNCHES launches of a kernel that is always correct. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 8 .u32 unused[3];\n.visible .global .align 4 .u32 words[64];\n"
	".visible .entry step(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<3>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tld.global.u32 %r1, [%rd1];\n\tadd.u32 %r1, %r1, 1;\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n"
	".visible .entry both(.param .u64 p, .param .u32 stride)\n{\n"
	"\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<4>;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [stride];\n\tmov.u32 %r2, %ctaid.x;\n"
	"\tmul.lo.u32 %r3, %r1, %r2;\n\tcvt.u64.u32 %rd2, %r3;\n\tadd.u64 %rd3, %rd1, %rd2;\n"
	"\tst.u32 [%rd3+4], %r2;\n\tret;\n}\n";

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "late: %s: error %d\n", what, rc);
	exit(1);
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction step, both;
	CUdeviceptr at, memory;
	size_t size;

	if (argc != 4) {
		fprintf(stderr, "usage: late racy|correct VARIABLE|MEMORY LAUNCHES\n");
		return 2;
	}
	unsigned stride = strcmp(argv[1], "racy") ? 4 : 0;
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&step, module, "step"), "step");
	must(cuModuleGetFunction(&both, module, "both"), "both");
	must(cuModuleGetGlobal(&at, &size, module, "words"), "words");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	if (!strcmp(argv[2], "MEMORY"))
		at = memory;
	void *first[] = {&memory}, *second[] = {&at, &stride};
	for (int i = 0; i < atoi(argv[3]); i++) {
		must(cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, NULL, first, NULL), "step");
		if (i % 16 == 15)
			must(cuCtxSynchronize(), "cuCtxSynchronize");
	}
	must(cuLaunchKernel(both, 2, 1, 1, 1, 1, 1, 0, NULL, second, NULL), "both");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	must(cuModuleUnload(module), "cuModuleUnload");
	return 0;
}
