/* Synchronisation: the versions of strongly written locations, and what releases, acquires and fences do with them. A strong
 * write holds its location's entry while it executes: it reads the newest version and publishes the next, with what it
 * releases. A load looks which version is the newest before it executes, and joins afterwards what it observed: link by link
 * where both are morally strong, those elements whose gates include each other mutually (PTX ISA: release and acquire
 * patterns, observation). */
#ifndef GSAN_DEVICE_SYNC_H
#define GSAN_DEVICE_SYNC_H

#include "device/abi.h"
#include "device/join.h"

/* ---- entries --------------------------------------------------------------------------------------------------- */

/* A location is its address and its size: strong operations of different sizes are not morally strong with each other. */
ALWAYS u64 sync_key(u64 canonical, u32 bytes) { return canonical << 3 | (u64)__builtin_ctz(bytes); }

/* The entry of a location, made if `make`. NULL: none, or the table is full around it. */
NEVER struct dev_sync *sync_find(u64 canonical, u32 bytes, int make, u32 quota)
{
	struct dev_tables *t = dev_tables(gsan_owner(canonical));
	u64 key = sync_key(canonical, bytes);
	u32 at = (u32)mix64(key);
	for (u32 i = 0; i < DEV_SYNC_PROBES; i++) {
		struct dev_sync *s = &t->sync[(at + i) & (DEV_SYNCS - 1)];
		u64 found = gpu_load64(&s->key);
		if (!found) {
			if (!make || gpu_load32(&t->syncs) >= quota)
				return 0;
			found = gpu_cas64(&s->key, 0, key);
			if (!found) {
				gpu_add32(&t->syncs, 1);
				return s;
			}
		}
		if (found == key)
			return s;
	}
	return 0;
}

/* The warp, among all that run: launch, CTA, number in it. */
ALWAYS u64 warp_id(const struct gsan_launch *l)
{
	return (u64)l->tag << GSAN_REC_TAG_SHIFT | gpu_cta() << 6 | (1 + gpu_thread() / 32);
}

/* Does this lane hold the lock of the entry, over the operation that it is about to end? */
ALWAYS int sync_held(const struct gsan_launch *l, const struct dev_sync *e)
{
	return gpu_load64(&e->holder) == warp_id(l) && gpu_load32(&e->lanes) >> gpu_lane() & 1;
}

/* Locks the entries of the lanes that have one, each once, in the order of their addresses: two warps with several of
 * the same cannot wait for each other. A lane that has the lock waits for nothing but the program's instruction. */
NEVER void sync_hold(const struct gsan_launch *l, struct dev_sync *e, u32 members)
{
	u64 mine = (u64)(uintptr_t)e;
	u32 group = gpu_match64(members, mine), before = 0, ranks = 0;
	for (u32 rest = gpu_ballot(members, e && gpu_lane() == gpu_first(group)); rest; rest &= rest - 1) {
		before += gpu_shfl64(members, mine, gpu_first(rest)) < mine;
		ranks++;
	}
	for (u32 rank = 0; rank < ranks; rank++) {
		if (e && before == rank && gpu_lane() == gpu_first(group)) {
			gpu_lock(&e->lock);
			gpu_store32(&e->lanes, group);
			gpu_store32(&e->time, 0);
			gpu_store32(&e->ended, gpu_popc(group) > 1 ? DEV_MANY : 0);
			gpu_store64(&e->holder, warp_id(l));
			gpu_fence_sys(); /* whoever sees what the program writes finds the lock taken, or the publication */
		}
		gpu_warp_sync(members);
	}
}

/* The operations of `members` are over, each on its entry, if it has one; the last of a warp's gives the lock back. */
ALWAYS void sync_release(struct dev_sync *e, u32 members)
{
	if (!gpu_ballot(members, e != 0)) /* loads, mostly */
		return;
	u32 group = gpu_match64(members, (u64)(uintptr_t)e);
	if (!e || gpu_lane() != gpu_first(group))
		return;
	u32 left = gpu_load32(&e->lanes) & ~group;
	gpu_store32(&e->lanes, left);
	if (!left) {
		gpu_store64(&e->holder, 0);
		gpu_unlock(&e->lock);
	}
}

/* ---- release ----------------------------------------------------------------------------------------------------- */

ALWAYS u32 desc_op(u32 desc) { return desc >> GSAN_DESC_OP_SHIFT & 31; }
ALWAYS u32 desc_bytes(u32 desc) { return desc >> GSAN_DESC_BYTES_SHIFT & 63; } /* of what is no strong vector */
/* A strong vector is one operation per element (PTX ISA, 8.2.4): its bytes, how many, the bytes of one, one as a scalar. */
ALWAYS u32 desc_vector(u32 desc) { return 1u << (31 - __builtin_clz(desc_bytes(desc))); }
ALWAYS u32 desc_elements(u32 desc) { return 1u << (desc_bytes(desc) - desc_vector(desc)); }
ALWAYS u32 desc_element(u32 desc) { return desc_vector(desc) / desc_elements(desc); }
ALWAYS u32 desc_scalar(u32 desc) { return (desc & ~(63u << GSAN_DESC_BYTES_SHIFT)) | desc_element(desc) << GSAN_DESC_BYTES_SHIFT; }
/* Of what is no strong vector, its bytes in the granule where it begins. */
ALWAYS u32 desc_mask(u32 desc, u64 canonical)
{
	return granule_mask(canonical, desc_bytes(desc) < GSAN_GRANULE ? desc_bytes(desc) : GSAN_GRANULE);
}
ALWAYS u32 desc_scope(u32 desc) { return op_scope(desc >> GSAN_DESC_OP_SHIFT & 31); }
ALWAYS u32 desc_sem(u32 desc) { return desc >> GSAN_DESC_SEM_SHIFT & 3; } /* not of a fence */
ALWAYS int desc_is_rmw(u32 desc) { return op_is_rmw(desc >> GSAN_DESC_OP_SHIFT & 31); }
ALWAYS int desc_is_cas(u32 desc) { return (int)(desc >> GSAN_DESC_SEM_SHIFT & GSAN_SEM_CAS); }
ALWAYS int desc_acquires(u32 desc) { return desc_sem(desc) & GSAN_SEM_ACQUIRE; }
ALWAYS int desc_releases(u32 desc) { return desc_sem(desc) & GSAN_SEM_RELEASE; }

