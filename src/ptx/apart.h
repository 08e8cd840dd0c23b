/* What stands first in the text of a function is executed first, by each thread and by all that wait for one another; but not everywhere. Of two
 * instructions that are apart nobody knows which was first. */
#ifndef GSAN_PTX_APART_H
#define GSAN_PTX_APART_H

#include "ptx/ptx.h"

/* One in [from, to) and one in [to, end); if those are equal, any two of [from, end): a loop, or what is like one. */
struct ptx_apart { uint32_t from, to, end; };

/* Those of a function, by the indices of its instructions. malloc'ed; NULL: out of memory. */
struct ptx_apart *ptx_apart(const struct ptx_module *m, const struct ptx_function *f, uint32_t *count);

/* Is the second one behind the first, and not apart from it? */
static inline int ptx_apart_has(const struct ptx_apart *a, uint32_t one, uint32_t other)
{
	return one >= a->from && other >= a->to && other < a->end && (one < a->to || a->from == a->to);
}

#endif
