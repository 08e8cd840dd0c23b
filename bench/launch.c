/* What a launch costs its host: `gsan-launch-cost [CHUNKS RUN FAR]`, plain or under gsan-launch. For an empty kernel and for one with
 * eight parameters that does one store, with one stream and one thread, eight and one, eight and four:
 *   enqueue_us  of the thread that launches, for each launch: median, and 90th percentile, of CHUNKS chunks of 200 launches a thread;
 *               the wait for them is not in it
 *   run_us      of the whole: RUN launches of all threads together and one wait at the end, for each launch
 * and all of it once more when at least FAR launches are past (`before`), to see whether anything grows. One line of JSON a row on
 * stdout. Default: 50 20000 100000. */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHUNK 200u
#define STREAMS 8u
#define THREADS 4u
#define PLACE 256u /* bytes of a stream's own */

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry empty()\n{\n\tret;\n}\n"
	".visible .entry store(.param .u64 p, .param .u32 a, .param .u32 b, .param .u32 c, .param .u32 d, .param .u32 e, "
	".param .u64 f, .param .u64 g)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n\tld.param.u64 %rd1, [p];\n"
	"\tld.param.u32 %r1, [e];\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";
static const char *const names[] = {"empty", "store"};
static const struct { unsigned streams, threads; } shapes[] = {{1, 1}, {STREAMS, 1}, {STREAMS, THREADS}};

static CUcontext context;
static CUfunction kernel;
static CUdeviceptr memory;
static CUstream stream[STREAMS];
static unsigned streams, threads, chunks, run, far, before;
static double *sample;           /* us a launch, by thread and chunk */
static pthread_barrier_t meet;   /* `threads` of them */

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "launch: %s: error %d\n", what, rc);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* `count` launches of one thread, by turns into the streams that are its own. */
static void enqueue(unsigned thread, unsigned count)
{
	unsigned own = streams / threads, number = 7;
	uint64_t wide = 9;

	for (unsigned i = 0; i < count; i++) {
		unsigned s = thread * own + i % own;
		CUdeviceptr at = memory + s * PLACE;
		void *params[] = {&at, &number, &number, &number, &number, &number, &wide, &wide};
		must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream[s], params, NULL), "cuLaunchKernel");
	}
}

static void wait_all(unsigned thread)
{
	pthread_barrier_wait(&meet);
	if (!thread)
		must(cuCtxSynchronize(), "cuCtxSynchronize");
	pthread_barrier_wait(&meet);
}

static void *work(void *number)
{
	unsigned thread = (unsigned)(uintptr_t)number;

	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (unsigned c = 0; c < chunks; c++) {
		double begun = now_us();
		enqueue(thread, CHUNK);
		sample[thread * chunks + c] = (now_us() - begun) / CHUNK;
		wait_all(thread);
	}
	enqueue(thread, run / threads);
	wait_all(thread);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* All threads' chunks, then the run: its time begins when the last chunk has been waited for, so it is taken by itself. */
static double whole(void)
{
	pthread_t id[THREADS];

	must(cuCtxSynchronize(), "cuCtxSynchronize");
	pthread_barrier_init(&meet, NULL, threads);
	double begun = now_us();
	for (unsigned t = 0; t < threads; t++)
		pthread_create(&id[t], NULL, work, (void *)(uintptr_t)t);
	for (unsigned t = 0; t < threads; t++)
		pthread_join(id[t], NULL);
	double us = now_us() - begun;
	pthread_barrier_destroy(&meet);
	return us;
}

static void row(const char *name)
{
	unsigned n = chunks * threads, kept_run = run, kept_chunks = chunks, first = before;

	run = 0;
	whole();
	qsort(sample, n, sizeof(*sample), by_size);
	run = kept_run;
	chunks = 0;
	double us = whole();
	chunks = kept_chunks;
	before += n * CHUNK + run / threads * threads;
	printf("{\"kernel\": \"%s\", \"streams\": %u, \"threads\": %u, \"before\": %u, \"chunks\": %u, \"enqueue_us\": %.3f, "
	       "\"enqueue_us_p90\": %.3f, \"run\": %u, \"run_us\": %.3f}\n",
	       name, streams, threads, first, n, sample[n / 2], sample[n * 9 / 10], run, us / run);
	fflush(stdout);
}

static void rows(CUmodule module)
{
	for (unsigned k = 0; k < sizeof(names) / sizeof(*names); k++) {
		must(cuModuleGetFunction(&kernel, module, names[k]), names[k]);
		for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
			streams = shapes[i].streams;
			threads = shapes[i].threads;
			row(names[k]);
		}
	}
}

/* The first launches of a process are not what is measured. */
static void go_far(unsigned to)
{
	streams = threads = 1;
	for (; before < to; before += CHUNK) {
		enqueue(0, CHUNK);
		must(cuCtxSynchronize(), "cuCtxSynchronize");
	}
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUmodule module;

	chunks = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 50;
	run = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20000;
	far = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 100000;
	sample = calloc((size_t)chunks * THREADS + 1, sizeof(*sample));
	if (!chunks || run < THREADS || argc > 4 || !sample) {
		fprintf(stderr, "usage: gsan-launch-cost [CHUNKS RUN FAR]\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuMemAlloc(&memory, STREAMS * PLACE), "cuMemAlloc");
	for (unsigned s = 0; s < STREAMS; s++)
		must(cuStreamCreate(&stream[s], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuModuleGetFunction(&kernel, module, *names), *names);
	go_far(far ? CHUNK : 0);
	rows(module);
	go_far(far);
	if (far)
		rows(module);
	free(sample);
	return 0;
}
