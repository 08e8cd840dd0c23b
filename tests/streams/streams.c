/* A program for gsan-launch: `streams FORM [racy]`. Two launches in two streams of one process use the same words: with an event between, or by a flag that
 * the second one waits for; or with the edge left out, or the flag weak. */
#include <semaphore.h>

#include "e2e/forms.h"

/* %rd1: the words; t: a word of the host's; %r1: this thread's index in its CTA. */
#define KERNEL(name, body) \
	".visible .entry " name "(.param .u64 p, .param .u64 t)\n{\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<3>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %tid.x;\n" body "\tret;\n}\n"
#define COUNTER "[%rd1]"
#define FLAG "[%rd1+128]"
#define DATA "[%rd1+256]"
#define OUT "[%rd1+512]"
#define PUT "\tst.global.u32 " DATA ", 7;\n"
#define GET "\tld.global.u32 %r3, " DATA ";\n\tst.global.u32 " OUT ", %r3;\n"
#define COUNT "\tatom.global.add.u32 %r2, " COUNTER ", 1;\n"
#define SEEN "\tst.global.u32 " OUT ", %r2;\n"
#define SPIN(load) "spin:\n\t" load ".global.u32 %r2, " FLAG ";\n\tsetp.eq.u32 %p1, %r2, 0;\n\t@%p1 bra spin;\n"
#define TELL "\tld.param.u64 %rd2, [t];\n\tmov.u32 %r2, 1;\n\tfence.acq_rel.sys;\n\tst.relaxed.sys.u32 [%rd2], %r2;\n"
static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	KERNEL("count", COUNT)
	KERNEL("draw", COUNT SEEN)
	KERNEL("read", "\tld.global.u32 %r2, " COUNTER ";\n" SEEN)
	/* as many times as were counted */
	KERNEL("read_on", "\tmov.u32 %r4, 0;\non:\n" SEEN "\tadd.u32 %r4, %r4, 1;\n\tld.global.u32 %r2, " COUNTER ";\n\tsetp.lt.u32 %p1, %r4, %r2;\n\t@%p1 bra on;\n")
	KERNEL("reset", "\tst.global.u32 " COUNTER ", 0;\n")
	KERNEL("put_count", PUT "\tred.release.gpu.global.add.u32 " COUNTER ", 1;\n")
	KERNEL("read_get", "\tld.global.u32 %r2, " COUNTER ";\n\tsetp.eq.u32 %p1, %r2, 0;\n\t@%p1 bra none;\n" GET "none:\n")
	KERNEL("raise", PUT "\tst.release.gpu.global.u32 " FLAG ", 1;\n")
	KERNEL("raise_weak", PUT "\tst.global.u32 " FLAG ", 1;\n")
	KERNEL("reset_tell", "\tst.global.u32 " COUNTER ", 0;\n" TELL)
	KERNEL("await", SPIN("ld.acquire.gpu") GET)
	KERNEL("await_weak", SPIN("ld") GET);

static const char *const names[] = {"count", "draw", "read", "read_on", "reset", "put_count", "read_get", "raise", "raise_weak", "reset_tell", "await", "await_weak"};

static CUdeviceptr at, told; /* told: a word of the host's */
static CUevent event;

static void load(void) { KERNELS_LOAD(ptx, names); }

static void launch(CUstream stream, const char *name, unsigned ctas)
{
	MUST(cuLaunchKernel(kernel(name), ctas, 1, 1, 1, 1, 1, 0, stream, (void *[]){&at, &told}, NULL));
}

/* The second one behind the first, but for the event. */
static void behind(const char *first, unsigned ctas, const char *second)
{
	launch(a, first, ctas);
	if (!racy) {
		MUST(cuEventRecord(event, a));
		MUST(cuStreamWaitEvent(b, event, 0));
	}
	launch(b, second, 1);
}

static void counted(void) { behind("count", 4, "read"); }
static void counted_on(void) { behind("count", 4, "read_on"); }
static void reset(void) { behind("reset", 1, "draw"); }
static void payload(void) { behind("put_count", 1, "read_get"); }

/* More streams than have a slot of their own, all counting at once. Who reads has one, or shares one: then what has another of its streams counted last
 * counts as ordered before. */
enum { CROWD = 66 };
static void shared(void)
{
	CUstream stream[CROWD];

	for (int i = 0; i < CROWD; i++)
		MUST(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < CROWD; i++)
		launch(stream[i], "count", 1);
	for (int i = 0; i < CROWD && !racy; i++) {
		MUST(cuEventRecord(event, stream[i]));
		MUST(cuStreamWaitEvent(b, event, 0));
	}
	launch(b, "read", 1);
}
static void crowd(void)
{
	launch(b, "reset", 1);
	MUST(cuCtxSynchronize());
	shared();
}

