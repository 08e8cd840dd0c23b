/* A CAS of a kernel that keeps no clock, natively: what races with it as the read that it is, what only if it writes, and what came between its
 * two records. Each in a racy form and its correct twin. */
#include "play.h"

#include "device/record.h"

#define PLACE (DATA(1) + 8192)
#define OTHER (DATA(1) + 16384)
#define FLAGS ((GSAN_REDS_LOAD | GSAN_REDS_LEARN) << GSAN_ENTER_REDS_SHIFT | REDS(GSAN_GPU))

static struct gsan_writers writers; /* nothing unseen writes */

static struct gsan_launch *in_stream(u32 stream, u32 seq)
{
	struct gsan_launch *l = launch(0, stream, seq, 5, 1);
	l->writers = (u64)(uintptr_t)&writers;
	return l;
}

static void judge(const char *name, int race)
{
	need((found() > 0) == race, name);
	reset();
}

/* Its two halves, between which it executes. */
static u32 tries(struct cta *c, u64 at, u32 site)
{
	u32 d = desc(GSAN_OP_TRY + GSAN_GPU, 4, GSAN_SEM_CAS, site) | GSAN_DESC_USED;
	be(c);
	u32 todo = gsan_relaxed(c->launch, c->self, quick(c), at, d) & ~GSAN_RED_UNSEEN;
	todo = todo ? gsan_hold(c->launch, c->self, todo, at, d) : 0;
	c->self |= GSAN_SELF_BEHIND_RED;
	if (todo)
		gsan_take(c->launch, c->self, todo, at, d);
	return todo;
}
static void ends(struct cta *c, u64 at, u32 site, u32 todo, int wrote)
{
	u32 d = desc((wrote ? GSAN_OP_RMW : GSAN_OP_STRONG_LD) + GSAN_GPU, 4, GSAN_SEM_CAS, site) | GSAN_DESC_USED;
	be(c);
	if (wrote || todo & GSAN_RED_RACING)
		gsan_tried(c->launch, c->self, todo, at, d);
	if (todo)
		gsan_reduced(c->launch, c->self, todo, at, d);
}
static void swaps(struct cta *c, u64 at, u32 site, int wrote) { ends(c, at, site, tries(c, at, site), wrote); }
static void relaxed(struct cta *c, u32 op, u64 at, u32 site)
{
	u32 d = desc(op + GSAN_GPU, 4, GSAN_SEM_NONE, site);
	be(c);
	relaxed_on(c, gsan_relaxed(c->launch, c->self, quick(c), at, d) & ~GSAN_RED_UNSEEN, at, d);
}

/* What another CTA does, in its launch or in one that nothing orders: before the CAS, between its halves, or behind it. */
enum when { BEFORE, BETWEEN, BEHIND };
static void beside(enum when when, u32 op, int wrote, int same, const char *name, int race)
{
	struct gsan_launch *l = in_stream(0, 5);
	struct cta a = enter(l, 0, FLAGS), b = enter(same ? l : in_stream(1, 6), 1, FLAGS);
	if (when == BEFORE)
		weak(&b, op, PLACE, 4, 2);
	u32 todo = tries(&a, PLACE, 1);
	if (when == BETWEEN)
		weak(&b, op, PLACE, 4, 2);
	ends(&a, PLACE, 1, todo, wrote);
	if (when == BEHIND)
		weak(&b, op, PLACE, 4, 2);
	u32 kind = wrote && when != BETWEEN ? GSAN_ATOMIC_PLAIN : when == BEFORE ? GSAN_RAW : GSAN_WAR;
	need(!found() || (found() == 1 && finding(0)->kind == kind), "a CAS that fails is a read");
	judge(name, race);
}

static void observed(u32 first, int early, u32 op, const char *name, int race)
{
	/* what was observed is before what follows, be it seen before its record says that it wrote */
	struct gsan_launch *l = in_stream(0, 5);
	struct cta a = enter(l, 0, FLAGS), b = enter(l, 1, FLAGS);
	u32 todo = tries(&a, PLACE, 1);
	if (!early)
		ends(&a, PLACE, 1, todo, 1);
	if (first == GSAN_OP_TRY)
		swaps(&b, PLACE, 2, 0);
	else if (first)
		relaxed(&b, GSAN_OP_STRONG_LD, PLACE, 2);
	weak(&b, op, PLACE, 4, 3);
	if (early)
		ends(&a, PLACE, 1, todo, 1);
	judge(name, race);
}