ALWAYS u64 elem_where(const struct who *w, u32 scope, u32 site)
{
	return (u64)site << ELEM_SITE_SHIFT | (u64)w->launch->gpu << ELEM_GPU_SHIFT | (u64)scope << ELEM_SCOPE_SHIFT;
}

/* An element of this CTA at `time`; 0: what its kernel's start releases. */
ALWAYS u64 elem_make(const struct who *w, u32 time, u32 scope, u32 site)
{
	return (time ? state_stamp(w, time) : w->self & REC_WHO) | elem_where(w, scope, site);
}

ALWAYS void version_add(const struct gsan_launch *l, struct dev_version *v, u64 elem)
{
	if (elems_add(l, v->elem, &v->count, DEV_VERSION, elem, 1) < 0)
		gpu_or32(&v->flags, DEV_EVERYTHING);
}

/* Elements of a list that go with a release of this CTA: of the clock all do, at the release's `scope`; of what was fenced, at
 * that of their fence. */
NEVER void version_add_list(const struct who *w, struct dev_version *v, const struct dev_clock *from, u32 scope, int fenced)
{
	u32 n = gpu_load32(&from->count);
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 e = elem_settled(gpu_load64(&from->elem[i]));
		u32 own = fenced ? (u32)(e >> ELEM_SCOPE_SHIFT) & 3 : scope;
		e |= e & (ELEM_POINT | ELEM_RELAXED | ELEM_PREFIX) ? 0 : ELEM_FENCED; /* by no operation on the location */
		version_add(w->launch, v, (e & ~elem_gate(e)) | elem_where(w, own, 0));
	}
	if (gpu_load32(&from->flags) & DEV_CLOCK_EVERYTHING)
		gpu_or32(&v->flags, DEV_EVERYTHING);
}

/* What a strong write of this CTA at `scope` releases: by its own semantics (`time`), by fences before it, by the kernel's
 * start, which is a fence at time 0. A fence releases at its own scope, whatever the write's (PTX ISA: the first operation of
 * the pattern); whether the write is seen is asked link by link. Under the locks of entry and state. */
NEVER void version_publish(const struct who *w, struct dev_version *v, int release, u32 time, u64 point, u32 scope, u32 site)
{
	struct dev_state *s = w->state;
	u32 gpu = gpu_load32(&s->fence[0]), sys = gpu_load32(&s->fence[1]); /* 1 + time */
	int itself = release && scope != GSAN_CTA;
	version_add(w->launch, v, point | elem_where(w, scope, site) | ELEM_RELAXED | ELEM_POINT |
					  (gpu | sys || itself ? ELEM_FENCED : 0)); /* for words: there is more than this */
	if (sys)
		version_add(w->launch, v, elem_make(w, sys - 1, GSAN_SYS, site) | ELEM_FENCED);
	if (gpu > sys)
		version_add(w->launch, v, elem_make(w, gpu - 1, GSAN_GPU, site) | ELEM_FENCED);
	if (gpu | sys)
		version_add_list(w, v, &s->fenced, scope, 1);
	if (itself) {
		u32 wide = scope == GSAN_CLUSTER ? GSAN_GPU : scope;
		version_add(w->launch, v, elem_make(w, time, wide, site));
		version_add_list(w, v, &s->clock, wide, 0);
	}
}

/* A release of this CTA on the same location, earlier: a strong write continues it (PTX ISA, release patterns). `own` lies
 * in one of the entry's versions, and was not handed on by others. Of its clock, all that it has by now is taken to have been
 * released then. */
NEVER void version_again(const struct who *w, struct dev_version *v, u64 own)
{
	version_add(w->launch, v, own);
	version_add_list(w, v, &w->state->clock, (u32)(own >> ELEM_SCOPE_SHIFT) & 3, 0);
}

NEVER void version_continue(const struct who *w, struct dev_sync *e)
{
	for (u32 k = 0; k < 3; k++) {
		struct dev_version *v = &e->version[k];
		u32 n = gpu_load32(&v->flags) & DEV_VALID ? gpu_load32(&v->count) : 0;
		for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
			u64 own = gpu_load64(&v->elem[i]);
			if (!(own & (ELEM_POINT | ELEM_RELAXED | ELEM_FENCED | ELEM_ALL | ELEM_PREFIX)) && elem_is_own(w, own))
				version_again(w, &e->version[0], own);
		}
	}
}

ALWAYS void version_writer(struct dev_version *to, const struct dev_version *from)
{
	gpu_store64(&to->writer, gpu_load64(&from->writer));
	gpu_store32(&to->coarse, gpu_load32(&from->coarse));
	gpu_store32(&to->kernel, gpu_load32(&from->kernel));
}

/* The newest becomes the one before, the one before goes to all older ones. */
NEVER void version_new(const struct gsan_launch *l, struct dev_sync *e)
{
	struct dev_version *v = e->version;
	u32 n = gpu_load32(&v[1].count);
	if (gpu_load32(&v[1].flags) & DEV_VALID) {
		for (u32 i = 0; i < n && i < DEV_VERSION; i++)
			version_add(l, &v[2], gpu_load64(&v[1].elem[i]));
		gpu_or32(&v[2].flags, gpu_load32(&v[1].flags) & ~DEV_VALUE);
		version_writer(&v[2], &v[1]);
		gpu_store32(&e->lost, 1);
	}
	n = gpu_load32(&v[0].count);
	for (u32 i = 0; i < n && i < DEV_VERSION; i++)
		gpu_store64(&v[1].elem[i], gpu_load64(&v[0].elem[i]));
	gpu_store64(&v[1].value, gpu_load64(&v[0].value));
	version_writer(&v[1], &v[0]);
	gpu_store32(&v[1].count, n);
	gpu_store32(&v[1].flags, gpu_load32(&v[0].flags));
	gpu_store32(&v[0].flags, 0);
	gpu_store32(&v[0].count, 0);
}

