/* examples/neighbours.py from C. */
#include <stdint.h>
#include <stdio.h>

#include "world.h"

enum { BLOCK = 512 };
static const char *const layouts[] = {"interleaved", "overlapping", NULL};

/* The bits of a half-precision number that holds the whole number n < 2048. */
static uint16_t half(unsigned n)
{
	unsigned exponent = 0;

	if (!n)
		return 0;
	while (n >> (exponent + 1))
		exponent++;
	return (uint16_t)((exponent + 15) << 10 | ((n << 10 >> exponent) & 0x3ff));
}

int main(int argc, char **argv)
{
	const char *layout = world_option(argc, argv, "--layout", layouts);
	unsigned stride = layout == layouts[0] ? 2 : 1, written = (BLOCK - 1) * stride + 2;
	int iterations = world_iterations(argc, argv);
	struct world_kernel kernel;
	struct world w;
	char form[64];

	world_arguments(argc, argv, "[--layout interleaved|overlapping] [--iterations N]");
	world_open(&w);
	snprintf(form, sizeof(form), "neighbours-%s", layout);
	world_kernel_load(&kernel, form, "fill");
	for (int i = 0; i < iterations; i++) {
		uint16_t element[2 * BLOCK];
		CUdeviceptr out = world_zeros(sizeof(element));

		world_kernel_launch(&kernel, 2, (void *[]){&out}, 1);
		WORLD_TRY(cuMemcpyDtoH(element, out, sizeof(element)));
		for (unsigned k = 0; k < written; k++)
			if (element[k] != half(k % 1024)) {
				fprintf(stderr, "neighbours: element %u is 0x%04x\n", k, element[k]);
				return 1;
			}
		WORLD_TRY(cuMemFree(out));
	}
	printf("neighbours: %d runs, all elements as expected\n", iterations);
	world_close(&w);
	return 0;
}
