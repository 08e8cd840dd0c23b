#include "warps.h"

#include "access.h"
#include "build.h"

#include <stdlib.h>
#include <string.h>

enum { CTAS = 3, LOOKS = 1 << 22 };

struct crew { /* the sections of a CTA: actors first … first + count - 1 */
	size_t first, count;
	uint32_t warps;
};

struct world {
	struct build b;
	struct crew crew[CTAS];
	uint32_t ctas;
	uint32_t arrivals[LIT_MBARRIERS]; /* of a phase of each mbarrier that is in use */
	uint32_t phases[CTAS][LIT_MBARRIERS];
};

/* ---- who there is ---------------------------------------------------------------------------------------------- */

static void add_section(struct world *w, uint32_t cta, uint32_t first, uint32_t threads)
{
	struct build_actor *a = &w->b.actor[w->b.actors++];
	*a = (struct build_actor){.cta = cta, .threads = threads, .helper = -1};
	a->thread = build_thread(&w->b, 0, cta, first, threads);
	w->crew[cta].count++;
}

/* The first warp of a CTA has a lane for itself, which synchronises with other CTAs; another is whole, or a few lanes, or two
 * sections, which come to a barrier from different places. */
static void add_warp(struct world *w, uint32_t cta, uint32_t warp)
{
	uint32_t shape = build_below(&w->b, 100), first = 32 * warp;
	if (!warp || shape < 45) {
		add_section(w, cta, first, 1);
		if (shape >= 85)
			add_section(w, cta, first + 8, 4);
	} else if (shape < 65) {
		add_section(w, cta, first + 4 * build_below(&w->b, 3), 4);
	} else if (shape < 80) {
		add_section(w, cta, first, 4);
		add_section(w, cta, first + 16, 4);
	} else {
		add_section(w, cta, first, 32);
	}
}

static void add_ctas(struct world *w)
{
	w->ctas = 2 + build_chance(&w->b, 35);
	uint32_t warps = w->ctas == 3 ? 2 : 2 + build_below(&w->b, 2);
	build_launch(&w->b, 0, 0, w->ctas, 32 * warps);
	for (uint32_t c = 0; c < w->ctas; c++) {
		w->crew[c] = (struct crew){.first = w->b.actors, .warps = warps};
		for (uint32_t k = 0; k < warps; k++)
			add_warp(w, c, k);
	}
	build_step(&w->b, (struct lit_step){.op = LIT_DO_LAUNCH});
}

static const struct lit_thread *section(const struct world *w, const struct build_actor *a) { return &w->b.p->thread[a->thread]; }
static uint32_t warp_of(const struct world *w, const struct build_actor *a) { return section(w, a)->first / 32; }

static struct build_actor *anyone(struct world *w, uint32_t cta)
{
	return &w->b.actor[w->crew[cta].first + build_below(&w->b, (uint32_t)w->crew[cta].count)];
}

/* Of one lane: what it does to a flag, it does once. */
static struct build_actor *single(struct world *w, uint32_t cta)
{
	struct build_actor *a = anyone(w, cta);
	return a->threads == 1 ? a : &w->b.actor[w->crew[cta].first];
}

/* ---- barriers -------------------------------------------------------------------------------------------------- */

static struct lit_instr barrier(enum lit_meet meet, uint32_t number, uint32_t count)
{
	struct lit_instr i = build_plain;
	i.op = LIT_BAR;
	i.meet = (uint8_t)meet;
	i.barrier = (uint8_t)number;
	i.count = count;
	return i;
}

/* To all sections of the warps, bits: of those that wait one thing, of the others another. */
static void to_warps(struct world *w, uint32_t cta, uint32_t warps, uint32_t waiting, struct lit_instr waits, struct lit_instr arrives)
{
	for (size_t n = 0; n < w->crew[cta].count; n++) {
		const struct build_actor *a = &w->b.actor[w->crew[cta].first + n];
		uint32_t bit = 1u << warp_of(w, a);
		if (warps & bit)
			build_instr(&w->b, a, waiting & bit ? waits : arrives);
	}
}

/* Is who meets whom settled? Not within an idea that is half appended. */
static int settled(const struct world *w)
{
	const struct lit_program *p = w->b.p;
	struct lit_use (*use)[LIT_USES] = calloc(p->threads, sizeof *use);
	uint32_t *uses = calloc(p->threads, sizeof *uses), line;
	int is = use && uses && !lit_barriers(p, use, uses, &line);
	free(use), free(uses);
	return is;
}

enum form { ALL, NAMED, REDUCTION, ARRIVE, MBARRIER, BY_FLAG, BY_WAY_OF, FORMS };

