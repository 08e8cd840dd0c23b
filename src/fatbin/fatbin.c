#include "fatbin/fatbin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the format ---------------------------------------------------------------------------------------------- */

static const unsigned char wrapper_magic[4] = {0xb1, 0x43, 0x62, 0x46}, fatbin_magic[4] = {0x50, 0xed, 0x55, 0xba};

struct wrapper { /* fatbinary_section.h, __fatBinC_Wrapper_t */
	uint32_t magic, version;
	const void *fatbin;
	const void *const *parts;
};
#define WRAPPER_LINKED 2u

struct header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size; /* of all behind the header */
};
#define HEADER_VERSION 1u

struct entry {
	uint16_t kind, version;
	uint32_t header_size;
	uint64_t padded_size;
	uint32_t packed_size; /* 0: as it is */
	uint32_t options;
	uint16_t minor, major;
	uint32_t arch, name, name_size;
	uint64_t flags, reserved, size; /* size 0: as it is */
};
_Static_assert(sizeof(struct header) == 16 && sizeof(struct entry) == 64, "");

#define FLAG_ARCHITECTURE 0x100000u /* sm_90a */
#define FLAG_FAMILY 0x200000u       /* sm_100f */

/* ---- reading it ---------------------------------------------------------------------------------------------- */

/* Byte by byte: a PTX text may be shorter. */
static int is_magic(const unsigned char *at, const unsigned char *magic)
{
	for (int i = 0; i < 4; i++)
		if (at[i] != magic[i])
			return 0;
	return 1;
}

int fatbin_open(const void *image, size_t size, struct fatbin *f)
{
	const unsigned char *at = image;
	struct header h;
	const void *const *parts = NULL;

	if (size && size < sizeof(h))
		return -ENOENT;
	if (!size && is_magic(at, wrapper_magic)) {
		struct wrapper w;
		memcpy(&w, at, sizeof(w));
		at = w.fatbin;
		parts = w.version == WRAPPER_LINKED ? w.parts : NULL;
	}
	if (!at || !is_magic(at, fatbin_magic))
		return -ENOENT;
	memcpy(&h, at, sizeof(h));
	if (h.version != HEADER_VERSION || h.header_size < sizeof(h) || h.size > PTRDIFF_MAX - (size_t)h.header_size ||
	    h.header_size + h.size > UINTPTR_MAX - (uintptr_t)at || (size && h.header_size + h.size > size))
		return -EINVAL;
	*f = (struct fatbin){at, h.header_size + (size_t)h.size, parts};
	return 0;
}

static char entry_feature(uint64_t flags)
{
	return flags & FLAG_ARCHITECTURE ? 'a' : flags & FLAG_FAMILY ? 'f' : 0;
}

int fatbin_next(const struct fatbin *f, size_t *at, struct fatbin_entry *e)
{
	size_t from = *at;
	struct entry x;

	if (!from) {
		struct header h;
		memcpy(&h, f->data, sizeof(h));
		from = h.header_size;
	}
	if (from == f->size)
		return 0;
	size_t left = f->size - from;
	if (left < sizeof(x))
		return -EINVAL;
	memcpy(&x, f->data + from, sizeof(x));
	if (x.header_size < sizeof(x) || x.header_size > left || x.padded_size > left - x.header_size || x.packed_size > x.padded_size)
		return -EINVAL;
	const unsigned char *head = f->data + from;
	int named = x.name_size && x.name <= x.header_size && x.name_size <= x.header_size - x.name;
	*e = (struct fatbin_entry){.kind = x.kind, .arch = x.arch, .feature = entry_feature(x.flags), .flags = x.flags,
			.name = (const char *)(named ? head + x.name : head), .name_size = named ? x.name_size : 0,
			.packed = head + x.header_size, .packed_size = (size_t)(x.packed_size ? x.packed_size : x.padded_size),
			.size = x.packed_size ? x.size : x.padded_size};
	*at = from + x.header_size + (size_t)x.padded_size;
	return 1;
}

