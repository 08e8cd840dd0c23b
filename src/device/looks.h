/* What streams have read: a word that one copied from, a value that it waited for. What was released there, by kernels, by copies and sets of that word,
 * is before the launches that come next in it. A kernel of ours asks for that when the read is over (range.h), which those launches do not wait for: so who is about to report a race asks
 * first itself, by what the host says of such reads before they are enqueued (layout.h, struct gsan_look). */
#ifndef GSAN_DEVICE_LOOKS_H
#define GSAN_DEVICE_LOOKS_H

#include "device/values.h"
#include "device/version.h"

/* One of them. */
struct looked { const struct gsan_launch *by; u64 at, value; u32 bytes, condition; };
ALWAYS struct looked looked_of(const struct gsan_look *k)
{
	return (struct looked){&k->record, gpu_peek64(&k->at), gpu_peek64(&k->value), gpu_peek32(&k->bytes), gpu_peek32(&k->condition)};
}

/* ---- what strong writes released there ----------------------------------------------------------------------------------------- */
/* One element of a version: what it released, and the write itself, if it is one. */
NEVER void look_takes(const struct looked *k, u64 elem)
{
	const struct gsan_launch *by = k->by;
	u64 place = point_of(k->at, ((1u << k->bytes) - 1) << k->at % GSAN_GRANULE, elem_scope(elem));
	if (elem_is_later(by, elem) || elem_inherited(by, elem))
		return;
	if (elem_is_observed(elem))
		acquired_add(by, elem_is_prefix(elem) ? elem : elem_kept(elem, place));
	if (elem_is_observed(elem) && !elem_is_write(elem))
		return;
	elem = elem_is_write(elem) ? elem_started(by, elem_widened(elem, GSAN_SYS)) : elem;
	if (elem_reaches(by, elem) && elem_reached(by, elem, GSAN_SYS))
		acquired_add(by, elem);
}

/* Any version may have been read. Without the entry's lock, which may be held for the very operation whose race is looked at: what was found counts if
 * nobody has taken the lock meanwhile. 0: somebody always has. */
#define LOOK_TRIES 256u
NEVER int look_at_entry(const struct gsan_launch *l, const struct looked *k)
{
	const struct dev_sync *e = sync_find(k->at, k->bytes, 0, 0);
	for (u32 tries = 0; e && tries < LOOK_TRIES; tries++) {
		u32 turns = gpu_acquire32(&e->lock);
		int ours = sync_held(l, e);
		for (u32 i = 0; i < 3 && (ours || !turn_ahead(turns, turns)); i++) {
			const struct dev_version *v = &e->version[i];
			u32 flags = gpu_load32(&v->flags), n = flags & DEV_VALID ? gpu_load32(&v->count) : 0;
			if (flags & DEV_VALID && flags & DEV_EVERYTHING)
				acquired_everything(k->by);
			for (u32 m = 0; m < n && m < DEV_VERSION; m++)
				look_takes(k, gpu_load64(&v->elem[m]));
		}
		gpu_fence_sys();
		if (ours || (!turn_ahead(turns, turns) && gpu_load32(&e->lock) == turns))
			return 1;
		gpu_pause();
	}
	return !e;
}

/* RMWs without an entry leave no version: if one stands there, it may have been of any launch that makes such. */
NEVER void look_coarsely(const struct gsan_launch *l, const struct looked *k)
{
	const struct dev_coarse *c = &dev_tables(gsan_owner(k->at))->coarse;
	struct sampled s;
	int any = 0;
	for (u32 i = 0, n = sampled_at(k->at, &s) ? SAMPLED : 0; i < n; i++)
		any |= op_is_strong_write(rec_op(s.r[i])) && tag_mapped(l, rec_tag(s.r[i])) && coarse_made(l, rec_tag(s.r[i]), k->at);
	for (u64 used = any ? gpu_load64(c->used) : 0; used; used &= used - 1) {
		u64 elem = gpu_load64(&c->slot[__builtin_ctzll(used)]);
		if (!elem || !tag_mapped(l, rec_tag(elem)))
			continue;
		acquired_add(k->by, elem);
		acquired_add(k->by, elem_all_seen(rec_tag(elem), (POINT_ANY_PLACE & ~POINT_OF_WEAK) | (u64)GSAN_CLUSTER << ELEM_SITE_SHIFT));
	}
	for (u32 mapped = any ? l->mapped : 0; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped), older = (u32)gpu_load64(&c->older[p]);
		if (older)
			acquired_add(k->by, elem_prefix(p, older));
	}
}

