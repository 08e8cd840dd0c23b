/* The shared structures one by one, under threads and ThreadSanitizer: each holds what its protocol (tables.h) promises to who
 * reads it without a lock. The runtime is compiled into this test, whose inner functions it calls. */
#include "device/runtime.c"

#include "threads.h"

static u32 turn; /* of the threads of one play; and barriers among them */
static u32 warps_playing;
static pthread_barrier_t meet;
static u32 play_number;

static void play_all(void (*play)(struct warp *), u32 n)
{
	static struct warp warps[WARPS];
	pthread_barrier_init(&meet, NULL, n);
	warps_playing = n;
	turn = 0;
	play_number++;
	for (u32 i = 0; i < n; i++)
		warps[i] = (struct warp){.rank = i, .ranks = n, .random = play_number * 64 + i + 1, .scope = GSAN_SYS};
	all_play(play, warps, n);
	pthread_barrier_destroy(&meet);
}

static u64 stamp(u32 tag, u32 cta, u32 epoch)
{
	return (u64)tag << GSAN_REC_TAG_SHIFT | (u64)cta << GSAN_REC_CTA_SHIFT | (u64)epoch << GSAN_REC_EPOCH_SHIFT;
}
static u64 store_by(u64 elem) { return rec_of(elem & REC_STAMP, GSAN_OP_ST, 1, 0xff); }

static void take(const struct gsan_launch *l, u32 *lock) { need(lock_take(l, lock), "a lock is never given up"); }

/* What one thread has told the others, once what it speaks of is done: as a program's flag would. */
#define TOLD 4096u
static u64 told[TOLD];
static void tell(u32 place, u64 what)
{
	gpu_fence_sys();
	gpu_store64(&told[place], what);
}
static u64 hear(u32 place)
{
	u64 what = gpu_load64(&told[place]);
	gpu_fence_sys();
	return what;
}
static void forget(void) { memset(told, 0, sizeof told); }

static struct launched sources[512];
/* `n` launches of participant 2, nothing before them, which stand in the launch table. */
static void sources_make(u32 n)
{
	u32 first = numbers(n);
	for (u32 i = 0; i < n; i++) {
		struct warp w = {0};
		sources[i] = launched(2, i & 7, first + i, first, 0);
		sources[i].flags = 0;
		warp_enter(&w, &sources[i]);
	}
}

/* ---- launch table --------------------------------------------------------------------------------------------------- */

#define LAUNCHES 200u
static struct launched launch_list[LAUNCHES];
static u32 grid_of(u32 seq) { return seq * 7 + 1; }
static void launch_play(struct warp *w)
{
	for (u32 i = 0; i < LAUNCHES; i++) {
		const struct launched *l = &launch_list[(i + (w->rank & 1) * 3) % LAUNCHES];
		if (w->rank % 3 != 2) { /* the others only meet its records */
			warp_enter(w, l);
			gpu_store64(&told[l - launch_list], w->self & REC_WHO);
		}
		u32 other = draw(w, LAUNCHES);
		u64 rec = gpu_load64(&told[other]);
		const struct gsan_launch *mine = &launch_list[i].record, *its = &launch_list[other].record;
		if (!rec)
			continue;
		tag_await(mine, rec_tag(rec));
		const struct dev_launch *e = tag_launch(mine, rec_tag(rec));
		need(gpu_load32(&e->seq) == its->seq && gpu_load32(&e->kernel) == its->kernel, "a launch whose record is met stands in the table");
		need(launch_stream(e) == its->stream && launch_gpu(e) == its->gpu, "its stream and GPU");
		need(gpu_load32(&e->grid[0]) == grid_of(its->seq), "its grid");
		need(gpu_load32(&e->order.floor[1]) == its->order.floor[1], "its order");
		need(gpu_load32(&e->order.pair[GSAN_ORDER_PAIRS - 1].seq) == its->order.pair[GSAN_ORDER_PAIRS - 1].seq, "to its end");
		need(gpu_load64(&dev_tables(its->participant)->newest) >= its->seq, "it has begun");
	}
}
static void launches_stand(void)
{
	forget();
	u32 first = numbers(LAUNCHES);
	for (u32 i = 0; i < LAUNCHES; i++) {
		launch_list[i] = launched(i % 3, i % 5, first + i, first + i / 2, i % 2);
		launch_list[i].flags = 0;
		launch_list[i].record.order.pairs = GSAN_ORDER_PAIRS;
		launch_list[i].record.order.pair[GSAN_ORDER_PAIRS - 1].seq = first + i;
		launch_list[i].ctas = grid_of(first + i);
	}
	play_all(launch_play, 9);
}

