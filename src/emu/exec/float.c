/* f32 and f64 arithmetic (PTX ISA 9.7.3). The host's arithmetic is IEEE; other rounding modes are the host's too, switched
 * around the lanes of one instruction. A NaN result of f32 is 0x7fffffff. The .approx functions are computed correctly
 * rounded: hardware differs by the few ulp that tests/gpu/opcodes states. */
#include "emu/exec/half.h"
#include "emu/exec/ops.h"

#include <fenv.h>
#include <string.h>

static int enter_rounding(u32 flags)
{
	static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
	const u32 mode = flags & F_ROUND;
	if (mode)
		fesetround(modes[mode]);
	return (int)mode;
}
static void leave_rounding(int mode)
{
	if (mode)
		fesetround(FE_TONEAREST);
}

static u32 finish32(float v, u32 flags)
{
	u32 bits;
	if (isnan(v))
		return flags & F_SAT ? 0 : 0x7fffffff;
	v = half_flush32(v, (flags & F_FTZ) != 0);
	if (flags & F_SAT)
		v = v > 1 ? 1 : v <= 0 ? 0 : v;
	memcpy(&bits, &v, 4);
	return bits;
}

/* The plain case, no flags, is a loop that the compiler vectorises; NaN results are made canonical in it. */
static inline u32 plain32(float v)
{
	u32 bits;
	memcpy(&bits, &v, 4);
	return v != v ? 0x7fffffff : bits;
}
#define FLUSHED(p) half_flush32((p)[l], ftz)
#define ARITHMETIC(name, simple, flushed, full) \
	void op_##name##_f32(OP_ARGS) \
	{ \
		u32 *d = X(u32, 0); \
		const float *a = X(float, 1), *b = X(float, 2), *c = X(float, 3); \
		(void)c; \
		if (!(n->flags & (F_ROUND | F_FTZ | F_SAT))) { \
			EACH(d[l] = plain32(simple)); \
			return; \
		} \
		const int ftz = (n->flags & F_FTZ) != 0, mode = enter_rounding(n->flags); \
		EACH(d[l] = finish32(flushed, n->flags)); \
		leave_rounding(mode); \
	} \
	void op_##name##_f64(OP_ARGS) \
	{ \
		double *d = X(double, 0); \
		const double *a = X(double, 1), *b = X(double, 2), *c = X(double, 3); \
		(void)c; \
		const int mode = enter_rounding(n->flags); \
		EACH(d[l] = full); \
		leave_rounding(mode); \
	}
ARITHMETIC(add, a[l] + b[l], FLUSHED(a) + FLUSHED(b), a[l] + b[l])
ARITHMETIC(sub, a[l] - b[l], FLUSHED(a) - FLUSHED(b), a[l] - b[l])
ARITHMETIC(mul, a[l] * b[l], FLUSHED(a) * FLUSHED(b), a[l] * b[l])
ARITHMETIC(fma, fmaf(a[l], b[l], c[l]), fmaf(FLUSHED(a), FLUSHED(b), FLUSHED(c)), fma(a[l], b[l], c[l]))

/* div.approx is a * (1/b), whose reciprocal vanishes for |b| above 2^126 (PTX ISA, div). */
static float approx_quotient(float a, float b)
{
	if (isfinite(b) && fabsf(b) > 0x1p126f)
		return isinf(a) ? NAN : copysignf(0, a) * copysignf(1, b);
	return a / b;
}
void op_div_f32(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const float *a = X(float, 1), *b = X(float, 2);
	const int ftz = (n->flags & F_FTZ) != 0, mode = enter_rounding(n->flags);
	if (n->flags & F_APPROX)
		EACH(d[l] = finish32(approx_quotient(FLUSHED(a), FLUSHED(b)), n->flags));
	else
		EACH(d[l] = finish32(FLUSHED(a) / FLUSHED(b), n->flags));
	leave_rounding(mode);
}
void op_div_f64(OP_ARGS)
{
	double *d = X(double, 0);
	const double *a = X(double, 1), *b = X(double, 2);
	const int mode = enter_rounding(n->flags);
	EACH(d[l] = a[l] / b[l]);
	leave_rounding(mode);
}

#define FUNCTION32(name, e) \
	void op_##name##_f32(OP_ARGS) \
	{ \
		u32 *d = X(u32, 0); \
		const float *a = X(float, 1); \
		const int ftz = (n->flags & F_FTZ) != 0, mode = enter_rounding(n->flags); \
		EACH(const float x = FLUSHED(a); d[l] = finish32((float)(e), n->flags)); \
		leave_rounding(mode); \
	}
#define FUNCTION64(name, e) \
	void op_##name##_f64(OP_ARGS) \
	{ \
		double *d = X(double, 0); \
		const double *a = X(double, 1); \
		const int mode = enter_rounding(n->flags); \
		EACH(const double x = a[l]; d[l] = (e)); \
		leave_rounding(mode); \
	}
FUNCTION32(rcp, 1 / x)
FUNCTION64(rcp, 1 / x)
FUNCTION32(sqrt, sqrtf(x))
FUNCTION64(sqrt, sqrt(x))
FUNCTION32(rsqrt, 1 / sqrt((double)x))
FUNCTION64(rsqrt, 1 / sqrt(x))
FUNCTION32(ex2, exp2((double)x))
FUNCTION32(lg2, log2((double)x))
FUNCTION32(sin, sin((double)x))
FUNCTION32(cos, cos((double)x))
FUNCTION32(tanh, tanh((double)x))

/* Of f64 by .approx.ftz the upper halves alone count (PTX ISA 9.7.3.15, 9.7.3.18). */
static double upper_half(double v)
{
	u64 bits;
	if (isnan(v))
		return v;
	memcpy(&bits, &v, 8);
	bits &= bits >> 52 & 0x7ff ? 0xffffffff00000000 : (u64)1 << 63;
	memcpy(&v, &bits, 8);
	return v;
}
void op_rcp_coarse(OP_ARGS) { double *d = X(double, 0); const double *a = X(double, 1); EACH(d[l] = upper_half(1 / upper_half(a[l]))); }
void op_rsqrt_coarse(OP_ARGS) { double *d = X(double, 0); const double *a = X(double, 1); EACH(d[l] = upper_half(1 / sqrt(upper_half(a[l])))); }

FUNCTION32(abs, fabsf(x))
FUNCTION32(neg, -x)
#define ON_BITS(name, T, e) void op_##name(OP_ARGS) { T *d = X(T, 0); const T *a = X(T, 1), *b = X(T, 2); (void)b; EACH(d[l] = (e)); }
ON_BITS(abs_f64, u64, a[l] & INT64_MAX)
ON_BITS(neg_f64, u64, a[l] ^ (u64)INT64_MIN)
/* copysign d, a, b: the sign of a, the magnitude of b. */
ON_BITS(copysign_f32, u32, (a[l] & 0x80000000) | (b[l] & 0x7fffffff))
ON_BITS(copysign_f64, u64, (a[l] & (u64)INT64_MIN) | (b[l] & INT64_MAX))
