/* Synchronisation: the versions of strongly written locations, and what releases, acquires and fences do with them. A strong
 * write holds its location's entry while it executes: it reads the newest version and publishes the next, with what it
 * releases. A load looks which version is the newest before it executes, and joins afterwards what it observed: link by link
 * where both are morally strong, those elements whose gates include each other mutually (PTX ISA: release and acquire
 * patterns, observation). */
#ifndef GSAN_DEVICE_SYNC_H
#define GSAN_DEVICE_SYNC_H

#include "device/abi.h"
#include "device/acquire.h"
#include "device/barrier.h"
#include "device/clock.h"
#include "device/coarse.h"
#include "device/desc.h"
#include "device/elem_order.h"
#include "device/elems.h"
#include "device/entry.h"
#include "device/hint.h"
#include "device/inherit.h"
#include "device/launch.h"
#include "device/lock.h"
#include "device/meeting.h"
#include "device/observed.h"
#include "device/release.h"
#include "device/shadow.h"
#include "device/state.h"

/* ---- which version was read --------------------------------------------------------------------------------------------- */

/* The write that was read is of another scope: nothing was observed. */
NEVER void version_hint(const struct who *w, const struct dev_version *v, u32 desc)
{
	u32 n = gpu_own32(&v->count), why = elem_reaches(w->launch, gpu_own64(&v->writer)) ? GSAN_WHY_ACQUIRE_SCOPE : GSAN_WHY_RELEASE_SCOPE;
	for (u32 i = 0; i < n && i < DEV_VERSION; i++)
		hint_set(w, gpu_own64(&v->elem[i]), gpu_own64(&v->writer), why, desc);
}

/* Is it, or may what was read of it be, morally strong with this read? It may be any of the RMWs that follow each other there. */
ALWAYS int version_may_link(const struct who *w, const struct dev_version *v, u32 scope)
{
	int any = version_linked(w, v, scope);
	u32 n = any ? 0 : gpu_load32(&v->count);
	for (u32 i = 0; i < n && i < DEV_VERSION && !any; i++) {
		u64 e = gpu_load64(&v->elem[i]);
		any = elem_is_observed(e) && elem_links(w, e, scope);
	}
	return any;
}

ALWAYS int version_links(const struct who *w, const struct dev_version *v, u32 scope, int exact)
{
	return exact ? version_linked(w, v, scope) : version_may_link(w, v, scope);
}

/* What is read of the newest version, put down in the CTA's state: what this warp has not read since generation `looked`. So that others may
 * have the entry while it is taken in. */
#define READ_LINKED 1u
#define READ_HINTED 2u
ALWAYS void version_copy(const struct who *w, const struct dev_sync *e, u32 looked, u32 how)
{
	struct dev_state *s = w->state;
	const struct dev_version *v = &e->version[0];
	u64 all = gpu_load64(&v->formal), some = 0;
	u32 n = gpu_load32(&v->count), copied = 0;
	for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
		u64 elem = gpu_load64(&v->elem[i]);
		if (!changed_since(e, i, looked) || elem_is_nothing(w, elem))
			continue;
		some |= (all >> i & 1) << copied;
		gpu_store64(&s->read[copied++], elem);
	}
	gpu_store64(&s->read_formal, some);
	gpu_store64(&s->read_writer, gpu_load64(&v->writer));
	gpu_store32(&s->reads, copied);
	gpu_store32(&s->read_generation, gpu_load32(&e->generation));
	gpu_store32(&s->read_flags, gpu_load32(&v->flags));
	gpu_store32(&s->read_coarse, gpu_load32(&v->coarse));
	gpu_store32(&s->read_how, how);
}

/* Puts it down, which changes nothing else; `exact` as below. 0: not what leaves hints alone. */
NEVER int version_put(const struct who *w, const struct dev_sync *e, u32 desc, int exact)
{
	const struct dev_version *v = &e->version[0];
	int linked = version_links(w, v, desc_scope(desc), exact);
	u32 looked = linked ? looked_at_last(w->state, e, looks_as(w, desc), desc & 0xffff) : 0;
	if (exact && !linked)
		return 0;
	version_copy(w, e, looked, (linked ? READ_LINKED : 0) | (looked && gpu_own32(&w->state->looked_hinted) ? READ_HINTED : 0));
	return 1;
}

/* What a version says of the order of those that were not told apart. */
ALWAYS void version_flags(const struct who *w, u64 canonical, u32 desc, u32 flags, u32 coarse)
{
	if (flags & DEV_EVERYTHING)
		order_lost(w, sync_acquires(desc));
	if (flags & DEV_COARSELY) {
		coarse_join(w, canonical, desc, coarse);
		coarse_read(w, canonical, desc);
	}
}

