/* Changes of executable graphs: by another graph of the same shape, node by node, and switched off; which are refused, and why. */
#include "graph.h"

static CUgraphNode setter(CUgraph g, CUgraphNode before, CUdeviceptr at, unsigned v)
{
	CUgraphNode n;
	CUDA_KERNEL_NODE_PARAMS p = one_thread(set, (void *[]){&at, &v});
	OK(cuGraphAddKernelNode(&n, g, &before, before != NULL, &p));
	return n;
}

static CUgraphNode copier(CUgraph g, CUgraphNode before, CUdeviceptr to, size_t width, size_t rows)
{
	CUgraphNode n;
	CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = word, .srcPitch = width, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstDevice = to, .dstPitch = width, .WidthInBytes = width, .Height = rows, .Depth = 1};
	OK(cuGraphAddMemcpyNode(&n, g, &before, before != NULL, &c, NULL));
	return n;
}

static CUgraphNode filler(CUgraph g, CUgraphNode before, size_t width, size_t rows)
{
	CUgraphNode n;
	CUDA_MEMSET_NODE_PARAMS s = {.dst = word + 16, .pitch = 16, .value = 3, .elementSize = 4, .width = width, .height = rows};
	OK(cuGraphAddMemsetNode(&n, g, &before, before != NULL, &s, NULL));
	return n;
}

/* 1,000 updates, each of which shows in the launch behind it and not in those before. */
static void many(void)
{
	CUgraph g;
	CUdeviceptr out;
	OK(cuMemAlloc(&out, 4 * 1001));
	OK(cuGraphCreate(&g, 0));
	CUgraphNode n = setter(g, NULL, word, 1000);
	copier(g, n, out + 4000, 4, 1);
	CUgraphExec x = instantiate(g);
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(x, a));
	for (unsigned i = 0; i < 1000; i++) {
		CUgraphExecUpdateResultInfo info;
		OK(cuGraphCreate(&g, 0));
		n = setter(g, NULL, word, i);
		copier(g, n, out + 4 * i, 4, 1);
		OK(cuGraphExecUpdate(x, g, &info));
		CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
		OK(cuGraphDestroy(g));
		OK(cuGraphLaunch(x, i % 2 ? a : b));
	}
	OK(cuCtxSynchronize());
	for (unsigned i = 0; i <= 1000; i++)
		CHECK(value(out + 4 * i) == i);
	OK(cuGraphExecDestroy(x));
	OK(cuMemFree(out));
}

static CUgraphExecUpdateResultInfo refused(CUgraphExec x, CUgraph g)
{
	CUgraphExecUpdateResultInfo info;
	EXPECT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(x, g, &info));
	return info;
}

static void shapes(void)
{
	CUgraph g, other;
	CUgraphNode n[3], m[3];
	CUgraphExecUpdateResultInfo info;
	OK(cuGraphCreate(&g, 0));
	n[0] = setter(g, NULL, word, 1);
	n[1] = setter(g, n[0], word + 4, 2);
	CUgraphExec x = instantiate(g);
	OK(cuGraphCreate(&other, 0));
	m[0] = setter(other, NULL, word, 5);
	info = refused(x, other);
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && !info.errorNode);
	m[1] = setter(other, NULL, word + 4, 6);
	info = refused(x, other); /* no edge */
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == m[0]);
	OK(cuGraphDestroyNode(m[1]));
	OK(cuGraphAddEmptyNode(&m[1], other, m, 1));
	info = refused(x, other);
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && info.errorNode == m[1]);
	OK(cuGraphLaunch(x, a)); /* as it was */
	OK(cuStreamSynchronize(a));
	CHECK(value(word) == 1 && value(word + 4) == 2);
	OK(cuGraphDestroyNode(m[1]));
	m[1] = marker(other, m, 1, 9); /* another function */
	OK(cuGraphExecUpdate(x, other, &info));
	OK(cuGraphLaunch(x, a));
	CHECK(collect() == 1 && ran[0] == 9 && value(word) == 5);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecUpdate(NULL, other, &info));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecUpdate(x, NULL, &info));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));

	/* Three in a row are no fork of two, though there are as many nodes and one end. */
	OK(cuGraphCreate(&g, 0));
	n[0] = setter(g, NULL, word, 1);
	n[1] = setter(g, n[0], word, 2);
	n[2] = setter(g, n[1], word, 3);
	x = instantiate(g);
	OK(cuGraphDestroy(other));
	OK(cuGraphCreate(&other, 0));
	m[0] = setter(other, NULL, word, 1);
	m[1] = setter(other, NULL, word, 2);
	OK(cuGraphAddEmptyNode(&m[2], other, m, 2));
	info = refused(x, other);
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == m[2]);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(other));
	OK(cuGraphDestroy(g));
}

