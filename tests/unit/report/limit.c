/* More findings than are listed: which ones stay, and that the others are counted wherever a report goes. */
#include <stdio.h>
#include <string.h>

#include "../check.h"
#include "report/formats/format.h"
#include "report/report.h"

struct row { enum gsan_kind kind; int formal; enum report_age age; uint32_t number; };

static void fill(struct report *r, const struct row *row)
{
	r->ranks = 1;
	r->rank[0].launches_checked = r->rank[0].counter[GSAN_N_CHECKED] = 1;
	for (uint32_t line = 1; row->number; row++)
		for (uint32_t i = 0; i < row->number; i++, line++) {
			const struct report_side side = {.kernel = "k", .at = {"a.cu", line, 1}, .op = "st", .semantics = "weak"};
			const struct report_finding f = {.kind = row->kind, .formal = row->formal, .count = 2, .first = side, .second = side,
							 .missing_edge = "why"};
			CHECK(!report_add_finding(r, &f));
		}
	CHECK(!report_finish(r));
	report_identify(r);
}

static uint32_t count(const struct report *r, enum gsan_kind kind, int formal, enum report_age age)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		n += r->finding[i].kind == kind && r->finding[i].formal == formal && r->finding[i].age == age;
	return n;
}

static char *printed(const struct report *r, const char *format)
{
	struct text out = {0};
	const struct report_style style = {.width = 100};
	format_find(format)(&out, &(struct format_view){r, NULL, &style});
	CHECK(!out.failed);
	return text_take(&out);
}

static int says(const struct report *r, const char *format, const char *what)
{
	char *text = printed(r, format);
	int found = strstr(text, what) != NULL;
	free(text);
	return found;
}

static void test_which(void)
{
	static const struct row rows[] = {{GSAN_RAW, 0, 0, 10}, {GSAN_RAW, 1, 0, 10}, {GSAN_WAR, 0, 0, 3}, {GSAN_WAW, 1, 0, 2}, {0, 0, 0, 0}};
	static const struct { uint32_t details, raw, formal, war, waw; uint64_t unlisted; uint32_t formal_unlisted; } want[] = {
		{100, 10, 10, 3, 2, 0, 0}, {20, 10, 10, 3, 2, 0, 0}, {19, 10, 9, 3, 2, 0, 1}, {10, 10, 0, 3, 2, 0, 10}, {9, 9, 0, 3, 2, 1, 10},
		{3, 3, 0, 3, 2, 7, 10}, {1, 1, 0, 1, 1, 11, 11},
	};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct report r = {0};
		fill(&r, rows);
		report_limit(&r, want[i].details);
		CHECK(count(&r, GSAN_RAW, 0, 0) == want[i].raw && count(&r, GSAN_RAW, 1, 0) == want[i].formal);
		CHECK(count(&r, GSAN_WAR, 0, 0) == want[i].war && count(&r, GSAN_WAW, 1, 0) == want[i].waw);
		CHECK(report_unlisted(&r) == want[i].unlisted && r.formal_unlisted == want[i].formal_unlisted);
		CHECK(r.unlisted[GSAN_RAW].count == 2 * r.unlisted[GSAN_RAW].findings && r.finding[0].first.at.line == 1);
		report_limit(&r, want[i].details); /* again: nothing more */
		CHECK(report_unlisted(&r) == want[i].unlisted && r.formal_unlisted == want[i].formal_unlisted);
		report_free(&r);
	}
}

/* Old ones give way to new ones, which decide the status. */
static void test_age(void)
{
	static const struct row was[] = {{GSAN_RAW, 0, 0, 8}, {0, 0, 0, 0}}, is[] = {{GSAN_RAW, 0, 0, 10}, {0, 0, 0, 0}};
	struct report r = {0}, baseline = {0};
	fill(&r, is);
	fill(&baseline, was);
	CHECK(!report_compare(&r, &baseline) && count(&r, GSAN_RAW, 0, REPORT_NEW) == 2);
	report_limit(&r, 3);
	CHECK(count(&r, GSAN_RAW, 0, REPORT_NEW) == 2 && count(&r, GSAN_RAW, 0, REPORT_OLD) == 1 && r.unlisted[GSAN_RAW].findings == 7);
	CHECK(r.unlisted[GSAN_RAW].old == 7 && says(&r, "text", "10 findings, 7 of them not listed (--details), 2 of them new, in"));
	CHECK(says(&r, "prometheus", "kind=\"read-after-write\",old=\"false\"} 2\n") && says(&r, "prometheus", ",old=\"true\"} 8\n") &&
	      says(&r, "junit", "failures=\"2\" errors=\"1\" skipped=\"2\""));
	CHECK(!report_compare(&r, &baseline) && r.unlisted[GSAN_RAW].old == 7); /* all that the baseline has, listed or not, is here */
	report_limit(&baseline, 2);
	CHECK(!report_compare(&r, &baseline) && r.unlisted[GSAN_RAW].old == 7);
	r.unlisted[GSAN_RAW].findings++;
	CHECK(!report_compare(&r, &baseline) && r.unlisted[GSAN_RAW].old == 7 && says(&r, "text", "3 of them new"));
	report_free(&r);
	report_free(&baseline);
}

static void test_said(void)
{
	static const struct row rows[] = {{GSAN_RAW, 0, 0, 10}, {GSAN_WAR, 0, 0, 3}, {0, 0, 0, 0}};
	struct report r = {0}, again, all = {0};
	char error[200];
	fill(&r, rows);
	CHECK(says(&r, "text", "gsan: 13 findings in 1 rank") && !says(&r, "json", "unlisted") && !says(&r, "junit", "not listed"));
	report_limit(&r, 4);
	CHECK(says(&r, "text", "gsan: 13 findings, 6 of them not listed (--details) in 1 rank") && says(&r, "html", "13 findings, 6 of them not listed"));
	CHECK(says(&r, "prometheus", "gsan_findings{kind=\"read-after-write\",old=\"false\"} 10\n"));
	CHECK(says(&r, "junit", "failures=\"8\"") && says(&r, "junit", "message=\"6 more are counted, and not listed (--details)\""));
	CHECK(says(&r, "sarif", "read-after-write: 6 more are counted, and not listed (--details)"));
	char *json = printed(&r, "json");
	CHECK(!report_read(&again, json, error, sizeof error) && again.unlisted[GSAN_RAW].findings == 6 && again.unlisted[GSAN_RAW].count == 12);
	CHECK(!report_unlisted(&(struct report){0}) && report_unlisted(&again) == 6);
	CHECK(!report_merge(&all, &again) && !report_merge(&all, &r) && report_unlisted(&all) == 6 && all.findings == 7);
	report_select(&all, (const char *const[REPORT_PATTERNS]){[REPORT_BY_KERNEL] = "k"});
	CHECK(report_unlisted(&all) == 6 && !all.deselected);
	report_select(&all, (const char *const[REPORT_PATTERNS]){[REPORT_BY_KIND] = "write-*"});
	CHECK(!report_unlisted(&all) && all.deselected == 4 + 6);
	free(json);
	report_free(&r);
	report_free(&again);
	report_free(&all);
}

int main(void)
{
	test_which();
	test_age();
	test_said();
	return 0;
}
