/* Who touched which byte. The bytes of an allocation are divided into cells, whose bytes were always touched together; an
 * access that begins or ends inside a cell splits it. A cell keeps its last write, for who reads from it, and every
 * access that may still race, in bags of such as behave alike. */
#include "reference/model.h"

#include <stdlib.h>
#include <string.h>

#define GRANULE UINT64_C(8) /* what shadow keeps a record of at the finest */

struct bag { /* accesses that agree in all that moral strength and conflict ask */
	uint64_t offset, bytes;
	int writes, rmw, strong, nc;
	enum scope scope;
	uint32_t device;
	uint64_t floors; /* the floor that it was last held against */
	struct access **access;
	size_t count, room;
};

struct cell { /* of a treap, in the order of offsets */
	uint64_t offset, bytes;
	struct cell *left, *right;
	uint32_t priority;
	struct message *last;
	struct bag *bag;
	size_t bags, room;
};

/* ---- cells */

static struct cell *rotate_right(struct cell *c)
{
	struct cell *top = c->left;
	c->left = top->right;
	top->right = c;
	return top;
}

static struct cell *rotate_left(struct cell *c)
{
	struct cell *top = c->right;
	c->right = top->left;
	top->left = c;
	return top;
}

static struct cell *insert(struct cell *at, struct cell *new)
{
	if (!at)
		return new;
	if (new->offset < at->offset) {
		at->left = insert(at->left, new);
		return at->left->priority > at->priority ? rotate_right(at) : at;
	}
	at->right = insert(at->right, new);
	return at->right->priority > at->priority ? rotate_left(at) : at;
}

/* The first cell that ends behind `offset`. */
static struct cell *cell_at(const struct memory *m, uint64_t offset)
{
	struct cell *found = NULL;
	for (struct cell *c = m->root; c;) {
		if (c->offset + c->bytes > offset) {
			found = c;
			c = c->left;
		} else {
			c = c->right;
		}
	}
	return found;
}

static struct cell *cell_make(struct memory *m, uint64_t offset, uint64_t bytes)
{
	struct cell *c = table_alloc(sizeof *c);
	c->offset = offset;
	c->bytes = bytes;
	c->priority = (uint32_t)((offset + 1) * 0x9e3779b97f4a7c15u >> 32);
	m->root = insert(m->root, c);
	return c;
}

static void cell_split(struct memory *m, struct cell *c, uint64_t offset)
{
	struct cell *rest = cell_make(m, offset, c->offset + c->bytes - offset);
	c->bytes = offset - c->offset;
	rest->last = c->last;
	if (rest->last)
		rest->last->holders++;
	rest->bags = rest->room = c->bags;
	rest->bag = table_alloc(c->bags * sizeof *c->bag);
	for (size_t i = 0; i < c->bags; i++) {
		struct bag *b = &rest->bag[i];
		*b = c->bag[i];
		b->room = b->count;
		b->access = table_alloc(b->count * sizeof(struct access *));
		for (size_t k = 0; k < b->count; k++) {
			b->access[k] = c->bag[i].access[k];
			b->access[k]->holders++;
		}
	}
}

/* Makes cells so that they cover the bytes of the access and no others. Returns the first. */
static void cover(struct memory *m, uint64_t offset, uint64_t end)
{
	struct cell *c = cell_at(m, offset);
	if (c && c->offset < offset)
		cell_split(m, c, offset);
	for (uint64_t at = offset; at < end;) {
		c = cell_at(m, at);
		if (!c || c->offset > at)
			c = cell_make(m, at, (c && c->offset < end ? c->offset : end) - at);
		else if (c->offset + c->bytes > end)
			cell_split(m, c, end);
		at = c->offset + c->bytes;
	}
}

static struct memory *memory_of(struct ref *r, uint64_t id)
{
	uint32_t at = table_get(&r->memory_by_id, id, 0);
	if (at == TABLE_NONE) {
		at = (uint32_t)r->memories;
		r->memory = table_grow(r->memory, r->memories, &r->memory_room, sizeof *r->memory);
		r->memory[r->memories++].id = id;
		table_put(&r->memory_by_id, id, 0, at);
	}
	return &r->memory[at];
}

