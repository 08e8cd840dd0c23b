/* Order: within a stream, by the legacy default stream, by events, by memory operations, and what a query sees. */
#include <pthread.h>

#include "check.h"
#include "kernels.h"

static CUfunction spin;
static CUdeviceptr flag, other;

static unsigned value_of(CUdeviceptr at)
{
	return *(volatile unsigned *)(uintptr_t)at; /* device memory is the host's, here */
}

static void launch_spin(CUstream s)
{
	void *params[] = {&flag};
	OK(cuMemsetD32(flag, 0, 1));
	OK(cuCtxSynchronize());
	OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

/* A spinning kernel in one stream ends through a write in another one. */
static void two_streams(CUstream a, CUstream b)
{
	launch_spin(a);
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
	OK(cuMemsetD32Async(other, 5, 1, a));
	OK(cuStreamWriteValue32(b, flag, 1, 0));
	OK(cuStreamSynchronize(b));
	OK(cuStreamSynchronize(a));
	CHECK(value_of(other) == 5);
	OK(cuStreamQuery(a));
}

/* A copy in the legacy stream waits for the blocking stream, a non-blocking stream passes it. */
static void legacy(CUstream blocking, CUstream free_stream)
{
	unsigned one = 1;
	OK(cuMemsetD32(other, 0, 1));
	launch_spin(blocking);
	OK(cuMemsetD32(other, 9, 1)); /* legacy: after the spinning kernel */
	OK(cuMemsetD32Async(other + 4, 3, 1, free_stream));
	OK(cuStreamSynchronize(free_stream));
	CHECK(value_of(other + 4) == 3 && value_of(other) == 0);
	OK(cuMemcpyHtoDAsync(flag, &one, 4, free_stream));
	OK(cuStreamSynchronize(NULL));
	CHECK(value_of(other) == 9);
}

static void events(CUstream a, CUstream b)
{
	CUevent done, end;
	float ms;
	OK(cuEventCreate(&done, 0));
	OK(cuEventCreate(&end, 0));
	OK(cuEventQuery(done)); /* never recorded: complete */
	OK(cuMemsetD32(other, 0, 2));
	launch_spin(a);
	OK(cuEventRecord(done, a));
	OK(cuStreamWaitEvent(b, done, 0));
	OK(cuMemsetD32Async(other, 1, 1, b));
	OK(cuEventRecord(end, b));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(done));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, done, end));
	CHECK(value_of(other) == 0);
	*(volatile unsigned *)(uintptr_t)flag = 1;
	OK(cuEventSynchronize(end));
	OK(cuEventQuery(done));
	CHECK(value_of(other) == 1);
	OK(cuEventElapsedTime(&ms, done, end));
	CHECK(ms > 0);
	OK(cuEventDestroy(done));
	OK(cuEventDestroy(end));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(done));
}

/* What waits for a recording does not go on when the event, recorded again elsewhere, is complete there. */
static void recorded_again(CUstream a, CUstream b)
{
	CUstream c;
	CUevent e;
	OK(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuMemsetD32(other, 0, 2));
	launch_spin(a);
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuMemsetD32Async(other, 1, 1, b));
	OK(cuMemsetD32Async(other + 4, 2, 1, c));
	OK(cuEventRecord(e, c));
	OK(cuEventSynchronize(e)); /* the second recording: the first cannot pass yet */
	OK(cuEventQuery(e));
	for (int turn = 0; turn < 20; turn++) {
		EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
		CHECK(value_of(other) == 0 && value_of(other + 4) == 2);
	}
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(c, e, 0));
	OK(cuEventDestroy(e)); /* its recordings last as long as somebody waits for them */
	OK(cuMemsetD32Async(other + 4, 3, 1, c));
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(c));
	*(volatile unsigned *)(uintptr_t)flag = 1;
	OK(cuStreamSynchronize(b));
	OK(cuStreamSynchronize(c));
	CHECK(value_of(other) == 1 && value_of(other + 4) == 3);
	OK(cuStreamDestroy(c));
}

static int called;
static void CUDA_CB host_function(void *data) { called = *(int *)data; }

static void callbacks_and_waits(CUstream a, CUstream b)
{
	int value = 12;
	OK(cuMemsetD32(flag, 0, 1));
	OK(cuCtxSynchronize());
	OK(cuStreamWaitValue32(a, flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuLaunchHostFunc(a, host_function, &value));
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
	CHECK(called == 0);
	OK(cuStreamWriteValue32(b, flag, 4, 0));
	OK(cuStreamSynchronize(a));
	CHECK(called == 12);
}

/* Pageable memory is taken at the call: the host may change it while the copy is queued. */
static void pageable(CUstream a)
{
	unsigned host = 21;
	launch_spin(a);
	OK(cuMemcpyHtoDAsync(other, &host, 4, a));
	host = 22;
	*(volatile unsigned *)(uintptr_t)flag = 1;
	OK(cuStreamSynchronize(a));
	CHECK(value_of(other) == 21);
}

static void *second_thread(void *context)
{
	OK(cuCtxSetCurrent(context));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	*(volatile unsigned *)(uintptr_t)flag = 1;
	OK(cuCtxSynchronize());
	return NULL;
}

static void threads(CUcontext context, CUstream a)
{
	pthread_t thread;
	launch_spin(a);
	CHECK(!pthread_create(&thread, NULL, second_thread, context));
	OK(cuStreamSynchronize(a));
	CHECK(!pthread_join(thread, NULL));
}

int main(void)
{
	CUstream a, b;
	CUcontext context = start();
	spin = load(job_ptx, "spin");
	OK(cuMemAlloc(&flag, 4));
	OK(cuMemAlloc(&other, 8));
	OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	two_streams(a, b);
	legacy(a, b);
	events(a, b);
	recorded_again(a, b);
	callbacks_and_waits(a, b);
	pageable(a);
	threads(context, a);
	OK(cuStreamDestroy(a));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(a));
	launch_spin(b); /* ends with the process */
	return 0;
}
