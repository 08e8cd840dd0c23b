#include "emu/driver/sched.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random.h"
#include "emu/driver/activity.h"
#include "emu/driver/job.h"
#include "emu/driver/stats.h"
#include "emu/driver/trace.h"

#define MAGIC 0x6773616e656d7531ull
#define POLL_US 50000        /* how long one that polls waits for a turn before it looks itself */
#define PCT_DEPTH 3          /* changes of priority */
#define PCT_LENGTHS 12       /* they fall within the first 2^12 steps */
#define OWN_STEPS (1u << 24) /* instructions that what is not the program's has at once */
#define JOIN_SECONDS 30      /* how long turns wait for ranks that never call cuInit */

static struct job *job;
static struct slot *self;
static int serving;          /* the worker has not come back from its turn */
static atomic_int stopping;

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, long timeout_us)
{
	struct timespec t = {timeout_us / 1000000, timeout_us % 1000000 * 1000l};
	syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_us < 0 ? NULL : &t, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A rank that dies holding the lock left it for us: every update under it is a few stores that leave it usable. */
static void lock(void)
{
	if (pthread_mutex_lock(&job->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&job->lock);
}

static void unlock(void) { pthread_mutex_unlock(&job->lock); }

/* ---- who is there */

/* A turn is `least` steps, or up to 2^(doublings - 1) times as many: short turns find more, long ones are faster. */
static const struct {
	const char *name;
	uint32_t least, doublings;
} schedules[] = {[EMU_RANDOM] = {"random", 64, 6}, [EMU_PROGRAM] = {"program", 1, 5}, [EMU_PCT] = {"pct", 64, 1}, [EMU_LAG] = {"lag", 1, 5}};

/* Changes of priority fall early as often as late, whatever the length of the program: uniform in the logarithm. */
static void lay_out_priorities(struct job *j)
{
	const uint64_t changes = emu_env_number("EMU_PCT_DEPTH", PCT_DEPTH);
	j->seed = random_next(&j->random) | 1;
	for (unsigned k = 0; k < EMU_CHANGES && k < changes; k++) {
		const uint64_t from = 1ull << random_next(&j->random) % PCT_LENGTHS;
		j->change[k] = from + random_next(&j->random) % from;
	}
}

static int read_schedule(enum emu_schedule *schedule)
{
	const char *s = getenv("EMU_SCHEDULE");
	for (unsigned k = 0; k < sizeof schedules / sizeof *schedules; k++)
		if (!s || !*s || !strcmp(s, schedules[k].name)) {
			*schedule = (enum emu_schedule)k;
			return 0;
		}
	log_error("emulated device: EMU_SCHEDULE=%s is not known; use random, program, pct or lag", s);
	return -EINVAL;
}

static int read_memory(uint64_t *weak)
{
	const char *s = getenv("EMU_MEMORY");
	const int is_weak = s && !strcmp(s, "weak");
	*weak = is_weak ? hash_then(emu_env_number("EMU_SEED", 1), 1) | 1 : 0;
	if (is_weak || !s || !*s || !strcmp(s, "strong"))
		return 0;
	log_error("emulated device: EMU_MEMORY=%s is not known; use strong or weak", s);
	return -EINVAL;
}

static int lay_out(struct job *j)
{
	pthread_mutexattr_t attr;
	int rc = read_schedule(&j->schedule);
	if (!rc)
		rc = read_memory(&j->weak);
	if (rc)
		return rc;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&j->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	j->random = emu_env_number("EMU_SEED", 1);
	if (j->schedule == EMU_PCT)
		lay_out_priorities(j);
	if (emu_env_number("EMU_AFRESH", 0))
		j->afresh = random_next(&j->random) | 1;
	j->ranks = (uint32_t)emu_env_number("EMU_RANKS", 1);
	j->join_deadline = emu_now_ns() + emu_env_number("EMU_JOIN_SECONDS", JOIN_SECONDS) * 1000000000ull;
	j->token = -1;
	emu_trace_create(j->weak != 0);
	emu_stats_create();
	atomic_store_explicit(&j->magic, MAGIC, memory_order_release);
	return 0;
}

/* The first process to come sizes the file and lays it out, under a file lock. */
static int open_shared(const char *path, struct job **out)
{
	int rc = 0, fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || flock(fd, LOCK_EX) || fstat(fd, &st)) {
		rc = -errno;
		log_error("emulated device: cannot open the job file %s: %s", path, strerror(errno));
		goto close_fd;
	}
	if ((size_t)st.st_size < sizeof(struct job) && ftruncate(fd, sizeof(struct job))) {
		rc = -errno;
		log_error("emulated device: cannot size the job file %s: %s", path, strerror(errno));
		goto close_fd;
	}
	struct job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (j == MAP_FAILED) {
		rc = -errno;
		log_error("emulated device: cannot map the job file %s: %s", path, strerror(errno));
		goto close_fd;
	}
	if (atomic_load_explicit(&j->magic, memory_order_acquire) != MAGIC)
		rc = lay_out(j);
	*out = j;
close_fd:
	if (fd >= 0) {
		flock(fd, LOCK_UN); /* the mapping keeps the open file, and with it the lock */
		close(fd);
	}
	return rc;
}

static int rank_of_process(void)
{
	static const char *const name[] = {"GSAN_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"};
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		const char *s = getenv(name[i]);
		if (s && *s)
			return atoi(s);
	}
	return -1;
}

