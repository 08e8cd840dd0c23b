/* Two-shot all-reduce between two ranks: each adds up its half of both inputs and leaves it in its own memory, then takes the
 * halves of both ranks. Flags toggle before, between and after. */
#include "idiom.h"

enum { HALVES = 1 << 20 };
#define PUT(how, flag) do while (CAS(how, flag, 0, 1) != 0); while (0)
#define GET(how, flag) do while (CAS(how, flag, 1, 0) != 1); while (0)

KERNEL(fill)
{
	const u32 i = CTA * THREADS + THREAD;

	a.data[a.rank][2 * i] = a.data[a.rank][2 * i + 1] = a.round * (a.rank + 1) + THREAD;
}

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, all = CTAS * THREADS, other = 1 - a.rank, mine = a.rank * all + i;

	if (THREAD == 0) {
		PUT("release.sys", &a.flag[other][CTA]);
		GET("acquire.sys", &a.flag[a.rank][CTA]);
	}
	__syncthreads();
	a.data[a.rank][HALVES + i] = a.data[0][mine] + a.data[1][mine];
	__syncthreads();
	if (THREAD == 0) {
		PUT(M1("release.sys", "relaxed.sys"), &a.flag[other][CTA]);
		GET(M2("acquire.sys", "acquire.gpu"), &a.flag[a.rank][CTA]);
	}
	__syncthreads();
	a.own[i] = a.data[0][HALVES + i];
	a.own[all + i] = a.data[1][HALVES + i];
	__syncthreads();
	if (THREAD == 0) {
		PUT("release.sys", &a.flag[other][CTA]);
		GET("acquire.sys", &a.flag[a.rank][CTA]);
	}
}

KERNEL(check)
{
	const u32 all = a.ctas * a.threads;

	for (u32 i = THREAD; i < 2 * all; i += THREADS)
		expect_equal(a, a.own[i], 3 * a.rounds + 2 * (i / 2 % a.threads));
}
