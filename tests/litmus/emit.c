/* Litmus programs as PTX. Registers of the program are 64 bits wide (ld and st may be narrower than their register, PTX ISA
 * 9.4.1); atomics go through one of their width. Sections of one CTA stand one after another, each guarded by the CTA's and
 * the thread's index, so threads of one section stay together. */
#include "litmus.h"

#include <inttypes.h>
#include <string.h>

struct emitter {
	const struct lit_program *p;
	const char *prefix;
	unsigned file, label, depth;
	unsigned open[16];        /* label of each open if or repeat */
	enum lit_op opened[16];
	int barrier_apart;        /* threads of one warp may come to a barrier from different places */
	FILE *to;
};

#define OUT(e, ...) fprintf((e)->to, __VA_ARGS__)

static const char temporary[9] = {[2] = 'h', [4] = 'w', [8] = 'q'};

/* ---- instructions --------------------------------------------------------------------------------------------- */
/* Leaves this thread's address in %at, if threads have addresses of their own. */
static void emit_address(const struct emitter *e, const struct lit_instr *i)
{
	if (!i->stride)
		return;
	OUT(e, "\tmul.wide.u32 %%at, %%me, %d;\n\tadd.s64 %%at, %%at, %%loc%d;\n", i->stride, i->location);
}

static void put_address(const struct emitter *e, const struct lit_instr *i)
{
	if (i->stride)
		OUT(e, "[%%at");
	else
		OUT(e, "[%%loc%d", i->location);
	OUT(e, i->offset ? "%+d]" : "]", i->offset);
}

static uint64_t fitting(const struct lit_instr *i, uint64_t value)
{
	return i->bytes == 8 ? value : value & ((1ull << 8 * i->bytes) - 1);
}

/* .loc goes right before the instruction that the line is about, behind what prepares its operands. */
static void emit_line(const struct emitter *e, const struct lit_instr *i)
{
	OUT(e, "\t.loc %u %u 0\n", e->file, i->line);
}

static void emit_load(const struct emitter *e, const struct lit_instr *i)
{
	char opcode[LIT_OPCODE];

	emit_address(e, i);
	lit_opcode_write(i, opcode);
	emit_line(e, i);
	OUT(e, "\t%s %s", opcode, i->vector > 1 ? "{" : "");
	for (int n = 0; n < i->vector; n++)
		OUT(e, "%s%%r%d", n ? ", " : "", i->reg + n);
	OUT(e, "%s, ", i->vector > 1 ? "}" : "");
	put_address(e, i);
	OUT(e, ";\n");
}

static void emit_store(const struct emitter *e, const struct lit_instr *i)
{
	char opcode[LIT_OPCODE];

	emit_address(e, i);
	if (i->value_reg >= 0)
		OUT(e, "\tmov.b64 %%q2, %%r%d;\n", i->value_reg);
	else
		OUT(e, "\tmov.b64 %%q2, %" PRIu64 ";\n", fitting(i, i->value));
	lit_opcode_write(i, opcode);
	emit_line(e, i);
	OUT(e, "\t%s ", opcode);
	put_address(e, i);
	OUT(e, ", %s", i->vector > 1 ? "{" : "");
	for (int n = 0; n < i->vector; n++)
		OUT(e, "%s%%q2", n ? ", " : "");
	OUT(e, "%s;\n", i->vector > 1 ? "}" : "");
}

static void emit_rmw(const struct emitter *e, const struct lit_instr *i)
{
	char opcode[LIT_OPCODE], t = temporary[i->bytes];
	int bits = 8 * i->bytes;

	emit_address(e, i);
	if (i->value_reg >= 0)
		OUT(e, "\tcvt.u%d.u64 %%%c2, %%r%d;\n", bits, t, i->value_reg);
	else
		OUT(e, "\tmov.b%d %%%c2, %" PRIu64 ";\n", bits, t, fitting(i, i->value));
	if (i->rmw == LIT_CAS)
		OUT(e, "\tmov.b%d %%%c1, %" PRIu64 ";\n", bits, t, fitting(i, i->compare));
	lit_opcode_write(i, opcode);
	emit_line(e, i);
	OUT(e, "\t%s ", opcode);
	if (i->op == LIT_ATOM && i->reg >= 0)
		OUT(e, "%%%c0, ", t);
	else if (i->op == LIT_ATOM)
		OUT(e, "_, ");
	put_address(e, i);
	if (i->rmw == LIT_CAS)
		OUT(e, ", %%%c1", t);
	OUT(e, ", %%%c2;\n", t);
	if (i->op == LIT_ATOM && i->reg >= 0)
		OUT(e, "\tcvt.u64.u%d %%r%d, %%%c0;\n", bits, i->reg, t);
}

