/* The reference detector against the definitions themselves: random short traces, whose races are also found by building
 * every relation of the memory model (PTX ISA 8.7 to 8.9) as a set of pairs. Nothing is shared but the trace: no clocks,
 * no cells, no chains, no history that shrinks. usage: definition_test ctas|warps|threads FROM TO, seeds. */
#include "reference/reference.h"

#include "check.h"

#include <string.h>

#define NODES 192
#define LAUNCHES 8
#define STREAMS 3
#define CTAS 3
#define LINES 400
#define PAIRS 4096

#define WARPS 3
#define LANES 4 /* that do something, of a warp */
#define BARRIERS 5 /* of a CTA: bar 0 and 1, mbarriers at 0, 1 and 8 */
#define MBARRIERS 2 /* the first of them */

/* NODE_FLAG: by hand in shared memory, of all of the CTA; NODE_PHASE: a bar is complete, which orders nothing by itself. */
enum { NODE_START, NODE_END, NODE_FENCE, NODE_ACCESS, NODE_ARRIVE, NODE_PASS, NODE_FLAG, NODE_PHASE };

/* What a logical thread is, and how many of a CTA do something. */
static const struct unit {
	const char *name;
	unsigned flag;
	int threads, of_warp, inside; /* inside: races are looked for within a CTA */
} units[] = { { "ctas", REF_CTAS, 1, 0, 0 }, { "warps", REF_WARPS, WARPS, 1, 0 }, { "threads", REF_THREADS, WARPS * LANES, LANES, 1 } };
#define UNITS (sizeof units / sizeof *units)

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
};

static int has(const struct set *s, int i) { return s->word[i / 64] >> (i % 64) & 1; }
static void put(struct set *s, int i) { s->word[i / 64] |= UINT64_C(1) << (i % 64); }
static void add(struct set *s, const struct set *t)
{
	for (int i = 0; i < NODES / 64; i++)
		s->word[i] |= t->word[i];
}

static unsigned pick(struct world *w, unsigned n)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->seed >> 33) % n;
}

/* ---- the relations */

static int same_cta(const struct node *a, const struct node *b)
{
	return a->launch == b->launch && (a->cta == b->cta || a->cta < 0 || b->cta < 0);
}

static int same_thread(const struct node *a, const struct node *b)
{
	return same_cta(a, b) && (a->thread == b->thread || a->thread < 0 || b->thread < 0);
}

/* Races of the two are not looked for: they count as in program order. */
static int one_program(const struct world *w, const struct node *a, const struct node *b)
{
	return w->unit->inside ? same_thread(a, b) : same_cta(a, b);
}

static int scopes_include(const struct world *w, const struct node *a, const struct node *b)
{
	if (w->unit->threads > 1 && same_cta(a, b))
		return 1;
	if (a->scope < 2 || b->scope < 2)
		return 0; /* .cta: the own CTA */
	return w->launch[a->launch].device == w->launch[b->launch].device || (a->scope == 3 && b->scope == 3);
}

static int same_bytes(const struct node *a, const struct node *b) { return a->offset == b->offset && a->bytes == b->bytes; }

static int morally_strong(const struct world *w, const struct node *a, const struct node *b)
{
	return same_bytes(a, b) && (one_program(w, a, b) || (a->strong && b->strong && scopes_include(w, a, b)));
}

/* 8.9.2, when access n executes: it reads what was written last. */
static void observe(struct world *w, int n)
{
	const struct node *a = &w->node[n];
	for (unsigned i = a->offset; i < a->offset + a->bytes; i++) {
		const int from = w->last_write[i];
		if (a->reads && a->strong && from >= 0 && morally_strong(w, &w->node[from], a)) {
			put(&w->observed[n], from);
			if (w->node[from].rmw)
				add(&w->observed[n], &w->observed[from]);
		}
	}
	for (unsigned i = a->offset; a->writes && i < a->offset + a->bytes; i++)
		w->last_write[i] = n;
}

