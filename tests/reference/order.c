/* Launches, streams, recordings and what hosts are told: DESIGN 5 and 7; and who the logical threads are. */
#include "reference/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- by their numbers in the trace */

static uint32_t stream_of(struct ref *r, uint64_t id)
{
	uint32_t at = table_get(&r->stream_by_id, id, 0);
	if (at != TABLE_NONE)
		return at;
	r->stream = table_grow(r->stream, r->streams, &r->stream_room, sizeof *r->stream);
	r->stream[r->streams].id = id;
	table_put(&r->stream_by_id, id, 0, (uint32_t)r->streams);
	return (uint32_t)r->streams++;
}

static int launch_of(struct ref *r, uint64_t id, uint32_t *launch)
{
	*launch = table_get(&r->launch_by_id, id, 0);
	if (*launch == TABLE_NONE)
		return ref_fail(r, "launch %llu was never enqueued; its 'launch' or 'range' line must come first", (unsigned long long)id);
	return 0;
}

static void tail_add(struct tail *t, uint32_t launch)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->launch[i] == launch)
			return;
	t->launch = table_grow(t->launch, t->count, &t->room, sizeof *t->launch);
	t->launch[t->count++] = launch;
}

/* ---- enqueueing */

static int enqueue(struct ref *r, const struct event *e, const char *kernel, struct launch **out)
{
	const uint64_t id = e->number[0];
	if (table_get(&r->launch_by_id, id, 0) != TABLE_NONE)
		return ref_fail(r, "launch %llu is enqueued a second time; every launch of the job has a number of its own",
				(unsigned long long)id);
	const uint32_t stream = stream_of(r, e->number[3]), at = (uint32_t)r->launches;
	r->launch = table_grow(r->launch, r->launches, &r->launch_room, sizeof *r->launch);
	struct launch *l = &r->launch[r->launches++];
	struct tail *tail = &r->stream[stream].tail;
	*l = (struct launch){ .id = id, .number = ++r->stream[stream].launches, .stream = stream, .rank = (uint32_t)e->number[1],
			      .device = (uint32_t)e->number[2], .kernel = names_get(&r->names, kernel), .grid = 1, .block = 1,
			      .host = clock_hold(r->host), .ctas = NO_INDEX, .previous_live = NO_INDEX, .next_live = r->live };
	l->after = tail->launch;
	l->afters = tail->count;
	*tail = (struct tail){ .count = 0 };
	tail_add(tail, at);
	if (r->live != NO_INDEX)
		r->launch[r->live].previous_live = at;
	r->live = at;
	r->lives++;
	table_put(&r->launch_by_id, id, 0, at);
	*out = l;
	return 0;
}

int order_launch(struct ref *r, const struct event *e)
{
	struct launch *l;
	const int rc = enqueue(r, e, e->word[0], &l);
	if (rc)
		return rc;
	l->grid = e->number[4] * e->number[5] * e->number[6];
	l->block = e->number[7];
	return l->grid && l->block ? 0 : ref_fail(r, "launch %llu has no thread; grid and block count from 1", (unsigned long long)l->id);
}

int order_range(struct ref *r, const struct event *e)
{
	struct launch *l;
	for (size_t i = 0; i < e->words; i++)
		if (strcmp(e->word[i], i ? "ld" : "st") && (i || strcmp(e->word[i], "ld")))
			return ref_fail(r, "a range cannot '%s'; write st or ld, and ld for the second", e->word[i]);
	const int rc = enqueue(r, e, e->words == 1 && *e->word[0] == 's' ? "set" : "copy", &l);
	if (rc)
		return rc;
	l->ranges = e->words;
	for (size_t i = 0; i < l->ranges; i++) {
		const uint64_t *n = &e->number[4 + 3 * i];
		if (n[1] > MEMORY_END || n[2] > MEMORY_END)
			return ref_fail(r, "%llu bytes at offset %llu; no allocation is so long", (unsigned long long)n[2], (unsigned long long)n[1]);
		l->range[i] = (struct range){ .writes = *e->word[i] == 's', .memory = n[0], .offset = n[1], .bytes = n[2] };
	}
	return 0;
}

int order_name(struct ref *r, const struct event *e)
{
	uint32_t at;
	const int rc = launch_of(r, e->number[0], &at);
	if (!rc)
		r->launch[at].kernel = names_get(&r->names, e->word[0]);
	return rc;
}

