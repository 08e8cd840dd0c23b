/* The exported entries, made from hooks.def: each passes the call through unchanged unless the process is checked and
 * the thread is not inside a hook already. The prototypes are cuda.h's, so a row whose parameters are wrong does not
 * compile. */
#include "cuda/hooks.h"
#include "cuda/real.h"
#include "driver/reach.h"
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
#define COPY_ENTRY(name, parameters, arguments, in, touches, blocks) \
	ENTRY(name, parameters) \
	{ \
		struct copy copy_; \
		GUARD(name, arguments); \
		copy_open(&copy_, #name); \
		copy_begin(&copy_, in, touches, blocks); \
		rc = real.name arguments; \
		copy_end(&copy_, in, rc); \
		LEAVE; \
	}
#define TOUCHES_NOTHING COPY_NEITHER /* what a copy touches, and its way */
#define FROM_ARRAY_OUT COPY_OUT
#define IN(to, n) reach_in(&copy_, to, n)
#define UP(to, from, n) reach_up(&copy_, to, from, n)
#define DOWN(to, from, n) reach_down(&copy_, to, from, n)
#define FROM(from, n) reach_from(&copy_, from, n)
#define WITHIN(to, from, n) reach_within(&copy_, to, from, n)
#define BETWEEN(to, from, n) reach_between(&copy_, to, from, n)
#define OF_PEERS(to, from, n) reach_of_peers(&copy_, to, from, n)
#define ROWS(to, pitch, width, height) reach_rows(&copy_, to, pitch, width, height)
#define RECTANGLE(copy) reach_rectangle(&copy_, copy)
#define BOX(copy) reach_box(&copy_, copy)
#define BOX_OF_PEERS(copy) reach_box_of_peers(&copy_, copy)
#define BATCH(to, from, sizes, count) reach_batch(&copy_, to, from, sizes, count)
#define BOXES(copy, count) reach_boxes(&copy_, copy, count)
#define ONE_BOX(copy) reach_one_box(&copy_, copy)
#define COPY(name, parameters, arguments, touches) \
	COPY_ENTRY(name, parameters, arguments, NULL, touches, 1) \
	COPY_ENTRY(name##_ptds, parameters, arguments, CU_STREAM_PER_THREAD, touches, 1)
#define COPY_ASYNC(name, parameters, arguments, touches) \
	COPY_ENTRY(name, parameters, arguments, stream, touches, 0) \
	COPY_ENTRY(name##_ptsz, parameters, arguments, stream ? stream : CU_STREAM_PER_THREAD, touches, 0)
#define COPY_TO(name, parameters, arguments, touches, target) \
	COPY_ENTRY(name, parameters, arguments, stream, touches, copy_waits((CUdeviceptr)(uintptr_t)(target))) \
	COPY_ENTRY(name##_ptsz, parameters, arguments, stream ? stream : CU_STREAM_PER_THREAD, touches, \
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
