/* Runs every kernel of an opcode module over the CUDA driver API, on whatever libcuda.so.1 is loaded (a GPU's, or the
 * emulated device's), and prints vectors.txt. Needs no CUDA header.
 *
 *   python3 tests/gpu/opcodes/generate.py > opcodes.ptx
 *   cc -O2 -o record tests/gpu/opcodes/record.c -ldl && ./record opcodes.ptx > tests/gpu/opcodes/vectors.txt */
#include "vectors.h"

#include <dlfcn.h>

typedef int (*call)(); /* driver functions are C with plain arguments; each call below passes exact types */
static void *library;

static call driver(const char *name)
{
	void *at = dlsym(library, name);
	call f;
	if (!at) {
		fprintf(stderr, "record: no %s in the driver\n", name);
		exit(1);
	}
	memcpy(&f, &at, sizeof f);
	return f;
}

static void must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "record: %s failed with %d\n", what, rc);
	exit(1);
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	long size;
	char *text;
	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || !(text = malloc((size_t)size + 1)))
		return NULL;
	rewind(f);
	text[fread(text, 1, (size_t)size, f)] = 0;
	fclose(f);
	return text;
}

static void run_all(const char *ptx, void *module, unsigned long long out)
{
	const call get = driver("cuModuleGetFunction"), launch = driver("cuLaunchKernel"), wait = driver("cuCtxSynchronize");
	const call clear = driver("cuMemsetD8_v2"), copy = driver("cuMemcpyDtoH_v2");
	static uint64_t results[VECTORS_BYTES / 8];
	char name[VECTORS_NAME];
	void *function, *parameters[] = { &out };

	while ((ptx = vectors_next(ptx, name))) {
		must(get(&function, module, (const char *)name), name);
		must(clear(out, (unsigned char)0, (size_t)VECTORS_BYTES), "cuMemsetD8");
		must(launch(function, 1u, 1u, 1u, vectors_threads(name), 1u, 1u, 0u, (void *)0, (void **)parameters, (void **)0), name);
		must(wait(), name);
		must(copy((void *)results, out, (size_t)VECTORS_BYTES), "cuMemcpyDtoH");
		vectors_print(stdout, name, results);
	}
}

int main(int argc, char **argv)
{
	char *ptx = argc == 2 ? read_all(argv[1]) : NULL, name[256] = "";
	int device = 0;
	void *context, *module;
	unsigned long long out = 0;
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!ptx || !library) {
		fprintf(stderr, "usage: record opcodes.ptx (and a CUDA driver is needed)\n");
		return 1;
	}
	must(driver("cuInit")(0u), "cuInit");
	must(driver("cuDeviceGet")(&device, 0), "cuDeviceGet");
	must(driver("cuDeviceGetName")((char *)name, 256, device), "cuDeviceGetName");
	must(driver("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
	must(driver("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
	must(driver("cuModuleLoadData")(&module, (const void *)ptx), "cuModuleLoadData");
	must(driver("cuMemAlloc_v2")(&out, (size_t)VECTORS_BYTES), "cuMemAlloc");
	printf("# %s\n", name);
	run_all(ptx, module, out);
	return 0;
}
