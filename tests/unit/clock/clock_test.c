/* The clock algebra in twins: each program once with the edge that orders two launches and once without it. What a
 * launch record says is read back the way the device does: below the floor, or named by a pair. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/clock.h"
#include "clock/vec.h"

static void renew(struct clock *c, uint32_t half)
{
	struct clock_sweep sweep;
	clock_renewing(c, NULL, &sweep);
	clock_renewed(c, half, &sweep);
}

static int failed;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failed = 1; \
		} \
	} while (0)

struct launch { uint32_t participant, stream, seq; struct gsan_order order; };

static struct launch launch(struct clock *c, uint32_t slot)
{
	struct launch l = {.participant = c->participant, .stream = slot};
	uint32_t half;

	while (clock_launch(c, slot, CLOCK_CHECKED, &l.seq, &l.order, &half) == -EAGAIN)
		renew(c, half);
	return l;
}

static int before(const struct launch *a, const struct launch *b)
{
	const struct gsan_order *o = &b->order;

	if (a->seq < o->floor[a->participant] || o->flags & GSAN_ORDER_UNKNOWN)
		return 1;
	for (uint32_t i = 0; i < o->pairs; i++)
		if (o->pair[i].participant == a->participant && o->pair[i].stream == a->stream && a->seq <= o->pair[i].seq)
			return 1;
	return 0;
}

static void host_sync(struct clock *c, uint32_t slot)
{
	struct clock_vec mark;

	clock_mark(c, slot, &mark);
	clock_host_join(c, &mark);
}

static void test_streams(void)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s), b = launch(&c, s), x = launch(&c, t);
	CHECK(before(&a, &b));  /* one stream */
	CHECK(!before(&a, &x)); /* two */
	CHECK(!before(&b, &a) && !before(&b, &b));
	clock_destroy(&c);
}

/* ---- programmatic dependent launch -------------------------------------------------------------------------------------------------- */
enum { TRIGGERS = 1, AT_ONCE = 2 }; /* what a launch does: lets the next one begin; and may do so before it has waited */

/* A launch that may begin early; `early`: its order until it waits, else the whole one. */
static struct launch depend(struct clock *c, uint32_t slot, int does, int *early)
{
	struct launch whole = launch(c, slot), l = whole;

	*early = clock_early(c, slot, l.seq, &l.order);
	CHECK(!!(l.order.flags & GSAN_ORDER_EARLY) == *early);
	if (does)
		clock_triggers(c, slot, l.seq, *early && does & AT_ONCE);
	return l;
}

static struct launch triggering(struct clock *c, uint32_t slot)
{
	struct launch l = launch(c, slot);

	clock_triggers(c, slot, l.seq, 0);
	return l;
}

/* Which comes behind one that triggers need not be behind that, only behind what that is behind; of those that trigger at once a whole chain overlaps. */
static void test_early(void)
{
	struct clock c;
	int early;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch x = launch(&c, t), first = launch(&c, s), a = triggering(&c, s), y = launch(&c, t);
	struct launch b = depend(&c, s, TRIGGERS | AT_ONCE, &early);
	CHECK(early && before(&first, &b) && !before(&a, &b) && !before(&x, &b) && !before(&y, &b));
	struct launch d = depend(&c, s, TRIGGERS, &early); /* has waited when it triggers */
	CHECK(early && before(&first, &d) && !before(&a, &d) && !before(&b, &d));
	struct launch e = depend(&c, s, 0, &early);
	CHECK(early && before(&a, &e) && before(&b, &e) && !before(&d, &e));
	struct launch f = depend(&c, s, 0, &early); /* behind one that does not trigger */
	CHECK(!early && before(&d, &f) && before(&e, &f));
	struct launch g = launch(&c, s);
	CHECK(before(&a, &g) && before(&b, &g) && before(&d, &g) && before(&e, &g) && before(&f, &g));
	clock_destroy(&c);
}

/* The floor does not fall behind what may be overtaken: far below, tags would look like such that are before (layout.h). */
static void test_early_floor(void)
{
	struct clock c;
	struct clock_vec event;
	int early;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	for (unsigned i = 0; i < 20000; i++) {
		launch(&c, t);
		host_sync(&c, t);
	}
	struct launch x = launch(&c, t);
	clock_record(&c, t, &event);
	clock_wait(&c, s, &event);
	struct launch a = triggering(&c, s), y = launch(&c, t), b = depend(&c, s, TRIGGERS | AT_ONCE, &early);
	CHECK(early && b.order.floor[0] == a.seq && before(&x, &b) && !before(&a, &b) && !before(&y, &b));
	struct launch d = depend(&c, s, 0, &early);
	CHECK(early && d.order.floor[0] == a.seq && before(&x, &d) && !before(&b, &d));
	clock_destroy(&c);
}

