/* The memory model's finer rules, natively: time that runs out, release and acquire patterns, fences, CAS, versions that
 * were overwritten, RMWs without an entry, the end of a kernel, sampling. Each in a racy form and its correct twin. */
#include "play.h"

#include "device/entry.h"

#define PAYLOAD (DATA(1) + 4096)
#define FLAG (DATA(1) + 8192)
#define OTHER (DATA(1) + 16384)

static u64 counted(enum gsan_counter c)
{
	return dev_tables(0)->head.counter[c] + dev_tables(1)->head.counter[c];
}

/* Some races, or none; how many pairs does not matter. */
static void judge(const char *name, int race)
{
	if ((found() > 0) != race) {
		printf("FAIL %s: %s\n", name, race ? "no race was found" : "a false race");
		failures++;
	}
	reset();
}

static struct cta ranks_cta(u32 rank, u32 seq) { return enter(launch(rank, 0, seq, seq, 1), rank, 1); }

static void unused(const struct cta *c, u64 at, u32 sem, u32 scope, u64 old, u32 site)
{
	u32 d = desc(GSAN_OP_RMW + scope, 4, sem, site) | GSAN_DESC_VALUE;
	be(c);
	gsan_before(c->launch, c->self, 1, at, d & ~GSAN_DESC_VALUE, 0);
	gsan_after(c->launch, c->self, 1, at, d, old, 0);
}

static u32 whole = 1; /* warps make a CAS; 0: one lane of them */
static void cas_begin(const struct cta *c, u64 at, u32 sem, u32 site)
{
	be(c);
	gsan_before(c->launch, c->self, whole, at, desc(GSAN_OP_RMW + GSAN_SYS, 4, sem | GSAN_SEM_CAS, site) | GSAN_DESC_USED, 0);
}
static void cas_end(const struct cta *c, u64 at, u32 sem, u64 read, int wrote, u32 site)
{
	u32 op = wrote ? GSAN_OP_RMW : GSAN_OP_STRONG_LD;
	be(c);
	gsan_after(c->launch, c->self, whole, at,
		   desc(op + GSAN_SYS, 4, sem | GSAN_SEM_CAS, site) | GSAN_DESC_USED | GSAN_DESC_VALUE, read, 0);
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

static void many_releases(u32 releases, u32 first_epoch, int late, const char *name)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	l->first_epoch = first_epoch;
	struct cta a = enter(l, 0, 1), b = ranks_cta(1, 9);
	for (u32 i = 1; i <= releases; i++) {
		weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
		flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, i, 2);
		if (i % 997 == 0 || i == 2) {
			flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, i, 7);
			weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
			flag_store(&b, OTHER, GSAN_SEM_RELEASE, GSAN_SYS, i, 9);
			flag_load(&a, OTHER, GSAN_SEM_ACQUIRE, GSAN_SYS, i, 3);
		}
	}
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, releases, 7);
	need(!counted(GSAN_N_EPOCH_FULL), name);
	need(!found(), "no false race while time passes");
	if (late)
		weak(&a, GSAN_OP_ST, PAYLOAD, 4, 4);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, late);
}

/* No private tag is free: counted, silent, nothing worse. */
static void no_tag_left(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	l->first_epoch = 509;
	for (u32 i = 0; i < DEV_LAUNCHES; i++)
		if (gsan_tag_private(i, TAG_BITS))
			dev_tables(0)->launch[i].claim = 1;
	struct cta a = enter(l, 0, 1), b = ranks_cta(1, 9);
	for (u32 i = 1; i <= 20; i++) {
		weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
		flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, i, 2);
		flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, i, 7);
		weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
		flag_store(&b, OTHER, GSAN_SEM_RELEASE, GSAN_SYS, i, 9);
		flag_load(&a, OTHER, GSAN_SEM_ACQUIRE, GSAN_SYS, i, 3);
	}
	need(counted(GSAN_N_EPOCH_FULL) > 0, "the lack of private tags is counted");
	judge("no private tag left", 0);
	struct gsan_launch *later = launch(0, 0, 6, 6, 1); /* a sweep has passed since launch 1 */
	later->swept = 2;
	later->first_epoch = 511;
	for (u32 i = 0; i < DEV_LAUNCHES; i++)
		dev_tables(0)->launch[i].claim = gsan_tag_private(i, TAG_BITS);
	struct cta c = enter(later, 0, 1);
	weak(&c, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&c, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	need(!counted(GSAN_N_EPOCH_FULL), "tags whose records were swept are drawn again");
	reset();
}

/* Tags come round: the same sites under the same tags are another pair. */
static void same_tags_again(void)
{
	for (u32 round = 0; round < 2; round++) {
		u32 seq = 5 + (round << TAG_BITS);
		struct cta a = enter(launch(0, 0, seq, seq, 1), 0, 0), b = enter(launch(0, 1, seq + 1, seq, 1), 1, 0);
		weak(&a, GSAN_OP_ST, DATA(0) + round * 128, 4, 1);
		weak(&b, GSAN_OP_LD, DATA(0) + round * 128, 4, 2);
	}
	expect("the same sites a tag space later", 2, GSAN_RAW, GSAN_WHY_NONE);
}

/* ---- patterns --------------------------------------------------------------------------------------------------- */

static void release_then_relaxed(int late, const char *name)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	if (!late)
		weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	if (late)
		weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 2, 3);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 2, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, late);
}

static void relaxed_then_acquire(u64 again, const char *name, int race)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9), c = enter(launch(0, 1, 6, 5, 1), 2, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 6);
	flag_store(&c, FLAG, GSAN_SEM_NONE, GSAN_SYS, 2, 3);
	flag_store(&c, OTHER, GSAN_SEM_NONE, GSAN_SYS, 2, 3);
	flag_load(&b, again, GSAN_SEM_ACQUIRE, GSAN_SYS, 2, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void fence_snapshot(int fence_after, const char *name, int race)
{
	/* C releases to A, A passes on with a fence that is before or after its acquire */
	struct cta c = ranks_cta(0, 4), a = enter(launch(0, 1, 5, 4, 1), 1, 1), b = ranks_cta(1, 9);
	weak(&c, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&c, OTHER, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	if (!fence_after)
		fence(&a, GSAN_SEM_ACQ_REL, GSAN_SYS);
	flag_load(&a, OTHER, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 3);
	if (fence_after)
		fence(&a, GSAN_SEM_ACQ_REL, GSAN_SYS);
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 4);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void fence_raised(void)
{
	/* what A acquires from C grows after A's fence: the fence keeps what it had */
	struct cta c = ranks_cta(0, 4), a = enter(launch(0, 1, 5, 4, 1), 1, 1), b = ranks_cta(1, 9);
	flag_store(&c, OTHER, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	flag_load(&a, OTHER, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 3);
	fence(&a, GSAN_SEM_ACQ_REL, GSAN_SYS);
	weak(&c, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&c, OTHER, GSAN_SEM_RELEASE, GSAN_SYS, 2, 2);
	flag_load(&a, OTHER, GSAN_SEM_ACQUIRE, GSAN_SYS, 2, 3);
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 4);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge("acquired again behind the fence", 1);
}

static void fence_scopes(u32 release, u32 acquire, const char *name, int race)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	fence(&a, GSAN_SEM_ACQ_REL, release);
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 7);
	fence(&b, GSAN_SEM_ACQ_REL, acquire);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void atom_unused(int read_before, u64 where, const char *name, int race)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	if (read_before)
		flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 6);
	unused(&b, where, GSAN_SEM_ACQ_REL, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

/* ---- CAS --------------------------------------------------------------------------------------------------------- */

static void cas_publishes(int wrote, const char *name)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	cas_begin(&a, FLAG, GSAN_SEM_ACQ_REL, 2);
	cas_end(&a, FLAG, GSAN_SEM_ACQ_REL, 0, wrote, 2);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, (u64)wrote, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, !wrote);
}

