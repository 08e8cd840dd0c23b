/* A racy pair becomes a finding: named from the launch table, sent once per pair of sites and pair of launches, into the
 * ring that the supervisor reads. */
#ifndef GSAN_DEVICE_REPORT_H
#define GSAN_DEVICE_REPORT_H

#include "device/behind.h"
#include "device/elem_order.h"
#include "device/hint.h"
#include "device/launch.h"
#include "device/learnt.h"
#include "device/looks.h"
#include "device/observed.h"
#include "device/order.h"

ALWAYS int report_seen(const struct dev_tables *t, u64 key)
{
	key = key ? key : 1;
	for (u32 i = 0; i < 8; i++)
		if (gpu_load64(&t->seen[(key + i) & (DEV_SEEN - 1)]) == key)
			return 1;
	return 0;
}

/* 1 the first time a key is seen. */
ALWAYS int report_is_new(struct dev_tables *t, u64 key)
{
	key = key ? key : 1;
	for (u32 i = 0; i < 8; i++) {
		u64 *slot = &t->seen[(key + i) & (DEV_SEEN - 1)];
		u64 old = gpu_load64(slot);
		if (old == key)
			return 0;
		if (!old) {
			old = gpu_cas64(slot, 0, key);
			if (!old)
				return 1;
			if (old == key)
				return 0;
		}
	}
	gpu_store64(&t->seen[key & (DEV_SEEN - 1)], key);
	return 1; /* the table is crowded: said again rather than not at all */
}

/* 1 + the warp of its CTA that made a record; 0: not told apart. */
ALWAYS u32 report_warp(const struct gsan_launch *l, u64 rec)
{
	u32 bits = tag_mapped(l, rec_tag(rec)) ? tag_warp_bits(l, rec_tag(rec)) : 0;
	return bits ? 1 + elem_warp(rec, bits) : 0;
}

ALWAYS void report_first(struct gsan_finding *f, const struct gsan_launch *l, u64 rec, u32 mask)
{
	const struct dev_launch *e = tag_launch(l, rec_tag(rec));
	f->first = (struct gsan_side){
		.seq = gpu_load32(&e->seq), .kernel = gpu_load32(&e->kernel),
		.participant = (uint8_t)tag_participant(l, rec_tag(rec)), .stream = (uint8_t)launch_stream(e), .site = (uint16_t)rec_site(rec),
		.cta = (uint16_t)rec_cta(rec), .op = (uint8_t)rec_op(rec), .mask = (uint8_t)mask,
		.grid = {gpu_load32(&e->grid[0]), gpu_load32(&e->grid[1]), gpu_load32(&e->grid[2])},
		.ctaid = {~0u, ~0u, ~0u}, .epoch = (uint16_t)rec_epoch(rec), .warp = (uint8_t)report_warp(l, rec),
	};
	for (u32 p = 0; p < GSAN_PARTICIPANTS; p++)
		f->floor[p] = gpu_load32(&e->order.floor[p]);
}

/* Has it acquired anything, or a launch before its own? That may be of any launch that has begun by now, of one that was launched later
 * than its own, too. */
ALWAYS void report_newest(struct gsan_finding *f, const struct who *w)
{
	const struct gsan_launch *l = w->launch;
	const struct dev_clock *c = w->state ? &w->state->clock : 0;
	int any = w->stateless || (c && (gpu_load32(&c->count) || gpu_load32(&c->flags))) || order_inherits(l);
	for (u32 p = 0; p < GSAN_PARTICIPANTS; p++)
		f->newest[p] = any && l->mapped >> p & 1 ? (u32)gpu_load64(&dev_tables(p)->newest) : 0;
}

