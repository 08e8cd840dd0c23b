/* What lies in a participant's block of the node-wide tables: counters, launch table, what the launches of a stream have
 * acquired, CTA states, synchronisation entries, and the pool of byte-exact detail. Every participant's block is at a
 * fixed address (layout.h), so a reference is (participant, index). All of it starts as zeros.
 *
 * Each structure says under *Protocol* who writes it, under what, what who holds no lock may see, and what frees it. Common to
 * all: every access is relaxed at .sys, past the L1 (gpu.h), but for what only the holder of a lock reads and writes; of two
 * words nothing is sure unless they are read at once or lie in order between fences. Locks are taken in one order: an entry's,
 * a state's, then a stream's or a bucket's. Where a lock was given up (`broken`) nothing is reported any more, so that what is
 * half written there does no harm. unit.device_threads and unit.device_threads_tables play each protocol with OS threads. */
#ifndef GSAN_DEVICE_TABLES_H
#define GSAN_DEVICE_TABLES_H

#include "device/layout.h"

/* ---- launch table: one entry per tag, written by the launch's first CTAs ------------------------------------ */
/* Protocol. Whose compare-and-swap puts its launch number into `claim` writes the rest, and releases `seq` last: one of the
 * launch's first warps, or the CTA that draws a private tag. Every warp makes its first record once the entry is claimed. A
 * reader takes `seq` and `claim` at once: equal, the entry is whole; else it waits (tag_await). Who reads both as they were
 * before the claim finds a launch that is a whole round of tags older, below its floor: ordered. Then each word stays as it is
 * until the launch whose number is higher by the number of tags, or by DEV_LAUNCHES if that is less, claims the entry; records
 * are cleared by the host before (src/clock/tags.c). Elements of versions and lists are not: they then name the newer launch,
 * which says "ordered" too often. A private tag's entry is claimed again once no record of its time is left (`swept`). */
struct dev_launch {
	uint32_t seq;   /* written last: the entry is that launch's */
	uint32_t claim; /* the launch one of whose CTAs writes the entry; read with `seq` */
	uint32_t kernel;
	uint32_t where; /* stream, GPU << 8, warp_bits << 16 */
	uint32_t grid[3];
	uint32_t told;  /* the launch of which the supervisor heard that it may have told a host something */
	struct gsan_order order;
	/* Of a private tag, which one CTA drew when the epochs of its tag before were used up; 0 of a launch's own tag. What
	 * the CTA did under its tags before is ordered before all that carries this one. */
	uint64_t cta;      /* its state's key */
	uint64_t origin;   /* launch tag and CTA of its first records */
	uint32_t first;    /* the CTA's time at this tag's value 0 */
	uint32_t previous; /* private tag + 1 drawn before, or 0 */
	uint32_t unseen;   /* the launch that calls what is not seen: set before its first such call */
	uint32_t range;    /* the launch that is a copy or a set (range.h); likewise */
	uint32_t given;    /* gsan_ring.given, from before any of the launch's threads went on, or less */
	uint8_t reserve[512 - 68 - sizeof(struct gsan_order)];
};
_Static_assert(sizeof(struct dev_launch) == 512, "");

/* ---- what a stream's launches acquired while they ran: order for the launches behind them -------------------- */
/* Protocol. Written under `lock`, by the warps of the stream's launches. Launches that come behind by their base clocks walk
 * the items without it: an item's two words at once, `count` before. Appending shows an item before its count; a wider item
 * replaces one in place, its second word first. Where items are taken out or change places `changing` is odd, and another
 * number afterwards: who walked meanwhile and found nothing walks again (order_closure); who found something is right, for
 * each item that ever stood there was true. `by` makes sure that only who is behind counts it. Nothing is dropped; nothing is
 * ever freed. */
