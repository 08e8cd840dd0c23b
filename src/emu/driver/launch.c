#include "emu/driver/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/random.h"
#include "emu/driver/graph/capture.h"
#include "emu/driver/queue.h"
#include "emu/driver/range.h"
#include "emu/driver/sched.h"
#include "emu/driver/skip.h"
#include "emu/driver/stats.h"
#include "emu/driver/trace.h"
#include "emu/driver/work.h"

struct kernel_op {
	struct emu_op op;
	struct emu_grid *grid;
	uint64_t steps;
	struct emu_stats_launch stats; /* while such are counted */
	const char *name;
};

static void drop_kernel(struct emu_op *op) { emu_grid_free(((struct kernel_op *)op)->grid); }

static CUresult fault_of(const struct emu_error *error)
{
	static const CUresult results[] = {[EMU_FAILED] = CUDA_ERROR_LAUNCH_FAILED,
					   [EMU_ILLEGAL_ADDRESS] = CUDA_ERROR_ILLEGAL_ADDRESS,
					   [EMU_ILLEGAL_INSTRUCTION] = CUDA_ERROR_ILLEGAL_INSTRUCTION,
					   [EMU_ASSERTED] = CUDA_ERROR_ASSERT};
	return results[error->fault];
}

static uint64_t kernel_priority(const struct emu_op *op)
{
	return emu_grid_priority(((const struct kernel_op *)op)->grid, emu_op_priority(op));
}

static enum emu_state run_steps(struct kernel_op *k, struct emu_turn *turn, struct emu_error *error)
{
	struct emu_steps s = {.steps = turn->steps, .random = turn->random, .stay = (uint32_t)(turn->random >> 32) % 8,
			      .lag = turn->schedule == EMU_LAG, .start = turn->start, .floor = turn->floor};
	if (turn->schedule == EMU_PCT)
		s.seed = emu_op_priority(&k->op);
	memcpy(s.change, turn->change, sizeof s.change);
	enum emu_state state = emu_grid_step(k->grid, &s, error);
	turn->made = s.made;
	return state;
}

static int run_kernel(struct emu_op *op, struct emu_turn *turn)
{
	struct kernel_op *k = (struct kernel_op *)op;
	struct emu_error error = {.text = ""};
	const uint32_t steps = turn->own ? 0 : turn->steps; /* that count */
	enum emu_state state = turn->schedule == EMU_RANDOM || turn->own ? emu_grid_run(k->grid, turn->steps, &turn->random, &error)
									 : run_steps(k, turn, &error);
	k->steps += steps;
	emu.clock_ns += steps;
	if (state == EMU_RUNNING && emu.step_limit && k->steps > emu.step_limit) {
		snprintf(error.text, sizeof error.text, "kernel %s ran %" PRIu64 " steps, more than EMU_STEP_LIMIT", k->name,
			 k->steps);
		log_error("emulated device: %s", error.text);
		state = EMU_FAULT;
		emu_op_fail(op, CUDA_ERROR_LAUNCH_TIMEOUT);
	} else if (state == EMU_FAULT) {
		log_error("emulated device: %s", error.text);
		emu_op_fail(op, fault_of(&error));
	}
	if (state != EMU_RUNNING) {
		k->stats.completed = state == EMU_DONE;
		emu_stats_ended(op->stream, &k->stats, emu_grid_counts(k->grid));
	}
	return state != EMU_RUNNING;
}

/* ---- parameters */

