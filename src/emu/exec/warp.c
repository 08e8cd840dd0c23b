/* One warp. Lanes have their own program counters; those at one instruction run together. Usually the group deepest in
 * calls, then lowest in the code, goes first: lanes that are ahead wait for the others there, which brings them together
 * again. Another group leads meanwhile where it must or may (independent thread scheduling, PTX ISA 3.1): one that has not run
 * for `patient` instructions, for the group that goes first may spin on what it must do; one beside a group that sleeps; and
 * under schedules that ask for it any one, now and then, for a moment or for several operations of what a rewriter inserted. */
#include "emu/exec/call.h"
#include "emu/exec/count.h"
#include "emu/exec/ops.h"
#include "emu/exec/weak.h"

#include <stdio.h>

#define STEP_SLICE 128u  /* instructions of one group of lanes within a step */
#define STEP_DRIFT 1024u /* after so many in a step, stores may reach memory that wait meanwhile */
#define PATIENCE 4096    /* instructions for which lanes wait for those behind, */
#define STEP_PATIENCE (1 << 21) /* and within a step: an operation and all that is inserted around it take less */
#define QUANTUM 256      /* for which lanes lead that waited so long; twice as many each time in a row */
#define QUANTUM_MOST 65536
#define ASLEEP 64        /* for which others lead while a group sleeps */
#define APART_LOG 13u    /* of the most instructions between two partings at random */
#define AHEAD_LOG 14u    /* of those for which one group then goes ahead: an operation of the runtime is some thousand */

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
	if (w->weak)
		weak_release(w, lanes);
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
	case FLOW_YIELD:
		w->sleeps = X(u32, 0)[__builtin_ctz(m)];
		put(w, m, pc + 1);
		return 1;
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
	const u32 done = run_code(w, pc, group, others, budget, yield, PASS_ALL);
	exec_count_run(w, pc, done);
	return done;
}

/* The lanes of a warp take turns. */
static void lead(struct exec_warp *w, u32 lanes, int32_t instructions)
{
	const u32 later = lanes & ~((1u << w->turn) - 1);
	w->leader = __builtin_ctz(later ? later : lanes);
	w->turn = ((u32)w->leader + 1) % EXEC_LANES;
	w->leads = instructions;
}

static void be_patient(struct exec_warp *w)
{
	w->ran = 0;
	w->patience = w->patient;
	w->quantum = QUANTUM;
}

/* Those that have not run for so long lead, the longer the more often that was so: then the others spin. */
static void end_patience(struct exec_warp *w, u32 runnable)
{
	const u32 starved = runnable & ~w->ran;
	w->ran = 0;
	w->patience = w->patient;
	if (!starved) {
		w->quantum = QUANTUM;
		return;
	}
	lead(w, starved, w->quantum);
	w->patience += w->quantum;
	w->quantum = w->quantum < QUANTUM_MOST ? 2 * w->quantum : QUANTUM_MOST;
}

/* The lane whose group goes next; -1: the one that is behind. */
static int leader(struct exec_warp *w, u32 runnable, u64 *random)
{
	if (!(runnable & (runnable - 1)))
		return -1;
	if (w->leads <= 0 || (w->leader >= 0 && !(runnable >> w->leader & 1)))
		w->leader = -1;
	if (w->patience <= 0) {
		end_patience(w, runnable);
	} else if (random && w->apart <= 0) {
		const u64 r = random_next(random);
		w->apart = 1 + (int32_t)((r >> 8) % (8u << r % (APART_LOG - 2)));
		w->turn = (u32)(r >> 40) % EXEC_LANES;
		lead(w, runnable, 1 + (int32_t)((r >> 48) % (4u << (r >> 4) % (AHEAD_LOG - 1))));
	}
	return w->leader;
}

/* For how long the group that was chosen runs. */
static u32 length(const struct exec_warp *w, u32 most)
{
	return w->leader >= 0 && (u32)w->leads < most ? (u32)w->leads : most;
}

static void ran(struct exec_warp *w, u32 group, u32 runnable, u32 done, int yielded)
{
	w->ran |= w->leader < 0 ? group : 0;
	w->patience -= (int32_t)done;
	w->apart -= (int32_t)done;
	w->leads -= (int32_t)done;
	if (group == runnable)
		be_patient(w);
	else if (yielded && (runnable &= w->live & ~w->waiting & ~w->parked & ~group) != 0)
		lead(w, runnable, ASLEEP);
}

/* Lets the parked lanes that stand where `lane` stands pass their point (lane < 0: none), and runs the warp until each of
 * its lanes is parked, waits or has ended, or the budget is used up. */
void exec_warp_step(struct exec_warp *w, int lane, uint32_t budget)
{
	u32 done = 0, runnable, group = 0;
	int yield = 0;
	w->base[1] = w->cta->grid->program->constant; /* may have grown */
	w->leader = -1;
	w->patient = STEP_PATIENCE;
	be_patient(w);
	if (lane >= 0) {
		const u32 pc = choose(w, w->parked, lane, &group);
		w->parked &= ~group;
		done = run_code(w, pc, group, w->live & ~w->waiting & ~w->parked & ~group, budget, &yield, PASS_FIRST);
		exec_count_run(w, pc, done);
	}
	while (done < budget && !w->fault && (runnable = w->live & ~w->waiting & ~w->parked) != 0) {
		const u32 pc = choose(w, runnable, leader(w, runnable, NULL), &group);
		yield = 0;
		const u32 more = 1 + run_code(w, pc, group, runnable & ~group, length(w, STEP_SLICE), &yield, PASS_NONE);
		exec_count_run(w, pc, more - 1); /* a look at a point is no instruction */
		ran(w, group, runnable, more, yield);
		if (w->weak && (done ^ (done + more)) / STEP_DRIFT)
			exec_drift(w->cta->grid);
		done += more;
	}
}

uint32_t exec_warp_run(struct exec_warp *w, uint32_t budget, uint64_t *random)
{
	u32 done = 0, runnable;
	int yield = 0;
	w->base[1] = w->cta->grid->program->constant;
	w->slices++;
	w->patient = PATIENCE;
	while (done < budget && !w->fault && !yield && (runnable = w->live & ~w->waiting) != 0) {
		u32 group;
		const u32 pc = choose(w, runnable, leader(w, runnable, random), &group);
		const u32 more = run_group(w, pc, group, runnable & ~group, length(w, budget - done), &yield);
		ran(w, group, runnable, more, yield);
		done += more;
		w->sleeps = yield && group == runnable ? w->sleeps : 0;
	}
	return done;
}
