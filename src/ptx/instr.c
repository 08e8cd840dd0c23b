/* Instructions and operands. Every instruction, known or not, has one shape: an optional predicate, a word, dot words,
 * and operands between commas. An operand that has none of PTX's forms (a constant expression, say) becomes a symbol
 * without a declaration that spans its text: it is copied, and nobody is misled about its meaning. */
#include "ptx/parse.h"

static struct ptx_operand parse_operand(struct ptx_parser *p, uint32_t depth, int lists);

static int at_operand_end(const struct ptx_parser *p)
{
	const struct ptx_token *t = ptx_peek(p);

	if (t->kind == PTX_T_END)
		return 1;
	if (t->kind != PTX_T_PUNCT)
		return 0;
	switch (p->text[t->off]) {
	case ',': case ';': case '|': case ']': case '}': case ')':
		return 1;
	default:
		return 0;
	}
}

/* A symbol that is not known yet, or is a label that an inner one may still hide, waits for the function's end. Only
 * here do operands have their final address. */
static void place(struct ptx_parser *p, struct ptx_operand *o)
{
	struct ptx_pending *w;

	if (o->kind != PTX_OPND_SYMBOL || (o->decl && !o->decl->is_label && !o->decl->is_function))
		return;
	w = ptx_push(p, &p->pendings, sizeof(*w));
	if (w)
		*w = (struct ptx_pending){o, p->scope, 0};
}

/* Takes the operands above `start` off the stack and gives them their final place. */
static struct ptx_operand *take_operands(struct ptx_parser *p, size_t start, uint32_t *count)
{
	uint32_t n = (uint32_t)(p->operands.count - start);
	struct ptx_operand *kept = ptx_new(p, n * sizeof(*kept) + 1);

	*count = kept ? n : 0;
	for (uint32_t i = 0; i < *count; i++) {
		kept[i] = ((struct ptx_operand *)p->operands.data)[start + i];
		place(p, &kept[i]);
	}
	p->operands.count = start;
	return kept;
}

static void push_operand(struct ptx_parser *p, struct ptx_operand o)
{
	struct ptx_operand *slot = ptx_push(p, &p->operands, sizeof(*slot));

	if (slot)
		*slot = o;
}

static void parse_items(struct ptx_parser *p, struct ptx_operand *o, char close, uint32_t depth)
{
	size_t start = p->operands.count;

	if (!ptx_at(p, close)) {
		do
			push_operand(p, parse_operand(p, depth + 1, 0));
		while (ptx_accept(p, ','));
	}
	ptx_expect(p, close);
	o->item = take_operands(p, start, &o->items);
}

/* + 8, - 8, + -8, any number of them. */
static int64_t parse_offset(struct ptx_parser *p)
{
	uint64_t sum = 0;

	for (;;) {
		uint32_t at = p->at;
		int minus = ptx_at(p, '-');

		if (!minus && !ptx_at(p, '+'))
			return (int64_t)sum;
		ptx_next(p);
		if (ptx_accept(p, '-'))
			minus = !minus;
		if (ptx_peek(p)->kind != PTX_T_INT) {
			p->at = at;
			return (int64_t)sum;
		}
		sum += minus ? 0 - ptx_take_int(p) : ptx_take_int(p);
	}
}

static void parse_component(struct ptx_parser *p, struct ptx_operand *o)
{
	static const char names[] = "xyzwrgba", means[] = "xyzwxyzw";
	const struct ptx_token *t = ptx_peek(p);

	if (t->kind != PTX_T_DOT || t->len != 2)
		return;
	for (uint32_t i = 0; names[i]; i++) {
		if (p->text[t->off + 1] == names[i]) {
			o->component = means[i];
			ptx_next(p);
			return;
		}
	}
}

