#include "emu/exec/half.h"
#include "emu/exec/ops.h"

#include <string.h>

/* e4m3 has no infinity: its largest exponent holds numbers, all ones is NaN. tf32 lies in the upper bits of a 32-bit word. */
static const struct { u8 mantissa, exponent, shift; u32 nan, largest; } formats[] = {
	[HALF_F16] = { 10, 5, 0, 0x7fff, 0x7bff }, [HALF_BF16] = { 7, 8, 0, 0x7fff, 0x7f7f },
	[HALF_TF32] = { 10, 8, 13, 0x3ffff, 0x3fbff }, [HALF_F32] = { 23, 8, 0, 0x7fffffff, 0x7f7fffff },
	[HALF_E4M3] = { 3, 4, 0, 0x7f, 0x7e }, [HALF_E5M2] = { 2, 5, 0, 0x7f, 0x7b },
};

enum half_format half_format_of(unsigned t)
{
	return t == PTX_BF16 || t == PTX_BF16X2 ? HALF_BF16 : t == PTX_F32 ? HALF_F32 : HALF_F16;
}

int half_is_pair(unsigned t)
{
	return t == PTX_F16X2 || t == PTX_BF16X2;
}

int half_lowest(enum half_format f)
{
	return 2 - (1 << (formats[f].exponent - 1));
}

double half_load(enum half_format f, u32 bits, u32 flags)
{
	const unsigned mantissa = formats[f].mantissa, exponent = formats[f].exponent;
	const int bias = (1 << (exponent - 1)) - 1;
	bits >>= formats[f].shift;
	const u32 e = bits >> mantissa & ((1u << exponent) - 1), fraction = bits & ((1u << mantissa) - 1);
	const double sign = bits >> (mantissa + exponent) & 1 ? -1 : 1;

	if (f == HALF_E4M3 ? (bits & 0x7f) == 0x7f : e == (1u << exponent) - 1)
		return fraction ? copysign((double)NAN, sign) : sign * (double)INFINITY;
	if (e == 0)
		return flags & F_FTZ ? sign * 0.0 : sign * ldexp(fraction, 1 - bias - (int)mantissa);
	return sign * ldexp(fraction | 1u << mantissa, (int)e - bias - (int)mantissa);
}

static int rounds_up(u32 flags, int negative, int odd, double rest)
{
	if (flags & F_RNA)
		return rest >= 0.5;
	switch (flags & F_ROUND) {
	case F_RZ: return 0;
	case F_RM: return negative && rest > 0;
	case F_RP: return !negative && rest > 0;
	default: return rest > 0.5 || (rest == 0.5 && odd);
	}
}

/* The bits of |v|, one rounding; above the largest number the result is past formats[].largest. */
static u32 magnitude(enum half_format f, double v, u32 flags, int negative)
{
	const int mantissa = formats[f].mantissa, lowest = 2 - (1 << (formats[f].exponent - 1)) - mantissa;
	int e;
	frexp(v, &e);
	int unit = e - 1 - mantissa; /* exponent of the last bit */
	if (unit < lowest)
		unit = lowest;
	if (unit - lowest > 1 << formats[f].exponent)
		return formats[f].largest + 1;
	const double scaled = ldexp(v, -unit), whole = floor(scaled);
	u32 bits = (u32)whole;
	bits += (u32)rounds_up(flags, negative, bits & 1, scaled - whole);
	return bits + ((u32)(unit - lowest) << mantissa);
}

u32 half_store(enum half_format f, double v, u32 flags)
{
	const unsigned mantissa = formats[f].mantissa, top = mantissa + formats[f].exponent;
	const u32 largest = formats[f].largest;

	if (isnan(v))
		return flags & F_SAT ? 0 : formats[f].nan << formats[f].shift;
	if ((flags & F_SAT) && v > 1)
		v = 1;
	if ((flags & (F_SAT | F_RELU)) && v <= 0)
		v = 0;
	const int negative = signbit(v) != 0;
	u32 bits;
	if (isinf(v)) {
		bits = largest + 1;
	} else if (v == 0) {
		bits = 0;
	} else {
		bits = magnitude(f, fabs(v), flags, negative);
		const int towards_zero = (flags & F_ROUND) == F_RZ || (flags & F_ROUND) == (negative ? F_RP : F_RM);
		if (bits > largest)
			bits = towards_zero ? largest : largest + 1;
	}
	if (bits > largest && ((flags & F_SATFINITE) || f == HALF_E4M3))
		bits = largest;
	if ((flags & F_FTZ) && bits < 1u << mantissa)
		bits = 0;
	return (bits | (u32)negative << top) << formats[f].shift;
}

/* Rounding to odd: if the sum is inexact, its last bit tells so and a later rounding cannot mistake it for a tie. */
double half_add(double a, double b)
{
	const double sum = a + b;
	if (!isfinite(sum))
		return sum;
	const double part = sum - a, error = (a - (sum - part)) + (b - part);
	u64 bits;
	memcpy(&bits, &sum, 8);
	if (error != 0 && !(bits & 1))
		bits += (error > 0) == (sum > 0) ? 1 : (u64)-1;
	double odd;
	memcpy(&odd, &bits, 8);
	return odd;
}

double half_fma(double a, double b, double c)
{
	return half_add(a * b, c);
}

