/* Where kernels name variables of their module, clones beside it would have variables of their own: the checked form then takes the
 * module's place at once, unless a kernel of it would need more registers, and so perhaps could not be launched any more. */
#include "driver/fat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cuda/real.h"
#include "device/abi.h"
#include "driver/flow.h"
#include "ptx/merge.h"
#include "ptx/ptx.h"
#include "ptx/uses.h"

#define FAT_NONE "it has no checked clone: no PTX of it passed through gsan, or none could be made of that"

struct fat {
	const struct image_kind *kind;
	struct fatbin_entry ptx; /* its bytes are a copy */
	char *source;
	unsigned gpu;            /* for which the PTX was chosen */
	CUcontext context;       /* of a module */
	void *clones;            /* NULL: not made yet, or there are none, for `reason` */
	void *gone;              /* ends with it; or NULL */
	const char *reason;
};

static struct map fats = MAP_INIT;       /* by the program's handle */
static struct map of_library = MAP_INIT; /* by a module's handle: the library whose it is */

static void fat_free(struct fat *x, int unload)
{
	if (x && unload && x->clones)
		x->kind->unload(x->clones);
	if (x && unload && x->gone)
		x->kind->unload(x->gone);
	if (x) {
		free((void *)(uintptr_t)x->ptx.packed);
		free(x->source);
	}
	free(x);
}

/* 90: of the current context's GPU, or of the first where there is no context yet; 0: the driver does not tell. */
static unsigned fat_gpu(void)
{
	int major, minor;
	CUdevice device;

	if ((real.cuCtxGetDevice(&device) != CUDA_SUCCESS && real.cuDeviceGet(&device, 0) != CUDA_SUCCESS) ||
	    real.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
	    real.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS)
		return 0;
	return (unsigned)(major * 10 + minor);
}

/* Of the objects that it is linked of, one text: malloc'ed. NULL, or why there is none. */
static const char *fat_merge(const struct fatbin *b, char **text)
{
	struct fatbin_texts t;
	struct ptx_error error = {0};
	const char *reason = fatbin_texts(b, fat_gpu(), &t);

	if (reason)
		return reason;
	int rc = ptx_merge((const char *const *)t.text, t.count, text, &error);
	if (rc)
		log_info("the PTX of a program's objects: line %u: %s", error.line, error.text);
	fatbin_texts_free(&t);
	return !rc ? NULL : t.lacking ? FATBIN_LACKING : "the PTX of the objects that its fat binary is linked of (-rdc=true) could not be made one text";
}

const char *fat_lacks(const struct fatbin *b)
{
	struct fatbin_entry ptx;
	char *text = NULL;
	const char *reason = fatbin_ptx(b, fat_gpu(), &ptx);

	if (reason && b->parts)
		reason = fat_merge(b, &text);
	free(text);
	return reason;
}

/* Of what is known by now; `reason`: NULL, or why its kernels will have no clones. */
static void fat_keep(const struct image *i, void *handle, const struct fatbin_entry *ptx, const char *reason)
{
	struct fat *x = calloc(1, sizeof(*x));
	unsigned char *packed = reason ? NULL : malloc(ptx->packed_size + 1);

	if (!x || (!reason && !packed))
		goto fail;
	*x = (struct fat){.kind = i->kind, .gpu = fat_gpu(), .reason = reason};
	if (packed) {
		memcpy(packed, ptx->packed, ptx->packed_size);
		x->ptx = *ptx;
		x->ptx.packed = packed;
		x->source = strdup(i->source);
	}
	if (i->kind == &image_module)
		real.cuCtxGetCurrent(&x->context);
	struct fat *before = map_remove(&fats, (uintptr_t)handle);
	x->gone = before ? before->gone : NULL;
	fat_free(before, 0);
	if (!map_put(&fats, (uintptr_t)handle, x))
		return;
fail:
	free(packed);
	free(x);
}

/* Now, or with what the program has. */
static void fat_unload(const struct image *i, void *gone, void *handle)
{
	if (!flow_captures()) {
		i->kind->unload(gone);
		return;
	}
	fat_keep(i, handle, NULL, FAT_NONE);
	struct fat *x = map_get(&fats, (uintptr_t)handle);
	if (x)
		x->gone = gone;
}

