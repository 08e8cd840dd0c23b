/* What a thread comes to behind one fence, whatever way it takes: to some instruction every way from the beginning of its function leads over that
 * fence. */
#ifndef GSAN_PTX_FENCES_H
#define GSAN_PTX_FENCES_H

#include "ptx/ptx.h"

/* Marks the instructions of a function to which no way leads but over one that `fence` marks: behind[index] = 1; to the first of them there is one. `work`
 * has room for as many as `behind`, one for each instruction. Returns 0, and marks none, if nobody knows where a branch goes. */
int ptx_fences_behind(const struct ptx_module *m, const struct ptx_function *f, const uint8_t *fence, uint8_t *behind, uint32_t *work);
/* Of a flag, which is raised by what `flag` marks: marks those to which no way leads but over it, and from which none leads to it but over what `fenced`
 * marks: what a thread does there is behind the flag of its round, and released by that of the next one, of a loop or of what was unrolled. By
 * `itself` it releases that in any case. Likewise. */
int ptx_fences_early(const struct ptx_module *m, const struct ptx_function *f, const uint8_t *flag, const uint8_t *fenced, int itself, uint8_t *early, uint32_t *work);

#endif
