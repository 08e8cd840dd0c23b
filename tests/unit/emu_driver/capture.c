/* Stream capture: what becomes a node, forks and joins, and what ends or invalidates a capture. The errors are those of an H200. */
#include <pthread.h>

#include "graph.h"

#define INVALIDATED CUDA_ERROR_STREAM_CAPTURE_INVALIDATED

static CUstream blocking;
static CUevent e, f;

static void begin(CUstream s, CUstreamCaptureMode mode) { OK(cuStreamBeginCapture(s, mode)); }

static CUstreamCaptureStatus status_of(CUstream s)
{
	CUstreamCaptureStatus status;
	OK(cuStreamIsCapturing(s, &status));
	return status;
}

static CUgraph end(CUstream s)
{
	CUgraph g;
	OK(cuStreamEndCapture(s, &g));
	CHECK(g && status_of(s) == CU_STREAM_CAPTURE_STATUS_NONE);
	return g;
}

static void end_fails(CUstream s, CUresult why)
{
	CUgraph g = (CUgraph)1;
	EXPECT(why, cuStreamEndCapture(s, &g));
	CHECK(!g);
}

static void run(CUgraph g)
{
	CUgraphExec x = instantiate(g);
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(x, a));
	OK(cuGraphExecDestroy(x));
}

/* ---- what is captured */

static unsigned called;
static void CUDA_CB host_function(void *data) { called = *(unsigned *)data; }
static void CUDA_CB callback(CUstream s, CUresult result, void *data) { called += s && data && result; }

static void work(void)
{
	static const CUgraphNodeType expected[] = {
		CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY,
		CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		CU_GRAPH_NODE_TYPE_WAIT_EVENT};
	unsigned host[4] = {1, 2, 3, 4}, back[4] = {0}, seven = 7;
	CUgraphNode n[16];
	size_t count = 16;
	OK(cuMemsetD32(word, 0, 16));
	OK(cuCtxSynchronize());
	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launch_marker(a, 5);
	OK(cuMemsetD2D32Async(word, 8, 6, 1, 2, a));
	OK(cuMemcpyHtoDAsync(word + 16, host, 16, a)); /* pageable: read when the graph runs */
	OK(cuMemcpyDtoDAsync(word, word, 0, a));       /* nothing */
	CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = word, .srcPitch = 8, .dstMemoryType = CU_MEMORYTYPE_HOST,
			     .dstHost = back, .dstPitch = 4, .WidthInBytes = 4, .Height = 2};
	OK(cuMemcpy2DAsync(&box, a));
	OK(cuMemcpyAsync((CUdeviceptr)&back[2], word + 24, 8, a));
	OK(cuLaunchHostFunc(a, host_function, &seven));
	OK(cuStreamWriteValue32(a, word + 40, 11, 0));
	OK(cuStreamWaitValue32(a, word + 40, 11, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuEventRecordWithFlags(e, a, CU_EVENT_RECORD_EXTERNAL));
	OK(cuStreamWaitEvent(a, e, CU_EVENT_WAIT_EXTERNAL));
	CHECK(value(word) == 0 && back[0] == 0);
	CUgraph g = end(a);
	OK(cuGraphGetNodes(g, n, &count));
	CHECK(count == sizeof expected / sizeof *expected);
	for (size_t i = 0; i < count; i++) {
		CUgraphNodeType type;
		size_t before = 0;
		OK(cuGraphNodeGetType(n[i], &type));
		CHECK(type == expected[i]);
		OK(cuGraphNodeGetDependencies(n[i], NULL, NULL, &before));
		CHECK(before == (i != 0));
	}
	OK(cuCtxSynchronize());
	CHECK(collect() == 0); /* nothing ran */
	host[3] = 44;
	run(g);
	CHECK(collect() == 1 && ran[0] == 5);
	CHECK(back[0] == 6 && back[1] == 6 && back[2] == 3 && back[3] == 44 && called == 7 && value(word + 40) == 11);
}

