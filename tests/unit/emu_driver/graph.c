/* Graphs by hand: the order of their nodes, what each type does, launches and their order, clones, changes, and what is refused. */
#include <sys/wait.h>
#include <unistd.h>

#include "graph.h"

static uint64_t state;
static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % below;
}

/* ---- order */

/* Random graphs: everyone once, behind those it depends on. */
static void random_graphs(void)
{
	for (unsigned round = 0; round < 40; round++) {
		CUgraph g;
		CUgraphNode node[48], before[4];
		unsigned from[48][4], many[48], place[48], n = 1 + draw(48);
		OK(cuGraphCreate(&g, 0));
		for (unsigned i = 0; i < n; i++) {
			many[i] = 0;
			for (unsigned k = draw(5); k > 0 && i; k--) {
				unsigned f = draw(i), seen = 0;
				for (unsigned j = 0; j < many[i]; j++)
					seen |= from[i][j] == f;
				if (!seen)
					from[i][many[i]++] = f;
			}
			for (unsigned j = 0; j < many[i]; j++)
				before[j] = node[from[i][j]];
			if (draw(5) == 0)
				OK(cuGraphAddEmptyNode(&node[i], g, before, many[i]));
			else
				node[i] = marker(g, before, many[i], i);
		}
		CUgraphExec x = instantiate(g);
		OK(cuGraphLaunch(x, round % 3 ? a : NULL));
		const unsigned count = collect();
		for (unsigned i = 0; i < n; i++)
			place[i] = 0;
		for (unsigned i = 0; i < count; i++) {
			CHECK(ran[i] < n && !place[ran[i]]);
			place[ran[i]] = i + 1;
		}
		for (unsigned i = 0; i < n; i++) {
			CUgraphNodeType type;
			OK(cuGraphNodeGetType(node[i], &type));
			CHECK(!place[i] == (type == CU_GRAPH_NODE_TYPE_EMPTY));
			for (unsigned j = 0; type == CU_GRAPH_NODE_TYPE_EMPTY && j < many[i]; j++) /* as late as those before it */
				place[i] = place[from[i][j]] > place[i] ? place[from[i][j]] : place[i];
			for (unsigned j = 0; j < many[i]; j++)
				CHECK(place[from[i][j]] <= place[i]);
		}
		OK(cuGraphExecDestroy(x));
		OK(cuGraphDestroy(g));
	}
}

static int ascends(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (ran[i] != i)
			return 0;
	return 1;
}

/* 2,000 nodes one behind the other; 500 beside each other, between two. */
static void deep_and_wide(void)
{
	CUgraph g;
	CUgraphNode last = NULL, wide[500], first;
	OK(cuGraphCreate(&g, 0));
	for (unsigned i = 0; i < 2000; i++)
		last = marker(g, &last, i != 0, i);
	CUgraphExec x = instantiate(g);
	OK(cuGraphLaunch(x, a));
	CHECK(collect() == 2000 && ascends(2000));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuGraphCreate(&g, 0));
	first = marker(g, NULL, 0, 0);
	for (unsigned i = 0; i < 500; i++)
		wide[i] = marker(g, &first, 1, i + 1);
	marker(g, wide, 500, 501);
	x = instantiate(g);
	OK(cuGraphLaunch(x, a));
	CHECK(collect() == 502 && ran[0] == 0 && ran[501] == 501 && !ascends(502));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
}

/* Behind what its stream had, before what it gets, and one launch behind the other, in other streams, too. */
static void launches(void)
{
	CUgraph g;
	OK(cuGraphCreate(&g, 0));
	CUgraphNode n = marker(g, NULL, 0, 1);
	marker(g, &n, 1, 2);
	marker(g, NULL, 0, 3);
	CUgraphExec x = instantiate(g);
	for (unsigned round = 0; round < 20; round++) {
		launch_marker(a, 0);
		OK(cuGraphLaunch(x, a));
		OK(cuGraphUpload(x, b));
		OK(cuGraphLaunch(x, b));
		launch_marker(b, 4);
		CHECK(collect() == 8);
		CHECK(ran[0] == 0 && ran[7] == 4);
		for (unsigned half = 1; half < 7; half += 3) {
			unsigned seen = 0;
			for (unsigned i = half; i < half + 3; i++)
				seen |= 1u << ran[i];
			CHECK(seen == 14);
		}
	}
	OK(cuGraphLaunch(x, a));
	OK(cuGraphExecDestroy(x)); /* while it is yet to run */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(x, a));
	CHECK(collect() == 3);
	OK(cuGraphDestroy(g));
}

