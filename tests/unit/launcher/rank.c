/* A rank process without CUDA: it speaks libgsan's half of the protocol, so that supervisor and reports can be tested
 * alone. `rank PART`: each part is one test's behaviour.
 *   finding   joins, tells its kernels and allocations, and rank 0 puts findings into its ring
 *   formal    joins and puts a formal finding; `mixed`: and one that is not, and both of a third pair of sites
 *   handles   two ranks exchange tokens and handles
 *   die       joins, finds, and is killed by SIGKILL
 *   again     joins three times, the third time in the place of the first
 *   processes two processes of one rank race; then another one that has the second one's place
 *   places    of three ranks each has a second process, one after the other in one place; each races with its parent
 *   crowd     joins three times at once, the third time in vain, and once more for one that left
 *   slow      checks a hundred accesses every 300 ms, for five seconds; rank 0 finds one race after three
 *   fatal     joins, and says that it cannot be checked
 *   bad       says what the protocol does not know */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ipc/ipc.h"
#include "ipc/job.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			exit(9); \
		} \
	} while (0)

static int sock, rank;
static struct job *job;
static uint32_t me;

static int call(struct ipc_msg *msg, int fd_in, int *fd_out)
{
	msg->participant = (int32_t)me;
	return ipc_call(sock, msg, fd_in, fd_out);
}

static void join(const char *bus)
{
	int fd = -1;
	struct ipc_msg msg = {.type = IPC_JOIN, .rank = rank, .pid = getpid()};
	sock = ipc_connect(getenv(GSAN_ENV_SOCKET), 2000);
	CHECK(sock >= 0);
	ipc_text(&msg, "%s", bus);
	CHECK(!ipc_call(sock, &msg, -1, &fd) && fd >= 0);
	me = (uint32_t)msg.participant;
	job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(job != MAP_FAILED && job->proto == GSAN_PROTO && job->abi == GSAN_ABI);
	close(fd);
	struct job_rank *mine = &job->rank[me];
	CHECK(atomic_load(&mine->state) == JOB_JOINED && !strcmp(mine->gpu_bus, bus));
	snprintf(mine->gpu_name, sizeof mine->gpu_name, "Test GPU");
}

static int text_fd(const char *text)
{
	int fd = memfd_create("info", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, text, strlen(text) + 1) == (ssize_t)strlen(text) + 1);
	return fd;
}

static void tell_kernel(uint32_t id, const char *name, const char *sites)
{
	char text[1000];
	struct ipc_msg msg = {.type = IPC_KERNEL, .kernel = id};
	snprintf(text, sizeof text, "gsan-info\t%u\t%s\tsync\nsource\t%s.ptx\n%s", GSAN_ABI, name, name, sites);
	int fd = text_fd(text);
	CHECK(!call(&msg, fd, NULL));
	close(fd);
}

static void tell(void)
{
	struct ipc_msg msg = {.type = IPC_ALLOC, .alloc = 1, .base = GSAN_DATA_BASE + me * GSAN_SLICE, .size = 4096};
	ipc_text(&msg, "buffer of %u", me);
	CHECK(!call(&msg, -1, NULL));
	tell_kernel(1, "produce",
		    "site\t1\tring.py\t31\t12\tproduce\tst\tweak\t-\t4\t-\n"
		    "site\t2\tring.py\t33\t3\tproduce\tst\trelaxed\tsys\t4\t-\n"
		    "left\tring.py\t40\tcp.async.bulk\tbulk copies are not modelled\n");
	tell_kernel(2, "consume",
		    "site\t7\tring.py\t47\t9\ttake\tld\tweak\t-\t4\tring.py:60\n"
		    "site\t8\tring.py\t45\t3\tconsume\tld\tacquire\tsys\t4\t-\n");
	msg = (struct ipc_msg){.type = IPC_NOTE};
	ipc_text(&msg, "unchecked\tgemm\tno PTX");
	CHECK(!call(&msg, -1, NULL));
	struct job_rank *mine = &job->rank[me];
	atomic_store(&mine->launches_checked, 2);
	atomic_store(&mine->launches_counted, 2);
	atomic_store(&mine->launches_unchecked, 1);
	atomic_store(&mine->counter[GSAN_N_ACCESSES], 100);
	atomic_store(&mine->counter[GSAN_N_CHECKED], 90);
	atomic_store(&mine->state, JOB_RUNNING);
}

