/* A report of known contents: equal whatever order it arrives in, written as the golden files say, and read back
 * without loss. `report write DIR` makes the golden files anew. */
#include "base/now.h"
#include "report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

static const struct report_style plain; /* sentences of one line, no colour */
static const struct report_side store = {
	.rank = 0, .gpu = 0, .participant = 0, .pid = 100, .kernel = "send", .grid = {4, 1, 1}, .launch = 3, .at = {"ring.py", 31, 12},
	.function = "send", .op = "st", .bytes = 16, .semantics = "weak",
};
static const struct report_side load = {
	.rank = 1, .gpu = 1, .participant = 1, .pid = 101, .kernel = "take", .grid = {4, 1, 1}, .cta_known = 1, .cta = {2, 0, 0}, .launch = 1,
	.at = {"ring.py", 47, 9}, .function = "wait \"it\"", .inlined_at = "ring.py:60", .op = "ld", .bytes = 4,
	.semantics = "weak",
};
static const struct report_side atomic = {
	.rank = 0, .gpu = 0, .participant = 0, .pid = 100, .kernel = "count", .grid = {2, 2, 2}, .cta_known = 1, .cta = {1, 1, 1}, .launch = 9,
	.at = {"count.cu", 5, 0}, .op = "atom.add", .bytes = 4, .semantics = "relaxed", .scope = "gpu",
};

/* Each reason with its class, and the words that its sentence must hold: by kind, by the semantics and scope of the flag's store and read,
 * by the GPU of the second side (the first is on GPU 0), and by the CTAs of the first. */