int order_record(struct ref *r, const struct event *e)
{
	if (table_get(&r->recording_by_id, e->number[0], 0) != TABLE_NONE)
		return ref_fail(r, "recording %llu is made a second time; each recording has a number of its own",
				(unsigned long long)e->number[0]);
	const uint32_t stream = stream_of(r, e->number[1]); /* may move the array */
	const struct tail *from = &r->stream[stream].tail;
	r->recording = table_grow(r->recording, r->recordings, &r->recording_room, sizeof *r->recording);
	for (size_t i = 0; i < from->count; i++)
		tail_add(&r->recording[r->recordings], from->launch[i]);
	table_put(&r->recording_by_id, e->number[0], 0, (uint32_t)r->recordings++);
	return 0;
}

int order_wait(struct ref *r, const struct event *e)
{
	const uint32_t recording = table_get(&r->recording_by_id, e->number[0], 0);
	if (recording == TABLE_NONE)
		return ref_fail(r, "recording %llu was never made; its 'record' line must come first", (unsigned long long)e->number[0]);
	const uint32_t stream = stream_of(r, e->number[1]); /* may move the array */
	struct tail *to = &r->stream[stream].tail;
	for (size_t i = 0; i < r->recording[recording].count; i++)
		tail_add(to, r->recording[recording].launch[i]);
	return 0;
}

/* ---- execution */

/* Elements that others of the same clock imply: all of a launch that is complete in it; a chain whose writes are. */
static int implied(const void *with, const struct clock *c, const struct clock_elem *e)
{
	const struct ref *r = with;
	const uint32_t index = (uint32_t)e->key;
	if (e->key >> 32 == CLOCK_STREAM)
		return 0;
	const uint32_t *launch = &r->cta[index].launch;
	size_t launches = 1;
	if (e->key >> 32 == CLOCK_CHAIN) {
		const struct chain *chain = &r->chain[index];
		if (chain->head == e->value && clock_at(c, CLOCK_KEY(CLOCK_CTA, chain->cta)) >= chain->head)
			return 1;
		launch = chain->launch;
		launches = chain->launches;
	}
	for (size_t i = 0; i < launches; i++)
		if (clock_at(c, CLOCK_KEY(CLOCK_STREAM, r->launch[launch[i]].stream)) < r->launch[launch[i]].number)
			return 0;
	return 1;
}

struct clock *order_prune(const struct ref *r, struct clock *c) { return clock_prune(c, implied, r); }

int order_begin(struct ref *r, const struct event *e)
{
	uint32_t at;
	const int rc = launch_of(r, e->number[0], &at);
	if (rc)
		return rc;
	struct launch *l = &r->launch[at];
	if (l->state != LAUNCH_QUEUED)
		return ref_fail(r, "launch %llu begins a second time; each 'begin' needs a launch of its own", (unsigned long long)l->id);
	struct clock *base = clock_hold(l->host);
	for (size_t i = 0; i < l->afters; i++) {
		const struct launch *other = &r->launch[l->after[i]];
		if (other->state != LAUNCH_DONE) {
			clock_drop(base);
			return ref_fail(r, "launch %llu begins before launch %llu is done, which its stream waits for; the trace is out of order",
					(unsigned long long)l->id, (unsigned long long)other->id);
		}
		base = clock_join(base, other->end);
	}
	l->base = order_prune(r, base);
	l->state = LAUNCH_RUNNING;
	if (l->ranges)
		memory_range(r, at);
	return 0;
}

/* CTA `index` of a launch, or one of the logical threads of `block`; `which` tells them apart. */
static uint32_t cta_make(struct ref *r, uint32_t launch, uint64_t index, uint64_t which, uint32_t block)
{
	struct launch *l = &r->launch[launch];
	const uint32_t at = (uint32_t)r->ctas;
	r->cta = table_grow(r->cta, r->ctas, &r->cta_room, sizeof *r->cta);
	/* The kernel's start is fence.acq_rel.sys: what is before the launch is released by every strong write. */
	r->cta[r->ctas++] = (struct cta){ .launch = launch, .index = index, .block = block == NO_INDEX ? at : block, .places = NO_INDEX,
					  .clock = clock_hold(l->base), .fence = { [SCOPE_SYS - SCOPE_CTA] = clock_hold(l->base) },
					  .fence_form = { FORM_FENCE, FORM_FENCE, [SCOPE_SYS - SCOPE_CTA] = FORM_START },
					  .next = l->ctas, .sibling = NO_INDEX };
	l->ctas = at;
	table_put(&r->cta_by_index, launch, which, at);
	return at;
}

