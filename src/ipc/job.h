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
 * unknown opaque kernel, or a value that a stream wrote (SIGNAL), for which any running kernel may have waited. Appended
 * by the owner, count stored with release. */
enum job_event_kind { JOB_EVENT_BARRIER, JOB_EVENT_OPAQUE, JOB_EVENT_SIGNAL };
struct job_event { uint32_t seq; uint8_t kind, stream; uint16_t name; };
#define JOB_EVENTS 65536u

struct job_rank {
	_Atomic uint32_t state;          /* enum job_state */
	_Atomic int32_t rank;            /* -1 unknown */
	_Atomic int32_t pid;
	uint32_t gpu;                    /* index of its GPU in the job, set by the supervisor at IPC_JOIN */
	char gpu_name[64];
	char gpu_bus[32];                /* PCI bus id */
	_Atomic uint64_t launches_checked, launches_unchecked;
	_Atomic uint64_t counter[GSAN_N_COUNTERS]; /* drained from the device, see libgsan */
	_Atomic uint64_t memory_bytes, shadow_bytes, tables_bytes;
	struct job_clock clock;
	_Atomic uint32_t events, events_lost;
	struct job_event event[JOB_EVENTS];
	_Alignas(4096) struct gsan_ring ring;
	_Alignas(4096) char end[1];
};
struct job {
	uint32_t proto, abi;
	uint32_t participants;           /* the job's size rounded up to a power of two, at least 2: fixes tag_bits */
	uint32_t seed;
	uint32_t host_order_modelled;    /* 0: DESIGN §7's host_order=assumed */
	uint32_t pad[11];
	_Alignas(4096) struct job_rank rank[GSAN_PARTICIPANTS];
};

#endif
