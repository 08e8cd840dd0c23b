/* The PTX memory model by its axioms (PTX ISA, chapter 8): every candidate execution of a small litmus program is built,
 * those that the axioms permit are kept, and of those with the outcome that the program names it is said whether they have
 * a data race. Nothing is executed and no order of time is assumed, so this judges the detector and its reference alike;
 * it shares no code with either.
 *
 *   8.7    morally strong   same thread, or both strong with scopes that include each other; complete overlap
 *   8.8    patterns         release operation | release operation, strong write | release fence, strong write; and acquire
 *   8.9.2  observation      reads-from between morally strong operations, continued by atomic operations
 *   8.9.4  synchronizes     pattern with pattern, Fence-SC order, bar, launches in the order of streams, events and syncs
 *   8.9.5  causality        base causality; or observation, then base causality
 *   8.9.6  coherence        partial: morally strong writes, and those in causality order
 *   8.10   axioms           Coherence, Fence-SC, Atomicity, No-Thin-Air, SC Per Location, Causality
 *   8.7.1  data race        conflict, not morally strong, not in causality order
 *
 * Read for what the text leaves open:
 * - Nothing is read from bytes in pieces smaller than any access of the program has them (no tearing inside a word).
 * - Observation needs all bytes of the read from one write. "The same address" in 8.9.5 means overlapping bytes.
 * - A red, and an atom that reads into nothing, continues observation but begins no acquire pattern (8.8, last note).
 *   A cas that fails is a read: it releases nothing, though it may acquire.
 * - volatile and mmio are relaxed.sys (8.4.1, 8.4.2). membar is fence.sc. There are no aliases: a location has one address.
 * - Memory is 0 at the start. A poll is one load, and only executions in which it finds its value are looked at; what
 *   follows depends on it, as what stands in an `if` depends on the register (8.10.4).
 * - ld.global.nc is outside of the model: here it is a weak read that may miss all writes that are not before its launch.
 *   An overlapping write that is neither before its launch nor after the read is reported as stale-nc, a kind of race.
 * - Executions are told apart by what is read from where, and by Fence-SC order; not by coherence order (of which one must
 *   be permitted and have the outcome; races do not depend on it), nor by what a weak load reads whose value nobody looks
 *   at (some source is always left for it).
 *
 * Deviations, which are the detector's documented ones (DESIGN 5, 6), each with an option that gives the pure model back:
 * - kernel_fences: the start of a kernel is a fence.acq_rel.sys behind what is ordered before the launch, its end another.
 * - unit: AX_CTA, the default: a CTA is one thread. Its threads are woven into one program order in every way that its barriers
 *   leave (lanes of one `threads a..b` section go together), and each way counts as an execution. AX_WARP: a warp is, with the
 *   lanes of a section so woven; barriers order warps as they do threads, and races within a CTA are none: what one of its warps wrote, be it weakly,
 *   another one's strong read observes. AX_THREAD: the pure model.
 * - cluster_gpu: scope .cluster means .gpu. The pure model has clusters of one CTA, since none are launched.
 * - fence_sc (default on, the pure model): off, fence.sc is fence.acq_rel.
 * - observe (default on, the pure model): off, "observation, then base causality" does not excuse a race. */
#ifndef AXIOMS_AXIOMS_H
#define AXIOMS_AXIOMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lit_program;

enum ax_unit { AX_THREAD, AX_WARP, AX_CTA };

enum ax_until {
	AX_ALL,       /* all executions are seen */
	AX_SETTLED,   /* the search ends once the answer is AX_SOME: the numbers and pairs are then too low */
	AX_PERMITTED  /* it ends at the first execution: only AX_FORBIDDEN or not is of use */
};

struct ax_options {
	enum ax_unit unit;
	int kernel_fences, cluster_gpu, fence_sc, observe;
	enum ax_until until;
	uint64_t limit; /* steps of the search, those of large programs count more; beyond, the verdict is AX_UNKNOWN */
};
#define AX_DEFAULTS {.unit = AX_CTA, .kernel_fences = 1, .cluster_gpu = 1, .fence_sc = 1, .observe = 1, .limit = 1u << 20}

enum ax_answer { AX_FORBIDDEN, AX_FREE, AX_RACE, AX_SOME, AX_UNKNOWN };

struct ax_pair { /* two instructions, by the lines of the program, lower line first, and how many executions have them race */
	uint32_t line[2];
	int stale_nc;
	uint64_t executions;
};

struct ax_verdict {
	enum ax_answer answer;
	uint64_t executions, racy, stale_nc; /* with the outcome; of those with a race; of those by an nc load */
	uint64_t steps;
	size_t pairs;
	struct ax_pair *pair; /* sorted by line */
	char unknown[160];    /* why, with AX_UNKNOWN */
};

/* `witness`: where one racy execution is described; NULL: nowhere. Returns 0, or -ENOMEM. */
int ax_judge(const struct lit_program *program, const struct ax_options *options, FILE *witness, struct ax_verdict *verdict);
void ax_forget(struct ax_verdict *verdict);

#endif
