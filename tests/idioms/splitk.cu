/* Split-K with a semaphore for each tile: its CTAs add to the tile in turn, the first one sets it, the last one resets the
 * semaphore for the next launch. */
#include "idiom.h"

enum { SLICES = 4 };

KERNEL(run)
{
	const u32 tile = CTA / SLICES, slice = CTA % SLICES, i = tile * THREADS + THREAD;
	u32 *semaphore = &a.flag[0][tile];

	if (THREAD == 0)
		while (LD(M2("acquire.gpu", "relaxed.gpu"), semaphore) != slice)
			;
	__syncthreads();
	a.data[0][i] = (slice ? a.data[0][i] : 0) + a.round + slice + THREAD;
	__syncthreads();
	if (THREAD == 0)
		ST(M1("release.gpu", "relaxed.gpu"), semaphore, (slice + 1) % SLICES);
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas / SLICES * a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], SLICES * (a.rounds + i % a.threads) + SLICES * (SLICES - 1) / 2);
}
