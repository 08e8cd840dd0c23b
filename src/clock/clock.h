/* clock: what is ordered before a launch, as known when it is enqueued. One struct clock per participant (process ×
 * GPU) numbers everything that its streams do (kernels, copies, sets: 1, 2, 3 …) and keeps, for each stream slot, for
 * each recorded event and for the process's host, a vector: launches of slot s up to seen[s] are before. From these it
 * computes the struct gsan_order that travels in a launch record. Peers are known through their published host clocks
 * (job.h), read at each launch: host_order=assumed. Every approximation errs towards "ordered".
 *
 * A launch costs the same with one stream or rank and with many: what was found for the launch before is kept. Only waits, and what
 * comes next in a slot behind one of the host's, look at all slots; only what ranks tell looks at all ranks.
 *
 * Pure C: stream and event handles, and whatever calls CUDA, belong to src/driver. All functions are thread-safe; none
 * blocks. The caller holds a lock per slot from clock_launch() to its enqueue, so that numbers follow queue order. */
#ifndef GSAN_CLOCK_CLOCK_H
#define GSAN_CLOCK_CLOCK_H

#include <pthread.h>

#include "ipc/job.h"

#define CLOCK_LEGACY 0u                    /* the slot of the legacy default stream */
#define CLOCK_SHARED (GSAN_STREAMS - 1u)   /* streams beyond the slots share this one: over-orders */

/* Participants of one process are told apart as far as this by their clocks (`place`); what further ones do is unknown to each other. */
#define CLOCK_PLACES 8u

/* What is before of another GPU of the process: launches with a number below `floor`, and those of stream slot s up to seen[s]. */
struct clock_sight {
	uint32_t floor, seen[GSAN_STREAMS];
};

struct clock_vec {
	uint32_t seen[GSAN_STREAMS];
	uint32_t beside; /* bits: of which other places something is before that this clock's participant need not know from its host */
	struct clock_sight sight[CLOCK_PLACES];
};

/* What clock_order() found for the next launch of a slot. It is good for those behind that, too, while the clock's generation stays
 * and nothing joins the slot's vector but its own launches; what other slots launch meanwhile is taken in. */
struct clock_kept {
	uint32_t generation; /* the clock's; 0 = nothing was found */
	uint32_t taken;      /* of clock.live, how many are in it */
	uint64_t closed;     /* bits of these: all of the slot's launches are before */
	uint32_t floor;      /* the least number of another slot that is not before, UINT32_MAX = none */
	uint32_t pairs;      /* of other slots, at or above it */
	uint32_t raised;     /* if they were more than there is room for (`widened`): the floor instead */
	int widened;
	int unknown;         /* clock_unknown() */
	struct gsan_pair pair[GSAN_ORDER_PAIRS];
};

enum clock_slot_state { CLOCK_FREE, CLOCK_OPEN, CLOCK_CLOSED /* its work may still run */ };

struct clock_slot {
	struct clock_vec vec; /* what is before its next launch, but for its own launches */
	uint32_t last;        /* its newest launch, 0 = none, */
	uint32_t previous;    /* and the one before */
	uint32_t triggers;    /* which launch lets a next one begin before it has ended (clock_triggers), 0 = none did; */
	uint32_t early;       /* its own launches with a lower number are before one that begins so, too */
	uint32_t pending;     /* no launch of this slot in (host.seen, pending) exists */
	enum clock_slot_state state;
	int blocking;         /* synchronises with the legacy default stream */
	uint32_t unknown_first, unknown_last; /* waits for what is not modelled, of which the host has not seen the end: none
	                                       * (0, 0), or the last and perhaps others from the first on */
	uint32_t legacy;      /* version of the legacy slot that was joined last, 0 = none */
	struct clock_kept kept;
};

struct clock_peer { /* a peer's published clock as pairs, kept until its generation moves */
	uint32_t generation, floor, pairs;
	int valid;
	struct gsan_pair pair[GSAN_STREAMS];
};

struct clock_tags {
	uint32_t bits;
	uint32_t renewed;              /* the half of the tag space (seq >> bits - 1) that is ready for use */
	uint32_t seen[GSAN_STREAMS];   /* complete when its renewal began */
	uint32_t busy;                 /* those from `next` to here are known to be busy or private, if it is above */
	uint32_t row, row_count;       /* in a row of so many numbers that begins below `row` there is a busy or private tag */
	_Atomic uint32_t swept;        /* of launches below it no record is left */
	uint8_t *slot;                 /* by tag: slot of its last checked launch, CLOCK_NO_RECORDS = none */
};
#define CLOCK_NO_RECORDS 0xffu

