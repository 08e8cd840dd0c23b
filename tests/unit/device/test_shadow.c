/* The shadow's own rules (DESIGN §4), natively: what one record may hide of another, and record-then-look, for which a
 * second CTA comes between any two memory operations of the first one's access. The runtime is compiled into this test, so
 * that it can stop there. */
#include "device/gpu.h"

static void pause_here(void);
#define gpu_load32(p) (pause_here(), gpu_load32(p))
#define gpu_load64(p) (pause_here(), gpu_load64(p))
#define gpu_load128(p, a, b) (pause_here(), gpu_load128(p, a, b))
#define gpu_store64(p, v) (pause_here(), gpu_store64(p, v))
#define gpu_exch64(p, v) (pause_here(), gpu_exch64(p, v))
#define gpu_cas32(p, old, v) (pause_here(), gpu_cas32(p, old, v))
#define gpu_cas64(p, old, v) (pause_here(), gpu_cas64(p, old, v))
#define gpu_or32(p, v) (pause_here(), gpu_or32(p, v))
#include "device/runtime.c"

#include "play.h"

#define PLACE (DATA(0) + 4096)
#define FLAG (DATA(0) + 8192)

/* ---- two that meet ---------------------------------------------------------------------------------------------- */

static void line(const struct cta *c, u32 op, u32 site)
{
	be(c);
	gsan_lines(c->launch, c->self, quick(c), 1, PLACE | GSAN_LINES_WHOLE, desc(op, 4, 0, site));
}
static void half(const struct cta *c, u32 op, u32 site)
{
	be(c);
	gsan_lines(c->launch, c->self, quick(c), 1, PLACE, desc(op, 4, 0, site));
}
static void red(const struct cta *c, u32 op, u32 site)
{
	be(c);
	u32 todo = gsan_red(c->launch, c->self, quick(c), PLACE, desc(op, 4, 0, site));
	if (todo)
		gsan_hold(c->launch, c->self, todo, PLACE, desc(op, 4, 0, site));
}
static void strong(const struct cta *c, u32 op, u32 site)
{
	struct dev_tables *t = dev_tables(gsan_owner(PLACE));
	u32 syncs = t->syncs;
	be(c);
	t->syncs = DEV_SYNCS; /* full: no entry, whose lock the one who pauses would hold */
	if (op_writes(op)) /* looks before it stores */
		gsan_before(c->launch, c->self, 1, PLACE, desc(op, 4, 0, site), 0);
	else
		gsan_after(c->launch, c->self, 1, PLACE, desc(op, 4, 0, site), 0, 0);
	t->syncs = syncs;
}
static void part(const struct cta *c, u32 op, u32 site) { weak(c, op, PLACE, 2, site); }
static void sector(const struct cta *c, u32 op, u32 site) { weak(c, op, PLACE, 16, site); }

static const struct form {
	const char *name;
	void (*make)(const struct cta *, u32 op, u32 site);
	u32 op, sampled; /* its record lies among the sampled ones of its granule */
} forms[] = {
	{"a load of two bytes", part, GSAN_OP_LD, 1},
	{"a store of two bytes", part, GSAN_OP_ST, 0},
	{"a load of a sector", sector, GSAN_OP_LD, 0},
	{"a store of a sector", sector, GSAN_OP_ST, 0},
	{"a load of half a line", half, GSAN_OP_LD, 0},
	{"a store of half a line", half, GSAN_OP_ST, 0},
	{"a load of a line", line, GSAN_OP_LD, 0},
	{"a store of a line", line, GSAN_OP_ST, 0},
	{"ld.nc of two bytes", part, GSAN_OP_LD_NC, 0},
	{"ld.nc of half a line", half, GSAN_OP_LD_NC, 0},
	{"a strong load", strong, GSAN_OP_STRONG_LD + GSAN_GPU, 1},
	{"a strong store", strong, GSAN_OP_STRONG_ST + GSAN_GPU, 0},
	{"a red", red, GSAN_OP_RMW + GSAN_GPU, 1},
};
#define FORMS (sizeof(forms) / sizeof(*forms))

static struct { const struct form *form; struct cta cta; u32 steps; int armed; } other;
static struct { u32 *at, value, steps; } late; /* stored after so many memory operations */

