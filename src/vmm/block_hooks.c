/* The driver's allocation calls on blocks, and what the program asks about its memory: the answers are those of a plain
 * run. Whatever does not concern a block of ours goes to the real driver unchanged. */
#include <stdio.h>

#include "base/log.h"
#include "vmm/block.h"

static CUresult alloc(CUdeviceptr *at, size_t size, const char *call)
{
	struct participant *p = at && size ? participant_current() : NULL;
	uint64_t base;
	char label[64];
	if (!p)
		return CUDA_ERROR_NOT_SUPPORTED;
	snprintf(label, sizeof label, "%s(%zu)", call, size);
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	int rc = block_alloc(p, size, label, &base);
	if (rc)
		vmm_note(p, "foreign", call, "%zu bytes could not be given shadow: not checked", size);
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	if (rc)
		return CUDA_ERROR_NOT_SUPPORTED;
	*at = base;
	return CUDA_SUCCESS;
}

CUresult vmm_cuMemAlloc_v2(CUdeviceptr *at, size_t size)
{
	return alloc(at, size, "cuMemAlloc") ? real.cuMemAlloc_v2(at, size) : CUDA_SUCCESS;
}

CUresult vmm_cuMemAllocPitch_v2(CUdeviceptr *at, size_t *pitch, size_t width, size_t height, unsigned element)
{
	size_t row = vmm_round(width, 512);
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16) ||
	    alloc(at, row * height, "cuMemAllocPitch"))
		return real.cuMemAllocPitch_v2(at, pitch, width, height, element);
	*pitch = row;
	return CUDA_SUCCESS;
}

static int capturing(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (!stream || stream == CU_STREAM_LEGACY || !real.cuStreamIsCapturing)
		return 0;
	return real.cuStreamIsCapturing(stream, &status) || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Available earlier than the stream's order asks for, never later. */
CUresult vmm_cuMemAllocAsync(CUdeviceptr *at, size_t size, CUstream stream)
{
	return capturing(stream) || alloc(at, size, "cuMemAllocAsync") ? real.cuMemAllocAsync(at, size, stream) : CUDA_SUCCESS;
}

CUresult vmm_cuMemAllocFromPoolAsync(CUdeviceptr *at, size_t size, CUmemoryPool pool, CUstream stream)
{
	return capturing(stream) || alloc(at, size, "cuMemAllocFromPoolAsync")
		       ? real.cuMemAllocFromPoolAsync(at, size, pool, stream)
		       : CUDA_SUCCESS;
}

static int is_block(CUdeviceptr at)
{
	pthread_mutex_lock(&vmm_lock);
	int yes = block_at(at) != NULL;
	pthread_mutex_unlock(&vmm_lock);
	return yes;
}

CUresult vmm_cuMemFree_v2(CUdeviceptr at)
{
	struct participant *p = participant_current();
	if (!p || !is_block(at))
		return real.cuMemFree_v2(at);
	CUresult rc = real.cuCtxSynchronize(); /* as the plain call does; without the lock, for it may wait long */
	if (rc == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
		return rc;
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	struct block *b = block_at(at);
	if (b)
		block_free(p, b);
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return b ? rc : CUDA_ERROR_INVALID_VALUE;
}

CUresult vmm_cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
	CUevent event = NULL;
	struct participant *p = participant_current();
	if (!p || !is_block(at))
		return real.cuMemFreeAsync(at, stream);
	CUresult rc = real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
	if (rc)
		return rc;
	rc = real.cuEventRecord(event, stream);
	pthread_mutex_lock(&vmm_lock);
	struct block *b = block_at(at);
	if (b && !rc) {
		b->limbo = 1;
		b->event = event;
	}
	pthread_mutex_unlock(&vmm_lock);
	if (!b || rc)
		real.cuEventDestroy_v2(event);
	return b ? rc : CUDA_ERROR_INVALID_VALUE;
}

/* ---- questions ------------------------------------------------------------------------------------------------------ */

CUresult vmm_cuMemGetInfo_v2(size_t *free, size_t *total)
{
	CUresult rc = real.cuMemGetInfo_v2(free, total);
	if (!rc && free && participant_current())
		*free = *free / 5 * 4; /* a byte of data takes a quarter of a byte of shadow */
	return rc;
}

static int block_range(CUdeviceptr at, uint64_t *base, uint64_t *size)
{
	pthread_mutex_lock(&vmm_lock);
	struct block *b = block_find(at);
	if (b) {
		*base = b->base;
		*size = b->size;
	}
	pthread_mutex_unlock(&vmm_lock);
	return b != NULL;
}

CUresult vmm_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
	uint64_t b, s;
	if (!block_range(at, &b, &s))
		return real.cuMemGetAddressRange_v2(base, size, at);
	if (base)
		*base = b;
	if (size)
		*size = s;
	return CUDA_SUCCESS;
}

/* What the driver says of the chunk or handle behind a block, said of the block. */
static void attribute_of_block(void *data, CUpointer_attribute attribute, uint64_t base, uint64_t size)
{
	if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
		*(CUdeviceptr *)data = base;
	else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
		*(size_t *)data = size;
}

CUresult vmm_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
	uint64_t base, size;
	CUresult rc = real.cuPointerGetAttribute(data, attribute, at);
	if (!rc && data && block_range(at, &base, &size))
		attribute_of_block(data, attribute, base, size);
	return rc;
}

CUresult vmm_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attribute, void **data, CUdeviceptr at)
{
	uint64_t base, size;
	CUresult rc = real.cuPointerGetAttributes(count, attribute, data, at);
	if (!rc && block_range(at, &base, &size))
		for (unsigned i = 0; i < count; i++)
			attribute_of_block(data[i], attribute[i], base, size);
	return rc;
}

CUresult vmm_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at)
{
	uint64_t base, size;
	if (!block_range(at, &base, &size))
		return real.cuIpcGetMemHandle(handle, at);
	log_once(LOG_WARNING, "CUDA IPC handles are not supported under gsan yet: share memory by cuMemCreate and file "
			      "descriptors (PyTorch: symmetric memory)");
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult vmm_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	CUdevice from, to;
	CUcontext before;
	struct participant *p = NULL;
	CUresult rc = real.cuCtxEnablePeerAccess(peer, flags);
	if ((rc && rc != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) || real.cuCtxGetDevice(&from) || from >= 32)
		return rc;
	if (real.cuCtxPushCurrent_v2(peer))
		return rc;
	if (!real.cuCtxGetDevice(&to))
		p = participant_current();
	if (p && p->device == to && from != to) { /* cuCtxEnablePeerAccess has no effect on our blocks (FACTS A) */
		pthread_mutex_lock(&vmm_lock);
		p->peers |= 1u << from;
		block_share(p);
		pthread_mutex_unlock(&vmm_lock);
	}
	real.cuCtxPopCurrent_v2(&before);
	return rc;
}
