/* Special registers (PTX ISA 10). Those that grow with time are virtual: they count instructions executed, so a run with
 * the same seed reads the same numbers. %envreg1 and %envreg2 hold the address of the grid's workspace, in which a
 * cooperative launch synchronises. */
#include "emu/exec/ops.h"

#include <string.h>

uint64_t exec_time;

#define SPECIALS(S) \
	S("%tid.x", 4, w->tid[0][l]) S("%tid.y", 4, w->tid[1][l]) S("%tid.z", 4, w->tid[2][l]) \
	S("%ntid.x", 4, g->launch.block[0]) S("%ntid.y", 4, g->launch.block[1]) S("%ntid.z", 4, g->launch.block[2]) \
	S("%ctaid.x", 4, c->index[0]) S("%ctaid.y", 4, c->index[1]) S("%ctaid.z", 4, c->index[2]) \
	S("%nctaid.x", 4, g->launch.grid[0]) S("%nctaid.y", 4, g->launch.grid[1]) S("%nctaid.z", 4, g->launch.grid[2]) \
	S("%laneid", 4, l) S("%warpid", 4, w->number) S("%nwarpid", 4, 64) \
	S("%smid", 4, c->place % g->launch.sms) S("%nsmid", 4, g->launch.sms) S("%gridid", 8, g->id) \
	S("%clock", 4, (u32)exec_time) S("%clock_hi", 4, (u32)(exec_time >> 32)) S("%clock64", 8, exec_time) \
	S("%globaltimer", 8, exec_time) S("%globaltimer_lo", 4, (u32)exec_time) S("%globaltimer_hi", 4, (u32)(exec_time >> 32)) \
	S("%lanemask_eq", 4, 1u << l) S("%lanemask_lt", 4, (1u << l) - 1) S("%lanemask_le", 4, (2u << l) - 1) \
	S("%lanemask_gt", 4, ~((2u << l) - 1)) S("%lanemask_ge", 4, ~((1u << l) - 1)) \
	S("%dynamic_smem_size", 4, g->launch.dynamic_shared) S("%total_smem_size", 4, g->shared_bytes) \
	S("%aggr_smem_size", 4, g->shared_bytes) S("%is_explicit_cluster", 0, 0) \
	S("%cluster_ctaid.x", 4, 0) S("%cluster_ctaid.y", 4, 0) S("%cluster_ctaid.z", 4, 0) S("%cluster_ctarank", 4, 0) \
	S("%cluster_nctaid.x", 4, 1) S("%cluster_nctaid.y", 4, 1) S("%cluster_nctaid.z", 4, 1) S("%cluster_nctarank", 4, 1) \
	S("%clusterid.x", 4, c->index[0]) S("%clusterid.y", 4, c->index[1]) S("%clusterid.z", 4, c->index[2]) \
	S("%nclusterid.x", 4, g->launch.grid[0]) S("%nclusterid.y", 4, g->launch.grid[1]) S("%nclusterid.z", 4, g->launch.grid[2]) \
	S("%envreg1", 4, (u32)((u64)(uintptr_t)g->workspace >> 32)) S("%envreg2", 4, (u32)(u64)(uintptr_t)g->workspace)

static const struct { const char *name; u32 width; } names[] = {
#define S(name, width, e) { name, width },
	SPECIALS(S)
#undef S
};
/* width in bytes, 0 for a predicate. Returns the register's number, or -1. */
int exec_special_find(const char *name, size_t length, uint32_t *width)
{
	for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
		if (strlen(names[k].name) == length && !memcmp(name, names[k].name, length)) {
			*width = names[k].width;
			return (int)k;
		}
	return -1;
}

static u64 read_one(const struct exec_warp *w, unsigned l, s64 which)
{
	const struct exec_cta *c = w->cta;
	const struct emu_grid *g = c->grid;
	s64 k = 0;
#define S(name, width, e) if (which == k++) return (e);
	SPECIALS(S)
#undef S
	return 0;
}

void op_special(OP_ARGS)
{
	if (n->wide == 0)
		op_set_mask(w, n->x[0], m, 0);
	else if (n->wide == 8)
		EACH(X(u64, 0)[l] = read_one(w, l, n->imm));
	else if (n->wide == 4)
		EACH(X(u32, 0)[l] = (u32)read_one(w, l, n->imm));
	else /* cvt.u32.u16 of PTX 1.x, whose special registers had 16 bits */
		EACH(X(u16, 0)[l] = (u16)read_one(w, l, n->imm));
}
