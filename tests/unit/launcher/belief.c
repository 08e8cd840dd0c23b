/* Findings held against what another process tells meanwhile.
 *
 * A process merges its record of launches (job.h, struct job_event) again and again while the supervisor reads it. Each turn's table says
 * that an unknown kernel ran behind the finding's first side; while one is filled it does not. So the finding is always withheld. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "supervisor/state.h"

#define RECORDS 200u
#define READS 600000u /* some seconds */

static struct job *job;
static _Atomic int done;

static void *merge(void *unused)
{
	const struct job_event none = {.kind = JOB_EVENT_OPAQUE}, one = {.first = 5, .last = 5, .count = 1, .kind = JOB_EVENT_OPAQUE, .begun = 1};
	struct job_rank *rank = &job->rank[0];

	for (uint32_t turn = 0; !atomic_load(&done); turn++) {
		struct job_event *to = rank->event[(turn + 1) & 1];
		atomic_thread_fence(memory_order_release);
		for (uint32_t again = 0; again < 8; again++)
			for (uint32_t i = 0; i < RECORDS; i++)
				job_event_put(&to[i], &none);
		job_event_put(&to[turn % RECORDS], &one);
		atomic_store_explicit(&rank->events, (uint64_t)(turn + 1) << 32 | RECORDS, memory_order_release);
	}
	return unused;
}

/* A stream wrote a value behind the first side. While a call is under way that may bring it to a host, what is launched from then on may
 * come behind that. */
static int brought(const struct supervisor *s, const struct gsan_finding *f)
{
	static const struct { uint32_t calls, seen; enum belief belief; } row[] = {
		{0, 0, BELIEF_RACE}, {1, 6, BELIEF_WITHHELD}, {1, 7, BELIEF_RACE}, {2, 1, BELIEF_WITHHELD}, {0, 1, BELIEF_RACE},
	};
	struct job_rank *rank = &job->rank[0];
	int wrong = 0;

	atomic_store(&rank->signal[0].seq, 5);
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		atomic_store(&rank->signal[0].seen[q], JOB_NOT_SEEN);
	atomic_store(&rank->signals, 1);
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		atomic_store(&job->rank[1].bringing.seen[1], row[i].seen);
		atomic_store(&job->rank[1].bringing.calls, row[i].calls);
		if (supervisor_believe(s, f, 0) != row[i].belief) {
			fprintf(stderr, "%u calls from number %u on: not %d\n", row[i].calls, row[i].seen, (int)row[i].belief);
			wrong = 1;
		}
	}
	atomic_store(&rank->signals, 0);
	return wrong;
}

/* What a kernel before the second side has read of a value that a stream wrote behind the first: nothing if it was over before that was launched. */
static int read_before(const struct supervisor *s, const struct gsan_finding *f)
{
	static const enum job_event_kind kinds[] = {JOB_EVENT_OPAQUE, JOB_EVENT_BARRIER};
	static const struct { uint64_t ended; enum belief belief; } row[] = {{0, BELIEF_WITHHELD}, {90, BELIEF_RACE}, {110, BELIEF_WITHHELD}};
	struct job_rank *writer = &job->rank[0], *reader = &job->rank[1];
	int wrong = 0;

	atomic_store(&writer->signal[0].seq, 5);
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		atomic_store(&writer->signal[0].seen[q], JOB_NOT_SEEN);
	atomic_store(&writer->signals, 1);
	writer->moment[0] = (struct job_moment){.from = 100, .until = 101, .next = 4};
	atomic_store(&writer->moments, 1);
	atomic_store(&reader->events, 1);
	for (unsigned i = 0; i < 2 * sizeof(row) / sizeof(*row); i++) {
		reader->event[0][0] = (struct job_event){.first = 5, .last = 5, .count = 1, .kind = kinds[i & 1], .begun = 80, .ended = row[i / 2].ended};
		if (supervisor_believe(s, f, 0) != row[i / 2].belief) {
			fprintf(stderr, "kind %d that ended at %d: not %d\n", (int)kinds[i & 1], (int)row[i / 2].ended, (int)row[i / 2].belief);
			wrong = 1;
		}
	}
	atomic_store(&writer->signals, 0);
	atomic_store(&writer->moments, 0);
	atomic_store(&reader->events, 0);
	return wrong;
}

int main(void)
{
	struct supervisor *s = calloc(1, sizeof *s);
	const struct gsan_finding f = {.first = {.seq = 4, .participant = 0}, .second = {.seq = 6, .participant = 1}};
	pthread_t thread;
	uint32_t reads = 0;

	job = calloc(1, sizeof *job);
	if (!s || !job)
		return 1;
	s->job = job;
	s->participants = job->participants = 2;
	int wrong = brought(s, &f) + read_before(s, &f);
	job->rank[0].event[0][0] = (struct job_event){.first = 5, .last = 5, .count = 1, .kind = JOB_EVENT_OPAQUE, .begun = 1};
	job->rank[1].event[0][0] = job->rank[0].event[0][0];
	atomic_store(&job->rank[0].events, 1);
	atomic_store(&job->rank[1].events, 1);
	if (pthread_create(&thread, NULL, merge, NULL))
		return 1;
	for (; reads < READS && !wrong; reads++)
		wrong = supervisor_believe(s, &f, 0) != BELIEF_WITHHELD;
	atomic_store(&done, 1);
	pthread_join(thread, NULL);
	if (wrong)
		fprintf(stderr, "at read %u the finding was not withheld\n", reads);
	free(job);
	free(s);
	return wrong;
}