/* Edges pair nodes in their order, whatever the order of creation. */
static void pairs(void)
{
	CUgraph g, other;
	CUgraphNode n[3], m[3];
	CUgraphExecUpdateResultInfo info;
	OK(cuGraphCreate(&g, 0));
	n[0] = setter(g, NULL, word, 1);
	OK(cuGraphAddEmptyNode(&n[1], g, NULL, 0));
	OK(cuGraphAddEmptyNode(&n[2], g, n, 2));
	CUgraphExec x = instantiate(g);
	OK(cuGraphCreate(&other, 0));
	OK(cuGraphAddEmptyNode(&m[1], other, NULL, 0));
	m[0] = setter(other, NULL, word, 11);
	OK(cuGraphAddEmptyNode(&m[2], other, m, 2));
	OK(cuGraphExecUpdate(x, other, &info));
	OK(cuGraphLaunch(x, a));
	OK(cuStreamSynchronize(a));
	CHECK(value(word) == 11);
	OK(cuGraphDestroyNode(m[2]));
	OK(cuGraphAddEmptyNode(&m[2], other, (CUgraphNode[]){m[1], m[0]}, 2));
	CHECK(refused(x, other).result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	OK(cuGraphDestroyNode(m[2]));
	CHECK(refused(x, other).result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED); /* a node less */
	OK(cuGraphAddEmptyNode(&m[2], other, m, 1));
	CHECK(refused(x, other).result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED); /* an edge less */
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(other));
	OK(cuGraphDestroy(g));
}

/* What copies and sets may become. */
static void boxes(void)
{
	static const struct { size_t copy, copy_rows, set, set_rows; int fits; } cases[] = {
		{8, 1, 4, 1, 1}, {4, 1, 2, 1, 1}, {4, 1, 2, 2, 0}, {4, 2, 2, 1, 0}};
	CUgraph g, other;
	CUgraphExecUpdateResultInfo info;
	OK(cuGraphCreate(&g, 0));
	CUgraphNode n = copier(g, NULL, word + 32, 4, 1), f = filler(g, n, 2, 1);
	CUgraphExec x = instantiate(g);
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		OK(cuGraphCreate(&other, 0));
		CUgraphNode m = copier(other, NULL, word + 32, cases[i].copy, cases[i].copy_rows);
		filler(other, m, cases[i].set, cases[i].set_rows);
		CUresult result = cuGraphExecUpdate(x, other, &info);
		CHECK(cases[i].fits == (result == CUDA_SUCCESS));
		CHECK(cases[i].fits || info.result == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
		OK(cuGraphDestroy(other));
	}
	CUDA_MEMCPY3D c;
	CUDA_MEMSET_NODE_PARAMS s;
	OK(cuGraphMemcpyNodeGetParams(n, &c));
	OK(cuGraphMemsetNodeGetParams(f, &s));
	c.WidthInBytes = 16;
	OK(cuGraphExecMemcpyNodeSetParams(x, n, &c, NULL));
	c.WidthInBytes = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(x, n, &c, NULL));
	c.WidthInBytes = 4;
	c.Height = 2;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(x, n, &c, NULL));
	c.Height = 1;
	c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(x, n, &c, NULL));
	s.value = 44;
	OK(cuGraphExecMemsetNodeSetParams(x, f, &s, NULL));
	s.height = 2;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemsetNodeSetParams(x, f, &s, NULL));
	OK(cuGraphLaunch(x, a));
	OK(cuStreamSynchronize(a));
	CHECK(value(word + 16) == 44 && value(word + 20) == 44);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
}