static void polled_before(int wrote, const char *name, int race)
{
	/* a strong read long before does not make a weak one, which comes before the CAS, one that is behind it */
	struct gsan_launch *l = in_stream(0, 5);
	struct cta a = enter(l, 0, FLAGS), b = enter(l, 1, FLAGS);
	relaxed(&b, GSAN_OP_STRONG_LD, PLACE, 2);
	weak(&b, GSAN_OP_LD, PLACE, 4, 3);
	swaps(&a, PLACE, 1, wrote);
	judge(name, race);
}

static void evicted(u32 seed)
{
	/* a CTA's weak loads may take the place of its own record, where another one is over: it observed what it did all the same */
	struct gsan_launch *before = in_stream(0, 5), *l = launch(0, 0, 6, 6, 1);
	l->writers = before->writers;
	before->seed = l->seed = seed;
	struct cta x = enter(before, 0, FLAGS), y = enter(before, 1, FLAGS), a = enter(l, 0, FLAGS), b = enter(l, 1, FLAGS);
	swaps(&x, PLACE, 1, 1);
	swaps(&y, PLACE, 1, 1);
	relaxed(&a, GSAN_OP_STRONG_ST, PLACE, 2);
	swaps(&b, PLACE, 3, 1);
	weak(&b, GSAN_OP_LD, PLACE, 4, 4);
	weak(&b, GSAN_OP_LD, PLACE, 4, 5);
	judge("two that are over, a store, a CAS, weak loads", 0);
}

static void all_that_race(int wrote, u32 op, u64 races)
{
	/* of several each is said; and that the CAS has been made by then does not make it one that observed them before */
	struct gsan_launch *l = in_stream(0, 5);
	struct cta a = enter(l, 0, FLAGS), b = enter(l, 1, FLAGS), c = enter(l, 2, FLAGS);
	weak(&b, op, PLACE, 2, 2);
	weak(&c, op, PLACE + 2, 2, 3);
	if (op == GSAN_OP_ST)
		swaps(&b, PLACE, 4, 1); /* it is b's that a observes; itself it races with c's */
	u64 had = found();
	swaps(&a, PLACE, 1, wrote);
	need(found() - had == races, "all that race with a CAS");
	reset();
}

static void of_two_sizes(int wrote)
{
	/* two that do not know of each other yet what they will do: whichever wrote */
	struct gsan_launch *l = in_stream(0, 5);
	struct cta a = enter(l, 0, FLAGS), b = enter(l, 1, FLAGS);
	u32 d = desc(GSAN_OP_TRY + GSAN_GPU, 8, GSAN_SEM_CAS, 1) | GSAN_DESC_USED;
	be(&a);
	u32 todo = gsan_hold(a.launch, a.self, GSAN_RED_GENERAL, PLACE, d), other = tries(&b, PLACE, 2);
	if (wrote) {
		be(&a);
		gsan_tried(a.launch, a.self, todo, PLACE, desc(GSAN_OP_RMW + GSAN_GPU, 8, GSAN_SEM_CAS, 1) | GSAN_DESC_USED);
	}
	ends(&b, PLACE, 2, other, 0);
	judge("a CAS of 8 bytes, and one of 4 that fails", wrote);
}

