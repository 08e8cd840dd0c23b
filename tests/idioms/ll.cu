/* LL: each 16 bytes carry two words and a flag behind each; what arrives is known by the flags. Two ranks send each other a
 * message a round, into one of two buffers by turns. */
#include "idiom.h"

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, at = 4 * ((a.round % 2) * CTAS * THREADS + i), other = 1 - a.rank;
	u32 send[4] = {a.round * (a.rank + 1) + THREAD, a.round, i, a.round}, got[4];

	ST_V4(M1("volatile.", ""), &a.data[other][at], send);
	do
		LD_V4(M2("volatile.", "relaxed.gpu."), &a.data[a.rank][at], got);
	while (got[1] != a.round || got[3] != a.round);
	a.own[i] = got[2] == i ? got[0] + send[0] : 0;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], 3 * a.rounds + 2 * (i % a.threads));
}
