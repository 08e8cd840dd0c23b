/* A barrier of the whole grid as cooperative groups emit it, on the driver's own word: each CTA adds 1, the first what is left of
 * 2^31, and all wait until the highest bit has changed. */
#include "idiom.h"

enum { TIMES = 3 };
#define FLIPS 0x80000000u

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, next = (CTA + 1) % CTAS * THREADS + THREAD;
	u32 *const word = GRID_WORD;

	for (u32 k = 0; k < TIMES; k++) {
		a.data[0][i] = a.round + k + THREAD;
		for (u32 half = 0; half < 2; half++) {
			__syncthreads();
			if (THREAD == 0) {
				const u32 was = ATOM(M1("add.release.gpu", "add.relaxed.gpu"), word, CTA ? 1 : FLIPS - (CTAS - 1));

				while (!((LD(M2("acquire.gpu", "relaxed.gpu"), word) ^ was) & FLIPS))
					;
			}
			__syncthreads();
			a.own[i] = half ? a.own[i] : a.data[0][next] + a.data[0][i];
		}
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], 2 * (a.rounds + TIMES - 1 + i % a.threads));
}
