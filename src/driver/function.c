/* From a kernel handle to its clone: in the module or library that holds the handle, the clone is found by its name
 * (device/abi.h), compared with the plain kernel, and its table of sites given to the supervisor. */
#include "driver/function.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/hooks.h"
#include "cuda/real.h"
#include "device/abi.h"
#include "driver/chosen.h"
#include "driver/listing.h"
#include "ipc/ipc.h"
#include "ptx/plan.h"
#include "vmm/vmm.h"

/* ---- who a handle is ----------------------------------------------------------------------------------------- */

/* Where the program told us nothing. A CUkernel (of a library) may stand wherever a CUfunction (of a module) does; the driver tells them apart. */
static int function_identify(struct function *fn, CUfunction handle)
{
	const char *name = NULL;

	if (real.cuFuncGetModule && real.cuFuncGetName && real.cuFuncGetModule(&fn->holder.module, handle) == CUDA_SUCCESS &&
	    real.cuFuncGetName(&name, handle) == CUDA_SUCCESS && name) {
		fn->name = strdup(name);
	} else {
		fn->holder.module = NULL;
		if (!real.cuKernelGetLibrary || !real.cuKernelGetName ||
		    real.cuKernelGetLibrary(&fn->holder.library, (CUkernel)handle) != CUDA_SUCCESS ||
		    real.cuKernelGetName(&name, (CUkernel)handle) != CUDA_SUCCESS || !name)
			return -ENOENT;
		fn->name = strdup(name);
	}
	return fn->name ? 0 : -ENOMEM;
}

static void *function_holder(const struct function *fn)
{
	return fn->holder.module ? (void *)fn->holder.module : (void *)fn->holder.library;
}

static CUresult function_get(const struct holder *h, const char *name, CUfunction *out)
{
	CUkernel kernel;

	if (h->module)
		return real.cuModuleGetFunction(out, h->module, name);
	CUresult rc = real.cuLibraryGetKernel(&kernel, h->library, name);
	return rc == CUDA_SUCCESS ? real.cuKernelGetFunction(out, kernel) : rc;
}

static CUresult function_global(const struct holder *h, const char *name, CUdeviceptr *address, size_t *size)
{
	if (h->module)
		return real.cuModuleGetGlobal_v2(address, size, h->module, name);
	return real.cuLibraryGetGlobal(address, size, h->library, name);
}

static CUresult function_param(const struct function *fn, CUfunction handle, size_t i, size_t *offset, size_t *size)
{
	if (fn->holder.library && real.cuKernelGetParamInfo)
		return real.cuKernelGetParamInfo((CUkernel)handle, i, offset, size);
	return real.cuFuncGetParamInfo(handle, i, offset, size);
}

/* ---- its clone ----------------------------------------------------------------------------------------------- */

/* Why it has no clone, as far as its parameters tell, or NULL: of PTX before 8.1 less than this is too much, but which it was is not known. */
static const char *function_no_room(const struct function *fn, CUfunction handle)
{
	size_t offset, size, end = 0;

	for (size_t i = 0; real.cuFuncGetParamInfo && function_param(fn, handle, i, &offset, &size) == CUDA_SUCCESS; i++)
		end = offset + size;
	if ((end + 7) / 8 * 8 + sizeof(struct gsan_launch) > PTX_PARAM_ROOM)
		return PTX_NO_ROOM;
	return NULL;
}

/* The parameters must be the plain kernel's, then the record. */
static const char *function_params(struct function *fn, CUfunction handle)
{
	size_t offset, size;

	if (!real.cuFuncGetParamInfo)
		return "the driver does not tell parameters";
	for (fn->params = 0; function_param(fn, handle, fn->params, &offset, &size) == CUDA_SUCCESS; fn->params++)
		if (fn->params == FUNCTION_PARAMS_MAX)
			return "too many parameters";
	if (real.cuFuncGetParamInfo(fn->clone, fn->params, &fn->record, &size) != CUDA_SUCCESS ||
	    (size != sizeof(struct gsan_launch) && size != 2 * sizeof(struct gsan_launch)))
		return "its clone has other parameters";
	fn->waits = size != sizeof(struct gsan_launch);
	return NULL;
}