#define DEV_ACQUIRED 60u /* as the rooms of all lists, a multiple of ELEMS_ROW */
struct dev_acquired_item {
	uint64_t elem;
	uint32_t by;  /* launch that acquired it: counts for launches ordered after that one */
	uint32_t seq; /* of the element's launch */
};
struct dev_acquired {
	uint32_t lock;
	uint32_t count;
	uint32_t changing, pad0;
	uint64_t pad[2];
	struct dev_acquired_item item[DEV_ACQUIRED];
	uint64_t reserve[4];
};
_Static_assert(sizeof(struct dev_acquired) == 1024, "");

/* What a walk over these has found, beyond the few that it keeps on its stack (order_closure). Protocol. Who changes `taken` from 0 to 1 uses it
 * alone, until it stores 0, releasing. */
#define DEV_CLOSURE 40u
#define DEV_CLOSURES 1024u
struct dev_closure { uint32_t taken, pad; uint64_t item[DEV_CLOSURE]; };

/* ---- CTA states ---------------------------------------------------------------------------------------------- */
#define DEV_CLOCK 64u
#define DEV_PENDING 44u
struct dev_clock { /* a short list, widened when full; as the lists above, `changing` included */
	uint32_t count;
	uint32_t flags; /* DEV_CLOCK_* */
	uint32_t changing, pad;
	uint64_t elem[DEV_CLOCK];
};
struct dev_pending { /* what a strong read observed, set aside for an acquire fence, or an acquire of the same location */
	uint64_t elem;
	uint64_t key; /* sync_key() of its location */
};
#define DEV_CLOCK_EVERYTHING 1u /* order unknown: counts as ordered after everything */

/* A warp of the CTA, which is also the CTA's only one where its launch tells none apart (warp_bits 0). Times are one scale for all of a
 * CTA's warps, and rise at a barrier over all that they were before it: so another warp's time below `synced` is before this one. */
struct dev_warp {
	uint64_t base;         /* tag, CTA and epoch of the records that it makes now; DEV_BASE_USED */
	uint32_t time;         /* epochs so far: the epoch under the launch's tag, then values under private tags */
	uint32_t synced;       /* the CTA's time at its last barrier of all; what other warps did before is before it */
	uint32_t fence[2];     /* at .gpu and at .sys: 1 + time released by the last release fence, 0 = none ... */
	uint32_t fence_all[2]; /* ... and what other warps did below this time */
	uint32_t fence_met[2]; /* `fence` as it was at the CTA's last barrier of all */
	uint64_t spun;         /* its last CAS that failed, mixed to one word (which.h) */
};
_Static_assert(sizeof(struct dev_warp) == 48, "");

/* A flag that was read and gave no edge; words the finding's missing edge (hint.h). The first three are as in a record. */
struct dev_hint {
	uint64_t writer; /* tag, CTA and epoch of the write, or of the release that it hands on */
	uint64_t by;     /* tag, CTA and site of the write */
	uint64_t reader; /* tag, CTA, epoch and site of the read */
	uint64_t why;    /* enum gsan_reason, HINT_*; a sum over the rest in the upper half */
};
_Static_assert(sizeof(struct dev_hint) == 32, "");
#define HINT_REASON 0xffu
#define HINT_ACQUIRES 0x100u /* the read, or a fence behind it, acquires */
#define HINT_RELEASES 0x200u /* the read is of an RMW that releases: it was made to write */
#define HINT_EARLY 0x400u    /* a fence before the write releases what came before it */
#define HINT_EITHER 0x800u   /* of two RMWs, one of which read what the other wrote: which one is not known, and this is the less likely way */
#define HINT_TURN_SHIFT 16u  /* 16: how many its CTA had met before it */
#define DEV_OWN_HINTS 4u
#define DEV_HINT_SETS 64u   /* of the participant's table, by the two launches and sites; ... */
#define DEV_HINT_WRITERS 8u /* ... shelves in each, by the CTA that wrote; ... */
#define DEV_HINT_WAYS 32u   /* ... and places on each */
#define DEV_HINT_SHELVES (DEV_HINT_SETS * DEV_HINT_WRITERS)