/* Does node x begin a release pattern (8.8) that the strong write y ends? */
static int release_pattern(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (x > y || !b->strong || !b->writes || !same_thread(a, b) || !a->releases)
		return 0;
	return x == y || a->type != NODE_ACCESS || same_bytes(a, b);
}

/* Does node y end an acquire pattern that the strong read x begins? By the project's rule only results that are used count. */
static int acquire_pattern(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (x > y || !a->strong || !a->reads || (a->rmw && !a->used) || !same_thread(a, b) || !b->acquires)
		return 0;
	return x == y || b->type != NODE_ACCESS || same_bytes(a, b);
}

/* 8.9.4: a write of the pattern from x is observed by a read of the pattern to y; their ends reach each other. */
static int synchronises(const struct world *w, int x, int y)
{
	if (!w->node[x].releases || !w->node[y].acquires || !scopes_include(w, &w->node[x], &w->node[y]))
		return 0;
	for (int write = x; write < y; write++)
		for (int read = write + 1; read <= y; read++)
			if (has(&w->observed[read], write) && release_pattern(w, x, write) && acquire_pattern(w, read, y))
				return 1;
	return 0;
}

/* Who arrives at a phase is before who goes on behind it; of an mbarrier, whose arrivals are RMWs that continue each other, before
 * who goes on behind a later one, too. */
static int meet(const struct node *a, const struct node *b)
{
	if (a->type != NODE_ARRIVE || b->type != NODE_PASS || !same_cta(a, b) || a->barrier != b->barrier || a->made != b->made)
		return 0;
	return a->phase + 1 == b->phase || (a->barrier >= MBARRIERS && a->phase < b->phase);
}

static int direct(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (a->type == NODE_PHASE || b->type == NODE_PHASE)
		return 0;
	if (same_thread(a, b) || synchronises(w, x, y) || meet(a, b))
		return 1;
	return a->type == NODE_END && b->type == NODE_START && w->launch[b->launch].after >> a->launch & 1;
}

static void close_base(struct world *w) /* all relations lead forward in the trace */
{
	for (int y = 0; y < w->nodes; y++)
		for (int x = 0; x < y; x++)
			if (direct(w, x, y)) {
				put(&w->before[y], x);
				add(&w->before[y], &w->before[x]);
			}
}

static int causality(const struct world *w, int x, int y)
{
	if (has(&w->before[y], x))
		return 1;
	for (int z = x + 1; z < y; z++)
		if (has(&w->observed[z], x) && has(&w->before[y], z))
			return 1;
	return 0;
}

/* Do they race, unless they are in order? */
static int conflict(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (a->type != NODE_ACCESS || b->type != NODE_ACCESS || (!a->writes && !b->writes) || a->offset >= b->offset + b->bytes ||
	    b->offset >= a->offset + a->bytes)
		return 0;
	return b->nc || (!one_program(w, a, b) && !morally_strong(w, a, b));
}

static int races(const struct world *w, int x, int y)
{
	return conflict(w, x, y) && !causality(w, x, w->node[y].nc ? w->launch[w->node[y].launch].start : y);
}

/* Is y ordered after x as records are: as the same thread, or by launches? */
static int follows(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	return same_thread(a, b) || causality(w, x, w->launch[b->launch].start);
}

#define BEHIND_SITE (UINT64_C(1) << 63)
#define BEHIND NODES /* no node: all that stand for x are before y */

/* Is z before y, of another thread? Of a non-coherent load, before its launch. */
static int before(const struct world *w, int z, int y)
{
	const struct node *b = &w->node[y];
	if (b->nc)
		return causality(w, z, w->launch[b->launch].start);
	return !one_program(w, &w->node[z], b) && causality(w, z, y);
}

static int touches(const struct node *a, unsigned byte) { return byte >= a->offset && byte < a->offset + a->bytes; }

/* Does z touch the byte, or, if it is weak, a lane that made it together with z? */
static int lanes_touch(const struct world *w, int z, unsigned byte)
{
	const struct node *b = &w->node[z];
	int any = touches(b, byte);
	for (int i = b->together; !b->strong && i < w->nodes; i++)
		any |= w->node[i].type == NODE_ACCESS && w->node[i].together == b->together && touches(&w->node[i], byte);
	return any;
}

