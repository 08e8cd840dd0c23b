/* Adds copies and sets to a random program whose launches have their places. */
#ifndef GSAN_RANDOM_COPIES_H
#define GSAN_RANDOM_COPIES_H

#include "build.h"

void copies_add(struct build *b);

#endif
