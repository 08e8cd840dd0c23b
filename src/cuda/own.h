/* Events and streams of ours. An event says nothing to the program's host. In a stream that is held up an H100 takes 57 of those that block
 * who waits, and then the call that records one waits, too: so ours do not. The emulated device knows ours by flags that no GPU's driver
 * takes (EMU_TRACE_OWN_FLAGS). */
#ifndef GSAN_CUDA_OWN_H
#define GSAN_CUDA_OWN_H

#include <cuda.h>

CUresult own_event(CUevent *event);
CUresult own_stream(CUstream *stream, int priority); /* 0: the usual one. Not ordered with the legacy stream */

#endif
