/* What each warp of a CTA knows of the others, where they are told apart (warp_bits): times below which what they did is before it, and
 * which elements of the CTA's clock, and of what was set aside, it has: a bit for each warp, and for each place where some of them meet
 * (meeting.h). All under the state's lock. */
#ifndef GSAN_DEVICE_WARPS_H
#define GSAN_DEVICE_WARPS_H

#include "device/state.h"

/* From here on until the next barrier, what one warp of this CTA knows is not what all know. */
ALWAYS void warps_part(const struct who *w)
{
	if (w->launch->warp_bits && !gpu_load32(&w->state->parted))
		gpu_store32(&w->state->parted, 1);
}

ALWAYS int known_tell(u64 *known, u32 n, u64 from, u64 to, u64 forget)
{
	int news = 0;
	for (u32 i = 0; i < n; i++) {
		u64 old = gpu_own64(&known[i]), now = (old & from ? old | to : old) & ~forget;
		if (now != old)
			gpu_store64(&known[i], now);
		news |= now != old;
	}
	return news;
}
/* Of what any of `from` has acquired, or set aside, all of `to` know as well; and `forget` not any more. Was any
 * of the clock news to them? */
NEVER int warps_tell(struct dev_state *s, u64 from, u64 to, u64 forget)
{
	u32 clocks = gpu_own32(&s->clock.count), pendings = gpu_own32(&s->pendings);
	if (!gpu_own32(&s->parted)) /* all know all */
		return 0;
	known_tell(s->pending_known, pendings < DEV_PENDING ? pendings : DEV_PENDING, from, to, forget);
	return known_tell(s->clock_known, clocks < DEV_CLOCK ? clocks : DEV_CLOCK, from, to, forget);
}

/* From here on a warp is behind all that others of its CTA did before `time`. Its own time rises to that. */
NEVER void warp_reach(const struct who *w, u32 warp, u32 time)
{
	struct dev_warp *own = &w->state->warp[warp];
	if (time > gpu_own32(&own->time)) {
		if (!time_reaches(w, time))
			return;
		time_set(w, warp, time);
	}
	if (w->launch->warp_bits && time > gpu_own32(&own->synced))
		gpu_store32(&own->synced, time);
}

ALWAYS void raise32(u32 *to, u32 v)
{
	if (v > gpu_own32(to))
		gpu_store32(to, v);
}

/* 1 + the time of the last fence of any warp. */
ALWAYS u32 fence_latest(const struct who *w, u32 k)
{
	u32 latest = 0;
	for (u32 i = 0, n = w->launch->warp_bits ? cta_warps() : 1; i < n; i++)
		latest = gpu_own32(&w->state->warp[i].fence[k]) > latest ? gpu_own32(&w->state->warp[i].fence[k]) : latest;
	return latest;
}

/* What this warp knows of the others beyond `synced`, or knew at its last fence; NULL: nothing. */
ALWAYS struct dev_meeting *own_meeting(const struct who *w)
{
	u32 meeting = w->launch->warp_bits ? gpu_own32(&w->state->meeting) : 0;
	return meeting && meeting != MEETING_NONE ? &own_tables(w->launch)->meeting[meeting - 1] : 0;
}

/* 1 + the time of the last fence of another warp before a barrier by which this one is behind it; of a barrier of some, the earlier of
 * that and its last fence, which may have come later. */
ALWAYS u32 fence_formal(const struct who *w, const struct dev_meeting *m, u32 warp, u32 k)
{
	const struct dev_warp *its = &w->state->warp[warp];
	u32 all = gpu_own32(&its->fence_met[k]), fence = gpu_own32(&its->fence[k]), met = m ? gpu_own32(&m->knows[w->warp][warp]) : 0;
	fence = fence < met ? fence : met;
	return fence > all ? fence : all;
}

ALWAYS u32 own_fences(const struct who *w) { return gpu_own32(&own_warp(w)->fence[0]) | gpu_own32(&own_warp(w)->fence[1]); } /* any? */

/* A fence of this warp. Where warps are told apart, no record is of the time that it has: what the warp records from here on is of a later
 * one, and so the time rises at once: lanes that have parted record meanwhile. Of two without a record or a barrier between them the
 * second has the first one's. */
NEVER u32 fence_time(const struct who *w)
{
	struct dev_warp *own = own_warp(w);
	u32 time = gpu_own32(&own->time), gpu = gpu_own32(&own->fence[0]), sys = gpu_own32(&own->fence[1]), last = gpu > sys ? gpu : sys;
	if (!w->launch->warp_bits)
		return epoch_end(w) + 1;
	if (last + 1 == time && last > gpu_own32(&own->synced) && !(gpu_load64(&own->base) & DEV_BASE_USED))
		return last;
	if (time_reaches(w, time + 2))
		time_set(w, w->warp, time + 2);
	return time + 1;
}
ALWAYS void warp_fences(const struct who *w, u32 k)
{
	struct dev_warp *own = own_warp(w);
	struct dev_meeting *m = own_meeting(w);
	gpu_store32(&own->fence[k], fence_time(w));
	gpu_store32(&own->fence_all[k], gpu_own32(&own->synced));
	for (u32 i = 0, n = m ? gpu_own32(&m->warps) : 0; i < n; i++)
		gpu_store32(&m->fenced[k][w->warp][i], gpu_own32(&m->knows[w->warp][i]));
	warps_part(w);
}

#endif