/* Does z stand for x, an earlier node, at this byte? There it touches it, and of x all bytes of its granule of 8. */
static int stands(const struct world *w, int x, int z, unsigned byte)
{
	const struct node *a = &w->node[x], *b = &w->node[z];
	if (b->type != NODE_ACCESS || !touches(b, byte) || b->writes < a->writes || b->strong > a->strong || (b->strong && b->scope > a->scope))
		return 0;
	int includes = 1;
	for (unsigned i = byte / 8 * 8; i < byte / 8 * 8 + 8; i++)
		includes &= !touches(a, i) || lanes_touch(w, z, i);
	return includes && follows(w, x, z);
}

/* What is left of x at the byte: the last node before `end` that stands for it and races with y, too, unless one stands for
 * that which is before y; -1: nothing but itself. Who looks at y late does not know whether what came since is behind it: another
 * warp of its CTA may have observed y. */
static int successor(const struct world *w, int x, int y, unsigned byte, int end)
{
	int racing = -1;
	for (int z = x + 1; z < end; z++)
		if (z != y && stands(w, x, z, byte) && (z < y ? races(w, z, y) : conflict(w, y, z)))
			racing = z;
	const int left = racing < 0 ? x : racing;
	for (int z = left + 1; z < end && z < y; z++)
		if (stands(w, left, z, byte) && before(w, z, y))
			return BEHIND;
	return racing;
}

static uint64_t site_bit(const struct node *a) { return UINT64_C(1) << (2 * a->site + (unsigned)a->launch % 2) % 63; }

/* The sites, as bits, of which one stands for x of a race when y is looked at, before one of the nodes up to `end`; 0: none does. That
 * of x only if it is the only one: the race would be its own name. */
static uint64_t stood(const struct world *w, int x, int y, unsigned byte, int end)
{
	const struct node *a = &w->node[x];
	uint64_t any = 0, own = 0;
	for (int now = y + 1; now <= end; now++) {
		const int z = successor(w, x, y, byte, now);
		if (z == BEHIND)
			return BEHIND_SITE;
		const struct node *b = &w->node[z < 0 ? x : z];
		*(b->site == a->site && b->launch % 2 == a->launch % 2 ? &own : &any) |= z < 0 ? 0 : site_bit(b);
	}
	return any ? any : own;
}

#define GROUPS 64
struct groups { /* different ones, of sites as bits; open: somewhere nothing stands for the first access */
	uint64_t any[GROUPS];
	int count, open;
};

static void group_add(struct groups *g, uint64_t any)
{
	int i = 0;
	while (i < g->count && g->any[i] != any)
		i++;
	CHECK(i < GROUPS);
	g->any[i] = any;
	g->count += i == g->count;
}

static int same_groups(const struct groups *g, const struct groups *h)
{
	int same = 0;
	if (g->open || h->open)
		return g->open == h->open;
	for (int i = 0; i < g->count; i++)
		for (int k = 0; k < h->count; k++)
			same += g->any[i] == h->any[k];
	return same == g->count && same == h->count;
}

/* Does a thread of the node synchronise there? One that is all of its CTA does at phases alone of what is inside that. */
static int settles(const struct world *w, const struct node *a)
{
	if (a->type == NODE_ACCESS)
		return a->strong;
	return w->unit->threads > 1 || a->type < NODE_ACCESS || a->type == NODE_PHASE;
}

/* Where the thread of y synchronises next, or its launch ends. */
static int settled(const struct world *w, int y)
{
	int z = y + 1;
	while (z < w->nodes && (!same_thread(&w->node[z], &w->node[y]) || !settles(w, &w->node[z])))
		z++;
	return z;
}

/* Adds what stands for x of a race, by the bytes that both touch. */
static void dominated(const struct world *w, int x, int y, struct groups *by)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	const int end = w->node[y].strong ? y + 1 : settled(w, y);
	struct groups all = { .count = 0 };
	for (unsigned i = 0; i < 64; i++) {
		if (!touches(a, i) || !touches(b, i))
			continue;
		const uint64_t any = stood(w, x, y, i, end);
		by->open |= !any;
		if (any)
			group_add(&all, any);
	}
	for (int i = 0; i < all.count && !by->open; i++)
		group_add(by, all.any[i]);
}

