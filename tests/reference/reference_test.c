/* Runs the cases of a file through the reference detector. A file is a list of cases:
 *
 *   case NAME
 *   use SETUP                     launches that have begun, see `setups`
 *   sc, over, late, warps, threads  with REF_SC, REF_OVER, REF_LATE, REF_WARPS, REF_THREADS
 *   race KIND LINE1 LINE2 [N]     expected, with its count; no such line: no race at all. Where later accesses stand for
 *                                 each first one: `[N] by LINE...`, with `or` between those of which one does. `formal` at
 *                                 the end: by the letter alone
 *   edge NAME N                   expected
 *   error TEXT                    expected, somewhere in the message that ends the trace
 *   LINE L.CTA[.THREAD] OP.SEM[.SCOPE] AT  an access, by thread 0 if none is named, to AT = OFFSET[:BYTES] (4 bytes) of memory 1;
 *                                 `casfail` is a cas that fails
 *   LINE L.CTA[.THREAD] fence.SEM.SCOPE
 *   sync L.CTA BARRIER WARP...    all lanes of these warps arrive, the barrier is complete, they go on
 *   arrive|pass L.CTA BARRIER WARP... one half of it; BARRIER is `bar:ID` or `mbar:ID`
 *   anything else                 a line of the trace
 *
 * Launches that still run at the end are done then. `--speed` instead times a trace of 50,000 events. */
#include "reference/reference.h"

#include "check.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

static const struct setup {
	const char *name, *lines[9];
} setups[] = {
	{ "one-gpu", { "launch 1 rank 0 device 0 stream 1 kernel a grid 4 1 1 block 64", "begin 1" } },
	{ "two-launches", { "launch 1 rank 0 device 0 stream 1 kernel a grid 4 1 1 block 64",
			    "launch 2 rank 0 device 0 stream 2 kernel b grid 4 1 1 block 64", "begin 1", "begin 2" } },
	{ "two-gpus", { "launch 1 rank 0 device 0 stream 1 kernel a grid 4 1 1 block 64",
			"launch 2 rank 1 device 1 stream 2 kernel b grid 4 1 1 block 64", "begin 1", "begin 2" } },
	{ "four-gpus", { "launch 1 rank 0 device 0 stream 1 kernel a grid 4 1 1 block 64",
			 "launch 2 rank 1 device 1 stream 2 kernel b grid 4 1 1 block 64",
			 "launch 3 rank 2 device 2 stream 3 kernel c grid 4 1 1 block 64",
			 "launch 4 rank 3 device 3 stream 4 kernel d grid 4 1 1 block 64", "begin 1", "begin 2", "begin 3", "begin 4" } },
};

#define EXPECTED 8
struct outcome { /* a case: what is expected, and where it got to */
	char name[64];
	const char *file;
	unsigned line;
	struct ref *ref;
	char races[EXPECTED][64], edges[EXPECTED][64], error[128];
	size_t want_races, want_edges;
	char got_error[512];
	int rc;
	unsigned long long running[16];
	size_t runs;
};

static int wrong(const struct outcome *o, const char *what, const char *which)
{
	fprintf(stderr, "%s:%u: case %s: %s%s\n", o->file, o->line, o->name, what, which);
	return 1;
}

/* ---- a line of a case */

static void feed(struct outcome *o, const char *line)
{
	unsigned long long id;
	if (!o->rc)
		o->rc = ref_line(o->ref, line, o->got_error, sizeof o->got_error);
	if (sscanf(line, "begin %llu", &id) == 1 && o->runs < 16)
		o->running[o->runs++] = id;
	if (sscanf(line, "done %llu", &id) == 1)
		for (size_t i = 0; i < o->runs; i++)
			if (o->running[i] == id)
				o->running[i] = 0;
}

static int feed_setup(struct outcome *o, const char *name)
{
	for (size_t i = 0; i < sizeof setups / sizeof *setups; i++)
		if (!strcmp(setups[i].name, name)) {
			for (const char *const *line = setups[i].lines; *line; line++)
				feed(o, *line);
			return 0;
		}
	return wrong(o, "no such setup: ", name);
}

