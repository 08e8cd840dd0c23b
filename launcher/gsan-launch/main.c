#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "gsan-launch/launch.h"
#include "ipc/ipc.h"
#include "report/report.h"
#include "supervisor/supervisor.h"

#define MAIN_REAP_MS 1000

static const struct options main_options = {settings_rows, SETTINGS, OF_LAUNCH};

static const struct settings_words main_words = {
	"gsan-launch",
	"usage: gsan-launch [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
	"Runs PROGRAM, unchanged, and reports data races in GPU global memory, across all its ranks.\n"
	"Under mpirun, srun or torchrun: put it before the program.\n\n",
	"\nExit status: the program's own if not 0; else C if something was found (of formal\n"
	"races: with --formal fail); else 67 if nothing was checked of the job or of a rank; else 0.\n",
};

/* Does torchrun start a failed job again? */
static int main_restarts(void)
{
	const char *restarts = getenv("TORCHELASTIC_MAX_RESTARTS");
	return restarts && strtol(restarts, NULL, 10) > 0;
}

/* A finding must not look like a failure to it. */
static int main_exit_code(const struct option_value *option)
{
	if (!option[SETTING_EXIT_CODE].given && main_restarts())
		return 0;
	return (int)option[SETTING_EXIT_CODE].number;
}

/* Likewise that too little was checked. */
static enum supervisor_unchecked main_unchecked(const struct option_value *option)
{
	if (option[SETTING_REQUIRE_CHECKED].number)
		return UNCHECKED_REFUSED;
	return option[SETTING_ALLOW_UNCHECKED].number || main_restarts() ? UNCHECKED_ALLOWED : UNCHECKED_KNOWN;
}

/* The supervisor: a session of its own, no working directory, no descriptor but its listener: mpirun and shells wait
 * until their pipes close, and a directory may be unmounted. */
