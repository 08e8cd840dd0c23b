/* The driver's allocation calls on blocks, and what the program asks about its memory: the answers are those of a plain
 * run. Whatever does not concern a block of ours goes to the real driver unchanged. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"
#include "vmm/block.h"
#include "vmm/lent.h"
#include "vmm/pool.h"

static atomic_int lost; /* a context: the driver answers by itself from then on, whichever it is asked about */

void vmm_result(CUresult rc)
{
	static const CUresult sticky[] = {
		CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_ASSERT,
		CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
		CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE};
	for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++)
		if (rc == sticky[i])
			atomic_store_explicit(&lost, 1, memory_order_relaxed);
}

/* Of participant p. 0, or -errno: the program gets memory of the driver's own. */
static int alloc_in(struct participant *p, CUdeviceptr *at, const struct block_want *want, const char *call)
{
	struct vmm_section s;
	uint64_t base;
	char label[64];
	if (!p || !at || !want->size || atomic_load_explicit(&lost, memory_order_relaxed) || vmm_enter(p, &s))
		return -ENODEV;
	snprintf(label, sizeof label, "%s(%zu)", call, (size_t)want->size);
	int rc = block_alloc(p, want, label, &base);
	vmm_leave(&s);
	if (!rc)
		*at = base;
	return rc;
}

static int alloc(struct participant *p, CUdeviceptr *at, size_t size, const char *call)
{
	struct block_want want = {.size = size};
	real.cuCtxGetCurrent(&want.context);
	return alloc_in(p, at, &want, call);
}

/* The driver's answer instead: if it has what we have not, the program goes on with memory that is not checked. */
static CUresult foreign(CUresult rc, size_t size, const char *call)
{
	struct participant *p = rc ? NULL : participant_current();
	if (p)
		vmm_note(p, "foreign", call, "%zu bytes could not be given shadow: not checked", size);
	return rc;
}

CUresult vmm_cuMemAlloc_v2(CUdeviceptr *at, size_t size)
{
	return alloc(participant_current(), at, size, "cuMemAlloc") ? foreign(real.cuMemAlloc_v2(at, size), size, "cuMemAlloc") : CUDA_SUCCESS;
}

CUresult vmm_cuMemAllocPitch_v2(CUdeviceptr *at, size_t *pitch, size_t width, size_t height, unsigned element)
{
	static const char *const call = "cuMemAllocPitch";
	int sound = pitch && width && height && (element == 4 || element == 8 || element == 16) && width <= GSAN_SLICE &&
		    height <= GSAN_SLICE / width; /* and nothing below overflows */
	size_t row = vmm_round(width, 512);
	if (!sound || alloc(participant_current(), at, row * height, call))
		return foreign(real.cuMemAllocPitch_v2(at, pitch, width, height, element), width * height, call);
	*pitch = row;
	return CUDA_SUCCESS;
}

static CUstreamCaptureStatus capture_of(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (!stream || stream == CU_STREAM_LEGACY || !real.cuStreamIsCapturing)
		return status; /* the legacy stream cannot be captured */
	return real.cuStreamIsCapturing(stream, &status) ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : status;
}
static int capturing(CUstream stream) { return capture_of(stream) != CU_STREAM_CAPTURE_STATUS_NONE; }

/* Makes the stream's context current, which need not be. */
static int stream_enter(CUstream stream)
{
	CUcontext context;
	int named = stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
	return named && real.cuStreamGetCtx && !real.cuStreamGetCtx(stream, &context) && !real.cuCtxPushCurrent_v2(context);
}

static void stream_leave(int entered)
{
	CUcontext gone;
	if (entered)
		real.cuCtxPopCurrent_v2(&gone);
}

/* Whose blocks stand for the pool's memory. NULL: nobody's. */
static struct participant *pool_owner(CUmemoryPool pool)
{
	struct participant *p = NULL;
	pthread_mutex_lock(&vmm_lock);
	for (int place = 0; (p = participant_at_place(place)) && !pool_is_plain(p, pool); place++)
		continue;
	pthread_mutex_unlock(&vmm_lock);
	return p;
}

/* The same of the pool that is the one of the stream's GPU now, which is set. */
static struct participant *pool_owner_now(CUstream stream, CUmemoryPool *pool)
{
	int entered = stream_enter(stream);
	struct participant *p = participant_current();
	if (p && (!real.cuDeviceGetMemPool || real.cuDeviceGetMemPool(pool, p->device)))
		p = NULL;
	stream_leave(entered);
	return p && pool_owner(*pool) == p ? p : NULL;
}

