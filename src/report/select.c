/* Which findings of a report are of interest: those that patterns name, and of these those that an earlier report does not have. */
#include "report/report.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/frame.h"

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

/* Of one of its allocations. */
static int select_label(const char *pattern, const struct report_finding *f)
{
	uint32_t n;
	const struct report_allocation *memory = report_memories(f, &n);
	for (uint32_t i = 0; i < n; i++)
		if (select_names(pattern, memory[i].label))
			return 1;
	return 0;
}

static const struct { int (*test)(const char *pattern, const struct report_finding *f); } select_by[REPORT_PATTERNS] = {
	[REPORT_BY_KIND] = {select_kind}, [REPORT_BY_KERNEL] = {select_kernel}, [REPORT_BY_FILE] = {select_file},
	[REPORT_BY_RANK] = {select_rank}, [REPORT_BY_LABEL] = {select_label},
};

static int select_pair(const char *const pattern[REPORT_PATTERNS], const struct report_finding *f)
{
	int wanted = 1;
	for (int k = 0; k < REPORT_PATTERNS; k++)
		wanted &= !pattern[k] || select_by[k].test(pattern[k], f);
	return wanted;
}

/* One of its pairs is enough, but for suppressed ones. */
static int select_finding(const struct report *r, const struct report_finding *f, const char *const pattern[REPORT_PATTERNS])
{
	uint32_t n;
	const struct report_finding *pair = report_pairs(r, f, &n);
	for (uint32_t i = 0; i < n; i++)
		if (report_counts(f, &pair[i]) && select_pair(pattern, &pair[i]))
			return 1;
	return 0;
}

void report_select(struct report *r, const char *const pattern[REPORT_PATTERNS])
{
	uint32_t kept = 0;
	index_free(&r->index);
	for (uint32_t i = 0; i < r->findings; i++) {
		const int wanted = select_finding(r, &r->finding[i], pattern);
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

/* What is known as a race by the letter alone is not known as one in earnest. */
static uint64_t select_key(uint64_t fingerprint, int formal) { return formal ? hash_step(fingerprint, 1) : fingerprint; }

/* What is known of a pair of lines: that it raced, what it lacked, or that nobody knows what. Two launches lack another edge than one does. */
enum select_of { SELECT_RACED, SELECT_LACKED, SELECT_UNKNOWN };
static uint64_t select_pair_key(const struct report_finding *pair, enum select_of of, int formal)
{
	const uint64_t what = of == SELECT_LACKED ? report_edge_fingerprint(pair) : (uint64_t)report_two_launches(pair);
	return select_key(hash_step(hash_then(pair->fingerprint, what), of), formal);
}

#define SELECT_KEYS (4 + REPORT_EDGE_OPS)
static void select_know(uint64_t *known, size_t *count, const struct report_finding *pair)
{
	known[(*count)++] = select_key(pair->cause, pair->formal);
	known[(*count)++] = select_pair_key(pair, SELECT_RACED, pair->formal);
	known[(*count)++] = select_pair_key(pair, SELECT_LACKED, pair->formal);
	if (!report_knows_edge(pair))
		known[(*count)++] = select_pair_key(pair, SELECT_UNKNOWN, pair->formal);
	for (uint32_t i = 0; i < report_parts(pair); i++)
		known[(*count)++] = select_key(report_part_cause(pair, i), pair->formal);
}

/* What is known of a report: each missing edge, and what lacks a part of it; and each pair of lines. Older ones have no edges. malloc'ed,
 * NULL: out of memory. */
static uint64_t *select_known(const struct report *r, size_t *count)
{
	uint64_t *known = malloc(SELECT_KEYS * ((size_t)r->findings + r->pairs) * sizeof *known + 1);
	*count = 0;
	for (uint32_t i = 0; known && i < r->findings; i++)
		select_know(known, count, &r->finding[i]);
	for (uint32_t i = 0; known && i < r->pairs; i++)
		select_know(known, count, &r->pair[i]);
	if (*count)
		qsort(known, *count, sizeof *known, select_order);
	return known;
}

/* Is it guessed that a flag explains it which stands before the access in the text? Without a loop around both it does not, and the pair may have
 * nothing to do with what is known of that flag. */
static int select_stands_behind(const struct report_finding *f)
{
	const struct report_op *flag = &f->edge.op[0];
	if (!f->edge.ops || report_knows_edge(f) || !f->first.at.file || !flag->kernel || !f->first.kernel || strcmp(flag->kernel, f->first.kernel))
		return 0;
	const struct frame raises = frame_line(&flag->at, flag->inlined_at, NULL), access = frame_line(&f->first.at, f->first.inlined_at, NULL);
	return raises.file == access.file && !memcmp(raises.at, access.at, access.file) && raises.line < access.line;
}

static enum report_age select_age(const struct report_finding *f, const uint64_t *known, size_t count)
{
	for (int formal = 0; count && formal <= f->formal; formal++) {
		const uint64_t key[] = {select_key(f->cause, formal), select_pair_key(f, SELECT_LACKED, formal), select_pair_key(f, SELECT_UNKNOWN, formal),
					select_pair_key(f, SELECT_RACED, formal)};
		const size_t keys = sizeof key / sizeof *key - (size_t)report_knows_edge(f); /* what is no guess is not old for what it is not */
		for (size_t i = (size_t)select_stands_behind(f); i < keys; i++)
			if (bsearch(&key[i], known, count, sizeof *known, select_order))
				return REPORT_OLD;
	}
	return REPORT_NEW;
}

int report_compare(struct report *r, const struct report *baseline)
{
	size_t count;
	uint64_t *known = select_known(baseline, &count);
	if (!known)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->pairs; i++)
		r->pair[i].age = select_age(&r->pair[i], known, count);
	for (uint32_t i = 0; i < r->findings; i++) {
		struct report_finding *f = &r->finding[i];
		f->age = f->pairs ? report_whole(&r->pair[f->pair], f->pairs).age : select_age(f, known, count);
	}
	select_compare_unlisted(r, baseline);
	free(known);
	return 0;
}
