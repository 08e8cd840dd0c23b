/* For programs of two ranks that share memory: `PROGRAM FORM NAME`, NAME being the ranks' own, by which they meet and tell each other that they
 * may go on; kernels that store; and main's part, which calls the form. */
#ifndef GSAN_TESTS_RANKS_H
#define GSAN_TESTS_RANKS_H

#include <cuda.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* store(p, value); put and get: the same, and raise a flag behind it, or wait for that before. */
static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p, .param .u32 v)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n"
#define PAIR(scope) \
	".visible .entry put_" #scope "(.param .u64 p, .param .u32 v)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], %r1;\n" \
	"\tst.release." #scope ".global.u32 [%rd1+256], 1;\n\tret;\n}\n" \
	".visible .entry get_" #scope "(.param .u64 p, .param .u32 v)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n" \
	"\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n\tcvta.to.global.u64 %rd1, %rd1;\n" \
	"WAIT:\n\tld.acquire." #scope ".global.u32 %r2, [%rd1+256];\n\tsetp.eq.u32 %p1, %r2, 0;\n\t@%p1 bra WAIT;\n" \
	"\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n"
	PAIR(sys) PAIR(gpu);

static void must(int failed, const char *what, int line)
{
	if (!failed)
		return;
	fprintf(stderr, "%s: line %d: %s: error %d\n", program_invocation_short_name, line, what, failed);
	exit(1);
}
#define TRY(call) must((int)(call), #call, __LINE__)
#define CHECK(condition) must(!(condition), #condition, __LINE__)
#define REFUSED(error, call) CHECK((call) == (error))
#define STALE(call) REFUSED(CUDA_ERROR_INVALID_VALUE, call)

static int rank, line;
static CUmodule module;

/* ---- the other rank ---- */

static void meet(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strncpy(at.sun_path + 1, name, sizeof at.sun_path - 2);
	if (rank) {
		while (connect(fd, (struct sockaddr *)&at, size))
			usleep(2000);
		line = fd;
		return;
	}
	CHECK(!bind(fd, (struct sockaddr *)&at, size) && !listen(fd, 1));
	line = accept(fd, NULL, NULL);
	CHECK(line >= 0);
}

static void say(const void *what, size_t size) { CHECK(write(line, what, size) == (ssize_t)size); }
static void hear(void *what, size_t size) { CHECK(read(line, what, size) == (ssize_t)size); }
static void tell(void) { say("x", 1); }
static void wait(void)
{
	char letter;
	hear(&letter, 1);
}

/* ---- memory and kernels ---- */

static CUdeviceptr memory(size_t size)
{
	CUdeviceptr at;
	TRY(cuMemAlloc(&at, size));
	TRY(cuMemsetD8(at, 0, size));
	TRY(cuCtxSynchronize());
	return at;
}

static unsigned word(CUdeviceptr at)
{
	unsigned value;
	TRY(cuMemcpyDtoH(&value, at, sizeof value));
	return value;
}

static CUstream stream(void)
{
	CUstream s;
	TRY(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static void launch(const char *name, CUdeviceptr at, CUstream in)
{
	CUfunction f;
	unsigned value = 7 + (unsigned)rank;
	TRY(cuModuleGetFunction(&f, module, name));
	TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, in, (void *[]){&at, &value}, NULL));
}

static void store(CUdeviceptr at) { launch("store", at, stream()); }

/* Both are under way before either is seen to end; and neither rank ends before the other has. */
static void together(const char *kernel, CUdeviceptr at)
{
	launch(kernel, at, stream());
	tell();
	wait();
	TRY(cuCtxSynchronize());
	tell();
	wait();
}

/* The second one's store behind the host's word that the first one's is over. */
static void ordered(CUdeviceptr at)
{
	if (rank)
		wait();
	store(at);
	TRY(cuCtxSynchronize());
	if (!rank)
		tell();
	else
		CHECK(word(at) == 8);
}

/* ---- forms ---- */

struct form { const char *name; void (*call)(void); int gpus; }; /* the last one's name is NULL */

static int run_form(const struct form *form, int argc, char **argv)
{
	const char *number = getenv("RANK");
	CUcontext context;
	CHECK(argc > 2 && number);
	rank = atoi(number);
	meet(argv[2]);
	while (form->name && strcmp(argv[1], form->name))
		form++;
	if (!form->name)
		return 1;
	TRY(cuInit(0));
	if (rank)
		wait(); /* until the other one has its place in the job */
	TRY(cuDevicePrimaryCtxRetain(&context, form->gpus > 1 ? rank : 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	if (!rank) {
		TRY(cuMemFree(memory(1)));
		tell();
	}
	form->call();
	return 0;
}

#endif
