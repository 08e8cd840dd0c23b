/* The front door: versions and per-thread forms of cuGetProcAddress, errors by name, devices, contexts. */
#include <dlfcn.h>

#include "check.h"

static void *ask(const char *name, int version, cuuint64_t flags)
{
	void *entry = &entry;
	CUdriverProcAddressQueryResult status;
	CUresult result = cuGetProcAddress_v2(name, &entry, version, flags, &status);
	CHECK((result == CUDA_SUCCESS) == (status == CU_GET_PROC_ADDRESS_SUCCESS) && (result == CUDA_SUCCESS) == (entry != NULL));
	return entry;
}

static void look_ups(void)
{
	CUdriverProcAddressQueryResult status;
	void *entry;
	CHECK(ask("cuMemAlloc", 12000, 0) == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	CHECK(ask("cuGetProcAddress", 11030, 0) == dlsym(RTLD_DEFAULT, "cuGetProcAddress"));
	CHECK(ask("cuGetProcAddress", 12000, 0) == dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2"));
	CHECK(ask("cuCtxCreate", 11040, 0) == dlsym(RTLD_DEFAULT, "cuCtxCreate_v3"));
	cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	CHECK(ask("cuLaunchKernel", 12000, 0) == dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
	CHECK(ask("cuLaunchKernel", 12000, per_thread) == dlsym(RTLD_DEFAULT, "cuLaunchKernel_ptsz"));
	CHECK(ask("cuMemcpyHtoD", 12000, per_thread) == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"));
	CHECK(ask("cuInit", 12000, per_thread) == dlsym(RTLD_DEFAULT, "cuInit"));
	CHECK(!ask("", 0, 0) && !ask("cuNoSuchThing", 13000, 0) && !ask("cuGraphLaunch", 9000, 0));
	EXPECT(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("cuLibraryLoadData", &entry, 11000, 0, &status));
	CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

static void errors(void)
{
	const char *text;
	OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	CHECK(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	CHECK(!strcmp(text, "out of memory"));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &text));
	CHECK(!text);
}

static void devices(void)
{
	int count, value, version;
	char name[64];
	CUdevice device;
	OK(cuDriverGetVersion(&version));
	CHECK(version == 13000);
	OK(cuDeviceGetCount(&count));
	CHECK(count == 3);
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 3));
	OK(cuDeviceGetName(name, sizeof name, 2));
	CHECK(!strcmp(name, "GSan emulated device"));
	OK(cuDeviceGetPCIBusId(name, sizeof name, 2));
	OK(cuDeviceGetByPCIBusId(&device, name));
	CHECK(device == 2);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK(value == 4);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	CHECK(value == 9);
	OK(cuDeviceCanAccessPeer(&value, 0, 1));
	CHECK(value == 1);
}

static void contexts(void)
{
	CUcontext primary, mine, current;
	CUdevice device;
	unsigned flags;
	int active;
	OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
	CHECK(!active);
	OK(cuDevicePrimaryCtxRetain(&primary, 1));
	OK(cuCtxCreate(&mine, NULL, 0, 2));
	OK(cuCtxGetDevice(&device));
	CHECK(device == 2);
	OK(cuCtxPushCurrent(primary));
	OK(cuCtxEnablePeerAccess(mine, 0));
	EXPECT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(mine, 0));
	OK(cuCtxPopCurrent(&current));
	CHECK(current == primary);
	OK(cuCtxDestroy(mine));
	OK(cuCtxGetCurrent(&current));
	CHECK(!current);
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(mine));
	OK(cuDevicePrimaryCtxRelease(1));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(1));
}

int main(void)
{
	setenv("EMU_DEVICES", "3", 1);
	OK(cuInit(0));
	look_ups();
	errors();
	devices();
	contexts();
	return 0;
}
