/* flow: what the streams, events and the host of one participant do, told to src/clock. Handles are looked up here:
 * a stream gets its slot when it is first seen, whatever way it was made. */
#ifndef GSAN_DRIVER_FLOW_H
#define GSAN_DRIVER_FLOW_H

#include <cuda.h>

#include "clock/clock.h"
#include "driver/map.h"

struct participant;

/* How far a slot is, for a host that waits for nothing (mark.c). */
#define FLOW_MARKS 8u
struct flow_mark {
	uint32_t launches, next; /* a mark is due some launches after the last one, and not before this number, */
	uint32_t used;           /* in mark[used % FLOW_MARKS] */
	_Atomic uint32_t over;   /* flow_over() */
	struct flow_mark_event { CUevent event; _Atomic uint32_t seq; } mark[FLOW_MARKS];
	/* seq: everything in the slot up to there is before the event; 0: none */
};

/* What spans numbering and enqueue of a kernel (DESIGN §7): a lock, and under it the record of the slot's next checked launch, of
 * which launch.c writes only what changes. A line of memory of its own for each, for threads launch into different streams. */
struct flow_queue {
	_Alignas(64) pthread_mutex_t lock;
	struct gsan_launch record[2]; /* the second: layout.h, GSAN_ORDER_WAITS */
	uint32_t wrote, brought; /* what flow_writes() and flow_copies_out() found before their newest number here */
	struct flow_mark mark;
};

#define LATE_RANS 8u
struct late;
/* The kernel that checks copies, and what it is to do (late.c). */
struct late_kernel {
	pthread_mutex_t lock;
	CUcontext context;
	CUfunction function;
	CUfunction nodes;        /* another one of that module, which makes the records of graphs (records.h); or NULL */
	CUstream stream;
	const char *reason;      /* why there is none; NULL: there is */
	struct late *first, **last; /* not started */
	struct late *running, *newest; /* in the order of their start: `runs` kernels, */
	uint32_t runs, bare;     /* of which so many have no event of `ran` behind them */
	struct late_ran { CUevent event; struct late *last; } ran[LATE_RANS]; /* a ring: behind which of the running ones */
	unsigned oldest, rans;
	_Atomic uint32_t under_way, started, ended; /* of all these; in all */
	_Atomic uint32_t most;               /* are under way before a host waits */
};

#define FLOW_BRANCHES 32u
struct flow {
	struct participant *participant;
	int warps;                                /* those of a CTA are told apart, where a clone knows what they wait for */
	struct job_rank *rank;                    /* its part of the job's shared memory */
	struct clock clock;
	struct flow_queue queue[GSAN_STREAMS];    /* by slot */
	pthread_mutex_t renew;
	uint32_t renew_refused;                   /* the half of the tags that could not be renewed early; under the lock above */
	int unclean;                              /* old records could not be cleared: no check may follow */
	struct map stream;                        /* handle, or thread for its default stream → slot + 1 */
	struct map holder;                        /* handle of a stream → its context */
	struct map function;                      /* CUfunction or CUkernel → struct function */
	struct map callers;                       /* hash of a driver function's name and its caller → number of a kernel (caller.h) */
	struct map variables;                     /* modules and libraries whose variables are known */
	struct map noted;                         /* hash of each note given */
	struct map branch;                        /* slot of a stream and chain of a graph → slot + 1 (flow_branch) */
	uint32_t branches;                        /* how often one was asked for, and the slots that serve them */
	uint8_t branch_slot[FLOW_BRANCHES];
	_Atomic uint32_t kernels;                 /* kernel ids given out */
	_Atomic uint64_t drain_due;               /* ns, when the counters are to be copied next, */
	_Atomic uint64_t drain_period;            /* and how long after the last time that is; both may lag */
	const char *_Atomic graphs_noted;         /* the reason that was said last why a graph runs unchecked: a string literal */
	_Atomic uint64_t followed;                /* how often streams of another GPU waited for something here, or are about to */
	uint32_t calls;                           /* calls of functions by streams, as struct job_call; `call_open`: by place, not over (calls.c) */
	uint8_t call_open[JOB_CALLS];
	uint32_t events_open;                     /* those before it have ended (events.c) */
	_Atomic uint64_t moment_due;              /* ns, when the next struct job_moment is to be noted */
	struct late_kernel late;
	struct { CUcontext context; int bytes; } room; /* the local memory of each thread that was made ready (room.h), of a context */
};

/* Of the calling thread's current context; NULL: none, or it could not join the job. */
struct flow *flow_current(void);
/* The same for a launch; where that asks the driver less, it is not certain that there is a context. */
struct flow *flow_launching(void);
/* The process's first, whatever is current, NULL: it has none yet; the same for work on a GPU that is not checked, NULL: no context is
 * current, or nothing is checked. */
