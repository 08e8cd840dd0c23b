/* CUDA graphs. A capture, or calls that add nodes, make the program's graph, which stays as it is. When it is instantiated, we read a copy of it, put
 * clones in the place of its kernels, and update the executable graph by that, as a program could: so nodes keep their handles, whatever
 * the program changes by these goes on to be what it asked for, and where any of it does not work the graph runs plain, as one launch
 * that may order anything.
 *
 * A replay behaves as the work that it replays (DESIGN §7): each node is numbered, in an order in which they may run, as if chains of them were
 * enqueued in streams that wait for each other (replay.c). The first chain goes on in the stream of the replay; further ones have slots of
 * their own, known by that stream. How its records come to the device: records.h; without a look at each node, where all are checked kernels: steady.h. */
#ifndef GSAN_DRIVER_GRAPH_H
#define GSAN_DRIVER_GRAPH_H

#include "driver/copy.h"
#include "driver/launch.h"
#include "driver/records.h"
#include "driver/steady.h"

#define GRAPH_CHAINS GSAN_CHAINS

enum graph_kind {
	GRAPH_NOTHING, /* only waits, or records an event, of which nothing is known then (event.c) */
	GRAPH_KERNEL,
	GRAPH_COPY,    /* or a set */
	GRAPH_OTHER    /* may order anything, and wait for anything */
};

/* How reports call copies and sets; whose line they have is that of the replay. */
enum graph_copy { GRAPH_MEMCPY, GRAPH_MEMSET, GRAPH_COPIES };
extern const char *const graph_copy_name[GRAPH_COPIES];

struct graph_node {
	enum graph_kind kind;
	int off;          /* the program switched it off: it only waits */
	uint32_t chain;
	uint32_t first, count; /* waits for those at graph.before[first] and behind it */
	uint32_t kept;    /* 0, or 1 + where its vector is kept for other chains */
	struct graph_kernel {
		const char *reason;  /* why it runs plain; NULL: its clone runs */
		int left_out;        /* because the user wants that */
		enum model model;
		struct launch_shape shape;
		uint32_t record;
	} kernel;
	enum graph_copy copies;
	struct copy *copy; /* what it touches */
};

static inline int graph_does(const struct graph_node *n) { return n->kind != GRAPH_NOTHING && !n->off; }

struct graph_handle { CUgraphNode node; uint32_t at; }; /* sorted by node */

/* What a program's graph holds; child graphs lie between a node that waits for what they wait for, and one that waits for their ends. */
struct graph_plan {
	struct graph_node *node;  /* none before what it waits for */
	uint32_t *before;         /* places of nodes */
	struct graph_handle *handle; /* of the graph itself, not of its child graphs */
	uint32_t nodes, befores, handles, chains, kept, kernels, takes_tags;
	uint32_t tail[GRAPH_CHAINS]; /* the last node of each chain */
	uint32_t room, before_room;
};

struct graph {
	struct flow *flow;
	CUcontext context;
	pthread_mutex_t lock;       /* one replay or change after the other */
	const char *opaque;         /* why its nodes are not known; NULL: they are */
	struct graph_plan plan;
	struct steady steady;
	struct records *records;    /* NULL: no kernel was ever a clone */
	uint32_t slot[GRAPH_CHAINS], slots; /* of the newest replay's chains, so many */
	struct clock_vec *kept;
	uint32_t *seq;              /* of its nodes in the newest replay, */
	struct clock_vec end;       /* which is before the next, in whatever stream that is, and what was before it */
	uint32_t end_in;            /* the slot that knows that already; CLOCK_SHARED: none does for sure */
};

/* Reads `copy`, a clone of the program's graph, and puts clones of kernels into it. NULL, or why it cannot be. */
const char *graph_read(struct graph *g, CUgraph program, CUgraph copy);
void graph_plan_free(struct graph_plan *p);
uint32_t graph_place(const struct graph_plan *p, CUgraphNode node); /* UINT32_MAX: it is not known */
/* What a node copies, or sets. 0 or -ENOMEM: only if it is told the first time. */
int graph_copies(struct graph_node *n, const CUDA_MEMCPY3D *m);
int graph_sets(struct graph_node *n, CUdeviceptr to, size_t pitch, size_t width, size_t height);
/* What a node launches, in the driver's words; its clone goes there in its place, if it can: then k->reason is NULL. By set(), with the node's
 * attributes as `node` has them; `to` is set's. Whose kernel it is, for launch_say() once the driver took it; NULL: it is not known. */
struct graph_set { CUresult (*set)(const struct graph_set *to, const CUDA_KERNEL_NODE_PARAMS *p); CUgraphExec exec; CUgraphNode node; };
struct function *graph_kernel(struct graph *g, struct graph_kernel *k, const struct graph_set *to, const CUDA_KERNEL_NODE_PARAMS *p);

void graph_forget_context(CUcontext context); /* it has ended */

void graph_say(struct flow *f, const char *reason); /* why one ran unchecked: a string literal */

/* A replay of what is known; g->lock is held. */
CUresult graph_replay(struct graph *g, CUgraphExec exec, uint32_t slot, CUstream stream);

#endif
