/* Copies and sets. All are boxes of rows: plain ones have one row. A copy whose other side is pageable host memory
 * follows the driver's rule: its source is taken at the call, its destination is filled before the call returns. A
 * blocking call on an idle stream acts at once; otherwise it queues, and waits. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "emu/driver/graph/capture.h"
#include "emu/driver/queue.h"
#include "emu/driver/range.h"
#include "emu/driver/skip.h"
#include "emu/driver/trace.h"
#include "emu/driver/work.h"

enum side { HOST, DEVICE, ANY };
struct box { uint64_t at, pitch, slice; };
struct copy_op {
	struct emu_op op;
	struct box to, from;
	enum side to_side, from_side;
	uint64_t width, height, depth;
	unsigned value, unit;          /* a set: element and its bytes; 0 = a copy */
	void *snapshot;                /* of a pageable source */
	int known[2];                  /* `to` and `from` were the device's when it was enqueued */
	int peer;                      /* its contexts were named: it may reach what the current one may not access */
};

/* Zeros into much memory give its pages back: tables that start as zeros cost what of them is used. */
static void copy_row(uint64_t to, uint64_t from, uint64_t size)
{
	const char *source = (const char *)(uintptr_t)from;
	if (size >= EMU_RANGE_MUCH && !*source && !memcmp(source, source + 1, size - 1) && emu_range_clear(to, size))
		return;
	memmove((void *)(uintptr_t)to, source, size);
}

static void copy_rows(const struct copy_op *c)
{
	for (uint64_t z = 0; z < c->depth; z++)
		for (uint64_t y = 0; y < c->height; y++)
			copy_row(c->to.at + z * c->to.slice + y * c->to.pitch, c->from.at + z * c->from.slice + y * c->from.pitch,
				 c->width);
}

static void set_rows(const struct copy_op *c)
{
	for (uint64_t y = 0; y < c->height; y++) {
		char *row = (char *)(uintptr_t)(c->to.at + y * c->to.pitch);
		if (!c->value && c->width >= EMU_RANGE_MUCH && emu_range_clear((uintptr_t)row, c->width))
			continue;
		for (uint64_t x = 0; x < c->width; x += c->unit)
			memcpy(row + x, &c->value, c->unit); /* little-endian, as the device is */
	}
}

static uint64_t extent(const struct copy_op *c, const struct box *b)
{
	return (c->depth - 1) * b->slice + (c->height - 1) * b->pitch + c->width;
}

/* Memory that the driver does not know is the host's: legal for HOST and ANY, never for DEVICE. */
static int side_known(const struct copy_op *c, const struct box *b) { return emu_range_covers(b->at, extent(c, b)); }

static void note_known(struct copy_op *c)
{
	c->known[0] = side_known(c, &c->to);
	c->known[1] = !c->unit && !c->snapshot && side_known(c, &c->from);
}

/* It was unmapped meanwhile: a host may do that while work is under way, and nobody waits for it. */
static int lost(const struct copy_op *c)
{
	return (c->known[0] && !side_known(c, &c->to)) || (c->known[1] && !side_known(c, &c->from));
}

static int run_copy(struct emu_op *op, struct emu_turn *turn)
{
	const struct copy_op *c = (const struct copy_op *)op;
	(void)turn;
	if (lost(c)) {
		log_error("emulated device: a %s of %" PRIu64 " bytes at 0x%" PRIx64 ", some of which were unmapped before it ran", c->unit ? "set" : "copy",
			  c->width * c->height * c->depth, c->to.at);
		emu_op_fail(op, CUDA_ERROR_ILLEGAL_ADDRESS);
		return 1;
	}
	if (c->unit)
		set_rows(c);
	else
		copy_rows(c);
	emu.clock_ns += 1000 + c->width * c->height * c->depth / 64;
	return 1;
}

static void drop_copy(struct emu_op *op) { free(((struct copy_op *)op)->snapshot); }

