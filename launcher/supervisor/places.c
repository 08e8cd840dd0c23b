/* The places in the job (job.h): which one a process gets, and when one that a process left may be another's. Launches are named by place
 * and number: by line records, by clocks, by what processes know of each other. So a new process's numbers go on behind those of the one
 * before; and as long as a process that runs has mapped anything of the old one's, or has memory with records that name it, its place stays
 * empty. Of that the supervisor knows by the handles that it passes on. */
#include <errno.h>
#include <string.h>

#include "supervisor/state.h"

#define PLACES_SHORT 8u        /* fewer than that are left: those who can give some up have time to do so (vmm/forget.c) */
#define PLACES_NUMBERS (1u << 31) /* of launches; who came so far leaves its place to nobody */

/* ---- who has something of whom ----------------------------------------------------------------------------------- */

/* What p is to give up once these have left: what it has mapped, what left records in its memory, and in that of those who left before. */
static uint32_t places_names(const struct supervisor *s, uint32_t p)
{
	uint32_t names = s->place[p].maps | s->place[p].records;
	for (uint32_t left = s->place[p].maps; left; left &= left - 1)
		if (s->place[__builtin_ctz(left)].state == JOB_LEFT)
			names |= s->place[__builtin_ctz(left)].records;
	return names & ~(1u << p);
}

static void places_tell(const struct supervisor *s)
{
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		if (s->place[p].state == JOB_JOINED)
			atomic_store_explicit(&s->job->rank[p].names, places_names(s, p), memory_order_release); /* partner: forget_gone() */
}

void supervisor_place_maps(struct supervisor *s, uint32_t p, uint32_t q)
{
	s->place[p].maps |= 1u << q;
	places_tell(s);
}

/* Kernels of p may leave records in memory of q's. */
void supervisor_place_touches(struct supervisor *s, uint32_t p, uint32_t q)
{
	if (p >= GSAN_PARTICIPANTS) /* unchecked */
		return;
	s->place[q].records |= 1u << p;
	places_tell(s);
}

static int places_named(const struct supervisor *s, uint32_t q)
{
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		if (s->place[p].state == JOB_JOINED && places_names(s, p) >> q & 1)
			return 1;
	return broker_has_tokens(s->broker, q);
}

/* ---- which one is free ------------------------------------------------------------------------------------------- */

static uint32_t places_next(const struct supervisor *s, uint32_t p)
{
	const uint32_t next = atomic_load_explicit(&s->job->rank[p].next, memory_order_relaxed);
	return next < PLACES_NUMBERS ? job_first_next(s->place[p].first, next, s->rank_bits, p) : PLACES_NUMBERS;
}

/* May a process of that rank have it? */
static int places_is_there(const struct supervisor *s, uint32_t p, int rank)
{
	const uint32_t size = s->config.size;
	const int reserved = p < size && (int)p != rank && !(rank < 0 && size == 1);
	return supervisor_place(s, p) < s->places && !reserved;
}

static int places_is_free(const struct supervisor *s, uint32_t p, enum job_state state)
{
	return s->place[p].state == state && (state == JOB_FREE || (!places_named(s, p) && places_next(s, p) < PLACES_NUMBERS));
}

/* A rank's first GPU takes the rank's number, so that numbers do not depend on who starts first. Further processes and
 * GPUs take what no rank will ask for, and only then what an earlier process left. */
static int places_find(const struct supervisor *s, int rank, uint32_t *place)
{
	static const enum job_state wanted[] = {JOB_FREE, JOB_LEFT};
	if (rank >= 0 && rank < (int)s->config.size && s->place[rank].state == JOB_FREE) {
		*place = (uint32_t)rank;
		return 0;
	}
	for (size_t i = 0; i < 2; i++)
		for (uint32_t n = 0; n < GSAN_PARTICIPANTS; n++) {
			const uint32_t p = supervisor_participant(s, n);
			if (places_is_there(s, p, rank) && places_is_free(s, p, wanted[i])) {
				*place = p;
				return 0;
			}
		}
	return -ENOSPC;
}

/* Says whether places are short. */
static void places_count(struct supervisor *s)
{
	uint32_t left = 0, most = s->places / 4;
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		left += places_is_there(s, p, (int)s->config.size) && (places_is_free(s, p, JOB_FREE) || places_is_free(s, p, JOB_LEFT));
	atomic_store_explicit(&s->job->wanted, left < (most < 1 ? 1 : most < PLACES_SHORT ? most : PLACES_SHORT), memory_order_relaxed);
}

