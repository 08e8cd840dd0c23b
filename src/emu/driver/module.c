#include "emu/driver/module.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "emu/driver/image.h"
#include "emu/driver/queue.h"
#include "emu/driver/range.h"

static struct CUmod_st *modules;

CUfunction emu_function_known(const void *handle)
{
	uintptr_t at = (uintptr_t)handle;
	for (CUmodule m = modules; m; m = m->next)
		if (at >= (uintptr_t)m->function && at < (uintptr_t)(m->function + m->functions))
			return &m->function[(at - (uintptr_t)m->function) / sizeof *m->function];
	return NULL;
}

static CUmodule known(const void *handle)
{
	for (CUmodule m = modules; m; m = m->next)
		if (m == handle || emu_of_library(m) == handle)
			return m;
	return NULL;
}

/* ---- loading */

static void *variable_alloc(void *context, size_t size, size_t align)
{
	struct emu_range *r;
	(void)align; /* pages are aligned enough */
	return emu_range_alloc(context, EMU_VARIABLE, size, &r) ? NULL : (void *)(uintptr_t)r->base;
}

static void variable_release(void *context, void *at, size_t size)
{
	struct emu_range *r = emu_range_find(&emu_known, (uintptr_t)at);
	(void)context, (void)size;
	if (r)
		emu_range_free(r);
}

static CUresult wrap(CUcontext context, struct emu_module *code, CUmodule *module)
{
	CUmodule m = calloc(1, sizeof *m);
	size_t n = emu_module_kernels(code);
	if (m)
		m->function = calloc(n ? n : 1, sizeof *m->function);
	if (!m || !m->function) {
		free(m);
		emu_module_unload(code);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->next = modules;
	m->context = context;
	m->code = code;
	m->functions = n;
	for (size_t i = 0; i < n; i++) {
		CUfunction f = &m->function[i];
		*f = (struct CUfunc_st){.module = m, .kernel = emu_module_kernel(code, i), .carveout = -1};
		emu_kernel_info(f->kernel, &f->info);
		f->dynamic_shared_max = f->info.shared_bytes < EMU_SHARED_DEFAULT ? EMU_SHARED_DEFAULT - f->info.shared_bytes : 0;
	}
	modules = *module = m;
	return CUDA_SUCCESS;
}

/* image_size 0: not known. */
static CUresult load(CUcontext context, const void *image, size_t image_size, CUmodule *module, struct emu_error *error)
{
	const char *ptx;
	char *unpacked;
	size_t size;
	struct emu_module *code;
	struct emu_memory memory = {context, variable_alloc, variable_release};
	error->text[0] = 0;
	CUresult result = emu_image_ptx(image, image_size, &ptx, &size, &unpacked);
	if (result)
		return result;
	if (!emu_module_load(ptx, size, &memory, &code, error)) {
		result = wrap(context, code, module);
	} else {
		log_error("emulated device: %s", error->text);
		result = CUDA_ERROR_INVALID_PTX;
	}
	free(unpacked);
	return result;
}

static CUresult load_here(CUmodule *module, const void *image, size_t size, struct emu_error *error)
{
	CUcontext c;
	CUresult result = module && image ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	return result ? result : emu_leave(load(c, image, size, module, error));
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
	struct emu_error error;
	return load_here(module, image, 0, &error);
}

/* The error text goes where the program asked for it: cuda.h, CUjit_option. */
CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *option, void **value)
{
	struct emu_error error = {.text = ""};
	char *log = NULL;
	size_t room = 0;
	for (unsigned i = 0; i < count; i++) {
		if (option[i] == CU_JIT_ERROR_LOG_BUFFER)
			log = value[i];
		else if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			room = (size_t)(uintptr_t)value[i];
	}
	CUresult result = load_here(module, image, 0, &error);
	if (log && room)
		snprintf(log, room, "%s", error.text);
	return result;
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *image) { return cuModuleLoadData(module, image); }

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *path)
{
	char *data;
	size_t size;
	if (!path || text_read_file(path, &data, &size))
		return CUDA_ERROR_FILE_NOT_FOUND;
	struct emu_error error;
	CUresult result = size ? load_here(module, data, size, &error) : CUDA_ERROR_INVALID_IMAGE;
	free(data);
	return result;
}

