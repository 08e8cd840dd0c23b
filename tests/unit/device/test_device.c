/* The runtime, native: CTAs of two participants on two GPUs are played one after the other, each case in a racy form and
 * its twin. The arena's regions are mapped at their real addresses, sparsely. */
#include "play.h"

/* ---- cases ------------------------------------------------------------------------------------------------------ */

static void neighbours(u64 second_at, const char *name, u64 races)
{
	struct gsan_launch *l = launch(0, 0, 1, 1, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	weak(&a, GSAN_OP_ST, DATA(0), 2, 1);
	weak(&b, GSAN_OP_ST, DATA(0) + second_at, 2, 2);
	expect(name, races, GSAN_WAW, GSAN_WHY_NONE);
}

static void launches_in_order(u32 floor, const char *name, u64 races)
{
	struct cta a = enter(launch(0, 0, 1, 1, 1), 3, 0), b = enter(launch(0, 1, 2, floor, 1), 4, 0);
	weak(&a, GSAN_OP_ST, DATA(0) + 64, 16, 1);
	weak(&b, GSAN_OP_LD, DATA(0) + 68, 4, 2);
	expect(name, races, GSAN_RAW, GSAN_WHY_NONE);
}

static void launch_pair(u32 seq, const char *name, u64 races)
{
	struct gsan_launch *second = launch(0, 1, 3, 1, 1);
	second->order.pairs = 1;
	second->order.pair[0] = (struct gsan_pair){.participant = 0, .stream = 0, .seq = seq};
	struct cta a = enter(launch(0, 0, 2, 1, 1), 3, 0), b = enter(second, 4, 0);
	weak(&a, GSAN_OP_LD, DATA(0) + 64, 16, 1);
	weak(&b, GSAN_OP_ST, DATA(0) + 68, 4, 2);
	expect(name, races, GSAN_WAR, GSAN_WHY_NONE);
}

enum form { GOOD, RELAXED_ST, RELAXED_LD, ST_GPU, LD_GPU, EARLY };
static void message(enum form f, const char *name, u64 races, u32 reason)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	u32 rel = f == RELAXED_ST ? GSAN_SEM_NONE : GSAN_SEM_RELEASE, acq = f == RELAXED_LD ? GSAN_SEM_NONE : GSAN_SEM_ACQUIRE;
	flag_load(&b, flag, acq, GSAN_SYS, 0, 7);
	if (f != EARLY)
		weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&a, flag, rel, f == ST_GPU ? GSAN_GPU : GSAN_SYS, 1, 2);
	if (f == EARLY)
		weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_load(&b, flag, acq, f == LD_GPU ? GSAN_GPU : GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	/* flags of too narrow a scope race with each other too */
	expect(name, races, GSAN_RAW, reason);
}

static void message_fences(int release, int acquire, const char *name, u64 races, u32 reason)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	if (release)
		fence(&a, GSAN_SEM_RELEASE, GSAN_SYS);
	flag_store(&a, flag, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&b, flag, GSAN_SEM_NONE, GSAN_SYS, 1, 7);
	if (acquire)
		fence(&b, GSAN_SEM_ACQUIRE, GSAN_SYS);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect(name, races, GSAN_RAW, reason);
}

static void fence_too_early(void)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	fence(&a, GSAN_SEM_RELEASE, GSAN_SYS);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&a, flag, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect("a fence releases only what came before it", 1, GSAN_RAW, GSAN_WHY_RELAXED_WRITE);
}

/* Of the flags that gave no edge the one is named that was raised behind the payload, whichever was read last; if another CTA read
 * it, the one that this CTA comes behind. */
static void blamed(u32 through, const char *name)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct gsan_launch *l = launch(1, 0, 9, 9, 1);
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1), d = enter(l, 3, 1);
	flag_store(&a, flag, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&a, flag + 256, GSAN_SEM_NONE, GSAN_SYS, 1, 3);
	for (u32 site = 10; site < 20; site++) /* which orders nothing for b */
		flag_load(&d, flag + 256, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, site);
	flag_load(through ? &c : &b, flag + 256, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 6);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	flag_store(&c, flag + 512, GSAN_SEM_RELEASE, GSAN_GPU, 1, 5);
	flag_load(&b, flag + 512, GSAN_SEM_ACQUIRE, GSAN_GPU, 1, 9);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	EACH_FINDING(f)
		if (f->flag_write_site != 3 || f->flag_read_site != 6 || f->both) {
			printf("FAIL %s: flags %u %u\n", name, f->flag_write_site, f->flag_read_site);
			failures++;
		}
	expect(name, 1, GSAN_RAW, GSAN_WHY_RELAXED_WRITE);
}

