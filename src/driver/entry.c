/* The exported entries, made from hooks.def: each passes the call through unchanged unless the process is checked and
 * the thread is not inside a hook already. The prototypes are cuda.h's, so a row whose parameters are wrong does not
 * compile. */
#include "cuda/hooks.h"
#include "cuda/real.h"
#include "driver/copy.h"
#include "driver/state.h"
#include "driver/ways.h"
#include "vmm/vmm.h"

/* cuda.h declares only the plain name of a function in two flavours. */
#define ENTRY(name, parameters) \
	__attribute__((visibility("default"))) CUresult name parameters; \
	CUresult name parameters
#define GUARD(function, arguments) \
	if (real_load(1) || !real.function) \
		return driver_missing(#function); \
	if (!driver_enter()) \
		return real.function arguments; \
	CUresult rc

#define LEAVE \
	driver_leave(); \
	if (rc != CUDA_SUCCESS) \
		vmm_result(rc); \
	return rc

#define HOOK(name, parameters, arguments, body) \
	ENTRY(name, parameters) \
	{ \
		GUARD(name, arguments) = body arguments; \
		LEAVE; \
	}
#define HOOK_PTSZ(name, parameters, arguments, body) \
	HOOK(name, parameters, arguments, body) \
	ENTRY(name##_ptsz, parameters) \
	{ \
		GUARD(name##_ptsz, arguments); \
		if (!stream) \
			stream = CU_STREAM_PER_THREAD; \
		rc = body arguments; \
		LEAVE; \
	}
#define COPY_ENTRY(name, parameters, arguments, in, way, blocks) \
	ENTRY(name, parameters) \
	{ \
		struct copy copy_; \
		copy_.at[0] = copy_.at[1] = 0; \
		copy_.named = 0; \
		GUARD(name, arguments); \
		copy_begin(&copy_, in, way, blocks); \
		rc = real.name arguments; \
		copy_end(&copy_, rc); \
		LEAVE; \
	}
#define COPY_BETWEEN(to, from) copy_between(&copy_, to, from) /* ways */
#define COPY_OF_PEERS(to, from) copy_of_peers(&copy_, to, from)
#define COPY_BOX(copy) copy_between(&copy_, (copy) ? (copy)->dstDevice : 0, (copy) ? (copy)->srcDevice : 0)
#define COPY_BOX_OF_PEERS(copy) copy_of_peers(&copy_, (copy) ? (copy)->dstDevice : 0, (copy) ? (copy)->srcDevice : 0)
#define COPY(name, parameters, arguments, way) \
	COPY_ENTRY(name, parameters, arguments, NULL, COPY_##way, 1) \
	COPY_ENTRY(name##_ptds, parameters, arguments, CU_STREAM_PER_THREAD, COPY_##way, 1)
#define COPY_ASYNC(name, parameters, arguments, way) \
	COPY_ENTRY(name, parameters, arguments, stream, COPY_##way, 0) \
	COPY_ENTRY(name##_ptsz, parameters, arguments, stream ? stream : CU_STREAM_PER_THREAD, COPY_##way, 0)
#define COPY_TO(name, parameters, arguments, way, target) \
	COPY_ENTRY(name, parameters, arguments, stream, COPY_##way, copy_waits((CUdeviceptr)(uintptr_t)(target))) \
	COPY_ENTRY(name##_ptsz, parameters, arguments, stream ? stream : CU_STREAM_PER_THREAD, COPY_##way, \
		   copy_waits((CUdeviceptr)(uintptr_t)(target)))
#define COPY_TARGET(copy) /* of a box: no pageable memory is on a device, nor an array */ \
	(!(copy) ? 0 : (copy)->dstMemoryType == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)(copy)->dstHost : \
	 (copy)->dstMemoryType == CU_MEMORYTYPE_UNIFIED ? (copy)->dstDevice : 0)
#include "cuda/hooks.def"

const struct ways_row ways_rows[] = {
#define ROW(name) {#name, (void *)name, (void **)&real.name},
#define HOOK(name, ...) ROW(name)
#define HOOK_PTSZ(name, ...) ROW(name) ROW(name##_ptsz)
#define COPY(name, ...) ROW(name) ROW(name##_ptds)
#define COPY_ASYNC HOOK_PTSZ
#define COPY_TO HOOK_PTSZ
#include "cuda/hooks.def"
	{NULL, NULL, NULL},
};
