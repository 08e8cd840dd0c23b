/* A program of CUDA 12, by what its headers and nvcc made of it: linked with libcudart.so.12, its fat binary registered by hand, properties in
 * CUDA 12's layout, and locations as plain device numbers. */
#include <stdint.h>
#include <string.h>

#include "../check.h"
#include "write.h"

struct grid { unsigned x, y, z; };
struct properties { /* driver_types.h of CUDA 12.8, by offsets */
	char name[256];
	char skipped[32];
	uint64_t memory, shared;
	int registers, warp;
	char rest[1032 - 312];
};
void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const void *host, const char *device, const char *name, int, void *, void *, void *, void *, void *);
void __cudaUnregisterFatBinary(void **handle);
int cudaGetDeviceProperties_v2(struct properties *p, int device);
int cudaMalloc(void **at, size_t size);
int cudaMallocManaged(void **at, size_t size, unsigned flags);
int cudaMemAdvise(const void *at, size_t size, int advice, int device);
int cudaMemPrefetchAsync(const void *at, size_t size, int device, void *stream);
int cudaMemcpy(void *to, const void *from, size_t size, int kind);
int cudaLaunchKernel(const void *function, struct grid grid, struct grid block, void **arguments, size_t shared, void *stream);
int cudaThreadSynchronize(void);
int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphAddEmptyNode(void **node, void *graph, void *const *before, size_t count);
int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count);
int cudaGraphGetEdges(void *graph, void **from, void **to, size_t *count);
int cudaGraphNodeGetDependencies_v2(void *node, void **nodes, void *data, size_t *count);

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry seven(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n"
			  "\tld.param.u64 %rd1, [p];\n\tst.u32 [%rd1], 7;\n\tret;\n}\n";
static struct { uint32_t magic, version; const void *data, *linked; } wrapper = {0x466243b1, 1, NULL, NULL};

static const char seven; /* its address is what the program names the kernel by */

/* Edges without data, as CUDA 12 has them; in CUDA 13 the same names take it. */
static void edges(void)
{
	void *graph, *node[2], *from, *to;
	size_t count = 1;
	CHECK(!cudaGraphCreate(&graph, 0) && !cudaGraphAddEmptyNode(&node[0], graph, NULL, 0) && !cudaGraphAddEmptyNode(&node[1], graph, NULL, 0));
	CHECK(!cudaGraphAddDependencies(graph, &node[0], &node[1], 1));
	CHECK(!cudaGraphGetEdges(graph, &from, &to, &count) && count == 1 && from == node[0] && to == node[1]);
	CHECK(!cudaGraphNodeGetDependencies_v2(node[1], &from, NULL, &count) && count == 1 && from == node[0]);
}

int main(void)
{
	struct write w;
	struct properties p;
	struct grid one = {1, 1, 1};
	void *at, *shown, *arguments[] = {&at};
	int value = 0;
	write_begin(&w);
	write_entry(&w, WRITE_PTX, 90, 0, WRITE_LZ4, ptx, sizeof ptx);
	wrapper.data = w.data;
	void **handle = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(handle, &seven, "seven", "seven", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
	CHECK(!cudaGetDeviceProperties_v2(&p, 0));
	CHECK(strstr(p.name, "GSan") && p.shared == 49152 && p.registers == 65536 && p.warp == 32);
	CHECK(!cudaMallocManaged(&shown, 64, 1) && !cudaMemAdvise(shown, 64, 1, 0) && !cudaMemPrefetchAsync(shown, 64, 0, NULL));
	CHECK(!cudaMalloc(&at, 64) && !cudaLaunchKernel(&seven, one, one, arguments, 0, NULL) && !cudaThreadSynchronize());
	CHECK(!cudaMemcpy(&value, at, sizeof value, 2) && value == 7);
	edges();
	__cudaUnregisterFatBinary(handle);
	CHECK(cudaLaunchKernel(&seven, one, one, arguments, 0, NULL) == 98); /* cudaErrorInvalidDeviceFunction */
	return 0;
}
