/* What a checked launch asks of others: the hooks, the clock and the real src/vmm over a driver that only keeps books. Pinned: which
 * functions of the driver a launch calls and how often, that it makes no system call and allocates nothing, and that none of this
 * depends on the number of streams, ranks or launches. `cost_test STREAMS RANKS COUNT` makes so many launches inside measured(), for
 * `valgrind --tool=callgrind --toggle-collect=measured`. */
#include <cuda.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../vmm/fake.h"
#include "../vmm/super.h"
#include "cuda/real.h"

#define STREAMS 8
#define RANKS 8
#define COUNT 1000

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1); \
		} \
	} while (0)

/* ---- a driver that counts ------------------------------------------------------------------------------------ */

enum called {
#define REAL(name, prototype) CALLED_##name,
#include "cuda/real.def"
	FUNCTIONS
};
static unsigned calls[FUNCTIONS];
static struct real behind; /* what `real` was */

static CUresult counted_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			       unsigned shared, CUstream stream, void **params, void **extra)
{
	calls[CALLED_cuLaunchKernel]++;
	return behind.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

static CUresult counted_device(CUdevice *device)
{
	calls[CALLED_cuCtxGetDevice]++;
	return behind.cuCtxGetDevice(device);
}

/* Marks (src/driver/mark.c). */
static CUresult counted_event(CUevent *event, unsigned flags)
{
	(void)flags;
	calls[CALLED_cuEventCreate]++;
	*event = (CUevent)(void *)&calls[CALLED_cuEventCreate];
	return CUDA_SUCCESS;
}

static CUresult counted_record(CUevent event, CUstream in)
{
	(void)event, (void)in;
	calls[CALLED_cuEventRecord]++;
	return CUDA_SUCCESS;
}

/* No other is called by a launch that the tests make here. */
#define REAL(name, prototype) \
	static CUresult never_##name(void) \
	{ \
		fprintf(stderr, "a launch calls " #name "\n"); \
		_exit(1); \
	}
#include "cuda/real.def"

static void count_from_here(void)
{
	behind = real;
	memset(calls, 0, sizeof calls);
#define REAL(name, prototype) \
	if (real.name) \
		real.name = (__typeof__(real.name))(void *)never_##name;
#include "cuda/real.def"
	real.cuLaunchKernel = counted_launch;
	real.cuCtxGetDevice = counted_device;
	real.cuEventCreate = counted_event;
	real.cuEventRecord = counted_record;
}

/* ---- a process that may do nothing else ----------------------------------------------------------------------- */

static int allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}
void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* What remains: to say what went wrong, and to end. The time is the C library's to tell, where it can without a call. */
static void no_more_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_clock_gettime),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	allocations = 0;
}

/* ---- the program --------------------------------------------------------------------------------------------- */

static CUfunction twin, plain;
static CUstream stream[STREAMS];

static int devices;
static CUresult device_count(int *count)
{
	*count = devices;
	return CUDA_SUCCESS;
}

/* A peer in each other place of the job, whose host has seen something complete. */
static void start(uint32_t ranks, unsigned streams, int gpus)
{
	CUmodule module;

	CHECK(real_load(1) == 0);
	behind = real;
	fake_install();
#define REAL(name, prototype) \
	if (!real.name) \
		real.name = behind.name;
#include "cuda/real.def"
	devices = gpus;
	real.cuDeviceGetCount = device_count;
	super_start();
	super.job->participants = ranks;
	super.job->rank_bits = 14;
	for (uint32_t q = 1; q < ranks; q++) {
		atomic_store(&super.job->rank[q].next, 100);
		atomic_store(&super.job->rank[q].clock.floor, 50);
		atomic_store(&super.job->rank[q].clock.stream[1], 90);
		atomic_store(&super.job->rank[q].state, JOB_RUNNING);
	}
	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&twin, module, "twin") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&plain, module, "plain") == CUDA_SUCCESS);
	for (unsigned s = 0; s < streams; s++)
		CHECK(cuStreamCreate(&stream[s], CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
}

void measured(unsigned streams, unsigned count); /* a name for callgrind */
__attribute__((noinline)) void measured(unsigned streams, unsigned count)
{
	uint64_t argument = 42;
	void *params[] = {&argument};

	for (unsigned i = 0; i < count; i++)
		if (cuLaunchKernel(twin, 1, 1, 1, 32, 1, 1, 0, stream[i % streams], params, NULL) != CUDA_SUCCESS)
			_exit(1);
}

/* Launches of other forms, of another shape, of a kernel that has no clone, and into the thread's default stream: 4 are checked. */
static void others(void)
{
	uint64_t argument = 42;
	size_t size = sizeof argument;
	void *params[] = {&argument};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &argument, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};

	CHECK(!cuLaunchKernel(twin, 1, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, params, NULL));
	CHECK(!cuLaunchKernel(twin, 1, 1, 1, 32, 1, 1, 0, stream[0], NULL, extra));
	CHECK(!cuLaunchKernel(twin, 1, 1, 1, 64, 1, 1, 0, stream[0], params, NULL));
	CHECK(!cuLaunchKernel(twin, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	CHECK(!cuLaunchKernel(plain, 1, 1, 1, 32, 1, 1, 0, stream[0], params, NULL));
}
#define OTHERS 5

static void test(uint32_t ranks, unsigned streams, int gpus)
{
	const struct job_rank *rank;

	start(ranks, streams, gpus);
	measured(streams, 2 * STREAMS); /* a kernel's, a stream's and a shape's first */
	rank = &super.job->rank[0];
	others();
	CHECK(atomic_load(&rank->launches_checked) == 2 * STREAMS + 4);
	count_from_here();
	no_more_calls();
	measured(streams, COUNT);
	others();
	CHECK(atomic_load(&rank->launches_checked) == 2 * STREAMS + COUNT + 2 * 4 && atomic_load(&rank->launches_unchecked) == 2);
	CHECK(calls[CALLED_cuLaunchKernel] == COUNT + OTHERS);
	CHECK(calls[CALLED_cuCtxGetDevice] == (gpus == 1 ? 0 : COUNT + OTHERS));
	CHECK(calls[CALLED_cuEventRecord] <= COUNT / 32 && calls[CALLED_cuEventCreate] <= calls[CALLED_cuEventRecord]);
	CHECK(!allocations);
	_exit(0);
}

static int passes(uint32_t ranks, unsigned streams, int gpus)
{
	int status;
	pid_t child = fork();

	if (!child)
		test(ranks, streams, gpus);
	waitpid(child, &status, 0);
	if (status)
		fprintf(stderr, "%u ranks, %u streams, %d GPUs: %s\n", ranks, streams, gpus, WIFSIGNALED(status) ? "a system call" : "failed");
	return !status;
}

int main(int argc, char **argv)
{
	if (argc == 4) {
		unsigned streams = (unsigned)atoi(argv[1]), ranks = (unsigned)atoi(argv[2]);
		start(ranks, streams, 1);
		measured(streams, (unsigned)atoi(argv[3]));
		_exit(0);
	}
	return !(passes(2, 1, 1) & passes(2, STREAMS, 1) & passes(RANKS, STREAMS, 1) & passes(RANKS, STREAMS, 2));
}