/* Is an operation of this CTA at `scope` morally strong with the write that left the version? */
ALWAYS int version_linked(const struct who *w, const struct dev_version *v, u32 scope)
{
	u64 writer = gpu_load64(&v->writer);
	return elem_is_own(w, writer) || (elem_reaches(w->launch, writer) && elem_reached(w->launch, writer, scope));
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
	u32 n = w->state && epochs_plenty(w) ? gpu_load32(&v->count) : 0;
	for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
		u64 e = gpu_load64(&v->elem[i]);
		if (elem_is_point(e) && e & ELEM_RELAXED && elem_is_own(w, e) && rec_tag(e) == rec_tag(rec) && rec_epoch(e) >= rec_epoch(rec))
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
			version_add(w->launch, &e->version[0], (rec & REC_STAMP) | elem_where(w, desc_scope(desc), 0) | point | ELEM_POINT | ELEM_FRESH);
}

/* An RMW continues what it read if both are morally strong: link by link, PTX's observation order. */
NEVER void version_extend(const struct who *w, struct dev_sync *e, u32 scope)
{
	struct dev_version *v = &e->version[0];
	u32 flags = gpu_load32(&v->flags) & ~DEV_VALUE; /* the value is not known */
	if (!(flags & DEV_VALID)) {
		const struct dev_tables *t = dev_tables(gsan_owner(gpu_load64(&e->key) >> 3));
		flags = DEV_VALID | (gpu_load32(&t->coarse_used) && scope != GSAN_CTA ? DEV_COARSELY : 0);
		gpu_store32(&v->coarse, w->launch->gpu);
	}
	if (!(flags & DEV_EARLY) && gpu_load32(&v->count) && !version_linked(w, v, scope)) {
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
	gpu_store32(&v->kernel, l->kernel);
	gpu_store64(&v->writer, (w->base & REC_WHO) | elem_where(w, scope, 0));
	if (desc_is_rmw(desc))
		version_heads(w, e, desc);
	if (w->state) {
		if (!desc_releases(desc))
			version_continue(w, e);
		version_publish(w, v, desc_releases(desc), time, point, scope, site);
	} else if (w->stateless) {
		gpu_or32(&v->flags, DEV_EVERYTHING);
	} else if (scope != GSAN_CTA) { /* a kernel of relaxed RMWs alone: what its start releases */
		version_add(l, v, elem_make(w, 0, scope == GSAN_SYS ? GSAN_SYS : GSAN_GPU, site) |
				  1ull << GSAN_REC_EPOCH_SHIFT | ELEM_RELAXED | ELEM_POINT);
	}
	gpu_add32(&e->generation, 1);
}

/* ---- the coarse path: RMWs whose location has no entry ---------------------------------------------------------------- */

/* Is this launch in the coarse clock of the owner's tables `t`? Then its relaxed RMWs have nothing to add. */
ALWAYS int coarse_noted(const struct dev_tables *t, const struct gsan_launch *l)
{
	u64 slot = gpu_load64(&t->coarse.slot[coarse_slot(l->participant, l->stream)]);
	return slot && rec_tag(slot) == l->tag;
}

/* `elem` covers all CTAs of its launch (ELEM_ALL). Its gate is open: who reads there is not known. */
NEVER void coarse_add(struct dev_tables *t, const struct gsan_launch *l, u64 elem)
{
	u64 *slot = &t->coarse.slot[coarse_slot(l->participant, l->stream)], old = gpu_load64(slot), now;
	do {
		if (old && rec_tag(old) == rec_tag(elem) && rec_epoch(old) >= rec_epoch(elem))
			return;
		now = gpu_cas64(slot, old, elem);
	} while (now != old && (old = now, 1));
	if (old && rec_tag(old) != rec_tag(elem) && !tag_in_stream(l, rec_tag(old), l->participant, l->stream))
		gpu_max64(&t->coarse.older[tag_participant(l, rec_tag(old))], elem_seq(l, old));
	if (!gpu_load32(&t->coarse_used))
		gpu_store32(&t->coarse_used, 1);
}

/* An RMW of this CTA that has no entry; `time`: what it releases, 0 = only what its kernel's start does. */
ALWAYS void coarse_note(const struct who *w, struct dev_tables *t, u32 time)
{
	u64 tag = w->self & ~0ull << GSAN_REC_TAG_SHIFT;
	u64 epoch = time > GSAN_EPOCH_MAX ? GSAN_EPOCH_MAX : time;
	if (!time && coarse_noted(t, w->launch))
		return;
	coarse_add(t, w->launch, tag | epoch << GSAN_REC_EPOCH_SHIFT | ELEM_ALL | ELEM_OPEN);
	if (time > GSAN_EPOCH_MAX) /* under a private tag, of which nobody would know */
		gpu_max64(&t->coarse.older[w->launch->participant], w->launch->seq);
}

ALWAYS void coarse_everything(struct dev_tables *t, const struct gsan_launch *l)
{
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1)
		gpu_max64(&t->coarse.older[gpu_first(mapped)], gpu_load64(&dev_tables(gpu_first(mapped))->newest));
	gpu_store32(&t->coarse_used, 1);
}

/* What a strong write of this CTA releases when no location can keep it. */
NEVER u32 coarse_time(const struct who *w, u32 desc)
{
	struct dev_state *s = w->state;
	u32 at, gpu, sys;
	if (!s)
		return 0;
	gpu_lock(&s->lock);
	gpu = gpu_load32(&s->fence[0]);
	sys = gpu_load32(&s->fence[1]);
	at = sys > gpu ? sys : gpu;
	at = desc_releases(desc) ? epoch_end(w) : at ? at - 1 : 0;
	gpu_unlock(&s->lock);
	return at;
}

/* ---- before a strong write -------------------------------------------------------------------------------------------- */

/* Does this strong write make an entry for its location? Not the relaxed RMW of a kernel of such alone, within one GPU:
 * histograms are made of those. */
