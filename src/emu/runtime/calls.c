/* calls.def as functions. */
#include "emu/runtime/runtime.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* of hints, and `form` of sets */

#define OPENED(opens, name, params, what) \
	RUNTIME_EXPORT cudaError_t CUDARTAPI name params; \
	cudaError_t CUDARTAPI name params \
	{ \
		int opened_ = opens; \
		return runtime_leave(opened_ ? opened_ : (int)(what)); \
	}
#define CALL_NODE(name, params, what) \
	RUNTIME_EXPORT cudaError_t CUDARTAPI name params; \
	cudaError_t CUDARTAPI name params \
	{ \
		CUgraphNodeParams d; \
		int opened_ = runtime_context(); \
		return runtime_leave(opened_ ? opened_ : (int)(what)); \
	}
#define ASK(name, params, what) OPENED(runtime_driver(), name, params, what)
#define CALL(name, params, what) OPENED(runtime_context(), name, params, what)
#define CALL_PTSZ(name, params, what) \
	CALL(name, params, what) \
	CALL(name##_ptsz, params, (stream = stream ? stream : cudaStreamPerThread, (int)(what)))
#define DRIVER(f) (form == RUNTIME_LEGACY ? f : f##_ptds)
#define CALL_PTDS(name, params, what) \
	CALL_FORM(name, params, what, RUNTIME_LEGACY) \
	CALL_FORM(name##_ptds, params, what, RUNTIME_PER_THREAD)
#define CALL_FORM(name, params, what, which) \
	RUNTIME_EXPORT cudaError_t CUDARTAPI name params; \
	cudaError_t CUDARTAPI name params \
	{ \
		const enum runtime_form form = which; \
		int opened_ = runtime_context(); \
		return runtime_leave(opened_ ? opened_ : (int)(what)); \
	}
#include "emu/runtime/calls.def"
