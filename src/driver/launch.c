/* Launches. All forms become one struct launch; where the kernel has a clone that fits, the clone is launched in its
 * place with one parameter more, the launch record. In every other case the program's call is made as it was. */
#include <stdlib.h>
#include <string.h>

#include "cuda/hooks.h"
#include "cuda/real.h"
#include "driver/annotate.h"
#include "driver/event.h"
#include "driver/launch.h"
#include "vmm/vmm.h"

/* ---- the forms ----------------------------------------------------------------------------------------------- */

static CUresult launch_call_kernel(const struct launch *l, CUfunction f, void **params, void **extra)
{
	return real.cuLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared,
			l->stream, params, extra);
}

static CUresult launch_call_cooperative(const struct launch *l, CUfunction f, void **params, void **extra)
{
	(void)extra; /* this form has none */
	return real.cuLaunchCooperativeKernel(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
			l->shared, l->stream, params);
}

static CUresult launch_call_ex(const struct launch *l, CUfunction f, void **params, void **extra)
{
	return real.cuLaunchKernelEx(l->config, f, params, extra);
}

static CUresult launch_call_one(const struct launch *l, CUfunction f, void **params, void **extra)
{
	(void)l, (void)params, (void)extra;
	return real.cuLaunch(f);
}

static CUresult launch_call_grid(const struct launch *l, CUfunction f, void **params, void **extra)
{
	(void)params, (void)extra;
	return real.cuLaunchGrid(f, (int)l->grid[0], (int)l->grid[1]);
}

static CUresult launch_call_grid_async(const struct launch *l, CUfunction f, void **params, void **extra)
{
	(void)params, (void)extra;
	return real.cuLaunchGridAsync(f, (int)l->grid[0], (int)l->grid[1], l->stream);
}

/* ---- unchecked ----------------------------------------------------------------------------------------------- */

/* To say it takes longer than to launch, even if it was said. */
void launch_say(struct flow *f, struct function *fn, const char *reason)
{
	int left_out = fn && fn->left_out;

	if (!fn || atomic_load_explicit(&fn->noted, memory_order_relaxed) != reason)
		flow_note(f, left_out ? "left-out" : "unchecked", fn ? fn->name : "(unknown kernel)", left_out ? fn->reason : reason);
	if (fn)
		atomic_store_explicit(&fn->noted, reason, memory_order_relaxed);
}

void launch_count(struct flow *f, int left_out)
{
	atomic_fetch_add_explicit(left_out ? &f->rank->launches_left_out : &f->rank->launches_unchecked, 1, memory_order_relaxed);
}

/* What the emulated device does not execute: its error's text names instruction and line. */
static void launch_not_run(struct flow *f, const struct function *fn)
{
	const char *text = NULL;

	if (!real.cuGetErrorString || real.cuGetErrorString(CUDA_ERROR_NOT_SUPPORTED, &text) != CUDA_SUCCESS || !text)
		text = "the driver does not support it";
	flow_note(f, "unchecked", fn ? fn->name : "(unknown kernel)", text);
}

void launch_opens(struct flow *f, enum model model, uint32_t slot, uint32_t seq)
{
	if (model == MODEL_LOCAL)
		return;
	flow_event(f, model == MODEL_BARRIER ? JOB_EVENT_BARRIER : JOB_EVENT_OPAQUE, slot, seq);
	flow_writes(f, slot, seq);
}

void launch_opens_not(struct flow *f, enum model model, uint32_t seq)
{
	if (model != MODEL_LOCAL)
		flow_event_take_back(f, seq);
}

/* A kernel that runs plain still has its place in the order; unless its model says that it is local, the supervisor must
 * know of it before any finding that it could explain, which is before the call: the kernel may run at once. */
static CUresult launch_plain(struct flow *f, struct function *fn, const struct launch *l, const char *reason)
{
	enum model model = fn ? fn->model : MODEL_NONE;
	uint32_t slot = flow_slot(f, l->stream), seq;

	flow_number(f, slot, CLOCK_PLAIN, &seq);
	launch_opens(f, model, slot, seq);
	CUresult rc = l->call(l, l->f, l->params, l->extra);
	if (flow_refusal(rc)) {
		flow_refused(f, slot, seq);
		launch_opens_not(f, model, seq);
	}
	flow_enqueued(f, slot);
	if (rc == CUDA_SUCCESS) {
		launch_say(f, fn, reason);
		launch_count(f, fn && fn->left_out);
	} else if (rc == CUDA_ERROR_NOT_SUPPORTED) {
		launch_not_run(f, fn);
	}
	return rc;
}

struct flow *launch_elsewhere_begin(void)
{
	struct flow *f = flow_elsewhere();

	if (f)
		flow_elsewhere_runs(f);
	return f;
}

CUresult launch_elsewhere_end(struct flow *f, CUresult rc)
{
	if (f)
		flow_elsewhere_ran(f, flow_refusal(rc));
	if (f && rc == CUDA_SUCCESS) {
		atomic_fetch_add_explicit(&f->rank->launches_unchecked, 1, memory_order_relaxed);
		flow_note(f, "unchecked", "(kernels on another GPU)", "this GPU of the process could not be taken in");
	}
	return rc;
}

