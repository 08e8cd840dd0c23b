/* Reports of several runs as one: what a run and another one found alike is counted together, the rest stands side by side. Alike are pairs of
 * lines of one fingerprint whose sides are of the same ranks, and that lack the same, as far as both runs know; of several such in one run, each
 * has its own counterpart. What such a pair lacks the first run says, or who does not guess. Another pair belongs to the finding that has its
 * finding's fingerprint, if there is one. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

struct merge_entry { struct report_identity identity; const struct report_finding *pair; uint32_t number, finding; };
struct merge_list { struct merge_entry *entry; uint32_t count; };

static int merge_order(const void *a, const void *b)
{
	const struct merge_entry *one = a, *other = b;
	int order = report_identity_order(&one->identity, &other->identity);
	return order ? order : (one->number > other->number) - (one->number < other->number);
}

static void merge_sort(struct merge_list *list)
{
	if (list->count)
		qsort(list->entry, list->count, sizeof *list->entry, merge_order);
}

/* All pairs by identity; of equals, in the report's order. 0 or -ENOMEM. */
static int merge_pairs(struct merge_list *list, const struct report *r)
{
	*list = (struct merge_list){malloc(((size_t)r->findings + r->pairs) * sizeof *list->entry + 1), 0};
	for (uint32_t i = 0; list->entry && i < r->findings; i++) {
		uint32_t n;
		const struct report_finding *pair = report_pairs(r, &r->finding[i], &n);
		for (uint32_t k = 0; k < n; k++, list->count++)
			list->entry[list->count] = (struct merge_entry){report_identity(&pair[k]), &pair[k], list->count, i};
	}
	if (!list->entry)
		return -ENOMEM;
	merge_sort(list);
	return 0;
}

/* All findings by their missing edge, formal ones apart. */
static int merge_causes(struct merge_list *list, const struct report *r)
{
	*list = (struct merge_list){malloc(r->findings * sizeof *list->entry + 1), r->findings};
	if (!list->entry)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->findings; i++)
		list->entry[i] = (struct merge_entry){{r->finding[i].cause, {r->finding[i].formal, 0}}, NULL, i, i};
	merge_sort(list);
	return 0;
}

/* Which finding of the first report each of the other one is, or, from the first one's number on, a new one. malloc'ed; NULL: out of memory. */
static uint32_t *merge_map(const struct report *all, const struct report *one)
{
	struct merge_list known = {0}, more = {0};
	uint32_t *map = malloc(one->findings * sizeof *map + 1);
	const int failed = !map || merge_causes(&known, all) || merge_causes(&more, one);
	for (uint32_t i = 0, k = 0; !failed && k < more.count;) {
		const int order = i < known.count ? report_identity_order(&known.entry[i].identity, &more.entry[k].identity) : 1;
		if (order >= 0)
			map[more.entry[k].finding] = order ? all->findings + more.entry[k].finding : known.entry[i].finding;
		k += order >= 0;
		i += order <= 0;
	}
	free(known.entry);
	free(more.entry);
	if (failed)
		free(map);
	return failed ? NULL : map;
}

/* Of a finding of both: each counted it. `by`: what suppressed it in the other one. What one of them did not suppress is not. */
static void merge_suppressed(struct report *all, struct report_finding *to, const struct report_finding *from, uint32_t by)
{
	struct report_suppression *const mine = to->suppressed ? &all->suppression[to->suppressed - 1] : NULL;
	struct report_suppression *const theirs = by ? &all->suppression[by - 1] : NULL;
	if (theirs) {
		theirs->findings--;
		theirs->count -= from->count;
	}
	if (mine && theirs)
		mine->count += from->count;
	if (!mine || theirs)
		return;
	mine->findings--;
	mine->count -= to->count;
	to->suppressed = 0;
}

static void merge_count(struct report_finding *to, const struct report_finding *from)
{
	to->count += from->count;
	to->also |= (from->also | 1u << from->kind) & ~(1u << to->kind);
	to->formal &= from->formal;
	to->within |= from->within;
	to->schedules += from->schedules;
	to->first_seed = from->first_seed < to->first_seed ? from->first_seed : to->first_seed;
}

/* What is not listed may be what the other one does not list. */
static void merge_unlisted(struct report_finding *to, const struct report_finding *of)
{
	to->pairs_unlisted = of->pairs_unlisted > to->pairs_unlisted ? of->pairs_unlisted : to->pairs_unlisted;
	to->kinds_unlisted |= of->kinds_unlisted;
	to->count_unlisted += of->count_unlisted;
}

