/* litmus-shapes: the standard shapes times forms of synchronisation, scopes and placements, as litmus programs, one behind
 * another. Forms are lines of a table with a hole for the scope (%S, of membar %M), the flag (%F), the value (%V) and the
 * register that receives it (%D); a shape strings them together; a placement says which thread is where. What each
 * program expects follows from three questions (does the writer's form release, does the reader's acquire, do the scopes
 * reach), with the documented deviations: a CTA is one thread, a cluster is the GPU. tests/axioms answers on its own. */
#include "litmus/litmus.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };
enum scope { CTA, CLUSTER, GPU, SYS, SCOPES };
static const char *const scope_word[] = {"cta", "cluster", "gpu", "sys"}, *const membar_word[] = {"cta", NULL, "gl", "sys"};

struct form {
	const char *name, *text;
	int orders;           /* releases, or acquires */
	int flag;             /* scope of the access to the flag: -1 weak, SCOPES the form's own, else this one */
	const char *after;    /* acquire forms: behind the guard */
};

static const struct form releases[] = {
	{"st.rel", "st.release.%S.global.b32 %F %V", 1, SCOPES, NULL},
	{"exch.rel", "atom.release.%S.global.exch.b32 _ %F %V", 1, SCOPES, NULL},
	{"add.ar", "atom.acq_rel.%S.global.add.u32 r20 %F %V", 1, SCOPES, NULL},
	{"cas.rel", "atom.release.%S.global.cas.b32 r20 %F 0 %V", 1, SCOPES, NULL},
	{"red.rel", "red.release.%S.global.add.u32 %F %V", 1, SCOPES, NULL},
	{"f+st", "fence.acq_rel.%S\nst.relaxed.%S.global.b32 %F %V", 1, SCOPES, NULL},
	{"frel+st", "fence.release.%S\nst.relaxed.%S.global.b32 %F %V", 1, SCOPES, NULL},
	{"fsc+st", "fence.sc.%S\nst.relaxed.%S.global.b32 %F %V", 1, SCOPES, NULL},
	{"f+red", "fence.acq_rel.%S\nred.relaxed.%S.global.add.u32 %F %V", 1, SCOPES, NULL},
	{"f+exch", "fence.release.%S\natom.relaxed.%S.global.exch.b32 r20 %F %V", 1, SCOPES, NULL},
	{"bar+vol", "membar.%M\nst.volatile.global.b32 %F %V", 1, SYS, NULL},
	{"f+mmio", "fence.acq_rel.%S\nst.mmio.relaxed.sys.global.b32 %F %V", 1, SYS, NULL},
	{"rel+rlx", "st.release.%S.global.b32 %F 9\nst.relaxed.%S.global.b32 %F %V", 1, SCOPES, NULL},
	{"st", "st.relaxed.%S.global.b32 %F %V", 0, SCOPES, NULL},
	{"exch", "atom.relaxed.%S.global.exch.b32 _ %F %V", 0, SCOPES, NULL},
	{"red", "red.relaxed.%S.global.add.u32 %F %V", 0, SCOPES, NULL},
	{"exch.acq", "atom.acquire.%S.global.exch.b32 r20 %F %V", 0, SCOPES, NULL},
	{"facq+st", "fence.acquire.%S\nst.relaxed.%S.global.b32 %F %V", 0, SCOPES, NULL},
	{"st+f", "st.relaxed.%S.global.b32 %F %V\nfence.acq_rel.%S", 0, SCOPES, NULL},
	{"f+weak", "fence.acq_rel.%S\nst.weak.global.b32 %F %V", 0, -1, NULL},
	{"vol", "st.volatile.global.b32 %F %V", 0, SYS, NULL},
	{"weak", "st.weak.global.b32 %F %V", 0, -1, NULL},
};
static const struct form acquires[] = {
	{"ld.acq", "poll ld.acquire.%S.global.b32 %D %F %V 20", 1, SCOPES, ""},
	{"add.acq", "atom.acquire.%S.global.add.u32 %D %F 0", 1, SCOPES, ""},
	{"or.ar", "atom.acq_rel.%S.global.or.b32 %D %F 0", 1, SCOPES, ""},
	{"cas.acq", "atom.acquire.%S.global.cas.b32 %D %F %V 7", 1, SCOPES, ""},
	{"casf.acq", "atom.acquire.%S.global.cas.b32 %D %F 77 7", 1, SCOPES, ""},
	{"ld+f", "poll ld.relaxed.%S.global.b32 %D %F %V 20", 1, SCOPES, "fence.acq_rel.%S"},
	{"ld+facq", "poll ld.relaxed.%S.global.b32 %D %F %V 20", 1, SCOPES, "fence.acquire.%S"},
	{"ld+fsc", "poll ld.relaxed.%S.global.b32 %D %F %V 20", 1, SCOPES, "fence.sc.%S"},
	{"add+f", "atom.relaxed.%S.global.add.u32 %D %F 0", 1, SCOPES, "fence.acq_rel.%S"},
	{"vol+bar", "poll ld.volatile.global.b32 %D %F %V 20", 1, SYS, "membar.%M"},
	{"rlx+acq", "poll ld.relaxed.%S.global.b32 %D %F %V 20", 1, SCOPES, "ld.acquire.%S.global.b32 r21 %F"},
	{"ld", "poll ld.relaxed.%S.global.b32 %D %F %V 20", 0, SCOPES, ""},
	{"add", "atom.relaxed.%S.global.add.u32 %D %F 0", 0, SCOPES, ""},
	{"or.rel", "atom.release.%S.global.or.b32 %D %F 0", 0, SCOPES, ""},
	{"f+ld", "fence.acq_rel.%S\nld.relaxed.%S.global.b32 %D %F", 0, SCOPES, ""},
	{"ld+frel", "poll ld.relaxed.%S.global.b32 %D %F %V 20", 0, SCOPES, "fence.release.%S"},
	{"weak+f", "poll ld.weak.global.b32 %D %F %V 20", 0, -1, "fence.acq_rel.%S"},
	{"vol", "poll ld.volatile.global.b32 %D %F %V 20", 0, SYS, ""},
	{"weak", "poll ld.weak.global.b32 %D %F %V 20", 0, -1, ""},
};
/* Accesses of the shapes that are about the accesses alone: do they race with each other? */
static const struct pair { const char *name, *write, *read; int write_scope, read_scope; } accesses[] = {
	{"weak", "st.weak.global.b32 %F %V", "ld.weak.global.b32 %D %F", -1, -1},
	{"rlx", "st.relaxed.%S.global.b32 %F %V", "ld.relaxed.%S.global.b32 %D %F", SCOPES, SCOPES},
	{"sync", "st.release.%S.global.b32 %F %V", "ld.acquire.%S.global.b32 %D %F", SCOPES, SCOPES},
	{"vol", "st.volatile.global.b32 %F %V", "ld.volatile.global.b32 %D %F", SYS, SYS},
	{"mmio", "st.mmio.relaxed.sys.global.b32 %F %V", "ld.mmio.relaxed.sys.global.b32 %D %F", SYS, SYS},
	{"atom", "atom.relaxed.%S.global.exch.b32 _ %F %V", "atom.relaxed.%S.global.add.u32 %D %F 0", SCOPES, SCOPES},
	{"red", "red.relaxed.%S.global.max.u32 %F %V", "ld.relaxed.%S.global.b32 %D %F", SCOPES, SCOPES},
	{"casweak", "atom.relaxed.%S.global.cas.b32 r20 %F 0 %V", "ld.weak.global.b32 %D %F", SCOPES, -1},
	{"strlx", "st.weak.global.b32 %F %V", "ld.relaxed.%S.global.b32 %D %F", -1, SCOPES},
	{"volrlx", "st.volatile.global.b32 %F %V", "ld.relaxed.%S.global.b32 %D %F", SYS, SCOPES},
};

