/* A flag that the stream raises (cuStreamWriteValue32) behind a kernel: a kernel in another stream waits for it and reads what
 * the first one wrote. */
#include "idiom.h"

KERNEL(produce)
{
	a.data[0][(a.round * CTAS + CTA) * THREADS + THREAD] = a.round + THREAD;
}

KERNEL(consume)
{
	if (THREAD == 0)
		while (LD(M1(M2("acquire.sys", "acquire.cta"), "relaxed.sys"), a.flag[0]) < a.round)
			;
	__syncthreads();
	a.own[CTA * THREADS + THREAD] = a.data[0][(a.round * CTAS + (CTA + 1) % CTAS) * THREADS + THREAD];
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], a.rounds + i % a.threads);
}
