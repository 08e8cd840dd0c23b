/* What nodes of each type do. */
#ifndef GSAN_EMU_DRIVER_GRAPH_KIND_H
#define GSAN_EMU_DRIVER_GRAPH_KIND_H

#include "emu/driver/graph/graph.h"

struct emu_kind {
	const char *name;                                /* as in cuGraphDebugDotPrint */
	int switches;                                    /* cuGraphNodeSetEnabled takes it */
	CUresult (*check)(CUgraphNode n);                /* what its parameters point to is the caller's still; NULL: nothing to check */
	CUresult (*keep)(CUgraphNodeParams *p);          /* makes a copy of that; NULL: they point to nothing */
	void (*forget)(CUgraphNodeParams *p);            /* frees it */
	CUresult (*push)(CUstream s, CUgraphNode n);     /* NULL: it only orders others */
	/* What an executable graph's node may become. NULL: anything of its type. */
	CUgraphExecUpdateResult (*change)(CUgraphNode from, const struct emu_node_work *to);
};
const struct emu_kind *emu_kind(CUgraphNodeType type); /* NULL: there are no such nodes */

#endif
