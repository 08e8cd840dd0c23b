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

static int source_order(const void *a, const void *b)
{
	const struct report_side *one = *(struct report_side *const *)a, *other = *(struct report_side *const *)b;
	int order = strcmp(one->at.file, other->at.file);
	return order ? order : (one->at.line > other->at.line) - (one->at.line < other->at.line);
}

static void source_want(struct report_side **side, size_t *count, struct report_side *one)
{
	if (one->at.file && one->at.line && !one->source)
		side[(*count)++] = one;
}

/* The sides that have a place, and no line yet, by place; malloc'ed, NULL if there is none. */
static struct report_side **source_sides(struct report *r, size_t *count)
{
	const size_t most = 2 * (size_t)r->findings + r->waits;
	struct report_side **side = most ? malloc(most * sizeof *side) : NULL;
	*count = 0;
	for (uint32_t i = 0; side && i < r->findings; i++) {
		source_want(side, count, &r->finding[i].first);
		source_want(side, count, &r->finding[i].second);
	}
	for (uint32_t i = 0; side && i < r->waits; i++)
		source_want(side, count, &r->wait[i].side);
	if (*count)
		qsort(side, *count, sizeof *side, source_order);
	return side;
}

/* Not a device, nor a pipe without a writer. */
static int source_read(const char *file, const char *directory, char **data, size_t *size)
{
	struct text path = {0};
	struct stat what;
	if (file[0] != '/' && directory)
		text_printf(&path, "%s/", directory);
	text_puts(&path, file);
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

/* The lines of one file, of which `side` names those that are wanted, in their order. */
static int source_lines(struct report *r, struct report_side **side, size_t count, const char *data, size_t size)
{
	const char *at = data, *end = data + size;
	size_t i = 0;
	for (uint32_t number = 1; at < end && i < count; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
		size_t length = (size_t)(stop - at);
		const char *line = NULL;
		length -= length && at[length - 1] == '\r';
		for (; i < count && side[i]->at.line == number; i++) {
			if (!line && source_is_text(at, length) && !(line = pool_copy(&r->pool, at, length)))
				return -ENOMEM;
			side[i]->source = line;
		}
		at = stop + 1;
	}
	return 0;
}

int report_add_sources(struct report *r, const char *directory)
{
	size_t count, size;
	struct report_side **side = source_sides(r, &count);
	int rc = 0;
	for (size_t i = 0, n; i < count && !rc; i += n) {
		const char *file = side[i]->at.file;
		char *data = NULL;
		for (n = 1; i + n < count && !strcmp(side[i + n]->at.file, file);)
			n++;
		if (!source_read(file, directory, &data, &size))
			rc = source_lines(r, side + i, n, data, size);
		free(data);
	}
	free(side);
	return rc;
}
