/* A program for gsan-launch: `told FORM racy|correct`. A kernel stores a payload and writes to memory of the host; a load of the
 * payload is behind what the host launches once it has read that, in the correct program, and was launched before it in the racy one.
 *   fenced release volatile atomic red weak unfenced narrow   how it writes
 *   later      by a plain store of a kernel behind it in its stream
 *   called     in a function that is called by address, which has no clone
 *   managed    to a __managed__ variable
 *   relayed    behind a flag of a third kernel, which was launched later and stored the payload
 *   chained    the load was launched first, and waits for a flag of what the host launches
 *   itself     so does another CTA of the same launch
 *   shares     relayed, from one stream for another one, of many that share a slot
 * Not the host's memory at all: a generic address of `shared` or `local` memory; there an event orders the load. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#define POLL_US 100000 /* the emulated device goes on while nobody runs */
#define STREAMS 70     /* more than there are slots */

#define KERNEL(name, how) \
	".visible .entry " name "(.param .u64 p, .param .u64 q)\n{\n" \
	"\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n\t.local .align 4 .b8 mine[4];\n\t.shared .align 4 .b8 ours[4];\n" \
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tld.param.u64 %rd2, [q];\n" how "\tret;\n}\n"
#define PAYLOAD "\tst.global.u32 [%rd1], 7;\n"
#define LOAD "\tld.global.u32 %r1, [%rd1];\n\tst.global.u32 [%rd1+256], %r1;\n"
#define FENCE "\tfence.acq_rel.sys;\n"
#define WRITE "\tst.global.u32 [%rd2], 1;\n"
#define RELEASE "\tst.release.sys.global.u32 [%rd2], 1;\n"
#define AWAIT(label) /* the flag of `raise` */ \
	label ":\n\tld.acquire.gpu.global.u32 %r1, [%rd1+2048];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra " label ";\n"
#define OWN(space, name) /* which its text does not say */ \
	PAYLOAD FENCE "\tmov.u64 %rd3, " name ";\n\tcvta." space ".u64 %rd3, %rd3;\n" \
	"\tsetp.ne.u64 %p1, %rd2, 0;\n\tselp.b64 %rd3, %rd3, %rd2, %p1;\n\tst.u32 [%rd3], 1;\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .global .attribute(.managed) .align 4 .u32 flag;\n"
	".func tell(.param .u64 to)\n{\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [to];\n\tst.release.sys.u32 [%rd1], 1;\n\tret;\n}\n"
	KERNEL("fenced", PAYLOAD FENCE "\tst.relaxed.sys.global.u32 [%rd2], 1;\n")
	KERNEL("release", PAYLOAD RELEASE)
	KERNEL("volatile", PAYLOAD FENCE "\tst.volatile.global.u32 [%rd2], 1;\n")
	KERNEL("atomic", PAYLOAD FENCE "\tatom.relaxed.sys.global.add.u32 %r1, [%rd2], 1;\n")
	KERNEL("red", PAYLOAD FENCE "\tred.relaxed.sys.global.add.u32 [%rd2], 1;\n")
	KERNEL("weak", PAYLOAD FENCE WRITE)
	KERNEL("unfenced", PAYLOAD WRITE)
	KERNEL("narrow", PAYLOAD "\tst.release.gpu.global.u32 [%rd2], 1;\n")
	KERNEL("called", PAYLOAD "\tmov.u64 %rd3, tell;\n\t{\n\t.param .b64 to;\n\tst.param.b64 [to], %rd2;\n"
	       "\tproto: .callprototype _ (.param .b64 _);\n\tcall %rd3, (to), proto;\n\t}\n")
	KERNEL("managed", PAYLOAD "\tst.release.sys.global.u32 [flag], 1;\n")
	KERNEL("relayed", AWAIT("again") RELEASE)
	KERNEL("itself", "\tmov.u32 %r2, %ctaid.x;\n\tsetp.ne.u32 %p1, %r2, 0;\n\t@%p1 bra other;\n" PAYLOAD RELEASE "\tret;\n"
	       AWAIT("other") LOAD)
	KERNEL("shared", OWN("shared", "ours"))
	KERNEL("local", OWN("local", "mine"))
	KERNEL("store", PAYLOAD)
	KERNEL("write", WRITE)
	KERNEL("raise", "\tst.release.gpu.global.u32 [%rd1+2048], 1;\n")
	KERNEL("raised", PAYLOAD "\tst.release.gpu.global.u32 [%rd1+2048], 1;\n")
	KERNEL("waiting", AWAIT("again") LOAD)
	KERNEL("load", LOAD);

