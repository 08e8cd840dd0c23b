/* A program for gsan-launch: `values FORM [racy]`. Streams that write values and wait for them (cuStreamWriteValue, cuStreamWaitValue), beside kernels
 * and copies, ordered by that, or with an edge left out. */
#include "e2e/forms.h"

#include "device/layout.h"

enum { N = 1 << 10, BYTES = 4 * N, THREADS = 128, CTAS = N / THREADS, CHUNKS = 40 };

#define KERNEL(name, body) \
	".visible .entry " name "(.param .u64 p, .param .u64 flag, .param .u32 value)\n{\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<3>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tld.param.u64 %rd3, [flag];\n\tcvta.to.global.u64 %rd3, %rd3;\n" \
	"\tld.param.u32 %r5, [value];\n\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n" \
	"\tmad.lo.u32 %r4, %r1, %r2, %r3;\n\tmul.wide.u32 %rd2, %r4, 4;\n\tadd.u64 %rd2, %rd1, %rd2;\n\tsetp.ne.u32 %p1, %r3, 0;\n" body "\tret;\n}\n"
#define PUT "\tst.global.u32 [%rd2], %r5;\n"
#define GET "\tld.global.u32 %r6, [%rd2];\n\tst.global.u32 [%rd2+65536], %r6;\n" /* to the second half */
#define ALL "\tbar.sync 0;\n"
#define FIRST "\t@%p1 bra met;\n"
#define MET "met:\n\tbar.sync 0;\n"
#define UNTIL(load, less) "again:\n\t" load " %r6, [%rd3];\n\tsetp." less ".u32 %p2, %r6, %r5;\n\t@%p2 bra again;\n"
#define TAKE(sem) "again:\n\tatom." sem ".sys.global.cas.b32 %r6, [%rd3], %r5, 0;\n\tsetp.ne.u32 %p2, %r6, %r5;\n\t@%p2 bra again;\n"
#define BESIDE "\tst.relaxed.sys.global.u32 [%rd3+512], 2;\n"
static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	KERNEL("put", PUT)
	KERNEL("get", GET)
	KERNEL("put_and_raise", PUT ALL FIRST "\tst.release.sys.global.u32 [%rd3], %r5;\n" MET)
	KERNEL("raise_and_put", FIRST "\tst.release.sys.global.u32 [%rd3], %r5;\n" MET PUT)
	KERNEL("put_and_count", PUT ALL FIRST "\tred.release.sys.global.add.u32 [%rd3], 1;\n" MET)
	KERNEL("count_and_put", FIRST "\tred.release.sys.global.add.u32 [%rd3], 1;\n" MET PUT)
	KERNEL("poll", FIRST UNTIL("ld.acquire.sys.global.u32", "lt") MET)
	KERNEL("poll_and_get", FIRST UNTIL("ld.acquire.sys.global.u32", "lt") MET GET)
	KERNEL("poll_relaxed_and_get", FIRST UNTIL("ld.relaxed.sys.global.u32", "lt") MET GET)
	KERNEL("poll_fence_and_get", FIRST UNTIL("ld.relaxed.sys.global.u32", "lt") "\tfence.acq_rel.sys;\n" MET GET)
	/* looks at the flag when another one says that it is there: what it read of the same one before, it would acquire, too */
	KERNEL("poll_late_and_get", FIRST "beside:\n\tld.relaxed.sys.global.u32 %r6, [%rd3+512];\n\tsetp.lt.u32 %p2, %r6, %r5;\n\t@%p2 bra beside;\n"
	       UNTIL("ld.acquire.sys.global.u32", "lt") MET GET)
	KERNEL("take_and_get", FIRST TAKE("acquire") MET GET)
	KERNEL("take_relaxed_and_get", FIRST TAKE("relaxed") MET GET)
	KERNEL("await_and_add", FIRST UNTIL("ld.relaxed.sys.global.u32", "lt") "\tatom.relaxed.sys.global.add.u32 %r6, [%rd3], 1;\n\tst.global.u32 [%rd1+131072], %r6;\n" BESIDE MET)
	KERNEL("await_and_store", FIRST "\tld.acquire.sys.global.u32 %r6, [%rd3+4096];\n" UNTIL("ld.relaxed.sys.global.u32", "lt") "\tadd.u32 %r6, %r6, 1;\n\tst.relaxed.sys.global.u32 [%rd3], %r6;\n" BESIDE MET)
	KERNEL("clear", FIRST "\tst.global.u32 [%rd3], 0;\n" MET)
	KERNEL("wide", FIRST "again:\n\tld.acquire.sys.global.u64 %rd4, [%rd3];\n\tsetp.eq.u64 %p2, %rd4, 0;\n\t@%p2 bra again;\n" MET GET);

