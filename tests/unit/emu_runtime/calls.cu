/* The runtime's calls on the emulated device: `calls CASE` ends with 1 where an answer is not what the CUDA Runtime API documents. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "../check.h"

#define OK(call) CHECK((call) == cudaSuccess)
#define FAILS(error, call) \
	do { \
		CHECK((call) == (error)); \
		CHECK(cudaPeekAtLastError() == (error) && cudaGetLastError() == (error) && cudaGetLastError() == cudaSuccess); \
	} while (0)

__device__ int counter = 5;
__device__ int table[4];
__constant__ int factor = 2;

template <class T> __global__ void scale(T *p, int n)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n)
		p[i] *= (T)factor;
}

__global__ void count(void) { atomicAdd(&counter, 1); }
__global__ void fault(int *p) { *p = 1; }
__global__ void linger(volatile int *p, int times) { while (times--) *p = times; } // of more than one turn
__global__ void store(int *p, int value) { p[threadIdx.x] = value; }
__global__ void __launch_bounds__(64) small(int *p) { p[threadIdx.x] = 1; }

/* ---- errors */

static void errors(void)
{
	int *p;
	CHECK(!strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration"));
	CHECK(!strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"));
	CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory")); /* the driver's text */
	CHECK(!strcmp(cudaGetErrorString(cudaErrorMpsRpcFailure), "cudaErrorMpsRpcFailure"));
	CHECK(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
	FAILS(cudaErrorInvalidValue, cudaMalloc((void **)NULL, 4));
	FAILS(cudaErrorMemoryAllocation, cudaMalloc(&p, (size_t)1 << 60));
	FAILS(cudaErrorInvalidDevice, cudaSetDevice(99));
	FAILS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize((cudaStream_t)&p));
	FAILS(cudaErrorInvalidResourceHandle, cudaEventQuery((cudaEvent_t)&p));
	FAILS(cudaErrorInvalidValue, cudaFree(&p));
	FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(&p));
	OK(cudaMalloc(&p, 4096));
	store<<<0, 32>>>(p, 1);
	CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
	store<<<1, 2048>>>(p, 1);
	CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
	store<<<1, 32, 1 << 20>>>(p, 1);
	CHECK(cudaGetLastError() == cudaErrorInvalidValue);
	FAILS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)&p, dim3(1), dim3(1), NULL, 0, 0));
	FAILS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)NULL, dim3(1), dim3(1), NULL, 0, 0));
	store<<<1, 32>>>(p, 1);
	OK(cudaGetLastError());
	OK(cudaFree(p));
}