/* A copy is looked at late: what is named first may have come behind it. Then the two arrays have to hold for either. */
ALWAYS void report_either(struct gsan_finding *f, const struct who *w, u64 rec)
{
	const struct gsan_launch *l = w->launch;
	int any = behind_acquires(l, rec);
	for (u32 p = 0; p < GSAN_PARTICIPANTS; p++) {
		f->floor[p] = l->order.floor[p] < f->floor[p] ? l->order.floor[p] : f->floor[p];
		f->newest[p] = any && l->mapped >> p & 1 ? (u32)gpu_load64(&dev_tables(p)->newest) : f->newest[p];
	}
}

ALWAYS void report_second(struct gsan_finding *f, const struct who *w, const struct access *a)
{
	const struct gsan_launch *l = w->launch;
	f->second = (struct gsan_side){
		.seq = l->seq, .kernel = l->kernel, .participant = l->participant, .stream = l->stream,
		.site = (uint16_t)a->site, .cta = (uint16_t)rec_cta(w->base), .op = (uint8_t)a->op, .mask = (uint8_t)a->mask,
		.grid = {gpu_nctaid_x(), gpu_nctaid_y(), gpu_nctaid_z()},
		.ctaid = {gpu_ctaid_x(), gpu_ctaid_y(), gpu_ctaid_z()},
		.epoch = (uint16_t)rec_epoch(w->base), .whole = (uint8_t)a->whole, .warp = (uint8_t)report_warp(l, w->base),
	};
}

/* All but what it is and why. */
NEVER void report_sides(struct gsan_finding *f, const struct who *w, u64 rec, u32 rec_bytes_mask, const struct access *a)
{
	f->bytes = (uint16_t)a->bytes;
	f->address = a->address;
	report_first(f, w->launch, rec, rec_bytes_mask);
	f->first.whole = (uint8_t)a->whole;
	report_second(f, w, a);
	report_newest(f, w);
	if (RANGES)
		report_either(f, w, rec);
}

/* Does the flag by which `elem` came stand before the access in the text, and was that another warp's, which no barrier puts before it? Then one would
 * not help. */
ALWAYS int report_stands_before(const struct who *w, u64 elem, u64 rec, u64 point)
{
	u32 site = elem_is_did(elem) ? elem_site(elem) : 0; /* of several, if they are of one */
	return site && rec_tag(elem) == rec_tag(rec) && rec_site(rec) > site && !elem_covers(w->launch, elem, rec, point, 0);
}

/* Is it a guess of where a lock is taken, or of a counter: a flag that is raised as it is read? Who took it last before this CTA did need not have given it
 * back. */
ALWAYS int report_is_taking(const struct hint *h)
{
	return h->score && h->score < HINT_EXACT && h->by && rec_site(h->by) == rec_site(h->reader) && rec_tag(h->by) == rec_tag(h->reader);
}

/* What this CTA's clock has of the first one's launch: an edge that came too early, or from another CTA. None that has the access was too early,
 * were a CTA one thread. */
NEVER void report_clock(const struct who *w, u64 rec, u64 point, struct hint *best)
{
	u32 worth = report_is_taking(best) ? 0 : best->score;
	u32 n = w->state && worth < HINT_TOO_EARLY ? gpu_load32(&w->state->clock.count) : 0;
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 e = gpu_load64(&w->state->clock.elem[i]);
		if (!elem_is_did(e) || elem_of_many(e) || rec_tag(e) != rec_tag(rec))
			continue;
		int same = tag_private(w->launch, rec_tag(e)) || !((e ^ rec) & REC_WHO);
		u32 score = same ? HINT_TOO_EARLY : HINT_OTHER_CTA, site = elem_site(e);
		if (same && elem_covers(w->launch, e, rec, point, 1) && !report_stands_before(w, e, rec, point))
			continue;
		if (score > worth && (same || site)) {
			worth = score;
			*best = (struct hint){.by = rec_of(e & REC_STAMP, 0, site, 0), .score = score,
					      .reason = same ? GSAN_WHY_BEFORE_PAYLOAD : GSAN_WHY_OTHER_CTA};
		}
	}
}

