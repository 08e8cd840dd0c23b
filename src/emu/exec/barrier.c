/* CTA barriers, by thread counts (PTX ISA 9.7.13.1). A waiting lane keeps its pc at the instruction; release moves it on. */
#include "emu/exec/ops.h"
#include "emu/exec/trace.h"
#include "emu/exec/weak.h"

/* Threads that will not come: of a whole-CTA barrier all that exited, of a counted one those of the warps that take part (a warp
 * counts as a multiple of 32, PTX ISA, barrier), but for those that came (bar.arrive) and went on to their end. */
static u32 absent(const struct exec_cta *cta, const struct exec_barrier *b)
{
	u32 n = 0;
	if (!b->count)
		return cta->threads - cta->live;
	for (u32 k = 0; k < cta->warps; k++)
		if (b->came[k])
			n += EXEC_LANES - (u32)__builtin_popcount(cta->warp[k].live | b->came[k]);
	return n;
}

static void deliver(struct exec_warp *w, u32 l, const struct exec_barrier *b)
{
	const struct exec_insn *n = w->cta->grid->program->insn + w->pc[l];
	if (n->run == op_barrier_popc)
		((u32 *)exec_at(w, n->x[0]))[l] = b->any;
	else if (n->run == op_barrier_and || n->run == op_barrier_or)
		op_set_mask(w, n->x[0], 1u << l, (n->run == op_barrier_and ? b->all : b->any != 0) ? EXEC_ALL : 0);
}

/* Lanes of a warp that wait at the barrier and stand at one instruction; 0: none is left. */
static u32 next_group(const struct exec_warp *w, unsigned number)
{
	u32 group = 0, first = 0;
	for (u32 rest = w->waiting; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		if (w->wait[l] != number || (group && w->pc[l] != w->pc[first]))
			continue;
		first = group ? first : l;
		group |= 1u << l;
	}
	return group;
}

static void go_on(struct exec_warp *w, u32 lanes, unsigned number)
{
	exec_trace_bar(w, w->cta->grid->program->insn + w->pc[__builtin_ctz(lanes)], lanes, EMU_PASS, number);
	for (u32 rest = lanes; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		deliver(w, l, &w->cta->barrier[number]);
		w->pc[l]++;
	}
	w->waiting &= ~lanes;
	if (w->weak)
		weak_acquire(w, lanes);
}

static void settle(struct exec_cta *cta, unsigned number)
{
	struct exec_barrier *b = &cta->barrier[number];
	if (!b->arrived || b->arrived + absent(cta, b) < (b->count ? b->count : cta->threads))
		return;
	exec_trace_bar_complete(cta, number);
	for (u32 k = 0; k < cta->warps; k++)
		for (u32 lanes; (lanes = next_group(&cta->warp[k], number)) != 0;)
			go_on(&cta->warp[k], lanes, number);
	*b = (struct exec_barrier){ .all = 1 };
}

void exec_barrier_recheck(struct exec_cta *cta)
{
	for (unsigned k = 0; k < EXEC_BARRIERS; k++)
		if (cta->barrier[k].arrived)
			settle(cta, k);
}

static int reduces(const struct exec_insn *n)
{
	return n->run == op_barrier_popc || n->run == op_barrier_and || n->run == op_barrier_or;
}

/* x: [d,] barrier [, count] [, predicate]; count is 2 with a count. */
static void come(struct exec_warp *w, const struct exec_insn *n, unsigned l, u32 number)
{
	struct exec_barrier *b = &w->cta->barrier[number];
	b->arrived++;
	b->came[w->number] |= 1u << l;
	if (reduces(n)) {
		const u32 place = n->x[1 + (n->flags & F_COUNTED ? 2 : 1)];
		const u32 p = (*(const u32 *)exec_at(w, place) >> l & 1) ^ ((n->flags & F_NOT_C) != 0);
		b->any += p;
		b->all &= p;
	}
	if (n->run == op_barrier_arrive) {
		w->pc[l]++;
	} else {
		w->wait[l] = (u8)number;
		w->waiting |= 1u << l;
	}
}

/* Those of the lanes whose barrier is that of the first of them. */
static u32 same_barrier(const u32 *numbers, u32 lanes)
{
	const u32 number = numbers[__builtin_ctz(lanes)];
	u32 same = 0;
	for (u32 rest = lanes; rest; rest &= rest - 1)
		same |= numbers[__builtin_ctz(rest)] == number ? rest & -rest : 0;
	return same;
}

void exec_barrier_arrive(struct exec_warp *w, const struct exec_insn *n, u32 lanes)
{
	const u32 *operand = n->x + reduces(n), *numbers = exec_at(w, operand[0]);
	if (w->weak)
		weak_release(w, lanes);
	for (u32 left = lanes, group; left; left &= ~group) {
		group = same_barrier(numbers, left);
		const unsigned first = (unsigned)__builtin_ctz(group);
		const u32 number = numbers[first];
		if (number >= EXEC_BARRIERS) {
			exec_warp_fault(w, first, EMU_FAILED, "no such barrier");
			return;
		}
		struct exec_barrier *b = &w->cta->barrier[number];
		const u32 count = n->flags & F_COUNTED ? ((const u32 *)exec_at(w, operand[1]))[first] : 0;
		if (b->arrived && !b->count != !count) {
			exec_warp_fault(w, first, EMU_ILLEGAL_INSTRUCTION, "threads come to one phase of a barrier with a count and without");
			return;
		}
		b->count = count;
		exec_trace_bar(w, n, group, EMU_ARRIVE, number);
		for (u32 rest = group; rest; rest &= rest - 1)
			come(w, n, (unsigned)__builtin_ctz(rest), number);
		settle(w->cta, number);
	}
	exec_rendezvous_stuck(w);
}

/* Their work is done above; the names tell them apart. */
void op_barrier_sync(OP_ARGS) { (void)w, (void)n, (void)m; }
void op_barrier_arrive(OP_ARGS) { (void)w, (void)n, (void)m; }
void op_barrier_popc(OP_ARGS) { (void)w, (void)n, (void)m; }
void op_barrier_and(OP_ARGS) { (void)w, (void)n, (void)m; }
void op_barrier_or(OP_ARGS) { (void)w, (void)n, (void)m; }
