#include "ptx/clone.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/batch.h"
#include "ptx/meeting.h"
#include "ptx/occupancy.h"
#include "ptx/parted.h"
#include "ptx/uses.h"

struct clone {
	const struct ptx_module *m;
	const struct ptx_plan *plan;
	const struct ptx_function *f;
	const struct ptx_function_plan *fp;
	struct ptx_edits edits;
	struct ptx_uses uses;
	struct ptx_lanes lanes;
	uint8_t *parted;     /* parted.h */
	struct ptx_batch batch;
	uint32_t batch_end;  /* source offset behind the batch's last access */
	uint32_t batch_block;
	uint32_t run;        /* accesses of a batch, at most */
	uint32_t *calls;
	struct text text;    /* scratch of one insertion */
};

static uint32_t span_end(struct ptx_span s)
{
	return s.off + s.len;
}

static void insert(struct clone *c, uint32_t off)
{
	if (c->text.failed)
		c->edits.failed = 1;
	else if (c->text.size)
		ptx_edit_add(&c->edits, off, 0, c->text.data, c->text.size);
	c->text.size = 0;
}

static void call(struct clone *c, enum ptx_call which, const struct ptx_instr *i, const char *const *arg, const char *result)
{
	struct text pred = {0};

	if (i)
		ptx_call_pred(&pred, c->m, i);
	c->text.failed |= pred.failed;
	ptx_call_emit(&c->text, which, pred.data ? pred.data : "", arg, result);
	*c->calls |= 1u << which;
	text_free(&pred);
}

/* ---- head ---- */

/* Linkage words go: a clone of a function is nobody else's. */
static void edit_name(struct clone *c)
{
	const struct ptx_function *f = c->f;
	uint32_t at = f->whole.off;

	if (!f->is_entry) {
		while (at < f->name.off && strncmp(c->m->text + at, ".func", 5))
			at++;
		ptx_edit_add(&c->edits, f->whole.off, at - f->whole.off, "", 0);
	}
	ptx_edit_insert(&c->edits, span_end(f->name), GSAN_CLONE_SUFFIX);
}

static void edit_params(struct clone *c)
{
	const struct ptx_function *f = c->f;
	const char *comma = f->param_count ? "," : "";

	if (!f->params.len)
		text_puts(&c->text, "(");
	if (f->is_entry)
		text_printf(&c->text, "%s\n\t.param .align 8 .b8 " GSAN_RECORD_PARAM "[%u]\n", comma, ptx_plan_record_bytes(c->fp));
	else
		text_printf(&c->text, "%s\n\t.param .b64 gsan_launch_param,\n\t.param .b64 gsan_self_param\n", comma);
	if (!f->params.len)
		text_puts(&c->text, ")");
	insert(c, f->params.len ? span_end(f->params) - 1 : span_end(f->name));
}

static uint32_t skip_class(const struct clone *c, uint32_t at, const char *class)
{
	while (at < c->f->body.off && strchr(class, c->m->text[at]))
		at++;
	return at;
}

/* The clone keeps the plain kernel's CTAs per SM: a grid barrier written for them must not hang (FACTS D). */
static void edit_limits(struct clone *c, uint32_t regs)
{
	struct ptx_span d = c->f->directives;
	struct ptx_limit limit;

	if (!c->f->is_entry || !ptx_occupancy_limit(c->m->sm, c->f, regs, &limit))
		return;
	size_t n = strlen(limit.word);
	const char *old = limit.was ? memmem(c->m->text + d.off, d.len, limit.word, n) : NULL;

	if (old) {
		uint32_t from = skip_class(c, (uint32_t)(old + n - c->m->text), " \t\r\n");
		uint32_t to = skip_class(c, from, "0123456789xabcdefABCDEF");
		char value[16];

		ptx_edit_add(&c->edits, from, to - from, value, (size_t)snprintf(value, sizeof(value), "%u", limit.value));
	} else {
		text_printf(&c->text, "%s %u\n", limit.word, limit.value);
		insert(c, c->f->body.off);
	}
}

