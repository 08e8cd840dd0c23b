#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ptxas.h"

static void child(char *const argv[], int out_fd, int err_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (out_fd >= 0)
		dup2(out_fd, STDOUT_FILENO);
	if (err_fd >= 0)
		dup2(err_fd, STDERR_FILENO);
	execv(argv[0], argv);
	dprintf(STDERR_FILENO, "gsan-ptxas: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int ptxas_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int ptxas_run(char *const argv[], int out_fd, int err_fd)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		child(argv, out_fd, err_fd);
	return ptxas_wait(pid);
}

int ptxas_memory(const char *name)
{
	int fd = memfd_create(name, 0);

	return fd < 0 ? -errno : fd;
}

int ptxas_memory_read(int fd, char **data, size_t *size)
{
	struct stat st;
	size_t at = 0;
	char *bytes;

	if (fstat(fd, &st))
		return -errno;
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	while (at < (size_t)st.st_size) {
		ssize_t n = pread(fd, bytes + at, (size_t)st.st_size - at, (off_t)at);

		if (n < 0 && errno != EINTR) {
			free(bytes);
			return -EIO;
		}
		if (!n)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	bytes[at] = '\0';
	*data = bytes;
	*size = at;
	return 0;
}

/* More than THREADS_MOST help little, as a third of a ptxas's work has no parts, and builds run several of them at once; more than
 * there are cores cost processor time (docs/hot-path.md). */
#define THREADS_MOST 4u

unsigned ptxas_threads(unsigned kernels)
{
	cpu_set_t set;
	unsigned cores = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
	unsigned most = cores < THREADS_MOST ? cores : THREADS_MOST;

	return kernels < most ? kernels : most;
}

int ptxas_call_open(struct ptxas_call *c, const char *in_name)
{
	*c = (struct ptxas_call){.in = ptxas_memory(in_name), .out = ptxas_memory("out"), .said = ptxas_memory("log")};
	snprintf(c->in_path, sizeof(c->in_path), "/proc/self/fd/%d", c->in);
	snprintf(c->out_path, sizeof(c->out_path), "/proc/self/fd/%d", c->out);
	return c->in < 0 ? c->in : c->out < 0 ? c->out : c->said < 0 ? c->said : 0;
}

int ptxas_call_run(const struct ptxas_call *c, char *const argv[], const struct text *in, struct ptxas_bytes *out)
{
	int status = text_write_fd(c->in, in->data, in->size);

	if (!status)
		status = ptxas_run(argv, c->said, c->said);
	if (!status)
		status = ptxas_memory_read(c->out, &out->data, &out->size);
	return status;
}

void ptxas_call_close(const struct ptxas_call *c)
{
	close(c->in);
	close(c->out);
	close(c->said);
}
