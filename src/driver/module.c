/* Modules and libraries. Cubins hold their checked clones already, if gsan-ptxas made them, and are loaded as they are.
 * PTX text is loaded as it is first; then a cubin takes its place that gsan-ptxas makes of it (compile.c), or else the text as it is
 * rewritten here, for the driver to compile: the plain image tells the registers of its kernels (a clone must keep their CTAs per SM).
 * Should anything fail, the plain image stays. Fat binaries may be compressed: their PTX is not reached, but clones in their cubins are. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "config/settings.h"
#include "cuda/real.h"
#include "device/abi.h"
#include "driver/compile.h"
#include "driver/function.h"
#include "driver/hooks.h"
#include "ptx/rewrite.h"
#include "vmm/vmm.h"

/* What modules and libraries have in common. Options are those of the program's call. */
struct image {
	const char *source; /* for reports: a path, or what the image is */
	unsigned count;
	CUjit_option *option;
	void **value;
	CUlibraryOption *library_option;
	void **library_value;
	unsigned library_count;
	CUresult (*load)(const struct image *i, const void *text, void **handle);
	void (*unload)(void *handle);
	uint32_t (*registers)(void *handle, const char *kernel); /* 0 = unknown */
};

/* ---- modules ------------------------------------------------------------------------------------------------- */

static CUresult image_module_load(const struct image *i, const void *text, void **handle)
{
	if (!i->count)
		return real.cuModuleLoadData((CUmodule *)handle, text);
	return real.cuModuleLoadDataEx((CUmodule *)handle, text, i->count, i->option, i->value);
}

static void image_module_unload(void *handle)
{
	real.cuModuleUnload(handle);
}

static uint32_t image_module_registers(void *handle, const char *kernel)
{
	CUfunction f;
	int regs = 0;

	if (real.cuModuleGetFunction(&f, handle, kernel) != CUDA_SUCCESS ||
	    real.cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, f) != CUDA_SUCCESS)
		return 0;
	return (uint32_t)regs;
}

/* ---- libraries ----------------------------------------------------------------------------------------------- */

static CUresult image_library_load(const struct image *i, const void *text, void **handle)
{
	return real.cuLibraryLoadData((CUlibrary *)handle, text, i->option, i->value, i->count, i->library_option,
			i->library_value, i->library_count);
}

static void image_library_unload(void *handle)
{
	real.cuLibraryUnload(handle);
}

static uint32_t image_library_registers(void *handle, const char *name)
{
	CUkernel kernel;
	CUdevice device;
	int regs = 0;

	if (real.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
	    real.cuLibraryGetKernel(&kernel, handle, name) != CUDA_SUCCESS ||
	    real.cuKernelGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, device) != CUDA_SUCCESS)
		return 0;
	return (uint32_t)regs;
}

/* ---- PTX ----------------------------------------------------------------------------------------------------- */

/* PTX starts with comments and `.version`; every other image the driver takes has a magic number of unprintable bytes. */
static int image_is_ptx(const char *text)
{
	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (!strncmp(text, ".version", 8))
			return 1;
		const char *end = !strncmp(text, "//", 2) ? strchr(text, '\n') : !strncmp(text, "/*", 2) ? strstr(text, "*/") : NULL;
		if (!end)
			return 0;
		text = end + (*end == '*' ? 2 : 1);
	}
}

/* The registers of each kernel in the plain image, for the rewriter. names: one block that outlives the rewriting. */
static uint32_t image_registers(const struct image *i, void *plain, const struct ptx_module *m, struct ptx_regs *regs,
		char *names)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < m->functions; k++) {
		const struct ptx_function *fn = &m->function[k];
		if (!fn->is_entry || !fn->body.len)
			continue;
		memcpy(names, m->text + fn->name.off, fn->name.len);
		names[fn->name.len] = 0;
		regs[n++] = (struct ptx_regs){names, i->registers(plain, names)};
		names += fn->name.len + 1;
	}
	return n;
}

/* malloc'ed rewritten text, or NULL: nothing to check in it, or it was not understood (said in *reason). */
static char *image_rewrite(const struct image *i, void *plain, const char *text, const char **reason)
{
	struct ptx_error error = {0};
	struct ptx_module *m = NULL;
	struct ptx_rewrite_stats stats = {0};
	size_t size = strlen(text), out_size;
	char *out = NULL;

	*reason = "its PTX was not understood";
	if (ptx_parse(text, size, &m, &error)) {
		log_info("%s: line %u: %s", i->source, error.line, error.text);
		return NULL;
	}
	struct ptx_regs *regs = calloc(m->functions + 1, sizeof(*regs));
	char *kernels = malloc(size + 1);
	if (regs && kernels) {
		struct ptx_rewrite_options options = {.source = i->source, .reg = regs, .run = setting_number(SETTING_TEST_RUN, 0),
						      .clocks = setting_number(SETTING_TEST_LIFT, 0) & GSAN_LIFT_COARSE};
		options.kernels = image_registers(i, plain, m, regs, kernels);
		if (ptx_rewrite(text, size, &options, &out, &out_size, &stats, &error))
			log_info("%s: line %u: %s", i->source, error.line, error.text);
		else
			*reason = NULL;
	}
	free(kernels);
	free(regs);
	ptx_free(m);
	if (out && !stats.clones) {
		free(out);
		out = NULL;
	}
	return out;
}

/* What the driver says about an image, or is to say: of these, nothing depends on what it compiles. */
static int image_says(CUjit_option option)
{
	return option >= CU_JIT_WALL_TIME && option <= CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
}

