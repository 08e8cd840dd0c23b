/* What is asked of functions and kernels, and occupancy. A CUkernel's attributes are the function's. */
#include "emu/driver/launch.h"
#include "emu/driver/module.h"

/* Opens a call about a function or kernel. */
static CUresult enter_function(const void *handle, const void *out, CUfunction *function)
{
	CUresult result = out ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*function = emu_function_known(handle);
	return *function ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_HANDLE);
}

/* Registers are not modelled: a number that keeps a full block resident. */
#define REGISTERS 32

static CUresult get_attribute(int *value, CUfunction_attribute a, const void *handle)
{
	CUfunction f;
	CUresult result = enter_function(handle, value, &f);
	if (result)
		return result;
	switch ((int)a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)f->info.max_threads; break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f->info.shared_bytes; break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)f->info.local_bytes; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = REGISTERS; break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = (int)f->dynamic_shared_max; break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->cluster_nonportable; break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = 0; break;
	default: return emu_leave(CUDA_ERROR_INVALID_VALUE);
	}
	return emu_leave(CUDA_SUCCESS);
}

static CUresult set_attribute(const void *handle, CUfunction_attribute a, int value)
{
	CUfunction f;
	CUresult result = enter_function(handle, handle, &f);
	if (result)
		return result;
	switch ((int)a) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || (unsigned)value + f->info.shared_bytes > EMU_SHARED_BLOCK)
			return emu_leave(CUDA_ERROR_INVALID_VALUE);
		f->dynamic_shared_max = (unsigned)value;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: f->carveout = value; break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: f->cluster_nonportable = value != 0; break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: break;
	default: return emu_leave(CUDA_ERROR_INVALID_VALUE);
	}
	return emu_leave(CUDA_SUCCESS);
}

static CUresult get_name(const char **name, const void *handle)
{
	CUfunction f;
	CUresult result = enter_function(handle, name, &f);
	if (result)
		return result;
	*name = emu_kernel_name(f->kernel);
	return emu_leave(CUDA_SUCCESS);
}

static CUresult get_param(const void *handle, size_t index, size_t *offset, size_t *size)
{
	CUfunction f;
	uint32_t at, bytes;
	CUresult result = enter_function(handle, offset, &f);
	if (result)
		return result;
	if (index >= f->info.params || emu_kernel_param(f->kernel, (uint32_t)index, &at, &bytes))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	*offset = at;
	if (size)
		*size = bytes;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f) { return get_attribute(value, a, f); }

CUresult CUDAAPI cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value) { return set_attribute(f, a, value); }

/* A CUkernel has none of its own. */
CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction f)
{
	return emu_is_kernel(f) ? CUDA_ERROR_INVALID_HANDLE : get_name(name, f);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size)
{
	return get_param(f, index, offset, size);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *module, CUfunction handle)
{
	CUfunction f;
	CUresult result = emu_is_kernel(handle) ? CUDA_ERROR_INVALID_HANDLE : enter_function(handle, module, &f);
	if (result)
		return result;
	*module = f->module;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	CUfunction f;
	(void)config; /* a hint */
	CUresult result = enter_function(handle, handle, &f);
	return result ? result : emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	CUfunction f;
	CUresult result = enter_function(handle, state, &f);
	if (result)
		return result;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncLoad(CUfunction handle)
{
	CUfunction f;
	CUresult result = enter_function(handle, handle, &f);
	return result ? result : emu_leave(CUDA_SUCCESS);
}

/* ---- kernels of libraries */

CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	CUfunction f;
	CUresult result = enter_function(kernel, function, &f);
	if (result)
		return result;
	*function = f;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	CUfunction f;
	CUresult result = enter_function(kernel, library, &f);
	if (result)
		return result;
	*library = emu_of_library(f->module);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel kernel, CUdevice device)
{
	(void)device;
	return get_attribute(value, a, kernel);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel kernel, CUdevice device)
{
	(void)device;
	return set_attribute(kernel, a, value);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	(void)device;
	return cuFuncSetCacheConfig((CUfunction)kernel, config);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel kernel) { return get_name(name, kernel); }

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return get_param(kernel, index, offset, size);
}

/* ---- occupancy: threads, blocks and shared memory of an SM */

unsigned emu_function_blocks_per_sm(const struct CUfunc_st *f, unsigned threads, unsigned dynamic_shared)
{
	unsigned warps = (threads + 31) / 32, shared = f->info.shared_bytes + dynamic_shared + 1024;
	unsigned by_threads = warps ? 64 / warps : 0, by_shared = EMU_SHARED_SM / shared;
	unsigned least = by_threads < by_shared ? by_threads : by_shared;
	return least > 32 ? 32 : least;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int threads,
								      size_t dynamic_shared, unsigned flags)
{
	CUfunction f;
	(void)flags;
	CUresult result = enter_function(handle, threads > 0 ? blocks : NULL, &f);
	if (result)
		return result;
	*blocks = (unsigned)threads > f->info.max_threads || dynamic_shared > EMU_SHARED_BLOCK
			  ? 0 : (int)emu_function_blocks_per_sm(f, (unsigned)threads, (unsigned)dynamic_shared);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
							     size_t dynamic_shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamic_shared, 0);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
							   CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit,
							   unsigned flags)
{
	CUfunction f;
	(void)flags;
	CUresult result = enter_function(handle, grid ? block : NULL, &f);
	if (result)
		return result;
	int threads = (int)f->info.max_threads;
	if (limit > 0 && limit < threads)
		threads = limit;
	if (shared_of)
		dynamic_shared = shared_of(threads);
	*block = threads;
	*grid = (int)emu_function_blocks_per_sm(f, (unsigned)threads, (unsigned)dynamic_shared) * emu.sms;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of,
						  size_t dynamic_shared, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, shared_of, dynamic_shared, limit, 0);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks, int threads)
{
	CUfunction f;
	(void)threads;
	CUresult result = enter_function(handle, blocks > 0 ? bytes : NULL, &f);
	if (result)
		return result;
	size_t share = EMU_SHARED_SM / (size_t)blocks, taken = f->info.shared_bytes + 1024;
	*bytes = share > taken ? share - taken : 0;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config)
{
	CUfunction f;
	CUresult result = enter_function(handle, config ? size : NULL, &f);
	if (result)
		return result;
	*size = f->cluster_nonportable ? 16 : 8;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle, const CUlaunchConfig *config)
{
	CUfunction f;
	CUresult result = enter_function(handle, config ? clusters : NULL, &f);
	if (result)
		return result;
	unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ, size = 1;
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			size = config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
			       config->attrs[i].value.clusterDim.z;
	*clusters = (int)(emu_function_blocks_per_sm(f, threads, config->sharedMemBytes) * (unsigned)emu.sms / (size ? size : 1));
	return emu_leave(CUDA_SUCCESS);
}
