/* Reading an instruction's words: which row of opcodes.def fits, and what its qualifiers mean. */
#ifndef GSAN_EMU_EXEC_WORDS_H
#define GSAN_EMU_EXEC_WORDS_H

#include "emu/exec/ops.h"

enum exec_build {
	BUILD_PLAIN, BUILD_MOVE, BUILD_CONVERT, BUILD_LOAD, BUILD_STORE, BUILD_ATOMIC, BUILD_REDUCE, BUILD_COPY, BUILD_MBARRIER,
	BUILD_BRANCH, BUILD_INDEXED, BUILD_CALL, BUILD_RETURN, BUILD_EXIT, BUILD_TRAP, BUILD_YIELD, BUILD_BARRIER, BUILD_WARP,
	BUILD_SYSTEM, BUILD_LACKING
};
struct exec_row { const char *word, *mods, *shape; enum exec_build build; exec_fn run; };

/* What an opcode's words say: its row, and an instruction with flow aside everything that the qualifiers alone decide: run,
 * flags, sub, bool_op, type, and count (of a vector). */
struct exec_opcode { const struct exec_row *row; struct exec_insn insn; }; /* row NULL: lacking */
/* Kept for the life of the process: modules repeat the same few hundred opcodes. NULL: out of memory. */
const struct exec_opcode *exec_opcode_find(const struct ptx_module *m, const struct ptx_instr *i);
const struct exec_row *exec_system_find(const struct ptx_module *m, struct ptx_span name); /* the row of a driver's function, or NULL */
unsigned exec_type_bytes(unsigned type);

#endif
