/* Conversions (PTX ISA 9.7.9.21, cvt) and moves. Between integers a conversion is a read of one width and a write of
 * another; everything else goes through one value per lane: an integer or a double, rounded once into its target. */
#include "emu/exec/half.h"
#include "emu/exec/ops.h"

#include <fenv.h>
#include <string.h>

struct kind { u8 bytes, is_float, is_signed; enum half_format format; };
static const struct kind kinds[] = {
	[PTX_U8] = { 1, 0, 0, 0 }, [PTX_S8] = { 1, 0, 1, 0 }, [PTX_U16] = { 2, 0, 0, 0 }, [PTX_S16] = { 2, 0, 1, 0 },
	[PTX_U32] = { 4, 0, 0, 0 }, [PTX_S32] = { 4, 0, 1, 0 }, [PTX_U64] = { 8, 0, 0, 0 }, [PTX_S64] = { 8, 0, 1, 0 },
	[PTX_F16] = { 2, 1, 1, HALF_F16 }, [PTX_BF16] = { 2, 1, 1, HALF_BF16 }, [PTX_F32] = { 4, 1, 1, HALF_F32 },
	[PTX_F64] = { 8, 1, 1, HALF_F32 }, [PTX_OTHER] = { 4, 1, 1, HALF_TF32 },
};

