/* Calls and returns of lanes: parameters move between the caller's and the callee's frame or registers, the link stack of
 * the lane grows and shrinks, and a recursive callee's registers are kept aside. */
#ifndef GSAN_EMU_EXEC_CALL_H
#define GSAN_EMU_EXEC_CALL_H

#include "emu/exec/machine.h"

void exec_call(struct exec_warp *w, const struct exec_insn *n, uint32_t pc, uint32_t lanes);
void exec_return(struct exec_warp *w, uint32_t lanes); /* from the outermost function: exit */
/* Of a function that the driver provides: what lane l passes; what it gets back. */
uint64_t exec_call_value(const struct exec_warp *w, uint32_t l, const struct exec_pass *arg);
void exec_call_give(struct exec_warp *w, uint32_t l, const struct exec_pass *result, uint64_t v);

#endif
