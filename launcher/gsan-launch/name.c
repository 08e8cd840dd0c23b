/* The job's socket. Its name can be computed by anybody, so that launchers find each other without a message, and an abstract name is whose that
 * takes it first: another user's process may have it, by mistake or to block the job. The kernel says whose a socket is (ipc_connect); all
 * launchers of a job then pass over the same names, and meet at the first that is nobody's. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/now.h"
#include "gsan-launch/launch.h"
#include "ipc/ipc.h"

#define NAME_TRIES 64
#define NAME_MS 2000 /* for a supervisor that is about to listen, or has just ended; who has not answered by then is another's */
#define NAME_LOOK_MS 5

/* 0: *listener is this job's, or -1: another launcher of this user has it. -EPERM: another user's process has it; or another -errno. */
static int name_take(const char *name, int *listener)
{
	for (int64_t end = now_ms() + NAME_MS; now_ms() < end;) {
		int fd = ipc_listen(name);
		*listener = fd < 0 ? -1 : fd;
		if (fd != -EADDRINUSE)
			return fd < 0 ? fd : 0;
		fd = ipc_connect(name, 0);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || fd == -EPERM)
			return fd < 0 ? fd : 0;
		nanosleep(&(struct timespec){0, NAME_LOOK_MS * 1000000}, NULL);
	}
	return -EPERM;
}

int launch_name(struct launch *l, int *listener)
{
	char name[sizeof l->socket - 20];
	int rc = -EPERM;
	snprintf(name, sizeof name, "%.80s", l->socket);
	for (int i = 1; rc == -EPERM && i <= NAME_TRIES; i++) {
		rc = name_take(l->socket, listener);
		if (rc == -EPERM) {
			log_warning("another user's process has the name '%s' of this job's socket; the next one is tried", l->socket);
			snprintf(l->socket, sizeof l->socket, "%s-%d", name, i);
		}
	}
	if (rc)
		log_error("cannot open the job's socket: %s", strerror(-rc));
	return rc ? LAUNCH_EXIT_START : 0;
}