struct flow *flow_here(void);
struct flow *flow_elsewhere(void);
struct flow *flow_on(CUdevice device); /* NULL: it has none yet, or is not checked */
struct flow *flow_at(uint64_t at);     /* whose block lies there, if one does; NULL: nobody's */
/* Of a context or a stream, which need not be current, nor of the current context; NULL: it is on a GPU that is not checked. */
struct flow *flow_of_context(CUcontext context);
struct flow *flow_of_stream(CUstream stream, uint32_t *slot);

uint64_t flow_stream_key(CUstream stream); /* in flow.stream: the handle, or bit 63 and the thread whose default stream it is */
#define FLOW_ELSEWHERE GSAN_STREAMS        /* in the place of a slot: a stream of another GPU */
uint32_t flow_slot(struct flow *f, CUstream stream);
/* The slot of a further chain of the graphs that are replayed in a stream's slot. Of too many streams they are shared: over-orders, and is said. */
uint32_t flow_branch(struct flow *f, uint32_t slot, uint32_t chain);
void flow_forget(CUstream stream);              /* the handle is about to be destroyed, or is new */
void flow_forget_context(CUcontext context);    /* which has ended, and its streams with it */
/* Everything that it was given, which its end waits for; and what it may have been given: in default streams, in streams that are gone. */
void flow_mark_context(struct flow *f, CUcontext context, struct clock_vec *mark);

/* Whether a stream is being captured; asked of the driver only once any capture began. And whether any stream may be: then
 * nothing may be asked of the driver that could wait for the device, load code or use the legacy stream. */
int flow_capturing(CUstream stream);
int flow_captures(void);
void flow_capture_begins(CUstream stream);
void flow_capture_ends(CUstream stream);
/* Calls of our own in between do not count as the program's for its captures. */
int flow_relax(CUstreamCaptureMode *mode);
void flow_unrelax(CUstreamCaptureMode mode, int relaxed);

/* Numbers a launch. With CLOCK_CHECKED or not, the slot's queue is locked on return: the caller enqueues, then calls
 * flow_enqueued(). A checked one's order stands in the queue's record. 0, or -EBUSY (clock.h; the lock is not held). */
int flow_number(struct flow *f, uint32_t slot, enum clock_use use, uint32_t *seq);
#define FLOW_NO_TAG "no launch tag is free: older launches may still run" /* what that means to who reads the report */
void flow_enqueued(struct flow *f, uint32_t slot);
/* For several launches at once: the slot's queue is locked until flow_enqueued(), and each gets its number in it. 0, -EBUSY; or -EAGAIN:
 * flow_renew() it, with no queue locked, and begin again with the first. */
void flow_enter(struct flow *f, uint32_t slot);
int flow_number_in(struct flow *f, uint32_t slot, enum clock_use use, uint32_t *seq, uint32_t *half);
int flow_number_block(struct flow *f, const struct clock_block *b, uint32_t *seq, uint32_t *half); /* (clock.h) */
void flow_renew(struct flow *f, uint32_t half);
/* The slot's record with all but what is of the kernel that is launched: for checked launch `seq`, behind flow_number(). */
struct gsan_launch *flow_record(struct flow *f, uint32_t slot, uint32_t seq, uint32_t kernel);
/* The driver says that it did not enqueue anything. With any other error a kernel may have run: the driver tells a kernel's own, too, if it
 * waits for its end (CUDA_LAUNCH_BLOCKING). */
int flow_refusal(CUresult rc);
/* So it is with launch `seq`; before flow_enqueued(). Its number, and what was said of it by flow_writes() and flow_copies_out(), is taken
 * back; who looked meanwhile withholds. Not what flow_event() and flow_value() said. */
void flow_refused(struct flow *f, uint32_t slot, uint32_t seq);
void flow_refused_late(struct flow *f, uint32_t slot, uint32_t seq); /* the same behind flow_enqueued() */
/* The stream waits for something that is not modelled. Called when that is enqueued: a host that sees this number complete
 * has seen the end of the wait. (What another thread launches there meanwhile cannot rely on it.) */
