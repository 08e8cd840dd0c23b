#include "vmm/pool.h"

#include <string.h>

#include "vmm/block.h"

#define POOLS 64 /* of more the driver has the memory, which is not checked */

static struct pool {
	CUmemoryPool handle; /* NULL: free */
	CUdevice device;
	uint64_t used, high[2]; /* of blocks; high: of used and of reserved memory, which the program resets apart */
} pools[POOLS];

static struct pool *pool_find(CUmemoryPool handle)
{
	for (struct pool *q = pools; q < pools + POOLS; q++)
		if (q->handle == handle)
			return q;
	return NULL;
}

static struct pool *pool_add(CUmemoryPool handle, CUdevice device)
{
	struct pool *q = pool_find(NULL);
	if (q)
		*q = (struct pool){.handle = handle, .device = device};
	return q;
}

int pool_is_plain(const struct participant *p, CUmemoryPool pool)
{
	CUmemoryPool own;
	const struct pool *q = pool ? pool_find(pool) : NULL;
	if (!q && pool && real.cuDeviceGetDefaultMemPool && !real.cuDeviceGetDefaultMemPool(&own, p->device) && own == pool)
		q = pool_add(pool, p->device);
	return q && q->device == p->device;
}

void pool_count(CUmemoryPool pool, uint64_t bytes, int given)
{
	struct pool *q = pool ? pool_find(pool) : NULL;
	if (!q)
		return;
	q->used = given ? q->used + bytes : q->used - bytes;
	for (int i = 0; i < 2; i++)
		if (q->high[i] < q->used)
			q->high[i] = q->used;
}

/* ---- hooks ---------------------------------------------------------------------------------------------------------- */

CUresult vmm_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUresult rc = real.cuMemPoolCreate(pool, props);
	if (rc)
		return rc;
	CUmemPoolProps plain = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = props->location.id}};
	if (!memcmp(props, &plain, sizeof plain)) {
		pthread_mutex_lock(&vmm_lock);
		pool_add(*pool, props->location.id);
		pthread_mutex_unlock(&vmm_lock);
	}
	return CUDA_SUCCESS;
}

/* The handle's value may be another pool's soon. */
CUresult vmm_cuMemPoolDestroy(CUmemoryPool pool)
{
	pthread_mutex_lock(&vmm_lock);
	struct pool *q = pool ? pool_find(pool) : NULL;
	if (q) {
		block_leave_pool(pool);
		*q = (struct pool){0};
	}
	pthread_mutex_unlock(&vmm_lock);
	return real.cuMemPoolDestroy(pool);
}

/* It has no effect on our blocks, which all devices of the process may touch. */
CUresult vmm_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	CUresult rc = real.cuMemPoolSetAccess(pool, access, count);
	for (size_t i = 0; !rc && i < count; i++)
		if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && access[i].flags)
			vmm_share(access[i].location.id);
	return rc;
}

CUresult vmm_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult rc = real.cuMemPoolGetAttribute(pool, attribute, value);
	if (rc)
		return rc;
	pthread_mutex_lock(&vmm_lock);
	const struct pool *q = pool_find(pool);
	if (q && (attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT))
		*(cuuint64_t *)value += q->used;
	else if (q && (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH))
		*(cuuint64_t *)value += q->high[attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH];
	pthread_mutex_unlock(&vmm_lock);
	return rc;
}

CUresult vmm_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult rc = real.cuMemPoolSetAttribute(pool, attribute, value);
	if (rc || (attribute != CU_MEMPOOL_ATTR_USED_MEM_HIGH && attribute != CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH))
		return rc;
	pthread_mutex_lock(&vmm_lock);
	struct pool *q = pool_find(pool);
	if (q)
		q->high[attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH] = q->used;
	pthread_mutex_unlock(&vmm_lock);
	return rc;
}
