#include "ptx/batch.h"

#include <stdio.h>

#include "ptx/uses.h"

uint32_t ptx_batch_desc(const struct ptx_place *p)
{
	const struct ptx_access *a = &p->access;

	return (uint32_t)p->site << GSAN_DESC_SITE_SHIFT | a->bytes << GSAN_DESC_BYTES_SHIFT |
	       (uint32_t)a->op << GSAN_DESC_OP_SHIFT | (uint32_t)a->sem << GSAN_DESC_SEM_SHIFT;
}

static int writes(const struct ptx_module *m, const struct ptx_instr *i, const struct ptx_operand *o)
{
	return o && o->kind == PTX_OPND_REG && ptx_instr_writes(m, i, (struct ptx_reg){o->decl, o->index});
}

int ptx_batch_clobbered(const struct ptx_batch *b, const struct ptx_instr *i)
{
	for (uint32_t k = 0; k < b->count; k++) {
		const struct ptx_place *p = b->place[k];

		if (writes(b->m, i, &p->access.address->item[0]) || writes(b->m, i, p->instr->pred) ||
		    writes(b->m, i, p->access.size))
			return 1;
	}
	return 0;
}

/* %gsan_t = the access's bit if this thread makes it; false if it always does. */
static int emit_condition(const struct ptx_batch *b, const struct ptx_place *p, uint32_t bit, struct text *t)
{
	const struct ptx_operand *size = p->access.size, *pred = p->instr->pred;

	if (!size && !pred)
		return 0;
	if (pred) {
		text_printf(t, "\tselp.b32 %%gsan_t, %u, %u, ", pred->negated ? 0 : bit, pred->negated ? bit : 0);
		ptx_call_reg(t, b->m, pred);
		text_puts(t, ";\n");
	} else {
		text_printf(t, "\tmov.b32 %%gsan_t, %u;\n", bit);
	}
	if (!size)
		return 1;
	if (size->decl->type == PTX_PRED) { /* cp.async's ignore-src */
		text_printf(t, "\tselp.b32 %%gsan_t, %s, ", size->negated ? "%gsan_t, 0" : "0, %gsan_t");
		ptx_call_reg(t, b->m, size);
	} else { /* a copy that is partly filled with zeros is not recorded: its bytes vary */
		text_puts(t, "\tsetp.eq.u32 %gsan_q, ");
		ptx_call_reg(t, b->m, size);
		text_printf(t, ", %u;\n\tselp.b32 %%gsan_t, %%gsan_t, 0, %%gsan_q", p->access.bytes);
	}
	text_puts(t, ";\n");
	return 1;
}

/* Returns what `valid` is: a number when every thread makes every access, else %gsan_v. */
static void emit_valid(const struct ptx_batch *b, struct text *t, char valid[16])
{
	uint32_t always = 0, conditions = 0;

	for (uint32_t k = 0; k < b->count; k++) {
		if (!emit_condition(b, b->place[k], 1u << k, t)) {
			always |= 1u << k;
			continue;
		}
		text_printf(t, "\t%s;\n", conditions++ ? "or.b32 %gsan_v, %gsan_v, %gsan_t" : "mov.b32 %gsan_v, %gsan_t");
	}
	if (conditions && always)
		text_printf(t, "\tor.b32 %%gsan_v, %%gsan_v, %u;\n", always);
	snprintf(valid, 16, conditions ? "%%gsan_v" : "%u", always);
}

#define LINES_TURN 4u /* accesses per call: a group has at least so many lanes */

/* Lanes whose accesses fill half a line, for the sizes that the clone recognises by itself; else 0. */
static uint32_t lanes_per_half(uint32_t bytes)
{
	return bytes == 4 || bytes == 8 || bytes == 16 ? GSAN_LINE / 2 / bytes : 0;
}

/* One access of the run. base = address less the lane's share: the group must agree on it, and it is half a line. Two
 * groups side by side that hold both halves are a whole line, which the lower one takes. Lane k of a group takes it. */
static void emit_recognition(const struct ptx_batch *b, uint32_t k, struct text *t)
{
	uint32_t bytes = b->place[k]->access.bytes, lanes = lanes_per_half(bytes);

	text_printf(t, "\tand.b32 %%gsan_t, %%gsan_n, %u;\n\tmul.wide.u32 %%gsan_o, %%gsan_t, %u;\n", lanes - 1, bytes);
	text_printf(t, "\tsub.s64 %%gsan_o, %%gsan_a%u, %%gsan_o;\n\tmov.b64 {%%gsan_x0, %%gsan_x1}, %%gsan_o;\n", k);
	for (int half = 0; half < 2; half++)
		text_printf(t, "\tshfl.sync.idx.b32 %%gsan_y, %%gsan_x%d, 0, %u, -1;\n"
			       "\tsetp.eq.and.u32 %%gsan_q, %%gsan_y, %%gsan_x%d, %%gsan_q;\n",
			    half, (32 - lanes) << 8 | 31, half);
	text_printf(t, "\tand.b32 %%gsan_y, %%gsan_x0, %u;\n\tsetp.eq.and.u32 %%gsan_q, %%gsan_y, 0, %%gsan_q;\n",
		    GSAN_LINE / 2 - 1);
	text_printf(t, "\tshfl.sync.bfly.b32 %%gsan_y, %%gsan_x0, %u, 31, -1;\n\txor.b32 %%gsan_y, %%gsan_y, %u;\n"
		       "\tsetp.eq.u32 %%gsan_w, %%gsan_y, %%gsan_x0;\n", lanes, GSAN_LINE / 2);
	text_printf(t, "\tshfl.sync.bfly.b32 %%gsan_y, %%gsan_x1, %u, 31, -1;\n"
		       "\tsetp.eq.and.u32 %%gsan_w, %%gsan_y, %%gsan_x1, %%gsan_w;\n", lanes);
	text_printf(t, "\tand.b32 %%gsan_y, %%gsan_x0, %u;\n\tsetp.ne.and.u32 %%gsan_k, %%gsan_y, 0, %%gsan_w;\n"
		       "\tnot.pred %%gsan_k, %%gsan_k;\n", GSAN_LINE / 2);
	text_printf(t, "\tsetp.eq.and.u32 %%gsan_k, %%gsan_t, %u, %%gsan_k;\n\tselp.b32 %%gsan_y, %u, 0, %%gsan_w;\n"
		       "\tor.b32 %%gsan_x0, %%gsan_x0, %%gsan_y;\n\tmov.b64 %%gsan_o, {%%gsan_x0, %%gsan_x1};\n",
		    k % LINES_TURN, GSAN_LINES_WHOLE);
	text_printf(t, "\tselp.b64 %%gsan_l%u, %%gsan_o, %%gsan_l%u, %%gsan_k;\n\tselp.b32 %%gsan_d%u, %u, %%gsan_d%u, %%gsan_k;\n",
		    k / LINES_TURN, k / LINES_TURN, k / LINES_TURN, ptx_batch_desc(b->place[k]), k / LINES_TURN);
}

