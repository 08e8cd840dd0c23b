/* Where some warps of a CTA meet, and not all: named barriers that count threads, mbarriers in shared memory. Who comes leaves at the
 * place what it did and knows by then, who waits there takes that along: so a barrier orders who arrives before who waits, and nobody
 * else. A CTA has a meeting of its own for that from the first such barrier on.
 *
 * A named barrier opens for all that wait when the last of its count comes, before the GPU lets them go on: nobody can have come to it
 * again by then. If the GPU did that earlier, our count was not its own (threads that had left, two barriers of one name at once): from
 * there on who waits at that name counts as behind all. Of an mbarrier each phase has a place, by its parity; what stands there stays,
 * for a phase is behind all those before it. */
#ifndef GSAN_DEVICE_MEETING_H
#define GSAN_DEVICE_MEETING_H

#include "device/abi.h"
#include "device/barrier.h"
#include "device/caller.h"
#include "device/calls.h"
#include "device/warps.h"

/* ---- a CTA's ------------------------------------------------------------------------------------------------------------- */
#define MEETING_TRIES 64u
NEVER u32 meeting_claim(const struct gsan_launch *l, u64 key)
{
	u32 from = (u32)mix64(key);
	for (u32 i = 0; i < MEETING_TRIES; i++) {
		u32 at = (from + i) & (DEV_MEETINGS - 1);
		struct dev_meeting *m = &own_tables(l)->meeting[at];
		if (!gpu_load64(&m->key) && !gpu_cas64(&m->key, 0, key))
			return at + 1;
	}
	count(l, GSAN_N_STATE_FULL, 1);
	return MEETING_NONE;
}

ALWAYS void place_clear(struct dev_place *p, u32 warps)
{
	for (u32 i = 0; i < warps; i++)
		gpu_store32(&p->behind[i], 0);
	gpu_store32(&p->synced, 0);
}

/* As far as the CTA's warps use it. */
NEVER void meeting_reset(struct dev_meeting *m, u32 warps)
{
	u64 *head = (u64 *)m;
	gpu_fence_sys(); /* after all that its last CTA did there */
	for (u32 i = 1; i < __builtin_offsetof(struct dev_meeting, knows) / 8; i++)
		gpu_store64(head + i, 0);
	gpu_store32(&m->warps, warps);
	for (u32 i = 0; i < warps; i++)
		for (u32 k = 0; k < warps; k++) {
			gpu_store32(&m->knows[i][k], 0);
			gpu_store32(&m->fenced[0][i][k], 0);
			gpu_store32(&m->fenced[1][i][k], 0);
		}
	for (u32 i = 0; i < DEV_PLACES; i++)
		place_clear(&m->place[i], warps);
}

/* Under the state's lock. NULL: there was no place left. */
NEVER struct dev_meeting *meeting_of(const struct who *w)
{
	struct dev_state *s = w->state;
	if (!gpu_own32(&s->meeting)) {
		u32 claimed = meeting_claim(w->launch, gpu_load64(&s->key));
		if (claimed != MEETING_NONE)
			meeting_reset(&own_tables(w->launch)->meeting[claimed - 1], cta_warps());
		gpu_store32(&s->meeting, claimed);
	}
	return own_meeting(w);
}

/* ---- a place ------------------------------------------------------------------------------------------------------------- */
/* This warp comes there: its epoch ends. */
NEVER void place_add(const struct who *w, struct dev_meeting *m, u32 at)
{
	struct dev_place *p = &m->place[at];
	const struct dev_warp *own = own_warp(w);
	u32 warps = gpu_own32(&m->warps), time = epoch_end(w) + 1;
	for (u32 i = 0; i < warps; i++)
		raise32(&p->behind[i], i == w->warp ? time : gpu_own32(&m->knows[w->warp][i]));
	raise32(&p->synced, gpu_own32(&own->synced));
	warps_tell(w->state, who_warps(w), place_bit(at), 0);
}

/* `warp` has waited there. */
NEVER void place_take(const struct who *w, struct dev_meeting *m, u32 at, u32 warp)
{
	const struct dev_place *p = &m->place[at];
	u32 warps = gpu_own32(&m->warps), time = gpu_own32(&p->synced), latest = 0;
	for (u32 i = 0; i < warps; i++) {
		u32 behind = gpu_own32(&p->behind[i]);
		raise32(&m->knows[warp][i], behind);
		latest = behind > latest ? behind : latest;
	}
	if (latest >= gpu_own32(&w->state->warp[warp].time) && time_reaches(w, latest + 1)) /* so that one element has all (version_add_times) */
		time_set(w, warp, latest + 1);
	if (time > gpu_own32(&w->state->warp[warp].synced))
		warp_reach(w, warp, time);
}

/* ---- named barriers -------------------------------------------------------------------------------------------------------- */
#define UNLIKE (~0u)

/* All of its count have come. Where that is the whole CTA, and all of it waits, it is a barrier as any. */
NEVER void count_opens(const struct who *w, struct dev_meeting *m, u32 id)
{
	struct dev_count *c = &m->count[id];
	u32 warps = gpu_own32(&m->warps), wait = gpu_own32(&c->wait);
	if (wait == ~0u >> (32 - warps)) {
		barrier_opens(w);
	} else {
		for (u32 rest = wait; rest; rest &= rest - 1)
			place_take(w, m, id, gpu_first(rest));
	}
	pending_formally(w, place_bit(id), wait);
	warps_tell(w->state, place_bit(id), wait, place_bit(id));
	place_clear(&m->place[id], warps);
	gpu_store32(&c->threads, 0);
	gpu_store32(&c->came, 0);
	gpu_store32(&c->wait, 0);
	gpu_store32(&c->turn, (gpu_own32(&c->turn) + 1) & ~(1u << 31));
}

