/* Synchronisation: the versions of strongly written locations, and what releases, acquires and fences do with them. A
 * release publishes elements into its location before the program's store; an acquire looks them up after the program's
 * load and joins those whose gates include each other mutually (PTX ISA: release and acquire patterns, morally strong,
 * observation). */
#ifndef GSAN_DEVICE_SYNC_H
#define GSAN_DEVICE_SYNC_H

#include "device/abi.h"
#include "device/join.h"

/* ---- entries --------------------------------------------------------------------------------------------------- */

/* The entry of a location, made if `make`. NULL: none, or the table is full around it. */
NEVER struct dev_sync *sync_find(u64 canonical, int make, u32 quota)
{
	struct dev_tables *t = dev_tables(gsan_owner(canonical));
	u64 key = canonical >> 2;
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

/* ---- release ----------------------------------------------------------------------------------------------------- */

/* Ends the CTA's epoch if anything was recorded in it. Returns the last epoch that is complete. */
NEVER u32 epoch_end(const struct gsan_launch *l, struct dev_state *s)
{
	u32 epoch = gpu_load32(&s->epoch);
	if (!gpu_load32(&s->dirty))
		return epoch - 1;
	if (epoch == GSAN_EPOCH_MAX) {
		count(l, GSAN_N_EPOCH_FULL, 1);
		return epoch; /* from here on too much counts as released */
	}
	gpu_store32(&s->dirty, 0);
	gpu_store32(&s->epoch, epoch + 1);
	return epoch;
}

ALWAYS u64 elem_make(const struct who *w, u32 epoch, u32 scope, u32 site)
{
	return (w->base & REC_WHO) | (u64)epoch << GSAN_REC_EPOCH_SHIFT | (u64)site << ELEM_SITE_SHIFT |
	       (u64)w->launch->gpu << ELEM_GPU_SHIFT | (u64)scope << ELEM_SCOPE_SHIFT;
}

ALWAYS void version_add(const struct gsan_launch *l, struct dev_version *v, u64 elem)
{
	if (elems_add(l, v->elem, &v->count, DEV_VERSION, elem, 1) < 0)
		gpu_or32(&v->flags, DEV_EVERYTHING);
}

/* What a strong write of this CTA releases at `scope`: its own epoch by the operation's semantics or by an earlier
 * fence, and the elements of its clock that go with it. The kernel's start is a fence of epoch 0. */
NEVER void version_publish(const struct who *w, struct dev_version *v, u32 release, u32 scope, u32 site)
{
	struct dev_state *s = w->state;
	const struct gsan_launch *l = w->launch;
	u32 done = release ? epoch_end(l, s) : 0, elems = release ? gpu_load32(&s->clock.count) : 0;
	u32 best[2] = {done, done}; /* at .gpu, at .sys */
	u64 relaxed[2] = {release ? 0 : ELEM_RELAXED, release ? 0 : ELEM_RELAXED};
	for (u32 f = GSAN_CLUSTER; f <= GSAN_SYS; f++) {
		u32 at = gpu_load32(&s->fence[f]), n = gpu_load32(&s->fence_elems[f]);
		for (u32 k = 0; at && k < 2; k++) {
			if (k == 1 && f != GSAN_SYS)
				continue;
			relaxed[k] = 0;
			best[k] = at - 1 > best[k] ? at - 1 : best[k];
		}
		if (at && n > elems)
			elems = n;
	}
	if (scope == GSAN_CTA)
		return; /* no other CTA is reached */
	if (scope == GSAN_SYS)
		version_add(l, v, elem_make(w, best[1], GSAN_SYS, site) | relaxed[1]);
	if (scope != GSAN_SYS || best[0] > best[1])
		version_add(l, v, elem_make(w, best[0], GSAN_GPU, site) | relaxed[0]);
	u64 gate = (u64)l->gpu << ELEM_GPU_SHIFT | (u64)(scope == GSAN_SYS ? GSAN_SYS : GSAN_GPU) << ELEM_SCOPE_SHIFT;
	for (u32 i = 0; i < elems && i < DEV_CLOCK; i++)
		version_add(l, v, (gpu_load64(&s->clock.elem[i]) & ~ELEM_OPEN) | gate);
	if (gpu_load32(&s->clock.flags) & DEV_CLOCK_EVERYTHING)
		gpu_or32(&v->flags, DEV_EVERYTHING);
}

NEVER void version_new(struct dev_sync *e)
{
	const u64 *from = (const u64 *)&e->version[0];
	u64 *to = (u64 *)&e->version[1];
	if (gpu_load32(&e->version[1].flags) & DEV_VALID)
		gpu_store32(&e->lost, 1);
	for (u32 i = 0; i < sizeof(struct dev_version) / 8; i++)
		gpu_store64(to + i, gpu_load64(from + i));
	gpu_store32(&e->version[0].flags, 0);
	gpu_store32(&e->version[0].count, 0);
}

/* An RMW continues what it read only where both are morally strong: other parts are dropped. */
NEVER void version_drop(const struct gsan_launch *l, struct dev_version *v, u32 scope)
{
	u32 n = gpu_load32(&v->count), kept = 0;
	for (u32 i = 0; i < n; i++) {
		u64 e = gpu_load64(&v->elem[i]);
		if (elem_reaches(l, e) && elem_reached(l, e, scope))
			gpu_store64(&v->elem[kept++], e);
	}
	gpu_store32(&v->count, kept);
}

/* The coarse path: RMWs whose location has no entry. Whoever acquires without finding an entry must reckon with them. */
ALWAYS void coarse_note(struct dev_tables *t, const struct gsan_launch *l, int release)
{
	u32 mine = release ? DEV_COARSE_MANY : l->tag + 1u, old = gpu_load32(&t->coarse);
	if (old == mine || old == DEV_COARSE_MANY)
		return;
	old = gpu_cas32(&t->coarse, old, old ? DEV_COARSE_MANY : mine);
}

/* Does this strong write make an entry for its location? Not a relaxed RMW that releases no more than its kernel's
 * start, within one GPU: histograms are made of those. */
ALWAYS int sync_makes(const struct who *w, u32 desc)
{
	u32 op = desc >> GSAN_DESC_OP_SHIFT & 31;
	return !op_is_rmw(op) || (desc >> GSAN_DESC_SEM_SHIFT & 7) != GSAN_SEM_NONE || op_scope(op) == GSAN_SYS ||
	       (w->state && (gpu_load32(&w->state->fence[GSAN_GPU]) | gpu_load32(&w->state->fence[GSAN_SYS])));
}

/* Is there anything to publish? All lanes ask at once. If not, the coarse path has it. */
ALWAYS int sync_publishes(const struct who *w, u64 canonical, u32 desc)
{
	if (sync_makes(w, desc) || sync_find(canonical, 0, 0))
		return 1;
	coarse_note(dev_tables(gsan_owner(canonical)), w->launch, 0);
	return 0;
}

/* RMWs that find no mark in their line need not look for an entry (runtime.c, red_fast). */
ALWAYS void line_mark_sync(u64 canonical)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(canonical);
	line_mark(line, gpu_load64(&line->detail), GSAN_LINE_SYNC);
}

