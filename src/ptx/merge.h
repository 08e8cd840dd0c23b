/* Merge: the PTX of several objects that a program links (nvcc -rdc=true, cuLink), as one text, for clones call each other. What is declared here
 * and defined there stands once: functions by a prototype at the top, variables by their definition there. Of what is weak the first stays. Names
 * that are an object's own get its number where another has them, too, and so do files of .loc. */
#ifndef GSAN_PTX_MERGE_H
#define GSAN_PTX_MERGE_H

#include "ptx/ptx.h"

/* *out: malloc'ed. Returns 0; -EINVAL with *error filled: a text is not PTX, a function is in none of them, or they cannot be one; -ENOMEM. */
int ptx_merge(const char *const *texts, uint32_t count, char **out, struct ptx_error *error);

#endif
