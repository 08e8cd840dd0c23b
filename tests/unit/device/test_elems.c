/* What a list finds (elems_find) is what one that compares with every element finds (elem_within): random elements of all kinds, few
 * launches, CTAs, epochs and places, so that many include each other; lists of every length and kind. And behind elems_only() nothing
 * is left that the element includes; a barrier takes out what it made so; what is full gives up no more than it must. What stands for all CTAs tells their warps apart. */
#include "play.h"

#include "device/barrier.h"
#include "device/clock.h"

enum { ROUNDS = 200000, ROOM = 60 };
static u64 state = 1;

static u32 below(u32 n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (u32)(state >> 33) % n;
}

static u64 any_point(void)
{
	u64 point = point_of(DATA(0) + 120 + 8 * below(3), 0xf | (below(3) ? 0 : POINT_WEAK), 1 + below(3)); /* of two lines */
	u64 other = point_of(DATA(0) + 120 + 8 * below(3), 0xf, 1 + below(3));
	return below(4) ? point : below(3) ? point_union(point, other) : POINT_ANYWHERE;
}

/* The place of two has both, and who has it has both. */
static void places(void)
{
	for (u32 round = 0; round < ROUNDS; round++) {
		u64 a = any_point(), b = any_point(), c = any_point(), both = point_union(a, b);
		int has = point_within(a, both) && point_within(b, both);
		if (has && (!point_within(both, c) || (point_within(a, c) && point_within(b, c))))
			continue;
		printf("FAIL %llx and %llx make %llx, of which %llx is said to be more\n", (unsigned long long)a, (unsigned long long)b,
		       (unsigned long long)both, (unsigned long long)c);
		failures++;
	}
}

static u64 any_elem(void)
{
	static const u32 tags[] = {5, 6, 1u << TAG_BITS | 5, 7u << (TAG_BITS - 4) | 3, 7u << (TAG_BITS - 4) | 4}; /* the last two are private */
	u32 tag = tags[below(5)];
	u64 stamp = (u64)tag << GSAN_REC_TAG_SHIFT | (u64)below(3) << GSAN_REC_CTA_SHIFT | (u64)(1 + below(3)) << GSAN_REC_EPOCH_SHIFT;
	u64 gate = elem_by(below(2), GSAN_GPU + below(2), below(2)), elem = 0;
	switch (below(8)) {
	case 0: elem = elem_write(stamp, gate, (int)below(2)); break;
	case 1: elem = elem_seen(stamp, any_point()); break;
	case 2: elem = elem_fresh(elem_seen(stamp, any_point())) | elem_by(below(2), GSAN_GPU, 0); break;
	case 3: elem = elem_start(tag) | gate; break;
	case 4: elem = elem_all(tag, 1 + below(3)); break;
	case 5: elem = elem_all_seen(tag, any_point()); break;
	case 6: elem = elem_prefix(below(2), 4 + below(3)); break;
	default: elem = stamp | gate | (below(2) ? ELEM_FENCED : 0); break;
	}
	return below(6) ? elem : elem | ELEM_OPEN;
}

static int includes(const struct gsan_launch *l, const struct elems *s, u32 i, u64 elem, u64 with)
{
	return !elems_apart(s, elem, elems_at(s, i)) && elem_within(l, elem, elems_at(s, i), s->kind & ELEMS_GATED) &&
	       with_within(s, with, elems_with(s, i));
}
static int included(const struct gsan_launch *l, const struct elems *s, u32 i, u64 elem, u64 with)
{
	return !elems_apart(s, elem, elems_at(s, i)) && elem_within(l, elems_at(s, i), elem, s->kind & ELEMS_GATED) &&
	       with_within(s, elems_with(s, i), with);
}

