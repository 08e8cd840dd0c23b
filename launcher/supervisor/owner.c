/* The processes that have, or had, a place among the participants, and the GPUs that they are on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/state.h"

/* Where a GPU stands in the list, or may: a place's own, if that is free. */
static uint32_t owner_gpu_find(const struct supervisor *s, uint32_t place, const char *bus)
{
	for (uint32_t i = 0; i < GSAN_PARTICIPANTS; i++)
		if (!strcmp(s->gpu[i].bus, bus))
			return i;
	for (uint32_t i = 0; s->gpu[place].bus[0] && i < GSAN_PARTICIPANTS; i++)
		if (!s->gpu[i].bus[0])
			return i;
	return place; /* else there are more than a node has */
}

/* A GPU keeps its number while the job runs: launches name it (layout.h), and places go from one process to another. */
static uint32_t owner_gpu(struct supervisor *s, uint32_t place, const char *bus)
{
	char own[sizeof s->gpu[0].bus];
	snprintf(own, sizeof own, "%s", bus);
	if (!*bus) /* not known: another one than all others */
		snprintf(own, sizeof own, "#%u", place);
	uint32_t g = owner_gpu_find(s, place, own);
	struct gpu *gpu = &s->gpu[g];
	if (strcmp(gpu->bus, own) || place < gpu->place) {
		gpu->place = place;
		gpu->since = s->owners_count;
	}
	memcpy(gpu->bus, own, sizeof own);
	return g;
}

/* The number of a participant among those that there are: behind the ranks' come the guests, those with few tags last (layout.h). */
uint32_t supervisor_place(const struct supervisor *s, uint32_t participant)
{
	const uint32_t ranks = gsan_rank_places(s->rank_bits);
	return participant < ranks ? participant : participant < GSAN_GUEST ? participant + GSAN_GUEST : participant - GSAN_GUEST + ranks;
}

uint32_t supervisor_participant(const struct supervisor *s, uint32_t place)
{
	const uint32_t ranks = gsan_rank_places(s->rank_bits);
	return place < ranks ? place : place < ranks + GSAN_GUEST ? place - ranks + GSAN_GUEST : place - GSAN_GUEST;
}

int supervisor_owner_join(struct supervisor *s, uint32_t participant, int rank, int pid, const char *bus)
{
	struct owner *o = calloc(1, sizeof *o);
	if (!o)
		return -ENOMEM;
	s->owners_count++;
	*o = (struct owner){.participant = participant, .rank = rank, .pid = pid, .first = s->place[participant].first, .next = s->owners};
	snprintf(o->gpu_bus, sizeof o->gpu_bus, "%s", bus);
	o->gpu = owner_gpu(s, supervisor_place(s, participant), bus);
	s->owners = s->owner[participant] = o;
	return 0;
}

void supervisor_owner_look(struct supervisor *s, uint32_t participant)
{
	const struct job_rank *from = &s->job->rank[participant];
	struct owner *o = s->owner[participant];
	if (!o)
		return;
	memcpy(o->gpu_name, from->gpu_name, sizeof from->gpu_name - 1); /* the program may have written over its end */
	o->branches = atomic_load_explicit(&from->branches, memory_order_relaxed);
}

void supervisor_owners_free(struct supervisor *s)
{
	for (struct owner *o = s->owners, *next; o; o = next) {
		next = o->next;
		free(o);
	}
}

int supervisor_owner_rank(const struct supervisor *s, const struct owner *o)
{
	if (o->rank >= 0 && o->rank < (int)s->config.size)
		return o->rank;
	return o->participant < s->config.size ? (int)o->participant : 0;
}

/* Has it had its lowest place before the others that had the same one? */
static int owner_gpu_first(const struct supervisor *s, const struct gpu *gpu)
{
	for (uint32_t i = 0; i < GSAN_PARTICIPANTS; i++)
		if (s->gpu[i].bus[0] && s->gpu[i].place == gpu->place && s->gpu[i].since < gpu->since)
			return 0;
	return 1;
}

/* What reports call a GPU does not depend on who came first: the lowest place that a process on it has had. Of several which had the same
 * one, one after the other, the first is called so; the others have the numbers from there on that no place gives. */
int supervisor_owner_gpu(const struct supervisor *s, const struct owner *o)
{
	const struct gpu *mine = &s->gpu[o->gpu];
	uint64_t taken = 0;
	int before = 0, number = 0;
	if (owner_gpu_first(s, mine))
		return (int)mine->place;
	for (uint32_t i = 0; i < GSAN_PARTICIPANTS; i++) {
		const struct gpu *one = &s->gpu[i];
		if (!one->bus[0])
			continue;
		taken |= 1ull << one->place;
		before += !owner_gpu_first(s, one) && (one->place < mine->place || (one->place == mine->place && one->since < mine->since));
	}
	for (; taken >> number & 1 || before-- > 0; number++)
		continue;
	return number;
}