static unsigned called;
static void CUDA_CB host_function(void *data) { called = *(unsigned *)data; }

/* One node at a time; a node that is not of the graph, or was added later, is nobody. */
static void nodes(void)
{
	CUgraph g, other;
	CUevent e, f;
	CUgraphNode n[4], late;
	unsigned v = 21, w = 1, z = 2;
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&f, 0));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphCreate(&other, 0));
	n[0] = setter(g, NULL, word, 1);
	CUDA_HOST_NODE_PARAMS h = {host_function, &w};
	OK(cuGraphAddHostNode(&n[1], g, n, 1, &h));
	OK(cuGraphAddEventRecordNode(&n[2], g, &n[1], 1, e));
	CUgraphExec x = instantiate(g);
	late = setter(g, NULL, word, 3);
	CUDA_KERNEL_NODE_PARAMS p = one_thread(set, (void *[]){&word, &v});
	OK(cuGraphExecKernelNodeSetParams(x, n[0], &p));
	v = 22;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(x, late, &p));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(x, setter(other, NULL, word, 3), &p));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(x, n[1], &p));
	p.blockDimX = 4096;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(x, n[0], &p));
	h.userData = &z;
	OK(cuGraphExecHostNodeSetParams(x, n[1], &h));
	OK(cuGraphExecEventRecordNodeSetEvent(x, n[2], f));
	OK(cuGraphLaunch(x, a));
	OK(cuEventQuery(e)); /* nobody recorded it */
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(f));
	OK(cuStreamSynchronize(a));
	CHECK(value(word) == 21 && called == 2);

	unsigned on = 9;
	OK(cuGraphNodeGetEnabled(x, n[0], &on));
	CHECK(on == 1);
	OK(cuGraphNodeSetEnabled(x, n[0], 0));
	OK(cuGraphNodeGetEnabled(x, n[0], &on));
	CHECK(on == 0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(x, n[1], 0));
	OK(cuMemsetD32(word, 0, 1));
	OK(cuCtxSynchronize());
	called = 0;
	OK(cuGraphLaunch(x, a));
	OK(cuStreamSynchronize(a));
	CHECK(value(word) == 0 && called == 2);
	OK(cuGraphNodeSetEnabled(x, n[0], 1));
	OK(cuGraphLaunch(x, a));
	OK(cuStreamSynchronize(a));
	CHECK(value(word) == 21);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(other));
	OK(cuGraphDestroy(g));
}

/* A cooperative node stays one; more blocks than are resident are refused as in a plain launch. */
static void attributes(void)
{
	CUgraph g, other;
	CUgraphExecUpdateResultInfo info;
	CUkernelNodeAttrValue v = {.cooperative = 1}, got;
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphCreate(&other, 0));
	CUgraphNode n = setter(g, NULL, word, 1), m = setter(other, NULL, word, 2);
	CUgraphExec x = instantiate(g);
	OK(cuGraphKernelNodeSetAttribute(m, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
	OK(cuGraphKernelNodeGetAttribute(m, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
	CHECK(got.cooperative == 1);
	OK(cuGraphKernelNodeGetAttribute(n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
	CHECK(got.cooperative == 0);
	EXPECT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(x, other, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED && info.errorNode == m);
	OK(cuGraphKernelNodeCopyAttributes(n, m));
	CUDA_KERNEL_NODE_PARAMS p;
	OK(cuGraphKernelNodeGetParams(n, &p));
	p.gridDimX = 1 << 20;
	EXPECT(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuGraphKernelNodeSetParams(n, &p));
	v.cooperative = 0;
	OK(cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
	OK(cuGraphKernelNodeSetParams(n, &p));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(other));
	OK(cuGraphDestroy(g));
}

int main(void)
{
	prepare();
	many();
	shapes();
	pairs();
	boxes();
	nodes();
	attributes();
	return 0;
}
