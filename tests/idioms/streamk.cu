/* Stream-K: the CTAs that share a tile leave partial sums in a workspace and arrive at the tile's counter; its first CTA waits
 * for all of them, adds up, and resets the counter by a plain store, which is after all arrivals that it observed. */
#include "idiom.h"

enum { SHARERS = 4, WORKSPACE = 1 << 16 };

KERNEL(run)
{
	const u32 tile = CTA / SHARERS, part = CTA % SHARERS;
	u32 *counter = &a.flag[0][tile], *workspace = a.data[0] + WORKSPACE + tile * SHARERS * THREADS;

	if (part) {
		workspace[part * THREADS + THREAD] = a.round + part + THREAD;
		__syncthreads();
		if (THREAD == 0)
			RED(M1("add.release.gpu", "add.relaxed.gpu"), counter, 1);
		return;
	}
	if (THREAD == 0) {
		while (LD(M2("acquire.gpu", "relaxed.gpu"), counter) != SHARERS - 1)
			;
		*counter = 0;
	}
	__syncthreads();
	u32 sum = a.round + THREAD;
	for (u32 other = 1; other < SHARERS; other++)
		sum += workspace[other * THREADS + THREAD];
	a.data[0][tile * THREADS + THREAD] = sum;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas / SHARERS * a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], SHARERS * (a.rounds + i % a.threads) + SHARERS * (SHARERS - 1) / 2);
}
