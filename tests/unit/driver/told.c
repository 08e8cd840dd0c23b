/* A program for gsan-launch: `told FORM racy|correct`. A kernel stores a payload, then writes to memory of the host; a kernel of
 * another stream loads the payload. FORM says how it writes:
 *   fenced, release, volatile, atomic, red, weak (behind a fence)   the host that reads it has launched the load in the correct program;
 *                                                in the racy one it launched that before
 *   relayed                                      behind a flag of a third kernel, which was launched later and stored it
 *   unfenced (but at .gpu), narrow (.gpu)        which tells a host nothing
 *   shared, local                                not the host's memory at all: a generic address behind a fence
 * Of the latter four an event orders the load in the correct program, and in the racy one the host has read what it may. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#define POLL_US 100000 /* the emulated device goes on while nobody runs */

#define KERNEL(name, how) \
	".visible .entry " name "(.param .u64 p, .param .u64 q)\n{\n" \
	"\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<2>;\n\t.reg .pred %p<2>;\n\t.local .align 4 .b8 mine[4];\n\t.shared .align 4 .b8 ours[4];\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tld.param.u64 %rd2, [q];\n" \
	"\tst.global.u32 [%rd1], 7;\n" how "\tret;\n}\n"
#define FENCE "\tfence.acq_rel.sys;\n"
#define RAISE "\tst.global.u32 [%rd2], 1;\n"
#define OWN(space, name) /* which its text does not say */ \
	FENCE "\tmov.u64 %rd3, " name ";\n\tcvta." space ".u64 %rd3, %rd3;\n" \
	"\tsetp.ne.u64 %p1, %rd2, 0;\n\tselp.b64 %rd3, %rd3, %rd2, %p1;\n\tst.u32 [%rd3], 1;\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	KERNEL("fenced", FENCE "\tst.relaxed.sys.global.u32 [%rd2], 1;\n")
	KERNEL("release", "\tst.release.sys.global.u32 [%rd2], 1;\n")
	KERNEL("volatile", FENCE "\tst.volatile.global.u32 [%rd2], 1;\n")
	KERNEL("atomic", FENCE "\tatom.relaxed.sys.global.add.u32 %r1, [%rd2], 1;\n")
	KERNEL("red", FENCE "\tred.relaxed.sys.global.add.u32 [%rd2], 1;\n")
	KERNEL("weak", FENCE RAISE)
	KERNEL("unfenced", "\tfence.acq_rel.gpu;\n" RAISE)
	KERNEL("narrow", "\tst.release.gpu.global.u32 [%rd2], 1;\n")
	KERNEL("shared", OWN("shared", "ours"))
	KERNEL("local", OWN("local", "mine"))
	/* the host's word, once the kernel that was launched behind it has raised a flag behind the payload */
	KERNEL("relayed", "again:\n\tld.acquire.gpu.global.u32 %r1, [%rd1+2052];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n"
	       FENCE "\tst.relaxed.sys.global.u32 [%rd2], 1;\n")
	KERNEL("raise", "\tst.release.gpu.global.u32 [%rd1+2048], 1;\n") /* behind a payload of its own */
	".visible .entry load(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1+256], %r1;\n\tret;\n}\n";

static const struct form { const char *name; int tells, own; } forms[] = {
	{"fenced", 1, 0}, {"release", 1, 0}, {"volatile", 1, 0}, {"atomic", 1, 0}, {"red", 1, 0}, {"weak", 1, 0},
	{"relayed", 1, 0}, {"unfenced", 0, 0}, {"narrow", 0, 0}, {"shared", 0, 1}, {"local", 0, 1},
};

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "told: %s: error %d\n", what, rc);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct form *form = forms, *end = forms + sizeof(forms) / sizeof(*forms);
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction tell, raise, load;
	CUstream a, b, c;
	CUevent event;
	CUdeviceptr memory, payload, flag;
	volatile unsigned *host;

	while (argc == 3 && form < end && strcmp(form->name, argv[1]))
		form++;
	if (argc != 3 || form == end) {
		fprintf(stderr, "usage: told FORM racy|correct\n");
		return 2;
	}
	int racy = !strcmp(argv[2], "racy"), early = racy && form->tells, relayed = !strcmp(form->name, "relayed");

	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&tell, module, form->name), form->name);
	must(cuModuleGetFunction(&raise, module, "raise"), "raise");
	must(cuModuleGetFunction(&load, module, "load"), "load");
	must(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemsetD32(memory, 0, 1024), "cuMemsetD32");
	must(cuMemHostAlloc((void **)(uintptr_t)&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
	*host = 0;
	must(cuMemHostGetDevicePointer(&flag, (void *)(uintptr_t)host, 0), "cuMemHostGetDevicePointer");
	if (form->own)
		flag = memory + 2048;
	must(cuCtxSynchronize(), "cuCtxSynchronize");

	payload = memory + (relayed ? 4 : 0);
	if (relayed && racy) /* first, lest the host be told before it is launched */
		must(cuLaunchKernel(raise, 1, 1, 1, 1, 1, 1, 0, c, (void *[]){&payload, &flag}, NULL), "raise");
	if (early)
		must(cuLaunchKernel(load, 1, 1, 1, 1, 1, 1, 0, b, (void *[]){&payload}, NULL), "load");
	must(cuLaunchKernel(tell, 1, 1, 1, 1, 1, 1, 0, a, (void *[]){&memory, &flag}, NULL), form->name);
	if (relayed && !racy)
		must(cuLaunchKernel(raise, 1, 1, 1, 1, 1, 1, 0, c, (void *[]){&payload, &flag}, NULL), "raise");
	while (!form->own && !*host)
		usleep(POLL_US);
	if (!racy && !form->tells) {
		must(cuEventRecord(event, a), "cuEventRecord");
		must(cuStreamWaitEvent(b, event, 0), "cuStreamWaitEvent");
	}
	if (!early)
		must(cuLaunchKernel(load, 1, 1, 1, 1, 1, 1, 0, b, (void *[]){&payload}, NULL), "load");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