ALWAYS int sync_makes(const struct who *w, u32 desc)
{
	return !desc_is_rmw(desc) || desc_sem(desc) != GSAN_SEM_NONE || desc_scope(desc) == GSAN_SYS || w->state ||
	       w->launch->lifted & GSAN_LIFT_COARSE;
}

/* Is there anything to publish? All lanes ask at once. If not, the coarse path has it. */
ALWAYS int sync_publishes(const struct who *w, u64 canonical, u32 desc)
{
	if (sync_makes(w, desc) || sync_find(canonical, desc_bytes(desc), 0, 0))
		return 1;
	if (desc_scope(desc) != GSAN_CTA) /* which reaches nobody */
		coarse_note(w, dev_tables(gsan_owner(canonical)), 0);
	return 0;
}

/* RMWs that find no mark in their line need not look for an entry (runtime.c, red_fast). */
ALWAYS void line_mark_sync(u64 canonical)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(canonical);
	line_mark(line, gpu_load64(&line->detail), GSAN_LINE_SYNC);
}

/* ---- acquire ------------------------------------------------------------------------------------------------------ */

ALWAYS void hint_set(const struct who *w, u64 elem, u32 reason, u32 site, u32 kernel)
{
	struct dev_hint *h = &w->state->hint;
	if (elem & (ELEM_ALL | ELEM_PREFIX) || elem_is_own(w, elem) || (elem_is_point(elem) && !(elem & ELEM_RELAXED)))
		return; /* an observed point has no site */
	h->reason = reason;
	h->write_site = (uint16_t)(elem >> ELEM_SITE_SHIFT);
	h->read_site = (uint16_t)site;
	h->write_kernel = kernel;
	h->write_tag = (uint16_t)rec_tag(elem);
}

ALWAYS void order_lost(const struct who *w, int acquire) /* from here on, or from the next acquire fence on */
{
	gpu_or32(acquire ? &w->state->clock.flags : &w->state->pending_flags, DEV_CLOCK_EVERYTHING);
}

/* Sets aside what a strong read of `key` observed. A full list merges as others do, then for any location. */
NEVER void pending_add(const struct who *w, u64 elem, u64 key)
{
	struct dev_state *s = w->state;
	const struct gsan_launch *l = w->launch;
	u32 n = gpu_load32(&s->pendings), place = n;
	for (u32 i = 0; i < n && i < DEV_PENDING; i++) {
		u64 old = s->pending[i].elem;
		if (elem_within(l, elem, old, 1) && s->pending[i].key == key)
			return;
		if (elem_within(l, old, elem, 1) && s->pending[i].key == key)
			place = i;
	}
	if (place == DEV_PENDING) {
		count(l, GSAN_N_CLOCK_FULL, 1);
		for (u32 i = 0; i < DEV_PENDING; i++)
			if (elem_owner(l, s->pending[i].elem) == elem_owner(l, elem))
				place = i;
		if (place == DEV_PENDING) {
			order_lost(w, 0);
			return;
		}
		u32 was = elem_seq(l, s->pending[place].elem), is = elem_seq(l, elem);
		elem = elem_prefix(elem_owner(l, elem), was > is ? was : is);
		key = 0;
	}
	s->pending[place].elem = elem;
	s->pending[place].key = key;
	if (place == n)
		gpu_store32(&s->pendings, n + 1);
}

/* Joins earlier strong reads: of any location by an acquire fence (key 0), of one by a strong read that acquires there.
 * What `scope` does not reach waits for a wider one. */
NEVER void pending_join(const struct who *w, u64 key, u32 scope)
{
	struct dev_state *s = w->state;
	u32 n = gpu_load32(&s->pendings), kept = 0;
	if (!key && gpu_load32(&s->pending_flags))
		gpu_or32(&s->clock.flags, DEV_CLOCK_EVERYTHING);
	for (u32 i = 0; i < n && i < DEV_PENDING; i++) {
		struct dev_pending p = s->pending[i];
		int reached = elem_reached(w->launch, p.elem, scope), here = !key || !p.key || p.key == key;
		if (here && reached)
			clock_join(w, p.elem);
		else if (here)
			hint_set(w, p.elem, GSAN_WHY_ACQUIRE_SCOPE, s->hint.read_site, s->hint.write_kernel);
		if (!here || !reached)
			s->pending[kept++] = p;
	}
	gpu_store32(&s->pendings, kept);
}

/* Does this operation learn what it reads? A red, or an atom whose result nobody reads, does not, be it a CAS that failed. */
ALWAYS int sync_learns(u32 desc) { return desc & GSAN_DESC_USED || !(desc_is_rmw(desc) || desc_is_cas(desc)); }
ALWAYS int sync_acquires(u32 desc) { return desc_acquires(desc) && sync_learns(desc); }

/* Is it a write that who reads the version observes? */
ALWAYS int elem_is_observed(u64 e) { return elem_is_point(e) && e & (ELEM_RELAXED | ELEM_FRESH); }

/* A write that was observed, as a point of its place: itself is before what follows (clock_settle). */
NEVER void point_keep(const struct who *w, u64 e)
{
	for (u32 i = 0; i < gpu_load32(&w->state->clock.count) && i < DEV_CLOCK; i++)
		if (elem_within(w->launch, e & ~elem_gate(e), gpu_load64(&w->state->clock.elem[i]), 0))
			return;
	clock_join(w, e | ELEM_FRESH);
	gpu_store32(&w->state->fresh, 1);
}

/* The same of a version's element: of its last writes the place is that of the read. A kernel without states keeps what it
 * observes for the launches behind it. */
ALWAYS void point_join(const struct who *w, u64 e, u64 canonical, u32 desc)
{
	if (e & ELEM_RELAXED)
		e = (e & ~(ELEM_RELAXED | ELEM_ANYWHERE)) |
		    point_of(canonical, desc_mask(desc, canonical), (u32)(e >> ELEM_SCOPE_SHIFT) & 3);
	e &= ~ELEM_FRESH;
	if (w->state)
		point_keep(w, e);
	else if (rec_tag(e) != w->launch->tag && !tag_below_floor(w->launch, rec_tag(e)))
		acquired_add(w->launch, e);
}