/* Logs that the program asked for stay those of its own image. */
static unsigned image_quiet(const struct image *i, CUjit_option *option, void **value)
{
	unsigned n = 0;

	for (unsigned k = 0; k < i->count; k++) {
		if (image_says(i->option[k]))
			continue;
		option[n] = i->option[k];
		value[n++] = i->value[k];
	}
	return n;
}

static CUresult image_load_quietly(const struct image *i, const char *checked, void **handle)
{
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
	struct image quiet = *i;

	quiet.option = calloc(i->count + 1, sizeof(*quiet.option));
	quiet.value = calloc(i->count + 1, sizeof(*quiet.value));
	if (quiet.option && quiet.value) {
		quiet.count = image_quiet(i, quiet.option, quiet.value);
		rc = i->load(&quiet, checked, handle);
	}
	free(quiet.option);
	free(quiet.value);
	return rc;
}

/* Compiled by gsan-ptxas, which knows none of the driver's options. 1: it is loaded. */
static int image_load_compiled(const struct image *i, const char *text, void **handle)
{
	char *cubin;
	int good;

	for (unsigned k = 0; k < i->count; k++)
		if (!image_says(i->option[k]))
			return 0;
	cubin = compile_ptx(i->source, text);
	good = cubin && image_load_quietly(i, cubin, handle) == CUDA_SUCCESS;
	free(cubin);
	return good;
}

/* Loads the checked image in place of *handle. */
static const char *image_replace(const struct image *i, const char *text, void **handle)
{
	void *better = NULL;

	if (flow_captures())
		return "loaded while a stream was being captured";
	if (!image_load_compiled(i, text, &better)) {
		const char *reason;
		char *checked = image_rewrite(i, *handle, text, &reason);
		CUresult rc = checked ? image_load_quietly(i, checked, &better) : CUDA_SUCCESS;

		free(checked);
		if (!checked)
			return reason;
		if (rc != CUDA_SUCCESS)
			return "the driver did not compile its checked PTX";
	}
	i->unload(*handle);
	*handle = better;
	return NULL;
}

static CUresult image_load(const struct image *i, const void *text, void **handle)
{
	CUresult rc = i->load(i, text, handle);
	struct flow *f;

	if (rc != CUDA_SUCCESS || !text || !image_is_ptx(text))
		return rc;
	f = flow_current();
	const char *reason = f ? image_replace(i, text, handle) : NULL;
	if (reason)
		flow_note(f, "ptx", i->source, reason);
	return rc;
}

/* A module that ended with its context was never unloaded: what is known by this handle is of such a one. */
static CUresult module_loaded(CUresult rc, const CUmodule *module)
{
	if (rc == CUDA_SUCCESS)
		function_forget_module(*module);
	return rc;
}

/* ---- hooks --------------------------------------------------------------------------------------------------- */

CUresult hook_cuModuleLoadData(CUmodule *module, const void *image)
{
	return hook_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult hook_cuModuleLoadDataEx(CUmodule *module, const void *text, unsigned count, CUjit_option *option, void **value)
{
	struct image i = {.source = "PTX in memory", .count = count, .option = option, .value = value,
			.load = image_module_load, .unload = image_module_unload, .registers = image_module_registers};

	return module_loaded(image_load(&i, text, (void **)module), module);
}

CUresult hook_cuModuleLoad(CUmodule *module, const char *path)
{
	struct image i = {.source = path, .load = image_module_load, .unload = image_module_unload,
			.registers = image_module_registers};
	CUresult rc = real.cuModuleLoad(module, path);
	char *text;
	size_t size;

	if (rc != CUDA_SUCCESS || text_read_file(path, &text, &size))
		return module_loaded(rc, module);
	struct flow *f = image_is_ptx(text) ? flow_current() : NULL;
	const char *reason = f ? image_replace(&i, text, (void **)module) : NULL;
	if (reason)
		flow_note(f, "ptx", path, reason);
	free(text);
	return module_loaded(rc, module);
}

CUresult hook_cuModuleUnload(CUmodule module)
{
	function_forget_module(module);
	return real.cuModuleUnload(module);
}

CUresult hook_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_value,
		unsigned jit_count, CUlibraryOption *option, void **value, unsigned count)
{
	struct image i = {.source = "PTX in memory", .count = jit_count, .option = jit, .value = jit_value,
			.library_option = option, .library_value = value, .library_count = count, .load = image_library_load,
			.unload = image_library_unload, .registers = image_library_registers};

	return image_load(&i, code, (void **)library);
}

CUresult hook_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit, void **jit_value,
		unsigned jit_count, CUlibraryOption *option, void **value, unsigned count)
{
	struct image i = {.source = path, .count = jit_count, .option = jit, .value = jit_value, .library_option = option,
			.library_value = value, .library_count = count, .load = image_library_load,
			.unload = image_library_unload, .registers = image_library_registers};
	CUresult rc = real.cuLibraryLoadFromFile(library, path, jit, jit_value, jit_count, option, value, count);
	char *text;
	size_t size;

	if (rc != CUDA_SUCCESS || text_read_file(path, &text, &size))
		return rc;
	struct flow *f = image_is_ptx(text) ? flow_current() : NULL;
	const char *reason = f ? image_replace(&i, text, (void **)library) : NULL;
	if (reason)
		flow_note(f, "ptx", path, reason);
	free(text);
	return rc;
}

CUresult hook_cuLibraryUnload(CUlibrary library)
{
	CUmodule module = NULL;

	if (function_variables_known() && !flow_captures() && real.cuLibraryGetModule &&
	    real.cuLibraryGetModule(&module, library) == CUDA_SUCCESS)
		function_forget_module(module);
	function_forget_library(library);
	return real.cuLibraryUnload(library);
}
