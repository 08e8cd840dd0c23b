/* A program for gsan-launch: `hostmem FORM [racy]`. Kernels and copies use memory that hosts use, too: managed, pinned, registered; ordered, or
 * with an edge left out. */
#include <unistd.h>

#include "e2e/forms.h"

enum { BYTES = 1 << 16, CTAS = 2, THREADS = 64, RANGES = 5000, RANGES_FULL = 33000, POLL_US = 1000, ROUNDS = 3 };

/* %rd2: this thread's element, %rd3: the same of its CTA alone; %rd8: a flag, behind all elements. */
#define KERNEL(name, body) \
	".visible .entry " name "(.param .u64 p, .param .u64 q)\n{\n\t.reg .b64 %rd<9>;\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<3>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tld.param.u64 %rd4, [q];\n\tcvta.to.global.u64 %rd4, %rd4;\n" \
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n\tmad.lo.u32 %r4, %r1, %r2, %r3;\n" \
	"\tmul.wide.u32 %rd2, %r4, 4;\n\tadd.u64 %rd2, %rd1, %rd2;\n\tmul.wide.u32 %rd3, %r3, 4;\n\tadd.u64 %rd3, %rd1, %rd3;\n" \
	"\tsetp.ne.u32 %p1, %r3, 0;\n" body "\tret;\n}\n"
#define MOVE "\tld.global.u32 %r5, [%rd2];\n\tst.global.u32 [%rd2+32768], %r5;\n"
#define FLAG "[%rd4+4096]"
#define SPIN "spin:\n\tld.acquire.sys.global.u32 %r5, " FLAG ";\n\tsetp.eq.u32 %p2, %r5, 0;\n\t@%p2 bra spin;\n"
/* The second CTA reads what the first has written, behind a flag or not. */
#define PASS(spin) \
	"\tsetp.ne.u32 %p2, %r1, 0;\n\t@%p2 bra second;\n\tst.global.u32 [%rd3], %r3;\n\tbar.sync 0;\n\t@%p1 bra out;\n" \
	"\tfence.acq_rel.sys;\n\tst.relaxed.sys.global.u32 " FLAG ", 1;\n\tbra out;\nsecond:\n\t@%p1 bra met;\n" spin \
	"met:\n\tbar.sync 0;\n\tld.global.u32 %r5, [%rd3];\n\tst.global.u32 [%rd3+32768], %r5;\nout:\n"

static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	".visible .global .attribute(.managed) .align 512 .b8 data[65536];\n"
	KERNEL("own", "\tst.global.u32 [%rd2], %r4;\n")
	KERNEL("same", "\tst.global.u32 [%rd3], %r4;\n")
	KERNEL("put", "\tst.global.u32 [%rd2], %r4;\n")
	KERNEL("move", MOVE)
	KERNEL("look", "\tld.global.u32 %r5, [%rd2];\n\tsub.u64 %rd5, %rd2, %rd1;\n\tadd.u64 %rd5, %rd4, %rd5;\n\tst.global.u32 [%rd5], %r5;\n")
	KERNEL("put_data", "\tmov.u64 %rd5, data;\n\tmul.wide.u32 %rd2, %r4, 4;\n\tadd.u64 %rd2, %rd5, %rd2;\n\tst.global.u32 [%rd2], %r4;\n")
	KERNEL("count", "\tred.relaxed.sys.global.add.u32 [%rd2], 1;\n")
	KERNEL("await", "\t@%p1 bra met;\n" SPIN "met:\n\tbar.sync 0;\n" MOVE)
	KERNEL("pass", PASS(SPIN))
	KERNEL("pass_early", PASS(""))
	KERNEL("put_tell", "\tst.global.u32 [%rd2], %r4;\n\tbar.sync 0;\n\t@%p1 bra out;\n\tfence.acq_rel.sys;\n\tst.relaxed.sys.global.u32 " FLAG ", 1;\nout:\n")
	/* %r6: what is served, from 1 on; at FLAG what was asked for, behind it what was answered */
	KERNEL("serve", "\tmov.u32 %r6, 0;\nnext:\n\tadd.u32 %r6, %r6, 1;\n"
	       "spin:\n\tld.acquire.sys.global.u32 %r5, " FLAG ";\n\tsetp.lt.u32 %p2, %r5, %r6;\n\t@%p2 bra spin;\n" MOVE
	       "\tst.release.sys.global.u32 [%rd4+4608], %r6;\n\tsetp.lt.u32 %p2, %r6, 3;\n\t@%p2 bra next;\n");
static const char *const names[] = {"own", "same", "put", "move", "look", "put_data", "count", "await", "pass", "pass_early", "put_tell", "serve"};

static CUdeviceptr at, other; /* what the form is about; memory of the device */
static volatile unsigned *host; /* of `at` */
static char *mine;
static CUevent event;

static void load(void) { KERNELS_LOAD(ptx, names); }

