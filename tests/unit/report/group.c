/* Which pairs of lines become one finding and which do not, whatever comes first; which is the root; what a finding is known by; and that all
 * of its pairs are printed, read back, limited and gathered by rank. */
#include <errno.h>
#include <string.h>

#include "../check.h"
#include "report/formats/format.h"
#include "report/report.h"

static const struct report_style plain;

/* A pair of ranks: the store of line 31 and the load of line 47; the flag's store is line 33, its read line 45. */
static struct report_finding pair(enum gsan_reason reason, uint32_t store, uint32_t load)
{
	struct report_finding f = {.kind = GSAN_RAW, .reason = reason, .count = 2};
	f.first = (struct report_side){.rank = 0, .gpu = 0, .kernel = "send", .grid = {4, 1, 1}, .launch = 3, .at = {"ring.py", store, 1}, .op = "st",
				       .bytes = 4, .semantics = "weak"};
	f.second = (struct report_side){.rank = 1, .gpu = 1, .kernel = "take", .grid = {4, 1, 1}, .launch = 1, .at = {"ring.py", load, 1}, .op = "ld",
					.bytes = 4, .semantics = "weak"};
	f.flag_write = (struct report_flag){{"ring.py", 33, 1}, "sys", "relaxed", NULL, "send", NULL};
	f.flag_read = (struct report_flag){{"ring.py", 45, 1}, "sys", "acquire", NULL, "take", NULL};
	return f;
}

static struct report_finding other_flag(struct report_finding f) { f.flag_write.at.line = 34; return f; }
static struct report_finding other_read(struct report_finding f) { f.flag_read.at.line = 46; return f; }
static struct report_finding other_kernel(struct report_finding f) { f.flag_write.kernel = "send2"; return f; }
static struct report_finding relaxed(struct report_finding f) { f.flag_read.semantics = "relaxed"; return f; }
static struct report_finding both(struct report_finding f) { f = relaxed(f); f.both = 1; return f; }
static struct report_finding formal(struct report_finding f) { f.formal = 1; return f; }
static struct report_finding released(struct report_finding f) { f.flag_write.semantics = "release"; return f; }
static struct report_finding weak_flag(struct report_finding f) { f.flag_write.semantics = "weak"; return f; }
static struct report_finding strong(struct report_finding f) { f.second.semantics = "relaxed"; return f; }
static struct report_finding of_kernel(struct report_finding f, const char *kernel) { f.first.kernel = kernel; return f; }
static struct report_finding itself(struct report_finding f) { f.second.kernel = f.first.kernel; f.second.op = f.first.op; return f; }
static struct report_finding nc(struct report_finding f) { f.kind = GSAN_STALE_NC; f.second.op = "ld.nc"; return f; }

static struct report_finding ranks(struct report_finding f, int first, int second)
{
	f.first.rank = f.first.gpu = first;
	f.second.rank = f.second.gpu = second;
	return f;
}

