#include "ptx/occupancy.h"

#include <stdio.h>

#define SM_REGS 65536u

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
	uint32_t by_regs = SM_REGS / (32 * round_up(regs ? regs : 1, 8)) / 4 * 4 / round_up(warps, 4);
	uint32_t ctas = by_threads < by_regs ? by_threads : by_regs;

	ctas = ctas < limits[row].ctas ? ctas : limits[row].ctas;
	return ctas ? ctas : 1;
}

int ptx_occupancy_limit(uint32_t sm, const struct ptx_function *f, uint32_t regs, char *directive, size_t size)
{
	const uint32_t *shape = f->reqntid[0] ? f->reqntid : f->maxntid;
	uint32_t row = row_of(sm), least = SM_REGS / limits[row].threads / 8 * 8, ctas;

	if (!regs || f->maxnreg)
		return 0;
	if (!shape[0]) { /* the block's size is not known; below `least` registers do not limit the CTAs */
		uint32_t cap = round_up(regs, 8);

		snprintf(directive, size, ".maxnreg %u", cap < least ? least : cap);
		return 1;
	}
	if (shape[0] > 1024 || shape[1] > 1024 || shape[2] > 1024)
		return 0;
	ctas = ptx_occupancy_ctas(sm, shape[0] * (shape[1] ? shape[1] : 1) * (shape[2] ? shape[2] : 1), regs);
	snprintf(directive, size, ".minnctapersm %u", ctas);
	return ctas > f->minnctapersm;
}