/* Which thread is where: rank, launch within the rank, CTA, thread. */
static const struct place {
	const char *name;
	int ranks, device[2], launches;
	struct { int rank, launch, cta, tid; } of[THREADS];
} places[] = {
	{"cta", 1, {0}, 1, {{0, 0, 0, 0}, {0, 0, 0, 32}, {0, 0, 0, 64}, {0, 0, 0, 96}}},
	{"gpu", 1, {0}, 1, {{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 2, 0}, {0, 0, 3, 0}}},
	{"streams", 1, {0}, 2, {{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 1, 1, 0}}},
	{"gpus", 2, {0, 1}, 1, {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}}},
	{"ranks", 2, {0, 0}, 1, {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}}},
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- what is expected ------------------------------------------------------------------------------------------ */
static int covers(const struct place *p, int scope, int a, int b)
{
	int same_gpu = p->device[p->of[a].rank] == p->device[p->of[b].rank];

	return scope == SYS || ((scope == GPU || scope == CLUSTER) && same_gpu);
}

static int own(int flag, int scope)
{
	return flag == SCOPES ? scope : flag;
}

static int same_cta(const struct place *p)
{
	return p->of[0].tid != p->of[1].tid;
}

static int strong(const struct place *p, int first, int second, int a, int b)
{
	return covers(p, first, a, b) && covers(p, second, a, b);
}

