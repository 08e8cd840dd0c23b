#include "ptx/info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/layout.h"

#define FIELDS 12

void ptx_info_field(struct text *out, const char *bytes, size_t n)
{
	text_puts(out, "\t");
	for (size_t i = 0; i < n; i++) {
		switch (bytes[i]) {
		case '\t':
			text_puts(out, "\\t");
			break;
		case '\n':
			text_puts(out, "\\n");
			break;
		case '\\':
			text_puts(out, "\\\\");
			break;
		default:
			text_add(out, &bytes[i], 1);
		}
	}
}

/* Cuts a line into its fields and undoes their escapes, in place; returns their number. */
static uint32_t split(char *line, char *field[FIELDS])
{
	uint32_t n = 0;
	char *out = line;

	field[n++] = out;
	for (char *in = line; *in; in++) {
		if (*in == '\t') {
			*out++ = '\0';
			if (n == FIELDS)
				return FIELDS + 1;
			field[n++] = out;
		} else if (*in == '\\' && in[1]) {
			in++;
			*out++ = *in == 't' ? '\t' : *in == 'n' ? '\n' : *in;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return n;
}

static uint32_t number(const char *s)
{
	return (uint32_t)strtoul(s, NULL, 10);
}

static int take_head(char **f, uint32_t n, struct ptx_info *info)
{
	if (n != 4 || strcmp(f[0], "gsan-info"))
		return -EINVAL;
	info->abi = number(f[1]);
	info->kernel = f[2];
	info->sync = !strcmp(f[3], "sync");
	return info->abi == GSAN_ABI ? 0 : -EINVAL;
}

/* Of one that was named already; they are in order so far. behind: of one that awaits. */
static void take_mark(struct ptx_info *info, const char *what, uint32_t id, const char *behind)
{
	const struct ptx_site *known = ptx_info_site(info, id);
	struct ptx_site *s = known ? &info->site[known - info->site] : NULL;

	if (!s)
		return;
	if (behind) {
		s->awaits = 1;
		s->behind = behind;
	} else if (*what == 'l') {
		s->late = 1;
	} else {
		s->takes |= *what == 't';
		s->again |= *what == 'a';
	}
}

static struct ptx_site site_of(char **f)
{
	return (struct ptx_site){.id = number(f[1]), .file = f[2], .line = number(f[3]), .column = number(f[4]), .function = f[5],
				 .op = f[6], .semantics = f[7], .scope = f[8], .bytes = number(f[9]), .inlined_at = f[10]};
}

static int take_line(char **f, uint32_t n, struct ptx_info *info)
{
	if (n == 2 && !strcmp(f[0], "source")) {
		info->source = f[1];
	} else if (n == 11 && !strcmp(f[0], "site")) {
		info->site[info->sites++] = site_of(f);
	} else if (n == 12 && !strcmp(f[0], "fence")) {
		info->fence[info->fences++] = (struct ptx_fence){site_of(f), f[11]};
	} else if (n == 2 && (!strcmp(f[0], "late") || !strcmp(f[0], "takes") || !strcmp(f[0], "again"))) {
		take_mark(info, f[0], number(f[1]), NULL);
	} else if (n == 3 && !strcmp(f[0], "awaits")) {
		take_mark(info, f[0], number(f[1]), f[2]);
	} else if (n == 3 && !strcmp(f[0], "barrier")) {
		info->barrier[info->barriers++] = (struct ptx_barrier){number(f[1]), f[2]};
	} else if (n == 3 && !strcmp(f[0], "early")) {
		info->early[info->earlies++] = (struct ptx_early){number(f[1]), f[2]};
	} else if (n == 4 && !strcmp(f[0], "apart")) {
		info->apart[info->aparts++] = (struct ptx_apart){number(f[1]), number(f[2]), number(f[3])};
	} else if (n == 5 && !strcmp(f[0], "left")) {
		info->left[info->lefts++] =
			(struct ptx_left){.file = f[1], .line = number(f[2]), .opcode = f[3], .reason = f[4]};
	} else if (n == 1 && !strcmp(f[0], "host")) {
		info->host = 1;
	} else if (n == 3 && !strcmp(f[0], "frame")) {
		info->frame[info->frames++] = (struct ptx_frame){.object = f[1], .address = strtoull(f[2], NULL, 16)};
	} else if (!(n == 1 && (!strcmp(f[0], "grid") || !strcmp(f[0], "warps"))) &&
		   (n != 2 || (strcmp(f[0], "triggers") && strcmp(f[0], "variable") && strcmp(f[0], "variables") && strcmp(f[0], "managed")))) { /* libgsan reads them */
		return -EINVAL;
	}
	return 0;
}

static int by_id(const void *left, const void *right)
{
	const struct ptx_site *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* One allocation: fences, flags that may be early, barriers, sites, lefts, frames, aparts, then the text that they point into. */
static int reserve(const char *text, size_t size, struct ptx_info *info, char **copy)
{
	size_t lines = 1;
	char *memory;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	size_t each = sizeof(struct ptx_site) + sizeof(struct ptx_left) + sizeof(struct ptx_frame) + sizeof(struct ptx_apart);
	memory = malloc(lines * (sizeof(struct ptx_fence) + sizeof(struct ptx_early) + sizeof(struct ptx_barrier) + each) + size + 1);
	if (!memory)
		return -ENOMEM;
	info->memory = memory;
	info->fence = (struct ptx_fence *)(void *)memory;
	memory += lines * sizeof(struct ptx_fence);
	info->early = (struct ptx_early *)(void *)memory;
	memory += lines * sizeof(struct ptx_early);
	info->barrier = (struct ptx_barrier *)(void *)memory;
	memory += lines * sizeof(struct ptx_barrier);
	info->site = (struct ptx_site *)(void *)memory;
	info->left = (struct ptx_left *)(void *)(memory + lines * sizeof(struct ptx_site));
	info->frame = (struct ptx_frame *)(void *)(memory + lines * (sizeof(struct ptx_site) + sizeof(struct ptx_left)));
	info->apart = (struct ptx_apart *)(void *)(memory + lines * (each - sizeof(struct ptx_apart)));
	*copy = memory + lines * each;
	memcpy(*copy, text, size);
	(*copy)[size] = '\0';
	return 0;
}

int ptx_info_parse(const char *text, uint64_t size, struct ptx_info *info)
{
	char *line, *next, *field[FIELDS];
	int status, first = 1;

	*info = (struct ptx_info){.source = "-"};
	status = reserve(text, strnlen(text, size), info, &line);
	for (; !status && *line; line = next) {
		char *end = strchr(line, '\n');

		next = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		status = (first ? take_head : take_line)(field, split(line, field), info);
		first = 0;
	}
	if (!status && first)
		status = -EINVAL;
	if (status) {
		uint32_t abi = info->abi;

		ptx_info_free(info);
		info->abi = abi;
		return status;
	}
	qsort(info->site, info->sites, sizeof(*info->site), by_id);
	return 0;
}

void ptx_info_free(struct ptx_info *info)
{
	free(info->memory);
	*info = (struct ptx_info){0};
}

const struct ptx_site *ptx_info_site(const struct ptx_info *info, uint32_t id)
{
	struct ptx_site key = {.id = id};

	return info->sites ? bsearch(&key, info->site, info->sites, sizeof(key), by_id) : NULL;
}

static int is_same_place(const struct ptx_site *a, const struct ptx_site *b)
{
	return a->line == b->line && a->column == b->column && !strcmp(a->file, b->file) && !strcmp(a->inlined_at, b->inlined_at);
}

static int comes_before(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b)
{
	for (uint32_t i = 0; i < info->aparts; i++)
		if (ptx_apart_has(&info->apart[i], a->id, b->id))
			return 0;
	return a->id < b->id;
}

/* What a compiler has unrolled stands there several times, and may be one of a round before. */
int ptx_info_before(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b)
{
	const struct ptx_site *end = info->site + info->sites;

	if (strcmp(a->function, b->function))
		return 0;
	for (const struct ptx_site *s = info->site; s < end; s++)
		for (const struct ptx_site *t = is_same_place(s, a) ? info->site : end; t < end; t++)
			if (is_same_place(t, b) && !comes_before(info, s, t))
				return 0;
	return 1;
}

static int is_among(const char *sites, uint32_t id)
{
	char *end;

	for (const char *at = sites; *at; at = end + 1) {
		unsigned long from = strtoul(at, &end, 10), to = *end == '-' ? strtoul(end + 1, &end, 10) : 0;

		if (*end != ',')
			return 0;
		if (from <= id && id <= to)
			return 1;
	}
	return 0;
}

static int is_behind(const struct ptx_fence *fence, uint32_t id) { return is_among(fence->behind, id); }

static int is_early(const struct ptx_info *info, const struct ptx_site *flag, uint32_t id)
{
	for (uint32_t i = 0; i < info->earlies; i++) {
		const struct ptx_site *s = ptx_info_site(info, info->early[i].flag);
		if (s && is_same_place(s, flag) && is_among(info->early[i].sites, id))
			return 1;
	}
	return 0;
}

int ptx_info_early(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b)
{
	if (strcmp(a->function, b->function))
		return 0;
	for (const struct ptx_site *s = info->site; s < info->site + info->sites; s++)
		if (is_same_place(s, b) && !is_early(info, a, s->id))
			return 0;
	return 1;
}

const struct ptx_fence *ptx_info_fence(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b, const struct ptx_fence *after)
{
	for (const struct ptx_fence *f = after ? after + 1 : info->fence; f < info->fence + info->fences; f++)
		if (!strcmp(f->at.function, a->function) && !strcmp(f->at.function, b->function) && a->id < f->at.id && !is_behind(f, a->id) &&
		    is_behind(f, b->id))
			return f;
	return NULL;
}

static int is_met(const struct ptx_info *info, uint32_t a, uint32_t b)
{
	for (const struct ptx_barrier *m = info->barrier; m < info->barrier + info->barriers; m++)
		if (a < m->id && !is_among(m->behind, a) && is_among(m->behind, b))
			return 1;
	return 0;
}

int ptx_info_meets(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b)
{
	for (const struct ptx_site *t = info->site; t < info->site + info->sites && !strcmp(a->function, b->function); t++)
		if (is_same_place(t, b) && is_met(info, a->id, t->id))
			return 1;
	return 0;
}

int ptx_info_waited(const struct ptx_info *info, const struct ptx_site *wait, const struct ptx_site *b)
{
	for (const struct ptx_site *s = info->site; s < info->site + info->sites && !strcmp(wait->function, b->function); s++)
		if (s->awaits && is_same_place(s, wait) && (is_among(s->behind, b->id) || is_met(info, s->id, b->id)))
			return 1;
	return 0;
}