/* If it would be ordered, were a CTA one thread, a barrier is missing: on the side of who released, or of who acquired. Of one release a clock may
 * have several elements: it was published if one of them says so. What orders it by now, and did not when it was checked, another lane of this
 * warp has acquired since; or a list has widened, which says nothing. */
#define REPORT_BARRIER (HINT_BEST + 1)
NEVER void report_barrier(const struct who *w, u64 rec, u64 point, u32 op, struct hint *best)
{
	if (op == GSAN_OP_LD_NC || !order_slow_as(w, rec, point, ASKED_CTA))
		return;
	u32 n = w->state ? gpu_load32(&w->state->clock.count) : 0, reason = GSAN_WHY_PUBLISHED_ALONE, before = (u32)order_slow(w, rec, point);
	u64 by = 0;
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 e = gpu_load64(&w->state->clock.elem[i]);
		if (!elem_covers(w->launch, e, rec, point, 1))
			continue;
		int published = elem_covers(w->launch, e, rec, point, 0) && !elem_of_many(e);
		if (published || reason == GSAN_WHY_PUBLISHED_ALONE)
			by = e;
		if (published)
			reason = GSAN_WHY_ACQUIRED_ALONE;
		before |= (u32)report_stands_before(w, e, rec, point);
	}
	if (before && reason == GSAN_WHY_PUBLISHED_ALONE)
		return; /* no barrier would help */
	u32 site = elem_is_did(by) && !elem_of_many(by) ? elem_site(by) : 0; /* of many it may be another CTA's */
	*best = (struct hint){.score = REPORT_BARRIER, .reason = reason, .by = site ? rec_of(by & REC_STAMP, 0, site, 0) : 0};
}

/* By which a race is known again: its launches and sites; a formal one apart from others. */
ALWAYS u64 report_key(const struct gsan_launch *l, u64 rec, const struct access *a, u32 kind)
{
	u64 launches = (u64)gpu_load32(&tag_launch(l, rec_tag(rec))->seq) << 32 | l->seq; /* numbers: tags come round */
	u64 sites = (u64)rec_site(rec) << 48 | (u64)a->site << 32 | tag_participant(l, rec_tag(rec)) << 16 | kind;
	return mix64(launches ^ mix64(sites + 1));
}
ALWAYS u64 formal_key(u64 key) { return mix64(key); }

/* Is it ordered if formal edges count? */
ALWAYS int formally_ordered(const struct who *w, u64 rec, u64 point, const struct access *a)
{
	return w->launch->warp_bits && a->op != GSAN_OP_LD_NC && order_slow_as(w, rec, point, ASKED_FORMAL);
}

/* Is it a formal race, if any, that was reported? So are most that a CTA meets that has met one: its clock alone tells. */
NEVER int formal_again(const struct who *w, u64 rec, u64 point, const struct access *a)
{
	u32 old = rec_op(rec);
	return a->op != GSAN_OP_LD_NC && !(op_is_strong(old) && op_is_strong(a->op)) && tag_mapped(w->launch, rec_tag(rec)) &&
	       report_seen(own_tables(w->launch), formal_key(report_key(w->launch, rec, a, kind_of(old, a->op, 0)))) &&
	       order_clock(w, rec, point, ASKED_FORMAL);
}

/* Of a launch before this one, what something unseen wrote may have been the flag: a stream's value, a copy, the host. */
NEVER void report_unseen(const struct who *w, u64 rec, struct hint *best)
{
	const struct dev_coarse *c = &own_tables(w->launch)->coarse;
	u32 stream = w->launch->stream, unseen = 0;
	if (best->score || rec_tag(rec) == w->launch->tag)
		return;
	if (w->state)
		unseen = gpu_load32(&w->state->unseen);
	else if (gpu_load32(&c->unseen[stream]) == w->launch->seq)
		unseen = (u32)GSAN_WHY_NO_ACQUIRE << 16 | gpu_load32(&c->unseen_site[stream]);
	if (unseen)
		*best = (struct hint){.reader = rec_of(w->base & REC_STAMP, 0, unseen & 0xffff, 0), .reason = unseen >> 16};
}