static enum ref_kind kind_of(const struct world *w, const struct node *a, const struct node *b)
{
	if (a->strong && b->strong && !scopes_include(w, a, b))
		return REF_SCOPE;
	if ((a->rmw && a->writes) || (b->rmw && b->writes))
		return REF_ATOMIC_PLAIN;
	return b->nc ? REF_STALE_NC : !b->writes ? REF_RAW : a->writes ? REF_WAW : REF_WAR;
}

/* ---- random traces */

static struct node *node_add(struct world *w, int type, int launch, int cta, int thread)
{
	CHECK(w->nodes < NODES);
	struct node *n = &w->node[w->nodes++];
	*n = (struct node){ .type = type, .launch = launch, .cta = cta, .thread = thread, .line = w->lines + 1 };
	if (type == NODE_START || type == NODE_END) {
		n->scope = 3;
		n->releases = n->acquires = 1;
	}
	return n;
}

static char *say(struct world *w)
{
	CHECK(w->lines < LINES);
	return w->line[w->lines++];
}

static void do_enqueue(struct world *w)
{
	if (w->launches == LAUNCHES)
		return;
	const int l = w->launches++, stream = (int)pick(w, STREAMS), rank = stream > 0;
	w->launch[l].stream = stream;
	w->launch[l].rank = rank;
	w->launch[l].device = rank && stream == 2;
	w->launch[l].after = w->stream_after[stream];
	for (int i = 0; i < l; i++)
		w->launch[l].after |= (unsigned)w->launch[i].told << i;
	w->stream_after[stream] |= 1u << l;
	snprintf(say(w), 128, "launch %d rank %d device %d stream %d kernel k%d grid %d 1 1 block %d", l, rank, w->launch[l].device, stream,
		 l % 2, CTAS, 32 * WARPS);
}

static void do_begin_or_end(struct world *w)
{
	const int l = w->launches ? (int)pick(w, (unsigned)w->launches) : 0;
	if (l == w->launches || w->launch[l].state == 2)
		return;
	for (int i = 0; i < w->launches; i++)
		if (w->launch[l].after >> i & 1 && w->launch[i].state != 2)
			return;
	if (w->launch[l].state && pick(w, 4))
		return; /* let it run a while */
	node_add(w, w->launch[l].state ? NODE_END : NODE_START, l, -1, -1);
	*(w->launch[l].state ? &w->launch[l].end : &w->launch[l].start) = w->nodes - 1;
	snprintf(say(w), 128, "%s %d", w->launch[l].state ? "done" : "begin", l);
	w->launch[l].state++;
}

/* A recording holds what its stream holds: with it, all that those launches come after. */
static void do_record_or_wait(struct world *w)
{
	const int stream = (int)pick(w, STREAMS);
	if (!w->recordings || pick(w, 2)) {
		w->recorded[w->recordings] = w->stream_after[stream];
		snprintf(say(w), 128, "record %d %d", w->recordings++, stream);
	} else {
		const int from = (int)pick(w, (unsigned)w->recordings);
		w->stream_after[stream] |= w->recorded[from];
		snprintf(say(w), 128, "wait %d %d", from, stream);
	}
}

static void do_complete(struct world *w)
{
	const int l = w->launches ? (int)pick(w, (unsigned)w->launches) : 0;
	if (l == w->launches || w->launch[l].state != 2)
		return;
	w->launch[l].told = 1;
	snprintf(say(w), 128, "complete %d %d", w->launch[l].rank, l);
}

static int running(struct world *w)
{
	int found = -1, seen = 0;
	for (int i = 0; i < w->launches; i++)
		if (w->launch[i].state == 1 && !pick(w, (unsigned)++seen))
			found = i;
	return found;
}

static const char *const scope_names[] = { "-", "cta", "gpu", "sys" };

