#include "emu/driver/activity.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 8 /* generations of children */

static ssize_t read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, room - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

/* proc(5): fields of stat behind the command name, which may hold anything: 3 state, 10 minflt, 12 majflt, 14 utime,
 * 15 stime, 22 starttime. Returns how many were read. */
static int read_stat(const char *path, char *state, uint64_t field[23])
{
	char text[1024];
	if (read_text(path, text, sizeof text) <= 0)
		return 0;
	char *at = strrchr(text, ')');
	if (!at || !at[1])
		return 0;
	*state = at[2];
	at += 3;
	int n = 4;
	for (; n < 23 && *at; n++)
		field[n] = strtoull(at, &at, 10);
	return n;
}

/* When the process or thread began that `path` tells of; 0: it is gone. */
static uint64_t start_of(const char *path)
{
	char state = 'X';
	uint64_t field[23] = {0};
	int n = read_stat(path, &state, field);
	return n == 23 && state != 'Z' && state != 'X' ? field[22] : 0;
}

uint64_t emu_activity_start(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return start_of(path);
}

int emu_activity_thread(pid_t pid, int32_t tid)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, tid);
	return start_of(path) != 0;
}

static int skipped(int32_t id, const int32_t *skip, size_t skips)
{
	for (size_t i = 0; i < skips; i++)
		if (skip[i] == id)
			return 1;
	return 0;
}

/* The state comes before the count: a thread that sleeps, and has not run when the count is taken, slept all the time from
 * an earlier equal count to its state. One that was woken is runnable at once, however long it waits for a processor. */
static int read_thread(pid_t pid, int tid, struct emu_activity *a)
{
	char path[96], text[128], state = 'S', *at;
	uint64_t field[23] = {0};
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, tid);
	if (read_stat(path, &state, field) < 16)
		return -1;
	a->awake |= state == 'R' || state == 'D' || state == 'T' || state == 't';
	a->faults += field[10] + field[12];
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, tid);
	if (read_text(path, text, sizeof text) > 0) { /* nanoseconds on a processor, waiting for one, how often it got one */
		a->ran += strtoull(text, &at, 10);
		strtoull(at, &at, 10);
		a->ran += strtoull(at, NULL, 10);
	} else {
		a->ran += (field[14] + field[15]) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	}
	if (a->threads < EMU_ACTIVITY_THREADS)
		a->thread[a->threads] = (struct emu_thread){(int32_t)pid, tid};
	a->threads++;
	return 0;
}

static void read_process(pid_t pid, const int32_t *skip, size_t skips, int depth, struct emu_activity *a)
{
	char path[96], text[4096];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	if (!tasks)
		return;
	for (struct dirent *e; (e = readdir(tasks));) {
		int tid = atoi(e->d_name);
		if (tid <= 0)
			continue;
		if (!skipped(tid, skip, skips))
			read_thread(pid, tid, a);
		snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, tid);
		if (depth >= DEPTH_MAX || read_text(path, text, sizeof text) <= 0)
			continue;
		for (char *at = text, *end; ; at = end) {
			long child = strtol(at, &end, 10);
			if (end == at)
				break;
			if (!skipped((int32_t)child, skip, skips))
				read_process((pid_t)child, skip, skips, depth + 1, a);
		}
	}
	closedir(tasks);
}

void emu_activity_read(pid_t pid, const int32_t *skip, size_t skips, struct emu_activity *activity)
{
	memset(activity, 0, sizeof *activity);
	read_process(pid, skip, skips, 0, activity);
}

int emu_activity_rests(const struct emu_activity *seen)
{
	struct emu_activity now = {.ran = 0};
	if (seen->threads > EMU_ACTIVITY_THREADS)
		return 0;
	for (uint32_t i = 0; i < seen->threads; i++)
		if (read_thread(seen->thread[i].pid, seen->thread[i].tid, &now) || now.awake)
			return 0;
	return now.ran == seen->ran;
}