static u64 spin_in(const struct cta *c, u32 turn, u64 expected, u32 site)
{
	be(c);
	return gsan_spin(c->launch, c->self, turn, FLAG, desc(GSAN_OP_STRONG_LD + GSAN_SYS, 4, GSAN_SEM_ACQUIRE | GSAN_SEM_CAS, site) | GSAN_DESC_USED |
			 GSAN_DESC_VALUE, expected);
}
static u64 spin(const struct cta *c, u64 expected, u32 site) { return spin_in(c, 0, expected, site); }
static void cas_fails(const struct cta *c, u64 read)
{
	cas_begin(c, FLAG, GSAN_SEM_ACQUIRE, 7);
	cas_end(c, FLAG, GSAN_SEM_ACQUIRE, read, 0, 7);
}

/* A CAS that would fail is made nevertheless, unless it is what its warp has made last and nothing has changed since: neither the location's
 * version nor its value, nor the epoch of its own, in which that one's record stands. */
static void spins(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1);
	u32 *flag = (u32 *)(uintptr_t)FLAG;
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	*flag = 1;
	need(spin(&b, 0, 7) == 0, "a first look is made");
	cas_fails(&b, 1);
	need(spin(&b, 0, 7) == 1 && spin_in(&b, 1, 0, 7) == 1 && spin_in(&b, 2, 0, 7) == 1, "the same again is read, in any turn");
	need(spin(&b, 0, 8) == 0 && spin(&c, 0, 7) == 0, "that of another site, or CTA, is made");
	*flag = 3;
	need(spin(&b, 0, 7) == 0, "another value");
	*flag = 1;
	need(spin(&b, 1, 7) == 1 && spin(&b, 0, 7) == 1, "one that would not fail");
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 3);
	need(spin(&b, 0, 7) == 0, "a newer version of the same value");
	cas_fails(&b, 1);
	need(spin(&b, 0, 7) == 1, "which is known then");
	weak(&b, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&b, OTHER, GSAN_SEM_RELEASE, GSAN_SYS, 1, 4);
	need(spin(&b, 0, 7) == 0, "behind a release of its own");
	cas_fails(&c, 1);
	leave(&c);
	c = enter(l, 2, 1);
	need(spin(&c, 0, 7) == 0, "that of a CTA in the place of another one");
	*flag = 0;
	reset();
}

/* Does a load end early, for it finds what its CTA has found there before? Then it leaves no record. */
static int polls_early(const struct cta *c, u64 value, u32 site)
{
	struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(FLAG & ~(u64)(GSAN_LINE - 1));
	line->read[0] = line->read[1] = line->write = 0;
	line->detail = 0;
	flag_load(c, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, value, site);
	return !line->read[0] && !line->read[1] && !line->write && !line->detail;
}
static void polls(const struct cta *c)
{
	for (u32 i = 0; i < 3; i++)
		flag_load(c, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
}

/* A load that reads what its CTA's last two looks have read, by its warp, at one site in one epoch, is over at once, unless something is new. */
static void reads_again(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	polls(&b);
	need(polls_early(&b, 1, 7) && polls_early(&b, 1, 7), "the same again");
	flag_load(&b, OTHER, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 7);
	need(!polls_early(&b, 1, 7), "another look of the CTA's came between");
	polls(&b);
	need(!polls_early(&b, 1, 8) && !polls_early(&b, 2, 7) && !polls_early(&c, 1, 7), "of another site, value or CTA");
	polls(&b);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 3);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 4);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 5);
	judge("a newer version of the same value is acquired", 0);
	for (int late = 0; late < 2; late++) {
		l = launch(0, 0, 5, 5, 1);
		a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1);
		flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
		polls(&b);
		flag_store(&b, OTHER, GSAN_SEM_RELEASE, GSAN_SYS, 1, 4);
		if (late)
			flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
		flag_load(&c, OTHER, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 8);
		weak(&c, GSAN_OP_ST, FLAG, 4, 9);
		judge(late ? "what was read behind a release races" : "what was read before it does not", late);
	}
}

/* A CAS is no load, though one that failed comes as such: it holds its entry. */
static void fails_again(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	for (u32 i = 0; i < 3; i++) {
		cas_fails(&b, 1);
		need(lock_is_free(&sync_find(FLAG, 4, 0, 0)->lock), "it is given back");
	}
	reset();
}

/* Whose turn it is holds the entry from then on, if it is free; who stands in its queue comes first. */
static void spin_holds(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 0, 2);
	const struct dev_sync *e = sync_find(FLAG, 4, 0, 0);
	whole = 0;
	need(spin(&b, 0, 7) == 0 && lock_is_free(&e->lock), "the turn of another lane takes nothing");
	need(spin_in(&b, 2, 0, 7) == 0 && lock_is_free(&e->lock), "nor does a whole warp");
	need(spin_in(&b, 1, 0, 7) == 0 && lock_queue(&e->lock) == 1, "one's own turn takes it");
	cas_fails(&b, 1);
	need(lock_is_free(&e->lock), "which goes behind the operation");
	cas_begin(&a, FLAG, GSAN_SEM_ACQUIRE, 3);
	need(spin_in(&b, 1, 0, 7) == 0 && lock_queue(&e->lock) == 1, "what another one has is not waited for in the queue");
	cas_end(&a, FLAG, GSAN_SEM_ACQUIRE, 0, 1, 3);
	need(lock_is_free(&e->lock), "nor taken twice");
	whole = 1;
	reset();
}

/* An RMW that acquires and releases hands on what it read at its own scope, which reaches further. */
static void rmw_hands_on(u32 sem, const char *name, int race)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_GPU, 1, 2);
	rmw(&b, FLAG, sem, GSAN_SYS, 1, 3);
	flag_load(&c, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 2, 7);
	weak(&c, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void cas_unused(u32 used, const char *name, int race)
{
	/* a CAS that failed acquires by its result alone */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	u32 d = desc(GSAN_OP_RMW + GSAN_SYS, 4, GSAN_SEM_ACQUIRE | GSAN_SEM_CAS, 7) | used;
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	be(&b);
	gsan_before(b.launch, b.self, 1, FLAG, d, 0);
	gsan_after(b.launch, b.self, 1, FLAG, desc(GSAN_OP_STRONG_LD + GSAN_SYS, 4, GSAN_SEM_ACQUIRE | GSAN_SEM_CAS, 7) | used | GSAN_DESC_VALUE, 1, 0);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void peer_scopes(int between, const char *name, int race)
{
	/* an atomic of .sys of another GPU, one of this GPU behind it, and one of .gpu that reaches only the latter */
	struct cta a = ranks_cta(0, 5), b = enter(launch(1, 0, 9, 9, 6), 1, 1), c = enter(launch(1, 1, 10, 9, 1), 2, 1);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 0, 1);
	if (between)
		rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	unused(&c, FLAG, GSAN_SEM_NONE, GSAN_GPU, 2, 3);
	judge(name, race);
}

static void cas_seen_early(void)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	u32 looked = flag_look(&b, FLAG);
	cas_begin(&a, FLAG, GSAN_SEM_ACQ_REL, 2);
	cas_end(&a, FLAG, GSAN_SEM_ACQ_REL, 0, 1, 2);
	flag_loaded(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7, looked);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge("a CAS that wrote after the reader looked", 0);
}

