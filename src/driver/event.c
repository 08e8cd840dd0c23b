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
};

static struct map events = MAP_INIT;
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER; /* contents of all events */

/* An event without an entry came from elsewhere: another process, another API. */
static void event_get(CUevent handle, struct event *to)
{
	pthread_mutex_lock(&event_lock);
	const struct event *e = map_get(&events, (uintptr_t)handle);
	if (e)
		*to = *e;
	else
		to->state = EVENT_UNKNOWN;
	pthread_mutex_unlock(&event_lock);
}

static void event_set(CUevent handle, const struct event *from)
{
	pthread_mutex_lock(&event_lock);
	struct event *e = map_get(&events, (uintptr_t)handle);
	if (!e) {
		e = malloc(sizeof(*e));
		/* Without memory the event stays unknown, which over-orders. */
		if (e && map_put(&events, (uintptr_t)handle, e)) {
			free(e);
			e = NULL;
		}
	}
	if (e)
		*e = *from;
	pthread_mutex_unlock(&event_lock);
}

CUresult hook_cuEventCreate(CUevent *event, unsigned flags)
{
	CUresult rc = real.cuEventCreate(event, flags);
	struct event never = {.state = EVENT_NEVER};

	if (rc == CUDA_SUCCESS)
		event_set(*event, &never);
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
static void event_record(CUevent handle, CUstream stream, unsigned flags)
{
	struct event e = {.state = EVENT_UNKNOWN};
	uint32_t slot;

	if (flow_capturing(stream)) {
		if (!(flags & CU_EVENT_RECORD_EXTERNAL))
			return;
	} else if ((e.flow = flow_of_stream(stream, &slot))) {
		e.state = EVENT_HERE;
		clock_mark(&e.flow->clock, slot, &e.vec);
	}
	event_set(handle, &e);
}

CUresult hook_cuEventRecord(CUevent event, CUstream stream)
{
	CUresult rc = real.cuEventRecord(event, stream);

	if (rc == CUDA_SUCCESS)
		event_record(event, stream, 0);
	return rc;
}

CUresult hook_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
	CUresult rc = real.cuEventRecordWithFlags(event, stream, flags);

	if (rc == CUDA_SUCCESS)
		event_record(event, stream, flags);
	return rc;
}

CUresult hook_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	struct event e;
	uint32_t slot;

	event_get(event, &e);
	CUresult rc = real.cuStreamWaitEvent(stream, event, flags);
	if (rc != CUDA_SUCCESS || e.state == EVENT_NEVER || flow_capturing(stream))
		return rc;
	struct flow *f = flow_of_stream(stream, &slot);
	if (!f) {
		flow_elsewhere_waits();
		return rc;
	}
	if (e.state == EVENT_HERE && e.flow == f) {
		clock_wait(&f->clock, slot, &e.vec);
		return rc;
	}
	flow_wait_unknown(f, slot);
	flow_note(f, "order", "cuStreamWaitEvent", "an event of another process or GPU orders everything");
	return rc;
}

static void event_seen(const struct event *e)
{
	struct flow *f = flow_here();

	if (e->state == EVENT_HERE)
		flow_host_saw(e->flow, &e->vec);
	else if (f && e->state == EVENT_UNKNOWN) /* whatever context is current */
		clock_host_unknown(&f->clock);
}

CUresult hook_cuEventQuery(CUevent event)
{
	struct event e;

	event_get(event, &e);
	CUresult rc = real.cuEventQuery(event);
	if (rc == CUDA_SUCCESS)
		event_seen(&e);
	return rc;
}

CUresult hook_cuEventSynchronize(CUevent event)
{
	struct event e;

	event_get(event, &e);
	CUresult rc = real.cuEventSynchronize(event);
	if (rc == CUDA_SUCCESS)
		event_seen(&e);
	return rc;
}

/* Success says that both have completed. */
static CUresult event_elapsed(real_event_elapsed_time *call, float *milliseconds, CUevent start, CUevent end)
{
	struct event e[2];

	event_get(start, &e[0]);
	event_get(end, &e[1]);
	CUresult rc = call(milliseconds, start, end);
	for (int i = 0; i < 2 && rc == CUDA_SUCCESS; i++)
		event_seen(&e[i]);
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
