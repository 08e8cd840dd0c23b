/* Clock elements: what one says, and the one place that knows how it is written down.
 *
 * 64 bits, 0 = none. Tag, CTA and epoch lie where they lie in a record; those of an element of many (elem_of_many) stand for all CTAs
 * of the launch. Below them lie its gate, the scope and the GPU of the release that brought it to a location, and that one's site. */
#ifndef GSAN_DEVICE_ELEM_H
#define GSAN_DEVICE_ELEM_H

#include "device/record.h"

#define ELEM_ALL 1ull               /* of all CTAs of the launch; of a seen one, and of the launches before it in its stream */
#define ELEM_PREFIX 2ull
#define ELEM_SCOPE_SHIFT 2u         /* 2: of the gate, enum gsan_scope */
#define ELEM_GPU_SHIFT 4u           /* 5: of the gate */
#define ELEM_SITE_SHIFT 9u          /* 16: of the release, for messages; of a seen one the place, point_of() */
#define ELEM_RELAXED (1ull << 25)   /* by a relaxed write without a fence */
#define ELEM_OPEN (1ull << 26)      /* of the gate: several releases merged, it is open to all */
#define ELEM_FENCED (1ull << 27)    /* by a fence before a relaxed write, not by an operation on the location */
#define ELEM_FRESH ELEM_FENCED      /* seen only. In a clock: before what follows the operation that observed it, not before itself;
				     * in a version: who reads that observes it */
#define ELEM_POINT (1ull << 28)
#define ELEM_SITE (0xffffull << ELEM_SITE_SHIFT)
#define ELEM_GATE (((1ull << ELEM_SITE_SHIFT) - (1ull << ELEM_SCOPE_SHIFT)) | ELEM_OPEN)
#define ELEM_PREFIX_OBSERVED (1ull << 9) /* prefix only: of a version, who reads it observes some of that */
#define ELEM_PREFIX_OWNER_SHIFT 27u      /* 5, prefix only */
#define ELEM_PREFIX_SEQ_SHIFT 32u        /* 32, prefix only */

/* Its kind. */
#define ELEM_KIND (ELEM_PREFIX | ELEM_POINT | ELEM_RELAXED)
#define ELEM_DONE 0ull                         /* all that a CTA did up to an epoch, and all that is before its launch */
#define ELEM_START ELEM_RELAXED                /* what the start of a CTA's launch released: all that is before it; with an epoch, which
						* names a warp, and all that this warp did up to it */
#define ELEM_WRITE (ELEM_POINT | ELEM_RELAXED) /* in a version: the write of its location, which who reads that observes; and the start
						* of its launch */
#define ELEM_SEEN ELEM_POINT                   /* writes of one place alone (point_of), up to the epoch: they were observed, which orders
						* nothing else */
ALWAYS int elem_is_prefix(u64 e) { return (e & ELEM_PREFIX) != 0; } /* all launches of a participant up to a launch number */
ALWAYS int elem_is_done(u64 e) { return (e & ELEM_KIND) == ELEM_DONE; }
ALWAYS int elem_is_write(u64 e) { return (e & ELEM_KIND) == ELEM_WRITE; }
ALWAYS int elem_is_seen(u64 e) { return (e & ELEM_KIND) == ELEM_SEEN; }
ALWAYS int elem_is_point(u64 e) { return (e & (ELEM_PREFIX | ELEM_POINT)) == ELEM_POINT; } /* a write, or a seen one */
ALWAYS int elem_is_warp(u64 e) { return (e & ELEM_KIND) == ELEM_START && rec_epoch(e); }
ALWAYS int elem_is_relaxed(u64 e) { return (e & (ELEM_PREFIX | ELEM_RELAXED)) == ELEM_RELAXED && !elem_is_warp(e); } /* a write, or a start */
ALWAYS int elem_is_did(u64 e) { return elem_is_done(e) || elem_is_warp(e); } /* it has what its CTA, or a warp of it, did */

ALWAYS int elem_of_many(u64 e) { return (e & (ELEM_ALL | ELEM_PREFIX)) != 0; }
ALWAYS int elem_is_open(u64 e) { return (e & ELEM_OPEN) != 0; }
ALWAYS int elem_is_fresh(u64 e) { return (e & (ELEM_KIND | ELEM_FRESH)) == (ELEM_SEEN | ELEM_FRESH); }
ALWAYS int elem_is_fenced(u64 e) { return e & ELEM_FENCED && !elem_is_prefix(e) && !elem_is_seen(e); }
/* Is it what its CTA itself released there, by an operation on the location? */
ALWAYS int elem_is_release(u64 e) { return e && elem_is_did(e) && !(e & (ELEM_ALL | ELEM_FENCED)); }
/* Is it something that who reads the version observes? */
ALWAYS int elem_is_observed(u64 e) { return elem_is_prefix(e) ? (e & ELEM_PREFIX_OBSERVED) != 0 : elem_is_write(e) || elem_is_fresh(e); }

