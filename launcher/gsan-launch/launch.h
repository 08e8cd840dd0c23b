/* gsan-launch: starts the ranks of a program under libgsan, and the supervisor if this is the first launcher of the job.
 * This file: what its parts share.
 *   adopt.c        which rank of which job this process is
 *   name.c         the socket by which its launchers meet
 *   agree.c        what the launchers of a job say alike
 *   files.c        where libgsan, gsan-ptxas and the emulated driver are, and where caches go
 *   link.c         a way to them that the dynamic loader takes
 *   environment.c  what a rank finds in its environment
 *   place.c        the cores nearest its GPU
 *   ranks.c        the ranks' processes: start, signals, end
 *   progress.c     how far they are, on a terminal
 *   describe.c     what the report says of the job
 *   explore.c      the whole again, under many schedules */
#ifndef GSAN_LAUNCH_LAUNCH_H
#define GSAN_LAUNCH_LAUNCH_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/settings.h"
#include "report/suppress.h"

#define LAUNCH_EXIT_USAGE 2       /* bad options, unusable report directory, no driver */
#define LAUNCH_EXIT_START 1       /* the job could not start */
#define LAUNCH_EXIT_NOT_FOUND 127 /* as a shell says it */

#define LAUNCH_TERMS 2048

struct launch_files {
	char bin[PATH_MAX], preload[PATH_MAX], emulator[PATH_MAX], ptxas[PATH_MAX], ptxas_blackwell[PATH_MAX]; /* "" = none */
};
struct launch {
	const struct option_value *option;
	char **program;         /* argv of the ranks */
	int first_rank, here;   /* this launcher's ranks: first_rank .. first_rank + here - 1 */
	int size, local_rank;   /* local_rank: of first_rank */
	int own;                /* the ranks are started here, nobody else named them */
	int emulated;
	int explored;           /* this is one run of many */
	struct suppressions suppressions;
	int exit_code;          /* of a job that found something */
	char socket[108];       /* abstract name; with a number behind it, if that is another user's */
	const char *apart;      /* what to do that two jobs of this starter do not meet, as a sentence's end; "": they cannot */
	char terms[LAUNCH_TERMS]; /* lines NAME\tVALUE */
	char report[PATH_MAX], cache[PATH_MAX];  /* cache "" = a temporary one */
	char emu_job[PATH_MAX], rank_cache[PATH_MAX]; /* as the supervisor says */
	int master_port;
	struct launch_files files;
};

/* Each says what is wrong on stderr and returns an exit code, or 0. */
int launch_adopt(struct launch *l);
int launch_find_files(struct launch *l);
int launch_find_program(const char *name);
int launch_make_report(struct launch *l);
void launch_forget_report(const struct launch *l); /* of a job that does not come to be: an earlier one's is not to be taken for its own */
int launch_find_device(struct launch *l);
int launch_find_cache(struct launch *l);
int launch_link_files(struct launch *l);    /* once the cache is found */
int launch_name(struct launch *l, int *listener); /* *listener: this launcher is to start the supervisor; -1: another one has */
void launch_agree(struct launch *l); /* once all else is prepared */

struct report_job;
struct report_style;
void launch_describe(const struct launch *l, struct report_job *job); /* when the job starts; its texts are static */
void launch_style(const struct launch *l, const struct report_job *job, struct report_style *style);

void launch_environment(const struct launch *l, int rank); /* in the rank's process, before exec */
void launch_place(const struct launch *l, int rank);       /* there, too */
int launch_ranks(struct launch *l);                        /* the exit status of this launcher */

struct launch_progress {
	int wanted, asked;      /* is there to be one? The supervisor has been asked for it */
	int64_t next;           /* when it may be asked again, monotonic, in ms */
	char line[200];         /* what stands there; "": nothing */
};
void launch_progress_begin(struct launch_progress *p, const struct launch *l);
int launch_progress_ms(const struct launch_progress *p); /* until the supervisor is to be asked; -1: it is not */
void launch_progress_show(struct launch_progress *p, const char *text, size_t size);
void launch_progress_clear(struct launch_progress *p); /* before anything else is printed */

/* Runs one job; the exit status. *l holds options and program, the rest is filled in. */
typedef int (*launch_run)(struct launch *l);
int launch_explore(const struct launch *l, launch_run run); /* l is prepared */

#endif
