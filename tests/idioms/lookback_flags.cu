/* Decoupled look-back scan, status and values apart: a tile publishes its sum, then what all tiles up to it sum up to, each
 * behind a fence and before its status. Whoever sees a status reads the value behind another fence. */
#include "idiom.h"

enum { TICKET, STATUS = 32 }; /* in flag; a status is 2 · round - 1 with the tile's own sum, 2 · round with the whole prefix */

KERNEL(init)
{
	a.own[CTA * THREADS + THREAD] = CTA + THREAD % 7;
}

DEVICE void publish(u32 *value, u32 sum, u32 *status, u32 is)
{
	*value = sum;
	M1(THREADFENCE(), );
	*(volatile u32 *)status = is; /* edge 1 */
}

DEVICE u32 look_back(const u32 *sums, const u32 *prefixes, const u32 *status, u32 tile, u32 round)
{
	u32 before = 0, is = 0;

	while (tile-- > 0 && is != 2 * round) {
		do
			is = *(const volatile u32 *)&status[tile]; /* edge 2 */
		while (is < 2 * round - 1);
		M2(THREADFENCE(), );
		before += is == 2 * round ? prefixes[tile] : sums[tile];
	}
	return before;
}

KERNEL(run)
{
	SHARED u32 room[MAX_THREADS], tile, before;
	u32 *sums = a.data[0], *prefixes = a.data[0] + CTAS, *status = a.flag[0] + STATUS, *out = a.own + CTAS * THREADS;

	if (THREAD == 0)
		tile = ATOM("add", a.flag[0] + TICKET, 1) % CTAS;
	__syncthreads();
	const u32 scan = block_scan(room, a.own[tile * THREADS + THREAD] + a.round);
	if (THREAD == THREADS - 1) {
		publish(&sums[tile], scan, &status[tile], 2 * a.round - 1);
		before = look_back(sums, prefixes, status, tile, a.round);
		publish(&prefixes[tile], before + scan, &status[tile], 2 * a.round);
	}
	__syncthreads();
	out[tile * THREADS + THREAD] = before + scan;
}

KERNEL(check)
{
	u32 sum = 0;

	for (u32 i = 0; i < a.ctas * a.threads && THREAD == 0; i++) {
		sum += a.own[i] + a.rounds;
		expect_equal(a, a.own[a.ctas * a.threads + i], sum);
	}
}
