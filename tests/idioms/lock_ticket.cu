/* A ticket lock: the ticket is drawn relaxed, what is being served is released and acquired. */
#include "idiom.h"

enum { TICKET, SERVED = 32, TIMES = 2 };

KERNEL(run)
{
	for (u32 i = 0; i < TIMES; i++) {
		u32 mine = 0;

		if (THREAD == 0) {
			mine = ATOM("add", &a.flag[0][TICKET], 1);
			while (LD(M2("acquire.gpu", "relaxed.gpu"), &a.flag[0][SERVED]) != mine)
				;
		}
		__syncthreads();
		a.data[0][THREAD] += 1;
		__syncthreads();
		if (THREAD == 0)
			ST(M1("release.gpu", "relaxed.gpu"), &a.flag[0][SERVED], mine + 1);
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], a.ctas * a.rounds * TIMES);
}
