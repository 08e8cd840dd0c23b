#include "ptx/loops.h"

#include <stdlib.h>

#include "ptx/meeting.h"

/* May what stands first be executed behind what stands last for reasons that are not looked up? A function may be called again, brx.idx goes anywhere,
 * and behind a barrier of some threads, wherever it stands, a warp goes on that met others there. */
static int is_tangled(const struct ptx_module *m, const struct ptx_function *f)
{
	for (uint32_t i = 0; i < f->instrs; i++) {
		enum ptx_meeting meeting = ptx_meeting_of(m, &f->instr[i], 0);

		if (ptx_is(m, f->instr[i].op, "brx") || (meeting != PTX_MEETS_NOBODY && meeting != PTX_MEETS_ALL))
			return 1;
	}
	return !f->is_entry;
}

/* behind[t]: the instruction behind the last branch back to instruction t; 0: there is none. */
static void find_branches(const struct ptx_function *f, uint32_t *behind)
{
	for (uint32_t i = 0; i < f->instrs; i++)
		for (uint32_t k = 0; k < f->instr[i].operands; k++) {
			const struct ptx_operand *o = &f->instr[i].operand[k];

			if (o->kind == PTX_OPND_SYMBOL && o->decl && o->decl->is_label && o->decl->label_at <= i)
				behind[o->decl->label_at] = i + 1;
		}
}

uint32_t *ptx_loops(const struct ptx_module *m, const struct ptx_function *f)
{
	uint32_t *loop = calloc(f->instrs + 1, sizeof(*loop)), loops = 0, end = 0;

	if (!loop)
		return NULL;
	if (is_tangled(m, f))
		loop[0] = f->instrs;
	else
		find_branches(f, loop);
	for (uint32_t i = 0; i < f->instrs; i++) { /* those that overlap are one */
		loops += i >= end && loop[i];
		end = loop[i] > end ? loop[i] : end;
		loop[i] = i < end ? loops : 0;
	}
	return loop;
}