/* Takes in what was put down. Under the lock of the state, as since then. */
NEVER void version_digest(const struct who *w, u64 canonical, u32 desc)
{
	struct dev_state *s = w->state;
	u32 n = gpu_own32(&s->reads), how = gpu_own32(&s->read_how);
	u64 formal = gpu_own64(&s->read_formal), writer = gpu_own64(&s->read_writer);
	int hinted = (how & READ_HINTED) != 0;
	version_flags(w, canonical, desc, gpu_own32(&s->read_flags), gpu_own32(&s->read_coarse));
	for (u32 i = 0; i < n; i++)
		hinted |= !elem_read(w, 0, gpu_own64(&s->read[i]), canonical, desc, writer, how & READ_LINKED, formal >> i & 1);
	if (how & READ_LINKED)
		looked_now(s, sync_key(canonical, desc_bytes(desc)), gpu_own32(&s->read_generation), looks_as(w, desc), desc & 0xffff, hinted);
}

/* One version that this read may have observed; `exact`: it has. `of`: the entry whose newest it is, else NULL. What it links to it
 * observes, and all before that, link by link; what this warp has read there it leaves out. */
NEVER void version_read(const struct who *w, const struct dev_version *v, u64 canonical, u32 desc, struct dev_sync *of, int exact)
{
	u32 n = gpu_own32(&v->count), scope = desc_scope(desc);
	u64 writer = gpu_own64(&v->writer);
	int linked = version_links(w, v, scope, exact);
	if (exact && !linked) {
		version_hint(w, v, desc);
		return;
	}
	version_flags(w, canonical, desc, gpu_own32(&v->flags), gpu_own32(&v->coarse));
	u32 site = desc & 0xffff, as = looks_as(w, desc), looked = of && linked ? looked_at_last(w->state, of, as, site) : 0;
	int hinted = looked && gpu_own32(&w->state->looked_hinted);
	u64 formal = gpu_own64(&v->formal);
	if (of && exact && desc_is_rmw(desc) && desc_releases(desc)) /* there next: what it learns here need not go there */
		told_begin(w->state, of, scope);
	for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
		u64 e = gpu_own64(&v->elem[i]);
		if (changed_since(of, i, looked) && !elem_is_nothing(w, e))
			hinted |= !elem_read(w, of && exact ? of : 0, e, canonical, desc, writer, linked, formal >> i & 1);
	}
	if (of && linked)
		looked_now(w->state, gpu_load64(&of->key), gpu_own32(&of->generation), as, site, hinted);
}

/* What an RMW whose result nobody reads observes all the same: the writes themselves. */
NEVER void version_taken(const struct who *w, const struct dev_version *v, u64 canonical, u32 desc)
{
	u32 flags = gpu_own32(&v->flags), n = flags & DEV_VALID ? gpu_own32(&v->count) : 0;
	if (n && !version_linked(w, v, desc_scope(desc)))
		return;
	if (w->state && (!n || flags & DEV_COARSELY))
		coarse_join(w, canonical, desc, n ? gpu_own32(&v->coarse) : w->launch->gpu);
	for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
		u64 e = gpu_own64(&v->elem[i]);
		if (elem_is_observed(e) && !elem_is_nothing(w, e))
			observe(w, e, canonical, desc);
	}
}

/* ---- before a strong write -------------------------------------------------------------------------------------------- */

ALWAYS int sync_reachable(const struct who *w, u64 canonical)
{
	return canonical != NO_ADDRESS && w->launch->mapped >> gsan_owner(canonical) & 1;
}

/* Does this strong write make an entry for its location? Not the relaxed RMW of a kernel of such alone, within one GPU:
 * histograms are made of those. */
ALWAYS int sync_makes(const struct who *w, u32 desc)
{
	return !desc_is_rmw(desc) || desc_sem(desc) != GSAN_SEM_NONE || desc_scope(desc) == GSAN_SYS || w->state ||
	       w->launch->lifted & GSAN_LIFT_COARSE;
}

/* Is there anything to publish, of what is in reach? If not, the coarse path has it: when a kernel begins all lanes come with one
 * place to write to, and one of them does. */
ALWAYS int sync_publishes(const struct who *w, u64 canonical, u32 desc, int whole)
{
	int there = sync_reachable(w, canonical), publishes = there && (sync_makes(w, desc) || sync_find(canonical, desc_bytes(desc), 0, 0));
	int notes = there && !publishes && desc_scope(desc) != GSAN_CTA; /* which reaches nobody */
	if (gpu_which(whole, notes)) {
		u64 tables = notes ? (u64)(uintptr_t)dev_tables(gsan_owner(canonical)) : 0;
		if (gpu_leads(gpu_same(whole, tables)) && notes)
			coarse_note(w, (struct dev_tables *)(uintptr_t)tables, 0);
		gpu_meet(whole);
	}
	return publishes;
}

/* Before the first write that an entry is for. Relaxed RMWs of kernels without states that found none do not say afterwards what
 * they observed; those of other launches whose records stand there, or were displaced, are left the time to execute before. */
