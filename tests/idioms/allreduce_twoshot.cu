/* Two-shot all-reduce: each rank adds up its part of all inputs and leaves it in its own memory, then takes the parts of all
 * ranks. Flags toggle before, between and after, a thread for each other rank. */
#include "idiom.h"

enum { PARTS = 1 << 20 };
#define PUT(how, flag) do while (CAS(how, flag, 0, 1) != 0); while (0)
#define GET(how, flag) do while (CAS(how, flag, 1, 0) != 1); while (0)

KERNEL(fill)
{
	const u32 i = CTA * THREADS + THREAD;

	for (u32 k = 0; k < a.ranks; k++)
		a.data[a.rank][a.ranks * i + k] = a.round * (a.rank + 1) + THREAD;
}

KERNEL(run)
{
	const u32 i = CTA * THREADS + THREAD, all = CTAS * THREADS, other = THREAD;
	const int meets = other < a.ranks && other != a.rank;
	u32 sum = 0;

	if (meets) {
		PUT("release.sys", &a.flag[other][FLAG_OF(a.rank)]);
		GET("acquire.sys", &a.flag[a.rank][FLAG_OF(other)]);
	}
	__syncthreads();
	for (u32 rank = 0; rank < a.ranks; rank++)
		sum += a.data[rank][a.rank * all + i];
	a.data[a.rank][PARTS + i] = sum;
	__syncthreads();
	if (meets) {
		PUT(M1("release.sys", "relaxed.sys"), &a.flag[other][FLAG_OF(a.rank)]);
		GET(M2("acquire.sys", "acquire.gpu"), &a.flag[a.rank][FLAG_OF(other)]);
	}
	__syncthreads();
	for (u32 rank = 0; rank < a.ranks; rank++)
		a.own[rank * all + i] = a.data[rank][PARTS + i];
	__syncthreads();
	if (meets) {
		PUT("release.sys", &a.flag[other][FLAG_OF(a.rank)]);
		GET("acquire.sys", &a.flag[a.rank][FLAG_OF(other)]);
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ranks * a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], sum_of_ranks(a, a.rounds, i / a.ranks % a.threads));
}
