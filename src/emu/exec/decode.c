#include "emu/exec/decode.h"

#include "base/hash.h"
#include "emu/exec/count.h"
#include "emu/exec/trace.h"
#include "emu/exec/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct exec_constant { uint64_t v; uint32_t place, size; }; /* place 0: none */

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
void decode_no_memory(struct decoder *d)
{
	d->rc = -ENOMEM;
	snprintf(d->error->text, sizeof d->error->text, "kernel %s: out of memory", d->kernel->name);
}
void *decode_take(struct decoder *d, size_t bytes)
{
	void *at = pool_alloc(&d->p->pool, bytes ? bytes : 1);
	if (!at)
		decode_no_memory(d);
	return at;
}

void decode_emit(struct decoder *d, const struct exec_insn *n)
{
	struct exec_program *p = d->p;
	if (p->insns == p->room) {
		const uint32_t room = p->room ? 2 * p->room : 256;
		struct exec_insn *grown = realloc(p->insn, room * sizeof *grown);
		if (!grown) {
			decode_no_memory(d);
			return;
		}
		p->insn = grown;
		p->room = room;
	}
	p->insn[p->insns] = *n;
	p->insn[p->insns++].source = d->at;
}

unsigned decode_register_bytes(const struct ptx_decl *decl)
{
	const unsigned bytes = exec_type_bytes(decl->type);
	return decl->type == PTX_PRED ? 0 : bytes < 2 ? 2 : bytes; /* .b8 registers are kept as 16 bits */
}
uint32_t decode_register_stride(const struct ptx_decl *decl)
{
	return decl->type == PTX_PRED ? 4 : EXEC_LANES * decode_register_bytes(decl);
}

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

static int is_frame_symbol(const struct decoder *d, const struct ptx_decl *decl)
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

static void address(struct decoder *d, struct exec_insn *n, const struct ptx_operand *o)
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
			fail(d, "the address register is neither 32 nor 64 bits wide");
	} else if (base->kind == PTX_OPND_INT || (base == o && o->kind == PTX_OPND_ADDRESS)) {
		n->address = constant(d, 0, 8);
	} else if (is_frame_symbol(d, base->decl)) {
		n->mode = MODE_FRAME;
		n->imm += (int64_t)(d->p->where[base->decl->id] - 1);
	} else if (decode_entry_param(d, base->decl, &v)) {
		n->mode = MODE_PARAM;
		n->imm += (int64_t)v;
	} else if (symbol_value(d, base->decl, &v)) {
		n->address = constant(d, v, 8);
	} else {
		fail(d, "unknown address");
	}
}

