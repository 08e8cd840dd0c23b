// Flags by volatile and by fences, a grid-wide last block, and shared memory beside global.
__device__ unsigned int arrived;
__device__ volatile int flag;

__global__ void last_block(const float *in, float *partial, float *out, int n)
{
	__shared__ float sum[256];
	__shared__ bool last;
	float v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	sum[threadIdx.x] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int i = 1; i < 256; i++)
			v += sum[i];
		partial[blockIdx.x] = v;
		__threadfence();
		last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		v = 0;
		for (unsigned i = 0; i < gridDim.x; i++)
			v += ((volatile float *)partial)[i];
		*out = v;
	}
}

__global__ void flags(int *data, double *wide, const int4 *__restrict__ quads, int4 *to)
{
	if (threadIdx.x == 0) {
		data[0] = 1;
		__threadfence_system();
		flag = 1;
	} else {
		while (!flag)
			;
		__threadfence_block();
		data[1] = data[0];
	}
	atomicAdd(wide, 1.0);
	atomicAdd_block(data + 2, 1);
	atomicAdd_system(data + 3, 1);
	to[threadIdx.x] = quads[threadIdx.x];
}
