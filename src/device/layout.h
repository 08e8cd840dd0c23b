/* The binary layout that host, device and every rank share: the arena's address map, shadow records, the launch
 * record that travels as a clone's hidden parameter, the node-wide tables, and the finding ring. This header is C11
 * without any library, so that the same text is compiled for the host, for the NVPTX runtime and for tests. Whoever
 * changes a number here raises GSAN_ABI: clones carry it, and libgsan refuses clones of another number. */
#ifndef GSAN_DEVICE_LAYOUT_H
#define GSAN_DEVICE_LAYOUT_H

#include <stdint.h>

#define GSAN_ABI 26u

/* ---- arena: one range at the same address in every participant --------------------------------------------- */
#ifndef GSAN_ARENA_BASE /* a test under ThreadSanitizer moves it to where that allows memory, and makes it smaller */
#define GSAN_ARENA_BASE 0x200000000000ull /* FACTS A: honoured by cuMemAddressReserve up to 2^45 bytes */
#define GSAN_ARENA_BITS 45u
#endif
#define GSAN_ARENA_SIZE (1ull << GSAN_ARENA_BITS)
#define GSAN_PAGE (2ull << 20)       /* VMM granularity of data, shadow and views */
#define GSAN_PARTICIPANTS 32u        /* processes × GPUs in one job */
#define GSAN_SLICE_BITS (GSAN_ARENA_BITS - 6) /* canonical data addresses per participant: 512 GiB */
#define GSAN_SLICE (1ull << GSAN_SLICE_BITS)

#define GSAN_DATA_SHIFT (GSAN_ARENA_BITS - 1) /* (address >> 44) == GSAN_DATA_TOP  ⇔ canonical */
#define GSAN_VIEW_SHIFT (GSAN_ARENA_BITS - 2) /* (address >> 43) == GSAN_VIEW_TOP  ⇔ view */
#define GSAN_DATA_BASE GSAN_ARENA_BASE                               /* canonical addresses, 2^44 bytes */
#define GSAN_VIEW_BASE (GSAN_ARENA_BASE + (1ull << GSAN_DATA_SHIFT)) /* the program's own VMM reservations, 2^43 bytes */
#define GSAN_VIEW_SIZE (1ull << GSAN_VIEW_SHIFT)
#define GSAN_SHADOW_BASE (GSAN_VIEW_BASE + GSAN_VIEW_SIZE)           /* line records, 2^42 bytes */
#define GSAN_TABLE_BASE (GSAN_SHADOW_BASE + GSAN_VIEW_SIZE / 2)      /* node-wide tables, 2^42 bytes */
#define GSAN_TABLE_SLICE (1ull << (GSAN_ARENA_BITS - 8))             /* per participant */
#define GSAN_DATA_TOP (GSAN_DATA_BASE >> GSAN_DATA_SHIFT)
#define GSAN_VIEW_TOP (GSAN_VIEW_BASE >> GSAN_VIEW_SHIFT)

_Static_assert(GSAN_DATA_BASE % (1ull << GSAN_DATA_SHIFT) == 0, "the data region is one aligned block");
_Static_assert(GSAN_VIEW_BASE % (1ull << GSAN_VIEW_SHIFT) == 0, "the view region is one aligned block");
_Static_assert(GSAN_TABLE_BASE + GSAN_PARTICIPANTS * GSAN_TABLE_SLICE == GSAN_ARENA_BASE + GSAN_ARENA_SIZE, "the regions fill the arena");
_Static_assert(GSAN_PARTICIPANTS * GSAN_SLICE == 1ull << GSAN_DATA_SHIFT, "the slices fill the data region");
_Static_assert((GSAN_VIEW_BASE - GSAN_DATA_BASE) / 4 <= GSAN_TABLE_BASE - GSAN_SHADOW_BASE, "each line has its record");

static inline uint32_t gsan_owner(uint64_t canonical)
{
	return (uint32_t)((canonical - GSAN_DATA_BASE) >> GSAN_SLICE_BITS);
}

/* The last quarter of a slice is of memory that hosts use, too, and so unseen: what they read there may be the reason of what they
 * launch, and what a kernel reads strongly there may be theirs. So too for an address that is in no slice, ~0. */
