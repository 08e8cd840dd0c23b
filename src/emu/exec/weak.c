#include "emu/exec/weak.h"

#include <string.h>

#define MOMENTS 16384u    /* stores that are remembered */
#define LAZY_MOST 6u
#define BUCKETS 16384u
#define BACK 4u           /* values of one granule that a load may choose from, but for the newest */

/* The last stores of this process's kernels, in the order in which they reached memory. */
struct moment { u64 granule, old, before; }; /* before: the last in the same bucket */
static struct moment log_of[MOMENTS];
static u64 bucket[BUCKETS], now;

static u64 granule(u64 at) { return at & ~(u64)7; }
static u32 bucket_of(u64 g) { return (u32)(hash_spread(g) >> 50) % BUCKETS; }
static int known(u64 t) { return t && now - t < MOMENTS; }

/* The last store to the granule at moment t or, through its bucket, before; 0: none is remembered. */
static u64 last_to(u64 g, u64 t)
{
	while (known(t) && log_of[t % MOMENTS].granule != g)
		t = log_of[t % MOMENTS].before;
	return known(t) ? t : 0;
}

static u64 in_memory(u64 g)
{
	return __atomic_load_n((const u64 *)(uintptr_t)g, __ATOMIC_RELAXED);
}

/* Called before the bytes change. */
static u64 remember(u64 at)
{
	const u64 g = granule(at);
	u64 *head = &bucket[bucket_of(g)];
	log_of[++now % MOMENTS] = (struct moment){ g, in_memory(g), *head };
	*head = now;
	return now;
}

static u64 *floor_of(struct weak_lane *t, u64 g)
{
	for (u32 k = 0; k < t->seen; k++)
		if (t->newest[k].granule == g)
			return &t->newest[k].moment;
	return NULL;
}

/* The lane never goes behind that moment there. With no place left, nowhere. */
static void not_behind(struct weak_lane *t, u64 g, u64 moment)
{
	u64 *at = floor_of(t, g);
	if (at) {
		*at = *at > moment ? *at : moment;
	} else if (t->seen < WEAK_SEEN) {
		t->newest[t->seen].granule = g;
		t->newest[t->seen++].moment = moment;
	} else {
		t->floor = now;
		t->seen = 0;
	}
}

/* ---- stores */

static void put(const struct weak_store *s)
{
	void *to = (void *)(uintptr_t)s->at;
	switch (s->size) {
	case 1: __atomic_store_n((u8 *)to, (u8)s->value, __ATOMIC_RELAXED); break;
	case 2: __atomic_store_n((u16 *)to, (u16)s->value, __ATOMIC_RELAXED); break;
	case 4: __atomic_store_n((u32 *)to, (u32)s->value, __ATOMIC_RELAXED); break;
	default: __atomic_store_n((u64 *)to, s->value, __ATOMIC_RELAXED);
	}
}

static void drain(struct exec_warp *w, unsigned l, u32 which)
{
	struct weak_lane *t = &w->weak->lane[l];
	const struct weak_store s = t->store[which];
	not_behind(t, granule(s.at), remember(s.at));
	put(&s);
	t->stores--;
	memmove(&t->store[which], &t->store[which + 1], (t->stores - which) * sizeof s);
	if (!t->stores)
		w->weak->pending &= ~(1u << l);
}

/* Until nothing waits that came before a release, or `all`. */
static void drain_lane(struct exec_warp *w, unsigned l, int all)
{
	struct weak_lane *t = &w->weak->lane[l];
	while (t->stores && (all || t->store[0].epoch < t->epoch))
		drain(w, l, 0);
}

/* One that may be next: of the oldest epoch, and the first to its granule. */
static void drain_some(struct exec_warp *w, unsigned l, u64 r)
{
	const struct weak_lane *t = &w->weak->lane[l];
	u32 which = (u32)(r % t->stores);
	while (t->store[which].epoch != t->store[0].epoch)
		which--;
	for (u32 k = 0; k < which; k++)
		if (granule(t->store[k].at) == granule(t->store[which].at))
			which = k;
	drain(w, l, which);
}