/* What else orders them: an event, the host, something in between, a refusal that leaves nothing to overtake. And of other slots all stays before. */
static void test_early_ordered(void)
{
	struct clock c;
	struct clock_vec event;
	uint32_t seq, half;
	int early;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch a = triggering(&c, s), x = launch(&c, t);
	clock_record(&c, s, &event);
	clock_wait(&c, s, &event);
	struct launch b = depend(&c, s, TRIGGERS, &early);
	CHECK(!early && before(&a, &b));
	clock_record(&c, t, &event);
	clock_wait(&c, s, &event);
	struct launch d = depend(&c, s, TRIGGERS, &early);
	CHECK(early && before(&a, &d) && !before(&b, &d) && before(&x, &d)); /* x lies above the floor */
	host_sync(&c, s);
	struct launch e = depend(&c, s, TRIGGERS, &early);
	CHECK(!early && before(&d, &e));
	clock_launch(&c, s, CLOCK_PLAIN, &seq, NULL, &half); /* a copy */
	struct launch f = depend(&c, s, TRIGGERS, &early);
	CHECK(!early && before(&e, &f));
	struct launch refused = launch(&c, s);
	clock_refused(&c, s, refused.seq);
	clock_triggers(&c, s, refused.seq, 0);
	struct launch g = depend(&c, s, 0, &early);
	CHECK(early && before(&e, &g) && !before(&f, &g));
	clock_destroy(&c);
}

/* By way of another stream, and of the legacy default stream, both of which came behind it as a whole; and streams that share a slot. */
static void test_early_beside(void)
{
	struct clock c;
	struct clock_vec event;
	int early;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 1), t = clock_slot_open(&c, 0);
	struct launch a = triggering(&c, s);
	clock_record(&c, s, &event);
	clock_wait(&c, t, &event);
	launch(&c, t);
	clock_record(&c, t, &event);
	clock_wait(&c, s, &event);
	struct launch b = depend(&c, s, TRIGGERS, &early);
	CHECK(!early && before(&a, &b));
	struct launch legacy = launch(&c, CLOCK_LEGACY), d = depend(&c, s, TRIGGERS, &early);
	CHECK(!early && before(&b, &d) && before(&legacy, &d));
	struct launch e = depend(&c, s, TRIGGERS, &early);
	CHECK(early && before(&b, &e) && before(&legacy, &e) && !before(&d, &e));
	a = triggering(&c, CLOCK_SHARED);
	b = depend(&c, CLOCK_SHARED, 0, &early);
	CHECK(!early && before(&a, &b));
	clock_destroy(&c);
}

static void test_events(int edge)
{
	struct clock c;
	struct clock_vec event;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0), u = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s);
	clock_mark(&c, s, &event);
	struct launch late = launch(&c, s);
	if (edge)
		clock_wait(&c, t, &event);
	struct launch b = launch(&c, t);
	CHECK(before(&a, &b) == edge);
	CHECK(!before(&late, &b)); /* after the record */
	clock_mark(&c, t, &event);
	clock_wait(&c, u, &event);
	struct launch d = launch(&c, u);
	CHECK(before(&b, &d));
	CHECK(before(&a, &d) == edge); /* edges chain */
	clock_destroy(&c);
}

static void test_legacy(int blocking)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, blocking), t = clock_slot_open(&c, blocking);
	struct launch a = launch(&c, s), l = launch(&c, CLOCK_LEGACY), b = launch(&c, t);
	CHECK(before(&a, &l) == blocking);
	CHECK(before(&l, &b) == blocking);
	CHECK(before(&a, &b) == blocking);
	struct launch d = launch(&c, s);
	CHECK(!before(&b, &d)); /* blocking streams among themselves are free */
	clock_destroy(&c);
}

/* Between them the legacy stream's launch, an event's record there, a look at whether it is done; the driver takes it, or refuses. */
enum middle { MIDDLE_LAUNCH, MIDDLE_RECORD, MIDDLE_MARK };
static void test_legacy_middle(enum middle middle, int refused)
{
	struct clock_vec event;
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 1), t = clock_slot_open(&c, 1);
	struct launch first = launch(&c, CLOCK_LEGACY), a = launch(&c, s);
	if (middle == MIDDLE_LAUNCH || refused) {
		struct launch l = launch(&c, CLOCK_LEGACY);
		CHECK(before(&first, &l) && before(&a, &l));
		if (refused)
			clock_refused(&c, CLOCK_LEGACY, l.seq);
	}
	if (middle == MIDDLE_RECORD)
		clock_record(&c, CLOCK_LEGACY, &event);
	if (middle == MIDDLE_MARK)
		clock_mark(&c, CLOCK_LEGACY, &event);
	CHECK(middle == MIDDLE_LAUNCH || event.seen[s] == a.seq);
	struct launch b = launch(&c, t);
	CHECK(before(&first, &b) && before(&a, &b) == (middle == MIDDLE_RECORD || (middle == MIDDLE_LAUNCH && !refused)));
	struct launch l = launch(&c, CLOCK_LEGACY), d = launch(&c, t);
	CHECK(before(&a, &l) && before(&b, &l) && before(&a, &d));
	clock_destroy(&c);
}

/* What another thread does while the call is under way: it may come behind the launch, so it is; what the legacy stream is told stays. */
static void test_refused_meanwhile(int waits)
{
	struct clock_vec event, legacy;
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 1), t = clock_slot_open(&c, 1), u = clock_slot_open(&c, 1), n = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s), other = launch(&c, n), l = launch(&c, CLOCK_LEGACY), b = launch(&c, t);
	CHECK(before(&a, &b) && before(&l, &b));
	clock_mark(&c, n, &event);
	if (waits)
		clock_wait(&c, CLOCK_LEGACY, &event);
	else
		clock_record(&c, CLOCK_LEGACY, &legacy);
	clock_refused(&c, CLOCK_LEGACY, l.seq);
	struct launch d = launch(&c, u);
	CHECK(before(&a, &d) && before(&other, &d) == waits);
	clock_destroy(&c);
}

