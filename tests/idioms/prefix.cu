/* A chained scan: each CTA waits for the one before it and reads back the last of its prefix sums, which another thread stored
 * than the one that raised the flag behind a barrier. */
#include "idiom.h"

SHARED_WEAK u32 room[MAX_THREADS], before;

DEVICE u32 input(u32 i, u32 round)
{
	return i % 7 + round;
}

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, sum = block_scan(room, input(i, a.round));
	u32 *flag = &a.flag[0][CTA];

	if (THREAD == 0) {
		while (CTA && LD("acquire.gpu", flag - 1) != a.round)
			;
		before = CTA ? a.data[0][i - 1] : 0;
	}
	__syncthreads();
	a.data[0][i] = before + sum; /* late 1, late 2 */
	M1(M2(__syncthreads(), ARRIVE_OR_SYNC(1, THREAD < 32, THREADS)), ); /* 2: who raises the flag does not wait for the others */
	if (THREAD == 0)
		ST("release.gpu", flag, a.round); /* edge 1, edge 2 */
}

KERNEL(check)
{
	u32 sum = 0;

	for (u32 i = 0; i < a.ctas * a.threads && THREAD == 0; i++) {
		sum += input(i, a.rounds);
		expect_equal(a, a.data[0][i], sum);
	}
}
