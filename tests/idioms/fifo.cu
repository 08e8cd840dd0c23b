/* A FIFO between two CTAs: all threads store their words of a slot, thread 0 publishes the head behind a barrier; on the other
 * side thread 0 waits for the head, all read behind a barrier, and behind another one thread 0 gives the slot back. */
#include "idiom.h"

enum { APART = 32, SLOTS = 2, TIMES = 5 }; /* between counters in flag */

KERNEL(run)
{
	const u32 pair = CTA / 2;
	u32 *head = &a.flag[0][2 * pair * APART], *tail = head + APART, *slots = a.data[0] + pair * SLOTS * THREADS + THREAD;

	for (u32 i = (a.round - 1) * TIMES; i < a.round * TIMES; i++) {
		u32 *slot = slots + i % SLOTS * THREADS;

		if (THREAD == 0 && CTA % 2)
			while (LD("acquire.gpu", head) <= i)
				;
		else if (THREAD == 0)
			while (i - LD("acquire.gpu", tail) >= SLOTS)
				;
		__syncthreads();
		if (CTA % 2) {
			a.own[CTA * THREADS + THREAD] += *slot; /* late 2 */
			M2(__syncthreads(), );
			if (THREAD == 0)
				ST("release.gpu", tail, i + 1); /* edge 2 */
		} else {
			*slot = i + THREAD; /* late 1 */
			M1(__syncthreads(), );
			if (THREAD == 0)
				ST("release.gpu", head, i + 1); /* edge 1 */
		}
	}
}

KERNEL(check)
{
	const u32 all = a.rounds * TIMES;

	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], i / a.threads % 2 ? all * (all - 1) / 2 + all * (i % a.threads) : 0);
}
