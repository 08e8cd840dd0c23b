/* The functions that checked clones call (abi.h). Weak accesses come in two ways: as lines that the clone recognised
 * (gsan_lines, the hot path), or as a batch of addresses of any pattern (gsan_access1 to 8), in which lanes that fill whole
 * aligned lines are recognised here, and the rest goes to shadow.h's scattered path. */
#include "device/calls.h"
#include "device/sync.h"

#define SELF_STATELESS (1ull << 32)

ALWAYS struct who who_of(u64 launch, u64 self)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)launch, .self = self & REC_WHO};
	w.base = w.self | (self & SELF_STATELESS ? 0 : 1ull << GSAN_REC_EPOCH_SHIFT);
	if ((u32)self) {
		w.state = &own_tables(w.launch)->state[(u32)self - 1];
		w.base = gpu_load64(&w.state->base);
	}
	w.stateless = (self & SELF_STATELESS) != 0;
	return w;
}

ALWAYS void who_record(const struct who *w) /* records follow in the current epoch */
{
	if (w->state && !gpu_load32(&w->state->dirty))
		gpu_store32(&w->state->dirty, 1);
}

ALWAYS void count_accesses(const struct gsan_launch *l, u32 made, u32 checked)
{
	if (checked)
		gpu_count(&own_spread(l)->checked, checked);
	if (made != checked)
		count(l, GSAN_N_FOREIGN, made - checked);
}

/* ---- entering and leaving -------------------------------------------------------------------------------------- */

/* The launch's entry of the launch table, written by the first warp that claims it; nobody waits for it, and CTAs that
 * start late do not even ask. (An entry read too early names an older launch, which counts as ordered.) */
#define PUBLISHERS 8192u /* CTAs, more than any GPU holds at once */
NEVER void launch_publish(const struct gsan_launch *l)
{
	struct dev_launch *e = &own_tables(l)->launch[l->tag & ((1u << l->tag_bits) - 1) & (DEV_LAUNCHES - 1)];
	u32 claim = gpu_load32(&e->claim);
	if (claim == l->seq || gpu_cas32(&e->claim, claim, l->seq) != claim)
		return;
	launch_fill(l, e);
	launch_base(l);
	gpu_fence_sys();
	gpu_release32(&e->seq, l->seq);
}

/* Mixed to 10 bits; the first 1024 CTAs differ, and which of the further ones look alike is the seed's choice. */
ALWAYS u32 cta_hash(u64 cta, u32 seed)
{
	u32 block = (u32)(cta >> GSAN_CTA_BITS) * (seed * 0x9e3779b0u + 0x78e38e4du);
	return ((u32)cta ^ block >> (32 - GSAN_CTA_BITS)) & ((1u << GSAN_CTA_BITS) - 1);
}

u64 gsan_enter(u64 launch, u32 flags)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u32 members = gpu_active(), leader = gpu_first(members), state = 0;
	u64 cta = gpu_ctaid_x() + (u64)gpu_nctaid_x() * (gpu_ctaid_y() + (u64)gpu_nctaid_y() * gpu_ctaid_z());
	u64 self = (u64)l->tag << GSAN_REC_TAG_SHIFT | (u64)cta_hash(cta, l->seed) << GSAN_REC_CTA_SHIFT;
	EACH_LANE(gpu_lane() == leader) {
		if (cta < PUBLISHERS && gpu_tid_x() < 32)
			launch_publish(l);
		if (flags & GSAN_ENTER_SYNC)
			state = state_enter(l, cta, self);
	}
	if (!(flags & GSAN_ENTER_SYNC))
		return self;
	state = gpu_shfl(members, state, leader);
	return self | (state ? state : SELF_STATELESS);
}

void gsan_leave(u64 launch, u64 self)
{
	u32 members = gpu_active();
	struct who w = who_of(launch, self);
	if (gpu_lane() == gpu_first(members))
		sync_leave(&w, gpu_popc(members));
	gpu_warp_sync(members);
}