static void pause_here(void)
{
	if (late.at && !late.steps--) {
		*late.at = late.value;
		late.at = NULL;
	}
	if (!other.armed || other.steps--)
		return;
	struct gpu_host here = gpu_host;
	other.armed = 0;
	other.form->make(&other.cta, other.form->op, 2);
	gpu_host = here;
}

/* `b` comes after `steps` memory operations of `a`; 0: `a` had no so many. `before`: launches that are ordered before have
 * touched the place in all forms (but for ld.nc, a race with its own CTA's stores). */
static int meet(const struct form *a, const struct form *b, u32 steps, int before)
{
	struct cta old = enter(launch(0, 0, 4, 4, 1), 7, 0);
	for (u32 i = 0; before && i < FORMS; i++)
		if (forms[i].op != GSAN_OP_LD_NC)
			forms[i].make(&old, forms[i].op, 3);
	u64 had = found();
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta first = enter(l, 0, 0);
	other.cta = enter(l, 1, 0);
	other.form = b;
	other.steps = steps;
	be(&first);
	other.armed = 1;
	a->make(&first, a->op, 1);
	int met = !other.armed, race = (op_writes(a->op) || op_writes(b->op)) && !(op_is_strong(a->op) && op_is_strong(b->op));
	other.armed = 0;
	if (had || (met && (found() > 0) != race)) {
		printf("FAIL %s, and %s after %u memory operations%s: %s\n", a->name, b->name, steps, before ? ", with a past" : "",
		       race ? "no race was found" : "a false race");
		failures++;
	}
	reset();
	return met;
}

static void meetings(void)
{
	for (u32 k = 0; k < FORMS * FORMS * 2; k++) {
		u32 steps = 0;
		while (meet(&forms[k / 2 % FORMS], &forms[k / 2 / FORMS], steps, k & 1))
			steps++;
		if (steps < 4) {
			printf("FAIL %s stops at %u places only\n", forms[k / 2 % FORMS].name, steps);
			failures++;
		}
	}
}

/* Both of two that want a sampled place at once get one: who stores there afterwards meets both. */
static void meet_for_places(const struct form *a, const struct form *b)
{
	for (u32 steps = 0, met = 1; met; steps++) {
		struct gsan_launch *l = launch(0, 0, 5, 5, 1);
		struct cta first = enter(l, 0, 0), third = enter(launch(0, 1, 6, 5, 1), 0, 0);
		u32 sites = 0;
		other.cta = enter(l, 1, 0);
		other.form = b;
		other.steps = steps;
		other.armed = 1;
		a->make(&first, a->op, 1);
		met = !other.armed;
		other.armed = 0;
		weak(&third, GSAN_OP_ST, PLACE, 2, 3);
		EACH_FINDING(f)
			sites |= f->second.site == 3 ? 1u << f->first.site : 0;
		need(!met || sites == 6, "a record lost its place to one that came at the same moment");
		reset();
	}
}

/* ---- what hides what ---------------------------------------------------------------------------------------------- */

static struct cta cta(u32 index) { return enter(launch(0, 0, 5, 5, 1), index, 1); }

static void fewer_bytes(u64 at, const char *name, u64 races)
{
	struct cta a = cta(0), b = cta(1);
	weak(&a, GSAN_OP_ST, PLACE, 8, 1);
	weak(&a, GSAN_OP_ST, PLACE, 1, 2);
	weak(&b, GSAN_OP_LD, at, 1, 8);
	expect(name, races, GSAN_RAW, GSAN_WHY_NONE);
}

static void fewer_bytes_read(u64 at, const char *name, u64 races)
{
	struct cta a = cta(0), b = cta(1);
	weak(&a, GSAN_OP_LD, PLACE, 8, 1);
	weak(&a, GSAN_OP_LD, PLACE, 1, 2);
	weak(&a, GSAN_OP_LD, PLACE, 1, 3);
	weak(&b, GSAN_OP_ST, at, 1, 8);
	expect(name, races, GSAN_WAR, GSAN_WHY_NONE);
}

static void store_then_strong(int store, const char *name, u64 races)
{
	struct cta a = cta(0), b = cta(1);
	if (store)
		weak(&a, GSAN_OP_ST, PLACE, 4, 1);
	flag_store(&a, PLACE, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&b, PLACE, GSAN_SEM_NONE, GSAN_SYS, 1, 8);
	expect(name, races, GSAN_RAW, GSAN_WHY_RELAXED_WRITE);
}

