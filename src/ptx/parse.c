/* The module level of the parser: cursor, lists, functions and the statements of a body. */
#include "ptx/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ptx_token *ptx_peek(const struct ptx_parser *p)
{
	return &p->token[p->at];
}

const struct ptx_token *ptx_next(struct ptx_parser *p)
{
	const struct ptx_token *t = &p->token[p->at];

	p->at += t->kind != PTX_T_END;
	return t;
}

int ptx_at_end(const struct ptx_parser *p)
{
	return ptx_peek(p)->kind == PTX_T_END;
}

int ptx_at(const struct ptx_parser *p, char punct)
{
	return ptx_peek(p)->kind == PTX_T_PUNCT && p->text[ptx_peek(p)->off] == punct;
}

int ptx_accept(struct ptx_parser *p, char punct)
{
	if (!ptx_at(p, punct))
		return 0;
	p->at++;
	return 1;
}

int ptx_at_dot(const struct ptx_parser *p, const char *word)
{
	const struct ptx_token *t = ptx_peek(p);

	return t->kind == PTX_T_DOT && ptx_is(p->m, (struct ptx_span){t->off + 1, t->len - 1}, word);
}

static void stop(struct ptx_parser *p)
{
	while (p->token[p->at].kind != PTX_T_END)
		p->at++;
}

void ptx_fail(struct ptx_parser *p, const char *what)
{
	const struct ptx_token *t = ptx_peek(p);
	char text[200];

	if (p->failed)
		return;
	if (t->kind == PTX_T_END)
		snprintf(text, sizeof(text), "%s at the end of the text", what);
	else
		snprintf(text, sizeof(text), "%s at '%.*s'", what, (int)(t->len < 80 ? t->len : 80), p->text + t->off);
	ptx_error_at(p->error, p->text, t->off, t->line, text);
	p->failed = -EINVAL;
	stop(p);
}

void ptx_no_memory(struct ptx_parser *p)
{
	p->failed = -ENOMEM;
	stop(p);
}

void ptx_expect(struct ptx_parser *p, char punct)
{
	char what[16];

	if (ptx_accept(p, punct))
		return;
	snprintf(what, sizeof(what), "expected '%c'", punct);
	ptx_fail(p, what);
}

void *ptx_new(struct ptx_parser *p, size_t size)
{
	void *at = pool_alloc(p->pool, size);

	if (!at)
		ptx_no_memory(p);
	return at;
}

void *ptx_push(struct ptx_parser *p, struct ptx_list *list, size_t size)
{
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		void *more = realloc(list->data, room * size);

		if (!more) {
			ptx_no_memory(p);
			return NULL;
		}
		list->data = more;
		list->room = room;
	}
	return memset((char *)list->data + size * list->count++, 0, size);
}

void *ptx_keep(struct ptx_parser *p, struct ptx_list *list, size_t size)
{
	void *at = ptx_new(p, list->count * size + 1);

	if (at && list->count)
		memcpy(at, list->data, list->count * size);
	list->count = 0;
	return at;
}

struct ptx_span ptx_span_of(const struct ptx_token *t)
{
	return (struct ptx_span){t->off, t->len};
}

struct ptx_span ptx_span_from(const struct ptx_parser *p, uint32_t off)
{
	const struct ptx_token *last = p->at ? &p->token[p->at - 1] : p->token;

	return (struct ptx_span){off, last->off + last->len > off ? last->off + last->len - off : 0};
}

uint32_t ptx_skip_balanced(struct ptx_parser *p)
{
	uint32_t depth = 0, off = ptx_peek(p)->off;

	do {
		if (ptx_at(p, '(') || ptx_at(p, '[') || ptx_at(p, '{'))
			depth++;
		else if (ptx_at(p, ')') || ptx_at(p, ']') || ptx_at(p, '}'))
			depth--;
		ptx_next(p);
	} while (depth && !ptx_at_end(p));
	if (depth)
		ptx_fail(p, "bracket without a partner");
	return off;
}

void ptx_skip_statement(struct ptx_parser *p)
{
	while (!ptx_at_end(p) && !ptx_at(p, ';'))
		ptx_next(p);
	ptx_expect(p, ';');
}

uint64_t ptx_take_int(struct ptx_parser *p)
{
	const struct ptx_token *t = ptx_peek(p);

	if (t->kind != PTX_T_INT) {
		ptx_fail(p, "expected a number");
		return 0;
	}
	ptx_next(p);
	return (uint64_t)ptx_lex_int(p->text, t);
}

