/* LL128: eight lanes write a line of 128 bytes, whose last eight are a flag; a warp waits until all its lines have theirs. Two
 * ranks send each other a message a round, into one of two buffers by turns. */
#include "idiom.h"

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, at = 4 * ((a.round % 2) * CTAS * THREADS + i), other = 1 - a.rank;
	const int flags = THREAD % 8 == 7;
	u64 send[2] = {a.round * (a.rank + 1) + THREAD, flags ? a.round : i}, got[2];

	ST_V2(M1("volatile.", "relaxed.gpu."), &a.data[other][at], send);
	do
		LD_V2(M2("volatile.", ""), &a.data[a.rank][at], got);
	while (__nvvm_vote_any_sync(~0u, flags && got[1] != a.round));
	a.own[i] = flags || got[1] == i ? (u32)(got[0] + send[0]) : 0;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], 3 * a.rounds + 2 * (i % a.threads));
}