static CUdeviceptr at, flag, flag2; /* each flag in a line of its own */
static CUstream c;

static const char *const names[] = {"put", "get", "put_and_raise", "raise_and_put", "put_and_count", "count_and_put", "poll", "poll_and_get",
				    "poll_relaxed_and_get", "poll_fence_and_get", "poll_late_and_get", "take_and_get", "take_relaxed_and_get", "await_and_add", "await_and_store",
				    "clear", "wide"};

static void load(void) { KERNELS_LOAD(ptx, names); }

static void launch_at(CUstream stream, const char *name, CUdeviceptr p, CUdeviceptr f, unsigned value, unsigned ctas)
{
	void *params[] = {&p, &f, &value};

	MUST(cuLaunchKernel(kernel(name), ctas, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

static void launch(CUstream stream, const char *name, unsigned value) { launch_at(stream, name, at, flag, value, CTAS); }
static void tell(CUstream stream, CUdeviceptr f, unsigned value) { MUST(cuStreamWriteValue32(stream, f, value, 0)); }
static void await_value(CUstream stream, CUdeviceptr f, unsigned value) { MUST(cuStreamWaitValue32(stream, f, value, CU_STREAM_WAIT_VALUE_GEQ)); }

/* What is put, and told of: in the racy form the other way round. */
static void put_and_tell(CUstream stream, unsigned value)
{
	if (racy)
		tell(stream, flag, value);
	launch(stream, "put", value);
	if (!racy)
		tell(stream, flag, value);
}

static void polled(void)
{
	put_and_tell(a, 1);
	launch(b, "poll_and_get", 1);
}

static void polled_first(void)
{
	launch(b, "poll_and_get", 1);
	put_and_tell(a, 1);
}

static void polled_by_kernel_before(void)
{
	put_and_tell(a, 1);
	launch(b, "poll", 1);
	launch(b, "get", 1);
}

static void not_acquired(void)
{
	launch(a, "put", 1);
	tell(a, flag, 1);
	launch(b, racy ? "poll_relaxed_and_get" : "poll_fence_and_get", 1);
}

static void waited(void)
{
	put_and_tell(a, 1);
	await_value(b, flag, 1);
	launch(b, "get", 1);
}

static void waited_first(void)
{
	await_value(b, flag, 1);
	launch(b, "get", 1);
	put_and_tell(a, 1);
}

static void raised_by_kernel(void)
{
	await_value(b, flag, 1);
	launch_at(b, "get", at, flag, 1, 1);
	launch_at(a, racy ? "raise_and_put" : "put_and_raise", at, flag, 1, 1);
}

static void counted_by_kernel(void)
{
	await_value(b, flag, CTAS);
	launch(b, "get", 1);
	launch(a, racy ? "count_and_put" : "put_and_count", 1);
}

/* A write of another stream than what it is to publish. */
static void copied(void)
{
	CUevent event;

	MUST(cuMemcpyDtoDAsync(at, at + (1 << 17), BYTES, a));
	MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cuEventRecord(event, a));
	if (!racy)
		MUST(cuStreamWaitEvent(c, event, 0));
	tell(c, flag, 1);
	await_value(b, flag, 1);
	launch(b, "get", 1);
}

static void copied_back(void)
{
	launch(a, "put", 1);
	if (racy)
		tell(a, flag2, 1);
	tell(racy ? c : a, flag, 1);
	await_value(b, flag, 1);
	MUST(cuMemcpyDtoDAsync(at + (1 << 17), at, BYTES, b));
}

/* Chunk after chunk, each told of as a number: more of these than are kept apart. */
static CUdeviceptr chunk(int k) { return at + (CUdeviceptr)k * THREADS * 4; }

static void progress_waited(void)
{
	for (int k = 1; k <= CHUNKS; k++) {
		MUST(cuMemcpyDtoDAsync(chunk(k), at + (1 << 17), THREADS * 4, a));
		tell(a, flag, (unsigned)k);
	}
	for (int k = 1; k <= CHUNKS; k++) {
		await_value(b, flag, (unsigned)(racy ? k - 1 : k));
		launch_at(b, "get", chunk(k), flag, 1, 1);
	}
}

static void progress_polled(void)
{
	for (int k = 1; k <= CHUNKS; k++)
		launch_at(b, racy ? "poll_relaxed_and_get" : "poll_and_get", chunk(k), flag, (unsigned)k, 1);
	for (int k = 1; k <= CHUNKS; k++) {
		MUST(cuMemcpyDtoDAsync(chunk(k), at + (1 << 17), THREADS * 4, a));
		tell(a, flag, (unsigned)k);
	}
}

/* Two streams that give each other turns. */
static void turns(void)
{
	for (unsigned round = 0; round < 6; round++) {
		MUST(cuStreamWaitValue32(a, flag, 0, CU_STREAM_WAIT_VALUE_EQ));
		launch(a, "put", round);
		tell(a, flag, 1);
		MUST(cuStreamWaitValue32(b, racy ? flag2 : flag, racy ? 0 : 1, CU_STREAM_WAIT_VALUE_EQ));
		launch(b, "get", round);
		tell(b, flag, 0);
	}
}

static void wide_polled(void)
{
	if (racy)
		MUST(cuStreamWriteValue64(a, flag, 1ull << 40, 0));
	launch(a, "put", 1);
	if (!racy)
		MUST(cuStreamWriteValue64(a, flag, 1ull << 40, 0));
	launch(b, "wide", 1);
}

static void wide_waited(void)
{
	launch(a, "put", 1);
	if (!racy)
		MUST(cuStreamWriteValue64(a, flag, 3ull << 40, 0));
	MUST(cuStreamWaitValue64(b, racy ? flag2 : flag, racy ? 0 : 1ull << 40, racy ? CU_STREAM_WAIT_VALUE_EQ : CU_STREAM_WAIT_VALUE_AND));
	launch(b, "get", 1);
}

/* Half of what is read is what a stream wrote. */
static void halves(void)
{
	launch(a, "put", 1);
	tell(a, flag + 4, 1);
	launch(b, racy ? "get" : "wide", 1);
}

static void batch(void)
{
	CUstreamBatchMemOpParams write[2] = {{.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = flag, .value = 1}},
					     {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = flag2, .value = 1}}};
	CUstreamBatchMemOpParams wait[2] = {{.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = flag, .value = 1}},
					    {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = flag2, .value = 1}}};

	launch(a, "put", 1);
	MUST(cuStreamBatchMemOp(racy ? c : a, 2, write, 0));
	MUST(cuStreamBatchMemOp(b, 2, wait, 0));
	launch(b, "get", 1);
}

