/* A litmus program: a few kernels of one or more ranks, small enough to be read, written by hand or by a generator. One
 * form serves all of tests/{litmus,axioms,random}: the text (docs/litmus.md has the grammar) is parsed into these structs,
 * printed back, compiled to PTX, executed, and judged. Every instruction stands on a line of its own, and that line is
 * its name: the PTX carries it as .loc, findings and traces come back with it. */
#ifndef GSAN_LITMUS_LITMUS_H
#define GSAN_LITMUS_LITMUS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LIT_NAME 48
#define LIT_RANKS 8
#define LIT_REGS 64       /* r0 … r63 of a thread; a vector load fills as many in a row */

enum lit_op {
	LIT_LD, LIT_ST, LIT_ATOM, LIT_RED, LIT_FENCE,
	LIT_BAR,          /* a barrier inside the CTA: `meet` */
	LIT_POLL,         /* loads until the location holds `value`, at most `count` times; the last value stays in `reg` */
	LIT_IF,           /* if reg == value (`negated`: !=), up to the matching LIT_END; no nesting of LIT_BAR inside */
	LIT_REPEAT,       /* `count` times, up to the matching LIT_END */
	LIT_END
};
enum lit_meet {
	LIT_ALL,          /* barrier 0: every thread of the CTA has it at the same place */
	LIT_SYNC, LIT_ARRIVE, LIT_REDUCE, /* barrier `barrier` of `count` threads: waits, only arrives, or waits for a reduction */
	LIT_WARP,         /* bar.warp.sync of all lanes of the warp that have a section */
	LIT_MARRIVE,      /* at mbarrier `barrier`, whose phases have `count` arrivals */
	LIT_MWAIT,        /* for its phase of parity `value` */
	LIT_MTOKEN        /* for the phase of the thread's own last arrival there, by what that returned */
};
enum lit_sem { LIT_WEAK, LIT_RELAXED, LIT_ACQUIRE, LIT_RELEASE, LIT_ACQ_REL, LIT_SC, LIT_VOLATILE, LIT_MMIO, LIT_NC };
enum lit_scope { LIT_NO_SCOPE, LIT_CTA, LIT_CLUSTER, LIT_GPU, LIT_SYS };
enum lit_rmw { LIT_ADD, LIT_EXCH, LIT_CAS, LIT_AND, LIT_OR, LIT_XOR, LIT_MIN, LIT_MAX, LIT_INC };

struct lit_instr {
	enum lit_op op;
	enum lit_sem sem;     /* LIT_FENCE: acquire, release, acq_rel or sc; LIT_POLL: of its load */
	enum lit_scope scope; /* LIT_NO_SCOPE with weak, volatile, mmio and nc */
	enum lit_rmw rmw;
	uint8_t bytes;        /* of an element: 1, 2, 4, 8 */
	uint8_t vector;       /* elements: 1, 2, 4 (ld and st) */
	uint8_t generic;      /* no .global in the opcode */
	uint8_t membar;       /* LIT_FENCE: written as membar.{cta,gl,sys} */
	uint8_t negated;
	uint8_t meet, barrier; /* LIT_BAR */
	int location;         /* index; -1: none */
	int32_t offset;       /* bytes into the location */
	int32_t stride;       /* bytes: the address of thread t of the CTA is t * stride further on */
	int reg;              /* destination, or what LIT_IF looks at; -1: none (an atom then reads into nothing) */
	int value_reg;        /* the operand is this register; -1: `value` */
	uint64_t value;       /* stored (in every element of a vector), added, exchanged, awaited, compared with */
	uint64_t compare;     /* LIT_CAS: expected value; `value` is what it stores */
	uint32_t count;
	uint32_t line;        /* of the text, from 1 */
};

struct lit_thread {           /* what some threads of one CTA execute */
	int launch;
	uint32_t cta;
	uint32_t first, threads; /* tids first … first + threads - 1 */
	size_t instrs;
	struct lit_instr *instr;
};

struct lit_location {
	char name[LIT_NAME];
	int rank;             /* whose memory it is */
	uint32_t bytes;
	int base;             /* lies `offset` bytes into this location; -1: lies alone, aligned to 256 bytes */
	int32_t offset;
};

struct lit_launch {
	char name[LIT_NAME];
	int rank, stream;     /* streams 0, 1, … of the rank, all non-blocking */
	uint32_t grid, block; /* one-dimensional; CTAs without a lit_thread do nothing */
};

