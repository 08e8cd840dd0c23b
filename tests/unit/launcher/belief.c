/* Findings held against what another process tells meanwhile.
 *
 * A process merges its record of launches (job.h, struct job_event) again and again while the supervisor reads it. Each turn's table says
 * that an unknown kernel ran behind the finding's first side; while one is filled it does not. So the finding is always withheld. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/suppress.h"
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

/* A function that a stream called between the two: what it may have waited for is before what comes behind it. */
static int called(struct supervisor *s)
{
	const struct gsan_side of_other = {.seq = 5, .participant = 1}, told = {.seq = 12, .participant = 0, .stream = 2};
	struct gsan_finding f = {.first = {.seq = 5, .participant = 0, .stream = 3}, .second = {.seq = 9, .participant = 0, .stream = 4}};
	const struct gsan_side of_own = f.first;
	static const struct { uint32_t over, from, seen, floor, given[2], other, told; enum belief belief; } row[] = {
		{0, 7, 5, 0, {10, 9}, 0, 0, BELIEF_RACE}, /* it has not returned */
		{1, 7, 5, 0, {10, 9}, 0, 0, BELIEF_WITHHELD}, {1, 7, 4, 5, {10, 9}, 0, 0, BELIEF_RACE}, {1, 7, 4, 6, {10, 9}, 0, 0, BELIEF_WITHHELD},
		{1, 9, 5, 0, {10, 9}, 0, 0, BELIEF_WITHHELD}, {1, 10, 5, 0, {10, 9}, 0, 0, BELIEF_RACE}, /* the second is not behind it */
		{1, 7, 9, 9, {10, 5}, 1, 0, BELIEF_RACE}, {1, 7, 0, 0, {10, 6}, 1, 0, BELIEF_WITHHELD},
		{1, 7, 4, 0, {12, 0}, 0, 1, BELIEF_RACE}, {1, 7, 4, 0, {13, 0}, 0, 1, BELIEF_WITHHELD}, /* a kernel may have told by then, the last that was launched */
	};
	int wrong = 0;

	for (unsigned i = 0; i < 2 * sizeof(row) / sizeof(*row); i++) {
		struct job_call *c = &job->rank[0].call[i & 1 ? JOB_CALLS : 7];
		if (row[i / 2].told && i % 2 == 0)
			supervisor_told(s, &told, 0);
		f.first = row[i / 2].other ? of_other : of_own;
		atomic_store(&c->from[0], row[i / 2].from);
		atomic_store(&c->from[1], UINT32_MAX);
		atomic_store(&c->seen[3], row[i / 2].seen);
		atomic_store(&c->floor, row[i / 2].floor);
		for (unsigned q = 0; q < 2; q++)
			atomic_store(&c->given[q], row[i / 2].given[q]);
		atomic_store(&c->over, row[i / 2].over);
		if (supervisor_believe(s, &f, 0) != row[i / 2].belief) {
			fprintf(stderr, "call %u: not %d\n", i / 2, (int)row[i / 2].belief);
			wrong = 1;
		}
		atomic_store(&c->over, 0);
	}
	supervisor_told_free(s, 0);
	return wrong;
}

/* A launch tells a host by a store behind the second access, which was checked later than that: what was launched by then may be before the first. */
static int told_before(struct supervisor *s)
{
	const struct gsan_finding f = {.first = {.seq = 6, .participant = 0}, .second = {.seq = 5, .participant = 0}};
	const struct gsan_side by = {.seq = 5}, other = {.seq = 7};
	static const struct { uint32_t told, given, launched, others; int before; } row[] = {
		{0, 0, 6, 0, 0}, /* none told */
		{1, 0, 6, 0, 1}, {1, 0, 5, 0, 0}, {1, 6, 6, 0, 1}, {1, 7, 6, 0, 0}, {1, 7, 7, 0, 1},
		{2, 0, 6, 3, 0}, /* another launch told */
		{1, 7, 6, 3, 1}, {1, 7, 6, 2, 0}, /* another participant launched later, by the times, or before */
	};
	int wrong = 0;

	job->rank[0].moment[0] = (struct job_moment){.from = 100, .until = 101, .next = 5};
	job->rank[1].moment[0] = (struct job_moment){.from = 90, .until = 99, .next = 3};
	atomic_store(&job->rank[0].moments, 1);
	atomic_store(&job->rank[1].moments, 1);
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		if (row[i].told)
			supervisor_told(s, row[i].told == 1 ? &by : &other, row[i].given);
		job->rank[1].ring.given = row[i].others ? row[i].others + 1 : 0;
		if (supervisor_told_before(s, &f, row[i].launched) != row[i].before) {
			fprintf(stderr, "row %u: not %d\n", i, row[i].before);
			wrong = 1;
		}
		supervisor_told_free(s, 0);
	}
	atomic_store(&job->rank[0].moments, 0);
	atomic_store(&job->rank[1].moments, 0);
	job->rank[1].ring.given = 0;
	return wrong;
}

/* The same from the ring to the report, of a site that is checked late, of one that is not, and of one whose finding came before anything else was
 * launched. */
static int told_in_report(struct supervisor *s)
{
	static const char info[] = "k\tsync\nsource\tx.ptx\nsite\t1\ta.cu\t1\t1\tk\tst\tweak\t-\t4\t-\nlate\t1\nsite\t2\ta.cu\t2\t1\tk\tst\tweak\t-\t4\t-\n"
				   "site\t3\ta.cu\t3\t1\tk\tst\tweak\t-\t4\t-\nlate\t3\n";
	static struct report_job about = {.device = "emu"};
	static struct suppressions none;
	const struct gsan_side by = {.seq = 5};
	struct gsan_ring *ring = &job->rank[0].ring;
	struct kernel *k = calloc(1, sizeof *k);
	struct report r;
	char text[512];

	snprintf(text, sizeof text, "gsan-info\t%u\t%s", GSAN_ABI, info);
	s->config = (struct supervisor_config){.size = 1, .job = &about, .exit_code = 66, .details = 10, .suppressions = &none};
	s->member[0].state = MEMBER_DONE;
	if (!k || ptx_info_parse(text, sizeof text, &k->info) || supervisor_owner_join(s, 0, 0, 1, "0000:01:00.0"))
		return 1;
	atomic_store(&job->rank[0].state, JOB_RUNNING);
	k->owner = s->owner[0];
	supervisor_add_kernel(s, k);
	supervisor_told(s, &by, 6);
	for (uint32_t site = 3; site > 0; site--) {
		ring->given = site == 3 ? 6 : 7;
		ring->slot[ring->head] = (struct gsan_finding){
			.ready = (uint32_t)ring->head + 1, .kind = GSAN_WAR, .bytes = 4, .flag_write_site = 0xffff, .flag_read_site = 0xffff,
			.first = {.seq = 6, .site = 2, .op = GSAN_OP_LD}, .second = {.seq = 5, .site = (uint16_t)site, .op = GSAN_OP_ST}};
		ring->head++;
		supervisor_drain(s, 0);
	}
	ring->given = 9; /* later: says nothing of what was launched by then */
	if (supervisor_report(s, &r))
		return 1;
	int wrong = r.withheld != 1 || r.findings != 1 || r.finding[0].pairs != 2; /* of one cause */
	if (wrong)
		fprintf(stderr, "%u pairs, %u withheld\n", (unsigned)r.finding[0].pairs, (unsigned)r.withheld);
	report_free(&r);
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
	int wrong = brought(s, &f) + read_before(s, &f) + called(s) + told_before(s);
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
	wrong = wrong || told_in_report(s);
	free(job);
	free(s);
	return wrong;
}
