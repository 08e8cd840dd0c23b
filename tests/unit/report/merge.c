/* Reports of several runs as one, and what is chosen of a report: by patterns, and against a baseline. */
#include <string.h>

#include "../check.h"
#include "report/report.h"

/* A race of line `line` between two ranks. */
static struct report_finding race(uint32_t line, int first, int second)
{
	struct report_finding f = {.kind = GSAN_RAW, .count = 1, .missing_edge = "why", .missing_edge_class = REPORT_MISSING_RELEASE};
	f.first = (struct report_side){.rank = first, .gpu = first, .kernel = "send", .kernel_name = "app::send<int>", .at = {"/home/a/ring.py", line, 1},
					.op = "st", .launch = 3};
	f.second = (struct report_side){.rank = second, .gpu = second, .kernel = "take", .at = {"/home/a/lib/take.cu", 47, 1}, .op = "ld"};
	struct report r = {.ranks = 4};
	CHECK(!report_append_finding(&r, &f) && !report_identify(&r));
	f.fingerprint = f.cause = r.finding[0].fingerprint;
	report_free(&r);
	return f;
}

static struct report_finding crossed(struct report_finding f)
{
	const struct report_side first = f.first;
	f.first = f.second;
	f.second = first;
	f.kind = GSAN_WAR;
	return f;
}

static struct report_finding caused(struct report_finding f, uint64_t cause)
{
	f.cause = cause;
	return f;
}

static void put(struct report *r, struct report_finding f) { CHECK(!report_append_finding(r, &f)); }

static uint64_t count(const struct report *r)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		sum += r->finding[i].count;
	return sum;
}

static uint32_t pairs(const struct report *r)
{
	uint32_t sum = 0, n;
	for (uint32_t i = 0; i < r->findings; i++, sum += n)
		report_pairs(r, &r->finding[i], &n);
	return sum;
}

/* Of run after run: which of their pairs are the same. Each row: the findings of two runs, how many pairs there are together, and how many
 * findings: those of one fingerprint are one, whatever their ranks; of several such in one run, each has its own counterpart. */
static void test_merge(void)
{
	const struct { struct report_finding one[2], other[2]; uint32_t ones, others, together, findings; } row[] = {
		{{race(1, 0, 1)}, {race(1, 0, 1)}, 1, 1, 1, 1},
		{{race(1, 0, 1)}, {crossed(race(1, 0, 1))}, 1, 1, 1, 1},
		{{race(1, 0, 1)}, {race(2, 0, 1)}, 1, 1, 2, 2},
		{{race(1, 0, 1)}, {race(1, 1, 0)}, 1, 1, 2, 1}, /* the other way round: another pair of ranks */
		{{race(1, 0, 1)}, {crossed(race(1, 1, 0))}, 1, 1, 2, 1},
		{{race(1, 0, 1)}, {race(1, 0, 2)}, 1, 1, 2, 1},
		{{race(1, 0, 2)}, {race(1, 1, 2)}, 1, 1, 2, 1},
		{{race(1, 0, 1), race(1, 0, 1)}, {race(1, 0, 1)}, 2, 1, 2, 2}, /* one counterpart each */
		{{race(1, 0, 1)}, {race(1, 0, 1), race(1, 0, 1)}, 1, 2, 2, 2},
		{{race(2, 0, 1), race(1, 0, 1)}, {race(3, 0, 1), race(2, 0, 1)}, 2, 2, 3, 3},
		{{caused(race(1, 0, 1), 7), caused(race(2, 0, 1), 7)}, {caused(race(3, 0, 1), 7)}, 2, 1, 3, 2}, /* not one: none says so in one run */
		{{caused(race(1, 0, 1), 7)}, {caused(race(2, 0, 1), 7)}, 1, 1, 2, 1},
		{{caused(race(1, 0, 1), 7)}, {caused(race(1, 0, 1), 8)}, 1, 1, 1, 1}, /* what it lacks the first run says */
		{{{.kind = GSAN_KIND_NONE}}, {race(1, 0, 1)}, 0, 1, 1, 1},
	};
	for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
		struct report run[2] = {{.ranks = 3}, {.ranks = 3}}, all = {0};
		for (uint32_t k = 0; k < row[i / 2].ones; k++)
			put(&run[i & 1], row[i / 2].one[k]);
		for (uint32_t k = 0; k < row[i / 2].others; k++)
			put(&run[~i & 1], row[i / 2].other[k]);
		CHECK(!report_merge(&all, &run[0]) && !report_merge(&all, &run[1]));
		if (pairs(&all) != row[i / 2].together || all.findings != row[i / 2].findings)
			fprintf(stderr, "merge %zu: %u findings of %u pairs\n", i / 2, all.findings, pairs(&all));
		CHECK(pairs(&all) == row[i / 2].together && all.findings == row[i / 2].findings && count(&all) == count(&run[0]) + count(&run[1]) && all.merged == 2);
		for (uint32_t k = 1; k < all.findings; k++) /* in the order of reports */
			CHECK(all.finding[k - 1].first.at.line <= all.finding[k].first.at.line || all.finding[k].first.at.file[8] == 'l' ||
			      all.finding[k - 1].first.at.file[8] == 'l');
		report_free(&run[0]), report_free(&run[1]), report_free(&all);
	}
}