static void note_rank(int rank)
{
	if (rank >= 0 && rank < RANKS_MAX) {
		uint8_t bit = (uint8_t)(1u << (rank & 7));
		if (job->seen[rank >> 3] & bit)
			return;
		job->seen[rank >> 3] |= bit;
	}
	job->arrived++;
}

static void stir(void)
{
	job->stirred++;
	for (int i = 0; i < SLOTS; i++)
		atomic_store_explicit(&job->slot[i].quiet, AWAKE, memory_order_relaxed);
}

static void drop_slot(struct slot *s)
{
	if (job->token == (int32_t)(s - job->slot))
		job->token = -1;
	s->pid = 0;
	stir();
}

/* It died without leaving, or exec has put another program into it, which leaves the process as it was but for its other threads.
 * A forked child of ours that shares the slot's memory has another pid. */
static int gone(const struct slot *s)
{
	return emu_activity_start(s->pid) != s->start || s->pid == getpid() || (s->worker && !emu_activity_thread(s->pid, s->worker));
}

static void reap(void)
{
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &job->slot[i];
		if (s->pid && s != self && gone(s))
			drop_slot(s);
	}
}

int emu_sched_join(void)
{
	const char *path = getenv("GSAN_EMU_JOB");
	if (path && *path) {
		int rc = open_shared(path, &job);
		if (rc)
			return rc;
		emu_still_supervisor(path);
	} else {
		job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (job == MAP_FAILED)
			return -errno;
		int rc = lay_out(job);
		if (rc)
			return rc;
		job->ranks = 1; /* nobody else can come */
	}
	lock();
	reap();
	for (int i = 0; i < SLOTS && !self; i++)
		if (!job->slot[i].pid)
			self = &job->slot[i];
	if (!self) {
		unlock();
		log_error("emulated device: more than %d processes in one job", SLOTS);
		return -ENOSPC;
	}
	uint32_t event = self->event;
	memset(self, 0, sizeof *self);
	self->event = event;
	self->start = emu_activity_start(getpid());
	self->rank = rank_of_process();
	self->arrival = job->arrivals++;
	self->pid = getpid();
	note_rank(self->rank);
	stir();
	unlock();
	log_set_rank(self->rank);
	return 0;
}

static int all_here(void)
{
	if (job->complete)
		return 1;
	if (job->arrived < job->ranks) {
		if (emu_now_ns() < job->join_deadline)
			return 0;
		log_warning("emulated device: %u of %u ranks have called cuInit; going on without the others", job->arrived,
			    job->ranks);
	}
	job->complete = 1;
	return 1;
}

/* ---- turns; all under the lock */

static void end_polls(void)
{
	for (int i = 0; job->polling && i < SLOTS; i++) {
		struct slot *s = &job->slot[i];
		for (int k = 0; s->pid && k < WAITERS; k++) {
			if (s->waiter[k] >= 0)
				continue;
			s->waiter[k] = 0;
			s->blocked--;
			stir();
		}
	}
	if (!job->polling)
		return;
	job->polling = 0;
	atomic_fetch_add_explicit(&job->turns, 1, memory_order_release); /* read by emu_sched_poll */
	futex_wake(&job->turns);
}

/* What can run came after all that was before has ended: the choices depend on nothing but it and the seed. */
static void begin_afresh(const int *order, int n)
{
	job->random = job->afresh;
	for (int i = 0; i < n; i++)
		job->random = hash_then(job->random, job->slot[order[i]].digest);
	job->idle = 0;
}

static void note_idle(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (job->slot[i].pid && job->slot[i].runnable)
			return;
	for (int i = 0; i < SLOTS; i++)
		job->slot[i].digest = 0;
	job->idle = 1;
}

static int comes_before(const struct slot *a, const struct slot *b)
{
	return a->rank < b->rank || (a->rank == b->rank && a->arrival < b->arrival);
}

/* Those slots that are runnable, or that have work that is not the program's, in the order of rank, then of arrival: what the choice
 * counts over must not depend on timing. */
