/* Loops: which instructions of a function a thread may execute again. Of two that no loop has both, it executes the one that stands first in the
 * text before the other one, whatever the branches between do. */
#ifndef GSAN_PTX_LOOPS_H
#define GSAN_PTX_LOOPS_H

#include "ptx/ptx.h"

/* Per instruction the number of the outermost loop around it, from 1 on; 0: none. malloc'ed; NULL: out of memory. */
uint32_t *ptx_loops(const struct ptx_module *m, const struct ptx_function *f);

#endif