ALWAYS u32 elem_site(u64 e) { return (u32)(e >> ELEM_SITE_SHIFT) & 0xffff; }
ALWAYS u32 elem_scope(u64 e) { return (u32)(e >> ELEM_SCOPE_SHIFT) & 3; }
ALWAYS u32 elem_gpu(u64 e) { return (u32)(e >> ELEM_GPU_SHIFT) & 31; }
ALWAYS u32 prefix_owner(u64 e) { return (u32)(e >> ELEM_PREFIX_OWNER_SHIFT) & 31; }
ALWAYS u32 prefix_seq(u64 e) { return (u32)(e >> ELEM_PREFIX_SEQ_SHIFT); }

/* ---- points -------------------------------------------------------------------------------------------------------------- */
/* Where a write lies that may be observed: 8 bits of its line, never all ones, 5 of where in it, never all ones, a bit for weak ones, and a
 * scope, of which these have the widest. A seen element has one in the place of its site, with wildcards. */
#define POINT_WEAK 0x100u
#define POINT_ANYWHERE ELEM_SITE
#define POINT_ANY_IN_LINE (0x007cull << ELEM_SITE_SHIFT) /* all ones: any of the line */
#define POINT_ANY_PLACE (0x7ffcull << ELEM_SITE_SHIFT)   /* all ones without the next one: any strong one of the scope */
#define POINT_OF_WEAK (0x8000ull << ELEM_SITE_SHIFT)
#define NO_POINT (~0ull) /* of what only reads: nobody observes that */
ALWAYS u64 point_of(u64 address, u32 mask, u32 scope)
{
	u32 line = ((u32)(address / GSAN_LINE) ^ (u32)(address >> 39) << 24) * 0x9e3779b1u >> 24; /* the owner, too (gsan_owner) */
	u32 word = (u32)address % GSAN_LINE / GSAN_GRANULE << 1 | !(mask & 15), bytes = (mask | mask >> 4) & 15; /* its first, and which there */
	word ^= (bytes ^ 15) << 1;
	return (u64)((line < 0xfe ? line : 0xfe) << 7 | (word < 0x1e ? word : 0x1e) << 2 | scope) << ELEM_SITE_SHIFT |
	       (mask & POINT_WEAK ? POINT_OF_WEAK : 0);
}
/* Of a record, in the granule at `address` or in its line. */
ALWAYS u64 rec_point(u64 rec, u64 address, int in_line)
{
	u32 op = rec_op(rec);
	if (op_is_strong_write(op))
		return point_of(address, rec_mask(rec), op_scope(op));
	if (!op_writes(op))
		return NO_POINT;
	return in_line ? point_of(address & ~(u64)(GSAN_LINE - 1), POINT_WEAK | rec_mask(rec), GSAN_SYS) :
			 point_of(address, POINT_WEAK | rec_mask(rec), GSAN_SYS);
}
/* Do the place and scope of point `b` include that of `a`? */
ALWAYS u32 point_scope(u64 a) { return (u32)(a >> ELEM_SITE_SHIFT) & 3; }
/* Which bits of its place do not matter: those in the line, or all. */
ALWAYS u64 point_wild(u64 b) { return ~b & POINT_ANY_IN_LINE ? 0 : ~b & POINT_ANY_PLACE ? POINT_ANY_IN_LINE : POINT_ANY_PLACE; }
ALWAYS int point_within(u64 a, u64 b)
{
	if (!(~b & POINT_ANYWHERE))
		return 1;
	return !((a ^ b) & (POINT_ANY_PLACE | POINT_OF_WEAK) & ~point_wild(b)) && point_scope(a) >= point_scope(b);
}
ALWAYS int point_same_line(u64 a, u64 b) { return !((a ^ b) & ((POINT_ANY_PLACE & ~POINT_ANY_IN_LINE) | POINT_OF_WEAK)); }
/* The place of either of two. */
ALWAYS u64 point_union(u64 a, u64 b)
{
	u64 scope = point_scope(a) < point_scope(b) ? point_scope(a) : point_scope(b), either = POINT_ANY_PLACE;
	if (point_same_line(a, b))
		either = (a ^ b) & POINT_ANY_IN_LINE ? a | POINT_ANY_IN_LINE : a;
	else if ((a | b) & POINT_OF_WEAK)
		return POINT_ANYWHERE;
	return (either & ~(3ull << ELEM_SITE_SHIFT) & POINT_ANYWHERE) | scope << ELEM_SITE_SHIFT;
}

