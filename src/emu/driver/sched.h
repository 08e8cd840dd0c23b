/* The scheduler: one over all ranks of a job, in memory that they share (GSAN_EMU_JOB), or in this process alone. Device
 * work runs in turns. A turn is given only while every host is still — blocked in the driver, gone, or asleep — so what
 * is runnable at that moment follows from the programs alone; who gets it, and how long, comes from the job's seeded
 * generator. Hence one seed, one interleaving, whatever the machine's timing.
 *
 * A host thread that blocks says so by emu_sched_block; the worker thread of the rank that has the turn runs it and
 * hands it back by emu_sched_finish, naming the host threads that its work released: they count as running from then
 * on, so that the next turn waits until they block again. */
#ifndef GSAN_EMU_DRIVER_SCHED_H
#define GSAN_EMU_DRIVER_SCHED_H

#include <stddef.h>
#include <stdint.h>

#include "emu/exec/exec.h"

/* What EMU_SCHEDULE says: slices of any instructions, steps of the program, by priorities with few changes, or with warps that lag. */
enum emu_schedule { EMU_RANDOM, EMU_PROGRAM, EMU_PCT, EMU_LAG };

struct emu_turn {
	uint64_t random;   /* seed of every choice within the turn */
	uint32_t steps;    /* EMU_RANDOM: warp instructions; else steps of the program */
	enum emu_schedule schedule;
	/* As in struct emu_steps: */
	uint64_t seed, start, floor, change[EMU_CHANGES];
	uint64_t made;     /* by who runs the turn: steps of the program */
	int own;           /* of work that is not the program's */
};

/* What of a process's device work could run. */
struct emu_runnable {
	uint64_t priority; /* the highest; 0: nothing of the program's could. Without priorities: 1 */
	int own;           /* something that is not the program's could */
};

/* Joins the job as this process. Returns 0 or -errno (logged). */
int emu_sched_join(void);
void emu_sched_leave(void);
uint64_t emu_sched_rank(void); /* of this process; without one, its place in the order of arrival */

void emu_sched_user(int more);          /* a thread that uses the driver appeared (+1) or ended (-1) */
void emu_sched_worker(int32_t tid);     /* this thread runs turns: it is no host thread */
void emu_sched_stir(void);              /* a host is awake: called by each driver call, nearly free */
void emu_sched_runnable(struct emu_runnable runnable);
void emu_sched_queued(uint64_t digest); /* of a kernel that is about to be queued: EMU_AFRESH */
enum emu_schedule emu_sched_schedule(void);
uint64_t emu_sched_weak(void);          /* a seed, of the next launch; 0: memory is strong */
uint64_t emu_sched_seed(void);          /* of priorities; 0: there are none */

/* A host thread waits for device work; one that polls counts as waiting for one turn. */
void emu_sched_block(int32_t tid);
void emu_sched_poll(int32_t tid);       /* returns after a turn, or when nothing can run */
/* One that is about to learn of work that was complete before it asked waits until all hosts are still: they tell each other, outside
 * the driver, what they have learnt, so the order in which they learn must not depend on timing. */
void emu_sched_learn(int32_t tid);
int emu_sched_shared(void);             /* other processes are there that may be told, and all ranks */

int emu_sched_turn(struct emu_turn *turn); /* waits for one: 0, or -ECANCELED after emu_sched_stop */
void emu_sched_finish(const struct emu_turn *turn, const int32_t *released, size_t count, struct emu_runnable runnable);
void emu_sched_stop(void);

#endif