/* A fork and its join: the two sides in either order, behind the node before and before the one behind. */
static void forks(void)
{
	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launch_marker(a, 0);
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	CHECK(status_of(b) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	launch_marker(b, 1);
	launch_marker(a, 2);
	OK(cuEventRecord(f, b));
	OK(cuStreamWaitEvent(a, f, 0));
	launch_marker(a, 3);
	CUgraph g = end(a);
	CHECK(status_of(b) == CU_STREAM_CAPTURE_STATUS_NONE);
	size_t edges = 0;
	OK(cuGraphGetEdges(g, NULL, NULL, NULL, &edges));
	CHECK(edges == 4);
	CUgraphExec x = instantiate(g);
	for (int i = 0; i < 16; i++) {
		OK(cuGraphLaunch(x, i % 2 ? a : NULL));
		CHECK(collect() == 4 && ran[0] == 0 && ran[1] + ran[2] == 3 && ran[3] == 3);
	}
	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED); /* no graph is launched into a capture, in whatever mode (an H200, driver 580) */
	CUgraph none;
	CHECK(cuGraphLaunch(x, a) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(cuStreamEndCapture(a, &none) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	launch_marker(a, 4);
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0)); /* a fork of nothing need not be joined */
	run(end(a));
	CHECK(collect() == 1 && ran[0] == 4);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
}

