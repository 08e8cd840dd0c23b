/* Contexts: the primary one of each device, contexts of the program's own, each thread's stack of current ones, and what
 * is asked of them. A context of the program's own that is destroyed stays as a tombstone: its handle is refused, not
 * misread. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/capture.h"
#include "emu/driver/job.h"
#include "emu/driver/process.h"
#include "emu/driver/queue.h"
#include "emu/driver/range.h"

#define STACK_MAX 32
#define LOCAL_BYTES 256u /* an H100: 1,024, but there ptxas keeps registers in it, too */

static _Thread_local CUcontext stack[STACK_MAX];
static _Thread_local int depth;

static CUcontext context_new(CUdevice device, unsigned flags)
{
	CUcontext c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->device = device;
	c->flags = flags;
	c->id = ++emu.ids;
	c->legacy.context = c;
	c->legacy.id = ++emu.ids;
	c->legacy.tail = &c->legacy.head;
	c->local_bytes = LOCAL_BYTES;
	c->limit[CU_LIMIT_STACK_SIZE] = 1024;
	c->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	c->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	CUcontext *end = &emu.contexts; /* in order of creation: the scheduler's choices count over them */
	while (*end)
		end = &(*end)->next;
	*end = c;
	return c;
}

/* With EMU_STRICT a program that asks for a context that is no more dies of it: real drivers look where it was. */
static int asked_for_gone(const struct CUctx_st *c)
{
	if (!c->primary && emu_env_number("EMU_STRICT", 0)) {
		fprintf(stderr, "emulated device: a call for context %p, which was destroyed\n", (const void *)c);
		abort();
	}
	return 0;
}

int emu_context_known(CUcontext context)
{
	for (CUcontext c = emu.contexts; c; c = c->next)
		if (c == context)
			return !c->destroyed || asked_for_gone(c);
	return 0;
}

CUcontext emu_context_current(void)
{
	CUcontext c = depth ? stack[depth - 1] : NULL;
	return c && !c->destroyed ? c : NULL;
}

