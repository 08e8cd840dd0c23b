/* A writer of fat binaries, of its own making: it shares nothing with the reader. Layout: docs/fat-binaries.md. */
#ifndef TEST_FATBIN_WRITE_H
#define TEST_FATBIN_WRITE_H

#include <lz4.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { WRITE_PTX = 1, WRITE_CUBIN = 2 };
enum write_packing { WRITE_NONE, WRITE_LZ4, WRITE_ZSTD };

struct write { unsigned char *data; size_t size; };

static inline void write_number(unsigned char *to, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

/* Begins with an empty one. */
static inline void write_begin(struct write *w)
{
	*w = (struct write){calloc(1, 16), 16};
	write_number(w->data, 0xba55ed50u, 4);
	write_number(w->data + 4, 1, 2);
	write_number(w->data + 6, 16, 2);
}

/* Its header has 64 bytes, and 16 more with the name of a source file. Returns where the entry begins. */
static inline size_t write_entry(struct write *w, int kind, unsigned arch, uint64_t features, enum write_packing packing,
		const void *data, size_t size)
{
	size_t at = w->size, header = 80, room = ZSTD_compressBound(size) + (size_t)LZ4_compressBound((int)size), packed = size;
	uint64_t flags = 0x11 | features;

	w->data = realloc(w->data, at + header + room + 8);
	unsigned char *e = w->data + at, *to = e + header;
	memset(e, 0, header + room + 8);
	if (packing == WRITE_LZ4) {
		packed = (size_t)LZ4_compress_default(data, (char *)to, (int)size, (int)room);
		flags |= 0x2000;
	} else if (packing == WRITE_ZSTD) {
		packed = ZSTD_compress(to, room, data, size, 3);
		flags |= 0x8000;
	} else {
		memcpy(to, data, size);
	}
	size_t padded = (packed + 7) / 8 * 8;
	write_number(e, (uint64_t)kind, 2);
	write_number(e + 2, 0x101, 2);
	write_number(e + 4, header, 4);
	write_number(e + 8, padded, 8);
	write_number(e + 16, packing ? packed : 0, 4);
	write_number(e + 26, 8, 2);
	write_number(e + 28, arch, 4);
	write_number(e + 32, 64, 4);
	write_number(e + 36, 7, 4);
	write_number(e + 40, flags, 8);
	write_number(e + 56, packing ? size : 0, 8);
	memcpy(e + 64, "step.cu", 7);
	w->size = at + header + padded;
	write_number(w->data + 8, w->size - 16, 8);
	return at;
}

#endif
