/* The functions that checked clones call (abi.h). Weak accesses come in two ways: as lines that the clone recognised
 * (gsan_lines, the hot path), or as a batch of addresses of any pattern (gsan_access1 to 8), in which lanes that fill whole
 * aligned lines are recognised here, and the rest goes to shadow.h's scattered path. */
#include "device/calls.h"
#include "device/sync.h"

#define SELF_STATELESS (1ull << 32)
#define SELF_REDS_SHIFT 33u /* 4 bits, of GSAN_ENTER_REDS */

/* Who calls; with `records`, records of this CTA follow. */
ALWAYS struct who who_of(u64 launch, u64 self, int records)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)launch, .self = self & REC_WHO};
	w.base = w.self | (self & SELF_STATELESS ? 0 : 1ull << GSAN_REC_EPOCH_SHIFT);
	if ((u32)self) {
		w.state = &own_tables(w.launch)->state[(u32)self - 1];
		w.base = state_base(w.state, records);
	}
	w.stateless = (self & SELF_STATELESS) != 0;
	w.reds = (u32)(self >> SELF_REDS_SHIFT) & 15;
	w.behind_red = (self & GSAN_SELF_BEHIND_RED) != 0;
	return w;
}

/* Lanes that came here from other instructions may run along: only those of one instruction go together. */
ALWAYS u32 alike(u32 desc) { return gpu_match64(gpu_active(), desc); }

ALWAYS int sync_reachable(const struct who *w, u64 canonical)
{
	return canonical != NO_ADDRESS && w->launch->mapped >> gsan_owner(canonical) & 1;
}

ALWAYS void count_accesses(const struct who *w, u32 made, u32 checked)
{
	if (checked)
		gpu_count(&own_spread(w->launch, w->self)->checked, checked);
	if (made != checked)
		count(w->launch, GSAN_N_FOREIGN, made - checked);
}

/* ---- entering and leaving -------------------------------------------------------------------------------------- */

/* The launch's entry of the launch table, written by the first warp that claims it. Who meets a record of the others meanwhile
 * waits for it (tag_await). CTAs that start late do not even look. */
#define SM_THREADS 2048ull
ALWAYS int comes_early(u64 cta) { return cta * gpu_threads() < gpu_nsmid() * SM_THREADS; } /* the GPU holds no more at once */
NEVER void launch_publish(const struct gsan_launch *l)
{
	struct dev_launch *e = &own_tables(l)->launch[l->tag & ((1u << l->tag_bits) - 1) & (DEV_LAUNCHES - 1)];
	if (gpu_cached64(&e->seq) >> 32 == l->seq) /* once claimed it stays so: a yes may come from the L1 */
		return;
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

/* Where its stream took the coarse path before, a kernel of relaxed RMWs says so before its first: all CTAs' first would come to
 * red_general at once otherwise. */
NEVER void note_reds(const struct gsan_launch *l, u64 self)
{
	struct dev_tables *t = own_tables(l);
	struct who w = {.launch = l, .self = self & REC_WHO};
	if (gpu_cached64(&t->coarse.slot[coarse_slot(l->participant, l->stream)]))
		coarse_note(&w, t, 0);
}

u64 gsan_enter(u64 launch, u32 flags)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u32 members = gpu_active(), leader = gpu_first(members), state = 0;
	u64 cta = gpu_cta();
	u64 self = (u64)l->tag << GSAN_REC_TAG_SHIFT | (u64)cta_hash(cta, l->seed) << GSAN_REC_CTA_SHIFT |
		   (u64)((flags & GSAN_ENTER_REDS) >> GSAN_ENTER_REDS_SHIFT) << SELF_REDS_SHIFT |
		   (flags & GSAN_ENTER_SYNC ? GSAN_SELF_BEHIND_RED : 0);
	EACH_LANE(gpu_lane() == leader) {
		if (comes_early(cta))
			launch_publish(l);
		if (flags & GSAN_ENTER_REDS && !(flags & GSAN_ENTER_SYNC) && comes_early(cta) && gpu_thread() < 32)
			note_reds(l, self);
		if (flags & GSAN_ENTER_SYNC) { /* whose releases name their launch */
			tag_await(l, l->tag);
			state = state_enter(l, cta, self);
		}
	}
	if (!(flags & GSAN_ENTER_SYNC))
		return self;
	state = gpu_shfl(members, state, leader);
	gpu_warp_sync(members); /* a shuffle orders no memory: now all see the state that one of them made or found */
	return self | (state ? state : SELF_STATELESS);
}

