/* The reference detector against the definitions themselves: random short traces, whose races are also found by building
 * every relation of the memory model (PTX ISA 8.7 to 8.9) as a set of pairs. Nothing is shared but the trace: no clocks,
 * no cells, no chains, no history that shrinks. usage: definition_test ctas|warps|threads FROM TO, seeds. */
#include "reference/reference.h"
#include "reference/traces.h"

#include "check.h"

#include <string.h>

/* What a logical thread is. */
static const struct unit units[] = {
	{ "ctas", REF_CTAS, 1, 0, 0 }, { "warps", REF_WARPS, WARPS, 1, 0 }, { "threads", REF_THREADS, WARPS * LANES, LANES, 1 },
};
#define UNITS (sizeof units / sizeof *units)

static int has(const struct set *s, int i) { return s->word[i / 64] >> (i % 64) & 1; }
static void put(struct set *s, int i) { s->word[i / 64] |= UINT64_C(1) << (i % 64); }
static void add(struct set *s, const struct set *t)
{
	for (int i = 0; i < NODES / 64; i++)
		s->word[i] |= t->word[i];
}

/* ---- the relations */

static int same_cta(const struct node *a, const struct node *b)
{
	return a->launch == b->launch && (a->cta == b->cta || a->cta < 0 || b->cta < 0);
}

int definition_same_thread(const struct node *a, const struct node *b)
{
	return same_cta(a, b) && (a->thread == b->thread || a->thread < 0 || b->thread < 0);
}

/* Races of the two are not looked for: they count as in program order. */
static int one_program(const struct world *w, const struct node *a, const struct node *b)
{
	return w->unit->inside ? definition_same_thread(a, b) : same_cta(a, b);
}

static int scopes_include(const struct world *w, const struct node *a, const struct node *b)
{
	if (w->unit->threads > 1 && same_cta(a, b))
		return 1;
	if (a->scope < 2 || b->scope < 2)
		return 0; /* .cta: the own CTA */
	return w->launch[a->launch].device == w->launch[b->launch].device || (a->scope == 3 && b->scope == 3);
}

static int same_bytes(const struct node *a, const struct node *b) { return a->offset == b->offset && a->bytes == b->bytes; }

static int morally_strong(const struct world *w, const struct node *a, const struct node *b)
{
	return same_bytes(a, b) && (one_program(w, a, b) || (a->strong && b->strong && scopes_include(w, a, b)));
}

/* 8.9.2, when access n executes: it reads what was written last. */
void definition_observe(struct world *w, int n)
{
	const struct node *a = &w->node[n];
	for (unsigned i = a->offset; i < a->offset + a->bytes; i++) {
		const int from = w->last_write[i];
		if (a->reads && a->strong && from >= 0 && morally_strong(w, &w->node[from], a)) {
			put(&w->observed[n], from);
			if (w->node[from].rmw)
				add(&w->observed[n], &w->observed[from]);
		}
	}
	for (unsigned i = a->offset; a->writes && i < a->offset + a->bytes; i++)
		w->last_write[i] = n;
}

/* Do the two make a pattern as those of one thread do? By F1 and F2 also those of one CTA, with barriers between, if it has a fence. */
static int as_one_thread(const struct world *w, int x, int y)
{
	const int fence = w->node[x].type == NODE_FENCE || w->node[y].type == NODE_FENCE;
	return definition_same_thread(&w->node[x], &w->node[y]) || (w->formal && fence && has(&w->inside[y], x));
}

/* Does node x begin a release pattern (8.8) that the strong write y ends? */
static int release_pattern(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (x > y || !b->strong || !b->writes || !as_one_thread(w, x, y) || !a->releases)
		return 0;
	return x == y || a->type != NODE_ACCESS || same_bytes(a, b);
}

/* Does node y end an acquire pattern that the strong read x begins? By the project's rule only results that are used count. */
static int acquire_pattern(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (x > y || !a->strong || !a->reads || (a->rmw && !a->used) || !as_one_thread(w, x, y) || !b->acquires)
		return 0;
	return x == y || b->type != NODE_ACCESS || same_bytes(a, b);
}

