/* What a strong read takes of a version: the elements that it observes, and those that give an edge; at once under the entry's lock, or put
 * down in its CTA's state and taken in when the entry is others' again (release.h: what a write leaves there). */
#ifndef GSAN_DEVICE_VERSION_H
#define GSAN_DEVICE_VERSION_H

#include "device/acquire.h"
#include "device/coarse.h"
#include "device/known.h"
#include "device/release.h"

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
NEVER int version_put(const struct who *w, const struct dev_sync *e, u32 desc, u64 value, int exact)
{
	const struct dev_version *v = &e->version[0];
	int linked = version_links(w, v, desc_scope(desc), exact);
	u32 looked = linked ? looked_at_last(w->state, e, looks_as(w, desc), desc & 0xffff) : 0;
	if (exact && !linked)
		return 0;
	gpu_store64(&w->state->read_value, value);
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

/* What a launch that keeps no clock has learnt here, all its CTAs together, it need not learn again. Beside the generation the launch. */
ALWAYS int version_is_learnt(const struct who *w, const struct dev_sync *e)
{
	return gpu_load64(&e->learnt) == ((u64)w->launch->tag << 32 | gpu_acquire32(&e->generation));
}

/* Of a location's entry it may have read any version: what that released is before the launches behind it, for a kernel's end is a fence. Under
 * the entry's lock. (Of streams' reads: looks.h.) */
NEVER void version_learnt(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc)
{
	const struct gsan_launch *l = w->launch;
	if (version_is_learnt(w, e))
		return;
	for (u32 k = 0; k < 3; k++) {
		const struct dev_version *v = &e->version[k];
		u32 flags = gpu_own32(&v->flags), n = flags & DEV_VALID ? gpu_own32(&v->count) : 0;
		u64 formal = gpu_own64(&v->formal), writer = gpu_own64(&v->writer);
		if (flags & DEV_VALID && flags & DEV_EVERYTHING)
			learner_meets(l, own_tables(l)->coarse.foreign);
		for (u32 i = 0; i < n && i < DEV_VERSION; i++) {
			u64 elem = gpu_own64(&v->elem[i]);
			if (elem_is_observed(elem))
				observe(w, elem, canonical, desc);
			if (elem_is_observed(elem) && !elem_is_write(elem))
				continue;
			int reaches = elem_reaches(l, elem);
			if (!(formal >> i & 1))
				hint_set(w, elem, writer, reaches ? why_no_edge(elem, writer, desc, elem_reached(l, elem, desc_scope(desc))) : GSAN_WHY_RELEASE_SCOPE, desc);
			elem = elem_is_write(elem) ? elem_started(l, elem_widened(elem, GSAN_SYS)) : elem;
			if (elem_reaches(l, elem) && elem_reached(l, elem, GSAN_SYS) && !elem_inherited(l, elem))
				acquired_add(l, elem);
		}
	}
	gpu_store64(&e->learnt, (u64)l->tag << 32 | gpu_load32(&e->generation));
}

/* Behind a read of a launch that keeps no clock. What it read may have been written by an operation that is checked once it has executed, under
 * the lock: that is awaited. */
NEVER void version_learns_more(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc)
{
	int over = lock_is_free(&e->lock);
	gpu_fence_sys();
	if ((over && version_is_learnt(w, e)) || !lock_take(w->launch, &e->lock))
		return;
	version_learnt(w, e, canonical, desc);
	lock_give(&e->lock);
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

#endif
