/* What happens when a list of bounded length is full, or a lock is not given back: nothing is dropped, what is not known any more
 * counts as order, and what is known is still found. Each in a racy form and its correct twin. */
#include "play.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "device/order.h"

#define MANY 200u /* more than any list holds */
#define PAYLOAD(i) (DATA(0) + 4096 + (u64)(i) * 256)
#define FLAG(i) (DATA(0) + (2 << 20) + (u64)(i) * 256)

static void judge(const char *name, int race)
{
	if ((found() > 0) != race) {
		printf("FAIL %s: %s\n", name, race ? "no race was found" : "a false race");
		failures++;
	}
	reset();
}

static u64 counted(enum gsan_counter c) { return dev_tables(0)->head.counter[c] + dev_tables(1)->head.counter[c]; }

/* CTA i of launch 5 of rank 0 fills its payload and raises its flag. */
static void messages(u32 sem)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	for (u32 i = 0; i < MANY; i++) {
		struct cta a = enter(l, i, 1);
		weak(&a, GSAN_OP_ST, PAYLOAD(i), 4, 1);
		flag_store(&a, FLAG(i), sem, GSAN_SYS, 1, 2);
		leave(&a);
	}
}

/* Each CTA of launch 9 of rank 1 acquires one of them; the launch behind it, or one of another stream, reads all. */
static void inherited(u32 sem, int behind, const char *name, int race)
{
	messages(GSAN_SEM_RELEASE);
	struct gsan_launch *l = launch(1, 0, 9, 9, 1);
	for (u32 i = 0; i < MANY; i++) {
		struct cta b = enter(l, i, 1);
		flag_load(&b, FLAG(i), sem, GSAN_SYS, 1, 7);
		leave(&b);
	}
	struct cta c = enter(behind ? launch(1, 0, 10, 10, 1) : launch(1, 1, 10, 9, 1), 0, 0);
	for (u32 i = 0; i < MANY; i++)
		weak(&c, GSAN_OP_LD, PAYLOAD(i), 4, 8);
	judge(name, race);
}

