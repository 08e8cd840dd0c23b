#include "ptx/occupancy.h"

#include <stdio.h>

#define SM_REGS 65536u
#define MOST_REGS 255u /* of a thread */
#define MOST_THREADS 1024u

/* Threads and CTAs that one SM holds; the last row serves every other architecture. */
static const struct { uint32_t sm, threads, ctas; } limits[] = {
	{75, 1024, 16}, {86, 1536, 16}, {87, 1536, 16}, {88, 1536, 24}, {89, 1536, 24}, {110, 1536, 24},
	{120, 1536, 24}, {121, 1536, 24}, {0, 2048, 32}};

static uint32_t row_of(uint32_t sm)
{
	uint32_t i = 0;

	while (limits[i].sm && limits[i].sm != sm)
		i++;
	return i;
}

static uint32_t round_up(uint32_t n, uint32_t unit)
{
	return (n + unit - 1) / unit * unit;
}

uint32_t ptx_occupancy_ctas(uint32_t sm, uint32_t threads, uint32_t regs)
{
	uint32_t row = row_of(sm), warps = round_up(threads ? threads : 1, 32) / 32;
	uint32_t by_threads = limits[row].threads / 32 / warps;
	uint32_t by_regs = SM_REGS / (32 * round_up(regs ? regs : 1, 8)) / 4 * 4 / warps;
	uint32_t ctas = by_threads < by_regs ? by_threads : by_regs;

	return ctas < limits[row].ctas ? ctas : limits[row].ctas;
}

static int keeps_ctas(uint32_t sm, uint32_t threads, uint32_t regs, uint32_t more)
{
	for (uint32_t size = 32; size < threads + 32; size += 32)
		if (ptx_occupancy_ctas(sm, size, more) < ptx_occupancy_ctas(sm, size, regs))
			return 0;
	return 1;
}

uint32_t ptx_occupancy_regs(uint32_t sm, uint32_t threads, uint32_t regs)
{
	uint32_t most = round_up(regs, 8);

	while (most < MOST_REGS && keeps_ctas(sm, threads, regs, most + 8))
		most += 8;
	return most < MOST_REGS ? most : MOST_REGS;
}

static uint32_t threads_of(const uint32_t *shape)
{
	uint64_t threads = 1;

	for (int i = 0; i < 3; i++)
		threads *= shape[i] ? shape[i] : 1;
	return shape[0] && threads < MOST_THREADS ? (uint32_t)threads : MOST_THREADS;
}

int ptx_occupancy_limit(uint32_t sm, const struct ptx_function *f, uint32_t regs, struct ptx_limit *limit)
{
	uint32_t threads = threads_of(f->reqntid[0] ? f->reqntid : f->maxntid);

	if (!regs)
		return 0;
	if (f->reqntid[0] && !f->maxnreg) {
		uint32_t ctas = ptx_occupancy_ctas(sm, threads, regs);

		*limit = (struct ptx_limit){".minnctapersm", ctas ? ctas : 1, f->minnctapersm};
		return limit->value > f->minnctapersm;
	}
	*limit = (struct ptx_limit){".maxnreg", ptx_occupancy_regs(sm, threads, regs), f->maxnreg};
	return !f->maxnreg || limit->value < f->maxnreg;
}
