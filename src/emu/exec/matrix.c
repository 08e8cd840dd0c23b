/* Matrices of 8 rows of 16 bytes between shared memory and the registers of a warp: ldmatrix, stmatrix (PTX ISA 9.7.14.5.15,
 * 9.7.14.5.16). Lanes 8k and on have the addresses of the rows of matrix k. Lane l has two adjacent elements of row l / 4, or,
 * transposed, of column l / 4. */
#include "emu/exec/ops.h"

#include <string.h>

static int row_addresses(struct exec_warp *w, const struct exec_insn *n)
{
	return exec_address(w, n, n->items == 4 ? EXEC_ALL : (1u << 8 * n->items) - 1, 16);
}

/* Where the first and the second half of lane l's register for matrix k lie. */
static u16 *half_at(const struct exec_warp *w, unsigned k, unsigned l, unsigned which, int transposed)
{
	const unsigned near = l / 4, far = l % 4 * 2 + which;
	return (u16 *)(uintptr_t)w->address[8 * k + (transposed ? far : near)] + (transposed ? near : far);
}

static void load(struct exec_warp *w, const struct exec_insn *n, int transposed)
{
	if (!row_addresses(w, n))
		return;
	for (unsigned k = 0; k < n->items; k++) {
		u32 *to = exec_at(w, n->item[k]);
		for (unsigned l = 0; l < EXEC_LANES; l++)
			to[l] = *half_at(w, k, l, 0, transposed) | (u32)*half_at(w, k, l, 1, transposed) << 16;
	}
}
void op_ldmatrix(OP_ARGS) { (void)m, load(w, n, 0); }
void op_ldmatrix_trans(OP_ARGS) { (void)m, load(w, n, 1); }

static void store(struct exec_warp *w, const struct exec_insn *n, int transposed)
{
	if (!row_addresses(w, n))
		return;
	for (unsigned k = 0; k < n->items; k++) {
		const u32 *from = exec_at(w, n->item[k]);
		for (unsigned l = 0; l < EXEC_LANES; l++)
			for (unsigned which = 0; which < 2; which++)
				*half_at(w, k, l, which, transposed) = (u16)(from[l] >> 16 * which);
	}
}
void op_stmatrix(OP_ARGS) { (void)m, store(w, n, 0); }
void op_stmatrix_trans(OP_ARGS) { (void)m, store(w, n, 1); }