static void emit_fence(const struct emitter *e, const struct lit_instr *i)
{
	char opcode[LIT_OPCODE];

	lit_opcode_write(i, opcode);
	emit_line(e, i);
	OUT(e, "\t%s;\n", opcode);
}

static void emit_poll(struct emitter *e, const struct lit_instr *i)
{
	unsigned label = e->label++;

	OUT(e, "\tmov.u32 %%polls, %u;\nL%u:\n", i->count, label);
	emit_load(e, i);
	OUT(e, "\tsetp.eq.u64 %%p, %%r%d, %" PRIu64 ";\n\t@%%p bra L%u_end;\n", i->reg, fitting(i, i->value), label);
	OUT(e, "\tsub.u32 %%polls, %%polls, 1;\n\tsetp.ne.u32 %%p, %%polls, 0;\n\t@%%p bra L%u;\nL%u_end:\n", label, label);
}

/* Lanes of the section's warp that have a section. */
static uint32_t lanes_of_warp(const struct emitter *e, const struct lit_thread *of)
{
	uint32_t mask = 0;

	for (size_t n = 0; n < e->p->threads; n++) {
		const struct lit_thread *t = &e->p->thread[n];

		for (uint32_t l = 0; t->launch == of->launch && t->cta == of->cta && l < 32; l++) {
			uint32_t tid = of->first / 32 * 32 + l;

			mask |= (uint32_t)(tid >= t->first && tid < t->first + t->threads) << l;
		}
	}
	return mask;
}

static void emit_mbarrier_wait(struct emitter *e, const struct lit_instr *i)
{
	unsigned label = e->label++;

	OUT(e, "L%u:\n", label);
	emit_line(e, i);
	if (i->meet == LIT_MTOKEN)
		OUT(e, "\tmbarrier.test_wait.shared.b64 %%p, [mbarriers+%u], %%token%u;\n", 8 * i->barrier, i->barrier);
	else
		OUT(e, "\tmbarrier.try_wait.parity.shared.b64 %%p, [mbarriers+%u], %u;\n", 8 * i->barrier, (unsigned)i->value);
	OUT(e, "\t@!%%p bra L%u;\n", label);
}

static void emit_bar(struct emitter *e, const struct lit_thread *t, const struct lit_instr *i)
{
	const char *bar = e->barrier_apart ? "barrier" : "bar";

	if (i->meet == LIT_MWAIT || i->meet == LIT_MTOKEN) {
		emit_mbarrier_wait(e, i);
		return;
	}
	if (i->meet == LIT_REDUCE)
		OUT(e, "\tsetp.eq.u32 %%p, %%me, 0;\n");
	emit_line(e, i);
	switch ((enum lit_meet)i->meet) {
	case LIT_ALL: OUT(e, "\t%s.sync 0;\n", bar); break;
	case LIT_SYNC: OUT(e, "\t%s.sync %u, %u;\n", bar, i->barrier, i->count); break;
	case LIT_ARRIVE: OUT(e, "\t%s.arrive %u, %u;\n", bar, i->barrier, i->count); break;
	case LIT_REDUCE: OUT(e, "\t%s.red.popc.u32 %%w0, %u, %u, %%p;\n", bar, i->barrier, i->count); break;
	case LIT_WARP: OUT(e, "\tbar.warp.sync %u;\n", lanes_of_warp(e, t)); break;
	case LIT_MARRIVE: OUT(e, "\tmbarrier.arrive.shared.b64 %%token%u, [mbarriers+%u];\n", i->barrier, 8 * i->barrier); break;
	case LIT_MWAIT:
	case LIT_MTOKEN: break;
	}
}

static void emit_if(struct emitter *e, const struct lit_instr *i)
{
	OUT(e, "\tsetp.%s.u64 %%p, %%r%d, %" PRIu64 ";\n\t@%%p bra L%u_end;\n", i->negated ? "eq" : "ne", i->reg, i->value, e->label);
	e->opened[e->depth] = LIT_IF;
	e->open[e->depth++] = e->label++;
}

