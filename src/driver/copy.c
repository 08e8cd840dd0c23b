#include "driver/copy.h"

#include <stdlib.h>

#include "cuda/real.h"
#include "driver/annotate.h"
#include "driver/caller.h"
#include "driver/late.h"
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

void copy_open(struct copy *c, const char *name)
{
	c->name = name;
	c->at[0] = c->at[1] = 0;
	c->named = c->untold = c->frees = c->valued = 0;
	c->condition = GSAN_WAIT_NOTHING;
	c->boxes = (struct gsan_boxes){.written.rows = 0}; /* all of it: kernels look at boxes without rows, too */
	c->more = NULL;
	c->mores = c->room = 0;
	c->late = NULL;
}

/* 1: the driver tells on which GPU that is. */
static int copy_gpu(struct copy *c, int i)
{
	CUdevice device;

	if (!c->at[i] || real.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, c->at[i]) != CUDA_SUCCESS || device < 0)
		return 0;
	c->end[i] = flow_on(device);
	return 1;
}

/* Where a copy in a default stream leads from and to; of others that does not matter. */
static void copy_ends(struct copy *c, CUstream stream)
{
	int asks = (!stream || stream == CU_STREAM_LEGACY) && participant_several() && real.cuPointerGetAttribute;

	c->end[0] = c->end[1] = NULL;
	c->apart = asks && copy_gpu(c, 0) && copy_gpu(c, 1) && !c->end[0] != !c->end[1];
}

/* The GPUs whose default streams a copy in the default stream of a third one, or of one of them, comes behind, and which come behind it
 * (programming guide, "Peer-to-Peer Memory Copy"; seen on H200s: streams that do not wait for default streams do not wait for it either). */
static struct flow *copy_other(const struct copy *c, int i)
{
	return c->end[0] && c->end[1] && c->end[0] != c->end[1] && c->end[i] != c->flow ? c->end[i] : NULL;
}

/* Pages that are mapped are no GPU's own to the driver: where the call does not name the two, it does not know that there are two. */
static void copy_ties(CUcontext waits, CUcontext waited_for)
{
	CUcontext gone;
	CUevent event;

	if (real.cuCtxPushCurrent_v2(waited_for) != CUDA_SUCCESS)
		return;
	int made = real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
	int recorded = made && real.cuEventRecord(event, NULL) == CUDA_SUCCESS;
	real.cuCtxPopCurrent_v2(&gone);
	if (recorded && real.cuCtxPushCurrent_v2(waits) == CUDA_SUCCESS) {
		real.cuStreamWaitEvent(NULL, event, 0);
		real.cuCtxPopCurrent_v2(&gone);
	}
	if (made)
		real.cuEventDestroy_v2(event); /* once it has passed */
}

/* before: it waits for them; else they for it. */
static void copy_meets(const struct copy *c, int before)
{
	CUcontext here = NULL;

	for (int i = 0; i < 2; i++) {
		struct flow *other = copy_other(c, i);
		if (!other)
			continue;
		CUcontext there = other->participant->context;
		if (!c->named && real.cuCtxGetCurrent(&here) == CUDA_SUCCESS)
			copy_ties(before ? here : there, before ? there : here);
		flow_joins(before ? c->flow : other, before ? other : c->flow);
	}
}

/* Its number; with a tag, if its bytes are to be checked. Why they are not; NULL: they are, or there are none. */
static const char *copy_number(struct copy *c)
{
	int touches = c->boxes.written.rows || c->boxes.read.rows;
	const char *reason = !touches ? NULL : annotate_ignores() ? "the program asked not to check it (gsan_ignore)" : late_refuses(c->flow);

	uint32_t kernel = touches && !reason ? caller_kernel(c->flow, c->name) : 0;
	if (touches && !reason && !flow_number(c->flow, c->slot, CLOCK_CHECKED, &c->seq)) {
		c->late = late_new(c->flow, c, kernel);
		return c->late ? NULL : "out of memory";
	}
	flow_number(c->flow, c->slot, CLOCK_PLAIN, &c->seq);
	return touches && !reason ? FLOW_NO_TAG : reason;
}

void copy_counted(const struct copy *c)
{
	const char *reason = c->unchecked ? c->unchecked : c->untold ? "what it copies to or from an array is not told in bytes" : NULL;

	if (!c->late && !reason)
		return;
	if (!c->frees)
		atomic_fetch_add_explicit(reason ? &c->flow->rank->copies_unchecked : &c->flow->rank->copies_checked, 1, memory_order_relaxed);
	if (reason)
		flow_note(c->flow, "copy", c->name, reason);
}

void copy_begin(struct copy *c, CUstream stream, enum copy_way way, int blocks)
{
	int capturing = flow_capturing(stream);

	c->way = way;
	c->blocks = blocks;
	c->elsewhere = NULL;
	copy_ends(c, stream);
	c->flow = capturing ? NULL : flow_of_stream(stream, &c->slot);
	if (!c->flow && !(capturing && flow_current()))
		copy_elsewhere(c);
	if (!c->flow)
		return;
	copy_meets(c, 1);
	c->unchecked = copy_number(c);
	if (way & COPY_OUT)
		flow_copies_out(c->flow, c->slot, c->seq);
	if (way & COPY_IN)
		flow_writes(c->flow, c->slot, c->seq);
	/* A copy of pageable memory may wait for the stream: not under the lock. A kernel that another thread enqueues meanwhile may come first
	 * without harm: they are of one stream, and the copy is looked at behind its end. */
	flow_enqueued(c->flow, c->slot);
	if (blocks)
		clock_mark(&c->flow->clock, c->slot, &c->mark);
}

/* Nothing of it was begun. (Without memory a long copy may end in the middle.) What the stream was given meanwhile keeps its place behind it,
 * and so the copy its own: that over-orders. */
static int copy_refused(const struct copy *c, CUresult rc)
{
	return c->way != COPY_SEVERAL && rc != CUDA_ERROR_OUT_OF_MEMORY && flow_refusal(rc);
}

void copy_end(struct copy *c, CUstream stream, CUresult rc)
{
	int refused = copy_refused(c, rc);

	free(c->more);
	if (c->late && late_enqueued(c->late, stream, rc == CUDA_SUCCESS, c->blocks && c->way == COPY_OUT))
		c->unchecked = COPY_NO_EVENT;
	if (c->flow && rc == CUDA_SUCCESS)
		copy_counted(c);
	if (c->flow && c->way & COPY_OUT)
		flow_copied_out(c->flow, refused);
	if (c->elsewhere)
		flow_elsewhere_wrote(c->elsewhere, refused);
	if (refused && c->flow)
		flow_refused_late(c->flow, c->slot, c->seq);
	else if (c->flow)
		copy_meets(c, 0);
	if (!refused && (c->apart || (!c->flow && c->end[0] != c->end[1])))
		flow_host_unknown();
	int waited = c->blocks && rc == CUDA_SUCCESS;
	if (c->flow && waited)
		flow_host_saw(c->flow, &c->mark);
	else if (c->flow)
		late_go_on(c->flow);
	else if (waited)
		flow_elsewhere_seen();
}
