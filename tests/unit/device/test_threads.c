/* The runtime under threads: programs whose warps are OS threads, over the same tables, under ThreadSanitizer (a plain access
 * to what others write is reported, and fails the test). Correct programs must have no finding and the right results;
 * each racy twin must have some. Launches follow each other in rounds; a round's are all before the next's. */
#include "threads.h"

#define PROGRAMS_BYTES 0x10000u /* of data, in each participant's slice, of one program of a round */

struct round {
	u32 number;   /* from 1 */
	int racy;
	u64 base[2];  /* of a program's synchronisation and of its payload */
	u32 count;    /* what its counters held before */
	u32 floor;    /* its first launch number */
	u32 seqs;     /* of the numbers for launches that warps make */
};
static struct round now;

/* Payload is plain memory where the program orders it. */
static u32 get(const struct warp *w, u64 at, u32 site)
{
	u32 v = now.racy ? gpu_load32(word(at)) : *word(at);
	weak(w, GSAN_OP_LD, at, 4, site);
	return v;
}
static void put(const struct warp *w, u64 at, u32 v, u32 site)
{
	if (now.racy)
		gpu_store32(word(at), v);
	else
		*word(at) = v;
	weak(w, GSAN_OP_ST, at, 4, site);
}
static int slip(struct warp *w) { return now.racy && draw(w, 4) == 0; } /* the racy twin leaves something out, here */

/* A flag raised, in one of the forms that release; a slip raises it relaxed. */
static void raise(struct warp *w, u64 at, u32 v, u32 site)
{
	u32 form = slip(w) ? 3 : draw(w, 3);
	if (form == 1)
		p_fence(w, GSAN_SEM_ACQ_REL);
	if (form == 2)
		p_store2(w, at, GSAN_SEM_RELEASE, v, site);
	else
		p_store(w, at, form == 0 ? GSAN_SEM_RELEASE : GSAN_SEM_NONE, v, site);
}
static void await(struct warp *w, u64 at, u32 v, u32 site)
{
	u32 relaxed = draw(w, 2);
	while ((int)(p_load(w, at, relaxed ? GSAN_SEM_NONE : GSAN_SEM_ACQUIRE, site) - v) < 0)
		gpu_pause();
	if (relaxed && !slip(w))
		p_fence(w, GSAN_SEM_ACQUIRE);
}

/* ---- programs ------------------------------------------------------------------------------------------------------- */

#define LOCKS 2u
#define LOCKED 4u /* times that each warp takes one */
static u64 lock_at(u32 i) { return now.base[0] + i * 256; }
static u64 locked_at(u32 i) { return now.base[1] + i * 4096; }
static void unlock(struct warp *w, u64 at)
{
	u32 form = slip(w) ? 3 : draw(w, 3);
	if (form == 1)
		p_fence(w, GSAN_SEM_ACQ_REL);
	if (form == 2)
		p_add(w, at, GSAN_SEM_ACQ_REL, -1u, draw(w, 2) ? GSAN_DESC_USED : 0, 12);
	else
		p_store(w, at, form == 0 ? GSAN_SEM_RELEASE : GSAN_SEM_NONE, 0, 13);
}
static void locks(struct warp *w)
{
	for (u32 k = 0; k < LOCKED; k++) {
		u32 i = draw(w, LOCKS);
		u64 at = lock_at(i), data = locked_at(i);
		while (p_cas(w, at, GSAN_SEM_ACQUIRE, 0, 1, 10))
			gpu_pause();
		put(w, data, get(w, data, 1) + 1, 2);
		put(w, data + 132 + 4 * draw(w, 4), k, 3);
		weak(w, draw(w, 2) ? GSAN_OP_ST : GSAN_OP_LD, data + 256 + 2 * draw(w, 8), 2, 4);
		lines(w, draw(w, 2) ? GSAN_OP_ST : GSAN_OP_LD, data + 1024 + GSAN_LINE * draw(w, 3), 5);
		weak(w, draw(w, 2) ? GSAN_OP_ST : GSAN_OP_LD, data + 1024 + GSAN_LINE * draw(w, 3), 16, 6);
		unlock(w, at);
	}
}

/* Each warp hands words to its neighbour, who says when it has read them. */
static void messages(struct warp *w)
{
	u32 left = (w->rank + w->ranks - 1) % w->ranks;
	u64 flags = now.base[0], acks = now.base[0] + 4096, data = now.base[1];
	for (u32 k = 1; k <= 3; k++) {
		u32 v = now.number * 3 + k;
		put(w, data + w->rank * 8, v, 1);
		put(w, data + 1024 + w->rank * 256, v, 2);
		raise(w, flags + w->rank * 64, v, 20);
		await(w, flags + left * 64, v, 21);
		u32 got = get(w, data + left * 8, 3) + get(w, data + 1024 + left * 256, 4);
		need(got == 2 * v, "a message holds what was sent");
		raise(w, acks + left * 64, v, 22);
		await(w, acks + w->rank * 64, v, 23);
	}
}