/* 8.9.4: a write of the pattern from x is observed by a read of the pattern to y; their ends reach each other. */
static int synchronises(const struct world *w, int x, int y)
{
	if (!w->node[x].releases || !w->node[y].acquires || !scopes_include(w, &w->node[x], &w->node[y]))
		return 0;
	for (int write = x; write < y; write++)
		for (int read = write + 1; read <= y; read++)
			if (has(&w->observed[read], write) && release_pattern(w, x, write) && acquire_pattern(w, read, y))
				return 1;
	return 0;
}

/* Who arrives at a phase is before who goes on behind it; of an mbarrier, whose arrivals are RMWs that continue each other, before
 * who goes on behind a later one, too. */
static int meet(const struct node *a, const struct node *b)
{
	if (a->type != NODE_ARRIVE || b->type != NODE_PASS || !same_cta(a, b) || a->barrier != b->barrier || a->made != b->made)
		return 0;
	return a->phase + 1 == b->phase || (a->barrier >= MBARRIERS && a->phase < b->phase);
}

/* Does the thread of node `read` come, behind it, to a barrier that y is behind? */
static int comes_to(const struct world *w, int read, int y)
{
	if (w->node[y].type == NODE_FLAG)
		return definition_same_thread(&w->node[read], &w->node[y]);
	for (int a = read + 1; a < y; a++)
		if (definition_same_thread(&w->node[read], &w->node[a]) && meet(&w->node[a], &w->node[y]))
			return 1;
	return 0;
}

/* By F3: y is behind a barrier to which an RMW came that observed, and reaches, what x released. */
static int acquired_at_barrier(const struct world *w, int x, int y)
{
	if (!w->formal || !w->node[x].releases)
		return 0;
	for (int read = x + 1; read < y; read++) {
		const struct node *a = &w->node[read];
		if (!a->rmw || !a->used || !a->writes || !scopes_include(w, &w->node[x], a) || !comes_to(w, read, y))
			continue;
		for (int write = x; write < read; write++)
			if (has(&w->observed[read], write) && release_pattern(w, x, write))
				return 1;
	}
	return 0;
}

static int direct(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (a->type == NODE_PHASE || b->type == NODE_PHASE)
		return 0;
	if (definition_same_thread(a, b) || synchronises(w, x, y) || meet(a, b) || acquired_at_barrier(w, x, y))
		return 1;
	return a->type == NODE_END && b->type == NODE_START && w->launch[b->launch].after >> a->launch & 1;
}

/* Are both of one CTA, and ordered by one step inside it? */
static int step_inside(const struct node *a, const struct node *b)
{
	if (a->type == NODE_PHASE || b->type == NODE_PHASE || a->cta < 0 || b->cta < 0)
		return 0;
	return definition_same_thread(a, b) || meet(a, b);
}

static void close_inside(struct world *w)
{
	memset(w->inside, 0, sizeof w->inside);
	for (int y = 0; y < w->nodes; y++)
		for (int x = 0; x < y; x++)
			if (step_inside(&w->node[x], &w->node[y])) {
				put(&w->inside[y], x);
				add(&w->inside[y], &w->inside[x]);
			}
}

static void close_base(struct world *w) /* all relations lead forward in the trace */
{
	memset(w->before, 0, sizeof w->before);
	for (int y = 0; y < w->nodes; y++)
		for (int x = 0; x < y; x++)
			if (direct(w, x, y)) {
				put(&w->before[y], x);
				add(&w->before[y], &w->before[x]);
			}
}

static int causality(const struct world *w, int x, int y)
{
	if (has(&w->before[y], x))
		return 1;
	for (int z = x + 1; z < y; z++)
		if (has(&w->observed[z], x) && has(&w->before[y], z))
			return 1;
	return 0;
}

/* Do they race, unless they are in order? */
static int conflict(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	if (a->type != NODE_ACCESS || b->type != NODE_ACCESS || (!a->writes && !b->writes) || a->offset >= b->offset + b->bytes ||
	    b->offset >= a->offset + a->bytes)
		return 0;
	return b->nc || (!one_program(w, a, b) && !morally_strong(w, a, b));
}

static int races(const struct world *w, int x, int y)
{
	return conflict(w, x, y) && !causality(w, x, w->node[y].nc ? w->launch[w->node[y].launch].start : y);
}

/* Is y ordered after x as records are: as the same thread, or by launches? */
static int follows(const struct world *w, int x, int y)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	return definition_same_thread(a, b) || causality(w, x, w->launch[b->launch].start);
}

