/* Reduction by the last CTA: each leaves its sum, and by a counter that wraps around knows whether it is the last one, which
 * adds them up. */
#include "idiom.h"

enum { COUNTER };

KERNEL(run)
{
	SHARED u32 room[MAX_THREADS], last;
	const u32 sum = block_scan(room, CTA + THREAD + a.round);

	if (THREAD == THREADS - 1) {
		a.data[0][CTA] = sum;
		M1(THREADFENCE(), );
		last = ATOM("inc", &a.flag[0][COUNTER], CTAS - 1) == CTAS - 1; /* edge 1, edge 2 */
		M2(THREADFENCE(), );
	}
	__syncthreads();
	if (!last)
		return;
	u32 all = 0;
	for (u32 i = THREAD; i < CTAS; i += THREADS)
		all += a.data[0][i];
	all = block_scan(room, all);
	if (THREAD == THREADS - 1)
		a.own[0] = all;
}

KERNEL(check)
{
	u32 all = 0;

	for (u32 i = 0; i < a.ctas * a.threads; i++)
		all += i / a.threads + i % a.threads + a.rounds;
	if (THREAD == 0)
		expect_equal(a, a.own[0], all);
}
