/* The idioms of synchronising kernels, each with elements that break with the program's own probability. An idiom
 * appends to the threads of actors that exist; it needs two of them. */
#ifndef GSAN_RANDOM_IDIOMS_H
#define GSAN_RANDOM_IDIOMS_H

#include "build.h"

/* One idiom, chosen by weight. */
void idioms_add(struct build *b);

#endif