/* What the host does, step by step: a kernel and the letter of its stream; `?` it waits until it has read; `|` an event orders
 * stream b behind a; `*` as the first: two CTAs. */
static const struct form { const char *name, *kernel, *correct, *racy; } forms[] = {
	{"fenced", NULL, "1a?2b", "2b1a?"}, {"release", NULL, "1a?2b", "2b1a?"}, {"volatile", NULL, "1a?2b", "2b1a?"},
	{"atomic", NULL, "1a?2b", "2b1a?"}, {"red", NULL, "1a?2b", "2b1a?"}, {"weak", NULL, "1a?2b", "2b1a?"},
	{"unfenced", NULL, "1a?2b", "2b1a?"}, {"narrow", NULL, "1a?2b", "2b1a?"}, {"called", NULL, "1a?2b", "2b1a?"},
	{"managed", NULL, "1a?2b", "2b1a?"}, {"shared", NULL, "1a|2b", "1a2b"}, {"local", NULL, "1a|2b", "1a2b"},
	{"later", "store", "1a3a?2b", "2b1a3a?"},
	{"relayed", NULL, "1a4c?2b", "4c2b1a?"},
	{"chained", "release", "5b1a?6c", "5b6c1a?"},
	{"itself", NULL, "*1a?6c", "6c*1a?"},
	{"shares", "relayed", "4a1y?2z", "4a2z1y?"},
};
static const char *const kernels[] = {"", NULL, "load", "write", "raised", "waiting", "raise"}; /* 1: the form's */

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "told: %s: error %d\n", what, rc);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct form *form = forms, *end = forms + sizeof(forms) / sizeof(*forms);
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUstream stream[STREAMS];
	CUevent event;
	CUdeviceptr memory, to;
	volatile unsigned *host;
	size_t size;

	while (argc == 3 && form < end && strcmp(form->name, argv[1]))
		form++;
	if (argc != 3 || form == end) {
		fprintf(stderr, "usage: told FORM racy|correct\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemsetD32(memory, 0, 1024), "cuMemsetD32");
	must(cuMemHostAlloc((void **)(uintptr_t)&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
	*host = 0;
	must(cuMemHostGetDevicePointer(&to, (void *)(uintptr_t)host, 0), "cuMemHostGetDevicePointer");
	if (!strcmp(form->name, "managed")) {
		must(cuModuleGetGlobal(&to, &size, module, "flag"), "flag");
		host = (volatile unsigned *)(uintptr_t)to;
	}
	must(cuModuleGetFunction(&kernel, module, "raise"), "raise");
	for (int i = 0; i < STREAMS; i++) {
		must(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
		if (!strcmp(form->name, "shares"))
			must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream[i], (void *[]){&memory, &to}, NULL), "raise");
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");

	unsigned ctas = 1;
	for (const char *step = strcmp(argv[2], "racy") ? form->correct : form->racy; *step; step++) {
		if (*step == '*') {
			ctas = 2;
		} else if (*step == '?') {
			while (!*host)
				usleep(POLL_US);
		} else if (*step == '|') {
			must(cuEventRecord(event, stream[0]), "cuEventRecord");
			must(cuStreamWaitEvent(stream[1], event, 0), "cuStreamWaitEvent");
		} else {
			const char *name = *step > '1' ? kernels[*step - '0'] : form->kernel ? form->kernel : form->name;
			int place = *++step >= 'y' ? STREAMS - 1 - (*step - 'y') : *step - 'a';

			must(cuModuleGetFunction(&kernel, module, name), name);
			must(cuLaunchKernel(kernel, ctas, 1, 1, 1, 1, 1, 0, stream[place], (void *[]){&memory, &to}, NULL), name);
			ctas = 1;
		}
	}
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