static void emit_repeat(struct emitter *e, const struct lit_instr *i)
{
	OUT(e, "\tmov.u32 %%times%u, %u;\nL%u:\n", e->depth, i->count, e->label);
	OUT(e, "\tsetp.eq.u32 %%p, %%times%u, 0;\n\t@%%p bra L%u_end;\n", e->depth, e->label);
	OUT(e, "\tsub.u32 %%times%u, %%times%u, 1;\n", e->depth, e->depth);
	e->opened[e->depth] = LIT_REPEAT;
	e->open[e->depth++] = e->label++;
}

static void emit_end(struct emitter *e)
{
	unsigned label = e->open[--e->depth];

	if (e->opened[e->depth] == LIT_REPEAT)
		OUT(e, "\tbra L%u;\n", label);
	OUT(e, "L%u_end:\n", label);
}

static void emit_instr(struct emitter *e, const struct lit_thread *t, const struct lit_instr *i)
{
	switch (i->op) {
	case LIT_LD: emit_load(e, i); break;
	case LIT_ST: emit_store(e, i); break;
	case LIT_ATOM:
	case LIT_RED: emit_rmw(e, i); break;
	case LIT_FENCE: emit_fence(e, i); break;
	case LIT_BAR: emit_bar(e, t, i); break;
	case LIT_POLL: emit_poll(e, i); break;
	case LIT_IF: emit_if(e, i); break;
	case LIT_REPEAT: emit_repeat(e, i); break;
	case LIT_END: emit_end(e); break;
	}
}

/* ---- sections and kernels ------------------------------------------------------------------------------------- */
/* Bits of the registers that the section writes. */
static uint64_t written(const struct lit_thread *t)
{
	uint64_t set = 0;

	for (size_t n = 0; n < t->instrs; n++)
		for (int r = 0; t->instr[n].reg >= 0 && r < t->instr[n].vector; r++)
			set |= 1ull << (t->instr[n].reg + r);
	return set;
}

static uint64_t used(const struct lit_thread *t)
{
	uint64_t set = written(t);

	for (size_t n = 0; n < t->instrs; n++)
		if (t->instr[n].value_reg >= 0)
			set |= 1ull << t->instr[n].value_reg;
	return set;
}

/* The last act of the section's first thread. Line 0: no instruction of the program. */
static void emit_outcome(const struct emitter *e, size_t thread, unsigned done)
{
	const struct lit_thread *t = &e->p->thread[thread];
	uint64_t set = written(t);

	if (!set)
		return;
	OUT(e, "\tsetp.eq.u64 %%p, %%kept, 0;\n\t@%%p bra L%u_end;\n", done);
	OUT(e, "\tsetp.ne.u32 %%p, %%me, %u;\n\t@%%p bra L%u_end;\n\t.loc %u 0 0\n", t->first, done, e->file);
	for (unsigned r = 0; r < LIT_REGS; r++)
		if (set >> r & 1)
			OUT(e, "\tst.global.b64 [%%kept+%zu], %%r%u;\n", (thread * LIT_REGS + r) * 8, r);
}

static void emit_section(struct emitter *e, size_t thread)
{
	const struct lit_thread *t = &e->p->thread[thread];
	unsigned done = e->label++;
	uint64_t set = used(t);

	OUT(e, "\tsetp.ne.u32 %%p, %%block, %u;\n\t@%%p bra L%u_end;\n", t->cta, done);
	OUT(e, "\tsub.u32 %%polls, %%me, %u;\n\tsetp.ge.u32 %%p, %%polls, %u;\n\t@%%p bra L%u_end;\n", t->first, t->threads, done);
	for (unsigned r = 0; r < LIT_REGS; r++)
		if (set >> r & 1)
			OUT(e, "\tmov.b64 %%r%u, 0;\n", r);
	e->barrier_apart = 0;
	for (size_t other = 0; other < e->p->threads; other++)
		e->barrier_apart |= other != thread && e->p->thread[other].launch == t->launch && e->p->thread[other].cta == t->cta;
	e->barrier_apart |= t->threads % 32 != 0 || t->first % 32 != 0;
	e->depth = 0;
	for (size_t n = 0; n < t->instrs; n++)
		emit_instr(e, t, &t->instr[n]);
	emit_outcome(e, thread, done);
	OUT(e, "L%u_end:\n", done);
}