static void narrow_then_wide(u32 scope, const char *name, u64 races)
{
	struct cta a = cta(0), b = cta(1);
	flag_store(&a, PLACE, GSAN_SEM_NONE, scope, 1, 1);
	flag_store(&a, PLACE, GSAN_SEM_NONE, GSAN_SYS, 2, 2);
	flag_load(&b, PLACE, GSAN_SEM_NONE, GSAN_SYS, 2, 8);
	expect(name, races, GSAN_SCOPE, GSAN_WHY_RELAXED_WRITE);
}

static void other_sector(u64 at, const char *name, u64 races)
{
	struct cta a = cta(0), b = cta(1), c = cta(2);
	weak(&a, GSAN_OP_ST, PLACE, 16, 1);
	weak(&b, GSAN_OP_ST, PLACE + 16, 16, 2);
	weak(&c, GSAN_OP_LD, at, 16, 8);
	expect(name, races, GSAN_RAW, GSAN_WHY_NONE);
}

/* ld.nc sees what was there when its launch began: what its CTA acquired since, or wrote itself, does not help. */
static void nc_acquired(u32 op, const char *name, u64 races)
{
	struct cta a = cta(0), b = cta(1);
	weak(&a, GSAN_OP_ST, PLACE, 4, 1);
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_GPU, 1, 2);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_GPU, 1, 7);
	weak(&b, op, PLACE, 4, 8);
	expect(name, races, GSAN_STALE_NC, GSAN_WHY_NONE); /* the release was not too early */
}

static void nc_own(u32 op, const char *name, u64 races)
{
	struct cta a = cta(0);
	weak(&a, GSAN_OP_ST, PLACE, 4, 1);
	weak(&a, op, PLACE, 4, 2);
	expect(name, races, GSAN_STALE_NC, GSAN_WHY_NONE);
}

/* Was the access of site `first` found to race? */
static void judge_site(const char *name, u32 first, int race)
{
	int is = 0;
	EACH_FINDING(f)
		is |= f->first.site == first;
	if (is != race) {
		printf("FAIL %s\n", name);
		failures++;
	}
	reset();
}

static void mixed_sizes(int narrow, const char *name, int race)
{
	/* strong stores of 4 and of 8 bytes by one CTA; a load of 8 is morally strong with the second alone */
	struct cta a = enter(launch(1, 0, 5, 5, 1), 0, 1), b = enter(launch(0, 0, 9, 9, 1), 0, 1);
	if (narrow)
		flag_store(&a, PLACE, GSAN_SEM_NONE, GSAN_SYS, 1, 1);
	be(&a);
	gsan_before(a.launch, a.self, 1, PLACE, desc(GSAN_OP_STRONG_ST + GSAN_SYS, 8, 0, 2), 0);
	gsan_after(a.launch, a.self, 1, PLACE, desc(GSAN_OP_STRONG_ST + GSAN_SYS, 8, 0, 2), 0, 0);
	be(&b);
	gsan_after(b.launch, b.self, 1, PLACE, desc(GSAN_OP_STRONG_LD + GSAN_SYS, 8, 0, 3), 0, 0);
	judge_site(name, 1, race);
}

static void older_reader(u64 half_line, const char *name, int race)
{
	/* a launch reads a line, the next one its first half: the second stands for the first in that half alone */
	struct cta a = enter(launch(1, 0, 5, 5, 1), 0, 0), b = enter(launch(1, 0, 6, 6, 1), 0, 0), c = enter(launch(0, 0, 9, 9, 1), 0, 0);
	line(&a, GSAN_OP_LD, 1);
	half(&b, GSAN_OP_LD, 2);
	be(&c);
	gsan_lines(c.launch, c.self, quick(&c), 1, PLACE + half_line, desc(GSAN_OP_ST, 4, 0, 3));
	judge_site(name, 1, race);
}

/* Warps of a CTA read the same words, `last` as the last one; then warp 0 releases, and another CTA stores there behind an acquire. With a
 * barrier between that is no race; but it is if warp 0 reads there once more, too late. */
