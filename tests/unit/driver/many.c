/* A program for gsan-launch: `many FORM racy|correct`. One kernel stores, another one loads that in another stream; and around them there
 * are launches of a kernel that is not checked, for its parameters leave no room, and so may order anything.
 *   refused  the driver refuses one between the two, in the racy program; an event orders them in the correct one
 *   before   more than there are records for; one more behind the load, for which those before are over;
 *            in the correct program it is between the two, so that nothing may be said of them
 *   behind   as many behind the two; an event orders them in the correct program */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 70000u
#define ROOM 32700
#define PAUSE_US 500000 /* the emulated device goes on while nobody runs */

#define ENTRY(name, params, how) ".visible .entry " name "(" params ")\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n" how "\tret;\n}\n"
static const char ptx[] =
	".version 8.1\n.target sm_90\n.address_size 64\n"
	ENTRY("store", ".param .u64 p", "\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], 7;\n")
	ENTRY("load", ".param .u64 p", "\tld.param.u64 %rd1, [p];\n\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1+256], %r1;\n")
	ENTRY("wide", ".param .align 4 .b8 q[32700]", "");

static CUfunction store, load, wide;
static CUstream stream[2];
static char bytes[ROOM];

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "many: %s: error %d\n", what, rc);
	exit(1);
}

static CUresult launch(CUfunction kernel, unsigned threads, CUstream to, void *argument)
{
	return cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, to, &argument, NULL);
}

static void launch_many(CUdeviceptr elsewhere)
{
	for (unsigned i = 0; i < MANY; i++) {
		must(launch(wide, 1, stream[0], bytes), "wide");
		if (i % 8 == 0) /* which touches what nobody else does, and keeps their records apart */
			must(launch(store, 1, stream[0], &elsewhere), "store elsewhere");
		if (i % 256 == 255)
			must(cuCtxSynchronize(), "cuCtxSynchronize");
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
}

int main(int argc, char **argv)
{
	static const char *const forms[] = {"refused", "before", "behind"};
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUevent event;
	CUdeviceptr memory;
	unsigned form = 0;

	while (argc == 3 && form < 3 && strcmp(forms[form], argv[1]))
		form++;
	if (argc != 3 || form == 3) {
		fprintf(stderr, "usage: many FORM racy|correct\n");
		return 2;
	}
	int racy = !strcmp(argv[2], "racy");
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&store, module, "store"), "store");
	must(cuModuleGetFunction(&load, module, "load"), "load");
	must(cuModuleGetFunction(&wide, module, "wide"), "wide");
	must(cuMemAlloc(&memory, 8192), "cuMemAlloc");
	must(cuMemsetD32(memory, 0, 2048), "cuMemsetD32");
	must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	for (int i = 0; i < 2; i++)
		must(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuCtxSynchronize(), "cuCtxSynchronize");

	if (form == 1)
		launch_many(memory + 4096);
	must(launch(store, 1, stream[0], &memory), "store");
	if (form == 0 && racy && launch(wide, 2048, stream[0], bytes) == CUDA_SUCCESS) {
		fprintf(stderr, "many: 2048 threads were not refused\n");
		return 1;
	}
	if (form == 1 && !racy) {
		must(launch(wide, 1, stream[0], bytes), "wide");
	} else if (!racy) {
		must(cuEventRecord(event, stream[0]), "cuEventRecord");
		must(cuStreamWaitEvent(stream[1], event, 0), "cuStreamWaitEvent");
	}
	usleep(PAUSE_US); /* the store is made, and nobody is told */
	must(launch(load, 1, stream[1], &memory), "load");
	if (form == 1 && racy) /* begins when those before are over */
		must(launch(wide, 1, stream[1], bytes), "wide");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	if (form == 2)
		launch_many(memory + 4096);
	return 0;
}
