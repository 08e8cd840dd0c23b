/* A bounded queue of many producers and consumers: each cell has a sequence number, which a kernel before sets to the cell's
 * own. It says whose turn it is. Every other CTA produces. */
#include "idiom.h"

enum { TAIL, HEAD = 32, CELLS = 4, NUMBERS = 64, TIMES = 3 };

KERNEL(init)
{
	if (CTA == 0 && THREAD < CELLS)
		a.flag[0][NUMBERS + THREAD] = THREAD;
}

/* The next place at `end` whose cell has come to it, plus `ahead`. */
DEVICE u32 claim(u32 *end, u32 *numbers, u32 ahead)
{
	u32 place = LD("relaxed.gpu", end);

	for (;;) {
		const u32 number = LD("acquire.gpu", &numbers[place % CELLS]);

		if (number == place + ahead && CAS("relaxed.gpu", end, place, place + 1) == place)
			return place;
		place = LD("relaxed.gpu", end);
	}
}

KERNEL(run)
{
	SHARED u32 place;
	u32 *numbers = a.flag[0] + NUMBERS, *out = &a.own[CTA * THREADS + THREAD];

	for (u32 i = 0; i < TIMES; i++) {
		if (THREAD == 0)
			place = CTA % 2 ? claim(&a.flag[0][HEAD], numbers, 1) : claim(&a.flag[0][TAIL], numbers, 0);
		__syncthreads();
		const u32 now = place;
		u32 *cell = &a.data[0][now % CELLS * THREADS + THREAD];
		if (CTA % 2)
			*out += *cell;
		else
			*cell = 1 + THREAD;
		__syncthreads();
		if (THREAD == 0 && CTA % 2)
			ST(M2("release.gpu", "relaxed.gpu"), &numbers[now % CELLS], now + CELLS);
		else if (THREAD == 0)
			ST(M1("release.gpu", "relaxed.gpu"), &numbers[now % CELLS], now + 1);
	}
}

KERNEL(check)
{
	for (u32 i = THREAD; i < a.ctas * a.threads; i += THREADS)
		expect_equal(a, a.own[i], i / a.threads % 2 ? a.rounds * TIMES * (1 + i % a.threads) : 0);
}
