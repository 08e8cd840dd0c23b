/* The launch records of a graph's nodes, made before each replay in its stream, by a thread each. */
#ifndef GSAN_DEVICE_NODES_H
#define GSAN_DEVICE_NODES_H

#include "device/gpu.h"
#include "device/node.h"

void gsan_nodes(u64 replay, u64 node, u64 record, u32 count);
void gsan_nodes(u64 replay, u64 node, u64 record, u32 count)
{
	u64 i = gpu_cta() * gpu_threads() + gpu_thread();
	if (i < count)
		gsan_node_record((const struct gsan_replay *)(uintptr_t)replay, (const struct gsan_launch *)(uintptr_t)node + i,
				 (struct gsan_launch *)(uintptr_t)record + i);
}

#endif
