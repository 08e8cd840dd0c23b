#include "ptx/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/plan.h"

#define BITS PTX_LANE_BITS
#define ALL_BITS ((1u << BITS) - 1)
#define ROUNDS_WIDE 8 /* from then on a shared part that grows may be anything: what a loop shifts would take a round for each bit */
#define ROUNDS_MAX 48

typedef struct ptx_lane_value value;

static const value nothing;                                  /* no definition yet */
static const value anything = {.known = 1, .bad = ALL_BITS, .ones = ~0ull};
static const value shared = {.known = 1, .ones = ~0ull};     /* the same in all lanes */

static value constant(uint64_t bits)
{
	value v = shared;

	v.ones = bits;
	return v;
}

static uint8_t depends(const value *v) /* bits of the lane that matter to it */
{
	uint8_t bits = v->bad;

	for (uint32_t j = 0; j < BITS; j++)
		bits |= (uint8_t)((v->step[j] != 0) << j);
	return bits;
}

static void spoil(value *v, uint8_t bits)
{
	v->bad |= bits;
	for (uint32_t j = 0; j < BITS; j++)
		if (bits >> j & 1)
			v->step[j] = 0;
}

/* Bits that the value may have set, if each lane bit adds one bit of its own that nothing else sets: then it is a sum
 * without carries, and bitwise operations take it apart. Returns 0 if it is not. */
static int is_apart(const value *v, uint64_t *may)
{
	*may = v->ones;
	for (uint32_t j = 0; j < BITS; j++) {
		uint64_t step = (uint64_t)v->step[j];

		if (step & (step - 1) || step & *may)
			return 0;
		*may |= step;
	}
	return 1;
}

static uint64_t from_lowest(uint64_t bits) /* what a sum of such numbers may have set */
{
	return bits ? ~((bits & -bits) - 1) : 0;
}

static value join(value a, const value *b) /* either */
{
	if (!a.known || !b->known)
		return a.known ? a : *b;
	spoil(&a, b->bad);
	for (uint32_t j = 0; j < BITS; j++)
		if (a.step[j] != b->step[j])
			spoil(&a, (uint8_t)(1u << j));
	spoil(&a, a.bad);
	a.ones |= b->ones;
	return a;
}

static value sum(value a, const value *b, int sign)
{
	uint64_t may_a, may_b;
	int apart = sign > 0 && is_apart(&a, &may_a) && is_apart(b, &may_b) && !(may_a & may_b);

	a.ones = apart ? a.ones | b->ones : from_lowest(a.ones | b->ones);
	for (uint32_t j = 0; j < BITS; j++)
		a.step[j] += sign * b->step[j];
	spoil(&a, a.bad | b->bad);
	return a;
}

static value times(value a, int64_t by)
{
	uint64_t u = (uint64_t)by;

	a.ones = u && !(u & (u - 1)) ? a.ones * u : u ? from_lowest((a.ones & -a.ones) * (u & -u)) : 0;
	for (uint32_t j = 0; j < BITS; j++)
		a.step[j] *= by;
	return a;
}

static value bits_and(value a, uint64_t mask)
{
	uint64_t may;

	if (!is_apart(&a, &may))
		spoil(&a, depends(&a));
	a.ones &= mask;
	for (uint32_t j = 0; j < BITS; j++)
		a.step[j] &= (int64_t)mask;
	return a;
}

static value shift_right(value a, uint64_t by, unsigned width)
{
	uint64_t may;

	a.ones &= width < 64 ? (1ull << width) - 1 : ~0ull;
	if (!is_apart(&a, &may))
		spoil(&a, depends(&a));
	a.ones = by < 64 ? a.ones >> by : 0;
	for (uint32_t j = 0; j < BITS; j++)
		a.step[j] = by < 64 ? (int64_t)((uint64_t)a.step[j] >> by) : 0;
	return a;
}

/* 32 bits become 64: only a sum without carries keeps its parts. A sign may be anywhere in the shared part. */
static value widen(value a, int is_signed)
{
	uint64_t may;

	a.ones &= 0xffffffff;
	if (!is_apart(&a, &may) || may >> 32 || (is_signed && (may & ~a.ones) >> 31))
		spoil(&a, depends(&a));
	if (is_signed && a.ones >> 31)
		a.ones |= ~0ull << 32;
	return a;
}

