/* A program for gsan-launch: `limits ctas|launches|unwaited|sets|releases|fills COUNT`. So many CTAs in one launch, so many launches, for which
 * the host waits now and then or never, so many sets of memory for which it never waits, or so many releases by one persistent CTA, all of them correct, and an acquire that they order. Or the
 * device's memory (LIMITS_FILL bytes of it) is taken so often, used, lent to others and given back: as much as the first time. Then a kernel with a race, and
 * its correct twin: exactly the race must be found. The device is that of LOCAL_RANK. On a GPU the counts are the real ones; on the emulated device they are
 * small, and GSAN_TEST_FIRST_LAUNCH and GSAN_TEST_FIRST_EPOCH start the counters near their ends. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD(name) ".visible .entry " name "(.param .u64 p, .param .u32 n)\n{\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<6>;\n" \
	"\t.reg .pred %q<3>;\n\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [n];\n\tmov.u32 %r2, %ctaid.x;\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	/* every CTA reads a word */
	HEAD("many") "\tld.global.u32 %r3, [%rd1];\n\tret;\n}\n"
	/* every launch of the stream adds one, weakly */
	HEAD("step") "\tld.global.u32 %r3, [%rd1];\n\tadd.u32 %r3, %r3, 1;\n\tst.global.u32 [%rd1], %r3;\n\tret;\n}\n"
	/* CTA 0 stores and releases n times; CTA 1 waits for the last time and reads what was stored */
	HEAD("persist") "\tsetp.ne.u32 %q1, %r2, 0;\n\tmov.u32 %r3, 0;\n\t@%q1 bra WAIT;\n"
	"NEXT:\tadd.u32 %r3, %r3, 1;\n\tst.global.u32 [%rd1+256], %r3;\n\tst.release.gpu.global.u32 [%rd1], %r3;\n"
	"\tsetp.lt.u32 %q2, %r3, %r1;\n\t@%q2 bra NEXT;\n\tret;\n"
	"WAIT:\tld.acquire.gpu.global.u32 %r3, [%rd1];\n\tsetp.ne.u32 %q2, %r3, %r1;\n\t@%q2 bra WAIT;\n"
	"\tld.global.u32 %r4, [%rd1+256];\n\tret;\n}\n"
	/* two CTAs store n bytes apart */
#define TWIN(name) HEAD(name) "\tmul.lo.u32 %r3, %r1, %r2;\n\tcvt.u64.u32 %rd2, %r3;\n\tadd.u64 %rd3, %rd1, %rd2;\n" \
	"\tst.global.u32 [%rd3+512], %r2;\n\tret;\n}\n"
	TWIN("racy") TWIN("correct");

static CUdevice device;
static CUmodule module;
static CUdeviceptr memory;

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "limits: %s: error %d\n", what, rc);
	exit(1);
}

static void launch(const char *name, unsigned ctas, unsigned n, unsigned times, unsigned wait)
{
	CUfunction kernel;
	void *params[] = {&memory, &n};

	must(cuModuleGetFunction(&kernel, module, name), name);
	for (unsigned i = 1; i <= times; i++) {
		must(cuLaunchKernel(kernel, ctas, 1, 1, 1, 1, 1, 0, NULL, params, NULL), name);
		if (wait && i % wait == 0)
			must(cuCtxSynchronize(), "cuCtxSynchronize");
	}
	must(cuCtxSynchronize(), name);
}

static void sets(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		must(cuMemsetD8Async(memory, 0, 64, NULL), "cuMemsetD8Async");
	must(cuCtxSynchronize(), "cuMemsetD8Async");
}

/* ---- fills: half by cuMemAlloc, lent by CUDA IPC, half by cuMemCreate, exported as a file descriptor ---- */

enum { PIECES = 16 };
struct piece { CUdeviceptr at; size_t size; CUmemGenericAllocationHandle handle; };

static void use(CUdeviceptr at, size_t size)
{
	must(cuMemsetD32(at, 1, 64), "cuMemsetD32");
	must(cuMemsetD32(at + size - 256, 1, 64), "cuMemsetD32");
}

static int lend(struct piece *p, size_t size)
{
	CUipcMemHandle handle;

	if (cuMemAlloc(&p->at, size) != CUDA_SUCCESS)
		return 0;
	must(cuIpcGetMemHandle(&handle, p->at), "cuIpcGetMemHandle");
	return 1;
}

static int export(struct piece *p, size_t size)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
			.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	int fd;

	if (cuMemCreate(&p->handle, size, &prop, 0) != CUDA_SUCCESS)
		return 0;
	must(cuMemAddressReserve(&p->at, size, 0, 0, 0), "cuMemAddressReserve");
	must(cuMemMap(p->at, size, 0, p->handle, 0), "cuMemMap");
	must(cuMemSetAccess(p->at, size, &access, 1), "cuMemSetAccess");
	must(cuMemExportToShareableHandle(&fd, p->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), "cuMemExportToShareableHandle");
	close(fd);
	return 1;
}

static void give_back(const struct piece *p)
{
	if (!p->handle) {
		must(cuMemFree(p->at), "cuMemFree");
		return;
	}
	must(cuMemUnmap(p->at, p->size), "cuMemUnmap");
	must(cuMemAddressFree(p->at, p->size), "cuMemAddressFree");
	must(cuMemRelease(p->handle), "cuMemRelease");
}

static size_t fill(size_t size)
{
	struct piece piece[2 * PIECES] = {{0}};
	size_t taken = 0;

	for (int i = 0; i < 2 * PIECES; i++) {
		piece[i].size = size;
		if (!(i % 2 ? lend(&piece[i], size) : export(&piece[i], size))) {
			piece[i].size = 0;
			continue;
		}
		use(piece[i].at, size);
		taken += size;
	}
	must(cuCtxSynchronize(), "fill");
	for (int i = 0; i < 2 * PIECES; i++)
		if (piece[i].size)
			give_back(&piece[i]);
	return taken;
}

static void fills(unsigned count)
{
	const char *bytes = getenv("LIMITS_FILL");
	size_t free = 0, total, first = 0;

	must(cuMemGetInfo(&free, &total), "cuMemGetInfo");
	size_t all = bytes ? strtoull(bytes, NULL, 10) : free, size = all / PIECES >> 21 << 21;
	for (unsigned i = 0; i < count; i++) {
		size_t taken = fill(size);
		first = first ? first : taken;
		if (taken < first / 10 * 9 || taken < all / 2) {
			fprintf(stderr, "limits: fill %u of the device took %zu bytes, the first one %zu, of %zu\n", i + 1, taken, first, all);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	const char *rank = getenv("LOCAL_RANK");
	CUcontext context;

	if (!count || !strchr("clusrf", *argv[1])) {
		fprintf(stderr, "usage: limits ctas|launches|unwaited|sets|releases|fills COUNT\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, rank ? atoi(rank) : 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	must(cuMemsetD8(memory, 0, 4096), "cuMemsetD8");
	if (*argv[1] == 'c')
		launch("many", count, 0, 1, 0);
	else if (*argv[1] == 'f')
		fills(count);
	else if (*argv[1] == 's')
		sets(count);
	else if (*argv[1] == 'r')
		launch("persist", 2, count, 1, 0);
	else
		launch("step", 1, 0, count, *argv[1] == 'l' ? 512 : 0);
	launch("correct", 2, 4, 1, 0);
	launch("racy", 2, 0, 1, 0);
	must(cuModuleUnload(module), "cuModuleUnload");
	return 0;
}
