/* How a handler is written: `w` the warp, `n` the instruction, `m` the lanes that execute it (never 0). X(T, k) is
 * operand k as an array of T over the lanes; EACH runs its body for each lane l of m. Registers are read and written as
 * several types, so this folder is compiled without strict aliasing. */
#ifndef GSAN_EMU_EXEC_OPS_H
#define GSAN_EMU_EXEC_OPS_H

#include "emu/exec/machine.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned __int128 u128;
typedef __int128 s128;

#define OP_ARGS struct exec_warp *w, const struct exec_insn *n, uint32_t m
#define X(T, k) ((T *)exec_at(w, n->x[k]))

#ifdef __clang__
#define OP_VECTOR _Pragma("clang loop vectorize(assume_safety)")
#else
#define OP_VECTOR _Pragma("GCC ivdep")
#endif
#define EACH(...) \
	do { \
		if (m == EXEC_ALL) { \
			OP_VECTOR \
			for (unsigned l = 0; l < EXEC_LANES; l++) { \
				__VA_ARGS__; \
			} \
		} else { \
			for (uint32_t rest_ = m; rest_; rest_ &= rest_ - 1) { \
				const unsigned l = (unsigned)__builtin_ctz(rest_); \
				__VA_ARGS__; \
			} \
		} \
	} while (0)

/* Predicates are masks: only the executing lanes' bits change. */
static inline void op_set_mask(struct exec_warp *w, uint32_t place, uint32_t m, uint32_t value)
{
	uint32_t *p = exec_at(w, place);
	*p = (*p & ~m) | (value & m);
}

enum exec_compare { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN };
enum exec_bool { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR };
enum exec_atomic { ATOM_ADD, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_EXCH, ATOM_CAS };

#define OP(word, mods, shape, build, name) void op_##name(OP_ARGS);
#include "emu/exec/opcodes.def"
#undef OP

/* memory.c: fills w->address for the lanes; false when a lane's access is misaligned or leaves shared memory (faulted). */
int exec_address(struct exec_warp *w, const struct exec_insn *n, uint32_t m, uint32_t bytes);

#endif
