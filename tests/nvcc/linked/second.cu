#include <cstdio>
#include "both.h"

__constant__ int table[4] = {100, 200, 300, 400};
static __device__ int own = 5;
extern __shared__ int part[];
static __device__ __noinline__ int helper(int x) { return x + own; }

__device__ void keep(int *to, int value) { *to = value; } /* racy */

__global__ void second(int *to)
{
	part[threadIdx.x] = threadIdx.x;
	__syncthreads();
	to[threadIdx.x] = helper(part[31 - threadIdx.x]);
	if (!threadIdx.x)
		printf("second\n");
}

void launch_second(int *to)
{
	second<<<1, 32, 128>>>(to);
	fill<<<2, 32>>>(to + 32, 7);
}
