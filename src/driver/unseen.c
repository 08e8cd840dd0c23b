/* What the device does not see, told to the job: when launches were numbered; values that streams write, as far as hosts may read
 * them; whatever writes device memory without a record; another GPU of the process. Kernels that may order anything: events.c. */
#include "driver/flow.h"

#include "vmm/vmm.h"

static pthread_mutex_t unseen_lock = PTHREAD_MUTEX_INITIALIZER; /* of this process's part of the job's memory */

#define MOMENT_NS 1000000u
#define MOMENT_SHARE 2048u
int flow_moment(struct flow *f, int due)
{
	struct job_rank *rank = f->rank;

	if ((!due && flow_now() < atomic_load_explicit(&f->moment_due, memory_order_relaxed)) || pthread_mutex_trylock(&unseen_lock))
		return 0;
	uint32_t n = atomic_load_explicit(&rank->moments, memory_order_relaxed);
	uint64_t from = flow_now(), since = n ? from - rank->moment[0].from : 0;
	if (n < JOB_MOMENTS) {
		uint32_t next = atomic_load_explicit(&rank->next, memory_order_acquire);
		rank->moment[n] = (struct job_moment){.from = from, .next = next, .until = flow_now()};
		/* Partner: the supervisor's acquire load of `moments`. */
		atomic_store_explicit(&rank->moments, n + 1, memory_order_release);
	}
	atomic_store_explicit(&f->moment_due, from + (since / MOMENT_SHARE > MOMENT_NS ? since / MOMENT_SHARE : MOMENT_NS),
			      memory_order_relaxed);
	pthread_mutex_unlock(&unseen_lock);
	return 1;
}

/* ---- what writes device memory without a record (layout.h, struct gsan_writers) -------------------------------- */

/* Another GPU of the process may do anything at any time: while any of its launches or copies is under way, and for good once the driver
 * did not refuse one. It stands in the place of the slot that streams share, above all numbers but one: that is another process's, and
 * never taken back. Below it goes on what the slot's own number is. */
#define ELSEWHERE_WRITES (UINT32_MAX - 1)
static struct { uint32_t under_way, writing; int ran, wrote; uint32_t newest; } elsewhere; /* under unseen_lock */

static uint32_t *writers_newest(struct flow *f, uint32_t slot)
{
	return &f->participant->job->writers.newest[f->clock.participant][slot];
}

/* Where the slot's own number stands now. */
static uint32_t *writers_own(struct flow *f, uint32_t slot)
{
	return slot == CLOCK_SHARED && f == flow_here() && (elsewhere.writing || elsewhere.wrote) ? &elsewhere.newest : writers_newest(f, slot);
}

/* Only the slot that is shared has others that write there than those in its queue. */
static void writers_enter(uint32_t slot)
{
	if (slot == CLOCK_SHARED)
		pthread_mutex_lock(&unseen_lock);
}

static void writers_leave(uint32_t slot)
{
	if (slot == CLOCK_SHARED)
		pthread_mutex_unlock(&unseen_lock);
}

void flow_writes(struct flow *f, uint32_t slot, uint32_t seq)
{
	writers_enter(slot);
	uint32_t *own = writers_own(f, slot);
	f->queue[slot].wrote = __atomic_load_n(own, __ATOMIC_RELAXED);
	if (own == &elsewhere.newest)
		elsewhere.newest = seq > elsewhere.newest ? seq : elsewhere.newest;
	else
		job_writes(f->participant->job, f->clock.participant, slot, seq);
	writers_leave(slot);
}