/* A lane of a warp, and the logical thread that it is. */
static int lane_any(struct world *w) { return 32 * (int)pick(w, WARPS) + (int)pick(w, LANES); }
static int thread_of(const struct world *w, int lane)
{
	return w->unit->of_warp == LANES ? lane / 32 * LANES + lane % 32 : w->unit->of_warp ? lane / 32 : 0;
}

static void do_fence(struct world *w, int launch, int cta)
{
	static const struct { const char *name; int acquires, releases; } kinds[] = {
		{ "acq_rel", 1, 1 }, { "acquire", 1, 0 }, { "release", 0, 1 }, { "sc", 1, 1 } };
	const unsigned kind = pick(w, 4);
	const int lane = lane_any(w);
	struct node *n = node_add(w, NODE_FENCE, launch, cta, thread_of(w, lane));
	n->acquires = kinds[kind].acquires;
	n->releases = kinds[kind].releases;
	n->scope = pick(w, 8) ? 2 + (int)pick(w, 2) : 1;
	snprintf(say(w), 128, "fence %d %d %d 0 %s %s", launch, cta, lane, kinds[kind].name, scope_names[n->scope]);
}

/* Those of one instruction come in the order of lanes, with nothing else between. */
static void together(struct world *w, int n)
{
	struct node *a = &w->node[n];
	const struct node *before = NULL;
	for (int i = 0; i < n; i++)
		before = w->node[i].type == NODE_ACCESS ? &w->node[i] : before;
	a->together = n;
	if (before && same_thread(before, a) && before->site == a->site && before->lane / 32 == a->lane / 32 && before->lane < a->lane)
		a->together = before->together;
}

static void do_lane(struct world *w, struct node like, const char *op, const char *sem)
{
	struct node *n = node_add(w, NODE_ACCESS, like.launch, like.cta, thread_of(w, like.lane));
	like.type = n->type, like.thread = n->thread, like.line = n->line;
	like.site = like.site ? like.site : like.line;
	*n = like;
	together(w, w->nodes - 1);
	observe(w, w->nodes - 1);
	snprintf(say(w), 128, "mem %d %d %d %u %s %s %s 5 %u %u %s %s", n->launch, n->cta, n->lane, n->site, op, sem, scope_names[n->scope],
		 n->offset, n->bytes, n->reads ? "0x0" : "-", n->writes ? "0x1" : "-");
}

/* By one lane, or by some of a warp, side by side. */
static void do_access(struct world *w, int launch, int cta, unsigned sites)
{
	static const struct { const char *op, *sem; int reads, writes, rmw, strong, acquires, releases, used; } ops[] = {
		{ "ld", "weak", 1, 0, 0, 0, 0, 0, 0 },        { "st", "weak", 0, 1, 0, 0, 0, 0, 0 },
		{ "ld", "nc", 1, 0, 0, 0, 0, 0, 0 },          { "ld", "relaxed", 1, 0, 0, 1, 0, 0, 0 },
		{ "ld", "acquire", 1, 0, 0, 1, 1, 0, 0 },     { "st", "relaxed", 0, 1, 0, 1, 0, 0, 0 },
		{ "st", "release", 0, 1, 0, 1, 0, 1, 0 },     { "atom", "acq_rel", 1, 1, 1, 1, 1, 1, 1 },
		{ "atom", "relaxed", 1, 1, 1, 1, 0, 0, 1 },   { "atom", "acquire", 1, 1, 1, 1, 1, 0, 1 },
		{ "red", "release", 1, 1, 1, 1, 0, 1, 0 },    { "red", "relaxed", 1, 1, 1, 1, 0, 0, 0 },
		{ "atom-", "acq_rel", 1, 1, 1, 1, 1, 1, 0 },  { "cas", "acq_rel", 1, 0, 1, 1, 1, 0, 1 },
		{ "cas", "release", 1, 1, 1, 1, 0, 1, 1 },    { "ld", "volatile", 1, 0, 0, 1, 0, 0, 0 },
	};
	const unsigned o = pick(w, 3) ? 3 + pick(w, 13) : pick(w, 12) ? pick(w, 2) : 2; /* nc: its races drown the others */
	struct node n = { .launch = launch, .cta = cta, .lane = lane_any(w) };
	const int weak = !ops[o].strong, partial = !pick(w, 6);
	n.reads = ops[o].reads, n.writes = ops[o].writes, n.rmw = ops[o].rmw, n.strong = ops[o].strong, n.used = ops[o].used;
	n.acquires = ops[o].acquires, n.releases = ops[o].releases, n.nc = !strcmp(ops[o].sem, "nc");
	n.scope = weak ? 0 : !strcmp(ops[o].sem, "volatile") || pick(w, 2) ? 3 : pick(w, 8) ? 2 : 1;
	n.offset = (weak ? 8 * pick(w, 3) : 8 * pick(w, 2)) + (partial ? pick(w, 4) : 0);
	n.bytes = partial ? 1u << pick(w, 3) : 4;
	n.site = sites ? 1 + pick(w, sites) : pick(w, 3) ? 0 : w->lines + 1;
	do_lane(w, n, ops[o].op, ops[o].sem);
	n.site = w->node[w->nodes - 1].site;
	/* Of lanes that repeat an instruction without the others the reference forgets whom they were with. */
	for (int more = weak && !sites && !pick(w, 4) ? 1 + (int)pick(w, 2) : 0; more && n.lane % 32 + 1 < LANES && w->nodes < NODES - 2 * LAUNCHES; more--) {
		n.lane++;
		n.offset += n.bytes;
		do_lane(w, n, ops[o].op, ops[o].sem);
	}
}

