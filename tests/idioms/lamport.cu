/* Lamport values: what has not arrived reads as a value that is never sent. There are two buffers; a round first clears what it
 * read in the round before, plainly, and then sends, so that who has received knows that it may write there in its next. */
#include "idiom.h"

enum { WORDS = 4 };
#define EMPTY 0x80000000u

DEVICE int complete(const u32 *got)
{
	return got[0] != EMPTY && got[1] != EMPTY && got[2] != EMPTY && got[3] != EMPTY;
}

KERNEL(init)
{
	const u32 i = CTA * THREADS + THREAD, all = CTAS * THREADS;

	for (u32 k = 0; k < 2 * a.ranks * WORDS; k++)
		a.data[a.rank][k * all + i] = EMPTY;
}

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD;
	u32 send[WORDS] = {a.round * (a.rank + 1), THREAD, a.round, i}, got[WORDS], sum = send[0] + send[1];

	for (u32 k = 0; k < a.ranks * WORDS; k++)
		a.data[a.rank][WORDS * MESSAGE_OF(a.round + 1, k / WORDS, i) + k % WORDS] = EMPTY;
	M1(FENCE("acq_rel.sys"), );
	for (u32 other = 0; other < a.ranks; other++)
		if (other != a.rank)
			ST_V4(M2("volatile.", ""), &a.data[other][WORDS * MESSAGE(a.rank, i)], send); /* edge 1 */
	for (u32 other = 0; other < a.ranks; other++) {
		if (other == a.rank)
			continue;
		do
			LD_V4("volatile.", &a.data[a.rank][WORDS * MESSAGE(other, i)], got);
		while (!complete(got));
		sum += got[2] == a.round && got[3] == i ? got[0] + got[1] : 0;
	}
	a.own[i] = sum;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], sum_of_ranks(a, a.rounds, i % a.threads));
}
