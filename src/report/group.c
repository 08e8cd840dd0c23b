/* Pairs of lines that race become findings: one for each missing edge.
 *
 * Two pairs are one finding if one repair mends both, and only if something says so, for who mends one race must go on to see another:
 *  - they lack the same edge: equal are its class and the operations that would have to be mended (edge.c), by kernel, line of the user, scope
 *    and semantics. A release and an acquire that are both missing explain pairs that lack one of them; two scopes that are too narrow,
 *    pairs that one of them leaves out; and what is weak of a flag, its races with what is strong, or with what is weak of one, too, for they are
 *    none once all of that is strong;
 *  - no operation is known, and it is a stream, an event or the host that would have to order two launches: they are of the same two
 *    kernels, or copies called at one place, and race in memory of the same label, if it has one;
 *  - else they are of the same two lines, inlined at the same places, and in memory of the same label.
 * Pairs of one finding that differ in which side came first are one. Two lines that lack several edges are a pair for each (cause.c).
 * Ranks, CTAs, launches, bytes, and which side came first never part pairs; formal ones are never with others.
 *
 * The root is the pair whose sentence names the edge most directly, and asks for enough: of those that are not suppressed one that names most
 * operations, then one between two GPUs, whose scope is the widest, then the race of such an operation itself, then the kind that says
 * most, then the first. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/cause.h"
#include "report/index.h"
#include "report/order.h"
#include "report/weak.h"

const struct report_finding *report_pairs(const struct report *r, const struct report_finding *f, uint32_t *count)
{
	*count = f->pairs ? f->pairs : 1;
	return f->pairs ? &r->pair[f->pair] : f;
}

int report_is_single(const struct report_finding *f) { return !f->pairs && !f->pairs_unlisted && !f->also; }

int report_counts(const struct report_finding *f, const struct report_finding *pair) { return !f->suppressed == !pair->suppressed; }

struct report_finding report_whole(const struct report_finding *pair, uint32_t pairs)
{
	struct report_finding whole = pair[0];
	whole.count = whole.count_unlisted = 0;
	whole.pairs_unlisted = whole.kinds_unlisted = 0;
	for (uint32_t i = 0; i < pairs; i++) {
		const struct report_finding *one = &pair[i];
		whole.pairs_unlisted += one->pairs_unlisted;
		whole.kinds_unlisted |= one->kinds_unlisted;
		whole.count_unlisted += one->count_unlisted;
		if (!report_counts(&whole, one))
			continue;
		whole.count += one->count;
		whole.also |= one->also | 1u << one->kind;
		whole.formal &= one->formal;
		whole.within |= one->within;
		whole.schedules = one->schedules > whole.schedules ? one->schedules : whole.schedules;
		whole.first_seed = one->first_seed < whole.first_seed ? one->first_seed : whole.first_seed;
		whole.age = one->age == REPORT_NEW ? REPORT_NEW : whole.age;
	}
	whole.count += whole.count_unlisted;
	whole.also = (whole.also | whole.kinds_unlisted) & ~(1u << whole.kind);
	return whole;
}

/* ---- what is one finding ---- */

static int group_is_launches(const struct report_finding *f) { return report_of_launches(f->missing_edge_class); }

/* Of a kernel, whatever of it races; of a copy, its caller's line, or where that is in its binary. */
static uint64_t group_launch_hash(const struct report_side *side)
{
	const int copy = report_is_copy(side);
	const struct report_side launch = {.kernel = side->kernel, .at = copy ? side->at : (struct report_place){0}, .object = copy ? side->object : NULL};
	return report_side_hash(&launch);
}

static int group_launch_order(const struct report_side *a, const struct report_side *b)
{
	ORDER(report_text_order(a->kernel, b->kernel));
	if (!report_is_copy(a))
		return 0;
	ORDER(report_place_order(&a->at, &b->at));
	return report_text_order(a->object, b->object);
}

/* A line of the kernel's, whatever happens there; of code without lines, the access. */
static struct report_side group_line(const struct report_side *side)
{
	struct report_side line = *side;
	line.rank = 0;
	if (line.at.file) {
		line.at.column = 0;
		line.op = NULL;
	}
	return line;
}