/* Before a strong store or RMW by one lane. */
NEVER void sync_before(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	const struct gsan_launch *l = w->launch;
	u32 op = desc >> GSAN_DESC_OP_SHIFT & 31, sem = desc >> GSAN_DESC_SEM_SHIFT & 7;
	u32 release = sem >= GSAN_SEM_RELEASE, rmw = (u32)op_is_rmw(op), scope = op_scope(op);
	int make = sync_makes(w, desc);
	struct dev_sync *e = sync_find(canonical, make, rmw ? DEV_SYNC_RMW_QUOTA : DEV_SYNCS);
	if (!e) {
		if (make)
			count(l, GSAN_N_SYNC_FULL, 1);
		coarse_note(dev_tables(gsan_owner(canonical)), l, make);
		return;
	}
	line_mark_sync(canonical);
	gpu_lock(&e->lock);
	struct dev_version *v = &e->version[0];
	if (!rmw) {
		version_new(e);
		gpu_store64(&v->value, value);
	} else if (gpu_load32(&v->flags) & DEV_VALID) {
		version_drop(l, v, scope);
	}
	u32 known = !rmw && desc & GSAN_DESC_VALUE ? DEV_VALUE : 0;
	gpu_store32(&v->flags, (gpu_load32(&v->flags) & (rmw ? DEV_EVERYTHING : 0)) | DEV_VALID | known);
	gpu_store32(&v->kernel, l->kernel);
	if (w->state)
		version_publish(w, v, release, scope, desc & 0xffff);
	else if (w->stateless)
		gpu_or32(&v->flags, DEV_EVERYTHING);
	else if (scope != GSAN_CTA) /* a kernel of relaxed RMWs alone: what its start releases */
		version_add(l, v, elem_make(w, 0, scope == GSAN_SYS ? GSAN_SYS : GSAN_GPU, desc & 0xffff) | ELEM_RELAXED);
	gpu_add32(&e->generation, 1);
	gpu_unlock(&e->lock);
	gpu_fence_sys(); /* the publication is visible to whoever sees the program's store */
}