/* ---- one instruction ------------------------------------------------------------------------------------------- */

struct eval {
	const struct ptx_module *m;
	const struct ptx_function *f;
	struct ptx_lanes *lanes;
	const struct ptx_instr *i;
	const uint8_t *parted; /* NULL: nowhere */
	int wide;              /* ROUNDS_WIDE are over */
};

static value *place_of(const struct ptx_lanes *l, const struct ptx_operand *o)
{
	return &l->value[l->base[o->decl->id] + (o->decl->count ? o->index : 0)];
}

static value of_special(const struct eval *e, const struct ptx_operand *o)
{
	static const char *const words[] = {"%ctaid", "%nctaid", "%ntid", "%nwarpid", "%gridid", "%clusterid", "%nclusterid",
					    "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank", "%cluster_nctarank"};
	struct ptx_span name = o->text;
	uint32_t x = e->f->reqntid[0], top = 1;
	value v = shared;

	for (uint32_t i = 0; i < name.len; i++)
		if (e->m->text[name.off + i] == '.')
			name.len = i;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ptx_is(e->m, name, words[i]))
			return v;
	if (ptx_is(e->m, name, "%tid") && o->component != 'x')
		return e->parted ? anything : v; /* a warp lies in one row: is_together() looks at that */
	if (!ptx_is(e->m, name, "%laneid") && !ptx_is(e->m, name, "%tid"))
		return anything;
	while (top < x)
		top *= 2;
	v.ones = ptx_is(e->m, name, "%tid") ? (top - 1) & ~31ull : 0;
	for (uint32_t j = 0; j < BITS; j++)
		v.step[j] = 1 << j;
	return v;
}

static value of_operand(const struct eval *e, const struct ptx_operand *o)
{
	value v = anything;

	switch (o->kind) {
	case PTX_OPND_REG:
		v = o->component ? anything : *place_of(e->lanes, o);
		break;
	case PTX_OPND_SPECIAL:
		v = of_special(e, o);
		break;
	case PTX_OPND_INT:
		v = constant((uint64_t)o->ivalue);
		break;
	case PTX_OPND_FLOAT:
	case PTX_OPND_SYMBOL:
	case PTX_OPND_SINK:
		v = shared;
		break;
	case PTX_OPND_ADDRESS:
	case PTX_OPND_VECTOR:
	case PTX_OPND_LIST: /* a tuple: only what it depends on matters */
		v = shared;
		for (uint32_t i = 0; i < o->items; i++) {
			value item = of_operand(e, &o->item[i]);

			if (!item.known)
				return nothing;
			v.bad |= depends(&item);
		}
		break;
	}
	if (o->negated && v.known) {
		spoil(&v, depends(&v));
		v.ones = ~0ull;
	}
	return v;
}

static value source(const struct eval *e, uint32_t k)
{
	return k < e->i->operands ? of_operand(e, &e->i->operand[k]) : anything;
}

static int literal(const struct eval *e, uint32_t k, int64_t *to)
{
	if (k >= e->i->operands || e->i->operand[k].kind != PTX_OPND_INT)
		return 0;
	*to = e->i->operand[k].ivalue;
	return 1;
}

/* The same in all lanes for which its operands are the same. */
static value of_any(const struct eval *e)
{
	value v = shared;

	for (uint32_t k = 1; k < e->i->operands; k++) {
		value s = source(e, k);

		if (!s.known)
			return nothing;
		v.bad |= depends(&s);
	}
	return v;
}

static value of_copy(const struct eval *e) { return source(e, 1); }

static value of_add(const struct eval *e)
{
	value a = source(e, 1), b = source(e, 2);

	return a.known && b.known ? sum(a, &b, 1) : nothing;
}

static value of_sub(const struct eval *e)
{
	value a = source(e, 1), b = source(e, 2);

	return a.known && b.known ? sum(a, &b, -1) : nothing;
}

