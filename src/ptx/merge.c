#include "ptx/merge.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/edit.h"
#include "ptx/lex.h"

struct part {
	struct ptx_module *m;
	struct ptx_token *token;
	struct ptx_edits edits;
	uint32_t files; /* of the parts before it */
};

/* A function or a variable of a module, as one part has it. */
struct symbol {
	const char *text; /* its part's */
	struct ptx_span name, whole;
	const struct ptx_decl *variable; /* NULL: a function */
	uint32_t part;
	uint8_t is_own, is_extern, is_weak, is_body, is_entry; /* is_own: nobody else sees it */
	uint8_t renamed, dropped;
};

struct merge {
	struct part *part;
	uint32_t parts;
	struct symbol *symbol;
	size_t symbols, room;
	struct text head; /* what stands before all parts */
	struct ptx_error *error;
};

static int merge_fail(const struct merge *g, const struct symbol *s, const char *what)
{
	snprintf(g->error->text, sizeof g->error->text, "%.*s %s", (int)(s->name.len < 120 ? s->name.len : 120), s->text + s->name.off, what);
	return -EINVAL;
}

/* ---- symbols ------------------------------------------------------------------------------------------------- */

static int merge_add(struct merge *g, const struct symbol *s)
{
	if (g->symbols == g->room) {
		const size_t room = g->room ? 2 * g->room : 64;
		struct symbol *more = realloc(g->symbol, room * sizeof *more);
		if (!more)
			return -ENOMEM;
		g->symbol = more;
		g->room = room;
	}
	g->symbol[g->symbols++] = *s;
	return 0;
}

/* Is the word one of those before a declaration's state space? */
static int is_linked(const struct ptx_module *m, const struct ptx_decl *d, const char *word)
{
	const size_t n = strlen(word);

	for (uint32_t at = d->whole.off; at + n <= d->name.off; at++)
		if (!memcmp(m->text + at, word, n))
			return 1;
	return 0;
}

static int merge_symbols(struct merge *g, uint32_t part)
{
	const struct ptx_module *m = g->part[part].m;
	int rc = 0;

	for (uint32_t i = 0; i < m->functions && !rc; i++) {
		const struct ptx_function *f = &m->function[i];
		const struct symbol s = {.text = m->text, .name = f->name, .whole = f->whole, .part = part, .is_extern = f->is_extern,
					 .is_own = !f->is_extern && !f->is_weak && !f->is_visible, .is_weak = f->is_weak,
					 .is_body = f->body.len != 0, .is_entry = f->is_entry};
		rc = merge_add(g, &s);
	}
	for (uint32_t i = 0; i < m->globals && !rc; i++) {
		const struct ptx_decl *d = m->global[i];
		const int weak = is_linked(m, d, ".weak") || is_linked(m, d, ".common");
		const struct symbol s = {.text = m->text, .name = d->name, .whole = d->whole, .variable = d, .part = part, .is_extern = d->is_extern,
					 .is_own = !d->is_extern && !weak && !d->is_visible, .is_weak = weak, .is_body = !d->is_extern};
		rc = d->is_function ? 0 : merge_add(g, &s);
	}
	return rc;
}

static int symbol_names(const struct symbol *a, const struct symbol *b)
{
	const uint32_t n = a->name.len < b->name.len ? a->name.len : b->name.len;
	const int order = memcmp(a->text + a->name.off, b->text + b->name.off, n);

	return order ? order : a->name.len < b->name.len ? -1 : a->name.len > b->name.len;
}

/* By name, then as they stand. */
static int symbol_order(const void *x, const void *y)
{
	const struct symbol *a = x, *b = y;
	const int order = symbol_names(a, b);

	if (order)
		return order;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return a->whole.off < b->whole.off ? -1 : a->whole.off > b->whole.off;
}

/* ---- which of one name stays --------------------------------------------------------------------------------- */

/* At the top, in the words of `s` up to its body. An extern one becomes what its definition is. */
static void head_prototype(struct merge *g, const struct symbol *s, const char *linkage)
{
	const char *extern_ = ".extern", *from = s->text + s->whole.off, *end = from + s->whole.len;
	const size_t n = strlen(extern_);

	text_puts(&g->head, linkage);
	from += s->whole.len > n && !memcmp(from, extern_, n) ? n : 0;
	text_add(&g->head, from, (size_t)(end - from));
	text_puts(&g->head, "\n");
}

/* Functions: calls may stand in a part before the definition, where it is declared. */
static int merge_functions(struct merge *g, struct symbol *s, size_t n)
{
	struct symbol *body = NULL, *declared = NULL;

	for (size_t i = 0; i < n; i++) {
		if (s[i].is_own)
			continue;
		if (s[i].is_body && body && !body->is_weak && !s[i].is_weak)
			return merge_fail(g, &s[i], "is defined by two of them");
		if (s[i].is_body && (!body || (body->is_weak && !s[i].is_weak)))
			body = &s[i];
		if (s[i].is_extern && !s[i].is_body && !declared)
			declared = &s[i];
	}
	if (declared)
		head_prototype(g, declared, !body ? ".extern" : body->is_weak ? ".weak" : ".visible");
	for (size_t i = 0; i < n; i++) {
		const int own_prototype = !s[i].is_body && body && s[i].part == body->part && !declared;
		s[i].dropped = !s[i].is_own && &s[i] != body && !own_prototype;
	}
	return 0;
}

