/* One access in a kernel, as contention and scatter grow; cost.py counts what checking each costs.
 *
 *     nvcc -ptx -lineinfo -arch=compute_80 -o bench/ptx/patterns.ptx bench/patterns.cu       (that is nvcc 13.0's)
 */
#define KERNEL extern "C" __global__ void

__device__ static int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

/* All threads add to one word, and use what it was. */
KERNEL counter(int *word, int *was)
{
	was[thread()] = atomicAdd(word, 1);
}

/* The same, and nobody reads what it was. */
KERNEL counter_noresult(int *word, int *was)
{
	was[thread()] = 0;
	atomicAdd(word, 1);
}

/* One thread of each CTA takes a lock of the grid, and adds to what it guards. */
KERNEL gridlock(int *lock, int *guarded)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(lock, 0, 1))
		;
	__threadfence();
	guarded[0] += 1;
	__threadfence();
	atomicExch(lock, 0);
}

/* Every thread takes its CTA's lock. Who has it goes on within the loop: lanes of one warp may wait for each other. */
KERNEL lanelock(int *locks, int *guarded)
{
	int *lock = &locks[32 * blockIdx.x], had = 0;
	volatile int *sum = &guarded[32 * blockIdx.x];
	while (!had) {
		if (atomicCAS_block(lock, 0, 1))
			continue;
		__threadfence_block();
		*sum += 1;
		__threadfence_block();
		atomicExch_block(lock, 0);
		had = 1;
	}
}

/* Each thread walks a row of its own: lanes touch 32 lines an access. */
KERNEL strided(const int *rows, int *sums, int rounds)
{
	const int *row = &rows[thread() * rounds];
	int sum = 0;
	for (int i = 0; i < rounds; i++)
		sum += row[i];
	sums[thread()] = sum;
}

/* The lanes of a warp fill one line an access. */
KERNEL coalesced(const int *words, int *sums, int rounds)
{
	int all = gridDim.x * blockDim.x, sum = 0;
	for (int i = 0; i < rounds; i++)
		sum += words[i * all + thread()];
	sums[thread()] = sum;
}

/* Each thread adds to a volatile word of its own. */
KERNEL accumulate(int *sums, const int *words, int rounds)
{
	volatile int *sum = &sums[thread()];
	for (int i = 0; i < rounds; i++)
		*sum += words[i];
}
