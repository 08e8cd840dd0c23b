/* The shadow of an access: from address to line record, byte-exact detail where a line was touched in parts, and the two
 * things done there: record, then look (DESIGN §4). A write exchanges the last-write record and looks at what it got
 * back and at the reads; a read stores itself among the sampled reads and looks at the last write afterwards. */
#ifndef GSAN_DEVICE_SHADOW_H
#define GSAN_DEVICE_SHADOW_H

#include "device/aside.h"
#include "device/desc.h"
#include "device/foreign.h"
#include "device/launch.h"
#include "device/observed.h"
#include "device/report.h"
#include "device/state.h"

#define NO_ADDRESS (~0ull)

/* In a table of ranges, which may be written meanwhile. NO_ADDRESS: in none of them. */
ALWAYS u64 range_search(const struct gsan_ranges *t, u64 address)
{
	u32 low = 0, high = gpu_load32(&t->count);
	if (address < gpu_load64(&t->low) || address >= gpu_load64(&t->high) || high > GSAN_RANGES)
		return NO_ADDRESS;
	while (low < high) { /* the first that begins behind it */
		u32 mid = (low + high) / 2;
		if (gpu_load64(&t->range[mid].base) <= address)
			low = mid + 1;
		else
			high = mid;
	}
	const struct gsan_range *r = &t->range[low ? low - 1 : 0];
	u64 inside = address - gpu_load64(&r->base);
	return inside < gpu_load64(&r->size) ? gpu_load64(&r->canonical) + inside : NO_ADDRESS;
}

/* The same for what lies outside the arena: module variables, memory of hosts. Of a participant whose tables are out of reach that has
 * none; of those in its own process all are. `writes`: it is an access that may tell a host something. */
#define RANGE_TRIES 4u
NEVER u64 shadow_range(const struct gsan_launch *l, u64 address, int writes)
{
	const struct gsan_ranges_both *both = (const void *)(uintptr_t)(l->view_table + GSAN_RANGES_OFFSET);
	for (u32 tries = 0; l->view_table && tries < RANGE_TRIES; tries++) {
		u32 now = gpu_load32(&both->now);
		u64 canonical = range_search(&both->table[now & 1], address);
		if (canonical == NO_ADDRESS)
			return NO_ADDRESS;
		if (gpu_load32(&both->now) != now)
			continue;
		if (!(l->mapped >> gsan_owner(canonical) & 1))
			return NO_ADDRESS;
		if (writes && gsan_is_hosts(canonical))
			foreign_told(l);
		return canonical;
	}
	return NO_ADDRESS;
}

/* Canonical address of an access, or NO_ADDRESS: not checked. */
ALWAYS u64 shadow_address(const struct gsan_launch *l, u64 address, int writes)
{
	if (address >> GSAN_DATA_SHIFT == GSAN_DATA_TOP)
		return address;
	if (address >> GSAN_VIEW_SHIFT != GSAN_VIEW_TOP || !l->view_table)
		return shadow_range(l, address, writes);
	u64 page = (address - GSAN_VIEW_BASE) / GSAN_PAGE;
	u32 entry = gpu_load32((const u32 *)(uintptr_t)l->view_table + page);
	return entry ? GSAN_DATA_BASE + (u64)(entry - 1) * GSAN_PAGE + address % GSAN_PAGE : NO_ADDRESS;
}
ALWAYS u64 shadow_canonical(const struct gsan_launch *l, u64 address) { return shadow_address(l, address, 0); }
ALWAYS u64 shadow_accessed(const struct gsan_launch *l, u64 address, u32 desc) { return shadow_address(l, address, op_may_write(desc_op(desc))); }

/* Do the bytes from there on lie side by side in the arena, too (shadow_address)? Not beyond a page of a view, nor from one variable to the next. */
ALWAYS int shadow_is_linear(u64 address, u32 bytes)
{
	return address >> GSAN_DATA_SHIFT == GSAN_DATA_TOP ||
	       (address >> GSAN_VIEW_SHIFT == GSAN_VIEW_TOP && (address ^ (address + bytes - 1)) < GSAN_PAGE);
}

ALWAYS u64 rec_make(const struct who *w, const struct access *a) { return rec_of(w->base, a->op, a->site, a->mask); }

/* Is it a read, or an RMW, of another warp of this CTA since the last barrier? What this warp releases may not publish it: it stays. Writes
 * count as before what this warp does: who writes over what he is not behind has a race within the CTA. */