void gsan_leave(u64 launch, u64 self)
{
	u32 members = gpu_active();
	struct who w = who_of(launch, self, 0);
	gpu_warp_sync(members); /* one says for all that they have left the state */
	if (gpu_lane() == gpu_first(members))
		sync_leave(&w, gpu_popc(members));
	gpu_warp_sync(members);
}

/* ---- weak accesses ------------------------------------------------------------------------------------------------ */

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

/* The line that fell to this lane. */
NEVER void batch_line(const struct who *w, u64 line, u32 desc)
{
	struct access a = {.address = line, .mask = 0xff, .op = desc_op(desc), .site = desc & 0xffff, .bytes = desc_bytes(desc), .whole = 1};
	line_access(w, &a);
}

ALWAYS void access_batch(u64 launch, u64 self, u32 valid, const u64 *address, const u32 *desc, u32 n)
{
	u32 members = alike(desc[0]), lane = gpu_lane(), done = 0, seen = 0, d = 0;
	struct who w = who_of(launch, self, 1);
	w.behind_red = w.reds && gpu_ballot(members, (int)w.behind_red); /* a lane goes for others, too */
	u64 line = NO_ADDRESS;
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
			d = desc[i];
		}
		u64 first = gpu_shfl64(members, canonical, lane >> log << log);
		if (line == 0)
			line = first;
		done += gpu_popc(full | rest);
		seen += gpu_popc(asked);
		if (rest && line != NO_ADDRESS) { /* what lies before it in the program comes first */
			batch_line(&w, line, d);
			line = NO_ADDRESS;
		}
		if (rest)
			warp_scattered(&w, rest >> lane & 1 ? canonical : NO_ADDRESS, desc_op(desc[i]), desc[i] & 0xffff, bytes, 0,
				       members);
	}
	if (line != NO_ADDRESS)
		batch_line(&w, line, d);
	gpu_warp_sync(members);
	if (lane == gpu_first(members))
		count_accesses(&w, seen, done);
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
	struct who w = who_of(launch, self | GSAN_SELF_BEHIND_RED, 1); /* one of the lanes whose line it is may be */
	struct access a = {.address = line, .mask = mask, .op = desc_op(desc), .site = desc & 0xffff,
			   .bytes = desc_bytes(desc), .whole = 1};
	const struct gsan_line *shadow = (const struct gsan_line *)(uintptr_t)gsan_shadow(line);
	check(&w, replaced, rec_mask(replaced), &a, &shadow->write);
	line_access(&w, &a);
}

NEVER void lines_foreign(u64 launch, u64 self, u64 line, u32 desc) /* a group's access lies outside the arena */
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u64 lanes = (line & GSAN_LINES_WHOLE ? GSAN_LINE : GSAN_LINE / 2) / desc_bytes(desc);
	count(l, GSAN_N_FOREIGN, lanes);
	gpu_count(&own_spread(l, self)->checked, -lanes);
}

/* May `me` be put over this read at once? Empty, or ordered before, or of the same CTA, with no more bytes. */
ALWAYS int is_free(u32 quick, u64 rec, u64 me)
{
	return ((rec_mask(rec) & ~(u32)me) == 0) & is_quiet(quick, me, rec);
}

/* A load: itself among the sampled reads. 1: it is there now, and has to look at the last write once more. */
ALWAYS int line_load(const struct gsan_launch *l, u32 quick, struct gsan_line *at, u64 me, u64 tail, u64 r0, u64 r1, u64 line)
{
	if (r0 == me || r1 == me)
		return 0;
	line_mark(at, tail, GSAN_LINE_READ);
	int free0 = is_free(quick, r0, me), place;
	if (free0 || is_free(quick, r1, me)) {
		gpu_store64(&at->read[free0 ? 0 : 1], me);
		return 1;
	}
	place = place_drawn(l, me, r0, r1, line, 1);
	if (place >= 0)
		gpu_store64(&at->read[place], me);
	return place >= 0;
}

/* `line`: as abi.h says of gsan_lines, canonical. Two waits: for the record, and for a second look
 * once ours stands there, because somebody may have come between and seen nothing of us. */
