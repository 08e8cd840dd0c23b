/* Events: a recorded event is a point in its stream, which a stream or the host may join. */
#include <stdlib.h>

#include "driver/flow.h"
#include "driver/hooks.h"

enum event_state {
	EVENT_NEVER,   /* not recorded: waiting for it waits for nothing */
	EVENT_HERE,    /* at `vec` of `flow` */
	EVENT_UNKNOWN  /* recorded where we cannot look: anything may be before it */
};
struct event {
	enum event_state state;
	struct flow *flow;
	struct clock_vec vec;
	unsigned recorded;  /* records of it that began, ... */
	unsigned recording; /* ... and those of them that are under way */
	int overlapped;     /* more than one of them: which comes last is not known */
};

static struct map events = MAP_INIT;
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER; /* contents of all events */
static _Atomic unsigned event_records; /* that began, of all events */

/* The entry of an event, made if there is none; NULL: no memory, so that the event stays unknown, which over-orders. */
static struct event *event_entry(CUevent handle)
{
	struct event *e = map_get(&events, (uintptr_t)handle);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (e && map_put(&events, (uintptr_t)handle, e)) {
		free(e);
		e = NULL;
	}
	if (e)
		e->state = EVENT_UNKNOWN;
	return e;
}

/* Around the driver's record, for the two are not one step: whoever looks in between, or records meanwhile, does not know what is
 * before the event. No lock is held over it, for it may block. */
static void event_begin(CUevent handle)
{
	pthread_mutex_lock(&event_lock);
	struct event *e = event_entry(handle);
	if (e) {
		e->recorded++;
		e->overlapped |= e->recording++ > 0;
		atomic_fetch_add_explicit(&event_records, 1, memory_order_seq_cst); /* partner: event_settle() */
	}
	pthread_mutex_unlock(&event_lock);
}

/* `at`: NULL, if it was not recorded. */
static void event_end(CUevent handle, const struct event *at)
{
	pthread_mutex_lock(&event_lock);
	struct event *e = map_get(&events, (uintptr_t)handle);
	if (e && at) {
		e->state = e->overlapped ? EVENT_UNKNOWN : at->state;
		e->flow = at->flow;
		e->vec = at->vec;
	}
	if (e && e->recording)
		e->overlapped &= --e->recording > 0;
	pthread_mutex_unlock(&event_lock);
}

/* Taken before a call that waits for the event, ... An event without an entry came from elsewhere: another process, another API. */
struct event_look { struct event event; unsigned records; };

static void event_get(CUevent handle, struct event_look *to)
{
	to->records = atomic_load_explicit(&event_records, memory_order_seq_cst);
	pthread_mutex_lock(&event_lock);
	const struct event *e = map_get(&events, (uintptr_t)handle);
	to->event = e ? *e : (struct event){.state = EVENT_UNKNOWN};
	if (to->event.recording)
		to->event.state = EVENT_UNKNOWN;
	pthread_mutex_unlock(&event_lock);
}

/* ... and settled after it: if a record began meanwhile, that may be what was waited for. */
static void event_settle(CUevent handle, struct event_look *look)
{
	struct event_look now;

	if (atomic_load_explicit(&event_records, memory_order_seq_cst) == look->records)
		return;
	event_get(handle, &now);
	if (now.event.recorded != look->event.recorded)
		look->event.state = EVENT_UNKNOWN;
}

CUresult hook_cuEventCreate(CUevent *event, unsigned flags)
{
	CUresult rc = real.cuEventCreate(event, flags);

	if (rc != CUDA_SUCCESS)
		return rc;
	pthread_mutex_lock(&event_lock);
	struct event *e = event_entry(*event);
	if (e)
		*e = (struct event){.state = EVENT_NEVER};
	pthread_mutex_unlock(&event_lock);
	return rc;
}

CUresult hook_cuEventDestroy_v2(CUevent event)
{
	CUresult rc = real.cuEventDestroy_v2(event);

	if (rc == CUDA_SUCCESS) {
		pthread_mutex_lock(&event_lock);
		free(map_remove(&events, (uintptr_t)event));
		pthread_mutex_unlock(&event_lock);
	}
	return rc;
}

/* A record inside a capture is an edge of the graph; only an external one is seen by work outside. */
static CUresult event_recorded(CUevent handle, CUstream stream, unsigned flags, CUresult rc)
{
	struct event e = {.state = EVENT_UNKNOWN};
	int seen = rc == CUDA_SUCCESS;
	uint32_t slot;

	if (seen && flow_capturing(stream)) {
		seen = flags & CU_EVENT_RECORD_EXTERNAL;
	} else if (seen && (e.flow = flow_of_stream(stream, &slot))) {
		e.state = EVENT_HERE;
		clock_mark(&e.flow->clock, slot, &e.vec);
	}
	event_end(handle, seen ? &e : NULL);
	return rc;
}

CUresult hook_cuEventRecord(CUevent event, CUstream stream)
{
	event_begin(event);
	return event_recorded(event, stream, 0, real.cuEventRecord(event, stream));
}

CUresult hook_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
	event_begin(event);
	return event_recorded(event, stream, flags, real.cuEventRecordWithFlags(event, stream, flags));
}

CUresult hook_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	struct event_look look;
	const struct event *e = &look.event;
	uint32_t slot;

	event_get(event, &look);
	CUresult rc = real.cuStreamWaitEvent(stream, event, flags);
	event_settle(event, &look);
	if (rc != CUDA_SUCCESS || e->state == EVENT_NEVER || flow_capturing(stream))
		return rc;
	struct flow *f = flow_of_stream(stream, &slot);
	if (!f) {
		flow_elsewhere_waits();
		return rc;
	}
	if (e->state == EVENT_HERE && e->flow == f) {
		clock_wait(&f->clock, slot, &e->vec);
		return rc;
	}
	flow_wait_unknown(f, slot);
	flow_note(f, "order", "cuStreamWaitEvent", "an event of another process or GPU, or recorded by two threads at once, orders everything");
	return rc;
}

static void event_seen(CUevent handle, struct event_look *look)
{
	const struct event *e = &look->event;
	struct flow *f = flow_here();

	event_settle(handle, look);
	if (e->state == EVENT_HERE)
		flow_host_saw(e->flow, &e->vec);
	else if (f && e->state == EVENT_UNKNOWN) /* whatever context is current */
		clock_host_unknown(&f->clock);
}

CUresult hook_cuEventQuery(CUevent event)
{
	struct event_look look;

	event_get(event, &look);
	CUresult rc = real.cuEventQuery(event);
	if (rc == CUDA_SUCCESS)
		event_seen(event, &look);
	return rc;
}

CUresult hook_cuEventSynchronize(CUevent event)
{
	struct event_look look;

	event_get(event, &look);
	CUresult rc = real.cuEventSynchronize(event);
	if (rc == CUDA_SUCCESS)
		event_seen(event, &look);
	return rc;
}

/* Success says that both have completed. */
static CUresult event_elapsed(real_event_elapsed_time *call, float *milliseconds, CUevent start, CUevent end)
{
	const CUevent event[2] = {start, end};
	struct event_look look[2];

	for (int i = 0; i < 2; i++)
		event_get(event[i], &look[i]);
	CUresult rc = call(milliseconds, start, end);
	for (int i = 0; i < 2 && rc == CUDA_SUCCESS; i++)
		event_seen(event[i], &look[i]);
	return rc;
}

CUresult hook_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	return event_elapsed(real.cuEventElapsedTime, milliseconds, start, end);
}

CUresult hook_cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
	return event_elapsed(real.cuEventElapsedTime_v2, milliseconds, start, end);
}
