/* Directives that declare nothing: line information, debug sections, pragmas. A .loc that was inlined refers to the
 * place of its call by file, line and column; that place is looked up among the .loc before it, which carry their own
 * inlined_at, so the chain comes out whole. Triton has no inlined_at, but LLVM's comment behind the .loc has the chain:
 *   .loc 1 7 16    // a.py:7:16 @[ a.py:13:20 @[ a.py:30:4 ] ]
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "ptx/parse.h"

static uint32_t loc_hash(const struct ptx_loc *l)
{
	return (uint32_t)(random_mix(hash_spread(l->file) ^ (uint64_t)l->line << 32 ^ l->column) >> 32);
}

static uint32_t *loc_slot(struct ptx_parser *p, const struct ptx_loc *l)
{
	uint32_t *slot = p->loc_slots.data, i = loc_hash(l);
	const struct ptx_loc *list = p->locs.data;

	for (;; i++) {
		uint32_t *s = &slot[i & (p->loc_slots.room - 1)];

		if (!*s || (list[*s - 1].file == l->file && list[*s - 1].line == l->line &&
			    list[*s - 1].column == l->column))
			return s;
	}
}

static int loc_grow(struct ptx_parser *p)
{
	uint32_t *old = p->loc_slots.data, *fresh;
	size_t n = p->loc_slots.room, room = n ? n * 2 : 256;

	if (p->loc_slots.count * 2 < n)
		return 0;
	fresh = calloc(room, sizeof(*fresh));
	if (!fresh) {
		ptx_no_memory(p);
		return -1;
	}
	p->loc_slots.data = fresh;
	p->loc_slots.room = room;
	for (size_t i = 0; i < n; i++)
		if (old[i])
			*loc_slot(p, (struct ptx_loc *)p->locs.data + old[i] - 1) = old[i];
	free(old);
	return 0;
}

/* Index + 1 of the latest .loc at this place; one without a chain is made if there is none. */
static uint32_t loc_find(struct ptx_parser *p, struct ptx_loc at)
{
	uint32_t *slot;
	struct ptx_loc *l;

	if (loc_grow(p))
		return 0;
	slot = loc_slot(p, &at);
	if (*slot)
		return *slot;
	l = ptx_push(p, &p->locs, sizeof(*l));
	if (!l)
		return 0;
	*l = at;
	p->loc_slots.count++;
	return *slot = (uint32_t)p->locs.count;
}

static struct ptx_loc take_place(struct ptx_parser *p)
{
	struct ptx_loc l = {0};

	l.file = (uint32_t)ptx_take_int(p);
	l.line = (uint32_t)ptx_take_int(p);
	l.column = (uint32_t)ptx_take_int(p);
	return l;
}

/* "a.py:13:20" up to a space; 0: it is none. */
static int comment_place(struct ptx_parser *p, const char *text, size_t n, struct ptx_loc *l)
{
	uint64_t number[2] = {0}, scale = 1;
	size_t end = n;
	for (int k = 1; k >= 0; k--, scale = 1) {
		for (; end && text[end - 1] >= '0' && text[end - 1] <= '9' && scale < 1000000000; scale *= 10)
			number[k] += (uint64_t)(text[--end] - '0') * scale;
		if (scale == 1 || !end || text[--end] != ':')
			return 0;
	}
	*l = (struct ptx_loc){.line = (uint32_t)number[0], .column = (uint32_t)number[1], .name = {(uint32_t)(text - p->text), (uint32_t)end}};
	return end > 0;
}

/* What the rest of the line says of where the .loc was inlined: index + 1 of the innermost place; 0: nothing. */
static uint32_t comment_chain(struct ptx_parser *p)
{
	static const char at[] = " @[ ";
	const struct ptx_token *behind = &p->token[p->at - 1];
	const char *text = p->text + behind->off + behind->len, *end = memchr(text, '\n', (size_t)(p->text + p->m->size - text));
	uint32_t first = 0, inner = 0;
	end = end ? end : p->text + p->m->size;
	for (; !p->failed && (text = memmem(text, (size_t)(end - text), at, sizeof at - 1)); inner = (uint32_t)p->locs.count) {
		text += sizeof at - 1;
		const char *next = memmem(text, (size_t)(end - text), at, sizeof at - 1), *last = memmem(text, (size_t)(end - text), " ]", 2);
		const char *stop = next ? next : last;
		struct ptx_loc l, *kept;
		if (!stop || !comment_place(p, text, (size_t)(stop - text), &l) || !(kept = ptx_push(p, &p->locs, sizeof *kept)))
			break;
		*kept = l;
		if (inner)
			((struct ptx_loc *)p->locs.data)[inner - 1].inlined_at = (uint32_t)p->locs.count;
		else
			first = (uint32_t)p->locs.count;
		text = stop;
	}
	return first;
}

