/* What a release leaves out because the location has it, and a read because its CTA has read it (device/known.h): never what came
 * or changed since, nor what another location or version has. Each is a correct program, and its twin without the last edge. And
 * what a CTA's clock makes of what it observed, and which of the flags that it read is nearer to a race. */
#include "device/report.h" /* which has a name of play.h for something else */

#include "play.h"

#include "device/clock.h"
#include "device/hint.h"

#define PAYLOAD(i) (DATA(0) + 4096 + (u64)(i) * 256)
#define FLAG(i) (DATA(0) + (2 << 20) + (u64)(i) * 256)
enum { FIRST, AGAIN, GATE, OTHER_GATE };

static struct cta from, middle, to;
static u32 sent;

static void begin(void)
{
	from = enter(launch(0, 0, 5, 5, 1), 0, 1);
	middle = enter(launch(0, 1, 6, 5, 1), 1, 1);
	to = enter(launch(1, 0, 9, 9, 1), 2, 1);
	sent = 0;
}

static void fill(void)
{
	weak(&from, GSAN_OP_ST, PAYLOAD(sent), 4, 1);
	sent++;
}

/* The next payload reaches the middle. */
static void message(void)
{
	fill();
	flag_store(&from, FLAG(FIRST), GSAN_SEM_RELEASE, GSAN_SYS, sent, 2);
	flag_load(&middle, FLAG(FIRST), GSAN_SEM_ACQUIRE, GSAN_SYS, sent, 3);
}

/* The last CTA acquires there, and reads all payloads. */
static void end(u32 flag, u32 value, u32 sem, const char *name)
{
	flag_load(&to, FLAG(flag), sem, GSAN_SYS, value, 7);
	for (u32 i = 0; i < sent; i++)
		weak(&to, GSAN_OP_LD, PAYLOAD(i), 4, 8);
	if ((found() > 0) != (sem == GSAN_SEM_NONE)) {
		printf("FAIL %s: %s\n", name, found() ? "a false race" : "no race was found");
		failures++;
	}
	reset();
}

static void changes_since(u32 sem)
{
	begin();
	for (u32 i = 0; i < 3; i++) {
		message();
		rmw(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, i, 4);
	}
	end(GATE, 3, sem, "an element of the clock that has grown goes with the next release");
}

static void another_version(u32 sem)
{
	begin();
	message();
	flag_store(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 1, 4);
	flag_store(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 2, 5);
	end(GATE, 2, sem, "a store's version has all of its own");
}

static void of_others(u32 sem)
{
	begin();
	message();
	rmw(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 0, 4);
	flag_store(&from, FLAG(GATE), GSAN_SEM_NONE, GSAN_SYS, 7, 5);
	rmw(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 7, 4);
	end(GATE, 8, sem, "a release behind another CTA's store");
}

static void another_location(u32 sem)
{
	begin();
	message();
	flag_store(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 1, 4);
	flag_store(&middle, FLAG(OTHER_GATE), GSAN_SEM_RELEASE, GSAN_SYS, 1, 5);
	end(OTHER_GATE, 1, sem, "another location has nothing yet");
}

static void wider_scope(u32 sem)
{
	begin();
	message();
	rmw(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_GPU, 0, 4);
	rmw(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 1, 5);
	end(GATE, 2, sem, "a release of a wider scope");
}

static void fenced_since(u32 sem)
{
	begin();
	for (u32 i = 0; i < 3; i++) {
		message();
		fence(&middle, GSAN_SEM_RELEASE, GSAN_SYS);
	}
	flag_store(&middle, FLAG(GATE), GSAN_SEM_NONE, GSAN_SYS, 1, 4);
	end(GATE, 1, sem, "an element of the clock that has grown is kept by the next fence");
}