/* Where the launch record is: the parameter, or elsewhere (layout.h). */
static void edit_launch(struct clone *c)
{
	text_printf(&c->text, "\t{\n\t.reg .pred %%gsan_r;\n\t.reg .b32 %%gsan_u;\n\tmov.b64 %%gsan_launch, " GSAN_RECORD_PARAM ";\n"
		    "\tcvta.param.u64 %%gsan_launch, %%gsan_launch;\n\tld.param.b32 %%gsan_u, [" GSAN_RECORD_PARAM "+%zu];\n"
		    "\tsetp.eq.u32 %%gsan_r, %%gsan_u, 0;\n\t@%%gsan_r ld.param.b64 %%gsan_launch, [" GSAN_RECORD_PARAM "+%zu];\n\t}\n",
		    offsetof(struct gsan_launch, quick), offsetof(struct gsan_launch, at));
}

static void edit_prologue(struct clone *c)
{
	static const char *const names[] = {"gsan_launch", "gsan_self"};
	char flags[16];
	const char *arg[] = {"%gsan_launch", flags};

	snprintf(flags, sizeof(flags), "%u", (c->fp->reaches_sync ? GSAN_ENTER_SYNC : 0) | (uint32_t)c->fp->reaches_reds << GSAN_ENTER_REDS_SHIFT);
	text_puts(&c->text, "\n\t.reg .b64 %gsan_launch;\n\t.reg .b64 %gsan_self;\n");
	if (c->f->is_entry) {
		edit_launch(c);
		call(c, PTX_CALL_enter, NULL, arg, "%gsan_self");
	} else {
		for (int k = 0; k < 2; k++)
			text_printf(&c->text, "\tld.param.b64 %%%s, [%s_param];\n", names[k], names[k]);
	}
	insert(c, c->f->call_offset);
}

/* Is the record that holds the parameter's first, all through? */
static int keeps_record(const struct clone *c) { return c->f->is_entry && !(c->fp->reaches_depends & PTX_DEPENDS_WAITS); }

/* ---- body ---- */

static void flush(struct clone *c, uint32_t off)
{
	if (!c->batch.count)
		return;
	*c->calls |= ptx_batch_emit(&c->batch, &c->text);
	insert(c, off);
	c->batch.count = 0;
}

static void add_weak(struct clone *c, const struct ptx_place *p)
{
	if (!c->batch.count)
		c->batch.number = (uint32_t)(p - c->plan->place);
	c->batch.place[c->batch.count++] = p;
	c->batch_end = span_end(p->instr->whole);
	c->batch_block = p->instr->block;
	if (ptx_batch_clobbered(&c->batch, p->instr))
		flush(c, p->instr->whole.off);
	else if (c->batch.count == c->run)
		flush(c, c->batch_end);
}

/* Does the result of an RMW go nowhere? A CAS gets a register for it, %gsan_d: it tells whether it wrote. */
static int is_sink(const struct ptx_place *p)
{
	return p->instr->operands && p->instr->operand[0].kind == PTX_OPND_SINK && p->access.bytes <= 8;
}

static void edit_sink(struct clone *c, const struct ptx_place *p)
{
	static const char name[] = "%gsan_d";
	const struct ptx_operand *o = &p->instr->operand[0];

	ptx_edit_add(&c->edits, o->text.off, o->text.len, name, sizeof(name) - 1);
	text_printf(&c->text, p->access.bytes < 8 ? "\tcvt.u64.u%u %%gsan_x, %%gsan_d;\n" : "\tmov.b%u %%gsan_x, %%gsan_d;\n",
		    8 * p->access.bytes);
}

/* Is its result read? */
static int is_read(const struct clone *c, const struct ptx_place *p)
{
	return p->access.value && ptx_uses_read(&c->uses, p->access.value);
}

/* What a CAS compares with, kept in %gsan_e while its registers change; 0: it cannot be told whether it writes. */
static int edit_expected(struct clone *c, const struct ptx_place *p)
{
	const struct ptx_access *a = &p->access;

	if (a->rmw != PTX_RMW_CAS || p->instr->operands < 4 ||
	    (!is_sink(p) && !ptx_call_value(&c->text, c->m, p->instr, a, a->value)) ||
	    !ptx_call_value(&c->text, c->m, p->instr, a, &p->instr->operand[2]))
		return 0;
	text_puts(&c->text, "\t.reg .b64 %gsan_e;\n\t.reg .pred %gsan_c;\n\tmov.b64 %gsan_e, %gsan_x;\n");
	if (is_sink(p))
		text_printf(&c->text, "\t.reg .b%u %%gsan_d;\n", 8 * a->bytes);
	return 1;
}