static struct report_finding one_rank(struct report_finding f, uint32_t launch)
{
	f.second.rank = f.second.gpu = 0;
	f.second.launch = launch;
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

static struct report_finding scopes(struct report_finding f, const char *write, const char *read)
{
	f.flag_write.scope = write;
	f.flag_read.scope = read;
	return f;
}

/* The race of two flags, by scope alone. */
static struct report_finding flags(const char *first, const char *second)
{
	struct report_finding f = pair(GSAN_WHY_NONE, 33, 45);
	f.kind = GSAN_SCOPE;
	f.first.semantics = "relaxed", f.second.semantics = "acquire";
	f.first.scope = first, f.second.scope = second;
	return f;
}

static struct report_finding copies(uint32_t line)
{
	struct report_finding f = one_rank(pair(GSAN_WHY_NONE, line, 47), 4);
	f.first.op = "memcpy";
	f.first.kernel = "cuMemcpyHtoDAsync_v2";
	return f;
}

/* A signal is written in a header, or in a function of the kernel's own file, and called from two lines. */
static struct report_finding inlined(uint32_t data, const char *file, const char *chain)
{
	struct report_finding f = pair(GSAN_WHY_RELAXED_WRITE, data, 47);
	f.flag_write.at.file = file;
	f.flag_write.inlined_at = chain;
	return f;
}

static int two_gpus(const struct report_finding *f) { return f->first.gpu != f->second.gpu; }

#define RELEASE GSAN_WHY_RELAXED_WRITE
#define ACQUIRE GSAN_WHY_NO_ACQUIRE
static void test_rule(void)
{
	const struct { struct report_finding one, other; uint32_t findings; } row[] = {
		/* the same operation lacks the same */
		{pair(RELEASE, 31, 47), pair(RELEASE, 32, 48), 1}, {pair(RELEASE, 31, 47), other_flag(pair(RELEASE, 32, 48)), 2},
		{pair(RELEASE, 31, 47), other_read(pair(RELEASE, 32, 48)), 1}, {pair(RELEASE, 31, 47), other_kernel(pair(RELEASE, 32, 48)), 2},
		{relaxed(released(pair(ACQUIRE, 31, 47))), relaxed(released(pair(ACQUIRE, 32, 48))), 1},
		{relaxed(released(pair(ACQUIRE, 31, 47))), other_read(relaxed(released(pair(ACQUIRE, 32, 48)))), 2},
		{pair(RELEASE, 31, 47), relaxed(released(pair(ACQUIRE, 32, 48))), 2},
		{one_rank(pair(RELEASE, 30, 48), 1), pair(RELEASE, 31, 47), 1}, /* it takes .sys */
		{pair(RELEASE, 31, 47), formal(pair(RELEASE, 32, 48)), 2},
		/* what lacks both explains what lacks one of them, but not who reads elsewhere */
		{both(pair(RELEASE, 31, 47)), pair(RELEASE, 30, 48), 1}, {both(pair(RELEASE, 31, 47)), relaxed(released(pair(ACQUIRE, 32, 48))), 1},
		{both(pair(RELEASE, 31, 47)), both(pair(RELEASE, 32, 48)), 1}, {both(pair(RELEASE, 31, 47)), other_read(both(pair(RELEASE, 32, 48))), 2},
		{both(pair(RELEASE, 31, 47)), other_flag(pair(RELEASE, 32, 48)), 2},
		/* scopes: of the flag's own race, of the data behind it, from either side */
		{flags("gpu", "gpu"), scopes(pair(GSAN_WHY_RELEASE_SCOPE, 31, 47), "gpu", "gpu"), 1},
		{flags("gpu", "gpu"), scopes(pair(GSAN_WHY_ACQUIRE_SCOPE, 31, 47), "gpu", "gpu"), 1},
		{flags("gpu", "gpu"), other_flag(scopes(pair(GSAN_WHY_RELEASE_SCOPE, 31, 47), "gpu", "sys")), 2},
		{flags("gpu", "sys"), scopes(pair(GSAN_WHY_RELEASE_SCOPE, 31, 47), "gpu", "sys"), 1},
		{flags("gpu", "sys"), scopes(pair(GSAN_WHY_ACQUIRE_SCOPE, 31, 47), "sys", "gpu"), 2},
		{scopes(pair(GSAN_WHY_RELEASE_SCOPE, 31, 47), "gpu", "gpu"), other_read(scopes(pair(GSAN_WHY_RELEASE_SCOPE, 32, 48), "gpu", "sys")), 1}, /* the first of its two is enough */
		{scopes(pair(GSAN_WHY_RELEASE_SCOPE, 31, 47), "gpu", "gpu"), other_read(scopes(pair(GSAN_WHY_RELEASE_SCOPE, 32, 48), "gpu", "gpu")), 2},
		{flags("gpu", "gpu"), crossed(flags("gpu", "gpu")), 1},
		/* what each access has to mend for itself */
		{released(pair(GSAN_WHY_BEFORE_PAYLOAD, 31, 47)), released(pair(GSAN_WHY_BEFORE_PAYLOAD, 31, 48)), 1},
		{released(pair(GSAN_WHY_BEFORE_PAYLOAD, 31, 47)), released(pair(GSAN_WHY_BEFORE_PAYLOAD, 32, 47)), 2},
		{pair(GSAN_WHY_OTHER_CTA, 31, 47), pair(GSAN_WHY_OTHER_CTA, 32, 47), 2}, {pair(GSAN_WHY_OTHER_CTA, 31, 47), pair(GSAN_WHY_OTHER_CTA, 31, 48), 1},
		/* one barrier, one weak flag, one load */
		{pair(GSAN_WHY_PUBLISHED_ALONE, 31, 47), pair(GSAN_WHY_PUBLISHED_ALONE, 32, 48), 1},
		{pair(GSAN_WHY_PUBLISHED_ALONE, 31, 47), pair(GSAN_WHY_ACQUIRED_ALONE, 32, 48), 2},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), weak_flag(pair(GSAN_WHY_WEAK_WRITE, 32, 48)), 1},
		/* what is weak of a flag, beside what is strong, whatever else explains that, and beside itself; not beside another load, or in another kernel */
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), strong(pair(GSAN_WHY_NONE, 33, 45)), 1},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), crossed(strong(pair(GSAN_WHY_NONE, 33, 45))), 1},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), strong(pair(GSAN_WHY_NONE, 33, 99)), 1},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), strong(relaxed(released(other_flag(pair(ACQUIRE, 33, 44))))), 1},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), itself(pair(GSAN_WHY_NONE, 33, 33)), 1},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), pair(GSAN_WHY_NONE, 33, 45), 2},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), strong(of_kernel(pair(GSAN_WHY_NONE, 33, 45), "other")), 2},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), formal(strong(pair(GSAN_WHY_NONE, 33, 45))), 2},
		{weak_flag(pair(GSAN_WHY_WEAK_WRITE, 31, 47)), pair(GSAN_WHY_NONE, 32, 48), 2},
		{nc(pair(GSAN_WHY_NONE, 31, 47)), nc(pair(GSAN_WHY_NONE, 32, 47)), 1},
		{nc(pair(GSAN_WHY_NONE, 31, 47)), crossed(nc(pair(GSAN_WHY_NONE, 31, 47))), 1}, {nc(pair(GSAN_WHY_NONE, 31, 47)), nc(pair(GSAN_WHY_NONE, 31, 48)), 2},
		/* no operation is known: the lines; or two kernels, whose launches nothing orders */
		{pair(GSAN_WHY_NONE, 31, 47), pair(GSAN_WHY_NONE, 31, 48), 2}, {pair(GSAN_WHY_NONE, 31, 47), ranks(pair(GSAN_WHY_NONE, 31, 47), 1, 2), 1},
		{pair(GSAN_WHY_NONE, 31, 47), ranks(crossed(pair(GSAN_WHY_NONE, 31, 47)), 2, 1), 1},
		{one_rank(pair(GSAN_WHY_NONE, 31, 47), 3), one_rank(pair(GSAN_WHY_NONE, 32, 48), 3), 2},
		{one_rank(pair(GSAN_WHY_NONE, 31, 47), 4), one_rank(pair(GSAN_WHY_NONE, 32, 48), 4), 1},
		{one_rank(pair(GSAN_WHY_NONE, 31, 47), 4), crossed(one_rank(pair(GSAN_WHY_NONE, 32, 48), 4)), 1},
		{one_rank(pair(GSAN_WHY_NONE, 31, 47), 4), one_rank(pair(GSAN_WHY_NONE, 32, 48), 3), 2},
		{copies(10), copies(10), 1}, {copies(10), copies(11), 2},
		/* what is called from two places is two operations, for it may be a call that wants mending; how a header's own lines come there does not matter */
		{inlined(31, "ring.py", "ring.py:60"), inlined(32, "ring.py", "ring.py:61"), 2},
		{inlined(31, "ring.py", "ring.py:60"), inlined(32, "ring.py", "ring.py:60"), 1},
		{inlined(31, "lock.h", "ring.py:60"), inlined(32, "lock.h", "ring.py:61"), 2},
		{inlined(31, "lock.h", "ring.py:60,ring.py:70"), inlined(32, "lock.h", "ring.py:60,ring.py:80"), 2},
		{inlined(31, "lock.h", "atomic.h:5,ring.py:60"), inlined(32, "lock.h", "atomic.h:6,ring.py:60"), 1},
	};
	for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 3};
		const struct report_finding *const f[2] = {&row[i / 2].one, &row[i / 2].other};
		CHECK(!report_add_finding(&r, f[i & 1]) && !report_add_finding(&r, f[~i & 1]) && !report_finish(&r) && !report_group(&r) && !report_regroup(&r));
		uint64_t count = 0;
		for (uint32_t k = 0; k < r.findings; k++)
			count += r.finding[k].count;
		if (r.findings != row[i / 2].findings)
			fprintf(stderr, "rule %zu: %u findings: %s\n", i / 2, r.findings, r.finding[0].missing_edge);
		CHECK(r.findings == row[i / 2].findings && count == 4);
		for (uint32_t k = 0; k < r.pairs; k++) /* the root says all that is to be mended, and how wide */
			CHECK(r.pair[0].edge.ops >= r.pair[k].edge.ops && two_gpus(&r.pair[0]) >= two_gpus(&r.pair[k]));
		report_free(&r);
	}
}