/* ---- what a cell remembers */

static void access_drop(struct access *a)
{
	if (!--a->holders)
		free(a);
}

static int bag_holds(const struct bag *b, const struct access *a, uint32_t device)
{
	return b->offset == a->offset && b->bytes == a->bytes && b->writes == a->writes && b->rmw == a->rmw && b->strong == a->strong &&
	       b->nc == a->nc && b->scope == a->scope && b->device == device;
}

static void remember(struct ref *r, struct cell *c, struct access *a)
{
	const uint32_t device = r->launch[r->cta[a->cta].launch].device;
	size_t i = 0;
	while (i < c->bags && !bag_holds(&c->bag[i], a, device))
		i++;
	if (i == c->bags) {
		c->bag = table_grow(c->bag, c->bags, &c->room, sizeof *c->bag);
		c->bag[c->bags++] = (struct bag){ .offset = a->offset, .bytes = a->bytes, .writes = a->writes, .rmw = a->rmw, .strong = a->strong,
						  .nc = a->nc, .scope = a->scope, .device = device, .floors = r->floors };
	}
	struct bag *b = &c->bag[i];
	b->access = table_grow(b->access, b->count, &b->room, sizeof(struct access *));
	b->access[b->count++] = a;
	a->holders++;
}

/* Accesses that say the same as a new one to all that may come: by the same thread and instruction, with no release
 * between (so whatever is after the one is after the other), and not writes that somebody observed by themselves. The
 * latest such, and the one before it. */
static void repeated(const struct ref *r, const struct cell *c, const struct access *a, struct access *same[2])
{
	const struct cta *cta = &r->cta[a->cta];
	size_t found = 0;
	same[0] = same[1] = NULL;
	for (size_t i = 0; i < c->bags; i++) {
		const struct bag *b = &c->bag[i];
		if (!bag_holds(b, a, r->launch[cta->launch].device))
			continue;
		for (size_t k = b->count; found < 2 && k > 0 && k + 32 > b->count; k--) {
			struct access *o = b->access[k - 1];
			if (o->cta == a->cta && o->site == a->site && o->event > cta->released && (!o->writes || !r->chain[o->chain].touched))
				same[found++] = o;
		}
	}
}

/* Lets an earlier record stand for the access too, if one can. A write that is the last of its bytes may still be
 * observed: it has a record of its own, which the next takes over when it becomes the last; those before become one. */
static struct access *merge(struct access *same[2], const struct access *a)
{
	if (!same[0] || (a->writes && !same[1]))
		return NULL;
	if (!a->writes) {
		same[0]->times++;
	} else {
		same[1]->times += same[0]->times;
		same[1]->behind &= same[0]->behind;
		same[0]->times = 1;
		same[0]->chain = a->chain;
	}
	same[0]->behind = 0;
	same[0]->event = a->event;
	same[0]->warp = a->warp;
	return same[0];
}

/* ---- races */

/* May an access of the bag race with this one, as far as order is not asked? */
static int bag_matters(const struct bag *b, const struct access *a, uint32_t device)
{
	if (!b->writes && !a->writes)
		return 0;
	return !(b->strong && a->strong && b->offset == a->offset && b->bytes == a->bytes &&
		 sync_reaches(b->scope, (struct seat){ b->device, NO_INDEX }, a->scope, (struct seat){ device, NO_INDEX }));
}

static int strange(const struct ref *r, const struct access *o, const struct access *a) { return a->nc || order_strangers(r, o, a); }

/* Ordered by more than launches: something inside the kernels did it. */
static void count_order(struct ref *r, const struct access *first, const struct access *a)
{
	const struct launch *x = &r->launch[r->cta[first->cta].launch], *y = &r->launch[r->cta[a->cta].launch];
	if (order_before(r, y->base, first))
		return;
	races_edge(r, x->rank == y->rank ? "ordered-pair" : "ordered-pair-cross-rank", a->cta, 1);
}

/* Do the accesses of the bag conflict with at least as much as `old`, in the bytes that they have in common? */
static int bag_hides(const struct bag *b, const struct access *old)
{
	return b->writes >= old->writes && (!b->strong || (old->strong && b->scope <= old->scope));
}