/* A CAS that failed comes as the load that it was; %gsan_c: it did not. */
static void edit_failed(struct clone *c, uint32_t desc)
{
	text_printf(&c->text, "\tsetp.eq.u64 %%gsan_c, %%gsan_x, %%gsan_e;\n\tselp.b32 %%gsan_w, %u, %u, %%gsan_c;\n", desc,
		    desc - ((GSAN_OP_RMW - GSAN_OP_STRONG_LD) << GSAN_DESC_OP_SHIFT));
}

/* Only those lanes go on that make the operation, up to gsan_over. */
static void edit_guard(struct clone *c, const struct ptx_instr *i)
{
	if (!i->pred)
		return;
	text_puts(&c->text, i->pred->negated ? "\t@" : "\t@!");
	ptx_call_reg(&c->text, c->m, i->pred);
	text_puts(&c->text, " bra gsan_over;\n");
}

/* The operation and what stands around it, up to edit_turns_end(): at once where %gsan_q, else for one lane of %gsan_m after the other.
 * Not by an early way out of a loop: ptxas lets lanes meet behind it, where each of them already holds a lock. */
#define TURN_REGS "\t.reg .b32 %gsan_m, %gsan_t, %gsan_l;\n\t.reg .pred %gsan_q, %gsan_k;\n"
static void edit_turns(struct clone *c)
{
	text_puts(&c->text, "\tselp.b32 %gsan_m, 1, %gsan_m, %gsan_q;\ngsan_turn:\n\tmov.u32 %gsan_l, %lanemask_eq;\n"
			    "\tneg.s32 %gsan_t, %gsan_m;\n\tand.b32 %gsan_t, %gsan_t, %gsan_m;\n"
			    "\tsetp.eq.or.u32 %gsan_k, %gsan_t, %gsan_l, %gsan_q;\n");
}
static void edit_turn(struct clone *c) { text_puts(&c->text, "\t@!%gsan_k bra gsan_next;\n"); } /* that lane goes on */
static void edit_turns_end(struct clone *c, const struct ptx_instr *i)
{
	text_puts(&c->text, "gsan_next:\n\tadd.s32 %gsan_t, %gsan_m, -1;\n\tand.b32 %gsan_m, %gsan_m, %gsan_t;\n"
			    "\tsetp.ne.u32 %gsan_k, %gsan_m, 0;\n\t@%gsan_k bra gsan_turn;\n");
	text_puts(&c->text, i->pred ? "gsan_over:\n\t}\n" : "\t}\n");
}

/* The result of a CAS that is not made. */
static void edit_result_of_load(struct clone *c, const struct ptx_place *p)
{
	if (is_sink(p))
		return;
	text_printf(&c->text, "\t@%%gsan_c mov.b%u ", 8 * p->access.bytes);
	ptx_call_reg(&c->text, c->m, &p->instr->operand[0]);
	text_puts(&c->text, p->access.bytes < 8 ? ", %gsan_w;\n" : ", %gsan_x;\n");
}

static int can_spin(const struct ptx_place *p)
{
	const struct ptx_access *a = &p->access;

	return a->rmw == PTX_RMW_CAS && (a->bytes == 4 || a->bytes == 8) &&
	       (is_sink(p) || ptx_type_bits(p->instr->operand[0].decl->type) == 8 * a->bytes);
}

/* Lanes that spin on a lock ask first whether that would fail and say nothing new: all that are left, in each turn. */
static void edit_spin(struct clone *c, const struct ptx_place *p, uint32_t desc)
{
	char load[16];
	const char *arg[] = {"%gsan_launch", "%gsan_self", "%gsan_w", "%gsan_a", load, "%gsan_e"};

	snprintf(load, sizeof(load), "%u", desc - ((GSAN_OP_RMW - GSAN_OP_STRONG_LD) << GSAN_DESC_OP_SHIFT));
	text_puts(&c->text, "\tand.b32 %gsan_l, %gsan_l, %gsan_m;\n\tsetp.ne.or.u32 %gsan_c, %gsan_l, 0, %gsan_q;\n\t@!%gsan_c bra gsan_next;\n"
			    "\tselp.b32 %gsan_w, 1, 0, %gsan_k;\n\tadd.u32 %gsan_w, %gsan_w, %gsan_o;\n");
	call(c, PTX_CALL_spin, NULL, arg, "%gsan_x");
	text_puts(&c->text, "\tsetp.ne.u64 %gsan_c, %gsan_x, %gsan_e;\n\tcvt.u32.u64 %gsan_w, %gsan_x;\n"); /* mov takes any register of its size */
	edit_result_of_load(c, p);
	text_puts(&c->text, "\t@%gsan_c mov.b32 %gsan_m, 0;\n\t@%gsan_c bra gsan_next;\n");
	edit_turn(c);
}

