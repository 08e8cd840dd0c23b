/* From parsed PTX to a program: registers and frames are laid out for every function the kernel reaches, then each
 * instruction is matched with its row of opcodes.def, its operands become places, its labels instruction numbers. */
#include "emu/exec/trace.h"
#include "emu/exec/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known_constant { uint64_t v; uint32_t place, size; }; /* place 0: none */

struct decoder {
	struct emu_kernel *kernel;
	const struct ptx_module *m;
	struct exec_program *p;
	struct emu_error *error;
	uint64_t *where;           /* by decl id: place of a register + 1, or offset in the frame + 1 */
	uint32_t *start;           /* of the function at hand: instruction of the program by PTX instruction */
	const struct ptx_function *function;
	const struct ptx_instr *at;
	const struct emu_trace *trace; /* NULL: none */
	const struct ptx_instr **own;  /* of the function at hand: trace.h */
	struct known_constant *constant;
	uint32_t constant_slots, constants_known;
	int rc;
};

/* An error of this kernel: the first one counts. */
static void fail(struct decoder *d, const char *what)
{
	if (d->rc)
		return;
	d->rc = -ENOTSUP;
	const struct ptx_span text = d->at ? d->at->opcode : d->function->name;
	snprintf(d->error->text, sizeof d->error->text, "kernel %s: %.*s at PTX line %u: %s", d->kernel->name, (int)text.len,
		 d->m->text + text.off, d->at ? d->at->line : 0, what);
}
static void no_memory(struct decoder *d)
{
	d->rc = -ENOMEM;
	snprintf(d->error->text, sizeof d->error->text, "kernel %s: out of memory", d->kernel->name);
}
static void *take(struct decoder *d, size_t bytes)
{
	void *at = pool_alloc(&d->p->pool, bytes ? bytes : 1);
	if (!at)
		no_memory(d);
	return at;
}

static void emit(struct decoder *d, const struct exec_insn *n)
{
	struct exec_program *p = d->p;
	if (p->insns == p->room) {
		const uint32_t room = p->room ? 2 * p->room : 256;
		struct exec_insn *grown = realloc(p->insn, room * sizeof *grown);
		if (!grown) {
			no_memory(d);
			return;
		}
		p->insn = grown;
		p->room = room;
	}
	p->insn[p->insns] = *n;
	p->insn[p->insns++].source = d->at;
}

static unsigned register_bytes(const struct ptx_decl *decl)
{
	const unsigned bytes = exec_type_bytes(decl->type);
	return decl->type == PTX_PRED ? 0 : bytes < 2 ? 2 : bytes; /* .b8 registers are kept as 16 bits */
}
static uint32_t register_stride(const struct ptx_decl *decl)
{
	return decl->type == PTX_PRED ? 4 : EXEC_LANES * register_bytes(decl);
}
static uint32_t new_register(struct exec_program *p, uint32_t bytes, uint32_t align)
{
	const uint32_t at = (p->register_bytes + align - 1) / align * align;
	p->register_bytes = at + bytes;
	return at;
}

/* The slot of a constant among those of the program, or the free one where it belongs. */
static struct known_constant *constant_slot(struct known_constant *slot, uint32_t slots, uint64_t v, unsigned size)
{
	uint32_t at = (uint32_t)((v * 0x9e3779b97f4a7c15u ^ size) >> 32) & (slots - 1);
	while (slot[at].place && (slot[at].v != v || slot[at].size != size))
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static int constant_room(struct decoder *d)
{
	const uint32_t slots = d->constant_slots ? 2 * d->constant_slots : 128;
	if (2 * d->constants_known < d->constant_slots)
		return 1;
	struct known_constant *bigger = calloc(slots, sizeof *bigger);
	if (!bigger)
		return 0;
	for (uint32_t k = 0; k < d->constant_slots; k++)
		if (d->constant[k].place)
			*constant_slot(bigger, slots, d->constant[k].v, d->constant[k].size) = d->constant[k];
	free(d->constant);
	d->constant = bigger;
	d->constant_slots = slots;
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
	if (!constant_room(d)) {
		no_memory(d);
		return EXEC_NOWHERE;
	}
	struct known_constant *k = constant_slot(d->constant, d->constant_slots, v, size);
	if (!k->place) {
		*k = (struct known_constant){ v, constant_new(d->p, v, size), size };
		d->constants_known++;
	}
	if (!k->place)
		no_memory(d);
	return k->place;
}

static int is_frame_symbol(const struct decoder *d, const struct ptx_decl *decl)
{
	return decl && (decl->space == PTX_LOCAL || decl->space == PTX_PARAM) && d->where[decl->id];
}
static int entry_param(const struct decoder *d, const struct ptx_decl *decl, uint64_t *offset)
{
	const struct ptx_function *entry = &d->m->function[d->kernel->function];
	for (uint32_t k = 0; k < entry->param_count; k++)
		if (entry->param[k] == decl || (decl && entry->param[k]->id == decl->id)) {
			*offset = d->kernel->param_offset[k];
			return 1;
		}
	return 0;
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
		*v = decl->elements ? d->kernel->shared[decl->id] - 1 : d->kernel->dynamic_at;
		return 1;
	}
	*v = d->kernel->module->symbol[decl->id].at;
	return d->kernel->module->symbol[decl->id].known;
}