/* The kernel's end acquires what was read relaxed. */
static void inherited_from_clock(const char *name)
{
	messages(GSAN_SEM_RELEASE);
	struct cta b = enter(launch(1, 0, 9, 9, 1), 0, 1);
	for (u32 i = 0; i < MANY; i++)
		flag_load(&b, FLAG(i), GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	leave(&b);
	struct cta c = enter(launch(1, 0, 10, 10, 1), 0, 0);
	for (u32 i = 0; i < MANY; i++)
		weak(&c, GSAN_OP_LD, PAYLOAD(i), 4, 8);
	judge(name, 0);
}

/* One CTA acquires the flags of many launches, with a fence between and one behind, none for ~0; what these keep goes with a relaxed
 * store. */
#define LAUNCHES 55u
static void kept_by_fences(u32 first, u32 second, const char *name, int race)
{
	for (u32 i = 0; i < LAUNCHES; i++) {
		struct cta a = enter(launch(0, i, 5 + i, 5, 1), 0, 1);
		weak(&a, GSAN_OP_ST, PAYLOAD(i), 4, 1);
		flag_store(&a, FLAG(i), GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	}
	struct cta b = enter(launch(1, 0, 90, 90, 1), 0, 1), c = enter(launch(1, 1, 91, 90, 1), 0, 1);
	for (u32 i = 0; i < LAUNCHES; i++) {
		if (i == 16)
			fence(&b, GSAN_SEM_ACQUIRE | GSAN_SEM_RELEASE, first);
		flag_load(&b, FLAG(i), GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	}
	if (second != ~0u)
		fence(&b, GSAN_SEM_ACQUIRE | GSAN_SEM_RELEASE, second);
	flag_store(&b, FLAG(LAUNCHES), GSAN_SEM_NONE, GSAN_GPU, 1, 3);
	flag_load(&c, FLAG(LAUNCHES), GSAN_SEM_ACQUIRE, GSAN_GPU, 1, 4);
	for (u32 i = 0; i < LAUNCHES; i++)
		weak(&c, GSAN_OP_LD, PAYLOAD(i), 4, 8);
	judge(name, race);
}

/* Many CTAs count; one of them stores there afterwards, relaxed, which continues what it released. */
static void stored_behind_many(u32 sem, u32 many, const char *name, int race)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta first = {0};
	for (u32 i = 0; i < many; i++) {
		struct cta a = enter(l, i, 1);
		weak(&a, GSAN_OP_ST, PAYLOAD(i), 4, 1);
		rmw(&a, FLAG(0), i ? GSAN_SEM_RELEASE : sem, GSAN_SYS, i, 2);
		first = i ? first : a;
	}
	flag_store(&first, FLAG(0), GSAN_SEM_NONE, GSAN_SYS, 1000, 3);
	struct cta b = enter(launch(1, 0, 9, 9, 1), 0, 1);
	flag_load(&b, FLAG(0), GSAN_SEM_ACQUIRE, GSAN_SYS, 1000, 7);
	weak(&b, GSAN_OP_LD, PAYLOAD(0), 4, 8);
	judge(name, race);
}

/* One CTA reads all flags, relaxed, with a fence behind, or acquiring, and then all payloads. */
static void read_by_one(u32 release, u32 acquire, int fences, const char *name, int race)
{
	messages(release);
	struct cta b = enter(launch(1, 0, 9, 9, 1), 0, 1);
	for (u32 i = 0; i < MANY; i++)
		flag_load(&b, FLAG(i), acquire, GSAN_SYS, 1, 7);
	if (fences)
		fence(&b, GSAN_SEM_ACQUIRE, GSAN_SYS);
	for (u32 i = 0; i < MANY; i++)
		weak(&b, GSAN_OP_LD, PAYLOAD(i), 4, 8);
	judge(name, race);
}

/* One CTA raises many flags, without a release, all of which are read: its weak store is not among what was observed. */
static void many_flags_of_one(u32 sem, const char *name, int race)
{
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 0, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD(0), 4, 1);
	for (u32 i = 0; i < MANY; i++) {
		flag_store(&a, FLAG(i), sem, GSAN_SYS, 1, 2);
		flag_load(&b, FLAG(i), GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	}
	weak(&b, GSAN_OP_LD, PAYLOAD(0), 4, 8);
	judge(name, race);
}

/* A launch of rank 0 fills a payload; a launch of rank 1, behind it by order if `known`, counts, by many CTAs. Who sees that has what was
 * before it, whatever numbers the two have. */
static void before_all(u32 seq, int known, const char *name)
{
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1);
	weak(&a, GSAN_OP_ST, PAYLOAD(0), 4, 1);
	leave(&a);
	struct gsan_launch *l = launch(1, 1, seq, seq, known ? 6 : 1);
	for (u32 i = 0; i < MANY; i++) {
		struct cta b = enter(l, i, 1);
		rmw(&b, FLAG(0), GSAN_SEM_RELEASE, GSAN_SYS, i, 2);
	}
	struct cta c = enter(launch(1, 2, 9, 1, 1), 0, 1);
	flag_load(&c, FLAG(0), GSAN_SEM_ACQUIRE, GSAN_SYS, MANY, 7);
	weak(&c, GSAN_OP_LD, PAYLOAD(0), 4, 8);
	judge(name, !known);
}

/* All arrive at one counter; who sees it has all payloads, but none that was filled behind its CTA's arrival. */
static void counter(int late, const char *name, int race)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta last = {0};
	for (u32 i = 0; i < MANY; i++) {
		last = enter(l, i, 1);
		weak(&last, GSAN_OP_ST, PAYLOAD(i), 4, 1);
		rmw(&last, FLAG(0), GSAN_SEM_RELEASE, GSAN_SYS, i, 2);
	}
	if (late)
		weak(&last, GSAN_OP_ST, PAYLOAD(MANY), 4, 3);
	struct cta b = enter(launch(1, 0, 9, 9, 1), 0, 1);
	flag_load(&b, FLAG(0), GSAN_SEM_ACQUIRE, GSAN_SYS, MANY, 7);
	for (u32 i = 0; i <= MANY; i++)
		weak(&b, GSAN_OP_LD, PAYLOAD(i), 4, 8);
	judge(name, race);
}

/* Relaxed reads of a counter observe the RMWs themselves: the counter may be reset weakly. */
static void reset_counter(int reads, const char *name, int race)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	for (u32 i = 0; i < MANY; i++) {
		struct cta a = enter(l, i, 1);
		rmw(&a, FLAG(0), GSAN_SEM_NONE, GSAN_SYS, i, 2);
	}
	struct cta b = enter(launch(1, 0, 9, 9, 1), 0, 1);
	if (reads)
		flag_load(&b, FLAG(0), GSAN_SEM_NONE, GSAN_SYS, MANY, 7);
	weak(&b, GSAN_OP_ST, FLAG(0), 4, 8);
	judge(name, race);
}

/* A CTA's atomic among its own reads of any kind, before and behind it: another CTA's load races with the atomic in every granule, whoever won the draw
 * for the places. The twin: a strong one does not. */
