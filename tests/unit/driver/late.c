/* A program for gsan-launch: `late racy|correct WHERE LAUNCHES [IMAGE]`. WHERE is
 * VARIABLE, LIBRARY, FLAG, MEMORY, MANAGED, PINNED or REGISTERED. Two CTAs store to one word, of a module variable
 * or of an allocation (racy), or each to its own (correct), after LAUNCHES launches of a kernel that is always correct.
 * FLAG: one stores to the allocation, the other loads it behind a flag in the variable, which is raised relaxed (racy) or released.
 * The module is IMAGE, a file, or PTX given to the driver; LIBRARY: it is loaded as a library. `late ptx` prints that. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASS(name, order) \
	".visible .entry " name "(.param .u64 p, .param .u64 flag)\n{\n" \
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<3>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tld.param.u64 %rd2, [flag];\n\tmov.u32 %r1, %ctaid.x;\n" \
	"\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n" \
	"\tst.u32 [%rd1+8], 7;\n\tst." order ".gpu.u32 [%rd2], 1;\n\tret;\n" \
	"again:\n\tld.acquire.gpu.u32 %r2, [%rd2];\n\tsetp.eq.u32 %p2, %r2, 0;\n\t@%p2 bra again;\n" \
	"\tld.u32 %r2, [%rd1+8];\n\tst.u32 [%rd1+512], %r2;\n\tret;\n}\n"

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
	"\tst.u32 [%rd3+4], %r2;\n\tret;\n}\n"
	PASS("pass_release", "release") PASS("pass_relaxed", "relaxed");

static CUmodule module;
static CUlibrary library;

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "late: %s: error %d\n", what, rc);
	exit(1);
}

/* Memory that hosts use, too; 0: WHERE is another. */
static CUdeviceptr host_memory(const char *where)
{
	static char own[8192];
	CUdeviceptr at = 0;
	void *pinned = NULL;

	if (!strcmp(where, "MANAGED")) {
		must(cuMemAllocManaged(&at, 8192, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
		return at;
	}
	if (!strcmp(where, "PINNED"))
		must(cuMemHostAlloc(&pinned, 8192, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
	if (!strcmp(where, "REGISTERED"))
		must(cuMemHostRegister(pinned = own, 8192, CU_MEMHOSTREGISTER_DEVICEMAP), "cuMemHostRegister");
	if (pinned)
		must(cuMemHostGetDevicePointer(&at, pinned, 0), "cuMemHostGetDevicePointer");
	return at;
}

/* A module lists the kernels of its text, whatever was added to it. */
#define KERNELS 4u
static void listed(unsigned count, const char *const *name)
{
	for (unsigned i = 0; i < KERNELS; i++)
		if (count != KERNELS || !name[i] || strstr(name[i], "__gsan")) {
			fprintf(stderr, "late: %u kernels, the %u-th is %s\n", count, i, name[i] ? name[i] : "none");
			exit(1);
		}
}

static void module_listed(void)
{
	CUfunction f[KERNELS + 4] = {0};
	const char *name[KERNELS] = {0};
	unsigned count;

	must(cuModuleGetFunctionCount(&count, module), "cuModuleGetFunctionCount");
	must(cuModuleEnumerateFunctions(f, KERNELS, module), "cuModuleEnumerateFunctions");
	for (unsigned i = 0; i < KERNELS && f[i]; i++)
		must(cuFuncGetName(&name[i], f[i]), "cuFuncGetName");
	listed(count, name);
	must(cuModuleGetFunction(f, module, "step__gsan") == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "a clone by name");
	must(cuModuleGetGlobal(&(CUdeviceptr){0}, NULL, module, "step__gsan_info") == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN,
	     "what it says of itself");
}

static void library_listed(void)
{
	CUkernel kernel[KERNELS + 4] = {0};
	const char *name[KERNELS] = {0};
	unsigned count;

	must(cuLibraryGetKernelCount(&count, library), "cuLibraryGetKernelCount");
	must(cuLibraryEnumerateKernels(kernel, KERNELS + 4, library), "cuLibraryEnumerateKernels");
	for (unsigned i = 0; i < KERNELS && kernel[i]; i++)
		must(cuKernelGetName(&name[i], kernel[i]), "cuKernelGetName");
	listed(count, name);
	must(cuLibraryGetKernel(kernel, library, "step__gsan") == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "a clone by name");
	must(cuLibraryGetGlobal(&(CUdeviceptr){0}, NULL, library, "step__gsan_info") == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN,
	     "what it says of itself");
}

static void module_get(const char *image, CUfunction *step, CUfunction *both, CUdeviceptr *words)
{
	size_t size;

	if (image)
		must(cuModuleLoad(&module, image), "cuModuleLoad");
	else
		must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(both, module, "both"), "both"); /* not in the order of the text */
	must(cuModuleGetFunction(step, module, "step"), "step");
	must(cuModuleGetGlobal(words, &size, module, "words"), "words");
	module_listed();
}

static void library_get(const char *image, CUfunction *step, CUfunction *both, CUdeviceptr *words)
{
	CUkernel kernel;
	size_t size;

	if (image)
		must(cuLibraryLoadFromFile(&library, image, NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadFromFile");
	else
		must(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadData");
	must(cuLibraryGetKernel(&kernel, library, "step"), "step");
	must(cuKernelGetFunction(step, kernel), "step");
	must(cuLibraryGetKernel(&kernel, library, "both"), "both");
	*both = (CUfunction)kernel; /* launched as it is */
	must(cuLibraryGetGlobal(words, &size, library, "words"), "words");
	library_listed();
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	CUfunction step, both;
	CUdeviceptr at, memory;

	if (argc == 2 && !strcmp(argv[1], "ptx"))
		return puts(ptx) < 0;
	if (argc < 4 || argc > 5) {
		fprintf(stderr, "usage: late racy|correct WHERE LAUNCHES [IMAGE]\n");
		return 2;
	}
	unsigned stride = strcmp(argv[1], "racy") ? 4 : 0;
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	(strcmp(argv[2], "LIBRARY") ? module_get : library_get)(argc == 5 ? argv[4] : NULL, &step, &both, &at);
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	if (!strcmp(argv[2], "MEMORY"))
		at = memory;
	CUdeviceptr other = host_memory(argv[2]);
	at = other ? other : at;
	void *first[] = {&memory}, *second[] = {&at, &stride}, *third[] = {&memory, &at};
	for (int i = 0; i < atoi(argv[3]); i++) {
		must(cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, NULL, first, NULL), "step");
		if (i % 16 == 15)
			must(cuCtxSynchronize(), "cuCtxSynchronize");
	}
	if (!strcmp(argv[2], "FLAG"))
		must(cuModuleGetFunction(&both, module, stride ? "pass_release" : "pass_relaxed"), "pass");
	must(cuLaunchKernel(both, 2, 1, 1, 1, 1, 1, 0, NULL, strcmp(argv[2], "FLAG") ? second : third, NULL), "both");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	if (library)
		must(cuLibraryUnload(library), "cuLibraryUnload");
	else
		must(cuModuleUnload(module), "cuModuleUnload");
	return 0;
}
