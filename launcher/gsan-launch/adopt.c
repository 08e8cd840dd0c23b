/* Which rank of which job: read from the environment that MPI's starters, Slurm and torchrun give each rank. MPI itself
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
#include "gsan-launch/launch.h"
#include "ipc/proto.h"
#include "report/report.h"

struct adopt_starter {
	const char *name, *needs; /* a variable that only this starter sets */
	const char *rank, *size, *local_rank, *local_size, *id[3];
	const char *apart;        /* what gives each of two jobs an id of its own */
};
static const struct adopt_starter adopt_starters[] = {
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	 "OMPI_COMM_WORLD_LOCAL_SIZE", {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}, "start each by an mpirun of its own"},
	{"torchrun", "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
	 {"TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"}, "give each torchrun a --master-port or --rdzv-id of its own"},
	{"Slurm", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
	 {"SLURM_JOB_ID", "SLURM_STEP_ID"}, "start each as a step of its own, by srun"},
	{"MPICH", "PMI_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", {"PMI_JOBID"},
	 "start each by an mpiexec of its own"},
	{"PMIx", "PMIX_RANK", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE", {"PMIX_NAMESPACE"},
	 "start each as a PMIx job of its own"},
	{"the environment", "WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", {"MASTER_ADDR", "MASTER_PORT"},
	 "give each a MASTER_PORT of its own"},
};

/* A whole number ≥ 0, or -1: not set, or no such number. "4(x2)" of Slurm counts as 4. */
static int adopt_number(const char *variable)
{
	const char *text = getenv(variable);
	char *end;
	if (!text || !*text)
		return -1;
	long value = strtol(text, &end, 10);
	return end == text || (*end && *end != '(') || value < 0 || value > INT_MAX ? -1 : (int)value;
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

/* What the starter calls the job, shortened to a hash, because starters use long names. */
static uint64_t adopt_shared_name(const struct adopt_starter *from)
{
	uint64_t hash = HASH_START;
	int named = 0;
	for (int i = 0; i < 3 && from->id[i]; i++)
		for (const char *at = getenv(from->id[i]); at && *at; at++) {
			hash = hash_step(hash, (unsigned char)*at);
			named = 1;
		}
	if (!named) /* one starter per node is the parent of all its ranks */
		hash = hash_step(hash, (uint64_t)getppid());
	return hash;
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
	if (l->first_rank < 0 || l->size < 1 || l->first_rank >= l->size) {
		log_error("%s sets %s but no usable %s and %s", from->name, from->needs, from->rank, from->size);
		return LAUNCH_EXIT_USAGE;
	}
	if (local_size > 0 && local_size < l->size) {
		log_error("the job has %d ranks, %d of them on this node: jobs over several nodes cannot be checked yet", l->size,
			  local_size);
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
	const struct option_value *n = &l->option[LAUNCH_RANKS];
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
