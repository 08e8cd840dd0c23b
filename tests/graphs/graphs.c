/* A program for gsan-launch: `graphs FORM [racy]`. Graphs, captured or made by hand, changed and replayed: ordered, or with an edge left out. What
 * they compute is looked at. */
#include "e2e/forms.h"

enum { N = 1 << 12, BYTES = 4 * N, THREADS = 128, WIDE = 40, LONG = 300 };

#define KERNEL(name, parameters, body) \
	".visible .entry " name "(" parameters ")\n{\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<3>;\n" \
	"\tld.param.u64 %rd1, [to];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tld.param.u64 %rd2, [from];\n\tcvta.to.global.u64 %rd2, %rd2;\n" \
	"\tld.param.u32 %r5, [value];\n" body "\tret;\n}\n"
/* %rd3, %rd4: the thread's words in `to` and `from` */
#define WORD "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n\tmad.lo.u32 %r4, %r1, %r2, %r3;\n" \
	"\tmul.wide.u32 %rd3, %r4, 4;\n\tadd.u64 %rd4, %rd2, %rd3;\n\tadd.u64 %rd3, %rd1, %rd3;\n"
#define PARAMETERS ".param .u64 to, .param .u64 from, .param .u32 value"
static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	KERNEL("add", PARAMETERS, WORD "\tld.global.u32 %r6, [%rd4];\n\tadd.u32 %r6, %r6, %r5;\n\tst.global.u32 [%rd3], %r6;\n")
	KERNEL("put", PARAMETERS, WORD "\tst.global.u32 [%rd3], %r5;\n")
	/* all threads of all CTAs in one word, or each CTA in its own */
	KERNEL("together", PARAMETERS, WORD "\tmul.lo.u32 %r6, %r1, %r5;\n\tmul.wide.u32 %rd5, %r6, 4;\n\tadd.u64 %rd5, %rd1, %rd5;\n"
	       "\tst.global.u32 [%rd5], %r1;\n")
	/* a payload, and a flag at `from` */
	KERNEL("send", PARAMETERS, WORD "\tst.global.u32 [%rd3], %r5;\n\tbar.sync 0;\n\tmov.u32 %r6, 1;\n\tst.release.gpu.global.u32 [%rd2], %r6;\n")
	KERNEL("send_relaxed", PARAMETERS, WORD "\tst.global.u32 [%rd3], %r5;\n\tbar.sync 0;\n\tmov.u32 %r6, 1;\n\tst.relaxed.gpu.global.u32 [%rd2], %r6;\n")
	KERNEL("receive", PARAMETERS, WORD "again:\n\tld.acquire.gpu.global.u32 %r6, [%rd2];\n\tsetp.eq.u32 %p1, %r6, 0;\n\t@%p1 bra again;\n"
	       "\tst.global.u32 [%rd3], %r5;\n");

static CUdeviceptr x, y, z;
static unsigned *host; /* pinned */

static const char *const names[] = {"add", "put", "together", "send", "send_relaxed", "receive"};

static void load(void) { KERNELS_LOAD(ptx, names); }

static unsigned ctas = N / THREADS;