static void fenced_wider(u32 sem)
{
	begin();
	message();
	fence(&middle, GSAN_SEM_RELEASE, GSAN_GPU);
	fence(&middle, GSAN_SEM_RELEASE, GSAN_SYS);
	fence(&middle, GSAN_SEM_RELEASE, GSAN_GPU);
	flag_store(&middle, FLAG(GATE), GSAN_SEM_NONE, GSAN_SYS, 1, 4);
	end(GATE, 1, sem, "a fence of a wider scope keeps what a narrower one kept");
}

/* What the launches behind have been given by a release without an entry grows before the CTA ends; `sem` none: nobody reads that. */
static void passed_since(u32 sem)
{
	struct dev_tables *t = dev_tables(gsan_owner(FLAG(GATE)));
	begin();
	middle = enter(launch(1, 1, 8, 8, 1), 1, 1);
	message();
	u32 syncs = t->syncs;
	t->syncs = DEV_SYNCS;
	flag_store(&middle, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 1, 4);
	t->syncs = syncs;
	fill();
	flag_store(&from, FLAG(FIRST), GSAN_SEM_RELEASE, GSAN_SYS, sent, 2);
	if (sem != GSAN_SEM_NONE)
		flag_load(&middle, FLAG(FIRST), sem, GSAN_SYS, sent, 3);
	leave(&middle);
	to = enter(launch(1, 1, 9, 9, 1), 2, 1);
	end(OTHER_GATE, 0, sem, "what is acquired behind such a release goes to the launches behind, too");
}

/* What it has read before it is told at once: all but what is new. */
static void read_and_written(u32 sem)
{
	begin();
	for (u32 i = 0; i < 3; i++) {
		fill();
		rmw(&from, FLAG(GATE), GSAN_SEM_RELEASE | GSAN_SEM_ACQUIRE, GSAN_SYS, 2 * i, 2);
		rmw(&middle, FLAG(GATE), GSAN_SEM_RELEASE | GSAN_SEM_ACQUIRE, GSAN_SYS, 2 * i + 1, 4);
	}
	flag_store(&middle, FLAG(AGAIN), GSAN_SEM_RELEASE, GSAN_SYS, 1, 5);
	end(AGAIN, 1, sem, "what was read by an RMW goes on from its CTA");
}

/* Reads of a growing version: relaxed ones, then one that acquires. */
static void read_again(u32 sem)
{
	begin();
	for (u32 i = 0; i < 3; i++) {
		fill();
		rmw(&from, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, i, 2);
		flag_load(&to, FLAG(GATE), GSAN_SEM_NONE, GSAN_SYS, i + 1, 6);
	}
	end(GATE, 3, sem, "relaxed reads, then one that acquires");
}

/* A relaxed write releases what was before its launch; under a private tag, too, what its CTA did before it drew that is not among it. */
static void under_a_private_tag(u32 sem)
{
	begin();
	struct gsan_launch *l = launch(0, 0, 7, 7, 1);
	l->first_epoch = GSAN_EPOCH_MAX;
	from = enter(l, 0, 1);
	fill();
	for (u32 i = 0; i < 4; i++)
		rmw(&from, FLAG(AGAIN), GSAN_SEM_RELEASE, GSAN_SYS, i, 2);
	flag_store(&from, FLAG(GATE), sem == GSAN_SEM_ACQUIRE ? GSAN_SEM_RELEASE : GSAN_SEM_NONE, GSAN_SYS, 1, 3);
	flag_load(&to, FLAG(GATE), GSAN_SEM_ACQUIRE, GSAN_SYS, 1, 7);
	weak(&to, GSAN_OP_LD, PAYLOAD(0), 4, 8);
	if ((found() > 0) != (sem == GSAN_SEM_NONE) || !dev_tables(0)->state[(u32)from.self - 1].private_tag) {
		printf("FAIL under a private tag: %llu findings, a relaxed write: %d\n", (unsigned long long)found(), sem == GSAN_SEM_NONE);
		failures++;
	}
	reset();
}

