/* Which rows of DESIGN §6 (and of §7, as far as programs have it) a program contains. */
#ifndef GSAN_RANDOM_ROWS_H
#define GSAN_RANDOM_ROWS_H

#include "litmus/litmus.h"

enum { ROWS = 48 };

/* The name of a row; NULL behind the last. */
const char *rows_name(size_t row);
/* has[row]: how many instructions, pairs of them, or steps of the program belong to it. */
void rows_count(const struct lit_program *p, uint32_t has[ROWS]);

#endif
