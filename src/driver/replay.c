/* A graph is replayed: each node gets its number, as the work that it stands for would (graph.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/real.h"
#include "driver/caller.h"
#include "driver/graph.h"
#include "driver/late.h"
#include "vmm/vmm.h"

struct replay {
	struct graph *g;
	struct flow *f;
	CUstream stream;
	const uint32_t *slot;      /* by chain */
	struct steady *steady;     /* NULL: its nodes are numbered one by one */
	int makes;                 /* records are made on the device, from */
	struct gsan_replay all;
	struct gsan_launch *image; /* else the host writes them here; NULL: no clone gets a record */
	const char *unchecked;     /* why kernels are nobody's and copies unchecked; NULL: they are not */
	uint32_t caller[GRAPH_COPIES]; /* caller_kernel() of copies and sets; 0: none is checked */
	uint32_t nobody;           /* the number of all its kernels, if they are nobody's */
	uint32_t half;             /* to be renewed, if -EAGAIN says so */
};

/* ---- one node -------------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct replay *r, const struct graph_node *n) { return r->slot[n->chain]; }

/* The stream's own slot is locked as long as the replay takes. */
static void queue_enter(const struct replay *r, uint32_t slot)
{
	if (slot != r->slot[0])
		flow_enter(r->f, slot);
}

static void queue_leave(const struct replay *r, uint32_t slot)
{
	if (slot != r->slot[0])
		flow_enqueued(r->f, slot);
}

static int is_plain(const struct replay *r, const struct graph_node *n) { return n->kernel.reason || r->unchecked; }

/* It touches memory that is checked. */
static int is_range(const struct graph_node *n) { return n->copy->boxes.written.rows || n->copy->boxes.read.rows; }

static uint32_t caller_of(const struct replay *r, const struct graph_node *n) { return r->caller[n->copies]; }

/* Why it is not checked; NULL: it is. */
static const char *copy_reason(const struct replay *r, const struct graph_node *n)
{
	return r->unchecked ? r->unchecked : late_refuses(r->f) ? late_refuses(r->f) : n->copy->late ? NULL : "out of memory";
}

static enum clock_use use_of(const struct replay *r, const struct graph_node *n)
{
	int checked = n->kind == GRAPH_KERNEL ? !is_plain(r, n) : n->kind == GRAPH_COPY && is_range(n) && !r->unchecked && caller_of(r, n);
	return checked ? CLOCK_CHECKED : CLOCK_PLAIN;
}

/* Of one that runs plain; nobody's says nothing of what it does. */
static enum model model_of(const struct graph_node *n) { return n->kernel.reason ? n->kernel.model : MODEL_NONE; }

/* flow_copies_out() was called for it. */
static int is_out(const struct graph_node *n) { return n->kind == GRAPH_OTHER || (n->kind == GRAPH_COPY && n->copy->way & COPY_OUT); }

static void kernel_numbered(const struct replay *r, const struct graph_node *n, uint32_t slot, uint32_t seq)
{
	if (is_plain(r, n)) {
		launch_opens(r->f, model_of(n), slot, seq);
		return;
	}
	r->image[n->kernel.record] = *launch_record(r->f, &n->kernel.shape, slot, seq);
	if (n->kernel.shape.unseen)
		flow_writes(r->f, slot, seq);
}

static void copy_numbered(const struct replay *r, struct graph_node *n, uint32_t slot, uint32_t seq)
{
	struct copy *c = n->copy;

	c->slot = slot;
	c->seq = seq;
	c->late = use_of(r, n) == CLOCK_CHECKED ? late_new(r->f, c, caller_of(r, n)) : NULL;
	if (c->way & COPY_OUT)
		flow_copies_out(r->f, slot, seq);
	if (c->way & COPY_IN)
		flow_writes(r->f, slot, seq);
}

static void other_numbered(const struct replay *r, uint32_t slot, uint32_t seq)
{
	flow_event(r->f, JOB_EVENT_OPAQUE, slot, seq);
	flow_copies_out(r->f, slot, seq);
	flow_writes(r->f, slot, seq);
	clock_wait_unknown(&r->f->clock, slot, seq);
}

static int node_number(struct replay *r, struct graph_node *n, uint32_t *seq)
{
	uint32_t slot = slot_of(r, n);
	int rc = flow_number_in(r->f, slot, use_of(r, n), seq, &r->half);

	if (rc)
		return rc;
	if (n->kind == GRAPH_KERNEL)
		kernel_numbered(r, n, slot, *seq);
	else if (n->kind == GRAPH_COPY)
		copy_numbered(r, n, slot, *seq);
	else
		other_numbered(r, slot, *seq);
	return 0;
}

