/* What lies in a participant's block of the node-wide tables: counters, launch table, what the launches of a stream have
 * acquired, CTA states, synchronisation entries, and the pool of byte-exact detail. Every participant's block is at a
 * fixed address (layout.h), so a reference is (participant, index). All of it starts as zeros. */
#ifndef GSAN_DEVICE_TABLES_H
#define GSAN_DEVICE_TABLES_H

#include "device/layout.h"

/* ---- clock elements ----------------------------------------------------------------------------------------- */
/* "Everything that CTA `cta` of launch `tag` did up to `epoch`, and everything ordered before that launch." 64 bits,
 * 0 = empty. tag, cta and epoch lie where they lie in a record. The gate says which release brought the element to a
 * location: its scope and the GPU of the releasing CTA. An element of many: ELEM_ALL, every CTA of the launch up to
 * `epoch`; ELEM_PREFIX, all launches of a participant up to a launch number, in the upper half. */
#define ELEM_ALL 1ull
#define ELEM_PREFIX 2ull
#define ELEM_SCOPE_SHIFT 2u         /* 2: enum gsan_scope */
#define ELEM_GPU_SHIFT 4u           /* 5 */
#define ELEM_SITE_SHIFT 9u          /* 16: of the release, for messages */
#define ELEM_RELAXED (1ull << 25)   /* by a relaxed write without a fence: only what the kernel's start releases */
#define ELEM_POINT (1ull << 28)     /* of its records, only the strong writes of one place, of one scope or a wider one, or the
				     * weak writes there: they were observed, which orders nothing else. The site's bits
				     * hold point_of() that place and the scope; all ones: any. With ELEM_ALL, of earlier
				     * launches of the stream, too. With ELEM_RELAXED: in a version, the write of its
				     * location, and the site is one */
#define ELEM_ANYWHERE (0xffffull << ELEM_SITE_SHIFT)
#define ELEM_OPEN (1ull << 26)      /* several releases merged: the gate is open to all */
#define ELEM_FENCED (1ull << 27)    /* by a fence before a relaxed write, not by an operation on the location */
#define ELEM_FRESH ELEM_FENCED      /* of a point in a clock: before what follows the operation that observed it, not before itself;
				     * in a version: who reads that observes the point */
#define ELEM_PREFIX_OWNER_SHIFT 27u /* 5, prefix only */
#define ELEM_PREFIX_SEQ_SHIFT 32u   /* 32, prefix only */

/* ---- launch table: one entry per tag, written by the launch's first CTAs ------------------------------------ */
struct dev_launch {
	uint32_t seq;   /* written last: the entry is that launch's */
	uint32_t claim; /* the launch one of whose CTAs writes the entry; read with `seq` */
	uint32_t kernel;
	uint8_t stream, gpu;
	uint16_t pad;
	uint32_t grid[3];
	uint32_t pad1;
	struct gsan_order order;
	/* Of a private tag, which one CTA drew when the epochs of its tag before were used up; 0 of a launch's own tag. What
	 * the CTA did under its tags before is ordered before all that carries this one. */
	uint64_t cta;      /* its state's key */
	uint64_t origin;   /* launch tag and CTA of its first records */
	uint32_t first;    /* the CTA's time at this tag's value 0 */
	uint32_t previous; /* private tag + 1 drawn before, or 0 */
	uint8_t reserve[512 - 56 - sizeof(struct gsan_order)];
};
_Static_assert(sizeof(struct dev_launch) == 512, "");

/* ---- what a stream's launches acquired while they ran: order for the launches behind them -------------------- */
#define DEV_ACQUIRED 62u
struct dev_acquired_item {
	uint64_t elem;
	uint32_t by;  /* launch that acquired it: counts for launches ordered after that one */
	uint32_t seq; /* of the element's launch */
};
struct dev_acquired {
	uint32_t lock;
	uint32_t count;
	uint64_t pad[3];
	struct dev_acquired_item item[DEV_ACQUIRED];
};
_Static_assert(sizeof(struct dev_acquired) == 1024, "");

