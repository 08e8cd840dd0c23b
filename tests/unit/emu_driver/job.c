/* Jobs of several ranks under the one scheduler. This program is the job's supervisor and, started again by it, each of
 * the ranks; ranks share one block of device memory and talk over a socket pair. */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "kernels.h"

#define SIZE (2ull << 20)
#define LOG_AT 4096u   /* in the shared block: counter and flag come first */
#define ROUNDS 300u
#define MARKS (4 * ROUNDS) /* two ranks of two blocks */
#define LESSONS 20u

/* ---- ranks */

struct rank { int number, socket; CUdeviceptr shared; };

static void move_fd(int socket, int *fd, int send)
{
	char byte = 'x', control[CMSG_SPACE(sizeof *fd)] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *c = (struct cmsghdr *)control;
	if (send) {
		*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof *fd)};
		memcpy(CMSG_DATA(c), fd, sizeof *fd);
		CHECK(sendmsg(socket, &m, 0) == 1);
	} else {
		CHECK(recvmsg(socket, &m, 0) == 1);
		memcpy(fd, CMSG_DATA(c), sizeof *fd);
	}
}

/* Rank 0 makes the block, rank 1 imports it. */
static void share(struct rank *r)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	int fd;
	if (r->number == 0) {
		OK(cuMemCreate(&handle, SIZE, &prop, 0));
		OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		move_fd(r->socket, &fd, 1);
	} else {
		move_fd(r->socket, &fd, 0);
		OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	}
	close(fd);
	OK(cuMemAddressReserve(&r->shared, SIZE, 0, 0, 0));
	OK(cuMemMap(r->shared, SIZE, 0, handle, 0));
	OK(cuMemSetAccess(r->shared, SIZE, &access, 1));
}