/* Is what thread a did before its form ordered before what b does behind its own, once b saw a's value? */
static int edge(const struct place *p, const struct form *r, const struct form *q, int rs, int qs, int a, int b)
{
	return r->orders && q->orders && strong(p, rs, qs, a, b) && strong(p, own(r->flag, rs), own(q->flag, qs), a, b);
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */
static struct { unsigned programs, made, every; int delay; } set = {.every = 1};

/* One thread's text, with the holes filled. Returns 0 if the scope has no such form. */
static int fill(char *to, size_t room, const char *form, int scope, const char *flag, int value, int reg)
{
	size_t n = strlen(to);

	for (; *form && n + 24 < room; form++) {
		if (*form != '%') {
			to[n++] = *form;
			continue;
		}
		switch (*++form) {
		case 'S': n += (size_t)sprintf(to + n, "%s", scope_word[scope]); break;
		case 'M':
			if (!membar_word[scope])
				return 0;
			n += (size_t)sprintf(to + n, "%s", membar_word[scope]);
			break;
		case 'F': n += (size_t)sprintf(to + n, "%s", flag); break;
		case 'V': n += (size_t)sprintf(to + n, "%d", value); break;
		default: n += (size_t)sprintf(to + n, "r%d", reg); break;
		}
	}
	to[n++] = '\n';
	to[n] = 0;
	return 1;
}

/* Of every so many programs one is kept; of those that are not `dear`. */
static int kept(int dear)
{
	return !(set.made++ % set.every) || dear;
}

/* The name of the launch that a thread is in. */
static char launch_of(const struct place *p, int t)
{
	return (char)('P' + p->of[t].rank + p->of[t].launch);
}

static void put_threads(FILE *to, const struct place *p, int rank, int launch, int threads, char text[THREADS][2048])
{
	for (int t = 0; t < threads; t++) {
		if (p->of[t].rank != rank || p->of[t].launch != launch)
			continue;
		fprintf(to, "cta %d", p->of[t].cta);
		if (p->of[t].tid)
			fprintf(to, " thread %d", p->of[t].tid);
		fprintf(to, "\n%s", text[t]);
	}
}

/* `outcome` holds %0 … %3 where a thread is named. */
static void put_outcome(FILE *to, const struct place *p, const char *outcome)
{
	fprintf(to, "exists ");
	for (; *outcome; outcome++) {
		int t = outcome[0] == '%' ? outcome[1] - '0' : -1;

		if (t < 0) {
			fputc(*outcome, to);
			continue;
		}
		fprintf(to, "%c.%d.%d", launch_of(p, t), p->of[t].cta, p->of[t].tid);
		outcome++;
	}
	fprintf(to, "\n");
}

static void put_checked(const char *text)
{
	struct lit_program *p;
	char error[512];

	if (lit_parse(text, "shape", &p, error, sizeof(error))) {
		fprintf(stderr, "litmus-shapes: %s\n%s", error, text);
		exit(1);
	}
	lit_free(p);
	fputs(text, stdout);
	set.programs++;
}

/* race: -1 is left to the axioms. */
static void put_program(const char *name, const struct place *p, int threads, char text[THREADS][2048], const char *outcome, int race)
{
	char *all = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&all, &size);

	if (!to)
		exit(1);
	fprintf(to, "litmus %s\nranks %d\ndevices", name, p->ranks);
	for (int r = 0; r < p->ranks; r++)
		fprintf(to, " %d", p->device[r]);
	fprintf(to, "\nlocation x\nlocation y\nlocation f\nlocation g\nlocation idle\n");
	for (int rank = 0; rank < p->ranks; rank++)
		for (int launch = 0; launch < p->launches; launch++) {
			fprintf(to, "launch %c rank %d stream %d block %d\n", 'P' + rank + launch, rank, launch, same_cta(p) ? 128 : 32);
			put_threads(to, p, rank, launch, threads, text);
		}
	if (outcome)
		put_outcome(to, p, outcome);
	if (race >= 0)
		fprintf(to, "expect %s\n", race && !same_cta(p) ? "race" : "free");
	fclose(to);
	put_checked(all);
	free(all);
}