static int merge_append(struct report *all, const struct report_finding *f, uint32_t by, uint32_t group)
{
	struct report_finding copy = *f;
	copy.suppressed = by;
	copy.group = group;
	copy.pairs = copy.pairs_unlisted = copy.kinds_unlisted = 0;
	copy.count_unlisted = 0;
	return report_append_finding(all, &copy);
}

static int merge_is_root(const struct report *one, const struct report_finding *of, const struct report_finding *pair)
{
	return pair == of || pair == &one->pair[of->pair];
}

static int merge_same_edge(const struct report_finding *a, const struct report_finding *b)
{
	return report_edge_fingerprint(a) == report_edge_fingerprint(b);
}

/* Nobody says that it is not the same. */
static int merge_perhaps_same_edge(const struct report_finding *a, const struct report_finding *b)
{
	return report_two_launches(a) == report_two_launches(b) && !(report_knows_edge(a) && report_knows_edge(b));
}

/* A pair of both. */
static int merge_into(struct report *all, struct report_finding *to, const struct report_finding *f, uint32_t by, uint32_t group)
{
	merge_suppressed(all, to, f, by);
	merge_count(to, f);
	if (report_knows_edge(to) || !report_knows_edge(f))
		return 0;
	to->group = group;
	return report_take_edge(all, to, f);
}

/* Pairs that are alike of both reports; a number of MERGE_DONE: it has its counterpart. */
#define MERGE_DONE UINT32_MAX
struct merge_block { struct merge_entry *known, *more; uint32_t knowns, mores; };

static int merge_meet(struct report *all, const struct report *one, const uint32_t *by, const uint32_t *map, const struct merge_block *b,
		      int (*same)(const struct report_finding *a, const struct report_finding *b))
{
	int rc = 0;
	for (struct merge_entry *m = b->more; m < b->more + b->mores; m++)
		for (struct merge_entry *k = b->known; k < b->known + b->knowns && m->number != MERGE_DONE && !rc; k++) {
			const struct report_finding *of = &one->finding[m->finding];
			if (k->number == MERGE_DONE || !same(&all->finding[k->number], m->pair))
				continue;
			rc = merge_into(all, &all->finding[k->number], m->pair, by[m->pair->suppressed], map[m->finding]);
			if (merge_is_root(one, of, m->pair))
				merge_unlisted(&all->finding[k->number], of);
			k->number = m->number = MERGE_DONE;
		}
	return rc;
}

static int merge_rest(struct report *all, const struct report *one, const uint32_t *by, const uint32_t *map, const struct merge_block *b)
{
	int rc = 0;
	for (const struct merge_entry *m = b->more; m < b->more + b->mores && !rc; m++) {
		const struct report_finding *of = &one->finding[m->finding];
		if (m->number == MERGE_DONE)
			continue;
		rc = merge_append(all, m->pair, by[m->pair->suppressed], map[m->finding]);
		if (!rc && merge_is_root(one, of, m->pair))
			merge_unlisted(&all->finding[all->findings - 1], of);
	}
	return rc;
}

static uint32_t merge_alike(const struct merge_list *list, uint32_t from, const struct report_identity *identity)
{
	uint32_t end = from;
	while (end < list->count && !report_identity_order(&list->entry[end].identity, identity))
		end++;
	return end;
}

/* by: what all calls each suppression of the other one, from 1 on. all: its pairs. */
static int merge_lists(struct report *all, const struct report *one, const uint32_t *by, const struct merge_list *known,
		       const struct merge_list *more, const uint32_t *map)
{
	int rc = 0;
	for (uint32_t i = 0, k = 0; !rc && k < more->count;) {
		const struct report_identity *identity = &more->entry[k].identity;
		while (i < known->count && report_identity_order(&known->entry[i].identity, identity) < 0)
			i++;
		const struct merge_block b = {&known->entry[i], &more->entry[k], merge_alike(known, i, identity) - i, merge_alike(more, k, identity) - k};
		rc = merge_meet(all, one, by, map, &b, merge_same_edge);
		rc = rc ? rc : merge_meet(all, one, by, map, &b, merge_perhaps_same_edge);
		rc = rc ? rc : merge_rest(all, one, by, map, &b);
		i += b.knowns;
		k += b.mores;
	}
	return rc;
}