/* Nobody waits for the number of a launch that was refused: the stream is done without it, and its slot is free. */
static void test_refused_number(int refused)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s);
	host_sync(&c, s);
	struct launch l = launch(&c, s);
	if (refused)
		clock_refused(&c, s, l.seq);
	CHECK(clock_idle(&c, NULL) == refused);
	struct launch b = launch(&c, t);
	CHECK((b.order.floor[0] == b.seq) == refused && before(&a, &b));
	struct launch d = launch(&c, s);
	CHECK(d.seq > l.seq && !before(&b, &d));
	clock_refused(&c, s, l.seq); /* late: another one came since */
	CHECK(c.slot[s].last == d.seq);
	clock_refused(&c, s, d.seq);
	clock_slot_close(&c, s);
	CHECK((clock_slot_open(&c, 0) == s) == refused);
	clock_destroy(&c);
}

static void test_legacy_alone(int synced)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0);
	struct launch l = launch(&c, CLOCK_LEGACY);
	if (synced)
		host_sync(&c, CLOCK_LEGACY);
	struct launch a = launch(&c, s);
	CHECK(before(&l, &a) == synced);
	clock_destroy(&c);
}

static void test_host(int synced)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s);
	struct clock_vec mark;
	clock_mark(&c, s, &mark);
	struct launch late = launch(&c, s);
	if (synced)
		clock_host_join(&c, &mark);
	struct launch b = launch(&c, t);
	CHECK(before(&a, &b) == synced);
	CHECK(!before(&late, &b)); /* enqueued after the wait began */
	clock_mark_all(&c, &mark);
	CHECK(!clock_idle(&c, NULL) && clock_idle(&c, &mark) && !clock_idle(&c, NULL));
	clock_host_join(&c, &mark);
	CHECK(clock_idle(&c, NULL));
	struct launch d = launch(&c, clock_slot_open(&c, 0));
	CHECK(before(&late, &d) && before(&b, &d) && d.order.floor[0] == d.seq && d.order.pairs == 0);
	clock_destroy(&c);
}

/* A mark without some slots: what they were given is in it only if another one came behind it. */
static void test_mark_but(int waits)
{
	struct clock c;
	struct clock_vec mark, event;

	CHECK(clock_init(&c, NULL, 0, 15) == 0);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s), b = launch(&c, t);
	clock_record(&c, s, &event);
	if (waits)
		clock_wait(&c, t, &event);
	clock_mark_but(&c, 1ull << s, &mark);
	clock_host_join(&c, &mark);
	struct launch d = launch(&c, clock_slot_open(&c, 0));
	CHECK(before(&b, &d) && before(&a, &d) == waits);
	clock_destroy(&c);
}

static void test_floor(void)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	for (int i = 0; i < 100; i++)
		launch(&c, s);
	host_sync(&c, s);
	struct launch pin = launch(&c, t), b = launch(&c, s), d = launch(&c, s);
	CHECK(d.order.floor[0] == pin.seq); /* one long kernel pins the floor, the stream's own work is a pair */
	CHECK(d.order.pairs == 1 && before(&b, &d) && !before(&pin, &d));
	clock_destroy(&c);
}

/* modelled: nothing but modelled edges orders ranks. */
static void test_peers(int synced, int modelled)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock c, p;

	job->participants = 2;
	job->host_order_modelled = (uint32_t)modelled;
	job->rank_bits = 15;
	clock_init(&c, job, 0, 15);
	clock_init(&p, job, 1, 15);
	atomic_store(&job->rank[1].state, JOB_RUNNING);
	job_changed(job);
	uint32_t s = clock_slot_open(&p, 0), t = clock_slot_open(&p, 0);
	struct launch pin = launch(&p, t), a = launch(&p, s);
	if (synced)
		host_sync(&p, s);
	struct launch b = launch(&c, CLOCK_LEGACY);
	CHECK(before(&a, &b) == (synced && !modelled));
	CHECK(!before(&pin, &b));
	struct launch late = launch(&p, s);
	struct launch d = launch(&c, CLOCK_LEGACY);
	CHECK(!before(&late, &d) && before(&b, &d));
	atomic_store(&job->rank[1].state, JOB_LEFT);
	job_changed(job);
	struct launch f = launch(&c, CLOCK_LEGACY);
	CHECK(before(&late, &f) && before(&pin, &f));
	clock_destroy(&p);
	atomic_store(&job->rank[1].first, 1u << 14); /* who gets its place goes on behind its numbers, and is not before what it was before */
	atomic_store(&job->rank[1].state, JOB_RUNNING);
	clock_init(&p, job, 1, 15);
	clock_start_at(&p, 1);
	job_changed(job);
	struct launch other = launch(&p, clock_slot_open(&p, 0)), g = launch(&c, CLOCK_LEGACY);
	CHECK(other.seq >= 1u << 14 && !before(&other, &g) && !before(&other, &f) && before(&late, &g) && before(&pin, &g));
	clock_destroy(&c);
	clock_destroy(&p);
	free(job);
}

