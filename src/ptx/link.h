/* Link: the part of the device runtime that a module's clones call, as text for the same module. */
#ifndef GSAN_PTX_LINK_H
#define GSAN_PTX_LINK_H

#include "base/text.h"
#include "ptx/call.h"

/* Appends the functions that the calls of the bit set reach, without header lines, and without linkage: helpers get the
 * prefix gsan__ so that they meet no name of the module. *major.*minor = the PTX version that the runtime needs.
 * Returns 0, -ENOMEM, or -EINVAL: the runtime is no PTX or lacks a function. */
int ptx_link(const char *runtime, size_t size, uint32_t calls, struct text *out, uint32_t *major, uint32_t *minor);

#endif