#define GSAN_HOSTS_OFFSET (GSAN_SLICE / 4 * 3)
static inline int gsan_is_hosts(uint64_t canonical) { return (canonical >> (GSAN_SLICE_BITS - 2) & 3) == 3; }

/* View table: one u32 per 2 MiB view page, private to a process. 0 = not checked, else canonical page number + 1,
 * where the page number counts from GSAN_DATA_BASE. */
#define GSAN_VIEW_PAGES (GSAN_VIEW_SIZE / GSAN_PAGE)

/* Behind it, in the same way private to a process: ranges outside the arena (module variables, memory of hosts) and their canonical
 * addresses, both multiples of 512 bytes, sorted by address. There are two such tables. The host writes the one that is not in use, then
 * raises `now`, whose lowest bit says which one is: what was found counts if `now` is the same afterwards. */
#define GSAN_RANGES 32768u
#define GSAN_RANGES_OFFSET (GSAN_VIEW_PAGES * 4u)
struct gsan_range { uint64_t base, size, canonical; };
struct gsan_ranges { uint64_t low, high; uint32_t count, pad; struct gsan_range range[GSAN_RANGES]; };
struct gsan_ranges_both { uint32_t now, pad; struct gsan_ranges table[2]; };
_Static_assert(sizeof(struct gsan_ranges_both) <= GSAN_PAGE, "");

/* ---- shadow ------------------------------------------------------------------------------------------------- */
#define GSAN_LINE 128u        /* bytes of data per line record */
#define GSAN_SECTOR 16u       /* bytes per mask bit of a line record */
#define GSAN_GRANULE 8u       /* bytes per detail granule; a mask bit is one byte */
#define GSAN_LINE_READS 2u
#define GSAN_DETAIL_WRITES 2u
#define GSAN_DETAIL_READS 2u

/* One access record, 64 bits, 0 = empty. Fields from bit 0: mask 8, site 16, op 5, epoch 9, cta 10, tag 16. */
#define GSAN_REC_MASK_SHIFT 0u
#define GSAN_REC_SITE_SHIFT 8u
#define GSAN_REC_OP_SHIFT 24u
#define GSAN_REC_EPOCH_SHIFT 29u
#define GSAN_REC_CTA_SHIFT 38u
#define GSAN_REC_TAG_SHIFT 48u
#define GSAN_WARPS 32u /* of a CTA */
#define GSAN_EPOCH_MAX 511u   /* then the CTA draws a private tag; without one it saturates: too much counts as released */
#define GSAN_CTA_BITS 10u

/* op × scope, 5 bits: scope is the low 2 bits of the strong forms. */
enum gsan_scope { GSAN_CTA, GSAN_CLUSTER, GSAN_GPU, GSAN_SYS };
enum gsan_op {
	GSAN_OP_LD = 0,         /* weak load */
	GSAN_OP_ST = 1,         /* weak store */
	GSAN_OP_LD_NC = 2,      /* ld.global.nc */
	GSAN_OP_RANGE_ST = 3,   /* host copy or set, destination; of weak ones the stores are odd (lines.h) */
	GSAN_OP_RANGE_LD = 4,   /* host copy, source */
	GSAN_OP_ASYNC_ST = 5,   /* asynchronous copies (ROADMAP) */
	GSAN_OP_ASYNC_LD = 6,
	GSAN_OP_STRONG_LD = 8,  /* + enum gsan_scope */
	GSAN_OP_STRONG_ST = 12, /* + enum gsan_scope */
	GSAN_OP_RMW = 16,       /* + enum gsan_scope: atom, red */
	GSAN_OP_TRY = 24,       /* + enum gsan_scope: a CAS of which it is not known yet whether it writes (swap.h) */
};
enum gsan_sem { GSAN_SEM_NONE, GSAN_SEM_ACQUIRE, GSAN_SEM_RELEASE, GSAN_SEM_ACQ_REL, GSAN_SEM_SC /* fences only */ };
#define GSAN_SEM_CAS 4u /* added to an RMW's semantics: it may fail, and says after() so by coming as a load */