static const struct reason {
	enum gsan_kind kind;
	enum gsan_reason reason;
	enum report_class class;
	const char *says;
	struct report_flag write, read;
	int gpu;
	uint32_t ctas;
} reasons[] = {
#define STORE(semantics, scope) {{"ring.py", 33, 1}, scope, semantics, NULL, NULL, NULL}
#define READ(semantics, scope) {{"ring.py", 45, 1}, scope, semantics, NULL, NULL, NULL}
	{GSAN_RAW, GSAN_WHY_NONE, REPORT_NO_SYNCHRONISATION, "the store in rank 0 (ring.py:31) and the load in rank 1 (ring.py:47): "
	 "no synchronisation between rank 0 and rank 1 was seen", STORE("relaxed", "sys"), READ("acquire", "sys"), 1, 4},

	{GSAN_RAW, GSAN_WHY_RELAXED_WRITE, REPORT_MISSING_RELEASE,
	 ": the flag store at ring.py:33 is relaxed, and no fence between the store at "
	 "ring.py:31 and it makes it a release at scope .sys; release is missing", STORE("relaxed", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_RELAXED_WRITE, REPORT_MISSING_RELEASE, "makes it a release at scope .gpu;", STORE("relaxed", "gpu"),
	 READ("acquire", "gpu"), 0, 4},
	{GSAN_RAW, GSAN_WHY_RELAXED_WRITE, REPORT_MISSING_RELEASE,
	 "is an acquire, and no fence", STORE("acquire", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_RELAXED_WRITE, REPORT_EARLY_RELEASE,
	 "releases only what came before it", STORE("release", "sys"), READ("acquire", "sys"), 1, 4},

	{GSAN_RAW, GSAN_WHY_NO_ACQUIRE, REPORT_MISSING_ACQUIRE,
	 ": the flag read at ring.py:45 is relaxed, and no fence between it and the load at ring.py:47 "
	 "acquires at scope .sys what the flag store at ring.py:33 released; acquire is missing", STORE("release", "sys"),
	 READ("relaxed", "sys"), 1, 1},
	{GSAN_RAW, GSAN_WHY_NO_ACQUIRE, REPORT_MISSING_ACQUIRE,
	 ": the flag read at ring.py:45 is relaxed, and no fence between it and the load at ring.py:47 "
	 "acquires at scope .gpu what the flag store at ring.py:33 released; acquire is missing", STORE("release", "gpu"),
	 READ("relaxed", "gpu"), 0, 4},
	{GSAN_RAW, GSAN_WHY_NO_ACQUIRE, REPORT_MISSING_ACQUIRE,
	 "the flag read at ring.py:45 is a release,", STORE("release", "sys"), READ("release", "sys"), 1, 1},
	{GSAN_RAW, GSAN_WHY_NO_ACQUIRE, REPORT_NO_SYNCHRONISATION,
	 "no synchronisation", STORE("release", "sys"), READ("acquire", "sys"), 1, 4},

	{GSAN_RAW, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE,
	 ": the scope .gpu of the release at ring.py:33 does not include GPU 1 of rank 1",
	 STORE("release", "gpu"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE,
	 ": the scope .gpu of the flag store at ring.py:33 does not include GPU 1 of rank 1",
	 STORE("relaxed", "gpu"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE, ": the scope .cta of the release at ring.py:33 does not include rank 1",
	 STORE("acq_rel", "cta"), READ("acquire", "gpu"), 0, 4},
	{GSAN_RAW, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE,
	 ": the fence before the flag store at ring.py:33, or what hands it on, has a scope that does not "
	 "include GPU 1 of rank 1", STORE("relaxed", "sys"), READ("relaxed", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE,
	 ": what hands on the flag store at ring.py:33 has a scope that does not include GPU 1 of rank 1",
	 STORE("release", "sys"), READ("acquire", "sys"), 1, 4},

	{GSAN_RAW, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE,
	 ": a release, or what hands it on, has a scope that does not include GPU 1 of rank 1",
	 {{0}, 0, 0, 0, 0, 0}, READ("acquire", "sys"), 1, 4},

	{GSAN_RAW, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE, ": the scope .gpu of the release at ring.py:33 does not include GPU 1 of rank 1, nor does "
	 "the scope .cta of the flag read at ring.py:45 include GPU 0 of rank 0", STORE("release", "gpu"), READ("relaxed", "cta"), 1, 4},

	{GSAN_RAW, GSAN_WHY_ACQUIRE_SCOPE, REPORT_NARROW_SCOPE,
	 ": the scope .cta of the acquire at ring.py:45 does not include GPU 0 of rank 0",
	 STORE("release", "sys"), READ("acquire", "cta"), 1, 4},
	{GSAN_RAW, GSAN_WHY_ACQUIRE_SCOPE, REPORT_NARROW_SCOPE,
	 ": the scope .gpu of the flag read at ring.py:45 does not include GPU 0 of rank 0",
	 STORE("release", "sys"), READ("relaxed", "gpu"), 1, 4},
	{GSAN_RAW, GSAN_WHY_ACQUIRE_SCOPE, REPORT_NARROW_SCOPE,
	 ": the fence or the acquire behind the flag read at ring.py:45 has a scope that does not include "
	 "GPU 0 of rank 0", STORE("release", "sys"), READ("relaxed", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_ACQUIRE_SCOPE, REPORT_NARROW_SCOPE,
	 ": the flag read at ring.py:45, or what acquires behind it, has a scope that does not include who "
	 "wrote the flag", STORE("release", "sys"), READ("acquire", "gpu"), 0, 4},

	{GSAN_RAW, GSAN_WHY_BEFORE_PAYLOAD, REPORT_EARLY_RELEASE,
	 ": the flag store at ring.py:33 releases only what came before it, and the store comes after it; or who waits for it went on by what an earlier round released",
	 STORE("release", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_BEFORE_PAYLOAD, REPORT_MISSING_RELEASE,
	 "is relaxed, and no fence between the store at ring.py:31 and it makes it a release at scope .sys;",
	 STORE("relaxed", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_BEFORE_PAYLOAD, REPORT_EARLY_RELEASE,
	 ": the flag store released something, but not the store", {{0}, 0, 0, 0, 0, 0}, {{0}, 0, 0, 0, 0, 0}, 1, 4},

	{GSAN_STALE_NC, GSAN_WHY_NONE, REPORT_NON_COHERENT,
	 "ld.global.nc may return old data", STORE("release", "gpu"), READ("acquire", "gpu"), 0, 4},
	{GSAN_STALE_NC, GSAN_WHY_BEFORE_PAYLOAD, REPORT_NON_COHERENT,
	 "ld.global.nc may return old data", STORE("release", "gpu"), READ("acquire", "gpu"), 0, 4},
	{GSAN_SCOPE, GSAN_WHY_NONE, REPORT_NARROW_SCOPE,
	 "do not include both GPU 0 and GPU 1", STORE("release", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_SCOPE, GSAN_WHY_RELAXED_WRITE, REPORT_NARROW_SCOPE,
	 "do not include both GPU 0 and GPU 1", STORE("relaxed", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_SCOPE, GSAN_WHY_NONE, REPORT_NARROW_SCOPE,
	 "scopes .gpu and .gpu do not include both processes", STORE("release", "sys"), READ("acquire", "sys"), 0, 4},
	{GSAN_SCOPE, GSAN_WHY_RELEASE_SCOPE, REPORT_NARROW_SCOPE,
	 "the scope .gpu of the release", STORE("release", "gpu"), READ("acquire", "sys"), 1, 4},

	{GSAN_RAW, GSAN_WHY_WEAK_WRITE, REPORT_WEAK_FLAG, ": the flag store at ring.py:33 is weak, and a weak store releases nothing to the "
	 "flag read at ring.py:45; release is missing", STORE("weak", NULL), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_WEAK_READ, REPORT_WEAK_FLAG, ": the flag read at ring.py:45 is weak, and a weak load acquires nothing from the "
	 "flag store at ring.py:33; acquire is missing", STORE("release", "sys"), READ("weak", NULL), 1, 4},
	{GSAN_RAW, GSAN_WHY_ACQUIRED_ALONE, REPORT_MISSING_BARRIER, ": the load at ring.py:47 is by another thread than the one of its CTA that acquires the flag "
	 "store at ring.py:33 by the flag read at ring.py:45, and no barrier of that CTA stands between the acquire and it; barrier is missing", STORE("release", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, GSAN_WHY_OTHER_CTA, REPORT_OTHER_FLAG, ": the flag store at ring.py:33 is of another CTA, and nothing orders the store at "
	 "ring.py:31 before it", STORE("release", "sys"), READ("acquire", "sys"), 1, 4},
	{GSAN_RAW, (enum gsan_reason)99, REPORT_NO_SYNCHRONISATION, ": no synchronisation between", STORE("release", "sys"),
	 READ("acquire", "sys"), 1, 4}, /* of a later device runtime */
#undef STORE
#undef READ
};

static struct report_finding finding(enum gsan_reason reason, uint32_t launch)
{
	struct report_finding f = {.kind = GSAN_RAW, .reason = reason, .count = 2, .first = store, .second = load};
	f.flag_write = (struct report_flag){{"ring.py", 33, 1}, "gpu", "relaxed", NULL, NULL, NULL};
	f.flag_read = (struct report_flag){{"ring.py", 45, 1}, "cta", "acquire", NULL, NULL, NULL};
	f.allocation = (struct report_allocation){1, 0x208000000000ull, 4096, 128, "symmetric"};
	f.second.launch = launch;
	return f;
}

static void test_sentences(void)
{
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		const struct reason *r = &reasons[i];
		struct report_finding f = finding(r->reason, 1);
		struct text sentence = {0};
		f.kind = r->kind;
		f.flag_write = r->write;
		f.flag_read = r->read;
		f.second.gpu = r->gpu;
		f.first.grid[0] = r->ctas;
		if (f.kind == GSAN_SCOPE)
			f.first.scope = f.second.scope = "gpu";
		report_missing_edge(&sentence, &f);
		if (!strstr(sentence.data, r->says))
			fprintf(stderr, "reason %zu: %s\n", i, sentence.data);
		CHECK(strstr(sentence.data, r->says));
		if (report_class(&f) != r->class)
			fprintf(stderr, "reason %zu: %s\n", i, report_class_name(report_class(&f)));
		CHECK(report_class(&f) == r->class);
		text_free(&sentence);
	}
}

/* Of two launches of one stream that of the greater number should have waited, whichever came first, and whatever flag is weak. */
static void test_early_launch(void)
{
	struct report_finding f = {.kind = GSAN_RAW, .reason = GSAN_WHY_WEAK_WRITE, .count = 1, .overlap = 1, .first = store, .second = load};
	f.second.rank = f.second.gpu = f.second.participant = 0;
	f.second.pid = f.first.pid;
	for (uint32_t launch = 2; launch <= 4; launch += 2) { /* the first side's is 3 */
		struct text sentence = {0};
		f.second.launch = launch;
		report_missing_edge(&sentence, &f);
		CHECK(strstr(sentence.data, launch > 3 ? ": take may begin before send has ended (programmatic dependent launch), and no griddepcontrol.wait "
			     "(cudaGridDependencySynchronize) comes before its load" : ": send may begin before take has ended"));
		CHECK(report_class(&f) == REPORT_MISSING_DEPENDENCY);
		text_free(&sentence);
	}
	f.reason = GSAN_WHY_NO_ACQUIRE; /* they synchronise by a flag, or mean to */
	CHECK(report_class(&f) == REPORT_MISSING_ACQUIRE);
}

/* What gives memory back stands behind, whenever it was called. */
static void test_freed(void)
{
	struct report_finding f = {.kind = GSAN_RAW, .count = 1, .first = store, .second = load};
	f.second.rank = f.second.gpu = f.second.participant = 0;
	f.second.pid = f.first.pid;
	f.second.launch = f.first.launch + 1;
	f.first.op = "free";
	report_launched_first(&f, 1);
	CHECK(f.kind == GSAN_WAR && !strcmp(f.second.op, "free") && report_class(&f) == REPORT_FREED);
	report_launched_first(&f, 1);
	CHECK(!strcmp(f.second.op, "free"));
	struct text sentence = {0};
	report_missing_edge(&sentence, &f);
	CHECK(strstr(sentence.data, " was seen, and what is given back may be somebody else's by then"));
	text_free(&sentence);
}

static void test_scopes_of_ctas(void)
{
	struct report_finding f = finding(GSAN_WHY_NONE, 1);
	struct text sentence = {0};
	f.kind = GSAN_SCOPE;
	f.second = f.first;
	f.first.scope = f.second.scope = "cta";
	report_missing_edge(&sentence, &f);
	CHECK(strstr(sentence.data, "scopes .cta and .cta do not include both CTAs"));
	text_free(&sentence);
}

/* Of a flag that a helper raises the call is named, too; of one in a library's header, the user's line and its calls. */
static void test_helper(void)
{
	static const struct { const char *inlined_at, *says, *op; } row[] = {
		{NULL, "the flag store at ring.py:33 is relaxed", NULL},
		{"ring.py:60", "the flag store at ring.py:33 (inlined at ring.py:60) is relaxed", NULL},
		{"ring.py:60,ring.py:70", "the flag store at ring.py:33 (inlined at ring.py:60, ring.py:70) is relaxed", NULL},
		{"user.py:60", "the flag store at user.py:60 (there from ring.py:33) is relaxed", NULL},
		{"user.py:60,user.py:70", "the flag store at user.py:60 (there from ring.py:33, inlined at user.py:70) is relaxed", NULL},
		{"user.py:60", "the flag atomic at user.py:60 (there from ring.py:33) is relaxed", "atom.exch"}, {NULL, "the flag atomic at ring.py:33 is relaxed", "red.add"},
		{NULL, "the flag store at ring.py:33 is relaxed", "st"},
		{"ring.py:1,ring.py:2,ring.py:3,ring.py:4,ring.py:5,ring.py:6,ring.py:7", "(inlined at ring.py:1, ring.py:2, ring.py:3, ring.py:4, ring.py:5, ring.py:6, ring.py:7) is", NULL},
		{"ring.py:1,ring.py:2,ring.py:3,ring.py:4,ring.py:5,ring.py:6,ring.py:7,ring.py:8,ring.py:9", "(inlined at ring.py:1, ring.py:2, ring.py:3, 3 more, ring.py:7, ring.py:8, ring.py:9) is", NULL},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report_finding f = finding(GSAN_WHY_RELAXED_WRITE, 1);
		struct text sentence = {0};
		f.flag_write.inlined_at = row[i].inlined_at;
		f.flag_write.op = row[i].op;
		report_missing_edge(&sentence, &f);
		if (!strstr(sentence.data, row[i].says))
			fprintf(stderr, "%s\n", sentence.data);
		CHECK(strstr(sentence.data, row[i].says));
		text_free(&sentence);
	}
}

/* A flag's own write is not behind itself, nor its read before itself: a weak store that an atomic read is a weak flag, whatever was guessed. */
static void test_itself(void)
{
	static const struct { enum gsan_reason reason; int read, strong; enum report_class class; } row[] = {
		{GSAN_WHY_RELAXED_WRITE, 0, 0, REPORT_NO_SYNCHRONISATION}, {GSAN_WHY_BEFORE_PAYLOAD, 0, 0, REPORT_NO_SYNCHRONISATION},
		{GSAN_WHY_NO_ACQUIRE, 1, 0, REPORT_NO_SYNCHRONISATION}, {GSAN_WHY_NO_ACQUIRE, 1, 1, REPORT_WEAK_FLAG},
		{GSAN_WHY_RELAXED_WRITE, 0, 1, REPORT_WEAK_FLAG}, {GSAN_WHY_WEAK_WRITE, 0, 1, REPORT_WEAK_FLAG},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 2};
		struct report_finding f = finding(row[i].reason, 1);
		f.certain = 1;
		f.second.semantics = row[i].strong ? "relaxed" : "weak";
		if (row[i].read)
			f.flag_read = (struct report_flag){f.second.at, f.second.scope, f.second.semantics, f.second.inlined_at, f.second.kernel, NULL};
		else
			f.flag_write = (struct report_flag){f.first.at, f.first.scope, f.first.semantics, f.first.inlined_at, f.first.kernel, NULL};
		CHECK(!report_add_finding(&r, &f) && !report_finish(&r) && r.findings == 1 && r.finding[0].missing_edge_class == row[i].class);
		report_free(&r);
	}
}

/* What two launches of one process share is a flag if one of them waits for it; within one launch it is in any case. */
static void test_unawaited(void)
{
	for (int i = 0; i < 4; i++) {
		struct report_finding f = finding(i & 1 ? GSAN_WHY_WEAK_READ : GSAN_WHY_WEAK_WRITE, 1);
		f.second = f.first;
		f.second.launch += i < 3;
		f.unawaited = i != 2;
		CHECK(report_class(&f) == (i < 2 ? REPORT_MISSING_STREAM_EDGE : REPORT_WEAK_FLAG));
		f.reason = GSAN_WHY_OTHER_CTA;
		f.certain = i == 1;
		CHECK(report_class(&f) == (i ? REPORT_OTHER_FLAG : REPORT_MISSING_STREAM_EDGE));
	}
}

/* What the text of kernels tells, whichever of the two accesses came first: of a store and a load. */
static void test_rounds(void)
{
	static const struct { enum gsan_reason reason; int waits; enum report_class class; const char *says; } row[] = {
		{GSAN_WHY_OLDER, 1, REPORT_STALE_FLAG, ": the flag read at ring.py:12, before the load at a.py:2, went on by an older value than the flag store at ring.py:33 puts behind "
		 "the store at a.py:1: of an earlier round, or as a launch left it"},
		{GSAN_WHY_REUSED, 1, REPORT_EARLY_REUSE, ": the flag read at ring.py:12, before the store at a.py:1, went on by too old a value: not by that which the flag store at "
		 "ring.py:33 puts behind the load at a.py:2; or the flag read at a.py:3, before that, did"},
		{GSAN_WHY_REUSED, 0, REPORT_EARLY_REUSE, ": the store at a.py:1 is executed again without a wait for the flag store at ring.py:33, behind the load at a.py:2 of the round before; wait is missing"},
		{GSAN_WHY_LATE_ACQUIRE, 1, REPORT_LATE_ACQUIRE, ": the load at a.py:2 stands before the flag read at ring.py:12, by which its CTA waits; move it behind that"},
		{GSAN_WHY_UNAWAITED, 1, REPORT_MISSING_BARRIER, ": the load at a.py:2 is by another thread than the one of its CTA that waits by the flag read at ring.py:12, and no barrier "
		 "of that CTA stands between the wait and it; barrier is missing"},
	};
	for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
		struct report_finding f = finding(row[i / 2].reason, 0);
		struct text sentence = {0};
		struct report_side writer = f.first, reader = f.second;
		writer.at = (struct report_place){"a.py", 1, 0};
		reader.at = (struct report_place){"a.py", 2, 0};
		writer.inlined_at = reader.inlined_at = NULL;
		writer.op = "st";
		reader.op = "ld";
		f.kind = i & 1 ? GSAN_WAR : GSAN_RAW;
		f.first = i & 1 ? reader : writer;
		f.second = i & 1 ? writer : reader;
		f.flag_write = (struct report_flag){.at = {"ring.py", 33, 0}, .op = "st"};
		f.flag_read = (struct report_flag){.at = {row[i / 2].waits ? "ring.py" : NULL, 12, 0}};
		f.awaited = (struct report_flag){.at = {"a.py", 3, 0}};
		report_missing_edge(&sentence, &f);
		if (!strstr(sentence.data, row[i / 2].says))
			fprintf(stderr, "%s\n", sentence.data);
		CHECK(report_class(&f) == row[i / 2].class && strstr(sentence.data, row[i / 2].says));
		text_free(&sentence);
	}
}

/* Of a flag that is raised before the data, another release, acquire or scope would not help. What is learnt of another flag says nothing of
 * when it is raised. */
static void test_early(void)
{
	static const struct { enum gsan_reason reason; const char *write; const char *says; } row[] = {
		{GSAN_WHY_RELAXED_WRITE, "relaxed", "ring.py:33 comes before the store at ring.py:31; no release there would order that"},
		{GSAN_WHY_BEFORE_PAYLOAD, "relaxed", "comes before the store"}, {GSAN_WHY_NO_ACQUIRE, "relaxed", "comes before the store"},
		{GSAN_WHY_RELEASE_SCOPE, "relaxed", "comes before the store"}, {GSAN_WHY_ACQUIRE_SCOPE, "acquire", "comes before the store"},
		{GSAN_WHY_RELAXED_WRITE, "release", "releases only what came before it, and the store comes after it"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report_finding f = finding(row[i].reason, 1);
		struct text sentence = {0};
		f.early = 1;
		f.both = 1;
		f.flag_write.semantics = row[i].write;
		report_missing_edge(&sentence, &f);
		CHECK(strstr(sentence.data, row[i].says) && report_class(&f) == REPORT_EARLY_RELEASE && !strstr(sentence.data, "round") &&
		      strstr(sentence.data, "; move it behind ring.py:31"));
		text_free(&sentence);
	}
	struct report_finding weak = finding(GSAN_WHY_WEAK_WRITE, 1);
	weak.early = 1;
	CHECK(report_class(&weak) == REPORT_WEAK_FLAG);
	for (int other = 0; other < 2; other++) {
		struct report r = {.ranks = 2};
		struct report_finding guess = finding(GSAN_WHY_RELAXED_WRITE, 1), sure = finding(GSAN_WHY_RELAXED_WRITE, 1);
		guess.weight = guess.early = 1;
		guess.flag_write.at.line -= (uint32_t)other;
		sure.second.at.line = 50;
		sure.weight = 32;
		sure.certain = 1;
		CHECK(!report_add_finding(&r, &guess) && !report_add_finding(&r, &sure) && !report_finish(&r) && r.findings == 2);
		for (uint32_t i = 0; i < 2; i++)
			CHECK((r.finding[i].missing_edge_class == REPORT_EARLY_RELEASE) == (r.finding[i].second.at.line != 50 && !other));
		report_free(&r);
	}
}

/* A relaxed flag whose read does not acquire, either; by its own semantics, or by a fence. */
static void test_both(void)
{
	static const struct { int both; const char *read; enum report_class class; } row[] = {
		{1, "relaxed", REPORT_MISSING_BOTH}, {1, "release", REPORT_MISSING_BOTH}, {1, "acquire", REPORT_MISSING_RELEASE},
		{1, "acq_rel", REPORT_MISSING_RELEASE}, {0, "relaxed", REPORT_MISSING_RELEASE},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report_finding f = finding(GSAN_WHY_RELAXED_WRITE, 1);
		struct text sentence = {0};
		f.both = row[i].both;
		f.flag_read.semantics = row[i].read;
		report_missing_edge(&sentence, &f);
		CHECK(!strstr(sentence.data, "and so is an acquire at the flag read at ring.py:45") == (row[i].class == REPORT_MISSING_RELEASE));
		CHECK(report_class(&f) == row[i].class);
		text_free(&sentence);
	}
}

/* A fence that is there, of a scope that leaves the other side out: that is what is said, if it is what is missing. */
static void test_fences(void)
{
	static const struct { enum gsan_reason reason; int both, early, gpu; const char *write, *release, *acquire, *says; } row[] = {
		{GSAN_WHY_RELAXED_WRITE, 0, 0, 0, "relaxed", "cta", NULL, "the scope .cta of the fence at ring.py:32, before the flag store at ring.py:33, does not include rank 1"},
		{GSAN_WHY_RELAXED_WRITE, 0, 0, 1, "relaxed", "gpu", NULL, "the scope .gpu of the fence at ring.py:32, before the flag store at ring.py:33, does not include GPU 1 of rank 1"},
		{GSAN_WHY_RELEASE_SCOPE, 0, 0, 0, "relaxed", "cta", NULL, "the scope .cta of the fence at ring.py:32, before the flag store"},
		{GSAN_WHY_RELEASE_SCOPE, 0, 0, 0, "release", "cta", NULL, "what hands on the flag store at ring.py:33 has a scope that"},
		{GSAN_WHY_RELAXED_WRITE, 0, 0, 0, "relaxed", "gpu", NULL, "is relaxed, and no fence between"},
		{GSAN_WHY_RELAXED_WRITE, 0, 1, 0, "relaxed", "cta", NULL, "comes before the store at ring.py:31"},
		{GSAN_WHY_NO_ACQUIRE, 0, 0, 0, "release", NULL, "cta", "the scope .cta of the fence at ring.py:46, behind the flag read at ring.py:45, does not include rank 0"},
		{GSAN_WHY_ACQUIRE_SCOPE, 0, 0, 0, "release", NULL, "cta", "the scope .cta of the fence at ring.py:46, behind"},
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 0, "relaxed", "cta", "cta", "does not include rank 1, nor does the scope .cta of the fence at ring.py:46, behind the flag read at ring.py:45, include rank 0"},
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 0, "relaxed", "cta", NULL, "does not include rank 1; an acquire is missing, too, at the flag read at ring.py:45"},
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 0, "relaxed", NULL, "cta", "is relaxed, and no fence between"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report_finding f = finding(row[i].reason, 1);
		struct text sentence = {0};
		f.second.gpu = f.first.gpu + row[i].gpu;
		f.both = row[i].both;
		f.early = row[i].early;
		f.flag_write.semantics = row[i].write;
		f.flag_read.semantics = "relaxed";
		f.flag_write.scope = f.flag_read.scope = "sys";
		if (row[i].release)
			f.fence_write = (struct report_flag){{"ring.py", 32, 1}, row[i].release, "acq_rel", NULL, "send", "fence"};
		if (row[i].acquire)
			f.fence_read = (struct report_flag){{"ring.py", 46, 1}, row[i].acquire, "acq_rel", NULL, "take", "fence"};
		report_missing_edge(&sentence, &f);
		if (!strstr(sentence.data, row[i].says))
			fprintf(stderr, "fences %zu: %s\n", i, sentence.data);
		CHECK(strstr(sentence.data, row[i].says) && (report_class(&f) == REPORT_NARROW_SCOPE) == (strstr(row[i].says, "scope") || strstr(row[i].says, "include")));
		text_free(&sentence);
	}
}

/* Of a race by the letter alone a fence is there, of another thread, or before the barrier. */
static void test_formal_fence(void)
{
	struct report_finding f = finding(GSAN_WHY_RELAXED_WRITE, 1);
	struct text sentence = {0};
	f.formal = 1;
	report_missing_edge(&sentence, &f);
	CHECK(strstr(sentence.data, "is relaxed, and no fence of the thread that raises it, behind the barrier between the store at ring.py:31 and it, makes it a "
				    "release at scope .sys; release is missing"));
	text_free(&sentence);
}

/* The class is that of the reason which stands in the end, and goes with its sentence through a report that is read back. */
static void test_class_follows(void)
{
	for (int turn = 0; turn < 2; turn++) {
		struct report r = {.ranks = 2}, again;
		struct report_finding guess = finding(GSAN_WHY_RELAXED_WRITE, 1), sure = finding(GSAN_WHY_RELEASE_SCOPE, 1);
		char error[200] = "";
		guess.weight = 1;
		guess.second.at.line = 50;
		sure.weight = 32;
		sure.certain = 1;
		sure.second.at.line = 60;
		CHECK(!report_add_finding(&r, turn ? &guess : &sure) && !report_add_finding(&r, turn ? &sure : &guess) && !report_finish(&r));
		CHECK(r.findings == 2);
		for (uint32_t i = 0; i < 2; i++) /* learnt, or its own */
			CHECK(r.finding[i].missing_edge_class == REPORT_NARROW_SCOPE && strstr(r.finding[i].missing_edge, "the scope"));
		char *json = report_json(&r, -1);
		CHECK(!report_read(&again, json, error, sizeof error) && !report_finish(&again) && again.findings == 2);
		for (uint32_t i = 0; i < 2; i++) /* no flag is in the file: it could not be worded anew */
			CHECK(again.finding[i].missing_edge_class == REPORT_NARROW_SCOPE);
		free(json);
		report_free(&again);
		report_free(&r);
	}
}

/* Each class has a name of its own, by which it is found; that of none is no name. */
static void test_class_names(void)
{
	enum report_class found = REPORT_NO_CLASS;
	for (unsigned i = REPORT_NO_CLASS + 1; i < REPORT_CLASSES; i++)
		CHECK(!report_class_find(report_class_name((enum report_class)i), &found) && found == (enum report_class)i);
	CHECK(!report_class_name(REPORT_NO_CLASS) && !report_class_name(REPORT_CLASSES) && report_class_find("", &found) == -ENOENT);
}

/* In one rank the other side is no rank. */
static void test_one_rank(void)
{
	struct report_finding f = finding(GSAN_WHY_RELEASE_SCOPE, 1);
	struct text sentence = {0};
	f.second.rank = f.second.gpu = 0;
	f.second.pid = f.first.pid;
	f.second.participant = f.first.participant;
	f.flag_write.scope = "cta";
	report_missing_edge(&sentence, &f);
	CHECK(strstr(sentence.data, ": the scope .cta of the flag store at ring.py:33 does not include the other CTA"));
	text_free(&sentence);
}

/* Two launches of one process that nothing orders: whichever was checked first, the one that was given first stands first, and both are one finding. Not
 * so of two GPUs, whose launches are counted apart; nor of one launch; nor where a flag says which side was to be first. */
static void test_given_first(void)
{
	static const struct { enum gsan_reason reason; int participant; uint32_t launch[2]; int turns; } row[] = {
		{GSAN_WHY_NONE, 0, {2, 3}, 1}, {GSAN_WHY_NONE, 1, {2, 3}, 0}, {GSAN_WHY_NONE, 0, {3, 3}, 0}, {GSAN_WHY_RELAXED_WRITE, 0, {2, 3}, 0},
	};
	const struct report_style style = {.width = 98};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 1};
		struct text out = {0};
		struct report_finding f = finding(row[i].reason, row[i].launch[1]), turned;
		f.count = 1;
		f.launches = 7;
		f.second.rank = f.first.gpu = 0;
		f.second.gpu = f.second.participant = row[i].participant;
		f.second.pid = f.first.pid;
		f.first.launch = row[i].launch[0];
		f.first.stream = 3;
		f.second.stream = 1;
		turned = f;
		turned.kind = GSAN_WAR;
		turned.first = f.second;
		turned.second = f.first;
		CHECK(!report_add_finding(&r, &turned));
		CHECK((r.finding[0].first.stream == 3) == row[i].turns && (r.finding[0].kind == GSAN_RAW) == row[i].turns);
		CHECK(!report_add_finding(&r, &f) && !report_finish(&r) && r.findings == 1);
		CHECK(r.finding[0].count == (row[i].turns ? 1u : 2u) && (r.finding[0].also == 0) == row[i].turns);
		report_text_finding(&out, &r, &r.finding[0], &style);
		const int two = row[i].participant || row[i].launch[0] != row[i].launch[1];
		CHECK(two ? strstr(out.data, " in stream 2, ") && strstr(out.data, " in the default stream, ") : !strstr(out.data, "stream"));
		text_free(&out);
		report_free(&r);
	}
}

/* ld.global.nc has its name by what it was checked before, and stands behind what was given before it all the same. */
static void test_given_first_nc(void)
{
	struct report r = {.ranks = 1};
	struct report_finding f = finding(GSAN_WHY_NONE, 2);
	f.kind = GSAN_WAR;
	f.second.rank = f.second.participant = f.first.gpu = f.second.gpu = 0;
	f.second.pid = f.first.pid;
	f.first.op = "ld.nc";
	f.second.op = "st";
	f.first.launch = 3;
	CHECK(!report_add_finding(&r, &f) && !report_finish(&r) && r.findings == 1);
	CHECK(r.finding[0].kind == GSAN_STALE_NC && r.finding[0].first.launch == 2 && !strcmp(r.finding[0].second.op, "ld.nc"));
	report_free(&r);
}

/* Whom nothing orders, in one rank: two of its processes, whatever their launches' numbers. Two participants are two processes, for process
 * ids may be equal in two PID namespaces, or unknown, but on two GPUs those of one id are one process; one participant is, if the ids say
 * so. Else there is one process. */
static void test_processes(void)
{
	static const struct { int pid[2], participant[2]; uint32_t launch[2]; const char *says; int gpu; } row[] = {
		{{100, 100}, {0, 0}, {3, 3}, ": no synchronisation between the two CTAs of one launch was seen", 0},
		{{100, 100}, {0, 0}, {3, 4}, ": no event, stream wait, graph dependency or synchronisation between the two launches was seen", 0},
		{{100, 200}, {0, 1}, {3, 3}, ": no synchronisation between two processes of rank 0 was seen", 0},
		{{100, 200}, {0, 1}, {3, 4}, ": no synchronisation between two processes of rank 0 was seen", 0},
		{{100, 200}, {1, 1}, {3, 3}, ": no synchronisation between two processes of rank 0 was seen", 0}, /* one in the other's place */
		{{100, 100}, {0, 1}, {3, 3}, ": no synchronisation between two processes of rank 0 was seen", 0},
		{{100, 100}, {0, 1}, {3, 3}, ": no event, stream wait, graph dependency or synchronisation between the two launches, on GPU 0 and GPU 1, was seen", 1},
		{{100, 200}, {0, 1}, {3, 3}, ": no synchronisation between two processes of rank 0 was seen", 1},
		{{100, 0}, {0, 1}, {3, 3}, ": no synchronisation between two processes of rank 0 was seen", 0},
		{{100, 100}, {-1, -1}, {3, 3}, ": no synchronisation between the two CTAs of one launch was seen", 0},
		{{100, 100}, {0, -1}, {3, 3}, ": no event, stream wait, graph dependency or synchronisation between the two launches was seen", 0},
		{{0, 0}, {-1, -1}, {3, 3}, ": no synchronisation between the two CTAs of one launch was seen", 0},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report_finding f = finding(GSAN_WHY_NONE, row[i].launch[1]);
		struct text sentence = {0}, scope = {0};
		int two = strstr(row[i].says, "two processes") != NULL;
		f.first.gpu = f.second.rank = 0;
		f.second.gpu = row[i].gpu;
		f.first.launch = row[i].launch[0];
		f.first.pid = row[i].pid[0];
		f.second.pid = row[i].pid[1];
		f.first.participant = row[i].participant[0];
		f.second.participant = row[i].participant[1];
		report_missing_edge(&sentence, &f);
		enum report_class none = report_class(&f);
		f.reason = GSAN_WHY_RELEASE_SCOPE;
		f.flag_write.scope = "cta";
		report_missing_edge(&scope, &f);
		if (!strstr(sentence.data, row[i].says))
			fprintf(stderr, "processes %zu: %s\n", i, sentence.data);
		CHECK(strstr(sentence.data, row[i].says));
		int known = f.first.participant == f.second.participant && !two; /* else their numbers say nothing of which came first */
		CHECK(strstr(sentence.data, known ? " before the " : " and the ") && !strstr(sentence.data, known ? " and the " : " before the "));
		int launches = strstr(row[i].says, "two launches") != NULL;
		CHECK(none == (launches ? REPORT_MISSING_STREAM_EDGE : REPORT_NO_SYNCHRONISATION));
		CHECK(strstr(scope.data, row[i].gpu ? "does not include GPU 1 of rank 0" :
				     two ? "does not include the other process of rank 0" : "does not include the other CTA"));
		text_free(&sentence);
		text_free(&scope);
	}
}

/* How the text and the JSON name two processes whose ids are equal, or not known: by their participants. */
static void test_processes_named(void)
{
	static const struct { int pid[2], participant[2]; const char *first, *second; int ids, gpu; } row[] = {
		{{100, 200}, {0, 3}, "rank 0, pid 100, GPU", "rank 0, pid 200, GPU", 2, 0},
		{{7, 7}, {0, 3}, "rank 0, pid 7, participant 0, GPU", "rank 0, pid 7, participant 3, GPU", 2, 0},
		{{0, 0}, {0, 3}, "rank 0, participant 0, GPU", "rank 0, participant 3, GPU", 0, 0},
		{{7, 7}, {3, 3}, "rank 0, GPU", "rank 0, GPU", 0, 0},
		{{7, 7}, {0, 3}, "rank 0, GPU 0", "rank 0, GPU 1", 2, 1},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 1}, again;
		struct report_finding f = finding(GSAN_WHY_NONE, 3);
		char error[200] = "";
		int ids = 0;
		f.first.gpu = f.second.rank = 0;
		f.second.gpu = row[i].gpu;
		f.first.pid = row[i].pid[0];
		f.second.pid = row[i].pid[1];
		f.first.participant = row[i].participant[0];
		f.second.participant = row[i].participant[1];
		CHECK(!report_add_finding(&r, &f) && !report_finish(&r));
		char *json = report_json(&r, -1);
		for (const char *at = json; (at = strstr(at, "\"pid\"")); at++)
			ids++;
		CHECK(ids == row[i].ids && !report_read(&again, json, error, sizeof error));
		CHECK(report_two_processes(&again.finding[0]) == (i < 3));
		for (int k = 0; k < 2; k++) {
			struct text out = {0};
			report_text(&out, k ? &again : &r, "DIR", &plain);
			if (!strstr(out.data, row[i].first) || !strstr(out.data, row[i].second))
				fprintf(stderr, "processes named %zu: %s\n", i, out.data);
			CHECK(strstr(out.data, row[i].first) && strstr(out.data, row[i].second));
			text_free(&out);
		}
		free(json);
		report_free(&again);
		report_free(&r);
	}
}

/* Findings that differ in the processes alone are one, of the earliest launches; of equals, by the processes, however they arrive. */
static void test_processes_merge(void)
{
	static const struct { uint32_t launch[3]; int stands; } row[] = {{{3, 3, 3}, 100}, {{5, 4, 3}, 300}, {{5, 3, 3}, 200}};
	for (int i = 0; i < 3 * 3; i++) {
		struct report r = {.ranks = 1};
		for (int k = 0; k < 3; k++) {
			int which = (k + i / 3) % 3;
			struct report_finding f = finding(GSAN_WHY_NONE, row[i % 3].launch[which]);
			f.second.rank = f.second.gpu = 0;
			f.first.pid = 100 * (which + 1);
			f.first.participant = 0;
			f.second.pid = 999;
			f.second.participant = 1;
			CHECK(!report_add_finding(&r, &f));
		}
		CHECK(!report_finish(&r) && r.findings == 1 && r.finding[0].count == 6);
		CHECK(r.finding[0].first.pid == row[i % 3].stands && r.finding[0].second.pid == 999);
		report_free(&r);
	}
}

/* Two findings of one pair of sites: one if they lack the same edge, else two, whichever comes first. */
static const struct cause {
	enum gsan_kind kind[2];
	enum gsan_reason reason[2];
	int crossed;      /* the second's sides are the first's, exchanged */
	uint32_t flag[2]; /* lines of the flags' stores */
	uint32_t findings;
	enum gsan_kind stands;
	int certain;
} causes[] = {
	{{GSAN_RAW, GSAN_WAR}, {GSAN_WHY_NONE, GSAN_WHY_NONE}, 1, {33, 33}, 1, GSAN_RAW, 0},
	{{GSAN_WAR, GSAN_RAW}, {GSAN_WHY_RELAXED_WRITE, GSAN_WHY_RELAXED_WRITE}, 1, {33, 33}, 1, GSAN_RAW, 0},
	{{GSAN_RAW, GSAN_ATOMIC_PLAIN}, {GSAN_WHY_RELAXED_WRITE, GSAN_WHY_RELAXED_WRITE}, 0, {33, 33}, 1, GSAN_ATOMIC_PLAIN, 0},
	{{GSAN_SCOPE, GSAN_ATOMIC_PLAIN}, {GSAN_WHY_NONE, GSAN_WHY_NONE}, 0, {33, 33}, 1, GSAN_SCOPE, 0},
	{{GSAN_WAR, GSAN_RAW}, {GSAN_WHY_NONE, GSAN_WHY_WEAK_WRITE}, 1, {33, 31}, 1, GSAN_RAW, 0}, /* the flag itself */
	{{GSAN_WAR, GSAN_RAW}, {GSAN_WHY_NONE, GSAN_WHY_WEAK_WRITE}, 1, {33, 33}, 1, GSAN_RAW, 0}, /* what it is to order */
	{{GSAN_RAW, GSAN_WAR}, {GSAN_WHY_RELAXED_WRITE, GSAN_WHY_RELAXED_WRITE}, 1, {33, 34}, 2, GSAN_RAW, 0},
	{{GSAN_RAW, GSAN_WAR}, {GSAN_WHY_RELAXED_WRITE, GSAN_WHY_NO_ACQUIRE}, 1, {33, 33}, 2, GSAN_RAW, 0},
	{{GSAN_RAW, GSAN_WAR}, {GSAN_WHY_RELAXED_WRITE, GSAN_WHY_NONE}, 1, {33, 33}, 1, GSAN_RAW, 0}, /* a guess is seen in some schedules alone */
	{{GSAN_WAR, GSAN_RAW}, {GSAN_WHY_RELAXED_WRITE, GSAN_WHY_NONE}, 1, {33, 33}, 1, GSAN_WAR, 0},
	{{GSAN_RAW, GSAN_WAR}, {GSAN_WHY_RELAXED_WRITE, GSAN_WHY_NONE}, 1, {33, 33}, 2, GSAN_RAW, 1},
	{{GSAN_STALE_NC, GSAN_WAR}, {GSAN_WHY_NONE, GSAN_WHY_NONE}, 1, {33, 33}, 2, GSAN_WAR, 0},
	{{GSAN_STALE_NC, GSAN_STALE_NC}, {GSAN_WHY_NONE, GSAN_WHY_BEFORE_PAYLOAD}, 1, {33, 33}, 1, GSAN_STALE_NC, 0},
};

static struct report_finding of_cause(const struct cause *c, int i)
{
	struct report_finding f = finding(c->reason[i], 1);
	f.kind = c->kind[i];
	f.certain = c->certain && c->reason[i];
	f.flag_write.at.line = c->flag[i];
	f.flag_write.at.column = store.at.column;
	f.flag_read.at = c->crossed && c->flag[i] == store.at.line ? load.at : f.flag_read.at;
	if (i && c->crossed && c->flag[i] != store.at.line) {
		f.first = load;
		f.second = store;
		f.second.launch = 1;
	} else if (!i && c->crossed && c->flag[1] == store.at.line) {
		f.first = load;
		f.second = store;
	}
	return f;
}

static void test_causes(void)
{
	for (size_t i = 0; i < sizeof causes / sizeof *causes * 2; i++) {
		const struct cause *c = &causes[i / 2];
		struct report r = {.ranks = 2};
		struct report_finding f[2] = {of_cause(c, 0), of_cause(c, 1)};
		CHECK(!report_add_finding(&r, &f[i & 1]) && !report_add_finding(&r, &f[~i & 1]) && !report_finish(&r));
		if (r.findings != c->findings)
			fprintf(stderr, "cause %zu: %u findings\n", i / 2, r.findings);
		CHECK(r.findings == c->findings);
		if (r.findings == 1)
			CHECK(r.finding[0].count == 4 && r.finding[0].kind == c->stands &&
			      r.finding[0].also == (1u << c->kind[0] | 1u << c->kind[1]) - (1u << c->stands));
		report_free(&r);
	}
}

/* ld.global.nc that came first is what it is when it comes second, unless a flag is seen that the write ought to have waited for; nor is a load. */
static void test_nc_first(void)
{
	static const struct { const char *op; enum gsan_reason reason; uint32_t findings; enum report_class class; } row[] = {
		{"ld.nc", GSAN_WHY_NONE, 1, REPORT_NON_COHERENT}, {"ld.nc", GSAN_WHY_RELAXED_WRITE, 2, REPORT_MISSING_RELEASE},
		{"ld", GSAN_WHY_NONE, 2, REPORT_NO_SYNCHRONISATION},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 2};
		struct report_finding then = finding(GSAN_WHY_NONE, 1), first = finding(row[i].reason, 1);
		then.kind = GSAN_STALE_NC;
		then.second.op = row[i].op;
		first.kind = GSAN_WAR;
		first.first = then.second;
		first.second = store;
		CHECK(!report_add_finding(&r, &then) && !report_add_finding(&r, &first) && !report_finish(&r) && r.findings == row[i].findings);
		int is = 0;
		for (uint32_t k = 0; k < r.findings; k++)
			is |= r.finding[k].missing_edge_class == row[i].class;
		CHECK(is);
		report_free(&r);
	}
}

/* A flag of which one side is weak, whichever came first. */
static void test_weak_first(void)
{
	for (int weak_write = 0; weak_write < 2; weak_write++)
		for (int crossed = 0; crossed < 2; crossed++) {
			struct report r = {.ranks = 2};
			struct report_finding f = finding(weak_write ? GSAN_WHY_WEAK_WRITE : GSAN_WHY_WEAK_READ, 1);
			const char *says = weak_write ? ", and the store is weak: as a strong one (release, or relaxed) it would not race with the load at ring.py:47" :
							", and the load is weak: as a strong one (acquire, or relaxed) it would not race with the store at ring.py:31";
			f.first = crossed ? load : store;
			f.second = crossed ? store : load;
			f.flag_write.at = store.at;
			f.flag_read.at = load.at;
			CHECK(!report_add_finding(&r, &f) && !report_finish(&r) && r.findings == 1);
			CHECK(r.finding[0].missing_edge_class == REPORT_WEAK_FLAG && strstr(r.finding[0].missing_edge, says));
			report_free(&r);
		}
}

/* Instances of one finding that give two reasons: one that is certain, else one of weight by weight, whatever the order of arrival; the
 * earliest of equals. Two that are certain both stay. */
static void test_election(void)
{
	static const struct { uint64_t weight[3]; uint32_t certain, line, launch, findings; } row[] = { /* certain: which of them, as bits */
		{{2, 2, 16}, 0, 22, 3, 1}, {{16, 16, 31}, 0, 11, 1, 1}, {{2, 2, 4}, 0, 11, 1, 1}, {{0, 0, 1}, 0, 22, 3, 1}, {{0, 0, 0}, 0, 11, 1, 1},
		{{16, 64, 32}, 4, 22, 3, 1}, {{32, 16, 64}, 5, 11, 1, 2}, {{32, 64, 64}, 5, 11, 1, 2},
	};
	const size_t rows = sizeof row / sizeof *row;
	for (size_t i = 0; i < rows * 3; i++) {
		struct report r = {.ranks = 2};
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t which = (uint32_t)(k + i / rows) % 3;
			struct report_finding f = finding(GSAN_WHY_RELAXED_WRITE, which + 1);
			f.flag_write.at.line = which < 2 ? 11 : 22;
			f.weight = row[i % rows].weight[which];
			f.certain = row[i % rows].certain >> which & 1;
			CHECK(!report_add_finding(&r, &f));
		}
		CHECK(!report_finish(&r) && r.findings == row[i % rows].findings);
		if (r.finding[0].flag_write.at.line != row[i % rows].line)
			fprintf(stderr, "election %zu: line %u\n", i, r.finding[0].flag_write.at.line);
		CHECK(r.finding[0].flag_write.at.line == row[i % rows].line && r.finding[0].second.launch == row[i % rows].launch);
		CHECK(r.finding[0].count == (r.findings == 1 ? 6 : 4) && (r.findings == 1 || (r.finding[1].flag_write.at.line == 22 && r.finding[1].count == 2)));
		report_free(&r);
	}
}

/* The flag at 11 weighs more than that at 22, but for another finding, if it is of the same kernels. */
static void test_support(void)
{
	for (int same = 0; same < 2; same++) {
		struct report r = {.ranks = 2};
		for (uint32_t k = 0; k < 3; k++) {
			struct report_finding f = finding(GSAN_WHY_RELAXED_WRITE, 1);
			f.flag_write.at.line = k ? 22 : 11;
			f.weight = k ? 16 : 20;
			f.second.at.line = k < 2 ? 50 : 60;
			f.second.kernel = k < 2 || same ? "take" : "other";
			CHECK(!report_add_finding(&r, &f));
		}
		CHECK(!report_finish(&r) && r.findings == 2 && r.finding[0].second.at.line == 50);
		CHECK(r.finding[0].flag_write.at.line == (same ? 22 : 11));
		report_free(&r);
	}
}

/* A finding of line 50 whose reason, of the flag at 11, is a guess, beside one of line 60 that is certain of the flag at 22, and one
 * more, lighter, that is certain of 33: says which flag the first names in the end. */
static void test_learning(void)
{
	static const struct { enum gsan_reason reason; int same_read, same_first, certain, other_kernel, itself, weight; uint32_t line; } row[] = {
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 1, 0, 0, 16, 22},
		{GSAN_WHY_NO_ACQUIRE, 1, 0, 1, 0, 0, 16, 22},
		{GSAN_WHY_RELAXED_WRITE, 0, 1, 1, 0, 0, 16, 11}, /* it read another flag */
		{GSAN_WHY_OTHER_CTA, -1, 1, 1, 0, 0, 2, 22},     /* none, as far as it is known */
		{GSAN_WHY_OTHER_CTA, -1, 0, 1, 0, 0, 2, 11},
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 0, 0, 0, 16, 11}, /* the others guess, too, */
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 1, 1, 0, 16, 11}, /* or are of another kernel */
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 1, 0, 0, 0, 11},  /* worded by another run, which knew */
		{GSAN_WHY_RELAXED_WRITE, 1, 0, 1, 0, 1, 16, 50}, /* the race of the flag itself */
		{GSAN_WHY_WEAK_READ, 1, 0, 1, 0, 0, 16, 11},
		{GSAN_WHY_BEFORE_PAYLOAD, -1, 1, 1, 0, 0, 4, 11},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row * 2; i++) {
		struct report r = {.ranks = 2};
		struct report_finding f[3];
		for (uint32_t k = 0; k < 3; k++) {
			f[k] = finding(k ? GSAN_WHY_RELAXED_WRITE : row[i / 2].reason, 1);
			f[k].weight = k ? 96 - 32 * k : (uint64_t)row[i / 2].weight;
			f[k].certain = k && row[i / 2].certain;
			f[k].flag_write.at.line = 11 * (k + 1);
			f[k].second.at.line = 50 + 10 * k;
			f[k].first.kernel = k && row[i / 2].other_kernel ? "other" : "send";
		}
		f[0].first.at.line = row[i / 2].same_first ? f[1].first.at.line : 50;
		if (row[i / 2].itself)
			f[0].flag_write.at = f[0].first.at;
		if (row[i / 2].same_read < 0)
			f[0].flag_read = (struct report_flag){.at = {.file = NULL}};
		else if (!row[i / 2].same_read)
			f[0].flag_read.at.line = 99;
		for (uint32_t k = 0; k < 3; k++)
			CHECK(!report_add_finding(&r, &f[i & 1 ? 2 - k : k]));
		CHECK(!report_finish(&r) && r.findings == 3);
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t line = r.finding[k].second.at.line, says = line == 50 ? row[i / 2].line : line == 60 ? 22 : 33;
			if (r.finding[k].flag_write.at.line != says)
				fprintf(stderr, "learning %zu: line %u\n", i / 2, r.finding[k].flag_write.at.line);
			CHECK(r.finding[k].flag_write.at.line == says);
		}
		report_free(&r);
	}
}

