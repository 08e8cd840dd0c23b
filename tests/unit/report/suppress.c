/* Suppressions: what a line matches and what not, what each mistake in one is called, what is counted, and that a suggestion suppresses the
 * finding that it is made for, whatever its names hold. argv[1]: a folder to write to. */
#include "report/suppress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../check.h"

static const char *folder;
static char file[300], error[600];

static const char *written(const char *text, size_t size)
{
	snprintf(file, sizeof file, "%s/a.supp", folder);
	FILE *f = fopen(file, "w");
	CHECK(f && fwrite(text, 1, size, f) == size && !fclose(f));
	return file;
}

static void wrong(const char *text, const char *says)
{
	struct suppressions s;
	char want[400];
	CHECK(suppressions_read(&s, written(text, strlen(text)), error, sizeof error) == -EINVAL);
	snprintf(want, sizeof want, "%s:%s", file, says);
	if (strcmp(error, want))
		fprintf(stderr, "%s\nis not\n%s\n", error, want);
	CHECK(!strcmp(error, want));
	suppressions_free(&s);
}

static void test_wrong(void)
{
	struct suppressions s;
	wrong("# known\n\nkernal send\n", "3: 'kernal' is no part of a suppression: did you mean 'kernel'? kind, ranks, label, kernel, function, at, file and 'and' are");
	wrong("zzzz x\n", "1: 'zzzz' is no part of a suppression: kind, ranks, label, kernel, function, at, file and 'and' are");
	wrong("kernel\n", "1: 'kernel' needs a value");
	wrong("file \"\"\n", "1: 'file' needs a value");
	wrong("kern send\n", "1: 'kern' is no part of a suppression: did you mean 'kernel'? kind, ranks, label, kernel, function, at, file and 'and' are");
	wrong("file p01.cu:six\n", "1: 'six' is no line of 'p01.cu'");
	wrong("kernel a at a.cu:\n", "1: '' is no line of 'a.cu'");
	wrong("at a.cu:3*\n", "1: '3*' is no line of 'a.cu'");
	wrong("at a.cu:99999999999\n", "1: '99999999999' is no line of 'a.cu'");
	wrong("at\n", "1: 'at' needs a value");
	wrong("at a.h:7 at b.cu:8\n", "1: 'at' is there twice: 'and' begins the other access");
	wrong("kernel a kernel b\n", "1: 'kernel' is there twice: 'and' begins the other access");
	wrong("kernel a and kernel b and kernel c\n", "1: 'and' is there twice: a race has two accesses");
	wrong("kernel a and\n", "1: nothing about the other access behind 'and'");
	wrong("file a file b file c file d file e file f file g file h file i\n", "1: 'file' is there too often: 'and' begins the other access");
	wrong("kind read-* and kind write-*\n", "1: 'kind' is there twice");
	wrong("kernel a\nkind magic\n", "2: 'magic' matches no kind of finding (gsan-report(1) has them)");
	wrong("ranks 0\n", "1: '0' is no pair of ranks, as in 0,1 or 0,*");
	wrong("ranks 0,x\n", "1: '0,x' is no pair of ranks, as in 0,1 or 0,*");
	wrong("ranks ,\n", "1: ',' is no pair of ranks, as in 0,1 or 0,*");
	wrong("ranks -1,0\n", "1: '-1,0' is no pair of ranks, as in 0,1 or 0,*");
	wrong("ranks 0,32\n", "1: '0,32' is no pair of ranks, as in 0,1 or 0,*");
	wrong("kernel \"a\n", "1: a quote is not closed");
	CHECK(suppressions_read(&s, "/no/such", error, sizeof error) == -ENOENT &&
	      !strcmp(error, "--suppressions /no/such: cannot be read: No such file or directory"));
	suppressions_free(&s);
	CHECK(!suppressions_read(&s, written("# none\n", 7), error, sizeof error) && !s.rows);
	suppressions_free(&s);
}