/* ---- functions ---- */

static void three(struct ptx_parser *p, uint32_t value[3])
{
	value[0] = value[1] = value[2] = 1;
	for (int i = 0; i < 3; i++) {
		value[i] = (uint32_t)ptx_take_int(p);
		if (!ptx_accept(p, ','))
			break;
	}
}

/* One directive between the parameters and the body; unknown ones are skipped with their numbers and strings. */
static void function_directive(struct ptx_parser *p, struct ptx_function *f)
{
	if (ptx_at_dot(p, "reqntid")) {
		ptx_next(p);
		three(p, f->reqntid);
	} else if (ptx_at_dot(p, "maxntid")) {
		ptx_next(p);
		three(p, f->maxntid);
	} else if (ptx_at_dot(p, "minnctapersm")) {
		ptx_next(p);
		f->minnctapersm = (uint32_t)ptx_take_int(p);
	} else if (ptx_at_dot(p, "maxnreg")) {
		ptx_next(p);
		f->maxnreg = (uint32_t)ptx_take_int(p);
	} else if (ptx_at_dot(p, "pragma")) {
		ptx_skip_statement(p);
	} else {
		f->has_cluster |= ptx_at_dot(p, "reqnctapercluster") || ptx_at_dot(p, "explicitcluster") ||
				  ptx_at_dot(p, "maxclusterrank");
		ptx_next(p);
	}
}

static const struct ptx_decl **parse_params(struct ptx_parser *p, uint32_t *count)
{
	struct ptx_list list = {0};
	const struct ptx_decl **kept = NULL;

	ptx_expect(p, '(');
	while (!ptx_at_end(p) && !ptx_at(p, ')')) {
		struct ptx_decl **d = ptx_push(p, &list, sizeof(*d));

		if (!d)
			break;
		*d = ptx_parse_param(p);
		if (!ptx_at(p, ')'))
			ptx_expect(p, ',');
	}
	ptx_expect(p, ')');
	*count = (uint32_t)list.count;
	kept = ptx_keep(p, &list, sizeof(*kept));
	free(list.data);
	return kept;
}

static void parse_label(struct ptx_parser *p)
{
	const struct ptx_token *t = ptx_next(p);
	struct ptx_decl *d;

	ptx_next(p);
	d = ptx_declare(p, ptx_span_of(t), 1);
	if (!d)
		return;
	d->whole = ptx_span_from(p, t->off);
	d->is_label = 1;
	d->label_at = (uint32_t)p->instrs.count;
	ptx_name_decl(p, d, p->scope, 1);
}

static int at_label(const struct ptx_parser *p)
{
	const struct ptx_token *t = ptx_peek(p);

	return t->kind == PTX_T_WORD && t[1].kind == PTX_T_PUNCT && p->text[t[1].off] == ':';
}

static void parse_body(struct ptx_parser *p)
{
	uint32_t depth = 1;

	ptx_expect(p, '{');
	while (depth && !ptx_at_end(p)) {
		if (ptx_accept(p, '{')) {
			if (++depth > PTX_DEPTH)
				ptx_fail(p, "scopes nested too deeply");
			else if (ptx_names_scope(&p->names, p->scope, &p->scope))
				ptx_no_memory(p);
		} else if (ptx_accept(p, '}')) {
			depth--;
			p->scope = p->names.parent[p->scope];
		} else if (ptx_accept(p, ';')) {
			continue;
		} else if (at_label(p)) {
			parse_label(p);
		} else if (ptx_at_decl(p)) {
			ptx_parse_decls(p, 1);
		} else if (!ptx_parse_directive(p)) {
			ptx_parse_instr(p);
		}
	}
	if (depth)
		ptx_fail(p, "body without an end");
}

/* The declaration of a function's name: a definition takes over the one its prototype made. */
static void name_function(struct ptx_parser *p, struct ptx_function *f, uint32_t number)
{
	uint32_t unused;
	struct ptx_decl *d = ptx_names_get(&p->module_names, p->text, 0, f->name, &unused);

	if (d && d->is_function) {
		struct ptx_function *old = (struct ptx_function *)p->functions.data + d->function;

		f->address_taken = old->address_taken;
		if (f->body.len || !old->body.len) {
			d->function = number;
			d->is_extern = f->is_extern && d->is_extern;
		}
		return;
	}
	d = ptx_declare(p, f->name, 0);
	if (!d)
		return;
	d->whole = f->name;
	d->is_function = 1;
	d->is_extern = f->is_extern;
	d->is_visible = f->is_visible;
	d->function = number;
	ptx_name_decl(p, d, 0, 0);
}