/* Protocol. A place is free while `key` is 0. The first warp of a CTA to come, under its bucket's lock, empties the state and
 * writes `key` last, behind a fence; the others find the key without the lock. Only warps of that CTA use it then, until its
 * last thread has left and frees the place, under the state's lock: a late release of that lock by another warp would open it
 * under the next owner. Under `lock`, which is of .cta scope: all but the following. Without it, from warps of the CTA:
 * `threads`, added to; DEV_BASE_USED, added to a warp's `base` by who is about to make a record in that epoch, while the epoch's end, under the
 * lock, moves `base` on without it: one word, for of two one may be seen older than the other; the flags of clock and pending, to
 * which bits are added. Read without it: `clock` (which may grow or widen meanwhile, so that an answer "ordered" stays right, and one
 * of "not" is asked again if `changing` moved), `fresh`, `polled`, `waits`, `hint` and a warp's `spun`, one word each. The masks of an
 * element grow with the bits of those that acquire the same, at a barrier to all that wait. A private tag's time is under `lock`, too: who needs the
 * stamp of a time takes it. The last thread to arrive at a barrier (barrier.h, meeting.h) writes what is other warps'. A meeting is
 * under the lock of the state that has claimed it, but for `turn`, which who waited reads. `polled` may be older than what another warp has just learnt: then one looks again. */
#define DEV_BASE_USED 1ull /* a record was made in this epoch, or is about to be */
struct dev_state {
	uint64_t key;       /* 0 free; launch seq << 32 | CTA index + 1, hashed beyond 2^32 CTAs */
	uint32_t private_tag; /* + 1; 0: its records carry the launch's tag */
	uint32_t threads;   /* that left, and in the upper half those that wait at a barrier */
	uint32_t lock;      /* of clock, fenced, pending and the warps' times */
	uint32_t pendings;
	uint32_t pending_flags; /* DEV_CLOCK_* */
	uint32_t told_lineage; /* of `told`: the newest version's, and the scope */
	uint32_t told_scope;
	uint32_t parted;    /* 1: not all that is in clock and pending is of all warps, or a warp has fenced since the last barrier */
	uint32_t saturated; /* 1: time stands still */
	uint32_t fresh;     /* elements of the clock that were observed by the strong operation under way (elem_is_fresh) */
	uint64_t polled_key;   /* the location this CTA looked at last, and the value read */
	uint64_t polled_value;
	uint64_t polled;       /* all of that look, mixed to one word: a spin loop looks no further while it stays */
	uint64_t looked_key;   /* the location whose newest version this CTA read last, and its generation then (known.h) */
	uint32_t looked;
	uint32_t looked_hinted; /* 1 + site of that read, if it left hints */
	uint32_t looked_by; /* which warp read it, and how (known.h) */
	uint32_t meeting;     /* 1 + index of its warps' meeting (meeting.h); 0: they met at barriers of all alone; MEETING_NONE: there was no place */
	uint64_t told_key;     /* a location whose newest version has those elements of the clock, as bits, by releases of that scope */
	uint64_t told;
	uint32_t hints;        /* so many went into `hint`, each over the oldest */
	uint32_t hints_fenced; /* so many when it executed an acquire fence last */
	uint32_t unseen;       /* why a strong read of what something unseen wrote ordered nothing: GSAN_WHY_* << 16 | its site */
	uint32_t kept_scope;   /* of `kept`: GSAN_GPU or GSAN_SYS; 0: there are none */
	uint64_t kept;         /* elements of the clock that `fenced` has at that scope, or a wider one, as bits */
	uint32_t kept_by;      /* the warps that have fenced `kept`, as bits */
	uint32_t formal;       /* one of its warps has met a formal race */
	uint32_t reserve0;
	uint32_t queued;       /* so many had the lock or waited for it when this CTA looked last at a location that had changed */
	uint64_t passed;       /* elements of the clock that the launches behind this one have (acquired_clock), as bits */
	uint64_t waits;        /* a strong read that is looked out for, and how often it came (waits.h) */
	uint64_t reserve1;
	struct dev_clock clock;
	struct dev_clock fenced; /* as it was at the release fences; an element's gate has the scope of its fence */
	struct dev_pending pending[DEV_PENDING];
	struct dev_hint hint[DEV_OWN_HINTS];
	struct dev_warp warp[GSAN_WARPS];
	uint64_t clock_known[DEV_CLOCK];     /* of the clock's elements, by whom each one is known (warps.h) */
	uint64_t pending_known[DEV_PENDING]; /* the same of what was set aside */
	uint64_t fenced_known[DEV_CLOCK];    /* and of what was fenced: the warps that did so */
	uint64_t read[60];     /* what an operation under way found in a version, whose lock it gives back before it takes this in; ... */
	uint64_t read_formal;  /* ... which of it is known formally, as bits, */
	uint64_t read_writer;  /* the version's `writer` */
	uint32_t reads;        /* how many they are, */
	uint32_t read_how;     /* READ_* */
	uint32_t read_generation;
	uint32_t read_flags;   /* its flags, and what they need */
	uint32_t read_coarse;
	uint32_t reserve2;
	uint64_t read_value;   /* and what was read */
};
_Static_assert(sizeof(struct dev_state) == 5504, "");
_Static_assert(__builtin_offsetof(struct dev_state, hint) % 16 == 0, "two loads");
_Static_assert((__builtin_offsetof(struct dev_state, clock.elem) | __builtin_offsetof(struct dev_state, fenced.elem) |
		__builtin_offsetof(struct dev_state, pending)) % 16 == 0, "loads of two");