/* A flag, whoever begins first. */
static void flagged(const char *raises, const char *awaits)
{
	launch(b, awaits, 1);
	launch(a, raises, 1);
}
static void raised(void) { flagged(racy ? "raise_weak" : "raise", "await"); }
static void awaited(void) { flagged("raise", racy ? "await_weak" : "await"); }

/* ---- a stream calls a function of the program: that orders nothing but what the function waited for ---- */

static _Atomic int called;

static void CUDA_CB function(void *unused)
{
	(void)unused;
	called = 1;
}

/* Reads what was put before the call; and what is put behind it, if that is the same. */
static void around_call(int recorded_behind)
{
	launch(a, "reset", 1);
	if (!recorded_behind)
		MUST(cuEventRecord(event, a));
	MUST(cuLaunchHostFunc(a, function, NULL));
	if (recorded_behind)
		MUST(cuEventRecord(event, a));
	launch(a, racy ? "reset" : "raise_weak", 1);
	MUST(cuStreamWaitEvent(b, event, 0));
	launch(b, "read", 1);
}

static void called_behind_event(void) { around_call(0); }
static void called_before_event(void) { around_call(1); }

static void called_and_seen(void)
{
	launch(a, "reset", 1);
	MUST(cuLaunchHostFunc(a, function, NULL));
	launch(a, racy ? "reset" : "raise_weak", 1);
	while (!called)
		(void)cuStreamQuery(b);
	launch(b, "read", 1);
}

static void called_beside(void)
{
	launch(b, "read", 1);
	if (!racy) {
		MUST(cuEventRecord(event, b));
		MUST(cuStreamWaitEvent(a, event, 0));
	}
	MUST(cuLaunchHostFunc(a, function, NULL));
	launch(a, "reset", 1);
}

/* More calls than are known each by itself. */
static void called_often(void)
{
	for (int i = 0; i < 600; i++) {
		MUST(cuLaunchHostFunc(a, function, NULL));
		if (i % 100 == 99)
			MUST(cuStreamSynchronize(a));
	}
	called_beside();
}

/* Functions that wait for what is launched behind them: the emulated device, whose streams go on while the program asks, would wait for ever. */
static void *word;
static sem_t over;

static void CUDA_CB polls(void *unused)
{
	(void)unused;
	while (!racy && !*(const volatile unsigned *)word)
		;
}

static void CUDA_CB waits(void *unused)
{
	(void)unused;
	if (!racy)
		sem_wait(&over);
}

static void called_for_kernel(void)
{
	MUST(cuLaunchHostFunc(b, polls, NULL));
	launch(a, "reset_tell", 1);
	launch(b, "read", 1);
}

static void called_for_copy(void)
{
	MUST(cuMemsetD32(at + 128, 1, 1));
	MUST(cuCtxSynchronize());
	MUST(cuLaunchHostFunc(b, polls, NULL));
	launch(a, "reset", 1);
	MUST(cuMemcpyDtoHAsync(word, at + 128, 4, a));
	launch(b, "read", 1);
}

static void called_for_event(void)
{
	CUresult rc;

	MUST(cuLaunchHostFunc(b, waits, NULL));
	launch(b, "read", 1);
	launch(a, "reset", 1);
	MUST(cuEventRecord(event, a));
	while ((rc = cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
		;
	MUST(rc);
	sem_post(&over);
}

static void called_for_host(void)
{
	MUST(cuLaunchHostFunc(b, waits, NULL));
	launch(b, "read", 1);
	launch(a, "reset", 1);
	MUST(cuStreamSynchronize(a));
	sem_post(&over);
}

static const struct form forms[] = {FORM(counted), FORM(counted_on), FORM(reset), FORM(payload), FORM(crowd), FORM(shared), FORM(raised), FORM(awaited),
	FORM(called_behind_event), FORM(called_before_event), FORM(called_and_seen), FORM(called_beside), FORM(called_often),
	FORM(called_for_kernel), FORM(called_for_copy), FORM(called_for_event), FORM(called_for_host), {NULL, NULL}};

int main(int argc, char **argv)
{
	const struct form *form = form_begin(argc, argv, forms, load);

	MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cuMemAlloc(&at, 4096));
	MUST(cuMemsetD8(at, 0, 4096));
	MUST(cuMemHostAlloc(&word, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	MUST(cuMemHostGetDevicePointer(&told, word, 0));
	memset(word, 0, 4);
	sem_init(&over, 0, 0);
	MUST(cuCtxSynchronize());
	form->run();
	MUST(cuCtxSynchronize());
	return 0;
}