/* Do the lanes that made a weak access with `o` touch all bytes [from, to) together? */
static int lanes_cover(const struct memory *m, const struct access *o, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to;) {
		const struct cell *c = cell_at(m, at);
		int there = 0;
		for (size_t i = 0; c && c->offset <= at && i < c->bags; i++)
			for (size_t k = 0; !there && k < c->bag[i].count; k++)
				there = c->bag[i].access[k]->warp == o->warp;
		if (!there)
			return 0;
		at = c->offset + c->bytes;
	}
	return 1;
}

/* The bytes of an access in the granules of a cell. */
struct bytes { uint64_t from, to; };
static struct bytes bytes_of(const struct cell *c, const struct access *a)
{
	const uint64_t low = c->offset / GRANULE * GRANULE, high = (c->offset + c->bytes + GRANULE - 1) / GRANULE * GRANULE;
	const uint64_t end = a->offset + a->bytes;
	return (struct bytes){ .from = a->offset > low ? a->offset : low, .to = end < high ? end : high };
}

/* Does `o`, of bag `b`, stand for `old` in these bytes? */
static int stands_for(const struct ref *r, const struct memory *m, const struct bag *b, const struct access *o, const struct access *old,
		      struct bytes p)
{
	const int whole = b->offset <= p.from && b->offset + b->bytes >= p.to;
	return o->event > old->event && bag_hides(b, old) && (whole || !b->strong) &&
	       (o->cta == old->cta || order_before(r, r->launch[r->cta[o->cta].launch].base, old)) &&
	       (whole || lanes_cover(m, o, p.from, p.to));
}

/* BEHIND. All that stand for an access may be before the second one, though what they replaced is not: order by observation leads
 * to one write, not to what its thread did before. Nobody is told of the race.
 *
 * The granules of these bytes, as bits from that on where the access begins; 0: further than there are bits. */
static uint32_t granules(const struct access *a, struct bytes p)
{
	const uint64_t low = p.from / GRANULE - a->offset / GRANULE, high = (p.to - 1) / GRANULE - a->offset / GRANULE;
	return high < 32 ? (2u << high) - (1u << low) : 0;
}

static int is_behind(const struct access *a, struct bytes p)
{
	const uint32_t all = granules(a, p);
	return all && !(all & ~a->behind);
}

/* What lies below the floor is before all that is to come, and can race with nothing. It may stand for what is not. */
static void mark_behind(const struct ref *r, const struct memory *m, const struct cell *c, const struct bag *b, const struct access *o)
{
	for (size_t i = 0; i < c->bags; i++)
		for (size_t k = 0; k < c->bag[i].count; k++) {
			struct access *old = c->bag[i].access[k];
			const struct bytes p = bytes_of(c, old);
			if (!is_behind(old, p) && stands_for(r, m, b, o, old, p))
				old->behind |= granules(old, p);
		}
}

static void bag_sweep(const struct ref *r, const struct memory *m, const struct cell *c, struct bag *b)
{
	size_t kept = 0;
	if (b->floors == r->floors)
		return;
	b->floors = r->floors;
	for (size_t i = 0; i < b->count; i++)
		if (order_before(r, r->floor, b->access[i]))
			mark_behind(r, m, c, b, b->access[i]);
	for (size_t i = 0; i < b->count; i++)
		if (order_before(r, r->floor, b->access[i]))
			access_drop(b->access[i]);
		else
			b->access[kept++] = b->access[i];
	b->count = kept;
}

/* The last access of the cell that stands for `old` against `a`, of those that are before `a` or of those that race with it as well. */
static const struct access *latest(const struct ref *r, const struct memory *m, const struct cell *c, const struct access *old,
				   const struct access *a, const struct clock *clock, int before)
{
	const struct bytes p = bytes_of(c, old);
	const struct access *last = NULL;
	for (size_t i = 0; i < c->bags; i++) {
		const struct bag *b = &c->bag[i];
		if (!before && !bag_matters(b, a, r->launch[r->cta[a->cta].launch].device))
			continue;
		for (size_t k = 0; k < b->count; k++) {
			const struct access *o = b->access[k];
			if (o->event > (last ? last : old)->event && strange(r, o, a) && stands_for(r, m, b, o, old, p) &&
			    order_before(r, clock, o) == before && (before || a->nc || !sync_linked(r, o, a)))
				last = o;
		}
	}
	return last;
}