NEVER int rec_of_others(const struct who *w, u64 me, u64 old)
{
	u32 bits = w->launch->warp_bits;
	return !((me ^ old) & REC_WHO) && (!op_writes(rec_op(old)) || rec_is_rmw(old)) && !rec_behind(me, old, bits, state_synced(w->state, w->warp, w->base, bits));
}

ALWAYS int rec_is_below(const struct who *w, u64 old)
{
	u32 tag = rec_tag(old);
	return tag_below_floor(w->launch, tag) || (tag != w->launch->tag && tag_far_below_floor(w->launch, tag));
}

/* May `me` take the place of `old`? Only if it is ordered after it (by launch numbers, or as the same CTA) and conflicts
 * with at least as much: bytes ⊇, write over read, weak over strong, narrower over wider scope; strong over strong only of
 * the same bytes and participant, for what is morally strong with the one is not with the other. */
ALWAYS int rec_hides(const struct who *w, u64 me, u64 old)
{
	u32 a = rec_op(me), b = rec_op(old);
	if (!old)
		return 1;
	if (keeps_no_clock(w) && op_observes(a) && rec_is_below(w, old))
		return 1; /* where it finds no place, it is not known afterwards whether there was one (observed.h) */
	if (rec_mask(old) & ~rec_mask(me) || (op_writes(b) && !op_writes(a)))
		return 0;
	int read_weakly = !op_is_strong(a) && !op_may_write(a) && !op_may_write(b);
	if ((keeps_no_clock(w) || read_weakly) && op_is_strong(b) && a != b && !((me ^ old) & REC_WHO) && !(op_is_rmw(a) && !op_writes(b)))
		return 0; /* it says, too, what this CTA observed, or wrote (observed.h, word_witness) */
	if (op_is_strong(a) && (!op_is_strong(b) || op_scope(a) > op_scope(b) || rec_mask(old) != rec_mask(me) ||
				tag_participant(w->launch, rec_tag(old)) != w->launch->participant))
		return 0;
	if (w->state && rec_of_others(w, me, old))
		return 0;
	if (!((me ^ old) & REC_WHO) || rec_is_below(w, old))
		return 1;
	/* Beside another stream's work whatever its own stream did since lies above the floor. (Strong ones say what was observed, too.) */
	return !op_is_strong(a) && !op_is_strong(b) && !keeps_no_clock(w) && tag_before(w->launch, rec_tag(old));
}

/* Which of two places may be `me`'s; -1: neither. */
ALWAYS int place_hidden(const struct who *w, u64 me, const u64 *r) { return rec_hides(w, me, r[0]) ? 0 : rec_hides(w, me, r[1]) ? 1 : -1; }

/* One of three does not stay: whose place is `me`'s, or -1. Reads and atomics each keep a place if there are both, for what the one
 * races with may be strong with the other; the least hashes of its kind decide. Of the losses every 256th is counted, as 256.
 * `ctas`: of so many only some draw at all (red_draws); 1: all do. */
ALWAYS int place_drawn(const struct gsan_launch *l, u64 me, u64 r0, u64 r1, u64 key, u32 ctas)
{
	u32 h = sample_hash(me, key, l->seed), atomic = rec_is_rmw(me), atomic0 = rec_is_rmw(r0), atomic1 = rec_is_rmw(r1);
	if (!(h >> 24))
		gpu_count(&own_spread(l, me)->lost, 256);
	int one = atomic0 != atomic1, first = atomic0 == atomic1 && atomic != atomic0; /* of its kind one is there; none */
	if (!first && !red_draws(h, ctas))
		return -1;
	u32 h0 = sample_hash(r0, key, l->seed), h1 = sample_hash(r1, key, l->seed);
	int at = one ? atomic1 == atomic : h0 < h1;
	return first || h < (at ? h1 : h0) ? at : -1;
}

/* Would an atomic that hides another record have the largest hash of the atomics in these places, or a strong read that of the reads? Such
 * as found none since would then seem not to have asked for one (observed.h). Where none of its kind is, or a place is free, none was turned
 * away. */
ALWAYS int place_rises(const struct gsan_launch *l, u64 me, u64 r0, u64 r1, u64 key)
{
	int kind0 = rec_is_rmw(r0) == rec_is_rmw(me), kind1 = rec_is_rmw(r1) == rec_is_rmw(me);
	if (!op_observes(rec_op(me)) || !(kind0 | kind1) || !rec_live(l, r0) || !rec_live(l, r1))
		return 0;
	u32 h = sample_hash(me, key, l->seed);
	return !(kind0 && h <= sample_hash(r0, key, l->seed)) && !(kind1 && h <= sample_hash(r1, key, l->seed));
}

