/* One write(2) per line, so that lines of several processes do not mix. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

static const char *program = "gsan";
static int rank = -1, alone;

void log_set_program(const char *name) { program = name; }
void log_set_rank(int r) { rank = r; }
void log_set_alone(int a) { alone = a; }

int log_enabled(enum log_level level)
{
	static const char *const name[] = {"error", "warning", "info", "debug"};
	static int limit = -1; /* every thread computes the same value */
	if (limit < 0) {
		const char *want = getenv("GSAN_LOG");
		int found = LOG_WARNING;
		for (int i = 0; want && i < 4; i++)
			if (!strcmp(want, name[i]))
				found = i;
		limit = found;
	}
	return (int)level <= limit;
}

void log_write(enum log_level level, const char *format, ...)
{
	int saved = errno;
	char line[1200], text[1200];
	if (!log_enabled(level))
		return;
	int n = snprintf(line, sizeof line, "%s: ", program);
	if (rank >= 0)
		n += snprintf(line + n, sizeof line - (size_t)n, "rank %d: ", rank);
	if (!alone)
		n += snprintf(line + n, sizeof line - (size_t)n, "pid %d: ", (int)getpid());
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	size_t size = (size_t)n + utf8_clean(line + n, sizeof line - (size_t)n - 1, text); /* it may name what it likes */
	line[size++] = '\n';
	ssize_t written = write(STDERR_FILENO, line, size);
	(void)written; /* nobody is left to tell */
	errno = saved;
}