static struct report_finding race(void)
{
	struct report_finding f = {.kind = GSAN_RAW, .also = 1u << GSAN_WAR, .count = 3, .missing_edge = "why", .fingerprint = 1};
	f.first = (struct report_side){.rank = 0, .kernel = "send", .kernel_name = "app::send<int>", .at = {"/home/user/src/ring.cu", 31, 3}, .op = "st",
					.function = "send", .function_name = "app::send<int>"};
	f.second = (struct report_side){.rank = 1, .kernel = "take", .at = {"/opt/lib/wait.h", 7, 3}, .op = "ld", .function = "wait",
					.inlined_at = "/opt/lib/mid.h:9,/home/user/src/ring.cu:60"};
	f.allocation = (struct report_allocation){.size = 64, .label = "queue"};
	return f;
}

/* How many of the report's findings a file with this text suppresses. */
static uint32_t suppresses(struct report *r, const char *text)
{
	struct suppressions s;
	uint32_t n = 0;
	if (suppressions_read(&s, written(text, strlen(text)), error, sizeof error))
		fprintf(stderr, "%s\n", error);
	CHECK(!*error && !report_suppress(r, &s));
	suppressions_free(&s);
	for (uint32_t i = 0; i < r->findings; i++)
		n += r->finding[i].suppressed > 0;
	return n;
}

static int matches(const char *line)
{
	struct report r = {.ranks = 2};
	const struct report_finding f = race();
	*error = 0;
	CHECK(!report_add_finding(&r, &f));
	int matched = (int)suppresses(&r, line);
	CHECK(r.suppressions == 1 && r.suppression[0].findings == (uint64_t)matched && r.suppression[0].count == 3 * (uint64_t)matched);
	CHECK(report_decides(&r.finding[0]) == !matched && report_tally(&r).findings == (uint64_t)!matched);
	report_free(&r);
	return matched;
}

/* Files are named from the root on, or from any folder, whatever the debug information has. */
static void test_folders(void)
{
	static const struct { const char *file, *directory, *line; int matched; } row[] = {
		{"a.py", "/work/job", "file /work/job/a.py:31", 1}, {"a.py", "/work/job", "file job/a.py", 1}, {"a.py", "/work/job", "file a.py:31", 1},
		{"a.py", "/work/job", "file /a.py", 0}, {"a.py", NULL, "file /work/job/a.py", 0}, {"a.py", NULL, "file a.py", 1},
		{"lib/a.py", "/work/job", "file job/lib/a.py", 1}, {"/x/a.py", "/work/job", "file /work/job/x/a.py", 0}, {"a.py", "/work/job", "file /work/*:31", 1},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 2, .job = {.directory = row[i].directory}};
		struct report_finding f = race();
		f.first.at.file = row[i].file;
		*error = 0;
		CHECK(!report_add_finding(&r, &f) && suppresses(&r, row[i].line) == (uint32_t)row[i].matched);
		report_free(&r);
	}
}

