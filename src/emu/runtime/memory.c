/* Allocations, and what is asked of pointers. */
#include "emu/runtime/runtime.h"

#include <string.h>

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "one layout (driver_types.h)");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "one layout (driver_types.h)");

/* Unlike the driver's: nothing is NULL. */
int runtime_alloc(void **at, size_t size)
{
	if (!at)
		return cudaErrorInvalidValue;
	if (size)
		return cuMemAlloc_v2((CUdeviceptr *)at, size);
	*at = NULL;
	return cudaSuccess;
}

int runtime_alloc_managed(void **at, size_t size, unsigned flags)
{
	if (!at || !size || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
		return cudaErrorInvalidValue;
	return cuMemAllocManaged((CUdeviceptr *)at, size, flags);
}

int runtime_alloc_pitch(void **at, size_t *pitch, size_t width, size_t height)
{
	if (!at || !pitch)
		return cudaErrorInvalidValue;
	if (width && height)
		return cuMemAllocPitch_v2((CUdeviceptr *)at, pitch, width, height, 4);
	*at = NULL;
	*pitch = 0;
	return cudaSuccess;
}

int runtime_alloc_box(struct cudaPitchedPtr *at, struct cudaExtent extent)
{
	if (!at)
		return cudaErrorInvalidValue;
	struct cudaPitchedPtr made = {.xsize = extent.width, .ysize = extent.height};
	int result = runtime_alloc_pitch(&made.ptr, &made.pitch, extent.width, extent.height * extent.depth);
	if (!result)
		*at = made;
	return result;
}

/* Of any device, and what cudaMallocHost made is not its own. */
int runtime_free(void *at) { return at ? cuMemFree_v2((CUdeviceptr)at) : CUDA_SUCCESS; }

int runtime_free_host(void *at) { return at ? cuMemFreeHost(at) : CUDA_SUCCESS; }

int runtime_pointer(struct cudaPointerAttributes *out, const void *at)
{
	unsigned type, managed;
	int device;
	void *on_device, *on_host;
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
				       CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
	void *answers[] = {&type, &managed, &device, &on_device, &on_host};
	if (!out)
		return cudaErrorInvalidValue;
	CUresult result = cuPointerGetAttributes(sizeof asked / sizeof *asked, asked, answers, (CUdeviceptr)at);
	if (result)
		return result;
	memset(out, 0, sizeof *out);
	out->type = managed ? cudaMemoryTypeManaged
		    : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
		    : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
	out->device = device;
	out->devicePointer = on_device;
	out->hostPointer = on_host;
	return cudaSuccess;
}

/* ---- handles of other processes */

int runtime_ipc_open(void **at, cudaIpcMemHandle_t handle, unsigned flags)
{
	CUipcMemHandle h;
	_Static_assert(sizeof h == sizeof handle, "one layout");
	memcpy(&h, &handle, sizeof h);
	return at ? (int)cuIpcOpenMemHandle_v2((CUdeviceptr *)at, h, flags) : cudaErrorInvalidValue;
}

int runtime_ipc_open_event(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle h;
	_Static_assert(sizeof h == sizeof handle, "one layout");
	memcpy(&h, &handle, sizeof h);
	return event ? (int)cuIpcOpenEventHandle(event, h) : cudaErrorInvalidValue;
}

/* Of nothing that there is, but asked for before what there is not. */
RUNTIME_EXPORT struct cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
