/* A program of two objects (nvcc -rdc=true): the function of the other one stores, in the racy form by both CTAs to the same words. */
#include <cstdio>
#include <cstring>
#include "both.h"

__device__ int tickets;
static __device__ int own = 3; /* the other object has one of this name, too */
extern __shared__ int part[];
static __device__ __noinline__ int helper(int x) { return x * own; }

__global__ void first(int *to, int racy)
{
	part[threadIdx.x] = helper(threadIdx.x);
	__syncthreads();
	keep(to + (racy ? 0 : 32 * blockIdx.x) + threadIdx.x, part[31 - threadIdx.x] + table[blockIdx.x]);
	if (!threadIdx.x && atomicAdd(&tickets, 1) == 1)
		printf("both came\n");
}

int main(int n, char **arguments)
{
	int *to, got[256] = {0}, drawn = 0;
	cudaMalloc(&to, sizeof got);
	cudaMemset(to, 0, sizeof got);
	first<<<2, 32, 128>>>(to, n > 1 && !strcmp(arguments[1], "racy"));
	fill<<<2, 32>>>(to + 64, 4);
	launch_second(to + 128);
	cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
	cudaMemcpyFromSymbol(&drawn, tickets, sizeof drawn);
	printf("%d %d %d %d %d %d\n", got[1] - got[0], got[64], got[127], got[128], got[160], drawn);
	return cudaDeviceSynchronize();
}
