/* What a program says by gsan/annotate.h, in one case each: `program CASE`. Its kernel races with itself: both blocks write one word. */
#include <gsan/annotate.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#define MANY 65536 /* labels that a job takes */

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"program.cu\"\n.visible .global .align 4 .u32 total[8];\n"
			  ".visible .entry both(.param .u64 at)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [at];\n"
			  ".loc 1 7 1\nst.global.u32 [%rd1], 7;\nret;\n}\n";
static CUmodule module;
static CUfunction kernel;
static CUcontext context;

static void need(int fact, const char *what)
{
	if (fact)
		return;
	fprintf(stderr, "program: %s\n", what);
	exit(1);
}
#define NEED(fact) need(fact, #fact)
#define TRY(call) need((call) == CUDA_SUCCESS, #call)

static CUdeviceptr memory(size_t size)
{
	CUdeviceptr at;
	TRY(cuMemAlloc(&at, size));
	return at;
}

static void race(CUdeviceptr at)
{
	TRY(cuLaunchKernel(kernel, 2, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	TRY(cuCtxSynchronize());
}

static int label(CUdeviceptr at, size_t size, const char *name) { return gsan_label((void *)(uintptr_t)at, size, name); }

static void case_whole(void)
{
	CUdeviceptr at = memory(4096);
	NEED(!label(at, 4096, "counters"));
	race(at + 16);
}

static void case_part(void)
{
	CUdeviceptr at = memory(4096), large = memory(4 << 20);
	NEED(!label(at, 1024, "first") && !label(at + 1024, 1024, "second") && !label(large, 4 << 20, "large"));
	race(at + 1040);
}

static void case_variable(void)
{
	CUdeviceptr at;
	size_t size;
	TRY(cuModuleGetGlobal(&at, &size, module, "total"));
	NEED(size == 32 && !label(at + 8, 8, "the third and fourth"));
	race(at + 8);
}

static void case_again(void)
{
	CUdeviceptr at = memory(4096);
	NEED(!label(at, 4096, "before") && !label(at, 4096, "before") && !label(at, 4096, "after"));
	race(at);
}

static void case_later(void)
{
	CUdeviceptr at = memory(4096);
	NEED(!label(at, 4096, "now"));
	race(at);
	NEED(!label(at, 4096, "later"));
}

static void case_given_back(void)
{
	CUdeviceptr at = memory(4096);
	NEED(!label(at, 4096, "while it was there"));
	race(at + 4);
	TRY(cuMemFree(at));
	NEED(memory(4096) == at);
}

static void case_half(void)
{
	CUdeviceptr at = memory(4096);
	NEED(!label(at, 4, "lock") && !label(at + 4, 4, "count"));
	race(at + 4);
}

static void case_freed(void)
{
	CUdeviceptr at = memory(4096), again;
	NEED(!label(at, 4096, "gone"));
	TRY(cuMemFree(at));
	NEED(label(at, 4096, "free") == -ENOENT);
	again = memory(4096);
	NEED(again == at);
	race(again);
}

static void case_hostile(void)
{
	CUdeviceptr at = memory(4096);
	NEED(!label(at, 4096, "a\n\033[31m\xff\"<b>"));
	race(at);
}

static void case_refused(void)
{
	static char name[202];
	CUdeviceptr at = memory(4096), next = memory(4096);
	static int here;
	NEED(next == at + 4096);
	memset(name, 'n', 201);
	NEED(label(at, 4096, "") == -EINVAL && label(at, 4096, NULL) == -EINVAL && label(at, 4096, name) == -EINVAL);
	NEED(label(at, 0, "none") == -EINVAL && label(at, 4097, "too long") == -ENOENT && label(at, SIZE_MAX, "wraps") == -ENOENT &&
	     label(at + 16, SIZE_MAX, "wraps to where it is") == -ENOENT);
	NEED(gsan_label(&here, sizeof here, "the host's") == -ENOENT && label(0, 4, "null") == -ENOENT);
	race(at);
}

static void case_words(void)
{
	static char word[202];
	memset(word, 'n', 201);
	NEED(gsan_release("") == -EINVAL && gsan_acquire(NULL) == -EINVAL && gsan_release(word) == -EINVAL && !gsan_release(word + 1) && !gsan_acquire("unsaid"));
	race(memory(4096));
}

static void case_many(void)
{
	CUdeviceptr at = memory(4096);
	char name[24];
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "name %d", i);
		NEED(!label(at, 4096, name) && !label(at, 4096, name));
	}
	NEED(label(at, 4096, "one more") == -ENOSPC && label(at, 4096, "and another") == -ENOSPC && !label(at, 4096, name));
	race(at);
}

