/* A pair of lines that lacks several edges: which of them stay, whatever comes first, also when what was read back is gathered again, as explored
 * runs are; and what of another run is the same, by a baseline and when runs are merged. */
#include <string.h>

#include "../check.h"
#include "report/report.h"

#define EDGES 3

/* The store of line 31 and the load of line 47 of one rank, whose second launch is `launch`. The flag's store is line `flag`, its read line 45. */
static struct report_finding race(enum gsan_reason reason, uint32_t flag, int certain, uint32_t launch)
{
	struct report_finding f = {.kind = GSAN_RAW, .reason = reason, .certain = certain, .count = 1, .weight = reason != GSAN_WHY_NONE};
	f.first = (struct report_side){.kernel = "send", .launch = 1, .at = {"ring.py", 31, 1}, .op = "st", .bytes = 4, .semantics = "weak"};
	f.second = (struct report_side){.kernel = "take", .launch = launch, .at = {"ring.py", 47, 1}, .op = "ld", .bytes = 4, .semantics = "weak"};
	if (reason == GSAN_WHY_NONE)
		return f;
	f.flag_write = (struct report_flag){{"ring.py", flag, 1}, "gpu", reason == GSAN_WHY_RELAXED_WRITE ? "relaxed" : "release", NULL, "send", NULL};
	f.flag_read = (struct report_flag){{"ring.py", 45, 1}, "gpu", reason == GSAN_WHY_NO_ACQUIRE ? "relaxed" : "acquire", NULL, "take", NULL};
	return f;
}

static struct report_finding sure(enum gsan_reason reason, uint32_t flag) { return race(reason, flag, 1, 1); }
static struct report_finding guess(uint32_t flag) { return race(GSAN_WHY_RELAXED_WRITE, flag, 0, 1); }
static struct report_finding none(uint32_t launch) { return race(GSAN_WHY_NONE, 0, 0, launch); }
static struct report_finding formal(struct report_finding f) { f.formal = 1; return f; }
static struct report_finding between(struct report_finding f) { f.second.launch = 2; return f; }

#define RELEASE GSAN_WHY_RELAXED_WRITE
#define ACQUIRE GSAN_WHY_NO_ACQUIRE
#define BARRIER GSAN_WHY_ACQUIRED_ALONE

/* As a job makes it of the first `count` of `of` from `turn` on, those that are all zeros left out. */
static void fill(struct report *r, const struct report_finding of[EDGES], uint32_t turn)
{
	*r = (struct report){.ranks = 1};
	for (uint32_t i = 0; i < EDGES; i++)
		if (of[(i + turn) % EDGES].kind)
			CHECK(!report_add_finding(r, &of[(i + turn) % EDGES]));
	CHECK(!report_finish(r) && !report_group(r) && !report_regroup(r) && !report_identify(r));
}

static uint32_t pairs(const struct report *r)
{
	uint32_t sum = 0, n;
	for (uint32_t i = 0; i < r->findings; i++, sum += n)
		report_pairs(r, &r->finding[i], &n);
	return sum;
}

/* Read back and added to another one, as of one run of several. */
static void gathered(struct report *r, const char *json)
{
	struct report one;
	char error[200];
	CHECK(!report_read(&one, json, error, sizeof error) && !report_ungroup(&one));
	*r = (struct report){.ranks = 1};
	for (uint32_t i = 0; i < one.findings; i++)
		CHECK(!report_add_finding(r, &one.finding[i]));
	CHECK(!report_finish(r) && !report_group(r) && !report_regroup(r) && !report_identify(r));
	report_free(&one);
}