/* The short form of an access or fence, written out. */
static int feed_short(struct outcome *o, const char *line)
{
	char what[64], at[32] = "", text[256], op[16] = "", sem[16] = "", scope[16] = "-";
	unsigned site, launch, cta, thread = 0, offset = 0;
	if ((sscanf(line, "%u %u.%u.%u %63s %31s", &site, &launch, &cta, &thread, what, at) < 5 &&
	     sscanf(line, "%u %u.%u %63s %31s", &site, &launch, &cta, what, at) < 4) ||
	    sscanf(what, "%15[^.].%15[^.].%15s", op, sem, scope) < 2)
		return wrong(o, "not understood: ", line);
	if (!strcmp(op, "fence")) {
		snprintf(text, sizeof text, "fence %u %u %u %u %s %s", launch, cta, thread, site, sem, scope);
	} else {
		const int fails = !strcmp(op, "casfail"), reads = strcmp(op, "st") && strcmp(op, "red"), writes = strcmp(op, "ld") && !fails;
		const char *bytes = strchr(at, ':');
		CHECK(sscanf(at, "%u", &offset) == 1);
		snprintf(text, sizeof text, "mem %u %u %u %u %s %s %s 1 %u %s %s %s", launch, cta, thread, site, fails ? "cas" : op, sem,
			 scope, offset, bytes ? bytes + 1 : "4", reads ? "0x0" : "-", writes ? "0x1" : "-");
	}
	feed(o, text);
	return 0;
}

/* Warps at a barrier, written out. Returns 0 if the line is no such. */
static int feed_barrier(struct outcome *o, const char *line)
{
	static const struct { const char *verb, *end; } halves[] = { { "arrive", " sync 0" }, { "pass", " sync" } };
	char verb[16], kind[16], text[256];
	unsigned launch, cta, id;
	int warps = 0;
	if (sscanf(line, "%15s %u.%u %15[^:]:%u %n", verb, &launch, &cta, kind, &id, &warps) != 5)
		return 0;
	for (int half = 0; half < 2; half++) {
		if (strcmp(verb, "sync") && strcmp(verb, halves[half].verb))
			continue;
		for (const char *warp = line + warps; *warp; warp += strcspn(warp, " "), warp += strspn(warp, " ")) {
			snprintf(text, sizeof text, "%s %u %u %d 0xffffffff 0 %s %u%s", halves[half].verb, launch, cta, atoi(warp), kind, id,
				 halves[half].end);
			feed(o, text);
		}
		snprintf(text, sizeof text, "phase %u %u %s %u", launch, cta, kind, id);
		if (!half && !strcmp(verb, "sync"))
			feed(o, text);
	}
	return 1;
}

static void keep(char *to, size_t room, const char *text)
{
	CHECK(strlen(text) < room);
	memcpy(to, text, strlen(text) + 1);
}

static unsigned flag_of(const char *line)
{
	static const struct { const char *name; unsigned flag; } flags[] = {
		{ "sc", REF_SC }, { "over", REF_OVER }, { "late", REF_LATE }, { "warps", REF_WARPS }, { "threads", REF_THREADS } };
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (!strcmp(line, flags[i].name))
			return flags[i].flag;
	return 0;
}

static int take(struct outcome *o, char *line)
{
	char name[64];
	if (!strncmp(line, "race ", 5)) {
		CHECK(o->want_races < EXPECTED);
		keep(o->races[o->want_races++], 64, line + 5);
	} else if (!strncmp(line, "edge ", 5)) {
		CHECK(o->want_edges < EXPECTED);
		keep(o->edges[o->want_edges++], 64, line + 5);
	} else if (!strncmp(line, "error ", 6)) {
		keep(o->error, sizeof o->error, line + 6);
	} else if (flag_of(line)) {
		ref_close(o->ref);
		o->ref = ref_open(o->name, flag_of(line));
		o->rc = ref_line(o->ref, "gsan-trace 1", o->got_error, sizeof o->got_error);
	} else if (sscanf(line, "use %63s", name) == 1) {
		return feed_setup(o, name);
	} else if (isdigit((unsigned char)*line)) {
		return feed_short(o, line);
	} else if (!feed_barrier(o, line)) {
		feed(o, line);
	}
	return 0;
}

/* ---- the outcome of a case */

static void say_dominated(char *to, size_t room, const struct ref_race *race)
{
	size_t length = 0;
	*to = 0;
	for (size_t i = 0; race->dominated == race->count && i < race->bys && length < room; i++)
		length += (size_t)snprintf(to + length, room - length, "%s%s %u", i ? "" : " by", race->by[i].or ? " or" : "", race->by[i].line);
}

static int judge_races(const struct outcome *o)
{
	const struct ref_race *race;
	const size_t n = ref_races(o->ref, &race);
	int bad = 0, found[EXPECTED] = { 0 };
	for (size_t i = 0; i < n; i++) {
		char bare[160], counted[160], by[64];
		const char *formal = race[i].formal ? " formal" : "";
		size_t k = 0;
		say_dominated(by, sizeof by, &race[i]);
		snprintf(bare, sizeof bare, "%s %u %u%s%s", ref_kind_name(race[i].kind), race[i].site[0], race[i].site[1], by, formal);
		snprintf(counted, sizeof counted, "%s %u %u %llu%s%s", ref_kind_name(race[i].kind), race[i].site[0], race[i].site[1],
			 (unsigned long long)race[i].count, by, formal);
		while (k < o->want_races && strcmp(o->races[k], bare) && strcmp(o->races[k], counted))
			k++;
		if (k < o->want_races)
			found[k] = 1;
		else
			bad |= wrong(o, "not expected: race ", counted);
	}
	for (size_t k = 0; k < o->want_races; k++)
		if (!found[k])
			bad |= wrong(o, "missing: race ", o->races[k]);
	return bad;
}