static uint64_t group_line_hash(const struct report_side *side)
{
	const struct report_side line = group_line(side);
	return report_side_hash(&line);
}

static int group_line_order(const struct report_side *a, const struct report_side *b)
{
	const struct report_side one = group_line(a), other = group_line(b);
	return report_side_order(&one, &other);
}

/* Whichever came first. */
static int group_same_sides(const struct report_finding *a, const struct report_finding *b,
			    int (*order)(const struct report_side *a, const struct report_side *b))
{
	return (!order(&a->first, &b->first) && !order(&a->second, &b->second)) || (!order(&a->first, &b->second) && !order(&a->second, &b->first));
}

static uint64_t group_hash(const struct report_finding *f)
{
	uint64_t hash = 0; /* whichever is first */
	for (uint32_t i = 0; i < f->edge.ops; i++)
		hash += report_op_hash(&f->edge.op[i]);
	if (!f->edge.ops)
		hash = group_is_launches(f) ? group_launch_hash(&f->first) + group_launch_hash(&f->second)
					    : group_line_hash(&f->first) + group_line_hash(&f->second);
	return hash_step(hash_step(hash, f->missing_edge_class), (uint64_t)f->formal);
}

static int group_same_lines(const struct report_finding *a, const struct report_finding *b)
{
	return !report_text_order(report_label(a), report_label(b)) && group_same_sides(a, b, group_is_launches(a) ? group_launch_order : group_line_order);
}

static int group_has_op(const struct report_edge *edge, const struct report_op *op)
{
	for (uint32_t i = 0; i < edge->ops; i++)
		if (!report_op_order(&edge->op[i], op))
			return 1;
	return 0;
}

static int group_same(const struct report_finding *a, const struct report_finding *b)
{
	if (a->missing_edge_class != b->missing_edge_class || a->formal != b->formal || a->edge.ops != b->edge.ops)
		return 0;
	for (uint32_t i = 0; i < a->edge.ops; i++)
		if (!group_has_op(&b->edge, &a->edge.op[i]))
			return 0;
	return a->edge.ops || group_same_lines(a, b);
}

/* ---- what explains others, too ---- */

/* Part of an edge: one of its operations, and what is said of who lacks that alone. */
struct group_part { enum report_class class; int formal; const struct report_op *op; };

static struct group_part group_part(const struct report_finding *f, uint32_t i)
{
	return (struct group_part){report_part_class(f, i), f->formal, &f->edge.op[i]};
}

static uint64_t group_part_hash(const struct group_part *part)
{
	return hash_step(hash_step(report_op_hash(part->op), part->class), (uint64_t)part->formal);
}

static int group_same_part(const struct group_part *a, const struct group_part *b)
{
	return a->class == b->class && a->formal == b->formal && !report_op_order(a->op, b->op);
}

/* Of groups, each named by its first pair: by their edge, and by parts of it; and pairs by what is weak of their flag. */
struct group_known { struct index edges, parts, weak; };

static int group_learn(struct group_known *known, const struct report_finding *f, uint32_t i)
{
	int rc = index_add(&known->edges, group_hash(f), i);
	for (uint32_t k = 0; k < report_parts(f) && !rc; k++) {
		const struct group_part part = group_part(f, k);
		rc = index_add(&known->parts, group_part_hash(&part), i);
	}
	return rc;
}

static uint32_t group_of_edge(const struct report *r, const struct group_known *known, uint32_t i)
{
	const uint64_t hash = group_hash(&r->finding[i]);
	for (uint32_t at = 0, *one; (one = index_next(&known->edges, hash, &at));)
		if (group_same(&r->finding[*one], &r->finding[i]))
			return *one;
	return i;
}

/* Of a group that no other has for its edge: another one that explains it. */
static uint32_t group_of_part(const struct report *r, const struct group_known *known, uint32_t i)
{
	const struct report_finding *f = &r->finding[i];
	const struct group_part whole = {f->missing_edge_class, f->formal, &f->edge.op[0]};
	if (f->edge.ops != 1)
		return i;
	const uint64_t hash = group_part_hash(&whole);
	for (uint32_t at = 0, *one; (one = index_next(&known->parts, hash, &at));)
		for (uint32_t k = 0; k < r->finding[*one].edge.ops; k++) {
			const struct group_part part = group_part(&r->finding[*one], k);
			if (group_same_part(&part, &whole))
				return *one;
		}
	return i;
}