/* `threads` of this warp have come to a barrier that `all` come to; those of a last warp that lack are counted with the first. */
NEVER void meeting_come(const struct who *w, u32 id, u32 all, int waits, u32 threads)
{
	struct dev_meeting *m;
	if (!state_take(w))
		return;
	if (id < DEV_BARRIERS && (m = meeting_of(w)) != 0 && gpu_own32(&m->count[id].turn) != UNLIKE) {
		struct dev_count *c = &m->count[id];
		u32 bit = 1u << w->warp, came = gpu_own32(&c->came), lack = gpu_threads() % 32;
		int first = !(came & bit), last = w->warp == gpu_own32(&m->warps) - 1;
		u32 now = gpu_own32(&c->threads) + threads + (first && last && lack ? 32 - lack : 0);
		place_add(w, m, id);
		gpu_store32(&c->threads, now);
		gpu_store32(&c->came, came | bit);
		if (waits) {
			gpu_store32(&c->wait, gpu_own32(&c->wait) | bit);
			gpu_store32(&m->turn[w->warp], gpu_own32(&c->turn));
		}
		if (now >= all)
			count_opens(w, m, id);
	}
	gpu_fence_cta();
	state_give(w);
}

/* This warp waited at it, and goes on: it has opened by our count, too? */
NEVER void meeting_over(const struct who *w, u32 id)
{
	gpu_fence_cta();
	struct dev_meeting *m = own_meeting(w);
	u32 turn = m && id < DEV_BARRIERS ? gpu_load32(&m->count[id].turn) : UNLIKE;
	if (turn != UNLIKE && turn != gpu_load32(&m->turn[w->warp]))
		return;
	if (m && id < DEV_BARRIERS)
		gpu_store32(&m->count[id].turn, UNLIKE);
	barrier_behind(w, 0);
}

/* ---- mbarriers ------------------------------------------------------------------------------------------------------------- */
/* The place of an mbarrier's phases of even number; that of odd ones is the next. `make`: somebody arrives. */
#define PLACES_SHARED (DEV_PLACES - 1)
ALWAYS u32 mbarrier_place(struct dev_meeting *m, u32 address, int make)
{
	u32 n = gpu_own32(&m->mbarriers), i = 0;
	while (i < n && gpu_own32(&m->mbarrier[i]) != address)
		i++;
	if (i == n && n < DEV_MBARRIERS && make) {
		gpu_store32(&m->mbarrier[n], address);
		gpu_store32(&m->mbarriers, n + 1);
		return DEV_BARRIERS + 2 * n;
	}
	return i < n ? DEV_BARRIERS + 2 * i : PLACES_SHARED;
}

NEVER void mbarrier_arrive(const struct who *w, u32 where)
{
	struct dev_meeting *m;
	if (!state_take(w))
		return;
	if ((m = meeting_of(w)) != 0) {
		u32 at = mbarrier_place(m, where & ~7u, 1);
		if (at == PLACES_SHARED && !gpu_own32(&m->place[at].synced))
			count(w->launch, GSAN_N_CLOCK_FULL, 1);
		place_add(w, m, at == PLACES_SHARED ? at : at + (where & GSAN_MBARRIER_ODD));
	}
	state_give(w);
}

NEVER void mbarrier_waited(const struct who *w, u32 where)
{
	struct dev_meeting *m;
	if (!state_take(w))
		return;
	m = own_meeting(w);
	int unknown = gpu_own32(&w->state->meeting) == MEETING_NONE;
	if (m) {
		u32 at = mbarrier_place(m, where & ~7u, 0);
		u32 phases = at == PLACES_SHARED ? 1 : where & GSAN_MBARRIER_ANY ? 3 : 1u << (where & GSAN_MBARRIER_ODD);
		for (; phases; phases &= phases - 1) {
			u32 place = at + gpu_first(phases);
			place_take(w, m, place, w->warp);
			pending_formally(w, place_bit(place), who_warps(w));
			warps_tell(w->state, place_bit(place), who_warps(w), 0);
		}
	}
	state_give(w);
	if (unknown)
		barrier_behind(w, 1);
}

/* ---- what clones call -------------------------------------------------------------------------------------------------------- */
/* For the lanes that are active: one for all of a whole warp that comes to one barrier, or phase. */
#define MEETING_EACH(launch, self, w, what, call) \
	struct who w = who_of(launch, self, 0); \
	u32 active = gpu_active(); \
	int whole = active == GPU_WARP && warp_agrees(what); \
	if (!w.state || !w.launch->warp_bits) \
		return; \
	gpu_meet(whole); /* one says for all that they have come */ \
	EACH_LANE(whole, active) \
		call; \
	gpu_meet(whole)

void gsan_behind(u64 launch, u64 self)
{
	MEETING_EACH(launch, self, w, 0, barrier_behind(&w, 1));
}

void gsan_barrier(u64 launch, u64 self)
{
	MEETING_EACH(launch, self, w, 0, barrier_arrive(&w, whole ? gpu_popc(active) : 1));
}

void gsan_meet(u64 launch, u64 self, u32 id, u32 all, u32 waits)
{
	MEETING_EACH(launch, self, w, id, meeting_come(&w, id, all, (int)waits, whole ? gpu_popc(active) : 1));
}

void gsan_met(u64 launch, u64 self, u32 id)
{
	MEETING_EACH(launch, self, w, id, meeting_over(&w, id));
}

void gsan_arrive(u64 launch, u64 self, u32 where)
{
	MEETING_EACH(launch, self, w, where, mbarrier_arrive(&w, where));
}

void gsan_waited(u64 launch, u64 self, u32 where)
{
	MEETING_EACH(launch, self, w, where, mbarrier_waited(&w, where));
}

#endif
