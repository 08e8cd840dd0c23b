/* A program for gsan-launch, on the emulated device: a kernel with an instruction that it does not execute; in the form "lines", with its place
 * in a source. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

static const char form[] = /* .loc, .file */
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry lacking(.param .u64 p)\n{\n\t.reg .b64 %%rd<2>;\n\t.reg .b32 %%r<3>;\n"
	"\tld.param.u64 %%rd1, [p];\n\tmov.u32 %%r1, %%tid.x;\n%s\tvabsdiff4.u32.u32.u32 %%r2, %%r1, %%r1, %%r1;\n"
	"\tst.global.u32 [%%rd1], %%r2;\n\tret;\n}\n%s";

int main(int argc, char **argv)
{
	int lines = argc > 1 && !strcmp(argv[1], "lines");
	char ptx[1024];
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr at;

	snprintf(ptx, sizeof ptx, form, lines ? "\t.loc 1 7 3\n" : "", lines ? ".file 1 \"/src/differences.cu\"\n" : "");
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, ptx) ||
	    cuModuleGetFunction(&kernel, module, "lacking") || cuMemAlloc(&at, 512))
		return 1;
	return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&at}, NULL) == CUDA_ERROR_NOT_SUPPORTED ? 0 : 2;
}
