/* Reports of several runs as one: what a run and another one found alike is counted together, the rest stands side by side. Alike are
 * findings of one fingerprint whose sides are of the same ranks; of several such in one run, each has its own counterpart. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

struct merge_entry { struct report_identity identity; uint32_t finding; };

static int merge_order(const void *a, const void *b)
{
	const struct merge_entry *one = a, *other = b;
	int order = report_identity_order(&one->identity, &other->identity);
	return order ? order : (one->finding > other->finding) - (one->finding < other->finding);
}

/* By identity; of equals, in the report's order. malloc'ed, NULL when out of memory. */
static struct merge_entry *merge_sorted(const struct report *r)
{
	struct merge_entry *entry = malloc(r->findings * sizeof *entry + 1);
	for (uint32_t i = 0; entry && i < r->findings; i++)
		entry[i] = (struct merge_entry){report_identity(&r->finding[i]), i};
	if (entry && r->findings)
		qsort(entry, r->findings, sizeof *entry, merge_order);
	return entry;
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
	to->schedules += from->schedules;
	to->first_seed = from->first_seed < to->first_seed ? from->first_seed : to->first_seed;
}

static int merge_append(struct report *all, const struct report_finding *f, uint32_t by)
{
	struct report_finding copy = *f;
	copy.suppressed = by;
	return report_append_finding(all, &copy);
}

/* by: what all calls each suppression of the other one, from 1 on. */
static int merge_findings(struct report *all, const struct report *one, const uint32_t *by)
{
	struct merge_entry *known = merge_sorted(all), *more = merge_sorted(one);
	const uint32_t count = all->findings;
	int rc = known && more ? 0 : -ENOMEM;
	for (uint32_t i = 0, k = 0; !rc && k < one->findings;) {
		const int order = i < count ? report_identity_order(&known[i].identity, &more[k].identity) : 1;
		const struct report_finding *f = &one->finding[more[k].finding];
		if (order > 0) {
			rc = merge_append(all, f, by[f->suppressed]);
		} else if (!order) {
			merge_suppressed(all, &all->finding[known[i].finding], f, by[f->suppressed]);
			merge_count(&all->finding[known[i].finding], f);
		}
		k += order >= 0;
		i += order <= 0;
	}
	free(known);
	free(more);
	return rc;
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
	all->exit_status = all->exit_status ? all->exit_status : one->exit_status;
	report_sort(all);
	return rc;
}
