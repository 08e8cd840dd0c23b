/* The text of calls into the device runtime: parameters, addresses, values, predicates. Everything stands in a { } of
 * its own, so the names it declares (%gsan…, gsan_p…) meet nobody else's. */
#ifndef GSAN_PTX_CALL_H
#define GSAN_PTX_CALL_H

#include "base/text.h"
#include "device/abi.h"
#include "ptx/access.h"

enum ptx_call {
#define PTX_CALL_NAME(name, params, result) PTX_CALL_##name,
	GSAN_CALLS(PTX_CALL_NAME)
#undef PTX_CALL_NAME
	PTX_CALLS
};
#define PTX_CALL_ARGS 24u

const char *ptx_call_name(enum ptx_call call); /* "gsan_enter" */
uint32_t ptx_call_params(enum ptx_call call);

/* arg: registers or immediates, one per parameter. pred: "@%p1 " or "". result: a register, or NULL. */
void ptx_call_emit(struct text *t, enum ptx_call call, const char *pred, const char *const *arg, const char *result);

/* "@!%p1 ", or "" without a predicate. */
void ptx_call_pred(struct text *t, const struct ptx_module *m, const struct ptx_instr *i);
void ptx_call_reg(struct text *t, const struct ptx_module *m, const struct ptx_operand *o);
/* Instructions that put the address of an access into the 64-bit register `to`. */
void ptx_call_address(struct text *t, const struct ptx_module *m, const struct ptx_access *a, const char *to);
/* An instruction that puts the launch record's `quick` into %gsan_u; where that is the clone's parameter all through, it is read there. */
void ptx_call_quick(struct text *t, int in_parameter);
/* Instructions that put the bits of operand `o` of instruction `i` into %gsan_x; uses %gsan_y, %gsan_w, %gsan_h.
 * Returns 0, with nothing written, if the value does not fit or is no register or number. */
int ptx_call_value(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, const struct ptx_access *a,
		   const struct ptx_operand *o);

#endif
