/* The folder of the reports: one job's at a time, and what is written there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/state.h"

#define FILES_LOOK_MS 50

int supervisor_lock_folder(const char *folder, int wait_ms)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms += FILES_LOOK_MS) {
		int rc = -errno;
		if (rc != -EINTR && (rc != -EWOULDBLOCK || ms >= wait_ms)) {
			close(fd);
			return rc;
		}
		nanosleep(&(struct timespec){0, FILES_LOOK_MS * 1000000}, NULL);
	}
	return fd;
}

void supervisor_folder_taken(struct text *out, const char *folder)
{
	text_printf(out, "--report %.300s%s: another job that runs writes its report there; give one of them a --report of its own", folder,
		    strlen(folder) > 300 ? "..." : "");
}

/* rank -1: the summary. Returns 0 or -errno. */
static int files_write_one(const struct supervisor *s, const struct report *r, int rank)
{
	char path[4096];
	if (rank < 0)
		snprintf(path, sizeof path, "%s/summary.json", s->config.report);
	else
		snprintf(path, sizeof path, "%s/rank-%d.json", s->config.report, rank);
	char *json = report_json(r, rank);
	int rc = json ? text_write_file(path, json, strlen(json)) : -ENOMEM;
	free(json);
	return rc;
}

int supervisor_write(struct supervisor *s, const struct report *r, int last)
{
	int rc = 0;
	if (s->report_fd == -EWOULDBLOCK)
		return 0;
	for (int rank = -1; rank < (int)s->config.size; rank++) {
		int one = files_write_one(s, r, rank);
		rc = rc ? rc : one;
	}
	if (last && s->report_fd >= 0) {
		close(s->report_fd);
		s->report_fd = -1;
	}
	return rc;
}

/* Files of an earlier job with more ranks would read as if they were of this one. */
static void files_remove_old(const char *report)
{
	DIR *folder = opendir(report);
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		unsigned rank;
		int end = 0;
		if ((sscanf(entry->d_name, "rank-%u.json%n", &rank, &end) == 1 && end && !entry->d_name[end]) ||
		    !strcmp(entry->d_name, "summary.json"))
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder)
		closedir(folder);
}

void supervisor_take_folder(struct supervisor *s)
{
	s->report_fd = supervisor_lock_folder(s->config.report, SUPERVISOR_FOLDER_WAIT_MS);
	if (s->report_fd == -EWOULDBLOCK)
		supervisor_folder_taken(&s->failure, s->config.report);
	else
		files_remove_old(s->config.report);
}

void supervisor_forget_report(const char *folder)
{
	const int fd = supervisor_lock_folder(folder, 0);
	if (fd < 0)
		return;
	files_remove_old(folder);
	close(fd);
}
