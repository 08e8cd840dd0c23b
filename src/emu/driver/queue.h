/* Device work: operations in streams, and how they become ready. Everything asynchronous is an emu_op in its stream's
 * queue; an operation at the head of its stream runs when its stream's order (with the legacy default stream's) and its
 * own condition allow. Kernels, copies and the like run in turns of the scheduler, on one worker thread that starts with
 * the first of them; markers (event record and wait) take effect as soon as they are ready. */
#ifndef GSAN_EMU_DRIVER_QUEUE_H
#define GSAN_EMU_DRIVER_QUEUE_H

#include "emu/driver/process.h"
#include "emu/driver/sched.h"

/* An operation is the first member of a larger struct of malloc'ed memory. */
struct emu_op {
	struct emu_op *next;
	CUstream stream;
	uint64_t seq;                                        /* order of enqueueing in this process */
	int marker;                                          /* needs no turn */
	int begun;
	int counts;                                          /* takes room in its stream (emu_wait_room) */
	int own;                                             /* not the program's (skip.h): goes first, and no choice counts it */
	uint32_t devices;                                    /* bits: it is behind what these were given before in default streams and those that
	                                                      * wait for them, and before what they are given next there. 0: its stream's order is all */
	struct emu_op *next_barrier;                         /* of those that are queued */
	uint64_t demoted;                                    /* EMU_PCT: the step at which it was found to wait for others */
	uint64_t (*priority)(const struct emu_op *op);       /* EMU_PCT; NULL: emu_op_priority */
	uint64_t traced, traces;                             /* its launches in the trace: the first, how many */
	int (*ready)(const struct emu_op *op);               /* NULL: always */
	int (*run)(struct emu_op *op, struct emu_turn *turn); /* nonzero: finished */
	void (*drop)(struct emu_op *op);                     /* frees what it holds, run or not; NULL: nothing */
};
void *emu_op_new(size_t size, int (*run)(struct emu_op *, struct emu_turn *));
void emu_op_push(CUstream stream, struct emu_op *op);
void emu_op_begin(struct emu_op *op); /* for the trace; called for what is queued */
void emu_op_end(struct emu_op *op);
uint64_t emu_op_priority(const struct emu_op *op);
void emu_op_fail(struct emu_op *op, CUresult error); /* the context's sticky error; its queued work is dropped */

int emu_stream_idle(CUstream stream);   /* nothing pending, by its order with the legacy stream either */
int emu_context_idle(CUcontext context);
void emu_stream_discard(CUstream stream);

/* Blocks the calling host thread until done(subject) holds; gives up the lock meanwhile. emu_poll waits one turn. emu_learn waits until no
 * other process of the job does anything: before a call says that something is complete for which it did not block. */
CUresult emu_wait(int (*done)(const void *subject), const void *subject);
CUresult emu_wait_room(CUstream stream);      /* for one more kernel, copy or set in its queue, as calls do that enqueue such */
CUresult emu_wait_stream(CUstream stream);
CUresult emu_wait_context(CUcontext context); /* all three return the context's sticky error */
void emu_poll(void);
void emu_learn(void);

void emu_queue_stop(void);

#endif
