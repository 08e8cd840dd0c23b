/* Two CTAs send each other messages: all threads store the words of one, and behind a barrier thread 0 sends what heads it, LL: a
 * number and a flag in one word of 64 bits. Each way there are two places, used by turns; a flag says of which round it is. */
#include "idiom.h"

enum { TIMES = 6 };

KERNEL(run)
{
	const u32 peer = CTA ^ 1, first = (a.round - 1) * TIMES + 1;
	u64 *heads = (u64 *)a.flag[0];

	for (u32 n = first; n < first + TIMES; n++) {
		const u32 place = n % 2 * CTAS, flag = M1(n, 1); /* 1: it repeats, as soon as the place is used again */
		u32 *words = a.data[0] + THREAD;
		u64 head;

		words[(place + CTA) * THREADS] = n + CTA + THREAD; /* late 2 */
		M2(__syncthreads(), );
		if (THREAD == 0) {
			THREADFENCE();
			ST64("volatile", &heads[place + CTA], (u64)n << 32 | flag); /* edge 1, edge 2 */
			do
				head = LD64("volatile", &heads[place + peer]);
			while ((u32)head != flag);
			THREADFENCE();
			a.own[CTA * THREADS] += (u32)(head >> 32);
		}
		__syncthreads();
		a.own[CTA * THREADS + THREAD] += words[(place + peer) * THREADS]; /* late 1: the flag is one of an earlier launch, perhaps */
	}
}

KERNEL(check)
{
	const u32 all = a.rounds * TIMES;

	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS) {
		const u32 thread = i % a.threads, peer = i / a.threads ^ 1;

		expect_equal(a, a.own[i], all * (all + 1) / 2 * (thread ? 1 : 2) + all * (peer + thread));
	}
}
