#include "make.h"

#include "player.h"

#include <stdlib.h>

uint32_t make_below(struct make *m, uint32_t n) { return build_below(&m->b, n); }

int make_chance(struct make *m, uint32_t percent) { return build_chance(&m->b, percent); }

uint64_t make_room(struct make *m, int rank, uint64_t bytes)
{
	uint64_t at = m->p->bytes[rank];

	m->p->bytes[rank] = (at + bytes + 255) / 256 * 256;
	return at;
}

/* ---- strong accesses ------------------------------------------------------------------------------------------- */
enum lit_scope make_scope(struct make *m) { return m->far || make_chance(m, 30) ? LIT_SYS : LIT_GPU; }

struct native_op *make_add(struct make *m, const struct lit_instr *i, int rank, uint64_t at, uint32_t value)
{
	int code = forms_find(i);
	struct native_op op = native_op((uint16_t)code);

	if (code < 0)
		abort();
	op.address = at;
	op.rank = (uint16_t)rank;
	op.value = value;
	m->sync |= !player_has(PLAYER_REDS, (size_t)code);
	return native_add(m->l, op);
}

struct native_op *make_control(struct make *m, enum native_control what)
{
	return native_add(m->l, native_op(CONTROL(what)));
}
