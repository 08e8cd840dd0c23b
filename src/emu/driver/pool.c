/* Stream-ordered memory: one default pool per device, and pools of the program's own, which only count. An allocation
 * is ready at once (earlier than its stream promises); a free takes effect in its stream's order. */
#include <stdlib.h>

#include "emu/driver/graph/capture.h"
#include "emu/driver/queue.h"
#include "emu/driver/range.h"

struct CUmemPoolHandle_st {
	CUdevice device;
	uint64_t used, high, threshold;
};

struct free_op { struct emu_op op; uint64_t base; };

static CUresult default_pool(CUdevice device, CUmemoryPool *pool)
{
	if (device < 0 || device >= emu.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	struct emu_device *d = &emu.device[device];
	if (!d->default_pool) {
		d->default_pool = calloc(1, sizeof *d->default_pool);
		if (!d->default_pool)
			return CUDA_ERROR_OUT_OF_MEMORY;
		d->default_pool->device = device;
	}
	*pool = d->default_pool;
	return CUDA_SUCCESS;
}

/* Memory that a graph allocates. */
static CUresult no_node(CUstream s)
{
	emu_capture_refuse(s);
	return emu_not_supported("memory that a captured stream allocates");
}

static CUresult allocate(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream handle)
{
	CUcontext c;
	CUstream s;
	struct emu_range *r;
	CUresult result = address ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = emu_stream_use(c, handle, &s);
	if (!result)
		result = s->captured ? no_node(s) : emu_capture_unsafe();
	if (!result && !pool)
		pool = emu.device[c->device].pool;
	if (!result && !pool)
		result = default_pool(c->device, &pool);
	if (!result)
		result = emu_range_alloc(c, EMU_DEVICE, size, &r);
	if (result)
		return emu_leave(result);
	r->pool = pool;
	pool->used += size;
	if (pool->used > pool->high)
		pool->high = pool->used;
	*address = r->base;
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuMemAllocAsync, _ptsz, (CUdeviceptr *address, size_t size, CUstream stream), (address, size, stream))
{
	return allocate(address, size, NULL, stream);
}

EMU_STREAM_API(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream),
	       (address, size, pool, stream))
{
	return pool ? allocate(address, size, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}

static int run_free(struct emu_op *op, struct emu_turn *turn)
{
	(void)turn;
	struct emu_range *r = emu_range_find(&emu_known, ((struct free_op *)op)->base);
	if (r && r->pool)
		r->pool->used -= r->size;
	if (r)
		emu_range_free(r);
	return 1;
}

EMU_STREAM_API(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream), (address, stream))
{
	CUcontext c;
	CUstream s;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	const struct emu_range *r = emu_range_find(&emu_known, address);
	if (!r || r->base != address || r->kind != EMU_DEVICE)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	result = emu_stream_use(c, stream, &s);
	if (!result && s->captured) /* of what no graph allocated there is no node; the capture goes on */
		result = CUDA_ERROR_INVALID_VALUE;
	struct free_op *op = result ? NULL : emu_op_new(sizeof *op, run_free);
	if (!op)
		return emu_leave(result ? result : CUDA_ERROR_OUT_OF_MEMORY);
	op->base = address;
	op->op.marker = 1;
	emu_op_push(s, &op->op);
	return emu_leave(CUDA_SUCCESS);
}

/* ---- pools */

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	CUresult result = pool ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	return result ? result : emu_leave(default_pool(device, pool));
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	CUresult result = pool ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (device < 0 || device >= emu.devices || !emu.device[device].pool)
		return emu_leave(default_pool(device, pool));
	*pool = emu.device[device].pool;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	CUresult result = pool ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (device < 0 || device >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	emu.device[device].pool = pool;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUresult result = pool && props ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (props->handleTypes || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
	if (props->location.id < 0 || props->location.id >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	CUmemoryPool p = calloc(1, sizeof *p);
	if (!p)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	p->device = props->location.id;
	*pool = p;
	return emu_leave(CUDA_SUCCESS);
}

/* Memory of the pool may outlive it, so it is kept. */
CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult result = pool ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (emu.device[pool->device].pool == pool)
		emu.device[pool->device].pool = NULL;
	return emu_leave(pool == emu.device[pool->device].default_pool ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	(void)keep; /* nothing is held back */
	CUresult result = pool ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	return result ? result : emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult result = pool && value ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		pool->threshold = *(cuuint64_t *)value;
	else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		pool->high = pool->used;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult result = pool && value ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	int used = attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
	int high = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
	if (used || high)
		*(cuuint64_t *)value = used ? pool->used : pool->high;
	else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		*(cuuint64_t *)value = pool->threshold;
	else
		*(int *)value = 1; /* the reuse switches */
	return emu_leave(CUDA_SUCCESS);
}

/* All devices of a process reach all its memory. */
CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *desc, size_t count)
{
	(void)count;
	CUresult result = pool && desc ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	return result ? result : emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
	CUresult result = flags && pool && location ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return emu_leave(CUDA_SUCCESS);
}