static void cas_reads(int wrote, const char *name)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	cas_begin(&a, FLAG, GSAN_SEM_NONE, 2);
	cas_end(&a, FLAG, GSAN_SEM_NONE, 0, wrote, 2);
	weak(&b, GSAN_OP_LD, FLAG, 4, 8);
	judge(name, wrote);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static void overwritten(u64 value, const char *name, int race)
{
	/* five CTAs release, one after the other; the reader has read the value of one, and looks late */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta b = ranks_cta(1, 9);
	for (u32 i = 1; i <= 5; i++) {
		struct cta c = enter(l, i, 1);
		if (i == 1)
			weak(&c, GSAN_OP_ST, PAYLOAD, 4, 1);
		flag_store(&c, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, i, 2);
	}
	flag_loaded(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, value, 7, 0);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void late_drop(void)
{
	/* an RMW too narrow to continue the sequence must not take it from those who read what was before it */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	u32 looked = flag_look(&c, FLAG);
	rmw(&b, FLAG, GSAN_SEM_ACQ_REL, GSAN_CTA, 1, 3);
	flag_loaded(&c, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7, looked);
	weak(&c, GSAN_OP_LD, PAYLOAD, 4, 8);
	expect("a sequence that is broken later: only the scope of the RMW", 2, GSAN_SCOPE, GSAN_WHY_RELEASE_SCOPE);
}

/* Races on the payload alone: the flag's own accesses may be of scopes that do not reach each other. */
static void judge_payload(const char *name, int race)
{
	int is = 0;
	EACH_FINDING(f)
		is |= (f->address & ~7ull) == PAYLOAD;
	need(is == race, name);
	reset();
}

/* Does a weak store of the flag race with anything? */
static void judge_store(const struct cta *c, const char *name, int race)
{
	u64 before = found();
	weak(c, GSAN_OP_ST, FLAG, 4, 8);
	need((found() > before) == race, name);
	reset();
}

static void links(u32 scope, int further, const char *name, int race)
{
	/* a release, an RMW of the other GPU, one of this GPU at `scope`; who reads that, too, further on */
	struct gsan_launch *l = launch(1, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = ranks_cta(0, 9), c = enter(l, 1, 1), d = enter(l, 2, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 3);
	rmw(&c, FLAG, GSAN_SEM_ACQ_REL, scope, 2, 4);
	if (further)
		flag_load(&d, FLAG, GSAN_SEM_ACQUIRE, GSAN_GPU, 3, 5);
	weak(further ? &d : &c, GSAN_OP_LD, PAYLOAD, 4, 6);
	judge_payload(name, race);
}

static void narrow_release(u32 scope, const char *name, int race)
{
	/* release and acquire reach each other; what lies between must, link by link */
	struct gsan_launch *l = launch(1, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = ranks_cta(0, 9), d = enter(l, 2, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_GPU, 1, 2);
	rmw(&b, FLAG, GSAN_SEM_NONE, scope, 1, 3);
	rmw(&c, FLAG, GSAN_SEM_NONE, GSAN_SYS, 2, 4);
	flag_load(&d, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 3, 5);
	weak(&d, GSAN_OP_LD, PAYLOAD, 4, 6);
	judge_payload(name, race);
}

static void observed_too_late(void)
{
	/* over a link on its GPU a load observes what its scope does not reach: before what follows the load, not before itself */
	struct gsan_launch *l = launch(1, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = ranks_cta(0, 9), c = enter(l, 1, 1);
	rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 0, 1);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&c, FLAG, GSAN_SEM_NONE, GSAN_GPU, 2, 3);
	need(found() == 1, "what a load observes is not before the load");
	flag_load(&c, FLAG, GSAN_SEM_NONE, GSAN_GPU, 2, 4);
	need(found() == 1, "what a load observed is before the next");
	reset();
}

static void links_looked_before(void)
{
	/* the same of a load that looked before them, and so does not know which it read */
	struct gsan_launch *l = launch(1, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = ranks_cta(0, 9);
	u32 looked = flag_look(&c, FLAG);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_loaded(&c, FLAG, GSAN_SEM_NONE, GSAN_SYS, 2, 3, looked);
	need(found() == 1, "what may have been observed is not before the load");
	flag_load(&c, FLAG, GSAN_SEM_NONE, GSAN_SYS, 2, 4);
	need(found() == 1, "what may have been observed, link by link, is before the next");
	reset();
}

static void second_warp_first(void)
{
	/* the first warp of its CTA has not come yet */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1), *m = launch(1, 0, 5, 5, 1);
	struct cta a = {(u64)(uintptr_t)l, 0, 0}, b = enter(m, 0, 0);
	be(&a);
	gpu_host.ntid[0] = 64;
	gpu_host.tid[0] = 32;
	a.self = gsan_enter(a.launch, 0);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	weak(&b, GSAN_OP_ST, PAYLOAD, 4, 2);
	judge_payload("what a second warp did before the first one came", 1);
}

/* What runs with nobody's record, beside what is checked, whichever comes first; and two of its own. */
static void nobody(int first)
{
	struct gsan_launch *l = launch(1, 0, 5, 5, 1), *m = launch(0, 0, 5, 5, 1);
	m->seq = 0;
	m->tag &= (uint16_t)~((1u << m->tag_bits) - 1);
	struct cta a = enter(first ? m : l, 0, 1), b = enter(first ? l : m, 1, 1), c = enter(m, 2, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	weak(&b, GSAN_OP_ST, PAYLOAD, 4, 2);
	weak(&c, GSAN_OP_ST, PAYLOAD, 4, 3);
	flag_store(&c, FLAG, GSAN_SEM_RELEASE, GSAN_GPU, 1, 4);
	flag_load(&a, FLAG, GSAN_SEM_ACQUIRE, GSAN_GPU, 1, 5);
	judge_payload("beside nobody's", 0);
}

static void wide_fence_behind(u32 scope, const char *name, int race)
{
	/* the read's own scope does not reach the release; the fence behind it may */
	struct gsan_launch *l = launch(1, 0, 5, 5, 1);
	struct cta a = ranks_cta(0, 9), b = enter(l, 0, 1), c = enter(l, 1, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 3);
	flag_load(&c, FLAG, GSAN_SEM_NONE, GSAN_GPU, 2, 4);
	fence(&c, GSAN_SEM_ACQ_REL, scope);
	weak(&c, GSAN_OP_LD, PAYLOAD, 4, 5);
	judge_payload(name, race);
}

static void wide_fence_before(u32 scope, const char *name, int race)
{
	/* the write's own scope does not reach the reader; the fence before it may, and a link on its GPU */
	struct gsan_launch *l = launch(1, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = ranks_cta(0, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	fence(&a, GSAN_SEM_ACQ_REL, scope);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 2);
	rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 3);
	flag_load(&c, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 2, 4);
	weak(&c, GSAN_OP_LD, PAYLOAD, 4, 5);
	judge_payload(name, race);
}

static void same_value(int between, const char *name, int race)
{
	/* two stores of one value; the reader looked before or behind the second, which releases nothing */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = ranks_cta(1, 9);
	u32 looked = 0;
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	if (between)
		looked = flag_look(&c, FLAG);
	flag_store(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 3);
	if (!between)
		looked = flag_look(&c, FLAG);
	flag_loaded(&c, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7, looked);
	weak(&c, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void histograms_before(void)
{
	/* relaxed atomics without an entry, in many launches: flags keep their meaning */
	struct cta a = ranks_cta(0, 205), b = ranks_cta(1, 9);
	for (u32 i = 1; i <= 200; i++) {
		struct cta h = enter(launch(0, 0, i, i, 1), 0, 0), g = enter(launch(1, 0, 300 + i, 1, 201), 0, 1);
		rmw(&h, OTHER, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
		leave(&h);
		(void)g;
	}
	u64 before = found();
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 7);
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	need(found() > before, "a relaxed flag after histograms is found");
	reset();
}

static void histogram_start(u32 state, u32 acquire, u64 value, const char *name, int race)
{
	/* launch 6 adds to a counter, relaxed: its kernel's start publishes what launch 5 of its stream did. Without a state it makes
	 * no entry */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	struct cta c = enter(launch(0, 0, 6, 6, 1), 0, state), b = enter(launch(0, 1, 7, 5, 1), 1, 1);
	rmw(&c, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 2);
	flag_load(&b, FLAG, acquire, GSAN_GPU, value, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

/* ---- the end of a kernel ------------------------------------------------------------------------------------------- */

static void end_is_fence(u32 stream, u32 own, int nc, const char *name, int race)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 7);
	leave(&b);
	struct cta later = enter(launch(1, stream, 10, own, 1), 1, 0);
	weak(&later, nc ? GSAN_OP_LD_NC : GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

static void end_after_unseen(u32 own, const char *name, int race)
{
	/* b was told by something unseen; what follows b in its stream is ordered as well */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0), b = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 7);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	leave(&b);
	struct cta later = enter(launch(1, own == 10 ? 0 : 1, 10, own, 1), 1, 0);
	weak(&later, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge(name, race);
}

/* ---- many CTAs ----------------------------------------------------------------------------------------------------- */

/* A counter barrier of a whole grid: everybody reads afterwards what everybody wrote before it, or one reads too early. */
static void grid_barrier(u32 ctas, int early, const char *name)
{
	static struct cta c[1024];
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	for (u32 i = 0; i < ctas; i++) {
		c[i] = enter(l, i, 1);
		weak(&c[i], GSAN_OP_ST, DATA(0) + 65536 + i * 8, 8, 1);
		if (early && i == ctas / 2)
			weak(&c[i], GSAN_OP_LD, DATA(0) + 65536 + i * 4 / 8 * 8, 8, 5);
		rmw(&c[i], FLAG, GSAN_SEM_ACQ_REL, GSAN_GPU, i, 2);
	}
	for (u32 i = 0; i < ctas; i++) {
		flag_load(&c[i], FLAG, GSAN_SEM_ACQUIRE, GSAN_GPU, ctas, 3);
		for (u32 k = 0; k < ctas; k += 1 + ctas / 8)
			weak(&c[i], GSAN_OP_LD, DATA(0) + 65536 + k * 8, 8, 4);
	}
	if (ctas > DEV_VERSION)
		need(counted(GSAN_N_CLOCK_FULL) > 0, "clocks that were collapsed are counted");
	judge(name, early);
}

/* ---- sampling ------------------------------------------------------------------------------------------------------ */

/* Of 32 readers of one line two stay, each equally likely: chi-square over seeds, 31 degrees of freedom; a writer finds
 * each with the probability 2/32, and over the seeds finds all. */
#define READERS 32u
#define SEEDS 4000u
enum { GRANULE, SECTOR, LINE };
static void touch(const struct cta *c, u32 op, int how, u32 site)
{
	if (how != LINE) {
		weak(c, op, DATA(0), how == SECTOR ? 16 : 4, site);
		return;
	}
	be(c);
	gsan_lines(c->launch, c->self, quick(c), 1, DATA(0) | GSAN_LINES_WHOLE,
		   desc(op, 4, 0, site));
}
static void reservoir(int how, const char *name)
{
	u32 seen[READERS] = {0};
	double chi = 0, expected = 2.0 * SEEDS / READERS;
	for (u32 seed = 1; seed <= SEEDS; seed++) {
		struct gsan_launch *l = launch(0, 0, 5, 5, 1);
		l->seed = seed * 2654435761u;
		struct gsan_line *line = (struct gsan_line *)(uintptr_t)gsan_shadow(DATA(0));
		for (u32 i = 0; i < READERS; i++) {
			struct cta c = enter(l, i * 7 % READERS, 0); /* in the same order with every seed */
			touch(&c, GSAN_OP_LD, how, 1 + c.index);
		}
		struct cta w = enter(l, 100, 0);
		u64 at = dev_tables(0)->ring_head;
		touch(&w, GSAN_OP_ST, how, 200);
		for (u64 i = at; i < dev_tables(0)->ring_head; i++)
			seen[ring[0].slot[i % GSAN_RING_SLOTS].first.site - 1]++;
		if (line->detail)
			memset(&dev_tables(0)->detail[line->detail - 1], 0, sizeof(struct gsan_detail));
		memset(line, 0, sizeof *line);
		memset(dev_tables(0)->seen, 0, sizeof dev_tables(0)->seen);
		ring[0].tail = dev_tables(0)->ring_head;
		launch_count = 0;
	}
	u32 total = 0, all = 1;
	for (u32 i = 0; i < READERS; i++) {
		chi += (seen[i] - expected) * (seen[i] - expected) / expected;
		total += seen[i];
		all &= seen[i] > 0;
	}
	if (total != 2 * SEEDS || !all || chi > 61.1) { /* p = 0.001 */
		printf("FAIL %s: %u kept of %u, chi-square %.1f of 31 degrees\n", name, total, 2 * SEEDS, chi);
		failures++;
	}
	reset();
}

/* A strong write that a CTA read strongly is before what it, or a launch behind it, does to the location next (PTX ISA,
 * causality order by observation): a flag may be reset weakly, a counter by its last arriver. */
static void reset_flag(u32 scope, int reads, int later, const char *name, int race)
{
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 1);
	if (reads)
		flag_load(&b, FLAG, GSAN_SEM_NONE, scope, 1, 7);
	if (later)
		leave(&b);
	struct cta c = later ? enter(launch(1, 0, 10, 10, 1), 2, 1) : b;
	weak(&c, GSAN_OP_ST, FLAG, 4, 8);
	judge(name, race);
}

static void stored_before(u32 scope, const char *name, int race)
{
	/* who reads the second of two stores has not observed the first */
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	flag_store(&a, FLAG, GSAN_SEM_NONE, scope, 1, 1);
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 2, 2);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 2, 7);
	judge_store(&b, name, race);
}

static void last_arriver(int how, const char *name, int race)
{
	/* an RMW is behind what it continues, whether anybody reads its result or not */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	if (how == 1)
		rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 2);
	if (how == 2)
		unused(&b, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 2);
	weak(&b, GSAN_OP_ST, FLAG, 4, 8);
	judge(name, race);
}

/* What an RMW continues of its own CTA's weak store is observed with it: what follows does not race with that store. */
static void own_store(int who, u32 state, const char *name, int race)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, state ? 1 : REDS(GSAN_SYS)), b = ranks_cta(1, 9), c = enter(l, 1, 1);
	if (who < 2)
		weak(who ? &c : &a, GSAN_OP_ST, FLAG, 4, 1);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 0, 2);
	if (who == 2)
		weak(&a, GSAN_OP_ST, FLAG, 4, 3);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 7);
	judge_store(&b, name, race);
}