/* ---- what streams wrote there ------------------------------------------------------------------------------------------------------ */
/* All that an operation of theirs did, and what is before it. */
ALWAYS void look_joins(const struct looked *k, u64 e)
{
	if (e && !elem_inherited(k->by, e) && !elem_is_later(k->by, e))
		acquired_add(k->by, elem_is_prefix(e) ? e : elem_all(rec_tag(e), GSAN_EPOCH_MAX));
}

ALWAYS int rec_is_copy(const struct gsan_launch *l, u64 rec)
{
	const struct dev_launch *e = tag_launch(l, rec_tag(rec));
	return gpu_load32(&e->range) == gpu_load32(&e->seq);
}

/* Are words under way that have no place? */
ALWAYS int looks_lost(const struct gsan_launch *l, int written)
{
	u32 lost = 0;
	for (u32 mapped = l->mapped; mapped; mapped &= mapped - 1)
		lost |= gpu_peek32(&launch_writers(l)->unlooked[written][gpu_first(mapped)]);
	return lost != 0;
}

/* The next place of those in use from *at on that tells of a word written, or of one read; NULL: there is none. */
ALWAYS const struct gsan_look *look_next(const struct gsan_writers *all, int written, u32 *at)
{
	for (; all && *at < GSAN_LOOKS; *at = (*at | 63) + 1)
		for (u64 used = gpu_peek64(&all->look_used[*at / 64]) >> *at % 64 << *at % 64; used; used &= used - 1) {
			const struct gsan_look *k = &all->look[(*at & ~63u) + (u32)__builtin_ctzll(used)];
			if ((gpu_peek32(&k->condition) == GSAN_WORD_WRITTEN) != written)
				continue;
			*at = (u32)(k - all->look) + 1;
			return k;
		}
	return 0;
}

/* Copies and sets of that word: first those that may have left no record yet. 0: they cannot be told. */
NEVER int look_at_copies(const struct gsan_launch *l, const struct looked *k)
{
	const struct gsan_writers *all = launch_writers(l);
	u32 mask = granule_mask(k->at, k->bytes), lost = (u32)looks_lost(l, 1), at = 0;
	for (const struct gsan_look *other; (other = look_next(all, 1, &at));) {
		if (gpu_peek64(&other->at) != k->at || gpu_peek32(&other->bytes) != k->bytes)
			continue;
		if (!tag_mapped(l, operation_tag(&other->record)))
			return 0;
		look_joins(k, operation_elem(l, &other->record));
	}
	gpu_fence_sys();
	struct sampled s;
	for (u32 i = sampled_at(k->at, &s) ? GSAN_DETAIL_READS : SAMPLED; i < SAMPLED; i++)
		if (rec_op(s.r[i]) == GSAN_OP_STRONG_ST + GSAN_SYS && rec_mask(s.r[i]) == mask && tag_mapped(l, rec_tag(s.r[i]))) {
			tag_await(l, rec_tag(s.r[i]));
			if (rec_is_copy(l, s.r[i]))
				look_joins(k, elem_all(rec_tag(s.r[i]), GSAN_EPOCH_MAX));
		}
	return !lost;
}

ALWAYS int look_met(const struct looked *k, u64 value)
{
	u32 bits = 8 * (8 - k->bytes);
	u64 wanted = k->value << bits >> bits, mask = ~0ull >> bits;
	switch (k->condition) {
	case GSAN_WAIT_GEQ: return (int64_t)((value - wanted) << bits) >= 0; /* cyclic */
	case GSAN_WAIT_EQ: return value == wanted;
	case GSAN_WAIT_AND: return (value & wanted) != 0;
	case GSAN_WAIT_NOR: return (~(value | wanted) & mask) != 0;
	default: return 1;
	}
}
ALWAYS u64 look_value(const struct looked *k, const struct gsan_value *way)
{
	u32 bits = 8 * (8 - k->bytes);
	return gpu_peek64(&way->value) >> 8 * (k->at - gpu_peek64(&way->at)) << bits >> bits;
}

