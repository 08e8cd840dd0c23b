/* What a copy or a set costs, plain and checked: `gsan-copy-cost [MOST TIMES]`. Each kind and size, up to MOST bytes (256 MiB), is enqueued many times (a tenth
 * of TIMES for the greater ones, or as the table says) in one stream, while another stream is not waited for, so that the copies are looked at. A line of
 * JSON says the host's time for a call, and the time until all were done, of each. */
#include "calls.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry touch(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], 1;\n\tret;\n}\n";

enum { SIZES = 5 };
static const size_t sizes[SIZES] = {4, 4096, 1 << 20, 64 << 20, 256 << 20};
static const int often[SIZES] = {2000, 2000, 500, 50, 20};
enum kind { IN, OUT, WITHIN, SET, KINDS };
static const char *const names[KINDS] = {"host to device", "device to host", "within the device", "set"};

static CUstream stream, other;
static CUdeviceptr a, b, mark;
static char *host;

static void one(enum kind kind, size_t size)
{
	switch (kind) {
	case IN: MUST(cuMemcpyHtoDAsync(a, host, size, stream)); break;
	case OUT: MUST(cuMemcpyDtoHAsync(host, a, size, stream)); break;
	case WITHIN: MUST(cuMemcpyDtoDAsync(b, a, size, stream)); break;
	case SET:
	case KINDS: MUST(cuMemsetD8Async(a, 1, size, stream)); break;
	}
}

static void row(enum kind kind, int i, int times, CUfunction touch)
{
	void *params[] = {&mark};

	one(kind, sizes[i]);
	MUST(cuCtxSynchronize());
	MUST(cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, other, params, NULL));
	double begun = now(), called = 0;
	for (int n = 0; n < times; n++) {
		double t = now();
		one(kind, sizes[i]);
		called += now() - t;
		if (n % 100 == 99)
			MUST(cuStreamSynchronize(stream)); /* nor does a program run ahead for ever */
	}
	MUST(cuStreamSynchronize(stream));
	printf("{\"kind\": \"%s\", \"bytes\": %zu, \"call_us\": %.2f, \"each_us\": %.2f}\n", names[kind], sizes[i], called / times,
	       (now() - begun) / times);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : sizes[SIZES - 1];
	int few = argc > 2 ? atoi(argv[2]) : 0;
	CUfunction touch = kernel_of(ptx, "touch");

	MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAllocHost((void **)&host, most));
	MUST(cuMemAlloc(&a, most));
	MUST(cuMemAlloc(&b, most));
	MUST(cuMemAlloc(&mark, 256));
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < SIZES && sizes[i] <= most; i++)
			row((enum kind)kind, i, !few ? often[i] : i < 2 ? few : few / 10 + 1, touch);
	return 0;
}