/* Of three writes that were observed the second includes the first: once they count, the last takes its place, and counts, too. */
static void all_settle(void)
{
	begin();
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)to.launch, .self = to.self & REC_WHO, .base = to.self & REC_WHO,
			.state = &dev_tables(1)->state[(u32)to.self - 1]};
	struct dev_clock *c = &w.state->clock;
	u64 first = elem_seen(from.self & REC_WHO, point_of(FLAG(0), 15, GSAN_SYS));
	c->elem[0] = first | 1ull << GSAN_REC_EPOCH_SHIFT;
	c->elem[1] = elem_fresh(first) | 2ull << GSAN_REC_EPOCH_SHIFT;
	c->elem[2] = elem_fresh(elem_seen((middle.self & REC_WHO) | 1ull << GSAN_REC_EPOCH_SHIFT, point_of(FLAG(1), 15, GSAN_SYS)));
	c->count = 3;
	w.state->fresh = 1;
	clock_settle(&w);
	if (c->count != 2 || elem_is_fresh(c->elem[0]) || elem_is_fresh(c->elem[1]) || w.state->fresh) {
		printf("FAIL all that was observed counts: %u elements, %llx %llx\n", c->count, (unsigned long long)c->elem[0],
		       (unsigned long long)c->elem[1]);
		failures++;
	}
	reset();
}

/* Of two flags that explain a race as well: the one read last by the same CTA; of one read the CTA's first write. */
static void nearer(void)
{
	static const struct { u32 reader, writer, read, wrote; int nearer; } of[] = { /* as against CTA 1, which read CTA 2's at 5, of 3 */
		{1, 2, 6, 3, 1}, {1, 2, 4, 3, 0}, {1, 2, 6, 9, 1}, {3, 2, 6, 3, 0}, {1, 2, 5, 2, 1}, {1, 2, 5, 4, 0}, {1, 2, 5, 3, 0},
		{1, 4, 5, 2, 0}, {3, 2, 5, 2, 0}};
#define STAMP(cta, epoch) ((u64)(cta) << GSAN_REC_CTA_SHIFT | (u64)(epoch) << GSAN_REC_EPOCH_SHIFT)
	const struct hint than = {.reader = STAMP(1, 5), .writer = STAMP(2, 3)};
	for (u32 i = 0; i < sizeof of / sizeof *of; i++) {
		const struct hint h = {.reader = STAMP(of[i].reader, of[i].read), .writer = STAMP(of[i].writer, of[i].wrote)};
		if (hint_nearer(&h, &than) != of[i].nearer)
			printf("FAIL hint %u is%s nearer\n", i, of[i].nearer ? " not" : ""), failures++;
	}
}

/* A launch acquired something of the next one, that of one more, and so on: what the last one did is before who is behind the first, also where
 * these are more than a walk keeps on its stack, and no more than it follows. Without one link it is not. */
static void far_back(u32 links, u32 cut)
{
	struct gsan_launch *l[DEV_CLOSURE];
	begin();
	for (u32 i = 0; i < links; i++) {
		l[i] = launch(0, i + 2, 100 + i, 1, 1);
		enter(l[i], 0, 0);
	}
	for (u32 i = 0; i + 1 < links; i++)
		if (i != cut)
			acquired_by(l[i], 0, l[i]->stream, l[i]->seq, elem_all(l[i + 1]->tag, 0));
	struct gsan_launch *last = (struct gsan_launch *)(uintptr_t)to.launch;
	struct who w = {.launch = last, .self = to.self & REC_WHO, .base = to.self & REC_WHO, .state = &dev_tables(1)->state[(u32)to.self - 1]};
	w.state->clock.elem[0] = elem_all(l[0]->tag, 0);
	w.state->clock.count = 1;
	u64 rec = rec_of((u64)l[links - 1]->tag << GSAN_REC_TAG_SHIFT, GSAN_OP_ST, 1, 0xf), taken = 0;
	int ordered = order_slow(&w, rec, NO_POINT);
	for (u32 i = 0; i < DEV_CLOSURES; i++)
		taken += dev_tables(1)->closure[i].taken;
	if (ordered != (cut >= links) || taken) {
		printf("FAIL %u links, without the one of number %u: %s, %llu places in use\n", links, cut, ordered ? "ordered" : "not ordered",
		       (unsigned long long)taken);
		failures++;
	}
	reset();
}

