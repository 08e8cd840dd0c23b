#include "ptx/batch.h"

#include <stdio.h>

#include "ptx/uses.h"

uint32_t ptx_batch_desc(const struct ptx_place *p)
{
	const struct ptx_access *a = &p->access;
	uint32_t elements = a->kind == PTX_ACCESS_WEAK || a->elements < 2 ? 0 : a->elements < 4 ? 1 : a->elements < 8 ? 2 : 3;

	return (uint32_t)p->site << GSAN_DESC_SITE_SHIFT | (a->bytes + elements) << GSAN_DESC_BYTES_SHIFT |
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

/* What `valid` is: an immediate when every thread makes every access, else %gsan_v. */
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

/* May two of its accesses be one: of one site, and so small that there is room for both in a sector? */
static int has_beside(const struct ptx_batch *b)
{
	for (uint32_t k = 1; k < b->count; k++)
		if (ptx_batch_desc(b->place[k]) == ptx_batch_desc(b->place[k - 1]) && 2 * b->place[k]->access.bytes <= GSAN_SECTOR)
			return 1;
	return 0;
}

/* `valid` as the call takes it. */
static void emit_number(const struct ptx_batch *b, struct text *t, char valid[16])
{
	uint32_t number = b->number << GSAN_BATCH_NUMBER_SHIFT | (has_beside(b) ? GSAN_BATCH_BESIDE : 0);

	if (*valid == '%')
		text_printf(t, "\tor.b32 %%gsan_v, %%gsan_v, %u;\n", number);
	else
		snprintf(valid, 16, "%u", number | ((1u << b->count) - 1));
}

/* %gsan_q &= this thread makes every access. */
static void emit_all_valid(const struct ptx_batch *b, const char *valid, struct text *t)
{
	if (*valid == '%')
		text_printf(t, "\tsetp.eq.and.u32 %%gsan_q, %s, %u, %%gsan_q;\n", valid, (1u << b->count) - 1);
}

#define HALVES_TURN 4u /* accesses per call when groups are halves of lines: those have at least so many lanes */

#define WARP 32u

/* Lanes whose accesses fill half a line, for the sizes that the clone recognises by itself; else 0. Of 2 bytes it takes the warp: no group is beside
 * that, and none has a line. */
static uint32_t lanes_per_half(uint32_t bytes)
{
	return bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16 ? GSAN_LINE / 2 / bytes : 0;
}

/* {%gsan_x0, %gsan_x1} = the address of access k less the lane's share: where its group of `lanes` begins. */
static void emit_base(const struct ptx_batch *b, uint32_t k, uint32_t lanes, struct text *t)
{

	text_printf(t, "\tand.b32 %%gsan_t, %%gsan_n, %u;\n\tmul.lo.u32 %%gsan_y, %%gsan_t, %u;\n"
		       "\tmov.b64 {%%gsan_x0, %%gsan_x1}, %%gsan_a%u;\n\tsub.u32 %%gsan_x0, %%gsan_x0, %%gsan_y;\n",
		    lanes - 1, b->place[k]->access.bytes, k);
}

/* %gsan_w = the group beside has the other half of the line (groups side by side agree on the upper word). */
static void emit_beside(uint32_t lanes, const char *and, struct text *t)
{
	if (lanes == WARP) {
		text_puts(t, "\tmov.pred %gsan_w, 0;\n");
		return;
	}
	text_printf(t, "\tshfl.sync.bfly.b32 %%gsan_y, %%gsan_x0, %u, 31, -1;\n\txor.b32 %%gsan_y, %%gsan_y, %u;\n"
		       "\tsetp.eq%s.u32 %%gsan_w, %%gsan_y, %%gsan_x0%s;\n",
		    lanes, GSAN_LINE / 2, and, *and ? ", %gsan_w" : "");
}

/* One access of the run: %gsan_q &= the lanes of each group agree on where its half begins, and it is half a line;
 * %gsan_w &= two groups side by side have a whole one. */
static void emit_recognition(const struct ptx_batch *b, uint32_t k, struct text *t)
{
	uint32_t lanes = lanes_per_half(b->place[k]->access.bytes);

	emit_base(b, k, lanes, t);
	text_printf(t, "\tshfl.sync.idx.b32 %%gsan_y, %%gsan_x0, 0, %u, -1;\n"
		       "\tsetp.eq.and.u32 %%gsan_q, %%gsan_y, %%gsan_x0, %%gsan_q;\n", (WARP - lanes) << 8 | 31);
	text_printf(t, "\tshfl.sync.idx.b32 %%gsan_y, %%gsan_x1, 0, %u, -1;\n"
		       "\tsetp.eq.and.u32 %%gsan_q, %%gsan_y, %%gsan_x1, %%gsan_q;\n", (2 * lanes < WARP ? WARP - 2 * lanes : 0) << 8 | 31);
	text_printf(t, "\tand.b32 %%gsan_y, %%gsan_x0, %u;\n\tsetp.eq.and.u32 %%gsan_q, %%gsan_y, 0, %%gsan_q;\n",
		    GSAN_LINE / 2 - 1);
	emit_beside(lanes, ".and", t);
}

/* A call about `n` accesses: each lane has its line in %gsan_o, whose access is described in %gsan_d. */
static void emit_lines_call(const struct ptx_batch *b, uint32_t count, struct text *t)
{
	char n[16];
	const char *arg[PTX_CALL_ARGS] = {"%gsan_launch", "%gsan_self", "%gsan_u", n, "%gsan_o", "%gsan_d"};

	snprintf(n, sizeof(n), "%u", count);
	ptx_call_quick(t, b->in_parameter);
	ptx_call_emit(t, PTX_CALL_lines, "", arg, NULL);
}

/* Accesses `from` to `to`, known to fill lines, or halves of them, with groups of `lanes`: lane `slot` of each group takes the
 * line in which its own address lies; bit 0 says that it is whole. */
static void emit_slots(const struct ptx_batch *b, const uint32_t *lanes, uint32_t from, uint32_t to, struct text *t)
{
	int halves = 0;

	text_puts(t, "\tmov.b64 %gsan_o, 0;\n\tmov.b32 %gsan_d, 0;\n");
	for (uint32_t k = from; k < to; k++) {
		int whole = lanes[k] * b->place[k]->access.bytes == GSAN_LINE;

		halves |= !whole;
		text_printf(t, "\tor.b64 %%gsan_l, %%gsan_a%u, %u;\n\tand.b32 %%gsan_t, %%gsan_n, %u;\n"
			       "\tsetp.eq.u32 %%gsan_k, %%gsan_t, %u;\n\tselp.b64 %%gsan_o, %%gsan_l, %%gsan_o, %%gsan_k;\n"
			       "\tselp.b32 %%gsan_d, %u, %%gsan_d, %%gsan_k;\n",
			    k, whole ? GSAN_LINES_WHOLE : 0, lanes[k] - 1, k - from, ptx_batch_desc(b->place[k]));
	}
	text_printf(t, "\tmov.b64 {%%gsan_x0, %%gsan_x1}, %%gsan_o;\n\tand.b32 %%gsan_y, %%gsan_x0, %u;\n\tmov.b32 %%gsan_t, -%u;\n",
		    GSAN_LINES_WHOLE, GSAN_LINE);
	if (halves)
		text_printf(t, "\tsetp.ne.u32 %%gsan_k, %%gsan_y, 0;\n\tselp.b32 %%gsan_t, %%gsan_t, -%u, %%gsan_k;\n", GSAN_LINE / 2);
	text_puts(t, "\tand.b32 %gsan_x0, %gsan_x0, %gsan_t;\n\tor.b32 %gsan_x0, %gsan_x0, %gsan_y;\n"
		     "\tmov.b64 %gsan_o, {%gsan_x0, %gsan_x1};\n");
	emit_lines_call(b, to - from, t);
}

/* Lane k of a group takes its half; where two halves make a line, the lower group takes it. */
static void emit_half(const struct ptx_batch *b, uint32_t k, struct text *t)
{
	uint32_t lanes = lanes_per_half(b->place[k]->access.bytes);

	emit_base(b, k, lanes, t);
	emit_beside(lanes, "", t);
	text_printf(t, "\tand.b32 %%gsan_y, %%gsan_x0, %u;\n\tsetp.ne.and.u32 %%gsan_k, %%gsan_y, 0, %%gsan_w;\n"
		       "\tnot.pred %%gsan_k, %%gsan_k;\n\tsetp.eq.and.u32 %%gsan_k, %%gsan_t, %u, %%gsan_k;\n",
		    GSAN_LINE / 2, k % HALVES_TURN);
	text_printf(t, "\tselp.b32 %%gsan_y, %u, 0, %%gsan_w;\n\tor.b32 %%gsan_x0, %%gsan_x0, %%gsan_y;\n"
		       "\tmov.b64 %%gsan_l, {%%gsan_x0, %%gsan_x1};\n\tselp.b64 %%gsan_o, %%gsan_l, %%gsan_o, %%gsan_k;\n"
		       "\tselp.b32 %%gsan_d, %u, %%gsan_d, %%gsan_k;\n", GSAN_LINES_WHOLE, ptx_batch_desc(b->place[k]));
}

static void emit_halves(const struct ptx_batch *b, struct text *t)
{
	for (uint32_t k = 0; k < b->count; k++) {
		if (k % HALVES_TURN == 0)
			text_puts(t, "\tmov.b64 %gsan_o, 0;\n\tmov.b32 %gsan_d, 0;\n");
		emit_half(b, k, t);
		if (k % HALVES_TURN == HALVES_TURN - 1 || k == b->count - 1)
			emit_lines_call(b, k % HALVES_TURN + 1, t);
	}
}

/* The warp is whole, every lane makes every access, and each access fills lines or halves of lines: a line per lane and
 * call. Anything else jumps to gsan_slow. */
static void emit_lines(const struct ptx_batch *b, const char *valid, struct text *t)
{
	uint32_t whole[GSAN_BATCH_MAX];
	int lines = 1;

	text_puts(t, "\tactivemask.b32 %gsan_n;\n\tsetp.eq.u32 %gsan_q, %gsan_n, -1;\n\t@!%gsan_q bra gsan_slow;\n");
	emit_all_valid(b, valid, t);
	text_puts(t, "\tmov.u32 %gsan_n, %laneid;\n\tmov.pred %gsan_w, %gsan_q;\n");
	for (uint32_t k = 0; k < b->count; k++) {
		emit_recognition(b, k, t);
		whole[k] = 2 * lanes_per_half(b->place[k]->access.bytes);
		lines &= whole[k] <= WARP;
	}
	text_puts(t, "\tvote.sync.all.pred %gsan_q, %gsan_q, -1;\n\t@!%gsan_q bra gsan_slow;\n");
	if (lines) {
		text_puts(t, "\tvote.sync.all.pred %gsan_q, %gsan_w, -1;\n\t@!%gsan_q bra gsan_halves;\n");
		emit_slots(b, whole, 0, b->count, t);
		text_puts(t, "\tbra.uni gsan_done;\ngsan_halves:\n");
	}
	emit_halves(b, t);
	text_puts(t, "\tbra.uni gsan_done;\ngsan_slow:\n");
}

/* ---- addresses that say by themselves that they fill lines ------------------------------------------------------ */

/* Lanes that make up what access k fills, as far as its address shows: a line, half a line, or 0. */
static uint32_t lanes_known(const struct ptx_batch *b, uint32_t k)
{
	const struct ptx_access *a = &b->place[k]->access;
	uint32_t half = lanes_per_half(a->bytes), run;

	if (!b->lanes->together || !half)
		return 0;
	run = ptx_lanes_run(b->lanes, &a->address->item[0], a->bytes);
	return run >= 2 * half ? 2 * half : run >= half ? half : 0;
}

/* What is left to ask: do the groups begin where lines, or halves of lines, begin, and do all lanes take part? */
static void emit_alignment(const struct ptx_batch *b, const uint32_t *lanes, const char *valid, struct text *t)
{
	text_puts(t, "\tmov.u32 %gsan_n, %laneid;\n\tmov.b32 %gsan_d, 0;\n");
	for (uint32_t k = 0; k < b->count; k++) {
		emit_base(b, k, lanes[k], t);
		text_printf(t, "\tand.b32 %%gsan_x0, %%gsan_x0, %u;\n\tor.b32 %%gsan_d, %%gsan_d, %%gsan_x0;\n",
			    lanes[k] * b->place[k]->access.bytes - 1);
	}
	text_puts(t, "\tsetp.eq.u32 %gsan_q, %gsan_d, 0;\n");
	emit_all_valid(b, valid, t);
	text_puts(t, "\tvote.sync.all.pred %gsan_q, %gsan_q, -1;\n\t@!%gsan_q bra gsan_slow;\n");
}

/* 0: the addresses do not show enough. Slots of different accesses must not meet: groups have 4 lanes or more, 8 or more
 * if all are whole lines. */
static int emit_lines_known(const struct ptx_batch *b, const char *valid, struct text *t)
{
	uint32_t lanes[GSAN_BATCH_MAX], turn = GSAN_BATCH_MAX;

	for (uint32_t k = 0; k < b->count; k++) {
		lanes[k] = lanes_known(b, k);
		if (!lanes[k])
			return 0;
		if (lanes[k] * b->place[k]->access.bytes != GSAN_LINE)
			turn = HALVES_TURN;
	}
	emit_alignment(b, lanes, valid, t);
	for (uint32_t k = 0; k < b->count; k += turn)
		emit_slots(b, lanes, k, k + turn < b->count ? k + turn : b->count, t);
	text_puts(t, "\tbra.uni gsan_done;\ngsan_slow:\n");
	return 1;
}

uint32_t ptx_batch_emit(const struct ptx_batch *b, struct text *t)
{
	uint32_t order = b->count > 4 ? 3 : b->count > 2 ? 2 : b->count - 1;
	char valid[16], address[GSAN_BATCH_MAX][16], desc[GSAN_BATCH_MAX][16];
	const char *arg[PTX_CALL_ARGS] = {"%gsan_launch", "%gsan_self", valid};
	enum ptx_call call = (enum ptx_call)(PTX_CALL_access1 + order);
	int lines = 1;

	text_printf(t, "\n\t{\n\t.reg .b64 %%gsan_a<%u>, %%gsan_o, %%gsan_l;\n"
		       "\t.reg .b32 %%gsan_v, %%gsan_t, %%gsan_n, %%gsan_u, %%gsan_x<2>, %%gsan_y, %%gsan_d;\n"
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
	if (lines && !emit_lines_known(b, valid, t))
		emit_lines(b, valid, t);
	emit_number(b, t, valid);
	ptx_call_emit(t, call, "", arg, NULL);
	text_puts(t, lines ? "gsan_done:\n\t}\n" : "\t}\n");
	return 1u << call | (lines ? 1u << PTX_CALL_lines : 0);
}