static int merge_findings(struct report *all, const struct report *one, const uint32_t *by)
{
	struct merge_list known = {0}, more = {0};
	uint32_t *map = merge_map(all, one);
	int rc = map ? report_ungroup(all) : -ENOMEM;
	rc = rc ? rc : merge_pairs(&known, all);
	rc = rc ? rc : merge_pairs(&more, one);
	rc = rc ? rc : merge_lists(all, one, by, &known, &more, map);
	free(known.entry);
	free(more.entry);
	free(map);
	return rc ? rc : report_regroup(all);
}

/* What was not as it should be stands for all runs; otherwise the last run does. */
static void merge_ranks(struct report *all, const struct report *one)
{
	for (uint32_t i = 0; i < one->ranks; i++) {
		struct report_rank *to = &all->rank[i];
		const struct report_rank *from = &one->rank[i];
		if (all->ranks <= i || (to->end == REPORT_EXITED && !to->status)) {
			to->end = from->end;
			to->status = from->status;
			to->gpu = from->gpu;
			to->gpus = from->gpus;
			to->gpu_name = report_copy(all, from->gpu_name);
			to->gpu_bus = report_copy(all, from->gpu_bus);
		}
		to->launches_checked += from->launches_checked;
		to->launches_unchecked += from->launches_unchecked;
		to->launches_left_out += from->launches_left_out;
		to->copies_checked += from->copies_checked;
		to->copies_unchecked += from->copies_unchecked;
		to->memory_bytes = from->memory_bytes > to->memory_bytes ? from->memory_bytes : to->memory_bytes;
		to->shadow_bytes = from->shadow_bytes > to->shadow_bytes ? from->shadow_bytes : to->shadow_bytes;
		to->tables_bytes = from->tables_bytes > to->tables_bytes ? from->tables_bytes : to->tables_bytes;
		for (int c = 0; c < GSAN_N_COUNTERS; c++)
			to->counter[c] += from->counter[c];
	}
	all->ranks = one->ranks > all->ranks ? one->ranks : all->ranks;
}

int report_merge_coverage(struct report *all, const struct report *one)
{
	int rc = 0;
	all->unchecked += one->merged > 1 || one->schedules ? report_runs_unchecked(one) : !report_checked(one);
	for (uint32_t i = 0; i < one->notes && !rc; i++)
		rc = report_add_note(all, &one->note[i]);
	for (uint32_t i = 0; i < one->lefts && !rc; i++)
		rc = report_add_left(all, &one->left[i]);
	merge_ranks(all, one);
	for (uint32_t i = 0; i < one->waits; i++)
		report_append_wait(all, &one->wait[i]);
	all->waits_unlisted += one->waits_unlisted;
	all->withheld += one->withheld;
	all->withheld_merged += one->withheld_merged;
	all->ordered_late += one->ordered_late;
	if (one->formal_unlisted > all->formal_unlisted) /* whether they are the same nobody can say */
		all->formal_unlisted = one->formal_unlisted;
	for (int kind = 0; kind < GSAN_TOLD; kind++)
		if (one->unlisted[kind].findings > all->unlisted[kind].findings)
			all->unlisted[kind] = one->unlisted[kind];
	return rc;
}

/* What is not said of several runs: the first one that has it says it. */
static int merge_first(struct report *all, const struct report *one)
{
	if (!all->schedules && one->schedules) {
		all->schedule = report_copy(all, one->schedule);
		all->first_seed = one->first_seed;
	}
	for (uint32_t i = 0; !all->merged && i < one->gpus; i++) {
		all->gpu[all->gpus] = one->gpu[i];
		all->gpu[all->gpus++].bus = report_copy(all, one->gpu[i].bus);
	}
	return !all->job.start && one->job.start ? report_set_job(all, &one->job) : 0;
}

static int merge_suppressions(struct report *all, const struct report *one, uint32_t *by)
{
	int rc = 0;
	by[0] = 0;
	for (uint32_t i = 0; i < one->suppressions && !rc; i++)
		rc = report_add_suppression(all, &one->suppression[i], &by[i + 1]);
	return rc;
}

int report_merge(struct report *all, const struct report *one)
{
	uint32_t *by = malloc((one->suppressions + 1) * sizeof *by);
	int rc = by ? merge_first(all, one) : -ENOMEM;
	if (!rc)
		rc = merge_suppressions(all, one, by);
	if (!rc)
		rc = merge_findings(all, one, by);
	free(by);
	if (!rc)
		rc = report_merge_coverage(all, one);
	all->merged++;
	all->schedules += one->schedules;
	all->unexplored += one->unexplored;
	all->exit_status = all->exit_status ? all->exit_status : one->exit_status;
	report_sort(all);
	return rc;
}
