/* Which instructions of a kernel are the program's own, and telling the driver of each when it executes. A kernel under
 * its own name is the program's throughout. A checked copy (its name ends in the trace's suffix) is aligned with its
 * original, which stands in the same module: in order, same operation, same operands; qualifiers may differ, and what the
 * trace says is the original's. Nothing that a rewriter wrote down is asked: the trace is to judge rewriter and runtime.
 * Only where a step of the schedules begins, the names of its calls decide: a call and the operation that it announces
 * are one step. */
#ifndef GSAN_EMU_EXEC_TRACE_H
#define GSAN_EMU_EXEC_TRACE_H

#include "emu/exec/machine.h"

enum exec_trace_kind { TRACE_LOAD, TRACE_STORE, TRACE_RMW, TRACE_COPY, TRACE_FENCE, TRACE_BARRIER, TRACE_MBARRIER, TRACE_END };

struct exec_traced { /* of one instruction */
	enum exec_trace_kind kind;
	exec_fn run;             /* what it does; exec_insn.run is exec_trace_run then */
	const char *op, *sem, *scope; /* of a barrier: its kind, and how it is used */
	uint32_t line;
};

struct exec_own {
	const struct ptx_instr *original; /* that the instruction stands for; NULL: it is not the program's */
	uint8_t point;           /* schedules choose before it: it is the program's, or the first that belongs to it */
};
/* By instruction of `copy`. Only memory operations that may be global or order warps through shared memory, fences, CTA
 * barriers, mbarriers and exits of `original` count, which may be the same function. Freed by the caller. Returns 0, -ENOMEM, or -ENOTSUP with the text when an original has no
 * partner (exits may lack one). */
int exec_trace_align(const struct emu_kernel *kernel, const struct ptx_function *copy, const struct ptx_function *original,
		     const char *suffix, const struct exec_own **own, struct emu_error *error);
/* What to say of `original`, which stands in `function`. */
void exec_trace_describe(const struct ptx_module *m, const struct ptx_function *function, const struct ptx_instr *original,
			 struct exec_traced *t);
/* The function that f is a copy of; f itself where it runs as the program wrote it; NULL where it is not the program's. */
const struct ptx_function *exec_trace_original(struct emu_kernel *kernel, uint32_t f, const char *suffix);

void exec_trace_run(struct exec_warp *w, const struct exec_insn *n, uint32_t m);
void exec_trace_bar(const struct exec_warp *w, const struct exec_insn *n, uint32_t lanes, enum emu_barrier_event event, uint32_t number);
void exec_trace_bar_complete(const struct exec_cta *cta, uint32_t number);

#endif
