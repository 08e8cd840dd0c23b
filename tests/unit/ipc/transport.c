/* The transport alone: names, descriptors, whole messages, and what happens when a side is gone or not ours. */
#include "ipc/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

static char name[64];

static int open_fds(void)
{
	int n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_names(void)
{
	int a = ipc_listen(name);
	CHECK(a >= 0);
	CHECK(ipc_listen(name) == -EADDRINUSE);
	CHECK(ipc_listen("") == -EINVAL);
	close(a);
	CHECK(ipc_connect(name, 0) == -ECONNREFUSED); /* the name went with its descriptor */
	a = ipc_listen(name);
	CHECK(a >= 0);
	close(a);
}

/* A supervisor that echoes: the text comes back, a descriptor too. */
static void *echo(void *listener)
{
	struct ipc_msg msg;
	int fd, s = ipc_accept(*(int *)listener);
	CHECK(s >= 0);
	while (!ipc_recv(s, &msg, &fd)) {
		if (msg.type == IPC_RANK) {
			msg.type = IPC_ERROR;
			msg.error = -ENOENT;
		}
		CHECK(!ipc_send(s, &msg, fd));
		if (fd >= 0)
			close(fd);
	}
	close(s);
	return NULL;
}

static void test_calls(void)
{
	int before = open_fds(), fd = -1, listener = ipc_listen(name);
	pthread_t thread;
	CHECK(listener >= 0 && !pthread_create(&thread, NULL, echo, &listener));
	int s = ipc_connect(name, 2000);
	CHECK(s >= 0);

	struct ipc_msg msg = {.type = IPC_NOTE, .base = 0x123456789abcdefull, .length = sizeof msg.text};
	memset(msg.text, 'x', sizeof msg.text);
	CHECK(!ipc_call(s, &msg, -1, &fd) && fd == -1);
	CHECK(msg.base == 0x123456789abcdefull && msg.length == sizeof msg.text && msg.text[sizeof msg.text - 1] == 'x');
	msg.length = sizeof msg.text + 1;
	CHECK(ipc_send(s, &msg, -1) == -EMSGSIZE);

	/* A text longer than a message travels as a memfd: what arrives is the same file. */
	static char big[3 << 20];
	int memory = memfd_create("text", MFD_CLOEXEC);
	memset(big, 'y', sizeof big);
	CHECK(memory >= 0 && write(memory, big, sizeof big) == (ssize_t)sizeof big);
	msg = (struct ipc_msg){.type = IPC_KERNEL};
	CHECK(!ipc_call(s, &msg, memory, &fd) && fd >= 0 && fd != memory);
	struct stat mine, got;
	CHECK(!fstat(memory, &mine) && !fstat(fd, &got) && mine.st_ino == got.st_ino && got.st_size == (off_t)sizeof big);
	close(fd);

	msg = (struct ipc_msg){.type = IPC_KERNEL};
	CHECK(!ipc_call(s, &msg, memory, NULL)); /* an unwanted descriptor is closed: counted below */
	msg = (struct ipc_msg){.type = IPC_RANK};
	CHECK(ipc_call(s, &msg, memory, &fd) == -ENOENT);
	close(memory);
	close(s);
	pthread_join(thread, NULL);
	close(listener);
	CHECK(open_fds() == before);
}

static void test_broken(void)
{
	int fd = -1, pair[2];
	struct ipc_msg msg = {.type = IPC_OK};
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	CHECK(write(pair[0], "short", 5) == 5);
	CHECK(ipc_recv(pair[1], &msg, &fd) == -EPROTO);
	msg.proto = GSAN_PROTO + 1;
	CHECK(write(pair[0], &msg, sizeof msg) == (ssize_t)sizeof msg);
	CHECK(ipc_recv(pair[1], &msg, &fd) == -EPROTO);
	close(pair[0]);
	CHECK(ipc_recv(pair[1], &msg, &fd) == -ECONNRESET);
	CHECK(ipc_send(pair[1], &msg, -1) == -ECONNRESET);
	close(pair[1]);
}

/* Only root can show it: a process of another user is refused, by the listener and as a listener. */
static void test_stranger(void)
{
	if (geteuid() != 0)
		return;
	int listener = ipc_listen(name);
	CHECK(listener >= 0);
	pid_t child = fork();
	if (child == 0) {
		if (setuid(65534))
			_exit(2);
		_exit(ipc_connect(name, 2000) == -EPERM ? 0 : 1);
	}
	CHECK(ipc_accept(listener) == -EPERM);
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	close(listener);
}

static void test_late_listener(void)
{
	pid_t child = fork();
	if (child == 0) {
		nanosleep(&(struct timespec){0, 200000000}, NULL);
		int listener = ipc_listen(name);
		_exit(listener >= 0 && ipc_accept(listener) >= 0 ? 0 : 1);
	}
	int s = ipc_connect(name, 5000), status;
	CHECK(s >= 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	close(s);
}

int main(void)
{
	snprintf(name, sizeof name, "gsan-test-%d", (int)getpid());
	test_names();
	test_calls();
	test_broken();
	test_stranger();
	test_late_listener();
	return 0;
}
