#include "ptx/meeting.h"

#include <inttypes.h>
#include <string.h>

#include "ptx/access.h"
#include "ptx/call.h"

static int has_part(const struct ptx_module *m, const struct ptx_instr *i, const char *part)
{
	size_t n = strlen(part);

	for (uint32_t k = 0; k < i->mods; k++)
		if (memmem(m->text + i->mod[k].off, i->mod[k].len, part, n))
			return 1;
	return 0;
}

/* ---- which ---- */

/* Strong operations in shared memory that read: a flag by hand. */
static int reads_shared_flag(const struct ptx_module *m, const struct ptx_instr *i)
{
	return (ptx_is(m, i->op, "atom") || (ptx_is(m, i->op, "ld") && ptx_access_strong(m, i))) && has_part(m, i, "shared");
}

static int is_arrival(const struct ptx_module *m, const struct ptx_instr *i)
{
	return (ptx_is(m, i->op, "mbarrier") && (ptx_has(m, i, "arrive") || ptx_has(m, i, "arrive_drop"))) ||
	       (ptx_is(m, i->op, "cp") && ptx_has(m, i, "mbarrier") && ptx_has(m, i, "arrive"));
}

static int is_wait(const struct ptx_module *m, const struct ptx_instr *i)
{
	return ptx_is(m, i->op, "mbarrier") && (ptx_has(m, i, "test_wait") || ptx_has(m, i, "try_wait"));
}

static const struct ptx_operand *address_of(const struct ptx_instr *i)
{
	for (uint32_t k = 0; k < i->operands; k++)
		if (i->operand[k].kind == PTX_OPND_ADDRESS)
			return &i->operand[k];
	return NULL;
}

static int is_number(const struct ptx_operand *o, unsigned bits)
{
	return o->kind == PTX_OPND_INT || (o->kind == PTX_OPND_REG && o->decl && ptx_type_bits(o->decl->type) == bits && o->decl->vector <= 1);
}

static int is_known_address(const struct ptx_operand *o)
{
	const struct ptx_operand *base = o && o->items == 1 ? &o->item[0] : NULL;

	if (base && base->kind == PTX_OPND_SYMBOL)
		return base->decl && base->decl->space == PTX_SHARED;
	return base && (is_number(base, 32) || is_number(base, 64));
}

/* The parity of the phase that a wait is for; NULL: a state says which phase. */
static const struct ptx_operand *parity_of(const struct ptx_module *m, const struct ptx_instr *i)
{
	return ptx_has(m, i, "parity") ? &i->operand[2] : NULL;
}

static int is_known(const struct ptx_module *m, const struct ptx_instr *i)
{
	if (ptx_has(m, i, "shared::cluster") || !is_known_address(address_of(i)) || (i->pred && i->pred->kind != PTX_OPND_REG))
		return 0;
	return is_arrival(m, i) || (i->operands >= 3 && i->operand[0].kind == PTX_OPND_REG && (!parity_of(m, i) || is_number(parity_of(m, i), 32)));
}

/* Others than the threads of a CTA may arrive: asynchronous work, threads of other CTAs. mbarrier.test_wait.parity is of PTX 7.1. */
int ptx_mbarriers_known(const struct ptx_module *m)
{
	if (m->version_major < 7 || (m->version_major == 7 && m->version_minor < 1))
		return 0;
	for (uint32_t f = 0; f < m->functions; f++)
		for (uint32_t k = 0; k < m->function[f].instrs; k++) {
			const struct ptx_instr *i = &m->function[f].instr[k];

			if (ptx_is(m, i->op, "mapa") || (ptx_is(m, i->op, "tcgen05") && has_part(m, i, "mbarrier")))
				return 0;
			if ((is_arrival(m, i) || is_wait(m, i)) && !is_known(m, i))
				return 0;
		}
	return 1;
}

/* bar.red has its result first, and the predicate that it asks last. */
static uint32_t of_reduction(const struct ptx_module *m, const struct ptx_instr *i) { return ptx_has(m, i, "red"); }

static int has_count(const struct ptx_module *m, const struct ptx_instr *i) { return i->operands > 1 + 2 * of_reduction(m, i); }

static enum ptx_meeting of_barrier(const struct ptx_module *m, const struct ptx_instr *i)
{
	uint32_t id = of_reduction(m, i);
	int followed = !i->pred || i->pred->kind == PTX_OPND_REG;

