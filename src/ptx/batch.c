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

enum ptx_call ptx_batch_emit(const struct ptx_batch *b, struct text *t)
{
	uint32_t order = b->count > 4 ? 3 : b->count > 2 ? 2 : b->count - 1;
	char valid[16], address[GSAN_BATCH_MAX][16], desc[GSAN_BATCH_MAX][16];
	const char *arg[PTX_CALL_ARGS] = {"%gsan_launch", "%gsan_self", valid};
	enum ptx_call call = (enum ptx_call)(PTX_CALL_access1 + order);

	text_printf(t, "\n\t{\n\t.reg .b64 %%gsan_a<%u>;\n\t.reg .b32 %%gsan_v, %%gsan_t;\n\t.reg .pred %%gsan_q;\n",
		    GSAN_BATCH_MAX);
	for (uint32_t k = 0; k < 1u << order; k++) {
		snprintf(address[k], sizeof(address[k]), k < b->count ? "%%gsan_a%u" : "0", k);
		snprintf(desc[k], sizeof(desc[k]), "%u", k < b->count ? ptx_batch_desc(b->place[k]) : 0);
		arg[3 + 2 * k] = address[k];
		arg[4 + 2 * k] = desc[k];
		if (k < b->count)
			ptx_call_address(t, b->m, &b->place[k]->access, address[k]);
	}
	emit_valid(b, t, valid);
	ptx_call_emit(t, call, "", arg, NULL);
	text_puts(t, "\t}\n");
	return call;
}