/* Of memory that is mapped by hand only where the device was given access. */
static int side_allowed(const struct copy_op *c, const struct box *b, CUdevice device)
{
	const struct emu_range *r = emu_range_find(&emu_known, b->at);
	return c->peer || !r || !r->physical || r->access[device];
}

static CUresult check_side(const struct copy_op *c, const struct box *b, enum side side, CUdevice device, int *pageable)
{
	*pageable = 0;
	if (side != HOST && side_known(c, b))
		return side_allowed(c, b, device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (side == DEVICE || emu_range_find(&emu_reserved, b->at) || (side == ANY && emu_range_find(&emu_known, b->at)))
		return CUDA_ERROR_INVALID_VALUE;
	*pageable = !side_known(c, b);
	return CUDA_SUCCESS;
}

static CUresult take_snapshot(struct copy_op *c)
{
	uint64_t size = extent(c, &c->from);
	c->snapshot = malloc(size);
	if (!c->snapshot)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(c->snapshot, (const void *)(uintptr_t)c->from.at, size);
	c->from.at = (uintptr_t)c->snapshot;
	return CUDA_SUCCESS;
}

/* A line for each row, unless the rows lie one behind the other; sides that the driver does not know are left out. */
static void trace_rows(CUstream s, struct copy_op *c)
{
	const int dense = c->depth == 1 && (c->height == 1 || (c->to.pitch == c->width && (c->unit || c->from.pitch == c->width)));
	const uint64_t rows = dense ? 1 : c->height * c->depth, bytes = dense ? c->width * c->height : c->width;
	const int to = emu_range_find(&emu_known, c->to.at) != NULL;
	const int from = !c->unit && !c->snapshot && emu_range_find(&emu_known, c->from.at);
	for (uint64_t k = 0; k < rows; k++) {
		const uint64_t y = k % c->height, z = k / c->height;
		const struct emu_trace_range r = {to ? c->to.at + z * c->to.slice + y * c->to.pitch : 0,
						  from ? c->from.at + z * c->from.slice + y * c->from.pitch : 0, bytes};
		const uint64_t launch = emu_trace_range(s, &r);
		if (!launch)
			return;
		c->op.traced = c->op.traces++ ? c->op.traced : launch;
	}
}

static CUresult enqueue(CUstream s, const struct copy_op *what, int keep_source)
{
	struct copy_op *c = emu_op_new(sizeof *c, run_copy);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct emu_op op = c->op;
	*c = *what;
	op.devices = what->op.devices;
	c->op = op;
	c->op.drop = drop_copy;
	CUresult result = keep_source ? CUDA_SUCCESS : take_snapshot(c);
	if (result) {
		free(c);
		return result;
	}
	note_known(c);
	trace_rows(s, c);
	c->op.own = emu_skipped_range(s->flags, what->to.at, what->from.at);
	c->op.counts = !c->op.own;
	emu_op_push(s, &c->op);
	return CUDA_SUCCESS;
}

static int on_device(const struct emu_range *r)
{
	return r && r->kind != EMU_HOST && r->kind != EMU_REGISTERED && r->kind != EMU_MANAGED;
}

/* Between two devices, in a default stream (CUDA programming guide, "Peer-to-Peer Memory Copy"): their bits; else 0. What is mapped by hand
 * is no device's own: there the call has to name them (as on H200s). */
static uint32_t devices_of(CUstream handle, const struct copy_op *c)
{
	const struct emu_range *to = emu_range_find(&emu_known, c->to.at), *from = emu_range_find(&emu_known, c->from.at);
	if (!c->peer && ((to && to->physical) || (from && from->physical)))
		return 0;
	if ((handle && handle != CU_STREAM_LEGACY) || c->unit || !on_device(to) || !on_device(from) || to->device == from->device)
		return 0;
	return 1u << to->device | 1u << from->device;
}

static CUresult check_sides(const struct copy_op *c, CUdevice device, int *pageable_to, int *pageable_from)
{
	CUresult result = check_side(c, &c->to, c->to_side, device, pageable_to);
	*pageable_from = 0;
	return result || c->unit ? result : check_side(c, &c->from, c->from_side, device, pageable_from);
}

/* As a node's parameters: rows begin where the box does. */
static CUresult capture(CUstream s, const struct copy_op *c)
{
	static const CUmemorytype types[] = {[HOST] = CU_MEMORYTYPE_HOST, [DEVICE] = CU_MEMORYTYPE_DEVICE, [ANY] = CU_MEMORYTYPE_UNIFIED};
	const CUgraphNodeParams set = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
				       .memset = {c->to.at, c->to.pitch, c->value, c->unit, c->unit ? c->width / c->unit : 0, c->height, s->context}};
	CUgraphNodeParams copy = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy.copyCtx = s->context};
	copy.memcpy.copyParams = (CUDA_MEMCPY3D){
		.srcMemoryType = types[c->from_side], .srcHost = (const void *)(uintptr_t)c->from.at, .srcDevice = c->from.at,
		.srcPitch = c->from.pitch, .srcHeight = c->from.pitch ? c->from.slice / c->from.pitch : 0,
		.dstMemoryType = types[c->to_side], .dstHost = (void *)(uintptr_t)c->to.at, .dstDevice = c->to.at,
		.dstPitch = c->to.pitch, .dstHeight = c->to.pitch ? c->to.slice / c->to.pitch : 0,
		.WidthInBytes = c->width, .Height = c->height, .Depth = c->depth};
	return emu_capture_add(s, c->unit ? &set : &copy);
}

