#include "emu/exec/trace.h"

#include "emu/exec/ops.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what an instruction is */

static int starts(const struct ptx_module *m, struct ptx_span s, const char *word)
{
	const size_t n = strlen(word);
	return s.len >= n && !memcmp(m->text + s.off, word, n);
}

/* The first of the names that is a qualifier of the instruction; NULL: none. */
static const char *qualifier(const struct ptx_module *m, const struct ptx_instr *i, const char *const *names)
{
	for (; *names; names++)
		if (ptx_has(m, i, *names))
			return *names;
	return NULL;
}

static int any_starts(const struct ptx_module *m, const struct ptx_instr *i, const char *const *words)
{
	for (; *words; words++)
		for (u32 k = 0; k < i->mods; k++)
			if (starts(m, i->mod[k], *words))
				return 1;
	return 0;
}

/* In shared memory that may order warps, if it is strong. */
static int weak_in_shared(const struct ptx_module *m, const struct ptx_instr *i, enum exec_trace_kind kind)
{
	static const char *const shared[] = { "shared", NULL };
	static const char *const strong[] = { "relaxed", "acquire", "release", "volatile", "mmio", NULL };
	return (kind == TRACE_LOAD || kind == TRACE_STORE) && any_starts(m, i, shared) && !any_starts(m, i, strong);
}

/* Whether the instruction is of interest, and as what. */
static int kind_of(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_instr *i, enum exec_trace_kind *kind)
{
	static const char *const elsewhere[] = { "local", "const", "param", NULL };
	static const char *const other_fences[] = { "proxy", "mbarrier_init", NULL };
	static const char *const other_barriers[] = { "warp", "cluster", NULL };
	static const char *const others_of_mbarriers[] = { "pending_count", NULL };
	static const char *const nothing[] = { NULL };
	static const struct { const char *op; enum exec_trace_kind kind; const char *const *but; } table[] = {
		{ "ld", TRACE_LOAD, elsewhere }, { "ldu", TRACE_LOAD, elsewhere }, { "st", TRACE_STORE, elsewhere },
		{ "atom", TRACE_RMW, elsewhere }, { "red", TRACE_RMW, elsewhere }, { "fence", TRACE_FENCE, other_fences },
		{ "membar", TRACE_FENCE, other_fences }, { "bar", TRACE_BARRIER, other_barriers },
		{ "barrier", TRACE_BARRIER, other_barriers }, { "mbarrier", TRACE_MBARRIER, others_of_mbarriers },
		{ "exit", TRACE_END, nothing }, { "ret", TRACE_END, nothing },
	};
	if (ptx_is(m, i->op, "cp") && ptx_has(m, i, "async") && (ptx_has(m, i, "global") || ptx_has(m, i, "mbarrier"))) {
		*kind = ptx_has(m, i, "global") ? TRACE_COPY : TRACE_MBARRIER;
		return 1;
	}
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		if (ptx_is(m, i->op, table[k].op)) {
			*kind = table[k].kind;
			return !any_starts(m, i, table[k].but) && !weak_in_shared(m, i, *kind) && (*kind != TRACE_END || f->is_entry || table[k].op[0] == 'e');
		}
	return 0;
}

static int same_register(const struct ptx_operand *o, const struct ptx_operand *r)
{
	if (o->kind == PTX_OPND_REG && o->decl == r->decl && o->index == r->index)
		return 1;
	for (u32 k = 0; k < o->items; k++)
		if (same_register(&o->item[k], r))
			return 1;
	return o->pair && same_register(o->pair, r);
}