static void parse_head(struct ptx_parser *p, struct ptx_function *f)
{
	uint32_t off;

	while (ptx_at_dot(p, "attribute")) {
		ptx_next(p);
		ptx_skip_balanced(p);
	}
	if (!f->is_entry && ptx_at(p, '('))
		f->result = parse_params(p, &f->result_count);
	if (ptx_peek(p)->kind != PTX_T_WORD)
		ptx_fail(p, "expected a function's name");
	f->name = ptx_span_of(ptx_next(p));
	while (ptx_peek(p)->kind == PTX_T_DOT && !ptx_at_dot(p, "pragma") && !f->is_entry)
		ptx_next(p); /* .noreturn may stand on either side of the parameters */
	if (ptx_at(p, '(')) {
		off = ptx_peek(p)->off;
		f->param = parse_params(p, &f->param_count);
		f->params = ptx_span_from(p, off);
	}
	off = p->token[p->at ? p->at - 1 : 0].off + p->token[p->at ? p->at - 1 : 0].len;
	while (!ptx_at_end(p) && !ptx_at(p, '{') && !ptx_at(p, ';'))
		function_directive(p, f);
	f->directives = ptx_span_from(p, off);
}

static void end_function(struct ptx_parser *p, struct ptx_function *f)
{
	ptx_resolve_pending(p);
	f->instrs = (uint32_t)p->instrs.count;
	f->instr = ptx_keep(p, &p->instrs, sizeof(*f->instr));
	f->decls = (uint32_t)p->decls.count;
	f->decl = ptx_keep(p, &p->decls, sizeof(*f->decl));
}

static void parse_function(struct ptx_parser *p, uint32_t off, struct ptx_function head)
{
	uint32_t number = (uint32_t)p->functions.count;
	struct ptx_function *f = ptx_push(p, &p->functions, sizeof(*f));

	if (!f)
		return;
	*f = head;
	f->is_entry = (uint8_t)ptx_at_dot(p, "entry");
	ptx_next(p);
	ptx_names_clear(&p->names);
	if (ptx_names_scope(&p->names, 0, &p->scope))
		ptx_no_memory(p);
	p->loc = 0;
	parse_head(p, f);
	f->head = ptx_span_from(p, off);
	if (ptx_at(p, '{')) {
		f->body.off = ptx_peek(p)->off;
		f->body.len = 1; /* known to be a definition while it is read */
		f->call_offset = f->body.off + 1;
		name_function(p, f, number);
		parse_body(p);
		f->body = ptx_span_from(p, f->body.off);
	} else {
		name_function(p, f, number);
		ptx_expect(p, ';');
	}
	end_function(p, f);
	f->whole = ptx_span_from(p, off);
}

/* ---- module ---- */

static void parse_version(struct ptx_parser *p)
{
	const struct ptx_token *t = ptx_peek(p);
	char copy[32];

	if (t->kind != PTX_T_FLOAT && t->kind != PTX_T_INT) {
		ptx_fail(p, "expected a version");
		return;
	}
	ptx_next(p);
	snprintf(copy, sizeof(copy), "%.*s", (int)(t->len < 31 ? t->len : 31), p->text + t->off);
	sscanf(copy, "%u.%u", &p->m->version_major, &p->m->version_minor);
	p->m->version = ptx_span_of(t);
}

static void parse_target(struct ptx_parser *p)
{
	const struct ptx_token *t = ptx_peek(p);

	if (t->kind != PTX_T_WORD) {
		ptx_fail(p, "expected a target");
		return;
	}
	ptx_next(p);
	if (!p->m->target.len) {
		p->m->target = ptx_span_of(t);
		for (uint32_t i = 0; i < t->len; i++)
			if (p->text[t->off + i] >= '0' && p->text[t->off + i] <= '9' && p->m->sm < 100000)
				p->m->sm = p->m->sm * 10 + (uint32_t)(p->text[t->off + i] - '0');
	}
	while (ptx_accept(p, ','))
		ptx_next(p);
}

