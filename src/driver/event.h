/* Events: a recorded event is a point in its stream, which a stream or the host may join. Here is what others say of them. */
#ifndef GSAN_DRIVER_EVENT_H
#define GSAN_DRIVER_EVENT_H

#include <cuda.h>

/* Around a call that records the event where we cannot look: until it is recorded again, anything may be before it. */
void event_begin(CUevent handle);
void event_unknown(CUevent handle, CUresult rc);
/* What is not seen may record it at any time: the same for good. */
void event_elsewhere(CUevent handle);

/* What it says of order if such a node is added to a graph, or set. */
void event_node(const CUgraphNodeParams *params);

#endif