#define DEV_BUCKET 16u
#define DEV_BUCKETS 1024u /* 16,384 CTAs of synchronising kernels at once; one GPU holds 132 × 32 */

/* ---- meetings of some warps of a CTA (meeting.h) ----------------------------------------------------------------- */
#define DEV_BARRIERS 16u  /* named ones of a CTA */
#define DEV_MBARRIERS 6u  /* further ones share the last place */
#define DEV_PLACES (DEV_BARRIERS + 2 * DEV_MBARRIERS + 1)

/* Where warps meet: a named barrier, a phase of an mbarrier. What those that came had behind them, who waits gets. */
struct dev_place {
	uint32_t behind[GSAN_WARPS]; /* of each warp, the time below which what it did is among that */
	uint32_t synced;             /* the same of all warps */
	uint32_t pad;
};
struct dev_count { /* of a named barrier: who has come to it since it opened last */
	uint32_t threads, came, wait; /* warps, as bits */
	uint32_t turn;                /* so often it has opened; UNLIKE: our count was not the GPU's */
};
struct dev_meeting { /* of a CTA, claimed by compare-and-swap of `key` when its warps first meet so */
	uint64_t key; /* its state's; 0 free */
	uint32_t warps; /* of the CTA */
	uint32_t mbarriers;
	uint32_t mbarrier[8]; /* their addresses in shared memory */
	struct dev_count count[DEV_BARRIERS];
	uint32_t turn[GSAN_WARPS]; /* of each warp, the turn of the barrier that it has come to */
	uint32_t knows[GSAN_WARPS][GSAN_WARPS];     /* of each warp, the times of the others below which what they did is before it, beyond `synced` */
	uint32_t fenced[2][GSAN_WARPS][GSAN_WARPS]; /* the same at its last fence, as in dev_warp */
	struct dev_place place[DEV_PLACES];
	uint64_t reserve[29];
};
_Static_assert(sizeof(struct dev_meeting) == 16896, "");
#define DEV_MEETINGS 1024u /* CTAs that have one at once */
#define MEETING_NONE (~0u)