/* Work that is not done is no error; a kernel's fault stays. */
static void sticky(void)
{
	cudaEvent_t event;
	int *p;
	OK(cudaMalloc(&p, 4));
	OK(cudaEventCreate(&event));
	linger<<<1, 1>>>(p, 100000);
	OK(cudaEventRecord(event));
	CHECK(cudaEventQuery(event) == cudaErrorNotReady && cudaStreamQuery(0) == cudaErrorNotReady);
	OK(cudaPeekAtLastError());
	OK(cudaEventSynchronize(event));
	OK(cudaEventQuery(event));
	fault<<<1, 1>>>((int *)16);
	CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
	CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
	FAILS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

/* ---- memory */

static void memory(void)
{
	void *p, *host, *device;
	size_t pitch, left, total;
	struct cudaPitchedPtr box;
	struct cudaPointerAttributes a;
	unsigned flags;
	OK(cudaMalloc(&p, 0));
	CHECK(!p);
	OK(cudaFree(NULL));
	OK(cudaFreeHost(NULL));
	OK(cudaMalloc(&p, 1000));
	OK(cudaPointerGetAttributes(&a, p));
	CHECK(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == p && !a.hostPointer);
	OK(cudaFree(p));
	OK(cudaMallocHost(&host, 100));
	OK(cudaPointerGetAttributes(&a, host));
	CHECK(a.type == cudaMemoryTypeHost && a.hostPointer == host);
	OK(cudaHostGetDevicePointer(&device, host, 0));
	OK(cudaHostGetFlags(&flags, host));
	OK(cudaFreeHost(host));
	OK(cudaPointerGetAttributes(&a, &a));
	CHECK(a.type == cudaMemoryTypeUnregistered);
	OK(cudaMallocManaged(&p, 100));
	OK(cudaPointerGetAttributes(&a, p));
	CHECK(a.type == cudaMemoryTypeManaged && a.hostPointer == p);
	FAILS(cudaErrorInvalidValue, cudaMallocManaged(&p, 100, 77));
	OK(cudaMallocPitch(&p, &pitch, 100, 5));
	CHECK(pitch >= 100);
	OK(cudaMalloc3D(&box, make_cudaExtent(100, 3, 2)));
	CHECK(box.pitch >= 100 && box.xsize == 100 && box.ysize == 3);
	OK(cudaMemGetInfo(&left, &total));
	CHECK(left < total);
	OK(cudaHostRegister(&left, sizeof left, 0));
	OK(cudaHostUnregister(&left));
}

static void pools(void)
{
	cudaMemPool_t pool;
	cudaStream_t stream;
	int *p;
	uint64_t keep = 1 << 20;
	OK(cudaStreamCreate(&stream));
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	keep = 0;
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	CHECK(keep == 1 << 20);
	OK(cudaMallocAsync(&p, 4096, stream));
	store<<<1, 32, 0, stream>>>(p, 3);
	OK(cudaFreeAsync(p, stream));
	OK(cudaStreamSynchronize(stream));
	FAILS(cudaErrorInvalidValue, cudaFreeAsync(&p, stream));
	OK(cudaStreamDestroy(stream));
}

/* ---- copies and sets */

static void copies(void)
{
	char from[24], to[24] = "", *p, *q;
	OK(cudaMalloc(&p, 24));
	OK(cudaMalloc(&q, 24));
	for (int i = 0; i < 24; i++)
		from[i] = (char)i;
	OK(cudaMemcpy(p, from, 24, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(q, p, 24, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(to, q, 24, cudaMemcpyDefault));
	CHECK(!memcmp(from, to, 24));
	memset(to, 0, sizeof to);
	OK(cudaMemcpy(to, from, 24, cudaMemcpyHostToHost));
	CHECK(!memcmp(from, to, 24));
	OK(cudaMemcpyAsync(to, p, 4, cudaMemcpyDeviceToHost, cudaStreamPerThread));
	OK(cudaStreamSynchronize(cudaStreamPerThread));
	OK(cudaMemcpy(NULL, p, 0, cudaMemcpyDeviceToHost));
	FAILS(cudaErrorInvalidValue, cudaMemcpy(from, to, 24, cudaMemcpyHostToDevice));
	FAILS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(p, from, 24, (cudaMemcpyKind)9));
	OK(cudaMemset(p, 7, 24));
	OK(cudaMemset2D(p, 8, 1, 2, 3)); /* the first two of each eight */
	OK(cudaMemcpy2D(to, 4, p, 8, 4, 3, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(to, "\1\1\7\7\1\1\7\7\1\1\7\7", 12));
	FAILS(cudaErrorInvalidPitchValue, cudaMemcpy2D(to, 3, p, 8, 4, 3, cudaMemcpyDeviceToHost));
	OK(cudaFree(p));
	OK(cudaFree(q));
}

/* A box of 3 x 2 x 2 bytes at (1, 1, 0) of one of 8 x 3 x 2. */
static void boxes(void)
{
	char from[12], to[48] = "";
	struct cudaPitchedPtr whole;
	struct cudaMemcpy3DParms p = {};
	for (int i = 0; i < 12; i++)
		from[i] = (char)(i + 1);
	OK(cudaMalloc3D(&whole, make_cudaExtent(8, 3, 2)));
	OK(cudaMemset3D(whole, 99, make_cudaExtent(8, 3, 2)));
	OK(cudaMemset3D(whole, 98, make_cudaExtent(8, 1, 2))); /* slice by slice */
	p.srcPtr = make_cudaPitchedPtr(from, 3, 3, 2);
	p.dstPtr = whole;
	p.dstPos = make_cudaPos(1, 1, 0);
	p.extent = make_cudaExtent(3, 2, 2);
	p.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&p));
	p = {};
	p.srcPtr = whole;
	p.dstPtr = make_cudaPitchedPtr(to, 8, 8, 3);
	p.extent = make_cudaExtent(8, 3, 2);
	p.kind = cudaMemcpyDefault;
	OK(cudaMemcpy3DAsync(&p, 0));
	OK(cudaStreamSynchronize(0));
	for (int z = 0; z < 2; z++)
		for (int y = 0; y < 3; y++)
			for (int x = 0; x < 8; x++) {
				const int inside = x >= 1 && x < 4 && y >= 1;
				CHECK(to[(z * 3 + y) * 8 + x] == (inside ? (z * 2 + y - 1) * 3 + x : y ? 99 : 98));
			}
	p.dstPtr.ptr = NULL;
	FAILS(cudaErrorInvalidValue, cudaMemcpy3D(&p));
}

static void symbols(void)
{
	int value = 3, values[4] = {1, 2, 3, 4}, *p;
	size_t size;
	OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
	CHECK(value == 5);
	count<<<2, 32>>>();
	OK(cudaMemcpyFromSymbolAsync(&value, counter, sizeof value, 0, cudaMemcpyDeviceToHost, 0));
	OK(cudaDeviceSynchronize());
	CHECK(value == 69);
	value = 10;
	OK(cudaMemcpyToSymbol(factor, &value, sizeof value));
	OK(cudaMemcpyToSymbol(table, &value, 4, 8));
	OK(cudaMemcpyFromSymbol(values, table, sizeof values));
	CHECK(values[1] == 0 && values[2] == 10);
	OK(cudaGetSymbolAddress((void **)&p, table));
	OK(cudaGetSymbolSize(&size, table));
	CHECK(size == sizeof table);
	scale<<<1, 32>>>(p, 4);
	OK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
	CHECK(values[2] == 100);
	FAILS(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, &value, 4, 13));
	FAILS(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&value, &value, 4));
}

