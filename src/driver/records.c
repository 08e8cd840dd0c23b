#include "driver/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/own.h"
#include "cuda/real.h"
#include "device/abi.h"
#include "device/runtime.h"
#include "vmm/vmm.h"

#define RECORDS_PINNED (64u << 10)      /* bytes at least that are pinned at once, for as many images */
#define RECORDS_PINNED_MOST (256u << 20) /* of one graph */

struct image {
	struct image *next;
	struct gsan_launch *record;
	CUevent copied; /* NULL: it was never brought */
};

struct records {
	struct records *next; /* of those that were dropped */
	CUcontext context;
	uint32_t count, room; /* records in use; there is room for */
	CUdeviceptr at, node; /* node: what of them does not change */
	CUevent used;  /* behind the newest replay, ... */
	uint32_t slot; /* ... which was in that slot, */
	int ran, lost; /* ... if there was one; if it is not known when that ends, nothing is brought but nobody's */
	struct gsan_launch *nobody;
	struct image *image, **last; /* in the order in which they were brought; the first is the one that was given out */
	size_t pinned; /* bytes */
};

static struct records *dropped;
static pthread_mutex_t dropped_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t records_bytes(const struct records *r) { return r->count * sizeof(struct gsan_launch); }

uint64_t records_at(const struct records *r, uint32_t i) { return r->at + i * sizeof(struct gsan_launch); }

static int records_over(CUevent event) { return real.cuEventQuery(event) == CUDA_SUCCESS; }

/* One that was dropped in this context, is large enough, and whose last replay is over. */
static struct records *records_again(CUcontext context, uint32_t count)
{
	struct records *r = NULL;

	pthread_mutex_lock(&dropped_lock);
	for (struct records **at = &dropped; *at; at = &(*at)->next)
		if ((*at)->context == context && (*at)->room >= count && (*at)->room / 2 <= count && (!(*at)->ran || records_over((*at)->used))) {
			r = *at;
			*at = r->next;
			break;
		}
	pthread_mutex_unlock(&dropped_lock);
	if (r) {
		r->count = count;
		r->ran = 0;
	}
	return r;
}

static void records_free(struct records *r)
{
	for (struct image *i; (i = r->image);) {
		r->image = i->next;
		free(i);
	}
	free(r);
}

static struct records *records_alloc(CUcontext context, uint32_t count)
{
	struct records *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct records){.context = context, .count = count, .room = count, .last = &r->image};
	if (real.cuMemAlloc_v2(&r->at, 2 * records_bytes(r)) != CUDA_SUCCESS) {
		free(r);
		return NULL;
	}
	r->node = r->at + records_bytes(r);
	if (own_event(&r->used) == CUDA_SUCCESS &&
	    real.cuMemHostAlloc((void **)&r->nobody, records_bytes(r), 0) == CUDA_SUCCESS)
		return r;
	if (r->used)
		real.cuEventDestroy_v2(r->used);
	real.cuMemFree_v2(r->at);
	free(r);
	return NULL;
}

struct records *records_new(struct flow *f, uint32_t count)
{
	struct gsan_launch nobody = *flow_record(f, CLOCK_LEGACY, 0, 0);
	CUcontext context = NULL;

	real.cuCtxGetCurrent(&context);
	struct records *r = records_again(context, count);
	if (!r)
		r = records_alloc(context, count);
	if (!r)
		return NULL;
	nobody.order = (struct gsan_order){.flags = GSAN_ORDER_UNKNOWN};
	for (uint32_t i = 0; i < count; i++)
		r->nobody[i] = nobody;
	return r;
}

void records_drop(struct records *r)
{
	if (r->lost) { /* when its memory may be used again will not be known */
		records_free(r);
		return;
	}
	pthread_mutex_lock(&dropped_lock);
	r->next = dropped;
	dropped = r;
	pthread_mutex_unlock(&dropped_lock);
}

void records_forget_context(CUcontext context)
{
	pthread_mutex_lock(&dropped_lock);
	for (struct records **at = &dropped, *r; (r = *at);)
		if (r->context == context) {
			*at = r->next;
			records_free(r);
		} else {
			at = &r->next;
		}
	pthread_mutex_unlock(&dropped_lock);
}

/* The image comes first, the oldest or not. */
static void image_put_first(struct records *r, struct image *i)
{
	i->next = r->image;
	if (!i->next)
		r->last = &i->next;
	r->image = i;
}

