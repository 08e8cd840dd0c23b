/* Streams and contexts: waits of the host, captures, callbacks. (Memory operations: value.c.) */
#include <stdlib.h>

#include "cuda/hooks.h"
#include "driver/fat.h"
#include "driver/flow.h"
#include "driver/graph.h"
#include "driver/late.h"
#include "driver/reach.h"
#include "vmm/vmm.h"

CUresult hook_cuInit(unsigned flags)
{
	CUresult rc = real.cuInit(flags);
	static int registered;

	/* Registered as late as this, the last drain runs before the driver's own exit handlers. */
	if (rc == CUDA_SUCCESS && !__atomic_exchange_n(&registered, 1, __ATOMIC_RELAXED))
		atexit(flow_drain_at_exit);
	return rc;
}

/* Whatever the handle meant before, if the end of that was not seen. */
static CUresult stream_created(const CUstream *stream, CUresult rc)
{
	if (rc == CUDA_SUCCESS)
		flow_forget(*stream);
	return rc;
}

CUresult hook_cuStreamCreate(CUstream *stream, unsigned flags)
{
	return stream_created(stream, real.cuStreamCreate(stream, flags));
}

CUresult hook_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	return stream_created(stream, real.cuStreamCreateWithPriority(stream, flags, priority));
}

CUresult hook_cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx context, unsigned flags, int priority)
{
	return stream_created(stream, real.cuGreenCtxStreamCreate(stream, context, flags, priority));
}

CUresult hook_cuStreamDestroy_v2(CUstream stream)
{
	flow_forget(stream); /* before the call: afterwards another thread may get the same handle */
	return real.cuStreamDestroy_v2(stream);
}

/* ---- the host waits ------------------------------------------------------------------------------------------ */

static struct flow *stream_mark(CUstream stream, struct clock_vec *mark)
{
	uint32_t slot;
	struct flow *f = flow_capturing(stream) ? NULL : flow_of_stream(stream, &slot);

	if (f)
		clock_mark(&f->clock, slot, mark);
	return f;
}

static CUresult stream_done(struct flow *f, const struct clock_vec *mark, CUresult rc)
{
	if (rc == CUDA_SUCCESS && f)
		flow_host_saw(f, mark);
	else if (rc == CUDA_SUCCESS)
		flow_elsewhere_seen();
	return rc;
}

CUresult hook_cuStreamSynchronize(CUstream stream)
{
	struct clock_vec mark;
	struct flow *f = stream_mark(stream, &mark);

	return stream_done(f, &mark, real.cuStreamSynchronize(stream));
}

CUresult hook_cuStreamQuery(CUstream stream)
{
	struct clock_vec mark;
	struct flow *f = stream_mark(stream, &mark);

	return stream_done(f, &mark, real.cuStreamQuery(stream));
}

/* What everything enqueued so far will have done, told to the host's clock once a wait for it has succeeded. */
static struct flow *whole_mark(struct flow *f, struct clock_vec *mark)
{
	if (f)
		clock_mark_all(&f->clock, mark);
	return f;
}

static CUresult whole_done(struct flow *f, const struct clock_vec *mark, CUresult rc)
{
	if (rc != CUDA_SUCCESS || !f)
		return stream_done(f, mark, rc);
	if (!vmm_several_contexts(f->participant))
		clock_host_waited(&f->clock, mark);
	flow_host_saw(f, mark);
	return rc;
}

CUresult hook_cuCtxSynchronize(void)
{
	struct clock_vec mark;
	struct flow *f = whole_mark(flow_current(), &mark);

	return whole_done(f, &mark, real.cuCtxSynchronize());
}

CUresult hook_cuCtxSynchronize_v2(CUcontext context)
{
	struct clock_vec mark;
	struct flow *f = whole_mark(flow_of_context(context), &mark);

	return whole_done(f, &mark, real.cuCtxSynchronize_v2(context));
}

/* Of memory of one GPU (NULL: not known which), while another is current: for which of the two it waits is not told. */
static CUresult gone_done(struct flow *f, struct flow *owner, const struct clock_vec *mark, CUdeviceptr at, CUresult rc)
{
	int other = owner ? owner != f : !f;

	if (other && rc == CUDA_SUCCESS && at - GSAN_ARENA_BASE < GSAN_ARENA_SIZE)
		flow_host_unknown();
	return whole_done(f, mark, rc);
}