/* The driver's answer instead. */
static CUresult foreign_pool(CUresult rc, int ours, size_t size, const char *call)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	struct participant *p = rc || ours ? NULL : participant_current();
	if (ours)
		return foreign(rc, size, call);
	if (p && !atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
		vmm_note(p, "foreign", call, "memory of a pool that other processes can open, or that lies elsewhere: not checked");
	return rc;
}

/* Default streams of threads have one handle, and an address of their own. */
static uint64_t order_of(CUstream stream)
{
	static __thread char own __attribute__((tls_model("initial-exec")));
	return stream == CU_STREAM_PER_THREAD ? (uintptr_t)&own : (uintptr_t)stream;
}

/* Available earlier than the stream's order asks for, never later. In a capture it is a node of the graph. */
CUresult vmm_cuMemAllocAsync(CUdeviceptr *at, size_t size, CUstream stream)
{
	static const char *const call = "cuMemAllocAsync";
	CUmemoryPool pool = NULL;
	int captured = capturing(stream);
	struct participant *p = captured ? NULL : pool_owner_now(stream, &pool);
	if (p && !alloc_in(p, at, &(struct block_want){.size = size, .stream = order_of(stream), .pool = pool}, call))
		return CUDA_SUCCESS;
	return foreign_pool(real.cuMemAllocAsync(at, size, stream), captured || p, size, call);
}

CUresult vmm_cuMemAllocFromPoolAsync(CUdeviceptr *at, size_t size, CUmemoryPool pool, CUstream stream)
{
	static const char *const call = "cuMemAllocFromPoolAsync";
	int captured = capturing(stream);
	participant_current(); /* the first that is seen of it, perhaps */
	struct participant *p = captured || !pool ? NULL : pool_owner(pool);
	if (p && !alloc_in(p, at, &(struct block_want){.size = size, .stream = order_of(stream), .pool = pool}, call))
		return CUDA_SUCCESS;
	return foreign_pool(real.cuMemAllocFromPoolAsync(at, size, pool, stream), captured || p, size, call);
}

uint64_t vmm_block_size(CUdeviceptr at)
{
	pthread_mutex_lock(&vmm_lock);
	const struct block *b = block_at(at);
	uint64_t size = b ? b->taken.size : 0;
	pthread_mutex_unlock(&vmm_lock);
	return size;
}

/* The block that starts there: 0 none, 1 small, 2 large. */
static int kind_of_block(CUdeviceptr at)
{
	pthread_mutex_lock(&vmm_lock);
	const struct block *b = block_at(at);
	int kind = b ? 1 + b->large : 0;
	pthread_mutex_unlock(&vmm_lock);
	return kind;
}

/* Waits as the plain cuMemFree does, by a plain cuMemFree of a piece of the same kind: cuCtxSynchronize would break any
 * capture (DESIGN §3), while this waits in relaxed mode and is refused in the others, as in a plain run. */
CUresult vmm_free_waits(struct participant *p, size_t piece)
{
	CUdeviceptr at = 0;
	struct vmm_section s;
	if (vmm_begin(p, &s))
		return CUDA_ERROR_DEINITIALIZED;
	CUresult rc = real.cuMemAlloc_v2(&at, piece);
	if (rc)
		rc = real.cuCtxSynchronize(); /* no room for the piece, or a context that is lost, which this tells */
	vmm_end(&s);
	if (!at)
		return rc;
	rc = real.cuMemFree_v2(at); /* in the program's own capture mode */
	if (rc == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && !vmm_begin(p, &s)) {
		real.cuMemFree_v2(at);
		vmm_end(&s);
	}
	return rc;
}

CUresult vmm_cuMemFree_v2(CUdeviceptr at)
{
	struct participant *p = participant_of(at);
	struct vmm_section s;
	int kind = p ? kind_of_block(at) : 0;
	if (!kind) {
		const uint64_t number = vmm_hosts_number(at); /* managed */
		CUresult plain = real.cuMemFree_v2(at);
		vmm_hosts_drop(at, plain ? 0 : number);
		return plain;
	}
	participant_current(); /* the first that is seen of a context, perhaps */
	CUresult rc = vmm_free_waits(p, kind == 2 ? GSAN_PAGE : 1); /* without the lock, for it may wait long */
	if (rc == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || rc == CUDA_ERROR_DEINITIALIZED || vmm_enter(p, &s))
		return rc;
	struct block *b = block_at(at);
	if (b)
		block_free(b);
	vmm_leave(&s);
	return b ? rc : CUDA_ERROR_INVALID_VALUE; /* another thread was faster */
}

