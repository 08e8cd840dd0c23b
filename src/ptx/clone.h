/* Clones: the checked copy of one entry or function, printed from the source with edits. */
#ifndef GSAN_PTX_CLONE_H
#define GSAN_PTX_CLONE_H

#include "ptx/edit.h"
#include "ptx/plan.h"

/* Appends the clone of function `f` to *out, and sets bit c of *calls for each enum ptx_call c that it makes. regs: of
 * the plain kernel, 0 = unknown; run: accesses of a batch, at most, 0 = GSAN_BATCH_MAX. Returns 0, -ENOMEM, -EINVAL. */
int ptx_clone_print(const struct ptx_plan *plan, uint32_t f, uint32_t regs, uint32_t run, struct text *out, uint32_t *calls);
/* Appends the prototype of the clone of a function that is no entry. */
int ptx_clone_prototype(const struct ptx_plan *plan, uint32_t f, struct text *out);

#endif
