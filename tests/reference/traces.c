/* Random traces: launches in streams, recordings and waits, accesses of lanes, fences, and barriers inside CTAs, with no program
 * behind them: whatever a trace may say, in any order that it may come in. */
#include "reference/traces.h"

#include "check.h"

#include <string.h>

static unsigned pick(struct world *w, unsigned n)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->seed >> 33) % n;
}

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
	if (before && definition_same_thread(before, a) && before->site == a->site && before->lane / 32 == a->lane / 32 && before->lane < a->lane)
		a->together = before->together;
}

static void do_lane(struct world *w, struct node like, const char *op, const char *sem)
{
	struct node *n = node_add(w, NODE_ACCESS, like.launch, like.cta, thread_of(w, like.lane));
	like.type = n->type, like.thread = n->thread, like.line = n->line;
	like.site = like.site ? like.site : like.line;
	*n = like;
	together(w, w->nodes - 1);
	definition_observe(w, w->nodes - 1);
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

void traces_generate(struct world *w, const struct unit *unit, uint64_t seed)
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