static void address(struct decoder *d, struct exec_insn *n, const struct ptx_operand *o)
{
	const struct ptx_operand *base = o->kind == PTX_OPND_ADDRESS && o->items ? &o->item[0] : o;
	uint64_t v = 0;
	n->imm = o->ivalue + (base != o ? base->ivalue : 0);
	n->mode = MODE_ABSOLUTE;
	if (base->kind == PTX_OPND_REG && base->decl) {
		n->address = (uint32_t)(d->where[base->decl->id] - 1 + base->index * register_stride(base->decl));
		if (register_bytes(base->decl) == 4)
			n->mode = MODE_NARROW;
		else if (register_bytes(base->decl) != 8)
			fail(d, "the address register is neither 32 nor 64 bits wide");
	} else if (base->kind == PTX_OPND_INT || (base == o && o->kind == PTX_OPND_ADDRESS)) {
		n->address = constant(d, 0, 8);
	} else if (is_frame_symbol(d, base->decl)) {
		n->mode = MODE_FRAME;
		n->imm += (int64_t)(d->where[base->decl->id] - 1);
	} else if (entry_param(d, base->decl, &v)) {
		n->mode = MODE_PARAM;
		n->imm += (int64_t)v;
	} else if (symbol_value(d, base->decl, &v)) {
		n->address = constant(d, v, 8);
	} else {
		fail(d, "unknown address");
	}
}

static uint32_t special(struct decoder *d, const struct ptx_operand *o, unsigned bytes, uint32_t to)
{
	uint32_t width;
	struct exec_insn n = { .run = op_special, .wide = (uint8_t)bytes };
	const int which = exec_special_find(d->m->text + o->text.off, o->text.len, &width);
	if (which < 0) {
		fail(d, "a special register that is not emulated");
		return EXEC_NOWHERE;
	}
	n.imm = which;
	n.x[0] = to != EXEC_NOWHERE ? to : new_register(d->p, EXEC_LANES * 8, 64);
	emit(d, &n);
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
static uint32_t operand(struct decoder *d, const struct ptx_operand *o, unsigned bytes)
{
	uint64_t v;
	switch (o->kind) {
	case PTX_OPND_REG:
		if (!o->decl || !d->where[o->decl->id])
			break;
		if (register_bytes(o->decl) != bytes && !(bytes == 1 && register_bytes(o->decl) == 2)) {
			fail(d, "a register is not as wide as the instruction says");
			return EXEC_NOWHERE;
		}
		return (uint32_t)(d->where[o->decl->id] - 1 + o->index * register_stride(o->decl));
	case PTX_OPND_SINK: return EXEC_NOWHERE;
	case PTX_OPND_INT: return constant(d, (uint64_t)o->ivalue, bytes);
	case PTX_OPND_FLOAT: return constant(d, float_bits(o, bytes), bytes);
	case PTX_OPND_SPECIAL: return special(d, o, bytes, EXEC_NOWHERE);
	case PTX_OPND_SYMBOL:
		if (symbol_value(d, o->decl, &v))
			return constant(d, v + (uint64_t)o->ivalue, bytes);
		break;
	case PTX_OPND_ADDRESS: case PTX_OPND_VECTOR: case PTX_OPND_LIST: break;
	}
	fail(d, "an operand of a kind that is not executed here");
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
	case 'q': return 8;
	default: return 0;
	}
}

