/* --explore: the program again and again on the emulated device, each time as a job of its own with the next seed, and one
 * report over all of them. A run is what gsan-launch does without the option, in a child: what it prints goes to a file
 * beside its report. A signal ends the run that is under way as it would end a single one, and the report is about those before it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "gsan-launch/launch.h"
#include "report/report.h"
#include "supervisor/supervisor.h"

struct explore {
	const struct launch *launch;
	launch_run run;
	struct report_job job;
	struct report all;
	int failed;      /* status of the first run whose program failed */
	sigset_t taken;  /* signals: blocked here, but for who waits */
	sigset_t before; /* signal mask for the runs */
	int told;        /* the signal that ends it all; 0: none came */
};

static void explore_run(const struct explore *x, long seed, const char *folder) __attribute__((noreturn));
static void explore_run(const struct explore *x, long seed, const char *folder)
{
	static struct option_value option[SETTINGS];
	struct launch l = {.option = option, .program = x->launch->program, .explored = 1};
	char path[PATH_MAX];
	memcpy(option, x->launch->option, sizeof option);
	option[SETTING_SEED].number = seed;
	option[SETTING_REPORT].text = folder;
	option[SETTING_SCHEDULE].given = OPTION_COMMAND;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, &x->before, NULL);
	int rc = launch_make_report(&l), out = -1, in = open("/dev/null", O_RDONLY);
	if (rc)
		_exit(rc);
	if (snprintf(path, sizeof path, "%s/output.txt", l.report) < (int)sizeof path)
		out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (out < 0 || in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) {
		log_error("cannot write %s: %s", path, strerror(errno));
		_exit(LAUNCH_EXIT_USAGE);
	}
	close(in);
	close(out);
	rc = x->run(&l);
	fflush(NULL);
	_exit(rc);
}

static int explore_add(struct report *all, struct report *one, long seed)
{
	int rc = report_ungroup(one);
	for (uint32_t i = 0; i < one->findings && !rc; i++) { /* of pairs: which of them have one cause all runs say together */
		struct report_finding f = one->finding[i];
		f.schedules = f.weight = 1;
		f.first_seed = (uint64_t)seed;
		f.suppressed = 0; /* all will be looked at together */
		rc = report_add_finding(all, &f);
	}
	all->schedules++;
	return rc ? rc : report_merge_coverage(all, one);
}

static int explore_failed(const struct report *r)
{
	for (uint32_t i = 0; i < r->ranks; i++)
		if (r->rank[i].end != REPORT_EXITED || r->rank[i].status)
			return 1;
	return 0;
}

/* Reads what one run left. Returns 0, or an exit code when it left nothing. */
static int explore_take(struct explore *x, long seed, const char *folder, int status)
{
	char path[PATH_MAX], error[300] = "is not there", *json = NULL;
	size_t size;
	struct report one = {0};
	int rc = snprintf(path, sizeof path, "%s/summary.json", folder) < (int)sizeof path ? text_read_file(path, &json, &size)
											  : -ENAMETOOLONG;
	if (!rc)
		rc = report_read(&one, json, error, sizeof error);
	free(json);
	if (rc) {
		log_error("seed %ld: the job ended with status %d and without a report (%s %s); what it printed is in %s/output.txt", seed,
			  status, path, error, folder);
		rc = status ? status : LAUNCH_EXIT_START;
	} else if (explore_add(&x->all, &one, seed)) {
		log_error("out of memory");
		rc = LAUNCH_EXIT_START;
	} else if (explore_failed(&one)) {
		log_warning("seed %ld: the program ended with status %d; what it printed is in %s/output.txt", seed, status, folder);
		x->failed = x->failed ? x->failed : status;
	} else if (status && (status != SUPERVISOR_EXIT_UNCHECKED || !x->all.exit_status)) { /* that something was found says more */
		x->all.exit_status = status;
	}
	report_free(&one);
	return rc;
}

/* ---- signals ---- */

static void explore_take_signals(struct explore *x)
{
	static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	sigemptyset(&x->taken);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&x->taken, taken[i]);
	sigprocmask(SIG_BLOCK, &x->taken, &x->before);
}

/* child: the run, or 0. A key on the terminal went to it, too, for it is in our group; but who leads a session is told alone when that is gone. */
static void explore_told(struct explore *x, const siginfo_t *info, pid_t child)
{
	const int number = info->si_signo;
	if (number == SIGCHLD)
		return;
	if (child && (info->si_code != SI_KERNEL || number == SIGHUP))
		kill(child, number);
	if (number != SIGUSR1 && number != SIGUSR2)
		x->told = number;
}

/* What came while there was no run. */
static int explore_is_told(struct explore *x)
{
	siginfo_t info;
	while (sigtimedwait(&x->taken, &info, &(struct timespec){0, 0}) > 0)
		explore_told(x, &info, 0);
	return x->told;
}

static int explore_wait(struct explore *x, pid_t child)
{
	siginfo_t info;
	int status;
	while (waitpid(child, &status, WNOHANG) != child)
		if (sigwaitinfo(&x->taken, &info) > 0)
			explore_told(x, &info, child);
	return status;
}

