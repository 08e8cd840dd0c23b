/* One-shot all-reduce: each CTA meets its like of the other ranks by flags that toggle, a thread for each, reads the inputs of all,
 * and meets again before a kernel that follows overwrites them. Nothing waits for the host between the rounds. */
#include "idiom.h"

#define PUT(how, flag) do while (CAS(how, flag, 0, 1) != 0); while (0)
#define GET(how, flag) do while (CAS(how, flag, 1, 0) != 1); while (0)

KERNEL(fill)
{
	a.data[a.rank][CTA * THREADS + THREAD] = a.round * (a.rank + 1) + THREAD;
}

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, other = THREAD;
	const int meets = other < a.ranks && other != a.rank;
	u32 sum = 0;

	if (meets) {
		PUT("release.sys", &a.flag[other][FLAG_OF(a.rank)]);
		GET(M1("acquire.sys", "relaxed.sys"), &a.flag[a.rank][FLAG_OF(other)]);
	}
	__syncthreads();
	for (u32 rank = 0; rank < a.ranks; rank++)
		sum += a.data[rank][i];
	a.own[i] = sum;
	__syncthreads();
	if (meets) {
		PUT(M2("release.sys", "relaxed.sys"), &a.flag[other][FLAG_OF(a.rank)]);
		GET("acquire.sys", &a.flag[a.rank][FLAG_OF(other)]);
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], sum_of_ranks(a, a.rounds, i % a.threads));
}
