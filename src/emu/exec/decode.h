/* From parsed PTX to instructions of a program: each is matched with its row of opcodes.def, its operands become places,
 * its labels instruction numbers. program.c says where registers and frames lie, and decides what is decoded when. */
#ifndef GSAN_EMU_EXEC_DECODE_H
#define GSAN_EMU_EXEC_DECODE_H

#include "emu/exec/machine.h"

/* Behind the sink: registers for special registers that an instruction names as operands. By width, for the lanes of a
 * warp need not stand at one instruction. */
#define DECODE_SPECIALS 4u
#define DECODE_SPECIAL(bytes, k) (EXEC_SINK_BYTES + ((bytes) * DECODE_SPECIALS + (k) * (bytes)) * EXEC_LANES)
#define DECODE_FIRST DECODE_SPECIAL(16u, 0u) /* widths of at most 8 bytes: functions' registers begin here */

struct decoder {
	struct emu_kernel *kernel;
	const struct ptx_module *m;
	struct exec_program *p;
	struct emu_error *error;
	const struct emu_trace *trace; /* NULL: none */
	const struct emu_stats *stats; /* likewise */
	uint32_t registers;        /* bytes laid out so far */
	/* Of the function at hand: */
	const struct ptx_function *function, *original; /* original: trace.h */
	const struct exec_own *own; /* by instruction, NULL: nothing is the program's */
	const struct ptx_instr *at;
	uint32_t *start;           /* instruction of the program by PTX instruction */
	uint32_t specials;         /* of the instruction at hand */
	uint8_t part;              /* of the kernel: count.h */
	int rc;                    /* the first error */
};

/* Adds the function to the program and returns its first instruction; nothing is added when d->rc is set. */
uint32_t decode_function(struct decoder *d, const struct ptx_function *f, const struct ptx_function *original);

void decode_fail(struct decoder *d, const char *what); /* an error of this kernel: the first one counts */
void decode_emit(struct decoder *d, const struct exec_insn *n);
void *decode_take(struct decoder *d, size_t bytes);
void decode_no_memory(struct decoder *d);
unsigned decode_register_bytes(const struct ptx_decl *decl);
uint32_t decode_register_stride(const struct ptx_decl *decl);
/* operands.c. The place of an operand of `bytes` (0: predicate): sources may be anything, destinations are registers or sinks. */
uint32_t decode_operand(struct decoder *d, const struct ptx_operand *o, unsigned bytes);
void decode_address(struct decoder *d, struct exec_insn *n, const struct ptx_operand *o);
void decode_shaped(struct decoder *d, struct exec_insn *n, const char *shape);
int decode_is_frame_symbol(const struct decoder *d, const struct ptx_decl *decl);
/* Whether it is a parameter of the kernel, and where in its buffer. */
int decode_entry_param(const struct decoder *d, const struct ptx_decl *decl, uint64_t *offset);

#endif