static void launch(CUstream stream, const char *name, CUdeviceptr to, CUdeviceptr from, unsigned value)
{
	void *params[] = {&to, &from, &value};

	MUST(cuLaunchKernel(kernel(name), ctas, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

/* `to` comes behind what `from` was given. */
static void edge(CUstream to, CUstream from)
{
	CUevent event;

	MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cuEventRecord(event, from));
	MUST(cuStreamWaitEvent(to, event, 0));
	MUST(cuEventDestroy(event));
}

static void edge_unless_racy(CUstream to, CUstream from)
{
	if (!racy)
		edge(to, from);
}

static void words(CUdeviceptr p, unsigned value)
{
	MUST(cuMemcpyDtoH(host, p, BYTES));
	for (int i = 0; i < N; i++)
		if (host[i] != value) {
			fprintf(stderr, "word %d is %u, not %u\n", i, host[i], value);
			exit(4);
		}
}

/* ---- graphs ---- */

static void capture(void) { MUST(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL)); }

static CUgraphExec instantiated(CUgraph graph)
{
	CUgraphExec exec;

	MUST(cuGraphInstantiate(&exec, graph, 0));
	MUST(cuGraphDestroy(graph));
	return exec;
}

static CUgraphExec captured(void)
{
	CUgraph graph;

	MUST(cuStreamEndCapture(a, &graph));
	return instantiated(graph);
}

static CUgraphExec captured_kernel(const char *name, CUdeviceptr to, CUdeviceptr from, unsigned value)
{
	capture();
	launch(a, name, to, from, value);
	return captured();
}

static CUgraph made(void)
{
	CUgraph graph;

	MUST(cuGraphCreate(&graph, 0));
	return graph;
}

static CUDA_KERNEL_NODE_PARAMS params_of(const char *name, void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = kernel(name), .gridDimX = ctas, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS, .blockDimY = 1,
			.blockDimZ = 1, .kernelParams = params};
}

static CUgraphNode node(CUgraph graph, const CUgraphNode *before, size_t count, const char *name, CUdeviceptr to, CUdeviceptr from, unsigned value)
{
	void *params[] = {&to, &from, &value};
	CUDA_KERNEL_NODE_PARAMS p = params_of(name, params);
	CUgraphNode made;

	MUST(cuGraphAddKernelNode(&made, graph, before, count, &p));
	return made;
}

static CUgraphNode copy_node(CUgraph graph, const CUgraphNode *before, size_t count, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = to,
			.WidthInBytes = bytes, .Height = 1, .Depth = 1};
	CUgraphNode made;

	MUST(cuGraphAddMemcpyNode(&made, graph, before, count, &p, context));
	return made;
}

static CUgraphNode set_node(CUgraph graph, const CUgraphNode *before, size_t count, CUdeviceptr to, unsigned value)
{
	CUDA_MEMSET_NODE_PARAMS p = {.dst = to, .value = value, .elementSize = 4, .width = N, .height = 1};
	CUgraphNode made;

	MUST(cuGraphAddMemsetNode(&made, graph, before, count, &p, context));
	return made;
}

/* ---- inside one ---- */

static void chain(void)
{
	capture();
	launch(a, "put", x, x, 1);
	launch(a, "add", y, x, 1);
	launch(a, racy ? "together" : "add", x, y, racy ? 0 : 1);
	CUgraphExec exec = captured();
	for (int i = 0; i < 3; i++)
		MUST(cuGraphLaunch(exec, a));
	MUST(cuStreamSynchronize(a));
	if (!racy)
		words(x, 3);
}

static void fork_and_join(void)
{
	capture();
	launch(a, "put", x, x, 5);
	edge(b, a);
	launch(b, "add", y, x, 1);
	launch(a, "add", racy ? x : z, x, 2);
	edge(a, b);
	launch(a, "add", x, y, 1);
	CUgraphExec exec = captured();
	for (int i = 0; i < 3; i++)
		MUST(cuGraphLaunch(exec, a));
	MUST(cuStreamSynchronize(a));
	if (!racy)
		words(x, 7);
}

static void by_hand(void)
{
	CUgraph graph = made();
	CUgraphNode one = node(graph, NULL, 0, "put", x, x, 3);
	node(graph, &one, !racy, "add", y, x, 1);
	MUST(cuGraphLaunch(instantiated(graph), a));
	MUST(cuStreamSynchronize(a));
	if (!racy)
		words(y, 4);
}

