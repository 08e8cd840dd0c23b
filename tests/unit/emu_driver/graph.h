/* What the tests of graphs share: nodes that write down when they ran. */
#ifndef GSAN_TESTS_EMU_GRAPH_H
#define GSAN_TESTS_EMU_GRAPH_H

#include "check.h"
#include "kernels.h"

#define NODES_MAX 4096
static CUfunction turns, set;
static CUdeviceptr counter, entries, word; /* how many nodes ran; the marks of those that did, in order; a word for anything */
static CUstream a, b;
static unsigned ran[NODES_MAX];

static inline void prepare(void)
{
	start();
	turns = load(job_ptx, "turns");
	set = load(kernels_ptx, "set");
	OK(cuMemAlloc(&counter, 4));
	OK(cuMemAlloc(&entries, 4 * NODES_MAX));
	OK(cuMemAlloc(&word, 64));
	OK(cuMemsetD32(word, 0, 16));
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD32(counter, 0, 1));
	OK(cuCtxSynchronize());
}

static inline CUDA_KERNEL_NODE_PARAMS one_thread(CUfunction f, void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
					 .blockDimZ = 1, .kernelParams = params};
}

/* A node that writes its mark behind those of the nodes before it. */
static inline CUgraphNode marker(CUgraph g, const CUgraphNode *before, size_t count, unsigned mark)
{
	CUgraphNode n;
	unsigned once = 1;
	CUDA_KERNEL_NODE_PARAMS p = one_thread(turns, (void *[]){&counter, &entries, &mark, &once});
	OK(cuGraphAddKernelNode(&n, g, before, count, &p));
	return n;
}

static inline void launch_marker(CUstream s, unsigned mark)
{
	unsigned once = 1;
	OK(cuLaunchKernel(turns, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&counter, &entries, &mark, &once}, NULL));
}

/* Waits for all, and returns how many marks there are, in `ran`; the next ones begin anew. */
static inline unsigned collect(void)
{
	unsigned n;
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&n, counter, 4));
	CHECK(n <= NODES_MAX);
	if (n)
		OK(cuMemcpyDtoH(ran, entries, 4 * n));
	OK(cuMemsetD32(counter, 0, 1));
	OK(cuCtxSynchronize());
	return n;
}

static inline unsigned value(CUdeviceptr at)
{
	unsigned v;
	OK(cuMemcpyDtoH(&v, at, 4));
	return v;
}

static inline CUgraphExec instantiate(CUgraph g)
{
	CUgraphExec x;
	OK(cuGraphInstantiate(&x, g, 0));
	return x;
}

static inline size_t count_nodes(CUgraph g)
{
	size_t n = 0;
	OK(cuGraphGetNodes(g, NULL, &n));
	return n;
}

#endif