/* Operands as the row's letters say; n->count becomes the number of places. */
static void shaped(struct decoder *d, struct exec_insn *n, const char *shape)
{
	const struct ptx_instr *i = d->at;
	uint32_t required = 0, k = 0, count = 0;
	for (const char *c = shape; *c; c++)
		required += *c == '?' ? (c++, 0u) : 1u;
	uint32_t spare = i->operands > required ? i->operands - required : 0;
	if (i->operands < required)
		fail(d, "too few operands");
	for (const char *c = shape; *c && !d->rc; c++) {
		if (*c == '?') {
			c++;
			if (!spare)
				continue;
			spare--;
			if (*c == 'r')
				n->flags |= F_COUNTED;
		}
		const struct ptx_operand *o = &i->operand[k++];
		if (*c == 'A') {
			address(d, n, o);
		} else if (*c == 'i') {
			n->imm = o->ivalue;
		} else {
			n->x[count++] = operand(d, o, letter_bytes(*c, n));
			if (*c == 'p' && o->negated)
				n->flags |= F_NOT_C;
			if (*c == 'P' || *c == 'R')
				n->x[count++] = o->pair ? operand(d, o->pair, 0) : EXEC_NOWHERE;
		}
	}
	if (k < i->operands)
		fail(d, "too many operands");
	n->count = (uint8_t)count;
}



static void parts(struct decoder *d, struct exec_insn *n, const struct ptx_operand *v, const struct ptx_operand *whole, unsigned bytes)
{
	n->wide = (uint8_t)bytes;
	n->count = (uint8_t)v->items;
	n->size = (uint8_t)(bytes / (v->items ? v->items : 1));
	if (n->size < 2 || v->items >= EXEC_OPERANDS) {
		fail(d, "a vector of parts this small is not executed here");
		return;
	}
	n->x[0] = operand(d, whole, bytes);
	for (uint32_t k = 0; k < v->items; k++)
		n->x[k + 1] = operand(d, &v->item[k], n->size);
}

static void build_move(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *to = &d->at->operand[0], *from = &d->at->operand[1];
	const unsigned bytes = n->type[2] == PTX_PRED ? 0 : exec_type_bytes(n->type[2]);
	uint64_t v;
	if (to->kind == PTX_OPND_VECTOR) {
		n->run = op_unpack;
		parts(d, n, to, from, bytes);
	} else if (from->kind == PTX_OPND_VECTOR) {
		n->run = op_pack;
		parts(d, n, from, to, bytes);
	} else if (from->kind == PTX_OPND_SYMBOL && (is_frame_symbol(d, from->decl) || entry_param(d, from->decl, &v))) {
		n->run = op_move_address;
		n->width[0] = (uint8_t)bytes;
		n->x[0] = operand(d, to, bytes);
		address(d, n, from);
	} else {
		n->run = bytes == 0 ? op_move_pred : bytes == 2 ? op_move_u16 : bytes == 4 ? op_move_u32 : bytes == 8 ? op_move_u64 : op_move_u128;
		n->x[0] = operand(d, to, bytes);
		if (from->kind == PTX_OPND_SPECIAL) {
			n->run = op_special;
			n->wide = (uint8_t)bytes;
			uint32_t width;
			n->imm = exec_special_find(d->m->text + from->text.off, from->text.len, &width);
			if (n->imm < 0)
				fail(d, "a special register that is not emulated");
			return;
		}
		n->x[1] = operand(d, from, bytes);
		if (from->negated)
			n->flags |= F_NOT_C;
	}
}

/* A register at least as wide as the type. */
static unsigned wide(struct decoder *d, const struct ptx_operand *o, unsigned type)
{
	const unsigned bytes = exec_type_bytes(type) < 2 ? 2 : exec_type_bytes(type);
	const unsigned have = o->kind == PTX_OPND_REG && o->decl ? register_bytes(o->decl) : bytes;
	if (have < bytes)
		fail(d, "a register is narrower than its type");
	return have;
}

static void build_convert(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *to = &d->at->operand[0], *from = &d->at->operand[1];
	if (d->at->operands != 2) {
		fail(d, "wrong number of operands");
		return;
	}
	if (n->type[0] == n->type[2] && n->type[0] == PTX_NOTYPE)
		fail(d, "no type");
	n->width[0] = (uint8_t)wide(d, to, n->type[0]);
	n->width[1] = (uint8_t)wide(d, from, n->type[2]);
	n->x[0] = operand(d, to, n->width[0]);
	n->x[1] = operand(d, from, n->width[1]);
}

