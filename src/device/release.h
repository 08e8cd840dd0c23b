/* Release: the versions of a location, and what a strong write publishes in them: what its CTA released so far, by its own
 * semantics, by fences before it and by the kernel's start (PTX ISA, release patterns), and what it continues. */
#ifndef GSAN_DEVICE_RELEASE_H
#define GSAN_DEVICE_RELEASE_H

#include "device/abi.h"
#include "device/desc.h"
#include "device/elem_order.h"
#include "device/elems.h"
#include "device/known.h"
#include "device/launch.h"
#include "device/order.h"
#include "device/state.h"
#include "device/warps.h"

/* What this warp did up to `time`, and other warps before that; 0: what its kernel's start releases. */
ALWAYS u64 elem_make(const struct who *w, u32 time, u32 scope, u32 site)
{
	return (time ? state_stamp(w, time) : w->self & REC_WHO) | elem_by_us(w->launch, scope, site);
}
/* What another of its CTA did up to `time`. */
ALWAYS u64 elem_met(const struct who *w, u32 time, u32 warp, u32 scope, u32 site)
{
	return elem_of_warp(state_stamp_of(w, time, warp) | elem_by_us(w->launch, scope, site));
}

/* Adds to the newest version, by the write that raises the generation next. `known`: to all, or formally. */
ALWAYS void version_add_known(const struct gsan_launch *l, struct dev_sync *e, u64 elem, u64 known)
{
	struct elems s = {.word = e->version[0].elem, .count = &e->version[0].count, .changed = e->changed, .formal = &e->version[0].formal,
			  .room = DEV_VERSION, .kind = ELEMS_GATED, .generation = gpu_own32(&e->generation) + 1, .whose = known};
	s.kind |= gpu_own32(s.count) < DEV_VERSION / 4 ? ELEMS_SITES : 0;
	elems_add(l, &s, elem, 0);
}
ALWAYS void version_add(const struct gsan_launch *l, struct dev_sync *e, u64 elem) { version_add_known(l, e, elem, KNOWN_TO_ALL); }

/* What this warp did up to `time`, and other warps before `all`, or, those that it met, before that of its row. */
NEVER void version_add_times(const struct who *w, struct dev_sync *e, u32 time, u32 all, const u32 *row, u64 how, u32 scope, u32 site)
{
	u64 own = elem_make(w, time, scope, site) | how;
	u32 least = row ? ~0u : 0;
	for (u32 i = 0, n = row ? cta_warps() : 0; i < n; i++)
		least = i != w->warp && gpu_own32(&row[i]) < least ? gpu_own32(&row[i]) : least;
	least = least < time ? least : time;
	all = least > all ? least : all; /* one element for what it knows of all, and more only of those of whom it knows more */
	int apart = w->launch->warp_bits && time > all;
	version_add(w->launch, e, apart ? elem_of_warp(own) : own);
	if (apart && all > time_first(w->launch))
		version_add(w->launch, e, elem_make(w, all, scope, site) | how);
	for (u32 i = 0, n = row ? cta_warps() : 0; i < n; i++)
		if (i != w->warp && gpu_own32(&row[i]) > all)
			version_add(w->launch, e, elem_met(w, gpu_own32(&row[i]) - 1, i, scope, site) | how);
	if (w->launch->warp_bits && gpu_own32(&w->state->saturated)) /* barriers have no time any more */
		gpu_or32(&e->version[0].flags, DEV_EVERYTHING);
}

/* What this warp has fenced goes with a release of it at the scopes of the fences, formally what any of `formally` has; what a list that
 * widened has made of several, to all. */
NEVER void version_add_fenced(const struct who *w, struct dev_sync *e, u64 formally)
{
	const struct dev_clock *from = &w->state->fenced;
	u64 us = own_fences(w) ? who_warps(w) : 0;
	u32 n = gpu_own32(&from->count);
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 elem = gpu_own64(&from->elem[i]);
		u64 gate = elem_is_open(elem) ? elem_gate(elem) : elem_by_us(w->launch, elem_scope(elem), 0);
		u64 known = w->launch->warp_bits ? gpu_own64(&w->state->fenced_known[i]) : KNOWN_TO_ALL;
		if (known & us & WARPS_ALL && !(known & KNOWN_FORMALLY))
			version_add(w->launch, e, elem_handed_on(elem, gate));
		else if (known & (us | formally) & WARPS_ALL)
			version_add_known(w->launch, e, elem_handed_on(elem, gate), KNOWN_TO_ALL_FORMALLY);
	}
	if (gpu_load32(&from->flags) & DEV_CLOCK_EVERYTHING)
		gpu_or32(&e->version[0].flags, DEV_EVERYTHING);
}

