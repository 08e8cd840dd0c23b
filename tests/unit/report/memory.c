/* The memory in which one pair of lines races: several allocations, whatever came first; what is more than has room is said. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "report/report.h"
#include "report/suppress.h"

static struct report_finding race(uint64_t base, uint64_t offset, const char *label, uint32_t launch)
{
	struct report_finding f = {.kind = GSAN_WAW, .count = 1, .allocation = {0, base, 64, offset, label}};
	f.first = (struct report_side){.kernel = "w", .grid = {1, 1, 1}, .launch = launch, .at = {"a.cu", 3, 1}, .op = "st"};
	f.second = (struct report_side){.kernel = "r", .grid = {1, 1, 1}, .launch = launch + 1, .at = {"a.cu", 4, 1}, .op = "st"};
	return f;
}

static void check(uint32_t memories, uint32_t turned)
{
	struct report r = {.ranks = 1}, again;
	struct text out = {0};
	char error[200] = "";
	for (uint32_t i = 0; i < 3 * memories; i++) { /* each three times, from another one on, at other offsets; the second is the earliest */
		const uint32_t next = (i + turned) % memories, k = turned % 2 ? memories - 1 - next : next;
		const struct report_finding f = race(0x1000 * (k + 1), 8 + 4 * ((i / memories + turned) % 3), "cuMemAlloc(64)", k == 1 ? 1 : 10 + k);
		CHECK(!report_add_finding(&r, &f));
	}
	CHECK(!report_finish(&r) && !report_group(&r) && !report_regroup(&r) && !report_identify(&r) && r.findings == 1);
	const struct report_finding *f = &r.finding[0];
	CHECK(f->count == 3 * memories && f->memories == (memories < 2 ? 0 : memories > REPORT_MEMORIES ? REPORT_MEMORIES : memories));
	CHECK(f->memory_unlisted == (memories > REPORT_MEMORIES) && f->allocation.base == (memories > 1 ? 0x2000 : 0x1000));
	for (uint32_t i = 0; i < f->memories; i++)
		CHECK(f->memory[i].base == 0x1000 * (i + 1) && f->memory[i].offset == 8);
	report_text(&out, &r, NULL, &(struct report_style){.width = 200});
	CHECK((strstr(out.data, "and byte 8 of 64 at 0x1000, allocated by rank 0 (cuMemAlloc(64))") != NULL) == (memories > 1));
	CHECK((strstr(out.data, "and others") != NULL) == (memories > REPORT_MEMORIES) && !strstr(out.data, "and byte 8 of 64 at 0x2000"));
	char *json = report_json(&r, -1);
	CHECK(!report_read(&again, json, error, sizeof error));
	char *second = report_json(&again, -1);
	CHECK(!strcmp(json, second));
	free(json), free(second);
	text_free(&out);
	report_free(&again), report_free(&r);
}

/* By a label it is found that one of them has, and hidden by one that all have. Those that the program names are pairs of their own. */
static void test_labels(void)
{
	static const struct { const char *label[2], *select; uint32_t findings, selected; } row[] = {
		{{"cuMemAlloc(64)", "cuMemCreate(64)"}, "cuMemCreate*", 1, 1}, {{"cuMemAlloc(64)", "cuMemAlloc(64)"}, "cuMemCreate*", 1, 0},
		{{"cuMemAlloc(64)", "weights"}, "weights", 2, 1}, {{"weights", "biases"}, "b*", 2, 1}, {{"weights", "weights"}, "weights", 1, 1},
		{{"cu(64)", "cuMem(64"}, "cu*", 2, 2}, {{"cuda(x)", "cuda()"}, "cuda(x)", 2, 1},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 1};
		const char *pattern[REPORT_PATTERNS] = {[REPORT_BY_LABEL] = row[i].select};
		for (uint32_t k = 0; k < 2; k++) {
			const struct report_finding f = race(0x1000 * (k + 1), 0, row[i].label[k], 1 + k);
			CHECK(!report_add_finding(&r, &f));
		}
		CHECK(!report_finish(&r) && !report_group(&r) && !report_regroup(&r) && !report_identify(&r));
		CHECK(r.findings == row[i].findings && (r.findings < 2 || r.finding[0].cause != r.finding[1].cause));
		report_select(&r, pattern);
		CHECK(r.findings == row[i].selected);
		report_free(&r);
	}
}

int main(void)
{
	for (uint32_t memories = 1; memories < 8; memories++)
		for (uint32_t turned = 0; turned < memories; turned++)
			check(memories, turned);
	test_labels();
	return 0;
}
