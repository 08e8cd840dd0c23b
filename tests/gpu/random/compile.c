#include "compile.h"

#include "forms.h"
#include "player.h"

#define OUT(...) fprintf(to, __VA_ARGS__)

/* Registers of an operation are numbered by its place n in its launch: %in<n> whether the thread executes it, %at<n> its address,
 * %o<n> its operand, %v<4n…> what it reads. */
struct compiler {
	const struct native_launch *l;
	unsigned n;
	int predicate; /* %in<n> is set */
	FILE *to;
};

/* One more thing that must hold. */
static void emit_and(struct compiler *c, const char *test, const char *what, uint32_t than)
{
	FILE *to = c->to;

	if (c->predicate)
		OUT("\tsetp.%s.and.u32 %%in%u, %%%s, %u, %%in%u;\n", test, c->n, what, than, c->n);
	else
		OUT("\tsetp.%s.u32 %%in%u, %%%s, %u;\n", test, c->n, what, than);
	c->predicate = 1;
}

/* Leaves in %in<n> whether the thread executes the operation, if that is a question at all. */
static void emit_condition(struct compiler *c, const struct native_op *o)
{
	FILE *to = c->to;

	c->predicate = 0;
	if (o->cta_first)
		emit_and(c, "ge", "cta", o->cta_first);
	if (o->cta_end != NATIVE_ALL)
		emit_and(c, "lt", "cta", o->cta_end);
	if (o->tid_first)
		emit_and(c, "ge", "me", o->tid_first);
	if (o->tid_end != NATIVE_ALL)
		emit_and(c, "lt", "me", o->tid_end);
	if (o->lanes != ~0u && !forms_is_batch(o->code)) {
		OUT("\tshr.u32 %%t, %u, %%lane;\n\tand.b32 %%t, %%t, 1;\n", o->lanes);
		emit_and(c, "ne", "t", 0);
	}
	if (o->flags & NATIVE_NEGATE) {
		if (!c->predicate)
			emit_and(c, "ge", "me", 0);
		OUT("\tnot.pred %%in%u, %%in%u;\n", c->n, c->n);
	}
}

static void emit_address(const struct compiler *c, const struct native_op *o)
{
	FILE *to = c->to;
	const char *cta = "cta", *tid = "me";

	if (o->rotate) {
		OUT("\tadd.u32 %%t, %%cta, %u;\n\trem.u32 %%t, %%t, %u;\n", o->rotate, c->l->grid);
		cta = "t";
	}
	if (o->group) {
		OUT("\trem.u32 %%t, %%%s, %u;\n", cta, o->group);
		cta = "t";
	}
	if (o->tid_mul != 1 || o->tid_add || o->tid_mask != ~0u) {
		OUT("\tmad.lo.u32 %%u, %%me, %u, %u;\n\tand.b32 %%u, %%u, %u;\n", o->tid_mul, o->tid_add, o->tid_mask);
		tid = "u";
	}
	OUT("\tadd.s64 %%at%u, %%memory%u, %llu;\n", c->n, o->rank, (unsigned long long)o->address);
	if (o->cta_stride)
		OUT("\tmad.wide.u32 %%at%u, %%%s, %u, %%at%u;\n", c->n, cta, o->cta_stride, c->n);
	if (o->tid_stride)
		OUT("\tmad.wide.u32 %%at%u, %%%s, %u, %%at%u;\n", c->n, tid, o->tid_stride, c->n);
}

static void emit_operand(const struct compiler *c, const struct native_op *o)
{
	FILE *to = c->to;

	if (o->flags & NATIVE_MIX)
		OUT("\tadd.u32 %%t, %%hash, %u;\n\tmad.lo.u32 %%t, %%acc, 31, %%t;\n\tcvt.u64.u32 %%o%u, %%t;\n", o->value, c->n);
	else if (o->flags & NATIVE_FROM_REG)
		OUT("\tadd.u64 %%o%u, %%r%u, %u;\n", c->n, o->value_reg, o->value);
	else
		OUT("\tmov.b64 %%o%u, %u;\n", c->n, o->value);
}