/* The capture as nodes may be added to it, and its edges set. */
static void info(void)
{
	CUstreamCaptureStatus status;
	cuuint64_t id, other;
	CUgraph g;
	const CUgraphNode *after;
	CUgraphNode n;
	CUgraphExec x;
	size_t count;
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(a, NULL, NULL, 0, 0));
	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
	begin(b, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launch_marker(a, 0);
	OK(cuStreamGetCaptureInfo(a, &status, &id, &g, &after, NULL, &count));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1 && count_nodes(g) == 1);
	OK(cuStreamGetCaptureInfo(b, &status, &other, NULL, NULL, NULL, NULL));
	CHECK(id != other);
	OK(cuGraphDestroy(end(b))); /* an empty one */
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuGraphDestroy(g));
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuGraphDestroyNode(after[0]));
	n = marker(g, after, 1, 1);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamUpdateCaptureDependencies(a, &n, NULL, 1, 5));
	OK(cuStreamUpdateCaptureDependencies(a, &n, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	launch_marker(a, 2);
	CHECK(end(a) == g);
	run(g);
	CHECK(collect() == 3 && ran[0] == 0 && ran[1] == 1 && ran[2] == 2);

	OK(cuGraphCreate(&g, 0));
	n = marker(g, NULL, 0, 3);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCaptureToGraph(a, NULL, &n, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuStreamBeginCaptureToGraph(a, g, &n, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_marker(a, 4);
	CHECK(end(a) == g);
	OK(cuStreamBeginCaptureToGraph(a, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGraphInstantiate(&x, g, 0));
	EXPECT(INVALIDATED, cuMemsetD32Async(word, 0, 1, a));
	end_fails(a, INVALIDATED);
	CHECK(count_nodes(g) == 2); /* a graph of the program's own stays */
	run(g);
	CHECK(collect() == 2 && ran[0] == 3 && ran[1] == 4);
}

/* ---- ends that fail */

static void *end_elsewhere(void *why)
{
	CUcontext c;
	OK(cuDevicePrimaryCtxRetain(&c, 0));
	OK(cuCtxSetCurrent(c));
	if (*(CUresult *)why)
		end_fails(a, *(CUresult *)why);
	else
		OK(cuGraphDestroy(end(a)));
	return NULL;
}

static void in_a_thread(void *(*what)(void *), void *data)
{
	pthread_t thread;
	CHECK(!pthread_create(&thread, NULL, what, data));
	CHECK(!pthread_join(thread, NULL));
}

static void ends(void)
{
	end_fails(a, CUDA_ERROR_ILLEGAL_STATE);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture(a, (CUstreamCaptureMode)7));
	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_marker(a, 0);
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	launch_marker(b, 1);
	end_fails(a, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	CHECK(status_of(a) == CU_STREAM_CAPTURE_STATUS_NONE && status_of(b) == CU_STREAM_CAPTURE_STATUS_NONE);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuEventQuery(e)); /* recorded in a capture that is over */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(b, e, 0));
	OK(cuEventRecord(e, b));
	OK(cuEventSynchronize(e));

	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL); /* joined, but for what came later */
	launch_marker(a, 0);
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuEventRecord(f, b));
	OK(cuStreamWaitEvent(a, f, 0));
	launch_marker(b, 1);
	end_fails(a, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

	CUstream gone;
	OK(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL); /* by a stream that is no more */
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(gone, e, 0));
	launch_marker(gone, 1);
	OK(cuStreamDestroy(gone));
	end_fails(a, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL); /* on another stream than it began */
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	end_fails(b, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	CHECK(status_of(a) == CU_STREAM_CAPTURE_STATUS_INVALIDATED && status_of(b) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	end_fails(a, INVALIDATED);
	CHECK(status_of(b) == CU_STREAM_CAPTURE_STATUS_NONE);

	begin(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	in_a_thread(end_elsewhere, &(CUresult){CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD});
	end_fails(a, CUDA_ERROR_ILLEGAL_STATE);
	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	in_a_thread(end_elsewhere, &(CUresult){CUDA_SUCCESS});
	CHECK(collect() == 0);
}

/* ---- calls that invalidate */

static CUdeviceptr spare;

static CUresult allocates(void) { return cuMemAlloc(&spare, 64); }
static CUresult frees(void) { return cuMemFree(spare); }
static CUresult asks_stream(void) { return cuStreamQuery(b); }
static CUresult waits_stream(void) { return cuStreamSynchronize(b); }
static CUresult asks_event(void) { return cuEventQuery(f); }
static CUresult waits_event(void) { return cuEventSynchronize(f); }
static CUresult waits_context(void) { return cuCtxSynchronize(); }
static CUresult waits_captured(void) { return cuStreamSynchronize(a); }
static CUresult asks_captured(void) { return cuStreamQuery(a); }
static CUresult makes_stream(void)
{
	CUstream s;
	CUresult result = cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	return result ? result : cuStreamDestroy(s);
}
static CUresult copies(void) { return cuMemcpyHtoD(word, &called, 4); } /* by the legacy stream, which waits for no captured one here */

enum when { NEVER, UNSAFE, ALWAYS };
static const struct { CUresult (*call)(void); enum when refused; } calls[] = {
	{allocates, UNSAFE}, {frees, UNSAFE}, {asks_stream, UNSAFE}, {waits_stream, UNSAFE}, {asks_event, UNSAFE}, {waits_event, UNSAFE},
	{waits_context, ALWAYS}, {waits_captured, ALWAYS}, {asks_captured, ALWAYS}, {makes_stream, NEVER}, {copies, NEVER}};

struct attempt { unsigned call; CUresult expected; CUstreamCaptureMode mode; };

static void *try(void *data)
{
	const struct attempt *t = data;
	CUcontext c;
	CUstreamCaptureMode mode = t->mode;
	OK(cuDevicePrimaryCtxRetain(&c, 0));
	OK(cuCtxSetCurrent(c));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	EXPECT(t->expected, calls[t->call].call());
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == t->mode);
	return NULL;
}

/* Each call, in each mode of the capture and of the calling thread, which captures or does not. */
static void calls_that_invalidate(void)
{
	OK(cuEventRecord(f, b));
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		for (unsigned capture = 0; capture < 3; capture++)
			for (unsigned mine = 0; mine < 3; mine++)
				for (unsigned elsewhere = 0; elsewhere < 2; elsewhere++) {
					const int prohibited = mine != CU_STREAM_CAPTURE_MODE_RELAXED &&
							       (elsewhere ? !mine && !capture : capture != CU_STREAM_CAPTURE_MODE_RELAXED);
					const int refused = calls[i].refused == ALWAYS || (calls[i].refused == UNSAFE && prohibited);
					struct attempt t = {i, refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS, (CUstreamCaptureMode)mine};
					if (calls[i].call == frees)
						OK(cuMemAlloc(&spare, 64));
					begin(a, (CUstreamCaptureMode)capture);
					if (elsewhere)
						in_a_thread(try, &t);
					else
						try(&t);
					if (refused)
						end_fails(a, INVALIDATED);
					else
						OK(cuGraphDestroy(end(a)));
				}
}

/* The legacy stream would wait for a blocking stream that is captured. */
static void legacy(void)
{
	CUstreamCaptureStatus status;
	static const CUresult implicit = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	for (unsigned i = 0; i < 5; i++) {
		begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
		EXPECT(implicit, cuStreamIsCapturing(NULL, &status));
		CHECK(status_of(blocking) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
		switch (i) {
		case 0: EXPECT(implicit, cuMemsetD32Async(word, 0, 1, NULL)); break;
		case 1: EXPECT(implicit, cuStreamSynchronize(NULL)); break;
		case 2: EXPECT(implicit, cuEventRecord(e, NULL)); break;
		case 3: EXPECT(implicit, cuMemcpyHtoD(word, &i, 4)); break;
		default: EXPECT(implicit, cuStreamQuery(NULL)); break;
		}
		CHECK(status_of(blocking) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
		end_fails(blocking, INVALIDATED);
	}
	begin(a, CU_STREAM_CAPTURE_MODE_GLOBAL); /* not for one that is not blocking */
	OK(cuMemsetD32Async(word, 0, 1, NULL));
	OK(cuEventRecord(e, a));
	EXPECT(implicit, cuStreamWaitEvent(NULL, e, 0)); /* unless it is told to */
	end_fails(a, INVALIDATED);
	OK(cuCtxSynchronize());
}

/* Waits across the border of a capture, questions about its events, and what no graph holds. */
static void borders(void)
{
	CUevent never;
	float ms;
	OK(cuEventCreate(&never, 0));
	OK(cuEventRecord(f, b));
	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	OK(cuStreamWaitEvent(a, never, 0));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(a, f, 0));
	EXPECT(INVALIDATED, cuMemsetD32Async(word, 0, 1, a));
	EXPECT(INVALIDATED, cuEventRecord(e, a));
	end_fails(a, INVALIDATED);

	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	begin(b, CU_STREAM_CAPTURE_MODE_RELAXED);
	OK(cuEventRecord(e, a));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(b, e, 0));
	end_fails(a, INVALIDATED);
	end_fails(b, INVALIDATED);

	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	OK(cuEventRecord(e, a));
	EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventElapsedTime(&ms, e, f));
	CHECK(status_of(a) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(e));
	end_fails(a, INVALIDATED);
	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	OK(cuEventRecord(e, a));
	EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(e));
	end_fails(a, INVALIDATED);

	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(word + 1, 0, 1, a)); /* what no stream takes leaves it as it is */
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(a, callback, NULL, 0));
	end_fails(a, INVALIDATED);
	begin(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemAllocAsync(&spare, 64, a));
	end_fails(a, INVALIDATED);
	begin(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED);
	OK(cuMemsetD32Async(word, 8, 1, CU_STREAM_PER_THREAD));
	run(end(CU_STREAM_PER_THREAD));
	OK(cuCtxSynchronize());
	CHECK(value(word) == 8);
	CUstreamCaptureMode mode = (CUstreamCaptureMode)9;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(&mode));
}

int main(void)
{
	prepare();
	OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&f, 0));
	work();
	forks();
	info();
	ends();
	calls_that_invalidate();
	legacy();
	borders();
	return 0;
}
