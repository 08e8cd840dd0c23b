/* Streams: handles and their questions, host functions, memory operations. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph/capture.h"
#include "emu/driver/queue.h"
#include "emu/driver/range.h"
#include "emu/driver/skip.h"
#include "emu/driver/trace.h"
#include "emu/driver/work.h"

static CUstream add_stream(CUcontext context, unsigned flags, int priority, uint64_t owner)
{
	CUstream s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	*s = (struct CUstream_st){.context = context, .id = ++emu.ids, .flags = flags, .priority = priority, .owner = owner};
	s->tail = &s->head;
	CUstream *end = &context->streams; /* in order of creation: the scheduler's choices count over them */
	while (*end)
		end = &(*end)->next;
	return *end = s;
}

CUstream emu_stream_new(CUcontext context, unsigned flags) { return add_stream(context, flags, 0, 0); }

void emu_stream_free(CUstream s)
{
	for (CUstream *at = &s->context->streams; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	emu_stream_discard(s);
	emu_point_free(&s->work);
	free(s);
}

static CUstream thread_stream(CUcontext context)
{
	uint64_t self = emu_thread_number();
	for (CUstream s = context->streams; s; s = s->next)
		if (s->owner == self)
			return s;
	return add_stream(context, CU_STREAM_DEFAULT, 0, self);
}

CUresult emu_stream_find(CUcontext context, CUstream handle, CUstream *stream)
{
	int before = emu_default_stream(0);
	emu_default_stream(before);
	if (!handle)
		handle = before ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (handle == CU_STREAM_LEGACY) {
		*stream = &context->legacy;
		return CUDA_SUCCESS;
	}
	if (handle == CU_STREAM_PER_THREAD) {
		*stream = thread_stream(context);
		return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (CUcontext c = emu.contexts; c; c = c->next)
		for (CUstream s = c->streams; s; s = s->next)
			if (s == handle && !c->destroyed) {
				*stream = s;
				return c->error;
			}
	return CUDA_ERROR_INVALID_HANDLE;
}

/* Opens a call that gives a stream work, or waits for it. */
static CUresult use_stream(CUstream handle, CUstream *stream)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	result = emu_stream_use(c, handle, stream);
	return result ? emu_leave(result) : CUDA_SUCCESS;
}

/* Opens a call that asks about a stream. */
static CUresult enter_stream(CUstream handle, CUstream *stream)
{
	CUcontext c;
	CUresult result = emu_enter_context(&c);
	if (result)
		return result;
	result = emu_stream_find(c, handle, stream);
	return result ? emu_leave(result) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	CUcontext c;
	CUresult result = stream && (flags <= CU_STREAM_NON_BLOCKING || emu_skipped_flags(flags)) ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	CUstream s = add_stream(c, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority, 0);
	if (s)
		*stream = s;
	return emu_leave(s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

static int stream_empty(const void *stream) { return !((const struct CUstream_st *)stream)->head; }

/* The real driver lets pending work finish later; here the call waits for it, which a program cannot tell. */
CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle)
{
	CUstream s;
	CUresult result = enter_stream(handle, &s);
	if (result)
		return result;
	if (s == &s->context->legacy || s->owner)
		return emu_leave(CUDA_ERROR_INVALID_HANDLE);
	emu_wait(stream_empty, s);
	emu_capture_destroyed(s);
	emu_stream_free(s);
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuStreamSynchronize, _ptsz, (CUstream handle), (handle))
{
	CUstream s;
	CUresult result = use_stream(handle, &s);
	if (result)
		return result;
	result = emu_capture_waits(s);
	return emu_leave(result ? result : emu_wait_stream(s));
}

/* A query lets the device do one turn, so that a host that polls sees progress. */
EMU_STREAM_API(cuStreamQuery, _ptsz, (CUstream handle), (handle))
{
	CUstream s;
	CUresult result = use_stream(handle, &s);
	if (result)
		return result;
	result = emu_capture_waits(s);
	if (result)
		return emu_leave(result);
	if (!emu_stream_idle(s))
		emu_poll();
	if (s->context->error)
		return emu_leave(s->context->error);
	const int idle = emu_stream_idle(s);
	if (idle) {
		emu_learn();
		emu_trace_told_stream(s);
	}
	return emu_leave(idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

/* ---- questions */

EMU_STREAM_API(cuStreamGetFlags, _ptsz, (CUstream handle, unsigned *flags), (handle, flags))
{
	CUstream s;
	CUresult result = flags ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*flags = s->flags;
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuStreamGetPriority, _ptsz, (CUstream handle, int *priority), (handle, priority))
{
	CUstream s;
	CUresult result = priority ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*priority = s->priority;
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuStreamGetId, _ptsz, (CUstream handle, unsigned long long *id), (handle, id))
{
	CUstream s;
	CUresult result = id ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*id = s->id;
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuStreamGetCtx, _ptsz, (CUstream handle, CUcontext *context), (handle, context))
{
	CUstream s;
	CUresult result = context ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*context = s->context;
	return emu_leave(CUDA_SUCCESS);
}

EMU_STREAM_API(cuStreamGetCtx_v2, _ptsz, (CUstream handle, CUcontext *context, CUgreenCtx *green), (handle, context, green))
{
	CUresult result = cuStreamGetCtx_body(handle, context);
	if (!result && green)
		*green = NULL;
	return result;
}

EMU_STREAM_API(cuStreamGetDevice, _ptsz, (CUstream handle, CUdevice *device), (handle, device))
{
	CUstream s;
	CUresult result = device ? enter_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*device = s->context->device;
	return emu_leave(CUDA_SUCCESS);
}

/* ---- host functions: without the lock, as they may block on the program's own locks */

struct host_op {
	struct emu_op op;
	CUhostFn function;
	CUstreamCallback callback; /* instead of function */
	void *data;
	CUstream handle;
};

static int run_host(struct emu_op *op, struct emu_turn *turn)
{
	struct host_op *h = (struct host_op *)op;
	(void)turn;
	pthread_mutex_unlock(&emu.lock);
	if (h->function)
		h->function(h->data);
	else
		h->callback(h->handle, CUDA_SUCCESS, h->data);
	emu_sched_stir(); /* it may have woken anybody */
	pthread_mutex_lock(&emu.lock);
	return 1;
}

static CUresult push_host(CUstream s, const struct host_op *what)
{
	struct host_op *h = emu_op_new(sizeof *h, run_host);
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->function = what->function;
	h->callback = what->callback;
	h->data = what->data;
	h->handle = what->handle;
	emu_op_push(s, &h->op);
	return CUDA_SUCCESS;
}

CUresult emu_host_push(CUstream s, CUhostFn function, void *data)
{
	return push_host(s, &(struct host_op){.function = function, .data = data});
}

EMU_STREAM_API(cuLaunchHostFunc, _ptsz, (CUstream handle, CUhostFn function, void *data), (handle, function, data))
{
	CUstream s;
	CUresult result = function ? use_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.fn = function, .userData = data}};
	return emu_leave(s->captured ? emu_capture_add(s, &node) : emu_host_push(s, function, data));
}

EMU_STREAM_API(cuStreamAddCallback, _ptsz, (CUstream handle, CUstreamCallback callback, void *data, unsigned flags),
	       (handle, callback, data, flags))
{
	CUstream s;
	CUresult result = callback && !flags ? use_stream(handle, &s) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	return emu_leave(s->captured ? emu_capture_refuse(s)
				     : push_host(s, &(struct host_op){.callback = callback, .data = data, .handle = handle}));
}

/* ---- memory operations: a wait is tried once a turn */

struct value_op { struct emu_op op; uint64_t at, value; unsigned bytes, condition; };
struct value_form { unsigned bytes; int wait; };

/* No bytes: it is another operation. */
static struct value_form form_of(CUstreamBatchMemOpType operation)
{
	static const struct value_form forms[] = {[CU_STREAM_MEM_OP_WAIT_VALUE_32] = {4, 1}, [CU_STREAM_MEM_OP_WAIT_VALUE_64] = {8, 1},
						  [CU_STREAM_MEM_OP_WRITE_VALUE_32] = {4, 0}, [CU_STREAM_MEM_OP_WRITE_VALUE_64] = {8, 0}};
	return (unsigned)operation < sizeof forms / sizeof *forms ? forms[operation] : (struct value_form){0, 0};
}

static int run_write(struct emu_op *op, struct emu_turn *turn)
{
	const struct value_op *v = (const struct value_op *)op;
	(void)turn;
	if (v->bytes == 4)
		__atomic_store_n((uint32_t *)(uintptr_t)v->at, (uint32_t)v->value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint64_t *)(uintptr_t)v->at, v->value, __ATOMIC_SEQ_CST);
	return 1;
}

static int run_wait(struct emu_op *op, struct emu_turn *turn)
{
	const struct value_op *v = (const struct value_op *)op;
	(void)turn;
	uint64_t mask = v->bytes == 4 ? UINT32_MAX : UINT64_MAX;
	uint64_t seen = v->bytes == 4 ? __atomic_load_n((const uint32_t *)(uintptr_t)v->at, __ATOMIC_SEQ_CST)
				      : __atomic_load_n((const uint64_t *)(uintptr_t)v->at, __ATOMIC_SEQ_CST);
	switch (v->condition) {
	case CU_STREAM_WAIT_VALUE_EQ: return seen == v->value;
	case CU_STREAM_WAIT_VALUE_AND: return (seen & v->value) != 0;
	case CU_STREAM_WAIT_VALUE_NOR: return (~(seen | v->value) & mask) != 0;
	default: /* cyclic: the difference is not negative */
		return v->bytes == 4 ? (int32_t)(seen - v->value) >= 0 : (int64_t)(seen - v->value) >= 0;
	}
}

static CUresult push_value(CUstream s, const CUstreamBatchMemOpParams *p)
{
	const struct value_form f = form_of(p->operation);
	if (!f.bytes)
		return CUDA_SUCCESS; /* a barrier */
	struct value_op *v = emu_op_new(sizeof *v, f.wait ? run_wait : run_write);
	if (!v)
		return CUDA_ERROR_OUT_OF_MEMORY;
	v->at = p->waitValue.address; /* both structs begin alike: operation, address, value, flags */
	v->value = f.bytes == 8 ? p->waitValue.value64 : p->waitValue.value;
	v->bytes = f.bytes;
	v->condition = p->waitValue.flags & 3;
	v->op.traced = emu_trace_range(s, &(struct emu_trace_range){f.wait ? 0 : v->at, f.wait ? v->at : 0, f.bytes});
	v->op.traces = v->op.traced != 0;
	emu_op_push(s, &v->op);
	return CUDA_SUCCESS;
}

CUresult emu_values_check(unsigned count, const CUstreamBatchMemOpParams *op)
{
	for (unsigned i = 0; i < count; i++) {
		const struct value_form f = form_of(op[i].operation);
		if (!f.bytes && op[i].operation != CU_STREAM_MEM_OP_BARRIER)
			return CUDA_ERROR_NOT_SUPPORTED;
		if (f.bytes && (op[i].waitValue.address % f.bytes || !emu_range_covers(op[i].waitValue.address, f.bytes)))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult emu_values_push(CUstream s, unsigned count, const CUstreamBatchMemOpParams *op)
{
	CUresult result = CUDA_SUCCESS;
	for (unsigned i = 0; i < count && !result; i++)
		result = push_value(s, &op[i]);
	return result;
}

static CUresult values(CUstream handle, unsigned count, CUstreamBatchMemOpParams *op)
{
	CUstream s;
	CUresult result = use_stream(handle, &s);
	if (result)
		return result;
	const CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = {s->context, count, op, 0}};
	if (s->captured)
		return emu_leave(emu_capture_add(s, &node));
	result = emu_values_check(count, op);
	return emu_leave(result ? result : emu_values_push(s, count, op));
}

#define VALUE_API(name, bits, what) \
	EMU_STREAM_API(cuStream##name##Value##bits##_v2, _ptsz, \
		       (CUstream handle, CUdeviceptr at, cuuint##bits##_t value, unsigned flags), (handle, at, value, flags)) \
	{ \
		return values(handle, 1, &(CUstreamBatchMemOpParams){.waitValue = {.operation = what, .address = at, .value64 = value, \
										   .flags = flags}}); \
	}

VALUE_API(Wait, 32, CU_STREAM_MEM_OP_WAIT_VALUE_32)
VALUE_API(Wait, 64, CU_STREAM_MEM_OP_WAIT_VALUE_64)
VALUE_API(Write, 32, CU_STREAM_MEM_OP_WRITE_VALUE_32)
VALUE_API(Write, 64, CU_STREAM_MEM_OP_WRITE_VALUE_64)

EMU_STREAM_API(cuStreamBatchMemOp_v2, _ptsz,
	       (CUstream handle, unsigned count, CUstreamBatchMemOpParams *op, unsigned flags), (handle, count, op, flags))
{
	return op && !flags ? values(handle, count, op) : CUDA_ERROR_INVALID_VALUE;
}