static const struct launch *launch_of(const struct ref *r, const struct access *a) { return &r->launch[r->cta[a->cta].launch]; }
static const char *kernel_of(const struct ref *r, const struct access *a) { return launch_of(r, a)->kernel; }

/* What took the place of `old` before `a` came: an access that races with `a` as well, unless that one was replaced by one that
 * does not. */
static struct stood successor(const struct ref *r, const struct memory *m, const struct cell *c, const struct access *old,
			      const struct access *a, const struct clock *clock)
{
	const struct access *racing = latest(r, m, c, old, a, clock, 0), *left = racing ? racing : old;
	struct stood s = { .end = c->offset + c->bytes };
	if (is_behind(left, bytes_of(c, left)) || latest(r, m, c, left, a, clock, 1)) {
		s.kernel = races_behind;
	} else if (racing) {
		s.kernel = kernel_of(r, racing);
		s.line = racing->site;
	}
	return s;
}

/* Those that took it since, and race with `a` as well: none of these is before it. */
static void successors_since(const struct ref *r, const struct memory *m, const struct cell *c, const struct access *old,
			     const struct access *a, const struct clock *clock, int second, struct sites *any)
{
	const struct bytes p = bytes_of(c, old);
	for (size_t i = 0; i < c->bags; i++) {
		const struct bag *b = &c->bag[i];
		if (!bag_matters(b, a, r->launch[r->cta[a->cta].launch].device))
			continue;
		for (size_t k = 0; k < b->count; k++) {
			const struct access *o = b->access[k];
			if (o->event > old->event && o->event > a->event && order_strangers(r, o, a) && stands_for(r, m, b, o, old, p) && !order_before(r, clock, o) &&
			    !sync_linked(r, o, a))
				races_site(any, &(struct ref_site){ .kernel = kernel_of(r, o), .line = o->site, .second = second });
		}
	}
}

/* The bytes that both touched. */
static struct bytes common(const struct access *a, const struct access *b)
{
	const uint64_t a_end = a->offset + a->bytes, b_end = b->offset + b->bytes;
	return (struct bytes){ .from = a->offset > b->offset ? a->offset : b->offset, .to = a_end < b_end ? a_end : b_end };
}

static void late_note(const struct ref *r, const struct memory *m, struct late *x, const struct clock *clock)
{
	const struct bytes both = common(&x->first, &x->second);
	for (uint64_t at = both.from; at < both.to;) {
		x->stood = table_grow(x->stood, x->stoods, &x->stood_room, sizeof *x->stood);
		x->stood[x->stoods] = successor(r, m, cell_at(m, at), &x->first, &x->second, clock);
		at = x->stood[x->stoods++].end;
	}
}

/* What a detector may meet in place of the first access where the bytes begin, from when the second came until now. */
static void late_sites(const struct ref *r, const struct memory *m, const struct late *x, const struct clock *clock, uint64_t at,
		       struct sites *any)
{
	const struct stood *s = x->stood;
	while (s->end <= at)
		s++;
	any->count = 0;
	if (s->kernel)
		races_site(any, &(struct ref_site){ .kernel = s->kernel, .line = s->line });
	if (s->kernel != races_behind)
		successors_since(r, m, cell_at(m, at), &x->first, &x->second, clock, 0, any);
	if (launch_of(r, &x->first)->ranges)
		successors_since(r, m, cell_at(m, at), &x->second, &x->first, launch_of(r, &x->first)->base, 1, any);
}

/* Is the first of the pair replaced in all bytes that both touched? */
static int dominated(struct ref *r, const struct memory *m, const struct late *x, const struct clock *clock)
{
	const struct bytes both = common(&x->first, &x->second);
	struct sites any = { .count = 1 };
	for (int all = 0; all < 2 && any.count; all++) /* first whether, then by which */
		for (uint64_t at = both.from; at < both.to && any.count;) {
			late_sites(r, m, x, clock, at, &any);
			if (all)
				races_dominated(&r->race[x->race], &any);
			const struct cell *c = cell_at(m, at);
			at = c->offset + c->bytes;
		}
	free(any.site);
	return any.count > 0;
}