static value of_product(const struct eval *e, int wide)
{
	value a = source(e, 1);
	int64_t by;

	if (!literal(e, 2, &by) || !(wide ? ptx_type_bits(ptx_instr_type(e->m, e->i)) == 32 : ptx_has(e->m, e->i, "lo"))) {
		value b = source(e, 2);

		if (!a.known || !b.known)
			return nothing;
		spoil(&a, depends(&a) | depends(&b));
		a.ones = ~0ull;
		return a;
	}
	return times(wide ? widen(a, ptx_has(e->m, e->i, "s32")) : a, by);
}

static value of_mul(const struct eval *e) { return of_product(e, ptx_has(e->m, e->i, "wide")); }

static value of_mad(const struct eval *e)
{
	value a = of_mul(e), c = source(e, 3);

	return a.known && c.known ? sum(a, &c, 1) : nothing;
}

static value of_shl(const struct eval *e)
{
	int64_t by;

	return literal(e, 2, &by) && by >= 0 && by < 64 ? times(source(e, 1), (int64_t)(1ull << by)) : of_any(e);
}

static value of_shr(const struct eval *e)
{
	value a = source(e, 1);
	enum ptx_type type = ptx_instr_type(e->m, e->i);
	int64_t by;

	if (!literal(e, 2, &by) || by < 0 || ((type == PTX_S32 || type == PTX_S64) && a.ones >> (ptx_type_bits(type) - 1)))
		return of_any(e);
	return shift_right(a, (uint64_t)by, ptx_type_bits(type));
}

static value of_bfe(const struct eval *e)
{
	int64_t at, length;

	if (!literal(e, 2, &at) || !literal(e, 3, &length) || at < 0 || length < 1 || length > 31 || !ptx_has(e->m, e->i, "u32"))
		return of_any(e);
	return bits_and(shift_right(source(e, 1), (uint64_t)at, 32), (1ull << length) - 1);
}

static value of_and(const struct eval *e)
{
	int64_t mask;

	return literal(e, 2, &mask) ? bits_and(source(e, 1), (uint64_t)mask) : of_any(e);
}

static value of_or(const struct eval *e) /* and xor: an addition where nothing meets */
{
	value a = source(e, 1), b = source(e, 2);
	uint64_t may_a, may_b;

	if (a.known && b.known && is_apart(&a, &may_a) && is_apart(&b, &may_b) && !(may_a & may_b))
		return sum(a, &b, 1);
	return of_any(e);
}

static value of_cvt(const struct eval *e)
{
	enum ptx_type to = e->i->mods > 1 ? ptx_type_of(e->m, e->i->mod[e->i->mods - 2]) : PTX_NOTYPE;
	enum ptx_type from = ptx_instr_type(e->m, e->i);
	int whole_to = to == PTX_U64 || to == PTX_S64 || to == PTX_U32 || to == PTX_S32;

	if (!whole_to || (from != PTX_U32 && from != PTX_S32 && from != PTX_U64 && from != PTX_S64) || ptx_has(e->m, e->i, "sat"))
		return of_any(e);
	return ptx_type_bits(to) == 64 && ptx_type_bits(from) == 32 ? widen(source(e, 1), from == PTX_S32) : source(e, 1);
}

static value of_selp(const struct eval *e)
{
	value a = source(e, 1), b = source(e, 2), p = source(e, 3);

	return !p.known || depends(&p) || !a.known || !b.known ? of_any(e) : join(a, &b);
}

/* What lanes that are together read at one place, in one instruction, is one value: so is what a CTA tells itself in shared memory. (What parted ones
 * read is spoiled with all that they set.) */
static value of_place(const struct eval *e, const struct ptx_operand *at)
{
	int everybodys = ptx_has(e->m, e->i, "shared") || ptx_has(e->m, e->i, "global") || ptx_has(e->m, e->i, "const");
	value v = e->parted && everybodys && at && at->kind == PTX_OPND_ADDRESS ? of_operand(e, at) : anything;

	return !v.known ? nothing : depends(&v) ? anything : shared;
}