/* A finding whose reason, of the flag at 11, is a guess or nearly one, beside one that is certain of another flag, read elsewhere: is
 * the flag at 11 still named? */
static void test_learning_by_accesses(void)
{
	enum { APART, FIRST, SAME, CROSSED };
	static const struct { int accesses, both, certain, reason; const char *write, *read; int named; } row[] = {
		{APART, 0, 0, GSAN_WHY_RELAXED_WRITE, "relaxed", "acquire", 1},
		{SAME, 0, 0, GSAN_WHY_RELAXED_WRITE, "relaxed", "acquire", 0},
		{CROSSED, 0, 0, GSAN_WHY_RELAXED_WRITE, "relaxed", "acquire", 0},
		{FIRST, 0, 0, GSAN_WHY_RELAXED_WRITE, "relaxed", "acquire", 1},
		{FIRST, 1, 0, GSAN_WHY_RELAXED_WRITE, "relaxed", "relaxed", 0}, /* both sides of the flag lack something */
		{APART, 1, 0, GSAN_WHY_RELAXED_WRITE, "relaxed", "relaxed", 1},
		{CROSSED, 0, 1, GSAN_WHY_NO_ACQUIRE, "relaxed", "relaxed", 1},
		{CROSSED, 0, 1, GSAN_WHY_NO_ACQUIRE, "relaxed", "release", 0}, /* an RMW that came to release */
		{CROSSED, 0, 1, GSAN_WHY_RELAXED_WRITE, "relaxed", "acquire", 1},
		{CROSSED, 0, 1, GSAN_WHY_RELAXED_WRITE, "acquire", "acquire", 0}, /* one that came to acquire */
		{CROSSED, 0, 1, GSAN_WHY_RELAXED_WRITE, "acq_rel", "acquire", 1},
		{APART, 0, 1, GSAN_WHY_RELAXED_WRITE, "acquire", "acquire", 1}, /* nothing else explains it */
		{CROSSED, 0, 0, GSAN_WHY_BEFORE_PAYLOAD, "relaxed", "acquire", 0}, /* an edge that came too early, of the same two accesses: */
		{FIRST, 1, 0, GSAN_WHY_BEFORE_PAYLOAD, "relaxed", "acquire", 1},   /* not of one of them alone */
		{CROSSED, 0, 1, GSAN_WHY_BEFORE_PAYLOAD, "relaxed", "acquire", 1},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row * 2; i++) {
		struct report r = {.ranks = 2};
		struct report_finding guess = finding((enum gsan_reason)row[i / 2].reason, 1), sure = finding(GSAN_WHY_RELAXED_WRITE, 1);
		int named = 0;
		guess.weight = 96;
		guess.certain = row[i / 2].certain;
		guess.both = row[i / 2].both;
		guess.flag_read.semantics = row[i / 2].read;
		guess.flag_write.semantics = row[i / 2].write;
		guess.flag_read.at.line = 99;
		guess.flag_write.at.line = 11;
		sure.weight = 32;
		sure.certain = 1;
		sure.flag_write.at.line = 22;
		sure.kind = GSAN_WAR;
		if (row[i / 2].accesses == CROSSED)
			sure.first = guess.second, sure.second = guess.first;
		if (row[i / 2].accesses < SAME)
			sure.second.at.line = 60;
		if (row[i / 2].accesses == APART)
			sure.first.at.line = 60;
		CHECK(!report_add_finding(&r, i & 1 ? &guess : &sure) && !report_add_finding(&r, i & 1 ? &sure : &guess));
		CHECK(!report_finish(&r));
		for (uint32_t k = 0; k < r.findings; k++)
			named |= r.finding[k].flag_write.at.line == 11;
		if (named != row[i / 2].named)
			fprintf(stderr, "learning by accesses %zu: %snamed\n", i / 2, named ? "" : "not ");
		CHECK(named == row[i / 2].named);
		report_free(&r);
	}
}