/* ---- streams and events */

static void called(cudaStream_t stream, cudaError_t status, void *data) { *(int *)data += stream && status == cudaSuccess ? 1 : 100; }
static void told(void *data) { *(int *)data += 10; }

static void streams(void)
{
	cudaStream_t stream, other;
	cudaEvent_t start, end;
	cudaStreamCaptureStatus capture;
	unsigned flags;
	int calls = 0, priority, least, greatest, device;
	float milliseconds;
	int *p;
	OK(cudaMalloc(&p, 4096));
	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithPriority(&other, cudaStreamDefault, greatest));
	OK(cudaStreamGetFlags(stream, &flags));
	OK(cudaStreamGetPriority(other, &priority));
	CHECK(flags == cudaStreamNonBlocking && priority == greatest);
	OK(cudaStreamIsCapturing(stream, &capture));
	CHECK(capture == cudaStreamCaptureStatusNone);
	OK(cudaStreamGetDevice(stream, &device));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
	OK(cudaEventRecord(start, stream));
	store<<<1, 32, 0, stream>>>(p, 1);
	OK(cudaStreamAddCallback(stream, called, &calls, 0));
	OK(cudaLaunchHostFunc(stream, told, &calls));
	OK(cudaEventRecord(end, stream));
	OK(cudaStreamWaitEvent(other, end, 0));
	OK(cudaStreamSynchronize(other));
	CHECK(calls == 11);
	OK(cudaStreamQuery(stream));
	OK(cudaEventElapsedTime(&milliseconds, start, end));
	CHECK(milliseconds > 0);
	OK(cudaEventDestroy(start));
	OK(cudaEventDestroy(end));
	OK(cudaStreamDestroy(stream));
	OK(cudaStreamDestroy(other));
	OK(cudaFree(p));
}

