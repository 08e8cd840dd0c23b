/* The job's shared host memory: one memfd made by the supervisor, mapped by every rank process. Each participant owns
 * struct job_rank; its ring is registered with CUDA so that kernels write findings there, and survives the process. */
#ifndef GSAN_IPC_JOB_H
#define GSAN_IPC_JOB_H

#include <stdatomic.h>

#include "device/layout.h"

enum job_state { JOB_FREE, JOB_JOINED, JOB_RUNNING, JOB_LEFT };

/* What the host of a participant has seen complete, for host_order=assumed: writers store entries, then generation with
 * release; readers load generation with acquire, then entries. */
struct job_clock {
	_Atomic uint32_t generation;
	_Atomic uint32_t floor;                 /* every launch with seq < floor is complete */
	_Atomic uint32_t stream[GSAN_STREAMS];  /* launches of this stream slot up to this seq are complete */
	/* By participant: launches with seq < before came before the end of something that is not modelled, perhaps, which the host has
	 * seen. Outlasts the process, for others may have learnt it. */
	_Atomic uint32_t before[GSAN_PARTICIPANTS];
};

/* Order that the device does not see and the supervisor applies before it believes a finding: launches of modelled or unknown opaque
 * kernels. Each has a record of its own at first, written before the launch. When the table is full, adjacent ones become one (driver/events.c):
 * `count` launches with numbers from `first` to `last`, of which the first was told to run at `begun`, and the last was over when a host
 * saw it, at `ended`, 0 = not yet, or never known: barriers of several streams, not all over, are `mixed`. Times: CLOCK_MONOTONIC, in ns, which the processes of a node share. A
 * count of 0: the driver refused the launch, and the record says nothing.
 *
 * `events` holds a turn, and how many records the table of that turn has: event[turn & 1]. Only the owner writes, under a lock of its own:
 *   it appends behind them, then stores `events` with release;
 *   of a record that stands there it changes `ended` once, from 0, and `count` once, from 1 to 0;
 *   to merge, it fills the other table, then stores the next turn with release, and behind a release fence may fill the first again.
 * A reader loads `events` with acquire, then records, then, behind an acquire fence, `events` again: if the turn is another by then, the
 * records may be of two turns, and it begins anew. An owner that is killed leaves the table of its last turn whole. */
enum job_event_kind { JOB_EVENT_BARRIER, JOB_EVENT_OPAQUE };
struct job_event { uint32_t first, last, count; uint8_t kind, stream; uint16_t mixed; uint64_t begun, ended; };
_Static_assert(sizeof(struct job_event) == 32, "as every process of the job has it");
#define JOB_EVENTS 32768u
#define JOB_EVENTS_NUMBER(events) ((uint32_t)(events))
#define JOB_EVENTS_TURN(events) ((uint32_t)((events) >> 32))

/* Field by field, for it may be written meanwhile: who reads finds that out afterwards. */
static inline struct job_event job_event_get(const struct job_event *from)
{
	return (struct job_event){.first = __atomic_load_n(&from->first, __ATOMIC_RELAXED),
				  .last = __atomic_load_n(&from->last, __ATOMIC_RELAXED),
				  .count = __atomic_load_n(&from->count, __ATOMIC_RELAXED),
				  .kind = __atomic_load_n(&from->kind, __ATOMIC_RELAXED),
				  .stream = __atomic_load_n(&from->stream, __ATOMIC_RELAXED),
				  .mixed = __atomic_load_n(&from->mixed, __ATOMIC_RELAXED),
				  .begun = __atomic_load_n(&from->begun, __ATOMIC_RELAXED),
				  .ended = __atomic_load_n(&from->ended, __ATOMIC_RELAXED)};
}