/* Findings of one pair of sites of which some are formal are one that is not, with the reason and the instance of what is not. */
static void test_formal_merge(void)
{
	enum { SAME, OTHER_REASON, CROSSED };
	static const struct { int formal[2], how; uint32_t findings; int stands; } row[] = {
		{{0, 1}, SAME, 1, 0},	  {{1, 0}, SAME, 1, 1},	       {{1, 1}, SAME, 1, 0},  {{0, 1}, OTHER_REASON, 1, 0}, {{1, 0}, OTHER_REASON, 1, 1},
		{{0, 1}, CROSSED, 1, 0}, {{1, 0}, CROSSED, 1, 1}, {{1, 1}, CROSSED, 2, 0},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row * 4; i++) {
		const size_t k = i / 4;
		struct report r = {.ranks = 2};
		struct report_finding f[2];
		for (int which = 0; which < 2; which++) {
			f[which] = finding(which && row[k].how != SAME ? GSAN_WHY_NO_ACQUIRE : GSAN_WHY_RELAXED_WRITE, which ? 8 : 7);
			f[which].formal = row[k].formal[which];
			f[which].weight = row[k].formal[which] ? 64 : 1; /* however sure that is */
			f[which].certain = row[k].formal[which];
			f[which].missing_edge = i & 2 ? which ? "second" : "first" : NULL; /* of two runs */
		}
		if (row[k].how == CROSSED) {
			f[1].kind = GSAN_WAR;
			f[1].first = load, f[1].second = store;
		}
		CHECK(!report_add_finding(&r, &f[i & 1]) && !report_add_finding(&r, &f[~i & 1]) && !report_finish(&r));
		if (r.findings != row[k].findings)
			fprintf(stderr, "formal %zu: %u findings\n", k, r.findings);
		CHECK(r.findings == row[k].findings && report_formal(&r) == (row[k].formal[0] & row[k].formal[1] ? r.findings : 0));
		const struct report_finding *is = &r.finding[0], *stands = &f[row[k].stands];
		if (r.findings == 1)
			CHECK(is->count == 4 && is->kind == stands->kind && is->reason == stands->reason && is->first.launch == stands->first.launch &&
			      is->second.launch == stands->second.launch && is->missing_edge_class == (i & 2 ? 0 : report_class(stands)));
		report_free(&r);
	}
}

