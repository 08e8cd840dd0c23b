/* A chain through all CTAs: each waits for the one before it, and tells the next, by forms that take turns. The last one reads what
 * every CTA has written; whoever lacks half of a link parts it from all before. */
#include "idiom.h"

DEVICE void wait_for(u32 *link, u32 round)
{
	switch (CTA % 3) {
	case 0:
		while (CAS(M2("acquire.gpu", "relaxed.gpu"), link, round, round) != round)
			;
		break;
	case 1:
		while (LD("acquire.sys", link) != round)
			;
		break;
	default:
		while (*(volatile u32 *)link != round)
			;
		THREADFENCE();
	}
}

DEVICE void tell(u32 *link, u32 round)
{
	switch (CTA % 3) {
	case 0:
		ST("release.gpu", link, round);
		break;
	case 1:
		M1(FENCE("acq_rel.gpu"), );
		EXCH("relaxed.gpu", link, round); /* edge 1 */
		break;
	default:
		THREADFENCE();
		*(volatile u32 *)link = round;
	}
}

KERNEL(run)
{
	u32 *mine = a.data[0] + CTA * THREADS, sum = 0;

	mine[THREAD] = a.round;
	__syncthreads();
	if (THREAD == 0 && CTA > 0)
		wait_for(&a.flag[0][CTA], a.round);
	__syncthreads();
	if (THREAD == 0 && CTA + 1 < CTAS)
		tell(&a.flag[0][CTA + 1], a.round);
	for (u32 c = 0; c < CTAS && CTA + 1 == CTAS; c++)
		sum += a.data[0][c * THREADS + (THREAD + 3) % THREADS];
	a.own[CTA * THREADS + THREAD] = sum;
}

KERNEL(check)
{
	const u32 last = (a.ctas - 1) * a.threads;

	for (u32 i = THREAD; i < a.threads; i += THREADS)
		expect_equal(a, a.own[last + i], a.ctas * a.rounds);
}
