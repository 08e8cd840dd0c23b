/* What programs have in common that say what calls of the driver cost (copies.c, graphs.c). */
#ifndef GSAN_BENCH_CALLS_H
#define GSAN_BENCH_CALLS_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(const char *what, CUresult rc)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, (int)rc);
	exit(1);
}
#define MUST(call) must(#call, call)

static double now(void) /* us */
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* That kernel, in the first GPU's primary context, which is current. */
static CUfunction kernel_of(const char *ptx, const char *name)
{
	CUfunction function;
	CUcontext context;
	CUmodule module;
	CUdevice device;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&device, 0));
	MUST(cuDevicePrimaryCtxRetain(&context, device));
	MUST(cuCtxSetCurrent(context));
	MUST(cuModuleLoadData(&module, ptx));
	MUST(cuModuleGetFunction(&function, module, name));
	return function;
}

#endif