/* What a formal race lacks is not what another one does; but the other way it may be. */
static void test_formal_learning(void)
{
	for (int formal = 0; formal < 2; formal++) {
		struct report r = {.ranks = 2};
		struct report_finding guess = finding(GSAN_WHY_RELAXED_WRITE, 1), sure = finding(GSAN_WHY_RELEASE_SCOPE, 1);
		guess.weight = 1;
		guess.second.at.line = 50;
		guess.formal = formal;
		sure.weight = 32;
		sure.certain = 1;
		sure.second.at.line = 60;
		sure.formal = !formal;
		CHECK(!report_add_finding(&r, &guess) && !report_add_finding(&r, &sure) && !report_finish(&r) && r.findings == 2);
		for (uint32_t i = 0; i < 2; i++)
			if (r.finding[i].second.at.line == 50)
				CHECK(r.finding[i].reason == (formal ? GSAN_WHY_RELEASE_SCOPE : GSAN_WHY_RELAXED_WRITE));
		report_free(&r);
	}
}

static char *text_of(const struct report *r)
{
	struct text out = {0};
	report_text(&out, r, "DIR", &plain);
	return text_take(&out);
}

/* Each text is there, behind the one before. */
static void in_order(const char *text, const char *const *says, size_t count)
{
	const char *at = text;
	for (size_t i = 0; i < count; i++) {
		const char *next = strstr(at, says[i]);
		if (!next)
			fprintf(stderr, "not there, or too early: %s\nin: %s\n", says[i], text);
		CHECK(next);
		at = next + strlen(says[i]);
	}
}