/* ---- seeds: two nodes without an edge run in either order, and in one for each seed */

static unsigned one_seed(unsigned seed, int edge)
{
	char text[16];
	int fd[2];
	unsigned got = 0;
	CHECK(!pipe(fd));
	pid_t pid = fork();
	if (!pid) {
		CUgraph g;
		snprintf(text, sizeof text, "%u", seed);
		setenv("EMU_SEED", text, 1);
		prepare();
		OK(cuGraphCreate(&g, 0));
		CUgraphNode n = marker(g, NULL, 0, 0);
		marker(g, &n, edge != 0, 1);
		OK(cuGraphLaunch(instantiate(g), a));
		CHECK(collect() == 2);
		_exit(write(fd[1], ran, 4) != 4);
	}
	int status;
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	CHECK(read(fd[0], &got, 4) == 4);
	close(fd[0]);
	close(fd[1]);
	return got;
}

static void seeds(void)
{
	unsigned seen = 0;
	for (unsigned seed = 1; seed <= 8; seed++) {
		const unsigned first = one_seed(seed, 0);
		CHECK(first == one_seed(seed, 0));
		CHECK(one_seed(seed, 1) == 0);
		seen |= 1u << first;
	}
	CHECK(seen == 3);
}

/* ---- types */

static unsigned called;
static void CUDA_CB host_function(void *data) { called += *(unsigned *)data; }

/* A kernel, a copy, a set, a host function, events and values, in one chain; their parameters are kept when they are added. */
static void types(void)
{
	CUgraph g;
	CUgraphNode n[8];
	CUevent e;
	unsigned v = 5, seven = 7, back[2] = {0, 0};
	OK(cuGraphCreate(&g, 0));
	OK(cuEventCreate(&e, 0));
	CUDA_KERNEL_NODE_PARAMS k = one_thread(set, (void *[]){&word, &v}), got;
	OK(cuGraphAddKernelNode(&n[0], g, NULL, 0, &k));
	v = 6;
	CUDA_MEMSET_NODE_PARAMS s = {.dst = word + 4, .elementSize = 2, .value = 0x1234, .width = 2, .height = 1}, sets;
	OK(cuGraphAddMemsetNode(&n[1], g, n, 1, &s, NULL));
	CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = word, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back,
			   .WidthInBytes = 8, .Height = 1, .Depth = 1}, copies;
	OK(cuGraphAddMemcpyNode(&n[2], g, &n[1], 1, &c, NULL));
	CUDA_HOST_NODE_PARAMS h = {host_function, &seven};
	OK(cuGraphAddHostNode(&n[3], g, &n[2], 1, &h));
	CUstreamBatchMemOpParams op[2] = {{.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word + 8, {9}, 0, 0}},
					  {.waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, word + 8, {9}, CU_STREAM_WAIT_VALUE_EQ, 0}}};
	CUcontext context;
	OK(cuCtxGetCurrent(&context));
	CUDA_BATCH_MEM_OP_NODE_PARAMS m = {context, 2, op, 0};
	OK(cuGraphAddBatchMemOpNode(&n[4], g, &n[3], 1, &m));
	op[0].writeValue.value = 10;
	OK(cuGraphAddEventRecordNode(&n[5], g, &n[4], 1, e));
	OK(cuGraphAddEventWaitNode(&n[6], g, &n[5], 1, e));
	CUgraphExec x = instantiate(g);
	OK(cuGraphLaunch(x, a));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	OK(cuEventSynchronize(e));
	CHECK(back[0] == 5 && back[1] == 0x12341234 && called == 7 && value(word + 8) == 9);
	OK(cuStreamSynchronize(a));

	OK(cuGraphKernelNodeGetParams(n[0], &got));
	CHECK(got.func == set && *(CUdeviceptr *)got.kernelParams[0] == word && *(unsigned *)got.kernelParams[1] == 5 && !got.extra);
	OK(cuGraphMemsetNodeGetParams(n[1], &sets));
	CHECK(sets.dst == s.dst && sets.value == s.value && sets.width == 2);
	OK(cuGraphMemcpyNodeGetParams(n[2], &copies));
	CHECK(copies.dstHost == back && copies.WidthInBytes == 8);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphMemcpyNodeGetParams(n[1], &copies));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeSetParams(n[0], &s));
	OK(cuGraphKernelNodeSetParams(n[0], &k)); /* v is 6 */
	OK(cuGraphLaunch(x, a));                  /* made before */
	OK(cuStreamSynchronize(a));
	CHECK(back[0] == 5);
	OK(cuGraphExecDestroy(x));
	x = instantiate(g);
	OK(cuGraphLaunch(x, a));
	OK(cuStreamSynchronize(a));
	CHECK(back[0] == 6 && called == 21);
	OK(cuGraphExecDestroy(x));
	OK(cuEventDestroy(e));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&x, g, 0)); /* its event is gone */
	OK(cuGraphDestroy(g));
}