/* ---- shapes of messages: a chain of threads, each of which goes on when it saw the flag of the one before ------- */
struct chain {
	const char *name;
	int threads;
	const char *first, *last;  /* what the first thread does before, the last one after; %F is x */
	int middle;                /* 0: passes the message on by a flag of its own; 1: by an atomic on the first flag */
	const char *outcome;
};
static const struct chain chains[] = {
	{"MP", 2, "st.weak.global.b32 x 1", "ld.weak.global.b32 r10 x", 0, "%1:r0 = 1"},
	{"WW", 2, "st.weak.global.b32 x 1", "st.weak.global.b32 x 2", 0, "%1:r0 = 1"},
	{"LB", 2, "ld.weak.global.b32 r10 x", "st.weak.global.b32 x 2", 0, "%1:r0 = 1"},
	{"MPa", 2, "red.relaxed.cta.global.add.u32 x 1", "ld.weak.global.b32 r10 x", 0, "%1:r0 = 1"},
	{"ISA2", 3, "st.weak.global.b32 x 1", "ld.weak.global.b32 r10 x", 0, "%1:r0 = 1 & %2:r1 = 1"},
	{"RMW", 3, "st.weak.global.b32 x 1", "ld.weak.global.b32 r10 x", 1, "%1:r0 = 1 & %2:r1 = 2"},
};

/* `once`: a poll looks only once, since the values that it sees on its way would synchronize, too. */
static int put_guarded(char *to, size_t room, const struct form *q, int scope, const char *flag, int value, int reg, int once)
{
	char delay[96] = "", guard[32];

	if (once || strncmp(q->text, "poll", 4)) /* who looks once lets the others go first */
		snprintf(delay, sizeof(delay), set.delay ? "poll ld.relaxed.sys.global.b32 r30 idle 1 1\n"
							 : "repeat %d\nld.relaxed.sys.global.b32 r30 idle\nend\n", 6 + 6 * reg);
	strcat(to, delay);
	snprintf(guard, sizeof(guard), "if r%d == %d\n", reg, value);
	if (!fill(to, room, q->text, scope, flag, value, reg))
		return 0;
	if (once && !strcmp(to + strlen(to) - 4, " 20\n"))
		strcpy(to + strlen(to) - 4, " 1\n");
	strcat(to, guard);
	return !*q->after || fill(to, room, q->after, scope, flag, value, reg);
}

