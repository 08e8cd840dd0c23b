/* What a finding is known by again: equal for what changes from run to run, another for what is another race. And the lines of source that
 * it is made of: of files as they may be. fingerprint FOLDER: where files may be written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "base/utf8.h"
#include "report/report.h"

static struct report_finding race(void)
{
	struct report_finding f = {.kind = GSAN_RAW, .count = 1, .missing_edge_class = REPORT_MISSING_RELEASE};
	f.first = (struct report_side){.rank = 0, .gpu = 0, .kernel = "send", .grid = {4, 1, 1}, .launch = 3, .at = {"/home/a/ring.py", 31, 12},
				       .function = "send", .op = "st", .bytes = 16, .semantics = "weak", .source = "\ttl.store(x + i,  v)"};
	f.second = (struct report_side){.rank = 1, .gpu = 1, .kernel = "take", .grid = {4, 1, 1}, .launch = 1, .at = {"/home/a/ring.py", 47, 9},
					.function = "wait", .op = "ld", .bytes = 4, .semantics = "weak", .source = "y = tl.load(x + i)"};
	return f;
}

static uint64_t identity(const struct report_finding *f)
{
	struct report r = {.ranks = 2};
	CHECK(!report_append_finding(&r, f) && !report_identify(&r));
	const uint64_t fingerprint = r.finding[0].fingerprint;
	report_free(&r);
	return fingerprint;
}

static void exchange(struct report_finding *f)
{
	struct report_side first = f->first;
	f->first = f->second;
	f->second = first;
	f->kind = GSAN_WAR;
}
static void line(struct report_finding *f) { f->first.at.line = 99; }
static void column(struct report_finding *f) { f->second.at.column = 1; }
static void folder(struct report_finding *f) { f->first.at.file = "ring.py"; }
static void spaces(struct report_finding *f) { f->first.source = "  tl.store(x + i, v) "; }
static void launch(struct report_finding *f) { f->first.launch = 8; }
static void cta(struct report_finding *f) { f->second.cta[0] = f->second.cta_known = 1; }
static void ranks(struct report_finding *f) { f->first.rank = f->first.gpu = 5; }
static void offset(struct report_finding *f) { f->allocation = (struct report_allocation){1, 4096, 64, 8, NULL}; }
static void label(struct report_finding *f) { f->allocation = (struct report_allocation){1, 4096, 64, 8, "x"}; }
static void unknown_memory(struct report_finding *f) { f->allocation.label = "x"; }
static void inlined(struct report_finding *f) { f->first.inlined_at = "/home/a/ring.py:60,/home/a/ring.py:70", f->first.inlined_source = "put(x, v)\nall(x, v)"; }
static void count(struct report_finding *f) { f->count = 77; }
static void kind(struct report_finding *f) { f->kind = GSAN_SCOPE; }
static void class(struct report_finding *f) { f->missing_edge_class = REPORT_NARROW_SCOPE; }
static void kernel(struct report_finding *f) { f->first.kernel = "post"; }
static void function(struct report_finding *f) { f->second.function = NULL; }
static void file(struct report_finding *f) { f->first.at.file = "/home/a/rings.py"; }
static void operation(struct report_finding *f) { f->second.op = "ld.nc"; }
static void scope(struct report_finding *f) { f->second.scope = "gpu"; }
static void text(struct report_finding *f) { f->first.source = "tl.store(x + i, w)"; }
static void unread(struct report_finding *f) { f->first.source = NULL; }
static void joined(struct report_finding *f) { f->first.kernel = "send", f->first.function = "s", f->first.at.file = "end"; }

static const struct { const char *name; void (*change)(struct report_finding *f); int same; } changes[] = {
#define SAME(change) {#change, change, 1}
#define OTHER(change) {#change, change, 0}
	SAME(exchange), SAME(line), SAME(column), SAME(folder), SAME(spaces), SAME(launch), SAME(cta), SAME(ranks), SAME(offset), SAME(unknown_memory), SAME(count), SAME(class),
	OTHER(kind), OTHER(kernel), OTHER(function), OTHER(file), OTHER(operation), OTHER(scope), OTHER(text), OTHER(unread),
	OTHER(joined), OTHER(label), OTHER(inlined),
};

static void test_changes(void)
{
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct report_finding was = race(), now = race();
		changes[i].change(&now);
		if ((identity(&was) == identity(&now)) != changes[i].same)
			fprintf(stderr, "change of %s\n", changes[i].name);
		CHECK((identity(&was) == identity(&now)) == changes[i].same);
	}
	struct report_finding one = race(), other = race(); /* without source, lines tell findings apart; ids of kernels are no names */
	unread(&one), unread(&other), line(&other);
	CHECK(identity(&one) != identity(&other));
	one = other = race();
	one.first.kernel = "#5", other.first.kernel = "#6";
	CHECK(identity(&one) == identity(&other));
	inlined(&one), inlined(&other); /* callers' lines may move as well, as long as they are known */
	other.first.inlined_at = "ring.py:61,ring.py:71", other.first.inlined_source = "  put(x,  v)\nall(x, v)";
	CHECK(identity(&one) == identity(&other));
	other.first.inlined_source = "put(y, v)\nall(x, v)";
	CHECK(identity(&one) != identity(&other));
	one.first.inlined_source = "put(x, v)\n", other.first.inlined_source = "put(x, v)\n";
	CHECK(identity(&one) != identity(&other));
	other.first.inlined_at = "/home/b/ring.py:61,/home/b/ring.py:70";
	CHECK(identity(&one) == identity(&other));
	one = other = race(); /* of unnamed namespaces nvcc's hash does not count, but what comes behind */
	one.first.kernel = "_ZN36_GLOBAL__N__754eaf86_4_k_cu_1a2b3c4d2khEPi", other.first.kernel = "_ZN36_GLOBAL__N__00000000_4_k_cu_999999992khEPi";
	CHECK(identity(&one) == identity(&other));
	other.first.kernel = "_ZN36_GLOBAL__N__754eaf86_4_k_cu_1a2b3c4d2kiEPi";
	CHECK(identity(&one) != identity(&other));
	one.first.kernel = "_ZN999_GLOBAL__N__7", other.first.kernel = "_ZN99_GLOBAL__N__8"; /* shorter than it says */
	CHECK(identity(&one) != identity(&other));
	one = race();
	CHECK(identity(&one) == 0x3f1be0ad59d82efa); /* as baselines have it that lie in repositories */
}

