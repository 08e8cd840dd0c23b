#include "emu/exec/decode.h"

#include "base/hash.h"
#include "emu/exec/count.h"
#include "emu/exec/trace.h"
#include "emu/exec/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void decode_fail(struct decoder *d, const char *what)
{
	if (d->rc)
		return;
	d->rc = -ENOTSUP;
	char line[EXEC_LINE], name[EXEC_NAME];
	const struct ptx_span text = d->at ? d->at->opcode : d->function->name;
	exec_describe_line(line, sizeof line, d->m, d->at);
	exec_show_name(name, sizeof name, d->kernel->name);
	snprintf(d->error->text, sizeof d->error->text, "kernel %s: %.*s (%s): %s", name, (int)text.len, d->m->text + text.off,
		 line, what);
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

static void parts(struct decoder *d, struct exec_insn *n, const struct ptx_operand *v, const struct ptx_operand *whole, unsigned bytes)
{
	n->wide = (uint8_t)bytes;
	n->count = (uint8_t)v->items;
	n->size = (uint8_t)(bytes / (v->items ? v->items : 1));
	if (n->size < 2 || v->items >= EXEC_OPERANDS) {
		decode_fail(d, "a vector of parts this small is not executed here");
		return;
	}
	n->x[0] = decode_operand(d, whole, bytes);
	for (uint32_t k = 0; k < v->items; k++)
		n->x[k + 1] = decode_operand(d, &v->item[k], n->size);
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
	} else if (from->kind == PTX_OPND_SYMBOL && (decode_is_frame_symbol(d, from->decl) || decode_entry_param(d, from->decl, &v))) {
		n->run = op_move_address;
		n->width[0] = (uint8_t)bytes;
		n->x[0] = decode_operand(d, to, bytes);
		decode_address(d, n, from);
	} else {
		n->run = bytes == 0 ? op_move_pred : bytes == 2 ? op_move_u16 : bytes == 4 ? op_move_u32 : bytes == 8 ? op_move_u64 : op_move_u128;
		n->x[0] = decode_operand(d, to, bytes);
		if (from->kind == PTX_OPND_SPECIAL) {
			n->run = op_special;
			n->wide = (uint8_t)bytes;
			uint32_t width;
			n->imm = exec_special_find(d->m->text + from->text.off, from->text.len, &width);
			if (n->imm < 0)
				decode_fail(d, "a special register that is not emulated");
			return;
		}
		n->x[1] = decode_operand(d, from, bytes);
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
		decode_fail(d, "a register is narrower than its type");
	return have;
}

static void build_convert(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *to = &d->at->operand[0], *from = &d->at->operand[1];
	if (d->at->operands != 2) {
		decode_fail(d, "wrong number of operands");
		return;
	}
	if (n->type[0] == n->type[2] && n->type[0] == PTX_NOTYPE)
		decode_fail(d, "no type");
	n->width[0] = (uint8_t)wide(d, to, n->type[0]);
	n->width[1] = (uint8_t)wide(d, from, n->type[2]);
	n->x[0] = decode_operand(d, to, n->width[0]);
	n->x[1] = decode_operand(d, from, n->width[1]);
}

/* The data of a load, store or atomic: one register or n->count of them, from place x[first] on. */
static void data(struct decoder *d, struct exec_insn *n, const struct ptx_operand *o, unsigned first)
{
	const struct ptx_operand *one = o->kind == PTX_OPND_VECTOR ? o->item : o;
	const uint32_t have = o->kind == PTX_OPND_VECTOR ? o->items : 1;
	unsigned bytes = 0;
	if (have != n->count || first + have > EXEC_OPERANDS) {
		decode_fail(d, "as many registers as the vector has elements are needed");
		return;
	}
	for (uint32_t k = 0; k < have; k++)
		if (one[k].kind == PTX_OPND_REG)
			bytes = wide(d, &one[k], n->type[2]);
	if (!bytes)
		bytes = wide(d, one, n->type[2]);
	n->wide = (uint8_t)bytes;
	for (uint32_t k = 0; k < have; k++)
		n->x[first + k] = decode_operand(d, &one[k], bytes);
}

static void build_access(struct decoder *d, struct exec_insn *n, int store)
{
	if (d->at->operands < 2) {
		decode_fail(d, "wrong number of operands");
		return;
	}
	n->size = (uint8_t)exec_type_bytes(n->type[2]);
	if (n->type[2] >= PTX_S8 && n->type[2] <= PTX_S64)
		n->flags |= F_SIGNED;
	data(d, n, &d->at->operand[!store ? 0 : 1], 0);
	decode_address(d, n, &d->at->operand[store ? 0 : 1]);
	if (n->mode == MODE_NARROW && (n->sub == PTX_LOCAL || n->sub == PTX_CONST))
		n->mode = MODE_WINDOW;
}

static void build_atomic(struct decoder *d, struct exec_insn *n, int result)
{
	const uint32_t base = result ? 1 : 0;
	if (d->at->operands < base + 2u + (n->sub == ATOM_CAS)) {
		decode_fail(d, "too few operands");
		return;
	}
	n->size = (uint8_t)exec_type_bytes(n->type[2]);
	if (n->count > 4) {
		decode_fail(d, "vectors of eight are not executed here");
		return;
	}
	if (result)
		data(d, n, &d->at->operand[0], 0);
	decode_address(d, n, &d->at->operand[base]);
	data(d, n, &d->at->operand[base + 1], n->count);
	if (n->sub == ATOM_CAS)
		n->x[2 * n->count] = decode_operand(d, &d->at->operand[base + 2], n->size);
}

static void build_copy(struct decoder *d, struct exec_insn *n)
{
	struct exec_insn from = { 0 };
	const struct ptx_operand *o = d->at->operand;
	if (d->at->operands < 3) {
		decode_fail(d, "too few operands");
		return;
	}
	decode_address(d, &from, &o[1]);
	if (from.mode != MODE_ABSOLUTE)
		decode_fail(d, "the source is not a global address");
	decode_address(d, n, &o[0]);
	n->x[0] = from.address;
	n->x[2] = (uint32_t)from.imm;
	n->size = (uint8_t)o[2].ivalue;
	if (d->at->operands > 3 && (o[3].kind == PTX_OPND_INT || (o[3].kind == PTX_OPND_REG && decode_register_bytes(o[3].decl) == 4))) {
		n->x[1] = decode_operand(d, &o[3], 4);
		n->count = 2;
	}
}

static void build_branch(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *o = d->at->operands ? &d->at->operand[0] : NULL;
	if (!o || !o->decl || !o->decl->is_label)
		decode_fail(d, "unknown label");
	else
		n->target = o->decl->label_at;
}

static void build_indexed(struct decoder *d, struct exec_insn *n)
{
	const struct ptx_operand *o = d->at->operand;
	if (d->at->operands < 2 || !o[1].decl || !o[1].decl->is_label || o[1].decl->label_at >= d->function->instrs) {
		decode_fail(d, "unknown list of targets");
		return;
	}
	const struct ptx_instr *list = &d->function->instr[o[1].decl->label_at];
	uint32_t *targets = decode_take(d, list->operands * sizeof *targets);
	for (uint32_t k = 0; targets && k < list->operands; k++) {
		if (!list->operand[k].decl || !list->operand[k].decl->is_label)
			decode_fail(d, "unknown label");
		else
			targets[k] = list->operand[k].decl->label_at;
	}
	n->targets = targets;
	n->imm = list->operands;
	n->x[0] = decode_operand(d, &o[0], 4);
}



static void pass_list(struct decoder *d, const struct ptx_operand *list, struct exec_pass **out, uint32_t *count)
{
	*count = list ? list->items : 0;
	*out = decode_take(d, *count * sizeof **out);
	for (uint32_t k = 0; *out && k < *count; k++) {
		const struct ptx_operand *o = &list->item[k];
		struct exec_pass *pass = &(*out)[k];
		if (decode_is_frame_symbol(d, o->decl)) {
			*pass = (struct exec_pass){ (uint32_t)(d->p->where[o->decl->id] - 1), (uint32_t)exec_decl_bytes(o->decl), 0 };
		} else {
			const unsigned bytes = o->kind == PTX_OPND_REG && o->decl ? decode_register_bytes(o->decl) : 8;
			*pass = (struct exec_pass){ decode_operand(d, o, bytes), bytes, 1 };
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
		decode_fail(d, "calls nothing");
		return;
	}
	const struct ptx_operand *callee = &o[k++];
	pass_list(d, results, &call->result, &call->results);
	pass_list(d, k < d->at->operands && o[k].kind == PTX_OPND_LIST ? &o[k] : NULL, &call->arg, &call->args);
	n->call = call;
	if (callee->kind == PTX_OPND_REG) {
		n->flags |= F_INDIRECT;
		n->x[0] = decode_operand(d, callee, 8);
		return;
	}
	if (!callee->decl || !callee->decl->is_function) {
		decode_fail(d, "calls an unknown function");
		return;
	}
	call->callee = d->kernel->module->handle[callee->decl->function].function;
	const struct exec_function *f = &d->kernel->module->function[call->callee];
	const struct exec_row *row = f->source->body.len ? NULL : exec_system_find(d->m, f->source->name);
	if (row && strlen(row->shape) == call->args && call->results < 2) {
		n->run = row->run;
		n->flow = FLOW_NEXT;
	} else if (!f->source->body.len)
		decode_fail(d, "calls a function without a body");
	else if (f->args != call->args || f->results != call->results)
		decode_fail(d, "passes another number of values than the function takes");
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
		decode_fail(d, "this instruction is not executed by the emulated device");
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
	case BUILD_BARRIER: case BUILD_WARP: case BUILD_SYSTEM: case BUILD_LACKING: decode_shaped(d, &n, row->shape); break;
	}
	if (n.run == op_barrier_arrive)
		n.flags |= F_COUNTED;
	if (d->at->pred) {
		n.guard = decode_operand(d, d->at->pred, 0);
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