/* The warp is whole, every lane makes every access, and each access fills lines or halves of lines: a line per lane and
 * call. Anything else jumps to gsan_slow. */
static void emit_lines(const struct ptx_batch *b, const char *valid, struct text *t)
{
	uint32_t turns = (b->count + LINES_TURN - 1) / LINES_TURN;

	text_puts(t, "\tactivemask.b32 %gsan_n;\n\tsetp.eq.u32 %gsan_k, %gsan_n, -1;\n");
	if (*valid == '%')
		text_printf(t, "\tsetp.eq.and.u32 %%gsan_k, %s, %u, %%gsan_k;\n", valid, (1u << b->count) - 1);
	text_puts(t, "\tvote.sync.all.pred %gsan_q, %gsan_k, %gsan_n;\n\t@!%gsan_q bra gsan_slow;\n\tmov.u32 %gsan_n, %laneid;\n");
	for (uint32_t i = 0; i < turns; i++)
		text_printf(t, "\tmov.b64 %%gsan_l%u, 0;\n\tmov.b32 %%gsan_d%u, 0;\n", i, i);
	for (uint32_t k = 0; k < b->count; k++)
		emit_recognition(b, k, t);
	text_puts(t, "\tvote.sync.all.pred %gsan_q, %gsan_q, -1;\n\t@!%gsan_q bra gsan_slow;\n");
	for (uint32_t i = 0; i < turns; i++) {
		uint32_t left = b->count - i * LINES_TURN;
		char n[16], line[24], desc[24];
		const char *arg[PTX_CALL_ARGS] = {"%gsan_launch", "%gsan_self", n, line, desc};

		snprintf(n, sizeof(n), "%u", left < LINES_TURN ? left : LINES_TURN);
		snprintf(line, sizeof(line), "%%gsan_l%u", i);
		snprintf(desc, sizeof(desc), "%%gsan_d%u", i);
		ptx_call_emit(t, PTX_CALL_lines, "", arg, NULL);
	}
	text_puts(t, "\tbra.uni gsan_done;\ngsan_slow:\n");
}

uint32_t ptx_batch_emit(const struct ptx_batch *b, struct text *t)
{
	uint32_t order = b->count > 4 ? 3 : b->count > 2 ? 2 : b->count - 1;
	char valid[16], address[GSAN_BATCH_MAX][16], desc[GSAN_BATCH_MAX][16];
	const char *arg[PTX_CALL_ARGS] = {"%gsan_launch", "%gsan_self", valid};
	enum ptx_call call = (enum ptx_call)(PTX_CALL_access1 + order);
	int lines = 1;

	text_printf(t, "\n\t{\n\t.reg .b64 %%gsan_a<%u>, %%gsan_o, %%gsan_l<2>;\n"
		       "\t.reg .b32 %%gsan_v, %%gsan_t, %%gsan_n, %%gsan_x<2>, %%gsan_y, %%gsan_d<2>;\n"
		       "\t.reg .pred %%gsan_q, %%gsan_k, %%gsan_w;\n", GSAN_BATCH_MAX);
	for (uint32_t k = 0; k < 1u << order; k++) {
		snprintf(address[k], sizeof(address[k]), k < b->count ? "%%gsan_a%u" : "0", k);
		snprintf(desc[k], sizeof(desc[k]), "%u", k < b->count ? ptx_batch_desc(b->place[k]) : 0);
		arg[3 + 2 * k] = address[k];
		arg[4 + 2 * k] = desc[k];
		if (k < b->count) {
			ptx_call_address(t, b->m, &b->place[k]->access, address[k]);
			lines &= lanes_per_half(b->place[k]->access.bytes) != 0;
		}
	}
	emit_valid(b, t, valid);
	if (lines)
		emit_lines(b, valid, t);
	ptx_call_emit(t, call, "", arg, NULL);
	text_puts(t, lines ? "gsan_done:\n\t}\n" : "\t}\n");
	return 1u << call | (lines ? 1u << PTX_CALL_lines : 0);
}
