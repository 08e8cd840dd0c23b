/* Dekker's mutual exclusion of two CTAs with fence.sc: each raises its own flag and enters if the other's is down; if both are
 * up, whose turn it is stays. Who enters has read the flag that the other one took down when it left. */
#include "idiom.h"

enum { APART = 32, TURNS = 1 << 13, TIMES = 2 };

DEVICE void raise(u32 *mine)
{
	ST("relaxed.gpu", mine, 1);
	FENCE("sc.gpu");
}

DEVICE void enter(u32 *mine, u32 *other, u32 *turn, u32 me)
{
	raise(mine);
	while (LD(M2("acquire.gpu", "relaxed.gpu"), other)) {
		if (LD("relaxed.gpu", turn) == me)
			continue;
		ST("relaxed.gpu", mine, 0);
		while (LD("relaxed.gpu", turn) != me)
			;
		raise(mine);
	}
}

KERNEL(run)
{
	const u32 pair = CTA / 2, me = CTA % 2;
	u32 *mine = &a.flag[0][CTA * APART], *other = &a.flag[0][(CTA ^ 1) * APART], *turn = &a.flag[0][TURNS + pair * APART];

	for (u32 i = 0; i < TIMES; i++) {
		if (THREAD == 0)
			enter(mine, other, turn, me);
		__syncthreads();
		a.data[0][pair * THREADS + THREAD] += 1;
		__syncthreads();
		if (THREAD == 0) {
			ST("relaxed.gpu", turn, 1 - me);
			ST(M1("release.gpu", "relaxed.gpu"), mine, 0);
		}
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas / 2 * a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], 2 * a.rounds * TIMES);
}
