/* A program for gsan-launch: `places TURNS FORM [QUIET]`. A process on a GPU lives throughout; others come one after the other, TURNS of them, each by
 * fork and exec. Both have memory of their own and map the other one's (as descriptors), and in each turn both store to one word of each, by
 * another CTA each turn; before, each fills a line of its own, and adds to a word. What each does waits for what the other has seen complete, but for the last turn of these forms:
 *   theirs   neither waits for the other one's store to the newcomer's memory: a race
 *   ours     to the memory of the one that lives: a race
 *   correct  they wait
 *   once     as correct, but both store to the newcomer's memory alone: each newcomer's host has seen as much when the other one launches
 *   kept     as correct; the newcomers' memory stays mapped, and is stored to in each turn: nothing of those who made it can be given away
 * Or TURNS of them are there at once; one after the other stores to the memory of the first, told by it to do so:
 *   crowd    and the next one waits until it is over
 *   crush    but for the last, who does not wait for the last but one
 * QUIET: so many turns at first in which the one that lives calls nothing of CUDA. */
#include <sys/wait.h>

#include "lent.h"

enum { CTAS = 64, TURNS_MAX = 1000 };

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p, .param .u32 cta)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<3>;\n\t.reg .pred %q;\n"
	"\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [cta];\n\tmov.u32 %r2, %ctaid.x;\n\tsetp.ne.u32 %q, %r1, %r2;\n\t@%q bra over;\n"
	"\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], 7;\nover:\n\tret;\n}\n"
	/* a whole line of a warp, and a word that all lanes add to */
	".visible .entry whole(.param .u64 p)\n{\n\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.u64 %rd2, %rd1, %rd2;\n"
	"\tst.global.u32 [%rd2], %r1;\n\tred.global.add.u32 [%rd1+256], 1;\n\tret;\n}\n";

static CUfunction kernel;
static CUstream stream;
static unsigned turn;

static void begin(void)
{
	CUcontext context;
	CUmodule module;
	CUfunction whole;
	CUdeviceptr at;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&kernel, module, "store"));
	TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	TRY(cuModuleGetFunction(&whole, module, "whole"));
	at = mapped(own_new());
	TRY(cuLaunchKernel(whole, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&at}, NULL));
	TRY(cuCtxSynchronize());
}

static void unmapped(CUdeviceptr at)
{
	TRY(cuMemUnmap(at, BYTES));
	TRY(cuMemAddressFree(at, BYTES));
}

static CUdeviceptr taken(int from)
{
	CUmemGenericAllocationHandle handle = take_memory(from);
	CUdeviceptr at = mapped(handle);

	TRY(cuMemRelease(handle));
	return at;
}

static void store(CUdeviceptr at)
{
	unsigned cta = turn % CTAS;

	TRY(cuLaunchKernel(kernel, CTAS, 1, 1, 1, 1, 1, 0, stream, (void *[]){&at, &cta}, NULL));
}

static void work(CUdeviceptr at)
{
	store(at);
	TRY(cuCtxSynchronize());
}

/* One of the two, who stores first; where they race neither has waited when the other one launches. */
static void both(int line, int first, int race, CUdeviceptr at)
{
	if (!first && !race)
		hear(line);
	store(at);
	if (race) {
		tell(line);
		hear(line);
	}
	TRY(cuCtxSynchronize());
	if (first && !race)
		tell(line);
}

static void meet(int line, int newcomer, const char *form, int last, CUdeviceptr ours, CUdeviceptr theirs)
{
	both(line, newcomer, last && !strcmp(form, "theirs"), theirs);
	if (strcmp(form, "once"))
		both(line, !newcomer, last && !strcmp(form, "ours"), ours);
}

/* One of many: `last`, if its store is not waited for. */
static int one_of_many(int line, int last)
{
	CUdeviceptr ours = taken(line);

	store(mapped(own_new()));
	TRY(cuCtxSynchronize());
	tell(line);
	hear(line);
	both(line, 1, last, ours);
	if (last)
		tell(line);
	hear(line);
	return 0;
}

