/* One warp. Lanes have their own program counters; those at one instruction run together. Usually the group deepest in
 * calls, then lowest in the code, goes first: lanes that are ahead wait for the others there, which brings them together
 * again. Every fourth slice goes to the next lane's group instead, wherever it is, so a group that spins on what another
 * lane of its warp must do does not starve that lane (independent thread scheduling, PTX ISA 3.1). */
#include "emu/exec/call.h"
#include "emu/exec/ops.h"

#include <stdio.h>

#define STEP_SLICE 128u /* instructions of one group of lanes within a step */
#define STEP_TOGETHER 4096u /* of a step, in which lanes wait for those behind: they act in the order of lanes */

void exec_warp_fault(struct exec_warp *w, uint32_t lane, enum emu_fault kind, const char *what)
{
	if (w->fault)
		return;
	w->fault = what;
	w->fault_kind = kind;
	w->fault_lane = lane;
}

void exec_lane_exit(struct exec_warp *w, uint32_t lanes)
{
	w->live &= ~lanes;
	w->cta->live -= (u32)__builtin_popcount(lanes);
	if (w->waiting)
		exec_rendezvous_recheck(w);
	exec_barrier_recheck(w->cta);
	if (w->waiting)
		exec_rendezvous_stuck(w);
}

/* The pc that goes next and its lanes. */
static u32 choose(const struct exec_warp *w, u32 runnable, int lane, u32 *group)
{
	u32 depth = 0, pc = EXEC_ALL, same = 0;
	if (!(runnable & (runnable - 1))) { /* often one lane alone is left */
		*group = runnable;
		return w->pc[__builtin_ctz(runnable)];
	}
	if (lane >= 0) {
		pc = w->pc[lane];
	} else {
		for (u32 rest = runnable; rest; rest &= rest - 1) {
			const unsigned l = (unsigned)__builtin_ctz(rest);
			if (w->depth[l] > depth || (w->depth[l] == depth && w->pc[l] < pc)) {
				depth = w->depth[l];
				pc = w->pc[l];
			}
		}
	}
	for (unsigned l = 0; l < EXEC_LANES; l++)
		same |= (u32)(w->pc[l] == pc) << l;
	*group = same & runnable;
	return pc;
}

/* Where a straight run must end, because other lanes wait there to be joined. */
static u32 meeting(const struct exec_warp *w, u32 others, u32 pc)
{
	u32 stop = EXEC_ALL;
	for (u32 rest = others; rest; rest &= rest - 1) {
		const u32 at = w->pc[__builtin_ctz(rest)];
		if (at > pc && at < stop)
			stop = at;
	}
	return stop;
}

static void put(struct exec_warp *w, u32 lanes, u32 pc)
{
	for (u32 rest = lanes; rest; rest &= rest - 1)
		w->pc[__builtin_ctz(rest)] = pc;
}

/* An instruction that moves program counters; `m` of the group execute it, the others pass. Returns 1 to end the slice. */
static int control(struct exec_warp *w, const struct exec_insn *n, u32 pc, u32 group, u32 m)
{
	put(w, m, pc);
	put(w, group & ~m, pc + 1);
	w->at = pc;
	if (!m)
		return 0;
	switch ((enum exec_flow)n->flow) {
	case FLOW_BRANCH: put(w, m, n->target); break;
	case FLOW_INDEXED:
		for (u32 rest = m; rest; rest &= rest - 1) {
			const unsigned l = (unsigned)__builtin_ctz(rest);
			const u32 index = X(u32, 0)[l];
			if (index >= (u64)n->imm)
				exec_warp_fault(w, l, EMU_FAILED, "index past the list of targets");
			else
				w->pc[l] = n->targets[index];
		}
		break;
	case FLOW_CALL: exec_call(w, n, pc, m); break;
	case FLOW_RETURN: exec_return(w, m); break;
	case FLOW_EXIT: exec_lane_exit(w, m); break;
	case FLOW_TRAP: exec_warp_fault(w, (u32)__builtin_ctz(m), EMU_FAILED, "trap"); break;
	case FLOW_WARP: exec_rendezvous(w, n, m); break;
	case FLOW_BARRIER: exec_barrier_arrive(w, n, m); break;
	case FLOW_YIELD: put(w, m, pc + 1); return 1;
	case FLOW_NEXT: break;
	}
	return 0;
}