/* The arrivals of each mbarrier's phases; 0: the launch has none of that number. */
static int mbarriers(const struct lit_program *p, int launch, uint32_t count[LIT_MBARRIERS])
{
	int any = 0;

	memset(count, 0, LIT_MBARRIERS * sizeof(*count));
	for (size_t t = 0; t < p->threads; t++)
		for (size_t n = 0; p->thread[t].launch == launch && n < p->thread[t].instrs; n++) {
			const struct lit_instr *i = &p->thread[t].instr[n];

			if (i->op == LIT_BAR && i->meet == LIT_MARRIVE)
				any = (count[i->barrier] = i->count) != 0;
		}
	return any;
}

/* Made by thread 0 before anything else; line 0: no instruction of the program. */
static void emit_mbarriers(const struct emitter *e, const uint32_t *count)
{
	OUT(e, "\tsetp.ne.u32 %%p, %%me, 0;\n\t.loc %u 0 0\n", e->file);
	for (int m = 0; m < LIT_MBARRIERS; m++)
		if (count[m])
			OUT(e, "\t@!%%p mbarrier.init.shared.b64 [mbarriers+%d], %u;\n", 8 * m, count[m]);
	OUT(e, "\tbar.sync 0;\n");
}

static void emit_kernel(struct emitter *e, int launch)
{
	uint32_t count[LIT_MBARRIERS];
	int shared = mbarriers(e->p, launch, count);
	const struct lit_launch *l = &e->p->launch[launch];
	char name[4 * LIT_NAME];

	snprintf(name, sizeof(name), "%s_%s", e->prefix, l->name);
	OUT(e, "\n.visible .entry %s(\n", name);
	for (size_t n = 0; n < e->p->locations; n++)
		OUT(e, "\t.param .u64 %s_%zu,\n", name, n);
	OUT(e, "\t.param .u64 %s_kept)\n{\n", name);
	OUT(e, "\t.reg .pred %%p;\n\t.reg .b16 %%h<3>;\n\t.reg .b32 %%w<3>;\n\t.reg .b64 %%q<3>;\n\t.reg .b32 %%block, %%me, %%polls;\n");
	OUT(e, "\t.reg .b32 %%times<16>;\n\t.reg .b64 %%r<%d>;\n\t.reg .b64 %%loc<%zu>;\n\t.reg .b64 %%at, %%kept;\n", LIT_REGS,
	    e->p->locations + 1);
	if (shared)
		OUT(e, "\t.shared .align 8 .b64 mbarriers[%d];\n\t.reg .b64 %%token<%d>;\n", LIT_MBARRIERS, LIT_MBARRIERS);
	for (size_t n = 0; n < e->p->locations; n++)
		OUT(e, "\tld.param.u64 %%loc%zu, [%s_%zu];\n", n, name, n);
	OUT(e, "\tld.param.u64 %%kept, [%s_kept];\n\tmov.u32 %%block, %%ctaid.x;\n\tmov.u32 %%me, %%tid.x;\n", name);
	if (shared)
		emit_mbarriers(e, count);
	e->label = 0;
	for (size_t t = 0; t < e->p->threads; t++)
		if (e->p->thread[t].launch == launch)
			emit_section(e, t);
	OUT(e, "\tret;\n}\n");
}

void lit_emit_head(FILE *to)
{
	/* 8.6 is the first version with fence.acquire and fence.release, 8.2 with .mmio. */
	fprintf(to, ".version 8.6\n.target sm_90\n.address_size 64\n");
}

void lit_emit_kernels(const struct lit_program *p, const char *prefix, unsigned file, FILE *to)
{
	struct emitter e = {.p = p, .prefix = prefix, .file = file, .to = to};

	fprintf(to, "\n.file %u \"%s.litmus\"\n", file, p->name);
	for (size_t l = 0; l < p->launches; l++)
		emit_kernel(&e, (int)l);
}

void lit_emit(const struct lit_program *p, const char *prefix, FILE *to)
{
	lit_emit_head(to);
	lit_emit_kernels(p, prefix, 1, to);
}