enum same { APART, BEHIND_BARRIER, TOO_LATE };
static void read_by_warp(const struct cta *c, u32 warp, int whole)
{
	be(c);
	gpu_host.ntid[0] = 96;
	gpu_host.tid[0] = 32 * warp;
	if (whole)
		gsan_lines(c->launch, c->self, quick(c), 1, PLACE | GSAN_LINES_WHOLE, desc(GSAN_OP_LD, 4, 0, 1 + warp));
	else
		gsan_access1(c->launch, c->self, 1, PLACE, desc(GSAN_OP_LD, 4, 0, 1 + warp));
}
static void same_words(int whole, u32 last, enum same how)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a, b;
	l->warp_bits = 2;
	a = enter(l, 0, GSAN_ENTER_SYNC);
	b = enter(l, 1, GSAN_ENTER_SYNC);
	struct who w = {.launch = l, .self = a.self & REC_WHO, .state = &own_tables(l)->state[(u32)a.self - 1]};
	for (u32 i = 1; i <= 3; i++)
		read_by_warp(&a, (last + i) % 3, whole);
	for (u32 i = 0; i < 3 && how != APART; i++) /* as behind a barrier */
		warp_reach(&w, i, w.state->warp[0].time + (i == 0));
	flag_store(&a, FLAG, GSAN_SEM_RELEASE, GSAN_GPU, 1, 7);
	if (how == TOO_LATE)
		read_by_warp(&a, 0, whole);
	flag_load(&b, FLAG, GSAN_SEM_ACQUIRE, GSAN_GPU, 1, 8);
	if (whole)
		line(&b, GSAN_OP_ST, 9);
	else
		weak(&b, GSAN_OP_ST, PLACE, 4, 9);
	if ((found() == 0) != (how == BEHIND_BARRIER)) {
		printf("FAIL %s that three warps read, warp %u last, %d: %llu findings\n", whole ? "a line" : "a word", last, how, (unsigned long long)found());
		failures++;
	}
	reset();
}

static void entry_written_late(int unordered, const char *name)
{
	/* a record is met whose launch has claimed its entry and not written it */
	struct cta a = enter(launch(1, 0, 5, 5, 1), 0, 0), b = enter(launch(0, 0, 9, 9, unordered ? 5 : 6), 0, 0);
	struct dev_launch *e = &dev_tables(1)->launch[5];
	weak(&a, GSAN_OP_ST, PLACE, 4, 1);
	e->seq = unordered ? 0 : 9;
	late.at = &e->seq;
	late.value = 5;
	late.steps = 1000;
	weak(&b, GSAN_OP_ST, PLACE, 4, 2);
	need(!late.at || !unordered, "the entry is written");
	judge_site(name, 1, unordered);
	late.at = NULL;
}

static void weak_and_strong(void)
{
	/* with another CTA's stores among them: the last weak one and the last strong one both have a place, under some seeds */
	u32 weak_found = 0, strong_found = 0;
	for (u32 seed = 0; seed < 16; seed++) {
		struct gsan_launch *l = launch(0, 0, 5, 5, 1);
		l->seed = seed;
		struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(launch(0, 1, 6, 5, 1), 0, 1);
		weak(&a, GSAN_OP_ST, PLACE, 4, 1);
		for (u32 i = 0; i < 2; i++) {
			weak(&b, GSAN_OP_ST, PLACE, 4, 2 + 2 * i);
			flag_store(&b, PLACE, GSAN_SEM_NONE, GSAN_SYS, 1, 3 + 2 * i);
		}
		weak(&c, GSAN_OP_ST, PLACE, 4, 8);
		EACH_FINDING(f) {
			weak_found += f->first.site == 4 && f->second.site == 8;
			strong_found += f->first.site == 5 && f->second.site == 8;
		}
		reset();
	}
	need(weak_found && strong_found, "a weak store and a strong one behind it, in the places of those before");
}

static void last_of_three(void)
{
	/* between two others' strong stores: the last of a CTA's weak ones has a place, under some seeds, though the second is of fewer bytes */
	u32 last_found = 0;
	for (u32 seed = 0; seed < 16; seed++) {
		struct gsan_launch *l = launch(0, 0, 5, 5, 1);
		l->seed = seed;
		struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1), d = enter(launch(0, 1, 6, 5, 1), 0, 1);
		flag_store(&a, PLACE, GSAN_SEM_NONE, GSAN_SYS, 1, 1);
		weak(&b, GSAN_OP_ST, PLACE, 4, 2);
		weak(&b, GSAN_OP_ST, PLACE, 1, 3);
		weak(&b, GSAN_OP_ST, PLACE, 4, 4);
		flag_store(&c, PLACE, GSAN_SEM_NONE, GSAN_SYS, 1, 5);
		weak(&d, GSAN_OP_ST, PLACE, 4, 8);
		EACH_FINDING(f)
			last_found += f->first.site == 4 && f->second.site == 8;
		reset();
	}
	need(last_found > 0, "the last of three weak stores, between others' strong ones");
}