#define BEHIND_SITE (UINT64_C(1) << 63)
#define BEHIND NODES /* no node: all that stand for x are before y */

/* Is z before y, of another thread? Of a non-coherent load, before its launch. */
static int before(const struct world *w, int z, int y)
{
	const struct node *b = &w->node[y];
	if (b->nc)
		return causality(w, z, w->launch[b->launch].start);
	return !one_program(w, &w->node[z], b) && causality(w, z, y);
}

static int touches(const struct node *a, unsigned byte) { return byte >= a->offset && byte < a->offset + a->bytes; }

/* Does z touch the byte, or, if it is weak, a lane that made it together with z? */
static int lanes_touch(const struct world *w, int z, unsigned byte)
{
	const struct node *b = &w->node[z];
	int any = touches(b, byte);
	for (int i = b->together; !b->strong && i < w->nodes; i++)
		any |= w->node[i].type == NODE_ACCESS && w->node[i].together == b->together && touches(&w->node[i], byte);
	return any;
}

/* Does z stand for x, an earlier node, at this byte? There it touches it, and of x all bytes of its granule of 8. */
static int stands(const struct world *w, int x, int z, unsigned byte)
{
	const struct node *a = &w->node[x], *b = &w->node[z];
	if (b->type != NODE_ACCESS || !touches(b, byte) || b->writes < a->writes || b->strong > a->strong || (b->strong && b->scope > a->scope))
		return 0;
	int includes = 1;
	for (unsigned i = byte / 8 * 8; i < byte / 8 * 8 + 8; i++)
		includes &= !touches(a, i) || lanes_touch(w, z, i);
	return includes && follows(w, x, z);
}

/* What is left of x at the byte: the last node before `end` that stands for it and races with y, too, unless one stands for
 * that which is before y; -1: nothing but itself. Who looks at y late does not know whether what came since is behind it: another
 * warp of its CTA may have observed y. */
static int successor(const struct world *w, int x, int y, unsigned byte, int end)
{
	int racing = -1;
	for (int z = x + 1; z < end; z++)
		if (z != y && stands(w, x, z, byte) && (z < y ? races(w, z, y) : conflict(w, y, z)))
			racing = z;
	const int left = racing < 0 ? x : racing;
	for (int z = left + 1; z < end && z < y; z++)
		if (stands(w, left, z, byte) && before(w, z, y))
			return BEHIND;
	return racing;
}

static uint64_t site_bit(const struct node *a) { return UINT64_C(1) << (2 * a->site + (unsigned)a->launch % 2) % 63; }

/* The sites, as bits, of which one stands for x of a race when y is looked at, before one of the nodes up to `end`; 0: none does. That
 * of x only if it is the only one: the race would be its own name. */
static uint64_t stood(const struct world *w, int x, int y, unsigned byte, int end)
{
	const struct node *a = &w->node[x];
	uint64_t any = 0, own = 0;
	for (int now = y + 1; now <= end; now++) {
		const int z = successor(w, x, y, byte, now);
		if (z == BEHIND)
			return BEHIND_SITE;
		const struct node *b = &w->node[z < 0 ? x : z];
		*(b->site == a->site && b->launch % 2 == a->launch % 2 ? &own : &any) |= z < 0 ? 0 : site_bit(b);
	}
	return any ? any : own;
}

#define PAIRS 4096
#define GROUPS 64
struct groups { /* different ones, of sites as bits; open: somewhere nothing stands for the first access */
	uint64_t any[GROUPS];
	int count, open;
};

static void group_add(struct groups *g, uint64_t any)
{
	int i = 0;
	while (i < g->count && g->any[i] != any)
		i++;
	CHECK(i < GROUPS);
	g->any[i] = any;
	g->count += i == g->count;
}

static int same_groups(const struct groups *g, const struct groups *h)
{
	int same = 0;
	if (g->open || h->open)
		return g->open == h->open;
	for (int i = 0; i < g->count; i++)
		for (int k = 0; k < h->count; k++)
			same += g->any[i] == h->any[k];
	return same == g->count && same == h->count;
}

