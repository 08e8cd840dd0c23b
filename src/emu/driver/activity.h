/* What /proc says of a process: whether any of its threads, or a child it started, runs or has run. The scheduler asks
 * this of ranks that are neither blocked in the driver nor gone, to learn that they wait for somebody else. */
#ifndef GSAN_EMU_DRIVER_ACTIVITY_H
#define GSAN_EMU_DRIVER_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EMU_ACTIVITY_THREADS 32
struct emu_activity {
	uint64_t ran;     /* grows whenever a thread gets a processor, and by the nanoseconds that it has it */
	uint64_t faults;  /* page faults: a loop that only polls has none */
	int awake;        /* something is running or runnable */
	uint32_t threads; /* that count; the first of them: */
	struct emu_thread { int32_t pid, tid; } thread[EMU_ACTIVITY_THREADS];
};
/* skip: thread and process ids that do not count (device workers, threads blocked in the driver, other ranks). */
void emu_activity_read(pid_t pid, const int32_t *skip, size_t skips, struct emu_activity *activity);
/* All that counted in `seen` sleeps and has not run since: so it slept at every moment in between, and made no threads.
 * Cheaper than reading anew. Returns 0 too if there were too many to list. */
int emu_activity_rests(const struct emu_activity *seen);
/* The process's start time in clock ticks, which tells it from a later one of the same number; 0 = it is gone. */
uint64_t emu_activity_start(pid_t pid);
int emu_activity_thread(pid_t pid, int32_t tid); /* whether it has this thread, still running */

#endif
