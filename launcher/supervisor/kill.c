#include "supervisor/kill.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "ipc/proto.h"

#define KILL_TURNS 5 /* looks at all processes: one may start another one meanwhile */

/* NAME=VALUE among those that the process was started with, each with a NUL behind it. */
static int kill_has(const char *text, size_t size, const char *line)
{
	for (const char *at = text; at < text + size; at += strlen(at) + 1)
		if (!strcmp(at, line))
			return 1;
	return 0;
}

/* Kills the process if it is one of those; returns whether it was. */
static int kill_one(const char *pid, const char *socket, const char *rank, pid_t group)
{
	pid_t number = (pid_t)strtol(pid, NULL, 10);
	char path[64], *text;
	size_t size;
	snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
	if (number < 2 || number == getpid() || getpgid(number) != group || text_read_file(path, &text, &size))
		return 0;
	int ours = kill_has(text, size, socket) && kill_has(text, size, rank);
	free(text);
	return ours && !kill(number, SIGKILL);
}

void kill_rank(const char *socket, int rank, pid_t group)
{
	char name[160], number[32];
	int any = 1;
	snprintf(name, sizeof name, GSAN_ENV_SOCKET "=%s", socket);
	snprintf(number, sizeof number, GSAN_ENV_RANK "=%d", rank);
	for (int turn = 0; any && turn < KILL_TURNS; turn++) {
		DIR *all = opendir("/proc");
		struct dirent *entry;
		for (any = 0; all && (entry = readdir(all));)
			if (isdigit((unsigned char)entry->d_name[0]))
				any |= kill_one(entry->d_name, name, number, group);
		if (all)
			closedir(all);
	}
}