/* The one way of every copy and set of a stream. */
static CUresult perform(CUstream handle, struct copy_op *c, int blocking)
{
	CUcontext context;
	CUstream s;
	int pageable_to, pageable_from;
	CUresult result = emu_enter_context(&context);
	if (result)
		return result;
	if (!c->width || !c->height || !c->depth)
		return emu_leave(CUDA_SUCCESS);
	result = check_sides(c, context->device, &pageable_to, &pageable_from);
	if (!result)
		result = emu_stream_use(context, handle, &s);
	if (result)
		return emu_leave(result);
	if (s->captured)
		return emu_leave(blocking ? emu_capture_refuse(s) : capture(s, c));
	blocking |= pageable_to;
	c->op.devices = devices_of(handle, c);
	const int at_once = blocking && !c->op.devices;
	if (at_once && emu_stream_idle(s) && !emu_skipped_range(s->flags, c->to.at, c->from.at))
		emu_learn();
	if (at_once && emu_stream_idle(s)) {
		trace_rows(s, c);
		emu_op_begin(&c->op);
		run_copy(&c->op, NULL);
		emu_op_end(&c->op);
		emu_trace_told_stream(s);
		return emu_leave(CUDA_SUCCESS);
	}
	result = emu_wait_room(s);
	if (!result)
		result = enqueue(s, c, blocking || !pageable_from);
	if (!result && blocking)
		result = emu_wait_stream(s);
	return emu_leave(result);
}

static CUresult copy_linear(CUstream s, uint64_t to, enum side to_side, uint64_t from, enum side from_side, size_t size,
			    int blocking)
{
	struct copy_op c = {.to = {.at = to}, .to_side = to_side, .from = {.at = from}, .from_side = from_side, .width = size, .height = 1,
			    .depth = 1};
	return perform(s, &c, blocking);
}

static CUresult copy_peer(CUstream s, uint64_t to, uint64_t from, size_t size)
{
	struct copy_op c = {.to = {.at = to}, .to_side = DEVICE, .from = {.at = from}, .from_side = DEVICE, .width = size, .height = 1,
			    .depth = 1, .peer = 1};
	return perform(s, &c, 0);
}

static uint64_t host(const void *p) { return (uintptr_t)p; }

EMU_STREAM_API(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size))
{
	return copy_linear(NULL, to, ANY, from, ANY, size, 1);
}