void fat_exchange(const struct image *i, void *better, void **handle)
{
	void *plain = *handle;

	i->kind->forget(better);
	*handle = better;
	fat_unload(i, plain, better);
}

/* ---- variables ----------------------------------------------------------------------------------------------- */

static uint32_t fat_units(uint32_t registers) { return (registers + 7) / 8; } /* in which they are allocated */

/* Whether no kernel needs more registers in `better`. */
static int fat_fits(const struct image *i, const struct ptx_module *m, void *plain, void *better)
{
	int fits = 1;

	for (uint32_t k = 0; k < m->functions && fits; k++) {
		char *name = image_kernel(m, k);
		uint32_t was = name ? i->kind->registers(plain, name) : 0;
		if (was)
			fits = fat_units(i->kind->registers(better, name)) <= fat_units(was);
		free(name);
	}
	return fits;
}

static const char *fat_replace(const struct image *i, const struct ptx_module *m, void **handle)
{
	void *better = NULL;
	const char *reason = flow_current() ? image_load_checked(i, *handle, m->text, &better) :
					      "it names variables of its module, which was loaded before there was a context";

	if (reason || !better)
		return reason;
	if (!fat_fits(i, m, *handle, better)) {
		fat_unload(i, better, *handle);
		return "it names variables of its module, and made of its PTX it would need more registers";
	}
	fat_exchange(i, better, handle);
	return NULL;
}

/* ---- loading ------------------------------------------------------------------------------------------------- */

/* Made by gsan-ptxas, machine code has its clones already. */
static int fat_has_clones(const struct image *i, const struct ptx_module *m, void *handle)
{
	int has = 0;

	for (uint32_t k = 0; k < m->functions && !has; k++) {
		char *name = image_kernel(m, k), *clone = NULL;
		if (name && asprintf(&clone, "%s" GSAN_CLONE_SUFFIX, name) > 0)
			has = i->kind->registers(handle, clone) != 0;
		free(clone);
		free(name);
	}
	return has;
}

/* Says of PTX that cannot be read, once. */
static void fat_say(const struct image *i, const char *reason)
{
	struct flow *f = flow_current();

	if (f)
		flow_note(f, "ptx", i->source, reason);
	else
		log_info("%s: %s", i->source, reason);
}

static void fat_entry(const struct image *i, const struct fatbin_entry *ptx, void **handle)
{
	struct ptx_error error = {0};
	struct ptx_module *m = NULL;
	char *text = NULL;
	size_t size;
	const char *reason = fatbin_unpack(ptx, &text, &size);

	if (!reason && ptx_parse(text, strlen(text), &m, &error)) {
		log_info("%s: line %u: %s", i->source, error.line, error.text);
		reason = "its PTX was not understood";
	}
	if (reason)
		fat_say(i, reason);
	int replaced = !reason && ptx_uses_variable(m) && !fat_has_clones(i, m, *handle);
	if (replaced)
		reason = fat_replace(i, m, handle);
	if (reason || !replaced)
		fat_keep(i, *handle, ptx, reason);
	ptx_free(m);
	free(text);
}

/* For reports: what it is the PTX of, if the fat binary says that. malloc'ed or NULL. */
static char *fat_source(const struct image *i, const struct fatbin_entry *ptx)
{
	char *source = NULL;

	if (!ptx->name_size || strcmp(i->source, IMAGE_MEMORY))
		return NULL;
	return asprintf(&source, "PTX of %.*s", (int)ptx->name_size, ptx->name) > 0 ? source : NULL;
}

/* A text as if it lay in a fat binary. */
static struct fatbin_entry fat_entry_of(const char *text)
{
	size_t size = strlen(text);

	return (struct fatbin_entry){.kind = FATBIN_PTX, .packed = (const unsigned char *)text, .packed_size = size, .size = size};
}

void fat_binary(const struct image *i, const struct fatbin *b, void **handle)
{
	struct image named = *i;
	struct fatbin_entry ptx = {0};
	char *text = NULL;
	const char *reason = fatbin_ptx(b, fat_gpu(), &ptx);

	if (reason && b->parts) {
		reason = fat_merge(b, &text);
		ptx = reason ? ptx : fat_entry_of(text);
	}
	char *source = reason || text ? NULL : fat_source(i, &ptx);
	if (source)
		named.source = source;
	if (reason)
		fat_keep(&named, *handle, &ptx, reason);
	else
		fat_entry(&named, &ptx, handle);
	free(source);
	free(text);
}