/* ---- acquire ------------------------------------------------------------------------------------------------------ */

ALWAYS void hint_set(const struct who *w, u64 elem, u32 reason, u32 site, u32 kernel)
{
	struct dev_hint *h = &w->state->hint;
	if (elem & (ELEM_ALL | ELEM_PREFIX) || elem_is_of(elem, w->base))
		return;
	h->reason = reason;
	h->write_site = (uint16_t)(elem >> ELEM_SITE_SHIFT);
	h->read_site = (uint16_t)site;
	h->write_kernel = kernel;
	h->write_tag = (uint16_t)rec_tag(elem);
}

ALWAYS void pending_add(const struct who *w, u64 elem)
{
	struct dev_state *s = w->state;
	if (elems_add(w->launch, s->pending, &s->pendings, DEV_PENDING, elem, 1) < 0)
		gpu_or32(&s->pending_flags, DEV_CLOCK_EVERYTHING);
}

/* One version that this read may have observed. */
NEVER void version_read(const struct who *w, const struct dev_version *v, u32 desc)
{
	const struct gsan_launch *l = w->launch;
	u32 op = desc >> GSAN_DESC_OP_SHIFT & 31, sem = desc >> GSAN_DESC_SEM_SHIFT & 7, scope = op_scope(op);
	int acquire = sem == GSAN_SEM_ACQUIRE || sem >= GSAN_SEM_ACQ_REL;
	if (op_is_rmw(op) && !(desc & GSAN_DESC_USED))
		acquire = 0;
	if (gpu_load32(&v->flags) & DEV_EVERYTHING)
		gpu_or32(acquire ? &w->state->clock.flags : &w->state->pending_flags, DEV_CLOCK_EVERYTHING);
	u32 n = gpu_load32(&v->count), kernel = gpu_load32(&v->kernel), site = desc & 0xffff;
	for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
		u64 e = gpu_load64(&v->elem[i]);
		if (!elem_reaches(l, e)) {
			hint_set(w, e, GSAN_WHY_RELEASE_SCOPE, site, kernel);
			continue;
		}
		if (!elem_reached(l, e, scope)) {
			hint_set(w, e, GSAN_WHY_ACQUIRE_SCOPE, site, kernel);
			continue;
		}
		if (e & ELEM_RELAXED)
			hint_set(w, e, GSAN_WHY_RELAXED_WRITE, site, kernel);
		else if (!acquire)
			hint_set(w, e, GSAN_WHY_NO_ACQUIRE, site, kernel);
		if (acquire)
			clock_join(w, e);
		else
			pending_add(w, e);
	}
}

