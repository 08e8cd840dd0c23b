/* Kernels of relaxed operations alone, natively: what their CTAs, which keep no clock, may have observed, and what their launches may have
 * learnt for those behind them. Each in a racy form and its correct twin. */
#include "play.h"

#include "device/coarse.h"
#include "device/record.h"

#define PAYLOAD (DATA(1) + 4096)
#define FLAG (DATA(1) + 8192)
#define OTHER (DATA(1) + 16384)

static struct gsan_writers writers; /* nothing unseen writes */

static void judge(const char *name, int race)
{
	need((found() > 0) == race, name);
	memset(&writers, 0, sizeof writers);
	reset();
}

/* A launch of a stream of the first participant, behind launch `behind` of stream `of`, if that is not 0. */
static struct gsan_launch *in_stream(u32 stream, u32 seq, u32 of, u32 behind)
{
	struct gsan_launch *l = launch(0, stream, seq, 5, 1);
	l->writers = (u64)(uintptr_t)&writers;
	if (behind) {
		l->order.pairs = 1;
		l->order.pair[0].participant = 0;
		l->order.pair[0].stream = (uint8_t)of;
		l->order.pair[0].seq = behind;
	}
	return l;
}

#define LOADS ((GSAN_REDS_LOAD | GSAN_REDS_LEARN) << GSAN_ENTER_REDS_SHIFT)
#define LEARNS (GSAN_REDS_LEARN << GSAN_ENTER_REDS_SHIFT)

static u64 value = 1; /* what is read */
static void relaxed(struct cta *c, u32 op, u64 at, u32 site)
{
	u32 d = desc(op, 4, GSAN_SEM_NONE, site) | (op_is_rmw(op) ? GSAN_DESC_USED : 0);
	be(c);
	u32 is = gsan_relaxed(c->launch, c->self, quick(c), at, d);
	relaxed_on(c, is & ~GSAN_RED_UNSEEN, at, d);
	if (is & GSAN_RED_UNSEEN && value)
		gsan_learned(c->launch, c->self, at, d);
}
/* A CTA of that launch, which is judged. */
static void reads_payload(struct gsan_launch *l, const char *name, int race)
{
	struct cta c = enter(l, 2, 0);
	weak(&c, GSAN_OP_LD, PAYLOAD, 4, 4);
	judge(name, race);
}

static void observed(u32 by, u32 op, const char *name, int race)
{
	/* what was observed itself is before what follows in the CTA that did */
	struct gsan_launch *l = in_stream(0, 5, 0, 0);
	struct cta a = enter(l, 0, LOADS | REDS(GSAN_GPU)), b = enter(l, 1, LOADS | REDS(GSAN_GPU));
	relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 1);
	if (by)
		relaxed(&b, by, FLAG, 2);
	weak(&b, op, FLAG, 4, 3);
	judge(name, race);
}

static void message(u32 op, const char *name)
{
	/* nothing is released, nor acquired; and which flag that was is said */
	struct gsan_launch *l = in_stream(0, 5, 0, 0);
	struct cta a = enter(l, 0, LOADS | REDS(GSAN_GPU)), b = enter(l, 1, LOADS | REDS(GSAN_GPU));
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	if (op == GSAN_OP_STRONG_LD)
		relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 3); /* looks before, and again */
	relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 2);
	relaxed(&b, op + GSAN_GPU, FLAG, 3);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 4);
	const struct gsan_finding *f = finding(0);
	need(f && f->flag_write_site == 2 && f->flag_read_site == 3 && f->reason == GSAN_WHY_RELAXED_WRITE, name);
	judge(name, 1);
}

static void writes_before(int rmw, int observes, const char *name, int race)
{
	/* a weak store, and a strong one or an RMW of the same CTA behind it: with that RMW it is observed */
	struct gsan_launch *l = in_stream(0, 5, 0, 0);
	struct cta a = enter(l, 0, LOADS | REDS(GSAN_GPU)), b = enter(l, 1, LOADS | REDS(GSAN_GPU));
	weak(&a, GSAN_OP_ST, FLAG, 4, 1);
	relaxed(&a, (rmw ? GSAN_OP_RMW : GSAN_OP_STRONG_ST) + GSAN_GPU, FLAG, 2);
	if (observes)
		relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 3); /* itself a race with the weak one */
	need((found() > 0) == observes, "a load and a weak store");
	u64 had = found();
	relaxed(&b, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 4);
	need((found() > had) == race, name);
	had = found();
	weak(&b, GSAN_OP_LD, FLAG, 4, 5);
	need((found() > had) == !observes || race, name);
	judge(name, observes || race);
}

