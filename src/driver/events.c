/* Launches that may order anything: the record of them that the process keeps in the job's memory (job.h, struct job_event). It has no
 * end: when the table is full, adjacent ones become one record, which says of their numbers and times only from where to where they lie. So
 * it may order more than they did, never less. */
#include "driver/flow.h"

static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER; /* who writes there */

/* Of another GPU: before everything, or behind everything. Neither becomes part of another record, nor ends. */
static int event_everywhere(const struct job_event *e) { return e->first == 0 || e->last == UINT32_MAX; }

/* ---- merging ------------------------------------------------------------------------------------------------- */

/* The records that the next one of a sort may join: their place + 1, 0 = none. Barriers go with the barrier before, for the supervisor
 * counts them in their order; other kernels that are over with any such; those that are not with their stream's, which ends in order. */
struct events_near { uint32_t barrier, over, open[GSAN_STREAMS]; };

static uint32_t *events_near(struct events_near *near, const struct job_event *e)
{
	return e->kind == JOB_EVENT_BARRIER ? &near->barrier : e->ended ? &near->over : &near->open[e->stream];
}

static void event_join(struct job_event *to, const struct job_event *e)
{
	to->first = e->first < to->first ? e->first : to->first;
	to->last = e->last > to->last ? e->last : to->last;
	to->count += e->count;
	to->begun = e->begun < to->begun ? e->begun : to->begun;
	to->mixed |= e->mixed || (to->stream != e->stream && !(to->ended && e->ended)); /* of barriers alone: events_near() */
	to->ended = !to->ended || !e->ended ? 0 : e->ended > to->ended ? e->ended : to->ended;
}

/* Fills `to` with what from[0 .. n) says, and returns how many records that makes. Those with no launch between them become one, by which
 * nothing is lost; those before place `old`, too, two by two. Each stream's newest stays as it is: its launch may still be refused. */
static uint32_t events_merge(struct job_event *to, const struct job_event *from, uint32_t n, uint32_t old)
{
	struct events_near near = {0};
	uint32_t newest[GSAN_STREAMS] = {0}, kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!event_everywhere(&from[i]))
			newest[from[i].stream] = i;
	for (uint32_t i = 0; i < n; i++) {
		struct job_event e = job_event_get(&from[i]), joined = {0};
		uint32_t *at = events_near(&near, &e);
		if (!e.count)
			continue;
		if (*at)
			joined = job_event_get(&to[*at - 1]);
		int alone = event_everywhere(&e) || i == newest[e.stream], next = joined.last + 1 == e.first;
		if (*at && !alone && (next || i < old)) {
			event_join(&joined, &e);
			job_event_put(&to[*at - 1], &joined);
			*at = next ? *at : 0;
		} else {
			job_event_put(&to[kept++], &e);
			*at = alone ? 0 : kept;
		}
	}
	return kept;
}

/* The full table becomes one of three quarters or less, but for what goes together with none: one of each sort, and the newest ones. What
 * is lost is lost of the older half, so that the newer is exact. */
_Static_assert(JOB_EVENTS / 4 > 3 * GSAN_STREAMS + 4, "there is room for another one then");
static uint64_t events_make_room(struct flow *f, uint64_t events)
{
	uint32_t turn = JOB_EVENTS_TURN(events), kept;
	struct job_event *to = f->rank->event[(turn + 1) & 1];
	const struct job_event *from = f->rank->event[turn & 1];

	/* Partner: the supervisor's acquire fence. Who reads what is written from here on as of the turn before this one sees that it is over. */
	atomic_thread_fence(memory_order_release);
	kept = events_merge(to, from, JOB_EVENTS, 0);
	if (kept > JOB_EVENTS / 4 * 3)
		kept = events_merge(to, from, JOB_EVENTS, JOB_EVENTS / 2);
	events = (uint64_t)(turn + 1) << 32 | kept;
	atomic_store_explicit(&f->rank->events, events, memory_order_release);
	f->events_open = 0;
	return events;
}

/* ---- launches begin, are refused, and end -------------------------------------------------------------------- */

void flow_event(struct flow *f, enum job_event_kind kind, uint32_t slot, uint32_t seq)
{
	struct job_rank *rank = f->rank;

	pthread_mutex_lock(&events_lock);
	uint64_t events = atomic_load_explicit(&rank->events, memory_order_relaxed);
	if (JOB_EVENTS_NUMBER(events) == JOB_EVENTS)
		events = events_make_room(f, events);
	const struct job_event e = {.first = seq, .last = seq, .count = 1, .kind = (uint8_t)kind, .stream = (uint8_t)slot, .begun = flow_now()};
	job_event_put(&rank->event[JOB_EVENTS_TURN(events) & 1][JOB_EVENTS_NUMBER(events)], &e);
	/* Partner: the supervisor's acquire load of `events`. */
	atomic_store_explicit(&rank->events, events + 1, memory_order_release);
	pthread_mutex_unlock(&events_lock);
}

/* It is one of the last few, and a record of its own (events_merge). A reader that came before it withholds. */
void flow_event_take_back(struct flow *f, uint32_t seq)
{
	pthread_mutex_lock(&events_lock);
	uint64_t events = atomic_load_explicit(&f->rank->events, memory_order_relaxed);
	struct job_event *e = &f->rank->event[JOB_EVENTS_TURN(events) & 1][JOB_EVENTS_NUMBER(events) - 1];
	while (e->first != seq || e->last != seq)
		e--;
	__atomic_store_n(&e->count, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&events_lock);
}

void flow_events_end(struct flow *f)
{
	struct job_rank *rank = f->rank;
	uint64_t now = flow_now();

	pthread_mutex_lock(&events_lock);
	uint64_t events = atomic_load_explicit(&rank->events, memory_order_relaxed);
	struct job_event *table = rank->event[JOB_EVENTS_TURN(events) & 1];
	for (uint32_t i = f->events_open; i < JOB_EVENTS_NUMBER(events); i++) {
		struct job_event *e = &table[i];
		int ends = e->count && !e->mixed && !event_everywhere(e);
		if (ends && !e->ended && e->last <= atomic_load_explicit(&rank->clock.stream[e->stream], memory_order_relaxed))
			__atomic_store_n(&e->ended, now, __ATOMIC_RELAXED); /* alone: too late a look withholds */
		if (i == f->events_open && (!ends || e->ended))
			f->events_open++;
	}
	pthread_mutex_unlock(&events_lock);
}