static void own_store_before_histogram(u32 adding, const char *name, int race)
{
	/* without an entry: known of the launches that made such RMWs, `adding` of the first two */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0), b = enter(launch(0, 1, 6, 5, 1), 1, 0), c = enter(launch(0, 2, 7, 5, 1), 2, 1);
	weak(&a, GSAN_OP_ST, FLAG, 4, 1);
	if (adding > 1)
		rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 2);
	rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 3);
	flag_load(&c, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 7);
	judge_store(&c, name, race);
}

static void observed_by_launch(u32 state, u32 stream, const char *name, int race)
{
	/* an atomic of launch 5 is continued by one of launch 6, which keeps no clock: the launch behind that may write weakly */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, state), b = enter(launch(0, 1, 6, 5, 1), 1, 0);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	unused(&b, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 2);
	leave(&a);
	struct gsan_launch *l = launch(0, stream, 7, 5, 1);
	if (stream == 1) {
		l->order.pairs = 1;
		l->order.pair[0].participant = 0;
		l->order.pair[0].stream = 1;
		l->order.pair[0].seq = 6;
	}
	struct cta c = enter(l, 2, 1);
	judge_store(&c, name, race);
}

static void red(struct cta *c, u64 at, u32 site) { red_at(c, GSAN_GPU, at, site); }