static CUresult launch_elsewhere(const struct launch *l)
{
	struct flow *f = launch_elsewhere_begin();

	return launch_elsewhere_end(f, l->call(l, l->f, l->params, l->extra));
}

/* ---- checked ------------------------------------------------------------------------------------------------- */

static const CUlaunchAttribute *launch_attribute(const struct launch *l, CUlaunchAttributeID id)
{
	for (unsigned i = 0; l->config && l->config->attrs && i < l->config->numAttrs; i++)
		if (l->config->attrs[i].id == id)
			return &l->config->attrs[i];
	return NULL;
}

/* barrier.cluster and mbarriers order the CTAs of a cluster, and are not modelled. */
static int launch_in_clusters(const struct launch *l, const struct function *fn)
{
	const CUlaunchAttribute *a = launch_attribute(l, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
	return a ? a->value.clusterDim.x > 1 || a->value.clusterDim.y > 1 || a->value.clusterDim.z > 1 : fn->clusters;
}

static int launch_is_cooperative(const struct launch *l)
{
	const CUlaunchAttribute *a = launch_attribute(l, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
	return l->cooperative || (a && a->value.cooperative);
}

const char *launch_refuse(struct function *fn, const struct launch *l)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	if (!fn)
		return flow_captures() ? "first launched while a stream was being captured" : "the driver does not tell its name";
	if (!fn->clone)
		return fn->reason;
	if (l->set)
		return "its parameters were set by calls of CUDA 3";
	if (launch_in_clusters(l, fn))
		return "it runs in clusters, whose barriers are not modelled";
	if (l->extra ? l->params != NULL : !l->params && fn->params)
		return "launched without parameters, or with two sets";
	if (threads > 1024 || !function_fits(fn, l->f, (uint32_t)threads, l->shared))
		return "its clone would have fewer CTAs per SM";
	return NULL;
}

static uint8_t launch_warp_bits(const struct launch *l)
{
	uint8_t bits = 0;

	while ((uint64_t)l->block[0] * l->block[1] * l->block[2] > 32ull << bits)
		bits++;
	return bits;
}

struct launch_shape launch_shape(const struct flow *f, const struct function *fn, const struct launch *l)
{
	return (struct launch_shape){.kernel = fn->kernel, .warp_bits = f->warps && fn->warps ? launch_warp_bits(l) : 0, .unseen = fn->unseen,
			.cooperative = fn->grids && launch_is_cooperative(l)};
}

struct gsan_launch *launch_record(struct flow *f, const struct launch_shape *shape, uint32_t slot, uint32_t seq)
{
	struct participant *p = f->participant;
	struct gsan_launch *r = flow_record(f, slot, seq, shape->kernel);

	r->warp_bits = shape->warp_bits;
	r->writers = shape->unseen ? 0 : vmm_writers(p);
	r->workspace = shape->cooperative && slot != CLOCK_SHARED ? vmm_workspace(p, slot) : 0;
	return r;
}

/* Asked for by programmatic dependent launch, it may begin before the one before it has ended: the record has what is before it until it waits
 * for that, if it does. Of what an unchecked instruction of that one writes nothing is known then. */
static int launch_early(struct flow *f, const struct function *fn, const struct launch *l, struct gsan_launch *record, uint32_t slot, uint32_t seq)
{
	const CUlaunchAttribute *a = launch_attribute(l, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);

	if (!a || !a->value.programmaticStreamSerializationAllowed)
		return 0;
	record[1] = record[0];
	if (!clock_early(&f->clock, slot, seq, &record->order))
		return 0;
	record->order.flags |= fn->waits ? GSAN_ORDER_WAITS : 0;
	record->quick = gsan_quick(record);
	record->writers = 0;
	return 1;
}

#define LAUNCH_FEW 2048u /* bytes of parameters for which nothing is allocated */
/* `extra` is a list of names and values: the buffer of parameters grows by the record. */
static CUresult launch_extra(const struct launch *l, const struct function *fn, const struct gsan_launch *record)
{
	const void *from = NULL;
	size_t size = 0;

	for (void **e = l->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			from = e[1];
		else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(const size_t *)e[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	size_t bytes = sizeof(*record) << fn->waits, total = fn->record + bytes;
	char few[LAUNCH_FEW], *buffer = total <= sizeof(few) ? few : malloc(total);
	if (!buffer)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memset(buffer, 0, fn->record);
	if (from)
		memcpy(buffer, from, size < fn->record ? size : fn->record);
	memcpy(buffer + fn->record, record, bytes);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &total, CU_LAUNCH_PARAM_END};
	CUresult rc = l->call(l, fn->clone, NULL, extra);
	if (buffer != few)
		free(buffer);
	return rc;
}

static CUresult launch_params(const struct launch *l, const struct function *fn, struct gsan_launch *record)
{
	void *params[FUNCTION_PARAMS_MAX + 1];

	if (fn->params)
		memcpy(params, l->params, fn->params * sizeof(*params));
	params[fn->params] = record;
	return l->call(l, fn->clone, params, NULL);
}

CUresult launch_clone(const struct launch *l, const struct function *fn, struct gsan_launch *record)
{
	return l->extra ? launch_extra(l, fn, record) : launch_params(l, fn, record);
}

static CUresult launch_run(const struct launch *l)
{
	struct flow *f = flow_launching();
	struct function *fn = f ? function_known(f, l->f) : NULL;

	if (f && !fn)
		f = flow_current();
	if (!f)
		return launch_elsewhere(l);
	if (flow_capturing(l->stream))
		return l->call(l, l->f, l->params, l->extra); /* not executed now: graph.h */
	uint32_t slot = flow_slot(f, l->stream), seq;
	if (slot == FLOW_ELSEWHERE) {
		f = flow_of_stream(l->stream, &slot);
		if (!f)
			return launch_elsewhere(l);
		fn = function_known(f, l->f);
	}
	if (!fn)
		fn = function_find(f, l->f);
	const char *reason = annotate_ignores() ? "the program asked not to check it (gsan_ignore)" : launch_refuse(fn, l);
	if (reason)
		return launch_plain(f, fn, l, reason);
	if (flow_number(f, slot, CLOCK_CHECKED, &seq))
		return launch_plain(f, fn, l, FLOW_NO_TAG);
	struct launch_shape shape = launch_shape(f, fn, l);
	if (fn->unseen)
		flow_writes(f, slot, seq);
	struct gsan_launch *record = launch_record(f, &shape, slot, seq);
	int early = launch_early(f, fn, l, record, slot, seq);
	CUresult rc = launch_clone(l, fn, record);
	if (flow_refusal(rc))
		flow_refused(f, slot, seq);
	else
		flow_mark(f, slot, l->stream, seq);
	if (fn->triggers) /* of one that was refused it says nothing */
		clock_triggers(&f->clock, slot, seq, early && fn->triggers_at_once);
	flow_enqueued(f, slot);
	if (rc != CUDA_SUCCESS && !flow_current()) /* the thread has no context */
		return rc;
	if (rc != CUDA_SUCCESS) /* what the plain call answers is what the program must see */
		return launch_plain(f, fn, l, "the driver refused its clone");
	atomic_fetch_add_explicit(&f->rank->launches_checked, 1, memory_order_relaxed);
	return rc;
}

/* ---- hooks --------------------------------------------------------------------------------------------------- */

CUresult hook_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, CUstream stream, void **params, void **extra)
{
	struct launch l = {.f = f, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .stream = stream,
			.params = params, .extra = extra, .call = launch_call_kernel};

	return launch_run(&l);
}

CUresult hook_cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		unsigned bz, unsigned shared, CUstream stream, void **params)
{
	struct launch l = {.f = f, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .stream = stream,
			.params = params, .cooperative = 1, .call = launch_call_cooperative};

	return launch_run(&l);
}