/* Does anything in the function read the register? The first operand is a destination, unless it is the only one. */
static int register_read(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_operand *r)
{
	for (u32 k = 0; k < f->instrs; k++) {
		const struct ptx_instr *i = &f->instr[k];
		const int source = i->operands < 2 || ptx_is(m, i->op, "bar") || ptx_is(m, i->op, "barrier") || ptx_is(m, i->op, "brx");
		if (i->pred && same_register(i->pred, r))
			return 1;
		for (u32 o = 0; o < i->operands; o++) {
			const int written = !o && !source && (i->operand[o].kind == PTX_OPND_REG || i->operand[o].kind == PTX_OPND_VECTOR);
			if (!written && same_register(&i->operand[o], r))
				return 1;
		}
	}
	return 0;
}

static int result_read(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_REG)
		return register_read(m, f, o);
	for (u32 k = 0; k < o->items; k++)
		if (result_read(m, f, &o->item[k]))
			return 1;
	return 0;
}

static const char *rmw_name(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_instr *i)
{
	if (ptx_is(m, i->op, "red"))
		return "red";
	const int read = i->operands && result_read(m, f, &i->operand[0]);
	if (ptx_has(m, i, "cas"))
		return read ? "cas" : "cas-";
	return read ? "atom" : "atom-";
}

/* Semantics and scope as written, with PTX's defaults (PTX ISA 9.7.9, 9.7.13). */
void exec_trace_describe(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_instr *i,
			 struct exec_traced *t)
{
	static const char *const sems[] = { "volatile", "mmio", "acq_rel", "acquire", "release", "relaxed", "sc", "nc", "weak", NULL };
	static const char *const scopes[] = { "cta", "cluster", "gpu", "sys", NULL };
	static const char *const names[] = { [TRACE_LOAD] = "ld", [TRACE_STORE] = "st", [TRACE_COPY] = "ld",
					     [TRACE_FENCE] = "fence", [TRACE_BARRIER] = "bar", [TRACE_MBARRIER] = "mbar", [TRACE_END] = "exit" };
	static const char *const ways[] = { "sync", "red", "arrive", NULL };
	const char *sem = qualifier(m, i, sems), *scope = qualifier(m, i, scopes);
	kind_of(m, f, i, &t->kind);
	t->line = i->loc ? m->loc[i->loc - 1].line : 0;
	t->op = t->kind == TRACE_RMW ? rmw_name(m, f, i) : names[t->kind];
	if (ptx_has(m, i, "gl"))
		scope = "gpu";
	switch (t->kind) {
	case TRACE_RMW:
		t->sem = sem ? sem : "relaxed";
		t->scope = scope ? scope : "gpu";
		break;
	case TRACE_FENCE:
		t->sem = ptx_is(m, i->op, "membar") ? "sc" : sem ? sem : "acq_rel";
		t->scope = scope ? scope : "sys";
		break;
	case TRACE_LOAD: case TRACE_STORE:
		t->sem = ptx_is(m, i->op, "ldu") ? "nc" : sem ? sem : "weak";
		t->scope = scope ? scope : !strcmp(t->sem, "weak") || !strcmp(t->sem, "nc") ? "-" : "sys";
		break;
	case TRACE_BARRIER:
		t->sem = qualifier(m, i, ways);
		break;
	case TRACE_MBARRIER:
		t->sem = sem ? sem : ptx_has(m, i, "test_wait") || ptx_has(m, i, "try_wait") ? "acquire" : "release";
		break;
	case TRACE_COPY: case TRACE_END:
		t->sem = "weak";
		t->scope = "-";
		break;
	}
}

/* ---- alignment */

/* Equal but for white space. */
static int same_text(const char *a, const char *a_end, const char *b, const char *b_end)
{
	for (;; a++, b++) {
		while (a < a_end && isspace((unsigned char)*a))
			a++;
		while (b < b_end && isspace((unsigned char)*b))
			b++;
		if (a == a_end || b == b_end)
			return a == a_end && b == b_end;
		if (*a != *b)
			return 0;
	}
}

static const struct ptx_operand *called(const struct ptx_instr *i)
{
	for (u32 k = 0; k < i->operands; k++)
		if (i->operand[k].kind != PTX_OPND_LIST)
			return &i->operand[k];
	return NULL;
}