static int newcomer(int line, const char *form, int last)
{
	begin();
	if (!strcmp(form, "crowd") || !strcmp(form, "crush"))
		return one_of_many(line, last);
	CUmemGenericAllocationHandle own = own_new();
	CUdeviceptr theirs = mapped(own);
	if (!strcmp(form, "alone")) {
		both(line, 1, 0, theirs);
		return 0;
	}
	send_memory(line, own);
	CUdeviceptr ours = taken(line);
	hear(line);
	meet(line, 1, form, last, ours, theirs);
	hear(line);
	if (!strcmp(form, "once"))
		_exit(0); /* its host sees no more */
	return 0;
}

static pid_t start(char *program, const char *form, int last, int *line)
{
	int pair[2];
	char number[3][16];

	TRY(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	snprintf(number[0], sizeof number[0], "%d", pair[1]);
	snprintf(number[1], sizeof number[1], "%d", last);
	snprintf(number[2], sizeof number[2], "%u", turn);
	pid_t child = fork();
	if (!child) {
		close(pair[0]);
		execl("/proc/self/exe", program, number[0], form, number[1], number[2], "new", NULL);
		_exit(127);
	}
	close(pair[1]);
	*line = pair[0];
	return child;
}

static void crowd(char *program, unsigned many, const char *form, CUmemGenericAllocationHandle own, CUdeviceptr ours)
{
	static int line[TURNS_MAX];
	static pid_t child[TURNS_MAX];
	int status, crush = !strcmp(form, "crush");

	for (turn = 1; turn <= many; turn++)
		child[turn] = start(program, form, crush && turn + 1 >= many, &line[turn]);
	for (turn = 1; turn <= many; turn++) {
		send_memory(line[turn], own);
		hear(line[turn]);
	}
	for (turn = 1; turn <= many; turn++) {
		tell(line[turn]);
		hear(line[turn]);
	}
	for (turn = many - 1; crush && turn <= many; turn++)
		tell(line[turn]);
	for (turn = many - 1; crush && turn <= many; turn++) /* before anybody leaves */
		hear(line[turn]);
	for (turn = 1; turn <= many; turn++) {
		tell(line[turn]);
		TRY(waitpid(child[turn], &status, 0) != child[turn] || status);
	}
	store(ours);
	TRY(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	unsigned turns = argc > 1 ? (unsigned)atoi(argv[1]) : 0, quiet = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
	const char *form = argc > 2 ? argv[2] : "";
	static CUdeviceptr kept[TURNS_MAX];
	int keep = !strcmp(form, "kept"), once = !strcmp(form, "once"), status;

	if (argc == 6) {
		turn = (unsigned)atoi(argv[4]);
		return newcomer(atoi(argv[1]), form, atoi(argv[3]));
	}
	begin();
	CUmemGenericAllocationHandle own = own_new();
	CUdeviceptr ours = mapped(own);
	if (form[0] == 'c' && form[1] == 'r') {
		crowd(argv[0], turns, form, own, ours);
		return 0;
	}
	for (turn = 1; turn <= turns; turn++) {
		int line;
		pid_t child = start(argv[0], turn > quiet ? form : "alone", turn == turns, &line);
		if (turn <= quiet) {
			TRY(waitpid(child, &status, 0) != child || status);
			close(line);
			continue;
		}
		CUdeviceptr theirs = taken(line);
		send_memory(line, own);
		if (!once) /* whatever it does when a process has left, it does before they meet, */
			work(ours + 64);
		tell(line);
		meet(line, 0, form, turn == turns, ours, theirs);
		for (unsigned before = 1; keep && before < turn; before++)
			work(kept[before]);
		kept[turn] = theirs;
		if (!keep)
			unmapped(theirs);
		tell(line);
		TRY(waitpid(child, &status, 0) != child || status);
		close(line);
		if (once) /* or at once, and knows then what the process that has left had seen */
			work(ours + 64);
	}
	return 0;
}
