#include "driver/room.h"

#include "cuda/real.h"

/* Bytes per thread: what the runtime's longest chain of calls takes, and a little (tests/unit/ptxas/spills_test.py holds it below that). Which
 * of the array it uses cannot be known, so it is all there. So short a text the driver compiles itself, and keeps. */
#define ROOM_KERNEL "gsan_room"
static const char room_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry " ROOM_KERNEL "()\n.maxntid 32\n{\n"
	"\t.local .align 8 .b8 room[1664];\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<4>;\n"
	"\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd1, %r1, 8;\n\tmov.u64 %rd2, room;\n\tadd.u64 %rd2, %rd2, %rd1;\n"
	"\tst.volatile.local.u64 [%rd2], %rd1;\n\tld.volatile.local.u64 %rd3, [%rd2+8];\n\tst.volatile.local.u64 [%rd2], %rd3;\n"
	"\tret;\n}\n";

void room_make(void)
{
	CUmodule module;
	CUfunction room;
	CUstream stream;

	if (real.cuModuleLoadData(&module, room_ptx) != CUDA_SUCCESS || real.cuModuleGetFunction(&room, module, ROOM_KERNEL) != CUDA_SUCCESS ||
	    real.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
		return;
	real.cuLaunchKernel(room, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
	real.cuStreamDestroy_v2(stream);
}
