#include "ptx/edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ptx_edit_add(struct ptx_edits *e, uint32_t off, uint32_t del, const char *text, size_t len)
{
	if (e->count == e->room) {
		size_t room = e->room ? e->room * 2 : 64;
		struct ptx_edit *more = realloc(e->edit, room * sizeof(*more));

		if (!more) {
			e->failed = 1;
			return;
		}
		e->edit = more;
		e->room = room;
	}
	e->edit[e->count] = (struct ptx_edit){off, del, (uint32_t)e->count, (uint32_t)e->inserted.size, (uint32_t)len};
	e->count++;
	text_add(&e->inserted, text, len);
}

void ptx_edit_insert(struct ptx_edits *e, uint32_t off, const char *text)
{
	ptx_edit_add(e, off, 0, text, strlen(text));
}

static int compare(const void *left, const void *right)
{
	const struct ptx_edit *a = left, *b = right;

	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

int ptx_edit_print(struct ptx_edits *e, const char *source, uint32_t from, uint32_t to, struct text *out)
{
	uint32_t at = from;

	if (e->failed || e->inserted.failed)
		return -ENOMEM;
	if (e->count)
		qsort(e->edit, e->count, sizeof(*e->edit), compare);
	for (size_t i = 0; i < e->count && e->edit[i].off <= to; i++) {
		const struct ptx_edit *d = &e->edit[i];

		if (d->off < from)
			continue;
		if (d->off < at || d->del > to - d->off)
			return -EINVAL;
		text_add(out, source + at, d->off - at);
		text_add(out, e->inserted.data + d->at, d->len);
		at = d->off + d->del;
	}
	text_add(out, source + at, to - at);
	return out->failed ? -ENOMEM : 0;
}

void ptx_edit_clear(struct ptx_edits *e)
{
	free(e->edit);
	text_free(&e->inserted);
	*e = (struct ptx_edits){0};
}