EMU_STREAM_API(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s))
{
	return copy_linear(s, to, ANY, from, ANY, size, 0);
}

EMU_STREAM_API(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void *from, size_t size), (to, from, size))
{
	return copy_linear(NULL, to, DEVICE, host(from), HOST, size, 1);
}

EMU_STREAM_API(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void *from, size_t size, CUstream s), (to, from, size, s))
{
	return copy_linear(s, to, DEVICE, host(from), HOST, size, 0);
}

EMU_STREAM_API(cuMemcpyDtoH_v2, _ptds, (void *to, CUdeviceptr from, size_t size), (to, from, size))
{
	return copy_linear(NULL, host(to), HOST, from, DEVICE, size, 1);
}

EMU_STREAM_API(cuMemcpyDtoHAsync_v2, _ptsz, (void *to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s))
{
	return copy_linear(s, host(to), HOST, from, DEVICE, size, 0);
}

/* Between device memories the synchronous form does not block the host. */
EMU_STREAM_API(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size))
{
	return copy_linear(NULL, to, DEVICE, from, DEVICE, size, 0);
}

EMU_STREAM_API(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s))
{
	return copy_linear(s, to, DEVICE, from, DEVICE, size, 0);
}

EMU_STREAM_API(cuMemcpyPeer, _ptds, (CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, size_t size),
	       (to, tc, from, fc, size))
{
	return tc && fc ? copy_peer(NULL, to, from, size) : CUDA_ERROR_INVALID_CONTEXT;
}

EMU_STREAM_API(cuMemcpyPeerAsync, _ptsz,
	       (CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, size_t size, CUstream s),
	       (to, tc, from, fc, size, s))
{
	return tc && fc ? copy_peer(s, to, from, size) : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- boxes; CUDA arrays do not exist here */

static CUresult box_side(CUmemorytype type, const void *host_at, CUdeviceptr device_at, struct box *b, enum side *side)
{
	*side = type == CU_MEMORYTYPE_HOST ? HOST : type == CU_MEMORYTYPE_DEVICE ? DEVICE : ANY;
	b->at = type == CU_MEMORYTYPE_HOST ? host(host_at) : device_at;
	return type == CU_MEMORYTYPE_ARRAY ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream s, int blocking)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	struct copy_op c = {.width = p->WidthInBytes, .height = p->Height, .depth = 1};
	CUresult result = box_side(p->dstMemoryType, p->dstHost, p->dstDevice, &c.to, &c.to_side);
	if (!result)
		result = box_side(p->srcMemoryType, p->srcHost, p->srcDevice, &c.from, &c.from_side);
	if (result)
		return result;
	c.to.pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
	c.from.pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes;
	c.to.at += p->dstY * c.to.pitch + p->dstXInBytes;
	c.from.at += p->srcY * c.from.pitch + p->srcXInBytes;
	return perform(s, &c, blocking);
}

EMU_STREAM_API(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy)) { return copy_2d(copy, NULL, 1); }

EMU_STREAM_API(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy)) { return copy_2d(copy, NULL, 1); }

EMU_STREAM_API(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream s), (copy, s))
{
	return copy_2d(copy, s, 0);
}

static CUresult read_3d(const CUDA_MEMCPY3D *p, struct copy_op *c)
{
	*c = (struct copy_op){.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth};
	CUresult result = box_side(p->dstMemoryType, p->dstHost, p->dstDevice, &c->to, &c->to_side);
	if (!result)
		result = box_side(p->srcMemoryType, p->srcHost, p->srcDevice, &c->from, &c->from_side);
	if (result)
		return result;
	c->to.pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
	c->from.pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes;
	c->to.slice = c->to.pitch * (p->dstHeight ? p->dstHeight : p->Height);
	c->from.slice = c->from.pitch * (p->srcHeight ? p->srcHeight : p->Height);
	c->to.at += p->dstZ * c->to.slice + p->dstY * c->to.pitch + p->dstXInBytes;
	c->from.at += p->srcZ * c->from.slice + p->srcY * c->from.pitch + p->srcXInBytes;
	return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *p, CUstream s, int blocking)
{
	struct copy_op c;
	CUresult result = p ? read_3d(p, &c) : CUDA_ERROR_INVALID_VALUE;
	return result ? result : perform(s, &c, blocking);
}