/* .reqnctapercluster with more than one CTA. Not known counts as none: the launch says its own clusters. */
static int function_clusters(const struct function *fn)
{
	static const CUfunction_attribute sides[] = {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
			CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH};
	int ctas = 0;

	for (unsigned i = 0; i < 3 && ctas < 2 && real.cuFuncGetAttribute; i++)
		if (real.cuFuncGetAttribute(&ctas, sides[i], fn->clone) != CUDA_SUCCESS)
			ctas = 0;
	return ctas > 1;
}

/* The text K__gsan_info, read from the device: malloc'ed, NUL-terminated. */
static char *function_info(struct flow *f, const struct function *fn, const char *kernel, size_t length)
{
	char *symbol;
	CUdeviceptr address;
	size_t size;

	if (asprintf(&symbol, "%.*s" GSAN_INFO_SUFFIX, (int)length, kernel) < 0)
		return NULL;
	CUresult rc = function_global(&fn->clones, symbol, &address, &size);
	free(symbol);
	if (rc != CUDA_SUCCESS || size > 64u << 20)
		return NULL;
	char *text = malloc(size + 1);
	if (!text)
		return NULL;
	if (flow_read(f, text, address, size)) {
		free(text);
		return NULL;
	}
	text[size] = 0;
	return text;
}

static _Atomic int variables_known;

int function_variables_known(void) { return atomic_load_explicit(&variables_known, memory_order_relaxed); }

static void function_variable(struct flow *f, const struct function *fn, const char *name, int managed)
{
	CUdeviceptr at;
	size_t size;
	int told = function_global(&fn->holder, name, &at, &size) == CUDA_SUCCESS;

	if (told && managed && vmm_hosts(at, size, name, function_holder(fn), 1)) /* as all of such memory (foreign.c) */
		atomic_fetch_add_explicit(&f->rank->foreign_bytes[JOB_MANAGED], size, memory_order_relaxed);
	else if (told && !managed)
		vmm_variable(f->participant, at, size, name, function_holder(fn));
	else if (!told)
		flow_note(f, "foreign", name, "a module variable of which the driver does not tell where it lies");
}

/* The variables of the kernel's module lie outside the arena, where the driver put them. Asked for once in a module. */
static void function_variables(struct flow *f, const struct function *fn, const char *info)
{
	static const char other[] = "\nvariables\t";
	static const char *const one[] = {"\nvariable\t", "\nmanaged\t"};
	const void *holder = function_holder(fn);
	char *text = NULL;

	if (map_get(&f->variables, (uintptr_t)holder) || map_put(&f->variables, (uintptr_t)holder, f))
		return;
	atomic_store_explicit(&variables_known, 1, memory_order_relaxed);
	const char *elsewhere = strstr(info, other);
	if (elsewhere) {
		elsewhere += sizeof(other) - 1;
		info = text = function_info(f, fn, elsewhere, strcspn(elsewhere, "\n"));
	}
	for (int managed = 0; managed < 2; managed++)
		for (const char *at = info ? strstr(info, one[managed]) : NULL; at; at = strstr(at, one[managed])) {
			at += strlen(one[managed]);
			char *name = strndup(at, strcspn(at, "\n"));
			if (name)
				function_variable(f, fn, name, managed);
			free(name);
		}
	free(text);
}