#define ENTRY_GRACE 256u /* pauses */
NEVER void sync_grace(const struct who *w, u64 canonical)
{
	struct sampled s;
	u32 taken = 0, rmws = 0;
	gpu_fence_sys();
	if (!sampled_at(canonical, &s))
		return;
	for (u32 i = 0; i < GSAN_DETAIL_READS; i++) {
		int live = rec_live(w->launch, s.r[i]);
		taken += live;
		rmws += live && op_is_rmw(rec_op(s.r[i])) && rec_tag(s.r[i]) != w->launch->tag;
	}
	for (u32 i = 0; (rmws || taken == GSAN_DETAIL_READS) && i < ENTRY_GRACE; i++)
		gpu_pause();
}

/* The entry that a strong write of one lane goes to; NULL: the coarse path has it. */
NEVER struct dev_sync *sync_entry(const struct who *w, u64 canonical, u32 desc)
{
	struct dev_tables *t = dev_tables(gsan_owner(canonical));
	int make = sync_makes(w, desc);
	struct dev_sync *e = sync_find(canonical, desc_bytes(desc), make, desc_is_rmw(desc) ? DEV_SYNC_RMW_QUOTA : DEV_SYNCS);
	if (e) {
		u32 mark = line_mark_sync(t, canonical);
		if (!gpu_load32(&e->mark))
			gpu_cas32(&e->mark, 0, mark);
		if (!(gpu_load32(&e->version[0].flags) & DEV_VALID))
			sync_grace(w, canonical);
		return e;
	}
	if (make) {
		count(w->launch, GSAN_N_SYNC_FULL, 1);
		if (!gpu_load32(&t->sync_full))
			gpu_store32(&t->sync_full, 1);
	}
	coarse_note(w, t, make ? coarse_time(w, desc) : 0);
	if (w->stateless || (w->state && gpu_load32(&w->state->clock.flags) & DEV_CLOCK_EVERYTHING))
		coarse_everything(t, w->launch);
	gpu_fence_sys();
	return 0;
}

/* Before the operation, its entry held: what it releases ends here, not with what other warps do meanwhile. */
NEVER void sync_time(const struct who *w, struct dev_sync *e, u32 desc)
{
	u32 time;
	if (desc_is_cas(desc)) { /* which may fail: a spin on a lock would use up the epochs */
		time = gpu_load32(&own_warp(w)->time);
	} else if (state_take(w)) { /* locks are taken entry first */
		time = epoch_end(w);
		state_give(w);
	} else {
		return;
	}
	if (time > gpu_load32(&e->time))
		gpu_store32(&e->time, time);
}

/* The locks of an entry, if there is one, and of this CTA's state, if it has one; in this order everywhere. */
NEVER int entry_lock(const struct who *w, struct dev_sync *e)
{
	if (e && !lock_take(w->launch, &e->lock))
		return 0;
	if (!w->state || state_take(w))
		return 1;
	if (e)
		lock_give(&e->lock);
	return 0;
}
ALWAYS void entry_unlock(const struct who *w, struct dev_sync *e)
{
	if (w->state)
		state_give(w);
	if (e)
		lock_give(&e->lock);
}

/* A strong write of which after() cannot tell enough: an element of a vector, a CAS of 16 bytes that may fail. Published before
 * it executes, and so in the order of publication. */
NEVER void sync_at_once(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value)
{
	if (!entry_lock(w, e))
		return;
	gpu_fence_sys(); /* who sees what is written finds the lock taken (sync_glance) */
	if (desc_is_rmw(desc) && w->state)
		version_taken(w, &e->version[0], canonical, desc);
	version_write(w, e, desc, value, w->state && desc_releases(desc) ? epoch_end(w) : 0, w->state ? state_base(w->state, w->warp, 0) : 0);
	gpu_store32(&e->version[0].flags, gpu_load32(&e->version[0].flags) | DEV_EARLY);
	if (w->state && !desc_is_rmw(desc)) /* of which no record is there yet */
		epoch_part(w);
	entry_unlock(w, e);
	gpu_fence_sys(); /* the publication is visible to whoever sees the program's store */
}

/* What was published at once has executed: who loads from here on reads that, if nobody published since. */
NEVER void sync_came(const struct who *w, struct dev_sync *e)
{
	if (!lock_take(w->launch, &e->lock))
		return;
	gpu_fence_sys(); /* as above */
	u32 flags = gpu_load32(&e->version[0].flags);
	if (flags & DEV_EARLY && elem_is_own(w, gpu_load64(&e->version[0].writer) & REC_WHO)) {
		gpu_store32(&e->version[0].flags, flags & ~DEV_EARLY);
		gpu_add32(&e->generation, 1); /* not for who looked before */
	}
	lock_give(&e->lock);
}

/* ---- after it has executed --------------------------------------------------------------------------------------------- */