/* Does who made the one access come, by now, behind the other, if that is a range? A word has been observed, perhaps, by who touches it strongly. */
static int is_behind_now(const struct ref *r, const struct access *range, const struct access *by)
{
	const struct clock *now = r->cta[by->cta].clock;
	return launch_of(r, range)->ranges && ((range->strong && by->strong) || order_before(r, now ? now : launch_of(r, by)->end, range));
}

static void late_settle(struct ref *r, const struct memory *m, struct late *x, const struct clock *clock)
{
	if (r->flags & REF_LATE && (is_behind_now(r, &x->first, &x->second) || is_behind_now(r, &x->second, &x->first)))
		r->race[x->race].count -= x->first.times;
	else if (dominated(r, m, x, clock))
		r->race[x->race].dominated += x->first.times;
	free(x->stood);
	clock_drop(x->clock);
}

/* A detector may look at a weak access as late as its thread synchronises next, and at a range as late as its host knows that it is over. */
void memory_settle(struct ref *r, uint32_t cta)
{
	struct cta *c = &r->cta[cta];
	for (size_t i = 0; i < c->lates; i++) {
		struct late *x = &c->late[i];
		late_settle(r, &r->memory[table_get(&r->memory_by_id, x->second.memory, 0)], x,
			    x->clock ? x->clock : x->second.nc ? r->launch[c->launch].base : c->clock);
	}
	c->lates = 0;
}

static void race(struct ref *r, const struct memory *m, const struct access *old, const struct access *a, struct clock *clock)
{
	const int ranges = launch_of(r, old)->ranges || launch_of(r, a)->ranges;
	struct cta *c = &r->cta[launch_of(r, old)->ranges ? old->cta : a->cta];
	struct late x = { .first = *old, .second = *a, .race = (size_t)(races_add(r, old, a) - r->race),
			  .clock = ranges ? clock_hold(clock) : NULL };
	late_note(r, m, &x, clock);
	if (a->strong && !ranges) {
		late_settle(r, m, &x, clock);
	} else {
		c->late = table_grow(c->late, c->lates, &c->late_room, sizeof *c->late);
		c->late[c->lates++] = x;
	}
}

static void check(struct ref *r, const struct memory *m, struct cell *c, const struct access *a)
{
	const struct cta *cta = &r->cta[a->cta];
	const struct launch *l = &r->launch[cta->launch];
	/* A non-coherent load sees what was there when its kernel began: what is written later may be missed. */
	struct clock *clock = a->nc ? l->base : cta->clock;
	for (size_t i = 0; i < c->bags; i++) {
		struct bag *b = &c->bag[i];
		if (!bag_matters(b, a, l->device))
			continue;
		bag_sweep(r, m, c, b);
		for (size_t k = 0; k < b->count; k++) {
			struct access *o = b->access[k];
			if (o->seen == a->seen || !strange(r, o, a) || (!a->nc && sync_linked(r, o, a))) /* a bag is of many CTAs */
				continue;
			o->seen = a->seen;
			if (order_before(r, clock, o))
				count_order(r, o, a);
			else
				race(r, m, o, a, clock);
		}
	}
}

/* ---- an access */

static struct message **strong_of(struct ref *r, const struct access *a)
{
	const uint64_t key = (uint64_t)table_get(&r->memory_by_id, a->memory, 0) << 8 | a->bytes;
	uint32_t at = table_get(&r->strong_by_bytes, a->offset, key);
	if (at == TABLE_NONE) {
		at = (uint32_t)r->strongs;
		r->strong = table_grow(r->strong, r->strongs++, &r->strong_room, sizeof *r->strong);
		table_put(&r->strong_by_bytes, a->offset, key, at);
	}
	return &r->strong[at];
}

/* With REF_OVER: the last strong write is observed, too, and continued. */
static struct message *observe_over(struct ref *r, const struct access *a, struct message *observed)
{
	struct message *strong = *strong_of(r, a);
	if (!strong || strong == observed || !sync_linked(r, strong->access, a))
		return observed;
	sync_observe(r, a, strong);
	return strong;
}