/* A flag whose scope is too narrow, read from both sides, in several ranks, with two lines of data, one of which is suppressed; and a race of
 * its own. The order of arrival is `turn`'s. */
static void fill(struct report *r, uint32_t turn, int moved)
{
	const struct report_finding all[] = {
		flags("gpu", "gpu"), crossed(flags("gpu", "gpu")), scopes(pair(GSAN_WHY_RELEASE_SCOPE, 31, 47), "gpu", "gpu"),
		scopes(pair(GSAN_WHY_RELEASE_SCOPE, 32, 48), "gpu", "gpu"), ranks(scopes(pair(GSAN_WHY_ACQUIRE_SCOPE, 32, 48), "gpu", "gpu"), 1, 2),
		pair(GSAN_WHY_NONE, 70, 80),
	};
	const uint32_t n = sizeof all / sizeof *all;
	uint32_t number;
	*r = (struct report){.ranks = 3};
	for (uint32_t i = 0; i < n; i++) {
		struct report_finding f = all[(i + turn) % n];
		f.second.source = "y = tl.load(x)";
		CHECK(!report_add_finding(r, &f));
	}
	CHECK(!report_finish(r) && !report_group(r));
	CHECK(!report_add_suppression(r, &(struct report_suppression){"a.supp", 1, "file ring.py:31", 1, 2}, &number));
	for (uint32_t i = 0; i < r->findings; i++) {
		r->finding[i].suppressed = r->finding[i].first.at.line == 31;
		for (uint32_t k = 0; k < r->finding[i].edge.ops; k++) { /* what report_add_sources finds there */
			struct report_op *op = &r->finding[i].edge.op[k];
			op->source = op->at.line == 33 ? "tl.atomic_xchg(flag)" : "tl.atomic_cas(flag)";
			op->at.line += moved ? 100 : 0;
		}
	}
	CHECK(!report_regroup(r));
	report_identify(r);
}

