#include "emu/driver/graph/capture.h"

#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/live.h"
#include "emu/driver/graph/object.h"

struct emu_capture {
	struct emu_capture *next;
	uint64_t id, thread;
	CUgraph graph;
	int given;                     /* by the program: it stays, whatever happens */
	CUstreamCaptureMode mode;
	int invalid;
	CUstream origin;
	struct emu_captured *streams;
};
static struct emu_capture *captures; /* that go on */
static uint64_t ids;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static struct emu_capture *find(uint64_t id)
{
	struct emu_capture *c = captures;
	while (c && c->id != id)
		c = c->next;
	return c;
}

static int blocking(const struct CUstream_st *s) { return !(s->flags & CU_STREAM_NON_BLOCKING); }

/* ---- what cannot be done while streams are captured */

static CUresult refuse(struct emu_capture *c, CUresult error)
{
	c->invalid = 1;
	return error;
}

CUresult emu_capture_refuse(CUstream s) { return refuse(s->captured->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); }

CUresult emu_capture_refuse_graph(CUgraph g) { return refuse(g->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); }

CUresult emu_capture_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;
	for (struct emu_capture *c = captures; c && thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED; c = c->next) {
		const int mine = c->thread == emu_thread_number();
		if (mine ? c->mode != CU_STREAM_CAPTURE_MODE_RELAXED
			 : c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
			result = refuse(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	return result;
}

/* The streams of the context that are captured, or those that the legacy stream would wait for. */
static CUresult refuse_all(CUcontext context, int blocking_alone, CUresult error)
{
	CUresult result = CUDA_SUCCESS;
	for (CUstream s = context->streams; s; s = s->next)
		if (s->captured && (!blocking_alone || blocking(s)))
			result = refuse(s->captured->capture, error);
	return result;
}

CUresult emu_capture_waits(CUstream s) { return s->captured ? emu_capture_refuse(s) : emu_capture_unsafe(); }

CUresult emu_capture_waits_context(CUcontext c)
{
	CUresult result = refuse_all(c, 0, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	return result ? result : emu_capture_unsafe();
}

static int legacy_unusable(CUstream s)
{
	int captured = 0;
	for (CUstream o = s == &s->context->legacy ? s->context->streams : NULL; o; o = o->next)
		captured |= o->captured && blocking(o);
	return captured;
}

CUresult emu_stream_use(CUcontext c, CUstream handle, CUstream *s)
{
	CUresult result = emu_stream_find(c, handle, s);
	if (!result && legacy_unusable(*s))
		result = refuse_all((*s)->context, 1, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	return result;
}

/* ---- streams and captures */

static CUresult join(struct emu_capture *c, CUstream s)
{
	struct emu_captured *j = calloc(1, sizeof *j);
	if (!j)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*j = (struct emu_captured){.next = c->streams, .capture = c, .stream = s};
	c->streams = j;
	s->captured = j;
	return CUDA_SUCCESS;
}

static CUresult add_all(struct emu_edges *to, const struct emu_edges *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (!emu_edges_hold(to, from->at[i].node) && emu_edges_add(to, from->at[i].node, &from->at[i].data))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

void emu_capture_destroyed(CUstream s)
{
	if (s->captured)
		s->captured->stream = NULL;
}

/* The graph stays, and is the caller's. */
static CUgraph capture_end(struct emu_capture *c)
{
	for (struct emu_captured *j = c->streams, *next; j; j = next) {
		next = j->next;
		if (j->stream)
			j->stream->captured = NULL;
		free(j->after.at);
		free(j->shown);
		free(j->shown_data);
		free(j);
	}
	struct emu_capture **at = &captures;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	CUgraph g = c->graph;
	g->capture = NULL;
	free(c);
	return g;
}

static CUresult begin(CUstream handle, CUgraph given, const struct emu_edges *after, CUstreamCaptureMode mode)
{
	CUstream s;
	CUcontext context;
	CUresult result = (unsigned)mode <= CU_STREAM_CAPTURE_MODE_RELAXED ? emu_enter_context(&context) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = emu_stream_use(context, handle, &s);
	if (!result && s == &s->context->legacy)
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!result && s->captured)
		result = CUDA_ERROR_ILLEGAL_STATE;
	if (!result && given && (!emu_live(given, EMU_LIVE_GRAPH) || given->capture || given->parent))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; after && i < after->count && !result; i++)
		if (!emu_live(after->at[i].node, EMU_LIVE_NODE) || after->at[i].node->graph != given)
			result = CUDA_ERROR_INVALID_VALUE;
	struct emu_capture *c = result ? NULL : calloc(1, sizeof *c);
	CUgraph g = !c || given ? given : emu_graph_new();
	if (!result && (!c || !g))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result) {
		free(c);
		return emu_leave(result);
	}
	*c = (struct emu_capture){captures, ++ids, emu_thread_number(), g, given != NULL, mode, 0, s, NULL};
	captures = c;
	g->capture = c;
	result = join(c, s);
	if (!result && after)
		result = add_all(&s->captured->after, after);
	if (result) {
		g = capture_end(c);
		if (!given)
			emu_graph_free(g);
	}
	return emu_leave(result);
}

EMU_STREAM_API(cuStreamBeginCapture_v2, _ptsz, (CUstream handle, CUstreamCaptureMode mode), (handle, mode))
{
	return begin(handle, NULL, NULL, mode);
}

EMU_STREAM_API(cuStreamBeginCapture, _ptsz, (CUstream handle), (handle))
{
	return begin(handle, NULL, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult gather(struct emu_edges *edges, const CUgraphNode *node, const CUgraphEdgeData *data, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!emu_edges_hold(edges, node[i]) && emu_edges_add(edges, node[i], data ? &data[i] : NULL))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

EMU_STREAM_API(cuStreamBeginCaptureToGraph, _ptsz,
	       (CUstream handle, CUgraph g, const CUgraphNode *after, const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode),
	       (handle, g, after, data, count, mode))
{
	struct emu_edges edges = {NULL, 0, 0};
	CUresult result = g && (after || !count) ? gather(&edges, after, data, count) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = begin(handle, g, &edges, mode);
	free(edges.at);
	return result;
}

static size_t mark(const struct emu_edges *e, CUgraphNode *marked, size_t count)
{
	for (size_t i = 0; i < e->count; i++)
		if (!e->at[i].node->place) {
			e->at[i].node->place = 1;
			marked[count++] = e->at[i].node;
		}
	return count;
}

/* What every stream of the capture ends with is before what its first stream ends with, or the same. */
static int all_joined(const struct emu_capture *c)
{
	CUgraphNode *marked = malloc((c->graph->nodes + 1) * sizeof(CUgraphNode));
	size_t count = 0;
	for (size_t i = 0; i < c->graph->nodes; i++)
		c->graph->node[i]->place = 0;
	for (const struct emu_captured *j = c->streams; marked && j; j = j->next)
		if (j->stream == c->origin)
			count = mark(&j->after, marked, count);
	for (size_t at = 0; at < count; at++)
		count = mark(&marked[at]->before, marked, count);
	free(marked);
	for (const struct emu_captured *j = c->streams; j; j = j->next)
		for (size_t i = 0; i < j->after.count; i++)
			if (!j->after.at[i].node->place)
				return 0;
	return 1;
}

/* Another thread's call ends a capture that is not its own, as does that of a stream that did not begin it. */
static CUresult end_error(const struct emu_capture *c)
{
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != emu_thread_number())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return all_joined(c) ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

EMU_STREAM_API(cuStreamEndCapture, _ptsz, (CUstream handle, CUgraph *graph), (handle, graph))
{
	CUcontext context;
	CUstream s;
	CUresult result = graph ? emu_enter_context(&context) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*graph = NULL;
	result = emu_stream_use(context, handle, &s);
	if (!result && !s->captured)
		result = CUDA_ERROR_ILLEGAL_STATE;
	if (!result && s->captured->capture->origin != s)
		result = refuse(s->captured->capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	if (result)
		return emu_leave(result);
	struct emu_capture *c = s->captured->capture;
	const int given = c->given;
	result = end_error(c);
	CUgraph g = capture_end(c);
	if (!result)
		*graph = g;
	else if (!given)
		emu_graph_free(g);
	emu_leave(CUDA_SUCCESS);
	emu_objects_destroy();
	return result;
}

/* ---- nodes */

CUresult emu_capture_kernel(CUstream s, const CUgraphNodeParams *p, const CUlaunchAttribute *attribute, unsigned attributes)
{
	struct emu_captured *j = s->captured;
	const struct emu_node_work w = {p, s->context, attribute, attributes};
	CUgraphNode n;
	if (j->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	CUresult result = emu_node_add(j->capture->graph, &j->after, &w, &n);
	if (result)
		return result; /* what no stream would take either leaves the capture as it is */
	j->after.count = 0;
	return emu_edges_add(&j->after, n, NULL) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult emu_capture_add(CUstream s, const CUgraphNodeParams *p) { return emu_capture_kernel(s, p, NULL, 0); }

/* ---- events */

void emu_captured_event_clear(struct emu_captured_event *e)
{
	free(e->after.at);
	*e = (struct emu_captured_event){0, {NULL, 0, 0}};
}

CUresult emu_capture_record(CUstream s, struct emu_captured_event *e)
{
	if (s->captured->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	emu_captured_event_clear(e);
	e->capture = s->captured->capture->id;
	return add_all(&e->after, &s->captured->after);
}

/* A stream that is captured waits for an event. */
static CUresult wait_captured(struct emu_captured *j, struct emu_captured_event *e, int recorded)
{
	struct emu_capture *c = find(e->capture);
	if (j->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!e->capture)
		return recorded ? refuse(j->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION) : CUDA_SUCCESS;
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	if (c == j->capture)
		return add_all(&j->after, &e->after);
	refuse(j->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	return refuse(c, CUDA_ERROR_STREAM_CAPTURE_MERGE);
}

CUresult emu_capture_wait(CUstream s, struct emu_captured_event *e, int recorded)
{
	if (s->captured)
		return wait_captured(s->captured, e, recorded);
	struct emu_capture *c = find(e->capture);
	if (!c || c->invalid)
		return CUDA_ERROR_INVALID_VALUE;
	if (s == &s->context->legacy)
		return refuse(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CUresult result = join(c, s);
	return result ? result : add_all(&s->captured->after, &e->after);
}

CUresult emu_capture_ask(const struct emu_captured_event *e)
{
	struct emu_capture *c = find(e->capture);
	if (e->capture)
		return c && !c->invalid ? refuse(c, CUDA_ERROR_CAPTURED_EVENT) : CUDA_ERROR_INVALID_VALUE;
	return emu_capture_unsafe();
}

CUresult emu_capture_time(const struct emu_captured_event *e)
{
	return !e->capture ? CUDA_SUCCESS : find(e->capture) ? CUDA_ERROR_CAPTURED_EVENT : CUDA_ERROR_INVALID_VALUE;
}

/* ---- questions */

/* Opens a call about a stream, which may be the legacy one if that would not have to wait for a captured one. */
static CUresult enter_stream(CUstream handle, CUstream *s)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	result = emu_stream_find(c, handle, s);
	if (!result && legacy_unusable(*s))
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	return result ? emu_leave(result) : CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(CUstream s)
{
	return !s->captured ? CU_STREAM_CAPTURE_STATUS_NONE : s->captured->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
											     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

EMU_STREAM_API(cuStreamIsCapturing, _ptsz, (CUstream handle, CUstreamCaptureStatus *status), (handle, status))
{
	CUstream s;
	CUresult result = status ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*status = status_of(s);
	return emu_leave(CUDA_SUCCESS);
}

/* The dependencies as arrays, which last until the stream's next call. */
static CUresult show(struct emu_captured *j, int with_data)
{
	const size_t n = j->after.count;
	free(j->shown);
	free(j->shown_data);
	j->shown = malloc((n + 1) * sizeof(CUgraphNode));
	j->shown_data = malloc((n + 1) * sizeof *j->shown_data);
	if (!j->shown || !j->shown_data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < n; i++) {
		j->shown[i] = j->after.at[i].node;
		j->shown_data[i] = j->after.at[i].data;
		if (!with_data && (j->shown_data[i].type || j->shown_data[i].from_port))
			return CUDA_ERROR_LOSSY_QUERY;
	}
	return CUDA_SUCCESS;
}

EMU_STREAM_API(cuStreamGetCaptureInfo_v3, _ptsz,
	       (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **after,
		const CUgraphEdgeData **data, size_t *count),
	       (handle, status, id, graph, after, data, count))
{
	CUstream s;
	CUresult result = status && (after || !data) ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*status = status_of(s);
	if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return emu_leave(CUDA_SUCCESS);
	struct emu_captured *j = s->captured;
	if (after)
		result = show(j, data != NULL);
	if (result)
		return emu_leave(result);
	if (id)
		*id = j->capture->id;
	if (graph)
		*graph = j->capture->graph;
	if (after)
		*after = j->shown;
	if (data)
		*data = j->shown_data;
	if (count)
		*count = j->after.count;
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuStreamGetCaptureInfo_v2, _ptsz,
	       (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **after, size_t *count),
	       (handle, status, id, graph, after, count))
{
	return cuStreamGetCaptureInfo_v3_body(handle, status, id, graph, after, NULL, count);
}

EMU_STREAM_API(cuStreamGetCaptureInfo, _ptsz, (CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id), (handle, status, id))
{
	return cuStreamGetCaptureInfo_v3_body(handle, status, id, NULL, NULL, NULL, NULL);
}

EMU_STREAM_API(cuStreamUpdateCaptureDependencies_v2, _ptsz,
	       (CUstream handle, CUgraphNode *node, const CUgraphEdgeData *data, size_t count, unsigned flags), (handle, node, data, count, flags))
{
	CUstream s;
	CUresult result = flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES && (node || !count) ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	struct emu_captured *j = s->captured;
	if (!j)
		return emu_leave(CUDA_ERROR_ILLEGAL_STATE);
	if (j->capture->invalid)
		return emu_leave(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	for (size_t i = 0; i < count; i++)
		if (!emu_live(node[i], EMU_LIVE_NODE) || node[i]->graph != j->capture->graph)
			return emu_leave(CUDA_ERROR_INVALID_VALUE);
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		j->after.count = 0;
	return emu_leave(gather(&j->after, node, data, count));
}

EMU_STREAM_API(cuStreamUpdateCaptureDependencies, _ptsz, (CUstream handle, CUgraphNode *node, size_t count, unsigned flags),
	       (handle, node, count, flags))
{
	return cuStreamUpdateCaptureDependencies_v2_body(handle, node, NULL, count, flags);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	const CUstreamCaptureMode before = thread_mode;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}
