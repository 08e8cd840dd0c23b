/* The driver's virtual memory management. The program's reservations come from the view region, which is reserved
 * already; its handles are real ones, with a canonical range beside them; what it exports is a token of ours, so that an
 * importer finds the owner's shadow. Memory that this does not fit (other devices, host memory, foreign descriptors) is
 * the real driver's alone, and counts as unchecked. */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "ipc/ipc.h"
#include "vmm/handle.h"

static int in_views(uint64_t at) { return at >= GSAN_VIEW_BASE && at < GSAN_VIEW_BASE + GSAN_VIEW_SIZE; }

CUresult vmm_cuMemAddressReserve(CUdeviceptr *at, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags)
{
	struct participant *p = participant_current();
	uint64_t base;
	if (!p || !at || !size || size % GSAN_PAGE || flags || (align & (align - 1)))
		return real.cuMemAddressReserve(at, size, align, hint, flags);
	pthread_mutex_lock(&vmm_lock);
	int rc = arena_take(&vmm_views, size, align > GSAN_PAGE ? align : GSAN_PAGE, &base);
	pthread_mutex_unlock(&vmm_lock);
	if (rc)
		return real.cuMemAddressReserve(at, size, align, hint, flags);
	*at = base;
	return CUDA_SUCCESS;
}

CUresult vmm_cuMemAddressFree(CUdeviceptr at, size_t size)
{
	if (!in_views(at))
		return real.cuMemAddressFree(at, size);
	pthread_mutex_lock(&vmm_lock);
	int rc = arena_give(&vmm_views, at, size);
	pthread_mutex_unlock(&vmm_lock);
	return rc ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult vmm_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			 unsigned long long flags)
{
	struct participant *p = participant_current();
	CUmemAllocationProp wanted;
	char label[64];
	if (!p || !prop || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || prop->location.id != p->device)
		return real.cuMemCreate(handle, size, prop, flags);
	wanted = *prop;
	if (!wanted.requestedHandleTypes)
		wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	CUresult rc = real.cuMemCreate(handle, size, &wanted, flags);
	if (rc)
		return rc;
	snprintf(label, sizeof label, "cuMemCreate(%zu)", size);
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	if (handle_add(p, *handle, size, label))
		vmm_note(p, "foreign", "cuMemCreate", "%zu bytes could not be given shadow: not checked", size);
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return CUDA_SUCCESS;
}

CUresult vmm_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct participant *p = participant_current();
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	struct handle *h = handle_find(handle);
	CUresult rc = real.cuMemRelease(handle);
	if (p && h && !rc)
		handle_unref(p, h);
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return rc;
}

CUresult vmm_cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		      unsigned long long flags)
{
	struct participant *p = participant_current();
	CUresult rc = real.cuMemMap(at, size, offset, handle, flags);
	if (rc || !p || !in_views(at))
		return rc;
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	struct handle *h = handle_find(handle);
	if (!h || view_add(p, h, at, size, offset))
		vmm_note(p, "foreign", "cuMemMap", "%zu bytes of memory that gsan does not know: not checked", size);
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return rc;
}

CUresult vmm_cuMemUnmap(CUdeviceptr at, size_t size)
{
	struct participant *p = participant_current();
	CUresult rc = real.cuMemUnmap(at, size);
	if (rc || !p || !in_views(at))
		return rc;
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	view_remove(p, at, size);
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return rc;
}

CUresult vmm_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *at)
{
	CUresult rc = real.cuMemRetainAllocationHandle(handle, at);
	if (rc)
		return rc;
	pthread_mutex_lock(&vmm_lock);
	struct handle *h = handle_of_view((uintptr_t)at);
	if (h) {
		h->refs++;
		h->real = *handle; /* the driver may name it anew once it was released */
	}
	pthread_mutex_unlock(&vmm_lock);
	return rc;
}

/* The program gets a token; the real descriptor stays with the supervisor. */
static CUresult export_token(struct participant *p, struct handle *h, int *out)
{
	struct ipc_msg msg = {.type = IPC_EXPORT, .participant = p->index, .base = h->canonical, .size = h->size, .alloc = h->alloc};
	int real_fd = *out, token = -1;
	if (!h->imported && shadow_publish(p, h->canonical, h->size))
		return CUDA_ERROR_UNKNOWN;
	int rc = ipc_call(p->socket, &msg, real_fd, &token);
	if (rc || token < 0)
		return CUDA_ERROR_UNKNOWN;
	close(real_fd);
	*out = token;
	return CUDA_SUCCESS;
}

CUresult vmm_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
					  unsigned long long flags)
{
	struct participant *p = participant_current();
	CUresult rc = real.cuMemExportToShareableHandle(out, handle, type, flags);
	if (rc || !p || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return rc;
	pthread_mutex_lock(&vmm_lock);
	struct handle *h = handle_find(handle);
	if (!h || export_token(p, h, out)) /* the real descriptor goes out: works, and its importers see foreign memory */
		vmm_note(p, "foreign", "cuMemExportToShareableHandle", "exported as it is: peers' accesses are not checked");
	pthread_mutex_unlock(&vmm_lock);
	return rc;
}

CUresult vmm_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os, CUmemAllocationHandleType type)
{
	struct participant *p = participant_current();
	int fd = -1;
	struct ipc_msg msg = {.type = IPC_IMPORT};
	if (!p || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return real.cuMemImportFromShareableHandle(handle, os, type);
	msg.participant = p->index;
	if (ipc_call(p->socket, &msg, (int)(intptr_t)os, &fd) || fd < 0) {
		vmm_note(p, "foreign", "cuMemImportFromShareableHandle", "a descriptor that gsan did not export: not checked");
		return real.cuMemImportFromShareableHandle(handle, os, type);
	}
	CUresult rc = real.cuMemImportFromShareableHandle(handle, (void *)(intptr_t)fd, type);
	close(fd);
	if (rc)
		return rc;
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	if (handle_import(p, *handle, msg.base, msg.size, msg.alloc))
		vmm_note(p, "foreign", "cuMemImportFromShareableHandle", "the owner's shadow could not be mapped: not checked");
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return CUDA_SUCCESS;
}
