/* What the tests of the emulated driver share: checks that name their line, and a context on device 0. */
#ifndef GSAN_TESTS_EMU_CHECK_H
#define GSAN_TESTS_EMU_CHECK_H

#include "../check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#define EXPECT(result, call) \
	do { \
		CUresult got_ = (call); \
		if (got_ != (result)) { \
			fprintf(stderr, "%s:%d: %s: %d, not %d\n", __FILE__, __LINE__, #call, (int)got_, (int)(result)); \
			exit(1); \
		} \
	} while (0)
#define OK(call) EXPECT(CUDA_SUCCESS, call)

static inline CUcontext start(void)
{
	CUcontext context;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	return context;
}

static inline CUfunction load(const char *ptx, const char *name)
{
	CUmodule module;
	CUfunction function;
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&function, module, name));
	return function;
}

#endif
