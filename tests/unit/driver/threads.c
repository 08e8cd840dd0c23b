/* A program for gsan-launch: `threads FORM racy|correct`. One kernel stores, another one loads that in another stream; an event orders them
 * in the correct program. Before, more threads than there are slots have each used their own default stream, and ended.
 *   ended   each at once
 *   used    each uses it once more while it ends, behind libgsan's own look at that */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 80
#define PAUSE_US 100000 /* the emulated device goes on while nobody runs */

#define ENTRY(name, how) ".visible .entry " name "(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n\tld.param.u64 %rd1, [p];\n" how "\tret;\n}\n"
static const char ptx[] =
	".version 8.1\n.target sm_90\n.address_size 64\n"
	ENTRY("store", "\tst.global.u32 [%rd1], 7;\n")
	ENTRY("load", "\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1+256], %r1;\n");

static CUcontext context;
static CUfunction store, load;
static CUdeviceptr memory, elsewhere;
static pthread_key_t late;
static int again;

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "threads: %s: error %d\n", what, rc);
	exit(1);
}

static void launch(CUfunction kernel, CUstream to, CUdeviceptr *where)
{
	void *params[] = {where};
	must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, to, params, NULL), "cuLaunchKernel");
}

static void use_own(void)
{
	launch(store, CU_STREAM_PER_THREAD, &elsewhere);
	must(cuStreamSynchronize(CU_STREAM_PER_THREAD), "cuStreamSynchronize");
}

static void while_it_ends(void *round)
{
	if ((uintptr_t)round == 1) /* once more, behind the other keys */
		pthread_setspecific(late, (void *)2);
	else
		use_own();
}

static void *thread(void *unused)
{
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	use_own();
	if (again)
		pthread_setspecific(late, (void *)1);
	return unused;
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUmodule module;
	CUevent event;
	CUstream stream[2];

	if (argc != 3 || (strcmp(argv[1], "ended") && strcmp(argv[1], "used"))) {
		fprintf(stderr, "usage: threads FORM racy|correct\n");
		return 2;
	}
	again = !strcmp(argv[1], "used");
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&store, module, "store"), "store");
	must(cuModuleGetFunction(&load, module, "load"), "load");
	must(cuMemAlloc(&memory, 8192), "cuMemAlloc");
	must(cuMemsetD32(memory, 0, 2048), "cuMemsetD32");
	must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	elsewhere = memory + 4096;
	pthread_key_create(&late, while_it_ends);
	for (int i = 0; i < THREADS; i++) { /* one after the other: they store to one place */
		pthread_t one;
		if (pthread_create(&one, NULL, thread, NULL) || pthread_join(one, NULL))
			return 1;
	}
	for (int i = 0; i < 2; i++)
		must(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuCtxSynchronize(), "cuCtxSynchronize");

	launch(store, stream[0], &memory);
	if (!strcmp(argv[2], "correct")) {
		must(cuEventRecord(event, stream[0]), "cuEventRecord");
		must(cuStreamWaitEvent(stream[1], event, 0), "cuStreamWaitEvent");
	}
	usleep(PAUSE_US); /* the store is made, and nobody is told */
	launch(load, stream[1], &memory);
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
