/* How far the job is, in one line on a terminal. It is rewritten once a second at most, and only if it says something new, so that a program
 * that waits for an answer there keeps its question. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/now.h"
#include "gsan-launch/launch.h"

#define PROGRESS_MS 1000
#define PROGRESS_FIRST_MS 2000 /* a job that takes less has none */
#define PROGRESS_CLEAR "\r\033[K"

static void progress_write(const char *text, size_t size)
{
	ssize_t written = write(STDERR_FILENO, text, size);
	(void)written; /* the terminal is gone */
}

void launch_progress_begin(struct launch_progress *p, const struct launch *l)
{
	const char *term = getenv("TERM");
	const int never = l->option[SETTING_PROGRESS].number != 0;
	*p = (struct launch_progress){.next = now_ms() + PROGRESS_FIRST_MS};
	p->wanted = l->own && !never && log_enabled(LOG_WARNING) && isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
}

int launch_progress_ms(const struct launch_progress *p)
{
	const int64_t ms = p->next - now_ms();
	return !p->wanted || p->asked ? -1 : ms > 0 ? (int)ms : 0;
}

void launch_progress_show(struct launch_progress *p, const char *text, size_t size)
{
	struct winsize window;
	char line[sizeof p->line], written[sizeof line + sizeof PROGRESS_CLEAR];
	p->asked = 0;
	p->next = now_ms() + PROGRESS_MS;
	if (!size || tcgetpgrp(STDERR_FILENO) != getpgrp() || ioctl(STDERR_FILENO, TIOCGWINSZ, &window))
		return; /* nothing to say, or in the background */
	snprintf(line, sizeof line, "gsan: %.*s ", (int)size, text); /* what the program prints comes behind it */
	if (window.ws_col && strlen(line) >= window.ws_col) /* in the last column the cursor would go on to the next line */
		line[window.ws_col - 1] = 0;
	if (!strcmp(line, p->line))
		return;
	memcpy(p->line, line, sizeof line);
	snprintf(written, sizeof written, PROGRESS_CLEAR "%s", line);
	progress_write(written, strlen(written));
}

void launch_progress_clear(struct launch_progress *p)
{
	if (p->line[0])
		progress_write(PROGRESS_CLEAR, sizeof PROGRESS_CLEAR - 1);
	p->line[0] = 0;
}