/* ---- private tags --------------------------------------------------------------------------------------------------- */

static u64 tag_owner[1u << 16];
static u32 private_first;
static void private_play(struct warp *w)
{
	struct launched l = launched(0, w->rank, private_first + w->rank, private_first, 0);
	l.record.swept = private_first;
	warp_enter(w, &l);
	struct who who = who_of(w->launch, w->self, 0);
	u64 key = gpu_load64(&who.state->key);
	u32 times[16], n = 0;
	need(state_take(&who), "a lock is never given up");
	for (u32 time = GSAN_EPOCH_MAX; n < 16 && private_draw(&who, time); n++, time += 1000) {
		u32 tag = gpu_load32(&who.state->private_tag) - 1;
		need(gpu_exch64(&tag_owner[tag], key) == 0, "a private tag is drawn once");
		need(private_own(&who, tag), "it is its CTA's");
		times[n] = time + 1 + draw(w, 1000);
		tell(w->rank * 16 + n, tag + 1);
		u64 other = hear(draw(w, w->ranks * 16));
		u32 its = (u32)other - 1;
		if (other && private_own(&who, its))
			need(gpu_load64(&tag_owner[its]) == key, "another's tag is not ours");
		if (other && gpu_load64(&tag_owner[its]) == key)
			need(its == tag || private_follows(&l.record, tag, stamp(its, 0, 0)), "a CTA's tags follow each other");
	}
	need(n == 16, "there are private tags");
	for (u32 i = 0; i < n; i++)
		need(gpu_load64(&tag_owner[rec_tag(state_stamp(&who, times[i]))]) == key, "a time under a private tag is this CTA's");
	state_give(&who);
	warp_leave(w);
}
static void private_tags(void)
{
	forget();
	memset(tag_owner, 0, sizeof tag_owner);
	private_first = numbers(10);
	play_all(private_play, 10);
}

/* ---- what a stream's launches acquired ---------------------------------------------------------------------------------- */

#define SOURCES 150u
static u32 inherit_first, inherit_done;
/* Some add elements for their stream, again and again; others, of launches behind theirs, must find what was added. */
static void inherit_play(struct warp *w)
{
	u32 writers = w->ranks / 2;
	if (w->rank < writers) {
		struct launched l = launched(0, w->rank % 2, inherit_first + w->rank, inherit_first, 0);
		l.flags = 0;
		l.record.order.floor[2] = sources[w->rank & 1 ? SOURCES / 2 : 0].record.seq; /* some have half of them anyway */
		warp_enter(w, &l);
		for (u32 i = 0; i < SOURCES; i++) {
			u32 at = (i * 7 + w->rank * 13) % SOURCES;
			u64 elem = stamp(sources[at].record.tag, draw(w, 4), 1 + draw(w, 300));
			acquired_add(&l.record, elem);
			tell(w->rank * SOURCES + i, elem);
		}
		gpu_add32(&inherit_done, 1);
		return;
	}
	const struct launched l = launched(0, 5, inherit_first + 100 + w->rank, inherit_first, 0);
	struct launched behind = l;
	behind.record.order.floor[0] = inherit_first + 100;
	behind.record.order.floor[2] = sources[SOURCES / 2].record.seq; /* what is before those is before this one, as hosts order launches */
	behind.record.quick = gsan_quick(&behind.record);
	struct who who = {.launch = &behind.record, .self = stamp(behind.record.tag, 0, 0)};
	for (u32 i = 0; i < 200 || gpu_load32(&inherit_done) < writers; i++) {
		u64 elem = hear(draw(w, writers * SOURCES));
		if (elem)
			need(order_slow(&who, store_by(elem), NO_POINT), "nothing that was acquired is lost to the launches behind");
	}
}
static void inherited(void)
{
	forget();
	sources_make(SOURCES);
	inherit_first = numbers(200);
	inherit_done = 0;
	play_all(inherit_play, 8);
}

