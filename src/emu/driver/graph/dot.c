/* A graph as text for Graphviz. Its form is not documented; this has NVIDIA's file name, nodes and edges, and types as labels. */
#include <stdio.h>

#include "emu/driver/graph/graph.h"
#include "emu/driver/graph/kind.h"
#include "emu/driver/graph/live.h"
#include "emu/driver/module.h"

static void print_node(FILE *f, CUgraphNode n, size_t index, unsigned flags)
{
	fprintf(f, "\"graph_%u_node_%zu\" [label=\"%zu\\n%s", n->graph->id, index, index, emu_kind(n->params.type)->name);
	if (n->params.type == CU_GRAPH_NODE_TYPE_KERNEL && emu_function_known(n->params.kernel.func))
		fprintf(f, "\\n%s", emu_kernel_name(n->params.kernel.func->kernel));
	if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
		fprintf(f, "\\n%p", (void *)n);
	fprintf(f, "\"];\n");
}

static void print_graph(FILE *f, CUgraph g, unsigned flags)
{
	fprintf(f, "subgraph cluster_%u {\nlabel=\"graph_%u\"\n", g->id, g->id);
	for (size_t i = 0; i < g->nodes; i++) {
		g->node[i]->place = i;
		print_node(f, g->node[i], i, flags);
	}
	for (size_t i = 0; i < g->nodes; i++)
		for (size_t k = 0; k < g->node[i]->before.count; k++)
			fprintf(f, "\"graph_%u_node_%zu\" -> \"graph_%u_node_%zu\";\n", g->id, g->node[i]->before.at[k].node->place, g->id, i);
	fprintf(f, "}\n");
	for (size_t i = 0; i < g->nodes; i++)
		if (g->node[i]->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
			print_graph(f, g->node[i]->params.graph.graph, flags);
}

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph g, const char *path, unsigned flags)
{
	CUresult result = path ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	FILE *f = emu_live(g, EMU_LIVE_GRAPH) ? fopen(path, "w") : NULL;
	if (!f)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	fprintf(f, "digraph dot {\n");
	print_graph(f, g, flags);
	fprintf(f, "}\n");
	const int failed = ferror(f) != 0;
	return emu_leave(fclose(f) || failed ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS);
}