/* Joins earlier strong reads: an acquire fence, or an acquiring RMW whose result nobody reads. */
NEVER void pending_join(const struct who *w, u32 scope)
{
	struct dev_state *s = w->state;
	u32 n = gpu_load32(&s->pendings);
	if (gpu_load32(&s->pending_flags))
		gpu_or32(&s->clock.flags, DEV_CLOCK_EVERYTHING);
	for (u32 i = 0; i < n && i < DEV_PENDING; i++) {
		u64 e = gpu_load64(&s->pending[i]);
		if (elem_reached(w->launch, e, scope))
			clock_join(w, e);
		else
			hint_set(w, e, GSAN_WHY_ACQUIRE_SCOPE, s->hint.read_site, s->hint.write_kernel);
	}
}

ALWAYS void order_lost(const struct who *w, int acquire) /* from here on, or from the next acquire fence on */
{
	gpu_or32(acquire ? &w->state->clock.flags : &w->state->pending_flags, DEV_CLOCK_EVERYTHING);
}

/* Is there a weak store to this location that is not ordered before the launch? */
NEVER int sync_stored(const struct gsan_launch *l, u64 canonical)
{
	const struct gsan_line *line = (const struct gsan_line *)(uintptr_t)gsan_shadow(canonical);
	u32 at = (u32)canonical & (GSAN_LINE - 1), detail = gpu_load32(&line->detail);
	u64 rec = gpu_load64(&line->write);
	if (rec_mask(rec) >> (at / GSAN_SECTOR) & 1 && !tag_below_floor(l, rec_tag(rec)))
		return 1;
	const struct gsan_granule *g = detail ? &detail_at(canonical, detail)->granule[at / GSAN_GRANULE] : 0;
	for (u32 i = 0; g && i < GSAN_DETAIL_WRITES; i++) {
		rec = gpu_load64(&g->write[i]);
		if (rec_mask(rec) >> (at % GSAN_GRANULE) & 1 && !tag_below_floor(l, rec_tag(rec)))
			return 1;
	}
	return 0;
}

/* A value that no known write left: something unseen wrote it (a copy, the host, an opaque kernel), and may order
 * anything. Known by its changing under the CTA's eyes, or at the first look by not being 0, which memory starts with. */
ALWAYS int sync_unseen(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	struct dev_state *s = w->state;
	u64 before = gpu_load64(&s->polled_key) == canonical ? gpu_load64(&s->polled_value) : 0;
	return desc & GSAN_DESC_VALUE && value != before && !sync_stored(w->launch, canonical);
}

/* A location without an entry was never strongly written, except by RMWs on the coarse path. */
ALWAYS void sync_after_none(const struct who *w, u64 canonical, u32 desc, u64 value, int acquire)
{
	u32 coarse = gpu_load32(&dev_tables(gsan_owner(canonical))->coarse);
	if (coarse == DEV_COARSE_MANY ||
	    (coarse && coarse != w->launch->tag + 1u && !tag_below_floor(w->launch, coarse - 1)))
		order_lost(w, acquire);
	if (!coarse && sync_unseen(w, canonical, desc, value)) {
		order_lost(w, acquire);
		count(w->launch, GSAN_N_AMBIGUOUS, 1);
	}
}

/* The versions that this read may have observed, under the entry's lock. */
ALWAYS void sync_after_entry(const struct who *w, const struct dev_sync *e, u64 canonical, u32 desc, u64 value, int acquire)
{
	u32 f0 = gpu_load32(&e->version[0].flags), f1 = gpu_load32(&e->version[1].flags);
	int known = desc & GSAN_DESC_VALUE && f0 & DEV_VALUE && (f1 & DEV_VALUE || !(f1 & DEV_VALID));
	int is0 = gpu_load64(&e->version[0].value) == value;
	int is1 = f1 & DEV_VALID && gpu_load64(&e->version[1].value) == value;
	int older = known && !is0 && !is1, all = !known || (older && gpu_load32(&e->lost));
	if (f0 & DEV_VALID && (all || is0))
		version_read(w, &e->version[0], desc);
	if (f1 & DEV_VALID && (all || is1))
		version_read(w, &e->version[1], desc);
	if (older && !all && sync_unseen(w, canonical, desc, value)) {
		order_lost(w, acquire);
		all = 1;
	}
	if (all && f1 & DEV_VALID)
		count(w->launch, GSAN_N_AMBIGUOUS, 1);
}