static void atomic_among_reads(int strong, const char *name)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	u32 silent = 0;
	for (u32 i = 0; i < MANY; i++) {
		u64 before = found();
		if (i & 1)
			rmw(&a, PAYLOAD(i), GSAN_SEM_NONE, GSAN_SYS, 0, 1);
		weak(&a, GSAN_OP_LD, PAYLOAD(i), 4, 10 + i);
		if (!(i & 1)) {
			flag_load(&a, PAYLOAD(i), GSAN_SEM_NONE, GSAN_SYS, 1, 3);
			rmw(&a, PAYLOAD(i), GSAN_SEM_NONE, GSAN_SYS, 0, 1);
		}
		for (u32 scope = GSAN_CTA; scope <= GSAN_SYS; scope++)
			flag_load(&a, PAYLOAD(i), GSAN_SEM_NONE, scope, 1, 3);
		if (strong)
			flag_load(&b, PAYLOAD(i), GSAN_SEM_NONE, GSAN_SYS, 1, 4);
		else
			weak(&b, GSAN_OP_LD, PAYLOAD(i), 4, 300 + i);
		silent += found() == before;
	}
	need(silent == (strong ? MANY : 0), name);
	reset();
}

/* An atomic that finds both places taken by other CTAs' reads: the first of its kind has one whatever its hash. */
static void atomic_behind_reads(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1), d = enter(l, 3, 1);
	for (u32 i = 0; i < MANY; i++) {
		weak(&c, GSAN_OP_LD, PAYLOAD(i), 4, 10);
		weak(&d, GSAN_OP_LD, PAYLOAD(i), 4, 11);
		rmw(&a, PAYLOAD(i), GSAN_SEM_NONE, GSAN_SYS, 0, 1);
		u64 before = found();
		weak(&b, GSAN_OP_LD, PAYLOAD(i), 4, 300 + i);
		need(found() > before, "an atomic behind two reads of others has a place");
	}
	reset();
}

/* ---- locks ------------------------------------------------------------------------------------------------------------ */

/* A queue that goes on is waited for, however long: who waits gives up when no turn has ended for some time. */
static uint64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
struct queue { u32 lock; useconds_t apart; };
#define QUEUE 12
static void *queue_goes_on(void *of)
{
	struct queue *q = of;
	for (u32 i = 0; i < QUEUE; i++) {
		usleep(q->apart);
		lock_give(&q->lock);
	}
	return 0;
}
static void queue_waits(void)
{
	const struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct queue q = {0};
	uint64_t from = now_us();
	gpu_add32_acquire(&q.lock, TURN_NEXT);
	need(!lock_take(l, &q.lock), "a turn that never ends is given up");
	q = (struct queue){.apart = (useconds_t)((now_us() - from) / 5)};
	dev_tables(0)->broken = 0;
	for (u32 i = 0; i < QUEUE; i++)
		gpu_add32_acquire(&q.lock, TURN_NEXT);
	pthread_t thread;
	pthread_create(&thread, 0, queue_goes_on, &q);
	need(lock_take(l, &q.lock), "one behind many others is not");
	pthread_join(thread, 0);
	reset();
}

static void turns(void)
{
	const struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	u32 lock = 0, taken = 1;
	for (u32 i = 0; i < 3u << 16; i++) {
		taken &= (u32)lock_take(l, &lock);
		lock_give(&lock);
	}
	need(taken == 1, "a lock is free again after each of many turns");
	u32 first = gpu_add32_acquire(&lock, TURN_NEXT), second = gpu_add32_acquire(&lock, TURN_NEXT);
	need(!turn_ahead(first, lock) && turn_ahead(second, lock) == 1, "one after the other");
	lock_give(&lock);
	need(!turn_ahead(second, lock), "the next has its turn");
	need(!lock_take(l, &lock), "nobody takes it from a holder that does not come again");
	reset();
}

