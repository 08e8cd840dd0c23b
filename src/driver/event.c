#include "driver/event.h"

#include <stdlib.h>

#include "cuda/hooks.h"
#include "driver/flow.h"

enum event_state {
	EVENT_NEVER,   /* not recorded: waiting for it waits for nothing */
	EVENT_HERE,    /* at `vec` of `flow`, in `slot` */
	EVENT_BESIDE,  /* in a stream of a GPU that is not checked */
	EVENT_UNKNOWN  /* recorded where we cannot look: anything may be before it */
};
struct event {
	enum event_state state;
	struct flow *flow;
	uint32_t slot;
	struct clock_vec vec;
	unsigned recorded;  /* records of it that began, ... */
	unsigned recording; /* ... and those of them that are under way */
	int overlapped;     /* more than one of them: which comes last is not known */
	int elsewhere;      /* event_elsewhere() */
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
	if (e) {
		e->state = EVENT_UNKNOWN;
		e->elsewhere = 1; /* made by another process or API, unless it is being made */
	}
	return e;
}

/* Around the driver's record, for the two are not one step: whoever looks in between, or records meanwhile, does not know what is
 * before the event. No lock is held over it, for it may block. */
void event_begin(CUevent handle)
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
		e->state = e->overlapped || e->elsewhere ? EVENT_UNKNOWN : at->state;
		e->flow = at->flow;
		e->slot = at->slot;
		e->vec = at->vec;
	}
	if (e && e->recording)
		e->overlapped &= --e->recording > 0;
	pthread_mutex_unlock(&event_lock);
}

void event_unknown(CUevent handle, CUresult rc)
{
	static const struct event unknown = {.state = EVENT_UNKNOWN};

	event_end(handle, rc == CUDA_SUCCESS ? &unknown : NULL);
}

void event_elsewhere(CUevent handle)
{
	pthread_mutex_lock(&event_lock);
	struct event *e = event_entry(handle);
	if (e) {
		e->state = EVENT_UNKNOWN;
		e->elsewhere = 1;
	}
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
	pthread_mutex_lock(&event_lock); /* before the call: afterwards another thread may get the same handle */
	free(map_remove(&events, (uintptr_t)event));
	pthread_mutex_unlock(&event_lock);
	return real.cuEventDestroy_v2(event);
}

/* A record inside a capture is an edge of the graph; only an external one is seen by work outside, each time that the graph runs. */
static CUresult event_recorded(CUevent handle, CUstream stream, unsigned flags, CUresult rc)
{
	struct event e = {0};
	int seen = rc == CUDA_SUCCESS;

	if (seen && flow_capturing(stream)) {
		seen = 0;
		if (flags & CU_EVENT_RECORD_EXTERNAL)
			event_elsewhere(handle);
	} else if (seen && (e.flow = flow_of_stream(stream, &e.slot))) {
		e.state = EVENT_HERE;
		clock_record(&e.flow->clock, e.slot, &e.vec);
	} else {
		e.state = EVENT_BESIDE;
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

/* An event of the stream itself orders nothing more in it. The driver does not wait for it, either: a launch that may begin early does (an H200,
 * driver 580; tests/pdl). */
static int event_is_own(const struct event *e, const struct flow *f, uint32_t slot)
{
	return e->flow == f && e->slot == slot && slot != CLOCK_SHARED && slot != CLOCK_LEGACY;
}

CUresult hook_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	struct event_look look;
	const struct event *e = &look.event;
	uint32_t slot;

	event_get(event, &look);
	CUresult rc = real.cuStreamWaitEvent(stream, event, flags);
	event_settle(event, &look);
	int capturing = flow_capturing(stream);
	if (rc != CUDA_SUCCESS || (capturing ? !(flags & CU_EVENT_WAIT_EXTERNAL) : e->state == EVENT_NEVER))
		return rc;
	struct flow *f = capturing ? NULL : flow_of_stream(stream, &slot);
	if (!f && !capturing && e->state == EVENT_BESIDE) /* among its own */
		return rc;
	if (!f || e->state != EVENT_HERE)
		return flow_awaits(stream, "cuStreamWaitEvent", "an event that was recorded where gsan cannot look orders everything", rc);
	if (!event_is_own(e, f, slot))
		flow_follows(f, slot, e->flow, &e->vec);
	return rc;
}

static void event_seen(CUevent handle, struct event_look *look)
{
	const struct event *e = &look->event;

	event_settle(handle, look);
	if (e->state == EVENT_HERE)
		flow_host_saw(e->flow, &e->vec);
	else if (e->state == EVENT_BESIDE)
		flow_elsewhere_seen();
	else if (e->state == EVENT_UNKNOWN) /* whatever context is current */
		flow_host_unknown();
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
static CUresult event_elapsed(__typeof__(real.cuEventElapsedTime) call, float *milliseconds, CUevent start, CUevent end)
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

/* ---- recorded, or waited for, by what is not a stream --------------------------------------------------------- */

CUresult hook_cuCtxRecordEvent(CUcontext context, CUevent event)
{
	event_begin(event);
	CUresult rc = real.cuCtxRecordEvent(context, event);
	event_unknown(event, rc);
	return rc;
}

CUresult hook_cuGreenCtxRecordEvent(CUgreenCtx context, CUevent event)
{
	event_begin(event);
	CUresult rc = real.cuGreenCtxRecordEvent(context, event);
	event_unknown(event, rc);
	return rc;
}

static CUresult event_awaited(struct flow *f, CUresult rc)
{
	if (rc != CUDA_SUCCESS)
		return rc;
	if (f) {
		flow_wait_everywhere(f);
		flow_note(f, "order", "cuCtxWaitEvent", "a context's wait for an event orders everything");
	} else {
		flow_elsewhere_waits();
	}
	return rc;
}

CUresult hook_cuCtxWaitEvent(CUcontext context, CUevent event)
{
	return event_awaited(flow_of_context(context), real.cuCtxWaitEvent(context, event));
}

static void event_awaited_in(struct flow *f, void *rc)
{
	event_awaited(f, *(CUresult *)rc);
}

/* Of which GPU it is was not told. */
CUresult hook_cuGreenCtxWaitEvent(CUgreenCtx context, CUevent event)
{
	CUresult rc = real.cuGreenCtxWaitEvent(context, event);

	flow_each(event_awaited_in, &rc);
	return rc;
}

CUresult hook_cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphore, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
		unsigned count, CUstream stream)
{
	return flow_awaits(stream, "cuWaitExternalSemaphoresAsync", "a stream's wait for an external semaphore orders everything",
			real.cuWaitExternalSemaphoresAsync(semaphore, params, count, stream));
}

CUresult hook_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	event_elsewhere(event);
	return real.cuIpcGetEventHandle(handle, event);
}

