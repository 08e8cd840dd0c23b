/* `fat correct|racy`: a program of the CUDA runtime, whose kernels lie in its own fat binary. In the racy form two CTAs store to one
 * word, one by a pointer and one to a variable of its module, and a flag is raised without a fence. */
#include <cstdio>
#include <cstring>

#ifndef VARIABLES
#define VARIABLES 1
#endif

__global__ void stored(int *words, unsigned stride)
{
	words[stride * blockIdx.x + 1] = 7;
}

#if VARIABLES
__device__ int kept[64];

__global__ void variable(unsigned stride)
{
	kept[stride * blockIdx.x + 1] = 7;
}
#endif

__global__ void flagged(int *payload, int *flag, int fenced)
{
	if (blockIdx.x == 0) {
		*payload = 5;
		if (fenced)
			__threadfence();
		atomicExch(flag, 1);
	} else {
		while (!atomicAdd(flag, 0))
			;
		__threadfence();
		flag[1] = *payload;
	}
}

int main(int argc, char **argv)
{
	int racy = argc > 1 && !strcmp(argv[1], "racy"), *words;

	cudaMalloc(&words, 4096);
	cudaMemset(words, 0, 4096);
	stored<<<2, 1>>>(words, racy ? 0 : 8);
	cudaDeviceSynchronize();
	flagged<<<2, 1>>>(words + 256, words + 512, !racy);
#if VARIABLES
	variable<<<2, 1>>>(racy ? 0 : 8);
#endif
	cudaError_t error = cudaDeviceSynchronize();
	if (error != cudaSuccess)
		fprintf(stderr, "fat: %s\n", cudaGetErrorString(error));
	return error != cudaSuccess;
}