static uint32_t *group_twin(const struct report *r, const struct index *sides, const struct report_finding *f)
{
	const uint64_t hash = hash_step(report_sides_hash(f), f->group);
	uint32_t at = 0, *one;
	while ((one = index_next(sides, hash, &at))) {
		const struct report_finding *twin = &r->finding[*one];
		const int kinds = (twin->kind == GSAN_STALE_NC) == (f->kind == GSAN_STALE_NC);
		if (kinds && twin->group == f->group && report_same_sides(twin, f))
			break;
	}
	return one;
}

static int group_join(struct report *r)
{
	struct index sides = {0};
	uint32_t kept = 0;
	int rc = 0;
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		const struct report_finding f = r->finding[i];
		uint32_t *twin = group_twin(r, &sides, &f);
		if (twin)
			report_join(&r->finding[*twin], &f);
		else
			rc = index_add(&sides, hash_step(report_sides_hash(&f), f.group), kept);
		if (!twin)
			r->finding[kept++] = f;
	}
	if (!rc)
		r->findings = kept;
	index_free(&sides);
	return rc;
}

static int group_find(struct report *r, struct group_known *known)
{
	int rc = weak_flags(r, &known->weak);
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		struct report_finding *f = &r->finding[i];
		const int weak = weak_flag_of(r, &known->weak, f) != WEAK_NONE;
		f->group = weak ? WEAK_NONE : group_of_edge(r, known, i);
		if (f->group == i)
			rc = group_learn(known, f, i);
	}
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		struct report_finding *f = &r->finding[i];
		if (f->group != WEAK_NONE)
			f->group = f->group == i ? group_of_part(r, known, i) : r->finding[f->group].group; /* which comes before it */
	}
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		struct report_finding *f = &r->finding[i];
		if (f->group == WEAK_NONE)
			f->group = r->finding[weak_flag_of(r, &known->weak, f)].group;
	}
	return rc;
}

int report_group(struct report *r)
{
	struct group_known known = {0};
	report_sort_findings(r); /* the first of equals does not depend on the order of arrival */
	const int rc = group_find(r, &known);
	index_free(&known.edges), index_free(&known.parts), index_free(&known.weak);
	return rc ? rc : group_join(r);
}

/* ---- from pairs to findings, and back ---- */

static int group_names_itself(const struct report_finding *f)
{
	for (uint32_t i = 0; i < f->edge.ops; i++)
		if (report_same_place(&f->edge.op[i].at, &f->first.at) || report_same_place(&f->edge.op[i].at, &f->second.at))
			return 1;
	return 0;
}

static uint64_t group_kind_rank(enum gsan_kind kind)
{
	static const uint64_t rank[GSAN_TOLD] = {[GSAN_SCOPE] = 0, [GSAN_ATOMIC_PLAIN] = 1, [GSAN_STALE_NC] = 2, [GSAN_RAW] = 3, [GSAN_WAR] = 4, [GSAN_WAW] = 5};
	return kind < GSAN_TOLD ? rank[kind] : GSAN_TOLD;
}

/* Which pair of a group is its root, as the file says why: the same when it is read back. */
static int group_by_root(const void *a, const void *b)
{
	const struct report_finding *one = a, *other = b;
	ORDER(report_number_order(one->group, other->group));
	ORDER(report_number_order(one->suppressed > 0, other->suppressed > 0));
	ORDER(report_number_order((uint64_t)one->formal, (uint64_t)other->formal));
	ORDER(report_number_order(other->edge.ops, one->edge.ops));
	ORDER(report_number_order(one->first.gpu == one->second.gpu, other->first.gpu == other->second.gpu));
	ORDER(report_number_order(!group_names_itself(one), !group_names_itself(other)));
	ORDER(report_number_order(group_kind_rank(one->kind), group_kind_rank(other->kind)));
	ORDER(group_line_order(&one->first, &other->first));
	ORDER(group_line_order(&one->second, &other->second));
	ORDER(report_finding_order(one, other));
	return report_edge_order(one, other);
}

