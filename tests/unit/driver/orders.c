/* A program for gsan-launch: `orders FORM`. Order that was not understood once; FORM_relaxed lacks it: a race.
 *   locked16   a lock of 16 bytes, taken by a compare-and-swap whose success cannot be told
 *   polled16   a flag of 16 bytes, whose value cannot be told, polled while it is written
 *   unlocked   a lock that a function releases which is not seen, for it is called through a register; relaxed: it is not called
 *   raised     a flag that such a function raises
 *   alike      CTA 0 releases again and again; 1,024 CTAs that acquire the last of it release flags of their own, among them one whose hash
 *              is CTA 0's; 1,024 further CTAs acquire these */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 16 };

#define KERNEL(name, body) \
	".visible .entry " name "(.param .u64 p, .param .u32 value)\n{\n" \
	"\t.reg .b64 %rd<12>;\n\t.reg .b32 %r<9>;\n\t.reg .pred %p<4>;\n\t.reg .b128 %q<5>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tld.param.u32 %r1, [value];\n\tmov.u32 %r2, %ctaid.x;\n" body "}\n"
#define LOCKED16(unlock) \
	"\tmov.u64 %rd2, 0;\n\tmov.u64 %rd3, 1;\n\tmov.b128 %q1, {%rd2, %rd2};\n\tmov.b128 %q2, {%rd3, %rd3};\n\tmov.u32 %r3, 0;\n" \
	"again:\n\tatom.acquire.gpu.global.cas.b128 %q3, [%rd1], %q1, %q2;\n\tmov.b128 {%rd4, %rd5}, %q3;\n" \
	"\tsetp.ne.u64 %p1, %rd4, 0;\n\t@%p1 bra again;\n" \
	"\tld.global.u32 %r4, [%rd1+256];\n\tadd.u32 %r4, %r4, 1;\n\tst.global.u32 [%rd1+256], %r4;\n" \
	"\tatom." unlock ".gpu.global.exch.b128 %q4, [%rd1], %q1;\n" \
	"\tadd.u32 %r3, %r3, 1;\n\tsetp.lt.u32 %p1, %r3, 4;\n\t@%p1 bra again;\n\tret;\n"
#define POLLED16(store) \
	"\tcvt.u64.u32 %rd2, %r1;\n\tsetp.ne.u32 %p1, %r2, 0;\n\t@%p1 bra reader;\n" \
	"\tst.global.u32 [%rd1+256], %r1;\n\tmov.b128 %q1, {%rd2, %rd2};\n\tst." store ".gpu.global.b128 [%rd1], %q1;\n\tret;\n" \
	"reader:\n\tld.acquire.gpu.global.b128 %q2, [%rd1];\n\tmov.b128 {%rd3, %rd4}, %q2;\n" \
	"\tsetp.ne.u64 %p1, %rd3, %rd2;\n\t@%p1 bra reader;\n" \
	"\tld.global.u32 %r3, [%rd1+256];\n\tmul.wide.u32 %rd5, %r2, 4;\n\tadd.u64 %rd5, %rd5, %rd1;\n\tst.global.u32 [%rd5+512], %r3;\n\tret;\n"
#define ALIKE(store) \
	"\tsetp.eq.u32 %p1, %r2, 0;\n\t@%p1 bra first;\n\tsetp.lt.u32 %p1, %r2, 1024;\n\t@%p1 ret;\n" \
	"\tmul.wide.u32 %rd2, %r2, 4;\n\tadd.u64 %rd3, %rd1, %rd2;\n\tsetp.ge.u32 %p1, %r2, 2048;\n\t@%p1 bra third;\n" \
	"second:\n\tld.acquire.gpu.global.u32 %r3, [%rd1];\n\tsetp.ne.u32 %p1, %r3, 10;\n\t@%p1 bra second;\n" \
	"\tst." store ".gpu.global.u32 [%rd3], %r1;\n\tret;\n" \
	"first:\n\tmov.u32 %r3, 0;\nagain:\n\tadd.u32 %r3, %r3, 1;\n\tst.global.u32 [%rd1+256], %r3;\n\tst.release.gpu.global.u32 [%rd1], %r3;\n" \
	"\tsetp.lt.u32 %p1, %r3, 10;\n\t@%p1 bra again;\n\tret;\n" \
	"third:\n\tld.acquire.gpu.global.u32 %r3, [%rd3+-4096];\n\tsetp.ne.u32 %p1, %r3, %r1;\n\t@%p1 bra third;\n" \
	"\tld.global.u32 %r4, [%rd1+256];\n\tst.global.u32 [%rd3], %r4;\n\tret;\n"
