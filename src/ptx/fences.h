/* What a thread comes to behind one fence, whatever way it takes: to some instruction every way from the beginning of its function leads over that
 * fence. */
#ifndef GSAN_PTX_FENCES_H
#define GSAN_PTX_FENCES_H

#include "ptx/ptx.h"

/* Marks the instructions of a function to which no way leads but over `fence`: behind[index] = 1; to itself there is one. `work` has room for as many
 * as `behind`, one for each instruction. Returns 0, and marks none, if nobody knows where a branch goes. */
int ptx_fences_behind(const struct ptx_module *m, const struct ptx_function *f, uint32_t fence, uint8_t *behind, uint32_t *work);

#endif