static void need_flags(const char *name, u32 write, u32 read)
{
	EACH_FINDING(f)
		if (f->flag_write_site != write || f->flag_read_site != read) {
			printf("FAIL %s: flags %u %u, not %u %u\n", name, f->flag_write_site, f->flag_read_site, write, read);
			failures++;
		}
}

/* An unlock that releases nothing, then the next lock by the same CTA: it is the unlock. */
static void blamed_unlock(void)
{
	static const char name[] = "the first write behind the payload";
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	rmw(&a, flag, GSAN_SEM_NONE, GSAN_SYS, 0, 3);
	rmw(&a, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 4);
	rmw(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 2, 6);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	need_flags(name, 3, 6);
	expect(name, 1, GSAN_RAW, GSAN_WHY_RELAXED_WRITE);
}

/* A word that is loaded and then swapped, both relaxed: it is the swap, however many others wrote it, too. */
static void blamed_swap(u32 site)
{
	static const char name[] = "the swap behind the load";
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	rmw(&a, flag, GSAN_SEM_RELEASE, GSAN_SYS, 0, site);
	for (u32 i = 2; i < 8; i++) {
		struct cta c = enter(l, i, 1);
		rmw(&c, flag, GSAN_SEM_NONE, GSAN_SYS, i - 1, site + 1);
	}
	flag_load(&b, flag, GSAN_SEM_NONE, GSAN_SYS, 7, site + 2);
	rmw(&b, flag, GSAN_SEM_NONE, GSAN_SYS, 7, site + 3);
	weak(&b, GSAN_OP_LD, payload, 4, 2);
	need_flags(name, site, site + 3);
	expect(name, 1, GSAN_RAW, GSAN_WHY_NO_ACQUIRE);
}

/* What the second side itself wrote, and another read without an acquire, explains nothing. */
static void blamed_own(void)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&b, flag, GSAN_SEM_RELEASE, GSAN_GPU, 1, 3);
	flag_load(&c, flag, GSAN_SEM_NONE, GSAN_GPU, 1, 4);
	flag_store(&c, flag + 256, GSAN_SEM_RELEASE, GSAN_GPU, 1, 5);
	flag_load(&b, flag + 256, GSAN_SEM_ACQUIRE, GSAN_GPU, 1, 6);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect("a flag of its own", 1, GSAN_RAW, GSAN_WHY_OTHER_CTA);
}

/* Of two flags that were both raised behind the payload, and behind a fence that came too early for it, the one that was read last. */
static void blamed_last(u32 site)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	fence(&a, GSAN_SEM_RELEASE, GSAN_SYS);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&a, flag, GSAN_SEM_NONE, GSAN_SYS, 1, site);
	flag_store(&a, flag + 256, GSAN_SEM_NONE, GSAN_SYS, 1, site + 1);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, site + 2);
	flag_store(&b, flag + 512, GSAN_SEM_NONE, GSAN_SYS, 1, site + 3);
	flag_load(&b, flag + 256, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, site + 4);
	weak(&b, GSAN_OP_LD, payload, 4, 2);
	EACH_FINDING(f)
		if (f->flag_write_site != site + 1 || f->flag_read_site != site + 4) {
			printf("FAIL the flag that was read last: flags %u %u from %u on\n", f->flag_write_site, f->flag_read_site, site);
			failures++;
		}
	expect("the flag that was read last", 1, GSAN_RAW, GSAN_WHY_RELAXED_WRITE);
}

