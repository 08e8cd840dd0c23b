/* What the device cannot see may order two accesses: a kernel of a library that synchronises (BARRIER, from the table of
 * models) or may (OPAQUE), or a value that a stream writes, where such a kernel or a host reads it, or what a kernel itself
 * writes where a host reads. Each participant lists these (job.h; the last, its GPU); here they are held against a pair of
 * accesses, launch `a` of participant p first and launch `b` second, before anyone calls it a race. What a host puts behind `a`
 * may be `b`, or a launch that `b` acquired something from: one of a participant r, with a number up to a bound. */
#include "supervisor/state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The record of one participant's launches, as it was at some moment: its process may merge records meanwhile (job.h). */
struct belief_events { const struct job_event *at; uint32_t number, turn; };

static struct belief_events belief_events(const struct job_rank *rank)
{
	uint64_t events = atomic_load_explicit(&rank->events, memory_order_acquire); /* pairs with the owner's release store */
	uint32_t n = JOB_EVENTS_NUMBER(events), turn = JOB_EVENTS_TURN(events);
	return (struct belief_events){rank->event[turn & 1], n < JOB_EVENTS ? n : JOB_EVENTS, turn};
}

/* What was read of it may be of two moments: to be asked again. */
static int belief_moved(const struct job_rank *rank, const struct belief_events *events)
{
	atomic_thread_fence(memory_order_acquire); /* pairs with the owner's release fence */
	return JOB_EVENTS_TURN(atomic_load_explicit(&rank->events, memory_order_relaxed)) != events->turn;
}

static int belief_counts(const struct job_event *e, enum job_event_kind kind) { return e->kind == kind && e->count; }

/* Of merged launches `sure` asks whether all of them lie behind (or before) another one; else, whether any may. */
static uint32_t belief_from(const struct job_event *e, int sure) { return sure ? e->first : e->last; }
static uint32_t belief_to(const struct job_event *e, int sure) { return sure ? e->last : e->first; }

/* Launches m that may be before b, or b itself, by what hosts do: one that they put behind a is before b then. The newest of
 * participant r, 0: none is. */
static uint32_t belief_bound(const struct gsan_finding *f, uint32_t r)
{
	const struct gsan_side *a = &f->first, *b = &f->second;
	int itself = r == b->participant && (r != a->participant || a->seq != b->seq);
	return itself && b->seq > f->newest[r] ? b->seq : f->newest[r];
}

/* By calls under way that may bring a host what is on a device it may have read, before it launches from that number of r's on, any value
 * that was there before; UINT32_MAX: there are none. Asked first: once there are none the values themselves say it. */
static uint32_t belief_brought(const struct job *job, uint32_t r)
{
	uint32_t from = UINT32_MAX;
	for (uint32_t q = 0; q < job->participants && q < GSAN_PARTICIPANTS; q++) {
		const struct job_bringing *b = &job->rank[q].bringing;
		if (!atomic_load_explicit(&b->calls, memory_order_acquire)) /* pairs with the owner's release */
			continue;
		uint32_t seen = atomic_load_explicit(&b->seen[r], memory_order_relaxed);
		from = seen < from ? seen : from;
	}
	return from;
}

/* A stream of p wrote a value after p's access: a host may have read it before it launched one of r's up to `bound`; or else nobody
 * has whose reading goes unseen, but for kernels of unknown effect: that is told by *written. */
static int belief_signal(const struct job *job, const struct job_rank *p, uint32_t a, uint32_t r, uint32_t bound, int *written)
{
	uint32_t brought = belief_brought(job, r), n = atomic_load_explicit(&p->signals, memory_order_acquire); /* pairs with the owner's release store */
	for (uint32_t i = 0; i < n && i < JOB_SIGNALS; i++) {
		const struct job_signal *s = &p->signal[i];
		if (atomic_load_explicit(&s->seq, memory_order_relaxed) <= a)
			continue;
		*written = 1;
		if (brought <= bound || atomic_load_explicit(&s->seen[r], memory_order_relaxed) <= bound)
			return 1;
	}
	return 0;
}

