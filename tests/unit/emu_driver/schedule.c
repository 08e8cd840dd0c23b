/* Schedules of the program's steps (EMU_SCHEDULE=program, pct and lag): equal seeds give equal traces whatever a rewriter put
 * between the program's operations, other seeds others; whoever waits for others does not keep them waiting; races that
 * need a preemption between two operations are found. Each run is a process of its own. */
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "check.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define BEGIN(name) ".visible .entry " name "(.param .u64 at)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<8>;\n.reg .pred %p<4>;\n" \
	".reg .b32 %gsan_a;\n.reg .pred %gsan_p;\nld.param.u64 %rd1, [at];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, 0;\n"
#define NOTHING ""
#define SOME "mov.b32 %gsan_a, 1;\n"
/* A loop of the rewriter's, of a length that lane and CTA decide. */
#define MUCH(label) "{\n.reg .b32 %gsan_n;\nmov.u32 %gsan_n, %ctaid.x;\nmad.lo.u32 %gsan_n, %gsan_n, 77, 40;\n" \
	label ":\nsub.u32 %gsan_n, %gsan_n, 1;\nsetp.ne.u32 %gsan_p, %gsan_n, 0;\n@%gsan_p bra " label ";\n}\n"

/* Eight rounds of an increment that is not atomic: two loads and stores of others may come between. */
#define COUNT(name, x, y) BEGIN(name) "ROUND:\n" x "ld.volatile.global.u32 %r3, [%rd1];\nadd.u32 %r3, %r3, 1;\n" y \
	"st.volatile.global.u32 [%rd1], %r3;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra ROUND;\nret;\n}\n"
static const char count[][4096] = {
	HEAD COUNT("k", NOTHING, NOTHING) COUNT("k__gsan", NOTHING, NOTHING),
	HEAD COUNT("k", NOTHING, NOTHING) COUNT("k__gsan", SOME, SOME),
	HEAD COUNT("k", NOTHING, NOTHING) COUNT("k__gsan", MUCH("gsan_1"), MUCH("gsan_2")),
};

/* A lock of the rewriter's: the lane that has it stands behind the loop of those that want it, who sleep. */
#define LOCKED "{\n.reg .b32 %gsan_n;\ngsan_l: atom.global.cas.b32 %gsan_n, [%rd1+12], 0, 1;\nsetp.ne.u32 %gsan_p, %gsan_n, 0;\n" \
	"@%gsan_p nanosleep.u32 20;\n@%gsan_p bra gsan_l;\natom.global.exch.b32 %gsan_n, [%rd1+12], 0;\n}\n"
static const char locked[] = HEAD COUNT("k", NOTHING, NOTHING) COUNT("k__gsan", NOTHING, LOCKED);

/* What the runtime begins before an operation and ends behind it is not parted from it: gsan_before takes a lock, gsan_after
 * gives it back, and whoever finds it taken is counted at +8. */
#define CALL(name) "call gsan_" name ", (%rd1);\n"
#define PAIR(name) BEGIN(name) "ROUND:\n" CALL("before") "ld.volatile.global.u32 %r3, [%rd1];\n" CALL("after") \
	"add.u32 %r3, %r3, 1;\n" CALL("before") "st.volatile.global.u32 [%rd1], %r3;\n" CALL("after") \
	"add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra ROUND;\nret;\n}\n"
#define FUNCTION(name, body) ".func gsan_" name "(.reg .b64 %at)\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\n" body "ret;\n}\n"
static const char paired[] = HEAD
	FUNCTION("before", "TRY: atom.global.cas.b32 %r1, [%at+4], 0, 1;\nsetp.eq.u32 %p, %r1, 0;\n@%p ret;\n"
			   "red.global.add.u32 [%at+8], 1;\nbra TRY;\n")
	FUNCTION("after", "atom.global.exch.b32 %r1, [%at+4], 0;\n") COUNT("k", NOTHING, NOTHING) PAIR("k__gsan");

/* CTA 0 waits for all others, by a loop without a pause; lanes 0 and 1 of each wait for each other within the warp. */
static const char spin[] = HEAD BEGIN("k")
	"mov.u32 %r4, %tid.x;\nsetp.eq.u32 %p3, %r4, 0;\n@%p3 bra FIRST;\n"
	"SECOND: ld.volatile.global.u32 %r3, [%rd1+8];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra SECOND;\nbra MEET;\n"
	"FIRST: atom.global.exch.b32 %r5, [%rd1+8], 1;\n"
	"MEET: bar.sync 0;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra OTHER;\n"
	"WAIT: ld.volatile.global.u32 %r3, [%rd1+4];\nbar.sync 0;\nsetp.ne.u32 %p1, %r3, 384;\n@%p1 bra WAIT;\nret;\n"
	"OTHER: red.global.add.u32 [%rd1+4], 1;\nret;\n}\n";