static void put_chain(const struct chain *c, const struct place *p, const struct form *r, const struct form *q, int rs, int qs)
{
	char text[THREADS][2048] = {"", "", "", ""}, name[128];
	int last = c->threads - 1, ok = 1, orders = edge(p, r, q, rs, qs, 0, 1);
	int plain = c == chains && rs == qs && ((rs == GPU && !strcmp(p->name, "gpu")) || (rs == SYS && !strcmp(p->name, "gpus")));

	if (!kept(plain && !set.delay))
		return;
	ok &= fill(text[0], sizeof(text[0]), c->first, rs, "x", 1, 10);
	ok &= fill(text[0], sizeof(text[0]), r->text, rs, "f", 1, 20);
	if (c->threads == 3 && !c->middle) {
		ok &= put_guarded(text[1], sizeof(text[1]), q, qs, "f", 1, 0, 0);
		ok &= fill(text[1], sizeof(text[1]), r->text, rs, "g", 1, 20);
		strcat(text[1], "end\n");
		orders &= edge(p, r, q, rs, qs, 1, 2);
	} else if (c->middle) {
		fill(text[1], sizeof(text[1]), "atom.relaxed.%S.global.add.u32 r0 f 1", qs, "f", 1, 0);
		orders = edge(p, r, q, rs, qs, 0, 2) && strong(p, own(r->flag, rs), qs, 0, 1) && strong(p, own(q->flag, qs), qs, 1, 2);
	}
	ok &= put_guarded(text[last], sizeof(text[last]), q, qs, c->threads == 3 && !c->middle ? "g" : "f", 1 + c->middle, c->threads == 3,
			  c->middle);
	ok &= fill(text[last], sizeof(text[last]), c->last, qs, "x", 1, 10);
	strcat(text[last], "end\n");
	snprintf(name, sizeof(name), "%s-%s-%s-%s.%s-%s", c->name, r->name, q->name, scope_word[rs], scope_word[qs], p->name);
	if (ok)
		put_program(name, p, c->threads, text, c->outcome, !orders);
}

/* All forms at one scope; few forms at two. */
static void put_messages(const struct place *p)
{
	for (size_t r = 0; r < COUNT(releases); r++)
		for (size_t q = 0; q < COUNT(acquires); q++)
			for (int s = CTA; s < SCOPES; s++)
				if (s != CLUSTER || (r == 0 && q == 0))
					put_chain(&chains[0], p, &releases[r], &acquires[q], s, s);
	for (size_t r = 0; r < COUNT(releases); r += 5)
		for (size_t q = 0; q < COUNT(acquires); q += 5)
			for (int s = 0; s < SCOPES * SCOPES; s++)
				if (s / SCOPES != s % SCOPES)
					put_chain(&chains[0], p, &releases[r], &acquires[q], s / SCOPES, s % SCOPES);
	for (size_t c = 1; c < COUNT(chains); c++)
		for (size_t f = 0; f < COUNT(releases); f++)
			for (int s = CTA; s < SCOPES; s++)
				for (size_t with = 0; with < 3; with++)
					if (s != CLUSTER)
						put_chain(&chains[c], p, &releases[f], &acquires[(f + with * 5) % COUNT(acquires)], s, s);
}

/* ---- shapes of accesses ---------------------------------------------------------------------------------------- */
/* Each word of a thread: W or R, location, value written or register read. */
static const struct shape { const char *name; int threads; const char *thread[THREADS]; const char *weak; } shapes[] = {
	{"SB", 2, {"Wx1 Ry0", "Wy1 Rx1"}, "%0:r0 = 0 & %1:r1 = 0"},
	{"2+2W", 2, {"Wx1 Wy2", "Wy1 Wx2"}, "x = 1 & y = 1"},
	{"LBs", 2, {"Rx0 Wy1", "Ry1 Wx1"}, "%0:r0 = 1 & %1:r1 = 1"},
	{"R", 2, {"Wx1 Wy1", "Wy2 Rx0"}, "y = 2 & %1:r0 = 0"},
	{"S", 2, {"Wx2 Wy1", "Ry0 Wx1"}, "%1:r0 = 1 & x = 2"},
	{"CoRR", 2, {"Wx1", "Rx0 Rx1"}, "%1:r0 = 1 & %1:r1 = 0"},
	{"CoWR", 2, {"Wx1 Rx0", "Wx2"}, "x = 1 & %0:r0 = 2"},
	{"WRC", 3, {"Wx1", "Rx0 Wy1", "Ry1 Rx2"}, "%1:r0 = 1 & %2:r1 = 1 & %2:r2 = 0"},
	{"IRIW", 4, {"Wx1", "Wy1", "Rx0 Ry1", "Ry2 Rx3"}, "%2:r0 = 1 & %2:r1 = 0 & %3:r2 = 1 & %3:r3 = 0"},
};

