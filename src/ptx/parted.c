#include "ptx/parted.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/lanes.h"

static int mark(uint8_t *parted, uint32_t from, uint32_t to)
{
	int more = 0;

	for (; from < to; from++) {
		more |= !parted[from];
		parted[from] = 1;
	}
	return more;
}

/* Where it jumps to; 0: it is no jump. */
static int jumps(const struct ptx_module *m, const struct ptx_instr *i, uint32_t *to)
{
	if (!ptx_is(m, i->op, "bra") || !i->operands || !i->operand[0].decl || !i->operand[0].decl->is_label)
		return 0;
	*to = i->operand[0].decl->label_at;
	return 1;
}

/* One look at all jumps. Lanes part between one that some take and where it goes: a jump in there (of an arm to behind the other one, back to a
 * loop's head) is taken by some, too. 1: that was not known all. */
static int grow(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_lanes *lanes, uint8_t *parted)
{
	int more = 0;

	for (uint32_t k = 0; k < f->instrs; k++) {
		const struct ptx_instr *i = &f->instr[k];
		uint32_t to;

		if (ptx_is(m, i->op, "brx"))
			more |= mark(parted, 0, f->instrs);
		else if (jumps(m, i, &to) && (parted[k] || (i->pred && ptx_lanes_differ(lanes, i->pred))))
			more |= to <= k ? mark(parted, to, k + 1) : mark(parted, k + 1, to);
	}
	return more;
}

uint8_t *ptx_parted(const struct ptx_module *m, const struct ptx_function *f)
{
	uint8_t *parted = calloc(f->instrs + 1, 1);
	int more = 1;

	if (parted && !f->is_entry) /* who calls it may be parted */
		mark(parted, 0, f->instrs);
	while (parted && f->is_entry && more) {
		struct ptx_lanes lanes;
		if (ptx_lanes_make_parted(m, f, parted, &lanes)) {
			free(parted);
			return NULL;
		}
		more = grow(m, f, &lanes, parted);
		ptx_lanes_free(&lanes);
	}
	return parted;
}

static int is_parted(const struct ptx_module *m, const struct ptx_instr *i)
{
	return ptx_is(m, i->op, "barrier") && !ptx_has(m, i, "aligned");
}

int ptx_parted_joins(const struct ptx_module *m, const struct ptx_instr *i, int parted)
{
	return is_parted(m, i) && ptx_has(m, i, "sync") && !i->pred && i->operands == 1 && i->operand[0].kind == PTX_OPND_INT && !parted;
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
			parted = parted ? parted : ptx_parted(m, fn);
			gathers = !parted || !ptx_parted_joins(m, &fn->instr[k], parted[k]);
		}
		free(parted);
	}
	return gathers;
}
