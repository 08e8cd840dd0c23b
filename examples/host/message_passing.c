/* examples/message_passing.py from C: the same kernels, the same options, over the CUDA driver API alone. */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

enum { BLOCK = 512, PARTS = 4, COUNT = BLOCK * PARTS }; /* as in message_passing.py */

static const char *const orders[] = {"release", "relaxed", NULL}, *const scopes[] = {"sys", "gpu", NULL},
			 *const flags[] = {"after", "before", NULL}, *const vias[] = {"atomic", "asm", NULL};

/* One message through fresh buffers. Returns the number of wrong elements that rank 1 received. */
static int run_once(struct world *w, const struct world_kernel *kernel, int value)
{
	struct world_shared payload, flag;
	CUdeviceptr result = world_zeros(COUNT * sizeof(int));
	int received[COUNT], wrong = 0;

	world_shared_new(w, COUNT * sizeof(int), &payload);
	world_shared_new(w, PARTS * sizeof(int), &flag);
	WORLD_TRY(cuCtxSynchronize());
	world_barrier(w); /* the buffers are zero everywhere */
	if (w->rank == 0)
		world_kernel_launch(kernel, PARTS, (void *[]){&payload.of[1], &flag.of[1], &value}, 3);
	else
		world_kernel_launch(kernel, PARTS, (void *[]){&payload.of[1], &flag.of[1], &result}, 3);
	world_barrier(w); /* both kernels are launched before either host waits for its own */
	WORLD_TRY(cuCtxSynchronize());
	if (w->rank == 1) {
		WORLD_TRY(cuMemcpyDtoH(received, result, sizeof(received)));
		for (int i = 0; i < COUNT; i++)
			wrong += received[i] != value + i;
	}
	world_barrier(w); /* nobody frees what a peer still uses */
	world_shared_free(w, &payload);
	world_shared_free(w, &flag);
	WORLD_TRY(cuMemFree(result));
	return wrong;
}

int main(int argc, char **argv)
{
	const char *order = world_option(argc, argv, "--order", orders), *scope = world_option(argc, argv, "--scope", scopes);
	const char *flag = world_option(argc, argv, "--flag", flags), *via = world_option(argc, argv, "--via", vias);
	int iterations = world_iterations(argc, argv), wrong = 0;
	int correct = order == orders[0] && scope == scopes[0] && flag == flags[0];
	struct world_kernel kernel;
	struct world w;
	char form[128];

	world_arguments(argc, argv,
			"[--order release|relaxed] [--scope sys|gpu] [--flag after|before] [--via atomic|asm] [--iterations N]");
	world_open(&w);
	if (w.size != 2) {
		fprintf(stderr, "message_passing needs 2 ranks and has %d: start it with gsan-launch -n 2 or mpirun -np 2\n", w.size);
		return 2;
	}
	snprintf(form, sizeof(form), "message_passing-%s.%s.%s.%s", order, scope, flag, via);
	world_kernel_load(&kernel, form, w.rank == 0 ? "send" : "receive");
	for (int i = 0; i < iterations; i++)
		wrong += run_once(&w, &kernel, 1000 * (i + 1));
	if (w.rank == 1)
		printf("message_passing: %d messages, %d wrong elements\n", iterations, wrong);
	world_close(&w);
	return correct && wrong;
}