/* Gives the kernel its number and its sites to the supervisor. */
static int function_register(struct flow *f, struct function *fn, const char *info)
{
	struct ipc_msg msg = {.type = IPC_KERNEL, .participant = f->participant->index};
	size_t size = strlen(info);
	int fd = memfd_create("gsan-kernel", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	int rc = write(fd, info, size) == (ssize_t)size ? 0 : -EIO;
	if (!rc) {
		fn->kernel = 1 + atomic_fetch_add_explicit(&f->kernels, 1, memory_order_relaxed);
		msg.kernel = fn->kernel;
		ipc_text(&msg, "%s", fn->name);
		rc = ipc_call(f->participant->socket, &msg, fd, NULL);
	}
	close(fd);
	return rc;
}

/* What the program set on the kernel before it was known here. */
static void function_attributes(CUfunction handle, CUfunction clone)
{
	static const CUfunction_attribute mirrored[] = {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};
	int is, was;

	for (unsigned i = 0; i < sizeof(mirrored) / sizeof(*mirrored) && real.cuFuncGetAttribute && real.cuFuncSetAttribute; i++)
		if (real.cuFuncGetAttribute(&is, mirrored[i], handle) == CUDA_SUCCESS &&
		    real.cuFuncGetAttribute(&was, mirrored[i], clone) == CUDA_SUCCESS && is != was)
			real.cuFuncSetAttribute(clone, mirrored[i], is);
}

/* Both are loaded now, where the driver would wait for their first launch: that may lie in a capture. */
static void function_load(struct flow *f, const struct function *fn, CUfunction handle)
{
	CUfunction plain = handle;
	int local;

	if (!fn->holder.module && real.cuKernelGetFunction(&plain, (CUkernel)handle) != CUDA_SUCCESS)
		return;
	if (real.cuFuncLoad) {
		real.cuFuncLoad(plain);
		real.cuFuncLoad(fn->clone);
	}
	function_attributes(plain, fn->clone);
	if (real.cuFuncGetAttribute && real.cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, fn->clone) == CUDA_SUCCESS)
		flow_room(f, local);
}

/* Its clone, in what holds the kernel or beside that. */
static const char *function_clone_find(struct function *fn, CUfunction handle)
{
	const char *reason = NULL;
	char *symbol;

	if (asprintf(&symbol, "%s" GSAN_CLONE_SUFFIX, fn->name) < 0)
		return "out of memory";
	fn->clones = fn->holder;
	if (function_get(&fn->holder, symbol, &fn->clone) != CUDA_SUCCESS) {
		reason = function_no_room(fn, handle);
		if (!reason)
			reason = fat_clones(fn->loaded, &fn->clones);
		if (!reason && function_get(&fn->clones, symbol, &fn->clone) != CUDA_SUCCESS)
			reason = "its PTX has no such kernel";
	}
	free(symbol);
	return reason;
}

/* NULL: fn->clone is good. */
static const char *function_clone(struct flow *f, struct function *fn, CUfunction handle)
{
	unsigned abi = 0;
	const char *reason = function_clone_find(fn, handle);

	if (!reason)
		reason = function_params(fn, handle);
	if (reason)
		return reason;
	fn->clusters = function_clusters(fn);
	char *info = function_info(f, fn, fn->name, strlen(fn->name));
	if (!info)
		return "its table of sites cannot be read";
	if (sscanf(info, "gsan-info %u", &abi) != 1 || abi != GSAN_ABI)
		reason = "its clone was made by another version of gsan";
	else if (function_register(f, fn, info))
		reason = "the supervisor did not take its sites";
	else if (!memcmp(&fn->clones, &fn->holder, sizeof(fn->holder)))
		function_variables(f, fn, info);
	fn->grids = strstr(info, "\ngrid\n") != NULL;
	fn->warps = strstr(info, "\nwarps\n") != NULL;
	fn->unseen = strstr(info, "\nleft\t") != NULL;
	fn->triggers = strstr(info, "\ntriggers\t") != NULL;
	fn->triggers_at_once = strstr(info, "\ntriggers\tat once\n") != NULL;
	free(info);
	if (!reason)
		function_load(f, fn, handle);
	return reason;
}

static struct function *function_create(struct flow *f, CUfunction handle, struct holder from, const char *name)
{
	struct function *fn = calloc(1, sizeof(*fn));

