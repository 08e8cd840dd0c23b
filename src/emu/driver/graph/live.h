/* Which handles of graphs, nodes and executable graphs are alive: programs may hand in anything. */
#ifndef GSAN_EMU_DRIVER_GRAPH_LIVE_H
#define GSAN_EMU_DRIVER_GRAPH_LIVE_H

#include "emu/driver/cuda_abi.h"

enum emu_live { EMU_LIVE_GRAPH = 1, EMU_LIVE_NODE, EMU_LIVE_EXEC, EMU_LIVE_OBJECT };

int emu_live_add(const void *handle, enum emu_live what); /* -1: out of memory */
void emu_live_remove(const void *handle);
int emu_live(const void *handle, enum emu_live what);

#endif
