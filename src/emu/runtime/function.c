/* Kernels: launches, among them those of the form f<<<grid, block>>>(…), what is asked of functions, and occupancy. */
#include "emu/runtime/runtime.h"

#include <string.h>

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "one layout (driver_types.h)");

/* ---- f<<<grid, block, shared, stream>>>(…): pushed before the arguments are evaluated, which may launch others */

#define NESTED_MAX 16

struct configuration { dim3 grid, block; size_t shared; void *stream; };
static _Thread_local struct configuration pushed[NESTED_MAX];
static _Thread_local unsigned depth;

RUNTIME_EXPORT unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
RUNTIME_EXPORT cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	if (depth == NESTED_MAX)
		return runtime_leave(cudaErrorLaunchOutOfResources); /* and the kernel is not called */
	pushed[depth++] = (struct configuration){grid, block, shared, stream};
	return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!depth)
		return runtime_leave(cudaErrorMissingConfiguration);
	const struct configuration *c = &pushed[--depth];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	*(void **)stream = c->stream;
	return cudaSuccess;
}

/* ---- launches */

/* What the driver calls an invalid value the runtime calls an invalid configuration, if that is why. */
static int explain(CUresult result, const CUlaunchConfig *c)
{
	const unsigned long long grid = (unsigned long long)c->gridDimX * c->gridDimY * c->gridDimZ;
	const unsigned long long block = (unsigned long long)c->blockDimX * c->blockDimY * c->blockDimZ;
	if (result == CUDA_ERROR_INVALID_VALUE &&
	    (!grid || !block || block > 1024 || c->blockDimZ > 64 || c->gridDimX > 0x7fffffff || c->gridDimY > 65535 || c->gridDimZ > 65535))
		return cudaErrorInvalidConfiguration;
	return result;
}

static int launch(const CUlaunchConfig *config, const void *function, void **arguments)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	return result ? result : explain(cuLaunchKernelEx(config, f, arguments, NULL), config);
}

int runtime_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream, int cooperative)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	if (shared > 0xffffffff)
		return cudaErrorInvalidValue;
	CUlaunchConfig config = {.gridDimX = grid.x, .gridDimY = grid.y, .gridDimZ = grid.z,
				 .blockDimX = block.x, .blockDimY = block.y, .blockDimZ = block.z,
				 .sharedMemBytes = (unsigned)shared, .hStream = stream,
				 .attrs = cooperative ? &attribute : NULL, .numAttrs = (unsigned)cooperative};
	return launch(&config, function, arguments);
}

static int driver_config(const cudaLaunchConfig_t *c, cudaStream_t stream, CUlaunchConfig *out)
{
	if (!c || c->dynamicSmemBytes > 0xffffffff)
		return cudaErrorInvalidValue;
	*out = (CUlaunchConfig){.gridDimX = c->gridDim.x, .gridDimY = c->gridDim.y, .gridDimZ = c->gridDim.z,
				.blockDimX = c->blockDim.x, .blockDimY = c->blockDim.y, .blockDimZ = c->blockDim.z,
				.sharedMemBytes = (unsigned)c->dynamicSmemBytes, .hStream = c->stream ? c->stream : stream,
				.attrs = (CUlaunchAttribute *)c->attrs, .numAttrs = c->numAttrs};
	return cudaSuccess;
}

int runtime_launch_config(const cudaLaunchConfig_t *c, const void *function, void **arguments, cudaStream_t stream)
{
	CUlaunchConfig config;
	int result = driver_config(c, stream, &config);
	return result ? result : launch(&config, function, arguments);
}

/* ---- questions */

int runtime_function_attributes(struct cudaFuncAttributes *out, const void *function)
{
	enum { COUNT = CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE + 1 };
	int value[COUNT];
	CUfunction f;
	int result = out ? runtime_function(function, &f) : cudaErrorInvalidValue;
	for (int i = 0; i < COUNT && !result; i++)
		result = cuFuncGetAttribute(&value[i], (CUfunction_attribute)i, f);
	if (result)
		return result;
	*out = (struct cudaFuncAttributes){
		.sharedSizeBytes = (size_t)value[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES],
		.constSizeBytes = (size_t)value[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES],
		.localSizeBytes = (size_t)value[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES],
		.maxThreadsPerBlock = value[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
		.numRegs = value[CU_FUNC_ATTRIBUTE_NUM_REGS],
		.ptxVersion = value[CU_FUNC_ATTRIBUTE_PTX_VERSION],
		.binaryVersion = value[CU_FUNC_ATTRIBUTE_BINARY_VERSION],
		.cacheModeCA = value[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA],
		.maxDynamicSharedSizeBytes = value[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES],
		.preferredShmemCarveout = value[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT],
		.clusterDimMustBeSet = value[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET],
		.requiredClusterWidth = value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH],
		.requiredClusterHeight = value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT],
		.requiredClusterDepth = value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH],
		.clusterSchedulingPolicyPreference = value[CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE],
		.nonPortableClusterSizeAllowed = value[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED]};
	return cudaSuccess;
}

int runtime_function_set(const void *function, int attribute, int value)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	return result ? result : (int)cuFuncSetAttribute(f, (CUfunction_attribute)attribute, value);
}

int runtime_function_hint(const void *function, enum cudaFuncCache config)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	return result ? result : (int)cuFuncSetCacheConfig(f, (CUfunc_cache)config);
}

int runtime_function_handle(cudaFunction_t *handle, const void *function)
{
	return handle ? runtime_function(function, handle) : cudaErrorInvalidValue;
}

int runtime_function_name(const char **name, const void *function)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	return result ? result : (int)cuFuncGetName(name, f);
}

int runtime_function_parameter(const void *function, size_t index, size_t *offset, size_t *size)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	return result ? result : (int)cuFuncGetParamInfo(f, index, offset, size);
}

int runtime_occupancy(int *blocks, const void *function, int block, size_t shared, unsigned flags)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	return result ? result : (int)cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, block, shared, flags);
}

int runtime_occupancy_shared(size_t *bytes, const void *function, int blocks, int block)
{
	CUfunction f;
	int result = runtime_function(function, &f);
	return result ? result : (int)cuOccupancyAvailableDynamicSMemPerBlock(bytes, f, blocks, block);
}

static int clusters(CUresult (*ask)(int *, CUfunction, const CUlaunchConfig *), int *answer, const void *function, const cudaLaunchConfig_t *c)
{
	CUfunction f;
	CUlaunchConfig config;
	int result = driver_config(c, NULL, &config);
	if (!result)
		result = runtime_function(function, &f);
	return result ? result : (int)ask(answer, f, &config);
}

int runtime_cluster_size(int *size, const void *function, const cudaLaunchConfig_t *c)
{
	return clusters(cuOccupancyMaxPotentialClusterSize, size, function, c);
}

int runtime_clusters(int *count, const void *function, const cudaLaunchConfig_t *c)
{
	return clusters(cuOccupancyMaxActiveClusters, count, function, c);
}
