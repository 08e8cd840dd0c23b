/* Mutual exclusion by two flags and fence.sc (Dekker's entry): each of two CTAs raises its own flag and enters if the other's is
 * down; else it takes its own down and tries again, a few times. Who comes after the other has read the flag that was taken
 * down. */
#include "idiom.h"

enum { APART = 32, TRIES = 6 };

KERNEL(run)
{
	SHARED u32 entered;
	const u32 pair = CTA / 2;
	u32 *mine = &a.flag[0][CTA * APART], *other = &a.flag[0][(CTA ^ 1) * APART], done = 0;

	for (u32 i = 0; i < TRIES; i++) {
		if (THREAD == 0) {
			ST("relaxed.gpu", mine, 1);
			FENCE("sc.gpu");
			entered = !LD(M2("acquire.gpu", "relaxed.gpu"), other);
		}
		__syncthreads();
		if (entered) {
			a.data[0][pair * THREADS + THREAD] += 1;
			done++;
		}
		__syncthreads();
		if (THREAD == 0)
			ST(M1("release.gpu", "relaxed.gpu"), mine, 0);
	}
	a.own[CTA * THREADS + THREAD] += done;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas / 2 * a.threads; i += THREADS) {
		const u32 at = i / a.threads * 2 * a.threads + i % a.threads;

		expect_equal(a, a.data[0][i], a.own[at] + a.own[at + a.threads]);
	}
}
