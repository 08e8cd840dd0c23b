/* Random traces, and what definition_test.c knows of them: each line as a node, which a logical thread does. traces.c makes both. */
#ifndef REFERENCE_TRACES_H
#define REFERENCE_TRACES_H

#include <stdint.h>

#define NODES 192
#define LAUNCHES 8
#define STREAMS 3
#define CTAS 3
#define LINES 400
#define WARPS 3
#define LANES 4 /* that do something, of a warp */
#define BARRIERS 5 /* of a CTA: bar 0 and 1, mbarriers at 0, 1 and 8 */
#define MBARRIERS 2 /* the first of them */

/* NODE_FLAG: by hand in shared memory, of all of the CTA; NODE_PHASE: a bar is complete, which orders nothing by itself. */
enum { NODE_START, NODE_END, NODE_FENCE, NODE_ACCESS, NODE_ARRIVE, NODE_PASS, NODE_FLAG, NODE_PHASE };

/* What a logical thread is, and how many of a CTA do something. */
struct unit {
	const char *name;
	unsigned flag;
	int threads, of_warp, inside; /* inside: races are looked for within a CTA */
};

struct node { /* what a logical thread does; a launch's start and end are fences of system scope */
	int type, launch, cta, thread; /* cta -1: start or end, of all CTAs; thread -1: of all of the CTA */
	int barrier, made, phase; /* of an arrival and a pass: which, how often it was made anew, how many phases were complete */
	int together, lane; /* of an access: the first that lanes of the thread's warp made together with it */
	unsigned line, site;
	int reads, writes, rmw, strong, nc, used, acquires, releases, scope; /* scope 0: none, 1 cta, 2 gpu, 3 sys */
	unsigned offset, bytes;
};

struct set {
	uint64_t word[NODES / 64];
};

struct world {
	const struct unit *unit;
	uint64_t seed;
	char line[LINES][128];
	unsigned lines;
	struct node node[NODES];
	int nodes, launches;
	struct {
		int stream, rank, device, state, told; /* state 0 queued, 1 running, 2 done */
		int start, end;
		unsigned after; /* launches, as bits */
		struct { int made, phase; } barrier[CTAS][BARRIERS];
	} launch[LAUNCHES];
	unsigned stream_after[STREAMS], recorded[LINES];
	int recordings, last_write[64]; /* by byte: node, -1 none */
	struct set observed[NODES];     /* writes that precede this read in observation order */
	struct set before[NODES];       /* base causality */
	struct set inside[NODES];       /* program order and barriers of the CTA */
	int formal;                     /* the rules of formal races hold, too (formal.c) */
};

/* traces.c */
void traces_generate(struct world *w, const struct unit *unit, uint64_t seed);
/* definition_test.c: program order, of both if a launch's start or end is one; and what access n reads when it executes. */
int definition_same_thread(const struct node *a, const struct node *b);
void definition_observe(struct world *w, int n);

#endif
