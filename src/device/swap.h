/* A CAS of a kernel that keeps no clock. It may write nothing, which shows when it has executed; by then others may be behind it. So it is
 * recorded and checked before, as an operation that may write (GSAN_OP_TRY). What races with it, perhaps if it writes alone, is reported afterwards;
 * its record becomes that of an RMW if it wrote. */
#ifndef GSAN_DEVICE_SWAP_H
#define GSAN_DEVICE_SWAP_H

#include "device/abi.h"
#include "device/desc.h"
#include "device/report.h"
#include "device/shadow.h"

/* What was found to race with a lane's CAS, until that has executed. A place may be taken by another lane's: then it is lost, and counted. */
ALWAYS u64 swap_id(const struct who *w) { return mix64(warp_id(w->launch) * 32 + gpu_lane() + 1); }
ALWAYS struct dev_racing *swap_place(const struct who *w) { return &own_tables(w->launch)->racing[swap_id(w) % DEV_RACING]; }
ALWAYS u32 swap_sum(const struct who *w, const struct dev_racing *racing)
{
	u64 sum = swap_id(w) + racing->count;
	for (u32 i = 0; i < racing->count; i++)
		sum = mix64(sum ^ racing->rec[i]);
	return (u32)sum;
}
NEVER void swap_keep(const struct who *w, const struct dev_racing *racing)
{
	struct dev_racing *to = swap_place(w);
	for (u32 i = 0; i < racing->count; i++)
		gpu_store64(&to->rec[i], racing->rec[i]);
	gpu_store32(&to->count, racing->count);
	gpu_store32(&to->sum, swap_sum(w, racing));
}

/* Its record in the shadow is now that of what wrote. 1: it was not before. */
ALWAYS int swap_record(const struct who *w, const struct access *a)
{
	struct gsan_granule *g = granule_at(a->address);
	u64 r[GSAN_DETAIL_READS], me = rec_of(w->base & REC_STAMP, GSAN_OP_TRY + op_scope(a->op), a->site, a->mask);
	if (!g)
		return 0;
	gpu_load128(g->read, &r[0], &r[1]);
	if (rec_has_written(r[0], me) || rec_has_written(r[1], me))
		return 0;
	shadow_sample(w, rec_written(me), g->read, r, a->address, 1);
	return 1;
}

/* Another CAS may have written meanwhile. */
ALWAYS u64 swap_by_now(u64 rec, const struct sampled *s)
{
	u64 wrote = rec_written(rec);
	for (u32 i = 0; i < GSAN_DETAIL_READS; i++)
		if (s->r[i] == wrote)
			return wrote;
	return rec;
}

/* Now it is known what it did. That these are not ordered was found before, when its CTA had not made it. */
NEVER void swap_check(struct who *w, const struct access *a)
{
	const struct dev_racing *place = swap_place(w);
	struct dev_racing racing = {.count = gpu_load32(&place->count)};
	struct sampled s = {{0}};
	for (u32 i = 0; i < racing.count && i < DEV_RACING_RECS; i++)
		racing.rec[i] = gpu_load64(&place->rec[i]);
	if (racing.count > DEV_RACING_RECS || gpu_load32(&place->sum) != swap_sum(w, &racing)) {
		count(w->launch, GSAN_N_DROPPED, 1);
		return;
	}
	sampled_at(a->address, &s);
	for (u32 i = 0; i < racing.count; i++) {
		u64 rec = swap_by_now(racing.rec[i], &s);
		if ((op_writes(rec_op(rec)) || op_writes(a->op)) && !morally_strong(w, rec, rec_mask(rec), a))
			report(w, rec, rec_point(rec, a->address, 0), rec_mask(rec), a, kind_of(rec_op(rec), a->op, scope_short(w, rec, a)));
	}
}

#endif