static void test_matches(void)
{
	static const char *const yes[] = {
		"kernel send", "kernel take", "kernel s*", "kernel app::send<int>", "kernel \"app::*\" and kernel take", "function app::*", "kernel send and kernel take", "kernel take and kernel send", "kernel * and kernel take",
		"kind read-after-write", "kind write-after-read", "kind *", "kind *write", "ranks 0,1", "ranks 1,0", "ranks *,1", "ranks *,*",
		"label queue", "label q*", "function wait", "function send and function wait", "file ring.cu", "file src/ring.cu", "file ring.cu:31",
		"file /home/user/src/ring.cu:31", "file /home/*:31", "file wait.h:7", "file mid.h:9", "file ring.cu:60", "file lib/*.h",
		"file ring.cu:31 and file ring.cu:60", "file ring.cu:60 and file ring.cu:31", "file *:7", "kernel take file ring.cu:60 kind read-*",
		"kernel send file ring.cu:31 and kernel take function wait file wait.h:7 ranks 0,1 label queue kind read-after-write",
		"ranks 0,1 kernel take and kernel send", "and kernel send", "file wait.h:7 file ring.cu:60", "file ring.cu:60 file wait.h:7 and kernel send",
		"file ring.cu:31 and file mid.h:9 file wait.h:7", "file wait.h:7 file mid.h:9 file ring.cu:60 file ring.cu",
		"at ring.cu:31", "at ring.cu", "at *.h", "at /home/user/*:31", "at wait.h:7 file ring.cu:60", "file mid.h:9 at lib/wait.h", "at ring.cu:31 and at wait.h:7",
		"at wait.h and file ring.cu at ring.cu:31",
	};
	static const char *const no[] = {
		"kernel sen", "kernel SEND", "kernel app::send", "kernel app::* and kernel app::*", "kernel send and kernel send", "kernel take and kernel take", "kernel send file wait.h", "kernel take file ring.cu:31",
		"kind write-after-write", "kind stale-*", "ranks 0,0", "ranks 1,1", "ranks 2,*", "label other", "function sen?x", "file ing.cu",
		"file ring.cu:3", "file ring.cu:310", "file ring.cu:0", "file user", "file ring.cu:31 and file ring.cu:31", "file ring.cu:31 and file ring.cu:61",
		"file wait.h:9", "file /src/ring.cu", "kernel send ranks 0,0", "kernel send and kernel take file ring.cu:31", "kernel send label x",
		"file wait.h:7 file ring.cu:61", "file wait.h:8 file ring.cu:60", "file ring.cu:31 file wait.h:7", "file wait.h:7 file mid.h:8 file ring.cu:60", "kernel send and file wait.h file ring.cu:61",
		"at mid.h:9", "at mid.h", "at ring.cu:60", "kernel take at ring.cu", "at wait.h:8", "at ring.cu:3", "at ring.cu:31 and at ring.cu", "at ring.cu:31 and at wait.h:9",
	};
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!matches(yes[i])) {
			fprintf(stderr, "%s\n", yes[i]);
			CHECK(!"it matches");
		}
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (matches(no[i])) {
			fprintf(stderr, "%s\n", no[i]);
			CHECK(!"it matches not");
		}
}

/* What is not known matches no pattern. */
static void test_unknown(void)
{
	static const char *const line[] = {"kernel *", "function *", "file *", "label *", "ranks 0,*"};
	for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
		struct report r = {.ranks = 1};
		const struct report_finding f = {.kind = GSAN_WAW, .count = 1, .first.rank = -1, .second.rank = -1};
		*error = 0;
		CHECK(!report_add_finding(&r, &f) && !suppresses(&r, line[i]));
		report_free(&r);
	}
}

/* The first line that matches counts; what was suppressed stays so; equal lines are one. */
static void test_counts(void)
{
	struct report r = {.ranks = 2}, again, all = {0}, plain = {0};
	struct report_finding f = race();
	char text[200] = "kernel send file ring.cu:31\nkernel nobody\nkernel send\n";
	*error = 0;
	CHECK(!report_add_finding(&r, &f));
	f.first.at.line = 32;
	CHECK(!report_add_finding(&r, &f));
	f.first.kernel = "other";
	CHECK(!report_add_finding(&r, &f));
	report_identify(&r);
	CHECK(!report_append_finding(&plain, &r.finding[1]));
	CHECK(suppresses(&r, text) == 2 && r.suppressions == 3 && r.finding[0].suppressed == 1 && r.finding[1].suppressed == 3);
	CHECK(r.suppression[0].findings == 1 && !r.suppression[1].findings && r.suppression[2].findings == 1 && report_tally(&r).suppressed == 2);
	CHECK(suppresses(&r, text) == 2 && r.suppressions == 3 && r.suppression[0].findings == 1); /* again: nothing new */
	char *json = report_json(&r, -1);
	CHECK(json && !report_read(&again, json, error, sizeof error) && again.suppressions == 3 && again.finding[1].suppressed + again.finding[2].suppressed == 3);
	CHECK(again.suppression[2].findings == 1 && again.suppression[2].count == 3 && again.suppression[2].line == 3);
	CHECK(!strcmp(again.suppression[0].rule, "kernel send file ring.cu:31"));
	free(json);
	/* of two runs: counted once; what one of them does not suppress is not suppressed */
	CHECK(!report_merge(&all, &r) && !report_merge(&all, &again) && all.findings == 3 && all.suppressions == 3 && report_tally(&all).suppressed == 2);
	CHECK(all.suppression[0].findings == 1 && all.suppression[0].count == 6 && report_tally(&all).findings == 1);
	CHECK(!report_merge(&all, &plain) && report_tally(&all).suppressed == 1 && report_tally(&all).findings == 2 && !all.suppression[2].count);
	report_free(&all);
	CHECK(!report_merge(&all, &plain) && !report_merge(&all, &r) && report_tally(&all).suppressed == 1 && report_tally(&all).findings == 2);
	CHECK(!all.suppression[2].findings && !all.suppression[2].count);
	report_limit(&r, 1); /* what is not listed is counted all the same */
	CHECK(r.findings == 1 && report_tally(&r).suppressed == 2 && !strcmp(r.finding[0].first.kernel, "other"));
	report_free(&all);
	report_free(&plain);
	report_free(&again);
	report_free(&r);
}