static void launch_with(CUstream stream, const char *name, unsigned ctas, unsigned threads, CUdeviceptr p, CUdeviceptr q)
{
	MUST(cuLaunchKernel(kernel(name), ctas, 1, 1, threads, 1, 1, 0, stream, (void *[]){&p, &q}, NULL));
}
static void launch(CUstream stream, const char *name) { launch_with(stream, name, CTAS, THREADS, at, at); }
static void look(CUstream stream) { launch_with(stream, "look", CTAS, THREADS, at, other); } /* it writes to the device's memory alone */

static void managed(void)
{
	MUST(cuMemAllocManaged(&at, BYTES, CU_MEM_ATTACH_GLOBAL));
	host = memset((void *)(uintptr_t)at, 0, BYTES);
}
static void pinned(void)
{
	void *p;

	MUST(cuMemHostAlloc(&p, BYTES, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
	MUST(cuMemHostGetDevicePointer(&at, p, 0));
	host = memset(p, 0, BYTES);
}
static void registered_at(void *p)
{
	MUST(cuMemHostRegister(p, BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
	MUST(cuMemHostGetDevicePointer(&at, p, 0));
	host = p;
}
static void registered(void) /* in the middle of what was allocated */
{
	mine = calloc(4, BYTES);
	registered_at(mine + BYTES + 4096 - (uintptr_t)mine % 4096);
}

static void order(void) /* what comes next in b behind what a has */
{
	if (racy)
		return;
	MUST(cuEventRecord(event, a));
	MUST(cuStreamWaitEvent(b, event, 0));
}

static void ctas(void) { launch(a, racy ? "same" : "own"); }
static void managed_ctas(void) { managed(); ctas(); }
static void pinned_ctas(void) { pinned(); ctas(); }
static void registered_ctas(void) { registered(); ctas(); }

static void streams(void)
{
	look(a);
	order();
	launch(b, "put");
}
static void managed_streams(void) { managed(); streams(); }
static void pinned_streams(void) { pinned(); streams(); }
static void registered_streams(void) { registered(); streams(); }
/* The first one writes where a host may look, and so may tell it what it likes; but only once it has begun. */
static void enqueued(void)
{
	managed();
	launch(a, "put");
	order();
	launch(b, "move");
}

/* Memory that is freed and comes again, as another piece at the address: nothing is known of the old one. */
static void again(void (*gone)(void), void (*come)(void))
{
	look(a);
	if (!racy) {
		gone();
		come();
	}
	launch(b, "put");
}
static void free_pinned(void) { MUST(cuMemFreeHost((void *)(uintptr_t)host)); }
static void free_managed(void) { MUST(cuMemFree(at)); }
static void forget(void) { MUST(cuMemHostUnregister((void *)(uintptr_t)host)); }
static void remember(void) { registered_at((void *)(uintptr_t)host); }
static void pinned_again(void) { pinned(); again(free_pinned, pinned); }
static void managed_again(void) { managed(); again(free_managed, managed); }
static void registered_again(void) { registered(); again(forget, remember); }

static void copied_from(void) /* filled again too early */
{
	pinned();
	MUST(cuMemcpyHtoDAsync(other, (const void *)(uintptr_t)host, BYTES / 2, a));
	order();
	launch(b, "put");
}
static void copied_to(void)
{
	pinned();
	MUST(cuMemcpyDtoHAsync((void *)(uintptr_t)host, other, BYTES / 2, a));
	order();
	launch(b, "move");
}
static void copied_rows(void)
{
	CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = other, .srcPitch = 256, .dstMemoryType = CU_MEMORYTYPE_HOST,
			.dstPitch = 512, .WidthInBytes = 64, .Height = 8};

	pinned();
	rows.dstHost = (void *)(uintptr_t)host;
	MUST(cuMemcpy2DAsync(&rows, a));
	order();
	launch(b, "move");
}
static void set_managed(void)
{
	managed();
	MUST(cuMemsetD8Async(at, 1, BYTES / 2, a));
	order();
	launch(b, "move");
}
static void within_managed(void)
{
	managed();
	MUST(cuMemcpyDtoDAsync(at + BYTES / 2, at, BYTES / 4, a));
	order();
	launch(b, "put");
}

static void counted(void) /* atomically, and not */
{
	managed();
	look(a);
	order();
	launch(b, "count");
}
static void flag(void)
{
	managed();
	launch(a, racy ? "pass_early" : "pass");
}
static void flag_apart(void) /* of another piece, of the host's */
{
	CUdeviceptr data;

	managed();
	data = at;
	pinned();
	launch_with(a, racy ? "pass_early" : "pass", CTAS, THREADS, data, at);
}

static void poll(const volatile unsigned *word, unsigned value)
{
	while (*word < value)
		usleep(POLL_US); /* the emulated device goes on while nobody runs */
}

/* A host that has read what a kernel wrote launches the next; or it did so before. */
static void told(void)
{
	pinned();
	if (racy)
		launch(b, "move");
	launch(a, "put_tell");
	poll(host + 1024, 1);
	if (!racy)
		launch(b, "move");
}
/* A host hands on what it was told to a kernel that waits for that. */
static void relayed(void)
{
	pinned();
	launch_with(b, racy ? "move" : "await", CTAS, THREADS, at, at + 8192);
	launch(a, "put_tell");
	poll(host + 1024, 1);
	__atomic_store_n(&host[3072], 1, __ATOMIC_RELEASE);
}
/* A kernel that does what a host asks for. What was asked for before is written by the host, and once all is answered by a kernel of
 * another stream. */
static void ring(void)
{
	pinned();
	launch_with(a, "serve", 1, 1, at, at);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		host[0] = i;
		host[1024] = i;
		poll(host + 1152, i);
	}
	launch_with(b, "put", 1, 1, at, at);
}

static void variable(void)
{
	size_t size;

	MUST(cuModuleGetGlobal(&at, &size, module, "data"));
	look(a);
	order();
	launch(b, "put_data");
}

/* A second GPU of the process uses the same memory. */
static void two_gpus(void)
{
	CUdevice device;
	CUcontext first = context;
	CUdeviceptr shared;

	pinned();
	shared = at;
	look(a);
	if (!racy)
		MUST(cuStreamSynchronize(a));
	MUST(cuDeviceGet(&device, 1));
	MUST(cuDevicePrimaryCtxRetain(&context, device));
	MUST(cuCtxSetCurrent(context));
	load();
	launch_with(NULL, "own", CTAS, THREADS, shared, shared);
	MUST(cuCtxSynchronize());
	MUST(cuCtxSetCurrent(first));
}

/* Each a piece of its own, between others. */
static void many(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *all = aligned_alloc((size_t)page, (size_t)page * 2 * RANGES);

	for (int i = 0; i < RANGES; i++) {
		int place = i * 7 % RANGES;
		MUST(cuMemHostRegister(all + 2 * page * place, (size_t)page, CU_MEMHOSTREGISTER_DEVICEMAP));
	}
	for (int i = 0; i < RANGES; i += 499) {
		MUST(cuMemHostGetDevicePointer(&at, all + 2 * page * i, 0));
		look(a);
		order();
		launch(b, "put");
	}
	MUST(cuCtxSynchronize());
	for (int i = 0; i < RANGES; i++)
		MUST(cuMemHostUnregister(all + 2 * page * i));
	pinned();
	streams();
}

/* More than there is room for: the last is not checked. */
static void full(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *all = aligned_alloc(page, page * 2 * RANGES_FULL);

	for (size_t i = 0; i < RANGES_FULL; i++)
		MUST(cuMemHostRegister(all + 2 * page * i, page, CU_MEMHOSTREGISTER_DEVICEMAP));
	MUST(cuMemHostGetDevicePointer(&at, all + 2 * page * (RANGES_FULL - 1), 0));
	look(a);
	order();
	launch(b, "put");
}

/* What a host writes is no access that is seen: it copies, waits, and writes anew. */
static void filled(void)
{
	pinned();
	for (unsigned i = 0; i < ROUNDS; i++) {
		memset((void *)(uintptr_t)host, (int)i, BYTES);
		MUST(cuMemcpyHtoDAsync(other, (const void *)(uintptr_t)host, BYTES, a));
		launch(a, "move");
		MUST(cuEventRecord(event, a));
		while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
			usleep(POLL_US);
		launch(b, "put");
		MUST(cuStreamSynchronize(b));
	}
}
/* Pageable memory is not checked; it was registered once. */
static void pageable(void)
{
	registered();
	launch(a, "put");
	forget();
	MUST(cuMemcpyDtoHAsync((void *)(uintptr_t)host, other, BYTES / 2, b));
}

static const struct form forms[] = {
	FORM(managed_ctas), FORM(pinned_ctas), FORM(registered_ctas), FORM(managed_streams), FORM(pinned_streams), FORM(registered_streams), FORM(enqueued),
	FORM(pinned_again), FORM(managed_again), FORM(registered_again), FORM(copied_from), FORM(copied_to), FORM(copied_rows), FORM(set_managed),
	FORM(within_managed), FORM(counted), FORM(flag), FORM(flag_apart), FORM(told), FORM(relayed), FORM(ring), FORM(variable), FORM(two_gpus), FORM(many),
	FORM(full), FORM(filled), FORM(pageable), {NULL, NULL},
};

int main(int argc, char **argv)
{
	const struct form *form = form_begin(argc, argv, forms, load);

	MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cuMemAlloc(&other, BYTES));
	MUST(cuMemsetD8(other, 0, BYTES));
	MUST(cuCtxSynchronize());
	form->run();
	MUST(cuCtxSynchronize());
	free(mine);
	return 0;
}