/* The number of a CTA among the logical threads of its launch; those of it have the next ones. */
static uint64_t number_of(const struct launch *l, uint64_t index) { return index * (l->block + 1); }

int order_cta(struct ref *r, uint64_t id, uint64_t index, uint32_t *cta)
{
	uint32_t launch;
	const int rc = launch_of(r, id, &launch);
	if (rc)
		return rc;
	const struct launch *l = &r->launch[launch];
	if (l->state != LAUNCH_RUNNING)
		return ref_fail(r, "launch %llu %s; it runs from 'begin' to 'done'", (unsigned long long)id,
				l->state == LAUNCH_DONE ? "is done already" : "has not begun");
	if (index >= l->grid)
		return ref_fail(r, "launch %llu has no CTA %llu: its grid has %llu, counted from 0", (unsigned long long)id,
				(unsigned long long)index, (unsigned long long)l->grid);
	*cta = table_get(&r->cta_by_index, launch, number_of(l, index));
	if (*cta == TABLE_NONE)
		*cta = cta_make(r, launch, index, number_of(l, index), NO_INDEX);
	if (r->cta[*cta].ended)
		return ref_fail(r, "CTA %llu of launch %llu has ended; nothing of it may follow its 'exit'", (unsigned long long)index,
				(unsigned long long)id);
	return 0;
}

int order_thread_of(struct ref *r, uint32_t block, uint64_t thread, uint32_t *cta)
{
	const uint32_t launch = r->cta[block].launch;
	const struct launch *l = &r->launch[launch];
	const uint64_t index = r->cta[block].index, which = number_of(l, index) + 1 + thread / r->unit->threads;
	if (thread >= l->block)
		return ref_fail(r, "thread %llu in a block of %llu, counted from 0", (unsigned long long)thread,
				(unsigned long long)l->block);
	*cta = block;
	if (r->unit == &reference_units[UNIT_CTA])
		return 0;
	*cta = table_get(&r->cta_by_index, launch, which);
	if (*cta == TABLE_NONE) {
		*cta = cta_make(r, launch, index, which, block);
		barrier_inherit(r, *cta, block); /* what all of the CTA know */
		r->cta[*cta].sibling = r->cta[block].sibling;
		r->cta[block].sibling = *cta;
	}
	return 0;
}

int order_thread(struct ref *r, const struct event *e, uint32_t *cta)
{
	uint32_t block;
	const int rc = order_cta(r, e->number[0], e->number[1], &block);
	return rc ? rc : order_thread_of(r, block, e->number[2], cta);
}

struct seat order_seat(const struct ref *r, uint32_t cta)
{
	const struct cta *c = &r->cta[cta];
	return (struct seat){ r->launch[c->launch].device, r->unit == &reference_units[UNIT_CTA] ? NO_INDEX : c->block };
}

int order_strangers(const struct ref *r, const struct access *a, const struct access *b)
{
	return r->unit->inside ? a->cta != b->cta : r->cta[a->cta].block != r->cta[b->cta].block;
}

int order_exit(struct ref *r, const struct event *e)
{
	uint32_t cta;
	const int rc = order_cta(r, e->number[0], e->number[1], &cta);
	if (rc)
		return rc;
	for (; cta != NO_INDEX; cta = r->cta[cta].sibling) {
		memory_settle(r, cta);
		sync_end(r, cta);
		r->cta[cta].ended = 1;
	}
	return 0;
}

static void unlist(struct ref *r, struct launch *l)
{
	if (l->next_live != NO_INDEX)
		r->launch[l->next_live].previous_live = l->previous_live;
	if (l->previous_live != NO_INDEX)
		r->launch[l->previous_live].next_live = l->next_live;
	else
		r->live = l->next_live;
	r->lives--;
}