/* Protocol of records. No lock. A record is one word: a reader sees one that was made, whole, or none. `write` is exchanged,
 * so that who puts one looks at each that it displaces; `read` is put by compare-and-swap, or by a store where the place was
 * free a moment ago: of two that come at once one may be lost, which misses, and never invents. Everyone records first and
 * looks afterwards. `detail` goes from 0 to an index once; of two that come at once the loser's block stays unused. Flags are
 * added, before what they announce. In a granule a write always goes in, and may empty the other place if its record hides
 * that one. The host sets whole pages to 0 when memory is freed, and when tags come round (src/clock/tags.c), beside running
 * kernels: that misses, too. A record's launch stands in the launch table, or will in a moment (tables.h). */
struct gsan_line {
	uint64_t write;                   /* last write; mask = sectors */
	uint32_t detail;                  /* 0, or 1 + index into the owner's detail pool */
	uint32_t flags;                   /* GSAN_LINE_* */
	uint64_t read[GSAN_LINE_READS];   /* sampled reads */
};
#define GSAN_LINE_SYNC 1u /* some location in it has, or had, a synchronisation entry */
#define GSAN_LINE_MARK 0x00fffff1u /* GSAN_LINE_SYNC, and a number that each time it is set is another one */
#define GSAN_LINE_READ 2u /* there is, or was, something in `read`; set before it */
#define GSAN_LINE_WROTE 4u /* the same of `write` in some granule of the detail */
#define GSAN_LINE_ATOMIC 8u /* the same of atomics, in its `read` */
#define GSAN_LINE_VALUE 0x01000000u /* streams write values there (struct gsan_values): set by hosts, which write this byte and no other */
_Static_assert(sizeof(struct gsan_line) == 32, "a line record is a quarter of its line");

struct gsan_granule {
	uint64_t write[GSAN_DETAIL_WRITES]; /* mask = bytes */
	uint64_t read[GSAN_DETAIL_READS];
};
struct gsan_detail {
	struct gsan_granule granule[GSAN_LINE / GSAN_GRANULE];
};
_Static_assert(sizeof(struct gsan_detail) == 512, "detail is 4 bytes per byte");

static inline uint64_t gsan_shadow(uint64_t canonical) /* address of the line record */
{
	return GSAN_SHADOW_BASE + ((canonical - GSAN_DATA_BASE) >> 7 << 5);
}

/* ---- launches ----------------------------------------------------------------------------------------------- */
/* A participant numbers its launches 1, 2, 3 … (`seq`). The 16-bit tag of a record is
 *     gsan_tag_head() << tag_bits | seq & (1 << tag_bits) - 1
 * Ranks share the lower half of the tags: of them tag_bits = 15 - log2(ranks of the job, rounded up to a power of two), at least
 * GSAN_GUEST_BITS. The upper half is of guests: further processes and GPUs of a rank, spawned or late; in a job with more ranks than
 * GSAN_GUEST they are ranks, too. Participants from GSAN_GUEST on have GSAN_GUEST_BITS; those from GSAN_FEW on, and those that the ranks
 * leave below GSAN_GUEST, share a quarter of all tags, GSAN_FEW_BITS each. The last eighth of each half of the numbers is never a
 * launch's: CTAs that use up their epochs draw their private tags there (state.h). They lie ahead of every launch of their half,
 * so that no floor can pass one while its launch runs. */