ALWAYS void line_fast(u64 launch, u64 self, u32 quick, u64 line, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u64 base = (self & REC_WHO) | 1ull << GSAN_REC_EPOCH_SHIFT, last, r0, r1, tail;
	u32 op = desc_op(desc), mask = line & GSAN_LINES_WHOLE ? 0xff : line & (GSAN_LINE / 2) ? 0xf0 : 0x0f;
	if ((u32)self)
		base = state_base(&own_tables(l)->state[(u32)self - 1], 1);
	line &= ~(u64)(GSAN_LINE - 1);
	u64 me = rec_of(base, op, desc & 0xffff, mask);
	struct gsan_line *at = (struct gsan_line *)(uintptr_t)gsan_shadow(line);
	gpu_load128(at, &last, &tail);
	gpu_load128(at->read, &r0, &r1);
	int store = op == GSAN_OP_ST;
	int quiet = !(u32)tail && is_quiet(quick, self, last) && op != GSAN_OP_LD_NC && !(self & SELF_STATELESS);
	if (store) /* nothing of another CTA may lie there, and the record may take the last one's place */
		quiet = quiet && is_quiet(quick, self, r0) && is_quiet(quick, self, r1) && !(rec_mask(last) & ~mask);
	u64 replaced = last, again0 = r0, again1 = r1;
	if (quiet && (store ? last != me : line_load(l, quick, at, me, tail, r0, r1, line))) {
		u64 now;
		if (store)
			replaced = gpu_exch64(&at->write, me);
		gpu_load128(at, &now, &tail); /* one sector: behind our record */
		if (store)
			gpu_load128(at->read, &again0, &again1);
		else
			replaced = now;
	}
	if (!quiet || replaced != last || again0 != r0 || again1 != r1 || (u32)tail)
		line_general(launch, self, line, desc, mask, store && replaced != last ? replaced : 0);
}

void gsan_lines(u64 launch, u64 self, u32 quick, u32 n, u64 line, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	if (gpu_lane() == 0)
		gpu_count(&spread_of(quick_participant(quick, self), self)->checked, 32 * n);
	if (line >> GSAN_DATA_SHIFT != GSAN_DATA_TOP && line) {
		u64 canonical = shadow_canonical(l, line);
		if (canonical == NO_ADDRESS)
			lines_foreign(launch, self, line, desc);
		line = canonical == NO_ADDRESS ? 0 : canonical;
	}
	if (line)
		line_fast(launch, self, quick, line, desc);
}

/* ---- relaxed RMWs whose result nobody reads ----------------------------------------------------------------------- */

/* The general case: takes its place in the shadow, where who makes an entry meanwhile finds it (sync_grace); then the lock of
 * its location's entry, if there is anybody to tell what it releases. 1: it has the lock. */
NEVER u32 red_general(u64 launch, u64 self, u64 address, u32 desc, u32 members)
{
	struct who w = who_of(launch, self, 1);
	u64 canonical = shadow_canonical(w.launch, address);
	int there = canonical != NO_ADDRESS;
	struct dev_sync *e = 0;
	struct access a = {.address = canonical & ~(u64)(GSAN_GRANULE - 1), .op = desc_op(desc), .site = desc & 0xffff,
			   .bytes = desc_bytes(desc), .mask = granule_mask(canonical, desc_bytes(desc))};
	if (sync_reachable(&w, canonical)) /* until it is said that there are such, all of them come here */
		sync_publishes(&w, canonical, desc);
	if (there)
		granule_bytes(&w, &a);
	if (!there) {
		count(w.launch, GSAN_N_FOREIGN, 1);
		gpu_count(&own_spread(w.launch, w.self)->checked, -1ull);
	}
	gpu_warp_sync(members);
	int publishes = sync_reachable(&w, canonical) && sync_publishes(&w, canonical, desc);
	EACH_OF(members, publishes)
		e = sync_entry(&w, canonical, desc);
	gpu_warp_sync(members);
	sync_hold(w.launch, e, members);
	return e != 0;
}

/* Does this record of a granule, of the same participant, say nothing to an RMW that makes `me`: quiet, of other bytes, or morally
 * strong with it? */
ALWAYS int red_agrees(u32 quick, u64 rec, u64 me)
{
	u32 a = rec_op(rec), b = rec_op(me);
	return is_quiet(quick, me, rec) |
	       ((quick_participant(quick, rec ^ me) == 0) & /* the same GPU */
		(((rec_mask(rec) & rec_mask(me)) == 0) |
		 ((a >= GSAN_OP_STRONG_LD) & ((a & b & 2) != 0) & (((u32)(rec ^ me) & 0xff) == 0)))); /* .gpu or .sys, the same bytes */
}

