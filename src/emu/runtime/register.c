/* What the host code that nvcc makes registers before main: fat binaries, and the addresses by which it names their functions and
 * variables. A fat binary is loaded into a context when something of it is used there first; variables are one per context. */
#include "emu/runtime/runtime.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define BUCKETS 1024

struct module { struct module *next; CUcontext context; CUmodule module; };
struct image {
	struct image *next;
	const void *fat;               /* its wrapper; NULL: it is unregistered */
	struct module *modules;        /* one per context */
	struct symbol *managed;        /* its managed variables */
};
struct bound { struct bound *next; CUcontext context; CUfunction function; };
struct symbol {
	struct symbol *next, *next_managed;
	const void *host;              /* what the program names it by */
	struct image *image;
	const char *name;              /* in the module */
	int variable;
	size_t size;
	struct bound *functions;       /* one per context */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct image *images;
static struct symbol *buckets[BUCKETS];

static struct symbol **bucket_of(const void *host) { return &buckets[((uintptr_t)host >> 3) * 0x9e3779b97f4a7c15ull >> 54]; }

static struct symbol *find(const void *host, int variable)
{
	for (struct symbol *s = *bucket_of(host); s; s = s->next)
		if (s->host == host && s->variable == variable && s->image->fat)
			return s;
	return NULL;
}

/* ---- loading */

/* A managed variable is one for all devices, and the program reads its address where it registered it. */
static int place_managed(const struct image *image, CUmodule module)
{
	int result = CUDA_SUCCESS;
	for (const struct symbol *s = image->managed; s && !result; s = s->next_managed) {
		CUdeviceptr at;
		void **pointer = *(void ***)(uintptr_t)&s->host;
		result = cuModuleGetGlobal_v2(&at, NULL, module, s->name);
		if (!result)
			*pointer = (void *)at;
	}
	return result;
}

/* With `lock`. */
static int load(struct image *image, CUmodule *module)
{
	CUcontext c;
	int result = cuCtxGetCurrent(&c);
	for (struct module *m = image->modules; m && !result; m = m->next)
		if (m->context == c) {
			*module = m->module;
			return CUDA_SUCCESS;
		}
	if (!result && image->modules && image->managed) {
		log_once(LOG_ERROR, "emulated device: %s is a __managed__ variable of a program that uses several contexts; there it is not supported",
			 image->managed->name);
		return cudaErrorNotSupported;
	}
	struct module *m = result ? NULL : malloc(sizeof *m);
	if (!m)
		return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
	result = cuModuleLoadFatBinary(&m->module, image->fat);
	if (!result)
		result = place_managed(image, m->module);
	if (result) {
		free(m);
		return result;
	}
	m->context = c;
	m->next = image->modules;
	image->modules = m;
	*module = m->module;
	return CUDA_SUCCESS;
}

/* With `lock`. */
static int bind_function(struct symbol *s, CUfunction *function)
{
	CUcontext c;
	CUmodule module;
	int result = cuCtxGetCurrent(&c);
	for (struct bound *b = s->functions; b && !result; b = b->next)
		if (b->context == c) {
			*function = b->function;
			return CUDA_SUCCESS;
		}
	if (!result)
		result = load(s->image, &module);
	struct bound *b = result ? NULL : malloc(sizeof *b);
	if (!b)
		return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
	result = cuModuleGetFunction(&b->function, module, s->name);
	if (result) {
		free(b);
		return result == CUDA_ERROR_NOT_FOUND ? (int)cudaErrorInvalidDeviceFunction : result;
	}
	b->context = c;
	b->next = s->functions;
	s->functions = b;
	*function = b->function;
	return CUDA_SUCCESS;
}

/* A handle of the driver's (cudaLibraryGetKernel, cudaGetFuncBySymbol) stands for itself: it says whether it is one. */
int runtime_function(const void *function, CUfunction *found)
{
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	pthread_mutex_lock(&lock);
	struct symbol *s = find(function, 0);
	int result = s ? bind_function(s, found) : CUDA_SUCCESS;
	pthread_mutex_unlock(&lock);
	if (s)
		return result;
	CUkernel kernel = *(CUkernel *)(uintptr_t)&function;
	return cuKernelGetFunction(found, kernel) ? (int)cudaErrorInvalidDeviceFunction : CUDA_SUCCESS;
}

void *runtime_symbol(CUfunction function)
{
	const void *found = function;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct symbol *s = buckets[i]; s; s = s->next)
			for (const struct bound *b = s->functions; b; b = b->next)
				if (b->function == function)
					found = s->host;
	pthread_mutex_unlock(&lock);
	return *(void **)(uintptr_t)&found;
}

