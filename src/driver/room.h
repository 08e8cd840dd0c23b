/* room: the local memory of a context, which the driver enlarges when a kernel that needs more is launched for the first time. It waits for all that
 * the GPU was given then: behind a stream that waits for what is enqueued later, that is for ever. So what clones need is made ready while nothing runs. */
#ifndef GSAN_DRIVER_ROOM_H
#define GSAN_DRIVER_ROOM_H

#include "driver/flow.h"

/* Bytes of each thread: no fewer than the runtime's longest chain of calls takes (tests/unit/ptxas/spills_test.py). */
#define ROOM_BYTES 1664

/* Of the current context, in which nothing runs: so much, and no less than ROOM_BYTES. What cannot be made is said once. */
void room_make(struct flow *f, int bytes);
int room_is_made(const struct flow *f, int bytes);

#endif