static void main_supervise(int listener, const struct launch *l) __attribute__((noreturn));
static void main_supervise(int listener, const struct launch *l)
{
	const struct option_value *o = l->option;
	char nvml[PATH_MAX + 32] = "libnvidia-ml.so.1";
	struct report_job job;
	struct report_style style;
	launch_describe(l, &job); /* before it leaves its directory, */
	launch_style(l, &job, &style); /* and its terminal */
	if (l->emulated)
		snprintf(nvml, sizeof nvml, "%s/libemu-nvml.so", l->files.emulator);
	struct supervisor_config config = {
		.report = l->report, .ptxas = l->files.ptxas[0] ? l->files.ptxas : NULL, .cache = l->cache[0] ? l->cache : NULL, .size = (uint32_t)l->size,
		.job = &job, .style = &style, .nvml = nvml, .emulated = l->emulated,
		.seed = (uint32_t)o[SETTING_SEED].number, .host_order_modelled = (int)o[SETTING_HOST_ORDER].number,
		.timeout_ms = (int)o[SETTING_TIMEOUT].number * 1000, .wait_ms = (int64_t)o[SETTING_WAIT].number * 1000,
		.exit_code = l->exit_code, .unchecked = main_unchecked(o), .formal = (enum supervisor_formal)o[SETTING_FORMAL].number,
		.suppressions = &l->suppressions, .details = (uint32_t)o[SETTING_DETAILS].number,
		.rank = l->first_rank, .terms = l->terms, .apart = l->apart, .socket = l->socket,
	};
	if (setsid() < 0 || chdir("/"))
		_exit(1);
	int kept = fcntl(listener, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (kept > 3)
		close_range(3, (unsigned)kept - 1, 0);
	close_range((unsigned)kept + 1, ~0u, 0);
	_exit(supervisor_run(kept, &config) ? 1 : 0);
}

/* The first launcher that gets the name makes the supervisor; the others find it. */
static int main_start_supervisor(struct launch *l, pid_t *supervisor)
{
	int listener, rc = launch_name(l, &listener);
	if (rc || listener < 0)
		return rc;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		main_supervise(listener, l);
	close(listener);
	if (child < 0) {
		log_error("cannot start the supervisor: %s", strerror(errno));
		return LAUNCH_EXIT_START;
	}
	*supervisor = child;
	return 0;
}

/* It ends right after the verdict, but for the time that other ranks still run. */
static void main_reap_supervisor(pid_t supervisor)
{
	for (int ms = 0; supervisor > 0 && ms < MAIN_REAP_MS && waitpid(supervisor, NULL, WNOHANG) == 0; ms += 2)
		nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static int main_check_unchecked(const struct launch *l)
{
	if (!l->option[SETTING_ALLOW_UNCHECKED].number || !l->option[SETTING_REQUIRE_CHECKED].number)
		return 0;
	log_error("--allow-unchecked and --require-checked ask for opposite things: leave one of them out");
	return LAUNCH_EXIT_USAGE;
}

/* A real device chooses by itself. What a file or the environment says may be for other runs. */
static int main_check_schedule(const struct launch *l)
{
	enum setting which = l->option[SETTING_EXPLORE].given ? SETTING_EXPLORE : SETTING_SCHEDULE;
	if (l->option[which].given != OPTION_COMMAND || !strcmp(l->option[SETTING_DEVICE].text, "emu"))
		return 0;
	log_error("--%s is for the emulated device: add --device emu", settings_rows[which].name);
	return LAUNCH_EXIT_USAGE;
}

static int main_read_suppressions(struct launch *l)
{
	const char *file = l->option[SETTING_SUPPRESSIONS].text;
	char error[600];
	if (!file || !suppressions_read(&l->suppressions, file, error, sizeof error))
		return 0;
	log_error("%s", error);
	return LAUNCH_EXIT_USAGE;
}

static int main_prepare_all(struct launch *l)
{
	int rc = main_check_schedule(l);
	if (!rc)
		rc = main_check_unchecked(l);
	if (!rc)
		rc = main_read_suppressions(l);
	if (!rc)
		rc = launch_adopt(l);
	if (!rc)
		rc = launch_find_program(l->program[0]);
	if (!rc)
		rc = launch_find_files(l);
	if (!rc)
		rc = launch_find_device(l);
	if (!rc)
		rc = launch_make_report(l);
	if (!rc)
		rc = launch_find_cache(l);
	if (rc)
		return rc;
	l->exit_code = main_exit_code(l->option);
	rc = launch_link_files(l);
	if (!rc)
		launch_agree(l);
	return rc;
}

static int main_prepare(struct launch *l)
{
	const int rc = main_prepare_all(l);
	if (rc)
		launch_forget_report(l);
	log_set_alone(rc != 0);
	return rc;
}

static int main_run(struct launch *l)
{
	pid_t supervisor = 0;
	int rc = main_prepare(l);
	if (!rc)
		rc = main_start_supervisor(l, &supervisor);
	if (!rc)
		rc = launch_ranks(l);
	main_reap_supervisor(supervisor);
	return rc;
}

int main(int argc, char **argv)
{
	static struct launch l;
	static struct option_value option[SETTINGS];
	char error[600];
	int rest;
	log_set_program("gsan-launch");
	log_set_alone(1); /* until it has read what it is to do */
	if (options_parse(&main_options, argc, argv, option, &rest, error, sizeof error) ||
	    settings_complete(OF_LAUNCH, option, error, sizeof error)) {
		log_error("%s", error);
		return LAUNCH_EXIT_USAGE;
	}
	const int told = settings_tell(OF_LAUNCH, option, &main_words);
	if (told)
		return told < 0 ? LAUNCH_EXIT_START : 0;
	if (rest == argc) {
		log_error("no program given (see --help)");
		return LAUNCH_EXIT_USAGE;
	}
	settings_export(OF_RANKS, option);
	l.option = option;
	l.program = argv + rest;
	if (!option[SETTING_EXPLORE].given)
		return main_run(&l);
	int rc = main_prepare(&l);
	return rc ? rc : launch_explore(&l, main_run);
}
