#include "ptx/call.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static const struct { const char *name, *params, *result; } calls[] = {
#define PTX_CALL_ROW(name, params, result) {"gsan_" #name, params, result},
	GSAN_CALLS(PTX_CALL_ROW)
#undef PTX_CALL_ROW
};

const char *ptx_call_name(enum ptx_call call)
{
	return calls[call].name;
}

uint32_t ptx_call_params(enum ptx_call call)
{
	return (uint32_t)strlen(calls[call].params);
}

static const char *type_of(char letter)
{
	return letter == 'u' ? "b32" : "b64";
}

void ptx_call_emit(struct text *t, enum ptx_call call, const char *pred, const char *const *arg, const char *result)
{
	uint32_t n = ptx_call_params(call);
	const char *type = type_of(calls[call].result[0]);

	text_puts(t, "\t{\n");
	if (result)
		text_printf(t, "\t.param .%s gsan_r;\n", type);
	for (uint32_t i = 0; i < n; i++) {
		const char *kind = type_of(calls[call].params[i]);

		text_printf(t, "\t.param .%s gsan_p%u;\n\tst.param.%s [gsan_p%u], %s;\n", kind, i, kind, i, arg[i]);
	}
	text_printf(t, "\t%scall %s%s, (", pred, result ? "(gsan_r), " : "", calls[call].name);
	for (uint32_t i = 0; i < n; i++)
		text_printf(t, "%sgsan_p%u", i ? ", " : "", i);
	text_puts(t, ");\n");
	if (result)
		text_printf(t, "\tld.param.%s %s, [gsan_r];\n", type, result);
	text_puts(t, "\t}\n");
}

void ptx_call_reg(struct text *t, const struct ptx_module *m, const struct ptx_operand *o)
{
	text_add(t, m->text + o->decl->name.off, o->decl->name.len);
	if (o->decl->count)
		text_printf(t, "%u", o->index);
	if (o->component)
		text_printf(t, ".%c", o->component);
}

void ptx_call_pred(struct text *t, const struct ptx_module *m, const struct ptx_instr *i)
{
	if (!i->pred)
		return;
	text_puts(t, i->pred->negated ? "@!" : "@");
	ptx_call_reg(t, m, i->pred);
	text_puts(t, " ");
}

void ptx_call_address(struct text *t, const struct ptx_module *m, const struct ptx_access *a, const char *to)
{
	const struct ptx_operand *base = &a->address->item[0];
	int64_t offset = a->address->ivalue;

	if (base->kind == PTX_OPND_INT) {
		text_printf(t, "\tmov.b64 %s, %" PRId64 ";\n", to, (int64_t)((uint64_t)base->ivalue + (uint64_t)offset));
		return;
	}
	if (base->kind == PTX_OPND_SYMBOL) {
		text_printf(t, "\tmov.u64 %s, %.*s;\n\tcvta.global.u64 %s, %s;\n", to, (int)base->decl->name.len,
			    m->text + base->decl->name.off, to, to);
	} else {
		text_printf(t, "\t%s %s, ", ptx_type_bits(base->decl->type) == 32 ? "cvt.u64.u32" : "mov.b64", to);
		ptx_call_reg(t, m, base);
		text_puts(t, ";\n");
	}
	if (offset)
		text_printf(t, "\tadd.s64 %s, %s, %" PRId64 ";\n", to, to, offset);
}

void ptx_call_quick(struct text *t, int in_parameter)
{
	text_printf(t, "\tld.%sb32 %%gsan_u, [%s+%zu];\n", in_parameter ? "param." : "",
		    in_parameter ? GSAN_RECORD_PARAM : "%gsan_launch", offsetof(struct gsan_launch, quick));
}

/* The bits of a literal as an element of `bits` bits; a decimal float is a double in the source. */
static uint64_t literal_bits(const struct ptx_operand *o, unsigned bits)
{
	uint64_t v = (uint64_t)o->ivalue;

	if (o->kind == PTX_OPND_FLOAT && o->fbits == 64 && bits == 32) {
		double d;
		float f;
		uint32_t w;

		memcpy(&d, &v, sizeof(d));
		f = (float)d;
		memcpy(&w, &f, sizeof(w));
		v = w;
	}
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

/* One element of `bits` bits, zero-extended, into %gsan_y. */
static void emit_element(struct text *t, const struct ptx_module *m, const struct ptx_operand *o, unsigned bits)
{
	static const struct { unsigned bits; const char *before, *after; } moves[] = {
		{16, "mov.b16 %gsan_h, ", ";\n\tcvt.u64.u16 %gsan_y, %gsan_h"},
		{32, "mov.b32 %gsan_w, ", ";\n\tcvt.u64.u32 %gsan_y, %gsan_w"},
		{64, "mov.b64 %gsan_y, ", ""}};

	if (o->kind != PTX_OPND_REG) {
		text_printf(t, "\tmov.b64 %%gsan_y, %" PRId64 ";\n", (int64_t)literal_bits(o, bits));
		return;
	}
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (moves[i].bits != ptx_type_bits(o->decl->type))
			continue;
		text_printf(t, "\t%s", moves[i].before);
		ptx_call_reg(t, m, o);
		text_printf(t, "%s;\n", moves[i].after);
		if (bits < moves[i].bits)
			text_printf(t, "\tand.b64 %%gsan_y, %%gsan_y, %" PRIu64 ";\n", (uint64_t)((1ull << bits) - 1));
	}
}

static int has_bits(const struct ptx_operand *o, unsigned bits)
{
	unsigned held;

	if (o->kind == PTX_OPND_INT || (o->kind == PTX_OPND_FLOAT && o->fbits >= bits && bits >= 32))
		return 1;
	if (o->kind != PTX_OPND_REG || (o->decl->vector > 1 && !o->component) || o->negated)
		return 0;
	held = ptx_type_bits(o->decl->type);
	return (held == 16 || held == 32 || held == 64) && held >= bits;
}

int ptx_call_value(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, const struct ptx_access *a,
		   const struct ptx_operand *o)
{
	const struct ptx_operand *item = o && o->kind == PTX_OPND_VECTOR ? o->item : o;
	uint32_t n = o && o->kind == PTX_OPND_VECTOR ? o->items : 1;
	unsigned bits = ptx_type_bits(ptx_instr_type(m, i));

	if (!o || !n || a->bytes > 8 || bits / 8 * n != a->bytes)
		return 0;
	for (uint32_t k = 0; k < n; k++)
		if (!has_bits(&item[k], bits))
			return 0;
	for (uint32_t k = 0; k < n; k++) {
		emit_element(t, m, &item[k], bits);
		if (k)
			text_printf(t, "\tshl.b64 %%gsan_y, %%gsan_y, %u;\n\tor.b64 %%gsan_x, %%gsan_x, %%gsan_y;\n", k * bits);
		else
			text_puts(t, "\tmov.b64 %gsan_x, %gsan_y;\n");
	}
	return 1;
}
