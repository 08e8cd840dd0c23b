#include "report/frame.h"

#include <stdlib.h>
#include <string.h>

struct frame frame_first(const char *inlined_at, const char *sources)
{
	return (struct frame){.rest = inlined_at && *inlined_at ? inlined_at : NULL, .sources = sources};
}

int frame_next(struct frame *f)
{
	if (!f->rest)
		return 0;
	f->at = f->rest;
	f->size = f->file = strcspn(f->at, ",");
	const char *colon = memrchr(f->at, ':', f->size);
	f->line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
	f->file = colon ? (size_t)(colon - f->at) : f->size;
	f->rest = f->at[f->size] ? f->at + f->size + 1 : NULL;
	f->width = f->sources ? strcspn(f->sources, "\n") : 0;
	f->source = f->width ? f->sources : NULL;
	f->sources = f->sources && f->sources[f->width] ? f->sources + f->width + 1 : NULL;
	return 1;
}

static int frame_same_file(const char *a, size_t n, const struct frame *f) { return n == f->file && !memcmp(a, f->at, n); }

int frame_own(struct frame *f, const struct report_place *at)
{
	struct frame kernel = *f;
	while (frame_next(&kernel))
		;
	if (!kernel.at || !at->file || frame_same_file(at->file, strlen(at->file), &kernel))
		return 0;
	while (frame_next(f) && !frame_same_file(f->at, f->file, &kernel))
		;
	return 1;
}

struct frame frame_line(const struct report_place *at, const char *inlined_at, const char *sources)
{
	struct frame own = frame_first(inlined_at, sources);
	if (frame_own(&own, at))
		return own;
	own.at = at->file;
	own.size = own.file = strlen(at->file);
	own.line = at->line;
	return own;
}

char *frame_take(struct report_side *side, const char *place)
{
	const size_t n = strlen(place);
	for (struct frame f = frame_first(side->inlined_at, side->inlined_source); frame_next(&f);) {
		char *line = f.source && f.line && f.size == n && !memcmp(f.at, place, n) ? strndup(f.source, f.width) : NULL;
		if (!line)
			continue;
		side->source = line;
		side->at = (struct report_place){NULL, f.line, 0};
		return line;
	}
	return NULL;
}
