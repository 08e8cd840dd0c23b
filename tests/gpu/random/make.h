/* A program under construction: what construct.c plans, and sync.c and slots.c add operations to. */
#ifndef GSAN_MAKE_H
#define GSAN_MAKE_H

#include "construct.h"
#include "forms.h"
#include "random/build.h"

#define SPIN_TRIES (1u << 24) /* of a wait that must end */
#define CONTROL(c) ((uint16_t)(forms_count() + (c)))
/* CTAs that synchronise by one word go one by one, each through what all others did: this many, but in some programs. */
enum { SYNC_CTAS = 12, SYNC_MORE = 2 /* percent */, STRONG_THREADS = 256 /* that access arrays strongly, but for one percent */ };
enum { ARRAYS = 3, PHASES = 4, MOST_BYTES = 2 << 20 };

/* What orders a phase before the next. The first four end the launch. */
enum border { BY_STREAM, BY_EVENT, BY_HOST, BY_COUNTER, BY_GRID, BY_LAST, BY_CHAIN, BORDERS };

struct array {
	uint32_t size, rows;            /* bytes of a slot; slots of a thread */
	int rank;
	uint64_t at, bytes;
	uint32_t first, tid_stride, cta_stride, step; /* of the current launch: where slots lie */
	uint16_t tid_mul, tid_add;      /* of the current phase: which thread has which */
	uint32_t tid_mask;
	int quiet;                      /* nobody has written to it since work was last waited for by host or stream */
	int read;                       /* in the phase before, all might read all of it */
};

struct make {
	struct build b; /* a source of chances */
	const struct construct_options *o;
	struct native *p;
	struct native_launch *l;
	int phases, phase, breaks;      /* the border that is broken; -1: none */
	const char *how;                /* it is broken */
	enum border border[PHASES];
	uint32_t grid[PHASES], block[PHASES];
	struct array array[ARRAYS];
	int arrays, sync;               /* sync: kernel PLAYER_SYNC */
	uint32_t far;                   /* scopes have to be sys */
	uint32_t cta_first;             /* of this phase, by a chain: CTAs before it have nobody to read from */
	int single;                     /* the launch has no other phase */
	int running;                    /* a launch that a counter came from may run still */
};

uint32_t make_below(struct make *m, uint32_t n); /* 0 … n - 1 */
int make_chance(struct make *m, uint32_t percent);
uint64_t make_room(struct make *m, int rank, uint64_t bytes); /* offset of so much of the program's memory */
enum lit_scope make_scope(struct make *m);                    /* that reaches everybody */
/* Add to the current launch: an instruction of whose form there must be one, and what steers. For all threads. */
struct native_op *make_add(struct make *m, const struct lit_instr *i, int rank, uint64_t at, uint32_t value);
struct native_op *make_control(struct make *m, enum native_control what);

#endif
