/* Which findings of a report are of interest: those that patterns name, and of these those that an earlier report does not have. */
#include "report/report.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int select_names(const char *pattern, const char *name) { return name && !fnmatch(pattern, name, 0); }

static int select_kind(const char *pattern, const struct report_finding *f)
{
	for (int kind = 0; kind < 32; kind++)
		if (((1u << f->kind | f->also) >> kind & 1) && select_names(pattern, report_kind_name((enum gsan_kind)kind)))
			return 1;
	return 0;
}

static int select_kernel(const char *pattern, const struct report_finding *f)
{
	const char *const name[] = {f->first.kernel, f->first.kernel_name, f->second.kernel, f->second.kernel_name};
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (select_names(pattern, name[i]))
			return 1;
	return 0;
}

/* The whole name, or what is behind its last slash. */
static int select_place(const char *pattern, const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	return select_names(pattern, file) || (slash && select_names(pattern, slash + 1));
}

static int select_file(const char *pattern, const struct report_finding *f)
{
	return select_place(pattern, f->first.at.file) || select_place(pattern, f->second.at.file);
}

/* One of its ranks, or both with a comma between, in either order. */
static int select_rank(const char *pattern, const struct report_finding *f)
{
	const int rank[2] = {f->first.rank, f->second.rank};
	char one[16], both[32];
	for (int i = 0; i < 2; i++) {
		snprintf(one, sizeof one, "%d", rank[i]);
		snprintf(both, sizeof both, "%d,%d", rank[i], rank[!i]);
		if (select_names(pattern, one) || select_names(pattern, both))
			return 1;
	}
	return 0;
}

static int select_label(const char *pattern, const struct report_finding *f)
{
	return select_names(pattern, f->allocation.size ? f->allocation.label : NULL);
}

static const struct { int (*test)(const char *pattern, const struct report_finding *f); } select_by[REPORT_PATTERNS] = {
	[REPORT_BY_KIND] = {select_kind}, [REPORT_BY_KERNEL] = {select_kernel}, [REPORT_BY_FILE] = {select_file},
	[REPORT_BY_RANK] = {select_rank}, [REPORT_BY_LABEL] = {select_label},
};

void report_select(struct report *r, const char *const pattern[REPORT_PATTERNS])
{
	uint32_t kept = 0;
	index_free(&r->index);
	for (uint32_t i = 0; i < r->findings; i++) {
		int wanted = 1;
		for (int k = 0; k < REPORT_PATTERNS; k++)
			wanted &= !pattern[k] || select_by[k].test(pattern[k], &r->finding[i]);
		r->deselected += !wanted && !r->finding[i].suppressed; /* those are counted already */
		if (wanted)
			r->finding[kept++] = r->finding[i];
	}
	r->findings = kept;
	for (int kind = 0; kind < GSAN_TOLD; kind++)
		if (pattern[REPORT_BY_KIND] && !select_names(pattern[REPORT_BY_KIND], report_kind_name((enum gsan_kind)kind))) {
			r->deselected += (uint32_t)r->unlisted[kind].findings;
			r->unlisted[kind] = (struct report_unlisted){0};
		}
}

static int select_order(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
	return (one > other) - (one < other);
}

/* Which they are nobody can say of those that are not listed: as many may be old as the baseline has beside those that are found in it. */
static void select_compare_unlisted(struct report *r, const struct report *baseline)
{
	uint64_t then[GSAN_TOLD] = {0}, found[GSAN_TOLD] = {0};
	for (uint32_t i = 0; i < baseline->findings; i++)
		then[baseline->finding[i].kind] += (uint64_t)report_decides(&baseline->finding[i]);
	for (uint32_t i = 0; i < r->findings; i++)
		found[r->finding[i].kind] += report_decides(&r->finding[i]) && r->finding[i].age == REPORT_OLD;
	for (int kind = 0; kind < GSAN_TOLD; kind++) {
		struct report_unlisted *unlisted = &r->unlisted[kind];
		then[kind] += baseline->unlisted[kind].findings;
		const uint64_t others = then[kind] > found[kind] ? then[kind] - found[kind] : 0;
		unlisted->old = others < unlisted->findings ? others : unlisted->findings;
	}
}

int report_compare(struct report *r, const struct report *baseline)
{
	uint64_t *known = malloc(baseline->findings * sizeof *known + 1);
	if (!known)
		return -ENOMEM;
	for (uint32_t i = 0; i < baseline->findings; i++)
		known[i] = baseline->finding[i].fingerprint;
	if (baseline->findings)
		qsort(known, baseline->findings, sizeof *known, select_order);
	for (uint32_t i = 0; i < r->findings; i++) {
		struct report_finding *f = &r->finding[i];
		int old = baseline->findings && bsearch(&f->fingerprint, known, baseline->findings, sizeof *known, select_order);
		f->age = old ? REPORT_OLD : REPORT_NEW;
	}
	select_compare_unlisted(r, baseline);
	free(known);
	return 0;
}