	if (!fn)
		return NULL;
	real.cuCtxGetCurrent(&fn->context);
	fn->holder.module = from.module;
	fn->name = from.module ? strdup(name) : NULL;
	if (!fn->name && function_identify(fn, handle))
		goto fail;
	fn->loaded = from.library ? (void *)from.library : function_holder(fn);
	fn->model = models_find(fn->name);
	fn->reason = chosen_out(fn->name);
	fn->left_out = fn->reason != NULL;
	if (!fn->reason)
		fn->reason = function_clone(f, fn, handle);
	fn->loaded = fat_loaded(fn->loaded);
	if (fn->reason)
		fn->clone = NULL;
	if (map_put(&f->function, (uintptr_t)handle, fn) == 0)
		return fn;
	free(fn->name);
fail:
	free(fn);
	return NULL;
}

/* `from`, `name`: where the program got it, and how it asked for it, as far as is known. */
static struct function *function_add(struct flow *f, CUfunction handle, struct holder from, const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one creation at a time */

	CUstreamCaptureMode mode;

	if (flow_captures())
		return map_get(&f->function, (uintptr_t)handle);
	pthread_mutex_lock(&lock);
	int relaxed = flow_relax(&mode);
	struct function *fn = map_get(&f->function, (uintptr_t)handle);
	if (!fn || (from.module && fn->holder.module && fn->holder.module != from.module)) /* a module ended with its context, and its handles come again */
		fn = function_create(f, handle, from, name);
	flow_unrelax(mode, relaxed);
	pthread_mutex_unlock(&lock);
	return fn;
}

struct function *function_known(struct flow *f, CUfunction handle)
{
	struct function *fn = map_peek(&f->function, (uintptr_t)handle);

	return fn ? fn : map_get(&f->function, (uintptr_t)handle);
}

struct function *function_find(struct flow *f, CUfunction handle)
{
	struct function *fn = function_known(f, handle);

	return fn ? fn : function_add(f, handle, (struct holder){0}, NULL);
}

int function_fits(struct function *fn, CUfunction handle, uint32_t threads, uint32_t shared)
{
	uint64_t shape = ((uint64_t)threads << 32 | shared) << 1;
	_Atomic uint64_t *at = &fn->fits[(threads / 32 ^ threads ^ shared / 1024) % FUNCTION_SHAPES];
	uint64_t last = atomic_load_explicit(at, memory_order_relaxed);
	int plain = 0, clone = 0;

	if (last && (last & ~1ull) == shape)
		return (int)(last & 1);
	if (!real.cuOccupancyMaxActiveBlocksPerMultiprocessor)
		return 1;
	CUresult rc = real.cuOccupancyMaxActiveBlocksPerMultiprocessor(&plain, handle, (int)threads, shared);
	if (rc == CUDA_SUCCESS)
		rc = real.cuOccupancyMaxActiveBlocksPerMultiprocessor(&clone, fn->clone, (int)threads, shared);
	int fits = rc == CUDA_SUCCESS && clone >= plain;
	if (rc == CUDA_SUCCESS)
		atomic_store_explicit(at, shape | (unsigned)fits, memory_order_relaxed);
	return fits;
}

/* ---- handles come and go ------------------------------------------------------------------------------------- */

CUresult hook_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	CUresult rc = real.cuModuleGetFunction(function, module, listing_asked(name));
	struct flow *f = rc == CUDA_SUCCESS ? flow_current() : NULL;

	if (f)
		function_add(f, *function, (struct holder){.module = module}, name);
	return rc;
}

CUresult hook_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	CUresult rc = real.cuKernelGetFunction(function, kernel);
	struct flow *f = rc == CUDA_SUCCESS ? flow_current() : NULL;
	struct holder from = {0};

	if (f && !function_known(f, *function)) {
		if (!real.cuKernelGetLibrary || real.cuKernelGetLibrary(&from.library, kernel) != CUDA_SUCCESS)
			from.library = NULL;
		function_add(f, *function, from, NULL);
	}
	return rc;
}

static void function_variables_forget(struct flow *f, void *holder)
{
	if (map_remove(&f->variables, (uintptr_t)holder))
		vmm_variables_drop(f->participant, holder);
}

