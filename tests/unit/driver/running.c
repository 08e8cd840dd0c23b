/* A program for gsan-launch: `running FORM`. A kernel makes more entries than GSan likes to keep, and one behind it takes and gives back a
 * lock until it is told to stop. Meanwhile the host waits for other work, of which GSan may believe that it was all:
 *   shared    all this on streams beyond those that GSan tells apart, two of them
 *   context   the kernels in a second context, the waits in the first
 *   relaxed   as shared, and the lock is given back relaxed: a race */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STREAMS = 66, ROUNDS = 4, BLOCKS = 4, FLAG_BLOCKS = 24, FLAG_THREADS = 256, BYTES = 1 << 20 };
enum { LOCK = FLAG_BLOCKS * FLAG_THREADS * 4, STOP = LOCK + 256, SUM = STOP + 256, TURNS = SUM + 4, OTHER = SUM + 256 }; /* what lies where */
#define DRAIN_US 110000 /* GSan looks after its tables this seldom */

#define POINTER "\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<8>;\n\t.reg .pred %p<3>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
#define RUN(name, semantics) \
	".visible .entry " name "(.param .u64 p)\n{\n" POINTER \
	"taken:\n\tatom.acquire.gpu.global.cas.b32 %r1, [%rd1+24576], 0, 1;\n\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 bra taken;\n" \
	"\tld.global.u32 %r2, [%rd1+25088];\n\tadd.u32 %r2, %r2, 1;\n\tst.global.u32 [%rd1+25088], %r2;\n" \
	"\tred.relaxed.gpu.global.add.u32 [%rd1+25092], 1;\n" \
	"\tld.acquire.gpu.global.u32 %r3, [%rd1+24832];\n" \
	"\tst." semantics ".gpu.global.u32 [%rd1+24576], 0;\n" \
	"\tsetp.eq.u32 %p2, %r3, 0;\n\t@%p2 bra taken;\n\tret;\n}\n"
_Static_assert(LOCK == 24576 && STOP == 24832 && SUM == 25088 && TURNS == 25092, "as the kernels say");

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry fill(.param .u64 p)\n{\n" POINTER
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n\tmad.lo.u32 %r3, %r1, 256, %r2;\n\tmul.wide.u32 %rd2, %r3, 4;\n"
	"\tadd.u64 %rd1, %rd1, %rd2;\n\tst.relaxed.gpu.global.u32 [%rd1], 1;\n\tret;\n}\n"
	".visible .entry touch(.param .u64 p)\n{\n" POINTER "\tst.global.u32 [%rd1], 7;\n\tret;\n}\n"
	".visible .entry stop(.param .u64 p)\n{\n" POINTER "\tst.release.gpu.global.u32 [%rd1], 1;\n\tret;\n}\n"
	RUN("run", "release") RUN("relaxed", "relaxed");

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "running: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

static CUmodule module; /* of the context that is current */

static void launch(const char *name, unsigned blocks, unsigned threads, CUstream stream, CUdeviceptr at)
{
	CUfunction f;

	TRY(cuModuleGetFunction(&f, module, name));
	TRY(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, (void *[]){&at}, NULL));
}

static CUstream stream_new(void)
{
	CUstream s;

	TRY(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";
	CUcontext first, second;
	CUmodule here;
	CUstream busy, other, last;
	CUdeviceptr at;
	unsigned sum;
	int apart = !strcmp(form, "context");

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&first, 0));
	TRY(cuCtxSetCurrent(first));
	TRY(cuModuleLoadData(&here, ptx));
	module = here;
	TRY(cuMemAlloc(&at, BYTES));
	TRY(cuMemsetD8(at, 0, BYTES));
	TRY(cuCtxSynchronize());
	for (int i = 0; !apart && i < STREAMS; i++) { /* a stream has its place from its first launch on */
		CUstream s = stream_new();

		launch("touch", 1, 1, s, at + OTHER + 4096 * (unsigned)(i + 1));
		TRY(cuStreamSynchronize(s));
	}
	if (apart) {
		TRY(cuCtxCreate(&second, NULL, 0, 0));
		TRY(cuModuleLoadData(&module, ptx));
	}
	busy = stream_new();
	launch("fill", FLAG_BLOCKS, FLAG_THREADS, busy, at);
	launch(strcmp(form, "relaxed") ? "run" : "relaxed", BLOCKS, 1, busy, at);
	TRY(cuCtxSetCurrent(first));
	module = here;
	other = stream_new();
	last = stream_new();
	do { /* until the lock is in use */
		launch("touch", 1, 1, last, at + OTHER + 4096);
		TRY(cuStreamSynchronize(last));
		TRY(cuMemcpyDtoH(&sum, at + TURNS, sizeof(sum)));
	} while (sum < BLOCKS);
	for (int i = 0; i < ROUNDS; i++) {
		launch("touch", 1, 1, other, at + OTHER);
		usleep(DRAIN_US);
		TRY(apart ? cuCtxSynchronize() : cuStreamSynchronize(other));
	}
	launch("stop", 1, 1, last, at + STOP);
	TRY(cuStreamSynchronize(busy));
	TRY(cuMemcpyDtoH(&sum, at + SUM, sizeof(sum)));
	return sum < BLOCKS;
}
