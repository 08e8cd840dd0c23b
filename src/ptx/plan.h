/* The plan: which functions of a module get checked clones, and what becomes of every instruction that touches global
 * memory. The rewriter carries it out; gsan-ptxas --sites prints it. An entry gets a clone unless its parameters leave
 * no room; a function with a body gets one if a cloned function calls it directly. */
#ifndef GSAN_PTX_PLAN_H
#define GSAN_PTX_PLAN_H

#include "base/text.h"
#include "ptx/access.h"
#include "ptx/meeting.h"

#define PTX_SITE_MAX 0xfffeu /* ids start at 1 */
#define PTX_SITE_UNKNOWN 0xffffu
#define PTX_PARAM_ROOM 32764u /* bytes of kernel parameters, since PTX 8.1 */
#define PTX_NO_ROOM "no room for the launch record among the kernel's parameters"

struct ptx_place {
	const struct ptx_instr *instr;
	uint32_t function;        /* index in the module */
	uint32_t site;            /* 0: not checked (access.reason says why), or a fence */
	struct ptx_access access;
	const struct ptx_function *callee; /* of a direct call that goes to a clone, else NULL */
	uint8_t unseen;           /* a call of what has no clone and may synchronise */
	uint8_t late;             /* a weak store stands behind it in its run, and is executed before this is checked (batch.h) */
};

/* It has a fence, what acquires or releases, or makes an unseen call; or strong operations, where all that have such are to keep clocks. */
enum ptx_sync { PTX_SYNC_ORDERS = 1, PTX_SYNC_TOLD = 2 };

/* It waits for the launches before it (griddepcontrol.wait), or lets those behind it begin (launch_dependents); and may do the latter before it has
 * waited: of several by where they stand in the text, and where one of them is in a function that is called, not. */
enum ptx_depends { PTX_DEPENDS_WAITS = 1, PTX_DEPENDS_TRIGGERS = 2, PTX_DEPENDS_AT_ONCE = 4 };

struct ptx_function_plan {
	uint8_t cloned;
	uint8_t sync;             /* enum ptx_sync, as bits */
	uint8_t reds;             /* what relaxed operations it has, GSAN_REDS_*, as bits */
	uint8_t reaches_sync;     /* a kernel whose clone runs it has any of those: it keeps a clock */
	uint8_t reaches_reds;     /* and of those that an entry's clone runs */
	uint8_t says_behind_red;  /* a kernel whose clone runs it has relaxed operations, and nothing that synchronises */
	uint8_t grids;            /* it asks where the words are by which a cooperative grid synchronises */
	uint8_t leaves;           /* it, or what an entry's clone runs, makes an unseen call */
	uint8_t reaches_grids;    /* a kernel whose clone runs what asks */
	uint8_t depends;          /* enum ptx_depends, as bits */
	uint8_t reaches_depends;  /* and of those that an entry's clone runs */
	uint32_t place, places;   /* its places, in the order of the source */
};

struct ptx_plan {
	const struct ptx_module *module;
	struct ptx_function_plan *function; /* one per function of the module */
	struct ptx_place *place;
	uint32_t places;
	uint32_t clones, skipped; /* entries with a clone, without */
	uint32_t sites, checked, left; /* checked: instructions that have a site */
	int mbarriers; /* are followed (meeting.h) */
	int linked;    /* its clones are to be: nothing but what is here calls its functions */
};

/* reds: relaxed operations take the short way where they may (PTX_ACCESS_RED); else their kernels count as such that synchronise. Returns 0 or
 * -ENOMEM. */
int ptx_plan_make(const struct ptx_module *m, int reds, struct ptx_plan *plan);
void ptx_plan_free(struct ptx_plan *plan);

/* Marks the functions that the clone of `from` may run, itself included: reached[function index] = 1.
 * stack: room for as many indices as the module has functions. */
void ptx_plan_reach(const struct ptx_plan *plan, uint32_t from, uint8_t *reached, uint32_t *stack);

/* The function that a call names, or NULL for a call through a register. */
const struct ptx_decl *ptx_plan_target(const struct ptx_instr *call);
const struct ptx_function *ptx_plan_callee(const struct ptx_module *m, const struct ptx_instr *call); /* likewise, of the module */

uint32_t ptx_plan_record_bytes(const struct ptx_function_plan *fp); /* of the entry's clone: of the parameter that it has more (abi.h) */
int ptx_plan_waits(const struct ptx_module *m, const struct ptx_instr *i); /* griddepcontrol.wait */

/* Is it a half of that address? */
int ptx_plan_is_workspace(const struct ptx_module *m, const struct ptx_operand *o);

/* Source position of a place, for reports: file NULL = no line information, line is the PTX line then. */
struct ptx_where { const char *file; uint32_t line, column; const struct ptx_loc *loc; };
struct ptx_where ptx_plan_where(const struct ptx_module *m, const struct ptx_instr *i);
/* Likewise, the user's own: of what lies in a library's header, the innermost place in a file of the kernel's own that it was inlined at. */
struct ptx_where ptx_plan_own(const struct ptx_module *m, const struct ptx_instr *i);
/* Appends "file:line,…" of the inlining chain, innermost first, or "-". */
void ptx_plan_inlined(const struct ptx_module *m, const struct ptx_loc *loc, struct text *out);

/* The lines of gsan-ptxas --sites. */
void ptx_plan_print(const struct ptx_plan *plan, const char *source, struct text *out);

#endif
