/* examples/counter_lock.py from C. */
#include <stdio.h>

#include "world.h"

enum { PROGRAMS = 64 };
static const char *const orders[] = {"release", "relaxed", NULL};

int main(int argc, char **argv)
{
	const char *order = world_option(argc, argv, "--order", orders);
	int iterations = world_iterations(argc, argv), wrong = 0;
	struct world_kernel kernel;
	struct world w;
	char form[64];

	world_arguments(argc, argv, "[--order release|relaxed] [--iterations N]");
	world_open(&w);
	snprintf(form, sizeof(form), "counter_lock-%s", order);
	world_kernel_load(&kernel, form, "add_one");
	for (int i = 0; i < iterations; i++) {
		CUdeviceptr counter = world_zeros(sizeof(int)), lock = world_zeros(sizeof(int));
		int count;

		world_kernel_launch(&kernel, PROGRAMS, (void *[]){&counter, &lock}, 2);
		WORLD_TRY(cuMemcpyDtoH(&count, counter, sizeof(count)));
		wrong += count != PROGRAMS;
		WORLD_TRY(cuMemFree(counter));
		WORLD_TRY(cuMemFree(lock));
	}
	printf("counter_lock: %d runs, %d wrong counts\n", iterations, wrong);
	world_close(&w);
	return order == orders[0] && wrong;
}