/* Eight times as much before it in the job, or nothing: with EMU_AFRESH what comes after is the same. */
static const char other[] = HEAD COUNT("k", SOME "st.volatile.global.u32 [%rd1+16], %r2;\n", NOTHING);

/* All 128 threads of CTA 0 store and its first raises a flag, behind a barrier or not; CTA 1 counts what is missing then. */
#define LATE(barrier) HEAD BEGIN("k") "mov.u32 %r4, %tid.x;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd2, %rd1, %rd2;\n" \
	"setp.eq.u32 %p3, %r4, 0;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra READER;\nst.global.u32 [%rd2+512], 1;\n" barrier \
	"@%p3 st.release.gpu.global.u32 [%rd1+4], 1;\nret;\nREADER: @!%p3 bra MEET;\n" \
	"WAIT: ld.acquire.gpu.global.u32 %r3, [%rd1+4];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra WAIT;\nMEET: bar.sync 0;\n" \
	"ld.global.u32 %r3, [%rd2+512];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 red.global.add.u32 [%rd1], 1;\nret;\n}\n"
static const char with_barrier[] = LATE("bar.sync 0;\n"), without_barrier[] = LATE("");

/* Beside that, work that is not the program's. */
static const char beside[] = HEAD COUNT("k", NOTHING, NOTHING) COUNT("own", NOTHING, NOTHING);

struct result { uint32_t value[4]; uint64_t trace; };

static uint64_t hash_lines(const char *path)
{
	char line[512];
	uint64_t h = HASH_START;
	FILE *f = fopen(path, "r");
	CHECK(f);
	while (fgets(line, sizeof line, f))
		for (char *c = line; !strncmp(line, "mem", 3) && *c; c++)
			h = hash_step(h, (unsigned char)*c);
	fclose(f);
	unlink(path);
	return h;
}

/* Which CTAs came one after the other: launches of other numbers may read other values. */
static uint64_t hash_threads(const char *path)
{
	char line[512];
	unsigned long long launch, cta;
	uint64_t h = HASH_START;
	FILE *f = fopen(path, "r");
	CHECK(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "mem %llu %llu", &launch, &cta) == 2)
			h = hash_step(h, cta);
	fclose(f);
	unlink(path);
	return h;
}

static int others; /* kernels that are not the program's (EMU_TRACE_OWN), behind whose event its host looks, before and behind its own */
static CUstream stream;
static CUevent event;

static void launch_others(CUfunction f, CUdeviceptr at)
{
	at += 1024;
	for (int i = 0; i < others; i++)
		OK(cuLaunchKernel(f, 3, 1, 1, 40, 1, 1, 0, stream, (void *[]){&at}, NULL));
	OK(cuEventRecord(event, stream));
	CHECK(cuEventQuery(event) == (others ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS));
}

static void in_child(const char *ptx, const char *name, unsigned blocks, unsigned threads, int to)
{
	struct result r = {0};
	CUdeviceptr at;
	start();
	OK(cuMemAlloc(&at, 2048));
	OK(cuMemsetD8(at, 0, 2048));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING));
	const CUfunction f = load(ptx, name), own = others ? load(ptx, "own") : NULL;
	launch_others(own, at);
	OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	launch_others(own, at);
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(r.value, at, sizeof r.value));
	r.trace = hash_lines(getenv("EMU_TRACE"));
	CHECK(write(to, &r, sizeof r) == sizeof r);
	exit(0);
}

static struct result run(const char *schedule, unsigned seed, const char *ptx, const char *name, unsigned blocks, unsigned threads)
{
	char path[64], number[16];
	int fd[2], status;
	struct result r;
	CHECK(!pipe(fd));
	snprintf(path, sizeof path, "emu-schedule-%d", (int)getpid());
	snprintf(number, sizeof number, "%u", seed);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		setenv("EMU_TRACE", path, 1);
		setenv("EMU_TRACE_SUFFIX", "__gsan", 1);
		setenv("EMU_TRACE_OWN", "own", 1);
		setenv("EMU_TRACE_OWN_FLAGS", "3", 1);
		setenv("EMU_SCHEDULE", schedule, 1);
		setenv("EMU_SEED", number, 1);
		in_child(ptx, name, blocks, threads, fd[1]);
	}
	CHECK(read(fd[0], &r, sizeof r) == sizeof r);
	CHECK(waitpid(child, &status, 0) == child && !status);
	close(fd[0]);
	close(fd[1]);
	return r;
}

