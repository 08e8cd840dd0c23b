#include "ptx/awaits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AWAITS_STEPS 64u /* registers that are looked at for one branch */
#define AWAITS_DEPTH 8u  /* of what is the same in each round, */
#define AWAITS_LOOKS 4096u /* and so many values of that */

struct written { uint32_t instr, next; }; /* next: index + 1 */

struct awaiting {
	const struct ptx_module *m;
	const struct ptx_function *f;
	uint8_t *awaits;
	uint32_t *base;          /* by declaration id: its first register's place in `last`; 0: declared elsewhere, as a parameter */
	uint32_t *last;          /* of each register its last writer, index + 1 into `written` */
	struct written *written; uint32_t writers;
	uint32_t from, to;       /* of the loop: [from, to] */
	uint32_t looks;          /* at what one value is made of */
	const struct ptx_operand *value[AWAITS_STEPS]; uint32_t values; /* still to be looked at */
};

static int is_load(const struct awaiting *w, const struct ptx_instr *i) { return ptx_is(w->m, i->op, "ld") || ptx_is(w->m, i->op, "ldu"); }
static int is_atomic(const struct awaiting *w, const struct ptx_instr *i) { return ptx_is(w->m, i->op, "atom"); }
static const char *private_space(const struct awaiting *w, const struct ptx_instr *i)
{
	return ptx_has(w->m, i, "shared") || ptx_has(w->m, i, "shared::cta") ? "shared" : ptx_has(w->m, i, "local") ? "local" : NULL;
}
static int is_given(const struct awaiting *w, const struct ptx_instr *i) { return ptx_has(w->m, i, "param") || ptx_has(w->m, i, "const"); }

static uint32_t *last_of(const struct awaiting *w, const struct ptx_operand *reg)
{
	const uint32_t base = w->base[reg->decl->id];

	return &w->last[base && reg->decl->count ? base + reg->index : base];
}

static void add_written(struct awaiting *w, uint32_t instr, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_REG) {
		w->written[w->writers] = (struct written){instr, *last_of(w, o)};
		*last_of(w, o) = ++w->writers;
	}
	for (uint32_t i = 0; o->kind == PTX_OPND_VECTOR && i < o->items; i++)
		add_written(w, instr, &o->item[i]);
	if (o->pair)
		add_written(w, instr, o->pair);
}

static uint32_t operand_registers(const struct ptx_operand *o)
{
	uint32_t n = 1 + (o->pair != NULL);
	for (uint32_t i = 0; i < o->items; i++)
		n += operand_registers(&o->item[i]);
	return n;
}

/* Who writes which register. What stores has its first operand written by nobody, which an address is. */
static int find_written(struct awaiting *w)
{
	size_t operands = 0, registers = 1;

	for (uint32_t i = 0; i < w->f->instrs; i++)
		operands += w->f->instr[i].operands ? operand_registers(w->f->instr[i].operand) : 0;
	w->base = calloc(w->m->decl_ids + 1, sizeof(*w->base));
	w->written = malloc((operands + 1) * sizeof(*w->written));
	for (uint32_t i = 0; w->base && i < w->f->decls; i++) {
		w->base[w->f->decl[i]->id] = (uint32_t)registers;
		registers += w->f->decl[i]->count + 1;
	}
	w->last = calloc(registers + 1, sizeof(*w->last));
	if (!w->base || !w->written || !w->last)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->f->instrs; i++)
		if (w->f->instr[i].operands > 1)
			add_written(w, i, w->f->instr[i].operand);
	return 0;
}

/* The next writer of a register in the loop, behind `at`, which is 0 or one of them; 0: there is none. */
static uint32_t next_writer(const struct awaiting *w, const struct ptx_operand *reg, uint32_t at)
{
	for (at = at ? w->written[at - 1].next : *last_of(w, reg); at; at = w->written[at - 1].next)
		if (w->written[at - 1].instr >= w->from && w->written[at - 1].instr <= w->to)
			return at;
	return 0;
}

static int varies(struct awaiting *w, const struct ptx_operand *o, uint32_t depth);
static int instr_varies(struct awaiting *w, const struct ptx_instr *i, uint32_t depth)
{
	if (!depth || is_atomic(w, i) || ptx_is(w->m, i->op, "call") || (is_load(w, i) && !is_given(w, i)))
		return 1;
	for (uint32_t k = 1; k < i->operands; k++)
		if (varies(w, &i->operand[k], depth - 1))
			return 1;
	return 0;
}

static int varies(struct awaiting *w, const struct ptx_operand *o, uint32_t depth)
{
	if (++w->looks > AWAITS_LOOKS)
		return 1;
	if (o->kind == PTX_OPND_SPECIAL)
		return ptx_is(w->m, o->text, "%clock") || ptx_is(w->m, o->text, "%clock64") || ptx_is(w->m, o->text, "%globaltimer");
	for (uint32_t at = 0; o->kind == PTX_OPND_REG && (at = next_writer(w, o, at));)
		if (instr_varies(w, &w->f->instr[w->written[at - 1].instr], depth))
			return 1;
	for (uint32_t i = 0; i < o->items; i++)
		if (varies(w, &o->item[i], depth))
			return 1;
	return 0;
}

