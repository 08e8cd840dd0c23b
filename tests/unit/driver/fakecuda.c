/* A libcuda.so.1 without a device, linked with -Bsymbolic as the real one is: enough of the driver API for the ways in and for launches. Module images are ignored:
 * every module holds the kernel `plain` (one 8-byte parameter), `twin` with its clone `twin__gsan`, and the clone's info
 * text. It lacks cuEventElapsedTime, so that tests can ask for something that the driver does not have. */
#include "fakecuda.h"

#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "device/layout.h"

#define ABI "26"
_Static_assert(GSAN_ABI == 26, "as ABI says");

#undef cuGetProcAddress
#undef cuStreamSynchronize
#define API __attribute__((visibility("default"))) CUresult

__attribute__((visibility("default"))) struct fake fake = {.clone_blocks = 2, .plain_blocks = 2};

struct CUfunc_st { const char *name; size_t params; };
static struct CUfunc_st kernels[] = {{"plain", 1}, {"twin", 1}, {"twin__gsan", 2}, {"elementwise_kernel", 1}, {"wide", 1}};
static char info_left[] = "gsan-info\t" ABI "\ttwin\tsync\nsource\ttest\nleft\t-\t7\tcp.async.bulk\tnot modelled\n";
static char info[] = "gsan-info\t" ABI "\ttwin\tsync\nsource\ttest\ngrid\ntriggers\tat once\n";

static void meanwhile(void (**what)(void))
{
	void (*once)(void) = *what;

	*what = NULL;
	if (once)
		once();
}

static void called(const char *name)
{
	snprintf(fake.last_call, sizeof(fake.last_call), "%s", name);
}

