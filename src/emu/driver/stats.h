/* What launches cost (EMU_STATS): a line of JSON for each kernel that has ended, from all processes of the job; docs/emulated-device.md
 * has the form. Every call is under the driver's lock, and does nothing while nothing is counted. */
#ifndef GSAN_EMU_DRIVER_STATS_H
#define GSAN_EMU_DRIVER_STATS_H

#include "emu/driver/process.h"
#include "emu/exec/exec.h"

void emu_stats_create(void);  /* the job's first process: an empty file */
void emu_stats_open(void);    /* what cannot be opened is said; nothing is counted then */
const struct emu_stats *emu_stats_device(void); /* what the executor must know; NULL: nothing is counted */
uint64_t emu_stats_number(void); /* of the launch that is enqueued */

struct emu_stats_launch {
	uint64_t number;
	const char *kernel;
	uint32_t grid[3], threads;
	int completed;            /* or it ended in a fault */
};
void emu_stats_ended(CUstream s, const struct emu_stats_launch *l, const struct emu_count *counts);

#endif