/* put(where, value), through a register */
#define PUT "\tmov.u64 %rd7, put;\n\t{\n\t.param .b64 a;\n\t.param .b32 b;\n\tst.param.b64 [a], %rd1;\n\tst.param.b32 [b], %r5;\n" \
	"\tproto: .callprototype _ (.param .b64 _, .param .b32 _);\n\tcall %rd7, (a, b), proto;\n\t}\n"
#define UNLOCKED(skip) \
	"\tmov.u32 %r3, 0;\n\tmov.u32 %r5, 0;\n" \
	"again:\n\tatom.acquire.gpu.global.cas.b32 %r4, [%rd1], 0, 1;\n\tsetp.ne.u32 %p1, %r4, 0;\n\t@%p1 bra again;\n" \
	"\tld.global.u32 %r4, [%rd1+256];\n\tadd.u32 %r4, %r4, 1;\n\tst.global.u32 [%rd1+256], %r4;\n" \
	skip PUT "\tbra on;\nplain:\n\tst.relaxed.gpu.global.u32 [%rd1], 0;\n" \
	"on:\n\tadd.u32 %r3, %r3, 1;\n\tsetp.lt.u32 %p1, %r3, 4;\n\t@%p1 bra again;\n\tret;\n"
#define RAISED(skip) \
	"\tmov.u32 %r5, %r1;\n\tsetp.ne.u32 %p1, %r2, 0;\n\t@%p1 bra reader;\n\tst.global.u32 [%rd1+256], %r1;\n" \
	skip PUT "\tret;\nplain:\n\tst.relaxed.gpu.global.u32 [%rd1], %r1;\n\tret;\n" \
	"reader:\n\tld.acquire.gpu.global.u32 %r3, [%rd1];\n\tsetp.ne.u32 %p1, %r3, %r1;\n\t@%p1 bra reader;\n" \
	"\tld.global.u32 %r3, [%rd1+256];\n\tmul.wide.u32 %rd5, %r2, 4;\n\tadd.u64 %rd5, %rd5, %rd1;\n\tst.global.u32 [%rd5+512], %r3;\n\tret;\n"
#define PLAIN "\tbra plain;\n"
static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
	".func put(.param .b64 a, .param .b32 b)\n{\n\t.reg .b64 %rd1;\n\t.reg .b32 %r1;\n\tld.param.b64 %rd1, [a];\n"
	"\tld.param.b32 %r1, [b];\n\tst.release.gpu.global.u32 [%rd1], %r1;\n\tret;\n}\n"
	KERNEL("unlocked", UNLOCKED("")) KERNEL("unlocked_relaxed", UNLOCKED(PLAIN))
	KERNEL("raised", RAISED("")) KERNEL("raised_relaxed", RAISED(PLAIN))
	KERNEL("locked16", LOCKED16("release")) KERNEL("locked16_relaxed", LOCKED16("relaxed"))
	KERNEL("polled16", POLLED16("release")) KERNEL("polled16_relaxed", POLLED16("relaxed"))
	KERNEL("alike", ALIKE("release")) KERNEL("alike_relaxed", ALIKE("relaxed"));

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "orders: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";
	int alike = !strncmp(form, "alike", 5);
	unsigned ctas = alike ? 3072 : 5, launches = alike ? 1 : 12;
	CUcontext context;
	CUmodule module;
	CUfunction f;
	CUdeviceptr at;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&f, module, form));
	TRY(cuMemAlloc(&at, BYTES));
	TRY(cuMemsetD8(at, 0, BYTES));
	for (unsigned value = 1; value <= launches; value++)
		TRY(cuLaunchKernel(f, ctas, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at, &value}, NULL));
	TRY(cuCtxSynchronize());
	return 0;
}
