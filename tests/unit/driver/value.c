/* A program for gsan-launch: `value FORM racy|correct`. A stream stores a payload and then writes a value; another stream
 * loads the payload. FORM says who reads that value in the correct program, and so comes behind the payload:
 *   unrelated   nobody: an event orders the two       polled   a kernel, by ld.acquire
 *   reset       a kernel that awaits a zero           waited   the other stream, by cuStreamWaitValue
 *   pinned      the host, in memory of its own        copied   the host, by copies from the device
 *   narrow      a kernel, by ld.acquire; in the racy program one of .cta, which observes no stream
 *   elapsed     nobody: the host asks how long the first took     pageable   nobody: it copies behind it to memory of its own;
 *               pageable_box, pageable_cube: by cuMemcpy2DAsync and cuMemcpy3DAsync; in the racy program within the device
 *   after       nobody, as in `unrelated`; streams waited for a value and a callback before, and the host for them
 * In the racy program the load does not come behind it. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_US 100000 /* the emulated device goes on while nobody runs */

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tst.global.u32 [%rd1], 7;\n\tret;\n}\n"
	".visible .entry load(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1+256], %r1;\n\tret;\n}\n"
#define AWAIT(name, scope) \
	".visible .entry " name "(.param .u64 flag, .param .u32 value)\n{\n" \
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n" \
	"\tld.param.u64 %rd1, [flag];\n\tld.param.u32 %r1, [value];\n\tcvta.to.global.u64 %rd1, %rd1;\n" \
	"again:\n\tld.acquire." scope ".global.u32 %r2, [%rd1];\n\tsetp.ne.u32 %p1, %r1, %r2;\n\t@%p1 bra again;\n\tret;\n}\n"
	AWAIT("await", "sys") AWAIT("narrow", "cta");

static CUfunction store, load, await, narrow;
static CUstream a, b, c;
static CUdeviceptr memory, flag;
static volatile unsigned *host;

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "value: %s: error %d\n", what, rc);
	exit(1);
}

static void run(CUfunction f, CUstream stream, void **params)
{
	must(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
}

static void CUDA_CB callback(void *data) { (void)data; }
static void read_payload(void) { run(load, b, (void *[]){&memory}); }

static CUevent event;
static void by_event(void) { must(cuStreamWaitEvent(b, event, 0), "cuStreamWaitEvent"); }

static void by_kernel(CUfunction f, unsigned value) { run(f, b, (void *[]){&flag, &value}); }
static void by_one(void) { by_kernel(await, 1); }
static void by_zero(void) { by_kernel(await, 0); }
static void by_narrow(void) { by_kernel(narrow, 1); }
static void by_wait(void) { must(cuStreamWaitValue32(b, flag, 1, CU_STREAM_WAIT_VALUE_EQ), "cuStreamWaitValue32"); }

static void by_host(void)
{
	while (!*host)
		usleep(POLL_US);
}

static CUevent timed;
static void by_elapsed(void)
{
	float milliseconds;
	CUresult rc;

	while ((rc = cuEventElapsedTime(&milliseconds, timed, timed)) == CUDA_ERROR_NOT_READY)
		usleep(POLL_US);
	must(rc, "cuEventElapsedTime");
}

static void by_pageable(void)
{
	unsigned there;

	must(cuMemcpyDtoHAsync(&there, memory + 3072, sizeof(there), a), "cuMemcpyDtoHAsync");
}

static void by_pageable_box(void)
{
	unsigned there;
	CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = memory + 3072, .dstMemoryType = CU_MEMORYTYPE_HOST,
			     .dstHost = &there, .WidthInBytes = sizeof(there), .Height = 1};

	must(cuMemcpy2DAsync(&box, a), "cuMemcpy2DAsync");
}

static void by_pageable_cube(void) /* by a pointer that may be either's */
{
	unsigned there;
	CUDA_MEMCPY3D cube = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = memory + 3072, .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			      .dstDevice = (CUdeviceptr)(uintptr_t)&there, .WidthInBytes = sizeof(there), .Height = 1, .Depth = 1};

	must(cuMemcpy3DAsync(&cube, a), "cuMemcpy3DAsync");
}