static u32 guarded(const struct exec_warp *w, const struct exec_insn *n, u32 group)
{
	if (n->guard == EXEC_NOWHERE)
		return group;
	const u32 p = *(const u32 *)exec_at(w, n->guard);
	return group & (n->guard_not ? ~p : p);
}

/* Runs one group from pc until it splits, meets others, or used up the budget; with `pass`, also until it stands before a
 * point that it has not been let pass: then its lanes are parked. Returns the instructions executed. */
enum pass { PASS_ALL, PASS_FIRST, PASS_NONE };
static inline __attribute__((always_inline)) u32 run_code(struct exec_warp *w, u32 pc, u32 group, u32 others, u32 budget, int *yield,
							   const enum pass pass)
{
	const struct exec_insn *code = w->cta->grid->program->insn;
	u32 done = 0, stop = others ? meeting(w, others, pc) : EXEC_ALL;
	do {
		const struct exec_insn *n = code + pc;
		const u32 m = guarded(w, n, group);
		if (pass != PASS_ALL && n->point && m && (pass == PASS_NONE || done)) {
			w->parked |= group;
			break;
		}
		done++;
		exec_time++;
		if (n->flow == FLOW_NEXT) {
			if (m) {
				w->at = pc;
				n->run(w, n, m);
				if (w->fault)
					break;
			}
			pc++;
		} else if (n->flow == FLOW_BRANCH && !others && (m == group || !m)) {
			pc = m ? n->target : pc + 1;
		} else {
			*yield = control(w, n, pc, group, m);
			return done;
		}
	} while (pc != stop && done < budget);
	put(w, group, pc);
	return done;
}

static u32 run_group(struct exec_warp *w, u32 pc, u32 group, u32 others, u32 budget, int *yield)
{
	return run_code(w, pc, group, others, budget, yield, PASS_ALL);
}

/* The lanes of a warp take turns, so that one that spins on another's lock does not starve it. */
static int next_lane(struct exec_warp *w, u32 runnable)
{
	const u32 later = runnable & ~((1u << w->turn) - 1);
	const int lane = __builtin_ctz(later ? later : runnable);
	w->turn = ((u32)lane + 1) % EXEC_LANES;
	return lane;
}

/* Lets the parked lanes that stand where `lane` stands pass their point (lane < 0: none), and runs the warp until each of
 * its lanes is parked, waits or has ended, or the budget is used up. */
void exec_warp_step(struct exec_warp *w, int lane, uint32_t budget)
{
	u32 done = 0, runnable, group = 0;
	int yield = 0;
	w->base[1] = w->cta->grid->program->constant; /* may have grown */
	if (lane >= 0) {
		const u32 pc = choose(w, w->parked, lane, &group);
		w->parked &= ~group;
		done = run_code(w, pc, group, w->live & ~w->waiting & ~w->parked & ~group, budget, &yield, PASS_FIRST);
	}
	for (u32 slice = 1; done < budget && !w->fault && (runnable = w->live & ~w->waiting & ~w->parked) != 0; slice++) {
		const int fair = done >= STEP_TOGETHER && slice % 4 == 0;
		const u32 pc = choose(w, runnable, fair ? next_lane(w, runnable) : -1, &group);
		done += 1 + run_code(w, pc, group, runnable & ~group, STEP_SLICE, &yield, PASS_NONE);
	}
}

uint32_t exec_warp_run(struct exec_warp *w, uint32_t budget)
{
	u32 done = 0, runnable;
	int lane = -1, yield = 0;
	w->base[1] = w->cta->grid->program->constant;
	if (++w->slices % 4 == 0 && (runnable = w->live & ~w->waiting) != 0)
		lane = next_lane(w, runnable);
	while (done < budget && !w->fault && !yield && (runnable = w->live & ~w->waiting) != 0) {
		u32 group;
		if (lane >= 0 && !(runnable >> lane & 1))
			lane = -1;
		const u32 pc = choose(w, runnable, lane, &group);
		done += run_group(w, pc, group, runnable & ~group, budget - done, &yield);
	}
	return done;
}