static void by_number(struct world *w, uint32_t cta, uint32_t from, uint32_t to, enum form form, uint32_t number)
{
	uint32_t warps = 1u << from | 1u << to, waiting = form == ARRIVE ? 1u << to : ~0u;
	if (build_chance(&w->b, 25))
		warps |= 1u << build_below(&w->b, w->crew[cta].warps);
	uint32_t count = 32 * (uint32_t)__builtin_popcount(warps);
	struct lit_instr waits = barrier(form == REDUCTION ? LIT_REDUCE : LIT_SYNC, number, count);
	if (from == to)
		waiting = ~0u;
	to_warps(w, cta, warps, waiting, waits, barrier(LIT_ARRIVE, number, count));
}

/* The lanes of the one section arrive, the other waits for the phase; perhaps it arrives as well. */
static void by_mbarrier(struct world *w, const struct build_actor *from, const struct build_actor *to, uint32_t number)
{
	int both = build_chance(&w->b, 60);
	uint32_t count = from->threads + (both ? to->threads : 0), *phase = &w->phases[from->cta][number];
	struct lit_instr wait = barrier(LIT_MWAIT, number, 0);
	if (w->arrivals[number] && w->arrivals[number] != count)
		return;
	w->arrivals[number] = count;
	wait.value = (*phase)++ % 2;
	build_instr(&w->b, from, barrier(LIT_MARRIVE, number, count));
	if (both)
		build_instr(&w->b, to, barrier(LIT_MARRIVE, number, count));
	if (both && build_chance(&w->b, 50))
		wait.meet = LIT_MTOKEN;
	build_instr(&w->b, to, wait);
}

static void poll(struct build *b, struct build_actor *a, int flag, enum lit_sem sem, enum lit_scope scope)
{
	struct lit_instr i = build_plain;
	i.op = LIT_POLL;
	i.sem = sem;
	i.scope = sem == LIT_VOLATILE ? LIT_NO_SCOPE : scope;
	i.location = flag;
	i.reg = build_reg(a, 1);
	i.value = 1;
	i.count = LOOKS;
	build_instr(b, a, i);
}

static void store(struct build *b, struct build_actor *a, int flag, enum lit_op op, enum lit_sem sem, enum lit_scope scope)
{
	struct lit_instr i = build_plain;
	i.op = op;
	i.rmw = op == LIT_ATOM ? LIT_EXCH : LIT_ADD;
	i.sem = sem;
	i.scope = sem == LIT_VOLATILE ? LIT_NO_SCOPE : scope;
	i.location = flag;
	i.value = 1;
	build_instr(b, a, i);
}

static void by_flag(struct world *w, struct build_actor *from, struct build_actor *to)
{
	int flag = build_location(&w->b, "near", 0, 4);
	store(&w->b, from, flag, LIT_ST, build_breaks(&w->b) ? LIT_RELAXED : LIT_RELEASE, LIT_CTA);
	poll(&w->b, to, flag, build_breaks(&w->b) ? LIT_RELAXED : LIT_ACQUIRE, LIT_CTA);
}

static void meet(struct world *w, struct build_actor *from, struct build_actor *to, enum form form, uint32_t number)
{
	if (form == ALL)
		to_warps(w, from->cta, ~0u, ~0u, barrier(LIT_ALL, 0, 0), build_plain);
	else if (form == MBARRIER)
		by_mbarrier(w, from, to, number % LIT_MBARRIERS);
	else if (form == BY_FLAG && from->threads == 1 && to->threads == 1)
		by_flag(w, from, to);
	else if (form != BY_FLAG && warp_of(w, from) == warp_of(w, to))
		to_warps(w, from->cta, 1u << warp_of(w, from), ~0u, barrier(LIT_WARP, 0, 0), build_plain);
	else
		by_number(w, from->cta, warp_of(w, from), warp_of(w, to), form, number);
}

/* Takes back what an idea appended to the sections. */
static void cut_back(struct world *w, const size_t *instrs)
{
	for (size_t t = 0; t < w->b.p->threads; t++)
		w->b.p->thread[t].instrs = instrs[t];
}

/* What the one did is before what the other does next, by some barrier, if nothing breaks. Numbers are used again as long as that
 * leaves no choice of who meets whom. */
