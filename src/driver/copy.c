#include "driver/copy.h"

#include "cuda/real.h"

/* On a GPU that is not checked. */
static void copy_elsewhere(enum copy_way way)
{
	struct flow *f = way ? flow_elsewhere() : NULL;

	if (f && way & COPY_OUT)
		flow_elsewhere_copies_out(f);
	if (f && way & COPY_IN)
		flow_elsewhere_writes(f);
}

int copy_waits(CUdeviceptr to)
{
	unsigned type;

	return to && real.cuPointerGetAttribute && real.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, to) != CUDA_SUCCESS;
}

void copy_begin(struct copy *c, CUstream stream, enum copy_way way, int blocks)
{
	int capturing = flow_capturing(stream);
	uint32_t slot, seq;

	c->blocks = blocks;
	c->flow = capturing ? NULL : flow_of_stream(stream, &slot);
	if (!c->flow && !(capturing && flow_current()))
		copy_elsewhere(way);
	if (!c->flow)
		return;
	flow_number(c->flow, slot, CLOCK_PLAIN, &seq);
	if (way & COPY_OUT)
		flow_copies_out(c->flow, slot, seq);
	if (way & COPY_IN)
		flow_writes(c->flow, slot, seq);
	/* A copy of pageable memory may wait for the stream: not under the lock. It leaves no records, so a kernel that
	 * another thread enqueues meanwhile may come first without harm. */
	flow_enqueued(c->flow, slot);
	if (blocks)
		clock_mark(&c->flow->clock, slot, &c->mark);
}

void copy_end(struct copy *c, CUresult rc)
{
	if (!c->blocks || rc != CUDA_SUCCESS)
		return;
	if (c->flow)
		flow_host_saw(c->flow, &c->mark);
	else
		flow_elsewhere_seen();
}