static int node_go(struct replay *r, uint32_t at)
{
	struct graph_node *n = &r->g->plan.node[at];
	uint32_t slot = slot_of(r, n);
	int rc = 0;

	queue_enter(r, slot);
	graph_waits(r->g, n, &r->f->clock, r->slot);
	if (graph_does(n))
		rc = node_number(r, n, &r->g->seq[at]);
	if (!rc && n->kept)
		clock_record(&r->f->clock, slot, &r->g->kept[n->kept]);
	queue_leave(r, slot);
	return rc;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

/* Kernels that are all nobody's are one launch that may order anything. */
static int is_nobody(const struct replay *r) { return r->steady && r->unchecked; }

/* Those before `end` were told of, and do not come. Their numbers are not used. */
static void replay_take_back(const struct replay *r, uint32_t end)
{
	if (is_nobody(r))
		launch_opens_not(r->f, MODEL_NONE, r->nobody);
	for (uint32_t at = 0; at < end && !r->steady; at++) {
		struct graph_node *n = &r->g->plan.node[at];
		if (!graph_does(n))
			continue;
		if (n->kind == GRAPH_KERNEL && is_plain(r, n))
			launch_opens_not(r->f, model_of(n), r->g->seq[at]);
		else if (n->kind == GRAPH_OTHER)
			flow_event_take_back(r->f, r->g->seq[at]);
		else if (n->kind == GRAPH_COPY && n->copy->late)
			late_enqueued(n->copy->late, r->stream, 0, 0);
		if (is_out(n))
			flow_copied_out(r->f, 1);
	}
}

static int replay_number_each(struct replay *r)
{
	struct graph_plan *p = &r->g->plan;

	clock_wait(&r->f->clock, r->slot[0], &r->g->end);
	if (p->kept)
		clock_record(&r->f->clock, r->slot[0], &r->g->kept[0]);
	for (uint32_t at = 0; at < p->nodes; at++) {
		int rc = node_go(r, at);
		if (rc) {
			replay_take_back(r, at);
			return rc;
		}
	}
	for (uint32_t chain = 1; chain < p->chains; chain++)
		clock_wait(&r->f->clock, r->slot[0], &r->g->kept[p->node[p->tail[chain]].kept]);
	return 0;
}

static void steady_numbered(struct replay *r, uint32_t seq)
{
	const struct graph_plan *p = &r->g->plan;
	const struct steady *s = r->steady;

	r->all.base = *launch_record(r->f, &(struct launch_shape){.kernel = 0}, r->slot[0], seq);
	for (uint32_t chain = 0; chain < p->chains; chain++) {
		uint32_t slot = r->slot[chain];
		r->all.slot[chain] = (uint8_t)slot;
		r->g->seq[p->tail[chain]] = seq + s->chain[chain].last - 1;
		if (!s->writes[chain])
			continue;
		queue_enter(r, slot);
		flow_writes(r->f, slot, seq + s->writes[chain] - 1);
		queue_leave(r, slot);
	}
	for (uint32_t i = 0; i < p->kernels && !r->makes; i++)
		gsan_node_record(&r->all, &s->node[i], &r->image[i]);
}

/* The slot of whose newest launch the end tells of that of the replay, so that it is this stream's as long; CLOCK_SHARED: there is none. */
static uint32_t replay_slot(const struct replay *r) { return r->steady && r->steady->chain[0].last ? r->slot[0] : CLOCK_SHARED; }

static int replay_number_steady(struct replay *r)
{
	uint32_t seq, slot = r->slot[0];

	if (r->g->end_in != slot)
		clock_wait(&r->f->clock, slot, &r->g->end);
	int rc = flow_number_block(r->f, &r->steady->block, &seq, &r->half);
	if (!rc)
		steady_numbered(r, seq);
	return rc;
}

static int replay_number_nobody(struct replay *r)
{
	uint32_t slot = r->slot[0];

	clock_wait(&r->f->clock, slot, &r->g->end);
	int rc = flow_number_in(r->f, slot, CLOCK_PLAIN, &r->nobody, &r->half);
	if (!rc)
		launch_opens(r->f, MODEL_NONE, slot, r->nobody);
	return rc;
}

static int replay_number(struct replay *r)
{
	int rc = is_nobody(r) ? replay_number_nobody(r) : r->steady ? replay_number_steady(r) : replay_number_each(r);
	if (!rc) {
		clock_record(&r->f->clock, r->slot[0], &r->g->end);
		r->g->end_in = replay_slot(r);
	}
	return rc;
}

static void replay_nobody(struct replay *r, const char *reason)
{
	r->unchecked = reason;
	r->steady = r->g->records ? steady_of(r->g, r->slot) : NULL;
}

static void replay_image(struct replay *r)
{
	r->image = records_image(r->g->records);
	if (!r->image)
		replay_nobody(r, "more replays of its graph are under way than there is room for");
}

/* Its nodes are numbered one by one: what is before it leaves no room for more, or no row of tags is free. */
static void replay_each(struct replay *r)
{
	r->steady = NULL;
	r->makes = 0;
	if (!r->image)
		replay_image(r);
}

/* How its records come. */
static void replay_records(struct replay *r)
{
	struct graph *g = r->g;

	if (!g->records)
		return;
	r->steady = steady_of(g, r->slot);
	r->makes = r->steady && records_makes(g->records, r->f, r->stream);
	if (!r->makes || !r->steady->told)
		replay_image(r);
}

/* The stream's queue is locked on return. */
static void replay_begin(struct replay *r)
{
	late_hear();
	for (;;) {
		flow_enter(r->f, r->slot[0]);
		int rc = replay_number(r);
		if (!rc)
			return;
		flow_enqueued(r->f, r->slot[0]);
		if (rc == -EAGAIN)
			flow_renew(r->f, r->half);
		else if (r->steady)
			replay_each(r);
		else
			replay_nobody(r, FLOW_NO_TAG);
	}
}

static void kernel_done(const struct replay *r, const struct graph_node *n)
{
	if (is_plain(r, n))
		launch_count(r->f, n->kernel.left_out);
	else
		atomic_fetch_add_explicit(&r->f->rank->launches_checked, 1, memory_order_relaxed);
}

static void copy_done(const struct replay *r, struct graph_node *n)
{
	struct copy *c = n->copy;

	c->flow = r->f;
	c->unchecked = is_range(n) ? copy_reason(r, n) : NULL;
	if (c->late && late_enqueued(c->late, r->stream, 1, 0))
		c->unchecked = COPY_NO_EVENT;
	copy_counted(c);
}

static void replay_done(const struct replay *r)
{
	if (r->unchecked)
		graph_say(r->f, r->unchecked);
	if (r->steady) {
		_Atomic uint64_t *launches = r->unchecked ? &r->f->rank->launches_unchecked : &r->f->rank->launches_checked;
		atomic_fetch_add_explicit(launches, r->steady->block.count, memory_order_relaxed);
		return;
	}
	for (uint32_t at = 0; at < r->g->plan.nodes; at++) {
		struct graph_node *n = &r->g->plan.node[at];
		if (!graph_does(n))
			continue;
		if (n->kind == GRAPH_KERNEL)
			kernel_done(r, n);
		else if (n->kind == GRAPH_COPY)
			copy_done(r, n);
		if (is_out(n))
			flow_copied_out(r->f, 0);
	}
}

/* That it is over says so of all its chains. */
static void replay_marks(const struct replay *r)
{
	const struct graph_plan *p = &r->g->plan;

	if (is_nobody(r)) {
		flow_mark(r->f, r->slot[0], r->stream, r->nobody);
		return;
	}
	for (uint32_t chain = 0; chain < p->chains; chain++) {
		uint32_t at = p->tail[chain], slot = r->slot[chain];
		if (!graph_does(&p->node[at]))
			continue;
		queue_enter(r, slot);
		flow_mark(r->f, slot, r->stream, r->g->seq[at]);
		queue_leave(r, slot);
	}
}

static CUresult replay_make(struct replay *r)
{
	struct steady *s = r->steady;
	CUresult rc = CUDA_SUCCESS;

	if (!s->told) {
		memcpy(r->image, s->node, r->g->plan.kernels * sizeof(*r->image));
		rc = records_tell(r->g->records, r->stream);
		s->told = rc == CUDA_SUCCESS;
	}
	return rc == CUDA_SUCCESS ? records_make(r->g->records, r->f, &r->all, r->slot[0], r->stream) : rc;
}

static CUresult replay_launch(struct replay *r, CUgraphExec exec)
{
	struct records *records = r->g->records;
	CUresult rc = !records ? CUDA_SUCCESS : r->unchecked ? records_bring_nobody(records, r->stream) :
		      r->makes ? replay_make(r) : records_bring(records, r->stream);

	if (rc == CUDA_SUCCESS)
		rc = real.cuGraphLaunch(exec, r->stream);
	if (rc == CUDA_SUCCESS && records)
		records_used(records, replay_slot(r), r->stream);
	return rc;
}

/* Before any queue is locked: it may ask the supervisor. */
static void replay_callers(struct replay *r)
{
	const struct graph_plan *p = &r->g->plan;

	for (uint32_t at = 0; at < p->nodes && !late_refuses(r->f); at++)
		if (p->node[at].kind == GRAPH_COPY && is_range(&p->node[at]) && !caller_of(r, &p->node[at]))
			r->caller[p->node[at].copies] = caller_kernel(r->f, p->node[at].copy->name);
}

static const uint32_t *replay_slots(struct graph *g, uint32_t slot)
{
	if (g->slot[0] != slot)
		g->slots = 0;
	g->slot[0] = slot;
	for (g->slots += !g->slots; g->slots < g->plan.chains; g->slots++)
		g->slot[g->slots] = flow_branch(g->flow, slot, g->slots);
	return g->slot;
}

CUresult graph_replay(struct graph *g, CUgraphExec exec, uint32_t slot, CUstream stream)
{
	struct replay r = {.g = g, .f = g->flow, .stream = stream, .slot = replay_slots(g, slot)};

	replay_records(&r);
	replay_callers(&r);
	replay_begin(&r);
	CUresult rc = replay_launch(&r, exec);
	if (rc == CUDA_SUCCESS) {
		replay_done(&r);
		replay_marks(&r);
	} else {
		replay_take_back(&r, g->plan.nodes);
	}
	flow_enqueued(g->flow, slot);
	late_go_on(g->flow);
	return rc;
}
