/* Managed and pinned memory: hosts use it unseen, so it has no shadow, and kernels' accesses to it are counted only. How
 * much there is of it is told. */
#include "cuda/hooks.h"
#include "driver/flow.h"
#include "vmm/vmm.h"

static CUresult foreign_add(CUresult rc, enum job_foreign kind, size_t bytes)
{
	struct flow *f = rc == CUDA_SUCCESS ? flow_current() : NULL;

	if (f)
		atomic_fetch_add_explicit(&f->rank->foreign_bytes[kind], bytes, memory_order_relaxed);
	return rc;
}

CUresult hook_cuMemAllocManaged(CUdeviceptr *at, size_t size, unsigned flags)
{
	return foreign_add(real.cuMemAllocManaged(at, size, flags), JOB_MANAGED, size);
}

CUresult hook_cuMemHostAlloc(void **at, size_t size, unsigned flags)
{
	return foreign_add(real.cuMemHostAlloc(at, size, flags), JOB_PINNED, size);
}

CUresult hook_cuMemAllocHost_v2(void **at, size_t size)
{
	return foreign_add(real.cuMemAllocHost_v2(at, size), JOB_PINNED, size);
}

CUresult hook_cuMemHostRegister_v2(void *at, size_t size, unsigned flags)
{
	return foreign_add(real.cuMemHostRegister_v2(at, size, flags), JOB_REGISTERED, size);
}