static u64 read_bits(const void *at, unsigned lane, unsigned bytes)
{
	switch (bytes) {
	case 1: return ((const u8 *)at)[lane];
	case 2: return ((const u16 *)at)[lane];
	case 4: return ((const u32 *)at)[lane];
	default: return ((const u64 *)at)[lane];
	}
}
static void write_bits(void *at, unsigned lane, unsigned bytes, u64 v)
{
	switch (bytes) {
	case 2: ((u16 *)at)[lane] = (u16)v; break;
	case 4: ((u32 *)at)[lane] = (u32)v; break;
	default: ((u64 *)at)[lane] = v; break;
	}
}
static u64 extend(u64 v, unsigned bytes, int is_signed)
{
	const unsigned shift = 64 - 8 * bytes;
	return is_signed ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

static double load_float(const struct kind *k, unsigned type, u64 bits, u32 flags)
{
	if (type == PTX_F64) {
		double v;
		memcpy(&v, &bits, 8);
		return v;
	}
	return half_load(k->format, (u32)bits, flags);
}

static double round_integral(double v, u32 flags)
{
	switch (flags & F_ROUND) {
	case F_RZ: return trunc(v);
	case F_RM: return floor(v);
	case F_RP: return ceil(v);
	default: return rint(v);
	}
}

static u64 float_bits(unsigned type, double v, u32 flags)
{
	if (type != PTX_F64)
		return half_store(kinds[type].format, v, flags);
	u64 bits;
	if (flags & F_SAT)
		v = isnan(v) || v <= 0 ? 0 : v > 1 ? 1 : v;
	memcpy(&bits, &v, 8);
	return bits;
}

/* Out of range clamps; NaN gives 0, but the top bit alone when 64 bits take part (PTX ISA, cvt). */
static u64 to_integer(const struct kind *k, double v, unsigned from, u32 flags)
{
	const unsigned bits = 8u * k->bytes;
	if (isnan(v))
		return from == PTX_F64 || bits == 64 ? (u64)1 << (bits - 1) : 0;
	v = round_integral(v, flags);
	const double high = ldexp(1, (int)bits - k->is_signed), low = k->is_signed ? -high : 0;
	if (v >= high)
		return (((u64)1 << (bits - 1)) - 1) << !k->is_signed | !k->is_signed;
	if (v < low)
		v = low;
	return k->is_signed ? (u64)(s64)v : (u64)v;
}

/* To f64 the host rounds; otherwise what double cannot hold is rounded to odd, so that the one rounding that follows is right. */
static double from_integer(u64 v, int is_signed, unsigned to, u32 flags)
{
	static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
	if (to == PTX_F64) {
		fesetround(modes[flags & F_ROUND]);
		const double r = is_signed ? (double)(s64)v : (double)v;
		fesetround(FE_TONEAREST);
		return r;
	}
	if (is_signed)
		return half_add(ldexp((double)((s64)v >> 32), 32), (double)(v & 0xffffffff));
	return half_add(ldexp((double)(v >> 32), 32), (double)(v & 0xffffffff));
}

static u64 saturate(const struct kind *to, const struct kind *from, u64 v)
{
	const unsigned bits = 8u * to->bytes;
	const s128 x = from->is_signed ? (s128)(s64)v : (s128)v;
	const s128 high = ((s128)1 << (bits - to->is_signed)) - 1, low = to->is_signed ? -high - 1 : 0;
	return (u64)(x > high ? high : x < low ? low : x);
}

static u64 convert(const struct exec_insn *n, u64 v)
{
	const struct kind *to = &kinds[n->type[0]], *from = &kinds[n->type[2]];
	if (!from->is_float) {
		v = extend(v, from->bytes, from->is_signed);
		if (to->is_float)
			return float_bits(n->type[0], from_integer(v, from->is_signed, n->type[0], n->flags), n->flags);
		return n->flags & F_SAT ? saturate(to, from, v) : v;
	}
	const u32 ftz = from->bytes == 4 ? n->flags & F_FTZ : 0;
	double x = load_float(from, n->type[2], v, ftz);
	if (!to->is_float)
		return to_integer(to, x, n->type[2], n->flags);
	if (n->flags & F_INTEGER)
		x = round_integral(x, n->flags);
	if (n->type[0] == n->type[2] && isnan(x) && !(n->flags & F_SAT) && n->type[0] == PTX_F64)
		return v;
	return float_bits(n->type[0], x, to->bytes == 4 ? n->flags : n->flags & ~(u32)F_FTZ);
}

#define WIDENINGS(S) \
	switch (n->width[0]) { \
	case 2: { u16 *d = X(u16, 0); EACH(d[l] = (u16)(S)a[l * step]); return 1; } \
	case 4: { u32 *d = X(u32, 0); EACH(d[l] = (u32)(S)a[l * step]); return 1; } \
	default: { u64 *d = X(u64, 0); EACH(d[l] = (u64)(S)a[l * step]); return 1; } \
	}
#define FROM(type, S) case type: { const S *a = X(S, 1); const unsigned step = n->width[1] / sizeof(S); WIDENINGS(S) }
/* The common case: integers, no saturation, the target at least as wide as its register. */
static int convert_integers(OP_ARGS)
{
	if ((n->flags & F_SAT) || kinds[n->type[0]].is_float || kinds[n->type[0]].bytes != n->width[0])
		return 0;
	switch (n->type[2]) {
	FROM(PTX_U8, u8) FROM(PTX_S8, s8) FROM(PTX_U16, u16) FROM(PTX_S16, s16)
	FROM(PTX_U32, u32) FROM(PTX_S32, s32) FROM(PTX_U64, u64) FROM(PTX_S64, s64)
	default: return 0;
	}
}

void op_convert(OP_ARGS)
{
	const struct kind *to = &kinds[n->type[0]];
	if (convert_integers(w, n, m))
		return;
	void *d = X(void, 0);
	const void *a = X(void, 1);
	EACH(u64 v = convert(n, read_bits(a, l, n->width[1]) & (EXEC_ALL | (u64)EXEC_ALL << 32));
	     if (!to->is_float) v = extend(v, to->bytes, to->is_signed);
	     write_bits(d, l, n->width[0], v));
}

/* Two f32 into one word: a is the upper half, b the lower. */
static enum half_format fp8_format(const struct exec_insn *n)
{
	return n->sub ? HALF_E5M2 : HALF_E4M3;
}
void op_convert_pair(OP_ARGS)
{
	const u32 *a = X(u32, 1), *b = X(u32, 2);
	if (n->type[0] == PTX_OTHER) {
		u16 *d = X(u16, 0);
		EACH(d[l] = (u16)(half_store(fp8_format(n), half_load(HALF_F32, a[l], 0), n->flags) << 8 |
				  half_store(fp8_format(n), half_load(HALF_F32, b[l], 0), n->flags)));
		return;
	}
	const enum half_format f = half_format_of(n->type[0]);
	u32 *d = X(u32, 0);
	EACH(d[l] = half_store(f, half_load(HALF_F32, a[l], 0), n->flags) << 16 | half_store(f, half_load(HALF_F32, b[l], 0), n->flags));
}
void op_convert_to_fp8(OP_ARGS)
{
	u16 *d = X(u16, 0);
	const u32 *a = X(u32, 1);
	EACH(d[l] = (u16)(half_store(fp8_format(n), half_load(HALF_F16, a[l] >> 16, 0), n->flags) << 8 |
			  half_store(fp8_format(n), half_load(HALF_F16, a[l] & 0xffff, 0), n->flags)));
}
void op_convert_from_fp8(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const u16 *a = X(u16, 1);
	EACH(d[l] = half_store(HALF_F16, half_load(fp8_format(n), a[l] >> 8, 0), n->flags) << 16 |
		    half_store(HALF_F16, half_load(fp8_format(n), a[l] & 0xff, 0), n->flags));
}

static u32 clamped(s32 v, unsigned bits, int is_signed)
{
	const s32 high = (1 << (bits - (unsigned)is_signed)) - 1, low = is_signed ? -high - 1 : 0;
	return (u32)(v > high ? high : v < low ? low : v) & ((1u << bits) - 1);
}
void op_pack16(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const s32 *a = X(s32, 1), *b = X(s32, 2);
	EACH(d[l] = clamped(a[l], 16, n->type[0] == PTX_S16) << 16 | clamped(b[l], 16, n->type[0] == PTX_S16));
}
void op_pack8(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const s32 *a = X(s32, 1), *b = X(s32, 2);
	const u32 *c = X(u32, 3);
	EACH(d[l] = c[l] << 16 | clamped(a[l], 8, n->type[0] == PTX_S8) << 8 | clamped(b[l], 8, n->type[0] == PTX_S8));
}

void op_move_u16(OP_ARGS) { u16 *d = X(u16, 0); const u16 *a = X(u16, 1); EACH(d[l] = a[l]); }
void op_move_u32(OP_ARGS) { u32 *d = X(u32, 0); const u32 *a = X(u32, 1); EACH(d[l] = a[l]); }
void op_move_u64(OP_ARGS) { u64 *d = X(u64, 0); const u64 *a = X(u64, 1); EACH(d[l] = a[l]); }
void op_move_u128(OP_ARGS) { u128 *d = X(u128, 0); const u128 *a = X(u128, 1); EACH(d[l] = a[l]); }
void op_move_pred(OP_ARGS) { op_set_mask(w, n->x[0], m, *X(u32, 1) ^ (n->flags & F_NOT_C ? EXEC_ALL : 0)); }

/* mov of {…}: count parts of `size` bytes make or unmake one register of `wide` bytes. */
void op_pack(OP_ARGS)
{
	EACH(for (unsigned k = 0; k < n->count; k++)
		     memcpy((u8 *)exec_at(w, n->x[0]) + l * n->wide + k * n->size, (const u8 *)exec_at(w, n->x[k + 1]) + l * n->size, n->size));
}
void op_unpack(OP_ARGS) /* the whole is copied first: a part may be the same register */
{
	EACH(u8 whole[16]; memcpy(whole, (const u8 *)exec_at(w, n->x[0]) + l * n->wide, n->wide);
	     for (unsigned k = 0; k < n->count; k++)
		     memcpy((u8 *)exec_at(w, n->x[k + 1]) + l * n->size, whole + k * n->size, n->size));
}
/* mov of an address: of the frame or of the parameters. */
void op_move_address(OP_ARGS)
{
	exec_address(w, n, m, 1);
	void *d = X(void, 0);
	EACH(write_bits(d, l, n->width[0], w->address[l]));
}