/* With REF_OVER: an RMW continues its own thread's weak writes there, too, but those that a strong one of the thread followed. */
static void continue_own(struct ref *r, const struct cell *c, const struct access *a)
{
	const struct message *strong = *strong_of(r, a);
	const uint64_t since = strong && !order_strangers(r, strong->access, a) ? strong->access->event : 0;
	for (size_t i = 0; i < c->bags; i++) {
		const struct bag *b = &c->bag[i];
		if (b->strong || !b->writes || b->offset > a->offset || b->offset + b->bytes < a->offset + a->bytes)
			continue;
		for (size_t k = 0; k < b->count; k++) {
			struct chain *own = &r->chain[b->access[k]->chain];
			if (!order_strangers(r, b->access[k], a) && b->access[k]->event > since && b->access[k]->chain != a->chain) {
				own->into = a->chain + 1;
				own->touched = 1;
			}
		}
	}
}

/* What the read observes: the last writes of its bytes. At most one of them is of exactly its bytes. */
static struct message *observe(struct ref *r, struct memory *m, const struct access *a)
{
	struct message *observed = NULL, *before = NULL;
	for (uint64_t at = a->offset; at < a->offset + a->bytes;) {
		struct cell *c = cell_at(m, at);
		if (c->last && c->last != before) {
			sync_observe(r, a, c->last);
			if (sync_linked(r, c->last->access, a))
				observed = c->last;
		}
		before = c->last;
		at = c->offset + c->bytes;
	}
	return r->flags & REF_OVER ? observe_over(r, a, observed) : observed;
}

static void last_write(struct message **last, struct message *write)
{
	sync_drop(*last);
	*last = write;
	write->holders++;
}

static void settle(struct ref *r, struct memory *m, struct access *a, const struct message *continued)
{
	struct cell *first = cell_at(m, a->offset);
	struct access *same[2];
	repeated(r, first, a, same); /* before the access releases anything itself */
	struct message *write = a->writes ? sync_publish(r, a, continued) : NULL;
	if (a->rmw && r->flags & REF_OVER)
		continue_own(r, first, a);
	const struct access *merged = merge(same, a);
	for (uint64_t at = a->offset; at < a->offset + a->bytes;) {
		struct cell *c = cell_at(m, at);
		if (!merged)
			remember(r, c, a);
		if (write)
			last_write(&c->last, write);
		at = c->offset + c->bytes;
	}
	if (write && a->strong && r->flags & REF_OVER)
		last_write(strong_of(r, a), write);
}

static void look_at(struct ref *r, const struct access *like, int reads)
{
	struct access *a = table_alloc(sizeof *a);
	struct memory *m = memory_of(r, like->memory);
	struct message *observed = NULL;
	*a = *like;
	a->holders = 1;
	a->event = r->line;
	a->times = 1;
	a->seen = ++r->looks;
	if (a->strong && !launch_of(r, a)->ranges)
		memory_settle(r, a->cta);
	cover(m, a->offset, a->offset + a->bytes);
	if (a->strong && reads) { /* what it acquires is before it, too; what it observes only before what follows */
		sync_look(r, a);
		observed = observe(r, m, a);
	}
	for (uint64_t at = a->offset; at < a->offset + a->bytes;) {
		struct cell *c = cell_at(m, at);
		check(r, m, c, a);
		at = c->offset + c->bytes;
	}
	races_explain(r, a);
	if (observed)
		sync_follow(r, a, observed->access);
	settle(r, m, a, a->writes ? observed : NULL); /* an RMW continues what it read */
	r->cta[a->cta].accessed = r->line;
	access_drop(a);
}

/* A word that lies as a word does is copied, or set, at once, as by a relaxed access of system scope. */
static int is_word(const struct range *r) { return r->bytes <= 8 && !(r->bytes & (r->bytes - 1)) && !(r->offset & (r->bytes - 1)); }