/* As many as fill the least that is pinned at once. */
static int records_pin(struct records *r)
{
	size_t bytes = r->room * sizeof(struct gsan_launch), more = bytes < RECORDS_PINNED ? RECORDS_PINNED / bytes : 1;
	char *pinned;

	if (r->pinned + more * bytes > RECORDS_PINNED_MOST || real.cuMemHostAlloc((void **)&pinned, more * bytes, 0) != CUDA_SUCCESS)
		return -ENOMEM;
	r->pinned += more * bytes;
	for (; more; more--, pinned += bytes) {
		struct image *i = malloc(sizeof(*i));
		if (!i)
			break;
		*i = (struct image){.record = (struct gsan_launch *)pinned};
		image_put_first(r, i);
	}
	return more ? -ENOMEM : 0;
}

/* That its copy is over is asked, and memory pinned, whatever is captured meanwhile: both would end that capture. */
static int image_ready(struct records *r)
{
	CUstreamCaptureMode mode;
	int relaxed = flow_relax(&mode);
	int ready = (r->image && (!r->image->copied || records_over(r->image->copied))) || !records_pin(r);

	flow_unrelax(mode, relaxed);
	return ready;
}

struct gsan_launch *records_image(struct records *r)
{
	return !r->lost && image_ready(r) ? r->image->record : NULL;
}

static CUresult records_copy(const struct records *r, CUdeviceptr to, const struct gsan_launch *from, CUstream stream)
{
	return real.cuMemcpyHtoDAsync_v2(to, from, records_bytes(r), stream);
}

/* The image goes to the end. */
static void image_brought(struct records *r, CUstream stream)
{
	struct image *i = r->image;

	r->image = i->next;
	if (!r->image)
		r->last = &r->image;
	i->next = NULL;
	*r->last = i;
	r->last = &i->next;
	r->lost |= real.cuEventRecord(i->copied, stream) != CUDA_SUCCESS;
}

/* The replay before may still read what stands there: the driver keeps replays in order, not what we enqueue before one. */
static CUresult records_wait(const struct records *r, CUstream stream)
{
	return r->ran && !r->lost ? real.cuStreamWaitEvent(stream, r->used, 0) : CUDA_SUCCESS;
}

static CUresult image_bring(struct records *r, CUdeviceptr to, CUstream stream)
{
	CUresult rc = records_wait(r, stream);

	if (rc == CUDA_SUCCESS && !r->image->copied)
		rc = own_event(&r->image->copied);
	if (rc == CUDA_SUCCESS)
		rc = records_copy(r, to, r->image->record, stream);
	if (rc == CUDA_SUCCESS)
		image_brought(r, stream);
	return rc;
}

CUresult records_bring(struct records *r, CUstream stream) { return image_bring(r, r->at, stream); }
CUresult records_bring_nobody(struct records *r, CUstream stream)
{
	CUresult rc = records_wait(r, stream);

	return rc == CUDA_SUCCESS ? records_copy(r, r->at, r->nobody, stream) : rc;
}
CUresult records_tell(struct records *r, CUstream stream) { return image_bring(r, r->node, stream); }

int records_makes(const struct records *r, struct flow *f, CUstream stream)
{
	CUcontext context;

	return f->late.nodes && f->late.context == r->context && !r->lost && real.cuStreamGetCtx && real.cuStreamGetCtx(stream, &context) == CUDA_SUCCESS &&
	       context == r->context;
}

static CUresult nodes_run(CUfunction nodes, struct gsan_replay *replay, CUdeviceptr node, CUdeviceptr at, uint32_t count, CUstream stream)
{
	void *params[] = {replay, &node, &at, &count};

	return real.cuLaunchKernel(nodes, count / DEVICE_NODES_THREADS + 1, 1, 1, DEVICE_NODES_THREADS, 1, 1, 0, stream, params, NULL);
}

CUresult records_warm(CUfunction nodes, CUstream stream) { return nodes_run(nodes, &(struct gsan_replay){.base.abi = 0}, 0, 0, 0, stream); }

/* A slot of one's own is one stream's, or its work before is complete. */
CUresult records_make(struct records *r, struct flow *f, struct gsan_replay *replay, uint32_t slot, CUstream stream)
{
	int follows = r->ran && r->slot == slot && slot != CLOCK_SHARED;
	CUresult rc = follows ? CUDA_SUCCESS : records_wait(r, stream);

	return rc == CUDA_SUCCESS ? nodes_run(f->late.nodes, replay, r->node, r->at, r->count, stream) : rc;
}

void records_used(struct records *r, uint32_t slot, CUstream stream)
{
	r->ran = 1;
	r->slot = slot;
	r->lost |= real.cuEventRecord(r->used, stream) != CUDA_SUCCESS;
}
