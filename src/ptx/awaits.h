/* Who waits: loads and atomics in a loop that ends, or does not, by what they read alone, compared with what the loop does not change. Not one whose
 * value bounds a count (`i < *n`), nor what tries again with what it read (a compare-and-swap that adds). */
#ifndef GSAN_PTX_AWAITS_H
#define GSAN_PTX_AWAITS_H

#include "ptx/ptx.h"

/* Marks them: awaits[index] = 1 of each such instruction; in a function that is called, of what it returns, too, and of all reads of one of which
 * nobody knows where a branch goes. 0, -ENOMEM. */
int ptx_awaits(const struct ptx_module *m, const struct ptx_function *f, uint8_t *awaits);

#endif