/* Numbers are added, sizes are the largest; what was wrong stands, and what one job says of itself is the first one's. */
static void test_numbers(void)
{
	static const char *const argv[] = {"./a"};
	struct report run[2] = {{.ranks = 1}, {.ranks = 2}}, all = {0}, again;
	char error[200] = "", *json;
	for (int i = 0; i < 2; i++) {
		const struct report_job job = {.argv = argv, .arguments = 1, .host = i ? "b" : "a", .start = 1700000000 + i, .device = "emu"};
		CHECK(!report_set_job(&run[i], &job));
		run[i].rank[0] = (struct report_rank){.end = REPORT_EXITED, .status = i ? 0 : 5, .launches_checked = 3, .memory_bytes = 10 + (uint64_t)i};
		run[i].rank[0].counter[GSAN_N_CHECKED] = 100;
		run[i].withheld = 2;
		run[i].exit_status = i ? 66 : 5;
		CHECK(!report_add_note(&run[i], &(struct report_note){.key = "unchecked", .name = "gemm", .reason = "no PTX", .ranks = 1u << i}));
		CHECK(!report_merge(&all, &run[i]));
	}
	CHECK(all.ranks == 2 && all.rank[0].status == 5 && all.rank[0].launches_checked == 6 && all.rank[0].memory_bytes == 11);
	CHECK(all.rank[0].counter[GSAN_N_CHECKED] == 200 && all.withheld == 4 && all.exit_status == 5 && all.notes == 1 && all.note[0].ranks == 3);
	CHECK(!strcmp(all.job.host, "a") && all.job.start == 1700000000);
	CHECK((json = report_json(&all, -1)) && !report_read(&again, json, error, sizeof error) && again.merged == 2);
	for (uint32_t i = 0; i < again.findings; i++)
		CHECK(!strcmp(again.finding[i].first.kernel_name, "app::send<int>") && !again.finding[i].second.kernel_name);
	free(json);
	report_free(&run[0]), report_free(&run[1]), report_free(&all), report_free(&again);
}

/* A run of which nothing was checked is not forgotten beside one that was, in either order, nor by a merge of merges. */
static void test_nothing_checked(void)
{
	struct report seen = {.ranks = 1}, blind = {.ranks = 1}, all = {0}, again = {0}, more = {0};
	struct text why = {0};
	char error[200] = "", *json;
	seen.rank[0] = (struct report_rank){.end = REPORT_EXITED, .launches_checked = 1, .counter[GSAN_N_CHECKED] = 5};
	blind.rank[0].end = REPORT_EXITED;
	CHECK(!report_merge(&all, &seen) && !report_runs_unchecked(&all) && !report_add_unchecked(&why, &all));
	CHECK(!report_merge(&all, &blind) && report_runs_unchecked(&all) == 1);
	CHECK(report_add_unchecked(&why, &all) && !strcmp(why.data, "nothing was checked in 1 of the runs"));
	CHECK((json = report_json(&all, -1)) && !report_read(&again, json, error, sizeof error) && report_runs_unchecked(&again) == 1);
	CHECK(!report_merge(&more, &blind) && !report_runs_unchecked(&more) && !report_merge(&more, &again) && report_runs_unchecked(&more) == 2);
	free(json);
	text_free(&why);
	report_free(&all), report_free(&again), report_free(&more), report_free(&seen), report_free(&blind);
}