/* ---- barriers inside a CTA */

struct meeting { int launch, cta, barrier; };
static const char *const barrier_names[BARRIERS] = { "bar 0", "bar 1", "mbar 0", "mbar 1", "mbar 8" };

/* Some lanes of a warp arrive, or go on, at the phase that is due: a node for each logical thread of theirs. */
static void do_lanes(struct world *w, struct meeting at, int type)
{
	const int warp = (int)pick(w, WARPS);
	const unsigned lanes = 1 + pick(w, (1u << LANES) - 1);
	int last = -1;
	for (int l = 0; l < LANES; l++) {
		const int thread = thread_of(w, 32 * warp + l);
		if (!(lanes >> l & 1) || thread == last)
			continue;
		struct node *n = node_add(w, type, at.launch, at.cta, last = thread);
		n->barrier = at.barrier;
		n->made = w->launch[at.launch].barrier[at.cta][at.barrier].made;
		n->phase = w->launch[at.launch].barrier[at.cta][at.barrier].phase;
	}
	if (type == NODE_ARRIVE)
		snprintf(say(w), 128, "arrive %d %d %d 0x%x 0 %s %s 64", at.launch, at.cta, warp, lanes, barrier_names[at.barrier],
			 at.barrier < MBARRIERS ? "sync" : "release");
	else
		snprintf(say(w), 128, "pass %d %d %d 0x%x 0 %s sync", at.launch, at.cta, warp, lanes, barrier_names[at.barrier]);
}

static void do_phase(struct world *w, struct meeting at)
{
	w->launch[at.launch].barrier[at.cta][at.barrier].phase++;
	if (at.barrier < MBARRIERS)
		node_add(w, NODE_PHASE, at.launch, at.cta, -1);
	snprintf(say(w), 128, "phase %d %d %s", at.launch, at.cta, barrier_names[at.barrier]);
}

static void do_init(struct world *w, struct meeting at)
{
	w->launch[at.launch].barrier[at.cta][at.barrier].made++;
	w->launch[at.launch].barrier[at.cta][at.barrier].phase = 0;
	snprintf(say(w), 128, "init %d %d %s 64", at.launch, at.cta, barrier_names[at.barrier]);
}

/* Synchronisation by hand in shared memory, or an arrival without an order, which fences may give one. */
static void do_flag(struct world *w, int launch, int cta)
{
	const int lane = lane_any(w);
	node_add(w, NODE_FLAG, launch, cta, -1);
	if (pick(w, 2))
		snprintf(say(w), 128, "shared %d %d %d 0 st relaxed cta", launch, cta, lane);
	else
		snprintf(say(w), 128, "pass %d %d %d 0x1 0 mbar 64 relaxed", launch, cta, lane / 32);
}