/* The data of a load, store or atomic: one register or n->count of them, from place x[first] on. */
static void data(struct decoder *d, struct exec_insn *n, const struct ptx_operand *o, unsigned first)
{
	const struct ptx_operand *one = o->kind == PTX_OPND_VECTOR ? o->item : o;
	const uint32_t have = o->kind == PTX_OPND_VECTOR ? o->items : 1;
	unsigned bytes = 0;
	if (have != n->count || first + have > EXEC_OPERANDS) {
		fail(d, "as many registers as the vector has elements are needed");
		return;
	}
	for (uint32_t k = 0; k < have; k++)
		if (one[k].kind == PTX_OPND_REG)
			bytes = wide(d, &one[k], n->type[2]);
	if (!bytes)
		bytes = wide(d, one, n->type[2]);
	n->wide = (uint8_t)bytes;
	for (uint32_t k = 0; k < have; k++)
		n->x[first + k] = operand(d, &one[k], bytes);
}

static void build_access(struct decoder *d, struct exec_insn *n, int store)
{
	if (d->at->operands < 2) {
		fail(d, "wrong number of operands");
		return;
	}
	n->size = (uint8_t)exec_type_bytes(n->type[2]);
	if (n->type[2] >= PTX_S8 && n->type[2] <= PTX_S64)
		n->flags |= F_SIGNED;
	data(d, n, &d->at->operand[!store ? 0 : 1], 0);
	address(d, n, &d->at->operand[store ? 0 : 1]);
}

static void build_atomic(struct decoder *d, struct exec_insn *n, int result)
{
	const uint32_t base = result ? 1 : 0;
	if (d->at->operands < base + 2u + (n->sub == ATOM_CAS)) {
		fail(d, "too few operands");
		return;
	}
	n->size = (uint8_t)exec_type_bytes(n->type[2]);
	if (n->count > 4) {
		fail(d, "vectors of eight are not executed here");
		return;
	}
	if (result)
		data(d, n, &d->at->operand[0], 0);
	address(d, n, &d->at->operand[base]);
	data(d, n, &d->at->operand[base + 1], n->count);
	if (n->sub == ATOM_CAS)
		n->x[2 * n->count] = operand(d, &d->at->operand[base + 2], n->size);
}

static void build_copy(struct decoder *d, struct exec_insn *n)
{
	struct exec_insn from = { 0 };
	const struct ptx_operand *o = d->at->operand;
	if (d->at->operands < 3) {
		fail(d, "too few operands");
		return;
	}
	address(d, &from, &o[1]);
	if (from.mode != MODE_ABSOLUTE)
		fail(d, "the source is not a global address");
	address(d, n, &o[0]);
	n->x[0] = from.address;
	n->x[2] = (uint32_t)from.imm;
	n->size = (uint8_t)o[2].ivalue;
	if (d->at->operands > 3 && (o[3].kind == PTX_OPND_INT || (o[3].kind == PTX_OPND_REG && register_bytes(o[3].decl) == 4))) {
		n->x[1] = operand(d, &o[3], 4);
		n->count = 2;
	}
}

static void build_branch(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *o = d->at->operands ? &d->at->operand[0] : NULL;
	if (!o || !o->decl || !o->decl->is_label)
		fail(d, "unknown label");
	else
		n->target = o->decl->label_at;
}

static void build_indexed(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *o = d->at->operand;
	if (d->at->operands < 2 || !o[1].decl || !o[1].decl->is_label || o[1].decl->label_at >= d->function->instrs) {
		fail(d, "unknown list of targets");
		return;
	}
	const struct ptx_instr *list = &d->function->instr[o[1].decl->label_at];
	uint32_t *targets = take(d, list->operands * sizeof *targets);
	for (uint32_t k = 0; targets && k < list->operands; k++) {
		if (!list->operand[k].decl || !list->operand[k].decl->is_label)
			fail(d, "unknown label");
		else
			targets[k] = list->operand[k].decl->label_at;
	}
	n->targets = targets;
	n->imm = list->operands;
	n->x[0] = operand(d, &o[0], 4);
}