/* ---- CTA states ---------------------------------------------------------------------------------------------- */
#define DEV_CLOCK 64u
#define DEV_PENDING 48u
struct dev_clock { /* a short list, collapsed when full */
	uint32_t count;
	uint32_t flags; /* DEV_CLOCK_* */
	uint64_t elem[DEV_CLOCK];
};
struct dev_pending { /* what a strong read observed, set aside for an acquire fence, or an acquire of the same location */
	uint64_t elem;
	uint64_t key; /* sync_key() of its location */
};
#define DEV_CLOCK_EVERYTHING 1u /* order unknown: counts as ordered after everything */

/* A flag that was read and gave no edge; words the finding's missing edge (hint.h). The first three are as in a record. */
struct dev_hint {
	uint64_t writer; /* tag, CTA and epoch of the write, or of the release that it hands on */
	uint64_t by;     /* tag, CTA and site of the write */
	uint64_t reader; /* tag, CTA, epoch and site of the read */
	uint64_t why;    /* enum gsan_reason, HINT_ACQUIRES; a sum over the rest in the upper half */
};
_Static_assert(sizeof(struct dev_hint) == 32, "");
#define HINT_REASON 0xffu
#define HINT_ACQUIRES 0x100u /* the read, or a fence behind it, acquires */
#define HINT_RELEASES 0x200u /* the read is of an RMW that releases: it was made to write */
#define DEV_OWN_HINTS 4u
#define DEV_HINTS 1024u
#define DEV_HINT_WAYS 16u

struct dev_state {
	uint64_t key;       /* 0 free; launch seq << 32 | CTA index + 1, hashed beyond 2^32 CTAs */
	uint32_t time;      /* epochs so far: the epoch under the launch's tag, then values under private tags */
	uint32_t private_tag; /* + 1; 0: its records carry the launch's tag */
	uint64_t base;      /* tag, CTA and epoch of the records that this CTA makes now */
	uint32_t dirty;     /* a record was made in this epoch; read together with base (state_base) */
	uint32_t exited;    /* threads that left */
	uint32_t lock;      /* of clock, fenced, pending and time */
	uint32_t pendings;
	uint32_t pending_flags; /* DEV_CLOCK_* */
	uint32_t polled_generation;
	uint32_t polled_desc;
	uint32_t fence[2];  /* at .gpu and at .sys: 1 + time released by the last release fence, 0 = none */
	uint32_t fresh;     /* elements of the clock that were observed by the strong operation under way (ELEM_FRESH) */
	uint64_t polled_key;   /* the entry this CTA looked at last, its generation and the value read: */
	uint64_t polled_value; /* a spin loop looks no further while they stay */
	uint32_t hints;        /* so many went into `hint`, each over the oldest */
	uint32_t hints_fenced; /* so many when it executed an acquire fence last */
	uint64_t reserve0;
	struct dev_clock clock;
	struct dev_clock fenced; /* as it was at the release fences; an element's gate has the scope of its fence */
	struct dev_pending pending[DEV_PENDING];
	struct dev_hint hint[DEV_OWN_HINTS];
	uint8_t reserve[16];
};
_Static_assert(sizeof(struct dev_state) == 2048, "");
_Static_assert(__builtin_offsetof(struct dev_state, base) % 16 == 0, "one load");
_Static_assert(__builtin_offsetof(struct dev_state, hint) % 16 == 0, "two loads");
#define DEV_BUCKET 16u
#define DEV_BUCKETS 1024u /* 16,384 CTAs of synchronising kernels at once; one GPU holds 132 × 32 */

/* ---- synchronisation entries: one per location that was strongly written -------------------------------------- */
#define DEV_VERSION 61u
struct dev_version {
	uint64_t value;  /* what the store wrote, if DEV_VALUE */
	uint64_t writer; /* of the last write, a store or an RMW that continues: tag and CTA, scope and GPU as an element's gate, site;
			  * ELEM_FENCED: it releases by itself */
	uint32_t flags;  /* DEV_* */
	uint32_t count;
	uint32_t pad;
	uint32_t coarse; /* with DEV_COARSELY: the GPU of the RMWs without an entry that it continues */
	uint64_t elem[DEV_VERSION];
};
#define DEV_VALID 1u
#define DEV_VALUE 2u
#define DEV_EVERYTHING 4u /* the writer's order is not known */
#define DEV_EARLY 8u      /* published before the write executed: who looks may not have read it yet */
#define DEV_COARSELY 16u  /* continues what RMWs without an entry left, if there were such */