/* What the host of p had seen when it said a word is before what c launches behind it, and what q does, to which c passes it on. */
static void test_words(void)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock c, p, q;
	struct { struct clock *clock; uint32_t participant; } all[] = {{&c, 0}, {&p, 1}, {&q, 2}};

	job->participants = 3;
	job->host_order_modelled = 1;
	for (int i = 0; i < 3; i++) {
		clock_init(all[i].clock, job, all[i].participant, 15);
		atomic_store(&job->rank[i].state, JOB_RUNNING);
	}
	uint32_t s = clock_slot_open(&p, 0), t = clock_slot_open(&p, 0), u = clock_slot_open(&p, 0);
	struct launch pin = launch(&p, t), a = launch(&p, s);
	clock_release(&p, 1);
	host_sync(&p, s);
	clock_acquire(&c, 1);
	struct launch early = launch(&c, CLOCK_LEGACY);
	CHECK(!before(&a, &early));
	struct launch late = launch(&p, s), other = launch(&p, u);
	clock_release(&p, 2);
	clock_acquire(&c, 3);
	struct launch unsaid = launch(&c, CLOCK_LEGACY);
	CHECK(!before(&a, &unsaid));
	host_sync(&p, u);
	clock_acquire(&c, 2);
	struct launch b = launch(&c, CLOCK_LEGACY), d = launch(&q, CLOCK_LEGACY);
	CHECK(before(&a, &b) && !before(&pin, &b) && !before(&late, &b) && !before(&other, &b) && !before(&a, &d));
	clock_release(&p, 4);
	clock_acquire(&c, 4);
	clock_release(&c, 5);
	clock_acquire(&q, 5);
	struct launch e = launch(&c, CLOCK_LEGACY), f = launch(&q, CLOCK_LEGACY);
	CHECK(before(&a, &f) && before(&other, &f) && before(&other, &e) && !before(&pin, &f) && !before(&late, &f) && !before(&b, &f));
	CHECK(!atomic_load(&job->rank[0].counter[GSAN_N_ORDER_FULL]));
	for (uint64_t word = 6; word < JOB_WORDS + 5; word++) /* the last of them has no place */
		clock_release(&c, word);
	host_sync(&c, CLOCK_LEGACY);
	clock_release(&c, JOB_WORDS + 10);
	clock_acquire(&q, JOB_WORDS + 20);
	struct launch g = launch(&q, CLOCK_LEGACY);
	CHECK(before(&b, &g) && atomic_load(&job->rank[2].counter[GSAN_N_ORDER_FULL]) == 1);
	for (int i = 0; i < 3; i++)
		clock_destroy(all[i].clock);
	free(job);
}

/* More streams than pairs: what came before the oldest of them counts as ordered, and is counted; what came behind does not. */
static void test_overflow(unsigned streams)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock c;
	struct clock_vec event;

	job->participants = 2;
	clock_init(&c, job, 0, 15);
	uint32_t pinned = clock_slot_open(&c, 0), to = clock_slot_open(&c, 0);
	struct launch pin = launch(&c, pinned);
	struct launch a = {0}, first = {0};
	for (unsigned i = 0; i < streams; i++) {
		uint32_t s = clock_slot_open(&c, 0);
		a = launch(&c, s);
		clock_mark(&c, s, &event);
		clock_wait(&c, to, &event);
		first = i ? first : a;
	}
	struct launch late = launch(&c, pinned), b = launch(&c, to), d = launch(&c, pinned);
	int over = streams > GSAN_ORDER_PAIRS;
	CHECK(before(&a, &b) && before(&first, &b));
	CHECK(!(b.order.flags & GSAN_ORDER_UNKNOWN) && b.order.pairs <= GSAN_ORDER_PAIRS);
	CHECK(before(&pin, &b) == over && !before(&late, &b) && !before(&b, &d));
	CHECK(atomic_load(&job->rank[0].counter[GSAN_N_ORDER_FULL]) == (unsigned)over);
	clock_destroy(&c);
	free(job);
}

/* A peer's streams, of which the host has seen far later launches than of its first, and a few more of one's own than there is room for:
 * it is one's own floor that rises. */
static void test_overflow_peers(unsigned own)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock c, p;
	struct clock_vec event;

	job->participants = 2;
	clock_init(&c, job, 0, 15);
	clock_init(&p, job, 1, 15);
	atomic_store(&job->rank[1].state, JOB_RUNNING);
	struct launch pin = launch(&p, clock_slot_open(&p, 0)), a = {0}, b = {0};
	for (unsigned i = 0; i < 1000 + GSAN_ORDER_PAIRS / 2; i++) {
		uint32_t s = clock_slot_open(&p, 0);
		a = launch(&p, s);
		host_sync(&p, s);
		if (i < 1000)
			clock_slot_close(&p, s);
	}
	uint32_t to = clock_slot_open(&c, 0), pinned = clock_slot_open(&c, 0);
	struct launch mine = launch(&c, pinned);
	for (unsigned i = 0; i < own; i++) {
		uint32_t s = clock_slot_open(&c, 0);
		b = launch(&c, s);
		clock_mark(&c, s, &event);
		clock_wait(&c, to, &event);
	}
	struct launch l = launch(&c, to);
	CHECK(before(&a, &l) && before(&b, &l) && !before(&pin, &l));
	int over = own >= GSAN_ORDER_PAIRS;
	CHECK(before(&mine, &l) == over && (atomic_load(&job->rank[0].counter[GSAN_N_ORDER_FULL]) > 0) == over);
	clock_destroy(&c);
	clock_destroy(&p);
	free(job);
}