struct clock {
	pthread_mutex_t lock;
	uint32_t participant;
	uint32_t place;       /* which of the process's GPUs it is of, */
	uint32_t siblings;    /* the participants of the others, a bit each, */
	const struct clock *beside[CLOCK_PLACES]; /* and their clocks, of which only `participant` is read without their locks */
	uint32_t next;        /* seq of the next launch */
	uint32_t first;       /* seq of the first, in every participant that is the first in its place: 1, but for tests; */
	uint32_t begun;       /* and in this one */
	uint32_t slots;       /* those below were opened once */
	uint32_t shared;      /* streams that had to share CLOCK_SHARED, counted */
	uint32_t shared_over; /* its launches until here are complete: host.seen may know it of one of its streams only */
	struct job *job;      /* NULL: no peers, nothing published */
	struct clock_vec host;
	uint32_t before[GSAN_PARTICIPANTS]; /* what is below came before a wait for what is not modelled, perhaps, that is over */
	struct clock_slot slot[GSAN_STREAMS];
	struct clock_peer peer[GSAN_PARTICIPANTS];
	struct gsan_order peers; /* a launch's order, but for what is of its own participant */
	uint32_t peers_generation, peers_changes; /* of which it is: the clock's, the job's */
	int peers_widened;    /* it has no room for all their pairs */
	uint32_t generation;  /* of the slots' `kept`: grows with whatever may change them beside launches and waits for events */
	uint32_t lives;       /* slots with launches that the host has not seen complete, in the order in which they came to have */
	uint8_t live[GSAN_STREAMS];
	uint32_t version;     /* of the legacy slot: its vector and its last launch */
	uint64_t ahead;       /* bits of blocking slots with something that the legacy slot did not join yet */
	uint64_t tried;       /* those that only its newest launch joined, which may be refused yet: */
	struct clock_vec sure; /* what its vector is then; good while `tried` is not 0 */
	struct clock_tags tags;
};

enum clock_use {
	CLOCK_CHECKED, /* leaves records in shadow, so its tag must be free */
	CLOCK_PLAIN    /* unchecked kernel, copy, set: a number, no records */
};

/* Returns 0 or -ENOMEM. tag_bits: layout.h. */
int clock_init(struct clock *c, struct job *job, uint32_t participant, uint32_t tag_bits);
void clock_destroy(struct clock *c);
/* Clocks of one process, on different GPUs, get to know each other: one host waits for the streams of both. */
void clock_meet(struct clock *a, uint32_t place_a, struct clock *b, uint32_t place_b);

/* What the host has seen the end of, or was told, it tells by a word; and comes behind what was told by one, launches from now on do. Words count
 * among processes, where host_order=modelled; with more than JOB_WORDS of them the others are one, and what they order is counted as widened. */
void clock_release(struct clock *c, uint64_t word);
void clock_acquire(struct clock *c, uint64_t word);

/* Slots for streams. The legacy default stream's is open from the start. */
uint32_t clock_slot_open(struct clock *c, int blocking);
void clock_slot_close(struct clock *c, uint32_t slot);
uint32_t clock_slots(struct clock *c); /* those below were opened once */

/* Numbers the next launch of a slot and, where order is not NULL, writes what is before it. Returns 0 with *seq set;
 * -EAGAIN: the number would enter a half of the tag space that was not renewed: clear the records that carry its tags
 * between clock_renewing() and clock_renewed(c, *half), and try again; -EBUSY: its tag belongs to a launch that may still run (CLOCK_PLAIN
 * never gets this). */
int clock_launch(struct clock *c, uint32_t slot, enum clock_use use, uint32_t *seq, struct gsan_order *order,
		uint32_t *half);
/* Several checked launches at once, with numbers in one row: a graph's, whose chains are slots. */
struct clock_block {
	uint32_t count, chains;
	uint32_t pairs;           /* the order that is written has room left for so many */
	const uint8_t *slot;      /* of each launch */
	const struct clock_chain { uint32_t slot, first, previous, last; } *chain; /* its launches, counted from 1; 0: there is none */
};
/* The slot of chain 0, which no other is, waits for the ends of all; *order is what is before the block, *seq the number of its first. The vectors of the
 * other slots learn nothing: whoever launches there tells them what that waits for. As clock_launch(); or -ENOSPC. */