CUresult vmm_cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
	CUevent event = NULL;
	CUcontext of = NULL;
	if (!participant_started() || !kind_of_block(at))
		return real.cuMemFreeAsync(at, stream);
	const CUstreamCaptureStatus capture = capture_of(stream);
	if (capture != CU_STREAM_CAPTURE_STATUS_NONE) /* which takes back what it gave, and nothing else. A driver that is asked for it (580) clones the graph no more. */
		return capture == CU_STREAM_CAPTURE_STATUS_ACTIVE ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	int entered = stream_enter(stream); /* an event is of one context */
	CUresult rc = real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
	int made = !rc;
	real.cuCtxGetCurrent(&of);
	if (made)
		rc = real.cuEventRecord(event, stream);
	stream_leave(entered);
	if (!made)
		return rc;
	pthread_mutex_lock(&vmm_lock);
	struct block *b = rc ? NULL : block_at(at);
	if (b)
		block_defer(b, event, of, order_of(stream));
	pthread_mutex_unlock(&vmm_lock);
	if (b)
		return CUDA_SUCCESS;
	real.cuEventDestroy_v2(event);
	return rc ? rc : CUDA_ERROR_INVALID_VALUE;
}

/* ---- questions ------------------------------------------------------------------------------------------------------ */

CUresult vmm_cuMemGetInfo_v2(size_t *free, size_t *total)
{
	CUresult rc = real.cuMemGetInfo_v2(free, total);
	if (!rc && free && participant_current())
		*free = *free / 5 * 4; /* a byte of data takes a quarter of a byte of shadow */
	return rc;
}

/* Memory that the program sees as one allocation: a block, or what it opened of another process's. */
struct held { struct span at; CUmemoryPool pool; int capable; /* of being opened by others */ };

static int block_holding(CUdeviceptr at, struct held *held)
{
	*held = (struct held){0};
	if (lent_holding(at, &held->at))
		return 1;
	if (!participant_started())
		return 0;
	pthread_mutex_lock(&vmm_lock);
	const struct block *b = block_find(at);
	if (b)
		*held = (struct held){{b->taken.base, b->size}, b->pool, !b->pool};
	pthread_mutex_unlock(&vmm_lock);
	return b != NULL;
}

CUresult vmm_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
	struct held h;
	if (!block_holding(at, &h))
		return real.cuMemGetAddressRange_v2(base, size, at);
	if (base)
		*base = h.at.base;
	if (size)
		*size = h.at.size;
	return CUDA_SUCCESS;
}

/* What the driver says of the chunk or handle behind a block, said of the block. */
static int attribute_differs(CUpointer_attribute a)
{
	return a == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || a == CU_POINTER_ATTRIBUTE_RANGE_SIZE ||
	       a == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES || a == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE ||
	       a == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
}

static void attribute_of_held(void *data, CUpointer_attribute attribute, const struct held *h)
{
	if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
		*(CUdeviceptr *)data = h->at.base;
	else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
		*(size_t *)data = h->at.size;
	else if (attribute == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES)
		*(uint64_t *)data = CU_MEM_HANDLE_TYPE_NONE;
	else if (attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
		*(CUmemoryPool *)data = h->pool;
	else if (attribute == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
		*(int *)data = h->capable;
}

/* Triton asks for every pointer of every launch: no lock for what needs none. */
CUresult vmm_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
	struct held h;
	CUresult rc = real.cuPointerGetAttribute(data, attribute, at);
	if (!rc && attribute_differs(attribute) && block_holding(at, &h))
		attribute_of_held(data, attribute, &h);
	return rc;
}

CUresult vmm_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attribute, void **data, CUdeviceptr at)
{
	struct held h;
	CUresult rc = real.cuPointerGetAttributes(count, attribute, data, at);
	if (!rc && block_holding(at, &h))
		for (unsigned i = 0; i < count; i++)
			attribute_of_held(data[i], attribute[i], &h);
	return rc;
}

/* It has no effect on our blocks (FACTS A). */
CUresult vmm_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	CUdevice from;
	CUresult rc = real.cuCtxEnablePeerAccess(peer, flags);
	if ((!rc || rc == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) && !real.cuCtxGetDevice(&from))
		vmm_share(from);
	return rc;
}
