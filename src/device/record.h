/* An access record and what two of them mean to each other, order left aside: do they conflict, are they morally
 * strong (PTX ISA, memory consistency model, "Moral strength")? */
#ifndef GSAN_DEVICE_RECORD_H
#define GSAN_DEVICE_RECORD_H

#include "device/gpu.h"
#include "device/layout.h"

ALWAYS u32 rec_mask(u64 r) { return (u32)r & 0xff; }
ALWAYS u32 rec_site(u64 r) { return (u32)(r >> GSAN_REC_SITE_SHIFT) & 0xffff; }
ALWAYS u32 rec_op(u64 r) { return (u32)(r >> GSAN_REC_OP_SHIFT) & 31; }
ALWAYS u32 rec_epoch(u64 r) { return (u32)(r >> GSAN_REC_EPOCH_SHIFT) & GSAN_EPOCH_MAX; }
ALWAYS u32 rec_cta(u64 r) { return (u32)(r >> GSAN_REC_CTA_SHIFT) & ((1u << GSAN_CTA_BITS) - 1); }
ALWAYS u32 rec_tag(u64 r) { return (u32)(r >> GSAN_REC_TAG_SHIFT); }
/* `base`: tag, cta and epoch. */
ALWAYS u64 rec_of(u64 base, u32 op, u32 site, u32 mask)
{
	return base | (u64)op << GSAN_REC_OP_SHIFT | (u64)site << GSAN_REC_SITE_SHIFT | mask;
}
/* The bytes of an access that lies in one granule, as its mask. */
ALWAYS u32 granule_mask(u64 address, u32 bytes) { return ((1u << bytes) - 1) << (address & (GSAN_GRANULE - 1)); }
#define REC_STAMP (~0ull << GSAN_REC_EPOCH_SHIFT) /* tag, cta and epoch */
#define REC_WHO (~0ull << GSAN_REC_CTA_SHIFT) /* tag and cta: the logical thread */

ALWAYS int op_is_rmw(u32 op) { return op >= GSAN_OP_RMW; } /* if it writes, of a CAS */
ALWAYS u32 rec_is_rmw(u64 r) { return (u32)r >> (GSAN_REC_OP_SHIFT + 4) & 1; } /* the same, by its bit */
ALWAYS int op_is_try(u32 op) { return op >= GSAN_OP_TRY; }
ALWAYS int op_is_strong_write(u32 op) { return op >= GSAN_OP_STRONG_ST; } /* perhaps */
ALWAYS int op_is_strong(u32 op) { return op >= GSAN_OP_STRONG_LD; }
ALWAYS int op_is_over(u32 op) { return !(op & 8); } /* weak, or an RMW: neither a strong load or store nor a CAS that was tried */
ALWAYS int op_observes(u32 op) { return op_is_strong(op) && (op < GSAN_OP_STRONG_ST || op_is_rmw(op)); } /* it reads, strongly */
ALWAYS u32 op_scope(u32 op) { return op & 3; } /* of a strong one */
/* A set of operation numbers, as bits. */
#define OPS_WRITE (1u << GSAN_OP_ST | 1u << GSAN_OP_RANGE_ST | 1u << GSAN_OP_ASYNC_ST | 15u << GSAN_OP_STRONG_ST | 15u << GSAN_OP_RMW)
ALWAYS int op_writes(u32 op) { return OPS_WRITE >> op & 1; }
ALWAYS int op_may_write(u32 op) { return (OPS_WRITE | 15u << GSAN_OP_TRY) >> op & 1; }
/* Of a CAS that was tried, the record that it has if it wrote; of others, theirs. */
ALWAYS u64 rec_written(u64 r) { return r & ~(r >> 1 & (u64)(GSAN_OP_TRY ^ GSAN_OP_RMW) << GSAN_REC_OP_SHIFT); }
#define REC_DID (31u << GSAN_REC_OP_SHIFT | 0xff) /* operation and bytes */
/* Is `me` a CAS that was tried, and has its CTA such a record, be it of another instruction? */
ALWAYS int rec_has_written(u64 rec, u64 me) { return op_is_try(rec_op(me)) & !((rec ^ rec_written(me)) & (REC_WHO | REC_DID)); }

/* Does `scope` of one CTA reach another CTA, on the same GPU or not? Clusters count as the GPU: errs towards silence. */
ALWAYS int scope_reaches(u32 scope, int same_gpu) { return scope == GSAN_SYS || (scope >= GSAN_CLUSTER && same_gpu); }

/* The fast answer about order, without a memory access: is the record empty, this CTA's (`self`: the upper bits of a
 * record), or of a launch of the same participant below the floor? quick: gsan_quick() of layout.h. Without branches, at
 * which the lanes would part. */
ALWAYS u32 quick_head(u32 quick, u64 self) { return (u32)(self >> 32) >> 1 >> (31 - (quick & 31)); } /* gsan_tag_head() */
ALWAYS u32 quick_participant(u32 quick, u64 self) { return quick_head(quick, self) & (GSAN_PARTICIPANTS - 1); }
ALWAYS int quick_is_own(u64 self, u64 rec) { return (u32)((rec ^ self) >> 32) < 1u << (GSAN_REC_CTA_SHIFT - 32); }
ALWAYS int quick_below(u32 quick, u64 self, u64 rec)
{
	u32 hi = (u32)(rec >> 32), up = quick & 31;
	return (quick_head(quick, rec ^ self) == 0) & ((int)((quick | 63) - (hi << up)) >= 0);
}
ALWAYS int is_quiet(u32 quick, u64 self, u64 rec)
{
	return (rec == 0) | quick_is_own(self, rec) | quick_below(quick, self, rec);
}

ALWAYS u32 kind_of(u32 first, u32 second, int scopes_short)
{
	if (scopes_short)
		return GSAN_SCOPE;
	if ((op_is_rmw(first) && !op_is_try(first)) || op_is_rmw(second)) /* one that is over, and did not write */
		return GSAN_ATOMIC_PLAIN;
	if (!op_writes(second))
		return second == GSAN_OP_LD_NC ? GSAN_STALE_NC : GSAN_RAW;
	return op_writes(first) ? GSAN_WAW : GSAN_WAR;
}

ALWAYS u64 mix64(u64 x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

/* The order of a record among those of a place, by who made it, with which operation, of which bytes: mixed, so that the
 * k smallest are a uniform sample. A CAS has the same before and after. */
ALWAYS u32 sample_hash(u64 rec, u64 key, u32 seed)
{
	u32 what = (u32)rec_written(rec) & REC_DID;
	u32 x = (u32)(rec >> GSAN_REC_CTA_SHIFT) * 0x9e3779b1u ^ what * 0xc2b2ae35u ^ ((u32)(key >> 3) + seed) * 0x85ebca6bu;
	x = (x ^ x >> 15) * 0x2c1b3c6du;
	x = (x ^ x >> 12) * 0x297a2d39u;
	return x ^ x >> 15;
}

#endif