/* Formal races stand below the others, under a heading, with their class and the missing edge; or not at all, and are counted. */
static void test_formal_listed(void)
{
	static const char *const listed[] = {"gsan: finding 1 of 1: read-after-write (missing-release)", "gsan: formal races: ",
		"gsan: formal race 1 of 2: read-after-write (missing-acquire)", "acquire is missing", "gsan: formal race 2 of 2: ",
		"gsan: 1 finding and 2 formal races in 2 ranks"};
	static const char *const unlisted[] = {"gsan: finding 1 of 1: ", "gsan: 1 finding and 2 formal races, not listed, in 2 ranks"};
	struct report r = {.ranks = 2}, again;
	char error[200] = "";
	for (uint32_t i = 0; i < 3; i++) {
		struct report_finding f = finding(i < 2 ? GSAN_WHY_NO_ACQUIRE : GSAN_WHY_RELAXED_WRITE, 1);
		f.first.at.line = 10 + i;
		f.flag_read.semantics = i < 2 ? "relaxed" : "acquire";
		f.formal = i < 2;
		CHECK(!report_add_finding(&r, &f));
	}
	CHECK(!report_finish(&r) && r.findings == 3 && report_formal(&r) == 2 && !r.finding[0].formal);
	for (int turn = 0; turn < 2; turn++) {
		char *json = report_json(&r, -1), *rank = report_json(&r, 1), *text = text_of(&r);
		CHECK(strstr(json, "\"formal_findings\":\t2") && !strstr(rank, "formal_findings"));
		const char *yes = "\"formal\":\ttrue";
		CHECK((strstr(json, yes) == NULL) == turn && (strstr(rank, yes) == NULL) == turn && strstr(json, "\"formal\":\tfalse"));
		if (turn)
			in_order(text, unlisted, sizeof unlisted / sizeof *unlisted);
		else
			in_order(text, listed, sizeof listed / sizeof *listed);
		CHECK((strstr(text, "gsan: formal races: ") == NULL) == turn);
		CHECK(!report_read(&again, json, error, sizeof error) && report_formal(&again) == (turn ? 0 : 2) &&
		      again.formal_unlisted == (turn ? 2 : 0));
		char *second = report_json(&again, -1), *reprinted = text_of(&again);
		CHECK(!strcmp(json, second) && !strcmp(text, reprinted));
		report_free(&again);
		strstr(json, "\"formal_findings\":\t2")[strlen("\"formal_findings\":\t")] = '1';
		CHECK(report_read(&again, json, error, sizeof error) == (turn ? 0 : -EINVAL));
		CHECK(turn || !strcmp(error, "\"formal_findings\" is another number than there are"));
		free(second);
		free(reprinted);
		free(json);
		free(rank);
		free(text);
		report_free(&again);
		report_unlist_formal(&r);
	}
	report_free(&r);
}

