/* Events: a count of records, and how many of them the device has passed. A wait remembers the count at its call, so a
 * later record of the same event does not concern it. Times come from a virtual clock that counts device steps. */
#include <stdlib.h>

#include "emu/driver/queue.h"
#include "emu/driver/trace.h"

struct CUevent_st {
	struct CUevent_st *next;
	CUcontext context;
	unsigned flags, references;      /* the handle and the operations that name it */
	uint64_t recorded, passed, time; /* time: of the latest record that was passed */
	struct emu_point work;           /* what the latest record comes after */
};
static struct CUevent_st *events;

struct event_op { struct emu_op op; CUevent event; uint64_t point; };

static void unreference(CUevent e)
{
	if (--e->references)
		return;
	for (CUevent *at = &events; *at; at = &(*at)->next)
		if (*at == e) {
			*at = e->next;
			break;
		}
	emu_point_free(&e->work);
	free(e);
}

static void drop_event_op(struct emu_op *op) { unreference(((struct event_op *)op)->event); }

static int run_record(struct emu_op *op, struct emu_turn *turn)
{
	struct event_op *o = (struct event_op *)op;
	(void)turn;
	if (o->point > o->event->passed)
		o->event->passed = o->point;
	o->event->time = emu.clock_ns;
	return 1;
}

static int wait_ready(const struct emu_op *op)
{
	const struct event_op *o = (const struct event_op *)op;
	return o->event->passed >= o->point || o->event->context->error;
}

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
	*e = (struct CUevent_st){.next = events, .context = c, .flags = flags, .references = 1};
	events = *event = e;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	unreference(event);
	return emu_leave(CUDA_SUCCESS);
}

static CUresult push(CUevent event, CUstream handle, int (*run)(struct emu_op *, struct emu_turn *), int is_record)
{
	CUstream s;
	CUresult result = enter_event(event);
	if (result)
		return result;
	CUcontext c = emu_context_current();
	result = c ? emu_stream_find(c, handle, &s) : CUDA_ERROR_INVALID_CONTEXT;
	struct event_op *o = result ? NULL : emu_op_new(sizeof *o, run);
	if (!o)
		return emu_leave(result ? result : CUDA_ERROR_OUT_OF_MEMORY);
	o->event = event;
	o->point = is_record ? ++event->recorded : event->recorded;
	o->op.marker = 1;
	o->op.ready = is_record ? NULL : wait_ready;
	o->op.drop = drop_event_op;
	event->references++;
	if (is_record)
		emu_trace_record(s, &event->work);
	else
		emu_trace_wait(s, &event->work);
	emu_op_push(s, &o->op);
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream))
{
	return push(event, stream, run_record, 1);
}

EMU_STREAM_API(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags))
{
	return flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : push(event, stream, run_record, 1);
}

EMU_STREAM_API(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))
{
	return flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : push(event, stream, run_wait, 0);
}

struct event_point { CUevent event; uint64_t point; };

static int point_passed(const void *subject)
{
	const struct event_point *p = subject;
	return p->event->passed >= p->point || p->event->context->error;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	struct event_point point = {event, event->recorded};
	result = emu_wait(point_passed, &point);
	if (!result)
		emu_trace_told_event(&event->work);
	return emu_leave(result ? result : event->context->error);
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	if (event->passed < event->recorded)
		emu_poll();
	if (event->context->error)
		return emu_leave(event->context->error);
	if (event->passed < event->recorded)
		return emu_leave(CUDA_ERROR_NOT_READY);
	emu_trace_told_event(&event->work);
	return emu_leave(CUDA_SUCCESS);
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
	if (!start->recorded || !end->recorded || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (start->passed < start->recorded || end->passed < end->recorded)
		return emu_leave(CUDA_ERROR_NOT_READY);
	*milliseconds = (float)((double)(int64_t)(end->time - start->time) * 1e-6);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	return cuEventElapsedTime_v2(milliseconds, start, end);
}