static char *printed(const struct report *r, const char *format)
{
	struct text out = {0};
	format_find(format)(&out, &(struct format_view){r, NULL, &plain});
	CHECK(!out.failed);
	return text_take(&out);
}

static int says(const struct report *r, const char *format, const char *what)
{
	char *text = printed(r, format);
	const int found = strstr(text, what) != NULL;
	if (!found)
		fprintf(stderr, "not said: %s\n%s", what, text);
	free(text);
	return found;
}

static void test_finding(void)
{
	struct report r, moved, again;
	char *first = NULL, error[200] = "";
	for (uint32_t turn = 0; turn < 6; turn++) {
		fill(&r, turn, 0);
		char *json = printed(&r, "json");
		CHECK(r.findings == 2 && (!first || !strcmp(first, json)));
		CHECK(!report_read(&again, json, error, sizeof error));
		char *second = printed(&again, "json"), *text = printed(&r, "text"), *reprinted = printed(&again, "text");
		CHECK(!strcmp(json, second) && !strcmp(text, reprinted));
		report_free(&again);
		if (first)
			report_free(&r);
		free(first), free(second), free(text), free(reprinted);
		first = json;
		fill(&r, turn, 0);
	}
	const struct report_finding *f = &r.finding[0];
	CHECK(f->pairs == 4 && f->count == 8 && f->kind == GSAN_SCOPE && f->first.at.line == 33 && f->edge.ops == 2 && !f->suppressed);
	CHECK(f->also == (1u << GSAN_RAW | 1u << GSAN_WAR) && r.pair[f->pair + 3].suppressed && r.finding[1].pairs == 0);
	CHECK(says(&r, "text", "gsan: finding 1 of 2: insufficient-scope and read-after-write and write-after-read (narrow-scope), in up to 8 pairs of launches\n"));
	CHECK(says(&r, "text", "  also:   store at ring.py:32, load at ring.py:48; ranks 0 and 1, 1 and 2; in up to 4 pairs of launches\n  hide:   kernel send at "
			       "ring.py:33 and kernel take at ring.py:45 kind insufficient-scope\n          kernel send at ring.py:32 and kernel take "
			       "at ring.py:48\n\n"));
	CHECK(says(&r, "sarif", "pair 2, second access: ld.weak in kernel take of rank 1") && says(&r, "prometheus", "gsan_pairs 4\n"));
	CHECK(says(&r, "html", "<td>store at ring.py:32, load at ring.py:48</td><td>1, 2</td><td class=\"n some\">2</td>"));
	CHECK(says(&r, "junit", "also:   store at ring.py:31, load at ring.py:47; ranks 0 and 1; in 2 pairs of launches; suppressed\n          by a.supp:1\n"));
	fill(&moved, 0, 1);
	CHECK(moved.finding[0].cause == f->cause && moved.finding[1].cause == r.finding[1].cause && f->cause != r.finding[1].cause);
	free(first);
	report_free(&moved);
	report_free(&r);
}