ALWAYS void report_flag(struct gsan_finding *f, const struct gsan_launch *l, u32 i, u64 rec)
{
	f->flag_kernel[i] = rec ? gpu_load32(&tag_launch(l, rec_tag(rec))->kernel) : 0;
	f->flag_participant[i] = (uint8_t)(rec ? tag_participant(l, rec_tag(rec)) : 0);
}

/* Why a flag races itself that `writes` and `reads` access, one of them weakly; 0: it does not. */
ALWAYS u32 report_weakly(u32 writes, u32 reads)
{
	if (writes == GSAN_OP_ST && op_observes(reads))
		return GSAN_WHY_WEAK_WRITE;
	return op_is_strong_write(writes) && !op_writes(reads) && !op_is_strong(reads) ? GSAN_WHY_WEAK_READ : GSAN_WHY_NONE;
}

/* A flag that races itself lacks that, whichever side came first, if nothing explains it better: a strong operation behind the one and before the
 * other does, for then they are data. */
ALWAYS void report_itself(const struct who *w, const struct dev_unsaid *u, struct hint *best)
{
	u32 first = rec_op(u->rec), why = report_weakly(first, u->op), written = why;
	u64 rec = u->rec, me = rec_of(w->base & REC_STAMP, u->op, u->site, 0);
	why = why ? why : report_weakly(u->op, first);
	u32 score = written && why == GSAN_WHY_WEAK_READ && op_is_rmw(first) ? HINT_COUNTED : HINT_ITSELF;
	if (why && best->score < score && !(best->both && best->score >= HINT_BOTH_OWN))
		*best = (struct hint){.by = written ? rec : me, .reader = written ? me : rec, .reason = why, .score = score};
}

/* Words for the missing edge. It takes a look at many places, which the first thousands of findings are worth. */
#define REPORT_REASONED 4096u
ALWAYS void report_explain(const struct who *w, const struct dev_unsaid *u, struct hint *best)
{
	*best = (struct hint){0};
	if (u->ticket < REPORT_REASONED)
		hint_find(w, u->rec, u->site, best);
	report_itself(w, u, best);
	report_clock(w, u->rec, u->point, best);
	report_unseen(w, u->rec, best);
	if (!u->formal)
		report_barrier(w, u->rec, u->point, u->op, best);
	if (!RANGES && !best->reason && !op_is_strong(u->op))
		hint_find_overtaken(w, u->rec, u->site, best);
}

/* While another warp of the CTA takes in what it has acquired, half of that is in the clock, and may say something else: then once more. */
#define REPORT_TRIES 16u
ALWAYS void report_settled(const struct who *w, const struct dev_unsaid *u, struct hint *best)
{
	for (u32 tries = 0; tries < REPORT_TRIES; tries++) {
		u32 turns = w->state ? gpu_acquire32(&w->state->lock) : 0;
		report_explain(w, u, best);
		gpu_fence_sys();
		if (!w->state || (!turn_ahead(turns, turns) && gpu_load32(&w->state->lock) == turns))
			return;
		lock_pause(tries);
	}
}

NEVER void report_reason(struct gsan_finding *f, const struct who *w, const struct dev_unsaid *u)
{
	struct hint best;
	report_settled(w, u, &best);
	if (u->formal && best.reason == GSAN_WHY_NO_ACQUIRE && best.acquired) /* it does: it is the release that is there formally */
		best.reason = GSAN_WHY_RELAXED_WRITE;
	f->reason = (uint8_t)best.reason;
	f->both = (uint8_t)best.both;
	f->overtaken = (uint8_t)best.overtaken;
	f->only = (uint8_t)hint_is_only(w, &best);
	f->own_flag = (uint8_t)hint_raised(w->launch, &best, u->rec);
	f->confidence = (uint8_t)(best.score == HINT_ITSELF || best.score == HINT_COUNTED ? HINT_ITSELF_CONFIDENCE : best.score ? HINT_CONFIDENCE(best.score) : 0);
	f->flag_write_site = best.by ? (uint16_t)rec_site(best.by) : 0xffff;
	f->flag_read_site = best.reader ? (uint16_t)rec_site(best.reader) : 0xffff;
	report_flag(f, w->launch, 0, best.by);
	report_flag(f, w->launch, 1, best.reader);
}