#define GSAN_GUEST 16u
#define GSAN_GUEST_BITS 11u
#define GSAN_FEW 24u
#define GSAN_FEW_BITS 9u
_Static_assert(GSAN_FEW << GSAN_GUEST_BITS == 3u << 14 && GSAN_PARTICIPANTS << GSAN_FEW_BITS == 1u << 14, "a quarter, by participant");
static inline uint32_t gsan_rank_places(uint32_t rank_bits) { return 1u << (15 - rank_bits); } /* for participants below GSAN_GUEST */
static inline uint32_t gsan_tag_bits(uint32_t rank_bits, uint32_t tag)
{
	return tag >> 15 ? 15 - 2 * (tag >> 14) : rank_bits; /* GSAN_GUEST_BITS, in the last quarter GSAN_FEW_BITS */
}
_Static_assert(15 - 2 * 2 == GSAN_GUEST_BITS && 15 - 2 * 3 == GSAN_FEW_BITS, "gsan_tag_bits()");
static inline uint32_t gsan_tag_participant(uint32_t rank_bits, uint32_t tag)
{
	return tag >> gsan_tag_bits(rank_bits, tag) & (GSAN_PARTICIPANTS - 1);
}
static inline int gsan_has_few(uint32_t rank_bits, uint32_t p)
{
	return p >= GSAN_FEW || (p < GSAN_GUEST && p >= gsan_rank_places(rank_bits));
}
static inline uint32_t gsan_participant_bits(uint32_t rank_bits, uint32_t p)
{
	return gsan_has_few(rank_bits, p) ? GSAN_FEW_BITS : p < GSAN_GUEST ? rank_bits : GSAN_GUEST_BITS;
}
static inline uint32_t gsan_tag_head(uint32_t rank_bits, uint32_t p)
{
	return gsan_has_few(rank_bits, p) ? 3u << 14 >> GSAN_FEW_BITS | p : p;
}
static inline int gsan_tag_private(uint32_t tag, uint32_t tag_bits)
{
	return (tag >> (tag_bits - 4) & 7) == 7;
}
#define GSAN_ORDER_PAIRS 32u
#define GSAN_STREAMS 64u /* stream slots per participant; further streams share the last slot (over-orders, counted) */

struct gsan_pair { /* launches of (participant, stream) with seq ≤ this one are ordered before */
	uint8_t participant;
	uint8_t stream;
	uint16_t pad;
	uint32_t seq;
};

/* What is ordered before a launch, known when it was enqueued: every launch of participant p with
 * seq < floor[p], and those named by the pairs. */
struct gsan_order {
	uint32_t floor[GSAN_PARTICIPANTS];
	uint32_t pairs;
	uint32_t flags; /* GSAN_ORDER_* */
	struct gsan_pair pair[GSAN_ORDER_PAIRS];
};
_Static_assert(sizeof(struct gsan_pair) == 8 && sizeof(struct gsan_order) % 8 == 0, "copied by words of 8 (launch_fill)");
#define GSAN_ORDER_UNKNOWN 1u /* everything not known to be unordered counts as ordered */
#define GSAN_ORDER_EARLY 2u   /* its launch began before the one before it in its stream had ended, perhaps (programmatic dependent launch) */
#define GSAN_ORDER_WAITS 4u   /* and is behind that when it has waited, as the record behind this one says */

#define GSAN_LIFT_UNSEEN 1u /* nothing but checked kernels writes to flags */
#define GSAN_LIFT_COARSE 2u /* every RMW has an entry, and its CTA a state */

/* Number 0 is nobody's: a clone that is launched with it, and a tag whose low bits are 0, which no launch gets, finds no race and is before all
 * that others do. So a graph's nodes run where their replay cannot be checked.
 *
 * The hidden last parameter of a checked clone, by value, 8-byte aligned. The parameters of a graph's node are set once: there `quick` is 0,
 * which it never is else, and the record lies at `at`, in the same form, and is written anew before each replay (src/driver/graph.h).
 *
 * Of a kernel with griddepcontrol.wait the parameter is two records. With GSAN_ORDER_WAITS in the first that is what holds until a thread has executed
 * the wait, and the second, which differs in `order`, `quick` and `writers` alone, what holds from there on; without, the second says nothing. */