static inline void job_event_put(struct job_event *to, const struct job_event *e)
{
	__atomic_store_n(&to->first, e->first, __ATOMIC_RELAXED);
	__atomic_store_n(&to->last, e->last, __ATOMIC_RELAXED);
	__atomic_store_n(&to->count, e->count, __ATOMIC_RELAXED);
	__atomic_store_n(&to->kind, e->kind, __ATOMIC_RELAXED);
	__atomic_store_n(&to->stream, e->stream, __ATOMIC_RELAXED);
	__atomic_store_n(&to->mixed, e->mixed, __ATOMIC_RELAXED);
	__atomic_store_n(&to->begun, e->begun, __ATOMIC_RELAXED);
	__atomic_store_n(&to->ended, e->ended, __ATOMIC_RELAXED);
}

/* A value that a stream writes orders who reads its location, and nobody else. Checked kernels that read it know by
 * themselves (layout.h, GSAN_LINE_VALUE); streams that wait for a value come behind everything. There remain kernels of
 * unknown effect, and hosts: of participant q, those launches may come behind a host that read it whose number is seen[q]
 * or above. From the start, if it lies in memory that hosts can read, or a copy to one may be under way; else (JOB_NOT_SEEN)
 * from the next such copy on, when whoever makes it writes it. The last place stands for all that had none: the newest of
 * their numbers, the lowest of `seen`. */
struct job_signal { _Atomic uint32_t seq, seen[GSAN_PARTICIPANTS]; };
#define JOB_SIGNALS 1024u
#define JOB_NOT_SEEN UINT32_MAX

/* A call of the program's own function by a stream: behind it are launches of participant q from number from[q] on, perhaps, and they are behind all that the
 * function waited for. When it has returned (`over`, stored last, with release) a host had seen the end of launches of this participant below `floor`, and of
 * those of its stream s up to seen[s]; and numbers below given[q] had been given out. A place is used again when its call is over, and then the last place
 * says what it said, which stands for all of those. Only the owner writes. */
struct job_call { _Atomic uint32_t over, floor, seen[GSAN_STREAMS], from[GSAN_PARTICIPANTS], given[GSAN_PARTICIPANTS]; };
#define JOB_CALLS 256u

/* Calls of a process that may bring a host what is on a device, while they are under way: how many, and what `seen` of the values before
 * them is going to be (or less). Behind the call it is, unless the driver refused it. Who reads it looks here first. */
struct job_bringing { _Atomic uint32_t calls, seen[GSAN_PARTICIPANTS]; };

/* What hosts tell each other by a word (gsan_release, gsan_acquire), for host_order=modelled: of each participant what the hosts that said the word
 * had seen the end of, or had been told. Elements only grow. A word has a place for good; the last place is that of all for which there was none. */
struct job_word {
	_Atomic uint64_t name; /* a hash of it; 0: nobody said it */
	struct { _Atomic uint32_t floor, stream[GSAN_STREAMS]; } host[GSAN_PARTICIPANTS];
};
#define JOB_WORDS 64u

/* When a participant's launches were given their numbers, as far as that is known: `next` was the number to be given out next at some
 * time between the two. Appended by the owner, at most two in a millisecond, and two in 1/2048 of the time that has gone by: what
 * there is room for suffices for months, and older ones are right, too, only less near. */
struct job_moment { uint64_t from, until; uint32_t next, pad; };
#define JOB_MOMENTS 65536u

/* Memory that kernels may use, that hosts can read and write, and that could not be given shadow. */
enum job_foreign { JOB_MANAGED, JOB_PINNED, JOB_REGISTERED, JOB_FOREIGNS };
#define JOB_FOREIGN_NAMES {"cuMemAllocManaged", "cuMemHostAlloc", "cuMemHostRegister"}

