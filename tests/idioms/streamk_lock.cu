/* Stream-K with a lock for each partial tile: all threads of a CTA store it, thread 0 raises the lock behind a barrier. The
 * tile's first CTA takes one lock after the other, by thread 0, and behind a barrier adds the partial tile up. */
#include "idiom.h"

enum { SHARERS = 4, WORKSPACE = 1 << 16 };

KERNEL(run)
{
	const u32 tile = CTA / SHARERS, part = CTA % SHARERS;
	u32 *locks = &a.flag[0][tile * SHARERS], *workspace = a.data[0] + WORKSPACE + tile * SHARERS * THREADS + THREAD;

	if (part) {
		workspace[part * THREADS] = a.round + part + THREAD; /* late 1 */
		M1(__syncthreads(), );
		if (THREAD == 0)
			EXCH("release.gpu", &locks[part], 1); /* edge 1 */
		return;
	}
	u32 sum = a.round + THREAD;
	for (u32 other = 1; other < SHARERS; other++) {
		if (THREAD == 0)
			while (CAS("acquire.gpu", &locks[other], 1, 0) != 1)
				;
		M2(__syncthreads(), );
		sum += workspace[other * THREADS]; /* edge 2 */
	}
	a.data[0][tile * THREADS + THREAD] = sum;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas / SHARERS * a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], SHARERS * (a.rounds + i % a.threads) + SHARERS * (SHARERS - 1) / 2);
}