void fat_text(const struct image *i, const char *text, void **handle)
{
	struct flow *f = flow_current();
	struct fatbin_entry ptx = fat_entry_of(text);

	if (!f) {
		fat_entry(i, &ptx, handle);
		return;
	}
	const char *reason = image_replace(i, text, handle);
	if (reason)
		flow_note(f, "ptx", i->source, reason);
}

void fat_linked(const struct image *i, const char *text, void **handle)
{
	struct fatbin_entry ptx = fat_entry_of(text ? text : "");

	if (text)
		fat_entry(i, &ptx, handle);
	else
		fat_keep(i, *handle, &ptx, "it was linked of something else than PTX, or of PTX that could not be made one text");
}

/* ---- clones -------------------------------------------------------------------------------------------------- */

/* Why clones cannot be made now. */
static const char *fat_elsewhere(const struct fat *x)
{
	CUcontext current = NULL;

	if (x->gpu != fat_gpu())
		return "its fat binary was loaded for another GPU";
	if (x->context && (real.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != x->context))
		return "another context than its module's was current when it was asked for";
	return NULL;
}

static const char *fat_make(struct fat *x, void *handle)
{
	struct image i = {.kind = x->kind, .source = x->source ? x->source : IMAGE_MEMORY};
	char *text;
	size_t size;
	const char *reason = fatbin_unpack(&x->ptx, &text, &size);
	if (reason)
		return reason;
	reason = image_load_checked(&i, handle, text, &x->clones);
	free(text);
	return reason || x->clones ? reason : "none could be made of its PTX";
}

void fat_library_module(CUlibrary library, CUmodule module)
{
	if (map_get(&fats, (uintptr_t)library) && (void *)module != (void *)library)
		map_put(&of_library, (uintptr_t)module, library);
}

struct fat_asked { CUmodule module; CUlibrary library; };
static int fat_is_of(uint64_t handle, void *value, void *asked)
{
	struct fat_asked *a = asked;
	CUmodule module = NULL;

	if (!a->library && ((struct fat *)value)->kind != &image_module &&
	    real.cuLibraryGetModule(&module, (CUlibrary)(uintptr_t)handle) == CUDA_SUCCESS && module == a->module)
		a->library = (CUlibrary)(uintptr_t)handle;
	return 0;
}

/* Of a graph's kernel the program may have named no more than its module: which library's is that? (Each that is asked is loaded, if the driver has not
 * done so yet.) */
static void fat_ask(CUmodule module)
{
	struct fat_asked a = {module, NULL};

	if (map_get(&of_library, (uintptr_t)module) || map_get(&fats, (uintptr_t)module) || !real.cuLibraryGetModule)
		return;
	map_sweep(&fats, fat_is_of, &a);
	if (a.library)
		fat_library_module(a.library, module);
}

void *fat_loaded(void *handle)
{
	void *library = map_get(&of_library, (uintptr_t)handle);

	return library ? library : handle;
}

const char *fat_clones(void *handle, struct holder *clones)
{
	fat_ask(handle);
	handle = fat_loaded(handle);
	struct fat *x = map_get(&fats, (uintptr_t)handle);

	if (!x)
		return FAT_NONE;
	const char *elsewhere = x->clones || x->reason ? NULL : fat_elsewhere(x);
	if (elsewhere)
		return elsewhere;
	if (!x->clones && !x->reason)
		x->reason = fat_make(x, handle);
	if (x->reason)
		return x->reason;
	*clones = x->kind == &image_module ? (struct holder){.module = x->clones} : (struct holder){.library = x->clones};
	return NULL;
}

static int fat_of_library(uint64_t handle, void *library, void *ended) { return (void)handle, library == ended; }

void fat_forget(void *handle, int unload)
{
	if (!handle)
		return;
	map_remove(&of_library, (uintptr_t)handle);
	map_sweep(&of_library, fat_of_library, handle);
	fat_free(map_remove(&fats, (uintptr_t)handle), unload);
}

static int fat_ended(uint64_t handle, void *value, void *context)
{
	struct fat *x = value;

	(void)handle;
	if (x->context != context)
		return 0;
	fat_free(x, 0);
	return 1;
}

void fat_forget_context(CUcontext context)
{
	if (context)
		map_sweep(&fats, fat_ended, context);
}