static void by_box(void) /* within the device, which nobody waits for */
{
	CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = memory + 3072, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			     .dstDevice = memory + 3584, .WidthInBytes = 4, .Height = 1};

	must(cuMemcpy2DAsync(&box, a), "cuMemcpy2DAsync");
	usleep(300000); /* the device goes on: the store is over, which who believes in a wait would say, too */
}

static void by_copy(void)
{
	unsigned seen = 0;

	usleep(300000); /* the device goes on; many copies would wear out the history */
	while (!seen) {
		must(cuMemcpyDtoHAsync(&seen, flag, 4, c), "cuMemcpyDtoHAsync");
		must(cuStreamSynchronize(c), "cuStreamSynchronize");
	}
}

/* early: the racy program enqueues its load before the value is written, since a host may have read it from then on. instead: what
 * orders nothing in the racy program, whose load comes behind that. */
static const struct form {
	const char *name;
	void (*order)(void);
	unsigned before, after;
	int pinned, early;
	void (*instead)(void);
} forms[] = {
	{"unrelated", by_event, 0, 1, 0, 0, NULL}, {"polled", by_one, 0, 1, 0, 0, NULL}, {"reset", by_zero, 1, 0, 0, 0, NULL},
	{"narrow", by_one, 0, 1, 0, 0, by_narrow}, {"waited", by_wait, 0, 1, 0, 0, NULL}, {"after", by_event, 0, 1, 0, 0, NULL},
	{"elapsed", by_elapsed, 0, 0, 0, 0, NULL}, {"pageable", by_pageable, 0, 0, 0, 0, NULL}, /* no value, which a copy may bring */
	{"pageable_box", by_pageable_box, 0, 0, 0, 0, by_box}, {"pageable_cube", by_pageable_cube, 0, 0, 0, 0, by_box},
	{"pinned", by_host, 0, 1, 1, 1, NULL}, {"copied", by_copy, 0, 1, 0, 1, NULL},
};

static void set_up(const struct form *form)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;

	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&store, module, "store"), "store");
	must(cuModuleGetFunction(&load, module, "load"), "load");
	must(cuModuleGetFunction(&await, module, "await"), "await");
	must(cuModuleGetFunction(&narrow, module, "narrow"), "narrow");
	must(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	must(cuEventCreate(&timed, CU_EVENT_DEFAULT), "cuEventCreate");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemHostAlloc((void **)(uintptr_t)&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
	*host = 0;
	flag = memory + 2048;
	if (form->pinned)
		must(cuMemHostGetDevicePointer(&flag, (void *)(uintptr_t)host, 0), "cuMemHostGetDevicePointer");
	else
		must(cuMemsetD32(flag, form->before, 1), "cuMemsetD32");
	if (!strcmp(form->name, "after")) {
		must(cuStreamWriteValue32(c, memory + 3072, 1, 0), "cuStreamWriteValue32");
		must(cuStreamWaitValue32(b, memory + 3072, 1, CU_STREAM_WAIT_VALUE_EQ), "cuStreamWaitValue32");
		must(cuLaunchHostFunc(a, callback, NULL), "cuLaunchHostFunc");
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
}

int main(int argc, char **argv)
{
	const struct form *form = forms, *end = forms + sizeof(forms) / sizeof(*forms);

	while (argc == 3 && form < end && strcmp(form->name, argv[1]))
		form++;
	if (argc != 3 || form == end) {
		fprintf(stderr, "usage: value FORM racy|correct\n");
		return 2;
	}
	int racy = !strcmp(argv[2], "racy");
	set_up(form);
	run(store, a, (void *[]){&memory});
	must(cuEventRecord(event, a), "cuEventRecord");
	must(cuEventRecord(timed, a), "cuEventRecord");
	if (racy && form->early)
		read_payload();
	if (form->after != form->before)
		must(cuStreamWriteValue32(a, flag, form->after, 0), "cuStreamWriteValue32");
	if (racy && !form->early && !form->instead)
		read_payload();
	(racy && form->instead ? form->instead : form->order)();
	if (!racy || form->instead)
		read_payload();
	must(cuStreamWriteValue32(a, memory + 3072, 1, 0), "cuStreamWriteValue32"); /* which nobody reads */
	must(cuStreamWriteValue32(b, memory + 3072, 1, 0), "cuStreamWriteValue32");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
