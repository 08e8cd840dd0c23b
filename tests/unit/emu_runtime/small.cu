/* The smallest program; it prints what became of it. */
#include <cuda_runtime.h>
#include <cstdio>

__global__ void store(int *p) { *p = 1; }

int main()
{
	int *p = NULL;
	cudaMalloc(&p, 4);
	store<<<1, 1>>>(p);
	puts(cudaGetErrorString(cudaGetLastError()));
	return 0;
}