static void parse_word(struct ptx_parser *p, struct ptx_operand *o)
{
	struct ptx_span name = ptx_span_of(ptx_next(p));

	if (ptx_is(p->m, name, "_")) {
		o->kind = PTX_OPND_SINK;
		return;
	}
	o->decl = ptx_lookup(p, name, p->scope, &o->index);
	if (o->decl && o->decl->space == PTX_REG) {
		o->kind = PTX_OPND_REG;
		parse_component(p, o);
	} else if (!o->decl && p->text[name.off] == '%') {
		o->kind = PTX_OPND_SPECIAL;
		parse_component(p, o);
	} else {
		o->kind = PTX_OPND_SYMBOL;
	}
}

static void parse_number(struct ptx_parser *p, struct ptx_operand *o)
{
	const struct ptx_token *t = ptx_next(p);

	if (t->kind == PTX_T_INT) {
		o->kind = PTX_OPND_INT;
		o->ivalue = ptx_lex_int(p->text, t);
		if (o->negated)
			o->ivalue = (int64_t)(0 - (uint64_t)o->ivalue);
	} else {
		o->kind = PTX_OPND_FLOAT;
		o->ivalue = ptx_lex_float(p->text, t, &o->fbits);
		if (o->negated)
			o->ivalue ^= (int64_t)(1ull << (o->fbits - 1));
	}
	o->negated = 0;
}

/* [base + offset], or [base, {coordinates}, …]. The offset is the address's, not the base's. */
static void parse_address(struct ptx_parser *p, struct ptx_operand *o, uint32_t depth)
{
	size_t start = p->operands.count;
	struct ptx_operand base;

	o->kind = PTX_OPND_ADDRESS;
	do {
		base = parse_operand(p, depth + 1, 0);
		if (p->operands.count == start && base.kind != PTX_OPND_INT) {
			o->ivalue = base.ivalue;
			base.ivalue = 0;
		}
		push_operand(p, base);
	} while (ptx_accept(p, ','));
	ptx_expect(p, ']');
	o->item = take_operands(p, start, &o->items);
}

/* Without its |pair: whatever stands up to the next , ; | or closing bracket. */
static struct ptx_operand parse_primary(struct ptx_parser *p, uint32_t depth, int lists)
{
	struct ptx_operand o = {.kind = PTX_OPND_SYMBOL, .text.off = ptx_peek(p)->off};

	if (depth > PTX_OPERAND_DEPTH) {
		ptx_fail(p, "operands nested too deeply");
		return o;
	}
	o.negated = ptx_accept(p, '!') || ptx_accept(p, '-');
	if (ptx_accept(p, '[')) {
		parse_address(p, &o, depth);
	} else if (ptx_accept(p, '{')) {
		o.kind = PTX_OPND_VECTOR;
		parse_items(p, &o, '}', depth);
	} else if (lists && ptx_accept(p, '(')) {
		o.kind = PTX_OPND_LIST;
		parse_items(p, &o, ')', depth);
	} else if (ptx_peek(p)->kind == PTX_T_WORD) {
		parse_word(p, &o);
	} else if (ptx_peek(p)->kind == PTX_T_INT || ptx_peek(p)->kind == PTX_T_FLOAT) {
		parse_number(p, &o);
	}
	if (o.kind == PTX_OPND_REG || o.kind == PTX_OPND_SYMBOL || o.kind == PTX_OPND_INT || o.kind == PTX_OPND_SPECIAL)
		o.ivalue = (int64_t)((uint64_t)o.ivalue + (uint64_t)parse_offset(p));
	if (!at_operand_end(p)) {
		o = (struct ptx_operand){.kind = PTX_OPND_SYMBOL, .text.off = o.text.off};
		while (!at_operand_end(p)) {
			if (ptx_at(p, '(') || ptx_at(p, '[') || ptx_at(p, '{'))
				ptx_skip_balanced(p);
			else
				ptx_next(p);
		}
	}
	o.text = ptx_span_from(p, o.text.off);
	if (!o.text.len)
		ptx_fail(p, "expected an operand");
	return o;
}

static struct ptx_operand parse_operand(struct ptx_parser *p, uint32_t depth, int lists)
{
	struct ptx_operand o = parse_primary(p, depth, lists);