static void lists(const struct gsan_launch *l)
{
	static const u32 kinds[] = {0, ELEMS_GATED, ELEMS_GATED | ELEMS_SITES, ELEMS_GATED | ELEMS_AT, ELEMS_BY};
	static _Alignas(16) u64 word[2 * ROOM];
	u32 count, hits = 0;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct elems s = {.word = word, .count = &count, .room = ROOM, .kind = kinds[below(5)], .whose = KNOWN_TO_ALL};
		u64 elem = any_elem(), with = elems_stride(&s) > 1 ? below(3) : 0;
		count = below(below(4) ? 9 : ROOM);
		for (u32 i = 0; i < ROOM; i++) /* behind the last one, too */
			elems_put(&s, i, any_elem(), below(3));
		u32 found = elems_find(l, &s, elem, with);
		for (u32 i = 0; i < count && found == ELEMS_NOWHERE; i++)
			if (includes(l, &s, i, elem, with) || included(l, &s, i, elem, with)) {
				printf("FAIL %llx is not found, though there is %llx, kind %u\n", (unsigned long long)elem,
				       (unsigned long long)elems_at(&s, i), s.kind);
				failures++;
			}
		if (found == ELEMS_NOWHERE)
			continue;
		hits++;
		if (found >> 1 >= count || !(found & 1 ? includes : included)(l, &s, found >> 1, elem, with)) {
			printf("FAIL %llx is not where it was found, %u of %u\n", (unsigned long long)elem, found >> 1, count);
			failures++;
		}
	}
	if (hits < ROUNDS / 10 || hits > ROUNDS / 10 * 9) {
		printf("FAIL %u of %u were found: too few or too many to say much\n", hits, (u32)ROUNDS);
		failures++;
	}
}

static void only(struct cta *c)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)c->launch, .self = c->self, .state = &dev_tables(0)->state[0]};
	struct elems s = clock_elems(&w);
	u32 taken = 0;
	for (u32 round = 0; round < ROUNDS / 20; round++) {
		u32 n = 1 + below(DEV_CLOCK - 1), at = below(n), left = 0;
		for (u32 i = 0; i < n; i++)
			elems_put(&s, i, any_elem(), 0);
		u64 elem = elems_at(&s, at);
		gpu_store32(s.count, n);
		elems_only(w.launch, &s, at);
		for (u32 i = 0; i < *s.count; i++)
			left += elem_within(w.launch, elems_at(&s, i), elem, 0);
		taken += n - *s.count;
		if (left != 1) {
			printf("FAIL %u elements are left that %llx includes\n", left, (unsigned long long)elem);
			failures++;
		}
	}
	if (!taken) {
		printf("FAIL nothing was taken out\n");
		failures++;
	}
}

/* What others of a full clock say, too, goes (as behind a barrier), and nothing else: of each CTA the last of `each` elements stays. */
static void full(struct cta *c, u32 each)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)c->launch, .self = c->self, .state = &dev_tables(0)->state[0]};
	struct elems s = clock_elems(&w);
	const u64 *lost = &dev_tables(0)->head.counter[GSAN_N_CLOCK_FULL], before = *lost;
	for (u32 i = 0; i < DEV_CLOCK; i++)
		elems_put(&s, i, 6ull << GSAN_REC_TAG_SHIFT | (u64)(i / each) << GSAN_REC_CTA_SHIFT | (u64)(1 + i % each) << GSAN_REC_EPOCH_SHIFT, 0);
	gpu_store32(s.count, DEV_CLOCK);
	elems_prune(w.launch, &s);
	elems_add(w.launch, &s, 6ull << GSAN_REC_TAG_SHIFT | (u64)DEV_CLOCK << GSAN_REC_CTA_SHIFT | 1ull << GSAN_REC_EPOCH_SHIFT, 0);
	u64 ctas = 0;
	for (u32 i = 0; i < *s.count; i++)
		ctas |= elem_of_many(elems_at(&s, i)) || rec_epoch(elems_at(&s, i)) != each ? 0 : 1ull << rec_cta(elems_at(&s, i)) % 64;
	if (*s.count != DEV_CLOCK / each + 1 || ctas != (1ull << DEV_CLOCK / each) - 1 || *lost != before) {
		printf("FAIL of a full clock %u elements are left, of CTAs %llx; lost: %llu\n", *s.count, (unsigned long long)ctas,
		       (unsigned long long)(*lost - before));
		failures++;
	}
}