/* From one stream to the next: what the first one's wait has told it. */
static void relayed(void)
{
	put_and_tell(a, 1);
	await_value(c, flag, 1);
	tell(c, flag2, 1);
	await_value(b, flag2, 1);
	launch(b, "get", 1);
}

static void relayed_in_a_batch(void)
{
	CUstreamBatchMemOpParams both[2] = {{.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = flag, .value = 1}},
					    {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = flag2, .value = 1}}};

	put_and_tell(a, 1);
	MUST(cuStreamBatchMemOp(c, 2, both, 0));
	launch_at(b, "poll_and_get", at, flag2, 1, CTAS);
}

/* A word that a set, or a copy, raises is as good as a value. */
static void set_to(CUstream stream, CUdeviceptr f) { MUST(cuMemsetD32Async(f, 1, 1, stream)); }

static void waited_for_set(void)
{
	if (racy)
		set_to(a, flag);
	launch(a, "put", 1);
	if (!racy)
		set_to(a, flag);
	await_value(b, flag, 1);
	launch(b, "get", 1);
}

static void waited_for_copy(void)
{
	set_to(a, flag2);
	if (racy)
		MUST(cuMemcpyDtoDAsync(flag, flag2, 4, a));
	launch(a, "put", 1);
	if (!racy)
		MUST(cuMemcpyDtoDAsync(flag, flag2, 4, a));
	await_value(b, flag, 1);
	launch(b, "get", 1);
}