static void bad_nodes(void)
{
	CUgraph g, other;
	CUgraphNode n, m, x[3];
	size_t count = 9;
	unsigned v = 5;
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphCreate(&other, 0));
	CUDA_KERNEL_NODE_PARAMS k = one_thread(set, (void *[]){&word, &v});
	k.blockDimX = 2048;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&n, g, NULL, 0, &k));
	k.blockDimX = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&n, g, NULL, 0, &k));
	k.blockDimX = 1;
	k.kernelParams = NULL;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&n, g, NULL, 0, &k));
	CUDA_MEMSET_NODE_PARAMS s = {.dst = word, .elementSize = 3, .width = 1, .height = 1};
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode(&n, g, NULL, 0, &s, NULL));
	s.elementSize = 4;
	s.dst = word + 1;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode(&n, g, NULL, 0, &s, NULL));
	s.dst = 64;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode(&n, g, NULL, 0, &s, NULL));
	s.dst = word;
	s.width = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode(&n, g, NULL, 0, &s, NULL));
	CUDA_HOST_NODE_PARAMS h = {NULL, NULL};
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&n, g, NULL, 0, &h));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEventRecordNode(&n, g, NULL, 0, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddChildGraphNode(&n, g, NULL, 0, g));
	CUgraphConditionalHandle handle;
	CUcontext context;
	OK(cuCtxGetCurrent(&context));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphConditionalHandleCreate(&handle, g, context, 0, 0));
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&n, g, NULL, NULL, 0, &p));
	CHECK(count_nodes(g) == 0);

	n = marker(g, NULL, 0, 1);
	CUgraphNode twice[2] = {n, n};
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&m, g, twice, 2));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&m, other, &n, 1));
	OK(cuGraphAddEmptyNode(&m, g, &n, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(g, &n, &m, NULL, 1)); /* there already */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(g, &n, &n, NULL, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies(g, &m, &n, NULL, 1));
	CUgraphExec exec;
	CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = 0};
	OK(cuGraphAddDependencies(g, &m, &n, NULL, 1)); /* a cycle, which shows later */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&exec, g, &how));
	CHECK(how.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE && (how.hErrNode_out == n || how.hErrNode_out == m));
	OK(cuGraphRemoveDependencies(g, &m, &n, NULL, 1));
	OK(cuGraphInstantiateWithParams(&exec, g, &how));
	CHECK(how.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS && !how.hErrNode_out);
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiate(&exec, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, g, 64));

	count = 3;
	OK(cuGraphGetNodes(g, x, &count));
	CHECK(count == 2 && x[0] == n && x[1] == m && !x[2]);
	count = 1;
	OK(cuGraphGetRootNodes(g, x, &count));
	CHECK(count == 1 && x[0] == n);
	count = 1;
	OK(cuGraphNodeGetDependencies(m, x, NULL, &count));
	CHECK(count == 1 && x[0] == n);
	OK(cuGraphNodeGetDependentNodes(n, x, NULL, &count));
	CHECK(count == 1 && x[0] == m);
	OK(cuGraphGetEdges(g, &x[0], &x[1], NULL, &count));
	CHECK(count == 1 && x[0] == n && x[1] == m);
	OK(cuGraphDestroyNode(m));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(m));
	OK(cuGraphNodeGetDependentNodes(n, NULL, NULL, &count));
	CHECK(count == 0);
	OK(cuGraphDestroy(g));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(g));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(n));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, g, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(NULL, a));
	OK(cuGraphDestroy(other));
}

/* An edge that lets a kernel start early orders it all the same, and is not lost in an answer. */
static void edges(void)
{
	CUgraph g;
	CUgraphNode n[3], from, to;
	CUgraphEdgeData early = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC}, data;
	size_t count = 1;
	OK(cuGraphCreate(&g, 0));
	n[0] = marker(g, NULL, 0, 0);
	n[1] = marker(g, NULL, 0, 1);
	OK(cuGraphAddEmptyNode(&n[2], g, NULL, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(g, &n[0], &n[2], &early, 1)); /* between kernels alone */
	OK(cuGraphAddDependencies(g, &n[0], &n[1], &early, 1));
	EXPECT(CUDA_ERROR_LOSSY_QUERY, cuGraphGetEdges(g, &from, &to, NULL, &count));
	OK(cuGraphGetEdges(g, &from, &to, &data, &count));
	CHECK(from == n[0] && to == n[1] && data.type == early.type);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies(g, &n[0], &n[1], NULL, 1));
	OK(cuGraphLaunch(instantiate(g), a));
	CHECK(collect() == 2 && ascends(2));
	OK(cuGraphRemoveDependencies(g, &n[0], &n[1], &early, 1));
	OK(cuGraphDestroy(g));
}

