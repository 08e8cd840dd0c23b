#include "emu/driver/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fatbin/fatbin.h"
#include "ptx/merge.h"

#define GPU 90 /* attributes.def: compute capability */

/* Of what a driver links, or has linked (-rdc=true). NULL, or why not. */
static const char *fatbin_merge(const struct fatbin *f, char **text, size_t *size)
{
	struct fatbin_texts t;
	struct ptx_error error;
	const char *reason = fatbin_texts(f, GPU, &t);

	if (reason)
		return reason;
	if (ptx_merge((const char *const *)t.text, t.count, text, &error))
		reason = t.lacking ? FATBIN_LACKING : "the PTX of its objects could not be made one text";
	else
		*size = strlen(*text);
	fatbin_texts_free(&t);
	return reason;
}

/* As a driver takes machine code before PTX, this one takes an entry of that kind if its contents are PTX. */
static CUresult fatbin_text(const struct fatbin *f, char **text, size_t *size)
{
	static const unsigned kinds[] = {FATBIN_CUBIN, FATBIN_PTX};
	const char *reason = NULL;
	struct fatbin_entry e;
	int found = 0;

	for (int i = 0; i < 2 && found >= 0; i++) {
		found = fatbin_best(f, kinds[i], GPU, &e);
		reason = found > 0 ? fatbin_unpack(&e, text, size) : NULL;
		if (found <= 0 || reason)
			continue;
		if (*size < SELFMAG || memcmp(*text, ELFMAG, SELFMAG))
			return CUDA_SUCCESS;
		free(*text);
	}
	if (found < 0)
		return CUDA_ERROR_INVALID_IMAGE;
	if (f->parts)
		reason = fatbin_merge(f, text, size);
	else if (!reason)
		reason = "it holds no PTX for sm_90: compile with -gencode arch=compute_90,code=compute_90";
	if (!reason)
		return CUDA_SUCCESS;
	log_error("emulated device: the fat binary: %s", reason);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult emu_image_ptx(const void *image, size_t image_size, const char **ptx, size_t *size, char **unpacked)
{
	struct fatbin f;
	int none = fatbin_open(image, image_size, &f);

	*unpacked = NULL;
	if (none == -EINVAL)
		return CUDA_ERROR_INVALID_IMAGE;
	if (!none) {
		CUresult result = fatbin_text(&f, unpacked, size);
		if (result)
			return result;
		*ptx = *unpacked;
		*size = strnlen(*ptx, *size);
		return CUDA_SUCCESS;
	}
	if (!strncmp(image, ELFMAG, SELFMAG)) {
		log_error("emulated device: this module is machine code (a cubin); the emulated device executes PTX only");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	*ptx = image;
	*size = strlen(image);
	return strstr(image, ".version") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
