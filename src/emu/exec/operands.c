/* Operands of instructions: constants of the program, addresses, registers, and the letters of a row of opcodes.def. */
#include "emu/exec/decode.h"

#include "base/hash.h"
#include "emu/exec/ops.h"
#include "emu/exec/words.h"

#include <stdlib.h>
#include <string.h>

struct exec_constant { uint64_t v; uint32_t place, size; }; /* place 0: none */

/* The slot of a constant among those of the program, or the free one where it belongs. */
static struct exec_constant *constant_slot(struct exec_constant *slot, uint32_t slots, uint64_t v, unsigned size)
{
	uint32_t at = (uint32_t)((hash_spread(v) ^ size) >> 32) & (slots - 1);
	while (slot[at].place && (slot[at].v != v || slot[at].size != size))
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static int constant_room(struct exec_program *p)
{
	const uint32_t slots = p->known_slots ? 2 * p->known_slots : 128;
	if (2 * p->knowns < p->known_slots)
		return 1;
	struct exec_constant *bigger = calloc(slots, sizeof *bigger);
	if (!bigger)
		return 0;
	for (uint32_t k = 0; k < p->known_slots; k++)
		if (p->known[k].place)
			*constant_slot(bigger, slots, p->known[k].v, p->known[k].size) = p->known[k];
	free(p->known);
	p->known = bigger;
	p->known_slots = slots;
	return 1;
}

/* Puts a constant into all lanes; size 0: a predicate. Returns its place, 0 when out of memory. */
static uint32_t constant_new(struct exec_program *p, uint64_t v, unsigned size)
{
	const uint32_t bytes = size ? size * EXEC_LANES : 64, mask = v ? EXEC_ALL : 0;
	if (p->constants + bytes > p->constant_room) {
		const uint32_t room = 2 * p->constant_room + 4096;
		unsigned char *grown = realloc(p->constant, room);
		if (!grown)
			return 0;
		p->constant = grown;
		p->constant_room = room;
	}
	unsigned char *to = p->constant + p->constants;
	memset(to, 0, bytes);
	if (!size)
		memcpy(to, &mask, 4);
	for (unsigned l = 0; size && l < EXEC_LANES; l++)
		memcpy(to + l * size, &v, size < 8 ? size : 8);
	p->constants += bytes;
	return EXEC_CONSTANT | (p->constants - bytes);
}

/* A constant, the same in all lanes; size 0: a predicate. Equal ones are shared. */
static uint32_t constant(struct decoder *d, uint64_t v, unsigned size)
{
	struct exec_program *p = d->p;
	if (!constant_room(p)) {
		decode_no_memory(d);
		return EXEC_NOWHERE;
	}
	struct exec_constant *k = constant_slot(p->known, p->known_slots, v, size);
	if (!k->place) {
		*k = (struct exec_constant){ v, constant_new(p, v, size), size };
		p->knowns += k->place != 0;
	}
	if (!k->place)
		decode_no_memory(d);
	return k->place;
}

int decode_is_frame_symbol(const struct decoder *d, const struct ptx_decl *decl)
{
	return decl && (decl->space == PTX_LOCAL || decl->space == PTX_PARAM) && d->p->where[decl->id];
}
int decode_entry_param(const struct decoder *d, const struct ptx_decl *decl, uint64_t *offset)
{
	const struct ptx_function *entry = &d->m->function[d->kernel->function];
	for (uint32_t k = 0; k < entry->param_count; k++)
		if (entry->param[k] == decl || (decl && entry->param[k]->id == decl->id)) {
			*offset = d->kernel->param_offset[k];
			return 1;
		}
	return 0;
}

static int shared_value(const struct emu_kernel *k, const struct ptx_decl *decl, uint64_t *v)
{
	*v = k->dynamic_at;
	for (uint32_t i = 0; decl->elements && i < k->shareds; i++)
		if (k->shared[i].decl == decl) {
			*v = k->shared[i].at;
			return 1;
		}
	return !decl->elements;
}

/* The value of a symbol that is the same in all lanes. */
static int symbol_value(struct decoder *d, const struct ptx_decl *decl, uint64_t *v)
{
	if (!decl)
		return 0;
	if (decl->is_function) {
		*v = (uint64_t)(uintptr_t)&d->kernel->module->handle[decl->function];
		return 1;
	}
	if (decl->space == PTX_SHARED) {
		return shared_value(d->kernel, decl, v);
	}
	*v = d->kernel->module->symbol[decl->id].at;
	return d->kernel->module->symbol[decl->id].known;
}

void decode_address(struct decoder *d, struct exec_insn *n, const struct ptx_operand *o)
{
	const struct ptx_operand *base = o->kind == PTX_OPND_ADDRESS && o->items ? &o->item[0] : o;
	uint64_t v = 0;
	n->imm = o->ivalue + (base != o ? base->ivalue : 0);
	n->mode = MODE_ABSOLUTE;
	if (base->kind == PTX_OPND_REG && base->decl) {
		n->address = (uint32_t)(d->p->where[base->decl->id] - 1 + base->index * decode_register_stride(base->decl));
		if (decode_register_bytes(base->decl) == 4)
			n->mode = MODE_NARROW;
		else if (decode_register_bytes(base->decl) != 8)
			decode_fail(d, "the address register is neither 32 nor 64 bits wide");
	} else if (base->kind == PTX_OPND_INT || (base == o && o->kind == PTX_OPND_ADDRESS)) {
		n->address = constant(d, 0, 8);
	} else if (decode_is_frame_symbol(d, base->decl)) {
		n->mode = MODE_FRAME;
		n->imm += (int64_t)(d->p->where[base->decl->id] - 1);
	} else if (decode_entry_param(d, base->decl, &v)) {
		n->mode = MODE_PARAM;
		n->imm += (int64_t)v;
	} else if (symbol_value(d, base->decl, &v)) {
		n->address = constant(d, v, 8);
	} else {
		decode_fail(d, "unknown address");
	}
}

/* Put into a register of the instruction's own, just before it. */
static uint32_t special(struct decoder *d, const struct ptx_operand *o, unsigned bytes)
{
	uint32_t width;
	struct exec_insn n = { .run = op_special, .wide = (uint8_t)bytes };
	const int which = exec_special_find(d->m->text + o->text.off, o->text.len, &width);
	if (which < 0 || d->specials == DECODE_SPECIALS) {
		decode_fail(d, which < 0 ? "a special register that is not emulated" : "too many special registers");
		return EXEC_NOWHERE;
	}
	n.imm = which;
	n.x[0] = DECODE_SPECIAL(bytes, d->specials++);
	decode_emit(d, &n);
	return n.x[0];
}

static uint64_t float_bits(const struct ptx_operand *o, unsigned bytes)
{
	uint64_t bits = (uint64_t)o->ivalue;
	if (o->fbits == 64 && bytes == 4) {
		double v;
		memcpy(&v, &bits, 8);
		const float f = (float)v;
		bits = 0;
		memcpy(&bits, &f, 4);
	}
	return bits;
}

/* The place of an operand of `bytes` (0: predicate). Sources may be anything; destinations are registers or sinks. */
uint32_t decode_operand(struct decoder *d, const struct ptx_operand *o, unsigned bytes)
{
	uint64_t v;
	switch (o->kind) {
	case PTX_OPND_REG:
		if (!o->decl || !d->p->where[o->decl->id])
			break;
		if (decode_register_bytes(o->decl) != bytes && !(bytes == 1 && decode_register_bytes(o->decl) == 2)) {
			decode_fail(d, "a register is not as wide as the instruction says");
			return EXEC_NOWHERE;
		}
		return (uint32_t)(d->p->where[o->decl->id] - 1 + o->index * decode_register_stride(o->decl));
	case PTX_OPND_SINK: return EXEC_NOWHERE;
	case PTX_OPND_INT: return constant(d, (uint64_t)o->ivalue, bytes);
	case PTX_OPND_FLOAT: return constant(d, float_bits(o, bytes), bytes);
	case PTX_OPND_SPECIAL: return special(d, o, bytes);
	case PTX_OPND_SYMBOL:
		if (!o->decl && ptx_is(d->m, o->text, "WARP_SZ")) /* a constant of the language */
			return constant(d, 32, bytes);
		if (symbol_value(d, o->decl, &v))
			return constant(d, v + (uint64_t)o->ivalue, bytes);
		break;
	case PTX_OPND_ADDRESS: case PTX_OPND_VECTOR: case PTX_OPND_LIST: break;
	}
	decode_fail(d, "an operand of a kind that is not executed here");
	return EXEC_NOWHERE;
}

static unsigned letter_bytes(char c, const struct exec_insn *n)
{
	switch (c) {
	case 't': return exec_type_bytes(n->type[2]);
	case 'f': return exec_type_bytes(n->type[0]);
	case 'w': return 2 * exec_type_bytes(n->type[2]);
	case 'h': return 2;
	case 'r': case 'R': return 4;
	case 'q': case 'M': return 8;
	default: return 0;
	}
}

/* Registers side by side, appended to the instruction's items; `want` 0: however many there are. */
static void fragment(struct decoder *d, struct exec_insn *n, const struct ptx_operand *o, uint32_t want)
{
	const struct ptx_operand *one = o->kind == PTX_OPND_VECTOR ? o->item : o;
	const uint32_t have = o->kind == PTX_OPND_VECTOR ? o->items : 1;
	if (want && have != want)
		decode_fail(d, "a vector with another number of registers than the shape has");
	uint32_t *places = decode_take(d, (n->items + have) * sizeof *places);
	if (d->rc)
		return;
	for (uint32_t k = 0; k < n->items; k++)
		places[k] = n->item[k];
	for (uint32_t k = 0; k < have; k++)
		places[n->items + k] = decode_operand(d, &one[k], n->type[0] == PTX_F64 ? 8 : 4);
	n->item = places;
	n->items = (uint8_t)(n->items + have);
}

/* One operand as its letter says, from place x[count] on; returns how many places there are now. */
static uint32_t one_shaped(struct decoder *d, struct exec_insn *n, char letter, const struct ptx_operand *o, uint32_t count)
{
	const int is_matrix = letter == 'M' && o->kind == PTX_OPND_VECTOR;
	if (letter == 'A') {
		decode_address(d, n, o);
	} else if (letter == 'i') {
		n->imm = o->ivalue;
	} else if (strchr("1248V", letter) || is_matrix) {
		n->x[count++] = n->items;
		n->flags |= is_matrix ? F_FRAGMENT : 0;
		fragment(d, n, o, is_matrix ? 4 : letter == 'V' ? 0 : (uint32_t)(letter - '0'));
	} else {
		n->x[count++] = decode_operand(d, o, letter_bytes(letter, n));
		if (letter == 'p' && o->negated)
			n->flags |= F_NOT_C;
		if (letter == 'P' || letter == 'R')
			n->x[count++] = o->pair ? decode_operand(d, o->pair, 0) : EXEC_NOWHERE;
	}
	return count;
}

/* Operands as the row's letters say; n->count becomes the number of places. */
void decode_shaped(struct decoder *d, struct exec_insn *n, const char *shape)
{
	const struct ptx_instr *i = d->at;
	uint32_t required = 0, k = 0, count = 0;
	for (const char *c = shape; *c; c++)
		required += *c == '?' ? (c++, 0u) : *c != 'm';
	uint32_t spare = i->operands > required ? i->operands - required : 0;
	if (i->operands < required)
		decode_fail(d, "too few operands");
	for (const char *c = shape; *c && !d->rc; c++) {
		if (*c == '?') {
			c++;
			if (!spare)
				continue;
			spare--;
			if (*c == 'r')
				n->flags |= F_COUNTED;
		}
		if (*c == 'm') /* all lanes take part, and no operand says so */
			n->x[count++] = constant(d, ~0u, 4);
		else
			count = one_shaped(d, n, *c, &i->operand[k++], count);
	}
	if (k < i->operands)
		decode_fail(d, "too many operands");
	n->count = (uint8_t)count;
}
