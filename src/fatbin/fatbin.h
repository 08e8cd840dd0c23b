/* fatbin: fat binaries, which hold device code for several architectures, machine code and PTX. Their format is not documented; this is
 * what docs/fat-binaries.md says was measured. Nothing is read outside of the image, whatever its lengths say. Users: libgsan, which
 * makes clones of the PTX, and the emulated device, which executes it.
 *
 * fatbin.c: what is in an image, and what of it the driver takes. unpack.c: its contents. */
#ifndef GSAN_FATBIN_FATBIN_H
#define GSAN_FATBIN_FATBIN_H

#include <stddef.h>
#include <stdint.h>

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_CUBIN = 2 }; /* others are skipped by who looks for these */

/* The bytes of an image, from its header on. parts: of the objects that it is linked of (-rdc=true), as its wrapper names them, up to a NULL; or
 * NULL. What it holds itself is what nvlink made of their machine code. */
struct fatbin { const unsigned char *data; size_t size; const void *const *parts; };

struct fatbin_entry {
	unsigned kind;
	unsigned arch;               /* 90 */
	char feature;                /* 'a' or 'f', as in sm_90a and sm_100f; 0: for later architectures, too */
	uint64_t flags;
	const char *name;            /* `fatbinary --ident`: a source file; name_size 0: none */
	size_t name_size;
	const unsigned char *packed; /* its contents, as they lie there */
	size_t packed_size;
	uint64_t size;               /* unpacked */
};

/* Whether it is a fat binary, or the wrapper of one that a program's host code registers. size: what may be read of it; 0: as much as it
 * says itself, which is all that the driver is told, too. Returns 0, -ENOENT: it is none, -EINVAL: its header cannot be. */
int fatbin_open(const void *image, size_t size, struct fatbin *f);
/* The entry at *at (0: the first), which is moved to the next. 1; 0: there are no more; -EINVAL: it reaches beyond the image. */
int fatbin_next(const struct fatbin *f, size_t *at, struct fatbin_entry *e);

/* The entry of that kind that the driver prefers for a GPU (90: sm_90). 1 or 0; -EINVAL: the image is damaged. */
int fatbin_best(const struct fatbin *f, unsigned kind, unsigned gpu, struct fatbin_entry *e);
/* The PTX of what runs on that GPU: of the very architecture for which the machine code is, if there is some, for other code may stand
 * behind `#if __CUDA_ARCH__`. NULL, or why there is none: a string literal. */
const char *fatbin_ptx(const struct fatbin *f, unsigned gpu, struct fatbin_entry *e);

/* Of what is linked: the PTX of the objects, unpacked; lacking: so many have none of what runs (libcudadevrt, which the driver is given whether it
 * is needed or not). NULL, or why there is none at all: a string literal. */
struct fatbin_texts { char **text; uint32_t count, lacking; };
#define FATBIN_LACKING "an object that its fat binary is linked of (-rdc=true) has no PTX of what runs"
const char *fatbin_texts(const struct fatbin *f, unsigned gpu, struct fatbin_texts *t);
void fatbin_texts_free(struct fatbin_texts *t);

/* malloc'ed, with a NUL behind it. NULL, or why it cannot be unpacked: a string literal. */
const char *fatbin_unpack(const struct fatbin_entry *e, char **data, size_t *size);

#endif
