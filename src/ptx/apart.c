#include "ptx/apart.h"

#include <stdlib.h>

#include "ptx/meeting.h"
#include "ptx/plan.h"

struct branch { uint32_t at, to; };

struct reading {
	const struct ptx_module *m;
	const struct ptx_function *f;
	uint32_t *head; /* of each instruction the first one of the outermost loop around it; itself: there is none */
	struct branch *branch; uint32_t branches; /* in the order of the text */
	struct ptx_apart *apart; uint32_t count;
};

/* How a thread may come behind what another one of its CTA has done. */
enum waits { WAITS_FOR_NOBODY, WAITS_FOR_ALL, WAITS_FOR_SOME };

/* For all: at barriers, and with the lanes of a warp, those wait for each other that are there, each where it stands. For some, at whatever they
 * do: flags by hand, phases, who is counted; and in a function nobody knows. */
static enum waits waits_of(const struct reading *r, const struct ptx_instr *i)
{
	enum ptx_meeting meeting = ptx_meeting_of(r->m, i, 0);
	const struct ptx_decl *called = ptx_is(r->m, i->op, "call") ? ptx_plan_target(i) : NULL;
	int unknown = ptx_is(r->m, i->op, "call") && (!called || !ptx_is_provided(r->m->text, called->name));

	if (unknown || (meeting != PTX_MEETS_NOBODY && meeting != PTX_MEETS_ALL))
		return WAITS_FOR_SOME;
	return meeting == PTX_MEETS_ALL || ptx_has(r->m, i, "sync") ? WAITS_FOR_ALL : WAITS_FOR_NOBODY;
}

static void add(struct reading *r, uint32_t from, uint32_t to, uint32_t end)
{
	if (to < end)
		r->apart[r->count++] = (struct ptx_apart){from, to, end};
}

/* Returns 0 if a branch goes nobody knows where. */
static int find_branches(struct reading *r)
{
	for (uint32_t i = 0; i < r->f->instrs; i++) {
		const struct ptx_instr *at = &r->f->instr[i];

		if (ptx_is(r->m, at->op, "brx"))
			return 0;
		for (uint32_t k = 0; k < at->operands; k++)
			if (at->operand[k].kind == PTX_OPND_SYMBOL && at->operand[k].decl && at->operand[k].decl->is_label)
				r->branch[r->branches++] = (struct branch){i, at->operand[k].decl->label_at};
	}
	return 1;
}

/* Between a branch back and where it goes to. Those that overlap are one. */
static void find_loops(struct reading *r)
{
	uint32_t n = r->f->instrs, end = 0, start = 0;

	for (uint32_t i = 0; i < n; i++)
		r->head[i] = 0;
	for (uint32_t k = 0; k < r->branches; k++)
		if (r->branch[k].to <= r->branch[k].at)
			r->head[r->branch[k].to] = r->branch[k].at + 1; /* its end, for now: that of the last branch */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t its = r->head[i];

		start = i >= end ? i : start;
		if (i >= end && its) {
			for (uint32_t k = i; k < (end = its > end ? its : end); k++)
				its = r->head[k];
			add(r, i, i, end);
		}
		r->head[i] = start;
	}
}

/* Where a thread goes on that comes to the end of what a branch passes over: there, or it goes elsewhere. */
static uint32_t goes_on(const struct reading *r, uint32_t to)
{
	const struct ptx_instr *last = &r->f->instr[to - 1];

	if (last->pred)
		return to;
	if (ptx_is(r->m, last->op, "ret") || ptx_is(r->m, last->op, "exit"))
		return r->f->instrs;
	return ptx_is(r->m, last->op, "bra") && last->operand[0].decl && last->operand[0].decl->label_at > to ? last->operand[0].decl->label_at : to;
}

/* Of if and else a thread executes one: which thread comes first is not the text's to say. */
static void find_arms(struct reading *r)
{
	for (uint32_t k = 0; k < r->branches; k++)
		if (r->branch[k].to > r->branch[k].at + 1)
			add(r, r->branch[k].at + 1, r->branch[k].to, goes_on(r, r->branch[k].to));
}

/* Where a thread goes on that does not come to the instruction: behind the first branch over it. */
static uint32_t passes(const struct reading *r, uint32_t at)
{
	uint32_t to = r->f->instrs;

	for (uint32_t k = 0; k < r->branches && r->branch[k].at < at; k++)
		if (r->branch[k].to > at && r->branch[k].to < to)
			to = r->branch[k].to;
	return to;
}

/* What one thread does behind a wait another one may have done long before, if it came past: who waits for all meets it where it waits next, then. */
static void find_waits(struct reading *r)
{
	uint32_t n = r->f->instrs, end = 0, past = 0;

	for (uint32_t i = 0; i < n; i++)
		if (waits_of(r, &r->f->instr[i]) == WAITS_FOR_ALL || (end && r->head[i] == r->head[end - 1]))
			end = i + 1;
	for (uint32_t i = 0; i < n; i++) {
		enum waits waits = waits_of(r, &r->f->instr[i]);
		int some = waits == WAITS_FOR_SOME, guarded = waits == WAITS_FOR_ALL && r->f->instr[i].pred;

		if (some || guarded)
			add(r, r->head[i], r->head[i], some ? n : end);
		if (some)
			return;
		if (waits == WAITS_FOR_ALL && !guarded && passes(r, i) != past)
			add(r, r->head[i], past = passes(r, i), end);
	}
}

struct ptx_apart *ptx_apart(const struct ptx_module *m, const struct ptx_function *f, uint32_t *count)
{
	size_t targets = 0;
	struct reading r = {.m = m, .f = f};

	for (uint32_t i = 0; i < f->instrs; i++)
		targets += f->instr[i].operands;
	r.branch = malloc((targets + 1) * sizeof(*r.branch));
	r.head = malloc((f->instrs + 1) * sizeof(*r.head));
	r.apart = malloc((2 * targets + f->instrs + 1) * sizeof(*r.apart));
	if (r.branch && r.head && r.apart && f->is_entry && find_branches(&r)) { /* a function may be called again */
		find_loops(&r);
		find_arms(&r);
		find_waits(&r);
	} else if (r.apart) {
		add(&r, 0, 0, f->instrs);
	}
	*count = r.count;
	free(r.branch);
	free(r.head);
	return r.apart;
}