void weak_drift(struct exec_warp *w)
{
	for (u32 rest = w->weak->pending; rest; rest &= rest - 1) {
		const u64 r = random_next(&w->weak->random);
		if (!(r & ((1u << w->weak->lazy) - 1)))
			drain_some(w, (unsigned)__builtin_ctz(rest), r >> 8);
	}
}

static void buffer(struct exec_warp *w, unsigned l, const struct weak_store *s)
{
	struct weak_lane *t = &w->weak->lane[l];
	const u64 r = random_next(&w->weak->random);
	if (t->stores == WEAK_STORES)
		drain_some(w, l, r >> 8);
	t->store[t->stores++] = *s;
	w->weak->pending |= 1u << l;
	if (r % 4 == 0)
		drain_some(w, l, r >> 32);
}

void weak_release(struct exec_warp *w, u32 m)
{
	for (u32 rest = m & w->weak->pending; rest; rest &= rest - 1)
		drain_lane(w, (unsigned)__builtin_ctz(rest), 1);
}

void weak_acquire(struct exec_warp *w, u32 m)
{
	for (u32 rest = m; rest; rest &= rest - 1) {
		struct weak_lane *t = &w->weak->lane[__builtin_ctz(rest)];
		t->floor = now;
		t->seen = 0;
	}
}

void weak_elsewhere(struct exec_warp *w, const struct exec_insn *n, u32 m)
{
	for (u32 rest = m & w->weak->pending; rest; rest &= rest - 1)
		drain_lane(w, (unsigned)__builtin_ctz(rest), (n->flags & F_RELEASE) != 0);
}

void weak_fence(struct exec_warp *w, const struct exec_insn *n, u32 m)
{
	const u32 order = n->flags & (F_ACQUIRE | F_RELEASE);
	if (!order)
		weak_release(w, m);
	if (order & F_RELEASE)
		for (u32 rest = m; rest; rest &= rest - 1)
			w->weak->lane[__builtin_ctz(rest)].epoch++;
	if (order != F_RELEASE)
		weak_acquire(w, m);
}

void weak_start(struct exec_warp *w, u64 seed)
{
	struct exec_weak *k = w->weak;
	k->random = seed;
	k->lazy = (u32)random_next(&k->random) % (LAZY_MOST + 1);
	k->pending = 0;
	for (unsigned l = 0; l < EXEC_LANES; l++) {
		k->lane[l].stores = k->lane[l].seen = k->lane[l].epoch = 0;
		k->lane[l].floor = now;
	}
}

/* ---- what a lane reads */

static int overlaps(const struct weak_store *s, u64 at, u32 size) { return s->at < at + size && at < s->at + s->size; }

/* What the granule held before the store of some moment that the lane may go behind, or holds now. */
static u64 some_value(struct exec_warp *w, unsigned l, u64 g, int newest)
{
	struct weak_lane *t = &w->weak->lane[l];
	const u64 *own = floor_of(t, g);
	const u64 floor = own && *own > t->floor ? *own : t->floor;
	u64 at = last_to(g, bucket[bucket_of(g)]), moments[BACK + 1];
	u32 n = 0;
	for (; n < BACK && at > floor; at = last_to(g, log_of[at % MOMENTS].before))
		moments[n++] = at;
	if (!n)
		return in_memory(g);
	moments[n] = at;
	const u64 r = newest ? 0 : random_next(&w->weak->random);
	const u32 back = r & 1 ? 1 + (u32)((r >> 1) % n) : 0;
	if (moments[back])
		not_behind(t, g, moments[back]);
	return back ? log_of[moments[back - 1] % MOMENTS].old : in_memory(g);
}

