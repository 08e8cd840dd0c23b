#include "driver/copy.h"

#include "cuda/real.h"
#include "vmm/vmm.h"

/* On a GPU that is not checked. */
static void copy_elsewhere(struct copy *c)
{
	struct flow *f = c->way ? flow_elsewhere() : NULL;

	if (f && c->way & COPY_OUT)
		flow_elsewhere_copies_out(f);
	if (f && c->way & COPY_IN) {
		flow_elsewhere_writes(f);
		c->elsewhere = f;
	}
}

int copy_waits(CUdeviceptr to)
{
	unsigned type;

	return to && real.cuPointerGetAttribute && real.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, to) != CUDA_SUCCESS;
}

static struct flow *copy_end_at(CUdeviceptr at)
{
	int device;

	return real.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) == CUDA_SUCCESS ? flow_on(device) : NULL;
}

enum copy_way copy_between(struct copy *c, CUdeviceptr to, CUdeviceptr from)
{
	if (participant_at_place(1) && to && from && real.cuPointerGetAttribute) {
		c->end[0] = copy_end_at(to);
		c->end[1] = copy_end_at(from);
	}
	return COPY_BOTH;
}

/* One in the default stream comes behind all that either GPU was given before, and before what it is given next (CUDA programming guide,
 * "Peer-to-Peer Memory Copy"). */
static int copy_is_barrier(const struct copy *c, CUstream stream)
{
	return c->end[0] && c->end[1] && c->end[0] != c->end[1] && (!stream || stream == CU_STREAM_LEGACY || c->blocks);
}

void copy_begin(struct copy *c, CUstream stream, enum copy_way way, int blocks)
{
	int capturing = flow_capturing(stream);

	c->way = way;
	c->blocks = blocks;
	c->elsewhere = NULL;
	c->flow = capturing ? NULL : flow_of_stream(stream, &c->slot);
	if (!c->flow && !(capturing && flow_current()))
		copy_elsewhere(c);
	if (!c->flow)
		return;
	flow_number(c->flow, c->slot, CLOCK_PLAIN, &c->seq);
	if (way & COPY_OUT)
		flow_copies_out(c->flow, c->slot, c->seq);
	if (way & COPY_IN)
		flow_writes(c->flow, c->slot, c->seq);
	/* A copy of pageable memory may wait for the stream: not under the lock. It leaves no records, so a kernel that
	 * another thread enqueues meanwhile may come first without harm. */
	flow_enqueued(c->flow, c->slot);
	if (copy_is_barrier(c, stream))
		flow_barrier(c->end[0], c->end[1]);
	if (blocks)
		clock_mark(&c->flow->clock, c->slot, &c->mark);
}

/* Nothing of it was begun. (Without memory a long copy may end in the middle.) What the stream was given meanwhile keeps its place behind it,
 * and so the copy its own: that over-orders. */
static int copy_refused(const struct copy *c, CUresult rc)
{
	return c->way != COPY_SEVERAL && rc != CUDA_ERROR_OUT_OF_MEMORY && flow_refusal(rc);
}

void copy_end(struct copy *c, CUresult rc)
{
	int refused = copy_refused(c, rc);

	if (c->flow && c->way & COPY_OUT)
		flow_copied_out(c->flow, refused);
	if (c->elsewhere)
		flow_elsewhere_wrote(c->elsewhere, refused);
	if (refused && c->flow)
		flow_refused_late(c->flow, c->slot, c->seq);
	if (!c->blocks || rc != CUDA_SUCCESS)
		return;
	if (c->flow)
		flow_host_saw(c->flow, &c->mark);
	else
		flow_elsewhere_seen();
}