/* A call of the copy stands for a call of the original. */
static int same_callee(const struct ptx_module *m, const struct ptx_instr *o, const struct ptx_instr *c, const char *suffix)
{
	const struct ptx_operand *to = called(o), *copy = called(c);
	if (!to || !copy || copy->text.len < to->text.len || memcmp(m->text + to->text.off, m->text + copy->text.off, to->text.len))
		return 0;
	const struct ptx_span rest = { copy->text.off + to->text.len, copy->text.len - to->text.len };
	return !rest.len || ptx_is(m, rest, suffix);
}

static int has_word(const struct ptx_module *m, struct ptx_span s, const char *suffix)
{
	const char *word = suffix + strspn(suffix, "_");
	return memmem(m->text + s.off, s.len, word, strlen(word)) != NULL;
}

/* Where the operands begin that must be alike: what comes back may go to a register of the rewriter's instead of nowhere, or, if
 * nobody reads it, not come at all. */
static u32 operands_from(const struct ptx_instr *i, u32 skipped)
{
	return skipped ? i->operand[skipped - 1].text.off + i->operand[skipped - 1].text.len : i->opcode.off + i->opcode.len;
}

/* Same operation under the same predicate on the same operands. */
static int stands_for(const struct ptx_module *m, const struct ptx_instr *c, const struct ptx_instr *o, const char *suffix)
{
	const char *t = m->text;
	const int reduced = ptx_is(m, o->op, "atom") && ptx_is(m, c->op, "red") && o->operands == c->operands + 1;
	const int fresh = o->operands && c->operands && o->operand[0].kind == PTX_OPND_SINK && has_word(m, c->operand[0].text, suffix);
	if (!reduced && (c->op.len != o->op.len || memcmp(t + c->op.off, t + o->op.off, o->op.len)))
		return 0;
	if (!same_text(t + c->whole.off, t + c->opcode.off, t + o->whole.off, t + o->opcode.off))
		return 0;
	if (ptx_is(m, o->op, "call"))
		return same_callee(m, o, c, suffix);
	const u32 from = operands_from(o, reduced || fresh);
	const char *rest = t + from + (reduced ? strspn(t + from, ", \t") : 0);
	return same_text(t + operands_from(c, fresh && !reduced), t + c->whole.off + c->whole.len, rest, t + o->whole.off + o->whole.len);
}

/* What a rewriter inserts names something of its own: the suffix without its underscores. */
static int inserted(const struct ptx_module *m, const struct ptx_instr *c, const char *suffix)
{
	return has_word(m, c->whole, suffix);
}

/* Where the schedules choose before the operation `c`: the first of the runtime's calls behind `from` that belongs to it. Which
 * those are their names say; all others belong to what was before, or to nothing that schedules may part. */
static u32 first_of(const struct ptx_module *m, const struct ptx_function *copy, u32 from, u32 c, const char *suffix)
{
	static const char *const names[] = { "_spin", "_before", "_look", "_red", "_relaxed", "_hold", "_fence" };
	const char *word = suffix + strspn(suffix, "_");
	const u32 n = (u32)strlen(word);
	for (u32 i = from; i < c; i++) {
		const struct ptx_operand *to = ptx_is(m, copy->instr[i].op, "call") ? called(&copy->instr[i]) : NULL;
		if (!to || to->text.len <= n || memcmp(m->text + to->text.off, word, n))
			continue;
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (ptx_is(m, (struct ptx_span){ to->text.off + n, to->text.len - n }, names[k]))
				return i;
	}
	return c;
}

static int no_partner(const struct emu_kernel *k, const struct ptx_instr *o, const struct ptx_instr *c, struct emu_error *error)
{
	const char *t = k->module->ptx->text;
	snprintf(error->text, sizeof error->text,
		 "kernel %s cannot be traced: '%.*s' of the original (PTX line %u) has no partner in the checked copy, whose '%.*s' "
		 "(PTX line %u) is neither it nor inserted", k->name, (int)(o->whole.len > 120 ? 120 : o->whole.len), t + o->whole.off,
		 o->line, c ? (int)(c->whole.len > 120 ? 120 : c->whole.len) : 3, c ? t + c->whole.off : "end", c ? c->line : 0);
	return -ENOTSUP;
}