struct gsan_launch {
	uint32_t abi;
	uint32_t seq;
	uint16_t tag;
	uint8_t participant;
	uint8_t stream;
	uint32_t kernel;     /* kernel id, numbered per participant when its module loads, from 1 */
	uint32_t mapped;     /* bit p: the tables of participant p are mapped here */
	uint8_t tag_bits;    /* of this participant */
	uint8_t warp_bits;   /* of an epoch, the lowest, which tell the CTA's warps apart; 0: a CTA counts as one */
	uint8_t gpu;         /* this GPU's index in the job, below 32; two participants may share a GPU */
	uint8_t rank_bits;   /* of those below GSAN_GUEST */
	uint32_t quick;      /* gsan_quick() */
	uint32_t seed;
	uint64_t view_table; /* address of u32[GSAN_VIEW_PAGES], or 0: no views */
	uint64_t ring;       /* device address of this participant's struct gsan_ring */
	uint64_t writers;    /* address of struct gsan_writers, or 0: anything unseen may write while this launch runs */
	uint64_t workspace;  /* address by which a cooperative grid synchronises, in the place of %envreg1 and %envreg2; 0: these */
	uint32_t swept;       /* no record of launches with seq below it is left: their private tags are free */
	uint16_t first_epoch; /* 0, or where a CTA's epochs start (tests) */
	uint16_t lifted;      /* GSAN_LIFT_*: limits that do not hold, to show what they cost (tests) */
	uint64_t at;          /* device address of the record itself, if `quick` is 0 */
	uint64_t held;        /* gsan_held(): where copies touch memory that are not checked yet */
	struct gsan_order order;
};
_Static_assert(sizeof(struct gsan_order) == 392, "");
_Static_assert(sizeof(struct gsan_launch) == 480, "the rewriter and range.ptx declare this many parameter bytes");

/* A value that a stream writes (cuStreamWriteValue), told before that is enqueued: an operation of one thread, which releases all that is before it to
 * who reads the value. Older ones of its stream at the location may stand for all of these together: then its value is any. The record's number is 0
 * while the rest of it is written. */
struct gsan_value {
	uint64_t at, value; /* canonical; 0: none */
	uint32_t bytes, any;
	struct gsan_launch record;
	uint64_t pad;
};
/* Protocol. A host adds one while `changing` is odd, which it makes it by compare-and-swap; devices read without a lock, and again if that changed
 * meanwhile. `lost`, once set: there were values that are not here, and what a location of this bucket holds may be one of them. */
#define GSAN_VALUE_BUCKETS 256u
#define GSAN_VALUE_WAYS 8u
struct gsan_values {
	uint32_t changing, lost;
	uint64_t pad;
	struct gsan_value way[GSAN_VALUE_WAYS];
};
static inline uint32_t gsan_value_bucket(uint64_t canonical) /* one for all that lies in 8 bytes */
{
	return (uint32_t)((canonical >> 3) * 0x9e3779b97f4a7c15ull >> 56);
}
_Static_assert(sizeof(struct gsan_value) == 512 && GSAN_VALUE_BUCKETS == 256u, "8 bits of a hash");

/* A word that a stream copies from, or waits for a value in: what was released there is before what comes behind it in its stream, of which a
 * device asks that is about to find a race (device/looks.h), until a kernel of ours has asked (device/range.h). Or a word that a stream copies to, or
 * sets, which releases what is before it to whoever of these reads it there, until that kernel has left its record. */
enum gsan_condition { GSAN_WAIT_GEQ, GSAN_WAIT_EQ, GSAN_WAIT_AND, GSAN_WAIT_NOR /* as the driver has them */, GSAN_WAIT_NOTHING, GSAN_WORD_WRITTEN };
struct gsan_look {
	uint64_t at, value; /* canonical */
	uint32_t bytes, condition;
	struct gsan_launch record;
};
#define GSAN_LOOKS 256u

/* The newest operation that each stream of the job has enqueued, or is about to, which may write device memory without
 * leaving a record: copies to device memory and sets, values that streams write, host functions, graphs, kernels that run
 * unchecked unless their model says `local`, and checked ones with instructions that are left unchecked. As numbers of that
 * participant (`seq`), 0 = none yet; any at any time: ~1 = another GPU of the process, ~0 = a process that could not be taken
 * in. Not counted: what the graph of a capture will do until it is launched, and what is not of the job.
 *
 * In memory of the host, raised before the operation is enqueued, and lowered only if the driver refuses that. So of a value
 * that a launch reads and that no checked kernel left: if every newest[p][s] is ordered before the launch, then so is
 * whatever may have written it. Only one entry may be behind the launch and not be ordered with it: in its own slot, unless
 * that is GSAN_STREAMS - 1, which streams share, what has a greater number than the launch itself comes behind its end, and
 * what has a lower one is before it. (A launch whose own kernel has unchecked instructions gets 0 for this address.) */
