/* Declarations: .reg .local .shared .param .global .const, with alignment, vector, array and initialiser. */
#include "ptx/parse.h"

static const struct { const char *word; enum ptx_space space; } spaces[] = {
	{"reg", PTX_REG},     {"sreg", PTX_SREG},     {"const", PTX_CONST}, {"global", PTX_GLOBAL},
	{"local", PTX_LOCAL}, {"param", PTX_PARAM},   {"shared", PTX_SHARED}, {"tex", PTX_GLOBAL},
};

/* The index in spaces[] of the dot word at the cursor, or -1. */
static int space_at(const struct ptx_parser *p)
{
	for (int i = 0; i < (int)(sizeof(spaces) / sizeof(*spaces)); i++)
		if (ptx_at_dot(p, spaces[i].word))
			return i;
	return -1;
}

static int at_linkage(const struct ptx_parser *p)
{
	return ptx_at_dot(p, "extern") || ptx_at_dot(p, "visible") || ptx_at_dot(p, "weak") || ptx_at_dot(p, "common");
}

int ptx_at_decl(const struct ptx_parser *p)
{
	return ptx_peek(p)->kind == PTX_T_DOT && (space_at(p) >= 0 || at_linkage(p));
}

struct ptx_decl *ptx_declare(struct ptx_parser *p, struct ptx_span name, int in_function)
{
	struct ptx_decl *d = ptx_new(p, sizeof(*d)), **slot;

	if (!d)
		return NULL;
	d->name = name;
	d->vector = 1;
	d->elements = 1;
	d->id = p->m->decl_ids++;
	if (in_function) {
		slot = ptx_push(p, &p->decls, sizeof(*slot));
		if (slot)
			*slot = d;
	}
	return d;
}

void ptx_name_decl(struct ptx_parser *p, struct ptx_decl *d, uint32_t scope, int in_function)
{
	if (ptx_names_put(in_function ? &p->names : &p->module_names, p->text, scope, d))
		ptx_no_memory(p);
}

struct ptx_decl *ptx_lookup(const struct ptx_parser *p, struct ptx_span name, uint32_t scope, uint32_t *index)
{
	struct ptx_decl *d = ptx_names_get(&p->names, p->text, scope, name, index);

	return d ? d : ptx_names_get(&p->module_names, p->text, 0, name, index);
}

/* Behind `.attribute`: is one of them .managed? */
static int take_managed(struct ptx_parser *p)
{
	const struct ptx_token *t = ptx_peek(p), *end;
	int managed = 0;

	ptx_skip_balanced(p);
	for (end = ptx_peek(p); t < end; t++)
		managed |= t->kind == PTX_T_DOT && ptx_is(p->m, (struct ptx_span){t->off + 1, t->len - 1}, "managed");
	return managed;
}

/* The dot words in front of the names. Words behind .ptr speak of what the parameter points to. */
static struct ptx_decl parse_attributes(struct ptx_parser *p)
{
	struct ptx_decl d = {.vector = 1, .elements = 1};

	for (const struct ptx_token *t = ptx_peek(p); t->kind == PTX_T_DOT; t = ptx_peek(p)) {
		struct ptx_span word = {t->off + 1, t->len - 1};
		enum ptx_type type = ptx_type_of(p->m, word);
		int space = space_at(p);

		ptx_next(p);
		if (space >= 0 && !d.is_ptr)
			d.space = spaces[space].space;
		else if (type != PTX_NOTYPE)
			d.type = type;
		else if (word.len == 2 && p->text[word.off] == 'v')
			d.vector = (uint32_t)(p->text[word.off + 1] - '0');
		else if (ptx_is(p->m, word, "ptr"))
			d.is_ptr = 1;
		else if (ptx_is(p->m, word, "extern"))
			d.is_extern = 1;
		else if (ptx_is(p->m, word, "visible"))
			d.is_visible = 1;
		else if (ptx_is(p->m, word, "attribute"))
			d.is_managed |= take_managed(p);
		else if (ptx_is(p->m, word, "align") && d.is_ptr)
			ptx_take_int(p);
		else if (ptx_is(p->m, word, "align"))
			d.align = (uint32_t)ptx_take_int(p);
		else if (space < 0 && d.type == PTX_NOTYPE && !ptx_is(p->m, word, "weak") && !ptx_is(p->m, word, "common"))
			d.type = PTX_OTHER; /* .texref, .surfref, .samplerref */
	}
	return d;
}

