/* The generator behind every choice of the scheduler: splitmix64, whose whole state is one number, so that it can live
 * in shared memory and seed the executor's own. */
#ifndef GSAN_EMU_DRIVER_RANDOM_H
#define GSAN_EMU_DRIVER_RANDOM_H

#include <stdint.h>

static inline uint64_t emu_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* A number for what was and what comes, in this order. */
static inline uint64_t emu_mix(uint64_t was, uint64_t comes) { return (was ^ comes) * 0x9e3779b97f4a7c15ull; }

#endif