struct gsan_writers {
	uint64_t participants;               /* bit p: streams[p] is not 0, or was not; raised last */
	uint64_t streams[GSAN_PARTICIPANTS]; /* bit s: newest[p][s] is not 0. Raised before the operation is enqueued, too */
	uint32_t newest[GSAN_PARTICIPANTS][GSAN_STREAMS];
	uint32_t looks[GSAN_PARTICIPANTS];   /* warps that each has started to look at copies (device/range.h); raised before */
	uint32_t told;                       /* how many values streams were told to write, or will be; raised behind `values` */
	uint32_t lost;                       /* 1: graphs may write values, too */
	uint32_t unlooked[2][GSAN_PARTICIPANTS]; /* words that streams copy from, and that they copy to or set, under way without a place in `look` */
	uint64_t look_taken[GSAN_LOOKS / 64]; /* a bit for each of `look` that a host has, from before */
	uint64_t look_used[GSAN_LOOKS / 64];  /* to after it is one; a place serves again as late as may be */
	struct gsan_look look[GSAN_LOOKS];
	struct gsan_values values[GSAN_VALUE_BUCKETS];
};

/* The launch's own floor, made ready for the upper half of a record: the bits of the number that a tag has, at the top;
 * ones below, so that what follows a record's tag does not matter; GSAN_QUICK_UNHELD, if no memory is held; the place of the number, 16 - tag_bits, in
 * bits 0..4. */
#define GSAN_QUICK_UNHELD 32u
static inline uint32_t gsan_quick(const struct gsan_launch *l)
{
	uint32_t below = 32u - l->tag_bits, ones = ((1u << below) - 1) & ~63u;

	return (l->order.floor[l->participant] - 1) << below | ones | (l->held ? 0 : GSAN_QUICK_UNHELD) | (16u - l->tag_bits);
}

/* Memory between two canonical addresses: its first piece of GSAN_HELD bytes, and how many come behind it, << 32. 0: none, for none begins at 0. */
#define GSAN_HELD_SHIFT 16u
static inline uint64_t gsan_held(uint64_t from, uint64_t last)
{
	return from >> GSAN_HELD_SHIFT | ((last >> GSAN_HELD_SHIFT) - (from >> GSAN_HELD_SHIFT)) << 32;
}
static inline uint64_t gsan_held_first(uint64_t held) { return (held & 0xffffffff) << GSAN_HELD_SHIFT; }
static inline uint64_t gsan_held_last(uint64_t held) { return ((held & 0xffffffff) + (held >> 32)) << GSAN_HELD_SHIFT; }
static inline uint64_t gsan_held_both(uint64_t one, uint64_t other)
{
	uint64_t first = gsan_held_first(one), last = gsan_held_last(one);

	if (!one || !other)
		return one | other;
	first = gsan_held_first(other) < first ? gsan_held_first(other) : first;
	last = gsan_held_last(other) > last ? gsan_held_last(other) : last;
	return gsan_held(first, last);
}
static inline int gsan_is_held(uint64_t held, uint64_t canonical)
{
	return (uint32_t)(canonical >> GSAN_HELD_SHIFT) - (uint32_t)held <= (uint32_t)(held >> 32);
}

/* What a copy or a set reads or writes: rows of `width` bytes, `pitch` apart, `height` of them in a slice. No rows: nothing. */
struct gsan_box {
	uint64_t at, width, pitch, slice;
	uint64_t height, rows;
};
struct gsan_boxes { struct gsan_box written, read; };

/* One word that lies as a word does is copied at once, as by a relaxed access: so flags are raised, and progress is polled. */
static inline int gsan_box_is_word(const struct gsan_box *box)
{
	return box->rows == 1 && box->width && box->width <= 8 && !(box->width & (box->width - 1)) && !(box->at & (box->width - 1));
}

