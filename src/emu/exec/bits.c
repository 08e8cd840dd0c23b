/* Bits: logic, shifts, fields, permutation, and logic on predicates (PTX ISA 9.7.1, 9.7.8). */
#include "emu/exec/ops.h"

#define LOGIC(T) \
	void op_and_##T(OP_ARGS) { T *d = X(T, 0); const T *a = X(T, 1), *b = X(T, 2); EACH(d[l] = a[l] & b[l]); } \
	void op_or_##T(OP_ARGS) { T *d = X(T, 0); const T *a = X(T, 1), *b = X(T, 2); EACH(d[l] = a[l] | b[l]); } \
	void op_xor_##T(OP_ARGS) { T *d = X(T, 0); const T *a = X(T, 1), *b = X(T, 2); EACH(d[l] = a[l] ^ b[l]); } \
	void op_not_##T(OP_ARGS) { T *d = X(T, 0); const T *a = X(T, 1); EACH(d[l] = (T)~a[l]); } \
	void op_cnot_##T(OP_ARGS) { T *d = X(T, 0); const T *a = X(T, 1); EACH(d[l] = a[l] == 0); }
LOGIC(u16)
LOGIC(u32)
LOGIC(u64)

void op_and_pred(OP_ARGS) { op_set_mask(w, n->x[0], m, *X(u32, 1) & *X(u32, 2)); }
void op_or_pred(OP_ARGS) { op_set_mask(w, n->x[0], m, *X(u32, 1) | *X(u32, 2)); }
void op_xor_pred(OP_ARGS) { op_set_mask(w, n->x[0], m, *X(u32, 1) ^ *X(u32, 2)); }
void op_not_pred(OP_ARGS) { op_set_mask(w, n->x[0], m, ~*X(u32, 1)); }

#define SHIFT(name, T, e) /* amounts are 32 bits, unsigned, and clamp at the width */ \
	void op_##name(OP_ARGS) \
	{ \
		T *d = X(T, 0); \
		const T *a = X(T, 1); \
		const u32 *b = X(u32, 2); \
		EACH(d[l] = (T)(e)); \
	}
