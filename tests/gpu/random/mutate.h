/* Chance at a program that was race-free: a few of its operations become weaker, go, come earlier or later, or touch what another
 * CTA has. Who waits for whom stays, so it still ends. Whether it races, the reference detector has to say. */
#ifndef GSAN_MUTATE_H
#define GSAN_MUTATE_H

#include "native.h"

void mutate(struct native *p, uint64_t seed);

#endif
