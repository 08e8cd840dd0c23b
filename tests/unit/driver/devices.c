/* A program for gsan-launch: `devices FORM`. Two kernels write to the same memory of the first GPU, in a stream each. Between them the
 * second GPU is current, and something orders them:
 *   synchronize, query   the host waits for the first stream           wait      the second stream waits for an event of the first
 *   context              the host waits for the first GPU              callback  the host is told by a callback in the stream
 *   event                the host waits for an event, recorded here    copy      the host waits for a copy in the stream
 *   around               a stream of the second GPU waits for the first stream, and the second stream for that one
 *   event_around         the same, but the second GPU's default stream waits, and the first GPU is current when the event is recorded
 *   host_around          the host waits for that stream            callback_around   it is told by a callback in it
 *   seen_around          the host waits for an event of that stream
 * or nothing does, which is a race:
 *   own                  the first GPU is current, and nothing waits
 *   other_stream, other_context, other_free   the host waits for a stream, for the context, frees memory of the second GPU
 *   other_event                               the host and another stream of the second GPU wait for an event there */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], 7;\n\tret;\n}\n";

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "devices: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

static CUcontext context[2];
static CUfunction store;
static CUstream first, second, beside; /* the last on the second GPU */
static CUevent recorded, beside_recorded;
static CUdeviceptr spare[2];

static void launch(CUstream stream, CUdeviceptr at)
{
	TRY(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&at}, NULL));
}

static volatile int told;
static void tell(void *data)
{
	(void)data;
	told = 1;
}

/* What orders the two kernels, each called while the second GPU is current. */
static void synchronize(void) { TRY(cuStreamSynchronize(first)); }
static void wait(void) { TRY(cuStreamWaitEvent(second, recorded, 0)); }
static void wait_context(void) { TRY(cuCtxSynchronize_v2(context[0])); }

static void query(void)
{
	while (cuStreamQuery(first) == CUDA_ERROR_NOT_READY)
		usleep(100);
}

static void callback(void)
{
	TRY(cuLaunchHostFunc(first, tell, NULL));
	while (!told)
		usleep(1000);
}

static void event(void)
{
	TRY(cuEventRecord(recorded, first));
	TRY(cuEventSynchronize(recorded));
}

static void copy(void)
{
	void *pageable = malloc(4);

	TRY(cuMemcpyDtoHAsync(pageable, spare[0], 4, first));
	free(pageable);
}

static void around(void)
{
	TRY(cuStreamWaitEvent(beside, recorded, 0));
	TRY(cuEventRecord(beside_recorded, beside));
	TRY(cuStreamWaitEvent(second, beside_recorded, 0));
}

static void event_around(void)
{
	TRY(cuStreamWaitEvent(NULL, recorded, 0)); /* `beside` comes behind it */
	TRY(cuCtxSetCurrent(context[0]));
	TRY(cuEventRecord(beside_recorded, beside));
	TRY(cuStreamWaitEvent(second, beside_recorded, 0));
}

static void host_around(void)
{
	TRY(cuStreamWaitEvent(beside, recorded, 0));
	TRY(cuStreamSynchronize(beside));
}

static void callback_around(void)
{
	TRY(cuStreamWaitEvent(beside, recorded, 0));
	TRY(cuLaunchHostFunc(beside, tell, NULL));
	while (!told)
		usleep(1000);
}

static void seen_around(void)
{
	TRY(cuStreamWaitEvent(beside, recorded, 0));
	TRY(cuEventRecord(beside_recorded, beside));
	TRY(cuEventSynchronize(beside_recorded));
}

static void own(void) { TRY(cuCtxSetCurrent(context[0])); }

static void other_stream(void)
{
	TRY(cuCtxSetCurrent(context[0]));
	TRY(cuStreamSynchronize(beside));
}

static void other_context(void)
{
	TRY(cuCtxSetCurrent(context[0]));
	TRY(cuCtxSynchronize_v2(context[1]));
}

static void other_event(void)
{
	TRY(cuEventRecord(beside_recorded, beside));
	TRY(cuStreamWaitEvent(NULL, beside_recorded, 0));
	TRY(cuEventSynchronize(beside_recorded));
	TRY(cuCtxSynchronize());
}

static void other_free(void) { TRY(cuMemFree(spare[1])); }

static const struct { const char *name; void (*call)(void); } forms[] = {
	{"synchronize", synchronize}, {"query", query}, {"wait", wait}, {"context", wait_context}, {"callback", callback},
	{"event", event}, {"copy", copy}, {"around", around}, {"event_around", event_around}, {"host_around", host_around},
	{"callback_around", callback_around}, {"seen_around", seen_around}, {"own", own}, {"other_stream", other_stream}, {"other_context", other_context}, {"other_free", other_free},
	{"other_event", other_event},
};

static void devices_start(void)
{
	CUmodule module;

	TRY(cuInit(0));
	for (int i = 0; i < 2; i++)
		TRY(cuDevicePrimaryCtxRetain(&context[i], i));
	TRY(cuCtxSetCurrent(context[0]));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&store, module, "store"));
	TRY(cuMemAlloc(&spare[0], 512));
	TRY(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	TRY(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	TRY(cuEventCreate(&recorded, CU_EVENT_DISABLE_TIMING));
	TRY(cuCtxSetCurrent(context[1]));
	TRY(cuMemAlloc(&spare[1], 512));
	TRY(cuStreamCreate(&beside, CU_STREAM_DEFAULT));
	TRY(cuEventCreate(&beside_recorded, CU_EVENT_DISABLE_TIMING));
	TRY(cuCtxSetCurrent(context[0]));
}

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";
	CUdeviceptr at;

	devices_start();
	TRY(cuMemAlloc(&at, 512));
	TRY(cuCtxSynchronize());
	launch(first, at);
	TRY(cuEventRecord(recorded, first));
	TRY(cuCtxSetCurrent(context[1]));
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(form, forms[i].name))
			forms[i].call();
	TRY(cuCtxSetCurrent(context[0]));
	launch(second, at);
	TRY(cuCtxSynchronize());
	return 0;
}