static void test_select(void)
{
	static const struct { const char *pattern[REPORT_PATTERNS]; uint32_t findings; } row[] = {
		{{NULL}, 3}, {{"read-*"}, 1}, {{"write-after-read"}, 2}, {{"*"}, 3}, {{"x"}, 0}, {{NULL, "send"}, 3}, {{NULL, "t?ke"}, 3},
		{{NULL, "app::send*"}, 3}, {{NULL, "post"}, 0}, {{NULL, NULL, "take.cu"}, 3}, {{NULL, NULL, "*/lib/*"}, 3},
		{{NULL, NULL, "/home/a/ring.py"}, 3}, {{NULL, NULL, "home"}, 0}, {{"read-*", "send", "*.py"}, 1}, {{"read-*", "post"}, 0},
		{{[REPORT_BY_RANK] = "1"}, 3}, {{[REPORT_BY_RANK] = "0,1"}, 3}, {{[REPORT_BY_RANK] = "1,*"}, 3}, {{[REPORT_BY_RANK] = "2"}, 0},
		{{[REPORT_BY_RANK] = "1,1"}, 0}, {{[REPORT_BY_RANK] = "01"}, 0}, {{[REPORT_BY_LABEL] = "halo"}, 1},
		{{[REPORT_BY_LABEL] = "h*o"}, 1}, {{[REPORT_BY_LABEL] = "hal"}, 0}, {{[REPORT_BY_RANK] = "2", [REPORT_BY_LABEL] = "halo"}, 0},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 2};
		struct report_finding also = race(3, 0, 1);
		also.kind = GSAN_WAW;
		also.also = 1u << GSAN_WAR;
		also.allocation = (struct report_allocation){.size = 8, .label = "halo"};
		put(&r, race(1, 0, 1)), put(&r, crossed(race(2, 0, 1))), put(&r, also);
		report_select(&r, row[i].pattern);
		if (r.findings != row[i].findings)
			fprintf(stderr, "selection %zu: %u\n", i, r.findings);
		CHECK(r.findings == row[i].findings && r.deselected == 3 - r.findings);
		report_free(&r);
	}
	struct report nowhere = {.ranks = 1}; /* of no kernel and no file */
	put(&nowhere, (struct report_finding){.kind = GSAN_RAW, .count = 1});
	report_select(&nowhere, (const char *const[REPORT_PATTERNS]){NULL, "*", NULL});
	CHECK(!nowhere.findings);
	report_free(&nowhere);
}

static void test_compare(void)
{
	struct report r = {.ranks = 2}, baseline = {.ranks = 2}, none = {.ranks = 2}, again;
	char error[200] = "", *json;
	put(&r, race(1, 0, 1)), put(&r, race(2, 0, 1)), put(&r, race(1, 1, 0));
	put(&baseline, race(9, 0, 1)), put(&baseline, crossed(race(1, 0, 1)));
	CHECK(r.finding[0].age == REPORT_NO_AGE && !strstr(json = report_json(&r, -1), "\"old\""));
	free(json);
	CHECK(!report_compare(&r, &none) && r.finding[0].age == REPORT_NEW && r.finding[2].age == REPORT_NEW);
	CHECK(!report_compare(&r, &baseline) && r.finding[0].age == REPORT_OLD && r.finding[1].age == REPORT_NEW);
	CHECK(r.finding[2].age == REPORT_OLD); /* of whatever ranks */
	CHECK((json = report_json(&r, -1)) && !report_read(&again, json, error, sizeof error));
	CHECK(again.finding[0].age == REPORT_OLD && again.finding[2].age == REPORT_NEW); /* sorted */
	free(json);
	report_free(&r), report_free(&baseline), report_free(&again);
}

int main(void)
{
	test_merge();
	test_numbers();
	test_nothing_checked();
	test_select();
	test_compare();
	return 0;
}
