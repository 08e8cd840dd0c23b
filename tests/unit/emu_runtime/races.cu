/* Programs for gsan-launch: `races CASE racy|correct`. The racy form's finding names a line that ends in the comment `racy: CASE`. */
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>

#include "../check.h"

#define OK(call) CHECK((call) == cudaSuccess)

static bool correct;

__device__ int total, arrived;
__constant__ int stride;

template <class T> __global__ void each(T *p, T value)
{
	if (threadIdx.x == 0)
		p[stride * blockIdx.x] = value; // racy: template
}

__global__ void sum(bool atomic)
{
	if (threadIdx.x != 0)
		return;
	if (atomic)
		atomicAdd(&total, 1);
	else
		total = total + 1; // racy: variable
}

__global__ void rotate(int *p, bool sync)
{
	p[blockIdx.x] = (int)blockIdx.x;
	__threadfence();
	if (sync)
		for (atomicAdd(&arrived, 1); atomicAdd(&arrived, 0) < (int)gridDim.x;)
			__nanosleep(20);
	__threadfence();
	p[gridDim.x + blockIdx.x] = p[(blockIdx.x + 1) % gridDim.x]; // racy: cooperative
}

__global__ void fill(int *p, int value) { p[threadIdx.x] = value; } // racy: streams, default, peer

static int *words(void)
{
	int *p;
	OK(cudaMalloc(&p, 4096));
	return p;
}

static void templates(void)
{
	int step = correct ? 1 : 0;
	double *p = (double *)words();
	OK(cudaMemcpyToSymbol(stride, &step, sizeof step));
	each<double><<<4, 32>>>(p, 1.5);
}

static void variable(void)
{
	int value;
	sum<<<4, 32>>>(correct);
	OK(cudaMemcpyFromSymbol(&value, total, sizeof value));
	CHECK(!correct || value == 4);
}

static void cooperative(void)
{
	int *p = words();
	void *arguments[] = {&p, &correct};
	OK(cudaLaunchCooperativeKernel((const void *)rotate, dim3(4), dim3(1), arguments, 0, 0));
}

/* Two streams, and an event between them or not. */
static void streams(void)
{
	int *p = words();
	cudaStream_t first, second;
	cudaEvent_t done;
	OK(cudaStreamCreate(&first));
	OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	fill<<<1, 32, 0, first>>>(p, 1);
	OK(cudaEventRecord(done, first));
	if (correct)
		OK(cudaStreamWaitEvent(second, done, 0));
	fill<<<1, 32, 0, second>>>(p, 2);
}

/* Two threads, one after the other, and the default stream: of `nvcc --default-stream per-thread` each has its own. */
static void *fill_here(void *p)
{
	fill<<<1, 32>>>((int *)p, 3);
	OK(cudaGetLastError());
	if (correct)
		OK(cudaStreamSynchronize(0));
	return NULL;
}

static void both_threads(void)
{
	pthread_t thread;
	int *p = words();
	for (int i = 0; i < 2; i++) {
		CHECK(!pthread_create(&thread, NULL, fill_here, p));
		pthread_join(thread, NULL);
	}
}

/* Two devices write into the memory of one. */
static void peer(void)
{
	int *p = words();
	cudaEvent_t done;
	OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	fill<<<1, 32>>>(p, 4);
	OK(cudaEventRecord(done));
	OK(cudaSetDevice(1));
	OK(cudaDeviceEnablePeerAccess(0, 0));
	if (correct)
		OK(cudaStreamWaitEvent(0, done, 0));
	fill<<<1, 32>>>(p, 5);
	OK(cudaDeviceSynchronize());
	OK(cudaSetDevice(0));
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {{"template", templates}, {"variable", variable}, {"streams", streams},
		{"cooperative", cooperative}, {"default", both_threads}, {"peer", peer}};
	correct = argc == 3 && !strcmp(argv[2], "correct");
	for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			OK(cudaGetLastError());
			OK(cudaDeviceSynchronize());
			OK(cudaDeviceReset());
			return 0;
		}
	return 2;
}
