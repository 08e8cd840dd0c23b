/* Copies and sets. As far as order goes: each takes a number in its stream; one that the host waits for joins the host's clock when it
 * returns; one to host memory may be how a host reads a value. What they read and write of checked memory (reach.h) is checked when they
 * are over (late.h). */
#ifndef GSAN_DRIVER_COPY_H
#define GSAN_DRIVER_COPY_H

#include "driver/flow.h"

/* From where to where. */
enum copy_way {
	COPY_NEITHER = 0, COPY_IN = 1 /* writes device memory */, COPY_OUT = 2 /* to a host */, COPY_BOTH = 3, /* its arguments would have to tell */
	COPY_SEVERAL = 7 /* BOTH, and the first of them may have been taken if the driver refused the rest */
};

struct copy {
	const char *name;    /* the driver's function */
	CUdeviceptr at[2];   /* where it leads to and from, or 0; */
	int named;           /* the driver is told on which GPUs these are */
	struct gsan_boxes boxes;  /* what it touches of checked memory, */
	struct gsan_boxes *more;  /* and of a batch what has no room there; malloc'ed */
	size_t mores, room;
	int untold;          /* something that it touches is in neither */
	int frees;           /* it writes nothing, but what it names is given back then; it counts as no copy */
	int valued;          /* it writes a stream's value, of which GPUs are told as such (values.h) */
	enum gsan_condition condition; /* of a stream's wait: what it waits for in what it reads, */
	uint64_t value;      /* with this */
	/* The rest is copy_begin()'s. */
	struct flow *end[2]; /* of a copy in a default stream, these GPUs; else NULL */
	int apart;           /* one of the two is not checked, or not yet: it may order anything */
	struct flow *flow, *elsewhere; /* one at most; the latter if it writes */
	enum copy_way way;
	int blocks;
	uint32_t slot, seq;
	struct clock_vec mark;
	struct late *late;   /* NULL: its bytes are not checked, */
	const char *unchecked; /* for this reason; NULL: there are none */
};

/* May an asynchronous copy to `to` (0: no memory of a host) return only once it is done? To pageable memory of the host it did so until CUDA 11, and since
 * then it may. Asks the driver. */
int copy_waits(CUdeviceptr to);
void copy_open(struct copy *c, const char *name); /* before reach.h says what it touches, which is before copy_begin() */
void copy_begin(struct copy *c, CUstream stream, enum copy_way way, int blocks);
void copy_end(struct copy *c, CUstream stream, CUresult rc);
/* Said and counted once the driver took it, by c->late and c->unchecked. */
void copy_counted(const struct copy *c);
#define COPY_NO_EVENT "the driver took no event behind it"

#endif
