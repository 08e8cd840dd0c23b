/* A kernel handle of the program and what we know of it: its checked clone, if it has one that fits, under which number
 * the supervisor knows it, and what it may order when it runs unchecked. Looked up when the program asks for the handle
 * (so that both are loaded together), else at its first launch. */
#ifndef GSAN_DRIVER_FUNCTION_H
#define GSAN_DRIVER_FUNCTION_H

#include <cuda.h>

#include "driver/fat.h"
#include "driver/flow.h"
#include "driver/models.h"

#define FUNCTION_PARAMS_MAX 1024u
#define FUNCTION_SHAPES 8u

struct function {
	CUfunction clone;     /* NULL: none, for `reason` */
	const char *reason;   /* a string literal */
	int left_out;         /* because the user wants that */
	char *name;
	uint32_t kernel;      /* its number, 0 = none */
	uint32_t params;      /* of the plain kernel */
	int clusters;         /* compiled for clusters of more than one CTA */
	int grids;            /* a cooperative grid of its clone synchronises where the launch record says */
	int warps;            /* its clone knows what orders the warps of a CTA */
	int waits;            /* its clone has griddepcontrol.wait, and a second record for it (layout.h) */
	int triggers;         /* it lets the next launch begin before it has ended; */
	int triggers_at_once; /* before it has waited itself, perhaps */
	int unseen;           /* its clone has instructions that are left unchecked */
	size_t record;        /* offset of the launch record among the clone's parameters */
	enum model model;
	struct holder holder; /* of the handle */
	struct holder clones; /* of the clone: the same, or one beside it (fat.h) */
	void *loaded;         /* what the program loaded it with: a module or a library */
	CUcontext context;    /* that was current when it was first seen: its clone is gone with that, and so may be the handle */
	_Atomic uint64_t fits[FUNCTION_SHAPES]; /* launch shapes that were compared, by a hash: 0 none, else shape << 1 | fits */
	const char *_Atomic noted; /* the reason that was said last why it runs unchecked: a string literal */
};

/* NULL: out of memory, the driver does not know the handle, or it is not known here and a stream is being captured. */
struct function *function_find(struct flow *f, CUfunction handle);
struct function *function_known(struct flow *f, CUfunction handle); /* asks nobody */
/* Whether the clone keeps the plain kernel's CTAs per SM at this launch shape. */
int function_fits(struct function *fn, CUfunction handle, uint32_t threads, uint32_t shared);

/* Handles and variables of a module or library that is going away, or of a context that ends. */
void function_forget_module(CUmodule module);
int function_variables_known(void); /* of any */
void function_forget_library(CUlibrary library);
void function_forget_context(CUcontext context);

#endif