/* Through the file and back, and made anew where the file has none. */
static void test_read(void)
{
	static const char *const bad[][2] = {{"0123", "is not of 16"}, {"0123456789abcdeg", "is not of 16"}, {"0123456789abcdef0", "is not of 16"}};
	struct report r = {.ranks = 2}, again;
	struct report_finding f = race();
	char error[200] = "", *json, *at;
	inlined(&f);
	CHECK(!report_add_finding(&r, &f) && !report_finish(&r) && !report_identify(&r));
	json = report_json(&r, -1);
	CHECK(json && (at = strstr(json, "\"fingerprint\":\t\"")));
	CHECK(!report_read(&again, json, error, sizeof error) && again.finding[0].fingerprint == identity(&r.finding[0]));
	CHECK(!strcmp(again.finding[0].first.source, "\ttl.store(x + i,  v)") && !strcmp(again.finding[0].first.inlined_source, "put(x, v)\nall(x, v)"));
	report_free(&again);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct text wrong = {0};
		text_add(&wrong, json, (size_t)(at - json) + 16);
		text_printf(&wrong, "%s%s", bad[i][0], at + 32);
		CHECK(report_read(&again, wrong.data, error, sizeof error) == -EINVAL && strstr(error, bad[i][1]));
		report_free(&again);
		text_free(&wrong);
	}
	memcpy(at, "\"f", 2), memmove(at, at + 36, strlen(at + 36) + 1); /* older */
	CHECK(!report_read(&again, json, error, sizeof error) && again.finding[0].fingerprint == identity(&r.finding[0]));
	report_free(&again);
	report_free(&r);
	free(json);
}

/* ---- what is written twice, and baselines ---- */

/* As many races as `lines` says, of one text: at as many lines, each of two pairs of ranks. `ops`: of how many operations the missing edge is. */
static void add_twins(struct report *r, uint32_t lines, enum report_class class, uint32_t ops)
{
	const struct report_op op[] = {{.kernel = "send", .at = {"ring.py", 5, 1}, .source = "release()"}, {.kernel = "take", .at = {"ring.py", 9, 1}, .source = "acquire()"}};
	r->ranks = 4;
	for (uint32_t i = 0; i < 2 * lines; i++) {
		struct report_finding f = race();
		f.first.at.line += i / 2;
		f.first.rank = f.first.gpu = i % 2 ? 3 : 0;
		f.first.source = ops == 1 ? "tl.store(z)" : f.first.source; /* another pair of lines, which alone would be new */
		f.missing_edge = "x";
		f.missing_edge_class = class;
		f.edge.ops = ops;
		memcpy(f.edge.op, op, sizeof op);
		CHECK(!report_append_finding(r, &f));
	}
	CHECK(!report_group(r) && !report_regroup(r) && !report_identify(r));
}

