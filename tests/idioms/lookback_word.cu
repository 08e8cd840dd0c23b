/* Decoupled look-back scan, status and value in one word of 64 bits: nothing else is handed over, so relaxed accesses do. */
#include "idiom.h"

enum { TICKET, WORDS = 32 };

KERNEL(init)
{
	a.own[CTA * THREADS + THREAD] = CTA + THREAD % 7;
}

DEVICE void publish(u64 *word, u32 status, u32 sum)
{
	ST64(M1("relaxed.gpu", "cg"), word, (u64)status << 32 | sum);
}

DEVICE u32 look_back(u64 *words, u32 tile, u32 round)
{
	u32 before = 0, status = 0;

	while (tile-- > 0 && status != 2 * round) {
		u64 word;

		do
			word = LD64(M2("relaxed.gpu", "relaxed.cta"), &words[tile]);
		while ((status = (u32)(word >> 32)) < 2 * round - 1);
		before += (u32)word;
	}
	return before;
}

KERNEL(run)
{
	SHARED u32 room[MAX_THREADS], tile, before;
	u64 *words = (u64 *)(a.flag[0] + WORDS);
	u32 *out = a.own + CTAS * THREADS;

	if (THREAD == 0)
		tile = ATOM("add", a.flag[0] + TICKET, 1) % CTAS;
	__syncthreads();
	const u32 scan = block_scan(room, a.own[tile * THREADS + THREAD] + a.round);
	if (THREAD == THREADS - 1) {
		publish(&words[tile], 2 * a.round - 1, scan);
		before = look_back(words, tile, a.round);
		publish(&words[tile], 2 * a.round, before + scan);
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
