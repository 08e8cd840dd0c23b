/* Events: a handle and its latest recording. Each recording completes by itself; who waits or asks holds on to the one
 * that was the latest at the call, so later ones, which may complete earlier on another stream, do not concern it. Times
 * come from a virtual clock that counts device steps.
 *
 * An interprocess event counts its recordings, and those that have completed, in memory that its processes share. What another
 * process recorded is looked at once a turn, as values are that streams wait for. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/driver/graph/capture.h"
#include "emu/driver/ipc.h"
#include "emu/driver/queue.h"
#include "emu/driver/skip.h"
#include "emu/driver/trace.h"
#include "emu/driver/work.h"

struct counts { _Atomic uint64_t recorded, passed, recording; /* the last as the trace names it */ };
struct shared { unsigned references; int fd; struct counts *counts; }; /* referred to by the event and its recordings */
struct emu_recording {
	unsigned references;   /* the event, while it is the latest; its record and the waits that name it; hosts that wait */
	int passed;
	uint64_t time;         /* when */
	CUcontext context;
	struct emu_point work; /* what it comes after */
	struct shared *shared; /* of an interprocess event, or NULL: */
	uint64_t number;       /* which of its recordings this is, */
	int elsewhere;         /* and whether another process made it */
};
struct CUevent_st {
	struct CUevent_st *next;
	CUcontext context;
	unsigned flags;
	struct emu_recording *latest; /* NULL: never recorded, which counts as complete */
	struct shared *shared;    /* or NULL */
	struct emu_captured_event captured;
};
static CUevent events;

struct event_op { struct emu_op op; struct emu_recording *recording; };

static struct emu_recording *reference(struct emu_recording *r)
{
	if (r)
		r->references++;
	return r;
}

static void shared_unreference(struct shared *s)
{
	if (!s || --s->references)
		return;
	munmap(s->counts, sizeof *s->counts);
	close(s->fd);
	free(s);
}

static struct shared *shared_reference(struct shared *s)
{
	if (s)
		s->references++;
	return s;
}

void emu_recording_drop(struct emu_recording *r)
{
	if (!r || --r->references)
		return;
	emu_point_free(&r->work);
	shared_unreference(r->shared);
	free(r);
}

static void drop_event_op(struct emu_op *op) { emu_recording_drop(((struct event_op *)op)->recording); }

static void count_passed(struct counts *counts, uint64_t number)
{
	uint64_t passed = atomic_load(&counts->passed);
	while (passed < number && !atomic_compare_exchange_weak(&counts->passed, &passed, number))
		continue;
}

static int run_record(struct emu_op *op, struct emu_turn *turn)
{
	struct emu_recording *r = ((struct event_op *)op)->recording;
	(void)turn;
	r->passed = 1;
	r->time = emu.clock_ns;
	if (r->shared)
		count_passed(r->shared->counts, r->number);
	return 1;
}

static int passed(const void *recording)
{
	const struct emu_recording *r = recording;
	return !r || r->passed || r->context->error || (r->elsewhere && atomic_load(&r->shared->counts->passed) >= r->number);
}

static int wait_ready(const struct emu_op *op) { return passed(((const struct event_op *)op)->recording); }

static int run_wait(struct emu_op *op, struct emu_turn *turn)
{
	(void)turn;
	return wait_ready(op);
}

int emu_event_known(CUevent event)
{
	for (CUevent e = events; e; e = e->next)
		if (e == event)
			return 1;
	return 0;
}

/* Opens a call about an event; the event's context is not the current one if the program says so. */
static CUresult enter_event(CUevent event)
{
	CUresult result = event ? emu_enter() : CUDA_ERROR_INVALID_HANDLE;
	if (result)
		return result;
	if (!emu_event_known(event))
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	return event->context->error ? emu_leave(event->context->error) : CUDA_SUCCESS;
}