static void pass_list(struct decoder *d, const struct ptx_operand *list, struct exec_pass **out, uint32_t *count)
{
	*count = list ? list->items : 0;
	*out = take(d, *count * sizeof **out);
	for (uint32_t k = 0; *out && k < *count; k++) {
		const struct ptx_operand *o = &list->item[k];
		struct exec_pass *pass = &(*out)[k];
		if (is_frame_symbol(d, o->decl)) {
			*pass = (struct exec_pass){ (uint32_t)(d->where[o->decl->id] - 1), (uint32_t)exec_decl_bytes(o->decl), 0 };
		} else {
			const unsigned bytes = o->kind == PTX_OPND_REG && o->decl ? register_bytes(o->decl) : 8;
			*pass = (struct exec_pass){ operand(d, o, bytes), bytes, 1 };
		}
	}
}

static void build_call(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *o = d->at->operand;
	uint32_t k = 0;
	struct exec_call *call = take(d, sizeof *call);
	if (!call)
		return;
	const struct ptx_operand *results = d->at->operands && o[0].kind == PTX_OPND_LIST ? &o[k++] : NULL;
	if (k >= d->at->operands) {
		fail(d, "calls nothing");
		return;
	}
	const struct ptx_operand *callee = &o[k++];
	pass_list(d, results, &call->result, &call->results);
	pass_list(d, k < d->at->operands && o[k].kind == PTX_OPND_LIST ? &o[k] : NULL, &call->arg, &call->args);
	n->call = call;
	if (callee->kind == PTX_OPND_REG) {
		n->flags |= F_INDIRECT;
		n->x[0] = operand(d, callee, 8);
		return;
	}
	if (!callee->decl || !callee->decl->is_function) {
		fail(d, "calls an unknown function");
		return;
	}
	call->callee = d->kernel->module->handle[callee->decl->function].function;
	const struct exec_function *f = &d->p->function[call->callee];
	if (!f->source->body.len)
		fail(d, "calls a function without a body");
	else if (f->args != call->args || f->results != call->results)
		fail(d, "passes another number of values than the function takes");
}



static void lay_out(struct decoder *d, struct exec_function *f, const struct ptx_decl *decl)
{
	const struct ptx_function *entry = &d->m->function[d->kernel->function];
	uint64_t v;
	if (d->where[decl->id] || decl->is_label || decl->is_function)
		return;
	if (decl->space == PTX_REG) {
		const uint32_t n = decl->count ? decl->count : 1;
		d->where[decl->id] = new_register(d->p, n * register_stride(decl), decl->type == PTX_PRED ? 4 : 64) + 1u;
	} else if (decl->space == PTX_LOCAL || (decl->space == PTX_PARAM && !(f->source == entry && entry_param(d, decl, &v)))) {
		const uint32_t align = exec_decl_align(decl);
		const uint64_t at = (f->frame_bytes + align - 1) / align * align;
		d->where[decl->id] = at + 1;
		f->frame_bytes = (uint32_t)(at + exec_decl_bytes(decl));
	}
}

static void formals(struct decoder *d, const struct ptx_decl **list, uint32_t count, struct exec_pass **out)
{
	*out = take(d, count * sizeof **out);
	for (uint32_t k = 0; *out && k < count; k++)
		(*out)[k] = (struct exec_pass){ (uint32_t)(d->where[list[k]->id] - 1),
						list[k]->space == PTX_REG ? register_bytes(list[k]) : (uint32_t)exec_decl_bytes(list[k]),
						list[k]->space == PTX_REG };
}

static void list_saved(struct decoder *d, struct exec_function *f)
{
	const struct ptx_function *s = f->source;
	for (uint32_t k = 0; k < s->decls; k++)
		if (s->decl[k]->space == PTX_REG && !s->decl[k]->is_label)
			f->saves += s->decl[k]->count ? s->decl[k]->count : 1;
	f->saved = take(d, f->saves * sizeof *f->saved);
	f->saves = 0;
	for (uint32_t k = 0; f->saved && k < s->decls; k++)
		for (uint32_t r = 0; s->decl[k]->space == PTX_REG && !s->decl[k]->is_label && r < (s->decl[k]->count ? s->decl[k]->count : 1); r++)
			f->saved[f->saves++] = (struct exec_pass){ (uint32_t)(d->where[s->decl[k]->id] - 1 + r * register_stride(s->decl[k])),
								   register_bytes(s->decl[k]), 1 };
}

