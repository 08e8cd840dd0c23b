#include "vmm/pool.h"

#include <string.h>

#include "vmm/block.h"
#include "vmm/lent.h"

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

static int pool_is_of(CUmemoryPool pool, CUdevice device)
{
	CUmemoryPool own;
	const struct pool *q = pool ? pool_find(pool) : NULL;
	if (!q && pool && real.cuDeviceGetDefaultMemPool && !real.cuDeviceGetDefaultMemPool(&own, device) && own == pool)
		q = pool_add(pool, device);
	return q && q->device == device;
}

int pool_is_plain(const struct participant *p, CUmemoryPool pool) { return pool_is_of(pool, p->device); }

/* There need not be a participant yet. */
void pool_share(CUdevice device, uint32_t devices)
{
	struct vmm_section s;
	if (device >= 32 || !(devices & ~atomic_fetch_or_explicit(&vmm_peers[device], devices, memory_order_relaxed)))
		return;
	struct participant *p = participant_on(device);
	if (!p || vmm_enter(p, &s))
		return;
	block_share(p);
	lent_share(p);
	vmm_leave(&s);
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

/* It has no effect on our blocks, of which all get what those of one pool should. */
CUresult vmm_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	CUresult rc = real.cuMemPoolSetAccess(pool, access, count);
	uint32_t devices = 0;
	CUdevice of = 0;
	if (rc)
		return rc;
	pthread_mutex_lock(&vmm_lock);
	while (of < 32 && !pool_is_of(pool, of))
		of++;
	pthread_mutex_unlock(&vmm_lock);
	for (size_t i = 0; i < count; i++)
		if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && access[i].flags && (unsigned)access[i].location.id < 32 &&
		    access[i].location.id != of)
			devices |= 1u << access[i].location.id;
	pool_share(of, devices);
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
