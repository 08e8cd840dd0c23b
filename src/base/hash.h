/* FNV-1a, of bytes and of words taken as if they were bytes: begin with HASH_START. And a number spread over 64 bits, of which the upper
 * ones are to be used. */
#ifndef GSAN_BASE_HASH_H
#define GSAN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ull
#define HASH_SPREAD 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio, odd */

static inline uint64_t hash_step(uint64_t hash, uint64_t what) { return (hash ^ what) * 0x100000001b3ull; }

static inline uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = hash_step(hash, (unsigned char)bytes[i]);
	return hash;
}

static inline uint64_t hash_spread(uint64_t number) { return number * HASH_SPREAD; }

/* Of what was and what comes, in this order. */
static inline uint64_t hash_then(uint64_t was, uint64_t comes) { return hash_spread(was ^ comes); }

#endif