/* ---- runs ---- */

/* An earlier exploration's summary is not to be taken for this one's, however this ends. */
static void explore_forget(const char *folder)
{
	char summary[PATH_MAX + 16];
	snprintf(summary, sizeof summary, "%s/summary.json", folder);
	unlink(summary);
}

/* Returns 0, or an exit code when it was not finished. */
static int explore_one(struct explore *x, long seed)
{
	char folder[PATH_MAX];
	if (snprintf(folder, sizeof folder, "%s/seed-%ld", x->launch->report, seed) >= (int)sizeof folder)
		return LAUNCH_EXIT_USAGE;
	explore_forget(folder);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		explore_run(x, seed, folder);
	if (child < 0) {
		log_error("cannot start a run: %s", strerror(errno));
		return LAUNCH_EXIT_START;
	}
	const int status = explore_wait(x, child);
	if (x->told) /* what the run came to is the signal's work */
		return 128 + x->told;
	if (WIFSIGNALED(status)) {
		log_error("seed %ld: killed by signal %d", seed, WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return explore_take(x, seed, folder, WEXITSTATUS(status));
}

static int explore_write(struct explore *x)
{
	char path[PATH_MAX + 16];
	struct text text = {0};
	struct report_style style;
	int unfinished = report_finish(&x->all) || report_set_job(&x->all, &x->job) || report_group(&x->all) ||
			 report_suppress(&x->all, &x->launch->suppressions) || report_regroup(&x->all);
	report_limit(&x->all, (uint32_t)x->launch->option[SETTING_DETAILS].number);
	unfinished = unfinished || report_identify(&x->all);
	char *json = unfinished ? NULL : report_json(&x->all, -1);
	snprintf(path, sizeof path, "%s/summary.json", x->launch->report);
	int rc = json ? text_write_file(path, json, strlen(json)) : -ENOMEM;
	if (rc)
		log_error("cannot write %s: %s", path, strerror(-rc));
	free(json);
	launch_style(x->launch, &x->job, &style);
	report_text(&text, &x->all, x->launch->report, &style);
	fputs(text.data ? text.data : "", stderr);
	text_free(&text);
	return rc ? LAUNCH_EXIT_START : 0;
}

static int explore_check(const struct launch *l)
{
	const struct option_value *o = l->option;
	if (!l->own) {
		log_error("--explore starts the ranks itself, again for each schedule: leave the starter (mpirun, torchrun, srun) out and "
			  "say -n N");
		return LAUNCH_EXIT_USAGE;
	}
	if (o[SETTING_SEED].number > INT_MAX - o[SETTING_EXPLORE].number) {
		log_error("--seed %ld --explore %ld: the last seed would be above %d", o[SETTING_SEED].number, o[SETTING_EXPLORE].number,
			  INT_MAX);
		return LAUNCH_EXIT_USAGE;
	}
	return 0;
}

/* The seeds' folders are their jobs' own. Until this process ends, for what is beside them. */
static int explore_lock(const struct launch *l)
{
	struct text taken = {0};
	if (supervisor_lock_folder(l->report, SUPERVISOR_FOLDER_WAIT_MS) != -EWOULDBLOCK)
		return 0;
	supervisor_folder_taken(&taken, l->report);
	log_error("%s", taken.data ? taken.data : "out of memory");
	text_free(&taken);
	return LAUNCH_EXIT_START;
}

/* Returns 0, or an exit code when they did not come to their end. */
static int explore_runs(struct explore *x)
{
	const struct option_value *o = x->launch->option;
	const long runs = o[SETTING_EXPLORE].number;
	int rc = 0;
	explore_forget(x->launch->report);
	explore_take_signals(x);
	for (long k = 0; k < runs && !rc; k++)
		rc = explore_is_told(x) ? 128 + x->told : explore_one(x, o[SETTING_SEED].number + k);
	x->all.unexplored = (uint32_t)runs - x->all.schedules;
	if (x->told && rc)
		log_warning("interrupted (%s) after %u of %ld runs%s", strsignal(x->told), x->all.schedules, runs,
			    x->all.schedules ? ": the report is about those" : ": there is no report");
	x->all.exit_status = x->told && rc ? rc : x->failed ? x->failed : x->all.exit_status;
	return rc;
}

int launch_explore(const struct launch *l, launch_run run)
{
	static struct explore x;
	const struct option_value *o = l->option;
	int rc = explore_check(l);
	rc = rc ? rc : explore_lock(l);
	x = (struct explore){.launch = l, .run = run,
			     .all = {.schedule = o[SETTING_SCHEDULE].text, .first_seed = (uint64_t)o[SETTING_SEED].number}};
	launch_describe(l, &x.job);
	rc = rc ? rc : explore_runs(&x);
	if (x.all.schedules) {
		int wrote = explore_write(&x);
		rc = rc ? rc : wrote;
	}
	rc = rc ? rc : x.all.exit_status;
	report_free(&x.all);
	return rc;
}