static void observed_by_red(int how, const char *name, int race)
{
	/* a kernel of such alone keeps no clock, and its own weak accesses are behind what it observed all the same */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(0, 1, 6, 5, 1), 1, REDS(GSAN_GPU));
	if (how == 1)
		red(&b, FLAG, 2);
	if (how == 2)
		rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	else
		flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 1);
	if (how == 3)
		red(&b, FLAG + 4, 2);
	if (how == 0 || how == 2)
		red(&b, FLAG, 2);
	weak(&b, GSAN_OP_ST, FLAG, 4, 3);
	judge(name, race);
}

static void observed_in_launch(u32 reds, const char *name, int race)
{
	/* at a location with an entry; under many seeds, a red of the second CTA might have lost its record's place */
	u32 seeds = 0;
	for (u32 seed = 0; seed < 16; seed++) {
		struct cta before = enter(launch(0, 2, 4, 4, 1), 0, 1), c[2];
		struct gsan_launch *l = launch(0, 1, 7, 5, 1);
		l->seed = seed;
		flag_store(&before, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 1);
		for (u32 i = 0; i < 2; i++)
			c[i] = enter(l, i, REDS(GSAN_GPU));
		for (u32 i = 0; i < reds; i++)
			red(&c[i], FLAG, 2);
		weak(&c[1], GSAN_OP_LD, FLAG, 4, 3);
		seeds += found() > 0;
		reset();
	}
	need(race ? seeds >= 5 : seeds == 0, name);
}

static void observed_by_second_red(void)
{
	/* the first red behind another's store and red races with the store, the second one does not */
	struct gsan_launch *l = launch(0, 1, 7, 5, 1);
	struct cta c[2] = {enter(l, 0, REDS(GSAN_GPU)), enter(l, 1, REDS(GSAN_GPU))};
	weak(&c[0], GSAN_OP_ST, FLAG, 4, 1);
	red(&c[0], FLAG, 2);
	red(&c[1], FLAG, 3);
	u64 before = found();
	need(before > 0, "a red behind a weak store and a red of another");
	red(&c[1], FLAG, 4);
	need(found() == before, "the red behind that one");
	reset();
}

static void observed_by_displaced_red(u32 scope)
{
	/* nor is it known where its record lost its place to another's */
	for (u32 seed = 0; seed < 32; seed++) {
		struct gsan_launch *l[] = {launch(0, 0, 5, 5, 1), launch(0, 1, 6, 5, 1), launch(0, 2, 7, 5, 1)};
		struct cta c[3];
		for (u32 i = 0; i < 3; i++) {
			l[i]->seed = seed;
			c[i] = enter(l[i], i, REDS(scope));
		}
		red_at(&c[0], scope, FLAG, 1);
		red_at(&c[1], scope, FLAG, 2);
		weak(&c[2], GSAN_OP_LD, FLAG, 4, 4);
		u64 before = found();
		weak(&c[1], GSAN_OP_LD, FLAG, 4, 3);
		need(found() == before, "a red whose record is gone may have observed another");
		reset();
	}
}

static void observed_without_a_draw(void)
{
	/* in a large grid, most reds that find both places taken do not draw for one */
	grid = 1024;
	for (u32 seed = 0; seed < 32; seed++) {
		struct gsan_launch *l = launch(0, 1, 7, 5, 1);
		struct cta c[3];
		l->seed = seed;
		for (u32 i = 0; i < 3; i++) {
			c[i] = enter(l, i, REDS(GSAN_GPU));
			red(&c[i], FLAG, 2);
		}
		weak(&c[2], GSAN_OP_LD, FLAG, 4, 3);
		need(!found(), "a red that did not draw for a place may have observed others");
		reset();
	}
	grid = 8;
}

static void behind_no_red(void)
{
	/* other threads of its CTA may have observed the atomic, whatever the hashes: this one made no red before, and is behind nothing */
	for (u32 seed = 0; seed < 32; seed++) {
		struct gsan_launch *l = launch(0, 0, 5, 5, 1);
		l->seed = seed;
		struct cta c[3];
		for (u32 i = 0; i < 3; i++)
			c[i] = enter(l, i, REDS(GSAN_GPU));
		for (u32 i = 0; i < 3; i++)
			red(&c[i], FLAG, 1);
		c[2].self &= ~GSAN_SELF_BEHIND_RED;
		weak(&c[2], GSAN_OP_LD, FLAG, 4, 2);
		need(found() > 0, "a load by a thread that made no red");
		u64 had = found();
		weak(&c[1], GSAN_OP_ST, FLAG + 8, 4, 3);
		c[2].self &= ~GSAN_SELF_BEHIND_RED;
		red(&c[0], FLAG + 8, 4);
		red(&c[2], FLAG + 8, 5);
		need(found() == had + 2, "the first red of a thread behind a store");
		reset();
	}
}

