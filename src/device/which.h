/* Which versions of its location a strong read may have observed: by the version that it looked at before, by the value that it read, and by what
 * else may have written there: weak stores, strong ones of another size, RMWs without an entry, streams, hosts, what nobody saw. And what
 * a CTA polled last, which spares it asking. */
#ifndef GSAN_DEVICE_WHICH_H
#define GSAN_DEVICE_WHICH_H

#include "device/coarse.h"
#include "device/entry.h"
#include "device/launch.h"
#include "device/learnt.h"
#include "device/observed.h"
#include "device/shadow.h"
#include "device/values.h"
#include "device/version.h"

/* Was it written before this launch? Then all that it reads there is that, or newer. */
ALWAYS int written_before(const struct gsan_launch *l, u64 stamp)
{
	return tag_below_floor(l, rec_tag(stamp)) || (tag_mapped(l, rec_tag(stamp)) && order_before(l, &l->order, rec_tag(stamp)));
}

ALWAYS int stored_by(const struct gsan_launch *l, u64 rec, u32 mask, int entry)
{
	return rec_mask(rec) & mask && op_may_write(rec_op(rec)) && !(entry && op_is_strong_write(rec_op(rec)) && rec_mask(rec) == mask) &&
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
	return mix64(sync_key(canonical, desc_bytes(desc)) ^ mix64(value + mix64(w->warp + mix64((u64)generation << 32 | desc))));
}
ALWAYS int sync_polled(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	return gpu_load64(&w->state->polled) == poll_of(w, canonical, generation, value, desc);
}

/* A number that changes with what may be read there without the value's doing so. */
ALWAYS u32 polled_generation(const struct who *w, const struct dev_sync *e, u64 canonical)
{
	return (e ? gpu_load32(&e->generation) : 0) + values_told(w->launch, canonical);
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
	       (launch_unseen(l) || writers_unordered(l, &l->order, l->participant, l->stream));
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

/* What it takes of what streams write there, where no version is known to have that value. */
ALWAYS int coarse_used(u64 canonical) { return gpu_load32(&dev_tables(gsan_owner(canonical))->coarse_used) != 0; }
ALWAYS enum values_read values_alone(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	int new = value != polled_before(w, canonical, desc);
	return sync_by_stream(canonical) ? values_read(w, canonical, desc, value, new, coarse_used(canonical)) : VALUES_NONE;
}

/* A location without an entry was strongly written by launches on the coarse path alone. */
ALWAYS void sync_after_none(const struct who *w, u64 canonical, u32 desc, u64 value)
{
	coarse_join(w, canonical, desc, w->launch->gpu);
	enum values_read values = values_alone(w, canonical, desc, value);
	int read = coarse_read(w, canonical, desc);
	if (values == VALUES_UNKNOWN || (!read && values == VALUES_NONE && sync_unseen(w, canonical, desc, value, 0))) {
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
#define OF_STREAMS 2048u   /* or a value of a stream, */
#define OF_CONTINUED 4096u /* which one of these versions may have continued */
NEVER u32 sync_which(const struct who *w, const struct dev_sync *e, u64 canonical, u32 desc, u64 value, int exact)
{
	const struct dev_version *v = e->version;
	u32 f0 = gpu_load32(&v[0].flags), newest = exact && !(f0 & DEV_EARLY);
	if (!(f0 & DEV_VALID))
		return OF_NO_WRITE | (sync_by_stream(canonical) ? OF_STREAMS : 0);
	u32 f1 = newest ? 0 : gpu_load32(&v[1].flags), lost = !newest && gpu_load32(&e->lost);
	int has = desc & GSAN_DESC_VALUE && f0 & DEV_VALUE, known = has && (f1 & DEV_VALUE || !(f1 & DEV_VALID));
	int is0 = gpu_load64(&v[0].value) == value, is1 = f1 & DEV_VALID && gpu_load64(&v[1].value) == value;
	int none = known && ((!is0 && !is1) || (!(f0 & DEV_EARLY) && changed_unseen(w, canonical, polled_generation(w, e, canonical), value, desc)));
	int older = none && value == polled_before(w, canonical, desc);
	u32 of = newest ? OF_EXACTLY : 0;
	of |= none ? OF_NONE : 0;
	of |= older ? OF_POLLED : 0;
	of |= !known && launch_unseen(w->launch) ? OF_UNSEEN : 0;
	of |= !sync_by_stream(canonical) ? 0 : (f0 | f1) & DEV_CONTINUED || lost ? OF_STREAMS | OF_CONTINUED : OF_STREAMS;
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
	if (of & OF_NO_WRITE) { /* as above */
		coarse_join(w, canonical, desc, w->launch->gpu);
		coarse_read(w, canonical, desc);
		if (of & OF_STREAMS && values_alone(w, canonical, desc, value) == VALUES_UNKNOWN)
			sync_unknown(w, desc);
		return 0;
	}
	if (later && (of & ~OF_EXACTLY) == OF_NEWEST && version_put(w, e, desc, value, newest != 0))
		return 1;
	if (of & OF_NEWEST)
		version_read(w, &v[0], canonical, desc, e, newest != 0);
	if (of & OF_BEFORE)
		version_read(w, &v[1], canonical, desc, 0, 0);
	if (of & OF_OLDER)
		version_read(w, &v[2], canonical, desc, 0, 0);
	int new = of & OF_NONE && value != polled_before(w, canonical, desc), chained = of & OF_CONTINUED && !(of & OF_NONE);
	enum values_read values = of & OF_STREAMS ? values_read(w, canonical, desc, value, new, chained) : VALUES_NONE;
	unseen |= values == VALUES_UNKNOWN;
	if (of & (OF_POLLED | OF_PASSED))
		coarse_join(w, canonical, desc, w->launch->gpu);
	if ((of & (OF_PASSED | OF_NONE)) == OF_PASSED)
		coarse_read(w, canonical, desc);
	if (of & OF_NONE)
		unseen |= !coarse_read(w, canonical, desc) && !(of & OF_LOST) && values == VALUES_NONE && sync_unseen(w, canonical, desc, value, 1);
	if (unseen)
		sync_unknown(w, desc);
	if (unseen || of & OF_EITHER || (of & OF_POLLED && of & OF_LOST))
		count(w->launch, GSAN_N_AMBIGUOUS, 1);
	return 0;
}

ALWAYS void sync_poll(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	struct dev_state *s = w->state;
	gpu_store64(&s->polled_key, sync_key(canonical, desc_bytes(desc)));
	gpu_store64(&s->polled_value, value);
	gpu_store64(&s->polled, poll_of(w, canonical, generation, value, desc));
}

/* A CAS that failed and was of the newest version, or a load that said nothing new, in this epoch of its warp: its record stands there, and what it
 * learnt is known. As long as this is the same word the next one, which reads the same, has nothing to add. */
ALWAYS u64 spun_of(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	return mix64(poll_of(w, canonical, generation, value, desc) + state_base(w->state, w->warp, 0));
}

#endif