/* ---- what the driver takes of it ----------------------------------------------------------------------------- */

/* Machine code runs on GPUs of its generation from its own architecture on; PTX on all from there on. CUDA C++ programming guide,
 * "Binary compatibility", "PTX compatibility", "Family-specific features". */
static int entry_runs(const struct fatbin_entry *e, unsigned gpu)
{
	if (e->feature == 'a')
		return e->arch == gpu;
	return e->arch <= gpu && ((e->kind == FATBIN_PTX && !e->feature) || e->arch / 10 == gpu / 10);
}

/* The nearest to the GPU, and of these the one that is for the fewest. */
static unsigned entry_rank(const struct fatbin_entry *e)
{
	return e->arch * 4 + (e->feature == 'a' ? 2 : e->feature == 'f');
}

int fatbin_best(const struct fatbin *f, unsigned kind, unsigned gpu, struct fatbin_entry *best)
{
	struct fatbin_entry e;
	size_t at = 0;
	int found = 0, more;

	while ((more = fatbin_next(f, &at, &e)) > 0) {
		if (e.kind != kind || !entry_runs(&e, gpu) || (found && entry_rank(&e) <= entry_rank(best)))
			continue;
		*best = e;
		found = 1;
	}
	return more < 0 ? more : found;
}

static int entry_twin(const struct fatbin *f, const struct fatbin_entry *cubin, struct fatbin_entry *e)
{
	size_t at = 0;
	int more;

	while ((more = fatbin_next(f, &at, e)) > 0)
		if (e->kind == FATBIN_PTX && e->arch == cubin->arch && e->feature == cubin->feature)
			return 1;
	return more;
}

static int fatbin_has(const struct fatbin *f, unsigned kind)
{
	struct fatbin_entry e;
	size_t at = 0;

	while (fatbin_next(f, &at, &e) > 0)
		if (e.kind == kind)
			return 1;
	return 0;
}

const char *fatbin_ptx(const struct fatbin *f, unsigned gpu, struct fatbin_entry *e)
{
	struct fatbin_entry cubin;
	int code = fatbin_best(f, FATBIN_CUBIN, gpu, &cubin);

	if (code < 0)
		return "its fat binary is damaged";
	if (code ? entry_twin(f, &cubin, e) : fatbin_best(f, FATBIN_PTX, gpu, e))
		return NULL;
	if (!fatbin_has(f, FATBIN_PTX))
		return "its fat binary has no PTX";
	return code ? "its fat binary has no PTX of the architecture whose machine code runs" :
		      "its fat binary has no PTX that runs on this GPU";
}

/* ---- of several objects -------------------------------------------------------------------------------------- */

static const char *fatbin_text(const void *part, unsigned gpu, struct fatbin_texts *t)
{
	struct fatbin f;
	struct fatbin_entry ptx;
	size_t size;

	if (fatbin_open(part, 0, &f))
		return "an object that its fat binary is linked of (-rdc=true) is damaged";
	if (fatbin_ptx(&f, gpu, &ptx)) {
		t->lacking++;
		return NULL;
	}
	const char *reason = fatbin_unpack(&ptx, &t->text[t->count], &size);
	t->count += !reason;
	return reason;
}

const char *fatbin_texts(const struct fatbin *f, unsigned gpu, struct fatbin_texts *t)
{
	const char *reason = NULL;
	uint32_t parts = 0;

	while (f->parts[parts])
		parts++;
	*t = (struct fatbin_texts){.text = calloc(parts + 1, sizeof(*t->text))};
	if (!t->text)
		return "no memory is left";
	for (uint32_t i = 0; i < parts && !reason; i++)
		reason = fatbin_text(f->parts[i], gpu, t);
	if (!reason && !t->count)
		reason = FATBIN_LACKING;
	if (reason)
		fatbin_texts_free(t);
	return reason;
}

void fatbin_texts_free(struct fatbin_texts *t)
{
	while (t->count)
		free(t->text[--t->count]);
	free(t->text);
	t->text = NULL;
}
