/* Barriers inside a CTA (DESIGN 6): those who arrive at a phase are before those who go on behind it, however they wait, and
 * nobody else is. An mbarrier's arrivals are RMWs of one location, each of which continues those before: a phase has what earlier
 * ones had. Where a CTA is one logical thread there is nothing to order. */
#include "reference/model.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "bar", "mbar" };
enum { KIND_BAR, KIND_MBAR, KINDS };

/* The event's CTA, and its barrier `id` there. */
static int barrier_of(struct ref *r, const struct event *e, uint64_t id, uint32_t *block, int *kind, struct barrier **b)
{
	const int rc = order_cta(r, e->number[0], e->number[1], block);
	if (rc)
		return rc;
	for (*kind = 0; *kind < KINDS && strcmp(e->word[0], kinds[*kind]); ++*kind)
		;
	if (*kind == KINDS)
		return ref_fail(r, "unknown barrier '%s'; it is one of bar mbar", e->word[0]);
	const uint64_t key = id << 1 | (uint64_t)*kind;
	uint32_t at = table_get(&r->barrier_by_id, *block, key);
	if (at == TABLE_NONE) {
		at = (uint32_t)r->barriers;
		r->barrier = table_grow(r->barrier, r->barriers++, &r->barrier_room, sizeof *r->barrier);
		table_put(&r->barrier_by_id, *block, key, at);
	}
	*b = &r->barrier[at];
	return 0;
}

static void met_free(struct met *m)
{
	clock_drop(m->clock);
	for (int i = 0; i < FENCES; i++)
		clock_drop(m->fence[i]);
	parts_free(&m->heard);
	*m = (struct met){ .clock = NULL };
}

static void met_join(struct met *to, const struct met *from)
{
	to->clock = clock_join(to->clock, from->clock);
	for (int i = 0; i < FENCES; i++)
		to->fence[i] = clock_join(to->fence[i], from->fence[i]);
	parts_join(&to->heard, &from->heard);
}

static void give(struct ref *r, struct met *m, uint32_t thread)
{
	m->clock = clock_join(m->clock, sync_snapshot(r, thread));
	formal_arrive(r, m, thread);
}

static void take(struct ref *r, const struct met *m, uint32_t thread)
{
	r->cta[thread].clock = clock_join(r->cta[thread].clock, m->clock);
	formal_pass(r, m, thread);
}

void barrier_inherit(struct ref *r, uint32_t thread, uint32_t block)
{
	struct met all = { .clock = clock_hold(r->cta[block].clock) };
	formal_arrive(r, &all, block);
	take(r, &all, thread);
	met_free(&all);
}

/* All of the CTA are ordered, those too who do nothing before this: something is, and nobody can say what. */
static void order_all(struct ref *r, uint32_t block)
{
	struct met all = { .clock = NULL };
	for (uint32_t t = r->cta[block].sibling; t != NO_INDEX; t = r->cta[t].sibling)
		memory_settle(r, t);
	for (uint32_t t = r->cta[block].sibling; t != NO_INDEX; t = r->cta[t].sibling)
		give(r, &all, t);
	for (uint32_t t = block; t != NO_INDEX; t = r->cta[t].sibling)
		take(r, &all, t);
	met_free(&all);
}

typedef void (*each_fn)(struct ref *r, struct barrier *b, uint32_t thread);

static void arrives(struct ref *r, struct barrier *b, uint32_t thread) { give(r, &b->arriving, thread); }
static void passes(struct ref *r, struct barrier *b, uint32_t thread) { take(r, &b->complete, thread); }

/* `L CTA WARP LANES LINE KIND ID HOW …`, of each logical thread that has some of the lanes. */
static int each(struct ref *r, const struct event *e, each_fn does)
{
	const uint64_t lanes = e->number[3];
	uint32_t block, last = NO_INDEX;
	struct barrier *b;
	int kind, rc = barrier_of(r, e, e->number[5], &block, &kind, &b);
	if (rc)
		return rc;
	if (!lanes || lanes > UINT32_MAX)
		return ref_fail(r, "lanes 0x%llx of a warp; write a mask of 32 bits", (unsigned long long)lanes);
	if (!strcmp(e->word[1], "relaxed"))
		order_all(r, block); /* fences may make it order what they like */
	for (unsigned l = 0; l < 32; l++) {
		uint32_t thread = block;
		if (lanes >> l & 1)
			rc = order_thread_of(r, block, 32 * e->number[2] + l, &thread);
		if (rc)
			return rc;
		if (thread == block || thread == last)
			continue;
		memory_settle(r, thread);
		does(r, b, last = thread);
	}
	return 0;
}

int barrier_arrive(struct ref *r, const struct event *e) { return each(r, e, arrives); }
int barrier_pass(struct ref *r, const struct event *e) { return each(r, e, passes); }

int barrier_phase(struct ref *r, const struct event *e)
{
	uint32_t block;
	struct barrier *b;
	int kind;
	const int rc = barrier_of(r, e, e->number[2], &block, &kind, &b);
	if (rc)
		return rc;
	for (uint32_t t = block; kind == KIND_BAR && t != NO_INDEX; t = r->cta[t].sibling)
		memory_settle(r, t);
	if (kind == KIND_BAR)
		met_free(&b->complete);
	met_join(&b->complete, &b->arriving);
	met_free(&b->arriving);
	return 0;
}

int barrier_init(struct ref *r, const struct event *e)
{
	uint32_t block;
	struct barrier *b;
	int kind;
	const int rc = barrier_of(r, e, e->number[2], &block, &kind, &b);
	if (rc)
		return rc;
	met_free(&b->arriving);
	met_free(&b->complete);
	return 0;
}

int barrier_shared(struct ref *r, const struct event *e)
{
	uint32_t thread;
	const int rc = order_thread(r, e, &thread);
	if (!rc)
		order_all(r, r->cta[thread].block);
	return rc;
}

void barrier_free(struct ref *r)
{
	for (size_t i = 0; i < r->barriers; i++) {
		met_free(&r->barrier[i].arriving);
		met_free(&r->barrier[i].complete);
	}
	free(r->barrier);
}