/* Takes the descriptor; NULL: out of memory. */
static struct shared *shared_new(int fd)
{
	struct shared *s = fd < 0 ? NULL : malloc(sizeof *s);
	void *at = s ? mmap(NULL, sizeof *s->counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (at != MAP_FAILED) {
		*s = (struct shared){1, fd, at};
		return s;
	}
	free(s);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static CUevent event_new(CUcontext c, unsigned flags, struct shared *shared)
{
	CUevent e = calloc(1, sizeof *e);
	if (!e)
		return NULL;
	*e = (struct CUevent_st){.next = events, .context = c, .flags = flags, .shared = shared};
	return events = e;
}

/* A new event of that shared memory, which it takes. */
static CUresult event_of(CUcontext c, int fd, CUevent *event)
{
	struct shared *shared = shared_new(fd);
	CUevent e = shared ? event_new(c, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, shared) : NULL;
	if (!e) {
		shared_unreference(shared);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*event = e;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags)
{
	CUcontext c;
	const int shared = (flags & CU_EVENT_INTERPROCESS) != 0;
	CUresult result = event && (!shared || flags & CU_EVENT_DISABLE_TIMING) ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (shared)
		return emu_leave(event_of(c, emu_ipc_create(sizeof(struct counts)), event));
	CUevent e = event_new(c, flags, NULL);
	if (!e)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*event = e;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	struct emu_ipc_name name;
	CUresult result = handle ? enter_event(event) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (!event->shared || emu_ipc_name(&name, EMU_IPC_EVENT, event->shared->fd))
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	memcpy(handle, &name, sizeof name);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	CUcontext c;
	struct emu_ipc_name name;
	int fd;
	CUresult result = event ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	memcpy(&name, &handle, sizeof name);
	result = name.size == sizeof(struct counts) ? emu_ipc_open(&name, EMU_IPC_EVENT, &fd) : CUDA_ERROR_INVALID_VALUE;
	return emu_leave(result ? result : event_of(c, fd, event));
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
	emu_recording_drop(event->latest);
	shared_unreference(event->shared);
	emu_captured_event_clear(&event->captured);
	free(event);
	return emu_leave(CUDA_SUCCESS);
}

/* The event's latest recording, which may be another process's. */
static struct emu_recording *latest(CUevent event)
{
	struct shared *s = event->shared;
	uint64_t number = s ? atomic_load(&s->counts->recorded) : 0;
	struct emu_recording *r = event->latest;
	if (!number || (r && r->number == number))
		return r;
	r = calloc(1, sizeof *r);
	if (!r)
		return event->latest;
	*r = (struct emu_recording){.context = event->context, .shared = shared_reference(s), .number = number, .elsewhere = 1};
	r->work.recording = atomic_load(&s->counts->recording);
	emu_recording_drop(event->latest);
	return event->latest = reference(r);
}

/* Opens a call about an event and a stream. */
static CUresult enter_both(CUevent event, CUstream handle, CUstream *stream)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	CUcontext c = emu_context_current();
	result = c ? emu_stream_use(c, handle, stream) : CUDA_ERROR_INVALID_CONTEXT;
	return result ? emu_leave(result) : CUDA_SUCCESS;
}

/* Holds a reference of its own; NULL: out of memory. */
static struct event_op *new_op(struct emu_recording *r, int (*run)(struct emu_op *, struct emu_turn *))
{
	struct event_op *o = r ? emu_op_new(sizeof *o, run) : NULL;
	if (!o)
		return NULL;
	o->recording = reference(r);
	o->op.marker = 1;
	o->op.drop = drop_event_op;
	return o;
}

/* Of an event, or NULL. */
static CUresult push_record(CUstream s, CUevent event, struct emu_recording **recording)
{
	struct emu_recording *r = calloc(1, sizeof *r);
	struct event_op *o = new_op(r, run_record);
	if (!o) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->context = s->context;
	if (!event || !emu_skipped_flags(event->flags))
		emu_trace_record(s, &r->work);
	if (event && event->shared) {
		r->shared = shared_reference(event->shared);
		atomic_store(&event->shared->counts->recording, r->work.recording);
		r->number = atomic_fetch_add(&event->shared->counts->recorded, 1) + 1;
	}
	*recording = reference(r);
	emu_op_push(s, &o->op);
	return CUDA_SUCCESS;
}

CUresult emu_record_push(CUstream s, struct emu_recording **recording) { return push_record(s, NULL, recording); }

CUresult emu_wait_push(CUstream s, struct emu_recording *r)
{
	struct event_op *o = new_op(r, run_wait);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (r->elsewhere)
		o->op.marker = 0;
	else
		o->op.ready = wait_ready;
	emu_trace_wait(s, &r->work);
	emu_op_push(s, &o->op);
	return CUDA_SUCCESS;
}

CUresult emu_event_record_push(CUstream s, CUevent event)
{
	struct emu_recording *r;
	CUresult result = push_record(s, event, &r);
	if (result)
		return result;
	emu_recording_drop(event->latest);
	event->latest = r;
	return CUDA_SUCCESS;
}

CUresult emu_event_wait_push(CUstream s, CUevent event)
{
	struct emu_recording *r = latest(event);
	return r ? emu_wait_push(s, r) : CUDA_SUCCESS;
}

/* In a captured stream an external one is a node, any other one says behind which nodes somebody is to stand. */
static CUresult record(CUevent event, CUstream handle, int external)
{
	CUstream s;
	CUresult result = enter_both(event, handle, &s);
	if (result)
		return result;
	if (s->context != event->context)
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	const CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord.event = event};
	if (s->captured)
		return emu_leave(external ? emu_capture_add(s, &node) : emu_capture_record(s, &event->captured));
	emu_captured_event_clear(&event->captured);
	return emu_leave(emu_event_record_push(s, event));
}

static CUresult wait(CUstream handle, CUevent event, int external)
{
	CUstream s;
	CUresult result = enter_both(event, handle, &s);
	if (result)
		return result;
	const CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait.event = event};
	if (s->captured && external)
		return emu_leave(emu_capture_add(s, &node));
	if (s->captured || event->captured.capture)
		return emu_leave(emu_capture_wait(s, &event->captured, latest(event) != NULL));
	return emu_leave(emu_event_wait_push(s, event));
}