static void child(void)
{
	CUgraph inner = made(), outer = made();
	CUgraphNode one = node(inner, NULL, 0, "put", x, x, 1), before, nested;
	node(inner, &one, 1, "add", y, x, 1);
	before = node(outer, NULL, 0, "put", y, y, 9);
	MUST(cuGraphAddChildGraphNode(&nested, outer, &before, !racy, inner));
	node(outer, &nested, 1, "add", z, y, 1);
	MUST(cuGraphLaunch(instantiated(outer), a));
	MUST(cuGraphDestroy(inner));
	MUST(cuStreamSynchronize(a));
	if (!racy)
		words(z, 3);
}

static void copied(void)
{
	CUgraph graph = made();
	CUgraphNode one = node(graph, NULL, 0, "put", x, x, 3), two = copy_node(graph, &one, !racy, y, x, BYTES);
	node(graph, &two, 1, "add", z, y, 1);
	MUST(cuGraphLaunch(instantiated(graph), a));
	MUST(cuStreamSynchronize(a));
	if (!racy)
		words(z, 4);
}

static void set(void)
{
	CUgraph graph = made();
	CUgraphNode one = set_node(graph, NULL, 0, x, 3);
	node(graph, &one, !racy, "add", y, x, 1);
	MUST(cuGraphLaunch(instantiated(graph), a));
	MUST(cuStreamSynchronize(a));
	if (!racy)
		words(y, 4);
}

/* Kernels side by side that synchronise by a flag. */
static void flags(void)
{
	ctas = 1;
	CUgraph graph = made();
	CUgraphNode zero = set_node(graph, NULL, 0, z, 0);
	node(graph, &zero, 1, racy ? "send_relaxed" : "send", x, z, 1);
	node(graph, &zero, 1, "receive", x, z, 2);
	CUgraphExec exec = instantiated(graph);
	for (int i = 0; i < 2; i++)
		MUST(cuGraphLaunch(exec, a));
}

static void wide(void)
{
	ctas = 1;
	CUgraph graph = made();
	CUgraphNode end[WIDE], first = node(graph, NULL, 0, "put", x, x, 1);
	for (unsigned i = 0; i < WIDE; i++)
		end[i] = node(graph, &first, 1, "put", y + (racy && i == 3 ? 0 : i) * 512, y, i);
	node(graph, end, WIDE, "add", x, y, 1);
	CUgraphExec exec = instantiated(graph);
	for (int i = 0; i < 3; i++)
		MUST(cuGraphLaunch(exec, a));
}

/* Replays for which nobody waits; or so many that no tags are left for them. */
static void replay(int times)
{
	ctas = 1;
	CUgraph graph = made();
	CUgraphNode last = node(graph, NULL, 0, "put", x, x, 0);
	for (int i = 1; i < LONG; i++)
		last = node(graph, &last, 1, "add", x, x, 1);
	CUgraphExec exec = instantiated(graph);
	for (int i = 0; i < times; i++)
		MUST(cuGraphLaunch(exec, a));
	edge_unless_racy(b, a);
	launch(b, "add", y, x, 1);
	MUST(cuCtxSynchronize());
	MUST(cuMemcpyDtoH(host, x, 512));
	if (host[7] != LONG - 1)
		exit(4);
}

static void many(void) { replay(40); }
static void too_many(void) { replay(120); }

/* ---- beside other work ---- */

static void then_kernel(void)
{
	CUgraphExec exec = captured_kernel("put", x, x, 1);
	MUST(cuGraphLaunch(exec, a));
	edge_unless_racy(b, a);
	launch(b, "add", y, x, 1);
}

static void kernel_then(void)
{
	CUgraphExec exec = captured_kernel("add", y, x, 1);
	launch(b, "put", x, x, 1);
	edge_unless_racy(a, b);
	MUST(cuGraphLaunch(exec, a));
}

static void then_host(void)
{
	CUgraphExec exec = captured_kernel("put", x, x, 1);
	MUST(cuGraphLaunch(exec, a));
	if (!racy)
		MUST(cuStreamSynchronize(a));
	launch(b, "add", y, x, 1);
}

