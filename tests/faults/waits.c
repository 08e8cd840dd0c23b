/* A program for gsan-launch that hangs: `waits KERNEL... [-]` launches each kernel in a stream of its own and waits for all; with -, it
 * makes the file "ended" when they have, and sleeps. Nobody sets the flags, which are 0:
 *   acquire   ld.acquire until the flag is set          relaxed   ld.relaxed, then a fence
 *   volatile  ld.volatile, then a fence                 acquirer  a CAS that acquires, from 1 to 2
 *   lock      a CAS from 0 to 1, of a lock that is taken   swap   an exchange of such a lock
 *   add       an RMW that adds nothing                  vector    ld.relaxed.v2, then a fence
 *   lanes     ld.acquire of a flag for each of 32 lanes both      of two flags, one after the other
 *   pinned    ld.acquire of memory that hosts can read  plain     ld.relaxed, and no fence anywhere
 *   many      70 CTAs, each with its place and flag     long      10,000 looks at the flag: that is enough
 *   turns     the same, then acquire                    none      no look at all */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOCK 256 /* bytes before it; before the flag, 128 */
#define MANY 70

#define HEAD(name) \
	".visible .entry " name "(.param .u64 p)\n{\n" \
	"\t.reg .pred %p<3>;\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<6>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tadd.s64 %rd2, %rd1, 128;\n\tadd.s64 %rd3, %rd1, 256;\n\tmov.u32 %r5, 0;\n"
#define UNTIL_SET(label, look) label ":\n\t" look "\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra " label ";\n"
#define TAIL "\tret;\n}\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	HEAD("acquire") UNTIL_SET("L", "ld.acquire.gpu.global.u32 %r1, [%rd2];") TAIL
	HEAD("relaxed") UNTIL_SET("L", "ld.relaxed.gpu.global.u32 %r1, [%rd2];") "\tfence.acq_rel.gpu;\n" TAIL
	HEAD("volatile") UNTIL_SET("L", "ld.volatile.global.u32 %r1, [%rd2];") "\tmembar.gl;\n" TAIL
	HEAD("plain") UNTIL_SET("L", "ld.relaxed.gpu.global.u32 %r1, [%rd2];") TAIL
	HEAD("acquirer") UNTIL_SET("L", "atom.acquire.gpu.global.cas.b32 %r1, [%rd2], 1, 2;") TAIL
	HEAD("lock") "\tmov.u32 %r2, 1;\nL:\n\tatom.acquire.gpu.global.cas.b32 %r1, [%rd3], 0, %r2;\n"
		"\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 bra L;\n" TAIL
	HEAD("swap") "L:\n\tatom.acquire.gpu.global.exch.b32 %r1, [%rd3], 1;\n\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 bra L;\n" TAIL
	HEAD("add") UNTIL_SET("L", "atom.acq_rel.gpu.global.add.u32 %r1, [%rd2], 0;") TAIL
	HEAD("vector") UNTIL_SET("L", "ld.relaxed.gpu.global.v2.u32 {%r1, %r2}, [%rd2];") "\tfence.acq_rel.gpu;\n" TAIL
	HEAD("lanes") "\tmov.u32 %r2, %tid.x;\n\tmul.wide.u32 %rd1, %r2, 4;\n\tadd.s64 %rd2, %rd2, %rd1;\n"
		UNTIL_SET("L", "ld.acquire.gpu.global.u32 %r1, [%rd2];") TAIL
	HEAD("both") "L:\n\tld.acquire.gpu.global.u32 %r1, [%rd2];\n\tld.acquire.gpu.global.u32 %r2, [%rd3];\n"
		"\tmin.u32 %r3, %r1, %r2;\n\tsetp.eq.u32 %p1, %r3, 0;\n\t@%p1 bra L;\n" TAIL
	HEAD("pinned") UNTIL_SET("L", "ld.acquire.sys.global.u32 %r1, [%rd2];") TAIL
	HEAD("long") "L:\n\tld.acquire.gpu.global.u32 %r1, [%rd2];\n\tadd.u32 %r5, %r5, 1;\n\tsetp.lt.u32 %p1, %r5, 10000;\n\t@%p1 bra L;\n" TAIL
	HEAD("turns") "L:\n\tld.acquire.gpu.global.u32 %r1, [%rd2];\n\tadd.u32 %r5, %r5, 1;\n\tsetp.lt.u32 %p1, %r5, 10000;\n\t@%p1 bra L;\n"
		UNTIL_SET("M", "ld.acquire.gpu.global.u32 %r1, [%rd3+4];") TAIL
	HEAD("none") TAIL;

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "waits: %s: error %d\n", what, rc);
	exit(9);
}

/* With a loop for each of MANY CTAs. */
static CUfunction many(void)
{
	static char text[MANY * 400 + 1000];
	CUmodule module;
	CUfunction function;
	int n = snprintf(text, sizeof(text), "%s", ".version 8.0\n.target sm_90\n.address_size 64\n" HEAD("many")
			 "\tmov.u32 %r2, %ctaid.x;\n\tmul.wide.u32 %rd2, %r2, 4;\n\tadd.s64 %rd2, %rd2, %rd3;\n");

	for (int i = 0; i < MANY; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "\tsetp.ne.u32 %%p2, %%r2, %d;\n\t@%%p2 bra N%d;\n"
			      "L%d:\n\tld.acquire.gpu.global.u32 %%r1, [%%rd2+4];\n\tsetp.eq.u32 %%p1, %%r1, 0;\n\t@%%p1 bra L%d;\nN%d:\n", i, i, i, i, i);
	snprintf(text + n, sizeof(text) - (size_t)n, TAIL);
	must(cuModuleLoadData(&module, text), "many");
	must(cuModuleGetFunction(&function, module, "many"), "many");
	return function;
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUdeviceptr memory;
	void *pinned;
	const char *rank = getenv("LOCAL_RANK");
	int stay = argc > 1 && !strcmp(argv[argc - 1], "-");

	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, rank ? atoi(rank) : 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemHostAlloc(&pinned, 4096, 0), "cuMemHostAlloc");
	memset(pinned, 0, 4096);
	must(cuMemsetD32(memory, 0, 1024), "cuMemsetD32");
	must(cuMemsetD32(memory + LOCK, 1, 1), "cuMemsetD32");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	for (int i = 1; i < argc - stay; i++) {
		void *arguments[] = {strcmp(argv[i], "pinned") ? (void *)&memory : (void *)&pinned};
		CUfunction function;
		CUstream stream;
		int is_many = !strcmp(argv[i], "many");

		if (is_many)
			function = many();
		else
			must(cuModuleGetFunction(&function, module, argv[i]), argv[i]);
		must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
		must(cuLaunchKernel(function, is_many ? MANY : 1, 1, 1, strcmp(argv[i], "lanes") ? 1 : 32, 1, 1, 0, stream, arguments, NULL),
		     "cuLaunchKernel");
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	if (stay && fopen("ended", "w"))
		sleep(1000);
	return 0;
}