static void parse_dimensions(struct ptx_parser *p, struct ptx_decl *d)
{
	while (ptx_at(p, '[')) {
		const struct ptx_token *t = ptx_peek(p);

		if (t[1].kind == PTX_T_INT) {
			uint64_t n = (uint64_t)ptx_lex_int(p->text, t + 1);

			d->elements = d->elements && n > UINT64_MAX / d->elements ? UINT64_MAX : d->elements * n;
		} else {
			d->elements = 0;
		}
		ptx_skip_balanced(p);
	}
}

/* Functions named in an initialiser may be called from anywhere. */
static void parse_init(struct ptx_parser *p, struct ptx_decl *d)
{
	uint32_t off = ptx_peek(p)->off, start = p->at, index;

	while (!ptx_at_end(p) && !ptx_at(p, ',') && !ptx_at(p, ';')) {
		if (ptx_at(p, '{') || ptx_at(p, '('))
			ptx_skip_balanced(p);
		else
			ptx_next(p);
	}
	d->init = ptx_span_from(p, off);
	for (uint32_t i = start; i < p->at; i++) {
		const struct ptx_decl *f = NULL;

		if (p->token[i].kind == PTX_T_WORD)
			f = ptx_names_get(&p->module_names, p->text, 0, ptx_span_of(&p->token[i]), &index);
		if (f && f->is_function)
			((struct ptx_function *)p->functions.data)[f->function].address_taken = 1;
	}
}

/* One name with its <count>, [dimensions] and initialiser. */
static struct ptx_decl *parse_name(struct ptx_parser *p, const struct ptx_decl *like, int in_function)
{
	const struct ptx_token *t = ptx_peek(p);
	struct ptx_decl *d;
	uint32_t id;

	if (t->kind != PTX_T_WORD) {
		ptx_fail(p, "expected a name");
		return NULL;
	}
	ptx_next(p);
	d = ptx_declare(p, ptx_span_of(t), in_function);
	if (!d)
		return NULL;
	id = d->id;
	*d = *like;
	d->id = id;
	d->name = ptx_span_of(t);
	if (ptx_accept(p, '<')) {
		uint64_t n = ptx_take_int(p);

		d->count = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
		ptx_expect(p, '>');
	}
	parse_dimensions(p, d);
	if (ptx_accept(p, '='))
		parse_init(p, d);
	if (!ptx_is(p->m, d->name, "_"))
		ptx_name_decl(p, d, in_function ? p->scope : 0, in_function);
	return d;
}

void ptx_parse_decls(struct ptx_parser *p, int in_function)
{
	struct ptx_list *list = in_function ? &p->decls : &p->globals;
	size_t first = list->count;
	uint32_t off = ptx_peek(p)->off;
	struct ptx_decl like = parse_attributes(p);

	do {
		struct ptx_decl *d = parse_name(p, &like, in_function), **slot;

		if (!in_function && d && (slot = ptx_push(p, list, sizeof(*slot))))
			*slot = d;
	} while (ptx_accept(p, ','));
	ptx_expect(p, ';');
	for (size_t i = first; i < list->count; i++)
		((struct ptx_decl **)list->data)[i]->whole = ptx_span_from(p, off);
}

struct ptx_decl *ptx_parse_param(struct ptx_parser *p)
{
	uint32_t off = ptx_peek(p)->off;
	struct ptx_decl like = parse_attributes(p), *d = parse_name(p, &like, 1);

	if (d)
		d->whole = ptx_span_from(p, off);
	return d;
}
