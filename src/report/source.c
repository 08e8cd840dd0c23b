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
#include "report/frame.h"

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

static void source_want_frame(struct source_want *want, size_t *count, const struct frame *f, const char **into)
{
	source_want(want, count, f->at, f->file, f->line, into);
}

static void source_want_finding(struct source_want *want, size_t *count, struct report_finding *f)
{
	source_want_side(want, count, &f->first);
	source_want_side(want, count, &f->second);
	for (uint32_t i = 0; i < f->edge.ops; i++) {
		struct report_op *op = &f->edge.op[i];
		struct frame own = frame_first(op->inlined_at, NULL);
		if (frame_own(&own, &op->at))
			source_want_frame(want, count, &own, &op->source);
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

static int source_stat(const char *directory, const char *file, size_t size, struct text *path, struct stat *what)
{
	if (file[0] != '/' && directory)
		text_printf(path, "%s/", directory);
	text_add(path, file, size);
	return path->failed || stat(path->data, what) || !S_ISREG(what->st_mode) ? -ENOENT : 0;
}

/* What was compiled ahead is in the program, unless that is a command of the system, which runs others, or an interpreter. */
static int source_is_newer_than_program(const struct report *r, const struct source_want *want, const struct stat *source)
{
	const char *program = r->job.arguments ? r->job.argv[0] : NULL, *slash = program ? strrchr(program, '/') : NULL;
	struct text path = {0};
	struct stat what;
	if (!slash || !strncmp(slash, "/python", 7) || !strncmp(program, "/usr/", 5) || !strncmp(program, "/bin/", 5) || text_before(want->file, want->size, ".py"))
		return 0;
	const int known = !source_stat(r->job.directory, program, strlen(program), &path, &what);
	const struct timespec *a = &source->st_mtim, *b = &what.st_mtim;
	text_free(&path);
	return known && (a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec));
}

/* A file that was written since may say something else than what ran. */
static int source_note_newer(struct report *r, const struct source_want *want, const struct stat *source)
{
	static const char job[] = "it was written after the job had begun", program[] = "it is newer than the program";
	const int newer = r->job.start && source->st_mtim.tv_sec > r->job.start;
	if (!newer && !source_is_newer_than_program(r, want, source))
		return 0;
	char *name = strndup(want->file, want->size);
	const struct report_note note = {.key = REPORT_SOURCE, .name = name, .reason = newer ? job : program,
					 .ranks = (uint32_t)((UINT64_C(1) << r->ranks) - 1)};
	const int rc = name ? report_add_note(r, &note) : -ENOMEM;
	free(name);
	return rc;
}

/* Not a device, nor a pipe without a writer. */
static int source_read(struct report *r, const struct source_want *want, const char *directory, char **data, size_t *size)
{
	struct text path = {0};
	struct stat what;
	int rc = source_stat(directory, want->file, want->size, &path, &what);
	if (!rc && what.st_size > SOURCE_FILE_MAX)
		rc = -ENOENT;
	rc = rc ? rc : text_read_file(path.data, data, size);
	text_free(&path);
	return rc ? rc : source_note_newer(r, want, &what);
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

static int source_find(struct report *r, const char *directory, const struct source_want *want, size_t count)
{
	size_t size;
	int rc = 0;
	for (size_t i = 0, n; i < count && !rc; i += n) {
		char *data = NULL;
		for (n = 1; i + n < count && !source_file_order(&want[i + n], &want[i]);)
			n++;
		if (!source_read(r, &want[i], directory, &data, &size))
			rc = source_lines(r, want + i, n, data, size);
		free(data);
	}
	return rc;
}

/* ---- the places that a side was inlined at ---- */

/* Of equal texts, which are one (report_copy), one: `at`, and the lines of its frames from `line` on. */
struct source_chain { const char *at; const char **line; uint32_t frames; const char *joined; };

static int source_chain_order(const void *a, const void *b)
{
	const struct source_chain *one = a, *other = b;
	return strcmp(one->at, other->at);
}

static void source_add_chain(struct source_chain *chain, size_t *count, const char *at, const char *known)
{
	if (at && !known)
		chain[(*count)++].at = at;
}

static void source_add_chains(struct source_chain *chain, size_t *count, const struct report_finding *f)
{
	source_add_chain(chain, count, f->first.inlined_at, f->first.inlined_source);
	source_add_chain(chain, count, f->second.inlined_at, f->second.inlined_source);
	for (uint32_t i = 0; i < f->edge.ops; i++)
		source_add_chain(chain, count, f->edge.op[i].inlined_at, f->edge.op[i].inlined_source);
}

/* All that have no lines yet, each once; malloc'ed, NULL: out of memory. */
static struct source_chain *source_chains(const struct report *r, size_t *count, size_t *frames)
{
	struct source_chain *chain = calloc((2 + REPORT_EDGE_OPS) * ((size_t)r->findings + r->pairs) + r->waits + 1, sizeof *chain);
	size_t all = 0;
	*count = *frames = 0;
	for (uint32_t i = 0; chain && i < r->findings; i++)
		source_add_chains(chain, &all, &r->finding[i]);
	for (uint32_t i = 0; chain && i < r->pairs; i++)
		source_add_chains(chain, &all, &r->pair[i]);
	for (uint32_t i = 0; chain && i < r->waits; i++)
		source_add_chain(chain, &all, r->wait[i].side.inlined_at, r->wait[i].side.inlined_source);
	if (all)
		qsort(chain, all, sizeof *chain, source_chain_order);
	for (size_t i = 0; i < all; i++) {
		if (*count && !source_chain_order(&chain[*count - 1], &chain[i]))
			continue;
		struct source_chain *c = &chain[(*count)++];
		*c = (struct source_chain){.at = chain[i].at};
		for (struct frame f = frame_first(c->at, NULL); frame_next(&f);)
			c->frames++;
		*frames += c->frames;
	}
	return chain;
}

static int source_join(struct report *r, struct source_chain *c)
{
	struct text joined = {0};
	int some = 0;
	for (uint32_t i = 0; i < c->frames; i++) {
		text_printf(&joined, "%s%s", i ? "\n" : "", c->line[i] ? c->line[i] : "");
		some |= c->line[i] != NULL;
	}
	if (some && !joined.failed)
		c->joined = pool_copy(&r->pool, joined.data, joined.size);
	const int rc = joined.failed || (some && !c->joined) ? -ENOMEM : 0;
	text_free(&joined);
	return rc;
}

static void source_put_chain(const char *at, const char **into, const struct source_chain *chain, size_t count)
{
	const struct source_chain *c = at && !*into && count ? bsearch(&(struct source_chain){.at = at}, chain, count, sizeof *chain, source_chain_order) : NULL;
	if (c)
		*into = c->joined;
}

static void source_put_chains(struct report_finding *f, const struct source_chain *chain, size_t count)
{
	source_put_chain(f->first.inlined_at, &f->first.inlined_source, chain, count);
	source_put_chain(f->second.inlined_at, &f->second.inlined_source, chain, count);
	for (uint32_t i = 0; i < f->edge.ops; i++)
		source_put_chain(f->edge.op[i].inlined_at, &f->edge.op[i].inlined_source, chain, count);
}

static int source_add_inlined(struct report *r, const char *directory)
{
	size_t count, frames, wanted = 0, used = 0;
	struct source_chain *chain = source_chains(r, &count, &frames);
	struct source_want *want = calloc(frames + 1, sizeof *want);
	const char **line = calloc(frames + 1, sizeof *line);
	int rc = chain && want && line ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && !rc; i++) {
		chain[i].line = &line[used];
		for (struct frame f = frame_first(chain[i].at, NULL); frame_next(&f);)
			source_want_frame(want, &wanted, &f, &line[used++]);
	}
	if (!rc && wanted)
		qsort(want, wanted, sizeof *want, source_order);
	rc = rc ? rc : source_find(r, directory, want, wanted);
	for (size_t i = 0; i < count && !rc; i++)
		rc = source_join(r, &chain[i]);
	for (uint32_t i = 0; i < r->findings && !rc; i++)
		source_put_chains(&r->finding[i], chain, count);
	for (uint32_t i = 0; i < r->pairs && !rc; i++)
		source_put_chains(&r->pair[i], chain, count);
	for (uint32_t i = 0; i < r->waits && !rc; i++)
		source_put_chain(r->wait[i].side.inlined_at, &r->wait[i].side.inlined_source, chain, count);
	free(chain);
	free(want);
	free(line);
	return rc;
}

int report_add_sources(struct report *r, const char *directory)
{
	size_t count;
	struct source_want *want = source_wanted(r, &count);
	int rc = source_find(r, directory, want, count);
	free(want);
	rc = rc ? rc : source_add_inlined(r, directory);
	report_sort_notes(r);
	return rc;
}
