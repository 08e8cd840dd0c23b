/* Copies and sets. Those without a stream go to the default one, and the host waits for them as the driver says. */
#include "emu/runtime/runtime.h"

/* The driver's calls that wait, by their form. */
static const struct waiting {
	__typeof__(&cuMemcpy) any;
	__typeof__(&cuMemcpyHtoD_v2) to_device;
	__typeof__(&cuMemcpyDtoH_v2) to_host;
	__typeof__(&cuMemcpyDtoD_v2) on_device;
	__typeof__(&cuMemcpy3D_v2) box;
	__typeof__(&cuMemsetD2D8_v2) set;
} waiting[RUNTIME_FORMS] = {
	[RUNTIME_LEGACY] = {cuMemcpy, cuMemcpyHtoD_v2, cuMemcpyDtoH_v2, cuMemcpyDtoD_v2, cuMemcpy3D_v2, cuMemsetD2D8_v2},
	[RUNTIME_PER_THREAD] = {cuMemcpy_ptds, cuMemcpyHtoD_v2_ptds, cuMemcpyDtoH_v2_ptds, cuMemcpyDtoD_v2_ptds, cuMemcpy3D_v2_ptds,
				cuMemsetD2D8_v2_ptds},
};

/* ---- of one piece */

int runtime_copy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, enum runtime_form form)
{
	const struct waiting *w = &waiting[form];
	if (!size)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice: return w->to_device((CUdeviceptr)to, from, size);
	case cudaMemcpyDeviceToHost: return w->to_host(to, (CUdeviceptr)from, size);
	case cudaMemcpyDeviceToDevice: return w->on_device((CUdeviceptr)to, (CUdeviceptr)from, size);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return w->any((CUdeviceptr)to, (CUdeviceptr)from, size);
	default: return cudaErrorInvalidMemcpyDirection;
	}
}

int runtime_copy_async(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (!size)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice: return cuMemcpyHtoDAsync_v2((CUdeviceptr)to, from, size, stream);
	case cudaMemcpyDeviceToHost: return cuMemcpyDtoHAsync_v2(to, (CUdeviceptr)from, size, stream);
	case cudaMemcpyDeviceToDevice: return cuMemcpyDtoDAsync_v2((CUdeviceptr)to, (CUdeviceptr)from, size, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, size, stream);
	default: return cudaErrorInvalidMemcpyDirection;
	}
}

static int peers(int to_device, int from_device, CUcontext *to, CUcontext *from)
{
	int result = runtime_primary(to_device, to);
	return result ? result : runtime_primary(from_device, from);
}

int runtime_copy_peer(void *to, int to_device, const void *from, int from_device, size_t size)
{
	CUcontext there, here;
	int result = peers(to_device, from_device, &there, &here);
	return result ? result : (int)cuMemcpyPeer((CUdeviceptr)to, there, (CUdeviceptr)from, here, size);
}

int runtime_copy_peer_async(void *to, int to_device, const void *from, int from_device, size_t size, cudaStream_t stream)
{
	CUcontext there, here;
	int result = peers(to_device, from_device, &there, &here);
	return result ? result : (int)cuMemcpyPeerAsync((CUdeviceptr)to, there, (CUdeviceptr)from, here, size, stream);
}

/* ---- of boxes */

struct side { const void *at; size_t pitch, height; struct cudaPos begin; };

