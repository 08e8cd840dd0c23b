/* What comes out: races by pairs of sites, edges by name, and one pair explained. */
#include "reference/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- races */

static enum ref_kind kind_of(const struct ref *r, const struct access *first, const struct access *second)
{
	if (first->strong && second->strong &&
	    !sync_reaches(first->scope, order_seat(r, first->cta), second->scope, order_seat(r, second->cta)))
		return REF_SCOPE;
	if ((first->rmw && first->writes) || (second->rmw && second->writes)) /* a cas that failed is a read */
		return REF_ATOMIC_PLAIN;
	if (second->nc)
		return REF_STALE_NC;
	if (!second->writes)
		return REF_RAW;
	return first->writes ? REF_WAW : REF_WAR;
}

/* Names are unique strings: a pair of kernels gets a number, and that with kind and ranks is the second half of a key
 * whose first half is the lines. */
static uint64_t who_raced(struct ref *r, const struct ref_race *x)
{
	const uint64_t a = (uint64_t)(uintptr_t)x->kernel[0], b = (uint64_t)(uintptr_t)x->kernel[1];
	uint32_t kernels = table_get(&r->race_by_kernels, a, b);
	if (kernels == TABLE_NONE) {
		kernels = (uint32_t)r->race_by_kernels.used;
		table_put(&r->race_by_kernels, a, b, kernels);
	}
	return (uint64_t)kernels << 32 | (uint64_t)x->kind << 28 | (x->rank[0] & 0x3fff) << 14 | (x->rank[1] & 0x3fff);
}

static uint64_t lines_raced(const struct ref_race *x) { return (uint64_t)x->site[0] << 32 | x->site[1]; }

static struct ref_race *race_of(struct ref *r, const struct ref_race *like)
{
	const uint64_t lines = lines_raced(like), who = who_raced(r, like);
	uint32_t at = table_get(&r->race_by_sites, lines, who);
	if (at == TABLE_NONE) {
		at = (uint32_t)r->races;
		r->race = table_grow(r->race, r->races, &r->race_room, sizeof *r->race);
		r->race[r->races++] = *like;
		table_put(&r->race_by_sites, lines, who, at);
	}
	return &r->race[at];
}

struct ref_race *races_add(struct ref *r, const struct access *first, const struct access *second)
{
	const struct launch *x = &r->launch[r->cta[first->cta].launch], *y = &r->launch[r->cta[second->cta].launch];
	const uint64_t from = first->offset > second->offset ? first->offset : second->offset;
	const uint64_t end1 = first->offset + first->bytes, end2 = second->offset + second->bytes;
	const struct ref_race like = { .kind = kind_of(r, first, second), .kernel = { x->kernel, y->kernel },
				       .site = { first->site, second->site }, .rank = { x->rank, y->rank }, .memory = second->memory,
				       .offset = from, .bytes = (end1 < end2 ? end1 : end2) - from, .event = { first->event, second->event } };
	struct ref_race *race = race_of(r, &like);
	race->count += first->times;
	return race;
}

const char races_behind[] = "-";

static int site_order(const struct ref_site *a, const struct ref_site *b)
{
	const int names = strcmp(a->kernel, b->kernel);
	return names ? names : a->line != b->line ? (a->line < b->line ? -1 : 1) : a->second - b->second;
}

void races_site(struct sites *s, const struct ref_site *site)
{
	size_t at = 0;
	while (at < s->count && site_order(&s->site[at], site) < 0)
		at++;
	if (at < s->count && !site_order(&s->site[at], site))
		return;
	s->site = table_grow(s->site, s->count, &s->room, sizeof *s->site);
	memmove(s->site + at + 1, s->site + at, (s->count++ - at) * sizeof *s->site);
	s->site[at] = *site;
}

static int same_sites(const struct ref_site *one, size_t count, const struct sites *other)
{
	size_t same = 0;
	while (same < count && same < other->count && !site_order(&one[same], &other->site[same]))
		same++;
	return same == count && same == other->count;
}

/* One of these stands for the first access of a pair. Its own site only if it is the only one: the race would be its own name. */
void races_dominated(struct ref_race *race, struct sites *any)
{
	const struct ref_site own = { .kernel = race->kernel[0], .line = race->site[0] };
	size_t kept = 0;
	for (size_t i = 0; i < any->count && any->count > 1; i++)
		if (site_order(&any->site[i], &own))
			any->site[kept++] = any->site[i];
	any->count = kept ? kept : any->count;
	for (size_t i = 0, n; i < race->bys; i += n) {
		for (n = 1; i + n < race->bys && race->by[i + n].or; n++)
			;
		if (same_sites(race->by + i, n, any))
			return;
	}
	for (size_t i = 0; i < any->count; i++) {
		race->by = table_grow(race->by, race->bys, &race->by_room, sizeof *race->by);
		race->by[race->bys] = any->site[i];
		race->by[race->bys++].or = i > 0;
	}
}