/* The set has left its record by then, of which no host knows. Another stream's work keeps it from being the only one. */
static void waited_long_after(void)
{
	launch_at(c, "poll", at, flag2, 1, 1);
	if (racy)
		set_to(a, flag);
	launch(a, "put", 1);
	if (!racy)
		set_to(a, flag);
	for (int i = 0; i < 400; i++) {
		cuStreamQuery(c);
		MUST(cuMemsetD8Async(at + (1 << 18), 1, 64, b));
	}
	await_value(b, flag, 1);
	launch(b, "get", 1);
	tell(a, flag2, 1);
}

/* More words than there are places for. */
static void many_words(void)
{
	for (unsigned i = 0; i < 300; i++)
		MUST(cuMemsetD32Async(at + (1 << 18) + 64 * i, 1, 1, c));
	waited_for_set();
}

static void taken(void)
{
	launch(a, "put", 1);
	tell(a, flag, 1);
	launch_at(b, racy ? "take_relaxed_and_get" : "take_and_get", at, flag, 1, 1);
}

/* The release sequence goes on through an RMW, and ends with a store. */
static void continued(void)
{
	launch(a, "put", 1);
	tell(a, flag, 1);
	launch_at(c, racy ? "await_and_store" : "await_and_add", at, flag, 1, 1);
	launch(b, "poll_late_and_get", 2);
}

/* The flag itself. */
static void cleared(void)
{
	tell(a, flag, 1);
	if (!racy)
		await_value(b, flag, 1);
	launch_at(b, "clear", at, flag, 1, 1);
}

static void cleared_by_set(void)
{
	tell(a, flag, 1);
	if (!racy)
		await_value(b, flag, 1);
	MUST(cuMemsetD32Async(flag, 0, 2, b));
}

/* ---- what is full, or not known: nothing is made up -------------------------------------------------------------------------------- */
static void one_bucket(void) /* more flags than one has room for */
{
	CUdeviceptr in[24];
	unsigned n = 0;

	for (CUdeviceptr f = at + (1 << 18); n < 24; f += 8)
		if (gsan_value_bucket(f) == gsan_value_bucket(flag))
			in[n++] = f;
	for (unsigned i = 0; i < n; i++) {
		launch_at(a, "put", chunk((int)i), flag, 1, 1);
		tell(a, in[i], 1);
	}
	for (unsigned i = 0; i < n; i++)
		launch_at(b, "poll_and_get", chunk((int)i), in[i], 1, 1);
}

static void many_waits(void)
{
	for (unsigned i = 0; i < 300; i++)
		await_value(b, flag, 1);
	launch(b, "get", 1);
	launch(a, "put", 1);
	tell(a, flag, 1);
}

static void captured(void)
{
	CUgraph graph;
	CUgraphExec exec;

	MUST(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	tell(a, flag, 1);
	MUST(cuStreamEndCapture(a, &graph));
	MUST(cuGraphInstantiate(&exec, graph, 0));
	tell(c, flag, 0);
	MUST(cuStreamSynchronize(c));
	launch(a, "put", 1);
	MUST(cuGraphLaunch(exec, a));
	launch(b, "poll_and_get", 1);
}

static const struct form forms[] = {
	FORM(polled), FORM(polled_first), FORM(polled_by_kernel_before), FORM(not_acquired), FORM(waited), FORM(waited_first), FORM(raised_by_kernel),
	FORM(counted_by_kernel), FORM(copied), FORM(copied_back), FORM(progress_waited), FORM(progress_polled), FORM(turns), FORM(wide_polled),
	FORM(wide_waited), FORM(halves), FORM(batch), FORM(relayed), FORM(relayed_in_a_batch), FORM(waited_for_set), FORM(waited_for_copy),
	FORM(waited_long_after), FORM(many_words), FORM(taken), FORM(continued), FORM(cleared),
	FORM(cleared_by_set), FORM(one_bucket), FORM(many_waits), FORM(captured), {NULL, NULL},
};

int main(int argc, char **argv)
{
	const struct form *form = form_begin(argc, argv, forms, load);

	MUST(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAlloc(&at, 1 << 20));
	MUST(cuMemsetD32(at, 0, 1 << 18));
	flag = at + (1 << 19);
	flag2 = flag + 512;
	MUST(cuCtxSynchronize());
	form->run();
	MUST(cuCtxSynchronize());
	return 0;
}