void memory_range(struct ref *r, uint32_t launch)
{
	for (size_t i = 0; i < r->launch[launch].ranges; i++) {
		const struct range range = r->launch[launch].range[i];
		struct access a = { .memory = range.memory, .offset = range.offset, .bytes = range.bytes, .writes = range.writes };
		if (is_word(&range)) {
			a.strong = 1;
			a.scope = SCOPE_SYS;
			a.releases = range.writes && r->flags & REF_LATE;
		}
		if (range.bytes && !order_cta(r, r->launch[launch].id, 0, &a.cta))
			look_at(r, &a, !range.writes);
	}
}

/* ---- from the trace */

static const struct op_name {
	const char *name;
	int reads, writes, rmw, acquires; /* acquires: may, by its semantics */
} ops[] = {
	{ "ld", 1, 0, 0, 1 }, { "st", 0, 1, 0, 0 }, { "atom", 1, 1, 1, 1 }, { "red", 1, 1, 1, 0 },
	{ "cas", 1, 1, 1, 1 }, { "atom-", 1, 1, 1, 1 }, { "cas-", 1, 1, 1, 1 }, { "red-", 1, 1, 1, 0 },
};

static const struct sem_name {
	const char *name;
	int strong, acquires, releases, is_volatile, nc;
} sems[] = {
	{ "weak", 0, 0, 0, 0, 0 }, { "relaxed", 1, 0, 0, 0, 0 }, { "acquire", 1, 1, 0, 0, 0 }, { "release", 1, 0, 1, 0, 0 },
	{ "acq_rel", 1, 1, 1, 0, 0 }, { "volatile", 1, 0, 0, 1, 0 }, { "mmio", 1, 0, 0, 1, 0 }, { "nc", 0, 0, 0, 0, 1 },
};

static const struct scope_name {
	const char *name;
	enum scope scope;
} scopes[] = { { "-", SCOPE_NONE }, { "cta", SCOPE_CTA }, { "cluster", SCOPE_GPU }, { "gpu", SCOPE_GPU }, { "sys", SCOPE_SYS } };

#define FIND(table, word) find(word, table, sizeof table / sizeof *table, sizeof *table)
static const void *find(const char *word, const void *table, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		const void *row = (const char *)table + i * size;
		const char *name;
		memcpy(&name, row, sizeof name); /* the first member of all rows */
		if (!strcmp(name, word))
			return row;
	}
	return NULL;
}

/* What PTX takes for granted: volatile and mmio are relaxed.sys, an atom is relaxed.gpu. */
static int qualify(struct ref *r, const struct event *e, const struct op_name *op, const struct sem_name *sem, struct access *a)
{
	const struct scope_name *scope = FIND(scopes, e->word[2]);
	if (!scope)
		return ref_fail(r, "unknown scope '%s'; it is one of - cta cluster gpu sys", e->word[2]);
	a->strong = sem->strong || op->rmw;
	a->scope = sem->is_volatile ? SCOPE_SYS : a->strong ? scope->scope : SCOPE_NONE;
	if (op->rmw && a->scope == SCOPE_NONE)
		a->scope = SCOPE_GPU;
	if (a->strong && a->scope == SCOPE_NONE)
		return ref_fail(r, "%s.%s without a scope; write cta, cluster, gpu or sys", e->word[0], e->word[1]);
	if ((sem->nc && (op->rmw || op->writes)) || (sem->acquires && !op->reads) || (sem->releases && !op->writes))
		return ref_fail(r, "'%s' cannot be '%s'; see which semantics PTX gives the operation", e->word[0], e->word[1]);
	return 0;
}

/* BYTES, or ELEMENTSxBYTES: a strong vector is that many operations (8.2.4). Without, one that is longer than any scalar
 * counts in the longest elements. */
static int extent(struct ref *r, const struct event *e, int strong, uint64_t *elements, uint64_t *bytes)
{
	char *end, *second = strchr(e->word[3], 'x');
	*elements = second ? strtoull(e->word[3], &end, 10) : 1;
	if (second && end != second)
		*elements = 0;
	*bytes = strtoull(second ? second + 1 : e->word[3], &end, 10);
	if (*end || !*elements || !*bytes || *elements > 16 || *bytes > 32)
		return ref_fail(r, "an access of '%s' bytes; write 1 to 32, or ELEMENTSxBYTES for a vector", e->word[3]);
	if (!second && *bytes > 16 && *bytes % 16 == 0) {
		*elements = *bytes / 16;
		*bytes = 16;
	}
	if (!strong) {
		*bytes *= *elements;
		*elements = 1;
	}
	return 0;
}