int races_by_sites(const void *one, const void *other)
{
	const struct ref_race *a = one, *b = other;
	for (int i = 0; i < 2; i++) {
		const int names = strcmp(a->kernel[i], b->kernel[i]);
		if (names)
			return names;
		if (a->site[i] != b->site[i])
			return a->site[i] < b->site[i] ? -1 : 1;
		if (a->rank[i] != b->rank[i])
			return a->rank[i] < b->rank[i] ? -1 : 1;
	}
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

size_t ref_races(struct ref *r, const struct ref_race **races)
{
	for (size_t i = 0; i < r->ctas; i++) /* of a trace that is cut off */
		memory_settle(r, (uint32_t)i);
	size_t kept = 0;
	for (size_t i = 0; i < r->races; i++) /* REF_LATE takes pairs back */
		if (r->race[i].count)
			r->race[kept++] = r->race[i];
		else
			free(r->race[i].by);
	r->races = kept;
	if (r->races)
		qsort(r->race, r->races, sizeof *r->race, races_by_sites);
	table_free(&r->race_by_sites); /* it has the old places */
	r->race_by_sites = (struct table){ .used = 0 };
	for (size_t i = 0; i < r->races; i++)
		table_put(&r->race_by_sites, lines_raced(&r->race[i]), who_raced(r, &r->race[i]), (uint32_t)i);
	formal_tell(r);
	*races = r->race;
	return r->races;
}

const char *ref_kind_name(enum ref_kind kind)
{
	static const char *const names[REF_KINDS] = {
		[REF_RAW] = "read-after-write", [REF_WAR] = "write-after-read", [REF_WAW] = "write-after-write",
		[REF_ATOMIC_PLAIN] = "atomic-vs-plain", [REF_SCOPE] = "insufficient-scope", [REF_STALE_NC] = "stale-nc-read" };
	return names[kind];
}

/* ---- edges */

void races_edge(struct ref *r, const char *name, uint32_t cta, uint64_t count)
{
	const char *kernel = r->launch[r->cta[cta].launch].kernel;
	const uint64_t a = (uint64_t)(uintptr_t)name, b = (uint64_t)(uintptr_t)kernel;
	uint32_t at = table_get(&r->edge_by_name, a, b);
	if (at == TABLE_NONE) {
		at = (uint32_t)r->edges;
		r->edge = table_grow(r->edge, r->edges, &r->edge_room, sizeof *r->edge);
		r->edge[r->edges++] = (struct ref_edge){ .name = name, .kernel = kernel };
		table_put(&r->edge_by_name, a, b, at);
	}
	r->edge[at].count += count;
}

size_t ref_edges(struct ref *r, const struct ref_edge **edges)
{
	*edges = r->edge;
	return r->edges;
}

/* ---- one pair explained */

void ref_explain(struct ref *r, uint64_t event1, uint64_t event2)
{
	r->explain.event[0] = event1 < event2 ? event1 : event2;
	r->explain.event[1] = event1 < event2 ? event2 : event1;
}

const char *ref_explanation(const struct ref *r) { return r->explain.text; }

static void say_who(const struct ref *r, FILE *to, uint32_t cta)
{
	const struct launch *l = &r->launch[r->cta[cta].launch];
	fprintf(to, "CTA %llu of kernel %s (launch %llu, number %llu of its stream, rank %u, GPU %u)", (unsigned long long)r->cta[cta].index,
		l->kernel, (unsigned long long)l->id, (unsigned long long)l->number, l->rank, l->device);
}

static void say_access(const struct ref *r, FILE *to, const struct access *a)
{
	static const char *const scopes[] = { "", " of CTA scope", " of GPU scope", " of system scope" };
	fprintf(to, "event %llu: %s %s%s of %llu bytes at %llu of memory %llu, line %u, by ", (unsigned long long)a->event,
		a->nc ? "non-coherent" : a->strong ? "strong" : "weak", a->rmw ? "atomic" : a->writes ? "write" : "read", scopes[a->scope],
		(unsigned long long)a->bytes, (unsigned long long)a->offset, (unsigned long long)a->memory, a->site);
	say_who(r, to, a->cta);
	fputc('\n', to);
}

static void say_clock(const struct ref *r, FILE *to, const struct clock *c)
{
	for (uint32_t i = 0; c && i < c->count; i++) {
		const uint32_t index = (uint32_t)c->elem[i].key;
		const unsigned long long value = c->elem[i].value;
		switch (c->elem[i].key >> 32) {
		case CLOCK_STREAM:
			fprintf(to, "  the first %llu launches of stream %llu\n", value, (unsigned long long)r->stream[index].id);
			break;
		case CLOCK_CTA:
			fprintf(to, "  up to event %llu: ", value);
			say_who(r, to, index);
			fputc('\n', to);
			break;
		default:
			fprintf(to, "  the writes, alone, of the chain that event %llu begins, up to event %llu\n",
				(unsigned long long)r->chain[index].head, value);
		}
	}
}

static const char *verdict(const struct ref *r, const struct access *first, const struct access *a, const struct clock *clock)
{
	if (first->memory != a->memory || first->offset >= a->offset + a->bytes || a->offset >= first->offset + first->bytes)
		return "they touch different bytes";
	if (!first->writes && !a->writes)
		return "both only read";
	if (!order_strangers(r, first, a) && !a->nc)
		return "one logical thread does both, or one CTA";
	if (sync_linked(r, first, a) && order_strangers(r, first, a))
		return "they are morally strong: no race, in whatever order";
	if (order_before(r, clock, first))
		return "ordered: the list below has the first";
	return "a race: nothing in the list below has the first";
}

void races_explain(struct ref *r, struct access *a)
{
	struct explain *x = &r->explain;
	size_t length;
	if (a->event == x->event[0] && !x->first) {
		x->first = a;
		a->holders++;
	}
	if (a->event == x->event[1] && x->first && !x->text) {
		const struct cta *c = &r->cta[a->cta];
		const struct clock *clock = a->nc ? r->launch[c->launch].base : c->clock;
		FILE *to = open_memstream(&x->text, &length);
		if (!to)
			return;
		say_access(r, to, x->first);
		say_access(r, to, a);
		fprintf(to, "%s\nbefore event %llu is, of others:\n", verdict(r, x->first, a, clock), (unsigned long long)a->event);
		say_clock(r, to, clock);
		fclose(to);
	}
}