/* A strong write holds the lock of its entry while it executes, so that the order of the versions is that of the writes. */
#define DEV_READ 1u
#define DEV_WROTE 2u
#define DEV_MANY 4u
struct dev_sync {
	uint64_t key; /* sync_key(); 0 free */
	uint32_t lock;
	uint32_t generation; /* raised by every change; read with key and lock at once */
	uint64_t holder; /* the warp whose operation is under way, 0 = none */
	uint32_t lanes;  /* of that warp, those whose operation it is */
	uint32_t time;   /* what they release: their CTA's time before the operation */
	uint32_t ended;  /* DEV_READ, DEV_WROTE: by the first of these lanes for all; DEV_MANY: they are several */
	uint32_t lost;   /* [2] is in use */
	struct dev_version version[3]; /* newest first; [2]: all older ones together, of any value */
	uint64_t pad[56];
};
_Static_assert(sizeof(struct dev_sync) == 2048, "");
#define DEV_SYNCS 16384u
#define DEV_SYNC_PROBES 16u
#define DEV_SYNC_RMW_QUOTA 8192u /* entries that RMWs alone may make; beyond, the coarse path */

/* The coarse path: RMWs whose location has no entry release into a clock of their launch as a whole. A slot holds
 * the newest such launch of a stream, which all earlier ones of the stream are before; `older` the last launch of each
 * participant that lost its slot to another stream. */
#define DEV_COARSE 64u
struct dev_coarse {
	uint64_t slot[DEV_COARSE];             /* elements of all CTAs (ELEM_ALL) */
	uint64_t older[GSAN_PARTICIPANTS];     /* launch numbers, every launch up to it; 0 = none */
};
static inline uint32_t coarse_slot(uint32_t participant, uint32_t stream) { return (participant * 13 + stream) & (DEV_COARSE - 1); }

/* ---- everything ------------------------------------------------------------------------------------------------ */
#define DEV_SPREAD 256u /* counters that many accesses raise, spread over CTAs */
struct dev_spread { uint64_t checked, lost; };
#define DEV_SEEN 4096u  /* findings already sent */
#define DEV_LAUNCHES 32768u
#define DEV_DETAILS (1u << 18)

struct dev_tables {
	struct gsan_table_head head;
	struct dev_spread spread[DEV_SPREAD];
	uint64_t ring_head;    /* next ticket */
	uint32_t detail_next;
	uint32_t syncs;        /* entries in use */
	uint64_t newest;       /* launch that has begun */
	uint32_t privates;     /* private tags looked at */
	uint32_t coarse_used;  /* 1: `coarse` is not empty */
	uint32_t streams_acquired[2]; /* read as one u64; bit per stream slot with items in `acquired` */
	struct dev_coarse coarse;
	uint32_t base[GSAN_PARTICIPANTS]; /* no launch here has a launch of that participant with seq above it before it */
	uint8_t pad[4096 - 256 - 40 - sizeof(struct dev_coarse) - 4 * GSAN_PARTICIPANTS];
	uint64_t seen[DEV_SEEN];
	uint32_t bucket_lock[DEV_BUCKETS];
	struct dev_acquired acquired[GSAN_STREAMS];
	struct dev_hint hint[DEV_HINTS];
	struct dev_launch launch[DEV_LAUNCHES];
	struct dev_state state[DEV_BUCKETS * DEV_BUCKET];
	struct dev_sync sync[DEV_SYNCS];
	struct gsan_detail detail[DEV_DETAILS];
};
_Static_assert(__builtin_offsetof(struct dev_tables, streams_acquired) % 8 == 0, "one u64");
_Static_assert(__builtin_offsetof(struct dev_tables, seen) % 4096 == 0, "");
_Static_assert(sizeof(struct dev_tables) < 512ull << 20, "one table block");

static inline struct dev_tables *dev_tables(uint32_t participant)
{
	return (struct dev_tables *)(uintptr_t)(GSAN_TABLE_BASE + (uint64_t)participant * GSAN_TABLE_SLICE);
}

#endif
