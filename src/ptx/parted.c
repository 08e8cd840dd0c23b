#include "ptx/parted.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/lanes.h"
#include "ptx/plan.h"

static int mark(uint8_t *parted, uint32_t from, uint32_t to)
{
	int more = 0;

	for (; from < to; from++) {
		more |= !parted[from];
		parted[from] = 1;
	}
	return more;
}

/* Whoever comes there is gone. */
static int leaves(const struct ptx_module *m, const struct ptx_function *f, uint32_t at)
{
	return at < f->instrs && !f->instr[at].pred && (ptx_is(m, f->instr[at].op, "ret") || ptx_is(m, f->instr[at].op, "exit"));
}

/* Where it jumps to; 0: it is no jump, or out of the kernel. */
static int jumps(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_instr *i, uint32_t *to)
{
	if (!ptx_is(m, i->op, "bra") || !i->operands || !i->operand[0].decl || !i->operand[0].decl->is_label)
		return 0;
	*to = i->operand[0].decl->label_at;
	return !f->is_entry || !leaves(m, f, *to);
}

/* One look at all jumps. Lanes part between one that some take and where it goes: a jump in there (of an arm to behind the other one, back to a
 * loop's head) is taken by some, too. Who returns from a function that was called may come to another barrier. 1: that was not known all. */
static int grow(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_lanes *lanes, uint8_t *parted)
{
	int more = 0;

	for (uint32_t k = 0; k < f->instrs; k++) {
		const struct ptx_instr *i = &f->instr[k];
		int some = parted[k] || (i->pred && ptx_lanes_differ(lanes, i->pred));
		uint32_t to;

		if (ptx_is(m, i->op, "brx") || (some && !f->is_entry && k + 1 < f->instrs && ptx_is(m, i->op, "ret")))
			more |= mark(parted, 0, f->instrs);
		else if (some && jumps(m, f, i, &to))
			more |= to <= k ? mark(parted, to, k + 1) : mark(parted, k + 1, to);
	}
	return more;
}

static int calls(const struct ptx_module *m, const struct ptx_instr *i, const struct ptx_function *f)
{
	return ptx_is(m, i->op, "call") && ptx_plan_callee(m, i) == f;
}

static uint8_t *find_parted(const struct ptx_module *m, const struct ptx_function *f, uint32_t depth);

/* Does every call in g of f come from lanes that are together? -1: out of memory. */
static int calls_together(const struct ptx_module *m, const struct ptx_function *g, const struct ptx_function *f, uint32_t depth)
{
	uint8_t *parted = NULL;
	int together = 1;

	for (uint32_t k = 0; k < g->instrs && together == 1; k++) {
		if (!calls(m, &g->instr[k], f))
			continue;
		parted = parted ? parted : find_parted(m, g, depth + 1);
		together = !parted ? -1 : !parted[k] && !g->instr[k].pred;
	}
	free(parted);
	return together;
}

#define CALLERS_MOST 4u /* one above the other; what is deeper, or calls itself, is not looked into */

/* Are the lanes of a warp together where the function begins? -1: out of memory. */
static int begins_together(const struct ptx_module *m, const struct ptx_function *f, uint32_t depth)
{
	int together = 1;

	if (f->is_entry)
		return 1;
	if (f->address_taken || depth == CALLERS_MOST)
		return 0;
	for (uint32_t g = 0; g < m->functions && together == 1; g++)
		together = calls_together(m, &m->function[g], f, depth);
	return together;
}

static uint8_t *find_parted(const struct ptx_module *m, const struct ptx_function *f, uint32_t depth)
{
	uint8_t *parted = calloc(f->instrs + 1, 1);
	int together = parted ? begins_together(m, f, depth) : -1, more = together == 1, failed = together < 0;

	if (!together)
		mark(parted, 0, f->instrs);
	while (more && !failed) {
		struct ptx_lanes lanes;
		failed = ptx_lanes_make_parted(m, f, parted, &lanes);
		more = !failed && grow(m, f, &lanes, parted);
		ptx_lanes_free(&lanes);
	}
	if (failed)
		free(parted);
	return failed ? NULL : parted;
}

static int is_parted(const struct ptx_module *m, const struct ptx_instr *i)
{
	return ptx_is(m, i->op, "barrier") && !ptx_has(m, i, "aligned");
}

uint8_t *ptx_parted(const struct ptx_module *m, const struct ptx_function *f)
{
	for (uint32_t k = 0; k < f->instrs; k++)
		if (is_parted(m, &f->instr[k]))
			return find_parted(m, f, 0);
	return calloc(f->instrs + 1, 1);
}

int ptx_parted_joins(const struct ptx_module *m, const struct ptx_instr *i, int parted)
{
	return is_parted(m, i) && ptx_has(m, i, "sync") && !i->pred && i->operands == 1 && i->operand[0].kind == PTX_OPND_INT && !parted;
}

/* What -rdc=true leaves of a function that was inlined wherever it was called is executed by nobody. */
static int is_idle(const struct ptx_module *m, const struct ptx_function *f)
{
	int called = f->is_entry || f->address_taken;

	for (uint32_t g = 0; g < m->functions && !called; g++)
		for (uint32_t k = 0; k < m->function[g].instrs && !called; k++)
			called = calls(m, &m->function[g].instr[k], f);
	return !called;
}

int ptx_parted_gathers(const struct ptx_module *m)
{
	int gathers = 0;

	for (uint32_t f = 0; f < m->functions && !gathers; f++) {
		const struct ptx_function *fn = &m->function[f];
		uint8_t *parted = NULL;
		for (uint32_t k = 0; k < fn->instrs && !gathers; k++) {
			if (!is_parted(m, &fn->instr[k]))
				continue;
			if (!parted && is_idle(m, fn))
				break;
			parted = parted ? parted : ptx_parted(m, fn);
			gathers = !parted || !ptx_parted_joins(m, &fn->instr[k], parted[k]);
		}
		free(parted);
	}
	return gathers;
}