/* The place of the first range of launches that end at `seq` or later. */
static size_t told_from(const struct told *t, uint32_t seq)
{
	size_t low = 0, high = t->ranges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->range[middle].last < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The list with room for one more element, or NULL: then it is as it was. */
static void *told_grow(void *list, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 16;
	void *grown = count < *room ? list : realloc(list, more * size);
	if (grown && count == *room)
		*room = more;
	return grown;
}

void supervisor_told(struct supervisor *s, const struct gsan_side *by, uint32_t given)
{
	struct told *t = &s->told[by->participant][by->stream];
	uint32_t seq = by->seq;
	size_t at = told_from(t, seq), n = t->ranges;
	given = given > seq + 1 && n < TOLD_APART ? given : 0;
	int below = at && t->range[at - 1].last + 1 == seq && t->range[at - 1].given == given;
	int above = at < n && t->range[at].first == seq + 1 && t->range[at].given == given;
	if (t->all || (at < n && t->range[at].first <= seq))
		return;
	if (below && above) {
		t->range[at - 1].last = t->range[at].last;
		memmove(&t->range[at], &t->range[at + 1], (n - at - 1) * sizeof *t->range);
		t->ranges--;
	} else if (below) {
		t->range[at - 1].last = seq;
	} else if (above) {
		t->range[at].first = seq;
	} else {
		struct told_range *grown = told_grow(t->range, n, &t->room, sizeof *grown);
		if (!grown) {
			t->all = 1;
			return;
		}
		t->range = grown;
		memmove(&grown[at + 1], &grown[at], (n - at) * sizeof *grown);
		grown[at] = (struct told_range){seq, seq, given};
		t->ranges++;
	}
}

void supervisor_told_free(struct supervisor *s, uint32_t p)
{
	for (uint32_t stream = 0; stream < GSAN_STREAMS; stream++) {
		free(s->told[p][stream].range);
		s->told[p][stream] = (struct told){0};
	}
}

/* Of p's moments the last one at which `seq` had not been given out yet: its launch came later. 0: not known. */
static uint64_t belief_launched(const struct job_rank *p, uint32_t seq)
{
	uint32_t low = 0, high = atomic_load_explicit(&p->moments, memory_order_acquire); /* pairs with the owner's release store */
	for (high = high < JOB_MOMENTS ? high : JOB_MOMENTS; low < high;) {
		uint32_t middle = low + (high - low) / 2;
		if (p->moment[middle].next <= seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? p->moment[low - 1].from : 0;
}

/* No launch of q below this number was launched at that time or later. */
static uint32_t belief_next(const struct job_rank *q, uint64_t time)
{
	uint32_t low = 0, high = atomic_load_explicit(&q->moments, memory_order_acquire); /* pairs with the owner's release store */
	for (high = high < JOB_MOMENTS ? high : JOB_MOMENTS; low < high;) {
		uint32_t middle = low + (high - low) / 2;
		if (q->moment[middle].until <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? q->moment[low - 1].next : 0;
}

/* What those told who have left p's place to another one: from when their first such kernel was launched, until now. */
void supervisor_told_leave(struct supervisor *s, uint32_t p)
{
	const struct job_rank *rank = &s->job->rank[p];
	struct told_past *past = &s->told_past;
	struct told_span gone = {.from = UINT64_MAX};
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	gone.until = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (uint32_t stream = 0; stream < GSAN_STREAMS; stream++) {
		const struct told *t = &s->told[p][stream];
		int all = t->all || rank->ring.told_lost;
		uint64_t from = all ? 0 : t->ranges ? belief_launched(rank, t->range[0].first) : UINT64_MAX;
		gone.from = from < gone.from ? from : gone.from;
	}
	supervisor_told_free(s, p);
	if (gone.from == UINT64_MAX)
		return;
	struct told_span *grown = told_grow(past->span, past->spans, &past->room, sizeof *grown);
	if (!grown) {
		past->all = 1;
		return;
	}
	past->span = grown;
	grown[past->spans++] = gone;
}

/* By the launches told of, from the at-th range on, with numbers from `by` to `last`, before one of p's own up to `bound` was given its number? */
static int belief_told_from(const struct told *t, size_t at, uint32_t by, uint32_t last, uint32_t bound)
{
	for (; at < t->ranges && by <= last && by < bound; by = t->range[at].last + 1, at++) {
		const struct told_range *range = &t->range[at];
		by = by < range->first ? range->first : by;
		if (by <= last && (range->given > by ? range->given - 1 : by) < bound)
			return 1;
	}
	return 0;
}

/* May a host have been told by a kernel of participant p's stream that a is done, before it launched one of r's up to `bound`? By none
 * that is before a, and none that was launched behind that one, or before it began: within one process numbers say so, between two the times
 * of the launches. Of b's stream only b itself: what is before it there need not tell. */
static int belief_told_by(const struct supervisor *s, uint32_t p, uint32_t stream, const struct gsan_finding *f, uint32_t r,
			  uint32_t bound)
{
	const struct gsan_side *a = &f->first, *b = &f->second;
	const struct told *t = &s->told[p][stream];
	const struct job_rank *rank = &s->job->rank[p];
	int one_stream = stream != GSAN_STREAMS - 1; /* which others share */
	int of_b = one_stream && p == b->participant && stream == b->stream;
	uint32_t by = f->floor[p], lost = t->all || rank->ring.told_lost;
	if (one_stream && p == a->participant && stream == a->stream && by < a->seq)
		by = a->seq;
	if (of_b && by < b->seq)
		by = b->seq;
	size_t at = told_from(t, by);
	if (!lost && at == t->ranges)
		return 0;
	if (!lost && by < t->range[at].first)
		by = t->range[at].first;
	if (of_b && by > b->seq)
		return 0;
	if (p == r)
		return lost ? by < bound : belief_told_from(t, at, by, of_b ? b->seq : UINT32_MAX, bound);
	return bound >= belief_next(&s->job->rank[r], belief_launched(rank, by));
}

/* The same of processes that have left their place: what was launched once they were gone they have not told of. */
static int belief_told_once(const struct supervisor *s, const struct gsan_side *a, uint32_t r, uint32_t bound)
{
	const struct told_past *past = &s->told_past;
	uint64_t launched = belief_launched(&s->job->rank[a->participant], a->seq);
	for (size_t i = 0; i < past->spans; i++)
		if (launched < past->span[i].until && bound >= belief_next(&s->job->rank[r], past->span[i].from))
			return 1;
	return past->all;
}

/* Newest launch of participant p that was given its number by now; 0: none was. */
uint32_t supervisor_given(const struct supervisor *s, uint32_t p)
{
	uint32_t given = __atomic_load_n(&s->job->rank[p].ring.given, __ATOMIC_RELAXED);
	return given ? given - 1 : 0;
}

/* The second access was executed before a store behind it, and checked after: if that told a host something, the host may have launched by then what
 * the first access comes behind. Of the second's participant it had given numbers up to `launched` when the finding came. */
int supervisor_told_before(const struct supervisor *s, const struct gsan_finding *f, uint32_t launched)
{
	const struct gsan_side *b = &f->second;
	const struct job_rank *rank = &s->job->rank[b->participant];
	const struct told *t = &s->told[b->participant][b->stream];
	size_t at = told_from(t, b->seq);
	int lost = t->all || rank->ring.told_lost;
	if (!lost && (at == t->ranges || t->range[at].first > b->seq))
		return 0;
	if (lost ? b->seq < launched : belief_told_from(t, at, b->seq, b->seq, launched))
		return 1;
	uint64_t began = belief_launched(rank, b->seq);
	for (uint32_t r = 0; r < s->participants; r++) {
		uint32_t given = r == b->participant ? 0 : supervisor_given(s, r);
		if (given && given >= belief_next(&s->job->rank[r], began))
			return 1;
	}
	return 0;
}

static int belief_told(const struct supervisor *s, const struct gsan_finding *f, uint32_t r, uint32_t bound)
{
	for (uint32_t p = 0; p < s->participants; p++)
		for (uint32_t stream = 0; stream < GSAN_STREAMS; stream++)
			if (belief_told_by(s, p, stream, f, r, bound))
				return 1;
	return belief_told_once(s, &f->first, r, bound);
}

/* When the first unknown kernel behind a was told to run, UINT64_MAX: there is none. */
static uint64_t belief_begun(const struct job_rank *p, uint32_t a, int sure)
{
	struct belief_events events;
	uint64_t begun;
	do {
		events = belief_events(p);
		begun = UINT64_MAX;
		for (uint32_t i = 0; i < events.number; i++) {
			struct job_event e = job_event_get(&events.at[i]);
			if (belief_counts(&e, JOB_EVENT_OPAQUE) && belief_from(&e, sure) >= a && e.begun < begun)
				begun = e.begun;
		}
	} while (belief_moved(p, &events));
	return begun;
}

/* Is there one before b that was not over at that time? With `written` a barrier is as good. */
static int belief_running(const struct job_rank *q, uint32_t b, uint64_t begun, int written, int sure)
{
	struct belief_events events;
	int any;
	do {
		events = belief_events(q);
		any = 0;
		for (uint32_t i = 0; i < events.number && !any; i++) {
			struct job_event e = job_event_get(&events.at[i]);
			int reads = belief_counts(&e, JOB_EVENT_OPAQUE) || (written && belief_counts(&e, JOB_EVENT_BARRIER));
			any = reads && (!e.ended || e.ended > begun) && belief_to(&e, sure) <= b;
		}
	} while (belief_moved(q, &events));
	return any;
}

/* Something unknown ran after p's access, or a stream wrote a value (`written`), and something unknown before one of q's up to `b`:
 * together they may be a handshake, unless this was over, as a host has seen, before that was told to run, or the access itself. */
static int belief_opaque(const struct job_rank *p, uint32_t a, const struct job_rank *q, uint32_t b, int written, int sure)
{
	uint64_t begun = written ? belief_launched(p, a) : belief_begun(p, a, sure);
	return begun != UINT64_MAX && belief_running(q, b, begun, written, sure);
}

/* Which of p's barriers is the first behind a, from 1; of merged ones the first may be, or none is surely. UINT32_MAX: none. */
static uint32_t belief_first_barrier(const struct job_rank *p, uint32_t a, int sure)
{
	struct belief_events events;
	uint32_t before, found;
	do {
		events = belief_events(p);
		before = found = 0;
		for (uint32_t i = 0; i < events.number && !found; i++) {
			struct job_event e = job_event_get(&events.at[i]);
			if (!belief_counts(&e, JOB_EVENT_BARRIER))
				continue;
			found = belief_from(&e, sure) > a;
			before += found ? 0 : e.count;
		}
	} while (belief_moved(p, &events));
	return found ? before + 1 : UINT32_MAX;
}

static uint32_t belief_barriers(const struct job_rank *q, uint32_t b, int sure)
{
	struct belief_events events;
	uint32_t before;
	do {
		events = belief_events(q);
		before = 0;
		for (uint32_t i = 0; i < events.number; i++) {
			struct job_event e = job_event_get(&events.at[i]);
			before += belief_counts(&e, JOB_EVENT_BARRIER) && belief_to(&e, sure) < b ? e.count : 0;
		}
	} while (belief_moved(q, &events));
	return before;
}

/* All participants run the same barriers in the same order. p's first barrier after a is its k-th; q cannot have passed
 * its own k-th before p reached that one. So q having k barriers before b means: a is before b. */
static int belief_barrier(const struct job_rank *p, uint32_t a, const struct job_rank *q, uint32_t b, int sure)
{
	uint32_t k = belief_first_barrier(p, a, sure);
	return k != UINT32_MAX && belief_barriers(q, b, sure) >= k;
}

/* A function that one of p's streams called, and behind which b may be: may it have waited for a? It has for what a host had seen the end of, and for
 * whatever other participants had launched. What kernels tell, and values, b comes behind like what was launched when it returned: that raises the bounds. */
static int belief_call(const struct supervisor *s, uint32_t p, const struct job_call *c, const struct gsan_finding *f, uint32_t *bound)
{
	const struct gsan_side *a = &f->first;
	int behind = 0, own = a->participant == p;
	if (!atomic_load_explicit(&c->over, memory_order_acquire)) /* pairs with the owner's release store */
		return 0;
	for (uint32_t r = 0; r < s->participants && !behind; r++) {
		uint32_t newest = belief_bound(f, r);
		behind = newest && newest >= atomic_load_explicit(&c->from[r], memory_order_relaxed);
	}
	for (uint32_t r = 0; behind && r < s->participants; r++) {
		uint32_t given = atomic_load_explicit(&c->given[r], memory_order_relaxed);
		if (bound[r] < given) /* as the next that is launched then */
			bound[r] = given;
	}
	int shared = a->stream == GSAN_STREAMS - 1;
	uint32_t below = atomic_load_explicit(own && !shared ? &c->floor : &c->given[a->participant], memory_order_relaxed);
	return behind && (a->seq < below || (own && !shared && a->seq <= atomic_load_explicit(&c->seen[a->stream], memory_order_relaxed)));
}

/* The last place is looked at last: what has given up another one's it says before that one says anything else. */
static int belief_called(const struct supervisor *s, const struct gsan_finding *f, uint32_t *bound)
{
	int waited = 0;
	for (uint32_t r = 0; r < s->participants; r++)
		bound[r] = belief_bound(f, r);
	for (uint32_t p = 0; p < s->participants; p++)
		for (uint32_t i = 0; i <= JOB_CALLS && !waited; i++) {
			atomic_thread_fence(memory_order_acquire); /* pairs with the owner's release fence */
			waited = belief_call(s, p, &s->job->rank[p].call[i], f, bound);
		}
	return waited;
}

static enum belief belief_as(const struct supervisor *s, const struct gsan_finding *f, int sure)
{
	uint32_t bounds[GSAN_PARTICIPANTS];
	const struct job *job = s->job;
	const struct gsan_side *a = &f->first, *b = &f->second;
	const struct job_rank *p = &job->rank[a->participant];
	if (a->participant != b->participant && belief_barrier(p, a->seq, &job->rank[b->participant], b->seq, sure))
		return BELIEF_ORDERED;
	if (belief_called(s, f, bounds))
		return BELIEF_WITHHELD;
	for (uint32_t r = 0; r < s->participants; r++) {
		uint32_t bound = bounds[r];
		int written = 0;
		if (bound && (belief_signal(job, p, a->seq, r, bound, &written) || belief_told(s, f, r, bound) ||
			      belief_opaque(p, a->seq, &job->rank[r], bound, written, sure) ||
			      (r != a->participant && belief_barrier(p, a->seq, &job->rank[r], bound, sure))))
			return BELIEF_WITHHELD;
	}
	return BELIEF_RACE;
}

static enum belief belief_in_order(const struct supervisor *s, const struct gsan_finding *f)
{
	enum belief surely = belief_as(s, f, 1);
	if (surely != BELIEF_RACE)
		return surely;
	return belief_as(s, f, 0) == BELIEF_RACE ? BELIEF_RACE : BELIEF_MERGED;
}

enum belief supervisor_believe(const struct supervisor *s, const struct gsan_finding *f, int late)
{
	enum belief belief = belief_in_order(s, f);
	if (belief != BELIEF_RACE || !late)
		return belief;
	struct gsan_finding other = *f;
	other.first = f->second;
	other.second = f->first;
	return belief_in_order(s, &other);
}
