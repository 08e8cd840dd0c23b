#include "cuda/own.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/real.h"
#include "device/abi.h"

/* Whether the device is the emulated one. The environment is read once: copies are many, and the program may write there. */
static int emulated(void)
{
	enum { UNREAD, NO, YES };
	static _Atomic int known;
	int is = atomic_load_explicit(&known, memory_order_relaxed);

	if (is == UNREAD) {
		is = getenv("EMU_TRACE_OWN_FLAGS") ? YES : NO;
		atomic_store_explicit(&known, is, memory_order_relaxed);
	}
	return is == YES;
}

CUresult own_event(CUevent *event)
{
	return real.cuEventCreate(event, emulated() ? GSAN_EMU_OWN_FLAGS : CU_EVENT_DISABLE_TIMING);
}

CUresult own_stream(CUstream *stream, int priority)
{
	unsigned flags = emulated() ? GSAN_EMU_OWN_FLAGS : CU_STREAM_NON_BLOCKING;

	return priority ? real.cuStreamCreateWithPriority(stream, flags, priority) : real.cuStreamCreate(stream, flags);
}