/* Was it written before this launch? Then all that it reads there is that, or newer. */
ALWAYS int written_before(const struct gsan_launch *l, u64 stamp)
{
	return tag_below_floor(l, rec_tag(stamp)) || (tag_mapped(l, rec_tag(stamp)) && order_before(l, &l->order, rec_tag(stamp)));
}

ALWAYS int stored_by(const struct gsan_launch *l, u64 rec, u32 mask, int entry)
{
	return rec_mask(rec) & mask && op_writes(rec_op(rec)) && !(entry && op_is_strong_write(rec_op(rec)) && rec_mask(rec) == mask) &&
	       !written_before(l, rec);
}

/* Is there a write to any of these bytes that is not ordered before the launch? Of RMWs those that were sampled. `entry`: what
 * strong writes of the location left is known, and was not read. */
NEVER int sync_stored(const struct gsan_launch *l, u64 canonical, u32 bytes, int entry)
{
	for (u64 at = canonical & ~(u64)(GSAN_GRANULE - 1); at < canonical + bytes; at += GSAN_GRANULE) {
		const struct gsan_line *line = (const struct gsan_line *)(uintptr_t)gsan_shadow(at & ~(u64)(GSAN_LINE - 1));
		u32 in = (u32)at & (GSAN_LINE - 1), detail = gpu_load32(&line->detail);
		u32 from = canonical > at ? (u32)(canonical - at) : 0;
		u32 to = canonical + bytes - at < GSAN_GRANULE ? (u32)(canonical + bytes - at) : GSAN_GRANULE;
		u32 mask = ((1u << to) - 1) & ~((1u << from) - 1);
		if (stored_by(l, gpu_load64(&line->write), 1u << in / GSAN_SECTOR, 0))
			return 1;
		const struct gsan_granule *g = detail ? &detail_at(canonical, detail)->granule[in / GSAN_GRANULE] : 0;
		for (u32 i = 0; g && i < GSAN_DETAIL_WRITES + GSAN_DETAIL_READS; i++)
			if (stored_by(l, gpu_load64(i < GSAN_DETAIL_WRITES ? &g->write[i] : &g->read[i - GSAN_DETAIL_WRITES]), mask, entry))
				return 1;
	}
	return 0;
}

/* Was this warp's last look its CTA's last one, and nothing has changed? A spin loop ends here, without a lock. */
ALWAYS u64 poll_of(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	return mix64(sync_key(canonical, desc_bytes(desc)) ^ mix64(value + mix64((u64)generation << 32 | desc) + w->warp));
}
ALWAYS int sync_polled(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	return gpu_load64(&w->state->polled) == poll_of(w, canonical, generation, value, desc);
}

/* What the location held when this CTA looked last; 0, which memory starts with, if it looked elsewhere since. */
ALWAYS u64 polled_before(const struct who *w, u64 canonical, u32 desc)
{
	return gpu_load64(&w->state->polled_key) == sync_key(canonical, desc_bytes(desc)) ? gpu_load64(&w->state->polled_value) : 0;
}

/* Has the value changed since this CTA looked here last, though no strong write came? */
ALWAYS int changed_unseen(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	u64 before = gpu_load64(&w->state->polled_value);
	return value != before && sync_polled(w, canonical, generation, before, desc);
}

/* Is there a strong write of another size to any of these bytes that is not ordered before the launch? */
NEVER int sync_written_otherwise(const struct gsan_launch *l, u64 canonical, u32 bytes)
{
	for (u32 size = 1; size <= 16; size *= 2)
		for (u64 at = canonical & ~(u64)(size - 1); at < canonical + bytes; at += size) {
			const struct dev_sync *e = at == canonical && size == bytes ? 0 : sync_find(at, size, 0, 0);
			if (e && gpu_load32(&e->version[0].flags) & DEV_VALID && !written_before(l, gpu_load64(&e->version[0].writer)))
				return 1;
		}
	return 0;
}

/* Has something that leaves no record been enqueued that is not ordered before this launch (layout.h, struct gsan_writers)? */
NEVER int writers_unordered(const struct gsan_launch *l)
{
	const struct gsan_writers *all = (const struct gsan_writers *)(uintptr_t)l->writers;
	for (u64 left = all ? gpu_peek64(&all->participants) : 0; left; left &= left - 1) { /* each is a read of the host's memory */
		u32 p = (u32)__builtin_ctzll(left);
		for (u64 streams = gpu_peek64(&all->streams[p]); streams; streams &= streams - 1) {
			u32 s = (u32)__builtin_ctzll(streams);
			int own = p == l->participant && s == l->stream && s != GSAN_STREAMS - 1; /* ahead, or behind this one's end */
			if (!own && !order_has(&l->order, p, s, gpu_peek32(&all->newest[p][s])))
				return 1;
		}
	}
	return !all;
}

