/* A program for gsan-launch: `refused FORM racy|correct`. One kernel stores, another one loads that in another stream; between the two
 * there is a call that would order them, or may for all that is known. In the racy program the driver refuses it: it orders nothing.
 *   legacy, checked, grid   a launch into the legacy default stream, which the two streams wait for: of a kernel that is not checked, of one
 *                           that is, and of that with a grid of no such size
 *   set, value, callback    there, too: a set of memory, the write of a value, a function of the host's
 *   signal                  the first stream writes a value where hosts read; in the correct program it awaits that
 *   writer                  a set of memory in a third stream; the second kernel acquires a value that it may have left
 *   beside, beside_set, beside_value   the same by a launch, a set, the write of a value on another GPU of the process
 * In the correct program of the last four an event orders the two. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM 32700
#define PAUSE_US 100000 /* the emulated device goes on while nobody runs */

#define ENTRY(name, params, how) ".visible .entry " name "(" params ")\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n" how "\tret;\n}\n"
#define LOAD "\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1+256], %r1;\n"
static const char ptx[] =
	".version 8.1\n.target sm_90\n.address_size 64\n"
	ENTRY("store", ".param .u64 p", "\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], 7;\n")
	ENTRY("load", ".param .u64 p", "\tld.param.u64 %rd1, [p];\n" LOAD)
	ENTRY("acquire", ".param .u64 p", "\tld.param.u64 %rd1, [p];\n\tld.acquire.gpu.global.u32 %r1, [%rd1+1024];\n" LOAD)
	ENTRY("wide", ".param .align 4 .b8 q[32700]", "");

static CUcontext context[2];
static CUfunction store, load, acquire, wide, store_beside;
static CUstream stream[3], beside;
static CUdeviceptr memory, spare, pinned, spare_beside;
static volatile unsigned *host;
static CUevent event;
static char bytes[ROOM];

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "refused: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

static CUresult launch(CUfunction kernel, unsigned height, unsigned threads, CUstream to, void *argument)
{
	return cuLaunchKernel(kernel, 1, height, 1, threads, 1, 1, 0, to, &argument, NULL);
}

static void CUDA_CB nothing(CUstream to, CUresult status, void *data) { (void)to, (void)status, (void)data; }

/* Each is refused, or not. */
static CUresult legacy(int refused) { return launch(wide, 1, refused ? 2048 : 1, NULL, bytes); }
static CUresult checked(int refused) { return launch(store, 1, refused ? 2048 : 1, NULL, &spare); }
static CUresult grid(int refused) { return launch(store, refused ? 70000 : 1, 1, NULL, &spare); }
static CUresult set(int refused) { return cuMemsetD32Async(spare + (refused ? 1 : 0), 1, 1, NULL); }
static CUresult value(int refused) { return cuStreamWriteValue32(NULL, spare + (refused ? 1 : 0), 1, 0); }
static CUresult callback(int refused) { return cuStreamAddCallback(NULL, nothing, NULL, refused ? 1 : 0); }
static CUresult signal_(int refused) { return cuStreamWriteValue32(stream[0], pinned + (refused ? 1 : 0), 1, 0); }
static CUresult writer(int refused) { return cuMemsetD32Async(spare + (refused ? 1 : 0), 1, 1, stream[2]); }
static CUresult by_launch(int refused) { return launch(store_beside, 1, refused ? 2048 : 1, beside, &spare_beside); }
static CUresult by_set(int refused) { return cuMemsetD32Async(spare_beside + (refused ? 1 : 0), 1, 1, beside); }
static CUresult by_value(int refused) { return cuStreamWriteValue32(beside, spare_beside + (refused ? 1 : 0), 1, 0); }

/* The streams' kind; who loads; where the call is made. */
static const struct form { const char *name; CUresult (*call)(int refused); unsigned flags; CUfunction *second; int gpu; } forms[] = {
	{"legacy", legacy, CU_STREAM_DEFAULT, &load, 0}, {"checked", checked, CU_STREAM_DEFAULT, &load, 0},
	{"grid", grid, CU_STREAM_DEFAULT, &load, 0}, {"set", set, CU_STREAM_DEFAULT, &load, 0},
	{"value", value, CU_STREAM_DEFAULT, &load, 0}, {"callback", callback, CU_STREAM_DEFAULT, &load, 0},
	{"signal", signal_, CU_STREAM_NON_BLOCKING, &load, 0},
	{"writer", writer, CU_STREAM_NON_BLOCKING, &acquire, 0}, {"beside", by_launch, CU_STREAM_NON_BLOCKING, &acquire, 1},
	{"beside_set", by_set, CU_STREAM_NON_BLOCKING, &acquire, 1}, {"beside_value", by_value, CU_STREAM_NON_BLOCKING, &acquire, 1},
};

static void set_up_beside(void)
{
	CUmodule module;

	TRY(cuDevicePrimaryCtxRetain(&context[1], 1));
	TRY(cuCtxSetCurrent(context[1]));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&store_beside, module, "store"));
	TRY(cuMemAlloc(&spare_beside, 4096));
	TRY(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	TRY(cuCtxSetCurrent(context[0]));
}

static void set_up(const struct form *form)
{
	CUmodule module;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context[0], 0));
	TRY(cuCtxSetCurrent(context[0]));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&store, module, "store"));
	TRY(cuModuleGetFunction(&load, module, "load"));
	TRY(cuModuleGetFunction(&acquire, module, "acquire"));
	TRY(cuModuleGetFunction(&wide, module, "wide"));
	TRY(cuMemAlloc(&memory, 8192));
	TRY(cuMemAlloc(&spare, 4096));
	TRY(cuMemsetD32(memory, 0, 2048));
	TRY(cuMemsetD32(memory + 1024, 1, 1));
	TRY(cuMemHostAlloc((void **)(uintptr_t)&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	TRY(cuMemHostGetDevicePointer(&pinned, (void *)(uintptr_t)host, 0));
	*host = 0;
	TRY(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 3; i++)
		TRY(cuStreamCreate(&stream[i], form->flags));
	TRY(cuCtxSynchronize());
	if (form->gpu)
		set_up_beside();
}

int main(int argc, char **argv)
{
	const struct form *form = forms, *end = forms + sizeof(forms) / sizeof(*forms);

	while (argc == 3 && form < end && strcmp(form->name, argv[1]))
		form++;
	if (argc != 3 || form == end) {
		fprintf(stderr, "usage: refused FORM racy|correct\n");
		return 2;
	}
	int racy = !strcmp(argv[2], "racy");
	set_up(form);
	must(launch(store, 1, 1, stream[0], &memory), "store");
	if (!racy && form->second == &acquire) {
		TRY(cuEventRecord(event, stream[0]));
		TRY(cuStreamWaitEvent(stream[1], event, 0));
	}
	TRY(cuCtxSetCurrent(context[form->gpu]));
	CUresult rc = form->call(racy);
	TRY(cuCtxSetCurrent(context[0]));
	if ((rc == CUDA_SUCCESS) == racy) {
		fprintf(stderr, "refused: %s: the driver answers %d\n", form->name, (int)rc);
		return 1;
	}
	do
		usleep(PAUSE_US); /* the store is made, and nobody is told */
	while (!racy && form->call == signal_ && !*host);
	must(launch(*form->second, 1, 1, stream[1], &memory), form->name);
	TRY(cuCtxSynchronize());
	return 0;
}
