/* The lines of source that findings and waits are about, as they are when the report is made: they go into the JSON, so that it can be read
 * where the files are not, or no longer the same. Files are named by debug information, which may name anything: only regular files of lines
 * of text are looked into, each once. */
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

#define SOURCE_FILE_MAX (16 << 20)
#define SOURCE_LINE_MAX 500 /* bytes; longer ones are generated, or data */

/* A line that is wanted, and where it is to be put. `file` is of `size` bytes: of an operation, of the user's frame. */
struct source_want { const char *file; size_t size; uint32_t line; const char **into; };

static int source_file_order(const struct source_want *a, const struct source_want *b)
{
	const size_t n = a->size < b->size ? a->size : b->size;
	const int order = memcmp(a->file, b->file, n);
	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int source_order(const void *a, const void *b)
{
	const struct source_want *one = a, *other = b;
	const int order = source_file_order(one, other);
	return order ? order : (one->line > other->line) - (one->line < other->line);
}

static void source_want(struct source_want *want, size_t *count, const char *file, size_t size, uint32_t line, const char **into)
{
	if (file && size && line && !*into)
		want[(*count)++] = (struct source_want){file, size, line, into};
}

static void source_want_side(struct source_want *want, size_t *count, struct report_side *side)
{
	source_want(want, count, side->at.file, side->at.file ? strlen(side->at.file) : 0, side->at.line, &side->source);
}

/* inlined_at is the user's frame alone, FILE:LINE. */
static void source_want_finding(struct source_want *want, size_t *count, struct report_finding *f)
{
	source_want_side(want, count, &f->first);
	source_want_side(want, count, &f->second);
	for (uint32_t i = 0; i < f->edge.ops; i++) {
		struct report_op *op = &f->edge.op[i];
		const char *colon = op->inlined_at ? strrchr(op->inlined_at, ':') : NULL;
		if (colon)
			source_want(want, count, op->inlined_at, (size_t)(colon - op->inlined_at), (uint32_t)strtoul(colon + 1, NULL, 10), &op->source);
		else
			source_want(want, count, op->at.file, strlen(op->at.file), op->at.line, &op->source);
	}
}

/* What has a place, and no line yet, by place; malloc'ed, NULL if there is nothing. */
static struct source_want *source_wanted(struct report *r, size_t *count)
{
	const size_t most = (2 + REPORT_EDGE_OPS) * ((size_t)r->findings + r->pairs) + r->waits;
	struct source_want *want = most ? malloc(most * sizeof *want) : NULL;
	*count = 0;
	for (uint32_t i = 0; want && i < r->findings; i++)
		source_want_finding(want, count, &r->finding[i]);
	for (uint32_t i = 0; want && i < r->pairs; i++)
		source_want_finding(want, count, &r->pair[i]);
	for (uint32_t i = 0; want && i < r->waits; i++)
		source_want_side(want, count, &r->wait[i].side);
	if (*count)
		qsort(want, *count, sizeof *want, source_order);
	return want;
}

/* Not a device, nor a pipe without a writer. */
static int source_read(const struct source_want *want, const char *directory, char **data, size_t *size)
{
	struct text path = {0};
	struct stat what;
	if (want->file[0] != '/' && directory)
		text_printf(&path, "%s/", directory);
	text_add(&path, want->file, want->size);
	int rc = !path.failed && !stat(path.data, &what) && S_ISREG(what.st_mode) && what.st_size <= SOURCE_FILE_MAX
			 ? text_read_file(path.data, data, size) : -ENOENT;
	text_free(&path);
	return rc;
}

static int source_is_text(const char *line, size_t length)
{
	uint32_t point;
	for (size_t i = 0, n; i < length; i += n) {
		n = utf8_next(line + i, length - i, &point);
		if (!n || (point != '\t' && utf8_commands(point)))
			return 0;
	}
	return length <= SOURCE_LINE_MAX;
}

/* The lines of one file, of which `want` names those that are wanted, in their order. */
static int source_lines(struct report *r, const struct source_want *want, size_t count, const char *data, size_t size)
{
	const char *at = data, *end = data + size;
	size_t i = 0;
	for (uint32_t number = 1; at < end && i < count; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
		size_t length = (size_t)(stop - at);
		const char *line = NULL;
		length -= length && at[length - 1] == '\r';
		for (; i < count && want[i].line == number; i++) {
			if (!line && source_is_text(at, length) && !(line = pool_copy(&r->pool, at, length)))
				return -ENOMEM;
			*want[i].into = line;
		}
		at = stop + 1;
	}
	return 0;
}

int report_add_sources(struct report *r, const char *directory)
{
	size_t count, size;
	struct source_want *want = source_wanted(r, &count);
	int rc = 0;
	for (size_t i = 0, n; i < count && !rc; i += n) {
		char *data = NULL;
		for (n = 1; i + n < count && !source_file_order(&want[i + n], &want[i]);)
			n++;
		if (!source_read(&want[i], directory, &data, &size))
			rc = source_lines(r, want + i, n, data, size);
		free(data);
	}
	free(want);
	return rc;
}
