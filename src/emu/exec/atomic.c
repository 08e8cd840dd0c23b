/* atom and red (PTX ISA 9.7.13.5). Every operation is a host atomic of the access's size, so that processes sharing the
 * memory are as correct as GPUs sharing it: exchange and add directly, the others by compare-and-swap. Lanes of a warp go
 * in lane order. */
#include "emu/exec/half.h"
#include "emu/exec/ops.h"
#include "emu/exec/weak.h"

#include <string.h>

static u64 add_small(unsigned type, u64 a, u64 b)
{
	const enum half_format f = half_format_of(type);
	u64 r = 0;
	for (unsigned shift = 0; shift < (half_is_pair(type) ? 32u : 16u); shift += 16)
		r |= (u64)half_store(f, half_add(half_load(f, (u32)(a >> shift) & 0xffff, 0),
						 half_load(f, (u32)(b >> shift) & 0xffff, 0)), 0) << shift;
	return r;
}

static u64 extreme_small(unsigned type, u64 a, u64 b, int want_max)
{
	const enum half_format f = half_format_of(type);
	u64 r = 0;
	for (unsigned shift = 0; shift < (half_is_pair(type) ? 32u : 16u); shift += 16) {
		const u32 x = (u32)(a >> shift) & 0xffff, y = (u32)(b >> shift) & 0xffff;
		const double v = half_load(f, x, 0), u = half_load(f, y, 0);
		r |= (u64)(isnan(v) || (want_max ? u > v : u < v) ? y : x) << shift;
	}
	return r;
}

static u64 add(unsigned type, u64 a, u64 b)
{
	float f, g;
	double d, e;
	switch (type) {
	case PTX_F32: {
		u32 bits = (u32)a, other = (u32)b;
		memcpy(&f, &bits, 4), memcpy(&g, &other, 4);
		/* atom.add.f32 on global memory flushes subnormals (PTX ISA, atom) */
		f = half_flush32(half_flush32(f, 1) + half_flush32(g, 1), 1);
		memcpy(&bits, &f, 4);
		return isnan(f) ? 0x7fffffff : bits;
	}
	case PTX_F64:
		memcpy(&d, &a, 8), memcpy(&e, &b, 8);
		d += e;
		memcpy(&a, &d, 8);
		return a;
	case PTX_F16: case PTX_F16X2: case PTX_BF16: case PTX_BF16X2:
		return add_small(type, a, b);
	default:
		return a + b;
	}
}

/* The new value; `old` and the operands are zero-extended from the type's width. */
static u64 combine(unsigned op, unsigned type, u64 old, u64 b, u64 c)
{
	const int narrow = type == PTX_S32;
	switch (op) {
	case ATOM_ADD: return add(type, old, b);
	case ATOM_MIN:
	case ATOM_MAX:
		if (type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2)
			return extreme_small(type, old, b, op == ATOM_MAX);
		if (narrow || type == PTX_S64) {
			const s64 x = narrow ? (s32)old : (s64)old, y = narrow ? (s32)b : (s64)b;
			return (x < y) == (op == ATOM_MIN) ? old : b;
		}
		return (old < b) == (op == ATOM_MIN) ? old : b;
	case ATOM_INC: return old >= b ? 0 : old + 1;
	case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
	case ATOM_AND: return old & b;
	case ATOM_OR: return old | b;
	case ATOM_XOR: return old ^ b;
	case ATOM_EXCH: return b;
	default: return old == b ? c : old;
	}
}

#define ATOMICALLY(T) \
	static T atomic_##T(T *at, const struct exec_insn *n, T b, T c) \
	{ \
		const unsigned op = n->sub, type = n->type[2]; \
		T old; \
		if (op == ATOM_EXCH) \
			return __atomic_exchange_n(at, b, __ATOMIC_SEQ_CST); \
		if (op == ATOM_ADD && type < PTX_F16) \
			return __atomic_fetch_add(at, b, __ATOMIC_SEQ_CST); \
		if (op == ATOM_CAS) { \
			old = b; \
			__atomic_compare_exchange_n(at, &old, c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
			return old; \
		} \
		old = __atomic_load_n(at, __ATOMIC_RELAXED); \
		while (!__atomic_compare_exchange_n(at, &old, (T)combine(op, type, old, b, c), 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) \
			; \
		return old; \
	}
ATOMICALLY(u16)
ATOMICALLY(u32)
ATOMICALLY(u64)

static u128 atomic_u128(u128 *at, const struct exec_insn *n, u128 b, u128 c)
{
	u128 old = 0, seen;
	for (;; old = seen) {
		seen = __sync_val_compare_and_swap(at, n->sub == ATOM_CAS ? b : old, n->sub == ATOM_CAS ? c : b);
		if (n->sub == ATOM_CAS || seen == old)
			return seen;
	}
}

/* x[0 ..] destinations (count of them), then as many b, then c. */
#define RUN(T) \
	for (u32 rest = m; rest; rest &= rest - 1) { \
		const unsigned l = (unsigned)__builtin_ctz(rest); \
		for (unsigned k = 0; k < n->count; k++) { \
			const T b = ((const T *)exec_at(w, n->x[k + n->count]))[l]; \
			const T c = n->sub == ATOM_CAS ? ((const T *)exec_at(w, n->x[2 * n->count]))[l] : 0; \
			((T *)exec_at(w, n->x[k]))[l] = atomic_##T((T *)(uintptr_t)w->address[l] + k, n, b, c); \
		} \
	}
static void atomics(OP_ARGS)
{
	switch (n->size) {
	case 2: RUN(u16) break;
	case 4: RUN(u32) break;
	case 8: RUN(u64) break;
	default: RUN(u128) break;
	}
}

void op_atomic(OP_ARGS)
{
	if (!exec_address(w, n, m, (u32)n->size * n->count))
		return;
	if (!w->weak)
		atomics(w, n, m);
	for (u32 rest = w->weak ? m : 0; rest; rest &= rest - 1) {
		weak_before_rmw(w, n, (unsigned)__builtin_ctz(rest));
		atomics(w, n, rest & -rest);
		if (n->flags & F_ACQUIRE)
			weak_acquire(w, rest & -rest);
	}
}