static void lay_out_function(struct decoder *d, struct exec_function *f)
{
	const struct ptx_function *s = f->source;
	for (uint32_t k = 0; k < s->param_count; k++)
		lay_out(d, f, s->param[k]);
	for (uint32_t k = 0; k < s->result_count; k++)
		lay_out(d, f, s->result[k]);
	for (uint32_t k = 0; k < s->decls; k++)
		lay_out(d, f, s->decl[k]);
	if (f->recursive)
		list_saved(d, f);
	f->frame_bytes = (f->frame_bytes + 15) & ~15u;
	if (s->is_entry)
		return;
	f->args = s->param_count;
	f->results = s->result_count;
	formals(d, s->param, s->param_count, &f->arg);
	formals(d, s->result, s->result_count, &f->result);
}

static const uint8_t flows[] = {
	[BUILD_BRANCH] = FLOW_BRANCH, [BUILD_INDEXED] = FLOW_INDEXED, [BUILD_CALL] = FLOW_CALL, [BUILD_RETURN] = FLOW_RETURN,
	[BUILD_EXIT] = FLOW_EXIT, [BUILD_TRAP] = FLOW_TRAP, [BUILD_YIELD] = FLOW_YIELD, [BUILD_BARRIER] = FLOW_BARRIER,
	[BUILD_WARP] = FLOW_WARP, [BUILD_LACKING] = FLOW_NEXT,
};

/* An operation of the program's own. It tells what it does as it does it; a barrier, when it is complete: barrier.c. */
static void trace_one(struct decoder *d, struct exec_insn *n, const struct ptx_instr *original)
{
	const struct ptx_function *f = exec_trace_original(d->kernel, (uint32_t)(d->function - d->m->function), d->trace->suffix);
	struct exec_traced *t = take(d, sizeof *t);
	if (!t)
		return;
	exec_trace_describe(d->m, f, original, t);
	t->run = n->run;
	n->traced = t;
	n->point = 1;
	if (d->trace->tells && t->kind != TRACE_BARRIER && t->kind != TRACE_END)
		n->run = exec_trace_run;
}

static void decode_one(struct decoder *d)
{
	if (ptx_is(d->m, d->at->op, ".branchtargets"))
		return;
	const struct exec_opcode *opcode = exec_opcode_find(d->m, d->at);
	if (!opcode) {
		no_memory(d);
		return;
	}
	const struct exec_row *row = opcode->row;
	struct exec_insn n = opcode->insn;
	if (!row) {
		fail(d, "this instruction is not executed by the emulated device");
		return;
	}
	n.flow = flows[row->build];
	switch (row->build) {
	case BUILD_MOVE: build_move(d, &n); break;
	case BUILD_CONVERT: build_convert(d, &n); break;
	case BUILD_LOAD: build_access(d, &n, 0); break;
	case BUILD_STORE: build_access(d, &n, 1); break;
	case BUILD_ATOMIC: build_atomic(d, &n, 1); break;
	case BUILD_REDUCE: build_atomic(d, &n, 0); break;
	case BUILD_COPY: build_copy(d, &n); break;
	case BUILD_BRANCH: build_branch(d, &n); break;
	case BUILD_INDEXED: build_indexed(d, &n); break;
	case BUILD_CALL: build_call(d, &n); break;
	case BUILD_PLAIN: case BUILD_MBARRIER: case BUILD_RETURN: case BUILD_EXIT: case BUILD_TRAP: case BUILD_YIELD:
	case BUILD_BARRIER: case BUILD_WARP: case BUILD_LACKING: shaped(d, &n, row->shape); break;
	}
	if (n.run == op_barrier_arrive)
		n.flags |= F_COUNTED;
	if (d->at->pred) {
		n.guard = operand(d, d->at->pred, 0);
		n.guard_not = d->at->pred->negated;
	}
	if (d->own && d->own[d->at - d->function->instr])
		trace_one(d, &n, d->own[d->at - d->function->instr]);
	if (!d->rc)
		emit(d, &n);
}