static void emit_guard(const struct compiler *c)
{
	if (c->predicate)
		fprintf(c->to, "\t@%%in%u ", c->n);
	else
		fputc('\t', c->to);
}

/* What was read, into the thread's sum and registers. %v<4n…> were 0 before. */
static void emit_read(const struct compiler *c, const struct native_op *o, unsigned vector)
{
	FILE *to = c->to;
	unsigned v = 4 * c->n;

	for (unsigned k = 0; o->flags & NATIVE_TO_REG && k < vector; k++) {
		emit_guard(c);
		OUT("mov.b64 %%r%u, %%v%u;\n", o->reg + k, v + k);
	}
	if (!(o->flags & NATIVE_KEEP))
		return;
	for (unsigned k = 1; k < vector; k++)
		OUT("\tmad.lo.u64 %%v%u, %%v%u, %u, %%v%u;\n", v, v + k, 2 * k + 1, v);
	OUT("\tshr.u64 %%w, %%v%u, 32;\n\txor.b64 %%w, %%w, %%v%u;\n\tcvt.u32.u64 %%t, %%w;\n", v, v);
	emit_guard(c);
	OUT("mad.lo.u32 %%acc, %%acc, 33, %%t;\n");
}

static void emit_zeros(const struct compiler *c, unsigned from, unsigned count)
{
	for (unsigned k = from; k < from + count; k++)
		fprintf(c->to, "\tmov.b64 %%v%u, 0;\n", k);
}

static void put_vector(FILE *to, const char *name, unsigned first, unsigned n, unsigned step)
{
	OUT(n > 1 ? "{" : "");
	for (unsigned k = 0; k < n; k++)
		OUT("%s%%%s%u", k ? ", " : "", name, first + step * k);
	OUT(n > 1 ? "}" : "");
}

static void emit_atomic(const struct compiler *c, const struct native_op *o, const struct lit_instr *i, const char *opcode)
{
	FILE *to = c->to;
	const char t = i->bytes == 8 ? 'q' : 'w';
	int result = i->op == LIT_ATOM && i->reg >= 0;

	if (t == 'w') {
		OUT("\tcvt.u32.u64 %%w2, %%o%u;\n\tmov.b32 %%w1, %u;\n\tmov.b32 %%w0, 0;\n", c->n, o->compare);
	} else {
		OUT("\tmov.b64 %%q2, %%o%u;\n\tmov.b64 %%q1, %u;\n\tmov.b64 %%q0, 0;\n", c->n, o->compare);
	}
	OUT("\t.loc 1 %u 0\n", o->code + 1u);
	emit_guard(c);
	OUT("%s %s", opcode, "");
	if (i->op == LIT_ATOM && result)
		OUT("%%%c0, ", t);
	else if (i->op == LIT_ATOM)
		OUT("_, ");
	OUT("[%%at%u], ", c->n);
	if (i->rmw == LIT_CAS)
		OUT("%%%c1, ", t);
	OUT("%%%c2;\n", t);
	if (result) {
		OUT(t == 'w' ? "\tcvt.u64.u32 %%v%u, %%w0;\n" : "\tmov.b64 %%v%u, %%q0;\n", 4 * c->n);
		emit_read(c, o, 1);
	}
}

