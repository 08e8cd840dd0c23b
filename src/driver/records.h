/* The launch records of a graph's nodes, on the device: a node's parameters are set once, so its clone is told where its record lies
 * (layout.h, `at`). Before each replay, in its stream, a kernel makes all of them, or a copy from pinned memory brings them: the host fills another image each
 * time, until the copies of older ones are known to be over. Where none is left, and where nothing is to be checked, the records are
 * nobody's (layout.h, number 0), which never change, and are brought behind the replay before, too. Places on the device are not freed, for that waits
 * for all work; later graphs get them. */
#ifndef GSAN_DRIVER_RECORDS_H
#define GSAN_DRIVER_RECORDS_H

#include "device/node.h"
#include "driver/flow.h"

struct records;

/* For `count` nodes, in the current context. Nothing lies there until it is brought. NULL: there is no memory. */
struct records *records_new(struct flow *f, uint32_t count);
void records_drop(struct records *r); /* no replay comes any more; those under way may be */
void records_forget_context(CUcontext context); /* which has ended: of those that were dropped */
uint64_t records_at(const struct records *r, uint32_t i);

/* Another way: the device is told once what of the records does not change, and a kernel makes them in the stream of each replay (device/nodes.h), with
 * what is the same for all of them as its parameter. No image is taken, and none awaited. 1: it is to be had for this stream. */
int records_makes(const struct records *r, struct flow *f, CUstream stream);
/* The image last given out has what does not change, until it is told anew. */
CUresult records_tell(struct records *r, CUstream stream);
CUresult records_make(struct records *r, struct flow *f, struct gsan_replay *replay, uint32_t slot, CUstream stream);
CUresult records_warm(CUfunction nodes, CUstream stream); /* runs the kernel for nothing */

/* The caller lets one replay after the other through. An image to be filled, or NULL: nobody's is to be brought. */
struct gsan_launch *records_image(struct records *r);
/* The image last given out, behind the replay before, in whatever stream that was. With an error nothing is known of what is there. */
CUresult records_bring(struct records *r, CUstream stream);
CUresult records_bring_nobody(struct records *r, CUstream stream);
/* The replay was enqueued there; in a launch of that slot, or CLOCK_SHARED: it is not known what tells of its end. */
void records_used(struct records *r, uint32_t slot, CUstream stream);

#endif