static void case_ignored(void)
{
	CUdeviceptr at = memory(4096);
	gsan_ignore_end(); /* of nothing */
	gsan_ignore_begin();
	gsan_ignore_begin();
	gsan_ignore_end();
	race(at);
	gsan_ignore_end();
}

static void case_behind(void)
{
	case_ignored();
	race(memory(4096));
}

static void *other(void *at)
{
	TRY(cuCtxSetCurrent(context));
	race((CUdeviceptr)(uintptr_t)at);
	return NULL;
}

static void case_other_thread(void)
{
	CUdeviceptr at = memory(4096);
	pthread_t thread;
	gsan_ignore_begin();
	NEED(!pthread_create(&thread, NULL, other, (void *)(uintptr_t)at) && !pthread_join(thread, NULL));
	gsan_ignore_end();
}

static void case_alone(void)
{
	CUdeviceptr at = memory(4096);
	gsan_ignore_begin();
	NEED(label(at, 4096, "counters") == -ENOSYS && label(at, 4096, "") == -ENOSYS && gsan_release("filled") == -ENOSYS && gsan_acquire("") == -ENOSYS);
	gsan_ignore_end();
	race(at);
}

static void at_exit(void)
{
	static int here;
	if (gsan_label(&here, sizeof here, "the host's") != -ENOENT || gsan_release("end") || gsan_acquire("end"))
		_exit(3);
}

static void case_at_exit(void)
{
	atexit(at_exit);
	race(memory(4096));
}

/* 0 in the child. In the parent, whether the child ended well. */
static int forked(void)
{
	int status;
	pid_t child = fork();
	if (child <= 0)
		return child;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status) ? 1 : -1;
}

/* Of a process that used CUDA, the child runs without the tool. */
static void case_forked(void)
{
	CUdeviceptr at = memory(4096);
	int in = forked();
	if (!in)
		_exit(label(at, 4096, "child") != -ENOSYS || gsan_release("child") != -ENOSYS || gsan_acquire("child") != -ENOSYS);
	NEED(in > 0);
	race(at);
}

static void case_early(void) { case_whole(); }

/* Before anything of CUDA; it is the child that uses it. */
static void early(void)
{
	static int here;
	NEED(gsan_label(&here, sizeof here, "the host's") == -ENOENT && !gsan_release("early") && !gsan_acquire("early"));
	gsan_ignore_begin();
	gsan_ignore_end();
	int in = forked();
	if (in)
		exit(in < 0);
}

/* What is in a file that another rank makes. */
static void passed(const char *file, void *what, size_t size)
{
	FILE *from;
	while (!(from = fopen(file, "r")))
		usleep(1000);
	NEED(fread(what, size, 1, from) == 1 && !fclose(from));
}

static void pass(const char *file, const void *what, size_t size)
{
	FILE *to = fopen("part", "w");
	NEED(to && fwrite(what, size, 1, to) == 1 && !fclose(to) && !rename("part", file));
}

/* Two ranks store one after the other. The second one uses CUDA when it has the first one's word. */
static int second(void) { return atoi(getenv("RANK")) == 1; }
static CUipcMemHandle first_memory;

static void late(const char *word)
{
	if (!second())
		return;
	passed("memory", &first_memory, sizeof first_memory);
	NEED(!gsan_acquire(word));
}

static void case_late(void)
{
	CUdeviceptr at;
	char done = 1;
	if (second())
		TRY(cuIpcOpenMemHandle(&at, first_memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	else
		at = memory(4096);
	TRY(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	TRY(cuCtxSynchronize());
	NEED(!gsan_release("stored"));
	TRY(second() ? CUDA_SUCCESS : cuIpcGetMemHandle(&first_memory, at));
	pass(second() ? "done" : "memory", second() ? &done : (void *)&first_memory, second() ? sizeof done : sizeof first_memory);
	passed("done", &done, sizeof done);
}
static void case_late_untold(void) { case_late(); }

#define CASE(name) {#name, case_##name}
static const struct { const char *name; void (*run)(void); } cases[] = {
	CASE(whole), CASE(part), CASE(variable), CASE(again), CASE(later), CASE(given_back), CASE(half), CASE(freed), CASE(hostile), CASE(refused),
	CASE(words), CASE(many), CASE(ignored), CASE(behind), CASE(other_thread), CASE(alone),
	CASE(at_exit), CASE(forked), CASE(early), CASE(late), CASE(late_untold)};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "early"))
		early();
	if (argc == 2 && !strncmp(argv[1], "late", 4))
		late(argv[1][4] ? "nothing" : "stored");
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&kernel, module, "both"));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (argc == 2 && !strcmp(argv[1], cases[i].name))
			return cases[i].run(), 0;
	return 2;
}