/* May two weak records be one: of the same instruction, CTA and epoch, at other bytes? So it is with lanes that go alone. */
ALWAYS int rec_beside(u64 me, u64 old) { return !((me ^ old) & ~0xffull) && !op_is_strong(rec_op(me)); }
ALWAYS int place_beside(u64 me, const u64 *r) { return rec_beside(me, r[0]) ? 0 : rec_beside(me, r[1]) ? 1 : -1; }

/* Puts a weak write where `was` stands, united with what lies there beside it. Returns what another made and it took out, or `was`. */
ALWAYS u64 shadow_write(u64 *place, u64 was, u64 me)
{
	for (;;) {
		int beside = rec_beside(me, was);
		me |= beside ? was : 0;
		if (me == was)
			return was;
		u64 now = beside ? gpu_cas64(place, was, me) : gpu_exch64(place, me);
		if (beside ? now == was : !rec_beside(me, now) || !(now & ~me))
			return now;
		was = now;
	}
}

/* Puts a read (or an atomic) into one of its sampled places: an empty one, one that it may hide, else the one with the
 * larger hash if that exceeds ours: the k smallest stay, a uniform sample. Of two that want a place at once one looks again: `r`
 * is what was there last. 1: it went in. */
ALWAYS int shadow_sample(const struct who *w, u64 me, u64 *place, u64 *r, u64 key, int in_granule)
{
	while (r[0] != me && r[1] != me) {
		int beside = place_beside(me, r), at = beside >= 0 ? beside : place_hidden(w, me, r);
		me |= beside >= 0 ? r[at] : 0;
		if (beside < 0 && (at < 0 || (in_granule && place_rises(w->launch, me, r[0], r[1], key))))
			at = place_drawn(w->launch, me, r[0], r[1], key, 1);
		if (at < 0)
			return 0;
		u64 was = r[at];
		r[at] = gpu_cas64(&place[at], was, me);
		if (r[at] == was) {
			aside_replaced(w->launch, key, was, me, !in_granule);
			return 1;
		}
	}
	return 0;
}

/* ---- detail --------------------------------------------------------------------------------------------------- */

/* Sets a flag of a line; `tail`: detail and flags as they were read. */
ALWAYS void line_mark(struct gsan_line *line, u64 tail, u32 flag)
{
	if (!(tail >> 32 & flag))
		gpu_or32(&line->flags, flag);
}

/* The detail of a line, taken from its owner's pool if it has none, for the record of an access; NULL: the pool is empty. */
NEVER struct gsan_detail *detail_new(const struct who *w, struct gsan_line *line, const struct access *a)
{
	struct dev_tables *t = dev_tables(gsan_owner(a->address));
	u32 index = gpu_load32(&line->detail);
	if (!index) {
		u32 blocks = DEV_DETAILS + gpu_load32(&t->detail_more);
		index = gpu_load32(&t->detail_next) < blocks ? gpu_add32(&t->detail_next, 1) + 1 : ~0u;
		if (index > blocks) {
			gpu_count(&own_spread(w->launch, w->self)->unrecorded, 1);
			return 0;
		}
		u32 old = gpu_cas32(&line->detail, 0, index);
		index = old ? old : index; /* the loser's block stays unused */
	}
	return detail_at(a->address, index);
}
/* `tail`: detail and flags as they were read. */
ALWAYS struct gsan_detail *detail_of(const struct who *w, struct gsan_line *line, u64 tail, const struct access *a)
{
	if (op_may_write(a->op))
		line_mark(line, tail, op_is_rmw(a->op) ? GSAN_LINE_ATOMIC : GSAN_LINE_WROTE);
	return (u32)tail ? detail_at(a->address, (u32)tail) : detail_new(w, line, a);
}
ALWAYS struct gsan_detail *detail_get(const struct who *w, const struct access *a)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(a->address);
	return detail_of(w, line, gpu_load64(&line->detail), a);
}

ALWAYS void granule_check(struct who *w, const struct gsan_granule *g, const struct access *a)
{
	for (u32 i = 0; i < 4; i += 2) {
		u64 r[2];
		gpu_load128(&g->write[i], &r[0], &r[1]);
		check(w, r[0], rec_mask(r[0]), a, &g->write[i]);
		check(w, r[1], rec_mask(r[1]), a, &g->write[i + 1]);
	}
}