/* The user's frame: the innermost in the file of the kernel. */
static void test_frames(void)
{
	static const struct { const char *at, *chain, *says; int other; } row[] = {
		{"k.cu", NULL, "k.cu:7", 0},
		{"k.cu", "k.cu:20", "k.cu:7", 0},
		{"k.cu", "lock.h:3,k.cu:20", "k.cu:7", 0},
		{"lock.h", "k.cu:20", "k.cu:20", 1},
		{"lock.h", "more.h:9,k.cu:20,k.cu:30", "k.cu:20", 1},
		{"lock.h", "k.cu:20,more.h:9,k.cu:30", "k.cu:20", 1},
		{"a,b.h", "/x:y/k.cu:20", "/x:y/k.cu:20", 1},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct text out = {0};
		int other = report_add_frame(&out, &(struct report_place){row[i].at, 7, 1}, row[i].chain);
		if (strcmp(out.data, row[i].says))
			fprintf(stderr, "frame %zu: %s\n", i, out.data);
		CHECK(other == row[i].other && !strcmp(out.data, row[i].says));
		text_free(&out);
	}
}

static void fill_rank(struct report_rank *rank, int gpu)
{
	*rank = (struct report_rank){.end = REPORT_EXITED, .gpu = gpu, .gpu_name = "Emulated", .gpu_bus = "0000:01:00.0",
				     .launches_checked = 3, .memory_bytes = 1 << 20, .shadow_bytes = 1 << 18, .tables_bytes = 1 << 27};
	rank->counter[GSAN_N_ACCESSES] = 1000;
	rank->counter[GSAN_N_CHECKED] = 990;
	rank->counter[GSAN_N_FOREIGN] = 10;
}

/* The same contents in the order that `turn` chooses. */
static void fill(struct report *r, int turn)
{
	*r = (struct report){.ranks = 3, .withheld = 3, .withheld_merged = 2, .exit_status = 66};
	fill_rank(&r->rank[0], 0);
	fill_rank(&r->rank[1], 1);
	r->rank[1].end = REPORT_SIGNALLED;
	r->rank[1].status = SIGSEGV;
	r->rank[1].launches_unchecked = 2;
	r->rank[2] = (struct report_rank){.end = REPORT_MISSING, .gpu = -1};
	struct report_finding all[] = {finding(GSAN_WHY_RELAXED_WRITE, 1), finding(GSAN_WHY_RELAXED_WRITE, 2),
				       {.kind = GSAN_ATOMIC_PLAIN, .count = 1, .first = atomic, .second = atomic},
				       {.kind = GSAN_WAW, .count = 1, .first = store, .second = store}, finding(GSAN_WHY_NO_ACQUIRE, 1)};
	all[2].second.at.line = 6;
	all[2].second.op = "st";
	all[2].second.semantics = "weak";
	all[2].second.scope = NULL;
	all[2].also = 1u << GSAN_RAW | 1u << GSAN_WAR;
	all[3].second.participant = 2; /* launch 3 of another process of rank 0 */
	all[3].second.pid = 4242;
	all[4].formal = 1; /* below the others, whatever its name */
	all[4].first.at.file = "a_ring.py";
	all[4].flag_read.semantics = "relaxed";
	struct report_note note[] = {{.key = "unchecked", .name = "ampere_gemm", .reason = "no PTX", .ranks = 2},
				     {.key = "unchecked", .name = "ampere_gemm", .reason = "no PTX", .ranks = 1},
				     {.key = "foreign", .name = "pinned", .reason = "host memory", .ranks = 1}};
	struct report_left left[] = {{{"ring.py", 50, 0}, "cp.async.bulk", "bulk copies are not modelled", 1},
				     {{"ring.py", 50, 0}, "cp.async.bulk", "bulk copies are not modelled", 2}};
	for (int i = 0; i < 5; i++)
		CHECK(!report_add_finding(r, &all[(i + turn) % 5]));
	for (int i = 0; i < 3; i++)
		CHECK(!report_add_note(r, &note[(i * 2 + turn) % 3]));
	CHECK(!report_add_left(r, &left[turn & 1]) && !report_add_left(r, &left[~turn & 1]));
	CHECK(!report_finish(r));
	report_identify(r);
}

static const char *const arguments[] = {"./ring", "--size", "1\xff"};
static const struct report_job job = {
	.argv = arguments, .arguments = 3, .host = "node7", .directory = "/home/a", .start = 1700000000, .duration_ms = 1500, .seed = 9,
	.device = "cuda", .driver = "570.1", .commit = "abc1234",
};

/* Through the file and back; what is not as the schema says is refused. */
static void test_job(void)
{
	static const char *const bad[][3] = {
		{"\"./ring\"", "7", "\"argv\" is not a list of texts"}, {"\"2023-11-14T22:13:20Z\"", "\"yesterday\"", "\"start\" is not a time"},
		{"1500", "-1", "\"duration_ms\" is not a whole number"}, {"\"host\"", "\"hots\"", "\"host\" is missing"},
	};
	struct report r = {.ranks = 1}, again;
	char error[200] = "", *rank, *json, *second;
	CHECK(!report_set_job(&r, &job) && !report_finish(&r) && (rank = report_json(&r, 0)) && (json = report_json(&r, -1)));
	CHECK(!strstr(rank, "\"job\"") && strstr(json, "\"1\\\\xff\"") && strstr(json, "\"2023-11-14T22:13:20Z\""));
	CHECK(!report_read(&again, json, error, sizeof error) && (second = report_json(&again, -1)) && !strcmp(json, second));
	report_free(&again);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct text wrong = {0};
		const char *at = strstr(json, bad[i][0]);
		text_add(&wrong, json, (size_t)(at - json));
		text_printf(&wrong, "%s%s", bad[i][1], at + strlen(bad[i][0]));
		CHECK(report_read(&again, wrong.data, error, sizeof error) == -EINVAL && !strcmp(error, bad[i][2]));
		report_free(&again);
		text_free(&wrong);
	}
	struct report_job now = job;
	now.began_ms = (uint64_t)now_ms() - 70;
	CHECK(!report_set_job(&r, &now) && r.job.duration_ms >= 70 && r.job.duration_ms < 60000);
	report_free(&r);
	free(second);
	free(rank);
	free(json);
}

static void golden(const char *folder, const char *name, const char *got, int write)
{
	char path[4096], *want;
	size_t size;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (write) {
		CHECK(!text_write_file(path, got, strlen(got)));
		return;
	}
	CHECK(!text_read_file(path, &want, &size));
	if (strcmp(want, got))
		fprintf(stderr, "%s differs; got:\n%s", path, got);
	CHECK(!strcmp(want, got));
	free(want);
}

static void test_golden(const char *folder, int write)
{
	for (int turn = 0; turn < 4; turn++) {
		struct report r, again;
		char error[200] = "";
		fill(&r, turn);
		CHECK(r.findings == 4 && r.notes == 2 && r.lefts == 1 && r.finding[2].count == 4);
		char *summary = report_json(&r, -1), *rank = report_json(&r, 1), *text = text_of(&r);
		golden(folder, "summary.json", summary, write);
		golden(folder, "rank-1.json", rank, write);
		golden(folder, "report.txt", text, write);
		CHECK(!report_read(&again, summary, error, sizeof error));
		char *second = report_json(&again, -1), *reprinted = text_of(&again);
		CHECK(!strcmp(summary, second) && !strcmp(text, reprinted));
		free(second);
		free(reprinted);
		report_free(&again);
		free(summary);
		free(rank);
		free(text);
		report_free(&r);
	}
}

