/* What a module or a library has, as in a plain run: without clones, listed or by name. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cuda/hooks.h"
#include "cuda/real.h"
#include "device/abi.h"
#include "driver/listing.h"

const char *listing_asked(const char *name)
{
	static const char *const endings[] = {GSAN_CLONE_SUFFIX, GSAN_INFO_SUFFIX};

	for (size_t i = 0; name && i < sizeof(endings) / sizeof(*endings); i++)
		if (text_before(name, strlen(name), endings[i]))
			return " ";
	return name;
}

/* What modules and libraries have in common. */
struct listing {
	CUresult (*count)(unsigned *count, void *holder);
	CUresult (*list)(void **kernels, unsigned room, void *holder);
	CUresult (*name)(const char **name, void *kernel);
};

static CUresult module_count(unsigned *count, void *holder) { return real.cuModuleGetFunctionCount(count, holder); }
static CUresult module_name(const char **name, void *kernel) { return real.cuFuncGetName(name, kernel); }
static CUresult library_count(unsigned *count, void *holder) { return real.cuLibraryGetKernelCount(count, holder); }
static CUresult library_name(const char **name, void *kernel) { return real.cuKernelGetName(name, kernel); }

static CUresult module_list(void **kernels, unsigned room, void *holder)
{
	return real.cuModuleEnumerateFunctions((CUfunction *)kernels, room, holder);
}

static CUresult library_list(void **kernels, unsigned room, void *holder)
{
	return real.cuLibraryEnumerateKernels((CUkernel *)kernels, room, holder);
}

static const struct listing modules = {module_count, module_list, module_name};
static const struct listing libraries = {library_count, library_list, library_name};

static int listing_is_clone(const struct listing *l, void *kernel)
{
	const char *name;

	return l->name(&name, kernel) == CUDA_SUCCESS && name && text_before(name, strlen(name), GSAN_CLONE_SUFFIX);
}

/* malloc'ed, the program's *count kernels; NULL: the driver refuses, or there are none. */
static void **listing_get(const struct listing *l, void *holder, unsigned *count)
{
	unsigned all, kept = 0;

	if (l->count(&all, holder) != CUDA_SUCCESS || !all)
		return NULL;
	void **kernel = calloc(all, sizeof(*kernel));
	if (!kernel || l->list(kernel, all, holder) != CUDA_SUCCESS) {
		free(kernel);
		return NULL;
	}
	for (unsigned i = 0; i < all; i++)
		if (kernel[i] && !listing_is_clone(l, kernel[i]))
			kernel[kept++] = kernel[i];
	*count = kept;
	return kernel;
}

static CUresult listing_count(const struct listing *l, unsigned *count, void *holder)
{
	CUresult rc = l->count(count, holder);
	void **kernel = rc == CUDA_SUCCESS ? listing_get(l, holder, count) : NULL;

	free(kernel);
	return rc;
}

static CUresult listing_list(const struct listing *l, void **kernels, unsigned room, void *holder)
{
	unsigned count;
	void **kernel = kernels ? listing_get(l, holder, &count) : NULL;

	if (!kernel)
		return l->list(kernels, room, holder);
	memcpy(kernels, kernel, (room < count ? room : count) * sizeof(*kernels));
	free(kernel);
	return CUDA_SUCCESS;
}

CUresult hook_cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
	return real.cuFuncGetName && real.cuModuleEnumerateFunctions ? listing_count(&modules, count, module) :
								       real.cuModuleGetFunctionCount(count, module);
}

CUresult hook_cuModuleEnumerateFunctions(CUfunction *functions, unsigned room, CUmodule module)
{
	return real.cuFuncGetName && real.cuModuleGetFunctionCount ? listing_list(&modules, (void **)functions, room, module) :
								     real.cuModuleEnumerateFunctions(functions, room, module);
}

CUresult hook_cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
	return real.cuKernelGetName && real.cuLibraryEnumerateKernels ? listing_count(&libraries, count, library) :
									real.cuLibraryGetKernelCount(count, library);
}

CUresult hook_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned room, CUlibrary library)
{
	return real.cuKernelGetName && real.cuLibraryGetKernelCount ? listing_list(&libraries, (void **)kernels, room, library) :
								      real.cuLibraryEnumerateKernels(kernels, room, library);
}

CUresult hook_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
	return real.cuModuleGetGlobal_v2(address, size, module, listing_asked(name));
}

/* A library's kernels wait for their first launch: it is not bound to a context, and large ones ask for thousands. */
CUresult hook_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return real.cuLibraryGetKernel(kernel, library, listing_asked(name));
}

CUresult hook_cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
	return real.cuLibraryGetGlobal(address, size, library, listing_asked(name));
}