static void test_read_wrong(void)
{
	struct report r = {.ranks = 2}, again;
	struct report_finding f = race();
	*error = 0;
	CHECK(!report_add_finding(&r, &f) && suppresses(&r, "kernel send\n") == 1);
	char *json = report_json(&r, -1), *at = strstr(json, ".supp:1\"");
	CHECK(at);
	at[6] = '2';
	CHECK(report_read(&again, json, error, sizeof error) == -EINVAL && !strcmp(error, "\"suppressed\" names none of the suppressions"));
	free(json);
	report_free(&again);
	report_free(&r);
}

/* The suggestion for one suppresses the other, too. */
static int covers(const struct report_finding *one, const struct report_finding *other)
{
	struct report r = {.ranks = 2};
	struct text line = {0};
	*error = 0;
	CHECK(!report_append_finding(&r, one) && !report_append_finding(&r, other));
	report_suggest_one(&line, &r, &r.finding[0]);
	CHECK(suppresses(&r, line.data) >= 1 && r.finding[0].suppressed);
	const int both = r.finding[1].suppressed > 0;
	text_free(&line);
	report_free(&r);
	return both;
}

/* However often it was inlined. */
static void test_deep(void)
{
	struct report_finding one = race(), other = one;
	char frames[2000] = "a.h:1", kernel[2048], elsewhere[2048];
	for (size_t i = 2; i < 100; i++)
		snprintf(frames + strlen(frames), sizeof frames - strlen(frames), ",a.h:%zu", i);
	snprintf(kernel, sizeof kernel, "%s,k.cu:7", frames);
	snprintf(elsewhere, sizeof elsewhere, "%s,k.cu:8", frames);
	one.first.inlined_at = kernel;
	other.first.inlined_at = elsewhere;
	CHECK(covers(&one, &one) && !covers(&one, &other));
}

/* What is written on a line, and what a helper does that is called there; and two accesses of one helper. */
static void test_called(void)
{
	struct report_finding direct = race(), helper = direct, other, header;
	helper.first.inlined_at = "/home/user/src/ring.cu:31";
	helper.first.at.line = 7;
	other = helper;
	other.first.at.line = 8;
	CHECK(!covers(&direct, &helper) && !covers(&helper, &direct) && !covers(&helper, &other) && covers(&helper, &helper) && covers(&direct, &direct));
	header = helper; /* of which the report shows the user's line */
	header.first.at.file = "/opt/lib/lock.h";
	other = header;
	other.first.at.line = 8;
	CHECK(!covers(&direct, &header) && !covers(&header, &direct) && !covers(&header, &other) && covers(&header, &header));
	other = header;
	other.first.at.file = "/usr/lib/lock.h"; /* on another machine */
	CHECK(covers(&header, &other));
}

