/* The pairs as a program for gsan-launch: each kernel so many times on zeroed memory, two CTAs. usage: warps-run [--repeats N] [PAIR…],
 * once, and all pairs, without arguments. Prints each kernel's name and, behind a tab, what its twin is. --names: the pairs that a
 * GPU takes. */
#include "pairs.h"

#include <cuda.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_) { \
			fprintf(stderr, "warps-run: %s: error %d\n", #call, (int)rc_); \
			exit(2); \
		} \
	} while (0)

static int wanted(const struct pair *p, int argc, char **argv)
{
	int any = argc < 2;
	for (int i = 1; i < argc; i++)
		any |= !strcmp(argv[i], p->name);
	return any;
}

int main(int argc, char **argv)
{
	size_t pairs, length;
	int repeats = 1;
	const struct pair *pair = pairs_all(&pairs);
	char *text, name[PAIR_NAME];
	FILE *to = open_memstream(&text, &length);
	CUcontext context;
	CUmodule module;
	CUdeviceptr at;
	if (!to)
		return 2;
	for (size_t k = 0; argc == 2 && !strcmp(argv[1], "--names"); k++) {
		if (k == pairs)
			return 0;
		printf("%s\n", pair[k].name);
	}
	if (argc > 2 && !strcmp(argv[1], "--repeats")) {
		repeats = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	pairs_head(to);
	for (size_t k = 0; k < 2 * pairs; k++) {
		pairs_name(name, &pair[k / 2], (int)(k % 2));
		if (wanted(&pair[k / 2], argc, argv))
			pairs_kernel(to, &pair[k / 2], name, (int)(k % 2));
	}
	fclose(to);
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, text));
	OK(cuMemAlloc(&at, 2 * pairs * PAIR_BYTES));
	for (size_t k = 0; k < 2 * pairs; k++) {
		CUdeviceptr mine = at + k * PAIR_BYTES;
		CUfunction f;
		if (!wanted(&pair[k / 2], argc, argv))
			continue;
		pairs_name(name, &pair[k / 2], (int)(k % 2));
		OK(cuModuleGetFunction(&f, module, name));
		for (int i = 0; i < repeats; i++) {
			OK(cuMemsetD8Async(mine, 0, PAIR_BYTES, NULL));
			OK(cuLaunchKernel(f, 2, 1, 1, PAIR_THREADS, 1, 1, 0, NULL, (void *[]){&mine}, NULL));
		}
		printf("%s\t%s\n", name, pair[k / 2].formal ? "formal" : pair[k / 2].unseen ? "unseen" : "wrong");
	}
	OK(cuCtxSynchronize());
	free(text);
	return 0;
}