/* ---- weak accesses ------------------------------------------------------------------------------------------------ */

ALWAYS u32 desc_bytes(u32 desc) { return desc >> GSAN_DESC_BYTES_SHIFT & 63; }
ALWAYS u32 desc_op(u32 desc) { return desc >> GSAN_DESC_OP_SHIFT & 31; }

/* Bits of the lanes whose group of 128 / bytes lanes covers one whole aligned line. */
ALWAYS u32 lanes_full(u32 members, u64 canonical, u32 bytes)
{
	u32 log = bytes == 16 ? 3 : bytes == 8 ? 4 : 5; /* lanes per line */
	u32 lane = gpu_lane(), lead = lane >> log << log;
	u64 base = gpu_shfl64(members, canonical, lead);
	int fits = canonical != NO_ADDRESS && canonical == base + (lane - lead) * bytes && !(base & (GSAN_LINE - 1));
	u32 all = gpu_ballot(members, fits), group = log == 5 ? ~0u : ((1u << (1u << log)) - 1) << lead;
	return gpu_ballot(members, (all & group) == group);
}

ALWAYS void access_batch(u64 launch, u64 self, u32 valid, const u64 *address, const u32 *desc, u32 n)
{
	u32 members = gpu_active(), lane = gpu_lane(), done = 0, seen = 0, mine = 0;
	struct who w = who_of(launch, self);
	u64 line = NO_ADDRESS;
	who_record(&w);
#pragma unroll
	for (u32 i = 0; i < n; i++) {
		u32 bytes = desc_bytes(desc[i]);
		int there = valid >> i & 1;
		u32 asked = gpu_ballot(members, there);
		if (!asked)
			continue;
		u64 canonical = there ? shadow_canonical(w.launch, address[i]) : NO_ADDRESS;
		u32 full = members == ~0u && (bytes == 4 || bytes == 8 || bytes == 16) ? lanes_full(members, canonical, bytes) : 0;
		u32 rest = gpu_ballot(members, canonical != NO_ADDRESS) & ~full;
		u32 log = bytes == 16 ? 3 : bytes == 8 ? 4 : 5;
		if (full >> lane & 1 && (lane & ((1u << log) - 1)) == i) {
			line = 0;
			mine = i;
		}
		u64 first = gpu_shfl64(members, canonical, lane >> log << log);
		if (line == 0)
			line = first;
		done += gpu_popc(full | rest);
		seen += gpu_popc(asked);
		if (rest)
			warp_scattered(&w, rest >> lane & 1 ? canonical : NO_ADDRESS, desc_op(desc[i]), desc[i] & 0xffff, bytes,
				       members);
	}
	if (line != NO_ADDRESS) {
		u32 d = desc[0];
#pragma unroll
		for (u32 i = 1; i < n; i++)
			d = mine == i ? desc[i] : d;
		struct access a = {.address = line, .mask = 0xff, .op = desc_op(d), .site = d & 0xffff,
				   .bytes = desc_bytes(d), .whole = 1};
		line_access(&w, &a);
	}
	gpu_warp_sync(members);
	if (lane == gpu_first(members))
		count_accesses(w.launch, seen, done);
}

void gsan_access1(u64 launch, u64 self, u32 valid, u64 a0, u32 d0)
{
	const u64 a[] = {a0};
	const u32 d[] = {d0};
	access_batch(launch, self, valid, a, d, 1);
}

void gsan_access2(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1)
{
	const u64 a[] = {a0, a1};
	const u32 d[] = {d0, d1};
	access_batch(launch, self, valid, a, d, 2);
}

void gsan_access4(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1, u64 a2, u32 d2, u64 a3, u32 d3)
{
	const u64 a[] = {a0, a1, a2, a3};
	const u32 d[] = {d0, d1, d2, d3};
	access_batch(launch, self, valid, a, d, 4);
}