/* The clock goes with it at the release's scope, but for what the version is known to have. */
NEVER void version_add_clock(const struct who *w, struct dev_sync *e, u32 scope)
{
	struct dev_state *s = w->state;
	u32 n = gpu_own32(&s->clock.count);
	u64 told = told_about(s, e, scope) ? gpu_own64(&s->told) : 0, all = n < 64 ? (1ull << n) - 1 : ~0ull, known;
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		if (!clock_serves(w, i, ASKED_LETTER))
			all &= ~(1ull << i) | told;
		if (!(told >> i & 1) && (known = clock_known(w, i)))
			version_add_known(w->launch, e, elem_handed_on(gpu_own64(&s->clock.elem[i]), elem_by_us(w->launch, scope, 0)), known);
	}
	told_set(s, e, scope, all);
	if (gpu_load32(&s->clock.flags) & DEV_CLOCK_EVERYTHING)
		gpu_or32(&e->version[0].flags, DEV_EVERYTHING);
}

/* What fences of other warps before a barrier formally leave to a relaxed write of this one. Of all warps one element, as far as all have
 * fenced: no record is of that time. Returns the warps behind whose fences it formally is, as far as that is known: as bits. */
NEVER u64 version_add_formal(const struct who *w, struct dev_sync *e, u32 site)
{
	const struct dev_meeting *m = own_meeting(w);
	u32 warps = cta_warps();
	u64 any = 0;
	for (u32 k = 0; k < 2; k++) {
		u32 scope = k ? GSAN_SYS : GSAN_GPU, own = gpu_own32(&own_warp(w)->fence[k]), all = own ? gpu_own32(&own_warp(w)->fence_all[k]) : 0, least = own;
		for (u32 i = 0; i < warps; i++) {
			u32 formal = i == w->warp ? own : fence_formal(w, m, i, k);
			least = formal < least ? formal : least;
			any |= i != w->warp && formal ? 1ull << i : 0;
		}
		if (least > all)
			version_add_known(w->launch, e, elem_fenced(elem_make(w, least, scope, site)), KNOWN_TO_ALL_FORMALLY);
		all = least > all ? least : all;
		for (u32 i = 0; i < warps; i++) {
			u32 formal = i == w->warp ? 0 : fence_formal(w, m, i, k), met = own && m ? gpu_own32(&m->fenced[k][w->warp][i]) : 0;
			if (formal > all && formal > met)
				version_add_known(w->launch, e, elem_fenced(elem_met(w, formal - 1, i, scope, site)), KNOWN_TO_ALL_FORMALLY);
		}
	}
	return any;
}

/* What a strong write of this CTA at `scope` releases: by its own semantics (`time`), by fences before it, by the kernel's
 * start, which is a fence at time 0. A fence releases at its own scope, whatever the write's (PTX ISA: the first operation of
 * the pattern); whether the write is seen is asked link by link. Under the locks of entry and state. */
NEVER void version_publish(const struct who *w, struct dev_sync *e, int release, u32 time, u64 point, u32 scope, u32 site)
{
	const struct dev_warp *own = own_warp(w);
	const struct dev_meeting *m = own_meeting(w);
	u32 gpu = gpu_own32(&own->fence[0]), sys = gpu_own32(&own->fence[1]); /* 1 + time */
	int itself = release && scope != GSAN_CTA;
	version_add(w->launch, e, elem_write(point, elem_by_us(w->launch, scope, site), gpu | sys || itself)); /* for words: there is more */
	if (sys)
		version_add_times(w, e, sys - 1, gpu_own32(&own->fence_all[1]), m ? m->fenced[1][w->warp] : 0, ELEM_FENCED, GSAN_SYS, site);
	if (gpu > sys || (gpu && gpu == sys && w->launch->warp_bits)) /* of one time, it may be the later one: a barrier of some came between */
		version_add_times(w, e, gpu - 1, gpu_own32(&own->fence_all[0]), m ? m->fenced[0][w->warp] : 0, ELEM_FENCED, GSAN_GPU, site);
	u64 formally = w->launch->warp_bits && !itself && gpu_own32(&w->state->kept_scope) ? version_add_formal(w, e, site) : 0;
	if (gpu | sys || formally)
		version_add_fenced(w, e, formally);
	if (itself) {
		u32 wide = scope == GSAN_CLUSTER ? GSAN_GPU : scope;
		version_add_times(w, e, time, gpu_own32(&own->synced), m ? m->knows[w->warp] : 0, 0, wide, site);
		version_add_clock(w, e, wide);
	}
}

/* A release of this CTA on the same location, earlier: a strong write continues it (PTX ISA, release patterns). `own` lies
 * in one of the entry's versions, and was not handed on by others. Of its clock, all that it has by now is taken to have been
 * released then. */
NEVER void version_again(const struct who *w, struct dev_sync *e, u64 own)
{
	version_add(w->launch, e, own);
	version_add_clock(w, e, elem_is_open(own) ? GSAN_SYS : elem_scope(own));
}