/* Is it a launch of that GPU, and not before this one by the floor? */
ALWAYS int coarse_counts(const struct gsan_launch *l, u32 tag, u32 gpu)
{
	return !tag_below_floor(l, tag) && tag_mapped(l, tag) && tag_launch(l, tag)->gpu == gpu;
}

/* A weak write there of a launch that made such RMWs, one of which may have continued it. */
ALWAYS void coarse_head(const struct who *w, u64 canonical, u64 rec, u64 point, u32 gpu)
{
	if (coarse_counts(w->launch, rec_tag(rec), gpu) && coarse_made(w->launch, rec_tag(rec), canonical))
		point_keep(w, (rec & REC_STAMP) | point | ELEM_POINT);
}

/* RMWs of one GPU that left no version were observed, perhaps: the newest launch that made such stands for its stream's. */
NEVER void coarse_join(const struct who *w, u64 canonical, u32 desc, u32 gpu)
{
	const struct gsan_launch *l = w->launch;
	const struct dev_tables *t = dev_tables(gsan_owner(canonical));
	u64 place = point_of(canonical, desc_mask(desc, canonical), GSAN_CLUSTER) | ELEM_POINT | ELEM_ALL;
	if (desc_scope(desc) == GSAN_CTA || !gpu_load32(&t->coarse_used))
		return;
	for (u32 i = 0; i < DEV_COARSE; i++) {
		u32 tag = rec_tag(gpu_load64(&t->coarse.slot[i]));
		if (tag && coarse_counts(l, tag, gpu))
			point_keep(w, (u64)tag << GSAN_REC_TAG_SHIFT | (u64)GSAN_EPOCH_MAX << GSAN_REC_EPOCH_SHIFT | place);
	}
	EACH_WRITE(canonical, desc, rec, point)
		coarse_head(w, canonical, rec, point, gpu);
}

/* One release that this read may have observed; `linked`: it is morally strong with what was read. Then the write itself is
 * before what follows (observation order, link by link); what it released only if release and acquire include each other. */
NEVER void elem_read(const struct who *w, u64 e, u64 canonical, u32 desc, u32 kernel, int linked)
{
	u32 site = desc & 0xffff;
	int observed = elem_is_observed(e), point = observed && e & ELEM_RELAXED;
	if (observed && linked)
		point_join(w, e, canonical, desc);
	if (observed && !point)
		return;
	if (point && linked)
		e |= (u64)GSAN_SYS << ELEM_SCOPE_SHIFT; /* the kernel's start is a fence.sys */
	if (!elem_reaches(w->launch, e)) {
		hint_set(w, e, GSAN_WHY_RELEASE_SCOPE, site, kernel);
		return;
	}
	int reached = elem_reached(w->launch, e, desc_scope(desc));
	if (!reached)
		hint_set(w, e, GSAN_WHY_ACQUIRE_SCOPE, site, kernel);
	else if (e & ELEM_RELAXED && !(e & ELEM_FENCED))
		hint_set(w, e, GSAN_WHY_RELAXED_WRITE, site, kernel);
	else if (!sync_acquires(desc) && !(e & (ELEM_RELAXED | ELEM_POINT)))
		hint_set(w, e, GSAN_WHY_NO_ACQUIRE, site, kernel);
	if (point) { /* what it released is its launch's base */
		u64 time = tag_private(w->launch, rec_tag(e)) ? PRIVATE_VALUES : GSAN_EPOCH_MAX;
		e &= ~((e & ELEM_FENCED ? ELEM_RELAXED : 0) | ELEM_POINT | time << GSAN_REC_EPOCH_SHIFT);
	}
	if (sync_acquires(desc) && reached)
		clock_join(w, e);
	else
		pending_add(w, e, sync_key(canonical, desc_bytes(desc))); /* a fence of a wider scope, behind the read, may reach it */
}

/* The write that was read is of another scope: nothing was observed. */
NEVER void version_hint(const struct who *w, const struct dev_version *v, u32 desc)
{
	u32 n = gpu_load32(&v->count), why = elem_reaches(w->launch, gpu_load64(&v->writer)) ? GSAN_WHY_ACQUIRE_SCOPE : GSAN_WHY_RELEASE_SCOPE;
	for (u32 i = 0; i < n && i < DEV_VERSION; i++)
		hint_set(w, gpu_load64(&v->elem[i]), why, desc & 0xffff, gpu_load32(&v->kernel));
}

/* What RMWs without an entry released here, perhaps: all launches that make such, unless ordered already. 0: none. */
NEVER int coarse_read(const struct who *w, u64 canonical, u32 desc)
{
	const struct dev_tables *t = dev_tables(gsan_owner(canonical));
	const struct gsan_launch *l = w->launch;
	int any = 0;
	if (!gpu_load32(&t->coarse_used))
		return 0;
	for (u32 i = 0; i < DEV_COARSE + GSAN_PARTICIPANTS; i++) {
		u64 e = gpu_load64(i < DEV_COARSE ? &t->coarse.slot[i] : &t->coarse.older[i - DEV_COARSE]);
		if (!e)
			continue;
		if (i >= DEV_COARSE && order_has(&l->order, i - DEV_COARSE, GSAN_STREAMS, (u32)e))
			continue;
		if (i < DEV_COARSE && tag_below_floor(l, rec_tag(e)))
			continue;
		any = 1;
		if (desc_scope(desc) == GSAN_CTA || (i < DEV_COARSE && rec_tag(e) == l->tag && !rec_epoch(e)))
			continue; /* reaches none of them; its own launch's start, which it has */
		elem_read(w, i < DEV_COARSE ? e : elem_prefix(i - DEV_COARSE, (u32)e), canonical, desc, 0, 0);
	}
	return any;
}

/* Is it, or may what was read of it be, morally strong with this read? It may be any of the RMWs that follow each other there. */
ALWAYS int version_may_link(const struct who *w, const struct dev_version *v, u32 scope)
{
	int any = version_linked(w, v, scope);
	u32 n = any ? 0 : gpu_load32(&v->count);
	for (u32 i = 0; i < n && i < DEV_VERSION && !any; i++) {
		u64 e = gpu_load64(&v->elem[i]);
		any = elem_is_observed(e) && elem_reaches(w->launch, e) && elem_reached(w->launch, e, scope);
	}
	return any;
}

