#include "driver/reach.h"

#include <stdlib.h>

#include "vmm/vmm.h"

/* ---- boxes ----------------------------------------------------------------------------------------------------- */

static struct gsan_box *reach_side(struct gsan_boxes *b, int written)
{
	return written ? &b->written : &b->read;
}

static void reach_add(struct copy *c, int written, struct gsan_box box)
{
	struct gsan_box *first = reach_side(&c->boxes, written);

	if (!box.width || !box.rows || !vmm_checked(box.at))
		return;
	if (!first->rows) {
		*first = box;
		return;
	}
	if (c->mores == c->room) {
		size_t room = c->room ? 2 * c->room : 16;
		struct gsan_boxes *more = realloc(c->more, room * sizeof(*more));
		if (!more) {
			c->untold = 1;
			return;
		}
		c->more = more;
		c->room = room;
	}
	c->more[c->mores] = (struct gsan_boxes){.written.rows = 0};
	*reach_side(&c->more[c->mores++], written) = box;
}

static void reach_add_range(struct copy *c, int written, CUdeviceptr at, size_t n)
{
	reach_add(c, written, (struct gsan_box){.at = at, .width = n, .rows = 1});
}

/* ---- one range ------------------------------------------------------------------------------------------------- */

enum copy_way reach_in(struct copy *c, CUdeviceptr to, size_t n)
{
	reach_add_range(c, 1, to, n);
	return COPY_IN;
}

enum copy_way reach_freed(struct copy *c, CUdeviceptr at)
{
	c->frees = 1;
	reach_add_range(c, 1, at, vmm_block_size(at));
	return COPY_NEITHER;
}

enum copy_way reach_up(struct copy *c, CUdeviceptr to, const void *from, size_t n)
{
	reach_add_range(c, 1, to, n);
	reach_add_range(c, 0, (CUdeviceptr)(uintptr_t)from, n);
	return COPY_IN;
}

enum copy_way reach_down(struct copy *c, const void *to, CUdeviceptr from, size_t n)
{
	reach_add_range(c, 1, (CUdeviceptr)(uintptr_t)to, n);
	reach_add_range(c, 0, from, n);
	return COPY_OUT;
}

enum copy_way reach_from(struct copy *c, CUdeviceptr from, size_t n)
{
	reach_add_range(c, 0, from, n);
	return COPY_NEITHER;
}

/* What is ours no host reads: then it brings one nothing. */
static enum copy_way reach_to(CUdeviceptr to) { return vmm_checked(to) == VMM_OURS ? COPY_IN : COPY_BOTH; }

enum copy_way reach_within(struct copy *c, CUdeviceptr to, CUdeviceptr from, size_t n)
{
	reach_add_range(c, 1, to, n);
	reach_add_range(c, 0, from, n);
	return reach_to(to);
}

static enum copy_way reach_ends(struct copy *c, CUdeviceptr to, CUdeviceptr from)
{
	c->at[0] = to;
	c->at[1] = from;
	return reach_to(to);
}

enum copy_way reach_between(struct copy *c, CUdeviceptr to, CUdeviceptr from, size_t n)
{
	reach_within(c, to, from, n);
	return reach_ends(c, to, from);
}

