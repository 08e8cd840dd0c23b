/* A CLH lock: who waits, waits at the node of the one before, and takes it over for the next time. Node 0 is free from the
 * start. Each CTA's node is kept between launches. */
#include "idiom.h"

enum { TAIL, NODES = 32, APART = 32, MINE = 1 << 12, TIMES = 2 }; /* MINE: in data */

KERNEL(init)
{
	if (THREAD == 0)
		a.data[0][MINE + CTA] = CTA + 1;
}

KERNEL(run)
{
	u32 *nodes = a.flag[0] + NODES, mine = a.data[0][MINE + CTA];

	for (u32 i = 0; i < TIMES; i++) {
		u32 before = 0;

		if (THREAD == 0) {
			nodes[mine * APART] = 1; /* waits, or has the lock */
			before = EXCH(M2("acq_rel.gpu", "acquire.gpu"), &a.flag[0][TAIL], mine);
			while (LD("acquire.gpu", &nodes[before * APART]))
				;
		}
		__syncthreads();
		a.data[0][THREAD] += 1;
		__syncthreads();
		if (THREAD == 0)
			ST(M1("release.gpu", "relaxed.gpu"), &nodes[mine * APART], 0);
		mine = before;
	}
	if (THREAD == 0)
		a.data[0][MINE + CTA] = mine;
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], a.ctas * a.rounds * TIMES);
}