#define SECOND GSAN_GUEST /* the place of a second process, in a job of one rank */

static struct gsan_finding finding(uint32_t first_seq, uint32_t second_seq)
{
	struct gsan_finding f = {.kind = GSAN_RAW, .reason = GSAN_WHY_RELAXED_WRITE, .bytes = 4,
				 .address = GSAN_DATA_BASE + 1 * GSAN_SLICE + 64};
	f.first = (struct gsan_side){.seq = first_seq, .kernel = 1, .participant = 0, .site = 1, .op = GSAN_OP_ST,
				     .grid = {2, 1, 1}, .ctaid = {~0u, ~0u, ~0u}};
	f.second = (struct gsan_side){.seq = second_seq, .kernel = 2, .participant = 1, .site = 7, .op = GSAN_OP_LD,
				      .grid = {2, 1, 1}, .ctaid = {1, 0, 0}};
	f.flag_write_site = 2;
	f.flag_read_site = 8;
	f.flag_kernel[0] = 1;
	f.flag_kernel[1] = 2;
	f.flag_participant[0] = f.first.participant;
	f.flag_participant[1] = f.second.participant;
	return f;
}

static void put(struct gsan_finding f)
{
	struct gsan_ring *ring = &job->rank[me].ring;
	uint64_t ticket = __atomic_fetch_add(&ring->head, 1, __ATOMIC_RELAXED);
	struct gsan_finding *slot = &ring->slot[ticket % GSAN_RING_SLOTS];
	f.ready = 0;
	*slot = f;
	__atomic_store_n(&slot->ready, (uint32_t)(ticket + 1), __ATOMIC_RELEASE);
}

static void event_at(uint32_t participant, uint32_t seq, enum job_event_kind kind, uint64_t begun, uint64_t ended)
{
	struct job_rank *to = &job->rank[participant];
	uint64_t n = atomic_load(&to->events);
	to->event[0][n] = (struct job_event){.first = seq, .last = seq, .kind = (uint8_t)kind, .count = 1, .begun = begun, .ended = ended};
	atomic_store_explicit(&to->events, n + 1, memory_order_release);
}
static void merged(uint32_t participant, uint32_t first, uint32_t last, uint32_t count, enum job_event_kind kind)
{
	struct job_rank *to = &job->rank[participant];
	uint64_t n = atomic_load(&to->events);
	to->event[0][n] = (struct job_event){.first = first, .last = last, .count = count, .kind = (uint8_t)kind, .begun = 3000};
	atomic_store_explicit(&to->events, n + 1, memory_order_release);
}

static void event(uint32_t participant, uint32_t seq, enum job_event_kind kind) { event_at(participant, seq, kind, 0, 0); }

/* A value that a stream of `participant` writes, and the first launch of the other that may come behind a host that read it. */
static void value(uint32_t participant, uint32_t seq, uint32_t seen)
{
	struct job_rank *to = &job->rank[participant];
	uint32_t n = atomic_load(&to->signals);
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		atomic_store(&to->signal[n].seen[q], q == !participant ? seen : JOB_NOT_SEEN);
	atomic_store(&to->signal[n].seq, seq);
	atomic_store_explicit(&to->signals, n + 1, memory_order_release);
}

static void moment(uint32_t participant, uint64_t at, uint32_t next)
{
	struct job_rank *to = &job->rank[participant];
	uint32_t n = atomic_load(&to->moments);
	to->moment[n] = (struct job_moment){.from = at, .until = at + 10, .next = next};
	atomic_store_explicit(&to->moments, n + 1, memory_order_release);
}

static struct gsan_finding told(uint32_t participant, uint32_t seq)
{
	return (struct gsan_finding){.kind = GSAN_TOLD, .second = {.participant = (uint8_t)participant, .seq = seq, .kernel = 1}};
}

