/* A program for gsan-launch: `fat racy|correct LOADER PACKING HELD [LENGTH]`. Two CTAs store to one word (racy), or each to its own, by a
 * kernel of a fat binary whose name has LENGTH characters. LOADER: how it is loaded (loaders, below); early: as a library, before there is
 * a context; captured: as a library, whose kernels are launched by graphs alone. PACKING: none, lz4, zstd. HELD: ptx: PTX alone; text: no fat binary, but PTX; beside: what the emulated device takes for
 * machine code, with a kernel more, and PTX; variable: the same with kernels that store to a variable; constant: PTX whose kernel
 * only names a string; other: machine code, and PTX of another architecture; nothing: machine code alone; damaged: beside, but its
 * PTX cannot be decompressed (or parsed); broken: lengths in it are wrong, which the driver says; a path: of a fat binary.
 * It is loaded, used and unloaded twice. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "write.h"

#define LONGEST 8192

static const char *loader, *held;
static char kernel[LONGEST + 1] = "both";
static struct { uint32_t magic, version; const void *data, *linked; } wrapper = {0x466243b1, 1, NULL, NULL};

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "fat: %s: error %d\n", what, rc);
	exit(1);
}

/* PTX with the kernel; `more`: what only the machine code has. */
static char *text(const char *more)
{
	const char *variable = strcmp(held, "variable") ? "" : "\tmov.u64 %rd1, words;\n\tcvta.global.u64 %rd1, %rd1;\n";
	const char *constant = strcmp(held, "constant") ? "" : "\tmov.u64 %rd2, $str;\n";
	char *to;

	if (asprintf(&to,
		     ".version 8.0\n.target sm_90\n.address_size 64\n"
		     "%s%s.visible .entry %s(.param .u64 p, .param .u32 stride)\n{\n"
		     "\t.reg .b64 %%rd<4>;\n\t.reg .b32 %%r<4>;\n"
		     "\tld.param.u64 %%rd1, [p];\n%s%s\tld.param.u32 %%r1, [stride];\n\tmov.u32 %%r2, %%ctaid.x;\n"
		     "\tmul.lo.u32 %%r3, %%r1, %%r2;\n\tcvt.u64.u32 %%rd2, %%r3;\n\tadd.u64 %%rd3, %%rd1, %%rd2;\n"
		     "\tst.u32 [%%rd3+4], 7;\n\tret;\n}\n%s",
		     *variable ? ".visible .global .align 4 .u32 words[64];\n" : "",
		     *constant ? ".global .align 1 .b8 $str[3] = {120, 32};\n" : "", kernel, variable, constant, more) < 0)
		exit(1);
	return to;
}

static const void *image(enum write_packing packing, size_t *size)
{
	static const char mark[] =
		".visible .entry mark(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tst.u32 [%rd1+256], 5;\n\tret;\n}\n";
	char *whole;
	if (*held == '/')
		return text_read_file(held, &whole, size) ? NULL : whole;
	char *plain = text(strcmp(held, "beside") ? "" : mark), *ptx = text("");
	struct write w;

	*size = strlen(ptx);
	if (!strcmp(held, "text"))
		return ptx;
	write_begin(&w);
	if (strcmp(held, "ptx") && strcmp(held, "constant"))
		write_entry(&w, WRITE_CUBIN, 90, 0, packing, plain, strlen(plain) + 1);
	if (!strcmp(held, "other"))
		write_entry(&w, WRITE_PTX, 80, 0, packing, ptx, strlen(ptx) + 1);
	else if (strcmp(held, "nothing"))
		write_entry(&w, WRITE_PTX, 90, 0, packing, ptx, strlen(ptx) + 1);
	if (!strcmp(held, "damaged"))
		memset(w.data + w.size - 64, packing ? 0xff : '{', 56);
	if (!strcmp(held, "broken"))
		write_number(w.data + 16 + 8, UINT64_MAX - 100, 8);
	*size = w.size;
	return w.data;
}

/* ---- ways of loading ----------------------------------------------------------------------------------------- */

static CUmodule module;
static CUlibrary library;

static char *file(const void *data, size_t size)
{
	static char path[64];
	FILE *to;

	snprintf(path, sizeof(path), "/proc/self/cwd/fat.%d.fatbin", (int)getpid());
	to = fopen(path, "w");
	if (!to || fwrite(data, size, 1, to) != 1 || fclose(to))
		exit(1);
	return path;
}

static CUresult load_data(const void *data, size_t size) { return (void)size, cuModuleLoadData(&module, data); }
static CUresult load_binary(const void *data, size_t size) { return (void)size, cuModuleLoadFatBinary(&module, data); }
static CUresult load_wrapper(const void *data, size_t size) { return wrapper.data = data, load_binary(&wrapper, size); }

static CUresult load_file(const void *data, size_t size)
{
	char *path = file(data, size);
	CUresult rc = cuModuleLoad(&module, path);

	unlink(path);
	return rc;
}

