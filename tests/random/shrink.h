/* Makes a program smaller while it stays interesting: the same program and the same judge give the same result. */
#ifndef GSAN_RANDOM_SHRINK_H
#define GSAN_RANDOM_SHRINK_H

#include "litmus/litmus.h"

/* 1: the candidate still shows what is looked for. */
typedef int (*shrink_judge)(struct lit_program *candidate, void *context);

struct lit_program *shrink_copy(const struct lit_program *p);
/* Tries to leave out launches, threads, instructions and steps, and to make what remains simpler, until nothing more
 * can go. Takes the program, which `judge` would say 1 of; returns the smallest found. `tries` counts the judge's calls. */
struct lit_program *shrink(struct lit_program *p, shrink_judge judge, void *context, size_t *tries);

#endif
