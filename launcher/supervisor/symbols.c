#include "supervisor/symbols.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "supervisor/object.h"

#define SYMBOLS_WAIT_MS 2000
#define SYMBOLS_LOOK_MS 1
#define SYMBOLS_FRAMES 16u

extern char **environ;

/* 1: it ended well in time. */
static int symbols_wait(pid_t pid)
{
	int status = 0;
	for (int ms = 0; ms < SYMBOLS_WAIT_MS; ms += SYMBOLS_LOOK_MS) {
		if (waitpid(pid, &status, WNOHANG))
			return WIFEXITED(status) && !WEXITSTATUS(status);
		nanosleep(&(struct timespec){0, SYMBOLS_LOOK_MS * 1000000}, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 0;
}

/* What it prints, malloc'ed; NULL: it is not there, or does not know the object. */
static char *symbols_run(char *const argv[])
{
	int fd = memfd_create("gsan-symbols", MFD_CLOEXEC);
	posix_spawn_file_actions_t actions;
	char path[32], *said = NULL;
	size_t size;
	pid_t pid;
	if (fd < 0)
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (!posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) && symbols_wait(pid) && text_read_file(path, &said, &size))
		said = NULL;
	posix_spawn_file_actions_destroy(&actions);
	close(fd);
	return said;
}

/* Two lines of each address: a function, or ??, and file:line, perhaps with more behind a blank. */
static int symbols_first(char *said, struct symbol *s)
{
	char *save = NULL;
	for (char *function = strtok_r(said, "\n", &save), *at; function; function = strtok_r(NULL, "\n", &save)) {
		at = strtok_r(NULL, "\n", &save);
		char *colon = at ? strrchr(at, ':') : NULL;
		uint32_t line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
		if (!line || *at == '?')
			continue;
		*colon = 0;
		*s = (struct symbol){.file = strdup(at), .function = *function == '?' ? NULL : strdup(function), .line = line};
		return 1;
	}
	return 0;
}

/* Those of one object, from `frame` on. */
static int symbols_of_object(const struct ptx_frame *frame, uint32_t frames, struct symbol *s)
{
	char name[] = "addr2line", options[] = "-Cfe", address[SYMBOLS_FRAMES][24], *object = strdup(frame->object);
	char *argv[SYMBOLS_FRAMES + 4] = {name, options, object};
	for (uint32_t i = 0; i < frames; i++) {
		snprintf(address[i], sizeof address[i], "0x%llx", (unsigned long long)frame[i].address);
		argv[3 + i] = address[i];
	}
	char *said = object ? symbols_run(argv) : NULL;
	int found = said && symbols_first(said, s);
	free(said);
	free(object);
	return found;
}

/* Whose lines say nothing of the program: that main is called from there. */
static int symbols_is_libc(const char *object)
{
	const char *slash = strrchr(object, '/'), *name = slash ? slash + 1 : object;
	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5);
}

static struct symbol symbols_of_binary(const struct ptx_frame *frame)
{
	struct text object = {0};
	text_printf(&object, "%s+0x%llx", frame->object, (unsigned long long)frame->address);
	return (struct symbol){.function = object_function(frame->object, frame->address), .object = object.data};
}

struct symbol symbols_find(const struct ptx_info *info)
{
	struct symbol s = {0};
	for (uint32_t i = 0, n; i < info->frames; i += n) {
		for (n = 1; n < SYMBOLS_FRAMES && i + n < info->frames && !strcmp(info->frame[i].object, info->frame[i + n].object);)
			n++;
		if (!symbols_is_libc(info->frame[i].object) && symbols_of_object(&info->frame[i], n, &s))
			return s;
	}
	for (uint32_t i = 0; i < info->frames; i++)
		if (!symbols_is_libc(info->frame[i].object))
			return symbols_of_binary(&info->frame[i]);
	return s;
}

void symbols_free(struct symbol *s)
{
	free(s->file);
	free(s->function);
	free(s->object);
	*s = (struct symbol){0};
}
