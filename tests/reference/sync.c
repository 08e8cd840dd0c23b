/* What strong accesses and fences order: release patterns publish clocks with the writes that end them, acquire patterns
 * join what their reads observed. The rules are those at the top of reference.c. */
#include "reference/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is released, by scope and place of the release */

int sync_reaches(enum scope a, struct seat x, enum scope b, struct seat y)
{
	if (x.block != NO_INDEX && x.block == y.block)
		return a >= SCOPE_CTA && b >= SCOPE_CTA;
	return a >= SCOPE_GPU && b >= SCOPE_GPU && (x.device == y.device || (a == SCOPE_SYS && b == SCOPE_SYS));
}

static void parts_add(struct parts *to, const struct part *p)
{
	for (size_t i = 0; i < to->count; i++) {
		struct part *o = &to->part[i];
		if (o->scope == p->scope && o->form == p->form && o->seat.device == p->seat.device && o->seat.block == p->seat.block &&
		    o->rank == p->rank && o->chained == p->chained && o->is_volatile == p->is_volatile) {
			o->clock = clock_join(o->clock, p->clock);
			return;
		}
	}
	to->part = table_grow(to->part, to->count, &to->room, sizeof *to->part);
	to->part[to->count] = *p;
	to->part[to->count++].clock = clock_hold(p->clock);
}

void parts_join(struct parts *to, const struct parts *from)
{
	for (size_t i = 0; i < from->count; i++)
		parts_add(to, &from->part[i]);
}

void parts_free(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++)
		clock_drop(p->part[i].clock);
	free(p->part);
	*p = (struct parts){ .count = 0 };
}

void sync_drop(struct message *m)
{
	if (!m || --m->holders)
		return;
	parts_free(&m->parts);
	if (!--m->access->holders)
		free(m->access);
	free(m);
}

/* ---- locations, as a logical thread has used them */

static struct place *place_of(struct ref *r, const struct access *a, int make)
{
	/* A location is exact to the byte: the operations of a pattern overlap completely. */
	const uint64_t key = (uint64_t)table_get(&r->memory_by_id, a->memory, 0) << 40 ^ a->offset << 5 ^ a->bytes;
	for (uint64_t twin = 0;; twin++) {
		uint32_t at = table_get(&r->place_by_key, key, twin << 32 | a->cta);
		if (at == TABLE_NONE && !make)
			return NULL;
		if (at == TABLE_NONE) {
			at = (uint32_t)r->places;
			r->place = table_grow(r->place, r->places, &r->place_room, sizeof *r->place);
			r->place[r->places++] = (struct place){ .memory = a->memory, .offset = a->offset, .bytes = a->bytes,
								.next = r->cta[a->cta].places };
			r->cta[a->cta].places = at;
			table_put(&r->place_by_key, key, twin << 32 | a->cta, at);
		}
		struct place *p = &r->place[at];
		if (p->memory == a->memory && p->offset == a->offset && p->bytes == a->bytes)
			return p;
	}
}

/* ---- acquire */

static void tidy(struct ref *r, struct cta *c)
{
	const uint32_t count = c->clock ? c->clock->count : 0;
	if (count < c->tidy + 32)
		return;
	c->clock = order_prune(r, c->clock);
	c->tidy = c->clock->count * 2;
}

/* The thread learns what was released; `how` is the acquire pattern's name. */
static void learn(struct ref *r, uint32_t cta, const struct part *p, const char *how)
{
	static const char *const released[FORMS] = { [FORM_STORE] = "st.release", [FORM_RMW] = "rmw.release", [FORM_FENCE] = "fence+write",
						     [FORM_AGAIN] = "release+write", [FORM_START] = "kernel-start", [FORM_SC] = "fence.sc" };
	struct cta *c = &r->cta[cta];
	if (clock_covers(c->clock, p->clock))
		return;
	c->clock = clock_join(c->clock, p->clock);
	tidy(r, c);
	const struct launch *l = &r->launch[c->launch];
	races_edge(r, released[p->form], cta, 1);
	races_edge(r, how, cta, 1);
	if (p->chained)
		races_edge(r, "rmw-chain", cta, 1);
	if (p->is_volatile)
		races_edge(r, "volatile", cta, 1);
	if (p->rank != l->rank)
		races_edge(r, "cross-rank", cta, 1);
	if (p->seat.device != l->device)
		races_edge(r, "cross-gpu", cta, 1);
}

/* Joins of what earlier reads set aside all that the pattern's last operation reaches; the rest stays. */
static void acquire_pending(struct ref *r, uint32_t cta, struct parts *pending, enum scope scope, const char *how)
{
	size_t kept = 0;
	for (size_t i = 0; i < pending->count; i++) {
		struct part *p = &pending->part[i];
		if (sync_reaches(p->scope, p->seat, scope, order_seat(r, cta))) {
			learn(r, cta, p, how);
			clock_drop(p->clock);
		} else {
			pending->part[kept++] = *p;
		}
	}
	pending->count = kept;
}

