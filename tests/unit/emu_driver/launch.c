/* Modules and launches: a vector addition, both ways to pass parameters, module variables, libraries, what is refused,
 * and a kernel's fault, which stays with its context. */
#include "check.h"
#include "kernels.h"

#define N 1000u

static void vadd(CUfunction function)
{
	static float host[3][N];
	CUdeviceptr at[3];
	unsigned n = N;
	for (unsigned i = 0; i < N; i++) {
		host[0][i] = (float)i;
		host[1][i] = 0.5f * (float)i;
	}
	for (int k = 0; k < 3; k++) {
		OK(cuMemAlloc(&at[k], sizeof host[k]));
		OK(cuMemcpyHtoD(at[k], host[k], sizeof host[k]));
	}
	void *params[] = {&at[0], &at[1], &at[2], &n};
	OK(cuLaunchKernel(function, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(host[2], at[2], sizeof host[2]));
	for (unsigned i = 0; i < N; i++)
		CHECK(host[2][i] == 1.5f * (float)i);
	for (int k = 0; k < 3; k++)
		OK(cuMemFree(at[k]));
}

static void extra_buffer(CUfunction set)
{
	struct { CUdeviceptr at; unsigned value; } params = {0, 99};
	size_t size = 12;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &params, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	unsigned value;
	OK(cuMemAlloc(&params.at, 4));
	OK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH(&value, params.at, 4));
	CHECK(value == 99);
	OK(cuMemFree(params.at));
}

static void variable(CUmodule module)
{
	CUdeviceptr at;
	size_t size;
	unsigned value;
	OK(cuModuleGetGlobal(&at, &size, module, "variable"));
	OK(cuMemcpyDtoH(&value, at, 4));
	CHECK(size == 4 && value == 7);
	EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&at, &size, module, "none"));
}

static void library(void)
{
	CUlibrary lib;
	CUkernel kernel;
	CUfunction function;
	unsigned count;
	const char *name;
	size_t offset, size;
	OK(cuLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&count, lib));
	CHECK(count == 2);
	OK(cuLibraryGetKernel(&kernel, lib, "vadd"));
	OK(cuKernelGetName(&name, kernel));
	CHECK(!strcmp(name, "vadd"));
	OK(cuKernelGetParamInfo(kernel, 3, &offset, &size));
	CHECK(offset == 24 && size == 4);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(kernel, 4, &offset, &size));
	OK(cuKernelGetFunction(&function, kernel));
	vadd(function);
	vadd((CUfunction)kernel);
	OK(cuLibraryUnload(lib));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, kernel));
}

static void refusals(CUfunction set)
{
	CUmodule module;
	CUdeviceptr at = 0;
	unsigned value = 0;
	void *params[] = {&at, &value};
	EXPECT(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, "\x7f" "ELF with a body"));
	EXPECT(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, "hello"));
	EXPECT(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.visible .entry k( { nonsense"));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(set, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(set, 1, 1, 1, 32, 1, 1, 100000, NULL, params, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(set, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	EXPECT(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
	       cuLaunchCooperativeKernel(set, 100000, 1, 1, 32, 1, 1, 0, NULL, params));
	OK(cuFuncSetAttribute(set, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
}

/* The error's text says what is lacking, and where; the context is as before. */
static void lacking(void)
{
	CUfunction lacks = load(".version 8.7\n.target sm_90\n.address_size 64\n.file 1 \"lacks.py\"\n"
				".visible .entry lacks()\n{\n.loc 1 31 4\ntcgen05.fence::before_thread_sync;\nret;\n}\n", "lacks");
	const char *text;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernel(lacks, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuGetErrorString(CUDA_ERROR_NOT_SUPPORTED, &text));
	CHECK(strstr(text, "operation not supported") && strstr(text, "kernel lacks: tcgen05.fence::before_thread_sync") && strstr(text, "lacks.py:31"));
	OK(cuCtxSynchronize());
}

static void fault(CUfunction set)
{
	CUdeviceptr wild = 0x700000000000ull, a;
	unsigned value = 1;
	void *params[] = {&wild, &value};
	OK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CUresult result = cuCtxSynchronize();
	CHECK(result == CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT(result, cuMemAlloc(&a, 16));
	EXPECT(result, cuCtxSynchronize());
}

int main(void)
{
	CUmodule module;
	CUfunction vadd_function, set;
	start();
	OK(cuModuleLoadData(&module, kernels_ptx));
	OK(cuModuleGetFunction(&vadd_function, module, "vadd"));
	OK(cuModuleGetFunction(&set, module, "set"));
	EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&set, module, "none"));
	vadd(vadd_function);
	extra_buffer(set);
	variable(module);
	library();
	refusals(set);
	lacking();
	fault(set);
	return 0;
}
