/* Programs as they are written in CUDA C, each in its correct form and in one with a race: NAME and NAME_racy. programs.py runs them.
 *
 *     nvcc -ptx -lineinfo -arch=compute_80 -o bench/ptx/programs.ptx bench/programs.cu       (that is nvcc 13.0's)
 *
 * All take three arrays of words and two numbers; what these are says each of them. They reckon in integers, so that the same comes out in
 * any order, and are correct by the letter of PTX: who raises a flag for others has fenced behind their barrier.
 */
typedef unsigned long long u64;

#define PROGRAM(name) \
	template<bool racy> __device__ static void name##_body(int *in, int *out, int *work, int n, int m); \
	extern "C" __global__ void name(int *in, int *out, int *work, int n, int m) { name##_body<false>(in, out, work, n, m); } \
	extern "C" __global__ void name##_racy(int *in, int *out, int *work, int n, int m) { name##_body<true>(in, out, work, n, m); } \
	template<bool racy> __device__ static void name##_body(int *in, int *out, int *work, int n, int m)

__device__ static int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ static int load(const int *p) { return *(const volatile int *)p; }

/* The product of two n x n matrices, in[0..n*n) and in[n*n..2*n*n), in tiles of 16 x 16: m CTAs for each tile, of 256 threads, who add what
 * their part of the columns gives under the tile's lock. Racy: without it. */
PROGRAM(matrix_locks)
{
	__shared__ int a[16][16], b[16][16];
	int tiles = n / 16, tile = blockIdx.x / m, part = blockIdx.x % m, x = threadIdx.x % 16, y = threadIdx.x / 16, sum = 0;
	int row = tile / tiles * 16 + y, column = tile % tiles * 16 + x;
	for (int k = n / m * part; k < n / m * (part + 1); k += 16) {
		a[y][x] = in[row * n + k + x];
		b[y][x] = in[n * n + (k + y) * n + column];
		__syncthreads();
		for (int i = 0; i < 16; i++)
			sum += a[y][i] * b[i][x];
		__syncthreads();
	}
	if (!racy && threadIdx.x == 0)
		while (atomicCAS(&work[tile], 0, 1))
			;
	__threadfence();
	__syncthreads();
	out[row * n + column] += sum;
	__syncthreads();
	__threadfence();
	if (!racy && threadIdx.x == 0)
		atomicExch(&work[tile], 0);
}

/* A graph of n nodes with m neighbours each, in[node * m ..): each node takes the smallest colour that its neighbours before it do not have,
 * as soon as they have theirs; out starts as 0, none. Racy: it stores the colour as if nobody read it. */
PROGRAM(coloring)
{
	for (int node = thread(), done = node >= n; !done;) { /* lanes wait for others of their warp */
		u64 used = 1;
		done = 1;
		for (int i = 0; i < m; i++) {
			int other = in[node * m + i], its = other < node ? load(&out[other]) : 0;
			done &= other >= node || its;
			used |= other < node ? 1ull << its : 0;
		}
		if (done && racy)
			out[node] = __ffsll(~used) - 1;
		else if (done)
			atomicCAS(&out[node], 0, __ffsll(~used) - 1);
	}
}

/* A list of n items, of which each thread takes the next one until there is none: out[item] is what m steps make of in[item]. Racy: two
 * may take the same. */
PROGRAM(worklist)
{
	for (;;) {
		int item = racy ? work[0]++ : atomicAdd(work, 1);
		if (item >= n)
			return;
		unsigned x = in[item];
		for (int i = 0; i < m; i++)
			x = x * 1664525u + 1013904223u;
		out[item] = x;
	}
}

/* The sums of in[0..i] for each i, a CTA for each 256 of n, behind those before it: decoupled look-back. A CTA's word has the sum of its own
 * (1) or of all up to it (2) above two bits. Racy: the sum stands beside the word, and nothing orders them. */
PROGRAM(lookback)
{
	__shared__ int part[256], before;
	u64 *word = (u64 *)work;
	int at = thread(), own = in[at], cta = blockIdx.x, *beside = work + n;
	part[threadIdx.x] = own;
	__syncthreads();
	for (int far = 1; far < 256; far *= 2) {
		int more = threadIdx.x >= far ? part[threadIdx.x - far] : 0;
		__syncthreads();
		part[threadIdx.x] += more;
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		int all = part[255], sum = 0;
		if (racy)
			beside[cta] = all;
		atomicExch(&word[cta], (u64)(unsigned)all << 2 | (cta ? 1 : 2));
		for (int other = cta - 1; other >= 0; other--) {
			u64 its;
			while (!(its = *(volatile u64 *)&word[other]))
				;
			sum += racy ? beside[other] : (int)(its >> 2);
			if (its % 4 == 2)
				break;
		}
		if (cta)
			atomicExch(&word[cta], (u64)(unsigned)(all + sum) << 2 | 2);
		before = sum;
	}
	__syncthreads();
	out[at] = part[threadIdx.x] + before;
}

/* The last part of a stream-K product: tiles of 256 words, of which m CTAs have a partial sum each, made of in. All but a tile's first store
 * theirs in work and raise a flag, work[n * m + CTA]; the first adds them up. n words in all. Racy: no barrier before the flag. */
PROGRAM(streamk)
{
	int tile = blockIdx.x / m, part = blockIdx.x % m, *flag = work + n * m + tile * m, sum = 0;
	for (int i = 0; i < 16; i++)
		sum += in[(tile * 256 + threadIdx.x + i * (part + 1)) % n];
	if (part) {
		work[blockIdx.x * 256 + threadIdx.x] = sum;
		if (!racy)
			__syncthreads();
		__threadfence();
		if (threadIdx.x == 0)
			atomicExch(&flag[part], 1);
		return;
	}
	for (int other = 1; other < m; other++) {
		if (threadIdx.x == 0)
			while (!load(&flag[other]))
				;
		__threadfence();
		__syncthreads();
		sum += work[(tile * m + other) * 256 + threadIdx.x];
	}
	out[tile * 256 + threadIdx.x] = sum;
}

/* m steps of a stencil over n words, all CTAs of the grid together: a barrier of the grid after each. in and out take turns. Racy: none. */
PROGRAM(grid_barrier)
{
	int *from = in, *to = out, all = gridDim.x * blockDim.x;
	for (int step = 0; step < m; step++) {
		for (int i = thread(); i < n; i += all)
			to[i] = from[i ? i - 1 : n - 1] + from[i] * 2 + from[i + 1 < n ? i + 1 : 0];
		int *last = from;
		from = to;
		to = last;
		if (racy)
			continue;
		__syncthreads();
		if (threadIdx.x == 0) {
			__threadfence();
			atomicAdd(work, 1);
			while (load(work) < (step + 1) * (int)gridDim.x)
				;
			__threadfence();
		}
		__syncthreads();
	}
}

/* A sparse matrix of n rows with m numbers each, in[row * m ..) their columns, times a vector, work[0..n): a thread for each row. Racy: the
 * product takes the vector's place. */
PROGRAM(spmv)
{
	int row = thread(), sum = 0;
	if (row >= n)
		return;
	for (int i = 0; i < m; i++)
		sum += (i + 1) * work[in[row * m + i]];
	(racy ? work : out)[row] = sum;
}

/* One step of a breadth-first search of a graph as above: from nodes at distance work[0] to those that have none (-1) yet. Racy: by plain loads and stores,
 * which works, for all store the same. */
PROGRAM(bfs)
{
	int node = thread(), distance = work[0];
	if (node >= n || (racy ? out[node] : load(&out[node])) != distance)
		return;
	for (int i = 0; i < m; i++) {
		int *other = &out[in[node * m + i]];
		if (!racy)
			atomicCAS(other, -1, distance + 1);
		else if (*other == -1)
			*other = distance + 1;
	}
}

/* What n bodies on a line, in[0..n), do to each other, in tiles of 256: a thread for each. Racy: each moves at once, in its place. */
PROGRAM(nbody)
{
	__shared__ int tile[256];
	int at = thread(), own = in[at], sum = 0;
	for (int i = 0; i < n; i += 256) {
		tile[threadIdx.x] = in[i + threadIdx.x];
		__syncthreads();
		for (int k = 0; k < 256; k++) {
			int far = tile[k] - own;
			sum += far / (1 + (far * far >> 8));
		}
		__syncthreads();
	}
	(racy ? in : out)[at] = own + sum / m;
}

/* The transpose of an n x n matrix, in tiles of 32 x 32 by CTAs of 256. Racy: in its place. */
PROGRAM(transpose)
{
	__shared__ int tile[32][33];
	int tiles = n / 32, x = blockIdx.x % tiles * 32, y = blockIdx.x / tiles * 32, column = threadIdx.x % 32, row = threadIdx.x / 32;
	for (int i = row; i < 32; i += 8)
		tile[i][column] = in[(y + i) * n + x + column];
	__syncthreads();
	for (int i = row; i < 32; i += 8)
		(racy ? in : out)[(x + i) * n + y + column] = tile[column][i];
}
