/* A ring between two CTAs: the one waits for credit, fills a slot and raises the head; the other one waits for the head, reads
 * and gives the credit back. The first credits are set by the host (a memset). */
#include "idiom.h"

enum { CREDITS = 0, HEADS = 1 << 12, APART = 32, SLOTS = 2, TIMES = 5 }; /* in flag; run.c sets [0, HEADS) to SLOTS */

KERNEL(run)
{
	const u32 pair = CTA / 2;
	u32 *credit = &a.flag[0][CREDITS + pair * APART], *head = &a.flag[0][HEADS + pair * APART];
	u32 *out = &a.own[CTA * THREADS + THREAD];

	for (u32 i = (a.round - 1) * TIMES; i < a.round * TIMES; i++) {
		u32 *slot = &a.data[0][(pair * SLOTS + i % SLOTS) * THREADS + THREAD];

		if (THREAD == 0 && CTA % 2)
			while (LD(M2("acquire.gpu", "relaxed.gpu"), head) <= i)
				;
		else if (THREAD == 0)
			while (LD("acquire.gpu", credit) <= i)
				;
		__syncthreads();
		if (CTA % 2)
			*out += *slot;
		else
			*slot = i + THREAD;
		__syncthreads();
		if (THREAD == 0 && CTA % 2)
			RED(M1("add.release.gpu", "add.relaxed.gpu"), credit, 1);
		else if (THREAD == 0)
			ST("release.gpu", head, i + 1);
	}
}

KERNEL(check)
{
	const u32 all = a.rounds * TIMES;

	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], i / a.threads % 2 ? all * (all - 1) / 2 + all * (i % a.threads) : 0);
}