/* Does it call what is not seen? Then that may have written where it reads. */
ALWAYS int launch_unseen(const struct gsan_launch *l) { return gpu_load32(&own_launch(l)->unseen) == l->seq; }

/* A value that no known write left: something unseen wrote it (a copy, the host, an opaque kernel), and may order
 * anything. Known by its changing under the CTA's eyes, or at the first look by not being 0, which memory starts with; not what
 * can only have been written before this launch. */
NEVER int sync_unseen(const struct who *w, u64 canonical, u32 desc, u64 value, int entry)
{
	const struct gsan_launch *l = w->launch;
	u64 before = polled_before(w, canonical, desc);
	return desc & GSAN_DESC_VALUE && value != before && !(l->lifted & GSAN_LIFT_UNSEEN) &&
	       !sync_stored(l, canonical, desc_bytes(desc), entry) && !sync_written_otherwise(l, canonical, desc_bytes(desc)) &&
	       (launch_unseen(l) || writers_unordered(l));
}

/* Does a stream write values there (cuStreamWriteValue)? One may be what any known write left, or 0. */
ALWAYS int sync_by_stream(u64 canonical)
{
	return !!(gpu_load32(&((const struct gsan_line *)(uintptr_t)gsan_shadow(canonical))->flags) & GSAN_LINE_VALUE);
}

/* What something unseen wrote was read: whoever acquires that is behind anything. A read of .cta observes nobody outside its CTA. */
ALWAYS void sync_unknown(const struct who *w, u32 desc)
{
	int narrow = desc_scope(desc) == GSAN_CTA;
	if (!narrow)
		order_lost(w, sync_acquires(desc));
	if (narrow || !sync_acquires(desc)) /* for words */
		gpu_store32(&w->state->unseen, (u32)(narrow ? GSAN_WHY_ACQUIRE_SCOPE : GSAN_WHY_NO_ACQUIRE) << 16 | (desc & 0xffff));
}

/* A location without an entry was never strongly written, except by RMWs on the coarse path. */
ALWAYS void sync_after_none(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	coarse_join(w, canonical, desc, w->launch->gpu);
	if (sync_by_stream(canonical) || (!coarse_read(w, canonical, desc) && sync_unseen(w, canonical, desc, value, 0))) {
		sync_unknown(w, desc);
		count(w->launch, GSAN_N_AMBIGUOUS, 1);
	}
}

/* Which versions a read may have observed, and what else. `exact`: nothing was written since it looked, so it is the newest. Else by its
 * value those that have it, or the older ones; all, if values are not known. Changes nothing, and is asked without the lock, too. */
#define OF_NEWEST 1u
#define OF_BEFORE 2u /* the one before it */
#define OF_OLDER 4u
#define OF_NONE 8u    /* a value that nothing is known to have left: an older one, or made of several writes' bytes, ... */
#define OF_POLLED 16u /* ... the one that this CTA read there before; ... */
#define OF_PASSED 32u /* ... or of RMWs that saw no entry */
#define OF_UNSEEN 64u
#define OF_EITHER 128u /* which version is not known */
#define OF_EXACTLY 256u
#define OF_LOST 512u
#define OF_NO_WRITE 1024u /* the entry was made for a write that did not come */
NEVER u32 sync_which(const struct who *w, const struct dev_sync *e, u64 canonical, u32 desc, u64 value, int exact)
{
	const struct dev_version *v = e->version;
	u32 f0 = gpu_load32(&v[0].flags), newest = exact && !(f0 & DEV_EARLY);
	if (!(f0 & DEV_VALID))
		return OF_NO_WRITE;
	u32 f1 = newest ? 0 : gpu_load32(&v[1].flags), lost = !newest && gpu_load32(&e->lost);
	int has = desc & GSAN_DESC_VALUE && f0 & DEV_VALUE, known = has && (f1 & DEV_VALUE || !(f1 & DEV_VALID));
	int is0 = gpu_load64(&v[0].value) == value, is1 = f1 & DEV_VALID && gpu_load64(&v[1].value) == value;
	int none = known && ((!is0 && !is1) || (!(f0 & DEV_EARLY) && changed_unseen(w, canonical, gpu_load32(&e->generation), value, desc)));
	int older = none && value == polled_before(w, canonical, desc);
	u32 of = newest ? OF_EXACTLY : 0;
	of |= none ? OF_NONE : 0;
	of |= older ? OF_POLLED : 0;
	of |= sync_by_stream(canonical) || (!known && launch_unseen(w->launch)) ? OF_UNSEEN : 0;
	of |= entry_passed(e, canonical) ? OF_PASSED : 0;
	known &= !none || older;
	of |= !known || is0 ? OF_NEWEST : 0;
	of |= f1 & DEV_VALID && (!known || is1) ? OF_BEFORE : 0;
	of |= lost && (!known || older) ? OF_OLDER : 0;
	of |= f1 & DEV_VALID && (!known || (is0 && is1)) ? OF_EITHER : 0;
	return of | (lost ? OF_LOST : 0);
}