static void wait_unknown(struct clock *c, uint32_t slot)
{
	clock_wait_unknown(c, slot, launch(c, slot).seq);
}

static void test_unknown(void)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s), b = launch(&c, t);
	CHECK(!before(&a, &b));
	wait_unknown(&c, t);
	struct launch d = launch(&c, t), e = launch(&c, s);
	CHECK(before(&a, &d) && !before(&d, &e));
	clock_host_unknown(&c);
	struct launch f = launch(&c, s);
	CHECK(before(&d, &f));
	clock_destroy(&c);
}

/* A wait for something unknown is over when the host has seen its stream behind it (or a stream that waited for that one): it
 * came behind whatever was enqueued until then, by peers too, and what comes later is as free as ever. */
static void test_unknown_over(int by_event)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock_vec mark, event;
	struct clock c, p;

	job->participants = 2;
	clock_init(&c, job, 0, 15);
	clock_init(&p, job, 1, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0), u = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s), theirs = launch(&p, CLOCK_LEGACY);
	clock_mark(&c, t, &mark);
	wait_unknown(&c, t);
	clock_host_join(&c, &mark); /* of what was before the wait */
	clock_mark(&c, t, &event);
	clock_wait(&c, u, &event);
	struct launch b = launch(&c, t), d = launch(&c, u), e = launch(&c, s);
	CHECK(before(&a, &b) && before(&theirs, &b) && before(&a, &d) && before(&theirs, &d));
	CHECK(!before(&b, &e) && !before(&theirs, &e));
	host_sync(&c, by_event ? u : t);
	struct launch f = launch(&c, u);
	CHECK(before(&e, &f) && before(&theirs, &f) && !(f.order.flags & GSAN_ORDER_UNKNOWN));
	struct launch late = launch(&p, CLOCK_LEGACY), g = launch(&c, t), h = launch(&c, s);
	CHECK(!before(&late, &g) && !before(&g, &h) && !before(&f, &g) && !(g.order.flags & GSAN_ORDER_UNKNOWN));
	wait_unknown(&c, t);
	struct launch again = launch(&c, t);
	CHECK(before(&late, &again) && before(&h, &again));
	clock_destroy(&c);
	clock_destroy(&p);
	free(job);
}

/* What one host may have seen the end of is before what any participant launches later, a third one's and the waited-for's own, whether
 * it was a stream that waited, or the host itself; and also if that process has ended. What came later is not. */
static void test_unknown_told(int by_host)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock c, p, q;

	job->participants = 4;
	clock_init(&c, job, 0, 15);
	clock_init(&p, job, 1, 15);
	clock_init(&q, job, 2, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&p, 0), u = clock_slot_open(&p, 0), v = clock_slot_open(&q, 0);
	struct launch a = launch(&p, t);
	if (!by_host)
		wait_unknown(&c, s);
	struct launch b = launch(&p, u), d = launch(&q, v);
	CHECK(!before(&a, &b) && !before(&a, &d));
	if (by_host)
		clock_host_unknown(&c);
	else
		host_sync(&c, s);
	struct launch late = launch(&p, t), e = launch(&p, u), f = launch(&q, v);
	CHECK(before(&a, &e) && before(&a, &f) && !before(&late, &e) && !before(&late, &f));
	job->host_order_modelled = 1;
	clock_host_unknown(&c);
	struct launch g = launch(&p, u);
	CHECK(!before(&late, &g));
	job->host_order_modelled = 0;
	atomic_store(&job->rank[0].state, JOB_LEFT);
	job_changed(job);
	struct launch h = launch(&p, u);
	CHECK(before(&late, &h));
	clock_destroy(&c);
	clock_destroy(&p);
	clock_destroy(&q);
	free(job);
}

/* Of two waits, the first is over: what comes behind the second is not. Streams that share a slot are never told apart. */
static void test_unknown_twice(int shared)
{
	struct clock_vec mark;
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	while (shared && t != CLOCK_SHARED)
		t = clock_slot_open(&c, 0);
	wait_unknown(&c, t);
	clock_mark(&c, t, &mark);
	wait_unknown(&c, t);
	clock_host_join(&c, &mark);
	struct launch a = launch(&c, s), b = launch(&c, t), d = launch(&c, s);
	CHECK(before(&a, &b) && !!(d.order.flags & GSAN_ORDER_UNKNOWN) == shared);
	host_sync(&c, t);
	struct launch e = launch(&c, t);
	CHECK(!!(e.order.flags & GSAN_ORDER_UNKNOWN) == shared);
	clock_destroy(&c);
}

static void test_slots(void)
{
	struct clock c;

	clock_init(&c, NULL, 0, 15);
	uint32_t s = clock_slot_open(&c, 0);
	launch(&c, s);
	clock_slot_close(&c, s);
	CHECK(clock_slot_open(&c, 0) != s); /* its work may still run */
	host_sync(&c, s);
	CHECK(clock_slot_open(&c, 0) == s);
	for (unsigned i = 0; i < GSAN_STREAMS; i++)
		clock_slot_open(&c, 0);
	CHECK(c.shared > 0 && clock_slot_open(&c, 0) == CLOCK_SHARED);
	clock_destroy(&c);
}