/* Does a thread of the node synchronise there? One that is all of its CTA does at phases alone of what is inside that. */
static int settles(const struct world *w, const struct node *a)
{
	if (a->type == NODE_ACCESS)
		return a->strong;
	return w->unit->threads > 1 || a->type < NODE_ACCESS || a->type == NODE_PHASE;
}

/* Where the thread of y synchronises next, or its launch ends. */
static int settled(const struct world *w, int y)
{
	int z = y + 1;
	while (z < w->nodes && (!definition_same_thread(&w->node[z], &w->node[y]) || !settles(w, &w->node[z])))
		z++;
	return z;
}

/* Adds what stands for x of a race, by the bytes that both touch. */
static void dominated(const struct world *w, int x, int y, struct groups *by)
{
	const struct node *a = &w->node[x], *b = &w->node[y];
	const int end = w->node[y].strong ? y + 1 : settled(w, y);
	struct groups all = { .count = 0 };
	for (unsigned i = 0; i < 64; i++) {
		if (!touches(a, i) || !touches(b, i))
			continue;
		const uint64_t any = stood(w, x, y, i, end);
		by->open |= !any;
		if (any)
			group_add(&all, any);
	}
	for (int i = 0; i < all.count && !by->open; i++)
		group_add(by, all.any[i]);
}

static enum ref_kind kind_of(const struct world *w, const struct node *a, const struct node *b)
{
	if (a->strong && b->strong && !scopes_include(w, a, b))
		return REF_SCOPE;
	if ((a->rmw && a->writes) || (b->rmw && b->writes))
		return REF_ATOMIC_PLAIN;
	return b->nc ? REF_STALE_NC : !b->writes ? REF_RAW : a->writes ? REF_WAW : REF_WAR;
}

/* ---- comparison */

struct tally {
	struct { enum ref_kind kind; unsigned site[2]; const char *kernel[2]; uint64_t count; struct groups by; int formal; } pair[PAIRS];
	int pairs;
};

/* Returns the pair's place: who stands for its first access, and whether all of it is formal, come from the caller. */
static int tally_add(struct tally *t, enum ref_kind kind, unsigned a, unsigned b, const char *ka, const char *kb, uint64_t count)
{
	int i = 0;
	while (i < t->pairs && (t->pair[i].kind != kind || t->pair[i].site[0] != a || t->pair[i].site[1] != b ||
				strcmp(t->pair[i].kernel[0], ka) || strcmp(t->pair[i].kernel[1], kb)))
		i++;
	CHECK(i < PAIRS);
	if (i == t->pairs) {
		t->pairs++;
		t->pair[i].kind = kind;
		t->pair[i].site[0] = a, t->pair[i].site[1] = b;
		t->pair[i].kernel[0] = ka, t->pair[i].kernel[1] = kb;
		t->pair[i].count = 0;
		t->pair[i].by.count = t->pair[i].by.open = 0;
		t->pair[i].formal = 1;
	}
	t->pair[i].count += count;
	return i;
}

/* The same pair in another tally; -1: it is not there. */
static int tally_of(const struct tally *t, const struct tally *u, int i)
{
	for (int k = 0; k < t->pairs; k++)
		if (t->pair[k].kind == u->pair[i].kind && t->pair[k].site[0] == u->pair[i].site[0] && t->pair[k].site[1] == u->pair[i].site[1] &&
		    !strcmp(t->pair[k].kernel[0], u->pair[i].kernel[0]) && !strcmp(t->pair[k].kernel[1], u->pair[i].kernel[1]))
			return k;
	return -1;
}

static void say_groups(const struct groups *by)
{
	fprintf(stderr, ", dominated by%s", by->open ? " none" : "");
	for (int i = 0; i < by->count && !by->open; i++)
		fprintf(stderr, " %llx", (unsigned long long)by->any[i]);
}

static int differs(const struct tally *got, const struct tally *want, const char *what)
{
	int bad = 0;
	for (int i = 0; i < want->pairs; i++) {
		const int k = tally_of(got, want, i);
		if (k >= 0 && got->pair[k].count == want->pair[i].count && same_groups(&got->pair[k].by, &want->pair[i].by) &&
		    got->pair[k].formal == want->pair[i].formal)
			continue;
		fprintf(stderr, "%s: race %s %s %u %s %u: %llu", what, ref_kind_name(want->pair[i].kind), want->pair[i].kernel[0],
			want->pair[i].site[0], want->pair[i].kernel[1], want->pair[i].site[1], (unsigned long long)want->pair[i].count);
		say_groups(&want->pair[i].by);
		fprintf(stderr, "%s; by the other %llu", want->pair[i].formal ? ", formal" : "", (unsigned long long)(k < 0 ? 0 : got->pair[k].count));
		if (k >= 0)
			say_groups(&got->pair[k].by);
		fputc('\n', stderr);
		bad = 1;
	}
	return bad;
}

