/* Lamport values: what has not arrived reads as a value that is never sent. There are two buffers; a round first clears what it
 * read in the round before, plainly, and then sends, so that who has received knows that it may write there in its next. */
#include "idiom.h"

enum { PARTS = 4 };
#define EMPTY 0x80000000u

DEVICE int complete(const u32 *got)
{
	return got[0] != EMPTY && got[1] != EMPTY && got[2] != EMPTY && got[3] != EMPTY;
}

KERNEL(init)
{
	const u32 i = CTA * THREADS + THREAD, all = CTAS * THREADS;

	for (u32 k = 0; k < 2 * PARTS; k++)
		a.data[a.rank][k * all + i] = EMPTY;
}

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, all = CTAS * THREADS, other = 1 - a.rank;
	const u32 now = PARTS * (a.round % 2 * all + i), before = PARTS * ((a.round + 1) % 2 * all + i);
	u32 send[PARTS] = {a.round * (a.rank + 1), THREAD, a.round, i}, got[PARTS];

	for (u32 k = 0; k < PARTS; k++)
		a.data[a.rank][before + k] = EMPTY;
	M1(FENCE("acq_rel.sys"), );
	ST_V4(M2("volatile.", ""), &a.data[other][now], send); /* edge 1 */
	do
		LD_V4("volatile.", &a.data[a.rank][now], got);
	while (!complete(got));
	a.own[i] = got[2] == a.round && got[3] == i ? got[0] + send[0] + got[1] + send[1] : 0;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], 3 * a.rounds + 2 * (i % a.threads));
}
