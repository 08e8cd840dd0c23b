/* Tensor maps: 128 bytes that a program passes to kernels. NVIDIA's layout is not public; ours holds the arguments as
 * they are, which is what an emulated tensor copy needs. */
#include <string.h>

#include "emu/driver/cuda_abi.h"

#define RANK_MAX 5

struct tensor_map {
	uint64_t address;
	uint64_t stride[RANK_MAX - 1]; /* bytes, of dimensions 1 and up */
	uint32_t dim[RANK_MAX];
	uint16_t box[RANK_MAX];
	uint8_t element_stride[RANK_MAX];
	uint8_t type, rank, interleave, swizzle, promotion, fill;
	uint8_t pad[47];
};
_Static_assert(sizeof(struct tensor_map) == sizeof(CUtensorMap), "a tensor map has 128 bytes");

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
					const cuuint64_t *dim, const cuuint64_t *stride, const cuuint32_t *box,
					const cuuint32_t *element_stride, CUtensorMapInterleave interleave,
					CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
					CUtensorMapFloatOOBfill fill)
{
	if (!map || !address || !dim || !box || !element_stride || !rank || rank > RANK_MAX || (uintptr_t)address % 16 ||
	    (rank > 1 && !stride))
		return CUDA_ERROR_INVALID_VALUE;
	struct tensor_map t = {.address = (uintptr_t)address, .type = (uint8_t)type, .rank = (uint8_t)rank,
			       .interleave = (uint8_t)interleave, .swizzle = (uint8_t)swizzle,
			       .promotion = (uint8_t)promotion, .fill = (uint8_t)fill};
	for (cuuint32_t i = 0; i < rank; i++) {
		if (!dim[i] || dim[i] > 1ull << 32 || !box[i] || box[i] > 256 || !element_stride[i] || element_stride[i] > 8)
			return CUDA_ERROR_INVALID_VALUE;
		if (i && stride[i - 1] % 16)
			return CUDA_ERROR_INVALID_VALUE;
		t.dim[i] = (uint32_t)(dim[i] - 1);
		t.box[i] = (uint16_t)box[i];
		t.element_stride[i] = (uint8_t)element_stride[i];
		if (i)
			t.stride[i - 1] = stride[i - 1];
	}
	memcpy(map, &t, sizeof t);
	return CUDA_SUCCESS;
}