static void far_below(u32 floor, const char *name, u64 races)
{
	/* launch 5 is more than half of the tags ago: to modulo arithmetic one that is to come */
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0), b = enter(launch(0, 1, 0x2800, floor, 1), 0, 0);
	const struct gsan_line *at = (const struct gsan_line *)(uintptr_t)gsan_shadow(PLACE);
	line(&a, GSAN_OP_ST, 1);
	line(&b, GSAN_OP_ST, 8);
	need((rec_site(at->write) == 8 && !at->detail) == !races, name);
	expect(name, races, GSAN_WAW, GSAN_WHY_NONE);
}

/* Launches 5 and 7 of stream 0; launch 3 of stream 1 holds the floor down, and a pair says what is before launch 7. */
static void above_the_floor(u32 paired, const char *name, u64 races)
{
	struct gsan_launch *second = launch(0, 0, 7, 3, 1);
	struct cta a = enter(launch(0, 0, 5, 3, 1), 0, 0), b;
	const struct gsan_line *at = (const struct gsan_line *)(uintptr_t)gsan_shadow(PLACE);
	second->order.pairs = 1;
	second->order.pair[0] = (struct gsan_pair){.stream = 0, .seq = paired};
	b = enter(second, 0, 0);
	line(&a, GSAN_OP_ST, 1);
	line(&b, GSAN_OP_ST, 8);
	need((rec_site(at->write) == 8 && !at->detail) == !races, name);
	expect(name, races, GSAN_WAW, GSAN_WHY_NONE);
}

int main(void)
{
	map_arena();
	above_the_floor(5, "a record above the floor that a pair orders gives its place away", 0);
	above_the_floor(4, "one above what the pair says does not", 1);
	weak_and_strong();
	last_of_three();
	far_below(0x2800, "a record of long ago gives its place away", 0);
	far_below(5, "one that nothing orders does not", 1);
	entry_written_late(1, "a record whose launch's entry is not written yet");
	entry_written_late(0, "one that is ordered before anyway");
	mixed_sizes(1, "a strong store hides no strong one of other bytes", 1);
	mixed_sizes(0, "strong accesses of the same bytes", 0);
	older_reader(GSAN_LINE / 2, "a reader of half a line hides no earlier reader of all of it", 1);
	fewer_bytes(PLACE + 5, "a byte stored over eight hides no more than itself", 1);
	fewer_bytes(PLACE + 8, "bytes nobody stored", 0);
	fewer_bytes_read(PLACE + 5, "a byte read after eight hides no more than itself", 1);
	fewer_bytes_read(PLACE + 8, "bytes nobody read", 0);
	store_then_strong(1, "a strong store hides no weak one", 1);
	store_then_strong(0, "strong stores alone", 0);
	narrow_then_wide(GSAN_CTA, "a wider scope hides no narrower one", 1);
	narrow_then_wide(GSAN_GPU, "scopes that reach each other", 0);
	other_sector(PLACE, "a writer of another sector hides nothing", 1);
	other_sector(PLACE + 32, "a sector nobody wrote", 0);
	for (u32 k = 0; k < 18; k++)
		same_words(k & 1, k / 2 % 3, (enum same)(k / 6));
	nc_acquired(GSAN_OP_LD_NC, "ld.nc of what was acquired in this launch", 1);
	nc_acquired(GSAN_OP_LD, "ld of what was acquired in this launch", 0);
	nc_own(GSAN_OP_LD_NC, "ld.nc of what the CTA wrote itself", 1);
	nc_own(GSAN_OP_LD, "ld of what the CTA wrote itself", 0);
	meetings();
	for (u32 k = 0; k < FORMS * FORMS; k++)
		if (forms[k % FORMS].sampled && forms[k / FORMS].sampled)
			meet_for_places(&forms[k % FORMS], &forms[k / FORMS]);
	printf("%s\n", failures ? "failed" : "passed");
	return failures != 0;
}
