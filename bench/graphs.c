/* What a graph costs, plain and checked: `gsan-graph-cost [MOST TIMES]`. Graphs of up to MOST kernels (2,000), in a chain or in eight chains side by side,
 * are instantiated and replayed TIMES (200) times, twenty before each wait. A line of JSON says the host's time to instantiate one and for a
 * launch, and the time for each replay until all were done. */
#include "calls.h"

/* Each thread adds to a word of its own. */
static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry add(.param .u64 p)\n{\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<6>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
	"\tmad.lo.u32 %r4, %r1, %r2, %r3;\n\tmul.wide.u32 %rd2, %r4, 4;\n\tadd.u64 %rd2, %rd1, %rd2;\n"
	"\tld.global.u32 %r5, [%rd2];\n\tadd.u32 %r5, %r5, 1;\n\tst.global.u32 [%rd2], %r5;\n\tret;\n}\n";

enum { CTAS = 64, THREADS = 256, WAIT = 20, WIDE = 8, SIZES = 4 };
static const int sizes[SIZES] = {1, 20, 200, 2000};
static CUstream stream;

static CUgraph graph_of(CUfunction add, CUdeviceptr memory, int nodes, int chains)
{
	CUgraphNode last[WIDE] = {NULL};
	CUgraph graph;

	MUST(cuGraphCreate(&graph, 0));
	for (int i = 0; i < nodes; i++) {
		CUdeviceptr at = memory + (CUdeviceptr)(i % chains) * CTAS * THREADS * 4;
		void *params[] = {&at};
		CUDA_KERNEL_NODE_PARAMS p = {.func = add, .gridDimX = CTAS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS, .blockDimY = 1, .blockDimZ = 1,
				.kernelParams = params};
		MUST(cuGraphAddKernelNode(&last[i % chains], graph, &last[i % chains], i >= chains, &p));
	}
	return graph;
}

static void row(CUfunction add, CUdeviceptr memory, int nodes, int chains, int times)
{
	CUgraph graph = graph_of(add, memory, nodes, chains);
	CUgraphExec exec;
	double begun = now(), called = 0;

	MUST(cuGraphInstantiate(&exec, graph, 0));
	double made = now() - begun;
	MUST(cuGraphLaunch(exec, stream));
	MUST(cuStreamSynchronize(stream));
	begun = now();
	for (int i = 0; i < times; i++) {
		double t = now();
		MUST(cuGraphLaunch(exec, stream));
		called += now() - t;
		if (i % WAIT == WAIT - 1)
			MUST(cuStreamSynchronize(stream));
	}
	MUST(cuStreamSynchronize(stream));
	printf("{\"kernels\": %d, \"chains\": %d, \"instantiate_us\": %.1f, \"call_us\": %.2f, \"each_us\": %.2f}\n", nodes, chains, made, called / times,
			(now() - begun) / times);
	MUST(cuGraphExecDestroy(exec));
	MUST(cuGraphDestroy(graph));
}

int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : sizes[SIZES - 1], times = argc > 2 ? atoi(argv[2]) : 200;
	CUdeviceptr memory;
	CUfunction add = kernel_of(ptx, "add");

	MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAlloc(&memory, WIDE * CTAS * THREADS * 4));
	for (int i = 0; i < SIZES && sizes[i] <= most; i++) {
		row(add, memory, sizes[i], 1, times);
		if (sizes[i] > WIDE)
			row(add, memory, sizes[i], WIDE, times);
	}
	return 0;
}