/* A flag that one side accesses weakly: what it is to order is not ordered. One that was read first may be read again, of which nothing would be
 * said any more. */
ALWAYS void report_weak(const struct who *w, u64 rec, const struct access *a)
{
	u32 why = report_weakly(rec_op(rec), a->op), again = report_weakly(a->op, rec_op(rec));
	if (why)
		hint_add(w, rec, rec, a->site, why, 1);
	else if (again)
		hint_keep(w->launch, w->base & REC_STAMP, rec_of(w->base & REC_STAMP, a->op, a->site, 0),
			  rec_of(rec & REC_STAMP, GSAN_OP_LD, rec_site(rec), 0), again | HINT_EITHER);
}

/* A place in the ring. 0: it is full; no ticket was taken then, for the supervisor waits for each that was. */
ALWAYS int report_ticket(struct dev_tables *t, struct gsan_ring *ring, u64 *ticket)
{
	u64 now = gpu_load64(&t->ring_head);
	do {
		*ticket = now;
		if (now - gpu_load64(&ring->tail) >= GSAN_RING_SLOTS)
			return 0;
		now = gpu_cas64(&t->ring_head, now, now + 1);
	} while (now != *ticket);
	gpu_fence_sys(); /* the slot was read before `tail` passed it */
	return 1;
}

/* The slot is filled but for `ready`. */
ALWAYS void report_send(struct gsan_ring *ring, struct gsan_finding *f, u64 ticket)
{
	gpu_fence_sys();
	gpu_release32(&f->ready, (u32)ticket + 1);
	gpu_max64(&ring->head, ticket + 1); /* the only writers of `head` are this GPU's */
}

/* This launch may have told a host something. */
NEVER void report_told(const struct gsan_launch *l)
{
	struct gsan_ring *ring = (struct gsan_ring *)(uintptr_t)l->ring;
	u64 ticket;
	if (!report_ticket(own_tables(l), ring, &ticket)) {
		gpu_store64(&ring->told_lost, 1);
		return;
	}
	struct gsan_finding *f = &ring->slot[ticket % GSAN_RING_SLOTS];
	f->kind = GSAN_TOLD;
	f->first.seq = gpu_load32(&own_launch(l)->given);
	f->second = (struct gsan_side){.seq = l->seq, .kernel = l->kernel, .participant = l->participant, .stream = l->stream};
	report_send(ring, f, ticket);
}

/* Of what the thread has found since: behind the checks of an access, where the stack has none of their frames any more. */
NEVER void report_unsaid(const struct who *w)
{
	struct gsan_ring *ring = (struct gsan_ring *)(uintptr_t)w->launch->ring;
	for (u32 next = w->unsaid; next;) {
		const struct dev_unsaid *u = &own_tables(w->launch)->unsaid[next - 1];
		struct gsan_finding *f = &ring->slot[next - 1];
		u64 ticket = u->ticket;
		next = u->next;
		report_reason(f, w, u);
		report_send(ring, f, ticket);
	}
}
ALWAYS void report_reasons(struct who *w)
{
	if (w->unsaid)
		report_unsaid(w);
	w->unsaid = 0;
}