static void test_stay(void)
{
	const struct { struct report_finding of[EDGES]; uint32_t findings; } row[] = {
		/* what is certain stays: each flag, and each class */
		{{sure(RELEASE, 33), sure(RELEASE, 34)}, 2}, {{sure(RELEASE, 33), sure(ACQUIRE, 33), sure(BARRIER, 33)}, 3}, {{sure(RELEASE, 33), sure(RELEASE, 33)}, 1},
		/* a guess, and what says nothing, is taken for the same; and for one of its own only beside none */
		{{sure(RELEASE, 33), guess(34)}, 1}, {{guess(33), guess(34), guess(35)}, 1}, {{sure(RELEASE, 33), none(1)}, 1}, {{guess(33), none(1)}, 1},
		/* but two launches lack another edge than one */
		{{none(1), none(2)}, 2}, {{sure(RELEASE, 33), none(2)}, 2}, {{sure(RELEASE, 33), guess(34), none(2)}, 2}, {{none(2), none(3)}, 1},
		{{sure(RELEASE, 33), between(sure(RELEASE, 33)), none(2)}, 1},
		/* what is formal is part of what is not */
		{{sure(RELEASE, 33), formal(sure(ACQUIRE, 33))}, 1}, {{sure(RELEASE, 33), sure(BARRIER, 33), formal(none(2))}, 2},
		{{formal(sure(RELEASE, 33)), formal(sure(ACQUIRE, 33))}, 2},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char *first = NULL;
		for (uint32_t turn = 0; turn < EDGES; turn++) {
			struct report r, again;
			fill(&r, row[i].of, turn);
			char *json = report_json(&r, -1), *back;
			if (r.findings != row[i].findings || pairs(&r) != r.findings)
				fprintf(stderr, "row %zu: %u findings of %u pairs\n", i, r.findings, pairs(&r));
			CHECK(r.findings == row[i].findings && pairs(&r) == r.findings && (!first || !strcmp(first, json)));
			for (uint32_t k = 1; k < r.findings; k++) /* the pair of lines is one, what it lacks is not */
				CHECK(r.finding[k].fingerprint == r.finding[0].fingerprint && r.finding[k].cause != r.finding[0].cause);
			gathered(&again, json);
			back = report_json(&again, -1);
			CHECK(!strcmp(json, back));
			report_free(&again);
			report_free(&r);
			free(back);
			free(first);
			first = json;
		}
		free(first);
	}
}

static uint32_t news(const struct report *r)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		n += r->finding[i].age == REPORT_NEW;
	return n;
}

/* As gsan-report has it. */
static void read_back(struct report *r)
{
	struct report one = *r;
	char error[200], *json = report_json(&one, -1);
	CHECK(!report_read(r, json, error, sizeof error));
	report_free(&one);
	free(json);
}

/* class, flag: of a finding that there is when both are merged, whichever is first. */
static void test_runs(void)
{
	const struct { struct report_finding was[EDGES], is[EDGES]; uint32_t news, merged; enum report_class class; uint32_t flag; } row[] = {
		{{sure(RELEASE, 33)}, {sure(RELEASE, 33)}, 0, 1, REPORT_MISSING_RELEASE, 33},
		{{sure(RELEASE, 33)}, {sure(RELEASE, 34)}, 1, 2, REPORT_MISSING_RELEASE, 34},
		{{sure(RELEASE, 33)}, {sure(BARRIER, 33)}, 1, 2, REPORT_MISSING_BARRIER, 45},
		{{sure(RELEASE, 33)}, {sure(RELEASE, 33), sure(ACQUIRE, 33)}, 1, 2, REPORT_MISSING_ACQUIRE, 45},
		{{sure(RELEASE, 33), sure(ACQUIRE, 33)}, {sure(ACQUIRE, 33)}, 0, 2, REPORT_MISSING_ACQUIRE, 45},
		/* which of a guess is seen hangs on the schedule */
		{{sure(RELEASE, 33)}, {guess(34)}, 0, 1, REPORT_MISSING_RELEASE, 33}, {{guess(33)}, {guess(34)}, 0, 1, REPORT_MISSING_RELEASE, 0},
		{{guess(33)}, {sure(RELEASE, 34)}, 0, 1, REPORT_MISSING_RELEASE, 34}, {{none(1)}, {sure(RELEASE, 33)}, 0, 1, REPORT_MISSING_RELEASE, 33},
		{{guess(33)}, {sure(RELEASE, 34), sure(BARRIER, 34)}, 0, 2, REPORT_MISSING_BARRIER, 45}, /* it may have been either */
		{{none(1)}, {none(2)}, 1, 2, REPORT_MISSING_STREAM_EDGE, 0}, {{none(2)}, {none(1)}, 1, 2, REPORT_NO_SYNCHRONISATION, 0},
		{{none(1)}, {none(1), none(2)}, 1, 2, REPORT_MISSING_STREAM_EDGE, 0}, {{none(2)}, {sure(RELEASE, 33)}, 1, 2, REPORT_MISSING_RELEASE, 33},
		{{formal(sure(RELEASE, 33))}, {sure(RELEASE, 33)}, 1, 1, REPORT_MISSING_RELEASE, 33},
		{{sure(RELEASE, 33)}, {formal(sure(RELEASE, 33))}, 0, 1, REPORT_MISSING_RELEASE, 33},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report was, is;
		fill(&was, row[i].was, 0);
		fill(&is, row[i].is, 0);
		read_back(&was), read_back(&is);
		CHECK(!report_compare(&is, &was));
		if (news(&is) != row[i].news)
			fprintf(stderr, "row %zu: %u are new\n", i, news(&is));
		CHECK(news(&is) == row[i].news);
		for (int turn = 0; turn < 2; turn++) {
			struct report all = {0};
			uint32_t found = 0;
			CHECK(!report_merge(&all, turn ? &is : &was) && !report_merge(&all, turn ? &was : &is));
			for (uint32_t k = 0; k < all.findings; k++)
				found += all.finding[k].missing_edge_class == row[i].class && (!row[i].flag || all.finding[k].edge.op[0].at.line == row[i].flag);
			if (all.findings != row[i].merged || found != 1)
				fprintf(stderr, "row %zu, turn %d: %u findings, %u as wanted\n", i, turn, all.findings, found);
			CHECK(all.findings == row[i].merged && pairs(&all) == row[i].merged && found == 1);
			report_free(&all);
		}
		report_free(&was);
		report_free(&is);
	}
}

