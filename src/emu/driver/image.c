#include "emu/driver/image.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u
#define KIND_PTX 1

struct wrapper { uint32_t magic, version; const void *data; const void *names; };
struct fatbin { uint32_t magic; uint16_t version, header_size; uint64_t size; };
struct entry { /* the part of its header that is used here */
	uint16_t kind, version;
	uint32_t header_size;
	uint64_t size;
	uint32_t compressed_size, options;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_size;
	uint64_t flags, reserved, uncompressed_size;
};
_Static_assert(sizeof(struct entry) == 64, "");

static CUresult fatbin_ptx(const void *data, const char **ptx, size_t *size)
{
	struct fatbin f;
	memcpy(&f, data, sizeof f);
	const char *at = (const char *)data + f.header_size, *end = at + f.size;
	while (at + sizeof(struct entry) <= end) {
		struct entry e;
		memcpy(&e, at, sizeof e);
		if (!e.header_size || e.size > (uint64_t)(end - at))
			return CUDA_ERROR_INVALID_IMAGE;
		if (e.kind == KIND_PTX && !e.uncompressed_size) {
			*ptx = at + e.header_size;
			*size = strnlen(*ptx, e.size);
			return CUDA_SUCCESS;
		}
		at += e.header_size + e.size;
	}
	log_error("emulated device: the fat binary holds no uncompressed PTX; build with PTX and --no-compress");
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult emu_image_ptx(const void *image, const char **ptx, size_t *size)
{
	uint32_t magic;
	memcpy(&magic, image, sizeof magic);
	if (magic == WRAPPER_MAGIC) {
		struct wrapper w;
		memcpy(&w, image, sizeof w);
		image = w.data;
		memcpy(&magic, image, sizeof magic);
	}
	if (magic == FATBIN_MAGIC)
		return fatbin_ptx(image, ptx, size);
	if (!memcmp(image, ELFMAG, SELFMAG)) {
		log_error("emulated device: this module is machine code (a cubin); the emulated device executes PTX only");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	*ptx = image;
	*size = strlen(image);
	return strstr(image, ".version") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