/* A finding, but for its words. */
NEVER void report_new(struct who *w, u64 rec, u64 point, u32 rec_bytes_mask, const struct access *a, u32 kind, int formal)
{
	const struct gsan_launch *l = w->launch;
	struct gsan_ring *ring = (struct gsan_ring *)(uintptr_t)l->ring;
	u64 ticket;
	if (!report_ticket(own_tables(l), ring, &ticket)) {
		count(l, GSAN_N_DROPPED, 1);
		return;
	}
	u32 place = ticket % GSAN_RING_SLOTS;
	struct gsan_finding *f = &ring->slot[place];
	f->kind = (uint8_t)kind;
	f->formal = (uint8_t)formal;
	own_tables(l)->unsaid[place] = (struct dev_unsaid){.rec = rec, .point = point, .ticket = ticket, .next = w->unsaid, .op = (uint8_t)a->op,
							   .formal = (uint8_t)formal, .site = (uint16_t)a->site};
	w->unsaid = place + 1;
	report_sides(f, w, rec, rec_bytes_mask, a);
}

/* Is it worth a look: counted, and not known by its key? */
NEVER int report_asks(const struct who *w, u64 rec, const struct access *a, u64 key)
{
	const struct gsan_launch *l = w->launch;
	if (gpu_load32(&own_tables(l)->broken)) {
		count(l, GSAN_N_LOCKS, 1);
		return 0;
	}
	count(l, GSAN_N_FOUND, 1);
	report_weak(w, rec, a);
	return !report_seen(own_tables(l), key);
}

/* What asks for order is called from here, one after the other, and is nowhere below what fills the finding. */
ALWAYS void report(struct who *w, u64 rec, u64 point, u32 rec_bytes_mask, const struct access *a, u32 kind)
{
	u64 key = report_key(w->launch, rec, a, kind);
	if (!report_asks(w, rec, a, key))
		return;
	int formal = formally_ordered(w, rec, point, a);
	if (formal && w->state)
		gpu_store32(&w->state->formal, 1);
	key = formal ? formal_key(key) : key;
	if (formal && (report_seen(own_tables(w->launch), key) || order_slow(w, rec, point)))
		return; /* a list has widened since the check: who came a moment later would not have seen it */
	if (report_is_new(own_tables(w->launch), key))
		report_new(w, rec, point, rec_bytes_mask, a, kind, formal);
}

ALWAYS int check_ordered(const struct who *w, u64 rec, u64 point, const struct access *a)
{
	int base = a->op == GSAN_OP_LD_NC && !w->stateless; /* only the launch's base clock counts (DESIGN §6) */
	return base ? order_base(w, rec, point) : order_slow(w, rec, point) || (RANGES && behind(w, rec));
}

/* Two strong operations, one of whose scopes does not reach the other's CTA? */
ALWAYS int scope_short(const struct who *w, u64 rec, const struct access *a)
{
	int same_gpu = launch_gpu(tag_launch(w->launch, rec_tag(rec))) == w->launch->gpu, both = op_is_strong(rec_op(rec)) && op_is_strong(a->op);
	return both && !(scope_reaches(op_scope(rec_op(rec)), same_gpu) && scope_reaches(op_scope(a->op), same_gpu));
}
ALWAYS int morally_strong(const struct who *w, u64 rec, u32 rec_mask_here, const struct access *a)
{
	return op_is_strong(rec_op(rec)) && op_is_strong(a->op) && rec_mask_here == a->mask && !scope_short(w, rec, a);
}

/* Of a CAS that was met before it had executed the record that it has then, if it wrote: awaited, for a while. */
#define SETTLE_TRIES 256u
ALWAYS u64 rec_settled(u64 rec, const u64 *where)
{
	u64 wrote = rec_written(rec);
	for (u32 i = 0; wrote != rec && gpu_load64(where) == rec && i < SETTLE_TRIES; i++)
		gpu_pause();
	return wrote != rec && gpu_load64(where) == wrote ? wrote : rec;
}

/* Adds one to those that race with a CAS. There is room for what its places hold, not for all that may come and go there. */
ALWAYS void racing_add(const struct gsan_launch *l, struct dev_racing *racing, u64 rec)
{
	for (u32 i = 0; i < racing->count; i++)
		if (racing->rec[i] == rec)
			return;
	if (racing->count < DEV_RACING_RECS)
		racing->rec[racing->count++] = rec;
	else
		count(l, GSAN_N_DROPPED, 1);
}