static void copy_then_kernel(void)
{
	capture();
	MUST(cuMemcpyHtoDAsync(x, host, BYTES, a));
	CUgraphExec exec = captured();
	MUST(cuGraphLaunch(exec, a));
	edge_unless_racy(b, a);
	launch(b, "add", y, x, 1);
}

/* A branch, neither the beginning nor the end of the stream's own chain. */
/* A set behind as many streams as its record has room for: its own, and those whose words it sets. A launch in b, which is before none, keeps the
 * floor below them all. */
static void streams_then_set(void)
{
	CUstream others[31];
	CUgraph graph = made();
	set_node(graph, NULL, 0, x, 3);
	CUgraphExec exec = instantiated(graph);
	ctas = 1;
	launch(b, "put", y, y, 1);
	launch(a, "put", z, z, 1);
	for (int i = 0; i < 31; i++) {
		MUST(cuStreamCreate(&others[i], CU_STREAM_NON_BLOCKING));
		launch(others[i], "put", x + (CUdeviceptr)(4 * THREADS * i), x, 1);
	}
	for (int i = 0; i < 30; i++)
		edge(a, others[i]);
	edge_unless_racy(a, others[30]);
	MUST(cuGraphLaunch(exec, a));
	MUST(cuCtxSynchronize());
	if (!racy)
		words(x, 3);
}

static void branch_then_kernel(void)
{
	capture();
	edge(b, a);
	launch(b, "put", x, x, 1);
	launch(a, "put", y, y, 1);
	edge(a, b);
	CUgraphExec exec = captured();
	launch(a, "put", x, x, 9);
	launch(a, "put", y, y, 9);
	MUST(cuGraphLaunch(exec, a));
	edge_unless_racy(b, a);
	launch(b, "add", z, x, 1);
}

static void two_streams(void)
{
	CUgraphExec one = captured_kernel("put", x, x, 1), two = captured_kernel("add", y, x, 1);
	MUST(cuGraphLaunch(one, a));
	edge_unless_racy(b, a);
	MUST(cuGraphLaunch(two, b));
}

/* Replays of one graph wait for each other, in whatever stream they are. */
static void one_in_two_streams(void)
{
	CUgraphExec exec = captured_kernel("put", x, x, 1);
	for (int i = 0; i < 6; i++)
		MUST(cuGraphLaunch(exec, i % 2 ? a : b));
	if (racy)
		launch(b, "put", x, x, 2);
	MUST(cuGraphLaunch(exec, a));
}

