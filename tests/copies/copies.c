/* A program for gsan-launch: `copies FORM [racy]`. Copies and sets beside kernels and beside each other, ordered, or with an edge left out. */
#include <pthread.h>

#include "e2e/forms.h"

enum { N = 1 << 14, BYTES = 4 * N, THREADS = 128 };

#define KERNEL(name, parameters, body) \
	".visible .entry " name "(" parameters ")\n{\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<3>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n" body "\tret;\n}\n"
/* %rd2: the thread's word; of `words` threads that take part */
#define WORD "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n\tmad.lo.u32 %r4, %r1, %r2, %r3;\n" \
	"\tld.param.u32 %r5, [words];\n\tsetp.ge.u32 %p1, %r4, %r5;\n\t@%p1 ret;\n\tmul.wide.u32 %rd2, %r4, 4;\n\tadd.u64 %rd2, %rd1, %rd2;\n"
#define WORDS ".param .u64 p, .param .u32 words"
static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	".visible .global .align 16 .b8 variable[4096];\n"
	KERNEL("put", WORDS, WORD "\tst.global.u32 [%rd2], %r4;\n")
	KERNEL("get", WORDS ", .param .u64 out", WORD "\tld.global.u32 %r6, [%rd2];\n\tld.param.u64 %rd3, [out];\n"
	       "\tcvta.to.global.u64 %rd3, %rd3;\n\tadd.u64 %rd2, %rd2, %rd3;\n\tsub.u64 %rd2, %rd2, %rd1;\n\tst.global.u32 [%rd2], %r6;\n")
	KERNEL("add", WORDS, WORD "\tred.relaxed.gpu.global.add.u32 [%rd2], 1;\n")
	KERNEL("count", WORDS, WORD "\tred.relaxed.gpu.global.add.u32 [%rd1], 1;\n")
	KERNEL("of_variable", WORDS, WORD "\tmov.u64 %rd3, variable;\n\tcvta.global.u64 %rd3, %rd3;\n\tadd.u64 %rd2, %rd2, %rd3;\n"
	       "\tsub.u64 %rd2, %rd2, %rd1;\n\tld.global.u32 %r6, [%rd2];\n\tmul.wide.u32 %rd4, %r4, 4;\n\tadd.u64 %rd4, %rd1, %rd4;\n"
	       "\tst.global.u32 [%rd4], %r6;\n")
	/* as many microseconds, or more */
	KERNEL("pass", WORDS, "\tld.param.u32 %r5, [words];\nagain:\n\tnanosleep.u32 1000;\n\tsub.u32 %r5, %r5, 1;\n\tsetp.ne.u32 %p2, %r5, 0;\n\t@%p2 bra again;\n")
	/* a flag behind `words`: raised when its CTA has done nothing; polled before the words are written */
	KERNEL("raise", WORDS, "\tld.param.u32 %r5, [words];\n\tmul.wide.u32 %rd2, %r5, 4;\n\tadd.u64 %rd2, %rd1, %rd2;\n"
	       "\tmov.u32 %r6, 1;\n\tst.release.gpu.global.u32 [%rd2], %r6;\n")
	KERNEL("await", WORDS, WORD "\tmul.wide.u32 %rd3, %r5, 4;\n\tadd.u64 %rd3, %rd1, %rd3;\nagain:\n\tld.acquire.gpu.global.u32 %r6, [%rd3];\n"
	       "\tsetp.eq.u32 %p2, %r6, 0;\n\t@%p2 bra again;\n\tst.global.u32 [%rd2], %r4;\n")
	/* what it saw from anywhere, it adds to for its own CTA, and writes a part of */
	KERNEL("narrow", WORDS, "again:\n\tld.relaxed.sys.global.u32 %r6, [%rd1];\n\tsetp.eq.u32 %p2, %r6, 0;\n\t@%p2 bra again;\n"
	       "\tred.relaxed.cta.global.add.u32 [%rd1], 1;\n\tst.relaxed.gpu.global.u8 [%rd1+1], %r6;\n")
	/* what it saw it takes away as any other word */
	KERNEL("take", WORDS, WORD "again:\n\tld.relaxed.sys.global.u32 %r6, [%rd1];\n\tsetp.eq.u32 %p2, %r6, 0;\n\t@%p2 bra again;\n"
	       "\tmov.u32 %r6, 0;\n\tst.global.u32 [%rd1], %r6;\n")
	KERNEL("tell", WORDS, WORD "\tmov.u32 %r6, 1;\n\tst.relaxed.sys.global.u32 [%rd1], %r6;\n")
	KERNEL("publish", WORDS, WORD "\tmov.u32 %r6, 1;\n\tst.global.u32 [%rd1+4], %r6;\n\tst.release.sys.global.u32 [%rd1], %r6;\n")
	KERNEL("poll", WORDS, "again:\n\tld.acquire.sys.global.u32 %r6, [%rd1];\n\tsetp.eq.u32 %p2, %r6, 0;\n\t@%p2 bra again;\n");

