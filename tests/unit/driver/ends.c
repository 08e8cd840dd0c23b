/* A program for gsan-launch: `ends FORM` launches a kernel whose two CTAs store to one word, waits for nothing, and ends:
 *   return    from main                            release, reset, destroy   its context first, then by _exit
 *   destroyed its context, by the function that CUDA 3 had for it, as dlsym() finds it; then from main
 *   _exit     some time after the launch           kill                      so, too, by a signal that nobody catches
 *   endless   from main, while the kernel never ends
 *   moved     in a second context, after its first one; it waits, for it frees the memory
 *   alone     as return, but by one CTA: no race       exec_alone   by becoming `ends alone`
 *   exec      by becoming `ends return`, while its own launch may still run; executing does the same as soon as the driver is there */
#include <cuda.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry both(.param .u64 p, .param .u32 more)\n{\n"
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [more];\n\tmov.u32 %r2, %ctaid.x;\n\tsetp.ne.u32 %p1, %r1, 0;\n"
	"again:\n\tst.global.u32 [%rd1], %r2;\n\t@%p1 bra again;\n\tret;\n}\n";

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "ends: %s: error %d\n", what, rc);
	exit(1);
}

static CUdevice device;
static CUcontext context;
static CUdeviceptr memory;

static void by_return(void) {}
static void release(void) { must(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease"); _exit(0); }
static void reset(void) { must(cuDevicePrimaryCtxReset(device), "cuDevicePrimaryCtxReset"); _exit(0); }
static void destroy(void) { must(cuCtxDestroy(context), "cuCtxDestroy"); _exit(0); }
static void destroyed(void)
{
	CUresult (*old)(CUcontext) = (CUresult (*)(CUcontext))dlsym(RTLD_DEFAULT, "cuCtxDestroy");

	must(old ? old(context) : CUDA_ERROR_NOT_FOUND, "cuCtxDestroy of CUDA 3");
}
static void moved(void) { must(cuMemFree(memory), "cuMemFree"); }
static void at_once(void) { usleep(500000); _exit(0); }
static void by_signal(void) { usleep(500000); raise(SIGKILL); }
static void become(void)
{
	execl("/proc/self/exe", "ends", "return", (char *)NULL);
	must(CUDA_ERROR_UNKNOWN, "execl");
}
static void exec_alone(void)
{
	usleep(500000);
	execl("/proc/self/exe", "ends", "alone", (char *)NULL);
	must(CUDA_ERROR_UNKNOWN, "execl");
}
static void by_exec(void) { usleep(500000); become(); }

static const struct { const char *name; void (*end)(void); } forms[] = {
	{"return", by_return}, {"endless", by_return}, {"release", release}, {"reset", reset}, {"destroy", destroy}, {"destroyed", destroyed},
	{"_exit", at_once}, {"kill", by_signal}, {"moved", moved}, {"exec", by_exec}, {"executing", become},
	{"alone", by_return}, {"exec_alone", exec_alone},
};

int main(int argc, char **argv)
{
	CUmodule module;
	CUfunction both;
	size_t form = 0;

	while (argc == 2 && form < sizeof(forms) / sizeof(*forms) && strcmp(forms[form].name, argv[1]))
		form++;
	if (argc != 2 || form == sizeof(forms) / sizeof(*forms)) {
		fprintf(stderr, "usage: ends FORM\n");
		return 2;
	}
	unsigned more = !strcmp(argv[1], "endless");
	must(cuInit(0), "cuInit");
	if (forms[form].end == become)
		become();
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	if (!strcmp(argv[1], "moved")) {
		CUcontext first;
		must(cuCtxCreate(&first, NULL, 0, device), "cuCtxCreate");
		must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
		must(cuCtxDestroy(first), "cuCtxDestroy");
	}
	if (!strncmp(argv[1], "destroy", 7) || !strcmp(argv[1], "moved"))
		must(cuCtxCreate(&context, NULL, 0, device), "cuCtxCreate");
	else
		must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&both, module, "both"), "both");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuLaunchKernel(both, strstr(argv[1], "alone") ? 1 : 2, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&memory, &more}, NULL), "both");
	forms[form].end();
	return 0;
}