static void observed_beside_an_old_load(u32 participant, u32 op)
{
	/* whose place the red takes, whatever its hash: it is ordered before */
	for (u32 seed = 0; seed < 32; seed++) {
		struct gsan_launch *old = launch(participant, 1, 4, 4, 1), *l = launch(0, 0, 5, 4, 1), *m = launch(0, 1, 6, 5, 5);
		old->seed = l->seed = m->seed = seed;
		struct cta a = enter(old, 0, 0), b = enter(l, 0, REDS(GSAN_GPU)), c = enter(m, 0, REDS(GSAN_GPU));
		weak(&a, GSAN_OP_LD, FLAG, 4, 1);
		red(&b, FLAG, 2);
		u64 had = found();
		red(&c, FLAG, 3);
		weak(&c, op, FLAG, 4, 4);
		need(found() == had, "a red behind an old load and an atomic has observed the atomic");
		reset();
	}
}

static void observed_by_hidden_red(void)
{
	/* a read that hides an earlier one of its CTA does not make the red between the two seem not to have been there */
	for (u32 seed = 0; seed < 64; seed++) {
		struct gsan_launch *l = launch(0, 0, 5, 5, 1), *m = launch(0, 1, 6, 5, 1);
		l->seed = m->seed = seed;
		struct cta a = enter(l, 0, 1), c = enter(m, 0, REDS(GSAN_GPU));
		rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
		u64 had = found();
		red(&c, FLAG, 2);
		weak(&c, GSAN_OP_LD, FLAG, 4, 3);
		weak(&c, GSAN_OP_LD, FLAG, 1, 4);
		weak(&c, GSAN_OP_LD, FLAG, 4, 5);
		need(found() == had, "a red, three loads, the last one over the second");
		reset();
	}
}

static void observed_beside_a_risen_record(int how, int red_there, const char *name)
{
	/* an atomic of the granule's other word that takes a place whatever its hash says nothing of the red that found none before */
	u32 seeds = 0;
	for (u32 seed = 0; seed < 256; seed++) {
		struct gsan_launch *old = launch(0, 2, 4, 4, 1), *l = launch(0, 0, 5, 4, 1), *m = launch(0, 1, 6, 4, 1), *n = launch(0, 3, 7, 5, 1);
		old->seed = l->seed = m->seed = n->seed = seed;
		struct cta a = enter(l, 0, 1), b = enter(how == 2 ? old : l, 1, 1), c = enter(m, 0, REDS(GSAN_GPU));
		if (how == 1)
			flag_load(&b, FLAG + 4, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
		else
			rmw(&b, FLAG + 4, GSAN_SEM_NONE, GSAN_SYS, 0, 1);
		rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 2);
		red(&c, red_there ? FLAG : OTHER, 3);
		if (how == 2)
			b = enter(n, 1, 1);
		rmw(&b, FLAG + 4, GSAN_SEM_NONE, GSAN_GPU, 0, 4);
		weak(&c, GSAN_OP_ST, FLAG, 4, 5);
		seeds += found() > 0;
		reset();
	}
	need(red_there ? seeds == 0 : seeds >= 128, name); /* that twin is a red elsewhere: whatever it observed, it was not this */
}

static void observed_in_a_full_table(u32 scope, int looks, int later, u32 races)
{
	/* a location that finds no entry: the strong store that was read is before what follows, if the scopes reach each other */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1), *m = launch(1, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(m, 0, 1);
	dev_tables(gsan_owner(FLAG))->syncs = DEV_SYNCS;
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 1);
	if (looks)
		flag_load(&b, FLAG, GSAN_SEM_NONE, scope, 1, 2);
	if (later) {
		leave(&b);
		b = enter(launch(1, 0, 6, 6, 1), 0, 0);
	}
	weak(&b, GSAN_OP_ST, FLAG, 4, 3);
	need(found() == races, "a strong store without an entry, and who read it");
	reset();
}

static void narrow_red_before(u32 narrow, u32 wide, int entry, const char *name, u32 races)
{
	/* who reads a red observes, with it, the one of .cta that its CTA made before; not one that it made afterwards */
	struct cta before = enter(launch(0, 2, 4, 4, 1), 0, 1), b = enter(launch(0, 1, 6, 5, 1), 1, REDS(GSAN_CTA) | REDS(wide)), c;
	if (entry)
		flag_store(&before, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 9);
	c = enter(launch(0, 0, 5, 5, 1), 0, 1);
	if (narrow == 1)
		red_at(&b, GSAN_CTA, FLAG, 1);
	red_at(&b, wide, FLAG, 2);
	flag_load(&c, FLAG, GSAN_SEM_NONE, GSAN_GPU, 2, 6);
	if (narrow == 2)
		red_at(&b, GSAN_CTA, FLAG, 1);
	u64 had = found();
	weak(&c, GSAN_OP_ST, FLAG, 4, 7);
	need(found() - had == races, name);
	reset();
}

static void narrow_red_behind(int wide, const char *name, int race)
{
	/* a red of .cta says nothing of what its CTA observed, and leaves the record of a wider one that does */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(0, 1, 6, 5, 1), 1, REDS(GSAN_CTA) | REDS(GSAN_GPU));
	flag_store(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 1, 1);
	if (wide)
		red(&b, FLAG, 2);
	red_at(&b, GSAN_CTA, FLAG, 3);
	u64 had = found();
	weak(&b, GSAN_OP_ST, FLAG, 4, 4);
	need((found() > had) == race, name);
	reset();
}

static void other_size(u32 bytes, const char *name, int race)
{
	/* a relaxed load, then an acquire of a location at the same address: the pattern wants the same one */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	u32 d = desc(GSAN_OP_STRONG_LD + GSAN_SYS, bytes, GSAN_SEM_ACQUIRE, 7) | GSAN_DESC_VALUE;
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 6);
	u32 looked = gsan_look(b.launch, b.self, FLAG, d);
	gsan_after(b.launch, b.self, 1, FLAG, d, 1, looked);
	weak(&b, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge_payload(name, race);
}

/* A vector of two words, in two steps between which others may write. */
static u32 vector_look(const struct cta *c, u32 sem, u32 site, int store)
{
	u32 d = desc((store ? GSAN_OP_STRONG_ST : GSAN_OP_STRONG_LD) + GSAN_SYS, 8 + 1, sem, site) | GSAN_DESC_VALUE;
	be(c);
	if (!store)
		return gsan_look(c->launch, c->self, FLAG, d & ~GSAN_DESC_VALUE);
	gsan_before(c->launch, c->self, 1, FLAG, d, 0x500000005);
	return 0;
}
static void vector_end(const struct cta *c, u32 sem, u32 site, int store, u64 value, u32 looked)
{
	u32 d = desc((store ? GSAN_OP_STRONG_ST : GSAN_OP_STRONG_LD) + GSAN_SYS, 8 + 1, sem, site) | GSAN_DESC_VALUE;
	be(c);
	gsan_after(c->launch, c->self, 1, FLAG, d, value, looked);
}

