#include "driver/image.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/settings.h"
#include "cuda/real.h"
#include "device/abi.h"
#include "driver/compile.h"
#include "driver/fat.h"
#include "driver/function.h"
#include "ptx/rewrite.h"

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

static void image_module_forget(void *handle)
{
	fat_forget(handle, 0);
	function_forget_module(handle);
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

const struct image_kind image_module = {image_module_load, image_module_unload, image_module_forget, image_module_registers};

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

static void image_library_forget(void *handle)
{
	fat_forget(handle, 0);
	function_forget_library(handle);
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

const struct image_kind image_library = {image_library_load, image_library_unload, image_library_forget, image_library_registers};

/* ---- PTX ----------------------------------------------------------------------------------------------------- */

/* PTX starts with comments and `.version`; every other image the driver takes has a magic number of unprintable bytes. */
int image_is_ptx(const char *text)
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

char *image_kernel(const struct ptx_module *m, uint32_t function)
{
	const struct ptx_function *fn = &m->function[function];

	return fn->is_entry && fn->body.len ? strndup(m->text + fn->name.off, fn->name.len) : NULL;
}

/* The registers of each kernel in the plain image, for the rewriter. */
static uint32_t image_registers(const struct image *i, void *plain, const struct ptx_module *m, struct ptx_regs *regs)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < m->functions; k++) {
		char *name = image_kernel(m, k);
		if (name)
			regs[n++] = (struct ptx_regs){name, i->kind->registers(plain, name)};
	}
	return n;
}

static void image_registers_free(struct ptx_regs *regs, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++)
		free((void *)(uintptr_t)regs[k].kernel);
	free(regs);
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
	uint32_t kernels = regs ? image_registers(i, plain, m, regs) : 0;
	if (regs) {
		struct ptx_rewrite_options options = {.source = i->source, .kernels = kernels, .reg = regs,
						      .run = setting_number(SETTING_TEST_RUN, 0),
						      .clocks = setting_number(SETTING_TEST_LIFT, 0) & GSAN_LIFT_COARSE};
		if (ptx_rewrite(text, size, &options, &out, &out_size, &stats, &error))
			log_info("%s: line %u: %s", i->source, error.line, error.text);
		else
			*reason = NULL;
	}
	image_registers_free(regs, kernels);
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
static void image_quiet(const struct image *i, struct image *quiet)
{
	quiet->count = 0;
	for (unsigned k = 0; k < i->count; k++) {
		if (image_says(i->option[k]))
			continue;
		quiet->option[quiet->count] = i->option[k];
		quiet->value[quiet->count++] = i->value[k];
	}
}

/* Its bytes may stay where they are for as long as the library does; ours do not. */
static void image_passing(const struct image *i, struct image *quiet)
{
	quiet->library_count = 0;
	for (unsigned k = 0; k < i->library_count; k++) {
		if (i->library_option[k] == CU_LIBRARY_BINARY_IS_PRESERVED)
			continue;
		quiet->library_option[quiet->library_count] = i->library_option[k];
		quiet->library_value[quiet->library_count++] = i->library_value[k];
	}
}

static CUresult image_load_quietly(const struct image *i, const char *checked, void **handle)
{
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
	struct image quiet = *i;

	quiet.option = calloc(i->count + 1, sizeof(*quiet.option));
	quiet.value = calloc(i->count + 1, sizeof(*quiet.value));
	quiet.library_option = calloc(i->library_count + 1, sizeof(*quiet.library_option));
	quiet.library_value = calloc(i->library_count + 1, sizeof(*quiet.library_value));
	if (quiet.option && quiet.value && quiet.library_option && quiet.library_value) {
		image_quiet(i, &quiet);
		image_passing(i, &quiet);
		rc = i->kind->load(&quiet, checked, handle);
	}
	free(quiet.option);
	free(quiet.value);
	free(quiet.library_option);
	free(quiet.library_value);
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

static const char *image_load(const struct image *i, void *plain, const char *text, void **handle)
{
	const char *reason;

	if (image_load_compiled(i, text, handle))
		return NULL;
	char *checked = image_rewrite(i, plain, text, &reason);
	CUresult rc = checked ? image_load_quietly(i, checked, handle) : CUDA_SUCCESS;
	free(checked);
	return !checked ? reason : rc != CUDA_SUCCESS ? "the driver did not compile its checked PTX" : NULL;
}

/* While a stream is being captured, too: the driver has just loaded as much for the program, and in relaxed mode less is refused than there. */
const char *image_load_checked(const struct image *i, void *plain, const char *text, void **handle)
{
	CUstreamCaptureMode mode;
	int relaxed = flow_relax(&mode);
	const char *reason = relaxed || !flow_captures() ? image_load(i, plain, text, handle) : "loaded while a stream was being captured";

	flow_unrelax(mode, relaxed);
	return reason;
}

const char *image_replace(const struct image *i, const char *text, void **handle)
{
	void *better = NULL;
	const char *reason = image_load_checked(i, *handle, text, &better);

	if (!reason && better)
		fat_exchange(i, better, handle);
	return reason;
}