/* Pairs of equal lines stand together, whatever their ranks and kinds, and whichever side came first. */
static int group_by_lines(const void *a, const void *b)
{
	const struct report_finding *one = a, *other = b;
	ORDER(report_number_order(one->suppressed > 0, other->suppressed > 0));
	ORDER(report_sites_order(one, other));
	return group_by_root(a, b);
}

static uint32_t group_end(const struct report *r, uint32_t from)
{
	uint32_t end = from + 1;
	while (end < r->findings && r->finding[end].group == r->finding[from].group)
		end++;
	return end;
}

static int group_is_several(const struct report *r, uint32_t from, uint32_t end) { return end - from > 1 || r->finding[from].pairs_unlisted; }

/* How many pairs are of findings that have several. */
static uint32_t group_pairs(const struct report *r)
{
	uint32_t pairs = 0;
	for (uint32_t from = 0, end; from < r->findings; from = end) {
		end = group_end(r, from);
		pairs += group_is_several(r, from, end) ? end - from : 0;
	}
	return pairs;
}

/* What they do not list their finding says now. */
static struct report_finding group_finding(struct report_finding *pair, uint32_t pairs)
{
	const struct report_finding whole = report_whole(pair, pairs);
	for (uint32_t i = 0; i < pairs; i++) {
		pair[i].pairs_unlisted = pair[i].kinds_unlisted = 0;
		pair[i].count_unlisted = 0;
	}
	return whole;
}

int report_regroup(struct report *r)
{
	uint32_t kept = 0;
	index_free(&r->index);
	if (r->findings)
		qsort(r->finding, r->findings, sizeof *r->finding, group_by_root);
	const uint32_t pairs = group_pairs(r);
	struct report_finding *const pair = pairs ? malloc(pairs * sizeof *pair) : NULL;
	if (pairs && !pair)
		return -ENOMEM;
	free(r->pair);
	r->pair = pair;
	r->pairs = 0;
	for (uint32_t from = 0, end; from < r->findings; from = end) {
		struct report_finding *f = &r->finding[kept++];
		end = group_end(r, from);
		const uint32_t n = group_is_several(r, from, end) ? end - from : 0;
		if (n > 1)
			qsort(&r->finding[from + 1], n - 1, sizeof *pair, group_by_lines);
		if (n)
			memcpy(&r->pair[r->pairs], &r->finding[from], n * sizeof *pair);
		*f = n ? group_finding(&r->pair[r->pairs], n) : r->finding[from];
		f->pair = r->pairs;
		f->pairs = n;
		r->pairs += n;
	}
	r->findings = kept;
	report_sort_findings(r);
	return 0;
}

static uint32_t group_all_pairs(const struct report *r)
{
	uint32_t all = 0, n;
	for (uint32_t i = 0; i < r->findings; i++, all += n)
		report_pairs(r, &r->finding[i], &n);
	return all;
}

int report_ungroup(struct report *r)
{
	const uint32_t all = group_all_pairs(r);
	struct report_finding *flat = malloc(all * sizeof *flat + 1);
	uint32_t n, at = 0;
	if (!flat)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->findings; i++) {
		const struct report_finding *f = &r->finding[i], *pair = report_pairs(r, f, &n);
		for (uint32_t k = 0; k < n; k++, at++) {
			flat[at] = pair[k];
			flat[at].group = i;
			flat[at].pairs = 0;
			flat[at].pairs_unlisted = k ? 0 : f->pairs_unlisted;
			flat[at].kinds_unlisted = k ? 0 : f->kinds_unlisted;
			flat[at].count_unlisted = k ? 0 : f->count_unlisted;
		}
	}
	index_free(&r->index);
	free(r->finding);
	free(r->pair);
	r->pair = NULL;
	r->pairs = 0;
	r->finding = flat;
	r->findings = r->findings_room = all;
	return 0;
}