static int align(const struct emu_kernel *k, const struct ptx_function *copy, const struct ptx_function *original,
		 const char *suffix, struct exec_own *own, struct emu_error *error)
{
	const struct ptx_module *m = k->module->ptx;
	enum exec_trace_kind kind;
	u32 at = 0;
	for (u32 i = 0; i < original->instrs; i++) {
		const struct ptx_instr *o = &original->instr[i];
		const u32 from = at;
		u32 c = at;
		while (c < copy->instrs && !stands_for(m, &copy->instr[c], o, suffix) && inserted(m, &copy->instr[c], suffix))
			c++;
		const int found = c < copy->instrs && stands_for(m, &copy->instr[c], o, suffix);
		if (found)
			at = c + 1;
		if (!kind_of(m, original, o, &kind) || (!found && kind == TRACE_END))
			continue;
		if (!found)
			return no_partner(k, o, c < copy->instrs ? &copy->instr[c] : NULL, error);
		own[c].original = o;
		own[first_of(m, copy, from, c, suffix)].point = 1;
	}
	return 0;
}

static const struct ptx_function *find_function(const struct ptx_module *m, const char *name, size_t length)
{
	for (u32 f = 0; f < m->functions; f++)
		if (m->function[f].body.len && m->function[f].name.len == length && !memcmp(m->text + m->function[f].name.off, name, length))
			return &m->function[f];
	return NULL;
}

/* Without the suffix; 0: it does not end in it. */
static size_t base_length(const char *name, size_t length, const char *suffix)
{
	const size_t n = suffix ? strlen(suffix) : 0;
	return n && length > n && !memcmp(name + length - n, suffix, n) ? length - n : 0;
}

/* The kernel of the name without the suffix; NULL: it is not in the module. */
static const struct emu_kernel *plain_kernel(struct emu_kernel *k, size_t base)
{
	for (size_t i = 0; !k->plain && i < k->module->kernels; i++) {
		const struct emu_kernel *o = &k->module->kernel[i];
		if (!strncmp(o->name, k->name, base) && !o->name[base])
			k->plain = o;
	}
	return k->plain;
}

const struct ptx_function *exec_trace_original(struct emu_kernel *kernel, u32 f, const char *suffix)
{
	const struct ptx_module *m = kernel->module->ptx;
	const struct ptx_function *function = &m->function[f], *found;
	const size_t kernel_base = base_length(kernel->name, strlen(kernel->name), suffix);
	const char *name = m->text + function->name.off;
	const size_t base = base_length(name, function->name.len, suffix);
	if (!kernel_base)
		return function;
	if (base && (found = find_function(m, name, base)))
		return found;
	const struct emu_kernel *plain = plain_kernel(kernel, kernel_base);
	return plain && plain->reach[f] ? function : NULL;
}

int exec_trace_align(const struct emu_kernel *kernel, const struct ptx_function *copy, const struct ptx_function *original,
		     const char *suffix, const struct exec_own **own, struct emu_error *error)
{
	const struct ptx_module *m = kernel->module->ptx;
	enum exec_trace_kind kind;
	int rc = 0;
	struct exec_own *list = calloc(copy->instrs + 1u, sizeof *list);
	if (!list)
		return -ENOMEM;
	if (original != copy)
		rc = align(kernel, copy, original, suffix, list, error);
	for (u32 i = 0; original == copy && i < copy->instrs; i++)
		if (kind_of(m, copy, &copy->instr[i], &kind))
			list[i] = (struct exec_own){ &copy->instr[i], 1 };
	if (rc)
		free(list);
	else
		*own = list;
	return rc;
}
