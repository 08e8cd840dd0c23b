/* A program for gsan-launch: `scribble HOW SEED [PROGRAM ARGUMENTS]` makes a launch in which two CTAs race, waits until the supervisor has seen that,
 * writes over the job's memory as a program with a wild pointer may, starts PROGRAM, if one is named, waits for it, and ends at once with 0.
 *   ones    all bits of all of it     noise   random numbers everywhere
 *   head    all bits of what stands before the participants' parts
 *   states  each participant seems to be there, or to have left
 *   rings   findings of random content, complete, in the rings of all participants */
#include <cuda.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/job.h"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry store(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "scribble: %s: error %d\n", what, failed);
	exit(9);
}
#define TRY(call) must((int)(call), #call)

static void race(void)
{
	CUcontext context;
	CUmodule module;
	CUfunction store;
	CUdeviceptr memory;

	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&store, module, "store"));
	TRY(cuMemAlloc(&memory, 4096));
	TRY(cuLaunchKernel(store, 2, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&memory}, NULL));
	TRY(cuCtxSynchronize());
}

static struct job *mapped(void)
{
	char line[512];
	unsigned long at = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	must(!maps, "maps");
	while (!at && fgets(line, sizeof line, maps))
		if (strstr(line, "gsan-job"))
			at = strtoul(line, NULL, 16);
	fclose(maps);
	must(!at, "the job's memory is not mapped");
	return (struct job *)at;
}

static uint64_t noise(void)
{
	static uint64_t x = 88172645463325252ull;

	return x = x * 6364136223846793005ull + 1442695040888963407ull, x ^ x >> 29;
}

static void fill(void *at, size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		((uint64_t *)at)[i] = noise();
}

static void rings(struct job *job)
{
	for (unsigned p = 0; p < GSAN_PARTICIPANTS; p++) {
		struct gsan_ring *ring = &job->rank[p].ring;
		uint64_t tail = noise() >> 8;
		for (unsigned i = 0; i < GSAN_RING_SLOTS; i++) {
			struct gsan_finding *f = &ring->slot[(tail + i) % GSAN_RING_SLOTS];
			fill(f, sizeof *f);
			f->ready = (uint32_t)(tail + i + 1);
			if (i % 2)
				f->first.participant = f->second.participant = 0;
		}
		ring->tail = tail;
		__atomic_store_n(&ring->head, tail + GSAN_RING_SLOTS, __ATOMIC_RELEASE);
	}
}

static void scribble(struct job *job, const char *how)
{
	if (!strcmp(how, "ones"))
		memset(job, 0xff, sizeof *job);
	else if (!strcmp(how, "noise"))
		fill(job, sizeof *job);
	else if (!strcmp(how, "head"))
		memset((char *)job + offsetof(struct job, participants), 0xff, offsetof(struct job, nonce) - offsetof(struct job, participants));
	else if (!strcmp(how, "rings"))
		rings(job);
	for (unsigned p = 0; !strcmp(how, "states") && p < GSAN_PARTICIPANTS; p++)
		atomic_store(&job->rank[p].state, noise() % 2 ? JOB_RUNNING : JOB_LEFT);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	race();
	usleep(700000);
	for (int i = atoi(argv[2]); i > 0; i--)
		noise();
	scribble(mapped(), argv[1]);
	if (argc > 3) {
		pid_t child = fork();
		if (!child) {
			execv(argv[3], argv + 3);
			_exit(127);
		}
		waitpid(child, NULL, 0);
	}
	usleep(500000);
	_exit(0);
}
