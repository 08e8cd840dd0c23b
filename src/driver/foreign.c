/* Managed, pinned and registered memory, which hosts use, too: it is given records (vmm/range.c), or what there is without is told. Memory that
 * is freed is free before its records go: another thread may have it by then, as other memory. */
#include <stdio.h>

#include "cuda/hooks.h"
#include "driver/flow.h"
#include "vmm/vmm.h"

/* `at`: a device address; 0: there is none that we know. */
static CUresult foreign_add(CUresult rc, enum job_foreign kind, CUdeviceptr at, size_t bytes)
{
	static const char *const names[] = JOB_FOREIGN_NAMES;
	struct flow *f = rc == CUDA_SUCCESS ? flow_current() : NULL;
	char name[64];

	snprintf(name, sizeof(name), "%s(%zu)", names[kind], bytes);
	if (f && (!at || vmm_hosts(at, bytes, name, NULL, kind == JOB_MANAGED)))
		atomic_fetch_add_explicit(&f->rank->foreign_bytes[kind], bytes, memory_order_relaxed);
	return rc;
}

/* Of a host's address. */
static CUdeviceptr foreign_at(CUresult rc, void *host)
{
	CUdeviceptr at;

	return rc == CUDA_SUCCESS && real.cuMemHostGetDevicePointer_v2 && real.cuMemHostGetDevicePointer_v2(&at, host, 0) == CUDA_SUCCESS ? at : 0;
}

CUresult hook_cuMemAllocManaged(CUdeviceptr *at, size_t size, unsigned flags)
{
	CUresult rc = real.cuMemAllocManaged(at, size, flags);

	return foreign_add(rc, JOB_MANAGED, rc == CUDA_SUCCESS ? *at : 0, size);
}

CUresult hook_cuMemHostAlloc(void **at, size_t size, unsigned flags)
{
	CUresult rc = real.cuMemHostAlloc(at, size, flags);

	return foreign_add(rc, JOB_PINNED, foreign_at(rc, rc == CUDA_SUCCESS ? *at : NULL), size);
}

CUresult hook_cuMemAllocHost_v2(void **at, size_t size)
{
	CUresult rc = real.cuMemAllocHost_v2(at, size);

	return foreign_add(rc, JOB_PINNED, foreign_at(rc, rc == CUDA_SUCCESS ? *at : NULL), size);
}

/* Another device's registers are no memory. */
CUresult hook_cuMemHostRegister_v2(void *at, size_t size, unsigned flags)
{
	CUresult rc = real.cuMemHostRegister_v2(at, size, flags);

	return foreign_add(rc, JOB_REGISTERED, flags & CU_MEMHOSTREGISTER_IOMEMORY ? 0 : foreign_at(rc, at), size);
}

/* It goes, by the program's call, at a host's address. */
static CUresult foreign_drop(CUresult (*call)(void *), void *at)
{
	CUdeviceptr start = foreign_at(CUDA_SUCCESS, at);
	uint64_t number = vmm_hosts_number(start);
	CUresult rc = call(at);

	vmm_hosts_drop(start, rc == CUDA_SUCCESS ? number : 0);
	return rc;
}

CUresult hook_cuMemFreeHost(void *at) { return foreign_drop(real.cuMemFreeHost, at); }
CUresult hook_cuMemHostUnregister(void *at) { return foreign_drop(real.cuMemHostUnregister, at); }