/* A clock full of what was observed of one CTA keeps its lines apart: a line one element, and nothing of the others. */
static void lines(struct cta *c)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)c->launch, .self = c->self, .state = &dev_tables(0)->state[0]};
	struct elems s = clock_elems(&w);
	u64 stamp = 6ull << GSAN_REC_TAG_SHIFT | 1ull << GSAN_REC_CTA_SHIFT | 1ull << GSAN_REC_EPOCH_SHIFT;
	gpu_store32(s.count, 0);
	for (u32 i = 0; i <= DEV_CLOCK; i++)
		elems_add(w.launch, &s, elem_seen(stamp, point_of(DATA(0) + 8 * i, 0xf, GSAN_GPU)), 0);
	u32 here = 0, elsewhere = 0;
	for (u32 i = 0; i < *s.count; i++)
		for (u32 k = 0; k < 2 * DEV_CLOCK; k++)
			*(k <= DEV_CLOCK ? &here : &elsewhere) += elem_covers(w.launch, elems_at(&s, i), stamp, point_of(DATA(0) + 8 * k, 0xf, GSAN_GPU), 0);
	if (*s.count != DEV_CLOCK / 16 + 1 || here != DEV_CLOCK + 1 || elsewhere) {
		printf("FAIL of five lines %u elements are left, which cover %u of their places, and %u of others\n", *s.count, here, elsewhere);
		failures++;
	}
}

/* Warp 0 has acquired more of a CTA than all knew; behind a barrier all know that, and it alone is left. */
static void met(struct cta *c)
{
	struct gsan_launch *l = (struct gsan_launch *)(uintptr_t)c->launch;
	struct dev_state *its = &dev_tables(0)->state[(u32)c->self - 1];
	struct who w = {.launch = l, .self = c->self & REC_WHO, .base = c->self & REC_WHO, .state = its};
	l->warp_bits = 1;
	struct elems s = clock_elems(&w);
	u64 elem = 6ull << GSAN_REC_TAG_SHIFT | 1ull << GSAN_REC_CTA_SHIFT, epoch = 1ull << GSAN_REC_EPOCH_SHIFT;
	elems_put(&s, 0, elem | 2 * epoch, 0);
	elems_tell(&s, 0, WARPS_ALL);
	elems_put(&s, 1, elem | 4 * epoch, 0);
	elems_tell(&s, 1, 1);
	gpu_store32(s.count, 2);
	its->parted = 1;
	barrier_opens(&w);
	if (*s.count != 1 || rec_epoch(elems_at(&s, 0)) != 4 || elems_known(&s, 0) != WARPS_ALL) {
		printf("FAIL behind a barrier %u elements are left, the first of time %u\n", *s.count, rec_epoch(elems_at(&s, 0)));
		failures++;
	}
}

/* Of all CTAs of a launch whose warps are told apart, up to its warp 0 at time 2: warp 3 at that time it has only if each were one thread. */
static void many(struct cta *c)
{
	struct gsan_launch l = *(const struct gsan_launch *)(uintptr_t)c->launch;
	l.warp_bits = 2;
	for (u32 time = 1; time <= 3; time++)
		for (u32 warp = 0; warp < 4; warp++)
			for (int one = 0; one < 2; one++) {
				u64 rec = (u64)l.tag << GSAN_REC_TAG_SHIFT | 3ull << GSAN_REC_CTA_SHIFT | (u64)(time << 2 | warp) << GSAN_REC_EPOCH_SHIFT;
				int covers = elem_covers(&l, elem_all(l.tag, 2 << 2), rec, NO_POINT, one);
				if (covers == (time < 2 || (time == 2 && (one || !warp))))
					continue;
				printf("FAIL all CTAs up to warp 0 at time 2, one %d: warp %u at time %u is%s covered\n", one, warp, time, covers ? "" : " not");
				failures++;
			}
}

int main(void)
{
	map_arena();
	grid = 4;
	struct cta c = enter(launch(0, 0, 5, 5, 1), 0, 1);
	places();
	lists((const struct gsan_launch *)(uintptr_t)c.launch);
	only(&c);
	for (u32 each = 2; each <= 16; each *= 2)
		full(&c, each);
	lines(&c);
	met(&c);
	many(&c);
	printf(failures ? "failed\n" : "ok\n");
	return failures != 0;
}