static void emit_form(const struct compiler *c, const struct native_op *o, const struct lit_instr *i)
{
	FILE *to = c->to;
	char opcode[LIT_OPCODE];

	lit_opcode_write(i, opcode);
	if (i->op == LIT_FENCE) {
		OUT("\t.loc 1 %u 0\n", o->code + 1u);
		emit_guard(c);
		OUT("%s;\n", opcode);
		return;
	}
	emit_address(c, o);
	emit_operand(c, o);
	if (i->op == LIT_ATOM || i->op == LIT_RED) {
		emit_atomic(c, o, i, opcode);
		return;
	}
	if (i->op == LIT_LD)
		emit_zeros(c, 4 * c->n, i->vector);
	OUT("\t.loc 1 %u 0\n", o->code + 1u);
	emit_guard(c);
	OUT("%s ", opcode);
	if (i->op == LIT_LD) {
		put_vector(to, "v", 4 * c->n, i->vector, 1);
		OUT(", [%%at%u];\n", c->n);
		emit_read(c, o, i->vector);
	} else {
		OUT("[%%at%u], ", c->n);
		put_vector(to, "o", c->n, i->vector, 0);
		OUT(";\n");
	}
}

static void emit_batch(const struct compiler *c, const struct native_op *o, const struct form_batch *b)
{
	struct lit_instr i = {.bytes = b->bytes, .vector = b->vector};
	char ld[LIT_OPCODE], st[LIT_OPCODE];
	unsigned n = b->loads > b->stores ? b->loads : b->stores;
	FILE *to = c->to;

	i.op = LIT_LD;
	lit_opcode_write(&i, ld);
	i.op = LIT_ST;
	lit_opcode_write(&i, st);
	emit_address(c, o);
	emit_operand(c, o);
	emit_zeros(c, 4 * c->n, 1);
	for (unsigned k = 0; k < n; k++) {
		OUT("\tadd.u32 %%t, %%lane, %u;\n\tand.b32 %%t, %%t, 31;\n\tshr.u32 %%t, %u, %%t;\n\tand.b32 %%t, %%t, 1;\n", k, o->lanes);
		OUT(c->predicate ? "\tsetp.ne.and.u32 %%k%u, %%t, 0, %%in%u;\n" : "\tsetp.ne.u32 %%k%u, %%t, 0;\n", k, c->n);
		for (unsigned v = 0; k < b->loads && v < b->vector; v++)
			OUT("\tmov.b64 %%y%u, 0;\n", 4 * k + v);
	}
	OUT("\t.loc 1 %u 0\n", o->code + 1u);
	for (unsigned k = 0; k < b->loads; k++) {
		OUT("\t@%%k%u %s ", k, ld);
		put_vector(to, "y", 4 * k, b->vector, 1);
		OUT(", [%%at%u+%u];\n", c->n, k * o->step);
	}
	for (unsigned k = 0; k < b->stores; k++) {
		OUT("\t@%%k%u %s [%%at%u+%u], ", k, st, c->n, k * o->step + (b->loads ? (unsigned)o->behind : 0));
		put_vector(to, "o", c->n, b->vector, 0);
		OUT(";\n");
	}
	for (unsigned k = 0; k < b->loads * 4u; k++)
		if (k % 4 < b->vector)
			OUT("\tmad.lo.u64 %%v%u, %%v%u, 3, %%y%u;\n", 4 * c->n, 4 * c->n, k);
	if (b->loads)
		emit_read(c, o, 1);
}

static void emit_branch(const struct compiler *c, const char *condition, uint32_t target)
{
	FILE *to = c->to;

	if (c->predicate)
		OUT("\tand.pred %%q, %%q, %%in%u;\n", c->n);
	OUT("\t@%s bra O%u;\n", condition, target);
}