static void decode_function(struct decoder *d, struct exec_function *f)
{
	const struct exec_insn end = { .run = op_nothing, .flow = FLOW_RETURN };
	d->function = f->source;
	f->entry = d->p->insns;
	d->own = NULL;
	if (d->trace)
		d->rc = exec_trace_align(d->kernel, (uint32_t)(f->source - d->m->function), d->trace->suffix, &d->own, d->error);
	for (uint32_t i = 0; i < f->source->instrs && !d->rc; i++) {
		d->start[i] = d->p->insns;
		d->at = &f->source->instr[i];
		decode_one(d);
	}
	free(d->own);
	if (d->rc)
		return;
	d->start[f->source->instrs] = d->p->insns;
	emit(d, &end);
	for (uint32_t k = f->entry; k < d->p->insns && !d->rc; k++) {
		struct exec_insn *n = &d->p->insn[k];
		if (n->flow == FLOW_BRANCH)
			n->target = d->start[n->target];
		else if (n->flow == FLOW_INDEXED) {
			uint32_t *targets = take(d, (size_t)n->imm * sizeof *targets);
			for (int64_t t = 0; targets && t < n->imm; t++)
				targets[t] = d->start[n->targets[t]];
			n->targets = targets;
		}
	}
}

/* Does `from` reach `to` by calls? An indirect call may reach whatever the kernel reaches. */
static int calls(struct decoder *d, uint32_t from, uint32_t to, uint8_t *seen)
{
	const struct ptx_function *f = &d->m->function[from];
	if (seen[from])
		return 0;
	seen[from] = 1;
	for (uint32_t i = 0; i < f->instrs; i++) {
		if (!ptx_is(d->m, f->instr[i].op, "call"))
			continue;
		int direct = 0;
		for (uint32_t o = 0; o < f->instr[i].operands; o++) {
			const struct ptx_operand *c = &f->instr[i].operand[o];
			if (c->kind != PTX_OPND_SYMBOL || !c->decl || !c->decl->is_function)
				continue;
			const uint32_t next = d->kernel->module->handle[c->decl->function].function;
			direct = 1;
			if (next == to || calls(d, next, to, seen))
				return 1;
		}
		if (!direct && d->m->function[to].address_taken)
			return 1;
	}
	return 0;
}

static void lay_out_all(struct decoder *d)
{
	struct exec_program *p = d->p;
	int recursive = 0;
	uint8_t *seen = take(d, d->m->functions);
	uint32_t longest = 0;
	for (uint32_t f = 0; f < d->m->functions && !d->rc; f++) {
		struct exec_function *e = &p->function[f];
		e->source = &d->m->function[f];
		if (!d->kernel->reach[f])
			continue;
		e->present = 1;
		memset(seen, 0, d->m->functions);
		e->recursive = (uint8_t)calls(d, f, f, seen);
		recursive |= e->recursive;
		lay_out_function(d, e);
		p->local_bytes += e->frame_bytes;
		p->depth++;
		if (e->source->instrs > longest)
			longest = e->source->instrs;
	}
	p->depth += recursive ? EXEC_RECURSION : 1;
	p->local_bytes += recursive ? EXEC_RECURSION_BYTES : 0;
	d->start = take(d, (longest + 1) * sizeof *d->start);
}

int exec_program_make(struct emu_kernel *kernel, const struct emu_trace *trace, struct emu_error *error)
{
	struct decoder d = { .kernel = kernel, .m = kernel->module->ptx, .error = error, .trace = trace };
	const struct exec_insn nothing = { .run = op_nothing };
	d.function = &d.m->function[kernel->function];
	d.p = calloc(1, sizeof *d.p);
	d.where = calloc(d.m->decl_ids + 1, sizeof *d.where);
	if (!d.p || !d.where) {
		no_memory(&d);
		goto done;
	}
	d.p->register_bytes = EXEC_SINK_BYTES;
	d.p->function = take(&d, (d.m->functions + 1) * sizeof *d.p->function);
	if (d.rc)
		goto done;
	emit(&d, &nothing); /* no function begins at 0 */
	lay_out_all(&d);
	for (uint32_t f = 0; f < d.m->functions && !d.rc; f++)
		if (d.p->function[f].present && d.p->function[f].source->body.len)
			decode_function(&d, &d.p->function[f]);
done:
	free(d.where);
	free(d.constant);
	if (d.rc) {
		exec_program_free(d.p);
		return d.rc;
	}
	kernel->program = d.p;
	return 0;
}

void exec_program_free(struct exec_program *p)
{
	if (!p)
		return;
	free(p->insn);
	free(p->constant);
	pool_free(&p->pool);
	free(p);
}