/* A pair of launches counts once, however often its lines met in it, and for however many reasons; but once for each edge that is missing. */
static void test_counts(void)
{
	static const struct { uint64_t launches[EDGES], count; } row[] = {{{1, 1, 1}, 1}, {{1, 2, 1}, 2}, {{1, 2, 3}, 3}, {{0, 0, 0}, 3}};
	const struct report_finding of[][EDGES] = {{guess(33), guess(33), guess(33)}, {guess(33), none(1), guess(34)}, {sure(RELEASE, 33), guess(33), none(1)}};
	for (size_t i = 0; i < sizeof of / sizeof *of * (sizeof row / sizeof *row); i++) {
		struct report_finding told[EDGES];
		struct report r;
		for (int k = 0; k < EDGES; k++) {
			told[k] = of[i % 3][k];
			told[k].launches = row[i / 3].launches[k];
		}
		for (uint32_t turn = 0; turn < EDGES; turn++) {
			fill(&r, told, turn);
			CHECK(r.findings == 1 && r.finding[0].count == row[i / 3].count);
			report_free(&r);
		}
	}
	struct report_finding two[EDGES] = {sure(RELEASE, 33), sure(ACQUIRE, 33)};
	struct report r;
	two[0].launches = two[1].launches = 1;
	fill(&r, two, 0);
	CHECK(r.findings == 2 && r.finding[0].count == 1 && r.finding[1].count == 1);
	report_free(&r);
}

/* Another store of the kernel that lacks the same is old, as far as it is known that it does. */
static void test_further(void)
{
	static const struct { uint32_t line; int certain; uint32_t news; } row[] = {{32, 0, 0}, {35, 0, 1}, {32, 1, 0}, {35, 1, 0}};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report_finding of[EDGES] = {sure(RELEASE, 33), race(RELEASE, 33, row[i].certain, 1)};
		struct report was, is;
		of[1].first.at.line = row[i].line; /* before the flag's store, or behind it */
		fill(&is, of, 0);
		of[1] = (struct report_finding){0};
		fill(&was, of, 0);
		read_back(&was), read_back(&is);
		CHECK(!report_compare(&is, &was) && is.findings == 1 && pairs(&is) == 2 && news(&is) == row[i].news);
		report_free(&was);
		report_free(&is);
	}
}

int main(void)
{
	test_further();
	test_counts();
	test_stay();
	test_runs();
	return 0;
}