/* What the hosts do, in this order, one after the other over all ranks. After the last, every rank waits for its work. */
enum lit_step_op {
	LIT_DO_LAUNCH, LIT_DO_RECORD, LIT_DO_WAIT, LIT_DO_COPY, LIT_DO_SET,
	LIT_DO_SYNC_STREAM, LIT_DO_SYNC_EVENT, LIT_DO_SYNC_ALL /* the host waits */
};
struct lit_place { int location; int32_t offset; };
struct lit_step {
	enum lit_step_op op;
	int rank, stream, event; /* events 0, 1, … of the rank */
	int launch;
	struct lit_place to, from; /* of a copy, of `bytes` bytes; of a set the first, to `value` */
	uint32_t bytes;
	uint8_t value;
	uint32_t line;
};

struct lit_term {             /* the outcome of a shape: all terms of one clause hold, clauses are alternatives */
	int clause;
	int location;         /* ≥ 0: its final value; else the register below */
	int thread, reg;      /* index of a lit_thread; its tid `first` */
	uint64_t value;
};

enum lit_verdict { LIT_UNSAID, LIT_RACE, LIT_FREE };

struct lit_program {
	char name[LIT_NAME];
	char *file;           /* for messages */
	int ranks, device[LIT_RANKS];
	size_t locations, launches, threads, steps, terms;
	struct lit_location *location;
	struct lit_launch *launch;
	struct lit_thread *thread;
	struct lit_step *step;
	struct lit_term *term;   /* none: every execution counts */
	enum lit_verdict expect; /* of the executions with that outcome */
	char *kinds;             /* names of findings, separated by spaces, of which a race shows at least one; NULL: any */
	char *cites;             /* the axiom that a hand-written verdict rests on; NULL: none */
};

/* parse.c. `file` is for messages. Returns 0, or -EINVAL with "FILE:LINE: what is wrong; what to write instead". */
int lit_parse(const char *text, const char *file, struct lit_program **program, char *error, size_t room);
int lit_load(const char *path, struct lit_program **program, char *error, size_t room);
void lit_free(struct lit_program *p);
/* check.c: what a program must keep to besides the grammar (bounds, alignment, nesting, barriers that all threads reach);
 * lit_parse calls it, generators should. Returns 0, or -EINVAL with "FILE:LINE: …" as above. */
int lit_check(const struct lit_program *p, char *error, size_t room);
/* barrier.c: which phase of which barrier each arrival and wait belongs to. `use` has room for LIT_USES a section (of all CTAs);
 * returns 0, or what is wrong, and the line. Who meets whom must not depend on who comes first. */
enum { LIT_USES = 128, LIT_NAMED = 16, LIT_MBARRIERS = 8, LIT_BARRIERS = LIT_NAMED + LIT_MBARRIERS + 32 };
struct lit_use {              /* of a section's n-th barrier instruction, loops unrolled */
	const struct lit_instr *instr;
	uint8_t barrier;      /* below LIT_NAMED: its number; then mbarriers; then one for each warp */
	uint32_t phase;       /* that it is part of; of a wait for an mbarrier: how many are complete when it goes on */
};
const char *lit_barriers(const struct lit_program *p, struct lit_use (*use)[LIT_USES], uint32_t *uses, uint32_t *line);
int lit_has_barriers(const struct lit_program *p); /* of forms other than LIT_ALL */
/* opcode.c: an instruction's opcode as PTX spells it. Read: NULL, or what is wrong with it. */
#define LIT_OPCODE 64
void lit_opcode_write(const struct lit_instr *i, char to[LIT_OPCODE]);
const char *lit_opcode_read(const char *word, struct lit_instr *i);
/* print.c: the text; parsing it gives an equal program. Sets every `line` to where the instruction stands in it. */
void lit_print(struct lit_program *p, FILE *to);
/* emit.c: one PTX module (target sm_90, PTX 8.0 or newer) with a kernel per launch, named PREFIX_LAUNCH, whose parameters
 * are the addresses of the locations, in order, and the address of a u64 per (lit_thread, register) for the outcome (0:
 * none is kept). What keeps the outcome is a weak store by thread `first` as its last act, to memory of its own. */
void lit_emit(const struct lit_program *p, const char *prefix, FILE *to);
/* The same in two parts, for several programs in one module: the head once, then each program with a number of its own,
 * from 1, for its .file. The module's programs need prefixes of their own. */
void lit_emit_head(FILE *to);
void lit_emit_kernels(const struct lit_program *p, const char *prefix, unsigned file, FILE *to);

#endif