static value of_ld(const struct eval *e) /* a kernel's own parameters, and one place for all */
{
	const struct ptx_operand *at = e->i->operands > 1 ? &e->i->operand[1] : NULL;
	const struct ptx_decl *d = at && at->kind == PTX_OPND_ADDRESS && at->items ? at->item[0].decl : NULL;

	for (uint32_t i = 0; d && e->f->is_entry && i < e->f->param_count; i++)
		if (e->f->param[i] == d && at->item[0].kind == PTX_OPND_SYMBOL)
			return shared;
	return of_place(e, at);
}

static value of_shfl(const struct eval *e) /* one lane's value for all */
{
	int64_t lane, segment, members;

	return ptx_has(e->m, e->i, "idx") && literal(e, 2, &lane) && literal(e, 3, &segment) && segment == 31 &&
	       literal(e, 4, &members) && (uint32_t)members == ~0u ? shared : anything;
}

static const struct { const char *op; value (*of)(const struct eval *); } rules[] = {
	{"mov", of_copy}, {"cvta", of_copy}, {"add", of_add}, {"sub", of_sub}, {"mul", of_mul}, {"mad", of_mad}, {"shl", of_shl},
	{"shr", of_shr}, {"bfe", of_bfe}, {"and", of_and}, {"or", of_or}, {"xor", of_or}, {"cvt", of_cvt}, {"selp", of_selp},
	{"ld", of_ld}, {"shfl", of_shfl}, {"setp", of_any}, {"set", of_any}, {"not", of_any}, {"neg", of_any}, {"abs", of_any},
	{"min", of_any}, {"max", of_any}, {"div", of_any}, {"rem", of_any}, {"bfi", of_any}, {"prmt", of_any}, {"lop3", of_any},
	{"shf", of_any}, {"cnot", of_any}, {"popc", of_any}, {"clz", of_any}, {"brev", of_any}, {"fma", of_any}, {"slct", of_any},
};

static value of_instr(const struct eval *e)
{
	enum ptx_type type = ptx_instr_type(e->m, e->i);
	int whole = type != PTX_F16 && type != PTX_F16X2 && type != PTX_BF16 && type != PTX_BF16X2 && type != PTX_F32 && type != PTX_F64;

	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules); r++)
		if (ptx_is(e->m, e->i->op, rules[r].op))
			return whole ? rules[r].of(e) : of_any(e);
	return anything;
}

/* ---- the fixpoint ----------------------------------------------------------------------------------------------- */

static int define(const struct eval *e, const struct ptx_operand *o, const value *v)
{
	int changed = 0;

	if (o->kind == PTX_OPND_REG) {
		value *at = place_of(e->lanes, o), joined = join(*at, v);

		if (e->wide && at->known && joined.ones != at->ones)
			joined.ones = ~0ull;
		changed = memcmp(&joined, at, sizeof(joined)) != 0;
		*at = joined;
	}
	for (uint32_t i = 0; (o->kind == PTX_OPND_VECTOR || o->kind == PTX_OPND_LIST) && i < o->items; i++)
		changed |= define(e, &o->item[i], v);
	return changed | (o->pair ? define(e, o->pair, v) : 0);
}

/* Instructions whose every operand may be written are not worth telling apart. */
static int step(struct eval *e)
{
	const struct ptx_instr *i = e->i;
	int all = ptx_is(e->m, i->op, "wgmma") || ptx_is(e->m, i->op, "tcgen05"), changed = 0;
	value v = all ? anything : of_instr(e), p = i->pred ? of_operand(e, i->pred) : shared;

	if (i->operands && (i->operand[0].kind == PTX_OPND_VECTOR || i->operand[0].pair) && v.known)
		spoil(&v, depends(&v));
	if (i->operands && (i->operand[0].kind == PTX_OPND_VECTOR || i->operand[0].pair))
		v.ones = ~0ull;
	if (!v.known || !p.known)
		return 0;
	spoil(&v, depends(&p) || (e->parted && e->parted[i - e->f->instr]) ? ALL_BITS : 0);
	for (uint32_t k = 0; k < (all ? i->operands : i->operands > 0); k++)
		changed |= define(e, &i->operand[k], &v);
	return changed;
}

