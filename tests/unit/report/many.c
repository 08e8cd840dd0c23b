/* Very many findings: nothing here may take the square of their number (ctest's time limit looks), nor more memory than a job has to spare. And
 * the index that they are found by. */
#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#include "../check.h"
#include "report/index.h"
#include "report/report.h"
#include "report/suppress.h"

#define SITES 70000u
#define PAIRS 1000000u
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define MEMORY_MAX LONG_MAX /* theirs counts, too */
#else
#define MEMORY_MAX (500l << 10) /* KiB */
#endif

static long used(void)
{
	struct rusage usage;
	CHECK(!getrusage(RUSAGE_SELF, &usage));
	return usage.ru_maxrss;
}

/* Of two ranks, most with a flag that others name, too, so that reasons are elected and learnt. */
static struct report_finding race(uint32_t pair, char *file, size_t size)
{
	const uint32_t site = pair % SITES;
	snprintf(file, size, "/home/user/part%u.cu", site / 1000);
	struct report_finding f = {.kind = GSAN_RAW, .reason = site % 3 ? GSAN_WHY_RELAXED_WRITE : GSAN_WHY_NONE, .count = 1, .weight = 16};
	f.certain = site % 5 == 0;
	f.first = (struct report_side){.kernel = "send", .at = {file, site % 1000 + 1, 3}, .op = "st", .semantics = "weak", .launch = pair};
	f.second = (struct report_side){.rank = 1, .gpu = 1, .kernel = "take", .at = {file, site % 1000 + 2, 3}, .op = "ld", .launch = pair};
	f.flag_write = (struct report_flag){{"flag.h", site % 50 + 1, 1}, "gpu", "relaxed", NULL, NULL, NULL};
	f.flag_read = (struct report_flag){{"flag.h", site % 70 + 100, 1}, "gpu", "acquire", NULL, NULL, NULL};
	return f;
}

static void test_many(void)
{
	struct report r = {.ranks = 2}, again, all = {0};
	struct text out = {0};
	char file[64], said[64], error[200] = "";
	uint64_t count = 0;
	for (uint32_t pair = 0; pair < PAIRS; pair++) {
		const struct report_finding f = race(pair, file, sizeof file);
		CHECK(!report_add_finding(&r, &f));
	}
	CHECK(r.findings == SITES && !report_finish(&r) && r.findings == SITES && !report_group(&r) && !report_regroup(&r) && !report_add_sources(&r, NULL));
	report_identify(&r);
	CHECK(r.pairs > SITES / 2 && r.findings < SITES / 2); /* those whose flag is known */
	const uint32_t findings = r.findings;
	for (uint32_t i = 0; i < r.findings; i++)
		count += r.finding[i].count;
	CHECK(count == PAIRS);
	snprintf(said, sizeof said, "gsan: %u findings in", findings);
	char *json = report_json(&r, -1);
	report_text(&out, &r, NULL, &(struct report_style){.width = 100});
	CHECK(json && !out.failed && strstr(out.data, said));
	if (used() > MEMORY_MAX)
		fprintf(stderr, "%ld KiB\n", used());
	CHECK(used() <= MEMORY_MAX);
	text_free(&out);
	CHECK(!report_read(&again, json, error, sizeof error) && again.findings == findings && again.pairs == r.pairs);
	CHECK(!report_merge(&all, &again) && !report_merge(&all, &r) && all.findings == findings && all.pairs == r.pairs);
	CHECK(!report_compare(&all, &r) && all.finding[findings - 1].age == REPORT_OLD);
	free(json);
	report_free(&again);
	report_free(&all);
	report_free(&r);
}

/* Elements of one hash come as they were added, however the index has grown since; others do not. */
static void test_index(void)
{
	static const uint32_t numbers[] = {1, 31, 32, 33, 1000, 5000};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct index x = {0};
		uint32_t at = 0;
		CHECK(!index_next(&x, 7, &at));
		for (uint32_t k = 0; k < numbers[i]; k++)
			CHECK(!index_add(&x, k % 10 * 0x100000001ull, k));
		for (uint32_t hash = 0; hash < 11; hash++) {
			uint32_t want = hash, *got;
			for (at = 0; (got = index_next(&x, hash * 0x100000001ull, &at)); want += 10)
				CHECK(*got == want);
			CHECK(want >= numbers[i] || hash == 10);
		}
		CHECK(x.used == numbers[i]);
		index_free(&x);
	}
}

/* What is added after findings went away, or were put in order, finds the ones that are left. */
static void test_index_follows(void)
{
	struct report r = {.ranks = 2};
	char file[64];
	for (uint32_t pair = 9; pair--;) {
		struct report_finding f = race(pair, file, sizeof file);
		f.formal = pair == 8;
		f.missing_edge = "why";
		CHECK(!report_add_finding(&r, &f));
	}
	report_sort(&r);
	report_unlist_formal(&r);
	report_select(&r, (const char *const[REPORT_PATTERNS]){[REPORT_BY_FILE] = "part0.cu"});
	for (uint32_t pair = 0; pair < 10; pair++) {
		struct report_finding f = race(pair, file, sizeof file);
		f.missing_edge = "why";
		CHECK(!report_add_finding(&r, &f));
	}
	CHECK(r.findings == 10 && r.finding[0].count == 2 && r.finding[7].count == 2 && r.finding[8].count == 1);
	report_free(&r);
}

/* As many suppressions as findings. */
static void test_suppressed(const char *folder)
{
	struct report r = {.ranks = 2};
	struct suppressions s;
	struct text out = {0};
	char file[300], error[600];
	for (uint32_t pair = 0; pair < SITES; pair++) {
		const struct report_finding f = race(pair, file, sizeof file);
		CHECK(!report_add_finding(&r, &f));
	}
	report_suggest(&out, &r);
	snprintf(file, sizeof file, "%s/many.supp", folder);
	CHECK(!out.failed && !text_write_file(file, out.data, out.size) && !suppressions_read(&s, file, error, sizeof error) && s.rows == SITES);
	CHECK(!report_suppress(&r, &s) && report_tally(&r).suppressed == SITES && r.finding[SITES - 1].suppressed == SITES);
	text_free(&out);
	suppressions_free(&s);
	report_free(&r);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	test_index();
	test_index_follows();
	test_many();
	test_suppressed(argv[1]);
	return 0;
}