/* Of a stream whose values rise, who waits for no less than some value comes behind the first one that is: it need not be behind later ones. */
ALWAYS int look_needs(const struct looked *k, const struct values *v, u32 all, u32 i)
{
	const struct gsan_value *way = &v->in->way[i];
	u64 value = look_value(k, way);
	u32 seq = gpu_peek32(&way->record.seq), earlier = 0, rises = 1;
	for (u32 left = all & ~(1u << i); left; left &= left - 1) {
		const struct gsan_value *other = &v->in->way[gpu_first(left)];
		if (operation_stream(&other->record) != operation_stream(&way->record))
			continue;
		u64 its = look_value(k, other);
		int before = (int)(gpu_peek32(&other->record.seq) - seq) < 0;
		rises &= before == (its < value) && its != value;
		earlier |= before && look_met(k, its);
	}
	return !(earlier && rises && k->condition == GSAN_WAIT_GEQ);
}

/* 0: they cannot be told. */
NEVER int look_at_values(const struct gsan_launch *l, const struct looked *k)
{
	struct values_found f;
	struct values v;
	for (u32 tries = 0; tries < VALUES_TRIES; tries++) {
		if (!values_look(launch_writers(l), k->at, k->bytes, 0, &v, &f))
			return 0;
		for (u32 left = f.all; left; left &= left - 1) {
			u32 i = gpu_first(left);
			const struct gsan_launch *op = &v.in->way[i].record;
			int any = f.any >> i & 1;
			if (!tag_mapped(l, operation_tag(op)))
				return 0;
			if (!any && !(look_met(k, look_value(k, &v.in->way[i])) && look_needs(k, &v, f.all & ~f.any, i)))
				continue;
			look_joins(k, operation_elem(l, op));
		}
		if (values_lost(launch_writers(l), &v) || f.apart)
			return 0;
		if (values_stand(&v))
			return 1;
	}
	return 0;
}

/* ---- all that ------------------------------------------------------------------------------------------------------------------ */
/* For the launches behind `k`, by the launch that asks. 0: it may have read what is not known. */
ALWAYS int look_learns(const struct gsan_launch *l, const struct looked *k)
{
	if (k->by->mapped & ~l->mapped || !(l->mapped >> gsan_owner(k->at) & 1))
		return 0;
	look_coarsely(l, k);
	return look_at_entry(l, k) && look_at_copies(l, k) && (!sync_by_stream(k->at) || look_at_values(l, k));
}

/* By all streams. 0: what one of them may have read is not known. */
NEVER int looks_learn(const struct gsan_launch *l)
{
	const struct gsan_writers *all = launch_writers(l);
	u32 at = 0;
	if (all && looks_lost(l, 0))
		return 0;
	for (const struct gsan_look *own; (own = look_next(all, 0, &at));) {
		struct looked k = looked_of(own);
		if (!look_learns(l, &k))
			return 0;
	}
	return 1;
}

/* Copies that are over are looked at beside the program's work: what is under way of that, and may tell this CTA's launch more, is awaited,
 * for a while. */
#define LOOKS_TRIES 1024u
NEVER void looks_await(const struct gsan_launch *l)
{
	const struct gsan_writers *all = launch_writers(l);
	u32 mapped = all ? l->mapped : 0, tries = 0;
	for (; mapped; mapped &= mapped - 1) {
		u32 p = gpu_first(mapped), begun = gpu_peek32(&all->looks[p]);
		for (; (int)(begun - gpu_acquire32(&dev_tables(p)->looked)) > 0 && tries < LOOKS_TRIES; tries++)
			gpu_pause();
	}
}

/* Before a race is new. 0: then it may be none. */
ALWAYS int looks_tell(const struct gsan_launch *l)
{
	if (!RANGES)
		looks_await(l);
	int known = looks_learn(l);
	count(l, GSAN_N_AMBIGUOUS, !known);
	return known;
}

/* The one of this very launch; NULL: there was no room for it. */
ALWAYS const struct gsan_look *look_own(const struct gsan_launch *l)
{
	u32 at = 0;
	for (const struct gsan_look *k; (k = look_next(launch_writers(l), 0, &at));)
		if (gpu_peek32(&k->record.seq) == l->seq && (operation_stream(&k->record) & 0xff) == l->participant)
			return k;
	return 0;
}

#endif