/* Eight tag bits: 256 tags. The pinned launch's tag is never given out again while it may run. */
static void test_tags(int finish)
{
	struct clock c;
	struct clock_vec mark;
	unsigned renewals = 0, reused = 0, nobodys = 0;

	clock_init(&c, NULL, 0, 8);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch pin = launch(&c, t);
	clock_mark(&c, t, &mark);
	if (finish)
		clock_host_join(&c, &mark);
	for (int i = 0; i < 2000; i++) {
		uint32_t seq, half;
		int rc = clock_launch(&c, s, CLOCK_CHECKED, &seq, NULL, &half);
		if (rc == -EAGAIN) {
			renewals++;
			renew(&c, half);
			continue;
		}
		CHECK(rc == 0);
		reused += (seq & 255) == (pin.seq & 255);
		nobodys += !(seq & 255);
		host_sync(&c, s);
	}
	CHECK(renewals >= 12); /* each half from the second round on */
	CHECK((finish ? reused > 5 : reused == 0) && !nobodys);
	clock_destroy(&c);
}

/* No launch's floor, of its own participant or of a peer, lies further behind what was launched than half of the tags, though no host ever
 * waits; what was launched lately stays unordered. Twin: what comes before that says nothing. */
static void test_tags_short(int many)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock c, p;
	uint32_t half = 1u << (GSAN_GUEST_BITS - 1), seq, half_of;
	const _Atomic uint64_t *counted = &job->rank[GSAN_GUEST].counter[GSAN_N_ORDER_FULL];

	job->participants = GSAN_GUEST + 1;
	clock_init(&c, job, GSAN_GUEST, GSAN_GUEST_BITS);
	clock_init(&p, job, 0, 15);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	struct launch old = launch(&c, t), last = old;
	for (uint32_t i = 0; i < (many ? half + half / 2 : half / 2); i++) {
		struct gsan_order order;
		int rc = clock_launch(&c, s, CLOCK_CHECKED, &seq, &order, &half_of);
		if (rc == -EAGAIN)
			renew(&c, half_of);
		else
			CHECK(rc == 0 && seq - order.floor[GSAN_GUEST] < half);
		if (i % 64 == 60)
			last = launch(&c, s);
	}
	struct launch own = launch(&c, t), peers = launch(&p, CLOCK_LEGACY);
	CHECK(before(&old, &own) && before(&old, &peers) == many);
	CHECK(!before(&last, &own) && !before(&last, &peers) && own.seq - peers.order.floor[GSAN_GUEST] < half);
	CHECK((*counted > 0) == many);
	clock_destroy(&c);
	clock_destroy(&p);
	free(job);
}

/* Two streams share a slot. A wait for one of them says nothing of what runs in the other, a wait for everything does. */
static void test_tags_shared(int all)
{
	struct clock c;
	struct clock_vec mark;
	uint32_t reused = 0, seq, half;

	clock_init(&c, NULL, 0, 8);
	while (c.shared < 2)
		clock_slot_open(&c, 0);
	struct launch pin = launch(&c, CLOCK_SHARED);
	clock_mark_all(&c, &mark);
	if (all)
		clock_host_waited(&c, &mark);
	clock_host_join(&c, &mark);
	for (int i = 0; i < 2000; i++) {
		int rc = clock_launch(&c, CLOCK_LEGACY, CLOCK_CHECKED, &seq, NULL, &half);
		if (rc == -EAGAIN) {
			renew(&c, half);
			continue;
		}
		CHECK(rc == 0);
		reused += (seq & 255) == (pin.seq & 255);
		host_sync(&c, CLOCK_LEGACY);
	}
	CHECK(all ? reused > 5 : reused == 0);
	clock_destroy(&c);
}

/* A program that never waits: no launch is known complete, so tags run out; copies still get numbers. */
static void test_tags_exhausted(void)
{
	struct clock c;
	uint32_t seq = 0, half;
	int rc = 0, busy = 0;

	clock_init(&c, NULL, 0, 8);
	for (int i = 0; i < 600; i++) {
		rc = clock_launch(&c, CLOCK_LEGACY, CLOCK_CHECKED, &seq, NULL, &half);
		if (rc == -EAGAIN)
			renew(&c, half);
		if (rc == -EBUSY)
			busy = 1;
		CHECK(rc != 0 || seq < 256 || !(seq & 255)); /* nobody had tag 0 at first */
		if (rc && clock_launch(&c, CLOCK_LEGACY, CLOCK_PLAIN, &seq, NULL, &half) == -EAGAIN)
			renew(&c, half);
	}
	CHECK(busy && seq > 256);
	clock_destroy(&c);
}

/* ---- what is kept from launch to launch, against what is found anew ------------------------------------------- */

/* The slot's vector as it must be: everything that it has to join, joined again. */
static struct clock_vec whole_vec(const struct clock *c, uint32_t s)
{
	struct clock_vec v = c->slot[s].vec;

	clock_join(&v, &c->host, GSAN_STREAMS);
	clock_raise(&v.seen[s], c->slot[s].last);
	for (uint32_t other = 0; other < c->slots; other++) {
		const struct clock_slot *o = &c->slot[other];
		if (other == s || !(s == CLOCK_LEGACY ? o->state != CLOCK_FREE && o->blocking : other == CLOCK_LEGACY && c->slot[s].blocking))
			continue;
		clock_join(&v, &o->vec, GSAN_STREAMS);
		clock_raise(&v.seen[other], o->last);
	}
	return v;
}