/* Does a word begin in it that is no number? What it names may stand further down. */
static int names_others(const char *init, uint32_t size)
{
	for (uint32_t at = 0; at < size; at++)
		if (ptx_lex_is_word(init[at]) && !isdigit((unsigned char)init[at]) && (!at || !ptx_lex_is_word(init[at - 1])))
			return 1;
	return 0;
}

/* Variables: the definition, or the one declaration that asks for the strictest alignment. */
static int merge_variables(struct merge *g, struct symbol *s, size_t n)
{
	struct symbol *kept = NULL;

	for (size_t i = 0; i < n; i++) {
		if (s[i].is_own)
			continue;
		if (s[i].is_body && kept && kept->is_body && !kept->is_weak && !s[i].is_weak)
			return merge_fail(g, &s[i], "is defined by two of them");
		if (!kept || (s[i].is_body && (!kept->is_body || (kept->is_weak && !s[i].is_weak))) ||
		    (!s[i].is_body && !kept->is_body && s[i].variable->align > kept->variable->align))
			kept = &s[i];
		s[i].dropped = 1;
	}
	if (!kept)
		return 0;
	if (names_others(kept->text + kept->variable->init.off, kept->variable->init.len))
		return merge_fail(g, kept, "has an initialiser that names others");
	text_add(&g->head, kept->text + kept->whole.off, kept->whole.len);
	text_puts(&g->head, "\n");
	return 0;
}

/* A function that is declared, and nowhere to be had. */
static int merge_lacks(const struct merge *g, const struct symbol *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].variable || s[i].is_body || !s[i].is_extern || ptx_is_provided(s[i].text, s[i].name))
			return 0;
	return merge_fail(g, s, "is defined by none of them");
}

/* All of one name. */
static int merge_name(struct merge *g, struct symbol *s, size_t n)
{
	size_t others = 0;

	if (s[0].part == s[n - 1].part) /* of one part, which is right by itself */
		return 0;
	for (size_t i = 0; i < n; i++) {
		s[i].renamed = s[i].is_own;
		others += !s[i].is_own;
	}
	return !others ? 0 : s[0].variable ? merge_variables(g, s, n) : merge_functions(g, s, n);
}

static int merge_names(struct merge *g)
{
	int rc = 0;

	qsort(g->symbol, g->symbols, sizeof *g->symbol, symbol_order);
	for (size_t i = 0, next; i < g->symbols && !rc; i = next) {
		for (next = i + 1; next < g->symbols && !symbol_names(&g->symbol[i], &g->symbol[next]);)
			next++;
		rc = merge_lacks(g, &g->symbol[i], next - i);
		rc = rc ? rc : merge_name(g, &g->symbol[i], next - i);
	}
	return rc;
}

/* ---- the parts ----------------------------------------------------------------------------------------------- */

static int symbol_place(const void *x, const void *y)
{
	const struct symbol *a = *(const struct symbol *const *)x, *b = *(const struct symbol *const *)y;

	return a->whole.off < b->whole.off ? -1 : a->whole.off > b->whole.off;
}

/* What goes from a part, in its order; NULL behind the last. */
static struct symbol **part_dropped(const struct merge *g, uint32_t part)
{
	struct symbol **dropped = calloc(g->symbols + 1, sizeof *dropped);
	size_t n = 0;

	for (size_t i = 0; dropped && i < g->symbols; i++)
		if (g->symbol[i].part == part && g->symbol[i].dropped)
			dropped[n++] = &g->symbol[i];
	if (dropped)
		qsort(dropped, n, sizeof *dropped, symbol_place);
	return dropped;
}

