/* Whose context a call is for. The runtime makes no contexts: it retains a device's primary one when it is needed first, for the process,
 * and makes it current in each thread that has none (CUDA Runtime API, "Interactions with the CUDA Driver API"). Errors are kept by
 * thread until cudaGetLastError; that work is not ready is none. */
#include "emu/runtime/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"

#define DEVICES_MAX 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[DEVICES_MAX];          /* retained; under `lock` */
static atomic_int initialised;
static _Thread_local int chosen;                /* the device, where no context says it */
static _Thread_local cudaError_t last;

__attribute__((constructor)) static void loaded(void) { log_set_program("gsan-emu"); }

int runtime_driver(void)
{
	if (atomic_load_explicit(&initialised, memory_order_relaxed)) /* the driver orders what it has initialised itself */
		return CUDA_SUCCESS;
	CUresult result = cuInit(0);
	if (!result)
		atomic_store_explicit(&initialised, 1, memory_order_relaxed);
	return result;
}

int runtime_primary(int device, CUcontext *context)
{
	if (device < 0 || device >= DEVICES_MAX)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	CUresult result = primary[device] ? CUDA_SUCCESS : cuDevicePrimaryCtxRetain(&primary[device], device);
	*context = primary[device];
	pthread_mutex_unlock(&lock);
	return result;
}

/* 1: it was that device's, and is to be retained anew. */
static int forget_primary(int device, CUcontext context)
{
	pthread_mutex_lock(&lock);
	int same = primary[device] == context;
	if (same)
		primary[device] = NULL;
	pthread_mutex_unlock(&lock);
	return same;
}

int runtime_context(void)
{
	CUcontext c = NULL;
	int result = runtime_driver();
	if (!result)
		result = cuCtxGetCurrent(&c);
	if (result || c)
		return result;
	result = runtime_primary(chosen, &c);
	return result ? result : (int)cuCtxSetCurrent(c);
}

cudaError_t runtime_leave(int result)
{
	if (result && result != cudaErrorNotReady)
		last = (cudaError_t)result;
	return (cudaError_t)result;
}

RUNTIME_EXPORT cudaError_t CUDARTAPI cudaPeekAtLastError(void) { return last; }

RUNTIME_EXPORT cudaError_t CUDARTAPI cudaGetLastError(void)
{
	cudaError_t was = last;
	last = cudaSuccess;
	return was;
}

RUNTIME_EXPORT cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return runtime_leave(cudaErrorInvalidValue);
	*version = CUDART_VERSION;
	return cudaSuccess;
}

/* ---- the thread's device */

int runtime_device_get(int *device)
{
	CUcontext c = NULL;
	if (!device)
		return cudaErrorInvalidValue;
	CUresult result = cuCtxGetCurrent(&c);
	if (!result && c)
		return cuCtxGetDevice(device);
	*device = chosen;
	return result;
}

int runtime_device_set(int device)
{
	CUcontext c;
	int result = runtime_primary(device, &c);
	if (!result)
		result = cuCtxSetCurrent(c);
	if (!result)
		chosen = device;
	return result;
}

int runtime_device_init(int device, unsigned flags)
{
	CUcontext c;
	int result = flags ? (int)cuDevicePrimaryCtxSetFlags_v2(device, flags) : CUDA_SUCCESS;
	return result ? result : runtime_primary(device, &c);
}

/* Of a context of the program's own that is current, only what is the runtime's (CUDA Runtime API, cudaDeviceReset). */
int runtime_device_reset(void)
{
	CUcontext c = NULL;
	int result = runtime_context();
	if (!result)
		result = cuCtxGetCurrent(&c);
	if (result)
		return result;
	runtime_forget(c);
	for (int device = 0; device < DEVICES_MAX; device++)
		if (forget_primary(device, c))
			return cuDevicePrimaryCtxReset_v2(device);
	return CUDA_SUCCESS;
}

int runtime_device_flags(unsigned *flags)
{
	int device, active;
	int result = runtime_device_get(&device);
	return result ? result : (int)cuDevicePrimaryCtxGetState(device, flags, &active);
}

int runtime_device_set_flags(unsigned flags)
{
	int device;
	int result = runtime_device_get(&device);
	return result ? result : (int)cuDevicePrimaryCtxSetFlags_v2(device, flags & ~(unsigned)cudaDeviceMapHost); /* which is always so */
}