/* address, desc, value of before, look and after; the address is taken before the operation may overwrite its register. */
static void edit_strong(struct clone *c, const struct ptx_place *p)
{
	const struct ptx_access *a = &p->access;
	const struct ptx_instr *i = p->instr;
	uint32_t base = ptx_batch_desc(p), has = 0, cas, untold;
	char desc[16];
	const char *look[] = {"%gsan_launch", "%gsan_self", "%gsan_a", desc};
	const char *arg[] = {"%gsan_launch", "%gsan_self", "%gsan_o", "%gsan_a", desc, "%gsan_x", "0"};

	text_puts(&c->text, "\t{\n\t.reg .b64 %gsan_a, %gsan_x, %gsan_y;\n\t.reg .b32 %gsan_w, %gsan_g, %gsan_o;\n\t.reg .b16 %gsan_h;\n"
			    TURN_REGS);
	edit_guard(c, i);
	if (a->kind == PTX_ACCESS_RMW && is_read(c, p))
		base |= GSAN_DESC_USED;
	text_puts(&c->text, "\tactivemask.b32 %gsan_m;\n\tsetp.eq.u32 %gsan_q, %gsan_m, -1;\n\tselp.b32 %gsan_o, 1, 0, %gsan_q;\n");
	ptx_call_address(&c->text, c->m, a, "%gsan_a");
	cas = edit_expected(c, p);
	base |= cas ? GSAN_SEM_CAS << GSAN_DESC_SEM_SHIFT : 0;
	edit_turns(c);
	if (cas && can_spin(p) && c->fp->reaches_sync & PTX_SYNC_ORDERS) /* the others make each, as where they keep no clock: tests compare them */
		edit_spin(c, p, base | GSAN_DESC_VALUE);
	else
		edit_turn(c);
	untold = !cas && a->rmw == PTX_RMW_CAS;
	if (a->kind != PTX_ACCESS_LOAD) {
		has = a->kind == PTX_ACCESS_STORE && ptx_call_value(&c->text, c->m, i, a, a->value);
		snprintf(desc, sizeof(desc), "%u", base | (has || untold ? GSAN_DESC_VALUE : 0));
		arg[5] = has ? "%gsan_x" : "0";
		call(c, PTX_CALL_before, NULL, arg, NULL);
	} else {
		snprintf(desc, sizeof(desc), "%u", base);
		call(c, PTX_CALL_look, NULL, look, "%gsan_g");
		arg[6] = "%gsan_g";
	}
	insert(c, i->whole.off);
	text_puts(&c->text, "\n");
	if (untold) /* whether it wrote is not known: before() said that it did, and this is the read that it was */
		base = (base & ~(31u << GSAN_DESC_OP_SHIFT | (7u - GSAN_SEM_ACQUIRE) << GSAN_DESC_SEM_SHIFT | GSAN_DESC_USED)) |
		       (GSAN_OP_STRONG_LD + (a->op & 3u)) << GSAN_DESC_OP_SHIFT;
	if (cas && is_sink(p))
		edit_sink(c, p);
	else if (a->kind != PTX_ACCESS_STORE)
		has = (uint32_t)ptx_call_value(&c->text, c->m, i, a, a->value);
	has |= (uint32_t)cas;
	snprintf(desc, sizeof(desc), "%u", base | (has ? GSAN_DESC_VALUE : 0));
	arg[5] = has ? "%gsan_x" : "0";
	if (cas) {
		edit_failed(c, base | GSAN_DESC_VALUE);
		arg[4] = "%gsan_w";
	}
	call(c, PTX_CALL_after, NULL, arg, NULL);
	edit_turns_end(c, i);
	insert(c, span_end(i->whole));
}