/* All meet at a counter, between reading each other's words and writing their own. */
static void meet(struct warp *w, u32 *target)
{
	*target += w->ranks;
	u32 sem = slip(w) ? GSAN_SEM_NONE : GSAN_SEM_ACQ_REL;
	u32 arrived = p_add(w, now.base[0], sem, 1, draw(w, 2) ? GSAN_DESC_USED : 0, 30) + 1;
	(void)arrived;
	await(w, now.base[0], *target, 31);
}
static void barriers(struct warp *w)
{
	u32 target = now.count;
	u64 data = now.base[1];
	for (u32 k = 0; k < 2; k++) {
		put(w, data + w->rank * 4, now.number + k, 1);
		meet(w, &target);
		for (u32 i = 0; i < w->ranks; i++)
			need(get(w, data + i * 4, 2) == now.number + k, "behind a barrier all words are there");
		meet(w, &target);
	}
}

/* The first warp of a CTA stores, its last one raises the flag; the last one of the next CTA waits, its first one reads, and back: behind
 * barriers of their CTAs, of which the racy twin leaves those out that come before a flag. */
static struct warp warps[WARPS];
static void handed_over(struct warp *w)
{
	u32 first = w->rank - w->number, last = w->number == w->of->warps - 1;
	const struct warp *left = &warps[(first + w->ranks - 1) % w->ranks];
	u32 before = left->rank - left->number;
	u64 flags = now.base[0], acks = now.base[0] + 4096, data = now.base[1];
	for (u32 k = 1; k <= 3; k++) {
		u32 v = now.number * 3 + k;
		if (!w->number)
			put(w, data + first * 8, v, 1);
		if (!now.racy)
			warp_bar(w);
		if (last)
			raise(w, flags + first * 64, v, 20);
		if (last)
			await(w, flags + before * 64, v, 21);
		warp_bar(w);
		u32 got = w->number ? v : get(w, data + before * 8, 2);
		need(now.racy || got == v, "what was handed over is what was stored");
		if (!now.racy)
			warp_bar(w);
		if (last)
			raise(w, acks + before * 64, v, 22);
		if (last)
			await(w, acks + first * 64, v, 23);
		warp_bar(w);
	}
}

/* Each warp is a stream of small launches. A relaxed flag that begins a launch publishes what the one before did; what a launch
 * waited for is before the next. A slip reads before its launch has ended. */
static struct launched stream_launch[WARPS];
static void next_launch(struct warp *w, u32 seq)
{
	struct launched *l = &stream_launch[w->rank];
	struct gsan_launch *r = &l->record;
	u32 before = r->seq;
	if (w->of == l) {
		warp_leave(w);
		gpu_fence_sys();
	} else {
		*l = *w->of;
		before = seq;
	}
	*r = launched(r->participant, 8 + w->rank, seq, now.floor, r->gpu).record;
	r->order.pairs = 1;
	r->order.pair[0] = (struct gsan_pair){.participant = r->participant, .stream = r->stream, .seq = before - (before == seq)};
	l->ctas = l->warps = 1;
	w->cta = w->number = 0;
	gpu_fence_sys();
	warp_enter(w, l);
}
static void wait_relaxed(const struct warp *w, u64 at, u32 v, u32 site)
{
	while ((int)(p_load(w, at, GSAN_SEM_NONE, site) - v) < 0)
		gpu_pause();
}
static void streams(struct warp *w)
{
	u32 left = (w->rank + w->ranks - 1) % w->ranks, seq = now.seqs + w->rank;
	u64 flags = now.base[0], acks = now.base[0] + 4096, data = now.base[1];
	warp_leave(w); /* of the round's launch */
	for (u32 k = 1; k <= 3; k++, seq += 4 * WARPS) {
		u32 v = now.number * 3 + k, got;
		next_launch(w, seq);
		put(w, data + w->rank * 8, v, 1);
		next_launch(w, seq + WARPS);
		p_store(w, flags + w->rank * 64, GSAN_SEM_NONE, v, 60);
		wait_relaxed(w, flags + left * 64, v, 61);
		if (!slip(w))
			next_launch(w, seq + 2 * WARPS);
		got = get(w, data + left * 8, 2);
		need(got == v || now.racy, "a message holds what was sent, launches later");
		next_launch(w, seq + 3 * WARPS);
		p_store(w, acks + left * 64, GSAN_SEM_NONE, v, 62);
		wait_relaxed(w, acks + w->rank * 64, v, 63);
	}
}

/* Who comes last reads what all have left. */
static void last_one(struct warp *w)
{
	u64 data = now.base[1];
	put(w, data + w->rank * 128, now.number, 1);
	u32 sem = now.racy ? GSAN_SEM_RELEASE : GSAN_SEM_ACQ_REL;
	if (p_add(w, now.base[0], sem, 1, GSAN_DESC_USED, 40) - now.count != w->ranks - 1)
		return;
	for (u32 i = 0; i < w->ranks; i++)
		need(get(w, data + i * 128, 2) == now.number, "the last one finds all words");
}