static int describe(const struct side *to, const struct side *from, struct cudaExtent extent, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
	static const CUmemorytype types[][2] = {[cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
						[cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
						[cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
						[cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
						[cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED}};
	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	const int rows = extent.height > 1 || extent.depth > 1;
	if (rows && (to->pitch < extent.width || from->pitch < extent.width))
		return cudaErrorInvalidPitchValue;
	*c = (CUDA_MEMCPY3D){
		.srcMemoryType = types[kind][0], .srcHost = from->at, .srcDevice = (CUdeviceptr)from->at, .srcPitch = from->pitch,
		.srcHeight = from->height, .srcXInBytes = from->begin.x, .srcY = from->begin.y, .srcZ = from->begin.z,
		.dstMemoryType = types[kind][1], .dstDevice = (CUdeviceptr)to->at, .dstPitch = to->pitch,
		.dstHeight = to->height, .dstXInBytes = to->begin.x, .dstY = to->begin.y, .dstZ = to->begin.z,
		.WidthInBytes = extent.width, .Height = extent.height, .Depth = extent.depth};
	c->dstHost = (void *)c->dstDevice;
	return cudaSuccess;
}

static int describe_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
		       CUDA_MEMCPY3D *c)
{
	const struct side target = {.at = to, .pitch = to_pitch, .height = height}, source = {.at = from, .pitch = from_pitch, .height = height};
	return describe(&target, &source, (struct cudaExtent){width, height, 1}, kind, c);
}

int runtime_describe(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
	if (!p || !!p->srcArray + !!p->srcPtr.ptr != 1 || !!p->dstArray + !!p->dstPtr.ptr != 1)
		return cudaErrorInvalidValue;
	if (p->srcArray || p->dstArray)
		return cudaErrorNotSupported; /* whose maker has said so */
	const struct side to = {p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.ysize, p->dstPos};
	const struct side from = {p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.ysize, p->srcPos};
	return describe(&to, &from, p->extent, p->kind, c);
}

/* A box of nothing is copied. */
static int copy_box(int result, const CUDA_MEMCPY3D *c, enum runtime_form form)
{
	if (result || !c->WidthInBytes || !c->Height || !c->Depth)
		return result;
	return waiting[form].box(c);
}

static int copy_box_async(int result, const CUDA_MEMCPY3D *c, cudaStream_t stream)
{
	if (result || !c->WidthInBytes || !c->Height || !c->Depth)
		return result;
	return cuMemcpy3DAsync_v2(c, stream);
}

int runtime_copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
		    enum runtime_form form)
{
	CUDA_MEMCPY3D c;
	return copy_box(describe_2d(to, to_pitch, from, from_pitch, width, height, kind, &c), &c, form);
}

int runtime_copy_2d_async(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
			  enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY3D c;
	return copy_box_async(describe_2d(to, to_pitch, from, from_pitch, width, height, kind, &c), &c, stream);
}

int runtime_copy_3d(const struct cudaMemcpy3DParms *p, enum runtime_form form)
{
	CUDA_MEMCPY3D c;
	return copy_box(runtime_describe(p, &c), &c, form);
}

int runtime_copy_3d_async(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D c;
	return copy_box_async(runtime_describe(p, &c), &c, stream);
}

/* ---- of variables */

int runtime_part(const void *variable, size_t size, size_t offset, char **at)
{
	CUdeviceptr begin;
	size_t whole;
	int result = runtime_variable(variable, &begin, &whole);
	if (!result && (offset > whole || size > whole - offset))
		result = cudaErrorInvalidValue;
	if (!result)
		*at = (char *)begin + offset;
	return result;
}

int runtime_copy_to(const void *variable, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, enum runtime_form form)
{
	char *at;
	int result = runtime_part(variable, size, offset, &at);
	return result ? result : runtime_copy(at, from, size, kind, form);
}

int runtime_copy_to_async(const void *variable, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *at;
	int result = runtime_part(variable, size, offset, &at);
	return result ? result : runtime_copy_async(at, from, size, kind, stream);
}

int runtime_copy_from(void *to, const void *variable, size_t size, size_t offset, enum cudaMemcpyKind kind, enum runtime_form form)
{
	char *at;
	int result = runtime_part(variable, size, offset, &at);
	return result ? result : runtime_copy(to, at, size, kind, form);
}

int runtime_copy_from_async(void *to, const void *variable, size_t size, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *at;
	int result = runtime_part(variable, size, offset, &at);
	return result ? result : runtime_copy_async(to, at, size, kind, stream);
}

/* ---- sets of boxes: slice by slice, unless they lie one behind the other */

static void join_slices(const struct cudaPitchedPtr *to, struct cudaExtent *extent)
{
	if (extent->height == to->ysize) {
		extent->height *= extent->depth;
		extent->depth = extent->depth ? 1 : 0;
	}
}

int runtime_set_3d(struct cudaPitchedPtr to, int value, struct cudaExtent extent, enum runtime_form form)
{
	CUresult result = CUDA_SUCCESS;
	join_slices(&to, &extent);
	for (size_t z = 0; z < extent.depth && !result && extent.width && extent.height; z++)
		result = waiting[form].set((CUdeviceptr)to.ptr + z * to.ysize * to.pitch, to.pitch, (unsigned char)value, extent.width,
					   extent.height);
	return result;
}

int runtime_set_3d_async(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream)
{
	CUresult result = CUDA_SUCCESS;
	join_slices(&to, &extent);
	for (size_t z = 0; z < extent.depth && !result && extent.width && extent.height; z++)
		result = cuMemsetD2D8Async((CUdeviceptr)to.ptr + z * to.ysize * to.pitch, to.pitch, (unsigned char)value, extent.width,
					   extent.height, stream);
	return result;
}