/* ---- devices */

static void devices(void)
{
	struct cudaDeviceProp p;
	int number = 0, device, value, *a, *b;
	char text[32];
	void *function;
	cudaDriverEntryPointQueryResult found;
	OK(cudaGetDeviceCount(&number));
	CHECK(number == 2);
	OK(cudaGetDeviceProperties(&p, 1));
	CHECK(p.major == 9 && p.minor == 0 && p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.maxGridSize[0] == 2147483647);
	CHECK(strstr(p.name, "GSan") && p.totalGlobalMem > (size_t)1 << 32 && p.sharedMemPerBlock == 49152 && p.cooperativeLaunch == 1);
	FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, 2));
	OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
	CHECK(value == 32);
	OK(cudaDeviceGetPCIBusId(text, sizeof text, 1));
	OK(cudaDeviceGetByPCIBusId(&device, text));
	CHECK(device == 1);
	OK(cudaDriverGetVersion(&value));
	OK(cudaRuntimeGetVersion(&value));
	CHECK(value == CUDART_VERSION);
	OK(cudaMalloc(&a, 128));
	OK(cudaSetDevice(1));
	OK(cudaGetDevice(&device));
	CHECK(device == 1);
	OK(cudaMalloc(&b, 128));
	OK(cudaDeviceCanAccessPeer(&value, 1, 0));
	CHECK(value);
	OK(cudaDeviceEnablePeerAccess(0, 0));
	FAILS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
	store<<<1, 32>>>(a, 4); /* on 1, into memory of 0 */
	OK(cudaMemcpyPeer(b, 1, a, 0, 128));
	OK(cudaMemcpy(&value, b, 4, cudaMemcpyDeviceToHost));
	CHECK(value == 4);
	OK(cudaDeviceDisablePeerAccess(0));
	count<<<1, 1>>>(); /* each device has variables of its own */
	OK(cudaMemcpyFromSymbol(&value, counter, 4));
	CHECK(value == 6);
	OK(cudaSetDevice(0));
	OK(cudaMemcpyFromSymbol(&value, counter, 4));
	CHECK(value == 5);
	OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &found));
	CHECK(found == cudaDriverEntryPointSuccess && function == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	OK(cudaGetDriverEntryPointByVersion("cuNothing", &function, 12000, cudaEnableDefault, &found));
	CHECK(found == cudaDriverEntryPointSymbolNotFound && !function);
}

