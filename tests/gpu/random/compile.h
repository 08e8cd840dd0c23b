/* A program as PTX of its own, one kernel per launch: straight-line code with the program's numbers in it, so that the rewriter
 * sees runs of accesses, lines that registers fill, predicates and loops as it does in a user's kernels. What it leaves in memory
 * is what player.c's kernels leave. */
#ifndef GSAN_COMPILE_H
#define GSAN_COMPILE_H

#include "native.h"

/* A module; its kernels are named launch0 …, and take the addresses of each rank's memory and of the word for failure. */
void compile_emit(const struct native *p, FILE *to);

#endif
