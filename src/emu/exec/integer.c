/* Integer arithmetic: add to dp4a, carries included (PTX ISA 9.7.1, 9.7.2). Overflow wraps, so signed arithmetic is done
 * unsigned wherever the bits are the same. Division by zero has no defined result; ours is what the hardware's division
 * gives: all ones, and the dividend as remainder. */
#include "emu/exec/ops.h"

#define UNARY(name, D, A, e) \
	void op_##name(OP_ARGS) { D *d = X(D, 0); const A *a = X(A, 1); EACH(d[l] = (D)(e)); }
#define BINARY(name, D, T, e) \
	void op_##name(OP_ARGS) { D *d = X(D, 0); const T *a = X(T, 1), *b = X(T, 2); EACH(d[l] = (D)(e)); }
#define TERNARY(name, D, T, C, e) \
	void op_##name(OP_ARGS) { D *d = X(D, 0); const T *a = X(T, 1), *b = X(T, 2); const C *c = X(C, 3); EACH(d[l] = (D)(e)); }

/* The T-wide arithmetic in W, twice as wide and unsigned where only the low bits count. */
#define WRAPPING(T, W) \
	BINARY(add_##T, T, T, (W)a[l] + b[l]) \
	BINARY(sub_##T, T, T, (W)a[l] - b[l]) \
	BINARY(mul_lo_##T, T, T, (W)a[l] * b[l]) \
	TERNARY(mad_lo_##T, T, T, T, (W)a[l] * b[l] + c[l]) \
	UNARY(neg_##T, T, T, (W)0 - a[l])
WRAPPING(u16, u32)
WRAPPING(u32, u32)
WRAPPING(u64, u64)

#define WIDENING(T, U, W) /* high half and wide product; c wraps in U */ \
	BINARY(mul_hi_##T, T, T, (W)a[l] * b[l] >> 8 * sizeof(T)) \
	TERNARY(mad_hi_##T, T, T, T, (U)((W)a[l] * b[l] >> 8 * sizeof(T)) + (U)c[l])
WIDENING(u16, u16, u32)
WIDENING(s16, u16, s32)
WIDENING(u32, u32, u64)
WIDENING(s32, u32, s64)
WIDENING(u64, u64, u128)
WIDENING(s64, u64, s128)
BINARY(mul_wide_u16, u32, u16, (u32)a[l] * b[l])
BINARY(mul_wide_s16, s32, s16, (s32)a[l] * b[l])
BINARY(mul_wide_u32, u64, u32, (u64)a[l] * b[l])
BINARY(mul_wide_s32, s64, s32, (s64)a[l] * b[l])
TERNARY(mad_wide_u16, u32, u16, u32, (u32)a[l] * b[l] + c[l])
TERNARY(mad_wide_s16, u32, s16, u32, (u32)((s32)a[l] * b[l]) + c[l])
TERNARY(mad_wide_u32, u64, u32, u64, (u64)a[l] * b[l] + c[l])
TERNARY(mad_wide_s32, u64, s32, u64, (u64)((s64)a[l] * b[l]) + c[l])

static s32 clamp32(s64 v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (s32)v;
}
BINARY(add_sat_s32, s32, s32, clamp32((s64)a[l] + b[l]))
BINARY(sub_sat_s32, s32, s32, clamp32((s64)a[l] - b[l]))
TERNARY(mad_hi_sat_s32, s32, s32, s32, clamp32(((s64)a[l] * b[l] >> 32) + c[l]))
BINARY(add_u16x2, u32, u32, (((a[l] & 0xffff) + b[l]) & 0xffff) | (((a[l] >> 16) + (b[l] >> 16)) << 16))

static s32 low24(s32 v)
{
	return (s32)((u32)v << 8) >> 8;
}
BINARY(mul24_lo_u32, u32, u32, (a[l] & 0xffffff) * (u64)(b[l] & 0xffffff))
BINARY(mul24_hi_u32, u32, u32, (a[l] & 0xffffff) * (u64)(b[l] & 0xffffff) >> 16)
BINARY(mul24_lo_s32, s32, s32, (s64)low24(a[l]) * low24(b[l]))
BINARY(mul24_hi_s32, s32, s32, (s64)low24(a[l]) * low24(b[l]) >> 16)
TERNARY(mad24_lo_u32, u32, u32, u32, (a[l] & 0xffffff) * (u64)(b[l] & 0xffffff) + c[l])
TERNARY(mad24_lo_s32, u32, s32, u32, (u32)((s64)low24(a[l]) * low24(b[l])) + c[l])

#define DIVIDING(T, overflows) \
	BINARY(div_##T, T, T, b[l] == 0 ? (T)-1 : (overflows) ? a[l] : a[l] / b[l]) \
	BINARY(rem_##T, T, T, b[l] == 0 ? a[l] : (overflows) ? 0 : a[l] % b[l])
DIVIDING(u16, 0)
DIVIDING(s16, 0)
DIVIDING(u32, 0)
DIVIDING(s32, a[l] == INT32_MIN && b[l] == -1)
DIVIDING(u64, 0)
DIVIDING(s64, a[l] == INT64_MIN && b[l] == -1)

#define ORDERED(T, U) \
	BINARY(min_##T, T, T, a[l] < b[l] ? a[l] : b[l]) \
	BINARY(max_##T, T, T, a[l] > b[l] ? a[l] : b[l]) \
	TERNARY(sad_##T, T, T, T, (U)((U)c[l] + (a[l] < b[l] ? (U)((U)b[l] - (U)a[l]) : (U)((U)a[l] - (U)b[l]))))
ORDERED(u16, u16)
ORDERED(s16, u16)
ORDERED(u32, u32)
ORDERED(s32, u32)
ORDERED(u64, u64)
ORDERED(s64, u64)
UNARY(abs_s16, u16, s16, a[l] < 0 ? -a[l] : a[l])
UNARY(abs_s32, u32, s32, a[l] < 0 ? 0u - (u32)a[l] : (u32)a[l])
UNARY(abs_s64, u64, s64, a[l] < 0 ? 0u - (u64)a[l] : (u64)a[l])

/* Carries. `carry` is a mask over the lanes; subtraction keeps the borrow there. */
static void set_carry(struct exec_warp *w, unsigned lane, int carry)
{
	w->carry = (w->carry & ~(1u << lane)) | ((u32)carry << lane);
}
#define CARRY_IN ((w->carry >> l) & 1)
#define CARRYING(name, T, W, terms, in, always) /* the sum's bits above T are its carry */ \
	void op_##name(OP_ARGS) \
	{ \
		T *d = X(T, 0); \
		const T *a = X(T, 1), *b = X(T, 2), *c = X(T, 3); \
		(void)c; \
		for (u32 rest = m; rest; rest &= rest - 1) { \
			const unsigned l = (unsigned)__builtin_ctz(rest); \
			const W sum = (W)(terms) + (in); \
			d[l] = (T)sum; \
			if (always || (n->flags & F_CC)) \
				set_carry(w, l, (int)(sum >> 8 * sizeof(T) & 1)); \
		} \
	}
CARRYING(add_cc_u32, u32, u64, (u64)a[l] + b[l], 0, 1)
CARRYING(add_cc_u64, u64, u128, (u128)a[l] + b[l], 0, 1)
CARRYING(addc_u32, u32, u64, (u64)a[l] + b[l], CARRY_IN, 0)
CARRYING(addc_u64, u64, u128, (u128)a[l] + b[l], CARRY_IN, 0)
CARRYING(sub_cc_u32, u32, u64, (u64)a[l] - b[l], 0, 1)
CARRYING(sub_cc_u64, u64, u128, (u128)a[l] - b[l], 0, 1)
CARRYING(subc_u32, u32, u64, (u64)a[l] - b[l] - CARRY_IN, 0, 0)
CARRYING(subc_u64, u64, u128, (u128)a[l] - b[l] - CARRY_IN, 0, 0)
CARRYING(mad_lo_cc_u32, u32, u64, (u64)(u32)(a[l] * b[l]) + c[l], 0, 1)
CARRYING(mad_lo_cc_u64, u64, u128, (u128)(u64)(a[l] * b[l]) + c[l], 0, 1)
CARRYING(mad_hi_cc_u32, u32, u64, ((u64)a[l] * b[l] >> 32) + c[l], 0, 1)
CARRYING(mad_hi_cc_u64, u64, u128, ((u128)a[l] * b[l] >> 64) + c[l], 0, 1)
CARRYING(madc_lo_u32, u32, u64, (u64)(u32)(a[l] * b[l]) + c[l], CARRY_IN, 0)
CARRYING(madc_lo_u64, u64, u128, (u128)(u64)(a[l] * b[l]) + c[l], CARRY_IN, 0)
CARRYING(madc_hi_u32, u32, u64, ((u64)a[l] * b[l] >> 32) + c[l], CARRY_IN, 0)
CARRYING(madc_hi_u64, u64, u128, ((u128)a[l] * b[l] >> 64) + c[l], CARRY_IN, 0)

static s64 part(u32 v, unsigned at, unsigned bits, int is_signed)
{
	const u32 u = v >> at & ((1u << bits) - 1);
	return is_signed && (u >> (bits - 1)) ? (s64)u - (1 << bits) : (s64)u;
}

void op_dp4a(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const u32 *a = X(u32, 1), *b = X(u32, 2), *c = X(u32, 3);
	const int sa = n->type[0] == PTX_S32, sb = n->type[2] == PTX_S32;
	EACH(u32 sum = c[l]; for (unsigned i = 0; i < 32; i += 8) sum += (u32)(part(a[l], i, 8, sa) * part(b[l], i, 8, sb));
	     d[l] = sum);
}

void op_dp2a(OP_ARGS) /* sub: .hi takes b's upper two bytes */
{
	u32 *d = X(u32, 0);
	const u32 *a = X(u32, 1), *b = X(u32, 2), *c = X(u32, 3);
	const int sa = n->type[0] == PTX_S32, sb = n->type[2] == PTX_S32;
	const unsigned from = n->sub ? 16 : 0;
	EACH(d[l] = c[l] + (u32)(part(a[l], 0, 16, sa) * part(b[l], from, 8, sb)) +
		    (u32)(part(a[l], 16, 16, sa) * part(b[l], from + 8, 8, sb)));
}