CUresult hook_cuMemFree_v2(CUdeviceptr at)
{
	struct clock_vec mark;
	struct flow *f = whole_mark(flow_current(), &mark), *owner = flow_at(at);

	CUresult rc = vmm_cuMemFree_v2(at);
	if (!at) /* waits for nothing */
		return rc;
	return gone_done(f, owner, &mark, at, rc);
}

/* Work of its stream, before which whoever uses the memory has to come: checked as a set of all of it. What checks it is told first, so that nobody
 * is given the memory before (vmm/freed.c). */
CUresult hook_cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
	struct copy c;

	copy_open(&c, "cuMemFreeAsync");
	copy_begin(&c, stream, reach_freed(&c, at), 0);
	copy_end(&c, stream, CUDA_SUCCESS);
	return vmm_cuMemFreeAsync(at, stream);
}

/* Only the last close waits. */
CUresult hook_cuIpcCloseMemHandle(CUdeviceptr at)
{
	struct clock_vec mark;
	struct flow *f = whole_mark(flow_current(), &mark), *owner = flow_at(at);
	int waited;

	CUresult rc = vmm_cuIpcCloseMemHandle(at, &waited);
	return waited ? gone_done(f, owner, &mark, at, rc) : rc;
}

/* ---- a context ends when its work has, and with it its streams and modules; the counters are on its device ---- */

struct context_end { CUcontext context; struct flow *flow; struct clock_vec mark; };

/* Kernels are found again, if it does not end. NULL: not known which. */
static void context_ends(struct context_end *e, CUcontext context, CUdevice device)
{
	flow_drain_everywhere();
	function_forget_context(context);
	e->context = context;
	e->flow = context ? flow_on(device) : NULL;
	if (e->flow)
		flow_mark_context(e->flow, context, &e->mark);
}

/* Of the host's wait no more than its order: what of ours lay in the context is gone. */
static CUresult context_ended(const struct context_end *e, CUresult rc)
{
	if (rc != CUDA_SUCCESS)
		return rc;
	flow_context_ended();
	if (e->flow)
		flow_host_join(e->flow, &e->mark);
	else
		flow_elsewhere_seen();
	flow_forget_context(e->context);
	graph_forget_context(e->context);
	late_forget_context(e->context);
	fat_forget_context(e->context);
	vmm_context_ended(e->context);
	return rc;
}

static CUdevice context_device(CUcontext context)
{
	CUdevice device = -1;
	CUcontext gone;

	if (context && real.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
		real.cuCtxGetDevice(&device);
		real.cuCtxPopCurrent_v2(&gone);
	}
	return device;
}

CUresult hook_cuCtxDestroy_v2(CUcontext context)
{
	struct context_end e;

	context_ends(&e, context, context_device(context));
	return context_ended(&e, real.cuCtxDestroy_v2(context));
}

#define DEVICES 64
static _Atomic int retained[DEVICES]; /* how often the program did, as far as we saw, ... */
static _Atomic(CUcontext) primary[DEVICES]; /* ... and what */

CUresult hook_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult rc = real.cuDevicePrimaryCtxRetain(context, device);

	if (rc == CUDA_SUCCESS && device >= 0 && device < DEVICES) {
		atomic_fetch_add_explicit(&retained[device], 1, memory_order_relaxed);
		atomic_store_explicit(&primary[device], *context, memory_order_relaxed);
		vmm_context_began(*context, device);
		late_resume(flow_on(device));
	}
	return rc;
}

static CUcontext primary_of(CUdevice device)
{
	return device >= 0 && device < DEVICES ? atomic_load_explicit(&primary[device], memory_order_relaxed) : NULL;
}

/* Only the last release ends it, and others than the program may hold it, too. */
CUresult hook_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	int known = device >= 0 && device < DEVICES, active = 0;
	struct context_end e;
	unsigned flags;

	if (known && atomic_fetch_sub_explicit(&retained[device], 1, memory_order_relaxed) > 1)
		return real.cuDevicePrimaryCtxRelease_v2(device);
	context_ends(&e, primary_of(device), device);
	CUresult rc = real.cuDevicePrimaryCtxRelease_v2(device);
	if (real.cuDevicePrimaryCtxGetState)
		real.cuDevicePrimaryCtxGetState(device, &flags, &active);
	return active ? rc : context_ended(&e, rc);
}

CUresult hook_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	struct context_end e;

	context_ends(&e, primary_of(device), device);
	return context_ended(&e, real.cuDevicePrimaryCtxReset_v2(device));
}

/* ---- captures: what is launched into one is not executed now ------------------------------------------------- */

/* The participant starts before, if it has not. */
static void capture_begins(CUstream stream)
{
	flow_current();
	flow_capture_begins(stream);
}