/* Copies whose callers are not known, and what was compiled without lines: each is printed. */
static void test_no_place(void)
{
	static const char *const formats[] = {"text", "html", "junit", "sarif", "ndjson", "prometheus"};
	struct report r = {.ranks = 3};
	for (uint32_t i = 0; i < 12; i++) {
		struct report_finding f = ranks(copies(10), (int)(i % 3), (int)(i % 3));
		f.first.at = (struct report_place){0};
		f.second.at = i % 2 ? (struct report_place){0} : (struct report_place){"ring.py", 47 + i, 1};
		f.second.op = i % 4 ? "ld" : "st";
		CHECK(!report_add_finding(&r, &f));
	}
	CHECK(!report_finish(&r) && !report_group(&r) && !report_regroup(&r) && r.findings == 1 && r.finding[0].pairs > 8);
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		free(printed(&r, formats[i]));
	CHECK(says(&r, "text", "  also:   copy, load at ring.py:") && says(&r, "text", "\n  hide:   "));
	report_free(&r);
}

/* Whichever of its pairs a run has seen, it is known by the same. */
static void test_known(void)
{
	uint64_t cause = 0;
	for (uint32_t seen = 1; seen < 8; seen++) {
		struct report r = {.ranks = 2};
		const struct report_finding all[] = {flags("gpu", "gpu"), scopes(pair(GSAN_WHY_RELEASE_SCOPE, 31, 47), "gpu", "gpu"),
						     scopes(pair(GSAN_WHY_ACQUIRE_SCOPE, 32, 48), "gpu", "gpu")};
		for (uint32_t i = 0; i < 3; i++)
			CHECK(!(seen >> i & 1) || !report_add_finding(&r, &all[i]));
		CHECK(!report_finish(&r) && !report_group(&r) && !report_regroup(&r) && r.findings == 1);
		report_identify(&r);
		CHECK(!cause || r.finding[0].cause == cause);
		cause = r.finding[0].cause;
		report_free(&r);
	}
}