void gsan_access8(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1, u64 a2, u32 d2, u64 a3, u32 d3, u64 a4,
		  u32 d4, u64 a5, u32 d5, u64 a6, u32 d6, u64 a7, u32 d7)
{
	const u64 a[] = {a0, a1, a2, a3, a4, a5, a6, a7};
	const u32 d[] = {d0, d1, d2, d3, d4, d5, d6, d7};
	access_batch(launch, self, valid, a, d, 8);
}

/* ---- whole lines: the hot path ------------------------------------------------------------------------------------ */

/* The general case of one line, and a record that an exchange took out of it unseen. */
NEVER void line_general(u64 launch, u64 self, u64 line, u32 desc, u32 mask, u64 replaced)
{
	struct who w = who_of(launch, self);
	struct access a = {.address = line, .mask = mask, .op = desc_op(desc), .site = desc & 0xffff,
			   .bytes = desc_bytes(desc), .whole = 1};
	const struct gsan_line *shadow = (const struct gsan_line *)(uintptr_t)gsan_shadow(line);
	check(&w, replaced, rec_mask(replaced), &a, &shadow->write);
	line_access(&w, &a);
}

NEVER void lines_foreign(u64 launch, u64 line, u32 desc) /* a group's access lies outside the arena */
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u64 lanes = (line & GSAN_LINES_WHOLE ? GSAN_LINE : GSAN_LINE / 2) / desc_bytes(desc);
	count(l, GSAN_N_FOREIGN, lanes);
	gpu_count(&own_spread(l)->checked, -lanes);
}

/* Nothing to say about this record: empty, this CTA's, or of a launch ordered before. */
ALWAYS int is_quiet(const struct gsan_launch *l, u64 rec, u64 me)
{
	return !rec || !((rec ^ me) & REC_WHO) || tag_below_floor(l, rec_tag(rec));
}

/* May `me` be put over this read at once? Empty, ordered before, or an earlier read of the same CTA with no more bytes. */
ALWAYS int is_free(const struct gsan_launch *l, u64 rec, u64 me)
{
	if (!rec || op_writes(rec_op(rec)))
		return !rec;
	return (rec ^ me) & REC_WHO ? tag_below_floor(l, rec_tag(rec)) : !(rec_mask(rec) & ~rec_mask(me));
}

/* A load: itself among the sampled reads and, if it is there now, once more the last write. 0: look closer. */
ALWAYS int line_load(const struct gsan_launch *l, struct gsan_line *at, u64 me, u64 last, u64 r0, u64 r1, u64 line)
{
	if (r0 == me || r1 == me)
		return 1;
	if (is_free(l, r0, me))
		gpu_store64(&at->read[0], me);
	else if (is_free(l, r1, me))
		gpu_store64(&at->read[1], me);
	else if (!shadow_draw(l, me, at->read, r0, r1, line))
		return 1;
	return gpu_load64(&at->write) == last;
}

/* A store: nothing of another CTA may lie there, and the record may take the last one's place. */
ALWAYS int line_store(const struct gsan_launch *l, struct gsan_line *at, u64 me, u64 last, u64 r0, u64 r1, u64 *replaced)
{
	if (!is_quiet(l, r0, me) || !is_quiet(l, r1, me) || rec_mask(last) & ~rec_mask(me))
		return 0;
	if (last == me)
		return 1;
	u64 old = gpu_exch64(&at->write, me);
	*replaced = old == last ? 0 : old;
	return old == last;
}