/* ---- how each is made ------------------------------------------------------------------------------------------------------ */
/* Scope, GPU and site of a release as an element's. */
ALWAYS u64 elem_by(u32 gpu, u32 scope, u32 site)
{
	return (u64)site << ELEM_SITE_SHIFT | (u64)gpu << ELEM_GPU_SHIFT | (u64)scope << ELEM_SCOPE_SHIFT;
}
/* `stamp`: tag, CTA and epoch (REC_STAMP); `gate`: elem_by(). */
ALWAYS u64 elem_write(u64 stamp, u64 gate, int fenced) { return stamp | gate | ELEM_RELAXED | ELEM_POINT | (fenced ? ELEM_FENCED : 0); }
ALWAYS u64 elem_seen(u64 stamp, u64 point) { return stamp | point | ELEM_POINT; }
ALWAYS u64 elem_start(u32 tag) { return (u64)tag << GSAN_REC_TAG_SHIFT | ELEM_RELAXED; }
ALWAYS u64 elem_all(u32 tag, u32 epoch) /* who reads it is not known: its gate is open */
{
	return (u64)tag << GSAN_REC_TAG_SHIFT | (u64)epoch << GSAN_REC_EPOCH_SHIFT | ELEM_ALL | ELEM_OPEN;
}
ALWAYS u64 elem_all_seen(u32 tag, u64 point)
{
	return elem_seen((u64)tag << GSAN_REC_TAG_SHIFT | (u64)GSAN_EPOCH_MAX << GSAN_REC_EPOCH_SHIFT, point) | ELEM_ALL;
}
ALWAYS u64 elem_prefix(u32 participant, u32 seq)
{
	return ELEM_PREFIX | (u64)participant << ELEM_PREFIX_OWNER_SHIFT | (u64)seq << ELEM_PREFIX_SEQ_SHIFT | ELEM_OPEN;
}

/* The same one otherwise. */
ALWAYS u64 elem_observed(u64 prefix) { return prefix | ELEM_PREFIX_OBSERVED; }
ALWAYS u64 elem_fenced(u64 e) { return e | ELEM_FENCED; }
ALWAYS u32 elem_warp(u64 e, u32 bits) { return (u32)(e >> GSAN_REC_EPOCH_SHIFT) & ((1u << bits) - 1); }
ALWAYS u64 elem_of_warp(u64 done) { return done | ELEM_RELAXED; } /* what the warp that its epoch names did, alone */
ALWAYS u64 elem_fresh(u64 seen) { return seen | ELEM_FRESH; }
ALWAYS u64 elem_settled(u64 e) { return elem_is_seen(e) ? e & ~ELEM_FRESH : e; } /* as once the operation that observed it is over */
ALWAYS u64 elem_widened(u64 e, u32 scope) { return e | (u64)scope << ELEM_SCOPE_SHIFT; } /* its gate, which had none or a narrower one */
ALWAYS u64 elem_gate(u64 e) { return e & ELEM_GATE; }
ALWAYS u64 elem_bare(u64 e) { return e & ~(ELEM_GATE | (elem_is_prefix(e) ? ELEM_PREFIX_OBSERVED : 0)); } /* as if it came to no location */
ALWAYS u64 elem_all_of(u64 e) { return (e & ~0ull << GSAN_REC_TAG_SHIFT) | ELEM_ALL; } /* of the tag alone */
/* An element that its CTA or another one releases again, at another gate. */
ALWAYS u64 elem_handed_on(u64 e, u64 gate)
{
	e = elem_settled(e);
	return ((elem_is_did(e) ? elem_fenced(e) : e) & ~ELEM_GATE) | gate; /* by no operation on the location */
}
/* A write of a version, or a seen one, as what observed it keeps it; the place of a write is that of the read. */
ALWAYS u64 elem_kept(u64 e, u64 point)
{
	return elem_is_write(e) ? (e & ~(ELEM_RELAXED | ELEM_FENCED | ELEM_SITE)) | point : elem_settled(e);
}

/* Who wrote a version last, a store or an RMW that continues: an element of that CTA without an epoch. */
ALWAYS u64 writer_of(u64 who, u64 gate, int releases) { return who | gate | (releases ? ELEM_FENCED : 0); }
ALWAYS int writer_releases(u64 writer) { return (writer & ELEM_FENCED) != 0; } /* by itself */

#endif