static void acquire_all_pending(struct ref *r, uint32_t cta, enum scope scope, const char *how)
{
	for (uint32_t at = r->cta[cta].places; at != NO_INDEX; at = r->place[at].next)
		acquire_pending(r, cta, &r->place[at].pending, scope, how);
	acquire_pending(r, cta, &r->cta[cta].heard, scope, how);
}

/* Both strong with scopes that include each other, or in program order; and the same bytes (8.7). */
int sync_linked(const struct ref *r, const struct access *w, const struct access *a)
{
	if (w->offset != a->offset || w->bytes != a->bytes)
		return 0;
	return !order_strangers(r, w, a) ||
	       (w->strong && a->strong && sync_reaches(w->scope, order_seat(r, w->cta), a->scope, order_seat(r, a->cta)));
}

void sync_look(struct ref *r, const struct access *a)
{
	/* `ld.relaxed M … ld.acquire M`; a red never acquires. */
	struct place *place = a->acquires ? place_of(r, a, 0) : NULL;
	if (place)
		acquire_pending(r, a->cta, &place->pending, a->scope, "relaxed+acquire");
}

void sync_observe(struct ref *r, const struct access *a, struct message *m)
{
	const struct access *w = m->access;
	if (!sync_linked(r, w, a)) {
		if (w->strong && m->parts.count && w->offset == a->offset && w->bytes == a->bytes)
			races_edge(r, "scope-rejected", a->cta, 1);
		return;
	}
	if (a->rmw && !a->used)
		return; /* a red never acquires; of an atom without result only what reads set aside counts */
	for (size_t i = 0; i < m->parts.count; i++) {
		struct part p = m->parts.part[i];
		p.is_volatile |= a->is_volatile;
		const int reached = sync_reaches(p.scope, p.seat, a->scope, order_seat(r, a->cta));
		if (a->acquires && !reached)
			races_edge(r, "scope-rejected", a->cta, 1);
		if (a->acquires && reached)
			learn(r, a->cta, &p, a->rmw ? "rmw.acquire" : "ld.acquire");
		else if (!clock_covers(r->cta[a->cta].clock, p.clock))
			parts_add(&place_of(r, a, 1)->pending, &p);
		if (reached)
			formal_observe(r, a, &p);
	}
}

/* The write itself and those it continues are before what follows the read in its thread: 8.9.5, by observation. */
void sync_follow(struct ref *r, const struct access *a, const struct access *w)
{
	struct cta *c = &r->cta[a->cta];
	struct chain *chain = &r->chain[w->chain];
	chain->touched = 1;
	if (chain->head == w->event && order_before(r, c->clock, w))
		return;
	c->clock = clock_with(c->clock, CLOCK_KEY(CLOCK_CHAIN, w->chain), w->event);
	tidy(r, c);
}

void sync_end(struct ref *r, uint32_t cta) /* the kernel's end is fence.acq_rel.sys */
{
	acquire_all_pending(r, cta, SCOPE_SYS, "kernel-end");
	for (uint32_t at = r->cta[cta].places; at != NO_INDEX; at = r->place[at].next) {
		parts_free(&r->place[at].released);
		parts_free(&r->place[at].pending);
	}
}

/* ---- release */

struct clock *sync_snapshot(struct ref *r, uint32_t cta)
{
	struct cta *c = &r->cta[cta];
	c->clock = clock_with(c->clock, CLOCK_KEY(CLOCK_CTA, cta), r->line);
	c->released = r->line;
	return c->clock;
}

static void chain_add(struct ref *r, uint32_t at, uint32_t launch)
{
	struct chain *c = &r->chain[at];
	for (size_t i = 0; i < c->launches; i++)
		if (c->launch[i] == launch)
			return;
	c->launch = table_grow(c->launch, c->launches, &c->room, sizeof *c->launch);
	c->launch[c->launches++] = launch;
}

static void chain_join(struct ref *r, struct access *a, const struct message *continued)
{
	if (continued) {
		a->chain = continued->access->chain;
		r->chain[a->chain].touched = 1;
	} else {
		a->chain = (uint32_t)r->chains;
		r->chain = table_grow(r->chain, r->chains, &r->chain_room, sizeof *r->chain);
		r->chain[r->chains++] = (struct chain){ .cta = a->cta, .head = a->event };
	}
	chain_add(r, a->chain, r->cta[a->cta].launch);
}