static CUresult unload(const void *handle)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	CUmodule m = known(handle);
	if (!m)
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	emu_wait_context(m->context); /* its kernels may still be queued */
	for (CUmodule *at = &modules; *at; at = &(*at)->next)
		if (*at == m) {
			*at = m->next;
			break;
		}
	emu_module_unload(m->code);
	free(m->function);
	free(m);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) { return unload(module); }

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}

/* ---- what a module holds */

static CUresult find_function(const void *handle, const char *name, CUfunction *function)
{
	CUresult result = function && name ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUmodule m = known(handle);
	if (!m)
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	for (size_t i = 0; i < m->functions; i++)
		if (!strcmp(emu_kernel_name(m->function[i].kernel), name)) {
			*function = &m->function[i];
			return emu_leave(CUDA_SUCCESS);
		}
	return emu_leave(CUDA_ERROR_NOT_FOUND);
}

static CUresult find_global(const void *handle, CUdeviceptr *address, size_t *bytes, const char *name)
{
	void *at;
	size_t size;
	CUresult result = name ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUmodule m = known(handle);
	if (!m)
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (emu_module_global(m->code, name, &at, &size))
		return emu_leave(CUDA_ERROR_NOT_FOUND);
	if (address)
		*address = (uintptr_t)at;
	if (bytes)
		*bytes = size;
	return emu_leave(CUDA_SUCCESS);
}

static CUresult count_functions(unsigned *count, const void *handle)
{
	CUresult result = count ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUmodule m = known(handle);
	if (m)
		*count = (unsigned)m->functions;
	return emu_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

static CUresult list_functions(void **out, unsigned room, const void *handle)
{
	CUresult result = out ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUmodule m = known(handle);
	for (unsigned i = 0; m && i < room && i < m->functions; i++)
		out[i] = m == handle ? (void *)&m->function[i] : emu_of_library(&m->function[i]);
	return emu_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	return find_function(module, name, function);
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
	return find_global(module, address, bytes, name);
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned *count, CUmodule module) { return count_functions(count, module); }

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned room, CUmodule module)
{
	return list_functions((void **)functions, room, module);
}

/* ---- libraries: loadable before any context is current */

static CUresult load_library(CUlibrary *library, const void *image, size_t size)
{
	CUcontext c = NULL;
	struct emu_error error;
	CUresult result = library && image ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	c = emu_context_current();
	CUmodule m;
	result = c ? CUDA_SUCCESS : emu_context_primary(0, &c);
	result = result ? result : load(c, image, size, &m, &error);
	if (!result)
		*library = emu_of_library(m);
	return emu_leave(result);
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_option, void **jit_value,
				   unsigned jit_count, CUlibraryOption *option, void **value, unsigned count)
{
	(void)jit_option, (void)jit_value, (void)jit_count, (void)option, (void)value, (void)count;
	return load_library(library, code, 0);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit_option, void **jit_value,
				       unsigned jit_count, CUlibraryOption *option, void **value, unsigned count)
{
	char *data;
	size_t size;
	(void)jit_option, (void)jit_value, (void)jit_count, (void)option, (void)value, (void)count;
	if (!path || text_read_file(path, &data, &size))
		return CUDA_ERROR_FILE_NOT_FOUND;
	CUresult result = size ? load_library(library, data, size) : CUDA_ERROR_INVALID_IMAGE;
	free(data);
	return result;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) { return unload(library); }

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUfunction f;
	CUresult result = kernel ? find_function(library, name, &f) : CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*kernel = emu_of_library(f);
	return result;
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	CUresult result = module ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUmodule m = known(library);
	if (m)
		*module = m;
	return emu_leave(m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
	return find_global(library, address, bytes, name);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned *count, CUlibrary library) { return count_functions(count, library); }

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned room, CUlibrary library)
{
	return list_functions((void **)kernels, room, library);
}