/* Where GPUs are: said in JSON and read back, in the long text, and of a merged report as of the first. */
static void test_gpus(void)
{
	static const struct report_style verbose = {.width = 200, .verbose = 1};
	struct report r = {.ranks = 1, .gpus = 3, .gpu = {{0, 1, "0000:01:00.0", 1, {0, 18, 1}}, {2, -1, "0000:81:00.0", 1, {18, 0, 0}}, {3, 0, "0000:82:00.0", 0, {0}}}};
	struct report again, all = {0}, other = {.ranks = 1};
	struct text text = {0};
	char error[200] = "", *json = report_json(&r, -1), *rank = report_json(&r, 0);
	CHECK(strstr(rank, "\"nvlinks\"") && !report_read(&again, json, error, sizeof error));
	CHECK(!report_merge(&all, &again) && !report_merge(&all, &again) && !report_merge(&all, &other));
	for (uint32_t i = 0; i < 3; i++)
		CHECK(all.gpus == 3 && all.gpu[i].number == r.gpu[i].number && all.gpu[i].numa == r.gpu[i].numa && all.gpu[i].linked == r.gpu[i].linked &&
		      !strcmp(all.gpu[i].bus, r.gpu[i].bus) && !memcmp(all.gpu[i].links, r.gpu[i].links, sizeof r.gpu[i].links));
	report_text(&text, &all, NULL, &verbose);
	CHECK(strstr(text.data, "gsan: GPU 0: PCI 0000:01:00.0, NUMA node 1, 18 NVLinks to GPU 2, 1 NVLink to GPU 3\n"
				"gsan: GPU 2: PCI 0000:81:00.0, 18 NVLinks to GPU 0\ngsan: GPU 3: PCI 0000:82:00.0, NUMA node 0\n"));
	text_free(&text);
	char *brief = text_of(&all);
	CHECK(!strstr(brief, "PCI"));
	free(brief);
	free(json);
	free(rank);
	report_free(&again);
	report_free(&all);
}

/* With `more` before the first `key`, it is refused. */
static void test_older_wrong(const char *json, const char *key, const char *more, const char *says)
{
	struct text wrong = {0};
	struct report r;
	char error[200] = "";
	const char *at = strstr(json, key);
	CHECK(at);
	text_add(&wrong, json, (size_t)(at - json));
	text_printf(&wrong, "%s, %s", more, at);
	CHECK(report_read(&r, wrong.data, error, sizeof error) == -EINVAL && !strcmp(error, says));
	report_free(&r);
	text_free(&wrong);
}

/* A report of the first release (golden/older.json): as it was, nobody is taken for two processes, and what nobody counted then is 0.
 * What it has may not be missing, and what came later is refused where it is no number. */
static void test_older(const char *folder)
{
	static const char *const always[] = {"\"accesses\":", "\"checked\":", "\"foreign\":", "\"unrecorded\":", "\"lost_records\":",
					     "\"findings_dropped\":", "\"withheld\":", "\"ordered_late\":", "\"shadow_bytes\":"};
	struct report r;
	char path[4096], error[200] = "", *json, *at;
	size_t size;
	snprintf(path, sizeof path, "%s/older.json", folder);
	CHECK(!text_read_file(path, &json, &size) && !strstr(json, "withheld_merged") && !strstr(json, "tables_bytes"));
	if (report_read(&r, json, error, sizeof error))
		fprintf(stderr, "older.json: %s\n", error);
	CHECK(!*error && r.findings == 2 && r.withheld == 1 && !r.withheld_merged && !r.rank[0].tables_bytes);
	CHECK(r.rank[0].counter[GSAN_N_CHECKED] == 1980 && !r.rank[0].counter[GSAN_N_LOCKS]);
	for (uint32_t i = 0; i < r.findings; i++)
		CHECK(r.finding[i].first.participant == -1 && !r.finding[i].second.pid && !report_two_processes(&r.finding[i]) &&
		      !r.finding[i].missing_edge_class);
	char *text = text_of(&r), *printed = report_json(&r, -1);
	CHECK(strstr(text, "read-after-write, in 4 pairs of launches\n") && !strstr(printed, "missing_edge_class"));
	free(text);
	free(printed);
	report_free(&r);
	for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
		CHECK((at = strstr(json, always[i])));
		at[1] ^= 0x20;
		CHECK(report_read(&r, json, error, sizeof error) == -EINVAL && strstr(error, "is missing"));
		at[1] ^= 0x20;
		report_free(&r);
	}
	test_older_wrong(json, "\"withheld\"", "\"withheld_merged\": \"one\"", "\"withheld_merged\" is not a whole number");
	test_older_wrong(json, "\"missing_edge\"", "\"missing_edge_class\": \"magic\"",
			 "\"missing_edge_class\" names no class of missing edges");
	test_older_wrong(json, "\"missing_edge\"", "\"missing_edge_class\": 3", "\"missing_edge_class\" is not a text");
	test_older_wrong(json, "\"missing_edge\"", "\"formal\": 1", "\"formal\" is neither true nor false");
	free(json);
}

/* What was not checked is never called clean. */
static void test_nothing(void)
{
	static const struct { uint64_t checked, unchecked, accesses; int gpu; const char *says; } row[] = {
		{0, 0, 0, -1, "nothing was checked: no rank started CUDA"},
		{0, 0, 0, 0, "nothing was checked: no kernel was launched"},
		{0, 7, 0, 0, "nothing was checked: all 7 launches ran unchecked"},
		{3, 0, 0, 0, "nothing was checked: 3 launches made no access"},
		{3, 0, 5, 0, "0 findings in 1 rank (checked 5 accesses in 3 launches)"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct report r = {.ranks = 1};
		r.rank[0] = (struct report_rank){.end = REPORT_EXITED, .gpu = row[i].gpu, .launches_checked = row[i].checked,
						 .launches_unchecked = row[i].unchecked};
		r.rank[0].counter[GSAN_N_CHECKED] = row[i].accesses;
		char *text = text_of(&r);
		CHECK(strstr(text, row[i].says) && !strstr(text, "clean") && !strstr(text, "no race"));
		free(text);
		report_free(&r);
	}
}

#define SIDE(who) "{\"schema_version\": 1, \"ranks\": [], \"findings\": [{\"kind\": \"read-after-write\", \"count\": 1, " \
	"\"first\": {\"rank\": 0, \"gpu\": 0, " who "}}]}"
#define GPU(links) "{\"schema_version\": 1, \"ranks\": [], \"gpus\": [{\"gpu\": 0, \"bus\": null, \"numa\": null, \"nvlinks\": " links "}]}"
#define TEN "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
static void test_bad(void)
{
	static const char *const bad[][2] = {
		{"", "is not JSON"}, {"[]", "is JSON, but no report"}, {"null", "is JSON, but no report"}, {"{}{}", "behind the end"},
		{"{\"schema_version\": 1, \"findings\": []} {\"schema_version\": 1, \"findings\": [{}]}", "behind the end"}, {"{}\n x", "behind the end"}, {"{\"schema_version\": 1", "is not JSON"},
		{"{}", "\"schema_version\" is missing"}, {"{\"schema_version\": 99}", "\"schema_version\" is one that"},
		{"{\"schema_version\": 1, \"ranks\": 3}", "\"ranks\" is not a list"},
		{"{\"schema_version\": 1, \"ranks\": [], \"gpus\": {}}", "\"gpus\" is not a list"},
		{GPU("\"some\""), "\"nvlinks\" is neither a list nor null"}, {GPU("[1, -1]"), "\"nvlinks\" is not a list of numbers"},
		{GPU("[1001]"), "\"nvlinks\" is not a list of numbers"}, {GPU("[\"1\"]"), "\"nvlinks\" is not a list of numbers"},
		{GPU("[" TEN TEN TEN "0, 0, 0]"), "\"nvlinks\" is not a list of numbers"},
		{"{\"schema_version\": 1, \"ranks\": [], \"findings\": [{}]}", "\"kind\" is missing"},
		{"{\"schema_version\": 1, \"ranks\": [], \"findings\": [{\"kind\": \"magic\"}]}", "\"kind\" names no kind"},
		{SIDE("\"participant\": \"first\""), "\"participant\" is not a whole number"},
		{SIDE("\"participant\": 0, \"pid\": -4"), "\"pid\" is not a whole number"},
		{SIDE("\"participant\": 0, \"pid\": 4294967296"), "\"pid\" is too large"},
		{SIDE("\"participant\": 0, \"pid\": 4"), "\"kernel\" is missing"},
		{"{\"schema_version\": 1, \"ranks\": [], \"findings\": []}", "\"coverage\" is missing"},
		{"{\"schema_version\": 1, \"ranks\": [], \"findings\": [], \"formal_findings\": -1}", "\"formal_findings\" is not a whole number"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct report r;
		char error[200] = "";
		CHECK(report_read(&r, bad[i][0], error, sizeof error) == -EINVAL);
		if (!strstr(error, bad[i][1]))
			fprintf(stderr, "case %zu: %s\n", i, error);
		CHECK(strstr(error, bad[i][1]));
		report_free(&r);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2 || (argc == 3 && !strcmp(argv[1], "write")));
	test_golden(argv[argc - 1], argc == 3);
	test_gpus();
	test_job();
	test_sentences();
	test_given_first();
	test_given_first_nc();
	test_early_launch();
	test_freed();
	test_scopes_of_ctas();
	test_both();
	test_fences();
	test_formal_fence();
	test_unawaited();
	test_rounds();
	test_early();
	test_helper();
	test_itself();
	test_class_names();
	test_class_follows();
	test_one_rank();
	test_processes();
	test_processes_named();
	test_processes_merge();
	test_causes();
	test_nc_first();
	test_weak_first();
	test_election();
	test_support();
	test_learning();
	test_learning_by_accesses();
	test_formal_merge();
	test_formal_learning();
	test_formal_listed();
	test_frames();
	test_nothing();
	test_bad();
	test_older(argv[argc - 1]);
	return 0;
}
