/* A program for gsan-launch: `limits ctas|launches|unwaited|releases COUNT`. So many CTAs in one launch, so many launches, for which
 * the host waits now and then or never, or so many releases by one persistent CTA, all of them correct, and an acquire that they order. Then a kernel with a race, and
 * its correct twin: exactly the race must be found. On a GPU the counts are the real ones; on the emulated device they are
 * small, and GSAN_TEST_FIRST_LAUNCH and GSAN_TEST_FIRST_EPOCH start the counters near their ends. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD(name) ".visible .entry " name "(.param .u64 p, .param .u32 n)\n{\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<6>;\n" \
	"\t.reg .pred %q<3>;\n\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n\tmov.u32 %r2, %ctaid.x;\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	/* every CTA reads a word */
	HEAD("many") "\tld.global.u32 %r3, [%rd1];\n\tret;\n}\n"
	/* every launch of the stream adds one, weakly */
	HEAD("step") "\tld.global.u32 %r3, [%rd1];\n\tadd.u32 %r3, %r3, 1;\n\tst.global.u32 [%rd1], %r3;\n\tret;\n}\n"
	/* CTA 0 stores and releases n times; CTA 1 waits for the last time and reads what was stored */
	HEAD("persist") "\tsetp.ne.u32 %q1, %r2, 0;\n\tmov.u32 %r3, 0;\n\t@%q1 bra WAIT;\n"
	"NEXT:\tadd.u32 %r3, %r3, 1;\n\tst.global.u32 [%rd1+256], %r3;\n\tst.release.gpu.global.u32 [%rd1], %r3;\n"
	"\tsetp.lt.u32 %q2, %r3, %r1;\n\t@%q2 bra NEXT;\n\tret;\n"
	"WAIT:\tld.acquire.gpu.global.u32 %r3, [%rd1];\n\tsetp.ne.u32 %q2, %r3, %r1;\n\t@%q2 bra WAIT;\n"
	"\tld.global.u32 %r4, [%rd1+256];\n\tret;\n}\n"
	/* two CTAs store n bytes apart */
#define TWIN(name) HEAD(name) "\tmul.lo.u32 %r3, %r1, %r2;\n\tcvt.u64.u32 %rd2, %r3;\n\tadd.u64 %rd3, %rd1, %rd2;\n" \
	"\tst.global.u32 [%rd3+512], %r2;\n\tret;\n}\n"
	TWIN("racy") TWIN("correct");

static CUmodule module;
static CUdeviceptr memory;

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "limits: %s: error %d\n", what, rc);
	exit(1);
}

static void launch(const char *name, unsigned ctas, unsigned n, unsigned times, unsigned wait)
{
	CUfunction kernel;
	void *params[] = {&memory, &n};

	must(cuModuleGetFunction(&kernel, module, name), name);
	for (unsigned i = 1; i <= times; i++) {
		must(cuLaunchKernel(kernel, ctas, 1, 1, 1, 1, 1, 0, NULL, params, NULL), name);
		if (wait && i % wait == 0)
			must(cuCtxSynchronize(), "cuCtxSynchronize");
	}
	must(cuCtxSynchronize(), name);
}

int main(int argc, char **argv)
{
	unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	CUcontext context;
	CUdevice device;

	if (!count || !strchr("clur", *argv[1])) {
		fprintf(stderr, "usage: limits ctas|launches|unwaited|releases COUNT\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemsetD8(memory, 0, 4096), "cuMemsetD8");
	if (*argv[1] == 'c')
		launch("many", count, 0, 1, 0);
	else if (*argv[1] == 'r')
		launch("persist", 2, count, 1, 0);
	else
		launch("step", 1, 0, count, *argv[1] == 'l' ? 512 : 0);
	launch("correct", 2, 4, 1, 0);
	launch("racy", 2, 0, 1, 0);
	must(cuModuleUnload(module), "cuModuleUnload");
	return 0;
}
