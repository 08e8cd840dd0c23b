/* PTX that a rank loads, compiled by gsan-ptxas here, for a child of the rank's own process would be found by the program's wait(). As many
 * run at once as there are processors; the others wait for their turn. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/state.h"

struct compile {
	struct compile *next;
	int connection;        /* that waits for it */
	int in, out;           /* its PTX, its cubin */
	int ended;             /* at its end when the program is, and all that it started; -1: it waits for its turn */
	pid_t pid, caller;     /* caller: the rank's process */
	char gpu[32], *source;
};

int compile_new(struct supervisor *s)
{
	s->compile_epoll = epoll_create1(EPOLL_CLOEXEC);
	return s->compile_epoll < 0 ? -errno : 0;
}

/* Closing it is not enough: a child that was forked meanwhile has it until it executes its program. */
static void compile_unwatch(const struct supervisor *s, struct compile *c)
{
	epoll_ctl(s->compile_epoll, EPOLL_CTL_DEL, c->ended, NULL);
	close(c->ended);
	c->ended = -1;
}

static void compile_free(const struct supervisor *s, struct compile *c)
{
	if (c->ended >= 0) {
		kill(-c->pid, SIGKILL); /* a group of its own */
		waitpid(c->pid, NULL, 0);
		compile_unwatch(s, c);
	}
	close(c->in);
	close(c->out);
	free(c->source);
	free(c);
}

static void compile_drop(struct supervisor *s, struct compile *gone)
{
	for (struct compile **at = &s->compiles; *at; at = &(*at)->next)
		if (*at == gone) {
			*at = gone->next;
			compile_free(s, gone);
			return;
		}
}

/* ---- the program ---- */

static void compile_exec(const struct supervisor *s, const struct compile *c, int end) __attribute__((noreturn));
static void compile_exec(const struct supervisor *s, const struct compile *c, int end)
{
	char gpu[48], in[32], out[32], caller[16], program[] = "gsan-ptxas", source[] = "--source", o[] = "-o";
	char *argv[] = {program, gpu, source, c->source, in, o, out, NULL};
	snprintf(gpu, sizeof gpu, "--gpu-name=%s", c->gpu);
	snprintf(in, sizeof in, "/proc/self/fd/%d", c->in);
	snprintf(out, sizeof out, "/proc/self/fd/%d", c->out);
	snprintf(caller, sizeof caller, "%d", (int)c->caller);
	for (const int *fd = (const int[]){c->in, c->out, end, -1}; *fd >= 0; fd++)
		fcntl(*fd, F_SETFD, 0);
	setpgid(0, 0);
	supervisor_signals(SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("GSAN_CACHE_DIR", s->cache, 1);
	setenv(GSAN_ENV_DEVICE, "cuda", 1);
	setenv(GSAN_ENV_CALLER, caller, 1);
	execv(s->config.ptxas, argv);
	_exit(127);
}

static int compile_start(struct supervisor *s, struct compile *c)
{
	struct epoll_event event = {.events = 0, .data.ptr = c}; /* EPOLLHUP comes unasked */
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	c->pid = fork();
	if (c->pid == 0)
		compile_exec(s, c, ends[1]);
	int rc = c->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		return rc;
	}
	setpgid(c->pid, c->pid);
	c->ended = ends[0];
	return epoll_ctl(s->compile_epoll, EPOLL_CTL_ADD, c->ended, &event) ? -errno : 0;
}

/* A failure of one is its own, and the next is tried. */
static void compile_start_some(struct supervisor *s)
{
	long room = sysconf(_SC_NPROCESSORS_ONLN);
	for (struct compile *c = s->compiles; c; c = c->next)
		room -= c->ended >= 0;
	for (struct compile *c = s->compiles, *next; c && room > 0; c = next) {
		next = c->next;
		if (c->ended >= 0)
			continue;
		int rc = compile_start(s, c);
		room--;
		if (rc) {
			supervisor_reply_error(s, c->connection, rc, "gsan-ptxas cannot be started");
			compile_drop(s, c);
		}
	}
}

/* ---- what a rank asks for ---- */

int compile_ask(struct supervisor *s, int connection, const struct ipc_msg *msg, int in)
{
	struct compile *c = calloc(1, sizeof *c), **last = &s->compiles;
	const char *tab = memchr(msg->text, '\t', msg->length);
	size_t gpu = tab ? (size_t)(tab - msg->text) : 0;
	int rc = !c ? -ENOMEM : !gpu || gpu >= sizeof c->gpu || in < 0 || !s->config.ptxas ? -EINVAL : 0;
	if (!rc) {
		*c = (struct compile){.connection = connection, .out = memfd_create("gsan-cubin", MFD_CLOEXEC), .ended = -1, .caller = msg->pid};
		memcpy(c->gpu, msg->text, gpu);
		c->source = strndup(tab + 1, msg->length - gpu - 1);
		rc = c->out < 0 ? -errno : c->source ? 0 : -ENOMEM;
	}
	if (rc) {
		if (c && c->out > 0)
			close(c->out);
		if (c)
			free(c->source);
		free(c);
		return rc;
	}
	c->in = in;
	while (*last)
		last = &(*last)->next;
	*last = c;
	compile_start_some(s);
	return 0;
}

void compile_forget(struct supervisor *s, int connection)
{
	for (struct compile *c = s->compiles, *next; c; c = next) {
		next = c->next;
		if (c->connection == connection)
			compile_drop(s, c);
	}
}

static void compile_reply(const struct supervisor *s, struct compile *c)
{
	struct ipc_msg msg = {.type = IPC_OK};
	struct stat st;
	int status = 1;
	waitpid(c->pid, &status, 0);
	compile_unwatch(s, c);
	if (!WIFEXITED(status) || WEXITSTATUS(status) || fstat(c->out, &st) || !st.st_size)
		supervisor_reply_error(s, c->connection, -EIO, "gsan-ptxas made nothing");
	else
		ipc_send(s->connection[c->connection].fd, &msg, c->out);
}

void compile_sweep(struct supervisor *s)
{
	struct epoll_event event[32];
	int n = epoll_wait(s->compile_epoll, event, 32, 0);
	for (int i = 0; i < n; i++) {
		compile_reply(s, event[i].data.ptr);
		compile_drop(s, event[i].data.ptr);
	}
	if (n > 0)
		compile_start_some(s);
}

void compile_close(struct supervisor *s)
{
	while (s->compiles)
		compile_drop(s, s->compiles);
	if (s->compile_epoll >= 0)
		close(s->compile_epoll);
}