static void cta_forget(struct cta *c) /* its accesses stay, its clocks went into the launch's end */
{
	for (int i = 0; i < FENCES; i++) {
		clock_drop(c->fence[i]);
		c->fence[i] = NULL;
	}
	clock_drop(c->clock);
	clock_drop(c->relaxed);
	c->clock = c->relaxed = NULL;
	parts_free(&c->heard);
}

int order_done(struct ref *r, const struct event *e)
{
	uint32_t at;
	const int rc = launch_of(r, e->number[0], &at);
	if (rc)
		return rc;
	struct launch *l = &r->launch[at];
	if (l->state != LAUNCH_RUNNING)
		return ref_fail(r, "launch %llu is done but %s; 'begin' comes once, 'done' once after it", (unsigned long long)l->id,
				l->state == LAUNCH_DONE ? "was done already" : "never began");
	struct clock *end = clock_hold(l->base);
	for (uint32_t c = l->ctas; c != NO_INDEX; c = r->cta[c].next) {
		if (!l->ranges)
			memory_settle(r, c);
		if (!r->cta[c].ended)
			sync_end(r, c);
		r->cta[c].ended = 1;
		end = clock_join(end, r->cta[c].clock);
		cta_forget(&r->cta[c]);
	}
	end = clock_with(end, CLOCK_KEY(CLOCK_STREAM, l->stream), l->number);
	l->end = order_prune(r, end);
	l->state = LAUNCH_DONE;
	unlist(r, l);
	return 0;
}

/* What every launch that runs or is still to come is after. Accesses below it can race with nothing any more. */
static void raise_floor(struct ref *r)
{
	if (r->lives > 16 && r->line < r->floor_at + 16 * r->lives) /* a long list: not every time */
		return;
	struct clock *floor = clock_hold(r->host);
	for (uint32_t l = r->live; l != NO_INDEX; l = r->launch[l].next_live)
		floor = clock_meet(floor, r->launch[l].state == LAUNCH_QUEUED ? r->launch[l].host : r->launch[l].base);
	clock_drop(r->floor);
	r->floor = floor;
	r->floor_at = r->line;
	r->floors++;
}

int order_complete(struct ref *r, const struct event *e)
{
	for (size_t i = 0; i < e->rests; i++) {
		uint32_t at;
		const int rc = launch_of(r, e->rest[i], &at);
		if (rc)
			return rc;
		struct launch *l = &r->launch[at];
		if (l->state != LAUNCH_DONE)
			return ref_fail(r, "a host is told that launch %llu is complete, which is not done; the trace is out of order",
					(unsigned long long)l->id);
		if (!l->told)
			r->host = clock_join(r->host, l->end);
		for (uint32_t c = l->ranges && !l->told ? l->ctas : NO_INDEX; c != NO_INDEX; c = r->cta[c].next)
			memory_settle(r, c);
		l->told = 1;
	}
	r->host = order_prune(r, r->host);
	raise_floor(r);
	return 0;
}

int order_before(const struct ref *r, const struct clock *c, const struct access *a)
{
	const uint32_t launch = r->cta[a->cta].launch;
	return clock_at(c, CLOCK_KEY(CLOCK_STREAM, r->launch[launch].stream)) >= r->launch[launch].number ||
	       clock_at(c, CLOCK_KEY(CLOCK_CTA, a->cta)) >= a->event ||
	       (a->writes && clock_at(c, CLOCK_KEY(CLOCK_CHAIN, a->chain)) >= a->event) ||
	       (a->writes && r->chain[a->chain].into && clock_at(c, CLOCK_KEY(CLOCK_CHAIN, r->chain[a->chain].into - 1)) >= a->event);
}

void order_free(struct ref *r)
{
	for (size_t i = 0; i < r->launches; i++) {
		free(r->launch[i].after);
		clock_drop(r->launch[i].host);
		clock_drop(r->launch[i].base);
		clock_drop(r->launch[i].end);
	}
	for (size_t i = 0; i < r->streams; i++)
		free(r->stream[i].tail.launch);
	for (size_t i = 0; i < r->recordings; i++)
		free(r->recording[i].launch);
	for (size_t i = 0; i < r->ctas; i++)
		cta_forget(&r->cta[i]);
	free(r->launch);
	free(r->stream);
	free(r->recording);
	free(r->cta);
	clock_drop(r->host);
	clock_drop(r->floor);
}
