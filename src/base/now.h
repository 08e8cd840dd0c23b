/* The time that only goes on: of this boot, the same for all processes. */
#ifndef GSAN_BASE_NOW_H
#define GSAN_BASE_NOW_H

#include <stdint.h>
#include <time.h>

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