static void beside_its_own(const char *name)
{
	/* a weak load's own record, beside that of an RMW, does not make it seem that there was no place for a strong one before */
	struct gsan_launch *l = in_stream(0, 5, 0, 0);
	struct cta a = enter(in_stream(1, 6, 0, 0), 0, REDS(GSAN_GPU)), b = enter(l, 1, LOADS | REDS(GSAN_GPU));
	relaxed(&a, GSAN_OP_RMW + GSAN_GPU, FLAG, 1);
	relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, OTHER, 2);
	weak(&b, GSAN_OP_LD, FLAG, 4, 3);
	judge(name, 1);
}

static void behind_a_learner(u32 flags, u32 order, const char *name, int race)
{
	/* what comes before a launch is before those behind one that observed its flag. order: the flag's launch is behind that one, or none is
	 * behind it */
	struct gsan_launch *p = in_stream(0, 5, 0, 0), *f = in_stream(0, 6, 0, 5), *b = in_stream(1, 7, 0, 0);
	struct cta x = enter(p, 0, 1);
	weak(&x, GSAN_OP_ST, PAYLOAD, 4, 1);
	if (order == 1)
		f->order.pair[f->order.pairs++] = (struct gsan_pair){.participant = 0, .stream = 1, .seq = 7};
	struct cta y = enter(b, 1, flags | REDS(GSAN_GPU));
	if (order == 1)
		relaxed(&y, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 3);
	struct cta a = enter(f, 0, LOADS | REDS(GSAN_GPU));
	relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 2);
	if (order != 1)
		relaxed(&y, flags ? GSAN_OP_STRONG_LD + GSAN_GPU : GSAN_OP_RMW + GSAN_GPU, FLAG, 3);
	reads_payload(in_stream(order == 2 ? 2 : 1, 8, 1, order == 2 ? 0 : 7), name, race);
}

static void behind_its_second(int relaxes, const char *name, int race)
{
	/* what only the next launch of the stream may have observed is not before what is behind the first alone */
	struct gsan_launch *p = in_stream(0, 5, 0, 0), *f = in_stream(0, 6, 0, 5), *b = in_stream(1, 7, 0, 0), *d = in_stream(1, 8, 1, 7);
	struct cta x = enter(p, 0, 1), y = enter(b, 1, LOADS | REDS(GSAN_GPU));
	weak(&x, GSAN_OP_ST, PAYLOAD, 4, 1);
	relaxed(&y, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 2);
	struct cta z = enter(d, 1, relaxes ? LOADS | REDS(GSAN_GPU) : 0); /* from here on nothing is added to the first */
	if (relaxes)
		relaxed(&z, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 2);
	struct cta a = enter(f, 0, LOADS | REDS(GSAN_GPU));
	relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 3);
	reads_payload(in_stream(2, 9, 1, race ? 7 : 8), name, race);
}

static void behind_its_end(int order, const char *name, int race)
{
	/* what the stream of the flag's launch does next, behind the end of who observed it, does not make that forgotten. order: it is behind it */
	struct gsan_launch *p = in_stream(0, 5, 0, 0), *f = in_stream(0, 6, 0, 5), *b = in_stream(1, 7, 0, 0), *n = in_stream(0, 8, 1, order ? 7 : 1);
	struct cta x = enter(p, 0, 1), a = enter(f, 0, LOADS | REDS(GSAN_GPU)), y = enter(b, 1, LOADS | REDS(GSAN_GPU));
	weak(&x, GSAN_OP_ST, PAYLOAD, 4, 1);
	relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 2);
	if (race)
		relaxed(&y, GSAN_OP_STRONG_ST + GSAN_GPU, OTHER, 3);
	else
		relaxed(&y, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 3);
	struct cta z = enter(n, 0, LOADS | REDS(GSAN_GPU));
	relaxed(&z, GSAN_OP_RMW + GSAN_GPU, OTHER, 4);
	reads_payload(in_stream(2, 9, race ? 3 : 1, 7), name, race);
}

static void behind_its_observer(u32 by, int between, int stream, const char *name, int race)
{
	/* A's store, which B observed, is before who is behind B; also where that, or a launch between, is of B's kind */
	struct cta a = enter(in_stream(0, 5, 0, 0), 0, REDS(GSAN_GPU)), b = enter(in_stream(1, 6, 0, 0), 1, LOADS | REDS(GSAN_GPU));
	relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 1);
	if (by)
		relaxed(&b, by + GSAN_GPU, FLAG, 2);
	if (between) {
		struct cta e = enter(in_stream(1, 7, 1, 6), 0, REDS(GSAN_GPU));
		relaxed(&e, GSAN_OP_RMW + GSAN_GPU, OTHER, 3);
	}
	struct cta c = enter(in_stream((u32)stream, 8, 1, 6), 2, REDS(GSAN_GPU));
	relaxed(&c, GSAN_OP_RMW + GSAN_GPU, OTHER, 4);
	weak(&c, GSAN_OP_ST, FLAG, 4, 5);
	judge(name, race);
}