/* Does the operation read for synchronisation? A red, or an atom whose result nobody reads, observes nothing unless it
 * acquires by itself (then it joins what earlier reads set aside). */
ALWAYS int sync_reads(u32 desc)
{
	u32 op = desc >> GSAN_DESC_OP_SHIFT & 31, sem = desc >> GSAN_DESC_SEM_SHIFT & 7;
	if (op_is_rmw(op))
		return desc & GSAN_DESC_USED || sem == GSAN_SEM_ACQUIRE || sem >= GSAN_SEM_ACQ_REL;
	return op < GSAN_OP_STRONG_ST;
}

/* The CTA's last look was at this, and nothing has changed: a spin loop ends here, without a lock. */
ALWAYS int sync_polled(const struct dev_state *s, u64 canonical, u32 generation, u64 value, u32 desc)
{
	return gpu_load64(&s->polled_key) == canonical && gpu_load32(&s->polled_generation) == generation &&
	       gpu_load64(&s->polled_value) == value && gpu_load32(&s->polled_desc) == desc;
}

ALWAYS void sync_poll(struct dev_state *s, u64 canonical, u32 generation, u64 value, u32 desc)
{
	gpu_store64(&s->polled_key, canonical);
	gpu_store32(&s->polled_generation, generation);
	gpu_store64(&s->polled_value, value);
	gpu_store32(&s->polled_desc, desc);
}

/* After a strong load or RMW by one lane. */
NEVER void sync_after(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	struct dev_state *s = w->state;
	u32 op = desc >> GSAN_DESC_OP_SHIFT & 31, sem = desc >> GSAN_DESC_SEM_SHIFT & 7;
	int acquire = sem == GSAN_SEM_ACQUIRE || sem >= GSAN_SEM_ACQ_REL;
	int joins = acquire && op_is_rmw(op) && !(desc & GSAN_DESC_USED); /* what earlier reads set aside */
	gpu_fence_sys(); /* whoever's store we read has published before it */
	struct dev_sync *e = sync_find(canonical, 0, 0);
	if (!joins && sync_polled(s, canonical, e ? gpu_load32(&e->generation) : 0, value, desc))
		return;
	if (e)
		gpu_lock(&e->lock); /* locks are taken entry first */
	gpu_lock(&s->lock);
	if (joins)
		pending_join(w, op_scope(op));
	if (e)
		sync_after_entry(w, e, canonical, desc, value, acquire);
	else
		sync_after_none(w, canonical, desc, value, acquire);
	sync_poll(s, canonical, e ? gpu_load32(&e->generation) : 0, value, desc);
	gpu_unlock(&s->lock);
	if (e)
		gpu_unlock(&e->lock);
}

/* A fence or membar: keeps what is released so far for later strong writes, joins what earlier strong reads set aside. */
NEVER void sync_fence(const struct who *w, u32 desc)
{
	struct dev_state *s = w->state;
	u32 sem = desc >> GSAN_DESC_SEM_SHIFT & 7, scope = op_scope(desc >> GSAN_DESC_OP_SHIFT & 31);
	gpu_lock(&s->lock);
	if (sem != GSAN_SEM_RELEASE)
		pending_join(w, scope);
	if (sem != GSAN_SEM_ACQUIRE) {
		u32 done = epoch_end(w->launch, s);
		gpu_store32(&s->fence_elems[scope], gpu_load32(&s->clock.count));
		gpu_store32(&s->fence[scope], done + 1);
	}
	gpu_unlock(&s->lock);
}

#endif