/* Copies of a binary without symbols: nothing tells theirs from all others, unless the memory has a name, or one side is known. */
static void test_vague(void)
{
	static const struct { const char *label, *function, *kernel; int vague; } row[] = {
		{NULL, NULL, NULL, 1}, {"queue", NULL, NULL, 0}, {NULL, "main", NULL, 0}, {NULL, NULL, "send", 0},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 1};
		struct report_finding f = {.kind = GSAN_WAW, .count = 1, .missing_edge = "why"};
		struct text line = {0};
		f.first = (struct report_side){.kernel = "cuMemcpyHtoDAsync", .object = "/home/you/prog+0x1390", .op = "memcpy"};
		f.second = (struct report_side){.kernel = "cuMemsetD8Async", .object = "/home/you/prog+0x14a3", .op = "memset", .function = row[i].function};
		f.allocation = (struct report_allocation){.size = 64, .label = row[i].label};
		if (row[i].kernel)
			f.second = (struct report_side){.kernel = row[i].kernel, .op = "st"};
		CHECK(!report_append_finding(&r, &f));
		report_suggest_one(&line, &r, &r.finding[0]);
		CHECK((line.data[0] == '#') == row[i].vague && !strstr(line.data, row[i].vague ? "kernel c" : "# none"));
		*error = 0;
		CHECK(suppresses(&r, line.data) == (row[i].vague ? 0u : 1u));
		text_free(&line);
		report_free(&r);
	}
}

/* Compilers make code that is of no line: its line is 0, and no other. */
static void test_lineless(void)
{
	struct report_finding one = race(), other = one;
	one.first.at.line = 0;
	CHECK(covers(&one, &one) && !covers(&one, &other) && !covers(&other, &one));
}

/* Each suggestion suppresses its finding, and none of the others. */
static void test_suggested(void)
{
	static const char *const name[] = {"plain", "two words", "a*b?[c]", "back\\slash", "quo\"te", "#12", "# 12", "tab\tnew\nline\033[31m", "\377\376", "and",
					   "x:12", "kernel", "\"", "a,b"};
	struct report r = {.ranks = 1, .job.directory = "/home/user"};
	struct text all = {0};
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		char path[100];
		struct report_finding f = race();
		snprintf(path, sizeof path, "/home/user/%s", name[i]);
		f.first = (struct report_side){.kernel = name[i], .at = {i % 3 ? path : NULL, i % 3 == 1 ? (uint32_t)i : 0, 0}, .op = "st"};
		f.second.kernel = i % 2 ? name[i] : "take";
		f.kind = i % 4 ? GSAN_RAW : GSAN_SCOPE;
		CHECK(!report_add_finding(&r, &f));
	}
	for (uint32_t i = 0; i < r.findings; i++) {
		struct report one = {.ranks = 1};
		struct text line = {0};
		report_suggest_one(&line, &r, &r.finding[i]);
		for (uint32_t k = 0; k < r.findings; k++)
			CHECK(!report_append_finding(&one, &r.finding[k]));
		*error = 0;
		if (suppresses(&one, line.data) != 1 || !one.finding[i].suppressed)
			fprintf(stderr, "%s\n", line.data);
		CHECK(suppresses(&one, line.data) == 1 && one.finding[i].suppressed);
		report_free(&one);
		text_free(&line);
	}
	report_suggest(&all, &r);
	*error = 0;
	CHECK(suppresses(&r, all.data) == r.findings && r.suppressions == r.findings);
	text_free(&all);
	report_suggest(&all, &r);
	CHECK(!all.size); /* nothing is left */
	report_free(&r);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	folder = argv[1];
	test_wrong();
	test_matches();
	test_folders();
	test_unknown();
	test_counts();
	test_read_wrong();
	test_deep();
	test_called();
	test_lineless();
	test_vague();
	test_suggested();
	return 0;
}
