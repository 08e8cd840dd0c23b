/* vmm: the program's device memory. It puts every allocation into the arena (device/layout.h), where the address says
 * which line records belong to it; maps those records, its own and its peers'; and stands for the process as one
 * participant of the job. Physical memory comes from cuMemCreate and is mapped where the program expects it.
 *
 * Everything here runs inside a hook: it calls the driver through `real` only. When anything is in doubt the program's
 * call is passed on unchanged, and what runs unchecked for it is noted once. One lock guards the bookkeeping; it is
 * never held across a call that can wait for the program's kernels (zeroing is copies on a stream of our own). */
#ifndef GSAN_VMM_VMM_H
#define GSAN_VMM_VMM_H

#include "cuda/real.h"
#include "ipc/job.h"

struct vmm;

struct participant {
	int index;        /* its number in the job */
	int socket;       /* to the supervisor: ipc_call */
	struct job *job;  /* the job's shared memory; own part: &job->rank[index] */
	CUdevice device;
	CUcontext context;
	CUstream stream;  /* non-blocking, of the tool alone */
	uint32_t gpu;     /* index in the job */
	uint32_t seed, tag_bits;
	uint64_t ring;    /* device address of job->rank[index].ring */
	uint64_t table;   /* device address of its struct gsan_table_head */
	struct vmm *vmm;
};

/* The participant of the current context; the first call with a current context starts it. NULL: runs unchecked. */
struct participant *participant_current(void);

uint32_t vmm_mapped(struct participant *p);    /* bit q: the tables of participant q are mapped; maps newcomers */
uint64_t vmm_view_table(struct participant *p); /* 0: no views yet */
uint64_t vmm_ring(struct participant *p);
int vmm_renew(struct participant *p);          /* empties all mapped line records; 0 or -EIO */
/* Captures begun (+1) and ended (-1): while any is under way nothing here synchronises the context. */
void vmm_capturing(int change);

/* Bodies of hooks, with the driver's signatures. For name_ptsz the entry passes CU_STREAM_PER_THREAD for stream 0. Not
 * here because the driver's own answer is right: cuMemSetAccess, cuMemGetAccess, cuMemGetAllocationPropertiesFromHandle. */
#define VMM_BODY(name) __typeof__(name) vmm_##name;
#define VMM_BODIES(X) \
	X(cuMemAlloc_v2) X(cuMemAllocPitch_v2) X(cuMemFree_v2) \
	X(cuMemAllocAsync) X(cuMemAllocFromPoolAsync) X(cuMemFreeAsync) \
	X(cuMemGetInfo_v2) X(cuMemGetAddressRange_v2) X(cuPointerGetAttribute) X(cuPointerGetAttributes) \
	X(cuIpcGetMemHandle) X(cuCtxEnablePeerAccess) \
	X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) \
	X(cuMemRetainAllocationHandle) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle)
VMM_BODIES(VMM_BODY)

#endif