/* May a red take the place of this one at once? It is of what is ordered before, or the same. */
ALWAYS int red_free(u32 quick, u64 rec, u64 me)
{
	return (rec == 0) | quick_below(quick, me, rec) |
	       (quick_is_own(me, rec) & (((u32)(rec ^ me) & (31u << GSAN_REC_OP_SHIFT | 0xff)) == 0));
}

/* What is left to do: look closer; nothing; or all once more, for its record has to go in, or somebody else came between. */
enum red { RED_GENERAL, RED_DONE, RED_AGAIN };

/* Its record goes among the sampled reads of its granule, if `in`. Then `last` and `tail` are of the line behind it: somebody may have
 * come between, and have seen nothing of us. Both are on the way at once. */
ALWAYS enum red red_granule(const struct gsan_launch *l, u32 quick, struct gsan_granule *g, u64 me, u64 key, int in,
			    const struct gsan_line *at, u64 *last, u64 *tail, int *went)
{
	u64 r0, r1;
	gpu_load128(&g->read[0], &r0, &r1);
	if (!(red_agrees(quick, r0, me) & red_agrees(quick, r1, me)))
		return RED_GENERAL;
	if (r0 == me || r1 == me)
		return RED_DONE;
	int free1 = red_free(quick, r1, me), odd = (int)(me >> GSAN_REC_CTA_SHIFT & 1); /* who come at once take both places */
	int place = red_free(quick, r0, me) && !(free1 && odd) ? 0 : free1 ? 1 : -1;
	if (place < 0 && (quick_is_own(me, r0) || quick_is_own(me, r1)))
		return RED_GENERAL; /* other operations of this CTA */
	if (place < 0)
		place = place_drawn(l, me, r0, r1, key, gpu_ctas());
	if (place < 0)
		return RED_DONE;
	if (!in)
		return RED_AGAIN;
	u64 was = place ? r1 : r0, now = gpu_cas64(&g->read[place], was, me);
	gpu_load128(at, last, tail);
	*went = 1;
	return now == was ? RED_DONE : RED_AGAIN;
}

/* Quiet, all that may lie there of weak accesses? Lines of counters have none, and say so: the loads are the cost. */
ALWAYS int red_alone(u32 quick, const struct gsan_line *at, const struct gsan_granule *g, u64 me, u64 last, u64 tail)
{
	u64 r0 = 0, r1 = 0, w0 = 0, w1 = 0;
	if (tail >> 32 & GSAN_LINE_READ)
		gpu_load128(at->read, &r0, &r1);
	if (tail >> 32 & GSAN_LINE_WROTE)
		gpu_load128(g->write, &w0, &w1);
	return is_quiet(quick, me, last) &&
	       (!(tail >> 32 & (GSAN_LINE_READ | GSAN_LINE_WROTE)) || (is_quiet(quick, me, r0) && is_quiet(quick, me, r1) &&
								       is_quiet(quick, me, w0) && is_quiet(quick, me, w1)));
}

/* Is this launch in the coarse clock of the owner's tables? Once it is it stays covered, so that a yes may come from the L1:
 * all ask of one place, and L2 serves one after the other. */
ALWAYS int red_noted(const struct gsan_launch *l, u64 self, u32 quick, u64 address)
{
	const u64 *at = &dev_tables(gsan_owner(address))->coarse.slot[coarse_slot(quick_participant(quick, self), l->stream)];
	u64 slot = gpu_cached64(at);
	if (!slot || rec_tag(slot ^ self))
		slot = gpu_load64(at);
	return slot && !rec_tag(slot ^ self);
}

/* in: 0 looks only, and leaves to others what takes registers: nearly all find that nothing is left to do. */
ALWAYS enum red red_fast(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc, int in)
{
	u64 last, tail, granule = address & ~(u64)(GSAN_GRANULE - 1);
	u64 me = rec_of((self & REC_WHO) | 1ull << GSAN_REC_EPOCH_SHIFT, desc_op(desc), desc & 0xffff,
			granule_mask(address, desc_bytes(desc)));
	struct gsan_line *at = (struct gsan_line *)(uintptr_t)gsan_shadow(address);
	if (address >> GSAN_DATA_SHIFT != GSAN_DATA_TOP || (u32)self || self & SELF_STATELESS || desc_op(desc) == GSAN_OP_RMW + GSAN_SYS ||
	    !(gsan_owner(address) == quick_participant(quick, self) || l->mapped >> gsan_owner(address) & 1))
		return RED_GENERAL;
	gpu_load128(at, &last, &tail);
	if (!(u32)tail || tail >> 32 & GSAN_LINE_SYNC)
		return RED_GENERAL;
	if (desc_scope(desc) != GSAN_CTA && !red_noted(l, self, quick, address))
		return RED_AGAIN; /* its launch is about to be noted */
	struct gsan_granule *g = &detail_at(address, (u32)tail)->granule[granule % GSAN_LINE / GSAN_GRANULE];
	if (!red_alone(quick, at, g, me, last, tail))
		return RED_GENERAL;
	int went = 0;
	enum red is = red_granule(l, quick, g, me, granule, in, at, &last, &tail, &went);
	return !went || is == RED_AGAIN || red_alone(quick, at, g, me, last, tail) ? is : RED_GENERAL;
}

