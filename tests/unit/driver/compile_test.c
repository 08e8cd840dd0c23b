/* What a process asks of the supervisor about PTX that it loads, and what it makes of the answers; the supervisor is the test's own. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "base/text.h"
#include "cuda/real.h"
#include "driver/compile.h"
#include "ipc/ipc.h"

#define CHECKED "ELF gsan-info\t1\tk\t- and more"

enum answer { CUBIN, PLAIN_CUBIN, NOTHING, REFUSAL, HANG_UP };
static struct { int listener; enum answer answer; struct ipc_msg asked; char *ptx; size_t ptx_size; unsigned calls; } server;

static CUresult CUDAAPI device_current(CUdevice *device) { return *device = 3, CUDA_SUCCESS; }
static CUresult CUDAAPI device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	CHECK(device == 3);
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
	return CUDA_SUCCESS;
}

static int cubin_of(const char *text)
{
	int fd = memfd_create("cubin", MFD_CLOEXEC);

	CHECK(fd >= 0 && !text_write_fd(fd, text, strlen(text)));
	return fd;
}

static void serve_one(int socket)
{
	static const char *const cubin[] = {CHECKED, "ELF of plain kernels", ""};
	char path[32];
	int fd, out = -1;

	CHECK(!ipc_recv(socket, &server.asked, &fd) && fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	free(server.ptx);
	CHECK(!text_read_file(path, &server.ptx, &server.ptx_size));
	close(fd);
	server.calls++;
	if (server.answer == HANG_UP)
		return;
	struct ipc_msg msg = {.type = server.answer == REFUSAL ? IPC_ERROR : IPC_OK, .error = server.answer == REFUSAL ? -EIO : 0};
	if (server.answer != REFUSAL)
		out = cubin_of(cubin[server.answer]);
	CHECK(!ipc_send(socket, &msg, out));
	if (out >= 0)
		close(out);
}

static void *serve(void *unused)
{
	for (;;) {
		int socket = ipc_accept(server.listener);

		CHECK(socket >= 0);
		serve_one(socket);
		close(socket);
	}
	return unused;
}

/* What compile_ptx() makes of `text`, and for which GPU it asked; "" = it did not ask. */
static int compiles(const char *text, enum answer answer, const char *gpu)
{
	unsigned calls = server.calls;
	char wanted[64];

	server.answer = answer;
	char *made = compile_ptx("a name", text);
	CHECK(server.calls == calls + (*gpu != 0));
	if (*gpu) {
		snprintf(wanted, sizeof(wanted), "%s\ta name", gpu);
		CHECK(server.asked.type == IPC_COMPILE && server.asked.pid == getpid());
		CHECK(server.asked.length == strlen(wanted) && !memcmp(server.asked.text, wanted, strlen(wanted)));
		CHECK(server.ptx_size == strlen(text) && !memcmp(server.ptx, text, server.ptx_size));
	}
	if (made)
		CHECK(!strncmp(made, CHECKED, strlen(CHECKED)));
	free(made);
	return made != NULL;
}

static void test_gpu(void)
{
	CHECK(compiles(".version 8.0\n.target sm_70\n", CUBIN, "sm_90"));
	CHECK(compiles(".version 8.0\n.target sm_90a\n.address_size 64\n", CUBIN, "sm_90a"));
	CHECK(compiles(".version 8.8 .target\tsm_100f, texmode_independent", CUBIN, "sm_100f"));
	CHECK(!compiles(".version 8.0\n.target sm_90, debug\n", CUBIN, ""));
	CHECK(!compiles(".version 8.0\n", CUBIN, ""));
	CHECK(!compiles(".version 8.0\n.target ", CUBIN, ""));
}

static void test_answers(void)
{
	static const char *const text = ".version 8.0\n.target sm_90\n";

	for (enum answer answer = PLAIN_CUBIN; answer <= HANG_UP; answer++)
		CHECK(!compiles(text, answer, "sm_90"));
	CHECK(compiles(text, CUBIN, "sm_90"));
}

static void test_long_text(void)
{
	size_t size = 5 << 20;
	char *text = malloc(size + 1);

	CHECK(text);
	memset(text, ' ', size);
	memcpy(text, ".version 8.0 .target sm_90 ", 27);
	text[size] = 0;
	CHECK(compiles(text, CUBIN, "sm_90"));
	free(text);
}

static void test_elsewhere(void)
{
	static const char *const text = ".version 8.0\n.target sm_90\n";

	setenv(GSAN_ENV_DEVICE, "emu", 1);
	CHECK(!compiles(text, CUBIN, ""));
	setenv(GSAN_ENV_DEVICE, "cuda", 1);
	setenv(GSAN_ENV_SOCKET, "gsan-nobody-listens", 1);
	CHECK(!compiles(text, CUBIN, ""));
	unsetenv(GSAN_ENV_SOCKET);
	CHECK(!compiles(text, CUBIN, ""));
}

int main(void)
{
	pthread_t thread;
	char name[64];

	real.cuCtxGetDevice = device_current;
	real.cuDeviceGetAttribute = device_attribute;
	snprintf(name, sizeof(name), "gsan-compile-test-%d", (int)getpid());
	server.listener = ipc_listen(name);
	setenv(GSAN_ENV_SOCKET, name, 1);
	setenv(GSAN_ENV_DEVICE, "cuda", 1);
	CHECK(server.listener >= 0 && !pthread_create(&thread, NULL, serve, NULL));
	test_gpu();
	test_answers();
	test_long_text();
	test_elsewhere();
	return 0;
}
