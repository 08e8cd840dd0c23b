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
};

/* Order that the device does not see and the supervisor applies before it believes a finding: a launch of a modelled or
 * unknown opaque kernel. Appended by the owner before the launch, `events` stored with release; `count` falls to 0 if the driver then
 * refuses it: such a one is nothing to any reader. When it was told to run, and when a host first saw that it was over, 0 = not yet:
 * CLOCK_MONOTONIC, in ns, which the processes of a node share. */
enum job_event_kind { JOB_EVENT_BARRIER, JOB_EVENT_OPAQUE };
struct job_event { uint32_t seq; uint8_t kind, stream; _Atomic uint16_t count; uint64_t begun; _Atomic uint64_t ended; };
#define JOB_EVENTS 65536u

/* A value that a stream writes orders who reads its location, and nobody else. Checked kernels that read it know by
 * themselves (layout.h, GSAN_LINE_VALUE); streams that wait for a value come behind everything. There remain kernels of
 * unknown effect, and hosts: of participant q, those launches may come behind a host that read it whose number is seen[q]
 * or above. From the start, if it lies in memory that hosts can read, or a copy to one may be under way; else (JOB_NOT_SEEN)
 * from the next such copy on, when whoever makes it writes it. The last place stands for all that had none: the newest of
 * their numbers, the lowest of `seen`. */
struct job_signal { _Atomic uint32_t seq, seen[GSAN_PARTICIPANTS]; };
#define JOB_SIGNALS 1024u
#define JOB_NOT_SEEN UINT32_MAX

/* When a participant's launches were given their numbers, as far as that is known: `next` was the number to be given out next at some
 * time between the two. Appended by the owner, at most two in a millisecond, and two in 1/2048 of the time that has gone by: what
 * there is room for suffices for months, and older ones are right, too, only less near. */
struct job_moment { uint64_t from, until; uint32_t next, pad; };
#define JOB_MOMENTS 65536u

/* Memory that kernels may use, that hosts can read and write, and that has no shadow. */
enum job_foreign { JOB_MANAGED, JOB_PINNED, JOB_REGISTERED, JOB_FOREIGNS };
#define JOB_FOREIGN_NAMES {"cuMemAllocManaged", "cuMemHostAlloc", "cuMemHostRegister"}

struct job_rank {
	_Atomic uint32_t state;          /* enum job_state */
	_Atomic int32_t rank;            /* -1 unknown */
	_Atomic int32_t pid;
	uint32_t gpu;                    /* index of its GPU in the job, set by the supervisor at IPC_JOIN */
	char gpu_name[64];
	char gpu_bus[32];                /* PCI bus id */
	_Atomic uint64_t launches_checked, launches_unchecked;
	_Atomic uint64_t launches_counted; /* of those checked, how many `counter` has: the first ones */
	_Atomic uint64_t counter[GSAN_N_COUNTERS]; /* drained from the device, see libgsan */
	_Atomic uint64_t memory_bytes, shadow_bytes, tables_bytes;
	_Atomic uint64_t foreign_bytes[JOB_FOREIGNS]; /* asked for, in all */
	struct job_clock clock;
	_Atomic uint32_t next;           /* launches with a number below it were given it; raised before they are enqueued */
	_Atomic uint32_t outgoing[GSAN_STREAMS]; /* newest copy of each stream that may bring a host what is on a device */
	_Atomic uint32_t events, events_lost;
	struct job_event event[JOB_EVENTS];
	_Atomic uint32_t signals;        /* stored with release by the owner */
	struct job_signal signal[JOB_SIGNALS];
	_Atomic uint32_t moments;        /* likewise */
	struct job_moment moment[JOB_MOMENTS];
	_Alignas(4096) struct gsan_ring ring;
	_Alignas(4096) char end[1];
};
struct job {
	uint32_t proto, abi;
	uint32_t participants;           /* the job's size rounded up to a power of two, at least 2: fixes tag_bits */
	uint32_t seed;
	uint32_t host_order_modelled;    /* 0: DESIGN §7's host_order=assumed */
	uint32_t pad[11];
	/* Grows behind every change of a participant's `state` and of what its host has seen: who finds what it found before need not
	 * look at the participants again. */
	_Alignas(64) _Atomic uint32_t changes;
	_Alignas(4096) struct gsan_writers writers; /* registered with CUDA by every participant */
	_Alignas(4096) struct job_rank rank[GSAN_PARTICIPANTS];
};

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
}

#endif
