/* A __managed__ variable: host and device have it at one address (`managed one`). It would be one for all devices, too, which the emulated
 * device does not have: what a second one uses of the program fails (`managed two`). */
#include <cuda_runtime.h>
#include <cstring>

#include "../check.h"

__managed__ int shown = 1;

__global__ void show(int value) { shown = value; }

int main(int argc, char **argv)
{
	CHECK(shown == 1);
	shown = 2;
	show<<<1, 1>>>(9);
	CHECK(cudaDeviceSynchronize() == cudaSuccess && shown == 9);
	if (argc == 2 && !strcmp(argv[1], "one"))
		return 0;
	CHECK(cudaSetDevice(1) == cudaSuccess);
	show<<<1, 1>>>(10);
	CHECK(cudaGetLastError() == cudaErrorNotSupported && shown == 9);
	return 0;
}
