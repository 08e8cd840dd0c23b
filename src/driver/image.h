/* Images that the program loads, as modules or as libraries, and their checked forms, made of PTX: by gsan-ptxas (compile.c), or else
 * rewritten here for the driver to compile. What the program has loaded tells the registers of its kernels (a clone must keep their
 * CTAs per SM). */
#ifndef GSAN_DRIVER_IMAGE_H
#define GSAN_DRIVER_IMAGE_H

#include <cuda.h>

#include "ptx/ptx.h"

#define IMAGE_MEMORY "PTX in memory" /* a source */

struct image;

/* What is done differently with modules and with libraries. */
struct image_kind {
	CUresult (*load)(const struct image *i, const void *data, void **handle);
	void (*unload)(void *handle);
	void (*forget)(void *handle);                            /* what is known by this handle is of one that has ended */
	uint32_t (*registers)(void *handle, const char *kernel); /* 0: unknown, or it has no such kernel */
};
extern const struct image_kind image_module, image_library;

struct image {
	const struct image_kind *kind;
	const char *source; /* for reports: a path, or what the image is */
	/* options of the program's call */
	unsigned count;
	CUjit_option *option;
	void **value;
	CUlibraryOption *library_option;
	void **library_value;
	unsigned library_count;
};

int image_is_ptx(const char *text);
/* Loads the checked form of a text. NULL, or why there is none: a string literal. plain: what the program has loaded of it. */
const char *image_load_checked(const struct image *i, void *plain, const char *text, void **handle);
/* Loads the checked form of a text in the place of *handle. NULL, or why there is none. */
const char *image_replace(const struct image *i, const char *text, void **handle);

/* malloc'ed: the name of a kernel with a body; NULL: the function is none. */
char *image_kernel(const struct ptx_module *m, uint32_t function);

#endif