/* ---- a CTA's clock ---------------------------------------------------------------------------------------------------- */

static struct launched clock_launch;
static void clock_play(struct warp *w)
{
	w->number = w->rank;
	warp_enter(w, &clock_launch);
	struct who who = who_of(w->launch, w->self, 0);
	for (u32 i = 0; i < 120; i++) {
		u64 elem = stamp(sources[draw(w, 40)].record.tag, draw(w, 3), 1 + draw(w, 200)), place = DATA(0) + 8 * draw(w, 4);
		int seen = draw(w, 3) == 0;
		if (seen)
			elem = elem_fresh(elem_seen(elem, rec_point(rec_of(elem, GSAN_OP_STRONG_ST + GSAN_SYS, 1, 0xf), place, 0)));
		need(state_take(&who), "a lock is never given up");
		clock_join(&who, elem);
		state_give(&who);
		if (seen) { /* other warps joined meanwhile */
			need(state_take(&who), "a lock is never given up");
			clock_settle(&who);
			state_give(&who);
		}
		tell(w->rank * 128 + i, elem | (seen ? 1 | (place << 1 & 0xfe) : 0));
		u64 other = hear(draw(w, w->ranks * 128));
		if (!other)
			continue;
		u64 rec = other & 1 ? rec_of(other & REC_STAMP, GSAN_OP_STRONG_ST + GSAN_SYS, 1, 0xf) : store_by(other);
		u64 its = other & 1 ? rec_point(rec, DATA(0) + (other >> 1 & 0x7f), 0) : NO_POINT;
		need(order_slow(&who, rec, its), "nothing that a CTA acquired is lost to its other warps");
	}
	warp_leave(w);
}
static void clocks(void)
{
	forget();
	sources_make(40);
	clock_launch = launched(0, 0, numbers(1), sources[0].record.seq, 0);
	clock_launch.warps = 8;
	play_all(clock_play, 8);
}

/* ---- the coarse path --------------------------------------------------------------------------------------------------- */

#define COARSE_LAUNCHES 60u
static u32 coarse_first;
static void coarse_play(struct warp *w)
{
	struct dev_tables *t = dev_tables(0);
	for (u32 i = 0; i < COARSE_LAUNCHES; i++) {
		u32 stream = w->rank & 1 ? 13 : 0, p = w->rank & 1 ? 0 : 1; /* the same slot, of two participants */
		struct launched l = launched(p, stream, coarse_first + w->rank * COARSE_LAUNCHES + i, coarse_first, 0);
		l.flags = 0;
		warp_enter(w, &l);
		tag_await(&l.record, l.record.tag);
		struct who who = who_of(w->launch, w->self, 0);
		coarse_note(&who, t, 0);
		tell(w->rank * 64 + i, l.record.tag);
		for (u32 k = 0; k < 4; k++) {
			u64 tag = hear(draw(w, w->ranks * 64));
			need(!tag || coarse_made(&l.record, (u32)tag, DATA(0)), "a launch on the coarse path stays known");
		}
	}
}
static void coarse(void)
{
	forget();
	need(coarse_slot(0, 13) == coarse_slot(1, 0), "one slot for both");
	coarse_first = numbers(8 * COARSE_LAUNCHES);
	play_all(coarse_play, 8);
}

/* ---- CTA states -------------------------------------------------------------------------------------------------------- */