static int in_order(int order[SLOTS], int own)
{
	int n = 0;
	for (int i = 0; i < SLOTS; i++) {
		const struct slot *s = &job->slot[i];
		if (!s->pid || !(own ? s->own : s->runnable != 0))
			continue;
		int at = n++;
		for (; at > 0; at--) {
			if (comes_before(&job->slot[order[at - 1]], s))
				break;
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
	return n;
}

/* What is not the program's goes first, and leaves the choices as they are. */
static int choose(void)
{
	int order[SLOTS];
	if (in_order(order, 1))
		return order[0];
	const int n = in_order(order, 0);
	if (n && job->idle && job->afresh)
		begin_afresh(order, n);
	if (!n || job->schedule != EMU_PCT)
		return n ? order[random_next(&job->random) % (uint64_t)n] : -1;
	int best = order[0];
	for (int i = 1; i < n; i++)
		if (job->slot[order[i]].runnable > job->slot[best].runnable)
			best = order[i];
	return best;
}

static void fill_turn(int chosen)
{
	struct emu_turn *t = &job->turn;
	if (job->slot[chosen].own) {
		*t = (struct emu_turn){.random = 1, .schedule = job->schedule, .steps = OWN_STEPS, .own = 1};
		return;
	}
	*t = (struct emu_turn){.random = random_next(&job->random), .schedule = job->schedule, .seed = job->seed, .start = job->steps};
	t->steps = schedules[job->schedule].least << t->random % schedules[job->schedule].doublings;
	memcpy(t->change, job->change, sizeof t->change);
	for (int i = 0; i < SLOTS; i++)
		if (i != chosen && job->slot[i].pid && job->slot[i].runnable > t->floor)
			t->floor = job->slot[i].runnable;
}

/* Lets the threads of one process go that are about to learn something, the first in order, and says whether it did. Each process goes once,
 * then there is a turn, if anything can run: who asks again and again is to see it go on. It draws nothing, and who sleeps sleeps on. */
_Static_assert(WAITERS == 32, "bits of `learning`");
static int let_learn(void)
{
	struct slot *first = NULL;
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &job->slot[i];
		if (s->pid && s->learning && !s->learnt && (!first || comes_before(s, first)))
			first = s;
	}
	if (!first)
		return 0;
	for (int k = 0; k < WAITERS; k++)
		if (first->learning >> k & 1) {
			first->waiter[k] = 0;
			first->blocked--;
		}
	first->learning = 0;
	first->learnt = 1;
	atomic_store_explicit(&first->quiet, AWAKE, memory_order_relaxed);
	atomic_fetch_add_explicit(&first->lesson, 1, memory_order_release); /* read by emu_sched_learn */
	futex_wake(&first->lesson);
	return 1;
}

static void learn_again(void)
{
	for (int i = 0; i < SLOTS; i++)
		job->slot[i].learnt = 0;
}

/* Is it for this process to examine the hosts? One does, for all: it reads /proc some hundred times a second. */
#define LOOKS_MISSED 4
#define LOOKS_PER_REAP 8 /* who has died is missed less soon */
static int looks(void)
{
	const int32_t me = (int32_t)(self - job->slot);
	const uint64_t now = emu_now_ns();
	if (job->looker != me && now - job->looked < LOOKS_MISSED * 1000ull * (uint64_t)emu_still_us())
		return 0;
	job->looker = me;
	job->looked = now;
	return 1;
}

/* Gives the next turn if it can be given. look: spend the time to examine hosts that run outside the driver. */
static void give(int look)
{
	if (look && !looks())
		return;
	if (look && !(job->looks++ % LOOKS_PER_REAP))
		reap();
	if (job->token >= 0 || !all_here() || !emu_still(job, look) || let_learn())
		return;
	int chosen = choose();
	learn_again();
	if (chosen < 0) {
		if (job->polling)
			end_polls();
		else
			let_learn();
		return;
	}
	fill_turn(chosen);
	job->token = chosen;
	struct slot *s = &job->slot[chosen];
	atomic_fetch_add_explicit(&s->event, 1, memory_order_release);
	if (s != self || s->worker != (int32_t)gettid())
		futex_wake(&s->event);
}

/* A turn lasts until its worker asks for the next one. Before, it may still hold the lock that a host waits for. */
int emu_sched_turn(struct emu_turn *turn)
{
	int look = 0;
	for (;;) {
		uint32_t seen = atomic_load(&self->event); /* before `stopping`: emu_sched_stop() sets that first */
		if (atomic_load(&stopping))
			return -ECANCELED;
		lock();
		if (serving && job->token == (int32_t)(self - job->slot))
			job->token = -1;
		serving = 0;
		give(look);
		int mine = job->token == (int32_t)(self - job->slot), wanted = self->runnable || self->own;
		*turn = job->turn;
		unlock();
		if (mine) {
			serving = 1;
			return 0;
		}
		futex_wait(&self->event, seen, wanted ? emu_still_us() : -1);
		look = wanted;
	}
}

static void remove_waiter(struct slot *s, int32_t tid)
{
	for (int k = 0; k < WAITERS; k++)
		if (s->waiter[k] == tid) {
			s->waiter[k] = 0;
			break;
		}
	s->blocked--;
}

void emu_sched_finish(const struct emu_turn *turn, const int32_t *released, size_t count, struct emu_runnable runnable)
{
	lock();
	job->steps += turn->made;
	for (size_t i = 0; i < count; i++)
		remove_waiter(self, released[i]);
	if (count)
		stir();
	self->runnable = runnable.priority;
	self->own = (uint32_t)runnable.own;
	if (!turn->own)
		note_idle();
	end_polls();
	unlock();
}

/* ---- what hosts say */

static void add_waiter(struct slot *s, int32_t tid)
{
	for (int k = 0; k < WAITERS; k++)
		if (!s->waiter[k]) {
			s->waiter[k] = tid;
			break;
		}
	s->blocked++;
}

void emu_sched_block(int32_t tid)
{
	lock();
	add_waiter(self, tid);
	give(0);
	unlock();
}

/* A poll that finds no free place is not counted as waiting: the host is examined like one outside the driver. */
void emu_sched_poll(int32_t tid)
{
	lock();
	uint32_t seen = atomic_load_explicit(&job->turns, memory_order_relaxed);
	int placed = 0;
	for (int k = 0; k < WAITERS && !placed; k++)
		if (!self->waiter[k]) {
			self->waiter[k] = -tid;
			self->blocked++;
			job->polling++;
			placed = 1;
		}
	give(0);
	unlock();
	while (placed && atomic_load_explicit(&job->turns, memory_order_acquire) == seen && !atomic_load(&stopping)) {
		futex_wait(&job->turns, seen, POLL_US);
		lock(); /* the work may have ended meanwhile: then no worker watches the other hosts */
		if (atomic_load_explicit(&job->turns, memory_order_relaxed) == seen)
			give(1);
		unlock();
	}
}

int emu_sched_shared(void)
{
	lock();
	const int shared = job->arrivals > 1 && (job->complete || job->arrived >= job->ranks);
	unlock();
	return shared;
}

/* One that finds no free place does not wait. */
void emu_sched_learn(int32_t tid)
{
	lock();
	const uint32_t seen = atomic_load_explicit(&self->lesson, memory_order_relaxed);
	int place = 0;
	while (place < WAITERS && self->waiter[place])
		place++;
	if (place < WAITERS) {
		self->waiter[place] = tid;
		self->learning |= 1u << place;
		self->blocked++;
		give(0);
	}
	unlock();
	while (place < WAITERS && atomic_load_explicit(&self->lesson, memory_order_acquire) == seen && !atomic_load(&stopping)) {
		futex_wait(&self->lesson, seen, emu_still_us());
		lock();
		if (atomic_load_explicit(&self->lesson, memory_order_relaxed) == seen)
			give(1);
		unlock();
	}
}

enum emu_schedule emu_sched_schedule(void) { return job->schedule; }
uint64_t emu_sched_seed(void) { return job->seed; }

uint64_t emu_sched_weak(void)
{
	static uint64_t launches;
	return job->weak ? hash_then(hash_then(job->weak, self->rank + 1u), ++launches) | 1 : 0;
}

void emu_sched_runnable(struct emu_runnable runnable)
{
	lock();
	self->runnable = runnable.priority;
	self->own = (uint32_t)runnable.own;
	atomic_fetch_add_explicit(&self->event, 1, memory_order_release);
	unlock();
	if (runnable.priority || runnable.own)
		futex_wake(&self->event); /* its worker starts to watch the others */
}

void emu_sched_queued(uint64_t digest)
{
	if (!job->afresh)
		return;
	lock();
	if (job->idle)
		learn_again(); /* nor on what was learnt before */
	self->digest = hash_then(self->digest, digest);
	unlock();
}

void emu_sched_user(int more)
{
	lock();
	self->users += (uint32_t)more;
	give(0);
	unlock();
}

void emu_sched_worker(int32_t tid)
{
	lock();
	self->worker = tid;
	unlock();
}

void emu_sched_stir(void)
{
	if (!atomic_load_explicit(&self->quiet, memory_order_relaxed))
		return;
	lock();
	stir();
	unlock();
}

void emu_sched_stop(void)
{
	atomic_store(&stopping, 1);
	atomic_fetch_add(&self->event, 1);
	futex_wake(&self->event);
	futex_wake(&self->lesson);
	futex_wake(&job->turns);
}

uint64_t emu_sched_rank(void) { return self->rank >= 0 ? (uint64_t)self->rank : self->arrival; }

void emu_sched_leave(void)
{
	lock();
	if (self->pid == getpid()) { /* else others saw the worker end, and took it for gone */
		drop_slot(self);
		give(0);
	}
	unlock();
}
