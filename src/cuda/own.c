#include "cuda/own.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/real.h"

/* On a GPU `usual`, on the emulated device what that knows. The environment is read once: copies are many, and the program may write there. */
static unsigned own_flags(unsigned usual)
{
	static _Atomic unsigned known;
	static _Atomic int read;

	if (!atomic_load_explicit(&read, memory_order_acquire)) {
		const char *text = getenv("EMU_TRACE_OWN_FLAGS");
		atomic_store_explicit(&known, text ? (unsigned)strtoul(text, NULL, 0) : 0, memory_order_relaxed);
		atomic_store_explicit(&read, 1, memory_order_release);
	}
	unsigned flags = atomic_load_explicit(&known, memory_order_relaxed);
	return flags ? flags : usual;
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
