/* Copies and sets, as far as order goes: each takes a number in its stream; one that the host waits for joins the host's
 * clock when it returns; one to host memory may be how a host reads a value. (Their ranges are not checked.) */
#ifndef GSAN_DRIVER_COPY_H
#define GSAN_DRIVER_COPY_H

#include "driver/flow.h"

/* From where to where; BOTH: its arguments would have to tell. */
enum copy_way {
	COPY_NEITHER = 0, COPY_IN = 1 /* writes device memory */, COPY_OUT = 2 /* to a host */, COPY_BOTH = 3,
	COPY_SEVERAL = 7 /* BOTH, and the first of them may have been taken if the driver refused the rest */
};

struct copy {
	CUdeviceptr at[2];   /* where it leads to and from, or 0; */
	int named;           /* the driver is told on which GPUs these are. Before copy_begin() */
	struct flow *end[2]; /* of a copy in a default stream, these GPUs; else NULL */
	int apart;           /* one of the two is not checked, or not yet: it may order anything */
	struct flow *flow, *elsewhere; /* one at most; the latter if it writes */
	enum copy_way way;
	int blocks;
	uint32_t slot, seq;
	struct clock_vec mark;
};
/* May an asynchronous copy to `to` (0: no memory of a host) return only once it is done? To pageable memory of the host it did so until CUDA 11, and since
 * then it may. Asks the driver. */
int copy_waits(CUdeviceptr to);
/* Notes where it leads to and from: the answer is COPY_BOTH. */
enum copy_way copy_between(struct copy *c, CUdeviceptr to, CUdeviceptr from);
enum copy_way copy_of_peers(struct copy *c, CUdeviceptr to, CUdeviceptr from); /* which the call names */
void copy_begin(struct copy *c, CUstream stream, enum copy_way way, int blocks);
void copy_end(struct copy *c, CUresult rc);

#endif
