/* What lanes of a warp do together: shfl, vote, match, redux, movmatrix, elect (PTX ISA 9.7.9.5 ff., 9.7.13, 9.7.15.5). The warp calls a handler
 * once all lanes of the member mask have arrived; `m` is one set of members. They may have come by different copies of
 * the instruction, so each lane's operands are those of its own instruction: at(w, l). */
#include "emu/exec/ops.h"

static const struct exec_insn *at(const struct exec_warp *w, unsigned l)
{
	return w->cta->grid->program->insn + w->pc[l];
}
static u32 value(const struct exec_warp *w, unsigned l, unsigned k)
{
	return ((const u32 *)exec_at(w, at(w, l)->x[k]))[l];
}
static void give(const struct exec_warp *w, unsigned l, unsigned k, u32 v)
{
	((u32 *)exec_at(w, at(w, l)->x[k]))[l] = v;
}
static void give_pred(struct exec_warp *w, unsigned l, unsigned k, int v)
{
	op_set_mask(w, at(w, l)->x[k], 1u << l, v ? EXEC_ALL : 0);
}
static int truth(const struct exec_warp *w, unsigned l, unsigned k)
{
	const struct exec_insn *n = at(w, l);
	return (int)((*(const u32 *)exec_at(w, n->x[k]) >> l & 1) ^ ((n->flags & F_NOT_C) != 0));
}

void op_warp_sync(OP_ARGS) { (void)w, (void)n, (void)m; }

/* x: d, p, a, b, c, members. c holds the clamp (bits 0-4) and the segment mask (bits 8-12). A source lane that does not
 * take part has no defined value; it gives its own register. */
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
void op_shuffle(OP_ARGS)
{
	u32 a[EXEC_LANES], d[EXEC_LANES], ok = 0;
	EACH(a[l] = value(w, l, 2));
	for (unsigned l = 0; l < EXEC_LANES; l++) {
		if (!(m >> l & 1))
			continue;
		const u32 b = value(w, l, 3) & 31, c = value(w, l, 4), segment = c >> 8 & 31, clamp = c & 31;
		const s32 high = (s32)((l & segment) | (clamp & ~segment)), low = (s32)(l & segment);
		s32 from;
		int in;
		switch (n->sub) {
		case SHFL_UP: from = (s32)l - (s32)b, in = from >= high; break;
		case SHFL_DOWN: from = (s32)(l + b), in = from <= high; break;
		case SHFL_BFLY: from = (s32)(l ^ b), in = from <= high; break;
		default: from = low | (s32)(b & ~segment), in = from <= high; break;
		}
		if (!in)
			from = (s32)l;
		ok |= (u32)in << l;
		d[l] = m >> from & 1 ? a[from] : ((const u32 *)exec_at(w, at(w, l)->x[2]))[from];
	}
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		give(w, l, 0, d[l]);
		give_pred(w, l, 1, ok >> l & 1);
	}
}

static u32 ballot(const struct exec_warp *w, u32 m, unsigned k)
{
	u32 r = 0;
	EACH(r |= (u32)truth(w, l, k) << l);
	return r & m;
}
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI };
void op_vote(OP_ARGS)
{
	const u32 yes = ballot(w, m, 1);
	const int r = n->sub == VOTE_ALL ? yes == m : n->sub == VOTE_ANY ? yes != 0 : yes == m || yes == 0;
	for (u32 rest = m; rest; rest &= rest - 1)
		give_pred(w, (unsigned)__builtin_ctz(rest), 0, r);
}
void op_ballot(OP_ARGS)
{
	const u32 yes = ballot(w, m, 1);
	(void)n;
	for (u32 rest = m; rest; rest &= rest - 1)
		give(w, (unsigned)__builtin_ctz(rest), 0, yes);
}

#define MATCH(T) \
	static void gather_##T(const struct exec_warp *w, u32 m, unsigned k, T *v) \
	{ \
		for (u32 rest = m; rest; rest &= rest - 1) { \
			const unsigned l = (unsigned)__builtin_ctz(rest); \
			v[l] = ((const T *)exec_at(w, at(w, l)->x[k]))[l]; \
		} \
	} \
	void op_match_any_##T(OP_ARGS) \
	{ \
		T v[EXEC_LANES] = { 0 }; \
		(void)n; \
		gather_##T(w, m, 1, v); \
		for (u32 rest = m; rest; rest &= rest - 1) { \
			const unsigned l = (unsigned)__builtin_ctz(rest); \
			u32 same = 0; \
			for (unsigned o = 0; o < EXEC_LANES; o++) \
				same |= (u32)(v[o] == v[l]) << o; \
			give(w, l, 0, same & m); \
		} \
	} \
	void op_match_all_##T(OP_ARGS) \
	{ \
		T v[EXEC_LANES] = { 0 }; \
		u32 same = m; \
		(void)n; \
		gather_##T(w, m, 2, v); \
		for (u32 rest = m; rest; rest &= rest - 1) \
			if (v[__builtin_ctz(rest)] != v[__builtin_ctz(m)]) \
				same = 0; \
		for (u32 rest = m; rest; rest &= rest - 1) { \
			give(w, (unsigned)__builtin_ctz(rest), 0, same); \
			give_pred(w, (unsigned)__builtin_ctz(rest), 1, same != 0); \
		} \
	}
MATCH(u32)
MATCH(u64)

static u32 reduce(const struct exec_insn *n, u32 a, u32 b)
{
	const int is_signed = n->type[2] == PTX_S32;
	switch (n->sub) {
	case ATOM_ADD: return a + b;
	case ATOM_MIN: return is_signed ? ((s32)a < (s32)b ? a : b) : a < b ? a : b;
	case ATOM_MAX: return is_signed ? ((s32)a > (s32)b ? a : b) : a > b ? a : b;
	case ATOM_AND: return a & b;
	case ATOM_OR: return a | b;
	default: return a ^ b;
	}
}
void op_redux(OP_ARGS)
{
	u32 r = value(w, (unsigned)__builtin_ctz(m), 1);
	for (u32 rest = m & (m - 1); rest; rest &= rest - 1)
		r = reduce(n, r, value(w, (unsigned)__builtin_ctz(rest), 1));
	for (u32 rest = m; rest; rest &= rest - 1)
		give(w, (unsigned)__builtin_ctz(rest), 0, r);
}
/* Of 8 rows of 8 halves lane 4r + c has those of columns 2c and 2c + 1 of row r. */
void op_movmatrix(OP_ARGS)
{
	u16 from[8][8], to[8][8];
	(void)n;
	EACH(u32 two = value(w, l, 1); from[l / 4][l % 4 * 2] = (u16)two; from[l / 4][l % 4 * 2 + 1] = (u16)(two >> 16));
	for (unsigned r = 0; r < 8; r++)
		for (unsigned c = 0; c < 8; c++)
			to[c][r] = from[r][c];
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		give(w, l, 0, to[l / 4][l % 4 * 2] | (u32)to[l / 4][l % 4 * 2 + 1] << 16);
	}
}
void op_elect(OP_ARGS) /* the lowest member leads */
{
	const u32 leader = (u32)__builtin_ctz(m);
	(void)n;
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		give(w, l, 0, leader);
		give_pred(w, l, 1, l == leader);
	}
}
void op_activemask(OP_ARGS) { u32 *d = X(u32, 0); EACH(d[l] = m); }
