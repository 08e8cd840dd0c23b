/* What /proc says of a process: whether any of its threads, or a child it started, runs or has run. The scheduler asks
 * this of ranks that are neither blocked in the driver nor gone, to learn that they wait for somebody else. */
#ifndef GSAN_EMU_DRIVER_ACTIVITY_H
#define GSAN_EMU_DRIVER_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct emu_activity {
	uint64_t cpu;    /* nanoseconds, all threads and children */
	uint64_t faults; /* page faults: a loop that only polls has none */
	int awake;       /* something is running or runnable */
};
/* skip: thread and process ids that do not count (device workers, threads blocked in the driver, other ranks). */
void emu_activity_read(pid_t pid, const int32_t *skip, size_t skips, struct emu_activity *activity);
/* The process's start time in clock ticks, which tells it from a later one of the same number; 0 = it is gone. */
uint64_t emu_activity_start(pid_t pid);

#endif
