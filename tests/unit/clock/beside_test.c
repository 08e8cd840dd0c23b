/* Clocks of one process on several GPUs, against sets: random programs of launches, events, waits of streams and of the host. Each launch knows
 * exactly those before it, as long as a record has room; beyond that it takes too many for such, never too few. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/clock.h"
#include "clock/vec.h"

#define CLOCKS 4
#define LAUNCHES 256 /* of a program */
#define EVENTS 6

static int failed;
#define CHECK(condition) \
	do { \
		if (!(condition) && !failed) { \
			fprintf(stderr, "%s:%d: %s (program %u)\n", __FILE__, __LINE__, #condition, program); \
			failed = 1; \
		} \
	} while (0)

struct set { uint64_t bits[LAUNCHES / 64]; };
struct launch { uint32_t participant, stream, seq; };

static uint32_t program, seed;
static struct job *job;
static struct clock clock_of[CLOCKS];
static uint32_t clocks;
static struct launch launched[LAUNCHES];
static uint32_t launches;
static struct set behind[CLOCKS][GSAN_STREAMS], host, event_set[EVENTS];
static struct { struct clock_vec vec; uint32_t of; } event[EVENTS];

static uint32_t draw(uint32_t n) { return (seed = seed * 1664525u + 1013904223u) / 65536u % n; }

static void unite(struct set *a, const struct set *b)
{
	for (int i = 0; i < LAUNCHES / 64; i++)
		a->bits[i] |= b->bits[i];
}

static struct set known(uint32_t k, uint32_t s)
{
	struct set set = behind[k][s];

	unite(&set, &host);
	return set;
}

static int before(const struct launch *a, const struct gsan_order *o)
{
	if (a->seq < o->floor[a->participant])
		return 1;
	for (uint32_t i = 0; i < o->pairs; i++)
		if (o->pair[i].participant == a->participant && o->pair[i].stream == a->stream && a->seq <= o->pair[i].seq)
			return 1;
	return 0;
}

static void step_launch(uint32_t k, uint32_t s, int exact)
{
	struct launch *l = &launched[launches];
	struct gsan_order order;
	struct set set = known(k, s);
	uint32_t half;

	*l = (struct launch){.participant = clock_of[k].participant, .stream = s};
	CHECK(!clock_launch(&clock_of[k], s, CLOCK_CHECKED, &l->seq, &order, &half) && !(order.flags & GSAN_ORDER_UNKNOWN));
	for (uint32_t i = 0; i < launches; i++) {
		int must = set.bits[i / 64] >> i % 64 & 1, is = before(&launched[i], &order);
		CHECK(exact ? is == must : is >= must);
	}
	behind[k][s].bits[launches / 64] |= 1ull << launches % 64;
	launches++;
}

/* As the driver tells it (src/driver/flow.c). */
static void host_join(uint32_t k, const struct clock_vec *mark, const struct set *set)
{
	clock_host_join(&clock_of[k], mark);
	for (uint32_t left = mark->beside; left; left &= left - 1) {
		uint32_t place = (uint32_t)__builtin_ctz(left);
		struct clock_vec theirs = {0};
		memcpy(theirs.seen, mark->sight[place].seen, sizeof(theirs.seen));
		clock_host_join(&clock_of[place], &theirs);
	}
	unite(&host, set);
}

static void step_wait(uint32_t k, uint32_t s, uint32_t e)
{
	if (event[e].of == k)
		clock_wait(&clock_of[k], s, &event[e].vec);
	else
		CHECK(!clock_wait_beside(&clock_of[k], s, &clock_of[event[e].of], &event[e].vec));
	unite(&behind[k][s], &event_set[e]);
}

static void step(uint32_t waits, int exact)
{
	uint32_t k = draw(clocks), s = draw(clock_of[k].slots), e = draw(EVENTS);
	struct clock_vec mark;

	if (draw(100) >= waits) {
		step_launch(k, s, exact);
		return;
	}

	switch (draw(11)) {
	case 0: case 1: case 2: case 3:
		clock_record(&clock_of[k], s, &event[e].vec);
		event[e].of = k;
		event_set[e] = known(k, s);
		break;
	case 4: case 5: case 6: case 7: step_wait(k, s, e); break;
	case 8: if (draw(3) == 0) host_join(event[e].of, &event[e].vec, &event_set[e]); break;
	case 9: {
		struct set set = known(k, s);
		clock_mark(&clock_of[k], s, &mark);
		if (draw(3) == 0)
			host_join(k, &mark, &set);
		break;
	}
	default:
		if (clocks < CLOCKS && draw(6) == 0 && !exact) /* another GPU comes late */
			clocks++;
	}
}

static void begin(uint32_t slots)
{
	memset(behind, 0, sizeof(behind));
	memset(event, 0, sizeof(event));
	memset(event_set, 0, sizeof(event_set));
	host = (struct set){0};
	launches = 0;
	job = calloc(1, sizeof(*job));
	job->participants = 20;
	job->host_order_modelled = draw(2);
	for (uint32_t k = 0; k < CLOCKS; k++) {
		uint32_t participant = k ? 15 + k : 0;
		clock_init(&clock_of[k], job, participant, 15);
		for (uint32_t s = 1; s < slots; s++)
			clock_slot_open(&clock_of[k], 0);
		for (uint32_t other = 0; other < k; other++)
			clock_meet(&clock_of[k], k, &clock_of[other], other);
	}
}

static void run(uint32_t slots, uint32_t gpus, int exact)
{
	begin(slots);
	clocks = gpus;
	uint32_t waits = 20 + draw(60);
	while (launches < LAUNCHES)
		step(waits, exact);
	for (uint32_t k = 0; k < CLOCKS; k++)
		clock_destroy(&clock_of[k]);
	free(job);
}

/* What waits for something that is not modelled takes along who waits for it. */
static void test_unknown(void)
{
	uint32_t seq, half;
	struct clock_vec mark;

	begin(2);
	clock_launch(&clock_of[0], 1, CLOCK_PLAIN, &seq, NULL, &half);
	clock_record(&clock_of[0], 1, &mark);
	CHECK(!clock_wait_beside(&clock_of[1], 1, &clock_of[0], &mark));
	clock_wait_unknown(&clock_of[0], 1, seq);
	clock_record(&clock_of[0], 1, &mark);
	CHECK(clock_wait_beside(&clock_of[1], 1, &clock_of[0], &mark));
	for (uint32_t k = 0; k < CLOCKS; k++)
		clock_destroy(&clock_of[k]);
	free(job);
}

int main(void)
{
	for (program = 1; program <= 400 && !failed; program++) {
		seed = program * 2654435761u;
		run(1 + draw(5), 2 + draw(3), 1);
	}
	for (; program <= 1000 && !failed; program++) {
		seed = program * 2654435761u;
		run(10 + draw(50), 2 + draw(3), 0);
	}
	test_unknown();
	return failed;
}