/* Where a write goes among the two places: an empty one, one that it may hide, else any, so that all seeds together keep
 * each of two writes that do not stand for each other. A write must look at what it replaces: it always goes in. */
ALWAYS u32 granule_write_place(const struct who *w, u64 me, const u64 *r, u64 key)
{
	int beside = place_beside(me, r), place = beside >= 0 ? beside : place_hidden(w, me, r);
	if (place >= 0)
		return (u32)place;
	gpu_count(&own_spread(w->launch, me)->lost, 1);
	return sample_hash(r[0], key, w->launch->seed) >= sample_hash(r[1], key, w->launch->seed) ? 0 : 1;
}

/* Puts the record of an access into its granule. r: what was there then. With GRANULE_TOOK another record, *took, came between and was taken out
 * of a place for it. Apart from the checks, which keep on the stack what lives across them. */
#define GRANULE_RECORDED 1u
#define GRANULE_TOOK 2u
#define GRANULE_AT_1 4u /* it was the second place */
NEVER u32 granule_record(const struct who *w, struct gsan_granule *g, struct access *a, u64 *r, u64 *took)
{
	u64 me = rec_make(w, a), was[4];
	u32 is = GRANULE_RECORDED;
	gpu_load128(&g->write[0], &was[0], &was[1]);
	gpu_load128(&g->read[0], &was[2], &was[3]);
	a->asks_before = 1;
	a->before[0] = was[2];
	a->before[1] = was[3];
	if (op_writes(a->op) && !op_is_rmw(a->op)) {
		u32 at = granule_write_place(w, me, was, a->address);
		u64 old = at ? was[1] : was[0], other = at ? was[0] : was[1];
		if (old != me) {
			*took = shadow_write(&g->write[at], old, me);
			aside_replaced(w->launch, a->address, *took, me, 0);
			if (*took != old)
				is |= at ? GRANULE_TOOK | GRANULE_AT_1 : GRANULE_TOOK;
			if (other && rec_hides(w, me, other)) { /* whose place is wanted, by the next strong write perhaps */
				gpu_cas64(&g->write[!at], other, 0);
				aside_replaced(w->launch, a->address, other, me, 0);
			}
		}
	} else if (op_is_try(a->op) && (rec_has_written(was[2], me) || rec_has_written(was[3], me))) {
		is = 0;
	} else {
		is = shadow_sample(w, me, g->read, was + 2, a->address, 1) ? GRANULE_RECORDED : 0;
	}
	for (u32 i = 0; i < 4; i++)
		r[i] = was[i];
	return is;
}

