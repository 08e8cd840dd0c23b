/* Modules and libraries. The driver loads what the program gives it. If that is PTX, its checked form takes its place (image.c); of a fat
 * binary the clones come to stand beside it (fat.c); cubins hold theirs already, if gsan-ptxas made them. Should anything fail, what the
 * driver has loaded stays. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cuda/hooks.h"
#include "cuda/real.h"
#include "driver/fat.h"
#include "driver/function.h"
#include "driver/image.h"
#include "driver/late.h"
#include "driver/link.h"

static int image_linked(const struct image *i, const void *data, size_t size, void **handle)
{
	struct image named = *i;
	const char *text;

	if (!link_made(data, size, &text, &named.source))
		return 0;
	fat_linked(&named, text, handle);
	return 1;
}

/* ---- what it refuses ----------------------------------------------------------------------------------------- */

/* For what the image is, not for what the process is in. */
static int image_is_refused(CUresult rc)
{
	static const CUresult refusals[] = {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_PTX,
					    CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_JIT_COMPILATION_DISABLED};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (rc == refusals[i])
			return 1;
	return 0;
}

/* What it is called: by its file, or by the source file that a fat binary names first; or by what it is, and where. malloc'ed or NULL. */
static char *image_name(const struct image *i, const struct fatbin *b, const void *data)
{
	const char *what = b ? "fat binary" : data && !strncmp(data, ELFMAG, SELFMAG) ? "machine code" : "PTX";
	struct fatbin_entry e;
	size_t at = 0;
	Dl_info of;
	char *name;

	if (!data)
		return strdup(i->source);
	while (b && fatbin_next(b, &at, &e) > 0)
		if (e.name_size)
			return strndup(e.name, e.name_size);
	if (dladdr(data, &of) && of.dli_fname)
		return asprintf(&name, "%s of %s", what, of.dli_fname) >= 0 ? name : NULL;
	return asprintf(&name, "%s in memory", what) >= 0 ? name : NULL;
}

/* Told to the supervisor: none of its kernels can run, and the program may go on as if nothing was. */
static void image_tell_refused(CUresult rc, const struct image *i, const void *data, size_t size)
{
	struct flow *f = flow_current();
	struct fatbin b;
	const int fat = data && !fatbin_open(data, size, &b);
	const char *error = "an error", *why = fat ? fat_lacks(&b) : NULL;
	char *name = image_name(i, fat ? &b : NULL, data), *reason = NULL;

	real.cuGetErrorName(rc, &error);
	if (f && name && asprintf(&reason, "the driver refused it (%s)%s%s", error, why ? ": " : "", why ? why : "") >= 0) {
		flow_note(f, "module", name, reason);
		free(reason);
	}
	free(name);
}

/* The driver has loaded it, or not. data NULL: not known; size 0: nor is that. */
static CUresult image_loaded(CUresult rc, const struct image *i, const void *data, size_t size, void **handle)
{
	struct fatbin b;

	if (image_is_refused(rc))
		image_tell_refused(rc, i, data, size);
	if (rc != CUDA_SUCCESS || !data)
		return rc;
	late_resume(flow_current());
	i->kind->forget(*handle);
	if (image_linked(i, data, size, handle))
		return rc;
	int none = fatbin_open(data, size, &b);
	if (none == -ENOENT && image_is_ptx(data))
		fat_text(i, data, handle);
	else if (!none)
		fat_binary(i, &b, handle);
	return rc;
}

static CUresult image_loaded_file(CUresult rc, const struct image *i, void **handle)
{
	char *data = NULL;
	size_t size;

	if (rc == CUDA_SUCCESS && text_read_file(i->source, &data, &size))
		i->kind->forget(*handle);
	image_loaded(rc, i, data, size, handle);
	free(data);
	return rc;
}

CUresult hook_cuModuleLoadData(CUmodule *module, const void *image)
{
	return hook_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult hook_cuModuleLoadDataEx(CUmodule *module, const void *data, unsigned count, CUjit_option *option, void **value)
{
	struct image i = {.kind = &image_module, .source = IMAGE_MEMORY, .count = count, .option = option, .value = value};

	return image_loaded(i.kind->load(&i, data, (void **)module), &i, data, 0, (void **)module);
}

CUresult hook_cuModuleLoadFatBinary(CUmodule *module, const void *data)
{
	struct image i = {.kind = &image_module, .source = IMAGE_MEMORY};

	return image_loaded(real.cuModuleLoadFatBinary(module, data), &i, data, 0, (void **)module);
}

CUresult hook_cuModuleLoad(CUmodule *module, const char *path)
{
	struct image i = {.kind = &image_module, .source = path};

	return image_loaded_file(real.cuModuleLoad(module, path), &i, (void **)module);
}

CUresult hook_cuModuleUnload(CUmodule module)
{
	function_forget_module(module);
	fat_forget(module, 1);
	return real.cuModuleUnload(module);
}

CUresult hook_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_value,
		unsigned jit_count, CUlibraryOption *option, void **value, unsigned count)
{
	struct image i = {.kind = &image_library, .source = IMAGE_MEMORY, .count = jit_count, .option = jit, .value = jit_value,
			.library_option = option, .library_value = value, .library_count = count};

	return image_loaded(i.kind->load(&i, code, (void **)library), &i, code, 0, (void **)library);
}

CUresult hook_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit, void **jit_value,
		unsigned jit_count, CUlibraryOption *option, void **value, unsigned count)
{
	struct image i = {.kind = &image_library, .source = path, .count = jit_count, .option = jit, .value = jit_value,
			.library_option = option, .library_value = value, .library_count = count};

	return image_loaded_file(real.cuLibraryLoadFromFile(library, path, jit, jit_value, jit_count, option, value, count), &i,
			(void **)library);
}

CUresult hook_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	CUresult rc = real.cuLibraryGetModule(module, library);

	if (rc == CUDA_SUCCESS)
		fat_library_module(library, *module);
	return rc;
}

CUresult hook_cuLibraryUnload(CUlibrary library)
{
	CUmodule module = NULL;

	if (function_variables_known() && !flow_captures() && real.cuLibraryGetModule &&
	    real.cuLibraryGetModule(&module, library) == CUDA_SUCCESS)
		function_forget_module(module);
	function_forget_library(library);
	fat_forget(library, 1);
	return real.cuLibraryUnload(library);
}