static void wait_for(uint32_t participant, enum job_state state)
{
	for (int i = 0; atomic_load(&job->rank[participant].state) < (uint32_t)state; i++) {
		CHECK(i < 1000);
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
}

static void part_finding(void)
{
	join(rank ? "0000:02:00.0" : "0000:01:00.0");
	tell();
	wait_for(!rank, JOB_RUNNING); /* a kernel is told before it can be found in a race */
	if (rank == 0) {
		put(finding(3, 1));
		put(finding(3, 1));
		put(finding(4, 2));
		/* Ordered by a barrier of both: after 10, before 12. Withheld: unknown kernels of both around it. */
		event(0, 11, JOB_EVENT_BARRIER);
		event(1, 11, JOB_EVENT_BARRIER);
		put(finding(10, 12));
		event(0, 21, JOB_EVENT_OPAQUE);
		event(1, 6, JOB_EVENT_OPAQUE);
		put(finding(20, 7)); /* no barrier of p after 20; opaque 21 ≥ 20 and 6 ≤ 7 */
		/* None, though 156 stands there: the driver refused it. */
		event(0, 156, JOB_EVENT_OPAQUE);
		job->rank[0].event[0][atomic_load(&job->rank[0].events) - 1].count = 0;
		put(finding(155, 7));
		/* Merged records. Unknown kernels from 61 to 69, behind 60, perhaps behind 65, not behind 70. Barriers: the second to
		 * fourth lie in 81 to 89, so the second is behind 80, and perhaps 85; the fifth is 91. The other one's second and third lie in
		 * 32 to 38, before 53, not before 31, and perhaps before 35; its fourth and fifth behind 39, and perhaps behind 41. */
		merged(0, 61, 69, 5, JOB_EVENT_OPAQUE);
		merged(0, 81, 89, 3, JOB_EVENT_BARRIER);
		event(0, 91, JOB_EVENT_BARRIER);
		merged(1, 32, 38, 2, JOB_EVENT_BARRIER);
		merged(1, 40, 42, 2, JOB_EVENT_BARRIER);
		put(finding(60, 31)); /* withheld */
		put(finding(65, 31)); /* perhaps only because they are merged */
		put(finding(70, 31)); /* a race */
		put(finding(80, 53)); /* ordered */
		put(finding(90, 53));
		put(finding(85, 41)); /* perhaps only because ... */
		put(finding(80, 35));
		put(finding(80, 31)); /* races */
		put(finding(90, 39));
		/* Withheld, too: a stream of the first one's process writes a value after 30 that a host has read before the
		 * other one's 7, but not before 5; and one after 40, that the other one's unknown kernel 21 may have read. */
		value(1, 31, 7);
		value(1, 41, JOB_NOT_SEEN);
		struct gsan_finding f = finding(30, 7);
		f.first.participant = 1;
		f.second.participant = 0;
		put(f);
		f.second.seq = 5;
		f.kind = GSAN_WAR;
		put(f);
		f.first.seq = 40;
		f.second.seq = 22;
		put(f);
		f.second.seq = 10;
		put(f);
		/* The other one's unknown kernel 15 was over when 51 was told to run, a race; not when 46 was, withheld. */
		event_at(0, 15, JOB_EVENT_OPAQUE, 500, 1000);
		event_at(1, 46, JOB_EVENT_OPAQUE, 700, 0);
		event_at(1, 51, JOB_EVENT_OPAQUE, 2000, 0);
		f.kind = finding(3, 1).kind;
		f.second.seq = 20;
		f.first.seq = 50;
		put(f);
		f.first.seq = 45;
		put(f);
		/* Withheld, too: launch 101 of the other one's process wrote where a host may read. It was launched at 4000 or
		 * later, when 91 here, but not 90, may have been launched by that host. What comes behind 101 there is a race; so
		 * are, in one's own process, what comes behind all such launches, and what was launched no later than they. */
		moment(1, 1000, 60);
		moment(1, 4000, 101);
		moment(1, 6000, 102);
		moment(0, 900, 80);
		moment(0, 3980, 91);
		moment(0, 3995, 92);
		put(told(1, 101));
		static const uint32_t pairs[][2] = {{100, 91}, {101, 120}, {101, 90}, {102, 120}};
		for (int i = 0; i < 4; i++) {
			f.first.seq = pairs[i][0];
			f.second.seq = pairs[i][1];
			f.address += 64;
			f.kind = i < 2 ? GSAN_WAW : GSAN_RAW;
			put(f);
		}
		put(told(0, 203));
		put(told(0, 205));
		put(told(0, 204));
		/* The last two: what was 102 over there may be what they told, if they are not before it. */
		static const uint32_t own[][4] = {{0, 203, 206, 0}, {0, 202, 204, 0}, {0, 206, 208, 0}, {0, 202, 203, 0},
						  {1, 102, 206, 0}, {1, 102, 206, 206}};
		f.second.stream = 1;
		f.floor[1] = 102;
		for (int i = 0; i < 6; i++) {
			f.first.participant = (uint8_t)own[i][0];
			f.first.seq = own[i][1];
			f.second.seq = own[i][2];
			f.floor[0] = own[i][3];
			f.kind = i < 2 || i == 4 ? GSAN_WAW : GSAN_RAW;
			put(f);
		}
		/* Withheld, too: what the second one acquired came from a launch behind the barrier, the unknown kernel, the value or
		 * the host that was told; that was launched later than it. */
		static const uint32_t later[][5] = {{0, 10, 9, 1, 12}, {0, 20, 5, 1, 7}, {1, 30, 5, 0, 7}, {1, 100, 90, 0, 91}};
		f.kind = GSAN_SCOPE;
		memset(f.floor, 0, sizeof(f.floor));
		for (int i = 0; i < 4; i++) {
			f.first.participant = (uint8_t)later[i][0];
			f.first.seq = later[i][1];
			f.second.participant = !later[i][0];
			f.second.seq = later[i][2];
			memset(f.newest, 0, sizeof(f.newest));
			f.newest[later[i][3]] = later[i][4];
			f.address += 64;
			put(f);
		}
		/* Unknown kernel 5, and a ticket that nobody finishes. */
		f = finding(3, 1);
		f.kind = GSAN_WAW;
		f.first.kernel = 5;
		f.second.participant = 0;
		f.second.kernel = 5;
		f.second.seq = f.first.seq;
		f.second.op = GSAN_OP_RMW + GSAN_GPU;
		f.reason = GSAN_WHY_NONE;
		f.address = 64;
		put(f);
		__atomic_fetch_add(&job->rank[me].ring.head, 1, __ATOMIC_RELAXED);
	}
}

/* Formal: of line 31. In earnest: of line 33, which would stand behind it. Both: of lines 31 and 45. */
static void part_formal(int mixed)
{
	static const struct { uint16_t first, second; uint8_t formal, reason; } put_as[] = {
		{1, 7, 1, GSAN_WHY_RELAXED_WRITE}, {2, 7, 0, GSAN_WHY_NONE}, {1, 8, 1, GSAN_WHY_NONE}, {1, 8, 0, GSAN_WHY_NONE}};
	join("0000:01:00.0");
	tell();
	for (int i = 0; i < (mixed ? 4 : 1); i++) {
		struct gsan_finding f = finding(3, 3);
		f.second.participant = f.flag_participant[1] = 0;
		f.first.site = put_as[i].first;
		f.second.site = put_as[i].second;
		f.formal = put_as[i].formal;
		f.reason = put_as[i].reason;
		put(f);
	}
}

static int same_file(int a, int b)
{
	struct stat x, y;
	CHECK(!fstat(a, &x) && !fstat(b, &y));
	return x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static void part_slow(void)
{
	join(rank ? "0000:02:00.0" : "0000:01:00.0");
	tell();
	for (unsigned i = 1; i <= 16; i++) {
		nanosleep(&(struct timespec){0, 300000000}, NULL);
		atomic_store(&job->rank[me].counter[GSAN_N_CHECKED], 100 * i);
		if (rank == 0 && i >= 9)
			put(finding(i, i)); /* the same in other launches */
	}
}

static int name(uint64_t base, const char *as, uint32_t length)
{
	struct ipc_msg msg = {.type = IPC_NAME, .base = base, .size = 0x100, .alloc = 12};
	ipc_text(&msg, "%s %u", as, me);
	msg.length = length;
	return call(&msg, -1, NULL);
}

static int32_t named(const char *as, uint64_t base)
{
	struct ipc_msg msg = {.type = IPC_NAMED};
	ipc_text(&msg, "%s %u", as, me);
	msg.length = 64;
	int rc = call(&msg, -1, NULL);
	CHECK(rc || (msg.base == base && msg.size == 0x100 && msg.alloc == 12));
	return rc ? rc : msg.participant;
}

/* The driver's names are 64 bytes, for memory of a participant that is there; whoever has its memory may tell. */
static void part_names(void)
{
	const uint64_t own = GSAN_DATA_BASE + me * GSAN_SLICE, other = GSAN_DATA_BASE + !me * GSAN_SLICE, past = GSAN_DATA_BASE + GSAN_PARTICIPANTS * GSAN_SLICE;
	CHECK(name(own, "own", 64) == 0 && named("own", own) == (int32_t)me);
	CHECK(name(other, "other", 64) == 0 && named("other", other) == !me);
	CHECK(name(own, "short", 63) == -EINVAL && name(own, "long", 65) == -EINVAL && named("short", own) == -ENOENT);
	CHECK(name(past, "past", 64) == -EINVAL && name(GSAN_DATA_BASE - 1, "before", 64) == -EINVAL && named("past", past) == -ENOENT);
	CHECK(name(past - 1, "nobody", 64) == -ENOENT && named("nobody", past - 1) == -ENOENT);
}

static void part_handles(void)
{
	int real = text_fd("memory"), token = -1, got = -1;
	join("0000:01:00.0"); /* both on one GPU */
	struct ipc_msg msg = {.type = IPC_PUT, .space = IPC_SHADOW, .base = 0x10000 * me, .size = 0x10000};
	CHECK(!call(&msg, real, NULL));
	msg = (struct ipc_msg){.type = IPC_EXPORT, .base = 0x500, .size = 0x100, .alloc = 12};
	CHECK(!call(&msg, real, &token) && token >= 0);
	msg = (struct ipc_msg){.type = IPC_IMPORT};
	CHECK(!call(&msg, token, &got) && same_file(got, real) && msg.base == 0x500 && msg.alloc == 12);
	CHECK(msg.participant == (int32_t)me);
	close(got);
	msg = (struct ipc_msg){.type = IPC_IMPORT};
	CHECK(call(&msg, real, &got) == -ENOENT);
	msg = (struct ipc_msg){.type = IPC_FREED, .alloc = 12};
	CHECK(!call(&msg, -1, NULL));
	for (int tries = 0;; tries++) { /* until the other one has put its part */
		CHECK(tries < 1000);
		unsigned found = 0;
		msg = (struct ipc_msg){.type = IPC_GET, .space = IPC_SHADOW, .base = 0, .size = 0x20000};
		while (!call(&msg, -1, &got)) {
			close(got);
			CHECK(msg.size == 0x10000 && msg.base == 0x10000ull * (unsigned)msg.participant);
			found |= 1u << msg.participant;
			msg.type = IPC_GET;
			msg.base = 0;
			msg.size = 0x20000;
		}
		CHECK(msg.type == IPC_ERROR && msg.error == -ENOENT);
		if (found == 3)
			break;
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	wait_for(!rank, JOB_JOINED);
	part_names();
	CHECK(job->rank[0].gpu == job->rank[1].gpu);
	struct timespec later = {0, 200000000}; /* the other one may still be looking */
	nanosleep(&later, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Processes that come and go. What the first one's kernel told a host counts for its findings, whoever has its place later; for those
 * of the others as far as they had launched the first side while it was there, and the second one after it had launched that kernel. */
static void part_again(void)
{
	for (int turn = 0; turn < 3; turn++) {
		join("0000:01:00.0");
		CHECK(me == (turn == 1 ? SECOND : 0));
		tell();
		if (!turn)
			moment(SECOND, now_ns() - 1000, 160);
		moment(me, now_ns(), 200);
		struct gsan_finding f = finding(203, 206);
		f.second.participant = 0;
		f.second.stream = 1;
		f.kind = turn ? GSAN_WAW : GSAN_WAR;
		if (!turn)
			put(told(0, 203));
		if (!me)
			put(f);
		f.first.seq = 206;
		f.second.seq = 208;
		f.kind = GSAN_RAW;
		if (!turn)
			put(f);
		if (turn == 2) { /* the other one's: withheld, but not where the second side was launched before that kernel */
			f.first.participant = f.second.participant = SECOND;
			f.first.seq = 201;
			f.second.seq = 301;
			put(f);
			f.first.seq = 140;
			f.second.seq = 150;
			f.address += 64;
			put(f);
		}
		close(sock);
		wait_for(me, JOB_LEFT);
	}
}

/* Who it was counts when a finding arrives: the second child has the place of the first, and its pid is another one. */
static void part_processes(void)
{
	int status;
	join("0000:01:00.0");
	tell();
	printf("%d\n", (int)getpid());
	for (uint32_t turn = 0; turn < 2; turn++) {
		fflush(stdout);
		pid_t child = fork();
		CHECK(child >= 0);
		if (!child) {
			struct gsan_finding f = finding(3 + turn, 3 + turn);
			close(sock);
			join("0000:01:00.0");
			CHECK(me == SECOND && atomic_load(&job->rank[me].first) == turn << (GSAN_GUEST_BITS - 1) && job->rank[me].next == job->rank[me].first);
			atomic_fetch_add(&job->rank[me].next, 5); /* whoever has the place next begins in the next half of the numbers */
			f.second.participant = SECOND;
			tell();
			f.reason = GSAN_WHY_NONE;
			put(f);
			printf("%d\n", (int)getpid());
			exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && !status);
		wait_for(SECOND, JOB_LEFT);
	}
}

/* The second process of a rank, in the place that the ranks before had for theirs; it says something of its own. */
static void places_child(const char *bus)
{
	struct gsan_finding f = finding(3, 3);
	char name[32], sites[200];
	close(sock);
	join(bus);
	CHECK(me == 3 && job->rank[3].gpu == (rank ? 2u + (uint32_t)rank : 0u));
	tell();
	snprintf(name, sizeof name, "of_%d", rank);
	snprintf(sites, sizeof sites, "site\t7\t%s.py\t1\t1\t%s\tld\tweak\t-\t4\t-\nleft\t%s.py\t2\tst.async\tnot modelled\n", name, name, name);
	tell_kernel(2, name, sites);
	f.first.participant = (uint8_t)rank;
	f.second.participant = 3;
	f.address = GSAN_DATA_BASE + 3 * GSAN_SLICE + 64;
	f.reason = GSAN_WHY_NONE;
	put(f);
	f.first.seq = 20;
	f.second.seq = 7;
	event_at((uint32_t)rank, 21, JOB_EVENT_OPAQUE, 0, 0);
	event_at(3, 6, JOB_EVENT_OPAQUE, 0, 0);
	put(f); /* withheld */
	atomic_store(&job->rank[3].counter[GSAN_N_FOREIGN], 1);
	atomic_store(&job->rank[3].foreign_bytes[JOB_PINNED], 1000 + (uint64_t)rank);
	exit(0);
}

static void part_places(void)
{
	static const char *const bus[3][2] = {{"0000:01:00.0", "0000:01:00.0"}, {"0000:02:00.0", "0000:04:00.0"}, {"0000:03:00.0", "0000:05:00.0"}};
	int status;
	join(bus[rank][0]);
	tell();
	for (int i = 0; rank && (atomic_load(&job->rank[3].state) != JOB_LEFT || atomic_load(&job->rank[3].rank) != rank - 1); i++) {
		CHECK(i < 2000);
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	for (uint32_t other = 0; other < 3; other++)
		wait_for(other, JOB_RUNNING);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child)
		places_child(bus[rank][1]);
	CHECK(waitpid(child, &status, 0) == child && !status);
	for (int i = 0; atomic_load(&job->rank[3].rank) < 2 || atomic_load(&job->rank[3].state) != JOB_LEFT; i++) {
		CHECK(i < 2000);
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
}

static void part_crowd(void)
{
	struct ipc_msg msg = {.type = IPC_JOIN, .rank = rank, .pid = getpid()};
	int fd = -1, first, third;
	join("");
	first = sock;
	join("");
	CHECK(!job->writers.streams[0]);
	third = ipc_connect(getenv(GSAN_ENV_SOCKET), 2000);
	CHECK(third >= 0 && !ipc_call(third, &msg, -1, &fd) && msg.participant == -1 && fd >= 0);
	close(fd);
	CHECK(job->writers.streams[0] && job->writers.newest[0][GSAN_STREAMS - 1] == UINT32_MAX);
	close(sock);
	close(first);
	wait_for(0, JOB_LEFT);
	wait_for(SECOND, JOB_LEFT);
	join("");
	CHECK(job->writers.streams[0]); /* it may run still */
}

static void part_fatal(void)
{
	struct ipc_msg msg = {.type = IPC_NOTE};
	join("");
	ipc_text(&msg, "fatal\taddress range\tit is taken");
	CHECK(!call(&msg, -1, NULL));
}

static void part_bad(void)
{
	struct ipc_msg msg = {.type = IPC_PUT};
	join("");
	CHECK(call(&msg, -1, NULL) == -EINVAL);
	msg = (struct ipc_msg){.type = 999};
	CHECK(call(&msg, -1, NULL) == -ENOSYS);
	msg = (struct ipc_msg){.type = IPC_WAIT};
	CHECK(call(&msg, -1, NULL) == -EINVAL); /* not a launcher */
	msg = (struct ipc_msg){.type = IPC_KERNEL, .kernel = 1};
	static const char *const terms[][2] = {{"", "--device: '' for rank 0, 'emu' for rank 0, which started the job; --seed: '' for"},
					       {"device\temu\nnonsense", "--seed: '' for rank 0, '0' for rank 0"},
					       {"device\temu\nseed\t00\n", "--seed: '00' for rank 0, '0' for rank 0"}};
	for (int i = 0; i < 3; i++) { /* a launcher that does not say what the others do */
		int other = ipc_connect(getenv(GSAN_ENV_SOCKET), 2000);
		struct ipc_msg hello = {.type = IPC_LAUNCHER, .size_ranks = 1};
		ipc_text(&hello, "%s", terms[i][0]);
		CHECK(other >= 0 && ipc_call(other, &hello, -1, NULL) == -EINVAL && !strncmp(hello.text, terms[i][1], strlen(terms[i][1])));
		close(other);
	}
	int fd = text_fd("nonsense");
	CHECK(call(&msg, fd, NULL) == -EINVAL);
	struct gsan_finding f = finding(1, 1);
	f.first.participant = 200;
	put(f);
	put(told(200, 1));
	CHECK(write(sock, "x", 1) == 1); /* not a message: the supervisor hangs up, and goes on */
	nanosleep(&(struct timespec){0, 300000000}, NULL);
	msg = (struct ipc_msg){.type = IPC_RANK};
	CHECK(call(&msg, -1, NULL) == -ECONNRESET);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2 && getenv(GSAN_ENV_RANK) && getenv(GSAN_ENV_SOCKET));
	rank = atoi(getenv(GSAN_ENV_RANK));
	if (!strcmp(argv[1], "finding")) {
		part_finding();
	} else if (!strcmp(argv[1], "die")) {
		part_finding();
		raise(rank ? SIGKILL : SIGSEGV);
	} else if (!strcmp(argv[1], "formal") || !strcmp(argv[1], "mixed")) {
		part_formal(!strcmp(argv[1], "mixed"));
	} else if (!strcmp(argv[1], "slow")) {
		part_slow();
	} else if (!strcmp(argv[1], "handles")) {
		part_handles();
	} else if (!strcmp(argv[1], "again")) {
		part_again();
	} else if (!strcmp(argv[1], "processes")) {
		part_processes();
	} else if (!strcmp(argv[1], "places")) {
		part_places();
	} else if (!strcmp(argv[1], "crowd")) {
		part_crowd();
	} else if (!strcmp(argv[1], "fatal")) {
		part_fatal();
	} else if (!strcmp(argv[1], "bad")) {
		part_bad();
	} else {
		return 9;
	}
	return 0;
}