	if (ptx_has(m, i, "warp"))
		return PTX_MEETS_NOBODY;
	if (ptx_has(m, i, "cluster"))
		return ptx_has(m, i, "wait") ? PTX_MEETS_UNKNOWN : PTX_MEETS_NOBODY;
	if (!has_count(m, i))
		return PTX_MEETS_ALL;
	return followed && is_number(&i->operand[id], 32) && is_number(&i->operand[id + 1], 32) ?
		       PTX_MEETS_SOME : ptx_has(m, i, "arrive") ? PTX_MEETS_NOBODY : PTX_MEETS_UNKNOWN;
}

enum ptx_meeting ptx_meeting_of(const struct ptx_module *m, const struct ptx_instr *i, int mbarriers)
{
	if (ptx_is(m, i->op, "bar") || ptx_is(m, i->op, "barrier"))
		return of_barrier(m, i);
	if (is_arrival(m, i))
		return mbarriers ? PTX_MEETS_LATER : PTX_MEETS_NOBODY;
	if (is_wait(m, i))
		return mbarriers ? PTX_MEETS_PHASE : PTX_MEETS_UNKNOWN;
	return reads_shared_flag(m, i) ? PTX_MEETS_UNKNOWN : PTX_MEETS_NOBODY;
}

/* ---- what is said ---- */

static uint32_t say(struct text *t, enum ptx_call which, const char *pred, const char *a, const char *b, const char *c)
{
	const char *arg[] = {"%gsan_launch", "%gsan_self", a, b, c};

	ptx_call_emit(t, which, pred, arg, NULL);
	return 1u << which;
}

/* Of one that stands behind the instruction: it may have changed the predicate. */
static void guard(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, struct text *pred)
{
	ptx_call_pred(pred, m, i);
	t->failed |= pred->failed;
}
static const char *words(const struct text *t) { return t->data && !t->failed ? t->data : ""; }

static void put_number(struct text *t, const struct ptx_module *m, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_INT)
		text_printf(t, "%" PRId64, o->ivalue);
	else
		ptx_call_reg(t, m, o);
}

/* Into %gsan_w. A generic address is one of shared memory. */
static void put_address(struct text *t, const struct ptx_module *m, const struct ptx_instr *i)
{
	const struct ptx_operand *o = address_of(i), *base = &o->item[0];
	int64_t offset = o->ivalue + (base->kind == PTX_OPND_INT ? base->ivalue : 0);

	if (base->kind == PTX_OPND_REG && ptx_type_bits(base->decl->type) == 64) {
		text_puts(t, has_part(m, i, "shared") ? "\tmov.b64 %gsan_a, " : "\tcvta.to.shared.u64 %gsan_a, ");
		ptx_call_reg(t, m, base);
		text_puts(t, ";\n\tcvt.u32.u64 %gsan_w, %gsan_a;\n");
	} else if (base->kind == PTX_OPND_REG) {
		text_puts(t, "\tmov.b32 %gsan_w, ");
		ptx_call_reg(t, m, base);
		text_puts(t, ";\n");
	} else if (base->kind == PTX_OPND_SYMBOL) {
		text_printf(t, "\tmov.u32 %%gsan_w, %.*s;\n", (int)base->decl->name.len, m->text + base->decl->name.off);
	} else {
		text_printf(t, "\tmov.b32 %%gsan_w, %" PRId64 ";\n", offset);
		return;
	}
	if (offset)
		text_printf(t, "\tadd.s32 %%gsan_w, %%gsan_w, %" PRId64 ";\n", offset);
}

#define MBARRIER_REGS "\t{\n\t.reg .b64 %gsan_a;\n\t.reg .b32 %gsan_w, %gsan_o;\n\t.reg .pred %gsan_c;\n"

/* Which phase is under way, says the mbarrier. */
static uint32_t say_arrive(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, const char *pred)
{
	uint32_t calls;

	text_puts(t, MBARRIER_REGS);
	put_address(t, m, i);
	text_printf(t, "\t%smbarrier.test_wait.parity.shared.b64 %%gsan_c, [%%gsan_w], 0;\n\tselp.b32 %%gsan_o, %u, 0, %%gsan_c;\n"
		    "\tor.b32 %%gsan_w, %%gsan_w, %%gsan_o;\n", pred, GSAN_MBARRIER_ODD);
	calls = say(t, PTX_CALL_arrive, pred, "%gsan_w", NULL, NULL);
	text_puts(t, "\t}\n");
	return calls;
}