static uint32_t whole_peers(const struct clock *c, struct gsan_order *order, uint32_t n)
{
	for (uint32_t q = 0; q < c->job->participants; q++) {
		const struct job_rank *rank = &c->job->rank[q];
		if (q == c->participant)
			continue;
		order->floor[q] = c->first;
		clock_raise(&order->floor[q], c->before[q]);
		clock_raise(&order->floor[q], rank->clock.floor);
		for (uint32_t s = 0; s < GSAN_STREAMS; s++)
			if (rank->clock.stream[s] && rank->clock.stream[s] >= rank->clock.floor && ++n <= GSAN_ORDER_PAIRS)
				order->pair[n - 1] = (struct gsan_pair){.participant = (uint8_t)q, .stream = (uint8_t)s, .seq = rank->clock.stream[s]};
	}
	return n;
}

static struct gsan_order whole_order(const struct clock *c, uint32_t s, uint32_t seq)
{
	struct clock_vec v = whole_vec(c, s);
	struct gsan_order order = {0};
	uint32_t floor = clock_floor(c, &v, seq), n = 0;

	clock_raise(&floor, c->before[c->participant]);
	for (uint32_t t = 0; t < c->slots; t++)
		if (v.seen[t] >= floor && ++n <= GSAN_ORDER_PAIRS)
			order.pair[n - 1] = (struct gsan_pair){.participant = (uint8_t)c->participant, .stream = (uint8_t)t, .seq = v.seen[t]};
	n = whole_peers(c, &order, n);
	order.floor[c->participant] = floor;
	order.flags = clock_unknown(c, &v) ? GSAN_ORDER_UNKNOWN : 0;
	order.pairs = n;
	return order;
}

static int pair_in(const struct gsan_pair *p, const struct gsan_order *o)
{
	for (uint32_t i = 0; i < o->pairs; i++)
		if (o->pair[i].participant == p->participant && o->pair[i].stream == p->stream && o->pair[i].seq == p->seq)
			return 1;
	return 0;
}

static int same_order(const struct gsan_order *a, const struct gsan_order *b)
{
	int same = a->flags == b->flags, over = b->pairs > GSAN_ORDER_PAIRS;

	for (int q = 0; q < 2; q++)
		same &= over ? a->floor[q] >= b->floor[q] : a->floor[q] == b->floor[q];
	for (uint32_t i = 0; over && i < GSAN_ORDER_PAIRS; i++)
		same &= pair_in(&b->pair[i], a) || b->pair[i].seq < a->floor[b->pair[i].participant];
	if (over)
		return same && a->pairs == GSAN_ORDER_PAIRS;
	for (uint32_t i = 0; i < b->pairs; i++)
		same &= pair_in(&b->pair[i], a);
	return same && a->pairs == b->pairs;
}

static struct clock_vec kept_mark[8];
static uint32_t kept_random;
static uint32_t draw(uint32_t n) { return (kept_random = kept_random * 1664525u + 1013904223u) / 65536u % n; }

/* As if it had not been, for whatever slot launches next. */
static void random_refused(struct clock *c, uint32_t s, enum clock_use use)
{
	struct clock was = *c;
	uint32_t seq, half;

	while (clock_launch(c, s, use, &seq, NULL, &half) == -EAGAIN)
		renew(c, half);
	clock_refused(c, s, seq);
	for (uint32_t t = 0; t < c->slots; t++) {
		struct clock_vec a = whole_vec(&was, t), b = whole_vec(c, t);
		CHECK(!memcmp(&a, &b, sizeof(a)) && was.slot[t].last == c->slot[t].last);
	}
	CHECK(c->lives == was.lives);
}

static void random_launch(struct clock *c, uint32_t s)
{
	if (draw(8) == 0)
		random_refused(c, s, draw(2) ? CLOCK_CHECKED : CLOCK_PLAIN);
	struct clock was = *c;
	struct launch l;
	uint32_t half;

	if (draw(4) == 0) {
		clock_launch(c, s, CLOCK_PLAIN, &l.seq, NULL, &half);
		if (draw(8) == 0)
			clock_wait_unknown(c, s, l.seq);
		return;
	}
	l = launch(c, s);
	struct gsan_order whole = whole_order(&was, s, l.seq);
	CHECK(same_order(&l.order, &whole));
}

static void random_step(struct clock *c, uint32_t waits)
{
	uint32_t s = draw(c->slots), i = draw(8);

	if (draw(100) >= waits && c->slot[s].state == CLOCK_OPEN) {
		random_launch(c, s);
		return;
	}
	switch (draw(10)) {
	case 0: clock_mark(c, s, &kept_mark[i]); break;
	case 1: clock_record(c, s, &kept_mark[i]); break;
	case 2: case 3: clock_wait(c, s, &kept_mark[i]); break;
	case 4: clock_host_join(c, &kept_mark[i]); break;
	case 5: clock_mark_all(c, &kept_mark[i]); break;
	case 6: clock_slot_open(c, (int)draw(2)); break;
	case 7: if (s) clock_slot_close(c, s); break;
	case 8: if (c->slot[s].last && draw(4) == 0) clock_wait_unknown(c, s, c->slot[s].last); break; /* told late */
	default: if (draw(20) == 0) clock_host_unknown(c); break;
	}
}