static int part_renames(const struct merge *g, uint32_t part, const char *text, const struct ptx_token *t)
{
	const struct symbol key = {.text = text, .name = {t->off, t->len}};
	size_t from = 0, to = g->symbols;

	while (from < to) { /* the first that is not before it */
		const size_t middle = (from + to) / 2;
		if (symbol_names(&g->symbol[middle], &key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < g->symbols && !symbol_names(&g->symbol[from], &key); from++)
		if (g->symbol[from].part == part && g->symbol[from].renamed)
			return 1;
	return 0;
}

static int token_is(const char *text, const struct ptx_token *t, const char *word)
{
	return t->len == strlen(word) && !memcmp(text + t->off, word, t->len);
}

/* A number behind this token says a file. */
static int token_before_file(const char *text, const struct ptx_token *t)
{
	return t[1].kind == PTX_T_INT && (token_is(text, t, ".file") || token_is(text, t, ".loc") || token_is(text, t, "inlined_at"));
}

static void part_edit(struct part *p, const struct merge *g, uint32_t number, const struct ptx_token *t)
{
	const char *text = p->m->text;
	char is[32];

	if (p->files && token_before_file(text, t)) {
		snprintf(is, sizeof is, "%u", (unsigned)ptx_lex_int(text, t + 1) + p->files);
		ptx_edit_add(&p->edits, t[1].off, t[1].len, is, strlen(is));
	}
	if (t->kind == PTX_T_WORD && ((number && t->len > 1 && !memcmp(text + t->off, "$L", 2)) || part_renames(g, number, text, t))) {
		snprintf(is, sizeof is, "__part%u", (unsigned)number); /* labels of debug sections are the module's, too */
		ptx_edit_insert(&p->edits, t->off + t->len, is);
	}
}

/* The statement of a directive that a module has once: up to the next one. */
static const struct ptx_token *part_header(struct part *p, const struct ptx_token *t)
{
	const struct ptx_token *end = t + 1;

	while (end->kind != PTX_T_END && end->kind != PTX_T_DOT)
		end++;
	ptx_edit_add(&p->edits, t->off, end[-1].off + end[-1].len - t->off, "", 0);
	return end;
}

static int part_edits(struct merge *g, uint32_t number)
{
	struct part *p = &g->part[number];
	const char *text = p->m->text;
	struct symbol **dropped = part_dropped(g, number), **next = dropped;

	if (!dropped)
		return -ENOMEM;
	for (const struct ptx_token *t = p->token; t->kind != PTX_T_END;) {
		if (*next && t->off >= (*next)->whole.off) {
			const uint32_t end = (*next)->whole.off + (*next)->whole.len;
			ptx_edit_add(&p->edits, (*next)->whole.off, (*next)->whole.len, "", 0);
			while (t->kind != PTX_T_END && t->off < end)
				t++;
			next++;
		} else if (token_is(text, t, ".version") || token_is(text, t, ".target") || token_is(text, t, ".address_size")) {
			t = part_header(p, t);
		} else {
			part_edit(p, g, number, t++);
		}
	}
	free(dropped);
	return 0;
}

/* ---- all of it ----------------------------------------------------------------------------------------------- */

static uint32_t part_files(const struct ptx_module *m)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < m->files; i++)
		last = m->file[i].index > last ? m->file[i].index : last;
	return last;
}

static int merge_read(struct merge *g, const char *const *texts)
{
	uint32_t files = 0;
	int rc = 0;

	for (uint32_t i = 0; i < g->parts && !rc; i++) {
		const size_t size = strlen(texts[i]);
		rc = ptx_parse(texts[i], size, &g->part[i].m, g->error);
		rc = rc ? rc : ptx_lex(texts[i], size, &g->part[i].token, g->error);
		rc = rc ? rc : merge_symbols(g, i);
		g->part[i].files = files;
		files += rc ? 0 : part_files(g->part[i].m);
	}
	return rc;
}

static int is_newer(const struct ptx_module *a, const struct ptx_module *b)
{
	return a->version_major != b->version_major ? a->version_major > b->version_major : a->version_minor > b->version_minor;
}

static int merge_print(struct merge *g, struct text *out)
{
	const struct ptx_module *newest = g->part[0].m, *target = newest;
	int rc = 0;

	for (uint32_t i = 1; i < g->parts; i++) {
		newest = is_newer(g->part[i].m, newest) ? g->part[i].m : newest;
		target = g->part[i].m->sm > target->sm ? g->part[i].m : target;
	}
	text_printf(out, ".version %.*s\n.target %.*s\n.address_size 64\n", (int)newest->version.len, newest->text + newest->version.off,
		    (int)target->target.len, target->text + target->target.off);
	if (g->head.size)
		text_add(out, g->head.data, g->head.size);
	for (uint32_t i = 0; i < g->parts && !rc; i++) {
		rc = part_edits(g, i);
		rc = rc ? rc : ptx_edit_print(&g->part[i].edits, g->part[i].m->text, 0, (uint32_t)g->part[i].m->size, out);
		text_puts(out, "\n");
	}
	return rc ? rc : out->failed || g->head.failed ? -ENOMEM : 0;
}

int ptx_merge(const char *const *texts, uint32_t count, char **out, struct ptx_error *error)
{
	struct merge g = {.part = calloc(count, sizeof *g.part), .parts = count, .error = error};
	struct text text = {0};
	int rc = g.part ? merge_read(&g, texts) : -ENOMEM;

	rc = rc ? rc : merge_names(&g);
	rc = rc ? rc : merge_print(&g, &text);
	*out = rc ? NULL : text_take(&text);
	for (uint32_t i = 0; g.part && i < count; i++) {
		ptx_free(g.part[i].m);
		free(g.part[i].token);
		ptx_edit_clear(&g.part[i].edits);
	}
	free(g.part);
	free(g.symbol);
	text_free(&g.head);
	text_free(&text);
	return rc ? rc : *out ? 0 : -ENOMEM;
}
