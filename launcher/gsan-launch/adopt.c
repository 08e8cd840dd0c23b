/* Which rank of which job: read from the environment that MPI's starters, Slurm, PALS and torchrun give each rank. MPI itself
 * is never initialised here (its child could not do it again). What names the job must be equal in all its launchers
 * and in no other job of this user at this time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "gsan-launch/launch.h"
#include "ipc/proto.h"
#include "report/report.h"

struct adopt_starter {
	const char *name, *needs; /* a variable that only this starter sets */
	const char *rank, *size, *local_rank, *local_size, *nodes, *id[3]; /* local_size or nodes, if it says so */
	const char *apart;        /* what gives each of two jobs an id of its own */
};
/* One may start another, whose ranks then find the variables of both: the inner one stands first. Hydra's proxies are a step of Slurm's;
 * torchrun is run by mpirun or srun, and not the other way. */
static const struct adopt_starter adopt_starters[] = {
	{"torchrun", "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL,
	 {"TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"}, "give each torchrun a --master-port or --rdzv-id of its own"},
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	 "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}, "start each by an mpirun of its own"},
	{"PALS", "PALS_RANKID", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", NULL, {"PALS_APID"},
	 "start each by an mpiexec of its own"},
	{"MPICH", "PMI_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL, {"PMI_JOBID"},
	 "start each by an mpiexec of its own"},
	{"Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_NUM_NODES",
	 {"SLURM_JOB_ID", "SLURM_STEP_ID"}, "start each as a step of its own, by srun"},
	{"PMIx", "PMIX_RANK", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE", NULL, {"PMIX_NAMESPACE"},
	 "start each as a PMIx job of its own"},
	{"the environment", "WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL, {"MASTER_ADDR", "MASTER_PORT"},
	 "give each a MASTER_PORT of its own"},
};

/* A whole number ≥ 0, or -1: not set, or no such number. */
static int adopt_number(const char *variable)
{
	const char *text = variable ? getenv(variable) : NULL;
	char *end;
	if (!text || !*text)
		return -1;
	long value = strtol(text, &end, 10);
	return *end || value < 0 || value > INT_MAX ? -1 : (int)value;
}

static const struct adopt_starter *adopt_find(void)
{
	for (size_t i = 0; i < sizeof adopt_starters / sizeof *adopt_starters; i++)
		if (getenv(adopt_starters[i].needs))
			return &adopt_starters[i];
	return NULL;
}

/* What this launcher's job alone is called. */
static uint64_t adopt_private_name(void)
{
	uint64_t hash = HASH_START;
	if (getrandom(&hash, sizeof hash, 0) != (ssize_t)sizeof hash)
		hash ^= (uint64_t)getpid() << 32;
	return hash;
}

/* Was the process started with that variable? Not, as far as one can say, if it is another user's. */
static int adopt_inherits(pid_t pid, const char *variable)
{
	char path[32], *environment;
	size_t size, length = strlen(variable);
	int found = 0;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	if (text_read_file(path, &environment, &size))
		return 0;
	for (const char *at = environment; at < environment + size && !found; at += strlen(at) + 1)
		found = !strncmp(at, variable, length) && at[length] == '=';
	free(environment);
	return found;
}

static pid_t adopt_parent(pid_t pid)
{
	char path[32], *stat;
	size_t size;
	int parent = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (text_read_file(path, &stat, &size))
		return 0;
	const char *behind_name = strrchr(stat, ')');
	if (!behind_name || sscanf(behind_name, ") %*c %d", &parent) != 1)
		parent = 0;
	free(stat);
	return parent;
}

/* One process per node starts all of a job's ranks there, some through shells: the nearest ancestor without their variable, by its number
 * where it is. */
static uint64_t adopt_starter_process(uint64_t hash, const char *variable)
{
	char space[64];
	pid_t pid = getppid();
	while (pid > 1 && adopt_inherits(pid, variable))
		pid = adopt_parent(pid);
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space);
	return hash_step(hash_bytes(hash, space, n > 0 ? (size_t)n : 0), (uint64_t)pid);
}

/* What the starter calls the job, shortened to a hash, because starters use long names. */
static uint64_t adopt_shared_name(const struct adopt_starter *from)
{
	uint64_t hash = hash_bytes(HASH_START, from->name, strlen(from->name));
	int named = 0;
	for (int i = 0; i < 3 && from->id[i]; i++) {
		const char *id = getenv(from->id[i]);
		named |= id && *id;
		hash = hash_bytes(hash, id ? id : "", id ? strlen(id) + 1 : 1);
	}
	return named ? hash : adopt_starter_process(hash, from->needs);
}

/* Other launchers find a job of several ranks by what its starter calls it. Nobody has to find a job of one, and names do not tell such
 * jobs apart: many scripts export one MASTER_PORT. */
static void adopt_name_job(struct launch *l, const struct adopt_starter *from)
{
	int alone = l->own || l->size == 1;
	uint64_t hash = alone ? adopt_private_name() : adopt_shared_name(from);
	l->apart = alone ? "" : from->apart;
	snprintf(l->socket, sizeof l->socket, "gsan-%u-%016llx", (unsigned)geteuid(), (unsigned long long)hash);
}

static int adopt_check(const struct launch *l, const struct adopt_starter *from)
{
	int local_size = adopt_number(from->local_size);
	if (l->first_rank < 0 || l->size < 1) {
		log_error("%s sets %s but no usable %s and %s", from->name, from->needs, from->rank, from->size);
		return LAUNCH_EXIT_USAGE;
	}
	if (l->first_rank >= l->size) {
		log_error("%s sets %s=%d and %s=%d: rank %d is not below %d", from->name, from->rank, l->first_rank, from->size, l->size,
			  l->first_rank, l->size);
		return LAUNCH_EXIT_USAGE;
	}
	if (local_size > 0 && local_size < l->size) {
		log_error("the job has %d ranks, %d of them on this node: jobs over several nodes cannot be checked yet", l->size,
			  local_size);
		return LAUNCH_EXIT_USAGE;
	}
	if (adopt_number(from->nodes) > 1) {
		log_error("the job has %d ranks on %d nodes: jobs over several nodes cannot be checked yet", l->size, adopt_number(from->nodes));
		return LAUNCH_EXIT_USAGE;
	}
	if (l->size > REPORT_RANKS_MAX) {
		log_error("the job has %d ranks; at most %d can be checked", l->size, REPORT_RANKS_MAX);
		return LAUNCH_EXIT_USAGE;
	}
	return 0;
}

int launch_adopt(struct launch *l)
{
	const struct adopt_starter *from = adopt_find();
	const struct option_value *n = &l->option[SETTING_RANKS];
	if (getenv(GSAN_ENV_SOCKET)) {
		log_error("this is already inside gsan-launch (%s is set): gsan-launch cannot be nested", GSAN_ENV_SOCKET);
		return LAUNCH_EXIT_USAGE;
	}
	if (n->given && from && adopt_number(from->size) > 1) {
		log_error("-n %ld: %s has started %d ranks already; leave -n out", n->number, from->name,
			  adopt_number(from->size));
		return LAUNCH_EXIT_USAGE;
	}
	l->own = n->given || !from;
	if (l->own) {
		l->here = l->size = n->given ? (int)n->number : 1;
		adopt_name_job(l, NULL);
		return 0;
	}
	l->here = 1;
	l->first_rank = adopt_number(from->rank);
	l->size = adopt_number(from->size);
	l->local_rank = adopt_number(from->local_rank);
	if (l->local_rank < 0)
		l->local_rank = l->first_rank;
	adopt_name_job(l, from);
	return adopt_check(l, from);
}