/* Is it a release of this CTA itself, or what one of another of its warps had? In a version that has widened, one of all CTAs may be. */
ALWAYS int version_own(const struct who *w, u64 e)
{
	if (elem_is_prefix(e))
		return prefix_owner(e) == w->launch->participant && prefix_seq(e) >= w->launch->seq;
	if (elem_of_many(e))
		return elem_is_did(e) && rec_tag(e) == w->launch->tag;
	return elem_is_release(e) && elem_is_own(w, e);
}

/* Is one of them of this warp? PTX continues what a thread itself released there. */
ALWAYS int version_continues(const struct who *w, const struct dev_version *v, u32 n)
{
	u32 bits = w->launch->warp_bits;
	for (u32 i = 0; bits && i < n && i < DEV_VERSION; i++) {
		u64 own = gpu_own64(&v->elem[i]);
		if (version_own(w, own) && (elem_of_many(own) || elem_warp(own, bits) == w->warp))
			return 1;
	}
	return !bits;
}

NEVER void version_continue(const struct who *w, struct dev_sync *e)
{
	for (u32 k = 0; k < 3; k++) {
		struct dev_version *v = &e->version[k];
		u32 n = gpu_own32(&v->flags) & DEV_VALID ? gpu_own32(&v->count) : 0;
		n = version_continues(w, v, n) ? n : 0;
		for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
			u64 own = gpu_own64(&v->elem[i]);
			if (version_own(w, own))
				version_again(w, e, own);
		}
	}
}

ALWAYS void version_writer(struct dev_version *to, const struct dev_version *from)
{
	gpu_store64(&to->writer, gpu_own64(&from->writer));
	gpu_store32(&to->coarse, gpu_own32(&from->coarse));
}

ALWAYS u64 version_known(const struct dev_version *v, u32 i) { return known_to_all(gpu_own64(&v->formal), i); }

/* The newest becomes the one before, the one before goes to all older ones. */
NEVER void version_new(const struct gsan_launch *l, struct dev_sync *e)
{
	struct dev_version *v = e->version;
	u32 n = gpu_own32(&v[1].count);
	if (gpu_own32(&v[1].flags) & DEV_VALID) {
		struct elems older = {.word = v[2].elem, .count = &v[2].count, .formal = &v[2].formal, .room = DEV_VERSION, .kind = ELEMS_GATED};
		for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
			older.whose = version_known(&v[1], i);
			elems_add(l, &older, gpu_own64(&v[1].elem[i]), 0);
		}
		gpu_or32(&v[2].flags, gpu_own32(&v[1].flags) & ~DEV_VALUE);
		version_writer(&v[2], &v[1]);
		gpu_store32(&e->lost, 1);
	}
	n = gpu_own32(&v[0].count);
	for (u32 i = 0; i < n && i < DEV_VERSION; i++)
		gpu_store64(&v[1].elem[i], gpu_own64(&v[0].elem[i]));
	gpu_store64(&v[1].formal, gpu_own64(&v[0].formal));
	gpu_store64(&v[1].value, gpu_own64(&v[0].value));
	version_writer(&v[1], &v[0]);
	gpu_store32(&v[1].count, n);
	gpu_store32(&v[1].flags, gpu_own32(&v[0].flags));
	gpu_store32(&v[0].flags, 0);
	gpu_store32(&v[0].count, 0);
	gpu_store64(&v[0].formal, 0);
	gpu_store32(&e->lineage, gpu_own32(&e->lineage) + 1);
}

/* Do the scope of a write and `scope` of this CTA include each other? */
ALWAYS int elem_links(const struct who *w, u64 elem, u32 scope)
{
	return elem_reaches(w->launch, elem) && elem_reached(w->launch, elem, scope);
}

/* Is an operation of this CTA at `scope` morally strong with the write that left the version? */
ALWAYS int version_linked(const struct who *w, const struct dev_version *v, u32 scope)
{
	u64 writer = gpu_load64(&v->writer);
	return elem_is_own(w, writer) || elem_links(w, writer, scope);
}

/* The record of a weak write at a location, and its rec_point(): 0 of its line, from 1 of its granule. 0: there is none. */
ALWAYS u64 location_write(u64 canonical, u32 desc, u32 i, u64 *point)
{
	u32 in = (u32)canonical & (GSAN_LINE - 1), detail;
	const struct gsan_line *line = (const struct gsan_line *)(uintptr_t)gsan_shadow(canonical - in);
	u64 rec = 0;
	int there;
	if (!i) {
		rec = gpu_load64(&line->write);
		there = rec_mask(rec) >> in / GSAN_SECTOR & 1;
	} else {
		detail = gpu_load32(&line->detail);
		rec = detail ? gpu_load64(&detail_at(canonical, detail)->granule[in / GSAN_GRANULE].write[i - 1]) : 0;
		there = !(desc_mask(desc, canonical) & ~rec_mask(rec));
	}
	*point = rec_point(rec, canonical, !i);
	return there && op_writes(rec_op(rec)) && !op_is_strong(rec_op(rec)) ? rec : 0;
}
/* Runs what follows for each of them. */
#define EACH_WRITE(canonical, desc, rec, point) \
	for (u64 i_ = 0, rec, point; i_ < 1 + GSAN_DETAIL_WRITES; i_++) \
		if ((rec = location_write(canonical, desc, (u32)i_, &point)))