API cuInit(unsigned flags)
{
	called("cuInit");
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API cuCtxGetDevice(CUdevice *device)
{
	(void)device;
	return CUDA_ERROR_INVALID_CONTEXT; /* so that nothing is checked here, but for the tests' own participants */
}

API cuCtxGetCurrent(CUcontext *context)
{
	*context = fake.context ? (CUcontext)fake.context : (CUcontext)&fake;
	return CUDA_SUCCESS;
}

API cuCtxPushCurrent_v2(CUcontext context)
{
	return context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

API cuCtxPopCurrent_v2(CUcontext *context)
{
	*context = NULL;
	return CUDA_SUCCESS;
}

API cuCtxDestroy_v2(CUcontext context)
{
	return context == (CUcontext)fake.context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

API cuCtxSynchronize(void)
{
	called("cuCtxSynchronize");
	fake.syncs++;
	return CUDA_SUCCESS;
}

API cuStreamSynchronize(CUstream stream)
{
	fake.disturbed += fake.capturing;
	/* This stream, named, is what the other form means by stream 0. */
	called(stream == CU_STREAM_PER_THREAD ? "cuStreamSynchronize_ptsz" : "cuStreamSynchronize");
	fake.syncs++;
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize_ptsz(CUstream stream);
API cuStreamSynchronize_ptsz(CUstream stream)
{
	(void)stream;
	called("cuStreamSynchronize_ptsz");
	return CUDA_SUCCESS;
}

API cuStreamQuery(CUstream stream)
{
	(void)stream;
	fake.queries++;
	return fake.query_result;
}

API cuStreamCreate(CUstream *stream, unsigned flags)
{
	static char streams[256];
	static int used;

	(void)flags;
	*stream = fake.stream ? (CUstream)fake.stream : (CUstream)&streams[used++];
	return CUDA_SUCCESS;
}

API cuStreamDestroy_v2(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

API cuStreamGetFlags(CUstream stream, unsigned *flags)
{
	fake.disturbed += fake.capturing;
	(void)stream;
	*flags = CU_STREAM_NON_BLOCKING;
	meanwhile(&fake.asked_flags);
	return CUDA_SUCCESS;
}

API cuStreamGetCtx(CUstream stream, CUcontext *context)
{
	(void)stream;
	*context = (CUcontext)fake.context;
	return fake.context ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

API cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	*status = fake.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

API cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	(void)stream;
	*graph = NULL;
	fake.capturing = 0;
	return CUDA_SUCCESS;
}

API cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	(void)stream;
	(void)mode;
	fake.capturing = 1;
	return CUDA_SUCCESS;
}

API cuEventCreate(CUevent *event, unsigned flags)
{
	static char events[256];
	static int used;

	(void)flags;
	*event = (CUevent)&events[used++];
	return CUDA_SUCCESS;
}

API cuEventRecord(CUevent event, CUstream stream)
{
	(void)event;
	(void)stream;
	meanwhile(&fake.recorded);
	return CUDA_SUCCESS;
}

API cuEventQuery(CUevent event)
{
	(void)event;
	meanwhile(&fake.queried);
	return fake.unready ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	(void)stream;
	(void)event;
	(void)flags;
	return CUDA_SUCCESS;
}

API cuModuleLoadData(CUmodule *module, const void *image)
{
	fake.disturbed += fake.capturing;
	(void)image;
	*module = (CUmodule)kernels;
	return CUDA_SUCCESS;
}

API cuModuleUnload(CUmodule module)
{
	fake.disturbed += fake.capturing;
	(void)module;
	return CUDA_SUCCESS;
}

API cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	fake.disturbed += fake.capturing;
	(void)module;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (!strcmp(kernels[i].name, name)) {
			*function = &kernels[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

API cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
	fake.disturbed += fake.capturing;
	(void)module;
	if (strcmp(name, "twin__gsan_info"))
		return CUDA_ERROR_NOT_FOUND;
	*address = (CUdeviceptr)(fake.left ? info_left : info);
	*size = fake.left ? sizeof(info_left) : sizeof(info);
	return CUDA_SUCCESS;
}

API cuFuncGetModule(CUmodule *module, CUfunction function)
{
	(void)function;
	fake.disturbed += fake.capturing;
	*module = (CUmodule)kernels;
	return CUDA_SUCCESS;
}

API cuFuncGetName(const char **name, CUfunction function)
{
	*name = function->name;
	return CUDA_SUCCESS;
}

API cuFuncGetParamInfo(CUfunction function, size_t i, size_t *offset, size_t *size)
{
	if (i >= function->params)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = i * 8;
	*size = i ? sizeof(struct gsan_launch) : strcmp(function->name, "wide") ? 8 : 32700;
	return CUDA_SUCCESS;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t shared)
{
	(void)threads;
	(void)shared;
	*blocks = strstr(function->name, "__gsan") ? fake.clone_blocks : fake.plain_blocks;
	return CUDA_SUCCESS;
}

API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream stream)
{
	fake.disturbed += fake.capturing;
	(void)stream;
	fake.copies++;
	if (from >= GSAN_ARENA_BASE && from < GSAN_ARENA_BASE + GSAN_ARENA_SIZE)
		memset(to, 7, n); /* the table head */
	else
		memcpy(to, (const void *)from, n);
	return CUDA_SUCCESS;
}

API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
	called("cuMemcpyDtoH_v2");
	memcpy(to, (const void *)from, n);
	return CUDA_SUCCESS;
}

API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, CUstream stream, void **params, void **extra)
{
	int clone = f->params == 2;

	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream;
	if (clone && fake.refuse_clone)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	meanwhile(&fake.launched);
	if (fake.refuse)
		return (CUresult)fake.refuse;
	fake.launches++;
	fake.kernel = f->name;
	fake.params = (unsigned)f->params;
	if (clone && params)
		memcpy(fake.record, params[1], sizeof(struct gsan_launch));
	else if (clone)
		memcpy(fake.record, (char *)extra[1] + 8, sizeof(struct gsan_launch));
	return CUDA_SUCCESS;
}

API cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	return cuLaunchKernel(f, config->gridDimX, 1, 1, config->blockDimX, 1, 1, 0, config->hStream, params, extra);
}

API cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, CUstream stream, void **params)
{
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, NULL);
}

API cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	fake.disturbed += fake.capturing;
	(void)f;
	*value = attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH ? fake.required_cluster : 0;
	return CUDA_SUCCESS;
}

API cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	(void)attribute, (void)value;
	called(f->name);
	return CUDA_SUCCESS;
}

API cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
	(void)to, (void)value, (void)n, (void)stream;
	return (CUresult)fake.refuse;
}

API cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	(void)stream;
	function(data);
	return CUDA_SUCCESS;
}

API cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	(void)stream, (void)address, (void)value, (void)flags;
	called("cuStreamWriteValue32_v2");
	return (CUresult)fake.refuse;
}

/* ---- other ways to record an event, and to wait for one ------------------------------------------------------- */

API cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
	(void)event, (void)stream, (void)flags;
	return CUDA_SUCCESS;
}

API cuCtxRecordEvent(CUcontext context, CUevent event)
{
	(void)context, (void)event;
	return CUDA_SUCCESS;
}

API cuCtxWaitEvent(CUcontext context, CUevent event)
{
	(void)context, (void)event;
	return CUDA_SUCCESS;
}

API cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphore, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned count,
		CUstream stream)
{
	(void)semaphore, (void)params, (void)count, (void)stream;
	return CUDA_SUCCESS;
}

API cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	(void)handle, (void)event;
	return CUDA_SUCCESS;
}

/* A handle is the event's value. */
API cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	memcpy(event, handle.reserved, sizeof *event);
	return CUDA_SUCCESS;
}

API cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count, CUevent event)
{
	(void)node, (void)graph, (void)before, (void)count, (void)event;
	return CUDA_SUCCESS;
}

API cuGraphExecEventRecordNodeSetEvent(CUgraphExec graph, CUgraphNode node, CUevent event)
{
	(void)graph, (void)node, (void)event;
	return CUDA_SUCCESS;
}

API cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count, CUevent event)
{
	(void)node, (void)graph, (void)before, (void)count, (void)event;
	return CUDA_SUCCESS;
}

API cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	(void)node, (void)params;
	return CUDA_SUCCESS;
}

API cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	(void)graph, (void)stream;
	meanwhile(&fake.launched);
	return (CUresult)fake.refuse;
}

API cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
	return cuLaunchKernel(f, (unsigned)width, (unsigned)height, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

/* ---- asking for functions ------------------------------------------------------------------------------------ */

typedef CUresult get_11030(const char *, void **, int, cuuint64_t);
typedef CUresult get_12000(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
get_11030 cuGetProcAddress;
get_12000 cuGetProcAddress_v2;

static const struct { const char *symbol; void *function; int since, per_thread; } table[] = {
	{"cuInit", (void *)cuInit, 0, 0},
	{"cuCtxSynchronize", (void *)cuCtxSynchronize, 0, 0},
	{"cuStreamSynchronize", (void *)cuStreamSynchronize, 0, 0},
	{"cuStreamSynchronize", (void *)cuStreamSynchronize_ptsz, 7000, 1},
	{"cuMemcpyDtoH", (void *)cuMemcpyDtoH_v2, 3020, 0},
	{"cuGetProcAddress", (void *)cuGetProcAddress, 11030, 0},
	{"cuGetProcAddress", (void *)cuGetProcAddress_v2, 12000, 0},
	{"cuFake", (void *)cuCtxSynchronize, 0, 0}, /* another name for a hooked function */
};

/* The newest form that the version allows; flags ask for the per-thread default stream. */
static CUresult look_up(const char *symbol, void **function, int version, cuuint64_t flags)
{
	int per_thread = !!(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);

	*function = NULL;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].symbol, symbol) && version >= table[i].since && per_thread >= table[i].per_thread)
			*function = table[i].function;
	return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	return look_up(symbol, function, version, flags);
}

API cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
		CUdriverProcAddressQueryResult *status)
{
	CUresult rc = look_up(symbol, function, version, flags);

	if (status)
		*status = rc == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return rc;
}