/* May it be another value in another round of the loop? It may, if to say no takes long. */
static int changes(struct awaiting *w, const struct ptx_operand *o)
{
	w->looks = 0;
	return varies(w, o, AWAITS_DEPTH);
}

static void add_value(struct awaiting *w, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_REG && w->values < AWAITS_STEPS)
		w->value[w->values++] = o;
	for (uint32_t i = 0; o->kind == PTX_OPND_VECTOR && i < o->items; i++)
		add_value(w, &o->item[i]);
}

/* What was put there in the loop: one thread waits for all of its CTA. */
static void add_stored(struct awaiting *w, const char *space)
{
	for (uint32_t i = w->from; i <= w->to; i++) {
		const struct ptx_instr *at = &w->f->instr[i];
		if (ptx_is(w->m, at->op, "st") && at->operands > 1 && private_space(w, at) && !strcmp(private_space(w, at), space))
			add_value(w, &at->operand[1]);
	}
}

/* Does an atomic change what it reads whatever that is, as a counter's does? 0: not, or nobody knows. */
static int is_counting(const struct awaiting *w, const struct ptx_instr *i)
{
	const struct ptx_operand *by = i->operands > 2 ? &i->operand[2] : NULL;
	const struct ptx_instr *at = by && by->kind == PTX_OPND_REG && *last_of(w, by) ? &w->f->instr[w->written[*last_of(w, by) - 1].instr] : NULL;

	by = at && ptx_is(w->m, at->op, "mov") ? &at->operand[1] : by;
	return by && (ptx_has(w->m, i, "inc") || ptx_has(w->m, i, "dec") || (ptx_has(w->m, i, "add") && !(by->kind == PTX_OPND_INT && !by->ivalue)));
}

/* One word, and not the next one in each round. */
static void read_at(struct awaiting *w, uint32_t instr)
{
	const struct ptx_instr *i = &w->f->instr[instr];

	if (i->operands > 1 && !is_given(w, i) && !private_space(w, i) && !is_counting(w, i) && !changes(w, &i->operand[1]))
		w->awaits[instr] = 1;
}

/* Everything that a value is made of, up to what is read. Of a comparison one side is looked at, if the other one stays the same. */
static void look_at(struct awaiting *w, uint32_t instr)
{
	const struct ptx_instr *i = &w->f->instr[instr];

	if (is_atomic(w, i) || (is_load(w, i) && !private_space(w, i))) {
		read_at(w, instr);
	} else if (is_load(w, i)) {
		add_stored(w, private_space(w, i));
	} else if (ptx_is(w->m, i->op, "setp") && i->operands > 2) {
		const int one = changes(w, &i->operand[1]), other = changes(w, &i->operand[2]);
		if (one != other)
			add_value(w, &i->operand[one ? 1 : 2]);
	} else {
		for (uint32_t k = 1; k < i->operands; k++)
			add_value(w, &i->operand[k]);
	}
}

static void follow(struct awaiting *w, const struct ptx_operand *value)
{
	w->values = 0;
	add_value(w, value);
	for (uint32_t i = 0; i < w->values; i++)
		for (uint32_t at = 0; (at = next_writer(w, w->value[i], at));)
			look_at(w, w->written[at - 1].instr);
}

static void look_at_loop(struct awaiting *w, uint32_t from, uint32_t to)
{
	w->from = from;
	w->to = to;
	for (uint32_t i = from; i <= to; i++)
		if (w->f->instr[i].pred && ptx_is(w->m, w->f->instr[i].op, "bra"))
			follow(w, w->f->instr[i].pred);
}

static void look_at_returned(struct awaiting *w)
{
	w->from = 0;
	w->to = w->f->instrs - 1;
	for (uint32_t i = 0; i < w->f->instrs; i++)
		if (ptx_is(w->m, w->f->instr[i].op, "st") && ptx_has(w->m, &w->f->instr[i], "param") && w->f->instr[i].operands > 1)
			follow(w, &w->f->instr[i].operand[1]);
}

int ptx_awaits(const struct ptx_module *m, const struct ptx_function *f, uint8_t *awaits)
{
	struct awaiting w = {.m = m, .f = f, .awaits = awaits};
	int unknown = 0, rc = find_written(&w);

	memset(awaits, 0, f->instrs);
	for (uint32_t i = 0; i < f->instrs && !rc; i++) {
		const struct ptx_instr *at = &f->instr[i];
		const struct ptx_decl *label = ptx_is(m, at->op, "bra") && at->operands ? at->operand[0].decl : NULL;
		unknown |= ptx_is(m, at->op, "brx");
		if (label && label->is_label && label->label_at <= i)
			look_at_loop(&w, label->label_at, i);
	}
	if (!f->is_entry && f->instrs && !rc)
		look_at_returned(&w);
	if (unknown)
		memset(awaits, 1, f->instrs);
	free(w.base);
	free(w.last);
	free(w.written);
	return rc;
}