	if (!ptx_accept(p, '|'))
		return o;
	o.pair = ptx_new(p, sizeof(*o.pair));
	if (o.pair) {
		*o.pair = parse_primary(p, depth, 0);
		place(p, o.pair);
		o.text = ptx_span_from(p, o.text.off);
	}
	return o;
}

static void parse_predicate(struct ptx_parser *p, struct ptx_instr *in)
{
	if (!ptx_accept(p, '@'))
		return;
	in->pred = ptx_new(p, sizeof(*in->pred));
	if (!in->pred)
		return;
	in->pred->text.off = ptx_peek(p)->off;
	in->pred->negated = (uint8_t)ptx_accept(p, '!');
	if (ptx_peek(p)->kind != PTX_T_WORD)
		ptx_fail(p, "expected a predicate");
	else
		parse_word(p, in->pred);
	in->pred->text = ptx_span_from(p, in->pred->text.off);
}

/* "ld" and the dot words behind it; .branchtargets counts as an instruction, which brx.idx reaches by its label. */
static void parse_opcode(struct ptx_parser *p, struct ptx_instr *in)
{
	const struct ptx_token *t = ptx_peek(p);

	if (t->kind != PTX_T_WORD && !ptx_at_dot(p, "branchtargets")) {
		ptx_fail(p, "expected an instruction");
		return;
	}
	ptx_next(p);
	in->op = ptx_span_of(t);
	in->line = t->line;
	for (const struct ptx_token *m = ptx_peek(p); m->kind == PTX_T_DOT; m = ptx_peek(p)) {
		if (in->mods < PTX_MODS_MAX)
			in->mod[in->mods++] = (struct ptx_span){m->off + 1, m->len - 1};
		ptx_next(p);
	}
	in->opcode = ptx_span_from(p, t->off);
}

/* A call names its function as its first operand that is no list; every other use takes the function's address. */
static void mark_called(struct ptx_parser *p, const struct ptx_instr *in, size_t pending)
{
	const struct ptx_operand *target = NULL;
	struct ptx_pending *w = p->pendings.data;

	for (uint32_t i = 0; i < in->operands && !target; i++)
		if (in->operand[i].kind != PTX_OPND_LIST)
			target = &in->operand[i];
	for (; pending < p->pendings.count; pending++)
		w[pending].called = w[pending].operand == target;
}

void ptx_parse_instr(struct ptx_parser *p)
{
	uint32_t off = ptx_peek(p)->off;
	size_t start = p->operands.count, pending = p->pendings.count;
	struct ptx_instr in = {.block = p->scope, .loc = p->loc}, *slot;
	int call;

	parse_predicate(p, &in);
	parse_opcode(p, &in);
	call = !p->failed && ptx_is(p->m, in.op, "call");
	if (!ptx_at(p, ';')) {
		do
			push_operand(p, parse_operand(p, 0, call));
		while (ptx_accept(p, ','));
	}
	ptx_expect(p, ';');
	in.operand = take_operands(p, start, &in.operands);
	in.whole = ptx_span_from(p, off);
	if (call)
		mark_called(p, &in, pending);
	slot = ptx_push(p, &p->instrs, sizeof(*slot));
	if (slot)
		*slot = in;
}

static struct ptx_span first_name(const struct ptx_parser *p, struct ptx_span text)
{
	struct ptx_span name = {text.off, 0};

	while (name.len < text.len && ptx_lex_is_word(p->text[name.off + name.len]))
		name.len++;
	return name;
}

void ptx_resolve_pending(struct ptx_parser *p)
{
	struct ptx_pending *w = p->pendings.data;

	for (size_t i = 0; !p->failed && i < p->pendings.count; i++) {
		struct ptx_span name = first_name(p, w[i].operand->text);
		uint32_t index;
		struct ptx_decl *d = name.len ? ptx_lookup(p, name, w[i].scope, &index) : NULL;

		if (!d || d->space == PTX_REG)
			continue;
		w[i].operand->decl = d;
		if (d->is_function && !w[i].called)
			((struct ptx_function *)p->functions.data)[d->function].address_taken = 1;
	}
	p->pendings.count = 0;
}
