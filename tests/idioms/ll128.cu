/* LL128: eight lanes write a line of 128 bytes, whose last eight are a flag; a warp waits until all its lines have theirs. Ranks
 * send each other a message a round, into one of two buffers by turns. */
#include "idiom.h"

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD;
	const int flags = THREAD % 8 == 7;
	u64 send[2] = {a.round * (a.rank + 1) + THREAD, flags ? a.round : i}, got[2];
	u32 sum = (u32)send[0];

	for (u32 other = 0; other < a.ranks; other++)
		if (other != a.rank)
			ST_V2(M1("volatile.", "relaxed.gpu."), &a.data[other][4 * MESSAGE(a.rank, i)], send);
	for (u32 other = 0; other < a.ranks; other++) {
		if (other == a.rank)
			continue;
		do
			LD_V2(M2("volatile.", ""), &a.data[a.rank][4 * MESSAGE(other, i)], got);
		while (__nvvm_vote_any_sync(~0u, flags && got[1] != a.round));
		sum += flags || got[1] == i ? (u32)got[0] : 0;
	}
	a.own[i] = sum;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], sum_of_ranks(a, a.rounds, i % a.threads));
}