/* Its value may be that of an event which went unseen, with its context. */
CUresult hook_cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	CUresult rc = real.cuIpcOpenEventHandle(event, handle);

	if (rc == CUDA_SUCCESS)
		event_elsewhere(*event);
	return rc;
}

/* ---- nodes of graphs ------------------------------------------------------------------------------------------ */

CUresult hook_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count, CUevent event)
{
	event_elsewhere(event);
	return real.cuGraphAddEventRecordNode(node, graph, before, count, event);
}

CUresult hook_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	event_elsewhere(event);
	return real.cuGraphEventRecordNodeSetEvent(node, event);
}

CUresult hook_cuGraphExecEventRecordNodeSetEvent(CUgraphExec graph, CUgraphNode node, CUevent event)
{
	event_elsewhere(event);
	return real.cuGraphExecEventRecordNodeSetEvent(graph, node, event);
}

CUresult hook_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count, CUevent event)
{
	flow_graph_waits();
	return real.cuGraphAddEventWaitNode(node, graph, before, count, event);
}

CUresult hook_cuGraphAddExternalSemaphoresWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
		const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params)
{
	flow_graph_waits();
	return real.cuGraphAddExternalSemaphoresWaitNode(node, graph, before, count, params);
}

CUresult hook_cuGraphAddBatchMemOpNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
		const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	flow_graph_waits();
	return real.cuGraphAddBatchMemOpNode(node, graph, before, count, params);
}

CUresult hook_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
		const CUDA_HOST_NODE_PARAMS *params)
{
	flow_graph_waits();
	return real.cuGraphAddHostNode(node, graph, before, count, params);
}

/* The forms that take any node. */
void event_node(const CUgraphNodeParams *params)
{
	static const CUgraphNodeType waits[] = {CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
			CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_HOST};

	if (params && params->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
		event_elsewhere(params->eventRecord.event);
	for (unsigned i = 0; params && i < sizeof(waits) / sizeof(*waits); i++)
		if (params->type == waits[i])
			flow_graph_waits();
}

CUresult hook_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNodeParams *params)
{
	event_node(params);
	return real.cuGraphAddNode(node, graph, before, count, params);
}

CUresult hook_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, const CUgraphEdgeData *edge, size_t count,
		CUgraphNodeParams *params)
{
	event_node(params);
	return real.cuGraphAddNode_v2(node, graph, before, edge, count, params);
}

CUresult hook_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	event_node(params);
	return real.cuGraphNodeSetParams(node, params);
}