/* One version that this read may have observed; `exact`: it has. What it links to it observes, and all before that, link by link. */
NEVER void version_read(const struct who *w, const struct dev_version *v, u64 canonical, u32 desc, int exact)
{
	u32 n = gpu_load32(&v->count), kernel = gpu_load32(&v->kernel), flags = gpu_load32(&v->flags), scope = desc_scope(desc);
	int linked = exact ? version_linked(w, v, scope) : version_may_link(w, v, scope);
	if (exact && !linked) {
		version_hint(w, v, desc);
		return;
	}
	if (flags & DEV_EVERYTHING)
		order_lost(w, sync_acquires(desc));
	if (flags & DEV_COARSELY) {
		coarse_join(w, canonical, desc, gpu_load32(&v->coarse));
		coarse_read(w, canonical, desc);
	}
	for (u32 i = 0; i < n && i < DEV_VERSION; i++)
		elem_read(w, gpu_load64(&v->elem[i]), canonical, desc, kernel, linked);
}

/* What an RMW whose result nobody reads observes all the same: the writes themselves. */
NEVER void version_taken(const struct who *w, const struct dev_version *v, u64 canonical, u32 desc)
{
	u32 flags = gpu_load32(&v->flags), n = flags & DEV_VALID ? gpu_load32(&v->count) : 0;
	if (n && !version_linked(w, v, desc_scope(desc)))
		return;
	if (w->state && (!n || flags & DEV_COARSELY))
		coarse_join(w, canonical, desc, n ? gpu_load32(&v->coarse) : w->launch->gpu);
	for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
		u64 e = gpu_load64(&v->elem[i]);
		if (elem_is_observed(e))
			point_join(w, e, canonical, desc);
	}
}

/* The entry that a strong write of one lane goes to; NULL: the coarse path has it. */
NEVER struct dev_sync *sync_entry(const struct who *w, u64 canonical, u32 desc)
{
	struct dev_tables *t = dev_tables(gsan_owner(canonical));
	int make = sync_makes(w, desc);
	struct dev_sync *e = sync_find(canonical, desc_bytes(desc), make, desc_is_rmw(desc) ? DEV_SYNC_RMW_QUOTA : DEV_SYNCS);
	if (e) {
		line_mark_sync(canonical);
		return e;
	}
	if (make)
		count(w->launch, GSAN_N_SYNC_FULL, 1);
	coarse_note(w, t, make ? coarse_time(w, desc) : 0);
	if (w->stateless || (w->state && gpu_load32(&w->state->clock.flags) & DEV_CLOCK_EVERYTHING))
		coarse_everything(t, w->launch);
	gpu_fence_sys();
	return 0;
}

/* Before the operation, its entry held: what it releases ends here, not with what other warps do meanwhile. */
NEVER void sync_time(const struct who *w, struct dev_sync *e)
{
	gpu_lock(&w->state->lock); /* locks are taken entry first */
	u32 time = epoch_end(w);
	gpu_unlock(&w->state->lock);
	if (time > gpu_load32(&e->time))
		gpu_store32(&e->time, time);
}

/* A strong write of which after() cannot tell enough: an element of a vector, a CAS of 16 bytes that may fail. Published before
 * it executes, and so in the order of publication. */
NEVER void sync_at_once(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value)
{
	gpu_lock(&e->lock);
	if (w->state)
		gpu_lock(&w->state->lock);
	if (desc_is_rmw(desc) && w->state)
		version_taken(w, &e->version[0], canonical, desc);
	version_write(w, e, desc, value, w->state && desc_releases(desc) ? epoch_end(w) : 0, w->state ? gpu_load64(&w->state->base) : 0);
	gpu_store32(&e->version[0].flags, gpu_load32(&e->version[0].flags) | DEV_EARLY);
	if (w->state && !desc_is_rmw(desc)) /* of which no record is there yet */
		epoch_part(w);
	if (w->state)
		gpu_unlock(&w->state->lock);
	gpu_unlock(&e->lock);
	gpu_fence_sys(); /* the publication is visible to whoever sees the program's store */
}

/* What was published at once has executed: who loads from here on reads that, if nobody published since. */
NEVER void sync_came(const struct who *w, struct dev_sync *e)
{
	gpu_lock(&e->lock);
	u32 flags = gpu_load32(&e->version[0].flags);
	if (flags & DEV_EARLY && elem_is_own(w, gpu_load64(&e->version[0].writer) & REC_WHO)) {
		gpu_store32(&e->version[0].flags, flags & ~DEV_EARLY);
		gpu_add32(&e->generation, 1); /* not for who looked before */
	}
	gpu_unlock(&e->lock);
}

ALWAYS int stored_by(const struct gsan_launch *l, u64 rec, u32 mask)
{
	return rec && rec_mask(rec) & mask && op_writes(rec_op(rec)) && !tag_below_floor(l, rec_tag(rec));
}

/* Is there a write to any of these bytes that is not ordered before the launch? Of RMWs those that were sampled. */
NEVER int sync_stored(const struct gsan_launch *l, u64 canonical, u32 bytes)
{
	for (u64 at = canonical & ~(u64)(GSAN_GRANULE - 1); at < canonical + bytes; at += GSAN_GRANULE) {
		const struct gsan_line *line = (const struct gsan_line *)(uintptr_t)gsan_shadow(at & ~(u64)(GSAN_LINE - 1));
		u32 in = (u32)at & (GSAN_LINE - 1), detail = gpu_load32(&line->detail);
		u32 from = canonical > at ? (u32)(canonical - at) : 0;
		u32 to = canonical + bytes - at < GSAN_GRANULE ? (u32)(canonical + bytes - at) : GSAN_GRANULE;
		u32 mask = ((1u << to) - 1) & ~((1u << from) - 1);
		if (stored_by(l, gpu_load64(&line->write), 1u << in / GSAN_SECTOR))
			return 1;
		const struct gsan_granule *g = detail ? &detail_at(canonical, detail)->granule[in / GSAN_GRANULE] : 0;
		for (u32 i = 0; g && i < GSAN_DETAIL_WRITES + GSAN_DETAIL_READS; i++)
			if (stored_by(l, gpu_load64(i < GSAN_DETAIL_WRITES ? &g->write[i] : &g->read[i - GSAN_DETAIL_WRITES]), mask))
				return 1;
	}
	return 0;
}

