/* What each function of a module calls and which shared variables it names, read once from its instructions. An indirect
 * call may reach whatever has its address taken. */
#include "emu/exec/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct graph {
	struct emu_module *module;
	uint32_t *callee;          /* of the function at hand */
	uint32_t *seen;            /* by function: index + 1 of the last that was found to call it */
	const struct ptx_decl **shared;
	uint32_t callees, shareds, shared_room;
	int failed;
};

static void add_callee(struct graph *g, uint32_t from, uint32_t to)
{
	to = g->module->handle[to].function;
	if (g->seen[to] == from + 1)
		return;
	g->seen[to] = from + 1;
	g->callee[g->callees++] = to;
}

static void add_call(struct graph *g, uint32_t from, const struct ptx_instr *i)
{
	const struct ptx_module *m = g->module->ptx;
	int direct = 0;
	for (uint32_t o = 0; o < i->operands; o++)
		if (i->operand[o].kind == PTX_OPND_SYMBOL && i->operand[o].decl && i->operand[o].decl->is_function) {
			add_callee(g, from, i->operand[o].decl->function);
			direct = 1;
		}
	for (uint32_t t = 0; !direct && t < m->functions; t++)
		if (m->function[t].address_taken)
			add_callee(g, from, t);
}

static void add_shared(struct graph *g, const struct ptx_operand *o)
{
	const struct ptx_decl *d = o->decl;
	uint32_t k = 0;
	if (d && d->space == PTX_SHARED && !d->is_label && !d->is_function) {
		while (k < g->shareds && g->shared[k] != d)
			k++;
		if (k == g->shareds && k == g->shared_room) {
			const uint32_t room = 2 * g->shared_room + 16;
			const struct ptx_decl **grown = realloc(g->shared, room * sizeof *grown);
			g->failed |= !grown;
			if (!grown)
				return;
			g->shared = grown;
			g->shared_room = room;
		}
		if (k == g->shareds)
			g->shared[g->shareds++] = d;
	}
	for (uint32_t i = 0; i < o->items; i++)
		add_shared(g, &o->item[i]);
}

static void *keep(struct graph *g, const void *list, size_t bytes)
{
	void *to = pool_alloc(&g->module->pool, bytes + 1);
	g->failed |= !to;
	return to && bytes ? memcpy(to, list, bytes) : to;
}

static void read_function(struct graph *g, uint32_t f)
{
	struct exec_function *e = &g->module->function[f];
	const struct ptx_function *s = &g->module->ptx->function[f];
	e->source = s;
	g->callees = g->shareds = 0;
	for (uint32_t k = 0; k < s->decls; k++)
		if (s->decl[k]->space == PTX_LOCAL)
			e->local_bytes += (uint32_t)exec_decl_bytes(s->decl[k]);
	for (uint32_t i = 0; i < s->instrs; i++) {
		if (ptx_is(g->module->ptx, s->instr[i].op, "call"))
			add_call(g, f, &s->instr[i]);
		for (uint32_t o = 0; o < s->instr[i].operands; o++)
			add_shared(g, &s->instr[i].operand[o]);
	}
	e->callees = g->callees;
	e->shareds = g->shareds;
	e->callee = keep(g, g->callee, g->callees * sizeof *g->callee);
	e->shared = keep(g, g->shared, g->shareds * sizeof *g->shared);
}

void exec_graph_reach(const struct emu_module *module, uint32_t f, uint8_t *reach)
{
	const struct exec_function *e = &module->function[f];
	for (uint32_t k = 0; k < e->callees; k++)
		if (!reach[e->callee[k]]) {
			reach[e->callee[k]] = 1;
			exec_graph_reach(module, e->callee[k], reach);
		}
}

/* Of functions that recurse a part alone: each as if it called no other such. */
static uint32_t measure_local(struct exec_function *all, struct exec_function *f)
{
	uint32_t most = 0;
	if (f->local_known)
		return f->local_chain;
	for (uint32_t k = 0; k < f->callees; k++) {
		struct exec_function *to = &all[f->callee[k]];
		const uint32_t bytes = f->recursive && to->recursive ? 0 : measure_local(all, to);
		most = bytes > most ? bytes : most;
	}
	f->local_known = 1;
	f->local_chain = f->local_bytes + most;
	return f->local_chain;
}

int exec_graph_make(struct emu_module *module)
{
	const uint32_t n = module->ptx->functions;
	struct graph g = { .module = module };
	uint8_t *reach = malloc(n + 1u);
	g.callee = calloc(n + 1u, sizeof *g.callee);
	g.seen = calloc(n + 1u, sizeof *g.seen);
	module->function = pool_alloc(&module->pool, (n + 1u) * sizeof *module->function);
	g.failed = !reach || !g.callee || !g.seen || !module->function;
	for (uint32_t f = 0; f < n && !g.failed; f++)
		read_function(&g, f);
	for (uint32_t f = 0; f < n && !g.failed; f++) {
		if (!module->function[f].callees)
			continue;
		memset(reach, 0, n);
		exec_graph_reach(module, f, reach);
		module->function[f].recursive = reach[f];
	}
	for (uint32_t f = 0; f < n && !g.failed; f++)
		measure_local(module->function, &module->function[f]);
	free(reach);
	free(g.callee);
	free(g.seen);
	free(g.shared);
	return g.failed ? -ENOMEM : 0;
}
