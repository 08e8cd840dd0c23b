/* Driver calls of our own: they do not disturb a capture (DESIGN §3), and queue no kernel. */
#include <errno.h>
#include <unistd.h>

#include "ipc/ipc.h"
#include "vmm/inside.h"

void vmm_relaxed(struct vmm_section *s)
{
	*s = (struct vmm_section){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	s->relaxed = real.cuThreadExchangeStreamCaptureMode && !real.cuThreadExchangeStreamCaptureMode(&s->mode);
}

int vmm_begin(struct participant *p, struct vmm_section *s)
{
	CUcontext now, ours = p->context;
	if (atomic_load_explicit(&p->homeless, memory_order_acquire) || real.cuCtxGetCurrent(&now))
		return -EIO;
	if (now != ours && real.cuCtxPushCurrent_v2(ours))
		return -EIO;
	vmm_relaxed(s);
	s->pushed = now != ours;
	return 0;
}

void vmm_end(const struct vmm_section *s)
{
	CUstreamCaptureMode mode = s->mode;
	CUcontext ours;
	if (s->relaxed)
		real.cuThreadExchangeStreamCaptureMode(&mode);
	if (s->pushed)
		real.cuCtxPopCurrent_v2(&ours);
}

int vmm_enter(struct participant *p, struct vmm_section *s)
{
	if (vmm_begin(p, s))
		return -EIO;
	pthread_mutex_lock(&vmm_lock);
	return 0;
}

void vmm_leave(const struct vmm_section *s)
{
	pthread_mutex_unlock(&vmm_lock);
	vmm_end(s);
}

uint64_t vmm_round(uint64_t size, uint64_t unit) { return (size + unit - 1) / unit * unit; }

int vmm_upload(struct participant *p, uint64_t at, const void *from, uint64_t size)
{
	return real.cuMemcpyHtoDAsync_v2(at, from, size, p->stream) || real.cuStreamSynchronize(p->stream) ? -EIO : 0;
}

int vmm_zero(struct participant *p, uint64_t at, uint64_t size)
{
	for (uint64_t done = 0; done < size; done += VMM_ZEROS) {
		uint64_t n = size - done < VMM_ZEROS ? size - done : VMM_ZEROS;
		if (real.cuMemcpyHtoDAsync_v2(at + done, p->zeros, n, p->stream))
			return -EIO;
	}
	return real.cuStreamSynchronize(p->stream) ? -EIO : 0;
}

int vmm_clear(struct participant *p, uint64_t at, uint64_t size)
{
	return real.cuMemsetD8Async(at, 0, size, p->stream) || real.cuStreamSynchronize(p->stream) ? -EIO : 0;
}

int vmm_access(int device, uint64_t at, uint64_t size)
{
	const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	return real.cuMemSetAccess(at, size, &access, 1) ? -EIO : 0;
}

static int vmm_map(struct participant *p, uint64_t at, uint64_t size, CUmemGenericAllocationHandle handle)
{
	if (real.cuMemMap(at, size, 0, handle, 0))
		return -EIO;
	if (vmm_access(p->device, at, size)) {
		real.cuMemUnmap(at, size);
		return -EIO;
	}
	for (uint32_t left = vmm_devices & ~(1u << p->device); left; left &= left - 1)
		vmm_access(__builtin_ctz(left), at, size);
	return 0;
}

int vmm_back(struct participant *p, uint64_t at, uint64_t size, CUmemGenericAllocationHandle *handle)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = p->device}};
	if (real.cuMemCreate(handle, size, &prop, 0))
		return -ENOMEM;
	if (!vmm_map(p, at, size, *handle))
		return 0;
	real.cuMemRelease(*handle);
	return -ENOMEM;
}

int vmm_unback(uint64_t at, uint64_t size, CUmemGenericAllocationHandle handle)
{
	CUresult rc = real.cuMemUnmap(at, size);
	real.cuMemRelease(handle);
	return rc ? -EIO : 0;
}

int vmm_adopt(struct participant *p, uint64_t at, uint64_t size, int fd)
{
	CUmemGenericAllocationHandle handle;
	if (real.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return -EIO;
	int rc = vmm_map(p, at, size, handle);
	real.cuMemRelease(handle); /* the mapping keeps it */
	return rc;
}

int vmm_export(CUmemGenericAllocationHandle handle, int *fd)
{
	return real.cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ? -EIO : 0;
}

int vmm_offer(struct participant *p, uint32_t space, uint64_t at, uint64_t size, CUmemGenericAllocationHandle handle)
{
	struct ipc_msg msg = {.type = IPC_PUT, .space = space, .participant = p->index, .base = at, .size = size};
	int fd;
	if (vmm_export(handle, &fd))
		return -EIO;
	int rc = ipc_call(p->socket, &msg, fd, NULL);
	close(fd);
	return rc;
}
