/* Uses: which labels a function jumps to, and which registers it reads or writes where. The rewriter needs little of
 * it: where basic blocks start, whether an atomic's result is ever looked at, and whether an instruction overwrites a
 * register that a later check needs. In doubt a register counts as read, and as written. */
#ifndef GSAN_PTX_USES_H
#define GSAN_PTX_USES_H

#include "ptx/ptx.h"

struct ptx_reg { const struct ptx_decl *decl; uint32_t index; };

struct ptx_uses {
	uint8_t *starts;   /* per instruction and one behind the last: a label that is jumped to stands before it */
	uint64_t *read;    /* hash set of registers that are read: declaration id << 32 | index, + 1 */
	uint32_t room, count;
	uint64_t *label;   /* hash set of labels that are named, same form */
	uint32_t label_room, label_count;
};

int ptx_uses_make(const struct ptx_module *m, const struct ptx_function *f, struct ptx_uses *uses); /* 0, -ENOMEM */
void ptx_uses_free(struct ptx_uses *uses);
int ptx_uses_read(const struct ptx_uses *uses, const struct ptx_operand *o); /* any register in it */
int ptx_uses_label(const struct ptx_uses *uses, const struct ptx_decl *label);
/* Whether code names a variable of the module that may change, or be changed from outside: one in global or constant memory, but for the
 * strings that compilers put there. */
int ptx_uses_variable(const struct ptx_module *m);
int ptx_instr_writes(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_reg reg);

#endif
