/* The ways in that ask for a function by name: dlsym and cuGetProcAddress in its two forms. Both let the real one
 * answer first and replace the answer only if it is a function that has a hook. */
#ifndef GSAN_DRIVER_WAYS_H
#define GSAN_DRIVER_WAYS_H

#include "cuda/real.h"

/* One exported entry: its final ABI name, itself, and where `real` holds what it stands for. */
struct ways_row { const char *name; void *entry; void **real; };
extern const struct ways_row ways_rows[]; /* entry.c; ends with a NULL name */

/* For dlsym.S alone. 1: *answer is what dlsym returns; 0: jump to ways_real_dlsym. */
int ways_dlsym(void *handle, const char *name, void **answer);
extern void *ways_real_dlsym;

#endif