EMU_STREAM_API(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy), (copy)) { return copy_3d(copy, NULL, 1); }

EMU_STREAM_API(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream s), (copy, s))
{
	return copy_3d(copy, s, 0);
}

/* ---- sets: asynchronous to the host in both forms */

static CUresult set(CUstream s, uint64_t to, size_t pitch, unsigned value, unsigned unit, size_t width, size_t height)
{
	struct copy_op c = {.to = {.at = to, .pitch = pitch}, .to_side = DEVICE, .width = width * unit, .height = height, .depth = 1,
			    .value = value, .unit = unit};
	return to % unit ? CUDA_ERROR_INVALID_VALUE : perform(s, &c, 0);
}

#define SET_API(bits, type) \
	EMU_STREAM_API(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr to, type value, size_t n), (to, value, n)) \
	{ \
		return set(NULL, to, 0, value, sizeof(type), n, 1); \
	} \
	EMU_STREAM_API(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr to, type value, size_t n, CUstream s), (to, value, n, s)) \
	{ \
		return set(s, to, 0, value, sizeof(type), n, 1); \
	} \
	EMU_STREAM_API(cuMemsetD2D##bits##_v2, _ptds, \
		       (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height), \
		       (to, pitch, value, width, height)) \
	{ \
		return set(NULL, to, pitch, value, sizeof(type), width, height); \
	} \
	EMU_STREAM_API(cuMemsetD2D##bits##Async, _ptsz, \
		       (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream s), \
		       (to, pitch, value, width, height, s)) \
	{ \
		return set(s, to, pitch, value, sizeof(type), width, height); \
	}

SET_API(8, unsigned char)
SET_API(16, unsigned short)
SET_API(32, unsigned)

/* ---- of graphs: memory that is pageable is read, and written, when the node runs */

static CUresult read_set(const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct copy_op *c)
{
	const unsigned unit = p->elementSize;
	if ((unit != 1 && unit != 2 && unit != 4) || p->dst % unit || (p->height > 1 && p->pitch < p->width * unit))
		return CUDA_ERROR_INVALID_VALUE;
	*c = (struct copy_op){.to = {.at = p->dst, .pitch = p->pitch}, .to_side = DEVICE, .width = p->width * unit, .height = p->height,
			      .depth = 1, .value = p->value, .unit = unit};
	return CUDA_SUCCESS;
}

static CUresult check(CUcontext context, const struct copy_op *c)
{
	int to, from;
	return c->width && c->height && c->depth ? check_sides(c, context->device, &to, &from) : CUDA_ERROR_INVALID_VALUE;
}

CUresult emu_copy_check(CUcontext c, const CUDA_MEMCPY3D *p)
{
	struct copy_op copy;
	CUresult result = read_3d(p, &copy);
	return result ? result : check(c, &copy);
}

CUresult emu_copy_push(CUstream s, const CUDA_MEMCPY3D *p)
{
	struct copy_op copy;
	CUresult result = read_3d(p, &copy);
	if (!result)
		result = check(s->context, &copy);
	return result ? result : enqueue(s, &copy, 1);
}

CUresult emu_set_check(CUcontext c, const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
	struct copy_op set;
	CUresult result = read_set(p, &set);
	return result ? result : check(c, &set);
}

CUresult emu_set_push(CUstream s, const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
	struct copy_op set;
	CUresult result = read_set(p, &set);
	if (!result)
		result = check(s->context, &set);
	return result ? result : enqueue(s, &set, 1);
}