int runtime_variable(const void *variable, CUdeviceptr *at, size_t *size)
{
	CUmodule module;
	if (!at && !size)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	struct symbol *s = find(variable, 1);
	int result = s ? load(s->image, &module) : (int)cudaErrorInvalidSymbol;
	pthread_mutex_unlock(&lock);
	if (!result)
		result = cuModuleGetGlobal_v2(at, size, module, s->name);
	return result == CUDA_ERROR_NOT_FOUND ? (int)cudaErrorInvalidSymbol : result;
}

void runtime_forget(CUcontext context)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct symbol *s = buckets[i]; s; s = s->next)
			for (struct bound **b = &s->functions; *b;) {
				struct bound *gone = *b;
				if (gone->context != context) {
					b = &gone->next;
					continue;
				}
				*b = gone->next;
				free(gone);
			}
	for (struct image *image = images; image; image = image->next)
		for (struct module **m = &image->modules; *m;) {
			struct module *gone = *m;
			if (gone->context != context) {
				m = &gone->next;
				continue;
			}
			*m = gone->next;
			cuModuleUnload(gone->module);
			free(gone);
		}
	pthread_mutex_unlock(&lock);
}

/* ---- what nvcc's host code calls (crt/host_runtime.h): a failure shows when the thing is used */

RUNTIME_EXPORT void **CUDARTAPI __cudaRegisterFatBinary(void *);
RUNTIME_EXPORT void CUDARTAPI __cudaRegisterFatBinaryEnd(void **);
RUNTIME_EXPORT void CUDARTAPI __cudaUnregisterFatBinary(void **);
RUNTIME_EXPORT char CUDARTAPI __cudaInitModule(void **);
RUNTIME_EXPORT void CUDARTAPI __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *, dim3 *, int *);
RUNTIME_EXPORT void CUDARTAPI __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
RUNTIME_EXPORT void CUDARTAPI __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);
RUNTIME_EXPORT cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *, const void *);

static struct symbol *add(void **handle, const void *host, const char *name, int variable)
{
	struct symbol *s = handle ? calloc(1, sizeof *s) : NULL;
	if (!s)
		return NULL;
	*s = (struct symbol){.host = host, .image = (struct image *)handle, .name = name, .variable = variable};
	pthread_mutex_lock(&lock);
	s->next = *bucket_of(host);
	*bucket_of(host) = s;
	pthread_mutex_unlock(&lock);
	return s;
}

void **CUDARTAPI __cudaRegisterFatBinary(void *fat)
{
	struct image *image = calloc(1, sizeof *image);
	if (!image)
		return NULL;
	image->fat = fat;
	pthread_mutex_lock(&lock);
	image->next = images;
	images = image;
	pthread_mutex_unlock(&lock);
	return (void **)image;
}

void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

/* Its kernels may still run: the modules stay with their contexts. */
void CUDARTAPI __cudaUnregisterFatBinary(void **handle)
{
	pthread_mutex_lock(&lock);
	if (handle)
		((struct image *)handle)->fat = NULL;
	pthread_mutex_unlock(&lock);
}

/* Before the program uses a managed variable. */
char CUDARTAPI __cudaInitModule(void **handle)
{
	CUmodule module;
	int result = handle ? runtime_context() : (int)cudaErrorInvalidValue;
	if (result)
		return !runtime_leave(result);
	pthread_mutex_lock(&lock);
	result = load((struct image *)handle, &module);
	pthread_mutex_unlock(&lock);
	return !runtime_leave(result);
}

void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, uint3 *thread,
				      uint3 *block, dim3 *block_dim, dim3 *grid_dim, int *warp)
{
	(void)device, (void)threads, (void)thread, (void)block, (void)block_dim, (void)grid_dim, (void)warp;
	add(handle, host, name, 0);
}

void CUDARTAPI __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size, int constant,
				 int global)
{
	(void)device, (void)external, (void)size, (void)constant, (void)global;
	add(handle, host, name, 1);
}

void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int external, size_t size,
					int constant, int global)
{
	(void)device, (void)external, (void)size, (void)constant, (void)global;
	struct symbol *s = add(handle, pointer, name, 1);
	if (!s)
		return;
	pthread_mutex_lock(&lock);
	s->next_managed = s->image->managed;
	s->image->managed = s;
	pthread_mutex_unlock(&lock);
}

/* A kernel's handle is the address that the program names it by, which serves for all contexts (but not for the driver's own calls). */
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	if (!kernel)
		return cudaErrorInvalidValue;
	*kernel = *(cudaKernel_t *)(uintptr_t)&function;
	return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	return runtime_leave(__cudaGetKernel(kernel, function));
}
