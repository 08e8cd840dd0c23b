/* LL: each 16 bytes carry two words and a flag behind each; what arrives is known by the flags. Ranks send each other a message
 * a round, into one of two buffers by turns. */
#include "idiom.h"

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD;
	u32 send[4] = {a.round * (a.rank + 1) + THREAD, a.round, i, a.round}, got[4], sum = send[0];

	for (u32 other = 0; other < a.ranks; other++)
		if (other != a.rank)
			ST_V4(M1("volatile.", ""), &a.data[other][4 * MESSAGE(a.rank, i)], send);
	for (u32 other = 0; other < a.ranks; other++) {
		if (other == a.rank)
			continue;
		do
			LD_V4(M2("volatile.", "relaxed.gpu."), &a.data[a.rank][4 * MESSAGE(other, i)], got);
		while (got[1] != a.round || got[3] != a.round);
		sum += got[2] == i ? got[0] : 0;
	}
	a.own[i] = sum;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], sum_of_ranks(a, a.rounds, i % a.threads));
}
