/* A barrier of the grid by hand: behind a barrier of its CTA thread 0 raises a count that only grows, and waits until all have;
 * behind another one its CTA goes on. Each thread's word is read by the next CTA, then written anew. */
#include "idiom.h"

enum { COUNT, TIMES = 3 };

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, next = (CTA + 1) % CTAS * THREADS + THREAD;
	u32 *count = &a.flag[0][COUNT], all = (a.round - 1) * 2 * TIMES * CTAS;

	for (u32 k = 0; k < TIMES; k++) {
		a.data[0][i] = a.round + k + THREAD; /* late 1 */
		for (u32 half = 0; half < 2; half++) {
			M1(__syncthreads(), );
			if (THREAD == 0) {
				all += CTAS;
				THREADFENCE();
				RED("add", count, 1); /* edge 1 */
				while (LD("volatile", count) < all)
					;
				THREADFENCE();
			}
			M2(__syncthreads(), );
			a.own[i] += half ? 0 : a.data[0][next]; /* edge 2 */
		}
	}
}

KERNEL(check)
{
	u32 all = 0;

	for (u32 round = 1; round <= a.rounds; round++)
		all += TIMES * round + TIMES * (TIMES - 1) / 2;
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], all + a.rounds * TIMES * (i % a.threads));
}