/* ---- findings: memory shared by the device, its process and the supervisor ---------------------------------- */
enum gsan_kind { /* the names are DESIGN §11 */
	GSAN_KIND_NONE, GSAN_RAW, GSAN_WAR, GSAN_WAW, GSAN_ATOMIC_PLAIN, GSAN_SCOPE, GSAN_STALE_NC,
	GSAN_TOLD, /* no finding: launch `second` wrote where a host may read; before, numbers below first.seq were given out. For the supervisor */
	GSAN_WAITS /* no finding: `second` has read the same at `address` again and again; not canonical, if nothing is known of that */
};
/* Why no edge was found: the device's best knowledge, from which `missing_edge` is worded. */
enum gsan_reason {
	GSAN_WHY_NONE,           /* nothing between them synchronises */
	GSAN_WHY_RELAXED_WRITE,  /* second's CTA read a flag that first's CTA wrote without release */
	GSAN_WHY_NO_ACQUIRE,     /* it was released, and read without acquire */
	GSAN_WHY_RELEASE_SCOPE,  /* the release's scope does not include the reader */
	GSAN_WHY_ACQUIRE_SCOPE,  /* the acquire's scope does not include the writer */
	GSAN_WHY_BEFORE_PAYLOAD, /* an edge exists, but the access came after its release */
	GSAN_WHY_WEAK_WRITE,     /* the flag that was read was written by a weak store */
	GSAN_WHY_WEAK_READ,      /* the flag was read by a weak load */
	GSAN_WHY_OTHER_CTA,      /* an edge exists, from another CTA of first's launch */
	GSAN_WHY_PUBLISHED_ALONE, /* first's CTA released, but another warp of it did, and no barrier stands between */
	GSAN_WHY_ACQUIRED_ALONE,  /* second's CTA acquired that, but another warp of it did, and no barrier stands between */
	/* which the supervisor alone finds, in the text of kernels (launcher/supervisor/rounds.c) */
	GSAN_WHY_OLDER,           /* who waits before the load went on by what the flag was before it was raised behind the store */
	GSAN_WHY_REUSED,          /* the store is of a later round: it waits for too old a flag of the load's side, or for none */
	GSAN_WHY_LATE_ACQUIRE,    /* the load stands before its CTA's wait */
	GSAN_WHY_UNAWAITED,       /* another thread of the load's CTA waits, and no barrier stands between */
	GSAN_WHY_UNLOCKED         /* one side holds a lock, and the other one does not */
};
struct gsan_side {
	uint32_t seq;
	uint32_t kernel;
	uint8_t participant;
	uint8_t stream;
	uint16_t site;
	uint16_t cta;      /* mixed hash, GSAN_CTA_BITS */
	uint8_t op;        /* enum gsan_op + scope */
	uint8_t mask;      /* bytes of the granule at `address`, or sectors of its line if `whole` */
	uint32_t grid[3];
	uint32_t ctaid[3]; /* exact where known (`second`), else ~0u */
	uint16_t epoch;
	uint8_t whole;
	uint8_t warp;      /* + 1; 0: not known */
};
_Static_assert(sizeof(struct gsan_side) == 44, "");
struct gsan_finding {
	uint32_t ready; /* ticket + 1 once complete, written last with release.sys */
	uint8_t kind;   /* enum gsan_kind */
	uint8_t reason; /* enum gsan_reason */
	uint16_t bytes; /* of the second access */
	uint64_t address; /* canonical */
	struct gsan_side first, second;
	uint16_t flag_write_site, flag_read_site; /* the sites that `reason` speaks of, 0xffff = unknown */
	uint32_t flag_kernel[2];                  /* their kernel ids, and whose these are */
	uint8_t flag_participant[2];
	uint8_t both; /* the read of a relaxed flag does not acquire, either */
	uint8_t confidence; /* how well `reason` explains it, to be added up; from GSAN_CERTAIN on, the flag is of this very pair */
	union {
		uint32_t floor[GSAN_PARTICIPANTS]; /* launches of each with a number below it are before `first` */
		struct { uint64_t value; uint32_t known, times; } waits; /* of GSAN_WAITS: what it read, if that is known, and how often */
	};
	uint32_t newest[GSAN_PARTICIPANTS]; /* of each that `second` may have acquired something from; 0: from none, as far as known */
	uint8_t formal; /* 1: a race by the letter of PTX alone, which no known GPU shows (docs/memory-model.md, "Formal races") */
	uint8_t own_flag; /* 1: the flag was written by the first side's CTA, and by its warp, if those are told apart */
	uint8_t overtaken; /* 1: the first side saw a flag that the second one raises behind its access: it comes second, but its check was first */
	uint8_t only; /* 1: it guesses, but the flag is the only one, of all that the second side's CTA read, that would have ordered this pair */
	uint8_t pad[4];
};
_Static_assert(sizeof(struct gsan_finding) == 384, "");
#define GSAN_CERTAIN 32

