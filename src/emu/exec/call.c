#include "emu/exec/call.h"

#include "emu/exec/ops.h"

#include <stdlib.h>
#include <string.h>

#define IN_REGISTERS_MAX 64

static u64 read_register(const struct exec_warp *w, u32 l, const struct exec_pass *p)
{
	const void *at = exec_at(w, p->place);
	switch (p->size) {
	case 0: return *(const u32 *)at >> l & 1;
	case 2: return ((const u16 *)at)[l];
	case 4: return ((const u32 *)at)[l];
	default: return ((const u64 *)at)[l];
	}
}
static void write_register(struct exec_warp *w, u32 l, const struct exec_pass *p, u64 v)
{
	void *at = exec_at(w, p->place);
	switch (p->size) {
	case 0: op_set_mask(w, p->place, 1u << l, v ? EXEC_ALL : 0); break;
	case 2: ((u16 *)at)[l] = (u16)v; break;
	case 4: ((u32 *)at)[l] = (u32)v; break;
	default: ((u64 *)at)[l] = v; break;
	}
}

static u64 value_in(const struct exec_warp *w, u32 l, const struct exec_pass *p, u64 frame)
{
	u64 v = 0;
	if (p->in_register)
		return read_register(w, l, p);
	memcpy(&v, (const void *)(uintptr_t)(frame + p->place), p->size < 8 ? p->size : 8);
	return v;
}

u64 exec_call_value(const struct exec_warp *w, u32 l, const struct exec_pass *arg)
{
	return value_in(w, l, arg, w->frame[l]);
}

void exec_call_give(struct exec_warp *w, u32 l, const struct exec_pass *result, u64 v)
{
	if (result->in_register)
		write_register(w, l, result, v);
	else
		memcpy((void *)(uintptr_t)(w->frame[l] + result->place), &v, result->size < 8 ? result->size : 8);
}

/* Values that come from or go to registers are held meanwhile: caller and callee may be one function. */
static void hold(const struct exec_warp *w, u32 l, const struct exec_pass *from, u32 n, u64 frame, u64 *held)
{
	for (u32 k = 0; k < n && k < IN_REGISTERS_MAX; k++)
		held[k] = value_in(w, l, &from[k], frame);
}
static void hand_over(struct exec_warp *w, u32 l, const struct exec_pass *from, u64 from_frame, const struct exec_pass *to,
		      u64 to_frame, u32 n, const u64 *held)
{
	for (u32 k = 0; k < n && k < IN_REGISTERS_MAX; k++) {
		void *at = (void *)(uintptr_t)(to_frame + to[k].place);
		if (to[k].in_register)
			write_register(w, l, &to[k], held[k]);
		else if (from[k].in_register)
			memcpy(at, &held[k], to[k].size < 8 ? to[k].size : 8);
		else
			memcpy(at, (const void *)(uintptr_t)(from_frame + from[k].place), to[k].size < from[k].size ? to[k].size : from[k].size);
	}
}

static int keep_registers(struct exec_warp *w, u32 l, const struct exec_function *f)
{
	struct exec_saved *s = &w->saved[l];
	if (s->size + f->saves * sizeof(u64) > s->room) {
		const size_t room = 2 * s->room + f->saves * sizeof(u64) + 1024;
		unsigned char *grown = realloc(s->data, room);
		if (!grown)
			return 0;
		s->data = grown;
		s->room = room;
	}
	for (u32 k = 0; k < f->saves; k++, s->size += sizeof(u64)) {
		const u64 v = read_register(w, l, &f->saved[k]);
		memcpy(s->data + s->size, &v, sizeof v);
	}
	return 1;
}
static void restore_registers(struct exec_warp *w, u32 l, const struct exec_function *f)
{
	struct exec_saved *s = &w->saved[l];
	s->size -= f->saves * sizeof(u64);
	for (u32 k = 0; k < f->saves; k++) {
		u64 v;
		memcpy(&v, s->data + s->size + k * sizeof v, sizeof v);
		write_register(w, l, &f->saved[k], v);
	}
}

/* The function a lane calls; NULL after a fault. */
static const struct exec_function *callee(struct exec_warp *w, const struct exec_insn *n, u32 l)
{
	const struct emu_kernel *k = w->cta->grid->kernel;
	const struct emu_module *module = k->module;
	if (!(n->flags & F_INDIRECT))
		return &module->function[n->call->callee];
	const u64 offset = X(u64, 0)[l] - (u64)(uintptr_t)module->handle;
	const u64 which = offset / sizeof *module->handle;
	if (offset % sizeof *module->handle || which >= module->ptx->functions) {
		exec_warp_fault(w, l, EMU_FAILED, "indirect call to something that is not a function");
		return NULL;
	}
	const struct exec_function *f = &module->function[module->handle[which].function];
	if (!k->entry[f - module->function] || f->args != n->call->args || f->results != n->call->results) {
		exec_warp_fault(w, l, EMU_FAILED, "indirect call to a function of another type");
		return NULL;
	}
	return f;
}


void exec_call(struct exec_warp *w, const struct exec_insn *n, uint32_t pc, uint32_t lanes)
{
	const struct emu_kernel *k = w->cta->grid->kernel;
	u64 held[IN_REGISTERS_MAX];
	for (u32 rest = lanes; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		const struct exec_function *f = callee(w, n, l);
		if (!f)
			return;
		struct exec_link *link = &w->link[w->depth[l] * EXEC_LANES + l];
		const u64 frame = w->frame[l] + w->bytes[l];
		if (w->depth[l] + 1 >= k->depth || frame + f->frame_bytes > w->local[l] + k->local_bytes) {
			exec_warp_fault(w, l, EMU_FAILED, "call stack overflow");
			return;
		}
		const u32 which = (u32)(f - k->module->function);
		*link = (struct exec_link){ .at = pc, .function = which, .frame = w->frame[l], .bytes = w->bytes[l] };
		hold(w, l, n->call->arg, n->call->args, w->frame[l], held);
		if (f->recursive && !keep_registers(w, l, f)) {
			exec_warp_fault(w, l, EMU_FAILED, "out of memory");
			return;
		}
		hand_over(w, l, n->call->arg, w->frame[l], f->arg, frame, n->call->args, held);
		w->depth[l]++;
		w->frame[l] = frame;
		w->bytes[l] = f->frame_bytes;
		w->pc[l] = k->entry[which];
	}
}

void exec_return(struct exec_warp *w, uint32_t lanes)
{
	const struct exec_program *p = w->cta->grid->program;
	const struct emu_module *module = w->cta->grid->kernel->module;
	u64 held[IN_REGISTERS_MAX];
	u32 leaving = 0;
	for (u32 rest = lanes; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		if (!w->depth[l]) {
			leaving |= 1u << l;
			continue;
		}
		const struct exec_link *link = &w->link[--w->depth[l] * EXEC_LANES + l];
		const struct exec_function *f = &module->function[link->function];
		const struct exec_call *call = p->insn[link->at].call;
		hold(w, l, f->result, f->results, w->frame[l], held);
		if (f->recursive)
			restore_registers(w, l, f);
		hand_over(w, l, f->result, w->frame[l], call->result, link->frame, f->results, held);
		w->frame[l] = link->frame;
		w->bytes[l] = link->bytes;
		w->pc[l] = link->at + 1;
	}
	if (leaving)
		exec_lane_exit(w, leaving);
}