#define STATES 60u
static u32 state_cta[STATES]; /* of one bucket, or two */
static u64 state_of[STATES], state_user[DEV_BUCKETS * DEV_BUCKET];
static struct launched state_launch;
/* Two warps each make a CTA: they find one state, that of nobody else, as a new one is. */
static void state_play(struct warp *w)
{
	for (u32 i = 0; i < STATES; i++) {
		u32 pair = (i * 5 + w->rank / 2) % STATES;
		w->cta = state_cta[pair];
		w->number = w->rank & 1;
		warp_enter(w, &state_launch);
		struct who who = who_of(w->launch, w->self, 0);
		need(who.state != NULL, "there is a state");
		need(!((who.base ^ w->self) & REC_WHO) && rec_epoch(who.base), "its records are this CTA's");
		u64 mine = (u64)w->cta + 1, index = (u32)w->self, was = gpu_exch64(&state_user[index - 1], mine);
		need(was == 0 || was == mine, "a state is one CTA's");
		was = gpu_exch64(&state_of[pair], index);
		need(was == 0 || was == index, "a CTA has one state");
		need(state_take(&who), "a lock is never given up");
		need(gpu_load32(&who.state->clock.count) <= 1 && gpu_load32(&who.state->pendings) <= 1, "it begins without lists");
		gpu_store32(&who.state->pendings, 1);
		who.state->pending[0].key = mine;
		need(who.state->pending[0].key == mine, "nobody else writes to it");
		gpu_store32(&who.state->pendings, 0);
		state_give(&who);
		gpu_host_flush();
		pthread_barrier_wait(&meet); /* all have done so */
		gpu_store64(&state_user[index - 1], 0);
		gpu_store64(&state_of[pair], 0);
		gpu_host_flush();
		pthread_barrier_wait(&meet);
		warp_leave(w);
	}
}
static void states(void)
{
	u32 n = 0;
	u32 seq = numbers(1);
	state_launch = launched(1, 0, seq, seq, 1);
	state_launch.warps = 2;
	state_launch.ctas = 1u << 20;
	for (u32 cta = 0; n < STATES; cta++) {
		u64 key = (u64)state_launch.record.seq << 32 | (cta + 1);
		if ((mix64(key) & (DEV_BUCKETS - 1)) < 2)
			state_cta[n++] = cta;
	}
	play_all(state_play, 10);
}

/* Some write a location's version, under its lock: as many elements as their time says. Who reads it without has them as they were once. */
static struct launched glance_launch;
static struct dev_sync glanced;
static u32 glance_writers;
static void glance_writes(const struct launched *l)
{
	struct dev_version *v = &glanced.version[0];
	for (u32 i = 0; i < 3000; i++) {
		u32 time = 1 + i % 500;
		take(&l->record, &glanced.lock);
		gpu_fence_sys(); /* as sync_hold() */
		gpu_store32(&v->count, 0);
		for (u32 k = 0; k <= time % 20; k++) {
			gpu_store64(&v->elem[k], stamp(sources[k].record.tag, k, time));
			gpu_store32(&v->count, k + 1);
		}
		gpu_add32(&glanced.generation, 1);
		lock_give(&glanced.lock);
	}
	gpu_add32(&glance_writers, -1u);
}
static void glance_play(struct warp *w)
{
	u64 at = DATA(0) + DATA_BYTES / 2;
	u32 d = desc(GSAN_OP_STRONG_LD + GSAN_SYS, 4, GSAN_SEM_ACQUIRE, 1), seen = 0;
	w->number = w->rank;
	warp_enter(w, &glance_launch);
	struct who who = who_of(w->launch, w->self, 0);
	if (w->rank < 2)
		glance_writes(&glance_launch);
	while (w->rank >= 2 && (gpu_load32(&glance_writers) || !seen)) {
		if (!sync_glance(&who, &glanced, at, d, 0, 0))
			continue;
		u32 n = gpu_own32(&who.state->reads), time = rec_epoch(who.state->read[0]);
		need(n == 1 + time % 20, "a version is read as one write left it");
		for (u32 k = 0; k < n; k++)
			need(who.state->read[k] == stamp(sources[k].record.tag, k, time), "not made of two");
		state_give(&who);
		seen++;
	}
	warp_leave(w);
}
static void glances(void)
{
	sources_make(20);
	glance_launch = launched(0, 0, numbers(1), sources[0].record.seq, 0);
	glance_launch.warps = 8;
	memset(&glanced, 0, sizeof glanced);
	glanced.version[0].flags = DEV_VALID;
	glanced.version[0].count = 1;
	glanced.version[0].elem[0] = stamp(sources[0].record.tag, 0, 20);
	glance_writers = 2;
	play_all(glance_play, 8);
}

