/* Plain memory: device, managed and pinned host allocations, and what is asked of an address. Freeing waits for the
 * context's work first, as the real driver does. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/capture.h"
#include "emu/driver/queue.h"
#include "emu/driver/range.h"
#include "emu/driver/vmm.h"

static CUresult allocate(uint64_t *address, enum emu_range_kind kind, size_t size, unsigned flags)
{
	CUcontext c;
	struct emu_range *r = NULL;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	result = emu_capture_unsafe();
	if (!result)
		result = emu_range_alloc(c, kind, size, &r);
	if (!result) {
		r->flags = flags;
		*address = r->base;
	}
	return emu_leave(result);
}

static CUresult release(uint64_t address, unsigned kinds)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	result = emu_capture_unsafe();
	if (result)
		return emu_leave(result);
	result = emu_wait_context(c);
	struct emu_range *r = emu_range_find(&emu_known, address);
	if (!r || r->base != address || !(kinds >> r->kind & 1))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	emu_range_free(r);
	return emu_leave(result);
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
	uint64_t at = 0;
	CUresult result = address ? allocate(&at, EMU_DEVICE, size, 0) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*address = at;
	return result;
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
	if (!pitch || (element != 4 && element != 8 && element != 16) || !width || !height)
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + 511) / 512 * 512;
	return cuMemAlloc_v2(address, *pitch * height);
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags)
{
	uint64_t at = 0;
	CUresult result = address ? allocate(&at, EMU_MANAGED, size, flags) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*address = at;
	return result;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address)
{
	return address ? release(address, 1u << EMU_DEVICE | 1u << EMU_MANAGED) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostAlloc(void **host, size_t size, unsigned flags)
{
	uint64_t at = 0;
	CUresult result = host ? allocate(&at, EMU_HOST, size, flags) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*host = (void *)(uintptr_t)at;
	return result;
}

CUresult CUDAAPI cuMemAllocHost_v2(void **host, size_t size) { return cuMemHostAlloc(host, size, 0); }

CUresult CUDAAPI cuMemFreeHost(void *host) { return release((uintptr_t)host, 1u << EMU_HOST); }

/* ---- memory of the program's own */

CUresult CUDAAPI cuMemHostRegister_v2(void *host, size_t size, unsigned flags)
{
	CUcontext c;
	CUresult result = host && size ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (emu_range_find(&emu_known, (uintptr_t)host))
		return emu_leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	struct emu_range r = {.base = (uintptr_t)host, .size = size, .kind = EMU_REGISTERED, .device = c->device,
			      .context = c, .flags = flags};
	return emu_leave(emu_range_add(&emu_known, &r) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuMemHostUnregister(void *host)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	result = emu_wait_context(c);
	struct emu_range *r = emu_range_find(&emu_known, (uintptr_t)host);
	if (!r || r->base != (uintptr_t)host || r->kind != EMU_REGISTERED)
		return emu_leave(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	emu_range_remove(&emu_known, r);
	return emu_leave(result);
}

static CUresult enter_host(const void *host, const void *out, struct emu_range **range)
{
	CUcontext c;
	CUresult result = out ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	struct emu_range *r = emu_range_find(&emu_known, (uintptr_t)host);
	if (!r || (r->kind != EMU_HOST && r->kind != EMU_REGISTERED))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	*range = r;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags)
{
	struct emu_range *r = NULL;
	(void)flags;
	CUresult result = enter_host(host, address, &r);
	if (result)
		return result;
	*address = (uintptr_t)host;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned *flags, void *host)
{
	struct emu_range *r = NULL;
	CUresult result = enter_host(host, flags, &r);
	if (result)
		return result;
	*flags = r->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return emu_leave(CUDA_SUCCESS);
}

/* ---- questions */

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	if (free_bytes)
		*free_bytes = EMU_DEVICE_BYTES - emu.device[c->device].used;
	if (total)
		*total = EMU_DEVICE_BYTES;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	const struct emu_range *r = emu_range_find(&emu_known, address);
	if (!r)
		return emu_leave(CUDA_ERROR_NOT_FOUND);
	if (base)
		*base = r->base;
	if (size)
		*size = r->size;
	return emu_leave(CUDA_SUCCESS);
}

static int is_host(const struct emu_range *r) { return r->kind == EMU_HOST || r->kind == EMU_REGISTERED; }

/* Each attribute has its own type of data: cuda.h, cuPointerGetAttribute. */
static CUresult pointer_attribute(void *data, CUpointer_attribute a, const struct emu_range *r, uint64_t address)
{
	switch ((int)a) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = r->context;
		return r->context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* VMM memory belongs to no context */
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = is_host(r) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = address; break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!is_host(r) && r->kind != EMU_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)address;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(int *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = r->id; break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)data = r->kind == EMU_MANAGED; break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = r->device; break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *(int *)data = emu_range_ipc_capable(r); break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = r->base; break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = r->size; break;
	case CU_POINTER_ATTRIBUTE_MAPPED: *(int *)data = 1; break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(uint64_t *)data = r->physical ? (uint64_t)emu_physical_handle_types(r->physical) : 0;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(int *)data = r->physical ? (int)r->access[r->device] : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)data = r->pool; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute a, CUdeviceptr address)
{
	CUresult result = data ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_range *r = emu_range_find(&emu_known, address);
	return emu_leave(r ? pointer_attribute(data, a, r, address) : CUDA_ERROR_INVALID_VALUE);
}

/* Bytes that an attribute's data has, for the null answers of cuPointerGetAttributes. */
static size_t attribute_size(CUpointer_attribute a)
{
	return a == CU_POINTER_ATTRIBUTE_CONTEXT || a == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
			       a == CU_POINTER_ATTRIBUTE_HOST_POINTER || a == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
			       a == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || a == CU_POINTER_ATTRIBUTE_RANGE_SIZE ||
			       a == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES || a == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
		       ? 8 : 4;
}

/* Unlike the single form it succeeds on any address: what is not known reads as null. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute *a, void **data, CUdeviceptr address)
{
	CUresult result = a && data ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_range *r = emu_range_find(&emu_known, address);
	for (unsigned i = 0; i < count; i++) {
		if (r && !pointer_attribute(data[i], a[i], r, address))
			continue;
		memset(data[i], 0, attribute_size(a[i]));
		if (!r && a[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = -2; /* cuda.h: no device */
	}
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute a, CUdeviceptr address)
{
	CUresult result = value && a == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	return emu_leave(emu_range_find(&emu_known, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
