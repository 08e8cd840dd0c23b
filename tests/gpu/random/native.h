/* Programs for `tests/gpu/run random`: data, not code. A launch is a list of operations that the kernels of player.c execute,
 * each thread for itself; an operation is one PTX instruction of the table in forms.c, or a batch of them, at addresses that
 * depend on CTA and thread, or it steers. So tens of thousands of programs need one compilation, and each of their accesses is a
 * PTX instruction with a checked clone of its own. */
#ifndef GSAN_NATIVE_H
#define GSAN_NATIVE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NATIVE_OPS 128       /* of a launch */
#define NATIVE_LAUNCHES 6
#define NATIVE_RANKS 4
#define NATIVE_REGS 64       /* of a thread */
#define NATIVE_LOOPS 16      /* loop counters of a thread */
#define NATIVE_ALL 0xffffu   /* as the end of a range: all that follow */

enum native_control {        /* codes behind those of forms.c */
	NATIVE_END,          /* the thread is done */
	NATIVE_EXIT,         /* the same for those who meet the condition */
	NATIVE_JUMP,         /* to `target` */
	NATIVE_IF,           /* to `target` unless r[reg] == value; NATIVE_INVERT: if so */
	NATIVE_SET,          /* loop counter `loop` = value */
	NATIVE_LOOP,         /* to `target` unless that counter, less 1, is 0 */
	NATIVE_AGAIN,        /* the same, but only while r[reg] != value */
	NATIVE_AWAITED,      /* the thread has failed, and ends, if r[reg] != value */
	NATIVE_BARRIER,
	NATIVE_SLEEP,        /* value nanoseconds */
	NATIVE_CONTROLS
};

enum native_flag {
	NATIVE_MIX = 1,      /* operand: value, the thread's place, and what it has read so far */
	NATIVE_FROM_REG = 2, /* operand: r[value_reg] + value */
	NATIVE_KEEP = 4,     /* what is read counts for later NATIVE_MIX */
	NATIVE_TO_REG = 8,   /* what is read goes to r[reg], a vector to those behind it, too */
	NATIVE_INVERT = 16,
	NATIVE_NEGATE = 128  /* who does not meet the condition executes it */
};

/* As the kernels read it. The address of a thread is  address + cta' × cta_stride + tid' × tid_stride,
 * cta' = (cta + rotate) mod grid, then mod group if group > 0; tid' = (tid × tid_mul + tid_add) & tid_mask. */
struct native_op {
	uint16_t code;
	uint8_t reg, flags;
	uint32_t tid_stride;
	uint64_t address;                   /* offset in the program's memory on `rank`, until it is launched */
	uint32_t cta_stride;
	uint32_t lanes;                     /* of a warp; of a batch: for each access, rotated by its place */
	uint16_t cta_first, cta_end;
	uint16_t tid_first, tid_end;
	uint16_t tid_mul, tid_add;
	uint32_t tid_mask;
	uint32_t value;
	union { uint32_t compare, target; int32_t behind; }; /* of a cas; in the list; of a batch: its stores behind its loads */
	uint32_t rotate;
	uint16_t loop, rank;
	uint32_t group;
	union { uint32_t value_reg, step; };
};
_Static_assert(sizeof(struct native_op) == 64, "as player.c reads it");

/* What a launch hands over, by value. */
struct native_list {
	uint64_t failed;                    /* a u32 there becomes 1 if a wait never ended */
	uint32_t ops, reserved;
	struct native_op op[NATIVE_OPS];
};

struct native_launch {
	int kernel, rank, stream;           /* kernel: enum player_kernel */
	uint32_t grid, block;
	struct native_list list;
};

/* What the hosts do, in this order. */
enum native_step_op { NATIVE_DO_LAUNCH, NATIVE_DO_EVENT, NATIVE_DO_WAIT };
struct native_step { enum native_step_op op; int what, rank, stream; }; /* launch: its index; event (stream to all): recorded on,
									 * made wait for: stream. NATIVE_DO_WAIT: hosts meet and wait */

struct native {
	uint64_t seed;
	int ranks;
	const char *broken;                 /* NULL: race-free by construction */
	int launches, steps;
	struct native_launch launch[NATIVE_LAUNCHES];
	struct native_step step[4 * NATIVE_LAUNCHES];
	uint64_t bytes[NATIVE_RANKS];       /* of memory, zeroed, on each rank; word 0 of each is `failed` */
};

struct native_op native_op(uint16_t code);                 /* for all threads; no operands */
struct native_op *native_add(struct native_launch *l, struct native_op op); /* aborts when full */
/* Nobody executes the operations "LAUNCH.PLACE,…". Returns 0, or -1: there is none such. */
int native_drop(struct native *p, const char *list);
void native_print(const struct native *p, FILE *to);

#endif
