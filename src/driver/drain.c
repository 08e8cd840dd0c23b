/* The device adds up its counters in its own table; from time to time, and at the end, they are copied to the job's
 * memory, where the supervisor reads them whatever becomes of this process. (Findings need no copy: kernels write them
 * there themselves.) The copies run on a stream of our own and never while something of the program's may run. */
#include <errno.h>
#include <time.h>

#include "cuda/real.h"
#include "device/runtime.h"
#include "driver/flow.h"
#include "driver/state.h"
#include "vmm/vmm.h"

#define DRAIN_BYTES 8192 /* holds gsan_counters_bytes() */
#define DRAIN_PERIOD_NS 100000000ull /* a program may synchronise thousands of times a second */

int flow_read(struct flow *f, void *to, CUdeviceptr from, size_t size)
{
	CUstream stream = f->participant->stream;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	int rc = -EIO, exchanged = 0;

	if (real.cuThreadExchangeStreamCaptureMode)
		exchanged = real.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
	if (real.cuMemcpyDtoHAsync_v2(to, from, size, stream) == CUDA_SUCCESS &&
	    real.cuStreamSynchronize(stream) == CUDA_SUCCESS)
		rc = 0;
	if (exchanged)
		real.cuThreadExchangeStreamCaptureMode(&mode);
	return rc;
}

static uint64_t drain_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void flow_drain(struct flow *f)
{
	char copy[DRAIN_BYTES];
	uint64_t sum[GSAN_N_COUNTERS] = {0};
	CUdeviceptr table = GSAN_TABLE_BASE + f->clock.participant * GSAN_TABLE_SLICE;

	if (gsan_counters_bytes() > sizeof(copy) || !clock_idle(&f->clock) ||
	    flow_read(f, copy, table, gsan_counters_bytes()))
		return;
	gsan_counters_add(copy, sum);
	for (unsigned i = 0; i < GSAN_N_COUNTERS; i++)
		if (i != GSAN_N_RENEWED) /* counted on the host */
			atomic_store_explicit(&f->rank->counter[i], sum[i], memory_order_relaxed);
	atomic_store_explicit(&f->drained, drain_now(), memory_order_relaxed);
}

void flow_host_saw(struct flow *f, const struct clock_vec *mark)
{
	clock_host_join(&f->clock, mark);
	if (drain_now() - atomic_load_explicit(&f->drained, memory_order_relaxed) > DRAIN_PERIOD_NS)
		flow_drain(f);
}

/* The calling thread may have another context or none. A driver that is shutting down refuses, which is fine. */
static void drain_last(struct flow *f, void *unused)
{
	CUcontext gone;

	(void)unused;
	if (real.cuCtxPushCurrent_v2(f->participant->context) != CUDA_SUCCESS)
		return;
	flow_drain(f);
	real.cuCtxPopCurrent_v2(&gone);
}

void flow_drain_everywhere(void)
{
	flow_each(drain_last, NULL);
}

void flow_drain_at_exit(void)
{
	if (driver_enter()) {
		flow_drain_everywhere();
		driver_leave();
	}
}