/* Is there a strong write of this CTA in the version, behind its weak one? Strong ones end epochs, while these are plenty. */
ALWAYS int version_has_later(const struct who *w, const struct dev_version *v, u64 rec)
{
	u32 n = w->state && epochs_plenty(w) ? gpu_own32(&v->count) : 0;
	for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
		u64 e = gpu_own64(&v->elem[i]);
		if (elem_is_write(e) && elem_is_own(w, e) && rec_tag(e) == rec_tag(rec) &&
		    rec_epoch(e) >> w->launch->warp_bits >= rec_epoch(rec) >> w->launch->warp_bits)
			return 1;
	}
	return 0;
}

/* What an RMW read may be its own CTA's weak write, which it then continues as it does a strong one: who observes the RMW
 * observes that write (PTX ISA, observation order: related in program order). */
NEVER void version_heads(const struct who *w, struct dev_sync *e, u32 desc)
{
	u64 canonical = gpu_load64(&e->key) >> 3;
	EACH_WRITE(canonical, desc, rec, point)
		if (elem_is_own(w, rec & REC_STAMP) && !version_has_later(w, &e->version[0], rec))
			version_add(w->launch, e, elem_fresh(elem_seen(rec & REC_STAMP, point)) | elem_by_us(w->launch, desc_scope(desc), 0));
}

/* Did some without an entry, perhaps, have scopes that reach other GPUs? */
#define ANY_GPU (~0u)
ALWAYS int coarse_wide(const struct dev_tables *t) { return gpu_load32(&t->sync_full) || gpu_load32(&t->coarse_used) > 1; }

/* An RMW continues what it read if both are morally strong: link by link, PTX's observation order. */
NEVER void version_extend(const struct who *w, struct dev_sync *e, u32 scope)
{
	struct dev_version *v = &e->version[0];
	u32 flags = gpu_own32(&v->flags) & ~DEV_VALUE; /* the value is not known */
	if (!(flags & DEV_VALID)) {
		const struct dev_tables *t = dev_tables(gsan_owner(gpu_load64(&e->key) >> 3));
		flags = DEV_VALID | (gpu_load32(&t->coarse_used) && scope != GSAN_CTA ? DEV_COARSELY : 0);
		gpu_store32(&v->coarse, scope == GSAN_SYS && coarse_wide(t) ? ANY_GPU : w->launch->gpu);
	}
	if (!(flags & DEV_EARLY) && gpu_own32(&v->count) && !version_linked(w, v, scope)) {
		version_new(w->launch, e);
		flags = DEV_VALID;
	}
	gpu_store32(&v->flags, flags);
}

/* The version of a strong write, in place. Under the locks of entry and state. `point`: tag, CTA and epoch of its record. */
NEVER void version_write(const struct who *w, struct dev_sync *e, u32 desc, u64 value, u32 time, u64 point)
{
	const struct gsan_launch *l = w->launch;
	struct dev_version *v = &e->version[0];
	u32 scope = desc_scope(desc), site = desc & 0xffff;
	if (desc_is_rmw(desc)) {
		version_extend(w, e, scope);
	} else {
		version_new(l, e);
		gpu_store64(&v->value, value);
		gpu_store32(&v->flags, DEV_VALID | (desc & GSAN_DESC_VALUE ? DEV_VALUE : 0));
	}
	gpu_store64(&v->writer, writer_of(w->base & REC_WHO, elem_by_us(l, scope, site), desc_releases(desc)));
	if (desc_is_rmw(desc)) {
		gpu_or32(&v->flags, DEV_CONTINUED);
		version_heads(w, e, desc);
	}
	if (w->state) {
		if (!desc_releases(desc))
			version_continue(w, e);
		version_publish(w, e, desc_releases(desc), time, point, scope, site);
	} else { /* the write itself, and what its kernel's start releases: that is all of a kernel of relaxed RMWs alone */
		tag_await(l, l->tag);
		version_add(l, e, elem_write(w->base & REC_STAMP, elem_by_us(l, scope, site), 0));
		if (w->stateless)
			gpu_or32(&v->flags, DEV_EVERYTHING);
	}
	gpu_add32(&e->generation, 1);
}

#endif