/* What an operation has read is known to its warp, and its CTA, once it is taken in: who looks there next looks no further. */
static void taken_play(struct warp *w)
{
	u64 at = DATA(0) + DATA_BYTES / 2;
	u32 d = desc(GSAN_OP_STRONG_LD + GSAN_SYS, 4, GSAN_SEM_CAS, 1) | GSAN_DESC_USED | GSAN_DESC_VALUE;
	warp_enter(w, &glance_launch);
	struct who who = who_of(w->launch, w->self, 0);
	take(who.launch, &glanced.lock);
	sync_holds(who.launch, &glanced, 1u << gpu_lane());
	struct synced sync = sync_after(&who, &glanced, at, d, 1, 0, 0);
	need(sync.held && sync.put && sync.spun, "what a CAS that failed has read is put down");
	need(!gpu_load64(&own_warp(&who)->spun) && !sync_polled(&who, at, 0, 1, d), "which nobody knows yet");
	sync_digest(&who, at, d);
	need(sync_polled(&who, at, 0, 1, d), "but once it is taken in");
	need(who.state->clock.count + who.state->pendings > 0, "as it is now");
	need(sync_glance(&who, &glanced, at, d, 1, 0) == 0, "whoever holds the entry is waited for");
	lock_give(&glanced.lock);
	u32 load = desc(GSAN_OP_STRONG_LD + GSAN_SYS, 4, GSAN_SEM_ACQUIRE, 2) | GSAN_DESC_VALUE;
	need(sync_glance(&who, &glanced, at, load, 1, 0) && !sync_polled(&who, at, 0, 1, load), "of a load the same");
	sync_digest(&who, at, load);
	need(sync_polled(&who, at, 0, 1, load), "the same");
	struct who other = who;
	other.warp = 1;
	need(!sync_polled(&other, at, 0, 0, load) && poll_of(&other, at, 0, 0, load) != poll_of(&who, at, 0, 1, load), "another warp has not read another value");
	warp_leave(w);
}
static void takings(void)
{
	sources_make(20);
	glance_launch = launched(0, 0, numbers(1), sources[0].record.seq, 0);
	memset(&glanced, 0, sizeof glanced);
	glanced.version[0].flags = DEV_VALID;
	glanced.version[0].count = 2;
	glanced.version[0].writer = writer_of(stamp(sources[1].record.tag, 0, 0), elem_by(0, GSAN_SYS, 1), 1);
	for (u32 k = 0; k < 2; k++)
		glanced.version[0].elem[k] = stamp(sources[k].record.tag, k, 20) | elem_by(0, GSAN_SYS, 1);
	play_all(taken_play, 1);
}

/* What a CTA polled last, as its other warps read it without the lock: never halves of two looks. */
static struct launched poll_launch;
static void poll_play(struct warp *w)
{
	static const struct { u64 at, value; u32 generation; } looks[] = {{8, 0, 1}, {16, 1, 2}, {24, 2, 3}};
	u32 d = desc(GSAN_OP_STRONG_LD + GSAN_SYS, 4, GSAN_SEM_ACQUIRE, 1);
	w->number = w->rank;
	warp_enter(w, &poll_launch);
	struct who who = who_of(w->launch, w->self, 0);
	for (u32 i = 0; i < 300; i++) {
		u32 a = draw(w, 3), b = (a + 1 + draw(w, 2)) % 3;
		need(state_take(&who), "a lock is never given up");
		sync_poll(&who, DATA(0) + looks[a].at, looks[a].generation, looks[a].value, d);
		need(sync_polled(&who, DATA(0) + looks[a].at, looks[a].generation, looks[a].value, d), "the last look is known");
		state_give(&who);
		need(!sync_polled(&who, DATA(0) + looks[a].at, looks[b].generation, looks[b].value, d), "no look is made of two");
		need(!sync_polled(&who, DATA(0) + looks[a].at, looks[a].generation, looks[b].value, d), "no look has another's value");
	}
	warp_leave(w);
}
static void polls(void)
{
	u32 seq = numbers(1);
	poll_launch = launched(0, 0, seq, seq, 0);
	poll_launch.warps = 8;
	play_all(poll_play, 8);
}