/* Of a rank, what it takes part in: its root is one of these. */
static void test_rank(void)
{
	struct report r;
	fill(&r, 0, 0);
	char *json = report_json(&r, 2);
	CHECK(strstr(json, "\"kind\":\t\"read-after-write\"") && !strstr(json, "insufficient-scope") && !strstr(json, "\"pairs\"") &&
	      strstr(json, "\"count\":\t2") && !strstr(json, "\"line\":\t70"));
	free(json);
	json = report_json(&r, 1);
	CHECK(strstr(json, "insufficient-scope") && strstr(json, "\"pairs\"") && strstr(json, "\"line\":\t70"));
	free(json);
	report_free(&r);
}

/* Of 40 lines behind one flag. */
static void test_limit(void)
{
	static const struct { uint32_t details, pairs, unlisted; } row[] = {{100, 40, 0}, {39, 40, 0}, {38, 39, 1}, {1, 2, 38}};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 2}, again;
		char error[200] = "", said[80];
		for (uint32_t line = 100; line < 140; line++) {
			const struct report_finding f = pair(RELEASE, line, 200);
			CHECK(!report_add_finding(&r, &f));
		}
		CHECK(!report_finish(&r) && !report_group(&r) && !report_regroup(&r));
		report_identify(&r);
		for (int turn = 0; turn < 2; turn++) { /* again: nothing more */
			report_limit(&r, row[i].details);
			CHECK(r.findings == 1 && r.finding[0].pairs == row[i].pairs && r.finding[0].pairs_unlisted == row[i].unlisted && r.finding[0].count == 80);
		}
		char *json = printed(&r, "json");
		CHECK(!report_read(&again, json, error, sizeof error) && again.finding[0].pairs_unlisted == row[i].unlisted && again.finding[0].count == 80);
		CHECK(!report_ungroup(&again) && again.findings == row[i].pairs && !report_regroup(&again) && again.finding[0].count == 80);
		snprintf(said, sizeof said, "%u more, not listed (--details)\n", row[i].unlisted);
		CHECK(!row[i].unlisted || says(&r, "text", said));
		CHECK(row[i].pairs < 10 || says(&r, "text", "more pairs of lines (gsan-report --verbose)"));
		free(json);
		report_free(&again);
		report_free(&r);
	}
}

static void test_bad(void)
{
	static const char *const bad[][3] = {
		{"\"pairs\":\t[{", "\"pairs\":\t[], \"was\":\t[{", "\"count\" is not that of its pairs"}, {"\"pairs\":\t[{", "\"pairs\":\t3, \"was\":\t[{", "\"pairs\" is not a list"},
		{"\"count\":\t8", "\"count\":\t9", "\"count\" is not that of its pairs"}, {"\"count\":\t8", "\"count\":\t7", "\"count\" is not that of its pairs"},
		{"\"pairs\":\t[{", "\"pairs_unlisted\":\t\"x\", \"pairs\":\t[{", "\"pairs_unlisted\" is not a whole number"},
		{"\"edge\":\t[{", "\"edge\":\t[{}, {", "\"kernel\" is missing"}, {"\"edge\":\t[{", "\"edge\":\t3, \"was\":\t[{", "\"edge\" is not a list"},
	};
	struct report r, again;
	fill(&r, 0, 0);
	char *json = printed(&r, "json"), error[200] = "";
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct text wrong = {0};
		const char *at = strstr(json, bad[i][0]);
		CHECK(at);
		text_add(&wrong, json, (size_t)(at - json));
		text_printf(&wrong, "%s%s", bad[i][1], at + strlen(bad[i][0]));
		CHECK(report_read(&again, wrong.data, error, sizeof error) == -EINVAL);
		if (strcmp(error, bad[i][2]))
			fprintf(stderr, "bad %zu: %s\n", i, error);
		CHECK(!strcmp(error, bad[i][2]));
		report_free(&again);
		text_free(&wrong);
	}
	free(json);
	report_free(&r);
}

int main(void)
{
	test_rule();
	test_finding();
	test_no_place();
	test_known();
	test_rank();
	test_limit();
	test_bad();
	return 0;
}