/* It was never there, and what has read it withholds. The stream's bit stays: that nothing (0) wrote is before every launch. */
void flow_writes_take_back(struct flow *f, uint32_t slot, uint32_t seq)
{
	writers_enter(slot);
	__atomic_compare_exchange_n(writers_own(f, slot), &seq, f->queue[slot].wrote, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	writers_leave(slot);
}

void flow_elsewhere_writes(struct flow *f)
{
	pthread_mutex_lock(&unseen_lock);
	if (!elsewhere.writing++ && !elsewhere.wrote) {
		elsewhere.newest = __atomic_load_n(writers_newest(f, CLOCK_SHARED), __ATOMIC_RELAXED);
		job_writes(f->participant->job, f->clock.participant, CLOCK_SHARED, ELSEWHERE_WRITES);
	}
	pthread_mutex_unlock(&unseen_lock);
}

void flow_elsewhere_wrote(struct flow *f, int refused)
{
	uint32_t newest = ELSEWHERE_WRITES;

	pthread_mutex_lock(&unseen_lock);
	elsewhere.wrote |= !refused;
	if (!--elsewhere.writing && !elsewhere.wrote)
		__atomic_compare_exchange_n(writers_newest(f, CLOCK_SHARED), &newest, elsewhere.newest, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	pthread_mutex_unlock(&unseen_lock);
}

/* ---- values, and the copies by which a host may read them ---------------------------------------------------- */

/* What participant q launches from that number on may come behind a host that read it. Other processes say so, too. */
static void signal_seen_from(struct job_signal *s, uint32_t q, uint32_t next)
{
	uint32_t old = atomic_load_explicit(&s->seen[q], memory_order_relaxed);

	while (old > next && !atomic_compare_exchange_weak_explicit(&s->seen[q], &old, next, memory_order_relaxed, memory_order_relaxed))
		continue;
}

/* What any participant does from now on. */
static void signal_seen(const struct job *job, struct job_signal *s)
{
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		signal_seen_from(s, q, atomic_load_explicit(&job->rank[q].next, memory_order_acquire));
}

/* May some participant's copy to a host be under way, which reads the location later? */
static int copies_under_way(const struct job *job)
{
	for (uint32_t q = 0; q < job->participants && q < GSAN_PARTICIPANTS; q++) {
		const struct job_rank *rank = &job->rank[q];
		if (atomic_load_explicit(&rank->state, memory_order_acquire) == JOB_LEFT)
			continue;
		if (atomic_load_explicit(&rank->bringing.calls, memory_order_seq_cst))
			return 1;
		for (uint32_t s = 0; s < GSAN_STREAMS; s++)
			if (atomic_load_explicit(&rank->outgoing[s], memory_order_acquire) >
			    atomic_load_explicit(&rank->clock.stream[s], memory_order_relaxed))
				return 1;
	}
	return 0;
}

void flow_value(struct flow *f, uint32_t seq, int host_reads)
{
	struct job_rank *rank = f->rank;

	pthread_mutex_lock(&unseen_lock);
	uint32_t n = atomic_load_explicit(&rank->signals, memory_order_relaxed);
	struct job_signal *s = &rank->signal[n < JOB_SIGNALS ? n : JOB_SIGNALS - 1];
	if (n < JOB_SIGNALS)
		for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
			atomic_store_explicit(&s->seen[q], JOB_NOT_SEEN, memory_order_relaxed);
	if (n < JOB_SIGNALS || atomic_load_explicit(&s->seq, memory_order_relaxed) < seq)
		atomic_store_explicit(&s->seq, seq, memory_order_relaxed);
	/* Partner: the acquire loads of `signals` in flow_copies_out() and in the supervisor. */
	if (n < JOB_SIGNALS)
		atomic_store_explicit(&rank->signals, n + 1, memory_order_seq_cst);
	/* Either this sees the copy that is about to read the value, or that copy's sweep sees the signal. */
	if (host_reads || copies_under_way(f->participant->job))
		signal_seen(f->participant->job, s);
	pthread_mutex_unlock(&unseen_lock);
}

/* Number 0 is behind nothing. Not in the last place, where it may stand for others. */
void flow_value_take_back(struct flow *f, uint32_t seq)
{
	struct job_rank *rank = f->rank;

	pthread_mutex_lock(&unseen_lock);
	uint32_t i = atomic_load_explicit(&rank->signals, memory_order_relaxed);
	for (i = i < JOB_SIGNALS ? i : JOB_SIGNALS - 1; i; i--)
		if (atomic_load_explicit(&rank->signal[i - 1].seq, memory_order_relaxed) == seq) {
			atomic_store_explicit(&rank->signal[i - 1].seq, 0, memory_order_relaxed);
			break;
		}
	pthread_mutex_unlock(&unseen_lock);
}

/* Each signal is swept once by each process, but for the last place, which is many. `until`: those that calls under way are behind. */
static struct { int32_t pid; uint32_t next, until; } swept[GSAN_PARTICIPANTS];

static void signals_mark(struct job *job, uint32_t p)
{
	int32_t pid = atomic_load_explicit(&job->rank[p].pid, memory_order_acquire);
	uint32_t n = atomic_load_explicit(&job->rank[p].signals, memory_order_seq_cst);

	if (swept[p].pid != pid)
		swept[p].next = 0;
	swept[p].pid = pid;
	swept[p].until = n < JOB_SIGNALS ? n : JOB_SIGNALS;
}

/* If another process is in p's place by now, its values came later than the calls. */
static void signals_sweep(struct job *job, uint32_t p, const struct job_bringing *bringing)
{
	struct job_rank *rank = &job->rank[p];
	uint32_t i = swept[p].next;

	if (swept[p].pid != atomic_load_explicit(&rank->pid, memory_order_relaxed))
		return;
	for (; i < swept[p].until; i++)
		for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
			signal_seen_from(&rank->signal[i], q, atomic_load_explicit(&bringing->seen[q], memory_order_relaxed));
	swept[p].next = i < JOB_SIGNALS ? i : JOB_SIGNALS - 1;
}

void flow_copies_out(struct flow *f, uint32_t slot, uint32_t seq)
{
	struct job *job = f->participant->job;
	struct job_bringing *bringing = &f->rank->bringing;
	_Atomic uint32_t *outgoing = &f->rank->outgoing[slot];
	uint32_t old = atomic_load_explicit(outgoing, memory_order_relaxed);

	if (seq != UINT32_MAX)
		f->queue[slot].brought = old;
	while (old < seq && !atomic_compare_exchange_weak_explicit(outgoing, &old, seq, memory_order_seq_cst, memory_order_relaxed))
		continue;
	pthread_mutex_lock(&unseen_lock);
	if (!atomic_load_explicit(&bringing->calls, memory_order_relaxed))
		for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
			atomic_store_explicit(&bringing->seen[q], atomic_load_explicit(&job->rank[q].next, memory_order_acquire),
					      memory_order_relaxed);
	for (uint32_t p = 0; p < job->participants && p < GSAN_PARTICIPANTS; p++)
		signals_mark(job, p);
	/* Partner: belief_brought() of the supervisor. */
	atomic_fetch_add_explicit(&bringing->calls, 1, memory_order_seq_cst);
	pthread_mutex_unlock(&unseen_lock);
}

void flow_copied_out(struct flow *f, int refused)
{
	struct job *job = f->participant->job;
	struct job_bringing *bringing = &f->rank->bringing;

	pthread_mutex_lock(&unseen_lock);
	for (uint32_t p = 0; !refused && p < job->participants && p < GSAN_PARTICIPANTS; p++)
		signals_sweep(job, p, bringing);
	/* Partner: belief_brought(): who finds that none is under way finds what was swept. */
	atomic_fetch_sub_explicit(&bringing->calls, 1, memory_order_release);
	pthread_mutex_unlock(&unseen_lock);
}

void flow_copies_out_take_back(struct flow *f, uint32_t slot, uint32_t seq)
{
	atomic_compare_exchange_strong_explicit(&f->rank->outgoing[slot], &seq, f->queue[slot].brought, memory_order_seq_cst,
						memory_order_relaxed);
}

/* ---- a GPU of the process that is not checked, whose streams have no place in the order here-------------------------- */

/* Its kernels may come before and after anything: two events say that. */
void flow_elsewhere_runs(struct flow *f)
{
	flow_elsewhere_writes(f);
	pthread_mutex_lock(&unseen_lock);
	if (!elsewhere.under_way++ && !elsewhere.ran) {
		flow_event(f, JOB_EVENT_OPAQUE, CLOCK_LEGACY, 0);
		flow_event(f, JOB_EVENT_OPAQUE, CLOCK_LEGACY, UINT32_MAX);
	}
	pthread_mutex_unlock(&unseen_lock);
}

void flow_elsewhere_ran(struct flow *f, int refused)
{
	pthread_mutex_lock(&unseen_lock);
	elsewhere.ran |= !refused;
	if (!--elsewhere.under_way && !elsewhere.ran) {
		flow_event_take_back(f, 0);
		flow_event_take_back(f, UINT32_MAX);
	}
	pthread_mutex_unlock(&unseen_lock);
	flow_elsewhere_wrote(f, refused);
}

/* Its copies to hosts may be under way at any time; not taken back, for one that was refused seldom comes alone. */
void flow_elsewhere_copies_out(struct flow *f)
{
	flow_copies_out(f, CLOCK_SHARED, UINT32_MAX);
	flow_copied_out(f, 0);
}

void flow_elsewhere_waits(void)
{
	struct flow *f = flow_here();

	if (f)
		atomic_fetch_add_explicit(&f->followed, 1, memory_order_relaxed);
}

void flow_elsewhere_waits_not(void)
{
	struct flow *f = flow_here();

	if (f)
		atomic_fetch_sub_explicit(&f->followed, 1, memory_order_relaxed);
}

void flow_elsewhere_seen(void)
{
	struct flow *f = flow_here();

	if (f && atomic_load_explicit(&f->followed, memory_order_relaxed))
		flow_host_unknown();
}
