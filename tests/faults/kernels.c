/* A program for gsan-launch: `kernels LAUNCHES [STATUS]` starts CUDA, makes a launch for each letter, waits, and exits with STATUS:
 *   c  a kernel that is checked          r  the same by two CTAs, which race
 *   u  one that has no checked copy, for its parameters leave no room for another one
 *   f  the first one, but what it writes to is registered as another device's memory, which is not checked
 *   -  none                             s  none; it waits, and two seconds pass
 *   e  none; it loads machine code      b  none; it loads a fat binary of machine code. Whatever comes of that */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n"
	".visible .entry wide(.param .u64 p, .param .b8 q[4320])\n{\n"
	"\t.reg .b64 %rd<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tst.global.u64 [%rd1], %rd1;\n\tret;\n}\n";

/* As src/fatbin reads it: a header, and an entry with the name of its source. */
static const struct {
	uint32_t magic; uint16_t version, header; uint64_t size;
	uint16_t kind, one; uint32_t head; uint64_t padded; uint32_t packed, options, minor_major, arch, name, name_size; uint64_t flags, none, all;
	char source[8], code[64];
} fat = {0xba55ed50, 1, 16, sizeof fat - 16, 2, 1, 72, 64, 0, 0, 0, 90, 64, 7, 0, 0, 0, "alone.c", "\177ELF"};

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "kernels: %s: error %d\n", what, rc);
	exit(9);
}

int main(int argc, char **argv)
{
	static char filler[4320];
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction store, wide;
	CUdeviceptr memory;
	void *elsewhere = aligned_alloc(4096, 4096);

	if (argc < 2 || argc > 3 || strspn(argv[1], "curf-seb") != strlen(argv[1])) {
		fprintf(stderr, "usage: kernels LAUNCHES [STATUS]\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&store, module, "store"), "store");
	must(cuModuleGetFunction(&wide, module, "wide"), "wide");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemHostRegister(elsewhere, 4096, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY), "cuMemHostRegister");
	for (const char *at = argv[1]; *at; at++) {
		if (*at == 's') {
			must(cuCtxSynchronize(), "cuCtxSynchronize");
			sleep(2);
		}
		if (strchr("eb", *at))
			cuModuleLoadData(&module, *at == 'e' ? (const void *)fat.code : &fat);
		if (strchr("-seb", *at))
			continue;
		void *of_store[] = {*at == 'f' ? (void *)&elsewhere : (void *)&memory}, *of_wide[] = {&memory, filler};
		must(cuLaunchKernel(*at == 'u' ? wide : store, *at == 'r' ? 2 : 1, 1, 1, 1, 1, 1, 0, NULL, *at == 'u' ? of_wide : of_store,
				    NULL), "cuLaunchKernel");
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return argc == 3 ? atoi(argv[2]) : 0;
}
