/* Who makes an access, and the access: what every level of the runtime hands on. And what a launch reaches at once: its tables, its
 * counters. */
#ifndef GSAN_DEVICE_WHO_H
#define GSAN_DEVICE_WHO_H

#include "device/record.h"
#include "device/tables.h"

#ifndef RANGES
#define RANGES 0 /* 1: this is the kernel that goes over copies and sets (range.c), not what clones call */
#endif

/* ---- by whom of a CTA something is known: a bit for each warp, one for each place where some of them meet (meeting.h) ------- */
#define WARPS_ALL 0xffffffffull
ALWAYS u64 place_bit(u32 place) { return 1ull << (GSAN_WARPS + place); }
_Static_assert(GSAN_WARPS + DEV_PLACES <= 62, "a bit for each");

/* Two kinds of edges are missing by the letter of PTX, and no known GPU shows it (docs/memory-model.md, "Formal races"): from a fence
 * before a barrier to a relaxed write behind it by another warp (F1), and from a relaxed RMW before a barrier to what stands behind it
 * (F3). What is known by such edges stands by itself, and tells which races are formal. */
#define KNOWN_FORMALLY (1ull << 63)
#define KNOWN_BY_RMW (1ull << 62) /* of what was set aside: by a relaxed RMW, which the next barrier makes such an edge */
#define KNOWN_TO_ALL (~KNOWN_FORMALLY)
#define KNOWN_TO_ALL_FORMALLY (~0ull)
ALWAYS int known_within(u64 a, u64 b) { return !(a & ~b & ~KNOWN_FORMALLY) && !(b & ~a & KNOWN_FORMALLY); } /* is `b` as much as `a`? */
ALWAYS u64 known_both(u64 a, u64 b) { return ((a | b) & ~KNOWN_FORMALLY) | (a & b & KNOWN_FORMALLY); }

ALWAYS u64 known_to_all(u64 formal, u32 i) { return formal >> i & 1 ? KNOWN_TO_ALL_FORMALLY : KNOWN_TO_ALL; } /* `formal`: which are so formally */

/* Which order: by the letter of PTX; if formal edges counted, too (warps.h); if a CTA were one thread. */
enum asked { ASKED_LETTER, ASKED_FORMAL, ASKED_CTA };

/* Who makes the access under check, as every level below needs it. */
struct who {
	const struct gsan_launch *launch;
	struct dev_state *state; /* NULL: a kernel without synchronisation, or no state was left */
	u64 base;                /* tag, cta, epoch */
	u64 self;                /* tag of the launch, cta: what `base` starts from, unless a private tag was drawn */
	u32 stateless;           /* should have a state and has none: is ordered after everything */
	u32 reds;                /* what relaxed operations its kernel has: GSAN_REDS_*, and bits of scopes */
	u32 warp;                /* which of its CTA, if its launch tells them apart (warp_bits), else 0 */
	u32 behind_red;          /* its thread made one of these, or waited for one that did, perhaps */
	u32 unsaid;              /* findings that still lack words (report_reasons): 1 + the place of the newest; 0: none */
};
ALWAYS u32 launch_warp(const struct gsan_launch *l) { return l->warp_bits ? gpu_thread() / 32 : 0; } /* of this thread, as in `warp` */
ALWAYS u32 cta_warps(void) { return (gpu_threads() + 31) / 32; }
ALWAYS u64 who_warps(const struct who *w) { return w->launch->warp_bits ? 1ull << w->warp : KNOWN_TO_ALL; } /* whom it acquires for */
ALWAYS int keeps_no_clock(const struct who *w) { return w->reds && !w->state && !w->stateless; } /* a kernel of relaxed operations alone */

/* The access under check, exactly known. */
struct access {
	u64 address; /* canonical: of the granule, or of the line if `whole` */
	u32 mask, op, site, bytes, whole;
	u32 element; /* bytes of one strong operation; 0: weak */
	u64 before[GSAN_DETAIL_READS]; /* the sampled records of the granule, before its own was (observed.h) */
	u32 asks_before;               /* it is known */
	struct dev_racing *racing;     /* of a CAS before it executes: what races with it, perhaps if it writes alone (swap.h) */
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