static CUresult capture_began(CUstream stream, CUresult rc)
{
	if (rc != CUDA_SUCCESS && !flow_capturing(stream))
		flow_capture_ends(stream);
	return rc;
}

CUresult hook_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	capture_begins(stream);
	return capture_began(stream, real.cuStreamBeginCapture_v2(stream, mode));
}

CUresult hook_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *node,
		const CUgraphEdgeData *edge, size_t count, CUstreamCaptureMode mode)
{
	capture_begins(stream);
	return capture_began(stream, real.cuStreamBeginCaptureToGraph(stream, graph, node, edge, count, mode));
}

/* One that was invalidated ends with an error; only a call by the wrong thread leaves it as it is. */
CUresult hook_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	CUresult rc = real.cuStreamEndCapture(stream, graph);

	if (rc == CUDA_SUCCESS || !flow_capturing(stream))
		flow_capture_ends(stream);
	return rc;
}

/* ---- callbacks: the stream's work is before them, and they are before what comes next in the stream ---------- */

struct stream_callback {
	struct flow *flow; /* NULL: on another GPU */
	uint32_t slot, seq;
	int call; /* its place among the calls, -1: none */
	struct clock_vec mark;
	CUhostFn host;
	CUstreamCallback stream;
	void *data;
};

/* NULL: the program's call is made as it is; without a function the driver has to see that. */
static struct stream_callback *stream_callback(CUstream stream, int function, void *data)
{
	uint32_t slot, seq;

	if (!function || flow_capturing(stream))
		return NULL;
	struct flow *f = flow_of_stream(stream, &slot);
	struct stream_callback *c = f || flow_here() ? calloc(1, sizeof(*c)) : NULL;
	if (c) {
		c->flow = f;
		c->call = -1;
		c->data = data;
	}
	if (f) {
		if (c)
			clock_mark(&f->clock, slot, &c->mark);
		flow_number(f, slot, CLOCK_PLAIN, &seq); /* not in its own mark: it has not ended when it begins */
		flow_writes(f, slot, seq); /* it may write memory that kernels read */
		flow_enqueued(f, slot);
		if (c) {
			c->slot = slot;
			c->seq = seq;
			c->call = late_refuses(f) ? -1 : flow_call(f, seq); /* a host may poll what a copy writes that is not checked */
		}
	}
	return c;
}

/* The callback may wait for anything before it lets the stream go on. known: what that was is told when it has returned, by which it is freed. */
static CUresult stream_called(CUstream stream, struct stream_callback *c, int known, CUresult rc)
{
	if (rc != CUDA_SUCCESS && known)
		flow_call_end(c->flow, c->call);
	if (rc != CUDA_SUCCESS && c && c->flow && flow_refusal(rc))
		flow_refused_late(c->flow, c->slot, c->seq);
	if (rc != CUDA_SUCCESS)
		free(c);
	if (known)
		return rc;
	return flow_awaits(stream, "host callback", "a callback orders what comes after it behind everything", rc);
}

static void stream_told(const struct stream_callback *c)
{
	if (c->flow)
		flow_host_join(c->flow, &c->mark);
	else
		flow_elsewhere_seen();
}

static void stream_run_host(void *data)
{
	struct stream_callback c = *(struct stream_callback *)data;

	free(data);
	stream_told(&c);
	c.host(c.data);
	if (c.call >= 0)
		flow_call_returned(c.flow, c.call);
}

static void CUDA_CB stream_run_callback(CUstream stream, CUresult status, void *data)
{
	struct stream_callback c = *(struct stream_callback *)data;

	free(data);
	if (status == CUDA_SUCCESS)
		stream_told(&c);
	c.stream(stream, status, c.data);
	if (c.call >= 0)
		flow_call_returned(c.flow, c.call);
}

CUresult hook_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	struct stream_callback *c = stream_callback(stream, function != NULL, data);

	if (!c)
		return stream_called(stream, NULL, 0, real.cuLaunchHostFunc(stream, function, data));
	c->host = function;
	int known = c->call >= 0;
	return stream_called(stream, c, known, real.cuLaunchHostFunc(stream, stream_run_host, c));
}

CUresult hook_cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *data, unsigned flags)
{
	struct stream_callback *c = stream_callback(stream, function != NULL, data);

	if (!c)
		return stream_called(stream, NULL, 0, real.cuStreamAddCallback(stream, function, data, flags));
	c->stream = function;
	int known = c->call >= 0;
	return stream_called(stream, c, known, real.cuStreamAddCallback(stream, stream_run_callback, c, flags));
}
