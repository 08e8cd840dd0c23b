/* What the parts of the enumerator share. build.c unrolls one path of the program into events, weave.c puts them into
 * program order and launch order, solve.c chooses what each read reads and the Fence-SC order, coherence.c the coherence
 * order, race.c looks for races; relations.c has the relations of the model, value.c the values. */
#ifndef AXIOMS_MODEL_H
#define AXIOMS_MODEL_H

#include "axioms.h"
#include "litmus/litmus.h"
#include "order.h"

enum { AX_EVENTS = 512, AX_NODES = 2048, AX_GUESSES = 40, AX_LAUNCHES = 128 };
#define AX_NOBODY UINT32_MAX

struct value { /* what an event read, or a constant */
	uint32_t event; /* AX_NOBODY: the constant */
	uint64_t constant;
};

struct event {
	const struct lit_instr *instr; /* NULL: none of the program's */
	uint8_t memory, reads, writes, rmw, fence, sc, strong, acquires, releases, reduces, nc;
	uint8_t needed;          /* a read whose value or order matters; the other weak reads only may race */
	enum lit_scope scope;
	int launch;              /* index */
	uint32_t cta, tid, step;
	uint32_t thread, seq;    /* program order: same thread, lower seq; AX_NOBODY: of no thread */
	int root;                /* the location that holds the bytes */
	int64_t at;
	uint32_t bytes;
	uint32_t cell, cells;    /* first cell of memory, and how many */
	uint32_t slot;           /* needed reads: first of `cells` slots */
	struct value operand;
	size_t nears;
	uint32_t *near;          /* the other events that overlap */
};

struct step { /* one instruction as executed by the threads of a section: events first … first + events - 1 */
	uint32_t section, phase, first, events; /* phase: barriers of the CTA before it */
	enum { AX_PLAIN, AX_ARRIVE, AX_PASS } part; /* of a barrier, which has no events but `meet` */
	uint32_t meet;
};

struct meet { /* a phase of a barrier of a CTA: a node behind all who arrive, before all who go on */
	int launch;
	uint32_t cta, barrier, phase, node;
};

struct constraint { /* on the value of an event, or of a constant */
	struct value value;
	uint64_t is;
	bool negated;
};

struct cell { int root; int64_t at; uint32_t bytes; };
struct edge { uint32_t from, to; };
struct observation { uint32_t write, read, next; }; /* next: of the same write, AX_NOBODY at the end */
/* The ends of an operation's patterns that matter: the latest head (first tail) of each scope, fences and operations apart. */
enum { AX_ENDS = 8 };
struct ends { uint32_t number, event[AX_ENDS]; };

struct graph {
	const struct lit_program *p;
	const struct ax_options *o;
	struct ax_verdict *verdict;
	FILE *witness;
	const char *stopped;     /* why the search gave up */
	int failed;              /* -ENOMEM */
	/* one path (build.c) */
	uint8_t guess[AX_GUESSES];
	uint32_t guesses, guessed;
	bool feasible;
	struct event event[AX_NODES];
	uint32_t events;         /* of the program; nodes of launches, fences and barriers follow */
	uint32_t nodes;
	size_t steps, constraints, edges, cells, slots, meets;
	struct step step[AX_EVENTS];
	struct meet meet[AX_EVENTS];
	struct lit_use (*use)[LIT_USES]; /* of each section, by its barriers */
	uint32_t *uses;
	struct constraint constraint[AX_EVENTS];
	struct edge *edge;       /* instruction dependencies */
	struct cell *cell;
	struct value *final;     /* (section, register) of the section's first thread */
	uint32_t slot_event[AX_EVENTS * 4], slot_cell[AX_EVENTS * 4];
	/* one weave (weave.c) */
	bool before[AX_LAUNCHES][AX_LAUNCHES];
	uint32_t start[AX_LAUNCHES]; /* nodes of the launches' starts */
	bool impossible;         /* it contradicts the barriers */
	struct order base;       /* program order, barriers, launches */
	struct order flow;       /* dependencies; with reads-from it must stay acyclic */
	/* one execution (solve.c) */
	uint32_t *source;        /* per slot: the write, SOURCE_INIT, or SOURCE_OPEN */
	struct ends *heads, *tails;   /* per event: of the release patterns that it ends, of the acquire patterns that it begins */
	struct observation *observed;
	uint32_t *observed_first;     /* per write */
	size_t observations;
	struct order cause;      /* base causality */
};
#define SOURCE_INIT (AX_NOBODY - 1)
#define SOURCE_OPEN AX_NOBODY

/* build.c: one path. Returns 0; 1: the guesses contradict themselves; -1: too large (g->stopped) or no memory (g->failed). */
int build_launches(struct graph *g);
int build_path(struct graph *g);
bool build_next_guess(struct graph *g); /* false: all paths were seen */
void build_close(struct graph *g);

/* weave.c: every program order of the path, each handed to `each`; false from there ends it. */
bool weave_all(struct graph *g, bool (*each)(struct graph *g));

/* relations.c */
bool program_ordered(const struct event *a, const struct event *b);
bool overlapping(const struct event *a, const struct event *b);
bool covers(const struct event *w, uint32_t cell);
bool same_location(const struct event *a, const struct event *b);
bool includes(const struct graph *g, const struct event *a, const struct event *b); /* a's scope has b's thread */
bool morally_strong(const struct graph *g, const struct event *a, const struct event *b);
bool release_begins(const struct event *head, const struct event *write); /* a release pattern that ends with the write */
bool acquire_ends(const struct event *read, const struct event *tail);
bool causes(const struct graph *g, uint32_t a, uint32_t b);               /* causality order, of overlapping operations */
bool causes_read(const struct graph *g, uint32_t write, uint32_t read);   /* the same; an nc read knows its launch's start only */
uint32_t source_of(const struct graph *g, const struct event *read);      /* the write of all its bytes, or SOURCE_OPEN */

/* value.c: false: not known yet. */
uint64_t mask_of(uint32_t bytes);
bool value_known(const struct graph *g, struct value v, uint64_t *value);
bool value_read(const struct graph *g, uint32_t event, uint64_t *value);
bool value_written(const struct graph *g, uint32_t event, uint64_t *value);
bool outcome_possible(const struct graph *g);        /* as far as registers are known */
bool outcome_holds(const struct graph *g, const struct order *co);
bool constraints_hold(const struct graph *g);

/* solve.c: all executions of one weave; false: stop. */
bool solve(struct graph *g);
/* coherence.c: is there a coherence order that the axioms permit, with the outcome? False: stop. */
bool coherence_find(struct graph *g, bool *found);
/* race.c: one execution more, into the verdict. */
void race_judge(struct graph *g);
bool step_counted(struct graph *g); /* false: the limit is reached */

#endif