/* What the location held when this CTA looked last; 0, which memory starts with, if it looked elsewhere since. */
ALWAYS u64 polled_before(const struct who *w, u64 canonical, u32 desc)
{
	return gpu_load64(&w->state->polled_key) == sync_key(canonical, desc_bytes(desc)) ? gpu_load64(&w->state->polled_value) : 0;
}

/* Was there a strong write of another size to any of these bytes? */
NEVER int sync_written_otherwise(u64 canonical, u32 bytes)
{
	for (u32 size = 1; size <= 16; size *= 2)
		for (u64 at = canonical & ~(u64)(size - 1); at < canonical + bytes; at += size) {
			const struct dev_sync *e = at == canonical && size == bytes ? 0 : sync_find(at, size, 0, 0);
			if (e && gpu_load32(&e->version[0].flags) & DEV_VALID)
				return 1;
		}
	return 0;
}

/* A value that no known write left: something unseen wrote it (a copy, the host, an opaque kernel), and may order
 * anything. Known by its changing under the CTA's eyes, or at the first look by not being 0, which memory starts with. */
NEVER int sync_unseen(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	u64 before = polled_before(w, canonical, desc);
	return desc & GSAN_DESC_VALUE && value != before && !(w->launch->lifted & GSAN_LIFT_UNSEEN) &&
	       !sync_stored(w->launch, canonical, desc_bytes(desc)) && !sync_written_otherwise(canonical, desc_bytes(desc));
}

/* A location without an entry was never strongly written, except by RMWs on the coarse path. */
ALWAYS void sync_after_none(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	coarse_join(w, canonical, desc, w->launch->gpu);
	if (!coarse_read(w, canonical, desc) && sync_unseen(w, canonical, desc, value)) {
		order_lost(w, sync_acquires(desc));
		count(w->launch, GSAN_N_AMBIGUOUS, 1);
	}
}

/* The versions that this read may have observed, under the entry's lock. `exact`: nothing was written since it looked, so
 * it is the newest. Else by its value those that have it, or the older ones; all, if values are not known. A value that is
 * none of them may come from an RMW that saw no entry, too. */
NEVER void sync_after_entry(const struct who *w, const struct dev_sync *e, u64 canonical, u32 desc, u64 value, int exact)
{
	const struct dev_version *v = e->version;
	if (!(gpu_load32(&v[0].flags) & DEV_VALID)) { /* made for a write that did not come */
		coarse_join(w, canonical, desc, w->launch->gpu);
		coarse_read(w, canonical, desc);
		return;
	}
	u32 f0 = gpu_load32(&v[0].flags), newest = exact && !(f0 & DEV_EARLY);
	u32 f1 = newest ? 0 : gpu_load32(&v[1].flags), lost = !newest && gpu_load32(&e->lost);
	int has = desc & GSAN_DESC_VALUE && f0 & DEV_VALUE, known = has && (f1 & DEV_VALUE || !(f1 & DEV_VALID));
	int is0 = gpu_load64(&v[0].value) == value, is1 = f1 & DEV_VALID && gpu_load64(&v[1].value) == value;
	/* A value that nothing is known to have left is an older one, or made of several writes' bytes. */
	int none = known && !is0 && !is1, older = none && value == polled_before(w, canonical, desc), unseen = 0;
	known &= !none || older;
	if (!known || is0)
		version_read(w, &v[0], canonical, desc, newest);
	if (f1 & DEV_VALID && (!known || is1))
		version_read(w, &v[1], canonical, desc, 0);
	if (lost && (!known || older))
		version_read(w, &v[2], canonical, desc, 0);
	if (older)
		coarse_join(w, canonical, desc, w->launch->gpu);
	if (none)
		unseen = !coarse_read(w, canonical, desc) && !lost && sync_unseen(w, canonical, desc, value);
	if (unseen)
		order_lost(w, sync_acquires(desc));
	if (unseen || (older && lost) || (f1 & DEV_VALID && (!known || (is0 && is1))))
		count(w->launch, GSAN_N_AMBIGUOUS, 1);
}

/* Does the operation read for synchronisation? A red, or an atom whose result nobody reads, observes nothing unless it
 * acquires by itself (then it joins what earlier reads set aside). */
ALWAYS int sync_reads(u32 desc)
{
	if (desc_is_rmw(desc))
		return desc & GSAN_DESC_USED || desc_acquires(desc) || desc_is_cas(desc);
	return (desc >> GSAN_DESC_OP_SHIFT & 31) < GSAN_OP_STRONG_ST;
}

/* The CTA's last look was at this, and nothing has changed: a spin loop ends here, without a lock. */
ALWAYS int sync_polled(const struct dev_state *s, u64 canonical, u32 generation, u64 value, u32 desc)
{
	return gpu_load64(&s->polled_key) == sync_key(canonical, desc_bytes(desc)) && gpu_load32(&s->polled_generation) == generation &&
	       gpu_load64(&s->polled_value) == value && gpu_load32(&s->polled_desc) == desc;
}

ALWAYS void sync_poll(struct dev_state *s, u64 canonical, u32 generation, u64 value, u32 desc)
{
	gpu_store64(&s->polled_key, sync_key(canonical, desc_bytes(desc)));
	gpu_store32(&s->polled_generation, generation);
	gpu_store64(&s->polled_value, value);
	gpu_store32(&s->polled_desc, desc);
}

/* What a load knows of its location's entry before it executes: 0 = there is none, else its generation. Whoever was writing
 * then raises it before the load can take the lock. */