static CUdeviceptr at, other, out;
static char *host, *host2; /* pinned: copies do not wait */

static const char *const names[] = {"put", "get", "add", "count", "of_variable", "raise", "await", "narrow", "take", "tell", "publish", "poll", "pass"};

static void load(void) { KERNELS_LOAD(ptx, names); }

static void memory(void)
{
	MUST(cuMemAllocHost((void **)&host, BYTES));
	MUST(cuMemAllocHost((void **)&host2, BYTES));
	MUST(cuMemAlloc(&at, 2 * BYTES));
	MUST(cuMemAlloc(&other, BYTES));
	MUST(cuMemAlloc(&out, BYTES));
	MUST(cuMemsetD8(at, 0, 2 * BYTES));
	MUST(cuMemsetD8(other, 0, BYTES));
	MUST(cuCtxSynchronize());
}

static void launch(CUstream stream, const char *name, CUdeviceptr p, unsigned words)
{
	void *params[] = {&p, &words, &out};

	MUST(cuLaunchKernel(kernel(name), (words + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

/* `to` comes behind what `from` was given. */
static void follow(CUstream to, CUstream from)
{
	CUevent event;

	MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cuEventRecord(event, from));
	MUST(cuStreamWaitEvent(to, event, 0));
	MUST(cuEventDestroy(event));
}

/* Unless that is to be left out. */
static void edge(CUstream to, CUstream from)
{
	if (!racy)
		follow(to, from);
}

static void wait_for(CUstream stream)
{
	if (!racy)
		MUST(cuStreamSynchronize(stream));
}

/* ---- a copy, or a set, and a kernel ---- */

static void in_then_kernel(void) { MUST(cuMemcpyHtoDAsync(at, host, BYTES, a)); edge(b, a); launch(b, "get", at, N); }
static void kernel_then_in(void) { launch(b, "get", at, N); edge(a, b); MUST(cuMemcpyHtoDAsync(at, host, BYTES, a)); }
static void kernel_then_out(void) { launch(a, "put", at, N); edge(b, a); MUST(cuMemcpyDtoHAsync(host, at, BYTES, b)); }
static void out_then_kernel(void) { MUST(cuMemcpyDtoHAsync(host, at, BYTES, b)); edge(a, b); launch(a, "put", at, N); }
static void kernel_then_within(void) { launch(a, "put", at, N); edge(b, a); MUST(cuMemcpyDtoDAsync(other, at, BYTES, b)); }
static void within_then_kernel(void) { MUST(cuMemcpyAsync(other, at, BYTES, b)); edge(a, b); launch(a, "get", other, N); }
static void set_then_kernel(void) { MUST(cuMemsetD32Async(at, 7, N, a)); edge(b, a); launch(b, "get", at, N); }
static void kernel_then_set(void) { launch(b, "put", at, N); edge(a, b); MUST(cuMemsetD8Async(at, 7, BYTES, a)); }
static void kernel_then_set16(void) { launch(b, "put", at, N); edge(a, b); MUST(cuMemsetD16Async(at + BYTES - 64, 7, 32, a)); }
static void blocking_out(void) { launch(a, "put", at, N); wait_for(a); MUST(cuMemcpyDtoH(host, at, BYTES)); }
static void blocking_in(void) { launch(a, "get", at, N); wait_for(a); MUST(cuMemcpyHtoD(at, host, BYTES)); }
static void blocking_set(void) { launch(a, "get", at, N); wait_for(a); MUST(cuMemsetD32(at, 7, N)); }

/* ---- in a loop: the kernel behind a copy leaves its records where those were of the one before it ---- */

/* What fills the words again has to come behind who had them, as that comes behind what filled them. */
#define AGAIN(copy, name, p, words) \
	for (int i = 0; i < 4; i++) { \
		edge(a, b); \
		MUST(copy); \
		follow(b, a); \
		launch(b, name, p, words); \
	}

static void fetched_ahead(void) { AGAIN(cuMemcpyHtoDAsync(at, host, BYTES, a), "get", at, N) }
static void fetched_bytes(void) { AGAIN(cuMemcpyHtoDAsync(at + 4, host, 8, a), "get", at + 4, 2) } /* of two granules */
static void fetched_in_turn(void) { AGAIN(cuMemcpyHtoDAsync(at + i % 2 * BYTES, host, BYTES, a), "get", at + i % 2 * BYTES, N) }
static void set_ahead(void) { AGAIN(cuMemsetD32Async(at, 0, 32, a), "count", at, 1) } /* by one thread, which takes one place */
static void counted_ahead(void) { AGAIN(cuMemsetD32Async(at, 0, 32, a), "count", at, N) } /* by all CTAs in one word */

/* The other way round: results are sent while the next ones wait for that. */
static void sent_behind(void)
{
	launch(b, "put", at, N);
	for (int i = 0; i < 4; i++) {
		edge(a, b);
		MUST(cuMemcpyDtoHAsync(host, at, BYTES, a));
		follow(b, a);
		launch(b, "put", at, N);
	}
}

/* What was kept of memory that is freed is nobody's any more. */
static void freed_behind(void)
{
	CUdeviceptr p;

	for (int round = 0; round < 6; round++) {
		MUST(cuMemAlloc(&p, BYTES));
		if (racy && round < 5)
			launch(b, "put", p, N);
		else
			AGAIN(cuMemcpyHtoDAsync(p, host, BYTES, a), "get", p, N)
		MUST(cuMemFree(p));
	}
}

/* ---- two of them ---- */

static void two_copies(void) { MUST(cuMemcpyHtoDAsync(at, host, BYTES, a)); edge(b, a); MUST(cuMemcpyHtoDAsync(at, host2, BYTES, b)); }
static void in_then_out(void) { MUST(cuMemcpyHtoDAsync(at, host, BYTES, a)); edge(b, a); MUST(cuMemcpyDtoHAsync(host2, at, BYTES, b)); }
static void two_sets(void) { MUST(cuMemsetD8Async(at, 1, BYTES, a)); edge(b, a); MUST(cuMemsetD8Async(at, 2, BYTES, b)); }
static void set_then_out(void) { MUST(cuMemsetD8Async(at + 3, 1, 11, a)); edge(b, a); MUST(cuMemcpyDtoHAsync(host2, at + 13, 64, b)); }

/* ---- ranges are exact: neighbours do not race, and one byte does ---- */

static void neighbours(void)
{
	MUST(cuMemcpyHtoDAsync(at, host, 100, a));
	MUST(cuMemcpyHtoDAsync(at + 100 - racy, host2, 1000, b));
}

static void columns(void)
{
	CUDA_MEMCPY2D left = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 96, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			.dstDevice = at, .dstPitch = 256, .WidthInBytes = 96, .Height = 64};
	MUST(cuMemcpy2DAsync(&left, a));
	MUST(cuMemsetD2D8Async(at + 96 - racy, 256, 1, 160, 64, b));
}

static void rows_out(void)
{
	CUDA_MEMCPY2D m = {.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = host, .dstPitch = 4, .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			.srcDevice = at, .srcPitch = 512, .srcXInBytes = 508, .srcY = 2, .WidthInBytes = 4, .Height = 8};
	launch(b, "put", at, racy ? 512 : 384); /* words: to behind row 3, or behind row 2's last but some */
	edge(a, b);
	m.srcY = 3;
	MUST(cuMemcpy2DAsync(&m, a));
}

static void boxes(void)
{
	CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 32, .srcHeight = 4,
			.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = at, .dstPitch = 128, .dstHeight = 8, .dstXInBytes = 32, .dstY = 2, .dstZ = 1,
			.WidthInBytes = 32, .Height = 4, .Depth = 3};
	MUST(cuMemcpy3DAsync(&m, a));
	/* slice 2, row 5, bytes 32 on; or row 6 */
	MUST(cuMemsetD8Async(at + (2 * 8 + (racy ? 5 : 6)) * 128 + 40, 1, 4, b));
}

static void of_variable(void)
{
	CUdeviceptr v;
	size_t size;

	MUST(cuModuleGetGlobal(&v, &size, module, "variable"));
	launch(b, "of_variable", at, 256);
	edge(a, b);
	MUST(cuMemcpyHtoDAsync(v + 128, host, 512, a));
}

/* ---- what is a poll, and what is not ---- */

static void flag_by_copy(void)
{
	host[0] = 1;
	launch(b, racy ? "get" : "poll", at, 1);
	MUST(cuMemcpyHtoDAsync(at, host, 4, a));
}

static void word_observed(void)
{
	host[0] = 1;
	launch(b, racy ? "get" : "narrow", at, 1);
	MUST(cuMemcpyHtoDAsync(at, host, 4, a));
}

static void word_taken(void)
{
	host[0] = 1;
	launch(b, racy ? "put" : "take", at, 1);
	MUST(cuMemcpyHtoDAsync(at, host, 4, a));
}

/* The host asks by copies, and gives the stream in which it asked what comes behind the answer. */
static void asked(const char *kernel)
{
	launch(b, kernel, at, 1);
	for (host[0] = 0; !racy && !host[0];) {
		MUST(cuMemcpyDtoHAsync(host, at, 4, a));
		MUST(cuStreamSynchronize(a));
	}
}
static void word_asked_for(void) { asked("tell"); launch(a, "put", at, 1); }
static void word_tells(void) { asked("publish"); launch(a, "put", at + 4, 1); }

static void progress(void) { launch(b, "count", at, N); MUST(cuMemcpyDtoHAsync(host, at, racy ? 12 : 4, a)); }
static void result(void) { launch(b, "add", at, N); edge(a, b); MUST(cuMemcpyDtoHAsync(host, at, BYTES, a)); }

/* ---- checked late: what came behind it is there already ---- */

static void overwritten(void)
{
	MUST(cuMemcpyHtoDAsync(at, host, BYTES, a));
	edge(b, a);
	launch(b, "put", at, N);
	MUST(cuStreamSynchronize(b));
}

/* Behind the copy a kernel raises a flag, for which another stream's waits before it writes where the copy did. */
static void by_flag(void)
{
	launch(b, "await", at, racy ? 64 : 32);
	MUST(cuMemcpyHtoDAsync(at, host, racy ? 64 * 4 : 32 * 4, a));
	launch(a, "raise", at, racy ? 64 : 32);
	if (racy)
		MUST(cuMemsetD8Async(at + 128, 1, 16, a));
}

static void freed_and_reused(void)
{
	CUdeviceptr p, q;

	for (int i = 0; i < 20; i++) {
		MUST(cuMemAlloc(&p, 4096));
		MUST(cuMemcpyHtoDAsync(p, host, 4096, a));
		MUST(cuMemFree(p));
		MUST(cuMemAlloc(&q, 4096));
		launch(b, "put", q, 1024);
		if (racy && i == 19)
			MUST(cuMemcpyHtoDAsync(q, host, 4096, a));
		MUST(cuMemFree(q));
	}
}

/* Waits, and memory that is given back, are work of the legacy default stream: that lies between what blocking streams do. */
static CUstream between(CUresult (*work)(CUdeviceptr *, CUstream))
{
	CUstream one, two;
	CUdeviceptr p;

	MUST(cuMemAllocAsync(&p, 4096, a));
	MUST(cuStreamCreate(&one, CU_STREAM_DEFAULT));
	MUST(cuStreamCreate(&two, CU_STREAM_DEFAULT));
	launch(one, "put", at, N);
	MUST(work(&p, racy ? b : NULL));
	return two;
}

static CUresult give(CUdeviceptr *p, CUstream stream) { return cuMemFreeAsync(*p, stream); }
static CUresult wait(CUdeviceptr *p, CUstream stream)
{
	CUevent event;

	(void)p;
	MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cuEventRecord(event, a));
	return cuStreamWaitEvent(stream, event, 0);
}