/* Is its first operand, a result, its own predicate? */
static int clobbers(const struct ptx_instr *i)
{
	const struct ptx_operand *to = i->operands ? &i->operand[0] : NULL;

	return to && i->pred && to->kind == PTX_OPND_REG && to->decl == i->pred->decl && to->index == i->pred->index;
}

/* A wait tells whether it is over. */
static uint32_t say_waited(struct text *t, const struct ptx_module *m, const struct ptx_instr *i)
{
	const struct ptx_operand *parity = parity_of(m, i);
	uint32_t calls;

	text_puts(t, "\n" MBARRIER_REGS);
	put_address(t, m, i);
	if (parity) {
		text_puts(t, "\tmov.b32 %gsan_o, ");
		put_number(t, m, parity);
		text_printf(t, ";\n\tand.b32 %%gsan_o, %%gsan_o, %u;\n\tor.b32 %%gsan_w, %%gsan_w, %%gsan_o;\n", GSAN_MBARRIER_ODD);
	} else {
		text_printf(t, "\tor.b32 %%gsan_w, %%gsan_w, %u;\n", GSAN_MBARRIER_ANY);
	}
	text_puts(t, "\tmov.pred %gsan_c, ");
	ptx_call_reg(t, m, &i->operand[0]);
	text_puts(t, ";\n");
	if (i->pred && !clobbers(i)) { /* else its result tells whether it is over */
		text_puts(t, i->pred->negated ? "\t@" : "\t@!");
		ptx_call_reg(t, m, i->pred);
		text_puts(t, " mov.pred %gsan_c, 0;\n");
	}
	calls = say(t, PTX_CALL_waited, "@%gsan_c ", "%gsan_w", NULL, NULL);
	text_puts(t, "\t}\n");
	return calls;
}

static uint32_t say_come(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, const char *pred)
{
	const struct ptx_operand *id = &i->operand[of_reduction(m, i)];
	struct text all = {0};
	uint32_t calls;

	text_puts(t, "\t{\n\t.reg .b32 %gsan_i;\n\tmov.b32 %gsan_i, ");
	put_number(t, m, id);
	text_puts(t, ";\n");
	put_number(&all, m, id + 1);
	calls = say(t, PTX_CALL_meet, pred, "%gsan_i", words(&all), ptx_has(m, i, "arrive") ? "0" : "1");
	t->failed |= all.failed;
	text_free(&all);
	return calls;
}

uint32_t ptx_meeting_before(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, enum ptx_meeting meeting)
{
	struct text pred = {0};
	uint32_t calls = 0;

	guard(t, m, i, &pred);
	if (meeting == PTX_MEETS_ALL)
		calls = say(t, PTX_CALL_barrier, words(&pred), NULL, NULL, NULL);
	else if (meeting == PTX_MEETS_SOME)
		calls = say_come(t, m, i, words(&pred));
	else if (meeting == PTX_MEETS_LATER)
		calls = say_arrive(t, m, i, words(&pred));
	text_free(&pred);
	return calls;
}

/* A reduction may leave its result in its own predicate: then all say that they are over, and who did not wait counts as behind all. */
uint32_t ptx_meeting_behind(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, enum ptx_meeting meeting)
{
	int clobbered = of_reduction(m, i) && clobbers(i);
	struct text pred = {0};
	struct ptx_instr said = *i;
	uint32_t calls = 0;

	if (is_wait(m, i) && (!i->pred || clobbers(i)) && i->operands && i->operand[0].kind == PTX_OPND_REG)
		said.pred = &i->operand[0];
	if (!clobbered)
		guard(t, m, &said, &pred);
	if (meeting == PTX_MEETS_SOME) {
		text_puts(t, "\n");
		calls = ptx_has(m, i, "arrive") ? 0 : say(t, PTX_CALL_met, words(&pred), "%gsan_i", NULL, NULL);
		text_puts(t, "\t}\n");
	} else if (meeting == PTX_MEETS_PHASE) {
		calls = say_waited(t, m, i);
	} else if (meeting == PTX_MEETS_UNKNOWN) {
		text_puts(t, "\n");
		calls = say(t, PTX_CALL_behind, words(&pred), NULL, NULL, NULL);
	}
	text_free(&pred);
	return calls;
}
