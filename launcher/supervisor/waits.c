/* Who waits in a job that hangs: places where launches read the same again and again (GSAN_WAITS), as the device tells of them at each
 * doubling of how often. A place is reported if its rank did not end well, its launch is not known to have ended, and the next word of it
 * is not long overdue. */
#include <string.h>

#include "base/now.h"
#include "supervisor/state.h"

#define WAITS_OVERDUE 4u        /* times as long as from the first word of it to the last: after about once as long the next one is due; */
#define WAITS_OVERDUE_MS 10000u /* and so long more, for of a single word nobody knows how long it took to come */

/* Is it known that the launch has ended, or likely that it no longer waits there? Of a process that still has its place. */
static int waits_over(const struct supervisor *s, const struct wait *w, uint64_t now)
{
	const struct job_clock *clock = &s->job->rank[w->by.participant].clock;
	uint32_t floor = atomic_load_explicit(&clock->floor, memory_order_relaxed);
	uint32_t stream = atomic_load_explicit(&clock->stream[w->by.stream], memory_order_relaxed);
	return w->by.seq < floor || w->by.seq <= stream || now - w->last > WAITS_OVERDUE * (w->last - w->since) + WAITS_OVERDUE_MS;
}

/* Which place it is: the last one goes if there is no room for another, and is counted. */
static uint32_t waits_place(struct supervisor *s, const struct gsan_side *by, uint64_t now)
{
	for (uint32_t i = 0; i < s->waits; i++) {
		const struct wait *w = &s->wait[i];
		if (w->owner == s->owner[by->participant] && w->by.seq == by->seq && w->by.site == by->site)
			return i;
	}
	if (s->waits < WAITS_KEPT)
		return s->waits++;
	const struct wait *last = &s->wait[WAITS_KEPT - 1];
	s->waits_lost += last->left || !waits_over(s, last, now);
	s->wait[WAITS_KEPT - 1] = (struct wait){0};
	return WAITS_KEPT - 1;
}

void supervisor_waits(struct supervisor *s, const struct gsan_finding *f)
{
	const struct gsan_side *by = &f->second;
	const uint64_t now = (uint64_t)now_ms();
	if (by->participant >= GSAN_PARTICIPANTS || !s->owner[by->participant] || by->stream >= GSAN_STREAMS) /* scribbled on */
		return;
	const uint32_t place = waits_place(s, by, now);
	const uint64_t since = s->wait[place].since;
	memmove(&s->wait[1], &s->wait[0], place * sizeof *s->wait);
	s->wait[0] = (struct wait){.owner = s->owner[by->participant], .kernel = supervisor_kernel(s, by->participant, by->kernel),
				   .allocation = supervisor_allocation(s, f->address), .by = *by, .address = f->address,
				   .value = f->waits.value, .known = f->waits.known != 0, .times = f->waits.times, .since = since ? since : now, .last = now};
}

void supervisor_waits_leave(struct supervisor *s, uint32_t participant)
{
	const uint64_t now = (uint64_t)now_ms();
	uint32_t kept = 0;
	for (uint32_t i = 0; i < s->waits; i++) {
		struct wait w = s->wait[i];
		int its = w.owner == s->owner[participant] && !w.left;
		if (its && waits_over(s, &w, now))
			continue;
		w.left |= its;
		s->wait[kept++] = w;
	}
	s->waits = kept;
}

static void waits_add(const struct supervisor *s, struct report *r, const struct wait *w)
{
	char unnamed[SUPERVISOR_UNNAMED];
	struct report_wait to = {.address = w->address, .value_known = w->known, .value = w->value, .times = w->times};
	supervisor_side(s, &to.side, &w->by, w->kernel, w->owner, unnamed);
	if (w->allocation)
		to.allocation = supervisor_part(s, w->allocation, w->address);
	report_append_wait(r, &to);
}

void supervisor_waits_report(const struct supervisor *s, struct report *r)
{
	const uint64_t now = (uint64_t)now_ms();
	for (uint32_t i = 0; i < s->waits; i++) {
		const struct wait *w = &s->wait[i];
		const struct report_rank *rank = &r->rank[supervisor_owner_rank(s, w->owner)];
		int well = rank->end == REPORT_EXITED && !rank->status;
		if (!well && (w->left || !waits_over(s, w, now)))
			waits_add(s, r, w);
	}
	if (r->waits)
		r->waits_unlisted += s->waits_lost;
}