static void waited_between(void) { MUST(cuMemsetD8Async(at, 7, BYTES, between(wait))); }
static void given_between(void) { MUST(cuMemsetD8Async(at, 7, BYTES, between(give))); }

/* A context's end waits for all that it was given, and for nothing else. */
static void context_ended(void)
{
	CUcontext of[2], gone;
	CUstream stream[2];

	for (int i = 0; i < 2; i++) {
		MUST(cuCtxCreate(&of[i], NULL, 0, 0));
		MUST(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		MUST(cuMemcpyHtoDAsync(i ? other : at, host, BYTES, stream[i]));
		MUST(cuCtxPopCurrent(&gone));
	}
	MUST(cuCtxDestroy(of[racy]));
	launch(b, "get", at, N);
	MUST(cuCtxDestroy(of[!racy]));
}

/* The stream is of another context than the current one. */
static void context_elsewhere(void)
{
	CUcontext current;

	launch(a, "put", at, N);
	edge(b, a);
	MUST(cuCtxCreate(&current, NULL, 0, 0));
	MUST(cuMemcpyDtoHAsync(host, at, BYTES, b));
	MUST(cuCtxDestroy(current));
}

/* So does a reset, with which all goes that lay in the context; behind it the program begins anew, and is checked as before. */
static void context_reset(void)
{
	launch(b, "put", at, N);
	MUST(cuMemcpyDtoHAsync(host, at, BYTES, b));
	MUST(cuDevicePrimaryCtxReset(0));
	form_context(load);
	memory();
	launch(b, "put", at, N);
	edge(a, b);
	MUST(cuMemcpyDtoHAsync(host, at, BYTES, a));
}

/* ---- a host that polls what a copy or a set writes in its memory ---- */

/* By a word it knows what came before that in its stream, and nothing of what comes behind. */
#define POLLED(tell) \
	for (unsigned round = 1; round <= 2; round++) { \
		if (!racy) \
			launch(a, "put", at, 256); \
		MUST(tell); \
		if (racy) \
			launch(a, "put", at, 256); \
		while (*(volatile unsigned *)host != round) \
			continue; \
		launch(b, "put", at, 256); \
		MUST(cuCtxSynchronize()); \
	}

static void polled_set(void) { *(volatile unsigned *)host = 0; POLLED(cuMemsetD32Async((CUdeviceptr)(uintptr_t)host, round, 1, a)) }
static void polled_copy(void) { *(volatile unsigned *)host = 0; POLLED((cuMemsetD32Async(other, round, 1, a), cuMemcpyDtoHAsync(host, other, 4, a))) }

/* More than a word comes in pieces. */
static void polled_long(void)
{
	((volatile unsigned *)host)[N - 1] = 0;
	launch(a, "put", at, N);
	MUST(cuMemcpyDtoHAsync(host, at, BYTES, a));
	wait_for(a);
	while (((volatile unsigned *)host)[N - 1] != N - 1)
		continue;
	launch(b, "put", at, N);
}

/* More than there is, if it stayed. */
static void context_filled(void)
{
	size_t unused, all;
	CUdeviceptr half;

	for (int i = 0; i < 4; i++) {
		MUST(cuMemGetInfo(&unused, &all));
		MUST(cuMemAlloc(&half, all / 2));
		MUST(cuMemsetD8Async(half, 1, 64, a));
		MUST(cuDevicePrimaryCtxReset(0));
		form_context(load);
	}
}

static void many(void)
{
	for (int i = 0; i < 600; i++)
		MUST(cuMemcpyHtoDAsync(at + 64 * (i % 100), host, 64, i % 2 ? a : b));
	edge(b, a);
	launch(b, "get", at, N);
	edge(a, b);
	MUST(cuMemsetD8Async(at, 0, 640, a));
}

/* Of more streams than have numbers two share one; in one of them a copy waits. That of the other is checked before its memory is given to somebody
 * else, with no edge but that it was freed. */
static void freed_beside_a_slow_one(void)
{
	enum { STREAMS = 66, PIECE = 1024, LONG = 4000 };
	CUstream s[STREAMS];
	CUdeviceptr p, q = other;

	for (int i = 0; i < STREAMS; i++) { /* the program's two have numbers of their own */
		if (i < 2)
			s[i] = i ? b : a;
		else
			MUST(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		MUST(cuMemsetD8Async(out + 64 * i, 0, 64, s[i]));
	}
	MUST(cuCtxSynchronize());
	MUST(cuLaunchKernel(kernel("pass"), 1, 1, 1, 1, 1, 1, 0, s[STREAMS - 2], (void *[]){&at, &(unsigned){LONG}}, NULL));
	MUST(cuMemcpyHtoDAsync(other, host, BYTES, s[STREAMS - 2]));
	MUST(cuMemAllocAsync(&p, 4 * PIECE, s[STREAMS - 1]));
	MUST(cuMemcpyHtoDAsync(p, host, 4 * PIECE, s[STREAMS - 1]));
	MUST(cuMemFreeAsync(p, s[STREAMS - 1]));
	for (int i = 0; i < 1000 && q != p && cuStreamQuery(s[STREAMS - 2]) == CUDA_ERROR_NOT_READY; i++) /* while it is slow */
		MUST(cuMemAllocAsync(&q, 4 * PIECE, b));
	launch(b, "put", q, PIECE);
	if (racy)
		MUST(cuMemcpyHtoDAsync(q, host, 4 * PIECE, a));
}

/* Threads allocate, in the order of streams of their own, what the first one uses and frees in its. Who asks whether something is free holds nobody
 * up who launches. */
enum { GIVERS = 3, GIFTS = 12 };
static struct { CUdeviceptr at; CUevent given; } gifts[GIVERS * GIFTS];
static int gifts_there;
static pthread_mutex_t gifts_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gifts_more = PTHREAD_COND_INITIALIZER;

static void *giver(void *unused)
{
	CUstream stream;

	MUST(cuCtxSetCurrent(context));
	MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < GIFTS; i++) {
		CUdeviceptr p;
		CUevent given;
		MUST(cuMemAllocAsync(&p, 1024, stream));
		MUST(cuMemsetD8Async(p, 0, 1024, stream));
		launch(stream, "put", p, 256);
		MUST(cuEventCreate(&given, CU_EVENT_DISABLE_TIMING));
		MUST(cuEventRecord(given, stream));
		pthread_mutex_lock(&gifts_lock);
		gifts[gifts_there].at = p;
		gifts[gifts_there++].given = given;
		pthread_cond_signal(&gifts_more);
		pthread_mutex_unlock(&gifts_lock);
	}
	MUST(cuStreamSynchronize(stream));
	return unused;
}

static void given_by_threads(void)
{
	pthread_t thread[GIVERS];

	for (int i = 0; i < GIVERS; i++)
		MUST(pthread_create(&thread[i], NULL, giver, NULL) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
	for (int taken = 0; taken < GIVERS * GIFTS; taken++) {
		pthread_mutex_lock(&gifts_lock);
		while (gifts_there == taken)
			pthread_cond_wait(&gifts_more, &gifts_lock);
		CUdeviceptr p = gifts[taken].at;
		CUevent given = gifts[taken].given;
		pthread_mutex_unlock(&gifts_lock);
		if (!racy || taken % 5 != 2)
			MUST(cuStreamWaitEvent(a, given, 0));
		launch(a, "add", p, 256);
		MUST(cuMemFreeAsync(p, a));
	}
	for (int i = 0; i < GIVERS; i++)
		pthread_join(thread[i], NULL);
}

/* What is given back in a stream's order is to be used before, in that order. */
#define GIVEN(edges) \
	CUdeviceptr p; \
	MUST(cuMemAllocAsync(&p, BYTES, a)); \
	MUST(cuMemsetD8Async(p, 1, BYTES, a)); \
	follow(b, a); \
	launch(b, "get", p, N); \
	edges; \
	MUST(cuMemFreeAsync(p, a));

static void given_in_turn(void) { GIVEN(edge(a, b)) }
static void given_behind_host(void) { GIVEN(wait_for(b)) }

static void given_before(void)
{
	CUdeviceptr p;

	MUST(cuMemAllocAsync(&p, BYTES, a));
	follow(b, a);
	if (racy)
		MUST(cuMemFreeAsync(p, a));
	launch(b, "get", p, N);
	if (!racy)
		MUST(cuMemFreeAsync(p, b));
}

/* It has pages of its own, which stay when the free is over: who uses it still is told of, not ended. Once the host has waited they go. */
static void given_large(void)
{
	CUdeviceptr p, q;
	size_t before, after, all;

	MUST(cuMemAllocAsync(&p, 4 << 20, a));
	MUST(cuMemsetD8Async(p, 1, BYTES, a));
	follow(b, a);
	if (racy)
		MUST(cuMemFreeAsync(p, a));
	for (int i = 0; i < 50; i++)
		MUST(cuMemAllocAsync(&q, 64, b));
	launch(b, "get", p, N);
	if (racy)
		return;
	MUST(cuMemFreeAsync(p, b));
	MUST(cuMemGetInfo(&before, &all));
	MUST(cuCtxSynchronize());
	MUST(cuMemAllocAsync(&q, 64, b));
	MUST(cuMemGetInfo(&after, &all));
	MUST(after > before ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

static const struct form forms[] = {
	FORM(in_then_kernel), FORM(kernel_then_in), FORM(kernel_then_out), FORM(out_then_kernel), FORM(kernel_then_within),
	FORM(within_then_kernel), FORM(set_then_kernel), FORM(kernel_then_set), FORM(kernel_then_set16), FORM(blocking_out), FORM(blocking_in),
	FORM(blocking_set), FORM(two_copies), FORM(in_then_out), FORM(two_sets), FORM(set_then_out), FORM(neighbours), FORM(columns),
	FORM(rows_out), FORM(boxes), FORM(of_variable), FORM(flag_by_copy), FORM(word_observed), FORM(word_taken),
	FORM(word_asked_for), FORM(word_tells), FORM(progress), FORM(result), FORM(overwritten), FORM(by_flag),
	FORM(freed_and_reused), FORM(waited_between), FORM(given_between), FORM(context_ended), FORM(context_elsewhere), FORM(context_reset), FORM(context_filled),
	FORM(many), FORM(fetched_ahead), FORM(fetched_bytes), FORM(fetched_in_turn), FORM(set_ahead), FORM(counted_ahead), FORM(sent_behind), FORM(freed_behind),
	FORM(polled_set), FORM(polled_copy), FORM(polled_long),
	FORM(given_by_threads), FORM(freed_beside_a_slow_one), FORM(given_in_turn), FORM(given_behind_host), FORM(given_before), FORM(given_large),
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	const struct form *form = form_begin(argc, argv, forms, load);

	memory();
	form->run();
	MUST(cuCtxSynchronize());
	return 0;
}