/* May a thread end in what it calls here? In what is not seen it may. */
#define CALLS_MOST 16u
static int may_end(const struct ptx_module *m, const struct ptx_instr *call, uint32_t depth)
{
	const struct ptx_function *f = ptx_plan_callee(m, call);

	if (!f || !f->body.len || depth == CALLS_MOST)
		return 1;
	for (uint32_t k = 0; k < f->instrs; k++)
		if (ptx_is(m, f->instr[k].op, "exit") || (ptx_is(m, f->instr[k].op, "call") && may_end(m, &f->instr[k], depth + 1)))
			return 1;
	return 0;
}

static int is_together(const struct ptx_module *m, const struct ptx_function *f, struct ptx_lanes *l)
{
	struct eval e = {.m = m, .f = f, .lanes = l};

	if (!f->is_entry || !f->reqntid[0] || f->reqntid[0] % 32)
		return 0;
	for (uint32_t k = 0; k < f->instrs; k++) {
		const struct ptx_instr *i = &f->instr[k];
		int jumps = ptx_is(m, i->op, "bra") || ptx_is(m, i->op, "ret") || ptx_is(m, i->op, "exit");
		value p = jumps && i->pred ? of_operand(&e, i->pred) : shared;

		if (!p.known || depends(&p) || ptx_is(m, i->op, "brx") || (ptx_is(m, i->op, "call") && may_end(m, i, 0)))
			return 0;
	}
	return 1;
}

static int solve(const struct ptx_module *m, const struct ptx_function *f, const uint8_t *parted, struct ptx_lanes *lanes, int *changed)
{
	struct eval e = {.m = m, .f = f, .lanes = lanes, .parted = parted};

	*lanes = (struct ptx_lanes){.base = calloc(m->decl_ids + 1, sizeof(*lanes->base))};
	if (!lanes->base)
		return -ENOMEM;
	for (uint32_t k = 0; k < f->decls; k++) {
		lanes->base[f->decl[k]->id] = lanes->values;
		lanes->values += f->decl[k]->space == PTX_REG ? f->decl[k]->count + 1 : 0;
	}
	lanes->value = calloc(lanes->values + 1, sizeof(*lanes->value));
	if (!lanes->value) {
		ptx_lanes_free(lanes);
		return -ENOMEM;
	}
	*changed = 1;
	for (int round = 0; *changed && round < ROUNDS_MAX; round++) {
		*changed = 0;
		e.wide = round >= ROUNDS_WIDE;
		for (uint32_t k = 0; k < f->instrs; k++) {
			e.i = &f->instr[k];
			*changed |= step(&e);
		}
	}
	return 0;
}

int ptx_lanes_make(const struct ptx_module *m, const struct ptx_function *f, struct ptx_lanes *lanes)
{
	int changed, rc = solve(m, f, NULL, lanes, &changed);

	lanes->together = !rc && !changed && is_together(m, f, lanes);
	return rc;
}

int ptx_lanes_make_parted(const struct ptx_module *m, const struct ptx_function *f, const uint8_t *parted, struct ptx_lanes *lanes)
{
	int changed, rc = solve(m, f, parted, lanes, &changed);

	for (uint32_t k = 0; !rc && changed && k < lanes->values; k++) /* it is not known to end */
		lanes->value[k] = anything;
	return rc;
}

int ptx_lanes_differ(const struct ptx_lanes *lanes, const struct ptx_operand *reg)
{
	const value *v = reg->kind == PTX_OPND_REG && !reg->component ? place_of(lanes, reg) : &anything;

	return !v->known || depends(v) != 0;
}

void ptx_lanes_free(struct ptx_lanes *lanes)
{
	free(lanes->base);
	free(lanes->value);
	*lanes = (struct ptx_lanes){0};
}

uint32_t ptx_lanes_run(const struct ptx_lanes *lanes, const struct ptx_operand *reg, uint32_t bytes)
{
	const value *v = reg->kind == PTX_OPND_REG && !reg->component ? place_of(lanes, reg) : &anything;
	uint32_t j = 0;

	while (v->known && j < BITS && !(v->bad >> j & 1) && v->step[j] == (int64_t)bytes << j)
		j++;
	return 1u << j;
}