static void link_up(struct world *w, struct build_actor *from, struct build_actor *to)
{
	size_t instrs[BUILD_ACTORS];
	enum form form = (enum form)build_below(&w->b, FORMS);
	if (form == BY_WAY_OF) {
		struct build_actor *over = anyone(w, from->cta);
		if (over != from && over != to) {
			link_up(w, from, over);
			link_up(w, over, to);
			return;
		}
		form = ALL;
	}
	for (size_t t = 0; t < w->b.p->threads; t++)
		instrs[t] = w->b.p->thread[t].instrs;
	for (uint32_t tries = 0; tries < 6; tries++) {
		struct world before = *w;
		meet(w, from, to, form, 1 + build_below(&w->b, tries < 3 ? 3 : LIT_NAMED - 1));
		if (settled(w))
			return;
		cut_back(w, instrs);
		memcpy(w->arrivals, before.arrivals, sizeof w->arrivals);
		memcpy(w->phases, before.phases, sizeof w->phases);
	}
	meet(w, from, to, ALL, 0);
}

/* A link, or nothing, the other way, or between others. */
static void link_or_break(struct world *w, struct build_actor *from, struct build_actor *to)
{
	if (from == to && !build_chance(&w->b, 10))
		return;
	if (!build_breaks(&w->b))
		link_up(w, from, to);
	else if (build_chance(&w->b, 40))
		link_up(w, to, from);
	else if (build_chance(&w->b, 40))
		link_up(w, anyone(w, from->cta), anyone(w, from->cta));
}

/* ---- between CTAs ---------------------------------------------------------------------------------------------- */

static void raise_flag(struct world *w, struct build_actor *a, int flag)
{
	static const struct { enum lit_sem fence; enum lit_op op; enum lit_sem sem; } forms[] = {
		{LIT_WEAK, LIT_ST, LIT_RELEASE}, {LIT_WEAK, LIT_ST, LIT_RELEASE}, {LIT_ACQ_REL, LIT_ST, LIT_RELAXED},
		{LIT_SC, LIT_ST, LIT_VOLATILE}, {LIT_WEAK, LIT_ATOM, LIT_RELEASE}, {LIT_WEAK, LIT_RED, LIT_RELEASE},
		{LIT_ACQ_REL, LIT_RED, LIT_RELAXED}};
	uint32_t f = build_below(&w->b, sizeof forms / sizeof *forms);
	if (forms[f].fence != LIT_WEAK)
		build_instr(&w->b, a, access_fence(&w->b, forms[f].fence, LIT_GPU));
	store(&w->b, a, flag, forms[f].op, build_breaks(&w->b) && build_chance(&w->b, 20) ? LIT_RELAXED : forms[f].sem, LIT_GPU);
}

static void look(struct world *w, struct build_actor *a, int flag)
{
	static const struct { enum lit_sem sem, fence; } forms[] = {
		{LIT_ACQUIRE, LIT_WEAK}, {LIT_ACQUIRE, LIT_WEAK}, {LIT_RELAXED, LIT_ACQ_REL}, {LIT_VOLATILE, LIT_SC}, {LIT_RELAXED, LIT_ACQUIRE}};
	uint32_t f = build_below(&w->b, sizeof forms / sizeof *forms);
	poll(&w->b, a, flag, build_breaks(&w->b) && build_chance(&w->b, 20) ? LIT_RELAXED : forms[f].sem, LIT_GPU);
	if (forms[f].fence != LIT_WEAK)
		build_instr(&w->b, a, access_fence(&w->b, forms[f].fence, LIT_GPU));
}

static void touch(struct world *w, struct build_actor *a, int data, enum lit_op op)
{
	struct lit_instr i = access_data(&w->b, a, data, 0, w->b.p->location[data].bytes, op);
	i.offset -= i.stride * (int32_t)section(w, a)->first;
	build_instr(&w->b, a, i);
}

/* From one CTA to another, perhaps by way of a third: who touches the data links up with who raises the flag, who sees it with who
 * touches the data next. */
static void story(struct world *w)
{
	static const uint16_t sizes[] = {4, 8, 16, 64, 128};
	struct build *b = &w->b;
	uint32_t cta = build_below(b, w->ctas), hops = 1 + build_chance(b, 30);
	int data = build_location(b, "data", 0, sizes[build_below(b, sizeof sizes / sizeof *sizes)]), writes = build_chance(b, 65);
	struct build_actor *a = anyone(w, cta);
	if (build_chance(b, 15))
		link_up(w, anyone(w, cta), anyone(w, cta)); /* nobody's, and not enough */
	touch(w, a, data, writes ? LIT_ST : LIT_LD);
	while (hops--) {
		struct build_actor *raiser = single(w, cta), *looker;
		int flag = build_location(b, "flag", 0, 4);
		link_or_break(w, a, raiser);
		raise_flag(w, raiser, flag);
		cta = (cta + 1 + build_below(b, w->ctas - 1)) % w->ctas;
		looker = single(w, cta);
		look(w, looker, flag);
		a = looker;
	}
	struct build_actor *user = anyone(w, cta);
	link_or_break(w, a, user);
	touch(w, user, data, writes && build_chance(b, 70) ? LIT_LD : LIT_ST);
}

