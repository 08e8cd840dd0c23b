/* Edits: bytes of the source deleted and bytes inserted, sorted by offset. Printing copies the source between them, so
 * a text without edits comes out byte for byte. Insertions at one offset keep the order in which they were made. */
#ifndef GSAN_PTX_EDIT_H
#define GSAN_PTX_EDIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct ptx_edit { uint32_t off, del, order, at, len; }; /* at, len: its text within ptx_edits.inserted */
struct ptx_edits {
	struct ptx_edit *edit;
	size_t count, room;
	struct text inserted;
	int failed; /* out of memory; printing then fails */
};

void ptx_edit_add(struct ptx_edits *e, uint32_t off, uint32_t del, const char *text, size_t len);
void ptx_edit_insert(struct ptx_edits *e, uint32_t off, const char *text); /* NUL-terminated */
/* Appends source[from, to) with its edits to *out. Those outside the range are left out; an insertion at `to` is in.
 * Returns 0, -ENOMEM, or -EINVAL if a deletion reaches into another edit or past `to`. */
int ptx_edit_print(struct ptx_edits *e, const char *source, uint32_t from, uint32_t to, struct text *out);
void ptx_edit_clear(struct ptx_edits *e);

#endif
