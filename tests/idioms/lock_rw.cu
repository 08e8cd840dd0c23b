/* A reader-writer lock in one word: the readers' number, and a bit for the writer. Every other CTA writes. */
#include "idiom.h"

enum { TIMES = 2 };
#define WRITER 0x80000000u

DEVICE void lock_shared(u32 *word)
{
	while (ATOM("add.acquire.gpu", word, 1) & WRITER) {
		RED("add.relaxed.gpu", word, -1);
		while (LD("relaxed.gpu", word) & WRITER)
			;
	}
}

DEVICE void lock_exclusive(u32 *word)
{
	while (CAS("acquire.gpu", word, 0, WRITER))
		;
}

KERNEL(run)
{
	u32 *word = a.flag[0], *out = &a.own[CTA * THREADS + THREAD];

	for (u32 i = 0; i < TIMES; i++) {
		if (THREAD == 0 && CTA % 2)
			lock_shared(word);
		else if (THREAD == 0)
			lock_exclusive(word);
		__syncthreads();
		if (CTA % 2)
			*out += a.data[0][THREADS - 1 - THREAD] - a.data[0][(THREADS - 1 - THREAD) ^ 1];
		else
			a.data[0][THREAD] += 1;
		__syncthreads();
		if (THREAD == 0 && CTA % 2)
			RED(M1("add.release.gpu", "add.relaxed.gpu"), word, -1);
		else if (THREAD == 0)
			RED(M2("add.release.gpu", "add.relaxed.gpu"), word, WRITER);
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], 0);
	for (u32 i = THREAD; i < a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], (a.ctas + 1) / 2 * a.rounds * TIMES);
}
