/* Weak accesses as a batch of addresses of any pattern (gsan_access1 to 8): lanes that fill whole aligned lines are recognised here,
 * the rest goes to the scattered path of shadow.h. */
#ifndef GSAN_DEVICE_BATCH_H
#define GSAN_DEVICE_BATCH_H

#include "device/caller.h"
#include "device/calls.h"
#include "device/desc.h"
#include "device/foreign.h"
#include "device/shadow.h"

/* Bits of the lanes whose group of 128 / bytes lanes covers one whole aligned line. `base`: the group's first address. */
ALWAYS u32 lanes_full(u64 canonical, u64 base, u32 bytes)
{
	u32 log = bytes == 16 ? 3 : bytes == 8 ? 4 : 5; /* lanes per line */
	u32 lane = gpu_lane(), lead = lane >> log << log;
	int fits = canonical != NO_ADDRESS && canonical == base + (lane - lead) * bytes && !(base & (GSAN_LINE - 1));
	u32 all = gpu_ballot(fits);
	if (all == ~0u)
		return all;
	u32 group = log == 5 ? ~0u : ((1u << (1u << log)) - 1) << lead;
	return gpu_ballot((all & group) == group);
}

/* The line that fell to this lane. */
NEVER void batch_line(struct who *w, u64 line, u32 desc)
{
	struct access a = {.address = line, .mask = 0xff, .op = desc_op(desc), .site = desc & 0xffff, .bytes = desc_bytes(desc), .whole = 1};
	line_access(w, &a);
}

NEVER u32 batch_foreign(u64 launch, int whole, int mine, u64 address, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	return gpu_popc(gpu_which(whole, mine && foreign_access(l, address, desc)));
}

/* How many accesses, from the i-th on, are one: of one site, side by side, up to 16 bytes, and each lane makes all of them or none. So come the
 * elements that a compiler may not load as a vector. */
ALWAYS u32 batch_beside(u32 valid, const u64 *address, const u32 *desc, u32 i, u32 n, int whole)
{
	u32 bytes = desc_bytes(desc[i]), made = valid >> i & 1, k = 1;
	while (i + k < n && desc[i + k] == desc[i] && (k + 1) * bytes <= GSAN_SECTOR &&
	       !gpu_which(whole, (valid >> (i + k) & 1) != made ||
					 (made && (address[i + k] != address[i] + k * bytes || !shadow_is_linear(address[i], (k + 1) * bytes)))))
		k++;
	return k;
}

/* Makes one of those that are, in place, with the bytes of all. Of how many it is made, less one, stands above its operation, where weak accesses have
 * nothing. Returns `valid` of what is left, and above GSAN_BATCH_MAX bits its number. */
#define UNITED_SHIFT GSAN_DESC_SEM_SHIFT
NEVER u32 batch_unite(u32 valid, u64 *address, u32 *desc, u32 n, int whole)
{
	u32 made = 0, to = 0;
	for (u32 i = 0, k; i < n; i += k, to++) {
		k = batch_beside(valid, address, desc, i, n, whole);
		made |= (valid >> i & 1) << to;
		address[to] = address[i];
		desc[to] = desc[i] + (((k - 1) * desc_bytes(desc[i])) << GSAN_DESC_BYTES_SHIFT | (k - 1) << UNITED_SHIFT);
	}
	return made | to << GSAN_BATCH_MAX;
}

/* Of a whole warp: do its lanes' accesses lie side by side? */
ALWAYS int batch_is_run(u64 canonical, u32 bytes) { return gpu_ballot(canonical == gpu_from64(1, canonical, 0) + gpu_lane() * bytes) == GPU_WARP; }

/* One copy for all sizes, a loop: unrolled into each it was a third of what ptxas has to compile for a kernel of weak accesses, and its
 * registers were those of the hot path's callers. */
NEVER void access_batch(u64 launch, u64 self, u32 valid, u64 *address, u32 *desc, u32 n)
{
	u32 lane = gpu_lane(), done = 0, outside = 0, d = 0;
	int whole = gpu_whole() && warp_agrees(valid >> GSAN_BATCH_NUMBER_SHIFT);
	struct who w = who_of(launch, self, 1);
	w.behind_red = w.reds && gpu_which(whole, (int)w.behind_red); /* a lane goes for others, too */
	u64 line = NO_ADDRESS;
	if (valid & GSAN_BATCH_BESIDE) {
		valid = batch_unite(valid, address, desc, n, whole);
		n = valid >> GSAN_BATCH_MAX;
	}
#pragma unroll 1
	for (u32 i = 0; i < n; i++) {
		u32 bytes = desc_bytes(desc[i]), of = 1 + (desc[i] >> UNITED_SHIFT);
		int there = valid >> i & 1;
		u32 asked = gpu_which(whole, there);
		if (!asked)
			continue;
		u64 canonical = there ? shadow_accessed(w.launch, address[i], desc[i]) : NO_ADDRESS;
		u32 log = bytes == 16 ? 3 : bytes == 8 ? 4 : 5;
		u64 first = gpu_from64(whole, canonical, lane >> log << log);
		u32 full = whole && (bytes == 4 || bytes == 8 || bytes == 16) ? lanes_full(canonical, first, bytes) : 0;
		if (full >> lane & 1 && (lane & ((1u << log) - 1)) == i) {
			line = 0;
			d = desc[i];
		}
		if (line == 0)
			line = first;
		u32 found = full == ~0u ? full : gpu_which(whole, canonical != NO_ADDRESS), rest = found & ~full;
		done += of * gpu_popc(found);
		if (full == ~0u)
			continue;
		if (asked != found)
			outside += of * batch_foreign(launch, whole, there && canonical == NO_ADDRESS, address[i], desc[i]);
		if (rest && line != NO_ADDRESS) { /* what lies before it in the program comes first */
			batch_line(&w, line, d);
			line = NO_ADDRESS;
		}
		if (rest == ~0u && batch_is_run(canonical, bytes))
			warp_run(&w, gpu_from64(1, canonical, 0), desc_op(desc[i]), desc[i] & 0xffff, bytes);
		else if (rest)
			warp_scattered(&w, rest >> lane & 1 ? canonical : NO_ADDRESS, desc_op(desc[i]), desc[i] & 0xffff, bytes, 0,
				       whole);
	}
	if (line != NO_ADDRESS)
		batch_line(&w, line, d);
	report_reasons(&w);
	if (gpu_speaks(whole))
		count_accesses(&w, done + outside, done);
	gpu_meet(whole);
}

void gsan_access1(u64 launch, u64 self, u32 valid, u64 a0, u32 d0)
{
	u64 a[] = {a0};
	u32 d[] = {d0};
	access_batch(launch, self, valid, a, d, 1);
}

void gsan_access2(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1)
{
	u64 a[] = {a0, a1};
	u32 d[] = {d0, d1};
	access_batch(launch, self, valid, a, d, 2);
}

void gsan_access4(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1, u64 a2, u32 d2, u64 a3, u32 d3)
{
	u64 a[] = {a0, a1, a2, a3};
	u32 d[] = {d0, d1, d2, d3};
	access_batch(launch, self, valid, a, d, 4);
}

void gsan_access8(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1, u64 a2, u32 d2, u64 a3, u32 d3, u64 a4,
		  u32 d4, u64 a5, u32 d5, u64 a6, u32 d6, u64 a7, u32 d7)
{
	u64 a[] = {a0, a1, a2, a3, a4, a5, a6, a7};
	u32 d[] = {d0, d1, d2, d3, d4, d5, d6, d7};
	access_batch(launch, self, valid, a, d, 8);
}

#endif
