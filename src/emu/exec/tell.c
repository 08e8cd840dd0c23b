/* Telling the driver of the program's own operations as they execute, and of its barriers: who arrives, when one is complete,
 * who goes on behind it. */
#include "emu/exec/trace.h"

#include "emu/exec/ops.h"
#include "emu/exec/weak.h"

#include <string.h>

static u128 peek(u64 at, u32 bytes)
{
	u128 v = 0;
	memcpy(&v, (const void *)(uintptr_t)at, bytes < sizeof v ? bytes : sizeof v);
	return v;
}

static u128 register_value(const struct exec_warp *w, u32 place, unsigned l, u32 bytes)
{
	u128 v = 0;
	memcpy(&v, (const unsigned char *)exec_at(w, place) + (size_t)l * bytes, bytes < sizeof v ? bytes : sizeof v);
	return v;
}

static int in_shared(const struct exec_warp *w, u64 a)
{
	return a - (u64)(uintptr_t)w->cta->shared < w->cta->grid->shared_bytes;
}

/* The registers of one lane: others of the warp may access the same bytes, so they go one after the other. */
static void one_access(struct exec_warp *w, const struct exec_insn *n, unsigned l, struct emu_access *a)
{
	const struct exec_traced *t = n->traced;
	const struct emu_trace *trace = w->cta->grid->launch.trace;
	const int cas = t->kind == TRACE_RMW && n->sub == ATOM_CAS;
	a->elements = n->count;
	a->bytes = (u32)n->size * n->count;
	if (!exec_address(w, n, 1u << l, a->bytes))
		return;
	a->address = w->address[l];
	if (!exec_is_global(w, a->address)) {
		t->run(w, n, 1u << l);
		if (in_shared(w, a->address) && strcmp(a->sem, "weak"))
			trace->shared(w->cta->grid->number, a);
		return;
	}
	const int passes = w->weak && t->kind != TRACE_RMW; /* what was loaded or stored need not be what memory has */
	const u64 at = passes ? (u64)(uintptr_t)w->weak->image[l] : a->address;
	if (w->weak && t->kind == TRACE_RMW)
		weak_settle(w, n, l);
	u128 read = t->kind == TRACE_STORE ? 0 : peek(a->address, a->bytes);
	const u128 expected = cas ? register_value(w, n->x[n->count], l, n->size) : 0;
	t->run(w, n, 1u << l);
	if (w->fault)
		return;
	if (passes && t->kind == TRACE_LOAD)
		read = peek(at, a->bytes);
	a->reads = t->kind != TRACE_STORE;
	a->writes = t->kind != TRACE_LOAD && (!cas || read == expected);
	a->read = (u64)read;
	a->wrote = a->writes ? (u64)peek(at, a->bytes) : 0;
	trace->access(w->cta->grid->number, a);
}

static void one_copy(struct exec_warp *w, const struct exec_insn *n, unsigned l, struct emu_access *a)
{
	const u32 have = n->count > 1 ? X(u32, 1)[l] : n->size;
	n->traced->run(w, n, 1u << l); /* leaves the address of the source */
	a->elements = 1;
	a->bytes = have < n->size ? have : n->size;
	if (w->fault || !a->bytes)
		return;
	a->address = w->address[l];
	a->reads = 1;
	a->read = (u64)peek(a->address, a->bytes);
	w->cta->grid->launch.trace->access(w->cta->grid->number, a);
}

/* ---- barriers */

static void tell(const struct exec_cta *cta, enum emu_barrier_event event, struct emu_barrier b)
{
	const struct emu_trace *trace = cta->grid->launch.trace;
	b.cta = cta->linear;
	trace->barrier(cta->grid->number, event, &b);
}

/* Lanes of one instruction at barrier `number`, if it is the program's. */
void exec_trace_bar(const struct exec_warp *w, const struct exec_insn *n, u32 lanes, enum emu_barrier_event event, u32 number)
{
	if (n->traced && w->cta->grid->launch.trace->tells)
		tell(w->cta, event, (struct emu_barrier){ .warp = w->number, .lanes = lanes, .line = n->traced->line, .kind = n->traced->op,
							  .how = n->traced->sem, .id = number, .count = w->cta->barrier[number].count });
}

void exec_trace_bar_complete(const struct exec_cta *cta, u32 number)
{
	if (cta->grid->launch.trace && cta->grid->launch.trace->tells)
		tell(cta, EMU_PHASE, (struct emu_barrier){ .kind = "bar", .id = number });
}

/* Lane by lane: a phase may be complete in the middle of a warp. */
static void mbarrier(struct exec_warp *w, const struct exec_insn *n, u32 m)
{
	const exec_fn run = n->traced->run;
	for (u32 rest = m; rest && !w->fault; rest &= rest - 1) {
		const u32 lane = rest & -rest;
		if (!exec_address(w, n, lane, 8))
			return;
		const u64 at = w->address[__builtin_ctz(lane)], was = (u64)peek(at, 8);
		struct emu_barrier b = { .warp = w->number, .lanes = lane, .line = n->traced->line, .kind = n->traced->op, .how = n->traced->sem,
					 .id = at - (u64)(uintptr_t)w->cta->shared, .count = exec_mbarrier_expects(was) };
		if (run == op_mbarrier_arrive || run == op_mbarrier_arrive_tx || (run == op_mbarrier_async && n->sub))
			tell(w->cta, EMU_ARRIVE, b);
		run(w, n, lane);
		const u64 is = (u64)peek(at, 8);
		b.count = exec_mbarrier_expects(is);
		if (run == op_mbarrier_init || run == op_mbarrier_inval)
			tell(w->cta, EMU_INIT, b);
		else if (exec_mbarrier_phase(is) != exec_mbarrier_phase(was))
			tell(w->cta, EMU_PHASE, b);
		if (run == op_mbarrier_wait && *X(u32, 0) & lane)
			tell(w->cta, EMU_PASS, b);
	}
}

void exec_trace_run(OP_ARGS)
{
	const struct exec_traced *t = n->traced;
	if (t->kind == TRACE_MBARRIER) {
		mbarrier(w, n, m);
		return;
	}
	for (u32 rest = m; rest && !w->fault; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		struct emu_access a = { .cta = w->cta->linear, .thread = w->number * EXEC_LANES + l, .line = t->line, .op = t->op,
					.sem = t->sem, .scope = t->scope };
		if (t->kind == TRACE_FENCE) {
			w->cta->grid->launch.trace->fence(w->cta->grid->number, &a);
			t->run(w, n, 1u << l);
		} else if (t->kind == TRACE_COPY) {
			one_copy(w, n, l, &a);
		} else {
			one_access(w, n, l, &a);
		}
	}
}