/* An atom without its result: ptxas makes it a red by itself, but not behind a call, and what comes back costs. */
static void edit_result(struct clone *c, const struct ptx_place *p)
{
	const struct ptx_instr *i = p->instr;

	if (p->access.rmw != PTX_RMW_EITHER || !ptx_is(c->m, i->op, "atom") || is_read(c, p))
		return;
	ptx_edit_add(&c->edits, i->op.off, i->op.len, "red", 3);
	ptx_edit_add(&c->edits, i->operand[0].text.off, i->operand[1].text.off - i->operand[0].text.off, "", 0);
}

/* From here on the thread comes behind a red, perhaps: said before the instruction may change what it is predicated with. */
static void say_behind_red(struct clone *c, const struct ptx_instr *i)
{
	text_puts(&c->text, "\t");
	ptx_call_pred(&c->text, c->m, i);
	text_printf(&c->text, "or.b64 %%gsan_self, %%gsan_self, %llu;\n", GSAN_SELF_BEHIND_RED);
}

/* Of a lane that has something left to do: %gsan_u. */
static void edit_todo(struct clone *c, enum ptx_call which, const char *desc, const char *result)
{
	const char *arg[] = {"%gsan_launch", "%gsan_self", "%gsan_g", "%gsan_a", desc};

	ptx_call_emit(&c->text, which, "@%gsan_n ", arg, result);
	*c->calls |= 1u << which;
}

/* Behind what tells the program something: a value that is not 0, and that no known write left. */
static void edit_learned(struct clone *c, const struct ptx_place *p, const char *desc)
{
	const struct ptx_access *a = &p->access;
	const char *arg[] = {"%gsan_launch", "%gsan_self", "%gsan_a", desc};
	int has = ptx_call_value(&c->text, c->m, p->instr, a, a->value);

	text_printf(&c->text, "\tand.b32 %%gsan_u, %%gsan_o, %u;\n\tsetp.ne.u32 %%gsan_v, %%gsan_u, 0;\n%s", GSAN_RED_UNSEEN,
		    has ? "\tsetp.ne.and.u64 %gsan_v, %gsan_x, 0, %gsan_v;\n" : "");
	ptx_call_emit(&c->text, PTX_CALL_learned, "@%gsan_v ", arg, NULL);
	*c->calls |= 1u << PTX_CALL_learned;
}

/* Behind a CAS that kept what it expects: whether it wrote, and its descriptor by that, %gsan_w. */
static void edit_tried(struct clone *c, const struct ptx_place *p, uint32_t desc)
{
	static const char *const arg[] = {"%gsan_launch", "%gsan_self", "%gsan_g", "%gsan_a", "%gsan_w"};
	const struct ptx_access *a = &p->access;

	if (is_sink(p))
		edit_sink(c, p);
	else
		ptx_call_value(&c->text, c->m, p->instr, a, a->value);
	edit_failed(c, desc);
	text_printf(&c->text, "\tand.b32 %%gsan_u, %%gsan_g, %u;\n\tsetp.ne.or.u32 %%gsan_v, %%gsan_u, 0, %%gsan_c;\n", GSAN_RED_RACING);
	ptx_call_emit(&c->text, PTX_CALL_tried, "@%gsan_v ", arg, NULL);
	*c->calls |= 1u << PTX_CALL_tried;
}