/* Bins raised by RMWs that nobody reads; words of one's own beside them. A slip reads a bin weakly. */
static void bins(struct warp *w)
{
	for (u32 k = 0; k < 6; k++) {
		p_red(w, now.base[0] + 4 * draw(w, 6), 50);
		put(w, now.base[1] + w->rank * 4, k, 51);
		if (slip(w))
			weak(w, GSAN_OP_LD, now.base[0] + 4 * draw(w, 6), 4, 52);
	}
}

static const struct program {
	const char *name;
	void (*run)(struct warp *);
	u32 flags;
	u32 counts; /* what each warp adds to the counter */
} programs[] = {
	{"locks", locks, GSAN_ENTER_SYNC, 0},
	{"messages", messages, GSAN_ENTER_SYNC, 0},
	{"barriers", barriers, GSAN_ENTER_SYNC, 4},
	{"handed over", handed_over, GSAN_ENTER_SYNC, 0},
	{"streams", streams, GSAN_ENTER_SYNC, 0},
	{"the last one", last_one, GSAN_ENTER_SYNC, 1},
	{"bins", bins, (1u << GSAN_GPU | 1u << GSAN_SYS) << GSAN_ENTER_REDS_SHIFT, 0},
};
#define PROGRAMS (sizeof programs / sizeof *programs)

/* ---- rounds --------------------------------------------------------------------------------------------------------- */

static u32 random_state = 1;
static u32 dice(u32 below)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 8) % below;
}

static const struct program *played;
static struct launched round_launch[MEMBERS];
static pthread_barrier_t bars[WARPS]; /* of each CTA, by its first warp */

static void warp_play(struct warp *w)
{
	warp_enter(w, w->of);
	played->run(w);
	warp_leave(w);
}

/* Draws the launches of a round: one to three, of CTAs of one or two warps; how many warps there are. */
static u32 round_launches(void)
{
	u32 launches = 1 + dice(MEMBERS), one_gpu = dice(3) == 0, n = 0, first = numbers(MEMBERS + (played->run == streams ? 12 * WARPS : 0));
	now.floor = first;
	now.seqs = first + MEMBERS;
	for (u32 i = 0; i < launches; i++) {
		struct launched *l = &round_launch[i];
		u32 p = dice(2) ? i : 0; /* several of one participant, in streams of their own, or not */
		*l = launched(p, i, first + i, first, one_gpu ? 0 : p);
		l->warps = 1 + dice(2);
		l->ctas = 1 + dice(4 / l->warps);
		l->flags = played->flags;
		l->record.warp_bits = (uint8_t)(l->warps > 1 && dice(2)); /* each warp acquires for itself there */
		if (dice(3) == 0)
			l->record.first_epoch = 505; /* private tags soon */
		for (u32 c = 0; c < l->ctas * l->warps; c++, n++)
			warps[n] = (struct warp){.of = l, .cta = c / l->warps, .number = c % l->warps, .rank = n, .random = dice(1u << 20) + 1, .scope = one_gpu ? GSAN_GPU : GSAN_SYS,
						 .bar = &bars[n - c % l->warps]};
	}
	return n;
}

static u64 round_play(const struct program *p, int racy)
{
	static u32 counts[PROGRAMS][2];
	u32 k = (u32)(p - programs), n;
	played = p;
	now.number++;
	now.racy = racy;
	for (u32 i = 0; i < 2; i++)
		now.base[i] = DATA(dice(1)) + (2 * k + (u32)racy) * PROGRAMS_BYTES + i * PROGRAMS_BYTES / 2;
	now.count = counts[k][racy];
	n = round_launches();
	counts[k][racy] += n * p->counts;
	for (u32 i = 0; i < n; i++) {
		warps[i].ranks = n;
		if (warps[i].bar == &bars[i])
			pthread_barrier_init(&bars[i], NULL, warps[i].of->warps);
	}
	all_play(warp_play, warps, n);
	for (u32 i = 0; i < n; i++)
		if (warps[i].bar == &bars[i]) /* whatever the program made of its number */
			pthread_barrier_destroy(&bars[i]);
	u64 races = found();
	if (!racy && races) {
		need(0, p->name);
		findings_print(p->name);
	}
	findings_drop();
	return races;
}

int main(int argc, char **argv)
{
	double end = seconds() + (argc > 1 ? atof(argv[1]) : 12);
	u64 races[PROGRAMS] = {0};
	u32 rounds = 0;
	random_state = argc > 2 ? (u32)atoi(argv[2]) : 1;
	map_arena();
	crew_begin();
	for (; seconds() < end || rounds < 8; rounds++)
		for (u32 k = 0; k < PROGRAMS; k++)
			for (int racy = 0; racy < 2; racy++) {
				u64 n = round_play(&programs[k], racy);
				races[k] += racy ? n : 0;
			}
	for (u32 k = 0; k < PROGRAMS; k++) {
		need(races[k] > 0, "a racy program has findings");
		printf("%s: %llu races\n", programs[k].name, (unsigned long long)races[k]);
	}
	crew_end();
	printf("%u rounds: %s\n", rounds, failures ? "failed" : "passed");
	return failures != 0;
}