CUresult hook_cuLaunch(CUfunction f)
{
	struct launch l = {.f = f, .set = 1, .call = launch_call_one};

	return launch_run(&l);
}

CUresult hook_cuLaunchGrid(CUfunction f, int width, int height)
{
	struct launch l = {.f = f, .grid = {(uint32_t)width, (uint32_t)height, 1}, .set = 1, .call = launch_call_grid};

	return launch_run(&l);
}

CUresult hook_cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
	struct launch l = {.f = f, .grid = {(uint32_t)width, (uint32_t)height, 1}, .stream = stream, .set = 1,
			.call = launch_call_grid_async};

	return launch_run(&l);
}

/* The event that an attribute has recorded, before the kernel is done; or NULL. */
static CUevent launch_event(const CUlaunchAttribute *a)
{
	return a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ? a->value.programmaticEvent.event :
	       a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ? a->value.launchCompletionEvent.event : NULL;
}

CUresult hook_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	if (!config)
		return real.cuLaunchKernelEx(config, f, params, extra);
	unsigned attributes = config->attrs ? config->numAttrs : 0;
	CUevent event;
	struct launch l = {.f = f, .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
			.block = {config->blockDimX, config->blockDimY, config->blockDimZ}, .shared = config->sharedMemBytes,
			.stream = config->hStream, .params = params, .extra = extra, .config = config, .call = launch_call_ex};

	for (unsigned i = 0; i < attributes; i++)
		if ((event = launch_event(&config->attrs[i])))
			event_begin(event);
	CUresult rc = launch_run(&l);
	for (unsigned i = 0; i < attributes; i++)
		if ((event = launch_event(&config->attrs[i])))
			event_unknown(event, rc);
	return rc;
}

CUresult hook_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	if (!config || config->hStream)
		return hook_cuLaunchKernelEx(config, f, params, extra);
	CUlaunchConfig own = *config;
	own.hStream = CU_STREAM_PER_THREAD;
	return hook_cuLaunchKernelEx(&own, f, params, extra);
}
