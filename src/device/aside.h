/* Copies and sets are checked late (range.h): by then what is behind a copy has left its records, where those stood of what ran before it, which the
 * copy may race with. So where a copy is still to be checked, a record of a weak access
 * or an RMW that gives way to another launch's is kept aside, one of each line, the newest (not for another copy: those are checked in a row). The check
 * looks at those of launches that were numbered before the copy: a later one is behind it, or stands there yet. */
#ifndef GSAN_DEVICE_ASIDE_H
#define GSAN_DEVICE_ASIDE_H

#include "device/report.h"

ALWAYS struct dev_aside *aside_at(u64 canonical)
{
	return &dev_tables(gsan_owner(canonical))->aside[canonical / GSAN_LINE % DEV_ASIDE];
}

/* `rec` of the bytes of a granule. Who comes at once may write one half each: then the two do not belong together, which the key shows. */
ALWAYS void aside_put(u64 granule, u64 rec)
{
	struct dev_aside *e = aside_at(granule);
	gpu_store64(&e->rec, rec);
	gpu_store64(&e->key, granule ^ mix64(rec));
}

/* May `old` have to be kept, if `me` takes its place? Nearly always nothing is held: the rest is laid out of that way, but is no call, for which much
 * would be kept on the stack (measured: docs/hot-path.md). */
ALWAYS int aside_is_anothers(u64 old, u64 me) { return old && rec_tag(old) != rec_tag(me); }
ALWAYS int aside_holds(const struct gsan_launch *l, u64 old, u64 me) { return !RANGES && __builtin_expect(l->held != 0, 0) && aside_is_anothers(old, me); }

/* `me` has taken the place of `old` in a line or, if not `whole`, in a granule, where copies are still to be checked. */
ALWAYS void aside_keep(const struct gsan_launch *l, u64 at, u64 old, int whole)
{
	if (!gsan_is_held(l->held, at) || !op_is_over(rec_op(old)))
		return;
	if (!whole)
		aside_put(at, old);
	else if (rec_mask(old))
		aside_put(at + gpu_first(rec_mask(old)) * GSAN_SECTOR, old | 0xff);
}
ALWAYS void aside_replaced(const struct gsan_launch *l, u64 at, u64 old, u64 me, int whole)
{
	if (aside_holds(l, old, me))
		aside_keep(l, at, old, whole);
}

/* Bytes [from, to) of a line, as a copy touches them. */
NEVER void aside_check(struct who *w, struct access *a, u64 line, u32 from, u32 to)
{
	const struct gsan_launch *l = w->launch;
	struct dev_aside *e = aside_at(line);
	u64 rec, key;
	gpu_load128(e, &rec, &key);
	u64 granule = key ^ mix64(rec);
	u32 first = (u32)(granule - line), low = from > first ? from - first : 0, high = to - first < GSAN_GRANULE ? to - first : GSAN_GRANULE;
	if (!rec || (granule & ~(u64)(GSAN_LINE - GSAN_GRANULE)) != line || op_is_strong(a->op) || to <= first || low >= high)
		return;
	if (!tag_mapped(l, rec_tag(rec)) || tag_participant(l, rec_tag(rec)) != l->participant ||
	    (int)(gpu_load32(&tag_launch(l, rec_tag(rec))->seq) - l->seq) >= 0)
		return;
	a->address = granule;
	a->mask = granule_mask(low, high - low);
	a->whole = a->asks_before = 0;
	check(w, rec, rec_mask(rec), a, &e->rec);
}

#endif
