#include "ptx/fences.h"

#include <string.h>

static int ends(const struct ptx_module *m, const struct ptx_instr *i)
{
	return !i->pred && (ptx_is(m, i->op, "bra") || ptx_is(m, i->op, "ret") || ptx_is(m, i->op, "exit") || ptx_is(m, i->op, "trap"));
}

/* One more that a way leads to without the fence. */
static uint32_t come(uint8_t *behind, uint32_t *work, uint32_t waiting, uint32_t to)
{
	if (!behind[to])
		return waiting;
	behind[to] = 0;
	work[waiting] = to;
	return waiting + 1;
}

int ptx_fences_behind(const struct ptx_module *m, const struct ptx_function *f, const uint8_t *fence, uint8_t *behind, uint32_t *work)
{
	uint32_t waiting = 0;

	memset(behind, 0, f->instrs);
	for (uint32_t i = 0; i < f->instrs; i++)
		if (ptx_is(m, f->instr[i].op, "brx"))
			return 0;
	memset(behind, 1, f->instrs);
	for (waiting = f->instrs ? come(behind, work, 0, 0) : 0; waiting;) {
		uint32_t at = work[--waiting];
		const struct ptx_instr *i = &f->instr[at];

		if (fence[at])
			continue;
		for (uint32_t k = 0; k < i->operands; k++)
			if (i->operand[k].kind == PTX_OPND_SYMBOL && i->operand[k].decl && i->operand[k].decl->is_label &&
			    i->operand[k].decl->label_at < f->instrs)
				waiting = come(behind, work, waiting, i->operand[k].decl->label_at);
		if (!ends(m, i) && at + 1 < f->instrs)
			waiting = come(behind, work, waiting, at + 1);
	}
	return 1;
}

/* Does a way lead from behind it to the flag without a fence? By what is known of where it leads to. */
static int comes_bare(const struct ptx_module *m, const struct ptx_function *f, uint32_t at, const uint8_t *flag, const uint8_t *bare)
{
	const struct ptx_instr *i = &f->instr[at];

	for (uint32_t k = 0; k < i->operands; k++) {
		const struct ptx_decl *to = i->operand[k].kind == PTX_OPND_SYMBOL ? i->operand[k].decl : NULL;
		if (to && to->is_label && to->label_at < f->instrs && (flag[to->label_at] || bare[to->label_at]))
			return 1;
	}
	return !ends(m, i) && at + 1 < f->instrs && (flag[at + 1] || bare[at + 1]);
}

int ptx_fences_early(const struct ptx_module *m, const struct ptx_function *f, const uint8_t *flag, const uint8_t *fenced, int itself, uint8_t *early, uint32_t *work)
{
	uint8_t *bare = (uint8_t *)work;

	if (!ptx_fences_behind(m, f, flag, early, work))
		return 0;
	memset(bare, 0, f->instrs);
	for (int more = !itself; more;) {
		more = 0;
		for (uint32_t i = f->instrs; i-- > 0;)
			if (!bare[i] && !fenced[i] && comes_bare(m, f, i, flag, bare))
				more = bare[i] = 1;
	}
	for (uint32_t i = 0; i < f->instrs; i++)
		early[i] &= !bare[i];
	return 1;
}