/* One granule: a->address is its address, a->mask its bytes. */
NEVER void granule_access(struct who *w, struct gsan_granule *g, struct access *a)
{
	u64 r[4], took;
	u32 is = granule_record(w, g, a, r, &took);
	if (is & GRANULE_TOOK)
		check(w, took, rec_mask(took), a, &g->write[is & GRANULE_AT_1 ? 1 : 0]);
	for (u32 i = 0; i < 4; i++) /* what was there when the record went in */
		check(w, r[i], rec_mask(r[i]), a, &g->write[i]);
	for (u32 i = 0; is & GRANULE_RECORDED && i < 4; i += 2) { /* look again: somebody may have come between, and have seen nothing of us */
		u64 now[2];
		gpu_load128(&g->write[i], &now[0], &now[1]);
		for (u32 k = 0; k < 2; k++)
			if (now[k] != r[i + k])
				check(w, now[k], rec_mask(now[k]), a, &g->write[i + k]);
	}
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* Makes an access of the line the part of it that falls on granule `g`; there is one such structure on the stack, not one for each level. */
ALWAYS void access_part(struct access *a, u64 line, u32 g, u32 mask)
{
	a->address = line + g * GSAN_GRANULE;
	a->mask = mask;
	a->whole = a->asks_before = 0;
}
ALWAYS void access_line(struct access *a, u64 line, u32 sectors)
{
	a->address = line;
	a->mask = sectors;
	a->whole = 1;
	a->asks_before = 0;
}

/* A line record against an access of granule `g`: all its bytes, if the record has its sector. */
ALWAYS void check_line_record(struct who *w, u64 rec, u32 g, const struct access *part, const u64 *where)
{
	check(w, rec, rec_mask(rec) >> (g / 2) & 1 ? 0xff : 0, part, where);
}

/* An access of granule `g` against the line's records, after it is among those of its granule: whoever goes into the line
 * now looks at the detail after that. */
NEVER void line_check_records(struct who *w, const struct access *part)
{
	const struct gsan_line *line = (const struct gsan_line *)(uintptr_t)gsan_shadow(part->address);
	u32 g = part->address % GSAN_LINE / GSAN_GRANULE;
	u64 last, tail, r0, r1;
	gpu_load128(line, &last, &tail);
	gpu_load128(line->read, &r0, &r1);
	check_line_record(w, last, g, part, &line->write);
	check_line_record(w, r0, g, part, &line->read[0]);
	check_line_record(w, r1, g, part, &line->read[1]);
}

/* The sectors of a whole-sector access, byte-exactly, in the detail: for writes that may not take the line's record. */
ALWAYS void line_by_granules(struct who *w, struct access *a)
{
	struct gsan_detail *d = detail_get(w, a);
	u64 line = a->address;
	u32 sectors = a->mask;
	for (u32 g = 0; d && g < GSAN_LINE / GSAN_GRANULE; g++) {
		access_part(a, line, g, 0xff);
		if (sectors >> (g / 2) & 1)
			granule_access(w, &d->granule[g], a);
	}
	access_line(a, line, sectors);
}

/* Records in the detail under the sectors of a whole-sector access. */
ALWAYS void line_check_detail(struct who *w, struct access *a, u32 index)
{
	struct gsan_detail *d = detail_at(a->address, index);
	u64 line = a->address;
	u32 sectors = a->mask;
	for (u32 g = 0; g < GSAN_LINE / GSAN_GRANULE; g++) {
		access_part(a, line, g, 0xff);
		if (sectors >> (g / 2) & 1)
			granule_check(w, &d->granule[g], a);
	}
	access_line(a, line, sectors);
}

/* Is this a late write whose place somebody behind it has taken with as many bytes? It looks, and leaves no record. */
NEVER int line_is_behind(struct who *w, struct access *a)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(a->address);
	u64 r0, r1, last, tail;
	gpu_load128(line, &last, &tail);
	if (!op_writes(a->op) || !last || a->mask & ~rec_mask(last) || last == rec_make(w, a) || !behind(w, last))
		return 0;
	gpu_load128(line->read, &r0, &r1);
	check(w, last, rec_mask(last), a, &line->write);
	check(w, r0, rec_mask(r0), a, &line->read[0]);
	check(w, r1, rec_mask(r1), a, &line->read[1]);
	if ((u32)tail)
		line_check_detail(w, a, (u32)tail);
	return 1;
}

/* Puts the record of an access into its line. *last: the write that was there before; *old: what came between and was taken out for it, else the
 * same. Apart from the checks, as granule_record. */
enum line { LINE_RECORDED, LINE_UNRECORDED, LINE_OF_OTHERS /* the write there stays */ };
NEVER enum line line_record(const struct who *w, const struct access *a, u64 *last, u64 *old)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(a->address);
	u64 r[2], now, tail, me = rec_make(w, a);
	gpu_load128(line, &now, &tail);
	gpu_load128(line->read, &r[0], &r[1]);
	*last = *old = now;
	if (!op_writes(a->op)) {
		line_mark(line, tail, GSAN_LINE_READ);
		return shadow_sample(w, me, line->read, r, a->address, 0) ? LINE_RECORDED : LINE_UNRECORDED;
	}
	if (!rec_beside(me, now) && !rec_hides(w, me, now))
		return LINE_OF_OTHERS;
	if (now != me)
		*old = shadow_write(&line->write, now, me);
	aside_replaced(w->launch, a->address, *old, me, 1);
	return LINE_RECORDED;
}

/* Then it looks. */
NEVER void line_look(struct who *w, struct access *a, enum line is, u64 last, u64 old)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(a->address);
	u64 r0, r1;
	if (is == LINE_OF_OTHERS)
		old = gpu_load64(&line->write); /* who took the line meanwhile has not seen us in the detail */
	if (old != last)
		check(w, old, rec_mask(old), a, &line->write);
	check(w, last, rec_mask(last), a, &line->write);
	if (op_writes(a->op)) {
		gpu_load128(line->read, &r0, &r1); /* now that the write stands there */
		check(w, r0, rec_mask(r0), a, &line->read[0]);
		check(w, r1, rec_mask(r1), a, &line->read[1]);
	} else if (is == LINE_RECORDED) {
		u64 again = gpu_load64(&line->write);
		if (again != last)
			check(w, again, rec_mask(again), a, &line->write);
	}
	u64 tail = gpu_load64(&line->detail); /* with whoever is in it by now */
	if ((u32)tail && (op_may_write(a->op) || tail >> 32 & (GSAN_LINE_WROTE | GSAN_LINE_ATOMIC)))
		line_check_detail(w, a, (u32)tail);
}

