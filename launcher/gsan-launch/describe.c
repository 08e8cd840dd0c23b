/* What the report says of the job as such: what ran, where and when; and how its text is set. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "gsan-launch/commit.h"
#include "gsan-launch/launch.h"
#include "report/page.h"

/* Of the kernel module, so that no process here starts CUDA for it. */
static const char *describe_driver(char *version, size_t size)
{
	FILE *file = fopen("/sys/module/nvidia/version", "re");
	int known = file && fgets(version, (int)size, file);
	if (file)
		fclose(file);
	if (known)
		version[strcspn(version, "\n")] = 0;
	return known ? version : NULL;
}

void launch_describe(const struct launch *l, struct report_job *job)
{
	static char host[HOST_NAME_MAX + 1], directory[PATH_MAX], driver[64];
	*job = (struct report_job){
		.argv = (const char *const *)l->program, .start = time(NULL), .began_ms = (uint64_t)now_ms(), .seed = (uint64_t)l->option[SETTING_SEED].number,
		.host = gethostname(host, sizeof host - 1) ? NULL : host, .directory = getcwd(directory, sizeof directory),
		.device = l->emulated ? "emu" : "cuda", .driver = l->emulated ? NULL : describe_driver(driver, sizeof driver),
		.commit = GSAN_COMMIT,
	};
	while (l->program[job->arguments])
		job->arguments++;
}

/* The launcher that starts the job does not know who prints, unless it has started all ranks. */
void launch_style(const struct launch *l, const struct report_job *job, struct report_style *style)
{
	const enum page_when when = (enum page_when)l->option[SETTING_COLOR].number;
	*style = (struct report_style){.directory = job->directory};
	page_style(style, l->own ? STDERR_FILENO : -1, when);
}
