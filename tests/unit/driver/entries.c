/* A program for gsan-launch: `entries FORM`. Kernels store strongly to more locations than GSan has entries for, and single bytes to
 * more lines than it has blocks of detail for, and the host waits for each. Then a block passes a message to another one, and a kernel reads
 * a flag of the first kernels and what another stream writes:
 *   correct    the message by a release, the other stream behind an event     exported   the same, of memory that another process may have
 *   relaxed    no release                                                      stale      no event
 *   counted    without those stores, so that few entries are used; a counter has one from before all this. It is set back weakly and counts
 *              to the same value again, by an RMW whose result nobody reads: what that releases another stream acquires by it
 *   uncounted  the same, but what it acquires was written behind the RMW
 *   freed      as counted, but the counter's memory is freed meanwhile, and there again */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCHES = 12, BLOCKS = 4, THREADS = 512, FLAGS = LAUNCHES * BLOCKS * THREADS, BYTES = 2 << 20 };
enum { LINE = 128, LINE_BLOCKS = 64, LINES = LINE_BLOCKS * THREADS }; /* of a launch */
#define DRAIN_US 110000 /* GSan looks after its tables this seldom */

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry raise(.param .u64 flags)\n{\n"
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<4>;\n"
	"\tld.param.u64 %rd1, [flags];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n\tmad.lo.u32 %r3, %r1, 512, %r2;\n\tmul.wide.u32 %rd2, %r3, 4;\n"
	"\tadd.u64 %rd1, %rd1, %rd2;\n\tst.release.gpu.global.u32 [%rd1], 1;\n\tret;\n}\n"
	".visible .entry touch(.param .u64 lines)\n{\n"
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<4>;\n"
	"\tld.param.u64 %rd1, [lines];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n\tmad.lo.u32 %r3, %r1, 512, %r2;\n\tmul.wide.u32 %rd2, %r3, 128;\n"
	"\tadd.u64 %rd1, %rd1, %rd2;\n\tst.global.u8 [%rd1], %r1;\n\tret;\n}\n"
	".visible .entry count(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tatom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;\n\tst.global.u32 [%rd1+256], %r1;\n\tret;\n}\n"
	".visible .entry red(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tred.relaxed.gpu.global.add.u32 [%rd1+512], 1;\n\tred.relaxed.gpu.global.add.u32 [%rd1], 1;\n\tret;\n}\n"
	".visible .entry mark(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tst.release.gpu.global.u32 [%rd1+32], 1;\n\tret;\n}\n"
	".visible .entry zero(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], 0;\n\tret;\n}\n"
	".visible .entry take(.param .u64 p, .param .u64 q)\n{\n"
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n\t.reg .pred %p<2>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
	"\tld.param.u64 %rd2, [q];\n\tcvta.to.global.u64 %rd2, %rd2;\n"
	"beside:\n\tld.relaxed.gpu.global.u32 %r1, [%rd1+32];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra beside;\n"
	"again:\n\tld.acquire.gpu.global.u32 %r1, [%rd1];\n\tsetp.ne.u32 %p1, %r1, 1;\n\t@%p1 bra again;\n"
	"\tld.global.u32 %r1, [%rd2];\n\tst.global.u32 [%rd2+256], %r1;\n\tret;\n}\n"
	".visible .entry store(.param .u64 p)\n{\n"
	"\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], 7;\n\tret;\n}\n"
	".visible .entry load(.param .u64 flag, .param .u64 p)\n{\n"
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<3>;\n"
	"\tld.param.u64 %rd1, [flag];\n\tld.param.u64 %rd2, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tcvta.to.global.u64 %rd2, %rd2;\n"
	"\tld.acquire.gpu.global.u32 %r1, [%rd1];\n\tld.global.u32 %r2, [%rd2];\n\tst.global.u32 [%rd2+256], %r2;\n\tret;\n}\n"
#define PASS(name, sem) \
	".visible .entry " name "(.param .u64 p)\n{\n" \
	"\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n" \
	"\tmov.u32 %r1, %ctaid.x;\n\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n" \
	"\tst.global.u32 [%rd1], 7;\n\tst." sem ".gpu.global.u32 [%rd1+128], 1;\n\tret;\n" \
	"again:\n\tld.acquire.gpu.global.u32 %r2, [%rd1+128];\n\tsetp.eq.u32 %p1, %r2, 0;\n\t@%p1 bra again;\n" \
	"\tld.global.u32 %r2, [%rd1];\n\tst.global.u32 [%rd1+256], %r2;\n\tret;\n}\n"
	PASS("released", "release") PASS("relaxed", "relaxed");

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "entries: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

static CUmodule module;

static void launch(const char *name, unsigned blocks, unsigned threads, CUstream stream, void **params)
{
	CUfunction f;

	TRY(cuModuleGetFunction(&f, module, name));
	TRY(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL));
}