/* Whole sectors of one line: a->address is the line, a->mask its sectors. */
ALWAYS void line_access(struct who *w, struct access *a)
{
	u64 last, old;
	if (RANGES && line_is_behind(w, a))
		return;
	enum line is = line_record(w, a, &last, &old);
	if (is == LINE_OF_OTHERS)
		line_by_granules(w, a); /* other sectors' writer, or another CTA: keep both */
	line_look(w, a, is, last, old);
}

/* May `me`, which is weak, take the place of this record at once: of the same kind, of no more bytes, ordered before or of this warp? */
ALWAYS int granule_hides(const struct who *w, u64 me, u64 rec)
{
	return !rec || (!((u32)rec & ~(u32)me & 0xff) && rec_op(rec) == rec_op(me) && is_quiet(w->launch->quick, w->self, rec) &&
			(!quick_is_own(me, rec) || stamp_same_warp(rec, me, w->launch->warp_bits)));
}
/* Quiet, or of other bytes? */
ALWAYS int is_apart(const struct who *w, u64 rec, u32 mask) { return is_quiet(w->launch->quick, w->self, rec) | ((rec_mask(rec) & mask) == 0); }
ALWAYS int are_apart(const struct who *w, u64 a, u64 b, u32 mask) { return is_apart(w, a, mask) & is_apart(w, b, mask); }

/* Bytes of one granule, weakly, where nothing lies that races with them: nearly always. Two waits, as in lines.h, behind that for the line.
 * last: its record. 0: the general case, in which ours is there already, perhaps. */
ALWAYS int granule_fast(const struct who *w, const struct gsan_line *line, struct gsan_granule *g, const struct access *a, u64 last)
{
	u64 r[4], now[4], tail, me = rec_make(w, a);
	int store = a->op == GSAN_OP_ST;
	gpu_load128(g->write, &r[0], &r[1]);
	gpu_load128(g->read, &r[2], &r[3]);
	if (!are_apart(w, r[0], r[1], a->mask) || ((store || rec_is_rmw(r[2]) || rec_is_rmw(r[3])) && !are_apart(w, r[2], r[3], a->mask)))
		return 0;
	u64 r0 = store ? r[0] : r[2], r1 = store ? r[1] : r[3], *place = store ? g->write : g->read; /* where it goes */
	int beside = place_beside(me, store ? r : r + 2), hides0 = granule_hides(w, me, r0), hides1 = granule_hides(w, me, r1);
	if (beside < 0 && (!(hides0 | hides1) || (store && hides0 && hides1 && (r0 || r1)))) /* the other place is to be free then */
		return 0;
	int at = beside >= 0 ? beside : !hides0;
	u64 was = at ? r1 : r0, other = at ? r0 : r1, put = beside >= 0 ? was | me : me;
	if (put != was) {
		if (aside_holds(w->launch, was, me) || gpu_cas64(&place[at], was, put) != was)
			return 0;
		gpu_load128(g->write, &now[0], &now[1]); /* somebody may have come between, and have seen nothing of us */
		gpu_load128(g->read, &now[2], &now[3]);
		gpu_load128(line, &last, &tail);
		if (now[store ? 2 : 0] != r[store ? 2 : 0] || now[store ? 3 : 1] != r[store ? 3 : 1] || now[(store ? 0 : 2) + !at] != other)
			return 0;
	}
	if (store)
		gpu_load128(line->read, &r0, &r1);
	u32 sector = 1u << a->address % GSAN_LINE / GSAN_SECTOR;
	return is_apart(w, last, sector) && (!store || are_apart(w, r0, r1, sector));
}

/* Bytes of one granule: all of a scattered access, or what fills no sector. The quick way is apart, so that nothing of it lies on the stack below
 * the general one. 1: that was all. */
NEVER int granule_quick(const struct who *w, const struct access *a)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(a->address);
	u64 last, tail;
	gpu_load128(line, &last, &tail);
	struct gsan_detail *d = detail_of(w, line, tail, a);
	return d && granule_fast(w, line, &d->granule[a->address % GSAN_LINE / GSAN_GRANULE], a, last);
}
ALWAYS struct gsan_granule *granule_get(const struct who *w, const struct access *a)
{
	struct gsan_detail *d = detail_get(w, a);
	return d ? &d->granule[a->address % GSAN_LINE / GSAN_GRANULE] : 0;
}
ALWAYS void granule_bytes(struct who *w, struct access *a)
{
	int weak = a->op <= GSAN_OP_ST && !w->stateless;
	if (weak && granule_quick(w, a))
		return;
	struct gsan_granule *g = weak ? granule_at(a->address) : granule_get(w, a);
	if (g)
		granule_access(w, g, a);
	line_check_records(w, a);
}