static CUresult load_library(const void *data, size_t size)
{
	return (void)size, cuLibraryLoadData(&library, data, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult load_library_file(const void *data, size_t size)
{
	char *path = file(data, size);
	CUresult rc = cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0);

	unlink(path);
	return rc;
}

static CUresult load_linked(const void *data, size_t size)
{
	CUlinkState state;
	char *copy = NULL;
	void *made;

	must(cuLinkCreate(0, NULL, NULL, &state), "cuLinkCreate");
	must(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)data, size, "fat.ptx", 0, NULL, NULL), "cuLinkAddData");
	must(cuLinkComplete(state, &made, &size), "cuLinkComplete");
	copy = malloc(size);
	memcpy(copy, made, size);
	must(cuLinkDestroy(state), "cuLinkDestroy");
	CUresult rc = cuModuleLoadData(&module, copy);
	free(copy);
	return rc;
}

/* As cudart does it. */
static CUresult load_library_wrapper(const void *data, size_t size) { return wrapper.data = data, load_library(&wrapper, size); }

static const struct { const char *name; CUresult (*load)(const void *data, size_t size); } loaders[] = {
	{"data", load_data}, {"binary", load_binary}, {"wrapper", load_wrapper}, {"file", load_file}, {"library", load_library},
	{"library_file", load_library_file}, {"library_wrapper", load_library_wrapper}, {"early", load_library}, {"captured", load_library}, {"linked", load_linked},
};

/* ---- */

static void load(const void *data, size_t size)
{
	for (size_t i = 0; i < sizeof(loaders) / sizeof(*loaders); i++)
		if (!strcmp(loader, loaders[i].name)) {
			CUresult rc = loaders[i].load(data, size);
			if (!strcmp(held, "broken"))
				exit(rc != CUDA_ERROR_INVALID_IMAGE);
			must(rc, loader);
			return;
		}
	exit(2);
}

static CUfunction get(const char *name)
{
	CUfunction f;
	CUkernel k;

	if (module) {
		must(cuModuleGetFunction(&f, module, name), name);
		return f;
	}
	must(cuLibraryGetKernel(&k, library, name), name);
	if (!strcmp(loader, "library") || !strcmp(loader, "captured")) /* it is launched as it is */
		return (CUfunction)k;
	must(cuKernelGetFunction(&f, k), name);
	return f;
}

static void launch(CUfunction f, unsigned ctas, void **params)
{
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;

	if (strcmp(loader, "captured")) {
		must(cuLaunchKernel(f, ctas, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
		return;
	}
	must(cuStreamCreate(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
	must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
	must(cuLaunchKernel(f, ctas, 1, 1, 1, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
	must(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
	must(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	must(cuGraphLaunch(exec, stream), "cuGraphLaunch");
	must(cuStreamSynchronize(stream), "cuStreamSynchronize");
	must(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
	must(cuGraphDestroy(graph), "cuGraphDestroy");
	must(cuStreamDestroy(stream), "cuStreamDestroy");
}

static void use(CUdeviceptr memory, unsigned stride)
{
	void *both[] = {&memory, &stride}, *mark[] = {&memory};
	unsigned word[2] = {0, 0};

	must(cuMemsetD8(memory, 0, 512), "cuMemsetD8");
	launch(get(kernel), 2, both);
	if (!strcmp(held, "beside"))
		launch(get("mark"), 1, mark);
	must(cuMemcpyDtoH(&word[0], memory + 4, 4), "cuMemcpyDtoH");
	must(cuMemcpyDtoH(&word[1], memory + 256, 4), "cuMemcpyDtoH");
	if (word[0] != (strcmp(held, "variable") ? 7 : 0) || word[1] != (strcmp(held, "beside") ? 0 : 5))
		exit(1);
}

static void unload(void)
{
	must(module ? cuModuleUnload(module) : cuLibraryUnload(library), "unload");
	module = NULL;
	library = NULL;
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUcontext context;
	CUdeviceptr memory;
	size_t size;

	if (argc < 5 || argc > 6)
		return 2;
	loader = argv[2];
	held = argv[4];
	size_t length = argc > 5 ? strtoul(argv[5], NULL, 10) : strlen(kernel);
	memset(kernel + strlen(kernel), 'x', length - strlen(kernel));
	const void *data = image(!strcmp(argv[3], "lz4") ? WRITE_LZ4 : !strcmp(argv[3], "zstd") ? WRITE_ZSTD : WRITE_NONE, &size);
	must(cuInit(0), "cuInit");
	if (!strcmp(loader, "early"))
		load(data, size);
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuMemAlloc(&memory, 4096), "cuMemAlloc");
	for (int i = 0; i < 2; i++) {
		if (!module && !library)
			load(data, size);
		use(memory, strcmp(argv[1], "racy") ? 4 : 0);
		unload();
	}
	return 0;
}