static void vectors(int when, const char *name, int race)
{
	/* a release, then a vector over it that releases nothing; who looks behind that has read it alone */
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = ranks_cta(1, 9);
	weak(&a, GSAN_OP_ST, PAYLOAD, 4, 1);
	rmw(&a, FLAG, GSAN_SEM_RELEASE, GSAN_SYS, 4, 2);
	u32 looked = when == 0 ? vector_look(&c, 0, 7, 0) : 0;
	vector_look(&b, GSAN_SEM_NONE, 3, 1);
	looked = when == 1 ? vector_look(&c, 0, 7, 0) : looked;
	vector_end(&b, GSAN_SEM_NONE, 3, 1, 0x500000005, 0);
	looked = when == 2 ? vector_look(&c, 0, 7, 0) : looked;
	vector_end(&c, GSAN_SEM_ACQUIRE, 7, 0, 0x500000005, looked);
	weak(&c, GSAN_OP_LD, PAYLOAD, 4, 8);
	judge_payload(name, race);
}

static void narrow_reader(int state)
{
	/* a load of scope .cta observes no other CTA's RMW, with an entry or without */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, (u32)state), b = enter(launch(0, 1, 6, 5, 1), 1, 1);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	for (u32 i = 1; i <= 2; i++) {
		flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_CTA, 1, 6 + i);
		need(found() == i, state ? "a load of .cta observes nothing" : "a load of .cta observes nothing of a histogram");
	}
	reset();
}

static void narrow_rmw(void)
{
	/* nor does an RMW of scope .cta, or whoever reads that */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0), b = enter(launch(0, 1, 6, 5, 1), 1, 1);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	rmw(&b, FLAG, GSAN_SEM_NONE, GSAN_CTA, 1, 7);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_GPU, 2, 8);
	u64 before = found();
	weak(&b, GSAN_OP_ST, FLAG, 4, 9);
	need(found() > before, "an RMW of .cta observes nothing of a histogram");
	reset();
}

static void later_write(int again, const char *name)
{
	/* a strong write that was observed says nothing of the next one there by the same CTA */
	struct cta a = ranks_cta(0, 5), b = ranks_cta(1, 9);
	rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 0, 1);
	flag_load(&b, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 7);
	if (again)
		rmw(&a, FLAG, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	weak(&b, GSAN_OP_ST, FLAG, 4, 8);
	judge(name, again);
}

/* ---- who waits (waits.h) ---- */

static u64 told(u64 address, u32 site, u64 value)
{
	u64 last = 0;
	EACH_FINDING(f)
		if (f->kind == GSAN_WAITS && f->address == address && f->second.site == site && f->waits.value == value) {
			need(f->waits.times >= 4096 && f->waits.times > last && f->waits.known && f->second.seq == 5 && f->second.ctaid[0] == gpu_ctaid_x(), "what is told of a wait");
			last = f->waits.times;
		}
	return last;
}

/* One value read from one location again and again is told of from 4,096 times on, at each doubling; once for a launch and a site. What
 * else is read meanwhile does not matter, up to 2,047 other reads; changing values and strange locations are no wait. */
enum waits { ALONE, AMONG_FEW, AMONG_MANY, CHANGING, TWO_CTAS, OF_EXCHANGES };
static void waits(enum waits how, u32 reads, u64 messages, u64 times, const char *name)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	for (u32 i = 0; i < reads; i++) {
		u32 others = how == AMONG_FEW ? 2 : how == AMONG_MANY ? 3000 : 0;
		if (how == OF_EXCHANGES)
			rmw(&a, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 1);
		else
			flag_load(&a, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, how == CHANGING ? i : 0, 1);
		if (how == TWO_CTAS)
			flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 1);
		for (u32 k = 0; k < others; k++)
			flag_load(&a, OTHER + 4 * k, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 2);
	}
	be(&a);
	u64 last = told(FLAG, 1, 0), other = told(OTHER, 2, 0);
	need(found() == messages && (last == times || other == times), name);
	leave(&a);
	leave(&b);
	reset();
}

