/* Random programs of warps: CTAs of one launch, of several warps each, whole, in part or parted, that hand data on to each other by
 * flags, and within a CTA by barriers of every form, with links that are left out or wrong by chance. Who meets whom at a barrier
 * is settled by the text (tests/litmus/barrier.c), and every wait ends. */
#ifndef GSAN_RANDOM_WARPS_H
#define GSAN_RANDOM_WARPS_H

#include "litmus/litmus.h"

struct lit_program *random_warps(uint64_t seed); /* lit_free it */

#endif
