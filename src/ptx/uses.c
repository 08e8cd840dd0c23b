#include "ptx/uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static int set_has(const uint64_t *set, uint32_t room, uint64_t key)
{
	for (uint64_t i = hash_spread(key) >> 32; room; i++) {
		uint64_t have = set[i & (room - 1)];

		if (!have || have == key)
			return have == key;
	}
	return 0;
}

static int set_add(uint64_t **set, uint32_t *room, uint32_t *count, uint64_t key)
{
	uint64_t i = hash_spread(key) >> 32;

	if (set_has(*set, *room, key))
		return 0;
	if (*count * 2 >= *room) {
		uint32_t more = *room ? *room * 2 : 64, none = 0;
		uint64_t *bigger = calloc(more, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		for (uint32_t k = 0; k < *room; k++) {
			if ((*set)[k])
				set_add(&bigger, &more, &none, (*set)[k]);
		}
		free(*set);
		*set = bigger;
		*room = more;
	}
	while ((*set)[i & (*room - 1)])
		i++;
	(*set)[i & (*room - 1)] = key;
	++*count;
	return 0;
}

static uint64_t key_of(const struct ptx_decl *d, uint32_t index)
{
	return ((uint64_t)d->id << 32 | index) + 1;
}

static int add_operand(struct ptx_uses *u, const struct ptx_operand *o)
{
	int status = 0;

	if (o->kind == PTX_OPND_REG)
		status = set_add(&u->read, &u->room, &u->count, key_of(o->decl, o->index));
	else if (o->kind == PTX_OPND_SYMBOL && o->decl && o->decl->is_label)
		status = set_add(&u->label, &u->label_room, &u->label_count, key_of(o->decl, 0));
	for (uint32_t i = 0; !status && i < o->items; i++)
		status = add_operand(u, &o->item[i]);
	return !status && o->pair ? add_operand(u, o->pair) : status;
}

/* The first operand is only written, unless it is the only one, or the matrix units accumulate into it, or it says what is called. */
static int add_instr(const struct ptx_module *m, struct ptx_uses *u, const struct ptx_instr *i)
{
	int all = i->operands < 2 || ptx_is(m, i->op, "wgmma") || ptx_is(m, i->op, "tcgen05") ||
		  ptx_is(m, i->op, "bar") || ptx_is(m, i->op, "barrier") || ptx_is(m, i->op, "brx") ||
		  ptx_is(m, i->op, ".branchtargets") || (ptx_is(m, i->op, "call") && i->operand[0].kind == PTX_OPND_REG);
	int status = i->pred ? add_operand(u, i->pred) : 0;

	for (uint32_t k = 0; !status && k < i->operands; k++) {
		enum ptx_operand_kind kind = i->operand[k].kind;

		if (k || all || (kind != PTX_OPND_REG && kind != PTX_OPND_VECTOR))
			status = add_operand(u, &i->operand[k]);
	}
	return status;
}

int ptx_uses_make(const struct ptx_module *m, const struct ptx_function *f, struct ptx_uses *uses)
{
	int status = 0;

	*uses = (struct ptx_uses){.starts = calloc(f->instrs + 1, 1)};
	if (!uses->starts)
		return -ENOMEM;
	for (uint32_t i = 0; !status && i < f->instrs; i++)
		status = add_instr(m, uses, &f->instr[i]);
	for (uint32_t i = 0; i < f->decls; i++)
		if (f->decl[i]->is_label && ptx_uses_label(uses, f->decl[i]))
			uses->starts[f->decl[i]->label_at] = 1;
	if (status)
		ptx_uses_free(uses);
	return status;
}

void ptx_uses_free(struct ptx_uses *uses)
{
	free(uses->starts);
	free(uses->read);
	free(uses->label);
	*uses = (struct ptx_uses){0};
}

int ptx_uses_read(const struct ptx_uses *uses, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_REG && set_has(uses->read, uses->room, key_of(o->decl, o->index)))
		return 1;
	for (uint32_t i = 0; i < o->items; i++)
		if (ptx_uses_read(uses, &o->item[i]))
			return 1;
	return 0;
}

int ptx_uses_label(const struct ptx_uses *uses, const struct ptx_decl *label)
{
	return set_has(uses->label, uses->label_room, key_of(label, 0));
}

static int names(const struct ptx_operand *o, struct ptx_reg reg)
{
	if (o->kind == PTX_OPND_REG)
		return o->decl == reg.decl && o->index == reg.index;
	if (o->kind == PTX_OPND_ADDRESS)
		return 0;
	for (uint32_t i = 0; i < o->items; i++)
		if (names(&o->item[i], reg))
			return 1;
	return 0;
}

int ptx_instr_writes(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_reg reg)
{
	uint32_t n = ptx_is(m, i->op, "wgmma") || ptx_is(m, i->op, "tcgen05") ? i->operands : i->operands > 0;

	for (uint32_t k = 0; k < n; k++)
		if (names(&i->operand[k], reg) || (i->operand[k].pair && names(i->operand[k].pair, reg)))
			return 1;
	return 0;
}

/* nvcc's string literals and __PRETTY_FUNCTION__, clang's string literals. */
static int is_string(const struct ptx_module *m, const struct ptx_decl *d)
{
	static const char *const begins[] = {"$str", "__unnamed_", "_$_str"};
	const char *name = m->text + d->name.off;

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (d->init.len && d->name.len >= strlen(begins[i]) && !memcmp(name, begins[i], strlen(begins[i])))
			return 1;
	return 0;
}

static int operand_variable(const struct ptx_module *m, const struct ptx_operand *o)
{
	const struct ptx_decl *d = o->decl;

	if (d && !d->is_function && !d->is_label && (d->space == PTX_GLOBAL || d->space == PTX_CONST) && !is_string(m, d))
		return 1;
	for (uint32_t i = 0; i < o->items; i++)
		if (operand_variable(m, &o->item[i]))
			return 1;
	return o->pair && operand_variable(m, o->pair);
}

int ptx_uses_variable(const struct ptx_module *m)
{
	for (uint32_t f = 0; f < m->functions; f++)
		for (uint32_t i = 0; i < m->function[f].instrs; i++)
			for (uint32_t k = 0; k < m->function[f].instr[i].operands; k++)
				if (operand_variable(m, &m->function[f].instr[i].operand[k]))
					return 1;
	return 0;
}