/* The two ways of cuLaunchKernel: an array of pointers, or one buffer named in `extra`. */
CUresult emu_kernel_pack(const struct CUfunc_st *f, void **params, void **extra, char *to)
{
	const void *buffer = NULL;
	size_t size = 0;
	memset(to, 0, f->info.param_bytes);
	if (params || !f->info.params) {
		for (uint32_t i = 0; i < f->info.params; i++) {
			uint32_t offset, bytes;
			if (!params[i] || emu_kernel_param(f->kernel, i, &offset, &bytes))
				return CUDA_ERROR_INVALID_VALUE;
			memcpy(to + offset, params[i], bytes);
		}
		return CUDA_SUCCESS;
	}
	for (int i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(size_t *)extra[i + 1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!buffer || !size)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(to, buffer, size < f->info.param_bytes ? size : f->info.param_bytes);
	return CUDA_SUCCESS;
}

/* ---- the launch */

struct attributes { unsigned cluster[3]; int cooperative; };

/* Those that only hint at placement, priority or overlap are honoured by doing nothing: a dependent launch that may
 * start early starts late. */
static struct attributes read_attributes(const CUlaunchConfig *config)
{
	struct attributes a = {{1, 1, 1}, 0};
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *at = &config->attrs[i];
		if (at->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			a.cooperative = at->value.cooperative;
		if (at->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && at->value.clusterDim.x)
			memcpy(a.cluster, (unsigned[3]){at->value.clusterDim.x, at->value.clusterDim.y, at->value.clusterDim.z},
			       sizeof a.cluster);
	}
	return a;
}

static CUresult check_shape(const struct CUfunc_st *f, const struct emu_launch *l)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	if (!threads || !blocks || l->grid[1] > 65535 || l->grid[2] > 65535 || l->block[2] > 64)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > f->info.max_threads || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->dynamic_shared > f->dynamic_shared_max)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < 3; i++)
		if (!l->cluster[i] || l->grid[i] % l->cluster[i])
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return CUDA_SUCCESS;
}

static uint64_t digest(const struct emu_kernel *kernel, const struct emu_launch *l)
{
	uint64_t d = emu_kernel_digest(kernel);
	for (int i = 0; i < 3; i++)
		d = hash_then(d, (uint64_t)l->grid[i] << 32 ^ l->block[i]);
	return d;
}

/* A grid that is yet to run, or why there is none: an error that stays is the context's from then on. */
static CUresult grid_new(CUcontext c, CUfunction f, const struct emu_launch *launch, struct emu_grid **grid)
{
	struct emu_error error = {.text = ""};
	const int rc = emu_grid_new(f->kernel, launch, grid, &error);
	if (!rc)
		return CUDA_SUCCESS;
	/* Once of a kernel; and of a checked copy not, for its original is tried next. */
	if (rc != -ENOTSUP || launch->trace || (!f->refused++ && !emu_copied(emu_kernel_name(f->kernel))))
		log_error("emulated device: %s", error.text);
	if (rc == -ENOTSUP && launch->trace) /* a launch that is missing from the trace, or from the schedules */
		c->error = CUDA_ERROR_INVALID_PTX;
	if (c->error)
		return c->error;
	return rc == -ENOTSUP ? emu_not_supported(error.text) : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

static CUresult enqueue(CUstream s, CUfunction f, const struct emu_launch *launch)
{
	struct kernel_op *k = emu_op_new(sizeof *k, run_kernel);
	CUresult result = k ? grid_new(s->context, f, launch, &k->grid) : CUDA_ERROR_OUT_OF_MEMORY;
	if (result) {
		free(k);
		return result;
	}
	k->name = emu_kernel_name(f->kernel);
	if (launch->stats)
		k->stats = (struct emu_stats_launch){emu_stats_number(), k->name, {launch->grid[0], launch->grid[1], launch->grid[2]},
						     launch->block[0] * launch->block[1] * launch->block[2], 0};
	k->op.traced = launch->trace ? emu_trace_kernel(s, k->name, launch) : 0;
	k->op.traces = k->op.traced != 0;
	emu_grid_number(k->grid, k->op.traced);
	k->op.drop = drop_kernel;
	k->op.priority = kernel_priority;
	k->op.own = emu_skipped_kernel(k->name);
	k->op.counts = !k->op.own;
	if (!k->op.own)
		emu_sched_queued(digest(f->kernel, launch));
	emu_op_push(s, &k->op);
	return CUDA_SUCCESS;
}

/* What a launch says, checked; its parameters are copied, and the caller's to free. */
static CUresult prepare(const struct emu_kernel_work *w, CUfunction f, struct emu_launch *l, char **params)
{
	const CUlaunchConfig *config = w->config;
	struct attributes a = read_attributes(config);
	unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
	unsigned resident = emu_function_blocks_per_sm(f, threads, config->sharedMemBytes) * (unsigned)emu.sms;
	*l = (struct emu_launch){.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
				 .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
				 .cluster = {a.cluster[0], a.cluster[1], a.cluster[2]},
				 .dynamic_shared = config->sharedMemBytes, .sms = (uint32_t)emu.sms, .resident = resident, .known = emu_range_covers};
	if (!emu_skipped_kernel(emu_kernel_name(f->kernel))) {
		l->trace = emu_trace_device();
		l->stats = emu_stats_device();
	}
	CUresult result = check_shape(f, l);
	if (!result && !resident)
		result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (!result && a.cooperative && (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] > resident)
		result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	char *buffer = result ? NULL : malloc(f->info.param_bytes + 1);
	if (!result)
		result = buffer ? emu_kernel_pack(f, w->params, w->extra, buffer) : CUDA_ERROR_OUT_OF_MEMORY;
	if (result) {
		free(buffer);
		return result;
	}
	l->params = *params = buffer;
	return CUDA_SUCCESS;
}

CUresult emu_kernel_check(CUcontext c, const struct emu_kernel_work *w)
{
	CUfunction f = emu_function_known(w->function);
	struct emu_launch l;
	struct emu_grid *grid;
	char *params = NULL;
	CUresult result = f ? prepare(w, f, &l, &params) : CUDA_ERROR_INVALID_HANDLE;
	if (!result)
		result = grid_new(c, f, &l, &grid);
	if (!result)
		emu_grid_free(grid);
	free(params);
	return result;
}

CUresult emu_kernel_push(CUstream s, const struct emu_kernel_work *w)
{
	CUfunction f = emu_function_known(w->function);
	struct emu_launch l;
	char *params = NULL;
	CUresult result = f ? prepare(w, f, &l, &params) : CUDA_ERROR_INVALID_HANDLE;
	if (!result) {
		l.weak = emu_sched_weak();
		result = enqueue(s, f, &l);
	}
	free(params);
	return result;
}

static CUresult capture(CUstream s, const struct emu_kernel_work *w)
{
	const CUlaunchConfig *c = w->config;
	const CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_KERNEL,
					.kernel = {w->function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY,
						   c->blockDimZ, c->sharedMemBytes, w->params, w->params ? NULL : w->extra, NULL, s->context}};
	return emu_capture_kernel(s, &node, c->attrs, c->numAttrs);
}