static void lock(u32 ctas, u32 acquire, u32 release, const char *name, u64 races)
{
	/* the last one is CTA 0: it meets clocks that were merged because they were full */
	struct gsan_launch *l = launch(0, 0, 1, 1, 1);
	struct cta c[64];
	for (u32 i = 0; i < ctas; i++) {
		c[i] = enter(l, ctas - 1 - i, 1);
		rmw(&c[i], DATA(0), acquire, GSAN_GPU, 1, 1); /* and polls once in vain */
	}
	for (u32 i = 0; i < ctas; i++) {
		rmw(&c[i], DATA(0), acquire, GSAN_GPU, 0, 1);
		weak(&c[i], GSAN_OP_LD, DATA(0) + 512, 4, 2);
		weak(&c[i], GSAN_OP_ST, DATA(0) + 512, 4, 3);
		rmw(&c[i], DATA(0), release, GSAN_GPU, 1, 4);
	}
	if (races)
		races = found(); /* how many pairs does not matter here, only that there are some */
	else if (found())
		races = 0;
	int any = races > 0;
	if (any != (release == GSAN_SEM_NONE || acquire == GSAN_SEM_NONE)) {
		printf("FAIL %s\n", name);
		failures++;
	}
	if (!any)
		expect(name, 0, 0, 0);
	reset();
}

static void chain(u32 middle_scope, const char *name, u64 races)
{
	/* A releases, B's relaxed RMW continues the sequence, C acquires */
	u64 payload = DATA(0) + 4096, flag = DATA(0) + 8192;
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1), c = enter(l, 2, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&a, flag, GSAN_SEM_RELEASE, GSAN_GPU, 1, 2);
	rmw(&b, flag, GSAN_SEM_NONE, middle_scope, 1, 3);
	flag_load(&c, flag, GSAN_SEM_ACQUIRE, GSAN_GPU, 2, 4);
	weak(&c, GSAN_OP_LD, payload, 4, 5);
	int any = found() > 0; /* a .cta RMW races with the others by itself */
	if (any != (races > 0)) {
		printf("FAIL %s\n", name);
		failures++;
	}
	reset();
}

static void inherited(u32 floor, const char *name, u64 races)
{
	/* launch 9 of rank 1 acquires, launch 10 behind it reads */
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&a, flag, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	be(&b);
	gsan_leave(b.launch, b.self);
	struct cta later = enter(launch(1, floor == 10 ? 0 : 1, 10, floor, 1), 2, 0);
	weak(&later, GSAN_OP_LD, payload, 4, 8);
	expect(name, races, GSAN_RAW, GSAN_WHY_NONE);
}

/* Launches 9 and 10 of a stream of rank 1 acquire flags of launches 6 and 8, each behind a payload of the launch before it in its stream.
 * A launch of another stream, behind 9 alone or behind both, reads the payload of that many. */
