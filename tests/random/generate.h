/* A seed is a program: small kernels of one to three ranks that synchronise as real ones do, with elements broken or left
 * out by chance. The same seed gives the same program everywhere. */
#ifndef GSAN_RANDOM_GENERATE_H
#define GSAN_RANDOM_GENERATE_H

#include "litmus/litmus.h"

/* Programs of one block of seeds run in one job: they agree in the number of ranks it needs and in who has which device. */
#define RANDOM_BLOCK 64

struct lit_program *random_generate(uint64_t seed); /* lit_free it */
struct lit_program *random_copies(uint64_t seed);   /* the same, with copies and sets between the launches */

#endif