/* A relaxed operation that is checked without its location's entry, as nearly all are, and then made by all lanes at once. */
static void edit_red(struct clone *c, const struct ptx_place *p)
{
	int told = p->access.rmw && is_read(c, p), learns = told || p->access.op < GSAN_OP_STRONG_ST, cas = p->access.rmw == PTX_RMW_CAS, tells;
	uint32_t base = ptx_batch_desc(p) | (told ? GSAN_DESC_USED : 0) | (cas ? GSAN_SEM_CAS << GSAN_DESC_SEM_SHIFT : 0);
	char desc[16];
	const char *arg[] = {"%gsan_launch", "%gsan_self", "%gsan_u", "%gsan_a", desc};

	text_puts(&c->text, "\t{\n\t.reg .b64 %gsan_a, %gsan_x, %gsan_y;\n\t.reg .b32 %gsan_u, %gsan_o, %gsan_g, %gsan_w;\n\t.reg .b16 %gsan_h;\n"
			    "\t.reg .pred %gsan_n, %gsan_v;\n" TURN_REGS);
	edit_guard(c, p->instr);
	ptx_call_address(&c->text, c->m, &p->access, "%gsan_a");
	tells = edit_expected(c, p);
	snprintf(desc, sizeof(desc), "%u", base + (cas ? (GSAN_OP_TRY - GSAN_OP_RMW) << GSAN_DESC_OP_SHIFT : 0));
	ptx_call_quick(&c->text, keeps_record(c));
	call(c, p->access.rmw && !told && !cas ? PTX_CALL_red : PTX_CALL_relaxed, NULL, arg, "%gsan_o");
	text_printf(&c->text, "\tand.b32 %%gsan_g, %%gsan_o, %u;\n\tsetp.ne.u32 %%gsan_n, %%gsan_g, 0;\n", GSAN_RED_GENERAL | GSAN_RED_WHOLE);
	edit_todo(c, PTX_CALL_hold, desc, "%gsan_u"); /* for which it is what the thread did before that counts */
	if (c->fp->says_behind_red)
		say_behind_red(c, p->instr);
	text_printf(&c->text, "\t@%%gsan_n mov.b32 %%gsan_g, %%gsan_u;\n\tsetp.ne.u32 %%gsan_n, %%gsan_g, 0;\n"
		    "\tactivemask.b32 %%gsan_m;\n\tand.b32 %%gsan_t, %%gsan_g, %u;\n"
		    "\tsetp.ne.or.u32 %%gsan_q, %%gsan_t, 0, !%%gsan_n;\n", GSAN_RED_WHOLE);
	edit_turns(c);
	edit_turn(c);
	edit_todo(c, PTX_CALL_take, desc, NULL);
	insert(c, p->instr->whole.off);
	edit_result(c, p);
	text_puts(&c->text, "\n");
	if (tells)
		edit_tried(c, p, base);
	edit_todo(c, PTX_CALL_reduced, tells ? "%gsan_w" : desc, NULL);
	if (learns) /* when the entry is others' again */
		edit_learned(c, p, desc);
	edit_turns_end(c, p->instr);
	insert(c, span_end(p->instr->whole));
}

static void edit_fence(struct clone *c, const struct ptx_place *p)
{
	char desc[16];
	const char *arg[] = {"%gsan_launch", "%gsan_self", desc};

	snprintf(desc, sizeof(desc), "%u", ptx_batch_desc(p));
	call(c, PTX_CALL_fence, p->instr, arg, NULL);
	insert(c, p->instr->whole.off);
}

/* A call of a cloned function goes to its clone, with the two values that it needs. */
static void edit_call(struct clone *c, const struct ptx_place *p)
{
	const struct ptx_instr *i = p->instr;
	const struct ptx_operand *args = NULL, *target = NULL;
	const struct ptx_module *m = c->m;

	for (uint32_t k = 0; k < i->operands; k++) {
		if (i->operand[k].kind != PTX_OPND_LIST)
			target = target ? target : &i->operand[k];
		else if (target && !args)
			args = &i->operand[k];
	}
	ptx_edit_insert(&c->edits, i->whole.off,
			"{\n\t.param .b64 gsan_l;\n\t.param .b64 gsan_s;\n\tst.param.b64 [gsan_l], %gsan_launch;\n"
			"\tst.param.b64 [gsan_s], %gsan_self;\n\t");
	text_add(&c->text, m->text + p->callee->name.off, p->callee->name.len);
	text_puts(&c->text, GSAN_CLONE_SUFFIX);
	text_puts(&c->text, args ? "" : ", (gsan_l, gsan_s)");
	ptx_edit_add(&c->edits, target->text.off, target->text.len, c->text.failed ? "" : c->text.data, c->text.size);
	c->text.size = 0;
	if (args)
		ptx_edit_insert(&c->edits, span_end(args->text) - 1, args->items ? ", gsan_l, gsan_s" : "gsan_l, gsan_s");
	ptx_edit_insert(&c->edits, span_end(i->whole), "\n\t}");
}

/* Before the call's parameters are put in their places. */
static void edit_unseen(struct clone *c, const struct ptx_place *p)
{
	static const char *const arg[] = {"%gsan_launch", "%gsan_self"};
	const struct ptx_instr *i = p->instr, *first = i;

	while (first > c->f->instr && first[-1].block == i->block && ptx_is(c->m, first[-1].op, "st") && ptx_has(c->m, &first[-1], "param"))
		first--;
	call(c, PTX_CALL_unseen, i, arg, NULL);
	insert(c, first->whole.off);
}