/* Memory and an event of another process. */
static void ipc(void)
{
	struct { cudaIpcMemHandle_t memory; cudaIpcEventHandle_t event; } handles;
	int to_child[2], to_parent[2], value = 0, *p;
	cudaEvent_t event;
	CHECK(!pipe(to_child) && !pipe(to_parent));
	const pid_t child = fork();
	if (!child) {
		OK(cudaMalloc(&p, 4096));
		OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
		store<<<1, 32>>>(p, 12);
		OK(cudaEventRecord(event));
		OK(cudaIpcGetMemHandle(&handles.memory, p));
		OK(cudaIpcGetEventHandle(&handles.event, event));
		CHECK(write(to_parent[1], &handles, sizeof handles) == sizeof handles && read(to_child[0], &value, 4) == 4);
		exit(0);
	}
	CHECK(read(to_parent[0], &handles, sizeof handles) == sizeof handles);
	OK(cudaIpcOpenMemHandle((void **)&p, handles.memory, cudaIpcMemLazyEnablePeerAccess));
	OK(cudaIpcOpenEventHandle(&event, handles.event));
	OK(cudaEventSynchronize(event));
	OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
	CHECK(value == 12);
	OK(cudaIpcCloseMemHandle(p));
	memset(&handles, 1, sizeof handles);
	CHECK(cudaIpcOpenMemHandle((void **)&p, handles.memory, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess);
	CHECK(write(to_child[1], &value, 4) == 4);
}

/* A context of the driver's that is current is taken; the device's primary one is the one that both know. */
static void contexts(void)
{
	CUcontext own, now;
	CUdeviceptr at;
	int device;
	OK(cudaFree(0));
	CHECK(!cuCtxGetCurrent(&now) && now && !cuDevicePrimaryCtxRetain(&own, 0) && own == now);
	CHECK(!cuMemAlloc(&at, 64));
	OK(cudaFree((void *)at));
	CHECK(!cuCtxCreate(&own, NULL, 0, 1));
	OK(cudaGetDevice(&device));
	CHECK(device == 1);
	OK(cudaMalloc((void **)&at, 64));
	OK(cudaDeviceReset()); /* which spares it */
	CHECK(!cuCtxGetCurrent(&now) && now == own && !cuMemFree(at));
}

/* Variables begin anew. */
static void reset(void)
{
	int value = 0;
	for (int i = 0; i < 2; i++) {
		count<<<1, 1>>>();
		OK(cudaMemcpyFromSymbol(&value, counter, 4));
		CHECK(value == 6);
		OK(cudaDeviceReset());
	}
}

/* ---- kernels */

static int launch_and_return(int *p)
{
	store<<<1, 32>>>(p, 5);
	return 6;
}

static void launches(void)
{
	int *p, values[32], n = 6;
	cudaFuncAttributes a;
	cudaFunction_t function;
	cudaKernel_t kernel;
	const char *name;
	void *arguments[2] = {&p, &n};
	cudaLaunchConfig_t config = {};
	OK(cudaMalloc(&p, 4096));
	store<<<1, 32>>>(p, launch_and_return(p)); /* configurations nest */
	OK(cudaMemcpy(values, p, 128, cudaMemcpyDeviceToHost));
	CHECK(values[0] == 6);
	n = 7;
	OK(cudaLaunchKernel((const void *)store, dim3(1), dim3(32), arguments, 0, 0));
	OK(cudaMemcpy(values, p, 128, cudaMemcpyDeviceToHost));
	CHECK(values[31] == 7);
	n = 8;
	config.gridDim = dim3(1);
	config.blockDim = dim3(32);
	OK(cudaGetKernel(&kernel, store));
	OK(cudaLaunchKernelExC(&config, (const void *)kernel, arguments));
	OK(cudaMemcpy(values, p, 128, cudaMemcpyDeviceToHost));
	CHECK(values[31] == 8);
	n = 9;
	OK(cudaGetFuncBySymbol(&function, (const void *)store));
	OK(cudaLaunchCooperativeKernel((const void *)function, dim3(1), dim3(32), arguments, 0, 0));
	OK(cudaMemcpy(values, p, 128, cudaMemcpyDeviceToHost));
	CHECK(values[31] == 9);
	FAILS(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel((const void *)store, dim3(9999), dim3(32), arguments, 0, 0));
	OK(cudaFuncGetAttributes(&a, small));
	CHECK(a.maxThreadsPerBlock == 64 && a.ptxVersion == 90);
	OK(cudaFuncSetAttribute(small, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
	OK(cudaFuncGetAttributes(&a, small));
	CHECK(a.maxDynamicSharedSizeBytes == 100000);
	small<<<1, 64, 100000>>>(p);
	OK(cudaDeviceSynchronize());
	OK(cudaFuncGetName(&name, (const void *)count));
	CHECK(strstr(name, "count"));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, store, 1024, 0));
	CHECK(n == 2);
	OK(cudaOccupancyMaxPotentialBlockSize(&n, values, small));
	CHECK(values[0] == 64);
	FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&a, (const void *)&p));
}