static int values(struct ref *r, const struct event *e, const struct op_name *op)
{
	for (int i = 4; i < 6; i++) {
		const char *w = e->word[i], *allowed = "0123456789abcdefABCDEF";
		if (strcmp(w, "-") && (strncmp(w, "0x", 2) || !w[2] || w[2 + strspn(w + 2, allowed)]))
			return ref_fail(r, "'%s' is no value; write 0x and hexadecimal digits, or -", w);
	}
	if ((*e->word[5] == '-') == op->writes && strncmp(op->name, "cas", 3))
		return ref_fail(r, "%s with WROTE '%s'; - stands where nothing was written", op->name, e->word[5]);
	return 0;
}

/* Is this access that of the next lane of the warp whose access came before it in the trace? */
static int same_warp(struct ref *r, uint32_t cta, uint32_t site, uint64_t thread)
{
	const int same = r->lane.cta == cta && r->lane.site == site && r->lane.thread < thread && r->lane.thread / 32 == thread / 32;
	r->lane.cta = cta, r->lane.site = site, r->lane.thread = thread;
	return same;
}

int memory_access(struct ref *r, const struct event *e)
{
	const struct op_name *op = FIND(ops, e->word[0]);
	const struct sem_name *sem = FIND(sems, e->word[1]);
	uint64_t elements;
	struct access a = { .site = (uint32_t)e->number[3], .memory = e->number[4], .offset = e->number[5] };
	if (!op)
		return ref_fail(r, "unknown operation '%s'; it is one of ld st atom red cas, with - behind if its result is not read", e->word[0]);
	if (!sem)
		return ref_fail(r, "unknown semantics '%s'; it is one of weak relaxed acquire release acq_rel volatile mmio nc", e->word[1]);
	int rc = order_thread(r, e, &a.cta);
	rc = rc ? rc : qualify(r, e, op, sem, &a);
	rc = rc ? rc : extent(r, e, a.strong, &elements, &a.bytes);
	rc = rc ? rc : values(r, e, op);
	if (rc)
		return rc;
	if (a.offset > MEMORY_END)
		return ref_fail(r, "offset %llu; no allocation is so long", (unsigned long long)a.offset);
	if (!same_warp(r, a.cta, a.site, e->number[2]))
		r->warp++;
	a.warp = r->warp;
	a.rmw = op->rmw;
	a.writes = op->writes && *e->word[5] != '-'; /* a failed compare-and-swap is a read */
	a.nc = sem->nc;
	a.is_volatile = sem->is_volatile;
	a.acquires = sem->acquires && op->acquires;
	a.releases = sem->releases && a.writes;
	if (r->flags & REF_LATE && a.strong) {
		a.scope = SCOPE_SYS;
		a.acquires = op->reads;
		a.releases = a.writes;
	}
	a.used = op->rmw && strcmp(op->name, "red") && op->name[strlen(op->name) - 1] != '-';
	for (uint64_t i = 0; i < elements; i++, a.offset += a.bytes)
		look_at(r, &a, op->reads);
	return 0;
}

/* ---- the end */

static void cell_free(struct cell *c)
{
	if (!c)
		return;
	cell_free(c->left);
	cell_free(c->right);
	sync_drop(c->last);
	for (size_t i = 0; i < c->bags; i++) {
		for (size_t k = 0; k < c->bag[i].count; k++)
			access_drop(c->bag[i].access[k]);
		free(c->bag[i].access);
	}
	free(c->bag);
	free(c);
}

void memory_free(struct ref *r)
{
	for (size_t i = 0; i < r->ctas; i++) {
		for (size_t k = 0; k < r->cta[i].lates; k++)
			free(r->cta[i].late[k].stood);
		free(r->cta[i].late);
	}
	for (size_t i = 0; i < r->memories; i++)
		cell_free(r->memory[i].root);
	for (size_t i = 0; i < r->strongs; i++)
		sync_drop(r->strong[i]);
	free(r->strong);
	free(r->memory);
}
