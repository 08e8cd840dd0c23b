/* versions.def as functions of one of the two libraries, RUNTIME_MAJOR. The headers declare some of the names with other parameters: so the
 * functions have names of their own here. */
#include "emu/runtime/runtime.h"

#pragma GCC diagnostic ignored "-Wunused-variable" /* d */

#define BOTH(name, params, what) \
	RUNTIME_EXPORT cudaError_t CUDARTAPI version_##name params __asm__(#name); \
	cudaError_t CUDARTAPI version_##name params \
	{ \
		CUgraphNodeParams d; \
		int opened_ = runtime_context(); \
		return runtime_leave(opened_ ? opened_ : (int)(what)); \
	}
#if RUNTIME_MAJOR == 12
#define TWELVE(name, params, what) BOTH(name, params, what)
#define THIRTEEN(name, params, what)
#else
#define TWELVE(name, params, what)
#define THIRTEEN(name, params, what) BOTH(name, params, what)
#endif
#include "emu/runtime/versions.def"
