/* One-shot all-reduce between two ranks: each CTA meets its like of the other rank by flags that toggle, reads both inputs, and
 * meets again before a kernel that follows overwrites them. Nothing waits for the host between the rounds. */
#include "idiom.h"

#define PUT(how, flag) do while (CAS(how, flag, 0, 1) != 0); while (0)
#define GET(how, flag) do while (CAS(how, flag, 1, 0) != 1); while (0)

KERNEL(fill)
{
	a.data[a.rank][CTA * THREADS + THREAD] = a.round * (a.rank + 1) + THREAD;
}

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, other = 1 - a.rank;

	if (THREAD == 0) {
		PUT("release.sys", &a.flag[other][CTA]);
		GET(M1("acquire.sys", "relaxed.sys"), &a.flag[a.rank][CTA]);
	}
	__syncthreads();
	a.own[i] = a.data[0][i] + a.data[1][i];
	__syncthreads();
	if (THREAD == 0) {
		PUT(M2("release.sys", "relaxed.sys"), &a.flag[other][CTA]);
		GET("acquire.sys", &a.flag[a.rank][CTA]);
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], 3 * a.rounds + 2 * (i % a.threads));
}