void flow_wait_unknown(struct flow *f, uint32_t slot);
/* Launch `seq` was enqueued there, and the slot's queue is still locked. And what has passed, as far as marks tell: joined to *over. */
void flow_mark(struct flow *f, uint32_t slot, CUstream stream, uint32_t seq);
void flow_over(struct flow *f, uint32_t slot, uint32_t seq); /* an event behind it has passed */
void flow_passed(struct flow *f, struct clock_vec *over);
void flow_forget_marks(struct flow *f); /* a context has ended, and with it perhaps their events */
void flow_wait_everywhere(struct flow *f); /* all its streams do, and those to come */
/* After a call by which the stream waits for such a thing, for which `name` stands in the report; its answer. */
CUresult flow_awaits(CUstream stream, const char *name, const char *reason, CUresult rc);
/* The slot waits for an event of that flow, its own or another GPU's. */
void flow_follows(struct flow *f, uint32_t slot, struct flow *other, const struct clock_vec *event);
/* The default stream of one GPU, and what waits for that, comes behind what the other's, which it waits for, was given until now. */
void flow_joins(struct flow *f, struct flow *other);
/* A graph has a node that waits for such a thing. Which graph is not kept: from then on any launch of one may wait. */
void flow_graph_waits(void);
int flow_graphs_wait(void);

/* What the device does not see (events.c, unseen.c), told to the supervisor before it is enqueued: a launch that may order anything,
 * or is a barrier among ranks (job.h); a value that a stream writes, which hosts may read without a copy or not; a copy by
 * which a host may read what is on a device; and the kernels and copies of another GPU of the process. */
void flow_event(struct flow *f, enum job_event_kind kind, uint32_t slot, uint32_t seq);
void flow_event_take_back(struct flow *f, uint32_t seq); /* the driver refused the launch */
/* A stream calls a function of the program as number `seq`: its place, or -1: there is none, and what comes behind it is behind everything. */
int flow_call(struct flow *f, uint32_t seq);
void flow_call_end(struct flow *f, int place); /* there is none any more, or the driver refused it: the place may be used again */
void flow_call_returned(struct flow *f, int place); /* by the function itself, before the stream goes on */
void flow_events_end(struct flow *f); /* those that the host has seen complete by now */
uint64_t flow_now(void);              /* CLOCK_MONOTONIC, in ns */
int flow_moment(struct flow *f, int due); /* notes one that is due, or else if it is: 1 */
void flow_value(struct flow *f, uint32_t seq, int host_reads);
void flow_value_take_back(struct flow *f, uint32_t seq); /* likewise */
void flow_copies_out(struct flow *f, uint32_t slot, uint32_t seq); /* before the call, */
void flow_copied_out(struct flow *f, int refused);                 /* and behind it, in any case */
void flow_writes(struct flow *f, uint32_t slot, uint32_t seq); /* device memory, without a record: struct gsan_writers */
void flow_writes_take_back(struct flow *f, uint32_t slot, uint32_t seq);     /* flow_refused() */
void flow_copies_out_take_back(struct flow *f, uint32_t slot, uint32_t seq); /* likewise */
void flow_elsewhere_writes(struct flow *f);               /* before the call, */
void flow_elsewhere_wrote(struct flow *f, int refused);   /* and behind it */
void flow_elsewhere_runs(struct flow *f);                 /* the same for what else it may do */
void flow_elsewhere_ran(struct flow *f, int refused);
void flow_elsewhere_copies_out(struct flow *f);
/* Its streams may wait for what is here; from then on a host that waits for it may know more. */
void flow_elsewhere_waits(void);
void flow_elsewhere_waits_not(void); /* the driver refused it */
void flow_elsewhere_seen(void);

/* Says of something unchecked or not modelled, once per text: to the supervisor and, at level info, on stderr. */
void flow_note(struct flow *f, const char *key, const char *name, const char *reason);

/* The host of all GPUs of the process knows that this is complete; or that a wait for what is not modelled is over. */
void flow_host_join(struct flow *f, const struct clock_vec *mark);
void flow_host_unknown(void);
/* A successful wait of the host is over. Joins what it waited for, and copies the device's counters if nothing runs. */
void flow_host_saw(struct flow *f, const struct clock_vec *mark);

/* A clone is to be launched that needs so much local memory. If anything runs it is not made ready. */
void flow_room(struct flow *f, int bytes);

/* Copies the device's counters to the job's memory unless something may still run. */
void flow_drain(struct flow *f);
void flow_drain_everywhere(void); /* the last time: waits for what runs, up to some seconds in all */
void flow_context_ended(void);
void flow_drain_at_exit(void);
void flow_each(void (*call)(struct flow *f, void *context), void *context);
/* What the process's host has seen on any of its GPUs it tells others by a word, or knows by one from others: for the GPUs that it uses later, too. */
void flow_release(uint64_t word);
void flow_acquire(uint64_t word);

/* The tool's own copy from the device: on its participant's stream, in relaxed capture mode. 0 or -EIO. */
int flow_read(struct flow *f, void *to, CUdeviceptr from, size_t size);

#endif
