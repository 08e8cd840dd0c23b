/* A program for a GPU, plain and under gsan-launch: kernels whose first launch lies in a stream capture. Each case loads a
 * module of its own (the file IMAGE, or PTX given to the driver), captures two launches, launches the graph three times
 * and looks at the result. It prints a line for each: `MODE WAY STREAM: ok`, or what failed where. The ways:
 *   before    the kernel's handle was got before the capture         inside    in the capture
 *   second    so, and another kernel of the module was launched      library   a CUkernel, launched as it is
 *   beside    launched first into another stream, while this one is captured
 *   loaded    its module was loaded in the capture                   opened    so, as a library
 * Status 0 if all are ok. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define N 256
#define HEAD(name) ".visible .entry " name "(.param .u64 p)\n{\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<4>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %tid.x;\n" \
	"\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.u64 %rd3, %rd1, %rd2;\n"
static const char ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 words[64];\n"
	HEAD("other") "\tret;\n}\n"
	HEAD("step") "\tld.global.u32 %r2, [%rd3];\n\tadd.u32 %r2, %r2, %r1;\n\tst.global.u32 [%rd3], %r2;\n\tret;\n}\n";

enum way { BEFORE, INSIDE, SECOND, LIBRARY, BESIDE, LOADED, OPENED, WAYS };
static const char *const ways[WAYS] = {"before", "inside", "second", "library", "beside", "loaded", "opened"};
static const struct { const char *name; CUstreamCaptureMode mode; } modes[] = {
	{"global", CU_STREAM_CAPTURE_MODE_GLOBAL}, {"thread-local", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
	{"relaxed", CU_STREAM_CAPTURE_MODE_RELAXED},
};

/* Looked up where the program runs: a driver may have none. */
static CUresult (*instantiate)(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
static CUresult (*launch_graph)(CUgraphExec exec, CUstream stream);

struct job {
	enum way way;
	CUstream stream, other;
	CUmodule module;
	CUlibrary library;
	CUfunction step;
	CUdeviceptr memory;
	const char *failed; /* the first call that did */
	CUresult rc;
};

static const char *image; /* NULL: ptx */

static int ok(struct job *j, CUresult rc, const char *what)
{
	if (rc != CUDA_SUCCESS && !j->failed) {
		j->failed = what;
		j->rc = rc;
	}
	return rc == CUDA_SUCCESS && !j->failed;
}
#define DO(call) ok(j, call, #call)

static void load(struct job *j)
{
	CUkernel kernel;
	CUfunction other;

	if (j->way == LIBRARY || j->way == OPENED) {
		if (image)
			DO(cuLibraryLoadFromFile(&j->library, image, NULL, NULL, 0, NULL, NULL, 0));
		else
			DO(cuLibraryLoadData(&j->library, ptx, NULL, NULL, 0, NULL, NULL, 0));
		if (DO(cuLibraryGetKernel(&kernel, j->library, "step")))
			j->step = (CUfunction)kernel;
		return;
	}
	if (image)
		DO(cuModuleLoad(&j->module, image));
	else
		DO(cuModuleLoadData(&j->module, ptx));
	if (j->way != INSIDE)
		DO(cuModuleGetFunction(&j->step, j->module, "step"));
	if (j->way == SECOND && DO(cuModuleGetFunction(&other, j->module, "other")) &&
	    DO(cuLaunchKernel(other, 1, 1, 1, N, 1, 1, 0, j->stream, (void *[]){&j->memory}, NULL)))
		DO(cuStreamSynchronize(j->stream));
}

static void launch(struct job *j, CUstream stream)
{
	DO(cuLaunchKernel(j->step, 1, 1, 1, N, 1, 1, 0, stream, (void *[]){&j->memory}, NULL));
}

static CUgraph capture(struct job *j, CUstreamCaptureMode mode)
{
	CUgraph graph = NULL;

	if (!DO(cuStreamBeginCapture(j->stream, mode)))
		return NULL;
	if (j->way == INSIDE)
		DO(cuModuleGetFunction(&j->step, j->module, "step"));
	if (j->way == LOADED || j->way == OPENED)
		load(j);
	if (j->way == BESIDE && !j->failed)
		launch(j, j->other);
	for (int i = 0; i < 2 && !j->failed; i++)
		launch(j, j->stream);
	CUresult rc = cuStreamEndCapture(j->stream, &graph); /* whatever failed */
	ok(j, rc, "cuStreamEndCapture");
	return graph;
}

static void look(struct job *j)
{
	unsigned got[N], times = j->way == BESIDE ? 7 : 6;

	if (!DO(cuMemcpyDtoH(got, j->memory, sizeof(got))))
		return;
	for (unsigned i = 0; i < N; i++)
		if (got[i] != i * times)
			ok(j, CUDA_ERROR_INVALID_VALUE, "the result");
}

static int run(enum way way, unsigned mode, unsigned flags)
{
	struct job job = {.way = way}, *j = &job;
	CUgraphExec exec;

	DO(cuStreamCreate(&j->stream, flags));
	DO(cuStreamCreate(&j->other, CU_STREAM_NON_BLOCKING));
	DO(cuMemAlloc(&j->memory, N * 4));
	DO(cuMemsetD8(j->memory, 0, N * 4));
	DO(cuCtxSynchronize());
	if (j->way != LOADED && j->way != OPENED)
		load(j);
	CUgraph graph = j->failed ? NULL : capture(j, modes[mode].mode);
	if (way == BESIDE && !j->failed)
		DO(cuStreamSynchronize(j->other));
	if (graph && DO(instantiate(&exec, graph, 0)))
		for (int i = 0; i < 3; i++)
			DO(launch_graph(exec, j->stream));
	if (!j->failed && DO(cuStreamSynchronize(j->stream)))
		look(j);
	printf("%s %s %s: ", modes[mode].name, ways[way], flags ? "non-blocking" : "blocking");
	if (j->failed)
		printf("error %d of %s\n", j->rc, j->failed);
	else
		printf("ok\n");
	fflush(stdout);
	return j->failed != NULL;
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;
	CUdevice device;
	int failed = 0;

	image = argc > 1 ? argv[1] : NULL;
	*(void **)&instantiate = driver ? dlsym(driver, "cuGraphInstantiateWithFlags") : NULL;
	*(void **)&launch_graph = driver ? dlsym(driver, "cuGraphLaunch") : NULL;
	if (!instantiate || !launch_graph) {
		fprintf(stderr, "capture: the driver has no graphs\n");
		return 1;
	}
	if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context)) {
		fprintf(stderr, "capture: no device\n");
		return 1;
	}
	for (unsigned mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++)
		for (unsigned way = 0; way < WAYS; way++)
			failed |= run(way, mode, CU_STREAM_NON_BLOCKING) | run(way, mode, CU_STREAM_DEFAULT);
	return failed;
}
