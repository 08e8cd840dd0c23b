/* Comparison and selection: setp, set, selp, slct, testp (PTX ISA 9.7.5, 9.7.6). A comparison first becomes a mask over the
 * lanes; setp and set differ only in what they do with it. */
#include "emu/exec/half.h"
#include "emu/exec/ops.h"

#include <math.h>

/* Bits 0 to 3: the comparison holds for less, equal, greater, unordered. */
static const u8 holds[] = {
	[CMP_EQ] = 2, [CMP_NE] = 5, [CMP_LT] = 1, [CMP_LE] = 3, [CMP_GT] = 4, [CMP_GE] = 6, [CMP_EQU] = 10, [CMP_NEU] = 13,
	[CMP_LTU] = 9, [CMP_LEU] = 11, [CMP_GTU] = 12, [CMP_GEU] = 14, [CMP_NUM] = 7, [CMP_NAN] = 8,
};

#define GATHER(T, test) \
	do { \
		u32 r = 0; \
		for (unsigned l = 0; l < EXEC_LANES; l++) \
			r |= (u32)(test) << l; \
		return r; \
	} while (0)
#define COMPARE(T) \
	static u32 compare_##T(const struct exec_warp *w, const struct exec_insn *n, unsigned first) \
	{ \
		const T *a = X(T, first), *b = X(T, first + 1); \
		switch (n->sub) { \
		case CMP_EQ: GATHER(T, a[l] == b[l]); \
		case CMP_NE: GATHER(T, a[l] != b[l]); \
		case CMP_LT: GATHER(T, a[l] < b[l]); \
		case CMP_LE: GATHER(T, a[l] <= b[l]); \
		case CMP_GT: GATHER(T, a[l] > b[l]); \
		default: GATHER(T, a[l] >= b[l]); \
		} \
	}
COMPARE(u16)
COMPARE(s16)
COMPARE(u32)
COMPARE(s32)
COMPARE(u64)
COMPARE(s64)

static int relation(double a, double b)
{
	return isnan(a) || isnan(b) ? 8 : a < b ? 1 : a == b ? 2 : 4;
}
static u32 compare_f32(const struct exec_warp *w, const struct exec_insn *n, unsigned first)
{
	const float *a = X(float, first), *b = X(float, first + 1);
	const int ftz = (n->flags & F_FTZ) != 0;
	GATHER(float, (holds[n->sub] & relation(half_flush32(a[l], ftz), half_flush32(b[l], ftz))) != 0);
}
static u32 compare_f64(const struct exec_warp *w, const struct exec_insn *n, unsigned first)
{
	const double *a = X(double, first), *b = X(double, first + 1);
	GATHER(double, (holds[n->sub] & relation(a[l], b[l])) != 0);
}
static u32 compare_lanes_half(const struct exec_warp *w, const struct exec_insn *n, unsigned first, unsigned which)
{
	const enum half_format f = half_format_of(n->type[2]);
	const unsigned step = half_is_pair(n->type[2]) ? 2 : 1;
	const u16 *a = (const u16 *)exec_at(w, n->x[first]) + which, *b = (const u16 *)exec_at(w, n->x[first + 1]) + which;
	GATHER(u16, (holds[n->sub] & relation(half_load(f, a[l * step], n->flags), half_load(f, b[l * step], n->flags))) != 0);
}

static u32 combine(const struct exec_warp *w, const struct exec_insn *n, u32 r, unsigned operand)
{
	if (n->bool_op == BOOL_NONE)
		return r;
	const u32 c = *X(u32, operand) ^ (n->flags & F_NOT_C ? EXEC_ALL : 0);
	return n->bool_op == BOOL_AND ? r & c : n->bool_op == BOOL_OR ? r | c : r ^ c;
}