/* Zeros, of which a handle has been given away. */
static CUdeviceptr memory_new(void)
{
	CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				   .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	CUmemAccessDesc access = {.location = how.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;

	TRY(cuMemAddressReserve(&at, BYTES, 0, 0, 0));
	TRY(cuMemCreate(&handle, BYTES, &how, 0));
	TRY(cuMemMap(at, BYTES, 0, handle, 0));
	TRY(cuMemSetAccess(at, BYTES, &access, 1));
	TRY(cuMemsetD8(at, 0, BYTES));
	return at;
}

static void memory_export(CUdeviceptr at)
{
	CUmemGenericAllocationHandle handle;
	int fd;

	TRY(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)at));
	TRY(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	close(fd);
}

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";
	CUstream a, b;
	CUevent event;
	CUcontext context;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	TRY(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	TRY(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CUdeviceptr flags = memory_new(), message = flags + 4 * FLAGS, data = message + 4096, lines;
	CUdeviceptr counter, counted, beside;
	int freed = !strcmp(form, "freed"), counts = freed || !strcmp(form, "counted") || !strcmp(form, "uncounted");
	TRY(cuMemAlloc(&counter, 3 * 4096)); /* in the arena itself, where the short way of an RMW looks */
	TRY(cuMemsetD8(counter, 0, 3 * 4096));
	counted = counter + 4096;
	beside = counter + 64;
	TRY(cuMemAlloc(&lines, (size_t)(LAUNCHES + 1) * LINES * LINE));
	if (!strcmp(form, "exported"))
		memory_export(flags);
	launch("count", 1, 1, a, (void *[]){&counter});
	for (int i = freed ? LAUNCHES : 0; i < LAUNCHES; i++) {
		CUdeviceptr at = flags + 4ull * BLOCKS * THREADS * (unsigned)i, line = lines + (size_t)LINES * LINE * (unsigned)i;

		if (!counts)
			launch("raise", BLOCKS, THREADS, a, (void *[]){&at});
		launch("touch", LINE_BLOCKS, THREADS, a, (void *[]){&line});
		usleep(DRAIN_US);
		TRY(cuCtxSynchronize());
	}
	launch(strcmp(form, "relaxed") ? "released" : "relaxed", 2, 1, a, (void *[]){&message});
	TRY(cuCtxSynchronize());
	launch("store", 1, 1, a, (void *[]){&data});
	TRY(cuEventRecord(event, a));
	if (strcmp(form, "stale"))
		TRY(cuStreamWaitEvent(b, event, 0));
	launch("load", 1, 1, b, (void *[]){&flags, &data});
	if (freed) {
		CUdeviceptr again;

		TRY(cuMemFree(counter));
		TRY(cuMemAlloc(&again, 3 * 4096));
		TRY(again != counter);
	}
	launch("zero", 1, 1, a, (void *[]){&counter});
	TRY(cuCtxSynchronize());
	if (strcmp(form, "uncounted"))
		launch("store", 1, 1, a, (void *[]){&counted});
	launch("store", 1, 1, a, (void *[]){&beside}); /* the line has a record, of what knows no counter */
	launch("red", 1, 1, a, (void *[]){&counter});
	if (!strcmp(form, "uncounted"))
		launch("store", 1, 1, a, (void *[]){&counted});
	launch("mark", 1, 1, a, (void *[]){&counter}); /* a location with an entry of its own, in the same line */
	launch("take", 1, 1, b, (void *[]){&counter, &counted});
	CUdeviceptr fresh = lines + (size_t)LAUNCHES * LINES * LINE; /* blocks that lines had which the first stream writes to again */
	launch("touch", LINE_BLOCKS, THREADS, b, (void *[]){&fresh});
	launch("touch", LINE_BLOCKS, THREADS, a, (void *[]){&lines});
	TRY(cuCtxSynchronize());
	return 0;
}
