/* A lock by compare-and-swap and exchange with fences, as CUDA programs write it. */
#include "idiom.h"

enum { TIMES = 2 };

KERNEL(run)
{
	u32 *lock = a.flag[0];

	for (u32 i = 0; i < TIMES; i++) {
		if (THREAD == 0) {
			while (CAS("relaxed.gpu", lock, 0, 1)) /* edge 2 */
				;
			M2(THREADFENCE(), );
		}
		__syncthreads();
		a.data[0][THREAD] += 1;
		__syncthreads();
		if (THREAD == 0) {
			M1(THREADFENCE(), );
			EXCH("relaxed.gpu", lock, 0); /* edge 1 */
		}
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.threads; i += THREADS)
		expect_equal(a, a.data[0][i], a.ctas * a.rounds * TIMES);
}
