/* CUDA IPC: memory and events of a process, opened by another one that was started by exec. */
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define SIZE 200000u

struct letter { CUipcMemHandle memory; CUipcEventHandle event; };

static void tell(int to, const void *what, size_t size) { CHECK(write(to, what, size) == (ssize_t)size); }
static void hear(int from, void *what, size_t size) { CHECK(read(from, what, size) == (ssize_t)size); }

static unsigned word(CUdeviceptr at)
{
	unsigned value;
	OK(cuMemcpyDtoH(&value, at, sizeof value));
	return value;
}

static void refused(CUipcMemHandle memory, CUipcEventHandle event)
{
	CUdeviceptr at;
	CUevent e;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&at, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcOpenEventHandle(&e, event));
}

/* The other process: reads 41, writes 42 once the first one's event has passed. */
static int peer(int socket)
{
	struct letter l;
	CUipcMemHandle no_memory = {{0}};
	CUipcEventHandle no_event = {{0}};
	CUdeviceptr at, again, base;
	CUevent event;
	CUstream stream;
	size_t size;
	int device;
	char byte = 'x';
	start();
	refused(no_memory, no_event);
	hear(socket, &l, sizeof l);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&at, l.memory, 2));
	OK(cuIpcOpenMemHandle(&at, l.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	OK(cuIpcOpenMemHandle(&again, l.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(at == again && word(at) == 41);
	OK(cuMemGetAddressRange(&base, &size, at + 100));
	CHECK(base == at && size == SIZE);
	OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
	CHECK(device == 0);
	OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
	CHECK(device == 0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&no_memory, at));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
	OK(cuIpcOpenEventHandle(&event, l.event));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitEvent(stream, event, 0));
	OK(cuMemsetD32Async(at, 42, 1, stream));
	tell(socket, &byte, 1);
	OK(cuEventSynchronize(event));
	OK(cuStreamSynchronize(stream));
	OK(cuEventRecord(event, stream));
	tell(socket, &byte, 1);
	OK(cuIpcCloseMemHandle(again));
	hear(socket, &byte, 1); /* its owner has freed it */
	refused(l.memory, l.event);
	CHECK(word(at) == 43);
	OK(cuMemsetD8(at, 0, SIZE)); /* gives pages back */
	CHECK(word(at) == 0);
	OK(cuIpcCloseMemHandle(at));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(at));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&size, at, 4));
	OK(cuEventDestroy(event));
	return 0;
}

static pid_t begin(const char *program, int pair[2])
{
	char number[16];
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid_t child = fork();
	if (child) {
		close(pair[1]);
		return child;
	}
	snprintf(number, sizeof number, "%d", pair[1]);
	execl(program, program, number, (char *)NULL);
	_exit(127);
}

static void own_refused(const struct letter *l, CUdeviceptr at)
{
	CUevent event, plain;
	CUdeviceptr pooled;
	CUipcMemHandle memory;
	CUipcEventHandle name;
	int capable = 0;
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&pooled, l->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenEventHandle(&event, l->event));
	OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&name, plain));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
	OK(cuMemAllocAsync(&pooled, 512, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&memory, pooled));
	OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
	CHECK(capable == 1);
	OK(cuIpcGetMemHandle(&memory, at + 40));
	CHECK(!memcmp(&memory, &l->memory, sizeof memory));
}

static volatile int go;
static void CUDA_CB hold(void *unused)
{
	(void)unused;
	while (!go)
		usleep(1000);
}

static void host(const char *program)
{
	struct letter l;
	CUdeviceptr at;
	CUevent event;
	CUstream stream;
	int pair[2], status;
	char byte;
	pid_t child = begin(program, pair);
	start();
	OK(cuMemAlloc(&at, SIZE));
	OK(cuMemsetD32(at, 41, 1));
	OK(cuCtxSynchronize());
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	OK(cuIpcGetMemHandle(&l.memory, at));
	OK(cuIpcGetEventHandle(&l.event, event));
	own_refused(&l, at);
	OK(cuLaunchHostFunc(stream, hold, NULL));
	OK(cuEventRecord(event, stream));
	tell(pair[0], &l, sizeof l);
	hear(pair[0], &byte, 1);
	usleep(20000);
	CHECK(word(at) == 41); /* the peer's stream waits */
	go = 1;
	hear(pair[0], &byte, 1);
	OK(cuEventSynchronize(event)); /* which the peer has recorded by now */
	OK(cuEventQuery(event));
	CHECK(word(at) == 42);
	OK(cuMemsetD32(at, 43, 1));
	OK(cuMemFree(at)); /* waits */
	OK(cuEventDestroy(event));
	tell(pair[0], &byte, 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return peer(atoi(argv[1]));
	host(argv[0]);
	return 0;
}
