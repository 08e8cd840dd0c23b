/* The job's shared memory: a slot for each process, whose turn it is, and what the scheduler (sched.c) and its judgement of
 * hosts (still.c) both need. All of it is under `lock`, but for what is atomic. */
#ifndef GSAN_EMU_DRIVER_JOB_H
#define GSAN_EMU_DRIVER_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "emu/driver/sched.h"

#define SLOTS 64
#define WAITERS 32
#define RANKS_MAX 1024

struct slot {
	int32_t pid;              /* 0 = free */
	int32_t rank;
	int32_t worker;           /* thread id */
	uint32_t arrival;
	uint64_t start;           /* of the process, see activity.h */
	uint32_t users, blocked;  /* host threads that use the driver; of these, waiting in it */
	uint64_t runnable;        /* see struct emu_runnable, */
	uint32_t own;             /* and this */
	uint64_t digest;          /* of the kernels that were queued since the job was idle */
	_Atomic uint32_t quiet;   /* enum quiet: not blocked, but found so since `stirred` last changed */
	uint64_t ran;             /* ASLEEP: as in struct emu_activity, when it was found so */
	_Atomic uint32_t event;   /* futex: its worker waits here */
	int32_t waiter[WAITERS];  /* ids of blocked threads; negative: it polls */
	uint32_t learning;        /* bits: those of them that emu_sched_learn() holds */
	uint32_t learnt;          /* some went on since the last turn */
	_Atomic uint32_t lesson;  /* futex: these wait here */
};
enum quiet { AWAKE, ASLEEP, BUSY }; /* BUSY: with something that others shall not wait for */
struct job {
	_Atomic uint64_t magic;   /* set last by who lays the job out */
	pthread_mutex_t lock;     /* robust and process-shared */
	uint64_t random;
	uint64_t afresh;          /* EMU_AFRESH: `random` begins from here when the job was idle; 0: it goes on */
	uint32_t idle;            /* nobody has run since nobody could */
	uint32_t ranks, arrived, arrivals, complete; /* expected, seen, processes ever, all seen or given up */
	uint64_t join_deadline;   /* ns of the monotonic clock */
	enum emu_schedule schedule;
	uint64_t weak;            /* EMU_MEMORY=weak: seed; 0: memory is strong */
	uint64_t seed, steps, change[EMU_CHANGES]; /* EMU_PCT: of priorities; steps made so far; when they change */
	uint64_t stirred;         /* changes whenever a host may have woken another one */
	int32_t token;            /* slot whose turn it is, -1 = nobody's */
	int32_t looker;           /* slot that examines the hosts, for all; until it has not done so for some time */
	uint64_t looked, looks;   /* ns of the monotonic clock: when it did; how often that has been done */
	struct emu_turn turn;
	_Atomic uint32_t turns;   /* futex: polling threads wait here */
	uint32_t polling;         /* of them */
	uint8_t seen[RANKS_MAX / 8];
	struct slot slot[SLOTS];
};

/* Whether every host is still: blocked in the driver, gone, or asleep, all at one moment. look: spend the time to examine
 * hosts that run outside the driver, every emu_still_us() microseconds; else only those that slept before are. */
int emu_still(struct job *job, int look);
long emu_still_us(void);
void emu_still_supervisor(const char *job_path); /* whose descriptor the job's memory is */

uint64_t emu_now_ns(void); /* monotonic */
uint64_t emu_env_number(const char *name, uint64_t fallback);

#endif