/* A weak write of a CTA that keeps no clock is observed with its RMW of the same bytes: is that ordered before the access? It may have lost its
 * place to another one. */
NEVER int head_ordered(const struct who *w, u64 rec, u32 mask, const struct access *a)
{
	struct sampled s;
	u64 rmw = 0, full = 1;
	if (a->whole || !coarse_made(w->launch, rec_tag(rec), a->address) || !sampled_at(a->address, &s))
		return 0;
	for (u32 i = 0; i < GSAN_DETAIL_READS; i++) {
		full &= s.r[i] != 0;
		if (rec_is_rmw(s.r[i]) && !(mask & ~rec_mask(s.r[i])) && (!rmw || !((s.r[i] ^ rec) & REC_WHO)))
			rmw = s.r[i];
	}
	u64 lost = rec_of(rec & REC_STAMP, GSAN_OP_RMW + GSAN_SYS, 0, rec_mask(rmw)), narrow = lost ^ (u64)(GSAN_SYS ^ GSAN_GPU) << GSAN_REC_OP_SHIFT;
	u32 seed = w->launch->seed, most = sample_hash(rmw, a->address, seed);
	if (rmw && (rmw ^ rec) & REC_WHO) /* of two of a kind that with the larger hash goes */
		rmw = full && (sample_hash(lost, a->address, seed) > most || sample_hash(narrow, a->address, seed) > most) ? lost : 0;
	return rmw && check_ordered(w, rmw, rec_point(rmw, a->address, 0), a);
}

/* Behind a strong read comes, for all of its CTA, the strong write that it saw. Which one that was no version says, if a copy or a set of the word
 * wrote it: so any may be that its bytes' reads, as they stand there or stood before the access, may have seen. 0: the `i`th has not; OBSERVED: it was
 * the one that asks, or the record's CTA; else the read, behind which `rec` is observed. A read of the CTA may have lost its place, or have found
 * none, where others read strongly, too. (Of a word that a copy read, what is told of streams' reads says it: looks.h.) */
#define OBSERVED (~0ull)
NEVER u64 word_witness(const struct who *w, u64 rec, u32 mask, const struct access *a, u32 i)
{
	struct sampled s;
	int copies = RANGES ? op_is_strong(a->op) && op_writes(a->op) : op_is_strong(rec_op(rec)) && op_writes(rec_op(rec)) && rec_is_copy(w->launch, rec);
	if (a->whole || a->op == GSAN_OP_LD_NC || !copies || !sampled_at(a->address, &s))
		return 0;
	const u64 *before = a->asks_before ? a->before : s.r;
	if (i == SAMPLED)
		return (!RANGES || op_writes(rec_op(rec))) && before[0] && before[1] && (op_is_strong(rec_op(before[0])) || op_is_strong(rec_op(before[1]))) ?
			       OBSERVED : 0;
	u64 r = i < GSAN_DETAIL_READS ? s.r[i] : before[i - GSAN_DETAIL_READS];
	int strong = op_is_strong(rec_op(r)), ours = RANGES ? !((r ^ rec) & REC_WHO) : who_made(w, r);
	if (!r || mask & ~rec_mask(r))
		return 0;
	if (!strong)
		return 0;
	return ours ? OBSERVED : RANGES ? 0 : r;
}
ALWAYS int word_observed(const struct who *w, u64 rec, u32 mask, const struct access *a)
{
	for (u32 i = 0; i <= SAMPLED; i++) {
		u64 witness = word_witness(w, rec, mask, a, i);
		if (witness && (witness == OBSERVED || check_ordered(w, witness, NO_POINT, a)))
			return 1;
	}
	return 0;
}