/* Between a check and its report a list may widen (another warp's, a lane's that has parted): then what is not a race any more, as far as
 * is known, is not reported, least of all as one that is not formal. */
static void ordered_since(void)
{
	static const struct { u64 known; u32 findings, formal; } of[] = {{0, 1, 0}, {KNOWN_FORMALLY | 1, 1, 1}, {1, 0, 0}};
	for (u32 i = 0; i < sizeof of / sizeof *of; i++) {
		begin();
		struct gsan_launch *l = (struct gsan_launch *)(uintptr_t)to.launch;
		struct who w = {.launch = l, .self = to.self & REC_WHO, .base = to.self & REC_WHO, .state = &dev_tables(1)->state[(u32)to.self - 1]};
		struct access a = {.address = PAYLOAD(0), .site = 8, .bytes = 4, .mask = 0xf, .op = GSAN_OP_LD};
		u64 time = 1ull << GSAN_REC_EPOCH_SHIFT;
		l->warp_bits = 1;
		w.state->clock.elem[0] = (from.self & REC_WHO) | 2 * time;
		w.state->clock_known[0] = of[i].known;
		w.state->clock.count = of[i].known != 0;
		report(&w, rec_of((from.self & REC_WHO) | time, GSAN_OP_ST, 1, 0xf), NO_POINT, 0xf, &a, GSAN_RAW);
		report_reasons(&w);
		if (found() != of[i].findings || (found() && finding(0)->formal != of[i].formal)) {
			printf("FAIL what is known as %llx: %llu findings\n", (unsigned long long)of[i].known, (unsigned long long)found());
			failures++;
		}
		if (of[i].formal) { /* the same accesses once more, where formal edges order them and where they do not */
			u64 rec[2] = {rec_of((from.self & REC_WHO) | time, GSAN_OP_ST, 1, 0xf), rec_of((from.self & REC_WHO) | 5 * time, GSAN_OP_ST, 1, 0xf)};
			check_slow(&w, rec[0], 0xf, &a, &rec[0], 1);
			report_reasons(&w);
			u64 again = found();
			check_slow(&w, rec[1], 0xf, &a, &rec[1], 1);
			report_reasons(&w);
			if (again != 1 || found() != 2 || finding(1)->formal) {
				printf("FAIL behind a formal race: %llu findings, then %llu\n", (unsigned long long)again, (unsigned long long)found());
				failures++;
			}
		}
		reset();
	}
}

/* What a clock that another warp acquired says of a record of time 1 of warp 1, whose site is 3, and the flag's is `flag`: the release, in one element or in two,
 * has it, so that a barrier is missing on this side; it has it but for a barrier on the other side; or it came too early, in time or in the text. */