/* What a helper's flag is known by: the line in it and those that call it, as they read. In a header: the user's line, and what calls that. */
static uint64_t flag_cause(const char *file, const char *chain, const char *lines)
{
	struct report r = {.ranks = 2};
	struct report_finding f = race();
	f.missing_edge = "x";
	f.edge.ops = 1;
	f.edge.op[0] = (struct report_op){.kernel = "send", .at = {file, 5, 1}, .inlined_at = chain, .source = "flag.store(1)", .inlined_source = lines};
	CHECK(!report_append_finding(&r, &f) && !report_group(&r) && !report_regroup(&r) && !report_identify(&r));
	const uint64_t cause = r.finding[0].cause;
	report_free(&r);
	return cause;
}

static void test_flags(void)
{
	CHECK(flag_cause("a.py", "a.py:60", "raise_flag(x)") == flag_cause("a.py", "a.py:61", " raise_flag(x)"));
	CHECK(flag_cause("a.py", "a.py:60", "raise_flag(x)") != flag_cause("a.py", "a.py:60", "raise_flag(y)"));
	CHECK(flag_cause("a.py", "a.py:60", "raise_flag(x)") != flag_cause("a.py", NULL, NULL));
	CHECK(flag_cause("a.py", "a.py:60", NULL) != flag_cause("a.py", "a.py:61", NULL));
	CHECK(flag_cause("lock.h", "a.py:60", "raise_flag(x)") == flag_cause("lock.h", "a.py:61", "raise_flag(x)"));
	CHECK(flag_cause("lock.h", "a.py:60,a.py:70", "raise_flag(x)\nall(x)") == flag_cause("lock.h", "a.py:61,a.py:71", "raise_flag(x)\n all(x)"));
	CHECK(flag_cause("lock.h", "a.py:60,a.py:70", "raise_flag(x)\nall(x)") != flag_cause("lock.h", "a.py:60,a.py:70", "raise_flag(x)\nall(y)"));
}

static uint32_t new_ones(const struct report *r)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		n += r->finding[i].age == REPORT_NEW;
	return n;
}