#define SETP(T) \
	void op_setp_##T(OP_ARGS) \
	{ \
		const u32 r = compare_##T(w, n, 2), q = combine(w, n, ~r, 4); \
		op_set_mask(w, n->x[0], m, combine(w, n, r, 4)); \
		op_set_mask(w, n->x[1], m, q); \
	} \
	void op_set_##T(OP_ARGS) \
	{ \
		const u32 r = combine(w, n, compare_##T(w, n, 1), 3), yes = n->type[0] == PTX_F32 ? 0x3f800000 : EXEC_ALL; \
		u32 *d = X(u32, 0); \
		EACH(d[l] = r >> l & 1 ? yes : 0); \
	}
SETP(u16)
SETP(s16)
SETP(u32)
SETP(s32)
SETP(u64)
SETP(s64)
SETP(f32)
SETP(f64)

void op_setp_half(OP_ARGS) /* of a pair: p is the low half's result, q the high half's */
{
	const u32 r = compare_lanes_half(w, n, 2, 0);
	const u32 other = half_is_pair(n->type[2]) ? compare_lanes_half(w, n, 2, 1) : ~r;
	const u32 q = combine(w, n, other, 4);
	op_set_mask(w, n->x[0], m, combine(w, n, r, 4));
	op_set_mask(w, n->x[1], m, q);
}

void op_set_pair(OP_ARGS) /* of two halves, each 1 or 0 */
{
	const u16 yes = n->type[0] == PTX_BF16X2 ? 0x3f80 : 0x3c00;
	const u32 low = combine(w, n, compare_lanes_half(w, n, 1, 0), 3), high = combine(w, n, compare_lanes_half(w, n, 1, 1), 3);
	u32 *d = X(u32, 0);
	EACH(d[l] = (low >> l & 1 ? yes : 0u) | (high >> l & 1 ? (u32)yes << 16 : 0u));
}

#define SELECT(T) \
	void op_selp_##T(OP_ARGS) \
	{ \
		T *d = X(T, 0); \
		const T *a = X(T, 1), *b = X(T, 2); \
		const u32 p = *X(u32, 3) ^ (n->flags & F_NOT_C ? EXEC_ALL : 0); \
		EACH(d[l] = p >> l & 1 ? a[l] : b[l]); \
	} \
	void op_slct_##T(OP_ARGS) /* a where c >= 0; -0.0 counts as 0, NaN takes b */ \
	{ \
		T *d = X(T, 0); \
		const T *a = X(T, 1), *b = X(T, 2); \
		if (n->type[2] == PTX_F32) { \
			const float *c = X(float, 3); \
			const int ftz = (n->flags & F_FTZ) != 0; \
			EACH(d[l] = half_flush32(c[l], ftz) >= 0 ? a[l] : b[l]); \
		} else { \
			const s32 *c = X(s32, 3); \
			EACH(d[l] = c[l] >= 0 ? a[l] : b[l]); \
		} \
	}
SELECT(u16)
SELECT(u32)
SELECT(u64)

enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NOTANUMBER, TEST_NORMAL, TEST_SUBNORMAL };
static int classify(int class, unsigned test)
{
	switch (test) {
	case TEST_FINITE: return class != FP_NAN && class != FP_INFINITE;
	case TEST_INFINITE: return class == FP_INFINITE;
	case TEST_NUMBER: return class != FP_NAN;
	case TEST_NOTANUMBER: return class == FP_NAN;
	case TEST_NORMAL: return class == FP_NORMAL || class == FP_ZERO; /* zero counts as normal: PTX ISA, testp */
	default: return class == FP_SUBNORMAL;
	}
}
void op_testp_f32(OP_ARGS)
{
	const float *a = X(float, 1);
	u32 r = 0;
	EACH(r |= (u32)classify(fpclassify(a[l]), n->sub) << l);
	op_set_mask(w, n->x[0], m, r);
}
void op_testp_f64(OP_ARGS)
{
	const double *a = X(double, 1);
	u32 r = 0;
	EACH(r |= (u32)classify(fpclassify(a[l]), n->sub) << l);
	op_set_mask(w, n->x[0], m, r);
}