struct job_rank {
	_Atomic uint32_t state;          /* enum job_state */
	_Atomic int32_t rank;            /* -1 unknown */
	_Atomic int32_t pid;
	uint32_t gpu;                    /* index of its GPU in the job, set by the supervisor at IPC_JOIN */
	_Atomic uint32_t first;          /* of its launches; numbers below were of processes that had the place before. 0: of none */
	_Atomic uint32_t names;          /* places, a bit each, of which it has something (launcher/supervisor/places.c); the supervisor sets both */
	char gpu_name[64];
	char gpu_bus[32];                /* PCI bus id */
	_Atomic uint64_t launches_checked, launches_unchecked, launches_left_out; /* left out: unchecked, because the user wants that */
	_Atomic uint64_t copies_checked, copies_unchecked; /* copies and sets that touch checked memory */
	_Atomic uint64_t held;           /* gsan_held() of all of them that are not looked at yet, and of some that were */
	_Atomic uint64_t launches_counted; /* of those checked, how many `counter` has: the first ones */
	_Atomic uint64_t counter[GSAN_N_COUNTERS]; /* drained from the device, see libgsan */
	_Atomic uint64_t memory_bytes, shadow_bytes, tables_bytes;
	_Atomic uint64_t detail_bytes;   /* mapped behind its tables, and offered to the others; rises (vmm/detail.c) */
	_Atomic uint64_t detail_of[GSAN_PARTICIPANTS]; /* of each participant, how much of that its own kernels may use */
	_Atomic uint64_t foreign_bytes[JOB_FOREIGNS]; /* asked for, in all */
	struct job_clock clock;
	_Atomic uint32_t next;           /* launches with a number below it were given it; raised before they are enqueued */
	_Atomic uint32_t outgoing[GSAN_STREAMS]; /* newest copy of each stream that may bring a host what is on a device */
	_Atomic uint64_t branches;       /* stream slots, a bit each, that are no stream: of further chains of graphs (driver/flow.h) */
	_Atomic uint64_t events;
	struct job_event event[2][JOB_EVENTS];
	_Atomic uint32_t signals;        /* stored with release by the owner */
	struct job_signal signal[JOB_SIGNALS];
	struct job_bringing bringing;
	struct job_call call[JOB_CALLS + 1];
	_Atomic uint32_t moments;        /* likewise */
	struct job_moment moment[JOB_MOMENTS];
	_Alignas(4096) struct gsan_ring ring;
	_Alignas(4096) char end[1];
};
struct job {
	uint32_t proto, abi;
	_Atomic uint32_t participants;   /* all that ever were are below it */
	_Atomic uint32_t held;           /* 1: some participant has held memory (job_rank.held), or does; raised before */
	uint32_t seed;
	uint32_t host_order_modelled;    /* 0: DESIGN §7's host_order=assumed */
	uint32_t rank_bits;              /* layout.h */
	uint64_t nonce;                  /* no other job has it */
	_Atomic uint32_t wanted;         /* places are short: what is of those that left is to be given up (vmm/forget.c) */
	uint32_t pad2[7];
	/* Grows behind every change of a participant's `state` and of what its host has seen: who finds what it found before need not
	 * look at the participants again. */
	_Alignas(64) _Atomic uint32_t changes;
	_Alignas(4096) struct gsan_writers writers; /* registered with CUDA by every participant */
	_Alignas(4096) struct job_word word[JOB_WORDS + 1];
	_Alignas(4096) struct job_rank rank[GSAN_PARTICIPANTS];
};

/* The first number of whoever gets participant p's place next: behind all of the one that leaves it, the private ones in their half (layout.h), too. */
static inline uint32_t job_first_next(uint32_t first, uint32_t next, uint32_t rank_bits, uint32_t p)
{
	const uint32_t half = 1u << ((gsan_participant_bits(rank_bits, p) - 1) & 15);

	return next <= first || next == 1 ? first : (next / half + 1) * half;
}

/* Partner: the acquire load of `changes` in clock_order() and vmm_mapped(). */
static inline void job_changed(struct job *job)
{
	atomic_fetch_add_explicit(&job->changes, 1, memory_order_release);
}

/* Raises what the participant's streams may write unseen, before they are told to. */
static inline void job_writes(struct job *job, uint32_t participant, uint32_t slot, uint32_t seq)
{
	uint32_t *newest = &job->writers.newest[participant][slot], old = __atomic_load_n(newest, __ATOMIC_RELAXED);

	while (old < seq && !__atomic_compare_exchange_n(newest, &old, seq, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		continue;
	__atomic_fetch_or(&job->writers.streams[participant], 1ull << slot, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&job->writers.participants, 1ull << participant, __ATOMIC_SEQ_CST);
}

#endif
