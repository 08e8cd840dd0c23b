/* A barrier of the grid whose counter is used again, round after round, and never reset: each round waits for so many more
 * arrivals. Words lie in one of two buffers by turns, so that one barrier a round does. CTAs come one after the other: who
 * reads the count while another raises it counts as behind both. */
#include "idiom.h"

enum { COUNT, TIMES = 5 };

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, next = (CTA + 1) % CTAS * THREADS + THREAD, first = (a.round - 1) * TIMES + 1;
	u32 *count = &a.flag[0][COUNT];

	for (u32 n = first; n < first + TIMES; n++) {
		u32 *words = a.data[0] + n % 2 * CTAS * THREADS;

		words[i] = n + THREAD; /* late 2 */
		PAUSE((CTA * 7 + n * 13) % 31 * 400);
		M2(__syncthreads(), if (n == first) __syncthreads());
		if (THREAD == 0) {
			RED("add.release.gpu", count, 1); /* edge 1, edge 2 */
			while (LD("acquire.gpu", count) < CTAS * M1(n, first)) /* 1: as often as the first time */
				;
		}
		__syncthreads();
		a.own[i] += words[next];
	}
}

KERNEL(check)
{
	const u32 all = a.rounds * TIMES;

	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], all * (all + 1) / 2 + all * (i % a.threads));
}
