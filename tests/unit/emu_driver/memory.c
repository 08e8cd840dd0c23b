/* Plain memory: allocations, copies of every shape, sets, pinned host memory, and what the driver says of addresses. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void copies(void)
{
	CUdeviceptr a, b;
	unsigned char host[4096], back[4096];
	OK(cuMemAlloc(&a, sizeof host));
	OK(cuMemAlloc(&b, sizeof host));
	for (size_t i = 0; i < sizeof host; i++)
		host[i] = (unsigned char)(i * 7);
	OK(cuMemcpyHtoD(a, host, sizeof host));
	OK(cuMemcpyDtoD(b, a, sizeof host));
	OK(cuMemcpyDtoH(back, b, sizeof host));
	CHECK(!memcmp(host, back, sizeof host));
	OK(cuMemcpy((CUdeviceptr)(uintptr_t)back, a + 1, 8));
	CHECK(!memcmp(back, host + 1, 8));
	CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .srcPitch = 64, .srcXInBytes = 4, .srcY = 1,
			     .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 8, .WidthInBytes = 8, .Height = 3};
	OK(cuMemcpy2D(&box));
	for (int y = 0; y < 3; y++)
		CHECK(!memcmp(back + 8 * y, host + 64 * (y + 1) + 4, 8));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a + 4090, host, 8192));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD((CUdeviceptr)(uintptr_t)back, host, 8));
	OK(cuMemFree(a));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(back, a, 8));
	OK(cuMemFree(b));
}

static void sets(void)
{
	CUdeviceptr a;
	size_t pitch;
	unsigned word[4];
	unsigned short half[4];
	OK(cuMemAllocPitch(&a, &pitch, 100, 4, 4));
	CHECK(pitch >= 100 && pitch % 4 == 0);
	OK(cuMemsetD32(a, 0x01020304, 4));
	OK(cuMemcpyDtoH(word, a, sizeof word));
	CHECK(word[0] == 0x01020304 && word[3] == 0x01020304);
	OK(cuMemsetD2D16(a, pitch, 0xbeef, 2, 2));
	OK(cuMemcpyDtoH(half, a + pitch, sizeof half));
	CHECK(half[0] == 0xbeef && half[1] == 0xbeef && half[2] == 0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a + 2, 0, 1));
	OK(cuMemFree(a));
}

/* Zeros into much memory: all of it, nothing beside it, and its pages are given back. `a` has MUCH bytes. */
#define MUCH (1ul << 20)
static void zeros(CUdeviceptr a, CUmemorytype from)
{
	static unsigned char host[MUCH];
	const unsigned char *at = (const unsigned char *)(uintptr_t)a;
	unsigned char resident[MUCH / 4096];
	OK(cuMemsetD8(a, 0xff, MUCH));
	if (from == CU_MEMORYTYPE_DEVICE)
		OK(cuMemsetD8(a + 3, 0, MUCH - 8));
	else
		OK(cuMemcpyHtoD(a + 3, host, MUCH - 8));
	OK(cuCtxSynchronize());
	CHECK(!mincore((void *)(uintptr_t)a, MUCH, resident));
	for (size_t i = 1; i + 1 < sizeof resident; i++)
		CHECK(!(resident[i] & 1));
	for (size_t i = 0; i < MUCH; i++)
		CHECK(at[i] == (i < 3 || i >= MUCH - 5 ? 0xff : 0));
}

static void much(void)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle physical;
	CUdeviceptr a;
	OK(cuMemAlloc(&a, MUCH));
	zeros(a, CU_MEMORYTYPE_DEVICE);
	zeros(a, CU_MEMORYTYPE_HOST);
	OK(cuMemFree(a));
	OK(cuMemCreate(&physical, 2 * MUCH, &prop, 0));
	OK(cuMemAddressReserve(&a, 2 * MUCH, 0, 0, 0));
	OK(cuMemMap(a, 2 * MUCH, 0, physical, 0));
	OK(cuMemSetAccess(a, 2 * MUCH, &access, 1));
	OK(cuMemsetD8(a + MUCH, 0xff, MUCH));
	zeros(a, CU_MEMORYTYPE_DEVICE);
	zeros(a, CU_MEMORYTYPE_HOST);
	OK(cuCtxSynchronize());
	CHECK(*(unsigned char *)(uintptr_t)(a + MUCH) == 0xff);
	OK(cuMemUnmap(a, 2 * MUCH));
	OK(cuMemAddressFree(a, 2 * MUCH));
	OK(cuMemRelease(physical));
}

static void questions(CUcontext context)
{
	CUdeviceptr a, base;
	size_t size, before, after, total;
	unsigned type;
	int ordinal;
	CUcontext owner;
	OK(cuMemGetInfo(&before, &total));
	OK(cuMemAlloc(&a, 1 << 20));
	OK(cuMemGetInfo(&after, &total));
	CHECK(before - after == 1 << 20 && total > before - 1);
	OK(cuMemGetAddressRange(&base, &size, a + 5000));
	CHECK(base == a && size == 1 << 20);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 1));
	OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, a));
	CHECK(type == CU_MEMORYTYPE_DEVICE && owner == context);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&type));
	CUpointer_attribute attribute[2] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	void *data[2] = {&type, &ordinal};
	OK(cuPointerGetAttributes(2, attribute, data, (CUdeviceptr)&type));
	CHECK(type == 0 && ordinal == -2);
	OK(cuMemFree(a));
}

static void host_memory(void)
{
	static char mine[8192];
	CUdeviceptr device;
	unsigned *pinned, type;
	OK(cuMemHostAlloc((void **)&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer(&device, pinned, 0));
	CHECK(device == (CUdeviceptr)(uintptr_t)pinned);
	OK(cuMemsetD32(device, 77, 1));
	OK(cuCtxSynchronize());
	CHECK(*pinned == 77);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
	CHECK(type == CU_MEMORYTYPE_HOST);
	OK(cuMemFreeHost(pinned));
	OK(cuMemHostRegister(mine, sizeof mine, 0));
	EXPECT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(mine, 1, 0));
	OK(cuMemHostGetDevicePointer(&device, mine, 0));
	OK(cuMemHostUnregister(mine));
	EXPECT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(mine));
}

static void pools(void)
{
	CUdeviceptr a;
	CUstream s;
	CUgraph g;
	CUmemoryPool pool;
	cuuint64_t used;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&a, 4096, s));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used == 4096);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a, s)); /* no graph allocated it */
	OK(cuMemsetD8Async(a, 1, 4096, s));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphDestroy(g));
	OK(cuMemsetD8Async(a, 1, 4096, s));
	OK(cuMemFreeAsync(a, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used == 0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
	OK(cuStreamDestroy(s));
}

/* A child of fork must not touch the parent's place in the job. */
static void after_fork(void)
{
	int status;
	pid_t child = fork();
	if (!child) {
		CUdeviceptr a;
		EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&a, 16));
		EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
	CUdeviceptr a;
	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&a, 16));
	OK(cuInit(0));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&a, 16));
	CUcontext context = start();
	copies();
	sets();
	much();
	questions(context);
	host_memory();
	pools();
	after_fork();
	copies();
	return 0;
}
