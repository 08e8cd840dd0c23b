/* EMU_TRACE_SKIP, EMU_TRACE_OWN and EMU_TRACE_OWN_FLAGS: the addresses where whoever checks the program keeps its own memory, kernels of its
 * own, and the flags of its events and streams, which tell the program's host nothing. Of its work the program's schedule knows nothing either. */
#ifndef GSAN_EMU_DRIVER_SKIP_H
#define GSAN_EMU_DRIVER_SKIP_H

#include <stddef.h>
#include <stdint.h>

#include "emu/exec/exec.h"

const struct emu_span *emu_skip(size_t *spans); /* under the driver's lock; as it was at the first call */
int emu_skipped(uint64_t address);
int emu_skipped_range(unsigned flags, uint64_t to, uint64_t from); /* a copy, set or value of a stream with these flags; 0: no address */
int emu_skipped_kernel(const char *name);
int emu_skipped_flags(unsigned flags);

#endif