/* Under the entry's lock. 1: what is read has been put down, which `later` permits. */
NEVER int sync_after_entry(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, int exact, int later)
{
	const struct dev_version *v = e->version;
	u32 of = sync_which(w, e, canonical, desc, value, exact), newest = of & OF_EXACTLY, unseen = of & OF_UNSEEN;
	if (of & OF_NO_WRITE) {
		coarse_join(w, canonical, desc, w->launch->gpu);
		coarse_read(w, canonical, desc);
		if (sync_by_stream(canonical))
			sync_unknown(w, desc);
		return 0;
	}
	if (later && (of & ~OF_EXACTLY) == OF_NEWEST && version_put(w, e, desc, newest != 0))
		return 1;
	if (of & OF_NEWEST)
		version_read(w, &v[0], canonical, desc, e, newest != 0);
	if (of & OF_BEFORE)
		version_read(w, &v[1], canonical, desc, 0, 0);
	if (of & OF_OLDER)
		version_read(w, &v[2], canonical, desc, 0, 0);
	if (of & (OF_POLLED | OF_PASSED))
		coarse_join(w, canonical, desc, w->launch->gpu);
	if ((of & (OF_PASSED | OF_NONE)) == OF_PASSED)
		coarse_read(w, canonical, desc);
	if (of & OF_NONE)
		unseen |= !coarse_read(w, canonical, desc) && !(of & OF_LOST) && sync_unseen(w, canonical, desc, value, 1);
	if (unseen)
		sync_unknown(w, desc);
	if (unseen || of & OF_EITHER || (of & OF_POLLED && of & OF_LOST))
		count(w->launch, GSAN_N_AMBIGUOUS, 1);
	return 0;
}

/* Does the operation read for synchronisation? A red, or an atom whose result nobody reads, observes nothing unless it
 * acquires by itself (then it joins what earlier reads set aside). */
ALWAYS int sync_reads(u32 desc)
{
	if (desc_is_rmw(desc))
		return desc & GSAN_DESC_USED || desc_acquires(desc) || desc_is_cas(desc);
	return desc_op(desc) < GSAN_OP_STRONG_ST;
}

ALWAYS void sync_poll(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	struct dev_state *s = w->state;
	gpu_store64(&s->polled_key, sync_key(canonical, desc_bytes(desc)));
	gpu_store64(&s->polled_value, value);
	gpu_store64(&s->polled, poll_of(w, canonical, generation, value, desc));
}

/* A CAS that failed, and was of the newest version, in this epoch of its warp: its record stands there, and what it learnt is known.
 * As long as this is the same word the next one, which reads the same, has nothing to add. */
ALWAYS u64 spun_of(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	return mix64(poll_of(w, canonical, generation, value, desc) + state_base(w->state, w->warp, 0));
}

/* What a load knows of its location's entry before it executes: 0 = there is none, else its generation. Whoever was writing
 * then raises it before the load can take the lock. */
NEVER u32 sync_look(u64 canonical, u32 bytes)
{
	struct dev_sync *e = sync_find(canonical, bytes, 0, 0);
	return e ? gpu_acquire32(&e->generation) << 1 | 1 : 0;
}

/* What a strong read acquires, by one lane; under the locks of the entry, if there is one, and of the state. 1: that has been put down, which
 * `later` permits, for sync_digest(). */
NEVER int sync_read(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, int exact, int later)
{
	u32 generation = e ? gpu_load32(&e->generation) : 0;
	int put = 0;
	if (sync_learns(desc) && e)
		put = sync_after_entry(w, e, canonical, desc, value, exact, later);
	else if (sync_learns(desc))
		sync_after_none(w, canonical, desc, value);
	else if (e)
		version_taken(w, &e->version[0], canonical, desc);
	if (!put && desc_acquires(desc))
		pending_join(w, sync_key(canonical, desc_bytes(desc)), desc_scope(desc));
	sync_poll(w, canonical, generation, value, desc);
	return put;
}

/* What was put down, under the state's lock, which goes. */
ALWAYS void sync_digest(const struct who *w, u64 canonical, u32 desc)
{
	version_digest(w, canonical, desc);
	if (desc_acquires(desc))
		pending_join(w, sync_key(canonical, desc_bytes(desc)), desc_scope(desc));
	state_give(w);
}

/* Lanes that wrote to one location with one instruction: the value is that of one of them. */
ALWAYS void sync_wrote_more(struct dev_version *v, u64 value)
{
	if (gpu_own64(&v->value) != value)
		gpu_store32(&v->flags, gpu_own32(&v->flags) & ~DEV_VALUE);
}

/* May what it read be taken in when the entry is others' again? A relaxed operation neither publishes that nor is behind it itself. And
 * none of the warp's other lanes needs the lock of the state before. */
