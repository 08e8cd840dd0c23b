/* absent.def as functions. Their parameters are not looked at, so that none needs its prototype. */
#include <driver_types.h>

#include "base/log.h"

#define ABSENT(name) \
	__attribute__((visibility("default"))) cudaError_t name(void); \
	cudaError_t name(void) \
	{ \
		log_once(LOG_ERROR, "emulated device: %s: there is no such thing on this device: cudaErrorNotSupported", #name); \
		return runtime_leave(cudaErrorNotSupported); \
	}
#define ABSENT_PTSZ(name) ABSENT(name) ABSENT(name##_ptsz)
#define ABSENT_PTDS(name) ABSENT(name) ABSENT(name##_ptds)

cudaError_t runtime_leave(int result); /* runtime.h declares these functions, with their parameters */
#include "emu/runtime/absent.def"
