/* The errors that faults of kernels become. Each is its context's last, so each has a process of its own. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry illegal_address()\n{\n.reg .b64 %d;\nmov.u64 %d, 24;\nst.global.u32 [%d], 1;\nret;\n}\n"
	".visible .entry illegal_instruction()\n{\n.reg .b32 %r<4>;\nmov.u32 %r0, %laneid;\nand.b32 %r0, %r0, 1;\n"
	"match.any.sync.b32 %r1, %r0, -1;\nredux.sync.or.b32 %r2, %r0, %r1;\nret;\n}\n"
	".visible .entry failed()\n{\ntrap;\n}\n";

static void one(const char *kernel, CUresult result)
{
	CUdeviceptr a;
	int status;
	const pid_t child = fork();
	if (!child) {
		start();
		CUfunction f = load(ptx, kernel);
		OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		EXPECT(result, cuCtxSynchronize());
		EXPECT(result, cuMemAlloc(&a, 16));
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* A set whose memory is unmapped before the device comes to it. */
static void unmapped(void)
{
	const CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	const CUmemAccessDesc access = {property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	const size_t size = 2 << 20;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;
	CUstream stream;
	int status;
	const pid_t child = fork();
	if (!child) {
		start();
		OK(cuMemCreate(&handle, size, &property, 0));
		OK(cuMemAddressReserve(&at, size, 0, 0, 0));
		OK(cuMemMap(at, size, 0, handle, 0));
		OK(cuMemSetAccess(at, size, &access, 1));
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		for (int i = 0; i < 50; i++)
			OK(cuMemsetD8Async(at, 1, size, stream));
		OK(cuMemUnmap(at, size));
		EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
	unmapped();
	one("illegal_address", CUDA_ERROR_ILLEGAL_ADDRESS);
	one("illegal_instruction", CUDA_ERROR_ILLEGAL_INSTRUCTION);
	one("failed", CUDA_ERROR_LAUNCH_FAILED);
	return 0;
}