ALWAYS int reads_later(const struct dev_sync *e, u32 desc, int whole)
{
	return !desc_acquires(desc) && !desc_releases(desc) && (!whole || (gpu_own32(&e->lanes) == GPU_WARP && !desc_is_cas(desc)));
}

/* After a strong write of one lane that held the lock meanwhile: it read the newest version, and makes the next. One lane of
 * those that share the location does it for all; what each of them read is not told apart. 1: what it read is left to sync_digest(), and the
 * state's lock with it. */
NEVER int sync_wrote(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, int whole)
{
	u32 failed = desc_is_cas(desc) && !desc_is_rmw(desc), ended = gpu_own32(&e->ended);
	u32 told = ended & DEV_MANY ? desc & ~GSAN_DESC_VALUE : desc;
	int reads = w->state && (desc_is_rmw(desc) || failed) && !(ended & DEV_READ), writes = !failed && !(ended & DEV_WROTE), put = 0;
	if (failed && w->state) {
		u32 generation = gpu_load32(&e->generation);
		gpu_store64(&own_warp(w)->spun, spun_of(w, canonical, generation, value, desc));
		if (!reads || sync_polled(w, canonical, generation, value, told))
			return 0; /* a spin on a lock of the program's: it saw what it saw before */
	}
	if (!reads && !writes && !failed)
		sync_wrote_more(&e->version[0], value);
	if ((!reads && !writes) || (w->state && !state_take(w)))
		return 0;
	if (reads)
		put = sync_read(w, e, canonical, told, value, 1, reads_later(e, desc, whole));
	else if (!w->state && !w->stateless && writes && desc_is_rmw(desc) && rec_tag(gpu_load64(&e->version[0].writer)) != w->launch->tag)
		version_taken(w, &e->version[0], canonical, desc); /* for the rest of this one, and those behind */
	u32 time = gpu_own32(&e->time);
	if (writes && w->state && desc_is_cas(desc) && desc_releases(desc) && time == gpu_load32(&own_warp(w)->time))
		time = epoch_end(w); /* no other warp did so since sync_time(): what came between goes with it */
	if (writes && w->state && desc_releases(desc) && time < gpu_own32(&own_warp(w)->synced))
		time = epoch_end(w); /* what it read has put it behind other warps of its CTA: that goes with it */
	if (writes)
		version_write(w, e, desc, value, time, w->state ? state_base(w->state, w->warp, 0) : 0);
	if (writes && w->state)
		epoch_part(w);
	if (w->state && !put)
		state_give(w);
	gpu_store32(&e->ended, ended | DEV_READ | (failed ? 0 : DEV_WROTE));
	return put;
}

/* A load of the newest version alone, put down without the entry's lock: who spins on a location does not keep those who write there waiting.
 * What was copied counts if nobody has taken the lock meanwhile, who makes that seen before he writes. 1: it is for sync_digest(). */
#define GLANCE_TRIES 64u
NEVER int sync_glance(const struct who *w, const struct dev_sync *e, u64 canonical, u32 desc, u64 value, u32 looked)
{
	for (u32 tries = 0; tries < GLANCE_TRIES; tries++) {
		if (tries)
			gpu_sleep(tries < LOCK_NS_MOST / LOCK_NS ? tries * LOCK_NS : LOCK_NS_MOST);
		if (!lock_is_free(&e->lock))
			continue;
		if (!state_take(w))
			return 0;
		u32 turns = gpu_acquire32(&e->lock), generation = gpu_load32(&e->generation);
		u32 of = turn_ahead(turns, turns) ? 0 : sync_which(w, e, canonical, desc, value, looked == (generation << 1 | 1));
		int put = (of & ~OF_EXACTLY) == OF_NEWEST && version_put(w, e, desc, (of & OF_EXACTLY) != 0);
		gpu_fence_sys();
		if (put && gpu_load32(&e->lock) == turns) {
			sync_poll(w, canonical, generation, value, desc);
			return 1;
		}
		state_give(w);
		if (of && !put)
			return 0;
	}
	return 0;
}

/* What is left to do behind a strong operation of one lane. */
struct synced {
	struct dev_sync *held; /* the entry that it holds and has to release once it was checked, or NULL */
	int put;               /* 1: sync_digest() */
};