NEVER u32 sync_look(u64 canonical, u32 bytes)
{
	struct dev_sync *e = sync_find(canonical, bytes, 0, 0);
	return e ? gpu_acquire32(&e->generation) << 1 | 1 : 0;
}

/* What a strong read acquires, by one lane; under the locks of the entry, if there is one, and of the state. */
NEVER void sync_read(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, int exact)
{
	if (sync_learns(desc) && e)
		sync_after_entry(w, e, canonical, desc, value, exact);
	else if (sync_learns(desc))
		sync_after_none(w, canonical, desc, value);
	else if (e)
		version_taken(w, &e->version[0], canonical, desc);
	if (desc_acquires(desc))
		pending_join(w, sync_key(canonical, desc_bytes(desc)), desc_scope(desc));
	sync_poll(w->state, canonical, e ? gpu_load32(&e->generation) : 0, value, desc);
}

/* Lanes that wrote to one location with one instruction: the value is that of one of them. */
ALWAYS void sync_wrote_more(struct dev_version *v, u64 value)
{
	if (gpu_load64(&v->value) != value)
		gpu_store32(&v->flags, gpu_load32(&v->flags) & ~DEV_VALUE);
}

/* After a strong write of one lane that held the lock meanwhile: it read the newest version, and makes the next. One lane of
 * those that share the location does it for all; what each of them read is not told apart. */
NEVER void sync_wrote(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value)
{
	u32 failed = desc_is_cas(desc) && !desc_is_rmw(desc), ended = gpu_load32(&e->ended);
	int reads = w->state && (desc_is_rmw(desc) || failed) && !(ended & DEV_READ), writes = !failed && !(ended & DEV_WROTE);
	if (w->state)
		gpu_lock(&w->state->lock);
	if (reads)
		sync_read(w, e, canonical, ended & DEV_MANY ? desc & ~GSAN_DESC_VALUE : desc, value, 1);
	else if (!w->state && !w->stateless && writes && desc_is_rmw(desc) && rec_tag(gpu_load64(&e->version[0].writer)) != w->launch->tag)
		version_taken(w, &e->version[0], canonical, desc); /* for the launches behind this one */
	if (writes)
		version_write(w, e, desc, value, gpu_load32(&e->time), w->state ? gpu_load64(&w->state->base) : 0);
	else if (!failed)
		sync_wrote_more(&e->version[0], value);
	if (writes && w->state)
		epoch_part(w);
	if (w->state)
		gpu_unlock(&w->state->lock);
	gpu_store32(&e->ended, ended | DEV_READ | (failed ? 0 : DEV_WROTE));
}

/* After a strong operation of one lane, on its location's entry if there is one. The entry that it holds and has to release
 * once it was checked, or NULL. */
NEVER struct dev_sync *sync_after(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, u32 looked)
{
	if (e && sync_held(w->launch, e)) {
		sync_wrote(w, e, canonical, desc, value);
		return e;
	}
	if (e && op_writes(desc_op(desc)))
		sync_came(w, e);
	if (!w->state || !sync_reads(desc))
		return 0;
	u32 generation = e ? gpu_load32(&e->generation) : 0;
	if (!desc_is_rmw(desc) && sync_polled(w->state, canonical, generation, value, desc))
		return 0;
	if (e)
		gpu_lock(&e->lock); /* locks are taken entry first */
	gpu_lock(&w->state->lock);
	sync_read(w, e, canonical, desc, value, e && looked == (gpu_load32(&e->generation) << 1 | 1));
	gpu_unlock(&w->state->lock);
	if (e)
		gpu_unlock(&e->lock);
	return 0;
}

/* ---- fences, and the end ------------------------------------------------------------------------------------------------ */

/* Keeps the clock for later strong writes, as far as a fence of `scope` carries it. A wider fence replaces all. */
NEVER void fence_keep(const struct who *w, u32 scope)
{
	struct dev_state *s = w->state;
	u32 n = gpu_load32(&s->clock.count), wide = scope == GSAN_SYS;
	if (wide)
		gpu_store32(&s->fenced.count, 0);
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 e = gpu_load64(&s->clock.elem[i]);
		if (elems_add(w->launch, s->fenced.elem, &s->fenced.count, DEV_CLOCK, e | (u64)scope << ELEM_SCOPE_SHIFT, 1) < 0)
			gpu_or32(&s->fenced.flags, DEV_CLOCK_EVERYTHING);
	}
	gpu_or32(&s->fenced.flags, gpu_load32(&s->clock.flags));
	gpu_store32(&s->fence[wide], epoch_end(w) + 1);
}

/* A fence or membar: keeps what is released so far for later strong writes, joins what earlier strong reads set aside. */
NEVER void sync_fence(const struct who *w, u32 desc)
{
	struct dev_state *s = w->state;
	u32 sem = desc >> GSAN_DESC_SEM_SHIFT & 7, scope = desc_scope(desc);
	if (scope == GSAN_CTA)
		return; /* orders a CTA's own threads, which count as one */
	gpu_lock(&s->lock);
	if (sem != GSAN_SEM_RELEASE)
		pending_join(w, 0, scope);
	if (sem != GSAN_SEM_ACQUIRE)
		fence_keep(w, scope == GSAN_SYS ? GSAN_SYS : GSAN_GPU);
	gpu_unlock(&s->lock);
}

/* `threads` more have left. The end of a kernel is a fence: what its strong reads observed is before whatever its stream
 * does next. */
NEVER void sync_leave(const struct who *w, u32 threads)
{
	struct dev_state *s = w->state;
	if (w->stateless)
		acquired_everything(w->launch);
	if (!s || !state_leaves(s, threads))
		return;
	if ((gpu_load32(&s->clock.flags) | gpu_load32(&s->pending_flags)) & DEV_CLOCK_EVERYTHING)
		acquired_everything(w->launch);
	for (u32 i = 0; i < gpu_load32(&s->pendings) && i < DEV_PENDING; i++)
		if (elem_reached(w->launch, s->pending[i].elem, GSAN_SYS))
			acquired_add(w->launch, s->pending[i].elem);
	state_free(s);
}

#endif