/* ---- synchronisation entries: one per location that was strongly written -------------------------------------- */
#define DEV_VERSION 60u
_Static_assert(sizeof ((struct dev_state *)0)->read == 8 * DEV_VERSION, "room for a version");
struct dev_version {
	uint64_t value;  /* what the store wrote, if DEV_VALUE */
	uint64_t writer; /* writer_of() the last write */
	uint32_t flags;  /* DEV_* */
	uint32_t count;
	uint32_t pad;
	uint32_t coarse; /* with DEV_COARSELY: the GPU of the RMWs without an entry that it continues */
	uint64_t formal; /* elements, as bits, that are there by formal edges alone (who.h) */
	uint64_t pad1;
	uint64_t elem[DEV_VERSION];
};
#define DEV_VALID 1u
#define DEV_VALUE 2u
#define DEV_EVERYTHING 4u /* the writer's order is not known */
#define DEV_EARLY 8u      /* published before the write executed: who looks may not have read it yet */
#define DEV_COARSELY 16u  /* continues what RMWs without an entry left, if there were such */
#define DEV_CONTINUED 32u /* by an RMW */

/* A strong write holds the lock of its entry while it executes, so that the order of the versions is that of the writes.
 * Protocol. `key` is exchanged for 0 once, by who needs the entry first, and stays while anything runs: a
 * full table takes the coarse path. `mark` is set once, before the first version. What else is there is written under `lock`, by the warp that holds it over its operation
 * (`holder`, which only that warp can find to be itself) or by who publishes at once. `generation` alone is read without the
 * lock: a load notes it before it executes, acquiring, and compares it under the lock afterwards; it was raised under the
 * lock, after the write, so that an equal number means that nothing was written between. A spin loop compares it without the
 * lock with what its CTA polled: it may see the number from before a write that is not over; it saw that write's value then
 * only if it is the polled one again, and looks the next time. Versions move, [0] to [1] to [2], under the lock, where all are who
 * read [1] and [2]; [0] is copied without it, too (sync_glance), and counts if `lock` is the same before and behind: whoever takes it to write
 * makes that seen first, by a fence. A CAS looks at `generation` as a spin loop does (gsan_spin), and takes the lock if it is free; it does not
 * stand in its queue. */
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
	uint32_t lineage; /* raised when [0] starts anew */
	uint32_t mark;    /* GSAN_LINE_MARK of its line since it was made; another one now: RMWs may have passed it by */
	struct dev_version version[3]; /* newest first; [2]: all older ones together, of any value */
	uint32_t changed[DEV_VERSION]; /* of each element of [0] the generation with which it came or grew */
	uint64_t learnt; /* tag << 32 | generation: what that launch has learnt here, if it keeps no clock; written as changes are */
	uint64_t reserve[21];
};
_Static_assert(sizeof(struct dev_sync) == 2048, "");
_Static_assert((__builtin_offsetof(struct dev_sync, version) + __builtin_offsetof(struct dev_version, elem)) % 16 == 0 &&
	       sizeof(struct dev_version) % 16 == 0, "loads of two");
#define DEV_SYNCS 16384u
#define DEV_SYNC_PROBES 32u /* of keys in a row: half full, a table has rows of more than 16 */
#define DEV_SYNC_RMW_QUOTA 8192u /* entries that RMWs alone may make; beyond, the coarse path */

/* The coarse path: RMWs whose location has no entry release into a clock of their launch as a whole. A slot holds
 * the newest such launch of a stream, which all earlier ones of the stream are before; `older` the last launch of each
 * participant that lost its slot to another stream.
 * Protocol. Without a lock. A slot changes by compare-and-swap; a launch of another stream raises `older` for the one that it
 * puts out, behind which a fence stands, before. `older` only rises. A reader takes the slots first, then `older`: each launch
 * that was noted is in one of them, or a later one of its stream is. `coarse_used` follows the first slot; each RMW on this
 * path comes after a warp of its launch has noted it there or has read that. Which waits for the launch's entry (tag_await).
 *
 * What launches without clocks learn there is not known (learnt.h): of this participant's streams, the last such launch of which nothing is kept
 * yet. It is put there before its first operation on this path, behind which a fence stands, and goes when the next launch of its stream begins.
 * Who has asked once what one may have learnt asks again if slots or `older` have changed since: `begun` counts changes before, `ended` behind them. */