static int judge_edges(const struct outcome *o)
{
	const struct ref_edge *edge;
	const size_t n = ref_edges(o->ref, &edge);
	int bad = 0;
	for (size_t k = 0; k < o->want_edges; k++) {
		char name[64];
		unsigned long long want, have = 0;
		CHECK(sscanf(o->edges[k], "%63s %llu", name, &want) == 2);
		for (size_t i = 0; i < n; i++)
			have += strcmp(edge[i].name, name) ? 0 : edge[i].count;
		if (have != want)
			bad |= wrong(o, "another count than edge ", o->edges[k]);
	}
	return bad;
}

static int judge(struct outcome *o)
{
	char line[32];
	int bad = 0;
	for (size_t i = 0; i < o->runs && !o->rc; i++) {
		snprintf(line, sizeof line, "done %llu", o->running[i]);
		if (o->running[i])
			feed(o, line);
	}
	if (!o->rc)
		o->rc = ref_end(o->ref, o->got_error, sizeof o->got_error);
	if (*o->error ? !strstr(o->got_error, o->error) : o->rc)
		bad |= wrong(o, *o->error ? "not the expected message: " : "fails: ", o->got_error);
	bad |= judge_races(o) | judge_edges(o);
	ref_close(o->ref);
	return bad;
}

static int run_file(const char *path)
{
	FILE *from = fopen(path, "r");
	char line[512];
	struct outcome o = { .file = path };
	unsigned number = 0;
	int bad = 0, cases = 0;
	CHECK(from);
	while (fgets(line, sizeof line, from)) {
		char name[64];
		number++;
		line[strcspn(line, "\n")] = 0;
		if (!*line || *line == '#')
			continue;
		if (sscanf(line, "case %63[^\n]", name) == 1) {
			bad |= cases++ ? judge(&o) : 0;
			o = (struct outcome){ .file = path, .line = number, .ref = ref_open(name, 0) };
			memcpy(o.name, name, sizeof name);
			feed(&o, "gsan-trace 1");
		} else if (cases) {
			bad |= take(&o, line);
		}
	}
	bad |= cases ? judge(&o) : 1;
	fclose(from);
	printf("%s: %d cases\n", path, cases);
	return bad;
}

/* ---- speed */

/* 64 CTAs: each stores to its own words and to shared ones by atomics, polls a flag, and reads what another released. */
static void busy_event(char *text, size_t room, unsigned i)
{
	const unsigned cta = i % 64, round = i / 64;
	switch (round % 5) {
	case 0: snprintf(text, room, "mem 1 %u 0 1 st weak - 1 %u 4 - 0x1", cta, 4096 + 4 * (cta + 64 * round)); break;
	case 1: snprintf(text, room, "mem 1 %u 0 2 atom acq_rel gpu 1 %u 4 0x0 0x1", cta, 8 * (cta % 4)); break;
	case 2: snprintf(text, room, "mem 1 %u 0 3 ld relaxed gpu 1 64 4 0x0 -", cta); break;
	case 3: snprintf(text, room, "mem 1 %u 0 4 ld weak - 1 %u 4 0x0 -", cta, 4096 + 4 * (cta + 64 * (round - 3))); break;
	default: snprintf(text, room, "fence 1 %u 0 5 acq_rel gpu", cta); break;
	}
}

static int run_speed(void)
{
	struct ref *r = ref_open("speed", 0);
	char text[256], error[512];
	const struct ref_race *race;
	const clock_t start = clock();
	CHECK(!ref_line(r, "gsan-trace 1", error, sizeof error));
	CHECK(!ref_line(r, "launch 1 rank 0 device 0 stream 1 kernel busy grid 64 1 1 block 32", error, sizeof error));
	CHECK(!ref_line(r, "begin 1", error, sizeof error));
	for (unsigned i = 0; i < 50000; i++) {
		busy_event(text, sizeof text, i);
		CHECK(!ref_line(r, text, error, sizeof error));
	}
	const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	printf("50,000 events: %.3f s\n", seconds);
	CHECK(!ref_races(r, &race));
	CHECK(seconds < 5); /* far from what it takes, for a machine that is loaded or built with a sanitizer */
	ref_close(r);
	return 0;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	return strcmp(argv[1], "--speed") ? run_file(argv[1]) : run_speed();
}
