/* Modules and libraries. The driver loads what the program gives it. If that is PTX, its checked form takes its place (image.c); of a fat
 * binary the clones come to stand beside it (fat.c); cubins hold theirs already, if gsan-ptxas made them. Should anything fail, what the
 * driver has loaded stays. */
#include <errno.h>
#include <stdlib.h>

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

/* The driver has loaded it. size 0: not known. */
static CUresult image_loaded(CUresult rc, const struct image *i, const void *data, size_t size, void **handle)
{
	struct fatbin b;

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