/* One operation on f16, bf16 and their pairs. Arguments are widened; the result is rounded by the instruction's flags. */
typedef double (*half_op)(double a, double b, double c);
static void apply(struct exec_warp *w, const struct exec_insn *n, u32 m, unsigned inputs, half_op op)
{
	const enum half_format f = half_format_of(n->type[2]);
	const unsigned parts = half_is_pair(n->type[2]) ? 2 : 1;


	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		for (unsigned p = l * parts; p < (l + 1) * parts; p++) {
			double v[3] = { 0, 0, 0 };
			for (unsigned k = 0; k < inputs; k++)
				v[k] = half_load(f, X(u16, k + 1)[p], n->flags);
			X(u16, 0)[p] = (u16)half_store(f, op(v[0], v[1], v[2]), n->flags);
		}
	}
}
static double add(double a, double b, double c) { (void)c; return half_add(a, b); }
static double subtract(double a, double b, double c) { (void)c; return half_add(a, -b); }
static double multiply(double a, double b, double c) { (void)c; return a * b; }
static double power2(double a, double b, double c) { (void)b; (void)c; return exp2(a); }
static double tangent(double a, double b, double c) { (void)b; (void)c; return tanh(a); }
void op_add_half(OP_ARGS) { apply(w, n, m, 2, add); }
void op_sub_half(OP_ARGS) { apply(w, n, m, 2, subtract); }
void op_mul_half(OP_ARGS) { apply(w, n, m, 2, multiply); }
void op_fma_half(OP_ARGS) { apply(w, n, m, 3, half_fma); }
void op_ex2_half(OP_ARGS) { apply(w, n, m, 1, power2); }
void op_tanh_half(OP_ARGS) { apply(w, n, m, 1, tangent); }

/* Operations on the bits, NaN included. */
static void bitwise(struct exec_warp *w, const struct exec_insn *n, u32 m, u16 keep, u16 flip)
{
	const enum half_format f = half_format_of(n->type[2]);
	const unsigned parts = half_is_pair(n->type[2]) ? 2 : 1;
	const u16 smallest = f == HALF_F16 ? 0x400 : 0x80;
	u16 *d = X(u16, 0);
	const u16 *a = X(u16, 1);

	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		for (unsigned p = l * parts; p < (l + 1) * parts; p++) {
			u16 v = a[p];
			if ((n->flags & F_FTZ) && (v & 0x7fff) < smallest)
				v &= 0x8000;
			d[p] = (u16)((v & keep) ^ flip);
			if ((v & 0x7fff) > (f == HALF_F16 ? 0x7c00 : 0x7f80))
				d[p] = 0x7fff;
		}
	}
}
void op_abs_half(OP_ARGS) { bitwise(w, n, m, 0x7fff, 0); }
void op_neg_half(OP_ARGS) { bitwise(w, n, m, 0xffff, 0x8000); }

/* min, max: -0 < +0; a NaN yields to a number, but wins under .NaN. xorsign: the sign is the product's (PTX ISA 9.7.4). */
static double extreme(double a, double b, u32 flags, int want_max)
{
	const int sign = signbit(a) ^ signbit(b);
	if (flags & F_ABS)
		a = fabs(a), b = fabs(b);
	double r;
	if (isnan(a) || isnan(b))
		r = (flags & F_NAN) || (isnan(a) && isnan(b)) ? (double)NAN : isnan(a) ? b : a;
	else if (a == b)
		r = (signbit(a) != 0) == want_max ? b : a;
	else
		r = (a < b) == want_max ? b : a;
	return (flags & F_XORSIGN) && !isnan(r) ? copysign(r, sign ? -1 : 1) : r;
}
static void extremes(struct exec_warp *w, const struct exec_insn *n, u32 m, int want_max)
{
	const enum half_format f = half_format_of(n->type[2]);
	const unsigned parts = half_is_pair(n->type[2]) ? 2 : 1;

	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		for (unsigned p = l * parts; p < (l + 1) * parts; p++)
			X(u16, 0)[p] = (u16)half_store(f, extreme(half_load(f, X(u16, 1)[p], n->flags),
								  half_load(f, X(u16, 2)[p], n->flags), n->flags, want_max), 0);
	}
}
void op_min_half(OP_ARGS) { extremes(w, n, m, 0); }
void op_max_half(OP_ARGS) { extremes(w, n, m, 1); }

static u32 extreme32(float a, float b, u32 flags, int want_max)
{
	const int ftz = (flags & F_FTZ) != 0;
	return half_store(HALF_F32, extreme((double)half_flush32(a, ftz), (double)half_flush32(b, ftz), flags, want_max), 0);
}
void op_min_f32(OP_ARGS) { u32 *d = X(u32, 0); const float *a = X(float, 1), *b = X(float, 2); EACH(d[l] = extreme32(a[l], b[l], n->flags, 0)); }
void op_max_f32(OP_ARGS) { u32 *d = X(u32, 0); const float *a = X(float, 1), *b = X(float, 2); EACH(d[l] = extreme32(a[l], b[l], n->flags, 1)); }
void op_min_f64(OP_ARGS) { double *d = X(double, 0); const double *a = X(double, 1), *b = X(double, 2); EACH(d[l] = extreme(a[l], b[l], 0, 0)); }
void op_max_f64(OP_ARGS) { double *d = X(double, 0); const double *a = X(double, 1), *b = X(double, 2); EACH(d[l] = extreme(a[l], b[l], 0, 1)); }
