/* A Treiber stack: its head is a node and a count against ABA, 0 is no node. A node's link is relaxed, for who loses reads it
 * while its new owner writes it; what a node carries is its owner's alone. Each CTA pushes its node, then takes one and puts
 * it back, a few times. */
#include "idiom.h"

enum { LINKS = 32, TIMES = 2 };

DEVICE void push(u64 *head, u32 *links, u32 node)
{
	u64 was = LD64("relaxed.gpu", head), seen = 0;

	for (;; was = seen) {
		ST("relaxed.gpu", &links[node], (u32)was);
		seen = CAS64(M1("release.gpu", "relaxed.gpu"), head, was, ((was >> 32) + 1) << 32 | node);
		if (seen == was)
			return;
	}
}

DEVICE u32 pop(u64 *head, u32 *links)
{
	u64 was = LD64("relaxed.gpu", head), seen = 0;

	for (;; was = seen) {
		const u32 next = LD("relaxed.gpu", &links[(u32)was]);

		seen = CAS64(M2("acquire.gpu", "relaxed.gpu"), head, was, ((was >> 32) + 1) << 32 | next);
		if (seen == was)
			return (u32)was;
	}
}

KERNEL(run)
{
	SHARED u32 node;
	u64 *head = (u64 *)a.flag[0];
	u32 *links = a.flag[0] + LINKS;

	if (a.round == 1) {
		a.data[0][(CTA + 1) * THREADS + THREAD] = 1;
		__syncthreads();
		if (THREAD == 0)
			push(head, links, CTA + 1);
	}
	for (u32 i = 0; i < TIMES; i++) {
		if (THREAD == 0)
			node = pop(head, links);
		__syncthreads();
		a.data[0][node * THREADS + THREAD] += 1;
		__syncthreads();
		if (THREAD == 0)
			push(head, links, node);
	}
}

KERNEL(check)
{
	for (u32 t = THREAD; t < a.threads; t += THREADS) {
		u32 sum = 0;

		for (u32 node = 1; node <= a.ctas; node++)
			sum += a.data[0][node * a.threads + t];
		expect_equal(a, sum, a.ctas * (1 + a.rounds * TIMES));
	}
}