/* Sections of one CTA touch parts of their own and count; one of another CTA, or all of its CTA behind it, have the sum. Each counts
 * for itself, or one for all that it is linked up with. */
static void counter(struct world *w)
{
	struct build *b = &w->b;
	uint32_t cta = build_below(b, w->ctas), other = (cta + 1 + build_below(b, w->ctas - 1)) % w->ctas;
	int flag = build_location(b, "count", 0, 4), data[BUILD_ACTORS], each = build_chance(b, 60);
	struct build_actor *counts = single(w, cta), *looker = single(w, other);
	size_t n = 0;
	struct lit_instr add = build_plain, see = build_plain;
	add.op = LIT_RED, add.rmw = LIT_ADD, add.sem = LIT_RELEASE, add.scope = LIT_GPU, add.location = flag, add.value = 1;
	see.op = LIT_POLL, see.sem = LIT_ACQUIRE, see.scope = LIT_GPU, see.location = flag, see.count = LOOKS;
	for (; n < w->crew[cta].count; n++) {
		struct build_actor *a = &b->actor[w->crew[cta].first + n];
		data[n] = build_location(b, "part", 0, 16);
		touch(w, a, data[n], LIT_ST);
		if (each && a->threads == 1 && build_breaks(b))
			add.sem = LIT_RELAXED;
		if (each && a->threads == 1) {
			build_instr(b, a, add);
			see.value++;
		} else {
			link_or_break(w, a, counts);
		}
		add.sem = LIT_RELEASE;
	}
	build_instr(b, counts, add);
	see.value++;
	see.reg = build_reg(looker, 1);
	build_instr(b, looker, see);
	for (size_t k = 0; k < n; k++) {
		struct build_actor *user = anyone(w, other);
		if (build_chance(b, 40))
			continue;
		link_or_break(w, looker, user);
		touch(w, user, data[k], build_chance(b, 70) ? LIT_LD : LIT_ST);
	}
}

/* Any strong and weak accesses to one word, by anyone. */
static void chaos(struct world *w)
{
	static const struct { enum lit_op op; enum lit_sem sem; } forms[] = {
		{LIT_LD, LIT_RELAXED}, {LIT_LD, LIT_ACQUIRE}, {LIT_ST, LIT_RELAXED}, {LIT_ST, LIT_RELEASE}, {LIT_ATOM, LIT_RELAXED},
		{LIT_RED, LIT_RELEASE}, {LIT_LD, LIT_WEAK}, {LIT_ST, LIT_WEAK}};
	struct build *b = &w->b;
	int x = build_location(b, "word", 0, 4);
	for (uint32_t n = 2 + build_below(b, 3); n--;) {
		struct build_actor *a = single(w, build_below(b, w->ctas));
		uint32_t f = build_below(b, sizeof forms / sizeof *forms - 2 * !build_breaks(b));
		struct lit_instr i = build_plain;
		i.op = forms[f].op, i.sem = forms[f].sem, i.location = x, i.value = 1 + build_below(b, 3);
		i.rmw = i.op == LIT_ATOM ? LIT_EXCH : LIT_ADD;
		i.scope = i.sem == LIT_WEAK ? LIT_NO_SCOPE : build_chance(b, 80) ? LIT_GPU : LIT_CTA;
		i.reg = i.op == LIT_LD ? build_reg(a, 1) : -1;
		build_instr(b, a, i);
	}
}

struct lit_program *random_warps(uint64_t seed)
{
	struct world w = {.b = {.state = seed * 0xd6e8feb86659fd93ull + 0x9e3779b97f4a7c15ull}};
	w.b.p = calloc(1, sizeof *w.b.p);
	if (!w.b.p)
		abort();
	snprintf(w.b.p->name, sizeof w.b.p->name, "warps%llu", (unsigned long long)seed);
	w.b.state = build_random(&w.b);
	w.b.p->ranks = 1;
	for (int r = 0; r < LIT_RANKS; r++)
		w.b.p->device[r] = r;
	w.b.broken = build_chance(&w.b, 50) ? 0 : 45;
	add_ctas(&w);
	for (uint32_t n = 1 + build_below(&w.b, 3); n--;) {
		uint32_t which = build_below(&w.b, 100);
		if (which < 70)
			story(&w);
		else if (which < 85)
			counter(&w);
		else
			chaos(&w);
	}
	return w.b.p;
}