/* `line`: as abi.h says of gsan_lines, canonical. */
ALWAYS void line_fast(u64 launch, u64 self, u64 line, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u64 base = (self & REC_WHO) | 1ull << GSAN_REC_EPOCH_SHIFT, last, r0, r1, tail, replaced = 0;
	u32 op = desc_op(desc), mask = line & GSAN_LINES_WHOLE ? 0xff : line & (GSAN_LINE / 2) ? 0xf0 : 0x0f;
	if ((u32)self)
		base = gpu_load64(&own_tables(l)->state[(u32)self - 1].base);
	line &= ~(u64)(GSAN_LINE - 1);
	u64 me = base | (u64)op << GSAN_REC_OP_SHIFT | (u64)(desc & 0xffff) << GSAN_REC_SITE_SHIFT | mask;
	struct gsan_line *at = (struct gsan_line *)(uintptr_t)gsan_shadow(line);
	gpu_load128(at, &last, &r0);
	gpu_load128(&at->read[1], &r1, &tail);
	int quiet = !(u32)tail && is_quiet(l, last, me) && op != GSAN_OP_LD_NC && !(self & SELF_STATELESS);
	if (quiet)
		quiet = op == GSAN_OP_ST ? line_store(l, at, me, last, r0, r1, &replaced)
					 : line_load(l, at, me, last, r0, r1, line);
	if (!quiet)
		line_general(launch, self, line, desc, mask, replaced);
}

void gsan_lines(u64 launch, u64 self, u32 n, u64 line, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	if (gpu_lane() == 0) {
		gpu_count(&own_spread(l)->checked, 32 * n);
		if ((u32)self && !gpu_load32(&own_tables(l)->state[(u32)self - 1].dirty))
			gpu_store32(&own_tables(l)->state[(u32)self - 1].dirty, 1);
	}
	if (line >> GSAN_DATA_SHIFT != GSAN_DATA_TOP && line) {
		u64 canonical = shadow_canonical(l, line);
		if (canonical == NO_ADDRESS)
			lines_foreign(launch, line, desc);
		line = canonical == NO_ADDRESS ? 0 : canonical;
	}
	if (line)
		line_fast(launch, self, line, desc);
}

/* ---- strong operations and fences --------------------------------------------------------------------------------- */

ALWAYS int sync_reachable(const struct who *w, u64 canonical)
{
	return canonical != NO_ADDRESS && w->launch->mapped >> gsan_owner(canonical) & 1;
}

void gsan_before(u64 launch, u64 self, u64 address, u32 desc, u64 value)
{
	struct who w = who_of(launch, self);
	u32 members = gpu_active();
	u64 canonical = shadow_canonical(w.launch, address);
	int publishes = sync_reachable(&w, canonical) && sync_publishes(&w, canonical, desc);
	EACH_LANE(publishes)
		sync_before(&w, canonical, desc, value);
	gpu_warp_sync(members);
}

void gsan_after(u64 launch, u64 self, u64 address, u32 desc, u64 value)
{
	struct who w = who_of(launch, self);
	u32 members = gpu_active(), op = desc_op(desc);
	u64 canonical = shadow_canonical(w.launch, address);
	who_record(&w);
	warp_scattered(&w, canonical, op, desc & 0xffff, desc_bytes(desc), members);
	u32 checked = gpu_ballot(members, canonical != NO_ADDRESS);
	if (gpu_lane() == gpu_first(members))
		count_accesses(w.launch, gpu_popc(members), gpu_popc(checked));
	if (!w.state || !sync_reads(desc))
		return;
	if (!sync_reachable(&w, canonical)) /* synchronisation that we cannot follow may order anything */
		gpu_or32(&w.state->pending_flags, DEV_CLOCK_EVERYTHING);
	if (!sync_reachable(&w, canonical) && (desc >> GSAN_DESC_SEM_SHIFT & 7) != GSAN_SEM_NONE)
		gpu_or32(&w.state->clock.flags, DEV_CLOCK_EVERYTHING);
	int reads = sync_reachable(&w, canonical);
	EACH_LANE(reads)
		sync_after(&w, canonical, desc, value);
	gpu_warp_sync(members);
}

void gsan_fence(u64 launch, u64 self, u32 desc)
{
	struct who w = who_of(launch, self);
	u32 members = gpu_active();
	EACH_LANE(w.state && gpu_lane() == gpu_first(members))
		sync_fence(&w, desc);
	gpu_warp_sync(members);
}
