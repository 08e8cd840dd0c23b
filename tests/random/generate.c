#include "generate.h"

#include "access.h"
#include "build.h"
#include "copies.h"
#include "idioms.h"

#include <stdlib.h>
#include <string.h>

/* ---- the hosts ------------------------------------------------------------------------------------------------- */

/* What is before what, as far as the hosts' steps say: per launch and per recording the set of launches before it. */
struct hosts {
	uint32_t stream[LIT_RANKS][4]; /* what work enqueued there now comes after */
	uint32_t record[LIT_RANKS][4];
	uint32_t all;                  /* known complete: before everything that follows */
	int events[LIT_RANKS];
};

static void do_launch(struct build *b, struct hosts *h, int launch)
{
	const struct lit_launch *l = &b->p->launch[launch];
	uint32_t past = h->stream[l->rank][l->stream] | h->all;
	for (int i = 0; i < BUILD_LAUNCHES; i++)
		b->before[i][launch] = past >> i & 1;
	h->stream[l->rank][l->stream] = past | 1u << launch;
	build_step(b, (struct lit_step){.op = LIT_DO_LAUNCH, .rank = l->rank, .stream = l->stream, .launch = launch});
}

/* An edge from one stream of a rank to another. */
static void do_event(struct build *b, struct hosts *h, int rank)
{
	int from = (int)build_below(b, 3), to = (int)build_below(b, 3), event = h->events[rank];
	if (event == 4)
		return;
	h->events[rank]++;
	build_step(b, (struct lit_step){.op = LIT_DO_RECORD, .rank = rank, .stream = from, .event = event});
	h->record[rank][event] = h->stream[rank][from];
	if (build_chance(b, 30)) {
		build_step(b, (struct lit_step){.op = LIT_DO_SYNC_EVENT, .rank = rank, .event = event});
		h->all |= h->record[rank][event];
	} else {
		build_step(b, (struct lit_step){.op = LIT_DO_WAIT, .rank = rank, .stream = to, .event = event});
		h->stream[rank][to] |= h->record[rank][event];
	}
}

static void do_sync(struct build *b, struct hosts *h, int rank)
{
	int stream = (int)build_below(b, 3);
	if (build_chance(b, 50)) {
		build_step(b, (struct lit_step){.op = LIT_DO_SYNC_ALL, .rank = rank});
		for (int s = 0; s < 4; s++)
			h->all |= h->stream[rank][s];
		return;
	}
	build_step(b, (struct lit_step){.op = LIT_DO_SYNC_STREAM, .rank = rank, .stream = stream});
	h->all |= h->stream[rank][stream];
}

static void hosts_run(struct build *b)
{
	struct hosts h = {0};
	for (int i = 0; i < (int)b->p->launches; i++) {
		int rank = (int)build_below(b, (uint32_t)b->p->ranks);
		if (i && build_chance(b, 25))
			do_event(b, &h, b->p->launch[i].rank);
		if (i && build_chance(b, 12))
			do_sync(b, &h, rank);
		do_launch(b, &h, i);
	}
}

/* ---- launches and actors --------------------------------------------------------------------------------------- */

static void add_actor(struct build *b, int launch, uint32_t cta)
{
	struct build_actor *a = &b->actor[b->actors++];
	int shape = (int)build_below(b, 100);
	*a = (struct build_actor){.launch = launch, .cta = cta, .threads = shape < 20 ? 32 : 1, .helper = -1};
	a->thread = build_thread(b, launch, cta, 0, a->threads);
}

/* Barriers want every thread of the block at them: then each CTA of the launch has two full warps. */
static void add_warps(struct build *b, int launch, uint32_t cta)
{
	struct build_actor *a = &b->actor[b->actors++];
	*a = (struct build_actor){.launch = launch, .cta = cta, .threads = 32};
	a->thread = build_thread(b, launch, cta, 0, 32);
	a->helper = build_thread(b, launch, cta, 32, 32);
}

static void add_launch(struct build *b, int rank)
{
	uint32_t grid = build_chance(b, 60) ? 1 : 2 + build_below(b, 2);
	int warps = build_chance(b, 12), stream = build_chance(b, 60) ? 0 : (int)build_below(b, 3);
	int launch = build_launch(b, rank, stream, grid, warps ? 64 : 32);
	for (uint32_t cta = 0; cta < grid && b->actors < BUILD_ACTORS; cta++) {
		if (warps)
			add_warps(b, launch, cta);
		else
			add_actor(b, launch, cta);
	}
}

static void add_launches(struct build *b, int ranks)
{
	int n = ranks + (int)build_below(b, 3), first = (int)build_below(b, (uint32_t)ranks);
	if (n < 2)
		n = 2;
	if (n > BUILD_LAUNCHES - 1)
		n = BUILD_LAUNCHES - 1;
	for (int i = 0; i < n; i++)
		add_launch(b, i < ranks ? (i + first) % ranks : (int)build_below(b, (uint32_t)ranks));
}

/* Three ranks, or two on one device, need a job of their own: whole blocks of seeds have them. Returns how many of the
 * ranks launch something. */
static int choose_ranks(struct build *b, uint64_t seed)
{
	struct lit_program *p = b->p;
	uint64_t block = seed / RANDOM_BLOCK % 8;
	p->ranks = block == 7 ? 3 : 2;
	for (int r = 0; r < LIT_RANKS; r++)
		p->device[r] = block == 5 ? 0 : r;
	return p->ranks - build_chance(b, block == 7 ? 30 : 8);
}

static struct lit_program *generate(uint64_t seed, int copies)
{
	static const uint8_t broken[] = {0, 0, 0, 0, 0, 0, 8, 15, 25, 35}, dirty[] = {0, 0, 0, 20, 60};
	struct build b = {.state = seed * 0xd6e8feb86659fd93ull};
	b.p = calloc(1, sizeof *b.p);
	if (!b.p)
		abort();
	snprintf(b.p->name, sizeof b.p->name, "random%llu", (unsigned long long)seed);
	b.state = build_random(&b); /* neighbouring seeds are not one sequence, shifted */
	b.broken = broken[build_below(&b, sizeof broken)];
	b.dirty = b.broken ? dirty[build_below(&b, sizeof dirty)] : 0;
	add_launches(&b, choose_ranks(&b, seed));
	hosts_run(&b);
	for (uint32_t n = 1 + build_below(&b, 3); n--;)
		idioms_add(&b);
	if (copies)
		copies_add(&b);
	return b.p;
}

struct lit_program *random_generate(uint64_t seed) { return generate(seed, 0); }
struct lit_program *random_copies(uint64_t seed) { return generate(seed, 1); }