/* Do all pairs of accesses of two threads to one location, one of them a write, race not? */
static int all_strong(const struct shape *h, const struct place *p, const struct pair *a, int scope)
{
	for (int s = 0; s < h->threads; s++)
		for (int t = 0; t < s; t++)
			for (const char *i = h->thread[s]; *i; i += i[3] ? 4 : 3)
				for (const char *j = h->thread[t]; *j; j += j[3] ? 4 : 3) {
					int first = own(*i == 'W' ? a->write_scope : a->read_scope, scope);
					int second = own(*j == 'W' ? a->write_scope : a->read_scope, scope);

					if (i[1] == j[1] && (*i == 'W' || *j == 'W') && !strong(p, first, second, s, t))
						return 0;
				}
	return 1;
}

static void put_shape(const struct shape *h, const struct place *p, const struct pair *a, int scope, int weak)
{
	char text[THREADS][2048] = {"", "", "", ""}, name[128];
	int said = !weak && (strcmp(h->name, "CoWR") || strcmp(a->name, "casweak")); /* a cas that fails there only reads */

	if (!kept(0))
		return;
	for (int t = 0; t < h->threads; t++)
		for (const char *i = h->thread[t]; *i; i += i[3] ? 4 : 3) {
			char location[2] = {i[1], 0};

			fill(text[t], sizeof(text[t]), *i == 'W' ? a->write : a->read, scope, location, i[2] - '0', i[2] - '0');
		}
	snprintf(name, sizeof(name), "%s%s-%s-%s-%s.%s-%s", h->name, weak ? "+" : "", a->name, a->name, scope_word[scope], scope_word[scope],
		 p->name);
	put_program(name, p, h->threads, text, weak ? h->weak : NULL, said ? !all_strong(h, p, a, scope) : -1);
}

static void put_shapes(const struct place *p)
{
	for (size_t h = 0; h < COUNT(shapes); h++)
		for (size_t a = 0; a < COUNT(accesses); a++)
			for (int s = CTA; s < SCOPES; s++) {
				if (s == CLUSTER || (s != SYS && strchr("vmw", accesses[a].name[0]) && strcmp(accesses[a].name, "volrlx")))
					continue;
				put_shape(&shapes[h], p, &accesses[a], s, 0);
				if (!set.delay)
					put_shape(&shapes[h], p, &accesses[a], s, 1);
			}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--gpu")) {
			set.delay = 1;
		} else if (!strcmp(argv[i], "--every") && i + 1 < argc && atoi(argv[i + 1]) > 0) {
			set.every = (unsigned)atoi(argv[++i]);
		} else {
			fprintf(strcmp(argv[i], "--help") ? stderr : stdout,
				"usage: litmus-shapes [--every N] [--gpu]\nPrints litmus programs. --every N: one of N, but all plain "
				"messages of the two usual places; --gpu: for real\nGPUs: one of N of all, readers that look once wait "
				"before, and no outcomes that need luck.\n");
			return strcmp(argv[i], "--help") ? 2 : 0;
		}
	}
	for (size_t p = 0; p < COUNT(places); p++) {
		put_messages(&places[p]);
		put_shapes(&places[p]);
	}
	fprintf(stderr, "%u programs\n", set.programs);
	return 0;
}
