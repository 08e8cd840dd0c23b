/* Reduction by the last CTA, to which all threads add: behind a barrier thread 0 draws a number from a counter that wraps around;
 * who has the last one reads the sums, and clears them for the next launch. Even and odd CTAs add to sums of their own: an
 * atomic knows those before it at its place, and so would the last CTA, whatever barrier is missing. */
#include "idiom.h"

enum { COUNTER };

SHARED_WEAK u32 last;

KERNEL(run)
{
	u32 *sums = a.data[0];

	RED("add", &sums[CTA % 2 * THREADS + THREAD], CTA + a.round); /* late 1, late 2 */
	M1(M2(__syncthreads(), SYNC_WARP()), ); /* 2: each warp by itself */
	if (THREAD == 0) {
		THREADFENCE();
		last = ATOM("inc", &a.flag[0][COUNTER], CTAS - 1) == CTAS - 1; /* edge 1, edge 2 */
		THREADFENCE();
	}
	__syncthreads();
	for (u32 i = THREAD; last && i < 2 * THREADS; i += THREADS) {
		a.own[i] = sums[i];
		sums[i] = 0;
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < 2 * a.threads; i += THREADS) {
		u32 all = 0;

		for (u32 cta = i / a.threads; cta < a.ctas; cta += 2)
			all += cta + a.rounds;
		expect_equal(a, a.own[i], all);
	}
}