static void clock_explains(void)
{
	const u64 time = 1ull << GSAN_REC_EPOCH_SHIFT, all = 4 * time, warp = elem_of_warp(6 * time), early = time;
	const struct { u64 elem[2]; u32 flag, since, reason; } of[] = {
		{{all, 0}, 5, 0, GSAN_WHY_ACQUIRED_ALONE}, {{warp, all}, 5, 0, GSAN_WHY_ACQUIRED_ALONE}, {{all, warp}, 5, 0, GSAN_WHY_ACQUIRED_ALONE},
		{{all, warp}, 1, 0, GSAN_WHY_ACQUIRED_ALONE}, {{all, warp}, 5, 1, GSAN_WHY_ACQUIRED_ALONE}, {{warp, 0}, 5, 0, GSAN_WHY_PUBLISHED_ALONE},
		{{warp, 0}, 1, 0, GSAN_WHY_BEFORE_PAYLOAD}, {{early, 0}, 5, 0, GSAN_WHY_BEFORE_PAYLOAD}, {{0, 0}, 5, 0, GSAN_WHY_NONE},
	};
	for (u32 i = 0; i < sizeof of / sizeof *of; i++) {
		begin();
		struct gsan_launch *l = (struct gsan_launch *)(uintptr_t)to.launch;
		struct who w = {.launch = l, .self = to.self & REC_WHO, .base = to.self & REC_WHO, .state = &dev_tables(1)->state[(u32)to.self - 1]};
		struct access a = {.address = PAYLOAD(0), .site = 8, .bytes = 4, .mask = 0xf, .op = GSAN_OP_LD};
		l->warp_bits = 1;
		((struct dev_launch *)(uintptr_t)tag_launch(l, rec_tag(from.self)))->where |= 1u << 16; /* its warp_bits */
		report(&w, rec_of((from.self & REC_WHO) | 3 * time, GSAN_OP_ST, 3, 0xf), NO_POINT, 0xf, &a, GSAN_RAW);
		for (u32 k = 0; k < 2 && of[i].elem[k]; k++) {
			w.state->clock.elem[k] = (from.self & REC_WHO) | of[i].elem[k] | (u64)of[i].flag << ELEM_SITE_SHIFT;
			w.state->clock_known[k] = of[i].since ? 1 : 2;
			w.state->clock.count = k + 1;
		}
		report_reasons(&w);
		if (found() != 1 || finding(0)->reason != of[i].reason) {
			printf("FAIL clock %u: %llu findings, the first of reason %u\n", i, (unsigned long long)found(), found() ? finding(0)->reason : 0);
			failures++;
		}
		reset();
	}
}

/* What a load has looked at an RMW of the same warp looks at again: what that observes is known formally behind the next barrier (F3). */
static void formally_again(void)
{
	begin();
	struct gsan_launch *l = (struct gsan_launch *)(uintptr_t)to.launch;
	const struct dev_state *s = &dev_tables(1)->state[(u32)to.self - 1];
	l->warp_bits = 1;
	fill();
	flag_store(&from, FLAG(GATE), GSAN_SEM_RELEASE, GSAN_SYS, 1, 2);
	for (u32 read = 0; read < 3; read++) { /* the last read takes nothing back */
		u64 by_rmw = 0;
		if (read == 1)
			rmw(&to, FLAG(GATE), GSAN_SEM_NONE, GSAN_SYS, 1, 6);
		else
			flag_load(&to, FLAG(GATE), GSAN_SEM_NONE, GSAN_SYS, 1, 6);
		for (u32 i = 0; i < s->pendings; i++)
			by_rmw |= s->pending_known[i] & KNOWN_BY_RMW;
		if (!s->pendings || !by_rmw != !read) {
			printf("FAIL read %u: %u set aside, by an RMW: %d\n", read, s->pendings, by_rmw != 0);
			failures++;
		}
	}
	reset();
}

int main(void)
{
	static void (*const programs[])(u32) = {changes_since, another_version, of_others, another_location, wider_scope, read_and_written,
						read_again, fenced_since, fenced_wider, passed_since, under_a_private_tag};
	map_arena();
	grid = 4;
	for (u32 i = 0; i < sizeof programs / sizeof *programs; i++) {
		programs[i](GSAN_SEM_ACQUIRE);
		programs[i](GSAN_SEM_NONE);
	}
	all_settle();
	nearer();
	ordered_since();
	clock_explains();
	for (u32 links = 2; links < 36; links += 3) {
		far_back(links, links);
		far_back(links, links / 2 - 1);
	}
	formally_again();
	printf(failures ? "failed\n" : "ok\n");
	return failures != 0;
}
