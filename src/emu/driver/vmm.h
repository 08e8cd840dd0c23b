/* Virtual memory management: physical memory is a memfd, mapped shared wherever the program asks, so that a peer process
 * that imports its descriptor sees the same bytes. A mapping is inaccessible until cuMemSetAccess. */
#ifndef GSAN_EMU_DRIVER_VMM_H
#define GSAN_EMU_DRIVER_VMM_H

#include "emu/driver/process.h"

struct emu_physical;
CUmemAllocationHandleType emu_physical_handle_types(const struct emu_physical *physical);
uint64_t emu_physical_number(const struct emu_physical *physical); /* for the trace: the same in all processes */

#endif