/* Where it meets other warps of its CTA. */
static void edit_meeting(struct clone *c, const struct ptx_instr *i)
{
	enum ptx_meeting meeting = ptx_meeting_of(c->m, i, c->plan->mbarriers);

	if (meeting == PTX_MEETS_NOBODY)
		return;
	*c->calls |= ptx_meeting_before(&c->text, c->m, i, meeting);
	insert(c, i->whole.off);
	*c->calls |= ptx_meeting_behind(&c->text, c->m, i, meeting);
	insert(c, span_end(i->whole));
}

static int is_end(const struct clone *c, const struct ptx_instr *i)
{
	return ptx_is(c->m, i->op, "exit") || (c->f->is_entry && ptx_is(c->m, i->op, "ret"));
}

static void edit_leave(struct clone *c, const struct ptx_instr *i, uint32_t off)
{
	static const char *const arg[] = {"%gsan_launch", "%gsan_self"};

	call(c, PTX_CALL_leave, i, arg, NULL);
	insert(c, off);
}

static void edit_place(struct clone *c, const struct ptx_place *p)
{
	switch (p->access.kind) {
	case PTX_ACCESS_WEAK:
		add_weak(c, p);
		break;
	case PTX_ACCESS_RED:
		edit_red(c, p);
		break;
	case PTX_ACCESS_LOAD:
	case PTX_ACCESS_STORE:
	case PTX_ACCESS_RMW:
		edit_strong(c, p);
		break;
	case PTX_ACCESS_FENCE:
		edit_fence(c, p);
		break;
	case PTX_ACCESS_NONE:
		if (p->callee)
			edit_call(c, p);
		break;
	case PTX_ACCESS_LEFT:
		if (p->unseen)
			edit_unseen(c, p);
		break;
	}
}

/* Where a cooperative grid synchronises: where the launch record says, if it does. */
static void edit_workspace(struct clone *c, const struct ptx_instr *i, const struct ptx_operand *o)
{
	static const char name[] = "%gsan_e";

	text_printf(&c->text, "{\n\t.reg .b64 %%gsan_a;\n\t.reg .b32 %%gsan_e, %%gsan_w, %%gsan_o;\n\t.reg .pred %%gsan_c;\n"
		    "\tld.b64 %%gsan_a, [%%gsan_launch+%zu];\n\tsetp.ne.u64 %%gsan_c, %%gsan_a, 0;\n"
		    "\tmov.b64 {%%gsan_w, %%gsan_o}, %%gsan_a;\n\tmov.b32 %%gsan_e, %.*s;\n\tselp.b32 %%gsan_e, %s, %%gsan_e, %%gsan_c;\n\t",
		    offsetof(struct gsan_launch, workspace), (int)o->text.len, c->m->text + o->text.off,
		    ptx_is(c->m, o->text, "%envreg1") ? "%gsan_o" : "%gsan_w");
	insert(c, i->whole.off);
	ptx_edit_add(&c->edits, o->text.off, o->text.len, name, sizeof(name) - 1);
	ptx_edit_insert(&c->edits, span_end(i->whole), "\n\t}");
}

/* From here on another record holds, for this thread; the others of its CTA find out when it matters. */
static void edit_wait(struct clone *c, const struct ptx_instr *i)
{
	static const char *const arg[] = {"%gsan_launch", "%gsan_self"};

	text_puts(&c->text, "\n\t{\n");
	edit_guard(c, i);
	call(c, PTX_CALL_depended, NULL, arg, "%gsan_launch");
	text_puts(&c->text, i->pred ? "gsan_over:\n\t}\n" : "\t}\n");
	insert(c, span_end(i->whole));
}

