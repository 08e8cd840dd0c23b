/* What the two objects know of each other: functions and variables of the device, and a template that both make. */
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
template <class T> __global__ void fill(T *to, T value) { to[blockIdx.x * blockDim.x + threadIdx.x] = twice(value); }
extern __device__ int tickets;
extern __constant__ int table[4];
__device__ void keep(int *to, int value);
void launch_second(int *to);