/* A configuration that is pushed and not taken: 16 fit. */
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
extern "C" cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

static void nested(void)
{
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	for (unsigned i = 0; i < 16; i++)
		CHECK(!__cudaPushCallConfiguration(dim3(i), dim3(1), i, 0));
	CHECK(__cudaPushCallConfiguration(dim3(1), dim3(1), 0, 0));
	CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources);
	for (unsigned i = 16; i--;)
		CHECK(!__cudaPopCallConfiguration(&grid, &block, &shared, &stream) && grid.x == i && shared == i);
	FAILS(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
}

/* ---- threads: the device and the last error are each thread's own; one load serves all */

static void *work(void *data)
{
	int *p, value = -1, device = -1;
	cudaGetDevice(&device);
	if (device || cudaGetLastError() || cudaMalloc(&p, 4096))
		return NULL;
	for (int i = 0; i < 20; i++)
		store<<<1, 32, 0, cudaStreamPerThread>>>(p, i);
	cudaMemcpyAsync(&value, p, 4, cudaMemcpyDeviceToHost, cudaStreamPerThread);
	if (cudaStreamSynchronize(cudaStreamPerThread) || value != 19 || cudaGetLastError() || cudaFree(p))
		return NULL;
	return data;
}

static void threads(void)
{
	pthread_t thread[8];
	void *done;
	OK(cudaSetDevice(1));
	CHECK(cudaSetDevice(99));
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&thread[i], NULL, work, &thread[i]));
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_join(thread[i], &done) && done == &thread[i]);
	CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}

/* ---- graphs */

/* A fork and a join, captured; a child graph in another capture; an update by a third. */
static void captures(void)
{
	int *p, host[64];
	cudaStream_t a, b;
	cudaEvent_t fork, join;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphExecUpdateResultInfo info;
	cudaStreamCaptureStatus status;
	size_t nodes = 0, edges = 0;
	OK(cudaMalloc(&p, sizeof host));
	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
	for (int round = 0; round < 2; round++) {
		OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
		OK(cudaEventRecord(fork, a));
		OK(cudaStreamWaitEvent(b, fork, 0));
		store<<<1, 32, 0, a>>>(p, 3 + round);
		store<<<1, 32, 0, b>>>(p + 32, 4 + round);
		OK(cudaEventRecord(join, b));
		OK(cudaStreamWaitEvent(a, join, 0));
		scale<<<1, 64, 0, a>>>(p, 64);
		OK(cudaMemcpyAsync(host, p, sizeof host, cudaMemcpyDeviceToHost, a));
		OK(cudaStreamGetCaptureInfo(a, &status, NULL, NULL, NULL, NULL, &nodes));
		CHECK(status == cudaStreamCaptureStatusActive && nodes == 1);
		OK(cudaStreamEndCapture(a, &graph));
		OK(cudaGraphGetNodes(graph, NULL, &nodes));
		OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
		CHECK(nodes == 4 && edges == 3);
		if (!round)
			OK(cudaGraphInstantiate(&exec, graph, 0));
		else
			OK(cudaGraphExecUpdate(exec, graph, &info));
		OK(cudaGraphDestroy(graph));
		OK(cudaGraphLaunch(exec, round ? 0 : a));
		OK(cudaDeviceSynchronize());
		CHECK(host[0] == 2 * (3 + round) && host[63] == 2 * (4 + round));
	}
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
	FAILS(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
	FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
	CHECK(!graph);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaFree(p));
}