#define SHIFTS(U, S) \
	SHIFT(shl_##U, U, b[l] >= 8 * sizeof(U) ? 0 : (u64)a[l] << b[l]) \
	SHIFT(shr_##U, U, b[l] >= 8 * sizeof(U) ? 0 : a[l] >> b[l]) \
	SHIFT(shr_##S, S, a[l] >> (b[l] >= 8 * sizeof(S) ? 8 * sizeof(S) - 1 : b[l]))
SHIFTS(u16, s16)
SHIFTS(u32, s32)
SHIFTS(u64, s64)

static u32 amount(const struct exec_insn *n, u32 c)
{
	return n->flags & F_CLAMP ? (c > 32 ? 32 : c) : c & 31;
}

void op_shf_l(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const u32 *a = X(u32, 1), *b = X(u32, 2), *c = X(u32, 3);
	EACH(d[l] = (u32)(((u64)b[l] << 32 | a[l]) << amount(n, c[l]) >> 32));
}

void op_shf_r(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const u32 *a = X(u32, 1), *b = X(u32, 2), *c = X(u32, 3);
	EACH(d[l] = (u32)(((u64)b[l] << 32 | a[l]) >> amount(n, c[l])));
}

void op_lop3(OP_ARGS) /* bit i of the table is the result where a, b, c spell i */
{
	u32 *d = X(u32, 0), table[8];
	const u32 *a = X(u32, 1), *b = X(u32, 2), *c = X(u32, 3);
	for (unsigned i = 0; i < 8; i++)
		table[i] = n->imm >> i & 1 ? EXEC_ALL : 0;
	EACH(const u32 x = a[l]; const u32 y = b[l]; const u32 z = c[l];
	     d[l] = (~x & ((~y & ((~z & table[0]) | (z & table[1]))) | (y & ((~z & table[2]) | (z & table[3]))))) |
		    (x & ((~y & ((~z & table[4]) | (z & table[5]))) | (y & ((~z & table[6]) | (z & table[7]))))));
}

void op_popc_u32(OP_ARGS) { u32 *d = X(u32, 0); const u32 *a = X(u32, 1); EACH(d[l] = (u32)__builtin_popcount(a[l])); }
void op_popc_u64(OP_ARGS) { u32 *d = X(u32, 0); const u64 *a = X(u64, 1); EACH(d[l] = (u32)__builtin_popcountll(a[l])); }
void op_clz_u32(OP_ARGS) { u32 *d = X(u32, 0); const u32 *a = X(u32, 1); EACH(d[l] = a[l] ? (u32)__builtin_clz(a[l]) : 32); }
void op_clz_u64(OP_ARGS) { u32 *d = X(u32, 0); const u64 *a = X(u64, 1); EACH(d[l] = a[l] ? (u32)__builtin_clzll(a[l]) : 64); }

static u64 reversed(u64 v)
{
	v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
	v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
	return __builtin_bswap64(v);
}
void op_brev_u32(OP_ARGS) { u32 *d = X(u32, 0); const u32 *a = X(u32, 1); EACH(d[l] = (u32)(reversed(a[l]) >> 32)); }
void op_brev_u64(OP_ARGS) { u64 *d = X(u64, 0); const u64 *a = X(u64, 1); EACH(d[l] = reversed(a[l])); }

/* The highest bit that differs from the sign; .shiftamt counts from the top instead. All ones: none. */
static u32 find(u64 v, unsigned bits, u32 flags)
{
	if (!v)
		return EXEC_ALL;
	const u32 at = 63 - (u32)__builtin_clzll(v);
	return flags & F_SHIFTAMT ? bits - 1 - at : at;
}
#define FIND(T, U) \
	void op_bfind_##T(OP_ARGS) { u32 *d = X(u32, 0); const T *a = X(T, 1); EACH(d[l] = find((U)(a[l] < (T)1 && a[l] != 0 ? ~a[l] : a[l]), 8 * sizeof(T), n->flags)); }
FIND(u32, u32)
FIND(s32, u32)
FIND(u64, u64)
FIND(s64, u64)

static u64 extract(u64 a, u32 at, u32 length, unsigned bits, int is_signed)
{
	u64 sign, field;
	at &= 0xff;
	length &= 0xff;
	const u32 top = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
	sign = is_signed && length && (a >> top & 1) ? ~(u64)0 : 0;
	if (!length)
		return 0;
	field = at < bits ? a >> at : 0;
	const u32 have = at >= bits ? 0 : bits - at < length ? bits - at : length; /* bits that are really there */
	if (have >= 64)
		return field;
	return (field & (((u64)1 << have) - 1)) | (sign << have);
}
#define FIELD(T, U, is_signed) \
	void op_bfe_##T(OP_ARGS) \
	{ \
		T *d = X(T, 0); \
		const T *a = X(T, 1); \
		const u32 *b = X(u32, 2), *c = X(u32, 3); \
		EACH(d[l] = (T)extract((U)a[l], b[l], c[l], 8 * sizeof(T), is_signed)); \
	}
FIELD(u32, u32, 0)
FIELD(s32, u32, 1)
FIELD(u64, u64, 0)
FIELD(s64, u64, 1)

static u64 insert(u64 a, u64 b, u32 at, u32 length)
{
	at &= 0xff;
	length &= 0xff;
	if (at >= 64 || !length)
		return b;
	const u64 ones = length >= 64 ? ~(u64)0 : ((u64)1 << length) - 1;
	return (b & ~(ones << at)) | (a & ones) << at;
}
#define INSERT(T) \
	void op_bfi_##T(OP_ARGS) \
	{ \
		T *d = X(T, 0); \
		const T *a = X(T, 1), *b = X(T, 2); \
		const u32 *c = X(u32, 3), *e = X(u32, 4); \
		EACH(d[l] = (T)insert(a[l], b[l], c[l], e[l])); \
	}
INSERT(u32)
INSERT(u64)

void op_bmsk(OP_ARGS) /* `b` ones from bit `a` up */
{
	u32 *d = X(u32, 0);
	const u32 *a = X(u32, 1), *b = X(u32, 2);
	const int clamp = (n->flags & F_CLAMP) != 0;
	EACH(const u32 at = clamp ? a[l] : a[l] & 31; const u32 length = clamp ? b[l] : b[l] & 31;
	     d[l] = at >= 32 ? 0 : (u32)((length >= 32 ? (u64)EXEC_ALL : ((u64)1 << length) - 1) << at));
}

static u32 size_extend(u32 a, u32 bits, int clamp, int is_signed)
{
	if (clamp && bits >= 32)
		return a;
	bits &= 31;
	if (!bits)
		return 0;
	const u32 low = a & ((1u << bits) - 1);
	return is_signed && low >> (bits - 1) ? low | ~((1u << bits) - 1) : low;
}
#define EXTEND(T, is_signed) \
	void op_szext_##T(OP_ARGS) \
	{ \
		u32 *d = X(u32, 0); \
		const u32 *a = X(u32, 1), *b = X(u32, 2); \
		EACH(d[l] = size_extend(a[l], b[l], (n->flags & F_CLAMP) != 0, is_signed)); \
	}
EXTEND(u32, 0)
EXTEND(s32, 1)

/* Four nibbles choose bytes of b:a; a nibble's top bit replicates the byte's sign instead. */
static u32 permute(u32 a, u32 b, u32 selector)
{
	const u64 bytes = (u64)b << 32 | a;
	u32 d = 0;
	for (unsigned i = 0; i < 4; i++) {
		const u32 nibble = selector >> 4 * i & 15;
		u32 byte = (u32)(bytes >> 8 * (nibble & 7)) & 0xff;
		if (nibble & 8)
			byte = byte & 0x80 ? 0xff : 0;
		d |= byte << 8 * i;
	}
	return d;
}
void op_prmt(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const u32 *a = X(u32, 1), *b = X(u32, 2), *c = X(u32, 3);
	EACH(d[l] = permute(a[l], b[l], c[l]));
}

/* The named modes: the selector each of c's values 0 to 3 stands for (PTX ISA, prmt). Row = sub: f4e b4e rc8 ecl ecr rc16. */
static const u16 selectors[6][4] = {
	{ 0x3210, 0x4321, 0x5432, 0x6543 }, { 0x5670, 0x6701, 0x7012, 0x0123 }, { 0x0000, 0x1111, 0x2222, 0x3333 },
	{ 0x3210, 0x3211, 0x3222, 0x3333 }, { 0x0000, 0x1110, 0x2210, 0x3210 }, { 0x1010, 0x3232, 0x1010, 0x3232 },
};
void op_prmt_mode(OP_ARGS)
{
	u32 *d = X(u32, 0);
	const u32 *a = X(u32, 1), *b = X(u32, 2), *c = X(u32, 3);
	EACH(d[l] = permute(a[l], b[l], selectors[n->sub][c[l] & 3]));
}
