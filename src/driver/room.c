#include "driver/room.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cuda/own.h"
#include "cuda/real.h"
#include "device/abi.h"

/* Which words of the array it writes cannot be known, so all of it is there. The driver itself compiles so short a text. */
static const char room_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry " GSAN_ROOM_KERNEL "()\n{\n"
	"\t.local .align 4 .b8 room[%d];\n\t.reg .b32 %%r<3>;\n"
	"\tmov.u32 %%r1, room;\n\tmov.u32 %%r2, %%tid.x;\n\tadd.u32 %%r1, %%r1, %%r2;\n\tst.local.u32 [%%r1], %%r2;\n\tret;\n}\n";

static CUresult room_run(CUmodule module, CUstream stream, int bytes)
{
	CUfunction kernel;
	int has = 0;
	CUresult rc = real.cuModuleGetFunction(&kernel, module, GSAN_ROOM_KERNEL);

	if (!rc)
		rc = real.cuFuncGetAttribute(&has, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel);
	if (!rc && has < bytes)
		rc = CUDA_ERROR_NOT_SUPPORTED;
	if (!rc)
		rc = real.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
	return rc ? rc : real.cuStreamSynchronize(stream);
}

static CUresult room_load(const char *ptx, int bytes)
{
	CUmodule module;
	CUstream stream;
	CUresult rc = real.cuModuleLoadData(&module, ptx);

	if (rc)
		return rc;
	rc = own_stream(&stream, 0);
	if (!rc) {
		rc = room_run(module, stream, bytes);
		real.cuStreamDestroy_v2(stream);
	}
	real.cuModuleUnload(module);
	return rc;
}

void room_make(struct flow *f, int bytes)
{
	CUcontext context = NULL;
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
	char *ptx;

	real.cuCtxGetCurrent(&context);
	if (bytes < ROOM_BYTES)
		bytes = ROOM_BYTES;
	if (asprintf(&ptx, room_ptx, bytes) >= 0) {
		rc = room_load(ptx, bytes);
		free(ptx);
	}
	f->room.context = context; /* even if it failed: that would come again */
	f->room.bytes = bytes;
	if (rc)
		log_once(LOG_WARNING, "no local memory could be made ready (driver error %d): a kernel's first launch may wait for all that runs", rc);
}

int room_is_made(const struct flow *f, int bytes)
{
	CUcontext context = NULL;

	real.cuCtxGetCurrent(&context);
	return context == f->room.context && bytes <= f->room.bytes;
}