static void records(void)
{
	/* one record, which says in the end that it wrote, whatever the same CTA tries there behind it, and at which instruction */
	struct cta a = enter(in_stream(0, 5), 0, FLAGS);
	const struct gsan_line *line = (const struct gsan_line *)(uintptr_t)gsan_shadow(PLACE);
	swaps(&a, PLACE, 1, 0);
	const struct gsan_granule *g = &dev_tables(gsan_owner(PLACE))->detail[line->detail - 1].granule[PLACE % GSAN_LINE / GSAN_GRANULE];
	need(rec_op(g->read[0]) == GSAN_OP_TRY + GSAN_GPU && !g->read[1], "tried");
	swaps(&a, PLACE, 1, 1);
	need(rec_op(g->read[0]) == GSAN_OP_RMW + GSAN_GPU && !g->read[1], "wrote");
	u64 was = g->read[0];
	swaps(&a, PLACE, 1, 0);
	swaps(&a, PLACE, 2, 1);
	swaps(&a, PLACE, 2, 0);
	gsan_hold(a.launch, a.self, GSAN_RED_GENERAL, PLACE, desc(GSAN_OP_TRY + GSAN_GPU, 4, GSAN_SEM_CAS, 3));
	need(g->read[0] == was && !g->read[1], "wrote before");
	need(sample_hash(was, PLACE, 3) == sample_hash(was | (u64)(GSAN_OP_TRY ^ GSAN_OP_RMW) << GSAN_REC_OP_SHIFT, PLACE, 3), "one hash");
	reset();
}

static void at_an_entry(int wrote, const char *name, int race)
{
	/* where another kernel has released, a CAS that wrote continues the location's versions, one that failed does not */
	struct gsan_launch *l = in_stream(0, 5), *m = in_stream(1, 6);
	struct cta r = enter(l, 0, 1), a = enter(m, 1, FLAGS), b = enter(in_stream(2, 7), 2, 1);
	weak(&r, GSAN_OP_ST, OTHER, 4, 1);
	flag_store(&r, PLACE, GSAN_SEM_RELEASE, GSAN_GPU, 1, 2);
	swaps(&a, PLACE, 3, wrote);
	flag_load(&b, PLACE, GSAN_SEM_ACQUIRE, GSAN_GPU, 5, 4);
	weak(&b, GSAN_OP_LD, PLACE, 4, 5); /* the CAS that it read is before, if it wrote */
	weak(&b, GSAN_OP_LD, OTHER, 4, 6); /* of a release sequence, or of what nobody knows */
	judge(name, race);
}

int main(void)
{
	map_arena();
	for (int same = 0; same < 2; same++)
		for (int when = BEFORE; when <= BEHIND; when++) {
			beside((enum when)when, GSAN_OP_ST, 0, same, "a weak store and a CAS that fails", 1);
			beside((enum when)when, GSAN_OP_ST, 1, same, "a weak store and a CAS", 1);
			beside((enum when)when, GSAN_OP_LD, 0, same, "a weak load and a CAS that fails", 0);
			/* who reads between the halves may be behind it, and is not asked */
			beside((enum when)when, GSAN_OP_LD, 1, same, "a weak load and a CAS", when != BETWEEN);
		}
	for (int early = 0; early < 2; early++) {
		observed(GSAN_OP_STRONG_LD, early, GSAN_OP_LD, "a CAS, a load of it, a weak load", 0);
		observed(GSAN_OP_STRONG_LD, early, GSAN_OP_ST, "a CAS, a load of it, a weak store", 0);
		observed(GSAN_OP_TRY, early, GSAN_OP_LD, "a CAS, another one, a weak load", 0);
		observed(GSAN_OP_TRY, early, GSAN_OP_ST, "a CAS, another one, a weak store", 0);
		observed(0, early, GSAN_OP_LD, "a CAS, a weak load", !early);
		observed(0, early, GSAN_OP_ST, "a CAS, a weak store", 1);
	}
	polled_before(1, "a poll, a weak load, then a CAS", 1);
	polled_before(0, "a poll, a weak load, then a CAS that fails", 0);
	for (u32 seed = 0; seed < 64; seed++)
		evicted(seed);
	all_that_race(1, GSAN_OP_LD, 2);
	all_that_race(0, GSAN_OP_LD, 0);
	all_that_race(1, GSAN_OP_ST, 2);
	all_that_race(0, GSAN_OP_ST, 2);
	of_two_sizes(1);
	of_two_sizes(0);
	records();
	at_an_entry(1, "behind a CAS that continued a release", 0);
	at_an_entry(0, "behind a release, and a CAS that failed", 0);
	printf("%s\n", failures ? "failed" : "passed");
	return failures != 0;
}