/* Put into a register of the instruction's own, just before it. */
static uint32_t special(struct decoder *d, const struct ptx_operand *o, unsigned bytes)
{
	uint32_t width;
	struct exec_insn n = { .run = op_special, .wide = (uint8_t)bytes };
	const int which = exec_special_find(d->m->text + o->text.off, o->text.len, &width);
	if (which < 0 || d->specials == DECODE_SPECIALS) {
		fail(d, which < 0 ? "a special register that is not emulated" : "too many special registers");
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
static uint32_t operand(struct decoder *d, const struct ptx_operand *o, unsigned bytes)
{
	uint64_t v;
	switch (o->kind) {
	case PTX_OPND_REG:
		if (!o->decl || !d->p->where[o->decl->id])
			break;
		if (decode_register_bytes(o->decl) != bytes && !(bytes == 1 && decode_register_bytes(o->decl) == 2)) {
			fail(d, "a register is not as wide as the instruction says");
			return EXEC_NOWHERE;
		}
		return (uint32_t)(d->p->where[o->decl->id] - 1 + o->index * decode_register_stride(o->decl));
	case PTX_OPND_SINK: return EXEC_NOWHERE;
	case PTX_OPND_INT: return constant(d, (uint64_t)o->ivalue, bytes);
	case PTX_OPND_FLOAT: return constant(d, float_bits(o, bytes), bytes);
	case PTX_OPND_SPECIAL: return special(d, o, bytes);
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
		required += *c == '?' ? (c++, 0u) : *c != 'm';
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
		if (*c == 'm') { /* all lanes take part, and no operand says so */
			n->x[count++] = constant(d, ~0u, 4);
			continue;
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
	} else if (from->kind == PTX_OPND_SYMBOL && (is_frame_symbol(d, from->decl) || decode_entry_param(d, from->decl, &v))) {
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
	const unsigned have = o->kind == PTX_OPND_REG && o->decl ? decode_register_bytes(o->decl) : bytes;
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
	if (d->at->operands > 3 && (o[3].kind == PTX_OPND_INT || (o[3].kind == PTX_OPND_REG && decode_register_bytes(o[3].decl) == 4))) {
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
	uint32_t *targets = decode_take(d, list->operands * sizeof *targets);
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
	*out = decode_take(d, *count * sizeof **out);
	for (uint32_t k = 0; *out && k < *count; k++) {
		const struct ptx_operand *o = &list->item[k];
		struct exec_pass *pass = &(*out)[k];
		if (is_frame_symbol(d, o->decl)) {
			*pass = (struct exec_pass){ (uint32_t)(d->p->where[o->decl->id] - 1), (uint32_t)exec_decl_bytes(o->decl), 0 };
		} else {
			const unsigned bytes = o->kind == PTX_OPND_REG && o->decl ? decode_register_bytes(o->decl) : 8;
			*pass = (struct exec_pass){ operand(d, o, bytes), bytes, 1 };
		}
	}
}

static void build_call(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *o = d->at->operand;
	uint32_t k = 0;
	struct exec_call *call = decode_take(d, sizeof *call);
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
	const struct exec_function *f = &d->kernel->module->function[call->callee];
	if (!f->source->body.len)
		fail(d, "calls a function without a body");
	else if (f->args != call->args || f->results != call->results)
		fail(d, "passes another number of values than the function takes");
}



static const uint8_t flows[] = {
	[BUILD_BRANCH] = FLOW_BRANCH, [BUILD_INDEXED] = FLOW_INDEXED, [BUILD_CALL] = FLOW_CALL, [BUILD_RETURN] = FLOW_RETURN,
	[BUILD_EXIT] = FLOW_EXIT, [BUILD_TRAP] = FLOW_TRAP, [BUILD_YIELD] = FLOW_YIELD, [BUILD_BARRIER] = FLOW_BARRIER,
	[BUILD_WARP] = FLOW_WARP, [BUILD_LACKING] = FLOW_NEXT,
};

/* An operation of the program's own. It tells what it does as it does it: tell.c; a barrier's, who comes and goes: barrier.c. */
static void trace_one(struct decoder *d, struct exec_insn *n, const struct ptx_instr *original)
{
	struct exec_traced *t = decode_take(d, sizeof *t);
	if (!t)
		return;
	exec_trace_describe(d->m, d->original, original, t);
	if (d->original->is_entry)
		d->kernel->digest = hash_bytes(d->kernel->digest, d->m->text + original->opcode.off, original->opcode.len);
	t->run = n->run;
	n->traced = t;
	if (d->trace->tells && t->kind != TRACE_BARRIER && t->kind != TRACE_END)
		n->run = exec_trace_run;
}

static void decode_one(struct decoder *d)
{
	if (ptx_is(d->m, d->at->op, ".branchtargets"))
		return;
	const struct exec_opcode *opcode = exec_opcode_find(d->m, d->at);
	if (!opcode) {
		decode_no_memory(d);
		return;
	}
	const struct exec_row *row = opcode->row;
	struct exec_insn n = opcode->insn;
	d->specials = 0;
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
	const struct exec_own *own = d->own ? &d->own[d->at - d->function->instr] : NULL;
	n.point = own && own->point;
	if (own && own->original)
		trace_one(d, &n, own->original);
	n.part = d->part;
	if (d->stats && row->build >= BUILD_LOAD && row->build <= BUILD_COPY)
		exec_count_memory(&n, row->build == BUILD_COPY);
	if (!d->rc)
		decode_emit(d, &n);
}

static void place_labels(struct decoder *d, uint32_t from)
{
	for (uint32_t k = from; k < d->p->insns && !d->rc; k++) {
		struct exec_insn *n = &d->p->insn[k];
		if (n->flow == FLOW_BRANCH)
			n->target = d->start[n->target];
		else if (n->flow == FLOW_INDEXED) {
			uint32_t *targets = decode_take(d, (size_t)n->imm * sizeof *targets);
			for (int64_t t = 0; targets && t < n->imm; t++)
				targets[t] = d->start[n->targets[t]];
			n->targets = targets;
		}
	}
}

uint32_t decode_function(struct decoder *d, const struct ptx_function *f, const struct ptx_function *original)
{
	const struct exec_insn end = { .run = op_nothing, .flow = FLOW_RETURN, .part = d->part };
	const uint32_t entry = d->p->insns;
	d->function = f;
	d->original = original;
	d->own = NULL;
	d->at = NULL;
	d->start = malloc((f->instrs + 1u) * sizeof *d->start);
	if (!d->start)
		decode_no_memory(d);
	else if (d->trace && original)
		d->rc = exec_trace_align(d->kernel, f, original, d->trace->suffix, &d->own, d->error);
	for (uint32_t i = 0; i < f->instrs && !d->rc; i++) {
		d->start[i] = d->p->insns;
		d->at = &f->instr[i];
		decode_one(d);
	}
	if (!d->rc) {
		d->start[f->instrs] = d->p->insns;
		decode_emit(d, &end);
		place_labels(d, entry);
	}
	free((void *)(uintptr_t)d->own);
	free(d->start);
	if (d->rc)
		d->p->insns = entry;
	return entry;
}