static void test_twice(void)
{
	static const struct { uint32_t was, is; enum report_class was_class, class; uint32_t was_ops, ops, fresh; } row[] = {
		{1, 1, REPORT_NO_SYNCHRONISATION, REPORT_NO_SYNCHRONISATION, 0, 0, 0},
		{1, 2, REPORT_NO_SYNCHRONISATION, REPORT_NO_SYNCHRONISATION, 0, 0, 1}, /* a copy of the line is another race */
		{2, 3, REPORT_NO_SYNCHRONISATION, REPORT_NO_SYNCHRONISATION, 0, 0, 1},
		{3, 1, REPORT_NO_SYNCHRONISATION, REPORT_NO_SYNCHRONISATION, 0, 0, 0},
		{1, 3, REPORT_MISSING_RELEASE, REPORT_MISSING_RELEASE, 1, 1, 0},       /* but one more pair that lacks an edge that others lack is none */
		{1, 1, REPORT_MISSING_BOTH, REPORT_MISSING_RELEASE, 2, 1, 0},          /* nor is one that lacks a part of it */
		{1, 2, REPORT_MISSING_RELEASE, REPORT_MISSING_BOTH, 1, 2, 1},          /* to lack more is */
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		for (int turn = 0; turn < 2; turn++) { /* as they are, and read back */
			struct report was = {0}, is = {0}, read;
			char error[200] = "";
			add_twins(&was, row[i].was, row[i].was_class, row[i].was_ops);
			add_twins(&is, row[i].is, row[i].class, row[i].ops);
			CHECK(is.findings == (row[i].ops ? 1 : row[i].is) && (is.findings < 2 || is.finding[0].cause != is.finding[1].cause));
			char *json = report_json(&was, -1);
			CHECK(!report_read(&read, json, error, sizeof error) && !report_compare(&is, turn ? &read : &was));
			if (new_ones(&is) != row[i].fresh)
				fprintf(stderr, "twins %zu: %u new\n", i, new_ones(&is));
			CHECK(new_ones(&is) == row[i].fresh);
			free(json);
			report_free(&was), report_free(&is), report_free(&read);
		}
}

/* A race by the letter alone does not make one in earnest known; the other way round it does. */
static void test_formal(void)
{
	for (int turn = 0; turn < 4; turn++) {
		struct report was = {0}, is = {0};
		add_twins(&was, 1, REPORT_NO_SYNCHRONISATION, 0);
		add_twins(&is, 1, REPORT_NO_SYNCHRONISATION, 0);
		for (uint32_t i = 0; i < was.pairs; i++)
			was.pair[i].formal = turn & 1, is.pair[i].formal = turn >> 1;
		was.finding[0].formal = turn & 1, is.finding[0].formal = turn >> 1;
		CHECK(!report_compare(&is, &was) && new_ones(&is) == (turn == 1));
		report_free(&was), report_free(&is);
	}
}

static void put(const char *name, const char *data, size_t size) { CHECK(!text_write_file(name, data, size)); }

/* Lines as files have them: of the file's end, of Windows, too long, of no text; and what is no file, or must not be read. */
static void test_sources(const char *scratch)
{
	static const struct { const char *file; uint32_t line; const char *want; } row[] = {
		{"plain.py", 1, "one"}, {"plain.py", 2, "\ttwo"}, {"plain.py", 3, ""}, {"plain.py", 4, "no end"}, {"plain.py", 5, NULL},
		{"plain.py", 0, NULL}, {"./plain.py", 1, "one"}, {"dos.cu", 1, "a"}, {"dos.cu", 2, "b"}, {"empty", 1, NULL},
		{"binary", 1, NULL}, {"binary", 2, "text"}, {"binary", 3, NULL}, {"binary", 4, NULL}, {"long", 1, NULL}, {"long", 2, "short"},
		{"folder", 1, NULL}, {"fifo", 1, NULL}, {"/dev/zero", 1, NULL}, {"missing", 1, NULL}, {NULL, 1, NULL},
	};
	const size_t rows = sizeof row / sizeof *row;
	static char blank[2000];
	memset(blank, 'x', sizeof blank);
	memcpy(blank + 1000, "\nshort", 7);
	CHECK(!chdir(scratch) && (!mkdir("folder", 0777) || errno == EEXIST) && (!mkfifo("fifo", 0666) || errno == EEXIST));
	put("plain.py", "one\n\ttwo\n\nno end", 16);
	put("dos.cu", "a\r\nb\r\n", 6);
	put("empty", "", 0);
	put("binary", "a\0b\ntext\n\xff\n\x1b[31m", 16);
	put("long", blank, 1006);
	for (int turn = 0; turn < 2; turn++) { /* from here, and from elsewhere */
		struct report r = {.ranks = 1};
		for (size_t i = 0; i < rows; i++) {
			struct report_finding f = race();
			f.first.source = f.second.source = NULL;
			f.first.at.file = row[i].file, f.first.at.line = row[i].line, f.first.at.column = (uint32_t)i;
			f.second.at = f.first.at;
			CHECK(!report_add_finding(&r, &f));
		}
		CHECK(!chdir(turn ? "/" : ".") && !report_add_sources(&r, turn ? scratch : NULL));
		for (size_t i = 0; i < rows; i++) {
			const char *first = r.finding[i].first.source, *second = r.finding[i].second.source;
			if (!first != !row[i].want || (first && strcmp(first, row[i].want)))
				fprintf(stderr, "source %zu: %s\n", i, first ? first : "none");
			CHECK(first == second && !first == !row[i].want && (!first || !strcmp(first, row[i].want)));
		}
		report_free(&r);
	}
}

/* A source that was written behind the program, or behind the job's beginning, is named once; none that was there before, and none behind an interpreter
 * or a command of the system. In the folder of the sources above. */
static void test_newer(void)
{
	static const struct { time_t source, program; const char *file, *command, *says; } row[] = {
		{100, 50, "dos.cu", "./binary", "it is newer than the program"}, {50, 50, "dos.cu", "./binary", NULL}, {40, 50, "dos.cu", "./binary", NULL},
		{100, 50, "dos.cu", "binary", NULL}, {100, 50, "dos.cu", "/usr/bin/env", NULL}, {100, 50, "dos.cu", "./python3.12", NULL}, {100, 50, "plain.py", "./binary", NULL},
		{100, 50, "dos.cu", "./missing", NULL}, {1001, 2000, "dos.cu", "./binary", "it was written after the job had begun"},
		{1001, 50, "plain.py", "python", "it was written after the job had begun"}, {1000, 2000, "dos.cu", "./binary", NULL},
	};
	put("python3.12", "", 0);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 1};
		struct report_finding f = race();
		const struct report_job job = {.argv = (const char *const[]){row[i].command}, .arguments = 1, .start = 1000};
		const struct timespec source[2] = {{row[i].source, 0}, {row[i].source, 0}}, program[2] = {{row[i].program, 0}, {row[i].program, 0}};
		f.first.source = f.second.source = NULL;
		f.first.at = f.second.at = (struct report_place){row[i].file, 1, 0};
		CHECK(!utimensat(AT_FDCWD, "binary", program, 0) && !utimensat(AT_FDCWD, "python3.12", program, 0) && !utimensat(AT_FDCWD, row[i].file, source, 0));
		CHECK(!report_append_finding(&r, &f) && !report_set_job(&r, &job) && !report_add_sources(&r, NULL));
		CHECK(r.notes == (row[i].says ? 1u : 0u) && r.finding[0].first.source);
		CHECK(!row[i].says || (!strcmp(r.note[0].reason, row[i].says) && !strcmp(r.note[0].name, row[i].file) && r.note[0].ranks == 1));
		report_free(&r);
	}
}