#define DEV_COARSE 64u
#define DEV_LEARNS (1ull << 63) /* the program learns what it reads; else it observes only what it continues */
struct dev_coarse {
	uint64_t slot[DEV_COARSE];             /* elem_all() */
	uint64_t older[GSAN_PARTICIPANTS];     /* launch numbers, every launch up to it; 0 = none */
	uint64_t learner[GSAN_STREAMS];        /* DEV_LEARNS, tag << 32 | number; 0 = none */
	uint32_t foreign[GSAN_STREAMS];        /* the number of the last that read what has no shadow; ... */
	uint32_t unseen[GSAN_STREAMS];         /* ... a value that no known write left. Both behind the row of dev_tables.met */
	uint32_t unseen_site[GSAN_STREAMS];    /* where, for words */
	uint32_t learners[2], used[2];         /* each read as one u64: a bit for each stream that had one; for each slot, before it is used */
	uint32_t begun, ended;                 /* read as one u64 */
};
static inline uint32_t coarse_slot(uint32_t participant, uint32_t stream) { return (participant * 13 + stream) & (DEV_COARSE - 1); }

/* ---- findings whose words are still to be found ------------------------------------------------------------------- */
/* What looks for words is as deep as the checks are, and stands beside them on the stack, not below: behind the checks of an access (report_reasons).
 * Protocol. It belongs to the place of the ring that the finding has; who took the ticket writes and reads it alone. */
struct dev_unsaid {
	uint64_t rec, point, ticket;
	uint32_t next; /* of the same thread: 1 + place in the ring; 0: none */
	uint8_t op, formal;
	uint16_t site;
};
_Static_assert(sizeof(struct dev_unsaid) == 32, "");

/* ---- records that gave way where a copy is still to be checked (aside.h) ------------------------------------------- */
/* Protocol. One for each line, of lines 8 MiB apart the newest. Anybody writes, one word after the other, and the two belong together if the key says
 * so. The host empties those of lines whose records it empties. */
#define DEV_ASIDE (1u << 16)
struct dev_aside { uint64_t rec, key; };

/* ---- everything ------------------------------------------------------------------------------------------------ */
#define DEV_SPREAD 256u /* counters that many accesses raise, spread over CTAs */
struct dev_spread { uint64_t checked, lost, unrecorded, unused; };
#define DEV_SEEN 4096u  /* findings already sent */
#define DEV_RACING 4096u
#define DEV_RACING_RECS 7u /* of both places of each kind in a granule, and its line's */
struct dev_racing { uint64_t rec[DEV_RACING_RECS]; uint32_t count, sum; }; /* what races with a CAS that executes now; with a sum over it and the lane (swap.h) */
#define DEV_LAUNCHES 32768u
#define DEV_DETAILS (1u << 18)

/* Protocol of the rest. Counters, `detail_next` and `privates` are added to by anyone. `ring_head` is raised by compare-and-
 * swap, if there is room in the ring. `syncs` follows the entries made, as a quota that may be passed by a few. `newest` and
 * `base` rise (atomic maximum), before `seq` of the launch's entry is released: who has met the entry sees them. `floor` rises
 * before the entry is claimed, and so before the launch makes a record.
 * `streams_acquired` gets bits, before the first item. `broken` is set, never cleared. The host empties the entries, and `syncs`
 * to `coarse`, or the detail, with all line records that name it and `detail_next`, while nothing runs that can name them
 * (src/driver/drain.c). `seen`: a key is put by compare-and-
 * swap, or over another where it is crowded: a finding may be sent twice, never lost. `sync_full` is set before the first
 * operation that it is about, behind a fence. `bucket_lock`: see dev_state; `bucket_full` rises, under it. `detail`:
 * see gsan_line. `detail_more` rises, by the host, once all others have mapped what it counts (src/vmm/detail.c). */