void supervisor_place_forgets(struct supervisor *s, uint32_t p, uint32_t gone)
{
	for (uint32_t left = gone; left; left &= left - 1)
		if (s->place[__builtin_ctz(left)].state == JOB_LEFT) {
			s->place[p].maps &= ~(1u << __builtin_ctz(left));
			s->place[p].records &= ~(1u << __builtin_ctz(left));
		}
	places_tell(s);
	places_count(s);
}

/* ---- coming and going -------------------------------------------------------------------------------------------- */

static int places_others(const struct supervisor *s, uint32_t p)
{
	int any = 0;
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		any |= q != p && s->place[q].state == JOB_JOINED;
	return any;
}

static void places_keep_numbers(const struct job_rank *rank, struct report_rank *past, uint64_t *past_foreign)
{
	past->launches_checked += atomic_load_explicit(&rank->launches_checked, memory_order_relaxed);
	past->launches_unchecked += atomic_load_explicit(&rank->launches_unchecked, memory_order_relaxed);
	past->launches_left_out += atomic_load_explicit(&rank->launches_left_out, memory_order_relaxed);
	past->copies_checked += atomic_load_explicit(&rank->copies_checked, memory_order_relaxed);
	past->copies_unchecked += atomic_load_explicit(&rank->copies_unchecked, memory_order_relaxed);
	past->launches_uncounted += atomic_load_explicit(&rank->launches_checked, memory_order_relaxed) -
				    atomic_load_explicit(&rank->launches_counted, memory_order_relaxed);
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		past->counter[i] += atomic_load_explicit(&rank->counter[i], memory_order_relaxed);
	past->counter[GSAN_N_DROPPED] += rank->ring.dropped;
	for (int i = 0; i < JOB_FOREIGNS; i++)
		past_foreign[i] += atomic_load_explicit(&rank->foreign_bytes[i], memory_order_relaxed);
}

/* The slot's last owner is gone, its numbers are kept with its rank; its kernels' ids mean nothing to the next owner. */
static void places_clear(struct supervisor *s, uint32_t p)
{
	struct job_rank *rank = &s->job->rank[p];
	uint32_t first = places_next(s, p);
	int of = supervisor_owner_rank(s, s->owner[p]);
	supervisor_drain(s, 0);
	supervisor_believe_of(s, p);
	supervisor_told_leave(s, p);
	supervisor_owner_look(s, p);
	places_keep_numbers(rank, &s->past[of], s->past_foreign[of]);
	const uint32_t generation = atomic_load_explicit(&rank->clock.generation, memory_order_relaxed);
	uint32_t before[GSAN_PARTICIPANTS];
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		before[q] = q == p ? 0 : atomic_load_explicit(&rank->clock.before[q], memory_order_relaxed);
	memset(rank, 0, sizeof *rank);
	s->place[p].first = first;
	s->place[p].maps = s->place[p].records = 0;
	/* Peers that know the last owner's clock of some generation have not read the next one's. */
	atomic_store_explicit(&rank->clock.generation, generation + 1, memory_order_relaxed);
	atomic_store_explicit(&rank->first, first, memory_order_relaxed);
	atomic_store_explicit(&rank->next, first, memory_order_relaxed);
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		atomic_store_explicit(&rank->clock.before[q], before[q], memory_order_relaxed);
	if (!s->refused && !places_others(s, p)) { /* whose running launches may come behind what the last owner wrote */
		s->job->writers.streams[p] = 0;
		memset(s->job->writers.newest[p], 0, sizeof s->job->writers.newest[p]);
	}
}

int supervisor_place_take(struct supervisor *s, int rank, uint32_t *place)
{
	uint32_t p;
	int rc = places_find(s, rank, &p);
	if (rc)
		return rc;
	if (s->place[p].state == JOB_LEFT)
		places_clear(s, p);
	*place = p;
	return 0;
}

void supervisor_place_joined(struct supervisor *s, uint32_t p)
{
	s->place[p].state = JOB_JOINED;
	if (s->participants <= p)
		s->participants = p + 1;
	atomic_store_explicit(&s->job->participants, s->participants, memory_order_release);
	atomic_store_explicit(&s->job->rank[p].state, JOB_JOINED, memory_order_release);
	places_count(s);
	job_changed(s->job);
}

void supervisor_place_left(struct supervisor *s, uint32_t p)
{
	s->place[p].state = JOB_LEFT;
	atomic_store_explicit(&s->job->rank[p].state, JOB_LEFT, memory_order_release);
	broker_leave(s->broker, p);
	places_tell(s);
	places_count(s);
	job_changed(s->job);
}