static void by_definition(struct world *w, struct tally *t)
{
	static const char *const kernels[] = { "k0", "k1" };
	static short place[NODES][NODES];
	close_inside(w);
	w->formal = 0;
	close_base(w);
	for (int y = 0; y < w->nodes; y++)
		for (int x = 0; x < y; x++) {
			const struct node *a = &w->node[x], *b = &w->node[y];
			place[x][y] = -1;
			if (!races(w, x, y))
				continue;
			place[x][y] = (short)tally_add(t, kind_of(w, a, b), a->site, b->site, kernels[a->launch % 2], kernels[b->launch % 2], 1);
			dominated(w, x, y, &t->pair[place[x][y]].by);
		}
	w->formal = w->unit->threads > 1; /* else nothing is told formal */
	close_base(w);
	for (int y = 0; y < w->nodes; y++)
		for (int x = 0; x < y; x++)
			if (place[x][y] >= 0 && races(w, x, y))
				t->pair[place[x][y]].formal = 0;
}

/* A race of the same lines and kernels may come several times, by ranks. */
static void by_of(const struct ref_race *race, struct groups *by)
{
	by->open |= race->dominated != race->count;
	for (size_t i = 0, n; i < race->bys && !by->open; i += n) {
		uint64_t any = 0;
		for (n = 0; i + n < race->bys && (!n || race->by[i + n].or); n++) {
			const struct ref_site *s = &race->by[i + n];
			any |= !strcmp(s->kernel, "-") ? BEHIND_SITE : UINT64_C(1) << (2 * s->line + (uint32_t)(s->kernel[1] - '0')) % 63;
		}
		group_add(by, any);
	}
}

struct told { uint64_t racy, formal; }; /* traces with a race, formal races */

static int compare(const struct unit *unit, uint64_t seed, struct told *tell)
{
	static struct world w;
	static struct tally want, got;
	const struct ref_race *race;
	char error[512];
	want.pairs = got.pairs = 0;
	traces_generate(&w, unit, seed);
	by_definition(&w, &want);
	struct ref *r = ref_open("random", unit->flag);
	for (unsigned i = 0; i < w.lines; i++)
		if (ref_line(r, w.line[i], error, sizeof error)) {
			fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, error);
			return 1;
		}
	const size_t n = ref_races(r, &race);
	for (size_t i = 0; i < n; i++) {
		const int k = tally_add(&got, race[i].kind, race[i].site[0], race[i].site[1], race[i].kernel[0], race[i].kernel[1], race[i].count);
		by_of(&race[i], &got.pair[k].by);
		got.pair[k].formal &= race[i].formal;
		tell->formal += (uint64_t)race[i].formal;
	}
	const int bad = differs(&got, &want, "by definition") | differs(&want, &got, "by the detector");
	for (unsigned i = 0; bad && i < w.lines; i++)
		fprintf(stderr, "%4u %s\n", i + 1, w.line[i]);
	if (bad)
		fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	ref_close(r);
	tell->racy += want.pairs > 0;
	return bad;
}

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	const struct unit *unit = units;
	while (unit < units + UNITS && strcmp(unit->name, argv[1]))
		unit++;
	CHECK(unit < units + UNITS);
	const uint64_t from = strtoull(argv[2], NULL, 10), to = strtoull(argv[3], NULL, 10);
	struct told told = { .racy = 0 };
	for (uint64_t seed = from; seed < to; seed++)
		if (compare(unit, seed, &told))
			return 1;
	printf("%llu traces agree by %s, %llu of them racy, %llu races formal\n", (unsigned long long)(to - from), unit->name,
	       (unsigned long long)told.racy, (unsigned long long)told.formal);
	const int few = unit->threads > 1 && told.formal * 200 < to - from;
	return told.racy * 10 < to - from || told.racy == to - from || few; /* traces without all sorts would show nothing */
}