/* Of what the compiler made of several lines it says none (.loc 1 0 0), but where it was inlined. Its place is then the call that it was inlined
 * by, and else, for it is of the body itself, the nearest one before it there: near enough to find it, and it stays when other kernels grow. The
 * column is not known. Index + 1; 0: there is no such place. It is not one that an inlined_at may mean. */
static uint32_t loc_near(struct ptx_parser *p, const struct ptx_loc *l)
{
	const struct ptx_loc *list = p->locs.data;
	uint32_t at = l->inlined_at;
	struct ptx_loc near, *kept;

	if (!at || list[at - 1].name.len)
		for (at = p->loc; at && list[at - 1].inlined_at && !list[list[at - 1].inlined_at - 1].name.len;)
			at = list[at - 1].inlined_at;
	if (!at || !list[at - 1].line)
		return 0;
	near = list[at - 1];
	near.column = 0;
	if (!(kept = ptx_push(p, &p->locs, sizeof(*kept))))
		return 0;
	*kept = near;
	return (uint32_t)p->locs.count;
}

/* LLVM gives line n of an inline assembly the place of the whole plus n lines, which is nowhere in the user's source:
 * only a .loc that opens the block counts. */
static void parse_loc(struct ptx_parser *p)
{
	int counts = p->token[p->at - 1].inline_asm < 2;
	struct ptx_loc l = take_place(p), *kept;
	uint32_t *slot, near;

	while (ptx_accept(p, ',')) {
		const struct ptx_token *word = ptx_next(p);

		if (ptx_is(p->m, ptx_span_of(word), "function_name")) {
			l.function = ptx_span_of(ptx_next(p));
			if (ptx_accept(p, '+'))
				ptx_take_int(p);
		} else if (ptx_is(p->m, ptx_span_of(word), "inlined_at")) {
			l.inlined_at = loc_find(p, take_place(p));
		} else {
			ptx_fail(p, "expected function_name or inlined_at");
		}
	}
	l.inlined_at = l.inlined_at ? l.inlined_at : comment_chain(p);
	if (p->failed || loc_grow(p) || !(kept = ptx_push(p, &p->locs, sizeof(*kept))))
		return;
	*kept = l;
	slot = loc_slot(p, &l);
	p->loc_slots.count += !*slot;
	*slot = (uint32_t)p->locs.count;
	if (!counts)
		return;
	near = l.line ? 0 : loc_near(p, &l);
	p->loc = near ? near : *slot;
}

static int octal(char c)
{
	return c >= '0' && c <= '7';
}

/* C escapes of a path, in place. */
static void unescape(char *s)
{
	char *out = s;

	while (*s) {
		if (*s != '\\' || !s[1]) {
			*out++ = *s++;
		} else if (octal(s[1]) && octal(s[2]) && octal(s[3])) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*out++ = s[1];
			s += 2;
		}
	}
	*out = '\0';
}

static void parse_file(struct ptx_parser *p)
{
	uint32_t index = (uint32_t)ptx_take_int(p);
	const struct ptx_token *t = ptx_peek(p);
	struct ptx_file *f;

	if (t->kind != PTX_T_STRING) {
		ptx_fail(p, "expected a file name");
		return;
	}
	ptx_next(p);
	f = ptx_push(p, &p->files, sizeof(*f));
	if (!f)
		return;
	f->index = index;
	f->path = pool_copy(p->pool, p->text + t->off + 1, t->len - 2);
	if (f->path)
		unescape(f->path);
	else
		ptx_no_memory(p);
	while (ptx_accept(p, ','))
		ptx_take_int(p);
}

/* .section name { … }: bytes for the debugger; labels in it are not the program's. */
static void parse_section(struct ptx_parser *p)
{
	while (!ptx_at_end(p) && !ptx_at(p, '{'))
		ptx_next(p);
	ptx_skip_balanced(p);
}

static int is_statement(const struct ptx_parser *p)
{
	static const char *const words[] = {"pragma", "callprototype", "calltargets", "noreturn", "minnctapersm",
					    "maxnreg", "maxntid", "reqntid"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ptx_at_dot(p, words[i]))
			return 1;
	return 0;
}

/* DWARF of old toolkits: lines that start with @@DWARF. */
static int parse_dwarf(struct ptx_parser *p)
{
	uint32_t line = ptx_peek(p)->line;

	if (!ptx_at(p, '@') || p->token[p->at + 1].kind != PTX_T_PUNCT || p->text[p->token[p->at + 1].off] != '@')
		return 0;
	while (!ptx_at_end(p) && ptx_peek(p)->line == line)
		ptx_next(p);
	return 1;
}

int ptx_parse_directive(struct ptx_parser *p)
{
	static const struct { const char *word; void (*parse)(struct ptx_parser *); } table[] = {
		{"loc", parse_loc}, {"file", parse_file}, {"section", parse_section}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (ptx_at_dot(p, table[i].word)) {
			ptx_next(p);
			table[i].parse(p);
			return 1;
		}
	}
	if (is_statement(p)) {
		ptx_skip_statement(p);
		return 1;
	}
	return parse_dwarf(p);
}