struct dev_tables {
	struct gsan_table_head head;
	struct dev_spread spread[DEV_SPREAD];
	uint64_t ring_head;    /* next ticket */
	uint64_t newest;       /* launch that has begun */
	uint32_t streams_acquired[2]; /* read as one u64; bit per stream slot with items in `acquired` */
	uint32_t privates;     /* private tags looked at */
	uint32_t broken;       /* a lock was given up: order is not known any more, nothing is reported */
	uint32_t detail_next;  /* blocks of detail taken */
	uint32_t detail_more;  /* blocks behind `detail` that every process which uses these tables has mapped */
	uint32_t looked;       /* warps that have looked at copies, of those in gsan_writers.looks */
	uint32_t syncs;        /* entries in use; from here on to `coarse`: emptied with them */
	uint32_t sync_full;    /* 1: an entry found no place; any strong operation may be on the coarse path, of any scope */
	uint32_t coarse_used;  /* 1: `coarse` is not empty; 2: and operations of .sys may be on that path */
	struct dev_coarse coarse;
	uint32_t base[GSAN_PARTICIPANTS]; /* no launch here has a launch of that participant with seq above it before it */
	uint32_t floor[GSAN_PARTICIPANTS]; /* no launch here has a higher one */
	uint32_t marks; /* numbers given out, for GSAN_LINE_MARK */
	uint32_t tells; /* 1: launches have told a host something, perhaps, or will: there is managed memory */
	uint8_t pad[4096 - 256 - 56 - sizeof(struct dev_coarse) - 8 * GSAN_PARTICIPANTS - 8];
	uint64_t seen[DEV_SEEN];
	uint32_t depended[1u << GSAN_CTA_BITS]; /* by a CTA's hash, the newest launch of which such a one has executed griddepcontrol.wait; rises */
	uint32_t bucket_lock[DEV_BUCKETS];
	uint32_t bucket_full[DEV_BUCKETS]; /* newest launch of which a CTA found no place for its state, by `seq` */
	struct dev_acquired acquired[GSAN_STREAMS];
	uint32_t met[GSAN_STREAMS][GSAN_PARTICIPANTS]; /* what of each had begun when a launch of the stream read such a thing last; rises */
	uint64_t asked[GSAN_PARTICIPANTS][GSAN_STREAMS]; /* of that learner, by launches of this one: its number << 32 | changes of the coarse path by then */
	struct dev_racing racing[DEV_RACING];
	uint32_t hint_used[DEV_HINT_SHELVES]; /* a bit for each place where there is one */
	struct dev_hint hint[DEV_HINT_SHELVES][DEV_HINT_WAYS];
	struct dev_closure closure[DEV_CLOSURES];
	struct dev_unsaid unsaid[GSAN_RING_SLOTS];
	struct dev_aside aside[DEV_ASIDE];
	struct dev_launch launch[DEV_LAUNCHES];
	struct dev_state state[DEV_BUCKETS * DEV_BUCKET];
	struct dev_meeting meeting[DEV_MEETINGS];
	struct dev_sync sync[DEV_SYNCS];
	struct gsan_detail detail[DEV_DETAILS]; /* and `detail_more` */
};
_Static_assert(__builtin_offsetof(struct dev_tables, streams_acquired) % 8 == 0, "one u64");
_Static_assert(__builtin_offsetof(struct dev_tables, seen) % 4096 == 0, "");
_Static_assert(sizeof(struct dev_tables) < 512ull << 20 && sizeof(struct dev_tables) <= GSAN_TABLE_SLICE, "one table block");

static inline struct dev_tables *dev_tables(uint32_t participant)
{
	return (struct dev_tables *)(uintptr_t)(GSAN_TABLE_BASE + (uint64_t)participant * GSAN_TABLE_SLICE);
}

#endif