static void launch_turns(const struct rank *r)
{
	CUdeviceptr log = r->shared + LOG_AT;
	unsigned mark = (unsigned)r->number * 2, n = ROUNDS;
	CUdeviceptr counter = r->shared;
	void *params[] = {&counter, &log, &mark, &n};
	OK(cuLaunchKernel(load(job_ptx, "turns"), 2, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static void launch_relay(const struct rank *r, unsigned rounds)
{
	CUdeviceptr flag = r->shared + 64;
	unsigned mine = (unsigned)r->number;
	void *params[] = {&flag, &mine, &rounds};
	OK(cuLaunchKernel(load(job_ptx, "relay"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static void launch_spin(const struct rank *r)
{
	CUdeviceptr flag = r->shared + 128;
	void *params[] = {&flag};
	OK(cuLaunchKernel(load(job_ptx, "spin"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

/* Both ranks' blocks take tickets; then a game that needs both kernels to run. Rank 0 prints what happened. */
static void rank_message(struct rank *r)
{
	char byte = 'd';
	share(r);
	launch_turns(r);
	launch_relay(r, 50);
	OK(cuCtxSynchronize());
	if (r->number == 1) {
		CHECK(((unsigned *)(uintptr_t)r->shared)[16] == 100);
		CHECK(write(r->socket, &byte, 1) == 1);
		return;
	}
	CHECK(read(r->socket, &byte, 1) == 1);
	CHECK(*(unsigned *)(uintptr_t)r->shared == MARKS);
	CHECK(write(1, (char *)(uintptr_t)r->shared + LOG_AT, MARKS * 4) == MARKS * 4);
}

/* Rank 0 waits for rank 1's message outside the driver, while rank 1's kernel needs rank 0's: it must still run. */
static void rank_outside(struct rank *r)
{
	char byte = 'x';
	share(r);
	launch_relay(r, 20);
	if (r->number == 0) {
		CHECK(read(r->socket, &byte, 1) == 1);
		OK(cuStreamQuery(NULL));
		return;
	}
	OK(cuCtxSynchronize());
	CHECK(write(r->socket, &byte, 1) == 1);
}

/* Rank 1 never ends and is killed while it spins; rank 0 works on. */
static void rank_death(struct rank *r)
{
	char byte = 'x';
	share(r);
	if (r->number == 1) {
		launch_spin(r);
		while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY)
			CHECK(write(1, &byte, 1) == 1); /* the supervisor kills it after some of these */
		exit(1);
	}
	for (int i = 0; i < 20; i++) {
		launch_turns(r);
		OK(cuCtxSynchronize());
	}
}

static void compute(int ms)
{
	struct timespec begun, t;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while ((t.tv_sec - begun.tv_sec) * 1000 + (t.tv_nsec - begun.tv_nsec) / 1000000 < ms);
}

static unsigned tickets(const struct rank *r) { return *(volatile unsigned *)(uintptr_t)r->shared; }

/* Rank 1's kernel may run when rank 0, which waited for long, has said what it does, not as soon as rank 1 waits too. */
static void rank_woken(struct rank *r)
{
	char byte = 'x';
	share(r);
	if (r->number == 1) {
		launch_turns(r);
		compute(100); /* many times the grace: rank 0 is found asleep */
		CHECK(write(r->socket, &byte, 1) == 1);
	} else {
		CHECK(read(r->socket, &byte, 1) == 1);
		compute(50);
		CHECK(tickets(r) == 0);
		launch_turns(r);
	}
	OK(cuCtxSynchronize());
}

/* The same while rank 0 waits for the supervisor, which takes its time: it asks on output and is answered on input. */
static void rank_answer(struct rank *r)
{
	char byte = 'x';
	share(r);
	if (r->number == 1)
		launch_turns(r);
	CHECK(write(1, &byte, 1) == 1);
	if (r->number == 0) {
		CHECK(read(0, &byte, 1) == 1);
		CHECK(tickets(r) == 0);
		launch_turns(r);
	}
	OK(cuCtxSynchronize());
}

/* Copies that need not wait for the device tell the hosts something, to one after the other, however fast each is; and a host that asks
 * by such copies alone sees rank 1's kernel go on. */
static void rank_learnt(struct rank *r)
{
	unsigned got;
	char byte = 'x';
	share(r);
	unsigned *shared = (unsigned *)(uintptr_t)r->shared;
	volatile unsigned *log = shared + LOG_AT / 4;
	if (r->number == 1)
		CHECK(write(r->socket, &byte, 1) == 1); /* it has called the driver, */
	else
		CHECK(read(r->socket, &byte, 1) == 1); /* and is not expected any more */
	for (unsigned i = 0; i < LESSONS; i++) {
		OK(cuMemcpyDtoH(&got, r->shared + 256, sizeof got));
		log[__atomic_fetch_add(shared, 1, __ATOMIC_SEQ_CST)] = (unsigned)r->number;
	}
	if (r->number == 1) {
		launch_turns(r);
		OK(cuCtxSynchronize());
		return;
	}
	do
		OK(cuMemcpyDtoH(&got, r->shared, sizeof got));
	while (got < 2 * LESSONS + 2 * ROUNDS);
	for (unsigned i = 0; i < 2 * LESSONS; i++)
		CHECK(log[i] == i % 2);
}

/* ---- the supervisor */

static pid_t start_rank(const char *self, const char *name, int number, int ranks, const char *seed, int socket, int in, int out)
{
	pid_t child = fork();
	if (child)
		return child;
	char text[4][32];
	snprintf(text[0], sizeof text[0], "%d", number);
	snprintf(text[1], sizeof text[1], "%d", socket);
	snprintf(text[2], sizeof text[2], "%d", ranks);
	setenv("GSAN_RANK", text[0], 1);
	setenv("EMU_RANKS", text[2], 1);
	setenv("EMU_SEED", seed, 1);
	setenv("EMU_JOIN_SECONDS", "2", 1);
	dup2(in, 0);
	dup2(out, 1);
	execl(self, self, name, text[0], text[1], (char *)NULL);
	_exit(127);
}

struct job { pid_t pid[2]; int in, out; };

static void start_job(struct job *j, const char *self, const char *name, int ranks, const char *seed, int *memory)
{
	char path[64];
	int pair[2], in[2], out[2];
	*memory = memfd_create("job", 0);
	CHECK(*memory >= 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && !pipe(in) && !pipe(out));
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), *memory);
	setenv("GSAN_EMU_JOB", path, 1);
	int present = !strcmp(name, "missing") ? 1 : ranks;
	for (int i = 0; i < present; i++)
		j->pid[i] = start_rank(self, name, i, ranks, seed, pair[i], in[0], out[1]);
	close(pair[0]);
	close(pair[1]);
	close(in[0]);
	close(out[1]);
	j->in = in[1];
	j->out = out[0];
}

static int end_rank(pid_t pid)
{
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

/* Runs "message" and returns the interleaving that its log holds. */
static void interleaving(const char *self, const char *seed, unsigned *marks)
{
	struct job j;
	int memory;
	size_t have = 0;
	start_job(&j, self, "message", 2, seed, &memory);
	for (ssize_t n; (n = read(j.out, (char *)marks + have, MARKS * 4 - have)) > 0;)
		have += (size_t)n;
	CHECK(end_rank(j.pid[0]) == 0 && end_rank(j.pid[1]) == 0 && have == MARKS * 4);
	close(j.in);
	close(j.out);
	close(memory);
}

static int switches(const unsigned *marks)
{
	int n = 0;
	for (unsigned i = 1; i < MARKS; i++)
		n += marks[i] / 2 != marks[i - 1] / 2;
	return n;
}

static void test_seeds(const char *self, int same)
{
	static unsigned first[MARKS], again[MARKS];
	interleaving(self, "7", first);
	CHECK(switches(first) > 4); /* the ranks really alternate */
	for (int i = 0; same && i < 4; i++) {
		interleaving(self, "7", again);
		CHECK(!memcmp(first, again, sizeof first));
	}
	if (!same) {
		interleaving(self, "8", again);
		CHECK(memcmp(first, again, sizeof first));
	}
}

static void test_death(const char *self)
{
	struct job j;
	int memory;
	char byte;
	start_job(&j, self, "death", 2, "1", &memory);
	for (int i = 0; i < 5; i++)
		CHECK(read(j.out, &byte, 1) == 1);
	CHECK(!kill(j.pid[1], SIGKILL));
	CHECK(WIFSIGNALED(end_rank(j.pid[1])) && end_rank(j.pid[0]) == 0);
}

/* By itself, or when a program has ended that it starts. */
static void test_answer(const char *self, int starts)
{
	struct job j;
	int memory;
	char byte;
	start_job(&j, self, "answer", 2, "1", &memory);
	for (int i = 0; i < 2; i++)
		CHECK(read(j.out, &byte, 1) == 1);
	pid_t child = starts ? fork() : 0;
	if (!child)
		compute(200);
	if (starts && !child)
		_exit(0);
	CHECK(!starts || end_rank(child) == 0);
	CHECK(write(j.in, &byte, 1) == 1);
	CHECK(end_rank(j.pid[0]) == 0 && end_rank(j.pid[1]) == 0);
}

static void test_plain(const char *self, const char *name)
{
	struct job j;
	int memory;
	start_job(&j, self, name, 2, "1", &memory);
	CHECK(end_rank(j.pid[0]) == 0);
	CHECK(!strcmp(name, "missing") || end_rank(j.pid[1]) == 0);
}

static void rank_missing(struct rank *r)
{
	OK(cuMemAlloc(&r->shared, 65536));
	launch_turns(r);
	OK(cuCtxSynchronize());
	CHECK(*(unsigned *)(uintptr_t)r->shared == 2 * ROUNDS);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(struct rank *); } table[] = {
		{"message", rank_message}, {"outside", rank_outside}, {"death", rank_death}, {"missing", rank_missing},
		{"woken", rank_woken}, {"answer", rank_answer},
		{"learnt", rank_learnt}};
	CHECK(argc > 1);
	if (argc == 4) {
		struct rank r = {.number = atoi(argv[2]), .socket = atoi(argv[3])};
		start();
		for (size_t i = 0; i < sizeof table / sizeof *table; i++)
			if (!strcmp(argv[1], table[i].name))
				table[i].run(&r);
		return 0;
	}
	const int answer = !strcmp(argv[1], "answer"), started = !strcmp(argv[1], "started");
	if (!strcmp(argv[1], "woken") || !strcmp(argv[1], "learnt") || answer || started)
		setenv("EMU_GRACE_MS", "2", 1);
	if (!strcmp(argv[1], "same_seed") || !strcmp(argv[1], "other_seed"))
		test_seeds(argv[0], !strcmp(argv[1], "same_seed"));
	else if (!strcmp(argv[1], "death"))
		test_death(argv[0]);
	else if (answer || started)
		test_answer(argv[0], started);
	else
		for (int i = 0; i < (strcmp(argv[1], "woken") ? 1 : 4); i++) /* which rank is looked at first differs */
			test_plain(argv[0], argv[1]);
	return 0;
}