static void same_whatever_is_inserted(const char *schedule)
{
	unsigned different = 0, lost = 0;
	uint64_t first = 0;
	for (unsigned seed = 1; seed <= 8; seed++) {
		const struct result a = run(schedule, seed, count[0], "k__gsan", 4, 1), b = run(schedule, seed, count[1], "k__gsan", 4, 1),
				    c = run(schedule, seed, count[2], "k__gsan", 4, 1), d = run(schedule, seed, count[2], "k", 4, 1);
		CHECK(a.trace == b.trace && b.trace == c.trace && c.trace == d.trace);
		CHECK(a.value[0] >= 2 && a.value[0] <= 32);
		lost += a.value[0] != 32; /* increments: some thread went between a load and its store */
		first = seed == 1 ? a.trace : first;
		different += a.trace != first;
	}
	CHECK(different && lost);
}

static void others_go_first(const char *schedule)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		const uint64_t trace = run(schedule, seed, beside, "k", 4, 1).trace;
		for (others = 2; others; others--)
			CHECK(run(schedule, seed, beside, "k", 4, 1).trace == trace);
	}
}

static void nobody_waits_for_ever(const char *schedule)
{
	for (unsigned seed = 1; seed <= 12; seed++)
		CHECK(run(schedule, seed, spin, "k", 7, 64).value[1] == 6 * 64 && run(schedule, seed, locked, "k__gsan", 2, 40).value[0]);
}

static void operations_stay_with_their_calls(const char *schedule)
{
	unsigned lost = 0;
	for (unsigned seed = 1; seed <= 8; seed++) {
		const struct result r = run(schedule, seed, paired, "k__gsan", 4, 1);
		CHECK(!r.value[1] && !r.value[2]);
		CHECK(r.trace == run(schedule, seed, count[0], "k", 4, 1).trace);
		lost += r.value[0] != 32;
	}
	CHECK(lost);
}

static void single_warps_lag(void)
{
	unsigned wrong = 0;
	for (unsigned seed = 1; seed <= 24; seed++) {
		CHECK(!run("lag", seed, with_barrier, "k", 2, 128).value[0]);
		const uint32_t missing = run("lag", seed, without_barrier, "k", 2, 128).value[0];
		CHECK(missing % 32 == 0 && missing < 128);
		wrong += missing != 0;
	}
	CHECK(wrong >= 4);
}

static uint64_t counted(int before, const char *afresh)
{
	char path[64];
	int fd[2], status;
	uint64_t trace = 0;
	CHECK(!pipe(fd));
	snprintf(path, sizeof path, "emu-afresh-%d", (int)getpid());
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CUdeviceptr at;
		setenv("EMU_TRACE", path, 1);
		setenv("EMU_SCHEDULE", "program", 1);
		setenv("EMU_AFRESH", afresh, 1);
		start();
		OK(cuMemAlloc(&at, 64));
		OK(cuMemsetD8(at, 0, 64));
		for (int i = 0; i < before; i++)
			OK(cuLaunchKernel(load(other, "k"), 4, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at}, NULL));
		OK(cuCtxSynchronize());
		fclose(fopen(path, "w")); /* what follows is compared; the driver appends */
		OK(cuLaunchKernel(load(count[0], "k"), 4, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at}, NULL));
		OK(cuCtxSynchronize());
		trace = hash_threads(path);
		CHECK(write(fd[1], &trace, sizeof trace) == sizeof trace);
		exit(0);
	}
	CHECK(read(fd[0], &trace, sizeof trace) == sizeof trace);
	CHECK(waitpid(child, &status, 0) == child && !status);
	close(fd[0]);
	close(fd[1]);
	return trace;
}

static void parts_of_jobs(void)
{
	unsigned differ = 0;
	for (int before = 0; before < 4; before++) {
		CHECK(counted(before, "1") == counted(0, "1"));
		differ += counted(before, "0") != counted(0, "0");
	}
	CHECK(differ);
}

static void unknown_schedule(void)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		setenv("EMU_SCHEDULE", "fair", 1);
		exit(cuInit(0) == CUDA_ERROR_SYSTEM_NOT_READY ? 0 : 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
}

int main(void)
{
	static const char *const schedules[] = {"program", "pct", "lag"};
	for (unsigned k = 0; k < 3; k++) {
		same_whatever_is_inserted(schedules[k]);
		nobody_waits_for_ever(schedules[k]);
		operations_stay_with_their_calls(schedules[k]);
	}
	others_go_first("program");
	others_go_first("lag");
	single_warps_lag();
	parts_of_jobs();
	unknown_schedule();
	return 0;
}