/* A CTA that is one logical thread needs nothing said within it. */
static int to_nobody(const struct ref *r, enum scope scope) { return scope == SCOPE_CTA && r->unit == &reference_units[UNIT_CTA]; }

/* What this strong write releases: by an earlier fence, an earlier release of the location, its own semantics. */
static void release(struct ref *r, const struct access *a, struct parts *to)
{
	const struct cta *c = &r->cta[a->cta];
	const struct launch *l = &r->launch[c->launch];
	struct part p = { .seat = order_seat(r, a->cta), .rank = l->rank, .is_volatile = a->is_volatile };
	for (int i = 0; i < FENCES; i++) {
		p.scope = SCOPE_CTA + (enum scope)i;
		p.form = c->fence_form[i];
		p.clock = c->fence[i];
		if (p.clock)
			parts_add(to, &p);
	}
	const struct place *before = place_of(r, a, 0);
	for (size_t i = 0; before && i < before->released.count; i++)
		parts_add(to, &before->released.part[i]);
	if (!a->releases || to_nobody(r, a->scope))
		return;
	p.scope = a->scope;
	p.form = a->rmw ? FORM_RMW : FORM_STORE;
	p.clock = sync_snapshot(r, a->cta);
	parts_add(to, &p);
	p.form = FORM_AGAIN;
	parts_add(&place_of(r, a, 1)->released, &p);
}

struct message *sync_publish(struct ref *r, struct access *a, const struct message *continued)
{
	struct message *m = table_alloc(sizeof *m);
	chain_join(r, a, continued);
	m->access = a;
	a->holders++;
	for (size_t i = 0; continued && i < continued->parts.count; i++) {
		struct part p = continued->parts.part[i];
		p.chained = 1;
		parts_add(&m->parts, &p);
	}
	if (a->strong)
		release(r, a, &m->parts);
	return m;
}

/* ---- fences */

static const struct fence_name {
	const char *name;
	int acquires, releases;
} fence_names[] = { { "acquire", 1, 0 }, { "release", 0, 1 }, { "acq_rel", 1, 1 }, { "sc", 1, 1 } };

/* Fence-SC order, if asked for: that of the trace. Each learns from all before it that it reaches (8.9.3, 8.9.4). */
static void fence_sc(struct ref *r, uint32_t cta, enum scope scope)
{
	const struct seat seat = order_seat(r, cta);
	for (size_t i = 0; i < r->sc.count; i++)
		if (sync_reaches(r->sc.part[i].scope, r->sc.part[i].seat, scope, seat))
			learn(r, cta, &r->sc.part[i], "fence.sc");
	const struct part p = { .scope = scope, .form = FORM_SC, .seat = seat, .rank = r->launch[r->cta[cta].launch].rank,
				.clock = sync_snapshot(r, cta) };
	parts_add(&r->sc, &p);
}

static void fence(struct ref *r, uint32_t cta, const struct fence_name *f, enum scope scope)
{
	struct cta *c = &r->cta[cta];
	const int at = (int)(scope - SCOPE_CTA);
	if (to_nobody(r, scope))
		return;
	if (f->acquires)
		acquire_all_pending(r, cta, scope, "fence-acquire");
	if (!strcmp(f->name, "sc") && r->flags & REF_SC)
		fence_sc(r, cta, scope);
	if (!f->releases || (c->fence_form[at] == FORM_FENCE && c->fence_at[at] > c->accessed && clock_covers(c->fence[at], c->clock)))
		return; /* the other threads of a warp repeat what the first one did */
	struct clock *now = clock_hold(sync_snapshot(r, cta));
	clock_drop(c->fence[at]);
	c->fence[at] = now;
	c->fence_form[at] = FORM_FENCE;
	c->fence_at[at] = r->line;
}

int sync_fence(struct ref *r, const struct event *e)
{
	static const struct { const char *name; enum scope scope; } scopes[] = {
		{ "cta", SCOPE_CTA }, { "cluster", SCOPE_GPU }, { "gpu", SCOPE_GPU }, { "sys", SCOPE_SYS } };
	uint32_t cta;
	const int rc = order_thread(r, e, &cta);
	if (rc)
		return rc;
	memory_settle(r, cta);
	for (size_t f = 0; f < sizeof fence_names / sizeof *fence_names; f++)
		for (size_t s = 0; s < sizeof scopes / sizeof *scopes; s++)
			if (!strcmp(e->word[0], fence_names[f].name) && !strcmp(e->word[1], scopes[s].name)) {
				fence(r, cta, &fence_names[f], scopes[s].scope);
				return 0;
			}
	return ref_fail(r, "no fence is '%s.%s'; semantics are acquire release acq_rel sc, scopes cta cluster gpu sys", e->word[0], e->word[1]);
}
