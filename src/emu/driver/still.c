/* Hosts that run outside the driver: do they wait for somebody else, or will they go on by themselves? Each process keeps
 * what it saw of the others; what it concludes is in the job's memory, for all of them. */
#include "emu/driver/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "emu/driver/activity.h"

#define GRACE_MS 60          /* asleep and no processor time for so long: the host waits for somebody else */
#define GRACE_LOOKS 5        /* how often a worker looks at the others meanwhile, */
#define WATCH_US_MIN 200     /* but no more often and no more seldom than this */
#define WATCH_US_MAX 10000
#define STEADY_MS 500        /* ran for so long without a page fault: a polling loop */
#define STEADY_US_MAX 20000  /* at most so much of it between two looks */
#define UNWATCHED_MS 1000    /* after so long, what was seen before counts no more */
#define PATIENCE_MS 60000    /* whatever it does, the others go on */

/* What this process saw of a host that is neither blocked nor gone. */
struct watch {
	uint64_t stirred, begun, looked, asleep, busy; /* the last: nanoseconds */
	uint32_t samples;
	struct emu_activity seen;
};
static struct watch watch[SLOTS];
static pid_t supervisor;     /* 0: unknown */
static struct { uint64_t since, looked; struct emu_activity seen; } supervising; /* since: when it rested last, about */

uint64_t emu_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t emu_env_number(const char *name, uint64_t fallback)
{
	const char *s = getenv(name);
	return s && *s ? strtoull(s, NULL, 0) : fallback;
}

static uint64_t grace_ms(void)
{
	static uint64_t grace;
	if (!grace)
		grace = emu_env_number("EMU_GRACE_MS", GRACE_MS);
	return grace ? grace : 1;
}

long emu_still_us(void)
{
	const uint64_t us = grace_ms() * 1000 / GRACE_LOOKS;
	return us < WATCH_US_MIN ? WATCH_US_MIN : us > WATCH_US_MAX ? WATCH_US_MAX : (long)us;
}

void emu_still_supervisor(const char *job_path)
{
	if (sscanf(job_path, "/proc/%d/fd/", &supervisor) != 1)
		supervisor = 0;
}

static size_t skip_list(const struct job *job, const struct slot *of, int32_t *skip)
{
	size_t n = 0;
	for (int i = 0; i < SLOTS; i++) {
		const struct slot *s = &job->slot[i];
		if (s->pid && s != of)
			skip[n++] = s->pid;
	}
	skip[n++] = of->worker;
	for (int i = 0; i < WAITERS; i++)
		if (of->waiter[i])
			skip[n++] = abs(of->waiter[i]);
	return n;
}

static void read_slot(const struct job *job, const struct slot *s, struct emu_activity *a)
{
	int32_t skip[SLOTS + WAITERS + 1];
	emu_activity_read(s->pid, skip, skip_list(job, s, skip), a);
}

/* How much of the time since the last look tells of a polling loop: one that sleeps now and again shows it by the clock, one
 * that never does by its time on processors. What waits for a processor tells of nothing. */
static uint64_t polled(const struct emu_activity *now, const struct emu_activity *before, uint64_t gap)
{
	const uint64_t most = gap < STEADY_US_MAX * 1000 ? gap : STEADY_US_MAX * 1000, ran = now->ran - before->ran;
	return now->awake && ran < most ? ran : now->awake || ran ? most : 0;
}

/* One look at a host that runs outside the driver, which in the end counts as waiting for somebody else. */
static enum quiet look_at(const struct job *job, const struct slot *s, struct watch *w)
{
	struct emu_activity a;
	read_slot(job, s, &a);
	const uint64_t now = emu_now_ns(), ms = 1000000, gap = now - w->looked;
	if (w->stirred != job->stirred || !w->samples || gap > UNWATCHED_MS * ms)
		*w = (struct watch){.stirred = job->stirred, .begun = now, .asleep = now};
	else if (a.faults != w->seen.faults)
		w->busy = 0;
	else
		w->busy += polled(&a, &w->seen, gap);
	if (a.awake || a.ran != w->seen.ran)
		w->asleep = now;
	w->seen = a;
	w->looked = now;
	w->samples++;
	if (w->samples >= 4 && now - w->asleep >= grace_ms() * ms)
		return ASLEEP;
	return w->busy >= STEADY_MS * ms || now - w->begun >= PATIENCE_MS * ms ? BUSY : AWAKE;
}

/* Whether a host that some process of the job found asleep has slept ever since. Who sends it a message is on a processor
 * or waits for one until the message has woken it: so when none of all the hosts has run, none is about to. */
static int rests(const struct job *job, const struct slot *s, struct watch *w)
{
	struct emu_activity a;
	w->begun = w->looked = emu_now_ns();
	if (w->seen.ran == s->ran && w->seen.threads <= EMU_ACTIVITY_THREADS)
		return emu_activity_rests(&w->seen);
	read_slot(job, s, &a);
	if (a.awake || a.ran != s->ran)
		return 0;
	w->seen = a;
	return 1;
}

static enum quiet still(const struct job *job, struct slot *s, int look)
{
	struct watch *w = &watch[s - job->slot];
	enum quiet quiet = atomic_load_explicit(&s->quiet, memory_order_relaxed);
	if (quiet == ASLEEP && !rests(job, s, w))
		quiet = AWAKE;
	else if (quiet == AWAKE && look)
		quiet = look_at(job, s, w);
	if (quiet != AWAKE)
		w->begun = emu_now_ns();
	if (quiet == ASLEEP)
		s->ran = w->seen.ran;
	atomic_store_explicit(&s->quiet, quiet, memory_order_relaxed);
	return quiet;
}

/* Hosts that sleep may wait for the supervisor, which answers them when it gets a processor, or when a program has ended that it started. */
static int supervisor_rests(const struct job *job)
{
	const uint64_t now = emu_now_ns(), ms = 1000000, gap = now - supervising.looked;
	for (int i = 0; i < SLOTS; i++)
		if (job->slot[i].pid == supervisor)
			return 1; /* none, or a rank, which is watched as such */
	const int at_rest = supervising.seen.threads && emu_activity_rests(&supervising.seen);
	if (at_rest || gap > UNWATCHED_MS * ms)
		supervising.since = now;
	supervising.looked = now;
	if (at_rest)
		return 1;
	int32_t skip[SLOTS];
	size_t skips = 0;
	for (int i = 0; i < SLOTS; i++)
		if (job->slot[i].pid)
			skip[skips++] = job->slot[i].pid;
	emu_activity_read(supervisor, skip, skips, &supervising.seen);
	return !supervising.seen.threads || now - supervising.since >= PATIENCE_MS * ms;
}

/* What each host was found to do was found at one and the same moment: the one at which this begins. */
int emu_still(struct job *job, int look)
{
	int asleep = 0;
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &job->slot[i];
		if (!s->pid || (s->blocked && s->blocked >= s->users))
			continue;
		const enum quiet quiet = still(job, s, look);
		if (quiet == AWAKE)
			return 0;
		asleep |= quiet == ASLEEP;
	}
	return !asleep || supervisor_rests(job);
}
