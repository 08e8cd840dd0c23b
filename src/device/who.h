/* Who makes an access, and the access: what every level of the runtime hands on. And what a launch reaches at once: its tables, its
 * counters. */
#ifndef GSAN_DEVICE_WHO_H
#define GSAN_DEVICE_WHO_H

#include "device/record.h"
#include "device/tables.h"

/* Who makes the access under check, as every level below needs it. */
struct who {
	const struct gsan_launch *launch;
	struct dev_state *state; /* NULL: a kernel without synchronisation, or no state was left */
	u64 base;                /* tag, cta, epoch */
	u64 self;                /* tag of the launch, cta: what `base` starts from, unless a private tag was drawn */
	u32 stateless;           /* should have a state and has none: is ordered after everything */
	u32 reds;                /* scopes, as bits, of its kernel's relaxed RMWs of which nobody reads the result */
	u32 warp;                /* which of its CTA, if its launch tells them apart (warp_bits), else 0 */
	u32 anyway;              /* to ask what order would be if a CTA were one thread */
	u32 behind_red;          /* its thread made one of these, or waited for one that did, perhaps */
};
ALWAYS u32 launch_warp(const struct gsan_launch *l) { return l->warp_bits ? gpu_thread() / 32 : 0; } /* of this thread, as in `warp` */
ALWAYS u32 who_warps(const struct who *w) { return w->launch->warp_bits ? 1u << w->warp : ~0u; } /* whom it acquires for */
ALWAYS int keeps_no_clock(const struct who *w) { return w->reds && !w->state; }

/* The access under check, exactly known. */
struct access {
	u64 address; /* canonical: of the granule, or of the line if `whole` */
	u32 mask, op, site, bytes, whole;
	u32 element; /* bytes of one strong operation; 0: weak */
	u32 again;   /* an RMW that its CTA, which keeps no clock, made here before, perhaps (observed.h) */
};

ALWAYS struct gsan_detail *detail_at(u64 canonical, u32 index)
{
	return &dev_tables(gsan_owner(canonical))->detail[index - 1];
}

ALWAYS struct dev_tables *own_tables(const struct gsan_launch *l) { return dev_tables(l->participant); }
ALWAYS struct dev_spread *spread_of(u32 participant, u64 who)
{
	return &dev_tables(participant)->spread[who >> GSAN_REC_CTA_SHIFT & (DEV_SPREAD - 1)];
}
ALWAYS struct dev_spread *own_spread(const struct gsan_launch *l, u64 who) { return spread_of(l->participant, who); }
ALWAYS void count(const struct gsan_launch *l, enum gsan_counter c, u64 n) { gpu_count(&own_tables(l)->head.counter[c], n); }

#endif
