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
ALWAYS void swap_keep(const struct who *w, u64 racing)
{
	gpu_store64(&swap_place(w)->rec, racing);
	gpu_store64(&swap_place(w)->sum, mix64(racing) ^ swap_id(w));
}

/* Its record in the shadow is now that of what wrote. 1: it was not before. */
ALWAYS int swap_record(const struct who *w, const struct access *a)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(a->address);
	struct sampled s;
	u64 me = rec_of(w->base & REC_STAMP, GSAN_OP_TRY + op_scope(a->op), a->site, a->mask);
	u32 detail = gpu_load32(&line->detail);
	if (!detail || !sampled_at(a->address, &s) || rec_has_written(s.r[0], me) || rec_has_written(s.r[1], me))
		return 0;
	shadow_sample(w, rec_written(me), detail_at(a->address, detail)->granule[a->address % GSAN_LINE / GSAN_GRANULE].read, s.r, a->address, 1);
	return 1;
}

/* Now it is known what it did. */
ALWAYS void swap_check(const struct who *w, const struct access *a)
{
	const struct dev_racing *place = swap_place(w);
	u64 rec = gpu_load64(&place->rec);
	if (gpu_load64(&place->sum) == (mix64(rec) ^ swap_id(w)))
		check(w, rec, rec_mask(rec), a, &place->rec);
	else
		count(w->launch, GSAN_N_DROPPED, 1);
}

#endif