/* By hand: each structure there and back. */
static void graphs(void)
{
	int *p, value = 21, host[4] = {1, 2, 3, 4}, back[4] = {0};
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t set, kernel, to, from, out, call;
	OK(cudaMalloc(&p, 256));
	OK(cudaGraphCreate(&graph, 0));
	cudaMemsetParams m = {}, m_got;
	m.dst = p;
	m.elementSize = 4;
	m.value = 9;
	m.width = m.height = 1;
	OK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &m));
	OK(cudaGraphMemsetNodeGetParams(set, &m_got));
	CHECK(m_got.dst == p && m_got.value == 9);
	int *target = p + 1;
	void *arguments[] = {&target, &value};
	cudaKernelNodeParams k = {}, k_got;
	k.func = (void *)store;
	k.gridDim = dim3(1);
	k.blockDim = dim3(2);
	k.kernelParams = arguments;
	OK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &k));
	value = 22;
	OK(cudaGraphKernelNodeGetParams(kernel, &k_got));
	CHECK(k_got.func == (void *)store && k_got.blockDim.x == 2 && *(int *)k_got.kernelParams[1] == 21);
	OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, &kernel, 1, table, host, sizeof host, 0, cudaMemcpyHostToDevice));
	OK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, p + 3, table, 4, 8, cudaMemcpyDeviceToDevice));
	OK(cudaGraphAddMemcpyNode1D(&out, graph, &from, 1, back, p, sizeof back, cudaMemcpyDeviceToHost));
	cudaMemcpy3DParms c_got;
	OK(cudaGraphMemcpyNodeGetParams(out, &c_got));
	CHECK(c_got.dstPtr.ptr == back && c_got.srcPtr.ptr == p && c_got.extent.width == sizeof back && c_got.kind == cudaMemcpyDeviceToHost);
	cudaHostNodeParams h = {told, &back[0]};
	OK(cudaGraphAddHostNode(&call, graph, &out, 1, &h));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaDeviceSynchronize());
	CHECK(back[0] == 19 && back[1] == 21 && back[2] == 21 && back[3] == 3);
	OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &k));
	OK(cudaGraphNodeSetEnabled(exec, set, 0));
	OK(cudaMemset(p, 0, 4));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaDeviceSynchronize());
	CHECK(back[0] == 10 && back[1] == 22);
	cudaGraphNodeParams any = {};
	any.type = cudaGraphNodeTypeKernel;
	any.kernel.func = (void *)store;
	any.kernel.gridDim = dim3(1);
	any.kernel.blockDim = dim3(1);
	any.kernel.kernelParams = arguments;
	OK(cudaGraphAddNode(&call, graph, NULL, NULL, 0, &any));
	FAILS(cudaErrorInvalidDeviceFunction, (any.kernel.func = (void *)&value, cudaGraphAddNode(&call, graph, NULL, NULL, 0, &any)));
	FAILS(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, call, &k)); /* it came later */
	k.blockDim = dim3(4096);
	FAILS(cudaErrorInvalidValue, cudaGraphAddKernelNode(&kernel, graph, NULL, 0, &k));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	FAILS(cudaErrorInvalidValue, cudaGraphDestroy(graph));
	OK(cudaFree(p));
}

/* ---- what there is not */

static void absent(void)
{
	cudaGraphConditionalHandle handle;
	cudaArray_t array;
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
	CHECK(d.x == 32 && d.f == cudaChannelFormatKindFloat);
	FAILS(cudaErrorNotSupported, cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0));
	FAILS(cudaErrorNotSupported, cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0));
	FAILS(cudaErrorNotSupported, cudaMallocArray(&array, &d, 8));
	FAILS(cudaErrorNotSupported, cudaDeviceGraphMemTrim(0));
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{"errors", errors}, {"sticky", sticky}, {"memory", memory}, {"pools", pools}, {"copies", copies}, {"boxes", boxes},
		{"symbols", symbols}, {"streams", streams}, {"devices", devices}, {"ipc", ipc}, {"contexts", contexts}, {"reset", reset},
		{"launches", launches}, {"nested", nested}, {"threads", threads}, {"captures", captures}, {"graphs", graphs}, {"absent", absent},
	};
	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(cases[i].name, argv[1]))
			return cases[i].run(), 0;
	return 2;
}