int main(void)
{
	map_arena();
	map(DATA(1), 1 << 16); /* a spin reads */
	spins();
	spin_holds();
	reads_again();
	fails_again();
	waits(ALONE, 4000, 0, 0, "a short wait");
	waits(ALONE, 2047 + 1 + 4096, 1, 4096, "a wait");
	waits(ALONE, 40000, 4, 32768, "a long wait is told of at each doubling");
	waits(AMONG_FEW, 40000, 4, 32768, "a wait for one of several flags");
	waits(AMONG_MANY, 40, 0, 0, "very many flags are read often");
	waits(CHANGING, 40000, 0, 0, "what changes is not waited for");
	waits(TWO_CTAS, 10000, 1, 4096, "two CTAs that wait alike are one");
	waits(OF_EXCHANGES, 40000, 4, 32768, "an RMW that waits");
	rmw_hands_on(GSAN_SEM_ACQ_REL, "what an RMW acquires it releases", 0);
	rmw_hands_on(GSAN_SEM_RELEASE, "what it does not acquire it does not", 1);
	own_store(0, 1, "an RMW's own weak store is observed with it", 0);
	own_store(1, 1, "another CTA's weak store is not", 1);
	own_store(2, 1, "nor one behind the RMW", 1);
	own_store(0, 0, "without a CTA state, an RMW's own weak store is observed with it", 0);
	own_store_before_histogram(2, "a histogram's own weak store is observed with it", 0);
	own_store_before_histogram(1, "a weak store of a launch without atomics is not", 1);
	for (u32 state = 0; state < 2; state++) {
		observed_by_launch(state, 1, "behind a launch that continued an atomic", 0);
		observed_by_launch(state, 2, "behind nobody who continued an atomic", 1);
	}
	other_size(4, "relaxed, then acquire of a location", 0);
	other_size(1, "acquire of another location at the address", 1);
	vectors(0, "a vector looked at before another was stored", 0);
	vectors(1, "a vector looked at while another was stored", 0);
	vectors(2, "a vector looked at behind another", 1);
	narrow_reader(0);
	narrow_reader(1);
	narrow_rmw();
	later_write(0, "an RMW that was observed");
	later_write(1, "an RMW behind the one that was observed");
	reset_flag(GSAN_SYS, 1, 0, "a flag reset by its reader", 0);
	reset_flag(GSAN_SYS, 0, 0, "a flag reset by who has not read it", 1);
	reset_flag(GSAN_GPU, 1, 0, "a flag of another GPU read at .gpu, then reset", 1);
	stored_before(GSAN_GPU, "a narrower store before the one that was observed", 1);
	stored_before(GSAN_SYS, "one of the same scope, for which the later one stands", 0);
	reset_flag(GSAN_SYS, 1, 1, "a flag reset by the launch behind its reader", 0);
	reset_flag(GSAN_SYS, 0, 1, "a flag reset by a launch behind nobody", 1);
	last_arriver(1, "a counter reset by its last arriver", 0);
	last_arriver(2, "a counter reset by an arriver who does not look", 0);
	last_arriver(0, "a counter reset by who has not arrived", 1);
	observed_by_red(0, "a store, a red, a weak store behind it", 0);
	observed_by_red(1, "a red, a store of another, a weak store", 1);
	observed_by_red(2, "an atomic, a red, a weak store behind it", 0);
	observed_by_red(3, "a red beside what was stored", 1);
	observed_in_launch(2, "two reds, a weak load behind the second", 0);
	observed_in_launch(1, "a red, a weak load", 1);
	observed_by_second_red();
	observed_by_displaced_red(GSAN_GPU);
	observed_by_displaced_red(GSAN_SYS);
	for (int later = 0; later < 2; later++) {
		observed_in_a_full_table(GSAN_SYS, 1, later, 0);
		observed_in_a_full_table(GSAN_GPU, 1, later, 2); /* nor is the load morally strong with it */
		observed_in_a_full_table(GSAN_SYS, 0, later, 1);
	}
	observed_by_hidden_red();
	for (int red_there = 0; red_there < 2; red_there++) {
		observed_beside_a_risen_record(0, red_there, "a red beside an atomic of .sys, then one of .gpu");
		observed_beside_a_risen_record(1, red_there, "a red beside a strong load, then an atomic");
		observed_beside_a_risen_record(2, red_there, "a red beside an atomic, then one of a launch behind that");
	}
	observed_without_a_draw();
	behind_no_red();
	for (u32 i = 0; i < 4; i++)
		observed_beside_an_old_load(i & 1, i >> 1 ? GSAN_OP_ST : GSAN_OP_LD);
	for (int entry = 0; entry < 2; entry++) {
		narrow_red_before(1, GSAN_GPU, entry, "a red of .cta, then one of .gpu that is read", 0);
		narrow_red_before(2, GSAN_GPU, entry, "a red of .gpu that is read, then one of .cta", entry);
		narrow_red_before(1, GSAN_CTA, entry, "reds of .cta, which nobody else observes", 1);
	}
	narrow_red_behind(1, "a red, then one of .cta, a weak store", 0);
	narrow_red_behind(0, "a red of .cta, a weak store", 1);
	many_releases(1100000, 0, 0, "a million releases");
	many_releases(1100000, 0, 1, "a race after a million releases");
	many_releases(20, 505, 0, "releases around the last epoch");
	many_releases(20, 505, 1, "a race after the last epoch");
	no_tag_left();
	same_tags_again();
	release_then_relaxed(0, "release, then relaxed on its location");
	release_then_relaxed(1, "payload behind the release");
	relaxed_then_acquire(FLAG, "relaxed, then acquire on its location", 0);
	relaxed_then_acquire(OTHER, "relaxed, then acquire elsewhere", 1);
	fence_snapshot(1, "fence behind an acquire", 0);
	fence_snapshot(0, "fence before an acquire", 1);
	fence_raised();
	fence_scopes(GSAN_SYS, GSAN_SYS, "fences at .sys", 0);
	fence_scopes(GSAN_GPU, GSAN_SYS, "release fence at .gpu", 1);
	fence_scopes(GSAN_SYS, GSAN_GPU, "acquire fence at .gpu", 1);
	fence_scopes(GSAN_CTA, GSAN_SYS, "release fence at .cta", 1);
	atom_unused(1, FLAG, "an atom acquires what was read before", 0);
	atom_unused(0, FLAG, "an atom whose result nobody reads", 1);
	atom_unused(1, OTHER, "an atom acquires of its own location only", 1);
	cas_publishes(1, "a CAS that wrote releases");
	cas_publishes(0, "a CAS that failed releases nothing");
	cas_seen_early();
	cas_unused(GSAN_DESC_USED, "a CAS that failed acquires by its result", 0);
	cas_unused(0, "a CAS that failed and whose result nobody reads", 1);
	peer_scopes(0, "an atomic too narrow for another GPU's", 1);
	peer_scopes(1, "the same with one of its own GPU between", 1);
	cas_reads(0, "a CAS that failed is a read");
	cas_reads(1, "a CAS that wrote is a write");
	overwritten(1, "the oldest of five versions", 0);
	overwritten(4, "the fourth of five versions", 1);
	overwritten(5, "the last of five versions", 1);
	late_drop();
	links(GSAN_GPU, 0, "an RMW too narrow for the one that it reads observes nothing", 1);
	links(GSAN_SYS, 0, "an RMW observes a chain over another GPU", 0);
	links(GSAN_GPU, 1, "an RMW too narrow for the one that it reads ends the sequence", 1);
	links(GSAN_SYS, 1, "an RMW continues a sequence over another GPU", 0);
	narrow_release(GSAN_GPU, "a sequence with a link that does not reach", 1);
	narrow_release(GSAN_SYS, "a sequence of a narrow release, of links that reach", 0);
	observed_too_late();
	links_looked_before();
	second_warp_first();
	nobody(0);
	nobody(1);
	wide_fence_behind(GSAN_GPU, "a narrow read, then a fence too narrow", 1);
	wide_fence_behind(GSAN_SYS, "a narrow read, then a fence of .sys", 0);
	wide_fence_before(GSAN_GPU, "a narrow write behind a fence too narrow", 1);
	wide_fence_before(GSAN_SYS, "a narrow write behind a fence of .sys", 0);
	same_value(1, "of two stores of one value any, if the second came meanwhile", 0);
	same_value(0, "of two stores of one value the second, if it was there before", 1);
	histograms_before();
	for (u32 state = 0; state < 2; state++)
		histogram_start(state, GSAN_SEM_ACQUIRE, 1, "the start of a histogram's kernel", 0);
	for (u32 state = 0; state < 2; state++)
		histogram_start(state, GSAN_SEM_ACQUIRE, 0, "an atomic that leaves 0, which no unseen writer explains", 0);
	for (u32 state = 0; state < 2; state++)
		histogram_start(state, GSAN_SEM_NONE, 1, "a histogram that nobody acquires", 1);
	end_is_fence(0, 10, 0, "the end of a kernel acquires", 0);
	end_is_fence(1, 9, 0, "not for another stream", 1);
	end_is_fence(0, 10, 1, "ld.nc behind a kernel that was told", 0);
	end_is_fence(1, 9, 1, "ld.nc in another stream", 1);
	end_after_unseen(10, "behind a kernel that something unseen told", 0);
	end_after_unseen(9, "in another stream", 1);
	grid_barrier(24, 0, "a barrier of 24 CTAs");
	grid_barrier(24, 1, "a read before a barrier of 24 CTAs");
	grid_barrier(1000, 0, "a barrier of 1000 CTAs");
	grid_barrier(1000, 1, "a read before a barrier of 1000 CTAs");
	reservoir(GRANULE, "uniform sample of reads in detail");
	reservoir(SECTOR, "uniform sample of reads of sectors");
	reservoir(LINE, "uniform sample of reads of lines");
	need(gsan_tables_bytes() + GSAN_VIEW_PAGES * 4 <= 512ull << 20, "tables of one process per GPU");
	printf("%s\n", failures ? "failed" : "passed");
	return failures != 0;
}
