/* Devices: their properties, as programs of CUDA 13 and of 12 lay them out, and peers. */
#include "emu/runtime/runtime.h"

#include <stddef.h>
#include <string.h>

/* cudaDeviceProp of CUDA 12; textures and surfaces, which there are none of, in one piece. */
struct properties_12 {
	char name[256];
	cudaUUID_t uuid;
	char luid[8];
	unsigned luidDeviceNodeMask;
	size_t totalGlobalMem, sharedMemPerBlock;
	int regsPerBlock, warpSize;
	size_t memPitch;
	int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
	size_t totalConstMem;
	int major, minor;
	size_t textureAlignment, texturePitchAlignment;
	int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
	int textures_and_surfaces[40];
	size_t surfaceAlignment;
	int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing;
	int memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
	int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
	int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
	int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
	size_t sharedMemPerBlockOptin;
	int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
	size_t reservedSharedMemPerBlock;
	int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported;
	int memoryPoolsSupported, gpuDirectRDMASupported;
	unsigned gpuDirectRDMAFlushWritesOptions;
	int gpuDirectRDMAWritesOrdering;
	unsigned memoryPoolSupportedHandleTypes;
	int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
	int reserved[63];
};
_Static_assert(sizeof(struct properties_12) == 1032, "driver_types.h of CUDA 12.8");

/* What both have: a member's place, its bytes, and what it is asked by. */
struct property { size_t at, size; CUdevice_attribute attribute; };
#define AT(type, member, a) {offsetof(type, member), sizeof((type *)0)->member, CU_DEVICE_ATTRIBUTE_##a},

static const struct property of_13[] = {
#define PROPERTY(member, attribute) AT(struct cudaDeviceProp, member, attribute)
#define PROPERTY_12(member, attribute)
#include "emu/runtime/properties.def"
#undef PROPERTY
#undef PROPERTY_12
};
static const struct property of_12[] = {
#define PROPERTY(member, attribute) AT(struct properties_12, member, attribute)
#define PROPERTY_12(member, attribute) AT(struct properties_12, member, attribute)
#include "emu/runtime/properties.def"
};

static int fill(char *properties, const struct property *p, size_t count, int device)
{
	int value;
	CUresult result = CUDA_SUCCESS;
	for (size_t i = 0; i < count && !result; i++) {
		result = cuDeviceGetAttribute(&value, p[i].attribute, device);
		const size_t wide = (size_t)value;
		memcpy(properties + p[i].at, p[i].size == sizeof wide ? (const void *)&wide : &value, p[i].size);
	}
	return result;
}

int runtime_properties(struct cudaDeviceProp *properties, int device)
{
	if (!properties)
		return cudaErrorInvalidValue;
	memset(properties, 0, sizeof *properties);
	int result = cuDeviceGetName(properties->name, sizeof properties->name, device);
	if (!result)
		result = cuDeviceGetUuid_v2(&properties->uuid, device);
	if (!result)
		result = cuDeviceTotalMem_v2(&properties->totalGlobalMem, device);
	return result ? result : fill((char *)properties, of_13, sizeof of_13 / sizeof *of_13, device);
}

int runtime_properties_12(void *out, int device)
{
	struct cudaDeviceProp now;
	struct properties_12 *properties = out;
	int result = properties ? runtime_properties(&now, device) : cudaErrorInvalidValue;
	if (result)
		return result;
	memset(properties, 0, sizeof *properties);
	memcpy(properties->name, now.name, sizeof now.name);
	properties->uuid = now.uuid;
	properties->totalGlobalMem = now.totalGlobalMem;
	return fill(out, of_12, sizeof of_12 / sizeof *of_12, device);
}

/* All are equal. */
int runtime_device_choose(int *device, const struct cudaDeviceProp *wanted)
{
	if (!device || !wanted)
		return cudaErrorInvalidValue;
	*device = 0;
	return cudaSuccess;
}

int runtime_entry(const char *symbol, void **function, unsigned version, unsigned long long flags,
		  enum cudaDriverEntryPointQueryResult *status)
{
	CUresult result = cuGetProcAddress_v2(symbol, function, (int)version, flags, (CUdriverProcAddressQueryResult *)status);
	return status && result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result; /* the status says it */
}

/* ---- peers */

int runtime_peer_enable(int device, unsigned flags)
{
	CUcontext peer;
	int result = runtime_primary(device, &peer);
	return result ? result : (int)cuCtxEnablePeerAccess(peer, flags);
}

int runtime_peer_disable(int device)
{
	CUcontext peer;
	int result = runtime_primary(device, &peer);
	return result ? result : (int)cuCtxDisablePeerAccess(peer);
}