enum copy_way reach_of_peers(struct copy *c, CUdeviceptr to, CUdeviceptr from, size_t n)
{
	c->named = 1;
	return reach_between(c, to, from, n);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

enum copy_way reach_rows(struct copy *c, CUdeviceptr to, size_t pitch, size_t width, size_t height)
{
	reach_add(c, 1, (struct gsan_box){.at = to, .width = width, .pitch = pitch, .height = height, .rows = height});
	return COPY_IN;
}

/* One side of a copy's structure: `side` is src or dst. A host's address is one that is checked, perhaps. */
#define REACH_TYPED(m, side) ((m)->side##MemoryType == CU_MEMORYTYPE_DEVICE || (m)->side##MemoryType == CU_MEMORYTYPE_UNIFIED)
#define REACH_HOST(m, side) ((m)->side##MemoryType == CU_MEMORYTYPE_HOST)
#define REACH_AT(m, side) (REACH_HOST(m, side) ? (CUdeviceptr)(uintptr_t)(m)->side##Host : (m)->side##Device)
#define REACH_PITCH(m, side) ((m)->side##Pitch ? (m)->side##Pitch : (m)->WidthInBytes)
#define REACH_RECTANGLE(c, m, side, written) \
	if (REACH_TYPED(m, side) || REACH_HOST(m, side)) \
		reach_add(c, written, (struct gsan_box){.at = REACH_AT(m, side) + (m)->side##Y * REACH_PITCH(m, side) + (m)->side##XInBytes, \
				.width = (m)->WidthInBytes, .pitch = REACH_PITCH(m, side), .height = (m)->Height, .rows = (m)->Height})
#define REACH_HEIGHT(m, side) ((m)->side##Height ? (m)->side##Height : (m)->Height)
#define REACH_BOX(c, m, side, written) \
	if (REACH_TYPED(m, side) || REACH_HOST(m, side)) \
		reach_add(c, written, (struct gsan_box){.at = REACH_AT(m, side) + ((m)->side##Z * REACH_HEIGHT(m, side) + (m)->side##Y) * \
				REACH_PITCH(m, side) + (m)->side##XInBytes, .width = (m)->WidthInBytes, .pitch = REACH_PITCH(m, side), \
				.slice = REACH_HEIGHT(m, side) * REACH_PITCH(m, side), .height = (m)->Height, .rows = (m)->Height * (m)->Depth})

enum copy_way reach_rectangle(struct copy *c, const CUDA_MEMCPY2D *m)
{
	if (!m)
		return COPY_BOTH;
	REACH_RECTANGLE(c, m, dst, 1);
	REACH_RECTANGLE(c, m, src, 0);
	return reach_ends(c, REACH_TYPED(m, dst) ? m->dstDevice : 0, m->srcDevice);
}

enum copy_way reach_box(struct copy *c, const CUDA_MEMCPY3D *m)
{
	if (!m)
		return COPY_BOTH;
	REACH_BOX(c, m, dst, 1);
	REACH_BOX(c, m, src, 0);
	return reach_ends(c, REACH_TYPED(m, dst) ? m->dstDevice : 0, m->srcDevice);
}

enum copy_way reach_box_of_peers(struct copy *c, const CUDA_MEMCPY3D_PEER *m)
{
	c->named = 1;
	if (!m)
		return COPY_BOTH;
	REACH_BOX(c, m, dst, 1);
	REACH_BOX(c, m, src, 0);
	return reach_ends(c, REACH_TYPED(m, dst) ? m->dstDevice : 0, m->srcDevice);
}

/* ---- batches --------------------------------------------------------------------------------------------------- */

enum copy_way reach_batch(struct copy *c, const CUdeviceptr *to, const CUdeviceptr *from, const size_t *sizes, size_t count)
{
	for (size_t i = 0; to && from && sizes && i < count; i++)
		reach_within(c, to[i], from[i], sizes[i]);
	return COPY_SEVERAL;
}

#if CUDA_VERSION >= 12080
static void reach_operand(struct copy *c, int written, const CUmemcpy3DOperand *o, const CUextent3D *extent)
{
	size_t pitch = o->op.ptr.rowLength ? o->op.ptr.rowLength : extent->width;
	size_t height = o->op.ptr.layerHeight ? o->op.ptr.layerHeight : extent->height;

	reach_add(c, written, (struct gsan_box){.at = o->op.ptr.ptr, .width = extent->width, .pitch = pitch, .slice = pitch * height,
			.height = extent->height, .rows = extent->height * extent->depth});
}

enum copy_way reach_one_box(struct copy *c, const CUDA_MEMCPY3D_BATCH_OP *m)
{
	int to = m && m->dst.type == CU_MEMCPY_OPERAND_TYPE_POINTER, from = m && m->src.type == CU_MEMCPY_OPERAND_TYPE_POINTER;

	if (to && from) {
		reach_operand(c, 1, &m->dst, &m->extent);
		reach_operand(c, 0, &m->src, &m->extent);
	} else if ((to && vmm_checked(m->dst.op.ptr.ptr)) || (from && vmm_checked(m->src.op.ptr.ptr))) {
		c->untold = 1;
	}
	return COPY_BOTH;
}

enum copy_way reach_boxes(struct copy *c, const CUDA_MEMCPY3D_BATCH_OP *m, size_t count)
{
	for (size_t i = 0; m && i < count; i++)
		reach_one_box(c, &m[i]);
	return COPY_SEVERAL;
}
#endif