/* Lanes of a warp that have parted: one fences while the other records. No record is of a fence's time. */
static struct launched fence_launch;
static void fence_play(struct warp *w)
{
	static unsigned char seen[2][1024]; /* times: of fences, of records */
	u32 before = 0;
	w->number = 0; /* both are of the CTA's first warp */
	memset(seen[w->rank], 0, sizeof seen[0]);
	warp_enter(w, &fence_launch);
	struct who who = who_of(w->launch, w->self, 0);
	pthread_barrier_wait(&meet);
	for (u32 i = 0; i < 250; i++) {
		if (w->rank) {
			u32 time = elem_time(&who, state_base(who.state, 0, 1));
			need(time >= before, "time goes on");
			before = time;
			seen[1][time % 1024] = 1;
		} else {
			gsan_fence(w->launch, w->self, desc(GSAN_OP_STRONG_LD + GSAN_SYS, 0, GSAN_SEM_ACQ_REL, 0));
			seen[0][gpu_load32(&who.state->warp[0].fence[1]) % 1024] = 1;
		}
	}
	pthread_barrier_wait(&meet);
	for (u32 i = 0; i < 1024; i++)
		need(w->rank || !(seen[0][i] && seen[1][i]), "no record is of a fence's time");
	warp_leave(w);
}
static void fences(void)
{
	for (u32 i = 0; i < 20; i++) {
		u32 seq = numbers(1);
		fence_launch = launched(0, 0, seq, seq, 0);
		fence_launch.warps = 2;
		fence_launch.record.warp_bits = 1;
		play_all(fence_play, 2);
	}
}

/* ---- detail, entries --------------------------------------------------------------------------------------------------- */

static u32 find_seq;
static void find_play(struct warp *w)
{
	const struct launched l = launched(1, 0, find_seq, find_seq, 1);
	struct who who = {.launch = &l.record};
	for (u32 i = 0; i < 256; i++) {
		u32 k = (i + w->rank * 3) % 256;
		u64 at = DATA(2) + 0x80000 + k * GSAN_LINE;
		struct access a = {.address = at, .op = GSAN_OP_LD};
		struct gsan_detail *d = detail_get(&who, &a);
		u64 was = gpu_exch64(&told[k], (u64)(uintptr_t)d);
		need(d && (!was || was == (u64)(uintptr_t)d), "a line has one detail");
		struct dev_sync *e = sync_find(at, 4, 1, DEV_SYNCS), *again = sync_find(at, 4, 0, 0);
		was = gpu_exch64(&told[256 + k], (u64)(uintptr_t)e);
		need(e && e == again && (!was || was == (u64)(uintptr_t)e), "a location has one entry");
	}
}
static int pointer_before(const void *a, const void *b) { return *(const u64 *)a < *(const u64 *)b ? -1 : *(const u64 *)a > *(const u64 *)b; }
static void finds(void)
{
	static u32 find_round;
	forget();
	u32 syncs = dev_tables(2)->syncs;
	find_seq = numbers(1);
	play_all(find_play, 10);
	qsort(told, 512, sizeof *told, pointer_before);
	for (u32 i = 1; i < 512; i++)
		need(told[i] != told[i - 1], "no two lines share a detail, no two locations an entry");
	need(dev_tables(2)->syncs == syncs + (find_round++ ? 0 : 256), "entries are counted");
}

