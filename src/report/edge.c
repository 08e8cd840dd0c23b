/* Which operations a missing edge is made of: those that would have to be mended, by the class of what is missing. They say which pairs of
 * lines have one cause (group.c), and by what it is known again in another run (fingerprint.c). An operation whose place is not known is none. */
#include "report/report.h"

#include <errno.h>
#include <string.h>

#include "report/frame.h"
#include "report/order.h"

static void edge_add(struct report_edge *edge, const struct report_op *op)
{
	const struct report_op *known = &edge->op[0];
	if (op->at.file && (!edge->ops || report_op_order(known, op)) && edge->ops < REPORT_EDGE_OPS)
		edge->op[edge->ops++] = *op;
}

static void edge_add_flag(struct report_edge *edge, const struct report_flag *flag)
{
	edge_add(edge, &(struct report_op){flag->kernel, flag->at, flag->inlined_at, flag->scope, flag->semantics, NULL, NULL});
}

static void edge_add_side(struct report_edge *edge, const struct report_side *side)
{
	edge_add(edge, &(struct report_op){side->kernel, side->at, side->inlined_at, side->scope, side->semantics, NULL, NULL});
}

static void edge_write(struct report_edge *edge, const struct report_finding *f) { edge_add_flag(edge, &f->flag_write); }
static void edge_read(struct report_edge *edge, const struct report_finding *f) { edge_add_flag(edge, &f->flag_read); }

static void edge_both(struct report_edge *edge, const struct report_finding *f)
{
	edge_write(edge, f);
	edge_read(edge, f);
}

/* The one whose scope leaves the other side out, or both; where it is a fence's, that one, or, if its place is not known, the flag. */
static void edge_narrow(struct report_edge *edge, const struct report_finding *f)
{
	const struct report_flag *const fence[] = {report_narrow_fence(f, 0), report_narrow_fence(f, 1)};
	if (fence[0])
		edge_add_flag(edge, fence[0]);
	if (fence[1])
		edge_add_flag(edge, fence[1]);
	if (edge->ops)
		return;
	const int acquire = f->reason == GSAN_WHY_ACQUIRE_SCOPE, flagged = acquire || f->reason == GSAN_WHY_RELEASE_SCOPE;
	if (flagged) {
		if (!report_includes(f, f->flag_write.scope))
			edge_write(edge, f);
		if (!report_includes(f, f->flag_read.scope))
			edge_read(edge, f);
		if (!edge->ops)
			(acquire ? edge_read : edge_write)(edge, f);
		return;
	}
	const int first = report_includes(f, f->first.scope), second = report_includes(f, f->second.scope);
	if (!first || second)
		edge_add_side(edge, &f->first);
	if (!second || first)
		edge_add_side(edge, &f->second);
}

/* Of several accesses behind one release, or behind one flag of another CTA, each is mended by itself. */
static void edge_late(struct report_edge *edge, const struct report_finding *f)
{
	edge_write(edge, f);
	if (edge->ops)
		edge_add_side(edge, &f->first);
}

static void edge_weak(struct report_edge *edge, const struct report_finding *f)
{
	(f->reason == GSAN_WHY_WEAK_READ ? edge_read : edge_write)(edge, f);
}

/* A barrier before what raises the flag, or behind what awaits it. */
static void edge_barrier(struct report_edge *edge, const struct report_finding *f)
{
	((f->reason == GSAN_WHY_ACQUIRED_ALONE && f->flag_read.at.file) || f->reason == GSAN_WHY_UNAWAITED ? edge_read : edge_write)(edge, f);
}

/* The wait of who writes again, or where one is missing. */
static void edge_reuse(struct report_edge *edge, const struct report_finding *f)
{
	edge_read(edge, f);
	if (!edge->ops)
		edge_add_side(edge, report_writer(f));
}

static void edge_late_acquire(struct report_edge *edge, const struct report_finding *f)
{
	edge_read(edge, f);
	edge_add_side(edge, report_reader(f));
}

/* The lock, which who accesses without it has to take once for all it does. */
static void edge_lock(struct report_edge *edge, const struct report_finding *f) { (f->flag_write.at.file ? edge_write : edge_read)(edge, f); }

static void edge_load(struct report_edge *edge, const struct report_finding *f)
{
	edge_add_side(edge, f->first.op && !strcmp(f->first.op, "ld.nc") ? &f->first : &f->second);
}

static void edge_none(struct report_edge *edge, const struct report_finding *f) { (void)edge, (void)f; }

/* Of the places at which an operation was inlined, those are kept that are the user's: what is within them is a library's. A helper that is called
 * twice makes two operations, for it may be the calls that want mending. */
static int edge_frame(struct report *r, struct report_op *op)
{
	struct frame own = frame_first(op->inlined_at, NULL);
	if (!frame_own(&own, &op->at))
		return 0;
	op->inlined_at = report_copy(r, own.at);
	return op->inlined_at ? 0 : -ENOMEM;
}

int report_set_edge(struct report *r, struct report_finding *f)
{
	static void (*const add[REPORT_CLASSES])(struct report_edge *edge, const struct report_finding *f) = {
		[REPORT_NO_CLASS] = edge_none,		[REPORT_MISSING_RELEASE] = edge_write, [REPORT_MISSING_ACQUIRE] = edge_read,
		[REPORT_MISSING_BOTH] = edge_both,	[REPORT_NARROW_SCOPE] = edge_narrow,   [REPORT_EARLY_RELEASE] = edge_late,
		[REPORT_WEAK_FLAG] = edge_weak,		[REPORT_OTHER_FLAG] = edge_late,       [REPORT_MISSING_BARRIER] = edge_barrier,
		[REPORT_STALE_FLAG] = edge_read,	[REPORT_EARLY_REUSE] = edge_reuse,     [REPORT_LATE_ACQUIRE] = edge_late_acquire,
		[REPORT_MISSING_LOCK] = edge_lock,
		[REPORT_MISSING_DEPENDENCY] = edge_none, [REPORT_FREED] = edge_none, [REPORT_MISSING_STREAM_EDGE] = edge_none,
		[REPORT_NON_COHERENT] = edge_load,	[REPORT_NO_SYNCHRONISATION] = edge_none,
	};
	int rc = 0;
	f->edge.ops = 0;
	add[f->missing_edge_class](&f->edge, f);
	for (uint32_t i = 0; i < f->edge.ops && !rc; i++)
		rc = edge_frame(r, &f->edge.op[i]);
	return rc;
}

uint32_t report_parts(const struct report_finding *f)
{
	const int both = f->missing_edge_class == REPORT_MISSING_BOTH || f->missing_edge_class == REPORT_NARROW_SCOPE;
	return both && f->edge.ops == REPORT_EDGE_OPS ? REPORT_EDGE_OPS : 0;
}

enum report_class report_part_class(const struct report_finding *f, uint32_t i)
{
	static const enum report_class one[REPORT_EDGE_OPS] = {REPORT_MISSING_RELEASE, REPORT_MISSING_ACQUIRE};
	return report_parts(f) && f->missing_edge_class == REPORT_MISSING_BOTH ? one[i] : f->missing_edge_class;
}

int report_is_likely(const struct report_finding *f) { return f->edge.ops && !f->certain && !f->only; }
void report_add_why(struct text *out, const struct report_finding *f)
{
	text_puts(out, report_is_likely(f) ? "likely: " : "");
	text_puts(out, f->missing_edge ? f->missing_edge : "?");
}

int report_knows_edge(const struct report_finding *f) { return f->edge.ops && f->certain; }

void report_add_op(struct text *out, const struct report_op *op) { report_add_frame(out, &op->at, op->inlined_at); }