/* The first kernel that needs more local memory than the context has waits for all that runs there, and before its own launch: as a GPU's driver does. */
static CUresult make_local(CUcontext c, uint32_t bytes)
{
	CUresult result = CUDA_SUCCESS;
	if (bytes > c->local_bytes) {
		result = emu_wait_context(c);
		c->local_bytes = bytes > c->local_bytes ? bytes : c->local_bytes;
	}
	return result;
}

/* Events that a launch fires at its triggers, or when all of it has begun: here at its end. */
static CUresult record_events(CUstream s, const CUlaunchConfig *config)
{
	CUresult result = CUDA_SUCCESS;
	for (unsigned i = 0; i < config->numAttrs && !result; i++) {
		const CUlaunchAttribute *at = &config->attrs[i];
		if (at->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT && at->value.programmaticEvent.event)
			result = emu_event_record_push(s, at->value.programmaticEvent.event);
		if (at->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT && at->value.launchCompletionEvent.event)
			result = emu_event_record_push(s, at->value.launchCompletionEvent.event);
	}
	return result;
}

static CUresult launch(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	CUcontext c;
	CUstream s;
	CUresult result = config ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_kernel_work w = {f, config, params, extra};
	result = emu_function_known(f) ? emu_stream_use(c, config->hStream, &s) : CUDA_ERROR_INVALID_HANDLE;
	if (result)
		return emu_leave(result);
	if (s->captured)
		return emu_leave(capture(s, &w));
	result = make_local(c, f->info.local_bytes);
	if (!result)
		result = emu_wait_room(s);
	if (!result)
		result = emu_kernel_push(s, &w);
	return emu_leave(result ? result : record_events(s, config));
}

EMU_STREAM_API(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),
	       (config, f, params, extra))
{
	return launch(config, f, params, extra);
}

EMU_STREAM_API(cuLaunchKernel, _ptsz,
	       (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		CUstream stream, void **params, void **extra),
	       (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra))
{
	CUlaunchConfig config = {.gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by,
				 .blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream};
	return launch(&config, f, params, extra);
}

EMU_STREAM_API(cuLaunchCooperativeKernel, _ptsz,
	       (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		CUstream stream, void **params),
	       (f, gx, gy, gz, bx, by, bz, shared, stream, params))
{
	CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	CUlaunchConfig config = {.gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by,
				 .blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream, .attrs = &cooperative,
				 .numAttrs = 1};
	return launch(&config, f, params, NULL);
}
