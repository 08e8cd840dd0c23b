/* Counting what a launch costs (emu_stats of exec.h): warp instructions, and accesses to global memory, by the part of the kernel
 * that the function belongs to in which they stand. Instructions are added up by straight runs, which stay in one function;
 * memory operations are decoded as ones that count. Where nothing is counted that is one comparison a run. */
#ifndef GSAN_EMU_EXEC_COUNT_H
#define GSAN_EMU_EXEC_COUNT_H

#include "emu/exec/machine.h"

/* The part of function f where `kernel` reaches it. */
uint8_t exec_count_part(struct emu_kernel *kernel, uint32_t f, const struct emu_stats *stats);
/* Makes a memory operation one that counts; `copies`: it is a cp.async. */
void exec_count_memory(struct exec_insn *n, int copies);

static inline void exec_count_run(const struct exec_warp *w, uint32_t pc, uint32_t instructions)
{
	const struct emu_grid *g = w->cta->grid;
	if (g->counts)
		g->counts[g->program->insn[pc].part].instructions += instructions;
}

#endif