/* Where a side was inlined: the lines of all its places, those that cannot be read empty. In the folder of the sources above. */
static void test_inlined(void)
{
	static const struct { const char *at, *want; } row[] = {
		{"plain.py:1", "one"}, {"plain.py:2,plain.py:4", "\ttwo\nno end"}, {"missing:1,dos.cu:2", "\nb"}, {"missing:1", NULL}, {"plain.py:1,plain.py:9", "one\n"},
		{"plain.py", NULL}, {NULL, NULL},
	};
	const size_t rows = sizeof row / sizeof *row;
	struct report r = {.ranks = 1};
	for (size_t i = 0; i < 2 * rows; i++) {
		struct report_finding f = race();
		f.first.inlined_at = row[i % rows].at, f.second.inlined_at = row[(i + 1) % rows].at;
		f.first.at.column = (uint32_t)i;
		CHECK(!report_append_finding(&r, &f));
		report_append_wait(&r, &(struct report_wait){.side = f.second});
	}
	CHECK(!report_add_sources(&r, NULL));
	for (size_t i = 0; i < 2 * rows; i++) {
		CHECK(r.wait[i].side.inlined_source == r.finding[i].second.inlined_source);
		const char *first = r.finding[i].first.inlined_source, *second = r.finding[i].second.inlined_source;
		CHECK(!first == !row[i % rows].want && (!first || !strcmp(first, row[i % rows].want)));
		CHECK(!second == !row[(i + 1) % rows].want && (!second || !strcmp(second, row[(i + 1) % rows].want)));
	}
	report_free(&r);
}

/* Names of any bytes: what is UTF-8 stays, the rest is shown. */
static void test_names(void)
{
	static const struct { const char *name, *want; } row[] = {
		{"kernel", "kernel"}, {"", ""}, {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9b", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9b"},
		{"a\xff", "a\\xff"}, {"\xc3", "\\xc3"}, {"\xc3(", "\\xc3("}, {"\xc0\x80", "\\xc0\\x80"}, {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, {"\xe2\x82", "\\xe2\\x82"}, {"\x1b[31m\n", "\\x1b[31m\\x0a"},
		{"a\tb", "a\tb"}, {"\xc2\x9b", "\\x9b"}, {"\xe2\x80\xae", "\\u202e"}, {"\xef\xbf\xbe", "\\ufffe"},
	};
	struct report r = {0};
	uint32_t point;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		CHECK(!strcmp(report_copy(&r, row[i].name), row[i].want));
	CHECK(!report_copy(&r, NULL));
	CHECK(utf8_commands(0x1b) && utf8_commands('\n') && utf8_commands(0x9b) && utf8_commands(0x202e) && utf8_commands(0xfffe) &&
	      utf8_commands(0x1ffff) && !utf8_commands(' ') && !utf8_commands(0xe9) && !utf8_commands(0x1f41b));
	CHECK(utf8_next("\xf0\x9f\x90\x9b", 4, &point) == 4 && point == 0x1f41b && !utf8_next("\xf0\x9f\x90\x9b", 3, &point));
	report_free(&r);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	test_changes();
	test_read();
	test_twice();
	test_flags();
	test_formal();
	test_names();
	test_sources(argv[1]);
	CHECK(!chdir(argv[1]));
	test_newer();
	test_inlined();
	return 0;
}
