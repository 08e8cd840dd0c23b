/* A histogram of the whole grid, as the radix passes of a top-k make it: all threads add to its bins; thread 0 raises the count
 * of arrivals behind a barrier, and waits for all CTAs; behind another barrier everybody reads. Each launch has its own bins, and
 * in them each warp: an atomic knows those before it at its place, barrier or not. */
#include "idiom.h"

enum { COUNT };

KERNEL(run)
{
	u32 *bins = a.data[0] + a.round * THREADS, *count = &a.flag[0][COUNT];

	RED("add", &bins[THREAD], 1); /* late 1 */
	M1(__syncthreads(), );
	if (THREAD == 0) {
		RED("add.release.gpu", count, 1); /* edge 1 */
		while (LD("acquire.gpu", count) != CTAS * a.round)
			;
	}
	M2(__syncthreads(), );
	a.own[CTA * THREADS + THREAD] = bins[(THREAD + 32) % THREADS]; /* edge 2 */
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], a.ctas);
}
