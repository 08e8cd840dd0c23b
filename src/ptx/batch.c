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

/* Lanes whose accesses fill a line of 128 bytes, for the sizes that the clone recognises by itself; else 0. */
static uint32_t lanes_per_line(uint32_t bytes)
{
	return bytes == 4 || bytes == 8 || bytes == 16 ? GSAN_LINE / bytes : 0;
}

/* One access of the run: base = address less the lane's share; the group agrees on it, and it is a line. Lane k of the
 * group takes it. */
static void emit_recognition(const struct ptx_batch *b, uint32_t k, struct text *t)
{
	uint32_t bytes = b->place[k]->access.bytes, lanes = lanes_per_line(bytes);

	text_printf(t, "\tand.b32 %%gsan_t, %%gsan_n, %u;\n\tmul.wide.u32 %%gsan_o, %%gsan_t, %u;\n", lanes - 1, bytes);
	text_printf(t, "\tsub.s64 %%gsan_o, %%gsan_a%u, %%gsan_o;\n\tmov.b64 {%%gsan_x0, %%gsan_x1}, %%gsan_o;\n", k);
	for (int half = 0; half < 2; half++)
		text_printf(t, "\tshfl.sync.idx.b32 %%gsan_y, %%gsan_x%d, 0, %u, -1;\n"
			       "\tsetp.eq.and.u32 %%gsan_q, %%gsan_y, %%gsan_x%d, %%gsan_q;\n",
			    half, (32 - lanes) << 8 | 31, half);
	text_printf(t, "\tand.b32 %%gsan_y, %%gsan_x0, %u;\n\tsetp.eq.and.u32 %%gsan_q, %%gsan_y, 0, %%gsan_q;\n", GSAN_LINE - 1);
	text_printf(t, "\tsetp.eq.u32 %%gsan_k, %%gsan_t, %u;\n\tselp.b64 %%gsan_l, %%gsan_o, %%gsan_l, %%gsan_k;\n", k);
	text_printf(t, "\tselp.b32 %%gsan_d, %u, %%gsan_d, %%gsan_k;\n", ptx_batch_desc(b->place[k]));
}

/* The warp is whole, every lane makes every access, and each access fills lines: one call with a line per lane. Anything
 * else jumps to gsan_slow. */
static void emit_lines(const struct ptx_batch *b, const char *valid, struct text *t)
{
	char n[16];
	const char *arg[PTX_CALL_ARGS] = {"%gsan_launch", "%gsan_self", n, "%gsan_l", "%gsan_d"};

	snprintf(n, sizeof(n), "%u", b->count);
	text_puts(t, "\tactivemask.b32 %gsan_n;\n\tsetp.eq.u32 %gsan_k, %gsan_n, -1;\n");
	if (*valid == '%')
		text_printf(t, "\tsetp.eq.and.u32 %%gsan_k, %s, %u, %%gsan_k;\n", valid, (1u << b->count) - 1);
	text_puts(t, "\tvote.sync.all.pred %gsan_q, %gsan_k, %gsan_n;\n\t@!%gsan_q bra gsan_slow;\n"
		     "\tmov.u32 %gsan_n, %laneid;\n\tmov.b64 %gsan_l, 0;\n\tmov.b32 %gsan_d, 0;\n");
	for (uint32_t k = 0; k < b->count; k++)
		emit_recognition(b, k, t);
	text_puts(t, "\tvote.sync.all.pred %gsan_q, %gsan_q, -1;\n\t@!%gsan_q bra gsan_slow;\n");
	ptx_call_emit(t, PTX_CALL_lines, "", arg, NULL);
	text_puts(t, "\tbra.uni gsan_done;\ngsan_slow:\n");
}

uint32_t ptx_batch_emit(const struct ptx_batch *b, struct text *t)
{
	uint32_t order = b->count > 4 ? 3 : b->count > 2 ? 2 : b->count - 1;
	char valid[16], address[GSAN_BATCH_MAX][16], desc[GSAN_BATCH_MAX][16];
	const char *arg[PTX_CALL_ARGS] = {"%gsan_launch", "%gsan_self", valid};
	enum ptx_call call = (enum ptx_call)(PTX_CALL_access1 + order);
	int lines = 1;

	text_printf(t, "\n\t{\n\t.reg .b64 %%gsan_a<%u>, %%gsan_o, %%gsan_l;\n"
		       "\t.reg .b32 %%gsan_v, %%gsan_t, %%gsan_n, %%gsan_x<2>, %%gsan_y, %%gsan_d;\n"
		       "\t.reg .pred %%gsan_q, %%gsan_k;\n", GSAN_BATCH_MAX);
	for (uint32_t k = 0; k < 1u << order; k++) {
		snprintf(address[k], sizeof(address[k]), k < b->count ? "%%gsan_a%u" : "0", k);
		snprintf(desc[k], sizeof(desc[k]), "%u", k < b->count ? ptx_batch_desc(b->place[k]) : 0);
		arg[3 + 2 * k] = address[k];
		arg[4 + 2 * k] = desc[k];
		if (k < b->count) {
			ptx_call_address(t, b->m, &b->place[k]->access, address[k]);
			lines &= lanes_per_line(b->place[k]->access.bytes) > k;
		}
	}
	emit_valid(b, t, valid);
	if (lines)
		emit_lines(b, valid, t);
	ptx_call_emit(t, call, "", arg, NULL);
	text_puts(t, lines ? "gsan_done:\n\t}\n" : "\t}\n");
	return 1u << call | (lines ? 1u << PTX_CALL_lines : 0);
}