/* A holder that never comes again: whoever waits goes on, and nothing is reported from there on, by nobody who may need the order. */
static void holder_gone(int gone, const char *name, int race)
{
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	flag_store(&a, FLAG(0), GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	struct dev_sync *e = dev_tables(0)->sync;
	while (!e->key)
		e++;
	if (gone)
		gpu_add32_acquire(&e->lock, TURN_NEXT);
	flag_load(&b, FLAG(0), GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	need(!gone == !counted(GSAN_N_LOCKS), "a lock that was given up is counted");
	weak(&a, GSAN_OP_ST, PAYLOAD(0), 4, 1);
	weak(&b, GSAN_OP_ST, PAYLOAD(0), 4, 8);
	judge(name, race);
}

/* A CTA of two warps comes when there is no room for its state, and its second warp when there is again: they have none both, for what
 * the first acquired is for the second, too. */
static void crowded(int full, u32 sem, const char *name, int race)
{
	messages(GSAN_SEM_RELEASE);
	struct gsan_launch *l = launch(1, 0, 9, 9, 1);
	struct cta in[DEV_BUCKET + 1];
	u32 n = 0;
	for (u32 i = 0; n <= DEV_BUCKET; i++)
		if ((mix64((u64)l->seq << 32 | (i + 1)) & (DEV_BUCKETS - 1)) == 7) {
			in[n].index = i;
			if (n++ < DEV_BUCKET && full)
				in[n - 1] = enter(l, i, 1);
		}
	u32 late = in[DEV_BUCKET].index;
	struct cta first = enter(l, late, 1);
	if (full)
		leave(&in[0]);
	struct cta second = enter(l, late, 1);
	flag_load(&first, FLAG(0), sem, GSAN_SYS, 1, 7);
	weak(&second, GSAN_OP_LD, PAYLOAD(0), 4, 8);
	if (((u32)first.self != 0) == full || ((u32)second.self != 0) == full)
		printf("FAIL %s: the warps differ\n", name), failures++;
	if ((u32)enter(launch(1, 1, 10, 10, 1), late, 1).self == 0)
		printf("FAIL %s: so has a later launch\n", name), failures++;
	judge(name, race);
}

int main(void)
{
	map_arena();
	grid = MANY;
	inherited(GSAN_SEM_ACQUIRE, 1, "a launch inherits what each CTA before it acquired", 0);
	inherited(GSAN_SEM_NONE, 1, "and what it read relaxed, for its end is a fence", 0);
	inherited(GSAN_SEM_ACQUIRE, 0, "a launch of another stream does not", 1);
	inherited_from_clock("a launch inherits a clock that was full");
	read_by_one(GSAN_SEM_RELEASE, GSAN_SEM_ACQUIRE, 0, "more releases than a clock holds", 0);
	read_by_one(GSAN_SEM_RELEASE, GSAN_SEM_NONE, 1, "more reads than are set aside for a fence", 0);
	read_by_one(GSAN_SEM_RELEASE, GSAN_SEM_NONE, 0, "without a fence", 1);
	read_by_one(GSAN_SEM_NONE, GSAN_SEM_ACQUIRE, 0, "many flags without a release", 1);
	kept_by_fences(GSAN_SYS, GSAN_SYS, "more than two fences of .sys keep", 0);
	kept_by_fences(GSAN_SYS, GSAN_GPU, "more than fences of .sys and of .gpu keep", 0);
	kept_by_fences(GSAN_GPU, GSAN_GPU, "more than two fences of .gpu keep", 0);
	kept_by_fences(GSAN_SYS, ~0u, "acquired behind the last fence", 1);
	stored_behind_many(GSAN_SEM_RELEASE, 75, "a store behind more RMWs than a version holds", 0);
	stored_behind_many(GSAN_SEM_RELEASE, 20, "a store behind some RMWs", 0);
	stored_behind_many(GSAN_SEM_NONE, 20, "a store behind RMWs of which its own did not release", 1);
	many_flags_of_one(GSAN_SEM_RELEASE, "many flags of one CTA", 0);
	many_flags_of_one(GSAN_SEM_NONE, "many flags of one CTA, none a release", 1);
	before_all(5, 1, "before a launch, all of which was acquired, of the same number");
	before_all(6, 1, "before a launch, all of which was acquired");
	before_all(5, 0, "beside a launch, all of which was acquired, of the same number");
	before_all(6, 0, "beside a launch, all of which was acquired");
	crowded(1, GSAN_SEM_ACQUIRE, "no room for a state, then for that of another warp", 0);
	crowded(0, GSAN_SEM_ACQUIRE, "room for a state, and an acquire", 0);
	crowded(0, GSAN_SEM_NONE, "room for a state, and none", 1);
	counter(0, "more arrivals than a version holds", 0);
	counter(1, "filled behind the arrival", 1);
	reset_counter(1, "more RMWs observed than a version holds", 0);
	reset_counter(0, "none observed", 1);
	atomic_among_reads(0, "an atomic keeps its place among reads");
	atomic_behind_reads();
	atomic_among_reads(1, "with which it does not race if they are strong");
	turns();
	queue_waits();
	holder_gone(0, "a lock that is given back", 1);
	holder_gone(1, "a lock that is not", 0);
	printf(failures ? "failed\n" : "ok\n");
	return failures != 0;
}