CUresult emu_context_primary(CUdevice device, CUcontext *context)
{
	if (device < 0 || device >= emu.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	struct emu_device *d = &emu.device[device];
	if (!d->primary) {
		d->primary = context_new(device, d->primary_flags);
		if (!d->primary)
			return CUDA_ERROR_OUT_OF_MEMORY;
		d->primary->primary = 1;
	}
	d->primary->destroyed = 0; /* after a reset it has the same handle */
	*context = d->primary;
	return CUDA_SUCCESS;
}

/* With it go its streams, unless they are the legacy default one, and its memory, unless it is a pool's. What modules hold goes with their handles. */
static void context_end(CUcontext c)
{
	emu_wait_context(c);
	c->destroyed = 1;
	c->error = CUDA_SUCCESS;
	c->local_bytes = LOCAL_BYTES;
	while (c->streams) {
		emu_capture_destroyed(c->streams);
		emu_stream_free(c->streams);
	}
	emu_range_end(c);
}

/* ---- primary contexts */

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUcontext c;
	CUresult result = context ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = emu_context_primary(device, &c);
	if (!result) {
		c->retained++;
		*context = c;
	}
	return emu_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (device < 0 || device >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	CUcontext c = emu.device[device].primary;
	if (!c || !c->retained)
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (!--c->retained)
		emu_wait_context(c);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (device < 0 || device >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	CUcontext c = emu.device[device].primary;
	if (c && !c->destroyed) {
		context_end(c);
		c->retained = 0;
	}
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (device < 0 || device >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	emu.device[device].primary_flags = flags;
	if (emu.device[device].primary)
		emu.device[device].primary->flags = flags;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	CUresult result = flags && active ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (device < 0 || device >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	*flags = emu.device[device].primary_flags;
	*active = emu.device[device].primary && emu.device[device].primary->retained;
	return emu_leave(CUDA_SUCCESS);
}

/* ---- contexts of the program's own, and the stack */

static CUresult create(CUcontext *context, unsigned flags, CUdevice device)
{
	CUresult result = context ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (device < 0 || device >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	if (depth == STACK_MAX)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	CUcontext c = context_new(device, flags);
	if (!c)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	stack[depth++] = c;
	*context = c;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
	return create(context, flags, device);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count, unsigned flags, CUdevice device)
{
	(void)affinity;
	return count ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(context, flags, device);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned flags, CUdevice device)
{
	return params && params->numExecAffinityParams ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(context, flags, device);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (!emu_context_known(context) || context->primary)
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	context_end(context);
	if (depth && stack[depth - 1] == context)
		depth--;
	return emu_leave(CUDA_SUCCESS);
}

#undef cuCtxDestroy
CUresult CUDAAPI cuCtxDestroy(CUcontext context); /* CUDA 3's */
CUresult CUDAAPI cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (!emu_context_known(context))
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (depth == STACK_MAX)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	stack[depth++] = context;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *context)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (!depth)
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	depth--;
	if (context)
		*context = stack[depth];
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (context && !emu_context_known(context))
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (depth)
		depth--; /* it replaces the top, NULL removes it */
	if (context)
		stack[depth++] = context;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
	CUresult result = context ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*context = emu_context_current();
	return emu_leave(CUDA_SUCCESS);
}

/* ---- questions */

/* NULL is the current context, as the _v2 forms have it. */
static CUresult enter_for(CUcontext asked, CUcontext *context)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	CUcontext c = asked ? asked : emu_context_current();
	if (!c || !emu_context_known(c))
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	*context = c;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
	CUcontext c;
	CUresult result = device ? enter_for(context, &c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*device = c->device;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device) { return cuCtxGetDevice_v2(device, NULL); }

CUresult CUDAAPI cuCtxGetFlags(unsigned *flags)
{
	CUcontext c;
	CUresult result = flags ? enter_for(NULL, &c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*flags = c->flags;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetFlags(unsigned flags)
{
	CUcontext c;
	CUresult result = enter_for(NULL, &c);
	if (result)
		return result;
	c->flags = flags;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long *id)
{
	CUcontext c;
	CUresult result = id ? enter_for(context, &c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*id = c->id;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
	CUcontext c;
	CUresult result = version ? enter_for(context, &c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*version = 3020;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context)
{
	CUcontext c;
	CUresult result = enter_for(context, &c);
	if (result)
		return result;
	result = emu_capture_waits_context(c);
	return emu_leave(result ? result : emu_wait_context(c));
}

CUresult CUDAAPI cuCtxSynchronize(void) { return cuCtxSynchronize_v2(NULL); }

CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
	CUcontext c;
	CUresult result = value ? enter_for(NULL, &c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if ((unsigned)limit >= EMU_LIMITS)
		return emu_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
	*value = c->limit[limit];
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUcontext c;
	CUresult result = enter_for(NULL, &c);
	if (result)
		return result;
	if ((unsigned)limit >= EMU_LIMITS)
		return emu_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
	c->limit[limit] = value;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *config)
{
	CUcontext c;
	CUresult result = config ? enter_for(NULL, &c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
	CUcontext c;
	(void)config; /* a hint */
	CUresult result = enter_for(NULL, &c);
	return result ? result : emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	CUcontext c;
	CUresult result = enter_for(NULL, &c);
	if (result)
		return result;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return emu_leave(CUDA_SUCCESS);
}

static CUresult peer_access(CUcontext peer, int enable)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	if (!emu_context_known(peer))
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	uint32_t bit = 1u << peer->device, *peers = &emu.device[c->device].peers;
	if (peer->device == c->device)
		return emu_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!(*peers & bit) == !enable)
		return emu_leave(enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	*peers ^= bit;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : peer_access(peer, 1);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) { return peer_access(peer, 0); }
