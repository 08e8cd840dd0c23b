/* CTA barriers, by thread counts (PTX ISA 9.7.13.1). A waiting lane keeps its pc at the instruction; release moves it on. */
#include "emu/exec/ops.h"
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

static void settle(struct exec_cta *cta, unsigned number)
{
	struct exec_barrier *b = &cta->barrier[number];
	if (!b->arrived || b->arrived + absent(cta, b) < (b->count ? b->count : cta->threads))
		return;
	for (u32 k = 0; k < cta->warps; k++) {
		struct exec_warp *w = &cta->warp[k];
		for (u32 rest = w->waiting; rest; rest &= rest - 1) {
			const unsigned l = (unsigned)__builtin_ctz(rest);
			if (w->wait[l] != number)
				continue;
			deliver(w, l, b);
			w->waiting &= ~(1u << l);
			w->pc[l]++;
			if (w->weak)
				weak_acquire(w, 1u << l);
		}
	}
	*b = (struct exec_barrier){ .all = 1 };
	if (cta->grid->launch.trace && cta->grid->launch.trace->tells)
		cta->grid->launch.trace->block(cta->grid->number, cta->linear, 0);
}

void exec_barrier_recheck(struct exec_cta *cta)
{
	for (unsigned k = 0; k < EXEC_BARRIERS; k++)
		if (cta->barrier[k].arrived)
			settle(cta, k);
}

/* x: [d,] barrier [, count] [, predicate]; count is 2 with a count. */
void exec_barrier_arrive(struct exec_warp *w, const struct exec_insn *n, u32 lanes)
{
	const int reduces = n->run == op_barrier_popc || n->run == op_barrier_and || n->run == op_barrier_or;
	const unsigned first = reduces ? 1 : 0;
	if (w->weak)
		weak_release(w, lanes);
	for (u32 rest = lanes; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		const u32 number = ((const u32 *)exec_at(w, n->x[first]))[l];
		if (number >= EXEC_BARRIERS) {
			exec_warp_fault(w, l, EMU_FAILED, "no such barrier");
			return;
		}
		struct exec_barrier *b = &w->cta->barrier[number];
		if (n->flags & F_COUNTED)
			b->count = ((const u32 *)exec_at(w, n->x[first + 1]))[l];
		b->arrived++;
		b->came[w->number] |= 1u << l;
		if (reduces) {
			const u32 place = n->x[first + (n->flags & F_COUNTED ? 2 : 1)];
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