/* After a strong operation of one lane, on its location's entry if there is one. */
NEVER struct synced sync_after(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, u32 looked, int whole)
{
	struct synced none = {0, 0};
	if (e && sync_held(w->launch, e))
		return (struct synced){e, sync_wrote(w, e, canonical, desc, value, whole)};
	if (e && op_writes(desc_op(desc)))
		sync_came(w, e);
	if (!w->state || !sync_reads(desc))
		return none;
	int still = desc & GSAN_DESC_VALUE || !e || lock_is_free(&e->lock); /* else a write may have executed that is not published */
	u32 generation = e ? gpu_load32(&e->generation) : 0;
	if (!desc_is_rmw(desc) && still && sync_polled(w, canonical, generation, value, desc))
		return none;
	gpu_store32(&w->state->queued, 0);
	if (e && sync_learns(desc) && !op_writes(desc_op(desc)) && sync_glance(w, e, canonical, desc, value, looked)) {
		sync_digest(w, canonical, desc);
		return none;
	}
	gpu_store32(&w->state->queued, e ? lock_queue(&e->lock) : 0);
	if (!entry_lock(w, e))
		return none;
	int exact = e && looked == (gpu_load32(&e->generation) << 1 | 1);
	if (!sync_read(w, e, canonical, desc, value, exact, e && lock_wanted(&e->lock))) {
		entry_unlock(w, e);
		return none;
	}
	lock_give(&e->lock);
	sync_digest(w, canonical, desc);
	return none;
}

/* ---- fences, and the end ------------------------------------------------------------------------------------------------ */

/* Keeps the clock for later strong writes, as far as a fence of `scope` carries it: what has come since the last fence of that scope,
 * for the threads of a CTA often fence one after the other. A wider fence replaces all, and serves for narrower ones. */
NEVER void fence_keep(const struct who *w, u32 scope)
{
	struct dev_state *s = w->state;
	u32 n = gpu_own32(&s->clock.count), wide = scope == GSAN_SYS, known = gpu_own32(&s->kept_scope);
	u64 all = n < 64 ? (1ull << n) - 1 : ~0ull, kept = known ? gpu_own64(&s->kept) & all : 0, us = who_warps(w), had;
	if (wide && (known != GSAN_SYS || gpu_own32(&s->fenced.count) + n - gpu_popc((u32)kept) - gpu_popc((u32)(kept >> 32)) > DEV_CLOCK)) {
		if (!w->launch->warp_bits) /* else some of it is what other warps fenced */
			gpu_store32(&s->fenced.count, 0);
		kept = 0;
	}
	had = kept;
	if (w->launch->warp_bits && !(gpu_own32(&s->kept_by) & us))
		kept = 0;
	struct elems fenced = {.word = s->fenced.elem, .count = &s->fenced.count, .room = DEV_CLOCK, .kind = ELEMS_GATED,
			       .known = w->launch->warp_bits ? s->fenced_known : 0};
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 its = clock_known(w, i);
		fenced.whose = us | (its & KNOWN_FORMALLY);
		if (!its)
			all &= ~(1ull << i) | kept;
		else if (!(kept >> i & 1))
			elems_add(w->launch, &fenced, elem_widened(gpu_own64(&s->clock.elem[i]), scope), 0);
	}
	gpu_store64(&s->kept, all);
	gpu_store32(&s->kept_by, (all & ~had ? 0 : gpu_own32(&s->kept_by)) | (u32)us);
	gpu_store32(&s->kept_scope, scope);
	gpu_or32(&s->fenced.flags, gpu_load32(&s->clock.flags));
	warp_fences(w, (u32)wide);
}

/* A fence or membar: keeps what is released so far for later strong writes, joins what earlier strong reads set aside. */
NEVER void sync_fence(const struct who *w, u32 desc)
{
	u32 sem = desc >> GSAN_DESC_SEM_SHIFT & 7, scope = desc_scope(desc);
	if (scope == GSAN_CTA)
		return; /* orders a CTA's own threads, which count as one */
	if (!state_take(w))
		return;
	if (sem != GSAN_SEM_RELEASE) {
		pending_join(w, 0, scope);
		hint_fenced(w);
	}
	if (sem != GSAN_SEM_ACQUIRE)
		fence_keep(w, scope == GSAN_SYS ? GSAN_SYS : GSAN_GPU);
	state_give(w);
}

/* `threads` more have left. The end of a kernel is a fence: what its strong reads observed is before whatever its stream
 * does next. */
NEVER void sync_leave(const struct who *w, u32 threads)
{
	struct dev_state *s = w->state;
	if (w->stateless)
		acquired_everything(w->launch);
	enum left left = s ? state_leaves(s, threads) : LEFT;
	if (left == LEFT_OTHERS_WAIT)
		barrier_open(w, state_waiting(gpu_load32(&s->threads)));
	if (left != LEFT_LAST)
		return;
	if (!state_take(w)) /* behind what the others did under it, its release too: the state is another CTA's soon */
		return;
	acquired_clock(w);
	if (gpu_load32(&s->pending_flags) & DEV_CLOCK_EVERYTHING)
		acquired_everything(w->launch);
	for (u32 i = 0; i < gpu_own32(&s->pendings) && i < DEV_PENDING; i++)
		if (elem_reached(w->launch, s->pending[i].elem, GSAN_SYS) && !elem_inherited(w->launch, s->pending[i].elem))
			acquired_add(w->launch, s->pending[i].elem);
	state_give(w);
	state_free(w->launch, s);
}

#endif