/* A whole meeting, or a step of one. */
static void do_barrier(struct world *w, int launch, int cta)
{
	const struct meeting at = { launch, cta, (int)pick(w, BARRIERS) };
	const unsigned what = pick(w, 32);
	if (what == 0)
		do_flag(w, launch, cta);
	else if (what == 1 && at.barrier >= MBARRIERS)
		do_init(w, at);
	else if (what < 16)
		do_lanes(w, at, what < 9 ? NODE_ARRIVE : NODE_PASS);
	else if (what < 20)
		do_phase(w, at);
	else {
		for (unsigned n = 1 + pick(w, 3); n--;)
			do_lanes(w, at, NODE_ARRIVE);
		do_phase(w, at);
		for (unsigned n = 1 + pick(w, 3); n--;)
			do_lanes(w, at, NODE_PASS);
	}
}

static void generate(struct world *w, const struct unit *unit, uint64_t seed)
{
	memset(w, 0, sizeof *w);
	w->unit = unit;
	w->seed = seed * 2654435761u + 17;
	memset(w->last_write, 0xff, sizeof w->last_write);
	pick(w, 2);
	const unsigned sites = pick(w, 3) ? 0 : 1 + pick(w, 6), steps = 20 + pick(w, 120);
	snprintf(say(w), 128, "gsan-trace 1");
	for (unsigned i = 0; i < steps && w->nodes < NODES - 2 * LAUNCHES - 6 * LANES - 1; i++) {
		const unsigned what = pick(w, 18);
		const int launch = running(w), cta = (int)pick(w, CTAS);
		if (what == 0)
			do_enqueue(w);
		else if (what < 3 || launch < 0)
			do_begin_or_end(w), (void)(w->launches ? 0 : (do_enqueue(w), 0));
		else if (what == 3)
			do_record_or_wait(w);
		else if (what == 4)
			do_complete(w);
		else if (what < 7)
			do_fence(w, launch, cta);
		else if (what < 10 && (unit->threads > 1 || what == 9))
			do_barrier(w, launch, cta);
		else
			do_access(w, launch, cta, sites);
	}
}

/* ---- comparison */

struct tally {
	struct { enum ref_kind kind; unsigned site[2]; const char *kernel[2]; uint64_t count; struct groups by; } pair[PAIRS];
	int pairs;
};

/* Returns who stands for the first access of the pair. */
static struct groups *tally_add(struct tally *t, enum ref_kind kind, unsigned a, unsigned b, const char *ka, const char *kb, uint64_t count)
{
	int i = 0;
	while (i < t->pairs && (t->pair[i].kind != kind || t->pair[i].site[0] != a || t->pair[i].site[1] != b ||
				strcmp(t->pair[i].kernel[0], ka) || strcmp(t->pair[i].kernel[1], kb)))
		i++;
	CHECK(i < PAIRS);
	if (i == t->pairs) {
		t->pairs++;
		t->pair[i].kind = kind;
		t->pair[i].site[0] = a, t->pair[i].site[1] = b;
		t->pair[i].kernel[0] = ka, t->pair[i].kernel[1] = kb;
		t->pair[i].count = 0;
		t->pair[i].by.count = t->pair[i].by.open = 0;
	}
	t->pair[i].count += count;
	return &t->pair[i].by;
}

/* The same pair in another tally; -1: it is not there. */
static int tally_of(const struct tally *t, const struct tally *u, int i)
{
	for (int k = 0; k < t->pairs; k++)
		if (t->pair[k].kind == u->pair[i].kind && t->pair[k].site[0] == u->pair[i].site[0] && t->pair[k].site[1] == u->pair[i].site[1] &&
		    !strcmp(t->pair[k].kernel[0], u->pair[i].kernel[0]) && !strcmp(t->pair[k].kernel[1], u->pair[i].kernel[1]))
			return k;
	return -1;
}

