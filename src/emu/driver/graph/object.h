/* User objects: what a program has destroyed when the last graph that needs it is gone. */
#ifndef GSAN_EMU_DRIVER_GRAPH_OBJECT_H
#define GSAN_EMU_DRIVER_GRAPH_OBJECT_H

#include "emu/driver/graph/graph.h"

CUresult emu_objects_share(CUgraph from, CUgraph to); /* a clone needs what its original does */
void emu_objects_drop(CUgraph g);
void emu_objects_destroy(void); /* calls the destructors of those that nobody needs any more: without the driver's lock */

#endif