/* When a kernel begins many come to few places. */
#define RED_TRIES 4u
NEVER enum red red_again(const struct gsan_launch *l, u64 self, u32 quick, u64 address, u32 desc)
{
	enum red is = RED_AGAIN;
	for (u32 i = 0; i < RED_TRIES && is == RED_AGAIN; i++)
		is = red_fast(l, self, quick, address, desc, 1);
	return is;
}

u32 gsan_red(u64 launch, u64 self, u32 quick, u64 address, u32 desc)
{
	const struct gsan_launch *l = (const struct gsan_launch *)(uintptr_t)launch;
	u32 members = gpu_active();
	if (gpu_lane() == gpu_first(members))
		gpu_count(&spread_of(quick_participant(quick, self), self)->checked, gpu_popc(members));
	enum red is = red_fast(l, self, quick, address, desc, 0);
	if (is == RED_AGAIN)
		is = red_again(l, self, quick, address, desc);
	u32 rest = gpu_ballot(members, is != RED_DONE);
	return is == RED_DONE ? 0 : red_general(launch, self, address, desc, rest);
}

/* ---- strong operations and fences --------------------------------------------------------------------------------- */

ALWAYS u64 element_at(u64 canonical, u32 desc, u32 k)
{
	return canonical == NO_ADDRESS ? canonical : canonical + k * desc_element(desc);
}

ALWAYS u64 element_value(u64 value, u32 desc, u32 k) /* known only of 8 bytes in all */
{
	u32 bits = 8 * desc_element(desc);
	return bits < 64 ? value >> (k * bits & 63) & ((1ull << bits) - 1) : value;
}

/* Is a strong operation checked before it executes? Whoever saw what it wrote may be there otherwise, and would seem to
 * race with it. Not what acquires, which goes for itself, too, nor a CAS, which may write nothing: these keep their entry's
 * lock meanwhile. */
ALWAYS int looks_early(u32 desc) { return op_writes(desc_op(desc)) && !desc_acquires(desc) && !desc_is_cas(desc); }

/* A CAS of which nobody will say whether it wrote. In before() alone. */
ALWAYS int untold(u32 desc) { return op_is_rmw(desc_op(desc)) && desc & GSAN_DESC_VALUE; }
ALWAYS int at_once(u32 desc) { return desc_elements(desc) > 1 || untold(desc); }

ALWAYS void strong_access(const struct who *w, u64 canonical, u32 desc, u32 members)
{
	warp_scattered(w, canonical, desc_op(desc), desc & 0xffff, desc_vector(desc), desc_element(desc), members);
}

void gsan_before(u64 launch, u64 self, u64 address, u32 desc, u64 value)
{
	int early = looks_early(desc) && !untold(desc);
	struct who w = who_of(launch, self, early);
	u32 members = alike(desc);
	u64 canonical = shadow_canonical(w.launch, address);
	if (early)
		strong_access(&w, canonical, desc, members);
	for (u32 k = 0; k < desc_elements(desc); k++) {
		u64 at = element_at(canonical, desc, k);
		int publishes = sync_reachable(&w, at) && sync_publishes(&w, at, desc);
		struct dev_sync *e = 0;
		EACH_OF(members, publishes)
			e = sync_entry(&w, at, desc_scalar(desc));
		gpu_warp_sync(members);
		if (at_once(desc)) {
			EACH_OF(members, e != 0)
				sync_at_once(&w, e, at, desc_scalar(desc), element_value(value, desc, k));
		} else {
			sync_hold(w.launch, e, members);
			EACH_OF(members, e && w.state && desc_releases(desc) && sync_held(w.launch, e))
				sync_time(&w, e, desc);
		}
		gpu_warp_sync(members);
	}
}