/* ---- child graphs and clones */

static void children(void)
{
	CUgraph inner, outer, kept, clone;
	CUgraphNode n[3], child, found;
	OK(cuGraphCreate(&inner, 0));
	n[0] = marker(inner, NULL, 0, 1);
	marker(inner, NULL, 0, 2);
	OK(cuGraphCreate(&outer, 0));
	n[1] = marker(outer, NULL, 0, 0);
	OK(cuGraphAddChildGraphNode(&child, outer, &n[1], 1, inner));
	marker(outer, &child, 1, 3);
	marker(inner, NULL, 0, 99); /* too late */
	OK(cuGraphChildGraphNodeGetGraph(child, &kept));
	CHECK(kept != inner && count_nodes(kept) == 2);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(kept));
	OK(cuGraphClone(&clone, outer));
	OK(cuGraphNodeFindInClone(&found, n[1], clone));
	CHECK(found != n[1]);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&found, n[0], clone));
	marker(outer, NULL, 0, 98);
	CUgraphExec x = instantiate(clone);
	for (int i = 0; i < 8; i++) {
		OK(cuGraphLaunch(x, a));
		CHECK(collect() == 4 && ran[0] == 0 && ran[1] + ran[2] == 3 && ran[3] == 3);
	}
	/* A node within the child graph is named by the one of the graph that was instantiated. */
	CUgraphNode in[2];
	size_t count = 2;
	OK(cuGraphNodeFindInClone(&found, child, clone));
	OK(cuGraphChildGraphNodeGetGraph(found, &kept));
	OK(cuGraphGetNodes(kept, in, &count));
	unsigned mark = 7, once = 1;
	CUDA_KERNEL_NODE_PARAMS p = one_thread(turns, (void *[]){&counter, &entries, &mark, &once});
	OK(cuGraphExecKernelNodeSetParams(x, in[0], &p));
	OK(cuGraphLaunch(x, a));
	CHECK(collect() == 4 && ran[1] + ran[2] == 9);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(x, found, outer)); /* another shape */
	OK(cuGraphExecChildGraphNodeSetParams(x, found, kept));
	OK(cuGraphLaunch(x, a));
	CHECK(collect() == 4 && ran[1] + ran[2] == 3);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(clone));
	OK(cuGraphDestroy(outer));
	OK(cuGraphDestroy(inner));
}

/* ---- user objects, text */

static void CUDA_CB destroyed(void *data) { ++*(unsigned *)data; }

static void objects(void)
{
	CUgraph g, clone;
	CUuserObject o;
	unsigned gone = 0;
	OK(cuGraphCreate(&g, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&o, &gone, destroyed, 1, 0));
	OK(cuUserObjectCreate(&o, &gone, destroyed, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(g, o, 5));
	OK(cuGraphClone(&clone, g));
	OK(cuGraphDestroy(g));
	CHECK(!gone);
	CUgraphExec x = instantiate(clone);
	OK(cuGraphDestroy(clone));
	CHECK(!gone);
	OK(cuGraphExecDestroy(x));
	CHECK(gone == 1);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(o, 1));
}

static void text(void)
{
	CUgraph g;
	char path[] = "/tmp/emu_graph_XXXXXX", all[4096] = "";
	const int fd = mkstemp(path);
	OK(cuGraphCreate(&g, 0));
	CUgraphNode n = marker(g, NULL, 0, 0);
	marker(g, &n, 1, 1);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint(g, "/no/such/directory/x", 0));
	OK(cuGraphDebugDotPrint(g, path, 0));
	CHECK(read(fd, all, sizeof all - 1) > 0 && strstr(all, "digraph") && strstr(all, "turns") && strstr(all, "->"));
	close(fd);
	unlink(path);
	OK(cuGraphDestroy(g));
}

int main(void)
{
	seeds();
	prepare();
	state = 7;
	random_graphs();
	deep_and_wide();
	launches();
	types();
	bad_nodes();
	edges();
	children();
	objects();
	text();
	return 0;
}
