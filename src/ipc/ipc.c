#include "ipc/ipc.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"

#define IPC_BACKLOG 128
#define IPC_RETRY_MS 5
#define IPC_CONNECT_MS 500
#define IPC_FDS_MAX 4 /* room for what a broken peer may send; more than one is refused */

static int ipc_address(const char *name, struct sockaddr_un *at, socklen_t *size)
{
	size_t n = strlen(name);
	if (n == 0 || n > sizeof at->sun_path - 1)
		return -EINVAL;
	memset(at, 0, sizeof *at);
	at->sun_family = AF_UNIX;
	memcpy(at->sun_path + 1, name, n); /* a leading NUL: abstract, gone with its last descriptor */
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
	return 0;
}

static int ipc_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* An abstract name has no owner and no mode, so each side asks the kernel who the other one is. */
static int ipc_same_user(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return -errno;
	return peer.uid == geteuid() ? 0 : -EPERM;
}

int ipc_listen(const char *name)
{
	struct sockaddr_un at;
	socklen_t size;
	int rc = ipc_address(name, &at, &size);
	if (rc)
		return rc;
	int fd = ipc_socket();
	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&at, size) || listen(fd, IPC_BACKLOG)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int ipc_accept(int listener)
{
	int fd;
	do
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	int rc = ipc_same_user(fd);
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

/* How long a call that sends may wait; 0: for ever. Who listens and does not accept would else be waited for. */
static void ipc_patience(int fd, int ms)
{
	const struct timeval t = {ms / 1000, ms % 1000 * 1000};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

int ipc_connect(const char *name, int timeout_ms)
{
	struct sockaddr_un at;
	socklen_t size;
	int64_t end = now_ms() + timeout_ms;
	int rc = ipc_address(name, &at, &size);
	if (rc)
		return rc;
	int fd = ipc_socket();
	if (fd < 0)
		return fd;
	ipc_patience(fd, IPC_CONNECT_MS);
	while (connect(fd, (struct sockaddr *)&at, size)) {
		rc = -errno;
		int later = rc == -ECONNREFUSED || rc == -EAGAIN || rc == -EINTR;
		if (!later || now_ms() >= end)
			goto close_fd;
		nanosleep(&(struct timespec){0, IPC_RETRY_MS * 1000000}, NULL);
	}
	ipc_patience(fd, 0);
	rc = ipc_same_user(fd);
	if (!rc)
		return fd;
close_fd:
	close(fd);
	return rc;
}

int ipc_send(int socket, const struct ipc_msg *msg, int fd)
{
	struct ipc_msg out = *msg;
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control = {0};
	struct iovec part = {&out, sizeof out};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	out.proto = GSAN_PROTO;
	out.fds = fd >= 0;
	if (out.length > sizeof out.text)
		return -EMSGSIZE;
	if (fd >= 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof control.bytes;
		struct cmsghdr *c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	ssize_t n;
	do
		n = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	return 0;
}

/* Takes the descriptors out of a received header: the first goes to *fd, further ones are closed. Returns how many. */
static unsigned ipc_take_fds(struct msghdr *header, int *fd)
{
	unsigned count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int got;
			memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
			if (count++)
				close(got);
			else
				*fd = got;
		}
	}
	return count;
}

int ipc_recv(int socket, struct ipc_msg *msg, int *fd)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))]; } control;
	struct ipc_msg in;
	struct iovec part = {&in, sizeof in};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
				.msg_controllen = sizeof control.bytes};
	int got = -1;
	ssize_t n;
	do
		n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	unsigned fds = ipc_take_fds(&header, &got);
	int whole = n == (ssize_t)sizeof in && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	if (!whole || in.proto != GSAN_PROTO || fds != in.fds || fds > 1 || in.length > sizeof in.text) {
		if (got >= 0)
			close(got);
		return -EPROTO;
	}
	*msg = in;
	*fd = got;
	return 0;
}

static pthread_mutex_t ipc_call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t ipc_call_once = PTHREAD_ONCE_INIT;

/* Holding the lock over fork() keeps a call of another thread whole in the parent and leaves the child a free lock. */
static void ipc_fork_before(void) { pthread_mutex_lock(&ipc_call_lock); }
static void ipc_fork_after(void) { pthread_mutex_unlock(&ipc_call_lock); }
static void ipc_fork_safe(void) { pthread_atfork(ipc_fork_before, ipc_fork_after, ipc_fork_after); }

int ipc_call(int socket, struct ipc_msg *msg, int fd_in, int *fd_out)
{
	int fd = -1;
	pthread_once(&ipc_call_once, ipc_fork_safe);
	pthread_mutex_lock(&ipc_call_lock);
	int rc = ipc_send(socket, msg, fd_in);
	if (!rc)
		rc = ipc_recv(socket, msg, &fd);
	pthread_mutex_unlock(&ipc_call_lock);
	if (!rc && msg->type == IPC_ERROR)
		rc = msg->error < 0 ? msg->error : -EPROTO;
	if (!rc && fd_out) {
		*fd_out = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

void ipc_text(struct ipc_msg *msg, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(msg->text, sizeof msg->text, format, args);
	va_end(args);
	msg->length = n < 0 ? 0 : n < (int)sizeof msg->text ? (uint32_t)n : (uint32_t)sizeof msg->text - 1;
}