/* Which versions the elements of a load have: of several, the sum, which grows with each. */
ALWAYS u32 look(const struct who *w, u64 canonical, u32 desc)
{
	u32 sum = 0;
	for (u32 k = 0; k < desc_elements(desc); k++) {
		u64 at = element_at(canonical, desc, k);
		sum += sync_reachable(w, at) ? sync_look(at, desc_element(desc)) : 0;
	}
	return sum;
}

/* What a load knew of one of its elements: nothing, if any of them has changed. */
ALWAYS u32 looked_at(const struct who *w, u64 canonical, u32 desc, u32 k, u32 looked)
{
	u64 at = element_at(canonical, desc, k);
	u32 this = desc_elements(desc) > 1 && looked && sync_reachable(w, at) ? sync_look(at, desc_element(desc)) : looked;
	return this == looked || look(w, canonical, desc) == looked ? this : 0;
}

u32 gsan_look(u64 launch, u64 self, u64 address, u32 desc)
{
	struct who w = who_of(launch, self, 0);
	u64 canonical = shadow_canonical(w.launch, address);
	return look(&w, canonical, desc);
}

/* After a strong operation and its check, by all lanes that made it. */
ALWAYS void settle(const struct who *w)
{
	EACH_LANE(w->state && gpu_load32(&w->state->fresh)) {
		if (lock_take(w->launch, &w->state->lock)) {
			clock_settle(w);
			gpu_unlock(&w->state->lock);
		}
	}
}

void gsan_reduced(u64 launch, u64 self, u64 address, u32 desc)
{
	struct who w = who_of(launch, self, 0);
	u64 canonical = shadow_canonical(w.launch, address);
	u32 members = gpu_active();
	struct dev_sync *e = sync_find(canonical, desc_bytes(desc), 0, 0), *held = 0;
	EACH_OF(members, 1)
		held = sync_after(&w, e, canonical, desc, 0, 0);
	sync_release(held, members);
	gpu_warp_sync(members);
	settle(&w);
}

/* Order that comes from where we cannot look: it may be any. */
ALWAYS void unreachable(const struct who *w, u32 desc)
{
	gpu_or32(&w->state->pending_flags, DEV_CLOCK_EVERYTHING);
	if (desc_sem(desc) != GSAN_SEM_NONE)
		gpu_or32(&w->state->clock.flags, DEV_CLOCK_EVERYTHING);
}

void gsan_after(u64 launch, u64 self, u64 address, u32 desc, u64 value, u32 looked)
{
	struct who w = who_of(launch, self, 1);
	/* A CAS that failed comes as a load: for the entry it goes with those that wrote, who share its lock. */
	u32 together = gpu_match64(gpu_active(), desc & (0xffffu | 63u << GSAN_DESC_BYTES_SHIFT));
	u64 canonical = shadow_canonical(w.launch, address);
	int reads = w.state && sync_reads(desc);
	struct dev_sync *held = 0;
	if (reads)
		gpu_fence_sys(); /* whoever's store we read has made its entry, and has its lock or has published */
	for (u32 k = 0; k < desc_elements(desc); k++) { /* first what it acquires: that goes for itself, too */
		u64 at = element_at(canonical, desc, k);
		int there = sync_reachable(&w, at), counts = there && (reads || op_writes(desc_op(desc)));
		struct dev_sync *e = counts ? sync_find(at, desc_element(desc), 0, 0) : 0;
		u32 known = looked_at(&w, canonical, desc, k, looked);
		if (reads && !there)
			unreachable(&w, desc);
		EACH_OF(together, counts)
			held = sync_after(&w, e, at, desc_scalar(desc), element_value(value, desc, k), known);
		gpu_warp_sync(together);
	}
	u32 members = alike(desc);
	int failed = desc_is_cas(desc) && !desc_is_rmw(desc);
	sync_release(failed ? held : 0, together); /* it wrote nothing: others need not wait for its check */
	if (!looks_early(desc))
		strong_access(&w, canonical, desc, members);
	sync_release(failed ? 0 : held, together);
	settle(&w);
	u32 checked = gpu_ballot(members, canonical != NO_ADDRESS);
	if (gpu_lane() == gpu_first(members))
		count_accesses(&w, gpu_popc(members), gpu_popc(checked));
}

void gsan_fence(u64 launch, u64 self, u32 desc)
{
	struct who w = who_of(launch, self, 0);
	u32 members = alike(desc);
	EACH_LANE(w.state && gpu_lane() == gpu_first(members))
		sync_fence(&w, desc);
	gpu_warp_sync(members);
}
