/* Where the lanes of a member mask meet: shfl, vote, match, redux, elect, bar.warp.sync. A lane waits until all lanes of its
 * mask that have not exited wait with the same mask at an instruction of the same kind (PTX ISA 9.7.9), perhaps at another
 * copy of it, unless it is .aligned. What a GPU answers with an illegal instruction, a hang or nonsense is a fault here: a mask without the lane
 * itself, one with lanes that can no longer come, and redux with several masks side by side. */
#include "emu/exec/ops.h"
#include "emu/exec/weak.h"

#include <stdio.h>
#include <string.h>

static const struct exec_insn *at(const struct exec_warp *w, u32 l)
{
	return w->cta->grid->program->insn + w->pc[l];
}

/* Lanes that wait for others of their masks. */
static u32 at_masks(const struct exec_warp *w)
{
	u32 lanes = 0;
	for (u32 rest = w->waiting & w->live; rest; rest &= rest - 1)
		if (w->wait[__builtin_ctz(rest)] == WAIT_WARP)
			lanes |= rest & -rest;
	return lanes;
}

/* Those of `waiting` with whom lane l meets. */
static u32 agreeing(const struct exec_warp *w, u32 l, u32 waiting)
{
	const struct exec_insn *n = at(w, l);
	const u32 members = w->members[l] & w->live;
	u32 ready = 0;
	for (u32 rest = members & waiting; rest; rest &= rest - 1) {
		const unsigned o = (unsigned)__builtin_ctz(rest);
		const struct exec_insn *other = at(w, o);
		const int alike = n->flags & F_ALIGNED ? other == n : other->run == n->run && other->sub == n->sub;
		if (alike && (w->members[o] & w->live) == members)
			ready |= 1u << o;
	}
	return ready;
}

/* Runs every complete set. */
void exec_rendezvous_recheck(struct exec_warp *w)
{
	u32 waiting = at_masks(w);
	while (waiting) {
		const unsigned l = (unsigned)__builtin_ctz(waiting);
		const struct exec_insn *n = at(w, l);
		const u32 ready = agreeing(w, l, waiting);
		waiting &= ~(ready | 1u << l);
		if (ready != (w->members[l] & w->live))
			continue;
		w->at = w->pc[l];
		n->run(w, n, ready);
		w->waiting &= ~ready;
		if (w->weak && n->run == op_warp_sync)
			weak_acquire(w, ready);
		for (u32 rest = ready; rest; rest &= rest - 1)
			w->pc[__builtin_ctz(rest)]++;
	}
}

/* For whom a waiting lane waits within its warp. A barrier of the whole CTA wants all lanes of it; who comes to a counted one
 * the program alone knows. */
static u32 awaited(const struct exec_warp *w, u32 l, u32 masks)
{
	u32 there = 0;
	if (w->wait[l] == WAIT_WARP)
		return w->members[l] & w->live & ~agreeing(w, l, masks);
	if (w->cta->barrier[w->wait[l]].count)
		return 0;
	for (u32 rest = w->waiting; rest; rest &= rest - 1)
		if (w->wait[__builtin_ctz(rest)] == w->wait[l])
			there |= rest & -rest;
	return w->live & ~there;
}

static void say_stuck(struct exec_warp *w, u32 lane, u32 awaits)
{
	const u32 o = (u32)__builtin_ctz(awaits), masks = w->wait[o] == WAIT_WARP;
	const struct ptx_instr *i = at(w, o)->source;
	struct emu_grid *g = w->cta->grid;
	snprintf(g->words, sizeof g->words, "lanes of member mask 0x%x that do not come: 0x%x; lane %u waits at '%.*s' (PTX line %u)",
		 w->members[lane], awaits, o, (int)(i->opcode.len > 40 ? 40 : i->opcode.len), g->kernel->module->ptx->text + i->opcode.off,
		 i->line);
	const size_t used = strlen(g->words);
	if (masks)
		snprintf(g->words + used, sizeof g->words - used, " with mask 0x%x", w->members[o]);
	w->at = w->pc[lane];
	exec_warp_fault(w, lane, EMU_ILLEGAL_INSTRUCTION, g->words);
}

/* A fault if lanes wait for each other in a circle that nobody outside it can open. */
void exec_rendezvous_stuck(struct exec_warp *w)
{
	const u32 masks = at_masks(w);
	u32 moves = w->live & ~w->waiting, before = ~moves;
	if (!masks || w->fault)
		return;
	while (moves != before) {
		before = moves;
		for (u32 rest = w->live & ~moves; rest; rest &= rest - 1) {
			const unsigned l = (unsigned)__builtin_ctz(rest);
			if (!(awaited(w, l, masks) & ~moves))
				moves |= 1u << l;
		}
	}
	if (masks & ~moves) {
		const u32 l = (u32)__builtin_ctz(masks & ~moves);
		say_stuck(w, l, awaited(w, l, masks) & ~moves);
	}
}

/* On an H200, redux by groups of one warp side by side was an illegal instruction. */
static int several_masks(struct exec_warp *w, const u32 *mask, u32 lanes)
{
	const u32 first = (u32)__builtin_ctz(lanes);
	for (u32 rest = lanes; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		if (mask[l] == mask[first])
			continue;
		struct emu_grid *g = w->cta->grid;
		snprintf(g->words, sizeof g->words, "redux of lanes 0x%x together with several member masks: lane %u has 0x%x, lane %u 0x%x",
			 lanes, first, mask[first], l, mask[l]);
		exec_warp_fault(w, l, EMU_ILLEGAL_INSTRUCTION, g->words);
		return 1;
	}
	return 0;
}

/* Lanes that arrive together, each with its own mask (the last operand). */
void exec_rendezvous(struct exec_warp *w, const struct exec_insn *n, u32 lanes)
{
	const u32 *mask = exec_at(w, n->x[n->count - 1]);
	if (n->run == op_redux && several_masks(w, mask, lanes))
		return;
	for (u32 rest = lanes; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		if (!(mask[l] >> l & 1)) {
			struct emu_grid *g = w->cta->grid;
			snprintf(g->words, sizeof g->words, "lane %u is not in its own member mask 0x%x", l, mask[l]);
			exec_warp_fault(w, l, EMU_ILLEGAL_INSTRUCTION, g->words);
			return;
		}
		w->members[l] = mask[l];
		w->wait[l] = WAIT_WARP;
	}
	w->waiting |= lanes;
	if (w->weak && n->run == op_warp_sync)
		weak_release(w, lanes);
	exec_rendezvous_recheck(w);
	exec_rendezvous_stuck(w);
}