static void test_kept(uint32_t seed)
{
	struct job *job = calloc(1, sizeof(*job));
	struct clock c, peer;

	kept_random = seed;
	job->participants = 2;
	clock_init(&c, job, 0, 15);
	clock_init(&peer, job, 1, 15);
	for (uint32_t n = draw(seed % 4 ? 10 : 80); n; n--)
		clock_slot_open(&c, draw(3) == 0);
	uint32_t waits = 2 + draw(60);
	memset(kept_mark, 0, sizeof(kept_mark));
	for (int step = 0; step < 600; step++) {
		random_step(&c, waits);
		if (draw(20))
			continue;
		launch(&peer, CLOCK_LEGACY); /* the peer's host sees its launches complete, or not */
		if (draw(2))
			host_sync(&peer, CLOCK_LEGACY);
	}
	clock_destroy(&c);
	clock_destroy(&peer);
	free(job);
}

/* The slot that streams share waits with the legacy default stream as soon as one of them does. */
static void test_shared_blocks(int blocking)
{
	struct clock c;
	uint32_t s = 0;

	clock_init(&c, NULL, 0, 15);
	while (s != CLOCK_SHARED)
		s = clock_slot_open(&c, 0);
	struct launch a = launch(&c, s);
	clock_slot_open(&c, blocking);
	struct launch l = launch(&c, CLOCK_LEGACY);
	CHECK(before(&a, &l) == blocking);
	clock_destroy(&c);
}

/* Rows of numbers that lie in one half of the tags, none of them a CTA's or nobody's, and pass over the tags of launches that may still run. */
static void test_block(void)
{
	struct clock c;
	struct gsan_order order;
	uint8_t slots[100];
	uint32_t seq = 0, half, period = 1u << 9, renewals = 0;

	clock_init(&c, NULL, 0, 9);
	uint32_t s = clock_slot_open(&c, 0), t = clock_slot_open(&c, 0);
	for (unsigned i = 0; i < 40; i++)
		launch(&c, s);
	struct launch runs = launch(&c, t); /* and goes on */
	memset(slots, (int)s, sizeof(slots));
	for (uint32_t i = 0; i < 200; i++) {
		struct clock_chain chain = {.slot = s, .first = 1, .previous = i % 100, .last = 1 + i % 100};
		struct clock_block b = {.count = 1 + i % 100, .chains = 1, .slot = slots, .chain = &chain};
		uint32_t last = c.slot[s].last;
		for (; clock_launch_block(&c, &b, &seq, &order, &half) == -EAGAIN; renewals++)
			renew(&c, half);
		CHECK(seq > last && c.slot[s].last == seq + b.count - 1 && c.next == seq + b.count);
		CHECK(seq >> 8 == c.slot[s].last >> 8 && c.slot[s].last < order.floor[0] + period / 2);
		for (uint32_t n = seq; n < c.next; n++)
			CHECK(n % period && !gsan_tag_private(n, 9) && (n - runs.seq) % period && c.tags.slot[n % period] == s);
		host_sync(&c, s);
	}
	CHECK(renewals > 10 && seq > 10 * period);
	struct clock_chain chain = {.slot = s, .first = 1, .last = 1};
	struct clock_block b = {.count = 1, .chains = 1, .pairs = GSAN_ORDER_PAIRS, .slot = slots, .chain = &chain};
	launch(&c, t);
	uint32_t last = c.slot[s].last;
	CHECK(clock_launch_block(&c, &b, &seq, &order, &half) == -ENOSPC && c.slot[s].last == last);
	clock_destroy(&c);
}

int main(void)
{
	test_streams();
	test_early();
	test_early_floor();
	test_early_ordered();
	test_early_beside();
	test_block();
	for (int refused = 0; refused < 2; refused++) {
		for (enum middle m = MIDDLE_LAUNCH; m <= MIDDLE_MARK; m++)
			test_legacy_middle(m, refused);
		test_refused_meanwhile(refused);
		test_refused_number(refused);
	}
	for (int twin = 0; twin < 2; twin++) {
		test_events(twin);
		test_legacy(twin);
		test_legacy_alone(twin);
		test_host(twin);
		test_peers(twin, 0), test_peers(twin, 1);
		test_tags(twin);
		test_tags_short(twin);
		test_tags_shared(twin);
		test_shared_blocks(twin);
	}
	test_mark_but(0);
	test_mark_but(1);
	test_floor();
	test_words();
	test_overflow(GSAN_ORDER_PAIRS);
	test_overflow(GSAN_ORDER_PAIRS + 1);
	test_overflow(GSAN_ORDER_PAIRS + 20);
	test_overflow_peers(GSAN_ORDER_PAIRS / 4);
	test_overflow_peers(GSAN_ORDER_PAIRS);
	test_unknown();
	test_unknown_over(0);
	test_unknown_over(1);
	test_unknown_told(0);
	test_unknown_told(1);
	test_unknown_twice(0);
	test_unknown_twice(1);
	test_slots();
	for (uint32_t seed = 1; seed <= 600 && !failed; seed++)
		test_kept(seed);
	test_tags_exhausted();
	return failed;
}
