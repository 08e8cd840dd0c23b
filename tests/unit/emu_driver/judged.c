/* Graphs in the trace: the reference detector finds a race where two nodes, or a node and other work, have no order, and none in the same
 * with the edge that was missing.  usage: test_emu_judged GSAN_REFERENCE */
#include <sys/wait.h>
#include <unistd.h>

#include "graph.h"

static CUgraphNode store(CUgraph g, CUgraphNode before)
{
	CUgraphNode n;
	unsigned v = 1;
	CUDA_KERNEL_NODE_PARAMS p = one_thread(set, (void *[]){&word, &v});
	OK(cuGraphAddKernelNode(&n, g, &before, before != NULL, &p));
	return n;
}

static void launch_store(CUstream s)
{
	unsigned v = 1;
	OK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&word, &v}, NULL));
}

static CUgraph one_store(void)
{
	CUgraph g;
	OK(cuGraphCreate(&g, 0));
	store(g, NULL);
	return g;
}

/* Each with an order, or without. */

static void nodes(int ordered)
{
	CUgraph g = one_store();
	CUgraphNode n;
	size_t count = 1;
	OK(cuGraphGetNodes(g, &n, &count));
	store(g, ordered ? n : NULL);
	OK(cuGraphLaunch(instantiate(g), a));
}

/* The set beside a kernel, or behind it. */
static void sets(int ordered)
{
	CUgraph g = one_store();
	CUgraphNode n, m;
	size_t count = 1;
	OK(cuGraphGetNodes(g, &n, &count));
	CUDA_MEMSET_NODE_PARAMS s = {.dst = word, .elementSize = 4, .width = 1, .height = 1};
	OK(cuGraphAddMemsetNode(&m, g, &n, ordered != 0, &s, NULL));
	OK(cuGraphLaunch(instantiate(g), a));
}

/* Through an empty node and a child graph. */
static void children(int ordered)
{
	CUgraph g = one_store(), child = one_store();
	CUgraphNode n, empty, inner;
	size_t count = 1;
	OK(cuGraphGetNodes(g, &n, &count));
	OK(cuGraphAddEmptyNode(&empty, g, &n, 1));
	OK(cuGraphAddChildGraphNode(&inner, g, &empty, ordered != 0, child));
	OK(cuGraphLaunch(instantiate(g), a));
}

/* One executable graph's launches are one behind the other; two of one graph are not. */
static void launches(int ordered)
{
	CUgraph g = one_store();
	CUgraphExec x = instantiate(g);
	OK(cuGraphLaunch(x, a));
	OK(cuGraphLaunch(ordered ? x : instantiate(g), b));
}

static void before(int ordered)
{
	launch_store(a);
	OK(cuGraphLaunch(instantiate(one_store()), ordered ? a : b));
}

static void behind(int ordered)
{
	OK(cuGraphLaunch(instantiate(one_store()), a));
	launch_store(ordered ? a : b);
}

/* A captured fork whose other side is behind the first node, or beside it. */
static void forks(int ordered)
{
	CUgraph g;
	CUevent e, f;
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&f, 0));
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	if (!ordered)
		OK(cuEventRecord(e, a));
	launch_store(a);
	if (ordered)
		OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	launch_store(b);
	OK(cuEventRecord(f, b));
	OK(cuStreamWaitEvent(a, f, 0));
	OK(cuStreamEndCapture(a, &g));
	OK(cuGraphLaunch(instantiate(g), a));
}

/* A graph's event, for which another stream waits. */
static void events(int ordered)
{
	CUgraph g = one_store();
	CUgraphNode n, r;
	CUevent e;
	size_t count = 1;
	OK(cuEventCreate(&e, 0));
	OK(cuGraphGetNodes(g, &n, &count));
	OK(cuGraphAddEventRecordNode(&r, g, &n, ordered != 0, e));
	OK(cuGraphLaunch(instantiate(g), a));
	OK(cuStreamWaitEvent(b, e, 0));
	launch_store(b);
}

static void (*const cases[])(int) = {nodes, sets, children, launches, before, behind, forks, events};

static int run(int (*what)(const char *argument, unsigned index), const char *argument, unsigned index)
{
	int status;
	pid_t pid = fork();
	if (!pid)
		_exit(what(argument, index));
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int traced(const char *path, unsigned index)
{
	setenv("EMU_TRACE", path, 1);
	prepare();
	cases[index / 2](index % 2);
	OK(cuCtxSynchronize());
	return 0;
}

static const char *trace;

static int judge(const char *program, unsigned index)
{
	(void)index;
	CHECK(freopen("/dev/null", "w", stdout));
	execl(program, program, trace, (char *)NULL);
	return 127;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/emu_judged_XXXXXX";
	const int fd = mkstemp(path);
	CHECK(argc == 2 && fd >= 0);
	close(fd);
	trace = path;
	(void)marker, (void)launch_marker, (void)collect, (void)value, (void)count_nodes;
	for (unsigned i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		CHECK(run(traced, path, i) == 0);
		const int found = run(judge, argv[1], i);
		if (found != (i % 2 == 0)) {
			fprintf(stderr, "case %u, %s: gsan-reference ended with %d\n", i / 2, i % 2 ? "with an order" : "without", found);
			return 1;
		}
	}
	unlink(path);
	return 0;
}