#define GSAN_RING_SLOTS 8192u
/* Device side counters, added up by the device in its own table, copied here by libgsan when it can. Order = names in
 * GSAN_COUNTER_NAMES. */
enum gsan_counter {
	GSAN_N_ACCESSES,     /* instrumented accesses executed, one per thread */
	GSAN_N_CHECKED,      /* of these, compared with shadow */
	GSAN_N_FOREIGN,      /* outside arena and ranges: not checked */
	GSAN_N_UNRECORDED,   /* detail pool empty: checked, not recorded */
	GSAN_N_LOST,         /* readers and records that found no place; readers are counted by a sample of one in 256 */
	GSAN_N_SYNC_FULL,    /* sync table full: coarse order */
	GSAN_N_STATE_FULL,   /* no CTA state left: coarse order */
	GSAN_N_CLOCK_FULL,   /* clock entries collapsed to whole launches */
	GSAN_N_EPOCH_FULL,   /* epoch saturated: no private tag was free */
	GSAN_N_AMBIGUOUS,    /* version not known by its value: all candidates joined */
	GSAN_N_UNMAPPED,     /* record of a participant whose tables are not mapped: counted as ordered */
	GSAN_N_FOUND,        /* racy pairs seen, duplicates included */
	GSAN_N_DROPPED,      /* findings lost to a full ring */
	GSAN_N_RENEWED,      /* shadow cleared to reuse tags (host) */
	GSAN_N_LOCKS,        /* locks whose holder did not come again: nothing is reported from there on */
	GSAN_N_ORDER_FULL,   /* launches with more pairs than GSAN_ORDER_PAIRS before them: a floor was raised (host) */
	GSAN_N_COUNTERS
};
#define GSAN_HOST_COUNTERS (1u << GSAN_N_RENEWED | 1u << GSAN_N_ORDER_FULL) /* the device has none of these */
#define GSAN_COUNTER_NAMES \
	{"accesses", "checked", "foreign", "unrecorded", "lost_records", "sync_table_full", "cta_states_full", \
	 "clock_entries_collapsed", "epochs_saturated", "ambiguous_versions", "unmapped_participants", "racy_pairs", \
	 "findings_dropped", "history_renewals", "locks_abandoned", "launch_orders_widened"}

/* Protocol. A warp draws a ticket, if `tail` leaves room, from its participant's tables; the slot is its own then: it writes
 * the finding, releases `ready`, raises `head`. The supervisor alone reads: `head` acquiring, then each slot whose `ready` is
 * its ticket + 1, acquiring, in the order of tickets; then it releases `tail`. A slot is written again only behind that, and a
 * fence. */
struct gsan_ring {
	uint64_t head;    /* tickets below it were given out; raised by the device alone. slot = ticket % slots */
	uint64_t tail;    /* first ticket the supervisor has not consumed; written by the supervisor only */
	uint64_t dropped;
	uint64_t told_lost; /* 1: there was no slot to say which launch told a host something (GSAN_TOLD) */
	uint64_t pad[4];
	uint32_t given;   /* launches of the participant with a number below it were given it; written by its process, before they are enqueued */
	uint32_t pad1;
	uint64_t pad2[7];
	struct gsan_finding slot[GSAN_RING_SLOTS];
};
_Static_assert(sizeof(struct gsan_ring) % 64 == 0, "");

/* ---- node-wide tables, one block per participant at GSAN_TABLE_BASE + p * GSAN_TABLE_SLICE ------------------- */
/* The host maps `gsan_tables_bytes()` zeroed bytes, and exports them to every participant. What lies inside is the
 * device runtime's business, but for the counters at its start. */
struct gsan_table_head {
	uint64_t counter[GSAN_N_COUNTERS];
	uint64_t pad[32 - GSAN_N_COUNTERS];
};
_Static_assert(sizeof(struct gsan_table_head) == 256, "");

#endif