int clock_launch_block(struct clock *c, const struct clock_block *b, uint32_t *seq, struct gsan_order *order, uint32_t *half);
/* Programmatic dependent launch. Launch `seq`, the slot's newest and not yet told to anybody, may begin while the one before it runs, if the driver was
 * asked for that and the one before triggers: 1, with what is before it even so. 0: all is before it that clock_launch() said. */
int clock_early(struct clock *c, uint32_t slot, uint32_t seq, struct gsan_order *early);
/* Launch `seq`, the slot's newest, was enqueued and triggers. `at_once`: maybe before what it came too early for has ended, which the next one
 * then comes too early for as well. */
void clock_triggers(struct clock *c, uint32_t slot, uint32_t seq, int at_once);
/* The driver refused the slot's launch `seq`: nothing was enqueued, and the number is not used again. If it still is the slot's newest, the
 * slot is as it was before, and has joined whatever was told it meanwhile. What other threads launched, recorded or waited for while the
 * call was under way stays behind what this launch would have been behind: that was read, perhaps by a device. It over-orders. */
void clock_refused(struct clock *c, uint32_t slot, uint32_t seq);
/* Around the clearing: what is complete when it begins leaves nothing behind. `also` is known to be, though the host was not told. May be NULL. */
struct clock_sweep { uint32_t seen[GSAN_STREAMS], floor; };
void clock_renewing(struct clock *c, const struct clock_vec *also, struct clock_sweep *sweep);
void clock_renewed(struct clock *c, uint32_t half, const struct clock_sweep *sweep);
/* 1: the next half is near, and not renewed. Who can clear the records cheaply now had better not wait for -EAGAIN. */
int clock_renews_soon(struct clock *c, uint32_t *half);
/* The first launch's number, before there is any: 1, or for tests of what happens when numbers come round, another; or where the numbers of
 * processes that had the place before end. */
void clock_start_at(struct clock *c, uint32_t seq);
uint32_t clock_swept(struct clock *c);

/* Points in time: everything enqueued in a slot (or in all) until now. Taken before a call that waits, joined after it
 * returned with success. An event is such a point, too, but its record is itself enqueued: in the legacy default stream, between
 * what blocking streams have done and what they do next. */
void clock_mark(struct clock *c, uint32_t slot, struct clock_vec *mark);
void clock_record(struct clock *c, uint32_t slot, struct clock_vec *event);
void clock_mark_all(struct clock *c, struct clock_vec *mark);
void clock_mark_but(struct clock *c, uint64_t slots, struct clock_vec *mark); /* but for these slots (bits), where nobody else came behind them */

void clock_wait(struct clock *c, uint32_t slot, const struct clock_vec *event); /* the slot's next launches */
/* The same for an event of another clock of the process. 1: what is before it may wait for what is not modelled, and so does the slot. */
int clock_wait_beside(struct clock *c, uint32_t slot, struct clock *other, const struct clock_vec *event);
/* Every later launch, and peers'. Only what is of its own participant: what the mark says of other places is for their clocks. */
void clock_host_join(struct clock *c, const struct clock_vec *mark);
/* Joined, too: a wait for everything, by clock_mark_all()'s mark. It tells of all streams that share a slot. */
void clock_host_waited(struct clock *c, const struct clock_vec *mark);

/* What the host has seen complete: launches of each slot up to seen[slot], and those below the number returned. */
uint32_t clock_host_seen(struct clock *c, uint32_t seen[GSAN_STREAMS]);

/* An edge from where this clock cannot look (another participant's or process's event, a value): launch `seq` of the slot,
 * or the host, waited for it. Whatever comes behind such a wait is behind everything; once the host knows that it is over,
 * behind whatever any participant had enqueued until then, and so is what any participant launches later. */
void clock_wait_unknown(struct clock *c, uint32_t slot, uint32_t seq);
void clock_host_unknown(struct clock *c);

/* 1: there is no other participant, and the host has seen all complete that other slots were given. If that is so when launch `seq` of the slot has got its
 * number, and clock_alone_still() when the host has seen it complete, nothing is unordered with it, nor will be. */
int clock_alone(struct clock *c, uint32_t slot);
int clock_alone_still(struct clock *c, uint32_t slot, uint32_t seq);
/* 1: the host has seen every launch complete; `also`: or that is known to be, though the host was not told. May be NULL. */
int clock_idle(struct clock *c, const struct clock_vec *also);

#endif