static void default_stream(void)
{
	CUstream blocking;

	MUST(cuStreamCreate(&blocking, racy ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
	CUgraphExec exec = captured_kernel("put", x, x, 1);
	launch(blocking, "add", y, x, 1);
	MUST(cuGraphLaunch(exec, NULL));
	launch(blocking, "add", y, x, 1);
}

/* ---- changed ---- */

/* The racy one goes on to touch what another stream's kernel does. */
static void beside(CUgraphExec exec)
{
	MUST(cuGraphLaunch(exec, a));
	launch(b, "add", z, y, 1);
	MUST(cuCtxSynchronize());
}

static void updated(void)
{
	CUgraph graph;
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec = captured_kernel("put", racy ? x : y, x, 1);
	capture();
	launch(a, "put", racy ? y : x, x, 2);
	MUST(cuStreamEndCapture(a, &graph));
	for (int i = 0; i < 5; i++)
		MUST(cuGraphExecUpdate(exec, graph, &info));
	MUST(cuGraphDestroy(graph));
	beside(exec);
	words(racy ? y : x, 2);
}

static void not_updated(void)
{
	CUgraph graph = made();
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec = captured_kernel("put", racy ? y : x, x, 1);
	CUgraphNode one = node(graph, NULL, 0, "put", z, z, 1);
	node(graph, &one, 1, "put", z, z, 1);
	if (cuGraphExecUpdate(exec, graph, &info) != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
		exit(4);
	beside(exec);
	words(racy ? y : x, 1);
}

static void kernel_changed(void)
{
	CUdeviceptr to = racy ? y : x;
	unsigned value = 2;
	void *params[] = {&to, &to, &value};
	CUDA_KERNEL_NODE_PARAMS p = params_of("put", params);
	CUgraph graph = made();
	CUgraphNode one = node(graph, NULL, 0, "add", racy ? x : y, x, 1);
	CUgraphExec exec;
	MUST(cuGraphInstantiate(&exec, graph, 0));
	CUDA_KERNEL_NODE_PARAMS too_large = p;
	too_large.blockDimX = 4096;
	if (cuGraphExecKernelNodeSetParams(exec, one, &too_large) == CUDA_SUCCESS)
		exit(4);
	MUST(cuGraphExecKernelNodeSetParams(exec, one, &p));
	beside(exec);
	words(to, 2);
}

static void copy_changed(void)
{
	ctas = 1;
	CUgraph graph = made();
	CUgraphNode one = copy_node(graph, NULL, 0, racy ? x : y, x, 64);
	CUgraphExec exec;
	MUST(cuGraphInstantiate(&exec, graph, 0));
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = z, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = racy ? y : x,
			.WidthInBytes = 64, .Height = 1, .Depth = 1};
	MUST(cuGraphExecMemcpyNodeSetParams(exec, one, &p, context));
	launch(b, "add", y + 2048, y, 1);
	MUST(cuGraphLaunch(exec, a));
}

static void switched_off(void)
{
	CUgraph graph = made();
	CUgraphNode one = node(graph, NULL, 0, "put", y, x, 1);
	CUgraphNode two = set_node(graph, &one, 1, y, 7);
	node(graph, &two, 1, "put", x, x, 3);
	CUgraphExec exec;
	MUST(cuGraphInstantiate(&exec, graph, 0));
	MUST(cuGraphNodeSetEnabled(exec, one, racy));
	MUST(cuGraphNodeSetEnabled(exec, two, 0));
	beside(exec);
	words(x, 3);
}

/* Behind a replay without it. */
static void switched_on(void)
{
	CUgraph graph = made();
	CUgraphNode one = node(graph, NULL, 0, "put", z, z, 1), two = node(graph, &one, 1, "put", x, x, 1);
	CUgraphExec exec;

	MUST(cuGraphInstantiate(&exec, graph, 0));
	for (unsigned on = 0; on < 2; on++) {
		MUST(cuGraphNodeSetEnabled(exec, two, on));
		MUST(cuGraphLaunch(exec, a));
	}
	edge_unless_racy(b, a);
	launch(b, "add", y, x, 1);
}

/* By a graph of which nothing is switched off. */
static void switched_off_updated(void)
{
	CUgraph graph = made();
	CUgraphNode one = set_node(graph, NULL, 0, y, 7);
	node(graph, &one, 1, "put", x, x, 3);
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;
	MUST(cuGraphInstantiate(&exec, graph, 0));
	MUST(cuGraphNodeSetEnabled(exec, one, racy));
	MUST(cuGraphExecUpdate(exec, graph, &info));
	beside(exec);
	words(x, 3);
}

/* A replay elsewhere leaves what is captured meanwhile as it is. */
static void while_captured(void)
{
	CUgraphExec exec = captured_kernel("put", x, x, 1);
	capture();
	launch(a, "add", y, x, 1);
	MUST(cuGraphLaunch(exec, b));
	MUST(cuGraphLaunch(exec, b));
	CUgraphExec reader = captured();
	edge_unless_racy(a, b);
	MUST(cuGraphLaunch(reader, a));
	MUST(cuCtxSynchronize());
	if (!racy)
		words(y, 2);
}

/* What is loaded while a stream is captured, in what way the driver takes it then: its variable has one place, and what it had at first. */
static const char own_ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 own[4] = {5, 5, 5, 5};\n"
	KERNEL("keep", PARAMETERS, WORD "\tld.global.u32 %r6, [own+4];\n\tadd.u32 %r6, %r6, %r5;\n\tst.global.u32 [%rd3], %r6;\n")
	KERNEL("change", PARAMETERS, WORD "\tsetp.ne.u32 %p1, %r4, 0;\n\t@%p1 ret;\n\tst.global.u32 [own+4], %r5;\n");
static struct { CUfunction keep, change; CUdeviceptr at; } own;

static void own_module(void)
{
	CUmodule m;
	size_t size;

	MUST(cuModuleLoadData(&m, own_ptx));
	MUST(cuModuleGetFunction(&own.keep, m, "keep"));
	MUST(cuModuleGetFunction(&own.change, m, "change"));
	MUST(cuModuleGetGlobal(&own.at, &size, m, "own"));
}

static void own_library(void)
{
	CUlibrary l;
	size_t size;

	MUST(cuLibraryLoadData(&l, own_ptx, NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel((CUkernel *)&own.keep, l, "keep"));
	MUST(cuLibraryGetKernel((CUkernel *)&own.change, l, "change"));
	MUST(cuLibraryGetGlobal(&own.at, &size, l, "own"));
}

static void own_launch(CUstream stream, CUfunction f, CUdeviceptr to, unsigned value)
{
	void *params[] = {&to, &to, &value};

	MUST(cuLaunchKernel(f, ctas, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

static void captured_of(void (*load_own)(void))
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	unsigned seven = 7;

	capture();
	MUST(cuThreadExchangeStreamCaptureMode(&mode));
	load_own();
	MUST(cuThreadExchangeStreamCaptureMode(&mode));
	own_launch(a, own.keep, x, 1);
	CUgraphExec exec = captured();
	MUST(cuGraphLaunch(exec, a));
	MUST(cuStreamSynchronize(a));
	words(x, 6);
	MUST(cuMemcpyHtoD(own.at + 4, &seven, 4));
	MUST(cuGraphLaunch(exec, a));
	own_launch(a, own.keep, y, 2);
	MUST(cuStreamSynchronize(a));
	words(x, 8);
	words(y, 9);
	MUST(cuGraphLaunch(exec, a));
	edge_unless_racy(b, a);
	own_launch(b, own.change, y, 11);
	MUST(cuCtxSynchronize());
	own_launch(a, own.keep, x, 1);
	MUST(cuCtxSynchronize());
	words(x, 12);
}

static void loaded_while_captured(void) { captured_of(own_module); }
static void library_while_captured(void) { captured_of(own_library); }

static void cloned(void)
{
	CUgraph graph = made(), clone;
	node(graph, NULL, 0, "put", racy ? y : x, x, 1);
	MUST(cuGraphClone(&clone, graph));
	MUST(cuGraphDestroy(graph));
	beside(instantiated(clone));
}

/* The program's graph stays as it is. */
static void asked(void)
{
	CUgraph graph = made();
	CUgraphNode one = node(graph, NULL, 0, "put", racy ? y : x, x, 5);
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraphExec exec, again;
	MUST(cuGraphInstantiate(&exec, graph, 0));
	MUST(cuGraphKernelNodeGetParams(one, &p));
	if (p.func != kernel("put") || *(CUdeviceptr *)p.kernelParams[0] != (racy ? y : x) || *(unsigned *)p.kernelParams[2] != 5)
		exit(4);
	MUST(cuGraphKernelNodeSetParams(one, &p));
	MUST(cuGraphInstantiate(&again, graph, 0));
	MUST(cuGraphExecDestroy(exec));
	MUST(cuGraphDestroy(graph));
	beside(again);
	words(racy ? y : x, 5);
}

/* In two streams in turns, of nearly a quarter of the tags that each of eight ranks has: where none is left for a replay, the one before it in the other
 * stream still runs. */
static void alternating(void)
{
	enum { NODES = 1000, TIMES = 6 };

	ctas = 1;
	CUgraph graph = made();
	CUgraphNode last[2] = {node(graph, NULL, 0, "put", x, x, 0)};
	for (int i = 1; i < NODES; i++) {
		CUgraphNode next = node(graph, &last[racy && i == NODES - 1], 1, "add", x, x, 1);
		last[1] = last[0];
		last[0] = next;
	}
	CUgraphExec exec = instantiated(graph);
	for (int i = 0; i < TIMES; i++)
		MUST(cuGraphLaunch(exec, i % 2 ? b : a));
	MUST(cuCtxSynchronize());
	MUST(cuMemcpyDtoH(host, x, 512));
	if (!racy && host[7] != NODES - 1)
		exit(4);
}

/* One graph is made before the process uses its second GPU, one behind. */
static void of_several(void)
{
	const char *rank = getenv("LOCAL_RANK");
	CUgraphExec before = captured_kernel("put", x, x, 1), behind;
	CUcontext second, gone;
	CUdeviceptr p;

	MUST(cuDevicePrimaryCtxRetain(&second, rank && atoi(rank) == 0));
	MUST(cuCtxPushCurrent(second));
	MUST(cuMemAlloc(&p, BYTES));
	MUST(cuMemsetD8(p, 0, BYTES));
	MUST(cuCtxPopCurrent(&gone));
	MUST(cuGraphLaunch(before, a));
	edge_unless_racy(b, a);
	launch(b, "add", y, x, 1);
	MUST(cuCtxSynchronize());
	behind = captured_kernel("put", x, x, 2);
	MUST(cuGraphLaunch(behind, a));
	MUST(cuStreamSynchronize(a));
	words(x, 2);
}

/* A captured stream gives back what its graph allocated, nothing else, and its capture goes on; behind a replay, what the replay used. */
static void freed_while_captured(void)
{
	CUdeviceptr p[2];

	for (int i = 0; i < 2; i++)
		MUST(cuMemAllocAsync(&p[i], i ? 2 << 20 : BYTES, a));
	capture();
	for (int i = 0; i < 2; i++) {
		MUST(cuMemFreeAsync(p[i], a) == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
		launch(a, "put", p[i], p[i], 1);
	}
	MUST(cuGraphLaunch(captured(), a));
	edge_unless_racy(b, a);
	for (int i = 0; i < 2; i++)
		MUST(cuMemFreeAsync(p[i], b));
}

static const struct form forms[] = {
	FORM(chain), FORM(fork_and_join), FORM(by_hand), FORM(child), FORM(copied), FORM(set), FORM(flags), FORM(wide), FORM(many), FORM(too_many),
	FORM(then_kernel), FORM(kernel_then), FORM(then_host), FORM(copy_then_kernel), FORM(streams_then_set), FORM(branch_then_kernel), FORM(two_streams),
	FORM(one_in_two_streams), FORM(default_stream),
	FORM(updated), FORM(not_updated), FORM(kernel_changed), FORM(copy_changed), FORM(switched_off), FORM(switched_on), FORM(switched_off_updated),
	FORM(while_captured), FORM(loaded_while_captured), FORM(library_while_captured), FORM(freed_while_captured), FORM(cloned), FORM(asked), FORM(of_several), FORM(alternating),
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	const char *rank = getenv("LOCAL_RANK");

	if (argc > 1 && !strcmp(argv[1], "alternating") && rank && atoi(rank)) /* the others are there for their tags */
		return cuInit(0) != CUDA_SUCCESS;
	const struct form *form = form_begin(argc, argv, forms, load);

	MUST(cuMemAllocHost((void **)&host, BYTES));
	CUdeviceptr *const memory[] = {&x, &y, &z};
	for (int i = 0; i < 3; i++) {
		MUST(cuMemAlloc(memory[i], BYTES));
		MUST(cuMemsetD8(*memory[i], 0, BYTES));
	}
	MUST(cuCtxSynchronize());
	form->run();
	MUST(cuCtxSynchronize());
	return 0;
}
