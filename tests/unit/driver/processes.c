/* A program for gsan-launch: `processes FORM`. Two processes of one rank, on one GPU, store to memory that they share, each by a launch
 * of the same number; it prints their process ids.
 *   parted   neither knows when the other one's launch ends: a race
 *   waited   the second launches once the first has told it that its own has ended
 *   full     the job has room for the first alone; the second waits as well, and what it imports it stores to
 *   streams  the first process alone, on two streams that nothing orders: a race of its own */
#include <sys/wait.h>

#include "lent.h"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], 7;\n\tret;\n}\n";

static void store(CUmodule module, CUdeviceptr at)
{
	CUfunction f;
	CUstream stream;

	TRY(cuModuleGetFunction(&f, module, "store"));
	TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&at}, NULL));
}

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";
	int alone = !strcmp(form, "streams"), full = !strcmp(form, "full"), waited = full || !strcmp(form, "waited"), pair[2], status = 0;
	CUcontext context;
	CUmodule module;

	TRY(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	pid_t other = alone ? -1 : fork();
	int second = other == 0, line = pair[second];
	if (second && full)
		hear(line);
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	CUmemGenericAllocationHandle own = own_new();
	CUdeviceptr memory = mapped(own);
	TRY(cuMemsetD8(memory, 0, BYTES));
	TRY(cuCtxSynchronize());
	if (!second && full)
		tell(line);
	if (second)
		memory = mapped(take_memory(line));
	else if (!alone)
		send_memory(line, own);
	if (second && waited)
		hear(line);
	store(module, memory);
	if (alone)
		store(module, memory);
	if (!alone && !waited) { /* both are under way before either is seen to end */
		tell(line);
		hear(line);
	}
	TRY(cuCtxSynchronize());
	if (second && full) {
		unsigned seen;
		TRY(cuMemcpyDtoH(&seen, memory, sizeof seen));
		TRY(seen != 7);
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (!second && waited)
		tell(line);
	if (!second && !alone)
		TRY(waitpid(other, &status, 0) != other || status);
	return 0;
}