static void inherited_from_two(u32 behind, u32 read, u64 races, const char *name)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	for (u32 i = 0; i < 2; i++) {
		struct cta fill = enter(launch(0, i, 5 + 2 * i, 5, 1), 0, 0), raise = enter(launch(0, i, 6 + 2 * i, 6 + 2 * i, 1), 0, 1);
		weak(&fill, GSAN_OP_ST, payload + 256 * i, 4, 1);
		flag_store(&raise, flag + 256 * i, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
		struct cta b = enter(launch(1, 0, 9 + i, 9 + i, 1), 1, 1);
		flag_load(&b, flag + 256 * i, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
		be(&b);
		gsan_leave(b.launch, b.self);
	}
	struct cta later = enter(launch(1, 1, 11, 9 + behind, 1), 2, 0);
	for (u32 i = 0; i < read; i++)
		weak(&later, GSAN_OP_LD, payload + 256 * i, 4, 8);
	expect(name, races, GSAN_RAW, GSAN_WHY_NONE);
}

static void earlier_kernel(int acquire, const char *name, u64 races, u32 reason)
{
	/* a relaxed flag raised first thing in launch 6 publishes what launch 5 of its stream did */
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	struct cta c = enter(launch(0, 0, 6, 6, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	flag_store(&c, flag, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&b, flag, acquire ? GSAN_SEM_ACQUIRE : GSAN_SEM_NONE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect(name, races, GSAN_RAW, reason);
}

static void unseen(int changes, u32 acquire, u32 scope, const char *name, u64 races, u32 reason)
{
	/* a copy behind launch 5 raises the flag that launch 9 of the other rank polls: no kernel wrote it */
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_load(&b, flag, acquire, scope, 0, 7);
	flag_load(&b, flag, acquire, scope, changes ? 1 : 0, 7);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect(name, races, GSAN_RAW, reason);
}

/* The same where something left `left` there before: an earlier kernel, by a strong store of so many bytes, or by a weak one and ordered by
 * a pair; or who polls. What raises the flag then is a copy, or a store that releases nothing. */
enum lowers { STRONGLY, WEAKLY, BY_READER };
static void unseen_again(enum lowers lowers, u32 left, u32 bytes, int stored, const char *name)
{
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct gsan_launch *l = launch(1, 0, 9, lowers == WEAKLY ? 7 : 9, 1);
	u32 d = desc(GSAN_OP_STRONG_ST + GSAN_SYS, bytes, GSAN_SEM_NONE, 6) | GSAN_DESC_VALUE;
	l->order.pairs = lowers == WEAKLY;
	l->order.pair[0] = (struct gsan_pair){.participant = 1, .stream = 1, .seq = 7};
	struct cta z = enter(launch(1, 1, 7, 7, 1), 0, 1), a = enter(launch(0, 0, 5, 5, 8), 0, 1), b = enter(l, 1, 1);
	if (lowers == WEAKLY) {
		weak(&z, GSAN_OP_ST, flag, bytes, 6);
	} else {
		const struct cta *by = lowers == BY_READER ? &b : &z;
		be(by);
		gsan_before(by->launch, by->self, 1, flag, d, left);
		gsan_after(by->launch, by->self, 1, flag, d, left, 0);
	}
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 7);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	if (stored)
		flag_store(&a, flag, GSAN_SEM_NONE, GSAN_SYS, 1, 2);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect(name, (u64)stored, GSAN_RAW, GSAN_WHY_RELAXED_WRITE);
}

/* A CTA that calls what has no clone may have acquired anything there. */
static void unseen_call(int calls, const char *name)
{
	u64 payload = DATA(1) + 4096;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	be(&b);
	if (calls)
		gsan_unseen(b.launch, b.self);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect(name, 1, calls ? GSAN_TOLD : GSAN_RAW, GSAN_WHY_NONE);
}

/* A counter that was set before launch 9, by a copy that is number 8 there: `behind` it in order, or not. Nothing else writes unseen. */
static void set_before(int behind, const char *name, u64 races)
{
	static struct gsan_writers writers;
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	memset(&writers, 0, sizeof writers);
	writers.participants = 1u << 1;
	writers.streams[1] = 1u << 3;
	writers.newest[1][3] = 8;
	struct gsan_launch *l = launch(1, 0, 9, behind ? 9 : 8, 1);
	l->writers = (u64)(uintptr_t)&writers;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 0), b = enter(l, 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 3, 7);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect(name, races, GSAN_RAW, GSAN_WHY_NONE);
}

static void weak_flag(void)
{
	/* a flag raised by a weak store is a race twice over, not an unseen writer */
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(1, 0, 9, 9, 1), 1, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 0, 7);
	weak(&a, GSAN_OP_ST, flag, 4, 2);
	flag_load(&b, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	expect("a flag raised by a weak store", 3, GSAN_RAW, GSAN_WHY_WEAK_WRITE);
}

static void nc(u32 floor, const char *name, u64 races)
{
	struct cta a = enter(launch(0, 0, 1, 1, 1), 3, 0), b = enter(launch(0, 0, 2, floor, 1), 3, 0);
	weak(&a, GSAN_OP_ST, DATA(0) + 64, 16, 1);
	weak(&b, GSAN_OP_LD_NC, DATA(0) + 64, 16, 2);
	expect(name, races, GSAN_STALE_NC, GSAN_WHY_NONE);
}

static void hidden_store(void)
{
	/* a CTA that stores c = 0 and then adds to c atomically must not hide its store */
	struct gsan_launch *l = launch(0, 0, 1, 1, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	weak(&a, GSAN_OP_ST, DATA(0), 4, 1);
	rmw(&a, DATA(0), GSAN_SEM_NONE, GSAN_GPU, 0, 2);
	rmw(&b, DATA(0), GSAN_SEM_NONE, GSAN_GPU, 1, 3);
	expect("store, then atomic", 1, GSAN_ATOMIC_PLAIN, GSAN_WHY_WEAK_WRITE);
}

static void atomics(void)
{
	struct gsan_launch *l = launch(0, 0, 1, 1, 1);
	for (u32 i = 0; i < 8; i++) {
		struct cta c = enter(l, i, 1);
		rmw(&c, DATA(0) + 4 * (i & 1), GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	}
	expect("relaxed atomics of one GPU", 0, 0, 0);
	struct cta a = enter(launch(0, 0, 1, 1, 1), 0, 1), b = enter(launch(1, 0, 1, 1, 1), 0, 1);
	rmw(&a, DATA(0), GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	rmw(&b, DATA(0), GSAN_SEM_NONE, GSAN_GPU, 0, 1);
	expect("atomics of .gpu on two GPUs", 1, GSAN_SCOPE, GSAN_WHY_NONE);
}

static void line(const struct cta *c, u32 op, u64 at, u32 site)
{
	be(c);
	gsan_lines(c->launch, c->self, quick(c), 1, at | GSAN_LINES_WHOLE, desc(op, 4, 0, site));
}

static void lines(u32 floor, u32 first, u32 second, const char *name, u64 races, u32 kind)
{
	struct cta a = enter(launch(0, 0, 1, 1, 1), 3, 0), b = enter(launch(0, 1, 2, floor, 1), 4, 0);
	line(&a, first, DATA(0) + 256, 1);
	line(&a, first, DATA(0) + 256, 1);
	line(&b, second, DATA(0) + 256, 2);
	line(&b, second, DATA(0) + 384, 2);
	expect(name, races, kind, GSAN_WHY_NONE);
}

static void halves(u32 second, const char *name, u64 races)
{
	struct gsan_launch *l = launch(0, 0, 1, 1, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	be(&a);
	gsan_lines(a.launch, a.self, quick(&a), 1, DATA(0), desc(GSAN_OP_ST, 4, 0, 1));
	be(&b);
	gsan_lines(b.launch, b.self, quick(&b), 1, DATA(0) + second, desc(GSAN_OP_ST, 4, 0, 2));
	expect(name, races, GSAN_WAW, GSAN_WHY_NONE);
}

static void line_and_part(u32 parts_first, const char *name, u64 races)
{
	struct gsan_launch *l = launch(0, 0, 1, 1, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	if (parts_first)
		weak(&b, GSAN_OP_ST, DATA(0) + 5, 1, 2);
	line(&a, GSAN_OP_LD, DATA(0), 1);
	if (!parts_first)
		weak(&b, GSAN_OP_ST, DATA(0) + 5, 1, 2);
	expect(name, races, parts_first ? GSAN_RAW : GSAN_WAR, GSAN_WHY_NONE);
}

static void straddling(void)
{
	struct gsan_launch *l = launch(0, 0, 1, 1, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	weak(&a, GSAN_OP_ST, DATA(0) + 112, 32, 1);
	weak(&b, GSAN_OP_LD, DATA(0) + 128, 1, 2);
	expect("a vector over two lines", 1, GSAN_RAW, GSAN_WHY_NONE);
}

static void many_acquires(void)
{
	/* a stream that acquires in each of 500 launches keeps what is recent, and stays silent about what is old */
	u64 payload = DATA(1) + 4096, flag = DATA(1) + (1 << 20);
	for (u32 i = 1; i <= 500; i++) {
		launch_count = 0;
		struct cta a = enter(launch(0, 0, i, i, 1), 0, 1), b = enter(launch(1, 0, i, i, 1), 1, 1);
		weak(&a, GSAN_OP_ST, payload + i * 128, 4, 1);
		flag_store(&a, flag + i * 4, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
		flag_load(&b, flag + i * 4, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
		be(&a);
		gsan_leave(a.launch, a.self);
		be(&b);
		gsan_leave(b.launch, b.self);
	}
	struct cta later = enter(launch(1, 0, 501, 501, 1), 2, 0);
	for (u32 i = 1; i <= 500; i++)
		weak(&later, GSAN_OP_LD, payload + i * 128, 4, 8);
	if (found()) {
		printf("FAIL many acquires: %llu false races\n", (unsigned long long)found());
		failures++;
	}
	struct cta c = enter(launch(0, 0, 502, 502, 1), 0, 1);
	weak(&c, GSAN_OP_ST, payload + 500 * 128, 4, 1);
	weak(&later, GSAN_OP_LD, payload + 500 * 128, 4, 8);
	expect("after many acquires a race is still found", 2, GSAN_RAW, GSAN_WHY_NONE);
}

/* What may tell a host something, done twice: one message for its launch, and one for the next launch. Without a slot it is said that
 * one is missing. */
enum tells { TELLS_STRONG, TELLS_WEAK, TELLS_UNSEEN, READS };
static void told(enum tells how, u32 messages, int full, const char *name)
{
	const u64 host = 0x7f0000001000;
	for (u32 seq = 5; seq < 7; seq++) {
		struct cta a = enter(launch(0, 0, seq, 5, 1), 0, 1);
		if (full)
			ring[0].head = GSAN_RING_SLOTS, ((struct dev_tables *)(uintptr_t)GSAN_TABLE_BASE)->ring_head = GSAN_RING_SLOTS;
		for (u32 i = 0; i < 2; i++) {
			be(&a);
			if (how == TELLS_STRONG)
				flag_store(&a, host, GSAN_SEM_NONE, GSAN_GPU, 1, 1);
			else if (how == TELLS_UNSEEN)
				gsan_unseen(a.launch, a.self);
			else
				weak(&a, how == READS ? GSAN_OP_LD : GSAN_OP_ST, host, 4, 1);
		}
		gsan_leave(a.launch, a.self);
	}
	u64 sent = full ? ring[0].head - GSAN_RING_SLOTS : ring[0].head;
	for (u64 i = 0; i < sent; i++)
		need(ring[0].slot[i].kind == GSAN_TOLD && ring[0].slot[i].second.seq == 5 + i && ring[0].slot[i].ready == i + 1, name);
	need(sent == messages && ring[0].told_lost == (u64)full, name);
	reset();
}

/* Of a CTA that acquired something, or whose stream did, the finding says which launches have begun by then; else that there is none. */
enum acquires { NOBODY, ITSELF, BEFORE, BESIDE };
static void newest(enum acquires who, const char *name)
{
	u32 here = who == ITSELF || who == BEFORE, other = who == BESIDE;
	u64 payload = DATA(1) + 4096, flag = DATA(1) + 8192;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), m = enter(launch(0, 1, 7, 5, 1), 0, 1);
	struct cta c = enter(launch(1, 1 + other, 8, 8, 1), 0, 1), b = enter(launch(1, 1, 9, 9 - other, 1), 0, 1);
	weak(&a, GSAN_OP_ST, payload, 4, 1);
	flag_store(&m, flag, GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	if (who != NOBODY)
		flag_load(who == ITSELF ? &b : &c, flag, GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	be(&c);
	gsan_leave(c.launch, c.self);
	weak(&b, GSAN_OP_LD, payload, 4, 8);
	EACH_FINDING(f)
		need(f->newest[0] == 7 * here && f->newest[1] == 9 * here && !f->newest[2], name);
	expect(name, 1, GSAN_RAW, GSAN_WHY_NONE);
}

int main(void)
{
	map_arena();
	neighbours(2, "neighbouring fp16 stores", 0);
	neighbours(0, "overlapping fp16 stores", 1);
	neighbours(1, "overlapping by one byte", 1);
	launches_in_order(2, "launch order", 0);
	launches_in_order(1, "unordered launches", 1);
	launch_pair(2, "event order", 0);
	launch_pair(1, "event too early", 1);
	message(GOOD, "message passing", 0, 0);
	message(RELAXED_ST, "relaxed flag store", 1, GSAN_WHY_RELAXED_WRITE);
	message(RELAXED_LD, "relaxed flag load", 1, GSAN_WHY_NO_ACQUIRE);
	message(ST_GPU, "release at .gpu", 3, GSAN_WHY_RELEASE_SCOPE);
	message(LD_GPU, "acquire at .gpu", 2, GSAN_WHY_ACQUIRE_SCOPE);
	message(EARLY, "flag before payload", 1, GSAN_WHY_BEFORE_PAYLOAD);
	message_fences(1, 1, "fences", 0, 0);
	message_fences(0, 1, "no release fence", 1, GSAN_WHY_RELAXED_WRITE);
	message_fences(1, 0, "no acquire fence", 1, GSAN_WHY_NO_ACQUIRE);
	fence_too_early();
	lock(3, GSAN_SEM_ACQUIRE, GSAN_SEM_RELEASE, "CAS lock", 0);
	lock(64, GSAN_SEM_ACQUIRE, GSAN_SEM_RELEASE, "CAS lock among many", 0);
	lock(3, GSAN_SEM_NONE, GSAN_SEM_NONE, "relaxed CAS lock", 1);
	lock(3, GSAN_SEM_ACQUIRE, GSAN_SEM_NONE, "CAS lock released relaxed", 1);
	chain(GSAN_GPU, "release sequence through a relaxed RMW", 0);
	chain(GSAN_CTA, "release sequence broken by a .cta RMW", 1);
	inherited(10, "acquired by an earlier launch of the stream", 0);
	inherited(9, "acquired by a launch of another stream", 1);
	inherited_from_two(2, 2, 0, "acquired from two launches, one after the other");
	inherited_from_two(1, 1, 0, "acquired by the first of two launches of a stream");
	inherited_from_two(1, 2, 1, "acquired by the second of two launches of a stream");
	earlier_kernel(1, "kernel start is a fence", 0, 0);
	for (u32 site = 10; site < 400; site += 13)
		blamed_last(site), blamed_swap(site);
	blamed_unlock();
	blamed_own();
	blamed(0, "the flag behind the payload");
	blamed(1, "the flag that another CTA read");
	earlier_kernel(0, "kernel start, but no acquire", 1, GSAN_WHY_NO_ACQUIRE);
	unseen(1, GSAN_SEM_ACQUIRE, GSAN_SYS, "flag raised by something unseen", 0, 0);
	unseen_call(0, "no call");
	unseen_call(1, "a call of what has no clone orders it, and may tell a host");
	unseen(0, GSAN_SEM_ACQUIRE, GSAN_SYS, "flag never raised", 1, GSAN_WHY_NONE);
	unseen(1, GSAN_SEM_NONE, GSAN_SYS, "flag raised unseen, read relaxed", 1, GSAN_WHY_NO_ACQUIRE);
	unseen(1, GSAN_SEM_ACQUIRE, GSAN_CTA, "flag raised unseen, acquired at .cta", 1, GSAN_WHY_ACQUIRE_SCOPE);
	for (int stored = 0; stored < 2; stored++) {
		unseen_again(STRONGLY, 1, 4, stored, "flag raised again, to what a kernel left there before");
		unseen_again(STRONGLY, 0, 8, stored, "flag raised again, which a kernel had lowered with what is beside it");
		unseen_again(WEAKLY, 0, 4, stored, "flag raised again, which a kernel of another stream had lowered");
		unseen_again(BY_READER, 0, 4, stored, "flag raised again, which its reader had lowered");
	}
	set_before(1, "a value that was there before the launch", 1);
	set_before(0, "a value that may come while it runs", 0);
	told(TELLS_STRONG, 2, 0, "a strong write to the host's memory tells it something");
	told(TELLS_WEAK, 2, 0, "so does a weak one");
	told(TELLS_UNSEEN, 2, 0, "what has no clone may do so");
	told(READS, 0, 0, "a read tells nobody anything");
	told(TELLS_STRONG, 0, 1, "told, and the ring is full");
	newest(NOBODY, "behind what its launch is behind");
	newest(ITSELF, "behind a launch whose flag it acquired");
	newest(BEFORE, "behind one whose flag a launch before it acquired");
	newest(BESIDE, "not behind what a launch of another stream acquired");
	weak_flag();
	nc(2, "ld.nc of an earlier launch", 0);
	nc(1, "ld.nc of a concurrent launch", 1);
	hidden_store();
	atomics();
	lines(2, GSAN_OP_ST, GSAN_OP_LD, "lines of launches in order", 0, 0);
	lines(1, GSAN_OP_ST, GSAN_OP_LD, "line stored, then loaded", 1, GSAN_RAW);
	lines(1, GSAN_OP_LD, GSAN_OP_ST, "line loaded, then stored", 1, GSAN_WAR);
	lines(1, GSAN_OP_ST, GSAN_OP_ST, "line stored twice", 1, GSAN_WAW);
	lines(1, GSAN_OP_LD, GSAN_OP_LD, "line loaded twice", 0, 0);
	halves(64, "two halves of a line", 0);
	halves(0, "one half twice", 1);
	halves(GSAN_LINES_WHOLE, "a half, then the whole", 1);
	line_and_part(0, "a byte of a line that was loaded", 1);
	line_and_part(1, "a line of which a byte was stored", 1);
	straddling();
	many_acquires();
	printf("%s\n", failures ? "failed" : "passed");
	return failures != 0;
}
