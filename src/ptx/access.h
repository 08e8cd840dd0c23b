/* What one instruction does to global memory: the meaning of ld, st, atom, red, cp.async, fence and of everything that
 * touches global memory but is not modelled yet. Source: PTX ISA 9.x, 9.7.9 (data movement), 9.7.13 (synchronisation),
 * chapter 8 (memory model); DESIGN §6. */
#ifndef GSAN_PTX_ACCESS_H
#define GSAN_PTX_ACCESS_H

#include "device/layout.h"
#include "ptx/ptx.h"

enum ptx_access_kind {
	PTX_ACCESS_NONE,
	PTX_ACCESS_WEAK,  /* batched: op is GSAN_OP_LD, _LD_NC or _ST */
	PTX_ACCESS_RED,   /* a relaxed RMW whose result nobody reads, or any relaxed operation of a kernel of such; ptx_plan_make finds out */
	PTX_ACCESS_LOAD,  /* strong */
	PTX_ACCESS_STORE, /* strong */
	PTX_ACCESS_RMW,
	PTX_ACCESS_FENCE,
	PTX_ACCESS_LEFT   /* touches global memory, not checked: reason says why */
};

enum ptx_rmw {
	PTX_RMW_NONE,
	PTX_RMW_EITHER, /* add, min, …: there is an atom and a red */
	PTX_RMW_EXCH,
	PTX_RMW_CAS
};

struct ptx_access {
	enum ptx_access_kind kind;
	enum ptx_rmw rmw;
	enum gsan_op op;            /* + scope for strong ones */
	enum gsan_sem sem;
	uint32_t bytes;
	uint32_t elements;          /* of a vector; a strong one is that many operations */
	const struct ptx_operand *address; /* PTX_OPND_ADDRESS */
	const struct ptx_operand *value;   /* what a store writes, where a load or atom puts what it read; or NULL */
	const struct ptx_operand *size;    /* cp.async: bytes that are really read, or a predicate that ignores it; or NULL */
	char name[24];              /* "ld", "ld.nc", "atom.add", … */
	const char *semantics;      /* "weak", "relaxed", …, "volatile", "mmio" */
	const char *scope;          /* "cta" … or "-" */
	const char *reason;         /* PTX_ACCESS_LEFT */
};

const char *ptx_scope_name(enum gsan_scope scope);
void ptx_access_of(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a);
/* May the thread that executes it come behind what another of its CTA did before? It synchronises, calls, or is strong. */
int ptx_access_meets(const struct ptx_module *m, const struct ptx_instr *i);
/* Weak accesses on either side of it must not share a batch: it synchronises, branches or calls. */
int ptx_access_ends_run(const struct ptx_module *m, const struct ptx_instr *i);
/* Of a load or a store: has it semantics, or is it volatile? */
int ptx_access_strong(const struct ptx_module *m, const struct ptx_instr *i);

#endif
