/* gsan-ptxas keeps what it has made for the user's next job, and links it where it may. The supervisor runs it, so that the program finds
 * no child that it did not start. Whatever fails leaves the PTX to the driver. */
#include "driver/compile.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "config/settings.h"
#include "cuda/real.h"
#include "ipc/ipc.h"
#include "ptx/info.h"

#define CONNECT_MS 1000
#define SAY_MS 2000 /* then somebody at a terminal is told what takes so long */

/* The GPU to compile for: the one that the text names, if it is for that one alone (sm_90a), else the current one. 0: there is none, or
 * the text is for a debugger. */
static int compile_gpu(const char *text, char gpu[32])
{
	const char *target = strstr(text, ".target"), *end;
	int major, minor;
	CUdevice device;

	if (!target)
		return 0;
	target += strlen(".target");
	target += strspn(target, " \t");
	end = target + strcspn(target, " \t,;\r\n/");
	if (memmem(target, strcspn(target, "\n"), "debug", 5) || end == target || end - target >= 32)
		return 0;
	if (isalpha((unsigned char)end[-1]))
		return snprintf(gpu, 32, "%.*s", (int)(end - target), target);
	if (real.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
	    real.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
	    real.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS)
		return 0;
	return snprintf(gpu, 32, "sm_%d%d", major, minor);
}

static int compile_memory(const char *text)
{
	int fd = memfd_create("gsan-ptx", MFD_CLOEXEC);

	if (fd >= 0 && text_write_fd(fd, text, strlen(text))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void compile_wait(int socket, const char *source)
{
	struct pollfd wait = {.fd = socket, .events = POLLIN};

	if (!poll(&wait, 1, SAY_MS) && isatty(STDERR_FILENO))
		log_write(LOG_WARNING, "%s: its checked form is being compiled", source);
}

/* The result's descriptor, or -1. */
static int compile_ask(const char *source, const char *gpu, int ptx)
{
	int socket = ipc_connect(getenv(GSAN_ENV_SOCKET), CONNECT_MS), cubin = -1;
	struct ipc_msg msg = {.type = IPC_COMPILE, .pid = (int32_t)getpid()};

	if (socket < 0)
		return -1;
	ipc_text(&msg, "%s\t%s", gpu, source);
	if (!ipc_send(socket, &msg, ptx)) {
		compile_wait(socket, source);
		if (!ipc_recv(socket, &msg, &cubin) && msg.type != IPC_OK)
			log_info("%s: gsan-ptxas does not compile it: %.*s", source, (int)msg.length, msg.text);
	}
	close(socket);
	return cubin;
}

/* malloc'ed; NULL if nothing in it is checked. */
static char *compile_take(int cubin)
{
	char path[32], *data;
	size_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", cubin);
	if (text_read_file(path, &data, &size))
		return NULL;
	if (memmem(data, size, PTX_INFO_MAGIC, sizeof(PTX_INFO_MAGIC) - 1))
		return data;
	free(data);
	return NULL;
}

/* Jobs on the emulated device, and tests that change what is compiled, stay in this process. */
static int compile_may(void)
{
	const char *device = getenv(GSAN_ENV_DEVICE);

	return getenv(GSAN_ENV_SOCKET) && device && !strcmp(device, "cuda") && !setting_number(SETTING_TEST_RUN, 0) &&
	       !setting_number(SETTING_TEST_LIFT, 0);
}

char *compile_ptx(const char *source, const char *text)
{
	char gpu[32], *made = NULL;
	int ptx, cubin;

	if (!compile_may() || !compile_gpu(text, gpu))
		return NULL;
	ptx = compile_memory(text);
	cubin = ptx < 0 ? -1 : compile_ask(source, gpu, ptx);
	if (cubin >= 0) {
		made = compile_take(cubin);
		close(cubin);
	}
	if (ptx >= 0)
		close(ptx);
	return made;
}