/* `holder`: a module or library. */
static int function_drop(uint64_t handle, void *value, void *holder)
{
	struct function *fn = value;

	(void)handle;
	if (function_holder(fn) != holder && fn->loaded != holder)
		return 0;
	free(fn->name);
	free(fn);
	return 1;
}

static void function_forget_in(struct flow *f, void *holder)
{
	map_sweep(&f->function, function_drop, holder);
	function_variables_forget(f, holder);
}

void function_forget_module(CUmodule module)
{
	if (module)
		flow_each(function_forget_in, module);
}

void function_forget_library(CUlibrary library)
{
	if (library)
		flow_each(function_forget_in, library);
}

struct function_ended { struct flow *flow; CUcontext context; void *holder; };

/* What was seen here first may be of another context, where a thread launches it: it is found anew, and this is not freed. One whose holder has
 * variables stays: their end may be waited for, while launches look up functions. */
static int function_end(uint64_t handle, void *value, void *ended_)
{
	struct function_ended *ended = ended_;
	struct function *fn = value;
	void *holder = function_holder(fn);

	(void)handle;
	if (fn->context != ended->context)
		return 0;
	if (!map_get(&ended->flow->variables, (uintptr_t)holder))
		return 1;
	ended->holder = holder;
	return 0;
}

static void function_forget_context_in(struct flow *f, void *context)
{
	struct function_ended ended = {.flow = f, .context = context};

	do {
		ended.holder = NULL;
		map_sweep(&f->function, function_end, &ended);
		if (ended.holder)
			function_variables_forget(f, ended.holder);
	} while (ended.holder);
}

void function_forget_context(CUcontext context)
{
	if (context)
		flow_each(function_forget_context_in, context);
}

/* ---- what the program sets on a kernel holds for its clone, too ---------------------------------------------- */

struct function_named { CUfunction handle; const struct function *fn; };

static void function_named_in(struct flow *f, void *named_)
{
	struct function_named *named = named_;
	const struct function *fn = function_known(f, named->handle);

	if (fn)
		named->fn = fn;
}

static CUfunction function_clone_of(CUfunction handle)
{
	struct function_named named = {.handle = handle};
	struct flow *f = flow_current();

	flow_each(function_named_in, &named); /* another GPU may be current */
	if (!named.fn && f)
		named.fn = function_find(f, handle);
	return named.fn ? named.fn->clone : NULL;
}

/* A kernel of a library has one on each GPU. */
static CUfunction function_clone_on(CUkernel kernel, CUdevice device)
{
	struct flow *f = flow_on(device);
	const struct function *fn = !f ? NULL : f == flow_current() ? function_find(f, (CUfunction)kernel) : function_known(f, (CUfunction)kernel);

	return fn ? fn->clone : NULL;
}

CUresult hook_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	CUresult rc = real.cuFuncSetAttribute(function, attribute, value);
	CUfunction clone = rc == CUDA_SUCCESS ? function_clone_of(function) : NULL;

	if (clone)
		real.cuFuncSetAttribute(clone, attribute, value);
	return rc;
}

CUresult hook_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	CUresult rc = real.cuFuncSetCacheConfig(function, config);
	CUfunction clone = rc == CUDA_SUCCESS ? function_clone_of(function) : NULL;

	if (clone)
		real.cuFuncSetCacheConfig(clone, config);
	return rc;
}

CUresult hook_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
	CUresult rc = real.cuKernelSetAttribute(attribute, value, kernel, device);
	CUfunction clone = rc == CUDA_SUCCESS ? function_clone_on(kernel, device) : NULL;

	if (clone)
		real.cuFuncSetAttribute(clone, attribute, value);
	return rc;
}

CUresult hook_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	CUresult rc = real.cuKernelSetCacheConfig(kernel, config, device);
	CUfunction clone = rc == CUDA_SUCCESS ? function_clone_on(kernel, device) : NULL;

	if (clone)
		real.cuFuncSetCacheConfig(clone, config);
	return rc;
}