static void edit_instr(struct clone *c, uint32_t index, const struct ptx_place *p)
{
	const struct ptx_instr *i = &c->f->instr[index];

	if (c->uses.starts[index] || ptx_access_ends_run(c->m, i) || (c->batch.count && i->block != c->batch_block))
		flush(c, c->batch_end);
	/* A weak load that overwrites its own address takes the whole batch before itself, add_weak does that. */
	if (ptx_batch_clobbered(&c->batch, i) && !(p && p->access.kind == PTX_ACCESS_WEAK))
		flush(c, c->batch_end);
	if (c->fp->reaches_sync && is_end(c, i))
		edit_leave(c, i, i->whole.off);
	if (ptx_is(c->m, i->op, "setmaxnreg"))
		ptx_edit_add(&c->edits, i->whole.off, i->whole.len, "", 0);
	if (p)
		edit_place(c, p);
	if (ptx_plan_waits(c->m, i))
		edit_wait(c, i);
	if (c->fp->reaches_sync)
		edit_meeting(c, i);
	if ((c->f->is_entry || c->plan->linked) && ptx_parted_joins(c->m, i, c->parted[index]))
		ptx_edit_insert(&c->edits, span_end(i->opcode), ".aligned");
	for (uint32_t k = 0; !p && c->fp->grids && k < i->operands; k++)
		if (ptx_plan_is_workspace(c->m, &i->operand[k])) {
			edit_workspace(c, i, &i->operand[k]);
			break;
		}
	if (c->fp->says_behind_red && !(p && p->access.kind == PTX_ACCESS_RED) && ptx_access_meets(c->m, i)) {
		say_behind_red(c, i);
		insert(c, i->whole.off);
	}
}

/* Labels that only debug sections name belong to the original. */
static void drop_labels(struct clone *c)
{
	for (uint32_t k = 0; k < c->f->decls; k++) {
		const struct ptx_decl *d = c->f->decl[k];

		if (d->is_label && !ptx_uses_label(&c->uses, d))
			ptx_edit_add(&c->edits, d->whole.off, d->whole.len, "", 0);
	}
}

/* May a thread come to the end of the text? By a label there, or if the last instruction is not taken. */
static int falls_through(const struct clone *c)
{
	const struct ptx_instr *last = c->f->instrs ? &c->f->instr[c->f->instrs - 1] : NULL;

	return !last || !is_end(c, last) || last->pred || c->uses.starts[c->f->instrs];
}

static void edit_body(struct clone *c)
{
	const struct ptx_function *f = c->f;
	const struct ptx_place *p = c->plan->place + c->fp->place, *end = p + c->fp->places;

	for (uint32_t i = 0; i < f->instrs; i++) {
		const struct ptx_place *here = p < end && p->instr == &f->instr[i] ? p++ : NULL;

		edit_instr(c, i, here);
	}
	flush(c, c->batch_end);
	if (f->is_entry && c->fp->reaches_sync && falls_through(c))
		edit_leave(c, NULL, span_end(f->body) - 1);
}

int ptx_clone_print(const struct ptx_plan *plan, uint32_t f, uint32_t regs, uint32_t run, struct text *out, uint32_t *calls)
{
	struct clone c = {.m = plan->module, .plan = plan, .f = &plan->module->function[f], .fp = &plan->function[f],
			  .run = run ? run : GSAN_BATCH_MAX, .calls = calls};
	int status = ptx_uses_make(c.m, c.f, &c.uses);

	if (!status)
		status = ptx_lanes_make(c.m, c.f, &c.lanes);
	c.parted = status ? NULL : ptx_parted(c.m, c.f);
	if (!c.parted) {
		ptx_uses_free(&c.uses);
		ptx_lanes_free(&c.lanes);
		return status ? status : -ENOMEM;
	}
	c.batch.m = c.m;
	c.batch.lanes = &c.lanes;
	c.batch.in_parameter = keeps_record(&c);
	edit_name(&c);
	edit_params(&c);
	edit_limits(&c, regs);
	edit_prologue(&c);
	drop_labels(&c);
	edit_body(&c);
	status = ptx_edit_print(&c.edits, c.m->text, c.f->whole.off, span_end(c.f->whole), out);
	text_puts(out, "\n");
	ptx_edit_clear(&c.edits);
	ptx_uses_free(&c.uses);
	ptx_lanes_free(&c.lanes);
	free(c.parted);
	text_free(&c.text);
	return status ? status : out->failed ? -ENOMEM : 0;
}

int ptx_clone_prototype(const struct ptx_plan *plan, uint32_t f, struct text *out)
{
	struct clone c = {.m = plan->module, .plan = plan, .f = &plan->module->function[f]};
	int status;

	edit_name(&c);
	edit_params(&c);
	status = ptx_edit_print(&c.edits, c.m->text, c.f->whole.off, span_end(c.f->head), out);
	text_puts(out, ";\n");
	ptx_edit_clear(&c.edits);
	text_free(&c.text);
	return status;
}