/* Whoever holds an entry is alone: `alone` is plain. */
static u32 alone, hold_first;
static void hold_play(struct warp *w)
{
	const struct launched l = launched(1, 0, hold_first + w->rank, hold_first, 1);
	w->of = &l;
	stand(w);
	for (u32 i = 0; i < 300; i++) {
		struct dev_sync *e = sync_find(DATA(1) + 0x80000, 4, 1, DEV_SYNCS);
		sync_hold(&l.record, e, 1);
		need(sync_held(&l.record, e), "who took an entry holds it");
		alone++;
		sync_release(e, 1);
		need(!sync_held(&l.record, e), "until it gives it back");
	}
}
static void holds(void)
{
	alone = 0;
	hold_first = numbers(10);
	play_all(hold_play, 10);
	need(alone == 3000, "one holder at a time");
}

/* ---- the ring of findings ---------------------------------------------------------------------------------------------- */

#define REPORTS 1500u
static u64 ring_read;
static u32 ring_writers;
static u64 ring_dropped(void) { return gpu_load64(&dev_tables(0)->head.counter[GSAN_N_DROPPED]); }
/* As the supervisor does (evidence.c), who is late: first the ring is full. */
static void ring_drain(struct gsan_ring *r)
{
	u64 head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE), tail = r->tail;
	for (; tail != head; tail++) {
		const struct gsan_finding *f = &r->slot[tail % GSAN_RING_SLOTS];
		if (__atomic_load_n(&f->ready, __ATOMIC_ACQUIRE) != (u32)(tail + 1))
			break;
		need(f->address == DATA(0) + (u64)f->second.site * 8 && f->bytes == f->second.site % 32 && f->first.seq && f->kind == GSAN_RAW,
		     "a finding is whole");
		ring_read++;
	}
	__atomic_store_n(&r->tail, tail, __ATOMIC_RELEASE);
}
static void ring_play(struct warp *w)
{
	if (!w->rank) {
		for (u64 before = ring_dropped(); ring_dropped() == before && gpu_load32(&ring_writers);)
			gpu_pause();
		while (gpu_load32(&ring_writers))
			ring_drain(&ring[0]);
		ring_drain(&ring[0]);
		return;
	}
	struct launched l = launched(0, w->rank, sources[0].record.seq + 1 + w->rank, sources[0].record.seq, 0);
	l.flags = 0;
	warp_enter(w, &l);
	struct who who = who_of(w->launch, w->self, 0);
	for (u32 i = 0; i < REPORTS; i++) {
		struct access a = {.address = DATA(0) + i * 8, .site = i, .bytes = i % 32, .mask = 0xf, .op = GSAN_OP_LD};
		report(&who, rec_of(stamp(sources[0].record.tag, 1, 1), GSAN_OP_ST, 3, 0xf), NO_POINT, 0xf, &a, GSAN_RAW);
		report_reasons(&who);
	}
	gpu_fence_sys();
	gpu_add32(&ring_writers, -1u);
}
static void findings(void)
{
	u64 dropped = counted(GSAN_N_DROPPED);
	sources_make(11); /* the others' numbers are the writers' */
	findings_drop();
	__atomic_store_n(&ring[0].head, ring[0].tail, __ATOMIC_RELAXED);
	ring_read = 0;
	ring_writers = 9;
	play_all(ring_play, 10);
	dropped = counted(GSAN_N_DROPPED) - dropped;
	need(dropped > 0, "the ring was full once");
	need(ring_read + dropped == 9 * REPORTS, "each finding was read, or counted as dropped");
	printf("findings: %llu read, %llu dropped\n", (unsigned long long)ring_read, (unsigned long long)dropped);
	findings_drop();
}

int main(int argc, char **argv)
{
	static void (*const tests[])(void) = {launches_stand, private_tags, inherited, clocks, coarse, states, polls, glances, takings, fences, finds, holds, findings};
	double end = seconds() + (argc > 1 ? atof(argv[1]) : 0);
	u32 only = argc > 2 ? (u32)atoi(argv[2]) : ~0u;
	map_arena();
	crew_begin();
	do {
		for (u32 i = 0; i < sizeof tests / sizeof *tests; i++)
			if (only >> i & 1)
				tests[i]();
	} while (seconds() < end && !failures);
	crew_end();
	printf("%s\n", failures ? "failed" : "passed");
	return failures != 0;
}
