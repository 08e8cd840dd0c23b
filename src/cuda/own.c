#include "cuda/own.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/real.h"

/* On a GPU `usual`, on the emulated device what that knows. The environment is read once: copies are many, and the program may write there. */
#define OWN_USUAL (~0u)
static unsigned own_flags(unsigned usual)
{
	static _Atomic unsigned known; /* 0: not read yet; OWN_USUAL: nobody says any */
	unsigned flags = atomic_load_explicit(&known, memory_order_relaxed);

	if (!flags) {
		const char *text = getenv("EMU_TRACE_OWN_FLAGS");
		flags = text ? (unsigned)strtoul(text, NULL, 0) : OWN_USUAL;
		atomic_store_explicit(&known, flags, memory_order_relaxed);
	}
	return flags == OWN_USUAL ? usual : flags;
}

CUresult own_event(CUevent *event)
{
	return real.cuEventCreate(event, own_flags(CU_EVENT_DISABLE_TIMING));
}

CUresult own_stream(CUstream *stream, int priority)
{
	unsigned flags = own_flags(CU_STREAM_NON_BLOCKING);

	return priority ? real.cuStreamCreateWithPriority(stream, flags, priority) : real.cuStreamCreate(stream, flags);
}