/* Is it no race that was reported? */
NEVER int report_is_unknown(const struct who *w, u64 rec, const struct access *a)
{
	return !report_seen(own_tables(w->launch), report_key(w->launch, rec, a, kind_of(rec_op(rec), a->op, scope_short(w, rec, a))));
}

/* 1: it would be a new race, if what streams have read does not order it; that is to be asked first (looks_tell), and then this again, `told`. */
NEVER int check_slow(struct who *w, u64 rec, u32 rec_mask_here, const struct access *a, const u64 *where, int told)
{
	if (cta_depended(w->launch, w->self))
		w->launch++;
	const struct gsan_launch *l = w->launch;
	u32 old = rec_op(rec);
	tag_await(l, rec_tag(rec));
	u64 line = gsan_shadow(a->address & ~(u64)(GSAN_LINE - 1));
	u64 point = rec_point(rec, a->address, (u64)(uintptr_t)where - line < sizeof(struct gsan_line));
	if (w->state && gpu_load32(&w->state->formal) && formal_again(w, rec, point, a)) {
		count(l, GSAN_N_FOUND, 1);
		return 0;
	}
	if (check_ordered(w, rec, point, a))
		return 0;
	learnt_by_all(l);
	if (check_ordered(w, rec, point, a)) /* others may have put that down meanwhile */
		return 0;
	if (old == GSAN_OP_ST && head_ordered(w, rec, rec_mask_here & a->mask, a))
		return 0;
	if (keeps_no_clock(w) && op_may_write(old) && a->op != GSAN_OP_LD_NC && red_observed(w, rec, rec_mask_here & a->mask, a, point))
		return 0;
	if (morally_strong(w, rec, rec_mask_here, a))
		return 0;
	if (!told && report_is_unknown(w, rec, a))
		return 1;
	if (word_observed(w, rec, rec_mask_here & a->mask, a))
		return 0;
	u64 now = gpu_load64(where);
	if (now != rec && op_writes(old) && !op_writes(a->op) && !who_made(w, now))
		return 0; /* replaced meanwhile, not by us: its successor is looked at by whoever meets it */
	if (op_is_try(a->op))
		racing_add(l, a->racing, (rec & ~0xffull) | rec_mask_here);
	else
		report(w, rec, point, rec_mask_here, a, kind_of(rec_op(rec_settled(rec, where)), a->op, scope_short(w, rec, a)));
	return 0;
}

/* Two strong operations whose scopes certainly include each other: two participants may be two GPUs. Morally strong they
 * are only if they overlap completely. */
ALWAYS int surely_strong(const struct gsan_launch *l, u64 rec, u32 op)
{
	u32 scopes = op_scope(rec_op(rec)) < op_scope(op) ? op_scope(rec_op(rec)) : op_scope(op);
	return op_is_strong(rec_op(rec)) && op_is_strong(op) &&
	       scope_reaches(scopes, tag_participant(l, rec_tag(rec)) == l->participant);
}

/* A record of the same bytes, one of the two a write. */
NEVER void check_asked(struct who *w, u64 rec, u32 rec_mask_here, const struct access *a, const u64 *where)
{
	if (a->op != GSAN_OP_LD_NC && who_made(w, rec))
		return; /* the same CTA */
	if ((rec_mask_here == a->mask && surely_strong(w->launch, rec, a->op)) || tag_below_floor(w->launch, rec_tag(rec)))
		return;
	if (check_slow(w, rec, rec_mask_here, a, where, 0) && looks_tell(w->launch))
		check_slow(w, rec, rec_mask_here, a, where, 1);
}

/* An old record against this access, both seen in the units of a->mask. What asks nothing of `w` is inline. */
ALWAYS void check(struct who *w, u64 rec, u32 rec_mask_here, const struct access *a, const u64 *where)
{
	if (rec && rec_mask_here & a->mask && (op_writes(rec_op(rec)) || op_may_write(a->op)))
		check_asked(w, rec, rec_mask_here, a, where);
}

#endif