EMU_STREAM_API(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream))
{
	return record(event, stream, 0);
}

EMU_STREAM_API(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags))
{
	return flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : record(event, stream, flags != 0);
}

EMU_STREAM_API(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))
{
	return flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : wait(stream, event, flags != 0);
}

/* The host knows that it is complete, or that its context failed. */
static CUresult told(const struct emu_recording *r)
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
	result = emu_capture_ask(&event->captured);
	if (result)
		return emu_leave(result);
	struct emu_recording *r = reference(latest(event)); /* others may destroy the event or record it again meanwhile */
	while (r && r->elsewhere && !passed(r) && !emu.leaving)
		emu_poll();
	if (r && passed(r))
		emu_learn();
	result = emu_wait(passed, r);
	if (!result)
		result = told(r);
	emu_recording_drop(r);
	return emu_leave(result);
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
	CUresult result = enter_event(event);
	if (result)
		return result;
	result = emu_capture_ask(&event->captured);
	if (result)
		return emu_leave(result);
	struct emu_recording *r = reference(latest(event));
	const int own = emu_skipped_flags(event->flags); /* nobody is told what it says */
	if (!passed(r) && !own)
		emu_poll();
	const int over = passed(r);
	if (r && over && !own)
		emu_learn();
	result = over ? told(r) : CUDA_ERROR_NOT_READY;
	emu_recording_drop(r);
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
	result = emu_capture_time(&start->captured);
	if (!result)
		result = emu_capture_time(&end->captured);
	if (result)
		return emu_leave(result);
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
