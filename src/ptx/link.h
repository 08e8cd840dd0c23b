/* Link: the part of the device runtime that a module's clones call, as text for the same module. */
#ifndef GSAN_PTX_LINK_H
#define GSAN_PTX_LINK_H

#include "base/text.h"
#include "ptx/call.h"

/* Appends the functions that the calls of the bit set reach, without header lines, and without linkage: helpers get the
 * prefix gsan__ so that they meet no name of the module. `linked`: only those of the hot path, and prototypes of what they and the
 * clones call, which ptx_link_object() defines. *major.*minor = the PTX version that the runtime needs.
 * Returns 0, -ENOMEM, or -EINVAL: the runtime is no PTX or lacks a function. */
int ptx_link(const char *runtime, size_t size, uint32_t calls, int linked, struct text *out, uint32_t *major, uint32_t *minor);

/* Appends a module of its own with all that linked ones lack: the same for every one, to be compiled once. Returns as ptx_link() does. */
int ptx_link_object(const char *runtime, size_t size, struct text *out);

#endif