/* Up to 8 bytes within a granule. */
static void read_element(struct exec_warp *w, unsigned l, u64 at, u32 size, int newest, void *to)
{
	struct weak_lane *t = &w->weak->lane[l];
	for (u32 k = t->stores; k-- > 0;) {
		const struct weak_store *s = &t->store[k];
		if (!overlaps(s, at, size))
			continue;
		if (s->at <= at && at + size <= s->at + s->size) {
			memcpy(to, (const u8 *)&s->value + (at - s->at), size);
			return;
		}
		drain_lane(w, l, 1);
		break;
	}
	const u64 v = some_value(w, l, granule(at), newest);
	memcpy(to, (const u8 *)&v + (at & 7), size);
}

static void read_whole(struct exec_warp *w, unsigned l, u64 at, void *to)
{
	drain_lane(w, l, 1);
	memcpy(to, (const void *)(uintptr_t)at, 16);
	for (u32 k = 0; k < 16; k += 8)
		not_behind(&w->weak->lane[l], granule(at + k), now);
}

static void look(struct exec_warp *w, const struct exec_insn *n, unsigned l)
{
	const u64 at = w->weak->address[l];
	for (u32 k = 0; k < n->count; k++) {
		void *to = w->weak->image[l] + k * n->size;
		if (n->size == 16)
			read_whole(w, l, at + k * 16u, to);
		else
			read_element(w, l, at + k * n->size, n->size, (n->flags & F_ACQUIRE) != 0, to);
	}
}

u32 weak_to_images(struct exec_warp *w, u32 m)
{
	u32 there = 0;
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		if (!exec_is_global(w, w->address[l]))
			continue;
		__atomic_load_n((const u8 *)(uintptr_t)w->address[l], __ATOMIC_RELAXED); /* faults here, not when it drains */
		w->weak->address[l] = w->address[l];
		w->address[l] = (u64)(uintptr_t)w->weak->image[l];
		there |= 1u << l;
	}
	return there;
}

void weak_back(struct exec_warp *w, u32 m)
{
	for (u32 rest = m; rest; rest &= rest - 1)
		w->address[__builtin_ctz(rest)] = w->weak->address[__builtin_ctz(rest)];
}

u32 weak_load(struct exec_warp *w, const struct exec_insn *n, u32 m)
{
	const u32 there = weak_to_images(w, m);
	for (u32 rest = there; rest; rest &= rest - 1)
		look(w, n, (unsigned)__builtin_ctz(rest));
	return there;
}

void weak_store(struct exec_warp *w, const struct exec_insn *n, u32 m)
{
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		if (n->flags & F_RELEASE)
			w->weak->lane[l].epoch++;
		for (u32 k = 0; k < n->count; k++) {
			struct weak_store s = { w->weak->address[l] + k * n->size, 0, n->size, w->weak->lane[l].epoch };
			const u8 *from = w->weak->image[l] + k * n->size;
			if (n->size < 16) {
				memcpy(&s.value, from, n->size);
				buffer(w, l, &s);
				continue;
			}
			drain_lane(w, l, 1);
			not_behind(&w->weak->lane[l], s.at, remember(s.at));
			not_behind(&w->weak->lane[l], s.at + 8, remember(s.at + 8));
			memcpy((void *)(uintptr_t)s.at, from, 16);
		}
	}
	weak_back(w, m);
}

/* ---- RMWs: always at once, of the newest value */

void weak_settle(struct exec_warp *w, const struct exec_insn *n, unsigned l)
{
	const struct weak_lane *t = &w->weak->lane[l];
	int all = (n->flags & F_RELEASE) != 0;
	for (u32 k = 0; k < t->stores; k++)
		all |= overlaps(&t->store[k], granule(w->address[l]), (u32)n->size * n->count + 8);
	drain_lane(w, l, all);
}

void weak_before_rmw(struct exec_warp *w, const struct exec_insn *n, unsigned l)
{
	const u64 at = w->address[l], end = at + (u32)n->size * n->count;
	weak_settle(w, n, l);
	for (u64 g = granule(at); g < end && exec_is_global(w, at); g += 8)
		not_behind(&w->weak->lane[l], g, remember(g));
}
