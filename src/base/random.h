/* The generator behind every choice that a seed makes: splitmix64, whose whole state is one number, so that it can live in shared
 * memory and seed another. */
#ifndef GSAN_BASE_RANDOM_H
#define GSAN_BASE_RANDOM_H

#include <stdint.h>

#include "base/hash.h"

static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t random_next(uint64_t *state) { return random_mix(*state += HASH_SPREAD); }

#endif