static void say_groups(const struct groups *by)
{
	fprintf(stderr, ", dominated by%s", by->open ? " none" : "");
	for (int i = 0; i < by->count && !by->open; i++)
		fprintf(stderr, " %llx", (unsigned long long)by->any[i]);
}

static int differs(const struct tally *got, const struct tally *want, const char *what)
{
	int bad = 0;
	for (int i = 0; i < want->pairs; i++) {
		const int k = tally_of(got, want, i);
		if (k >= 0 && got->pair[k].count == want->pair[i].count && same_groups(&got->pair[k].by, &want->pair[i].by))
			continue;
		fprintf(stderr, "%s: race %s %s %u %s %u: %llu", what, ref_kind_name(want->pair[i].kind), want->pair[i].kernel[0],
			want->pair[i].site[0], want->pair[i].kernel[1], want->pair[i].site[1], (unsigned long long)want->pair[i].count);
		say_groups(&want->pair[i].by);
		fprintf(stderr, "; by the other %llu", (unsigned long long)(k < 0 ? 0 : got->pair[k].count));
		if (k >= 0)
			say_groups(&got->pair[k].by);
		fputc('\n', stderr);
		bad = 1;
	}
	return bad;
}

static void by_definition(struct world *w, struct tally *t)
{
	static const char *const kernels[] = { "k0", "k1" };
	close_base(w);
	for (int y = 0; y < w->nodes; y++)
		for (int x = 0; x < y; x++)
			if (races(w, x, y)) {
				const struct node *a = &w->node[x], *b = &w->node[y];
				dominated(w, x, y, tally_add(t, kind_of(w, a, b), a->site, b->site, kernels[a->launch % 2],
							     kernels[b->launch % 2], 1));
			}
}

/* A race of the same lines and kernels may come several times, by ranks. */
static void by_of(const struct ref_race *race, struct groups *by)
{
	by->open |= race->dominated != race->count;
	for (size_t i = 0, n; i < race->bys && !by->open; i += n) {
		uint64_t any = 0;
		for (n = 0; i + n < race->bys && (!n || race->by[i + n].or); n++) {
			const struct ref_site *s = &race->by[i + n];
			any |= !strcmp(s->kernel, "-") ? BEHIND_SITE : UINT64_C(1) << (2 * s->line + (uint32_t)(s->kernel[1] - '0')) % 63;
		}
		group_add(by, any);
	}
}

static int compare(const struct unit *unit, uint64_t seed, uint64_t *racy)
{
	static struct world w;
	static struct tally want, got;
	const struct ref_race *race;
	char error[512];
	want.pairs = got.pairs = 0;
	generate(&w, unit, seed);
	by_definition(&w, &want);
	struct ref *r = ref_open("random", unit->flag);
	for (unsigned i = 0; i < w.lines; i++)
		if (ref_line(r, w.line[i], error, sizeof error)) {
			fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, error);
			return 1;
		}
	const size_t n = ref_races(r, &race);
	for (size_t i = 0; i < n; i++)
		by_of(&race[i], tally_add(&got, race[i].kind, race[i].site[0], race[i].site[1], race[i].kernel[0], race[i].kernel[1],
					  race[i].count));
	const int bad = differs(&got, &want, "by definition") | differs(&want, &got, "by the detector");
	for (unsigned i = 0; bad && i < w.lines; i++)
		fprintf(stderr, "%4u %s\n", i + 1, w.line[i]);
	if (bad)
		fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	ref_close(r);
	*racy += want.pairs > 0;
	return bad;
}

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	const struct unit *unit = units;
	while (unit < units + UNITS && strcmp(unit->name, argv[1]))
		unit++;
	CHECK(unit < units + UNITS);
	const uint64_t from = strtoull(argv[2], NULL, 10), to = strtoull(argv[3], NULL, 10);
	uint64_t racy = 0;
	for (uint64_t seed = from; seed < to; seed++)
		if (compare(unit, seed, &racy))
			return 1;
	printf("%llu traces agree by %s, %llu of them racy\n", (unsigned long long)(to - from), unit->name, (unsigned long long)racy);
	return racy * 10 < to - from || racy == to - from; /* traces without both sorts would show nothing */
}
