#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int text_reserve(struct text *t, size_t more)
{
	size_t need = t->size + more + 1;
	if (t->failed)
		return -1;
	if (need <= t->room)
		return 0;
	size_t room = t->room ? t->room * 2 : 256;
	while (room < need)
		room *= 2;
	char *data = realloc(t->data, room);
	if (!data) {
		t->failed = 1;
		return -1;
	}
	t->data = data;
	t->room = room;
	return 0;
}

void text_add(struct text *t, const char *bytes, size_t n)
{
	if (text_reserve(t, n))
		return;
	if (n)
		memcpy(t->data + t->size, bytes, n);
	t->size += n;
	t->data[t->size] = 0;
}

void text_puts(struct text *t, const char *string) { text_add(t, string, strlen(string)); }

void text_printf(struct text *t, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	if (n >= 0 && !text_reserve(t, (size_t)n)) {
		vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
		t->size += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

void text_counted(struct text *t, uint64_t n, const char *one, const char *many) { text_printf(t, "%" PRIu64 " %s", n, n == 1 ? one : many); }

char *text_take(struct text *t)
{
	text_reserve(t, 0);
	char *data = t->failed ? NULL : t->data;
	if (t->failed)
		free(t->data);
	else
		data[t->size] = 0;
	*t = (struct text){0};
	return data;
}

void text_free(struct text *t)
{
	free(t->data);
	*t = (struct text){0};
}

static int text_read_fd(int fd, struct text *t)
{
	char block[65536];
	for (;;) {
		ssize_t n = read(fd, block, sizeof block);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return t->failed ? -ENOMEM : 0;
		text_add(t, block, (size_t)n);
	}
}

size_t text_before(const char *text, size_t size, const char *ending)
{
	size_t n = strlen(ending);

	return size > n && !memcmp(text + size - n, ending, n) ? size - n : 0;
}

int text_read_file(const char *path, char **data, size_t *size)
{
	struct text t = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = text_read_fd(fd, &t);
	close(fd);
	if (rc) {
		text_free(&t);
		return rc;
	}
	*size = t.size;
	*data = text_take(&t);
	return *data ? 0 : -ENOMEM;
}

int text_write_fd(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

int text_write_file(const char *path, const char *data, size_t size)
{
	char temporary[4096];
	int n = snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, (int)getpid());
	if (n < 0 || n >= (int)sizeof temporary)
		return -ENAMETOOLONG;
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	int rc = text_write_fd(fd, data, size);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(temporary, path))
		rc = -errno;
	if (rc)
		unlink(temporary);
	return rc;
}