/* Which of four bytes are not 0. */
ALWAYS u32 bytes_any(u32 word)
{
	u32 high = (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >> 7 & 0x01010101;
	return (high * 0x10204080) >> 28;
}
/* The granules of sectors, two a sector; the granule's bytes in a cover. */
ALWAYS u32 granules_of(u32 sectors)
{
	u32 twice = (sectors | sectors << 4) & 0x0f0f;
	twice = (twice | twice << 2) & 0x3333;
	twice = (twice | twice << 1) & 0x5555;
	return twice * 3;
}
ALWAYS u32 cover_byte(const u32 cover[4], u32 g)
{
	u32 low = g & 4 ? cover[1] : cover[0], high = g & 4 ? cover[3] : cover[2];
	return (g & 8 ? high : low) >> (g % 4 * 8) & 0xff;
}

/* Which sectors of a line go to it whole: not those of a strong operation, each of which goes by itself, for it must overlap completely to be
 * morally strong. */
ALWAYS u32 cover_sectors(const u32 cover[4], u32 op)
{
	u32 whole = 0;
	for (u32 s = 0; s < 8 && !op_is_strong(op); s++)
		whole |= (u32)((cover[s / 2] >> (s % 2 * 16) & 0xffff) == 0xffff) << s;
	return whole;
}

/* Of the granules `rest` of the line one in `lanes`, from the one of number `rank` on. */
ALWAYS void line_granules(struct who *w, struct access *a, u64 line, const u32 cover[4], u32 rest, u32 rank, u32 lanes)
{
	u32 unit = a->element && a->element < GSAN_GRANULE ? a->element : GSAN_GRANULE;
	for (u32 nth = 0; rest; rest &= rest - 1) {
		if (nth++ != rank)
			continue;
		rank += lanes;
		for (u32 at = 0; at < GSAN_GRANULE; at += unit) {
			u32 g = gpu_first(rest);
			access_part(a, line, g, cover_byte(cover, g) & ((1u << unit) - 1) << at);
			if (a->mask)
				granule_bytes(w, a);
		}
	}
}

/* ---- a warp's access ------------------------------------------------------------------------------------------- */

/* Bits [from, to) of 128, as word k of four. */
ALWAYS u32 cover_word(int from, int to, int k)
{
	int lo = from - k * 32, hi = to - k * 32;
	lo = lo < 0 ? 0 : lo > 32 ? 32 : lo;
	hi = hi < 0 ? 0 : hi > 32 ? 32 : hi;
	return hi <= lo ? 0 : (u32)(((1ull << hi) - 1) & ~((1ull << lo) - 1));
}

/* ORs a line's cover over the lanes of each group, for all of them. Each lane adds what a later one of its group has, which is by
 * then twice as many lanes' at each step. */
ALWAYS void group_or(int whole, u32 group, u32 cover[4])
{
	u32 lane = gpu_lane(), later = group & ~1u << lane, next = later ? gpu_first(later) : 32;
	while (gpu_which(whole, next < 32)) {
		u32 from = next < 32 ? next : lane;
		for (int k = 0; k < 4; k++)
			cover[k] |= gpu_from(whole, cover[k], from);
		next = gpu_from(whole, next, from);
	}
	for (int k = 0; k < 4; k++)
		cover[k] = gpu_from(whole, cover[k], gpu_first(group));
}

/* Bytes [from, to) of the line at `first`, by the lanes with `mine`. The lanes of `group` are on one line: the first takes whole sectors, and the
 * detail if there is to be one, all of them share the granules that are left. */
NEVER void warp_line(struct who *w, struct access *a, u64 first, int from, int to, int mine, u32 group, int whole)
{
	u32 cover[4], rest = 0;
	for (int k = 0; k < 4; k++)
		cover[k] = mine ? cover_word(from, to, k) : 0;
	group_or(whole, group, cover);
	a->address = first;
	u32 sectors = cover_sectors(cover, a->op);
	for (int k = 0; k < 4; k++)
		rest |= bytes_any(cover[k]) << 4 * k;
	rest &= ~granules_of(sectors);
	if (mine && gpu_leads(group)) {
		access_line(a, first, sectors);
		if (sectors)
			line_access(w, a);
		if (rest)
			detail_get(w, a);
	}
	gpu_meet(whole);
	if (mine)
		line_granules(w, a, first, cover, rest, gpu_popc(group & ((1u << gpu_lane()) - 1)), gpu_popc(group));
	gpu_meet(whole);
}

/* One access of each lane of a whole warp, side by side from `start` on: whole sectors, by a lane for each line, and the bytes of the sectors that
 * it begins and ends in, by two. */
NEVER void warp_run(struct who *w, u64 start, u32 op, u32 site, u32 bytes)
{
	struct access a = {.op = op, .site = site, .bytes = bytes};
	u32 lane = gpu_lane();
	u64 end = start + 32 * bytes, line = (start & ~(u64)(GSAN_LINE - 1)) + lane * GSAN_LINE;
	u32 from = line < start ? (u32)(start - line) : 0, to = line + GSAN_LINE > end ? (u32)(end - line) : GSAN_LINE;
	u32 first = (from + GSAN_SECTOR - 1) / GSAN_SECTOR, last = to / GSAN_SECTOR;
	if (line < end && first < last) {
		access_line(&a, line, (1u << last) - (1u << first));
		line_access(w, &a);
	}
	gpu_warp_sync();
	u64 edge = lane ? end : start, sector = edge & ~(u64)(GSAN_SECTOR - 1);
	int parted = lane < 2 && edge % GSAN_SECTOR;
	line = sector & ~(u64)(GSAN_LINE - 1);
	a.address = line;
	if (parted && (!lane || start % GSAN_SECTOR == 0 || line != (start & ~(u64)(GSAN_LINE - 1))))
		detail_get(w, &a); /* the other one finds it */
	gpu_warp_sync();
	for (u32 g = sector % GSAN_LINE / GSAN_GRANULE, n = 0; parted && n < 2; g++, n++) {
		u64 at = line + g * GSAN_GRANULE;
		u32 low = at < start ? (u32)(start - at) : 0, high = at + GSAN_GRANULE > end ? at < end ? (u32)(end - at) : 0 : GSAN_GRANULE;
		access_part(&a, line, g, low < high ? (1u << high) - (1u << low) : 0);
		if (a.mask)
			granule_bytes(w, &a);
	}
	gpu_warp_sync();
}

/* One access of each lane, of any pattern. `canonical` is NO_ADDRESS for lanes that do not take part. */
NEVER void warp_scattered(struct who *w, u64 canonical, u32 op, u32 site, u32 bytes, u32 element, int whole)
{
	struct access a = {.op = op, .site = site, .bytes = bytes, .element = element};
	int there = canonical != NO_ADDRESS, from = (int)((u32)canonical & (GSAN_LINE - 1)), to = from + (int)bytes;
	u64 line = canonical & ~(u64)(GSAN_LINE - 1);
	u32 group = gpu_same(whole, there ? line : NO_ADDRESS), shared = gpu_which(whole, there && gpu_popc(group) > 1);
	int alone = there && (!element || element == bytes) && (from & 7) + (int)bytes <= (int)GSAN_GRANULE;
	if (shared) { /* in its granule, where no sector is filled */
		u32 same = gpu_same(whole, there ? canonical / GSAN_GRANULE : NO_ADDRESS);
		alone = alone && gpu_popc(same) == 1 && (bytes < GSAN_GRANULE || gpu_popc(group) < GSAN_SECTOR / GSAN_GRANULE);
		same = gpu_which(whole, alone);
		a.address = line;
		if (alone && gpu_leads(group & same))
			detail_get(w, &a); /* the others find it */
		gpu_meet(whole);
		there = there && !alone;
		group = there ? group & ~same : 1u << gpu_lane();
	}
	if (alone) {
		a.address = canonical & ~(u64)(GSAN_GRANULE - 1);
		a.mask = granule_mask(canonical, bytes);
		granule_bytes(w, &a);
		there = 0;
	}
	gpu_meet(whole);
	if (gpu_which(whole, there))
		warp_line(w, &a, line, from, to < (int)GSAN_LINE ? to : (int)GSAN_LINE, there, group, whole);
	int over = there && to > (int)GSAN_LINE; /* vectors of 32 bytes may straddle */
	if (gpu_which(whole, over)) {
		group = gpu_same(whole, over ? line : NO_ADDRESS);
		warp_line(w, &a, line + GSAN_LINE, 0, to - (int)GSAN_LINE, over, group, whole);
	}
}

#endif
