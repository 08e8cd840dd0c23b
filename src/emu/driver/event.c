/* Events: a handle and its latest recording. Each recording completes by itself; who waits or asks holds on to the one
 * that was the latest at the call, so later ones, which may complete earlier on another stream, do not concern it. Times
 * come from a virtual clock that counts device steps. */
#include <stdlib.h>

#include "emu/driver/queue.h"
#include "emu/driver/trace.h"

struct recording {
	unsigned references;   /* the event, while it is the latest; its record and the waits that name it; hosts that wait */
	int passed;
	uint64_t time;         /* when */
	CUcontext context;
	struct emu_point work; /* what it comes after */
};
struct CUevent_st {
	struct CUevent_st *next;
	CUcontext context;
	unsigned flags;
	struct recording *latest; /* NULL: never recorded, which counts as complete */
};
static CUevent events;

struct event_op { struct emu_op op; struct recording *recording; };

static struct recording *reference(struct recording *r)
{
	if (r)
		r->references++;
	return r;
}

static void unreference(struct recording *r)
{
	if (!r || --r->references)
		return;
	emu_point_free(&r->work);
	free(r);
}

static void drop_event_op(struct emu_op *op) { unreference(((struct event_op *)op)->recording); }

static int run_record(struct emu_op *op, struct emu_turn *turn)
{
	struct recording *r = ((struct event_op *)op)->recording;
	(void)turn;
	r->passed = 1;
	r->time = emu.clock_ns;
	return 1;
}

static int passed(const void *recording)
{
	const struct recording *r = recording;
	return !r || r->passed || r->context->error;
}

static int wait_ready(const struct emu_op *op) { return passed(((const struct event_op *)op)->recording); }

static int run_wait(struct emu_op *op, struct emu_turn *turn)
{
	(void)op, (void)turn;
	return 1;
}

/* Opens a call about an event; the event's context is not the current one if the program says so. */
static CUresult enter_event(CUevent event)
{
	CUresult result = event ? emu_enter() : CUDA_ERROR_INVALID_HANDLE;
	if (result)
		return result;
	for (CUevent e = events; e; e = e->next)
		if (e == event)
			return e->context->error ? emu_leave(e->context->error) : CUDA_SUCCESS;
	return emu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags)
{
	CUcontext c;
	CUresult result = event ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (flags & CU_EVENT_INTERPROCESS)
		return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
	CUevent e = calloc(1, sizeof *e);
	if (!e)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*e = (struct CUevent_st){.next = events, .context = c, .flags = flags};
	events = *event = e;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	for (CUevent *at = &events; *at; at = &(*at)->next)
		if (*at == event) {
			*at = event->next;
			break;
		}
	unreference(event->latest);
	free(event);
	return emu_leave(CUDA_SUCCESS);
}

/* Opens a call about an event and a stream. */
static CUresult enter_both(CUevent event, CUstream handle, CUstream *stream)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	CUcontext c = emu_context_current();
	result = c ? emu_stream_find(c, handle, stream) : CUDA_ERROR_INVALID_CONTEXT;
	return result ? emu_leave(result) : CUDA_SUCCESS;
}

/* Holds a reference of its own; NULL: out of memory. */
static struct event_op *new_op(struct recording *r, int (*run)(struct emu_op *, struct emu_turn *))
{
	struct event_op *o = r ? emu_op_new(sizeof *o, run) : NULL;
	if (!o)
		return NULL;
	o->recording = reference(r);
	o->op.marker = 1;
	o->op.drop = drop_event_op;
	return o;
}

static CUresult record(CUevent event, CUstream handle)
{
	CUstream s;
	CUresult result = enter_both(event, handle, &s);
	if (result)
		return result;
	struct recording *r = calloc(1, sizeof *r);
	struct event_op *o = new_op(r, run_record);
	if (!o) {
		free(r);
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	r->context = s->context;
	unreference(event->latest);
	event->latest = reference(r);
	emu_trace_record(s, &r->work);
	emu_op_push(s, &o->op);
	return emu_leave(CUDA_SUCCESS);
}

static CUresult wait(CUstream handle, CUevent event)
{
	CUstream s;
	CUresult result = enter_both(event, handle, &s);
	if (result)
		return result;
	if (!event->latest)
		return emu_leave(CUDA_SUCCESS);
	struct event_op *o = new_op(event->latest, run_wait);
	if (!o)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	o->op.ready = wait_ready;
	emu_trace_wait(s, &event->latest->work);
	emu_op_push(s, &o->op);
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream))
{
	return record(event, stream);
}

EMU_STREAM_API(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags))
{
	return flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : record(event, stream);
}

EMU_STREAM_API(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))
{
	return flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : wait(stream, event);
}

/* The host knows that it is complete, or that its context failed. */
static CUresult told(const struct recording *r)
{
	if (!r)
		return CUDA_SUCCESS;
	emu_trace_told_event(&r->work);
	return r->context->error;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	struct recording *r = reference(event->latest); /* others may destroy the event or record it again meanwhile */
	result = emu_wait(passed, r);
	if (!result)
		result = told(r);
	unreference(r);
	return emu_leave(result);
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	struct recording *r = reference(event->latest);
	if (!passed(r))
		emu_poll();
	result = passed(r) ? told(r) : CUDA_ERROR_NOT_READY;
	unreference(r);
	return emu_leave(result);
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
	CUresult result = milliseconds ? enter_event(start) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	emu_leave(CUDA_SUCCESS);
	result = enter_event(end);
	if (result)
		return result;
	if (!start->latest || !end->latest || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!start->latest->passed || !end->latest->passed)
		return emu_leave(CUDA_ERROR_NOT_READY);
	*milliseconds = (float)((double)(int64_t)(end->latest->time - start->latest->time) * 1e-6);
	result = told(start->latest);
	return emu_leave(result ? result : told(end->latest));
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	return cuEventElapsedTime_v2(milliseconds, start, end);
}