static int behind_its_head(u32 head, int strong, u32 seed)
{
	/* and with an RMW the weak store of its CTA before it; of another CTA's not, unless that has made one, too, perhaps, which lost its place;
	 * nor with a store */
	struct gsan_launch *l = in_stream(0, 5, 0, 0);
	struct cta a = enter(l, 0, REDS(GSAN_GPU)), other = enter(l, 2, REDS(GSAN_GPU)), b = enter(in_stream(1, 6, 0, 0), 1, LOADS | REDS(GSAN_GPU));
	weak(head ? &a : &other, GSAN_OP_ST, FLAG, 4, 1);
	relaxed(&a, head == 2 ? GSAN_OP_STRONG_ST + GSAN_GPU : GSAN_OP_RMW + GSAN_GPU, FLAG, 2);
	relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 3); /* itself a race with the weak one */
	u64 had = found();
	struct gsan_launch *behind = in_stream(1, 7, 1, 6);
	l->seed = behind->seed = seed;
	struct cta c = enter(behind, 2, strong ? REDS(GSAN_GPU) : 0);
	if (strong)
		relaxed(&c, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 4);
	else
		weak(&c, GSAN_OP_ST, FLAG, 4, 4);
	int race = found() > had;
	reset();
	return race;
}

static void behind_an_entry(int looks, const char *name, int race)
{
	/* a release that such a launch observed is before those behind it */
	struct cta a = enter(in_stream(0, 5, 0, 0), 0, 1), b = enter(in_stream(1, 6, 0, 0), 1, LOADS | REDS(GSAN_GPU));
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_GPU, 1, 2);
	relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, looks ? FLAG : OTHER, 3);
	reads_payload(in_stream(1, 7, 1, 6), name, race);
}

static void behind_unseen(int how, const char *name, int race)
{
	/* 1: it may have read what a copy wrote; 2: a copy that is before it, or behind; 3: it reads what has no shadow; 4: 0, which memory starts
	 * with; 5: what a launch wrote that it is not behind; 6: that was behind it, when it read again */
	struct cta a = enter(in_stream(0, 5, 0, 0), 0, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	if (how && how != 3) {
		writers.participants = 1;
		writers.streams[0] = how == 2 ? 1u << 1 : 1u << 3;
		writers.newest[0][how == 2 ? 1 : 3] = 6;
	}
	value = how != 4;
	struct cta d = enter(in_stream(2, 6, 0, 0), 0, REDS(GSAN_GPU));
	if (how == 5)
		relaxed(&d, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 2);
	struct cta b = enter(in_stream(1, 7, 0, 0), 1, LOADS | REDS(GSAN_GPU));
	value = value && how != 6;
	relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, how == 3 ? 4096 : FLAG, 3);
	if (how == 6)
		relaxed(&d, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 2);
	value = 1;
	if (how == 6)
		relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 3);
	reads_payload(in_stream(1, 8, 1, 7), name, race);
}

static void started(u32 scope, const char *name, int race)
{
	/* a flag of .sys without an entry, which another GPU acquires: what is before its launch is behind; of .gpu it is not */
	struct cta x = enter(in_stream(0, 5, 0, 0), 0, 1);
	weak(&x, GSAN_OP_ST, PAYLOAD, 4, 1);
	struct cta a = enter(in_stream(0, 6, 0, 5), 0, REDS(scope)), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	relaxed(&a, GSAN_OP_STRONG_ST + scope, FLAG, 2);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

/* Is its launch known to who reads FLAG or OTHER? Then its operations ask for nothing more. */
static int is_noted(const struct cta *c, u32 reds)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)c->launch, .reds = reds};
	return coarse_noted(&w, dev_tables(1));
}