/* .visible .extern .weak … in front of a function or a variable. */
static struct ptx_function parse_linkage(struct ptx_parser *p)
{
	struct ptx_function f = {0};

	for (;; ptx_next(p)) {
		if (ptx_at_dot(p, "visible"))
			f.is_visible = 1;
		else if (ptx_at_dot(p, "extern"))
			f.is_extern = 1;
		else if (ptx_at_dot(p, "weak"))
			f.is_weak = 1;
		else if (!ptx_at_dot(p, "common"))
			return f;
	}
}

static void parse_alias(struct ptx_parser *p)
{
	while (!ptx_at_end(p) && !ptx_at(p, ';')) {
		const struct ptx_token *t = ptx_next(p);
		uint32_t unused;
		struct ptx_decl *d = ptx_names_get(&p->module_names, p->text, 0, ptx_span_of(t), &unused);

		if (t->kind == PTX_T_WORD && d && d->is_function)
			((struct ptx_function *)p->functions.data)[d->function].address_taken = 1;
	}
	ptx_expect(p, ';');
}

static void parse_module(struct ptx_parser *p)
{
	if (!ptx_at_dot(p, "version"))
		ptx_fail(p, "not PTX: expected .version");
	while (!ptx_at_end(p)) {
		uint32_t off = ptx_peek(p)->off, at = p->at;
		struct ptx_function head = parse_linkage(p);

		if (ptx_at_dot(p, "entry") || ptx_at_dot(p, "func")) {
			parse_function(p, off, head);
		} else if (p->at = at, ptx_at_decl(p)) {
			ptx_parse_decls(p, 0);
		} else if (ptx_at_dot(p, "version")) {
			ptx_next(p);
			parse_version(p);
		} else if (ptx_at_dot(p, "target")) {
			ptx_next(p);
			parse_target(p);
		} else if (ptx_at_dot(p, "address_size")) {
			ptx_next(p);
			ptx_take_int(p);
		} else if (ptx_at_dot(p, "alias")) {
			parse_alias(p);
		} else if (!ptx_accept(p, ';') && !ptx_parse_directive(p)) {
			ptx_fail(p, "expected a directive");
		}
	}
}

static void finish(struct ptx_parser *p)
{
	struct ptx_module *m = p->m;

	m->functions = (uint32_t)p->functions.count;
	m->function = ptx_keep(p, &p->functions, sizeof(*m->function));
	m->globals = (uint32_t)p->globals.count;
	m->global = ptx_keep(p, &p->globals, sizeof(*m->global));
	m->files = (uint32_t)p->files.count;
	m->file = ptx_keep(p, &p->files, sizeof(*m->file));
	m->locs = (uint32_t)p->locs.count;
	m->loc = ptx_keep(p, &p->locs, sizeof(*m->loc));
}

static void drop(struct ptx_parser *p)
{
	struct ptx_list *lists[] = {&p->functions, &p->globals, &p->files, &p->locs, &p->loc_slots, &p->instrs,
				    &p->decls, &p->operands, &p->pendings};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]->data);
	ptx_names_clear(&p->names);
	ptx_names_clear(&p->module_names);
	free(p->token);
}

int ptx_parse(const char *text, size_t size, struct ptx_module **module, struct ptx_error *error)
{
	struct ptx_parser p = {.text = text, .error = error, .pool = calloc(1, sizeof(struct pool))};
	int status = 0;

	*error = (struct ptx_error){0};
	while (size && !text[size - 1])
		size--;
	if (!p.pool || !(p.m = pool_alloc(p.pool, sizeof(*p.m)))) {
		free(p.pool);
		return -ENOMEM;
	}
	*p.m = (struct ptx_module){.text = text, .size = size, .memory = p.pool};
	if (size > UINT32_MAX / 4) {
		snprintf(error->text, sizeof(error->text), "text of more than 1 GiB");
		status = -EINVAL;
	} else {
		status = ptx_lex(text, size, &p.token, error);
	}
	if (!status) {
		parse_module(&p);
		finish(&p);
		status = p.failed;
		drop(&p);
	}
	if (status)
		ptx_free(p.m);
	else
		*module = p.m;
	return status;
}

void ptx_free(struct ptx_module *module)
{
	struct pool *pool;

	if (!module)
		return;
	pool = module->memory;
	pool_free(pool);
	free(pool);
}
