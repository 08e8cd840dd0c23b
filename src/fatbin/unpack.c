/* Compressed entries. The libraries are looked for when the first such entry is met: a program that has none is not made to load them. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fatbin/fatbin.h"

#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define SIZE_MAX_UNPACKED (1u << 30) /* of PTX more is not taken (ptx.h) */

typedef int lz4_decompress(const char *from, char *to, int from_size, int to_size);              /* lz4.h; below 0: damaged */
typedef size_t zstd_decompress(void *to, size_t to_size, const void *from, size_t from_size);    /* zstd.h; huge: an error */

/* Both answer how many bytes they wrote, or something that is more than there is room. */
static size_t unpack_lz4(void *call, const struct fatbin_entry *e, char *to)
{
	if (e->packed_size > SIZE_MAX_UNPACKED)
		return SIZE_MAX;
	int n = ((lz4_decompress *)call)((const char *)e->packed, to, (int)e->packed_size, (int)e->size);
	return n < 0 ? SIZE_MAX : (size_t)n;
}

static size_t unpack_zstd(void *call, const struct fatbin_entry *e, char *to)
{
	return ((zstd_decompress *)call)(to, (size_t)e->size, e->packed, e->packed_size);
}

static const struct packing {
	uint64_t flag;
	const char *library, *function;
	const char *missing; /* for reports */
	size_t (*unpack)(void *call, const struct fatbin_entry *e, char *to);
} packings[] = {
	{FLAG_LZ4, "liblz4.so.1", "LZ4_decompress_safe", "its PTX is compressed, and liblz4.so.1 is not installed", unpack_lz4},
	{FLAG_ZSTD, "libzstd.so.1", "ZSTD_decompress", "its PTX is compressed, and libzstd.so.1 is not installed", unpack_zstd},
};
#define PACKINGS (sizeof(packings) / sizeof(*packings))

/* The library's function; NULL: it is not there, which is said once. It stays loaded. */
static void *packing_call(const struct packing *p)
{
	static void *found[PACKINGS]; /* idempotent: every thread finds the same */
	static int said[PACKINGS];
	void **here = &found[p - packings], *call = __atomic_load_n(here, __ATOMIC_RELAXED);

	if (call)
		return call;
	void *library = dlopen(p->library, RTLD_LAZY | RTLD_LOCAL);
	call = library ? dlsym(library, p->function) : NULL;
	__atomic_store_n(here, call, __ATOMIC_RELAXED);
	if (!call && !__atomic_exchange_n(&said[p - packings], 1, __ATOMIC_RELAXED))
		log_warning("%s is not installed: kernels in fat binaries that need it to be read stay unchecked", p->library);
	return call;
}

/* NULL: it is not compressed, or *unknown. */
static const struct packing *packing_of(const struct fatbin_entry *e, int *unknown)
{
	*unknown = 0;
	for (size_t i = 0; i < PACKINGS; i++)
		if (e->flags & packings[i].flag)
			return &packings[i];
	*unknown = e->size != e->packed_size;
	return NULL;
}

const char *fatbin_unpack(const struct fatbin_entry *e, char **data, size_t *size)
{
	int unknown;
	const struct packing *p = packing_of(e, &unknown);

	if (unknown)
		return "its PTX is compressed in a way that is not known";
	if (e->size > SIZE_MAX_UNPACKED)
		return "its PTX says that it is more than 1 GiB";
	void *call = p ? packing_call(p) : NULL;
	if (p && !call)
		return p->missing;
	char *to = malloc((size_t)e->size + 1);
	if (!to)
		return "out of memory";
	if (p ? p->unpack(call, e, to) != e->size : !memcpy(to, e->packed, e->packed_size)) {
		free(to);
		return "its compressed PTX is damaged";
	}
	to[e->size] = 0;
	*data = to;
	*size = (size_t)e->size;
	return NULL;
}