static void lost_its_place(u32 sem, const char *name, int race)
{
	/* a launch whose place on the coarse path another process of its GPU has taken is known all the same, and does not ask for it back */
	struct gsan_launch *beside = launch(1, 0, 9, 9, 1);
	beside->gpu = 0;
	struct cta x = enter(in_stream(13, 5, 0, 0), 0, 1);
	weak(&x, GSAN_OP_ST, PAYLOAD, 4, 1);
	struct cta a = enter(in_stream(13, 6, 13, 5), 0, REDS(GSAN_GPU)), c = enter(beside, 3, REDS(GSAN_GPU)), b = enter(in_stream(2, 7, 0, 0), 1, 1);
	relaxed(&a, GSAN_OP_RMW + GSAN_GPU, FLAG, 2);
	relaxed(&c, GSAN_OP_RMW + GSAN_GPU, OTHER, 3);
	need(is_noted(&a, 0), "known without its place");
	flag_load(&b, FLAG, sem, GSAN_GPU, 1, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void of_one_slot(int newer, u32 behind, const char *name, int race)
{
	/* two of the streams that share the last slot, at once: neither puts the other out, and what either observes is before those behind it */
	struct gsan_launch *p = in_stream(0, 5, 0, 0), *f = in_stream(0, 6, 0, 5), *of[2];
	struct cta x = enter(p, 0, 1), ctas[2];
	weak(&x, GSAN_OP_ST, PAYLOAD, 4, 1);
	for (u32 i = 0; i < 2; i++) {
		of[i] = in_stream(GSAN_STREAMS - 1, 7 + i, 0, 0);
		ctas[i] = enter(of[i], 1 + 2 * i, i ? LOADS | REDS(GSAN_GPU) : REDS(GSAN_GPU) | (newer ? 0 : LOADS));
		relaxed(&ctas[i], GSAN_OP_RMW + GSAN_GPU, OTHER, 2);
	}
	struct cta a = enter(f, 0, LOADS | REDS(GSAN_GPU));
	relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 3);
	relaxed(&ctas[newer], GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 4);
	need(is_noted(&ctas[0], GSAN_REDS_LEARN) && is_noted(&ctas[1], GSAN_REDS_LEARN), "both are known");
	const u64 *learner = &dev_tables(0)->coarse.learner[GSAN_STREAMS - 1];
	need((u32)*learner == 7 && *learner & DEV_LEARNS, "the oldest stands for both");
	struct gsan_launch *later = in_stream(GSAN_STREAMS - 1, 10, 0, 0); /* for which the host has seen the end of these */
	later->order.floor[0] = 9;
	struct cta z = enter(later, 4, REDS(GSAN_GPU));
	relaxed(&z, GSAN_OP_RMW + GSAN_GPU, OTHER, 5);
	need((u32)*learner == 10, "who is over stands for nobody");
	reads_payload(in_stream(2, 9, GSAN_STREAMS - 1, behind), name, race);
}

static void keeps_what_it_observed(u32 over)
{
	/* a weak read behind a load hides no record that says what its CTA observed; nor does one find a place by its hash that was taken otherwise */
	for (u32 seed = 0; seed < 64; seed++) {
		struct gsan_launch *l = in_stream(0, 5, 0, 0);
		l->seed = seed;
		struct cta a = enter(l, 0, LOADS | REDS(GSAN_GPU)), b = enter(l, 1, LOADS | REDS(GSAN_GPU));
		relaxed(&a, GSAN_OP_STRONG_ST + GSAN_GPU, FLAG, 1);
		relaxed(&b, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 2);
		for (u32 i = 2; i < 2 + over; i++) {
			struct cta c = enter(l, i, LOADS | REDS(GSAN_GPU));
			relaxed(&c, GSAN_OP_STRONG_LD + GSAN_GPU, FLAG, 2);
		}
		weak(&b, GSAN_OP_LD, FLAG, 4, 3);
		weak(&b, GSAN_OP_LD, FLAG, 4, 4);
		weak(&b, GSAN_OP_ST, FLAG, 4, 5);
		need(!found() || over, "a load, weak reads, a weak store");
		for (u64 i = 0; i < found(); i++)
			need(finding(i)->second.site != 5 || finding(i)->first.site != 1, "what was loaded, whose record lost its place");
		reset();
	}
}

/* A line whose detail has a read, then an atomic; who reads a whole sector of it, by the line's record, meets the atomic. `at`: where that is. */
static void by_the_line(u32 at, const char *name, int race)
{
	struct cta a = enter(in_stream(1, 6, 0, 0), 0, 0), b = enter(in_stream(2, 7, 0, 0), 1, REDS(GSAN_GPU)), c = enter(in_stream(3, 8, 0, 0), 2, 0);
	red_at(&b, GSAN_GPU, OTHER, 1); /* its launch is known from here on */
	weak(&a, GSAN_OP_LD, PAYLOAD + 40, 4, 2);
	red_at(&b, GSAN_GPU, PAYLOAD + at, 3);
	weak(&c, GSAN_OP_LD, PAYLOAD, 16, 4);
	judge(name, race);
}

int main(void)
{
	map_arena();
	by_the_line(8, "an atomic in a sector that is read", 1);
	by_the_line(16, "an atomic behind a sector that is read", 0);
	observed(GSAN_OP_STRONG_LD + GSAN_GPU, GSAN_OP_LD, "a store, a load of it, a weak load", 0);
	observed(GSAN_OP_STRONG_LD + GSAN_GPU, GSAN_OP_ST, "a store, a load of it, a weak store", 0);
	observed(GSAN_OP_RMW + GSAN_GPU, GSAN_OP_LD, "a store, an RMW, a weak load", 0);
	observed(0, GSAN_OP_LD, "a store, a weak load", 1);
	observed(0, GSAN_OP_ST, "a store, a weak store", 1);
	observed(GSAN_OP_STRONG_LD + GSAN_CTA, GSAN_OP_ST, "a store, a load of .cta, a weak store", 1);
	observed(GSAN_OP_STRONG_ST + GSAN_GPU, GSAN_OP_LD, "a store, another one, a weak load", 1);
	message(GSAN_OP_STRONG_LD, "a relaxed flag that is polled");
	message(GSAN_OP_RMW, "a relaxed flag that an RMW reads");
	writes_before(1, 1, "a weak store, an RMW that was observed", 0);
	writes_before(0, 1, "a weak store, a strong one that was observed", 1);
	writes_before(1, 0, "a weak store, an RMW, a store of another", 1);
	writes_before(0, 0, "a weak store, a strong one, one of another", 1);
	beside_its_own("an RMW, a weak load");
	behind_a_learner(LOADS, 0, "behind who loaded the flag", 0);
	behind_a_learner(LEARNS, 0, "behind who counted, and was told", 0);
	behind_a_learner(0, 0, "behind who counted, and was not told", 1);
	behind_a_learner(LOADS, 1, "behind who was over before the flag was stored", 1);
	behind_a_learner(LOADS, 2, "behind nobody", 1);
	behind_its_second(1, "behind the second", 0);
	behind_its_second(1, "behind the first alone", 1);
	behind_its_second(0, "behind the first, the second reads nothing", 1);
	behind_its_end(0, "the stream goes on", 0);
	behind_its_end(1, "the stream goes on behind the observer", 0);
	behind_its_end(1, "the stream goes on behind another one", 1);
	for (int between = 0; between < 2; between++)
		for (int stream = 1; stream < 3; stream++) {
			behind_its_observer(GSAN_OP_STRONG_LD, between, stream, "a store, behind who loaded it", 0);
			behind_its_observer(GSAN_OP_RMW, between, stream, "a store, behind who continued it", 0);
		}
	behind_its_observer(0, 0, 1, "a store, behind who did nothing", 1);
	for (int strong = 0; strong < 2; strong++) {
		int of_another = 0;
		for (u32 seed = 0; seed < 32; seed++) {
			need(!behind_its_head(1, strong, seed), "a weak store, an RMW, behind who observed that");
			need(behind_its_head(2, strong, seed), "a weak store, a strong one, behind who observed that");
			of_another += behind_its_head(0, strong, seed);
		}
		need(of_another > 4 && of_another < 28, "another CTA's weak store, an RMW, behind who observed that");
	}
	behind_an_entry(1, "behind who loaded what was released", 0);
	behind_an_entry(0, "behind who loaded something else", 1);
	behind_unseen(0, "nothing unseen", 1);
	behind_unseen(1, "a copy at the same time", 0);
	behind_unseen(2, "a copy in the launch's own stream", 1);
	behind_unseen(3, "memory without a shadow", 0);
	behind_unseen(4, "0 at the same time as a copy", 1);
	behind_unseen(5, "a stored value at the same time as a copy", 1);
	behind_unseen(6, "one that was polled for at the same time as a copy", 1);
	started(GSAN_SYS, "the launch's start, acquired by another GPU", 0);
	started(GSAN_GPU, "not of .gpu", 1);
	lost_its_place(GSAN_SEM_ACQUIRE, "a place that another process took", 0);
	lost_its_place(GSAN_SEM_NONE, "a place that another process took, and no acquire", 1);
	of_one_slot(0, 7, "behind the older of those that share a slot", 0);
	of_one_slot(1, 8, "behind the newer of those that share a slot", 0);
	of_one_slot(0, 0, "behind none of those that share a slot", 1);
	keeps_what_it_observed(0);
	keeps_what_it_observed(6);
	printf("%s\n", failures ? "failed" : "passed");
	return failures != 0;
}