static void emit_control(const struct compiler *c, const struct native_op *o)
{
	FILE *to = c->to;

	switch ((enum native_control)(o->code - forms_count())) {
	case NATIVE_END:
	case NATIVE_EXIT: emit_guard(c); OUT("bra END;\n"); break;
	case NATIVE_JUMP: emit_guard(c); OUT("bra O%u;\n", o->target); break;
	case NATIVE_IF:
		OUT("\tsetp.%s.u64 %%q, %%r%u, %u;\n", o->flags & NATIVE_INVERT ? "eq" : "ne", o->reg, o->value);
		emit_branch(c, "%q", o->target);
		break;
	case NATIVE_SET: emit_guard(c); OUT("mov.u32 %%n%u, %u;\n", o->loop, o->value); break;
	case NATIVE_LOOP:
	case NATIVE_AGAIN:
		emit_guard(c);
		OUT("sub.u32 %%n%u, %%n%u, 1;\n\tsetp.ne.u32 %%q, %%n%u, 0;\n", o->loop, o->loop, o->loop);
		if (o->code - forms_count() == NATIVE_AGAIN)
			OUT("\tsetp.ne.and.u64 %%q, %%r%u, %u, %%q;\n", o->reg, o->value);
		emit_branch(c, "%q", o->target);
		break;
	case NATIVE_AWAITED:
		OUT("\tsetp.ne.u64 %%q, %%r%u, %u;\n", o->reg, o->value);
		if (c->predicate)
			OUT("\tand.pred %%q, %%q, %%in%u;\n", c->n);
		OUT("\t@%%q bra FAILED;\n");
		break;
	case NATIVE_BARRIER: OUT("\tbarrier.sync 0;\n"); break;
	case NATIVE_SLEEP: emit_guard(c); OUT("nanosleep.u32 %u;\n", o->value); break;
	case NATIVE_CONTROLS: break;
	}
}

static void emit_op(struct compiler *c)
{
	const struct native_op *o = &c->l->list.op[c->n];
	const struct form *f = forms_get(o->code);
	FILE *to = c->to;

	OUT("O%u:\n", c->n);
	emit_condition(c, o);
	if (!f)
		emit_control(c, o);
	else if (forms_is_batch(o->code))
		emit_batch(c, o, &f->batch);
	else
		emit_form(c, o, &f->like);
}

static void emit_launch(const struct native *p, int launch, FILE *to)
{
	struct compiler c = {.l = &p->launch[launch], .to = to};
	unsigned ops = c.l->list.ops;

	OUT("\n.visible .entry launch%d(", launch);
	for (int k = 0; k < NATIVE_RANKS; k++)
		OUT(".param .u64 memory%d_%d, ", k, launch);
	OUT(".param .u64 failed_%d)\n", launch);
	if (p->seed % 3)
		OUT(".reqntid %u, 1, 1\n", c.l->block);
	OUT("{\n\t.reg .pred %%q, %%in<%u>, %%k<8>;\n\t.reg .b32 %%t, %%u, %%cta, %%me, %%lane, %%hash, %%acc, %%w<3>, %%n<16>;\n", ops);
	OUT("\t.reg .b64 %%w, %%memory<%d>, %%failed, %%at<%u>, %%o<%u>, %%v<%u>, %%y<32>, %%r<%u>, %%q<3>;\n", NATIVE_RANKS, ops,
	    ops, 4 * ops, NATIVE_REGS);
	for (int k = 0; k < NATIVE_RANKS; k++)
		OUT("\tld.param.u64 %%memory%d, [memory%d_%d];\n", k, k, launch);
	OUT("\tmov.u32 %%cta, %%ctaid.x;\n\tmov.u32 %%me, %%tid.x;\n\tand.b32 %%lane, %%me, 31;\n");
	OUT("\tmad.lo.u32 %%hash, %%cta, 1000003, %%me;\n\tmov.u32 %%acc, 1;\n");
	for (unsigned k = 0; k < NATIVE_REGS; k++)
		OUT("\tmov.b64 %%r%u, 0;\n", k);
	for (; c.n < ops; c.n++)
		emit_op(&c);
	OUT("\tbra END;\nFAILED:\n\tld.param.u64 %%failed, [failed_%d];\n\t.loc 1 999 0\n", launch);
	OUT("\tst.global.u32 [%%failed], 1;\nEND:\n\tret;\n}\n");
}

void compile_emit(const struct native *p, FILE *to)
{
	OUT(".version 8.6\n.target sm_90\n.address_size 64\n\n.file 1 \"forms\"\n");
	for (int l = 0; l < p->launches; l++)
		emit_launch(p, l, to);
}
