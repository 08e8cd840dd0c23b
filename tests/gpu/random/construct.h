/* A seed is a program that is race-free by construction, or one that has lost one edge: phases in which each thread keeps to its
 * own part of an array or all only read it, and between them something that orders all CTAs: a launch, an event, a barrier of the
 * grid, a counter that a kernel elsewhere waits for, the last CTA to arrive, a chain from CTA to CTA; with locks and atomics
 * beside. What it leaves in memory does not depend on the schedule, unless it is broken. */
#ifndef GSAN_CONSTRUCT_H
#define GSAN_CONSTRUCT_H

#include "native.h"

struct construct_options {
	int ranks;
	int small;  /* at most some hundred threads, for the emulated device */
	int broken; /* 1: one edge is left out, 2: changed by chance (mutate.h) */
};

void construct(uint64_t seed, const struct construct_options *options, struct native *p);

#endif
